"""The upstream's answer on its way to the client: the steps of a relay, carried out with sockets.

A slow client slows the upstream down, so nothing piles up here. While the upstream is silent, a client that streams
gets keep-alives. What takes long to read is read in a thread and in turns, so no client waits for another one's reply.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

import anyio
import anyio.lowlevel
from starlette.types import Receive, Scope, Send

from xmltools.proxy.bridge import Refusal, UpstreamError
from xmltools.proxy.bridge.relay import JSON, Answered, Ask, Given, Head, Relay, Step, Steps, Take
from xmltools.proxy.server.http_responses import send_bytes
from xmltools.proxy.server.logging import record_of
from xmltools.proxy.server.network import Headers, Request
from xmltools.proxy.server.request_bodies import TOO_LARGE
from xmltools.proxy.server.server_parts import LONG, Service
from xmltools.proxy.server.upstream import UpstreamAnswer
from xmltools.proxy.server.watch import Watch

_HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
_LAST_WORDS = 1.0
"""Seconds for the error that is sent when the server is stopped."""
_REST = 1.0
"""Seconds in which an upstream that has said all may tell the usage, and close its stream, so that the connection can
be used again."""
_GATHERING = 0.008
"""Seconds in which the pieces of a fast stream come together. Each read and each write costs as much as what is said in
a short piece, and one client's fast stream would leave the streams of the others waiting."""
_FAST = 8
"""A stream is fast where so many pieces in a row came not much later than that after the one before."""
_TURN = 0.0005
"""Seconds for which one reply is read while others wait."""


class RelayedAnswer:
    """Answers one request by the `steps` of a relay. `make` makes the requests for the upstream. The client's request
    has `size` bytes; `body_read` is set when it has been read (None: it already has)."""

    def __init__(
        self,
        service: Service,
        relay: Relay,
        steps: Steps,
        make: Callable[[Ask], Request],
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        size: int = 0,
        body_read: anyio.Event | None = None,
    ) -> None:
        self._service = service
        self._config = service.config
        self._record = record_of(scope)
        self._send = send
        keepalive = self._keep_alive if relay.keepalive else None
        self._watch = Watch(receive, body_read=body_read, keepalive=keepalive, every=service.config.keepalive)
        self._relay = relay
        self._steps = steps
        self._make = make
        self._size = size  # of what is read as a whole
        self._asked = 0.0
        self._limit = ""
        self._head: Head | None = None
        self._ready: list[bytes] = []
        self._open = AsyncExitStack()
        self._answer: UpstreamAnswer | None = None
        self._pieces = self._fast = 0  # how many have come of this answer; how many in a row soon after another
        self._last = 0.0
        self._rest = math.inf  # when the upstream is left that has only the usage to tell
        self._started = self._passing_on = False
        self._kept_alive: anyio.Event | None = None

    async def run(self) -> None:
        """Answer."""
        self._service.metrics.streams.inc(bool(self._relay.keepalive))
        try:
            await self._watch.run(self._work)
        except anyio.get_cancelled_exc_class():
            if not self._watch.finished:
                with anyio.move_on_after(_LAST_WORDS, shield=True):
                    await self._fail(UpstreamError("the server is being stopped", 503))
            raise
        finally:
            self._service.metrics.streams.dec(bool(self._relay.keepalive))
        if self._watch.left:
            self._record.outcome = "client_left"
        elif self._watch.expired:
            await self._fail(UpstreamError(f"the upstream {self._limit}", 504))

    async def _work(self) -> None:
        async with self._open:
            outcome: Any = None
            while (step := await self._next(outcome)) is not None:
                try:
                    outcome = await (self._send_request(step) if isinstance(step, Ask) else self._take())
                except UpstreamError as error:
                    outcome = error
                    with suppress(UpstreamError):
                        await self._open.__aexit__(type(error), error, error.__traceback__)
            await self._finish()
            if self._relay.all_said and self._answer is not None:
                self._watch.wait(_REST)
                async for _ in self._answer.pieces:
                    pass

    async def _next(self, outcome: Any) -> Step | None:
        """Resume the steps with the outcome of the last one, and send the client what is ready. Returns the next step,
        None at the end."""
        size = self._size if outcome is None else 0
        while True:
            # The live view is told of each event, which must not happen in a thread.
            if size + self._relay.pending > LONG and self._service.hub is None:
                self._passing_on = True  # a keep-alive would begin the stream while the thread writes its error
                step = await self._service.in_thread(self._resume, outcome)
                self._passing_on = False
            else:
                step = self._resume(outcome)
            if self._relay.begun:
                await self._pass_on()
            if step is None or isinstance(step, (Ask, Take)):
                return step
            outcome = None
            await anyio.lowlevel.checkpoint()

    def _resume(self, outcome: Any) -> Step | Given | None:
        """Run the steps until there is something to wait for, or the turn is over."""
        began = time.perf_counter()
        try:
            step = self._steps.throw(outcome) if isinstance(outcome, Exception) else self._steps.send(outcome)
            while isinstance(step, (bytes, Head)):
                if isinstance(step, Head):
                    self._head = step
                elif step:
                    is_error = self._relay.failure is not None
                    self._ready.append(self._service.upstream.hide(step) if is_error else step)
                if time.perf_counter() - began > _TURN:
                    return step
                step = self._steps.send(None)
            return step
        except StopIteration:
            return None
        finally:
            self._record.overhead += time.perf_counter() - began

    async def _send_request(self, ask: Ask) -> Answered:
        await self._open.aclose()
        request, live = self._make(ask), self._record.live
        if live is not None:
            live.asked(request.content if isinstance(request.content, bytes) else None)
        self._asked = time.perf_counter()
        self._limit = f"gave no answer within {self._config.first_byte_timeout:g} seconds (--timeout)"
        self._watch.wait(self._config.first_byte_timeout)
        self._pieces, self._rest = 0, math.inf
        opened = self._service.upstream.open(request, self._record, raw=self._relay.raw)
        self._answer = answer = await self._open.enter_async_context(opened)
        if live is not None:
            live.answered(answer.status)
        encoding, length = answer.header(b"content-encoding"), answer.header(b"content-length")
        return Answered(answer.status, answer.content_type, encoding, bool(length))

    async def _take(self) -> bytes | None:
        assert self._answer is not None
        if self._pieces:
            if not self._relay.raw:
                await self._gather()
            self._limit = f"said nothing for {self._config.idle_timeout:g} seconds (--idle-timeout)"
            self._watch.wait(self._config.idle_timeout)
        if not self._relay.awaits_usage:
            piece = await anext(self._answer.pieces, None)
        else:
            piece = None
            self._rest = min(self._rest, anyio.current_time() + min(_REST, self._config.idle_timeout / 2))
            with anyio.CancelScope(deadline=self._rest):
                piece = await anext(self._answer.pieces, None)
        self._watch.busy()
        self._pieces += 1
        if self._record.ttft is None:
            self._record.ttft = time.perf_counter() - self._asked
        if piece is not None and self._answer.content_type.startswith(JSON) and not self._relay.raw:
            self._size += len(piece)
        return piece

    async def _gather(self) -> None:
        now = time.monotonic()
        self._fast, self._last = self._fast + 1 if now - self._last < 1.5 * _GATHERING else 0, now
        if self._fast >= _FAST:
            await anyio.sleep(_GATHERING)

    # For the client

    async def _pass_on(self, more: bool = True) -> None:
        data = b"".join(self._ready)
        self._ready.clear()
        if more and not data and (self._started or not self._relay.raw):
            return
        if data and self._relay.raw and self._record.live is not None:
            self._record.live.passed_on()
        # Two tasks write, and neither may come between the other's head and its first bytes. A lock would do, but each
        # of the many pieces would pay for what happens once in many seconds.
        self._passing_on = True
        if self._kept_alive is not None:
            await self._kept_alive.wait()
        await self._write(data, more)
        self._watch.told()
        self._passing_on = False

    async def _keep_alive(self) -> None:
        """Send a keep-alive, unless something else is being sent."""
        if self._passing_on:
            return
        self._kept_alive = anyio.Event()
        self._relay.begun = True
        try:
            await self._write(self._relay.keepalive, True)
        finally:
            self._kept_alive.set()
            self._kept_alive = None

    async def _write(self, data: bytes, more: bool) -> None:
        if not self._started:
            self._started = True
            status, headers = 200, _HEADERS
            if self._relay.raw and self._answer is not None:
                status, headers = self._answer.status, self._answer.passed_headers()
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def _finish(self) -> None:
        if self._relay.failure is not None:
            self._note(self._relay.failure)
        self._watch.finish()
        if self._relay.begun:
            if not self._relay.is_cut:
                await self._pass_on(more=False)
            return
        assert self._head is not None
        status, kind, _ = self._head
        headers: Headers = []
        if self._answer is not None and self._answer.status >= 400:
            headers = self._answer.headers_beside_body() if self._relay.raw else self._answer.limit_headers()
        await send_bytes(self._send, b"".join(self._ready), kind.encode("latin-1"), status, headers)

    def _note(self, failure: Refusal) -> None:
        """Note in the log, the metrics and the live view why the client gets no whole answer."""
        record, lost = self._record, isinstance(failure, UpstreamError)
        if failure.code == TOO_LARGE:
            record.outcome, record.reason = "refused", failure.code
            return
        record.outcome = "timeout" if lost and failure.status == 504 else "upstream_error"
        if failure.code == "upstream_error":
            record.error = failure.in_log
        if record.live is not None:
            message = failure.in_log if lost else str(failure)
            hidden = self._service.upstream.hide(message.encode("utf-8", "surrogatepass"))
            record.live.fail(hidden.decode("utf-8", "surrogatepass"), broke_off=lost)

    async def _fail(self, error: Refusal) -> None:
        """End the answer with an error, where an error has a place."""
        if not self._watch.finished:
            self._steps = self._relay.cut_short(error)
            while self._resume(None) is not None:
                pass
            await self._finish()
