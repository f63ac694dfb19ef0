"""The worst rows of a run: those with the most errors, then those with the most repairs, and what is shown of them.

Of a row only its excerpts are kept, not its source. Which rows of a batch may be among the worst is found by Arrow, so
that few become Python values.

A row may be one line of many megabytes: only what is shown is copied.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappush, heapreplace
from typing import Any, NamedTuple

from xmltools.batch.arrow import pa
from xmltools.batch.report.tally import Lists, pc, texts_in
from xmltools.lint import CODES
from xmltools.syntax.lines import Lines

_ROWS = 20
_PROBLEMS = 6  # of a row: errors first, then repairs
_MESSAGE = 600  # characters of a message or a hint
_NAME = 120

_CONTEXT = 3  # lines before the place, and after it
_INSIDE = 8  # lines of the place itself: if it has more, its first and last ones are shown
_HEAD, _TAIL = 5, 2
_BESIDE = 60  # characters of a line before and after the mark
_MARKED = 120
_PLAIN = 160  # characters of a line without a mark

_Rank = tuple[int, int, int]
_Range = tuple[int, int]
_Texts = dict[int, tuple[str, Lines]]


class Line(NamedTuple):
    """A line with its number, from 1: the text before the mark, in it and after it. A cut is shown by `…`."""

    number: int
    before: str
    marked: str
    after: str


class Gap(NamedTuple):
    """So many lines are not shown."""

    lines: int


class Excerpt(NamedTuple):
    """The lines around a place, and its line and column, both from 1."""

    lines: tuple[Line | Gap, ...]
    line: int
    column: int


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
    def badges(self) -> list[tuple[str, str, int]]:
        """The codes and how often the row has each, errors first; before each what it is."""
        codes = (("error", self.errors), ("repair", self.repairs))
        return [(kind, code, count) for kind, found in codes for code, count in found]

    @property
    def unseen(self) -> int:
        """How many errors and repairs are not among `problems`."""
        return sum(count for _, _, count in self.badges) - len(self.problems)


class Worst:
    """The worst rows so far."""

    def __init__(self, messages: bool) -> None:
        self._messages = messages
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
        texts = {index: (text, Lines(text)) for index, text in texts_in(value, self._messages).items()}
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


def _error(error: dict[str, Any], texts: _Texts) -> Problem:
    index = error["message_index"] or 0
    # An error of the row as a whole has no place.
    excerpt = _excerpt(texts, index, error) if error["end"] else None
    tool = None if error["name"] is None else _short(error["name"], _NAME)
    said, hint = _short(error["message"], _MESSAGE), _short(error["hint"], _MESSAGE)
    return Problem(_short(error["code"], _NAME), True, said, hint, tool, index, excerpt)


def _repair(repair: dict[str, Any], calls: list[dict[str, Any]], texts: _Texts) -> Problem:
    number = repair["call"] or 0
    call: dict[str, Any] = calls[number] if 0 <= number < len(calls) else {"name": "", "message": 0}
    index = call["message"] or 0
    code, message = _short(repair["code"], _NAME), _short(repair["message"], _MESSAGE)
    hint = CODES[code].hint if code in CODES else ""
    return Problem(code, False, message, hint, _short(call["name"], _NAME), index, _excerpt(texts, index, repair))


def _excerpt(texts: _Texts, index: int, place: dict[str, Any]) -> Excerpt | None:
    found, start, end = texts.get(index), place["start"], place["end"]
    return None if found is None or start is None else cut_out(*found, start, start if end is None else end)


def _short(text: str | None, size: int) -> str:
    text = text or ""
    return text if len(text) <= size else text[: size - 1] + "…"


# Excerpts


def cut_out(text: str, lines: Lines, start: int, end: int) -> Excerpt:
    """Return the lines around a place in a text.

    Takes the text, where its lines are, and where the place begins and ends, in characters; what lies outside of the
    text is left out. A place without an extent is the character that stands there.
    """
    start = min(max(start, 0), len(text))
    end = min(max(end, start + 1), len(text))
    first, column = lines.locate(start)
    last, _ = lines.locate(max(end - 1, start))
    numbers: list[int | Gap] = [*range(max(first - _CONTEXT, 1), min(last + _CONTEXT, len(lines)) + 1)]
    if last - first >= _INSIDE:
        head, tail = numbers.index(first + _HEAD), numbers.index(last - _TAIL + 1)
        numbers[head:tail] = [Gap(tail - head)]
    shown = (each if isinstance(each, Gap) else _line(text, lines.span(each), (start, end), each) for each in numbers)
    return Excerpt(tuple(shown), first, column)


def _line(text: str, line: _Range, mark: _Range, number: int) -> Line:
    start, stop = line
    if stop > max(start, mark[1]) and text[stop - 1] == "\r":
        stop -= 1
    left, right = max(start, mark[0]), min(stop, mark[1])
    if left < right:
        shown = _start_of(text, left, right, _MARKED)
        return Line(number, _end_of(text, start, left, _BESIDE), shown, _start_of(text, right, stop, _BESIDE))
    if start <= mark[0] <= stop and mark[0] == left:  # a line break, or the end of the text
        return Line(number, _end_of(text, start, stop, _PLAIN), "↵" if mark[0] < len(text) else "end of text", "")
    return Line(number, _start_of(text, start, stop, _PLAIN), "", "")


def _start_of(text: str, start: int, stop: int, size: int) -> str:
    return text[start:stop] if stop - start <= size else text[start : start + size - 1] + "…"


def _end_of(text: str, start: int, stop: int, size: int) -> str:
    return text[start:stop] if stop - start <= size else "…" + text[stop - size + 1 : stop]
