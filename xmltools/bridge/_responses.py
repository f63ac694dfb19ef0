"""Requests of OpenAI's Responses API.

Nothing is kept between requests, so whatever refers to an earlier one is refused; so are tools that OpenAI's servers
run, and fields that nothing behind this endpoint could honour.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.bridge._incoming import (
    Choice,
    Incoming,
    check_tools,
    flag,
    model_of,
    read_tool,
    stops_of,
    whole_number,
)
from xmltools.bridge._responses_fields import Object, check_only, list_in, object_in, refusal, wrong
from xmltools.bridge._responses_input import NO_MEMORY, read_input
from xmltools.tools import Tool

__all__ = ["read_responses_request"]

_READ = frozenset(
    (
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "stop"),
        *("max_output_tokens", "text", "reasoning", "n", "include", "truncation", "stream_options"),
        *("metadata", "store", "max_tool_calls"),  # the response repeats them; there is nothing else to do
    )
)
_SAME = frozenset(
    (
        *("temperature", "top_p", "user", "service_tier", "safety_identifier", "seed", "prediction", "logit_bias"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "frequency_penalty"),
        *("presence_penalty", "top_k", "min_p", "repetition_penalty", "min_tokens", "stop_token_ids"),
        "chat_template_kwargs",
    )
)
"""Fields that chat completions have too: OpenAI's, and then those of common inference engines."""
_TAKEN = _READ | _SAME
_NO_LOGPROBS = "probabilities of tokens can't be kept where calls are cut out of the text; leave it out"
_REFUSED = {
    "previous_response_id": NO_MEMORY,
    "conversation": NO_MEMORY,
    "background": "a response is made while the client waits; leave it out",
    "prompt": "no prompts are stored here; write its text as instructions",
    "context_management": "contexts are not edited here; send the items that the model is to see",
    "logprobs": _NO_LOGPROBS,
    "top_logprobs": _NO_LOGPROBS,
    "messages": "this API calls it input",
    "max_tokens": "this API calls it max_output_tokens",
    "max_completion_tokens": "this API calls it max_output_tokens",
    "response_format": "this API calls it text.format",
    "verbosity": "this API calls it text.verbosity",
    "reasoning_effort": "this API calls it reasoning.effort",
}
_INCLUDED = (
    "reasoning.encrypted_content",  # reasoning is sent back as it is, so there is nothing to encrypt
    "message.input_image.image_url",
    "web_search_call.action.sources",
    "web_search_call.results",
    "file_search_call.results",
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
)
"""What may be asked for: it is there anyhow, or belongs to tools that are refused."""
_CUSTOM = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The whole input, as plain text."}},
    "required": ["input"],
    "additionalProperties": False,
}


def read_responses_request(body: Object) -> Incoming:
    """Read the body of a request. Raises Refusal for what is malformed, or can't be honoured."""
    _check_fields(body)
    definitions = list_in(body, "tools")
    tools = check_tools([_tool(each, f"tools[{number}]") for number, each in enumerate(definitions)])
    choice = _choice(body.get("tool_choice"))
    return Incoming(
        model=model_of(body),
        conversation=read_input(body),
        tools=tools,
        choice=choice,
        parallel=flag(body, "parallel_tool_calls", True),
        stream=flag(body, "stream", False),
        include_usage=True,
        stop=stops_of(body.get("stop"), "stop"),
        fields=_fields(body, bool(choice.of(tools))),
        echo={**{key: body[key] for key in body if key not in ("input", "stream")}, "store": False},
        custom=frozenset(each["name"] for each in definitions if each["type"] == "custom"),
    )


def _check_fields(body: Object) -> None:
    for name in body:
        if name not in _TAKEN and body[name] not in (None, False, [], {}):
            raise refusal(
                name[:80], _REFUSED.get(name, "this field is not known here, and may mean much; leave it out")
            )
    whole_number(body, "n", 1, 1)
    if body.get("truncation") not in (None, "auto", "disabled"):
        raise wrong("truncation", "auto or disabled", body["truncation"])
    for name in list_in(body, "include"):
        if name not in _INCLUDED:
            raise refusal("include", f"{name!r:.80} can't be given here; leave it out")
    if flag(object_in(body, "stream_options"), "include_obfuscation", False):
        raise refusal("stream_options.include_obfuscation", "streams are not padded here; send false")


def _fields(body: Object, may_call: bool) -> dict[str, Any]:
    """Return the fields for the upstream's chat completions."""
    fields = {name: body[name] for name in body if name in _SAME and body[name] is not None}
    if body.get("max_output_tokens") is not None:
        fields["max_tokens"] = whole_number(body, "max_output_tokens", 1, 10**9)
    text, reasoning = object_in(body, "text"), object_in(body, "reasoning")
    check_only(text, "text", ("format", "verbosity"))
    check_only(reasoning, "reasoning", ("effort", "summary", "generate_summary"))  # for a summary, all of it is sent
    if text.get("verbosity") is not None:
        fields["verbosity"] = text["verbosity"]
    if reasoning.get("effort") is not None:
        fields["reasoning_effort"] = reasoning["effort"]
    return fields | _response_format(object_in(text, "format", "text."), may_call)


def _response_format(form: Object, may_call: bool) -> dict[str, Any]:
    kind = form.get("type", "text")
    if kind == "text":
        return {}
    if kind not in ("json_object", "json_schema"):
        raise wrong("text.format.type", "text, json_object or json_schema", kind)
    if may_call:
        raise refusal("text.format", "a reply that must be JSON can't hold calls as text; leave it out, or the tools")
    inner = {key: form[key] for key in form if key != "type"}
    return {"response_format": {"type": kind, kind: inner} if kind == "json_schema" else {"type": kind}}


# Tools


def _tool(definition: Any, at: str) -> Tool:
    kind = definition.get("type") if isinstance(definition, Mapping) else None
    if kind == "function":
        return read_tool(definition, at)
    if kind != "custom":
        raise refusal(
            at,
            f"only tools of the types function and custom are behind this endpoint, not {kind!r:.60}, "
            "which OpenAI's servers run; give a function that does it",
        )
    if object_in(definition, "format", f"{at}.").get("type", "text") != "text":
        raise refusal(f"{at}.format", "the model can't be held to a grammar here; leave it out, and describe the input")
    return read_tool({**{key: definition.get(key) for key in ("name", "description")}, "parameters": _CUSTOM}, at)


def _choice(value: Any) -> Choice:
    if value is None:
        return Choice()
    if isinstance(value, str) and value in ("auto", "none", "required"):
        return Choice(value)  # type: ignore[arg-type]
    found = _named(value) if isinstance(value, Mapping) else None
    if found is None:
        raise wrong(
            "tool_choice",
            '"auto", "none", "required", {"type": "function" | "custom", "name": ...} or {"type": "allowed_tools", '
            '"mode": "auto" | "required", "tools": [{"type": "function", "name": ...}]}',
            value,
        )
    return found


def _named(value: Object) -> Choice | None:
    kind, mode = value.get("type"), value.get("mode", "auto")
    if kind in ("function", "custom"):
        name = value.get("name")
        return Choice("required", (name,), named=True) if isinstance(name, str) else None
    allowed = value.get("tools")
    if kind != "allowed_tools" or mode not in ("auto", "required") or not isinstance(allowed, list):
        return None
    names = [each.get("name") if isinstance(each, Mapping) else None for each in allowed]
    return Choice(mode, tuple(map(str, names))) if all(isinstance(name, str) for name in names) else None
