"""The body of a request: read up to a limit."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from xmltools.proxy.bridge import Refusal

__all__ = ["ClientGoneError", "check_size", "read_body", "too_large"]


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
