"""Reading messages of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.api_messages import ApiReader, read_blocks
from xmltools.formats.shared.api_values import objects, read_arguments, split_data_url, type_of_url
from xmltools.formats.shared.extra import at, extra_of, nested, plain, rest
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.json_fields import expect, fail

NAME = "openai"
"""The name by which the format is asked for."""
REASONING_KEY = "reasoning_content"
AUDIO = {"mp3": "audio/mpeg"}
"""The MIME types of audio formats; that of others is their name after "audio/"."""

_ROLES = "system, developer, user, assistant, tool or function"
_CONTENT = 'text or a list of parts, [{"type": "text", "text": "…"}]'
_FUNCTION = 'an object, {"name": "…", "arguments": "{…}"}'
_REPLY_KEYS = ("role", "content", "name", "tool_calls", "function_call")
_Arguments = tuple[dict[str, Any], dict[str, Any]]
"""The arguments of a call, and what is to be kept of how they were spelled."""
_Found = tuple[list[Part], dict[str, Any]]
"""The parts of a content, and what is to be kept of how it was spelled."""


class Reader(ApiReader):
    """Reads messages of chat completions."""

    name = NAME

    def read(self, source: Mapping[str, Any]) -> list[Message]:
        """Read a message."""
        role = source.get("role")
        if role == "assistant":
            return [self._reply(source)]
        self.end_turn()
        if role in ("system", "developer", "user"):
            return [self._said(source, role)]
        if role not in ("tool", "function"):
            fail("role", _ROLES, role, is_word=True)
        return [self._result(source, role)]

    def _said(self, source: Mapping[str, Any], role: str) -> Message:
        expect(source.get("content"), (str, list, tuple), "content", _CONTENT)
        parts, spelled = self._content(source, "text")
        fields = rest(source, ("role", "content", "name")) | spelled
        if role == "developer":
            fields["role"] = role
        return Message(
            role="user" if role == "user" else "system",
            parts=tuple(parts),
            name=_text_or_none(source, "name"),
            extra=self.keep(fields),
        )

    # Replies

    def _reply(self, source: Mapping[str, Any]) -> Message:
        calls = self._calls(source)
        parts, spelled = self._content(source, "null" if calls else "text")
        fields = rest(source, _REPLY_KEYS) | spelled
        thought = _take_reasoning(fields)
        return Message(
            role="assistant",
            parts=(*thought, *parts, *calls),
            name=_text_or_none(source, "name"),
            extra=self.keep(fields),
        )

    def _calls(self, source: Mapping[str, Any]) -> list[ToolCall]:
        calls = []
        given = source.get("tool_calls")
        for place, each in objects([] if given is None else given, "tool_calls", "a list of calls"):
            with at(f"tool_calls[{place}]."):
                calls.append(self._custom(each) if each.get("type") == "custom" else self._call(each))
        if source.get("function_call") is not None:
            calls.append(self._legacy_call(plain(source["function_call"])))
        return calls

    def _call(self, source: Mapping[str, Any]) -> ToolCall:
        function = expect(plain(source.get("function")), Mapping, "function", _FUNCTION)
        fields = rest(source, ("id", "type", "function"))
        kind = _text_or_none(source, "type")
        if not kind:
            self.add("missing_type", 'a call without a type becomes one of the type "function"')
        elif kind != "function":
            fields["type"] = kind
        id = self._id(source)
        with at("function."):
            return self._function(function, fields, id)

    def _function(self, function: Mapping[str, Any], fields: dict[str, Any], id: str | None) -> ToolCall:
        name = expect(function.get("name"), str, "name", "the name of a tool")
        arguments, spelled = self._arguments(function.get("arguments"), name)
        if others := rest(function, ("name", "arguments")):
            fields["function"] = others
        return ToolCall(id=self.note(id, name), name=name, arguments=arguments, extra=self.keep(fields | spelled))

    def _arguments(self, given: Any, name: str) -> _Arguments:
        if isinstance(given, Mapping) or given is None:
            what = "an object" if given else "missing"
            self.add("arguments_no_text", f"the arguments of {name!r:.80} are {what}, not JSON text")
            return dict(given or {}), {}
        expect(given, str, "arguments", 'the JSON text of an object, as in \'{"path":"a.py"}\'')
        return read_arguments(given, name, self.report, self.index)

    def _custom(self, source: Mapping[str, Any]) -> ToolCall:
        custom = expect(plain(source.get("custom")), Mapping, "custom", 'an object, {"name": "…", "input": "…"}')
        name = expect(custom.get("name"), str, "custom.name", "the name of a tool")
        given = expect(custom.get("input"), str, "custom.input", "text")
        fields = nested(source, "custom", rest(custom, ("name", "input")), "id")
        id = self.note(self._id(source), name)
        return ToolCall(id=id, name=name, arguments={"input": given}, extra=self.keep(fields))

    def _legacy_call(self, source: Any) -> ToolCall:
        expect(source, Mapping, "function_call", _FUNCTION)
        with at("function_call."):
            return self._function(source, {"type": "function_call"}, None)

    def _id(self, source: Mapping[str, Any]) -> str | None:
        id = _text_or_none(source, "id")
        if not id:
            self.add("missing_id", "a call without an id gets one")
        return id

    # Results

    def _result(self, source: Mapping[str, Any], role: str) -> Message:
        if source.get("content") is not None:
            expect(source["content"], (str, list, tuple), "content", _CONTENT)
        parts, spelled = self._content(source, "text")
        fields = rest(source, ("role", "content", "tool_call_id")) | spelled
        id, name = self._whose(source, role)
        if role == "function":
            fields["role"] = role
            del fields["name"]
        content = _result_content(parts, isinstance(source.get("content"), (list, tuple)))
        result = ToolResult(call_id=id, name=name, content=content, extra=self.keep(fields))
        return Message(role="tool", parts=(result,))

    def _whose(self, source: Mapping[str, Any], role: str) -> tuple[str, str]:
        """Return the id and the name of the call that a result belongs to."""
        name = _text_or_none(source, "name")
        if role == "function":
            name = expect(name, str, "name", "the name of a tool")
            return self.claim(name), name
        id, found = self.whose(_text_or_none(source, "tool_call_id"), name, "tool_call_id")
        return id, name or found

    # Content

    def _content(self, source: Mapping[str, Any], usual: str) -> _Found:
        """Read the content of a message; `usual` says how it is written if there is none."""
        given = source.get("content")
        if isinstance(given, (list, tuple)):
            return self._parts(given)
        expect("" if given is None else given, str, "content", _CONTENT)
        if given:
            return [Text(text=given)], {}
        spelled = "absent" if "content" not in source else "null" if given is None else "text"
        return [], {} if spelled == usual else {"content": {"as": spelled}}

    def _parts(self, given: Any) -> _Found:
        parts: list[Part]
        parts, others = read_blocks(objects(given, "content", _CONTENT), "content", self._part)
        if others:
            return parts, {"content": {"as": "parts", "others": others}}
        plain_texts = all(isinstance(part, Text) and not part.extra for part in parts)
        return parts, {"content": {"as": "parts"}} if plain_texts else {}

    def _part(self, source: Mapping[str, Any]) -> Part | None:
        """Read a part; None if it is to be kept as it is."""
        match source.get("type"):
            case "text":
                return self.text(expect(source.get("text"), str, "text", "text"), source, "type", "text")
            case "image_url":
                return self._image(source)
            case "input_audio":
                return self._audio(source)
            case "file":
                return self._file(source)
        if not isinstance(source.get("type"), str):
            fail("type", "text, image_url, input_audio or file", source.get("type"), is_word=True)
        return None

    def _image(self, source: Mapping[str, Any]) -> Media:
        image = plain(source.get("image_url"))
        if isinstance(image, str):
            self.add("mended_part", 'image_url is a text, and becomes {"url": "…"}')
            image = {"url": image}
        expect(image, Mapping, "image_url", 'an object, {"url": "…"}')
        url = expect(image.get("url"), str, "image_url.url", "a URL")
        medium, header = split_data_url(url)
        fields = nested(source, "image_url", rest(image, ("url",)), "type")
        if header:
            fields["header"] = header
        medium = medium or Media(media_type=type_of_url(url, "image/*"), url=url)
        return medium.model_copy(update={"extra": self.keep(fields)})

    def _audio(self, source: Mapping[str, Any]) -> Media:
        audio = expect(plain(source.get("input_audio")), Mapping, "input_audio", 'an object, {"data", "format"}')
        data = expect(audio.get("data"), str, "input_audio.data", "base64")
        format = expect(audio.get("format"), str, "input_audio.format", "wav or mp3")
        fields = nested(source, "input_audio", rest(audio, ("data", "format")), "type")
        return Media(media_type=AUDIO.get(format, f"audio/{format}"), data=data, extra=self.keep(fields))

    def _file(self, source: Mapping[str, Any]) -> Media | None:
        """Read a file; None if it is only an id."""
        file = expect(plain(source.get("file")), Mapping, "file", 'an object, {"file_data"} or {"file_id"}')
        data = file.get("file_data")
        medium, header = split_data_url(data) if isinstance(data, str) else (None, "")
        if medium is None:
            return None
        fields = nested(source, "file", rest(file, ("file_data",)), "type")
        # An image in a file is a file when it is written again.
        fields["type"] = "file"
        if header:
            fields["header"] = header
        usual = not header and not medium.media_type.startswith(("image/", "audio/"))
        return medium.model_copy(update={"extra": self.keep(rest(fields, ("type",)) if usual else fields)})


def _result_content(parts: list[Part], is_list: bool) -> str | tuple[Text | Media, ...]:
    """Return the content of a result: a text that was written as one, else parts."""
    if not is_list:
        return "".join(part.text for part in parts if isinstance(part, Text))
    return tuple(part for part in parts if isinstance(part, (Text, Media)))


def _take_reasoning(fields: dict[str, Any]) -> tuple[Reasoning, ...]:
    """Take the reasoning out of what is left of a message. If it is there under two keys, the other one is kept."""
    for key in (REASONING_KEY, "reasoning"):
        if fields.get(key) and isinstance(fields[key], str):
            extra = {} if key == REASONING_KEY else {"key": key}
            return (Reasoning(text=fields.pop(key), extra=extra_of(NAME, extra)),)
    return ()


def _text_or_none(source: Mapping[str, Any], key: str) -> str | None:
    value = source.get(key)
    if value is not None and not isinstance(value, str):
        raise XMLToolsError(f"{key}: expected text, got {type(value).__name__}")
    return value
