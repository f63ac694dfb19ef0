"""Masks of allowed tokens, and random walks through them, steered so that they meet calls and come to an end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support.engines.vocabulary import WALKING, Vocabulary

__all__ = ["LIMIT", "WEIGHTS", "Masks", "walk"]

LIMIT = 1500
"""So many tokens may a walk have, if the caller does not say it."""

LONG = 150
"""From so many tokens on a walk hurries to its end."""

# How likely each kind is where all are allowed: while the walk is short, and once it is long. The kinds are those of
# the vocabulary; what is in none of them is a letter or another ASCII character, or a byte of a longer one.
WEIGHTS: dict[str, tuple[float, float]] = {
    "end": (0.6, 1000.0),
    "opener": (6.0, 0.01),
    "close": (8.0, 100.0),
    "open": (4.0, 0.2),
    "trap": (1.0, 0.1),
    "reference": (1.5, 0.2),
    "word": (5.0, 0.5),
    "number": (2.0, 0.2),
    "space": (0.3, 0.03),
    "wide": (1.0, 0.1),
    "control": (0.3, 0.01),
    "letter": (1.0, 0.5),
    "byte": (0.2, 0.01),
}


class Masks:
    """An engine's masks for one grammar and one vocabulary.

    Takes what writes the mask of the next token into an array, a bit for each token, and what takes a token and says
    whether it was allowed.
    """

    def __init__(
        self, vocabulary: Vocabulary, fill: Callable[[NDArray[np.int32]], object], take: Callable[[int], bool]
    ) -> None:
        self._vocabulary = vocabulary
        self._mask = np.zeros((1, (len(vocabulary.tokens) + 31) // 32), dtype=np.int32)
        self._fill = fill
        self._take = take

    def walk(self, rng: Random, limit: int) -> str | None:
        """Walk from where the engine stands: see `walk`."""
        return walk(self._allowed, self._take, rng, limit, self._vocabulary)

    def times(self, text: str) -> list[float]:
        """Return how many seconds each mask along the text takes. Raises `ValueError` if the text is refused."""
        times = []
        for token in self._vocabulary.split(text.encode()):
            start = perf_counter()
            self._fill(self._mask)
            times.append(perf_counter() - start)
            if not self._take(token):
                raise ValueError(f"the grammar refuses the text at token {len(times)}")
        return times

    def _allowed(self) -> NDArray[np.uint8]:
        self._fill(self._mask)
        return np.unpackbits(self._mask.view(np.uint8)[0], bitorder="little")[: len(self._vocabulary.tokens)]


def walk(
    allowed: Callable[[], NDArray[Any]],
    take: Callable[[int], object],
    rng: Random,
    limit: int,
    vocabulary: Vocabulary = WALKING,
) -> str | None:
    """Take one of the allowed tokens again and again, until it is the end.

    Takes what says which tokens of the vocabulary are allowed (1 or 0 for each), what takes one, and how many there may
    be. Returns the text; None if it has no end within the limit, or is no UTF-8. Raises `RuntimeError` where no token
    is allowed at all.
    """
    taken: list[int] = []
    steering = _steering(vocabulary)
    while len(taken) < limit:
        weights = np.cumsum(steering[len(taken) >= LONG] * allowed())
        if not weights[-1]:
            raise RuntimeError(f"no token is allowed behind {vocabulary.join(taken)!r}")
        token = int(np.searchsorted(weights, rng.random() * weights[-1], side="right"))
        take(token)
        if token == vocabulary.end:
            return _decoded(vocabulary.join(taken))
        taken.append(token)
    return None


def _decoded(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


def _kinds(vocabulary: Vocabulary) -> Sequence[str]:
    """Return the kind of each token."""
    others = ["control" if byte < 32 else "letter" if byte < 127 else "byte" for byte in range(256)]
    tokens = enumerate(vocabulary.tokens[:-1])
    return *(vocabulary.kinds.get(token) or others[number] for number, token in tokens), "end"


@lru_cache
def _steering(vocabulary: Vocabulary) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of each token, while a walk is short and once it is long: a kind's tokens share its weight."""
    kinds = _kinds(vocabulary)
    short, late = ([WEIGHTS[kind][when] / kinds.count(kind) for kind in kinds] for when in (0, 1))
    return np.array(short), np.array(late)
