"""Bodies of requests: read up to a limit, whole or as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request

from xmltools.proxy.bridge import Refusal

TOO_LARGE = "body_too_large"


def check_size(request: Request, most: int) -> None:
    """Raise Refusal if a request says that its body has more than `most` bytes."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 18 or int(declared) > most:
        raise _too_large(most)


async def body_pieces(request: Request, most: int, read: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    """Yield the body as it comes; `read` is set at its end. Raises Refusal if it is too large, and ClientDisconnect if
    the client leaves first."""
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise _too_large(most)
        yield piece
    if read is not None:
        read.set()


async def read_body(request: Request, most: int) -> bytes:
    """Return the body. Raises as `body_pieces` does, and Refusal for one that is compressed."""
    check_size(request, most)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal("the body of a request must not be compressed; leave out content-encoding", status=415)
    return b"".join([piece async for piece in body_pieces(request, most)])


def _too_large(most: int) -> Refusal:
    return Refusal(f"the body of a request may have {most:,} bytes, this one has more", status=413, code=TOO_LARGE)
