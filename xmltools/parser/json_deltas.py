"""The values in a JSON body while it is written: deltas by path, as those of elements (protocol, 6.7).

`JSONScanner` says what it comes to. Only what is in the object with the arguments has a path.
"""

from __future__ import annotations

from xmltools.models.events import ArgumentDelta, Event
from xmltools.syntax.json_scanner import KEPT, JSONSink
from xmltools.tools.schema import ANY, ArrayShape, Shape

Path = tuple[str | int, ...]


class _Frame:
    """An open object or list: its path, None if it has no deltas, and how many items it had."""

    __slots__ = ("count", "is_list", "path", "shape")

    def __init__(self, path: Path | None, shape: Shape, is_list: bool) -> None:
        self.path = path
        self.shape = shape
        self.is_list = is_list
        self.count = 0


class JSONDeltas(JSONSink):
    """Makes the deltas of a body whose tool is named. `shape` is that of the arguments, if it is known; `keys` are
    those that may have the arguments: the first always does, another one unless the tool has an argument of that name.
    Without keys the whole body is the arguments.

    `events` are the deltas, until they are fetched; `path` is that of the value that is being read, if it `tells`.
    """

    __slots__ = ("_frames", "_key", "_keys", "_shape", "events", "path")

    def __init__(self, shape: Shape | None, keys: tuple[str, ...]) -> None:
        super().__init__()
        self._shape = shape or ANY
        self._keys = keys
        self._key: str | None = None
        self._frames: list[_Frame] = []
        self.path: Path = ()
        self.events: list[Event] = []

    def key(self, key: str, quote: str, start: int, end: int) -> None:
        """Keep the key, if it is short enough for a name."""
        self._key = key if len(key) < KEPT else None

    def open(self, bracket: str, at: int, *, has_keys: bool) -> None:
        """Find the path and the shape of an object or list."""
        if self._frames:
            path, shape = self._place()
            if path is not None and not shape.is_any and shape.opens("", "") is None:
                path = None  # by its schema it is neither
        else:
            path, shape = (() if self._has_arguments(has_keys) else None), self._shape
        self._frames.append(_Frame(path, shape, not has_keys))

    def close(self, bracket: str, at: int) -> None:
        """Go back to what the object or list is in."""
        if self._frames:
            self._frames.pop()

    def begin(self, quote: str, at: int) -> None:
        """Find the path of a string, number or word."""
        self.tells = False
        if not self._frames or self._frames[-1].path is None:
            return
        path, shape = self._place()
        # A number never is a string; a string for a list or an object is converted as a whole.
        is_told = quote != "" if shape.is_text else shape.is_any or quote == "" or shape.opens("", "") is None
        if path is not None and is_told:
            self.path = path
            self.tells = True

    def text(self, text: str) -> None:
        """Make a delta."""
        self.events.append(ArgumentDelta.make(self.path, text))

    def _has_arguments(self, has_keys: bool) -> bool:
        key, keys = self._key, self._keys
        if not keys or not has_keys:
            return has_keys
        return key is not None and key in keys and (key == keys[0] or not self._shape.has_property(key))

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
