"""The worst rows of a run: those with the most errors, then those with the most repairs, and what is shown of them.

Of a row only its excerpts are kept, not its source. Which rows of a batch may be among the worst is found by Arrow, so
that few become Python values.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappush, heapreplace
from typing import Any, NamedTuple

from xmltools.batch.arrow import pa
from xmltools.batch.report.columns import Layout, Lists, pc, texts_in
from xmltools.batch.report.excerpts import Excerpt, cut_out
from xmltools.lint import CODES

__all__ = ["Problem", "Worst", "WorstRow"]

_ROWS = 20
_PROBLEMS = 6  # of a row: errors first, then repairs
_MESSAGE = 600  # characters of a message or a hint
_NAME = 120

_Rank = tuple[int, int, int]


class Problem(NamedTuple):
    """An error or a repair. `tool` and `excerpt` are None where there is none to show."""

    code: str
    is_error: bool
    message: str
    hint: str
    tool: str | None
    message_index: int
    excerpt: Excerpt | None


class WorstRow(NamedTuple):
    """A row: its number from 0, its codes and how often it has each, and its first errors and repairs."""

    row: int
    errors: tuple[tuple[str, int], ...]
    repairs: tuple[tuple[str, int], ...]
    problems: tuple[Problem, ...]

    @property
    def total(self) -> int:
        """How many errors and repairs the row has."""
        return sum(count for _, count in (*self.errors, *self.repairs))


class Worst:
    """The worst rows so far."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._heap: list[tuple[_Rank, WorstRow]] = []

    @property
    def rows(self) -> list[WorstRow]:
        """The rows, the worst one first; of equal ones, the first in the data."""
        return [row for _, row in sorted(self._heap, reverse=True)]

    def add(self, source: Any, lists: Lists, first: int) -> None:
        """Take the rows of a batch, given the column that was parsed, its lists and the number of its first row."""
        for errors, repairs, index in _candidates(lists):
            rank = (errors, repairs, -first - index)
            if len(self._heap) == _ROWS and rank < self._heap[0][0]:
                return
            row = self._read(rank, source[index].as_py(), [column[index].as_py() or [] for column in lists])
            (heapreplace if len(self._heap) == _ROWS else heappush)(self._heap, (rank, row))

    def _read(self, rank: _Rank, value: Any, lists: list[list[dict[str, Any]]]) -> WorstRow:
        calls, errors, repairs, _ = lists
        texts = texts_in(value, self._layout.messages)
        problems = [_error(error, texts) for error in errors[:_PROBLEMS]]
        problems += [_repair(repair, calls, texts) for repair in repairs[: _PROBLEMS - len(problems)]]
        return WorstRow(-rank[2], _codes(errors), _codes(repairs), tuple(problems))


def _candidates(lists: Lists) -> list[tuple[int, int, int]]:
    """The worst rows of a batch, as numbers of errors and repairs and the place in the batch."""
    errors, repairs = (pc.fill_null(pc.list_value_length(column), 0) for column in (lists.errors, lists.repairs))
    table = pa.table({"errors": errors, "repairs": repairs, "row": pa.array(range(len(errors)), pa.int64())})
    table = table.filter(pc.or_(pc.greater(errors, 0), pc.greater(repairs, 0)))
    order = [("errors", "descending"), ("repairs", "descending"), ("row", "ascending")]
    # Not pc.select_k_unstable: in pyarrow 25 it fails for a table without rows.
    worst = table.sort_by(order).slice(0, _ROWS)
    return [(row["errors"], row["repairs"], row["row"]) for row in worst.to_pylist()]


def _codes(found: list[dict[str, Any]]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(_short(each["code"], _NAME) for each in found).most_common())


def _error(error: dict[str, Any], texts: dict[int, str]) -> Problem:
    index = error["message_index"] or 0
    # An error of the row as a whole has no place.
    excerpt = _excerpt(texts, index, error) if error["end"] else None
    tool = None if error["name"] is None else _short(error["name"], _NAME)
    said, hint = _short(error["message"], _MESSAGE), _short(error["hint"], _MESSAGE)
    return Problem(_short(error["code"], _NAME), True, said, hint, tool, index, excerpt)


def _repair(repair: dict[str, Any], calls: list[dict[str, Any]], texts: dict[int, str]) -> Problem:
    number = repair["call"] or 0
    call: dict[str, Any] = calls[number] if 0 <= number < len(calls) else {"name": "", "message": 0}
    index = call["message"] or 0
    code, message = _short(repair["code"], _NAME), _short(repair["message"], _MESSAGE)
    hint = CODES[code].hint if code in CODES else ""
    return Problem(code, False, message, hint, _short(call["name"], _NAME), index, _excerpt(texts, index, repair))


def _excerpt(texts: dict[int, str], index: int, place: dict[str, Any]) -> Excerpt | None:
    text, start, end = texts.get(index), place["start"], place["end"]
    return None if text is None or start is None else cut_out(text, start, start if end is None else end)


def _short(text: str | None, size: int) -> str:
    text = text or ""
    return text if len(text) <= size else text[: size - 1] + "…"
