"""The input of a request of the Responses API as a conversation.

Items become messages: neighbours that one reply of the model is made of (reasoning, text, calls) are one message again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from xmltools import formats
from xmltools.errors import Issue, XMLToolsError
from xmltools.models import Conversation, Message, Part, Text, ToolResult
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.requests.incoming import Notes, system_first
from xmltools.proxy.bridge.requests.responses_fields import Object, list_in, object_in, refusal, text_in, wrong
from xmltools.proxy.bridge.requests.responses_tools import SEARCH, Toolbox
from xmltools.syntax.json_reader import JSONError, loads_lenient

NO_MEMORY = "nothing is kept between requests; send the whole conversation as input"
"""Why an item can't refer to what an earlier request said."""


def find_tools(body: Object, box: Toolbox) -> None:
    """Add the tools that stand in the input, since the client has found them. Raises Refusal for a wrong one."""
    given = body.get("input")
    for number, item in enumerate(given if isinstance(given, list) else ()):
        if isinstance(item, Mapping) and item.get("type") in _FOUND:
            box.add(list_in(item, "tools", f"input[{number}]."), f"input[{number}].tools")


def read_input(body: Object, box: Toolbox) -> Conversation:
    """Return the instructions and the input, by way of the messages of chat completions that say the same.

    Calls have the names that their tools have in the box. Items that can't be read and say little are passed over.
    Raises Refusal for what is malformed, or can't be honoured.
    """
    said: list[tuple[str, dict[str, Any] | None]] = []
    if body.get("instructions") is not None:
        said.append(("instructions", {"role": "system", "content": text_in(body, "instructions")}))
    given = body.get("input")
    if not isinstance(given, (str, list)) or not given:
        raise wrong("input", "text, or a list of at least one item", given)
    items = [{"role": "user", "content": given}] if isinstance(given, str) else _with_call_ids(given)
    for number, each in enumerate(items):
        said.append((f"input[{number}]", _message_of(each, f"input[{number}]", box)))
    conversation = _load([(at, message) for at, message in said if message is not None], box.notes)
    results = (each for each in items if each.get("type") == "apply_patch_call_output")
    return _marked(conversation, {each["call_id"] for each in results if each.get("status") == "failed"})


def _with_call_ids(items: list[Any]) -> list[Any]:
    """Return the items, those of a local shell with the id of their call: it may stand in `id`, or in both."""
    calls = [each for each in items if isinstance(each, Mapping) and each.get("type") == "local_shell_call"]
    ids = {each["id"]: each["call_id"] for each in calls if isinstance(each.get("id"), str) and each.get("call_id")}
    return [
        {**each, "call_id": ids.get(each["id"], each["id"])}
        if isinstance(each, Mapping)
        and each.get("type") in ("local_shell_call", "local_shell_call_output")
        and not each.get("call_id")
        and isinstance(each.get("id"), str)
        else each
        for each in items
    ]


def _marked(conversation: Conversation, failed: Collection[str]) -> Conversation:
    """Return the conversation with the results of the calls that failed as errors: messages have no place for that."""
    if not failed:
        return conversation

    def mark(part: Part) -> Part:
        is_failed = isinstance(part, ToolResult) and part.call_id in failed
        return part.model_copy(update={"is_error": True}) if is_failed else part

    return conversation.with_messages(
        message.model_copy(update={"parts": tuple(map(mark, message.parts))}) for message in conversation
    )


def _load(said: list[tuple[str, dict[str, Any]]], notes: Notes) -> Conversation:
    issues: list[Issue] = []
    try:
        loaded = formats.load([message for _, message in said], "openai", issues=issues)
    except XMLToolsError as error:
        raise refusal("input", str(error)) from None
    notes.take(issues)
    return system_first(loaded.with_messages(_joined(loaded)))


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Return the messages, with those of one reply in one. Two texts in a row were two messages."""
    turns: list[list[Message]] = []
    for message in messages:
        before = turns[-1][-1] if turns else message
        if turns and before.is_assistant and message.is_assistant and not _are_texts(before, message):
            turns[-1].append(message)
        else:
            turns.append([message])
    return [
        Message(role="assistant", parts=tuple(part for message in turn for part in message.parts))
        if len(turn) > 1
        else turn[0]
        for turn in turns
    ]


def _are_texts(*messages: Message) -> bool:
    return all(isinstance(part, Text) for message in messages for part in message.parts[:1])


def _message_of(item: Any, at: str, box: Toolbox) -> dict[str, Any] | None:
    """Return the message that says what an item says, None for one that says nothing."""
    if not isinstance(item, Mapping):
        raise wrong(at, "an item, an object with a type", item)
    kind = item.get("type") or ("message" if "role" in item else "item_reference" if "id" in item else None)
    if isinstance(kind, str) and kind in _REFUSED:
        raise refusal(at, _REFUSED[kind])
    read = _ITEMS.get(kind) if isinstance(kind, str) else None
    if read is not None:
        return read(item, f"{at}.", box)
    problem = wrong(
        f"{at}.type", f"{', '.join(_ITEMS)} (what tools of OpenAI's servers did can't be read here)", kind, is_word=True
    )
    if box.notes.strict or not isinstance(kind, str):
        raise problem
    box.notes.ignore(f"input.{kind}", "")
    return None


def _message(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    role = item.get("role")
    if role not in ("user", "system", "developer", "assistant"):
        raise wrong(f"{at}role", "user, system, developer or assistant", role, is_word=True)
    return {"role": role, "content": _content(item, "content", at, box)}


def _agent_message(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    """Return what another agent of the client says to this one (Codex), as a message of the user that says so."""
    content = _content(item, "content", at, box)
    names = [str(item[key]) for key in ("author", "recipient") if isinstance(item.get(key), str)]
    head = f"Message of the agent {' to '.join(names)}:" if names else "Message of an agent:"
    return {"role": "user", "content": _headed(head, content)}


def _headed(head: str, content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return a content with a line above it; if it is only text, as one text."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if all(part["type"] == "text" for part in parts):
        return "\n\n".join([head, *(part["text"] for part in parts)])
    return [{"type": "text", "text": head}, *parts]


def _call(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    return _call_of(item, box.name(item, at), text_in(item, "arguments", at), at)


def _custom_call(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    return _call_of(item, box.name(item, at), json.dumps({"input": text_in(item, "input", at)}), at)


def _search_call(item: Object, at: str, box: Toolbox) -> dict[str, Any] | None:
    if item.get("execution") != "client":  # the client that told of it knows what was found
        return None
    return _call_of(item, SEARCH, json.dumps(object_in(item, "arguments", at)), at)


def _client_call(name: str, field: str, item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    """Return a call of a tool that has a type instead of a name, and its arguments in a field; what is null was left
    out, and so was what is empty for a local shell."""
    if item.get(field) is None:
        raise wrong(f"{at}{field}", "an object", None)
    is_local = name == "local_shell"
    given = {
        key: value
        for key, value in object_in(item, field, at).items()
        if value is not None and not (is_local and (key == "type" or value == {}))
    }
    return _call_of(item, name, json.dumps(given), at)


def _call_of(item: Object, name: str, arguments: str, at: str) -> dict[str, Any]:
    call = {
        "id": text_in(item, "call_id", at),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _result(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    content = _content(item, "output", at, box)
    if item.get("call_id") is None and isinstance(item.get("name"), str):  # Codex: the model did not ask for it
        return {"role": "user", "content": _headed(f"Output of the tool {box.name(item, at)}:", content)}
    return {"role": "tool", "tool_call_id": text_in(item, "call_id", at), "content": content}


def _shell_result(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    outputs = list_in(item, "output", at)
    texts = [_output_of(each, f"{at}output[{number}]") for number, each in enumerate(outputs)]
    content = "\n\n".join(texts) or "There was no output."
    return {"role": "tool", "tool_call_id": text_in(item, "call_id", at), "content": content}


def _output_of(output: Any, at: str) -> str:
    """Return what the model is told of the output of one command."""
    if not isinstance(output, Mapping):
        raise wrong(at, "an object with stdout, stderr and outcome", output)
    stdout, stderr = (text_in(output, name, f"{at}.") if output.get(name) else "" for name in ("stdout", "stderr"))
    outcome = object_in(output, "outcome", f"{at}.")
    ended = "It took too long and was stopped." if outcome.get("type") == "timeout" else ""
    if outcome.get("exit_code") is not None:
        ended = f"Exit code: {outcome['exit_code']}"
    said = (stdout.rstrip("\n"), f"stderr:\n{stderr.rstrip()}" if stderr.strip() else "", ended)
    return "\n".join(each for each in said if each)


def _patch_result(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    said = "The patch was not applied." if item.get("status") == "failed" else "Done."
    content = text_in(item, "output", at) if item.get("output") else said
    return {"role": "tool", "tool_call_id": text_in(item, "call_id", at), "content": content}


def _search_result(item: Object, at: str, box: Toolbox) -> dict[str, Any] | None:
    if item.get("execution") != "client":
        return None
    names = box.add(list_in(item, "tools", at), f"{at}tools")
    found = f"Found, and from now on among your tools: {', '.join(names)}" if names else "No tools were found."
    return {"role": "tool", "tool_call_id": text_in(item, "call_id", at), "content": found}


def _nothing(item: Object, at: str, box: Toolbox) -> None:
    return None


def _reasoning(item: Object, at: str, box: Toolbox) -> dict[str, Any] | None:
    text = "".join(_thoughts(item, "content", at)) or "\n\n".join(_thoughts(item, "summary", at))
    if not text and item.get("encrypted_content"):
        # It need not be read: no model is told its earlier thoughts.
        why = "encrypted reasoning can't be read here; leave the item out"
        box.notes.ignore("input.reasoning.encrypted_content", why, f"{at}encrypted_content")
    return {"role": "assistant", "content": "", "reasoning_content": text} if text else None


def _thoughts(item: Object, key: str, at: str) -> list[str]:
    parts = list_in(item, key, at)
    return [text_in(each if isinstance(each, Mapping) else {}, "text", f"{at}{key}[].") for each in parts]


_ITEMS: dict[str, Callable[[Object, str, Toolbox], dict[str, Any] | None]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _call,
    "function_call_output": _result,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _result,
    "tool_search_call": _search_call,
    "tool_search_output": _search_result,
    "additional_tools": _nothing,
    "local_shell_call": partial(_client_call, "local_shell", "action"),
    "local_shell_call_output": _result,
    "shell_call": partial(_client_call, "shell", "action"),
    "shell_call_output": _shell_result,
    "apply_patch_call": partial(_client_call, "apply_patch", "operation"),
    "apply_patch_call_output": _patch_result,
    "agent_message": _agent_message,
}
_FOUND = ("tool_search_output", "additional_tools")
"""Items that hold tools."""
_SUMMARY = "a summary that only OpenAI's servers can read is lost here; send the items themselves"
_REFUSED = {
    "item_reference": "no items are kept here, so none can be referred to; send the item itself (in the AI SDK: "
    "providerOptions: {openai: {store: false}})",
    **dict.fromkeys(("compaction", "context_compaction", "compaction_summary"), _SUMMARY),
    "compaction_trigger": "contexts are not compacted here; ask for a summary in words",
}
"""Items without which the answer would be wrong, and why."""


# Content


def _content(item: Object, key: str, at: str, box: Toolbox) -> str | list[dict[str, Any]]:
    content = item.get(key)
    if isinstance(content, str):
        return _images(content, box) or content if key == "output" else content
    if not isinstance(content, list):
        raise wrong(f"{at}{key}", "text or a list of parts", content)
    parts = [_part(each, f"{at}{key}[{number}].", box) for number, each in enumerate(content)]
    return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _images(text: str, box: Toolbox) -> list[dict[str, Any]] | None:
    """Return the parts that a client has written as text, None if it is no list of parts with an image in it."""
    if not text.startswith("[") or '"input_image"' not in text.replace("'", '"'):
        return None
    with suppress(JSONError, Refusal):
        given, _ = loads_lenient(text)
        parts = [_part(each, "", box) for each in given]
        if any(part["type"] == "image_url" for part in parts):
            return parts
    return None


def _part(part: Any, at: str, box: Toolbox) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    match kind:
        case "input_text" | "output_text" | "text":
            return {"type": "text", "text": text_in(part, "text", at)}
        case "refusal":
            return {"type": "text", "text": text_in(part, "refusal", at)}
        case "input_image":
            return {"type": "image_url", "image_url": {"url": _image(part, at), **_given(part, "detail")}}
        case "input_file":
            return {"type": "file", "file": {"file_data": _file(part, at), **_given(part, "filename")}}
        case "input_audio":
            return {"type": kind, kind: _audio(part, at)}
        case "encrypted_content":
            return {"type": "text", "text": _decrypted(part, at, box)}
    raise wrong(
        f"{at}type", "input_text, output_text, refusal, input_image, input_file or input_audio", kind, is_word=True
    )


def _decrypted(part: Object, at: str, box: Toolbox) -> str:
    """Return the text of a part that Codex takes for encrypted: mostly it is what a model here wrote for another agent,
    in an argument that OpenAI's servers would have encrypted."""
    text = text_in(part, "encrypted_content", at)
    if _ENCRYPTED.fullmatch(text) is None:
        return text
    box.notes.ignore(
        "input.content.encrypted_content", "this can't be read here; leave it out", f"{at}encrypted_content"
    )
    return "(Something encrypted that can't be read here.)"


_ENCRYPTED = re.compile(r"[\w+/=-]{80,}", re.ASCII)
"""Base64, with no space in it."""


def _given(part: Object, key: str) -> dict[str, Any]:
    return {} if part.get(key) is None else {key: part[key]}


def _image(part: Object, at: str) -> str:
    if part.get("image_url") is None:
        raise refusal(f"{at}image_url", "no files are kept here; give the image as a URL, or as a data: URL")
    return text_in(part, "image_url", at)


def _audio(part: Object, at: str) -> Object:
    if part.get("audio_url") is None:
        return object_in(part, "input_audio", at)
    found = re.match(r"data:audio/([\w.+-]+);base64,", text_in(part, "audio_url", at))
    if found is None:
        raise refusal(
            f"{at}audio_url", "no files are fetched here; give the sound as a data: URL of audio/wav or audio/mp3"
        )
    return {"data": part["audio_url"][found.end() :], "format": "mp3" if found[1] == "mpeg" else found[1]}


def _file(part: Object, at: str) -> str:
    data = part.get("file_data")
    if not isinstance(data, str) or data[:5].lower() != "data:":
        raise refusal(f"{at}file_data", "no files are kept or fetched here; give the file as a data: URL")
    return data
