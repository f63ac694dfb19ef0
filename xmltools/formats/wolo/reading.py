"""Wolo's messages to a conversation (see `wolo`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, cast

from xmltools.formats.shared.losses import Report
from xmltools.formats.shared.spelling import extra_of, spelling_of
from xmltools.formats.wolo.message_fields import (
    NAME,
    RESULT_MESSAGE,
    STATUSES,
    Answer,
    arguments_of,
    kind_of,
    message_record,
    seconds,
    status_of,
    text_id,
    tool_part_record,
)
from xmltools.models import Conversation, Message, Part, Reasoning, Role, Text, ToolCall, ToolResult
from xmltools.models.json_fields import expect, fail

_ROLES = ("user", "assistant", "system")
_PARTS = "a list 'parts' of text and tool parts"


def load(obj: Any, report: Report) -> Conversation:
    """Read Wolo's messages (see `wolo.load`)."""
    obj = _plain(obj)
    listed = obj.get("messages") if isinstance(obj, dict) else obj
    if not isinstance(listed, (list, tuple)):
        fail("the whole", "a list of messages, or an object with a list 'messages'", listed)
    plain = [_plain(each) for each in listed]
    reader = _Reader(report, CallIds(plain))
    messages = [message for index, each in enumerate(plain) for message in reader.message(each, index)]
    if not isinstance(obj, dict):
        return Conversation.model_construct(messages=tuple(messages))
    metadata = expect(obj.get("metadata", {}), dict, "metadata", "an object")
    note = spelling_of({**obj, "messages": []}, {"messages": [], "metadata": metadata})
    if not metadata:
        note["keys"] = list(obj)  # or it would be written as a list
    return Conversation.model_construct(messages=tuple(messages), metadata=metadata, extra=extra_of(note, NAME))


def _plain(obj: Any) -> Any:
    """Return an object of a library, which Wolo's messages are, as a dict."""
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return dataclasses.asdict(obj)
    return obj.model_dump() if hasattr(obj, "model_dump") and not isinstance(obj, type) else obj


class CallIds:
    """Makes ids for calls that have none: `call_1`, `call_2`, …, without those that are given."""

    __slots__ = ("_given", "_numbers")

    def __init__(self, messages: list[Any] | None = None) -> None:
        self._given = set(_given_ids(messages or ()))
        self._numbers = count(1)

    def note(self, id: str) -> None:
        """Take an id that is given: it is not made any more."""
        self._given.add(id)

    def make(self) -> str:
        """Return the next id."""
        return next(id for number in self._numbers if (id := f"call_{number}") not in self._given)


def _given_ids(messages: Any) -> Iterator[str]:
    for message in messages:
        parts = message.get("parts") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and isinstance(part.get("id"), str):
                yield part["id"]


class _Reader:
    __slots__ = ("_ids", "_report")

    def __init__(self, report: Report, ids: CallIds) -> None:
        self._report = report
        self._ids = ids

    def message(self, obj: Any, index: int) -> list[Message]:
        """Read one message. The results of its calls become messages after it."""
        where = f"message {index}"
        expect(obj, dict, where, "an object with role and parts")
        role = obj.get("role")
        if role not in _ROLES:
            fail(
                f"{where}: role",
                "'user', 'assistant' or 'system' (results stand in the parts of their calls)",
                role,
                is_word=True,
            )
        parts, answers, unknown = self._parts(obj, where, index)
        reasoning = _text(obj, "reasoning_content", where)
        if reasoning:
            parts.insert(0, Reasoning.unchecked(reasoning))
        message = _message(obj, role, tuple(parts), where)
        note = spelling_of({**obj, "parts": []}, message_record(message))
        if message.id is None or message.created_at is None:
            note.setdefault("keys", list(obj))  # or `dump` would take it for one from elsewhere, and make both
        extra = extra_of({**note, **({"unknown_parts": unknown} if unknown else {})}, NAME)
        return [message.model_copy(update={"extra": extra}), *(answer.message for answer in answers)]

    def _parts(self, obj: Mapping[str, Any], where: str, index: int) -> tuple[list[Part], list[Answer], list[Any]]:
        parts: list[Part] = []
        answers: list[Answer] = []
        unknown: list[Any] = []
        owner = obj["id"] if isinstance(obj.get("id"), str) else index
        for number, each in enumerate(_listed_parts(obj, where)):
            place = f"{where}: parts[{number}]"
            part = expect(_plain(each), dict, place, "an object with the type 'text' or 'tool'")
            kind = kind_of(part)
            if kind == "text":
                parts.append(_text_part(part, text_id(owner, number), place))
            elif kind == "tool":
                call, answer = read_call(part, place, index, self._report, self._ids)
                parts.append(call)
                answers += [answer] if answer else []
            else:
                unknown.append([number, part])
                expect(kind, str, f"{place}: type", "'text' or 'tool'")
                message = f"parts of the type {kind!r:.40} are not known: only wolo keeps it"
                self._report.add("unknown_part", message, index, "use text and tool parts")
        if obj["role"] != "assistant" and any(isinstance(part, ToolCall) for part in parts):
            self._report.add("misplaced_call", "a tool part stands in a message that is not the assistant's", index)
        return parts, answers, unknown


def _listed_parts(obj: Mapping[str, Any], where: str) -> list[Any]:
    if "parts" not in obj and "content" in obj:
        fail(where, f"{_PARTS}, not 'content' (that is a message for the API: read it as 'openai')", None)
    parts: list[Any] = expect(obj.get("parts"), list, f"{where}: parts", _PARTS)
    return parts


def _message(obj: Mapping[str, Any], role: str, parts: tuple[Part, ...], where: str) -> Message:
    created_at = obj.get("timestamp")
    return Message.model_construct(
        role=cast(Role, role),
        parts=parts,
        id=_optional(obj, "id", str, where, "a string"),
        created_at=None if created_at is None else _time(obj, "timestamp", where),
        finished=_optional(obj, "finished", bool, where, "true or false") is not False,
        finish_reason=_text(obj, "finish_reason", where) or None,
        metadata=_optional(obj, "metadata", dict, where, "an object") or {},
    )


def _text_part(obj: Mapping[str, Any], made_id: str, where: str) -> Text:
    text = _text(obj, "text", where)
    note = spelling_of(obj, {"id": made_id, "type": "text", "text": text})
    return Text.model_construct(text=text, extra=extra_of(note, NAME))


def read_call(
    obj: Mapping[str, Any], where: str, index: int, report: Report, ids: CallIds
) -> tuple[ToolCall, Answer | None]:
    """Read a tool part: the call, and its result in a message if it has come to an end."""
    name = expect(obj.get("tool"), str, f"{where}: tool", "the name of a tool")
    status = _optional(obj, "status", str, where, f"one of {', '.join(STATUSES)}")
    if status is not None and status not in STATUSES:
        report.add("unknown_status", f"the status {status!r:.40} is not known and read as failed", index)
    arguments = arguments_of(obj.get("input"))
    if arguments is None:
        report.add("invalid_arguments", f"the input of {name!r:.80} is no object: its arguments are empty", index)
    given_id = _optional(obj, "id", str, where, "a string")
    call = ToolCall.model_construct(
        id=ids.make() if given_id is None else given_id,
        name=name,
        arguments=arguments or {},
        status=status_of(status),
        started_at=_time(obj, "start_time", where) or None,
        ended_at=_time(obj, "end_time", where) or None,
    )
    answer = _answer(obj, call, where)
    note = spelling_of(obj, tool_part_record(call, answer))
    if given_id == "":
        note.setdefault("keys", list(obj))  # or `dump` would take it for one from elsewhere, and make an id
    return call.model_copy(update={"extra": extra_of(note, NAME)}), answer


def _answer(obj: Mapping[str, Any], call: ToolCall, where: str) -> Answer | None:
    output = _text(obj, "output", where)
    metadata: dict[str, Any] = _optional(obj, "metadata", dict, where, "an object") or {}
    if call.status in ("pending", "running"):
        return None
    result = ToolResult.model_construct(
        call_id=call.id, name=call.name, content=output, is_error=call.status == "failed"
    )
    about: dict[str, Any] = {}
    if list(metadata)[-1:] == [RESULT_MESSAGE] and _is_about_message(metadata[RESULT_MESSAGE]):
        about = metadata[RESULT_MESSAGE]
        metadata = {key: value for key, value in metadata.items() if key != RESULT_MESSAGE}
    message = Message.model_construct(
        role="tool", parts=(result,), id=about.get("id"), created_at=about.get("timestamp"), metadata=metadata
    )
    return Answer(result, message)


def _is_about_message(about: Any) -> bool:
    return (
        isinstance(about, dict)
        and list(about) in (["id"], ["timestamp"], ["id", "timestamp"])
        and isinstance(about.get("id", ""), str)
        and isinstance(about.get("timestamp", 0.0), float)
    )


# Fields


def _optional(obj: Mapping[str, Any], key: str, kind: type, where: str, what: str) -> Any:
    value = obj.get(key)
    return None if value is None else expect(value, kind, f"{where}: {key}", what)


def _text(obj: Mapping[str, Any], key: str, where: str) -> str:
    return _optional(obj, key, str, where, "a string") or ""


def _time(obj: Mapping[str, Any], key: str, where: str) -> float:
    value = obj.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        fail(f"{where}: {key}", "seconds since 1970 as a number", value)
    return seconds(value)
