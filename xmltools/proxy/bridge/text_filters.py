"""Where the text of a reply ends, and what is left out of it: after the one call that is wanted, in front of a stop
sequence or of a result that the model made up; and reasoning as text. `after_failed_call` has what follows such a call.

Each filter takes events of the parser and gives events, before a client hears of them. While a filter `is_idle`, text
passes through it as it is, and so do arguments of a call that is told of while it is written; nothing but what it has
read ends that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from xmltools.errors import Code
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    ReasoningDelta,
    TextDelta,
)
from xmltools.parser.foreign import ForeignCalls
from xmltools.syntax.rope import Rope

_MOST_UNKNOWN = 4_096
"""Characters after the beginning of a call in another notation, in which it is found out whether it is one."""
_MOST_OF_CALL = 1024 * 1024
"""Characters of text that are held for such a call."""
_MAY_BEGIN: Final = re.compile(r"(?:<[^<>\s]{0,60}|[{\[]\s{0,20}(?:[\"{][^{}<]{0,120})?|&\w{0,3};?|`{1,}[^`<{]{0,60})\Z")
"""What may be the start of the beginning of one, at the end of the text."""
_FENCED_FIRST: Final = re.compile(r"\s*`{3,}[^`\n]*\n\s*\[?\s*\{")
_MOST_HELD = 1_024
"""Characters that may be held because they may begin a result that a model makes up: a name, and white space."""
_OPENING: Final = re.compile(r"(?:`{3,}|~{3,})[^\n`]{0,40}(?:\n\s{0,40})?\Z|`{1,2}\Z|~{1,2}\Z")
"""What may be the line that begins a fence, with white space after it, or the beginning of that."""
_CLOSING: Final = re.compile(r"\s{0,40}(?:(?:`{3,}|~{3,})[ \t]{0,40}(?=\n|\Z)|`{0,2}\Z|~{0,2}\Z)")
"""The line that ends a fence, or at the end of the text the beginning of that."""


def _is_blank(event: Event) -> bool:
    """Whether an event is white space."""
    return isinstance(event, TextDelta) and event.text.isspace()


class OneCall:
    """Lets one call through; what follows it is dropped. `done`: the call was there. `goes_on`: more words followed."""

    def __init__(self) -> None:
        self.done = self.goes_on = False

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return not self.done

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events up to the end of the first call."""
        for event in events:
            if self.done:
                self.goes_on = self.goes_on or not _is_blank(event)
                continue
            yield event
            self.done = isinstance(event, CallCompleted)


class StopText:
    """Ends the reply in front of a stop sequence in its text. In calls and reasoning, it is content.

    `found` is the sequence that ended it. `goes_on`: more words followed.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._held = ""
        self._place = 0
        self.found: str | None = None
        self.goes_on = False

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return False  # it looks at all text

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events in front of the stop sequence; text that may begin one is held."""
        for event in events:
            if self.found is not None:
                self.goes_on = self.goes_on or not _is_blank(event)
            elif isinstance(event, TextDelta):
                yield from self._text(event)
            else:
                yield from self.close()
                yield event

    def close(self) -> Iterator[Event]:
        """Yield the text that was held."""
        if self._held:
            yield TextDelta.make(self._held, self._place)
            self._held = ""

    def _text(self, event: TextDelta) -> Iterator[Event]:
        start = self._place if self._held else event.start
        text = self._held + event.text
        self._held = ""
        places = [(place, stop) for stop in self._stops if (place := text.find(stop)) >= 0]
        if places:
            end, self.found = min(places)
            self.goes_on = bool(text[end + len(self.found) :].strip())
        else:
            end = len(text) - max(_overlap(text, stop) for stop in self._stops)
            self._held, self._place = text[end:], start + end
        if end:
            yield TextDelta.make(text[:end], start)


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of the text may begin the stop sequence."""
    longest = min(len(stop) - 1, len(text))
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)


class ReasoningAsText:
    """Gives reasoning back as the text that it was, in `<think>`."""

    def __init__(self) -> None:
        self._open = False

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return not self._open

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield text for reasoning, and all else as it is."""
        for event in events:
            if isinstance(event, ReasoningDelta):
                text = event.text if self._open else f"<think>{event.text}"
                self._open = True
                yield TextDelta.make(text, event.span[0])
            else:
                yield from self.close()
                yield event

    def close(self) -> Iterator[Event]:
        """Yield the end tag of reasoning that is open."""
        if self._open:
            self._open = False
            yield TextDelta.make("</think>", 0)


class NoInvention:
    """Ends the reply in front of a result that the model made up: right after a call of its own, in the form in which
    results are told to it. Nothing after that is true.

    `starts` are the texts that results begin with. `found`: there was one.
    """

    def __init__(self, starts: Iterable[str]) -> None:
        self._starts = list(starts)
        self._is_after_call = self.found = False
        self._held = ""
        self._start = 0

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return not (self._is_after_call or self.found)

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events up to the result; text that may begin one is held."""
        for event in events:
            if self.found:
                return
            if self._is_after_call and isinstance(event, TextDelta):
                yield from self._text(event)
                continue
            yield from self.close()
            self._is_after_call = isinstance(event, CallCompleted)
            yield event

    def close(self) -> Iterator[Event]:
        """Yield the text that was held."""
        if self._held and not self.found:
            yield TextDelta.make(self._held, self._start)
        self._held = ""
        self._is_after_call = False

    def _text(self, event: TextDelta) -> Iterator[Event]:
        self._start = self._start if self._held else event.start
        self._held += event.text
        text = self._held.lstrip().replace("\r\n", "\n")
        if any(text.startswith(start) for start in self._starts):
            self.found = True
        elif len(self._held) > _MOST_HELD or not any(start.startswith(text) for start in self._starts):
            yield from self.close()


class CallFences:
    """Leaves out the lines of a fence around calls, since only an empty fence would be left of it.

    The parser says which calls are in one (`code_fence`). What may be such a line is held until it is known.
    """

    def __init__(self) -> None:
        self._held: list[Event] = []
        self._is_after_call = False

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now, in text without a character of fences."""
        return not (self._held or self._is_after_call)

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events, without these lines."""
        for event in events:
            if isinstance(event, TextDelta):
                yield from self._text(event)
            elif isinstance(event, (CallStarted, ArgumentDelta)):
                yield from self._started(event)
            elif isinstance(event, CallCompleted) and any(each.code is Code.CODE_FENCE for each in event.call.repairs):
                yield from (each for each in self._held if not isinstance(each, TextDelta))
                yield event
                self._held, self._is_after_call = [], True
            else:
                yield from self.close()
                yield event

    def close(self) -> Iterator[Event]:
        """Yield what was held, except the line that ends a fence."""
        for event in self._held:
            if not (self._is_after_call and isinstance(event, TextDelta) and _CLOSING.fullmatch(event.text)):
                yield event
        self._held, self._is_after_call = [], False

    def _started(self, event: Event) -> Iterator[Event]:
        if self._held:
            self._held.append(event)
        else:
            yield event

    def _text(self, event: TextDelta) -> Iterator[Event]:
        if self._held and isinstance(last := self._held[-1], TextDelta):
            event = TextDelta.make(last.text + event.text, last.start)
            self._held.pop()
        text, start = event.text, event.start
        if self._is_after_call and (closing := _CLOSING.match(text)):
            if closing.end() == len(text):
                self._held.append(event)
                return
            text, start = text[closing.end() :], start + closing.end()
        self._is_after_call = False
        opening = _OPENING.search(text)
        at = opening.start() if opening else len(text)
        if at:
            yield TextDelta.make(text[:at], start)
        if opening:
            self._held.append(TextDelta.make(text[at:], start + at))


class HoldAttempts:
    """Holds the text of a reply that may be sent back, from where a call in another notation seems to begin: nobody
    needs to see that call if the model makes it in its own notation then.

    `calls` is what looks for such calls in the reply. `before` is what was held of the replies before, with these calls
    and without: then all the text is held.
    """

    def __init__(self, calls: ForeignCalls, before: tuple[str, str]) -> None:
        self._calls = calls
        self._before = before
        self._holds = bool(before[0])
        self._has_passed = False
        self._held = Rope()
        self._size = 0  # of what is held for sure
        self._start = 0
        self._spans: list[tuple[int, int]] = []

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now, in text without a character with which calls begin."""
        return not (self._holds or self._held)

    @property
    def text(self) -> str:
        """What is held of this reply."""
        return str(self._held)

    def mark(self, span: tuple[int, int]) -> None:
        """Say where there is such a call in the reply."""
        self._spans.append(span)

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield what may be seen."""
        for event in events:
            if isinstance(event, TextDelta):
                yield from self._text(event)
                continue
            if isinstance(event, (CallStarted, CallCompleted, CallFailed)) and not self._before[0]:
                yield from self.release(with_calls=True)
            yield event

    def _text(self, event: TextDelta) -> Iterator[Event]:
        self._start = self._start if self._held else event.start
        self._held.append(event.text)
        if self._holds:
            self._size += len(event.text)
            is_call = self._spans or self._calls.has_begun
            if self._size > (_MOST_OF_CALL if is_call else _MOST_UNKNOWN):
                yield from self.release(with_calls=True)
            return
        text, start = str(self._held), self._start
        # One in a fence counts only if the reply is nothing else.
        is_fence = not self._has_passed and _FENCED_FIRST.match(text)
        begins = 0 if is_fence else self._calls.beginning(text)
        self._holds = begins < len(text)
        if not self._holds and (found := _MAY_BEGIN.search(text)):
            begins = found.start()
        self._held = Rope()
        if begins < len(text):
            self._held.append(text[begins:])
            self._start = start + begins
        if begins:
            self._has_passed = self._has_passed or not text[:begins].isspace()
            yield TextDelta.make(text[:begins], start)

    def both(self, *, is_all: bool) -> tuple[str, str]:
        """Return what is held of this reply and those before, with the calls and without. `is_all`: this reply is
        nothing but a call."""
        text, rest, at = self.text, "", 0
        for start, end in self._spans:
            rest += text[at : max(at, start - self._start)]
            at = max(at, end - self._start)
        rest = "" if is_all else rest + text[at:]
        return self._before[0] + text, self._before[1] + (rest if rest.strip() else "")

    def release(self, *, with_calls: bool) -> Iterator[Event]:
        """Yield what was held."""
        text = self.both(is_all=False)[not with_calls]
        self._before, self._held, self._holds = ("", ""), Rope(), False
        if text:
            yield TextDelta.make(text, self._start)
