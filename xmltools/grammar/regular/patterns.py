"""Patterns of JSON Schema as regular languages.

Finished calls are checked, so every text that comes out of here must be one in which the check finds the pattern
(`xmltools.tools.schema.patterns`, which also reads patterns for this). Of what the check leaves out, some is said here.

What a part of a pattern matches depends on its anchors, which are kept as conditions: a part is a dictionary with up
to four languages, by whether the part insists that it stands at the text's start, and at its end. Where two parts meet,
what stands before one that insists on the start can only be empty, and so can what comes after one that insists on the
end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

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
    merge,
    nullable,
    sequence,
    subtract,
)
from xmltools.tools.schema.patterns import (
    ESCAPE,
    LOOKS,
    PLACES,
    Part,
    UncheckedError,
    changed_flags,
    code_of,
    read_pattern,
)

# Sets of characters: classes such as `\\d`, and characters whose case does not matter


_SETS: dict[str, Ranges] = {
    "d": ((0x30, 0x39),),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "s": (
        *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A)),
        *((0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
    ),
}
_MEMBER = re.compile(rf"({ESCAPE}|.)(?:-({ESCAPE}|.))?", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}


class Unsupported(Exception):  # noqa: N818 - no error, an answer
    """A pattern cannot be said as a regular language, or not in reasonable space."""


def ranges_of(unit: str, flags: str) -> Ranges:
    """Return the characters that one of a pattern may be. Raises Unsupported."""
    if unit == ".":
        return ALL if "s" in flags else subtract(ALL, ((0x0A, 0x0A),))
    if unit[0] != "[":
        return _members(unit, "", flags)
    negative = unit[1] == "^"
    members = _MEMBER.findall(unit[1 + negative : -1])
    inner = merge(pair for first, last in members for pair in _members(first, last, flags))
    return subtract(ALL, inner) if negative else inner


def _members(first: str, last: str, flags: str) -> Ranges:
    """Return a character, those up to `last`, or a set. A hyphen beside a set is one."""
    if last and (first[1:].lower() in _SETS or last[1:].lower() in _SETS):
        return merge([*_members(first, "", flags), *_members("-", "", flags), *_members(last, "", flags)])
    letter = first[1:]
    if letter.lower() in _SETS:
        ranges = _SETS[letter.lower()]
        ranges = _folded(ranges) if letter in "wW" and "i" in flags else ranges
        return subtract(ALL, ranges) if letter.isupper() else ranges
    codes = _code(first), _code(last or first)
    if codes[0] > codes[1]:
        raise Unsupported
    return _folded((codes,)) if "i" in flags else (codes,)


def _code(written: str) -> int:
    if written[0] != "\\":
        return ord(written)
    letter = _CONTROLS.get(written[1], written[1])
    if letter == "0" or (len(written) > 2 and letter in "xu"):
        code = code_of(written)
        if 0xD800 <= code < 0xE000 or code > ALL[-1][1]:
            raise Unsupported
        return code
    if letter.isascii() and letter.isalnum():
        raise Unsupported
    return ord(letter)


def _folded(ranges: Ranges) -> Ranges:
    """Return characters with those that are the same if case does not matter. Raises Unsupported."""
    if ranges[-1][1] > 0x7F:
        raise Unsupported
    lower = [(max(first, 0x41) + 32, min(last, 0x5A) + 32) for first, last in ranges if last >= 0x41 and first <= 0x5A]
    upper = [(max(first, 0x61) - 32, min(last, 0x7A) - 32) for first, last in ranges if last >= 0x61 and first <= 0x7A]
    both = merge([*ranges, *lower, *upper])
    # Outside of ASCII there are two more: long s and the sign for Kelvin.
    odd = [(code, code) for letter, code in ((0x73, 0x17F), (0x6B, 0x212A)) if any(f <= letter <= t for f, t in both)]
    return merge([*both, *odd])


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


@lru_cache(maxsize=1024)
def pattern(text: str) -> Regular | None:
    """Return the language of all texts in which a pattern is found; None if that can't be said.

    None comes of what the check can't read, `\\p`, word boundaries, `(?m)`, counts above 1,000 and very large patterns.
    Looking ahead is understood outside of repeats, and in them if as many characters follow as it looks at; looking
    behind, if as many come before it in the same group.
    """
    try:
        flags, ways = read_pattern(text)
        found = _searched(_Reader().text(_items(ways), flags, _Rest(ANYTHING, ANYTHING)))
        return found if _size(found) <= _MAX_SIZE else None
    except (Unsupported, UncheckedError, RecursionError):
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


def _items(ways: list[list[Part]]) -> list[Part]:
    """Return alternatives as one sequence."""
    return ways[0] if len(ways) == 1 else [Part("(?:", ways)]


class _Reader:
    def __init__(self) -> None:
        self._copies = 1

    # Whole texts, from right to left: what a part looks at ahead is all that follows

    def text(self, items: list[Part], flags: str, rest: _Rest) -> _Rest:
        """Return the texts that begin with a match and go on with `rest`."""
        run: list[Part] = []
        for item in reversed(items):
            if _looks_ahead(item):
                rest = self._ahead(item, flags, self._run(run[::-1], flags, rest))
                run = []
            else:
                run.append(item)
        return self._run(run[::-1], flags, rest)

    def _run(self, items: list[Part], flags: str, rest: _Rest) -> _Rest:
        inside: list[Regular] = []
        start: list[Regular] = []
        for (starts, ends), part in self.sequence(items, flags).items():
            text = then(part, only_empty(rest.inside) if ends else rest.inside)
            (start if starts else inside).append(text)
            if nullable(part) and rest.start != rest.inside:
                start.append(only_empty(rest.start) if ends else rest.start)
        return _Rest(choice(*inside), choice(*inside, *start))

    def _ahead(self, item: Part, flags: str, rest: _Rest) -> _Rest:
        ways = item.ways or []
        if item.source in LOOKS:
            return self._assert(item, flags, rest)
        flags = changed_flags(flags, item.source)
        if len(ways) == 1:
            return self.text(ways[0], flags, rest)
        try:
            return self._run([item], flags, rest)
        except Unsupported:
            self._copies *= len(ways)
            if self._copies > _MAX_COPIES:
                raise
        found = [self.text(way, flags, rest) for way in ways]
        return _Rest(choice(*(way.inside for way in found)), choice(*(way.start for way in found)))

    def _assert(self, look: Part, flags: str, rest: _Rest) -> _Rest:
        seen = _Reader().text(_items(look.ways or []), flags, _Rest(ANYTHING, ANYTHING))
        negative = look.source[-1] == "!"
        if negative and seen.inside != seen.start:
            raise Unsupported
        inside = _both(rest.inside, Not(seen.inside) if negative else seen.inside)
        if rest.inside == rest.start and seen.inside == seen.start:
            return _Rest(inside, inside)
        return _Rest(inside, _both(rest.start, Not(seen.start) if negative else seen.start))

    # Parts

    def sequence(self, items: list[Part], flags: str) -> Cases:
        """Return what a sequence of items matches."""
        for place in reversed(range(len(items))):
            if items[place].source in LOOKS and "<" in items[place].source:
                before = self.sequence(items[:place], flags)
                return self._joined(self._near(before, items[place], flags), self.sequence(items[place + 1 :], flags))
        cases: Cases = {FREE: EMPTY}
        free: list[Regular] = []
        for item in reversed(items):
            ahead = item.source in LOOKS
            part = {} if ahead else self._item(item, flags)
            if part.keys() == {FREE}:
                free.append(part[FREE])
                continue
            cases = self._joined({FREE: then(*reversed(free))}, cases)
            cases = self._near(cases, item, flags) if ahead else self._joined(part, cases)
            free = []
        return self._joined({FREE: then(*reversed(free))}, cases)

    def _near(self, cases: Cases, look: Part, flags: str) -> Cases:
        """Hold a part to an assertion that sees nothing but that part."""
        seen = _Reader().sequence(_items(look.ways or []), flags)
        if seen.keys() != {FREE} or any(_shortest(part) < _longest(seen[FREE]) for part in cases.values()):
            raise Unsupported
        wanted = then(ANYTHING, seen[FREE]) if "<" in look.source else then(seen[FREE], ANYTHING)
        negative = look.source[-1] == "!"
        return {key: _both(part, Not(wanted) if negative else wanted) for key, part in cases.items()}

    def _joined(self, before: Cases, after: Cases) -> Cases:
        found: dict[tuple[bool, bool], list[Regular]] = {}
        for (starts, ends), left in before.items():
            for (its_starts, its_ends), right in after.items():
                both = then(only_empty(left) if its_starts else left, only_empty(right) if ends else right)
                found.setdefault((starts or its_starts, ends or its_ends), []).append(both)
        return united(found.items())

    def _item(self, item: Part, flags: str) -> Cases:
        if "m" in flags:
            raise Unsupported
        if item.repeat:
            return self._repeat(item, flags)
        if item.ways is not None:
            inner = changed_flags(flags, item.source)
            ways = [self.sequence(way, inner) for way in item.ways]
            return united((key, [part]) for way in ways for key, part in way.items())
        if item.source in PLACES:
            if item.source[-1] in "bB":
                raise Unsupported
            return {(True, False) if item.source in ("^", r"\A") else (False, True): EMPTY}
        return {FREE: Chars(ranges_of(item.source, flags))}

    def _repeat(self, item: Part, flags: str) -> Cases:
        low, high = item.low, item.high
        if low > _MAX_REPEATS or (high or 0) > _MAX_REPEATS or (high is not None and low > high):
            raise Unsupported
        cases = self._item(replace(item, repeat=""), flags)
        if cases.keys() <= {FREE}:
            return {FREE: repeated(cases.get(FREE, NOTHING), low, high)}
        if low > 3:
            raise Unsupported
        found = up_to(cases, None if high is None else high - low)
        for _ in range(low):
            found = self._joined(cases, found)
        return found


def _looks_ahead(item: Part) -> bool:
    if item.source in LOOKS:
        return "<" not in item.source
    return not item.repeat and any(_looks_ahead(each) for way in item.ways or () for each in way)


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


def _longest(tree: Regular) -> float:
    """Return a number of characters that no text of the language has more of."""
    if isinstance(tree, Sequence):
        return sum(map(_longest, tree.parts))
    if isinstance(tree, Choice):
        return max(map(_longest, tree.parts))
    if isinstance(tree, Repeat):
        return inf if tree.high is None else tree.high * _longest(tree.part)
    return 1 if isinstance(tree, Chars) else inf


def _size(tree: Regular) -> int:
    """Return how many nodes a tree has with its repeats written out."""
    if isinstance(tree, (Sequence, Choice, And)):
        return 1 + sum(map(_size, tree.parts))
    if isinstance(tree, Repeat):
        return 1 + _size(tree.part) * max(tree.high or tree.low, 1)
    return 1 + _size(tree.part) if isinstance(tree, Not) else 1
