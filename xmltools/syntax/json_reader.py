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
from collections.abc import Callable
from typing import Any, NoReturn

from xmltools.errors import Code
from xmltools.syntax.late_patterns import late_pattern

MAX_DIGITS = 4300
"""Digits that an integer may have: reading one needs quadratic time, and CPython stops at the same number."""

Slip = tuple[Code, int, str]
"""Something that was repaired: its code, its offset in the text, and a message."""


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


def loads(text: str, *, depth: int = 64) -> tuple[Any, list[Slip]]:
    """Read JSON text with at most `depth` containers inside one another.

    Returns the value and what was repaired, each kind once. Raises `JSONError` for everything else that is no
    JSON, and for repeated keys, NaN, infinities, lone surrogates and integers of more than 4,300 digits.
    """
    _check_depth(text, depth)
    _check_surrogates(text)
    try:
        return _load(text, strict=True), []
    except json.JSONDecodeError as error:
        fixed, slips = _fix(text)
        if not slips:
            raise JSONError(_plain(error), error.pos) from None
    try:
        return _load(fixed, strict=False), slips
    except json.JSONDecodeError as error:
        raise JSONError(_plain(error), error.pos) from None


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
    try:
        return loads(text, depth=depth)
    except JSONError as error:
        if not _CONTAINER.match(text):
            raise
        try:
            return _LooseReader(text, loose=loose).read(depth)
        except JSONEscapeError:
            raise
        except JSONError:
            raise error from None


def loads_call(text: str, *, depth: int = 64) -> tuple[dict[str, Any], list[Slip]]:
    """Read the arguments of a call in Python, from its bracket on: `(path="a.py", lines=[1, 2])`.

    Values are literals of Python or JSON. Returns them by their names, and what was repaired. Raises as `loads` does,
    and for arguments without a name.
    """
    return _LooseReader(text, is_call=True).read_object(depth)


def loads_marked(text: str, mark: str, *, depth: int = 64) -> tuple[dict[str, Any], list[Slip]]:
    """Read an object whose keys have no quotes, and whose strings stand between marks, with nothing escaped:
    `{path:<|"|>a.py<|"|>,lines:[1,2]}`.

    Returns and raises as `loads` does.
    """
    return _LooseReader(text, loose=True, mark=mark).read_object(depth)


# What is checked before the JSON is read. All patterns are possessive: no backtracking, so linear time.

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
"""A string; also one that never ends, so that no search starts again inside it."""
_NESTING = late_pattern(_STRING + r"|[\[{]|[\]}]", re.DOTALL)
_SURROGATE = late_pattern("[\ud800-\udfff]")
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
    """Return where the refused literal (None: a repeated key) is in a text that is JSON up to there."""
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

_MENDABLE = late_pattern(
    _STRING + r"|[\[{,:][ \t\r\n]*+,|(?P<comma>,)(?=[ \t\r\n]*+[\]}])",
    re.DOTALL,
)
_CONTROL = re.compile(r"[\x00-\x1f]")


def _fix(text: str) -> tuple[str, list[Slip]]:
    """Replace each comma after a last member by a space, and look for control characters in strings."""
    slips: dict[Code, Slip] = {}
    pieces: list[str] = []
    done = 0
    for match in _MENDABLE.finditer(text):
        if match["comma"]:
            pieces += (text[done : match.start()], " ")
            done = match.end()
            _note(slips, Code.JSON_TRAILING_COMMA, match.start(), "dropped a comma after a last member")
        elif control := _CONTROL.search(text, match.start(), match.end()) if match[0][0] == '"' else None:
            _note(slips, Code.JSON_LINE_BREAK, control.start(), "kept a line break or tab in a string")
    pieces.append(text[done:])
    return "".join(pieces), list(slips.values())


def _note(slips: dict[Code, Slip], code: Code, offset: int, message: str) -> None:
    slips.setdefault(code, (code, offset, message))


def _plain(error: json.JSONDecodeError) -> str:
    return error.msg[:1].lower() + error.msg[1:]


# JSON and Python literals, mixed: methods that take a position and return a value and the position after it.

_CONTAINER = re.compile(r"[ \t\r\n]*+[\[{(]")
_SPACE = re.compile(r"[ \t\r\n]*+")
_QUOTED = late_pattern(r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\"""", re.DOTALL)
_ATOM = late_pattern(
    r"(?P<name>[A-Za-z_]\w*+)|"
    r"(?P<int>-?(?:0|[1-9][0-9]*+))(?P<rest>(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)(?![\w.])",
    re.ASCII,
)
_LONG = 256
_NAMES = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_COMMENTS = late_pattern(r"(?:(?://[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)[ \t\r\n]*+)*+")
_BARE_KEY = late_pattern(r"[A-Za-z_$][\w$-]*+", re.ASCII)
_PYTHON_NAME = late_pattern(r"[A-Za-z_]\w*+", re.ASCII)
_MARKED_KEY = late_pattern(r"[^\r\n:={}\[\]<\"',]+")
_CLOSERS = {"[": "]", "(": ")", "{": "}"}

_ESCAPE = late_pattern(r"""\\(?:u([0-9a-fA-F]{4})|(["'\\/bfnrt])|.)""", re.DOTALL)
SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"', "/": "/"}
"""What is after a backslash, and what both mean."""


def _up_to(escape: str) -> re.Pattern[str]:
    """Return what matches the inside of a string up to the first backslash that begins an `escape`."""
    return late_pattern(rf"(?:[^\\]++|\\(?!{escape}).)*+", re.DOTALL)


_SINGLE_QUOTED_UP_TO_NO_ESCAPE = _up_to(r"""(?!["'\\/bfnrt]|u[0-9a-fA-F]{4})""")
_DOUBLE_QUOTED_UP_TO_NO_ESCAPE = _up_to(r"""(?!["\\/bfnrt]|u[0-9a-fA-F]{4})""")
_UP_TO_WHITE_SPACE = _up_to("[bfnrt]")
_UP_TO_PYTHON = _up_to(r"(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|N\{|[0-7]|[\r\n])")
_SERVER = re.compile(r"\\\\(?!\\)")


class _LooseReader:
    """Reads one text. `slips` is what was repaired, each kind once, at its first place."""

    def __init__(self, text: str, *, loose: bool = False, is_call: bool = False, mark: str = "") -> None:
        self.text = text
        self.loose = loose
        self.is_call = is_call
        self.mark = mark
        self.slips: dict[Code, Slip] = {}
        self.comma = -1  # the first one after a last member
        self.escape = -1  # the first one that only Python has

    def read(self, depth: int) -> tuple[Any, list[Slip]]:
        """Return the value of the whole text and the slips."""
        try:
            value, at = self.value(self.space(0), depth)
        except _RefusedError as error:
            raise JSONError(error.message, 0) from None
        except RecursionError:
            raise JSONError("too deeply nested", 0) from None
        if isinstance(value, dict) and self.text.startswith("}", at):
            self.note(Code.JSON_EXTRA_BRACE, at, "dropped a closing brace that closed nothing")
            at = self.space(at + 1)
        if at < len(self.text):
            raise JSONError("more text after the value", at)
        if Code.PYTHON_LITERAL not in self.slips:
            if self.comma >= 0:
                self.note(Code.JSON_TRAILING_COMMA, self.comma, "dropped a comma after a last member")
        elif self.escape >= 0:
            raise JSONEscapeError("an escape that Python has and JSON has not", self.escape)
        return value, sorted(self.slips.values(), key=lambda slip: slip[1])

    def read_object(self, depth: int) -> tuple[dict[str, Any], list[Slip]]:
        """Return the object that the whole text is, or the arguments of a call, and the slips."""
        try:
            value, at = self.members(0, depth - 1, is_root=True)
        except _RefusedError as error:
            raise JSONError(error.message, 0) from None
        except RecursionError:
            raise JSONError("too deeply nested", 0) from None
        if at < len(self.text):
            raise JSONError("more text after the value", at)
        if self.escape >= 0:
            raise JSONEscapeError("an escape that Python has and JSON has not", self.escape)
        return value, sorted(self.slips.values(), key=lambda slip: slip[1])

    def note(self, code: Code, offset: int, message: str) -> None:
        """Report a slip."""
        if code is Code.PYTHON_LITERAL and (self.is_call or self.mark):
            return  # that is how these are written
        _note(self.slips, code, offset, message)

    def space(self, at: int) -> int:
        """Return the place after white space."""
        match = _SPACE.match(self.text, at)
        end = match.end() if match else at
        if self.loose and self.text.startswith("/", end) and (comments := _COMMENTS.match(self.text, end)):
            self.note(Code.STRAY_TEXT, end, "dropped a comment")
            end = comments.end()
        return end

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """Read any value and the white space after it."""
        first = self.text[at : at + 1]
        if first in _CLOSERS:
            if not depth:
                raise JSONError("too many levels of nesting", at)
            value, at = self.members(at, depth - 1)
        elif first in ("'", '"'):
            value, at = self.quoted(at)
        elif self.mark and self.text.startswith(self.mark, at):
            value, at = self.marked(at)
        else:
            value, at = self.atom(at)
        return value, self.space(at)

    def members(self, at: int, depth: int, *, is_root: bool = False) -> tuple[Any, int]:
        """Read a dict, list or tuple whose opening bracket is at `at`. `is_root`: it is the arguments of a call."""
        text, opener = self.text, self.text[at]
        closer = _CLOSERS[opener]
        is_object = opener == "{" or is_root
        read: Callable[[int, int], tuple[Any, int]] = self.pair if opener == "{" else self.value
        if is_root and self.is_call:
            read = self.argument
        elif opener == "(":
            self.note(Code.PYTHON_LITERAL, at, "read a tuple as a list")
        members: list[Any] = []
        comma = at = self.space(at + 1)
        while not text.startswith(closer, at):
            if comma < 0:
                raise JSONError(f"expected a comma or {closer}", at)
            member, at = read(at, depth)
            members.append(member)
            comma = at if text.startswith(",", at) else -1
            at = self.space(at + (comma >= 0))
        if opener == "(" and not is_root and len(members) == 1 and comma < 0:
            raise JSONError("a tuple of one item needs a comma", at)
        if members and comma >= 0 > self.comma:
            self.comma = comma
        return (_object(members) if is_object else members), at + 1

    def argument(self, at: int, depth: int) -> tuple[tuple[str, Any], int]:
        """Read the name of an argument and its value."""
        name = _PYTHON_NAME.match(self.text, at)
        end = self.space(name.end()) if name else at
        if name is None or not self.text.startswith("=", end):
            raise JSONError("expected an argument with its name", at)
        value, at = self.value(self.space(end + 1), depth)
        return (name[0], value), at

    def marked(self, at: int) -> tuple[str, int]:
        """Read a string between marks: a mark ends it if what follows may follow a string."""
        start = at + len(self.mark)
        end = self.text.find(self.mark, start)
        while end >= 0:
            after = end + len(self.mark)
            if self.text[self.space(after) : self.space(after) + 1] in (",", "}", "]", ":", "=", ""):
                return self.text[start:end], after
            end = self.text.find(self.mark, after)
        raise JSONError("a string that does not end", at)

    def pair(self, at: int, depth: int) -> tuple[tuple[str, Any], int]:
        """Read a key and its value."""
        if self.text[at : at + 1] in ("'", '"'):
            key, at = self.quoted(at)
        elif self.mark:
            return self.marked_pair(at, depth)
        elif self.loose and (bare := _BARE_KEY.match(self.text, at)):
            self.note(Code.PYTHON_LITERAL, at, "read a key without quotes")
            key, at = bare[0], bare.end()
        else:
            raise JSONError("expected a key in quotes", at)
        at = self.space(at)
        if not self.text.startswith(":", at):
            raise JSONError("expected a colon", at)
        value, at = self.value(self.space(at + 1), depth)
        return (key, value), at

    def marked_pair(self, at: int, depth: int) -> tuple[tuple[str, Any], int]:
        """Read a key without quotes, or between marks, and its value."""
        if self.text.startswith(self.mark, at):
            key, at = self.marked(at)
        else:
            bare = _MARKED_KEY.match(self.text, at)
            if bare is None:
                raise JSONError("expected a key", at)
            key, at = bare[0].strip(), bare.end()
        at = self.space(at)
        if self.text.startswith("=", at):
            self.note(Code.JSON_KEY, at, "read = as :")
        elif not self.text.startswith(":", at):
            raise JSONError("expected a colon", at)
        value, at = self.value(self.space(at + 1), depth)
        return (key, value), at

    def quoted(self, at: int) -> tuple[str, int]:
        """Read a string in quotes of either kind."""
        match = _QUOTED.match(self.text, at)
        if not match:
            raise JSONError("a string that does not end", at)
        single, value = match[0][0] == "'", match[0][1:-1]
        if single:
            self.note(Code.PYTHON_LITERAL, at, "read a string in single quotes")
        control = _CONTROL.search(value)
        if control:
            self.note(Code.JSON_LINE_BREAK, at + 1 + control.start(), "kept a line break or tab in a string")
        if "\\" in value:
            value = self.unescaped(value, at + 1, single=single)
        if not value.isascii() and _SURROGATE.search(value):
            value = _join_surrogates(value, at)
        return value, match.end()

    def unescaped(self, inside: str, at: int, *, single: bool) -> str:
        """Return what the inside of a string, at `at`, means with its escapes."""
        odd = _end_of(_SINGLE_QUOTED_UP_TO_NO_ESCAPE if single else _DOUBLE_QUOTED_UP_TO_NO_ESCAPE, inside)
        if odd < len(inside):
            self.check_doubts(inside, at, odd)
            self.note(Code.JSON_ESCAPE, at + odd, "kept a backslash that begins no escape")
        return _ESCAPE.sub(_decoded if single else _decoded_in_json, inside)  # surrogates are joined later

    def check_doubts(self, inside: str, at: int, odd: int) -> None:
        """Refuse a string in which one backslash stands for itself, if another one may stand for itself or not."""
        doubt = 0 if _SERVER.match(inside) else _end_of(_UP_TO_WHITE_SPACE, inside)
        if doubt < len(inside):
            said = f"{inside[odd : odd + 2]!r} is no escape, so {inside[doubt : doubt + 2]!r} may be none either"
            raise JSONEscapeError(said, at + doubt)
        python = _end_of(_UP_TO_PYTHON, inside)
        if python < len(inside) and self.escape < 0:
            self.escape = at + python

    def atom(self, at: int) -> tuple[Any, int]:
        """Read a number or a word."""
        match = _ATOM.match(self.text, at)
        if not match or (match["name"] and match["name"] not in _NAMES):
            raise JSONError("expected a value", at)
        word = match["name"]
        if word:
            if word[0].isupper():
                self.note(Code.PYTHON_LITERAL, at, f"read {word} of Python")
            return _NAMES[word], match.end()
        read = _number if match["rest"] else _integer
        return read(match[0]), match.end()


def decode_escapes(inside: str, *, single: bool) -> str:
    """Return what a part of the inside of a string means: what `loads_lenient` makes of it, where that takes it.
    `single`: the string is in single quotes."""
    if len(inside) > _LONG:  # the same, if it is JSON without slips
        try:
            plain: str = json.loads(f'"{inside}"', strict=False)
            return plain
        except ValueError:
            pass
    value = _ESCAPE.sub(_decoded if single else _decoded_in_json, inside)
    if value.isascii() or not _SURROGATE.search(value):
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _decoded(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return SIMPLE_ESCAPES[match[2]] if match[2] else match[0]


def _decoded_in_json(match: re.Match[str]) -> str:
    return match[0] if match[2] == "'" else _decoded(match)


def _join_surrogates(value: str, at: int) -> str:
    try:
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise JSONError("a surrogate that is half a character", at) from None
