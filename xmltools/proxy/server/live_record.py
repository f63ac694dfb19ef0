"""What the live view hears of a request: its body, its answer, and how it ended. Without the view nothing is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from starlette.datastructures import Headers
from starlette.types import Message, Scope, Send

from xmltools.proxy.bridge import Api, Refusal
from xmltools.proxy.bridge.json_bodies import SHORTEST_KEY, encoded
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.guard import offered_keys
from xmltools.proxy.server.logging import record_of
from xmltools.proxy.server.request_bodies import ClientGoneError
from xmltools.proxy.server.server_parts import Service


@contextmanager
def shown_live(service: Service, api: Api, body: bytes, scope: Scope, send: Send) -> Iterator[Send]:
    """Tell the live view of a request, if there is one; give what sends the answer."""
    if service.hub is None:
        yield send
        return
    record = record_of(scope)
    hidden = _keys_of(scope, service.config)
    live = record.live = service.hub.begin(record.id, api, body, route=record.route, hidden=hidden)

    async def heard(message: Message) -> None:
        live.sent(message)
        await send(message)

    outcome = "failed"
    try:
        yield heard
        outcome = record.outcome
    except Refusal as refusal:  # sent by who called us
        outcome = "refused"
        live.fail(str(refusal))
        live.sent({"type": "http.response.start", "status": refusal.status})
        live.sent({"type": "http.response.body", "body": encoded(refusal.body(api, record.id))})
        raise
    except ClientGoneError:
        outcome = "client_left"
        raise
    except anyio.get_cancelled_exc_class():
        outcome = "stopped"
        raise
    except Exception:
        live.fail("the server failed; its log says where")
        raise
    finally:
        live.end(outcome)


def _keys_of(scope: Scope, config: ServeConfig) -> list[bytes]:
    """Return the keys of the request and of the server: whatever repeats one, the live view does not keep it."""
    keys = {*offered_keys(Headers(scope=scope)), config.api_key or "", config.upstream_key or ""}
    return [key.encode() for key in sorted(keys, key=len, reverse=True) if len(key) >= SHORTEST_KEY]
