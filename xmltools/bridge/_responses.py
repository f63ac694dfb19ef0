"""OpenAI's Responses API: requests put into one form, and replies as its streams and responses.

Items of the input become messages: neighbours that one reply of the model is made of (reasoning, text, calls) are one
message again. Nothing is kept between requests, so whatever refers to an earlier one is refused; so are tools that
OpenAI's servers run, and fields that nothing behind this endpoint could honour.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from xmltools import formats
from xmltools.bridge._chat import model_of
from xmltools.bridge._errors import Refusal
from xmltools.bridge._incoming import Choice, Incoming, check_tools, flag, read_tool, stops_of, whole_number
from xmltools.errors import Issue, XMLToolsError
from xmltools.events import Event
from xmltools.models import Conversation, Message, Text
from xmltools.streams import to_sse
from xmltools.streams.responses import ResponsesStream
from xmltools.tools import Tool

__all__ = ["ResponsesEncoder", "read_responses_request"]

Object = Mapping[str, Any]

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
_NO_MEMORY = "nothing is kept between requests; send the whole conversation as input"
_NO_LOGPROBS = "probabilities of tokens can't be kept where calls are cut out of the text; leave it out"
_REFUSED = {
    "previous_response_id": _NO_MEMORY,
    "conversation": _NO_MEMORY,
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
    definitions = _list(body, "tools")
    tools = check_tools([_tool(each, f"tools[{number}]") for number, each in enumerate(definitions)])
    choice = _choice(body.get("tool_choice"))
    return Incoming(
        model=model_of(body),
        conversation=_conversation(body),
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
            raise _refusal(
                name[:80], _REFUSED.get(name, "this field is not known here, and may mean much; leave it out")
            )
    whole_number(body, "n", 1, 1)
    if body.get("truncation") not in (None, "auto", "disabled"):
        raise _wrong("truncation", "auto or disabled", body["truncation"])
    for name in _list(body, "include"):
        if name not in _INCLUDED:
            raise _refusal("include", f"{name!r:.80} can't be given here; leave it out")
    if flag(_object(body, "stream_options"), "include_obfuscation", False):
        raise _refusal("stream_options.include_obfuscation", "streams are not padded here; send false")


def _fields(body: Object, may_call: bool) -> dict[str, Any]:
    """Return the fields for the upstream's chat completions."""
    fields = {name: body[name] for name in body if name in _SAME and body[name] is not None}
    if body.get("max_output_tokens") is not None:
        fields["max_tokens"] = whole_number(body, "max_output_tokens", 1, 10**9)
    text, reasoning = _object(body, "text"), _object(body, "reasoning")
    _only(text, "text", ("format", "verbosity"))
    _only(reasoning, "reasoning", ("effort", "summary", "generate_summary"))  # for a summary, all of it is sent
    if text.get("verbosity") is not None:
        fields["verbosity"] = text["verbosity"]
    if reasoning.get("effort") is not None:
        fields["reasoning_effort"] = reasoning["effort"]
    return fields | _response_format(_object(text, "format", "text."), may_call)


def _response_format(form: Object, may_call: bool) -> dict[str, Any]:
    kind = form.get("type", "text")
    if kind == "text":
        return {}
    if kind not in ("json_object", "json_schema"):
        raise _wrong("text.format.type", "text, json_object or json_schema", kind)
    if may_call:
        raise _refusal("text.format", "a reply that must be JSON can't hold calls as text; leave it out, or the tools")
    inner = {key: form[key] for key in form if key != "type"}
    return {"response_format": {"type": kind, kind: inner} if kind == "json_schema" else {"type": kind}}


# Fields


def _refusal(at: str, why: str) -> Refusal:
    return Refusal(f"{at}: {why}", param=at)


def _wrong(at: str, expected: str, got: Any) -> Refusal:
    return Refusal(f"{at}: expected {expected}, got {got!r:.60}", param=at)


def _object(source: Object, name: str, at: str = "") -> Object:
    value = source.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise _wrong(f"{at}{name}", "an object", value)
    return {} if value is None else value


def _list(source: Object, name: str, at: str = "") -> list[Any]:
    value = source.get(name)
    if value is not None and not isinstance(value, list):
        raise _wrong(f"{at}{name}", "a list", value)
    return [] if value is None else value


def _text(source: Object, name: str, at: str = "") -> str:
    value = source.get(name)
    if not isinstance(value, str):
        raise _wrong(f"{at}{name}", "text", value)
    return value


def _only(source: Object, at: str, names: tuple[str, ...]) -> None:
    for name in source:
        if name not in names and source[name] is not None:
            raise _refusal(f"{at}.{name}"[:80], "this can't be honoured here; leave it out")


# Tools


def _tool(definition: Any, at: str) -> Tool:
    kind = definition.get("type") if isinstance(definition, Mapping) else None
    if kind == "function":
        return read_tool(definition, at)
    if kind != "custom":
        raise _refusal(
            at,
            f"only tools of the types function and custom are behind this endpoint, not {kind!r:.60}, "
            "which OpenAI's servers run; give a function that does it",
        )
    if _object(definition, "format", f"{at}.").get("type", "text") != "text":
        raise _refusal(
            f"{at}.format", "the model can't be held to a grammar here; leave it out, and describe the input"
        )
    return read_tool({**{key: definition.get(key) for key in ("name", "description")}, "parameters": _CUSTOM}, at)


def _choice(value: Any) -> Choice:
    if value is None:
        return Choice()
    if isinstance(value, str) and value in ("auto", "none", "required"):
        return Choice(value)  # type: ignore[arg-type]
    found = _named(value) if isinstance(value, Mapping) else None
    if found is None:
        raise _wrong(
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


# Input


def _conversation(body: Object) -> Conversation:
    """Return the instructions and the input, by way of the messages of chat completions that say the same."""
    said: list[tuple[str, dict[str, Any] | None]] = []
    if body.get("instructions") is not None:
        said.append(("instructions", {"role": "system", "content": _text(body, "instructions")}))
    given = body.get("input")
    if not isinstance(given, (str, list)) or not given:
        raise _wrong("input", "text, or a list of at least one item", given)
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    said += ((f"input[{number}]", _message_of(each, f"input[{number}]")) for number, each in enumerate(items))
    return _load([(at, message) for at, message in said if message is not None])


def _load(said: list[tuple[str, dict[str, Any]]]) -> Conversation:
    issues: list[Issue] = []
    try:
        loaded = formats.load([message for _, message in said], "openai", issues=issues)
    except XMLToolsError as error:
        raise _refusal("input", str(error)) from None
    for issue in issues:
        if issue.code == "orphan_result":
            at, _ = said[issue.index or 0]
            raise _refusal(at, f"there is no call with this call_id in front of it; {_NO_MEMORY}")
    return loaded.with_messages(_joined(loaded))


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Return the messages, with those of one reply in one. Two texts in a row were two messages."""
    turns: list[list[Message]] = []
    for message in messages:
        before = turns[-1][-1] if turns else message
        if turns and before.is_assistant and message.is_assistant and not _are_texts(before, message):
            turns[-1].append(message)
        else:
            turns.append([message])
    return [turn[0] if len(turn) == 1 else _one(turn) for turn in turns]


def _are_texts(*messages: Message) -> bool:
    return all(isinstance(part, Text) for message in messages for part in message.parts[:1])


def _one(turn: list[Message]) -> Message:
    return Message(role="assistant", parts=tuple(part for message in turn for part in message.parts))


def _message_of(item: Any, at: str) -> dict[str, Any] | None:
    """Return the message that says what an item says, None for one that says nothing."""
    if not isinstance(item, Mapping):
        raise _wrong(at, "an item, an object with a type", item)
    kind = item.get("type") or ("message" if "role" in item else "item_reference" if "id" in item else None)
    if kind == "item_reference":
        raise _refusal(at, "no items are kept here, so none can be referred to; send the item itself")
    read = _ITEMS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise _wrong(f"{at}.type", f"{', '.join(_ITEMS)} (what tools of OpenAI's servers did can't be read here)", kind)
    return read(item, f"{at}.")


def _message(item: Object, at: str) -> dict[str, Any]:
    role = item.get("role")
    if role not in ("user", "system", "developer", "assistant"):
        raise _wrong(f"{at}role", "user, system, developer or assistant", role)
    return {"role": role, "content": _content(item, "content", at)}


def _call(item: Object, at: str) -> dict[str, Any]:
    return _call_of(item, _text(item, "arguments", at), at)


def _custom_call(item: Object, at: str) -> dict[str, Any]:
    return _call_of(item, json.dumps({"input": _text(item, "input", at)}), at)


def _call_of(item: Object, arguments: str, at: str) -> dict[str, Any]:
    function = {"name": _text(item, "name", at), "arguments": arguments}
    call = {"id": _text(item, "call_id", at), "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _result(item: Object, at: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": _text(item, "call_id", at), "content": _content(item, "output", at)}


def _reasoning(item: Object, at: str) -> dict[str, Any] | None:
    text = "".join(_thoughts(item, "content", at)) or "\n\n".join(_thoughts(item, "summary", at))
    if not text and item.get("encrypted_content"):
        raise _refusal(f"{at}encrypted_content", "encrypted reasoning can't be read here; leave the item out")
    return {"role": "assistant", "content": "", "reasoning_content": text} if text else None


def _thoughts(item: Object, key: str, at: str) -> list[str]:
    parts = _list(item, key, at)
    return [_text(each if isinstance(each, Mapping) else {}, "text", f"{at}{key}[].") for each in parts]


_ITEMS: dict[str, Callable[[Object, str], dict[str, Any] | None]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "function_call_output": _result,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _result,
}


# Content


def _content(item: Object, key: str, at: str) -> str | list[dict[str, Any]]:
    content = item.get(key)
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise _wrong(f"{at}{key}", "text or a list of parts", content)
    parts = [_part(each, f"{at}{key}[{number}].") for number, each in enumerate(content)]
    return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _part(part: Any, at: str) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    match kind:
        case "input_text" | "output_text" | "text":
            return {"type": "text", "text": _text(part, "text", at)}
        case "refusal":
            return {"type": "text", "text": _text(part, "refusal", at)}
        case "input_image":
            return {"type": "image_url", "image_url": {"url": _image(part, at), **_given(part, "detail")}}
        case "input_file":
            return {"type": "file", "file": {"file_data": _file(part, at), **_given(part, "filename")}}
        case "input_audio":
            return {"type": kind, kind: _object(part, kind, at)}
    raise _wrong(f"{at}type", "input_text, output_text, refusal, input_image, input_file or input_audio", kind)


def _given(part: Object, key: str) -> dict[str, Any]:
    return {} if part.get(key) is None else {key: part[key]}


def _image(part: Object, at: str) -> str:
    if part.get("image_url") is None:
        raise _refusal(f"{at}image_url", "no files are kept here; give the image as a URL, or as a data: URL")
    return _text(part, "image_url", at)


def _file(part: Object, at: str) -> str:
    data = part.get("file_data")
    if not isinstance(data, str) or data[:5].lower() != "data:":
        raise _refusal(f"{at}file_data", "no files are kept or fetched here; give the file as a data: URL")
    return data


# Replies


class ResponsesEncoder:
    """Turns events into a stream of the API, and remembers the response that it ends with."""

    keepalive = b": keep-alive\n\n"

    def __init__(self, incoming: Incoming, tools: Sequence[Tool], id: str, created: int) -> None:
        self._stream = ResponsesStream(
            id=id, model=incoming.model, created_at=created, tools=tools, custom=incoming.custom, echo=incoming.echo
        )
        self._reason = "stop"
        self._response: dict[str, Any] = {}

    def feed(self, choice: int, events: Iterable[Event]) -> bytes:
        """Return the events for events of the reply."""
        return to_sse(self._stream.feed(events))

    def finish(self, choice: int, reason: str, stop: str | None) -> bytes:
        """Keep the reason: it is sent with the usage."""
        self._reason = reason
        return b""

    def end(self, usage: Object | None) -> bytes:
        """Return what ends the stream: the whole response."""
        messages = self._stream.close(self._reason, usage)
        if messages:
            self._response = messages[-1][1]["response"]
        return to_sse(messages)

    def body(self, usage: Object | None) -> dict[str, Any]:
        """Return the response."""
        return self._response

    def fail(self, message: str, status: int) -> bytes:
        """Return the response that failed, which ends a stream that has begun."""
        return to_sse(self._stream.fail(message, "rate_limit_exceeded" if status == 429 else "server_error"))
