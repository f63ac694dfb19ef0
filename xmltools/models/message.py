"""Messages: one turn, with a role and its parts in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from xmltools.errors import XMLToolsError
from xmltools.models.media import Media
from xmltools.models.parts import Reasoning, Text, ToolCall, Value
from xmltools.models.results import Part, ToolResult

Role = Literal["system", "user", "assistant", "tool"]
"""Who speaks in a message; "tool" is for results."""
Content = str | Iterable[Text | Media | Reasoning | ToolCall | ToolResult]
"""What builders take for the content of a message: text, or parts."""


class Message(Value):
    """One turn: a role and its parts in order.

    `finished` is False while a reply is being written, and for one that was interrupted. `finish_reason` says why it
    ended: `stop`, `length`, `tool_calls`, `content_filter`, `error`, or what else a server says. A reply with calls
    that says nothing ended to call tools, and equals one that says so. `created_at` is in seconds since 1970.
    `metadata` is the host's, `extra` keeps what only one format knows, under its name.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    id: str | None = None
    name: str | None = None
    created_at: float | None = None
    finished: bool = True
    finish_reason: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    extra: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def system(cls, content: Content, **fields: Any) -> Message:
        """Make a system message. Takes text or parts, and the other fields by name."""
        return cls(role="system", parts=parts_of(content), **fields)

    @classmethod
    def user(cls, content: Content, **fields: Any) -> Message:
        """Make a message of the user."""
        return cls(role="user", parts=parts_of(content), **fields)

    @classmethod
    def assistant(
        cls, content: Content = "", calls: ToolCall | Iterable[ToolCall] = (), *, reasoning: str = "", **fields: Any
    ) -> Message:
        """Make a reply: reasoning first, then the content, then the calls, one or several."""
        thought = (Reasoning(text=reasoning),) if reasoning else ()
        calls = (calls,) if isinstance(calls, ToolCall) else calls
        if not isinstance(calls, Iterable):
            raise XMLToolsError(f"calls: expected a ToolCall or a list of them, got {type(calls).__name__}")
        return cls(role="assistant", parts=(*thought, *parts_of(content), *calls), **fields)

    @classmethod
    def tool(
        cls,
        call_id: str | ToolResult,
        name: str = "",
        content: str | tuple[Text | Media, ...] = "",
        *,
        is_error: bool = False,
        **fields: Any,
    ) -> Message:
        """Make a message with the result of one call: a ToolResult, or what is in one."""
        if isinstance(call_id, ToolResult):
            return cls(role="tool", parts=(call_id,), **fields)
        result = ToolResult(call_id=call_id, name=name, content=content, is_error=is_error)
        return cls(role="tool", parts=(result,), **fields)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """The reasoning parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    @property
    def media(self) -> tuple[Media, ...]:
        """The media, in order; those inside results are not among them."""
        return tuple(part for part in self.parts if isinstance(part, Media))

    @property
    def is_system(self) -> bool:
        """True for a system message."""
        return self.role == "system"

    @property
    def is_user(self) -> bool:
        """True for a message of the user."""
        return self.role == "user"

    @property
    def is_assistant(self) -> bool:
        """True for a reply of the model."""
        return self.role == "assistant"

    @property
    def is_tool(self) -> bool:
        """True for a message with results."""
        return self.role == "tool"

    @property
    def is_text(self) -> bool:
        """True if it says something, and holds no call and no result."""
        return not (self.calls or self.results or self.is_empty)

    @property
    def is_tool_call(self) -> bool:
        """True if it calls a tool."""
        return bool(self.calls)

    @property
    def is_tool_result(self) -> bool:
        """True if it holds a result."""
        return bool(self.results)

    @property
    def is_stopped(self) -> bool:
        """True for a reply that ended by itself."""
        return self.finish_reason == "stop"

    @property
    def is_tool_stop(self) -> bool:
        """True for a reply that ended to call tools."""
        return self._end in ("tool", "tool_calls")

    @property
    def is_empty(self) -> bool:
        """True if there is nothing in it: no part but empty text."""
        return all(isinstance(part, (Text, Reasoning)) and not part.text for part in self.parts)

    @property
    def _end(self) -> str | None:
        return "tool_calls" if self.finish_reason is None and self.calls else self.finish_reason

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return {**self.__dict__, "finish_reason": self._end} == {**other.__dict__, "finish_reason": other._end}


def parts_of(content: Content) -> tuple[Any, ...]:
    """Return content as parts: a text as one, none if it is empty."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if not isinstance(content, Iterable):
        raise XMLToolsError(f"content: expected text or a list of parts, got {type(content).__name__}; none is ''")
    return tuple(content)
