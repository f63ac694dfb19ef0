"""What is not translated: passed on to the upstream and back, byte for byte as it comes.

The path of a request can't lead out of the upstream's: what would climb is refused, also if it is written in escapes.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from urllib.parse import quote, unquote

import anyio
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from xmltools.conversations.streams import to_sse
from xmltools.proxy.bridge import Refusal, error_body
from xmltools.proxy.server.answers import ClientGoneError, api_of, check_size, send_failed, send_refusal, too_large
from xmltools.proxy.server.record import record_of
from xmltools.proxy.server.service import Service
from xmltools.proxy.server.upstream import Content, UpstreamAnswer, UpstreamError
from xmltools.proxy.server.watch import Watch

__all__ = ["Passthrough", "forward", "upstream_path"]

_PREFIX = b"/v1"
_EVENTS = "text/event-stream"


class Passthrough:
    """The endpoint of everything else below `/v1/`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        record_of(scope).route = "passthrough"
        try:
            path = upstream_path(scope)
            check_size(Headers(scope=scope), self._service.config.max_body)
        except Refusal as refusal:
            record_of(scope).outcome = "refused"
            await send_refusal(scope, send, api_of(scope["path"]), refusal)
            return
        upload = _Upload(receive, self._service.config.max_body)
        content = upload.pieces() if _has_body(scope) else None
        if content is None:
            await upload.skip()
        await _Forwarding(self._service, scope, receive, send, upload).run(path, content)


async def forward(
    service: Service, scope: Scope, receive: Receive, send: Send, path: bytes, body: bytes | None
) -> None:
    """Pass on a request whose body has been read, to `path` below the upstream's base URL, and the answer back."""
    await _Forwarding(service, scope, receive, send, None).run(path, body)


def _has_body(scope: Scope) -> bool:
    names = {name for name, _ in scope["headers"]}
    return b"content-length" in names or b"transfer-encoding" in names


def upstream_path(scope: Scope) -> bytes:
    """Return the path below the upstream's base URL. Raises Refusal for one that could lead out of it."""
    raw: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    path = raw.removeprefix(_PREFIX)
    # Some servers decode twice.
    plain = unquote(unquote(path.decode("latin-1"))).replace("\\", "/")
    if not path.startswith(b"/") or {".", ".."} & set(plain.split("/")) or not plain.isprintable():
        raise Refusal("the path may not hold '.' or '..' as a part, nor control characters", code="invalid_path")
    return path


class _Upload:
    """The body of a request as it comes, up to a limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self.read = anyio.Event()
        self.failure: Refusal | ClientGoneError | None = None
        """Why it has no end."""

    async def pieces(self) -> AsyncIterator[bytes]:
        size = 0
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.failure = ClientGoneError()
                raise self.failure
            size += len(message.get("body", b""))
            if size > self._most:
                self.failure = too_large(self._most)
                raise self.failure
            more = message.get("more_body", False)
            if not more:
                self.read.set()
            yield message.get("body", b"")

    async def skip(self) -> None:
        async for _ in self.pieces():
            pass


class _Forwarding:
    """One request on its way to the upstream, and the answer on its way back."""

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send, upload: _Upload | None) -> None:
        self._service = service
        self._scope = scope
        self._send = send
        self._record = record_of(scope)
        self._watch = Watch(receive, body_read=upload.read if upload is not None else None)
        self._upload = upload
        self._api = api_of(scope["path"])
        self._content: Content = None
        self._path = b""
        self._started = False
        self._tail = b"\n\n"
        self._is_stream = False

    async def run(self, path: bytes, content: Content) -> None:
        self._path, self._content = path, content
        await self._watch.run(self._work)
        if self._watch.left:
            self._record.outcome = "client_left"
        elif self._watch.expired:
            self._record.outcome = "timeout"
            await self._fail(UpstreamError("the upstream said nothing for too long", 504))

    async def _work(self) -> None:
        upstream, config = self._service.upstream, self._service.config
        asked = time.perf_counter()
        self._watch.wait(config.connect_timeout + config.first_byte_timeout)
        try:
            request = upstream.passed(self._scope, self._path, self._content)
            try:
                async with upstream.open(request, self._record, raw=True) as answer:
                    await self._begin(answer)
                    async with aclosing(answer.pieces) as pieces:
                        async for piece in pieces:
                            self._watch.busy()
                            if self._record.ttft is None:
                                self._record.ttft = time.perf_counter() - asked
                            await self._pass_on(piece)
                            self._watch.wait(config.idle_timeout)
            except UpstreamError:
                if self._upload is not None and self._upload.failure is not None:
                    raise self._upload.failure from None  # it was not the upstream that broke off
                raise
            self._watch.finish()
            await self._send({"type": "http.response.body", "body": b""})
        except Refusal as refusal:
            self._watch.finish()
            self._record.outcome = "refused"
            await send_refusal(self._scope, self._send, self._api, refusal)
        except UpstreamError as error:
            self._record.outcome = "timeout" if error.status == 504 else "upstream_error"
            await self._fail(error)

    async def _begin(self, answer: UpstreamAnswer) -> None:
        self._started = True
        headers = answer.passed_headers()
        # After an answer whose length was told there is no place for an error.
        is_open = all(name != b"content-length" for name, _ in headers)
        self._is_stream = is_open and answer.content_type.startswith(_EVENTS)
        await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})

    async def _pass_on(self, piece: bytes) -> None:
        self._tail = (self._tail + piece)[-4:] if len(piece) < 4 else piece[-4:]
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _fail(self, error: UpstreamError) -> None:
        """Send an error, as long as there is a place for it; else leave the answer without its end."""
        self._watch.finish()
        if not self._started:
            await send_failed(self._scope, self._send, self._api, error)
        elif self._is_stream and self._tail.endswith((b"\n\n", b"\r\r", b"\r\n\r\n")):
            body = error_body(self._api, str(error), status=error.status, code="upstream_error")
            data = to_sse([("error", body) if self._api == "messages" else body])
            await self._send({"type": "http.response.body", "body": data})
