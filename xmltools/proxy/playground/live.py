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
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.models.events import CallCompleted, CallFailed, CallStarted, Event, Noticed
from xmltools.models.finish_reasons import CUT_OFF, our_reason
from xmltools.proxy.bridge import Exchange, Refusal
from xmltools.proxy.bridge.json_bodies import encoded, parse_object, without_credentials, without_keys
from xmltools.proxy.bridge.upstream_stream import calls_of, details_of, reasoning_of, text_of
from xmltools.proxy.playground.parts import gather_parts, write_part

LONGEST_TEXT = 512 * 1024
"""Bytes that are kept of one text: a request, a prompt, a reply, what the client was sent."""
LONGEST_EXCHANGE = 4 * 1024 * 1024
"""Bytes that are kept of one exchange."""
COUNTS = ("made", "repaired", "rejected", "unread")
"""What is counted of the calls of an attempt."""
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

    def begin(
        self, id: str, api: str, body: bytes = b"", *, route: str = "", hidden: Collection[bytes] = ()
    ) -> LiveExchange:
        """An exchange begins: the id of its request, the client's API, and the body that it sent.

        `hidden` are keys, which are kept in no text.
        """
        self._begun += 1
        exchange = LiveExchange(self, {"number": self._begun, "id": id, "api": api, "route": route}, hidden)
        self._exchanges[self._begun] = exchange
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
        """Yield server-sent events for one page, beginning with all exchanges that are kept, until `close`.

        Raises XMLToolsError if too many pages listen already.
        """
        if self.full:
            raise XMLToolsError(f"the live view has {self.readers} readers, and takes no more: close another page")
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
    """What the upstream says in one choice: its text, and what it tells apart itself, thoughts and calls (each
    as JSON in a line)."""

    def __init__(self) -> None:
        self.text, self.thoughts, self.calls = Text(), Text(), Text()
        self.has_calls = False
        self.finish = ""


class Attempt:
    """One question to the upstream, and its answer. `told`: what the model was told of its reply before; `continued`:
    the beginning of a block that this one continues. `times` are seconds since the exchange began, by what happened:
    "asked", "answered", "first" (byte), "first_call", "ended"."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self.prompt, self.told, self.continued = Text(), Text(), Text()
        self.status = 0
        self.counts: Counter[str] = Counter()
        self.replies: dict[int, Reply] = {}

    def reply(self, choice: int) -> Reply:
        """Return the reply of a choice."""
        return self.replies.setdefault(choice, Reply())


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
        self._dropped = self._broke_off = False
        self._exchange: Exchange | None = None  # while it is open
        self._content = Content()
        self._codes: Counter[str] = Counter()
        self._names: dict[str, None] = {}
        self._last_error = ""
        self._ended: float | None = None
        self._room(_SMALL)

    # Memory

    def drop(self) -> int:
        """Keep nothing any more, as the hub has no room; return how many bytes it was."""
        held, self._held = self._held, 0
        self._dropped = True
        self._content = Content()
        return held

    def _room(self, wanted: int) -> int:
        """Return for how many bytes there is room."""
        if self._dropped:
            return 0
        got = max(0, min(wanted, LONGEST_EXCHANGE - self._held))
        self._held += got
        self._hub.grow(got)
        return 0 if self._dropped else got

    def _add(self, text: Text, more: str | bytes) -> None:
        """Keep more of a text, as far as there is room; once something was lost, the rest is too."""
        if isinstance(more, str):
            more = more.encode("utf-8", "surrogatepass")
        got = self._room(min(len(more), LONGEST_TEXT - len(text.head))) if more and not text.lost else 0
        text.head += more[:got]
        text.lost += len(more) - got

    def _whole(self, request: dict[str, Any]) -> Text:
        """Keep a whole request; a long one without its middle, as agents say what is new at the end."""
        body = self._written(request)
        got = self._room(min(len(body), LONGEST_TEXT))
        if got == len(body):
            return Text(bytearray(body))
        return Text(bytearray(body[: got // 2]), body[len(body) - got // 2 :], len(body) - got // 2 * 2)

    def _written(self, value: Any) -> bytes:
        """Return a JSON value as bytes without keys; nothing for one that is empty or nested too deeply."""
        try:
            return without_keys(encoded(value), self._hidden) if value else b""
        except RecursionError:
            return b""

    def _safe(self, text: str) -> str:
        """Return a text without keys."""
        return without_keys(text.encode("utf-8", "surrogatepass"), self._hidden).decode("utf-8", "surrogatepass")

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
        model = request.get("model")
        self._facts["model"] = model[:_MOST_NAME] if isinstance(model, str) else ""
        self._content.request = self._whole(request)
        self._changed()

    def opened(self, exchange: Exchange) -> None:
        """What the request asks for is known."""
        turn, settings, content = exchange.turn, exchange.settings, self._content
        self._exchange = exchange
        content.options = {"dialect": turn.dialect, "starts_in_reasoning": settings.starts_in_reasoning}
        content.options |= {"strict": settings.strict_calls, "also": settings.also}
        if not exchange.plain:
            self._add(content.tools, self._written([tool.model_dump() for tool in turn.tools]))
        self._add(content.warnings, self._safe("\n".join(exchange.warnings)))
        said = (
            message.text.strip() or " ".join(result.text for result in message.results)
            for message in reversed(turn.conversation.messages)
        )
        words = " ".join(self._safe(next(filter(None, said), "")).split())
        self._facts |= {
            "model": exchange.stats.model[:_MOST_NAME],
            "dialect": turn.dialect if turn.tools else "",
            "stream": exchange.streams,
            "plain": exchange.plain,
            "words": words if len(words) <= _MOST_WORDS else f"{words[:_MOST_WORDS]}…",
        }
        self._changed()

    def asked(self, body: bytes | None) -> None:
        """The upstream is asked; None for a body that is passed on unread."""
        before = self._attempt
        self._happened("ended")
        attempt = Attempt()
        self._room(_SMALL)
        is_first = not self._content.attempts
        self._content.attempts.append(attempt)
        self._happened("asked")
        attempt.prompt = self._whole(_object_of(body or b""))
        # A reply was sent back, or the upstream refused a request that is now asked in another form.
        if self._exchange is not None and not is_first and before.status < 400:
            self._add(attempt.told, str(self._exchange.request["messages"][-1].get("content")))
            self._add(attempt.continued, self._exchange.continued)
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
        """The upstream says something: a chunk of its stream, or a whole completion."""
        self._happened("first")
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            index = choice.get("index", 0) if isinstance(choice, dict) else None
            if isinstance(index, int) and 0 <= index < _MOST_REPLIES:
                self._take(self._attempt.reply(index), choice)
        self.state = "writing"
        self._changed()

    def _take(self, reply: Reply, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._add(reply.text, text_of(delta))
            self._add(reply.thoughts, reasoning_of(delta)[1] or details_of(delta))
            reply.has_calls = reply.has_calls or bool(calls_of(delta))
        if isinstance(finish := choice.get("finish_reason"), str) and finish:
            reply.finish = finish[:_MOST_NAME]

    def event(self, choice: int, event: Event) -> None:
        """The parser of one choice has said something."""
        attempt = self._attempt
        match event:
            case CallStarted():
                self._happened("first_call")
            case CallCompleted(call):
                attempt.counts["made"] += 1
                attempt.counts["repaired"] += bool(call.repairs)
                self._codes.update(repair.code.value for repair in call.repairs)
                self._called(choice, event, call.name)
            case CallFailed(error):
                attempt.counts["rejected"] += 1
                self._codes[error.code.value] += 1
                self._last_error = f"{error.name or 'a call'}: {error.message}"
                self._called(choice, event, error.name)
            case Noticed(notice):
                attempt.counts["unread"] += 1
                self._codes[notice.code.value] += 1
            case _:
                return
        self._changed()

    def _called(self, choice: int, event: CallCompleted | CallFailed, name: str | None) -> None:
        """Note the name of a call, and keep one that the upstream told apart itself: it has no place in the text."""
        self._happened("first_call")
        if name and len(self._names) < _MOST_NAMES:
            self._names[name[:_MOST_NAME]] = None
        reply = self._attempt.reply(choice)
        start, end = event.span
        if self._exchange is not None and reply.has_calls and start == end:
            turn = self._exchange.turn
            for part in gather_parts([event]):
                self._add(reply.calls, encoded(write_part(part, list(turn.tools), turn.dialect)) + b"\n")

    def fail(self, message: str, *, broke_off: bool = False) -> None:
        """Something went wrong, in the words that the client gets; `broke_off`: the upstream said no more."""
        self._facts["message"] = self._safe(message)[:_MOST_MESSAGE]
        self._broke_off = broke_off
        self._changed()

    def sent(self, message: Mapping[str, Any]) -> None:
        """The client is sent a message of ASGI."""
        if message["type"] == "http.response.start":
            self._facts["status"] = message["status"]
        elif body := message.get("body"):
            self._add(self._content.sent, without_keys(body, self._hidden))

    def end(self, outcome: str) -> None:
        """The exchange has ended, with an outcome as the log has it. A second end says nothing."""
        if self._ended is not None:
            return
        self._happened("ended")
        self._ended = time.perf_counter() - self._began
        if self._exchange is not None and not self._facts["message"]:
            self.fail(self._exchange.failure)
        self._exchange = None
        reasons = (reply.finish for reply in self._attempt.replies.values())
        finish = next((reason for reason in reasons if our_reason(reason) in CUT_OFF), "")
        self.state = self._final(outcome, finish)
        if not self._facts["message"] and self.state in ("rejected", "cut"):
            is_cut = self.state == "cut"
            self.fail(f"the upstream ended the reply for the reason {finish!r}" if is_cut else self._last_error)
        self._hidden = ()
        self._changed()

    def _final(self, outcome: str, finish: str) -> str:
        attempt = self._attempt
        if outcome in ("upstream_error", "timeout"):
            return "cut" if self._broke_off and attempt.replies else "failed"
        if outcome not in ("ok", "call_unread", "call_failed"):
            return outcome
        if finish:
            return "cut"
        if outcome == "call_failed" or (attempt.counts["rejected"] and not self._facts["message"]):
            return "rejected"
        return "failed" if self._facts["message"] else "done"

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
            "codes": dict(self._codes),
            "names": list(self._names),
            **{name: totals[name] for name in COUNTS},
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
