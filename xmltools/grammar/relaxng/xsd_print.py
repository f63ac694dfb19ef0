"""Regular languages as XSD regular expressions, of those that libxml2 gets right.

Its counters, as in `a{2,5}`, fail where what follows may begin with the same characters, and so do sets like `[^a]`:
counts are written out, and sets say what is in them. A repeated group at the end of an alternative would repeat after
the other alternatives too, if there weren't an empty choice after it.
"""

from __future__ import annotations

import re

from xmltools.grammar.regular.regular import (
    ALL,
    LAST,
    Chars,
    Choice,
    Ranges,
    Regular,
    Repeat,
    Sequence,
    chars,
    subtract,
)

__all__ = ["Unsayable", "print_xsd", "xsd_literal"]

MAX_LENGTH = 20_000
"""Characters of an expression, its counts written out."""
MAX_DEPTH = 45
"""Groups in each other: libxml2 takes 50."""
_BLOCK = 20

_XML = chars("\t\n\r", (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, LAST)).ranges
_NO_XML = subtract(ALL, _XML)
_SPECIAL = re.compile(r"[\\|.?*+(){}\[\]^$\-\t\n\r]")
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "$": "$"}


class Unsayable(Exception):  # noqa: N818 - no error, an answer
    """XSD has no words for a language, or needs too many."""


def xsd_literal(text: str) -> str:
    """Return the expression that matches just this text."""
    return _SPECIAL.sub(lambda match: _ESCAPES.get(match[0], "\\" + match[0]), text)


def print_xsd(tree: Regular) -> str:
    """Return the expression of a language. Raises Unsayable."""
    text, depth = _printed(tree)
    if depth > MAX_DEPTH:
        raise Unsayable
    return text


def _printed(tree: Regular) -> tuple[str, int]:
    """Return an expression, and how deep the groups in it are."""
    if isinstance(tree, Chars):
        return _set_text(tree.ranges), 0
    if isinstance(tree, Repeat):
        return _repeated(tree)
    assert isinstance(tree, (Sequence, Choice))  # patterns are read without intersections and complements
    parts = [_printed(part) for part in tree.parts]
    depth = max((depth for _, depth in parts), default=0)
    texts = [text for text, _ in parts]
    if isinstance(tree, Sequence):
        return _checked("".join(texts)), depth
    return _checked(f"({'|'.join(texts)})"), depth + 1


def _checked(text: str) -> str:
    if len(text) > MAX_LENGTH:
        raise Unsayable
    return text


def _repeated(tree: Repeat) -> tuple[str, int]:
    text, depth = _printed(tree.part)
    single = isinstance(tree.part, Chars)
    if not single:
        text, depth = f"({text})", depth + 1
    if len(text) * max(tree.low, tree.high or 0) > MAX_LENGTH:
        raise Unsayable
    if tree.high is None:
        head = text * max(tree.low - 1, 0)
        sign = "+" if tree.low else "*"
        return (f"{head}{text}{sign}", depth) if single else (f"{head}({text}{sign}(|))", depth + 1)
    tail, tail_depth = _up_to(text, tree.high - tree.low)
    return _checked(text * tree.low + tail), depth + tail_depth


def _up_to(text: str, count: int) -> tuple[str, int]:
    """Return up to `count` copies, in blocks, so that groups don't get too deep."""
    if count <= _BLOCK:
        return f"(|{text}" * count + ")" * count, count
    blocks, rest = divmod(count, _BLOCK)
    tail, depth = _up_to(text, rest)
    fewer, fewer_depth = _up_to(text, _BLOCK - 1)
    tail = f"({fewer}|{text * _BLOCK}" * blocks + tail + ")" * blocks
    return tail, blocks + max(depth, fewer_depth)


def _set_text(ranges: Ranges) -> str:
    """Return a set of characters, as far as XML has them."""
    there = subtract(ranges, _NO_XML)
    if not there:
        raise Unsayable
    if there == _XML:
        return r"[\s\S]"
    if len(there) == 1 and there[0][0] == there[0][1]:
        return xsd_literal(chr(there[0][0]))
    return f"[{''.join(map(_range_text, there))}]"


def _range_text(pair: tuple[int, int]) -> str:
    """Return a range of a set. What is escaped cannot be an end of one: it stands alone."""
    first, last = pair
    before = behind = ""
    while first <= last and _SPECIAL.match(chr(first)):
        before += xsd_literal(chr(first))
        first += 1
    while first <= last and _SPECIAL.match(chr(last)):
        behind += xsd_literal(chr(last))
        last -= 1
    dash = "-" if last > first + 1 else ""
    middle = "" if first > last else chr(first) if first == last else f"{chr(first)}{dash}{chr(last)}"
    return before + middle + behind
