"""A worker, `python -m xmltools.proxy.bridge.worker`: a process that reads for the server what may take long.

Threads of one process take turns, and none is sure of its turn where the machine is busy. So a server gives what may
take long to processes like this one, and goes on with what its other clients say. Messages come on the standard input,
and each is answered on the standard output. It ends when its input does.

A message has two parts: JSON, and bytes that go with it. Both lengths stand in front (see `pack_message`).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import sys
import time
from array import array
from collections.abc import Mapping
from dataclasses import fields
from io import StringIO
from typing import Any, BinaryIO

from xmltools.conversations.compaction import estimate_tokens
from xmltools.errors import XMLToolsError
from xmltools.formats import load
from xmltools.models.events import ArgumentDelta, Event
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.exchange import Exchange
from xmltools.proxy.bridge.json_bodies import encoded, parse_answer, parse_object
from xmltools.proxy.bridge.settings import Settings
from xmltools.proxy.bridge.upstream_stream import read_chunk

LENGTHS = struct.Struct(">II")
"""What a message begins with: the bytes of its JSON, and those that go with it."""
_NICE = 5
"""By how much the server comes first where there are more processes than cores. By much more, what is long would never
be read on a busy machine."""

WorkerAnswer = tuple[dict[str, Any], bytes]
"""What a process like this one answers: what it says, and what is to be sent."""


def pack_message(head: dict[str, Any], body: bytes = b"") -> bytes:
    """Return the bytes of a message."""
    written = json.dumps(head).encode()
    return LENGTHS.pack(len(written), len(body)) + written + body


def open_exchange(api: Any, body: bytes, settings: Settings, id: str, created: int, request_id: str | None) -> Exchange:
    """Make the exchange of a request. Raises Refusal for one that can't be honoured."""
    try:
        return Exchange(api, parse_object(body), settings, id=id, created=created, request_id=request_id)
    except RecursionError:
        raise Refusal("the body is JSON that is nested too deeply", code="invalid_json") from None


def estimate(body: bytes, settings: Settings) -> int:
    """Return how many tokens the upstream would get for a request of Anthropic's API. Raises Refusal for none."""
    exchange = Exchange("messages", {"max_tokens": 1, **parse_object(body)}, settings)
    conversation = load(exchange.request["messages"], "openai")
    tools = exchange.request.get("tools")
    return estimate_tokens(conversation.user(json.dumps(tools)) if tools else conversation)


class Journal:
    """What an exchange was given so far, so that another process can make the same exchange and go on with it.

    An exchange is the same wherever it is made, if its request, its id and its time are, and it is given the same
    pieces. Nearly all pieces are chunks with a few characters of text, which are kept as one text and its cuts.
    """

    def __init__(self) -> None:
        self._steps: list[list[Any]] = []
        self._text = StringIO()  # of chunks that hold nothing else, since the last step
        self._cuts = array("I")

    def feed(self, chunk: Mapping[str, Any]) -> None:
        """Note that the exchange was fed a chunk."""
        text = _only_text(chunk)
        if text:
            self._text.write(text)
            self._cuts.append(len(text))
        else:
            self.note("feed", chunk)

    def note(self, step: str, given: Any) -> None:
        """Note another step: "end" with `is_whole`, after which a next turn begins, or "answer" with a completion."""
        self._settle()
        self._steps.append([step, given])

    def _settle(self) -> None:
        if self._cuts:
            self._steps.append(["text", self._text.getvalue(), self._cuts.tolist()])
            self._text, self._cuts = StringIO(), array("I")

    def dump(self) -> list[list[Any]]:
        """Return the steps as JSON."""
        self._settle()
        return self._steps

    @staticmethod
    def play(steps: list[list[Any]], exchange: Exchange) -> None:
        """Take a new exchange through dumped steps. What it says is known already."""
        for step, *given in steps:
            if step == "text":
                at = 0
                for size in given[1]:
                    exchange.feed({"choices": [{"index": 0, "delta": {"content": given[0][at : at + size]}}]})
                    at += size
            elif step == "feed":
                exchange.feed(given[0])
            elif step == "end":
                exchange.end(is_whole=given[0])
                exchange.next_turn()
            else:
                exchange.answer(given[0])


def _only_text(chunk: Mapping[str, Any]) -> str:
    """Return the text of a chunk that says nothing else, or nothing."""
    choices = chunk.get("choices")
    if type(choices) is not list or len(choices) != 1 or chunk.get("usage") is not None or "error" in chunk:
        return ""
    choice = choices[0]
    if type(choice) is not dict or choice.get("index", 0) != 0 or choice.get("finish_reason"):
        return ""
    delta = choice.get("delta")
    if type(delta) is not dict or len(delta) != 1:
        return ""
    text = delta.get("content")
    return text if type(text) is str else ""


class Exchanges:
    """Answers messages, each of which is about one exchange, by its number."""

    def __init__(self) -> None:
        self._exchanges: dict[int, Exchange] = {}
        self._has_argument: set[int] = set()

    def answer(self, head: dict[str, Any], body: bytes) -> WorkerAnswer:
        """Return the answer to a message: what went wrong stands in it, beside what is to be sent nevertheless."""
        began = time.perf_counter()
        sent: list[bytes] = []
        number = head.get("number", 0)
        said: dict[str, Any] = {}
        try:
            said |= self._do(number, head, body, sent)
        except Refusal as refusal:
            given = {"status": refusal.status, "code": refusal.code, "param": refusal.param, "quotes": refusal.quotes}
            said["refusal"] = {"message": str(refusal), **given}
        except XMLToolsError as error:
            said["error"] = str(error)
        except Exception as error:  # our fault: the server says so, and this process goes on
            said["fault"] = type(error).__name__
        exchange = self._exchanges.get(number)
        if exchange is not None:
            said |= {"done": exchange.done, "awaits_usage": exchange.awaits_usage, "begun": exchange.begun}
            # Not dataclasses.asdict: it makes counters of pairs.
            stats = {each.name: getattr(exchange.stats, each.name) for each in fields(exchange.stats)}
            said |= {"stats": stats, "has_argument": number in self._has_argument}
        return {**said, "seconds": time.perf_counter() - began}, b"".join(sent)

    def _do(self, number: int, head: dict[str, Any], body: bytes, sent: list[bytes]) -> dict[str, Any]:
        """Do what a message asks for, and add to `sent` what is for the client or the upstream. Returns the rest."""
        match head["do"]:
            case "open":
                return self._open(number, head, body, sent)
            case "estimate":
                return {"tokens": estimate(body, Settings(**head["settings"]))}
            case "feed":
                for data in head["data"]:
                    sent.append(self._exchanges[number].feed(read_chunk(data)))  # noqa: PERF401 - all before an error
            case "end":
                sent.append(self._exchanges[number].end(is_whole=head["is_whole"]))
                if self._exchanges[number].next_turn():
                    return {"request": encoded(self._exchanges[number].request).decode()}
            case "answer":
                response = self._exchanges[number].answer(parse_answer(body))
                if response is None:
                    return {"request": encoded(self._exchanges[number].request).decode()}
                sent.append(encoded(response))
            case "fail":
                sent.append(self._exchanges[number].fail(head["message"], status=head["status"]))
            case "abandon":
                self._has_argument.discard(number)
                if (exchange := self._exchanges.pop(number, None)) is not None:
                    exchange.abandon()
        return {}

    def _open(self, number: int, head: dict[str, Any], body: bytes, sent: list[bytes]) -> dict[str, Any]:
        settings = Settings(**head["settings"])
        exchange = open_exchange(head["api"], body, settings, head["id"], head["created"], head.get("request_id"))
        Journal.play(head["steps"], exchange)
        if exchange.plain:
            return {"plain": True}
        self._exchanges[number] = exchange
        has_argument = self._has_argument

        def hear(_: int, event: Event) -> None:
            if isinstance(event, ArgumentDelta):
                has_argument.add(number)
                exchange.on_event = None

        exchange.on_event = hear
        sent.append(encoded(exchange.request))
        parameters = {name: value for name, value in exchange.request.items() if name not in ("messages", "tools")}
        return {"streams": exchange.streams, "keepalive": exchange.keepalive.decode(), "parameters": parameters}


def serve(source: BinaryIO, target: BinaryIO) -> None:
    """Answer messages from `source` on `target`, until there are no more."""
    exchanges = Exchanges()
    while len(lengths := source.read(LENGTHS.size)) == LENGTHS.size:
        size, more = LENGTHS.unpack(lengths)
        head, body = json.loads(source.read(size)), source.read(more)
        target.write(pack_message(*exchanges.answer(head, body)))
        target.flush()


def main() -> None:
    """Run until the standard input ends. Whatever is printed by mistake goes to the standard error."""
    if sys.stdin.isatty():
        sys.exit("this process is started by `xmltools serve`, which talks to it; there is nothing to type here")
    for name in ("SIGINT", "SIGTERM"):  # the server is told too, and lets its streams come to their ends
        with contextlib.suppress(AttributeError, ValueError):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    with contextlib.suppress(AttributeError, OSError):
        os.nice(_NICE)
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sys.stdin.buffer, target)


if __name__ == "__main__":
    main()
