"""Streams through the proxy with random faults on both sides (`tests/proxy/faults.py`), put on record like the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proxy.faults import Tally

__all__ = ["SIDES", "figures", "findings", "try_streams"]

SIDES = ("upstream", "client")


def try_streams(pool: ProcessPoolExecutor, seed: int, jobs: int, count: int) -> list[Tally]:
    """Run streams 0 up to `count` of a seed, a share in each job; return what each did."""
    from proxy import faults  # a server, and what it needs: only who asks for it pays

    shares = [range(first, count, jobs) for first in range(jobs)]
    return list(pool.map(faults.run, [seed] * jobs, shares))


def figures(tallies: Sequence[Tally]) -> dict[str, Any]:
    """Return what is kept of a run: how the streams ended, for each fault, and what each process held.

    That is, before the first stream, half way and behind the last: open files, tasks and KiB.
    """
    total = sum((tally.faults for tally in tallies), Counter[tuple[str, str, str]]())
    sizes = [[[size.files, size.tasks, size.memory] for size in tally.growth] for tally in tallies]
    ends = {name: _ends(total, place) for place, name in enumerate(SIDES)}
    return {**ends, "sizes": sizes, "slowest": round(max(tally.slowest[0] for tally in tallies), 1)}


def _ends(total: Counter[tuple[str, str, str]], place: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for key, count in total.items():
        ends = found.setdefault(key[place], {})
        ends[key[2]] = ends.get(key[2], 0) + count
    return found


def findings(tallies: Sequence[Tally]) -> list[str]:
    """Return what should not have happened, with how to have it again."""
    return [str(finding) for tally in tallies for finding in tally.findings]
