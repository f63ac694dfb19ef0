"""The text tree: what a reply may be, in the terms that every back end can print in its own way.

A `Grammar` is a set of named rules. Sequences, choices and repetitions are those of `regular`. Leaves of the tree are
literal text and `Lexeme`s, whose regular languages a back end may print as rules or as a regular expression. Two nodes
say what to achieve and not how: `Permutation` (each member at most once, in any order) and `Dispatch` (prose, and rules
that take over where their triggers occur).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xmltools.grammar.regular.regular import Choice, Regular, Repeat, Sequence, optional


@dataclass(frozen=True, slots=True)
class Literal:
    """Text as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A text of a regular language. Lexemes of one name are the same."""

    name: str
    language: Regular


@dataclass(frozen=True, slots=True)
class Reference:
    """The rule of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """One of those that stand in any order, each at most once."""

    node: Node
    required: bool


@dataclass(frozen=True, slots=True)
class Permutation:
    """The members in any order; those that are required exactly once, the others at most once.

    A back end that can't say this for so many members keeps them in their order.
    """

    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Prose, with a body wherever its trigger occurs in it, from `low` to `high` times. `rules` are triggers, each with
    its body.

    `prose` is what may come after the last one and all that begins it, too; `lead` is the prose that may stand in
    front of a trigger. A prefix of a text `lead` + trigger is that text, or it is prose. `excludes` are words for a
    back end that finds the triggers by itself: none of them occurs in prose. Without them no words say what prose is.
    """

    lead: Regular
    rules: tuple[tuple[str, Node], ...]
    prose: Regular
    low: int = 0
    high: int | None = None
    excludes: tuple[str, ...] | None = ()


Node = Literal | Lexeme | Reference | Sequence["Node"] | Choice["Node"] | Repeat["Node"] | Permutation | Dispatch


@dataclass(slots=True)
class Grammar:
    """Rules by name; `root` is the rule to begin with."""

    root: Node
    rules: dict[str, Node] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    """Comments to stand before rules."""


def series(*parts: Node) -> Node:
    """Return the nodes one after the other; neighbouring literals are one."""
    flat: list[Node] = []
    for each in (inner for part in parts for inner in (part.parts if isinstance(part, Sequence) else (part,))):
        last = flat[-1] if flat else None
        if isinstance(each, Literal) and isinstance(last, Literal):
            flat[-1] = Literal(last.text + each.text)
        elif each != Literal(""):
            flat.append(each)
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def alternatives(*parts: Node) -> Node:
    """Return a choice of the nodes, each once."""
    flat = dict.fromkeys(each for part in parts for each in (part.parts if isinstance(part, Choice) else (part,)))
    return next(iter(flat)) if len(flat) == 1 else Choice(tuple(flat))


# Members in any order, without a count: a state for each set of members that have been seen


class Seen(NamedTuple):
    """A set of members, as the bits of its number; `ways` lead to the sets with one more member."""

    number: int
    ways: list[tuple[int, int]]
    complete: bool
    """Whether all that is required has been seen."""


def subsets(members: tuple[Member, ...]) -> Iterator[Seen]:
    """Yield all sets of members but the full one, the empty one first."""
    required = sum(1 << number for number, member in enumerate(members) if member.required)
    for seen in range((1 << len(members)) - 1):
        ways = [(number, seen | 1 << number) for number in range(len(members)) if not seen >> number & 1]
        yield Seen(seen, ways, seen & required == required)


def any_order(members: Iterable[Member]) -> Node:
    """Return the members in any order."""
    node = Permutation(tuple(members))
    return node if len(node.members) > 1 else in_order(node)


def in_order(node: Permutation) -> Node:
    """Return the members in the order in which they were declared."""
    return series(*(member.node if member.required else optional(member.node) for member in node.members))
