"""Patterns as trees: what Python's own parser reads in a regular expression, in the few kinds of nodes that we match.

Single characters and places (`^`, `\\b` …) are left to `re`, one by one, so that they mean here what they mean there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from re import _compiler, _parser  # type: ignore[attr-defined]
from typing import Any, Literal

MAX_NESTING = 100
"""Groups inside each other."""

Accepts = Callable[[str], object]
"""Whether a character is one of a set: the answer is true or false as any object is."""


@dataclass(frozen=True, slots=True, eq=False)
class Chars:
    """One character."""

    accepts: Accepts


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A character of one set, `low` to `high` times; without end if that is None."""

    accepts: Accepts
    low: int
    high: int | None
    lazy: bool


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One of several sequences."""

    ways: tuple[Items, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A sequence that something refers to by its number."""

    items: Items
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A sequence, `low` to `high` times. `least` is `low`, but 0 if the sequence may be empty: it is the same then."""

    items: Items
    low: int
    high: int | None
    lazy: bool
    least: int


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """A condition that takes no character: the number of a `Spot` or `Look` of the tree."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Atomic:
    """A sequence that matches in its first way or not at all."""

    items: Items


@dataclass(frozen=True, slots=True, eq=False)
class Again:
    """The text of a group once more; `folded`: in upper or lower case."""

    number: int
    folded: bool


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """One sequence if a group has matched, else the other."""

    number: int
    yes: Items
    no: Items


@dataclass(frozen=True, slots=True, eq=False)
class Fail:
    """Nothing at all."""


Node = Chars | Run | Branch | Group | Loop | Check | Atomic | Again | If | Fail
Items = tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A place in the text, such as its end or the end of a word: `where` finds all of them.

    `kind`: which of those that need no search it is, the beginning, the end, or the end but for a line feed.
    """

    where: re.Pattern[str]
    kind: Literal["", "start", "end", "last"]

    def places(self, text: str) -> list[int]:
        """Return all places of this kind in a text."""
        size = len(text)
        if self.kind == "start":
            return [0]
        if self.kind == "last":
            return [size - 1, size] if text.endswith("\n") else [size]
        return [size] if self.kind == "end" else [match.start() for match in self.where.finditer(text)]


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What must follow or stand before (`ahead` or not), or must not. `width`: characters, if it stands before."""

    items: Items
    ahead: bool
    negative: bool
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A pattern.

    `checks` are its conditions, each after those that stand in it. `regular`: nothing depends on the text of groups
    or on the order in which ways are tried, so that states and places are all that a search needs to know.
    """

    items: Items
    checks: tuple[Spot | Look, ...]
    regular: bool
    anchored: bool


def read_tree(text: str) -> Tree:
    """Return the tree of a pattern. Raises what `re.compile` raises for one that it cannot read."""
    parsed = _parser.parse(text)
    return _Reader(_refers(parsed)).tree(parsed)


_REFERENCES = ("GROUPREF", "GROUPREF_EXISTS")
_ORDERED = ("ATOMIC_GROUP", "POSSESSIVE_REPEAT")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_UNITS = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_TYPES = re.ASCII | re.UNICODE | re.LOCALE


def _refers(parsed: Any) -> bool:
    """Return whether anything refers to a group."""
    pending = [parsed]
    while pending:
        for operation, argument in pending.pop():
            if operation.name in _REFERENCES:
                return True
            pending += _inner(operation.name, argument)
    return False


def _inner(name: str, argument: Any) -> list[Any]:
    if name == "BRANCH":
        return list(argument[1])
    if name in _REPEATS:
        return [argument[2]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [argument[1]]
    return [argument[3]] if name == "SUBPATTERN" else [argument] if name == "ATOMIC_GROUP" else []


class _Reader:
    __slots__ = ("_captures", "_checks", "_depth", "_known", "_regular")

    def __init__(self, captures: bool) -> None:
        self._captures = captures
        self._regular = not captures
        self._checks: list[Spot | Look] = []
        self._known: dict[Any, Any] = {}
        self._depth = 0

    def tree(self, parsed: Any) -> Tree:
        items = self.items(parsed, parsed.state.flags)
        first = items[0] if items else None
        start = self._checks[first.number] if isinstance(first, Check) else None
        return Tree(items, tuple(self._checks), self._regular, isinstance(start, Spot) and start.kind == "start")

    def items(self, parsed: Any, flags: int) -> Items:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise re.error(f"more than {MAX_NESTING} groups inside each other")
        found: list[Node] = []
        for operation, argument in parsed:
            found += self._item(operation, argument, flags)
        self._depth -= 1
        return tuple(found)

    def _item(self, operation: Any, argument: Any, flags: int) -> Items:
        name = operation.name
        if name in _UNITS:
            return (Chars(self._accepts(operation, argument, flags)),)
        if name in _REPEATS:
            return self._repeat(name, argument, flags)
        if name == "SUBPATTERN":
            number, added, taken, inner = argument
            items = self.items(inner, changed_flags(flags, added, taken))
            return (Group(items, number),) if self._captures and number is not None else items
        if name == "BRANCH":
            return (Branch(tuple(self.items(way, flags) for way in argument[1])),)
        if name == "AT":
            return (self._check(("AT", argument, flags), lambda: _spot(operation, argument, flags)),)
        if name in ("ASSERT", "ASSERT_NOT"):
            return (self._look(name, argument, flags),)
        if name in _ORDERED:
            self._regular = False
            return (Atomic(self.items(argument, flags)),)
        if name == "GROUPREF":
            return (Again(argument, bool(flags & re.IGNORECASE)),)
        if name == "GROUPREF_EXISTS":
            number, yes, no = argument
            return (If(number, self.items(yes, flags), self.items(no or (), flags)),)
        if name == "FAILURE":
            return (Fail(),)
        raise re.error(f"{name} is not known here")

    def _accepts(self, operation: Any, argument: Any, flags: int) -> Accepts:
        if operation.name == "LITERAL" and not flags & re.IGNORECASE:
            return chr(argument).__eq__
        key = operation.name, repr(argument), flags
        if key not in self._known:
            self._known[key] = _compiled(operation, argument, flags).match
        return self._known[key]  # type: ignore[no-any-return]

    def _repeat(self, name: str, argument: Any, flags: int) -> Items:
        low, most, inner = argument
        high = None if most is _parser.MAXREPEAT else most
        items = self.items(inner, flags)
        lazy = name == "MIN_REPEAT"
        possessive = name == "POSSESSIVE_REPEAT"
        if len(items) == 1 and isinstance(items[0], Chars):
            repeat: Node = Run(items[0].accepts, low, high, lazy)
        else:
            rounds: Items = (Atomic(items),) if possessive else items  # `re` goes back into no round of it
            repeat = Loop(rounds, low, high, lazy, 0 if _may_be_empty(items) else low)
        if not possessive:
            return (repeat,)
        self._regular = False
        return (Atomic((repeat,)),)

    def _look(self, name: str, argument: Any, flags: int) -> Node:
        direction, inner = argument
        low, high = inner.getwidth()
        if direction < 0 and low != high:
            raise re.error("look-behind requires fixed-width pattern")
        items = self.items(inner, flags)
        self._checks.append(Look(items, direction > 0, name == "ASSERT_NOT", low))
        return Check(len(self._checks) - 1)

    def _check(self, key: Any, make: Callable[[], Spot]) -> Check:
        """Return a check that is made once, however often it stands in the pattern."""
        if key not in self._known:
            self._checks.append(make())
            self._known[key] = Check(len(self._checks) - 1)
        return self._known[key]  # type: ignore[no-any-return]


def _compiled(operation: Any, argument: Any, flags: int) -> re.Pattern[str]:
    """Return the pattern of one item of Python's tree."""
    state = _parser.State()
    state.flags = flags
    return _compiler.compile(_parser.SubPattern(state, [(operation, argument)]))  # type: ignore[no-any-return]


def changed_flags(flags: int, added: int, taken: int) -> int:
    """Return the flags inside of a group."""
    if added & _TYPES:
        flags &= ~_TYPES
    return int((flags | added) & ~taken)


def _spot(operation: Any, argument: Any, flags: int) -> Spot:
    kinds: dict[str, Literal["start", "end", "last"]] = {"AT_BEGINNING_STRING": "start", "AT_END_STRING": "end"}
    if not flags & re.MULTILINE:
        kinds |= {"AT_BEGINNING": "start", "AT_END": "last"}
    return Spot(_compiled(operation, argument, flags), kinds.get(argument.name, ""))


def _may_be_empty(items: Items) -> bool:
    """Return whether a sequence matches the empty text, whatever stands around it."""
    return all(map(_is_optional, items))


def _is_optional(node: Node) -> bool:
    if isinstance(node, Run):
        return node.low == 0
    if isinstance(node, Loop):
        return node.least == 0
    if isinstance(node, Group):
        return _may_be_empty(node.items)
    return isinstance(node, Branch) and any(map(_may_be_empty, node.ways))


def reversed_items(items: Items) -> Items:
    """Return the sequence that matches the same texts, read from their end."""
    return tuple(map(_reversed, reversed(items)))


def _reversed(node: Node) -> Node:
    if isinstance(node, Branch):
        return Branch(tuple(map(reversed_items, node.ways)))
    if isinstance(node, Loop):
        return Loop(reversed_items(node.items), node.low, node.high, node.lazy, node.least)
    return node


# What a search may cost


class TooCostlyError(Exception):
    """A search takes more steps than it may."""


@dataclass(slots=True)
class Budget:
    """Steps that a search may still take."""

    left: int

    def spend(self, steps: int) -> None:
        """Take steps from what is left. Raises TooCostlyError if there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise TooCostlyError
