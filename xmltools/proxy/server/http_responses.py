"""Responses that do not stream: JSON, and errors in the form of the client's API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.types import Scope, Send

from xmltools.proxy.bridge import Refusal, error_body
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.server.logging import record_of

Pairs = Iterable[tuple[bytes, bytes]]
"""Headers as ASGI has them: names in lower case, and values."""


async def send_json(send: Send, value: Any, status: int = 200, headers: Pairs = ()) -> None:
    """Send a JSON value as a whole response."""
    await send_bytes(send, encoded(value), b"application/json", status, headers)


async def send_bytes(send: Send, body: bytes, content_type: bytes, status: int = 200, headers: Pairs = ()) -> None:
    """Send bytes as a whole response."""
    length = (b"content-length", str(len(body)).encode())
    start = {"type": "http.response.start", "status": status}
    await send({**start, "headers": [(b"content-type", content_type), length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_error(
    scope: Scope, send: Send, message: str, status: int, code: str | None = None, headers: Pairs = ()
) -> None:
    """Send an error in the words of the API that was asked."""
    record = record_of(scope)
    body = error_body(record.api, message, status=status, code=code, request_id=record.id)
    await send_json(send, body, status, headers)


async def send_refusal(scope: Scope, send: Send, refusal: Refusal, headers: Pairs = ()) -> None:
    """Send why a request is not honoured."""
    record = record_of(scope)
    await send_json(send, refusal.body(record.api, record.id), refusal.status, headers)
