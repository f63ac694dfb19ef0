"""What clients are sent when it is no stream: JSON, and errors in the words of their API. `Answer` is what all answers
that come from the upstream have in common."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import anyio
from starlette.types import Receive, Scope, Send

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Refusal, error_body, error_message
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.server.logging import record_of
from xmltools.proxy.server.network import Why
from xmltools.proxy.server.server_parts import Service
from xmltools.proxy.server.upstream import Request, UpstreamAnswer, UpstreamError, UpstreamStatusError
from xmltools.proxy.server.watch import Watch

Pairs = Iterable[tuple[bytes, bytes]]
"""Headers as ASGI has them: names in lower case, and values."""
_LAST_WORDS = 1.0
"""Seconds for the error that is sent when the server is stopped."""


async def send_json(send: Send, value: Any, status: int = 200, headers: Pairs = ()) -> None:
    """Send a JSON value as a whole response."""
    await send_bytes(send, encoded(value), b"application/json", status, headers)


async def send_bytes(send: Send, body: bytes, content_type: bytes, status: int = 200, headers: Pairs = ()) -> None:
    """Send bytes as a whole response."""
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": [(b"content-type", content_type), length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_error(
    scope: Scope, send: Send, message: str, status: int, code: str | None = None, headers: Pairs = ()
) -> None:
    """Send an error in the words of the API that was asked."""
    record = record_of(scope)
    body = error_body(record.api, message, status=status, code=code, request_id=record.id)
    await send_json(send, body, status, headers)


async def send_refusal(scope: Scope, send: Send, refusal: Refusal, headers: Pairs = ()) -> None:
    """Send why a request is not honoured."""
    record = record_of(scope)
    await send_json(send, refusal.body(record.api, record.id), refusal.status, headers)


class Answer:
    """Answers one request with what `_work` sends of the upstream's answer, or says why there is none."""

    _refused_as = "upstream_error"
    """The outcome of a request that ends with a refusal."""

    def __init__(self, service: Service, scope: Scope, receive: Receive, send: Send, **watch_options: Any) -> None:
        self._service = service
        self._config = service.config
        self._scope = scope
        self._send = send
        self._record = record_of(scope)
        self._watch = Watch(receive, **watch_options)
        self._asked = 0.0
        self._limit = ""

    async def run(self) -> None:
        """Answer."""
        try:
            await self._watch.run(self._try)
        except anyio.get_cancelled_exc_class():
            if not self._watch.finished:
                with anyio.move_on_after(_LAST_WORDS, shield=True):
                    await self._send_failure(UpstreamError("the server is being stopped", 503))
            raise
        if self._watch.left:
            self._record.outcome = "client_left"
        elif self._watch.expired:
            await self._fail(UpstreamError(f"the upstream {self._limit}", 504))

    async def _try(self) -> None:
        try:
            await self._work()
        except UpstreamStatusError as error:
            self._record.outcome = "upstream_error"
            self._note(error_message(error.body, error.status))
            await self._send_status(error)
        except UpstreamError as error:
            await self._fail(error)
        except Refusal as refusal:
            self._record.outcome = self._refused_as
            if self._refused_as == "refused":
                self._record.reason = refusal.code
            elif refusal.code == "upstream_error":
                self._record.error = refusal.in_log
            refusal = self._safe(refusal)
            self._note(str(refusal))
            await self._send_refusal(refusal)
        except XMLToolsError as error:
            what = "the upstream sent what can't be read"
            await self._fail(UpstreamError(f"{what}: {self._safe(Refusal(str(error)))}"), what)

    def _safe(self, refusal: Refusal) -> Refusal:
        """Return a refusal, which may quote the upstream, without the upstream's key."""
        said = str(refusal).encode("utf-8", "surrogatepass")
        message = self._service.upstream.hide(said).decode("utf-8", "surrogatepass")
        status, code, param = refusal.status, refusal.code, refusal.param
        return Refusal(message, status=status, code=code, param=param, quotes=refusal.quotes)

    async def _work(self) -> None:
        raise NotImplementedError

    def _note(self, message: str, *, broke_off: bool = False) -> None:
        """Tell the live view what went wrong."""
        if self._record.live is not None:
            self._record.live.fail(message, broke_off=broke_off)

    def _ask(self, request: Request) -> None:
        """Begin to wait for the upstream's answer."""
        if self._record.live is not None:
            self._record.live.asked(request.content if isinstance(request.content, bytes) else None)
        self._asked = time.perf_counter()
        self._limit = f"gave no answer within {self._config.first_byte_timeout:g} seconds (--timeout)"
        self._watch.wait(self._config.first_byte_timeout)

    def _wait_on(self, seconds: float) -> None:
        """Wait for the next piece of the upstream's answer."""
        self._limit = f"said nothing for {seconds:g} seconds (--idle-timeout)"
        self._watch.wait(seconds)

    def _answered(self, answer: UpstreamAnswer) -> None:
        """The upstream's answer has begun."""
        if self._record.live is not None:
            self._record.live.answered(answer.status)

    async def _fail(self, error: UpstreamError, what: str = "") -> None:
        """Tell the client of an error; `what` is written to the log, where the error quotes the upstream."""
        self._note(error.in_log, broke_off=True)
        if error.why is Why.TIMEOUT:
            error = UpstreamError(f"{error} (--connect-timeout)", error.status)
        self._record.error = what or error.in_log
        self._record.outcome = "timeout" if error.status == 504 else "upstream_error"
        await self._send_failure(error)

    async def _send_failure(self, error: UpstreamError) -> None:
        self._watch.finish()
        await send_error(self._scope, self._send, str(error), error.status, "upstream_error")

    async def _send_refusal(self, refusal: Refusal) -> None:
        self._watch.finish()
        await send_refusal(self._scope, self._send, refusal)

    async def _send_status(self, error: UpstreamStatusError) -> None:
        """Send the upstream's error: as it is, or what it says in the words of Anthropic's API."""
        self._watch.finish()
        (_, kind), *headers = error.headers
        if self._record.api == "messages":
            message = error_message(error.body, error.status)
            await send_error(self._scope, self._send, message, error.status, headers=headers)
        else:
            await send_bytes(self._send, error.body, kind, error.status, headers)
