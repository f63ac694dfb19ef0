"""Files in the results of tools, for chat completions: a tool's message holds text only, so they go into a message of
the user after the results of the turn, and are found there again.

    {"role": "tool", "tool_call_id": "c1", "content": "(see attached image)"}
    {"role": "user", "content": [{"type": "text", "text": "Attached image(s) from tool result:"}, …]}

If the turn has several results, the text names the id of the call. These are the words that Clawtools sends. A result
whose own text is "(see attached image)" has it in a list of parts: as a string it is ours, and is taken away again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xmltools.models import Media, Message, Part, Text, ToolResult

AS_PARTS = {"as": "parts"}
"""What is kept of a content that is a list of plain texts."""


def label(result: ToolResult, media: Sequence[Media], alone: bool) -> str:
    """Return the text before the files of a result; `alone` says that the turn has no other result."""
    whose = "" if alone else f" {result.call_id}"
    return f"Attached {_kind(media)}(s) from tool result{whose}:"


def placeholder(media: Sequence[Media]) -> str:
    """Return the content of a result that has files and no text."""
    return f"(see attached {_kind(media)})"


def _kind(media: Sequence[Media]) -> str:
    return "image" if all(medium.media_type.startswith("image/") for medium in media) else "file"


def with_attached(messages: Sequence[Message]) -> list[Message]:
    """Return messages with the files that were attached after the results back in these."""
    found: list[Message] = []
    for message in messages:
        start = len(found)
        while start and found[start - 1].is_tool:
            start -= 1
        filled = _filled(found[start:], message) if message.is_user and start < len(found) else None
        if filled is None:
            found.append(message)
        else:
            found[start:] = filled
    return found


def _filled(turn: list[Message], message: Message) -> list[Message] | None:
    """Return the results of a turn with the files in the user's message after it, None if these are the user's own."""
    if message.extra or message.name is not None:
        return None
    left = list(_sections(message.parts))
    filled = []
    for each in turn:
        result = each.results[0]
        if left and left[0][0] == label(result, left[0][1], len(turn) == 1):
            media = left.pop(0)[1]
            content = _with_media(result, media)
            if content is None:
                return None
            extra = _without_form(result.extra) if result.text == placeholder(media) else result.extra
            filled_result = result.model_copy(update={"content": content, "extra": extra})
            each = each.model_copy(update={"parts": (filled_result,)})
        filled.append(each)
    return None if left or filled == turn else filled


def _sections(parts: Sequence[Part]) -> Iterator[tuple[str, list[Media]]]:
    """Yield each text with the files after it; "" for what is no such section."""
    section: tuple[str, list[Media]] | None = None
    for part in parts:
        if isinstance(part, Media) and section is not None:
            section[1].append(part)
            continue
        if section is not None:
            yield section
        section = (part.text if isinstance(part, Text) and not part.extra else "", [])
    if section is not None:
        yield section


def _with_media(result: ToolResult, media: list[Media]) -> tuple[Text | Media, ...] | None:
    """Return the content of a result with its files, None if there are none, or if it has some already."""
    if not media:
        return None
    if isinstance(result.content, str):
        return (*(() if result.content == placeholder(media) else (Text(text=result.content),)), *media)
    return None if any(isinstance(part, Media) for part in result.content) else (*result.content, *media)


def _without_form(extra: dict[str, Any]) -> dict[str, Any]:
    """Return an extra without what it keeps of a list that was only written to tell a text from ours."""
    return {} if extra == {"openai": {"content": AS_PARTS}} else extra
