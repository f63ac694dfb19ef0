"""Fence lines of Markdown, read piece by piece (protocol, 1.4)."""

from __future__ import annotations

import re
from typing import Final

# Only after backticks may the info text not contain the same character.
_FENCE: Final = re.compile(r" {0,3}(?P<marker>`{3,}(?=[^`\n]*\Z)|~{3,})(?P<info>[^\n]*)\Z").match
_MAYBE_FENCE: Final = re.compile(r" {0,3}(?:[`~][^\n]*)?\Z").match
_LINE_LENGTH: Final = 256
CLOSING: Final = r"\n {0,3}(?P<fence>`{3,60}|~{3,60})[ \t\r]{0,200}(?=\n)"
"""A pattern of a line that may close a fence."""


class FenceReader:
    """Knows whether text is in a fence. It keeps the current line only as long as that may be a fence line."""

    marker = ""
    """Backticks or tildes of the open fence."""
    line = ""
    """So far; "x" if it is not a fence line."""
    follows = False
    """A block or a region is in this line, or ends in it."""
    is_nested = False
    """A line in the open fence has begun another one."""

    def read(self, piece: str) -> None:
        """Take the next piece of the current line."""
        if self.line != "x":
            line = self.line + piece
            self.line = line if len(line) <= _LINE_LENGTH and _MAYBE_FENCE(line) else "x"

    def end_line(self) -> bool:
        """The line is over. Returns whether it has opened or closed the fence."""
        before = self.marker
        self.marker = "" if self.is_closing else self.fence
        self.is_nested = before == self.marker and (self.is_nested or _FENCE(self.line) is not None)
        self.line = ""
        self.follows = False
        return self.marker != before

    def skip(self, *, is_thought: bool = False) -> None:
        """A block or a region is in this line, which may be the info text of a fence line all the same. After a
        thought a fence line may follow, if nothing else comes before it."""
        self.follows = True
        if not is_thought or self.line.strip(" "):
            found = _FENCE(self.line)
            self.line = f"{found['marker']}x" if found else "x"

    @property
    def fence(self) -> str:
        """The backticks or tildes of the open fence, even in the line that opens it; empty if there is none."""
        found = _FENCE(self.line) if self.line and not self.marker else None
        return found["marker"] if found else self.marker

    @property
    def is_marker(self) -> bool:
        """True if the line so far opens or closes a fence, without an info text."""
        found = _FENCE(self.line)
        return found is not None and not found["info"]

    @property
    def is_closing(self) -> bool:
        """True if the line so far closes the open fence: with as many backticks or tildes, and perhaps more."""
        found = _FENCE(self.line) if self.marker else None
        return found is not None and found["marker"].startswith(self.marker) and not found["info"].strip()
