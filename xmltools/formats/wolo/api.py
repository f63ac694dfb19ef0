"""What Wolo sends to the API: messages as OpenAI has them, and headers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.losses import Report
from xmltools.formats.shared.spelling import note_of
from xmltools.formats.wolo.message_fields import NAME, Answer
from xmltools.formats.wolo.reading import load
from xmltools.formats.wolo.types import Stored
from xmltools.formats.wolo.writing import find_answers
from xmltools.models import Conversation, Message, Text, ToolCall

_AGENT = re.compile(r"\b[Ww]olo\b")
_NO_OUTPUT = {
    "completed": "Tool completed",
    "partial": "Tool completed",
    "failed": "Tool execution failed",
    "interrupted": "[Tool execution interrupted by user]",
}
"""What is sent for a call whose output is empty, by its status."""

Choice = Literal["send", "drop"]


def to_llm_messages(
    messages: Conversation | Sequence[Stored],
    *,
    system_prompt: str | None = None,
    display_name: str | None = None,
    failed: Choice = "drop",
    pending: Choice = "send",
) -> list[dict[str, Any]]:
    """Return the messages that Wolo sends to the API for a conversation, or for a list of its stored messages.

    `system_prompt` is put in front if there is no system message, with the agent's name replaced by `display_name`.
    Texts of one message are joined by line breaks; empty ones of the assistant, and media, are left out. A reply is
    sent if it has text or calls: the calls after the text, and the result of each in a message of a tool. `failed`
    says whether calls that failed are sent with their error, `pending` whether those are that have no result yet.

    Raises XMLToolsError for options that are none of these, and for what `load` refuses.
    """
    for name, choice in (("failed", failed), ("pending", pending)):
        if choice not in ("send", "drop"):
            raise XMLToolsError(f"{name}: expected 'send' or 'drop', got {choice!r:.40}")
    conversation = messages if isinstance(messages, Conversation) else load(messages, Report())
    sent = _Sender(conversation, drops={"failed": failed == "drop", "pending": pending == "drop"}).messages()
    return inject_system(sent, rename_agent(system_prompt, display_name) if system_prompt else None)


class _Sender:
    __slots__ = ("_answers", "_conversation", "_drops")

    def __init__(self, conversation: Conversation, drops: Mapping[str, bool]) -> None:
        self._conversation = conversation
        self._answers = find_answers(conversation.messages, Report())
        self._drops = drops

    def messages(self) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []
        for index, message in enumerate(self._conversation.messages):
            if message.role == "assistant":
                sent += self._reply(index, message)
            elif message.role != "tool":
                sent.append({"role": message.role, "content": "\n".join(_texts(message))})
        return sent

    def _reply(self, index: int, message: Message) -> list[dict[str, Any]]:
        pairs = [
            (part, self._answers.get((index, place)))
            for place, part in enumerate(message.parts)
            if isinstance(part, ToolCall)
        ]
        sent = [pair for pair in pairs if not self._drops.get(_state(*pair), False)]
        text = "\n".join(filter(None, _texts(message)))
        if not text and not sent:
            return []
        reply: dict[str, Any] = {"role": "assistant"}
        if text:
            reply["content"] = text
        if sent:
            reply["tool_calls"] = [llm_tool_call(call) for call, _ in sent]
        if message.reasoning:
            reply["reasoning_content"] = message.reasoning
        return [reply, *(_result(*pair) for pair in sent if _state(*pair) != "pending")]


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text)]


def _state(call: ToolCall, answer: Answer | None) -> str:
    """Return pending, completed or failed. A running call is pending here."""
    if answer is not None:
        return "failed" if answer.result.is_error else "completed"
    return "pending" if call.status == "running" else call.status


def _result(call: ToolCall, answer: Answer | None) -> dict[str, Any]:
    output = answer.result.text if answer else ""
    return {"role": "tool", "tool_call_id": call.id, "content": output or _no_output(call, answer)}


def _no_output(call: ToolCall, answer: Answer | None) -> str:
    state = _state(call, answer)
    values = note_of(call.extra, NAME).get("values")
    stored = values.get("status") if isinstance(values, dict) and state == "failed" else None
    return _NO_OUTPUT.get(stored, _NO_OUTPUT[state]) if isinstance(stored, str) else _NO_OUTPUT[state]


def llm_tool_call(call: ToolCall) -> dict[str, Any]:
    """Return a call as it stands in `tool_calls`: its arguments are JSON text as `json.dumps` writes it."""
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def inject_system(messages: Iterable[dict[str, Any]], system_prompt: str | None) -> list[dict[str, Any]]:
    """Return messages for the API with the prompt in front, if there is one, and no system message yet."""
    listed = list(messages)
    if not system_prompt or any(message.get("role") == "system" for message in listed):
        return listed
    return [{"role": "system", "content": system_prompt}, *listed]


def rename_agent(text: str, name: str | None) -> str:
    """Return a text with another name for the agent: for each word Wolo, and in small letters for wolo."""
    if not name:
        return text
    return _AGENT.sub(lambda found: name if found[0] == "Wolo" else name.lower(), text)


def opencode_headers(project: str, session: str) -> dict[str, str]:
    """Return the headers that Wolo sends along with a request, for a project and a session."""
    return {
        "User-Agent": "opencode/1.0.0 (Linux x86_64)",
        "x-opencode-project": project,
        "x-opencode-session": session,
        "x-opencode-request": "user",
        "x-opencode-client": "cli",
    }
