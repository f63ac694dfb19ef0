"""An exchange as the server translates it: here, while that is quick, and in another process from where it may not be.

What a request and a reply say decides how long it takes to read them. A client could make that long, and all others
would wait. So what is long, or holds what is slow to make ready, is read elsewhere; and a reply that comes to where it
may take long is read anew elsewhere up to there, and goes on there.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import anyio.lowlevel
from starlette.types import Scope

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Api, Exchange, Refusal, Settings, Stats, Turn, read_chunk
from xmltools.proxy.bridge.encoders import new_id
from xmltools.proxy.bridge.json_bodies import encoded, parse_answer
from xmltools.proxy.bridge.upstream_stream import parts_of
from xmltools.proxy.bridge.worker import Journal, WorkerAnswer, estimate, open_exchange
from xmltools.proxy.server.logging import Record, record_of
from xmltools.proxy.server.upstream import UpstreamError
from xmltools.proxy.server.workers import Worker, WorkerLostError, Workers

_LONG_BODY = 4_096
"""What a request weighs that is read in some milliseconds."""
_SLOW = (b'"pattern', b"\\u00")
_SLOW_WEIGHT = 2_000
"""A pattern is made ready before anything is read with it, in about a millisecond: so long take 2,000 other characters.
Its name may be written with escapes."""
_LONG_DATA = 8_192
"""Characters of a chunk of the upstream from which it is not even looked at here."""
_MESSAGES = [{"role": "user", "content": "-"}]
SMALLEST_REQUESTS: dict[Api, dict[str, Any]] = {
    "chat": {"model": "none", "messages": _MESSAGES, "stream": True},
    "messages": {"model": "none", "messages": _MESSAGES, "max_tokens": 1, "stream": True},
    "responses": {"model": "none", "input": "-", "stream": True},
}
_LOST = "the process that reads for the server has ended"
_TURN = 0.0005
"""Seconds that the loop may be busy with one stream while others wait."""


def _is_long(body: bytes) -> bool:
    """Return whether it may take long to read a request."""
    return len(body) + _SLOW_WEIGHT * sum(map(body.count, _SLOW)) > _LONG_BODY


def _client_of(scope: Scope) -> str:
    """Return what tells a client from others: its key, or its address if it has none."""
    given = dict(scope["headers"])
    key: bytes = given.get(b"authorization") or given.get(b"x-api-key") or b""
    return f"key {hash(key)}" if key else f"host {(scope.get('client') or ('',))[0]}"


class Translation:
    """One exchange. `exchange` is the exchange itself, if it is here. `plain`, `streams` and `keepalive` are those of
    `Exchange`; `request` is the body for the upstream, as bytes, and `parameters` are its fields without messages
    and tools."""

    def __init__(self, scope: Scope, workers: Workers | None, api: Api, body: bytes, settings: Settings) -> None:
        self._record: Record = record_of(scope)
        self._client = _client_of(scope)
        self._workers = workers
        self._id, self._created = new_id(api), int(time.time())
        self._settings = settings
        self._api = api
        self._body = body
        self.exchange: Exchange | None = None
        self._journal = Journal()
        self._worker: Worker | None = None
        self._number = 0
        self._state: dict[str, Any] = {}
        self.stats = Stats()
        self.plain = False
        self.streams = False
        self.keepalive = b""
        self.request = b""
        self.parameters: dict[str, Any] = {}

    async def begin(self) -> None:
        """Read the request. Raises Refusal for one that can't be honoured."""
        try:
            if _is_long(self._body) and await self._move():
                return
        except UpstreamError as error:
            raise Refusal(str(error), status=error.status, code="server_error") from None
        began = time.perf_counter()
        settings, request_id = self._settings, self._record.id
        exchange = open_exchange(self._api, self._body, settings, self._id, self._created, request_id)
        self.exchange = exchange
        if self._record.live is not None:
            self._record.live.opened(exchange)
        self.plain, self.streams, self.keepalive = exchange.plain, exchange.streams, exchange.keepalive
        self.stats = exchange.stats
        self.parameters = exchange.request
        if not self.plain:
            self.request = encoded(exchange.request)
        self._record.overhead += time.perf_counter() - began

    @property
    def turn(self) -> Turn | None:
        """What `request` asks the model, as data; None if another process has it."""
        return self.exchange.turn if self.exchange is not None else None

    @property
    def done(self) -> bool:
        """Whether nothing that the upstream may still say is wanted."""
        return self.exchange.done if self.exchange is not None else bool(self._state.get("done"))

    @property
    def awaits_usage(self) -> bool:
        """Whether the client has all but the usage."""
        return self.exchange.awaits_usage if self.exchange is not None else bool(self._state.get("awaits_usage"))

    @property
    def begun(self) -> bool:
        """Whether the upstream has said anything of this turn."""
        return self.exchange.begun if self.exchange is not None else bool(self._state.get("begun"))

    async def feed(self, data: list[str], ready: list[bytes]) -> None:
        """Take the data of chunks of the upstream's stream; add to `ready` what to send to the client, also if it
        raises. Raises as `Exchange.feed` does."""
        since = time.perf_counter()
        for number, each in enumerate(data):
            exchange = self.exchange
            if exchange is None:
                await self._feed_there(data[number:], ready)
                return
            began = time.perf_counter()
            chunk = read_chunk(each) if len(each) <= _LONG_DATA else None
            if (chunk is None or exchange.may_take_long(chunk)) and await self._move():
                await self._feed_there(data[number:], ready)
                return
            chunk = read_chunk(each) if chunk is None else chunk
            if self._record.live is not None:
                self._record.live.chunk(chunk)
            self._record.overhead += time.perf_counter() - began
            for part in parts_of(chunk):
                if time.perf_counter() - since > _TURN:
                    await anyio.lowlevel.checkpoint()
                    since = time.perf_counter()
                began = time.perf_counter()
                ready.append(exchange.feed(part))
                self._record.overhead += time.perf_counter() - began
            self._journal.feed(chunk)

    async def _feed_there(self, data: list[str], ready: list[bytes]) -> None:
        said, sent = await self._ask({"do": "feed", "data": data})
        ready.append(sent)
        _raise_error(said)

    async def end(self, ready: list[bytes], *, is_whole: bool = False) -> bool:
        """Say that the upstream's stream has ended; add what to send to `ready`. Returns whether there is another turn,
        with `request`."""
        exchange = self.exchange
        if exchange is not None and exchange.may_end_long:
            await self._move()
            exchange = self.exchange
        if exchange is None:
            said, sent = await self._ask({"do": "end", "is_whole": is_whole})
            ready.append(sent)
            _raise_error(said)
            return self._take_request(said)
        began = time.perf_counter()
        ready.append(exchange.end(is_whole=is_whole))
        again = exchange.next_turn()
        if again:
            self._journal.note("end", is_whole)
            self.request = encoded(exchange.request)
        self._record.overhead += time.perf_counter() - began
        return again

    async def answer(self, completion: bytes) -> bytes | None:
        """Take the upstream's completion; return the client's response, or None if `request` is to be sent first.

        Raises Refusal as `Exchange.answer` does, and for what is no JSON object.
        """
        if self.exchange is not None and len(completion) > _LONG_BODY:
            await self._move()
        exchange = self.exchange
        if exchange is None:
            said, sent = await self._ask({"do": "answer"}, completion)
            _raise_error(said)
            return None if self._take_request(said) else sent
        began = time.perf_counter()
        given = parse_answer(completion)
        if self._record.live is not None:
            self._record.live.chunk(given)
        response = exchange.answer(given)
        if response is None:
            self._journal.note("answer", given)
            self.request = encoded(exchange.request)
        self._record.overhead += time.perf_counter() - began
        return None if response is None else encoded(response)

    async def fail(self, message: str, status: int) -> bytes:
        """Return the error that ends a stream which has begun."""
        if self.exchange is None:
            with suppress(UpstreamError):
                _, sent = await self._ask({"do": "fail", "message": message, "status": status})
                return sent
        # Where the other process is gone, nobody knows more than the form of an error.
        exchange = self.exchange or Exchange(
            self._api, SMALLEST_REQUESTS[self._api], id=self._id, request_id=self._record.id
        )
        return exchange.fail(message, status=status)

    def abandon(self) -> None:
        """Say that nobody wants any more of it."""
        if self.exchange is not None:
            self.exchange.abandon()
        if self._worker is not None:
            self._worker.give_back(self._client, self._number)
            self._worker = None

    async def _move(self) -> bool:
        """Go on in another process, if there is one to be had."""
        if self._workers is None:
            return False
        worker = await self._workers.take(self._client)
        if worker is None:
            return False
        self._worker, self._number = worker, worker.number()
        is_new = self.exchange is None
        steps = self._journal.dump()
        if self.exchange is not None:
            self.exchange.abandon()
            self.exchange = None
        given = {"api": self._api, "settings": asdict(self._settings), "id": self._id, "created": self._created}
        given["request_id"] = self._record.id
        said, request = await self._ask({"do": "open", **given, "steps": steps}, self._body)
        _raise_error(said)
        self._body, self._journal = b"", Journal()
        if is_new:
            self.plain = bool(said.get("plain"))
            self.streams, self.keepalive = bool(said.get("streams")), str(said.get("keepalive", "")).encode()
            self.request, self.parameters = request, said.get("parameters", {})
        return True

    async def _ask(self, head: dict[str, Any], body: bytes = b"") -> WorkerAnswer:
        assert self._worker is not None  # the exchange is here, or there
        try:
            said, sent = await self._worker.ask({**head, "number": self._number}, body)
        except WorkerLostError:
            raise UpstreamError(f"{_LOST}: please try again", 503) from None
        self._record.overhead += said["seconds"]
        if "stats" in said:
            self._state = said
            for name, value in said["stats"].items():
                setattr(self.stats, name, Counter(value) if isinstance(getattr(self.stats, name), Counter) else value)
        if said.get("has_argument") and self._record.first_argument is None:
            self._record.first_argument = self._record.elapsed
        return said, sent

    def _take_request(self, said: dict[str, Any]) -> bool:
        self.request = said.get("request", "").encode() or self.request
        return "request" in said


def _raise_error(said: dict[str, Any]) -> None:
    if "refusal" in said:
        raise Refusal(said["refusal"].pop("message"), **said["refusal"])
    if "error" in said:
        raise XMLToolsError(said["error"])
    if "fault" in said:
        raise RuntimeError(f"{said['fault']} in the process that reads for the server")


async def count_tokens(scope: Scope, workers: Workers, body: bytes, settings: Settings) -> int:
    """Estimate the tokens of what the upstream would get. Counting them exactly would take the model's tokenizer.

    Raises Refusal for a request that can't be honoured.
    """
    client = _client_of(scope)
    worker = await workers.take(client) if _is_long(body) else None
    if worker is None:
        return estimate(body, settings)
    try:
        said, _ = await worker.ask({"do": "estimate", "settings": asdict(settings)}, body)
    except WorkerLostError:
        raise Refusal(f"{_LOST}: please try again", status=503, code="server_error") from None
    finally:
        worker.give_back(client)
    _raise_error(said)
    return int(said["tokens"])
