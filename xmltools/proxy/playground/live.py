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
copy of its `Content`. Texts are kept up to a bound each, an exchange up to another, and all of them up to a third: then
the oldest goes. What they say is kept nowhere else, and never logged.
"""

from __future__ import annotations

import asyncio
import copy
import json
import secrets
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from xmltools.models.events import CallCompleted, CallFailed, CallStarted, Event, Noticed
from xmltools.models.finish_reasons import CUT_OFF, our_reason
from xmltools.proxy.bridge import Exchange, Refusal
from xmltools.proxy.bridge.json_bodies import encoded, parse_object, without_credentials, without_keys
from xmltools.proxy.bridge.upstream_stream import details_of, reasoning_of, text_of

LONGEST_TEXT = 512 * 1024
"""Bytes that are kept of one text: a request, a prompt, a reply, what the client was sent."""
LONGEST_EXCHANGE = 4 * 1024 * 1024
"""Bytes that are kept of one exchange."""
_MOST_REPLIES = 16
_MOST_WORDS = 160  # characters of the newest message, by which a person knows the exchange again
_MOST_NAMES = 20
_MOST_NAME = 200
_MOST_MESSAGE = 2_000
_SMALL = 2_048  # what an exchange takes beside its texts, roughly


class LiveHub:
    """Keeps exchanges, and tells all pages that listen which of them have changed.

    `kept`: bytes of all exchanges together; `most`: how many they are. `readers`: pages at once. `keep_alive`: seconds
    of silence after which a comment is sent, so that a page that has gone is noticed. `pace`: seconds in which changes
    come together. `held`: the bytes that are kept now.
    """

    kept = 32 * 1024 * 1024
    most = 200
    readers = 16
    keep_alive = 15.0
    pace = 0.1

    def __init__(self) -> None:
        self.held = 0
        self._exchanges: OrderedDict[int, LiveExchange] = OrderedDict()
        self._begun = self._changes = self._readers = 0
        self._news = asyncio.Event()
        self._closed = False
        self._name = secrets.token_hex(8)  # a page that finds another one knows that the server was restarted

    @property
    def full(self) -> bool:
        """Whether no further page can listen now."""
        return self._readers >= self.readers

    def begin(self, id: str, api: str, body: bytes, *, route: str = "", hidden: Collection[bytes] = ()) -> LiveExchange:
        """An exchange begins: the id of its request, the client's API, and the body that it sent.

        `hidden` are keys, which are kept in no text.
        """
        self._begun += 1
        facts = {"number": self._begun, "id": id, "api": api, "route": route}
        exchange = self._exchanges[self._begun] = LiveExchange(self, facts, hidden)
        exchange.requested(body)
        return exchange

    def get(self, number: int) -> LiveExchange | None:
        """Return an exchange by its number, None if it is not kept any more."""
        return self._exchanges.get(number)

    def grow(self, size: int) -> None:
        """An exchange keeps so many bytes more; the oldest make room."""
        self.held += size
        while len(self._exchanges) > 1 and (self.held > self.kept or len(self._exchanges) > self.most):
            self.held -= self._exchanges.popitem(last=False)[1].drop()

    def tell(self) -> int:
        """Tell all pages that something has changed; return the number of the change."""
        self._changes += 1
        self._news.set()
        self._news = asyncio.Event()
        return self._changes

    def close(self) -> None:
        """End what the pages read. A server that waits for open answers before it stops calls this first."""
        self._closed = True
        self.tell()

    async def listen(self) -> AsyncIterator[bytes]:
        """Yield server-sent events for one page, beginning with all exchanges that are kept, until `close`."""
        self._readers += 1
        seen = 0
        try:
            yield b"retry: 1000\n" + _sse({"type": "hello", "server": self._name})
            while not self._closed:
                news = self._news
                if data := self._since(seen):
                    seen = self._changes
                    yield data
                    await asyncio.sleep(self.pace)
                    continue
                try:
                    await asyncio.wait_for(news.wait(), self.keep_alive)
                except TimeoutError:
                    yield b": nothing new\n\n"
        finally:
            self._readers -= 1

    def _since(self, change: int) -> bytes:
        """What a page that has heard of the changes up to this one has to hear."""
        oldest = next(iter(self._exchanges), 0)
        changed = (each for each in self._exchanges.values() if each.change > change)
        return b"".join(_sse({"type": "exchange", "oldest": oldest, **each.summary()}) for each in changed)


def _sse(message: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n\n"


# What is kept


@dataclass(slots=True)
class Text:
    """A text that is kept up to a bound, as bytes: `lost` bytes are missing at the end of `head`, then comes `tail`."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytes = b""
    lost: int = 0

    def __str__(self) -> str:
        return self.read(self.head)

    def read(self, part: bytes | bytearray) -> str:
        """Return the head or the tail as text."""
        # What was cut may end in the middle of a character; lone surrogates are kept.
        return part.decode("utf-8", "ignore" if self.lost else "surrogatepass")


class Reply:
    """What the upstream says in one choice: its text, and what it tells apart itself, thoughts and calls."""

    def __init__(self) -> None:
        self.text, self.thoughts = Text(), Text()
        self.calls: list[Event] = []
        self.finish = ""


class Attempt:
    """One question to the upstream, and its answer. `continued`: the beginning of a block that this one may continue.
    `times` are seconds since the exchange began, by what happened: "asked", "answered", "first" (byte), "first_call",
    "ended". `counts` has the calls that were "made", "repaired", "rejected", and "unread"."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.prompt, self.continued = Text(), Text()
        self.status = 0
        self.counts: Counter[str] = Counter()
        self.replies: defaultdict[int, Reply] = defaultdict(Reply)


class Content:
    """All that is said in an exchange. `options` are those of its parser, `tools` its tools as JSON."""

    def __init__(self) -> None:
        self.request, self.warnings, self.tools, self.sent = Text(), Text(), Text(), Text()
        self.options: dict[str, Any] = {}
        self.attempts: list[Attempt] = []


class LiveExchange:
    """One exchange: what the client asked, what the upstream was asked and said, and what came of it.

    It is told of by `LiveHub.begin` and whoever serves the request. `state` is "waiting" (for the model), "writing",
    or how it ended: "done", "rejected" (the client was told that a call was not made), "cut" (the reply has no proper
    end), "failed", "refused" (by us), "client_left" or "stopped" (by the end of the server). `change` is the
    number of its latest change.
    """

    def __init__(self, hub: LiveHub, facts: dict[str, Any], hidden: Collection[bytes]) -> None:
        self.state = "waiting"
        self.change = 0
        self._hub = hub
        self._hidden = hidden
        self._facts = facts | {"time": time.time(), "plain": False, "message": "", "status": 0}
        self._began = time.perf_counter()
        self._held = 0
        self._broke_off = False
        self._exchange: Exchange | None = None  # while it is open
        self._content = Content()
        self._codes: set[str] = set()
        self._names: dict[str, None] = {}
        self._last_error = ""
        self._ended: float | None = None
        self._room(_SMALL)

    # Memory

    def drop(self) -> int:
        """Keep nothing any more, as the hub has no room; return how many bytes it was."""
        held, self._held = self._held, LONGEST_EXCHANGE
        self._content = Content()
        return held

    def _room(self, wanted: int) -> int:
        """Return for how many bytes there is room."""
        got = max(0, min(wanted, LONGEST_EXCHANGE - self._held))
        self._held += got
        self._hub.grow(got)
        return got

    def _add(self, text: Text, more: str | bytes) -> None:
        """Keep more of a text without keys, as far as there is room; once something was lost, the rest is too."""
        data = self._hide(more)
        got = self._room(min(len(data), LONGEST_TEXT - len(text.head))) if data and not text.lost else 0
        text.head += data[:got]
        text.lost += len(data) - got

    def _whole(self, request: dict[str, Any]) -> Text:
        """Keep a whole request; a long one without its middle, as agents say what is new at the end."""
        data = self._hide(encoded(request)) if request else b""
        got = self._room(min(len(data), LONGEST_TEXT))
        if got == len(data):
            return Text(bytearray(data))
        return Text(bytearray(data[: got // 2]), data[len(data) - got // 2 :], len(data) - got // 2 * 2)

    def _hide(self, text: str | bytes) -> bytes:
        """Return a text without keys."""
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        return without_keys(data, self._hidden)

    def _shortened(self, text: str, most: int) -> str:
        """Return the beginning of a text without keys."""
        return self._hide(text).decode("utf-8", "surrogatepass")[:most]

    def _changed(self) -> None:
        self.change = self._hub.tell()

    @property
    def _attempt(self) -> Attempt:
        """The latest attempt; what is noted in one that there is not is forgotten."""
        return self._content.attempts[-1] if self._content.attempts else Attempt()

    def _happened(self, name: str) -> None:
        """Note when something happened in the latest attempt for the first time."""
        self._attempt.times.setdefault(name, time.perf_counter() - self._began)

    # What happens

    def requested(self, body: bytes) -> None:
        """The client has sent its request."""
        request = _object_of(body)
        self._facts["model"] = str(request.get("model", ""))[:_MOST_NAME]
        self._content.request = self._whole(request)
        self._changed()

    def opened(self, exchange: Exchange) -> None:
        """What the request asks for is known."""
        turn, settings, content = exchange.turn, exchange.settings, self._content
        self._exchange = exchange
        content.options = {"dialect": turn.dialect, "starts_in_reasoning": settings.starts_in_reasoning}
        content.options |= {"strict": settings.strict_calls, "also": settings.also}
        if turn.tools:
            self._add(content.tools, encoded([tool.model_dump() for tool in turn.tools]))
        self._add(content.warnings, "\n".join(exchange.warnings))
        said = turn.conversation.messages[-1:]
        words = " ".join(part for message in said for part in (message.text, *(each.text for each in message.results)))
        self._facts |= {
            "dialect": turn.dialect if turn.tools else "",
            "stream": exchange.streams,
            "plain": exchange.plain,
            "words": self._shortened(" ".join(words.split()), _MOST_WORDS),
        }
        self._changed()

    def asked(self, body: bytes | None) -> None:
        """The upstream is asked; None for a body that is passed on unread."""
        self._happened("ended")
        self._content.attempts.append(Attempt())
        self._room(_SMALL)
        self._happened("asked")
        self._attempt.prompt = self._whole(_object_of(body or b""))
        if self._exchange is not None:
            self._add(self._attempt.continued, self._exchange.continued)
        self.state = "waiting"
        self._changed()

    def answered(self, status: int) -> None:
        """The upstream has begun to answer."""
        self._attempt.status = status
        self._happened("answered")
        self._changed()

    def passed_on(self) -> None:
        """A piece of an answer came that is passed on as it is."""
        self.chunk({})

    def chunk(self, chunk: Mapping[str, Any]) -> None:
        """The upstream says something: a chunk of its stream, or a whole completion. What is neither says nothing."""
        self._happened("first")
        with suppress(AttributeError, TypeError):
            for choice in chunk.get("choices") or ():
                if 0 <= (index := choice.get("index", 0)) < _MOST_REPLIES:
                    reply, delta = self._attempt.replies[index], choice.get("delta") or choice.get("message") or {}
                    reply.finish = str(choice.get("finish_reason") or reply.finish)[:_MOST_NAME]
                    self._add(reply.text, text_of(delta))
                    self._add(reply.thoughts, reasoning_of(delta)[1] or details_of(delta))
        self.state = "writing"
        self._changed()

    def event(self, choice: int, event: Event) -> None:
        """The parser of one choice has said something."""
        attempt = self._attempt
        match event:
            case CallStarted():
                self._happened("first_call")
            case CallCompleted(call):
                attempt.counts.update(["made", *["repaired"] * bool(call.repairs)])
                self._codes.update(repair.code for repair in call.repairs)
                self._called(attempt.replies[choice], event, call.name)
            case CallFailed(error):
                attempt.counts["rejected"] += 1
                self._codes.add(error.code)
                self._last_error = f"{error.name or 'a call'}: {error.message}"
                self._called(attempt.replies[choice], event, error.name or "")
            case Noticed(notice):
                attempt.counts["unread"] += 1
                self._codes.add(notice.code)
            case _:
                return
        self._changed()

    def _called(self, reply: Reply, event: CallCompleted | CallFailed, name: str) -> None:
        """Note the name of a call, and keep one that the upstream told apart itself: it has no place in the text."""
        self._happened("first_call")
        if name and len(self._names) < _MOST_NAMES:
            self._names[name[:_MOST_NAME]] = None
        start, end = event.span
        size = len(repr(event)) if start == end else 0
        if size and self._room(size) == size:
            reply.calls.append(event)

    def fail(self, message: str, *, broke_off: bool = False) -> None:
        """Something went wrong, in the words that the client gets; `broke_off`: the upstream said no more."""
        self._facts["message"] = self._shortened(message, _MOST_MESSAGE)
        self._broke_off = broke_off
        self._changed()

    def sent(self, message: Mapping[str, Any]) -> None:
        """The client is sent a message of ASGI."""
        if message["type"] == "http.response.start":
            self._facts["status"] = message["status"]
        self._add(self._content.sent, message.get("body", b""))

    def end(self, outcome: str) -> None:
        """The exchange has ended, with an outcome as the log has it. A second end says nothing."""
        if self._ended is not None:
            return
        self._happened("ended")
        self._ended = time.perf_counter() - self._began
        self.state, message = self._final(outcome)
        self.fail(message)
        self._exchange, self._hidden = None, ()

    def _final(self, outcome: str) -> tuple[str, str]:
        """Return how the exchange ended, and what went wrong."""
        attempt, message = self._attempt, self._facts["message"] or getattr(self._exchange, "failure", "")
        reasons = (reply.finish for reply in attempt.replies.values())
        finish = next((reason for reason in reasons if our_reason(reason) in CUT_OFF), "")
        if outcome in ("upstream_error", "timeout"):
            return "cut" if self._broke_off and attempt.replies else "failed", message
        if outcome not in ("ok", "call_unread", "call_failed"):
            return outcome, message
        if finish:
            return "cut", message or f"the upstream ended the reply for the reason {finish!r}"
        if outcome == "call_failed" or (attempt.counts["rejected"] and not message):
            return "rejected", message or self._last_error
        return "failed" if message else "done", message

    # What is shown

    def summary(self) -> dict[str, Any]:
        """Return what a list of exchanges shows, as JSON values."""
        attempts = self._content.attempts
        totals = sum((each.counts for each in attempts), Counter[str]())
        return {
            **self._facts,
            "seconds": time.perf_counter() - self._began if self._ended is None else self._ended,
            "open": self._ended is None,
            "state": self.state,
            "attempts": len(attempts),
            "retries": max(0, sum(each.status < 400 for each in attempts) - 1),  # the others the upstream refused
            "codes": list(self._codes),
            "names": list(self._names),
            **totals,
        }

    def snapshot(self) -> tuple[dict[str, Any], Content]:
        """Return the summary, and a copy of all that is kept, as it is now."""
        return self.summary(), copy.deepcopy(self._content)


def _object_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object that a body is, without the fields that may hold credentials; an empty one for anything
    else, as nobody knows what that holds."""
    try:
        return without_credentials(parse_object(body))
    except Refusal:
        return {}
