"""Clawtools' messages and the blocks in them, as types: what `load` takes and `dump` writes, for type checkers and
pydantic. Blocks of other types are kept by `load` all the same."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic refuses that of `typing` before Python 3.12


class TextBlock(TypedDict):
    """Text, in any message."""

    type: Literal["text"]
    text: str


class ImageUrl(TypedDict):
    """Where an image is: a URL, or a `data:` URL."""

    url: str


class ImageUrlBlock(TypedDict):
    """An image of the user."""

    type: Literal["image_url"]
    image_url: ImageUrl


class ImageBlock(TypedDict):
    """An image in a result: base64 data and its MIME type."""

    type: Literal["image"]
    data: str
    mimeType: str


class ToolCallBlock(TypedDict):
    """A call of a tool."""

    type: Literal["toolCall"]
    id: str
    name: str
    arguments: dict[str, Any]


class ThinkingBlock(TypedDict):
    """Reasoning. The document does not name it, Clawtools' providers send it."""

    type: Literal["thinking"]
    thinking: str
    thinkingSignature: NotRequired[str]


class UserMessage(TypedDict):
    """What the user says: text, or blocks."""

    role: Literal["user"]
    content: str | list[TextBlock | ImageUrlBlock]


class AssistantMessage(TypedDict):
    """What the model says: text, nothing, or blocks, with calls among them."""

    role: Literal["assistant"]
    content: str | list[TextBlock | ThinkingBlock | ToolCallBlock] | None


class ToolResultMessage(TypedDict):
    """The result of a call. `details` are passed through, and not shown to the model."""

    role: Literal["toolResult"]
    toolCallId: str
    toolName: str
    content: list[TextBlock | ImageBlock]
    isError: bool
    details: NotRequired[Any]


ConversationMessage = UserMessage | AssistantMessage | ToolResultMessage
"""A message of a conversation."""
