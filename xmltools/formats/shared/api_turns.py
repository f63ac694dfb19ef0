"""What the formats of the three large APIs share in turns: which result is whose, and where system messages are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from xmltools.formats.shared.losses import Report
from xmltools.models import Message

_ANY, _MADE = object(), object()
"""Calls of any name, and those that came without an id."""


class Ledger:
    """The calls of a conversation that is being read: their names, and which of them have no result yet.

    A result without an id belongs to a call of the last turn, and to an earlier one only if none is left there.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        self.index = 0
        """The place of the message that is being read."""
        self._count = 0
        self._turn = 0
        self._names: dict[str, deque[str]] = {}  # by id, of the last turn with calls of it
        self._turns: dict[str, int] = {}  # which that is
        self._answered: set[str] = set()
        self._waiting: dict[object, list[tuple[int, deque[str]]]] = {}

    def add(self, code: str, message: str) -> None:
        """Report something about the message that is being read."""
        self.report.add(code, message, self.index)

    def end_turn(self) -> None:
        """Say that somebody else than the model spoke: the next call is one of another turn."""
        self._turn += 1

    def note(self, id: str | None, name: str) -> str:
        """Take a call. Returns its id; a call that has none gets call_1, call_2, …, by its place among all calls."""
        self._count += 1
        keys = (_ANY, name) if id else (_ANY, name, _MADE)
        id = id or self._made()
        if self._turns.get(id) != self._turn:
            self._turns[id] = self._turn
            self._names[id] = deque()
        self._names[id].append(name)
        self._answered.discard(id)
        for key in keys:
            turns = self._waiting.setdefault(key, [])
            if not turns or turns[-1][0] != self._turn:
                turns.append((self._turn, deque()))
            turns[-1][1].append(id)
        return id

    def _made(self) -> str:
        while f"call_{self._count}" in self._names:
            self._count += 1
        return f"call_{self._count}"

    def answer(self, id: str) -> str:
        """Take a result by the id of its call. Returns the name of the tool, "" with an issue if there is no call.

        Of several calls in a turn with the same id, the first result is that of the first one.
        """
        self._answered.add(id)
        names = self._names.get(id)
        if names is None:
            self.add("orphan_result", f"this is the result of {id!r:.80}, and there is no such call")
            return ""
        return names.popleft() if len(names) > 1 else names[0]

    def claim(self, name: str | None, *, of_made: bool = False) -> str:
        """Take a result without an id. Returns the id of the first call without a result, of the tool `name` if given.

        With `of_made` it is a call that came without an id as well. Returns "" with an issue if there is none.
        """
        turns = self._waiting.get(_MADE if of_made else _ANY if name is None else name, [])
        while turns:
            waiting = turns[-1][1]
            while waiting:
                id = waiting.popleft()
                if id not in self._answered:
                    self._answered.add(id)
                    return id
            turns.pop()
        whose = "any call" if name is None else f"a call of {name!r:.80}"
        self.add("orphan_result", f"this is the result of {whose}, and none is without a result")
        return ""


def system_first(
    messages: Iterable[Message], report: Report
) -> tuple[list[tuple[int, Message]], list[tuple[int, Message]]]:
    """Return the system messages and the others, each with its place, where only one prompt can stand, at the start."""
    numbered = list(enumerate(messages))
    system = [(index, message) for index, message in numbered if message.is_system]
    for place, (index, _) in enumerate(system):
        if index != place:
            report.add("system_moved", "the system prompt stands at the start: this message is moved there", index)
        elif place:
            report.add("system_joined", "there is one system prompt: this message is joined to it", index)
    return system, [(index, message) for index, message in numbered if not message.is_system]
