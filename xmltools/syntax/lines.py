"""Line and column of a place in a text that may still grow."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right


class Lines:
    """Where the lines of a text begin, to say line and column of an offset (all from 1)."""

    def __init__(self, text: str = "") -> None:
        self._starts = array("Q", [0])
        self._length = 0
        self.add(text)

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, text: str) -> None:
        """Take the next piece of the text."""
        self._starts.extend(self._length + found.end() for found in re.finditer("\n", text))
        self._length += len(text)

    def locate(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def span(self, line: int) -> tuple[int, int]:
        """Return where a line begins, and where it ends: at its line feed, or at the end of the text."""
        return self._starts[line - 1], self._starts[line] - 1 if line < len(self) else self._length
