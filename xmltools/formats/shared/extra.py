"""What a format keeps of the objects that it reads, so that it can write them again, and small readers for that.

What only one format knows stands in `extra`, under its name: keys that the model has no field for as they were, and
under a key that is known what was spelled otherwise than it will be written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.losses import Report
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult
from xmltools.syntax.json_reader import JSONError, loads


@contextmanager
def at(place: str) -> Iterator[None]:
    """Put `place` in front of the place that an XMLToolsError raised inside names: `tool_calls[0].function: …`.

    What `strict` raises names its place already.
    """
    try:
        yield
    except XMLToolsError as error:
        if str(error).startswith("strict: "):
            raise
        raise XMLToolsError(f"{place}{error}") from None


def plain(value: Any) -> Any:
    """Return an object of an SDK as a dict without the fields that it leaves open, anything else as it is."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return value
    return dump(mode="json", by_alias=True, exclude_none=True, warnings=False)


def rest(source: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Return the keys of an object that are not known."""
    return {key: value for key, value in source.items() if key not in known}


def extra_of(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an `extra` in which the format `name` keeps these fields; an empty one if there are none."""
    return {name: dict(fields)} if fields else {}


def kept_for(
    value: Conversation | Message | Text | Reasoning | Media | ToolCall | ToolResult, name: str
) -> dict[str, Any]:
    """Return what the format `name` keeps of a value."""
    found = value.extra.get(name)
    return dict(found) if isinstance(found, Mapping) else {}


def nested(source: Mapping[str, Any], key: str, inner: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the keys of an object that are not known, and under `key` those of the object that it holds there."""
    outer = rest(source, (key, *known))
    return {**outer, key: inner} if inner else outer


def under(own: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return the object under a key of what is kept, an empty one if there is none."""
    found = own.get(key)
    return dict(found) if isinstance(found, Mapping) else {}


def completed(written: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with those of the fields after its own keys that are not among these."""
    return {**written, **rest(fields, written)}


def compact(value: Any) -> str:
    """Return JSON without white space, non-ASCII characters as they are; what is no JSON comes as its `str`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def answered(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages with the status of each call: completed or failed where there is a result, else pending."""
    messages = tuple(messages)
    failed = {result.call_id: result.is_error for message in messages for result in message.results}
    return tuple(_with_statuses(message, failed) for message in messages)


def _with_statuses(message: Message, failed: Mapping[str, bool]) -> Message:
    if not any(call.id in failed for call in message.calls):
        return message
    return message.model_copy(update={"parts": tuple(_with_status(part, failed) for part in message.parts)})


def _with_status(part: Any, failed: Mapping[str, bool]) -> Any:
    if not isinstance(part, ToolCall) or part.id not in failed:
        return part
    return part.model_copy(update={"status": "failed" if failed[part.id] else "completed"})


def read_arguments(value: Any, name: str, report: Report, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the arguments of the tool `name`, which should be an object.

    Returns the arguments, and what is to be kept: what is no object, under "arguments". JSON text that holds an
    object is repaired. Whatever is no object is reported.
    """
    if isinstance(value, Mapping):
        return dict(value), {}
    read = _load(value) if isinstance(value, str) else None
    right = 'write an object, as in {"path": "a.py"}'
    if isinstance(read, dict):
        report.add("arguments_text", f"the arguments of {name!r:.80} are an object in a text", index, right)
        return read, {}
    report.add("invalid_arguments", f"the arguments of {name!r:.80} are no object", index, right)
    return {}, {"arguments": value}


def _load(text: str) -> Any:
    try:
        return loads(text)[0]
    except JSONError:
        return None
