"""The strings of a JSON object while its text still streams in.

Only structure is looked at, and only what is needed to know where the members of the object begin and end; whether the
text is JSON is judged when it is whole. Text is decoded as soon as it is certain: an escape that is cut, or the first
half of a surrogate pair, waits for the rest.
"""

from __future__ import annotations

import json
import re
from typing import Final

_MARK = re.compile(r'["{}\[\],:]')
_WHOLE = re.compile(
    r'(?:[^"\\]++'
    r'|\\["\\/bfnrt]'
    r"|\\u(?![dD][89abAB])[0-9a-fA-F]{4}"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+"
)
"""Content of a string, up to its end or to an escape that is not whole."""
_PAIR: Final = 12
"""Characters of the longest escape, a surrogate pair."""


class MemberReader:
    """Reads the text of one object. `done` says that its closing brace was read."""

    __slots__ = ("_broken", "_depth", "_in_string", "_is_value", "_key", "_tail", "done")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._is_value = False  # a colon stands before what comes
        self._key: list[str] = []
        self._tail = ""  # the beginning of an escape
        self._broken = False
        self.done = False

    def feed(self, text: str) -> list[tuple[str, str]]:
        """Take more text; return what it adds to the strings of the top level, as pairs of name and text."""
        found: list[tuple[str, str]] = []
        text, self._tail = self._tail + text, ""
        at = 0
        while at < len(text) and not self.done and not self._broken:
            at = self._string(text, at, found) if self._in_string else self._structure(text, at)
        return found

    def text(self, text: str) -> str:
        """Take more text; return what it adds to the only string of the top level, whatever its name is."""
        return "".join(value for _, value in self.feed(text))

    def _structure(self, text: str, at: int) -> int:
        mark = _MARK.search(text, at)
        if mark is None:
            return len(text)
        character = mark[0]
        if character == '"':
            self._in_string = True
        elif character in "{[":
            self._depth += 1
        elif character in "}]":
            self._depth -= 1
            self.done = self._depth <= 0
        elif self._depth == 1:
            self._is_value = character == ":"
            if not self._is_value:
                self._key.clear()
        return mark.end()

    def _string(self, text: str, at: int, found: list[tuple[str, str]]) -> int:
        whole = _WHOLE.match(text, at)
        end = whole.end() if whole else at
        if self._depth == 1 and end > at:
            self._keep(_decoded(text[at:end]), found)
        if end == len(text):
            return end
        if text[end] == '"':
            self._in_string = False
            return end + 1
        self._tail = text[end:]
        self._broken = len(self._tail) >= _PAIR  # no more text could make this an escape
        return len(text)

    def _keep(self, text: str, found: list[tuple[str, str]]) -> None:
        if self._is_value:
            found.append(("".join(self._key), text))
        else:
            self._key.append(text)


def _decoded(text: str) -> str:
    decoded: str = json.loads(f'"{text}"', strict=False) if "\\" in text else text
    return decoded
