"""Where prose stands in Markdown: inside a code fence, behind a backtick, at the start of a line (protocol, 1.3 and
1.4)."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["FenceReader"]

_FENCE = re.compile(r"^ {0,3}(`{3,})([^`\n]*)$", re.MULTILINE)
_MAYBE_FENCE = re.compile(r" {0,3}(?:`[^\n]*)?\Z")
_LINE_LENGTH: Final = 256


class FenceReader:
    """Follows prose piece by piece. It keeps the current line only as long as that may be a fence line."""

    __slots__ = ("_fence", "_line", "_ticks")

    def __init__(self) -> None:
        self._fence = 0  # backticks of the open fence
        self._line = ""
        self._ticks = 0

    def read(self, text: str) -> None:
        """Take the next piece of prose."""
        bare = text.rstrip("`")
        self._ticks = len(text) - len(bare) + (self._ticks if not bare else 0)
        text = self._line + text
        start = text.rfind("\n") + 1
        if start and "```" in text:
            for found in _FENCE.finditer(text, 0, start - 1):
                self._toggle(found)
        line = text[start:] if start else text
        self._line = line if len(line) <= _LINE_LENGTH and _MAYBE_FENCE.match(line) else "x"

    def skip(self) -> None:
        """Something that is no prose stands in this line."""
        self._line = "x"
        self._ticks = 0

    @property
    def open(self) -> bool:
        """True inside a fence, also right behind the backticks that open one."""
        return self._fence > 0 or self._opens

    @property
    def is_inline(self) -> bool:
        """True right behind backticks that are no fence line."""
        return self._ticks > 0 and not self._opens

    @property
    def _opens(self) -> bool:
        return self._ticks >= 3 and self._line.lstrip(" ").strip("`") == ""

    @property
    def at_line_start(self) -> bool:
        """True if nothing stands in the line so far."""
        return not self._line

    def _toggle(self, found: re.Match[str]) -> None:
        if not self._fence:
            self._fence = len(found[1])
        elif len(found[1]) >= self._fence and not found[2].strip():
            self._fence = 0
