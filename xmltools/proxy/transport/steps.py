"""What is done for one request, step by step: a generator says what to send and what to read; the transports do it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import httpx2

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import (
    AddedFields,
    Api,
    Exchange,
    Refusal,
    Settings,
    SSEDecoder,
    error_message,
    error_status,
    is_error,
    read_chunk,
)
from xmltools.proxy.bridge.client_errors import (
    BROKEN_OFF,
    ELSEWHERE,
    IN_ONE_PIECE,
    NO_COMPLETION,
    NO_EVENTS,
    WEB_PAGE,
    is_page,
)
from xmltools.proxy.bridge.field_types import check_types
from xmltools.proxy.bridge.json_bodies import NO_OBJECT, parse_object
from xmltools.proxy.bridge.settings import checked
from xmltools.proxy.bridge.worker import estimate

_APIS: dict[str, Api] = {"/chat/completions": "chat", "/messages": "messages", "/responses": "responses"}
_CALLED = re.compile(rf"(?:{'|'.join(_APIS)})\Z")
_COUNT = "/messages/count_tokens"
# The messages of OpenAI's threads have the last word of their path in common with Anthropic's API, and nothing else.
_THREADS = re.compile(r"/threads/[^/]+/messages\Z")
_EVENTS = "text/event-stream"
_JSON = "application/json"

# Written anew for a body that is not the one that came.
_OF_A_BODY = ("accept", "accept-encoding", "content-encoding", "content-length", "content-type", "transfer-encoding")
# Said of one connection, by whoever is at its other end.
_OF_A_CONNECTION = ("connection", "keep-alive", "proxy-authenticate", "te", "trailer", "upgrade")
_ANTHROPIC = re.compile(r"x-api-key|anthropic-.*")
_PATH = re.compile(r'/[!"$->@-~]*')  # what is printable, without ? and #


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for all requests of a transport."""

    settings: Settings
    upstream_path: str | None
    max_body: int
    on_exchange: Callable[[Exchange], None] | None
    added: AddedFields = field(default_factory=AddedFields)

    def __post_init__(self) -> None:
        checked(self.settings)
        check_types(self)
        if self.upstream_path is not None and not _PATH.fullmatch(self.upstream_path):
            raise XMLToolsError(
                f"upstream_path: expected a path such as '/v1/chat/completions', got {self.upstream_path!r:.80}; "
                "the host is that of the request"
            )
        if type(self.max_body) is not int or self.max_body < 1:
            raise XMLToolsError(f"max_body: expected a number of bytes from 1, got {self.max_body!r:.40}")


class Take(Enum):
    """The step that asks for the next bytes of what is being read: of the request, then of the open response. They are
    None at its end."""

    TAKE = "take"


@dataclass(frozen=True, slots=True)
class Head:
    """What the client gets first, unless a response passes through as it is. Bytes follow."""

    status: int
    headers: httpx2.Headers


Step = httpx2.Request | Take
Given = Head | httpx2.Response | bytes
Steps = Generator[Step | Given, Any, None]
"""What to do, and what to give to the client. A request that is to be sent is answered by its response."""


def steps_of(request: httpx2.Request, options: Options) -> Steps | None:
    """Return the steps of a request, None for one that is not ours."""
    path = request.url.path
    if request.method != "POST" or _THREADS.search(path):
        return None
    if path.endswith(_COUNT):
        return _Translation("messages", request, options).counted()
    found = _CALLED.search(path)
    return _Translation(_APIS[found[0]], request, options).steps() if found is not None else None


class _Translation:
    """One request and its answer, without any input and output of its own."""

    def __init__(self, api: Api, request: httpx2.Request, options: Options) -> None:
        self._api = api
        self._request = request
        self._options = options
        self._begun = False

    def steps(self) -> Steps:
        """Say what to do next, from the reading of the request to the last byte for the client."""
        try:
            body = yield from self._whole("the request", 413)
            exchange = Exchange(self._api, parse_object(body), self._options.settings)
        except Refusal as refusal:
            yield from self._refused(refusal)
            return
        if self._options.on_exchange is not None:
            self._options.on_exchange(exchange)
        if exchange.plain:
            yield (yield self._as_it_came(body))
        else:
            yield from self._translated(exchange)

    def counted(self) -> Steps:
        """Answer with an estimate of the tokens that the upstream would get."""
        try:
            body = yield from self._whole("the request", 413)
            yield from self._say(200, {"input_tokens": estimate(body, self._options.settings)})
        except Refusal as refusal:
            yield from self._refused(refusal)

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
            request = self._to_upstream(exchange)
            response = yield request
            body = yield from self._whole("the upstream's answer", 502)
            if self._is_asked_again(request, response, body):
                continue
            completion = _read(body) if response.is_success else {}
            if "choices" not in completion:
                yield from self._unsuccessful(response, body)
                return
            answer = exchange.answer(completion)
        yield from self._say(200, answer, response.headers)

    def _streamed(self, exchange: Exchange) -> Steps:
        again = True
        while again:
            request = self._to_upstream(exchange)
            response = yield request
            if not response.is_success or response.headers.get("content-type", "").startswith(_JSON):
                body = yield from self._whole("the upstream's answer", 502)
                if self._is_asked_again(request, response, body):
                    continue
                yield from self._unsuccessful(response, body)
                return
            head = Head(200, _response_headers(response.headers, self._api, f"{_EVENTS}; charset=utf-8"))
            try:
                again = yield from self._chunks(exchange, head, response)
            except (httpx2.HTTPError, XMLToolsError):
                if not exchange.awaits_usage:
                    raise
                yield from self._give(head, exchange.end())  # all but the usage has been said
                again = exchange.next_turn()

    def _chunks(self, exchange: Exchange, head: Head, response: httpx2.Response) -> Generator[Step | Given, Any, bool]:
        """Give the client what becomes of one stream of the upstream. Return whether another is to follow."""
        decoder = SSEDecoder()
        begins = b""
        ended = is_whole = has_events = False
        while not ended:
            data = yield Take.TAKE
            begins = begins or data or b""
            ended = data is None
            for _, text in decoder.close() if data is None else decoder.feed(data):
                has_events = True
                ended = is_whole = text.startswith("[DONE]")
                if not ended:
                    yield from self._give(head, exchange.feed(read_chunk(text)))
                    ended = exchange.done
                if ended:
                    break
        if not (exchange.stats.finish_reasons or exchange.done or (is_whole and exchange.begun)):
            is_none = WEB_PAGE if is_page(response.headers.get("content-type", ""), begins) else NO_EVENTS
            raise Refusal(is_none if begins and not has_events else BROKEN_OFF, status=502, code="upstream_error")
        yield from self._give(head, exchange.end(is_whole=is_whole))
        return exchange.next_turn()

    def _give(self, head: Head, data: bytes) -> Steps:
        """Give the client a part of the stream. The head waits for the first: errors until then keep their status."""
        if data and not self._begun:
            self._begun = True
            yield head
        if data:
            yield data

    # Requests

    def _to_upstream(self, exchange: Exchange) -> httpx2.Request:
        headers = _request_headers(self._request.headers, self._api, streams=exchange.streams)
        url, extensions = self._upstream_url(), self._request.extensions
        content = json.dumps(exchange.request, separators=(",", ":")).encode()
        content = self._options.added.for_upstream(url.netloc.decode("ascii"), content)
        return httpx2.Request("POST", url, headers=headers, content=content, extensions=extensions)

    def _is_asked_again(self, request: httpx2.Request, response: httpx2.Response, body: bytes) -> bool:
        """Return whether the upstream refused a request only for a field that was added to it."""
        upstream = request.url.netloc.decode("ascii")
        return self._options.added.is_refused(upstream, request.content, response.status_code, body)

    def _upstream_url(self) -> httpx2.URL:
        url = self._request.url
        raw, _, query = url.raw_path.partition(b"?")
        path = self._options.upstream_path or _CALLED.sub("/chat/completions", raw.decode("ascii"))
        # What Anthropic's clients ask after the question mark is not for a server of chat completions.
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
        while (data := (yield Take.TAKE)) is not None:
            size += len(data)
            if size > self._options.max_body:
                raise Refusal(f"{what} has more than {self._options.max_body:,} bytes", status=status, code="too_large")
            parts.append(data)
        return b"".join(parts)

    def _unsuccessful(self, response: httpx2.Response, body: bytes) -> Steps:
        """Give the client an error of the upstream: as it is, where that is in the words of the client's API."""
        as_it_is = self._api == "chat" or (self._api == "responses" and response.is_error)
        if self._begun or response.is_success or not as_it_is:
            raise _UpstreamError(response, body)
        yield Head(
            response.status_code, _response_headers(response.headers, self._api, response.headers.get("content-type"))
        )
        yield body

    def _refused(self, error: XMLToolsError) -> Steps:
        """Say what is wrong: with the request, else with the upstream."""
        status, headers = _status(error), getattr(error, "headers", None)
        refusal = error if isinstance(error, Refusal) else Refusal(str(error), status=status, code="upstream_error")
        yield from self._say(status, refusal.body(self._api), headers)

    def _say(self, status: int, body: Mapping[str, Any], headers: httpx2.Headers | None = None) -> Steps:
        content = json.dumps(body, separators=(",", ":")).encode()
        written = _response_headers(headers or httpx2.Headers(), self._api, _JSON)
        written["content-length"] = str(len(content))
        yield Head(status, written)
        yield content


class _UpstreamError(Refusal):
    """What the upstream said in place of what it was asked for."""

    def __init__(self, response: httpx2.Response, body: bytes) -> None:
        status = response.status_code if response.is_error else error_status(_read(body))
        super().__init__(_fault(response, body), status=status, code="upstream_error")
        self.headers = response.headers


def _fault(response: httpx2.Response, body: bytes) -> str:
    """Return what is wrong with an answer, in the upstream's words if it has any."""
    if response.is_error:
        return error_message(body, response.status_code)
    if not response.is_success:
        return ELSEWHERE
    if is_page(response.headers.get("content-type", ""), body):
        return WEB_PAGE
    said = _read(body)
    if not said:
        return NO_OBJECT
    if "choices" in said:
        return IN_ONE_PIECE
    message = error_message(said)
    return message if is_error(said) or message != error_message({}) else NO_COMPLETION


def _status(error: Exception) -> int:
    if isinstance(error, Refusal):
        return error.status
    return 504 if isinstance(error, httpx2.TimeoutException) else 502


def _reason(error: Exception) -> str:
    """What is told of an error. What the inner transport says of one may be about addresses: that is left out."""
    return f"the upstream broke off ({type(error).__name__})" if isinstance(error, httpx2.HTTPError) else str(error)


def _read(body: bytes) -> dict[str, Any]:
    """Return the JSON object that an answer is, an empty one if it is none."""
    try:
        return parse_object(body)
    except Refusal:
        return {}


# Headers of requests and responses whose bodies are written anew


def _request_headers(came: httpx2.Headers, api: Api, *, streams: bool) -> httpx2.Headers:
    """Return the headers for the upstream of a request that came from a client of an API."""
    headers = _without(came, _OF_A_BODY)
    if api == "messages":
        _translate_credentials(headers)
    headers["accept"] = _EVENTS if streams else _JSON
    headers["accept-encoding"] = "identity"
    headers["content-type"] = _JSON
    return headers


def _response_headers(headers: httpx2.Headers, api: Api, content_type: str | None) -> httpx2.Headers:
    """Return the headers of a response that has another body than the upstream's."""
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


def _without(headers: httpx2.Headers, names: tuple[str, ...]) -> httpx2.Headers:
    return httpx2.Headers([(name, value) for name, value in headers.multi_items() if name.lower() not in names])
