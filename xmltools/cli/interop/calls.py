"""Calls in the forms of OpenAI, Anthropic, MCP and Gemini, and in our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.foreign_fields import Object, at, expect_format, found, id_of, keys_of, object_of, text_of
from xmltools.syntax.json_reader import JSONError, loads

_SHOWN = {
    "xmltools": '{"name": "…", "arguments": {…}, "server": "…"} (xmltools; the server may be left out)',
    "openai": '{"id": "…", "type": "function", "function": {"name": "…", "arguments": "{…}"}} (OpenAI chat), '
    '{"type": "function_call", "call_id": "…", "name": "…", "arguments": "{…}"} (OpenAI Responses)',
    "anthropic": '{"type": "tool_use", "id": "…", "name": "…", "input": {…}} (Anthropic)',
    "mcp": '{"method": "tools/call", "params": {"name": "…", "arguments": {…}}} (MCP; or the params alone)',
    "gemini": '{"functionCall": {"name": "…", "args": {…}}} (Gemini; or the inner object alone)',
}
_OWN_KEYS = (*ToolCall.model_fields, "clean")
"""The fields of a call that was dumped, and those that `xmltools parse` prints."""
_MESSAGE_FORMATS = ("auto", "openai", "anthropic")
_MESSAGE_KEYS = ("content", "tool_calls", "function_call")


def load_calls(value: Any, format: str = "auto") -> list[ToolCall]:
    """Read calls in the form of another program.

    Takes one call, a list of them, or for OpenAI and Anthropic a whole assistant message, which may be in the list
    too; `format` is one of `CALL_FORMATS`. Returns the calls in order; an id that is missing is "". Where a call names
    no server, its `server` is the default and not in its `model_fields_set`. Raises `XMLToolsError` for anything else.
    """
    expect_format(format, CALL_FORMATS)
    if not isinstance(value, list):
        return _read_entry(value, format)
    calls: list[ToolCall] = []
    for position, each in enumerate(value):
        with at(f"call {position} of the list"):
            calls += _read_entry(each, format)
    return calls


def _read_entry(value: Any, format: str) -> list[ToolCall]:
    """Read a call or a message."""
    if format in _MESSAGE_FORMATS and isinstance(value, Mapping) and _is_message(value):
        return _read_message(value, format)
    return [_read_call(value, format)]


def _is_message(value: Object) -> bool:
    return "tool_calls" in value or ("role" in value and any(key in value for key in _MESSAGE_KEYS))


def _read_message(message: Object, format: str) -> list[ToolCall]:
    role = message.get("role", "assistant")
    if role != "assistant":
        raise XMLToolsError(f"expected a message of the role 'assistant', got {found(role, is_word=True)}")
    calls = []
    for place, each in _calls_in(message):
        with at(place):
            calls.append(_read_call(each, format))
    return calls


def _calls_in(message: Object) -> Iterator[tuple[str, Any]]:
    """Yield what is a call in a message, whoever wrote it, after its place; so that no format passes over others."""
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise XMLToolsError(f"tool_calls: expected a list, got {found(calls)}")
    yield from ((f"tool_calls[{position}]", each) for position, each in enumerate(calls or ()))
    if message.get("function_call") is not None:
        yield "function_call", message["function_call"]
    content = message.get("content")
    for position, block in enumerate(content if isinstance(content, list) else ()):
        if isinstance(block, Mapping) and block.get("type") == "tool_use":
            yield f"content[{position}]", block


def _read_call(value: Any, format: str) -> ToolCall:
    if isinstance(value, Mapping):
        for read in _READERS.values() if format == "auto" else (_READERS[format],):
            call = read(value)
            if call is not None:
                return call
    forms = ", ".join(_SHOWN.values()) if format == "auto" else _SHOWN[format]
    raise XMLToolsError(f"expected a call, got {keys_of(value)}; accepted: {forms}")


# Each of these returns None for what has another form.


def _anthropic(value: Object) -> ToolCall | None:
    return _call(value, object_of(value, "input")) if value.get("type") == "tool_use" else None


def _openai(value: Object) -> ToolCall | None:
    if value.get("type") == "function_call":
        return _call(value, _text_arguments(value), id=id_of(value, "call_id"))
    function = value.get("function")
    if isinstance(function, Mapping) and "arguments" in function:
        with at("function"):
            return _call(function, _text_arguments(function), id=id_of(value, "id"))
    if _only(value, "id", "arguments") and isinstance(value.get("arguments"), str):
        return _call(value, _text_arguments(value))
    return None


def _gemini(value: Object) -> ToolCall | None:
    for key in ("functionCall", "function_call"):
        if isinstance(value.get(key), Mapping):
            with at(key):
                return _call(value[key], _arguments(value[key], "args"))
    return _call(value, _arguments(value, "args")) if _only(value, "id", "args") else None


def _mcp(value: Object) -> ToolCall | None:
    if value.get("method") == "tools/call":
        params = object_of(value, "params")
        with at("params"):
            return _call(params, _arguments(params), id=id_of(value, "id"))
    return _call(value, _arguments(value)) if _only(value, "arguments", "_meta") else None


def _own(value: Object) -> ToolCall | None:
    if not _only(value, *_OWN_KEYS) or value.get("type", "call") != "call":
        return None
    call = _call(value, _arguments(value))
    return call if value.get("server") is None else call.model_copy(update={"server": text_of(value, "server")})


# The order is that of "auto": what is marked clearly comes first.
_READERS: dict[str, Callable[[Object], ToolCall | None]] = {
    "anthropic": _anthropic,
    "openai": _openai,
    "gemini": _gemini,
    "mcp": _mcp,
    "xmltools": _own,
}
CALL_FORMATS = ("auto", *_SHOWN)


def _only(value: Object, *others: str) -> bool:
    """Return whether an object has a name, and besides it no keys but these: no definition of a tool."""
    return "name" in value and set(value) <= {"name", *others}


def _call(source: Object, arguments: Object, *, id: str | None = None) -> ToolCall:
    own = id_of(source, "id") if id is None else id
    return ToolCall(id=own, name=text_of(source, "name"), arguments=dict(arguments))


def _arguments(source: Object, key: str = "arguments") -> Object:
    return {} if source.get(key) is None else object_of(source, key)


def _text_arguments(source: Object) -> Object:
    """Return arguments that are JSON text. Some servers that copy OpenAI write the object itself."""
    given = source.get("arguments")
    if not isinstance(given, str):
        return _arguments(source)
    if not given.strip():
        return {}
    try:
        value, _ = loads(given)
    except JSONError as error:
        raise XMLToolsError(f"arguments: expected the JSON text of an object: {error}") from None
    if not isinstance(value, Mapping):
        raise XMLToolsError(f"arguments: expected the JSON text of an object, got that of {found(value)}")
    return value
