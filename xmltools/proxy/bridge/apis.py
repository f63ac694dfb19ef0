"""What each API has of its own: who reads its requests, who writes its replies, and how its ids begin."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge.encoders import ChatEncoder, Encoder, MessagesEncoder, ResponsesEncoder
from xmltools.proxy.bridge.errors import Api
from xmltools.proxy.bridge.requests.anthropic import read_messages_request
from xmltools.proxy.bridge.requests.chat import read_chat_request
from xmltools.proxy.bridge.requests.incoming import Incoming
from xmltools.proxy.bridge.requests.responses import read_responses_request
from xmltools.tools import Tool

__all__ = ["CallIds", "make_encoder", "new_id", "read_request"]

_ID = {"chat": "chatcmpl-", "messages": "msg_", "responses": "resp_"}
_CALL_ID = {"chat": "call_", "messages": "toolu_", "responses": "call_"}


def read_request(api: Api, body: Mapping[str, Any], *, strict: bool = False) -> Incoming:
    """Read the body of a request. What is not known is passed over, or refused if it is to be `strict`.

    Raises Refusal for what can't be honoured, XMLToolsError for an API that is none.
    """
    if api == "chat":
        return read_chat_request(body, strict=strict)
    if api == "messages":
        return read_messages_request(body, strict=strict)
    if api == "responses":
        return read_responses_request(body, strict=strict)
    raise XMLToolsError(f"api: expected 'chat', 'messages' or 'responses', got {api!r:.60}")


def make_encoder(api: Api, incoming: Incoming, tools: Sequence[Tool], id: str, created: int) -> Encoder:
    """Return who writes the reply."""
    if api == "chat":
        return ChatEncoder(incoming, tools, id, created)
    if api == "messages":
        return MessagesEncoder(incoming, tools, id)
    return ResponsesEncoder(incoming, tools, id, created)


def new_id(api: Api) -> str:
    """Return an id for a response."""
    return _ID[api] + uuid.uuid4().hex


class CallIds:
    """Makes the ids for the calls of a response. They follow from the response's own id, so that who reads the same
    reply anew gives the same."""

    __slots__ = ("_begin", "_number", "_response")

    def __init__(self, api: Api, response: str) -> None:
        self._begin = _CALL_ID[api]
        self._response = response
        self._number = 0

    def __call__(self) -> str:
        """Return the next id."""
        self._number += 1
        said = f"{self._response} {self._number}".encode("utf-8", "surrogatepass")
        return self._begin + hashlib.sha256(said).hexdigest()[:24]
