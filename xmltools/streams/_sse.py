"""Server-sent events: the bytes that carry a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from xmltools.errors import XMLToolsError

__all__ = ["SSE_DONE", "to_sse"]

SSE_DONE = b"data: [DONE]\n\n"
"""What ends a stream of OpenAI chunks."""

# JSON leaves these as they are in strings, but readers that split text and not bytes take them for line breaks.
_LINE_BREAK = re.compile("[\x85\u2028\u2029]")


def to_sse(messages: Iterable[Mapping[str, Any] | tuple[str, Mapping[str, Any]]]) -> bytes:
    """Return the bytes for what `feed` or `close` of a stream returned: chunks, or pairs of an event's name and data.

    A stream of OpenAI chunks is ended by `SSE_DONE`. Raises `XMLToolsError` for a message that is no JSON.
    """
    return b"".join(map(_message, messages))


def _message(message: Mapping[str, Any] | tuple[str, Mapping[str, Any]]) -> bytes:
    name, data = message if isinstance(message, tuple) else ("", message)
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text = _LINE_BREAK.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
    except (TypeError, ValueError) as error:
        raise XMLToolsError(f"to_sse() expects what feed() of a stream returned; no JSON: {error}") from None
