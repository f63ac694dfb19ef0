"""Reads the text of one reply for an engine: first the reasoning that it begins with, then text and calls.

An engine has a parser for each of the two, and gives to the second what the first leaves. No rule on calls is here,
only what becomes of the parser's events:

- Reasoning that comes later, or where no reasoning parser is in use, is text as it was written.
- A call that fails before the engine has heard of it becomes one sentence that says so, as in the proxy. One that was
  cut off is left out, as engines do: they say `length`.
- Arguments that stream can't be taken back. If their call fails, they end so that no client reads an object, and
  whatever comes next raises `RejectedCallError`: the engine then ends the stream with an error, and nobody runs the
  call.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from xmltools.conversations.streams.pieces import Kind, Piece, PieceReader
from xmltools.dialects import Dialect
from xmltools.errors import Code, XMLToolsError
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
from xmltools.parser import Parser
from xmltools.proxy.bridge.after_failed_call import Outgoing, failure_in_words
from xmltools.syntax.markup import is_cut_off, skip_space
from xmltools.syntax.rope import Rope
from xmltools.tools import Tool

__all__ = [
    "CallReader",
    "Kind",
    "Piece",
    "ReadCall",
    "ReadReply",
    "ReasoningReader",
    "RejectedCallError",
    "marks_of",
    "read_reply",
]

log = logging.getLogger("xmltools.engine_plugins")

_MOST_HELD = 1_024
"""Characters of white space, and of tokens that are no text, after which no reasoning is looked for."""


class RejectedCallError(XMLToolsError):
    """A call failed after the client had heard of it: the reply can only end with an error."""


class CallReader:
    """Makes pieces of a reply: text, and the starts, arguments and ends of calls.

    `tools` are those that may be called; where there are none, what looks like a call is text. `whole`: nothing is said
    of a call before it is complete and right.

    Raises `XMLToolsError` for tools whose schema is invalid, and for two of one name.
    """

    def __init__(self, tools: Sequence[Tool], dialect: Dialect, *, whole: bool = False) -> None:
        self._whole = whole
        self._is_text = not tools
        self._parser = Parser(tools, dialect=dialect, argument_deltas=not whole)
        self._source = _Source()
        self._outgoing = Outgoing(keeps=False, before="", is_new=False)
        self._pieces = PieceReader(tools, "spoil")
        self._open: str | None = None  # the call that the engine has heard of, and not of its end
        self._written: str | None = None  # the call that the model writes
        self.failed = 0
        """How many calls failed."""

    def feed(self, text: str) -> list[Piece]:
        """Take the next text. Raises `RejectedCallError` after a call that failed when the client had heard of it."""
        self._refuse_more()
        self._source.add(text)
        return self._read(self._parser.feed(text))

    def close(self) -> list[Piece]:
        """Say that the reply has ended; return the rest. Raises `RejectedCallError` as `feed` does."""
        self._refuse_more()
        return self._read(self._parser.close())

    def _refuse_more(self) -> None:
        if self._outgoing.broken is not None:
            raise RejectedCallError(failure_in_words(self._outgoing.broken))

    def _read(self, events: list[Event]) -> list[Piece]:
        if len(events) == 1 and isinstance(events[0], ArgumentDelta) and self._written is self._open:  # most chunks
            return self._pieces.read(events)
        return self._pieces.read(self._outgoing.read(self._told(events)))

    def _told(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events that the engine is to hear of, and text in place of those that are text for it."""
        for event in events:
            match event:
                case ReasoningDelta():
                    yield TextDelta.make(self._source.take(event.span), event.span[0])
                case Skipped() if self._is_text:
                    text = self._source.take(event.span)
                    if text.isspace():  # the others are tokens
                        yield TextDelta.make(text, event.span[0])
                case CallStarted(id):
                    self._written = id
                    # A list of calls in Python counts as a whole only: its first call ends when its last one does.
                    # Calls that start while another is open are told of when they are complete.
                    if not self._whole and self._open is None:
                        self._open = id
                        yield event
                case ArgumentDelta() if self._written != self._open:
                    pass
                case CallCompleted(call):
                    self._open = None if self._open == call.id else self._open
                    yield event
                case CallFailed():
                    yield from self._failure(event)
                case Skipped() | Noticed():
                    pass
                case _:
                    yield event

    def _failure(self, event: CallFailed) -> Iterator[Event]:
        error = event.error
        if self._is_text:
            yield TextDelta.make(error.source, error.span[0])
            return
        self.failed += 1
        log.warning("a call was rejected: %s, in characters %d to %d of the reply", error.code.value, *error.span)
        if event.id is not None and event.id == self._open:
            self._open = None
            yield event
        elif error.code is not Code.TRUNCATED:
            yield CallFailed(error)


class ReadCall(NamedTuple):
    """A call of a whole reply: `arguments` is the JSON of an object."""

    id: str
    name: str
    arguments: str


class ReadReply(NamedTuple):
    """A whole reply. `failed` counts the calls that were rejected, which are none of `calls`."""

    text: str
    calls: list[ReadCall]
    failed: int


def read_reply(text: str, tools: Sequence[Tool], dialect: Dialect) -> ReadReply:
    """Read a whole reply, as a `CallReader` with `whole` does, and raise what that raises."""
    reader = CallReader(tools, dialect, whole=True)
    texts: list[str] = []
    calls: list[ReadCall] = []
    for kind, words, id in (*reader.feed(text), *reader.close()):
        if kind is Kind.TEXT:
            texts.append(words)
        elif kind is Kind.START:
            calls.append(ReadCall(id, words, ""))
        elif kind is Kind.ARGUMENTS:
            calls[-1] = calls[-1]._replace(arguments=calls[-1].arguments + words)
    return ReadReply("".join(texts), calls, reader.failed)


class ReasoningReader:
    """Parts the reasoning that a reply begins with from what follows it, which is left as it was written.

    `inside`: the prompt has opened the reasoning. `ended` says that all further text follows it.
    """

    def __init__(self, dialect: Dialect, *, inside: bool) -> None:
        self._dialect = dialect
        self._inside = inside
        self._held = ""  # what may stand before reasoning, while nothing else has come
        self._parser: Parser | None = None  # of the reasoning that is open
        self._source = _Source()
        self._place = 0  # in the parser's text: up to there it is reasoning
        self._was_there = False
        self.ended = False

    def feed(self, text: str) -> tuple[str, str]:
        """Take the next text; return what is reasoning in it, and what follows the reasoning."""
        thoughts: list[str] = []
        while text and not self.ended:
            text = self._open(text) if self._parser is None else self._think(text, thoughts)
        return "".join(thoughts), text

    def close(self) -> tuple[str, str]:
        """Say that the reply has ended; return the rest as `feed` does."""
        thoughts: list[str] = []
        rest = ""
        if self._parser is not None:
            rest = self._part(self._parser.close(), thoughts, is_last=True)
        elif not self.ended:
            rest = self._after(self._held)
        self.ended = True
        return "".join(thoughts), rest

    def _open(self, text: str) -> str:
        """Look for the mark that begins reasoning; return the reasoning, or if there is none, the text in its place."""
        self._held += text
        found = self._find_mark()
        if found is None:
            return ""
        held, self._held = self._held, ""
        if found < 0 and not self._inside:
            self.ended = True
            return self._after(held)
        self._parser = Parser(None, dialect=self._dialect, starts_in_reasoning=found < 0)
        self._source = _Source()
        self._place = 0
        self._inside = False
        return held[max(found, 0) :]

    def _find_mark(self) -> int | None:
        """Return where reasoning begins in what is held, -1 if it does not, None if more has to be known."""
        openers = marks_of(self._dialect)[0]
        text, at = self._held, 0
        while (at := skip_space(text, at)) <= _MOST_HELD:
            for mark in (*openers, *self._dialect.turn_ends):
                if text.startswith(mark, at):
                    if mark in openers:
                        return at
                    at += len(mark)
                    break
                if is_cut_off(text, at, mark):
                    return None
            else:
                return -1
        return -1

    def _after(self, text: str) -> str:
        """Text that follows the reasoning, without the white space that only lays it out; or all of the reply."""
        return text[skip_space(text, 0) :] if self._was_there and self._dialect.layout else text

    def _think(self, text: str, thoughts: list[str]) -> str:
        assert self._parser is not None
        self._source.add(text)
        return self._part(self._parser.feed(text), thoughts)

    def _part(self, events: list[Event], thoughts: list[str], *, is_last: bool = False) -> str:
        """Add the reasoning to `thoughts`; return what follows it, if it has ended."""
        assert self._parser is not None
        is_over = False
        for event in events:
            if not isinstance(event, ReasoningDelta):
                is_over = True
                break
            thoughts.append(event.text)
            self._place = event.span[1]
        is_over = is_over or (self._place > 0 and not self._parser.unclosed_reasoning)
        if not is_over and not is_last:
            return ""
        self._parser = None
        self._was_there = self._was_there or self._place > 0
        self.ended = self._place == 0  # what looked like a mark was none
        return self._source.after(self._place)


def marks_of(dialect: Dialect) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The marks with which reasoning begins in a dialect, and those with which it ends."""
    starts = [f"<{tag}>" for tag in dialect.reasoning] + [start for start, _ in dialect.thoughts]
    ends = [f"</{tag}>" for tag in dialect.reasoning] + [end for _, end in dialect.thoughts]
    return tuple(dict.fromkeys(starts)), tuple(dict.fromkeys(ends))


class _Source:
    """The text of a reply from the place on that was last asked for."""

    def __init__(self) -> None:
        self._fresh = Rope()
        self._text = ""
        self._at = 0  # in `_text`
        self._start = 0  # of `_text` in the reply

    def add(self, text: str) -> None:
        self._fresh.append(text)

    def take(self, span: tuple[int, int]) -> str:
        """Return the text of a span. Nothing before its end can be asked for after that."""
        self._join()
        start, self._at = (place - self._start for place in span)
        return self._text[start : self._at]

    def after(self, place: int) -> str:
        """Return all text from a place on."""
        self._join()
        return self._text[place - self._start :]

    def _join(self) -> None:
        if self._fresh:
            self._start += self._at
            self._text = f"{self._text[self._at :]}{self._fresh.take()}"
            self._at = 0
