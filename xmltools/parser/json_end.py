"""Where a JSON object ends: a pushdown reader for streams (protocol, section 6).

Only the shape is read here, so that the object's closing brace is found however the text is cut, and a text that is
no JSON is seen where it goes wrong. Values are made later, from the whole text. A Python literal has the same shape,
but for strings in single quotes and for tuples, which are read here too.
"""

from __future__ import annotations

import re
from typing import Final

_SPACE = re.compile("[ \t\r\n]*")
_SCALAR = re.compile(r"[-+.0-9A-Za-z_]+")
_CLOSES: Final = {"}": "{", "]": "[", ")": "("}
_OPENS: Final = {opens: closes for closes, opens in _CLOSES.items()}
_NAME_LENGTH: Final = 300

# What may come next.
_VALUE: Final = 0
_FIRST: Final = 1  # a value, or the end of the list
_KEY: Final = 2  # a key, or the end of the object
_COLON: Final = 3
_NEXT: Final = 4  # a comma, or an end


class ObjectScanner:
    """Reads one JSON object, which starts at the first character given to `scan`.

    `done`: the closing brace was read; `error`: why the text is no JSON, `too_deep` that it nests deeper
    than `depth`. `in_envelope`: the object would be whole if its own brace were in place of what is wrong.
    Raw line breaks in strings and trailing commas are let through. `names` holds the short strings of the top level
    under one of the `keys`, so that a call's name is known before its end; `seen` holds those of the keys that came.
    """

    __slots__ = (
        "_capture",
        "_depth",
        "_escaped",
        "_expect",
        "_in_scalar",
        "_key",
        "_keys",
        "_quote",
        "_stack",
        "done",
        "error",
        "in_envelope",
        "names",
        "seen",
        "too_deep",
    )

    def __init__(self, depth: int, keys: tuple[str, ...] = ()) -> None:
        self._depth = depth
        self._keys = keys
        self._stack: list[str] = []
        self._expect = _VALUE
        self._quote = ""  # that ends the string
        self._in_scalar = False
        self._escaped = False
        self._capture: list[str] | None = None
        self._key = ""
        self.done = False
        self.error = ""
        self.in_envelope = False
        self.too_deep = False
        self.names: dict[str, str] = {}
        self.seen: set[str] = set()

    def scan(self, text: str, at: int) -> int:
        """Read on from `at`; returns the place after what was read (at an error: its place)."""
        while at < len(text) and not self.done and not self.error:
            if self._quote:
                at = self._string(text, at)
            elif self._in_scalar:
                at = self._scalar(text, at)
            else:
                found = _SPACE.match(text, at)
                at = found.end() if found else at
                at = self._token(text, at) if at < len(text) else at
        return at

    @property
    def missing(self) -> str:
        """What closes all that is open."""
        return "".join(_OPENS[bracket] for bracket in reversed(self._stack))

    def _token(self, text: str, at: int) -> int:
        character = text[at]
        expect = self._expect
        if character in "\"'" and expect <= _KEY:
            self._quote = character
            self._capture = [] if len(self._stack) == 1 else None
        elif character in "{[(" and expect <= _FIRST:
            self._open(character)
        elif character in "}])" and expect != _VALUE and expect != _COLON:
            self._close(character)
        elif character == "," and expect == _NEXT:
            self._expect = _KEY if self._stack[-1] == "{" else _FIRST
        elif character == ":" and expect == _COLON:
            self._expect = _VALUE
        elif expect <= _FIRST and _SCALAR.match(character):
            self._in_scalar = True
        else:
            self.error = f"{character!r} is not allowed there"
            self.in_envelope = expect == _NEXT and len(self._stack) == 1
            return at
        return at + 1

    def _open(self, bracket: str) -> None:
        self._stack.append(bracket)
        self._expect = _KEY if bracket == "{" else _FIRST
        if len(self._stack) > self._depth:
            self.too_deep = True
            self.error = f"it nests more than {self._depth} deep"

    def _close(self, bracket: str) -> None:
        if self._stack[-1] != _CLOSES[bracket]:
            self.error = f"{bracket!r} closes nothing that is open"
            return
        self._stack.pop()
        self._expect = _NEXT
        self.done = not self._stack

    def _scalar(self, text: str, at: int) -> int:
        """Numbers and words, which any cut may split; whether it is one is seen when the value is made."""
        found = _SCALAR.match(text, at)
        at = found.end() if found else at
        if at < len(text):
            self._in_scalar = False
            self._expect = _NEXT
        return at

    def _string(self, text: str, at: int) -> int:
        start = at
        if self._escaped:
            self._escaped = False
            at += 1
        quote = text.find(self._quote, at)
        while True:
            if 0 <= quote < at:
                quote = text.find(self._quote, at)
            end = quote if quote >= 0 else len(text)
            backslash = text.find("\\", at, end)
            if backslash < 0:
                break
            at = backslash + 2
        if at > len(text):
            self._escaped = True
        self._keep(text, start, end)
        if quote < 0:
            return len(text)
        self._quote = ""
        self._end_string()
        return quote + 1

    def _keep(self, text: str, start: int, end: int) -> None:
        if self._capture is not None and len(self._capture) < _NAME_LENGTH:
            self._capture.append(text[start : min(end, start + _NAME_LENGTH)])

    def _end_string(self) -> None:
        string = "" if self._capture is None else "".join(self._capture)
        if self._expect == _KEY:
            self._expect = _COLON
            self._key = string
            if self._capture is not None and string in self._keys:
                self.seen.add(string)
            return
        self._expect = _NEXT
        if self._key in self._keys and self._capture is not None and len(string) < _NAME_LENGTH:
            self.names.setdefault(self._key, string)
