"""Foreign JSON, as the readers of native streams take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xmltools.errors import XMLToolsError


def as_mapping(message: Any, expected: str) -> Mapping[str, Any]:
    """Return a message of a server as a mapping; an object of an SDK is dumped.

    Raises `XMLToolsError` if it is none, or an error that the server reports.
    """
    data = message.model_dump() if hasattr(message, "model_dump") else message
    if not isinstance(data, Mapping):
        raise XMLToolsError(f"feed() expects {expected} as a dict, got {type(message).__name__}")
    if data.get("error"):
        raise XMLToolsError(f"feed() expects {expected}, got an error of the server; look for 'error' before feeding")
    return data


def list_in(data: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return the list under a key, an empty one if there is none. Raises `XMLToolsError` for what is no list."""
    value = data.get(key) or ()
    if not isinstance(value, (list, tuple)):
        raise XMLToolsError(f"feed() expects a list under {key!r}, got {type(value).__name__}")
    return value


def string_of(data: Mapping[str, Any], key: str) -> str:
    """Return the string under a key, the empty one if there is none."""
    value = data.get(key)
    return value if isinstance(value, str) else ""
