"""An ASGI app as an upstream in the same process, whose answers stream: without a port, but with all else as usual.

httpx2's own transport for apps gives an answer only when it is complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import httpx2
from starlette.types import ASGIApp

__all__ = ["LocalTransport"]


class LocalTransport(httpx2.AsyncBaseTransport):
    """Sends requests to an ASGI app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Start the app on a request; return its answer as soon as it has begun. Raises ReadError if it ends before."""
        running = _Running(self._app, request)
        try:
            status, headers = await running.head()
        except BaseException:
            await running.aclose()
            raise
        return httpx2.Response(status, headers=headers, stream=running)


class _Running(httpx2.AsyncByteStream):
    """An app at work on one request. It waits for its reader: one piece is on its way, no more."""

    def __init__(self, app: ASGIApp, request: httpx2.Request) -> None:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        self._request = request
        self._body = aiter(request.stream)
        self._body_ended = False
        self._messages: asyncio.Queue[MutableMapping[str, Any] | None] = asyncio.Queue(1)
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

    async def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        message = await self._messages.get()
        if message is None or message["type"] != "http.response.start":
            raise httpx2.ReadError("the app ended without an answer", request=self._request)
        return message["status"], list(message.get("headers", ()))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._messages.get()
            if message is None:
                raise httpx2.ReadError("the app ended in the middle of its answer", request=self._request)
            more = message.get("more_body", False)
            if message.get("body"):
                yield message["body"]

    async def aclose(self) -> None:
        self._left.set()
        self._task.cancel()
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # the reader has seen that the answer has no end


def _scope(request: httpx2.Request) -> MutableMapping[str, Any]:
    path, _, query = request.url.raw_path.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "client": None,
        "server": (request.url.host, request.url.port),
        "state": {},
    }
