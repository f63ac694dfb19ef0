"""What a transport does for one request: the steps of the relay, with their requests and responses in HTTP."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import httpx2

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import AddedFields, Api, Exchange, Refusal, Settings, UpstreamError
from xmltools.proxy.bridge.exchange import estimate, open_exchange
from xmltools.proxy.bridge.field_types import check_types
from xmltools.proxy.bridge.relay import EVENTS, JSON, Ask, Head, Relay, Steps, Translation, read_whole, say
from xmltools.proxy.bridge.settings import checked

_APIS: dict[str, Api] = {"/chat/completions": "chat", "/messages": "messages", "/responses": "responses"}
_CALLED = re.compile(rf"(?:{'|'.join(_APIS)})\Z")
_COUNT = "/messages/count_tokens"
# The messages of OpenAI's threads have the last word of their path in common with Anthropic's API, and nothing else.
_THREADS = re.compile(r"/threads/[^/]+/messages\Z")

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
    added: defaultdict[bytes, AddedFields] = field(default_factory=partial(defaultdict, AddedFields))

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


class Work:
    """One request: its steps, and what they are in HTTP. `is_ours`: it asks a model. `plain` is set once the
    request has been read, if it must be sent unchanged; there are no more steps then."""

    def __init__(self, request: httpx2.Request, options: Options) -> None:
        path = request.url.path
        found = _CALLED.search(path)
        self._counts = path.endswith(_COUNT)
        self.is_ours = request.method == "POST" and not _THREADS.search(path) and bool(found or self._counts)
        self._api: Api = _APIS[found[0]] if found is not None else "messages"
        self._request = request
        self._options = options
        self.plain: httpx2.Request | None = None
        self._relay: Relay | None = None

    @property
    def failure(self) -> Refusal | None:
        """Why the client gets no whole answer."""
        return self._relay.failure if self._relay is not None else None

    def steps(self) -> Steps:
        """Say what to do, from the reading of the request to the last byte for the client."""
        options = self._options
        try:
            body = yield from read_whole("the request", options.max_body, 413)
            if self._counts:
                yield from say(200, {"input_tokens": estimate(body, options.settings)})
                return
            exchange = open_exchange(self._api, body, options.settings, added=options.added[self._request.url.netloc])
        except Refusal as refusal:
            yield from say(refusal.status, refusal.body(self._api))
            return
        if options.on_exchange is not None:
            options.on_exchange(exchange)
        if exchange.plain:
            came, extensions = self._request, self._request.extensions
            self.plain = httpx2.Request(
                came.method, came.url, headers=came.headers, content=body, extensions=extensions
            )
            return
        self._relay = relay = Translation(self._api, exchange, most=options.max_body, follows=True)
        yield from relay.steps()

    def request(self, ask: Ask) -> httpx2.Request:
        """Return the request for the upstream."""
        url, extensions = self._upstream_url(), self._request.extensions
        headers = _request_headers(self._request.headers, self._api, streams=ask.streams)
        return httpx2.Request("POST", url, headers=headers, content=ask.body, extensions=extensions)

    def _upstream_url(self) -> httpx2.URL:
        url = self._request.url
        raw, _, query = url.raw_path.partition(b"?")
        path = self._options.upstream_path or _CALLED.sub("/chat/completions", raw.decode("ascii"))
        # What Anthropic's clients ask after the question mark is not for a server of chat completions.
        kept = b"?" + query if query and self._api != "messages" else b""
        return url.copy_with(raw_path=path.encode("ascii") + kept)

    def headers(self, head: Head, answer: httpx2.Response | None) -> httpx2.Headers:
        """Return the headers for the client, which gets another body than that of the upstream's answer."""
        written = _without(answer.headers if answer is not None else httpx2.Headers(), (*_OF_A_BODY, *_OF_A_CONNECTION))
        written["content-type"] = head.content_type
        if head.length is not None:
            written["content-length"] = str(head.length)
        if self._api == "messages" and "x-request-id" in written:
            written.setdefault("request-id", written["x-request-id"])
        return written


def reason(error: httpx2.HTTPError) -> UpstreamError:
    """Return an error for the client: without the address, which the inner transport may name."""
    status = 504 if isinstance(error, httpx2.TimeoutException) else 502
    return UpstreamError(f"the upstream broke off ({type(error).__name__})", status)


# Headers of requests and responses whose bodies are written anew


def _request_headers(came: httpx2.Headers, api: Api, *, streams: bool) -> httpx2.Headers:
    """Return the headers for the upstream of a request that came from a client of an API."""
    headers = _without(came, _OF_A_BODY)
    if api == "messages":
        _translate_credentials(headers)
    headers["accept"] = EVENTS if streams else JSON
    headers["accept-encoding"] = "identity"
    headers["content-type"] = JSON
    return headers


def _translate_credentials(headers: httpx2.Headers) -> None:
    """Say who asks as OpenAI's servers expect it, and drop what only Anthropic's understand."""
    key = headers.get("x-api-key")
    if key is not None:
        headers.setdefault("authorization", f"Bearer {key}")
    for name in [name for name in headers if _ANTHROPIC.fullmatch(name)]:
        del headers[name]


def _without(headers: httpx2.Headers, names: tuple[str, ...]) -> httpx2.Headers:
    return httpx2.Headers([(name, value) for name, value in headers.multi_items() if name.lower() not in names])
