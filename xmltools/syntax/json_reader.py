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
from typing import Any, ClassVar, Final, NoReturn

from xmltools.errors import Code
from xmltools.syntax.json_scanner import ESCAPES, KEY, NEXT, OVER, JSONScanner, decode_escapes, end_of, up_to
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


class JSONNumberError(JSONError):
    """A number is too large, or has zeros in front."""


class JSONEscapeError(JSONError):
    """A string contains backslashes that can mean two things: `hint` shows how to write them."""

    hint: ClassVar[str] = (
        "Write each backslash in a JSON string as two (C:\\\\dir), "
        "or write the arguments as XML elements, where a backslash is itself."
    )


class _RefusedError(ValueError):
    """A value is refused; whoever reads it knows where it is."""


def loads(text: str, *, depth: int = 64) -> tuple[Any, list[Slip]]:
    """Read JSON text with at most `depth` containers inside one another.

    Returns the value and what was repaired, each kind once. Raises `JSONError` for everything else that is not JSON,
    and for repeated keys, NaN, infinities, lone surrogates and integers of more than 4,300 digits.
    """
    return _read(text, depth)


def loads_clean(text: str, depth: int) -> Any:
    """Read JSON that needs no repair. Raises `JSONError`, or what `json` raises, for any other text."""
    # Counting brackets is fast and settles most texts; the scan that knows strings is for the others.
    if text.count("{") + text.count("[") > depth:
        level = 0
        for match in _NESTING.finditer(text):
            level += 1 if match[0] in "[{" else -(match[0] in "]}")
            if level > depth:
                raise JSONDepthError(f"more than {depth} levels of nesting", match.start())
    if raw := None if text.isascii() else _SURROGATE.search(text):
        raise JSONError("a surrogate that is half a character", raw.start())
    if ("\\ud" in text or "\\uD" in text) and (end := end_of(_PAIRED, text)) < len(text):
        raise JSONError("an escaped surrogate that is half a character", end)
    return _decode(text)


def loads_lenient(text: str, *, depth: int = 64, loose: bool = False) -> tuple[Any, list[Slip]]:
    """Read JSON as models write it, which may be a Python literal, or something between the two.

    In lists and objects, strings may be in single quotes; `True`, `False`, `None` and tuples (they become lists)
    are read, and one closing brace too many. A backslash that begins no escape of JSON stays in its string.
    `loose`: keys without quotes, flags (`--key value`) and comments are read too.

    Returns and raises as `loads` does, each slip with a code of its own; the error is that of the text read as JSON.
    Raises `JSONNumberError` for numbers that are too large, or have zeros in front.
    Raises `JSONEscapeError` for backslashes that could be meant one way or the other: a string with one that begins no
    escape and with one of `\\b \\f \\n \\r \\t`, or with `\\\\` at its beginning, and escapes that Python has and JSON
    has not in a Python literal.
    """
    return _read(text, depth, loose=loose, is_lenient=text.lstrip(SPACES).startswith(("{", "[", "(")))


def _read(text: str, depth: int, *, loose: bool = False, is_lenient: bool = False) -> tuple[Any, list[Slip]]:
    try:
        return loads_clean(text, depth), []
    except (json.JSONDecodeError, _RefusedError, RecursionError):
        refused = None
    except JSONError as error:
        if not is_lenient:
            raise
        refused = error
    reader = LenientReader(text, depth, read_number, loose=loose)
    place = 0
    try:
        read = reader.read()
        if is_lenient or _STRICT.issuperset(reader.slips):
            return read
    except JSONError as error:
        if is_lenient and type(error) is not JSONError:
            raise
        if refused:
            raise refused from None
        place = error.offset
    message = "not JSON"
    try:  # what is wrong with it as JSON, apart from slips of any JSON
        json.loads(_LAST_COMMA.sub(lambda found: found[1] or " ", text), strict=False, **_HOOKS)
    except json.JSONDecodeError as wrong:  # each class has a name of its own, or it can't be compiled
        message, place = wrong.msg[:1].lower() + wrong.msg[1:], wrong.pos
    except _RefusedError as unlike:
        message = str(unlike)
    raise JSONError(message, place)


# What is checked before the JSON is read. All patterns are possessive: no backtracking, so linear time.

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
"""A string; also one that never ends, so that no search starts again inside it."""
_NESTING = late_pattern(_STRING + r"|[\[{]|[\]}]", re.DOTALL)
_LAST_COMMA = late_pattern(rf"({_STRING}|[\[{{,:][{SPACES}]*+,)|,(?=[{SPACES}]*+[\]}}])", re.DOTALL)
"""A comma after a last member, or, in a group, text that can't be one."""
_SURROGATE = late_pattern(r"[\ud800-\udfff]")
_PAIRED = late_pattern(
    r"(?:[^\\]++|\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])|[^u]))*+", re.DOTALL
)
"""Text up to the first escape of a surrogate that has no partner."""


# JSON, which the standard library reads, with hooks that refuse. A hook does not know where it is.

_REPEATED: Final = "a key that is repeated"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _RefusedError(_REPEATED)
    return result


def max_digits() -> int:
    """Return how many digits an integer may have: `MAX_DIGITS`, or fewer if this Python was told to read fewer."""
    return min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS)


def _integer(literal: str) -> int:
    if len(literal) > sys.int_info.str_digits_check_threshold and len(literal.lstrip("-")) > max_digits():
        raise _RefusedError(f"an integer of more than {max_digits()} digits")
    return int(literal)


def _number(literal: str) -> float:
    value = float(literal)
    if math.isinf(value):
        raise _RefusedError("a number that is too large")
    return value


def _constant(literal: str) -> NoReturn:
    raise _RefusedError(f"{literal} is no JSON")


_HOOKS: Final[dict[str, Any]] = {
    "object_pairs_hook": _object,
    "parse_int": _integer,
    "parse_float": _number,
    "parse_constant": _constant,
}
_decode = json.JSONDecoder(**_HOOKS).decode


# JSON and Python literals, mixed.

_CONTROL = re.compile(r"[\x00-\x1f]")
_NUMBER = late_pattern(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_DIGITS = "[0-9]++(?:_[0-9]++)*+"
_PYTHON_NUMBER = late_pattern(
    r"[-+]?(?:(?P<base>0(?:[xX](?:_?[0-9a-fA-F]){1,3500}+|[oO](?:_?[0-7]){1,3500}+|[bB](?:_?[01]){1,3500}+))"
    rf"|(?=\.?[0-9])(?P<zeros>0+(?=[0-9]))?(?:{_DIGITS})?+(?P<part>(?:\.(?:{_DIGITS})?+)?(?:[eE][+-]?{_DIGITS})?))"
)
"""A number of JSON or Python, or one with zeros in front. Longer hexadecimal ones may have more than
`MAX_DIGITS` digits."""
_WORDS: Final = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_UP_TO_NO_ESCAPE = {quote: up_to(f"(?!{escape})") for quote, escape in ESCAPES.items()}
_UP_TO_WHITE_SPACE = up_to("[bfnrt]")
_UP_TO_PYTHON = up_to(r"(?:x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|N\{|[0-7]|[\r\n])")
_SERVER = re.compile(r"\\\\(?!\\)")
_END = "<\0"
"""Is put on a line after a text: it ends comments and words, and is not allowed anywhere."""


def read_number(word: str) -> Any:  # in compiled code an integer that is declared as a float becomes one
    """Read a number of JSON or Python. Raises `ValueError` for one that is too large, or has zeros in front."""
    number = _PYTHON_NUMBER.fullmatch(word)
    if not number or number["zeros"]:
        raise _RefusedError("a number with zeros in front")
    if number["base"]:
        return int(word, 0)
    word = word.replace("_", "")
    return _number(word) if number["part"] else _integer(word)


class LenientReader(JSONScanner):
    """Makes the value of a text, which `read` returns. `slips` is what was repaired, each kind once, at its first
    place. `number` makes the value of a number, as `read_number` does.

    With `is_call` the text is the arguments of a call in Python, from its bracket on: `(path="a.py", lines=[1, 2])`.
    With `marks` it is an object whose keys have no quotes, and whose strings are between the first of them, with
    nothing escaped: `{path:<|"|>a.py<|"|>,lines:[1,2]}`. Their value is a dictionary. An argument without a name is an
    error.
    """

    comma = -1
    """The last one."""
    escape = -1
    """The first one that only Python has."""

    def __init__(
        self,
        text: str,
        depth: int,
        number: Callable[[str], Any],
        *,
        loose: bool = False,
        is_call: bool = False,
        marks: tuple[str, ...] = (),
    ) -> None:
        """The options are those of `JSONScanner`."""
        super().__init__(depth, loose=loose, is_call=is_call, marks=marks)
        self.number = number
        self.source = text
        self.is_literal = self._is_call or self.marks != ()  # Python's literals are how these are written
        self.slips: dict[Code, Slip] = {}
        self.open: list[list[Any]] = [[]]  # what is in each open object or list: in an object, keys with their places

    def read(self) -> tuple[Any, list[Slip]]:
        """Return the value of the whole text and the slips."""
        text = f"{self.source}\n{_END}"
        try:
            at = self.scan(text, 0)
        except _RefusedError as error:
            raise JSONNumberError(str(error), self.place) from None
        if not self.done:
            message = self.error or "a string that does not end"
            raise JSONError(message, min(self.place, len(self.source)))
        ((value,),) = self.open
        if not self.is_literal:
            at = self.skip(text, at)
            if text[at] == "}" and isinstance(value, dict):
                self.note(Code.JSON_EXTRA_BRACE, "dropped a closing brace that closed nothing", at)
                at = self.skip(text, at + 1)
        if at < len(self.source):
            raise JSONError("more text after the value", at)
        if self.is_literal or Code.PYTHON_LITERAL in self.slips:
            self.slips.pop(Code.JSON_TRAILING_COMMA, None)  # Python has it
            if self.escape >= 0:
                raise JSONEscapeError("an escape that Python has and JSON has not", self.escape)
        return value, sorted(self.slips.values(), key=lambda slip: slip[1])

    def skip(self, text: str, at: int) -> int:
        """Return the place of what follows the value, after white space and comments; something does."""
        self.done, self.error, self.expect = False, "", OVER
        self.scan(text, at)
        return self.place

    def note(self, code: Code, message: str, place: int) -> None:
        """Report a slip."""
        if code is not Code.PYTHON_LITERAL or not self.is_literal:
            self.slips.setdefault(code, (code, place, message))

    def on_open(self) -> None:
        """Begin a value."""
        if self.stack[-1] == ")" and not self.has_keys:
            self.note(Code.PYTHON_LITERAL, "read a tuple as a list", self.place)
        self.open.append([])

    def on_close(self) -> None:
        """Make the value of what ends."""
        items = self.open.pop()
        if items and self.expect != NEXT:
            self.note(Code.JSON_TRAILING_COMMA, "dropped a comma after a last member", self.comma)
        elif self.stack[-1] == ")" and len(items) == 1:
            raise JSONError("a tuple of one item needs a comma", self.place)
        if not self.has_keys:
            self.open[-1].append(items)
            return
        members: dict[str, Any] = {}
        for (key, place), value in zip(items[::2], items[1::2], strict=True):
            if key in members:
                raise JSONError(_REPEATED, place)
            members[key] = value
        self.open[-1].append(members)

    def on_sign(self, character: str) -> None:
        """Note what is repaired. The keys of what is a set are its items."""
        if character == ",":
            self.comma = self.place
        elif character == "=" and self._mark:
            self.note(Code.JSON_KEY, "read = as :", self.place)
        elif character == "/":
            if self._is_call:
                raise JSONError("'/' is not allowed there", self.place)
            self.note(Code.STRAY_TEXT, "dropped a comment", self.place)
        elif character == "{":
            self.note(Code.PYTHON_LITERAL, "read a set as a list", self.place)
            keys = self.open.pop()
            if len(keys) > 1:
                raise JSONError("expected a colon", self.place)
            self.open.append([key for key, _ in keys])

    def on_end(self, end: int) -> None:
        """Make a key or a value of its text."""
        start, is_string, is_top = self.place, self.quote != "", len(self.stack) == 1
        word = self.string(end) if is_string else self.source[start:end]
        if self.expect == NEXT:
            self.note(Code.PYTHON_LITERAL, "joined two strings", start)
            self.open[-1][-1] += word
            return
        if self.expect != KEY:
            self.open[-1].append(word if is_string else self.scalar(word))
            return
        if not is_string:
            word = word.strip()
            self.note(Code.PYTHON_LITERAL, "read a key without quotes", start)
        if self._is_call and (is_string == is_top or (is_top and not word.isidentifier())):
            raise JSONError("expected an argument with its name" if is_top else "expected a key in quotes", start)
        self.open[-1].append((word, start))

    def scalar(self, word: str) -> Any:
        """Return the number that is written, or the constant."""
        if number := _PYTHON_NUMBER.fullmatch(word):
            if not (number["zeros"] or _NUMBER.fullmatch(word)):
                self.note(Code.PYTHON_LITERAL, f"read the number {word:.40}", self.place)
            return self.number(word)
        if word not in _WORDS:
            raise JSONError("expected a value", self.place)
        if word[0] in "TFN":
            self.note(Code.PYTHON_LITERAL, f"read {word} of Python", self.place)
        return _WORDS[word]

    def string(self, end: int) -> str:
        """Return what a string means that begins with its quote, and ends before another one."""
        quote, start = self.quote, self.place
        if quote == "<":
            return self.source[start + len(self._mark) : end]
        at = start + len(self._inside)
        inside = self.source[at:end]
        if (opening := self.source[start:at]) != '"':
            self.note(Code.PYTHON_LITERAL, f"read a string that begins with {opening}", start)
        if not self.is_escaped:
            return inside
        if at - start <= 2 and (control := _CONTROL.search(inside)):
            self.note(Code.JSON_LINE_BREAK, "kept a line break or tab in a string", at + control.start())
        odd = end_of(_UP_TO_NO_ESCAPE[quote], inside)
        if odd < len(inside):  # one backslash stands for itself: may another one?
            doubt = 0 if _SERVER.match(inside) else end_of(_UP_TO_WHITE_SPACE, inside)
            if doubt < len(inside):
                said = f"{inside[odd : odd + 2]!r} is no escape, so {inside[doubt : doubt + 2]!r} may be none either"
                raise JSONEscapeError(said, at + doubt)
            python = end_of(_UP_TO_PYTHON, inside)
            if python < len(inside) and self.escape < 0:
                self.escape = at + python
            self.note(Code.JSON_ESCAPE, "kept a backslash that begins no escape", at + odd)
        value = decode_escapes(inside, quote)
        if _SURROGATE.search(value):
            raise JSONError("a surrogate that is half a character", start)
        return value
