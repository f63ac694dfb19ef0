"""Fields of a request of the Responses API. `at`, or the part of it in front of the field, is the place to be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.proxy.bridge.errors import Refusal
from xmltools.proxy.bridge.requests.incoming import Notes

__all__ = ["Object", "check_only", "list_in", "object_in", "refusal", "text_in", "wrong"]

Object = Mapping[str, Any]


def refusal(at: str, why: str) -> Refusal:
    """Return the refusal of what stands at a place."""
    return Refusal(f"{at}: {why}", param=at)


def wrong(at: str, expected: str, got: Any) -> Refusal:
    """Return the refusal of a value that is not what is expected at its place."""
    return Refusal(f"{at}: expected {expected}, got {got!r:.60}", param=at)


def object_in(source: Object, name: str, at: str = "") -> Object:
    """Return the object in a field, an empty one for none. Raises Refusal for anything else."""
    value = source.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise wrong(f"{at}{name}", "an object", value)
    return {} if value is None else value


def list_in(source: Object, name: str, at: str = "") -> list[Any]:
    """Return the list in a field, an empty one for none. Raises Refusal for anything else."""
    value = source.get(name)
    if value is not None and not isinstance(value, list):
        raise wrong(f"{at}{name}", "a list", value)
    return [] if value is None else value


def text_in(source: Object, name: str, at: str = "") -> str:
    """Return the text in a field. Raises Refusal for anything else, and for none."""
    value = source.get(name)
    if not isinstance(value, str):
        raise wrong(f"{at}{name}", "text", value)
    return value


def check_only(source: Object, at: str, names: tuple[str, ...], notes: Notes) -> None:
    """Note the fields that have none of the names, since nothing here could honour them.

    Raises Refusal for one if it is to be strict.
    """
    for name in source:
        if name not in names and source[name] is not None:
            notes.ignore(f"{at}.{name}", "this can't be honoured here; leave it out")
