"""The upstream's answer on its way to the client: the steps of a relay, carried out with sockets.

A slow client slows the upstream down, so nothing piles up here. While the upstream is silent, a client that streams
gets keep-alives. What takes long to read is read in a thread and in turns, so no client waits for another one's reply.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext, suppress
from typing import Any, TypeVar

import anyio
from starlette.types import Receive, Scope, Send

from xmltools.proxy.bridge import Refusal, UpstreamError
from xmltools.proxy.bridge.relay import JSON, Answered, Ask, Given, Head, Relay, Step, Steps, Take
from xmltools.proxy.server.logging import Record
from xmltools.proxy.server.network import Headers, Request
from xmltools.proxy.server.request_bodies import TOO_LARGE
from xmltools.proxy.server.server_parts import LONG, Service
from xmltools.proxy.server.upstream import UpstreamAnswer

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
_T = TypeVar("_T")


class RelayedAnswer:
    """Answers one request, as an ASGI app, by the `steps` of a relay. `make` makes the requests for the upstream. The
    client's request has `size` bytes; `body_read` is set when it has been read (None: it already has). `around` is
    entered while it is answered."""

    def __init__(
        self,
        service: Service,
        record: Record,
        relay: Relay,
        steps: Steps,
        make: Callable[[Ask], Request],
        *,
        size: int = 0,
        body_read: asyncio.Event | None = None,
        around: AbstractContextManager[None] | None = None,
    ) -> None:
        self._service = service
        self._config = service.config
        self._record = record
        self._body_read = body_read
        self._around = around or nullcontext()
        self._relay = relay
        self._steps = steps
        self._make = make
        self._size = size  # of what is read as a whole
        self._asked = 0.0
        self._late, self._due = "", 0.0  # what the upstream did not do by when
        self._head: Head | None = None
        self._ready: list[bytes] = []
        self._open = AsyncExitStack()
        self._answer: UpstreamAnswer | None = None
        self._pieces = self._fast = 0  # how many have come of this answer; how many in a row soon after another
        self._last = 0.0
        self._told = time.monotonic()
        self._started = self._finished = False
        self._writing = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        self._send = send
        streams, failure = self._service.metrics.streams, None
        with self._around:
            streams.inc(bool(self._relay.keepalive))
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._listen, receive, group.cancel_scope)
                    group.start_soon(self._keep_alive)
                    try:
                        await self._work()
                    except Exception as error:  # raised below, where no group wraps it
                        failure = error
                    group.cancel_scope.cancel()
            except asyncio.CancelledError:
                if not self._finished:
                    with anyio.move_on_after(_LAST_WORDS, shield=True):
                        self._steps = self._relay.cut_short(UpstreamError("the server is being stopped", 503))
                        while self._resume(None) is not None:
                            pass
                        await self._finish()
                raise
            finally:
                streams.dec(bool(self._relay.keepalive))
            if failure is not None:
                raise failure

    async def _listen(self, receive: Receive, work: anyio.CancelScope) -> None:
        """Stop the work when the client leaves before it has its answer."""
        if self._body_read is not None:
            await self._body_read.wait()
        while (await receive())["type"] != "http.disconnect":
            pass
        if not self._finished:
            self._record.outcome = "client_left"
            work.cancel()

    async def _keep_alive(self) -> None:
        """Send a keep-alive where the client was told nothing for too long, unless something is being sent."""
        while self._relay.keepalive:
            await asyncio.sleep(self._told + self._config.keepalive - time.monotonic())
            if time.monotonic() - self._told >= self._config.keepalive:
                self._told = time.monotonic()
                if not (self._writing.locked() or self._finished):
                    self._relay.begun = True
                    await self._write(self._relay.keepalive)

    async def _work(self) -> None:
        async with self._open:
            outcome: Any = None
            while (step := await self._next(outcome)) is not None:
                try:
                    outcome = await (self._send_request(step) if isinstance(step, Ask) else self._take())
                except Refusal as error:
                    outcome = error
                    with suppress(Refusal):
                        await self._open.__aexit__(type(error), error, error.__traceback__)
            await self._finish()
            if self._relay.all_said and self._answer is not None:
                with suppress(UpstreamError, TimeoutError):
                    async with asyncio.timeout(_REST):
                        await self._answer.read(self._config.max_answer)

    async def _next(self, outcome: Any) -> Step | None:
        """Resume the steps with the outcome of the last one, and send the client what is ready. Returns the next step,
        None at the end."""
        size = self._size if outcome is None else 0
        while True:
            # The live view is told of each event, which must not happen in a thread.
            if size + self._relay.pending > LONG and self._service.hub is None:
                async with self._writing:  # a keep-alive would begin the stream while the thread writes its error
                    step = await self._service.in_thread(self._resume, outcome)
            else:
                step = self._resume(outcome)
            if self._relay.begun:
                await self._pass_on()
            if step is None or isinstance(step, (Ask, Take)):
                return step
            outcome = None
            await asyncio.sleep(0)

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

    # From the upstream

    async def _send_request(self, ask: Ask) -> Answered:
        await self._open.aclose()
        request, live, patience = self._make(ask), self._record.live, self._config.first_byte_timeout
        if live is not None:
            live.asked(request.content if isinstance(request.content, bytes) else None)
        self._asked = time.perf_counter()
        self._late = f"gave no answer within {patience:g} seconds (--timeout)"
        self._due = anyio.current_time() + patience
        self._pieces = 0
        opened = self._service.upstream.open(request, self._record, raw=self._relay.raw)
        self._answer = answer = await self._wait(self._open.enter_async_context(opened))
        if live is not None:
            live.answered(answer.status)
        encoding, length = answer.header(b"content-encoding"), answer.header(b"content-length")
        return Answered(answer.status, answer.content_type, encoding, bool(length))

    async def _take(self) -> bytes | None:
        assert self._answer is not None
        if self._pieces:
            if not self._relay.raw:
                await self._gather()
            patience = self._config.idle_timeout
            self._late = f"said nothing for {patience:g} seconds (--idle-timeout)"
            now = anyio.current_time()
            if self._relay.awaits_usage:  # it is not waited for long, however many pieces come before it
                self._due = min(self._due, now + min(_REST, patience / 2))
            else:
                self._due = now + patience
        piece = await self._wait(anext(self._answer.pieces, None))
        self._pieces += 1
        if self._record.ttft is None:
            self._record.ttft = time.perf_counter() - self._asked
        if piece is not None and self._answer.content_type.startswith(JSON) and not self._relay.raw:
            self._size += len(piece)
        return piece

    async def _wait(self, waited: Awaitable[_T]) -> _T:
        """Wait for the upstream. Raises UpstreamError if it is late."""
        try:
            async with asyncio.timeout_at(self._due):
                return await waited
        except TimeoutError:
            raise UpstreamError(f"the upstream {self._late}", 504) from None

    async def _gather(self) -> None:
        now = time.monotonic()
        self._fast, self._last = self._fast + 1 if now - self._last < 1.5 * _GATHERING else 0, now
        if self._fast >= _FAST:
            await asyncio.sleep(_GATHERING)

    # For the client

    async def _pass_on(self, more: bool = True) -> None:
        data = b"".join(self._ready)
        self._ready.clear()
        if data and self._relay.raw and self._record.live is not None:
            self._record.live.chunk({})
        if data or not more or (self._relay.raw and not self._started):
            await self._write(data, more)
            self._told = time.monotonic()

    async def _write(self, data: bytes, more: bool = True) -> None:
        async with self._writing:
            if not self._started:
                self._started = True
                status, headers = self._response(len(data))
                await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": data, "more_body": more})

    def _response(self, size: int) -> tuple[int, Headers]:
        """Return the status and the headers of the response: of the upstream's own, a stream, or one whole body."""
        answer, raw = self._answer, self._relay.raw
        if self._relay.begun:
            return (answer.status, answer.passed_headers()) if raw and answer is not None else (200, _HEADERS)
        assert self._head is not None
        headers = [(b"content-type", self._head.content_type.encode("latin-1")), (b"content-length", b"%d" % size)]
        if answer is not None and answer.status >= 400:
            headers += answer.headers_beside_body() if raw else answer.limit_headers()
        return self._head.status, headers

    async def _finish(self) -> None:
        if self._relay.failure is not None:
            self._note(self._relay.failure)
        self._finished = True
        if not self._relay.is_cut:
            await self._pass_on(more=False)

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
