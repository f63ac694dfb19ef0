"""Looks at an answer that is passed on as it is, to tell whether it is one: log, metrics and the live view say so.

Nothing is changed in it, and nothing waits. What is compressed, which a client asked for itself, is not looked into.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Refusal, SSEDecoder, error_message, is_error, read_chunk
from xmltools.proxy.bridge.client_errors import BROKEN_OFF, ELSEWHERE, ERROR_IN_ANSWER, WEB_PAGE, is_page
from xmltools.proxy.bridge.json_bodies import NO_OBJECT, parse_object
from xmltools.proxy.bridge.relay import EVENTS, Answered

_MOST = 64 * 1024
"""Bytes of an error: what is longer is an answer, or one that nobody wants to read."""
_WORD = '"error"'
_REASON = re.compile(r'"finish_reason"\s*:\s*"[^"]')


class PassedAnswer:
    """Takes the pieces of one answer; `is_chat`: it is to be a completion, whose stream has a proper end."""

    def __init__(self, answer: Answered, *, is_chat: bool) -> None:
        self._answer = answer
        self._is_chat = is_chat
        self._is_readable = answer.encoding in ("", "identity")
        is_stream = answer.status < 400 and answer.content_type.startswith(EVENTS)
        self._events = SSEDecoder() if is_stream and self._is_readable else None
        self._start = bytearray()
        self._error: Refusal | None = None
        self._has_text = self._is_whole = False

    def take(self, piece: bytes) -> None:
        """Take a piece, in whatever places it was cut."""
        if self._events is not None:
            try:
                self._read(self._events.feed(piece))
            except XMLToolsError:  # of an event that is too long: it is passed on, and not looked at
                self._events, self._is_readable = None, False
        elif self._is_readable:
            self._start += piece[: _MOST - len(self._start)]

    def _read(self, events: list[tuple[str, str]]) -> None:
        for name, data in events:
            if data.startswith("[DONE]"):
                self._is_whole = self._is_whole or self._has_text
                continue
            self._has_text = True
            self._is_whole = self._is_whole or bool(_REASON.search(data))
            if self._error is None and (name == "error" or _WORD in data) and len(data) <= _MOST:
                said: Any = None
                with suppress(XMLToolsError):
                    said = read_chunk(data)
                if name == "error" or is_error(said):
                    self._error = _fault(error_message(said), ERROR_IN_ANSWER)

    def fault(self) -> Refusal | None:
        """Return what is wrong with the answer, now that it has ended; None if it is one."""
        body, status = bytes(self._start), self._answer.status
        if status >= 400:
            return _fault(error_message(body, status), "")
        if self._is_chat and status >= 300:
            return _fault(ELSEWHERE)
        if not self._is_readable:
            return None
        if self._events is not None:
            self._read(self._events.close())
            is_cut = self._error is None and self._is_chat and not self._is_whole
            return _fault(BROKEN_OFF) if is_cut else self._error
        if is_page(self._answer.content_type, body):
            return _fault(WEB_PAGE)
        if len(body) == _MOST or not (self._is_chat or _WORD.encode() in body):
            return None
        try:
            said = parse_object(body)
        except Refusal:
            return _fault(NO_OBJECT) if self._is_chat else None
        # What has an id is something that tells of its own failure, such as a job: that it was told is no failure.
        return _fault(error_message(said), ERROR_IN_ANSWER) if is_error(said) and "id" not in said else None


def _fault(message: str, in_log: str | None = None) -> Refusal:
    """Return what is wrong with an answer: in the words of the upstream, and in ours for the log, which has none where
    the status says it."""
    return Refusal(message, code="upstream_error", in_log=in_log)
