"""Function calling for models that have none, inside the process: the clients of OpenAI and Anthropic as they are, over
a transport that does what the proxy does.

    client = OpenAI(base_url="http://127.0.0.1:8000/v1", http_client=httpx2.Client(transport=XMLToolsTransport()))
    client = AsyncAnthropic(http_client=httpx2.AsyncClient(transport=AsyncXMLToolsTransport()))

The tools of a request become instructions in its prompt, and calls that the model writes in its text come out as the
calls of the client's API, while it still writes them:

    completion = client.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": "What is the weather in Oslo?"}],
        tools=[{"type": "function", "function": {"name": "weather", "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}],
    )
    call = completion.choices[0].message.tool_calls[0]
    print(call.function.name, call.function.arguments)  # weather {"city":"Oslo"}

A POST to `…/chat/completions`, `…/messages` or `…/responses` is sent to `…/chat/completions` of the same origin, so
that credentials go nowhere else; anything else passes through untouched. What such a request becomes is decided by
`xmltools.bridge`. One generator (`_Course.steps`) says what to do next, to send or to read; the synchronous and the
asynchronous transport only do it.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from xmltools.bridge import (
    Api,
    Exchange,
    Refusal,
    Settings,
    SSEDecoder,
    error_message,
    error_status,
    read_chunk,
)
from xmltools.errors import XMLToolsError

try:
    import httpx2
except ImportError:
    raise ImportError("xmltools.transport needs the library httpx2: pip install 'xmltools[serve]'") from None

__all__ = ["MAX_BODY", "AsyncXMLToolsTransport", "XMLToolsTransport"]

MAX_BODY = 64 * 1024 * 1024
"""Bytes of a request, and of an answer that is no stream, unless the host says otherwise."""

_DEFAULTS = Settings()
_APIS: dict[str, Api] = {"/chat/completions": "chat", "/messages": "messages", "/responses": "responses"}
_CALLED = re.compile(rf"(?:{'|'.join(_APIS)})\Z")
# The messages of OpenAI's threads have the last word of their path in common with Anthropic's API, and nothing else.
_THREADS = re.compile(r"/threads/[^/]+/messages\Z")
_PATH = re.compile(r'/[!"$->@-~]*')  # what is printable, without ? and #

# Written anew for a body that is not the one that came.
_OF_A_BODY = ("accept", "accept-encoding", "content-encoding", "content-length", "content-type", "transfer-encoding")
# Said of one connection, by whoever is at its other end.
_OF_A_CONNECTION = ("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "upgrade")
_ANTHROPIC = re.compile(r"x-api-key|anthropic-.*")
_EVENTS = "text/event-stream"
_JSON = "application/json"


class _Take(Enum):
    """The step that asks for the next bytes of what is being read: of the request, then of the open response. They are
    None at its end."""

    TAKE = "take"


@dataclass(frozen=True, slots=True)
class _Head:
    """What the client gets first, unless a response passes through as it is. Bytes follow."""

    status: int
    headers: httpx2.Headers


Step = httpx2.Request | _Take
Given = _Head | httpx2.Response | bytes
Steps = Generator[Step | Given, Any, None]
"""What to do, and what to give to the client. A request that is to be sent is answered by its response."""


@dataclass(frozen=True, slots=True)
class _Options:
    """What holds for all requests of a transport."""

    settings: Settings
    upstream_path: str | None
    max_body: int
    on_exchange: Callable[[Exchange], None] | None

    def __post_init__(self) -> None:
        if self.upstream_path is not None and not _PATH.fullmatch(self.upstream_path):
            raise XMLToolsError(
                f"upstream_path: expected a path such as '/v1/chat/completions', got {self.upstream_path!r:.80}; "
                "the host is that of the request"
            )
        if type(self.max_body) is not int or self.max_body < 1:
            raise XMLToolsError(f"max_body: expected a number of bytes from 1, got {self.max_body!r:.40}")

    def course_of(self, request: httpx2.Request) -> _Course | None:
        """Return the course of a request, None for one that is not ours."""
        path = request.url.path
        found = _CALLED.search(path)
        if request.method != "POST" or found is None or _THREADS.search(path):
            return None
        return _Course(_APIS[found[0]], request, self)


class _Course:
    """One request on its way, without any input and output of its own."""

    def __init__(self, api: Api, request: httpx2.Request, options: _Options) -> None:
        self._api = api
        self._request = request
        self._options = options
        self._begun = False

    def steps(self) -> Steps:
        """Say what to do next, from the reading of the request to the last byte for the client."""
        try:
            body = yield from self._whole("the request", 413)
            exchange = Exchange(self._api, _object(body, "the request", 400), self._options.settings)
        except Refusal as refusal:
            yield from self._refused(refusal)
            return
        if self._options.on_exchange is not None:
            self._options.on_exchange(exchange)
        if exchange.plain:
            yield (yield self._as_it_came(body))
        else:
            yield from self._translated(exchange)

    def _translated(self, exchange: Exchange) -> Steps:
        """Answer. What goes wrong has a status of its own, or is an event of the stream once that has begun."""
        try:
            yield from self._streamed(exchange) if exchange.streams else self._answered(exchange)
        except (httpx2.HTTPError, XMLToolsError) as error:
            if self._begun:
                yield exchange.fail(_reason(error), status=_status(error))
            elif isinstance(error, XMLToolsError):
                yield from self._refused(error)
            else:
                raise

    def _answered(self, exchange: Exchange) -> Steps:
        answer = None
        while answer is None:
            response = yield self._to_upstream(exchange)
            body = yield from self._whole("the upstream's answer", 502)
            completion = _object(body, "the upstream's answer", 502) if response.is_success else {}
            if "choices" not in completion:
                yield from self._unsuccessful(response, body)
                return
            answer = exchange.answer(completion)
        yield from self._say(200, answer, response.headers)

    def _streamed(self, exchange: Exchange) -> Steps:
        again = True
        while again:
            response = yield self._to_upstream(exchange)
            if not response.is_success or response.headers.get("content-type", "").startswith(_JSON):
                body = yield from self._whole("the upstream's answer", 502)
                yield from self._unsuccessful(response, body)
                return
            head = _Head(200, _headers(response.headers, self._api, f"{_EVENTS}; charset=utf-8"))
            again = yield from self._chunks(exchange, head)

    def _chunks(self, exchange: Exchange, head: _Head) -> Generator[Step | Given, Any, bool]:
        """Give the client what becomes of one stream of the upstream. Return whether another is to follow."""
        decoder = SSEDecoder()
        ended = False
        while not ended:
            data = yield _Take.TAKE
            ended = data is None
            for _, text in decoder.close() if data is None else decoder.feed(data):
                ended = text.startswith("[DONE]")
                if not ended:
                    yield from self._give(head, exchange.feed(read_chunk(text)))
                    ended = exchange.done
                if ended:
                    break
        again = exchange.again
        if not (exchange.stats.finish_reasons or exchange.done or self._begun):
            raise Refusal("the upstream broke off its reply", status=502, code="upstream_error")
        yield from self._give(head, exchange.end())
        return again

    def _give(self, head: _Head, data: bytes) -> Steps:
        """Give the client a part of the stream. The head waits for the first: errors until then keep their status."""
        if data and not self._begun:
            self._begun = True
            yield head
        if data:
            yield data

    # Requests

    def _to_upstream(self, exchange: Exchange) -> httpx2.Request:
        headers = _without(self._request.headers, _OF_A_BODY)
        if self._api == "messages":
            _translate_credentials(headers)
        headers["accept"] = _EVENTS if exchange.streams else _JSON
        headers["accept-encoding"] = "identity"
        headers["content-type"] = _JSON
        content = json.dumps(exchange.request, separators=(",", ":")).encode()
        url, extensions = self._upstream_url(), self._request.extensions
        return httpx2.Request("POST", url, headers=headers, content=content, extensions=extensions)

    def _upstream_url(self) -> httpx2.URL:
        url = self._request.url
        raw, _, query = url.raw_path.partition(b"?")
        path = self._options.upstream_path or _CALLED.sub("/chat/completions", raw.decode("ascii"))
        # What Anthropic's clients ask behind the question mark is not for a server of chat completions.
        kept = b"?" + query if query and self._api != "messages" else b""
        return url.copy_with(raw_path=path.encode("ascii") + kept)

    def _as_it_came(self, body: bytes) -> httpx2.Request:
        """The request again, since its body has been read."""
        came = self._request
        return httpx2.Request(came.method, came.url, headers=came.headers, content=body, extensions=came.extensions)

    # Answers

    def _whole(self, what: str, status: int) -> Generator[Step, Any, bytes]:
        """Read what is open to its end. Raises Refusal if that is too far away."""
        parts: list[bytes] = []
        size = 0
        while (data := (yield _Take.TAKE)) is not None:
            size += len(data)
            if size > self._options.max_body:
                raise Refusal(f"{what} has more than {self._options.max_body:,} bytes", status=status, code="too_large")
            parts.append(data)
        return b"".join(parts)

    def _unsuccessful(self, response: httpx2.Response, body: bytes) -> Steps:
        """Give the client an error of the upstream: as it is, where that is in the words of the client's API."""
        as_it_is = self._api == "chat" or (self._api == "responses" and response.is_error)
        if self._begun or response.is_success or not as_it_is:
            raise _UpstreamError(_read(body), response)
        yield _Head(response.status_code, _headers(response.headers, self._api, response.headers.get("content-type")))
        yield body

    def _refused(self, error: XMLToolsError) -> Steps:
        """Say what is wrong: with the request, else with the upstream."""
        status, headers = _status(error), getattr(error, "headers", None)
        refusal = error if isinstance(error, Refusal) else Refusal(str(error), status=status, code="upstream_error")
        yield from self._say(status, refusal.body(self._api), headers)

    def _say(self, status: int, body: Mapping[str, Any], headers: httpx2.Headers | None = None) -> Steps:
        content = json.dumps(body, separators=(",", ":")).encode()
        written = _headers(headers or httpx2.Headers(), self._api, _JSON)
        written["content-length"] = str(len(content))
        yield _Head(status, written)
        yield content


class _UpstreamError(Refusal):
    """An error that the upstream reported in an answer of its own: `said` is its JSON."""

    def __init__(self, said: Mapping[str, Any], response: httpx2.Response) -> None:
        status = response.status_code if response.is_error else error_status(said)
        super().__init__(error_message(said), status=status, code="upstream_error")
        self.headers = response.headers


def _status(error: Exception) -> int:
    if isinstance(error, Refusal):
        return error.status
    return 504 if isinstance(error, httpx2.TimeoutException) else 502


def _reason(error: Exception) -> str:
    """What is told of an error. What the inner transport says of one may be about addresses: that is left out."""
    return f"the upstream broke off ({type(error).__name__})" if isinstance(error, httpx2.HTTPError) else str(error)


def _object(text: bytes | str, what: str, status: int) -> dict[str, Any]:
    """Return the JSON object in a text. Raises Refusal for anything else."""
    try:
        value = json.loads(text if isinstance(text, str) else text.decode())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refusal(f"{what} is no JSON object", status=status, code="invalid_json")
    return value


def _read(body: bytes) -> dict[str, Any]:
    try:
        return _object(body, "", 502)
    except Refusal:
        return {}


def _without(headers: httpx2.Headers, names: tuple[str, ...]) -> httpx2.Headers:
    return httpx2.Headers([(name, value) for name, value in headers.multi_items() if name.lower() not in names])


def _headers(headers: httpx2.Headers, api: Api, content_type: str | None) -> httpx2.Headers:
    """The headers of a response that has another body than the upstream's."""
    written = _without(headers, (*_OF_A_BODY, *_OF_A_CONNECTION))
    if content_type is not None:
        written["content-type"] = content_type
    if api == "messages" and "x-request-id" in written:
        written.setdefault("request-id", written["x-request-id"])
    return written


def _translate_credentials(headers: httpx2.Headers) -> None:
    """Say who asks as OpenAI's servers expect it, and drop what only Anthropic's understand."""
    key = headers.get("x-api-key")
    if key is not None:
        headers.setdefault("authorization", f"Bearer {key}")
    for name in [name for name in headers if _ANTHROPIC.fullmatch(name)]:
        del headers[name]


def _resume(steps: Steps, outcome: Any) -> Step | Given | None:
    """Tell the steps what came of the last one; return the next, None if there is none."""
    try:
        return steps.throw(outcome) if isinstance(outcome, httpx2.HTTPError) else steps.send(outcome)
    except StopIteration:
        return None


class _Line(httpx2.SyncByteStream):
    """Does what the steps say. As a stream, what they give to the client behind the head."""

    def __init__(self, inner: httpx2.BaseTransport, request: httpx2.Request, steps: Steps) -> None:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        self._inner = inner
        self._steps = steps
        self._response: httpx2.Response | None = None
        self._chunks = iter(request.stream)

    def advance(self) -> Given | None:
        """Do what is to be done until something is given to the client; return that, None at the end."""
        step = _resume(self._steps, None)
        while isinstance(step, (httpx2.Request, _Take)):
            step = _resume(self._steps, self._do(step))
        return step

    def _do(self, step: Step) -> Any:
        try:
            return next(self._chunks, None) if isinstance(step, _Take) else self._send(step)
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


class _AsyncLine(httpx2.AsyncByteStream):
    """`_Line`, but waiting for the inner transport is left to the event loop."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, request: httpx2.Request, steps: Steps) -> None:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        self._inner = inner
        self._steps = steps
        self._response: httpx2.Response | None = None
        self._chunks = aiter(request.stream)

    async def advance(self) -> Given | None:
        step = _resume(self._steps, None)
        while isinstance(step, (httpx2.Request, _Take)):
            step = _resume(self._steps, await self._do(step))
        return step

    async def _do(self, step: Step) -> Any:
        try:
            return await (anext(self._chunks, None) if isinstance(step, _Take) else self._send(step))
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
        if self._response is not None:
            await self._response.aclose()


def _response(given: Given | None, line: _Line | _AsyncLine) -> httpx2.Response:
    if isinstance(given, httpx2.Response):
        return given
    assert isinstance(given, _Head)
    return httpx2.Response(given.status, headers=given.headers, stream=line)


class XMLToolsTransport(httpx2.BaseTransport):
    """A transport for `httpx2.Client` that gives function calling to a model that has none.

    Takes the transport that does the sending, by default `httpx2.HTTPTransport()`; what a client would be told of
    certificates, proxies and connections is told to that one. `settings` are those of `xmltools.bridge`.
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
        settings: Settings = _DEFAULTS,
        upstream_path: str | None = None,
        max_body: int = MAX_BODY,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._options = _Options(settings, upstream_path, max_body, on_exchange)
        self._inner = httpx2.HTTPTransport() if inner is None else inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, translated if it is one for a model. Raises what the inner transport raises."""
        course = self._options.course_of(request)
        if course is None:
            return self._inner.handle_request(request)
        line = _Line(self._inner, request, course.steps())
        try:
            return _response(line.advance(), line)
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
        settings: Settings = _DEFAULTS,
        upstream_path: str | None = None,
        max_body: int = MAX_BODY,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._options = _Options(settings, upstream_path, max_body, on_exchange)
        self._inner = httpx2.AsyncHTTPTransport() if inner is None else inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, translated if it is one for a model. Raises what the inner transport raises."""
        course = self._options.course_of(request)
        if course is None:
            return await self._inner.handle_async_request(request)
        line = _AsyncLine(self._inner, request, course.steps())
        try:
            return _response(await line.advance(), line)
        except BaseException:
            await line.aclose()
            raise

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()
