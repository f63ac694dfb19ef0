"""What the parser says while text streams in.

One event is made for every chunk of a stream, so what an object costs decides what the parser costs. In a list, on
CPython 3.11: a frozen dataclass takes 250 ns, a class with `__slots__` and `__init__` 105 ns, one without `__init__`,
whose attributes are set by its maker, 75 ns, a bare tuple 50 ns. So the two deltas have no constructor arguments;
`make` is for all places that are not hot. Events compare by value, print themselves and work in `match` statements;
treat them as immutable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from xmltools.errors import CallError, Notice
    from xmltools.models import ToolCall

__all__ = [
    "ArgumentDelta",
    "CallCompleted",
    "CallFailed",
    "CallStarted",
    "Event",
    "Noticed",
    "ReasoningDelta",
    "Skipped",
    "TextDelta",
]


class Event:
    """The common ground of all events."""

    __slots__ = ()
    _fields: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        # pickle and copy see no attributes in a class that is compiled.
        kind = type(self)
        return getattr(kind, "make", kind), tuple(getattr(self, name) for name in self._fields)


class TextDelta(Event):
    """More text for the reader. `start` is its place in the stream, in characters."""

    _fields = ("text", "start")
    __slots__ = _fields
    __match_args__: ClassVar = ("text",)
    text: str
    start: int

    @classmethod
    def make(cls, text: str, start: int) -> TextDelta:
        """A delta with its text and its place."""
        event = cls()
        event.text = text
        event.start = start
        return event

    @property
    def span(self) -> tuple[int, int]:
        """Start and end in the stream, in characters."""
        return self.start, self.start + len(self.text)


class ReasoningDelta(Event):
    """More reasoning. The span holds the region's tags too, so that spans tile the stream; `text` does not."""

    _fields = ("text", "span")
    __slots__ = _fields
    __match_args__: ClassVar = ("text",)

    def __init__(self, text: str, span: tuple[int, int]) -> None:
        self.text = text
        self.span = span


class CallStarted(Event):
    """A block has named its tool. `server` is None if it was not named before the tool."""

    _fields = ("id", "name", "server")
    __slots__ = _fields
    __match_args__: ClassVar = ("id", "name")

    def __init__(self, id: str, name: str, server: str | None = None) -> None:
        self.id = id
        self.name = name
        self.server = server


class ArgumentDelta(Event):
    """More of one argument's text, decoded, as it arrives.

    `path` leads from the arguments to the value: names, and positions in lists. The deltas of a value that its schema
    declares as a string, joined, are the final value; those of other leaves are its text before conversion.
    """

    _fields = ("path", "text")
    __slots__ = _fields
    __match_args__: ClassVar = ("path", "text")
    path: tuple[str | int, ...]
    text: str

    @classmethod
    def make(cls, path: tuple[str | int, ...], text: str) -> ArgumentDelta:
        """A delta with its path and text."""
        event = cls()
        event.path = path
        event.text = text
        return event


class CallCompleted(Event):
    """A block has ended and is a call."""

    _fields = ("call",)
    __slots__ = _fields
    __match_args__: ClassVar = ("call",)

    def __init__(self, call: ToolCall) -> None:
        self.call = call

    @property
    def span(self) -> tuple[int, int]:
        """The block's start and end in the stream, in characters."""
        return self.call.span or (0, 0)


class CallFailed(Event):
    """A block has ended, or was cut off, and is no call. `id` is that of its `CallStarted`, if there was one."""

    _fields = ("error", "id")
    __slots__ = _fields
    __match_args__: ClassVar = ("error",)

    def __init__(self, error: CallError, id: str | None = None) -> None:
        self.error = error
        self.id = id

    @property
    def span(self) -> tuple[int, int]:
        """The block's start and end in the stream, in characters."""
        return self.error.span


class Skipped(Event):
    """White space that only lays out calls and reasoning in this dialect, or a token that ends a turn: no text."""

    _fields = ("span",)
    __slots__ = _fields
    __match_args__: ClassVar = ("span",)

    def __init__(self, span: tuple[int, int]) -> None:
        self.span = span


class Noticed(Event):
    """Text that was given before holds a call in another notation, or in a code fence, that stayed text: see
    `Notice`."""

    _fields = ("notice",)
    __slots__ = _fields
    __match_args__: ClassVar = ("notice",)

    def __init__(self, notice: Notice) -> None:
        self.notice = notice

    @property
    def span(self) -> tuple[int, int]:
        """The start and end of that text in the stream, in characters."""
        return self.notice.span
