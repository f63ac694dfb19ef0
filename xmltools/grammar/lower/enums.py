"""The values of enums and constants as they are written."""

from __future__ import annotations

import json
import re
from typing import Any

from xmltools.grammar.lower.elements import CDATA_END, CDATA_OPEN
from xmltools.grammar.regular.regular import Regular, literal
from xmltools.render.arguments import write_text
from xmltools.render.writable import scalar_text
from xmltools.syntax.markup import SPACES, find_forbidden
from xmltools.tools.schema import EnumShape, find_problems, parts_of

__all__ = ["json_literal", "valid_values", "value_spellings"]

_LAYOUT = re.compile(r"[ \t]*[\r\n]")
_SAID = frozenset(
    ("enum", "const", "type", "$ref", "allOf", "$defs", "definitions", "title", "description", "default", "examples")
)
"""Keywords that the values of a shape fit anyway, or that say nothing about them."""
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\ufffe\uffff\x7f"}


def valid_values(shape: EnumShape) -> list[Any]:
    """Return the values that fit everything else that the schema says, too."""
    if all(_SAID.issuperset(part) for part in parts_of(shape)):
        return shape.values
    return [value for value in shape.values if not find_problems(value, shape)]


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
    if _LAYOUT.match(value) and escaped[0] != "&":
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
