"""Strings with constraints: length, pattern and format of the value, as a language of its spellings."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from xmltools.grammar.issues import Report
from xmltools.grammar.lower.elements import XML, counted_spellings, counted_text, fitting_text
from xmltools.grammar.lower.text_formats import FORMATS
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.regular.automata import TooLarge, automaton
from xmltools.grammar.regular.expressions import expression
from xmltools.grammar.regular.patterns import pattern
from xmltools.grammar.regular.regular import (
    NOTHING,
    And,
    Chars,
    Regular,
    Repeat,
    characters,
    chars,
    first_characters,
    intersect,
    is_simple,
)
from xmltools.tools.schema import TextFacts

__all__ = ["Strings"]

_MAX_FAILURES = 8
"""Patterns that may turn out to be too large; those after them are not tried, since each one takes its time."""

_MARKUP = chars("<>&]\r").ranges
_SPACES = chars(" \t\n\r").ranges


class Strings:
    """Makes the languages of constrained strings, as the options and the back end want them."""

    __slots__ = ("_backend", "_cdata", "_end_tag", "_failures", "_max_count")

    def __init__(self, options: Options, backend: Backend, max_count: int) -> None:
        self._backend = backend
        self._cdata = options.cdata
        self._end_tag = options.spared_end_tag
        self._failures = 0
        self._max_count = max_count

    def spellings(self, facts: TextFacts, place: str, report: Report) -> Regular | None:
        """Return how the strings that fit the facts are written; None for any string, or any but the empty one.

        NOTHING if no string fits.
        """
        low, high = self._countable(facts, place, report)
        wanted = [*_patterns(facts, place, report), *_formats(facts, place, report)]
        if not wanted:
            return self._counted(low, high)
        found = self._spelled(wanted, low, high)
        if found is not None:
            return found
        # Together they are too much: leave out the length, or else the pattern.
        language = self._spelled(wanted, 0, None) if low or high is not None else None
        if language is None:
            report.add(place, "pattern or format", "is too large for a grammar")
            return self._counted(low, high)
        if self._backend.intersects:
            return And((language, counted_spellings(low, high)))
        report.add(place, "minLength or maxLength", "is not enforced together with the pattern or format")
        return language

    def _counted(self, low: int, high: int | None) -> Regular | None:
        if high is None and low < 2:
            return None
        exact = self._backend.intersects
        return counted_text(low, high, cdata=self._cdata, end_tag=self._end_tag, exact=exact)

    def _spelled(self, wanted: list[Regular], low: int, high: int | None) -> Regular | None:
        """Return how strings of all these languages are written; None if that is too large, or not tried any more."""
        tree = _narrowed(tuple(wanted), low, high)
        if self._failures >= _MAX_FAILURES and not _is_harmless(tree):
            return None
        language = _spellings(tree, self._cdata, self._end_tag, self._backend.expressions)
        self._failures += language is None
        return language

    def _countable(self, facts: TextFacts, place: str, report: Report) -> tuple[int, int | None]:
        low, high = facts.low, facts.high
        if high is not None and high > self._max_count:
            report.add(place, "maxLength", f"more than {self._max_count:,} characters are not counted")
            high = None
        if low > self._max_count:
            report.add(place, "minLength", f"more than {self._max_count:,} characters are not counted")
            low = self._max_count
        return low, high


def _patterns(facts: TextFacts, place: str, report: Report) -> list[Regular]:
    found = [(each, pattern(each)) for each in facts.patterns]
    for each, tree in found:
        if tree is None:
            report.add(place, "pattern", f"{each[:80]!r} is no regular language, or too large a one")
    return [tree for _, tree in found if tree is not None]


def _formats(facts: TextFacts, place: str, report: Report) -> list[Regular]:
    for each in facts.formats:
        if each not in FORMATS:
            report.add(place, "format", f"{each[:80]!r} is not enforced")
    return [FORMATS[each] for each in facts.formats if each in FORMATS]


def _narrowed(wanted: tuple[Regular, ...], low: int, high: int | None) -> Regular:
    """Return the values that fit all languages and the length."""
    tree = wanted[0] if len(wanted) == 1 else And(wanted)
    if not low and high is None:
        return tree
    if isinstance(tree, Repeat) and isinstance(tree.part, Chars):
        most = [each for each in (tree.high, high) if each is not None]
        return Repeat(tree.part, max(tree.low, low), min(most) if most else None)
    return And((tree, Repeat(XML, low, high)))


@lru_cache(maxsize=256)
def _spellings(tree: Regular, cdata: str, end_tag: str, as_expression: bool) -> Regular | None:
    """Return the spellings of a language, None if they are too large for an automaton, or for an expression."""
    if _is_harmless(tree):
        return tree
    with suppress(TooLarge):
        language = fitting_text(tree, cdata=cdata, end_tag=end_tag)
        machine = automaton(language)
        if as_expression:
            expression(language)
        return language if machine.edges else NOTHING
    return None


def _is_harmless(tree: Regular) -> bool:
    """Return whether all strings of a language are written as they are: no markup in them, no layout at the start."""
    return (
        is_simple(tree)
        and not intersect(characters(tree), _MARKUP)
        and not intersect(first_characters(tree), _SPACES)
        and intersect(characters(tree), XML.ranges) == characters(tree)
    )
