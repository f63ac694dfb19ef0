"""The Gemini API: a request with "systemInstruction" and "contents", or the list of contents.

`systemInstruction` is a system message, the role "model" the assistant. A `text` is a Text, with `thought` a Reasoning,
`inlineData` and `fileData` are Media, `functionCall` is a ToolCall, `functionResponse` a ToolResult. Responses of
functions stand in contents of the user: here they are a tool message. A response {"output": text} says that text,
{"error": text} that it is an error; {"result": …} is read too, and any other response is said as JSON. All other parts
and keys, such as `thoughtSignature`, are kept. Keys are read in camelCase and in snake_case, and written in camelCase.
An answer with "candidates" is one reply, its `finishReason` the `finish_reason`.

Normal form, which is what `load` returns: one system message, at the start; results that follow each other in one
message, the text of each before its files; no empty texts; calls have the ids call_1, call_2, …, by counting, and a
result without an id is that of the first call of its name that has none. `dump` writes the request. Ids are only
written where they were read, or if `ids` asks for them: older models refuse them, as they do files in results. Where
two results of one tool would be taken for each other, since they have no ids, the results of the turn are written in
the order of their calls, which is reported as `moved_result`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.conversations.transcript.turns import in_order_of_calls, moved
from xmltools.formats.gemini.reading import NAME, Reader, camel
from xmltools.formats.gemini.writing import Writer, says_id
from xmltools.formats.shared.api_messages import first_of, of_response
from xmltools.formats.shared.api_turns import system_first
from xmltools.formats.shared.api_values import entries
from xmltools.formats.shared.extra import answered, at, extra_of, kept_for, plain, rest
from xmltools.formats.shared.losses import WORDS, Holds, Report
from xmltools.models import Conversation, Message, Text
from xmltools.models.finish_reasons import read_finish_reason
from xmltools.models.json_fields import expect, fail

__all__ = ["GROUPED", "HOLDS", "NAME", "SPELLING", "dump", "load", "recognise"]

HOLDS = Holds(texts=True, reasoning=True, media=True, result_media=True, call_ids=False, error_flag=True)
"""What a conversation in this format can say."""
SPELLING = frozenset(("arguments", "response"))
"""Keys of its `extra` that are no loss: how something was spelled, and what a response says beside its reply."""
REPORTS = frozenset(("call_ids",))
"""A loss that is reported here: it is known here which ids are written."""
GROUPED = True
"""The results of a turn stand in one message."""

_RIGHT = '{"systemInstruction": {…}, "contents": […]}, a list of contents, or an answer with "candidates"'
_SYSTEM = ("systemInstruction", "system_instruction")
_MARKS = ("functionCall", "functionResponse", "inlineData", "fileData")


def load(obj: Any, report: Report) -> Conversation:
    """Read a request, a list of contents, a content or an answer; objects of the SDK as well.

    Raises XMLToolsError for what is malformed, with the place and the right form.
    """
    source = plain(obj)
    if not isinstance(source, Mapping):
        return Conversation(messages=_read(source, report))
    if "contents" in source:
        return _request(source, report)
    if "candidates" in source:
        return Conversation(messages=(_answer(source, report),))
    if "parts" not in source:
        fail(NAME, _RIGHT, source)
    return Conversation(messages=_read([source], report))


def _read(source: Any, report: Report) -> tuple[Message, ...]:
    return answered(Reader(report).read_all(source, "contents", _RIGHT))


def _request(source: Mapping[str, Any], report: Report) -> Conversation:
    """Read a request. A system instruction without anything in it stays with the other keys."""
    given = next((source[key] for key in _SYSTEM if source.get(key)), None)
    contents = source["contents"]
    one = [contents] if isinstance(contents, Mapping) else contents
    messages = (*_instruction(plain(given), report), *_read(one, report))
    known = ("contents",) if given is None else ("contents", *_SYSTEM)
    return Conversation(messages=messages, extra=extra_of(NAME, rest(source, known)))


def _instruction(given: Any, report: Report) -> list[Message]:
    if given is None:
        return []
    if isinstance(given, str):
        return [Message(role="system", parts=(Text(text=given),), extra={NAME: {"instruction": "text"}})]
    expect(given, Mapping, "systemInstruction", 'an object, {"parts": [{"text": "…"}]}')
    with at("systemInstruction."):
        message = Reader(report).read({**given, "role": "system"})[0]
    own = kept_for(message, NAME) | ({"role": given["role"]} if "role" in given else {})
    return [message.model_copy(update={"extra": extra_of(NAME, own)})]


def _answer(source: Mapping[str, Any], report: Report) -> Message:
    first = camel(first_of(source, "candidates", "candidate", report))
    content = {"role": "model", **(plain(first.get("content")) or {})}
    message = _read([content], report)[0]
    reason = read_finish_reason(first, "finishReason", "candidates[0].")
    if reason == "stop" and message.calls:  # Gemini has no word of its own for that
        reason = "tool_calls"
    beside = {**rest(source, ("candidates",)), **rest(first, ("content",))}
    return of_response(message, NAME, beside, finish_reason=reason)


def dump(conversation: Conversation, report: Report, *, ids: bool = False) -> Any:
    """Write the request, {"systemInstruction"?, "contents"}, with the other keys that it was read with.

    With `ids`, calls and results say their ids.
    """
    writer = Writer(report, ids)
    system, numbered = system_first(conversation, report)
    numbered = _in_order(numbered, report, ids)
    for index, message in numbered:
        if message.is_assistant and any(call.id and not says_id(call, ids) for call in message.calls):
            report.add("call_ids", f"{NAME} cannot hold {WORDS['call_ids']}", index, "give dump ids=True to write them")
    prompt = writer.system(system)
    written: dict[str, Any] = {} if prompt is None else {"systemInstruction": prompt}
    others = rest(kept_for(conversation, NAME), () if prompt is None else _SYSTEM)
    return {**written, "contents": writer.messages(numbered), **others}


def _in_order(numbered: list[tuple[int, Message]], report: Report, ids: bool) -> list[tuple[int, Message]]:
    """Return the messages with the results that say no ids in the order of their calls."""
    places, messages = [index for index, _ in numbered], [message for _, message in numbered]
    ordered = in_order_of_calls(
        messages, are_named=True, across_replies=True, is_moved=lambda result: not says_id(result, ids)
    )
    for place in moved(messages, ordered):
        report.add("moved_result", f"{NAME} has no ids: results come in the order of their calls", places[place])
    return list(zip(places, ordered, strict=True))


def recognise(obj: Any) -> bool:
    """Return whether this has contents or candidates, or is a content: of the model, or with parts of Gemini."""
    source = plain(obj)
    if isinstance(source, Mapping):
        if isinstance(source.get("contents"), (list, tuple)) or isinstance(source.get("candidates"), (list, tuple)):
            return True
        source = [source]
    return any(map(_is_marked, entries(source)))


def _is_marked(content: Any) -> bool:
    content = plain(content)
    if not isinstance(content, Mapping) or not isinstance(content.get("parts"), (list, tuple)):
        return False
    return content.get("role") == "model" or any(map(_is_part, content["parts"]))


def _is_part(part: Any) -> bool:
    part = plain(part)
    if not isinstance(part, Mapping) or "type" in part:
        return False
    return isinstance(part.get("text"), str) or any(isinstance(camel(part).get(key), Mapping) for key in _MARKS)
