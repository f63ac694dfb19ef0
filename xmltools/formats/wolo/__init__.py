"""Wolo's messages, as it stores them: text and tool parts in order, results in the parts of their calls.

- A message is `{id, role, parts, timestamp, finished, finish_reason, reasoning_content, metadata}`; a text part `{id,
  type, text}`; a tool part `{id, type, tool, input, output, status, start_time, end_time, metadata}`, all of them dicts
  (or dataclasses) in a list; `Message`, `TextPart` and `ToolPart` are their types. A part without a type is what its
  field `text` or `tool` says: `TextPart(text="Hi")`. If the conversation has metadata, the list is in
  `{"messages", "metadata"}`.
- A tool part is a call and, once it is completed or failed, also its result: on reading that becomes a message of a
  tool of its own after the reply (GROUPED is False), with the metadata of the part. Its id and time, if it has them,
  are kept there too, under `result_message`. The statuses error, partial and interrupted are failed.
- `reasoning_content` is one reasoning in front of all parts. Results are text. A time 0.0 of a call is not known.
- A stored message without `finished` counts as finished. (The document's default is False, for one that is being made.)
- What has no place in the model (ids of text parts, other keys, and which keys were there at all) is kept
  in `extra["wolo"]`, and written again.
- Each message has an id and a time, and each part an id. `dump` makes those that are missing, as `complete` does: UUIDs
  for messages and calls, and the time of now for messages; for texts the id of the message and their place in it,
  `text_<message>_<place>`. What an id of a call was made for, its result points to as well.

`to_llm_messages` makes what Wolo sends to the API; that is read by the format `openai`. An `EventFolder` makes a
message of what comes back while it comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xmltools.formats.shared.losses import Holds, Report
from xmltools.formats.wolo import reading as _wolo_load
from xmltools.formats.wolo import writing as _wolo_dump
from xmltools.formats.wolo.api import (
    inject_system,
    llm_tool_call,
    opencode_headers,
    rename_agent,
    to_llm_messages,
)
from xmltools.formats.wolo.ids_and_times import NewId, complete, complete_foreign
from xmltools.formats.wolo.message_fields import NAME, kind_of
from xmltools.formats.wolo.stream_events import EventFolder, fold_events
from xmltools.formats.wolo.types import Message, Part, Stored, TextPart, ToolPart
from xmltools.models import Conversation

__all__ = [
    "GROUPED",
    "HOLDS",
    "NAME",
    "SPELLING",
    "EventFolder",
    "Message",
    "Part",
    "TextPart",
    "ToolPart",
    "complete",
    "dump",
    "fold_events",
    "inject_system",
    "llm_tool_call",
    "load",
    "opencode_headers",
    "recognise",
    "rename_agent",
    "to_llm_messages",
]

HOLDS = Holds(
    texts=True,
    reasoning=True,
    error_flag=True,
    status=True,
    times=True,
    finished=True,
    finish_reason=True,
    message_ids=True,
    created_at=True,
    metadata=True,
)
"""What a conversation in this format can say."""
_SAME = ("id", "timestamp", "finished", "finish_reason", "text", "input", "start_time", "end_time")
SPELLING = frozenset(("keys", *(f"values.{key}" for key in _SAME)))
"""Keys of its `extra` that only say how something was spelled, or what the id of a text is."""
LOSES_ORPHANS = True
"""A result without a call is left out."""
GROUPED = False
"""Each result has a message of its own."""


def load(obj: Sequence[Stored] | Mapping[str, Any], report: Report) -> Conversation:
    """Read a list of Wolo's messages, or an object with such a list as `messages`.

    Reports inputs that are no objects, statuses and parts that are not known, and calls of others than the assistant.
    Raises XMLToolsError for what is no such list, with the place.
    """
    return _wolo_load.load(obj, report)


def dump(
    conversation: Conversation,
    report: Report,
    *,
    complete: bool = True,
    now: float | None = None,
    new_id: NewId | None = None,
) -> list[Message] | dict[str, Any]:
    """Write a list of Wolo's messages; in an object, if the conversation has metadata or was read from one.

    Messages without an id or a time get both, and calls without an id get one, as `complete` gives them for `now` and
    `new_id`; but what was read from Wolo's messages is written as it was. With `complete=False` none are made.

    Reports results without a call and those that stood elsewhere than right after it, what stands beside results,
    reasoning that does not come first, and calls that came to an end without a result.
    """
    return _wolo_dump.dump(complete_foreign(conversation, now, new_id) if complete else conversation, report)


def recognise(obj: Any) -> bool:
    """Return whether the object is a list of messages with typed parts, or with calls of Wolo's."""
    listed = obj.get("messages") if isinstance(obj, dict) else obj
    if not isinstance(listed, list) or not all(isinstance(each, dict) and _is_message(each) for each in listed):
        return False
    return any(kind_of(part) == "tool" or part.get("type") == "text" for each in listed for part in each["parts"])


def _is_message(obj: dict[str, Any]) -> bool:
    parts = obj.get("parts")
    return isinstance(parts, list) and all(isinstance(part, dict) and kind_of(part) for part in parts)
