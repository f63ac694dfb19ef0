"""RobotLab's adapters: its messages, tools and choices as it sends them to Anthropic, OpenAI and Gemini.

These functions do what RobotLab does, also where the formats of this package say more: the error flag of a result is
not sent to Anthropic, and ids are not sent to Gemini. But messages of one role that follow each other, such as a text
and calls, or the results of several calls, are one message for Anthropic and Gemini, which want the roles to alternate.
To write a conversation as well as an API allows, load it and dump it in the format of that API.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.robotlab.messages import Message, ToolCallMessage, ToolMessage, ToolResultMessage, spoken
from xmltools.formats.shared.extra import compact
from xmltools.tools import Tool

_Hash = Message | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Provider:
    """How RobotLab talks to an API: its messages, tools, choice of tools, and the arguments of a call."""

    name: str
    format_messages: Callable[[Iterable[_Hash]], list[dict[str, Any]]]
    format_tools: Callable[[Iterable[Tool]], list[dict[str, Any]]]
    tool_choice: Callable[[str], Any]
    parse_arguments: Callable[[Any], dict[str, Any]]


def provider(name: str) -> Provider:
    """Return the adapter of a provider, in any case and with - or _. Raises XMLToolsError if there is none."""
    found = _PROVIDERS.get(str(name).lower().replace("-", "_"))
    if found is None:
        raise XMLToolsError(f"Unknown provider: {str(name)[:80]}. Available providers: {', '.join(_PROVIDERS)}")
    return found


def system_prompt(messages: Iterable[_Hash]) -> Any:
    """Return the content of the system messages, which Anthropic and Gemini get apart; None if there is none.

    Several are joined, with an empty line between them: RobotLab itself sends the first, and the others are lost.
    Raises XMLToolsError if one of several is no text.
    """
    said = [each.content for each in map(spoken, messages) if each.is_system]
    if len(said) < 2:
        return said[0] if said else None
    for each in said:
        if each is not None and not isinstance(each, str):
            raise XMLToolsError(f"system messages: expected texts, which can be joined, got {type(each).__name__}")
    return "\n\n".join(filter(None, said))


def _spoken(messages: Iterable[_Hash]) -> Iterable[Message]:
    """Yield the messages that are no system prompt."""
    return (each for each in map(spoken, messages) if not each.is_system)


def _by_role(written: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return messages as groups of those of one role that follow each other."""
    return [list(group) for _, group in groupby(written, itemgetter("role"))]


# Anthropic


def to_anthropic(messages: Iterable[_Hash]) -> list[dict[str, Any]]:
    """Write messages for Anthropic, without system messages (see `system_prompt`).

    Neighbours of one role are one message: texts with an empty line between them, all else as blocks. Takes Messages or
    hashes. Raises XMLToolsError for a hash of no message, as all of these functions do.
    """
    return [_joined(group) for group in _by_role(map(_to_anthropic, _spoken(messages)))]


def _joined(group: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the messages of one role as one."""
    if len(group) == 1:
        return group[0]
    contents = [message["content"] for message in group if message["content"]]
    if all(isinstance(content, str) for content in contents):
        return {**group[0], "content": "\n\n".join(contents)}
    return {**group[0], "content": [block for content in contents for block in _blocks(content)]}


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": _text_of(content)}]


def _to_anthropic(message: Message) -> dict[str, Any]:
    match message:
        case ToolCallMessage():
            return {"role": "assistant", "content": [anthropic_tool_call(call) for call in message.calls]}
        case ToolResultMessage():
            content = _anthropic_content(message.content)
            block = {"type": "tool_result", "tool_use_id": message.call.id, "content": content}
            return {"role": "user", "content": [block]}
    return {"role": message.role, "content": message.content}


def anthropic_tool_call(call: ToolMessage | Mapping[str, Any]) -> dict[str, Any]:
    """Write a call as a block for Anthropic."""
    call = ToolMessage.from_hash(call)
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}


def _anthropic_content(content: Any) -> str:
    if not isinstance(content, Mapping):
        return _text_of(content)
    data = content.get("data")
    # Only nil and false are not true in Ruby.
    if _is_nothing(content.get("error")) and not _is_nothing(data):
        return data if isinstance(data, str) else compact(data)
    return compact(content)


def _is_nothing(value: Any) -> bool:
    return value is None or value is False


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "" if content is None else compact(content)


def _anthropic_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)} for tool in tools
    ]


def _anthropic_choice(choice: str) -> dict[str, Any]:
    # RobotLab does not know "none" here: it asks for a tool of that name.
    return {"type": choice} if choice in ("auto", "any") else {"type": "tool", "name": choice}


# OpenAI


def to_openai(messages: Iterable[_Hash]) -> list[dict[str, Any]]:
    """Write messages for OpenAI's chat API, system messages among them. Takes Messages or hashes."""
    return [_to_openai(spoken(each)) for each in messages]


def _to_openai(message: Message) -> dict[str, Any]:
    match message:
        case ToolCallMessage():
            calls = [{"id": call.id, **openai_tool_call(call)} for call in message.calls]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        case ToolResultMessage():
            return {"role": "tool", "tool_call_id": message.call.id, "content": _text_of(message.content)}
    return {"role": message.role, "content": message.content}


def openai_tool_call(call: ToolMessage | Mapping[str, Any]) -> dict[str, Any]:
    """Write a call for OpenAI, without its id, which stands before these keys in a message."""
    call = ToolMessage.from_hash(call)
    return {"type": "function", "function": {"name": call.name, "arguments": compact(call.input)}}


def _openai_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {**_declaration(tool), "strict": True}} for tool in tools]


def _declaration(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _openai_choice(choice: str) -> Any:
    known = {"auto": "auto", "any": "required", "none": "none"}
    return known.get(choice) or {"type": "function", "function": {"name": choice}}


# Gemini


def to_gemini(messages: Iterable[_Hash]) -> list[dict[str, Any]]:
    """Write messages as contents for Gemini, without system messages (see `system_prompt`). Takes Messages or hashes.

    Neighbours of one role are one content. The ids of calls are lost: Gemini matches results by the names of tools.
    """
    groups = _by_role(map(_to_gemini, _spoken(messages)))
    return [{**group[0], "parts": [part for each in group for part in each["parts"]]} for group in groups]


def _to_gemini(message: Message) -> dict[str, Any]:
    match message:
        case ToolCallMessage():
            calls = [{"functionCall": {"name": call.name, "args": call.input}} for call in message.calls]
            return {"role": "model", "parts": calls}
        case ToolResultMessage():
            response = {"name": message.call.name, "response": _gemini_response(message.content)}
            return {"role": "user", "parts": [{"functionResponse": response}]}
    return {"role": "model" if message.is_assistant else message.role, "parts": [{"text": message.content}]}


def _gemini_response(content: Any) -> dict[str, Any]:
    return dict(content) if isinstance(content, Mapping) else {"result": _text_of(content)}


def _gemini_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    return [{**_declaration(tool), "parameters": _closed(tool.parameters)} for tool in tools]


def _closed(schema: Any) -> Any:
    """Return a schema without additionalProperties, which Gemini refuses; RobotLab does not look into items."""
    if not isinstance(schema, Mapping):
        return schema
    cleaned = {key: value for key, value in schema.items() if key != "additionalProperties"}
    if isinstance(cleaned.get("properties"), Mapping):
        cleaned["properties"] = {name: _closed(each) for name, each in cleaned["properties"].items()}
    return cleaned


def _gemini_choice(choice: str) -> dict[str, Any]:
    if choice in ("auto", "any", "none"):
        return {"mode": choice.upper()}
    return {"mode": "ANY", "allowed_function_names": [choice]}


# Arguments

_FENCE_START = re.compile(r"```(?:json)?\n?")


def _parse_arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call: an object, or a text that holds one; another text is {"raw": text}."""
    if isinstance(arguments, str):
        return _parse(arguments, arguments)
    return dict(arguments) if isinstance(arguments, Mapping) else {}


def _parse_fenced_arguments(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call, whose text may stand in a Markdown fence."""
    if not isinstance(arguments, str):
        return _parse_arguments(arguments)
    start = _FENCE_START.match(arguments)
    text = arguments[start.end() :] if start else arguments
    return _parse(text.removesuffix("```").removesuffix("\n") if text.endswith("```") else text, arguments)


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {"raw": source}
    return read if isinstance(read, dict) else {"raw": source}


_ANTHROPIC = Provider("Anthropic", to_anthropic, _anthropic_tools, _anthropic_choice, _parse_arguments)
_OPENAI = Provider("OpenAI", to_openai, _openai_tools, _openai_choice, _parse_fenced_arguments)
_GEMINI = Provider("Gemini", to_gemini, _gemini_tools, _gemini_choice, _parse_arguments)
_PROVIDERS = {
    "anthropic": _ANTHROPIC,
    "openai": _OPENAI,
    "gemini": _GEMINI,
    "azure_openai": _OPENAI,
    "grok": _OPENAI,
    "ollama": _OPENAI,
    "openrouter": _OPENAI,
    "bedrock": _ANTHROPIC,
    "vertexai": _GEMINI,
}
