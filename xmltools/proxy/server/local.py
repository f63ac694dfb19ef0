"""An ASGI app as an upstream in the same process, whose answers stream: without a port, but with all else as usual."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp

from xmltools.proxy.server.network import Headers, Request, Response, UpstreamError

__all__ = ["LocalApp"]

_WAITING = 64
"""Pieces that wait for their reader. Then the app has to wait."""


class LocalApp:
    """Sends requests to an ASGI app, as `Sender` says."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    @asynccontextmanager
    async def open(self, request: Request, *, decode: bool) -> AsyncIterator[Response]:
        """Start the app on a request; give its answer as soon as it has begun."""
        running = _Running(self._app, request)
        try:
            status, headers = await running.head()
            yield Response(status, headers, running.pieces())
        finally:
            await running.stop()

    async def close(self) -> None:
        """There is nothing to close."""


class _Running:
    """An app at work on one request."""

    def __init__(self, app: ASGIApp, request: Request) -> None:
        self._request = request
        self._body = _body(request)
        self._body_ended = False
        self._messages: asyncio.Queue[MutableMapping[str, Any] | None] = asyncio.Queue(_WAITING)
        self._left = asyncio.Event()
        self._task = asyncio.create_task(self._run(app))

    async def _run(self, app: ASGIApp) -> None:
        try:
            await app(_scope(self._request), self._receive, self._messages.put)
        finally:
            if not self._left.is_set():
                await self._messages.put(None)

    async def _receive(self) -> MutableMapping[str, Any]:
        if self._body_ended:
            await self._left.wait()
            return {"type": "http.disconnect"}
        piece = await anext(self._body, None)
        self._body_ended = piece is None
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    async def head(self) -> tuple[int, Headers]:
        message = await self._messages.get()
        if message is None or message["type"] != "http.response.start":
            raise UpstreamError("the upstream broke off the connection")
        return message["status"], list(message.get("headers", ()))

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        more = True
        while more:
            message = await self._messages.get()
            together = b""
            while message is not None and more:
                together += message.get("body", b"")
                more = message.get("more_body", False)
                if self._messages.empty():
                    break
                message = self._messages.get_nowait()
            if together:
                yield together
            if message is None and more:
                raise UpstreamError("the upstream broke off the connection")

    async def stop(self) -> None:
        self._left.set()
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # the reader has seen that the answer has no end


async def _body(request: Request) -> AsyncIterator[bytes]:
    if isinstance(request.content, bytes):
        yield request.content
    elif request.content is not None:
        async for piece in request.content:
            yield piece


def _scope(request: Request) -> MutableMapping[str, Any]:
    url = urlsplit(request.url)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": url.scheme,
        "path": unquote(url.path),
        "raw_path": url.path.encode(),
        "query_string": url.query.encode(),
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers],
        "client": None,
        "server": (url.hostname, url.port),
        "state": {"turn": request.turn},
    }
