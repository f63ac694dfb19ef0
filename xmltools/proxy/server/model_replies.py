"""A model's reply on its way to the client: as a stream, or in one piece.

A stream is translated as it comes. A slow client slows the upstream down, and nothing piles up here. Nothing is sent
before the upstream has begun, so that an error until then keeps its status; only if it takes long, the client is told
that we are still here, and errors from then on are events of the stream.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import anyio
from starlette.types import Receive, Scope, Send

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Refusal, SSEDecoder, error_message, is_error
from xmltools.proxy.bridge.client_errors import (
    BROKEN_OFF,
    IN_ONE_PIECE,
    NO_EVENTS,
    WEB_PAGE,
    error_in_answer,
    is_page,
)
from xmltools.proxy.bridge.json_bodies import parse_answer
from xmltools.proxy.server.http_responses import Answer, send_bytes
from xmltools.proxy.server.server_parts import Service
from xmltools.proxy.server.translation import Translation
from xmltools.proxy.server.upstream import (
    Request,
    UpstreamAnswer,
    UpstreamError,
    UpstreamStatusError,
)

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
_REST = 1.0
"""Seconds in which an upstream that has said all may tell the usage, and close its stream, so that the connection can
be used again."""
_GATHERING = 0.008
"""Seconds in which the pieces of a fast stream come together. Each read and each write costs as much as what is said in
a short piece, and one client's fast stream would leave the streams of the others waiting."""
_FAST = 8
"""A stream is fast where so many pieces in a row came not much later than that after the one before."""

Ask = Callable[[Request], Awaitable[bytes]]
"""Sends a request; returns the body that comes. Raises UpstreamError and UpstreamStatusError."""
Reply = Callable[[Ask], Awaitable[bytes]]
"""Asks the upstream as often as it takes; returns the client's response, which is JSON. Raises as Ask does, and
Refusal."""


class StreamedAnswer(Answer):
    """Answers one request with a stream."""

    def __init__(self, service: Service, exchange: Translation, scope: Scope, receive: Receive, send: Send) -> None:
        every = service.config.keepalive
        super().__init__(service, scope, receive, send, keepalive=self._keep_alive, every=every)
        self._exchange = exchange
        self._passing_on = False
        self._kept_alive: anyio.Event | None = None
        self._ready: list[bytes] = []
        self._started = False
        self._has_events = False
        self._all_said = False  # the upstream says that this was all

    async def run(self) -> None:
        """Answer."""
        self._service.metrics.streams.inc()
        try:
            await super().run()
        finally:
            self._service.metrics.streams.dec()

    async def _work(self) -> None:
        while await self._ask_upstream():
            pass

    async def _ask_upstream(self) -> bool:
        """Ask the upstream and pass on what it says. Returns whether it is to be asked once more."""
        upstream = self._service.upstream
        request = upstream.chat(self._scope, self._exchange.request, self._exchange.turn)
        self._ask(request)
        async with upstream.open(request, self._record) as answer:
            self._answered(answer)
            try:
                await answer.check()
            except UpstreamStatusError as error:
                if upstream.is_asked_again(request, error):
                    return True
                raise
            if answer.content_type.startswith("application/json"):
                said = parse_answer(await answer.read(self._config.max_answer))
                if is_error(said):
                    raise error_in_answer(said)
                raise UpstreamError(IN_ONE_PIECE)
            async with aclosing(answer.pieces) as pieces:
                return await self._relay(answer, pieces)

    async def _relay(self, answer: UpstreamAnswer, pieces: AsyncGenerator[bytes, None]) -> bool:
        with anyio.CancelScope() as rest:
            try:
                await self._hear(answer, pieces, rest)
            except (UpstreamError, XMLToolsError):
                if not self._exchange.awaits_usage:
                    raise
        again = await self._end(is_whole=self._all_said)
        if self._all_said and not again:
            await self._read_to_end(pieces)
        return again

    async def _hear(self, answer: UpstreamAnswer, pieces: AsyncGenerator[bytes, None], rest: anyio.CancelScope) -> None:
        """Take what the upstream says. Where only the usage is wanted, `rest` ends that soon."""
        decoder = SSEDecoder()
        self._all_said = self._has_events = False
        begins = b""
        fast, last = 0, 0.0
        async for piece in pieces:
            self._watch.busy()
            if self._record.ttft is None:
                self._record.ttft = time.perf_counter() - self._asked
            begins = begins or piece
            try:
                await self._exchange.feed(self._data(decoder.feed(piece)), self._ready)
            finally:  # what stood in front of something that can't be read was said, however the bytes were cut
                await self._flush()
            if self._all_said or self._exchange.done:
                return
            now = time.monotonic()
            fast, last = fast + 1 if now - last < 1.5 * _GATHERING else 0, now
            if fast >= _FAST:
                await anyio.sleep(_GATHERING)
            self._wait_on(self._config.idle_timeout)
            if self._exchange.awaits_usage and rest.deadline == math.inf:
                rest.deadline = anyio.current_time() + min(_REST, self._config.idle_timeout / 2)
        await self._exchange.feed(self._data(decoder.close()), self._ready)
        if begins and not self._has_events:
            raise UpstreamError(WEB_PAGE if is_page(answer.content_type, begins) else NO_EVENTS)

    async def _read_to_end(self, pieces: AsyncGenerator[bytes, None]) -> None:
        self._watch.wait(_REST)
        async for _ in pieces:
            pass

    def _data(self, events: list[tuple[str, str]]) -> list[str]:
        """Return the data of chunks, up to what says that this was all."""
        found: list[str] = []
        self._has_events = self._has_events or bool(events)
        for _, data in events:
            if data.startswith("[DONE]"):
                self._all_said = True
                break
            found.append(data)
        return found

    async def _end(self, *, is_whole: bool = False) -> bool:
        """End the upstream's turn; `is_whole`: it said that this was all. Returns whether there is another one."""
        exchange = self._exchange
        is_over = exchange.stats.finish_reasons or exchange.done or exchange.awaits_usage
        if not (is_over or (is_whole and exchange.begun)):
            raise UpstreamError(BROKEN_OFF)
        if await self._exchange.end(self._ready, is_whole=is_whole):
            await self._flush()
            return True
        await self._finish()
        return False

    async def _flush(self) -> None:
        data = b"".join(self._ready)
        self._ready.clear()
        if data:
            await self._pass_on(data)

    async def _keep_alive(self) -> None:
        """Tell the client that we are still here, unless it is being told more than that."""
        if self._passing_on:
            return
        self._kept_alive = anyio.Event()
        try:
            await self._write(self._exchange.keepalive, True)
        finally:
            self._kept_alive.set()
            self._kept_alive = None

    async def _pass_on(self, data: bytes, more: bool = True) -> None:
        # Two tasks write, and neither may come between the other's head and its first bytes. A lock would do, but each
        # of the many pieces would pay for what happens once in many seconds.
        self._passing_on = True
        if self._kept_alive is not None:
            await self._kept_alive.wait()
        await self._write(data, more)
        self._watch.told()
        self._passing_on = False

    async def _write(self, data: bytes, more: bool) -> None:
        if not self._started:
            self._started = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def _finish(self) -> None:
        self._watch.finish()
        await self._pass_on(b"".join(self._ready), False)

    async def _send_status(self, error: UpstreamStatusError) -> None:
        if self._started:
            await self._send_error(error_message(error.body, error.status), error.status)
        else:
            await super()._send_status(error)

    async def _send_refusal(self, refusal: Refusal) -> None:
        await self._send_failure(UpstreamError(str(refusal), refusal.status))

    async def _send_failure(self, error: UpstreamError) -> None:
        if self._watch.finished:
            return
        if self._exchange.awaits_usage and not await self._exchange.end(self._ready):  # all else has been said
            self._record.outcome = "ok"
            await self._finish()
        elif self._started:
            await self._send_error(str(error), error.status)
        else:
            await super()._send_failure(error)

    async def _send_error(self, message: str, status: int) -> None:
        """End the stream with an error."""
        self._ready.append(await self._exchange.fail(message, status))
        await self._finish()


class WholeAnswer(Answer):
    """Answers one request with what `reply` returns."""

    def __init__(self, service: Service, reply: Reply, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(service, scope, receive, send)
        self._reply = reply

    async def _work(self) -> None:
        body = await self._reply(self._body_of)
        self._watch.finish()
        await send_bytes(self._send, body, b"application/json")

    async def _body_of(self, request: Request) -> bytes:
        self._ask(request)
        async with self._service.upstream.open(request, self._record) as answer:
            self._answered(answer)
            if self._record.ttft is None:
                self._record.ttft = time.perf_counter() - self._asked
            await answer.check()
            body = await answer.read(self._config.max_answer)
            if is_page(answer.content_type, body):
                raise UpstreamError(WEB_PAGE)
        self._watch.busy()
        return body
