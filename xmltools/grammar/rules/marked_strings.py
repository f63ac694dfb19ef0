"""Strings in dialects whose marks are literal texts: as they are up to a mark, or in JSON.

Nothing is decoded in a value that ends at a mark (grammars/DIALECTS.md, 3.1), so that it may hold no mark that could
end it or begin another call. A parser takes some of these for content; a grammar writes none of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xmltools.dialects import Dialect
from xmltools.grammar.regular.automata import Words, automaton, encoded
from xmltools.grammar.regular.regular import (
    ALL,
    ANYTHING,
    EMPTY,
    LAST,
    And,
    Chars,
    Not,
    Regular,
    Repeat,
    characters,
    chars,
    choice,
    intersect,
    is_simple,
    literal,
    optional,
    sequence,
    star,
    subtract,
)

_BLANKS = 4
"""Blanks that a parser skips before the = of a mark."""
_MAX_EXACT = 80
"""Characters that are counted together with a complement: llguidance gives up at more."""
_MAX_LEAST = 50
"""Characters that an automaton counts."""

_ALL = Chars(ALL)
_UNICODE = chars((0, 0xD7FF), (0xE000, LAST))
"""All but the surrogates, which no text holds. Where all is meant anyway, no back end needs to be told."""
_BREAK = choice(literal("\r\n"), literal("\n"))


def value_marks(form: Dialect) -> tuple[str, ...]:
    """Return the marks that no value of a dialect's pairs may hold: they could end it, alone or with others."""
    pairs = form.pairs
    assert pairs is not None
    others = (pairs.key, pairs.end or form.closer, pairs.name or form.opener, "<![CDATA[" if pairs.cdata else "")
    return (pairs.value_end, *(shortened(mark, pairs.value_end) for mark in others if mark))


def shortened(mark: str, other: str) -> str:
    """Return what a mark begins with, if that is unlike all other text; `other` is a mark that begins in another way.

    What a grammar looks out for makes it larger, character by character.
    """
    found = _FIRST_WORD.match(mark)
    if not found or not _UNUSUAL.search(mark):
        return mark
    size = found.end()
    while other.startswith(mark[:size]) and size < len(mark):
        size += 1
    return mark[:size]


_FIRST_WORD = re.compile(r"[^A-Za-z]*[A-Za-z]+[^A-Za-z]")
_UNUSUAL = re.compile(r"[|:~\[]|[^\x00-\x7f]")


def any_of(marks: Sequence[str]) -> Regular:
    """Return the marks as a parser reads them: before a = at the end of one there may be blanks."""
    return choice(*map(_spelled, marks))


def _spelled(mark: str) -> Regular:
    if mark.endswith("="):
        return sequence(literal(mark[:-1]), Repeat(chars(" \t"), 0, _BLANKS), literal("="))
    return literal(mark)


def free_of(marks: Sequence[str]) -> Regular:
    """Return all texts that hold none of these marks."""
    return Not(sequence(ANYTHING, any_of(marks), ANYTHING))


# Text between marks


@dataclass(frozen=True, slots=True)
class Marked:
    """Text that ends at a mark, none of which stands in it. `framing`: one line break on each side is no part of it."""

    marks: tuple[str, ...]
    framing: bool = False
    characters: Chars = _ALL

    def any(self, *, filled: bool = False) -> Regular:
        """Return how all strings are written; `filled`: all but the empty one."""
        if not filled:
            return free_of(self.marks)
        empty = choice(sequence(optional(_BREAK), optional(choice(_BREAK, chars("\r"))))) if self.framing else EMPTY
        return And((free_of(self.marks), Not(empty)))

    def as_it_is(self, decoded: Regular) -> Regular | None:
        """See `Spelling`."""
        risky = chars("<\r\n" if self.framing else "<").ranges
        if not is_simple(decoded) or intersect(characters(decoded), risky):
            return None
        return self.framed(decoded, decoded)

    def fitting(self, decoded: Regular, *, intersects: bool) -> Regular:
        """See `Spelling`. llguidance gets one automaton: several operators in a terminal are too much for it."""
        edge = chars("\r\n")
        inside = And((decoded, Not(sequence(ANYTHING, chars("\r")))))
        alone = And((decoded, Not(choice(sequence(edge, ANYTHING), sequence(ANYTHING, edge)))))
        text = self.framed(inside, alone) if self.framing else decoded
        return automaton(And((text, _safe(self.marks) if intersects else free_of(self.marks))))

    def framed(self, inside: Regular, alone: Regular) -> Regular:
        """Return what stands between two line breaks, or without them."""
        return choice(sequence(literal("\n"), inside, literal("\n")), alone) if self.framing else alone

    def counted(self, low: int, high: int | None, *, exact: bool) -> Regular:
        """See `Spelling`. Without `exact`, what is counted has no <, so that it can hold no mark."""
        if high == 0:
            return self.framed(EMPTY, EMPTY)
        if high is None and low <= _MAX_LEAST and not exact:
            return self.fitting(Repeat(_ALL, low), intersects=False)
        alone = Repeat(_but("<\r\n" if self.framing else "<"), low, high)
        inside: Regular = Repeat(_but("<\r" if self.framing else "<"), low, high)
        if exact and max(low, high or 0) <= _MAX_EXACT:
            inside = And((Repeat(_but("\r") if self.framing else _ALL, low, high), _safe(self.marks)))
        return self.framed(inside, alone if self.framing else inside)

    def of_length(self, low: int, high: int | None) -> Regular:
        """See `Spelling`."""
        counted = Repeat(_ALL, low, high)
        return self.framed(counted, counted)


def _safe(marks: Sequence[str]) -> Regular:
    """Return texts without anything that may begin a mark: a small complement, with which llguidance counts, too."""
    seconds = chars(*{mark[1] for mark in marks})
    return Not(sequence(ANYTHING, literal("<"), seconds, ANYTHING))


def _but(left_out: str) -> Chars:
    return Chars(subtract(ALL, chars(left_out).ranges))


# Strings in JSON


_HEX = chars("abcdefABCDEF", (0x30, 0x39))
# Escaped surrogates come in pairs or are an error: a model has no need for them, all characters stand for themselves.
_ESCAPED = sequence(
    literal("\\u"),
    choice(
        sequence(chars("abcefABCEF", (0x30, 0x39)), _HEX),
        sequence(chars("dD"), chars((0x30, 0x37))),
    ),
    _HEX,
    _HEX,
)
_MAX_ESCAPES = 8
"""Characters that may be escapes where GBNF counts them: with more xgrammar takes a second for a mask."""
_WORDS: Words = {
    ord(character): (f"\\{letter}",) for character, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)
}
JSON_PLAIN = Chars(subtract(_UNICODE.ranges, chars('"\\', (0, 0x1F)).ranges))
"""What stands for itself in a string of JSON."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """Strings of JSON with their quotes; `plain` characters stand for themselves, and no `marks` are in them."""

    plain: Chars = JSON_PLAIN
    marks: tuple[str, ...] = ()
    characters: Chars = _UNICODE

    def any(self) -> Regular:
        """Return all strings."""
        return self._spared(self.quoted(0, None))

    def quoted(self, low: int, high: int | None, *, escapes: bool = True) -> Regular:
        """Return strings of so many characters; where these are counted, none is an escape unless `escapes` is set."""
        unit = choice(self.plain, sequence(literal("\\"), chars('"\\/bfnrt')), _ESCAPED)
        counted = unit if escapes else Chars(subtract(self.plain.ranges, chars("<" if self.marks else "").ranges))
        inside = [Repeat(counted, low, low), star(unit)] if low and high is None else [Repeat(counted, low, high)]
        return sequence(literal('"'), *inside, literal('"'))

    def as_it_is(self, decoded: Regular) -> Regular | None:
        """See `Spelling`."""
        risky = subtract(ALL, subtract(self.plain.ranges, chars("<" if self.marks else "").ranges))
        if not is_simple(decoded) or intersect(characters(decoded), risky):
            return None
        return sequence(literal('"'), decoded, literal('"'))

    def fitting(self, decoded: Regular, *, intersects: bool) -> Regular:
        """See `Spelling`."""
        spelled = encoded(automaton(decoded), self.plain.ranges, _WORDS)
        return self._spared(sequence(literal('"'), spelled, literal('"')))

    def counted(self, low: int, high: int | None, *, exact: bool) -> Regular:
        """See `Spelling`."""
        most = max(low, high or 0)
        if exact and most <= _MAX_EXACT:
            return And((self.quoted(low, high), _safe(self.marks))) if self.marks else self.quoted(low, high)
        escapes = exact or most <= _MAX_ESCAPES
        language = self.quoted(low, high, escapes=escapes and not self.marks)
        return self._spared(language) if high is None else language

    def of_length(self, low: int, high: int | None) -> Regular:
        """See `Spelling`."""
        return self.quoted(low, high)

    def _spared(self, language: Regular) -> Regular:
        return And((language, free_of(self.marks))) if self.marks else language
