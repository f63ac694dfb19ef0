"""The values in a JSON body while it is written: deltas by path, as those of elements (protocol, 6.7).

`ObjectScanner` says what it comes to. Only what is in the object with the arguments has a path. Strings are decoded
piece by piece, each escape when all of it is there, to what `loads_lenient` makes of the whole.
"""

from __future__ import annotations

import re
from typing import Final

from xmltools.models.events import ArgumentDelta, Event
from xmltools.syntax.json_reader import SIMPLE_ESCAPES, decode_escapes
from xmltools.tools.schema import ANY, ArrayShape, Shape

Path = tuple[str | int, ...]

_ESCAPE_LENGTH: Final = 6
_PART: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_HALF: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")
"""The escape of half a character: another one follows."""


class _Frame:
    """An open object or list: its path, None if it has no deltas, and how many items it had."""

    __slots__ = ("count", "is_list", "path", "shape")

    def __init__(self, path: Path | None, shape: Shape, is_list: bool) -> None:
        self.path = path
        self.shape = shape
        self.is_list = is_list
        self.count = 0


class JSONDeltas:
    """Makes the deltas of a body whose tool is named. `shape` is that of the arguments, if it is known; `keys` are
    those that may have the arguments: the first always does, another one unless the tool has an argument of that name.
    Without keys the whole body is the arguments.

    `events` are the deltas, until they are fetched; `path` is that of the string that is being read, None if it has no
    deltas, and `pending` the beginning of an escape in it.
    """

    __slots__ = ("_frames", "_key", "_keys", "_shape", "events", "path", "pending")

    def __init__(self, shape: Shape | None, keys: tuple[str, ...]) -> None:
        self._shape = shape or ANY
        self._keys = keys
        self._key: str | None = None
        self._frames: list[_Frame] = []
        self.path: Path | None = None
        self.pending = ""
        self.events: list[Event] = []

    def key(self, raw: str | None, quote: str) -> None:
        """A key was read; None: one that is too long for a name."""
        self._key = decode_escapes(raw, single=quote == "'") if raw and "\\" in raw else raw

    def open(self, bracket: str) -> None:
        """An object or a list begins."""
        is_list = bracket != "{"
        if self._frames:
            path, shape = self._place()
            if path is not None and not shape.is_any and shape.opens("", "") is None:
                path = None  # by its schema it is neither
        else:
            path, shape = (() if self._has_arguments(is_list) else None), self._shape
        self._frames.append(_Frame(path, shape, is_list))

    def close(self) -> None:
        """The object or list that was opened last ends."""
        if self._frames:
            self._frames.pop()

    def begin(self, *, is_string: bool) -> None:
        """A string, or a number or word, begins."""
        self.path = None
        if not self._frames or self._frames[-1].path is None:
            return
        path, shape = self._place()
        if shape.is_text:  # a number never is a string
            self.path = path if is_string else None
        elif shape.is_any or not is_string or shape.opens("", "") is None:
            self.path = path  # else the string stands for a list or an object, and is converted as a whole

    def text(self, raw: str, quote: str, *, is_end: bool) -> None:
        """More of the string between quotes, or, without quotes, of the number or word."""
        if self.path is None:
            return
        if quote and (self.pending or "\\" in raw):
            raw = self.decode(raw, quote)
            if is_end and self.pending:
                raw += decode_escapes(self.pending, single=quote == "'")
                self.pending = ""
        if raw:
            delta = ArgumentDelta()
            delta.path = self.path
            delta.text = raw
            self.events.append(delta)

    def decode(self, raw: str, quote: str) -> str:
        """Return what more of a string means, but for an escape at its end that is not whole."""
        raw = self.pending + raw if self.pending else raw
        first = raw.find("\\")
        if first < 0:
            return raw
        if first == len(raw) - 1:
            self.pending = "\\"
            return raw[:first]
        simple = SIMPLE_ESCAPES.get(raw[first + 1])
        if simple is not None and raw[first + 1] != "'" and raw.find("\\", first + 2) < 0:
            self.pending = ""
            return raw[:first] + simple + raw[first + 2 :]
        held = _find_part(raw)
        self.pending = raw[held:]
        return decode_escapes(raw[:held], single=quote == "'")

    def _has_arguments(self, is_list: bool) -> bool:
        key = self._key
        if not self._keys:
            return not is_list
        if is_list or key is None or key not in self._keys:
            return False
        return key == self._keys[0] or not self._shape.has_property(key)

    def _place(self) -> tuple[Path | None, Shape]:
        """The path and the shape of the next value in the innermost object or list."""
        frame, key = self._frames[-1], self._key
        if frame.path is None:
            return None, ANY
        if not frame.is_list:
            return (None, ANY) if key is None else ((*frame.path, key), frame.shape.child(key))
        number = frame.count
        frame.count += 1
        array = next((each for each in frame.shape.alternatives if isinstance(each, ArrayShape)), None)
        if array is None and not frame.shape.is_any:
            return None, ANY
        return (*frame.path, number), array.item(number) if array is not None else ANY


def _find_part(raw: str) -> int:
    """Where the end of the text cuts off an escape, or the first of two that are one character; else its length."""
    place = raw.rfind("\\", max(0, len(raw) - _ESCAPE_LENGTH))
    if place < 0 or not _begins_escape(raw, place):
        return len(raw)
    before = place - _ESCAPE_LENGTH
    if _PART.fullmatch(raw, place):
        return before if before >= 0 and _HALF.fullmatch(raw, before, place) and _begins_escape(raw, before) else place
    return place if _HALF.fullmatch(raw, place) else len(raw)


def _begins_escape(raw: str, place: int) -> bool:
    """Is the backslash at `place` no escaped one itself?"""
    start = place
    while start and raw[start - 1] == "\\":
        start -= 1
    return (place - start) % 2 == 0
