"""How Go spells values: `%v` and `%q` of its `fmt`, and the JSON of its `encoding/json`.

Values are those that Go reads from JSON, so every number is a float64. Both writers go through a value with a stack of
their own: data may nest as deep as it likes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Context, Decimal
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError

__all__ = ["json_text", "quote", "value_text"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def value_text(value: Any) -> str:
    """Return what `%v` makes of a value: `map[a:1 b:[x <nil> true]]`, keys sorted, strings without quotes."""
    return "".join(_pieces(value, _FMT))


def json_text(value: Any) -> str:
    """Return a value as Go's JSON: compact, keys sorted, `<`, `>`, `&` and the line ends of Unicode escaped.

    Integers are written with all their digits. Raises XMLToolsError for what JSON has no word for.
    """
    return "".join(_pieces(value, _JSON))


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


# Values that hold others


class _Spelling(NamedTuple):
    """How one of the writers spells a value that holds others, and how one that holds none."""

    map_start: str
    map_end: str
    separator: str
    key: Callable[[Any], str]
    scalar: Callable[[Any], str]


class _Piece(str):
    """Text that is written as it is."""

    __slots__ = ()


def _pieces(value: Any, spelling: _Spelling) -> Iterator[str]:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, _Piece):
            yield each
        elif isinstance(each, Mapping):
            todo += reversed(_map_pieces(each, spelling))
        elif isinstance(each, (list, tuple)):
            todo += reversed(_list_pieces(each, spelling))
        else:
            yield spelling.scalar(each)


def _map_pieces(value: Mapping[Any, Any], spelling: _Spelling) -> list[Any]:
    # The order of characters is that of their bytes in UTF-8, by which Go sorts.
    pieces: list[Any] = [_Piece(spelling.map_start)]
    for number, (name, each) in enumerate(sorted(value.items(), key=lambda item: str(item[0]))):
        pieces += (_Piece((spelling.separator if number else "") + spelling.key(name)), each)
    return [*pieces, _Piece(spelling.map_end)]


def _list_pieces(value: list[Any] | tuple[Any, ...], spelling: _Spelling) -> list[Any]:
    pieces: list[Any] = [_Piece("[")]
    for number, each in enumerate(value):
        pieces += (_Piece(spelling.separator), each) if number else (each,)
    return [*pieces, _Piece("]")]


# `%v`

_WORDS = {"None": "<nil>", "True": "true", "False": "false"}
_EXACT = Context(prec=40)  # a float has 17 digits; the host's context may have fewer


def _fmt_scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _WORDS[str(value)]
    return _fmt_number(_as_float(value)) if isinstance(value, (int, float)) else str(value)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _fmt_number(value: float) -> str:
    """Return what `%g` makes of a float: the fewest digits that say it, with an exponent from 1e+06 and below 1e-04."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    mantissa, _, exponent = f"{_digits(value):e}".partition("e")
    return f"{mantissa}e{int(exponent):+03d}"


def _digits(value: float) -> Decimal:
    return Decimal(repr(value)).normalize(_EXACT)


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
        return f"{_digits(value):f}"
    return f"{_digits(value):e}"


def _json_key(name: Any) -> str:
    if not isinstance(name, str):
        raise XMLToolsError(f"arguments: expected keys that are strings, got {type(name).__name__}")
    return f"{_json_string(name)}:"


_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_IS_ESCAPED = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def _json_string(text: str) -> str:
    return _IS_ESCAPED.sub(lambda m: _HTML.get(m[0], "\\ufffd"), json.dumps(text, ensure_ascii=False))


_FMT = _Spelling("map[", "]", " ", lambda name: f"{_fmt_scalar(name)}:", _fmt_scalar)
_JSON = _Spelling("{", "}", ",", _json_key, _json_scalar)
