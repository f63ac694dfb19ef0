"""Requests to the upstream: where they go, which headers they have, and what can go wrong.

There is one upstream, from the configuration; nothing in a request leads elsewhere, and redirects are not followed.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager, nullcontext

import httpx2
from starlette.types import Scope

from xmltools import __version__
from xmltools.serve._record import Record, record_of
from xmltools.serve._tracing import trace_headers
from xmltools.serve.config import ServeConfig
from xmltools.serve.recordings import Recorder, Recording

__all__ = ["Content", "Upstream", "UpstreamAnswer", "UpstreamError", "UpstreamStatusError", "unreachable"]

Content = bytes | AsyncIterator[bytes] | None

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
_ABOUT_LIMITS = (b"retry-after", b"x-ratelimit-", b"anthropic-ratelimit-")
_USER_AGENT = f"xmltools/{__version__}".encode()
_MAX_ERROR = 1024 * 1024


class UpstreamError(Exception):
    """There is no answer, or not all of it. `status` is what a client is told that has not been sent anything."""

    def __init__(self, message: str, status: int = 502) -> None:
        super().__init__(message)
        self.status = status


class UpstreamStatusError(Exception):
    """The upstream answered with an error."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body


class UpstreamAnswer:
    """The head of an answer, and its body as it comes."""

    def __init__(self, response: httpx2.Response, pieces: AsyncGenerator[bytes, None]) -> None:
        self.status = response.status_code
        self.content_type = response.headers.get("content-type", "")
        self.pieces = pieces
        self._headers = response.headers

    def passed_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers for a client that gets the body as it is."""
        named = _named_by_connection(self._headers.get("connection", "").encode("latin-1"))
        dropped = _HOP_BY_HOP | _NOT_PASSED_DOWN | named
        return [(name, value) for name, value in _lower(self._headers) if name not in dropped]

    def limit_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers that say when, and how much, may be asked next."""
        return [(name, value) for name, value in _lower(self._headers) if name.startswith(_ABOUT_LIMITS)]

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

    async def check(self) -> None:
        """Raise UpstreamStatusError if the answer is an error, and UpstreamError if it is none."""
        if 200 <= self.status < 300:
            return
        if self.status < 400:
            raise UpstreamError("the upstream's answer is elsewhere, and redirects are not followed: change its URL")
        kind = (b"content-type", self.content_type.encode("latin-1") or b"application/octet-stream")
        raise UpstreamStatusError(self.status, [kind, *self.limit_headers()], await self.read(_MAX_ERROR))


class Upstream:
    """Makes requests for the upstream and sends them."""

    def __init__(self, config: ServeConfig, client: httpx2.AsyncClient) -> None:
        self._config = config
        self._client = client
        self._base = httpx2.URL(config.base_url)
        self._recorder = Recorder(config.record) if config.record is not None else None
        self._timeout = {"connect": config.connect_timeout, "read": None, "write": config.idle_timeout, "pool": None}

    def chat(self, scope: Scope, body: bytes) -> httpx2.Request:
        """Return the request for a chat completion."""
        headers = [(b"content-type", b"application/json"), *self._own_headers(scope)]
        return self._request("POST", b"/chat/completions", headers, body)

    def get(self, scope: Scope, path: bytes) -> httpx2.Request:
        """Return a request of ours for what is at a path below the base URL, in the name of the client."""
        return self._request("GET", path, self._own_headers(scope), None)

    def _own_headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        given = {b"user-agent": _USER_AGENT, **dict(scope["headers"])}
        passed = [(name, given[name]) for name in _CHAT_HEADERS if name in given]
        # No compression: it would be undone here, and hold streams back.
        return [*passed, (b"accept-encoding", b"identity"), *self._bearer(given), *_trace(scope)]

    def passed(self, scope: Scope, path: bytes, content: Content) -> httpx2.Request:
        """Return a request that is passed on as it came, to a path below the base URL."""
        given = dict(scope["headers"])
        dropped = _HOP_BY_HOP | _NOT_PASSED_UP | _named_by_connection(given.get(b"connection", b""))
        if isinstance(content, bytes):
            dropped |= {b"content-length"}
        if self._config.api_key is not None or self._config.upstream_key is not None:
            dropped |= _SECRET
        headers = [(name, value) for name, value in scope["headers"] if name not in dropped]
        if dropped >= _SECRET:
            headers += self._bearer(given)
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        return self._request(scope["method"], path + query, [*headers, *_trace(scope)], content)

    def _request(
        self, method: str, target: bytes, headers: list[tuple[bytes, bytes]], content: Content
    ) -> httpx2.Request:
        url = self._base.copy_with(raw_path=self._base.raw_path.rstrip(b"/") + target)
        return httpx2.Request(method, url, headers=headers, content=content, extensions={"timeout": self._timeout})

    def _bearer(self, given: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        """Return the credentials for the upstream: ours, or the client's unless they were meant for us."""
        if self._config.upstream_key is not None:
            return [(b"authorization", b"Bearer " + self._config.upstream_key.encode())]
        if self._config.api_key is not None:
            return []
        if b"authorization" in given:
            return [(b"authorization", given[b"authorization"])]
        return [(b"authorization", b"Bearer " + given[b"x-api-key"])] if b"x-api-key" in given else []

    @asynccontextmanager
    async def open(
        self, request: httpx2.Request, record: Record, *, raw: bool = False
    ) -> AsyncIterator[UpstreamAnswer]:
        """Send a request; give the answer, whose body is decoded unless `raw`.

        Raises UpstreamError if there is none, and, also out of the block, if it breaks off.
        """
        recording = self._recording(request)
        with recording or nullcontext():
            async with self._answer(request, record, raw, recording) as answer:
                yield answer

    @asynccontextmanager
    async def _answer(
        self, request: httpx2.Request, record: Record, raw: bool, recording: Recording | None
    ) -> AsyncIterator[UpstreamAnswer]:
        try:
            response = await self._client.send(request, stream=True, auth=None, follow_redirects=False)
            record.upstream_status = response.status_code
            if recording is not None:
                recording.head(response.status_code, response.headers)
            try:
                pieces = response.aiter_raw() if raw else response.aiter_bytes()
                yield UpstreamAnswer(response, pieces if recording is None else _kept(pieces, recording))
            finally:
                await response.aclose()
        except httpx2.TimeoutException as error:
            raise UpstreamError(_late(error, self._config), 504) from None
        except httpx2.ConnectError as error:
            record.error = unreachable(self._base, error)
            raise UpstreamError(record.error) from None
        except httpx2.HTTPError:
            raise UpstreamError("the upstream broke off the connection") from None

    def _recording(self, request: httpx2.Request) -> Recording | None:
        """Begin to keep an exchange of chat completions, if any are to be kept."""
        if self._recorder is None or not request.url.path.endswith("/chat/completions"):
            return None
        body = request.content if isinstance(request.stream, httpx2.ByteStream) else b""
        return self._recorder.start(body, method=request.method, path=request.url.path)


async def _kept(pieces: AsyncGenerator[bytes, None], recording: Recording) -> AsyncGenerator[bytes, None]:
    async with aclosing(pieces):
        async for piece in pieces:
            recording.chunk(piece)
            yield piece


def unreachable(base: httpx2.URL, error: BaseException) -> str:
    """Return that there is no upstream at a URL, and why: what the system said, which is at the root of the error."""
    root = error
    while (inner := root.__cause__ or root.__context__) is not None:
        root = inner
    cause = str(root) or type(root).__name__
    if isinstance(root, OSError) and root.errno:  # asyncio writes words of its own there; those of names are negative
        cause = os.strerror(root.errno) if root.errno > 0 else root.strerror or cause
    where = f"{base.scheme}://{base.netloc.decode('ascii', 'replace')}{base.path}"
    return f"the upstream at {where} can't be reached: {cause[:200]}"


def _late(error: httpx2.TimeoutException, config: ServeConfig) -> str:
    if isinstance(error, httpx2.ConnectTimeout):
        return f"the upstream took no connection within {config.connect_timeout:g} seconds"
    return f"the upstream took no data for {config.idle_timeout:g} seconds"


def _lower(headers: httpx2.Headers) -> Iterable[tuple[bytes, bytes]]:
    return ((name.lower(), value) for name, value in headers.raw)


def _named_by_connection(words: bytes) -> frozenset[bytes]:
    return frozenset(word.strip().lower() for word in words.split(b","))


def _trace(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [(b"x-request-id", record_of(scope).id.encode()), *trace_headers(scope)]
