"""What happens to a parser's events before a client hears of them. Each filter takes events and gives events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xmltools.events import ArgumentDelta, CallCompleted, CallFailed, CallStarted, Event, ReasoningDelta, TextDelta

__all__ = ["HoldCalls", "NoReasoning", "OneCall", "ReasoningAsText", "StopText"]


def _is_blank(event: Event) -> bool:
    """Whether an event is white space."""
    return isinstance(event, TextDelta) and event.text.isspace()


class HoldCalls:
    """Lets a call through when it is complete, so that nobody hears of one that fails.

    With `keep_failure`, `failed` is the first failure; it and everything behind it are kept back.
    """

    __slots__ = ("_keep_failure", "_started", "failed")

    def __init__(self, *, keep_failure: bool) -> None:
        self._keep_failure = keep_failure
        self._started: list[Event] = []
        self.failed: CallFailed | None = None

    @property
    def goes_on(self) -> bool:
        """Whether something of a call is kept back."""
        return bool(self._started) or self.failed is not None

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield what may be heard of."""
        for event in events:
            if self.failed is not None:
                return
            if isinstance(event, (CallStarted, ArgumentDelta)):
                self._started.append(event)
            elif isinstance(event, CallFailed):
                self._started = []
                if self._keep_failure:
                    self.failed = event
                else:
                    yield event
            else:
                if isinstance(event, CallCompleted):
                    yield from self._started
                    self._started = []
                yield event


class NoReasoning:
    """Drops reasoning, which the client has asked not to hear of."""

    __slots__ = ()

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield all else."""
        return (event for event in events if not isinstance(event, ReasoningDelta))


class OneCall:
    """Lets one call through; what follows it is dropped. `done`: the call was there. `goes_on`: more words followed."""

    __slots__ = ("done", "goes_on")

    def __init__(self) -> None:
        self.done = self.goes_on = False

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

    __slots__ = ("_held", "_place", "_stops", "found", "goes_on")

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = stops
        self._held = ""
        self._place = 0
        self.found: str | None = None
        self.goes_on = False

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

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open = False

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
