"""Requests to the upstream, one at a time: few, small, and none that takes or gives too much.

They go over the wire as those of `serve` do, so that what works here works there.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xmltools import __version__
from xmltools.proxy.bridge import SSEDecoder, UpstreamError, error_message, is_error, read_chunk
from xmltools.proxy.bridge.added_fields import SPECIAL_TOKENS
from xmltools.proxy.bridge.client_errors import is_page
from xmltools.proxy.bridge.json_bodies import encoded, without_keys
from xmltools.proxy.bridge.upstream_stream import calls_of, details_of, is_silent, reasoning_of, text_of
from xmltools.proxy.doctor.report import Report, Way, short
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.listed_models import ListedModel
from xmltools.proxy.server.network import Connections, Request, UnreachableError, Why
from xmltools.proxy.server.upstream import UpstreamAnswer, as_sent

MOST_BYTES = 4 << 20
"""Of an answer. A stream of a thousand tokens has some 300 KB."""
OTHERWISE = {SPECIAL_TOKENS: "", "temperature": "", "max_tokens": "max_completion_tokens"}
"""Fields that a server may refuse, and what it gets in their place."""
KEY_STATUSES = (401, 403)
_NO_WORDS = error_message(b"")
_NO_KEY = "put the key into an environment variable, and name that with --upstream-key-env"
_WRONG_KEY = "the key in --upstream-key-env is not the right one, or may not do this"
_NONE = "the answer is no chat completion: no JSON, without choices, or without server-sent events in a stream"
_ADVICE: dict[Why | int | None, str] = {
    Why.REFUSED: "start the server, or check the port; in a container, localhost is the container itself",
    Why.NO_SUCH_HOST: "check the name of the host",
    Why.CERTIFICATE: "use a certificate of a usual authority, and the name that it is for: serve trusts no other; "
    "on a network of your own, http:// needs none",
    Why.TLS: "check whether the server speaks TLS at this port; if not, write http://",
    Why.TIMEOUT: "check the address and the firewalls on the way",
    3: "it leads elsewhere: give the address there, since redirects are not followed",
    404: "check the path of the address: it mostly ends in /v1, and has that once; or the name of the model",
    429: "the server allows no more requests now: wait, then try again",
    5: "see the log of the server",
    503: "the server may still be loading the model: try again when it is ready",
}
"""What to do where there is no connection, and about a status of HTTP, or all that begin with a digit."""


@dataclass(eq=False)
class NoAnswerError(Exception):
    """A request without a usable answer: what happened, and what to do about it. `status` is that of HTTP, 0 if there
    was none, and `answer` what the server said."""

    message: str
    advice: str = ""
    status: int = 0
    answer: bytes = b""

    @property
    def is_refusal(self) -> bool:
        """Whether the server understood the request, and did not want it."""
        return self.status in (400, 415, 422, 501)


class Got(NamedTuple):
    """An answer: all of it, and the events in it, each with its time in seconds since the request."""

    body: bytes
    events: list[tuple[float, str]]


@dataclass(slots=True)
class Reply:
    """A reply of the model: in `calls` the names in those that the upstream has told apart itself; its chunks, or the
    completion; whether it was said that this was all; how many tokens were used, if that was said; when something was
    said, in seconds after the request."""

    is_ended: bool
    text: str = ""
    reasoning: str = ""
    calls: list[str] = field(default_factory=list)
    finish: Any = None
    tokens: int = 0
    chunks: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def add(self, chunk: dict[str, Any], at: float) -> None:
        """Take a chunk, or a completion. Raises AttributeError, TypeError or ValueError if it is neither."""
        self.tokens = int((chunk.get("usage") or {}).get("completion_tokens") or self.tokens)
        for choice in chunk.get("choices") or ():
            said = choice.get("delta") or choice.get("message") or {}
            self.times += [at] * (not is_silent(said))
            self.text += text_of(said)
            self.reasoning += reasoning_of(said)[1] or details_of(said)
            names = (call["function"].get("name") for call in calls_of(said))
            self.calls += map(str, filter(None, names))
            self.finish = choice.get("finish_reason") or self.finish
            self.chunks.append(chunk)

    @property
    def characters(self) -> int:
        """How much was said."""
        return len(self.text) + len(self.reasoning)


@dataclass
class Case:
    """An upstream that is examined, and what the checks found out for those after them.

    `dialects` are those to try, by default those that are likely; `wanted` is the model to ask for, None for the first
    that is listed. `key_name` is the environment variable with the key, for the command that is suggested. `timeout`
    is for each request, in seconds; `max_tokens` the limit of each reply. `tell` hears what is being checked, and
    `clock` says what time it is.
    """

    config: ServeConfig
    dialects: list[str] = field(default_factory=list)
    wanted: str | None = None
    key_name: str | None = None
    timeout: float = 120.0
    max_tokens: int = 1024
    tell: Callable[[str], object] = str
    clock: Callable[[], float] = time.monotonic
    server: str = ""
    """What the server says that it is."""
    listed: list[ListedModel] = field(default_factory=list)
    listing: NoAnswerError | None = None
    """The models, or why there is no list of them."""
    is_locked: bool = False
    """Whether the server wants a key, or another one."""
    replies: dict[str, Reply] = field(default_factory=dict)
    """The plain ones, by the name of the check."""
    refused: dict[str, str] = field(default_factory=dict)
    """What is sent in place of fields that the server has refused."""
    ways: list[Way] = field(default_factory=list)
    """Those in which the upstream gets tools itself: it leaves calls in the text, or reads them."""
    starts_in_reasoning: bool = False

    def __post_init__(self) -> None:
        self.report = Report(self.config.base_url)
        self.base = as_sent(self.config.base_url)
        self.sender = Connections(self.config.base_url, self.config.connect_timeout)
        self.keys = [self.config.upstream_key.encode()] if self.config.upstream_key else []

    def question(self, words: str, **fields: Any) -> dict[str, Any]:
        """Return the body of a request that asks the model something."""
        asked = {"model": self.report.model, "messages": [{"role": "user", "content": words}]}
        return {**asked, "temperature": 0, "max_tokens": self.max_tokens, **fields}

    async def chat(self, body: dict[str, Any]) -> Reply:
        """Send a request for a chat completion, as a stream if it asks for one.

        What the server refuses of how tokens are chosen, and about special tokens, it is not sent again. Raises
        NoAnswerError without a reply.
        """
        sent = {other: value for name, value in body.items() if (other := self.refused.get(name, name))}
        try:
            got = await self.send(f"{self.base}/chat/completions", sent)
        except NoAnswerError as trouble:
            for name, other in OTHERWISE.items():
                if trouble.is_refusal and name in sent and (other or name) in str(trouble.answer):
                    self.refused[name] = other
                    return await self.chat(body)
            raise
        reply = Reply(not got.events)
        try:
            for at, data in got.events or [(0.0, got.body.decode())]:
                if data.startswith("[DONE]"):
                    reply.is_ended = True
                elif is_error(chunk := read_chunk(data)):
                    raise NoAnswerError(f"an error in the answer: {self._words(error_message(chunk))}")
                else:
                    reply.add(chunk, at)
            if not reply.chunks or (got.events and not body.get("stream")):
                raise ValueError
        except (AttributeError, TypeError, ValueError):
            raise NoAnswerError(_NONE) from None
        if body.get("stream") and not got.events:
            raise NoAnswerError(
                "the answer came in one piece, though a stream was asked for",
                "clients that stream get an error then: turn streaming on in the server, or in what is in front of it",
            )
        return reply

    async def said(self, path: str, content: dict[str, Any] | None = None) -> Any:
        """Return the JSON that the server has at a path beside OpenAI's API; None if there is none."""
        with suppress(NoAnswerError, ValueError, RecursionError):
            return json.loads((await self.send(self.base.removesuffix("/v1") + path, content)).body)

    async def send(self, url: str, content: dict[str, Any] | None = None) -> Got:
        """Ask for what is at a URL of the upstream, with a POST if there is `content`. Raises NoAnswerError if there is
        no answer, or it is an error."""
        self.report.requests += 1
        headers = [(b"user-agent", f"xmltools/{__version__}".encode()), (b"accept-encoding", b"identity")]
        headers += [(b"authorization", b"Bearer " + key) for key in self.keys]
        request = Request("GET", url, headers)
        if content is not None:
            request = Request("POST", url, [*headers, (b"content-type", b"application/json")], encoded(content))
        start = self.clock()
        read, events, decoder = bytearray(), [], SSEDecoder()
        try:
            async with asyncio.timeout(self.timeout), self.sender.open(request, decode=True) as response:
                answer = UpstreamAnswer(response, response.pieces)
                async with aclosing(answer.pieces):
                    async for piece in answer.pieces:
                        read += piece
                        events += [(self.clock() - start, data) for _, data in decoder.feed(piece)]
                        if len(read) > MOST_BYTES:
                            raise UpstreamError(f"the upstream's answer has more than {MOST_BYTES:,} bytes")
                        if events and events[-1][1].startswith("[DONE]"):
                            break
        except TimeoutError:
            raise NoAnswerError(
                f"no whole answer within {self.timeout:g} seconds",
                "give a slow server more time with --timeout; if it is not slow, it hangs",
            ) from None
        except UpstreamError as error:
            why = error.why if isinstance(error, UnreachableError) else None
            raise NoAnswerError(error.in_log, _ADVICE.get(why, "")) from None
        events += [(self.clock() - start, data) for _, data in decoder.close()]
        self.server, status, body = answer.header(b"server"), answer.status, bytes(read)
        if status >= 300:
            message = f"status {status}: {self._words(error_message(body))}".removesuffix(f": {_NO_WORDS}")
            advice = _ADVICE.get(status) or _ADVICE.get(status // 100, "")
            if status in KEY_STATUSES:
                advice = _WRONG_KEY if self.keys else _NO_KEY
            raise NoAnswerError(message, advice, status, body)
        if is_page(answer.content_type, body):
            page = "give the address of the API, which mostly ends in /v1; a page may also be that of a login"
            raise NoAnswerError("the answer is a web page, no JSON", page, status)
        return Got(body, events)

    def _words(self, text: str) -> str:
        """Return what the server says. Some repeat the key that they refuse."""
        return short(without_keys(text.encode(), self.keys).decode())
