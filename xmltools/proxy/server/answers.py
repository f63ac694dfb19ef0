"""What clients send, read up to a limit, and what they are sent when it is no stream: JSON, and errors in the words of
their API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from xmltools.proxy.bridge import Api, Refusal, error_body, error_message
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.server.record import record_of
from xmltools.proxy.server.upstream import UpstreamError, UpstreamStatusError

__all__ = [
    "ClientGoneError",
    "Pairs",
    "api_of",
    "check_size",
    "read_body",
    "send_bytes",
    "send_error",
    "send_failed",
    "send_json",
    "send_refusal",
    "send_refused",
    "too_large",
]

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


async def send_refused(scope: Scope, send: Send, api: Api, error: UpstreamStatusError) -> None:
    """Send the upstream's error: as it is, or what it says in the words of Anthropic's API."""
    if api != "messages":
        (_, kind), *headers = error.headers
        await send_bytes(send, error.body, kind, error.status, headers)
        return
    message = error_message(error.body, error.status)
    await send_error(scope, send, api, message, error.status, headers=error.headers[1:])


async def send_failed(scope: Scope, send: Send, api: Api, error: UpstreamError) -> None:
    """Send that there is no answer."""
    await send_error(scope, send, api, str(error), error.status, "upstream_error")


# Bodies of requests


class ClientGoneError(Exception):
    """The client closed the connection before it had sent its request."""


def too_large(most: int) -> Refusal:
    """Return the refusal of a body with more than `most` bytes."""
    return Refusal(
        f"the body of a request may have {most:,} bytes, this one has more", status=413, code="body_too_large"
    )


def check_size(headers: Headers, most: int) -> None:
    """Raise Refusal if a request says that its body has more than `most` bytes."""
    declared = headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 18 or int(declared) > most:
        raise too_large(most)


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return the body. Raises Refusal for one that is too large or compressed, ClientGoneError if it does not come."""
    headers = Headers(scope=scope)
    check_size(headers, most)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal("the body of a request must not be compressed; leave out content-encoding", status=415)
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise too_large(most)
        more = message.get("more_body", False)
    return b"".join(parts)
