"""Writing contents of the Gemini API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xmltools.formats.gemini.reading import FROM_URL_SAFE, NAME, content_of_response
from xmltools.formats.shared.api_turns import fitting
from xmltools.formats.shared.api_values import insert
from xmltools.formats.shared.extra import completed, kept_for, rest
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult

_Object = dict[str, Any]
_KINDS: dict[str, tuple[type, ...]] = {
    "system": (Text,),
    "user": (Text, Media),
    "assistant": (Text, Reasoning, Media, ToolCall),
    "tool": (ToolResult,),
}
_TO_URL_SAFE = {new: old for old, new in FROM_URL_SAFE.items()}
_ROLES = {"assistant": "model", "tool": "user"}


class Writer:
    """Writes messages one after the other. `ids` is that of `dump`."""

    def __init__(self, report: Report, ids: bool) -> None:
        self.report = report
        self.ids = ids

    def system(self, messages: Sequence[tuple[int, Message]]) -> Any:
        """Return the system instruction, None if there is no text in it."""
        parts = [part for index, message in messages for part in self._parts(index, message)]
        own = kept_for(messages[0][1], NAME) if messages else {}
        if not parts:
            return None
        if own.get("instruction") == "text" and len(parts) == 1:
            return parts[0].get("text")
        role = {"role": own["role"]} if own.get("role") is not None else {}
        return {**role, "parts": parts, **rest(own, ("role", "parts", "instruction"))}

    def contents(self, messages: Iterable[tuple[int, Message]]) -> list[_Object]:
        """Return the contents. Results that follow each other stand in one."""
        contents: list[_Object] = []
        before: Message | None = None
        for index, message in messages:
            parts = self._parts(index, message)
            if not parts:
                self.report.add("empty_message", "the message has nothing in it and is left out", index)
                continue
            own = kept_for(message, NAME)
            joined = _under(own, "parts").get("joined", message.is_tool and before is not None and before.is_tool)
            before = message
            role = _ROLES.get(message.role, message.role)
            if joined and contents and contents[-1].get("role") in (role, "function", None):
                contents[-1]["parts"] += parts
            else:
                contents.append(_content(own.get("role", role), parts, own))
        return contents

    def _parts(self, index: int, message: Message) -> list[_Object]:
        found = fitting(message, index, _KINDS[message.role], self.report)
        written = [part for each in found if (part := self._part(index, each)) is not None]
        return insert(written, _under(kept_for(message, NAME), "parts").get("others"))

    def _part(self, index: int, part: Part) -> _Object | None:
        own = kept_for(part, NAME)
        match part:
            case ToolCall():
                return completed({"functionCall": self._call(part, _under(own, "functionCall"))}, own)
            case ToolResult():
                return completed({"functionResponse": self._result(index, part)}, own)
            case Media():
                return self._file(index, part)
            case Reasoning():
                return completed({"thought": True, "text": part.text}, own) if part.text or own else None
        return completed({"text": part.text}, own) if part.text or own else None

    def _call(self, call: ToolCall, spelled: Mapping[str, Any]) -> _Object:
        written: _Object = {"id": call.id} if says_id(call, self.ids) else {}
        written["name"] = call.name
        if call.arguments or "args" not in spelled:
            written["args"] = dict(call.arguments)
        return completed(written, rest(spelled, ("id", "args")))

    def _result(self, index: int, result: ToolResult) -> _Object:
        spelled = _under(kept_for(result, NAME), "functionResponse")
        written: _Object = {"id": result.call_id} if says_id(result, self.ids) else {}
        written |= {"name": result.name, **_response(result, spelled)}
        media = [] if isinstance(result.content, str) else [each for each in result.content if isinstance(each, Media)]
        if media and _is_text_behind(result.content):
            self.report.add("order", f"{NAME} has the text of a result before its files", index)
        files = [file for each in media if (file := self._file(index, each)) is not None]
        if parts := insert(files, spelled.get("parts")):
            written["parts"] = parts
        return completed(written, rest(spelled, ("id", "response", "parts")))

    def _file(self, index: int, medium: Media) -> _Object | None:
        own = kept_for(medium, NAME)
        if medium.data is None and medium.url is None:
            self.report.add("unsupported_media", "a file without data and URL is left out", index)
            return None
        key = "fileData" if medium.data is None else "inlineData"
        spelled = _under(own, key)
        file: _Object = {} if "mimeType" in spelled else {"mimeType": medium.media_type}
        if medium.data is None:
            file["fileUri"] = medium.url
        else:
            file["data"] = medium.data.translate(_TO_URL_SAFE) if "data" in spelled else medium.data
        return completed({key: completed(file, rest(spelled, ("mimeType",)))}, own)


def says_id(part: ToolCall | ToolResult, ids: bool) -> bool:
    """Return whether a call or a result is written with its id: it was read with one, or `ids` asks for them."""
    key = "functionCall" if isinstance(part, ToolCall) else "functionResponse"
    return ids or _under(kept_for(part, NAME), key).get("id") is True


def _content(role: Any, parts: list[_Object], own: Mapping[str, Any]) -> _Object:
    written: _Object = {} if role is None else {"role": role}
    return {**written, "parts": parts, **rest(own, ("role", "parts", "response"))}


def _response(result: ToolResult, spelled: Mapping[str, Any]) -> _Object:
    """Return {"response": …}: as it was read, if that says the same; nothing if there was none."""
    if "response" in spelled:
        before = spelled["response"]
        if content_of_response(before or {}) == (result.text, result.is_error):
            return {} if before is None else {"response": before}
    return {"response": {"error" if result.is_error else "output": result.text}}


def _is_text_behind(content: Iterable[Any]) -> bool:
    kinds = [isinstance(part, Media) for part in content]
    return kinds != sorted(kinds)


def _under(own: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = own.get(key)
    return found if isinstance(found, Mapping) else {}
