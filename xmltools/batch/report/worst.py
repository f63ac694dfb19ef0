"""The worst rows of a run, spread over what can go wrong: some with each error, some with foreign calls, some with each
repair; and what is shown of them. Of a row only its excerpts are kept, not its source.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from xmltools.batch.report.tally import Seen
from xmltools.batch.rows import FOREIGN
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

_KINDS = (("error", "errors", "code"), ("foreign", "notices", "notation"), ("repair", "repairs", "code"))
"""What can go wrong, the worst first: its name, in which list it is, and by which field rows are told apart."""

_Code = tuple[int, str]  # the place of its kind, and the code
_Rank = tuple[int, int, int]  # how often the row has the code, how much went wrong in all, and minus its number


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


class WorstRow(NamedTuple):
    """A row: the file that it is in, "" if there is one only, and its number in it, from 0; what went wrong, as kind,
    code and how often; the first of it, as the page shows it; and how much is not shown."""

    file: str
    row: int
    codes: tuple[tuple[str, str, int], ...]
    problems: tuple[dict[str, Any], ...]
    unseen: int


class Worst:
    """The worst rows so far."""

    def __init__(self) -> None:
        self._rows = 0
        self._counts: Counter[_Code] = Counter()
        self._kept: dict[_Code, list[tuple[_Rank, WorstRow]]] = {}

    @property
    def rows(self) -> list[WorstRow]:
        """The rows: the worst one for each code, errors first, then the next one for each, and so on.

        Of each kind, the codes that are most frequent come first; of equal rows, the first in the data.
        """
        order = sorted(self._kept, key=lambda key: (key[0], -self._counts[key], key[1]))
        queues = [list(self._kept[key]) for key in order]
        taken: dict[int, WorstRow] = {}
        while any(queues) and len(taken) < _ROWS:
            for queue in queues:
                while queue and queue[0][0][2] in taken:
                    queue.pop(0)
                if queue and len(taken) < _ROWS:
                    (*_, number), row = queue.pop(0)
                    taken[number] = row
        return list(taken.values())

    def add(self, row: Seen, file: str, number: int) -> None:
        """Take a row, with its file and its number there."""
        self._rows += 1
        if not (row.errors or row.notices or row.repairs):
            return
        found = [
            ((place, _short(entry[field], _NAME)), entry)
            for place, (_, column, field) in enumerate(_KINDS)
            for entry in getattr(row, column)
            if entry[field] != FOREIGN  # reading that was asked for
        ]
        codes = Counter(code for code, _ in found)
        for code, count in codes.items():
            if code not in self._kept and len(self._kept) >= _CODES:
                continue
            self._counts[code] += count
            kept = self._kept.setdefault(code, [])
            rank = (count, len(found), -self._rows)
            if len(kept) < _EACH or rank > kept[-1][0]:
                first = sorted(found, key=lambda each, code=code: each[0] != code)[:_PROBLEMS]  # type: ignore[misc]
                said = tuple((_KINDS[place][0], name, count) for (place, name), count in codes.items())
                texts = {index: (text, Lines(text)) for index, text in row.texts.items()}
                problems = tuple(_problem(*each, row.calls, texts) for each in first)
                kept.append((rank, WorstRow(file, number, said, problems, len(found) - len(first))))
                kept.sort(reverse=True)
                del kept[_EACH:]


def _problem(
    code: _Code, found: dict[str, Any], calls: list[dict[str, Any]], texts: dict[int, tuple[str, Lines]]
) -> dict[str, Any]:
    """Return what the page shows of something that went wrong; `tool` and `excerpt` are None where there is none."""
    kind, name = _KINDS[code[0]][0], code[1]
    hint = found["hint"] if kind == "error" else CODES[name].hint if name in CODES else ""
    if kind == "repair":
        number = found["call"] or 0
        call: dict[str, Any] = calls[number] if 0 <= number < len(calls) else {"name": "", "message": 0}
        index, tool = call["message"] or 0, call["name"]
    else:
        index, tool = found["message_index"] or 0, found["name"]
    start, end = found["start"], found["end"]
    # An error of the row as a whole has no place.
    has_place = index in texts and start is not None and (end or kind != "error")
    return {
        "kind": kind,
        "code": name,
        "message": _short(found["message"], _MESSAGE),
        "hint": _short(hint, _MESSAGE),
        "tool": None if tool is None else _short(tool, _NAME),
        "message_index": index,
        "excerpt": cut_out(*texts[index], start, start if end is None else end) if has_place else None,
    }


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
    shown = (each if isinstance(each, Gap) else _line(text, lines.span(each), start, end, each) for each in numbers)
    return Excerpt(tuple(shown), first, column)


def _line(text: str, line: tuple[int, int], first: int, last: int, number: int) -> Line:
    start, stop = line
    if stop > max(start, last) and text[stop - 1] == "\r":
        stop -= 1
    left, right = max(start, first), min(stop, last)
    if left < right:
        before = text[start:left] if left - start <= _BESIDE else "…" + text[left - _BESIDE + 1 : left]
        return Line(number, before, _short(text[left:right], _MARKED), _short(text[right:stop], _BESIDE))
    if first == left <= stop:  # a line break, or the end of the text
        before = text[start:stop] if stop - start <= _PLAIN else "…" + text[stop - _PLAIN + 1 : stop]
        return Line(number, before, "↵" if first < len(text) else "end of text", "")
    return Line(number, _short(text[start:stop], _PLAIN), "", "")
