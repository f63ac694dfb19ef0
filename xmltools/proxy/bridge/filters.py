"""What happens to a parser's events before a client hears of them. Each filter takes events and gives events.

While a filter `is_idle`, text passes through it as it is, and so do arguments of a call that is told of while it is
written; nothing but what it has read ends that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from xmltools.errors import CallError, Code
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    ReasoningDelta,
    TextDelta,
)
from xmltools.syntax.rope import Rope

_MOST_HELD = 1_024
"""Characters that may be held because they may begin a result that a model makes up: a name, and white space."""
_LONGEST = 300
"""Characters of what was wrong with a call, in the sentence that tells a reader."""
_OPENS = re.compile(r"<(?=[A-Za-z/!?])")
_TAG = re.compile(r"<(/?)([A-Za-z_][\w.-]*)[^<>]{0,80}>")


def _is_blank(event: Event) -> bool:
    """Whether an event is white space."""
    return isinstance(event, TextDelta) and event.text.isspace()


class HoldCalls:
    """Lets a call through when it is complete, so that nobody hears of one that fails.

    With `keep_failure`, `failed` is the first failure; it and everything after it are kept back. With `live`, calls
    are not held: a failure is kept back only where nobody has heard of its call.
    """

    def __init__(self, *, keep_failure: bool, live: bool = False) -> None:
        self._keep_failure = keep_failure
        self._live = live
        self._started: list[Event] = []
        self.failed: CallFailed | None = None

    @property
    def goes_on(self) -> bool:
        """Whether something of a call is kept back."""
        return bool(self._started) or self.failed is not None

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return self.failed is None

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield what may be heard of."""
        for event in events:
            if self.failed is not None:
                return
            if isinstance(event, (CallStarted, ArgumentDelta)) and not self._live:
                self._started.append(event)
            elif isinstance(event, CallFailed):
                self._started = []
                if self._keep_failure and not (self._live and event.id is not None):
                    self.failed = event
                else:
                    yield event if self._live else CallFailed(event.error)
            else:
                if isinstance(event, CallCompleted):
                    yield from self._started
                    self._started = []
                yield event


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

    `names` are those of the tools. `found`: there was one.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._headers = [f"Tool: {name}\n{word}:" for name in names for word in ("Result", "Error")]
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
        if any(text.startswith(header) for header in self._headers):
            self.found = True
        elif len(self._held) > _MOST_HELD or not any(header.startswith(text) for header in self._headers):
            yield from self.close()


class NoRepetition:
    """Drops what a model says again at the beginning of another try: `said` is what the client has of the one before.

    White space does not count. Text is held while it may be that; if it turns out to be something else, all of it is
    let through.
    """

    def __init__(self, said: str) -> None:
        self._said = "".join(said.split())
        self._place = 0  # in it, up to which it was said again
        self._held = Rope()
        self._start = 0

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return not self._said

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield what is new."""
        for event in events:
            if self._said and isinstance(event, TextDelta):
                yield from self._text(event)
                continue
            if not isinstance(event, ReasoningDelta):
                self._said = ""  # what was held is the beginning of what the client has
            yield event

    def _text(self, event: TextDelta) -> Iterator[Event]:
        words = "".join(event.text.split())
        left = len(self._said) - self._place
        if len(words) <= left and self._said.startswith(words, self._place):
            self._start = self._start if self._held else event.start
            self._held.append(event.text)
            self._place += len(words)
            if len(words) == left:
                self._said = ""
            return
        text, start = event.text, event.start
        if words.startswith(self._said[self._place :]):
            end = _place_after(text, left)
            text, start = text[end:], start + end
        elif self._held:
            text, start = f"{self._held}{text}", self._start
        self._said = ""
        yield TextDelta.make(text, start)


def _place_after(text: str, count: int) -> int:
    """Return the place after so many characters that are no white space."""
    places = (place for place, character in enumerate(text, 1) if not character.isspace())
    return next(islice(places, count - 1, None)) if count else 0


class Outgoing:
    """The last of the filters: a failure becomes a sentence, and the text is kept that the client has, if asked for.

    A failure of a call that the client has heard of is `broken`: nothing follows it, and the reply can only end with an
    error. `failed` counts both.
    `before` is the text that the client has already. If `is_new`, what follows is a paragraph of its own.
    """

    def __init__(self, *, keeps: bool, before: str, is_new: bool) -> None:
        self._keeps = keeps
        self._texts = Rope()
        self._tail = before[-2:]
        self._is_new = is_new
        self.failed = 0
        self.broken: CallError | None = None
        self.is_open = False
        """Whether the client has heard of a call, and not of its end."""

    @property
    def text(self) -> str:
        """The text that the client has."""
        return str(self._texts)

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return self.broken is None and not self._is_new

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events that a client may see."""
        for event in events:
            if self.broken is not None:
                return
            if isinstance(event, CallFailed):
                self.failed += 1
                if event.id is not None:
                    self.broken = event.error
                    self.is_open = False
                    yield event
                    return
                text = self._gap() + failure_in_words(event.error)
                yield self.keep(TextDelta.make(text, event.error.span[0]))
            elif isinstance(event, TextDelta):
                if self._is_new and not event.text[:1].isspace():
                    event = TextDelta.make(self._gap() + event.text, event.start)
                yield self.keep(event)
            else:
                if isinstance(event, (CallStarted, CallCompleted)):
                    self.is_open = isinstance(event, CallStarted)
                yield event

    def keep(self, event: TextDelta) -> TextDelta:
        """Take note of text that the client gets."""
        self._tail = (self._tail + event.text)[-2:]
        self._is_new = False
        if self._keeps:
            self._texts.append(event.text)
        return event

    def _gap(self) -> str:
        """Return what makes a new paragraph."""
        if not self._tail or self._tail == "\n\n":
            return ""
        return "\n" if self._tail.endswith("\n") else "\n\n"


def failure_in_words(error: CallError) -> str:
    """Return one sentence for people who read the reply: which call was not made, and why. It holds no markup."""
    call = f"The call of {error.name[:100]}" if error.name else "A tool call"
    why = "the reply was cut off in it" if error.code is Code.TRUNCATED else _plain(error.message)
    return f"{_plain(call)} was not made: {why}."


def _plain(text: str) -> str:
    text = " ".join(_TAG.sub(r"\1\2", text).split()).rstrip(".")
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return _OPENS.sub("&lt;", text)
