"""Patterns and formats of strings as XSD regular expressions, for the facets of RELAX NG.

This is a reading of patterns of its own, not the one that the grammars use: a schema that judges their texts must not
share their mistakes. It errs to the other side: what it returns matches every text in which Python's `re` finds the
pattern, up to `$`, which is the very end here.

What is printed is what libxml2 gets right. Its counters, as in `a{2,5}`, fail where what follows may begin with the
same characters, and so do sets like `[^a]`: counts are written out, and sets say what is in them. A repeated group at
the end of an alternative would repeat after the others too, if there weren't an empty choice after it.
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
    Choice,
    Ranges,
    Regular,
    Repeat,
    Sequence,
    chars,
    choice,
    merge,
    nullable,
    sequence,
    star,
    subtract,
)

# Formats as patterns: those that the check of a finished call knows, in full


_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_FOURTH = "(?:0[48]|[2468][048]|[13579][26])"
_DAYS = "(?:0[1-9]|1[0-9]|2[0-8])"
_DATE = (
    f"(?:{_YEAR}-(?:(?:0[1-9]|1[0-2])-{_DAYS}|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    f"|(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)-02-29)"
)
_HOUR = "(?:[01][0-9]|2[0-3])"
_TIME = rf"{_HOUR}:[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|[+-]{_HOUR}:[0-5][0-9])"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"(?:{_BYTE}\.){{3}}{_BYTE}"
_GROUP = "[0-9A-Fa-f]{1,4}"


def _shortened(before: int) -> str:
    """Return IPv6 addresses with `before` groups in front of the `::`, which stands for one group at least."""
    left = rf"{_GROUP}(?::{_GROUP}){{{before - 1}}}" if before else ""
    most = 7 - before
    tails = [rf"(?:{_GROUP}:){{0,{most - 1}}}{_GROUP}"] * (most > 0)
    tails += [rf"(?:{_GROUP}:){{0,{most - 2}}}{_IPV4}"] * (most > 1)
    return f"{left}::(?:{'|'.join(tails)})?" if tails else f"{left}::"


_IPV6 = "|".join([rf"(?:{_GROUP}:){{7}}{_GROUP}", rf"(?:{_GROUP}:){{6}}{_IPV4}", *map(_shortened, range(8))])
FORMATS = {
    "date": f"^{_DATE}$",
    "time": f"^{_TIME}$",
    "date-time": f"^{_DATE}[Tt]{_TIME}$",
    "uuid": "^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    "ipv4": f"^{_IPV4}$",
    "ipv6": f"^(?:{_IPV6})$",
    "email": r"^[^@\s]+@[^@\s]+$",
    "uri": r'^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]*$',
}
"""Patterns by the name of the format, as Python reads them."""


# Regular languages as expressions


MAX_LENGTH = 20_000
"""Characters of an expression, its counts written out."""
MAX_DEPTH = 45
"""Groups in each other: libxml2 takes 50."""
_BLOCK = 20

_XML = chars("\t\n\r", (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, LAST)).ranges
_NO_XML = subtract(ALL, _XML)
_SPECIAL = re.compile(r"[\\|.?*+(){}\[\]^$\-\t\n\r]")
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "$": "$"}


class Unsayable(Exception):  # noqa: N818 - no error, an answer
    """XSD has no words for a language, or needs too many."""


def xsd_literal(text: str) -> str:
    """Return the expression that matches just this text."""
    return _SPECIAL.sub(lambda match: _ESCAPES.get(match[0], "\\" + match[0]), text)


def print_xsd(tree: Regular) -> str:
    """Return the expression of a language. Raises Unsayable."""
    text, depth = _printed(tree)
    if depth > MAX_DEPTH:
        raise Unsayable
    return text


def _printed(tree: Regular) -> tuple[str, int]:
    """Return an expression, and how deep the groups in it are."""
    if isinstance(tree, Chars):
        return _set_text(tree.ranges), 0
    if isinstance(tree, Repeat):
        return _repeated(tree)
    assert isinstance(tree, (Sequence, Choice))  # patterns are read without intersections and complements
    parts = [_printed(part) for part in tree.parts]
    depth = max((depth for _, depth in parts), default=0)
    texts = [text for text, _ in parts]
    if isinstance(tree, Sequence):
        return _checked("".join(texts)), depth
    return _checked(f"({'|'.join(texts)})"), depth + 1


def _checked(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise Unsayable
    return text


def _repeated(tree: Repeat) -> tuple[str, int]:
    text, depth = _printed(tree.part)
    single = isinstance(tree.part, Chars)
    if not single:
        text, depth = f"({text})", depth + 1
    if len(text) * max(tree.low, tree.high or 0) > MAX_LENGTH:
        raise Unsayable
    if tree.high is None:
        head = text * max(tree.low - 1, 0)
        sign = "+" if tree.low else "*"
        return (f"{head}{text}{sign}", depth) if single else (f"{head}({text}{sign}(|))", depth + 1)
    tail, tail_depth = _up_to(text, tree.high - tree.low)
    return _checked(text * tree.low + tail), depth + tail_depth


def _up_to(text: str, count: int) -> tuple[str, int]:
    """Return up to `count` copies, in blocks, so that groups don't get too deep."""
    if count <= _BLOCK:
        return f"(|{text}" * count + ")" * count, count
    blocks, rest = divmod(count, _BLOCK)
    tail, depth = _up_to(text, rest)
    fewer, fewer_depth = _up_to(text, _BLOCK - 1)
    tail = f"({fewer}|{text * _BLOCK}" * blocks + tail + ")" * blocks
    return tail, blocks + max(depth, fewer_depth)


def _set_text(ranges: Ranges) -> str:
    """Return a set of characters, as far as XML has them."""
    there = subtract(ranges, _NO_XML)
    if not there:
        raise Unsayable
    if there == _XML:
        return r"[\s\S]"
    if len(there) == 1 and there[0][0] == there[0][1]:
        return xsd_literal(chr(there[0][0]))
    return f"[{''.join(map(_range_text, there))}]"


def _range_text(pair: tuple[int, int]) -> str:
    """Return a range of a set. What is escaped cannot be an end of one: it stands alone."""
    first, last = pair
    before = after = ""
    while first <= last and _SPECIAL.match(chr(first)):
        before += xsd_literal(chr(first))
        first += 1
    while first <= last and _SPECIAL.match(chr(last)):
        after += xsd_literal(chr(last))
        last -= 1
    dash = "-" if last > first + 1 else ""
    middle = "" if first > last else chr(first) if first == last else f"{chr(first)}{dash}{chr(last)}"
    return before + middle + after


# Reading patterns


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


def _joined(before: _Pieces, after: _Pieces) -> _Pieces:
    """Return the pieces one after the other: before the start of a text and after its end there is only nothing."""
    found = []
    for one in before:
        for other in after:
            if (other.start and not nullable(one.tree)) or (one.end and not nullable(other.tree)):
                continue
            left, right = EMPTY if other.start else one.tree, EMPTY if one.end else other.tree
            found.append(_Piece(sequence(left, right), one.start or other.start, one.end or other.end))
    return _united(found)
