"""Walks through the grammars of dialects: what an engine may write is read as text and valid calls.

Toolset i of a seed, dialect and format is always the same, and so are the walks with it.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from support.dialect_grammar_laws import Trial

__all__ = ["Tally", "try_walks"]

_PER_TOOLS = 20
"""Walks with each toolset."""
_BLOCK = 8
"""Toolsets that are given out at a time: what was begun is done, so that there are hardly more walks than asked."""
_MOST_FOUND = 3


@dataclass
class Tally:
    """What was tried, by its kind (`walks`, `calls`, `walks without end`, `refused`), and what broke a law."""

    counts: Counter[str] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)


def try_walks(pool: ProcessPoolExecutor, dialect: str, format: str, seed: int, count: int) -> Tally:
    """Let an engine write at least so many replies with grammars of toolsets, up to the third that breaks a law. Where
    grammars are refused they are fewer: as many toolsets are tried at most."""
    total, first = Tally(), 0
    while total.counts["walks"] < count and len(total.found) < _MOST_FOUND and first < count:
        left = count - total.counts["walks"]
        size = min(_BLOCK, -(-left // _PER_TOOLS))
        for counts, said in pool.map(partial(_walk, seed, dialect, format), range(first, first + size)):
            total.counts += counts
            total.found += [said] * bool(said)
        first += size
    return total


def _walk(seed: int, dialect: str, format: str, number: int) -> tuple[Counter[str], str]:
    trial = Trial(seed, number, dialect, format)
    said = trial.run(_PER_TOOLS)
    return trial.counts, said
