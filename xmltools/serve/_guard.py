"""Around every request: who may ask, under which id, and what is written down when it is over.

A server on the loopback interface is reached by every web page that its user opens. So requests of pages of other
origins are refused, unless they were allowed, and so are names that were pointed at this machine from outside.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmltools.bridge import Refusal
from xmltools.serve._answers import api_of, send_error
from xmltools.serve._body import ClientGoneError
from xmltools.serve._logging import log_failure, log_request
from xmltools.serve._metrics import Metrics
from xmltools.serve._record import Record
from xmltools.serve.config import ServeConfig

__all__ = ["Guard"]

_LOCAL = ("localhost", "127.0.0.1", "::1")
_OPEN = ("/healthz",)
_STOPPED = 503
_LEFT = 499


class Guard:
    """An ASGI app around another one. Takes the configuration and where requests are counted."""

    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: Metrics) -> None:
        self._app = app
        self._config = config
        self._metrics = metrics
        self._hosts = frozenset((*_LOCAL, config.host, *config.hosts))
        self._key = config.api_key.encode() if config.api_key is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; others pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = Record.of(scope)
        try:
            await self._answer(scope, receive, _Tracked(record, send))
        finally:
            self._metrics.count(record)
            log_request(record)

    async def _answer(self, scope: Scope, receive: Receive, send: _Tracked) -> None:
        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await self._refuse(scope, send, refusal)
        except ClientGoneError:
            send.record.outcome = "client_left"
        except anyio.get_cancelled_exc_class():
            send.record.outcome = "stopped"
            raise
        except Exception as error:
            await self._failed(scope, send, error)
        if send.record.outcome == "client_left" and not send.record.status:
            send.record.status = _LEFT

    async def _failed(self, scope: Scope, send: _Tracked, error: Exception) -> None:
        send.record.outcome = "failed"
        log_failure(send.record, error)
        if not send.record.status:
            await send_error(scope, send, api_of(scope["path"]), "the server failed; its log says where", 500)

    async def _refuse(self, scope: Scope, send: _Tracked, refusal: Refusal) -> None:
        send.record.outcome = "refused"
        # A browser asks its user for a name and a key, for the pages.
        ask = [] if scope["path"].startswith("/v1") else [(b"www-authenticate", b'Basic realm="xmltools"')]
        headers = ask if refusal.status == 401 else []
        await send_error(scope, send, api_of(scope["path"]), str(refusal), refusal.status, refusal.code, headers)

    def _refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is not let in."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._config.is_loopback and host and not self._is_known(host):
            return Refusal(
                f"this server is not reached under the name {host!r:.100}; allow it with --allow-host",
                status=403,
                code="unknown_host",
            )
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin, host):
            return Refusal(
                f"web pages of {origin!r:.100} may not use this server; allow them with --allow-origin",
                status=403,
                code="unknown_origin",
            )
        if self._key is None or scope["path"] in _OPEN or self._has_key(headers):
            return None
        return Refusal(
            "expected the key of this server, as Authorization: Bearer or x-api-key", status=401, code="invalid_api_key"
        )

    def _is_known(self, host: str) -> bool:
        name = _name_of(f"//{host}")
        return name in self._hosts or name.endswith(".localhost") or _is_address(name)

    def _is_allowed(self, origin: str, host: str) -> bool:
        allowed = self._config.origins
        return "*" in allowed or origin in allowed or origin.partition("://")[2] == host != ""

    def _has_key(self, headers: Headers) -> bool:
        assert self._key is not None
        # All are compared, and each in the same time whatever it holds.
        same = [hmac.compare_digest(given.encode("latin-1"), self._key) for given in _keys(headers)]
        return True in same


def _keys(headers: Headers) -> Iterator[str]:
    """Yield what a request offers as a key; of a name and a password, the password."""
    yield headers.get("x-api-key", "")
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        yield value.strip()
    elif scheme.lower() == "basic":
        try:
            yield base64.b64decode(value, validate=True).decode("latin-1").partition(":")[2]
        except binascii.Error:
            return


def _name_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    # No foreign name server can make an address mean another machine.
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class _Tracked:
    """A `send` of ASGI that gives each response the id of its request, and notes the status."""

    __slots__ = ("_send", "record")

    def __init__(self, record: Record, send: Send) -> None:
        self.record = record
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.record.status = message["status"]
            id = self.record.id.encode()
            # Anthropic's client looks for the id under the second name.
            message = {**message, "headers": [*message["headers"], (b"x-request-id", id), (b"request-id", id)]}
        await self._send(message)
