"""Who does what the steps of a request say: with a synchronous transport, or on an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2

from xmltools.proxy.transport.steps import Given, Head, Step, Steps, Take

__all__ = ["AsyncLine", "Line", "response_of"]


def _resume(steps: Steps, outcome: Any) -> Step | Given | None:
    """Tell the steps what came of the last one; return the next, None if there is none."""
    try:
        return steps.throw(outcome) if isinstance(outcome, httpx2.HTTPError) else steps.send(outcome)
    except StopIteration:
        return None


class Line(httpx2.SyncByteStream):
    """Does what the steps say. As a stream, what they give to the client after the head."""

    def __init__(self, inner: httpx2.BaseTransport, request: httpx2.Request, steps: Steps) -> None:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        self._inner = inner
        self._steps = steps
        self._response: httpx2.Response | None = None
        self._chunks = iter(request.stream)

    def advance(self) -> Given | None:
        """Do what is to be done until something is given to the client; return that, None at the end."""
        step = _resume(self._steps, None)
        while isinstance(step, (httpx2.Request, Take)):
            step = _resume(self._steps, self._do(step))
        return step

    def _do(self, step: Step) -> Any:
        try:
            return next(self._chunks, None) if isinstance(step, Take) else self._send(step)
        except httpx2.HTTPError as error:
            return error

    def _send(self, request: httpx2.Request) -> httpx2.Response:
        self.close()
        self._response = self._inner.handle_request(request)
        self._chunks = self._response.iter_bytes()
        return self._response

    def __iter__(self) -> Iterator[bytes]:
        while isinstance(data := self.advance(), bytes):
            if data:
                yield data

    def close(self) -> None:
        """Close what the upstream may still be sending."""
        if self._response is not None:
            self._response.close()


class AsyncLine(httpx2.AsyncByteStream):
    """`Line`, but waiting for the inner transport is left to the event loop."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, request: httpx2.Request, steps: Steps) -> None:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        self._inner = inner
        self._steps = steps
        self._response: httpx2.Response | None = None
        self._chunks = aiter(request.stream)

    async def advance(self) -> Given | None:
        """Do what is to be done until something is given to the client; return that, None at the end."""
        step = _resume(self._steps, None)
        while isinstance(step, (httpx2.Request, Take)):
            step = _resume(self._steps, await self._do(step))
        return step

    async def _do(self, step: Step) -> Any:
        try:
            return await (anext(self._chunks, None) if isinstance(step, Take) else self._send(step))
        except httpx2.HTTPError as error:
            return error

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        await self.aclose()
        self._response = await self._inner.handle_async_request(request)
        self._chunks = self._response.aiter_bytes()
        return self._response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(data := await self.advance(), bytes):
            if data:
                yield data

    async def aclose(self) -> None:
        """Close the response of the upstream."""
        if self._response is not None:
            await self._response.aclose()


def response_of(given: Given | None, line: Line | AsyncLine) -> httpx2.Response:
    """Return the response for the client, made of what came first."""
    if isinstance(given, httpx2.Response):
        return given
    assert isinstance(given, Head)
    return httpx2.Response(given.status, headers=given.headers, stream=line)
