"""What the integrations share: one request with tools, and what becomes of what a model says that only writes text."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from inspect import isawaitable
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError
from xmltools.models import Message
from xmltools.proxy.bridge import (
    AddedFields,
    Exchange,
    Refusal,
    Settings,
    SSEDecoder,
    read_request,
)
from xmltools.proxy.bridge.settings import checked


class Piece(NamedTuple):
    """A part of the reply, for whoever asked: text, reasoning, and calls in the form of chat completions. In a stream a
    call is one piece, unless the settings say that its arguments are live. `finish_reason` is that of the whole reply,
    and is in the last piece.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[Mapping[str, Any]] = ()
    finish_reason: str | None = None


@contextmanager
def errors_as(make: Callable[[XMLToolsError], Exception]) -> Iterator[None]:
    """Raise what is wrong as the library has it."""
    try:
        yield
    except XMLToolsError as error:
        raise make(error) from error


def check_settings(settings: Settings | None) -> Settings:
    """Return the settings, or the default ones. Raises XMLToolsError for those that only a server can do something
    with."""
    settings = Settings() if settings is None else checked(settings)
    for name, why in _FOR_SERVERS.items():
        if getattr(settings, name) != getattr(Settings(), name):
            raise XMLToolsError(
                f"settings: {name}={getattr(settings, name)!r:.40} is for a server; {why}. "
                "Leave it out, or use xmltools serve or the transport"
            )
    return settings


_FOR_SERVERS = {
    "prompt": "a model object gets no tools that its chat template could write",
    "engine": "a model object gets no grammar",
    "result_role": "other libraries take messages of a tool only as the results of calls, with their ids",
}


class ToolRequest:
    """A request, and what becomes of what the model says. Each integration says in a class of its own what it is asked
    with (`turn`), and how to read what it says (`read`).

    Takes the request as the body of chat completions, and the settings; `failed_results` are the ids of calls whose
    results are errors, which that form does not say. If nothing in it is about tools, it is `plain`: the model is to be
    asked as it is, and what it says is passed on. `added` is what is known of the model object. Raises XMLToolsError
    for what can't be honoured; a tool that only some provider runs is such a thing, since nobody would run it here.
    """

    reason: str | None = None
    """Why the model's reply ended, where that is known."""
    usage: Mapping[str, Any] | None = None
    """The tokens of this turn, where the library counts them in the form of chat completions."""

    def __init__(
        self,
        body: Mapping[str, Any],
        settings: Settings,
        failed_results: Collection[str] = (),
        added: AddedFields | None = None,
    ) -> None:
        self.streams = body.get("stream", False)
        self.plain = not is_about_tools(body)
        self._over = False
        self._sent = b""
        self._ending: str | None = None
        if self.plain:
            return
        incoming = read_request("chat", {"model": "none", **body}, strict=True)
        marked = [_with_error(message, failed_results) for message in incoming.conversation]
        incoming.conversation = incoming.conversation.with_messages(marked)
        incoming.include_usage = True  # the end of a reply is waited for, where the usage is
        if incoming.choices > 1:
            raise Refusal("n: with tools there is one reply at a time; leave it out, and ask as often", param="n")
        self.exchange = Exchange("chat", incoming, settings, added=added)

    # What each integration says of its library

    def turn(self) -> dict[str, Any]:
        """Begin a turn; return what the model is asked with."""
        return self.asked

    def read(self, said: Any) -> Mapping[str, Any]:
        """Return what the model says, a part of a reply or all of it, as a delta of chat completions."""
        delta: Mapping[str, Any] = said
        return delta

    def parts(self, piece: Piece) -> Iterable[Any]:
        """Return what is ours of a stream."""
        return (piece,)

    def whole(self, piece: Piece) -> Any:
        """Return what is ours of a whole reply."""
        return piece

    def passed(self, said: Any) -> Any:
        """Return what is said where the request is plain."""
        return said

    # What the model is asked, and what came of it

    @property
    def asked(self) -> dict[str, Any]:
        """What the model is asked next, in the form of chat completions, if anything is about tools: plain messages,
        and where it is to stop. Where there are tools, that is seen to here: it must not cut a call."""
        request = {} if self.plain else self.exchange.request
        return {name: request[name] for name in ("messages", "stop") if request.get(name)}

    @property
    def failed_calls(self) -> dict[str, Any]:
        """The calls that were not made in the end, under `failed_calls`; nothing, if there are none."""
        failures = [] if self.plain else self.exchange.failures
        failed = [{"name": each.name, "message": each.message, "hint": each.hint} for each in failures]
        return {"failed_calls": failed} if failed else {}

    # Asking, and reading what is said

    def run(self, ask: Callable[..., Any]) -> Iterator[Any]:
        """Ask the model, as often as it takes; yield what is ours of what it says: once, if it is to be whole.

        Raises XMLToolsError where a call was required and is not made, and where one fails that was told of while the
        model wrote it.
        """
        while not self._over:
            said = ask(**self.turn())
            with closing(said if self.streams else (each for each in [said])) as parts:
                for part in parts:
                    yield from self.hear(part)
                    if self._is_enough:
                        break
            yield from self.hear()

    async def run_later(self, ask: Callable[..., Any], begun: Any = None) -> AsyncIterator[Any]:
        """`run`, but waiting for the model is left to the event loop. `begun` is a stream that it was asked for."""
        while not self._over:
            said, begun = begun or ask(**self.turn()), None
            if isawaitable(said):
                said = await said
            if not self.streams:
                said = _one(said)
            async with aclosing(said):
                async for part in said:
                    for each in self.hear(part):
                        yield each
                    if self._is_enough:
                        break
            for each in self.hear():
                yield each

    @property
    def _is_enough(self) -> bool:
        return not self.plain and self.exchange.done

    def hear(self, said: Any = None) -> Iterable[Any]:
        """Take what the model says, or None at the end of its turn; return what is ours of it."""
        ends = said is None
        delta = {} if ends else self.read(said)
        if self.plain:
            self._over = ends
            if not ends:
                return [self.passed(said)]
            return self.parts(Piece(finish_reason=self.reason)) if self.streams else ()
        exchange = self.exchange
        choice = {"index": 0, "delta": delta, "finish_reason": (self.reason or "stop") if ends else None}
        self._sent += exchange.feed({"choices": [choice], "usage": self.usage})
        if ends:
            self._sent += exchange.end(is_whole=True)
            self._over = not exchange.next_turn()
        if exchange.failure:
            raise Refusal(exchange.failure, status=502 if self.streams else 422, code="upstream_error")
        if not (self.streams or self._over):
            return ()
        piece, self._sent = _piece(self._sent), b""
        self._ending = piece.finish_reason or self._ending
        piece = piece._replace(finish_reason=self._ending if self._over else None)
        return self.parts(piece) if self.streams else [self.whole(piece)]


async def _one(said: Any) -> AsyncIterator[Any]:
    yield said


def is_about_tools(body: Mapping[str, Any]) -> bool:
    """Return whether anything in the body of a request is about tools. If not, the model is to be asked as it is."""
    return bool(body.get("tools")) or any(
        message.get("role") in ("tool", "function") or message.get("tool_calls") for message in body["messages"]
    )


def _with_error(message: Message, failed_results: Collection[str]) -> Message:
    """Return the message with the results of these calls marked as errors."""
    parts = [
        part.model_copy(update={"is_error": True}) if getattr(part, "call_id", None) in failed_results else part
        for part in message.parts
    ]
    return message.model_copy(update={"parts": tuple(parts)})


def _piece(sent: bytes) -> Piece:
    """Return what was written for a client of chat completions."""
    texts: dict[str, str] = defaultdict(str)
    calls: dict[int, Any] = {}
    reason = None
    chunks = (json.loads(data) for _, data in SSEDecoder().feed(sent) if data != "[DONE]")
    for choice in (choice for chunk in chunks for choice in chunk["choices"]):
        reason = choice["finish_reason"] or reason
        delta = choice["delta"]
        for call in delta.pop("tool_calls", ()):
            if call is not (first := calls.setdefault(call["index"], call)):
                first["function"]["arguments"] += call["function"]["arguments"]
        for name, text in delta.items():
            texts[name] += text
    reasoning = texts["reasoning_content"] or texts["reasoning"]
    return Piece(texts["content"], reasoning, [*calls.values()], reason)
