"""Ids and times for messages that have none, and ids for calls: Wolo stores them with each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from uuid import uuid4

from xmltools.errors import XMLToolsError
from xmltools.formats.wolo.message_fields import NAME, seconds
from xmltools.models import Conversation, Message, Part, ToolCall, ToolResult
from xmltools.models.conversation import checked_conversation
from xmltools.models.json_fields import expect, fail

NewId = Callable[[], str]
"""Returns another id each time."""
IsWanted = Callable[[Mapping[str, object]], bool]
"""Says by the extra of a message, or a call, whether it is to be completed."""


def complete(conversation: Conversation, *, now: float | None = None, new_id: NewId | None = None) -> Conversation:
    """Return the conversation with an id and a time for each message of the system, the user and the assistant, and an
    id for each call.

    Those that are there stay. Times are `now`, in seconds since 1970, by default the time of the call; ids are what
    `new_id` returns, by default UUIDs. Messages of results need neither: Wolo stores results in their calls. A result
    without an id is that of the first call of its name in the last message with calls that had none, and gets its new
    id. The ids of texts follow from those of their messages: `dump` writes them. Raises XMLToolsError if `now` is no
    finite number, and if `new_id` returns no text, or the same id again.
    """
    return _completed(conversation, lambda extra: True, now, new_id)


def complete_foreign(conversation: Conversation, now: float | None, new_id: NewId | None) -> Conversation:
    """Complete what was not read from Wolo's own messages. What was stored without an id stays without."""
    return _completed(conversation, lambda extra: NAME not in extra, now, new_id)


def _completed(
    conversation: Conversation, is_wanted: IsWanted, now: float | None, new_id: NewId | None
) -> Conversation:
    checked_conversation(conversation)
    given = time.time() if now is None else _checked_time(now)
    completer = _Completer(_Ids(conversation, new_id or _uuid), is_wanted, given)
    return conversation.with_messages(map(completer.message, conversation))


def _checked_time(now: float) -> float:
    # JSON has no word for NaN and infinity; an integer may be too large for a float.
    if isinstance(now, bool) or not isinstance(now, (int, float)) or not math.isfinite(seconds(now)):
        fail("now", "seconds since 1970 as a number", now)
    return float(now)


class _Completer:
    """Completes messages in their order. It knows which calls that got an id have no result yet."""

    __slots__ = ("_ids", "_is_wanted", "_now", "_open")

    def __init__(self, ids: _Ids, is_wanted: IsWanted, now: float) -> None:
        self._ids = ids
        self._is_wanted = is_wanted
        self._now = now
        self._open: list[ToolCall] = []

    def message(self, message: Message) -> Message:
        """Return a message with what it lacks."""
        update: dict[str, object] = {}
        if not message.is_tool and self._is_wanted(message.extra):
            if message.id is None:
                update["id"] = self._ids.make()
            if message.created_at is None:
                update["created_at"] = self._now
        if any(self._lacks_id(call) for call in message.calls):
            self._open = []
        parts = tuple(map(self._part, message.parts))
        if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
            update["parts"] = parts
        return message.model_copy(update=update) if update else message

    def _lacks_id(self, call: ToolCall) -> bool:
        return not call.id and self._is_wanted(call.extra)

    def _part(self, part: Part) -> Part:
        if isinstance(part, ToolCall) and self._lacks_id(part):
            part = part.model_copy(update={"id": self._ids.make()})
            self._open.append(part)
        elif isinstance(part, ToolResult) and not part.call_id:
            # By its name: results need not come in the order of their calls.
            call = next((call for call in self._open if part.name in ("", call.name)), None)
            if call is not None:
                self._open = [each for each in self._open if each is not call]
                return part.model_copy(update={"call_id": call.id})
        return part


def _uuid() -> str:
    return str(uuid4())


class _Ids:
    """Makes ids that no message and no call of a conversation has."""

    __slots__ = ("_given", "_made", "_new_id")

    def __init__(self, conversation: Conversation, new_id: NewId) -> None:
        self._given = {message.id for message in conversation} | {call.id for call in conversation.calls}
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
