"""What holds for all tests.

Hypothesis asks no clock, so that a slow machine fails no test; where CI is set, it tries the same each time. Garbage
is collected behind each module: what it left open (a socket, a file) fails one of its own tests, and not a later one.
"""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("ci", settings.get_profile("steady"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "steady")


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left_open() -> Iterator[None]:
    yield
    gc.collect()
