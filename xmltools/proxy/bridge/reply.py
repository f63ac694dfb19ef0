"""Reads the reply of one choice: text in, events out, by way of the parser and the filters that a request asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xmltools.dialects import hint_of, named
from xmltools.errors import CallError, Code, Notice
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
from xmltools.models.finish_reasons import CUT_OFF, ends_whole
from xmltools.parser import Parser, parse
from xmltools.proxy.bridge.after_failed_call import HoldCalls, NoRepetition, Outgoing
from xmltools.proxy.bridge.call_markup import Both, CallMarkup
from xmltools.proxy.bridge.dialect_ids import DialectIds
from xmltools.proxy.bridge.native_calls import NativeCalls
from xmltools.proxy.bridge.requests.incoming import Incoming
from xmltools.proxy.bridge.result_marks import result_starts
from xmltools.proxy.bridge.settings import Settings
from xmltools.proxy.bridge.text_filters import CallFences, NoInvention, OneCall, ReasoningAsText, StopText
from xmltools.syntax.rope import Rope
from xmltools.tools import Tool, ToolNames

_OPENER = re.compile(r"<[^<>\s]{1,60}>|\[[A-Z_]{1,60}\]")
"""What begins a call in most dialects."""
_SIGNS = re.compile(r"[`~<{\[]")
"""What filters look for in text."""
_FIRST = 10
"""Characters that say in the others whether a call is written anew."""
_ONLY_FENCE = re.compile(r"(?:`{3,}|~{3,})[^`\n]*\n[^`]*(?:`{3,}|~{3,})")
_MOST_THOUGHT = 8_192
"""Characters at the end of reasoning in which a call is looked for."""
_MOST_FIRST = 1_024
"""Characters of white space from which a reply that may continue a block does so."""


class ReplyReader:
    """Reads one reply.

    `tools` may be called; without any, the reply is text, and a call of a tool in the request becomes a sentence. The
    request, `incoming`, says how its text and its calls end and whether the client wants reasoning; `settings`, where
    reasoning goes. `live`: the client hears of a call while it is written, otherwise when it is complete.
    `keep_failure`: the first call that fails ends the reply, to be sent back, unless the client has heard of it.
    `keep_text`: the text that the client gets is kept. `keep_calls`: complete calls are put into `completed`, and not
    sent. `source`: the beginning of a block that the reply continues. `sent_before`: the text of the replies before
    that the client has, which this one may begin with again; `held_before`: what it does not have yet. `listen` hears
    of every event of the parser. `ids` gives calls the ids that the upstream takes.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        incoming: Incoming,
        settings: Settings,
        *,
        live: bool,
        keep_failure: bool,
        keep_text: bool,
        keep_calls: bool,
        new_id: Callable[[], str],
        listen: Callable[[Event], None],
        ids: DialectIds | None = None,
        source: str = "",
        sent_before: str = "",
        held_before: Both = ("", ""),
    ) -> None:
        self._tools = tools or incoming.tools
        self._is_barred = not tools  # if there are any, the client wants no calls, and is told of each in words
        self._new_id = new_id
        self._dialect = settings.dialect
        self._also = settings.also
        self._strict = settings.strict_calls
        starts_in_reasoning = settings.starts_in_reasoning and bool(self._tools) and not source
        self._parser = self._make_parser(starts_in_reasoning=starts_in_reasoning) if self._tools else None
        self._may_be_in_reasoning = starts_in_reasoning  # as long as nothing was read
        self._native: NativeCalls | None = None  # most replies have none
        self._last: Event | None = None  # of the parser
        self._hold = HoldCalls(keep_failure=keep_failure, live=live) if tools else None
        self._keep_calls = keep_calls
        self._keeps_text = keep_failure
        self._invention = NoInvention(result_starts(self._dialect, (tool.name for tool in tools))) if tools else None
        said = "" if source else sent_before + held_before[0]
        self.outgoing = Outgoing(
            keeps=keep_text,
            before=sent_before,
            is_new=said != "" and not held_before[0],
            explain=incoming.explain,
        )
        """The last filter, which knows what the client has."""
        self._one = OneCall() if not incoming.parallel or incoming.choice.named else None
        self._stop = StopText(incoming.stop) if incoming.stop and tools else None
        shows = incoming.show_reasoning
        # Events that no client hears of.
        self._unwanted = (Noticed, Skipped) if shows else (Noticed, Skipped, ReasoningDelta)
        self._thoughts = ReasoningAsText() if shows and not settings.split_reasoning else None
        fences = CallFences() if tools else None
        self._markup = self._make_markup(held_before) if self._parser is not None else None
        self._holding = [each for each in (self._thoughts, fences, self._invention, self._stop) if each is not None]
        filters = (
            self._thoughts,
            self._hold,
            fences,
            ids,
            self._invention,
            self._one,
            NoRepetition(said) if said else None,
            self._stop,
            self._markup,
            self.outgoing,
        )
        self._filters = tuple(each for each in filters if each is not None)
        self._is_idle = False  # no filter has anything to do with text; so far nobody knows
        self._is_live = live
        self._listen = listen
        self.unread: Notice | None = None
        """The first call that stayed text, is whole and calls a tool that was given: in another notation outside of
        fences, or in a fence where it does not count. Or, in a reply that says nothing else, one that is JSON in a
        fence, or was only thought of."""
        self._fenced: Notice | None = None  # the first call that is JSON in a fence
        self._thinking = Rope()
        self._written = Rope()
        self._place = 0
        self.completed: list[CallCompleted] = []
        """The calls that are complete."""
        self.goes_on = False
        """Whether the model was heard to say more after the end of the reply."""
        self._source = source
        self._first = ""  # of the reply, while it is not known whether it continues the source

    def _make_parser(self, *, starts_in_reasoning: bool) -> Parser:
        return Parser(
            self._tools,
            new_id=self._new_id,
            dialect=self._dialect,
            also=self._also,
            strict=self._strict,
            starts_in_reasoning=starts_in_reasoning,
            code_fences="text" if self._is_barred else "last",
        )

    def _make_markup(self, before: Both) -> CallMarkup:
        assert self._parser is not None
        names = tuple(tool.name for tool in self._tools)
        stays = self._is_barred or not self._keeps_text
        return CallMarkup(self._parser.foreign.begins, names, self.outgoing, before, stays=stays)

    @property
    def failed(self) -> CallFailed | None:
        """The call that failed, if failures are kept back. After the end of the reply there are none."""
        return self._hold.failed if self._hold is not None and not self._is_cut else None

    @property
    def foreign(self) -> Notice | None:
        """The one that is `unread`, if the model surely meant it: the reply has no call in the model's dialect."""
        return None if self.completed or self.failed or self.outgoing.failed or self._native else self.unread

    @property
    def says_nothing(self) -> bool:
        """Whether the client gets no words of the reply, though it may get thoughts; with `keep_text`."""
        return not self._words

    @property
    def _words(self) -> str:
        text = self.outgoing.text + (self._markup.text if self._markup else "")
        return (text if self._thoughts is None else text.rpartition("</think>")[2]).strip()

    def held(self, unread: Notice | None) -> Both:
        """Return the text of this reply and those before that the client does not have. The model is asked again
        because of the call `unread`, which is in another notation."""
        return self._markup.both(unread) if self._markup else ("", "")

    def release(self) -> list[Event]:
        """Return that text, if this is the last reply."""
        return list(self.outgoing.read(self._markup.release())) if self._markup else []

    @property
    def is_call_open(self) -> bool:
        """Whether the client has heard of a call, and not of its end."""
        return self.outgoing.is_open and not self._keep_calls

    @property
    def stop_found(self) -> str | None:
        """The stop sequence that ended the reply."""
        return self._stop.found if self._stop is not None else None

    @property
    def done(self) -> bool:
        """Whether nothing that follows counts."""
        if self._is_idle:
            return False
        return self._is_cut or self.failed is not None or self.outgoing.broken is not None

    @property
    def _is_cut(self) -> bool:
        """Whether the client wants no more, though the model may."""
        return self.stop_found is not None or (self._one is not None and self._one.done) or self.invents

    @property
    def invents(self) -> bool:
        """Whether the reply was ended in front of a result that the model made up."""
        return self._invention is not None and self._invention.found

    def written(self, error: CallError | None) -> str:
        """Return the reply as the model wrote it, up to the end of a call that failed."""
        text = str(self._written)
        if error is None:
            return text
        start, end = error.span
        return text[:end] if start < end else f"{text}{error.source}"  # a call of the upstream has no place in the text

    @property
    def pending(self) -> int:
        """Characters that may have to be read again with what comes next."""
        return len(self._first) + len(self._source) + (self._parser.pending if self._parser is not None else 0)

    def text(self, piece: str) -> list[Event]:
        """Take the next text of the reply."""
        if self.done:
            return []
        self._may_be_in_reasoning = False
        if self._keeps_text:
            self._written.append(piece)
        if self._parser is not None and self._source:
            piece = self._continued(piece)
        if self._parser is not None:
            events = self._parser.feed(piece)
            if events:
                self._last = events[-1]
            return self._beside(events)
        self._place += len(piece)
        return self._beside([TextDelta.make(piece, self._place - len(piece))])

    def _continued(self, piece: str) -> str:
        """Return what the parser is to read of a reply that may continue the block before: many models write the whole
        call anew instead, and that is no part of the old one."""
        self._first += piece
        opener = _opener_of(self._source)
        begun = self._first.lstrip()[: len(opener)].lower()
        if begun != opener and opener.startswith(begun) and len(self._first) <= _MOST_FIRST:
            return ""
        return self._joined()

    def _joined(self) -> str:
        """Return the source and what was held of the reply, or only that if it begins a block of its own."""
        joined = join_continued(self._source, self._first)
        self._first = self._source = ""
        return joined

    def reasoning(self, piece: str) -> list[Event]:
        """Take reasoning that the upstream told apart itself."""
        if self.done:
            return []
        if self._may_be_in_reasoning:  # what follows is no reasoning: the upstream does tell it apart
            self._may_be_in_reasoning = False
            self._parser = self._make_parser(starts_in_reasoning=False)
        return self._beside([ReasoningDelta(piece, (self._place, self._place))])

    def calls(self, calls: list[dict[str, Any]]) -> list[Event]:
        """Take calls, or parts of them, that the upstream told apart itself."""
        if self.done:
            return []
        if self._native is None:
            # What stands in a call that is open is all that a parser then tells of.
            is_open = isinstance(self._last, (CallStarted, ArgumentDelta))
            self._native = NativeCalls([] if self._is_barred else self._tools, self._new_id, is_open=is_open)
        return self._filtered(self._native.feed(calls))

    def abandon(self) -> None:
        """Give up the reply."""
        if self._parser is not None:
            self._parser.abandon()

    def close(self, reason: str = "stop") -> list[Event]:
        """Say that the reply has ended, and why; return the rest."""
        if self.done:
            return []
        last: list[Event] = []
        if self._parser is not None:
            last = self._parser.feed(self._joined())
            ended = self._parser.close()
            last += [self._cut_off(each) for each in ended] if not ends_whole(reason) else ended
        events = self._filtered(last if self._native is None else self._native.end(last, reason))
        for each in self._holding:
            rest: Iterable[Event] = each.close()
            for later in self._filters[self._filters.index(each) + 1 :]:
                rest = later.read(rest)
            events += rest
        if self._keeps_text and not self._is_barred and reason not in CUT_OFF:
            self.unread = self.unread or self._hidden()
        return events

    def _hidden(self) -> Notice | None:
        """Return the call that the model meant, in a reply of which nobody hears anything else."""
        if self.completed or self.failed or self.outgoing.failed or self._native:
            return None
        if self._fenced is not None and _ONLY_FENCE.fullmatch(self._words):
            return self._fenced
        if self._words or not self._thinking:
            return None
        thought = parse(self._thinking.tail(_MOST_THOUGHT, 0), self._tools, dialect=self._dialect, also=self._also)
        names = [
            *(call.name for call in thought.calls),
            *(each.name for each in thought.notices if self._is_meant(each)),
        ]
        message = "a call that was only thought of"
        return Notice(Code.FOREIGN_CALL, (0, 0), message, "reasoning", names[0], True, False) if names else None

    def _cut_off(self, event: Event) -> Event:
        """Return what becomes of an event that only the end of the reply brought, where that was cut off: a call that
        lacks an end mark may lack the rest of a value too, which holds what looks like the end of the call."""
        if not isinstance(event, CallCompleted):
            return event
        call = event.call
        if not any(repair.code is Code.MISSING_END_TAG for repair in call.repairs):
            return event
        span = call.span or (0, 0)
        hint = hint_of(Code.TRUNCATED, named(call.dialect or self._dialect))
        message = "the reply was cut off before the end of the call was certain"
        source = str(self._written)[slice(*span)]
        error = CallError(Code.TRUNCATED, span, message, hint, call.name, call.server, call.arguments, source)
        return CallFailed(error, call.id)

    def _beside(self, events: list[Event]) -> list[Event]:
        return self._filtered(events if self._native is None else self._native.beside(events))

    def _filtered(self, events: list[Event]) -> list[Event]:
        if self._is_idle and len(events) == 1:  # nearly always
            event = events[0]
            if isinstance(event, TextDelta) and not _SIGNS.search(event.text):
                self._listen(event)
                self.outgoing.keep(event)
                return events
            if self._is_live and isinstance(event, ArgumentDelta):
                self._listen(event)
                return events
        if self._is_barred:
            events = [
                _barred(event) for event in events if not isinstance(event, (CallStarted, ArgumentDelta, Noticed))
            ]
        for event in events:
            self._listen(event)
            if isinstance(event, Noticed):
                self._notice(event.notice)
            elif isinstance(event, ReasoningDelta):
                self._thinking.append(event.text)
        stream: Iterable[Event] = (event for event in events if not isinstance(event, self._unwanted))
        for each in self._filters:
            stream = each.read(stream)
        passed = list(stream)
        self._is_idle = all(each.is_idle for each in self._filters)
        completed = [event for event in passed if isinstance(event, CallCompleted)]
        self.completed += completed
        if self._keep_calls:
            passed = [event for event in passed if isinstance(event, (TextDelta, ReasoningDelta))]
        if self._is_cut:
            cuts = (self._one, self._stop, self._hold)
            self.goes_on = self.invents or any(each.goes_on for each in cuts if each is not None)
        return passed

    def _notice(self, notice: Notice) -> None:
        if self._markup and notice.code is Code.FOREIGN_CALL and not notice.is_fenced:
            self._markup.spans.append(notice.span)
        if not self._is_meant(notice):
            return
        if notice.is_fenced and notice.code is not Code.SHOWN_CALL:  # as JSON that may be anything
            self._fenced = self._fenced or (notice if notice.notation == "json" else None)
        else:
            self.unread = self.unread or notice

    def _is_meant(self, notice: Notice) -> bool:
        return notice.is_whole and ToolNames.of(self._tools).resolve(notice.name or "") is not None


def _barred(event: Event) -> Event:
    """Return what becomes of an event where no tool may be called."""
    if not isinstance(event, CallCompleted):
        return event
    call = event.call
    message = "no tool may be called now (tool_choice)"
    return CallFailed(
        CallError(Code.UNKNOWN_TOOL, call.span or (0, 0), message, Code.UNKNOWN_TOOL.hint, call.name, call.server)
    )


def join_continued(source: str, reply: str) -> str:
    """Return what is read of a reply that may continue a block: the source and the reply, or only that if it begins a
    block of its own."""
    return reply if reply.lstrip().lower().startswith(_opener_of(source)) else source + reply


def _opener_of(source: str) -> str:
    """Return what the source begins with, in small letters."""
    found = _OPENER.match(source)
    return (found[0] if found else source[:_FIRST]).lower()
