"""The JSON in the events of the upstream's stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from xmltools.errors import XMLToolsError

__all__ = ["parts_of", "read_chunk"]

_PART = 128
"""Characters of markup that are read in less than a millisecond, whatever they say."""


def read_chunk(data: str) -> dict[str, Any]:
    """Return the JSON object that the data of an event is. Raises XMLToolsError if it is none."""
    try:
        chunk = _loaded(data)
    except (ValueError, RecursionError):
        raise XMLToolsError("the upstream sent what is no JSON") from None
    if not isinstance(chunk, dict):
        raise XMLToolsError("the upstream sent what is no chunk of a chat completion")
    return chunk


def parts_of(chunk: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a chunk in parts if all that it says is one long text with markup, else as it is. A server has time for
    others after each part."""
    choice = _only(chunk.get("choices"))
    said = choice.get("delta")
    delta = said if isinstance(said, dict) else {}
    text = delta.get("content") if delta.keys() <= {"content", "role"} else None
    if not isinstance(text, str) or len(text) <= _PART or "<" not in text or "error" in chunk:
        yield chunk
        return
    last = (len(text) - 1) // _PART * _PART
    for at in range(0, last, _PART):
        part = {**choice, "finish_reason": None, "delta": {**delta, "content": text[at : at + _PART]}}
        yield {"choices": [part]}
    yield {**chunk, "choices": [{**choice, "delta": {**delta, "content": text[last:]}}]}


def _only(choices: Any) -> dict[str, Any]:
    """Return the choice, if there is one and no other; else none."""
    is_one = isinstance(choices, list) and len(choices) == 1 and isinstance(choices[0], dict)
    return choices[0] if is_one else {}


def _loaded(data: str) -> Any:
    try:
        return from_json(data)  # a third of the time of json's reader
    except ValueError:
        return json.loads(data)  # takes lone surrogates, too
