"""Calls written in each dialect and read back: one call, and the calls of a turn.

Call i of a seed and dialect is always the same.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from random import Random

from support.written import draw, law, law_of_several

__all__ = ["Tally", "try_calls"]

_BLOCK = 1_000
"""Calls that one worker is given at a time."""


@dataclass
class Tally:
    """What was tried: how many calls, how many of them the dialect can say, and what broke a law."""

    calls: int = 0
    written: int = 0
    found: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another worker did."""
        self.calls += other.calls
        self.written += other.written
        self.found += other.found


def try_calls(pool: ProcessPoolExecutor, dialect: str, seed: int, count: int) -> Tally:
    """Try so many calls in a dialect; a worker stops at its first finding."""
    total = Tally()
    pending: list[Future[Tally]] = [
        pool.submit(_work, dialect, seed, range(first, min(first + _BLOCK, count))) for first in range(0, count, _BLOCK)
    ]
    for each in pending:
        total.add(each.result())
    return total


def _work(dialect: str, seed: int, numbers: Iterable[int]) -> Tally:
    tally = Tally()
    for number in numbers:
        rng = Random(f"{seed}/written/{dialect}/{number}")
        drawn = [draw(rng, dialect) for _ in range(1 if number % 10 else rng.randint(2, 4))]
        tally.calls += 1
        try:
            tally.written += law(*drawn[0], dialect) if len(drawn) == 1 else law_of_several(drawn, dialect)
        except Exception:
            tally.found.append(f"call {number} of seed {seed} in {dialect}:\n{drawn}\n{traceback.format_exc(limit=-3)}")
            break
    return tally
