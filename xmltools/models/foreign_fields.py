"""Fields of objects that others wrote, each of the type that it must have, or a message that says what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.models.json_fields import Object, expect, found

__all__ = ["Object", "at", "expect_format", "found", "id_of", "keys_of", "object_of", "text_of"]

_SHOWN = 80
"""Characters of foreign content in a message."""


def expect_format(format: str, known: tuple[str, ...]) -> None:
    """Raise `XMLToolsError` if `format` is none of those that are known."""
    if format not in known:
        raise XMLToolsError(f"format: expected {', '.join(known)}, got {found(format, is_word=True)}")


@contextmanager
def at(place: str) -> Iterator[None]:
    """Put `place` in front of the message of an `XMLToolsError` that is raised inside."""
    try:
        yield
    except XMLToolsError as error:
        raise XMLToolsError(f"{place}: {error}") from None


def keys_of(value: Any) -> str:
    """Return what a value is in words: its keys if it is an object, never its content."""
    keys = ", ".join(repr(str(key)) for key in value) if isinstance(value, Mapping) else ""
    return f"an object with {keys[:_SHOWN]}" + "…" * (len(keys) > _SHOWN) if keys else found(value)


def text_of(source: Object, key: str) -> str:
    """Return a field that must be text."""
    text: str = expect(source.get(key), str, key, "text")
    return text


def object_of(source: Object, key: str) -> Object:
    """Return a field that must be an object."""
    inner: Object = expect(source.get(key), Mapping, key, "an object")
    return inner


def id_of(source: Object, key: str) -> str:
    """Return an id as text, "" if there is none. JSON-RPC has numbers too."""
    value = source.get(key)
    return "" if value is None else str(value if type(value) is int else expect(value, str, key, "text"))
