"""Calls that the upstream itself tells apart, though it was asked in text: a server may know its model's own markup.

They go to the client in the order in which they come, between those that stand in the text; ids are kept. Two calls are
never open at once: while one of the text is being written, a native one waits, and the other way round.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from xmltools.conversations.streams import OpenAIReader
from xmltools.models.events import CallCompleted, CallFailed, CallStarted, Event, TextDelta
from xmltools.tools import Tool

_SOMETHING_ELSE = {"content": " "}


class NativeCalls:
    """The native calls of a reply, and the events of its text beside them.

    Takes the tools that may be called, who makes ids for calls that have none, and whether a call of the text is open.
    """

    def __init__(self, tools: Sequence[Tool], new_id: Callable[[], str], *, is_open: bool) -> None:
        self._reader = OpenAIReader(tools)
        self._new_id = new_id
        self._begun: set[int] = set()  # indexes
        self._owners: dict[str, int] = {}  # the index that an id was given to
        self._turns = _Turns(_TEXT if is_open else None)

    def feed(self, calls: Iterable[dict[str, Any]]) -> list[Event]:
        """Take calls, or parts of them; return what may be heard of."""
        return self._turns.read(_NATIVE, self._read({"tool_calls": [self._identified(each) for each in calls]}))

    def beside(self, events: list[Event]) -> list[Event]:
        """Take events of the text, in front of which a call that is whole has ended; return what may be heard of."""
        if not events:
            return []
        return [*self._turns.read(_NATIVE, self._read(_SOMETHING_ELSE)), *self._turns.read(_TEXT, events)]

    def end(self, events: list[Event], reason: str) -> list[Event]:
        """Take the last events of the text, and why the reply ended; return all that is left."""
        last = self._read({}, reason)
        return [*self._turns.read(_TEXT, events), *self._turns.read(_NATIVE, last)]

    def _read(self, delta: dict[str, Any], reason: str | None = None) -> list[Event]:
        events = self._reader.feed({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        return [_with_whole_source(event) for event in events if not isinstance(event, TextDelta)]

    def _identified(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return a part of a call; if it is the first, with an id that no other call of the reply has."""
        index, id = call.get("index"), call.get("id")
        id = id if isinstance(id, str) else ""
        if not isinstance(index, int):
            # Without an index, a call begins where there is another id, or a name without one.
            return {**call, "id": id or (self._new_id() if call["function"].get("name") else "")}
        is_first = index not in self._begun
        self._begun.add(index)
        if not id or self._owners.setdefault(id, index) != index:
            id = self._new_id() if is_first else ""
        return {**call, "id": id}


def _with_whole_source(event: Event) -> Event:
    """Return an event; where it is a failure, with all of the call as its source, which is what becomes text."""
    if not isinstance(event, CallFailed):
        return event
    source = json.dumps({"name": event.error.name, "arguments": event.error.source}, ensure_ascii=False)
    return CallFailed(replace(event.error, source=source), event.id)


_TEXT, _NATIVE = 0, 1


class _Turns:
    """Lets two sources of events speak in turns: while a call of one is open, what the other says waits."""

    def __init__(self, speaker: int | None) -> None:
        self._speaker = speaker
        """Whose call is open."""
        self._waiting: tuple[deque[Event], deque[Event]] = (deque(), deque())

    def read(self, source: int, events: list[Event]) -> list[Event]:
        """Take what a source says; return what is to be heard now."""
        self._waiting[source].extend(events)
        turn = source if self._speaker is None else self._speaker
        heard: list[Event] = []
        while self._waiting[turn]:
            event = self._waiting[turn].popleft()
            heard.append(event)
            if isinstance(event, CallStarted):
                self._speaker = turn
            elif isinstance(event, (CallCompleted, CallFailed)):
                self._speaker = None
            if self._speaker is None and self._waiting[1 - turn]:
                turn = 1 - turn  # it has waited longer
        return heard
