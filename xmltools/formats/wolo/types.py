"""The types of what Wolo stores, for who reads and writes it as dicts."""

# No annotations from the future: `Required` is looked at when the class is made.
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Required, TypeAlias, TypedDict

from xmltools.models import CallStatus

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class TextPart(TypedDict, total=False):
    """A text in a message."""

    id: str
    type: Literal["text"]
    text: str


class ToolPart(TypedDict, total=False):
    """A call in a message and, once it has ended, its result. Times are seconds since 1970, 0.0 if not known."""

    id: str
    type: Literal["tool"]
    tool: Required[str]
    input: dict[str, Any]
    output: str
    status: CallStatus
    start_time: float
    end_time: float
    metadata: dict[str, Any]


Part: TypeAlias = TextPart | ToolPart
"""What a message is made of."""


class Message(TypedDict, total=False):
    """A message. `timestamp` is in seconds since 1970; `finish_reason` is "stop", "length" or "tool_calls"."""

    id: str
    role: Required[Literal["user", "assistant", "system"]]
    parts: Required[list[Part]]
    timestamp: float
    finished: bool
    finish_reason: str
    reasoning_content: str
    metadata: dict[str, Any]


Stored: TypeAlias = "Message | Mapping[str, Any] | DataclassInstance"
"""A message as Wolo stores it: a dict, or a dataclass with these fields."""
