"""Writing messages of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xmltools.formats.openai.attached import AS_PARTS, label, placeholder
from xmltools.formats.openai.reading import AUDIO, NAME, REASONING_KEY
from xmltools.formats.shared.api_messages import ApiWriter, Object
from xmltools.formats.shared.api_values import arguments_text, data_url, insert
from xmltools.formats.shared.extra import completed, kept_for, rest, under
from xmltools.formats.shared.losses import WORDS, Report
from xmltools.models import Media, Message, Reasoning, Text, ToolCall, ToolResult

_FORMATS = {type: format for format, type in AUDIO.items()}
_EMPTY: dict[str, Any] = {"text": "", "null": None, "parts": []}
_REASONING_ORDER = "there is one place for reasoning, before the text and the calls"


class Writer(ApiWriter):
    """Writes messages one after the other. The options are those of `dump`."""

    name = NAME

    def __init__(self, report: Report, content: str, reasoning_key: str | None) -> None:
        super().__init__(report)
        self.result_as_parts = content == "parts"
        self.as_parts = content != "string"
        self.reasoning_key = reasoning_key
        self.legacy: set[str] = set()
        """The calls that were written as function_call."""
        self._asked: set[str] = set()
        self._turn: list[tuple[ToolResult, list[Media], list[Object]]] = []
        """The results since somebody spoke, each with its files, and these as parts."""

    def write(self, index: int, message: Message) -> list[Object]:
        """Write a message: one object, or one for each result. The files of results come before the next message."""
        self.index = index
        if message.is_tool:
            return self._results(message)
        return [*self.attached(), *self._spoken(message)]

    def attached(self) -> list[Object]:
        """Return a message of the user with the files of the last results, nothing if they have none."""
        turn, self._turn = self._turn, []
        parts: list[Object] = []
        for result, media, written in turn:
            if written:
                parts += ({"type": "text", "text": label(result, media, len(turn) == 1)}, *written)
        return [{"role": "user", "content": parts}] if parts else []

    def _spoken(self, message: Message) -> list[Object]:
        if message.is_assistant:
            return [self._reply(message)]
        kinds = (Text,) if message.is_system else (Text, Media)
        own = kept_for(message, NAME)
        role = "developer" if message.is_system and own.get("role") == "developer" else message.role
        written = {"role": role, **self._said_content(self.fitting(message, kinds), own, "text")}
        return [_finish(written, message)]

    def _reply(self, message: Message) -> Object:
        parts = self.fitting(message, (Text, Reasoning, ToolCall))
        texts = [part for part in parts if isinstance(part, Text)]
        usual = "null" if message.calls else "text"
        written = {"role": "assistant", **self._said_content(texts, kept_for(message, NAME), usual)}
        written |= self._calls(message.calls)
        written |= self._reasoning(parts)
        return _finish(written, message)

    def _reasoning(self, parts: Sequence[Any]) -> Object:
        said = [part for part in parts if not isinstance(part, Reasoning) or part.text]
        thoughts = [part for part in said if isinstance(part, Reasoning)]
        if not thoughts:
            return {}
        if self.reasoning_key is None:
            self.add("reasoning", "the reasoning is left out, as reasoning_key=None asks")
            return {}
        if any(isinstance(part, Reasoning) for part in said[len(thoughts) :]):
            self.add("reasoning_order", _REASONING_ORDER)
        before = kept_for(thoughts[0], NAME).get("key")
        key = before if before and self.reasoning_key == REASONING_KEY else self.reasoning_key
        return {key: "".join(each.text for each in thoughts)}

    # Calls

    def _calls(self, calls: Sequence[ToolCall]) -> Object:
        if not calls:
            return {}
        self._asked.update(call.id for call in calls)
        if len(calls) == 1 and kept_for(calls[0], NAME).get("type") == "function_call":
            self.legacy.add(calls[0].id)
            return {"function_call": self._function(calls[0])}
        return {"tool_calls": [self._call(call) for call in calls]}

    def _call(self, call: ToolCall) -> Object:
        own = kept_for(call, NAME)
        kind = own.get("type", "function")
        if kind == "custom" and _is_custom(call):
            custom = {"name": call.name, "input": call.arguments["input"], **under(own, "custom")}
            return completed({"id": call.id, "type": kind, "custom": custom}, own)
        kind = "function" if kind in ("custom", "function_call") else kind
        written = {"id": call.id, "type": kind, "function": self._function(call)}
        return completed(written, rest(own, ("arguments", "custom")))

    def _function(self, call: ToolCall) -> Object:
        arguments = arguments_text(call, NAME, self.report, self.index)
        return {"name": call.name, "arguments": arguments, **under(kept_for(call, NAME), "function")}

    # Results

    def _results(self, message: Message) -> list[Object]:
        if message.name is not None:
            self.add("names", f"{NAME} has no name for who gives a result")
        return [self._result(part) for part in self.fitting(message, (ToolResult,)) if isinstance(part, ToolResult)]

    def _result(self, result: ToolResult) -> Object:
        if result.call_id not in self._asked:
            what = f"no call before has the id {result.call_id!r:.80} of this result"
            self.add("orphan_result", what, "give it the id of its call, or leave it out")
        own = kept_for(result, NAME)
        parts = (Text(text=result.content),) if isinstance(result.content, str) else result.content
        media = self._attach(result, [part for part in parts if isinstance(part, Media)])
        texts = [part for part in parts if isinstance(part, Text)]
        how = dict(own)
        if media and not texts:
            texts = [Text(text=placeholder(media))]
            how.pop("content", None)
        elif media and result.text == placeholder(media):
            how["content"] = AS_PARTS  # or it would be read as ours
        if _are_several(texts) and not _comes_as_parts(texts, how, self.result_as_parts):
            self.add("result_texts", f"{NAME} cannot hold {WORDS['result_texts']}")
            texts = [Text(text=result.text)]
        content = self._content(texts, how, "text", self.result_as_parts)
        if own.get("role") == "function" and result.call_id in self.legacy | {""}:
            return completed({"role": "function", "name": result.name, **content}, rest(own, ("content",)))
        written = {"role": "tool", "tool_call_id": result.call_id, **content}
        if isinstance(own.get("name"), str):
            written["name"] = result.name
        return completed(written, rest(own, ("content",)))

    def _attach(self, result: ToolResult, media: list[Media]) -> list[Media]:
        """Take the files of a result, which come in a message of the user. Returns those that can be written."""
        pairs = [(medium, part) for medium in media if (part := self._part(medium)) is not None]
        if pairs:
            what = "a message of a tool has text only: the files of a result are in a message of the user after it"
            self.add("result_media", what)
        fitting_media = [medium for medium, _ in pairs]
        self._turn.append((result, fitting_media, [part for _, part in pairs]))
        return fitting_media

    # Content

    def _said_content(self, parts: Sequence[Any], own: Mapping[str, Any], usual: str) -> Object:
        """Return the content of a message that is no result."""
        if _are_several(parts) and not _comes_as_parts(parts, own, self.as_parts):
            hint = 'dump with content="auto" for a list of them'
            self.add("texts", f"a string cannot hold {WORDS['texts']}", hint)
        return self._content(parts, own, usual, self.as_parts)

    def _content(self, parts: Sequence[Any], own: Mapping[str, Any], usual: str, as_parts: bool) -> Object:
        """Return {"content": …}, or nothing if there was no such key and there is no content."""
        spelled = under(own, "content")
        if _comes_as_parts(parts, own, as_parts):
            shown = parts if spelled.get("as") == "parts" else [part for part in parts if not _is_empty(part)]
            written = [each for part in shown if (each := self._part(part)) is not None]
            return {"content": insert(written, spelled.get("others"))}
        text = "".join(part.text for part in parts)
        if text:
            return {"content": text}
        how = spelled.get("as", usual)
        return {} if how == "absent" else {"content": _EMPTY.get(how, "")}

    def _part(self, part: Text | Media) -> Object | None:
        own = kept_for(part, NAME)
        if isinstance(part, Text):
            return completed({"type": "text", "text": part.text}, own)
        written = _medium(part, own)
        if written is None:
            what = part.media_type if part.data or part.url else "without data and URL"
            self.add("unsupported_media", f"{NAME} takes no file {what!r:.80} in this form: left out")
        else:
            self.tell_type(part, "image/*")
        return written


def _medium(medium: Media, own: Mapping[str, Any]) -> Object | None:
    """Return a medium as a part, None if there is no such part."""
    kind = medium.media_type.partition("/")[0]
    data = None if medium.data is None else f"{own.get('header') or ''}{medium.data}"
    outer = rest(own, ("header",))
    if data is not None and not own.get("header"):
        data = data_url(medium)
    if data is not None and (own.get("type") == "file" or kind not in ("image", "audio")):
        return completed({"type": "file", "file": {"file_data": data, **under(own, "file")}}, outer)
    if kind == "image" and (data or medium.url):
        image = {"url": data or medium.url, **under(own, "image_url")}
        return completed({"type": "image_url", "image_url": image}, outer)
    if kind == "audio" and data is not None:
        format = _FORMATS.get(medium.media_type, medium.media_type.partition("/")[2])
        audio = {"data": medium.data, "format": format, **under(own, "input_audio")}
        return completed({"type": "input_audio", "input_audio": audio}, outer)
    return None


def _finish(written: Object, message: Message) -> Object:
    """Put the name after the role, and the keys that were kept at the end."""
    if message.name is not None:
        written = {"role": written.pop("role"), "name": message.name, **written}
    return completed(written, rest(kept_for(message, NAME), ("content", "response")))


def _comes_as_parts(parts: Sequence[Any], own: Mapping[str, Any], as_parts: bool) -> bool:
    """Return whether a content is written as a list, also where several texts are one if not `as_parts`."""
    is_list = under(own, "content").get("as") == "parts"
    return is_list or (as_parts and _are_several(parts)) or not all(map(_is_plain, parts))


def _are_several(parts: Sequence[Any]) -> bool:
    return sum(not _is_empty(part) for part in parts) > 1


def _is_empty(part: Text | Media) -> bool:
    return isinstance(part, Text) and not part.text and _is_plain(part)


def _is_plain(part: Text | Media) -> bool:
    return isinstance(part, Text) and not kept_for(part, NAME)


def _is_custom(call: ToolCall) -> bool:
    return set(call.arguments) == {"input"} and isinstance(call.arguments["input"], str)
