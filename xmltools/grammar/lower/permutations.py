"""Members in any order, without a count: a state for each set of members that have been seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xmltools.grammar.nodes import Member, Node, Permutation, maybe, series

__all__ = ["Seen", "in_order", "subsets"]


class Seen(NamedTuple):
    """A set of members, as the bits of its number; `ways` lead to the sets with one more member."""

    number: int
    ways: list[tuple[int, int]]
    complete: bool
    """Whether all that is required has been seen."""


def subsets(members: Sequence[Member]) -> Iterator[Seen]:
    """Yield all sets of members but the full one, the empty one first."""
    required = sum(1 << number for number, member in enumerate(members) if member.required)
    for seen in range((1 << len(members)) - 1):
        ways = [(number, seen | 1 << number) for number in range(len(members)) if not seen >> number & 1]
        yield Seen(seen, ways, seen & required == required)


def in_order(node: Permutation) -> Node:
    """Return the members in the order in which they were declared."""
    return series(*(member.node if member.required else maybe(member.node) for member in node.members))
