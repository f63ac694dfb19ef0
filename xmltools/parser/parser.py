"""The incremental parser: model text in, text, reasoning and tool calls out (protocol: `grammars/PROTOCOL.md`).

    parser = Parser(tools)
    for chunk in stream:
        for event in parser.feed(chunk): ...
    for event in parser.close(): ...

`Outside` reads what is outside blocks, `machine.run` what is in one; `Parser` cuts the stream between them. `feed`
begins with the cases that make up nearly all of a stream (prose without markup, CDATA and plain text of an
argument); for them it makes one event and touches nothing else. All other text takes the slow path through `_read`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from xmltools.dialects import FORGE, Also, Body, Dialect, beside, hint_of, named
from xmltools.errors import CallError, Code, Notice, XMLToolsError
from xmltools.models import Reasoning, Text, ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    Noticed,
    ReasoningDelta,
    TextDelta,
)
from xmltools.parser.block import Block, State, cut_off, end_early, give_up, note_fence, note_opener, trim
from xmltools.parser.block_to_call import conclude, find_shape, partial_error
from xmltools.parser.decode_text import TextReader
from xmltools.parser.elements import read_opening_tag
from xmltools.parser.end_tags import settle
from xmltools.parser.limits import Limits
from xmltools.parser.machine import ends_complete, run
from xmltools.parser.name_value_pairs import marks_of
from xmltools.parser.openers import checked_tags
from xmltools.parser.prose import Opening, Outside
from xmltools.parser.toolbox import Toolbox, toolbox_of
from xmltools.parser.values import own_ends
from xmltools.syntax.markup import SPACES, TAG_LENGTH
from xmltools.tools import Tool

if TYPE_CHECKING:
    from xmltools.models import Reply

__all__ = ["COMPILED", "Limits", "Parser", "build_reply", "parse"]

# What `feed` does with a chunk. In `feed` itself they are numbers: it looks up no global it can spare.
_PROSE: Final = 0
_CDATA: Final = 1
_TEXT: Final = 2
_SILENT: Final = 3  # a leaf without deltas
_HELD: Final = 4  # prose, but for a `<` that is held back
_TEXT_HELD: Final = 5  # plain text, whose reader holds back a line break, and perhaps white space after that
_MARKED: Final = 6  # a value between marks, but for a `<` that is held back, perhaps after a line break
_PAIR: Final = 7  # a value between marks
_JSON: Final = 8  # a string in a JSON body
_JSON_SILENT: Final = 9  # one without deltas
_JSON_ESCAPE: Final = 10  # a string in a JSON body in which an escape is not whole
_OTHER_PROSE: Final = 12  # prose in a dialect whose marks do not all begin with `<`
_LAID_OUT: Final = 11  # prose in a dialect whose white space next to calls is no text
_CDATA_BRACKET: Final = 13  # CDATA, but for a bracket that is held back
_TEXT_BRACKET: Final = 14  # plain text, but for one
_FRAMED: Final = 30  # a value between marks, whose last line break is no part of it
_FRAMED_BREAK: Final = 31  # one, but for a line break that is held back
_CLOSED: Final = -1
_OTHER: Final = -3
_TEXT_OPEN: Final = -4  # plain text, whose reader holds back something else

_MARKUP = re.compile(r"<(?![ \t\r\n=<0-9])")
"""A `<` that may begin markup in a value. At the end of a text, it may."""
_GATHER: Final = 4096
"""Characters that the fast paths may pile up in single chunks (a chunk of 4 characters costs 64 bytes) before they
are joined."""
_LONG: Final = 256
"""More characters than these, held back, are looked at only if the new chunk may decide what they are."""
_LIMITS: Final = Limits()
_MOST_DECIDED: Final = 16
"""Values of a reply whose end is chosen only when the reply has ended. Each costs a second look at what follows."""


COMPILED: Final = not __file__.endswith(".py")
"""Whether this is the compiled build (`hatch_build.py`): the same source, two to three times as fast."""


_ids: list[str] = []
"""Ids that nobody has yet: to ask the system for random bytes takes as long as to read an argument."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ids.clear)  # or both processes would give the same ones


def _new_id() -> str:
    """Return 96 random bits."""
    if not _ids:
        made = os.urandom(12 * 32).hex()
        _ids.extend([f"call_{made[at : at + 24]}" for at in range(0, len(made), 24)])
    try:
        return _ids.pop()
    except IndexError:  # other threads have taken them
        return _new_id()


_TEXTS: Final = (_TEXT, _TEXT_HELD, _TEXT_OPEN)


def _text_mode(reader: TextReader) -> int:
    """Return the one of these modes for plain text that is read so."""
    if reader.idle:
        return _TEXT
    return _TEXT_HELD if reader.cut and reader.cut[0] != "&" else _TEXT_OPEN


def _make_id(new_id: Callable[[], object]) -> str:
    try:
        made = new_id()
    except TypeError:
        _refuse_no_function(new_id)
        raise
    if not isinstance(made, str):
        raise XMLToolsError(f"new_id: expected a function that returns str, it returned {type(made).__name__}")
    return made


def _refuse_no_function(new_id: object) -> None:
    if not callable(new_id):
        raise XMLToolsError(f"new_id: expected a function that returns str, got {type(new_id).__name__}")


class Parser:
    """Pulls tool calls out of streamed text.

    `tools`: types the arguments and refuses unknown tools; without them (None) every call is taken and values are
    strings, lists and dicts. `strict`: the first repair of a block makes it an error. `reasoning_tags`: names of
    the elements with reasoning. `starts_in_reasoning`: the prompt has opened one already. `bracket_reasoning`:
    paragraphs in square brackets are reasoning (old Forge models), but for code fences and lists in JSON.
    `code_fences`: `"call"` parses blocks in Markdown fences with a repair, `"text"` leaves them as text.
    `argument_deltas`: False leaves `ArgumentDelta` out, which is faster if only whole calls are wanted. `limits`: what
    a block may contain. `new_id`: makes the ids of calls, in their order. `dialect`: how calls
    are written. `also`: calls of given tools in other dialects are read too, with a repair; `"known"` means all
    dialects, else some are named.

    Raises `XMLToolsError` for options that make no sense, tools whose schema is invalid and two tools of one name.
    No model text raises anything. A parser reads one reply.
    """

    __slots__ = (
        "_argument_deltas",
        "_block",
        "_blocks",
        "_decided",
        "_dialect",
        "_ends",
        "_events",
        "_held",
        "_lead",
        "_letters",
        "_limits",
        "_mark",
        "_mode",
        "_new_id",
        "_other_lead",
        "_outside",
        "_path",
        "_pieces",
        "_pos",
        "_reader",
        "_spent",
        "_stop",
        "_strict",
        "_toolbox",
        "_waiting",
    )

    def __init__(
        self,
        tools: Iterable[Tool] | Toolbox | None = None,
        *,
        strict: bool = False,
        reasoning_tags: Sequence[str] | None = None,
        starts_in_reasoning: bool = False,
        bracket_reasoning: bool = False,
        code_fences: str = "call",
        argument_deltas: bool = True,
        limits: Limits | None = None,
        new_id: Callable[[], str] = _new_id,
        dialect: Dialect | str = FORGE,
        also: Also = None,
    ) -> None:
        if code_fences not in ("call", "text"):
            raise XMLToolsError(f"code_fences: expected 'call' or 'text', got {code_fences!r}")
        dialect = named(dialect)
        if bracket_reasoning and dialect.layout:
            # What is the start of a line, after white space that is no text?
            raise XMLToolsError(f"bracket_reasoning: models that write {dialect.name} have no reasoning in brackets")
        others = beside(dialect, also)
        tags = dialect.reasoning if reasoning_tags is None else checked_tags(reasoning_tags, dialect)
        # Inside the package, a toolbox may serve many parsers: making one of many tools costs as much as a short reply.
        self._toolbox = tools if tools is None or isinstance(tools, Toolbox) else toolbox_of(tools)
        self._strict = strict
        if limits is not None and not isinstance(limits, Limits):
            raise XMLToolsError(f"limits: expected Limits, got {limits!r:.40}; write Limits(blocks=…)")
        self._limits = _LIMITS if limits is None else limits
        self._dialect = dialect
        self._outside = Outside(
            dialect,
            tags,
            self._toolbox,
            self._limits,
            in_reasoning=starts_in_reasoning,
            brackets=bracket_reasoning,
            fenced_calls=code_fences == "call",
            others=others if self._toolbox is not None else (),
            knows_tags=reasoning_tags is not None,
        )
        if new_id is not _new_id:
            _refuse_no_function(new_id)
        self._new_id: Callable[[], object] = new_id  # whatever it returns is looked at
        self._lead, self._other_lead, self._letters = self._outside.marks
        self._events: list[Event] = []
        # What the fast paths took: text outside blocks, which `Outside` looks at later, or of the open block.
        self._pieces = self._outside.pieces
        self._block: Block | None = None
        self._blocks = 0
        self._spent = False  # there was a block too many: the rest is text
        self._held = ""  # text that is not decided
        self._pos = 0  # characters received
        self._mark = _GATHER  # where the fast paths must stop to join their pieces, or at a limit
        self._path: tuple[str | int, ...] = ()
        self._argument_deltas = argument_deltas
        self._reader = TextReader()
        self._decided = 0
        self._waiting: list[tuple[ToolCall, str]] = []  # in an open list without marks: calls and their sources
        self._stop = ""  # what ends the run of a leaf, or begins its end
        self._ends: re.Pattern[str] | None = None  # end tags of plain text that may be more than text
        self._mode = _OTHER
        self._choose_mode()

    @property
    def unclosed_reasoning(self) -> bool:
        """True while inside a reasoning region; after `close`: the reply ended in one."""
        return bool(self._outside.closers)

    @property
    def has_decided(self) -> bool:
        """True after `close`, if only the end of the reply decided where a value ends (protocol, 4.9)."""
        return self._decided > 0

    def weigh(self, chunk: str, is_last: bool = False) -> int:
        """Return how many characters may have to be looked at to read `chunk` next: its own, those that are held back,
        and those of the open block if it may end that, or if the reply ends after it (`is_last`)."""
        block = self._block
        if block is None:
            return len(chunk) + len(self._held)
        if not is_last:
            mode = self._mode
            goes_on = (mode == _CDATA and "]" not in chunk) or (mode in _TEXTS and "<" not in chunk)
            goes_on = goes_on or (_JSON <= mode <= _JSON_ESCAPE and self._stop not in chunk)
            if goes_on or ">" not in chunk or block.error is not None:
                return len(chunk)
        return len(chunk) + self._pos - block.start

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of text, of any length; returns the events it produced.

        Raises `XMLToolsError` for anything but a string (`TypeError`, if it is compiled), and after `close`.
        """
        # Hot: chunks of four characters are the rule. No helper, no global, no attribute that is not needed.
        mode = self._mode
        if chunk.__class__ is str and chunk:
            if mode == 0:
                start = self._pos
                end = start + len(chunk)
                if end <= self._mark and (
                    "<" not in chunk or (chunk[-1] != "<" and self._lead not in chunk and self._other_lead not in chunk)
                ):
                    self._pos = end
                    self._pieces.append(chunk)
                    event = TextDelta()
                    event.text = chunk
                    event.start = start
                    return [event]
            elif mode == 1:
                end = self._pos + len(chunk)
                if end <= self._mark and ("]" not in chunk or (chunk[-1] != "]" and self._stop not in chunk)):
                    self._pos = end
                    self._pieces.append(chunk)
                    delta = ArgumentDelta()
                    delta.path = self._path
                    delta.text = chunk
                    return [delta]
            elif mode == 2:
                end = self._pos + len(chunk)
                if end <= self._mark and ("<" not in chunk or (self._stop not in chunk and chunk[-1] != "<")):
                    if "&" in chunk:
                        # What follows `&` in an entity is one of these; at the end of a chunk it may come yet.
                        is_none = (
                            ";" not in chunk and chunk[-1] > " " and chunk[chunk.rfind("&") + 1 :][:1] not in "#aglq"
                        )
                        text = chunk if is_none else self._decode(chunk)
                    elif chunk.isprintable() or chunk[-1] > " ":  # what is printable has no line break
                        self._pos = end
                        self._pieces.append(chunk)
                        delta = ArgumentDelta()
                        delta.path = self._path
                        delta.text = chunk
                        return [delta]
                    elif "\r" in chunk:
                        text = self._decode(chunk)
                    else:
                        text = chunk.rstrip(" \t")
                        if text and text[-1] == "\n":  # it ends a line, and perhaps indents the next one
                            text = text[:-1]
                            reader = self._reader
                            reader.cut = chunk[len(text) :]
                            reader.idle = False
                            self._mode = 5
                        else:
                            text = chunk
                    self._pos = end
                    self._pieces.append(chunk)
                    if not text:
                        return []
                    delta = ArgumentDelta()
                    delta.path = self._path
                    delta.text = text
                    return [delta]
            elif mode > 29:
                end = self._pos + len(chunk)
                if end <= self._mark and "<" not in chunk:
                    if mode == 31 or not chunk.isprintable():  # so is nothing with a line break
                        last = chunk[-1]
                        if last == "\r" or (last == "\n" and "\r" in chunk):
                            return self._feed(chunk)
                        if last != "\n":
                            if mode == 31:
                                chunk = "\n" + chunk
                                self._held = ""
                                self._mode = 30
                        else:
                            chunk = "\n" + chunk[:-1] if mode == 31 else chunk[:-1]
                            if mode == 30:
                                self._held = "\n"
                                self._mode = 31
                                if not chunk:
                                    self._pos = end
                                    return []
                    self._pos = end
                    self._pieces.append(chunk)
                    delta = ArgumentDelta()
                    delta.path = self._path
                    delta.text = chunk
                    return [delta]
            elif mode == 5:
                end = self._pos + len(chunk)
                if end <= self._mark and "<" not in chunk and "&" not in chunk:
                    reader = self._reader
                    self._pos = end
                    self._pieces.append(chunk)
                    if chunk[-1] > " ":
                        delta = ArgumentDelta()
                        delta.path = self._path
                        delta.text = reader.cut + chunk
                        reader.cut = ""
                        reader.idle = True
                        self._mode = 2
                        return [delta]
                    if not chunk.strip(" \t") and len(reader.cut) < 256:
                        reader.cut += chunk
                        return []
                    text = self._decode(chunk)
                    return [ArgumentDelta.make(self._path, text)] if text else []
            elif mode == -4:
                end = self._pos + len(chunk)
                if end <= self._mark and "<" not in chunk:
                    self._pos = end
                    self._pieces.append(chunk)
                    text = self._decode(chunk)
                    return [ArgumentDelta.make(self._path, text)] if text else []
            elif mode == -3:
                if self._block is not None:
                    return self._feed_block(self._block, chunk)
                return self._feed(chunk)
            elif mode == 7:
                end = self._pos + len(chunk)
                if end <= self._mark and "<" not in chunk:
                    self._pos = end
                    self._pieces.append(chunk)
                    delta = ArgumentDelta()
                    delta.path = self._path
                    delta.text = chunk
                    return [delta]
            elif mode == 8:
                end = self._pos + len(chunk)
                if end <= self._mark and self._stop not in chunk:
                    text = chunk
                    if "\\" in chunk:  # nearly all escapes are line breaks
                        text = chunk.replace("\\n", "\n") if chunk.count("\\") == chunk.count("\\n") else ""
                    if text:
                        self._pos = end
                        self._pieces.append(chunk)
                        delta = ArgumentDelta()
                        delta.path = self._path
                        delta.text = text
                        return [delta]
            elif mode == 3:
                end = self._pos + len(chunk)
                if end <= self._mark and self._stop not in chunk:
                    self._pos = end
                    self._pieces.append(chunk)
                    return []
            elif mode == 9:
                end = self._pos + len(chunk)
                if end <= self._mark and self._stop not in chunk and "\\" not in chunk:
                    self._pos = end
                    self._pieces.append(chunk)
                    return []
            elif mode == 11:
                start = self._pos
                end = start + len(chunk)
                if end <= self._mark and "<" not in chunk and chunk[-1] > " " and not self._held:
                    self._pos = end
                    self._pieces.append(chunk)
                    event = TextDelta()
                    event.text = chunk
                    event.start = start
                    return [event]
            if 7 < mode < 13:
                events = self._feed_json(chunk) if mode < 11 else self._feed_plain(mode, chunk)
                if events is not None:
                    return events
            # A `<` at the end of a chunk of prose is common in code, and hardly ever an opener.
            if mode == 4:
                start = self._pos - 1
                end = self._pos + len(chunk)
                if end <= self._mark and "<" not in chunk and chunk[0] not in self._letters:
                    self._pos = end
                    self._held = ""
                    self._mode = 0
                    chunk = "<" + chunk
                    self._pieces.append(chunk)
                    event = TextDelta()
                    event.text = chunk
                    event.start = start
                    return [event]
            elif mode == 0:
                start = self._pos
                end = start + len(chunk)
                is_cut = chunk[-1] == "<" and self._lead not in chunk and self._other_lead not in chunk
                if end <= self._mark and is_cut:
                    self._pos = end
                    self._held = "<"
                    self._mode = 4
                    if end - start == 1:
                        return []
                    chunk = chunk[:-1]
                    self._pieces.append(chunk)
                    event = TextDelta()
                    event.text = chunk
                    event.start = start
                    return [event]
            elif mode == 6 or mode == 7 or mode > 29:
                events = self._feed_marked(chunk)
                if events is not None:
                    return events
            elif mode == 13 or mode == 14 or 0 < mode < 3 or mode == 5 or mode == -4:
                events = self._feed_bracket(chunk)
                if events is not None:
                    return events
        return self._feed(chunk)

    def _decode(self, chunk: str) -> str:
        """Take plain text as the open leaf reads it."""
        text = self._reader.text(chunk)
        self._mode = _text_mode(self._reader)
        return text

    def _feed_bracket(self, chunk: str) -> list[Event] | None:
        """A chunk of CDATA or plain text in which an end may begin, or comes after such a beginning: what may be one at
        the end of the chunk is held back. None if one is there, and where a `<` in plain text takes a closer look."""
        stop, ends = self._stop, self._ends
        text = self._held + chunk if self._held else chunk
        end = self._pos + len(chunk)
        if end > self._mark:
            return None
        is_text = stop[0] == "<"
        if stop == "<":
            if not self._reader.literal or _MARKUP.search(text):
                return None
        elif stop in text and (ends is None or ends.search(text)):
            return None
        self._pos = end
        if text[-1] == stop[0] or (is_text and text[-2:] == stop):
            self._held = stop if is_text and text[-1] == "/" else stop[0]
            self._mode = _TEXT_BRACKET if is_text else _CDATA_BRACKET
            text = text[: -len(self._held)]
            if not text:
                return []
        else:
            self._held = ""
            self._mode = _TEXT if is_text else _CDATA
        self._pieces.append(text)
        if is_text:
            text = self._reader.text(text)
            if not self._held:
                self._mode = _text_mode(self._reader)
            if not text:
                return []
        delta = ArgumentDelta()
        delta.path = self._path
        delta.text = text
        return [delta]

    def _feed_marked(self, chunk: str) -> list[Event] | None:
        """A chunk of a value between marks in which a mark may begin, or comes after such a beginning, which is held
        back. None if it takes a closer look."""
        end = self._pos + len(chunk)
        if self._ends is None or end > self._mark:
            return None
        text = self._held + chunk
        found = self._ends.search(text)
        if found is not None and found.end() < len(text):
            return None
        kept = len(text) if found is None else found.start()
        if self._stop and "\r" in text[max(0, kept - 2) : kept]:
            return None
        kept -= self._stop != "" and text[kept - 1 : kept] == self._stop
        self._pos = end
        self._held = text[kept:]
        self._mode = _MARKED if found else _PAIR if not self._stop else _FRAMED_BREAK if self._held else _FRAMED
        if not kept:
            return []
        text = text[:kept]
        self._pieces.append(text)
        delta = ArgumentDelta()
        delta.path = self._path
        delta.text = text
        return [delta]

    def _feed_plain(self, mode: int, chunk: str) -> list[Event] | None:
        """A chunk without markup, of prose with layout: white space at its end is held back, since a call may follow.
        None if it takes a closer look."""
        held = self._held
        end = self._pos + len(chunk)
        if end > self._mark or "<" in chunk or len(held) > _LONG:
            return None
        if mode == _OTHER_PROSE:
            if chunk[-1] in SPACES or self._outside.begins.search(chunk):
                return None
            self._pos = end
            self._pieces.append(chunk)
            return [TextDelta.make(chunk, end - len(chunk))]
        text = held + chunk if held else chunk
        kept = text.rstrip(SPACES)
        if not kept:
            return None
        start = self._pos - len(held)
        self._pos = end
        self._held = text[len(kept) :]
        self._pieces.append(kept)
        return [TextDelta.make(kept, start)]

    def _feed_json(self, chunk: str) -> list[Event] | None:
        """A chunk of a string in a JSON body, with escapes. None if the string ends in it."""
        block = self._block
        end = self._pos + len(chunk)
        if block is None or end > self._mark:
            return None
        scanner = block.scanner
        if self._stop in chunk and scanner.ends_string(chunk):
            return None
        self._pos = end
        self._pieces.append(chunk)
        deltas = scanner.deltas
        if deltas is None or deltas.path is None:
            scanner.scan(chunk, 0)
            self._mode = _JSON_SILENT if scanner.quote else _JSON_ESCAPE
            return []
        pending = deltas.pending
        if not pending and chunk.find("\\") == len(chunk) - 1:  # most escapes are line breaks
            chunk = chunk[:-1]
            deltas.pending = "\\"
            scanner.escaped = True
            self._mode = _JSON_ESCAPE
        elif pending == "\\" and chunk[0] == "n" and "\\" not in chunk:
            chunk = "\n" + chunk[1:]
            deltas.pending = ""
            scanner.escaped = False
            self._mode = _JSON
        else:
            chunk = deltas.decode(chunk, self._stop)
            scanner.escaped = deltas.pending.endswith("\\")
            self._mode = _JSON_ESCAPE if deltas.pending else _JSON
        if not chunk:
            return []
        delta = ArgumentDelta()
        delta.path = self._path
        delta.text = chunk
        return [delta]

    def close(self) -> list[Event]:
        """Say that the reply has ended; returns what is left. Closing twice does nothing."""
        if self._mode == _CLOSED:
            return []
        events = self._events = self._outside.events = []
        if self._held or self._block is not None:
            self._gather(is_all=False)
        self._finish()
        self._outside.gather(is_last=True)
        self._outside.end_text()
        self._outside.forget()
        self._let_go()
        self._mode = _CLOSED
        return events

    def abandon(self) -> None:
        """Give up a reply of which no more is wanted: the parser is closed, and what is open is forgotten, unread.

        A parser that is dropped unclosed may be a ring of objects, which waits for the garbage collector.
        """
        self._block = None
        self._outside.forget()
        self._mode = _CLOSED

    # -- the slow path -------------------------------------------------------------------------------------------------

    def _feed(self, chunk: str) -> list[Event]:
        mode = self._mode
        if chunk.__class__ is not str or mode == _CLOSED:
            self._check(chunk)
        if self._block is not None and chunk:
            return self._feed_block(self._block, chunk)
        if mode == _HELD and chunk and chunk[0] not in self._letters:
            self._pos -= 1
            self._held = ""
            self._mode = _PROSE
            return self.feed("<" + chunk)
        events: list[Event] = []
        self._events = self._outside.events = events
        if self._pos + len(chunk) > self._mark:
            self._gather(is_all=False)
        self._read_pieces(chunk)
        self._choose_mode()
        if len(chunk) > _GATHER:
            self._let_go()
        return events

    def _let_go(self) -> None:
        """The events that were made may hold a large call, which is the caller's now."""
        self._events = self._outside.events = []

    def _feed_block(self, block: Block, chunk: str) -> list[Event]:
        """A chunk of a block, which the machine reads."""
        if State.JSON <= block.state <= State.JSON_END and self._waits(block, chunk):
            return []
        events: list[Event] = []
        self._events = self._outside.events = events
        if self._pieces:
            self._gather()
        if not self._read_short(block, chunk):
            self._read_pieces(chunk)
        self._choose_mode()
        if self._block is not block:
            self._let_go()
        return events

    def _waits(self, block: Block, chunk: str) -> bool:
        """A short chunk of a block in JSON that is part of a key, or of the end tag, waits for what follows."""
        held = self._held
        if block.state == State.JSON:
            waits = len(held) < _LONG and block.scanner.is_in_key and chunk.isidentifier()
        else:
            waits = len(held) + len(chunk) < len(block.dialect.closer) and block.dialect.closer.startswith(held + chunk)
        end = self._pos + len(chunk)
        if not waits or end >= block.start + self._limits.block_size:
            return False
        self._pos = end
        self._held = held + chunk
        self._mode = _OTHER
        return True

    def _read_short(self, block: Block, chunk: str) -> bool:
        """Read a short chunk of a block, with what was held back. False if it takes the longer way."""
        size = len(self._held) + len(chunk)
        end = self._pos + len(chunk)
        if size > _LONG or end >= block.start + self._limits.block_size:
            return False
        self._pos = end
        text = self._held + chunk
        place = self._read_block(block, text, 0, end - size)
        self._held = text[max(place, 0) :]
        if 0 <= place < size:
            self._read_text(self._held, end - size + place)
        return True

    @property
    def _reads_plainly(self) -> bool:
        """Whether text without `<` is text, outside of blocks."""
        outside = self._outside
        return not (outside.closers or outside.brackets or outside.has_other_marks)

    def _check(self, chunk: object) -> None:
        """Raise if `chunk` cannot be taken."""
        if self._mode == _CLOSED:
            raise XMLToolsError("feed() after close(): a parser reads one reply; make a new Parser for the next")
        if not isinstance(chunk, str):
            how = "codecs.getincrementaldecoder('utf-8') decodes bytes"
            if not isinstance(chunk, bytes):
                how = "where there is no text, give an empty one" if chunk is None else "give the text of the reply"
            raise XMLToolsError(f"feed() and parse() expect str, got {type(chunk).__name__}; {how}")

    def _read_pieces(self, chunk: str) -> None:
        size = self._limits.block_size
        if self._block is None and len(chunk) + len(self._held) <= size:
            self._read(chunk)
            return
        at = 0
        while at < len(chunk):  # a piece never contains both the start of a block and more than the block may have
            room = max(1, size - len(self._held))
            if self._block is not None and self._block.keeps_source:
                room = self._block.start + size - self._pos
                if room <= 0:
                    place = self._block.start + size
                    give_up(self._block, Code.LIMIT_EXCEEDED, f"the block is larger than {size} characters", place)
                    continue
            self._read(chunk if room >= len(chunk) and not at else chunk[at : at + room])
            at += room

    def _gather(self, *, is_all: bool = True) -> None:
        """Hand the chunks of the fast paths to those that follow the text."""
        if self._block is None:
            self._outside.gather(is_all=is_all)
        elif self._pieces:
            self._keep(self._block, "".join(self._pieces), self._pos - len(self._held))
            self._pieces.clear()

    def _choose_mode(self) -> None:
        self._mode = _OTHER
        block = self._block
        if block is not None and block.leaf is None and block.state != State.JSON:
            return
        if self._held and (block is not None or not self._dialect.layout or self._held.strip(SPACES)):
            if block is not None and (self._held in ("]", "<", "\n", "\n<") or self._held.startswith("</")):
                self._choose_bracket()
            elif self._held == "<" and not self._dialect.layout and self._reads_plainly:
                self._mode = _HELD
                self._mark = self._pos + _GATHER
            return
        if block is None:
            if self._outside.has_other_marks:
                outside = self._outside
                is_plain = not (self._held or outside.closers or outside.brackets or outside.is_first)
                if is_plain and not outside.is_after and not outside.is_long:
                    self._mode = _OTHER_PROSE
                    self._mark = self._pos + _GATHER
                return
            if self._dialect.layout:
                outside = self._outside
                if not outside.closers and not outside.is_after and not outside.is_long:
                    self._mode = _LAID_OUT
            elif not self._outside.brackets and not self._outside.closers:
                self._mode = _PROSE
            if self._pos >= self._mark or not self._pieces:
                self._mark = self._pos + _GATHER
            return
        leaf = block.leaf
        if leaf is None:
            if block.state == State.JSON and (quote := block.scanner.quote):
                deltas = block.scanner.deltas
                self._mark = min(self._pos + _GATHER, block.start + self._limits.block_size)
                is_raw = quote == "<"  # a string between marks: nothing in it is escaped
                self._stop = quote
                self._ends = None
                self._mode = _SILENT if is_raw else _JSON_SILENT
                if deltas is not None and deltas.path is not None:
                    self._path = deltas.path
                    self._mode = _PAIR if is_raw else _JSON
            return
        in_pair = block.state == State.PAIR_VALUE and not leaf.decided
        # `]` begins the ends of all these.
        in_cdata = block.state == State.CDATA or block.state == State.NESTED_VALUE
        in_cdata = in_cdata or (block.state == State.PAIR_VALUE and leaf.decided)
        if not in_cdata and not in_pair and block.state != State.TEXT:
            return
        self._mark = min(self._pos + _GATHER, block.start + self._limits.block_size)
        if leaf.reader is None:
            self._mode = _SILENT
            self._stop = "]" if in_cdata else "<"
        elif leaf.path is not None:
            if in_cdata:
                self._ends = None
                self._stop = "]<" if block.state == State.NESTED_VALUE else "]]"
            else:
                self._stop = "</" if leaf.pasted else "<"
                self._ends = own_ends(leaf.tag, block.arguments_tag) if leaf.exact else None
            if in_pair:
                self._ends = marks_of(block.dialect, leaf.tag[0])
                is_framed = block.dialect.pairs is not None and block.dialect.pairs.framing
                self._stop = "\n" if is_framed else ""
                self._mode = _FRAMED if is_framed else _PAIR
            else:
                self._mode = _CDATA if in_cdata else _text_mode(leaf.reader)
            self._path = leaf.path
            self._reader = leaf.reader

    def _choose_bracket(self) -> None:
        """As `_choose_mode`, where a bracket or a line break is held back in a value."""
        held, self._held = self._held, ""
        self._choose_mode()
        if self._mode == _CDATA and held == "]":
            self._mode = _CDATA_BRACKET
        elif self._mode in _TEXTS and self._stop == "</" and held[0] == "<":
            self._mode = _TEXT_BRACKET
        elif self._mode == _FRAMED and held == "\n":
            self._mode = _FRAMED_BREAK
        elif (self._mode == _PAIR and held == "<" and self._ends) or (self._mode == _FRAMED and held != "]"):
            self._mode = _MARKED
        else:
            self._mode = _OTHER
        self._held = held

    def _read(self, chunk: str) -> None:
        """Read a piece together with what was held back."""
        if len(self._held) > _LONG and self._is_undecided(chunk):
            self._held += chunk
            self._pos += len(chunk)
            return
        text = self._held + chunk if self._held else chunk
        base = self._pos - len(self._held)
        self._pos += len(chunk)
        self._read_text(text, base)

    def _read_text(self, text: str, base: int, at: int = 0) -> None:
        """Read a text that begins at `base` in the stream, from `at` on; what may become something else is held
        back."""
        outside = self._outside
        outside.begin()
        while at < len(text):
            if self._block is not None:
                place = self._read_block(self._block, text, at, base)
            elif self._spent:
                place = outside.emit_text(text, at, len(text), base)
            else:
                place = outside.read(text, at, base)
                if (opening := outside.opening) is not None:
                    outside.opening = None
                    self._open_block(opening, text, at)
            if place < 0:
                break
            at = place
        outside.end(text, at, base)
        self._held = text[at:]

    def _is_undecided(self, chunk: str) -> bool:
        """Is it clear without a look at what is held back that `chunk` decides nothing? A long tag, or bracket, is not
        matched again for each of its characters then. It may be decided late that it is none, but never differently.
        """
        size = len(self._held) + len(chunk)
        if self._block is not None:
            if self._pos + len(chunk) >= self._block.start + self._limits.block_size:
                return False  # what it may be is decided before the block is too large
            return size < TAG_LENGTH and "<" not in chunk and ">" not in chunk
        return self._outside.decides_nothing(self._held, chunk)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _open_block(self, opening: Opening, text: str, at: int) -> None:
        """A block opens, `at` in the text."""
        dialect, word = opening.dialect, opening.word
        block = Block(opening.start, opening.length, dialect, self._limits, self._toolbox, self._name_call)
        block.final = self._outside.final
        self._block = block
        self._blocks += 1
        if self._blocks > self._limits.blocks:
            message = f"the reply has more than {self._limits.blocks} tool calls; what follows was read as text"
            give_up(block, Code.LIMIT_EXCEEDED, message, block.start)
        if opening.is_fenced:
            note_fence(block)
        if opening.is_unclosed:
            note_opener(block, Code.MISSING_END_TAG, "the reasoning before the call was not closed")
        if dialect.name != self._dialect.name:
            note_opener(block, Code.FOREIGN_DIALECT, f"the call was written as in the dialect {dialect.name}")
        if dialect.arguments and word != dialect.block and not dialect.in_line:
            block.spelling = word
            note_opener(block, Code.TAG_CASE, f"<{word}> was read as <{dialect.block}>")
        if dialect.body is Body.ELEMENTS:
            read_opening_tag(block, text[at : at + opening.length])

    def _read_block(self, block: Block, text: str, at: int, base: int) -> int:
        end = run(block, text, at, base, self._events)
        if block.done and not block.raw:  # the whole block was in this piece: no copy of it is needed
            self._end_block(block, base + end, text, base)
            if block.again:
                self._open_again(block, base + end)
            return end
        if end > at:
            block.raw.append(text[at:end] if at or end < len(text) else text)
            block.raw_end = base + end
            if not block.keeps_source:
                trim(block, end - at)
        if block.done:
            self._end_block(block, base + end)
            if block.again:
                self._open_again(block, base + end)
            return end
        return end if end > at else -1

    def _open_again(self, ended: Block, place: int) -> None:
        """Another call begins, at `place` in the stream, in the block that has ended."""
        self._outside.end_text()
        dialect = ended.dialect
        outside = self._outside
        self._open_block(Opening(place, 0, dialect.block, outside.is_fenced, dialect, outside.is_unclosed), "", 0)
        if self._block is None:
            return
        if dialect.many:
            self._block.is_bare = self._block.is_bare and not dialect.closer
        else:
            note_opener(self._block, Code.JOINED_CALLS, "the call is in the block of another one")

    def _keep(self, block: Block, text: str, end: int) -> None:
        block.raw.append(text)
        block.raw_end = end
        if not block.keeps_source:
            trim(block, len(text))

    def _name_call(self, block: Block) -> None:
        """A block has named its tool: give the call its id and find the schema of its arguments."""
        if find_shape(block, self._toolbox):
            block.call_id = self._next_id()
            block.deltas = self._argument_deltas
            self._events.append(CallStarted(block.call_id, block.name or "", block.server))

    def _next_id(self) -> str:
        return _make_id(self._new_id)

    def _end_block(self, block: Block, end: int, text: str | None = None, base: int = 0) -> None:
        """The block has ended. It is in `text`, which begins at `base` in the stream, or in its own pieces."""
        self._block = None
        self._outside.skip_block(end)
        if self._blocks > self._limits.blocks:
            self._spent = True
            self._outside.brackets = False
        if text is None:
            text = block.raw.take()
            base = end - len(text)  # of a block over a limit only the end is kept
        if block.dialect.in_line and text[end - base - 1] == "\n":
            self._outside.begin_line()
        verdict = conclude(block, end, text, base, self._toolbox, self._strict)
        if isinstance(verdict, CallError):
            self._release(verdict.code is Code.TRUNCATED)
            self._events.append(CallFailed(verdict, block.call_id))
            return
        if not verdict.id:
            verdict = self._late_start(block, verdict)
        if block.in_list and block.dialect.is_bare:
            self._waiting.append((verdict, text[block.start - base : end - base]))
            return
        self._release()
        self._events.append(CallCompleted(verdict))

    def _release(self, is_cut: bool = False) -> None:
        """The list without marks in which calls wait has ended: they are calls, unless it was cut off."""
        for call, source in self._waiting:
            if not is_cut:
                self._events.append(CallCompleted(call))
                continue
            span = call.span or (0, 0)
            error = CallError(
                code=Code.TRUNCATED,
                span=span,
                message="the reply ended inside the list of calls",
                hint=hint_of(Code.TRUNCATED, self._dialect),
                name=call.name,
                arguments=call.arguments,
                source=source,
                offset=span[1],
            )
            self._events.append(CallFailed(error, call.id))
        self._waiting.clear()

    def _late_start(self, block: Block, call: ToolCall) -> ToolCall:
        """A call whose name was known only at its end (a JSON body with escapes in the name)."""
        started = CallStarted(self._next_id(), call.name, block.server)
        self._events.append(started)
        return call.model_copy(update={"id": started.id})

    # -- the end -----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        self._outside.final = True
        rest, self._held = self._held, ""
        self._pos -= len(rest)
        if self._block is not None:
            self._block.final = True
        if rest:
            self._read(rest)  # nothing is put off any more
        while self._block is None and not self._outside.closers and self._held:
            # What was held back is no opener now that nothing follows: its first character is text, or a bracket
            # closes.
            text, self._held = self._held, ""
            base = self._pos - len(text)
            place = self._outside.release(text, base)
            self._pos = base + place
            self._read(text[place:])
        rest, self._held = self._held, ""
        if self._block is not None:
            if not self._read_again(self._block, rest):
                self._cut_off(self._block, rest)
        else:
            self._outside.cut_off(rest, self._pos)

    def _read_again(self, block: Block, rest: str) -> bool:
        """The reply ends where a value may have ended earlier: decide that, and read what follows. False if it is cut
        off, and `rest` belongs to it as all before."""
        if not block.keeps_source:
            return False
        block.raw.append(rest)
        text = block.raw.take()
        block.events = self._events
        again = settle(block, text) if self._decided < _MOST_DECIDED else None
        if again is None:
            self._keep(block, text, self._pos)
            return False
        self._decided += 1
        after = again - block.start
        self._keep(block, text[:after], again)
        if block.error is not None:
            self._fail(block, again)
        self._pos = again
        self._read(text[after:])
        self._finish()
        return True

    def _cut_off(self, block: Block, rest: str) -> None:
        if block.error is None and ends_complete(block, rest, self._pos - len(rest)):
            if not (block.is_bare or block.done):  # it has no tag of its own to end
                end_early(block, self._pos)
            self._block = block
            self._end_block(block, self._pos)
            return
        self._fail(block, self._pos)

    def _fail(self, block: Block, end: int) -> None:
        self._block = None
        self._outside.skip_block(end)
        text = block.raw.take() if block.keeps_source else ""
        error = partial_error(block, end, block.error or cut_off(block, end), text, self._toolbox)
        self._release(error.code is Code.TRUNCATED)
        self._events.append(CallFailed(error, block.call_id))


class _Options(TypedDict, total=False):
    """The options of `Parser`."""

    strict: bool
    reasoning_tags: Sequence[str] | None
    starts_in_reasoning: bool
    bracket_reasoning: bool
    code_fences: str
    limits: Limits | None
    new_id: Callable[[], str]
    dialect: Dialect | str
    also: Also


def parse(text: str, tools: Iterable[Tool] | None = None, **options: Unpack[_Options]) -> Reply:
    """Parse a whole reply. Takes the options of `Parser`, and raises as it does; returns the parts in order."""
    return read_reply(text, tools, **options)


def read_reply(text: str, tools: Iterable[Tool] | Toolbox | None, **options: Unpack[_Options]) -> Reply:
    """As `parse`; inside the package, a toolbox may serve many replies."""

    if "argument_deltas" in options:
        raise XMLToolsError("argument_deltas: parse returns whole calls, and no deltas; leave it out")
    parser = Parser(tools, argument_deltas=False, **options)
    events = [*parser.feed(text), *parser.close()]
    return build_reply(events, unclosed_reasoning=parser.unclosed_reasoning)


def build_reply(events: Iterable[Event], *, unclosed_reasoning: bool = False) -> Reply:
    """Fold events into a reply: adjacent deltas are joined."""
    from xmltools.models import Reply  # only here: who reads events makes no replies

    parts: list[Text | Reasoning | ToolCall | CallError] = []
    notices: list[Notice] = []
    kind: type[Text] | type[Reasoning] | None = None
    gathered: list[str] = []

    def flush() -> None:
        if kind is not None and (joined := "".join(gathered)):
            parts.append(kind.unchecked(joined))
        gathered.clear()

    for event in events:
        if isinstance(event, TextDelta):
            if kind is not Text:
                flush()
                kind = Text
            gathered.append(event.text)
        elif isinstance(event, ReasoningDelta):
            if kind is not Reasoning:
                flush()
                kind = Reasoning
            gathered.append(event.text)
        elif isinstance(event, CallCompleted | CallFailed):
            flush()
            kind = None
            parts.append(event.call if isinstance(event, CallCompleted) else event.error)
        elif isinstance(event, Noticed):
            notices.append(event.notice)
    flush()
    return Reply.unchecked(tuple(parts), unclosed_reasoning, tuple(notices))
