"""The pages and what they ask for, as routes of a Starlette application.

All of it is for the same origin only: no cookies, no framing, no script but our own files. A page that shows what
passes through a proxy must also not be read by a site whose name was pointed at this machine, so it is served under
known host names only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge.host_names import is_known_host
from xmltools.proxy.playground.analyse import InputError, analyse, list_dialects
from xmltools.proxy.playground.live import LiveExchange, LiveHub
from xmltools.proxy.playground.live_details import corpus_case, describe

_Found = TypeVar("_Found")
MAX_BODY = 1 << 20
"""Bytes that the body of a request may have."""

_DIGITS = 16  # of a number that stands in a query
_AT_ONCE = 2  # analyses: they cost time of the processor that streams need, too
_STATIC = Path(__file__).parent / "static"
_FOREIGN = "the request came from a page of another origin; --allow-origin lets such pages use /v1, and not these pages"
_TOO_LARGE = f"the request is larger than {MAX_BODY:,} bytes: shorten the text or the tools"
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


class _RefusedError(InputError):
    """A request gets an error with a status. `field` is that of the page which is wrong, if it is one."""

    def __init__(self, status: int, message: str, field: str | None = None) -> None:
        super().__init__(field, message)
        self.status_code = status


def make_routes(live: LiveHub | None, hosts: Iterable[str]) -> list[BaseRoute]:
    """Return the routes; the parameters are those of `xmltools.proxy.playground.routes`."""
    pages = _Pages(live, frozenset(host.lower() for host in hosts))
    guard = [Middleware(_Guarded)]
    answers = {
        "/playground": pages.playground,
        "/playground/api/dialects": pages.dialects,
        "/live": pages.live,
        "/live/events": pages.events,
        "/live/exchange": pages.exchange,
        "/live/case": pages.case,
    }
    return [
        *(Route(path, answer, middleware=guard) for path, answer in answers.items()),
        Route("/playground/api/analyse", pages.analyse, methods=["POST"], middleware=guard),
        Mount("/playground/static", StaticFiles(directory=_STATIC), middleware=guard),
    ]


class _Guarded:
    """Refuses requests that pages of other origins make, and gives each answer the headers that guard a page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def guarded(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # A browser asks for files anew, by their tag: after an update no page is made of old and new ones.
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        try:
            if _is_foreign(Request(scope)):
                raise _RefusedError(403, _FOREIGN)
            await self._app(scope, receive, guarded)
        except ClientDisconnect:
            await Response(status_code=499)(scope, receive, guarded)
        except (HTTPException, XMLToolsError) as error:  # such as a file that there is not
            if has_begun:
                raise
            told = {"message": getattr(error, "detail", str(error)), "field": getattr(error, "field", None)}
            answer = _json({"error": told}, getattr(error, "status_code", 400))
            await answer(scope, receive, guarded)


def _is_foreign(request: Request) -> bool:
    """Did a page of another origin make the request? Links to a page are no such request; other programs make none."""
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
        return _page("playground", "playground")

    async def dialects(self, request: Request) -> Response:
        return _json({"dialects": list_dialects()})

    async def analyse(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise _RefusedError(415, "expected a body of the type application/json")
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:  # the rest is not read then
                raise _RefusedError(413, _TOO_LARGE, "text")
        return await self._work(lambda: _json(_answer(bytes(body))))

    async def live(self, request: Request) -> Response:
        return _page("live", "live") if self._live is not None else _page("off", "live", 404)

    async def events(self, request: Request) -> Response:
        live = self._live_for(request)
        if live.full:
            raise _RefusedError(503, "too many pages show the live view: close one of them")
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(live.listen(), media_type="text/event-stream", headers=headers)

    async def exchange(self, request: Request) -> Response:
        """All of one exchange."""
        found = self._find(request).snapshot()
        return await self._work(lambda: _json(describe(*found)))

    async def case(self, request: Request) -> Response:
        """A reply as a case of the corpus."""
        found = self._find(request).snapshot()
        try:
            place = [_number(request, name, "0") for name in ("attempt", "choice")]
            name, case = await self._work(lambda: corpus_case(*found, *place))
        except XMLToolsError as error:
            raise _RefusedError(404, str(error)) from None
        headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}"'}
        return Response(case, headers=headers, media_type="application/json")

    async def _work(self, does: Callable[[], _Found]) -> _Found:
        """Do what takes long beside the server."""
        return await anyio.to_thread.run_sync(does, limiter=self._limiter)

    def _find(self, request: Request) -> LiveExchange:
        found = self._live_for(request).get(_number(request, "number", ""))
        if found is None:
            raise _RefusedError(
                404, "this exchange is not kept: newer ones took its place, or the server was restarted"
            )
        return found

    def _live_for(self, request: Request) -> LiveHub:
        """The hub, if it may be shown."""
        if self._live is None:
            raise _RefusedError(404, "the live view is off: start the server with --live")
        if not is_known_host(request.headers.get("host", ""), self._hosts):
            names = "localhost, an IP address, or a name that was allowed with --allow-host"
            raise _RefusedError(403, f"the live view is read under {names}")
        return self._live


def _page(name: str, path: str, status: int = 200) -> Response:
    """A page: what is its own in the frame that all have."""
    frame = (
        (_STATIC / "page.html").read_text("utf-8").replace(f'<a href="{path}"', f'<a href="{path}" aria-current="page"')
    )
    own = (_STATIC / f"{name}.html").read_text("utf-8")
    text = frame.replace("TITLE", path.title()).replace("MAIN", own)
    return HTMLResponse(text, status)


def _json(value: dict[str, Any], status: int = 200) -> Response:
    # Escaped to ASCII: a lone surrogate, which models do write, has no UTF-8.
    return Response(
        json.dumps(value, separators=(",", ":")), status, {"cache-control": "no-store"}, media_type="application/json"
    )


def _number(request: Request, name: str, default: str) -> int:
    text = request.query_params.get(name, default)
    return int(text[:_DIGITS]) if text.isascii() and text.isdigit() else -1


def _answer(body: bytes) -> dict[str, Any]:
    """Analyse what a page asks to be analysed."""
    try:
        given = json.loads(body)
        if not isinstance(given, dict) or not given.keys() <= {"text", "tools", "options"}:
            raise XMLToolsError(f"expected an object with text, tools and options, got {given!r:.60}")
        return analyse(**{"text": None, **given})
    except RecursionError:
        raise XMLToolsError("expected JSON of a moderate depth, got values nested too deeply") from None
    except XMLToolsError:
        raise
    except ValueError as error:
        raise XMLToolsError(f"expected JSON in UTF-8: {error}") from None
