"""Values: tool calls, results, replies and conversations. Immutable, comparable, JSON in and out (pydantic)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from xmltools.errors import CallError, Repair

__all__ = [
    "Conversation",
    "Media",
    "Message",
    "Reasoning",
    "Reply",
    "Text",
    "ToolCall",
    "ToolResult",
]

DEFAULT_SERVER = "local"


class _Value(BaseModel):
    """The ground of all values: frozen, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class ToolCall(_Value):
    """One call of a tool, as a model asked for it.

    `arguments` are typed by the tool's schema where the parser had one, else strings, lists and dicts of strings.
    `repairs` lists what had to be mended in the text, `span` is the block's place in it (start and end, in characters).
    Two calls are equal if id, name, server and arguments are.
    """

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    server: str = DEFAULT_SERVER
    repairs: tuple[Repair, ...] = ()
    legacy_json: bool = False
    span: tuple[int, int] | None = None
    type: Literal["call"] = "call"

    @property
    def clean(self) -> bool:
        """True if nothing had to be mended: the block was well-formed and said exactly this."""
        return not self.repairs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolCall):
            return NotImplemented
        return (self.id, self.name, self.server, self.arguments) == (
            other.id,
            other.name,
            other.server,
            other.arguments,
        )

    def __hash__(self) -> int:
        return hash((self.id, self.name, self.server))


class ToolResult(_Value):
    """What a tool gave back for the call `call_id`: text (or parts), or an error."""

    call_id: str
    name: str
    content: str | tuple[Text | Media, ...] = ""
    is_error: bool = False
    type: Literal["result"] = "result"


class Text(_Value):
    """Text that is meant to be read."""

    text: str
    type: Literal["text"] = "text"


class Reasoning(_Value):
    """What a model thought before it spoke. Never a call, never an answer."""

    text: str
    type: Literal["reasoning"] = "reasoning"


class Media(_Value):
    """An image or another file: its MIME type, and either base64 `data` or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None
    type: Literal["media"] = "media"


Part = Annotated[Text | Reasoning | Media | ToolCall | ToolResult, Field(discriminator="type")]
Role = Literal["system", "user", "assistant", "tool"]


class Message(_Value):
    """One turn: a role and its parts in order. `extra` keeps what only one format knows."""

    role: Role
    parts: tuple[Part, ...] = ()
    extra: dict[str, Any] = Field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class Conversation(_Value):
    """Messages in order."""

    messages: tuple[Message, ...] = ()
    extra: dict[str, Any] = Field(default_factory=dict)


class Reply(_Value):
    """One model reply, parsed: text, reasoning, calls and errors in the order in which they stood in it.

    `unclosed_reasoning` says that the reply ended inside a reasoning region.
    """

    parts: tuple[Text | Reasoning | ToolCall | CallError, ...] = ()
    unclosed_reasoning: bool = False

    @property
    def text(self) -> str:
        """The reply without its blocks and reasoning regions, white space untouched."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """The content of the reasoning regions, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def errors(self) -> Sequence[CallError]:
        """The blocks that gave no call, in order."""
        return tuple(part for part in self.parts if isinstance(part, CallError))


ToolResult.model_rebuild()
