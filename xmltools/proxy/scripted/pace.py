"""When things are said: pieces of text with their times, and waiting for them on a clock that can be given."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from xmltools.errors import XMLToolsError

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Piece(NamedTuple):
    """A piece of text, and how many seconds after the request it is said."""

    at: float
    text: str


def check_speed(speed: float) -> float:
    """Return the speed. Raises XMLToolsError if it is no number from 0 on."""
    if isinstance(speed, bool) or not isinstance(speed, (int, float)) or not 0 <= speed < math.inf:
        raise XMLToolsError(
            f"speed: expected a number from 0 on (2 is twice as fast, 0 does not wait), got {speed!r:.40}"
        )
    return speed


class Pace:
    """Waits until times that are counted from when it was made.

    `speed` divides all times; 0 does not wait. What the work itself took counts as waited, so that a slow reader gets
    what has piled up at once, as from a real server.
    """

    def __init__(self, speed: float = 1.0, *, sleep: Sleep = asyncio.sleep, clock: Clock = time.monotonic) -> None:
        self._speed = speed
        self._sleep = sleep
        self._clock = clock
        self._start = clock()

    async def until(self, at: float) -> None:
        """Wait until `at` seconds after the start. Others get their turn even if there is nothing to wait for."""
        rest = self._start + at / self._speed - self._clock() if self._speed else 0.0
        await (self._sleep(rest) if rest > 0 else asyncio.sleep(0))
