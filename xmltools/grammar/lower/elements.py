"""How values stand between tags: plain text with references, CDATA, and what of both fits a constraint.

The languages here are those that our parser reads back exactly, and cleanly (protocol, section 4), less what only
gives a model more ways to say the same: comments, other references, empty-element tags.
"""

from __future__ import annotations

from functools import lru_cache

from xmltools.grammar.regular.automata import Words, automaton, encoded
from xmltools.grammar.regular.regular import (
    ANYTHING,
    EMPTY,
    LAST,
    And,
    Automaton,
    Chars,
    Choice,
    Not,
    Regular,
    Repeat,
    chars,
    choice,
    intersect,
    literal,
    optional,
    sequence,
    star,
    subtract,
)

__all__ = [
    "CDATA_END",
    "CDATA_OPEN",
    "SPACE",
    "XML",
    "cdata_section",
    "counted_spellings",
    "counted_text",
    "fitting_text",
    "plain_text",
    "without",
]

CDATA_OPEN, CDATA_END = "<![CDATA[", "]]>"

_MAX_EXACT = 80
"""Characters that are counted together with a complement: llguidance gives up between 150 and 200, or with several."""
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
    raw, visible = _xml_but("<&"), _xml_but("<& \t\r\n")
    anywhere = star(choice(raw, *_REFERENCES))
    text = sequence(anywhere, choice(visible, *_REFERENCES), anywhere) if filled else anywhere
    return And((text, without(CDATA_END)))


@lru_cache(maxsize=8)
def cdata_section(*, filled: bool = False, end_tag: str = "") -> Regular:
    """Return a CDATA section; `filled`: not an empty one; without the `end_tag`, if one is given."""
    content = And((star(XML), _spared(end_tag)))
    if filled:
        content = And((*content.parts, Not(EMPTY)))
    return sequence(literal(CDATA_OPEN), content, literal(CDATA_END))


# Constrained strings. `decoded` is the language of the value, what is returned that of its spelling.

_LAYOUT_FIRST = sequence(star(chars(" \t")), chars("\r\n"), ANYTHING)
_NEEDS_MORE = chars("<&").ranges


def fitting_text(decoded: Regular, *, cdata: str, end_tag: str = "") -> Regular:
    """Return the spellings of the strings of a language. Raises TooLarge.

    `cdata` is "allowed", "required" or "forbidden"; what needs no CDATA section is written without one in any case.
    """
    machine = automaton(And((decoded, star(XML))))
    plain = _plain(machine)
    if cdata == "forbidden" or not _needs_cdata(machine):
        return plain
    section = _section(machine, end_tag)
    return section if cdata == "required" else Choice((plain, section))


def _plain(machine: Automaton) -> Automaton:
    """Return the plain spellings: what a reader would take for layout, and CDATA's end, are left out."""
    spelled = encoded(machine, _xml_but("<&\r").ranges, _WORDS)
    return automaton(And((spelled, Not(_LAYOUT_FIRST), without(CDATA_END))))


def _section(machine: Automaton, end_tag: str) -> Regular:
    # A raw CR would be a line feed to other readers, who then count and match another text.
    content = And((machine, star(_xml_but("\r")), _spared(end_tag)))
    return sequence(literal(CDATA_OPEN), automaton(content), literal(CDATA_END))


def _needs_cdata(machine: Automaton) -> bool:
    """Return whether a writer may want CDATA for one of the strings: for markup in it, or layout at its start."""
    starts = machine.edges[0] if machine.edges else ()
    return any(intersect(ranges, _NEEDS_MORE) for row in machine.edges for ranges, _ in row) or any(
        intersect(ranges, SPACE.ranges) for ranges, _ in starts
    )


def counted_text(low: int, high: int | None, *, cdata: str, end_tag: str = "", exact: bool = False) -> Regular:
    """Return the spellings of all strings of `low` to `high` characters. Raises TooLarge.

    No CDATA section holds the `end_tag`, if one is given.

    `exact` is for a back end that intersects by itself, and can count and look out for `]]>` and for layout at once, if
    it does not count far. For others that would take an automaton of so many states, and counting characters that can
    be references makes xgrammar slower a thousand times. So otherwise what is counted begins with no white space and
    has no raw `]` or no raw `>`, and without `exact` no references; what can't be written so is a CDATA section.
    """
    if high == 0:
        return EMPTY
    if high is None and not exact and low <= _MAX_LEAST:
        return fitting_text(Repeat(XML, low), cdata=cdata, end_tag=end_tag)
    counts = exact and max(low, high or 0) <= _MAX_EXACT
    plain = _exact_plain(low, high) if counts else _counted_plain(low, high, _UNITS if exact else ())
    if cdata == "forbidden":
        return plain
    section = _exact_section(low, high, end_tag) if counts else _counted_section(low, high, end_tag)
    return section if cdata == "required" else choice(plain, section)


def counted_spellings(low: int, high: int | None) -> Regular:
    """Return the spellings of strings of `low` to `high` characters, and other texts: it is for intersections."""
    section = sequence(literal(CDATA_OPEN), Repeat(_xml_but("\r"), low, high), literal(CDATA_END))
    return choice(Repeat(choice(_xml_but("<&\r"), *_UNITS), low, high), section)


_UNITS = tuple(map(literal, ("&lt;", "&gt;", "&amp;", "&#13;", "&#9;", "&#10;", "&#32;")))


def _exact_plain(low: int, high: int | None) -> Regular:
    text = Repeat(choice(_xml_but("<&\r"), *_UNITS), low, high)
    return And((text, Not(_LAYOUT_FIRST), without(CDATA_END)))


def _exact_section(low: int, high: int | None, end_tag: str) -> Regular:
    content = And((Repeat(_xml_but("\r"), low, high), _spared(end_tag)))
    return sequence(literal(CDATA_OPEN), content, literal(CDATA_END))


def _counted_plain(low: int, high: int | None, units: tuple[Regular, ...]) -> Regular:
    """Return plain text; `units` are the references that may stand where it is counted."""
    ways: list[Regular] = []
    for spared in "]>":
        first, character = choice(_xml_but("<& \t\r\n" + spared), *units), choice(_xml_but("<&\r" + spared), *units)
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
    return sequence(literal(CDATA_OPEN), choice(*ways), literal(CDATA_END))
