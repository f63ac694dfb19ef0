"""Writing messages of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xmltools.formats.openai.attached import AS_PARTS, label, placeholder
from xmltools.formats.openai.reading import AUDIO, NAME, REASONING_KEY
from xmltools.formats.shared.api_turns import fitting
from xmltools.formats.shared.api_values import arguments_text, data_url, insert, type_of_url
from xmltools.formats.shared.extra import completed, kept_for, rest
from xmltools.formats.shared.losses import WORDS, Report
from xmltools.models import Media, Message, Reasoning, Text, ToolCall, ToolResult

_FORMATS = {type: format for format, type in AUDIO.items()}
_EMPTY: dict[str, Any] = {"text": "", "null": None, "parts": []}
_Object = dict[str, Any]
_REASONING_ORDER = "there is one place for reasoning, before the text and the calls"


class Writer:
    """Writes messages one after the other. The options are those of `dump`."""

    def __init__(self, report: Report, content: str, reasoning_key: str | None) -> None:
        self.report = report
        self.result_as_parts = content == "parts"
        self.as_parts = content != "string"
        self.reasoning_key = reasoning_key
        self.legacy: set[str] = set()
        """The calls that were written as function_call."""
        self._asked: set[str] = set()
        self._turn: list[tuple[ToolResult, list[Media], list[_Object]]] = []
        """The results since somebody spoke, each with its files, and these as parts."""

    def write(self, index: int, message: Message) -> list[_Object]:
        """Write a message: one object, or one for each result. The files of results come before the next message."""
        if message.is_tool:
            return self._results(index, message)
        return [*self.attached(), *self._spoken(index, message)]

    def attached(self) -> list[_Object]:
        """Return a message of the user with the files of the last results, nothing if they have none."""
        turn, self._turn = self._turn, []
        parts: list[_Object] = []
        for result, media, written in turn:
            if written:
                parts += ({"type": "text", "text": label(result, media, len(turn) == 1)}, *written)
        return [{"role": "user", "content": parts}] if parts else []

    def _spoken(self, index: int, message: Message) -> list[_Object]:
        if message.is_assistant:
            return [self._reply(index, message)]
        kinds = (Text,) if message.is_system else (Text, Media)
        own = kept_for(message, NAME)
        role = "developer" if message.is_system and own.get("role") == "developer" else message.role
        written = {"role": role, **self._said_content(index, fitting(message, index, kinds, self.report), own, "text")}
        return [_finish(written, message)]

    def _reply(self, index: int, message: Message) -> _Object:
        parts = fitting(message, index, (Text, Reasoning, ToolCall), self.report)
        texts = [part for part in parts if isinstance(part, Text)]
        usual = "null" if message.calls else "text"
        written = {"role": "assistant", **self._said_content(index, texts, kept_for(message, NAME), usual)}
        written |= self._calls(index, message.calls)
        written |= self._reasoning(index, parts)
        return _finish(written, message)

    def _reasoning(self, index: int, parts: Sequence[Any]) -> _Object:
        said = [part for part in parts if not isinstance(part, Reasoning) or part.text]
        thoughts = [part for part in said if isinstance(part, Reasoning)]
        if not thoughts:
            return {}
        if self.reasoning_key is None:
            self.report.add("reasoning", "the reasoning is left out, as reasoning_key=None asks", index)
            return {}
        if any(isinstance(part, Reasoning) for part in said[len(thoughts) :]):
            self.report.add("reasoning_order", _REASONING_ORDER, index)
        before = kept_for(thoughts[0], NAME).get("key")
        key = before if before and self.reasoning_key == REASONING_KEY else self.reasoning_key
        return {key: "".join(each.text for each in thoughts)}

    # Calls

    def _calls(self, index: int, calls: Sequence[ToolCall]) -> _Object:
        if not calls:
            return {}
        self._asked.update(call.id for call in calls)
        if len(calls) == 1 and kept_for(calls[0], NAME).get("type") == "function_call":
            self.legacy.add(calls[0].id)
            return {"function_call": self._function(index, calls[0])}
        return {"tool_calls": [self._call(index, call) for call in calls]}

    def _call(self, index: int, call: ToolCall) -> _Object:
        own = kept_for(call, NAME)
        kind = own.get("type", "function")
        if kind == "custom" and _is_custom(call):
            custom = {"name": call.name, "input": call.arguments["input"], **_under(own, "custom")}
            return completed({"id": call.id, "type": kind, "custom": custom}, own)
        kind = "function" if kind in ("custom", "function_call") else kind
        written = {"id": call.id, "type": kind, "function": self._function(index, call)}
        return completed(written, rest(own, ("arguments", "custom")))

    def _function(self, index: int, call: ToolCall) -> _Object:
        arguments = arguments_text(call, NAME, self.report, index)
        return {"name": call.name, "arguments": arguments, **_under(kept_for(call, NAME), "function")}

    # Results

    def _results(self, index: int, message: Message) -> list[_Object]:
        if message.name is not None:
            self.report.add("names", f"{NAME} has no name for who gives a result", index)
        return [
            self._result(index, part)
            for part in fitting(message, index, (ToolResult,), self.report)
            if isinstance(part, ToolResult)
        ]

    def _result(self, index: int, result: ToolResult) -> _Object:
        if result.call_id not in self._asked:
            what = f"no call before has the id {result.call_id!r:.80} of this result"
            self.report.add("orphan_result", what, index, "give it the id of its call, or leave it out")
        own = kept_for(result, NAME)
        parts = (Text(text=result.content),) if isinstance(result.content, str) else result.content
        media = self._attach(index, result, [part for part in parts if isinstance(part, Media)])
        texts = [part for part in parts if isinstance(part, Text)]
        how = dict(own)
        if media and not texts:
            texts = [Text(text=placeholder(media))]
            how.pop("content", None)
        elif media and result.text == placeholder(media):
            how["content"] = AS_PARTS  # or it would be read as ours
        if _are_several(texts) and not _comes_as_parts(texts, how, self.result_as_parts):
            self.report.add("result_texts", f"{NAME} cannot hold {WORDS['result_texts']}", index)
            texts = [Text(text=result.text)]
        content = self._content(index, texts, how, "text", self.result_as_parts)
        if own.get("role") == "function" and result.call_id in self.legacy | {""}:
            return completed({"role": "function", "name": result.name, **content}, rest(own, ("content",)))
        written = {"role": "tool", "tool_call_id": result.call_id, **content}
        if isinstance(own.get("name"), str):
            written["name"] = result.name
        return completed(written, rest(own, ("content",)))

    def _attach(self, index: int, result: ToolResult, media: list[Media]) -> list[Media]:
        """Take the files of a result, which come in a message of the user. Returns those that can be written."""
        pairs = [(medium, part) for medium in media if (part := self._part(index, medium)) is not None]
        if pairs:
            what = "a message of a tool has text only: the files of a result are in a message of the user after it"
            self.report.add("result_media", what, index)
        fitting_media = [medium for medium, _ in pairs]
        self._turn.append((result, fitting_media, [part for _, part in pairs]))
        return fitting_media

    # Content

    def _said_content(self, index: int, parts: Sequence[Any], own: Mapping[str, Any], usual: str) -> _Object:
        """Return the content of a message that is no result."""
        if _are_several(parts) and not _comes_as_parts(parts, own, self.as_parts):
            hint = 'dump with content="auto" for a list of them'
            self.report.add("texts", f"a string cannot hold {WORDS['texts']}", index, hint)
        return self._content(index, parts, own, usual, self.as_parts)

    def _content(self, index: int, parts: Sequence[Any], own: Mapping[str, Any], usual: str, as_parts: bool) -> _Object:
        """Return {"content": …}, or nothing if there was no such key and there is no content."""
        spelled = _under(own, "content")
        if _comes_as_parts(parts, own, as_parts):
            shown = parts if spelled.get("as") == "parts" else [part for part in parts if not _is_empty(part)]
            written = [each for part in shown if (each := self._part(index, part)) is not None]
            return {"content": insert(written, spelled.get("others"))}
        text = "".join(part.text for part in parts)
        if text:
            return {"content": text}
        how = spelled.get("as", usual)
        return {} if how == "absent" else {"content": _EMPTY.get(how, "")}

    def _part(self, index: int, part: Text | Media) -> _Object | None:
        own = kept_for(part, NAME)
        if isinstance(part, Text):
            return completed({"type": "text", "text": part.text}, own)
        written = _medium(part, own)
        if written is None:
            what = part.media_type if part.data or part.url else "without data and URL"
            self.report.add("unsupported_media", f"{NAME} takes no file {what!r:.80} in this form: left out", index)
        elif part.url and part.media_type not in ("image/*", type_of_url(part.url, "image/*")):
            self.report.add("media_type", f"{NAME} has no place for the type of a file that is a URL", index)
        return written


def _medium(medium: Media, own: Mapping[str, Any]) -> _Object | None:
    """Return a medium as a part, None if there is no such part."""
    kind = medium.media_type.partition("/")[0]
    data = None if medium.data is None else f"{own.get('header') or ''}{medium.data}"
    outer = rest(own, ("header",))
    if data is not None and not own.get("header"):
        data = data_url(medium)
    if data is not None and (own.get("type") == "file" or kind not in ("image", "audio")):
        return completed({"type": "file", "file": {"file_data": data, **_under(own, "file")}}, outer)
    if kind == "image" and (data or medium.url):
        image = {"url": data or medium.url, **_under(own, "image_url")}
        return completed({"type": "image_url", "image_url": image}, outer)
    if kind == "audio" and data is not None:
        format = _FORMATS.get(medium.media_type, medium.media_type.partition("/")[2])
        audio = {"data": medium.data, "format": format, **_under(own, "input_audio")}
        return completed({"type": "input_audio", "input_audio": audio}, outer)
    return None


def _finish(written: _Object, message: Message) -> _Object:
    """Put the name after the role, and the keys that were kept at the end."""
    if message.name is not None:
        written = {"role": written.pop("role"), "name": message.name, **written}
    return completed(written, rest(kept_for(message, NAME), ("content", "response")))


def _comes_as_parts(parts: Sequence[Any], own: Mapping[str, Any], as_parts: bool) -> bool:
    """Return whether a content is written as a list, also where several texts are one if not `as_parts`."""
    is_list = _under(own, "content").get("as") == "parts"
    return is_list or (as_parts and _are_several(parts)) or not all(map(_is_plain, parts))


def _are_several(parts: Sequence[Any]) -> bool:
    return sum(not _is_empty(part) for part in parts) > 1


def _is_empty(part: Text | Media) -> bool:
    return isinstance(part, Text) and not part.text and _is_plain(part)


def _is_plain(part: Text | Media) -> bool:
    return isinstance(part, Text) and not kept_for(part, NAME)


def _is_custom(call: ToolCall) -> bool:
    return set(call.arguments) == {"input"} and isinstance(call.arguments["input"], str)


def _under(own: Mapping[str, Any], key: str) -> _Object:
    found = own.get(key)
    return dict(found) if isinstance(found, Mapping) else {}
