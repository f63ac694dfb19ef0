"""A `random.Random` that draws from bytes: what makes cases from one can be steered by a fuzzer that mutates bytes."""

from __future__ import annotations

from random import Random

__all__ = ["Drawn"]


class Drawn(Random):
    """Takes its bits from `data`, and when that is used up from a generator that is always the same.

    Zeros would not do: some makers draw until something else comes.
    """

    def __new__(cls, data: bytes) -> Drawn:
        return super().__new__(cls)

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def getrandbits(self, k: int) -> int:
        """Return an integer of at most `k` bits."""
        end = self._at + (k + 7) // 8
        if end > len(self._data):
            return super().getrandbits(k)
        taken, self._at = self._data[self._at : end], end
        return int.from_bytes(taken, "little") & ((1 << k) - 1)

    def random(self) -> float:
        """Return a number from 0 up to 1, of 16 bits, so that a choice costs two bytes."""
        return self.getrandbits(16) / 65536
