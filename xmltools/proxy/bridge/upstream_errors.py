"""What an upstream's error says, in whatever form it says it.

OpenAI's form is `{"error": {"message": …, "code": …}}`. Other servers leave out the inner object or the outer one, call
the message a detail, or give a list of what was wrong with the fields of a request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["error_message", "error_status", "is_error"]

_LONGEST = 2_000
"""Characters of a message that are shown."""
_DEEPEST = 4
_WORDS = ("error", "message", "detail", "msg")


def is_error(said: Any) -> bool:
    """Return whether a JSON value is an error: with one in it, or marked as one, as older vLLM did."""
    return isinstance(said, dict) and (bool(said.get("error")) or said.get("object") == "error")


def error_message(said: Any, status: int | None = None) -> str:
    """Return the message of an error, at most 2,000 characters of it, with U+FFFD for what no encoding can carry.

    Takes a JSON value, or the bytes of a body, which may be no JSON at all; `status` is told if there is no message.
    """
    value = _loaded(said) if isinstance(said, bytes) else said
    silent = "the upstream reported an error" if status is None else f"the upstream answered with status {status}"
    message = next((words for words in _words(value, _DEEPEST) if words.strip()), silent)[:_LONGEST]
    return message.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def error_status(said: Any, default: int = 502) -> int:
    """Return the status of HTTP that an error has in it, `default` if there is none."""
    if not isinstance(said, Mapping):
        return default
    inner = said.get("error")
    places = (inner, said) if isinstance(inner, Mapping) else (said,)
    given = (_status(place.get(key)) for place in places for key in ("code", "status"))
    return next((status for status in given if status is not None), default)


def _loaded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _words(value: Any, deepest: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif deepest and isinstance(value, Mapping):
        for name in _WORDS:
            yield from _words(value.get(name), deepest - 1)
    elif deepest and isinstance(value, list):
        yield from _words(value[0] if value else None, deepest - 1)


def _status(code: Any) -> int | None:
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None
