"""Server-sent events: the bytes that carry a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import to_json

from xmltools.errors import XMLToolsError

SSE_DONE = b"data: [DONE]\n\n"
"""What ends a stream of OpenAI chunks."""

# JSON leaves these as they are in strings, but readers that split text and not bytes take them for line breaks.
_LINE_BREAK = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")


def to_sse(messages: Iterable[Mapping[str, Any] | tuple[str, Mapping[str, Any]]]) -> bytes:
    """Return the bytes for what `feed` or `close` of a stream returned: chunks, or pairs of an event's name and data.

    A stream of OpenAI chunks is ended by `SSE_DONE`. Raises `XMLToolsError` for a message that is no JSON.
    """
    return b"".join(map(_message, messages))


def _message(message: Mapping[str, Any] | tuple[str, Mapping[str, Any]]) -> bytes:
    name, data = message if isinstance(message, tuple) else ("", message)
    text = _json(data)
    if not text.isascii():
        text = _LINE_BREAK.sub(_escaped, text)
    return b"%sdata: %s\n\n" % (f"event: {name}\n".encode() if name else b"", text)


def _json(data: Mapping[str, Any]) -> bytes:
    # pydantic's writer takes a third of the time of json's, which decides where the first is not sure.
    try:
        text = to_json(data)
        if b"NaN" not in text and b"Infinity" not in text:  # in a string, or numbers that JSON does not have
            return text
    except ValueError:
        pass
    try:
        written = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            return written.encode()
        except UnicodeEncodeError:  # a client's own words may hold lone surrogates, which have no other spelling
            return json.dumps(data, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise XMLToolsError(f"to_sse() expects what feed() of a stream returned; no JSON: {error}") from None


def _escaped(character: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(character[0].decode())
