"""Streams that pass through a proxy, shown to pages while they pass: a hub with many readers, none of which can hold
it up.

    hub = LiveHub()
    hub.begin("req_1", "chat", "some-model")
    hub.event("req_1", 0, event)      # for each event of the parser of choice 0
    hub.end("req_1", "ok")

    async for data in hub.listen(): ...   # server-sent events, for one page

The hub is plain memory in one event loop: its methods never wait. Each reader has a queue with a bound. A reader that
is too slow loses what does not fit, and is told how much that was. The last messages are kept, so that a page that is
opened late shows what has just happened. What streams say is kept nowhere else, and never logged.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    Noticed,
    ReasoningDelta,
    Skipped,
    TextDelta,
)
from xmltools.proxy.playground.value_rows import write_path, write_rows

_LONGEST = 8_192  # characters of one text in a message: more is cut, and the message says how much
_ROWS = 100


class LiveHub:
    """Hands the events of streams to all pages that listen.

    `kept`: bytes of messages kept for pages that come later, and also what a slow page may have waiting for it.
    `readers`: pages at once. `keep_alive`: seconds of silence after which a comment is sent, so that a page that has
    gone is noticed. `clock` gives the time in seconds since 1970.
    """

    def __init__(
        self,
        *,
        kept: int = 1 << 20,
        readers: int = 16,
        keep_alive: float = 15.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._most = readers
        self._keep_alive = keep_alive
        self._clock = clock
        self._past = _Queue(kept)
        self._kept = kept
        self._readers: list[_Queue] = []
        self._closed = False

    @property
    def full(self) -> bool:
        """Whether no further page can listen now."""
        return len(self._readers) >= self._most

    def begin(self, id: str, api: str, model: str) -> None:
        """A stream begins: the id of its request, the client's API, and the model."""
        self._send({"type": "begin", "stream": id, "api": api, "model": _cut(model)[0], "time": self._clock()})

    def event(self, id: str, choice: int, event: Event) -> None:
        """The parser of one choice of a stream has said something."""
        if isinstance(event, Skipped):  # neither text nor anything else
            return
        self._send({"stream": id, "choice": choice, **_written(event)})

    def end(self, id: str, outcome: str) -> None:
        """A stream has ended, and how: a short word, such as `"ok"`."""
        self._send({"type": "end", "stream": id, "outcome": outcome, "time": self._clock()})

    def close(self) -> None:
        """End what the pages read. A server that waits for open answers before it stops calls this first."""
        self._closed = True
        for reader in self._readers:
            reader.wake()

    async def listen(self) -> AsyncIterator[bytes]:
        """Yield server-sent events for one page, beginning with what was kept, until `close`.

        Raises XMLToolsError if too many pages listen already.
        """
        if self.full:
            raise XMLToolsError(f"the live view has {self._most} readers, and takes no more: close another page")
        reader = _Queue(self._kept, self._past.messages)
        self._readers.append(reader)
        try:
            yield _sse({"type": "hello"})
            while not self._closed:
                yield await reader.take(self._keep_alive)
        finally:
            self._readers.remove(reader)

    def _send(self, message: dict[str, Any]) -> None:
        data = _sse(message)
        self._past.push(data)
        for reader in self._readers:
            reader.push(data)


class _Queue:
    """Messages of at most `size` bytes in all: the oldest make room for the newest, and are counted as dropped."""

    def __init__(self, size: int, messages: Iterable[bytes] = ()) -> None:
        self._size = size
        self.messages = deque(messages)
        self._held = sum(map(len, self.messages))
        self._dropped = 0
        self._news = asyncio.Event()
        self.wake()

    def push(self, data: bytes) -> None:
        self.messages.append(data)
        self._held += len(data)
        while self._held > self._size and len(self.messages) > 1:
            self._held -= len(self.messages.popleft())
            self._dropped += 1
        self.wake()

    def wake(self) -> None:
        self._news.set()

    async def take(self, keep_alive: float) -> bytes:
        """Return all that waits, and first how much was lost; a comment if nothing comes for long."""
        try:
            async with asyncio.timeout(keep_alive):
                await self._news.wait()
        except TimeoutError:
            return b": nothing new\n\n"
        self._news.clear()
        lost = _sse({"type": "dropped", "count": self._dropped}) if self._dropped else b""
        waiting = b"".join(self.messages)
        self.messages.clear()
        self._held = self._dropped = 0
        return lost + waiting


def _sse(message: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n\n"


def _written(event: Event) -> dict[str, Any]:
    match event:
        case TextDelta(text):
            return {"type": "text", **_text(text)}
        case ReasoningDelta(text):
            return {"type": "reasoning", **_text(text)}
        case ArgumentDelta(path, text):
            return {"type": "argument", "path": _cut(write_path(path))[0], **_text(text)}
        case CallStarted(id, name):
            return {"type": "started", "id": id, "name": name, "server": event.server}
        case CallCompleted(call):
            codes = [repair.code for repair in call.repairs]
            rows = write_rows(call.arguments)[:_ROWS]
            arguments = [{name: _cut(value)[0] for name, value in row.items()} for row in rows]
            return {"type": "call", "id": call.id, "name": call.name, "arguments": arguments, "repairs": codes}
        case CallFailed(error):
            return {"type": "error", "id": event.id, "code": error.code, "message": _cut(error.message)[0]}
        case Noticed(notice):
            return {"type": "notice", "code": notice.code, "message": _cut(notice.message)[0]}
    raise AssertionError(event)


def _text(text: str) -> dict[str, Any]:
    short, cut = _cut(text)
    return {"text": short, "cut": cut} if cut else {"text": short}


def _cut(text: str) -> tuple[str, int]:
    return text[:_LONGEST], max(0, len(text) - _LONGEST)
