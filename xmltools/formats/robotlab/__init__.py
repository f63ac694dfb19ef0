"""RobotLab: a list of hashes, each of the type text, tool_call or tool_result.

A text of the assistant and the calls directly after it are one reply, in two hashes: {"type": "text", …} with the
stop_reason "tool", then {"type": "tool_call", "tools": […]}. Each result is a hash of its own, with a copy of its call
and {"data": …} or {"error": …}. Data that are no text are their JSON in the model. The role "tool_result" is "tool".

Normal form, which is what `load` returns: the texts of a message joined to one, those of a result with line breaks
between them; that of a reply before its calls; no empty texts; each result in a message of its own; no reply of text
alone directly before one of calls alone, unless its stop_reason is "stop".
What was spelled otherwise than `dump` would, such as data that are no text, is kept and written again.
The stop_reason of a reply, "stop" or "tool", is its `finish_reason`: "stop" or "tool_calls", which is that of calls
without any. RobotLab knows no other.

RobotLab's own values and adapters are here too: `TextMessage` and the others, `to_anthropic`, `provider` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.formats.robotlab.messages import Message as RobotLabMessage
from xmltools.formats.robotlab.messages import (
    TextMessage,
    ToolCallMessage,
    ToolMessage,
    ToolResultMessage,
    UserMessage,
)
from xmltools.formats.robotlab.providers import (
    Provider,
    anthropic_tool_call,
    openai_tool_call,
    provider,
    system_prompt,
    to_anthropic,
    to_gemini,
    to_openai,
)
from xmltools.formats.robotlab.reading import NAME, Reader, read_content, write_content
from xmltools.formats.robotlab.state import State, create_state, format_history
from xmltools.formats.shared.extra import answered, at, completed, kept_for, under
from xmltools.formats.shared.losses import Holds, Report
from xmltools.models import Conversation, Message, ToolCall, ToolResult
from xmltools.models.json_fields import expect

__all__ = [
    "GROUPED",
    "HOLDS",
    "NAME",
    "SPELLING",
    "Provider",
    "RobotLabMessage",
    "State",
    "TextMessage",
    "ToolCallMessage",
    "ToolMessage",
    "ToolResultMessage",
    "UserMessage",
    "anthropic_tool_call",
    "create_state",
    "dump",
    "format_history",
    "load",
    "openai_tool_call",
    "provider",
    "recognise",
    "system_prompt",
    "to_anthropic",
    "to_gemini",
    "to_openai",
]

HOLDS = Holds(order=False, error_flag=True)
"""What a conversation in this format can say."""
SPELLING = frozenset(("arguments", "content", "stop_reason", "tool"))
"""Keys of its `extra` that only say how something was spelled."""
GROUPED = False
"""Each result stands in a message of its own."""


def load(obj: Any, report: Report) -> Conversation:
    """Read a list of hashes, or of RobotLab's messages.

    Raises XMLToolsError for what is malformed, with the place and the right form.
    """
    right = 'a list of messages, as in [{"type": "text", "role": "user", "content": "…"}]'
    reader = Reader(report)
    for index, each in enumerate(expect(obj, (list, tuple), NAME, right)):
        with at(f"message {index}: "):
            reader.read(index, each)
    return Conversation(messages=answered(reader.messages))


def dump(conversation: Conversation, report: Report) -> list[dict[str, Any]]:
    """Write a conversation as a list of hashes."""
    writer = _Writer(report)
    for index, message in enumerate(conversation):
        writer.write(index, message)
    return writer.hashes


def recognise(obj: Any) -> bool:
    """Say whether an object bears marks of RobotLab: messages with a role and one of its types."""
    return isinstance(obj, (list, tuple)) and any(_is_marked(each) for each in obj)


def _is_marked(message: Any) -> bool:
    if isinstance(message, RobotLabMessage):
        return True
    if not isinstance(message, Mapping) or "role" not in message:
        return False
    keys = {"text": "content", "tool_call": "tools", "tool_result": "tool"}
    kind = message.get("type")
    return isinstance(kind, str) and keys.get(kind) in message


class _Writer:
    """Writes messages in order, and remembers the inputs of calls for the copies in their results."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.hashes: list[dict[str, Any]] = []
        self.inputs: dict[str, Any] = {}

    def write(self, index: int, message: Message) -> None:
        """Write a message: its text, then its calls, then its results."""
        own = kept_for(message, NAME)
        calls, results = message.calls, message.results
        role = "tool_result" if message.is_tool else message.role
        has_calls = bool(calls) or ("tool_call" in own and not message.parts)
        if message.text or not (has_calls or results):
            self._write_text(role, message, has_calls)
        elif calls and self._would_join(role):
            self.report.add("merged_messages", "these calls are read back as one reply with the text before", index)
        if has_calls:
            self._write_calls(role, message)
        for result in results:
            self._write_result(index, result)

    def _would_join(self, role: str) -> bool:
        last = self.hashes[-1] if self.hashes else {}
        is_open = last.get("type") == "text" and last["role"] == role and last.get("stop_reason") != "stop"
        return is_open and bool(last["content"])

    def _write_text(self, role: str, message: Message, has_calls: bool) -> None:
        own = kept_for(message, NAME)
        reason = own["stop_reason"] if "stop_reason" in own else _reason(message, has_calls)
        written = {"type": "text", "role": role, "content": message.text}
        if reason in ("stop", "tool"):
            written["stop_reason"] = reason
        self.hashes.append(completed(written, under(own, "text")))

    def _write_calls(self, role: str, message: Message) -> None:
        tools = [self._write_call(call) for call in message.calls]
        reason = "stop" if message.is_stopped else "tool"
        written = {"type": "tool_call", "role": role, "tools": tools, "stop_reason": reason}
        self.hashes.append(completed(written, under(kept_for(message, NAME), "tool_call")))

    def _write_call(self, call: ToolCall) -> dict[str, Any]:
        own = kept_for(call, NAME)
        raw = own.pop("arguments", None)
        given = call.arguments if call.arguments or raw is None else raw
        self.inputs[call.id] = given
        return completed({"type": "tool", "id": call.id, "name": call.name, "input": given}, own)

    def _write_result(self, index: int, result: ToolResult) -> None:
        own = kept_for(result, NAME)
        content = write_content(result.text, result.is_error)
        if "content" in own and read_content(own["content"]) == (result.text, result.is_error):
            content = own["content"]
        reason = "stop" if own.get("stop_reason") == "stop" else "tool"
        tool = self._copy(index, result, under(own, "tool"))
        written = {"type": "tool_result", "role": "tool_result", "tool": tool, "content": content}
        self.hashes.append(completed({**written, "stop_reason": reason}, own))

    def _copy(self, index: int, result: ToolResult, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the copy of the call that a result answers."""
        if "input" not in own and result.call_id not in self.inputs:
            self.report.add("orphan_result", f"there is no call {result.call_id!r:.80} to copy the input from", index)
        given = own["input"] if "input" in own else self.inputs.get(result.call_id, {})
        return completed({"type": "tool", "id": result.call_id, "name": result.name, "input": given}, own)


def _reason(message: Message, has_calls: bool) -> str | None:
    """Return the stop_reason of a text: "tool" before calls, as RobotLab's adapters have it."""
    if has_calls:
        return "tool"
    return "stop" if message.is_stopped else "tool" if message.is_tool_stop else None
