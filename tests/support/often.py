"""How many examples a random test tries. `tests/conftest.py` chooses the profile; without it, all are tried."""

import os

from hypothesis import HealthCheck, settings

__all__ = ["examples"]

ALIKE = {"derandomize": True, "database": None} if os.environ.get("CI") else {}
FULL = settings(deadline=None, suppress_health_check=list(HealthCheck), **ALIKE)
settings.register_profile("full", FULL)
settings.register_profile("quick", FULL, max_examples=15)


def examples(number: int) -> settings:
    """Try so many examples, as a decorator: all of them in `make test-all`, a part of them in `make test`."""
    share = settings.default.max_examples / FULL.max_examples
    return settings(max_examples=max(5, round(number * share)))
