"""What is sent to clients when it is no stream: JSON, and errors in the words of their API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.types import Scope, Send

from xmltools.proxy.bridge import Api, Refusal, error_body
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.server.record import record_of

__all__ = ["Pairs", "api_of", "send_error", "send_json", "send_refusal"]

Pairs = Iterable[tuple[bytes, bytes]]
"""Headers as ASGI has them: names in lower case, and values."""


def api_of(path: str) -> Api:
    """Return the API whose errors a client understands that asks for `path`."""
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return "messages"
    return "responses" if path.startswith("/v1/responses") else "chat"


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
    scope: Scope, send: Send, api: Api, message: str, status: int, code: str | None = None, headers: Pairs = ()
) -> None:
    """Send an error in the words of an API."""
    body = error_body(api, message, status=status, code=code, request_id=record_of(scope).id)
    await send_json(send, body, status, headers)


async def send_refusal(scope: Scope, send: Send, api: Api, refusal: Refusal) -> None:
    """Send why a request is not honoured."""
    body = refusal.body(api)
    if api == "messages":
        body["request_id"] = record_of(scope).id
    await send_json(send, body, refusal.status)
