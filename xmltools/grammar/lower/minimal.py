"""The minimal automaton of a language: as few states as can be, and one numbering for all ways to come to it."""

from __future__ import annotations

from collections.abc import Sequence as Items

from xmltools.grammar.regular.regular import Automaton, Ranges, merge

__all__ = ["Draft", "TooLarge", "minimal"]

MAX_STATES = 600
"""States that an automaton may have: what is larger makes a grammar that no engine likes."""

Draft = tuple[list[list[tuple[Ranges, int]]], list[bool]]
"""A deterministic automaton that need not be minimal: the edges of each state, and whether it accepts."""


class TooLarge(Exception):  # noqa: N818 - not an error of the caller: who asks reports an issue
    """A language needs more states than a grammar should have."""


def minimal(draft: Draft) -> Automaton:
    """Return the minimal automaton that takes the same texts, numbered in breadth-first order.

    Moore's algorithm: blocks of states are split until all states of a block lead to the same blocks. Raises TooLarge.
    """
    edges, accepts = draft
    alive = _alive(edges, accepts)
    edges = [[(ranges, target) for ranges, target in row if alive[target] and ranges] for row in edges]
    if not alive[0]:
        return Automaton((), frozenset())
    block = [int(each) for each in accepts]
    count = len(set(block))
    while True:
        seen: dict[tuple[int, tuple[tuple[Ranges, int], ...]], int] = {}
        block = [seen.setdefault((block[state], _joined(row, block)), len(seen)) for state, row in enumerate(edges)]
        if len(seen) == count:
            return _numbered(edges, accepts, block)
        count = len(seen)


def _alive(edges: list[list[tuple[Ranges, int]]], accepts: list[bool]) -> list[bool]:
    """Return for each state whether an accepting one can be reached from it."""
    sources: list[list[int]] = [[] for _ in edges]
    for state, row in enumerate(edges):
        for ranges, target in row:
            if ranges:
                sources[target].append(state)
    alive = list(accepts)
    pending = [state for state, accepting in enumerate(accepts) if accepting]
    while pending:
        for state in sources[pending.pop()]:
            if not alive[state]:
                alive[state] = True
                pending.append(state)
    return alive


def _joined(row: Items[tuple[Ranges, int]], block: list[int]) -> tuple[tuple[Ranges, int], ...]:
    """Return the edges of a state with one edge for each block that they lead to, in order of their characters."""
    if len(row) == 1:
        return ((row[0][0], block[row[0][1]]),)
    found: dict[int, list[tuple[int, int]]] = {}
    for ranges, target in row:
        found.setdefault(block[target], []).extend(ranges)
    return tuple(sorted((merge(pairs), target) for target, pairs in found.items()))


def _numbered(edges: list[list[tuple[Ranges, int]]], accepts: list[bool], block: list[int]) -> Automaton:
    """Return the automaton whose states are the blocks, numbered in the order in which they are reached."""
    member = {number: state for state, number in reversed(list(enumerate(block)))}
    numbers = {block[0]: 0}
    pending = [block[0]]
    rows = []
    for each in pending:
        row = _joined(edges[member[each]], block)
        for _, target in row:
            if target not in numbers:
                numbers[target] = len(numbers)
                pending.append(target)
        rows.append(tuple((ranges, numbers[target]) for ranges, target in row))
    if len(rows) > MAX_STATES:
        raise TooLarge
    return Automaton(tuple(rows), frozenset(numbers[each] for each in pending if accepts[member[each]]))
