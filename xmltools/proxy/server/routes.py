"""The endpoints: which request is answered by what."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from xmltools import __version__
from xmltools.proxy.bridge import Api, Exchange
from xmltools.proxy.bridge.exchange import estimate, open_exchange
from xmltools.proxy.bridge.relay import Ask, Relay, Translation
from xmltools.proxy.playground import routes as playground_routes
from xmltools.proxy.server.http_responses import send_bytes, send_error, send_json
from xmltools.proxy.server.live_record import shown_live
from xmltools.proxy.server.logging import record_of
from xmltools.proxy.server.metrics import CONTENT_TYPE
from xmltools.proxy.server.network import Request
from xmltools.proxy.server.passthrough import forward, pass_through, upstream_path
from xmltools.proxy.server.relayed_answer import RelayedAnswer
from xmltools.proxy.server.request_bodies import read_body
from xmltools.proxy.server.server_parts import Service
from xmltools.proxy.server.tracing import spanning

Answer = Callable[[Service, Scope, Receive, Send], Awaitable[None]]


def make_routes(service: Service) -> list[BaseRoute]:
    """Return the routes of a server. The first that fits a path and its method answers."""
    return [
        Route("/v1/chat/completions", _Calls(service, "chat"), methods=["POST"]),
        Route("/v1/messages", _Calls(service, "messages"), methods=["POST"]),
        Route("/v1/messages/count_tokens", _App(service, _count_tokens, "/v1/messages/count_tokens"), methods=["POST"]),
        Route("/v1/responses", _Calls(service, "responses"), methods=["POST"]),
        Route("/v1/models", _App(service, _models, "/v1/models"), methods=["GET"]),
        Route("/v1/models/{id:path}", _App(service, _models, "/v1/models"), methods=["GET"]),
        Route("/v1/{path:path}", _App(service, pass_through, "passthrough")),
        Route("/healthz", _App(service, _health, "/healthz"), methods=["GET"]),
        Route("/metrics", _App(service, _metrics, "/metrics"), methods=["GET"]),
        Route("/", _App(service, _front, "/"), methods=["GET"]),
        *playground_routes(service.hub, hosts=service.config.host_names),
        Route("/{path:path}", _App(service, _nothing)),
    ]


class _App:
    """An endpoint of a function that gets the service too. Routes take only objects for plain ASGI apps."""

    def __init__(self, service: Service, answer: Answer, route: str = "other") -> None:
        self._service = service
        self._answer = answer
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record_of(scope).route = self._route
        await self._answer(self._service, scope, receive, send)


class _Calls:
    """An endpoint whose replies may hold calls."""

    def __init__(self, service: Service, api: Api) -> None:
        self._service = service
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = record_of(scope)
        record.route = scope["path"]
        body = await read_body(scope, receive, self._service.config.max_body)
        with shown_live(self._service, self._api, body, scope, send) as send:
            await self._translate(body, scope, receive, send)

    async def _translate(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        service, record = self._service, record_of(scope)
        settings = await service.told.settings(scope, body)
        began = time.perf_counter()
        opened = partial(open_exchange, self._api, body, settings, request_id=record.id, added=service.added)
        exchange = await service.read(body, opened)
        record.overhead += time.perf_counter() - began
        record.model, record.stream = exchange.stats.model, exchange.streams
        if record.live is not None:
            record.live.opened(exchange)
        try:
            server = urlsplit(service.config.base_url).hostname or ""
            with spanning(scope, record, exchange.request, server):
                await self._answer(exchange, body, scope, receive, send)
        finally:
            exchange.abandon()

    async def _answer(self, exchange: Exchange, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        service, record = self._service, record_of(scope)
        if exchange.plain:
            await forward(service, scope, receive, send, b"/chat/completions", body)
            return
        record.stats = exchange.stats
        service.passed_over.tell(exchange.stats, record.route)
        service.observe(exchange, record)
        heard = record.live.chunk if record.live is not None else None
        relay = Translation(self._api, exchange, heard, **service.relay_options(record))
        make = partial(service.upstream.chat, scope)
        try:
            await RelayedAnswer(service, relay, relay.steps(), make, scope, receive, send, size=len(body)).run()
        finally:
            is_told = record.outcome == "ok" and exchange.stats.failed
            if is_told or (exchange.stats.missed and record.outcome in ("ok", "upstream_error")):
                record.outcome = "call_failed"
            elif exchange.stats.unread and record.outcome == "ok":
                record.outcome = "call_unread"


async def _count_tokens(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    body = await read_body(scope, receive, service.config.max_body)
    settings = await service.told.settings(scope, body)
    await send_json(send, {"input_tokens": await service.read(body, partial(estimate, body, settings))})


async def _models(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    """Pass on the upstream's models; a client of Anthropic's API gets them in its words."""
    if "anthropic-version" not in Headers(scope=scope):
        await pass_through(service, scope, receive, send)
        record_of(scope).route = "/v1/models"
        return
    record_of(scope).api = "messages"
    await read_body(scope, receive, service.config.max_body)
    relay, path = Relay("messages", **service.relay_options(record_of(scope))), upstream_path(scope)

    def make(_: Ask) -> Request:
        return service.upstream.get(scope, path)

    await RelayedAnswer(service, relay, relay.get(_anthropic_listing), make, scope, receive, send).run()


def _anthropic_listing(said: Mapping[str, Any]) -> dict[str, Any]:
    return _anthropic_models(said) if isinstance(said.get("data"), list) else _anthropic_model(said)


def _anthropic_models(listed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a page of Anthropic's API with the models of OpenAI's list."""
    data = listed.get("data")
    models = [_anthropic_model(each) for each in (data if isinstance(data, list) else ()) if isinstance(each, dict)]
    ids = [model["id"] for model in models]
    return {
        "data": models,
        "has_more": False,
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
    }


def _anthropic_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model of OpenAI's API in the words of Anthropic's."""
    id = str(model.get("id", ""))
    return {"type": "model", "id": id, "display_name": id, "created_at": _created(model.get("created"))}


def _created(seconds: Any) -> str:
    try:
        when = datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        when = datetime.fromtimestamp(0, UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


async def _health(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    await send_json(send, {"status": "ok", "version": __version__})


async def _metrics(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    await send_bytes(send, service.metrics.render(), CONTENT_TYPE.encode())


async def _front(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    await send_bytes(send, b"", b"text/plain", 307, [(b"location", b"/playground")])


async def _nothing(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    await send_error(scope, send, "there is nothing here; the API is below /v1/", 404, "not_found")
