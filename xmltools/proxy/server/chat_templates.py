"""The dialects that an upstream tells by its chat templates, which llama.cpp and Ollama give to anybody who asks."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from starlette.types import Scope

from xmltools import dialects
from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Settings, UpstreamError
from xmltools.proxy.bridge.settings import ANY_MODEL, AUTO
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import LOGGER
from xmltools.proxy.server.upstream import Upstream, beside_api

PATIENCE: Final = 2.0
"""Seconds in which the upstream should answer. The first requests wait for it as long."""
_AGAIN: Final = 30.0
"""Seconds until it is asked again, if there was no answer."""
_MOST: Final = 2 << 20
"""Bytes of an answer. Ollama's have the license of the model in them."""
_MOST_MODELS: Final = 100
_LONGEST_NAME: Final = 200
_SHORT: Final = 64 * 1024
_MODEL: Final = re.compile(rb'"model"\s*:\s*("(?:[^"\\]|\\.){1,400}")')


def llama_cpp_template(answer: Any) -> str | None:
    """Return the chat template in llama.cpp's answer to `GET /props`: that for tools, if there are two."""
    for name in ("chat_template_tool_use", "chat_template"):
        found = answer.get(name) if isinstance(answer, dict) else None
        if isinstance(found, str) and found:
            return found
    return None


def ollama_template(answer: Any) -> str | None:
    """Return the template in Ollama's answer to `POST /api/show`."""
    found = answer.get("template") if isinstance(answer, dict) else None
    return found if isinstance(found, str) and found else None


def is_ollama(answer: Any) -> bool:
    """Return whether this is what Ollama answers to `GET /api/version`."""
    return isinstance(answer, dict) and isinstance(answer.get("version"), str)


class ToldDialects:
    """Asks the upstream for chat templates, where `auto` picks the dialect: once for all models if it is llama.cpp, and
    once for each model that clients ask for if it is Ollama. Others are asked two questions, and then no more.

    What can't be found out changes nothing: the name of the model tells the dialect then. `clock` says what time it is.
    """

    def __init__(self, config: ServeConfig, upstream: Upstream, clock: Callable[[], float] = time.monotonic) -> None:
        chosen = (config.settings.dialect, *dict(config.settings.dialects).values())
        self._settings = config.settings
        self._is_wanted = AUTO in chosen and not config.demo and beside_api(config.base_url) is not None
        self._upstream = upstream
        self._clock = clock
        self._found: dict[str, str] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._not_before: dict[str, float] = {}
        self._is_ollama: bool | None = None

    async def settings(self, scope: Scope, body: bytes) -> Settings:
        """Return the settings for a request, with what the upstream has told. It is asked in the name of the client."""
        if self._is_wanted and ANY_MODEL not in self._found:
            if self._is_ollama is None:
                await self._once(ANY_MODEL, scope)
            model = _model_in(body) if self._is_ollama else ""
            if model and model not in self._found and len(self._found) < _MOST_MODELS:
                await self._once(model, scope)
        return self._settings

    async def _once(self, model: str, scope: Scope) -> None:
        """Ask about a model. Requests that come meanwhile wait for the same answer."""
        if self._clock() < self._not_before.get(model, 0.0):
            return
        if model not in self._asking:
            self._asking[model] = asyncio.create_task(self._ask(model, scope))
        task = self._asking[model]
        try:
            await asyncio.shield(task)  # a client that leaves takes nothing from the others
        finally:
            if task.done():
                self._asking.pop(model, None)

    async def _ask(self, model: str, scope: Scope) -> None:
        found = None
        try:
            async with asyncio.timeout(PATIENCE):
                if model == ANY_MODEL:
                    template = llama_cpp_template(await self._answer(scope, "GET", b"/props"))
                    if template is None:
                        self._is_ollama = is_ollama(await self._answer(scope, "GET", b"/api/version"))
                        return
                    self._is_ollama = False
                else:
                    template = ollama_template(await self._answer(scope, "POST", b"/api/show", {"model": model}))
                # A long one takes a while to read, in which others are to be served.
                found = await asyncio.to_thread(dialects.told_by, template or "")
        except (TimeoutError, XMLToolsError):
            pass
        if found is not None:
            self._note(model, found.name)
        else:
            self._wait(model)

    def _wait(self, model: str) -> None:
        if len(self._not_before) >= _MOST_MODELS:
            self._not_before.clear()
        self._not_before[model] = self._clock() + _AGAIN

    def _note(self, model: str, dialect: str) -> None:
        self._found[model] = dialect
        self._settings = replace(self._settings, upstream_dialects=self._found)
        whose = "the model" if model == ANY_MODEL else model
        LOGGER.info(f"{whose} writes {dialect}, by the chat template of the upstream")

    async def _answer(self, scope: Scope, method: str, path: bytes, content: Any = None) -> Any:
        """Return what the upstream answers, None if that says that there is nothing.

        Raises UpstreamError if it may be asked again later.
        """
        async with self._upstream.open(self._upstream.beside(scope, method, path, content)) as answer:
            if answer.status in (401, 403, 429) or answer.status >= 500:
                raise UpstreamError("not now")
            if answer.status != 200:
                return None
            body = await answer.read(_MOST)
        with suppress(ValueError, RecursionError):
            return json.loads(body)
        return None


def _model_in(body: bytes) -> str:
    """Return the model in the body of a request; of a long one, what may be it, since it is read elsewhere."""
    found: Any = None
    with suppress(ValueError, RecursionError):
        if len(body) <= _SHORT:
            given = json.loads(body)
            found = given.get("model") if isinstance(given, dict) else None
        elif match := _MODEL.search(body[:_SHORT]) or _MODEL.search(body[-_SHORT:]):
            found = json.loads(match[1])
    return found if isinstance(found, str) and len(found) <= _LONGEST_NAME and found.isprintable() else ""
