"""How Go spells values: `%q` of its `fmt`, and the JSON of its `encoding/json`. `%v` stands with the models."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.models.pretty import Spelling, digits, pieces, value_text

__all__ = ["json_text", "quote", "value_text"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def json_text(value: Any) -> str:
    """Return a value as Go's JSON: compact, keys sorted, `<`, `>`, `&` and the line ends of Unicode escaped.

    Integers are written with all their digits. Raises XMLToolsError for what JSON has no word for.
    """
    return "".join(pieces(value, _JSON))


def quote(text: str) -> str:
    """Return a text in quotes, as `%q` does: what cannot be seen is escaped.

    Half a surrogate pair is the replacement character: that is what Go reads in its place.
    """
    text = _SURROGATE.sub("\ufffd", text)
    return f'"{_NOT_PLAIN.sub(_escaped, text)}"'


# What Python and Go call printable is the same: letters, marks, numbers, punctuation, symbols and the space.

_NOT_PLAIN = re.compile(r'["\\]|[^ -~]')
_SIMPLE = {'"': '\\"', "\\": "\\\\"} | dict(zip("\a\b\f\n\r\t\v", map("\\{}".format, "abfnrtv"), strict=True))


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _SIMPLE:
        return _SIMPLE[character]
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# JSON


def _json_scalar(value: Any) -> str:
    if isinstance(value, str):
        return _json_string(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float):
        return _json_float(float(value))
    if not isinstance(value, int):
        raise XMLToolsError(f"arguments: expected values that JSON has, got {type(value).__name__}")
    try:
        return int.__repr__(value)
    except ValueError:
        raise XMLToolsError("arguments: expected integers of at most 4300 digits, got a longer one") from None


def _json_float(value: float) -> str:
    if not math.isfinite(value):
        raise XMLToolsError(f"arguments: expected numbers that JSON has, got {value}")
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return f"{digits(value):f}"
    return f"{digits(value):e}"


def _json_key(name: Any) -> str:
    if not isinstance(name, str):
        raise XMLToolsError(f"arguments: expected keys that are strings, got {type(name).__name__}")
    return f"{_json_string(name)}:"


_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_IS_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def _json_string(text: str) -> str:
    return _IS_ESCAPED.sub(lambda m: _HTML.get(m[0], "\\ufffd"), json.dumps(text, ensure_ascii=False))


_JSON = Spelling("{", "}", ",", _json_key, _json_scalar)
