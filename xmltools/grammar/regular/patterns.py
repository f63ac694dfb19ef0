"""Patterns of JSON Schema as regular languages, read from Python's own parse of them.

Finished calls are checked, so every text that comes out of here must be one in which the check finds the pattern, and
`re` too. It need not be all of them: some of what `re` does is not regular, and some needs tables of all of Unicode,
which change. So each set of characters can be had twice: with nothing in it that `re` might not take, or (`over`) with
everything that it might.

What a part of a pattern matches depends on its anchors, which are kept as conditions: a part is a dictionary with up
to four languages, by whether the part insists that it stands at the text's start, and at its end. Where two parts meet,
what stands before one that insists on the start can only be empty, and so can what comes after one that insists on the
end.
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
    NOTHING,
    And,
    Chars,
    Choice,
    Not,
    Ranges,
    Regular,
    Repeat,
    Sequence,
    choice,
    literal,
    merge,
    nullable,
    optional,
    sequence,
    subtract,
)

# Sets of characters: classes such as `\\d`, and characters whose case does not matter


_DIGITS: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
_MORE_SPACE = (0x1C, 0x1F), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)
_RARE_SPACE = (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)
_NO_SPACE = subtract(ALL, merge(_SPACE + _MORE_SPACE + _RARE_SPACE))
# The scripts between Arabic and Tai Tham have digits of their own, and so have some in the higher planes. Where a new
# version of Unicode may put others, nothing is called a digit or anything else.
_NO_DIGIT = subtract(
    ((0, 0xFFFF), (0x1F300, 0x1FAFF), (0x20000, 0x3FFFF)),
    (*_DIGITS, (0x0660, 0x1C59), (0xA620, 0xABF9), (0xFF10, 0xFF19)),
)
# Punctuation, symbols and emoji; there are more, between letters and digits.
_LATIN_SIGNS = (0x00, 0xA9), (0xAB, 0xB1), (0xB6, 0xB8), (0xBB, 0xBB), (0xBF, 0xBF), (0xD7, 0xD7), (0xF7, 0xF7)
_SIGNS = (0x2000, 0x206F), (0x20A0, 0x20C0), (0x2190, 0x2426), (0x2500, 0x2775), (0x2794, 0x2BFF), (0x1F300, 0x1FAFF)
_NO_WORD = subtract(merge((*_LATIN_SIGNS, *_SIGNS, (0x3000, 0x3003), (0x3008, 0x3020))), _WORD)
_SETS = {"DIGIT": _DIGITS, "SPACE": _SPACE, "WORD": _WORD}
_CATEGORIES = _SETS | {"NOT_DIGIT": _NO_DIGIT, "NOT_SPACE": _NO_SPACE, "NOT_WORD": _NO_WORD}
_ASCII_CATEGORIES = _SETS | {f"NOT_{name}": subtract(ALL, ranges) for name, ranges in _SETS.items()}
_ODD_CASES = (0x130, 0x131), (0x17F, 0x17F), (0x212A, 0x212A)
"""Characters outside of ASCII that are the same as i, s or k if case does not matter."""


class Unsupported(Exception):  # noqa: N818 - no error, an answer
    """A pattern cannot be said as a regular language, or not in reasonable space."""


def members(operation: Any, argument: Any, flags: int, over: bool) -> Ranges:
    """Return the characters of one item of a set, by Python's parse of it. Raises Unsupported."""
    if operation.name == "LITERAL":
        return folded(((argument, argument),), flags, over)
    if operation.name == "RANGE":
        return folded((argument,), flags, over)
    categories = _ASCII_CATEGORIES if flags & re.ASCII else _CATEGORIES
    name = argument.name.removeprefix("CATEGORY_")
    if not over:
        return categories[name]
    return subtract(ALL, categories[name[4:] if name.startswith("NOT_") else f"NOT_{name}"])


def folded(ranges: Ranges, flags: int, over: bool) -> Ranges:
    """Return characters with those that are the same if case does not matter. Raises Unsupported."""
    if not flags & re.IGNORECASE:
        return ranges
    if over and ranges[-1][1] > 0x7F:
        raise Unsupported
    lower = [(max(first, 0x41) + 32, min(last, 0x5A) + 32) for first, last in ranges if last >= 0x41 and first <= 0x5A]
    upper = [(max(first, 0x61) - 32, min(last, 0x7A) - 32) for first, last in ranges if last >= 0x61 and first <= 0x7A]
    return merge([*ranges, *lower, *upper, *(_ODD_CASES if over else ())])


# Parts with their anchors


Cases = dict[tuple[bool, bool], Regular]
"""Languages by: does it insist on the text's start, on its end?"""
FREE = (False, False)
"""The case that insists on neither."""


def united(found: Iterable[tuple[tuple[bool, bool], list[Regular]]]) -> Cases:
    """Return the cases with a choice of all that was found for each; those that nothing fits are left out."""
    parts: dict[tuple[bool, bool], list[Regular]] = {}
    for key, each in found:
        parts.setdefault(key, []).extend(part for part in each if part != NOTHING)
    return {key: choice(*each) for key, each in parts.items() if each}


def up_to(cases: Cases, most: int | None) -> Cases:
    """Return what up to `most` repeats match, some of which insist on the start or the end.

    Before the last one that insists on the start all are empty, and so are those after the first one that insists on
    the end: at most one of each kind counts, the free ones stand between them.
    """

    def free(others: int) -> Regular:
        return repeated(cases.get(FREE, NOTHING), 0, None if most is None else max(most - others, 0))

    starts, ends = cases.get((True, False), NOTHING), cases.get((False, True), NOTHING)
    if most == 0:
        return {FREE: EMPTY}
    both = [cases.get((True, True), NOTHING)] + ([then(starts, free(2), ends)] if most != 1 else [])
    found = {FREE: [free(0)], (True, False): [then(starts, free(1))], (False, True): [then(free(1), ends)]}
    return united([*found.items(), ((True, True), both)])


def repeated(part: Regular, low: int, high: int | None) -> Regular:
    """Return a part that no anchor concerns, `low` to `high` times."""
    if high == 0 or part == EMPTY or (part == NOTHING and low == 0):
        return EMPTY
    return part if low == high == 1 or part == NOTHING else Repeat(part, low, high)


def then(*parts: Regular) -> Regular:
    """Return the parts one after the other: nothing at all, if nothing fits one of them."""
    return NOTHING if NOTHING in parts else sequence(*parts)


def only_empty(part: Regular) -> Regular:
    """Return the empty text if the part matches it, else nothing at all."""
    return EMPTY if nullable(part) else NOTHING


# Whole patterns


_MAX_REPEATS = 1_000
_MAX_SIZE = 20_000
"""Nodes that a tree may have when its repeats are written out."""
_MAX_COPIES = 64
"""Copies of what comes after alternatives that look ahead by themselves."""

_FLAGS = re.IGNORECASE | re.DOTALL | re.ASCII | re.UNICODE | re.VERBOSE
_TYPES = re.ASCII | re.UNICODE | re.LOCALE


def _changed(flags: int, added: int, taken: int) -> int:
    """Return the flags inside of a group."""
    if added & _TYPES:
        flags &= ~_TYPES
    return int((flags | added) & ~taken)


@lru_cache(maxsize=1024)
def pattern(text: str) -> Regular | None:
    """Return the language of all texts in which a pattern is found; None if that can't be said.

    `$` and `\\Z` are the very end of the text. `\\d`, `\\w` and `\\s` are ASCII only, and what they negate is the rest
    of Unicode as far as it is sure to be: Python finds the pattern in every text of the language, and in some others.
    Where case does not matter, it still does outside of ASCII.

    None comes of references to groups, possessive repeats, atomic groups, word boundaries, `(?m)`, counts above 1,000
    and very large patterns. Looking ahead is understood outside of repeats, and in them if as many characters follow
    as it looks at; looking behind, if as many stand before it in the same group.
    """
    try:
        parsed = _parser.parse(text)
        rest = _Reader().text(list(parsed), parsed.state.flags, _Rest(ANYTHING, ANYTHING))
        found = _searched(rest)
        return found if _size(found) <= _MAX_SIZE else None
    except (Unsupported, re.error, OverflowError, RecursionError):
        return None


class _Rest(NamedTuple):
    """What may stand from some place to the end of the text: if something stands before, or nothing.

    `start` has all of `inside`.
    """

    inside: Regular
    start: Regular


def _searched(rest: _Rest) -> Regular:
    if rest.inside == rest.start == ANYTHING:
        return ANYTHING
    anywhere = then(ANYTHING, rest.inside)
    return anywhere if rest.inside == rest.start else choice(anywhere, rest.start)


_Items = list[tuple[Any, Any]]
"""A sequence of Python's parse tree: operations with their arguments."""


class _Reader:
    """Reads parse trees. `over`: where a language can't be exact it has too many texts, instead of too few."""

    def __init__(self, over: bool = False) -> None:
        self._over = over
        self._copies = 1

    # Whole texts, from right to left: what a part looks at ahead is all that follows

    def text(self, items: _Items, flags: int, rest: _Rest) -> _Rest:
        """Return the texts that begin with a match and go on with `rest`."""
        run: _Items = []
        for item in reversed(items):
            if _looks_ahead(item):
                rest = self._ahead(item, flags, self._run(run[::-1], flags, rest))
                run = []
            else:
                run.append(item)
        return self._run(run[::-1], flags, rest)

    def _run(self, items: _Items, flags: int, rest: _Rest) -> _Rest:
        inside: list[Regular] = []
        start: list[Regular] = []
        for (starts, ends), part in self.sequence(items, flags).items():
            if ends and self._over and rest.inside != ANYTHING:
                raise Unsupported
            text = then(part, only_empty(rest.inside) if ends else rest.inside)
            (start if starts else inside).append(text)
            if nullable(part) and rest.start != rest.inside:
                start.append(only_empty(rest.start) if ends else rest.start)
        return _Rest(choice(*inside), choice(*inside, *start))

    def _ahead(self, item: tuple[Any, Any], flags: int, rest: _Rest) -> _Rest:
        name, argument = item[0].name, item[1]
        if name in _ASSERTIONS:
            return self._assert(argument[1], flags, rest, name == "ASSERT_NOT")
        if name == "SUBPATTERN":
            return self.text(list(argument[3]), _changed(flags, *argument[1:3]), rest)
        try:
            return self._run([item], flags, rest)
        except Unsupported:
            if name != "BRANCH":
                raise
        self._copies *= len(argument[1])
        if self._copies > _MAX_COPIES:
            raise Unsupported
        ways = [self.text(list(branch), flags, rest) for branch in argument[1]]
        return _Rest(choice(*(way.inside for way in ways)), choice(*(way.start for way in ways)))

    def _assert(self, items: Any, flags: int, rest: _Rest, negative: bool) -> _Rest:
        seen = _Reader(self._over is not negative).text(list(items), flags, _Rest(ANYTHING, ANYTHING))
        if negative and seen.inside != seen.start:
            raise Unsupported
        inside = _both(rest.inside, Not(seen.inside) if negative else seen.inside)
        if rest.inside == rest.start and seen.inside == seen.start:
            return _Rest(inside, inside)
        return _Rest(inside, _both(rest.start, Not(seen.start) if negative else seen.start))

    # Parts

    def sequence(self, items: _Items, flags: int) -> Cases:
        """Return what a sequence of items matches."""
        for place in reversed(range(len(items))):
            name, argument = items[place][0].name, items[place][1]
            if name in _ASSERTIONS and argument[0] < 0:
                before = self.sequence(items[:place], flags)
                return self._joined(self._near(before, items[place], flags), self.sequence(items[place + 1 :], flags))
        cases: Cases = {FREE: EMPTY}
        free: list[Regular] = []
        for item in reversed(items):
            ahead = item[0].name in _ASSERTIONS
            part = {} if ahead else self._item(item, flags)
            if part.keys() == {FREE}:
                free.append(part[FREE])
                continue
            cases = self._joined({FREE: then(*reversed(free))}, cases)
            cases = self._near(cases, item, flags) if ahead else self._joined(part, cases)
            free = []
        return self._joined({FREE: then(*reversed(free))}, cases)

    def _near(self, cases: Cases, item: tuple[Any, Any], flags: int) -> Cases:
        """Hold a part to an assertion that sees nothing but that part."""
        negative, (direction, items) = item[0].name == "ASSERT_NOT", item[1]
        seen = _Reader(self._over is not negative).sequence(list(items), flags)
        if seen.keys() != {FREE} or any(_shortest(part) < items.getwidth()[1] for part in cases.values()):
            raise Unsupported
        wanted = then(seen[FREE], ANYTHING) if direction > 0 else then(ANYTHING, seen[FREE])
        return {key: _both(part, Not(wanted) if negative else wanted) for key, part in cases.items()}

    def _joined(self, before: Cases, after: Cases) -> Cases:
        found: dict[tuple[bool, bool], list[Regular]] = {}
        for (starts, ends), left in before.items():
            for (its_starts, its_ends), right in after.items():
                # Here `$` could also stand before the line feed that `right` begins with.
                if ends and self._over and right != EMPTY:
                    raise Unsupported
                both = then(only_empty(left) if its_starts else left, only_empty(right) if ends else right)
                found.setdefault((starts or its_starts, ends or its_ends), []).append(both)
        return united(found.items())

    def _item(self, item: tuple[Any, Any], flags: int) -> Cases:
        read = _READERS.get(item[0].name)
        if read is None or flags & ~_FLAGS:
            raise Unsupported
        return read(self, item[1], flags)

    def _branch(self, argument: Any, flags: int) -> Cases:
        ways = [self.sequence(list(branch), flags) for branch in argument[1]]
        return united((key, [part]) for way in ways for key, part in way.items())

    def _group(self, argument: Any, flags: int) -> Cases:
        return self.sequence(list(argument[3]), _changed(flags, *argument[1:3]))

    def _at(self, argument: Any, flags: int) -> Cases:
        if argument.name in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            return {(True, False): EMPTY}
        if argument.name == "AT_END":
            return {(False, True): optional(literal("\n")) if self._over else EMPTY}
        if argument.name == "AT_END_STRING":
            return {(False, True): EMPTY}
        raise Unsupported

    def _repeat(self, argument: Any, flags: int) -> Cases:
        low, most, items = argument
        high = None if most is _parser.MAXREPEAT else most
        if low > _MAX_REPEATS or (high or 0) > _MAX_REPEATS:
            raise Unsupported
        cases = self.sequence(list(items), flags)
        if cases.keys() <= {FREE}:
            return {FREE: repeated(cases.get(FREE, NOTHING), low, high)}
        if low > 3:
            raise Unsupported
        found = up_to(cases, None if high is None else high - low)
        for _ in range(low):
            found = self._joined(cases, found)
        return found

    # Single characters

    def _any(self, _: Any, flags: int) -> Cases:
        return {FREE: Chars(ALL if flags & re.DOTALL else subtract(ALL, ((0x0A, 0x0A),)))}

    def _literal(self, code: int, flags: int) -> Cases:
        return {FREE: Chars(folded(((code, code),), flags, self._over))}

    def _not_literal(self, code: int, flags: int) -> Cases:
        return {FREE: Chars(subtract(ALL, folded(((code, code),), flags, not self._over)))}

    def _in(self, items: _Items, flags: int) -> Cases:
        negative = items[0][0].name == "NEGATE"
        over = self._over is not negative
        ranges = merge(pair for item in items[negative:] for pair in members(*item, flags, over))
        return {FREE: Chars(subtract(ALL, ranges) if negative else ranges)}


_READERS: dict[str, Callable[[_Reader, Any, int], Cases]] = {
    "ANY": _Reader._any,
    "AT": _Reader._at,
    "BRANCH": _Reader._branch,
    "FAILURE": lambda *_: {},
    "IN": _Reader._in,
    "LITERAL": _Reader._literal,
    "MAX_REPEAT": _Reader._repeat,
    "MIN_REPEAT": _Reader._repeat,
    "NOT_LITERAL": _Reader._not_literal,
    "SUBPATTERN": _Reader._group,
}
_ASSERTIONS = ("ASSERT", "ASSERT_NOT")


def _looks_ahead(item: tuple[Any, Any]) -> bool:
    name, argument = item[0].name, item[1]
    if name in _ASSERTIONS:
        return bool(argument[0] > 0)
    inner = [argument[3]] if name == "SUBPATTERN" else argument[1] if name == "BRANCH" else []
    return any(_looks_ahead(each) for items in inner for each in items)


def _both(one: Regular, other: Regular) -> Regular:
    if NOTHING in (one, other):
        return NOTHING
    return other if one == ANYTHING else And((*(one.parts if isinstance(one, And) else (one,)), other))


def _shortest(tree: Regular) -> int:
    """Return a number of characters that every text of the language has."""
    if isinstance(tree, Sequence):
        return sum(map(_shortest, tree.parts))
    if isinstance(tree, Choice):
        return min(map(_shortest, tree.parts))
    if isinstance(tree, And):
        return max(map(_shortest, tree.parts))
    if isinstance(tree, Repeat):
        return tree.low * _shortest(tree.part)
    return int(isinstance(tree, Chars))


def _size(tree: Regular) -> int:
    """Return how many nodes a tree has with its repeats written out."""
    if isinstance(tree, (Sequence, Choice, And)):
        return 1 + sum(map(_size, tree.parts))
    if isinstance(tree, Repeat):
        return 1 + _size(tree.part) * max(tree.high or tree.low, 1)
    return 1 + _size(tree.part) if isinstance(tree, Not) else 1
