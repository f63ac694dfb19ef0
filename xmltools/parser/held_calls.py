"""Calls that may be only shown: their events wait until it is decided whether they count (protocol, 1.4a)."""

from __future__ import annotations

import re
from typing import Final

from xmltools.errors import Code, Notice
from xmltools.models.events import Event, Noticed, Skipped, TextDelta
from xmltools.parser.open_call import Block
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import SPACES

_FOLLOWS = late_pattern(
    r"(?P<marker>(?P<char>[`~])(?P=char)+)\0[ \t\r\n]*"
    r"(?:(?P=marker)(?P=char)*[ \t\r]*(?:\n[ \t\r\n]*|\Z)"
    r"(?:(?:`{3,}[^`\n]*|~{3,}[^\n]*)(?:\n[ \t\r\n]*|\Z)"
    r"|(?P<outside>(?=[^\0]{0,300}?[ \t\r\n]*\Z)"
    r"(?:(?! {0,3}(?:```|~~~))[ \t\r]*[^ \t\r\n][^\n]*(?:\n|\Z))*)[ \t\r\n]*)?)?\Z"
)
"""After a marker and NUL, the text that may follow a call in that fence: the end of the fence, and then the beginning
of another one or a closing paragraph."""
_MOST: Final = 1_024
"""Characters that may follow a call before the next one or the end of the reply."""


class HeldCalls:
    """Holds the `events` from a call in a fence on back. If the calls do not count, they are text. `size`: the
    characters that they may have together."""

    is_waiting = False
    """Events are held back."""
    is_shown = False
    """… and the calls do not count."""
    refusal = ""
    """Why no call in a fence is one any more."""
    _first: int | None = None
    """The event from which on they are held back, …"""
    _start = 0
    """… and where their text begins in the stream."""
    _marker = ""
    """Of the fence of the last call."""
    _tail = ""
    """The text after that call, with a line break for each token."""

    def __init__(self, events: list[Event], size: int) -> None:
        self._events = events
        self._size = size
        self._source: list[str] = []  # the held text
        self._notices: list[Event] = []  # of the calls in it

    def hold(self, place: int, marker: str, *, is_shown: bool) -> None:
        """Hold a call back that begins at `place` in the stream, in a fence with this marker."""
        if not self.is_waiting:
            self.is_waiting = True
            self._first, self._start = len(self._events), place
        self._marker = marker
        self.is_shown |= is_shown

    def add(self, event: TextDelta | Skipped, text: str) -> None:
        """Take the event of text outside calls. White space decides nothing."""
        self._events.append(event)
        if self.is_waiting:
            self._source.append(text)
            if text.strip(SPACES):
                self._tail += text if isinstance(event, TextDelta) else "\n"
                self.is_shown |= not self._follow(self._tail.rpartition("\n")[0])
            elif len(self._tail) <= _MOST:
                self._tail += text

    def may_count(self, *, is_next: bool) -> bool:
        """Whether the calls may count. `is_next`: another call, or reasoning, follows; otherwise the reply ends."""
        found = self._follow(self._tail)
        return not self.is_shown and found is not None and not (is_next and found["outside"] is not None)

    def _follow(self, tail: str) -> re.Match[str] | None:
        """Whether this may be between the last call and the end of the reply."""
        is_long = len(self._tail.rstrip(SPACES)) > _MOST
        return None if is_long else _FOLLOWS.match(f"{self._marker}\0{tail}")

    def keep(self, block: Block, end: int, *, is_call: bool) -> None:
        """A block has ended there in the stream."""
        if not block.raw.is_whole:  # it is an error in any case
            block.reading.call_id = None
            self.show()
            return
        self._source.append(block.source_of(block.start, end))
        self._tail = ""
        self.is_shown |= end - self._start > self._size
        message = f"a call of {block.name or 'no tool'!r:.100} in a code fence was only shown: it stayed text"
        span, notation = (block.start, end), block.dialect.name
        self._notices.append(Noticed(Notice(Code.SHOWN_CALL, span, message, notation, block.name, is_call, True)))

    def show(self) -> None:
        """The calls are text."""
        notices = [*self._notices, *(event for event in self._events[self._first :] if isinstance(event, Noticed))]
        text = "".join(self._source)
        self._events[self._first :] = [*([TextDelta.make(text, self._start)] if text else []), *notices]
        if self._notices:
            self.refusal = "after a call that was only shown"
        self._source.clear()
        self._notices.clear()
        self._tail = ""
        self.is_waiting = self.is_shown = False
        self._first = None

    def take(self, *, is_last: bool = False) -> list[Event]:
        """The events that may go out. `is_last`: all of them, since the reply has ended."""
        first = None if is_last else self._first
        ready = self._events[:first]
        del self._events[:first]
        if self.is_waiting:
            self._first = 0
        return ready
