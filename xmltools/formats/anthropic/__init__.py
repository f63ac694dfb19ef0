"""Anthropic's API: a request with "system" and "messages", or the list of messages.

`system` is a system message. Of the blocks, `text` is a Text, `thinking` a Reasoning (its signature is kept), `image`
and `document` a Media if they hold base64 or a URL, `tool_use` a ToolCall, `tool_result` a ToolResult. Results stand in
messages of the user: here they are a tool message, and what else stands there is a message of the user after it (or
before it). All other blocks, such as `redacted_thinking` and those of the server's own tools, are kept as they are. A
response is one reply, its `stop_reason` the `finish_reason`.

Normal form, which is what `load` returns: one system message, at the start; results that follow each other in one
message; no empty texts; the type of a file that is a URL is the one that its ending tells, or "image/*". `dump` writes
the request, with messages that are one text as a string. Results are one message of the user; what the user says next
is another, unless both were read from one. What was spelled otherwise is written again as it was. Reasoning without a
signature has an empty one, which servers of Anthropic refuse, and others take: `unsigned="drop"` leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.anthropic.reading import NAME, Reader
from xmltools.formats.anthropic.writing import Writer
from xmltools.formats.shared.api_messages import of_response
from xmltools.formats.shared.api_turns import system_first
from xmltools.formats.shared.api_values import entries
from xmltools.formats.shared.extra import answered, at, extra_of, kept_for, plain, rest
from xmltools.formats.shared.losses import Holds, Report
from xmltools.models import Conversation, Message, ToolCall
from xmltools.models.finish_reasons import read_finish_reason
from xmltools.models.json_fields import fail

__all__ = ["GROUPED", "HOLDS", "NAME", "SPELLING", "dump", "load", "recognise"]

HOLDS = Holds(texts=True, reasoning=True, media=True, result_texts=True, result_media=True, error_flag=True)
"""What a conversation in this format can say."""
SPELLING = frozenset(("arguments", "is_error", "response"))
"""Keys of its `extra` that are no loss: how something was spelled, and what a response says beside its reply."""
GROUPED = True
"""The results of a turn stand in one message."""

_RIGHT = '{"system": "…", "messages": […]}, a list of messages, or a response'
_MARKS = ("tool_use", "tool_result", "redacted_thinking")


def load(obj: Any, report: Report) -> Conversation:
    """Read a request, a list of messages, a message or a response; objects of the SDK as well.

    Raises XMLToolsError for what is malformed, with the place and the right form.
    """
    source = plain(obj)
    if not isinstance(source, Mapping):
        return Conversation(messages=_read(source, report))
    if "messages" in source:
        return _request(source, report)
    if "role" not in source:
        fail(NAME, _RIGHT, source)
    is_response = source.get("type") == "message" or "stop_reason" in source
    return Conversation(messages=(_response(source, report),) if is_response else _read([source], report))


def _read(source: Any, report: Report) -> tuple[Message, ...]:
    return answered(Reader(report).read_all(source, "messages", _RIGHT))


def _request(source: Mapping[str, Any], report: Report) -> Conversation:
    """Read a request. A system prompt without anything in it stays with the other keys."""
    known = ("system", "messages") if source.get("system") else ("messages",)
    with at("system: "):
        prompt = Reader(report).read({"role": "system", "content": source["system"]}) if len(known) > 1 else []
    messages = _read(source["messages"], report)
    return Conversation(messages=(*prompt, *messages), extra=extra_of(NAME, rest(source, known)))


def _response(source: Mapping[str, Any], report: Report) -> Message:
    message = _read([{key: source[key] for key in ("role", "content") if key in source}], report)[0]
    reason = read_finish_reason(source, "stop_reason")
    return of_response(message, NAME, rest(source, ("role", "content")), finish_reason=reason)


def dump(conversation: Conversation, report: Report, *, orphans: str = "report", unsigned: str = "keep") -> Any:
    """Write the request, {"system"?, "messages"}, with the other keys that it was read with.

    A call without a result directly after its reply is refused by the API. Unless it is in the last turn it is
    reported as `orphan_call`, or as `status` if it is not pending; with `orphans="answer"` each such call, the last
    turn included, gets a result that says that none was provided. `unsigned` says what becomes of reasoning without a
    signature, "keep" or "drop". Raises XMLToolsError for an unknown option.
    """
    _check(orphans, "orphans", "report", "answer")
    _check(unsigned, "unsigned", "keep", "drop")
    writer = Writer(report, unsigned)
    system, numbered = system_first(conversation, report)
    turns = _answered_orphans(numbered, report, orphans == "answer")
    prompt = writer.system(system)
    written: dict[str, Any] = {} if prompt is None else {"system": prompt}
    return {**written, "messages": writer.messages(turns), **rest(kept_for(conversation, NAME), written)}


def _check(value: Any, option: str, *choices: str) -> None:
    if value not in choices:
        raise XMLToolsError(f"{option}: expected {' or '.join(map(repr, choices))}, got {value!r:.40}")


def _answered_orphans(
    messages: Iterable[tuple[int, Message]], report: Report, answers: bool
) -> list[tuple[int, Message]]:
    """Return the messages, with results for the calls that have none if it `answers`; else report those calls."""
    result: list[tuple[int, Message]] = []
    waiting: dict[str, ToolCall] = {}
    at_reply = 0
    for index, message in messages:
        if message.is_tool:
            for each in message.results:
                waiting.pop(each.call_id, None)
        else:
            result += _answers(at_reply, waiting.values(), report, answers)
            waiting, at_reply = {call.id: call for call in message.calls}, index
        result.append((index, message))
    return result + (_answers(at_reply, waiting.values(), report, True) if answers else [])


def _answers(index: int, calls: Iterable[ToolCall], report: Report, answers: bool) -> list[tuple[int, Message]]:
    if answers:
        text = "No result provided"
        return [(index, Message.tool(call.id, call.name, text, is_error=True)) for call in calls]
    for call in calls:
        if call.status == "pending":
            hint = 'give its result, or dump with orphans="answer"'
            report.add("orphan_call", f"the call {call.id!r:.80} has no result after this reply", index, hint)
    return []


def recognise(obj: Any) -> bool:
    """Return whether this is a response, or a block in it is a call, a result, signed thinking or has a source."""
    source = plain(obj)
    if isinstance(source, Mapping):
        if source.get("type") == "message" and "content" in source:
            return True
        source = source.get("messages", [source])
    return any(_is_marked(block) for message in entries(source) for block in entries(_get(message, "content")))


def _is_marked(block: Any) -> bool:
    kind = _get(block, "type")
    if kind == "thinking":
        return _get(block, "signature") is not None
    return kind in _MARKS or (kind in ("image", "document") and isinstance(_get(block, "source"), Mapping))


def _get(value: Any, key: str) -> Any:
    value = plain(value)
    return value.get(key) if isinstance(value, Mapping) else None
