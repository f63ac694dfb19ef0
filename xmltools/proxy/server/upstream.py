"""Requests to the upstream: where they go, which headers they have, and what can go wrong.

There is one upstream, from the configuration; nothing in a request leads elsewhere, and redirects are not followed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext
from typing import Any

import httpx2
from starlette import datastructures
from starlette.types import Scope

from xmltools import __version__
from xmltools.proxy.bridge.client_errors import UpstreamError
from xmltools.proxy.bridge.json_bodies import encoded, without_keys
from xmltools.proxy.bridge.relay import Ask
from xmltools.proxy.recordings import Recorder, Recording
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import Record, record_of
from xmltools.proxy.server.network import Content, Headers, Request, Response, Sender, UnreachableError, Why
from xmltools.proxy.server.tracing import trace_headers

_SECRET = frozenset((b"authorization", b"x-api-key", b"api-key"))
_CHAT_HEADERS = (b"user-agent", b"openai-organization", b"openai-project", b"http-referer", b"x-title")
"""Headers of a client that mean something to the upstream, whatever the client's API."""
_HOP_BY_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
# Cookies know no ports: those of other servers on this machine would go along. The rest is about the way to us.
_NOT_PASSED_UP = frozenset(
    (b"host", b"cookie", b"origin", b"referer", b"expect", b"x-request-id", b"traceparent", b"tracestate")
)
_NOT_PASSED_DOWN = frozenset((b"set-cookie", b"date", b"server", b"x-request-id"))
_ABOUT_PAGES = b"access-control-"
"""Headers that let web pages in: which ones, is said here."""
_ABOUT_LIMITS = (b"retry-after", b"x-ratelimit-", b"anthropic-ratelimit-")
_USER_AGENT = f"xmltools/{__version__}".encode()


class UpstreamAnswer:
    """The head of an answer, and its body as it comes. `keys` are taken out of what it says of an error, and out
    of its headers."""

    def __init__(self, response: Response, pieces: AsyncGenerator[bytes, None], keys: Collection[bytes] = ()) -> None:
        self.status = response.status
        self.pieces = pieces
        self._headers = [(name.lower(), without_keys(value, keys)) for name, value in response.headers]
        self.content_type = self.header(b"content-type")

    def header(self, name: bytes) -> str:
        """Return a header by its name in small letters, empty if there is none."""
        return _first(self._headers, name).decode("latin-1")

    def passed_headers(self) -> Headers:
        """Return the headers for a client that gets the body as it is."""
        dropped = _HOP_BY_HOP | _NOT_PASSED_DOWN | _named_by_connection(self._headers)
        return [each for each in self._headers if each[0] not in dropped and not each[0].startswith(_ABOUT_PAGES)]

    def headers_beside_body(self) -> Headers:
        """Return the headers for a client that gets another body, without those that describe the body."""
        return [each for each in self.passed_headers() if not each[0].startswith(b"content-")]

    def limit_headers(self) -> Headers:
        """Return the headers that say when, and how much, may be asked next."""
        return [(name, value) for name, value in self._headers if name.startswith(_ABOUT_LIMITS)]

    async def read(self, most: int) -> bytes:
        """Return the body. Raises UpstreamError if it has more than `most` bytes."""
        parts: list[bytes] = []
        size = 0
        async for piece in self.pieces:
            parts.append(piece)
            size += len(piece)
            if size > most:
                raise UpstreamError(f"the upstream's answer has more than {most:,} bytes")
        return b"".join(parts)


class Upstream:
    """Makes requests for the upstream and sends them."""

    def __init__(self, config: ServeConfig, sender: Sender) -> None:
        self._config = config
        self._sender = sender
        self._base = as_sent(config.base_url)
        self._recorder = Recorder(config.record) if config.record is not None else None
        self._keys = [config.upstream_key.encode()] if config.upstream_key is not None else []

    def hide(self, said: bytes) -> bytes:
        """Return what the upstream said of an error without its key, which is none of the client's business: some
        repeat what they refuse."""
        return without_keys(said, self._keys)

    def chat(self, scope: Scope, ask: Ask) -> Request:
        """Return the request for a chat completion."""
        headers = [(b"content-type", b"application/json"), *self._own_headers(scope)]
        return self._request("POST", b"/chat/completions", headers, ask.body)._replace(turn=ask.turn)

    def get(self, scope: Scope, path: bytes) -> Request:
        """Return a request of ours for what is at a path below the base URL, in the name of the client."""
        return self._request("GET", path, self._own_headers(scope), None)

    def ask(self, scope: Scope, method: str, path: bytes, content: Any = None) -> Request:
        """Return a request of ours, in the name of the client, for what is beside OpenAI's API: `content` is JSON."""
        headers = self._own_headers(scope)
        if content is not None:
            headers.append((b"content-type", b"application/json"))
        body = None if content is None else encoded(content)
        return Request(method, (beside_api(self._base) or self._base) + path.decode("latin-1"), headers, body)

    @asynccontextmanager
    async def send(self, request: Request) -> AsyncIterator[UpstreamAnswer]:
        """Send a request that no client sees, as `open` does."""
        async with self._sender.open(request, decode=True) as response:
            yield UpstreamAnswer(response, response.pieces, self._keys)

    def _own_headers(self, scope: Scope) -> Headers:
        given = {b"user-agent": _USER_AGENT, **dict(scope["headers"])}
        passed = [(name, given[name]) for name in _CHAT_HEADERS if name in given]
        # No compression: it would be undone here, and hold streams back.
        return [*passed, (b"accept-encoding", b"identity"), *self._bearer(given), *_trace(scope)]

    def passed(self, scope: Scope, path: bytes, content: Content) -> Request:
        """Return a request that is passed on as it came, to a path below the base URL."""
        given = dict(scope["headers"])
        dropped = _HOP_BY_HOP | _NOT_PASSED_UP | _named_by_connection(scope["headers"])
        if isinstance(content, bytes):
            dropped |= {b"content-length"}
        if self._config.api_key is not None or self._config.upstream_key is not None:
            dropped |= _SECRET
        if self._config.upstream_key is not None:
            dropped |= {b"accept-encoding"}
        headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
        if self._config.upstream_key is not None:
            headers.append((b"accept-encoding", b"identity"))  # an error is searched for the key
        if dropped >= _SECRET:
            headers += self._bearer(given)
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        return self._request(scope["method"], path + query, [*headers, *_trace(scope)], content)

    def _request(self, method: str, target: bytes, headers: Headers, content: Content) -> Request:
        return Request(method, self._base + target.decode("latin-1"), headers, content)

    def _bearer(self, given: Mapping[bytes, bytes]) -> Headers:
        """Return the credentials for the upstream: ours, or the client's unless they were meant for us."""
        if self._config.upstream_key is not None:
            return [(b"authorization", b"Bearer " + self._config.upstream_key.encode())]
        if self._config.api_key is not None:
            return []
        if b"authorization" in given:
            return [(b"authorization", given[b"authorization"])]
        return [(b"authorization", b"Bearer " + given[b"x-api-key"])] if b"x-api-key" in given else []

    @asynccontextmanager
    async def open(self, request: Request, record: Record, *, raw: bool = False) -> AsyncIterator[UpstreamAnswer]:
        """Send a request; give the answer, whose body is decoded unless `raw`.

        Raises UpstreamError if there is none, and, also out of the block, if it breaks off.
        """
        recording = self._recording(request)
        try:
            with recording or nullcontext():
                async with self._sender.open(request, decode=not raw) as response:
                    record.upstream_status = response.status
                    pieces = response.pieces
                    if recording is not None:
                        recording.head(response.status, datastructures.Headers(raw=response.headers))
                        pieces = _kept(pieces, recording)
                    yield UpstreamAnswer(response, pieces, self._keys)
        except UnreachableError as error:
            if error.why is Why.TIMEOUT:
                raise UpstreamError(f"{error} (--connect-timeout)", error.status) from None
            raise

    def _recording(self, request: Request) -> Recording | None:
        """Begin to keep an exchange of chat completions, if any are to be kept."""
        path = httpx2.URL(request.url).path
        if self._recorder is None or not path.endswith("/chat/completions"):
            return None
        body = request.content if isinstance(request.content, bytes) else b""
        return self._recorder.start(body, method=request.method, path=path)


def as_sent(url: str) -> str:
    """Return a URL with its host and path in ASCII, as requests have them, without a slash at its end."""
    parts = httpx2.URL(url)
    return f"{parts.scheme}://{parts.netloc.decode('ascii')}{parts.raw_path.decode('ascii').rstrip('/')}"


def beside_api(base: str) -> str | None:
    """Return the URL under which llama.cpp and Ollama have their own API, beside OpenAI's; None if it is neither's."""
    return base.removesuffix("/v1") if base.endswith("/v1") else None


async def _kept(pieces: AsyncGenerator[bytes, None], recording: Recording) -> AsyncGenerator[bytes, None]:
    async with aclosing(pieces):
        async for piece in pieces:
            recording.chunk(piece)
            yield piece
    recording.end()


def _first(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    return next((value for key, value in headers if key == name), b"")


def _named_by_connection(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    return frozenset(word.strip().lower() for word in _first(headers, b"connection").split(b","))


def _trace(scope: Scope) -> Headers:
    return [(b"x-request-id", record_of(scope).id.encode()), *trace_headers(scope)]
