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

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from xmltools.dialects import FORGE, Also, Body, Dialect, beside, named
from xmltools.errors import CallError, Code, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import ArgumentDelta, CallCompleted, CallFailed, CallStarted, Event, TextDelta
from xmltools.parser.attributes import read_opening_tag
from xmltools.parser.cut_off_replies import cut_off_list, end_in_call
from xmltools.parser.finish import conclude
from xmltools.parser.foreign import ForeignCalls
from xmltools.parser.limits import Limits
from xmltools.parser.machine import run
from xmltools.parser.new_ids import make_id, random_id
from xmltools.parser.open_call import Block, Reading
from xmltools.parser.openers import checked_tags, starts_of
from xmltools.parser.outside import Opening, Outside
from xmltools.parser.quiet_chunks import CLOSED, FRAMED, HELD, JSON, LAID_OUT, LONG, NEW, OTHER, PROSE, TAG, VALUE, Run
from xmltools.parser.toolbox import Toolbox, toolbox_of
from xmltools.parser.whole import read_call
from xmltools.syntax.markup import TAG_LENGTH, skip_space
from xmltools.tools import Tool
from xmltools.tools.schema import ANY

__all__ = ["COMPILED", "Limits", "Parser"]

_LIMITS: Final = Limits()

COMPILED: Final = not __file__.endswith(".py")
"""Whether this is the compiled build (`hatch_build.py`) of the same source."""


class Parser:
    """Pulls tool calls out of streamed text.

    `tools`: types the arguments and refuses unknown tools; without them (None) every call is taken and values are
    strings, lists and dicts. `strict`: the first repair of a block makes it an error. `reasoning_tags`: names of
    the elements with reasoning. `starts_in_reasoning`: the prompt has opened one already. `bracket_reasoning`:
    paragraphs in square brackets are reasoning (old Forge models), except code fences and lists in JSON.
    `code_fences`: blocks in Markdown fences are calls, with a repair, where the reply ends with them (`"last"`) or
    everywhere (`"call"`), or stay text (`"text"`).
    `argument_deltas`: False leaves `ArgumentDelta` out, which is faster if only whole calls are wanted. `limits`: what
    a block may contain. `new_id`: makes the ids of calls, in their order. `dialect`: how calls
    are written. `also`: calls of given tools in other dialects are read too, with a repair; `"known"` means all
    dialects, otherwise some are named.

    Raises `XMLToolsError` for options that make no sense, tools whose schema is invalid and two tools of one name.
    No model text raises anything. A parser reads one reply.
    """

    def __init__(
        self,
        tools: Iterable[Tool] | Toolbox | None = None,
        *,
        strict: bool = False,
        reasoning_tags: Sequence[str] | None = None,
        starts_in_reasoning: bool = False,
        bracket_reasoning: bool = False,
        code_fences: str = "last",
        argument_deltas: bool = True,
        limits: Limits | None = None,
        new_id: Callable[[], str] = random_id,
        dialect: Dialect | str = FORGE,
        also: Also = None,
    ) -> None:
        if code_fences not in ("last", "call", "text"):
            raise XMLToolsError(f"code_fences: expected 'last', 'call' or 'text', got {code_fences!r}")
        dialect = named(dialect)
        if bracket_reasoning and dialect.layout:
            # White space before a line is not text there, so nobody knows where a line begins.
            raise XMLToolsError(f"bracket_reasoning: models that write {dialect.name} have no reasoning in brackets")
        others = beside(dialect, also)
        tags = dialect.reasoning if reasoning_tags is None else checked_tags(reasoning_tags, dialect)
        # Inside the package, a toolbox may serve many parsers: making one of many tools costs as much as a short reply.
        toolbox = tools if tools is None or isinstance(tools, Toolbox) else toolbox_of(tools)
        self._strict = "strict" if strict else ""
        self._limits = _LIMITS if limits is None else limits
        if not isinstance(self._limits, Limits):
            raise XMLToolsError(f"limits: expected Limits, got {limits!r:.40}; write Limits(blocks=…)")
        self._dialect = dialect
        names, others = ((), ()) if toolbox is None else (toolbox.names, others)
        self._outside = Outside(
            starts_of(dialect, tags, names, others, reasoning_tags is not None),
            toolbox,
            self._limits,
            ends=(*tags, *(end for _, end in dialect.thoughts)) if starts_in_reasoning else (),
            brackets=bracket_reasoning,
            code_fences=code_fences,
        )
        if not callable(new_id):
            raise XMLToolsError(f"new_id: expected a function that returns str, got {type(new_id).__name__}")
        self._next_id = partial(make_id, new_id)
        self._argument_deltas = argument_deltas
        self._block: Block | None = None
        self._events = self._outside.events
        self._held = self._outside.held
        self._reading = Reading(self._limits, toolbox, self._name_call, self._events)
        self._blocks = 0
        self._spent = False  # there was a block too many: the rest is text
        self._decided = 0
        self._waiting: list[tuple[ToolCall, str]] = []  # in an open list without delimiters: calls and their sources
        self._is_whole = False  # the reply is read at once, and only its parts are asked for
        self._run = Run(self._outside.pieces)

    @property
    def unclosed_reasoning(self) -> bool:
        """True while inside a reasoning region, or after a call in one; after `close`: the reply ended in one."""
        return self._outside.in_reasoning or self._held.is_thought

    @property
    def has_decided(self) -> bool:
        """True after `close`, if only the end of the reply decided where a value ends (protocol, 4.9)."""
        return self._decided > 0

    @property
    def foreign(self) -> ForeignCalls:
        """What looks for calls in other notations."""
        return self._outside.foreign

    @property
    def pending(self) -> int:
        """Characters that may have to be looked at again to read what comes next: those that are held back, and those
        of the open call."""
        return len(self._run.held) if self._block is None else self._run.pos - self._block.start

    # Hot: chunks of four characters are the rule, and most of them begin and end nothing. They make one event.
    def feed(self, chunk: str) -> list[Event]:
        """Take the next piece of text, of any length; returns the events it produced.

        Raises `XMLToolsError` for anything but a string (`TypeError`, if it is compiled), and after `close`.
        """
        run = self._run
        mode = run.mode
        if chunk.__class__ is not str or not chunk or (end := run.pos + len(chunk)) > run.mark:
            return self._feed(chunk)
        char = run.char
        if mode > HELD and not (char in chunk and (chunk[-1] == char or (run.pair in chunk and run.finds(chunk)))):
            if mode == PROSE or (mode == LAID_OUT and chunk[-1] > " "):
                event = TextDelta()
                event.text = chunk
                event.start = run.pos
                run.pos = end
                run.pieces.append(chunk)
                return [event]
            if (
                mode == VALUE
                or (mode == FRAMED and "&" not in chunk and (chunk.isprintable() or chunk[-1] not in run.edge))
                or (mode == JSON and "\\" not in chunk)
            ):
                run.pos = end
                run.pieces.append(chunk)
                delta = ArgumentDelta()
                delta.path = run.path
                delta.text = chunk
                reader = run.reader
                if reader is not None and not (reader.idle and chunk[-1] > " " and "&" not in chunk):
                    delta.text = reader.text(chunk)
                return [delta] if delta.text else []
            if mode == TAG:
                run.held += chunk
                run.pos = end
                return []
        if mode >= HELD and (events := run.read(chunk, end)) is not None:
            return events
        return self._feed(chunk)

    def read(self, text: str) -> list[Event]:
        """Take a whole reply at once, and return its events. Of clean calls it tells only that they have ended."""
        self._check(text)
        self._is_whole = True
        self._read_pieces(text)
        return self.close()

    def close(self) -> list[Event]:
        """Say that the reply has ended; returns what is left. Closing twice does nothing."""
        if self._run.mode == CLOSED:
            return []
        held = self._run.join()
        if self._block:
            self._block.raw.end = self._run.pos - len(held)
        self._finish()
        self._outside.gather(is_last=True)
        self._outside.end_text(self._run.pos)
        self.abandon()
        return self._events

    def abandon(self) -> None:
        """Give up a reply of which no more is wanted: the parser is closed, and what is open is forgotten, unread.

        A parser that is dropped unclosed may be a ring of objects, which waits for the garbage collector.
        """
        self._block = self._reading.on_name = None
        self._run.mode = CLOSED

    # -- chunks --------------------------------------------------------------------------------------------------------

    def _feed(self, chunk: str) -> list[Event]:
        """A chunk that takes a closer look."""
        run, block = self._run, self._block
        if chunk.__class__ is not str or run.mode < OTHER:
            self._check(chunk)
            if run.mode == NEW and chunk:
                run.choose_prose(self._outside, False)
                return Parser.feed(self, chunk)
        if not chunk:
            return []
        held = run.join()
        base, end = run.pos - len(held), run.pos + len(chunk)
        if block is None:
            if end > run.mark:
                self._outside.gather(is_all=False)
        else:
            block.raw.end = base
        if block is None or len(held) > LONG or end >= block.start + self._limits.block_size:
            self._read_pieces(chunk)
        else:
            run.pos = end
            text = held + chunk
            place = self._read_block(block, text, 0, base)
            run.held = text = text[place:]
            if self._block is not block and text:
                self._read_text(text, end - len(text))
        if self._block is None:
            run.choose_prose(self._outside, self._spent)
        else:
            run.choose(self._block, self._limits.block_size)
        return self._held.take()

    def _check(self, chunk: object) -> None:
        """Raise if `chunk` cannot be taken."""
        if self._run.mode == CLOSED:
            raise XMLToolsError("feed() after close(): a parser reads one reply; make a new Parser for the next")
        if not isinstance(chunk, str):
            how = "codecs.getincrementaldecoder('utf-8') decodes bytes"
            if not isinstance(chunk, bytes):
                how = "where there is no text, give an empty one" if chunk is None else "give the text of the reply"
            raise XMLToolsError(f"feed() and parse() expect str, got {type(chunk).__name__}; {how}")

    def _read_pieces(self, chunk: str) -> None:
        """Read a chunk in pieces: none has both the start of a block and more than the block may have."""
        size, at = self._limits.block_size, 0
        while at < len(chunk):
            block = self._block
            room = max(1, size - len(self._run.held))
            if block and block.raw.is_whole:
                room = block.start + size - self._run.pos
                if room <= 0:
                    message = f"the block is larger than {size} characters"
                    block.give_up(Code.LIMIT_EXCEEDED, message, block.start + size)
                    continue
            self._read(chunk[at : at + room])
            at += room

    def _read(self, chunk: str) -> None:
        """Read a piece together with what was held back."""
        run = self._run
        held, base = run.held, run.pos - len(run.held)
        run.pos += len(chunk)
        if len(held) > LONG and self._is_undecided(chunk):
            run.held = held + chunk
        else:
            self._read_text(held + chunk, base)

    def _read_text(self, text: str, base: int) -> None:
        """Read a text that begins at `base` in the stream. What may become something else is held back."""
        outside, at, size = self._outside, 0, len(text)
        outside.begin(base)
        while at < size:
            block = self._block
            if block:
                place = self._read_block(block, text, at, base)
                if self._block is block:  # it waits for more
                    at = place
                    break
            else:
                place = outside.emit_text(text, at, size) if self._spent else outside.read(text, at)
                if opening := outside.opening:
                    outside.opening = None
                    end = self._read_whole(opening, text, base) if self._is_whole and not self._decided else 0
                    if end:
                        place = end
                    else:
                        self._open_block(opening, text[at : at + opening.length])
            if place < 0:
                break
            at = place
        outside.end(text, at)
        self._run.held = text[at:]

    def _is_undecided(self, chunk: str) -> bool:
        """Is it clear without a look at what is held back that `chunk` decides nothing? A long tag, or bracket, is not
        matched again for each of its characters then. It may be decided late that it is none, but never differently.
        """
        size = len(self._run.held) + len(chunk)
        if self._block:
            if self._run.pos >= self._block.start + self._limits.block_size:
                return False  # what it may be is decided before the block is too large
            return size < TAG_LENGTH and "<" not in chunk and ">" not in chunk
        return self._outside.decides_nothing(self._run.held, chunk)

    # -- blocks ----------------------------------------------------------------------------------------------------

    def _read_whole(self, opening: Opening, text: str, base: int) -> int:
        """Read the clean block that opens, and all that follow with nothing but white space between them: nothing can
        hide those. Returns the place after them; 0 if the machine must read the first one."""
        toolbox, limits, outside, form = self._reading.toolbox, self._limits, self._outside, opening.dialect
        if toolbox is None or outside.is_fenced or self._held.is_waiting or form.name != self._dialect.name:
            return 0
        at, end = opening.start - base, 0
        while self._blocks < limits.blocks and text.startswith(form.opener, at):
            call = read_call(form, text, at, base, limits, toolbox, self._next_id)
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

    def _open_block(self, opening: Opening, tag: str = "") -> Block:
        """A block opens, with this opening tag."""
        dialect, word = opening.dialect, opening.word
        self._reading.call_id = None
        self._reading.told = 0
        block = Block(opening.start, opening.length, dialect, self._reading)
        self._block = block
        self._blocks += 1
        if self._blocks > self._limits.blocks:
            message = f"the reply has more than {self._limits.blocks} tool calls; what follows was read as text"
            block.give_up(Code.LIMIT_EXCEEDED, message, block.start)
        if self._outside.is_fenced:
            block.note_opener(Code.CODE_FENCE, "the block was in a code fence")
        elif dialect.is_bare and self._held.is_waiting and not self._held.is_doubtful:
            block.note_opener(Code.STRAY_TEXT, "text came before the call")
        if self._held.region:
            block.note_opener(Code.MISSING_END_TAG, "the reasoning before the call was not closed")
        if self._reading.is_unsure or (self._decided and dialect.pairs):
            block.add_repair(Code.MISSING_END_TAG, block.start, "the end of a value before the call is uncertain")
        if dialect.slip:
            block.note_opener(dialect.slip, f"the delimiters are not quite those of {dialect.name}")
        if dialect.name != self._dialect.name:
            block.note_opener(Code.FOREIGN_DIALECT, f"the call was written as in the dialect {dialect.name}")
        if dialect.arguments and word != dialect.block and not dialect.in_line:
            block.spelling = word
            block.note_opener(Code.TAG_CASE, f"<{word}> was read as <{dialect.block}>")
        if dialect.body is Body.ELEMENTS:
            read_opening_tag(block, tag)
        return block

    def _read_block(self, block: Block, text: str, at: int, base: int) -> int:
        place = run(block, text, at, base)
        raw, end = block.raw, base + place
        if raw.end > block.start or (place > at and not block.done):  # a block that one piece has needs no copy
            raw.append(text[at:place])
            raw.end = end
            if not raw.is_whole:
                block.trim(place - at)
        if block.done:
            if raw.end > block.start:
                text = raw.take()
                base = end - len(text)  # of a block over a limit only the end is kept
            self._end_block(block, end, text, base)
            if block.again:
                self._open_again(block, end)
        return place

    def _open_again(self, ended: Block, place: int) -> None:
        """Another call begins, at `place` in the stream, in the block that has ended."""
        is_held, dialect = self._held.is_waiting, ended.dialect
        self._outside.end_text()
        if not self._held.is_waiting and (is_held or self._held.doubts):  # those before it were only shown
            self._held.hold(place, self._outside.calls.shown, is_held and dialect.is_bare)
        block = self._open_block(Opening(place, 0, dialect.block, dialect))
        if dialect.many:
            block.is_bare &= not dialect.closer
        else:
            block.note_opener(Code.JOINED_CALLS, "the call is in the block of another one")

    def _name_call(self, block: Block) -> None:
        """A block has named its tool: give the call its id and find the schema of its arguments."""
        if block.error is None and block.resolve_name():
            block.stack[0].shape = block.guess_shape() or ANY
            self._reading.call_id = self._next_id()
            block.stack[0].path = () if self._argument_deltas and not self._held.is_waiting else None
            self._events.append(CallStarted(self._reading.call_id, block.name or "", block.server))

    def _end_block(self, block: Block, end: int, text: str, base: int) -> None:
        """The block has ended. It is in `text`, which begins at `base` in the stream."""
        self._block = None
        self._outside.skip_block(end)
        if self._blocks > self._limits.blocks:
            self._spent = True
        if block.dialect.in_line and text[end - base - 1 : end - base] == "\n":
            self._outside.calls.shown.end_line()
        block.text, block.base = text, base
        refusal = self._held.refusal * (self._outside.is_fenced or block.dialect.is_bare)
        verdict = conclude(block, end, refusal or self._strict)
        if self._held.is_doubtful and block.error:
            self._held.release()
        elif self._held.is_waiting:
            self._held.keep(block, end, is_call=isinstance(verdict, ToolCall))
        if block.error and not text.endswith(block.dialect.ends, 0, end - base):
            self._held.doubts = (block.dialect.base or block.dialect).inner_ends
        if isinstance(verdict, CallError):
            self._release(verdict.code is Code.TRUNCATED)
            self._events.append(CallFailed(verdict, self._reading.call_id))
            return
        if not verdict.id:  # its name was known only at its end: a JSON body has escapes in it
            started = CallStarted(self._next_id(), verdict.name, block.server)
            self._events.append(started)
            verdict = verdict.model_copy(update={"id": started.id})
        if block.in_list and block.dialect.is_bare:
            self._waiting.append((verdict, text[block.start - base : end - base]))
            return
        if self._waiting:
            self._release()
        self._events.append(CallCompleted(verdict))

    def _release(self, is_cut: bool = False) -> None:
        """The list without marks in which calls wait has ended: they are calls, unless it was cut off."""
        for call, source in self._waiting:
            failed = is_cut and CallFailed(cut_off_list(call, source, self._dialect), call.id)
            self._events.append(failed or CallCompleted(call))
        self._waiting.clear()

    # -- the end -----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        run, outside = self._run, self._outside
        outside.calls.final = True
        rest, run.held = run.held, ""
        run.pos -= len(rest)
        self._reading.final = True
        if rest:
            self._read(rest)  # nothing is put off any more
        while self._block is None and not outside.in_reasoning and run.held:
            # What was held back is no opener now that nothing follows: its first character is text.
            text, run.held = run.held, ""
            base = run.pos - len(text)
            outside.begin(base)
            place = outside.emit_text(text, 0, 1)
            run.pos = base + place
            self._read(text[place:])
        rest, run.held = run.held, ""
        block = self._block
        if block is None:
            outside.cut_off(rest, run.pos)
            return
        again = end_in_call(block, rest, run.pos, self._decided)
        run.pos -= len(again or "")
        if again is None or block.done:
            text = block.raw.take()
            self._end_block(block, run.pos, text, run.pos - len(text))
        if again is not None:
            self._decided += 1
            self._read(again)
            self._finish()
