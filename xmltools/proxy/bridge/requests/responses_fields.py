"""Fields of a request of the Responses API. `at`, or the part of it in front of the field, is the place to be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.models.json_fields import Object, expect, found
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.requests.incoming import Notes, refusal

__all__ = ["Object", "check_only", "list_in", "object_in", "refusal", "text_in", "wrong"]


def wrong(at: str, expected: str, got: Any, *, is_word: bool = False) -> Refusal:
    """Return the refusal of a value that is not what is expected at its place."""
    there = "an empty list" if got == [] else found(got, is_word=is_word)
    return refusal(at, f"expected {expected}, got {there}")


def object_in(source: Object, name: str, at: str = "") -> Object:
    """Return the object in a field, an empty one for none. Raises Refusal for anything else."""
    value = source.get(name)
    inner: Object = {} if value is None else expect(value, Mapping, f"{at}{name}", "an object", refusal)
    return inner


def list_in(source: Object, name: str, at: str = "") -> list[Any]:
    """Return the list in a field, an empty one for none. Raises Refusal for anything else."""
    value = source.get(name)
    return [] if value is None else list(expect(value, list, f"{at}{name}", "a list", refusal))


def text_in(source: Object, name: str, at: str = "") -> str:
    """Return the text in a field. Raises Refusal for anything else, and for none."""
    text: str = expect(source.get(name), str, f"{at}{name}", "text", refusal)
    return text


def check_only(source: Object, at: str, names: tuple[str, ...], notes: Notes) -> None:
    """Note the fields that have none of the names, since nothing here could honour them.

    Raises Refusal for one if it is to be strict.
    """
    for name in source:
        if name not in names and source[name] is not None:
            notes.ignore(f"{at}.{name}", "this can't be honoured here; leave it out")
