"""A stream in steps: which events each character brings, kept so short that a page can hold all of it.

A text is fed to the parser character by character; a long one in steps of several, so that there are never more than
`POSITIONS`. Most steps bring the next piece of what the step before brought. Such runs are one entry, from which
what had been said after each step can be told exactly:

    {"kind": "text", "at": 3, "first": 1, "text": "llo", "span": [2, 5]}

says that step 3 brought the first character of the text, and each step after it one step's more. Without `first`
all of the entry came at once. The step after the last is the end of the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from xmltools.errors import Notice
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
from xmltools.parser import Parser
from xmltools.proxy.playground.parts import Part, gather_parts
from xmltools.proxy.playground.value_rows import write_path

POSITIONS = 20_000
"""Steps that a text is cut into at most."""

Timed = tuple[int, Event]
"""An event, and the number of the step that brought it."""


def step_of(text: str) -> int:
    """Return how many characters are fed in one step."""
    return max(1, -(-len(text) // POSITIONS))


@dataclass(frozen=True, slots=True)
class Record:
    """What a parser said of a text, with the step of each event, and the parts that this comes to."""

    timed: list[Timed]
    parts: list[Part]
    unclosed_reasoning: bool

    @property
    def events(self) -> list[Event]:
        """The events without their steps."""
        return [event for _, event in self.timed]

    @property
    def notices(self) -> list[Notice]:
        """What was noticed in the text."""
        return [event.notice for _, event in self.timed if isinstance(event, Noticed)]


def record(text: str, parser: Parser) -> Record:
    """Feed a text in steps, and return what came of it. The first step has number 1; the end is a step, too."""
    size = step_of(text)
    timed: list[Timed] = []
    steps = 0
    for at in range(0, len(text), size):
        steps += 1
        timed += [(steps, event) for event in parser.feed(text[at : at + size])]
    timed += [(steps + 1, event) for event in parser.close()]
    return Record(timed, gather_parts(event for _, event in timed), parser.unclosed_reasoning)


def write_steps(text: str, timed: Iterable[Timed]) -> dict[str, Any]:
    """Return the steps as JSON values: the size of one, how many there are, and the entries."""
    size = step_of(text)
    entries = [run.write() for run in _runs(timed, size)]
    return {"size": size, "count": -(-len(text) // size), "entries": entries}


def _runs(timed: Iterable[Timed], size: int) -> Iterator[_Run]:
    run: _Run | None = None
    parts = 0
    for at, event in timed:
        if run is not None and run.take(at, event, size):
            continue
        if run is not None:
            yield run
        run = _Run(at, event, parts)
        parts += isinstance(event, CallCompleted | CallFailed)
    if run is not None:
        yield run


_Delta = TextDelta | ReasoningDelta | ArgumentDelta


class _Run:
    """One entry: an event, and the deltas after it that continue it step by step."""

    def __init__(self, at: int, event: Event, block: int) -> None:
        self._at = at
        self._event = event
        self._block = block
        self._pieces = [event.text] if isinstance(event, _Delta) else []
        self._end = event.span[1] if isinstance(event, TextDelta | ReasoningDelta) else 0

    def take(self, at: int, event: Event, size: int) -> bool:
        """Add the event if it continues the run, by exactly one step of text."""
        if not isinstance(event, _Delta) or at != self._at + len(self._pieces) or len(event.text) != size:
            return False
        if not (_is_even(event) and _is_even(self._event) and _place(event) == _place(self._event)):
            return False
        self._pieces.append(event.text)
        self._end += size
        return True

    def write(self) -> dict[str, Any]:
        entry = {"at": self._at, **_written(self._event, self._block)}
        if isinstance(self._event, _Delta):
            entry["text"] = "".join(self._pieces)
        if isinstance(self._event, TextDelta | ReasoningDelta):
            entry["span"] = [self._event.span[0], self._end]
        if len(self._pieces) > 1:
            entry["first"] = len(self._pieces[0])
        return entry


def _is_even(event: Event) -> bool:
    """Does the event bring as many characters as it takes from the source? The tags of reasoning are no text."""
    return not isinstance(event, ReasoningDelta) or event.span[1] - event.span[0] == len(event.text)


def _place(event: Event) -> tuple[type[Event], tuple[str | int, ...]]:
    return type(event), event.path if isinstance(event, ArgumentDelta) else ()


def _written(event: Event, block: int) -> dict[str, Any]:
    """An event as JSON values. Calls and errors stand in the reading: here is only which block of it they are."""
    match event:
        case TextDelta():
            return {"kind": "text"}
        case ReasoningDelta():
            return {"kind": "reasoning"}
        case ArgumentDelta(path):
            return {"kind": "argument", "path": write_path(path)}
        case CallStarted(id, name):
            return {"kind": "started", "id": id, "name": name, "server": event.server}
        case CallCompleted():
            return {"kind": "call", "block": block, "span": list(event.span)}
        case CallFailed():
            return {"kind": "error", "block": block, "span": list(event.span)}
        case Noticed(notice):
            return {"kind": "notice", "text": notice.message}
        case Skipped(span):
            return {"kind": "skipped", "span": list(span)}
    raise AssertionError(event)
