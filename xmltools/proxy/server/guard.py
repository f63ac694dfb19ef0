"""Around every request: who may ask, how many at once, under which id, and what is written down when it is over.

A server on the loopback interface is reached by every web page that its user opens. So requests of pages of other
origins are refused, unless they were allowed, and so are names that were pointed at this machine from outside.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Iterator

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmltools.proxy.bridge import Refusal
from xmltools.proxy.bridge.host_names import is_known_host, name_of
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.http_responses import send_error, send_refusal
from xmltools.proxy.server.logging import Record, log_failure, log_request
from xmltools.proxy.server.metrics import Metrics
from xmltools.proxy.server.request_bodies import ClientGoneError

_OPEN = ("/healthz",)
_LEFT = 499
_STATIC = "/playground/static/"
_PAGES = ("/", "/playground", "/live")
_ROUTES = frozenset(
    (
        *("/", "/healthz", "/metrics", "/playground", "/playground/api/analyse"),
        *("/live", "/live/events", "/live/exchange", "/live/case"),
        *("/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/v1/models"),
    )
)
"""Paths that are told in numbers and logs as they are; all others are named by what answers them."""
_FULL = "too_many_streams"
_AGAIN = (b"retry-after", b"1")
_TWO_LENGTHS = "two_lengths"
_CLOSE = (b"connection", b"close")


class Guard:
    """An ASGI app around another one. Takes the configuration and where requests are counted."""

    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: Metrics) -> None:
        self._app = app
        self._config = config
        self._metrics = metrics
        self._key = config.api_key.encode() if config.api_key is not None else None
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; others pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = Record.of(scope)
        record.route = _route_of(scope["path"])
        id = record.id.encode()
        is_whole = False

        async def tracked(message: Message) -> None:
            """Note the status of the response and whether it is whole, and give it the id of its request."""
            nonlocal is_whole
            if message["type"] == "http.response.start":
                record.status = message["status"]
                # Anthropic's client looks for the id under the second name.
                message = {**message, "headers": [*message["headers"], (b"x-request-id", id), (b"request-id", id)]}
            await send(message)
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            await self._answer(record, scope, receive, tracked)
        finally:
            self._metrics.count(record)
            log_request(record)
        if record.outcome == "stopped" and not is_whole:
            # What has no end stays so: the server breaks off the connection. To come back now, or to raise, would be
            # taken for a fault of ours.
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _answer(self, record: Record, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(scope)
            takes_place = _is_for_model(scope)
            self._open += takes_place
            try:
                await self._app(scope, receive, send)
            finally:
                self._open -= takes_place
        except Refusal as refusal:  # of ours, or of an endpoint that has sent nothing
            record.outcome, record.reason = "refused", refusal.code
            headers = [_AGAIN] if refusal.code == _FULL else [_CLOSE] if refusal.code == _TWO_LENGTHS else []
            if refusal.status == 401 and not scope["path"].startswith("/v1"):
                headers = [(b"www-authenticate", b'Basic realm="xmltools"')]  # a browser asks its user for a key
            await send_refusal(scope, send, refusal, headers)
        except ClientGoneError:
            record.outcome = "client_left"
        except anyio.get_cancelled_exc_class():
            record.outcome = "stopped"
            if not record.status:
                await send_error(scope, send, "the server is being stopped", 503)
        except Exception as error:
            record.outcome = "failed"
            log_failure(record, error)
            if not record.status:
                await send_error(scope, send, "the server failed; its log says where", 500)
        if record.outcome == "client_left" and not record.status:
            record.status = _LEFT

    def _check(self, scope: Scope) -> None:
        """Raise Refusal for a request that is not let in."""
        headers = Headers(scope=scope)
        if {"content-length", "transfer-encoding"} <= set(headers):
            message = "expected content-length or transfer-encoding, got both; send one of them"
            raise Refusal(message, code=_TWO_LENGTHS)
        host = headers.get("host", "")
        if self._config.is_loopback and host and not is_known_host(host, self._config.host_names):
            raise Refusal(
                f"this server is not reached under the name {host!r:.100}, but as localhost or by its address; "
                f"start it with --allow-host {name_of(f'//{host}') or 'NAME':.100}, if the name is its own",
                status=403,
                code="unknown_host",
            )
        origin = headers.get("origin", "*" if _is_loaded(scope["path"], headers) else None)
        if origin is not None and not self._is_allowed(origin, host):
            pages = "other sites" if origin == "*" else f"{origin!r:.100}"
            raise Refusal(
                f"web pages of {pages} may not use this server; start it with --allow-origin {origin:.100}, if "
                "they are to be let in",
                status=403,
                code="unknown_origin",
            )
        if self._key is not None and scope["path"] not in _OPEN and not self._has_key(headers):
            is_wrong = any(offered_keys(headers))
            raise Refusal(
                "the key is not the one of this server; ask whoever runs it"
                if is_wrong
                else "expected the key of this server, as Authorization: Bearer or x-api-key, got none",
                status=401,
                code="invalid_api_key",
            )
        if 0 < self._config.max_streams <= self._open and _is_for_model(scope):
            raise Refusal(
                "as many requests as this server takes are open (--max-streams); try again in a moment",
                status=503,
                code=_FULL,
            )

    def _is_allowed(self, origin: str, host: str) -> bool:
        allowed = self._config.origins
        return "*" in allowed or origin in allowed or origin.partition("://")[2] == host != ""

    def _has_key(self, headers: Headers) -> bool:
        assert self._key is not None
        # All are compared, and each in the same time whatever it holds.
        same = [hmac.compare_digest(given.encode("latin-1"), self._key) for given in offered_keys(headers)]
        return True in same


def _is_loaded(path: str, headers: Headers) -> bool:
    """Return whether a page of another site asks: browsers name no origin for a picture or a script. Links to the pages
    that are files may be followed."""
    is_file = path.startswith(_STATIC) or (path in _PAGES and headers.get("sec-fetch-mode") == "navigate")
    return headers.get("sec-fetch-site") == "cross-site" and not is_file


def _is_for_model(scope: Scope) -> bool:
    return scope["method"] == "POST" and bool(scope["path"].startswith("/v1/"))


def _route_of(path: str) -> str:
    if path in _ROUTES:
        return path
    return _STATIC.rstrip("/") if path.startswith(_STATIC) else "other"


def offered_keys(headers: Headers) -> Iterator[str]:
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
