"""Strings with constraints: length, pattern and format of the value, as a language of its spellings."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from xmltools.dialects import FORGE
from xmltools.grammar._automata import TooLarge, automaton, intersect
from xmltools.grammar._expressions import expression
from xmltools.grammar._issues import Report
from xmltools.grammar._options import Backend, Options
from xmltools.grammar._patterns import pattern
from xmltools.grammar._regular import (
    And,
    Chars,
    Regular,
    Repeat,
    characters,
    chars,
    first_characters,
    is_simple,
)
from xmltools.grammar._text_formats import FORMATS
from xmltools.grammar._xml import XML, counted_text, fitting_text
from xmltools.schema import TextFacts

__all__ = ["Strings"]

_MARKUP = chars("<>&]\r").ranges
_SPACES = chars(" \t\n\r").ranges


class Strings:
    """Makes the languages of constrained strings, as the options and the back end want them."""

    __slots__ = ("_backend", "_cdata", "_end_tag", "_max_count")

    def __init__(self, options: Options, backend: Backend, max_count: int) -> None:
        self._backend = backend
        self._cdata = options.cdata
        self._end_tag = "" if options.end_tag_in_cdata else f"</{FORGE.block}>"
        self._max_count = max_count

    def spellings(self, facts: TextFacts, place: str, report: Report) -> Regular | None:
        """Return how the strings that fit the facts are written; None for any string, or any but the empty one."""
        low, high = self._countable(facts, place, report)
        wanted = [*_patterns(facts, place, report), *_formats(facts, place, report)]
        if not wanted:
            return self._counted(low, high, place, report)
        try:
            return self._spelled(_narrowed(tuple(wanted), low, high))
        except TooLarge:
            pass
        with suppress(TooLarge):  # together they are too much: leave out the length, or else the pattern
            language = self._spelled(_narrowed(tuple(wanted), 0, None))
            if self._backend.intersects:
                return And((language, counted_text(low, high, cdata=self._cdata, exact=True)))
            report.add(place, "minLength or maxLength", "is not enforced together with the pattern or format")
            return language
        report.add(place, "pattern or format", "is too large for a grammar")
        return self._counted(low, high, place, report)

    def _counted(self, low: int, high: int | None, place: str, report: Report) -> Regular | None:
        if high is None and low < 2:
            return None
        with suppress(TooLarge):
            return counted_text(low, high, cdata=self._cdata, exact=self._backend.intersects)
        report.add(place, "minLength", "is too large for a grammar")
        return None

    def _spelled(self, tree: Regular) -> Regular:
        language = _spelled(tree, self._cdata, self._end_tag)
        if self._backend.expressions:
            expression(language)  # raises TooLarge here, where it can be told
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
def _spelled(tree: Regular, cdata: str, end_tag: str) -> Regular:
    if _is_harmless(tree):
        return tree
    language = fitting_text(tree, cdata=cdata, end_tag=end_tag)
    automaton(language)  # raises TooLarge here, not when it is printed
    return language


def _is_harmless(tree: Regular) -> bool:
    """Return whether all strings of a language are written as they are: no markup in them, no layout at the start."""
    return (
        is_simple(tree)
        and not intersect(characters(tree), _MARKUP)
        and not intersect(first_characters(tree), _SPACES)
        and intersect(characters(tree), XML.ranges) == characters(tree)
    )
