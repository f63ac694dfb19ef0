"""The worst rows of a run, spread over what can go wrong: some with each error, some with foreign calls, some with each
repair; and what is shown of them.

Of a row only its excerpts are kept, not its source. Which rows of a batch have what is found by Arrow, so that few
become Python values.

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
_EACH = 10  # rows that are kept for each code
_CODES = 200  # codes that are told apart: there are fewer, but for outputs that others have changed
_PROBLEMS = 6  # of a row: those with the code for which it is shown first, then errors, foreign calls and repairs
_MESSAGE = 600  # characters of a message or a hint
_NAME = 120

_CONTEXT = 3  # lines before the place, and after it
_INSIDE = 8  # lines of the place itself: if it has more, its first and last ones are shown
_HEAD, _TAIL = 5, 2
_BESIDE = 60  # characters of a line before and after the mark
_MARKED = 120
_PLAIN = 160  # characters of a line without a mark

_Rank = tuple[int, int, int]  # how often the row has the code, how much else went wrong, and minus its number
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
    """Something that went wrong. `kind` is "error", "foreign" or "repair"; `tool` and `excerpt` are None where there is
    none to show."""

    kind: str
    code: str
    message: str
    hint: str
    tool: str | None
    message_index: int
    excerpt: Excerpt | None


class WorstRow(NamedTuple):
    """A row: the file that it is in, "" if there is one only, and its number in it, from 0; what went wrong, as kind,
    code and how often; and the first of it."""

    file: str
    row: int
    codes: tuple[tuple[str, str, int], ...]
    problems: tuple[Problem, ...]

    def count(self, kind: str) -> int:
        """Return how much of a kind went wrong in the row."""
        return sum(count for each, _, count in self.codes if each == kind)

    @property
    def unseen(self) -> int:
        """How much is not among `problems`."""
        return sum(count for _, _, count in self.codes) - len(self.problems)


class _Kind(NamedTuple):
    """Something that can go wrong: in which list it is, and by which field rows are told apart."""

    name: str
    column: str
    field: str


_KINDS = (_Kind("error", "errors", "code"), _Kind("foreign", "notices", "notation"), _Kind("repair", "repairs", "code"))
"""The worst first."""


class Worst:
    """The worst rows so far."""

    def __init__(self, messages: bool) -> None:
        self._messages = messages
        self._rows = 0
        self._counts: Counter[tuple[int, str]] = Counter()
        self._heaps: dict[tuple[int, str], list[tuple[_Rank, WorstRow]]] = {}

    @property
    def rows(self) -> list[WorstRow]:
        """The rows: the worst one for each code, errors first, then the next one for each, and so on.

        Of each kind, the codes that are most frequent come first; of equal rows, the first in the data.
        """
        order = sorted(self._heaps, key=lambda key: (key[0], -self._counts[key], key[1]))
        queues = [sorted(self._heaps[key], reverse=True) for key in order]
        taken: dict[int, WorstRow] = {}
        while any(queues) and len(taken) < _ROWS:
            for queue in queues:
                while queue and queue[0][0][2] in taken:
                    queue.pop(0)
                if queue and len(taken) < _ROWS:
                    (*_, number), row = queue.pop(0)
                    taken[number] = row
        return list(taken.values())

    def add(self, source: Any, lists: Lists, file: str, first: int) -> None:
        """Take the rows of a batch, given the column that was parsed, its lists, and in which file its rows are, from
        which number on."""
        lengths = [pc.fill_null(pc.list_value_length(getattr(lists, kind.column)), 0) for kind in _KINDS]
        wrong = pc.add(pc.add(*lengths[:2]), lengths[2]).to_pylist()
        for place, kind in enumerate(_KINDS):
            for code, count, index in _found(getattr(lists, kind.column), kind.field):
                key = (place, _short(code, _NAME))
                if key not in self._heaps and len(self._heaps) >= _CODES:
                    continue
                self._counts[key] += count
                heap = self._heaps.setdefault(key, [])
                rank = (count, wrong[index], -self._rows - index)
                if len(heap) == _EACH and rank < heap[0][0]:
                    continue
                values = {name: column[index].as_py() or [] for name, column in lists._asdict().items()}
                row = self._read(kind, key[1], values, source[index].as_py(), file, first + index)
                (heapreplace if len(heap) == _EACH else heappush)(heap, (rank, row))
        self._rows += len(source)

    def _read(
        self, kind: _Kind, code: str, lists: dict[str, list[dict[str, Any]]], value: Any, file: str, number: int
    ) -> WorstRow:
        texts = {index: (text, Lines(text)) for index, text in texts_in(value, self._messages).items()}
        found = [(each, entry) for each in _KINDS for entry in lists[each.column]]
        found.sort(key=lambda each: each[0] != kind or _short(each[1][kind.field], _NAME) != code)
        codes = Counter((each.name, _short(entry[each.field], _NAME)) for each, entry in found)
        problems = (_problem(each, entry, lists["calls"], texts) for each, entry in found[:_PROBLEMS])
        return WorstRow(file, number, tuple((*name, count) for name, count in codes.items()), tuple(problems))


def _found(column: Any, field: str) -> list[tuple[str, int, int]]:
    """Return what the lists of a column have in a field, how often, and in which row."""
    table = pa.table({"code": pc.struct_field(column.flatten(), field), "row": pc.list_parent_indices(column)})
    counted = table.group_by(["code", "row"], use_threads=False).aggregate([([], "count_all")]).to_pylist()
    # The worst first: those that follow are then not read in vain.
    counted.sort(key=lambda each: -each["count_all"])
    return [(each["code"] or "", each["count_all"], each["row"]) for each in counted]


def _problem(kind: _Kind, found: dict[str, Any], calls: list[dict[str, Any]], texts: _Texts) -> Problem:
    code, place, tool = _short(found["code"], _NAME), found, None
    hint = CODES[code].hint if code in CODES else ""
    if kind.name == "repair":
        number = found["call"] or 0
        call: dict[str, Any] = calls[number] if 0 <= number < len(calls) else {"name": "", "message": 0}
        index, tool = call["message"] or 0, call["name"]
    else:
        index, tool = found["message_index"] or 0, found["name"]
    if kind.name == "error":
        hint = found["hint"]
        place = found if found["end"] else {"start": None}  # an error of the row as a whole has no place
    return Problem(
        kind.name,
        code,
        _short(found["message"], _MESSAGE),
        _short(hint, _MESSAGE),
        None if tool is None else _short(tool, _NAME),
        index,
        _excerpt(texts, index, place),
    )


def _excerpt(texts: _Texts, index: int, place: dict[str, Any]) -> Excerpt | None:
    found, start = texts.get(index), place["start"]
    if found is None or start is None:
        return None
    return cut_out(*found, start, start if place["end"] is None else place["end"])


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
