"""How strings and choices stand between tags: plain text with references, CDATA, and what of both fits a constraint.

The languages here are those that our parser reads back exactly, and cleanly (protocol, section 4), less what only
gives a model more ways to say the same: comments, other references, empty-element tags. Strings in other dialects have
a `Spelling` of their own.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from xmltools.grammar.issues import Report
from xmltools.grammar.options import Backend
from xmltools.grammar.regular.automata import TooLarge, Words, automaton, encoded
from xmltools.grammar.regular.expressions import expression, terminal
from xmltools.grammar.regular.patterns import pattern
from xmltools.grammar.regular.regular import (
    ANYTHING,
    EMPTY,
    LAST,
    NOTHING,
    And,
    Automaton,
    Chars,
    Choice,
    Not,
    Regular,
    Repeat,
    characters,
    chars,
    choice,
    first_characters,
    intersect,
    is_simple,
    literal,
    optional,
    sequence,
    star,
    subtract,
)
from xmltools.grammar.regular.string_formats import FORMATS
from xmltools.grammar.schema_values import valid_values
from xmltools.render.forge_calls import write_text
from xmltools.render.writable import scalar_text
from xmltools.syntax.markup import SPACES, find_forbidden
from xmltools.tools.schema import EnumShape, TextFacts

CDATA_OPEN, CDATA_END = "<![CDATA[", "]]>"

_MAX_EXACT = 80
"""Characters that are counted together with a complement: llguidance gives up between 150 and 200."""
_MAX_STATES = 800
"""The same, times the characters of what the text must not hold: it gives up at some 900."""
_MAX_LEAST = 50
"""Characters that an automaton counts."""

XML = chars("\t\n\r", (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, LAST))
"""The characters that XML 1.0 has."""
SPACE = chars(" \t\n")
"""White space that a model may write between elements. Our parser takes CR too; no model needs it."""

_REFERENCES = tuple(map(literal, ("&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#9;", "&#10;", "&#13;")))
_WORDS: Words = {ord("<"): ("&lt;",), ord(">"): ("&gt;",), ord("&"): ("&amp;",), ord("\r"): ("&#13;",)}


def without(*needles: str) -> Regular:
    """Return all texts in which none of the needles stands."""
    return Not(sequence(ANYTHING, choice(*map(literal, needles)), ANYTHING))


def _xml_but(left_out: str) -> Chars:
    """Return the characters of XML, some left out."""
    return Chars(subtract(XML.ranges, chars(left_out).ranges))


def _spared(end_tag: str) -> Regular:
    """Return what a CDATA section must be besides its characters: without its own end, and perhaps an end tag.

    One complement of both: with two, llguidance soon has too many expressions.
    """
    return without(CDATA_END, end_tag) if end_tag else without(CDATA_END)


@lru_cache(maxsize=2)
def plain_text(*, filled: bool = False) -> Regular:
    """Return plain text; `filled`: with a character that no reader takes for layout."""
    raw, visible = _xml_but("<&"), _xml_but(f"<&{SPACES}")
    anywhere = star(choice(raw, *_REFERENCES))
    text = sequence(anywhere, choice(visible, *_REFERENCES), anywhere) if filled else anywhere
    return And((text, without(CDATA_END)))


@lru_cache(maxsize=8)
def cdata_section(*, filled: bool = False, end_tag: str = "") -> Regular:
    """Return a CDATA section; `filled`: not an empty one; without the `end_tag`, if one is given."""
    content = And((star(XML), _spared(end_tag)))
    if filled:
        content = And((*content.parts, Not(EMPTY)))
    return _in_cdata(content)


def _in_cdata(content: Regular) -> Regular:
    return sequence(literal(CDATA_OPEN), content, literal(CDATA_END))


# Constrained strings. `decoded` is the language of the value, what is returned that of its spelling.

_LAYOUT_FIRST = sequence(star(chars(" \t")), chars("\r\n"), ANYTHING)
_NEEDS_MORE = chars("<&").ranges


def _plain(machine: Automaton) -> Automaton:
    """Return the plain spellings: what a reader would take for layout, and CDATA's end, are left out."""
    spelled = encoded(machine, _xml_but("<&\r").ranges, _WORDS)
    return automaton(And((spelled, Not(_LAYOUT_FIRST), without(CDATA_END))))


def _needs_cdata(machine: Automaton) -> bool:
    """Return whether a writer may want CDATA for one of the strings: for markup in it, or layout at its start."""
    starts = machine.edges[0] if machine.edges else ()
    return any(intersect(ranges, _NEEDS_MORE) for row in machine.edges for ranges, _ in row) or any(
        intersect(ranges, SPACE.ranges) for ranges, _ in starts
    )


_UNITS = tuple(map(literal, ("&lt;", "&gt;", "&amp;", "&#13;", "&#9;", "&#10;", "&#32;")))


def _counted_plain(low: int, high: int | None, units: tuple[Regular, ...]) -> Regular:
    """Return plain text; `units` are the references that may stand where it is counted."""
    ways: list[Regular] = []
    for spared in "]>":
        first, character = choice(_xml_but(f"<&{SPACES}" + spared), *units), choice(_xml_but("<&\r" + spared), *units)
        if high is None and spared == "]":
            rest = And((star(choice(_xml_but("<&\r"), *_UNITS)), without(CDATA_END)))
            ways.append(sequence(first, Repeat(character, low - 1, low - 1), rest))
        else:
            ways.append(sequence(first, Repeat(character, max(low - 1, 0), None if high is None else high - 1)))
    return choice(*ways) if low else optional(choice(*ways))


def _counted_section(low: int, high: int | None, end_tag: str) -> Regular:
    # Without `>` there is no end of either kind; without `/` none of an element.
    ways: list[Regular] = [Repeat(_xml_but("\r>"), low, high)]
    if high is None:
        head = Repeat(_xml_but("\r]<" if end_tag else "\r]"), low, low)
        ways.insert(0, sequence(head, And((star(_xml_but("\r")), _spared(end_tag)))))
    else:
        ways.insert(0, Repeat(_xml_but("\r]/" if end_tag else "\r]"), low, high))
    return _in_cdata(choice(*ways))


# Strings with constraints: length, pattern and format of the value, as a language of its spellings


class Spelling(Protocol):
    """How strings are written in some place. Languages of values go in, those of what is written come out."""

    def __hash__(self) -> int:
        """Of all that it is made of: languages are kept."""

    @property
    def characters(self) -> Chars:
        """What a string may hold."""

    def as_it_is(self, decoded: Regular) -> Regular | None:
        """Return the spellings of strings that need no thought: no mark, and nothing escaped. None for others."""

    def fitting(self, decoded: Regular, *, intersects: bool) -> Regular:
        """Return the spellings of the strings of a language; a back end may intersect. Raises TooLarge."""

    def counts(self, low: int, high: int | None, *, exact: bool) -> bool:
        """Return whether `counted` has no strings of another length."""

    def counted(self, low: int, high: int | None, *, exact: bool) -> Regular:
        """Return the spellings of strings of `low` to `high` characters: of all of them, if they are `exact`."""

    def of_length(self, low: int, high: int | None) -> Regular:
        """Return the spellings of such strings, and other texts: it is for intersections."""


@dataclass(frozen=True, slots=True)
class InTags:
    """Strings between tags: `cdata` is "allowed", "required" or "forbidden", and no section holds the `end_tag`."""

    cdata: str
    end_tag: str
    characters: Chars = XML

    def as_it_is(self, decoded: Regular) -> Regular | None:
        """See `Spelling`."""
        return decoded if _is_harmless(decoded) else None

    def fitting(self, decoded: Regular, *, intersects: bool = False) -> Regular:
        """See `Spelling`. What needs no CDATA section is written without one in any case."""
        machine = automaton(And((decoded, star(XML))))
        plain = _plain(machine)
        if self.cdata == "forbidden" or not _needs_cdata(machine):
            return plain
        # A raw CR would be a line feed to other readers, who then count and match another text.
        section = _in_cdata(automaton(And((machine, star(_xml_but("\r")), _spared(self.end_tag)))))
        return section if self.cdata == "required" else Choice((plain, section))

    def counts(self, low: int, high: int | None, *, exact: bool) -> bool:
        """See `Spelling`."""
        return True

    def counted(self, low: int, high: int | None, *, exact: bool) -> Regular:
        """See `Spelling`. Raises TooLarge.

        `exact` is for a back end that intersects by itself, and can count and look out for `]]>` and for layout at
        once, if it does not count far. For others that would take an automaton of so many states, and counting
        characters that can be references makes xgrammar slower a thousand times. So otherwise what is counted begins
        with no white space and has no raw `]` or no raw `>`, and without `exact` no references; what can't be written
        so is a CDATA section.
        """
        if high == 0:
            return EMPTY
        if high is None and not exact and low <= _MAX_LEAST:
            return self.fitting(Repeat(XML, low))
        if exact and max(low, high or 0) <= min(_MAX_EXACT, _MAX_STATES // len(CDATA_END + self.end_tag)):
            text = Repeat(choice(_xml_but("<&\r"), *_UNITS), low, high)
            plain: Regular = And((text, Not(_LAYOUT_FIRST), without(CDATA_END)))
            section = _in_cdata(And((Repeat(_xml_but("\r"), low, high), _spared(self.end_tag))))
        else:
            plain = _counted_plain(low, high, _UNITS if exact else ())
            section = _counted_section(low, high, self.end_tag)
        if self.cdata == "forbidden":
            return plain
        return section if self.cdata == "required" else choice(plain, section)

    def of_length(self, low: int, high: int | None) -> Regular:
        """See `Spelling`."""
        section = _in_cdata(Repeat(_xml_but("\r"), low, high))
        return choice(Repeat(choice(_xml_but("<&\r"), *_UNITS), low, high), section)


_MAX_FAILURES = 8
"""Patterns that may turn out to be too large; those after them are not tried, since each one takes its time."""

_MARKUP = chars("<>&]\r").ranges
_WHITE = chars(" \t\n\r").ranges


class Strings:
    """Makes the languages of constrained strings, as their spelling and the back end want them."""

    def __init__(self, spelling: Spelling, backend: Backend, max_count: int) -> None:
        self._backend = backend
        self._spelling = spelling
        self._failures = 0
        self._max_count = max_count

    def spellings(self, facts: TextFacts, place: str, report: Report) -> Regular | None:
        """Return how the strings that fit the facts are written; None for any string, or any but the empty one.

        NOTHING if no string fits.
        """
        low, high = self._countable(facts, place, report)
        wanted = [*_pattern_languages(facts, place, report), *_format_languages(facts, place, report)]
        if not wanted:
            return self._counted(low, high, place, report)
        found = self._spelled(wanted, low, high)
        if found is not None:
            return found
        # Together they are too much: leave out the length, or else the pattern.
        language = self._spelled(wanted, 0, None) if low or high is not None else None
        if language is None:
            report.add(place, "pattern or format", "is too large for a grammar")
            return self._counted(low, high, place, report)
        if self._backend.intersects:
            return And((language, self._spelling.of_length(low, high)))
        report.add(place, "minLength or maxLength", "is not enforced together with the pattern or format")
        return language

    def _counted(self, low: int, high: int | None, place: str, report: Report) -> Regular | None:
        if high is None and low < 2:
            return None
        exact = self._backend.intersects
        if not self._spelling.counts(low, high, exact=exact):
            report.add(place, "minLength or maxLength", "is not enforced for all text")
        return self._spelling.counted(low, high, exact=exact)

    def _spelled(self, wanted: list[Regular], low: int, high: int | None) -> Regular | None:
        """Return how strings of all these languages are written; None if that is too large, or not tried any more."""
        tree = _narrowed(tuple(wanted), low, high, self._spelling.characters)
        if self._failures >= _MAX_FAILURES and self._spelling.as_it_is(tree) is None:
            return None
        language = _spellings(tree, self._spelling, self._backend)
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


def _pattern_languages(facts: TextFacts, place: str, report: Report) -> list[Regular]:
    found = [(each, pattern(each)) for each in facts.patterns]
    for each, tree in found:
        if tree is None:
            report.add(place, "pattern", f"{each[:80]!r} is not enforced: it is not a regular language, or too large")
    return [tree for _, tree in found if tree is not None]


def _format_languages(facts: TextFacts, place: str, report: Report) -> list[Regular]:
    for each in facts.formats:
        if each not in FORMATS:
            report.add(place, "format", f"{each[:80]!r} is not enforced")
    return [FORMATS[each] for each in facts.formats if each in FORMATS]


def _narrowed(wanted: tuple[Regular, ...], low: int, high: int | None, characters: Chars) -> Regular:
    """Return the values that fit all languages and the length."""
    tree = wanted[0] if len(wanted) == 1 else And(wanted)
    if not low and high is None:
        return tree
    if isinstance(tree, Repeat) and isinstance(tree.part, Chars):
        most = [each for each in (tree.high, high) if each is not None]
        return Repeat(tree.part, max(tree.low, low), min(most) if most else None)
    return And((tree, Repeat(characters, low, high)))


@lru_cache(maxsize=256)
def _spellings(tree: Regular, spelling: Spelling, backend: Backend) -> Regular | None:
    """Return the spellings of a language, None if they are too large for an automaton, or for an expression."""
    if (harmless := spelling.as_it_is(tree)) is not None:
        return harmless
    with suppress(TooLarge):
        language = spelling.fitting(tree, intersects=backend.intersects)
        machine = automaton(language)
        if backend.expressions:
            (terminal if backend.intersects else expression)(language)
        return language if machine.edges else NOTHING
    return None


def _is_harmless(tree: Regular) -> bool:
    """Return whether all strings of a language are written as they are: no markup in them, no layout at the start."""
    return (
        is_simple(tree)
        and not intersect(characters(tree), _MARKUP)
        and not intersect(first_characters(tree), _WHITE)
        and intersect(characters(tree), XML.ranges) == characters(tree)
    )


# The values of enums and constants


_LAYOUT_START = re.compile(r"[ \t]*[\r\n]")
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\ufffe\uffff\x7f"}


def value_spellings(shape: EnumShape, cdata: str, end_tag: str = "") -> tuple[list[Regular], list[Regular]]:
    """Return the spellings that may have white space around them, and those that may not.

    `cdata` is "allowed", "required" or "forbidden"; no section holds the `end_tag`, if one is given.
    """
    loose: list[str] = []
    exact: list[str] = []
    for value in valid_values(shape):
        if not isinstance(value, str):
            loose.append(json_literal(value))
        elif find_forbidden(value, 0, len(value)) < 0:
            spellings = _string_spellings(value, cdata, end_tag)
            (loose if value and value.strip(SPACES) == value else exact).extend(spellings)
    return [literal(each) for each in dict.fromkeys(loose)], [literal(each) for each in dict.fromkeys(exact)]


def _string_spellings(value: str, cdata: str, end_tag: str) -> list[str]:
    """Return how a string is written: as our own renderer does, and with references where that is CDATA."""
    written = write_text(value)
    # A raw CR would be a line feed to other readers.
    if not written.startswith(CDATA_OPEN) and "\r" not in value:
        return [written]
    has_section = written.startswith(CDATA_OPEN) and "\r" not in value and not (end_tag and end_tag in value)
    if cdata == "forbidden" or not has_section:
        return [_escaped(value)]
    return [written, _escaped(value)] if cdata == "allowed" else [written]


def _escaped(value: str) -> str:
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(CDATA_END, "]]&gt;").replace("\r", "&#13;")
    if _LAYOUT_START.match(value) and escaped[0] != "&":
        return f"&#{ord(escaped[0])};{escaped[1:]}"
    return escaped


def json_literal(value: Any) -> str:
    """Return a value as JSON that stands between tags as it is.

    >>> json_literal({"a": "<b>"})
    '{"a": "\\\\u003cb\\\\u003e"}'
    """
    if isinstance(value, (str, list, dict)):
        return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)
    return scalar_text(value)
