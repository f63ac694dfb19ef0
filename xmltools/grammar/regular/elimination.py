"""From automata back to trees, by state elimination: states are taken out until one edge says all that is left."""

from __future__ import annotations

from functools import lru_cache

from xmltools.grammar.lower.minimal import TooLarge
from xmltools.grammar.regular.regular import (
    EMPTY,
    NOTHING,
    Automaton,
    Chars,
    Choice,
    Regular,
    Repeat,
    Sequence,
    choice,
    optional,
    sequence,
    star,
)

__all__ = ["to_tree"]

_MAX_TREE = 4_000
"""Nodes that the tree of one edge may have."""


@lru_cache(maxsize=1024)
def to_tree(machine: Automaton) -> Regular:
    """Return a tree without And and Not for the language of an automaton.

    Raises TooLarge if an edge gets a tree of more than 4,000 nodes on the way.
    """
    if not machine.edges:
        return NOTHING
    generalised = _Generalised(machine)
    left = set(range(len(machine.edges)))
    while left:
        # The one that costs least comes first: the order decides how large the trees become.
        state = min(left, key=lambda each: (generalised.cost(each), -each))
        left.discard(state)
        generalised.take_out(state)
    return generalised.edges[-1].get(len(machine.edges), NOTHING)


class _Generalised:
    """A generalised automaton: its edges bear languages, and it has one state to begin with (-1) and one to end in."""

    __slots__ = ("edges", "sources")

    def __init__(self, machine: Automaton) -> None:
        last = len(machine.edges)
        self.edges: dict[int, dict[int, Regular]] = {-1: {0: EMPTY}, last: {}}
        for state, row in enumerate(machine.edges):
            self.edges[state] = {target: Chars(ranges) for ranges, target in row}
            if state in machine.accepting:
                self.edges[state][last] = EMPTY
        self.sources: dict[int, set[int]] = {state: set() for state in self.edges}
        for source, edges in self.edges.items():
            for target in edges:
                self.sources[target].add(source)

    def cost(self, state: int) -> int:
        """Return how many edges it would take to do without a state."""
        loops = state in self.edges[state]
        return (len(self.sources[state]) - loops) * (len(self.edges[state]) - loops)

    def take_out(self, state: int) -> None:
        """Remove a state; each two edges that met in it become one past it."""
        row = self.edges.pop(state)
        loop = row.pop(state, None)
        sources = self.sources.pop(state) - {state}
        for target in row:
            self.sources[target].discard(state)
        for source in sorted(sources):
            language = self.edges[source].pop(state)
            head = language if loop is None else _looped(language, loop)
            for target, tail in row.items():
                self._join(source, target, sequence(head, tail))

    def _join(self, source: int, target: int, language: Regular) -> None:
        known = self.edges[source].get(target)
        if known is not None:
            language = _either(known, language)
        self.edges[source][target] = language
        self.sources[target].add(source)
        if _size(language) > _MAX_TREE:
            raise TooLarge


def _looped(head: Regular, loop: Regular) -> Regular:
    return Repeat(loop, 1) if head == loop else sequence(head, star(loop))


def _either(one: Regular, other: Regular) -> Regular:
    """Return the choice of two trees; a common head and the empty text are put outside of it."""
    if EMPTY in (one, other):
        rest = other if one == EMPTY else one
        return rest if isinstance(rest, Repeat) and rest.low == 0 else optional(rest)
    left, right = _parts(one), _parts(other)
    same = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    if same:
        return sequence(*left[:same], _either(sequence(*left[same:]), sequence(*right[same:])))
    return choice(one, other)


def _parts(tree: Regular) -> tuple[Regular, ...]:
    return tree.parts if isinstance(tree, Sequence) else (tree,)


@lru_cache(maxsize=4096)
def _size(tree: Regular) -> int:
    if isinstance(tree, (Sequence, Choice)):
        return 1 + sum(map(_size, tree.parts))
    return 1 + _size(tree.part) if isinstance(tree, Repeat) else 1
