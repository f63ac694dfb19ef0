"""Writing contents of the Gemini API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from xmltools.formats.gemini.reading import FROM_URL_SAFE, NAME, content_of_response
from xmltools.formats.shared.api_messages import BlockWriter, Object
from xmltools.formats.shared.extra import completed, kept_for, rest, under
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult

_TO_URL_SAFE = {new: old for old, new in FROM_URL_SAFE.items()}


class Writer(BlockWriter):
    """Writes messages one after the other. `ids` is that of `dump`."""

    name = NAME
    key = "parts"
    roles: ClassVar = {"assistant": "model", "tool": "user"}
    kinds: ClassVar = {**BlockWriter.kinds, "assistant": (Text, Reasoning, Media, ToolCall)}

    def __init__(self, report: Report, ids: bool) -> None:
        super().__init__(report)
        self.ids = ids

    def system(self, messages: Sequence[tuple[int, Message]]) -> Any:
        """Return the system instruction, None if there is no text in it."""
        parts = [part for index, message in messages for part in self.blocks(index, message)]
        own = self.kept(messages[0][1]) if messages else {}
        if not parts:
            return None
        if own.get("instruction") == "text" and len(parts) == 1:
            return parts[0].get("text")
        role = {"role": own["role"]} if own.get("role") is not None else {}
        return {**role, "parts": parts, **rest(own, ("role", "parts", "instruction"))}

    def block(self, part: Part) -> Object | None:
        """Write a part; None if it says nothing, or was reported."""
        own = self.kept(part)
        match part:
            case ToolCall():
                return completed({"functionCall": self._call(part, under(own, "functionCall"))}, own)
            case ToolResult():
                return completed({"functionResponse": self._result(part, under(own, "functionResponse"))}, own)
            case Media():
                return self._file(part, own)
            case Reasoning():
                return completed({"thought": True, "text": part.text}, own) if part.text or own else None
        return completed({"text": part.text}, own) if part.text or own else None

    def _call(self, call: ToolCall, spelled: Mapping[str, Any]) -> Object:
        written: Object = {"id": call.id} if says_id(call, self.ids) else {}
        written["name"] = call.name
        if call.arguments or "args" not in spelled:
            written["args"] = dict(call.arguments)
        return completed(written, rest(spelled, ("id", "args")))

    def _result(self, result: ToolResult, spelled: Object) -> Object:
        written: Object = {"id": result.call_id} if says_id(result, self.ids) else {}
        written |= {"name": result.name, **_response(result, spelled)}
        media = [] if isinstance(result.content, str) else [each for each in result.content if isinstance(each, Media)]
        if media and _is_text_behind(result.content):
            self.add("order", f"{NAME} has the text of a result before its files")
        if parts := self.listed(media, {"others": spelled.get("parts")}):
            written["parts"] = parts
        return completed(written, rest(spelled, ("id", "response", "parts")))

    def _file(self, medium: Media, own: Object) -> Object | None:
        if medium.data is None and medium.url is None:
            self.add("unsupported_media", "a file without data and URL is left out")
            return None
        key = "fileData" if medium.data is None else "inlineData"
        spelled = under(own, key)
        file: Object = {} if "mimeType" in spelled else {"mimeType": medium.media_type}
        if medium.data is None:
            file["fileUri"] = medium.url
        else:
            file["data"] = medium.data.translate(_TO_URL_SAFE) if "data" in spelled else medium.data
        return completed({key: completed(file, rest(spelled, ("mimeType",)))}, own)


def says_id(part: ToolCall | ToolResult, ids: bool) -> bool:
    """Return whether a call or a result is written with its id: it was read with one, or `ids` asks for them."""
    key = "functionCall" if isinstance(part, ToolCall) else "functionResponse"
    return ids or under(kept_for(part, NAME), key).get("id") is True


def _response(result: ToolResult, spelled: Mapping[str, Any]) -> Object:
    """Return {"response": …}: as it was read, if that says the same; nothing if there was none."""
    if "response" in spelled:
        before = spelled["response"]
        if content_of_response(before or {}) == (result.text, result.is_error):
            return {} if before is None else {"response": before}
    return {"response": {"error" if result.is_error else "output": result.text}}


def _is_text_behind(content: Iterable[Any]) -> bool:
    kinds = [isinstance(part, Media) for part in content]
    return kinds != sorted(kinds)
