"""The JSON of a block while it is written: where it ends, and deltas by path, as those of elements (protocol, 6.7).

Only what is in the object with the arguments has a path.
"""

from __future__ import annotations

from xmltools.dialects import Dialect
from xmltools.models.events import ArgumentDelta, Event
from xmltools.syntax.element_tree import Element
from xmltools.syntax.json_scanner import SET, JSONScanner
from xmltools.tools.schema import ANY, ArrayShape, Shape

Path = tuple[str | int, ...]


class JSONObject(JSONScanner):
    """The JSON in a block: its body, which may have the tool's name, or its arguments.

    `start` and `end` are its places in the stream. `element` is the one that holds it, if the rules for values end it.
    `lacks_brace`: its last brace is missing; `extra_brace`: another one followed. `unsure`: the reply ends after it,
    and was cut off if it is not whole. `is_written`: its numbers are read as they are written. `events` are its deltas,
    until they are fetched; `path` is that of the value that is being read, if it `tells`.
    """

    def __init__(self, start: int, dialect: Dialect, depth: int, *, is_body: bool = False) -> None:
        pairs = None if is_body else dialect.pairs
        super().__init__(
            depth,
            has_names=is_body,
            loose=True,
            is_call=pairs is not None and pairs.python,
            marks=(pairs.quote, dialect.start + pairs.name, dialect.closer) if pairs and pairs.quote else (),
        )
        if dialect.opener.lstrip("[(")[:1].isalpha():  # it may begin as a list or a word of JSON does
            self.opener = dialect.opener
        self.start = start
        self.end = -1
        self.is_body = is_body
        self.element: Element | None = None
        self.lacks_brace = False
        self.extra_brace = False
        self.unsure = False
        self.is_written = False
        self.events: list[Event] = []
        self.path: Path = ()
        self._shape: Shape | None = None
        self._within: tuple[str, ...] = ()
        # What is open: its path, None if it has no deltas, its shape, and how many items it had, -1 for an object.
        self._frames: list[tuple[Path | None, Shape, int]] = []

    def begin_deltas(self, shape: Shape | None, keys: tuple[str, ...]) -> None:
        """The tool is named. `shape` is that of the arguments, if it is known; `keys` are those that may have the
        arguments: the first always does, another one unless the tool has an argument of that name. Without keys the
        whole object is the arguments."""
        self._shape = shape or ANY
        self._within = keys

    def on_name(self) -> None:
        """Stop after a name, which may be that of the tool."""
        self.stopped = True

    def on_open(self) -> None:
        """Find the path and the shape of an object or list."""
        path: Path | None
        if self._frames:
            path, shape = self._next()
            if shape.opens("", "") is None:
                path = None  # by its schema it is neither
        elif self._shape is None:
            return
        else:
            shape, key, keys = self._shape, self.key, self._within
            is_arguments = not keys or key == keys[0] or (key in keys and not shape.has_property(key or ""))
            path = () if self.has_keys and is_arguments else None
        self._frames.append((path, shape, -1 if self.has_keys else 0))

    def on_close(self) -> None:
        """Go back to what the object or list is in."""
        if self._frames:
            self._frames.pop()

    def on_value(self) -> bool:
        """Find the path of a string, number or word. A string for a list or an object is converted as a whole."""
        path, shape = self._next() if self._frames else (None, ANY)
        if path is None:
            return False
        self.path = path
        return not self.quote or shape.is_any or shape.opens("", "") is None

    def on_text(self, text: str) -> None:
        """Make a delta."""
        self.events.append(ArgumentDelta.make(self.path, text))

    def _next(self) -> tuple[Path | None, Shape]:
        """The path and the shape of the next value in the innermost object or list."""
        path, shape, number = self._frames[-1]
        key = self.key
        if path is None or self.stack[-1] == SET:  # whose first item may have been taken for a key
            return None, ANY
        if number < 0:
            return (None, ANY) if key is None or (not path and shape.wraps(key)) else ((*path, key), shape.child(key))
        self._frames[-1] = path, shape, number + 1
        for each in shape.alternatives:
            if isinstance(each, ArrayShape):
                return (*path, number), each.item(number)
        return (*path, number) if shape.is_any else None, ANY
