"""Requests to the upstream: where they go, which headers they have, and what can go wrong.

There is one upstream, from the configuration; nothing in a request leads elsewhere, and redirects are not followed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext
from typing import Any

import httpx2
from starlette import datastructures
from starlette.types import Scope

from xmltools import __version__
from xmltools.proxy.bridge import Turn, UpstreamError
from xmltools.proxy.bridge.json_bodies import encoded, without_keys
from xmltools.proxy.recordings import Recorder, Recording
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import Record, record_of
from xmltools.proxy.server.network import Content, Headers, Request, Response, Sender
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
        return datastructures.Headers(raw=self._headers).get(name.decode(), "")

    def passed_headers(self) -> Headers:
        """Return the headers for a client that gets the body as it is."""
        dropped = _HOP_BY_HOP | _NOT_PASSED_DOWN | _named_by(self.header(b"connection"))
        return [each for each in self._headers if each[0] not in dropped and not each[0].startswith(_ABOUT_PAGES)]

    def headers_beside_body(self) -> Headers:
        """Return the headers for a client that gets another body, without those that describe the body."""
        return [each for each in self.passed_headers() if not each[0].startswith(b"content-")]

    def limit_headers(self) -> Headers:
        """Return the headers that say when, and how much, may be asked next."""
        return [(name, value) for name, value in self._headers if name.startswith(_ABOUT_LIMITS)]

    async def read(self, most: int) -> bytes:
        """Return the body. Raises UpstreamError if it has more than `most` bytes."""
        body = b""
        async for piece in self.pieces:
            body += piece
            if len(body) > most:
                raise UpstreamError(f"the upstream's answer has more than {most:,} bytes")
        return body


class Upstream:
    """Makes requests for the upstream and sends them."""

    def __init__(self, config: ServeConfig, sender: Sender) -> None:
        self._sender = sender
        self._base = as_sent(config.base_url)
        self._recorder = Recorder(config.record) if config.record is not None else None
        self._keys = [config.upstream_key.encode()] if config.upstream_key is not None else []
        self._is_locked = config.api_key is not None

    def hide(self, said: bytes) -> bytes:
        """Return what the upstream said of an error without its key, which is none of the client's business: some
        repeat what they refuse."""
        return without_keys(said, self._keys)

    def own(
        self, scope: Scope, method: str, path: bytes, body: bytes | None = None, turn: Turn | None = None
    ) -> Request:
        """Return a request of ours, in the name of the client, for what is at a path below the base URL."""
        given = {b"user-agent": _USER_AGENT, **dict(scope["headers"])}
        headers = [(name, given[name]) for name in _CHAT_HEADERS if name in given]
        # No compression: it would be undone here, and hold streams back.
        headers += [(b"accept-encoding", b"identity"), *self._bearer(given), *_trace(scope)]
        if body is not None:
            headers.append((b"content-type", b"application/json"))
        return Request(method, self._base + path.decode("latin-1"), headers, body, turn)

    def beside(self, scope: Scope, method: str, path: bytes, content: Any = None) -> Request:
        """Return a request of ours for what is beside OpenAI's API: `content` is JSON."""
        request = self.own(scope, method, path, None if content is None else encoded(content))
        return request._replace(url=(beside_api(self._base) or self._base) + path.decode("latin-1"))

    def passed(self, scope: Scope, path: bytes, content: Content) -> Request:
        """Return a request that is passed on as it came, to a path below the base URL."""
        given = dict(scope["headers"])
        dropped = _HOP_BY_HOP | _NOT_PASSED_UP | _named_by(given.get(b"connection", b"").decode("latin-1"))
        added = _trace(scope)
        if isinstance(content, bytes):
            dropped |= {b"content-length"}
        if self._keys or self._is_locked:
            dropped |= _SECRET
            added += self._bearer(given)
        if self._keys:
            dropped |= {b"accept-encoding"}
            added.append((b"accept-encoding", b"identity"))  # an error is searched for the key
        headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
        target = path + b"?" + scope["query_string"] if scope["query_string"] else path
        return Request(scope["method"], self._base + target.decode("latin-1"), [*headers, *added], content)

    def _bearer(self, given: Mapping[bytes, bytes]) -> Headers:
        """Return the credentials for the upstream: ours, or the client's unless they were meant for us."""
        if self._keys:
            said = b"Bearer " + self._keys[0]
        elif self._is_locked:
            return []
        else:
            said = given.get(b"authorization") or (b"x-api-key" in given and b"Bearer " + given[b"x-api-key"]) or b""
        return [(b"authorization", said)] if said else []

    @asynccontextmanager
    async def open(
        self, request: Request, record: Record | None = None, *, raw: bool = False
    ) -> AsyncIterator[UpstreamAnswer]:
        """Send a request; give the answer, whose body is decoded unless `raw`. `record` is that of the client's
        request, if it gets the answer.

        Raises UpstreamError if there is none, and, also out of the block, if it breaks off.
        """
        recording, path = None, httpx2.URL(request.url).path
        if self._recorder is not None and path.endswith("/chat/completions"):
            body = request.content if isinstance(request.content, bytes) else b""
            recording = self._recorder.start(body, method=request.method, path=path)
        with recording or nullcontext():
            async with self._sender.open(request, decode=not raw) as response:
                if record is not None:
                    record.upstream_status = response.status
                pieces = response.pieces
                if recording is not None:
                    recording.head(response.status, datastructures.Headers(raw=response.headers))
                    pieces = _kept(pieces, recording)
                yield UpstreamAnswer(response, pieces, self._keys)


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


def _named_by(connection: str) -> frozenset[bytes]:
    """Return the headers that the header Connection names: they are for the next hop only."""
    return frozenset(word.strip().lower().encode("latin-1") for word in connection.split(","))


def _trace(scope: Scope) -> Headers:
    return [(b"x-request-id", record_of(scope).id.encode()), *trace_headers(scope)]
