"""How many examples a random test tries. `tests/conftest.py` chooses the profile; without it, all are tried.

Where CI is set they are the same each time, so that many of them find no more than fewer do: `make fuzz` and
`make test-all` on a developer's machine try others.
"""

import os

from hypothesis import HealthCheck, settings

__all__ = ["examples"]

MOST = 100
ALIKE = {"derandomize": True, "database": None, "max_examples": 30} if os.environ.get("CI") else {}
FULL = settings(**{"deadline": None, "suppress_health_check": list(HealthCheck), "max_examples": MOST} | ALIKE)
settings.register_profile("full", FULL)
settings.register_profile("quick", FULL, max_examples=15)


def examples(number: int) -> settings:
    """Try so many examples, as a decorator: all of them in `make test-all`, a part of them in `make test` and in CI."""
    share = settings.default.max_examples / MOST
    return settings(max_examples=max(5, round(number * share)))
