"""Looks at an answer that is passed on as it is, to tell whether it is one: log, metrics and the live view say so.

Nothing is changed in it, and nothing waits. What is compressed, which a client asked for itself, is not looked into.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Refusal, SSEDecoder, error_message, is_error, read_chunk
from xmltools.proxy.bridge.client_errors import BROKEN_OFF, ELSEWHERE, ERROR_IN_ANSWER, WEB_PAGE, is_page
from xmltools.proxy.bridge.json_bodies import NO_OBJECT, parse_object
from xmltools.proxy.bridge.relay import Answered

_MOST = 64 * 1024
"""Bytes of an error: what is longer is an answer, or one that nobody wants to read."""
_WORD = '"error"'
_REASON = re.compile(r'"finish_reason"\s*:\s*"[^"]')


class Fault(NamedTuple):
    """What is wrong with an answer: in our own words, for the log (empty where its status says it), and in those of
    the upstream, for who may see these."""

    cause: str
    message: str


class PassedAnswer:
    """Takes the pieces of one answer; `is_chat`: it is to be a completion, whose stream has a proper end."""

    def __init__(self, answer: Answered, *, is_chat: bool) -> None:
        self._answer = answer
        self._is_chat = is_chat
        self._is_readable = answer.encoding in ("", "identity")
        is_stream = answer.status < 400 and answer.content_type.startswith("text/event-stream")
        self._events = SSEDecoder() if is_stream and self._is_readable else None
        self._start = bytearray()
        self._is_long = False
        self._error: Fault | None = None
        self._has_text = self._has_reason = self._has_end = False

    def take(self, piece: bytes) -> None:
        """Take a piece, in whatever places it was cut."""
        if self._events is not None:
            try:
                self._read(self._events.feed(piece))
            except XMLToolsError:  # of an event that is too long: it is passed on, and not looked at
                self._events, self._is_readable = None, False
        elif self._is_readable and not self._is_long:
            self._start += piece[: _MOST - len(self._start)]
            self._is_long = len(self._start) == _MOST

    def _read(self, events: list[tuple[str, str]]) -> None:
        for name, data in events:
            if data.startswith("[DONE]"):
                self._has_end = True
                continue
            self._has_text = True
            self._has_reason = self._has_reason or bool(_REASON.search(data))
            if self._error is None and (name == "error" or _WORD in data) and len(data) <= _MOST:
                self._error = _error_event(name, data)

    def fault(self) -> Fault | None:
        """Return what is wrong with the answer, now that it has ended; None if it is one."""
        if self._answer.status >= 400:
            return Fault("", error_message(bytes(self._start), self._answer.status))
        if self._is_chat and self._answer.status >= 300:
            return Fault(ELSEWHERE, ELSEWHERE)
        if not self._is_readable:
            return None
        if self._events is None:
            return self._fault_of_body(bytes(self._start))
        self._read(self._events.close())
        is_whole = self._has_reason or (self._has_end and self._has_text)
        if self._error is None and self._is_chat and not is_whole:
            return Fault(BROKEN_OFF, BROKEN_OFF)
        return self._error

    def _fault_of_body(self, body: bytes) -> Fault | None:
        if is_page(self._answer.content_type, body):
            return Fault(WEB_PAGE, WEB_PAGE)
        if self._is_long or not (self._is_chat or _WORD.encode() in body):
            return None
        said = _object_of(body)
        if said is None:
            return Fault(NO_OBJECT, NO_OBJECT) if self._is_chat else None
        # What has an id is something that tells of its own failure, such as a job: that it was told is no failure.
        return Fault(ERROR_IN_ANSWER, error_message(said)) if is_error(said) and "id" not in said else None


def _error_event(name: str, data: str) -> Fault | None:
    try:
        said: Any = read_chunk(data)
    except XMLToolsError:
        said = None
    return Fault(ERROR_IN_ANSWER, error_message(said)) if name == "error" or is_error(said) else None


def _object_of(body: bytes) -> dict[str, Any] | None:
    try:
        return parse_object(body)
    except Refusal:
        return None
