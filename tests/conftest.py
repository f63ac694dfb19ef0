"""What holds for all tests.

Hypothesis asks no clock, so that a slow machine fails no test; where CI is set, it tries the same each time. What
chance reaches does not count for coverage, which makes such tests slow. Garbage is collected after each module: what it
left open (a socket, a file) fails one of its own tests, and not a later one.
"""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("ci", settings.get_profile("steady"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.uncounted)


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left_open() -> Iterator[None]:
    yield
    gc.collect()
