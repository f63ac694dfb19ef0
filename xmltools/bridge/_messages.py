"""Requests of Anthropic's messages API, put into OpenAI's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools import formats
from xmltools.bridge._errors import Refusal
from xmltools.bridge._incoming import Choice, Incoming, fields_of, flag, model_of, read_tools, stops_of, whole_number
from xmltools.errors import XMLToolsError
from xmltools.models import Conversation

__all__ = ["read_messages_request"]

_KNOWN = frozenset(
    ("model", "messages", "system", "tools", "tool_choice", "stream", "stop_sequences", "max_tokens", "metadata")
) | {"thinking", "service_tier"}
_REFUSED = {
    "container": "there is no code execution behind this endpoint; leave it out",
    "mcp_servers": "there are no servers behind this endpoint; give their tools as tools",
    "context_management": "contexts are not edited here; send the messages that the model is to see",
    "output_config": "replies of a given form are not supported here; leave it out",
    "output_format": "replies of a given form are not supported here; leave it out",
    **dict.fromkeys(
        ("n", "stop", "stream_options", "response_format", "functions", "function_call", "parallel_tool_calls"),
        "this is a field of OpenAI's API, not of this one; leave it out",
    ),
}
_MOST_TOKENS = 2**31 - 1


def read_messages_request(body: Mapping[str, Any]) -> Incoming:
    """Read the body of a request. Raises Refusal for what is malformed, or can't be honoured."""
    tools = read_tools(body.get("tools"), _refused)
    choice, parallel = _choice(body.get("tool_choice"))
    fields = fields_of(body, _KNOWN, _REFUSED)
    if body.get("max_tokens") is not None:
        fields["max_tokens"] = whole_number(body, "max_tokens", 1, _MOST_TOKENS)
    return Incoming(
        model=model_of(body),
        conversation=_conversation(body),
        tools=tools,
        choice=choice,
        parallel=parallel,
        stream=flag(body, "stream", False),
        include_usage=True,
        stop=stops_of(body.get("stop_sequences"), "stop_sequences"),
        show_reasoning=_thinking(body.get("thinking")),
        fields=fields,
    )


def _thinking(value: Any) -> bool:
    """Return whether the client is to hear of the model's thoughts. How many there are is the model's affair."""
    if value is None:
        return True
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in ("enabled", "adaptive", "disabled"):
        raise Refusal(
            f'thinking: expected {{"type": "enabled" | "adaptive" | "disabled"}}, got {value!r:.80}', param="thinking"
        )
    return bool(kind != "disabled" and value.get("display") != "omitted")


def _conversation(body: Mapping[str, Any]) -> Conversation:
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise Refusal("messages: expected a list of at least one message", param="messages")
    source = {key: body[key] for key in ("system", "messages") if body.get(key)}
    try:
        return formats.load(source, "anthropic", issues=[])
    except XMLToolsError as error:
        raise Refusal(f"messages: {error}", param="messages") from None


def _refused(definition: Mapping[str, Any]) -> str:
    kind = definition.get("type")
    if kind in (None, "custom"):
        return ""
    return (
        f"{kind!r:.60} is a tool of Anthropic's servers, which are not behind this endpoint; "
        "give a tool with an input_schema"
    )


def _choice(value: Any) -> tuple[Choice, bool]:
    if value is None:
        return Choice(), True
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in ("auto", "any", "tool", "none"):
        raise Refusal(
            f'tool_choice: expected {{"type": "auto" | "any" | "tool" | "none"}}, got {value!r:.80}',
            param="tool_choice",
        )
    parallel = not flag(value, "disable_parallel_tool_use", False)
    if kind == "tool":
        name = value.get("name")
        if not isinstance(name, str):
            raise Refusal("tool_choice: a choice of the type tool has the name of the tool", param="tool_choice")
        return Choice("required", (name,), named=True), parallel
    return Choice({"auto": "auto", "any": "required", "none": "none"}[kind]), parallel  # type: ignore[arg-type]
