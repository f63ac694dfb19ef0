"""A few lines around a place in a source text, with the place marked; bounded, whatever the text.

A row may be one line of many megabytes, so lines are found by searching for line breaks around the place, and only
what is shown is copied.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Excerpt", "Gap", "Line", "cut_out"]

_CONTEXT = 3  # lines before the place, and after it
_INSIDE = 8  # lines of the place itself: if it has more, its first and last ones are shown
_HEAD, _TAIL = 5, 2
_BESIDE = 60  # characters of a line before and after the mark
_MARKED = 120
_PLAIN = 160  # characters of a line without a mark

_Range = tuple[int, int]


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


def cut_out(text: str, start: int, end: int) -> Excerpt:
    """Return the lines around a place in a text.

    Takes the text and where the place begins and ends, in characters; what lies outside of the text is left out. A
    place without an extent is the character that stands there.
    """
    start = min(max(start, 0), len(text))
    end = min(max(end, start + 1), len(text))
    first, last = _line_start(text, start), _line_start(text, max(end - 1, start))
    number = text.count("\n", 0, first) + 1
    before = _backward(text, first, _CONTEXT)
    after = _forward(text, _line_end(text, last) + 1, _CONTEXT)
    mark = (start, end)
    lines = (
        *_show(text, before, mark, number - len(before)),
        *_inside(text, first, last, mark, number),
        *_show(text, after, mark, number + text.count("\n", first, last) + 1),
    )
    return Excerpt(lines, number, start - first + 1)


def _inside(text: str, first: int, last: int, mark: _Range, number: int) -> list[Line | Gap]:
    """The lines on which the place stands."""
    count = text.count("\n", first, last) + 1
    if count <= _INSIDE:
        return [*_show(text, _forward(text, first, count), mark, number)]
    head = _forward(text, first, _HEAD)
    tail = [*_backward(text, last, _TAIL - 1), (last, _line_end(text, last))]
    gap = Gap(count - _HEAD - _TAIL)
    return [*_show(text, head, mark, number), gap, *_show(text, tail, mark, number + count - _TAIL)]


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _forward(text: str, at: int, count: int) -> list[_Range]:
    """At most `count` lines from the one that begins at `at`."""
    lines: list[_Range] = []
    while len(lines) < count and at <= len(text):
        lines.append((at, _line_end(text, at)))
        at = lines[-1][1] + 1
    return lines


def _backward(text: str, at: int, count: int) -> list[_Range]:
    """At most `count` lines before the one that begins at `at`, in their order."""
    lines: list[_Range] = []
    while len(lines) < count and at > 0:
        lines.append((_line_start(text, at - 1), at - 1))
        at = lines[-1][0]
    return lines[::-1]


def _show(text: str, lines: list[_Range], mark: _Range, number: int) -> list[Line]:
    return [_line(text, line, mark, number + index) for index, line in enumerate(lines)]


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
