"""The input of a request of the Responses API as a conversation.

Items become messages: neighbours that one reply of the model is made of (reasoning, text, calls) are one message again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xmltools import formats
from xmltools.bridge._incoming import system_first
from xmltools.bridge._responses_fields import Object, list_in, object_in, refusal, text_in, wrong
from xmltools.bridge._responses_tools import SEARCH, Toolbox
from xmltools.errors import Issue, XMLToolsError
from xmltools.models import Conversation, Message, Text

__all__ = ["NO_MEMORY", "find_tools", "read_input"]

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
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for number, each in enumerate(items):
        said.append((f"input[{number}]", _message_of(each, f"input[{number}]", box)))
    return _load([(at, message) for at, message in said if message is not None])


def _load(said: list[tuple[str, dict[str, Any]]]) -> Conversation:
    issues: list[Issue] = []
    try:
        loaded = formats.load([message for _, message in said], "openai", issues=issues)
    except XMLToolsError as error:
        raise refusal("input", str(error)) from None
    for issue in issues:
        if issue.code == "orphan_result":
            at, _ = said[issue.index or 0]
            raise refusal(at, f"there is no call with this call_id in front of it; {NO_MEMORY}")
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
    return [turn[0] if len(turn) == 1 else _one(turn) for turn in turns]


def _are_texts(*messages: Message) -> bool:
    return all(isinstance(part, Text) for message in messages for part in message.parts[:1])


def _one(turn: list[Message]) -> Message:
    return Message(role="assistant", parts=tuple(part for message in turn for part in message.parts))


def _message_of(item: Any, at: str, box: Toolbox) -> dict[str, Any] | None:
    """Return the message that says what an item says, None for one that says nothing."""
    if not isinstance(item, Mapping):
        raise wrong(at, "an item, an object with a type", item)
    kind = item.get("type") or ("message" if "role" in item else "item_reference" if "id" in item else None)
    if kind == "item_reference":
        raise refusal(
            at,
            "no items are kept here, so none can be referred to; send the item itself (in the AI SDK: "
            "providerOptions: {openai: {store: false}})",
        )
    if kind in _LOST:
        raise refusal(at, "a summary that only OpenAI's servers can read is lost here; send the items themselves")
    read = _ITEMS.get(kind) if isinstance(kind, str) else None
    if read is not None:
        return read(item, f"{at}.", box)
    problem = wrong(f"{at}.type", f"{', '.join(_ITEMS)} (what tools of OpenAI's servers did can't be read here)", kind)
    if box.notes.strict or not isinstance(kind, str):
        raise problem
    box.notes.ignore(f"input.{kind}", "")
    return None


def _message(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    role = item.get("role")
    if role not in ("user", "system", "developer", "assistant"):
        raise wrong(f"{at}role", "user, system, developer or assistant", role)
    return {"role": role, "content": _content(item, "content", at)}


def _call(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    return _call_of(item, box.name(item, at), text_in(item, "arguments", at), at)


def _custom_call(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    return _call_of(item, box.name(item, at), json.dumps({"input": text_in(item, "input", at)}), at)


def _search_call(item: Object, at: str, box: Toolbox) -> dict[str, Any] | None:
    if item.get("execution") != "client":  # the client that told of it knows what was found
        return None
    return _call_of(item, SEARCH, json.dumps(object_in(item, "arguments", at)), at)


def _call_of(item: Object, name: str, arguments: str, at: str) -> dict[str, Any]:
    call = {
        "id": text_in(item, "call_id", at),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _result(item: Object, at: str, box: Toolbox) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": text_in(item, "call_id", at), "content": _content(item, "output", at)}


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
}
_FOUND = ("tool_search_output", "additional_tools")
"""Items that hold tools."""
_LOST = ("compaction", "context_compaction", "compaction_summary")
"""Items that stand for others, in a form that can't be read here."""


# Content


def _content(item: Object, key: str, at: str) -> str | list[dict[str, Any]]:
    content = item.get(key)
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise wrong(f"{at}{key}", "text or a list of parts", content)
    parts = [_part(each, f"{at}{key}[{number}].") for number, each in enumerate(content)]
    return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _part(part: Any, at: str) -> dict[str, Any]:
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
            return {"type": kind, kind: object_in(part, kind, at)}
    raise wrong(f"{at}type", "input_text, output_text, refusal, input_image, input_file or input_audio", kind)


def _given(part: Object, key: str) -> dict[str, Any]:
    return {} if part.get(key) is None else {key: part[key]}


def _image(part: Object, at: str) -> str:
    if part.get("image_url") is None:
        raise refusal(f"{at}image_url", "no files are kept here; give the image as a URL, or as a data: URL")
    return text_in(part, "image_url", at)


def _file(part: Object, at: str) -> str:
    data = part.get("file_data")
    if not isinstance(data, str) or data[:5].lower() != "data:":
        raise refusal(f"{at}file_data", "no files are kept or fetched here; give the file as a data: URL")
    return data
