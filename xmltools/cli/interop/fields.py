"""Fields of objects that others wrote, each of the type that it must have, or a message that says what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from xmltools.errors import XMLToolsError

__all__ = ["Object", "at", "expect_format", "found", "id_of", "object_of", "quoted", "text_of"]

Object = Mapping[str, Any]

_SHOWN = 80
"""Characters of foreign content in a message."""


def expect_format(format: str, known: tuple[str, ...]) -> None:
    """Raise `XMLToolsError` if `format` is none of those that are known."""
    if format not in known:
        raise XMLToolsError(f"format: expected {', '.join(known)}, got {quoted(format)}")


@contextmanager
def at(place: str) -> Iterator[None]:
    """Put `place` in front of the message of an `XMLToolsError` that is raised inside."""
    try:
        yield
    except XMLToolsError as error:
        raise XMLToolsError(f"{place}: {error}") from None


def found(value: Any) -> str:
    """Return what a value is, in words: its keys if it is an object, never its content."""
    match value:
        case Mapping():
            keys = ", ".join(repr(str(key)[:_SHOWN]) for key in value)
            return f"an object with {_cut(keys)}" if keys else "an empty object"
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case list():
            return "a list"
        case str():
            return "text"
        case int() | float():
            return "a number"
    return type(value).__name__


def quoted(value: Any) -> str:
    """Return the start of a short text, such as a type or a role, in quotes; for other values what `found` says."""
    return repr(_cut(value)) if isinstance(value, str) else found(value)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def text_of(source: Object, key: str) -> str:
    """Return a field that must be text."""
    value = source.get(key)
    if not isinstance(value, str):
        raise _wrong(source, key, "text")
    return value


def object_of(source: Object, key: str) -> Object:
    """Return a field that must be an object."""
    value = source.get(key)
    if not isinstance(value, Mapping):
        raise _wrong(source, key, "an object")
    return value


def id_of(source: Object, key: str) -> str:
    """Return an id as text, "" if there is none. JSON-RPC has numbers too."""
    value = source.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise _wrong(source, key, "text")
    return str(value)


def _wrong(source: Object, key: str, expected: str) -> XMLToolsError:
    return XMLToolsError(f"{key}: expected {expected}, found {found(source[key]) if key in source else 'nothing'}")
