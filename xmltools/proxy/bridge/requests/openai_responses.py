"""Requests of OpenAI's Responses API.

Nothing is kept between requests, so whatever refers to an earlier one is refused. Tools that OpenAI's servers run are
left out, and fields that nothing here could honour are passed over; both are refused if it is to be
strict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.proxy.bridge.requests.incoming import (
    SAMPLING,
    UNKNOWN_FIELD,
    Choice,
    Incoming,
    Notes,
    flag,
    model_of,
    stops_of,
    whole_number,
)
from xmltools.proxy.bridge.requests.responses_fields import Object, check_only, list_in, object_in, refusal, wrong
from xmltools.proxy.bridge.requests.responses_input import NO_MEMORY, find_tools, read_input
from xmltools.proxy.bridge.requests.responses_tools import Toolbox

_READ = frozenset(
    (
        *("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream", "stop"),
        *("max_output_tokens", "text", "reasoning", "n", "include", "truncation", "stream_options"),
        *("metadata", "store", "max_tool_calls"),  # the response repeats them; there is nothing else to do
    )
)
_SAME = SAMPLING | {
    *("service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention")
}
"""Fields that chat completions have too."""
_TAKEN = _READ | _SAME
_NO_LOGPROBS = "probabilities of tokens can't be kept where calls are cut out of the text; leave it out"
_REFUSED = {
    "previous_response_id": NO_MEMORY,
    "conversation": NO_MEMORY,
    "prompt": "no prompts are stored here; write its text as instructions",
    "logprobs": _NO_LOGPROBS,
    "top_logprobs": _NO_LOGPROBS,
    "messages": "this API calls it input",
    "max_tokens": "this API calls it max_output_tokens",
    "max_completion_tokens": "this API calls it max_output_tokens",
    "response_format": "this API calls it text.format",
}
_HINTS = {
    "background": "a response is made while the client waits; leave it out",
    "context_management": "contexts are not edited here; send the items that the model is to see",
    "verbosity": "this API calls it text.verbosity",
    "reasoning_effort": "this API calls it reasoning.effort",
}
"""Fields without which the reply is no worse, and why nothing comes of them."""
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
_LOGPROBS = "message.output_text.logprobs"


def read_responses_request(body: Object, *, strict: bool = False) -> Incoming:
    """Read the body of a request. What is not known is passed over, or refused if it is to be `strict`.

    Raises Refusal for what is malformed, or can't be honoured.
    """
    notes = Notes(strict)
    _check_fields(body, notes)
    box = Toolbox(notes)
    box.read(list_in(body, "tools"))
    find_tools(body, box)
    choice = _choice(body.get("tool_choice"), box).without(notes.left_out)
    tools = box.tools
    return Incoming(
        model=model_of(body),
        conversation=read_input(body, box),
        said_in="input",
        tools=tools,
        choice=choice,
        parallel=flag(body, "parallel_tool_calls", True),
        stream=flag(body, "stream", False),
        include_usage=True,
        stop=stops_of(body.get("stop"), "stop"),
        fields=_fields(body, bool(choice.of(tools)), notes),
        echo={**{key: body[key] for key in body if key not in ("input", "stream", "background")}, "store": False},
        custom=frozenset(box.custom),
        namespaces=box.namespaces,
        client_tools=box.client_tools,
        notes=notes,
    )


def _check_fields(body: Object, notes: Notes) -> None:
    for name in body:
        if name in _TAKEN or body[name] in (None, False, [], {}):
            continue
        if name in _REFUSED:
            raise refusal(name, _REFUSED[name])
        notes.ignore(name, _HINTS.get(name, UNKNOWN_FIELD))
    if body.get("n") not in (None, 1):
        raise refusal("n", "expected 1, since this API makes one response; send a request for each one that you want")
    if body.get("truncation") not in (None, "auto", "disabled"):
        raise wrong("truncation", "auto or disabled", body["truncation"], is_word=True)
    for name in list_in(body, "include"):
        if name == _LOGPROBS:
            raise refusal("include", f"{name!r}: {_NO_LOGPROBS}")
        if name not in _INCLUDED:
            notes.ignore("include", f"{name!r:.80} can't be given here; leave it out")
    if flag(object_in(body, "stream_options"), "include_obfuscation", False, "stream_options."):
        notes.ignore("stream_options.include_obfuscation", "streams are not padded here; send false")


def _fields(body: Object, may_call: bool, notes: Notes) -> dict[str, Any]:
    """Return the fields for the upstream's chat completions."""
    fields = {name: body[name] for name in body if name in _SAME and body[name] is not None}
    if body.get("max_output_tokens") is not None:
        fields["max_tokens"] = whole_number(body, "max_output_tokens", 1, 10**9)
    text, reasoning = object_in(body, "text"), object_in(body, "reasoning")
    check_only(text, "text", ("format", "verbosity"), notes)
    # For a summary, all of it is sent.
    check_only(reasoning, "reasoning", ("effort", "summary", "generate_summary"), notes)
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
        raise wrong("text.format.type", "text, json_object or json_schema", kind, is_word=True)
    if may_call:
        raise refusal("text.format", "a reply that must be JSON can't hold calls as text; leave it out, or the tools")
    inner = {key: form[key] for key in form if key != "type"}
    return {"response_format": {"type": kind, kind: inner} if kind == "json_schema" else {"type": kind}}


def _choice(value: Any, box: Toolbox) -> Choice:
    if value is None:
        return Choice()
    if isinstance(value, str) and value in ("auto", "none", "required"):
        return Choice(value)  # type: ignore[arg-type]
    found = _named(value, box) if isinstance(value, Mapping) else None
    if found is None:
        raise wrong(
            "tool_choice",
            '"auto", "none", "required", {"type": "function" | "custom", "name": ...}, {"type": ...} with the type of '
            'a tool that has no name, such as shell, or {"type": "allowed_tools", "mode": "auto" | "required", '
            '"tools": [{"type": "function", "name": ...}]}',
            value,
        )
    return found


def _named(value: Object, box: Toolbox) -> Choice | None:
    kind, mode = value.get("type"), value.get("mode", "auto")
    if isinstance(kind, str) and kind in box.client_tools:
        return Choice("required", (kind,), named=True)
    if kind in ("function", "custom"):
        return Choice("required", (box.name(value),), named=True) if isinstance(value.get("name"), str) else None
    allowed = value.get("tools")
    if kind != "allowed_tools" or mode not in ("auto", "required") or not isinstance(allowed, list):
        return None
    groups = [box.names(each) for each in allowed if not box.is_left_out(each)]
    return Choice(mode, tuple(name for names in groups for name in names)) if all(groups) else None
