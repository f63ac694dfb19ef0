"""Hypothesis asks no clock, so that a slow machine fails no test; where CI is set, it tries the same each time."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("ci", settings.get_profile("steady"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "steady")
