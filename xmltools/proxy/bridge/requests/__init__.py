"""Requests of clients, one module for each API, read into one form (`incoming`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge.client_errors import Api
from xmltools.proxy.bridge.requests.anthropic import read_messages_request
from xmltools.proxy.bridge.requests.incoming import Incoming
from xmltools.proxy.bridge.requests.openai_chat import read_chat_request
from xmltools.proxy.bridge.requests.openai_responses import read_responses_request

__all__ = ["Incoming", "read_request"]

_READERS = {"chat": read_chat_request, "messages": read_messages_request, "responses": read_responses_request}


def read_request(api: Api, body: Mapping[str, Any], *, strict: bool = False) -> Incoming:
    """Read the body of a request. What is not known is passed over, or refused if it is to be `strict`.

    Raises Refusal for what can't be honoured, XMLToolsError for an API that is none.
    """
    read = _READERS.get(api) if isinstance(api, str) else None
    if read is None:
        raise XMLToolsError(f"api: expected 'chat', 'messages' or 'responses', got {api!r:.60}")
    return read(body, strict=strict)
