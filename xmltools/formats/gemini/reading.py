"""Reading contents of the Gemini API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.api_messages import BlockReader, read_blocks
from xmltools.formats.shared.api_values import compact, objects, type_of_url
from xmltools.formats.shared.extra import nested, plain, rest
from xmltools.models import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.json_fields import expect, fail

NAME = "gemini"
"""The name by which the format is asked for."""
FROM_URL_SAFE = str.maketrans("-_", "+/")

_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
_PARTS = 'a list of parts, [{"text": "…"}]'
_ROLES = {"user": "user", "function": "user", "model": "assistant", "system": "system"}
_FILE = 'an object, {"mimeType": "…", "data" or "fileUri": "…"}'
_FOREIGN = {"content", "tool_calls", "tool_call_id"}
"""Keys of messages in other formats, whose words would be passed over here."""
_Object = Mapping[str, Any]


def camel(source: _Object) -> dict[str, Any]:
    """Return an object with its own keys in camelCase; what is in it stays as it is."""
    return {_SNAKE.sub(lambda found: found[1].upper(), str(key)): value for key, value in source.items()}


class Reader(BlockReader):
    """Reads contents of the Gemini API: results find their calls among those before them."""

    name = NAME
    word = "content"
    key = "parts"
    result = "functionResponse"

    def read(self, source: _Object) -> list[Message]:
        """Read a content: one message, or one for each run of results and of other parts."""
        given = source.get("role")
        role = _ROLES.get("user" if given is None else given) if given is None or isinstance(given, str) else None
        if role is None:
            fail("role", "user or model", given, is_word=True)
        if role != "assistant":
            self.end_turn()
        if "parts" not in source and (foreign := _FOREIGN & source.keys()):
            hint = "it is of another format, such as openai: load it as that"
            raise XMLToolsError(f"parts: expected {_PARTS}, got a message with {min(foreign)!r} ({hint})")
        fields = rest(source, ("role", "parts"))
        if given != ("model" if role == "assistant" else role):
            fields["role"] = given
        parts = [(place, camel(each)) for place, each in _listed(source, "parts", _PARTS)]
        return self.runs(role, parts, fields)

    def is_result(self, block: _Object) -> bool:
        """Return whether a part is a result."""
        return "functionResponse" in block

    def block(self, source: _Object) -> Part | None:
        """Read a part; None if it is to be kept as it is."""
        if "functionCall" in source:
            return self._call(source)
        if self.is_result(source):
            return self._result(source)
        if source.get("text") is None:
            return self._media(source)
        text = expect(source["text"], str, "text", "text")
        if source.get("thought") is True:
            return Reasoning(text=text, extra=self.keep(rest(source, ("text", "thought"))))
        return self.text(text, source, "text")

    def _call(self, source: _Object) -> ToolCall:
        call = _inner(source, "functionCall", 'an object, {"name", "args"}')
        name = expect(call.get("name"), str, "functionCall.name", "the name of a tool")
        args = call.get("args")
        arguments = dict(expect({} if args is None else args, Mapping, "functionCall.args", "an object"))
        spelled = rest(call, ("id", "name", "args"))
        id = _id(call, "functionCall.id", spelled)
        if args is None:
            spelled["args"] = None
        extra = self.keep(nested(source, "functionCall", spelled))
        return ToolCall(id=self.note(id, name), name=name, arguments=arguments, extra=extra)

    def _result(self, source: _Object) -> ToolResult:
        given = _inner(source, "functionResponse", 'an object, {"name": "…", "response": {"output": "…"}}')
        name = expect(given.get("name"), str, "functionResponse.name", "the name of a tool")
        spelled = rest(given, ("id", "name", "response", "parts"))
        id = _id(given, "functionResponse.id", spelled)
        if id:
            self.answer(id)
        else:
            id = self.claim(name)
        response = expect(given.get("response") or {}, Mapping, "functionResponse.response", "an object")
        content, is_error = content_of_response(response)
        if response != {"error" if is_error else "output": content}:
            spelled["response"] = given.get("response")
        files = "functionResponse.parts"
        listed = _listed(given, files, "a list of files")
        media, others = read_blocks(listed, files, lambda each: self._media(camel(each)))
        if others:
            spelled["parts"] = others
        said = (*((Text(text=content),) if content else ()), *media) if media else content
        extra = self.keep(nested(source, "functionResponse", spelled))
        return ToolResult(call_id=id, name=name, content=said, is_error=is_error, extra=extra)

    def _media(self, source: _Object) -> Media | None:
        """Read a file; None if it is none."""
        key = "inlineData" if "inlineData" in source else "fileData"
        if key not in source:
            return None
        file = _inner(source, key, _FILE)
        where = "data" if key == "inlineData" else "fileUri"
        value = expect(file.get(where), str, f"{key}.{where}", "base64" if where == "data" else "a URL")
        spelled = rest(file, ("mimeType", where))
        media_type = file.get("mimeType")
        if media_type is None:
            spelled["mimeType"] = None
            usual = "application/octet-stream"
            media_type = usual if where == "data" else type_of_url(value, usual)
        expect(media_type, str, f"{key}.mimeType", "a MIME type")
        if where == "data" and ("-" in value or "_" in value):
            # Base64 for URLs, as SDKs write it: all others take the other alphabet.
            spelled["data"], value = "url-safe", value.translate(FROM_URL_SAFE)
        data, url = (value, None) if where == "data" else (None, value)
        return Media(media_type=media_type, data=data, url=url, extra=self.keep(nested(source, key, spelled)))


def _listed(source: _Object, where: str, right: str) -> Iterator[tuple[int, _Object]]:
    return objects([] if source.get("parts") is None else source["parts"], where, right)


def _inner(source: _Object, key: str, right: str) -> dict[str, Any]:
    """Return the object under a key of a part."""
    return camel(expect(plain(source[key]), Mapping, key, right))


def _id(source: _Object, where: str, spelled: dict[str, Any]) -> str | None:
    """Return the id of a call or a result, and note that there is one."""
    id = source.get("id")
    if not id:
        return None
    spelled["id"] = True
    found: str = expect(id, str, where, "text")
    return found


def content_of_response(response: _Object) -> tuple[str, bool]:
    """Return what a function's response says, and whether that is an error.

    One member `output`, `result` or `error` holds what is said; any other response is said as JSON, whole.
    """
    keys = tuple(response)
    if len(keys) == 1 and keys[0] in ("output", "result", "error"):
        said = response[keys[0]]
        return said if isinstance(said, str) else _json(said), keys[0] == "error"
    return _json(response) if response else "", False


def _json(value: Any) -> str:
    """Return a value as JSON, and what cannot be written as the name of its type."""
    try:
        return compact(value)
    except (ValueError, TypeError, RecursionError):
        return f"({type(value).__name__})"
