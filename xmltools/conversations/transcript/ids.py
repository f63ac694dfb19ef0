"""Ids of calls and results: how a message keeps those that text cannot say, and how ids are made where there are none.

`extra["xmltools"]` of a message is `{"call_ids": […]}` if it has calls and `{"result_ids": […]}` if it has results (an
empty list on a message of a tool without results); `"result_names"` has the names of tools where the dialect's results
don't say them. What was there before is kept under `"kept"`, so that a message with
a note can be given another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError
from xmltools.models import Conversation, ToolCall, ToolResult

_KEY = "xmltools"
_KEPT = "kept"
_IDS = ("call_ids", "result_ids", "result_names")


class Note(NamedTuple):
    """The ids that a message had; None if nothing is known of them."""

    call_ids: list[str] | None = None
    result_ids: list[str] | None = None
    result_names: list[str] | None = None


def add_note(extra: dict[str, Any], **ids: list[str]) -> dict[str, Any]:
    """Return `extra` with a note of these ids; as it is if there is nothing to note."""
    note: dict[str, Any] = dict(ids)
    if _KEY in extra:
        note[_KEPT] = extra[_KEY]
    return {**extra, _KEY: note} if note else extra


def take_note(extra: dict[str, Any]) -> tuple[Note, dict[str, Any]]:
    """Return the note and what `extra` was without it. What no `add_note` wrote stays where it is."""
    note = extra.get(_KEY)
    if not isinstance(note, dict) or not note or not note.keys() <= {*_IDS, _KEPT}:
        return Note(), extra
    rest = {key: value for key, value in extra.items() if key != _KEY}
    if _KEPT in note:
        rest[_KEY] = note[_KEPT]
    return Note(*(_ids(note.get(name)) for name in _IDS)), rest


def _ids(found: Any) -> list[str] | None:
    return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else None


class Ids:
    """Makes ids that a conversation does not hold: `call_1`, `call_2`, …, or what `new_id` gives, and `result_1`, …."""

    __slots__ = ("_calls", "_known", "_new_id", "_results")

    def __init__(self, conversation: Conversation, new_id: Callable[[], str] | None) -> None:
        if new_id is not None and not callable(new_id):
            raise XMLToolsError(f"new_id: expected a function that returns str, got {type(new_id).__name__}")
        self._known = set(_known_ids(conversation))
        self._new_id = new_id
        self._calls = count(1)
        self._results = count(1)

    def for_call(self) -> str:
        """Return an id for a call."""
        if self._new_id is None:
            return self._unknown("call", self._calls)
        made = self._new_id()
        if not isinstance(made, str):
            raise XMLToolsError(f"new_id: expected a function that returns str, it returned {type(made).__name__}")
        return made

    def for_result(self) -> str:
        """Return an id for a result that answers no call."""
        return self._unknown("result", self._results)

    def _unknown(self, word: str, numbers: Iterator[int]) -> str:
        return next(made for number in numbers if (made := f"{word}_{number}") not in self._known)


def _known_ids(conversation: Conversation) -> Iterator[str]:
    for message in conversation.messages:
        note, _ = take_note(message.extra)
        yield from note.call_ids or ()
        yield from note.result_ids or ()
        for part in message.parts:
            if isinstance(part, ToolCall):
                yield part.id
            elif isinstance(part, ToolResult):
                yield part.call_id


class Waiting:
    """The calls that no result has answered yet, by name, in order.

    Those of the message that was just read are answered before older ones, and users can answer no others.
    """

    __slots__ = ("_answered", "_current", "_names", "_older", "_order")

    def __init__(self) -> None:
        self._current: dict[str, deque[str]] = {}
        self._older: dict[str, deque[str]] = {}
        self._answered: set[str] = set()
        self._names: dict[str, str] = {}
        self._order: deque[str] = deque()

    def ask(self, calls: Iterable[ToolCall]) -> None:
        """The assistant has spoken, and asks for these calls."""
        self.retire()
        for call in calls:
            self._current.setdefault(call.name, deque()).append(call.id)
            self._answered.discard(call.id)  # ids may come again
            self._names[call.id] = call.name
            self._order.append(call.id)

    def retire(self) -> None:
        """Somebody else has spoken: all calls are older ones now."""
        for name, ids in self._current.items():
            self._older.setdefault(name, deque()).extend(ids)
        self._current.clear()

    def answer(self, ids: Iterable[str]) -> None:
        """Results with these ids have come."""
        self._answered.update(ids)

    def name_of(self, id: str) -> str:
        """Return the name of the tool that the call with this id was of; nothing if there was none."""
        return self._names.get(id, "")

    def take(self, name: str) -> str | None:
        """Return the id of the first call of that name, which is answered now; None if there is none. No name: of the
        first call."""
        if not name:
            return self._take_any()
        found = self._next(self._current, name)
        return self._next(self._older, name) if found is None else found

    def take_current(self, names: Iterable[str]) -> list[str] | None:
        """Return the ids of calls of those names in the message that was just read; None if one has no call."""
        taken: list[tuple[str, str]] = []
        for name in names:
            if not name:
                name = next((each for each, ids in self._current.items() if self._waits(ids)), "")
            found = self._next(self._current, name)
            if found is None:
                for each, id in reversed(taken):
                    self._current[each].appendleft(id)
                return None
            taken.append((name, found))
        return [id for _, id in taken]

    def _take_any(self) -> str | None:
        while self._order:
            if (found := self._order.popleft()) not in self._answered:
                self._answered.add(found)
                return found
        return None

    def _waits(self, ids: Iterable[str]) -> bool:
        return any(id not in self._answered for id in ids)

    def _next(self, waiting: dict[str, deque[str]], name: str) -> str | None:
        ids = waiting.get(name, ())
        while ids:
            assert isinstance(ids, deque)
            if (found := ids.popleft()) not in self._answered:
                return found
        return None
