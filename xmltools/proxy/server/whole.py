"""An answer in one piece: JSON that is made from what the upstream says, or why there is none."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from starlette.types import Receive, Scope, Send

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Api, Refusal
from xmltools.proxy.server.answers import send_bytes, send_failed, send_refusal, send_refused
from xmltools.proxy.server.record import record_of
from xmltools.proxy.server.service import Service
from xmltools.proxy.server.translation import Translation
from xmltools.proxy.server.upstream import Request, UpstreamError, UpstreamStatusError
from xmltools.proxy.server.watch import Watch

__all__ = ["WholeAnswer", "reply_to"]

Ask = Callable[[Request], Awaitable[bytes]]
"""Sends a request; returns the body that comes. Raises UpstreamError and UpstreamStatusError."""
Reply = Callable[[Ask], Awaitable[bytes]]
"""Asks the upstream as often as it takes; returns the client's response, which is JSON. Raises as Ask does, and
Refusal."""


class WholeAnswer:
    """Answers one request with what `reply` returns."""

    def __init__(self, service: Service, api: Api, reply: Reply, scope: Scope, receive: Receive, send: Send) -> None:
        self._service = service
        self._api = api
        self._reply = reply
        self._scope = scope
        self._send = send
        self._record = record_of(scope)
        self._watch = Watch(receive)

    async def run(self) -> None:
        """Answer."""
        await self._watch.run(self._work)
        if self._watch.left:
            self._record.outcome = "client_left"
        elif self._watch.expired:
            await self._fail(UpstreamError("the upstream took too long to answer", 504))

    async def _work(self) -> None:
        try:
            body = await self._reply(self._ask)
        except UpstreamStatusError as error:
            self._end("upstream_error")
            await send_refused(self._scope, self._send, self._api, error)
        except UpstreamError as error:
            await self._fail(error)
        except Refusal as refusal:
            self._end("upstream_error")
            await send_refusal(self._scope, self._send, self._api, refusal)
        else:
            self._watch.finish()
            await send_bytes(self._send, body, b"application/json")

    async def _fail(self, error: UpstreamError) -> None:
        self._end("timeout" if error.status == 504 else "upstream_error")
        await send_failed(self._scope, self._send, self._api, error)

    def _end(self, outcome: str) -> None:
        self._record.outcome = outcome
        self._watch.finish()

    async def _ask(self, request: Request) -> bytes:
        config = self._service.config
        asked = time.perf_counter()
        self._watch.wait(config.connect_timeout + config.first_byte_timeout)
        async with self._service.upstream.open(request, self._record) as answer:
            if self._record.ttft is None:
                self._record.ttft = time.perf_counter() - asked
            await answer.check()
            body = await answer.read(config.max_answer)
        self._watch.busy()
        return body


def reply_to(service: Service, exchange: Translation, scope: Scope) -> Reply:
    """Return the reply of an exchange that does not stream."""

    async def reply(ask: Ask) -> bytes:
        answer = None
        while answer is None:
            completion = await ask(service.upstream.chat(scope, exchange.request, exchange.turn))
            try:
                answer = await exchange.answer(completion)
            except Refusal:
                raise
            except XMLToolsError as error:
                raise UpstreamError(f"the upstream sent what can't be read: {error}") from None
        return answer

    return reply
