"""Server-sent events, read as they arrive, however the bytes are cut."""

from __future__ import annotations

import codecs
import re

from xmltools.errors import XMLToolsError

__all__ = ["MAX_EVENT", "SSEDecoder"]

MAX_EVENT = 16 * 1024 * 1024
"""Characters of one event: what is longer is no answer of a model."""

_ONE = re.compile(r"data: ([^\r\n]*)\n\n")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r(?!\Z)|\n)")


class SSEDecoder:
    """Turns bytes into events: pairs of a name, empty if there is none, and the data.

    What is no UTF-8 becomes U+FFFD. Raises XMLToolsError for an event of more than 16 Mi characters.
    """

    __slots__ = ("_data", "_decoder", "_held", "_name", "_parts", "_size", "_started")

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held: list[str] = []
        self._parts = ""
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._started = False

    def feed(self, data: bytes) -> list[tuple[str, str]]:
        """Take the next bytes; return the events that they complete."""
        return self._read(self._decoder.decode(data))

    def close(self) -> list[tuple[str, str]]:
        """Say that the bytes have ended; return what was only waiting for a line break."""
        rest = self._decoder.decode(b"", True)
        return self._read(rest + "\n\n")

    def _read(self, text: str) -> list[tuple[str, str]]:
        if self._started and not (self._held or self._data or self._name) and (whole := _ONE.fullmatch(text)):
            return [("", whole[1])]  # nearly every piece of a stream that is read as fast as it is written
        if not self._started and text:
            self._started = True
            text = text.removeprefix("\ufeff")
        # A CR at the end may be half of a line break: it waits for what follows.
        if not (self._held and self._held[-1].endswith("\r")) and "\n" not in text and "\r" not in text:
            self._hold(text)
            return []
        text = "".join((*self._held, text))
        self._size -= sum(map(len, self._held))
        self._held = []
        events = []
        at = 0
        while line := _LINE.match(text, at):
            at = line.end()
            event = self._line(line[0].rstrip("\r\n"))
            if event is not None:
                events.append(event)
        self._hold(text[at:])
        return events

    def _hold(self, text: str) -> None:
        """Keep what may belong to an event that is not complete."""
        if text:
            self._held.append(text)
        self._size += len(text)
        if self._size > MAX_EVENT:
            raise XMLToolsError(f"an event of the upstream has more than {MAX_EVENT:,} characters")

    def _line(self, line: str) -> tuple[str, str] | None:
        if not line:
            event = (self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data, self._size = "", [], 0
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
            self._size += len(value) + 1
        elif field == "event":
            self._name = value
        return None
