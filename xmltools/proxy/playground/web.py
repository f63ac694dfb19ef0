"""The pages and what they ask for, as routes of a Starlette application.

All of it is for the same origin only: no cookies, no framing, no script but our own files. A page that shows what
passes through a proxy must also not be read by a site whose name was pointed at this machine, so it is served under
known host names only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge.host_names import is_known_host
from xmltools.proxy.playground.analyse import InputError, analyse, list_dialects
from xmltools.proxy.playground.live import LiveExchange, LiveHub, Snapshot
from xmltools.proxy.playground.live_details import corpus_case, describe

MAX_BODY = 1 << 20
"""Bytes that the body of a request may have."""

_DIGITS = 16  # of a number that stands in a query
_AT_ONCE = 2  # analyses: they cost time of the processor that streams need, too
_STATIC = Path(__file__).parent / "static"
_FOREIGN = "the request came from a page of another origin; --allow-origin lets such pages use /v1, and not these pages"
_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def make_routes(live: LiveHub | None, hosts: Iterable[str]) -> list[BaseRoute]:
    """Return the routes; the parameters are those of `xmltools.proxy.playground.routes`."""
    pages = _Pages(live, frozenset(host.lower() for host in hosts))
    guard = [Middleware(_Guarded)]
    return [
        Route("/playground", pages.playground, middleware=guard),
        Route("/playground/api/dialects", pages.dialects, middleware=guard),
        Route("/playground/api/analyse", pages.analyse, methods=["POST"], middleware=guard),
        Mount("/playground/static", _Revalidated(directory=_STATIC), middleware=guard),
        Route("/live", pages.live, middleware=guard),
        Route("/live/events", pages.events, middleware=guard),
        Route("/live/exchange", pages.exchange, middleware=guard),
        Route("/live/case", pages.case, middleware=guard),
    ]


class _Revalidated(StaticFiles):
    """Files that a browser asks for anew, by their tag: after an update no page is made of old and new ones."""

    def file_response(self, *given: Any, **named: Any) -> Response:
        response = super().file_response(*given, **named)
        response.headers["cache-control"] = "no-cache"
        return response


class _Guarded:
    """Refuses requests that pages of other origins make, and gives each answer the headers that guard a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app = _refusal(403, _FOREIGN) if _is_foreign(scope) else self._app
        try:
            await app(scope, receive, guarded)
        except HTTPException as error:  # such as a file that there is not: nothing has been sent yet
            await _refusal(error.status_code, error.detail)(scope, receive, guarded)


def _is_foreign(scope: Scope) -> bool:
    """Did a page of another origin make the request? Links to a page are no such request; other programs make none."""
    request = Request(scope)
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_link = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
        return site not in ("same-origin", "none") and not is_link
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


class _Pages:
    """What answers the requests."""

    def __init__(self, live: LiveHub | None, hosts: frozenset[str]) -> None:
        self._live = live
        self._hosts = hosts
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def playground(self, request: Request) -> Response:
        return _page("index.html")

    async def dialects(self, request: Request) -> Response:
        return _json({"dialects": list_dialects()})

    async def analyse(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return _refusal(415, "expected a body of the type application/json")
        try:
            body = await _read_body(request)
        except ClientDisconnect:
            return Response(status_code=499)
        if body is None:
            return _refusal(
                413, f"the request is larger than {MAX_BODY:,} bytes: shorten the text or the tools", "text"
            )
        return await anyio.to_thread.run_sync(_answer, body, limiter=self._limiter)

    async def live(self, request: Request) -> Response:
        return _page("live.html") if self._live is not None else _page("off.html", 404)

    async def events(self, request: Request) -> Response:
        live = self._live_for(request)
        if isinstance(live, Response):
            return live
        if live.full:
            return _refusal(503, "too many pages show the live view: close one of them")
        return StreamingResponse(
            live.listen(),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def exchange(self, request: Request) -> Response:
        """All of one exchange."""
        found = self._find(request)
        if isinstance(found, Response):
            return found
        return await anyio.to_thread.run_sync(_describe, found.snapshot(), limiter=self._limiter)

    async def case(self, request: Request) -> Response:
        """A reply as a case of the corpus."""
        found = self._find(request)
        if isinstance(found, Response):
            return found
        attempt, choice = (_number(request.query_params.get(name, "0")) for name in ("attempt", "choice"))
        return await anyio.to_thread.run_sync(_case, found.snapshot(), attempt, choice, limiter=self._limiter)

    def _find(self, request: Request) -> LiveExchange | Response:
        live = self._live_for(request)
        if isinstance(live, Response):
            return live
        found = live.get(_number(request.query_params.get("number", "")))
        return found or _refusal(
            404, "this exchange is not kept: newer ones took its place, or the server was restarted"
        )

    def _live_for(self, request: Request) -> LiveHub | Response:
        """The hub, or why it is not shown."""
        if self._live is None:
            return _refusal(404, "the live view is off: start the server with --live")
        if not is_known_host(request.headers.get("host", ""), self._hosts):
            names = "localhost, an IP address, or a name that was allowed with --allow-host"
            return _refusal(403, f"the live view is read under {names}")
        return self._live


def _page(name: str, status: int = 200) -> Response:
    return FileResponse(_STATIC / name, status, headers={"cache-control": "no-cache"})


def _refusal(status: int, message: str, field: str | None = None) -> Response:
    return _json({"error": {"message": message, "field": field}}, status)


def _json(value: dict[str, Any], status: int = 200) -> Response:
    # Escaped to ASCII: a lone surrogate, which models do write, has no UTF-8.
    return Response(
        json.dumps(value, separators=(",", ":")), status, {"cache-control": "no-store"}, media_type="application/json"
    )


async def _read_body(request: Request) -> bytes | None:
    """The body, or None once it is too large: the rest is not read then."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            return None
    return bytes(body)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else -1


def _describe(snapshot: Snapshot) -> Response:
    return _json(describe(snapshot))


def _case(snapshot: Snapshot, attempt: int, choice: int) -> Response:
    try:
        name, case = corpus_case(snapshot, attempt, choice)
    except XMLToolsError as error:
        return _refusal(404, str(error))
    headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}"'}
    return Response(case, headers=headers, media_type="application/json")


def _answer(body: bytes) -> Response:
    try:
        return _json(analyse(**_arguments(body)))
    except RecursionError:
        return _refusal(400, "expected JSON of a moderate depth, got values nested too deeply")
    except XMLToolsError as error:
        return _refusal(400, str(error), getattr(error, "field", None))


def _arguments(body: bytes) -> dict[str, Any]:
    """Return what a page asks to be analysed. It sends tools as they were typed, so that what is wrong with them is
    reported in one way."""
    try:
        given = json.loads(body)
    except ValueError as error:
        raise XMLToolsError(f"expected JSON in UTF-8: {error}") from None
    if not isinstance(given, dict):
        raise XMLToolsError(f"expected an object with text, tools and options, got {type(given).__name__}")
    if not given.keys() <= {"text", "tools", "options"}:
        raise XMLToolsError("expected an object with text, tools and options, got other members, too")
    tools = given.get("tools")
    if isinstance(tools, str):
        try:
            tools = json.loads(tools) if tools.strip() else None
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise InputError("tools", f"tools: expected JSON, got something else at {place}: {error.msg}") from None
        except ValueError as error:
            raise InputError("tools", f"tools: expected JSON: {error}") from None
    return {"text": None, **given, "tools": tools}
