"""What a stream of structured messages says, whatever its format: pieces of text, reasoning and calls, in order.

Formats know no event for a call that failed. What was said of it can't be taken back, so its arguments stay open and
never become JSON; a block that had not even named its tool was no call for the client, and is text.

Nor can formats hold two calls that are open at once. A call that starts while another is open, as in a list of calls
that counts only as a whole, is told of when it is complete.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

from xmltools.conversations.streams.json_arguments import ArgumentStream, without_surrogates
from xmltools.conversations.streams.json_members import MemberReader
from xmltools.errors import CallError, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    Noticed,
    ReasoningDelta,
    Skipped,
    TextDelta,
)
from xmltools.tools import Tool

_Sent = TypeVar("_Sent")
_ON_FAILURE = ("leave", "text", "drop", "spoil")


class Kind(Enum):
    """What a piece is."""

    TEXT = "text"
    REASONING = "reasoning"
    START = "start"
    ARGUMENTS = "arguments"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"


ENDS = (Kind.COMPLETED, Kind.INCOMPLETE)
"""How a call ends."""


class Piece(NamedTuple):
    """Some text, a fragment of arguments, or the start (`text` is the tool's name) or end of a call."""

    kind: Kind
    text: str = ""
    id: str = ""


class PieceReader:
    """Makes pieces of a parser's events. `completed` counts the calls that came to a good end."""

    __slots__ = ("_arguments", "_id", "_is_silent", "_on_failure", "_unheard", "completed")

    def __init__(self, tools: Iterable[Tool] | None, on_failure: str) -> None:
        if on_failure not in _ON_FAILURE:
            raise XMLToolsError(f"on_failure: expected one of {', '.join(map(repr, _ON_FAILURE))}, got {on_failure!r}")
        self._arguments = ArgumentStream(tools)
        self._on_failure = on_failure
        self._id = ""  # of the call that is open
        self._is_silent = False  # the arguments that come are of another call
        self._unheard: set[str] = set()  # calls that have started while another was open
        self.completed = 0

    def read(self, events: Iterable[Event]) -> list[Piece]:
        """Return the pieces of some events; neighbours of one kind are joined, and none of them is empty."""
        events = list(events)
        if len(events) == 1 and isinstance(events[0], (ArgumentDelta, TextDelta)):
            return self._alone(events[0])
        return _joined(piece for event in events for piece in self._read(event))

    def _alone(self, event: ArgumentDelta | TextDelta) -> list[Piece]:
        """What `read` returns for one delta, at once: a chunk of four characters mostly is one."""
        if isinstance(event, ArgumentDelta):
            piece = Piece(Kind.ARGUMENTS, "" if self._is_silent else self._arguments.feed(event))
        else:
            piece = Piece(Kind.TEXT, without_surrogates(event.text))
        return [piece] if piece.text else []

    def close(self) -> list[Piece]:
        """Return what ends a call that the events left open."""
        return _joined(self._abandoned())

    def _read(self, event: Event) -> Iterator[Piece]:
        match event:
            case ArgumentDelta():
                yield from self._alone(event)
            case TextDelta(text):
                yield Piece(Kind.TEXT, without_surrogates(text))
            case ReasoningDelta(text):
                yield Piece(Kind.REASONING, without_surrogates(text))
            case CallStarted(id, name):
                self._is_silent = self._arguments.is_open
                if self._is_silent:
                    self._unheard.add(id)
                else:
                    yield from self._started(event, id, name)
            case CallCompleted(call):
                yield from self._completed(event, call)
            case CallFailed(error):
                yield from self._failed(error, started=self._arguments.is_open and event.id not in self._unheard)
            case Noticed() | Skipped():
                pass  # no API has a place for them
            case _:
                raise XMLToolsError(f"feed() expects events of a parser, got {type(event).__name__}")

    def _started(self, event: Event, id: str, name: str) -> Iterator[Piece]:
        self._id = id
        self._arguments.feed(event)
        yield Piece(Kind.START, without_surrogates(name), without_surrogates(id))

    def _completed(self, event: Event, call: ToolCall) -> Iterator[Piece]:
        if self._arguments.is_open and call.id != self._id:
            yield from self._abandoned()
        if not self._arguments.is_open:
            yield from self._started(CallStarted(call.id, call.name, call.server), call.id, call.name)
        yield Piece(Kind.ARGUMENTS, self._arguments.feed(event))
        yield Piece(Kind.COMPLETED)
        self.completed += 1

    def _failed(self, error: CallError, *, started: bool) -> Iterator[Piece]:
        if started:
            yield from self._abandoned()
        if self._on_failure == "text" or (self._on_failure == "leave" and not started):
            yield Piece(Kind.TEXT, without_surrogates(error.source))

    def _abandoned(self) -> Iterator[Piece]:
        if self._arguments.is_open:
            spoils = self._on_failure == "spoil"
            yield Piece(Kind.ARGUMENTS, self._arguments.spoil() if spoils else self._arguments.abandon())
            yield Piece(Kind.INCOMPLETE)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    texts: list[str] = []
    for piece in pieces:
        if piece.kind in (Kind.START, *ENDS):
            _flush(joined, texts)
            joined.append(piece)
        elif piece.text:
            if joined and texts and joined[-1].kind is not piece.kind:
                _flush(joined, texts)
            if not texts:
                joined.append(piece)
            texts.append(piece.text)
    _flush(joined, texts)
    return joined


def _flush(joined: list[Piece], texts: list[str]) -> None:
    """Give the last piece the texts of all that were joined to it."""
    if texts:
        joined[-1] = joined[-1]._replace(text="".join(texts))
        texts.clear()


class PieceStream(ABC, Generic[_Sent]):
    """Turns the events of one parser into what an API sends, piece by piece.

    The arguments of a call of one of the tools `custom` are the text of its only argument, and no JSON.
    """

    def __init__(self, tools: Iterable[Tool] | None, on_failure: str, custom: Collection[str] = ()) -> None:
        self._pieces = PieceReader(tools, on_failure)
        self._custom = custom
        self._input: MemberReader | None = None  # of the custom call that is being written
        self._begun = False
        self._closed = False

    def feed(self, events: Iterable[Event]) -> list[_Sent]:
        """Take what `Parser.feed` or `Parser.close` returned; return what is to be sent.

        Raises `XMLToolsError` after the end, for what is no event, and as `ArgumentStream.feed` does.
        """
        if self._closed:
            raise XMLToolsError("feed() after close(): a stream is one reply; make a new one for the next")
        return self._written(self._pieces.read(events))

    def _ended(self) -> list[_Sent]:
        """Return the rest of the reply: what the API says of its end is still to come."""
        messages = self._written(self._pieces.close())
        self._closed = True
        return messages

    def _written(self, pieces: Iterable[Piece]) -> list[_Sent]:
        messages = [] if self._begun else self._first()
        self._begun = True
        for piece in pieces:
            if piece.kind is Kind.START:
                self._input = MemberReader() if piece.text in self._custom else None
            elif piece.kind is Kind.ARGUMENTS and self._input is not None:
                piece = Piece(piece.kind, self._input.text(piece.text))
                if not piece.text:
                    continue
            messages += self._piece(piece)
        return messages

    @abstractmethod
    def _first(self) -> list[_Sent]:
        """Return what the reply begins with."""

    @abstractmethod
    def _piece(self, piece: Piece) -> Iterable[_Sent]:
        """Return what says a piece."""
