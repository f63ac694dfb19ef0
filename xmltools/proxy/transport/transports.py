"""The two transports: they carry out the steps of a request, one synchronously, the other on an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, TypeVar

import httpx2

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.bridge.relay import Answered, Ask, Given, Step, Take
from xmltools.proxy.transport.steps import Options, Work

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request, and of an answer that does not stream, unless the host says otherwise."""

_DEFAULTS = Settings()
_Inner = TypeVar("_Inner", httpx2.BaseTransport, httpx2.AsyncBaseTransport)


class _Transport(Generic[_Inner]):
    """What the two have in common: their options, and whose requests they take."""

    _make_inner: type[_Inner]
    _base: type[_Inner]
    _client: str

    def __init__(
        self,
        inner: _Inner | None = None,
        *,
        settings: Settings = _DEFAULTS,
        upstream_path: str | None = None,
        max_body: int = MAX_BODY,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._options = Options(settings, upstream_path, max_body, on_exchange)
        self._inner: _Inner = self._make_inner() if inner is None else inner
        if not isinstance(self._inner, self._base):
            raise XMLToolsError(
                f"inner: expected an httpx2.{self._base.__name__}, such as httpx2.{self._make_inner.__name__}(), "
                f"got {type(inner).__name__}"
            )

    def _checked(self, request: object) -> httpx2.Request:
        """Return a request. Raises XMLToolsError for one of another library: `httpx` takes any transport, and fails
        later."""
        if isinstance(request, httpx2.Request):
            return request
        name, library = type(self).__name__, type(request).__module__.partition(".")[0]
        raise XMLToolsError(
            f"{name} is for httpx2.{self._client}, and this is a client of {library}; "
            f"make it with httpx2: httpx2.{self._client}(transport={name}())"
        )


class XMLToolsTransport(_Transport[httpx2.BaseTransport], httpx2.BaseTransport):
    """A transport for `httpx2.Client` that gives function calling to a model that has none.

    Takes the transport that does the sending, by default `httpx2.HTTPTransport()`; what a client would be told of
    certificates, proxies and connections is told to that one. `settings` are those of `xmltools.proxy.bridge`.
    `upstream_path` is where chat completions are on the upstream, by default where the client's path says, with
    `/messages` or `/responses` replaced. A request of more than `max_body` bytes is refused, and so is an answer that
    is no stream. `on_exchange` is called with each `Exchange` before it begins: its `on_event` may be set, and its
    `stats` are complete when the response has been read.

    What Anthropic's clients ask at `…/messages/count_tokens` is answered with an estimate for the prompt as it would be
    written, without asking the upstream.

    Streams are read from the upstream as the client reads them, and closing a response closes the upstream's. An error
    of the upstream before there is anything to tell keeps its status and its message, and where it can't be reached,
    what the inner transport raises is raised; what goes wrong later is the error event of the client's API. Raises
    XMLToolsError for options that are none.
    """

    _make_inner = httpx2.HTTPTransport
    _base = httpx2.BaseTransport
    _client = "Client"

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, translated if it is one for a model. Raises what the inner transport raises, and
        XMLToolsError where the client is none of httpx2."""
        work = _Work(self._inner, self._checked(request), self._options)
        try:
            head = work.advance()
            return self._inner.handle_request(work.plain) if work.plain is not None else work.response(head)
        except BaseException:
            work.close()
            raise

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncXMLToolsTransport(_Transport[httpx2.AsyncBaseTransport], httpx2.AsyncBaseTransport):
    """`XMLToolsTransport` for `httpx2.AsyncClient`; the default of `inner` is `httpx2.AsyncHTTPTransport()`."""

    _make_inner = httpx2.AsyncHTTPTransport
    _base = httpx2.AsyncBaseTransport
    _client = "AsyncClient"

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, translated if it is one for a model. Raises what the inner transport raises, and
        XMLToolsError where the client is none of httpx2."""
        work = _AsyncWork(self._inner, self._checked(request), self._options)
        try:
            head, plain = await work.advance(), work.plain
            return await self._inner.handle_async_request(plain) if plain is not None else work.response(head)
        except BaseException:
            await work.aclose()
            raise

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _Work(Work):
    """Carries out the steps of a request synchronously."""

    def __init__(self, inner: httpx2.BaseTransport, request: httpx2.Request, options: Options) -> None:
        super().__init__(request, options)
        assert isinstance(request.stream, httpx2.SyncByteStream)
        self._inner = inner
        self._chunks = iter(request.stream)

    def advance(self) -> Step | Given | None:
        """Carry out steps until there is something for the client; return that, None at the end."""
        step = self.resume(None)
        while isinstance(step, (Ask, Take)):
            try:
                outcome: Any = self._send(step) if isinstance(step, Ask) else next(self._chunks, None)
            except httpx2.HTTPError as error:
                outcome = error
            step = self.resume(outcome)
        return step

    def _send(self, ask: Ask) -> Answered:
        self.close()
        response = self._inner.handle_request(self.request(ask))
        self._chunks = response.iter_bytes()
        return self.answered(response)

    def __iter__(self) -> Iterator[bytes]:
        while isinstance(data := self.advance(), bytes):
            yield data


class _AsyncWork(Work):
    """`_Work`, but waiting for the inner transport is left to the event loop."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, request: httpx2.Request, options: Options) -> None:
        super().__init__(request, options)
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        self._inner = inner
        self._chunks = aiter(request.stream)

    async def advance(self) -> Step | Given | None:
        step = self.resume(None)
        while isinstance(step, (Ask, Take)):
            try:
                outcome: Any = await (self._send(step) if isinstance(step, Ask) else anext(self._chunks, None))
            except httpx2.HTTPError as error:
                outcome = error
            step = self.resume(outcome)
        return step

    async def _send(self, ask: Ask) -> Answered:
        await self.aclose()
        response = await self._inner.handle_async_request(self.request(ask))
        self._chunks = response.aiter_bytes()
        return self.answered(response)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(data := await self.advance(), bytes):
            yield data
