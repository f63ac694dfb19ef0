"""Ids and times for messages that have none: Wolo stores each message with both."""

from __future__ import annotations

import time
from collections.abc import Callable
from uuid import uuid4

from xmltools.errors import XMLToolsError
from xmltools.formats._base import expect
from xmltools.formats._wolo_fields import NAME
from xmltools.models import Conversation, Message

__all__ = ["NewId", "complete", "complete_foreign"]

NewId = Callable[[], str]
"""Returns another id each time."""


def complete(conversation: Conversation, *, now: float | None = None, new_id: NewId | None = None) -> Conversation:
    """Return the conversation with an id and a time for each message of the system, the user and the assistant.

    Those that are there stay. Times are `now`, in seconds since 1970, by default the time of the call; ids are what
    `new_id` returns, by default UUIDs. Results need neither: Wolo stores them in their calls. Raises XMLToolsError if
    `now` is no number, and if `new_id` returns no text, or the same id again.
    """
    return _completed(conversation, lambda message: True, now, new_id)


def complete_foreign(conversation: Conversation, now: float | None, new_id: NewId | None) -> Conversation:
    """Complete the messages that were not read from Wolo's own. What was stored without an id stays without."""
    return _completed(conversation, lambda message: NAME not in message.extra, now, new_id)


def _completed(
    conversation: Conversation, is_wanted: Callable[[Message], bool], now: float | None, new_id: NewId | None
) -> Conversation:
    given = time.time() if now is None else expect(now, (int, float), "now", "seconds since 1970 as a number")
    if isinstance(now, bool):
        raise XMLToolsError(f"now: expected seconds since 1970 as a number, got {now}")
    ids = _Ids(conversation, new_id or _uuid)
    return conversation.with_messages(
        _with(message, ids, float(given)) if not message.is_tool and is_wanted(message) else message
        for message in conversation
    )


def _with(message: Message, ids: _Ids, now: float) -> Message:
    update: dict[str, object] = {}
    if message.id is None:
        update["id"] = ids.make()
    if message.created_at is None:
        update["created_at"] = now
    return message.model_copy(update=update) if update else message


def _uuid() -> str:
    return str(uuid4())


class _Ids:
    """Makes ids that no message of a conversation has."""

    __slots__ = ("_given", "_made", "_new_id")

    def __init__(self, conversation: Conversation, new_id: NewId) -> None:
        self._given = {message.id for message in conversation}
        self._made: set[str] = set()
        self._new_id = new_id

    def make(self) -> str:
        while True:
            made: str = expect(self._new_id(), str, "new_id", "text")
            if made in self._made:
                raise XMLToolsError(f"new_id: expected another id each time, got {made!r:.80} again")
            self._made.add(made)
            if made not in self._given:
                return made
