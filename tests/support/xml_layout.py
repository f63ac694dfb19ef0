"""The white space of a clean block as XML would have it written, so that other readers find the same values.

The protocol says more of white space than XML does (sections 4.1 and 4.2): carriage returns are kept, which XML turns
into line feeds; white space around CDATA sections is dropped, and so is the line break with which a value begins on a
line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["plain_block"]

SPACES = " \t\r\n"
_TOKEN = re.compile(
    r"<!\[CDATA\[(?P<section>.*?)\]\]>|(?P<comment><!--.*?-->)|(?P<end></)[^>]*>|<[^>]*>|(?P<text>[^<]+)", re.DOTALL
)
_FIRST_BREAK = re.compile(r"[ \t]*(?:\r\n|\n|\r)")
_LAST_BREAK = re.compile(r"(?:\r\n|\n|\r)[ \t]*\Z")

_Run = list[re.Match[str]]


def plain_block(block: str) -> str:
    """Return a clean block with the white space of its values written as XML would have it."""
    return "".join(_pieces(block))


def _pieces(block: str) -> Iterator[str]:
    run: _Run = []  # what has come since the last tag
    for token in _TOKEN.finditer(block):
        if token.lastgroup in ("text", "section", "comment"):
            run.append(token)
            continue
        # Before a start tag there is no value, and in a clean block only white space and comments.
        yield from _value(run) if token["end"] else (each[0] for each in run)
        run = []
        yield token[0].replace("\r", " ")


def _value(run: _Run) -> Iterator[str]:
    """Write the content of a leaf, or what stands in front of the end tag of a node."""
    kinds = [token.lastgroup for token in run]
    first = kinds.index("section") if "section" in kinds else len(run)
    exact = "section" in kinds or "comment" in kinds  # then white space alone is nothing
    framed = False
    for number, token in enumerate(run):
        text = token[0]
        if kinds[number] != "text":
            yield text.replace("\r", "]]>&#13;<![CDATA[" if kinds[number] == "section" else " ")
            continue
        if number < first and (layout := _FIRST_BREAK.match(text)):
            framed = True
            text = text[layout.end() :]
        if framed and number == len(run) - 1:
            text = _without_last_break(text)
        if text.strip(SPACES) or not exact:
            yield text.replace("\r", "&#13;")


def _without_last_break(text: str) -> str:
    # The match is looked for where the white space at the end begins: no text is searched break by break.
    found = _LAST_BREAK.search(text, len(text.rstrip(SPACES)))
    return text[: found.start()] if found else text
