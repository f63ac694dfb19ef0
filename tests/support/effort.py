"""How much work something is, measured against work that is done beside it: tests ask no clock for seconds."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

__all__ = ["effort"]


def effort(work: Callable[[], object]) -> float:
    """Return how many times as long as a loop of 100,000 additions the work takes this thread.

    Nothing is collected meanwhile: to look through what thousands of tests have left takes longer than most work.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        before = _thread_seconds(_additions)
        taken = _thread_seconds(work)
        return taken / max(before, _thread_seconds(_additions))
    finally:
        if collects:
            gc.enable()


def _thread_seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _additions() -> int:
    total = 0
    for number in range(100_000):
        total += number
    return total
