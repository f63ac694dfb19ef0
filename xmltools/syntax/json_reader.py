"""JSON from models: read strictly, within limits, in linear time.

Models write JSON where XML was asked for, and it is untrusted: a key that is repeated, an infinity or a lone
surrogate would mean one thing here and another thing to the next reader, so all of these are errors. `loads` repairs
two slips and reports them: raw line breaks in strings, and a comma after the last member. `loads_lenient` also reads
what models write where they don't know JSON well: Python literals, backslashes that begin no escape, and one closing
brace too many.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any, NoReturn

from xmltools.errors import Code
from xmltools.syntax.json_scanner import (
    COLON,
    ESCAPES,
    KEY,
    NEXT,
    JSONScanner,
    JSONSink,
    decode_escapes,
    end_of,
    up_to,
)
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import SPACES

MAX_DIGITS = 4300
"""Digits that an integer may have: reading one needs quadratic time, and CPython stops at the same number."""

Slip = tuple[Code, int, str]
"""Something that was repaired: its code, its offset in the text, and a message."""
_STRICT = {Code.JSON_LINE_BREAK, Code.JSON_TRAILING_COMMA}
"""What is repaired in any JSON."""


class JSONError(ValueError):
    """The text is not the JSON that we accept: `message` is why, `offset` where in the text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} (at character {offset})")
        self.message = message
        self.offset = offset


class JSONDepthError(JSONError):
    """The text nests too deep."""


class JSONEscapeError(JSONError):
    """A string contains backslashes that can mean two things: `hint` shows how to write them."""

    hint = (
        "Write each backslash in a JSON string as two (C:\\\\dir), "
        "or write the arguments as XML elements, where a backslash is itself."
    )


class _RefusedError(JSONError):
    """The text is JSON up to a value that is refused."""


def loads(text: str, *, depth: int = 64) -> tuple[Any, list[Slip]]:
    """Read JSON text with at most `depth` containers inside one another.

    Returns the value and what was repaired, each kind once. Raises `JSONError` for everything else that is not JSON,
    and for repeated keys, NaN, infinities, lone surrogates and integers of more than 4,300 digits.
    """
    return _read(text, depth)


def loads_lenient(text: str, *, depth: int = 64, loose: bool = False) -> tuple[Any, list[Slip]]:
    """Read JSON as models write it, which may be a Python literal, or something between the two.

    In lists and objects, strings may be in single quotes; `True`, `False`, `None` and tuples (they become lists)
    are read, and one closing brace too many. A backslash that begins no escape of JSON stays in its string.
    `loose`: keys without quotes and comments are read too.

    Returns and raises as `loads` does, each slip with a code of its own; the error is that of the text read as JSON.
    Raises `JSONEscapeError` for backslashes that could be meant one way or the other: a string with one that begins no
    escape and with one of `\\b \\f \\n \\r \\t`, or with `\\\\` at its beginning, and escapes that Python has and JSON
    has not in a Python literal.
    """
    return _read(text, depth, loose=loose, is_lenient=text.lstrip(SPACES).startswith(("{", "[", "(")))


def loads_call(text: str, *, depth: int = 64) -> tuple[dict[str, Any], list[Slip]]:
    """Read the arguments of a call in Python, from its bracket on: `(path="a.py", lines=[1, 2])`.

    Values are literals of Python or JSON. Returns them by their names, and what was repaired. Raises as `loads` does,
    and for arguments without a name.
    """
    return _ValueReader(text, depth, is_call=True).read()


def loads_marked(text: str, mark: str, *, depth: int = 64) -> tuple[dict[str, Any], list[Slip]]:
    """Read an object whose keys have no quotes, and whose strings stand between marks, with nothing escaped:
    `{path:<|"|>a.py<|"|>,lines:[1,2]}`.

    Returns and raises as `loads` does.
    """
    return _ValueReader(text, depth, mark=mark).read()


def _read(text: str, depth: int, *, loose: bool = False, is_lenient: bool = False) -> tuple[Any, list[Slip]]:
    refused: JSONError | None = None
    place = 0
    try:
        _check_depth(text, depth)
        _check_surrogates(text)
        return _load(text), []
    except (json.JSONDecodeError, _RefusedError, RecursionError):
        pass
    except JSONError as error:
        if not is_lenient:
            raise
        refused = error
    reader = _ValueReader(text, depth, loose=loose)
    try:
        read = reader.read()
        if is_lenient or _STRICT.issuperset(reader.slips):
            return read
    except JSONError as error:
        if is_lenient and isinstance(error, JSONEscapeError):
            raise
        place = error.offset
    raise refused or _error_of(text, place) from None


# What is checked before the JSON is read. All patterns are possessive: no backtracking, so linear time.

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
"""A string; also one that never ends, so that no search starts again inside it."""
_NESTING = late_pattern(_STRING + r"|[\[{]|[\]}]", re.DOTALL)
_LAST_COMMA = late_pattern(rf"({_STRING}|[\[{{,:][{SPACES}]*+,)|,(?=[{SPACES}]*+[\]}}])", re.DOTALL)
"""A comma after a last member, or, in a group, text that can't be one."""
_SURROGATE = late_pattern(r"[\ud800-\udfff]")
_PAIRED = late_pattern(
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
    end = end_of(_PAIRED, text)
    if end < len(text):
        raise JSONError("an escaped surrogate that is half a character", end)


# JSON, which the standard library reads, with hooks that refuse. A hook does not know where it is.


def _load(text: str, *, strict: bool = True) -> Any:
    return json.loads(
        text,
        strict=strict,
        object_pairs_hook=_object,
        parse_int=_integer,
        parse_float=_number,
        parse_constant=_constant,
    )


def _error_of(text: str, place: int) -> JSONError:
    """Return why a text is not JSON, apart from slips of any JSON. A value at `place` may be refused."""
    message = "not JSON"
    try:
        _load(_LAST_COMMA.sub(lambda found: found[1] or " ", text), strict=False)
    except json.JSONDecodeError as error:
        message, place = error.msg[:1].lower() + error.msg[1:], error.pos
    except _RefusedError as error:
        message = error.message
    return JSONError(message, place)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _RefusedError(_REPEATED, 0)
    return result


def max_digits() -> int:
    """Return how many digits an integer may have: `MAX_DIGITS`, or fewer if this Python was told to read fewer."""
    return min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS)


def _integer(literal: str) -> int:
    most = max_digits()
    if len(literal.lstrip("-")) > most:
        raise _RefusedError(f"an integer of more than {most} digits", 0)
    return int(literal)


def _number(literal: str) -> float:
    value = float(literal)
    if math.isinf(value):
        raise _RefusedError("a number that is too large", 0)
    return value


def _constant(literal: str) -> NoReturn:
    raise _RefusedError(f"{literal} is no JSON", 0)


# JSON and Python literals, mixed.

_REPEATED = "a key that is repeated"
_CONTROL = re.compile(r"[\x00-\x1f]")
_ATOM = late_pattern(
    r"(?P<name>[A-Za-z_]\w*+)|"
    r"(?P<int>-?(?:0|[1-9][0-9]*+))(?P<rest>(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![\w.])",
    re.ASCII,
)
_NAMES = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_PYTHON_NAME = late_pattern(r"[A-Za-z_]\w*+", re.ASCII)
_UP_TO_NO_ESCAPE = {quote: up_to(f"(?!{escape})") for quote, escape in ESCAPES.items()}
_UP_TO_WHITE_SPACE = up_to("[bfnrt]")
_UP_TO_PYTHON = up_to(r"(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|N\{|[0-7]|[\r\n])")
_SERVER = re.compile(r"\\\\(?!\\)")
_END = "<\0"
"""Is put on a line after a text: it ends comments and words, and is not allowed anywhere."""


class _ValueReader(JSONSink):
    """Makes the value of one text. `slips` is what was repaired, each kind once, at its first place."""

    def __init__(self, text: str, depth: int, *, loose: bool = False, is_call: bool = False, mark: str = "") -> None:
        super().__init__()
        self.source = text
        self.is_call = is_call
        self.mark = mark
        self.scanner = JSONScanner(depth, sink=self, loose=loose or is_call, is_call=is_call, mark=mark, end=_END)
        self.slips: dict[Code, Slip] = {}
        self.stack: list[Any] = []  # the lists and objects that are open
        self.key_place = 0
        self.keys: dict[int, str] = {}  # of the objects in the stack, by their depth
        self.repeated: dict[int, int] = {}  # places of keys that are repeated, by the same
        self.value: Any = None  # the last that has ended
        self.comma = -1
        self.last_comma = -1  # the first one after a last member
        self.escape = -1  # the first one that only Python has

    def read(self) -> tuple[Any, list[Slip]]:
        """Return the value of the whole text and the slips."""
        try:
            return self._read()
        finally:
            self.scanner.sink = JSONSink()  # a ring of the two would keep the text until the garbage is collected

    def _read(self) -> tuple[Any, list[Slip]]:
        is_literal = self.is_call or self.mark != ""
        try:
            at = self.scanner.scan(f"{self.source}\n{_END}", 0)
            if not self.scanner.done:
                raise self.error()
        except _RefusedError as error:
            raise JSONError(error.message, 0 if is_literal else error.offset or self.scanner.place) from None
        if not is_literal:
            at = self.skip(at)
            if isinstance(self.value, dict) and self.source.startswith("}", at):
                self.note(Code.JSON_EXTRA_BRACE, at, "dropped a closing brace that closed nothing")
                at = self.skip(at + 1)
        if at < len(self.source):
            raise JSONError("more text after the value", at)
        if not is_literal and Code.PYTHON_LITERAL not in self.slips:
            if self.last_comma >= 0:
                self.note(Code.JSON_TRAILING_COMMA, self.last_comma, "dropped a comma after a last member")
        elif self.escape >= 0:
            raise JSONEscapeError("an escape that Python has and JSON has not", self.escape)
        return self.value, sorted(self.slips.values(), key=lambda slip: slip[1])

    def skip(self, at: int) -> int:
        """Return the place after white space and comments behind the value."""
        self.scanner.done, self.scanner.error = False, ""
        self.scanner.scan(f"{self.source}\n{_END}", at)
        return self.scanner.place

    def error(self) -> JSONError:
        """Return why the scanner went no further."""
        scanner, expect = self.scanner, self.scanner.expect
        place = min(scanner.place, len(self.source))
        if scanner.too_deep:
            return JSONError("too many levels of nesting", place)
        if expect in (KEY, COLON) and self.is_argument:
            return self.no_argument(place if expect == KEY else self.key_place)
        if scanner.quote:
            return JSONError("a string that does not end", place)
        if expect == NEXT:
            return JSONError(f"expected a comma or {scanner.stack[-1]}", place)
        what = {COLON: "a colon", KEY: "a key" if self.mark else "a key in quotes"}.get(expect, "a value")
        return JSONError(f"expected {what}", place)

    def note(self, code: Code, offset: int, message: str) -> None:
        """Report a slip."""
        if code is not Code.PYTHON_LITERAL or not (self.is_call or self.mark):  # that is how these are written
            self.slips.setdefault(code, (code, offset, message))

    def add(self, value: Any) -> None:
        """A value has ended."""
        self.value = value
        if not self.stack:
            return
        container = self.stack[-1]
        if isinstance(container, dict):
            container[self.keys[len(self.stack)]] = value
        else:
            container.append(value)

    def open(self, bracket: str, at: int, *, has_keys: bool) -> None:
        """Overrides the method of `JSONSink`, as those that follow do."""
        if bracket == "(" and not has_keys:
            self.note(Code.PYTHON_LITERAL, at, "read a tuple as a list")
        self.stack.append({} if has_keys else [])

    def close(self, at: int) -> None:
        container = self.stack.pop()
        if self.scanner.expect != NEXT and container and self.last_comma < 0:
            self.last_comma = self.comma
        if (
            self.scanner.expect == NEXT
            and self.source[at] == ")"
            and isinstance(container, list)
            and len(container) == 1
        ):
            raise JSONError("a tuple of one item needs a comma", at)
        if len(self.stack) + 1 in self.repeated:
            raise _RefusedError(_REPEATED, next(iter(self.repeated.values())))
        self.add(container)

    def sign(self, character: str, at: int) -> None:
        if character == ",":
            self.comma = at
        elif character == "/":
            if self.is_call:
                raise self.error()
            self.note(Code.STRAY_TEXT, at, "dropped a comment")
        elif character == "=" and self.mark:
            if self.source[self.key_place] in "\"'":
                raise JSONError("expected a colon", at)
            self.note(Code.JSON_KEY, at, "read = as :")

    @property
    def is_argument(self) -> bool:
        """Whether a key is the name of an argument."""
        return self.is_call and len(self.stack) == 1

    def no_argument(self, place: int) -> JSONError:
        return JSONError("expected an argument with its name", place)

    def key(self, key: str, quote: str, at: int) -> None:
        start = self.key_place = self.scanner.place
        key = self.string(start, at) if quote else self.source[start:at].strip()
        if self.is_argument and (quote or not _PYTHON_NAME.fullmatch(key)):
            raise self.no_argument(start)
        if not quote and self.is_call and not self.is_argument:
            raise JSONError("expected a key in quotes", start)
        if not quote:
            self.note(Code.PYTHON_LITERAL, start, "read a key without quotes")
        if key in self.stack[-1]:
            self.repeated.setdefault(len(self.stack), start)
        self.keys[len(self.stack)] = key

    def end(self, quote: str, at: int) -> None:
        start = self.scanner.place
        self.add(self.string(start, at) if quote else self.atom(start, at))

    def string(self, start: int, end: int) -> str:
        """Return the string from its quote on."""
        quote = self.source[start]
        if quote == "<":
            return self.source[start + len(self.mark) : end]
        if quote == "'":
            self.note(Code.PYTHON_LITERAL, start, "read a string in single quotes")
        at = start + 1
        value = self.source[at:end]
        if control := _CONTROL.search(value):
            self.note(Code.JSON_LINE_BREAK, at + control.start(), "kept a line break or tab in a string")
        if "\\" not in value and value.isascii():
            return value
        odd = end_of(_UP_TO_NO_ESCAPE[quote], value)
        if odd < len(value):
            self.check_doubts(value, at, odd)
            self.note(Code.JSON_ESCAPE, at + odd, "kept a backslash that begins no escape")
        value = decode_escapes(value, quote)
        if _SURROGATE.search(value):
            raise JSONError("a surrogate that is half a character", start)
        return value

    def check_doubts(self, inside: str, at: int, odd: int) -> None:
        """Refuse a string in which one backslash stands for itself, if another one may stand for itself or not."""
        doubt = 0 if _SERVER.match(inside) else end_of(_UP_TO_WHITE_SPACE, inside)
        if doubt < len(inside):
            said = f"{inside[odd : odd + 2]!r} is no escape, so {inside[doubt : doubt + 2]!r} may be none either"
            raise JSONEscapeError(said, at + doubt)
        python = end_of(_UP_TO_PYTHON, inside)
        if python < len(inside) and self.escape < 0:
            self.escape = at + python

    def atom(self, start: int, end: int) -> Any:
        """Return the number or word."""
        match = _ATOM.match(self.source, start)
        word = match["name"] if match else ""
        if not match or (word and word not in _NAMES):
            raise JSONError("expected a value", start)
        if not word:
            value: Any = (_number if match["rest"] else _integer)(match[0])
        else:
            value = _NAMES[word]
            if word[0].isupper():
                self.note(Code.PYTHON_LITERAL, start, f"read {word} of Python")
        if match.end() < end:
            raise JSONError(f"expected a comma or {''.join(self.scanner.stack[-1:])}", match.end())
        return value
