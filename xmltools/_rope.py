"""Text that grows by small pieces, in memory of about its own size and in linear time."""

from __future__ import annotations

from typing import Final

__all__ = ["Rope"]

_LOOSE: Final = 512
"""Pieces that are kept apart: a string of four characters takes 60 bytes, so they are joined before they are many."""


class Rope:
    """Pieces in order. False while it is empty."""

    __slots__ = ("_joined", "_loose")

    def __init__(self) -> None:
        self._joined: list[str] = []
        self._loose: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._loose or self._joined)

    def append(self, text: str) -> None:
        """Add a piece at the end."""
        self._loose.append(text)
        if len(self._loose) >= _LOOSE:
            self._joined.append("".join(self._loose))
            self._loose.clear()

    def take(self) -> str:
        """All pieces, joined; the rope is empty then."""
        if not self._loose and not self._joined:
            return ""
        joined = "".join((*self._joined, *self._loose))
        self.clear()
        return joined

    def tail(self, size: int) -> str:
        """The last `size` characters of all pieces."""
        pieces: list[str] = []
        missing = size
        for part in (self._loose, self._joined):
            for piece in reversed(part):
                if missing <= 0:
                    break
                pieces.append(piece)
                missing -= len(piece)
        text = "".join(reversed(pieces))
        return text[-missing:] if missing < 0 else text

    def clear(self) -> None:
        """Forget all pieces."""
        if self._loose or self._joined:
            self._joined.clear()
            self._loose.clear()
