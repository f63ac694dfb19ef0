"""What is not translated: passed on to the upstream and back, byte for byte as it comes.

The path of a request can't lead out of the upstream's: what would climb is refused, also if it is written in escapes.
"""

from __future__ import annotations

from contextlib import aclosing
from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from xmltools.conversations.streams import to_sse
from xmltools.proxy.bridge import Refusal, UpstreamError, error_body, error_message
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.server.http_responses import Answer, send_refusal
from xmltools.proxy.server.logging import record_of
from xmltools.proxy.server.passed_answers import Fault, PassedAnswer
from xmltools.proxy.server.request_bodies import Upload, check_size
from xmltools.proxy.server.server_parts import Service
from xmltools.proxy.server.upstream import Content, UpstreamAnswer

_PREFIX = b"/v1"
_EVENTS = "text/event-stream"
_COMPLETIONS = b"/completions"
"""What paths end with below which a model replies; their streams say that they have ended."""


class Passthrough:
    """The endpoint of everything else below `/v1/`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        record_of(scope).route = "passthrough"
        path = upstream_path(scope)
        check_size(Headers(scope=scope), self._service.config.max_body)
        upload = Upload(receive, self._service.config.max_body)
        content = upload.pieces() if _has_body(scope) else None
        if content is None:
            await upload.skip()
        await _Forwarding(self._service, scope, receive, send, path, content, upload).run()


async def forward(
    service: Service, scope: Scope, receive: Receive, send: Send, path: bytes, body: bytes | None
) -> None:
    """Pass on a request whose body has been read, to `path` below the upstream's base URL, and the answer back."""
    await _Forwarding(service, scope, receive, send, path, body).run()


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


class _Forwarding(Answer):
    """One request on its way to the upstream, and the answer on its way back."""

    def __init__(
        self,
        service: Service,
        scope: Scope,
        receive: Receive,
        send: Send,
        path: bytes,
        content: Content,
        upload: Upload | None = None,
    ) -> None:
        body_read = upload.read if upload is not None else None
        super().__init__(service, scope, receive, send, body_read=body_read)
        self._upload = upload
        self._path, self._content = path, content
        self._started = False
        self._tail = b"\n\n"
        self._is_stream = False

    async def _work(self) -> None:
        upstream = self._service.upstream
        request = upstream.passed(self._scope, self._path, self._content)
        self._ask(request)
        try:
            async with upstream.open(request, self._record, raw=True) as answer:
                self._answered(answer)
                if self._config.upstream_key is not None and answer.status >= 400:
                    await self._send_error_of(answer)
                    return
                passed = PassedAnswer(answer, is_chat=self._path.endswith(_COMPLETIONS))
                await self._begin(answer)
                async with aclosing(answer.pieces) as pieces:
                    async for piece in pieces:
                        self._heard()
                        await self._pass_on(piece)
                        passed.take(piece)
                        self._wait_on()
        except UpstreamError:
            if self._upload is not None and self._upload.failure is not None:
                raise self._upload.failure from None  # it was not the upstream that broke off
            raise
        self._judge(passed.fault())
        self._watch.finish()
        await self._send({"type": "http.response.body", "body": b""})

    def _judge(self, fault: Fault | None) -> None:
        """Tell log, metrics and the live view what is wrong with the answer, which the client got as it is."""
        if fault is not None:
            self._note(Refusal(fault.message, code="upstream_error", in_log=fault.cause))

    async def _send_error_of(self, answer: UpstreamAnswer) -> None:
        """Pass on an error without the upstream's key, which is not the client's."""
        headers = [(name, value) for name, value in answer.passed_headers() if name != b"content-length"]
        error = await answer.error()
        body = error.said
        self._judge(Fault("", error_message(body, answer.status)))
        # What is compressed, though nobody asked for it, can't be searched.
        if answer.header(b"content-encoding") not in ("", "identity"):
            headers = answer.limit_headers()
            message = error_message(b"", answer.status)
            body = encoded(error_body(self._record.api, message, status=answer.status, code="upstream_error"))
            headers.append((b"content-type", b"application/json"))
        self._watch.finish()
        length = (b"content-length", str(len(body)).encode())
        await self._send({"type": "http.response.start", "status": answer.status, "headers": [*headers, length]})
        await self._send({"type": "http.response.body", "body": body})

    async def _begin(self, answer: UpstreamAnswer) -> None:
        self._started = True
        headers = answer.passed_headers()
        # After an answer whose length was told there is no place for an error.
        is_open = all(name != b"content-length" for name, _ in headers)
        self._is_stream = is_open and answer.content_type.startswith(_EVENTS)
        await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})

    async def _pass_on(self, piece: bytes) -> None:
        if self._record.live is not None:
            self._record.live.passed_on()
        self._tail = (self._tail + piece)[-4:] if len(piece) < 4 else piece[-4:]
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _fail(self, error: Refusal) -> None:
        """Send an error, as long as there is a place for it; else leave the answer without its end."""
        if isinstance(error, UpstreamError):
            self._note(error)
        else:
            self._record.outcome, self._record.reason = "refused", error.code
        self._watch.finish()
        if not self._started:
            await send_refusal(self._scope, self._send, error)
        elif self._is_stream and self._tail.endswith((b"\n\n", b"\r\r", b"\r\n\r\n")):
            body = error.body(self._record.api, self._record.id)
            data = to_sse([("error", body) if self._record.api == "messages" else body])
            await self._send({"type": "http.response.body", "body": data})
