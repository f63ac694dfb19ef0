"""The values of enums and constants as they are written."""

from __future__ import annotations

import json
import re
from typing import Any

from xmltools._markup import SPACES, find_forbidden
from xmltools.grammar._regular import Regular, literal
from xmltools.grammar._xml import CDATA_END, CDATA_OPEN
from xmltools.render._elements import write_text
from xmltools.render._values import scalar_text
from xmltools.schema import EnumShape, find_problems

__all__ = ["json_literal", "valid_values", "value_spellings"]

_LAYOUT = re.compile(r"[ \t]*[\r\n]")
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\ufffe\uffff\x7f"}


def valid_values(shape: EnumShape) -> list[Any]:
    """Return the values that fit everything else that the schema says, too."""
    return [value for value in shape.values if not find_problems(value, shape)]


def value_spellings(shape: EnumShape, cdata: str) -> tuple[list[Regular], list[Regular]]:
    """Return the spellings that may have white space around them, and those that may not."""
    loose: list[str] = []
    exact: list[str] = []
    for value in valid_values(shape):
        if not isinstance(value, str):
            loose.append(json_literal(value))
        elif find_forbidden(value, 0, len(value)) < 0:
            spellings = _string_spellings(value, cdata)
            (loose if value and value.strip(SPACES) == value else exact).extend(spellings)
    return [literal(each) for each in dict.fromkeys(loose)], [literal(each) for each in dict.fromkeys(exact)]


def _string_spellings(value: str, cdata: str) -> list[str]:
    """Return how a string is written: as our own renderer does, and with references where that is CDATA."""
    written = write_text(value)
    if not written.startswith(CDATA_OPEN):
        return [written]
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(CDATA_END, "]]&gt;").replace("\r", "&#13;")
    if _LAYOUT.match(value):
        escaped = f"&#{ord(escaped[0])};{escaped[1:]}" if escaped[0] != "&" else escaped
    return [escaped] if cdata == "forbidden" else [written, escaped] if cdata == "allowed" else [written]


def json_literal(value: Any) -> str:
    """Return a value as JSON that stands between tags as it is.

    >>> json_literal({"a": "<b>"})
    '{"a": "\\\\u003cb\\\\u003e"}'
    """
    if isinstance(value, (str, list, dict)):
        return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)
    return scalar_text(value)
