"""Connections to the upstream: httpx2's pool of connections, over asyncio's own streams.

By default the pool reads through anyio, which starts and stops the reading, and opens a scope for a time-out, around
every piece. A stream of tokens has many small pieces, and that was a third of all work for one. Nothing else is
different.
"""

from __future__ import annotations

import asyncio
import select
import ssl
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpcore2
import httpx2

__all__ = ["PooledTransport"]

_ERRORS: dict[type[Exception], type[httpx2.TransportError]] = {
    getattr(httpcore2, name): getattr(httpx2, name)
    for name in (
        *("ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout", "ConnectError", "ReadError", "WriteError"),
        *("LocalProtocolError", "RemoteProtocolError", "UnsupportedProtocol"),
    )
}
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_HELD = 64 * 1024
"""Bytes that are read ahead of who asks for them; twice as many, and the sender has to wait."""


class PooledTransport(httpx2.AsyncBaseTransport):
    """What `httpx2.AsyncHTTPTransport` is with a pool of as many connections as are needed, of which it keeps `idle`.

    Works on asyncio's event loop. Proxies, and certificates of the environment, are not looked for; `trusted` says what
    is trusted instead of the usual authorities.
    """

    def __init__(self, *, idle: int, trusted: ssl.SSLContext | None = None) -> None:
        self._pool = _Pool(trusted or httpx2.create_ssl_context(trust_env=False), idle)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; return the head of the answer. Raises what httpx2's transport raises."""
        url = request.url
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        sent = httpcore2.Request(
            request.method, target, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        with _renamed():
            answer = await self._pool.handle_async_request(sent)
        stream = answer.extensions.get("network_stream")
        if isinstance(stream, _Stream):
            stream.length = _length(request, answer)
        body = _Body(answer.stream)
        return httpx2.Response(answer.status, headers=answer.headers, stream=body, extensions=answer.extensions)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Pool(httpcore2.AsyncConnectionPool):
    """A pool that lets no connection lie."""

    def __init__(self, trusted: ssl.SSLContext, idle: int) -> None:
        self._options: dict[str, Any] = {
            "ssl_context": trusted,
            "keepalive_expiry": httpx2.Limits().keepalive_expiry,
            "network_backend": _Backend(),
        }
        super().__init__(max_connections=None, max_keepalive_connections=idle, **self._options)

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncHTTPConnection:
        """Return a connection that is not open yet."""
        return _Connection(origin, **self._options)


class _Connection(httpcore2.AsyncHTTPConnection):
    """A connection of the pool."""

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        try:
            return await super().handle_async_request(request)
        except httpcore2.ConnectionNotAvailable:
            raise
        except BaseException:
            # Who is cancelled when the connection is there and nothing has been sent on it leaves it neither idle nor
            # closed: the pool would keep it for ever, and never use it.
            if self.is_connected() and not self.is_idle():
                with anyio.CancelScope(shield=True):
                    await self.aclose()
            raise


class _Body(httpx2.AsyncByteStream):
    def __init__(self, body: Any) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces: AsyncIterable[bytes] = self._body
        with _renamed():
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


def _length(request: httpx2.Request, answer: httpcore2.Response) -> int | None:
    """Return how many bytes the body of an answer has, None if that is not said in front of it."""
    if request.method == "HEAD" or answer.status in (204, 304):
        return 0
    headers = {name.lower(): value for name, value in answer.headers}
    told = headers.get(b"content-length", b"")
    return int(told) if told.isdigit() and b"transfer-encoding" not in headers else None


@contextmanager
def _renamed() -> Iterator[None]:
    """Raise the pool's errors as those of httpx2, which have the same names."""
    try:
        yield
    except tuple(_ERRORS) as error:
        raise _ERRORS[type(error)](str(error)) from error


class _Backend(httpcore2.AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        reader = _Reader(_HELD, loop)
        protocol = StreamReaderProtocol(reader, loop=loop)
        with _raising(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            async with asyncio.timeout(timeout):
                # Address by address: with asyncio's happy eyeballs, who is cancelled leaves a socket open.
                transport, _ = await loop.create_connection(lambda: protocol, host, port)
        return _Stream(reader, StreamWriter(transport, protocol, reader, loop))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Reader(StreamReader):
    """A reader that knows how much of what came has not been read."""

    unread = 0

    def feed_data(self, data: Any) -> None:
        self.unread += len(data)
        super().feed_data(data)


class _Stream(httpcore2.AsyncNetworkStream):
    """One connection."""

    def __init__(self, reader: _Reader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.length: int | None = None
        """How many bytes the body of the last answer has; None: it comes in chunks."""
        self._start = b""  # of the answer, until its head is there
        self._head = 0  # the size of that
        self._count = 0  # bytes of the answer
        self._last = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _raising(httpcore2.ReadTimeout, httpcore2.ReadError):
            if timeout is None:
                data = await self._reader.read(max_bytes)
            else:
                async with asyncio.timeout(timeout):
                    data = await self._reader.read(max_bytes)
        self._reader.unread -= len(data)
        self._keep_books(data)
        return data

    def _keep_books(self, data: bytes) -> None:
        self._count += len(data)
        self._last = self._last[-len(_LAST_CHUNK) :] + data
        if not self._head:
            self._start += data
            end = self._start.find(b"\r\n\r\n")
            if end >= 0:
                self._head, self._start = end + 4, b""

    def _said_more(self) -> bool:
        """Return whether bytes came behind the end of the last answer, in one piece with it. They would be the answer
        to the next request. In doubt (an answer with trailers, say) it is True, which costs no more than a connection.
        """
        if self._count == 0:
            return False
        if self.length is not None:
            return self._count != self._head + self.length
        return self._last.find(_LAST_CHUNK) != len(self._last) - len(_LAST_CHUNK)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with _raising(httpcore2.WriteTimeout, httpcore2.WriteError):
            async with asyncio.timeout(timeout):
                self._start, self._head, self._count, self._last = b"", 0, 0, b""
                self._writer.write(buffer)
                await self._writer.drain()

    async def aclose(self) -> None:
        self._writer.close()
        try:
            await asyncio.sleep(0)  # TLS says good-bye
        finally:
            self._writer.transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        with _raising(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            try:
                async with asyncio.timeout(timeout):
                    await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
            except BaseException:
                self._writer.transport.abort()
                raise
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return what the pool asks for: whether an idle connection has something to say, which is its end."""
        if info == "is_readable":
            reader = self._reader
            if reader.unread > 0 or reader.at_eof() or reader.exception() is not None or self._said_more():
                return True
            return self._has_more()  # what the event loop has not read
        names = {"client_addr": "sockname", "server_addr": "peername"}
        return self._writer.get_extra_info(names.get(info, info))

    def _has_more(self) -> bool:
        """Return whether something waits in the socket, be it its end."""
        place = self._writer.get_extra_info("socket").fileno()
        if place < 0 or not hasattr(select, "poll"):
            return bool(place < 0 or select.select([place], [], [], 0)[0])
        poll = select.poll()
        poll.register(place, select.POLLIN)
        return bool(poll.poll(0))


@contextmanager
def _raising(late: type[Exception], failed: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:  # an OSError as well
        raise late(str(error)) from error
    except OSError as error:
        raise failed(str(error)) from error
