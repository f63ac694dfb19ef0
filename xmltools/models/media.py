"""Images and other files."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from xmltools.models.parts import TypedPart


class Media(TypedPart):
    """An image or another file: its MIME type, and either base64 `data` or a `url`."""

    media_type: str
    data: str | None = None
    url: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    type: Literal["media"] = "media"
