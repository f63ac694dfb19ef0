"""A conversation to Forge's messages (see `forge`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import chain, groupby, islice
from typing import Any, Literal

from xmltools.conversations.transcript import extract, inline
from xmltools.conversations.transcript.turns import in_order_of_calls, moved
from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.formats.shared.losses import Report
from xmltools.formats.shared.spelling import note_of
from xmltools.models import Conversation, Media, Message, Part, Reasoning, Role, Text, ToolCall, ToolResult
from xmltools.render.forge_calls import write_call
from xmltools.render.writable import refuse_foreign
from xmltools.tools import Tool

NAME = "forge"
_KEYS = ("role", "content")
ResultRole = Literal["tool", "user"]


def dump(
    conversation: Conversation,
    report: Report,
    tools: Iterable[Tool] | None,
    result_role: ResultRole | None,
    brackets: bool = False,
    json_to_xml: bool = False,
) -> list[dict[str, Any]]:
    """Write Forge's messages (see `forge.dump` and `forge.json_to_xml`)."""
    given = listed_tools(tools)
    messages = in_order_of_calls(conversation.messages, are_named=True)
    for index in moved(conversation.messages, messages):
        report.add("moved_result", f"{NAME} has no ids: results come in the order of their calls", index)
    as_they_were = [_as_it_was(message, result_role, brackets) for message in messages]
    # Only the others are written anew. Their places stay, since issues name them.
    new = [message if kept is None else None for message, kept in zip(messages, as_they_were, strict=True)]
    written = write(new, given, "tool" if result_role is None else result_role, report, brackets)
    if json_to_xml:
        as_they_were = [
            _in_xml(kept, message, given, index, report) if kept is not None else None
            for index, (message, kept) in enumerate(zip(messages, as_they_were, strict=True))
        ]
    if brackets:
        for index, (message, kept, group) in enumerate(zip(messages, as_they_were, written, strict=True)):
            _tell_brackets(message, group if kept is None else [kept], index, report)
    records: list[dict[str, Any]] = []
    for message, kept, group in zip(messages, as_they_were, written, strict=True):
        records += [kept] if kept is not None else _with_other_keys(group, message)
    return records


def _with_other_keys(records: list[dict[str, Any]], message: Message) -> list[dict[str, Any]]:
    obj = note_of(message.extra, NAME).get("message")
    others = {key: value for key, value in obj.items() if key not in _KEYS} if isinstance(obj, dict) else {}
    return [{**records[0], **others}, *records[1:]]


def listed_tools(tools: Iterable[Tool] | None) -> list[Tool] | None:
    """Return tools as a list, so that they can be gone through again; what is no iterable is refused later."""
    return list(tools) if isinstance(tools, Iterable) else tools


# How a message was spelled


def spelling(message: Message, obj: dict[str, Any]) -> dict[str, Any]:
    """Return what must be kept to write `obj` again, from which the message was read."""
    note = {"message": obj, "says": _fingerprint(message)}
    others = sorted(obj.keys() - set(_KEYS))
    return {**note, "others": others} if others else note


def _as_it_was(message: Message, result_role: ResultRole | None, brackets: bool) -> dict[str, Any] | None:
    """Return the object that a message was read from, if it still says the same, and says it in the same way."""
    note = note_of(message.extra, NAME)
    obj = note.get("message")
    if not isinstance(obj, dict) or note.get("says") != _fingerprint(message):
        return None
    fits = result_role in (None, obj.get("role")) or not message.results
    # Reasoning that is found without the option stands in tags.
    in_tags = brackets and bool(message.reasoning) and bool(_thoughts([obj], brackets=False))
    return dict(obj) if fits and not in_tags else None


def _in_xml(
    obj: dict[str, Any], message: Message, tools: list[Tool] | None, index: int, report: Report
) -> dict[str, Any]:
    """Return the object that a message was read from with elements in the blocks that hold JSON. All else stays."""
    content = obj["content"]
    calls = [call for call in message.calls if call.legacy_json and call.span is not None]
    spans = {call.span for call in calls}
    for call in _extracted([obj]).calls if tools is not None else ():
        if call.legacy_json and call.span not in spans:
            what = f"the call of {call.name!r:.80} stays JSON: it does not fit its tool"
            report.add("json_kept", what, index, "correct it, or leave out the tools")
    for call in reversed(calls):
        block = _block(call, tools)
        if block is None:
            what = f"the call of {call.name!r:.80} stays JSON: elements cannot say its arguments"
            hint = "give the tools" if tools is None else "give it a schema that declares them"
            report.add("json_kept", what, index, hint)
            continue
        _tell_types([call], tools, index, report)
        start, end = call.span or (0, 0)
        content = f"{content[:start]}{block}{content[end:]}"
    return {**obj, "content": content}


def _block(call: ToolCall, tools: list[Tool] | None) -> str | None:
    """Return a call in elements, None if these cannot say it."""
    try:
        (message,) = _inline([[Message.model_construct(role="assistant", parts=(call,))]], tools, "tool")
    except XMLToolsError:
        return None
    return None if message.text.startswith(f"<{FORGE.block}>\n{{") else message.text


def _thoughts(records: Iterable[dict[str, Any]], *, brackets: bool) -> list[str]:
    """Return the reasoning that is read from the assistant's messages among Forge's."""
    read = _extracted(records, bracket_reasoning=brackets)
    return [part.text for message in read for part in message.parts if isinstance(part, Reasoning)]


def _extracted(records: Iterable[dict[str, Any]], *, bracket_reasoning: bool = False) -> Conversation:
    """Return what is read, without tools, from the assistant's messages among Forge's."""
    texts = (Text.unchecked(each["content"]) for each in records if each["role"] == "assistant")
    replies = tuple(Message.model_construct(role="assistant", parts=(text,)) for text in texts)
    return extract(Conversation.model_construct(messages=replies), bracket_reasoning=bracket_reasoning)


def _tell_brackets(message: Message, records: list[dict[str, Any]], index: int, report: Report) -> None:
    """Report reasoning that stands in tags, though brackets were asked for, and text that is read as reasoning."""
    if _thoughts(records, brackets=False):
        hint = "leave out blank lines, and brackets at the ends of lines"
        report.add("reasoning_in_tags", "reasoning that brackets cannot hold is written in a tag", index, hint)
    thoughts = [part.text for part in message.parts if isinstance(part, Reasoning) and part.text]
    if _thoughts(records, brackets=True) != thoughts:
        report.add("text_in_brackets", "a paragraph of the text stands in brackets: it is read as reasoning", index)


def _fingerprint(message: Message) -> str:
    """Return a hash of what the text of a message says."""
    said = [message.role, *map(_said, message.parts)]
    return sha256(json.dumps(said, default=str).encode()).hexdigest()[:32]


def _said(part: Part) -> list[Any]:
    if isinstance(part, ToolCall):
        return [part.type, part.server, part.name, part.arguments]
    if isinstance(part, ToolResult):
        content = part.content if isinstance(part.content, str) else [_said(each) for each in part.content]
        return [part.type, part.name, content, part.is_error]
    if isinstance(part, Media):
        return [part.type, part.media_type, part.data, part.url]
    return [part.type, part.text]


# Writing


def write(
    messages: Sequence[Message | None],
    tools: list[Tool] | None,
    result_role: ResultRole,
    report: Report,
    brackets: bool = False,
) -> list[list[dict[str, Any]]]:
    """Return the objects for each message: none for None, several for one that holds what belongs in others."""
    inline(Conversation(), tools, result_role=result_role)  # raises for what the caller did wrong
    groups = [
        list(_pieces(message, index, report)) if message is not None else [] for index, message in enumerate(messages)
    ]
    try:
        plain = _inline(groups, tools, result_role, brackets)
    except XMLToolsError:
        groups = [[_writable(each, tools, index, report) for each in group] for index, group in enumerate(groups)]
        plain = _inline(groups, tools, result_role, brackets)
    for index, message in enumerate(messages):
        _tell_types(message.calls if message is not None else (), tools, index, report)
    written = iter(plain)
    return [[_record(message) for message in islice(written, len(group))] for group in groups]


def _inline(
    groups: Iterable[list[Message]], tools: list[Tool] | None, result_role: ResultRole, brackets: bool = False
) -> tuple[Message, ...]:
    messages = tuple(chain.from_iterable(groups))
    whole = Conversation.model_construct(messages=messages)
    return inline(
        whole, tools, result_role=result_role, exact=False, server_names=True, bracket_reasoning=brackets
    ).messages


def _tell_types(calls: Iterable[ToolCall], tools: list[Tool] | None, index: int, report: Report) -> None:
    known = {(tool.name, tool.server) for tool in tools or ()}
    for call in calls:
        if (call.name, call.server) not in known and _loses_types(call):
            what = f"numbers and booleans in the arguments of {call.name!r:.80} become text"
            report.add("types", what, index, "give the tools")


def _loses_types(call: ToolCall) -> bool:
    """Return whether a call of no known tool is written in elements, and holds what these say as text."""
    if not any(map(_is_typed, call.arguments.values())):
        return False
    try:
        refuse_foreign(call.arguments, call.name)
        return not write_call(call, None, exact=False).startswith(f"<{FORGE.block}>\n{{")
    except XMLToolsError:  # it is left out, and that is told
        return False


def _is_typed(value: Any) -> bool:
    if isinstance(value, (dict, list)):
        return any(map(_is_typed, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (int, float))


def _record(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.text}


def _writable(message: Message, tools: list[Tool] | None, index: int, report: Report) -> Message:
    """Return a message without the calls that text cannot say."""
    parts: list[Part] = []
    for part in message.parts:
        try:
            if isinstance(part, ToolCall):
                _inline([[Message.model_construct(role="assistant", parts=(part,))]], tools, "tool")
        except XMLToolsError as error:
            report.add("unwritable_call", f"left out: {error}", index)
        else:
            parts.append(part)
    return message.model_copy(update={"parts": tuple(parts)})


# Pieces: messages as `inline` takes them, with text only


def _pieces(message: Message, index: int, report: Report) -> Iterator[Message]:
    shown = [_without_media(part) for part in message.parts if not isinstance(part, Media)]
    runs = [(role, list(run)) for role, run in groupby(filter(_says_something, shown), _role_of(message))]
    if len(runs) > 1:
        what = "what belongs in messages of other roles, a result beside text or a call of the user, comes in its own"
        report.add("split_message", what, index)
    elif not runs:
        runs = [(message.role, [])]
    for role, run in runs:
        yield Message.model_construct(role=role, parts=_joined(run, role))
    for result in message.results:
        _tell_word(result, index, report)


def _without_media(part: Part) -> Part:
    if isinstance(part, ToolResult) and not isinstance(part.content, str):
        return part.model_copy(update={"content": part.text})
    return part


def _says_something(part: Part) -> bool:
    return not isinstance(part, (Text, Reasoning)) or part.text != ""


def _role_of(message: Message) -> Callable[[Part], Role]:
    """Return what tells the role of the message in which a part of this message belongs."""
    beside: Role = "user" if message.role == "tool" and message.results else message.role

    def role(part: Part) -> Role:
        if isinstance(part, ToolResult):
            return "tool"
        return "assistant" if isinstance(part, (ToolCall, Reasoning)) else beside

    return role


def _joined(parts: list[Part], role: Role) -> tuple[Part, ...]:
    """Return the parts of a message; texts of all but the assistant as one, since it is the whole of the content."""
    if role in ("assistant", "tool") and not all(isinstance(part, Text) for part in parts):
        return tuple(parts)
    text = "".join(part.text for part in parts if isinstance(part, Text))
    return (Text.unchecked(text),) if text else ()


def _tell_word(result: ToolResult, index: int, report: Report) -> None:
    word = "Error: " if result.is_error else "Result: "
    if result.text.startswith(word):
        report.add("result_word", f"a result begins with {word!r}, which is read as its header", index)
