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
    """Return the marks that no value of a dialect's pairs may hold: they could end it, alone or with others.

    More than half of the delimiter after a value may be read as it (grammars/DIALECTS.md, 3.3a).
    """
    pairs = form.pairs
    assert pairs is not None
    if pairs.tag_mark:
        return (shortened(pairs.tag_mark),)
    if pairs.quote:
        delimiters = (mark for each in (form.base or form).forms for mark in (each.opener, each.closer) if mark)
        return tuple(dict.fromkeys((pairs.quote, *(shortened(mark, pairs.quote) for mark in delimiters))))
    end = pairs.value_end[: len(pairs.value_end) // 2 + 1]
    forms = [each for each in (form.base or form).forms if not each.is_first]  # within a reply these are text
    starts = [(each.pairs and each.pairs.name) or each.opener for each in forms]
    key_end = pairs.key_end if len(pairs.key_end) > 1 else ""  # twice before a value, the second one is skipped
    around = (pairs.key, key_end, pairs.value, "<![CDATA[" if pairs.cdata else "")
    others = (*around, pairs.end or form.closer, *dict.fromkeys(starts))
    return (end, *(shortened(mark, end) for mark in others if mark))


def shortened(mark: str, *others: str) -> str:
    """Return what a mark begins with, if that is unlike all other text; `others` are marks that begin in other ways.

    What a grammar looks out for makes it larger, character by character.
    """
    found = _FIRST_WORD.match(mark)
    if not found or not _UNUSUAL.search(mark):
        return mark
    size = found.end()
    while size < len(mark) and any(other.startswith(mark[:size]) for other in others):
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

    @property
    def _risky(self) -> str:
        """What may begin a mark, or a frame."""
        return _firsts(self.marks) + "\r\n" * self.framing

    def as_it_is(self, decoded: Regular) -> Regular | None:
        """See `Spelling`."""
        risky = chars(self._risky).ranges
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

    def counts(self, low: int, high: int | None, *, exact: bool) -> bool:
        """See `Spelling`."""
        return high is None or high <= _MAX_EXACT

    def counted(self, low: int, high: int | None, *, exact: bool) -> Regular:
        """See `Spelling`. What is counted has no <, so that it can hold no mark; long text with one is not counted."""
        if high == 0:
            return self.framed(EMPTY, EMPTY)
        if high is None:
            return self._at_least(low, exact)
        alone = Repeat(_but(self._risky), low, high)
        inside: Regular = Repeat(_but(self._risky.removesuffix("\n")), low, high)
        if exact and high <= _MAX_EXACT:
            inside = And((Repeat(_but("\r") if self.framing else _ALL, low, high), _safe(self.marks)))
        text = self.framed(inside, alone if self.framing else inside)
        if self.counts(low, high, exact=exact):
            return text
        return choice(text, And((sequence(ANYTHING, chars(_firsts(self.marks)), ANYTHING), free_of(self.marks))))

    def _at_least(self, low: int, exact: bool) -> Regular:
        """Return text of `low` characters and more. No mark begins in the first ones, so that they can be counted."""
        left_out = "" if low <= (_MAX_EXACT if exact else _MAX_LEAST) else _firsts(self.marks)
        first = self._unframed(low, left_out) if self.framing else Repeat(_but(left_out), low, low)
        if not left_out:
            first = And((first, _safe(self.marks), Not(sequence(ANYTHING, chars(_firsts(self.marks))))))
        return sequence(first, free_of(self.marks))

    def _unframed(self, low: int, left_out: str) -> Regular:
        """Return a frame, if there is one, and so many characters. The last is not a line break: at the end of the
        text, that would be the frame's."""
        within, edge = _but(left_out + "\r"), _but(left_out + "\r\n")
        last = sequence(star(literal("\n")), edge)
        framed = sequence(literal("\n"), Repeat(within, low - 1, low - 1), last)
        return choice(framed, sequence(edge, Repeat(within, low - 2, low - 2), last))

    def of_length(self, low: int, high: int | None) -> Regular:
        """See `Spelling`."""
        counted = Repeat(_ALL, low, high)
        return self.framed(counted, counted)


def _safe(marks: Sequence[str]) -> Regular:
    """Return texts without anything that may begin a mark: a small complement, with which llguidance counts, too."""
    seconds = {first: chars(*{mark[1] for mark in marks if mark[0] == first}) for first in _firsts(marks)}
    starts = choice(*(sequence(literal(first), second) for first, second in seconds.items()))
    return Not(sequence(ANYTHING, starts, ANYTHING))


def _firsts(marks: Sequence[str]) -> str:
    """Return the characters with which the marks begin."""
    return "".join(dict.fromkeys(mark[0] for mark in marks))


def _but(left_out: str) -> Chars:
    return Chars(subtract(ALL, chars(left_out).ranges))


@dataclass(frozen=True, slots=True)
class Fenced:
    """Such text with a mark on both sides, in place of the quotes of JSON."""

    text: Marked
    quote: str

    @property
    def characters(self) -> Chars:
        """See `Spelling`."""
        return self.text.characters

    def _fenced(self, text: Regular) -> Regular:
        return sequence(literal(self.quote), text, literal(self.quote))

    def any(self) -> Regular:
        """Return all strings."""
        return self._fenced(self.text.any())

    def as_it_is(self, decoded: Regular) -> Regular | None:
        """See `Spelling`."""
        text = self.text.as_it_is(decoded)
        return None if text is None else self._fenced(text)

    def fitting(self, decoded: Regular, *, intersects: bool) -> Regular:
        """See `Spelling`."""
        return self._fenced(self.text.fitting(decoded, intersects=intersects))

    def counts(self, low: int, high: int | None, *, exact: bool) -> bool:
        """See `Spelling`."""
        return self.text.counts(low, high, exact=exact)

    def counted(self, low: int, high: int | None, *, exact: bool) -> Regular:
        """See `Spelling`."""
        return self._fenced(self.text.counted(low, high, exact=exact))

    def of_length(self, low: int, high: int | None) -> Regular:
        """See `Spelling`."""
        return self._fenced(self.text.of_length(low, high))


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
MAX_ESCAPES = 8
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

    @property
    def _inside(self) -> Regular:
        return star(choice(self.plain, sequence(literal("\\"), chars('"\\/bfnrt')), _ESCAPED))

    def quoted(self, low: int, high: int | None, *, escapes: bool = True) -> Regular:
        """Return strings of so many characters; where these are counted, none is an escape unless `escapes` is set."""
        unit = choice(self.plain, sequence(literal("\\"), chars('"\\/bfnrt')), _ESCAPED)
        counted = unit if escapes else self.plain
        inside = [Repeat(counted, low, low), self._inside] if low and high is None else [Repeat(counted, low, high)]
        return sequence(literal('"'), *inside, literal('"'))

    def as_it_is(self, decoded: Regular) -> Regular | None:
        """See `Spelling`."""
        risky = subtract(ALL, subtract(self.plain.ranges, chars(_firsts(self.marks)).ranges))
        if not is_simple(decoded) or intersect(characters(decoded), risky):
            return None
        return sequence(literal('"'), decoded, literal('"'))

    def fitting(self, decoded: Regular, *, intersects: bool) -> Regular:
        """See `Spelling`."""
        spelled = encoded(automaton(decoded), self.plain.ranges, _WORDS)
        language = sequence(literal('"'), spelled, literal('"'))
        if intersects and self.marks:  # as text between marks: llguidance gets one automaton
            return automaton(And((language, _safe(self.marks))))
        return self._spared(language)

    def counts(self, low: int, high: int | None, *, exact: bool) -> bool:
        """See `Spelling`."""
        if exact and (high is None or not self.marks):
            return True
        return low <= _MAX_LEAST if high is None else high <= _MAX_EXACT

    def counted(self, low: int, high: int | None, *, exact: bool) -> Regular:
        """See `Spelling`. GBNF gets an automaton with the quotes in it: a count before a quote makes xgrammar slow."""
        if not exact:
            return automaton(self._short(low, high) if self.counts(low, high, exact=False) else self.any())
        if not self.marks:
            return self.quoted(low, high)
        if self.counts(low, high, exact=True):
            return And((self.quoted(low, high), _safe(self.marks)))
        firsts = chars(_firsts(self.marks))
        left = Quoted(Chars(subtract(self.plain.ranges, firsts.ranges)))
        return choice(left.quoted(low, high), And((self.any(), sequence(ANYTHING, firsts, ANYTHING))))

    def _short(self, low: int, high: int | None) -> Regular:
        """Return short strings: what is counted is no escape by number, and with marks no <."""
        plain = Chars(subtract(self.plain.ranges, chars(_firsts(self.marks)).ranges))
        unit = choice(plain, sequence(literal("\\"), chars('"\\/bfnrt')))
        rest = sequence() if high is not None else self._inside
        text = sequence(literal('"'), Repeat(unit, low, low if high is None else high), rest, literal('"'))
        return self._spared(text) if high is None else text

    def of_length(self, low: int, high: int | None) -> Regular:
        """See `Spelling`."""
        return self.quoted(low, high)

    def _spared(self, language: Regular) -> Regular:
        return And((language, free_of(self.marks))) if self.marks else language
