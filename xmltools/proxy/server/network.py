"""Requests on the wire: aiohttp's client, which knows no proxies, cookies and redirects, and leaves bodies as they are.

What it raises, the rest of the server knows as `UpstreamError`.
"""

from __future__ import annotations

import errno
import os
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from enum import Enum
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import aiohttp
import httpx2
from aiohttp.http import HttpProcessingError
from starlette.requests import ClientDisconnect
from yarl import URL

from xmltools.proxy.bridge import Refusal, Turn, UpstreamError

Content = bytes | AsyncIterator[bytes] | None
Headers = list[tuple[bytes, bytes]]

_HELD = 64 * 1024
"""Bytes that are read ahead of who asks for them; twice as many, and the sender has to wait."""
_HEAD_SIZE = 64 * 1024
_IDLE = 3.0
"""Seconds for which a connection is kept that has nothing to do. Many servers keep theirs for 5."""
_BROKEN = "the upstream broke off the connection"
_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_OURS = ("accept", "accept-encoding", "content-type", "user-agent")
"""Headers that aiohttp would add."""


class Why(Enum):
    """Why there is no connection, where that is known."""

    REFUSED = "refused"
    NO_SUCH_HOST = "no such host"
    CERTIFICATE = "certificate"
    TLS = "TLS"
    TIMEOUT = "timeout"


_WHY = {
    Why.REFUSED: "connection refused",
    Why.NO_SUCH_HOST: "no such host",
    Why.CERTIFICATE: "its certificate is not trusted",
    Why.TLS: "no TLS there",
    Why.TIMEOUT: "no connection in time",
}


class UnreachableError(UpstreamError):
    """There is no connection to the upstream. `why` says the reason, if it is known."""

    def __init__(self, message: str, why: Why | None, status: int = 502, in_log: str | None = None) -> None:
        super().__init__(message, status, in_log)
        self.why = why


class Request(NamedTuple):
    """A request. The target of its URL is sent as it is written; a model in the same process also gets the `turn`."""

    method: str
    url: str
    headers: Headers
    content: Content = None
    turn: Turn | None = None


class Response(NamedTuple):
    """The head of an answer, and its body as it comes: what has come since the last piece was taken is one piece."""

    status: int
    headers: Headers
    pieces: AsyncGenerator[bytes, None]


class Sender(Protocol):
    """What sends requests."""

    def open(self, request: Request, *, decode: bool) -> AbstractAsyncContextManager[Response]:
        """Send a request; give the answer, its content decoded where it is compressed and `decode` asks for it.

        Raises UpstreamError if there is none, and, out of the pieces, if it breaks off.
        """
        ...

    async def close(self) -> None:
        """Close what is open."""
        ...


class Connections:
    """Sends requests over as many connections as it takes, and keeps those that are idle for the next ones.

    `base` is the URL that errors name; `connect_timeout` are the seconds until there is a connection, which `option`
    sets; `trusted` says whose certificates are trusted, by default the usual authorities'.
    """

    def __init__(
        self, base: str, connect_timeout: float, *, option: str = "", trusted: ssl.SSLContext | None = None
    ) -> None:
        self._base = base
        self._option = option
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout)
        self._trusted = trusted or httpx2.create_ssl_context(trust_env=False)
        self._session: aiohttp.ClientSession | None = None

    def _opened(self) -> aiohttp.ClientSession:
        """Return the session, which can only be made where an event loop runs."""
        if self._session is None:
            # Address by address: with happy eyeballs, who is cancelled may leave a socket open.
            connector = aiohttp.TCPConnector(
                limit=0, ssl=self._trusted, keepalive_timeout=_IDLE, happy_eyeballs_delay=None
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=_OURS,
                timeout=self._timeout,
                read_bufsize=_HELD,
                max_line_size=_HEAD_SIZE,
                max_field_size=_HEAD_SIZE,
                trace_configs=[_traced()],
            )
        return self._session

    @asynccontextmanager
    async def open(self, request: Request, *, decode: bool) -> AsyncIterator[Response]:
        """Send a request, as `Sender` says."""
        with self._told():
            answer = await self._sent(request, decode)
        async with answer:
            if not 200 <= answer.status < 600:  # such as 101, which nobody asked for
                raise UpstreamError(f"the upstream's answer has the status {answer.status}, which is none of HTTP's")
            yield Response(answer.status, _checked(answer.raw_headers), self._pieces(answer))

    async def _sent(self, request: Request, decode: bool) -> aiohttp.ClientResponse:
        while True:
            connection = {"is_used_again": False}
            try:
                return await self._opened().request(
                    request.method,
                    URL(request.url, encoded=True),
                    headers=[(name.decode("latin-1"), _text(value)) for name, value in request.headers],
                    data=request.content,
                    allow_redirects=False,
                    auto_decompress=decode,
                    trace_request_ctx=connection,
                )
            except aiohttp.ClientConnectorError:
                raise
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
                # An upstream may end an idle connection just when a request is sent on it, and never sees the request.
                if not (connection["is_used_again"] and isinstance(request.content, bytes | None)):
                    raise

    async def _pieces(self, answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
        is_empty = True
        with self._told():
            try:
                while piece := await answer.content.readany():
                    is_empty = False
                    yield piece
            except RuntimeError as error:  # of a connection that aiohttp closed, since it could not read what came
                raise aiohttp.ClientPayloadError(str(error)) from None
        if is_empty and _ends_with_connection(answer):  # aiohttp takes a head that was cut for a whole one
            raise UpstreamError(_BROKEN)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise what went wrong as UpstreamError, and what the body of the request raised as it is."""
        try:
            yield
        except aiohttp.ConnectionTimeoutError:
            message = f"the upstream took no connection within {self._timeout.connect:g} seconds{self._option}"
            raise UnreachableError(message, Why.TIMEOUT, 504) from None
        except aiohttp.ClientConnectorError as error:
            raise self._unreachable(error, _why(error)) from None
        except UnicodeError as error:  # of a host's name that can't be looked up, such as one with an empty part
            raise self._unreachable(error, Why.NO_SUCH_HOST) from None
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            if isinstance(error.__cause__, (Refusal, ClientDisconnect)):  # of the body, which comes from the client
                raise error.__cause__ from None
            raise UpstreamError(_BROKEN) from None

    def _unreachable(self, error: BaseException, why: Why | None) -> UnreachableError:
        """Return that there is no connection. Where the upstream is, and what the system says, is not for clients."""
        cause = f" ({_WHY[why]})" if why is not None else ""
        message = f"the upstream can't be reached{cause}; the log of this server says more"
        return UnreachableError(message, why, in_log=unreachable(self._base, error))

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()


def _why(error: aiohttp.ClientConnectorError) -> Why | None:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Why.CERTIFICATE
    if isinstance(error, aiohttp.ClientSSLError):
        return Why.TLS
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Why.NO_SUCH_HOST
    return Why.REFUSED if error.os_error.errno == errno.ECONNREFUSED else None


def _traced() -> aiohttp.TraceConfig:
    """Note in the context of a request that its connection had been used before."""

    async def note(session: aiohttp.ClientSession, context: Any, params: object) -> None:
        context.trace_request_ctx["is_used_again"] = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(note)
    return trace


def _checked(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of an answer. Raises UpstreamError for what is none: aiohttp is more lenient than HTTP is."""
    found = [(name, value.strip(b" \t")) for name, value in headers]
    if not all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in found):
        raise UpstreamError("the upstream's answer has headers that are not HTTP")
    return found


def _ends_with_connection(answer: aiohttp.ClientResponse) -> bool:
    """Return whether only the end of the connection tells where the body of an answer ends."""
    has_body = answer.method != "HEAD" and answer.status not in (204, 304)
    return has_body and not {"content-length", "transfer-encoding"} & {name.lower() for name in answer.headers}


def _text(value: bytes) -> str:
    """Return the value of a header as text that is sent as the same bytes, if there is any."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def unreachable(url: str, error: BaseException) -> str:
    """Return that there is no upstream at a URL, and why: what the system said, which is at the root of the error."""
    root = error
    while (inner := root.__cause__ or root.__context__) is not None:
        root = inner
    cause = str(root) or type(root).__name__
    if isinstance(root, OSError) and not isinstance(root, ssl.SSLError) and root.errno:
        # asyncio writes words of its own there; numbers of errors about names are negative
        cause = os.strerror(root.errno) if root.errno > 0 else root.strerror or cause
    parts = urlsplit(url)
    where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return f"the upstream at {where} can't be reached: {cause[:200]}"
