"""Requests to the upstream, one at a time: few, small, and none that takes or gives too much.

They go over the wire as those of `serve` do, so that what works here works there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xmltools import __version__
from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import AddedFields, Refusal, SSEDecoder, UpstreamError, error_message, is_error, read_chunk
from xmltools.proxy.bridge.client_errors import UpstreamStatusError, is_page
from xmltools.proxy.bridge.json_bodies import encoded, parse_answer, without_keys
from xmltools.proxy.bridge.upstream_stream import calls_of, details_of, is_silent, reasoning_of, text_of
from xmltools.proxy.doctor.report import short
from xmltools.proxy.server.config import ServeConfig
from xmltools.proxy.server.network import Headers, Request, Sender, UnreachableError, Why
from xmltools.proxy.server.upstream import UpstreamAnswer, as_sent

Clock = Callable[[], float]
_Read = TypeVar("_Read")

_MOST_BYTES = 4 << 20
"""Of an answer. A stream of a thousand tokens has some 300 KB."""
_KEY_STATUSES = (401, 403)
_ADVICE = {
    Why.REFUSED: "start the server, or check the port; in a container, localhost is the container itself",
    Why.NO_SUCH_HOST: "check the name of the host",
    Why.CERTIFICATE: "use a certificate of a usual authority, and the name that it is for: serve trusts no other; "
    "on a network of your own, http:// needs none",
    Why.TLS: "check whether the server speaks TLS at this port; if not, write http://",
    Why.TIMEOUT: "check the address and the firewalls on the way",
}
_NO_WORDS = error_message(b"")
_LOADING = "the server may still be loading the model: try again when it is ready"


class NoAnswerError(Exception):
    """A request without a usable answer: what happened, and what to do about it. `status` is that of HTTP, if it was an
    error of the server, and `answer` all that it said."""

    def __init__(self, message: str, advice: str = "", status: int = 0, answer: bytes = b"") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.status = status
        self.answer = answer

    @property
    def is_about_key(self) -> bool:
        """Whether the server wants a key, or another one."""
        return self.status in _KEY_STATUSES

    @property
    def is_refusal(self) -> bool:
        """Whether the server understood the request, and did not want it."""
        return self.status in (400, 415, 422, 501)


@dataclass(slots=True)
class Got:
    """An answer to a question about the server."""

    status: int
    content_type: str
    server: str
    """What the server says that it is."""
    body: bytes
    seconds: float

    @property
    def is_page(self) -> bool:
        """Whether it is for people who look at it in a browser."""
        return is_page(self.content_type, self.body)


@dataclass(slots=True)
class Reply:
    """A reply of the model. Times are in seconds after the request."""

    text: str = ""
    reasoning: str = ""
    calls: list[str] = field(default_factory=list)
    """Names in calls that the upstream has told apart itself."""
    finish: str | None = None
    usage: dict[str, Any] | None = None
    chunks: list[dict[str, Any]] = field(default_factory=list)
    """The chunks of a stream, or the completion."""
    is_stream: bool = False
    is_ended: bool = False
    """Whether a stream said that this was all."""
    pieces: int = 0
    """Chunks that said something."""
    first: float = 0.0
    last: float = 0.0
    """When the first and the last of these came."""

    def add(self, chunk: dict[str, Any], at: float) -> None:
        """Take a chunk, or a completion."""
        self.chunks.append(chunk)
        if isinstance(usage := chunk.get("usage"), dict):
            self.usage = usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                continue
            said = choice.get("delta") or choice.get("message")
            if isinstance(said, dict):
                self._say(said, at)
            if isinstance(reason := choice.get("finish_reason"), str) and reason:
                self.finish = reason

    def _say(self, said: Mapping[str, Any], at: float) -> None:
        text, thoughts = text_of(said), reasoning_of(said)[1] or details_of(said)
        calls = calls_of(said)
        if text or thoughts or not is_silent(said):
            self.first = self.first if self.pieces else at
            self.last = at
            self.pieces += 1
        self.text += text
        self.reasoning += thoughts
        self.calls += [name for call in calls if isinstance(name := call["function"].get("name"), str) and name]

    @property
    def characters(self) -> int:
        """How much was said."""
        return len(self.text) + len(self.reasoning)


class Asking:
    """Asks the upstream of a configuration, with its key.

    `timeout` is for a whole request, in seconds; `most` is how many requests are sent at all, and `max_tokens` the
    limit of replies. `clock` says what time it is.
    """

    def __init__(
        self,
        config: ServeConfig,
        sender: Sender,
        *,
        timeout: float,
        most: int,
        max_tokens: int,
        clock: Clock = time.monotonic,
    ) -> None:
        self.base = as_sent(config.base_url)
        self._key = config.upstream_key
        self._sender = sender
        self._timeout = timeout
        self._most = most
        self._clock = clock
        self._max_tokens = max_tokens
        self._limit = "max_tokens"
        self._temperature = {"temperature": 0}
        self._added = AddedFields()
        self.requests = 0
        self.model = ""

    @property
    def has_key(self) -> bool:
        """Whether requests have a key."""
        return self._key is not None

    @property
    def leaves_out_special_tokens(self) -> bool:
        """Whether the server has refused to be asked for them: then it is not asked again, as by `serve`."""
        return self._added.leaves_out(self.base)

    @property
    def adapted(self) -> list[str]:
        """What the server refused of how tokens are chosen, in words."""
        own_limit = ["wants max_completion_tokens in place of max_tokens"] if self._limit != "max_tokens" else []
        return own_limit + ["takes no temperature"] * (not self._temperature)

    def sampling(self, max_tokens: int | None = None) -> dict[str, Any]:
        """Return the fields of a request that say how tokens are chosen, and how many."""
        return {**self._temperature, self._limit: max_tokens or self._max_tokens}

    def question(self, words: str, *, max_tokens: int | None = None, **fields: Any) -> dict[str, Any]:
        """Return the body of a request that asks the model something."""
        messages = [{"role": "user", "content": words}]
        return {"model": self.model, "messages": messages, **self.sampling(max_tokens), **fields}

    async def get(self, url: str, content: dict[str, Any] | None = None) -> Got:
        """Ask for what is at a URL of the upstream, with a POST if there is `content`. Raises NoAnswerError if there is
        no answer."""
        start = self._clock()

        async def read(answer: UpstreamAnswer) -> Got:
            body = await answer.read(_MOST_BYTES)
            server = answer.header(b"server")
            return Got(answer.status, answer.content_type, server, body, self._clock() - start)

        if content is None:
            return await self._send(Request("GET", url, self._headers()), read)
        headers = [(b"content-type", b"application/json"), *self._headers()]
        return await self._send(Request("POST", url, headers, encoded(content)), read)

    async def chat(self, body: dict[str, Any]) -> Reply:
        """Send a request for a chat completion, as a stream if it asks for one.

        What the server refuses of how tokens are chosen, and about special tokens, it is not sent again. Raises
        NoAnswerError without a reply.
        """
        content = self._added.for_upstream(self.base, encoded(body))
        try:
            return await self._chat(content, is_stream=bool(body.get("stream")))
        except NoAnswerError as trouble:
            if self._added.is_refused(self.base, content, trouble.status, trouble.answer):
                return await self.chat(body)
            if not self._adapt(trouble, body):
                raise
        given = {name: value for name, value in body.items() if name not in ("temperature", "max_tokens")}
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        return await self.chat({**given, **self.sampling(limit)})

    def _adapt(self, trouble: NoAnswerError, body: dict[str, Any]) -> bool:
        """Learn from a refusal what the server does not take. Returns whether there was something new."""
        if not trouble.is_refusal:
            return False
        if "max_tokens" in body and "max_completion_tokens" in trouble.message:
            self._limit = "max_completion_tokens"
            return True
        if "temperature" in body and "temperature" in trouble.message:
            self._temperature = {}
            return True
        return False

    async def _chat(self, content: bytes, *, is_stream: bool) -> Reply:
        headers = [(b"content-type", b"application/json"), *self._headers()]
        request = Request("POST", f"{self.base}/chat/completions", headers, content)
        start = self._clock()
        reply = Reply(is_stream=is_stream)

        async def read(answer: UpstreamAnswer) -> Reply:
            await answer.check()
            if reply.is_stream:
                await self._read_stream(answer, reply, start)
            else:
                self._read_whole(await answer.read(_MOST_BYTES), answer, reply, start)
            return reply

        return await self._send(request, read)

    def _read_whole(self, body: bytes, answer: UpstreamAnswer, reply: Reply, start: float) -> None:
        if is_page(answer.content_type, body):
            raise NoAnswerError(PAGE, PAGE_ADVICE)
        completion = parse_answer(body)
        self._check(completion)
        if not isinstance(completion.get("choices"), list) or not completion["choices"]:
            raise NoAnswerError("the answer is no chat completion: it has no choices")
        reply.add(completion, self._clock() - start)

    async def _read_stream(self, answer: UpstreamAnswer, reply: Reply, start: float) -> None:
        if answer.content_type.startswith("application/json"):
            self._check(parse_answer(await answer.read(_MOST_BYTES)))
            raise NoAnswerError(
                "the answer came in one piece, though a stream was asked for",
                "clients that stream get an error then: turn streaming on in the server, or in what is in front of it",
            )
        decoder = SSEDecoder()
        size = 0
        async with aclosing(answer.pieces) as pieces:
            async for piece in pieces:
                size += len(piece)
                if size > _MOST_BYTES:
                    raise UpstreamError(f"the upstream's answer has more than {_MOST_BYTES:,} bytes")
                if self._take(decoder.feed(piece), reply, start):
                    return
        self._take(decoder.close(), reply, start)
        if not reply.chunks:
            is_page = answer.content_type.startswith("text/html")
            raise NoAnswerError(PAGE, PAGE_ADVICE) if is_page else NoAnswerError("the answer has no server-sent events")

    def _take(self, events: list[tuple[str, str]], reply: Reply, start: float) -> bool:
        """Take events of a stream. Returns whether one says that this was all."""
        for _, data in events:
            if data.startswith("[DONE]"):
                reply.is_ended = True
                return True
            chunk = read_chunk(data)
            self._check(chunk)
            reply.add(chunk, self._clock() - start)
        return False

    def _check(self, said: dict[str, Any]) -> None:
        if is_error(said):
            raise NoAnswerError(f"an error in the answer: {self._words(error_message(said))}")

    async def _send(self, request: Request, read: Callable[[UpstreamAnswer], Awaitable[_Read]]) -> _Read:
        if self.requests >= self._most:
            raise NoAnswerError(f"not asked: {self._most} requests are enough")
        self.requests += 1
        try:
            async with asyncio.timeout(self._timeout), self._sender.open(request, decode=True) as response:
                return await read(UpstreamAnswer(response, response.pieces))
        except TimeoutError:
            raise NoAnswerError(
                f"no whole answer within {self._timeout:g} seconds",
                "give a slow server more time with --timeout; if it is not slow, it hangs",
            ) from None
        except UpstreamStatusError as error:
            raise self._refused(error) from None
        except UpstreamError as error:
            why = error.why if isinstance(error, UnreachableError) else None
            raise NoAnswerError(error.in_log, _ADVICE.get(why, "") if why is not None else "") from None
        except (Refusal, XMLToolsError) as error:
            raise NoAnswerError(short(str(error))) from None

    def _refused(self, error: UpstreamStatusError) -> NoAnswerError:
        said = error_message(error.said)
        words = f": {self._words(said)}" if said != _NO_WORDS else ""
        return status_trouble(error.status, words, has_key=self.has_key, answer=error.said)

    def _words(self, text: str) -> str:
        """Return what the server says. Some repeat the key that they refuse."""
        return short(without_keys(text.encode(), [self._key.encode()]).decode() if self._key else text)

    def _headers(self) -> Headers:
        key = [(b"authorization", b"Bearer " + self._key.encode())] if self._key is not None else []
        agent = f"xmltools/{__version__}".encode()
        return [(b"user-agent", agent), (b"accept-encoding", b"identity"), *key]


PAGE = "the answer is a web page, no JSON"
PAGE_ADVICE = "give the address of the API, which mostly ends in /v1; a page may also be that of a login"


def status_trouble(status: int, said: str = "", *, has_key: bool, answer: bytes = b"") -> NoAnswerError:
    """Return what is wrong where the server answers with an error; `said` are its own words in `answer`."""
    advice = ""
    if status in _KEY_STATUSES:
        wrong = "the key in --upstream-key-env is not the right one, or may not do this"
        advice = wrong if has_key else "put the key into an environment variable, and name that with --upstream-key-env"
    elif status == 404:
        advice = "check the path of the address: it mostly ends in /v1, and has that once; or the name of the model"
    elif status == 429:
        advice = "the server allows no more requests now: wait, then try again"
    elif status == 503:
        advice = _LOADING
    elif status >= 500:
        advice = "see the log of the server"
    return NoAnswerError(f"status {status}{said}", advice, status, answer)
