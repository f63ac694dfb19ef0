"""What results begin with in a prompt: users may not write it, and models may not make it up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from xmltools.dialects import Dialect, ResultForm, named

_HEADER = re.compile(r"^(?=Tool: [^\n]*\n(?:Result|Error): )", re.MULTILINE)


_VARIES = re.compile(r"[<{]")


@lru_cache(maxsize=64)
def begins_result(dialect: str) -> re.Pattern[str] | None:
    """Return what finds the beginning of a result at the start of a line; None where nothing marks it."""
    form = _form_of(dialect)
    if form is None:
        return _HEADER
    marks = [start.partition("{")[0].partition("\n")[0] for start in _starts(form)]
    return re.compile(f"^(?={'|'.join(map(re.escape, marks))})", re.MULTILINE) if marks else None


def result_starts(dialect: str, names: Iterable[str]) -> list[str]:
    """Return the texts with which a result of tools of these names may begin, up to its number or content. Tokens that
    end a turn are no text, and are left out."""
    form = _form_of(dialect)
    if form is None:
        return [f"Tool: {name}\n{word}:" for name in names for word in ("Result", "Error")]
    ends = _written(dialect).turn_ends
    starts = [_fixed(start) for start in _starts(form)]
    for end in ends:
        starts = [start.removeprefix(end) for start in starts]
    return list(dict.fromkeys(start.replace("{name}", name).strip() for start in starts for name in names))


def _fixed(start: str) -> str:
    """Return the beginning of a mark up to what differs, or to a token after the name, which may be no text."""
    head, name, rest = start.partition("{name}")
    fixed = head.partition("{")[0]
    return f"{head}{name}{_VARIES.split(rest)[0]}" if name and fixed == head else fixed


def _written(dialect: str) -> Dialect:
    return named(dialect).written or named(dialect)


def _form_of(dialect: str) -> ResultForm | None:
    """Return how results are written; None if they have a header, as Forge's."""
    writing = _written(dialect).writing
    return writing.result if writing is not None and not writing.result.is_headed else None


def _starts(form: ResultForm) -> list[str]:
    return [start for start in (form.start, form.each_start) if start]
