"""How many examples a random test tries. `tests/conftest.py` chooses the profile; without it, all are tried.

Where CI is set they are fewer, and the same each time, so that many of them find no more than fewer do: `make fuzz` and
`make test-all` on a developer's machine try others.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

__all__ = ["examples", "share", "some"]

MOST = 100
IN_CI = bool(os.environ.get("CI"))
ALIKE = {"derandomize": True, "database": None, "max_examples": 30} if IN_CI else {}
FULL = settings(**{"deadline": None, "suppress_health_check": list(HealthCheck), "max_examples": MOST} | ALIKE)
settings.register_profile("full", FULL)
settings.register_profile("quick", FULL, max_examples=15)
Thing = TypeVar("Thing")


def examples(number: int) -> settings:
    """Try so many examples, as a decorator: all of them in `make test-all`, a part of them in `make test` and in CI."""
    share = settings.default.max_examples / MOST
    return settings(max_examples=max(5, round(number * share)))


def share(number: int) -> int:
    """Return how many of so many tries a test makes in a loop of its own: all of them; in CI, a fifth."""
    return -(-number // 5) if IN_CI else number


def some(things: Sequence[Thing], seed: str) -> list[Thing]:
    """Return those of many things that a test tries, in their order: all; in CI, a fifth, which `seed` chooses."""
    chosen = random.Random(repr(seed)).sample(range(len(things)), share(len(things)))
    return [things[number] for number in sorted(chosen)]
