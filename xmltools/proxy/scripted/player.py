"""An upstream that plays what it has: answers of exact bytes, at their times, on a clock that can be given.

The models of `serve --demo` and the recordings of `xmltools replay` differ in how they choose an answer. Tests and
examples have models of their own: a subclass whose `choose` returns a `completion` of any text.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from xmltools.conversations.compaction import estimate_tokens
from xmltools.errors import XMLToolsError
from xmltools.models.events import TextDelta
from xmltools.proxy.bridge import Refusal
from xmltools.proxy.bridge.encoders import make_encoder, new_id
from xmltools.proxy.bridge.json_bodies import encoded
from xmltools.proxy.bridge.requests import Incoming
from xmltools.proxy.scripted.demo_recording import tokens

_FIRST_TOKEN = 0.3
"""Seconds until a reply begins."""
_TOKENS_PER_SECOND = 60


@dataclass(slots=True, kw_only=True)
class Answer:
    """An answer to play. Times are in seconds after the request; `error` says what broke it off, if it was."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    head_at: float = 0.0
    chunks: Sequence[tuple[float, bytes]]
    end_at: float
    error: str | None = None


def as_json(value: Any, status: int = 200, at: float = 0.0) -> Answer:
    """Return an answer that is all there at a time."""
    headers = {"content-type": "application/json"}
    return Answer(status=status, headers=headers, head_at=at, chunks=[(at, encoded(value))], end_at=at)


def models(*names: str, owner: str = "xmltools") -> Answer:
    """Return the list of models with these names."""
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": owner} for name in names]
    return as_json({"object": "list", "data": listed})


def completion(asked: Incoming, text: str, reason: str = "stop") -> Answer:
    """Return what a model that says a text, and ends it for a reason, answers to a request for a chat completion: in a
    stream if it asks for one, up to its limit and stop sequences, and in several choices, which all say the same."""
    for stop in asked.stop:
        text = text.partition(stop)[0]
    said = list(tokens(text))
    limit = asked.fields.get("max_completion_tokens") or asked.fields.get("max_tokens")
    if type(limit) is int and 0 < limit < len(said):
        said, reason = said[:limit], "length"
    spent, made = estimate_tokens(asked.conversation), len(said) * asked.choices
    usage = {"prompt_tokens": spent, "completion_tokens": made, "total_tokens": spent + made}
    encoder = make_encoder("chat", asked, (), new_id("chat"), int(time.time()), None)
    last, chunks = _FIRST_TOKEN, [(0.0, encoder.feed(choice, [])) for choice in range(asked.choices)]
    for number, token in enumerate(said):
        last = _FIRST_TOKEN + number / _TOKENS_PER_SECOND
        chunks += [(last, encoder.feed(choice, [TextDelta.make(token, 0)])) for choice in range(asked.choices)]
    chunks += [(last, encoder.finish(choice, reason, None)) for choice in range(asked.choices)]
    if not asked.stream:
        return as_json(encoder.body(usage), at=last)
    return Answer(chunks=[*chunks, (last, encoder.end(usage))], end_at=last)


class Player:
    """An upstream as an ASGI application: it plays the answer that `choose` returns for each request.

    Takes how fast (2 is twice as fast, 0 does not wait), how to wait and what the time is, in seconds. What the work
    itself took counts as waited, so that a slow reader gets what has piled up at once, as from a real server. Raises
    XMLToolsError if `speed` is not a number of 0 or more.
    """

    def __init__(
        self,
        *,
        speed: float = 1.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if isinstance(speed, bool) or not isinstance(speed, (int, float)) or not 0 <= speed < math.inf:
            raise XMLToolsError(
                f"speed: expected a number from 0 on (2 is twice as fast, 0 does not wait), got {speed!r:.40}"
            )
        self._speed = speed
        self._sleep = sleep
        self.clock = clock

    def choose(self, request: Request, body: bytes) -> Answer:
        """Return the answer to a request. Raises Refusal if there is none."""
        message = f"there is no {request.method} {request.url.path:.200}"
        raise Refusal(message, status=404, code="not_found")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Nothing is said to a client that has left."""
        if scope["type"] != "http":
            return
        start = self.clock()
        request = Request(scope, receive)
        answer = self.answer(request, await request.body())
        pieces = self.play(answer, start)
        await anext(pieces)
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        async for chunk in pieces:
            if await request.is_disconnected():
                return
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if answer.error is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        # Otherwise the response stays open, and the server breaks off the connection.

    def answer(self, request: Request, body: bytes) -> Answer:
        """Return the answer to a request, which may be that there is none."""
        try:
            return self.choose(request, body)
        except Refusal as error:
            return as_json(error.body("chat"), error.status)

    async def play(self, answer: Answer, start: float) -> AsyncGenerator[bytes, None]:
        """Yield nothing when the head of an answer is due, then its chunks, each when it is, and stop at its end."""
        await self._until(start, answer.head_at)
        yield b""
        for at, chunk in answer.chunks:
            await self._until(start, at)
            yield chunk
        await self._until(start, answer.end_at)

    async def _until(self, start: float, at: float) -> None:
        """Wait until some seconds after the start. Others get their turn even if there is nothing to wait for."""
        rest = start + at / self._speed - self.clock() if self._speed else 0.0
        await (self._sleep(rest) if rest > 0 else asyncio.sleep(0))
