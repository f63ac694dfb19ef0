"""Fence lines of Markdown, read piece by piece (protocol, 1.4)."""

from __future__ import annotations

import re
from typing import Final

# Of backticks or of tildes, and the info word; only after backticks it may not contain the same character.
_FENCE = re.compile(r" {0,3}(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))\Z")
_MAYBE_FENCE = re.compile(r" {0,3}(?:[`~][^\n]*)?\Z")
_LINE_LENGTH: Final = 256
_FIRST: Final = ("", " ", "`", "~")
"""What a line begins with that may be a fence line; nothing, if that is not known yet."""


class FenceReader:
    """Knows whether text is in a fence. It keeps the current line only as long as that may be a fence line."""

    __slots__ = ("follows", "line", "marker")

    def __init__(self) -> None:
        self.marker = ""  # backticks or tildes of the open fence
        self.line = ""  # so far; "x" if it is no fence line
        self.follows = False  # a block or a region is in this line, or ends in it

    def read(self, piece: str) -> None:
        """Take the next piece of the current line."""
        if not self.line and piece[:1] not in _FIRST:
            self.line = "x"
        if self.line != "x":
            line = self.line + piece
            self.line = line if len(line) <= _LINE_LENGTH and _MAYBE_FENCE.match(line) else "x"

    def end_line(self) -> bool:
        """The line is over: was it a fence line?"""
        found = _FENCE.match(self.line) if self.line not in ("", "x") else None
        self.line = ""
        self.follows = False
        if found is None:
            return False
        marker, info = found[1] or found[3], found[2] or found[4] or ""
        if not self.marker:
            self.marker = marker
            return True
        if self.closes(marker) and not info.strip():
            self.marker = ""
            return True
        return False

    def closes(self, marker: str) -> bool:
        """Do these backticks or tildes close the open fence?"""
        return marker[0] == self.marker[0] and len(marker) >= len(self.marker)

    def skip(self, *, is_thought: bool = False) -> None:
        """Something that is no prose is in this line, which may be the info of a fence line all the same. After a
        thought a fence line may follow, if nothing else is in front of it."""
        self.follows = True
        if not is_thought or self.line.strip(" "):
            found = self._opening
            self.line = f"{found[1] or found[3]}x" if found else "x"

    @property
    def open(self) -> bool:
        """True inside a fence, also in the line that opens it."""
        return self.marker != "" or self._opening is not None

    @property
    def is_marker(self) -> bool:
        """True if the line so far is what opens a fence, and nothing else."""
        found = self._opening
        return found is not None and not (found[2] or found[4])

    @property
    def fence(self) -> str:
        """The backticks or tildes of the open fence, also in the line that opens it; empty if there is none."""
        found = None if self.marker else self._opening
        return (found[1] or found[3]) if found else self.marker

    @property
    def is_closing(self) -> bool:
        """True if the line so far closes the open fence, and nothing else is in it."""
        found = _FENCE.match(self.line) if self.marker and self.line else None
        return found is not None and self.closes(found[1] or found[3]) and not (found[2] or found[4] or "").strip()

    @property
    def _opening(self) -> re.Match[str] | None:
        return _FENCE.match(self.line) if self.line not in ("", "x") else None
