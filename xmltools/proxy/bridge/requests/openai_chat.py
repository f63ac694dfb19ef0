"""Requests of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools import formats
from xmltools.errors import Issue, XMLToolsError
from xmltools.models import Conversation
from xmltools.proxy.bridge.requests.client_tools import read_custom_tool
from xmltools.proxy.bridge.requests.incoming import (
    Choice,
    Incoming,
    Notes,
    fields_of,
    flag,
    model_of,
    read_tool,
    read_tools,
    stops_of,
    system_first,
    whole_number,
)
from xmltools.proxy.bridge.requests.responses_fields import refusal, wrong
from xmltools.tools import Tool

_KNOWN = frozenset(
    ("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "n", "stop")
)
_REFUSED = {
    "functions": 'the old form of tools is not read; send "tools": [{"type": "function", "function": {...}}]',
    "function_call": 'the old form of tool_choice is not read; send "tool_choice"',
}
_WITH_TOOLS = {
    "logprobs": "probabilities can't be kept where calls are cut out of the text; leave it out, or the tools",
    "top_logprobs": "probabilities can't be kept where calls are cut out of the text; leave it out, or the tools",
    "audio": "a spoken reply can't hold calls as text; leave it out, or the tools",
}


def read_chat_request(body: Mapping[str, Any], *, strict: bool = False) -> Incoming:
    """Read the body of a request: fields that say nothing about tools go to the upstream as they are.

    A custom tool gets one argument, its input. Tools that the client does not run are left out, or refused if it is to
    be `strict`. Raises Refusal for what is malformed, or can't be honoured.
    """
    notes = Notes(strict)
    custom: set[str] = set()
    tools = read_tools(body.get("tools"), lambda definition, at: _tool(definition, at, notes, custom), notes)
    choice = _choice(body.get("tool_choice")).without(notes.left_out)
    fields = fields_of(body, _KNOWN, {**_REFUSED, **(_WITH_TOOLS if choice.of(tools) else {})})
    _check_format(fields, choice.of(tools))
    options = body.get("stream_options") or {}
    if not isinstance(options, Mapping):
        raise wrong("stream_options", "an object", options)
    return Incoming(
        model=model_of(body),
        conversation=_conversation(body.get("messages"), notes),
        tools=tools,
        choice=choice,
        parallel=flag(body, "parallel_tool_calls", True),
        stream=flag(body, "stream", False),
        include_usage=flag(options, "include_usage", False, "stream_options."),
        choices=whole_number(body, "n", 1, 128),
        stop=stops_of(body.get("stop"), "stop"),
        fields=fields,
        custom=frozenset(custom),
        notes=notes,
    )


def _conversation(messages: Any, notes: Notes) -> Conversation:
    issues: list[Issue] = []
    if not isinstance(messages, list) or not messages:
        raise wrong("messages", "a list of at least one message", messages)
    try:
        loaded = formats.load([_with_refusal_said(each) for each in messages], "openai", issues=issues)
    except XMLToolsError as error:
        raise refusal("messages", str(error)) from None
    notes.take(issues)
    return system_first(loaded)


def _with_refusal_said(message: Any) -> Any:
    """Return a message in which a refusal of the model is text: the model is to see what it said, and only OpenAI's own
    models have another place for it."""
    if not isinstance(message, Mapping) or message.get("role") != "assistant":
        return message
    content, said = message.get("content"), message.get("refusal")
    if isinstance(content, list):
        content = [_as_text(part) for part in content]
    if isinstance(said, str) and said:
        if isinstance(content, list):
            content.append({"type": "text", "text": said})
        elif not content:
            content = said
        elif isinstance(content, str):
            content = f"{content}\n{said}"
    return message if content == message.get("content") else {**message, "content": content}


def _as_text(part: Any) -> Any:
    is_refusal = isinstance(part, Mapping) and part.get("type") == "refusal" and isinstance(part.get("refusal"), str)
    return {"type": "text", "text": part["refusal"]} if is_refusal else part


def _tool(definition: Any, at: str, notes: Notes, custom: set[str]) -> Tool | None:
    """Return a tool, and put the name of a custom one into `custom`; None for one that is left out."""
    kind = definition.get("type", "function") if isinstance(definition, Mapping) else "function"
    if kind == "function":
        return read_tool(definition, at, notes)
    if kind == "custom":
        inner = definition.get("custom")
        if not isinstance(inner, Mapping):
            raise wrong(f"{at}.custom", '{"name": ...}', inner)
        if tool := read_custom_tool(inner, f"{at}.custom", notes):
            custom.add(tool.name)
        return tool
    why = (
        f'only tools of the types "function" and "custom" can be called in text, got {kind!r:.40}; '
        "give a function that does it"
    )
    if not isinstance(kind, str):
        raise refusal(at, why)
    notes.leave_out(at, kind, why)
    return None


def _choice(value: Any) -> Choice:
    """Return what `tool_choice` asks for. Raises Refusal for what it is not."""
    if value is None:
        return Choice()
    if isinstance(value, str) and value in ("auto", "none", "required"):
        return Choice(value)  # type: ignore[arg-type]
    if isinstance(value, Mapping) and (found := _named(value)) is not None:
        return found
    raise wrong(
        "tool_choice",
        '"auto", "none", "required", {"type": "function", "function": {"name": ...}}, '
        '{"type": "custom", "custom": {"name": ...}} or '
        '{"type": "allowed_tools", "allowed_tools": {"mode": ..., "tools": [...]}}',
        value,
    )


def _named(value: Mapping[str, Any]) -> Choice | None:
    if value.get("type") in ("function", "custom"):
        name = _name_of(value)
        return Choice("required", (name,), named=True) if name is not None else None
    if value.get("type") == "allowed_tools":
        inner = value.get("allowed_tools", value)
        return _allowed(inner) if isinstance(inner, Mapping) else None
    return None


def _allowed(inner: Mapping[str, Any]) -> Choice | None:
    mode, tools = inner.get("mode", "auto"), inner.get("tools")
    if mode not in ("auto", "required") or not isinstance(tools, list):
        return None
    names = [_name_of(each) for each in tools]
    return Choice(mode, tuple(name for name in names if name is not None)) if None not in names else None


def _name_of(tool: Any) -> str | None:
    inner = tool.get(str(tool.get("type", "function")), tool) if isinstance(tool, Mapping) else None
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name if isinstance(name, str) else None


def _check_format(fields: Mapping[str, Any], tools: list[Tool]) -> None:
    form = fields.get("response_format")
    if tools and isinstance(form, Mapping) and form.get("type") not in (None, "text"):
        why = "a reply that must be JSON can't hold calls as text; leave it out, or the tools"
        raise refusal("response_format", why)
