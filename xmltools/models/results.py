"""Results of tools; and all that a part of a message may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from xmltools.errors import XMLToolsError
from xmltools.models.foreign_results import langchain_fields, mcp_fields
from xmltools.models.media import Media
from xmltools.models.parts import Reasoning, Text, ToolCall, TypedPart


class ToolResult(TypedPart):
    """What the tool `name` gave back for the call `call_id`: text (or parts), or an error if `is_error`.

    `extra` keeps what only one format knows, under its name.
    """

    call_id: str
    name: str
    content: str | tuple[Text | Media, ...] = ""
    is_error: bool = False
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["result"] = "result"

    @field_validator("content", mode="before")
    @classmethod
    def _is_text(cls, content: object) -> object:
        expected = "expected text, or several Text and Media"
        if isinstance(content, tuple | list):
            for part in content:
                if not isinstance(part, Text | Media | Mapping):
                    got = f"got a list with {type(part).__name__} in it"
                    raise ValueError(f"{expected}, {got}; use json.dumps() for data, and join texts")
        elif isinstance(content, bytes | bytearray):
            raise ValueError(f"{expected}, got {type(content).__name__}; use content.decode(errors='replace')")
        elif not isinstance(content, str):
            raise ValueError(f"{expected}, got {type(content).__name__}; use json.dumps()")
        return content

    @classmethod
    def from_mcp(cls, result: object, call: ToolCall) -> ToolResult:
        """Read what a tool of an MCP server gave back for `call`: the `CallToolResult` of a session, or its JSON.

        Images, sounds and files become `Media`. Raises XMLToolsError for anything else.
        """
        return cls(**mcp_fields(result) | _made_by(call))

    @classmethod
    def from_langchain(cls, message: object, call: ToolCall | None = None) -> ToolResult:
        """Read a `ToolMessage` of LangChain, or its JSON.

        Without `call`, the message has the id, and must have the name of the tool. Images and files become `Media`.
        Raises XMLToolsError for anything else.
        """
        fields = langchain_fields(message)
        if call is not None:
            fields |= _made_by(call)
        if fields["name"] is None:
            raise XMLToolsError("the ToolMessage does not say which tool it is of: give the call")
        return cls(**fields)

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


Part = Annotated[Text | Reasoning | Media | ToolCall | ToolResult, Field(discriminator="type")]
"""What a message is made of; `type` tells the kinds apart in JSON."""


def _made_by(call: object) -> dict[str, str]:
    if not isinstance(call, ToolCall):
        raise XMLToolsError(f"call: expected the xmltools.ToolCall that the result is of, got {type(call).__name__}")
    return {"call_id": call.id, "name": call.name}
