"""What messages also hold: results and media; and all that a part of a message may be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from xmltools.models.parts import Reasoning, Text, ToolCall, TypedPart


class Media(TypedPart):
    """An image or another file: its MIME type, and either base64 `data` or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["media"] = "media"


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
