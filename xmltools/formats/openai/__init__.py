"""OpenAI's chat completions: a list of messages, or a request with one under "messages".

A text `content` is one Text, a list of parts Texts and Media: `image_url`, `input_audio` and `file` parts, where a
`data:` URL is data and its type. `tool_calls` are ToolCalls; a custom tool has one argument, `input`. A message of the
role "tool" is a ToolResult, whose name is that of its call. `reasoning_content` (or `reasoning`, as some servers say)
is a Reasoning. "developer" is a system message, `function_call` and the role "function" are a call and its result,
with a made id; they are written again as they were. A completion is one reply, with its `finish_reason`, and `created`
as its `created_at`.

Normal form, which is what `load` returns: each result in a message of its own; a reply is reasoning, texts, calls, in
this order, the reasoning joined, and no text empty; the type of a file that is a URL is the one that its ending tells,
or "image/*". One text is a string; several are joined, which is reported as `texts`, or with `content="auto"`, as
`convert` writes them, a list of parts. A reply without text has the content null if it calls, "" if not. Arguments are
compact JSON. What was spelled otherwise, and parts and keys that are not known, are kept and written again as they
were. Results cannot say that they are errors. Images and other files of results are written in a message of the user
after the results of the turn, which is reported as `result_media`, and are read back into the results. Several texts of
a result are one with line breaks, reported as `result_texts`; with `content="parts"` they stay a list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.openai.attached import with_attached
from xmltools.formats.openai.reading import NAME, REASONING_KEY, Reader
from xmltools.formats.openai.writing import Writer
from xmltools.formats.shared.api_messages import first_of, of_response
from xmltools.formats.shared.api_values import entries
from xmltools.formats.shared.extra import answered, kept_for, plain, rest
from xmltools.formats.shared.losses import Holds, Report
from xmltools.models import Conversation, Message
from xmltools.models.finish_reasons import read_finish_reason
from xmltools.models.json_fields import fail

__all__ = ["GROUPED", "HOLDS", "NAME", "SPELLING", "dump", "load", "recognise"]

HOLDS = Holds(order=False, texts=True, reasoning=True, media=True, names=True)
"""What a conversation in this format can say."""
SPELLING = frozenset(("arguments", "header", "key", "response", "type"))
"""Keys of its `extra` that are no loss: how something was spelled, and what a response says beside its reply."""
GROUPED = False
"""Each result stands in a message of its own."""
REPORTS = frozenset(("result_media", "result_texts"))
"""Losses that are reported here: the files of results are only moved, and their texts are joined only if they are no
list."""

_RIGHT = 'a list of messages, {"messages": […]}, or a completion with "choices"'


def load(obj: Any, report: Report) -> Conversation:
    """Read a list of messages, a request, a message, or a completion; objects of the SDK as well.

    Raises XMLToolsError for what is malformed, with the place and the right form.
    """
    source = plain(obj)
    if not isinstance(source, Mapping):
        return Conversation(messages=_read(source, report))
    if "choices" in source:
        return Conversation(messages=(_completion(source, report),))
    if "messages" in source:
        messages = _read(source["messages"], report)
        return Conversation(messages=messages, extra={NAME: rest(source, ("messages",))})
    if "role" not in source:
        fail(NAME, _RIGHT, source)
    return Conversation(messages=_read([source], report))


def _read(source: Any, report: Report) -> tuple[Message, ...]:
    return answered(with_attached(Reader(report).read_all(source, "messages", _RIGHT)))


def _completion(source: Mapping[str, Any], report: Report) -> Message:
    choice = first_of(source, "choices", "choice", report)
    message = _read([choice.get("message")], report)[0]
    reason = read_finish_reason(choice, "finish_reason", "choices[0].")
    created = source.get("created")
    is_time = isinstance(created, (int, float)) and not isinstance(created, bool) and 0 < created < math.inf
    created_at = float(created) if is_time and created is not None else None
    return of_response(message, NAME, rest(source, ("choices",)), finish_reason=reason, created_at=created_at)


def dump(
    conversation: Conversation, report: Report, *, content: str = "string", reasoning_key: str | None = REASONING_KEY
) -> Any:
    """Write the list of messages, or the request, if the conversation was read from one.

    `content` says how several texts of one message, or of one result, are written: joined ("string"), or as "parts";
    with "auto" those of a message are parts, and those of a result are joined by line breaks. `reasoning_key` is the
    key for reasoning, None to leave it out; at its default, reasoning comes under the key that it was read from.
    Raises XMLToolsError for an unknown option.
    """
    if content not in ("string", "parts", "auto"):
        raise XMLToolsError(f'content: expected "string", "parts" or "auto", got {content!r:.40}')
    writer = Writer(report, content, reasoning_key)
    messages = [each for index, message in enumerate(conversation) for each in writer.write(index, message)]
    messages += writer.attached()
    return {"messages": messages, **kept_for(conversation, NAME)} if NAME in conversation.extra else messages


def recognise(obj: Any) -> bool:
    """Return whether this is a completion, or a message in it has the role "developer" or calls a function."""
    source = plain(obj)
    if isinstance(source, Mapping):
        if isinstance(source.get("choices"), (list, tuple)):
            return True
        source = source.get("messages", [source])
    return any(map(_is_marked, entries(source)))


def _is_marked(message: Any) -> bool:
    message = plain(message)
    if not isinstance(message, Mapping):
        return False
    if message.get("role") in ("developer", "function") or isinstance(message.get("function_call"), Mapping):
        return True
    return any(_is_call(plain(call)) for call in entries(message.get("tool_calls")))


def _is_call(call: Any) -> bool:
    return isinstance(call, Mapping) and any(isinstance(call.get(key), Mapping) for key in ("function", "custom"))
