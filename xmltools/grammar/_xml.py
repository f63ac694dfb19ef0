"""How values stand between tags: plain text with references, CDATA, and what of both fits a constraint.

The languages here are those that our parser reads back exactly, and cleanly (protocol, section 4), less what only
gives a model more ways to say the same: comments, other references, empty-element tags.
"""

from __future__ import annotations

from functools import lru_cache

from xmltools.grammar._automata import Words, automaton, encoded, intersect
from xmltools.grammar._regular import (
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
    literal,
    optional,
    sequence,
    star,
    subtract,
)

__all__ = [
    "ANYTHING",
    "CDATA",
    "CDATA_END",
    "CDATA_OPEN",
    "PLAIN",
    "XML",
    "between_spaces",
    "cdata_section",
    "counted_text",
    "fitting_text",
    "plain_text",
    "without",
]

CDATA_OPEN, CDATA_END = "<![CDATA[", "]]>"

ANY = Chars(((0, LAST),))
ANYTHING = star(ANY)
XML = chars("\t\n\r", (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, LAST))
"""The characters that XML 1.0 has."""
SPACE = chars(" \t\n")
"""White space that a model may write between elements. Our parser takes CR too; no model needs it."""

REFERENCES = tuple(map(literal, ("&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#9;", "&#10;", "&#13;")))
_WORDS: Words = {ord("<"): ("&lt;",), ord(">"): ("&gt;",), ord("&"): ("&amp;",), ord("\r"): ("&#13;",)}


def without(needle: str) -> Regular:
    """Return all texts in which `needle` does not stand."""
    return Not(sequence(ANYTHING, literal(needle), ANYTHING))


def _but(but: str) -> Chars:
    return Chars(subtract(XML.ranges, chars(but).ranges))


def _spared(end_tag: str) -> list[Regular]:
    """Return what a CDATA section must be besides its characters: without its own end, and perhaps an end tag."""
    return [without(CDATA_END), *([without(end_tag)] if end_tag else [])]


@lru_cache(maxsize=2)
def plain_text(*, filled: bool = False) -> Regular:
    """Return plain text; `filled`: with a character that no reader takes for layout."""
    raw, visible = _but("<&"), _but("<& \t\r\n")
    anywhere = star(choice(raw, *REFERENCES))
    text = sequence(anywhere, choice(visible, *REFERENCES), anywhere) if filled else anywhere
    return And((text, without(CDATA_END)))


@lru_cache(maxsize=8)
def cdata_section(*, filled: bool = False, end_tag: str = "") -> Regular:
    """Return a CDATA section; `filled`: not an empty one; without the `end_tag`, if one is given."""
    content = (
        And((star(XML), without(CDATA_END), without(end_tag))) if end_tag else And((star(XML), without(CDATA_END)))
    )
    if filled:
        content = And((*content.parts, Not(EMPTY)))
    return sequence(literal(CDATA_OPEN), content, literal(CDATA_END))


PLAIN = plain_text()
CDATA = cdata_section()


def between_spaces(value: Regular, spaces: Regular) -> Regular:
    """Return a value that may have white space around it."""
    return sequence(spaces, value, spaces)


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
    spelled = encoded(machine, _but("<&\r").ranges, _WORDS)
    return automaton(And((spelled, Not(_LAYOUT_FIRST), without(CDATA_END))))


def _section(machine: Automaton, end_tag: str) -> Regular:
    # A raw CR would be a line feed to other readers, who then count and match another text.
    content = And((machine, star(_but("\r")), *_spared(end_tag)))
    return sequence(literal(CDATA_OPEN), automaton(content), literal(CDATA_END))


def _needs_cdata(machine: Automaton) -> bool:
    """Return whether a writer may want CDATA for one of the strings: for markup in it, or layout at its start."""
    starts = machine.edges[0] if machine.edges else ()
    return any(intersect(ranges, _NEEDS_MORE) for row in machine.edges for ranges, _ in row) or any(
        intersect(ranges, SPACE.ranges) for ranges, _ in starts
    )


def counted_text(low: int, high: int | None, *, cdata: str, exact: bool = False) -> Regular:
    """Return the spellings of all strings of `low` to `high` characters. Raises TooLarge.

    `exact` is for a back end that intersects by itself. For others, counting and looking out for `]]>` and for layout
    at once would take an automaton of that many states, and counting characters that can be references makes
    xgrammar slower a thousand times. So there, a text with an upper bound has no references, and no raw `]` or no raw
    `>`, and begins with no white space; what can't be written so is a CDATA section.
    """
    if high == 0:
        return EMPTY
    if high is None and not exact:
        return fitting_text(Repeat(XML, low), cdata=cdata)
    plain = _exact_plain(low, high) if exact else _counted_plain(low, high)
    if cdata == "forbidden":
        return plain
    section = _exact_section(low, high) if exact else _counted_section(low, high)
    return section if cdata == "required" else choice(plain, section)


_UNITS = tuple(map(literal, ("&lt;", "&gt;", "&amp;", "&#13;", "&#9;", "&#10;", "&#32;")))


def _exact_plain(low: int, high: int | None) -> Regular:
    text = Repeat(choice(_but("<&\r"), *_UNITS), low, high)
    return And((text, Not(_LAYOUT_FIRST), without(CDATA_END)))


def _exact_section(low: int, high: int | None) -> Regular:
    content = And((Repeat(_but("\r"), low, high), without(CDATA_END)))
    return sequence(literal(CDATA_OPEN), content, literal(CDATA_END))


def _counted_plain(low: int, high: int | None) -> Regular:
    rest = max(low - 1, 0), None if high is None else high - 1
    filled = [sequence(_but("<& \t\r\n" + spared), Repeat(_but("<&\r" + spared), *rest)) for spared in "]>"]
    return choice(*filled) if low else optional(choice(*filled))


def _counted_section(low: int, high: int | None) -> Regular:
    content = choice(*(Repeat(_but("\r" + spared), low, high) for spared in "]>"))
    return sequence(literal(CDATA_OPEN), content, literal(CDATA_END))
