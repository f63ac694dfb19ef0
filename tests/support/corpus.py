"""The cases of `tests/corpus`, as tests read them."""

import json
from pathlib import Path
from typing import Any

from xmltools.parser import Limits
from xmltools.tools import Tool

__all__ = ["CASES", "FILES", "FOLDER", "REQUIRED", "options_of", "tools_of"]

FOLDER = Path(__file__).parents[1] / "corpus"
PATHS = [*sorted(FOLDER.glob("[0-9]*.json")), *sorted((FOLDER / "optional").glob("[0-9]*.json"))]
FILES: dict[Path, list[dict[str, Any]]] = {path: json.loads(path.read_text("utf-8")) for path in PATHS}
CASES = [case for cases in FILES.values() for case in cases]
REQUIRED = [case for path, cases in FILES.items() if path.parent == FOLDER for case in cases]
"""Those on which every parser must agree: see "optional" in the README of the corpus."""


def tools_of(case: dict[str, Any]) -> list[Tool] | None:
    """The tools that the parser of a case is given."""
    return None if case["tools"] is None else [Tool(**tool) for tool in case["tools"]]


def options_of(case: dict[str, Any]) -> dict[str, Any]:
    """The other arguments of the parser of a case."""
    return case["options"] | {"limits": Limits(**case["options"].get("limits", {}))}
