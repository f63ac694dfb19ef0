"""What a check finds, with its place in the text as people count: lines and columns from 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from xmltools.syntax.lines import Lines

__all__ = ["OWN_CODES", "READERS_DISAGREE", "WITNESS_DISAGREES", "Finding", "Place", "SourceText"]

WITNESS_DISAGREES: Final = "witness_disagrees"
READERS_DISAGREE: Final = "readers_disagree"
OWN_CODES: Final = {
    WITNESS_DISAGREES: "The parser takes this call and an independent check does not: write the block as the "
    "instructions show it, and report the difference if it stays.",
    READERS_DISAGREE: "Another XML reader finds something else in this block: use plain names and values, and report "
    "the difference if it stays.",
}
"""The codes that the parser does not have, each with its hint."""

_WIDTH = 100


class Place(NamedTuple):
    """A place in a text: its offset from 0, line and column from 1, all in characters."""

    offset: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a call, or that the parser had to fix.

    `code` is a stable name, `source` the name of the text, `start` the place and `end` the place after it where that
    is known. `message` says what was found, `hint` what to do, `tool` the name of the tool where the block gives it.
    `excerpt` is the line around the place, and `caret` the place in the excerpt.
    """

    code: str
    severity: Literal["error", "warning"]
    source: str
    start: Place
    end: Place | None
    message: str
    hint: str
    tool: str | None = None
    excerpt: str = field(default="", repr=False)
    caret: int = field(default=0, repr=False)

    @property
    def offset(self) -> int:
        """The place in characters from the start of the text."""
        return self.start.offset

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.start.line

    @property
    def column(self) -> int:
        """The column, from 1, in characters."""
        return self.start.column


class SourceText:
    """A text with its name and an index of its lines, which is made once for all findings."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._lines = Lines(text)

    def place(self, offset: int) -> Place:
        """Return the place of an offset; one after the end is the end."""
        offset = min(offset, len(self.text))
        return Place(offset, *self._lines.locate(offset))

    def excerpt(self, place: Place) -> tuple[str, int]:
        """Return at most 100 characters of the line around a place, and the place in them; a cut is shown by `…`."""
        start, end = self._lines.span(place.line)
        if end > start and self.text[end - 1] == "\r" and end > place.offset:
            end -= 1
        left, right = start, end
        if end - start > _WIDTH:
            left = max(start, min(place.offset - _WIDTH // 2, end - _WIDTH))
            right = left + _WIDTH
        excerpt = self.text[left:right]
        if left > start:
            excerpt = "…" + excerpt[1:]
        if right < end:
            excerpt = excerpt[:-1] + "…"
        return excerpt, place.offset - left
