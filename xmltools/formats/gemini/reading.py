"""Reading contents of the Gemini API."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.api_turns import Ledger
from xmltools.formats.shared.api_values import compact, objects, type_of_url
from xmltools.formats.shared.extra import at, extra_of, plain, rest
from xmltools.formats.shared.losses import Report
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


class Reader:
    """Reads contents one after the other: results find their calls among those before them."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.ledger = Ledger(report)
        self.after_results = False

    def read(self, index: int, source: _Object) -> list[Message]:
        """Read a content: one message, or one for each run of results and of other parts."""
        given = source.get("role")
        role = _ROLES.get("user" if given is None else given) if given is None or isinstance(given, str) else None
        if role is None:
            fail("role", "user or model", given, is_word=True)
        if role != "assistant":
            self.ledger.end_turn()
        if "parts" not in source and (foreign := _FOREIGN & source.keys()):
            hint = "it is of another format, such as openai: load it as that"
            raise XMLToolsError(f"parts: expected {_PARTS}, got a message with {min(foreign)!r} ({hint})")
        fields = rest(source, ("role", "parts"))
        if given != _usual(role):
            fields["role"] = given
        messages = self._runs(index, role, source.get("parts"), fields)
        self.after_results = messages[-1].is_tool
        return messages

    def _runs(self, index: int, role: Any, given: Any, fields: dict[str, Any]) -> list[Message]:
        parts = [(place, camel(each)) for place, each in objects([] if given is None else given, "parts", _PARTS)]
        runs = [(is_results, list(run)) for is_results, run in groupby(parts, lambda each: _is_result(each[1]))]
        messages = []
        for place, (is_results, run) in enumerate(runs or [(False, [])]):
            if is_results and role != "user":
                fail(
                    f"parts[{run[0][0]}]",
                    f"no functionResponse in a content of the {role}",
                    "functionResponse",
                    is_word=True,
                )
            found, others = self._parts(index, run)
            spelled: dict[str, Any] = {"others": others} if others else {}
            if place or (is_results and self.after_results):
                spelled["joined"] = place > 0
            kept = {**(fields if place == 0 else {}), **({"parts": spelled} if spelled else {})}
            messages.append(
                Message(role="tool" if is_results else role, parts=tuple(found), extra=extra_of(NAME, kept))
            )
        return messages

    def _parts(self, index: int, run: list[tuple[int, dict[str, Any]]]) -> tuple[list[Part], list[Any]]:
        """Read parts. Returns them, and what is to be kept as it is, [place, part] each."""
        parts: list[Part] = []
        others = []
        for number, (place, each) in enumerate(run):
            with at(f"parts[{place}]."):
                part = self._part(index, each)
            if part is None:
                others.append([number, each])
            else:
                parts.append(part)
        return parts, others

    def _part(self, index: int, source: dict[str, Any]) -> Part | None:
        """Read a part; None if it is to be kept as it is."""
        if "functionCall" in source:
            return self._call(source)
        if _is_result(source):
            return self._result(index, source)
        if source.get("text") is not None:
            return _text(source)
        return _media(source)

    def _call(self, source: dict[str, Any]) -> ToolCall:
        call = camel(expect(plain(source["functionCall"]), Mapping, "functionCall", 'an object, {"name", "args"}'))
        name = expect(call.get("name"), str, "functionCall.name", "the name of a tool")
        args = call.get("args")
        arguments = dict(expect({} if args is None else args, Mapping, "functionCall.args", "an object"))
        spelled = rest(call, ("id", "name", "args"))
        id = _id(call, "functionCall.id", spelled)
        if args is None:
            spelled["args"] = None
        fields = rest(source, ("functionCall",)) | ({"functionCall": spelled} if spelled else {})
        return ToolCall(id=self.ledger.note(id, name), name=name, arguments=arguments, extra=extra_of(NAME, fields))

    def _result(self, index: int, source: dict[str, Any]) -> ToolResult:
        what = 'an object, {"name": "…", "response": {"output": "…"}}'
        given = camel(expect(plain(source["functionResponse"]), Mapping, "functionResponse", what))
        name = expect(given.get("name"), str, "functionResponse.name", "the name of a tool")
        spelled = rest(given, ("id", "name", "response", "parts"))
        id = _id(given, "functionResponse.id", spelled)
        if id:
            self.ledger.name(id, index)
        else:
            id = self.ledger.claim(name, index)
        response = expect(given.get("response") or {}, Mapping, "functionResponse.response", "an object")
        content, is_error = content_of_response(response)
        if response != {"error" if is_error else "output": content}:
            spelled["response"] = given.get("response")
        media = _result_media(given, spelled)
        fields = rest(source, ("functionResponse",)) | ({"functionResponse": spelled} if spelled else {})
        said = (*((Text(text=content),) if content else ()), *media) if media else content
        return ToolResult(call_id=id, name=name, content=said, is_error=is_error, extra=extra_of(NAME, fields))


def _usual(role: str) -> str:
    return "model" if role == "assistant" else role


def _is_result(part: _Object) -> bool:
    return "functionResponse" in part


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


def _result_media(given: _Object, spelled: dict[str, Any]) -> tuple[Media, ...]:
    media = []
    others = []
    parts = given.get("parts")
    for place, each in objects([] if parts is None else parts, "functionResponse.parts", "a list of files"):
        with at(f"functionResponse.parts[{place}]."):
            part = _media(camel(each))
        if part is None:
            others.append([place, dict(each)])
        else:
            media.append(part)
    if others:
        spelled["parts"] = others
    return tuple(media)


def _text(source: dict[str, Any]) -> Text | Reasoning:
    text = expect(source["text"], str, "text", "text")
    if source.get("thought") is True:
        return Reasoning(text=text, extra=extra_of(NAME, rest(source, ("text", "thought"))))
    return Text(text=text, extra=extra_of(NAME, rest(source, ("text",))))


def _media(source: dict[str, Any]) -> Media | None:
    """Read a file; None if it is none."""
    key = "inlineData" if "inlineData" in source else "fileData"
    if key not in source:
        return None
    file = camel(expect(plain(source[key]), Mapping, key, _FILE))
    where = "data" if key == "inlineData" else "fileUri"
    value = expect(file.get(where), str, f"{key}.{where}", "base64" if where == "data" else "a URL")
    spelled = rest(file, ("mimeType", where))
    media_type = file.get("mimeType")
    if media_type is None:
        spelled["mimeType"] = None
        media_type = "application/octet-stream" if where == "data" else type_of_url(value, "application/octet-stream")
    expect(media_type, str, f"{key}.mimeType", "a MIME type")
    if where == "data" and ("-" in value or "_" in value):
        # Base64 for URLs, as SDKs write it: all others take the other alphabet.
        spelled["data"], value = "url-safe", value.translate(FROM_URL_SAFE)
    fields = rest(source, (key,)) | ({key: spelled} if spelled else {})
    data, url = (value, None) if where == "data" else (None, value)
    return Media(media_type=media_type, data=data, url=url, extra=extra_of(NAME, fields))
