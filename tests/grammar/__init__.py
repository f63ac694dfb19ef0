"""Outputs for three sample tools, right and wrong ones, for everything that judges outputs.

The cases are in cases.jsonl, the tools are those of `grammars/examples`.

A valid case is a sentence of the grammars that are made from the tools: any text, and any number of calls, spelled as
the grammars generate them. An invalid one has one defect and is otherwise as good. Its `defect` tells who can see it:

- "text": in the text around the blocks; an opener that opens nothing, a backtick before a block, reasoning.
- "markup": no reader takes the block without a repair or an error, whatever the tool.
- "spelling": readers take it, but it is not how calls are written, as white space in tags and comments.
- "schema": right for some tool, wrong for these three.

`narrow` cases are valid, but written by llguidance's grammars only: GBNF counts no characters that are references.

`parser` tells what our own parser makes of it, with the tools: it is "clean" (calls without repairs, or text),
"repaired", or "failed" (a block of it is no call). In the file it stands only with invalid cases that do not fail.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from xmltools.tools import load_tools

__all__ = ["CASES", "EXAMPLES", "FOLDER", "INVALID", "TOOLS", "VALID", "Case"]

FOLDER = Path(__file__).parent
EXAMPLES = Path(__file__).parents[2] / "grammars" / "examples"


@dataclass(frozen=True)
class Case:
    """One output, and what is to be said of it."""

    id: str
    valid: bool
    text: str
    why: str
    defect: str = ""
    parser: str = ""
    narrow: bool = False

    def __post_init__(self) -> None:
        if not self.parser:
            object.__setattr__(self, "parser", "clean" if self.valid else "failed")


def _load_cases() -> tuple[Case, ...]:
    lines = (FOLDER / "cases.jsonl").read_text("utf-8").split("\n")
    return tuple(Case(**json.loads(line)) for line in lines if line)


TOOLS = load_tools(json.loads((EXAMPLES / "tools.json").read_text("utf-8")))
CASES = _load_cases()
VALID = tuple(case for case in CASES if case.valid)
INVALID = tuple(case for case in CASES if not case.valid)
