"""The two transports."""

from __future__ import annotations

from collections.abc import Callable

import httpx2

from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.transport.course import course_of
from xmltools.proxy.transport.drivers import AsyncLine, Line, response_of
from xmltools.proxy.transport.options import DEFAULTS, MAX_BODY, Options, check_request

__all__ = ["AsyncXMLToolsTransport", "XMLToolsTransport"]


class XMLToolsTransport(httpx2.BaseTransport):
    """A transport for `httpx2.Client` that gives function calling to a model that has none.

    Takes the transport that does the sending, by default `httpx2.HTTPTransport()`; what a client would be told of
    certificates, proxies and connections is told to that one. `settings` are those of `xmltools.proxy.bridge`.
    `upstream_path` is where chat completions are on the upstream, by default where the client's path says, with
    `/messages` or `/responses` replaced. A request of more than `max_body` bytes is refused, and so is an answer that
    is no stream. `on_exchange` is called with each `Exchange` before it begins: its `on_event` may be set, and its
    `stats` are complete when the response has been read.

    Streams are read from the upstream as the client reads them, and closing a response closes the upstream's. An error
    of the upstream before there is anything to tell keeps its status and its message, and where it can't be reached,
    what the inner transport raises is raised; what goes wrong later is the error event of the client's API. Raises
    XMLToolsError for options that are none.
    """

    def __init__(
        self,
        inner: httpx2.BaseTransport | None = None,
        *,
        settings: Settings = DEFAULTS,
        upstream_path: str | None = None,
        max_body: int = MAX_BODY,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._options = Options(settings, upstream_path, max_body, on_exchange)
        self._inner = httpx2.HTTPTransport() if inner is None else inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, translated if it is one for a model. Raises what the inner transport raises, and
        XMLToolsError where the client is none of httpx2."""
        check_request(request, type(self))
        course = course_of(request, self._options)
        if course is None:
            return self._inner.handle_request(request)
        line = Line(self._inner, request, course.steps())
        try:
            return response_of(line.advance(), line)
        except BaseException:
            line.close()
            raise

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncXMLToolsTransport(httpx2.AsyncBaseTransport):
    """`XMLToolsTransport` for `httpx2.AsyncClient`; the default of `inner` is `httpx2.AsyncHTTPTransport()`."""

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport | None = None,
        *,
        settings: Settings = DEFAULTS,
        upstream_path: str | None = None,
        max_body: int = MAX_BODY,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._options = Options(settings, upstream_path, max_body, on_exchange)
        self._inner = httpx2.AsyncHTTPTransport() if inner is None else inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, translated if it is one for a model. Raises what the inner transport raises, and
        XMLToolsError where the client is none of httpx2."""
        check_request(request, type(self))
        course = course_of(request, self._options)
        if course is None:
            return await self._inner.handle_async_request(request)
        line = AsyncLine(self._inner, request, course.steps())
        try:
            return response_of(await line.advance(), line)
        except BaseException:
            await line.aclose()
            raise

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()
