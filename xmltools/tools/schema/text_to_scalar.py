"""Text to scalar values: (value, was it written in an unusual way?), or None if it is no such value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from xmltools.syntax.json_reader import max_digits
from xmltools.syntax.late_patterns import late_pattern
from xmltools.tools.schema.equality import equal

WHITE_SPACE = " \t\r\n"
"""The white space of XML. Python's own notion is much wider."""

Read = tuple[Any, bool] | None

# ASCII digits only: int() and float() also take '1_000', full-width digits, 'nan' and 'infinity'.
_NUMBER = late_pattern(r"(?P<sign>[+-]?)(?P<whole>[0-9]++)(?:\.(?P<part>[0-9]++))?(?:[eE](?P<power>[+-]?[0-9]++))?")
_BOOLEANS = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
_NULLS = ("null", "none", "nil", "")


_QUOTED = late_pattern(r"""(["'])([^"']*)\1""")


def read_scalar(text: str, type: str) -> Read:
    """Read trimmed `text` as an integer, number, boolean or null. The first three may stand in quotes."""
    read = _READERS[type](text)
    if read is None and type != "null" and (inside := _inside_quotes(text)):
        read = _READERS[type](inside)
        return (read[0], True) if read else None
    return read


def _inside_quotes(text: str) -> str:
    """Return what stands in the quotes around a text, trimmed; nothing if there are none."""
    match = _QUOTED.fullmatch(text)
    return match[2].strip(WHITE_SPACE) if match else ""


def _integer(text: str) -> Read:
    match = _NUMBER.fullmatch(text)
    most = max_digits()
    if not match or len(text) > most + 1:
        return None
    part, power = match["part"] or "", int(match["power"] or 0)
    digits, shift = match["whole"] + part, power - len(part)
    if shift > most - len(digits):
        return (0, True) if not digits.strip("0") else None
    if shift < 0:
        # All that the point or a negative power cuts off must be zeros.
        digits, rest = (digits[:shift] or "0", digits[shift:])
        if rest.strip("0"):
            return None
    value = int(digits) * 10 ** max(shift, 0)
    plain = match["part"] is None and match["power"] is None and _is_plain(match)
    return (-value if match["sign"] == "-" else value), not plain


def _number(text: str) -> Read:
    match = _NUMBER.fullmatch(text)
    if not match:
        return None
    if match["part"] is None and match["power"] is None:
        return _integer(text)
    value = float(text)
    return (value, not _is_plain(match)) if math.isfinite(value) else None


def _is_plain(match: re.Match[str]) -> bool:
    whole = match["whole"]
    return match["sign"] != "+" and (len(whole) == 1 or whole[0] != "0")


def _boolean(text: str) -> Read:
    value = _BOOLEANS.get(text.lower())
    return None if value is None else (value, text not in ("true", "false"))


def _null(text: str) -> Read:
    return (None, text != "null") if text.lower() in _NULLS else None


_READERS: dict[str, Callable[[str], Read]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
}


def read_enum(text: str, values: list[Any]) -> Read:
    """Read `text` as one of the values: exactly, then trimmed, then as JSON, then without regard to case."""
    strings = [value for value in values if isinstance(value, str)]
    others = [value for value in values if not isinstance(value, (str, list, dict))]
    trimmed = text.strip(WHITE_SPACE)
    for candidate in (text, trimmed):
        if candidate in strings:
            return candidate, False
    found = [(value, read) for value in others if (read := _read_as(trimmed, value))]
    found.sort(key=lambda pair: pair[1][1])
    if found and not found[0][1][1]:
        return found[0][0], False
    folded = [value for value in strings if value.strip(WHITE_SPACE).casefold() == trimmed.casefold()]
    if folded:
        return folded[0], True
    return (found[0][0], True) if found else None


def _read_as(text: str, value: Any) -> Read:
    """Read `text` as the scalar `value`, if that is what it says."""
    kind = "null" if value is None else "boolean" if isinstance(value, bool) else "number"
    read = _READERS[kind](text)  # quotes would make it a string, which an enum may have too
    return read if read and equal(read[0], value) else None
