"""Hashes of RobotLab's messages, read into messages of the model; and its spelling of results, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.robotlab import messages as robotlab
from xmltools.formats.shared.extra import compact, extra_of, plain, read_arguments, rest
from xmltools.formats.shared.losses import Report
from xmltools.models import Message, Text, ToolCall, ToolResult
from xmltools.models.finish_reasons import read_finish_reason
from xmltools.models.json_fields import expect, fail

NAME = "robotlab"
"""The name by which the format is asked for."""

_RIGHT_TOOL = '{"type": "tool", "id": "…", "name": "…", "input": {…}}'
_TEXT_KEYS = ("type", "role", "content", "stop_reason")
_CALL_KEYS = ("type", "role", "tools", "content", "stop_reason")
_RESULT_KEYS = ("type", "role", "tool", "content", "stop_reason")
_TOOL_KEYS = ("type", "id", "name", "input", "arguments")

Hash = Mapping[str, Any]


class Reader:
    """Reads messages in order; remembers the inputs of calls, and the text that the next calls may belong to."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.messages: list[Message] = []
        self.index = 0
        self._inputs: dict[str, Any] = {}
        self._text: Hash | None = None

    def read(self, index: int, value: Any) -> None:
        """Read the message at `index`. Raises XMLToolsError for what is malformed, with the place inside of it."""
        self.index = index
        source = self._hash(value)
        text, self._text = self._text, None
        match source["type"]:
            case "text":
                self._read_text(source)
            case "tool_call":
                self._read_calls(source, text)
            case _:
                self._read_result(source)

    def _add(self, code: str, message: str, hint: str = "") -> None:
        self.report.add(code, message, self.index, hint)

    def _hash(self, value: Any) -> Hash:
        """Return a message as a hash whose type, role and stop_reason are right."""
        source = value.to_h() if isinstance(value, robotlab.Message) else plain(value)
        if not isinstance(source, Mapping):
            raise XMLToolsError("Invalid message: must be Message or Hash")
        if "type" not in source:
            self._add("missing_type", "the message has no type: it is read as text", 'write "type": "text"')
            source = {"type": "text", **source}
        robotlab.check_fields(source)
        return source

    # Text and calls

    def _read_text(self, source: Hash) -> None:
        if source.get("content") is None:
            self._add("missing_content", "the message has no content", 'write "content": "…"')
            source = {**source, "content": ""}
        expect(source["content"], str, "content", "text")
        role, text = source["role"], source["content"]
        reason = source.get("stop_reason")
        own: dict[str, Any] = {"text": rest(source, _TEXT_KEYS)}
        self._put(role, _text_parts(text), own, read_finish_reason(source, "stop_reason"))
        if text and reason != "stop":
            self._text = source

    def _read_calls(self, source: Hash, text: Hash | None) -> None:
        right = f"a list of calls, as in [{_RIGHT_TOOL}]"
        tools = expect(source.get("tools"), (list, tuple), "tools", right)
        calls = tuple(self._call(each, f"tools[{number}]") for number, each in enumerate(tools))
        own = rest(source, _CALL_KEYS)
        reason = read_finish_reason(source, "stop_reason") or "tool_calls"
        role, said = source["role"], self._said(source)
        if text is not None and text["role"] == role and calls and not said:
            self.messages.pop()
            parts = (*_text_parts(text["content"]), *calls)
            self._put(role, parts, {**_before(text), "tool_call": own}, reason)
        else:
            # A list of no calls is still a message of its own.
            self._put(role, (*said, *calls), {"tool_call": own if calls or own else {"tools": []}}, reason)

    def _said(self, source: Hash) -> tuple[Text, ...]:
        """Return the text in a message with calls, where it should not stand."""
        content = source.get("content")
        if not content:
            return ()
        hint = "write it as a message of the type text before the calls"
        self._add("text_in_tool_call", "a message with calls has text", hint)
        return _text_parts(expect(content, str, "content", f"nothing; {hint}"))

    def _call(self, value: Any, where: str) -> ToolCall:
        source, call_id, name = _read_tool(value, where)
        arguments, own = self._input(source, name)
        self._inputs[call_id] = own.get("arguments", arguments)
        return ToolCall(id=call_id, name=name, arguments=arguments, extra=extra_of(NAME, {**own, **_unknown(source)}))

    def _input(self, source: Hash, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        given = source.get("input")
        if given is None and source.get("arguments") is not None:
            self._add("tool_arguments", f"the input of {name!r:.80} is called arguments", f"write {_RIGHT_TOOL}")
            given = source["arguments"]
        return read_arguments({} if given is None else given, name, self.report, self.index)

    def _put(self, role: str, parts: tuple[Any, ...], own: Mapping[str, Any], reason: str | None = None) -> None:
        extra = extra_of(NAME, {key: fields for key, fields in own.items() if fields != {}})
        known: Any = _ROLES.get(role, role)
        self.messages.append(Message(role=known, parts=parts, finish_reason=reason, extra=extra))

    # Results

    def _read_result(self, source: Hash) -> None:
        tool, call_id, name = _read_tool(source.get("tool"), "tool")
        own = rest(source, _RESULT_KEYS)
        if source.get("stop_reason") not in (None, "tool"):
            own["stop_reason"] = source["stop_reason"]
        if of_tool := self._differing(tool, call_id):
            own["tool"] = of_tool
        if source.get("content") is None:
            self._add("missing_content", "the result has no content", 'write "content": {"data": …}')
            text, is_error = "", False
        else:
            text, is_error = read_content(source["content"])
            if write_content(text, is_error) != source["content"]:
                own["content"] = source["content"]
        extra = extra_of(NAME, own)
        result = ToolResult(call_id=call_id, name=name, content=text, is_error=is_error, extra=extra)
        self.messages.append(Message(role="tool", parts=(result,)))

    def _differing(self, tool: Hash, call_id: str) -> dict[str, Any]:
        """Return what the copy of a call says otherwise than the call itself."""
        given = tool.get("input")
        given = tool.get("arguments") if given is None else given
        given = {} if given is None else given
        known = call_id in self._inputs and compact(self._inputs[call_id]) == compact(given)
        return _unknown(tool) if known else {"input": given, **_unknown(tool)}


_ROLES = {"tool_result": "tool"}


def _text_parts(text: str) -> tuple[Text, ...]:
    return (Text(text=text),) if text else ()


def _before(text: Hash) -> dict[str, Any]:
    """Return what is kept of a text before calls, which is written with the stop_reason "tool"."""
    own: dict[str, Any] = {"text": rest(text, _TEXT_KEYS)}
    return own if text.get("stop_reason") == "tool" else {**own, "stop_reason": text.get("stop_reason")}


def _read_tool(value: Any, where: str) -> tuple[Hash, str, str]:
    value = value.to_h() if isinstance(value, robotlab.ToolMessage) else plain(value)
    if value is None:
        fail(where, _RIGHT_TOOL, value)
    if not isinstance(value, Mapping):
        raise XMLToolsError(f"{where}: Invalid tool: must be ToolMessage or Hash")
    call_id = expect(value.get("id"), str, f"{where}.id", f"text, as in {_RIGHT_TOOL}")
    return value, call_id, expect(value.get("name"), str, f"{where}.name", f"text, as in {_RIGHT_TOOL}")


def _unknown(tool: Hash) -> dict[str, Any]:
    return rest(tool, _TOOL_KEYS)


# Content of results


def read_content(content: Any) -> tuple[str, bool]:
    """Return the text of a result's content, and whether it is an error. What is no text is JSON."""
    if not isinstance(content, Mapping):
        return _text(content), False
    error = content.get("error")
    if error is not None or ("error" in content and "data" not in content):
        return _text(error), True
    return _text(content.get("data", content)), False


def write_content(text: str, is_error: bool) -> dict[str, Any]:
    """Return the content of a result that is a text."""
    return {"error": text} if is_error else {"data": text}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)
