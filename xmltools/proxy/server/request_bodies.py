"""Bodies of requests: read up to a limit, whole or as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
from starlette.datastructures import Headers
from starlette.types import Receive, Scope

from xmltools.proxy.bridge import Refusal

TOO_LARGE = "body_too_large"


class ClientGoneError(Exception):
    """The client closed the connection before it had sent its request."""


def _too_large(most: int) -> Refusal:
    """Return the refusal of a body with more than `most` bytes."""
    return Refusal(f"the body of a request may have {most:,} bytes, this one has more", status=413, code=TOO_LARGE)


def check_size(headers: Headers, most: int) -> None:
    """Raise Refusal if a request says that its body has more than `most` bytes."""
    declared = headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 18 or int(declared) > most:
        raise _too_large(most)


async def read_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """Return the body. Raises Refusal for one that is too large or compressed, ClientGoneError if it does not come."""
    headers = Headers(scope=scope)
    check_size(headers, most)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal("the body of a request must not be compressed; leave out content-encoding", status=415)
    return b"".join([piece async for piece in Upload(receive, most).pieces()])


class Upload:
    """The body of a request as it comes, up to a limit."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self.read = anyio.Event()
        self.failure: Refusal | ClientGoneError | None = None
        """Why it has no end."""

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body. Raises Refusal if it is too large, ClientGoneError if the client leaves first."""
        size = 0
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.failure = ClientGoneError()
                raise self.failure
            size += len(message.get("body", b""))
            if size > self._most:
                self.failure = _too_large(self._most)
                raise self.failure
            more = message.get("more_body", False)
            if not more:
                self.read.set()
            yield message.get("body", b"")

    async def skip(self) -> None:
        """Read the body to its end."""
        async for _ in self.pieces():
            pass
