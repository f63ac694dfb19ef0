"""What becomes of a call that fails, and of the text after it: the failure is kept back or told in words, and what is
said again in another try is dropped. These are filters as those in `text_filters`: events in, events out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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

_LONGEST = 300
"""Characters of what was wrong with a call, in the sentence that tells a reader."""
_OPENS = re.compile(r"<(?=[A-Za-z/!?])")
_TAG = re.compile(r"<(/?)([A-Za-z_][\w.-]*)[^<>]{0,80}>")


class HoldCalls:
    """Lets a call through when it is complete, so that nobody hears of one that fails.

    With `keep_failure`, `failed` is the first failure; it and everything after it are kept back. With `live`, calls
    are not held: a failure is kept back only where nobody has heard of its call. Then a call that begins before another
    one is complete, as in a list, waits for that: clients can't read two at once.
    """

    def __init__(self, *, keep_failure: bool, live: bool = False) -> None:
        self._keep_failure = keep_failure
        self._live = live
        self._started: list[Event] = []
        self._open: str | None = None  # the call that is told of, if `live`
        self.failed: CallFailed | None = None

    @property
    def goes_on(self) -> bool:
        """Whether something of a call is kept back."""
        return bool(self._started) or self.failed is not None

    @property
    def is_idle(self) -> bool:
        """Whether it would change nothing now."""
        return self.failed is None and not (self._live and self._started)

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield what may be heard of."""
        for event in events:
            if self.failed is not None:
                return
            if isinstance(event, (CallStarted, ArgumentDelta)):
                if not self._live or self._started or (isinstance(event, CallStarted) and self._open is not None):
                    self._started.append(event)
                    continue
                if isinstance(event, CallStarted):
                    self._open = event.id
                yield event
            elif isinstance(event, CallFailed):
                is_heard = self._live and event.id is not None and event.id == self._open
                self._started = []
                if self._keep_failure and not is_heard:
                    self.failed = event
                else:
                    yield event if is_heard else CallFailed(event.error)
            else:
                if isinstance(event, CallCompleted):
                    yield from self._take_started(event.call.id)
                yield event

    def _take_started(self, id: str) -> list[Event]:
        """Return what was kept of a call that is complete now."""
        if id == self._open:
            self._open = None
            return []
        starts = [at for at, event in enumerate(self._started) if isinstance(event, CallStarted)]
        end = starts[1] if len(starts) > 1 else len(self._started)
        taken, self._started = self._started[:end], self._started[end:]
        return taken


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
            return
        text, start = event.text, event.start
        if words.startswith(self._said[self._place :]):
            rest = text[_place_after(text, left) :].lstrip()
            text, start = rest, start + len(text) - len(rest)
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
    error. `failed` has the errors of both.
    `before` is the text that the client has already. If `is_new`, what follows is a paragraph of its own. `explain`
    makes of an error the one that the client is told.
    """

    def __init__(
        self, *, keeps: bool, before: str, is_new: bool, explain: Callable[[CallError], CallError] = lambda error: error
    ) -> None:
        self._keeps = keeps
        self._explain = explain
        self._texts = Rope()
        self.tail = before[-2:]
        """The last two characters that the client has."""
        self.is_new = is_new
        """Whether what follows is a paragraph of its own."""
        self.is_blank = True
        """Whether the client has no words of this reply yet."""
        self.failed: list[CallError] = []
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
        return self.broken is None and not self.is_new

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events that a client may see."""
        for event in events:
            if self.broken is not None:
                return
            if isinstance(event, CallFailed):
                event = CallFailed(self._explain(event.error), event.id)
                self.failed.append(event.error)
                if event.id is not None:
                    self.broken = event.error
                    self.is_open = False
                    yield event
                    return
                text = self._gap() + failure_in_words(event.error)
                yield self.keep(TextDelta.make(text, event.error.span[0]))
            elif isinstance(event, TextDelta):
                if self.is_new and not event.text[:1].isspace():
                    event = TextDelta.make(self._gap() + event.text, event.start)
                yield self.keep(event)
            else:
                if isinstance(event, (CallStarted, CallCompleted)):
                    self.is_open = isinstance(event, CallStarted)
                yield event

    def keep(self, event: TextDelta) -> TextDelta:
        """Take note of text that the client gets."""
        self.tail = (self.tail + event.text)[-2:]
        self.is_new = False
        self.is_blank &= event.text.isspace()
        if self._keeps:
            self._texts.append(event.text)
        return event

    def _gap(self) -> str:
        """Return what makes a new paragraph."""
        if not self.tail or self.tail == "\n\n":
            return ""
        return "\n" if self.tail.endswith("\n") else "\n\n"


def failure_in_words(error: CallError) -> str:
    """Return one sentence for people who read the reply: which call was not made, and why. It holds no markup."""
    call = f"The call of {error.name[:100]}" if error.name else "A tool call"
    why = "the reply was cut off in it" if error.code is Code.TRUNCATED else _plain(error.message)
    return f"{_plain(call)} was not made: {why}."


def _plain(text: str) -> str:
    text = " ".join(_TAG.sub(r"\1\2", text).split()).rstrip(".")
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return _OPENS.sub("&lt;", text)
