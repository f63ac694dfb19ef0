import os

import pytest
from killing import kill

RUNS = int(os.environ.get("BATCH_KILLS", "3"))


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_run_that_is_killed_at_any_moment_goes_on_to_the_same_output(ending):
    assert 0 <= kill(RUNS, ending) <= RUNS
