"""Text that grows by small pieces, in memory of about its own size and in linear time."""

from __future__ import annotations

from typing import Final

_LOOSE: Final = 512
"""Pieces that are kept apart: a string of four characters needs 60 bytes, so they are joined before they are many."""


class Rope:
    """Pieces in order. False while it is empty. Few short ones may be added to `loose` itself."""

    __slots__ = ("_joined", "loose")

    def __init__(self) -> None:
        self._joined: list[str] = []
        self.loose: list[str] = []

    def __str__(self) -> str:
        return "".join((*self._joined, *self.loose))

    def __len__(self) -> int:
        return sum(map(len, (*self._joined, *self.loose)))

    def __bool__(self) -> bool:
        return bool(self.loose or self._joined)

    def append(self, text: str) -> None:
        """Add a piece at the end."""
        self.loose.append(text)
        if len(self.loose) >= _LOOSE:
            self._joined.append("".join(self.loose))
            self.loose.clear()

    def take(self) -> str:
        """All pieces, joined; the rope is empty then."""
        if not self.loose and not self._joined:
            return ""
        joined = str(self)
        self.clear()
        return joined

    def tail(self, size: int, last: int, more: str = "") -> str:
        """The last `size` characters of all pieces without the `last` of them, and `more`. It is the only copy."""
        pieces = [more]
        missing = size
        for part in (self.loose, self._joined):
            for piece in reversed(part):
                if missing <= 0:
                    break
                missing -= len(piece)
                if last < len(piece):
                    pieces.append(piece[: len(piece) - last] if last else piece)
                last = max(last - len(piece), 0)
        if missing < 0:
            pieces[-1] = pieces[-1][-missing:]
        return "".join(reversed(pieces))

    def clear(self) -> None:
        """Forget all pieces."""
        self._joined.clear()
        self.loose.clear()
