"""One request and its answer, step by step, without I/O: a generator says what to ask the upstream, what to read from
it, and what to send the client. The server and the transports carry out its steps.

Nothing is sent before the upstream's answer has begun, so an error until then keeps its status. A later error is an
event in the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge.client_errors import (
    BROKEN_OFF,
    ELSEWHERE,
    IN_ONE_PIECE,
    NO_COMPLETION,
    NO_EVENTS,
    WEB_PAGE,
    Api,
    Refusal,
    UpstreamError,
    UpstreamStatusError,
    error_in_answer,
    error_message,
    is_error,
    is_page,
)
from xmltools.proxy.bridge.exchange import Exchange
from xmltools.proxy.bridge.json_bodies import encoded, parse_answer
from xmltools.proxy.bridge.upstream_request import Turn
from xmltools.proxy.bridge.upstream_stream import SSEDecoder, parts_of, read_chunk

EVENTS = "text/event-stream"
JSON = "application/json"
MAX_ERROR = 1024 * 1024
"""Bytes of an error of the upstream."""
_TOO_LARGE = 413
_BEGINNING = 64
"""Bytes that tell a web page from a stream."""


class Ask(NamedTuple):
    """The step that sends a request to the upstream: `body` goes to its chat completions, and `turn` is the same
    question as data. The outcome of the step is an `Answered`."""

    body: bytes = b""
    streams: bool = False
    turn: Turn | None = None


class Answered(NamedTuple):
    """The head of the upstream's answer: its status and headers. `is_bounded`: it has a content length."""

    status: int
    content_type: str
    encoding: str = ""
    is_bounded: bool = False


class Take(Enum):
    """The step that reads the next bytes of the request or, after an `Ask`, of the answer. The outcome is None at the
    end."""

    TAKE = "take"


class Head(NamedTuple):
    """The head of the response for the client. Bytes follow, `length` of them if that is known."""

    status: int
    content_type: str
    length: int | None = None


Step = Ask | Take
Given = Head | bytes
Steps = Generator[Step | Given, Any, None]
"""Steps to carry out, and what to send the client. Empty bytes only give the caller time for something else."""
Reading = Generator[Step | Given, Any, bytes]


def read_whole(what: str, most: int, status: int = 502) -> Reading:
    """Read the request or the answer to its end. Raises Refusal for more than `most` bytes."""
    parts: list[bytes] = []
    size = 0
    while (data := (yield Take.TAKE)) is not None:
        size += len(data)
        if size > most:
            code = "too_large" if status == _TOO_LARGE else "upstream_error"
            raise Refusal(f"{what} has more than {most:,} bytes", status=status, code=code)
        parts.append(data)
    return b"".join(parts)


def say(status: int, body: Mapping[str, Any]) -> Steps:
    """Give the client a JSON object."""
    content = encoded(body)
    yield Head(status, JSON, len(content))
    yield content


class Relay:
    """The steps for one answer of the upstream: `get` is for an answer in JSON, `Translation` for an exchange.

    An answer that does not stream may have `most` bytes. `request_id` goes into Anthropic's errors. `follows`: the
    client may follow a redirect itself.

    `begun`: the client has received something, perhaps only a keep-alive. `is_cut`: its response must be left without
    an end, since an error has no place in it. `failure` says why it got no whole answer. `all_said`: the upstream said
    that its answer was complete.
    """

    raw = False
    """Whether the client gets the upstream's answer unchanged, with its headers."""
    keepalive = b""
    """What to send, while the upstream is silent, to a client that wants a stream."""
    awaits_usage = False
    """Whether only the usage is still missing: from now on nothing can fail."""
    pending = 0
    """Characters that may have to be read again with what comes next."""

    def __init__(
        self,
        api: Api,
        *,
        most: int,
        request_id: str | None = None,
        follows: bool = False,
    ) -> None:
        self._api = api
        self._most = most
        self._request_id = request_id
        self._follows = follows
        self.begun = self.is_cut = False
        self.failure: Refusal | None = None
        self.all_said = False

    def get(self, convert: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Steps:
        """Ask once, without a body, and send the client the converted answer."""
        return self._guarded(self._got(convert))

    def _got(self, convert: Callable[[dict[str, Any]], Mapping[str, Any]]) -> Steps:
        answered = yield from self._asked(Ask())
        said = yield from self._object(answered)
        if is_error(said):
            raise error_in_answer(said)
        yield from say(200, convert(said))

    def _guarded(self, steps: Steps) -> Steps:
        try:
            yield from steps
        except XMLToolsError as error:
            yield from self.fail(error if isinstance(error, Refusal) else UpstreamError(str(error)))

    def fail(self, failure: Refusal) -> Steps:
        """Send the client an error: the upstream's own, if the client's API has the same form."""
        self.failure = failure
        if isinstance(failure, UpstreamStatusError) and self._api != "messages":
            yield Head(failure.status, failure.content_type, len(failure.said))
            yield failure.said
        else:
            yield from say(failure.status, failure.body(self._api, self._request_id))

    def cut_short(self, failure: Refusal) -> Steps:
        """End the answer, whatever step it was at."""
        return self.fail(failure)

    def _asked(self, ask: Ask) -> Generator[Step | Given, Any, Answered]:
        """Ask. Raises UpstreamError for a redirect, and UpstreamStatusError for an error."""
        answered: Answered = yield ask
        if 200 <= answered.status < 300:
            return answered
        if answered.status < 400 and not (self._follows and self._api == "chat"):
            raise UpstreamError(ELSEWHERE)
        said = yield from read_whole("the upstream's answer", min(self._most, MAX_ERROR))
        raise UpstreamStatusError(answered.status, answered.content_type, said)

    def _object(self, answered: Answered) -> Generator[Step | Given, Any, dict[str, Any]]:
        body = yield from read_whole("the upstream's answer", self._most)
        if is_page(answered.content_type, body):
            raise UpstreamError(WEB_PAGE)
        return parse_answer(body)


class Translation(Relay):
    """The relay of an exchange. `on_chunk` is called with each chunk of the upstream."""

    def __init__(self, api: Api, exchange: Exchange, on_chunk: Callable[[Any], None] | None = None, **options: Any):
        super().__init__(api, **options)
        self.exchange = exchange
        self._on_chunk = on_chunk
        self._decoder = SSEDecoder()
        self.keepalive = exchange.keepalive if exchange.streams else b""

    @property
    def awaits_usage(self) -> bool:  # type: ignore[override]
        """As `Exchange.awaits_usage`."""
        return self.exchange.awaits_usage

    @property
    def pending(self) -> int:  # type: ignore[override]
        """As `Exchange.pending`, with the event that is not complete."""
        return self._decoder.held + self.exchange.pending

    def steps(self) -> Steps:
        """Return the steps, from the first request to the upstream to the last byte for the client."""
        return self._guarded(self._streamed() if self.exchange.streams else self._answered())

    def fail(self, failure: Refusal) -> Steps:
        """Send the client an error: as an event, if its stream has begun."""
        if self.begun:
            self.failure = failure
            yield self.exchange.fail(str(failure), status=failure.status)
        else:
            yield from super().fail(failure)

    def cut_short(self, failure: Refusal) -> Steps:
        """End the answer, whatever step it was at."""
        if self.exchange.awaits_usage:  # all but that has been said
            yield from self._give(self.exchange.end())
            if not self.exchange.next_turn():
                return
        yield from self.fail(failure)

    def _ask(self) -> Generator[Step | Given, Any, Answered]:
        exchange = self.exchange
        while True:
            try:
                answered = yield from self._asked(Ask(encoded(exchange.request), exchange.streams, exchange.turn))
            except UpstreamStatusError as error:
                if not exchange.mend(error.status, error.said):
                    raise
            else:
                exchange.accepted()
                return answered

    def _answered(self) -> Steps:
        answer = None
        while answer is None:
            answered = yield from self._ask()
            completion = yield from self._object(answered)
            if "choices" not in completion:
                raise _no_completion(completion)
            *parts, last = self._parts(completion)
            for part in parts:
                if self.exchange.done or self.exchange.awaits_usage:
                    break
                self.exchange.feed(part)
                yield b""
            answer = self.exchange.answer(last)
        yield from say(200, answer)

    def _streamed(self) -> Steps:
        again = True
        while again:
            answered = yield from self._ask()
            if answered.content_type.startswith(JSON):
                said = yield from self._object(answered)
                raise UpstreamError(IN_ONE_PIECE) if "choices" in said else _no_completion(said)
            try:
                yield from self._heard(answered)
            except XMLToolsError:
                if not self.exchange.awaits_usage:
                    raise
            yield from self._give(self.exchange.end(is_whole=self.all_said))
            again = self.exchange.next_turn()

    def _heard(self, answered: Answered) -> Steps:
        """Translate one stream of the upstream."""
        exchange = self.exchange
        decoder = self._decoder = SSEDecoder()
        begins, data = b"", b""
        has_events = self.all_said = False
        while not (data is None or self.all_said or exchange.done):
            data = yield Take.TAKE
            if data and len(begins) < _BEGINNING:
                begins += data
            for _, text in decoder.close() if data is None else decoder.feed(data):
                has_events = True
                self.all_said = text.startswith("[DONE]")
                if self.all_said:
                    break
                if exchange.done:  # what follows is not wanted, in whatever piece it came
                    continue
                for part in self._parts(read_chunk(text)):
                    yield from self._give(exchange.feed(part))
        is_over = exchange.stats.finish_reasons or exchange.done or exchange.awaits_usage
        if not (is_over or (self.all_said and exchange.begun)):
            is_none = WEB_PAGE if is_page(answered.content_type, begins) else NO_EVENTS
            raise UpstreamError(is_none if begins and not has_events else BROKEN_OFF)

    def _parts(self, said: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if self._on_chunk is not None:
            self._on_chunk(said)
        return parts_of(said)

    def _give(self, data: bytes) -> Steps:
        if data and not self.begun:
            self.begun = True
            yield Head(200, f"{EVENTS}; charset=utf-8")
        yield data


def _no_completion(said: dict[str, Any]) -> Refusal:
    """Return what is wrong with a JSON object in place of a completion, in the upstream's words if it has any."""
    is_told = is_error(said) or error_message(said) != error_message({})
    return error_in_answer(said) if is_told else UpstreamError(NO_COMPLETION)
