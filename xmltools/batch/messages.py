"""Chat messages in a row: which of them the assistant wrote, and what their text is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from xmltools.errors import XMLToolsError

__all__ = ["replies_in"]

_RIGHT = 'a list of messages, [{"role": "assistant", "content": "…"}], or its JSON'


def replies_in(value: Any) -> list[tuple[int, str]]:
    """Return the texts of the assistant's messages in a row's value, each with the index of its message.

    The value is a list of messages, an object with one under "messages", or the JSON of either. A content is text, null
    (no text), or a list of parts, whose texts are joined. Raises `XMLToolsError` for anything else.
    """
    if isinstance(value, str):
        value = _load(value)
    if isinstance(value, Mapping) and "messages" in value:
        value = value["messages"]
    if not isinstance(value, (list, tuple)):
        raise XMLToolsError(f"expected {_RIGHT}, got {type(value).__name__}")
    return list(_replies(value))


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise XMLToolsError(f"expected {_RIGHT}: {error}") from None


def _replies(messages: list[Any] | tuple[Any, ...]) -> Iterator[tuple[int, str]]:
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise XMLToolsError(f"message {index}: expected an object with a role and a content")
        if message["role"] == "assistant":
            yield index, _text(message.get("content"), index)


def _text(content: Any, index: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise XMLToolsError(f"message {index}: expected a content of text or parts, got {type(content).__name__}")
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "".join(text for text in texts if isinstance(text, str))
