"""What clients are sent when it is no stream: JSON, and errors in the words of their API. `Answer` is what all answers
that come from the upstream have in common."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import anyio
from starlette.types import Receive, Scope, Send

from xmltools.proxy.bridge import Refusal, UpstreamError, error_body
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.server.logging import record_of
from xmltools.proxy.server.server_parts import Service
from xmltools.proxy.server.upstream import Request, UpstreamAnswer
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
                    await self._fail(UpstreamError("the server is being stopped", 503))
            raise
        if self._watch.left:
            self._record.outcome = "client_left"
        elif self._watch.expired:
            await self._fail(UpstreamError(f"the upstream {self._limit}", 504))

    async def _try(self) -> None:
        try:
            await self._work()
        except Refusal as error:
            await self._fail(error)

    async def _work(self) -> None:
        raise NotImplementedError

    async def _fail(self, error: Refusal) -> None:
        """Tell the client of an error, as far as there is a place for it."""
        raise NotImplementedError

    def _note(self, failure: Refusal) -> None:
        """Tell log, metrics and the live view why the client gets no whole answer."""
        lost = isinstance(failure, UpstreamError)
        self._record.outcome = "timeout" if lost and failure.status == 504 else "upstream_error"
        if failure.code == "upstream_error":
            self._record.error = failure.in_log
        if self._record.live is not None:
            message = failure.in_log if lost else str(failure)
            hidden = self._service.upstream.hide(message.encode("utf-8", "surrogatepass"))
            self._record.live.fail(hidden.decode("utf-8", "surrogatepass"), broke_off=lost)

    def _ask(self, request: Request) -> None:
        """Begin to wait for the upstream's answer."""
        if self._record.live is not None:
            self._record.live.asked(request.content if isinstance(request.content, bytes) else None)
        self._asked = time.perf_counter()
        self._limit = f"gave no answer within {self._config.first_byte_timeout:g} seconds (--timeout)"
        self._watch.wait(self._config.first_byte_timeout)

    def _answered(self, answer: UpstreamAnswer) -> None:
        """The upstream's answer has begun."""
        if self._record.live is not None:
            self._record.live.answered(answer.status)

    def _heard(self) -> None:
        """A piece of the upstream's answer has come."""
        self._watch.busy()
        if self._record.ttft is None:
            self._record.ttft = time.perf_counter() - self._asked

    def _wait_on(self) -> None:
        """Wait for the next piece of the upstream's answer."""
        self._limit = f"said nothing for {self._config.idle_timeout:g} seconds (--idle-timeout)"
        self._watch.wait(self._config.idle_timeout)
