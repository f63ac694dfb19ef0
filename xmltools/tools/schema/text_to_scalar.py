"""Text to scalar values. What a text says cleanly, as JSON would write it, is read by the functions in CLEAN; the other
spellings that are understood by those in UNUSUAL. Both take the text of a leaf, and return UNREAD if it is no such
value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from xmltools.syntax.json_reader import max_digits
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import SPACES

"""The white space of XML. Python's own notion is much wider."""
UNREAD: Final = object()
"""The value of a text that has none."""

Read = Callable[[str], Any]

# ASCII digits only: int() and float() also take '1_000', full-width digits, 'nan' and 'infinity'.
_INTEGER = late_pattern(r"-?(0|[1-9][0-9]*+)")
_NUMBER = late_pattern(r"-?(0|[1-9][0-9]*+)((?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)")
_ANY_NUMBER = late_pattern(r"([+-]?)([0-9]++)(?:\.([0-9]++))?(?:[eE]([+-]?[0-9]++))?")
_CLEAN_BOOLEANS = {"true": True, "false": False}
_BOOLEANS = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
_NULLS = ("null", "none", "nil", "")
_QUOTED = late_pattern(r"""(["'])([^"']*)\1""")


def _integer(text: str) -> Any:
    text = text.strip(SPACES)
    match = _INTEGER.fullmatch(text)
    return int(text) if match and len(match[1]) <= max_digits() else UNREAD


def _number(text: str) -> Any:
    text = text.strip(SPACES)
    match = _NUMBER.fullmatch(text)
    if not match:
        return UNREAD
    if match[2]:
        value = float(text)
        return value if math.isfinite(value) else UNREAD
    return int(text) if len(match[1]) <= max_digits() else UNREAD


def _boolean(text: str) -> Any:
    return _CLEAN_BOOLEANS.get(text.strip(SPACES), UNREAD)


def _null(text: str) -> Any:
    return None if text.strip(SPACES) == "null" else UNREAD


def _any_integer(text: str) -> Any:
    match = _ANY_NUMBER.fullmatch(text)
    most = max_digits()
    if not match or len(text) > most + 1:
        return UNREAD
    sign, whole, part, exponent = match.groups("")
    digits, shift = whole + part, int(exponent or 0) - len(part)
    if shift > most - len(digits):
        return UNREAD if digits.strip("0") else 0
    if shift < 0:
        # All that the point or a negative power cuts off must be zeros.
        digits, rest = (digits[:shift] or "0", digits[shift:])
        if rest.strip("0"):
            return UNREAD
    value = int(digits) * 10 ** max(shift, 0)
    return -value if sign == "-" else value


def _any_number(text: str) -> Any:
    match = _ANY_NUMBER.fullmatch(text)
    if not match or not (match[3] or match[4]):
        return _any_integer(text)
    value = float(text)
    return value if math.isfinite(value) else UNREAD


def _any_boolean(text: str) -> Any:
    return _BOOLEANS.get(text.lower(), UNREAD)


def _any_null(text: str) -> Any:
    return None if text.lower() in _NULLS else UNREAD


CLEAN: Final[dict[str, Read]] = {"integer": _integer, "number": _number, "boolean": _boolean, "null": _null}
UNUSUAL: Final[dict[str, Read]] = {
    "integer": _any_integer,
    "number": _any_number,
    "boolean": _any_boolean,
    "null": _any_null,
}
"""Their texts are trimmed."""


def read_unusual(text: str, type: str) -> Any:
    """Read an integer, number, boolean or null in any spelling. The first three may stand in quotes."""
    read, trimmed = UNUSUAL[type], text.strip(SPACES)
    value = read(trimmed)
    if value is UNREAD and type != "null" and (match := _QUOTED.fullmatch(trimmed)):
        inside = match[2].strip(SPACES)
        return read(inside) if inside else UNREAD
    return value
