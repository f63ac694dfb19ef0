"""What passes through a proxy, kept in memory for the live view: a hub with many readers, none of which can hold it up.

    hub = LiveHub()
    exchange = hub.begin("req_1", "chat", body)
    exchange.opened(bridge_exchange)  # what the request asks for
    exchange.asked(prompt)            # each time that the upstream is asked
    exchange.chunk(chunk)             # what it says
    exchange.event(0, event)          # and what the parser of choice 0 makes of that
    exchange.end("ok")

    async for data in hub.listen(): ...   # server-sent events, for one page

The hub is plain memory in one event loop: its methods never wait. A page hears which exchanges have changed, with a
summary of each; one that is slow misses steps in between, and nothing else. What it shows of one exchange is made of a
`Snapshot`. Texts are kept up to a bound each, an exchange up to another, and all of them up to a third: then the oldest
goes. What they say is kept nowhere else, and never logged.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.models.events import CallCompleted, CallFailed, CallStarted, Event, Noticed
from xmltools.models.finish_reasons import CUT_OFF, our_reason
from xmltools.proxy.bridge import Exchange
from xmltools.proxy.bridge.json_bodies import encoded, without_credentials, without_keys
from xmltools.proxy.bridge.upstream_stream import calls_of, details_of, reasoning_of, text_of
from xmltools.proxy.playground.parts import Part, write_part

LONGEST_TEXT = 512 * 1024
"""Bytes that are kept of one text: a request, a prompt, a reply, what the client was sent."""
LONGEST_EXCHANGE = 4 * 1024 * 1024
"""Bytes that are kept of one exchange."""
_MOST_REPLIES = 16
_MOST_WORDS = 160  # characters of the user's last words, by which a person knows the exchange again
_MOST_NAMES = 20
_MOST_NAME = 200
_MOST_MESSAGE = 2_000
_SMALL = 2_048  # what an exchange takes beside its texts, roughly


class LiveHub:
    """Keeps exchanges, and tells all pages that listen which of them have changed.

    `kept`: bytes of all exchanges together; `most`: how many they are. `readers`: pages at once. `keep_alive`: seconds
    of silence after which a comment is sent, so that a page that has gone is noticed. `pace`: seconds in which changes
    come together. `clock` gives the time in seconds since 1970, `timer` seconds since any moment.
    """

    def __init__(
        self,
        *,
        kept: int = 32 * 1024 * 1024,
        most: int = 200,
        readers: int = 16,
        keep_alive: float = 15.0,
        pace: float = 0.1,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._most_held = kept
        self._most = most
        self._most_readers = readers
        self._keep_alive = keep_alive
        self._pace = pace
        self.clock = clock
        self.timer = timer
        self._exchanges: OrderedDict[int, LiveExchange] = OrderedDict()
        self._number = 0
        self._held = 0
        self._readers: list[_Reader] = []
        self._closed = False
        self._name = secrets.token_hex(8)  # a page that finds another one knows that the server was restarted

    @property
    def full(self) -> bool:
        """Whether no further page can listen now."""
        return len(self._readers) >= self._most_readers

    @property
    def held(self) -> int:
        """The bytes that are kept now."""
        return self._held

    def begin(
        self, id: str, api: str, body: bytes = b"", *, route: str = "", hidden: Collection[bytes] = ()
    ) -> LiveExchange:
        """An exchange begins: the id of its request, the client's API, and the body that it sent.

        `hidden` are keys, which are kept in no text.
        """
        self._number += 1
        exchange = LiveExchange(self, self._number, id, api, route, hidden)
        self._exchanges[self._number] = exchange
        exchange.requested(body)
        return exchange

    def get(self, number: int) -> LiveExchange | None:
        """Return an exchange by its number, None if it is not kept any more."""
        return self._exchanges.get(number)

    def grow(self, size: int) -> None:
        """An exchange keeps so many bytes more; the oldest make room."""
        self._held += size
        while len(self._exchanges) > 1 and (self._held > self._most_held or len(self._exchanges) > self._most):
            number, oldest = self._exchanges.popitem(last=False)
            self._held -= oldest.drop()
            for reader in self._readers:
                reader.forget(number)

    def changed(self, number: int) -> None:
        """An exchange has changed."""
        for reader in self._readers:
            reader.push(number)

    def close(self) -> None:
        """End what the pages read. A server that waits for open answers before it stops calls this first."""
        self._closed = True
        for reader in self._readers:
            reader.wake()

    async def listen(self) -> AsyncIterator[bytes]:
        """Yield server-sent events for one page, beginning with all exchanges that are kept, until `close`.

        Raises XMLToolsError if too many pages listen already.
        """
        if self.full:
            raise XMLToolsError(
                f"the live view has {self._most_readers} readers, and takes no more: close another page"
            )
        reader = _Reader(self._exchanges)
        self._readers.append(reader)
        try:
            yield b"retry: 1000\n" + _sse({"type": "hello", "server": self._name})
            while not self._closed:
                numbers = await reader.take(self._keep_alive)
                yield self._news(numbers) if numbers else b": nothing new\n\n"
                await asyncio.sleep(self._pace)
        finally:
            self._readers.remove(reader)

    def _news(self, numbers: list[int]) -> bytes:
        oldest = next(iter(self._exchanges), 0)
        known = (self._exchanges.get(number) for number in numbers)
        return b"".join(
            _sse({"type": "exchange", "oldest": oldest, **each.summary()}) for each in known if each is not None
        )


class _Reader:
    """The numbers of the exchanges of which a page has not heard the latest."""

    def __init__(self, numbers: Collection[int]) -> None:
        self._waiting = dict.fromkeys(numbers)
        self._news = asyncio.Event()
        if numbers:
            self.wake()

    def push(self, number: int) -> None:
        self._waiting[number] = None
        self._news.set()

    def forget(self, number: int) -> None:
        self._waiting.pop(number, None)

    def wake(self) -> None:
        self._news.set()

    async def take(self, keep_alive: float) -> list[int]:
        """Return what waits; nothing if nothing comes for long."""
        try:
            async with asyncio.timeout(keep_alive):
                await self._news.wait()
        except TimeoutError:
            return []
        self._news.clear()
        waiting = list(self._waiting)
        self._waiting.clear()
        return waiting


def _sse(message: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n\n"


# What is kept


@dataclass(frozen=True, slots=True)
class Kept:
    """A text of which `lost` bytes are missing at the end of `head`; after these comes `tail`."""

    head: str = ""
    tail: str = ""
    lost: int = 0


@dataclass(slots=True)
class _Text:
    """A text that is kept up to a bound, as bytes. It may grow at its end."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytes = b""
    lost: int = 0

    def snapshot(self) -> Kept:
        # What was cut may end in the middle of a character; lone surrogates are kept.
        errors = "ignore" if self.lost else "surrogatepass"
        return Kept(self.head.decode("utf-8", errors), self.tail.decode("utf-8", errors), self.lost)


@dataclass(slots=True)
class _Reply:
    """What the upstream says in one choice: its text, and what it tells apart itself, thoughts and calls."""

    text: _Text = field(default_factory=_Text)
    thoughts: _Text = field(default_factory=_Text)
    calls: list[bytes] = field(default_factory=list)
    has_calls: bool = False
    finish: str = ""


@dataclass(slots=True)
class _Attempt:
    """One question to the upstream. Times are seconds since the exchange began."""

    asked: float
    prompt: _Text = field(default_factory=_Text)
    told: _Text = field(default_factory=_Text)
    continued: _Text = field(default_factory=_Text)
    status: int = 0
    answered: float | None = None
    first: float | None = None
    first_call: float | None = None
    ended: float | None = None
    made: int = 0
    repaired: int = 0
    rejected: int = 0
    unread: int = 0
    replies: dict[int, _Reply] = field(default_factory=dict)

    def reply(self, choice: int) -> _Reply:
        return self.replies.setdefault(choice, _Reply())


@dataclass(frozen=True, slots=True)
class ReplySnapshot:
    """The reply of one choice."""

    choice: int
    text: Kept
    thoughts: Kept
    calls: list[dict[str, Any]]
    finish: str


@dataclass(frozen=True, slots=True)
class AttemptSnapshot:
    """One question to the upstream, and its answer. `told`: what the model was told of its reply before; `continued`:
    the beginning of a block that this one continues. `facts` are numbers that a page shows as they are."""

    prompt: Kept
    told: str
    continued: str
    is_over: bool
    facts: dict[str, Any]
    replies: list[ReplySnapshot]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An exchange as it is at one moment. `options` are those of its parser."""

    summary: dict[str, Any]
    request: Kept
    warnings: Kept
    tools: str | None
    has_tools: bool
    options: dict[str, Any]
    attempts: list[AttemptSnapshot]
    sent: Kept


class LiveExchange:
    """One exchange: what the client asked, what the upstream was asked and said, and what came of it.

    It is told of by `LiveHub.begin` and whoever serves the request. `state` is "waiting" (for the model), "writing",
    or how it ended: "done", "rejected" (the client was told that a call was not made), "cut" (the reply has no proper
    end), "failed", "refused" (by us), "left" (by the client) or "stopped" (by the end of the server).
    """

    def __init__(
        self, hub: LiveHub, number: int, id: str, api: str, route: str = "", hidden: Collection[bytes] = ()
    ) -> None:
        self._hub = hub
        self._number = number
        self._id, self._api, self._route = id, api, route
        self._hidden = hidden
        self._time = hub.clock()
        self._began = hub.timer()
        self._held = 0
        self._dropped = False
        self._exchange: Exchange | None = None  # while it is open
        self._model = self._dialect = self._message = self._words = self._last_error = ""
        self._streams = self._plain = self._broke_off = False
        self._options: dict[str, Any] = {}
        self._request, self._sent, self._tools, self._warnings = _Text(), _Text(), _Text(), _Text()
        self._has_tools = False
        self._status = 0
        self._attempts: list[_Attempt] = []
        self._codes: Counter[str] = Counter()
        self._names: dict[str, None] = {}
        self._ended: float | None = None
        self.state = "waiting"
        self._room(_SMALL)

    # Memory

    def drop(self) -> int:
        """Keep nothing any more, as the hub has no room; return how many bytes it was."""
        held, self._held = self._held, 0
        self._dropped = True
        self._attempts.clear()
        self._request, self._sent, self._tools, self._warnings = _Text(), _Text(), _Text(), _Text()
        return held

    def _room(self, wanted: int) -> int:
        """Return for how many bytes there is room."""
        got = max(0, min(wanted, LONGEST_EXCHANGE - self._held))
        if self._dropped:
            return 0
        self._held += got
        self._hub.grow(got)
        return 0 if self._dropped else got

    def _add(self, text: _Text, more: bytes) -> None:
        """Keep more of a text, as far as there is room; once something was lost, the rest is too."""
        got = self._room(min(len(more), LONGEST_TEXT - len(text.head))) if more and not text.lost else 0
        text.head += more[:got]
        text.lost += len(more) - got

    def _whole(self, body: bytes) -> _Text:
        """Keep a whole text; a long one without its middle, as agents say what is new at the end."""
        got = self._room(min(len(body), LONGEST_TEXT))
        if got == len(body):
            return _Text(bytearray(body))
        return _Text(bytearray(body[: got // 2]), body[len(body) - got // 2 :], len(body) - got // 2 * 2)

    def _written(self, value: Any) -> bytes:
        """Return a JSON value as bytes without keys; nothing for one that is empty or nested too deeply."""
        try:
            return self._safe(encoded(value)) if value else b""
        except RecursionError:
            return b""

    def _safe(self, data: bytes) -> bytes:
        """Return data without keys."""
        return without_keys(data, self._hidden)

    def _safe_text(self, text: str) -> str:
        return self._safe(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _changed(self) -> None:
        if not self._dropped:
            self._hub.changed(self._number)

    @property
    def _now(self) -> float:
        return self._hub.timer() - self._began

    # What happens

    def requested(self, body: bytes) -> None:
        """The client has sent its request."""
        request = _object_of(body)
        model = request.get("model")
        self._model = model[:_MOST_NAME] if isinstance(model, str) else ""
        self._request = self._whole(self._written(request))
        self._changed()

    def opened(self, exchange: Exchange) -> None:
        """What the request asks for is known."""
        turn, settings = exchange.turn, exchange.settings
        self._exchange = exchange
        self._model, self._streams, self._plain = exchange.stats.model[:_MOST_NAME], exchange.streams, exchange.plain
        self._dialect = turn.dialect
        self._has_tools = bool(turn.tools)
        self._options = {"dialect": turn.dialect, "starts_in_reasoning": settings.starts_in_reasoning}
        if settings.strict_calls:
            self._options["strict"] = True
        if settings.also is not None:
            self._options["also"] = settings.also
        if turn.tools and not self._plain:
            tools = self._written([tool.model_dump() for tool in turn.tools])
            if len(tools) <= LONGEST_TEXT:
                self._add(self._tools, tools)
        self._add(self._warnings, self._safe_text("\n".join(exchange.warnings)).encode("utf-8", "surrogatepass"))
        said = [message.text for message in turn.conversation if message.role == "user" and message.text.strip()]
        words = " ".join(self._safe_text(said[-1][-4 * _MOST_WORDS :]).split()) if said else ""
        self._words = words if len(words) <= _MOST_WORDS else f"…{words[-_MOST_WORDS:]}"
        self._changed()

    def asked(self, body: bytes | None) -> None:
        """The upstream is asked; None for a body that is passed on unread."""
        now = self._now
        if self._attempts:
            self._attempts[-1].ended = now
        attempt = _Attempt(asked=now)
        self._attempts.append(attempt)
        self._room(_SMALL)
        attempt.prompt = self._whole(self._written(_object_of(body or b"")))
        # A reply was sent back, or the upstream refused a request that is now asked in another form.
        if self._exchange is not None and len(self._attempts) > 1 and self._attempts[-2].status < 400:
            told = str(self._exchange.request["messages"][-1].get("content"))
            self._add(attempt.told, told.encode("utf-8", "surrogatepass"))
            self._add(attempt.continued, self._exchange.continued.encode("utf-8", "surrogatepass"))
        self.state = "waiting"
        self._changed()

    def answered(self, status: int) -> None:
        """The upstream has begun to answer."""
        if attempt := self._attempt:
            attempt.status = status
            attempt.answered = self._now
            self._changed()

    def passed_on(self) -> None:
        """A piece of an answer came that is passed on as it is."""
        if attempt := self._attempt:
            attempt.first = self._now if attempt.first is None else attempt.first
            self.state = "writing"
            self._changed()

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """The upstream says something: a chunk of its stream, or a whole completion."""
        attempt = self._attempt
        if attempt is None:
            return
        if attempt.first is None:
            attempt.first = self._now
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            index = choice.get("index", 0) if isinstance(choice, dict) else None
            if isinstance(index, int) and 0 <= index < _MOST_REPLIES:
                self._take(attempt.reply(index), choice)
        self.state = "writing"
        self._changed()

    def _take(self, reply: _Reply, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._add(reply.text, text_of(delta).encode("utf-8", "surrogatepass"))
            thoughts = reasoning_of(delta)[1] or details_of(delta)
            self._add(reply.thoughts, thoughts.encode("utf-8", "surrogatepass"))
            reply.has_calls = reply.has_calls or bool(calls_of(delta))
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            reply.finish = finish[:_MOST_NAME]

    def event(self, choice: int, event: Event) -> None:
        """The parser of one choice has said something."""
        attempt = self._attempt
        if attempt is None or not isinstance(event, CallStarted | CallCompleted | CallFailed | Noticed):
            return
        if attempt.first_call is None and not isinstance(event, Noticed):
            attempt.first_call = self._now
        match event:
            case CallCompleted(call):
                attempt.made += 1
                attempt.repaired += bool(call.repairs)
                self._codes.update(repair.code.value for repair in call.repairs)
                self._name(call.name)
            case CallFailed(error):
                attempt.rejected += 1
                self._codes[error.code.value] += 1
                self._name(error.name or "")
                self._last_error = f"{error.name or 'a call'}: {error.message}"
            case Noticed(notice):
                attempt.unread += 1
                self._codes[notice.code.value] += 1
        if isinstance(event, CallCompleted | CallFailed) and attempt.reply(choice).has_calls:
            self._keep_native(attempt.reply(choice), event)
        self._changed()

    def _keep_native(self, reply: _Reply, event: CallCompleted | CallFailed) -> None:
        """Keep a call that the upstream told apart itself: it has no place in the text."""
        start, end = event.span
        if start < end or self._exchange is None:
            return
        outcome = event.call if isinstance(event, CallCompleted) else event.error
        part = Part("call" if isinstance(event, CallCompleted) else "error", 0, 0, outcome=outcome)
        turn = self._exchange.turn
        written = json.dumps(write_part(part, list(turn.tools), turn.dialect)).encode()
        if len(written) <= LONGEST_TEXT and self._room(len(written)) == len(written):
            reply.calls.append(written)

    def _name(self, name: str) -> None:
        if name and len(self._names) < _MOST_NAMES:
            self._names[name[:_MOST_NAME]] = None

    def fail(self, message: str, *, broke_off: bool = False) -> None:
        """Something went wrong, in the words that the client gets; `broke_off`: the upstream said no more."""
        self._message = self._safe_text(message)[:_MOST_MESSAGE]
        self._broke_off = broke_off
        self._changed()

    def sent(self, message: Mapping[str, Any]) -> None:
        """The client is sent a message of ASGI."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
        elif body := message.get("body"):
            self._add(self._sent, self._safe(body))

    def end(self, outcome: str) -> None:
        """The exchange has ended, with an outcome as the log has it. A second end says nothing."""
        if self._ended is not None:
            return
        self._ended = self._now
        if attempt := self._attempt:
            attempt.ended = self._ended
        if self._exchange is not None and not self._message:
            self.fail(self._exchange.failure)
        self._exchange = None
        self._hidden = ()
        self.state = self._final(outcome)
        if not self._message and self.state == "rejected":
            self.fail(self._last_error)
        elif not self._message and self.state == "cut":
            self.fail(f"the upstream ended the reply for the reason {self._finish!r}")
        self._changed()

    def _final(self, outcome: str) -> str:
        attempt = self._attempt
        outcome = "ok" if outcome == "call_unread" else outcome
        if outcome in ("upstream_error", "timeout"):
            return "cut" if self._broke_off and attempt is not None and attempt.replies else "failed"
        if outcome in ("ok", "call_failed") and self._finish:
            return "cut"
        if outcome != "ok":
            return {"call_failed": "rejected", "client_left": "left"}.get(outcome, outcome)
        if self._message:
            return "failed"
        return "rejected" if attempt is not None and attempt.rejected else "done"

    @property
    def _finish(self) -> str:
        """The reason for which the upstream cut the reply off, if it did."""
        replies = self._attempt.replies.values() if self._attempt is not None else ()
        return next((reply.finish for reply in replies if our_reason(reply.finish) in CUT_OFF), "")

    @property
    def _attempt(self) -> _Attempt | None:
        return self._attempts[-1] if self._attempts else None

    # What is shown

    def summary(self) -> dict[str, Any]:
        """Return what a list of exchanges shows, as JSON values."""
        attempts = self._attempts
        totals = {name: sum(getattr(each, name) for each in attempts) for name in _COUNTS}
        return {
            "number": self._number,
            "id": self._id,
            "api": self._api,
            "route": self._route,
            "model": self._model,
            "dialect": self._dialect if self._has_tools else "",
            "stream": self._streams,
            "plain": self._plain,
            "words": self._words,
            "time": self._time,
            "seconds": self._now if self._ended is None else self._ended,
            "open": self._ended is None,
            "state": self.state,
            "message": self._message,
            "attempts": len(attempts),
            "retries": max(0, sum(each.status < 400 for each in attempts) - 1),  # the others the upstream refused
            "status": self._status,
            "upstream_status": attempts[-1].status if attempts else 0,
            "codes": dict(self._codes),
            "names": list(self._names),
            "written": sum(len(reply.text.head) for each in attempts for reply in each.replies.values()),
            **totals,
        }

    def snapshot(self) -> Snapshot:
        """Return all that is kept, as it is now."""
        return Snapshot(
            summary=self.summary(),
            request=self._request.snapshot(),
            warnings=self._warnings.snapshot(),
            tools=self._tools.head.decode() if self._tools.head and not self._tools.lost else None,
            has_tools=self._has_tools,
            options=self._options,
            attempts=[_snapshot_of(attempt) for attempt in self._attempts],
            sent=self._sent.snapshot(),
        )


_COUNTS = ("made", "repaired", "rejected", "unread")
_FACTS = ("asked", "answered", "first", "first_call", "ended", "status", *_COUNTS)


def _snapshot_of(attempt: _Attempt) -> AttemptSnapshot:
    return AttemptSnapshot(
        prompt=attempt.prompt.snapshot(),
        told=attempt.told.snapshot().head,
        continued=attempt.continued.snapshot().head,
        is_over=attempt.ended is not None,
        facts={name: getattr(attempt, name) for name in _FACTS},
        replies=[
            ReplySnapshot(
                choice=choice,
                text=reply.text.snapshot(),
                thoughts=reply.thoughts.snapshot(),
                calls=[json.loads(call) for call in reply.calls],
                finish=reply.finish,
            )
            for choice, reply in sorted(attempt.replies.items())
        ],
    )


def _object_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body is, without the fields that may hold credentials; an empty one for anything
    else, as nobody knows what that holds."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return without_credentials(value) if isinstance(value, dict) else {}
