"""What Wolo sends to the API and reads from it: messages as OpenAI has them, and the events of a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from xmltools.errors import XMLToolsError
from xmltools.formats._as_written import note_of
from xmltools.formats._base import Report, expect
from xmltools.formats._wolo_dump import find_answers
from xmltools.formats._wolo_fields import NAME, Answer
from xmltools.formats._wolo_load import CallIds, load, read_call
from xmltools.models import Conversation, Message, Part, Reasoning, Text, ToolCall

__all__ = [
    "fold_events",
    "inject_system",
    "llm_tool_call",
    "opencode_headers",
    "rename_agent",
    "to_llm_messages",
]

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
    messages: Conversation | Sequence[Any],
    *,
    system_prompt: str | None = None,
    display_name: str | None = None,
    failed: Choice = "drop",
    pending: Choice = "send",
) -> list[dict[str, Any]]:
    """Return the messages that Wolo sends to the API for a conversation, or for a list of its stored messages.

    `system_prompt` is put in front if there is no system message, with the agent's name replaced by `display_name`.
    Texts of one message are joined by line breaks; empty ones of the assistant, and media, are left out. A reply is
    sent if it has text or calls: the calls behind the text, and the result of each in a message of a tool. `failed`
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


# Streams


def fold_events(events: Iterable[Mapping[str, Any]]) -> Message:
    """Return the reply that the events of a stream make: text-delta, reasoning-delta, tool-call and finish.

    Where text came before a call, an empty text stands between them, as Wolo stores it. Text behind a call is a part
    behind it. Other events are passed over, but after `error` without `finish` that is why the reply ended. Without
    either it is not finished. Raises XMLToolsError for what is no event, with its number.
    """
    folder = _Folder()
    for number, event in enumerate(events):
        folder.event(event, f"event {number}")
    return folder.message()


class _Folder:
    __slots__ = ("_finish", "_ids", "_is_finished", "_parts", "_reasoning", "_texts")

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._texts: list[str] = []
        self._reasoning: list[str] = []
        self._ids = CallIds()
        self._finish: str | None = None
        self._is_finished = False

    def event(self, event: Any, where: str) -> None:
        expect(event, Mapping, where, "an object with a type")
        kind = event.get("type")
        if kind == "text-delta":
            self._texts.append(_string(event, "text", where))
        elif kind == "reasoning-delta":
            self._reasoning.append(_string(event, "text", where))
        elif kind == "tool-call":
            self._call(event, where)
        elif kind == "finish":
            self._finish, self._is_finished = _string(event, "reason", where) or None, True
        elif kind == "error" and not self._is_finished:
            self._finish = "error"

    def _call(self, event: Mapping[str, Any], where: str) -> None:
        if self._flush():
            self._parts.append(Text(text=""))
        part = {"id": event.get("id"), "type": "tool", "tool": event.get("tool"), "input": event.get("input")}
        call, _ = read_call(part, where, 0, Report(), self._ids)
        self._parts.append(call.model_copy(update={"extra": _raw_input(call)}))

    def _flush(self) -> bool:
        text = "".join(self._texts)
        self._texts.clear()
        if text:
            self._parts.append(Text.model_construct(text=text))
        return bool(text)

    def message(self) -> Message:
        self._flush()
        thought = "".join(self._reasoning)
        reasoning = [Reasoning.model_construct(text=thought)] if thought else []
        finished = self._is_finished or self._finish is not None
        parts = (*reasoning, *self._parts)
        return Message.model_construct(role="assistant", parts=parts, finished=finished, finish_reason=self._finish)


def _string(event: Mapping[str, Any], key: str, where: str) -> str:
    value = event.get(key)
    return "" if value is None else str(expect(value, str, f"{where}: {key}", "a string"))


def _raw_input(call: ToolCall) -> dict[str, Any]:
    """Return the `extra` of a call that was streamed: of its spelling only input that says no arguments counts."""
    values = note_of(call.extra, NAME).get("values", {})
    raw = values.get("input")
    return {NAME: {"values": {"input": raw}}} if raw is not None else {}
