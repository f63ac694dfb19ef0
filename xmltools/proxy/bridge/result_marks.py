"""What results begin with in a prompt: users may not write it, and models may not make it up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from xmltools.dialects import named

_HEADER = re.compile(r"^(?=Tool: [^\n]*\n(?:Result|Error): )", re.MULTILINE)


@lru_cache(maxsize=64)
def begins_result(dialect: str) -> re.Pattern[str] | None:
    """Return what finds the beginning of a result at the start of a line; None where nothing marks it."""
    marks = _marks_of(dialect)
    if marks is None:
        return _HEADER
    return re.compile(f"^(?={'|'.join(map(re.escape, marks))})", re.MULTILINE) if marks else None


def result_starts(dialect: str, names: Iterable[str]) -> list[str]:
    """Return the texts with which a result of tools of these names may begin, up to what differs."""
    marks = _marks_of(dialect)
    if marks is None:
        return [f"Tool: {name}\n{word}:" for name in names for word in ("Result", "Error")]
    return list(marks)


def _marks_of(dialect: str) -> tuple[str, ...] | None:
    """Return the marks with which results begin; None if they have a header, as Forge's."""
    form = named(dialect).written
    if form is None or form.writing is None or form.writing.result.is_headed:
        return None
    starts = form.writing.result.start, form.writing.result.each_start
    return tuple(mark for start in starts if (mark := start.partition("{")[0].partition("\n")[0].strip()))
