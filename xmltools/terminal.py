"""Lines for people on a terminal: they end between words, where the terminal would cut a word in two.

What goes into a file or a pipe stays as it is, and so do paths, URLs and other words that are longer than a line: the
terminal breaks them, so that they can be copied whole.
"""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TextIO

UNSEEN = (
    *range(0x7F, 0xA0),
    *(0xAD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *(0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB),
    *range(0xE0000, 0xE0080),
)
"""Characters that steer a terminal, turn the direction of writing or can't be seen: a call that holds one would be
shown as another than it is. Those that join letters and pictures are none."""
VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | dict.fromkeys(UNSEEN, 0xFFFD)
"""What `str.translate` takes to show text of others: control characters become their pictures."""

# A command to copy is one word.
_PIECE = re.compile(r"\n|[^\S\n]+|(?:pip install(?: -e)? )?\S+")
_LEAST = 10
"""Columns that are left beside an indentation, at least: on a narrower terminal lines are not indented."""


_MOST = 8
"""Characters for each column that are kept of a word whose end has not come: accents take none."""


def columns_of(stream: TextIO) -> int | None:
    """Return how wide the terminal is that a stream writes to, None if it writes to none."""
    try:
        if not stream.isatty():
            return None
        if os.environ.get("COLUMNS", "").isdecimal():  # as shutil.get_terminal_size has it, which knows one stream
            return int(os.environ["COLUMNS"]) or None
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):  # it is closed, or has no size
        return None


def wrapped(text: str, width: int | None, hanging: str = "") -> str:
    """Return text with its lines broken between words, so that none is wider than `width`.

    A line that goes on begins like the one that it belongs to, with the same white space, and then with `hanging`.
    Without a width the text stays as it is.
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        wrapper = Wrapper(width, line[: len(line) - len(line.lstrip())] + hanging)
        lines.append(wrapper.feed(line) + wrapper.flush())
    return "\n".join(lines)


def say(text: str, stream: TextIO, hanging: str = "", *, flush: bool = False) -> None:
    """Print text and a line break, on a terminal with lines that end between words, as `wrapped` does it."""
    print(wrapped(text, columns_of(stream), hanging), file=stream, flush=flush)


def cells(text: str) -> int:
    """Return how many columns of a terminal text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else not unicodedata.combining(each) for each in text)


class Wrapper:
    """Breaks text that comes in pieces between words: `feed` returns what can be written of it.

    The last word is kept until its end is known, or until it is longer than a line; `flush` returns it. `indent` is
    what a line that goes on begins with. Without a width nothing is broken, and nothing is kept.
    """

    def __init__(self, width: int | None, indent: str = "") -> None:
        self.width = width
        self.indent = indent
        self._column = 0
        self._begun = False  # is there a word on the line?
        self._space = ""
        self._word = ""
        self._inside = False  # a word that is longer than a line, and whose end has not come yet

    def feed(self, text: str) -> str:
        """Return what can be written now."""
        if self.width is None:
            return text
        text, self._word = self._word + text, ""
        pieces: list[str] = _PIECE.findall(text)
        # Of a word that is longer than a line nothing more need be known, and it may have no end for long.
        goes_on = self._inside and len(pieces) == 1
        last = pieces[-1] if pieces else " "
        if not last.isspace() and not goes_on and cells(last) <= self.width and len(last) <= _MOST * self.width:
            self._word = pieces.pop()
        written = "".join(map(self._place, pieces))
        if pieces and not self._word:
            self._inside = not pieces[-1].isspace()
        return written

    def flush(self) -> str:
        """Return what was kept: the text ends here, or something else follows on the same line."""
        word, self._word, self._inside = self._word, "", False
        written = self._place(word) if word else ""
        space, self._space = self._space, ""
        self._column += len(space)
        return written + space

    def _place(self, piece: str) -> str:
        assert self.width is not None
        if piece == "\n":
            self._column, self._begun, self._space, self._inside = 0, False, "", False
            return piece
        if piece.isspace():
            self._space += piece
            self._inside = False
            return ""
        space, self._space = self._space, ""
        size = cells(piece)
        if self._inside:
            self._column += size
            return piece
        indent = self.indent if len(self.indent) + _LEAST <= self.width else ""
        if size <= self.width:  # a word that fits on a line is not broken for the indentation
            indent = indent[: self.width - size]
        gains = not indent or self._column > len(indent)  # the column is 0 after a word that takes none
        if self._begun and gains and self._column + len(space) + size > self.width:
            self._column = len(indent) + size
            return f"\n{indent}{piece}"
        self._column += len(space) + size
        self._begun = True
        return space + piece
