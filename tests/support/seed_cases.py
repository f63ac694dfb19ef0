"""The examples of the five systems' documents, as cases: `seeds/cases.jsonl`, one a line, each with a stable id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CASES = [
    json.loads(line) for line in (Path(__file__).parents[1] / "seeds" / "cases.jsonl").read_text("utf-8").splitlines()
]


def cases(system: str, *kinds: str) -> list[Any]:
    """The cases of a system, of these kinds or of all, for `pytest.mark.parametrize`."""
    chosen = [case for case in CASES if case["system"] == system and (not kinds or case["kind"] in kinds)]
    assert chosen, (system, kinds)
    return [pytest.param(case, id=case["id"]) for case in chosen]
