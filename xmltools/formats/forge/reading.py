"""Forge's messages to a conversation (see `forge`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from xmltools.conversations.transcript import extract
from xmltools.formats.forge.writing import NAME, listed_tools, spelling, write
from xmltools.formats.shared.losses import Report
from xmltools.models import Conversation, Message, Role, Text, ToolCall
from xmltools.models.json_fields import expect, fail
from xmltools.tools import Tool

_ROLES = ("system", "user", "assistant", "tool")
_CONTENT = "a string (calls and results are text in this format; with 'tool_calls' or blocks it is another)"


def load(obj: Any, report: Report, tools: Iterable[Tool] | None, bracket_reasoning: bool) -> Conversation:
    """Read Forge's messages (see `forge.load`)."""
    if not isinstance(obj, (list, tuple)):
        fail("the whole", "a list of messages, each an object with role and content", obj)
    given = listed_tools(tools)
    listed = [_plain(each) for each in obj]
    plain = Conversation.model_construct(messages=tuple(_message(each, index) for index, each in enumerate(listed)))
    read = _with_states(extract(plain, given, bracket_reasoning=bracket_reasoning))
    _tell_orphans(read, report)
    again = write(read.messages, given, "tool", Report())
    messages = map(_spelled, read.messages, listed, again)
    return Conversation.model_construct(messages=tuple(messages))


def _spelled(message: Message, obj: dict[str, Any], again: list[dict[str, Any]]) -> Message:
    """Return the message with what it was read from, if something else would be written."""
    if len(again) == 1 and list(again[0].items()) == list(obj.items()):
        return message
    return message.model_copy(update={"extra": {NAME: spelling(message, obj)}})


def _plain(obj: Any) -> Any:
    return obj.model_dump() if hasattr(obj, "model_dump") and not isinstance(obj, type) else obj


def _message(obj: Any, index: int) -> Message:
    expect(obj, dict, f"message {index}", "an object with role and content")
    role = obj.get("role")
    if role not in _ROLES:
        fail(f"message {index}: role", "'system', 'user', 'assistant' or 'tool'", role, is_word=True)
    content = expect(obj.get("content"), str, f"message {index}: content", _CONTENT)
    parts = (Text.unchecked(content),) if content else ()
    return Message.model_construct(role=cast(Role, role), parts=parts)


def _with_states(conversation: Conversation) -> Conversation:
    """Return the conversation with the states of its calls as their results say them."""
    failed = {result.call_id: result.is_error for result in conversation.results}
    return conversation.with_messages(_with_state(message, failed) for message in conversation.messages)


def _with_state(message: Message, failed: Mapping[str, bool]) -> Message:
    if not any(call.id in failed for call in message.calls):
        return message
    parts = (
        part.model_copy(update={"status": "failed" if failed[part.id] else "completed"})
        if isinstance(part, ToolCall) and part.id in failed
        else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": tuple(parts)})


def _tell_orphans(conversation: Conversation, report: Report) -> None:
    asked = {call.id for call in conversation.calls}
    for index, message in enumerate(conversation.messages):
        for result in message.results:
            if result.call_id not in asked:
                report.add("orphan_result", f"the result of {result.name!r:.80} answers no call", index)
