"""Replies with structured calls, whose arguments arrive as JSON text: when calls start, what streams, and what becomes
of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from xmltools.conversations.streams.json_members import MemberReader
from xmltools.conversations.streams.native_shared import as_mapping
from xmltools.conversations.streams.tools_by_name import ToolTable
from xmltools.errors import CallError, Code, Repair, XMLToolsError
from xmltools.models import DEFAULT_SERVER, ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    ReasoningDelta,
    TextDelta,
)
from xmltools.syntax.json_reader import JSONError, Slip, loads
from xmltools.tools import Tool
from xmltools.tools.schema import Reading, Shape, read_object

_NO_JSON = "The arguments of the call were no JSON object. Make the whole call again, with valid JSON."
_TRUNCATED = "The reply ended before the arguments of the call were complete. Make the whole call again."
_SHOWN = 20
"""Names, or problems, that a sentence to the model lists."""


class _Refused(Exception):  # noqa: N818 - never leaves this module
    """What was written gives no call."""

    def __init__(self, code: Code, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint or code.hint


class NativeCall:
    """One call. Its owner sets `name` as soon as it is known, and writes to it; events are asked for."""

    __slots__ = ("_fresh", "_members", "_name", "_path", "_raw", "_started", "_table", "default", "given_id", "id")

    def __init__(self, id: str, number: int, table: ToolTable | None) -> None:
        self.given_id = id
        self.id = id or f"call_{number}"
        self.default = ""
        """The JSON of arguments that came in one piece, apart from the stream."""
        self._name = ""
        self._table = table
        self._raw: list[str] = []
        self._fresh: list[str] = []  # of `_raw`, what no event was made of
        self._members = MemberReader()
        self._started = False
        self._path: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The tool's name; empty until it is known."""
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name if name.strip() else ""

    @property
    def is_whole(self) -> bool:
        """Whether the name is known and the JSON object is closed."""
        return bool(self._name) and self._members.is_over

    def write(self, text: str) -> None:
        """Take more of the arguments' JSON."""
        if text:
            self._raw.append(text)
            self._fresh.append(text)

    def news(self) -> list[Event]:
        """Return what has happened since: the start, once there is a name, and the deltas of strings."""
        if not self._name:
            return []
        events: list[Event] = []
        if not self._started:
            self._started = True
            if self._is_known:
                events.append(CallStarted(self.id, self._name))
        text = "".join(self._fresh)
        self._fresh.clear()
        found = self._members.feed(text)
        return [*events, *map(self._delta, found)] if self._is_known else events

    @property
    def _is_known(self) -> bool:
        """Whether some tool has the name: a call of none starts no events, and fails at its end."""
        return self._table is None or bool(self._table.shapes(self._name, None))

    def _delta(self, found: tuple[str, str]) -> Event:
        name, text = found
        # All deltas of a string share one path, by which `ArgumentStream` tells it quickly.
        if self._path != (name,):
            self._path = (name,)
        return ArgumentDelta.make(self._path, text)

    def conclude(self, place: int, *, cut: bool) -> Event:
        """Return the event of the call's end, at `place` in the stream. `cut`: the reply was cut off in it."""
        text = "".join(self._raw)
        server: str | None = None
        arguments: dict[str, Any] = {}
        try:
            server, shape = self._tool()
            arguments, slips = self._load(text, cut)
            reading = read_object(arguments, shape, 0)
            _judge(reading)
            return CallCompleted(self._call(server, reading, slips))
        except _Refused as refused:
            error = CallError(
                code=refused.code,
                span=(place, place),
                message=refused.message,
                hint=refused.hint,
                name=self._name or None,
                server=server,
                arguments=arguments,
                source=text,
            )
            return CallFailed(error, self.id if self._started and self._is_known else None)

    def _tool(self) -> tuple[str, Shape | None]:
        if not self._name:
            raise _Refused(Code.MISSING_TOOL_NAME, "the call names no tool", "Name the tool that is to be called.")
        if self._table is None:
            return DEFAULT_SERVER, None
        found = self._table.find(self._name)
        if found is None:
            several = self._is_known
            message = f"{'several servers have a' if several else 'there is no'} tool named {self._name!r}"
            near, names = self._table.near(self._name), ", ".join(self._table.names[:_SHOWN]) or "none"
            hint = f"Did you mean {' or '.join(near)}?" if near else f"The tools are: {names}."
            raise _Refused(Code.UNKNOWN_TOOL, message, "" if several else hint)
        return found

    def _load(self, text: str, cut: bool) -> tuple[dict[str, Any], list[Slip]]:
        if not text.strip():
            if cut and not self.default:
                raise _Refused(Code.TRUNCATED, "the reply ended before the arguments of the call", _TRUNCATED)
            text = self.default or "{}"
        try:
            value, slips = loads(text)
        except JSONError as error:
            if cut and not self._members.is_over:
                raise _Refused(Code.TRUNCATED, "the reply ended inside the arguments", _TRUNCATED) from None
            raise _Refused(Code.INVALID_JSON, f"the JSON could not be read: {error}", _NO_JSON) from None
        if not isinstance(value, dict):
            raise _Refused(Code.INVALID_JSON, "the JSON is no object", _NO_JSON)
        return value, slips

    def _call(self, server: str, reading: Reading, slips: list[Slip]) -> ToolCall:
        repairs = [*(Repair(*slip) for slip in slips), *reading.repairs]
        return ToolCall(id=self.id, name=self._name, arguments=reading.arguments, server=server, repairs=tuple(repairs))


def _judge(reading: Reading) -> None:
    """Refuse arguments that do not fit the schema."""
    if reading.problems:
        lines = "; ".join(str(problem) for problem in reading.problems[:_SHOWN])
        hint = f"Correct these arguments and call the tool again: {lines}."
        raise _Refused(Code.INVALID_ARGUMENTS, lines, hint)


class NativeReader(ABC):
    """Turns the messages of a model that makes structured calls into the events of a parser.

    It keeps the calls of the reply in their order. Only the first that has not ended says anything: events of calls are
    never mixed, though fragments may be. Places count the characters of text and reasoning, so that spans tile the
    stream. Raises `XMLToolsError` for anything but tools.
    """

    _expected: ClassVar[str]
    """What `feed` takes."""

    def __init__(self, tools: Iterable[Tool] | None = None) -> None:
        self._table = None if tools is None else ToolTable(tools)
        self._calls: deque[NativeCall] = deque()
        self._by_index: dict[Any, NativeCall] = {}
        self._count = 0
        self._last_id = ""  # that the last call was given, if any
        self._place = 0
        self._closed = False

    def feed(self, message: Any) -> list[Event]:
        """Take what the server sent, as a dict or as the object of an SDK; return the events that it produced.

        Raises `XMLToolsError` for anything else, for an error that the server sent, and after `close`.
        """
        if self._closed:
            name = type(self).__name__
            raise XMLToolsError(f"feed() after close(): a reader reads one reply; make a new {name} for the next")
        return self._read(as_mapping(message, self._expected))

    @abstractmethod
    def _read(self, data: Mapping[str, Any]) -> list[Event]: ...

    def close(self) -> list[Event]:
        """Say that the stream has ended; returns what is left. A call that is not complete was cut off."""
        self._closed = True
        return self._end(cut=True)

    def _text(self, text: str) -> list[Event]:
        start, self._place = self._place, self._place + len(text)
        return [TextDelta.make(text, start)] if text else []

    def _reasoning(self, text: str) -> list[Event]:
        start, self._place = self._place, self._place + len(text)
        return [ReasoningDelta(text, (start, self._place))] if text else []

    def _add(self, index: Any, id: str) -> NativeCall:
        """Begin another call; an id is made if there is none."""
        self._count += 1
        self._last_id = id
        call = self._by_index[index] = NativeCall(id, self._count, self._table)
        self._calls.append(call)
        return call

    def _news(self) -> list[Event]:
        """Return what has happened. A call with another one after it ends as soon as it is whole."""
        events: list[Event] = []
        while self._calls:
            head = self._calls[0]
            events += head.news()
            if not head.is_whole or len(self._calls) == 1:
                break
            events.append(self._calls.popleft().conclude(self._place, cut=False))
        return events

    def _settle(self) -> list[Event]:
        """Something else than a call follows: return the end of those that are whole."""
        events = self._news()
        if self._calls and self._calls[0].is_whole:
            events.append(self._calls.popleft().conclude(self._place, cut=False))
        return events

    def _end(self, *, cut: bool) -> list[Event]:
        """The reply has ended: end all calls. `cut`: it was cut off, in the last of them if anywhere."""
        events: list[Event] = []
        while self._calls:
            head = self._calls.popleft()
            events += head.news()
            events.append(head.conclude(self._place, cut=cut and not self._calls))
        return events
