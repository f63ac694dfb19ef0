"""Calls in code fences (protocol, 1.4): they count where the reply ends with them, and wait until that is decided."""

from __future__ import annotations

from typing import Final

from xmltools.errors import CallError, Code, Notice
from xmltools.models import ToolCall
from xmltools.models.events import (
    CallFailed,
    Event,
    Noticed,
    ReasoningDelta,
    Skipped,
    TextDelta,
)
from xmltools.parser.open_call import Block
from xmltools.parser.shown import Shown
from xmltools.syntax.late_patterns import late_pattern

_FOLLOWS = late_pattern(
    r"(?P<marker>(?P<char>[`~])(?P=char)+)\0[ \t\r\n]*"
    r"(?:(?P=marker)(?P=char)*[ \t\r]*(?:\n[ \t\r\n]*|\Z)"
    r"(?:(?:`{3,}[^`\n]*|~{3,}[^\n]*)(?:\n[ \t\r\n]*|\Z)"
    r"|(?=[^\0]{1,300}?[ \t\r\n]*\Z)"
    r"(?P<closing>(?:(?! {0,3}(?:```|~~~))[ \t\r]*[^ \t\r\n][^\n]*(?:\n|\Z))+)[ \t\r\n]*)?)?\Z"
)
"""After a marker and NUL, the text that may follow a call in that fence: the end of the fence, and then the beginning
of another one or a closing paragraph."""
_MOST: Final = 1_024
"""Characters that may follow a fenced call before the next one or the end of the reply."""


class FencedCalls:
    """Holds `events` back from a fenced call on. If it does not count, it becomes text. The blocks that are held have
    at most `size` characters. Without `waits`, nothing is held back."""

    def __init__(self, events: list[Event], size: int, *, waits: bool) -> None:
        self._events = events
        self._room = self._size = size
        self._waits = waits
        self._ready: list[Event] = []
        self._held: list[Event] = []
        self._texts: dict[int, list[Event]] = {}  # what a call is if it does not count, by its start
        self._marker = self._tail = ""  # the fence of the last call, and the text after that call
        self._is_shown = False  # the calls do not count
        self._has_text = False  # text follows the last one
        self.is_waiting = False  # events are held back
        self.refuses = False  # a fenced call did not count

    def meet(self, prose: Shown) -> None:
        """A block opens after this prose."""
        self._look()
        if self.is_waiting and not (prose.fence and self._may_count(self._tail, is_next=True)):
            self._show()
        if prose.fence and self._waits:
            self.is_waiting = True
            self._marker = prose.fence
            self._is_shown = prose.is_nested

    def keep(self, block: Block, verdict: ToolCall | CallError, source: str) -> None:
        """A block with this source has ended."""
        self._look()
        self._tail = ""
        self._has_text = False
        self._room -= len(source)
        self._is_shown |= self._room < 0
        start, name = block.start, block.name
        if isinstance(verdict, CallError) and (verdict.code is Code.LIMIT_EXCEEDED or not block.raw.is_whole):
            self._texts[start] = [CallFailed(verdict)]
            return
        message = f"a call of {name or 'no tool'!r:.100} in a code fence was only shown: it stayed text"
        text, is_whole = TextDelta.make(source, start), isinstance(verdict, ToolCall)
        notice = Notice(Code.SHOWN_CALL, text.span, message, block.dialect.name, name, is_whole, True)
        self._texts[start] = [text, Noticed(notice)]

    def take(self, is_open: bool, is_last: bool) -> list[Event]:
        """The events that may go out. `is_open`: a block is open. `is_last`: the reply has ended."""
        self._look()
        if self.is_waiting and not is_open and (self._has_text or is_last):
            if not self._may_count(self._tail if is_last else self._tail.rpartition("\n")[0]):
                self._show()
            elif is_last:
                self._ready += self._held
        ready, self._ready = self._ready, []
        return ready

    def _look(self) -> None:
        """Look at new events: at the text after the last call."""
        for event in self._events if self.is_waiting else ():
            if isinstance(event, ReasoningDelta):
                self._show()
            elif isinstance(event, (TextDelta, Skipped)) and event.text:
                self._texts[event.span[0]] = [TextDelta.make(event.text, event.span[0])]
                self._tail += "" if self._is_shown else event.text
                self._is_shown |= len(self._tail) > _MOST
            self._has_text |= isinstance(event, TextDelta)
            self._held.append(event)
        if not self.is_waiting:
            self._ready += self._held or self._events
            self._held.clear()
        self._events.clear()

    def _may_count(self, tail: str, *, is_next: bool = False) -> bool:
        """Whether the calls may count with this text after the last one. `is_next`: another call follows it."""
        found = _FOLLOWS.match(f"{self._marker}\0{tail}")
        return not self._is_shown and found is not None and not (is_next and found["closing"])

    def _show(self) -> None:
        """The calls are text."""
        for event in self._held:
            if span := getattr(event, "span", None):  # those of an open call have none
                self._ready += self._texts.pop(span[0], [event])
        self._held.clear()
        self._room, self._tail = self._size, ""
        self.is_waiting, self.refuses = False, True
