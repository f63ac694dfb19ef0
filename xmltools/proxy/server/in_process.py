"""An ASGI app as an upstream in the same process, whose answers stream: without a port, but with all else as usual."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Message, Scope

from xmltools.proxy.bridge import UpstreamError
from xmltools.proxy.server.network import Request, Response

_WAITING = 64
"""Pieces that wait for their reader. Then the app has to wait."""
_BROKEN = "the upstream broke off the connection"


class LocalApp:
    """Sends requests to an ASGI app, as `Sender` says."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    @asynccontextmanager
    async def open(self, request: Request, *, decode: bool) -> AsyncIterator[Response]:
        """Start the app on a request; give its answer as soon as it has begun."""
        messages: asyncio.Queue[Message | None] = asyncio.Queue(_WAITING)
        left = asyncio.Event()

        async def run() -> None:
            try:
                await self._app(_scope(request), partial(_receive, _body(request), left), messages.put)
            finally:
                if not left.is_set():
                    await messages.put(None)

        task = asyncio.create_task(run())
        try:
            head = await messages.get()
            if head is None or head["type"] != "http.response.start":
                raise UpstreamError(_BROKEN)
            yield Response(head["status"], list(head.get("headers", ())), _pieces(messages))
        finally:
            left.set()
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # the reader has seen that the answer has no end

    async def close(self) -> None:
        """There is nothing to close."""


async def _receive(body: AsyncIterator[Message], left: asyncio.Event) -> Message:
    message = await anext(body, None)
    if message is None:
        await left.wait()
        return {"type": "http.disconnect"}
    return message


async def _pieces(messages: asyncio.Queue[Message | None]) -> AsyncGenerator[bytes, None]:
    more = True
    while more:
        message = await messages.get()
        together = b""
        while message is not None and more:
            together += message.get("body", b"")
            more = message.get("more_body", False)
            if messages.empty():
                break
            message = messages.get_nowait()
        if together:
            yield together
        if message is None and more:
            raise UpstreamError(_BROKEN)


async def _body(request: Request) -> AsyncIterator[Message]:
    if isinstance(request.content, bytes):
        yield {"type": "http.request", "body": request.content, "more_body": True}
    elif request.content is not None:
        async for piece in request.content:
            yield {"type": "http.request", "body": piece, "more_body": True}
    yield {"type": "http.request", "body": b"", "more_body": False}


def _scope(request: Request) -> Scope:
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
