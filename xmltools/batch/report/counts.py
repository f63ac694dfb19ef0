"""Counters that stay small, however many rows there are and whatever names and sizes they bring."""

from __future__ import annotations

from collections import Counter

__all__ = ["Sizes", "Tools", "fold"]

_FINE = 7  # leading bits of a size that are kept: a quantile is exact to 1 %
_NAMES = 10_000  # names that are told apart: without tools a model makes up any number of them
_REST = ("", "")


class Sizes:
    """How often which size came: exact below 128 and to 1 % above, so that a few thousand counters are enough."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.largest = 0

    def add(self, size: int, count: int) -> None:
        """Count a size."""
        shift = _shift(size)
        self._counts[size >> shift << shift] += count
        self.largest = max(self.largest, size)

    def quantile(self, share: float) -> int:
        """Return the size that this share of all sizes does not exceed: 0 if there are none."""
        wanted = share * self._counts.total()
        seen = 0
        for size, count in sorted(self._counts.items()):
            seen += count
            if seen >= wanted:
                return min(size + (1 << _shift(size)) // 2, self.largest)
        return 0

    def by_power(self) -> list[tuple[int, int]]:
        """Return how many sizes there are from each power of two to the next, from the smallest to the largest."""
        powers: Counter[int] = Counter()
        for size, count in self._counts.items():
            powers[max(size.bit_length() - 1, 0)] += count
        return [(power, powers[power]) for power in range(min(powers), max(powers) + 1)] if powers else []


class Tools:
    """Calls by tool, clean ones and repaired ones. A tool is its server and its name."""

    def __init__(self) -> None:
        self.clean: Counter[tuple[str, str]] = Counter()
        self.mended: Counter[tuple[str, str]] = Counter()
        self.is_bounded = False

    def add(self, tool: tuple[str, str], is_clean: bool, count: int) -> None:
        """Count calls of a tool."""
        (self.clean if is_clean else self.mended)[tool] += count

    def bound(self) -> None:
        """If there are too many names, keep those with the most calls, and count the others together."""
        if max(len(self.clean), len(self.mended)) <= _NAMES:
            return
        self.is_bounded = True
        kept = {tool for tool, _ in (self.clean + self.mended).most_common(_NAMES // 2)} | {_REST}
        for counts in (self.clean, self.mended):
            for tool in counts.keys() - kept:
                counts[_REST] += counts.pop(tool)

    def ranking(self, size: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the tools with the most calls, at most `size`, and all others."""
        calls = self.clean + self.mended
        ranked = sorted(calls, key=lambda tool: (tool == _REST, -calls[tool], tool))
        named = len(ranked) - (_REST in calls)
        return ranked[: min(size, named)], ranked[min(size, named) :]


def fold(length: int) -> tuple[int, int]:
    """Return the class that a number of calls falls into, by its bounds: single numbers to 8, then doubling ranges."""
    if length <= 8:
        return length, length
    power = (length - 1).bit_length()
    return (1 << power - 1) + 1, 1 << power


def _shift(size: int) -> int:
    return max(size.bit_length() - _FINE, 0)
