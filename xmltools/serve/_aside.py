"""Work that may take long, done beside the event loop, so that the streams of other clients go on.

Threads share one interpreter. Whoever waits for it gets it when the other's turn is over, which Python ends after 5 ms
unless told otherwise: a chunk needs it some four times on its way through, so turns are made shorter.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

__all__ = ["TURN", "Aside", "Turns", "collect", "shorten_turns"]

T = TypeVar("T")

TURN: Final = 0.0005
"""Seconds that the loop may be busy with one stream while others wait."""
_SWITCH: Final = 0.00001
_THREADS: Final = 2
_NEVER: Final = 1_000_000_000
_LOOK_EVERY: Final = 0.5
_MOST_REQUESTS: Final = 200
_COLLECT_AFTER: Final = 10.0


def shorten_turns() -> None:
    """Let threads take turns more often than Python does by default, and keep the collector from long ones.

    A full collection stops all threads while it looks at every object, and a call with many values makes it run often.
    So it runs only where `collect` does it, and never looks at what was loaded at the start. This holds for the whole
    process.
    """
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)


async def collect(requests: Callable[[], int]) -> None:
    """Look for garbage in rings, without end: after every so many requests, and some time after each. `requests` says
    how many there have been."""
    seen, since = 0, time.monotonic()
    while True:
        await anyio.sleep(_LOOK_EVERY)
        new = requests() - seen
        if new >= _MOST_REQUESTS or (new and time.monotonic() - since >= _COLLECT_AFTER):
            seen, since = requests(), time.monotonic()
            gc.collect()


class Aside:
    """Does work in a few threads. Not more: they would take turns with each other before the loop has its own."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_THREADS)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, and raise what it raises. Once begun, it is not cancelled."""
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


class Turns:
    """Says when others should have a turn."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = time.perf_counter()

    @property
    def is_over(self) -> bool:
        """Whether the turn has been long enough."""
        return time.perf_counter() - self._since > TURN

    async def pass_on(self) -> None:
        """Let others have a turn, and begin with the next."""
        await anyio.lowlevel.checkpoint()
        self._since = time.perf_counter()
