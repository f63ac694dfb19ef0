"""The JSON in the events of the upstream's stream."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from xmltools.errors import XMLToolsError

__all__ = ["read_chunk"]


def read_chunk(data: str) -> dict[str, Any]:
    """Return the JSON object that the data of an event is. Raises XMLToolsError if it is none."""
    try:
        chunk = _loaded(data)
    except (ValueError, RecursionError):
        raise XMLToolsError("the upstream sent what is no JSON") from None
    if not isinstance(chunk, dict):
        raise XMLToolsError("the upstream sent what is no chunk of a chat completion")
    return chunk


def _loaded(data: str) -> Any:
    try:
        return from_json(data)  # a third of the time of json's reader
    except ValueError:
        return json.loads(data)  # takes lone surrogates, too
