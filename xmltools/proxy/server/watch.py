"""Looks after a request while it waits for the upstream: has the client left, is the silence too long?

One clock for each request, which is asked only now and then, in place of a time-out around every read: a stream has
many pieces, and each of them would pay.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio
from starlette.types import Receive

_BUSY = 1.0
"""Seconds until a request that is not waiting for the upstream is looked at again."""


class Watch:
    """Runs work, and cancels it when the client leaves or the upstream says nothing for too long.

    `receive` is that of ASGI, whose body has been read when `body_read` is set (None: it has been). `keepalive` is
    called after each `every` seconds in which the client was told nothing, whatever we wait for. `left` and `expired`
    say why the work was cancelled, if it was.
    """

    def __init__(
        self,
        receive: Receive,
        *,
        body_read: anyio.Event | None = None,
        keepalive: Callable[[], Awaitable[None]] | None = None,
        every: float = _BUSY,
    ) -> None:
        self._receive = receive
        self._body_read = body_read
        self._keepalive = keepalive
        self._every = every
        self._limit = every
        self._since: float | None = None
        self._told = time.monotonic()
        self._looks_at = self._told
        self._sooner = anyio.Event()
        self._scope = anyio.CancelScope()
        self.left = False
        self.expired = False
        self.finished = False

    def wait(self, limit: float) -> None:
        """Say that the work now waits for the upstream, which has `limit` seconds."""
        self._limit = limit
        self._since = time.monotonic()
        if self._since + limit < self._looks_at:
            self._sooner.set()

    def busy(self) -> None:
        """Say that the work does not wait for the upstream."""
        self._since = None

    def told(self) -> None:
        """Say that the client was sent something."""
        self._told = time.monotonic()

    def finish(self) -> None:
        """Say that the client gets its answer: from now on nobody can leave, and nothing can be too late.

        Work that was cancelled because time had run out may still come to here, if it has nothing more to wait for.
        """
        self.finished = True
        self.expired = False

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run the work to its end, or until it is cancelled. Raises what it raises."""
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            self._scope = group.cancel_scope
            group.start_soon(self._listen)
            group.start_soon(self._tick)
            try:
                await work()
            except Exception as error:  # raised below, where no group wraps it
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _listen(self) -> None:
        if self._body_read is not None:
            await self._body_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self.finished:
            self.left = True
            self._scope.cancel()

    async def _tick(self) -> None:
        while True:
            await self._sleep(self._pause())
            now = time.monotonic()
            if self._since is not None and now - self._since >= self._limit:
                self.expired = not self.finished
                self._scope.cancel()
            elif self._keepalive is not None and now - self._told >= self._every and not self.finished:
                self._told = now
                await self._keepalive()

    async def _sleep(self, seconds: float) -> None:
        """Sleep, unless something is due sooner than was known."""
        self._looks_at = time.monotonic() + seconds
        self._sooner = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._sooner.wait()

    def _pause(self) -> float:
        """Return the seconds until something could be due."""
        now = time.monotonic()
        due = now + min(self._limit, _BUSY) if self._since is None else self._since + self._limit
        if self._keepalive is not None and not self.finished:
            due = min(due, self._told + self._every)
        # A little more than due: a clock that is a hair early would make us look twice.
        return max(due - now, 0.0) + 0.001
