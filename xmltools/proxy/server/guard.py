"""Around every request: who may ask, how many at once, under which id, and what is written down when it is over.

A server on the loopback interface is reached by every web page that its user opens. So requests of pages of other
origins are refused, unless they were allowed, and so are names that were pointed at this machine from outside.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from collections.abc import Iterator

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmltools.proxy.bridge import Refusal
from xmltools.proxy.bridge.host_names import is_known_host, name_of
from xmltools.proxy.bridge.json_bodies import SHORTEST_KEY, encoded
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.logging import Record, log_failure, log_request
from xmltools.proxy.server.metrics import Metrics

_OPEN = ("/healthz",)
_LEFT = 499
_STATIC = "/playground/static/"
_PAGES = ("/", "/playground", "/live")
_FULL = "too_many_streams"
_TWO_LENGTHS = "two_lengths"
_HEADERS = {_FULL: {"retry-after": "1"}, _TWO_LENGTHS: {"connection": "close"}}
"""Headers of refusals, by their codes."""


class Guard:
    """An ASGI app around another one. Takes the configuration and where requests are counted."""

    def __init__(self, app: ASGIApp, config: ServeConfig, metrics: Metrics) -> None:
        self._app = app
        self._config = config
        self._metrics = metrics
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; others pass."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = Record.of(scope)
        id = record.id.encode()
        is_whole = False

        async def tracked(message: Message) -> None:
            """Note the status of the response and whether it is whole, and give it the id of its request."""
            nonlocal is_whole
            if record.live is not None:
                record.live.sent(message)
            if message["type"] == "http.response.start":
                record.status = message["status"]
                # Anthropic's client looks for the id under the second name.
                message = {**message, "headers": [*message["headers"], (b"x-request-id", id), (b"request-id", id)]}
            await send(message)
            is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            await self._answer(record, scope, receive, tracked)
        finally:
            if record.outcome == "client_left" and not record.status:
                record.status = _LEFT
            if record.live is not None:
                record.live.end(record.outcome)
            self._metrics.count(record)
            log_request(record)
        if record.outcome == "stopped" and not is_whole:
            # What has no end stays so: the server breaks off the connection. To come back now, or to raise, would be
            # taken for a fault of ours.
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _answer(self, record: Record, scope: Scope, receive: Receive, send: Send) -> None:
        refusal: Refusal | None = None
        try:
            self._check(scope)
            takes_place = _is_for_model(scope)
            self._open += takes_place
            try:
                await self._app(scope, receive, send)
            finally:
                self._open -= takes_place
        except Refusal as error:  # of ours, or of an endpoint that has sent nothing
            record.outcome, record.reason, refusal = "refused", error.code, error
        except ClientDisconnect:
            record.outcome = "client_left"
        except asyncio.CancelledError:
            record.outcome = "stopped"
            if not record.status:
                refusal = Refusal("the server is being stopped", status=503, code="server_error")
        except Exception as error:
            record.outcome = "failed"
            log_failure(record, error)
            if not record.status:
                refusal = Refusal("the server failed; its log says where", status=500, code="server_error")
        if refusal is not None:
            if record.live is not None:
                record.live.fail(str(refusal))
            headers = _HEADERS.get(refusal.code)
            if refusal.status == 401 and not scope["path"].startswith("/v1"):
                headers = {"www-authenticate": 'Basic realm="xmltools"'}  # a browser asks its user for a key
            body = encoded(refusal.body(record.api, record.id))
            await Response(body, refusal.status, headers, "application/json")(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """Raise Refusal for a request that is not let in."""
        config, headers = self._config, Headers(scope=scope)
        if {"content-length", "transfer-encoding"} <= set(headers):
            message = "expected content-length or transfer-encoding, got both; send one of them"
            raise Refusal(message, code=_TWO_LENGTHS)
        host = headers.get("host", "")
        if config.is_loopback and host and not is_known_host(host, config.host_names):
            raise Refusal(
                f"this server is not reached under the name {host!r:.100}, but as localhost or by its address; "
                f"start it with --allow-host {name_of(f'//{host}') or 'NAME':.100}, if the name is its own",
                status=403,
                code="unknown_host",
            )
        origin = headers.get("origin", "*" if _is_loaded(scope["path"], headers) else None)
        if origin is not None and not ({"*", origin} & {*config.origins} or origin.partition("://")[2] == host != ""):
            pages = "other sites" if origin == "*" else f"{origin!r:.100}"
            raise Refusal(
                f"web pages of {pages} may not use this server; start it with --allow-origin {origin:.100}, if "
                "they are to be let in",
                status=403,
                code="unknown_origin",
            )
        if config.api_key is not None and scope["path"] not in _OPEN:
            # All are compared, and each in the same time whatever it holds.
            key, offered = config.api_key.encode(), [each.encode("latin-1") for each in offered_keys(headers)]
            if True not in [hmac.compare_digest(each, key) for each in offered]:
                raise Refusal(
                    "the key is not the one of this server; ask whoever runs it"
                    if any(offered)
                    else "expected the key of this server, as Authorization: Bearer or x-api-key, got none",
                    status=401,
                    code="invalid_api_key",
                )
        if 0 < config.max_streams <= self._open and _is_for_model(scope):
            raise Refusal(
                "as many requests as this server takes are open (--max-streams); try again in a moment",
                status=503,
                code=_FULL,
            )


def _is_loaded(path: str, headers: Headers) -> bool:
    """Return whether a page of another site asks: browsers name no origin for a picture or a script. Links to the pages
    that are files may be followed."""
    is_file = path.startswith(_STATIC) or (path in _PAGES and headers.get("sec-fetch-mode") == "navigate")
    return headers.get("sec-fetch-site") == "cross-site" and not is_file


def _is_for_model(scope: Scope) -> bool:
    return scope["method"] == "POST" and bool(scope["path"].startswith("/v1/"))


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


def keys_of(headers: Headers, config: ServeConfig) -> list[bytes]:
    """Return the keys of a request and of the server: whatever repeats one, the live view does not keep it."""
    keys = {*offered_keys(headers), config.api_key or "", config.upstream_key or ""}
    return [key.encode() for key in sorted(keys, key=len, reverse=True) if len(key) >= SHORTEST_KEY]
