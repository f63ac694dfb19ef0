"""Calls that may be only shown, or only thought of: their events wait until it is decided whether they count (protocol,
1.4a and 1.5a; `DIALECTS.md`, 1.3a and 1.4)."""

from __future__ import annotations

from typing import Final

from xmltools.errors import CallError, Code, Notice
from xmltools.models.events import CallFailed, Event, Noticed, Skipped, TextDelta
from xmltools.parser.open_call import Block
from xmltools.parser.reasoning import Reasoning
from xmltools.parser.shown import Shown
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import SPACES

_FOLLOWS = late_pattern(
    r"(?P<marker>(?P<char>[`~])(?P=char)+)?\0[ \t\r\n]*"
    r"(?:(?P=marker)(?P=char)*[ \t\r]*(?:\n[ \t\r\n]*|\Z)"
    r"(?:(?:`{3,}[^`\n\0]*|~{3,}[^\n\0]*)(?:\n[ \t\r\n]*|(?=\0?\Z))|(?=[^\0]{0,300}?[ \t\r\n]*\Z)"
    r"(?:(?! {0,3}(?:```|~~~))[ \t\r]*[^ \t\r\n][^\n]*(?:\n|\Z))*[ \t\r\n]*\Z))?\0?\Z"
)
"""After a marker and NUL, the text that may follow a call in that fence: the end of the fence, and then the beginning
of another one or a closing paragraph. Without a marker, only white space may. NUL means the next call."""
_MOST: Final = 1_024
"""Characters that may follow a call before the next one or the end of the reply."""


class HeldCalls:
    """Holds the `events` back from a call in a fence, in open reasoning, or after a call that can't be read. If the
    calls do not count, they are text or reasoning. Without `waits`, those in fences count."""

    is_waiting = False
    """Events are held back."""
    is_thought = False
    """… from a call in reasoning on."""
    is_doubtful = False
    """… from one on that comes after a call which could not be read, …"""
    doubts: tuple[str, ...] = ()
    """… and in the text after it one of these would end a part of that call."""
    is_shown = False
    """… and the calls do not count."""
    region: Reasoning | None = None
    """The last reasoning, unless its end tag has ended it."""
    refusal = ""
    """Why no call in a fence is one any more."""
    _first: int | None = None
    """The event from which on they are held back, …"""
    _start = 0
    """… and where their text begins in the stream."""
    _marker = ""
    """Of the fence of the last call."""
    _tail = ""
    """The text after that call; without tokens, unless the call is doubtful."""
    _after = 0
    """How many of the last held events are layout and tokens after the text."""

    def __init__(self, events: list[Event], waits: bool) -> None:
        self._events = events
        self._waits = waits
        self._source: list[str] = []  # the held text
        self._notices: list[Noticed] = []  # of the calls in it

    def hold(self, place: int, prose: Shown, is_late: bool) -> None:
        """A call begins at `place` in the stream, after this text: hold it back if it may not count. `is_late`: it has
        no delimiter, and does not begin the reply."""
        marker = prose.fence if self._waits or is_late else ""
        is_doubtful = self.doubts != () and not (marker or is_late or self.region)
        if self.is_waiting and is_doubtful != self.is_doubtful:
            (self.release if self.is_doubtful else self.show)()  # those in a fence are not the last
        if marker or is_late or self.region or is_doubtful:
            if not self.is_waiting:
                self.is_waiting = True
                self._first, self._start = len(self._events), place
            self._marker, self._tail = marker, ""
            self.is_thought = self.region is not None and not (marker or is_late)
            self.is_doubtful = is_doubtful
            self.is_shown |= prose.is_nested or (is_late and prose.marker != "" and prose.line.strip() != "")
        else:
            self.show()  # the calls before it are not the last

    def add(self, event: Event, text: str) -> None:
        """Take the event of text outside calls. How much white space follows the last of it does not matter."""
        self._events.append(event)
        if self.is_waiting:
            self._source.append(text)
            self._after = self._after + 1 if isinstance(event, Skipped) else 0
            is_blank = not text.strip(SPACES)
            if self.is_doubtful or is_blank:
                self._tail += text[: _MOST - len(self._tail)]
            elif isinstance(event, TextDelta):
                self._tail += text
            if not self.is_doubtful:
                self._decide(self._tail.rpartition("\n")[0])
            elif any(mark in self._tail.replace(f"`{mark}", "") for mark in self.doubts):  # it is no mention
                self.is_shown = True
            elif len(self._tail) == _MOST:
                self.release()

    def _decide(self, tail: str) -> None:
        """Decide whether this may follow the last call."""
        self.is_shown |= len(self._tail) > _MOST or not _FOLLOWS.match(f"{self._marker}\0{tail}")

    def keep(self, block: Block, end: int, *, is_call: bool) -> None:
        """A block has ended there in the stream."""
        if not block.raw.is_whole:  # it is an error in any case
            block.reading.call_id = None
            self.show()
            return
        self._source.append(block.source_of(block.start, end))
        self._tail, self._after = "", 0
        dialect, tool = block.dialect, block.name
        self.is_shown |= (dialect.is_bare and not is_call) or end - self._start > block.reading.limits.block_size
        message = f"a call of {tool or 'no tool'!r:.100} was only shown: it stayed text"
        span = block.start, end
        notice = Notice(Code.SHOWN_CALL, span, message, dialect.name, tool, is_call, self._marker != "")
        self._notices.append(Noticed(notice))

    def show(self) -> Reasoning | None:
        """The calls are text; or a part of reasoning, which goes on."""
        if not self.is_waiting:
            return None
        region, events = self.region if self.is_thought else None, self._events[self._first :]
        after = 0 if region or self.is_doubtful else self._after
        text = "".join(self._source[: len(self._source) - after])
        others = [event for event in events if isinstance(event, Noticed)]
        skipped = [event for event in events if isinstance(event, Skipped)]
        del self._events[self._first :]
        if region:
            region.resume(text, self._tail, self._start)
            region.lost = tuple(self._notices)
        elif text:
            self._events += [TextDelta.make(text, self._start), *self._notices, *others]
            if self._notices and not self.is_doubtful:
                self.refusal = "after a call that was only shown"
        self._events += skipped[len(skipped) - after :]
        self.release()
        return region

    def release(self) -> None:
        """It is decided: nothing waits any more."""
        self._source.clear()
        self._notices.clear()
        self._after = 0
        self.is_waiting = self.is_thought = self.is_doubtful = self.is_shown = False
        self._first = None

    def end(self, place: int) -> Reasoning | None:
        """The reply ends at `place` in the stream; or a call, or reasoning, begins, if that is -1. Returns the
        reasoning that goes on instead."""
        if self.is_waiting and not self.is_doubtful:
            self._decide(self._tail + "\0" * (place < 0))
        region = self.show() if self.is_shown else None
        if place >= 0:
            self.is_thought = False
            if self.region and self.region.lost:
                message = "the call is in reasoning that goes on after it and was not closed"
                hint = "End the reasoning, then write the call."
                error = CallError(Code.MISSING_END_TAG, (place, place), message, hint, self.region.lost[0].notice.name)
                self._events.append(CallFailed(error))
        return region

    def take(self) -> list[Event]:
        """The events that may go out."""
        ready = self._events[: self._first]
        del self._events[: self._first]
        if self.is_waiting:
            self._first = 0
        return ready
