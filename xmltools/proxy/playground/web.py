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

from xmltools.proxy.bridge import Refusal
from xmltools.proxy.bridge.host_names import is_known_host
from xmltools.proxy.bridge.json_bodies import parse_object
from xmltools.proxy.playground.analyse import analyse, list_dialects
from xmltools.proxy.playground.live import LiveExchange, LiveHub
from xmltools.proxy.playground.live_details import corpus_case, describe

_Found = TypeVar("_Found")
MAX_BODY = 1 << 20
"""Bytes that the body of a request may have."""

_AT_ONCE = 2  # analyses: they cost time of the processor that streams need, too
_STATIC = Path(__file__).parent / "static"
_FOREIGN = "the request came from a page of another origin; --allow-origin lets such pages use /v1, and not these pages"
_TOO_LARGE = f"the request is larger than {MAX_BODY:,} bytes: shorten the text or the tools"
_GONE = "this exchange is not kept: newer ones took its place, or the server was restarted"
_NAMES = "the live view is read under localhost, an IP address, or a name that was allowed with --allow-host"
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
    pages = _Pages(live, frozenset(map(str.lower, hosts)))
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
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                # A browser asks for files anew, by their tag: after an update no page is made of old and new ones.
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        try:
            if _is_foreign(Request(scope)):
                raise Refusal(_FOREIGN, status=403)
            await self._app(scope, receive, guarded)
        except ClientDisconnect:
            await Response(status_code=499)(scope, receive, guarded)
        except HTTPException as error:  # such as a file that there is not
            await _json({"error": {"message": error.detail}}, error.status_code)(scope, receive, guarded)
        except Refusal as error:
            told = {"message": str(error), "field": error.param}
            await _json({"error": told}, error.status)(scope, receive, guarded)


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
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY:  # the rest is not read then
                raise Refusal(_TOO_LARGE, status=413, param="text")
        return await self._work(lambda: _analysed(bytes(body)))

    async def live(self, request: Request) -> Response:
        return _page("live", "live") if self._live is not None else _page("off", "live", 404)

    async def events(self, request: Request) -> Response:
        live = self._live_for(request)
        if live.full:
            raise Refusal("too many pages show the live view: close one of them", status=503)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(live.listen(), media_type="text/event-stream", headers=headers)

    async def exchange(self, request: Request) -> Response:
        """All of one exchange."""
        found = self._find(request).snapshot()
        return await self._work(lambda: _json(describe(*found)))

    async def case(self, request: Request) -> Response:
        """A reply as a case of the corpus."""
        found = self._find(request).snapshot()
        attempt, choice = _number(request, "attempt"), _number(request, "choice")
        name, case = await self._work(lambda: corpus_case(*found, attempt, choice))
        headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}"'}
        return Response(case, headers=headers, media_type="application/json")

    async def _work(self, does: Callable[[], _Found]) -> _Found:
        """Do what takes long beside the server."""
        return await anyio.to_thread.run_sync(does, limiter=self._limiter)

    def _find(self, request: Request) -> LiveExchange:
        found = self._live_for(request).get(_number(request, "number"))
        if found is None:
            raise Refusal(_GONE, status=404)
        return found

    def _live_for(self, request: Request) -> LiveHub:
        """The hub, if it may be shown."""
        if self._live is None:
            raise Refusal("the live view is off: start the server with --live", status=404)
        if not is_known_host(request.headers.get("host", ""), self._hosts):
            raise Refusal(_NAMES, status=403)
        return self._live


def _page(name: str, path: str, status: int = 200) -> Response:
    """A page: what is its own in the frame that all have."""
    frame, own = ((_STATIC / f"{each}.html").read_text("utf-8") for each in ("page", name))
    frame = frame.replace(f'<a href="{path}"', f'<a href="{path}" aria-current="page"')
    return HTMLResponse(frame.replace("TITLE", path.title()).replace("MAIN", own), status)


def _json(value: dict[str, Any], status: int = 200) -> Response:
    # Escaped to ASCII: a lone surrogate, which models do write, has no UTF-8.
    return Response(
        json.dumps(value, separators=(",", ":")), status, {"cache-control": "no-store"}, media_type="application/json"
    )


def _number(request: Request, name: str) -> int:
    try:
        return int(request.query_params.get(name, 0))
    except ValueError:
        return -1


def _analysed(body: bytes) -> Response:
    given = parse_object(body)
    return _json(analyse(given.get("text"), given.get("tools"), given.get("options")))
