"""Patterns and formats of strings as XSD regular expressions, for the facets of RELAX NG.

This is a reading of patterns of its own, not the one that the grammars use: a schema that judges their texts must not
share their mistakes. It errs to the other side: what it returns matches every text in which Python's `re` finds the
pattern, up to `$`, which is the very end here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from xmltools.grammar.regular.regular import (
    ALL,
    ANYTHING,
    EMPTY,
    LAST,
    Chars,
    Ranges,
    Regular,
    Repeat,
    chars,
    choice,
    merge,
    nullable,
    sequence,
    star,
    subtract,
)
from xmltools.grammar.relaxng.xsd_formats import FORMATS
from xmltools.grammar.relaxng.xsd_print import Unsayable, print_xsd

__all__ = ["XsdPattern", "xsd_format", "xsd_pattern"]

_FOREIGN = (0x80, LAST)
"""What is no ASCII. Of `\\d` and `\\w`, and of what they negate, all of it may be."""
_SPACE = chars(" \xa0\u1680\u202f\u205f\u3000\x85\u2028\u2029", (9, 13), (0x1C, 0x1F), (0x2000, 0x200A)).ranges
_DIGIT = chars((0x30, 0x39)).ranges
_WORD = chars("_", (0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)).ranges
_CATEGORIES = {
    "CATEGORY_SPACE": _SPACE,
    "CATEGORY_NOT_SPACE": subtract(ALL, _SPACE),
    "CATEGORY_DIGIT": merge((*_DIGIT, _FOREIGN)),
    "CATEGORY_NOT_DIGIT": subtract(ALL, _DIGIT),
    "CATEGORY_WORD": merge((*_WORD, _FOREIGN)),
    "CATEGORY_NOT_WORD": subtract(ALL, _WORD),
}
_LOOSE = frozenset(_CATEGORIES) - {"CATEGORY_SPACE", "CATEGORY_NOT_SPACE"}
_FLAGS = re.UNICODE | re.VERBOSE | re.DOTALL


class XsdPattern(NamedTuple):
    """An expression that matches whole texts, and how long they are (0 and None: as the expression says).

    `exact`: it takes only texts in which Python finds the pattern.
    """

    text: str
    exact: bool
    low: int = 0
    high: int | None = None


@lru_cache(maxsize=512)
def xsd_pattern(pattern: str) -> XsdPattern | None:
    """Return the expression of a JSON Schema pattern, which is looked for anywhere in a text.

    It is not exact if it has `\\d` or `\\w` or what they negate: which characters beyond ASCII these mean is left open.
    None comes of assertions and references, of flags other than `s` and `x`, of anchors that are repeated, and of
    what gets too large.
    """
    try:
        parsed = _parser.parse(pattern)
        reader = _Reader(parsed.state.flags)
        tree = choice(*(_searched(each) for each in reader.sequence(parsed)))
        if isinstance(tree, Repeat) and isinstance(tree.part, Chars):
            return XsdPattern(print_xsd(star(tree.part)), reader.exact, tree.low, tree.high)
        return XsdPattern(print_xsd(tree), reader.exact)
    except (Unsayable, re.error, OverflowError, RecursionError):
        return None


def xsd_format(name: str) -> XsdPattern | None:
    """Return the expression of a format; None for a format that the check of a finished call does not know either."""
    pattern = FORMATS.get(name)
    return xsd_pattern(pattern) if pattern else None


class _Piece(NamedTuple):
    """A part of a pattern: what it matches, and whether that must stand at the start or the end of the text."""

    tree: Regular
    start: bool = False
    end: bool = False


_Pieces = list[_Piece]


def _searched(piece: _Piece) -> Regular:
    return sequence(EMPTY if piece.start else ANYTHING, piece.tree, EMPTY if piece.end else ANYTHING)


class _Reader:
    """Reads Python's parse of one pattern. `exact`: nothing had to be widened so far."""

    __slots__ = ("_flags", "exact")

    def __init__(self, flags: int) -> None:
        if flags & ~_FLAGS:
            raise Unsayable
        self._flags = flags
        self.exact = True

    def sequence(self, items: Iterable[tuple[Any, Any]]) -> _Pieces:
        """Return what the items match one after the other."""
        found = [_Piece(EMPTY)]
        for operation, argument in items:
            found = _joined(found, self.item(operation, argument))
        return found

    def item(self, operation: Any, argument: Any) -> _Pieces:
        """Return what one item matches."""
        read = _READERS.get(operation.name)
        if read is None:
            raise Unsayable
        return read(self, argument)

    def any(self, _: Any) -> _Pieces:
        return _set(ALL if self._flags & re.DOTALL else subtract(ALL, ((10, 10),)))

    def at(self, place: Any) -> _Pieces:
        if place.name in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            return [_Piece(EMPTY, start=True)]
        if place.name in ("AT_END", "AT_END_STRING"):
            return [_Piece(EMPTY, end=True)]
        raise Unsayable

    def branch(self, argument: Any) -> _Pieces:
        return _united(piece for way in argument[1] for piece in self.sequence(way))

    def group(self, argument: Any) -> _Pieces:
        _, added, taken, items = argument
        if added or taken:
            raise Unsayable
        return self.sequence(items)

    def repeat(self, argument: Any) -> _Pieces:
        low, high, items = argument
        pieces = self.sequence(items)
        if (low, high) == (0, 1):
            return _united([_Piece(EMPTY), *pieces])
        if any(piece.start or piece.end for piece in pieces):
            raise Unsayable
        part = choice(*(piece.tree for piece in pieces))
        return [_Piece(Repeat(part, low, None if high is _parser.MAXREPEAT else high))]

    def members(self, items: list[tuple[Any, Any]]) -> _Pieces:
        if items[0][0].name == "NEGATE":
            return _set(self._negated(items[1:]))
        return _set(merge(pair for operation, argument in items for pair in self.member(operation, argument)))

    def _negated(self, items: list[tuple[Any, Any]]) -> Ranges:
        """Return all characters but those that are members for sure: no widened class has any for sure beyond ASCII."""
        sure = (
            subtract(self.member(operation, argument), (_FOREIGN,))
            if operation.name == "CATEGORY" and argument.name in _LOOSE
            else self.member(operation, argument)
            for operation, argument in items
        )
        return subtract(ALL, merge(pair for ranges in sure for pair in ranges))

    def member(self, operation: Any, argument: Any) -> Ranges:
        """Return the characters of one item of a set."""
        if operation.name == "LITERAL":
            return ((argument, argument),)
        if operation.name == "RANGE":
            return (argument,)
        self.exact = self.exact and argument.name not in _LOOSE
        return _CATEGORIES[argument.name]


_READERS: dict[str, Callable[[_Reader, Any], _Pieces]] = {
    "ANY": _Reader.any,
    "AT": _Reader.at,
    "BRANCH": _Reader.branch,
    "IN": _Reader.members,
    "LITERAL": lambda _, code: _set(((code, code),)),
    "MAX_REPEAT": _Reader.repeat,
    "MIN_REPEAT": _Reader.repeat,
    "NOT_LITERAL": lambda _, code: _set(subtract(ALL, ((code, code),))),
    "SUBPATTERN": _Reader.group,
}


def _set(ranges: Ranges) -> _Pieces:
    return [_Piece(Chars(ranges))]


def _united(pieces: Iterable[_Piece]) -> _Pieces:
    """Return the pieces with those together that must stand at the same place."""
    found: dict[tuple[bool, bool], list[Regular]] = {}
    for piece in pieces:
        found.setdefault((piece.start, piece.end), []).append(piece.tree)
    return [_Piece(choice(*trees), *key) for key, trees in found.items()]


def _joined(before: _Pieces, behind: _Pieces) -> _Pieces:
    """Return the pieces one after the other: before the start of a text and after its end there is only nothing."""
    found = []
    for one in before:
        for other in behind:
            if (other.start and not nullable(one.tree)) or (one.end and not nullable(other.tree)):
                continue
            left, right = EMPTY if other.start else one.tree, EMPTY if one.end else other.tree
            found.append(_Piece(sequence(left, right), one.start or other.start, one.end or other.end))
    return _united(found)
