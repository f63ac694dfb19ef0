"""Regular languages, as trees: what the text of one leaf, or the prose around blocks, may be.

A tree is what every back end starts from. Lark and `re` print it as a regular expression, GBNF as rules. What
can't be printed so (an intersection, a complement) is made an automaton first: see `automata` and `elimination`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Part = TypeVar("Part", covariant=True)
One = TypeVar("One")

Ranges = tuple[tuple[int, int], ...]
"""Code points, as sorted pairs of first and last that neither overlap nor touch."""

LAST = 0x10FFFF
"""The last code point."""

ALL: Ranges = ((0, LAST),)
"""Every code point."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set. No ranges at all match nothing."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence(Generic[Part]):
    """One part after the other; no parts are the empty text. A part is a language here, a node in `text_tree`."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice(Generic[Part]):
    """Any of the parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat(Generic[Part]):
    """The part `low` to `high` times; without `high`, as often as you like."""

    part: Part
    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class And:
    """What fits all the parts."""

    parts: tuple[Regular, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Every text that does not fit the part."""

    part: Regular


Edges = tuple[tuple[Ranges, int], ...]
"""Where one state leads: with which characters to which state. The ranges don't overlap."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton: the edges of each state, the first one is the start, and which states accept.

    Every state can be reached and leads to an accepting one; what has no edge is refused.
    """

    edges: tuple[Edges, ...]
    accepting: frozenset[int]


Regular = Chars | Sequence["Regular"] | Choice["Regular"] | Repeat["Regular"] | And | Not | Automaton

EMPTY: Regular = Sequence(())
"""The empty text."""
NOTHING = Chars(())
"""No text at all."""
ANYTHING = Repeat(Chars(ALL))
"""Every text."""


def chars(*sets: str | tuple[int, int], but: str = "") -> Chars:
    """Return a set of characters: those of the texts, and ranges of code points; `but` names some to leave out.

    >>> chars("ab", (0x30, 0x39)).ranges
    ((48, 57), (97, 98))
    """
    pairs = [
        pair for each in sets for pair in ([each] if isinstance(each, tuple) else [(ord(c), ord(c)) for c in each])
    ]
    return Chars(subtract(merge(pairs), merge((ord(c), ord(c)) for c in but)))


def merge(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Return the ranges that cover the same code points, in order and joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return tuple(joined)


def subtract(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the code points of `ranges` that `others` does not have."""
    left: list[tuple[int, int]] = []
    for first, last in ranges:
        for low, high in others:
            if high < first or low > last:
                continue
            if low > first:
                left.append((first, low - 1))
            first = high + 1
        if first <= last:
            left.append((first, last))
    return tuple(left)


def intersect(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the code points that both have."""
    if ranges == others:
        return ranges
    found: list[tuple[int, int]] = []
    one = other = 0
    while one < len(ranges) and other < len(others):
        low, high = max(ranges[one][0], others[other][0]), min(ranges[one][1], others[other][1])
        if low <= high:
            found.append((low, high))
        if ranges[one][1] < others[other][1]:
            one += 1
        else:
            other += 1
    return tuple(found)


def literal(text: str) -> Sequence[Regular]:
    """Return the language of just this text."""
    return Sequence(tuple(Chars(((ord(c), ord(c)),)) for c in text))


def sequence(*parts: Regular) -> Regular:
    """Return the parts one after the other."""
    flat = [each for part in parts for each in (part.parts if isinstance(part, Sequence) else (part,))]
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def choice(*parts: Regular) -> Regular:
    """Return a choice of the parts; single characters become one set."""
    flat = dict.fromkeys(each for part in parts for each in (part.parts if isinstance(part, Choice) else (part,)))
    sets = [each for each in flat if isinstance(each, Chars)]
    rest = [each for each in flat if not isinstance(each, Chars)]
    merged = Chars(merge(pair for each in sets for pair in each.ranges))
    if not rest:
        return merged
    alternatives = ([merged] if merged.ranges else []) + rest
    return alternatives[0] if len(alternatives) == 1 else Choice(tuple(alternatives))


def optional(part: One) -> Repeat[One]:
    """Return the part or nothing."""
    return Repeat(part, 0, 1)


def star(part: Regular) -> Regular:
    """Return the part as often as you like, or not at all."""
    return Repeat(part)


def nullable(tree: Regular) -> bool:
    """Return whether the empty text is in the language."""
    if isinstance(tree, (Sequence, And)):
        return all(map(nullable, tree.parts))
    if isinstance(tree, Choice):
        return any(map(nullable, tree.parts))
    if isinstance(tree, Repeat):
        return tree.low == 0 or nullable(tree.part)
    if isinstance(tree, Not):
        return not nullable(tree.part)
    return isinstance(tree, Automaton) and 0 in tree.accepting


def is_empty(tree: Regular) -> bool:
    """Return whether the tree is the empty text in another form."""
    if isinstance(tree, Repeat):
        return tree.high == 0
    return tree == EMPTY or (isinstance(tree, Automaton) and tree.edges == ((),))


def is_simple(tree: Regular) -> bool:
    """Return whether the tree is made without And, Not and automata, so that a regular expression can say it."""
    if isinstance(tree, (Sequence, Choice)):
        return all(map(is_simple, tree.parts))
    return is_simple(tree.part) if isinstance(tree, Repeat) else isinstance(tree, Chars)


def characters(tree: Regular) -> Ranges:
    """Return all characters that stand in a simple tree."""
    if isinstance(tree, (Sequence, Choice)):
        return merge(pair for part in tree.parts for pair in characters(part))
    if isinstance(tree, Repeat):
        return characters(tree.part)
    return tree.ranges if isinstance(tree, Chars) else ALL


def first_characters(tree: Regular) -> Ranges:
    """Return the characters that a text of a simple tree may begin with."""
    if isinstance(tree, Choice):
        return merge(pair for part in tree.parts for pair in first_characters(part))
    if isinstance(tree, Repeat):
        return first_characters(tree.part)
    if not isinstance(tree, Sequence):
        return characters(tree)
    found: list[tuple[int, int]] = []
    for part in tree.parts:
        found += first_characters(part)
        if not nullable(part):
            break
    return merge(found)
