"""Writing messages of Anthropic's API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xmltools.formats.anthropic.reading import NAME, URL_TYPES
from xmltools.formats.shared.api_turns import fitting
from xmltools.formats.shared.api_values import insert, type_of_url
from xmltools.formats.shared.extra import completed, kept_for, rest
from xmltools.formats.shared.losses import Report
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult

_Object = dict[str, Any]
_KINDS: dict[str, tuple[type, ...]] = {
    "system": (Text,),
    "user": (Text, Media),
    "assistant": (Text, Reasoning, ToolCall),
    "tool": (ToolResult,),
}


@dataclass(slots=True)
class _Turn:
    """A message of the API: blocks, which are written as a text if `as_text`."""

    role: str
    blocks: list[_Object]
    as_text: bool
    fields: _Object = field(default_factory=dict)

    def written(self) -> _Object:
        content = self.blocks[0]["text"] if self.as_text else self.blocks
        return completed({"role": self.role, "content": content}, self.fields)


class Writer:
    """Writes messages one after the other. `unsigned` is that of `dump`."""

    def __init__(self, report: Report, unsigned: str) -> None:
        self.report = report
        self.drops_unsigned = unsigned == "drop"

    def system(self, messages: Sequence[tuple[int, Message]]) -> Any:
        """Return the system prompt, None if there is no text in it."""
        blocks = [block for index, message in messages for block in self._blocks(index, message)]
        if not blocks:
            return None
        return blocks[0]["text"] if _is_text(messages[0][1], blocks) else blocks

    def messages(self, messages: Iterable[tuple[int, Message]]) -> list[_Object]:
        """Return the messages of the API. Results that follow each other stand in one."""
        turns: list[_Turn] = []
        after_results = False
        for index, message in messages:
            blocks = self._blocks(index, message)
            if not blocks:
                self.report.add("empty_message", "the message has nothing in it and is left out", index)
                continue
            role = "user" if message.is_tool else message.role
            turn = _Turn(
                role, blocks, _is_text(message, blocks), rest(kept_for(message, NAME), ("content", "response"))
            )
            joined = _content_of(kept_for(message, NAME)).get("joined", message.is_tool and after_results)
            _append(turns, turn, joined)
            after_results = message.is_tool
        return [turn.written() for turn in turns]

    def _blocks(self, index: int, message: Message) -> list[_Object]:
        parts = fitting(message, index, _KINDS[message.role], self.report)
        written = [block for part in parts if (block := self._block(index, part)) is not None]
        return insert(written, _content_of(kept_for(message, NAME)).get("others"))

    def _block(self, index: int, part: Part) -> _Object | None:
        match part:
            case ToolCall():
                written = {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.arguments)}
                return completed(written, rest(kept_for(part, NAME), ("arguments",)))
            case ToolResult():
                return self._result(index, part)
            case Reasoning():
                return self._thinking(index, part)
            case Text():
                return completed({"type": "text", "text": part.text}, kept_for(part, NAME)) if part.text else None
        return self._file(index, part)

    def _thinking(self, index: int, part: Reasoning) -> _Object | None:
        own = kept_for(part, NAME)
        if not own.get("signature"):
            if self.drops_unsigned and part.text:
                self.report.add("unsigned_reasoning", "reasoning without a signature is left out, as asked", index)
            if self.drops_unsigned or not part.text:
                return None
        return completed({"type": "thinking", "thinking": part.text, "signature": own.get("signature") or ""}, own)

    def _file(self, index: int, part: Media) -> _Object | None:
        own = kept_for(part, NAME)
        kind = "image" if part.media_type.startswith("image/") else "document"
        if not (part.data or part.url) or (kind == "document" and part.media_type != URL_TYPES[kind]):
            what = part.media_type if part.data or part.url else "without data and URL"
            self.report.add("unsupported_media", f"{NAME} takes no file {what!r:.80}: it is left out", index)
            return None
        source: _Object
        if part.data is not None:
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        else:
            source = {"type": "url", "url": part.url}
            if part.media_type not in (URL_TYPES[kind], type_of_url(part.url or "", URL_TYPES[kind])):
                self.report.add("media_type", f"{NAME} has no place for the type of a file that is a URL", index)
        return completed({"type": kind, "source": completed(source, _under(own, "source"))}, own)

    def _result(self, index: int, result: ToolResult) -> _Object:
        own = kept_for(result, NAME)
        written = {"type": "tool_result", "tool_use_id": result.call_id, **self._result_content(index, result, own)}
        if result.is_error or own.get("is_error") is False:
            written["is_error"] = result.is_error
        return completed(written, rest(own, ("content", "is_error")))

    def _result_content(self, index: int, result: ToolResult, own: Mapping[str, Any]) -> _Object:
        spelled = _content_of(own)
        if result.content == "" and spelled.get("as") in ("absent", "null"):
            return {} if spelled["as"] == "absent" else {"content": None}
        if isinstance(result.content, str):
            return {"content": result.content}
        blocks = [block for part in result.content if (block := self._block(index, part)) is not None]
        return {"content": insert(blocks, spelled.get("others"))}


def _append(turns: list[_Turn], turn: _Turn, joined: bool) -> None:
    if not joined or not turns or turns[-1].role != turn.role:
        turns.append(turn)
        return
    before = turns[-1]
    before.blocks += turn.blocks
    before.as_text = False
    before.fields |= turn.fields


def _is_text(message: Message, blocks: Sequence[_Object]) -> bool:
    """Return whether the content is one text that is written as a string."""
    spelled = _content_of(kept_for(message, NAME)).get("as")
    is_one_text = len(blocks) == 1 and blocks[0].get("type") == "text" and set(blocks[0]) == {"type", "text"}
    return is_one_text and spelled != "blocks"


def _content_of(own: Mapping[str, Any]) -> Mapping[str, Any]:
    return _under(own, "content")


def _under(own: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = own.get(key)
    return found if isinstance(found, Mapping) else {}
