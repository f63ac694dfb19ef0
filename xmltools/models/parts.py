"""What messages are made of: text, reasoning, media, calls and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from xmltools.errors import Repair, XMLToolsError

DEFAULT_SERVER = "local"
"""The server of a tool that names none."""


class Value(BaseModel):
    """The ground of all values: frozen, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class _TypedPart(Value):
    """A part. Its `type` is written also where fields that hold their default are left out: readers need it."""

    @model_serializer(mode="wrap")
    def _with_type(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        written["type"] = self.type  # type: ignore[attr-defined]
        return written


CallStatus = Literal["pending", "running", "completed", "failed"]
"""How far the host has come with a call."""
_NEXT: Mapping[CallStatus, tuple[CallStatus, ...]] = {
    "pending": ("running",),
    "running": ("completed", "failed"),
    "completed": (),
    "failed": (),
}


class ToolCall(_TypedPart):
    """One call of a tool, as a model asked for it.

    `arguments` are typed by the tool's schema where the parser had one, else strings, lists and dicts of strings.
    `repairs` lists what had to be repaired, `span` is the block's place in the text (start and end, in characters).
    `dialect` is the name of that in which it was written, None if it was no markup.
    `status` says how far the host has come with it, `started_at` and `ended_at` when (seconds since 1970). `extra`
    keeps what only one format knows, under its name. Two calls are equal if id, name, server and arguments are.
    """

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    server: str = DEFAULT_SERVER
    repairs: tuple[Repair, ...] = ()
    legacy_json: bool = False
    dialect: str | None = None
    span: tuple[int, int] | None = None
    status: CallStatus = "pending"
    started_at: float | None = None
    ended_at: float | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["call"] = "call"

    @property
    def clean(self) -> bool:
        """True if nothing had to be repaired: the block was well-formed and said exactly this."""
        return not self.repairs

    def with_status(self, status: CallStatus, *, at: float | None = None) -> ToolCall:
        """Return the call one step further: from pending to running, from running to completed or failed.

        `at` is when, in seconds since 1970. Raises XMLToolsError for every other step.
        """
        if status not in _NEXT[self.status]:
            following = " or ".join(_NEXT[self.status]) or "no other status, for it has ended"
            raise XMLToolsError(f"the call {self.id!r:.80} is {self.status}: expected {following}, got {status!r:.40}")
        time = "started_at" if status == "running" else "ended_at"
        return self.model_copy(update={"status": status} if at is None else {"status": status, time: at})

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


class ToolResult(_TypedPart):
    """What the tool `name` gave back for the call `call_id`: text (or parts), or an error if `is_error`.

    `extra` keeps what only one format knows, under its name.
    """

    call_id: str
    name: str
    content: str | tuple[Text | Media, ...] = ""
    is_error: bool = False
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["result"] = "result"

    @property
    def text(self) -> str:
        """The content as text; media are left out. Each of several texts begins on a line of its own."""
        if isinstance(self.content, str):
            return self.content
        joined: list[str] = []
        for part in self.content:
            if isinstance(part, Text) and part.text:
                if joined and not joined[-1].endswith("\n") and not part.text.startswith("\n"):
                    joined.append("\n")
                joined.append(part.text)
        return "".join(joined)


class Text(_TypedPart):
    """Text that is meant to be read."""

    text: str
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["text"] = "text"


class Reasoning(_TypedPart):
    """What a model thought before it spoke. Never a call, never an answer."""

    text: str
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["reasoning"] = "reasoning"


class Media(_TypedPart):
    """An image or another file: its MIME type, and either base64 `data` or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["media"] = "media"


Part = Annotated[Text | Reasoning | Media | ToolCall | ToolResult, Field(discriminator="type")]
"""What a message is made of; `type` tells the kinds apart in JSON."""

ToolResult.model_rebuild()
