"""The incremental parser: chunks of model text in, events out (protocol: `grammars/PROTOCOL.md`).

    parser = Parser(tools)
    for chunk in stream:
        for event in parser.feed(chunk): ...
    for event in parser.close(): ...

`Outside` reads the text outside calls, `machine.run` the open call; `Parser` cuts the stream between them. A chunk in
which nothing can begin or end continues the prose, value or tag it falls into: `feed` says so at once. Any other chunk
goes to the two readers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from xmltools.dialects import FORGE, Also, Body, Dialect, beside, named
from xmltools.errors import CallError, Code, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import ArgumentDelta, CallCompleted, CallFailed, CallStarted, Event, TextDelta
from xmltools.parser.attributes import read_opening_tag
from xmltools.parser.block import Block, Path, Reading, State
from xmltools.parser.cut_off_replies import cut_off_list, end_in_call
from xmltools.parser.decode_text import TextReader
from xmltools.parser.finish import conclude
from xmltools.parser.limits import Limits
from xmltools.parser.machine import run, run_of_value
from xmltools.parser.openers import checked_tags
from xmltools.parser.outside import Opening, Outside
from xmltools.parser.toolbox import Toolbox, toolbox_of
from xmltools.parser.whole import read_call
from xmltools.syntax.markup import SPACES, TAG_LENGTH, skip_space
from xmltools.tools import Tool
from xmltools.tools.schema import ANY

__all__ = ["COMPILED", "Limits", "Parser"]

# What the stream is in, and so what `feed` does with a chunk in which nothing begins or ends.
_CLOSED: Final = -1
_OTHER: Final = 0  # the chunk takes a closer look
_VALUE: Final = 1  # a value without escapes
_TEXT: Final = 2  # a value with entities, or whose last line break is not part of it
_JSON: Final = 3  # a string in JSON
_PROSE: Final = 4
_TAG: Final = 5  # a tag: nothing is decided before its end
_NAME: Final = 6  # a tag that what comes before waits for: its name is not over
_HELD: Final = 7  # one of these, with text that is held back
_LAID_OUT: Final = 8  # prose in a dialect in which white space beside calls is not text

_GATHER: Final = 4096
"""Characters that `feed` may pile up in single chunks, of 64 bytes each, before they are joined."""
_LONG: Final = 256
"""Held text of more characters is looked at again only if the new chunk may decide what it is."""
_LIMITS: Final = Limits()
_LESS_THAN: Final = re.compile("<")
_NOTHING: Final = re.compile("(?!)")
_BETWEEN: Final = re.compile(r"[ \t\r\n]*(?:</?(?:[A-Za-z_][-.0-9A-Za-z_]*)?)?")
"""What may come after the end tag of a value, up to the end of the next tag: nothing is decided by it."""


COMPILED: Final = not __file__.endswith(".py")
"""Whether this is the compiled build (`hatch_build.py`) of the same source."""


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
    paragraphs in square brackets are reasoning (old Forge models), except code fences and lists in JSON.
    `code_fences`: `"call"` parses blocks in Markdown fences with a repair, `"text"` leaves them as text.
    `argument_deltas`: False leaves `ArgumentDelta` out, which is faster if only whole calls are wanted. `limits`: what
    a block may contain. `new_id`: makes the ids of calls, in their order. `dialect`: how calls
    are written. `also`: calls of given tools in other dialects are read too, with a repair; `"known"` means all
    dialects, otherwise some are named.

    Raises `XMLToolsError` for options that make no sense, tools whose schema is invalid and two tools of one name.
    No model text raises anything. A parser reads one reply.
    """

    __slots__ = (
        "_after",
        "_argument_deltas",
        "_block",
        "_blocks",
        "_char",
        "_close",
        "_decided",
        "_dialect",
        "_direct",
        "_events",
        "_held",
        "_is_silent",
        "_is_whole",
        "_kind",
        "_limits",
        "_mark",
        "_mode",
        "_new_id",
        "_outside",
        "_pair",
        "_path",
        "_pieces",
        "_pos",
        "_reader",
        "_reading",
        "_spent",
        "_stops",
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
            # White space before a line is not text there, so nobody knows where a line begins.
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
        self._argument_deltas = argument_deltas
        self._events: list[Event] = []
        self._block: Block | None = None
        self._reading = Reading(self._limits, self._toolbox, self._name_call)
        self._blocks = 0
        self._spent = False  # there was a block too many: the rest is text
        self._decided = 0
        self._waiting: list[tuple[ToolCall, str]] = []  # in an open list without delimiters: calls and their sources
        self._is_whole = False  # the reply is read at once, and only its parts are asked for
        self._pos = 0  # characters received
        self._held = ""  # text that is not decided
        # Of the run that the stream is in: its kind, and the mode while nothing is held back; what all begins with that
        # may begin or end in it, and the first character of that; a pattern of it; how the run probably ends, and
        # what may follow that without deciding anything; the path
        # and the reader of its deltas.
        self._mode = self._kind = _OTHER
        self._direct = _OTHER
        self._char = self._pair = self._close = ""
        self._stops = _LESS_THAN
        self._after = _NOTHING
        self._path: Path = ()
        self._is_silent = False  # it has no deltas
        self._reader: TextReader | None = None
        # Its chunks, which `Outside` or the source of the open call gets later, and where in the stream that must be.
        self._pieces = self._outside.pieces
        self._mark = _GATHER
        self._choose_mode()

    @property
    def unclosed_reasoning(self) -> bool:
        """True while inside a reasoning region; after `close`: the reply ended in one."""
        return self._outside.in_reasoning

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
        goes_on = ">" not in chunk or block.error is not None
        if not is_last and (goes_on or (_OTHER < self._kind <= _JSON and self._char not in chunk)):
            return len(chunk)
        return len(chunk) + self._pos - block.start

    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of text, of any length; returns the events it produced.

        Raises `XMLToolsError` for anything but a string (`TypeError`, if it is compiled), and after `close`.
        """
        # Hot: chunks of four characters are the rule, and most of them begin and end nothing. They make one event.
        mode = self._mode
        if mode > 0 and chunk.__class__ is str and chunk:
            end = self._pos + len(chunk)
            if end <= self._mark:
                char = self._char
                if char not in chunk or (chunk[-1] != char and self._pair not in chunk):
                    if mode < 4:
                        if (
                            mode == 1
                            or (mode == 2 and "&" not in chunk and (chunk[-1] > " " or chunk.isprintable()))
                            or (mode == 3 and "\\" not in chunk)
                        ):
                            self._pos = end
                            self._pieces.append(chunk)
                            delta = ArgumentDelta()
                            delta.path = self._path
                            delta.text = chunk
                            return [delta]
                    elif mode == 4 or (mode == 8 and chunk[-1] > " "):
                        event = TextDelta()
                        event.text = chunk
                        event.start = self._pos
                        self._pos = end
                        self._pieces.append(chunk)
                        return [event]
                    elif mode == 5:
                        self._held += chunk
                        self._pos = end
                        return []
                events = self._feed_run(chunk, end)
                if events is not None:
                    return events
        return self._feed(chunk)

    def read(self, text: str) -> list[Event]:
        """Take a whole reply at once, and return its events. Of clean calls it tells only that they have ended."""
        self._check(text)
        self._is_whole = True
        events = self._events = self._outside.events
        self._read_pieces(text)
        return events + self.close()

    def close(self) -> list[Event]:
        """Say that the reply has ended; returns what is left. Closing twice does nothing."""
        if self._mode == _CLOSED:
            return []
        events = self._events = self._outside.events = []
        if self._held or self._block is not None:
            self._gather()
        self._finish()
        self._outside.gather(is_last=True)
        self._outside.end_text()
        self.abandon()
        self._let_go()
        return events

    def abandon(self) -> None:
        """Give up a reply of which no more is wanted: the parser is closed, and what is open is forgotten, unread.

        A parser that is dropped unclosed may be a ring of objects, which waits for the garbage collector.
        """
        self._block = self._reading.on_name = None
        self._mode = _CLOSED

    # -- chunks --------------------------------------------------------------------------------------------------------

    def _feed_run(self, chunk: str, end: int) -> list[Event] | None:
        """A chunk of a run in which something may begin or end: the text before that makes an event, and what the end
        of the chunk cuts off is held back. None if it takes a closer look."""
        kind, held = self._kind, self._held
        if kind >= _TAG:
            return None if ">" in chunk else self._feed_tag(held + chunk, end)
        if kind == _JSON:
            return self._feed_json(chunk, end)
        text = held + chunk if held else chunk
        size = len(text)
        found = self._stops.search(text) if self._char in text or text[-1] <= " " else None
        if found is not None and found.end() < size:
            rest = text[found.start() :].lstrip("\r\n")
            close = self._close
            if len(rest) < len(close):
                if not close.startswith(rest):
                    return None
            elif not rest.startswith(close) or not self._after.fullmatch(rest, len(close)):
                return None
        start = self._pos - len(held)
        if found is not None and found.start() < size:
            size = found.start()
            if not size and len(held) > _LONG:
                return None
            self._held = text[size:]
            text = text[:size]
            self._mode = _HELD
        elif held:
            self._held = ""
            self._mode = self._direct
        self._pos = end
        if not text:
            return []
        self._pieces.append(text)
        if kind == _PROSE:
            event = TextDelta()
            event.text = text
            event.start = start
            return [event]
        reader = self._reader
        if reader is not None:
            text = reader.text(text)
            if not reader.idle:
                self._mode = _HELD
            elif not self._held:
                self._mode = self._direct
        if not text or self._is_silent:
            return []
        delta = ArgumentDelta()
        delta.path = self._path
        delta.text = text
        return [delta]

    def _feed_tag(self, text: str, end: int) -> list[Event] | None:
        """A tag, after what was held back of it: it is held back until it may be whole."""
        if self._kind == _TAG:
            tag = text.lstrip(SPACES)
            goes_on = not tag or tag[0] == "<"
            self._mode = _TAG if tag else _HELD
        else:
            _, tag, name = text.partition("<")
            goes_on = not tag or name.removeprefix("/").isidentifier() or name in ("", "/")
        if not goes_on:
            return None
        self._held = text
        self._pos = end
        return []

    def _feed_json(self, chunk: str, end: int) -> list[Event] | None:
        """A chunk of a string in JSON, with escapes. None if the string may end in it."""
        assert self._block is not None and self._block.json is not None
        scanner = self._block.json.scanner
        piece = scanner.string_piece(chunk)
        if piece is None:
            return None
        self._pos = end
        self._pieces.append(chunk)
        self._mode = _JSON if scanner.is_clear else _HELD
        return [ArgumentDelta.make(self._path, piece)] if piece else []

    def _feed(self, chunk: str) -> list[Event]:
        """A chunk that takes a closer look."""
        if chunk.__class__ is not str or self._mode == _CLOSED:
            self._check(chunk)
        if not chunk:
            return []
        events: list[Event] = []
        self._events = self._outside.events = events
        block, held = self._block, self._held
        end = self._pos + len(chunk)
        if self._pieces if block is not None else end > self._mark:
            self._gather()
        if block is None or len(held) > _LONG or end >= block.start + self._limits.block_size:
            self._read_pieces(chunk)
        else:
            text = held + chunk if held else chunk
            self._pos = end
            base = end - len(text)
            place = self._read_block(block, text, 0, base)
            self._held = text = text[place:] if place > 0 else text
            if self._block is not block and text:
                self._read_text(text, end - len(text))
        self._choose_mode()
        if self._block is not block or len(chunk) > _GATHER:
            self._let_go()
        return events

    def _let_go(self) -> None:
        """The events that were made may hold a large call, which is the caller's now."""
        self._events = self._outside.events = self._reading.events = []

    def _check(self, chunk: object) -> None:
        """Raise if `chunk` cannot be taken."""
        if self._mode == _CLOSED:
            raise XMLToolsError("feed() after close(): a parser reads one reply; make a new Parser for the next")
        if not isinstance(chunk, str):
            how = "codecs.getincrementaldecoder('utf-8') decodes bytes"
            if not isinstance(chunk, bytes):
                how = "where there is no text, give an empty one" if chunk is None else "give the text of the reply"
            raise XMLToolsError(f"feed() and parse() expect str, got {type(chunk).__name__}; {how}")

    def _gather(self) -> None:
        """Hand the chunks of a run to those that follow the text."""
        if self._block is None:
            self._outside.gather(is_all=False)
        elif self._pieces:
            self._keep(self._block, "".join(self._pieces), self._pos - len(self._held))
            self._pieces.clear()

    def _choose_mode(self) -> None:
        """Find out what the stream is in now."""
        self._mode = self._kind = _OTHER
        self._close = ""
        self._after = _NOTHING
        block = self._block
        if block is None:
            self._choose_prose()
            return
        leaf, state, held = block.leaf, block.state, self._held
        if leaf is None:
            if state == State.JSON:
                self._choose_json(block)
            elif state == State.MARKUP and not block.stack[-1].loose and ">" not in held:
                self._choose_tag(_TAG, block)
        elif leaf.capture is not None:
            if leaf.path is None and ">" not in held:
                self._choose_tag(_NAME, block)  # of the tool, or of its server
        elif (value := run_of_value(block, leaf)) is not None:
            self._pair, self._stops, self._close, is_text = value
            self._char = self._pair[0]
            self._kind = _TEXT if is_text else _VALUE
            self._after = _BETWEEN if is_text and len(block.stack) > 1 else _NOTHING
            self._path = leaf.path or ()
            self._is_silent = leaf.reader is None or leaf.path is None
            self._reader = reader = leaf.reader if state == State.TEXT else None
            self._direct = _HELD if self._is_silent else self._kind
            self._mode = self._direct if not held and (reader is None or reader.idle) else _HELD
            self._mark = min(self._pos + _GATHER, block.start + self._limits.block_size - 1)
        elif held and held[0] == "<" and ">" not in held and (state != State.CDATA_TAIL or held[1:2] == "/"):
            self._choose_tag(_NAME, block)

    def _choose_tag(self, kind: int, block: Block) -> None:
        self._kind = kind
        self._mode = _TAG if kind == _TAG and self._held else _HELD
        self._char = self._pair = ">"
        most = min(_LONG, TAG_LENGTH - len(self._held) - 1)  # a longer one is not a tag
        self._mark = min(self._pos + most, block.start + self._limits.block_size - 1)

    def _choose_json(self, block: Block) -> None:
        """As `_choose_mode`, in a string in JSON."""
        json = block.json
        if json is None or self._held or not (quote := json.scanner.quote):
            return
        self._kind = _JSON
        self._direct = self._mode = _JSON if json.scanner.is_clear else _HELD
        self._char = self._pair = quote
        self._path = json.deltas.path if json.deltas is not None else ()
        self._mark = min(self._pos + _GATHER, block.start + self._limits.block_size - 1)

    def _choose_prose(self) -> None:
        """As `_choose_mode`, outside calls."""
        outside = self._outside
        if not outside.is_plain_prose:
            return
        is_laid_out = self._dialect.layout
        self._kind = _PROSE
        openers = outside.openers
        self._char = self._pair = "" if openers.has_others else "<"
        self._stops = _NOTHING if self._spent else openers.begins
        self._direct = _HELD if openers.has_others else _LAID_OUT if is_laid_out else _PROSE
        self._mode = _HELD if self._held else self._direct
        if self._pos >= self._mark or not self._pieces:
            self._mark = self._pos + _GATHER

    def _read_pieces(self, chunk: str) -> None:
        """Read a chunk in pieces: none has both the start of a block and more than the block may have."""
        size, block = self._limits.block_size, self._block
        room = size - len(self._held) if block is None else block.start + size - self._pos - 1
        if room >= len(chunk):
            self._read(chunk)
            return
        at = 0
        while at < len(chunk):
            block = self._block
            room = max(1, size - len(self._held))
            if block is not None and block.raw.is_whole:
                room = block.start + size - self._pos
                if room <= 0:
                    message = f"the block is larger than {size} characters"
                    block.give_up(Code.LIMIT_EXCEEDED, message, block.start + size)
                    continue
            self._read(chunk if room >= len(chunk) and not at else chunk[at : at + room])
            at += room

    def _read(self, chunk: str) -> None:
        """Read a piece together with what was held back."""
        held, base = self._held, self._pos - len(self._held)
        self._pos += len(chunk)
        if len(held) > _LONG and self._is_undecided(chunk):
            self._held = held + chunk
        else:
            self._read_text(held + chunk if held else chunk, base)

    def _read_text(self, text: str, base: int, at: int = 0) -> None:
        """Read a text that begins at `base` in the stream, from `at` on; what may become something else is held
        back."""
        outside, is_begun = self._outside, False
        size = len(text)
        while at < size:
            block = self._block
            if block is not None:
                place = self._read_block(block, text, at, base)
            else:
                if not is_begun:
                    is_begun = True
                    outside.begin(base)
                place = outside.emit_text(text, at, size) if self._spent else outside.read(text, at)
                if (opening := outside.opening) is not None:
                    outside.opening = None
                    end = self._read_whole(opening, text, base) if self._is_whole else 0
                    if end:
                        place = end
                    else:
                        self._open_block(opening, text, at)
            if place < 0:
                break
            at = place
        if is_begun:
            outside.end(text, at)
        self._held = text[at:]

    def _is_undecided(self, chunk: str) -> bool:
        """Is it clear without a look at what is held back that `chunk` decides nothing? A long tag, or bracket, is not
        matched again for each of its characters then. It may be decided late that it is none, but never differently.
        """
        size = len(self._held) + len(chunk)
        if self._block is not None:
            if self._pos >= self._block.start + self._limits.block_size:
                return False  # what it may be is decided before the block is too large
            return size < TAG_LENGTH and "<" not in chunk and ">" not in chunk
        return self._outside.decides_nothing(self._held, chunk)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _read_whole(self, opening: Opening, text: str, base: int) -> int:
        """Read the clean block that opens, and all that follow with nothing but white space between them: nothing can
        hide those. Returns the place after them; 0 if the machine must read the first one."""
        toolbox, limits, outside = self._toolbox, self._limits, self._outside
        if toolbox is None or outside.is_fenced or outside.is_unclosed or opening.dialect.name != self._dialect.name:
            return 0
        at, end = opening.start - base, 0
        while self._blocks < limits.blocks:
            call = read_call(opening.dialect, text, at, base, limits, toolbox, self._next_id)
            if call is None or call.span is None:
                break
            if end:
                outside.take_space(text, end, at)
            self._blocks += 1
            end = call.span[1] - base
            outside.skip_block(call.span[1])
            self._events.append(CallCompleted(call))
            at = skip_space(text, end)
        return end

    def _open_block(self, opening: Opening, text: str, at: int) -> None:
        """A block opens, `at` in the text."""
        dialect, word = opening.dialect, opening.word
        self._reading.call_id = None
        block = Block(opening.start, opening.length, dialect, self._reading)
        self._block = block
        self._blocks += 1
        if self._blocks > self._limits.blocks:
            message = f"the reply has more than {self._limits.blocks} tool calls; what follows was read as text"
            block.give_up(Code.LIMIT_EXCEEDED, message, block.start)
        if self._outside.is_fenced:
            block.note_opener(Code.CODE_FENCE, "the block was in a code fence")
        if self._outside.is_unclosed:
            block.note_opener(Code.MISSING_END_TAG, "the reasoning before the call was not closed")
        if dialect.name != self._dialect.name:
            block.note_opener(Code.FOREIGN_DIALECT, f"the call was written as in the dialect {dialect.name}")
        if dialect.arguments and word != dialect.block and not dialect.in_line:
            block.spelling = word
            block.note_opener(Code.TAG_CASE, f"<{word}> was read as <{dialect.block}>")
        if dialect.body is Body.ELEMENTS:
            read_opening_tag(block, text[at : at + opening.length])

    def _read_block(self, block: Block, text: str, at: int, base: int) -> int:
        end = run(block, text, at, base, self._events)
        if not block.done:
            if end <= at:
                return -1
            self._keep(block, text[at:end] if at or end < len(text) else text, base + end)
            return end
        if not block.raw:  # the whole block was in this piece: no copy of it is needed
            self._end_block(block, base + end, text, base)
        else:
            self._keep(block, text[at:end], base + end)
            self._end_block(block, base + end)
        if block.again:
            self._open_again(block, base + end)
        return end

    def _open_again(self, ended: Block, place: int) -> None:
        """Another call begins, at `place` in the stream, in the block that has ended."""
        self._outside.end_text()
        dialect = ended.dialect
        self._open_block(Opening(place, 0, dialect.block, dialect), "", 0)
        if self._block is None:
            return
        if dialect.many:
            self._block.is_bare = self._block.is_bare and not dialect.closer
        else:
            self._block.note_opener(Code.JOINED_CALLS, "the call is in the block of another one")

    def _keep(self, block: Block, text: str, end: int) -> None:
        block.raw.append(text)
        block.raw.end = end
        if not block.raw.is_whole:
            block.trim(len(text))

    def _name_call(self, block: Block) -> None:
        """A block has named its tool: give the call its id and find the schema of its arguments."""
        if block.error is None and block.resolve_name():
            block.stack[0].shape = block.guess_shape() or ANY
            self._reading.call_id = self._next_id()
            block.stack[0].path = () if self._argument_deltas else None
            self._events.append(CallStarted(self._reading.call_id, block.name or "", block.server))

    def _next_id(self) -> str:
        return _new_id() if self._new_id is _new_id else _make_id(self._new_id)

    def _end_block(self, block: Block, end: int, text: str | None = None, base: int = 0) -> None:
        """The block has ended. It is in `text`, which begins at `base` in the stream, or in its own pieces."""
        self._block = None
        self._outside.skip_block(end)
        if self._blocks > self._limits.blocks:
            self._spent = True
            self._outside.brackets = None
        if text is None:
            text = block.raw.take()
            base = end - len(text)  # of a block over a limit only the end is kept
        if block.dialect.in_line and text[end - base - 1 : end - base] == "\n":
            self._outside.begin_line()
        verdict = conclude(block, end, text, base, self._strict)
        self._reading.text = ""
        if isinstance(verdict, CallError):
            self._release(verdict.code is Code.TRUNCATED)
            self._events.append(CallFailed(verdict, self._reading.call_id))
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
            if is_cut:
                self._events.append(CallFailed(cut_off_list(call, source, self._dialect), call.id))
            else:
                self._events.append(CallCompleted(call))
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
        self._reading.final = True
        if rest:
            self._read(rest)  # nothing is put off any more
        while self._block is None and not self._outside.in_reasoning and self._held:
            # What was held back is no opener now that nothing follows: its first character is text.
            text, self._held = self._held, ""
            base = self._pos - len(text)
            self._outside.begin(base)
            place = self._outside.emit_text(text, 0, 1)
            self._pos = base + place
            self._read(text[place:])
        rest, self._held = self._held, ""
        block = self._block
        if block is None:
            self._outside.cut_off(rest, self._pos)
            return
        self._reading.events = self._events
        again = end_in_call(block, rest, self._pos, self._decided)
        self._pos -= len(again or "")
        if again is None or block.error is not None:
            self._end_block(block, self._pos)
        if again is not None:
            self._decided += 1
            self._read(again)
            self._finish()
