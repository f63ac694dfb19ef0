"""The messages of RobotLab as values: text, calls of tools, results, and the hashes that they are written as.

The wording of the errors is RobotLab's own, so that both sides say the same of the same mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.extra import compact

_TYPES = ("text", "tool_call", "tool_result")
_ROLES = ("system", "user", "assistant", "tool_result")
_STOP_REASONS = ("tool", "stop")


@dataclass(frozen=True, kw_only=True)
class Message:
    """The ground of all messages: a role, content, and why it ended ("stop", "tool", or None).

    Raises XMLToolsError for other roles and reasons.
    """

    type: ClassVar[str] = "text"

    role: str
    content: Any = None
    stop_reason: str | None = None

    def __post_init__(self) -> None:
        _check("role", self.role, _ROLES)
        if self.stop_reason is not None:
            _check("stop_reason", self.stop_reason, _STOP_REASONS)

    @staticmethod
    def from_hash(value: Any = None, /, **fields: Any) -> Message:
        """Return the message that a hash, or fields by name, describe; a Message as it is.

        Without a type it is text; of the type "tool" it is a ToolMessage. Raises XMLToolsError for a hash of no
        message.
        """
        if isinstance(value, Message):
            return value
        if value is None and fields:
            value = fields
        if not isinstance(value, Mapping):
            raise XMLToolsError("Invalid message: must be Message or Hash")
        kind = value.get("type", "text")
        if kind == ToolMessage.type:
            return ToolMessage.from_hash(value)
        _check("message type", kind, _TYPES)
        return _CLASSES[kind]._read(value)

    @classmethod
    def _read(cls, value: Mapping[str, Any]) -> Message:
        return cls(role=value.get("role", ""), content=value.get("content"), stop_reason=value.get("stop_reason"))

    @property
    def is_text(self) -> bool:
        """True for a TextMessage."""
        return self.type == "text"

    @property
    def is_tool_call(self) -> bool:
        """True for a ToolCallMessage."""
        return self.type == "tool_call"

    @property
    def is_tool_result(self) -> bool:
        """True for a ToolResultMessage."""
        return self.type == "tool_result"

    @property
    def is_user(self) -> bool:
        """True for a message of the user."""
        return self.role == "user"

    @property
    def is_assistant(self) -> bool:
        """True for a message of the assistant."""
        return self.role == "assistant"

    @property
    def is_system(self) -> bool:
        """True for a system message."""
        return self.role == "system"

    @property
    def stopped(self) -> bool:
        """True if the reply was done."""
        return self.stop_reason == "stop"

    @property
    def tool_stop(self) -> bool:
        """True if the reply ended to call tools."""
        return self.stop_reason == "tool"

    @property
    def is_stopped(self) -> bool:
        """The same as `stopped`, by the name that it has in a conversation of this package."""
        return self.stopped

    @property
    def is_tool_stop(self) -> bool:
        """The same as `tool_stop`."""
        return self.tool_stop

    def to_h(self) -> dict[str, Any]:
        """Return the message as a hash, without what is None."""
        written = {"type": self.type, "role": self.role, "content": self.content, "stop_reason": self.stop_reason}
        return {key: value for key, value in written.items() if value is not None}

    def to_json(self) -> str:
        """Return the message as JSON without white space."""
        return compact(self.to_h())


@dataclass(frozen=True, kw_only=True)
class TextMessage(Message):
    """Text of the system, the user or the assistant."""


@dataclass(frozen=True)
class ToolMessage(Message):
    """One call of a tool: its id, the tool's name and its input, and the ground of the messages about calls.

    The document draws it as a message, so it has all that messages have; it stands in other messages, and is none of a
    conversation by itself: `is_tool_call` is false.
    """

    type: ClassVar[str] = "tool"

    id: str
    name: str
    input: dict[str, Any] = field(default_factory=dict)
    role: str = field(default="assistant", kw_only=True)

    def __post_init__(self) -> None:
        if self.input is None:  # RobotLab takes nil for no input
            object.__setattr__(self, "input", {})
        super().__post_init__()

    def to_h(self) -> dict[str, Any]:
        """Return the call as a hash; its content and stop_reason only if it has them."""
        written = {"content": self.content, "stop_reason": self.stop_reason}
        said = {key: value for key, value in written.items() if value is not None}
        return {"type": self.type, "id": self.id, "name": self.name, "input": self.input, **said}

    @staticmethod
    def from_hash(value: Any = None, /, **fields: Any) -> ToolMessage:
        """Return a call from its hash, or fields by name; a ToolMessage as it is. Its input may be called "arguments".

        Raises XMLToolsError for anything else.
        """
        if isinstance(value, ToolMessage) and value.type == ToolMessage.type:
            return value
        if value is None and fields:
            value = fields
        if not isinstance(value, Mapping):
            raise XMLToolsError("Invalid tool: must be ToolMessage or Hash")
        given = value.get("input")
        given = value.get("arguments") if given is None else given
        return ToolMessage(
            id=value.get("id", ""),
            name=value.get("name", ""),
            input={} if given is None else given,
            role=value.get("role", "assistant"),
            content=value.get("content"),
            stop_reason=value.get("stop_reason"),
        )


@dataclass(frozen=True, kw_only=True)
class ToolCallMessage(ToolMessage):
    """Calls of tools. It has no content: `content` is accepted, and must be None. Its `id`, `name` and `input` are
    those of its first call, and empty if there is none.

    Takes the calls as ToolMessages or hashes. Raises XMLToolsError for anything else.
    """

    type: ClassVar[str] = "tool_call"

    id: str = field(default="", init=False, repr=False, compare=False)
    name: str = field(default="", init=False, repr=False, compare=False)
    input: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    tools: Iterable[ToolMessage | Mapping[str, Any]]

    def __post_init__(self) -> None:
        if self.content is not None:
            raise XMLToolsError(
                "content: expected None in a ToolCallMessage: write its text as a TextMessage before it"
            )
        calls = tuple(map(ToolMessage.from_hash, _listed(self.tools)))
        object.__setattr__(self, "tools", calls)
        _take_over(self, calls[:1])
        object.__setattr__(self, "stop_reason", self.stop_reason or "tool")
        Message.__post_init__(self)

    @classmethod
    def _read(cls, value: Mapping[str, Any]) -> Message:
        return cls(
            role=value.get("role", ""),
            content=value.get("content") or None,  # text is refused, and not dropped; an empty one says nothing
            stop_reason=value.get("stop_reason"),
            tools=value.get("tools", ()),
        )

    # It reads every message, as that of Message does: only ToolMessage's own reads calls alone.
    from_hash = staticmethod(Message.from_hash)  # type: ignore[assignment]

    @property
    def calls(self) -> tuple[ToolMessage, ...]:
        """The calls, in order."""
        return tuple(map(ToolMessage.from_hash, self.tools))

    def to_h(self) -> dict[str, Any]:
        """Return the message as a hash."""
        calls = [call.to_h() for call in self.calls]
        return {"type": self.type, "role": self.role, "tools": calls, "stop_reason": self.stop_reason}


@dataclass(frozen=True, kw_only=True)
class ToolResultMessage(ToolMessage):
    """What a tool gave back: the call, and `content`, which is {"data": …} or {"error": …}. Its `id`, `name` and
    `input` are those of the call.

    Takes the call as a ToolMessage or a hash. Raises XMLToolsError for anything else.
    """

    type: ClassVar[str] = "tool_result"

    id: str = field(default="", init=False, repr=False, compare=False)
    name: str = field(default="", init=False, repr=False, compare=False)
    input: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    role: str = "tool_result"
    tool: ToolMessage | Mapping[str, Any]

    def __post_init__(self) -> None:
        call = ToolMessage.from_hash(self.tool)
        object.__setattr__(self, "tool", call)
        _take_over(self, (call,))
        object.__setattr__(self, "stop_reason", self.stop_reason or "tool")
        Message.__post_init__(self)

    @classmethod
    def _read(cls, value: Mapping[str, Any]) -> Message:
        return cls(tool=value.get("tool", ()), content=value.get("content"), stop_reason=value.get("stop_reason"))

    # It reads every message, as that of Message does: only ToolMessage's own reads calls alone.
    from_hash = staticmethod(Message.from_hash)  # type: ignore[assignment]

    @property
    def call(self) -> ToolMessage:
        """The call that this is the result of."""
        return ToolMessage.from_hash(self.tool)

    @property
    def is_success(self) -> bool:
        """True if the content has data."""
        return isinstance(self.content, Mapping) and "data" in self.content

    @property
    def is_error(self) -> bool:
        """True if the content has an error."""
        return isinstance(self.content, Mapping) and "error" in self.content

    @property
    def data(self) -> Any:
        """The data, None if there are none."""
        return self.content["data"] if self.is_success else None

    @property
    def error(self) -> Any:
        """The error, None if there is none."""
        return self.content["error"] if self.is_error else None

    def to_h(self) -> dict[str, Any]:
        """Return the message as a hash."""
        return {
            "type": self.type,
            "role": self.role,
            "tool": self.call.to_h(),
            "content": self.content,
            "stop_reason": self.stop_reason,
        }


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user said, and in which thread. `session_id` is the newer name of `thread_id`."""

    content: str
    thread_id: str | None = None
    session_id: str | None = None

    def to_message(self) -> TextMessage:
        """Return it as a message of a conversation."""
        return TextMessage(role="user", content=self.content)


_CLASSES: dict[str, type[Message]] = {
    "text": TextMessage,
    "tool_call": ToolCallMessage,
    "tool_result": ToolResultMessage,
}


def spoken(value: Any) -> Message:
    """Return the message of a conversation that a hash describes, or a Message as it is. A call by itself is none.

    Raises XMLToolsError for what is none.
    """
    message = Message.from_hash(value)
    if message.type == ToolMessage.type:
        raise XMLToolsError("Invalid message: a ToolMessage stands in a ToolCallMessage, and not by itself")
    return message


def check_fields(value: Mapping[str, Any]) -> None:
    """Raise XMLToolsError if the type, the role or the stop_reason of a hash is none that RobotLab knows."""
    _check("message type", value.get("type"), _TYPES)
    _check("role", value.get("role"), _ROLES)
    if value.get("stop_reason") is not None:
        _check("stop_reason", value["stop_reason"], _STOP_REASONS)


def _check(what: str, value: Any, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise XMLToolsError(f"Invalid {what}: {str(value)[:80]}. Must be one of: {', '.join(allowed)}")


def _take_over(message: ToolMessage, calls: Iterable[ToolMessage]) -> None:
    """Give a message the id, the name and the input of its call."""
    for call in calls:
        for key in ("id", "name", "input"):
            object.__setattr__(message, key, getattr(call, key))


def _listed(tools: Any) -> list[Any]:
    if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
        raise XMLToolsError(f"tools: expected a list of calls, got {type(tools).__name__}")
    return list(tools)
