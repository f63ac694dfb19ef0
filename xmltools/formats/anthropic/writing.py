"""Writing messages of Anthropic's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xmltools.formats.anthropic.reading import NAME, URL_TYPES
from xmltools.formats.shared.api_messages import BlockWriter, Object
from xmltools.formats.shared.extra import completed, rest, under
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult


class Writer(BlockWriter):
    """Writes messages one after the other. `unsigned` is that of `dump`."""

    name = NAME
    key = "content"

    def __init__(self, report: Report, unsigned: str) -> None:
        super().__init__(report)
        self.drops_unsigned = unsigned == "drop"

    def system(self, messages: Sequence[tuple[int, Message]]) -> Any:
        """Return the system prompt, None if there is no text in it."""
        blocks = [block for index, message in messages for block in self.blocks(index, message)]
        return self.content(messages[0][1], blocks) if blocks else None

    def content(self, message: Message, blocks: list[Object]) -> Any:
        """Return one text as a string, unless it was read from a list, and else the blocks."""
        is_one_text = len(blocks) == 1 and blocks[0].get("type") == "text" and set(blocks[0]) == {"type", "text"}
        is_string = is_one_text and under(self.kept(message), "content").get("as") != "blocks"
        return blocks[0]["text"] if is_string else blocks

    def block(self, part: Part) -> Object | None:
        """Write a part; None if it says nothing, or was reported."""
        own = self.kept(part)
        match part:
            case ToolCall():
                written = {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.arguments)}
                return completed(written, rest(own, ("arguments",)))
            case ToolResult():
                return self._result(part, own)
            case Reasoning():
                return self._thinking(part, own)
            case Text():
                return completed({"type": "text", "text": part.text}, own) if part.text else None
        return self._file(part, own)

    def _thinking(self, part: Reasoning, own: Object) -> Object | None:
        if not own.get("signature"):
            if self.drops_unsigned and part.text:
                self.add("unsigned_reasoning", "reasoning without a signature is left out, as asked")
            if self.drops_unsigned or not part.text:
                return None
        return completed({"type": "thinking", "thinking": part.text, "signature": own.get("signature") or ""}, own)

    def _file(self, part: Media, own: Object) -> Object | None:
        kind = "image" if part.media_type.startswith("image/") else "document"
        if not (part.data or part.url) or (kind == "document" and part.media_type != URL_TYPES[kind]):
            what = part.media_type if part.data or part.url else "without data and URL"
            self.add("unsupported_media", f"{NAME} takes no file {what!r:.80}: it is left out")
            return None
        source: Object
        if part.data is not None:
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        else:
            source = {"type": "url", "url": part.url}
            self.tell_type(part, URL_TYPES[kind])
        return completed({"type": kind, "source": completed(source, under(own, "source"))}, own)

    def _result(self, result: ToolResult, own: Object) -> Object:
        written = {"type": "tool_result", "tool_use_id": result.call_id, **self._result_content(result, own)}
        if result.is_error or own.get("is_error") is False:
            written["is_error"] = result.is_error
        return completed(written, rest(own, ("content", "is_error")))

    def _result_content(self, result: ToolResult, own: Object) -> Object:
        spelled = under(own, "content")
        if result.content == "" and spelled.get("as") in ("absent", "null"):
            return {} if spelled["as"] == "absent" else {"content": None}
        if isinstance(result.content, str):
            return {"content": result.content}
        return {"content": self.listed(result.content, spelled)}
