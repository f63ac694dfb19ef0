"""Where the text of a reply ends, and what is left out of it: after the one call that is wanted, in front of a stop
sequence or of a result that the model made up; and reasoning as text. `after_failed_call` has what follows such a call.

Each filter takes events of the parser and gives events, before a client hears of them. While a filter `is_idle`, text
passes through it as it is, and so do arguments of a call that is told of while it is written; nothing but what it has
read ends that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xmltools.models.events import CallCompleted, Event, ReasoningDelta, TextDelta

_MOST_HELD = 1_024
"""Characters that may be held because they may begin a result that a model makes up: a name, and white space."""


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
