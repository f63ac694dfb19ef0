"""A model that needs no weights: an OpenAI-compatible upstream that plays a script.

`xmltools serve --demo` runs it in the server's own process, and hands it each turn as data (`request.state.turn`): the
tools of the client, the conversation, and the dialect in which to write calls. It calls the tool that fits the user's
words best, and quotes the result that comes back. It does not read prompts: as a process of its own it knows no tools,
and says one of a few prepared replies.

    uvicorn.run(ScriptedModel(), port=8000)

It speaks as fast as a real model, or as fast as it can (`speed=0`). Its models behave differently: `scripted` writes
calls as it should; `scripted-sloppy` with slips that the parser repairs; `scripted-broken` with a wrong call, until it
is asked for a better one; `scripted-thinking` thinks first; `scripted-silent` never calls. Any other name is taken for
`scripted`, so that clients need not be changed.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from xmltools.conversations.compaction import estimate_tokens
from xmltools.conversations.streams import SSE_DONE, to_sse
from xmltools.proxy.bridge import Refusal, Turn
from xmltools.proxy.bridge.json_bodies import encoded, parse_object
from xmltools.proxy.bridge.requests import read_request
from xmltools.proxy.scripted.choose_reply import MODELS, reply
from xmltools.proxy.scripted.demo_recording import tokens
from xmltools.proxy.scripted.pace import Clock, Pace, Sleep, check_speed

_CREATED = 1_767_225_600  # the models are as old as the year 2026
_FIRST_TOKEN = 0.3
"""Seconds until a reply begins."""
_TOKENS_PER_SECOND = 60


class ScriptedModel:
    """The scripted model as an ASGI application: `POST /v1/chat/completions` and `GET /v1/models`.

    Takes how fast it is (2 is twice as fast, 0 does not wait), how to wait and what the time is, in seconds. The same
    request has the same reply. Raises XMLToolsError if `speed` is no number from 0 on.
    """

    def __init__(self, *, speed: float = 1.0, sleep: Sleep = asyncio.sleep, clock: Clock = time.monotonic) -> None:
        self._speed = check_speed(speed)
        self._sleep = sleep
        self._clock = clock
        self._app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", _list_models, methods=["GET"]),
                Route("/v1/models/{name:path}", _show_model, methods=["GET"]),
            ],
            exception_handlers={HTTPException: _refuse, Refusal: _refuse},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._app(scope, receive, send)

    async def _complete(self, request: Request) -> Response:
        pace = Pace(self._speed, sleep=self._sleep, clock=self._clock)
        asked = read_request("chat", parse_object(await request.body()))
        turn = getattr(request.state, "turn", None)
        if asked.tools and turn is None:
            raise Refusal("tools: this model has no function calling; run `xmltools serve --demo`", param="tools")
        text = reply(turn or Turn((), asked.conversation), asked.model)
        for stop in asked.stop:
            text = text.partition(stop)[0]
        said, reason = _cut(list(tokens(text)), asked.fields)
        spent, made = estimate_tokens(asked.conversation), len(said) * asked.choices
        usage = {"prompt_tokens": spent, "completion_tokens": made, "total_tokens": spent + made}
        answer = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": asked.model}
        if asked.stream:
            answer |= {"object": "chat.completion.chunk"} | ({"usage": None} if asked.include_usage else {})
            stream = _stream(answer, said, reason, asked.choices, usage, pace)
            return StreamingResponse(stream, media_type="text/event-stream")
        await pace.until(_time_of(len(said) - 1))
        message = {"role": "assistant", "content": "".join(said), "refusal": None}
        choices = _choices(asked.choices, "message", message, reason)
        return _json({**answer, "object": "chat.completion", "choices": choices, "usage": usage})


def _cut(said: list[str], fields: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return as many tokens as a request allows, and why they end."""
    limit = fields.get("max_completion_tokens") or fields.get("max_tokens")
    return (said[:limit], "length") if type(limit) is int and 0 < limit < len(said) else (said, "stop")


def _time_of(token: int) -> float:
    return _FIRST_TOKEN + token / _TOKENS_PER_SECOND


def _choices(number: int, kind: str, said: Mapping[str, Any], reason: str | None) -> list[dict[str, Any]]:
    """Return the choices that a request asks for. All say the same."""
    return [{"index": index, kind: said, "logprobs": None, "finish_reason": reason} for index in range(number)]


async def _stream(
    head: Mapping[str, Any], said: list[str], reason: str, choices: int, usage: Mapping[str, int], pace: Pace
) -> AsyncIterator[bytes]:
    def chunks(delta: Mapping[str, str], reason: str | None = None) -> bytes:
        return to_sse({**head, "choices": [each]} for each in _choices(choices, "delta", delta, reason))

    yield chunks({"role": "assistant", "content": ""})
    for number, token in enumerate(said):
        await pace.until(_time_of(number))
        yield chunks({"content": token})
    yield chunks({}, reason)
    if "usage" in head:
        yield to_sse([{**head, "choices": [], "usage": usage}])
    yield SSE_DONE


def _json(value: Any, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type="application/json")


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "xmltools"}


async def _list_models(request: Request) -> Response:
    return _json({"object": "list", "data": [_model(name) for name in MODELS]})


async def _show_model(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in MODELS:
        message = f"there is no model {name!r:.80}; there are {', '.join(MODELS)}"
        raise Refusal(message, status=404, code="model_not_found")
    return _json(_model(name))


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        message = f"there is no {request.method} {request.url.path:.200}"
        error = Refusal(message, status=error.status_code, code="not_found")
    assert isinstance(error, Refusal)
    return _json(error.body("chat"), error.status)
