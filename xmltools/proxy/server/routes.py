"""The endpoints: which request is answered by what."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from xmltools import __version__
from xmltools.models.events import ArgumentDelta, Event
from xmltools.proxy.bridge import Api, Exchange, Refusal
from xmltools.proxy.bridge.exchange import estimate, open_exchange
from xmltools.proxy.bridge.relay import Ask, Relay, Translation
from xmltools.proxy.playground import routes as playground_routes
from xmltools.proxy.server import network
from xmltools.proxy.server.guard import keys_of
from xmltools.proxy.server.logging import Record, record_of
from xmltools.proxy.server.metrics import CONTENT_TYPE
from xmltools.proxy.server.passthrough import passed_on, upstream_path
from xmltools.proxy.server.relayed_answer import RelayedAnswer
from xmltools.proxy.server.request_bodies import read_body
from xmltools.proxy.server.server_parts import Service
from xmltools.proxy.server.tracing import spanning

_ANY = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def make_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of a server. The first that fits a path and its method answers."""
    return [
        Route("/v1/chat/completions", partial(_calls, service, "chat"), methods=["POST"]),
        Route("/v1/messages", partial(_calls, service, "messages"), methods=["POST"]),
        Route("/v1/messages/count_tokens", partial(_count_tokens, service), methods=["POST"]),
        Route("/v1/responses", partial(_calls, service, "responses"), methods=["POST"]),
        Route("/v1/models", partial(_models, service)),
        Route("/v1/models/{id:path}", partial(_models, service)),
        Route("/v1/{path:path}", partial(_pass_on, service), methods=_ANY),
        Route("/healthz", _health),
        Route("/metrics", partial(_metrics, service)),
        Route("/", _front),
        *playground_routes(service.hub, hosts=service.config.host_names),
        Route("/{path:path}", _nothing, methods=_ANY),
    ]


async def _calls(service: Service, api: Api, request: Request) -> RelayedAnswer:
    """Answer a request whose reply may hold calls."""
    record, scope = record_of(request.scope), request.scope
    body = await read_body(request, service.config.max_body)
    if service.hub is not None:
        hidden = keys_of(request.headers, service.config)
        record.live = service.hub.begin(record.id, api, body, route=record.route, hidden=hidden)
    settings = await service.told.settings(scope, body)
    began = time.perf_counter()
    opened = partial(open_exchange, api, body, settings, request_id=record.id, added=service.added)
    exchange = await service.read(body, opened)
    record.overhead += time.perf_counter() - began
    record.model, record.stream = exchange.stats.model, exchange.streams
    if record.live is not None:
        record.live.opened(exchange)
    around = _exchanging(service, exchange, request)
    if exchange.plain:
        return passed_on(service, request, b"/chat/completions", body, around=around)
    record.stats = exchange.stats
    service.passed_over.tell(exchange.stats, record.route)
    _observe(exchange, record)
    heard = record.live.chunk if record.live is not None else None
    relay = Translation(api, exchange, heard, **service.relay_options(record))

    def make(ask: Ask) -> network.Request:
        return service.upstream.own(scope, "POST", b"/chat/completions", ask.body, ask.turn)

    return RelayedAnswer(service, record, relay, relay.steps(), make, size=len(body), around=around)


@contextmanager
def _exchanging(service: Service, exchange: Exchange, request: Request) -> Iterator[None]:
    record, stats = record_of(request.scope), exchange.stats
    try:
        with spanning(request.scope, record, exchange.request, urlsplit(service.config.base_url).hostname or ""):
            try:
                yield
            finally:
                is_told = record.outcome == "ok" and stats.failed
                if is_told or (stats.missed and record.outcome in ("ok", "upstream_error")):
                    record.outcome = "call_failed"
                elif stats.unread and record.outcome == "ok":
                    record.outcome = "call_unread"
    finally:
        exchange.abandon()


def _observe(exchange: Exchange, record: Record) -> None:
    """Listen to the events of an exchange: for the live view, and until the first piece of an argument."""
    live = record.live

    def hear(choice: int, event: Event) -> None:
        if record.first_argument is None and isinstance(event, ArgumentDelta):
            record.first_argument = record.elapsed
            if live is None:
                exchange.on_event = None  # nothing more is wanted, and every event would pay
        if live is not None:
            live.event(choice, event)

    exchange.on_event = hear


async def _count_tokens(service: Service, request: Request) -> Response:
    body = await read_body(request, service.config.max_body)
    settings = await service.told.settings(request.scope, body)
    return JSONResponse({"input_tokens": await service.read(body, partial(estimate, body, settings))})


async def _pass_on(service: Service, request: Request) -> RelayedAnswer:
    return passed_on(service, request, upstream_path(request.scope))


async def _models(service: Service, request: Request) -> RelayedAnswer:
    """Pass on the upstream's models; a client of Anthropic's API gets them in its words."""
    if "anthropic-version" not in request.headers:
        return await _pass_on(service, request)
    record, path = record_of(request.scope), upstream_path(request.scope)
    record.api = "messages"
    relay = Relay("messages", **service.relay_options(record))

    def make(_: Ask) -> network.Request:
        return service.upstream.own(request.scope, "GET", path)

    return RelayedAnswer(service, record, relay, relay.get(_anthropic_listing), make)


def _anthropic_listing(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model of OpenAI's API, or a list of them, in the words of Anthropic's."""
    if not isinstance(listed := said.get("data"), list):
        id = str(said.get("id", ""))
        return {"type": "model", "id": id, "display_name": id, "created_at": _created(said.get("created"))}
    models = [_anthropic_listing({**each, "data": None}) for each in listed if isinstance(each, dict)]
    first, last = (models[0]["id"], models[-1]["id"]) if models else (None, None)
    return {"data": models, "has_more": False, "first_id": first, "last_id": last}


def _created(seconds: Any) -> str:
    try:
        when = datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        when = datetime.fromtimestamp(0, UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok", "version": __version__})


async def _metrics(service: Service, request: Request) -> Response:
    return Response(service.metrics.render(), headers={"content-type": CONTENT_TYPE})


async def _front(request: Request) -> Response:
    return RedirectResponse("/playground")


async def _nothing(request: Request) -> Response:
    raise Refusal("there is nothing here; the API is below /v1/", status=404, code="not_found")
