"""JSON from models: read strictly, within limits, in linear time.

Models write JSON where XML was asked for, and it is untrusted: a key that is repeated, an infinity or a lone
surrogate would mean one thing here and another thing to the next reader, so all of these are errors. Two
slips are mended and reported: raw line breaks in strings, and a comma behind the last member.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from xmltools.errors import Code

__all__ = ["MAX_DIGITS", "JSONDepthError", "JSONError", "Slip", "loads", "loads_lenient", "max_digits"]

MAX_DIGITS = 4300
"""Digits that an integer may have: reading one takes quadratic time, and CPython stops at the same number."""

Slip = tuple[Code, int, str]
"""Something that was mended: its code, its offset in the text, and a message."""


class JSONError(ValueError):
    """The text is not the JSON that we accept: `message` says why, `offset` where in the text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} (at character {offset})")
        self.message = message
        self.offset = offset


class JSONDepthError(JSONError):
    """The text nests too deep."""


def loads(text: str, *, depth: int = 64) -> tuple[Any, list[Slip]]:
    """Read JSON text with at most `depth` containers inside one another.

    Returns the value and what was mended, each kind once. Raises `JSONError` for everything else that is no
    JSON, and for repeated keys, NaN, infinities, lone surrogates and integers of more than 4,300 digits.
    """
    _check_depth(text, depth)
    _check_surrogates(text)
    try:
        return _load(text, strict=True), []
    except json.JSONDecodeError as error:
        mended, slips = _mend(text)
        if not slips:
            raise JSONError(_plain(error), error.pos) from None
    try:
        return _load(mended, strict=False), slips
    except json.JSONDecodeError as error:
        raise JSONError(_plain(error), error.pos) from None


def loads_lenient(text: str, *, depth: int = 64) -> tuple[Any, list[Slip]]:
    """Read JSON text or, if it is none, a Python literal.

    That is dicts, lists, tuples (they become lists), strings, numbers, True, False and None. Returns and
    raises as `loads` does; the error is that of the text read as JSON.
    """
    try:
        return loads(text, depth=depth)
    except JSONError as error:
        if not _CONTAINER.match(text):
            raise
        try:
            return _load_literal(text, depth), []
        except JSONError:
            raise error from None


# What is checked before the JSON is read. All patterns are possessive: no backtracking, so linear time.

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
"""A string; also one that never ends, so that no search starts again inside it."""
_NESTING = re.compile(_STRING + r"|[\[{]|[\]}]", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIRED = re.compile(
    r"(?:[^\\]++|\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])|[^u]))*+",
    re.DOTALL,
)
"""Text up to the first escape of a surrogate that has no partner."""


def _check_depth(text: str, limit: int) -> None:
    # Counting brackets is fast and settles most texts; the scan that knows strings is for the others.
    if text.count("{") + text.count("[") <= limit:
        return
    level = 0
    for match in _NESTING.finditer(text):
        token = match[0]
        if token in "[{":
            level += 1
            if level > limit:
                raise JSONDepthError(f"more than {limit} levels of nesting", match.start())
        elif token in "]}":
            level -= 1


def _check_surrogates(text: str) -> None:
    raw = _SURROGATE.search(text)
    if raw:
        raise JSONError("a surrogate that is half a character", raw.start())
    if "\\ud" not in text and "\\uD" not in text:
        return
    end = _end_of(_PAIRED, text)
    if end < len(text):
        raise JSONError("an escaped surrogate that is half a character", end)


def _end_of(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


# Reading with hooks that refuse. A hook does not know where it is; the place is looked for afterwards.


class _RefusedError(Exception):
    def __init__(self, message: str, literal: str | None = None) -> None:
        self.message = message
        self.literal = literal


def _load(text: str, *, strict: bool) -> Any:
    try:
        return json.loads(
            text,
            strict=strict,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_constant,
        )
    except _RefusedError as error:
        raise JSONError(error.message, _locate(text, error.literal)) from None
    except RecursionError:
        raise JSONError("too deeply nested", 0) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _RefusedError("a key that is repeated")
    return result


def max_digits() -> int:
    """Return how many digits an integer may have: `MAX_DIGITS`, or fewer if this Python was told to read fewer."""
    return min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS)


def _integer(literal: str) -> int:
    most = max_digits()
    if len(literal.lstrip("-")) > most:
        raise _RefusedError(f"an integer of more than {most} digits", literal)
    return int(literal)


def _number(literal: str) -> float:
    value = float(literal)
    if math.isinf(value):
        raise _RefusedError("a number that is too large", literal)
    return value


def _constant(literal: str) -> NoReturn:
    raise _RefusedError(f"{literal} is no JSON", literal)


def _locate(text: str, literal: str | None) -> int:
    """Return where the refused literal (None: a repeated key) stands in a text that is JSON up to there."""
    return _find_repeated_key(text) if literal is None else _find_literal(text, literal)


def _find_literal(text: str, literal: str) -> int:
    for match in re.finditer(_STRING + r"|[^\s,:\[\]{}\"]++", text, re.DOTALL):
        if match[0] == literal:
            return match.start()
    return 0


def _find_repeated_key(text: str) -> int:
    seen: list[set[str]] = []
    for match in re.finditer(rf"({_STRING})[ \t\r\n]*+:|{_STRING}|\{{|\}}", text, re.DOTALL):
        if match[1]:
            key = json.loads(match[1], strict=False)
            if key in seen[-1]:
                return match.start()
            seen[-1].add(key)
        elif match[0] == "{":
            seen.append(set())
        elif match[0] == "}":
            seen.pop()
    return 0


# Mending: one scan that knows strings.

_MENDABLE = re.compile(
    _STRING + r"|[\[{,:][ \t\r\n]*+,|(?P<comma>,)(?=[ \t\r\n]*+[\]}])",
    re.DOTALL,
)
_CONTROL = re.compile(r"[\x00-\x1f]")


def _mend(text: str) -> tuple[str, list[Slip]]:
    """Replace each comma behind a last member by a space, and look for control characters in strings."""
    slips: dict[Code, Slip] = {}
    pieces: list[str] = []
    done = 0
    for match in _MENDABLE.finditer(text):
        if match["comma"]:
            pieces += (text[done : match.start()], " ")
            done = match.end()
            _note(slips, Code.JSON_TRAILING_COMMA, match.start(), "dropped a comma behind a last member")
        elif control := _CONTROL.search(text, match.start(), match.end()) if match[0][0] == '"' else None:
            _note(slips, Code.JSON_LINE_BREAK, control.start(), "kept a line break or tab in a string")
    pieces.append(text[done:])
    return "".join(pieces), list(slips.values())


def _note(slips: dict[Code, Slip], code: Code, offset: int, message: str) -> None:
    slips.setdefault(code, (code, offset, message))


def _plain(error: json.JSONDecodeError) -> str:
    return error.msg[:1].lower() + error.msg[1:]


# Python literals: functions that take a position and return a value and the position behind it.

_CONTAINER = re.compile(r"[ \t\r\n]*+[\[{(]")
_SPACE = re.compile(r"[ \t\r\n]*+")
_QUOTED = re.compile(r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\r\n|.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0"}
_SIMPLE |= {"\\": "\\", "'": "'", '"': '"', "/": "/", "\n": "", "\r\n": ""}
_ATOM = re.compile(
    r"(?P<name>[A-Za-z_]\w*+)|"
    r"(?P<int>-?(?:0|[1-9][0-9]*+))(?P<rest>(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![\w.])",
    re.ASCII,
)
_NAMES = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_CLOSERS = {"[": "]", "(": ")", "{": "}"}


def _load_literal(text: str, depth: int) -> Any:
    try:
        value, at = _value(text, _skip(text, 0), depth)
    except _RefusedError as error:
        raise JSONError(error.message, 0) from None
    if at < len(text):
        raise JSONError("more text behind the value", at)
    return value


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first in _CLOSERS:
        if not depth:
            raise JSONError("too many levels of nesting", at)
        value, at = _members(text, at, depth - 1)
    elif first in ("'", '"'):
        value, at = _quoted(text, at)
    else:
        value, at = _atom(text, at)
    return value, _skip(text, at)


def _members(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Read a dict, list or tuple whose opening bracket stands at `at`."""
    opener = text[at]
    closer = _CLOSERS[opener]
    read: Callable[[str, int, int], tuple[Any, int]] = _pair if opener == "{" else _value
    members: list[Any] = []
    comma = True
    at = _skip(text, at + 1)
    while not text.startswith(closer, at):
        if not comma:
            raise JSONError(f"expected a comma or {closer}", at)
        member, at = read(text, at, depth)
        members.append(member)
        comma = text.startswith(",", at)
        at = _skip(text, at + comma)
    if opener == "(" and len(members) == 1 and not comma:
        raise JSONError("a tuple of one item needs a comma", at)
    return (_object(members) if opener == "{" else members), at + 1


def _pair(text: str, at: int, depth: int) -> tuple[tuple[str, Any], int]:
    if text[at : at + 1] not in ("'", '"'):
        raise JSONError("expected a key in quotes", at)
    key, at = _quoted(text, at)
    at = _skip(text, at)
    if not text.startswith(":", at):
        raise JSONError("expected a colon", at)
    value, at = _value(text, _skip(text, at + 1), depth)
    return (key, value), at


def _quoted(text: str, at: int) -> tuple[str, int]:
    match = _QUOTED.match(text, at)
    if not match:
        raise JSONError("a string that does not end", at)
    value = _ESCAPE.sub(_unescape, match[0][1:-1]) if "\\" in match[0] else match[0][1:-1]
    if _SURROGATE.search(value):
        value = _join_surrogates(value, at)
    return value, match.end()


def _unescape(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if not digits:
        # As in Python, a backslash before anything else is itself. Octal and named characters are not read.
        if match[4] in tuple("xuUN1234567"):
            raise _RefusedError("an escape that cannot be read")
        return _SIMPLE.get(match[4], match[0])
    number = int(digits, 16)
    if number > 0x10FFFF:
        raise _RefusedError("an escape of no character")
    return chr(number)


def _join_surrogates(value: str, at: int) -> str:
    try:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise JSONError("a surrogate that is half a character", at) from None


def _atom(text: str, at: int) -> tuple[Any, int]:
    match = _ATOM.match(text, at)
    if not match or (match["name"] and match["name"] not in _NAMES):
        raise JSONError("expected a value", at)
    if match["name"]:
        return _NAMES[match["name"]], match.end()
    read = _number if match["rest"] else _integer
    return read(match[0]), match.end()
