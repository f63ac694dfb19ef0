"""Fields of JSON objects that others wrote: each of the type that it must have, or an error in one wording.

The error says what was expected, where, and what was found. Content is never shown: of a value only its type is named.
The value itself is shown only where one of a few fixed words was expected, such as a role.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from xmltools.errors import XMLToolsError

Object = Mapping[str, Any]
MakeError = Callable[[str, str], XMLToolsError]
"""Makes an error of a place, such as `messages[2].content`, and of what is wrong there."""

_SHOWN = 40
"""Characters of a word that are shown."""


def plain_error(where: str, problem: str) -> XMLToolsError:
    """Return an error that is nothing more than its message."""
    return XMLToolsError(f"{where}: {problem}")


def expect(value: Any, kind: type | tuple[type, ...], where: str, expected: str, error: MakeError = plain_error) -> Any:
    """Return `value` if it is of the kind, else raise the error. A boolean is no number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind in (int, float)):
        fail(where, expected, value, error)
    return value


def fail(where: str, expected: str, value: Any, error: MakeError = plain_error, *, is_word: bool = False) -> NoReturn:
    """Raise the error for a value that is not what was expected; `is_word` if that was one of a few fixed words."""
    raise error(where, f"expected {expected}, got {found(value, is_word=is_word)}")


def found(value: Any, *, is_word: bool = False) -> str:
    """Return what a value is in words: its JSON type. Text that stands for a fixed word is quoted, up to a length."""
    match value:
        case None:
            return "nothing"
        case str() if is_word:
            return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")
        case str():
            return "text"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
    return type(value).__name__
