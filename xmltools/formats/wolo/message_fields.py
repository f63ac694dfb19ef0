"""The fields of Wolo's messages and parts: which values mean the same, and how a part is written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from xmltools.formats.shared.spelling import Reads
from xmltools.models import CallStatus, Message, ToolCall, ToolResult
from xmltools.syntax.json_reader import JSONError, loads

NAME = "wolo"
"""The name by which the format is asked for."""

STATUSES: Mapping[str, CallStatus] = {
    "pending": "pending",
    "running": "running",
    "completed": "completed",
    "failed": "failed",
    # Later versions have these instead of failed.
    "error": "failed",
    "partial": "failed",
    "interrupted": "failed",
}

RESULT_MESSAGE = "result_message"
"""The key in a tool part's metadata under which stand the id and the time of the message that held its result."""


class Answer(NamedTuple):
    """The result of a call, the message that it stands in, and whether it is the first there."""

    result: ToolResult
    message: Message
    is_first: bool = True


def kind_of(part: Mapping[str, Any]) -> Any:
    """Return the type of a part; one that has none says by its fields what it is."""
    kinds = [kind for kind in ("text", "tool") if kind in part]
    return part.get("type") or (kinds[0] if len(kinds) == 1 else part.get("type"))


def status_of(raw: Any) -> CallStatus:
    """Return what a status means. One that is not known is no success."""
    if raw is None:
        return "pending"
    return STATUSES.get(raw, "failed") if isinstance(raw, str) else "failed"


def seconds(raw: Any) -> float:
    """Return a time as a number; 0.0 means that it is not known."""
    try:
        return float(raw) if isinstance(raw, (int, float)) else 0.0
    except OverflowError:
        return math.inf


def arguments_of(raw: Any) -> dict[str, Any] | None:
    """Return the arguments that an input says; None if it says none. Some clients store the JSON text."""
    if raw is None:
        return {}
    if isinstance(raw, str):
        try:
            raw, _ = loads(raw)
        except JSONError:
            return None
    return raw if isinstance(raw, dict) else None


def text_id(message: str | int, part: int) -> str:
    """Return the id of a text part that has none: by its place in a message, which is named by its id or number."""
    return f"text_{message}_{part}"


# What values mean. Where a message of ours has no such field, all values do.


def _text(raw: Any) -> str:
    return raw if isinstance(raw, str) else ""


def _metadata(raw: Any) -> dict[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _itself(raw: Any) -> Any:
    return raw


def _nothing(raw: Any) -> None:
    return None


CONVERSATION: Reads = {"messages": _itself, "metadata": _metadata}
MESSAGE: Reads = {
    "id": _itself,
    "role": _itself,
    "parts": _itself,
    "timestamp": lambda raw: None if raw is None else seconds(raw),
    "finished": lambda raw: raw is not False,
    "finish_reason": _text,
    "reasoning_content": _text,
    "metadata": _metadata,
}
TEXT_PART: Reads = {"id": _nothing, "type": lambda raw: raw or "text", "text": _text}
_TOOL_PART: Reads = {
    "id": _nothing,
    "type": lambda raw: raw or "tool",
    "tool": _text,
    "input": lambda raw: arguments_of(raw) or {},
    "output": _text,
    "status": status_of,
    "start_time": seconds,
    "end_time": seconds,
    "metadata": _metadata,
}
_OPEN_TOOL_PART: Reads = {**_TOOL_PART, "output": _nothing, "metadata": _nothing}


def tool_part_reads(answer: Answer | None) -> Reads:
    """Return what values of a tool part mean. Without a result there is no other place for output and metadata."""
    return _OPEN_TOOL_PART if answer is None else _TOOL_PART


# Records, as they are written if nothing is known of another spelling


def message_record(message: Message) -> dict[str, Any]:
    """Return a message; its parts are still to come. An id and a time that are not known are left out."""
    return {
        **({"id": message.id} if message.id is not None else {}),
        "role": message.role,
        "parts": [],
        **({"timestamp": message.created_at} if message.created_at is not None else {}),
        "finished": message.finished,
        "finish_reason": message.finish_reason or "",
        "reasoning_content": message.reasoning,
        "metadata": message.metadata,
    }


def tool_part_record(call: ToolCall, answer: Answer | None) -> dict[str, Any]:
    """Return a tool part for a call and its result."""
    metadata = _answer_metadata(answer) if answer else {}
    return {
        "id": call.id,
        "type": "tool",
        "tool": call.name,
        "input": call.arguments,
        "output": answer.result.text if answer else "",
        "status": _answer_status(answer) if answer else call.status,
        "start_time": call.started_at or 0.0,
        "end_time": call.ended_at or 0.0,
        **({"metadata": metadata} if metadata else {}),
    }


def _answer_status(answer: Answer) -> CallStatus:
    return "failed" if answer.result.is_error else "completed"


def _answer_metadata(answer: Answer) -> dict[str, Any]:
    message = answer.message
    about: dict[str, Any] = {}
    if message.id is not None and answer.is_first:
        about["id"] = message.id
    if message.created_at is not None:
        about["timestamp"] = message.created_at
    return {**message.metadata, RESULT_MESSAGE: about} if about else message.metadata
