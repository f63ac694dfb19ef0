"""Requests of Anthropic's messages API, put into OpenAI's words.

Blocks of messages are put into text and images, which is all that many models know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools import formats
from xmltools.errors import Issue, XMLToolsError
from xmltools.models import Conversation
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.requests.client_tools import anthropic_client_tool
from xmltools.proxy.bridge.requests.incoming import (
    SAMPLING,
    UNKNOWN_FIELD,
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
    ("model", "messages", "system", "tools", "tool_choice", "stream", "stop_sequences", "max_tokens", "metadata")
) | {"thinking", "service_tier"}
_NO_FORMAT = "replies of a given form are not supported here; leave it out"
_HINTS = {
    "container": "there is no code execution behind this endpoint; leave it out",
    "mcp_servers": "there are no servers behind this endpoint; give their tools as tools",
    "context_management": "contexts are not edited here; send the messages that the model is to see",
    "stream_options": "this is a field of OpenAI's API, not of this one; leave it out",
    "parallel_tool_calls": "this is a field of OpenAI's API, not of this one; leave it out",
}
"""Fields without which the reply is no worse, and why nothing comes of them."""
_REFUSED = dict.fromkeys(
    ("n", "stop", "response_format", "functions", "function_call"),
    "this is a field of OpenAI's API, not of this one; leave it out",
)
_REFUSED_IF_STRICT = {**_REFUSED, **_HINTS, "output_config": _NO_FORMAT, "output_format": _NO_FORMAT}
_ENGINE = SAMPLING | {
    *("guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs", "ignore_eos"),
    *("reasoning_effort", "skip_special_tokens", "include_stop_str_in_output", "cache_prompt", "grammar"),
}
"""What the upstream gets as it is: nothing of it has another meaning in Anthropic's API."""
_MOST_TOKENS = 2**31 - 1
_BLOCKS = ("text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking")
_NO_FILES = "no files are kept here; give what is in it, as base64 or as text"


def read_messages_request(body: Mapping[str, Any], *, strict: bool = False) -> Incoming:
    """Read the body of a request. What is not known is passed over, or refused if it is to be `strict`.

    Raises Refusal for what is malformed, or can't be honoured.
    """
    notes = Notes(strict)
    tools = read_tools(body.get("tools"), lambda definition, at: _tool(definition, at, notes), notes)
    choice, parallel = _choice(body.get("tool_choice"))
    fields = _fields(body, notes, bool(choice.of(tools)))
    if body.get("max_tokens") is not None:
        fields["max_tokens"] = whole_number(body, "max_tokens", 1, _MOST_TOKENS)
    return Incoming(
        model=model_of(body),
        conversation=_conversation(body, notes),
        tools=tools,
        choice=choice,
        parallel=parallel,
        stream=flag(body, "stream", False),
        include_usage=True,
        stop=stops_of(body.get("stop_sequences"), "stop_sequences"),
        show_reasoning=_thinking(body.get("thinking"), notes),
        fields=fields,
        notes=notes,
    )


def _fields(body: Mapping[str, Any], notes: Notes, may_call: bool) -> dict[str, Any]:
    """Return the fields for the upstream's chat completions."""
    fields: dict[str, Any] = {}
    for name, value in fields_of(body, _KNOWN, _REFUSED_IF_STRICT if notes.strict else _REFUSED).items():
        if name in _ENGINE:
            fields[name] = value
        elif name == "output_config" and isinstance(value, Mapping):
            fields |= _reply_format(value.get("format"), "output_config.format", may_call)
            for each in value:
                if each != "format" and value[each] is not None:
                    notes.ignore(f"{name}.{each}", "")
        elif name == "output_format":
            fields |= _reply_format(value, name, may_call)
        elif value not in (None, False, [], {}):
            notes.ignore(name, UNKNOWN_FIELD)
    return fields


def _reply_format(form: Any, at: str, may_call: bool) -> dict[str, Any]:
    """Return how chat completions ask for a reply of a form."""
    if form is None:
        return {}
    if may_call:
        raise refusal(at, "a reply that must be JSON can't hold calls as text; leave it out, or the tools")
    schema = form.get("schema") if isinstance(form, Mapping) and form.get("type") == "json_schema" else None
    if not isinstance(schema, Mapping):
        raise wrong(at, '{"type": "json_schema", "schema": {...}}', form)
    named = {"name": "reply", "schema": schema, "strict": True}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _thinking(value: Any, notes: Notes) -> bool:
    """Return whether the client is to hear of the model's thoughts. How many there are is the model's affair."""
    if value is None:
        return True
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in ("enabled", "adaptive", "disabled"):
        right = f'expected {{"type": "enabled" | "adaptive" | "disabled"}}, got {value!r:.80}'
        if not isinstance(kind, str):
            raise refusal("thinking", right)
        notes.ignore("thinking", right)
    return bool(kind != "disabled" and value.get("display") != "omitted")


def _conversation(body: Mapping[str, Any], notes: Notes) -> Conversation:
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        raise wrong("messages", "a list of at least one message", body.get("messages"))
    issues: list[Issue] = []
    source = {"messages": _plain_blocks(body["messages"], notes)}
    if body.get("system"):
        source["system"] = body["system"]
    try:
        loaded = formats.load(source, "anthropic", issues=issues)
    except XMLToolsError as error:
        at = "system" if str(error).startswith("system: ") else "messages"
        raise refusal(at, str(error).removeprefix("system: ")) from None
    notes.take(issues)
    return system_first(loaded)


def _tool(definition: Any, at: str, notes: Notes) -> Tool | None:
    """Return a tool, None for one that Anthropic's servers run, or that can't be read."""
    kind = definition.get("type") if isinstance(definition, Mapping) else None
    if kind in (None, "custom"):
        return read_tool(definition, at, notes)
    if kind == "function":
        why = (
            "expected name and input_schema, as Anthropic's API has them, got a tool in the form of OpenAI's; send "
            '{"name": ..., "description": ..., "input_schema": {...}}'
        )
        raise Refusal(f"{at}: {why}", param=at, code="invalid_tool")
    known = None if notes.strict else anthropic_client_tool(definition)
    if known is not None:
        return read_tool(known, at, notes)
    why = (
        f"{kind!r:.60} is a tool of Anthropic's servers, which are not behind this endpoint; "
        "give a tool with an input_schema"
    )
    if not isinstance(kind, str):
        raise refusal(at, why)
    notes.leave_out(at, kind, why)
    return None


def _choice(value: Any) -> tuple[Choice, bool]:
    if value is None:
        return Choice(), True
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in ("auto", "any", "tool", "none"):
        raise wrong("tool_choice", '{"type": "auto" | "any" | "tool" | "none"}', value)
    parallel = not flag(value, "disable_parallel_tool_use", False, "tool_choice.")
    if kind == "tool":
        name = value.get("name")
        if not isinstance(name, str):
            raise refusal("tool_choice", 'expected {"type": "tool", "name": ...}, got no name')
        return Choice("required", (name,), named=True), parallel
    return Choice({"auto": "auto", "any": "required", "none": "none"}[kind]), parallel  # type: ignore[arg-type]


# Blocks


def _plain_blocks(messages: list[Any], notes: Notes) -> list[Any]:
    """Return messages whose blocks can be read anywhere: documents and search results that are text become it.

    What tools of Anthropic's servers did, and blocks that are not known, are noted and left out. Raises Refusal for a
    block that refers to a file, and for one that is left out if it is to be strict.
    """
    return [_with_plain(message, f"messages[{number}].", notes) for number, message in enumerate(messages)]


def _with_plain(source: Any, at: str, notes: Notes) -> Any:
    if not isinstance(source, Mapping) or not isinstance(source.get("content"), list):
        return source
    blocks = enumerate(source["content"])
    content = [plain for number, each in blocks for plain in _plain(each, f"{at}content[{number}]", notes)]
    return {**source, "content": content}


def _plain(block: Any, at: str, notes: Notes) -> list[Any]:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(kind, str):
        return [block]  # which is no block: its reader says so
    source = block.get("source")
    if kind == "container_upload" or (isinstance(source, Mapping) and source.get("type") == "file"):
        raise Refusal(f"{at}: {_NO_FILES}", param="messages")
    if kind == "document" and isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        inner = source.get("data") if source["type"] == "text" else source.get("content")
        return [*_heading(block, "title", "context"), *_inside(inner, at, notes)]
    if kind == "search_result":
        return [*_heading(block, "title", "source"), *_inside(block.get("content"), at, notes)]
    if kind == "tool_result":
        return [_with_plain(block, f"{at}.", notes)]
    if kind in _BLOCKS:
        return [block]
    if kind == "tool_reference" and isinstance(block.get("tool_name"), str):
        notes.deferred.discard(block["tool_name"])
        return [{"type": "text", "text": f"Found, and from now on among your tools: {block['tool_name']}\n"}]
    notes.ignore(f"messages.{kind}", "blocks of this type can't be read here; leave it out", at)
    return []


def _heading(block: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    lines = [block[name] for name in names if isinstance(block.get(name), str) and block[name]]
    return [{"type": "text", "text": "\n".join(lines) + "\n"}] if lines else []


def _inside(content: Any, at: str, notes: Notes) -> list[Any]:
    """Return the blocks of what is text, or a list of blocks. Raises Refusal for anything else."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise Refusal(f"{at}: expected text or a list of blocks in it, got {content!r:.60}", param="messages")
    return list(_with_plain({"content": content}, f"{at}.", notes)["content"])
