"""Faults on both sides of the server: what clients and upstreams do wrong, and what must hold all the same.

    python tests/proxy/faults.py [--streams N] [--seed S] [--jobs N] [--at-once N] [--only N [N...]]

Real servers of `create_app` stand between bare TCP connections: a client that cuts, stalls, resets, reads slowly or
sends garbage, and an upstream that does the same and worse. Stream i of seed S always has the same text and the same
faults; its number stands in all that is said in it. Each must end as its protocol says, or with a closed connection if
the client's side was cut; none may hang, hold the words of another, or pass for complete with a part missing. When all
have ended, connections, tasks, open files and memory must be what they were.
A stream that suffered from another one, which had the connection before it, takes both: `--only 121 122`.
Exit status: 0 nothing found, 1 something found.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import json
import logging
import os
import re
import socket
import struct
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import h11

if not __package__:  # run as a script
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from proxy.running import Server, serving
from proxy.test_server_upstream import BODIES, USAGE, stream
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app

__all__ = ["CLIENT_FAULTS", "UPSTREAM_FAULTS", "Finding", "Plan", "Tally", "run"]

PATIENCE = 60  # seconds until a stream that does not end is a hang; where much else runs, some take half of it
_ROUNDS = 40  # how often it is looked whether all has ended, before what has not is left over
_SILENCE = 1.5  # the server's own time-outs
_MAX_BODY = 256 * 1024
_MAX_ANSWER = 1024 * 1024
_LATE = "the upstream was too late"
_GROWTH = 64 * 1024  # KiB: events of 16 MiB come and go, and what they took is not always given back
_LOGGER = logging.getLogger("xmltools.serve")
_ASYNCIO = logging.getLogger("asyncio")
_PATHS = tuple(BODIES)
_MARK = re.compile(r"#(\d+)\.([0-9a-f]{8})#")
_NAME = re.compile(rb"\r\nx-request-id: n-(\d+)\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class End(Enum):
    """How a side leaves a connection before it should."""

    CLOSE = "close"
    RESET = "reset"
    STALL = "stall"  # says nothing more, until the other side closes
    HALF = "half"  # says that it has nothing more to say, and listens


@dataclass(frozen=True)
class Flood:
    """A piece that is sent again and again, until the other side closes."""

    piece: bytes
    times: int
    pause: float = 0.0


Step = bytes | float | End | Flood


def mark(number: int) -> str:
    """The words that tell a stream from all others. The sum keeps garbage from making one out of another."""
    return f"#{number}.{zlib.crc32(str(number).encode()):08x}#"


def marks(text: str) -> set[int]:
    """The numbers of the streams whose words stand in a text."""
    return {int(number) for number, _ in _MARK.findall(text) if mark(int(number)) in text}


@dataclass(frozen=True)
class Plan:
    """What one stream is and what goes wrong in it: a function of a seed and a number."""

    seed: int
    number: int
    path: str
    streams: bool
    tools: bool
    retries: bool
    lines: int
    upstream: str
    client: str

    @classmethod
    def make(cls, seed: int, number: int) -> Plan:
        rng = Random(f"{seed}/{number}")
        where = rng.choices(("neither", "upstream", "client", "both"), (10, 50, 25, 15))[0]
        return cls(
            seed=seed,
            number=number,
            path=rng.choice(_PATHS),
            streams=rng.random() < 0.7,
            tools=rng.random() < 0.85,
            retries=rng.random() < 0.3,
            lines=rng.choices((rng.randrange(6), 60, 2000), (90, 8, 2))[0],
            upstream=_pick(rng, UPSTREAM_FAULTS) if where in ("upstream", "both") else "none",
            client=_pick(rng, CLIENT_FAULTS) if where in ("client", "both") else "none",
        )

    def random(self, part: str) -> Random:
        return Random(f"{self.seed}/{self.number}/{part}")

    @property
    def passed_on(self) -> bool:
        """Whether the server passes the answer on as it is."""
        return self.path == _PATHS[0] and not self.tools

    @property
    def text(self) -> str:
        return f"On it, {mark(self.number)}: é 😀 &amp; <b>\n"

    @property
    def arguments(self) -> dict[str, str] | None:
        """The arguments of the call in the reply, if there is one."""
        name = mark(self.number)
        lines = "".join(f'{at} < "é" && 😀 {name}\n' for at in range(self.lines))
        return {"path": f"{name}/a b.py", "text": f"{lines}end"} if self.tools else None

    @property
    def said(self) -> str:
        """What the model says."""
        if self.arguments is None:
            return self.text
        values = "".join(f"<{name}><![CDATA[{value}]]></{name}>\n" for name, value in self.arguments.items())
        return f"{self.text}<tool>\n<tool_name>write</tool_name>\n<arguments>\n{values}</arguments>\n</tool>"

    @property
    def body(self) -> bytes:
        """The body of the client's request."""
        body = {**BODIES[self.path], "stream": self.streams}
        place = "input" if "input" in body else "messages"
        body[place] = [{"role": "user", "content": f"Write {mark(self.number)}."}]
        if not self.tools:
            del body["tools"]
        return json.dumps(body).encode()


def _pick(rng: Random, faults: dict[str, tuple[int, Any]]) -> str:
    return rng.choices(list(faults), [weight for weight, _ in faults.values()])[0]


# What the upstream says


_LAST = b"connection: close\r\n"
"""What makes a wrong answer the last one on its connection: another that comes there too could not but suffer."""


@dataclass(frozen=True)
class Answer:
    """An answer without fault, and how it is framed: in chunks, with its length, or up to the end of the connection."""

    pieces: Sequence[bytes]
    framing: str
    kind: str
    status: int = 200
    fields: bytes = b""

    @classmethod
    def of(cls, plan: Plan, rng: Random) -> Answer:
        framing = rng.choice(("chunks", "chunks", "length", "close"))
        if plan.number >= _WARM:  # no connection is kept behind it: how many are would be chance
            framing = "close"
        if plan.streams:
            size = rng.choice((3, 7, 40)) if plan.lines < 60 else 900
            pieces = [piece for piece in stream(plan.said, size=size) if isinstance(piece, bytes)]
            return cls(pieces, framing, "text/event-stream")
        message = {"role": "assistant", "content": plan.said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "up", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return cls([json.dumps({**body, "usage": USAGE}, ensure_ascii=False).encode()], framing, "application/json")

    def but(self, **changes: Any) -> Answer:
        return Answer(**{**vars(self), **changes})

    @property
    def head(self) -> bytes:
        framing = {
            "chunks": b"transfer-encoding: chunked\r\n",
            "length": b"content-length: %d\r\n" % sum(map(len, self.pieces)),
            "close": _LAST,
        }[self.framing]
        line = b"HTTP/1.1 %d Said\r\ncontent-type: %b\r\n" % (self.status, self.kind.encode())
        return line + framing + self.fields + b"\r\n"

    @property
    def body(self) -> bytes:
        if self.framing != "chunks":
            return b"".join(self.pieces)
        return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in self.pieces if piece) + b"0\r\n\r\n"

    @property
    def data(self) -> bytes:
        return self.head + self.body

    @property
    def end(self) -> list[Step]:
        return [End.CLOSE] if self.framing == "close" else []

    def steps(self, rng: Random) -> list[Step]:
        return [*split(rng, self.data), *self.end]


def split(rng: Random, data: bytes) -> Iterator[Step]:
    """Yield the data in pieces that were cut anywhere: inside of characters, events, chunks and the head."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 0, 1, 4, 12))))
    for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        yield data[start:end]
        yield rng.choice((0.0, 0.0, 0.001, 0.01))


def beginning(rng: Random, answer: Answer) -> list[Step]:
    """All steps of an answer up to some place before its end."""
    start = rng.choice((0, len(answer.head), len(answer.head)))
    return list(split(rng, answer.data[: rng.randrange(start, len(answer.data))]))


def lines(rng: Random, pieces: Iterable[bytes]) -> list[bytes]:
    """Events as few write them: other line breaks, comments, fields that nobody reads."""
    end = rng.choice((b"\r\n", b"\r", b"\n"))
    odd = (b"", b": x" + end, b": x" + end * 2, b"id: 1" + end, b"retry: 5" + end, b"nonsense" + end)
    return [rng.choice(odd) + piece.replace(b"\n", end) for piece in pieces]


def garbled(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 40)) + data[at + rng.choice((0, 1, 20)) :]


def after_first(answer: Answer, rng: Random, *more: bytes) -> Answer:
    """The answer with something in it that is no part of the reply."""
    if answer.kind == "application/json":
        return answer.but(pieces=more)
    at = rng.randrange(len(answer.pieces))
    return answer.but(pieces=[*answer.pieces[:at], *(b"data: %b\n\n" % one for one in more), *answer.pieces[at:]])


def drip(rng: Random, answer: Answer) -> list[Step]:
    data = answer.data
    start = rng.randrange(len(data))
    single: list[Step] = [step for byte in data[start : start + 60] for step in (bytes((byte,)), 0.0005)]
    return [data[:start], *single, data[start + 60 :], *answer.end]


def interim(rng: Random, answer: Answer) -> list[Step]:
    more = b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" * rng.randrange(1, 9)
    return [*split(rng, more), *answer.steps(rng)]


def odd_events(rng: Random, answer: Answer) -> list[Step]:
    if answer.kind == "text/event-stream":
        answer = answer.but(pieces=[*lines(rng, answer.pieces[:-1]), answer.pieces[-1]])
    return answer.steps(rng)


def trailers(rng: Random, answer: Answer) -> list[Step]:
    answer = answer.but(framing="chunks")
    body = re.sub(rb"(?<=\n)([0-9a-f]+)\r\n(?=data)", rb'\1;name="x"\r\n', answer.body)
    return [*split(rng, answer.head + body[:-2] + b"x-trailer: 1\r\n\r\n"), *answer.end]


def second_answer(rng: Random, answer: Answer) -> list[Step]:
    """More than was asked for, on a connection that might be used again.

    In one piece and so at once: of what comes later, nobody can tell what it belongs to.
    """
    if len(answer.data) > 20_000:
        return answer.steps(rng)
    answer = answer.but(framing=rng.choice(("chunks", "length")))
    more = rng.choice((answer.data, b"\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
    return [answer.data + more]


def lingers(rng: Random, answer: Answer) -> list[Step]:
    """All has been said, but the stream is left open."""
    if answer.kind == "application/json":
        return answer.steps(rng)
    body = answer.but(framing="chunks")
    return [*split(rng, body.data.removesuffix(b"0\r\n\r\n")), End.STALL]


def waits(rng: Random, answer: Answer) -> list[Step]:
    at = rng.choice((0, rng.randrange(len(answer.data))))
    return [*split(rng, answer.data[:at]), 0.3, answer.data[at:], *answer.end]


def comments(rng: Random, answer: Answer) -> list[Step]:
    if answer.kind == "application/json":
        return answer.steps(rng)
    answer = answer.but(framing="close")
    return [answer.head, Flood(b": still here\n\n", 60, 0.005), answer.body, End.CLOSE]


def bad_length(rng: Random, answer: Answer) -> list[Step]:
    answer = answer.but(framing="length", fields=_LAST)
    right = len(answer.body)
    wrong = rng.choice((right - 1, right // 2, 0, right + 1, right + 10**6, -1))
    head = answer.head.replace(b"length: %d" % right, b"length: %d" % wrong)
    return [*split(rng, head + answer.body), rng.choice((End.CLOSE, End.STALL))]


def bad_chunk(rng: Random, answer: Answer) -> list[Step]:
    size = rng.choice(
        (b"zz", b"-1", b"", b"0x5", b"5" * 30, b"ffffffffffffffff", b"1", b"7fffffff", b"3;" + b"x" * 9999)
    )
    answer = answer.but(framing="chunks", fields=_LAST)
    cut = len(answer.head) + rng.choice((0, answer.body.find(b"\r\n", len(answer.body) // 2) + 2))
    return [*split(rng, answer.data[:cut] + size + b"\r\n" + answer.data[cut:]), rng.choice((End.CLOSE, End.STALL))]


def bad_head(rng: Random, answer: Answer) -> list[Step]:
    answer = answer.but(fields=_LAST)
    line, _, rest = answer.head.partition(b"\r\n")
    head = rng.choice(
        (
            rng.randbytes(50) + b"\r\n\r\n",
            garbled(rng, answer.head),
            b"HTTP/3.9 200 OK\r\n" + rest,
            b"HTTP/1.1 999999 Much\r\n" + rest,
            b"HTTP/1.1 20\r\n" + rest,
            b"ICY 200 OK\r\n" + rest,
            line + b"\r\ncontent-length: 5\r\ncontent-length: 6\r\n" + rest,
            line + b"\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n" + rest,
            line + b"\r\ntransfer-encoding: gzip, chunked\r\n" + rest,
            line + b"\r\nx y: \x00\x01\r\n" + rest,
            line + b"\r\nno colon\r\n" + rest,
            line + b"\r\nx: \xff\xfe\r\n folded\r\n" + rest,
            line + b"\r\n" + rest.replace(b"\r\n", b"\n"),
            b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        )
    )
    return [*split(rng, head + answer.body), rng.choice((End.CLOSE, End.RESET, End.STALL))]


def endless_head(rng: Random, answer: Answer) -> list[Step]:
    line = b"HTTP/1.1 200 OK\r\n"
    flood = rng.choice((b"x-more: and more\r\n" * 50, b"x" * 4096, b"\r\n" * 50, b"x: y\r\n z\r\n" * 50))
    if rng.random() < 0.3:
        return [Flood(b"HTTP/1.1 100 Continue\r\n\r\n", 1000, 0.002), End.STALL]
    return [line, Flood(flood, 4000), End.STALL]


def big_event(rng: Random, answer: Answer) -> list[Step]:
    """More than the server takes of one event, or of one answer."""
    if answer.kind == "application/json":
        answer = answer.but(framing="close")
        return [answer.head, b'{"x":"', Flood(b"x" * 65536, 40), b'"}', End.CLOSE]
    answer = answer.but(framing="close")
    start = rng.choice((b"data: ", b"", b"event: "))
    return [answer.head + answer.pieces[0] + start, Flood(b"x" * 262144, 80), End.CLOSE]


_VALUES: tuple[Any, ...] = (None, True, 0, -1, 1e300, 10**30, "x", "", [], [[]], {}, {"x": None}, "\ud800")


def odd_json(rng: Random, answer: Answer) -> list[Step]:
    """JSON that is no completion, or is one with values that no completion has."""
    value: Any = rng.choice(_VALUES)
    choice = {"index": 0, "delta": {"content": "x"}, "message": {"content": "x"}, "finish_reason": None}
    where = rng.choice(("choices", "usage", "error", "index", "delta", "message", "finish_reason", "content", "calls"))
    said: dict[str, Any] = {"id": "up", "choices": [choice]}
    if where in ("choices", "usage", "error"):
        said[where] = value
    elif where in choice:
        choice[where] = value
    elif where == "content":
        choice["delta"] = choice["message"] = {"content": value, "role": value}
    else:
        choice["delta"] = choice["message"] = {"tool_calls": rng.choice((value, [value])), "reasoning_content": value}
    text = json.dumps(said).encode()
    text = rng.choice((text, text, json.dumps(value).encode(), b"[" * 50_000, b"9" * 9999, b"NaN", text[:-3], b"\xff"))
    return after_first(answer, rng, text).steps(rng)


def error_event(rng: Random, answer: Answer) -> list[Step]:
    error = rng.choice((b'{"error":{"message":"no memory","code":500}}', b'{"error":"x"}', b'{"error":{"code":"y"}}'))
    return after_first(answer, rng, error).steps(rng)


def bad_status(rng: Random, answer: Answer) -> list[Step]:
    status = rng.choice((301, 302, 304, 307, 400, 401, 404, 413, 418, 429, 500, 502, 503, 504, 529, 599))
    body = rng.choice(
        (
            b'{"error":{"message":"slow down","type":"limit"}}',
            b'{"error":null}',
            b"<html>no</html>",
            b"",
            b"\xff\xfe\x00",
            b"[" * 20_000,
            b"x" * 300_000,
        )
    )
    pieces = () if status == 304 else (body,)
    kind = rng.choice(("application/json", "text/html", "x", "text/event-stream"))
    fields = rng.choice((b"", b"retry-after: 1\r\n", b"location: http://127.0.0.1:1/\r\n"))
    odd = answer.but(status=status, pieces=pieces, kind=kind, fields=fields)
    return rng.choice((odd.steps(rng), odd.steps(rng), [odd.data[: len(odd.head) + len(body) // 2], End.CLOSE]))


def bad_encoding(rng: Random, answer: Answer) -> list[Step]:
    name = rng.choice((b"gzip", b"deflate", b"br", b"zstd", b"x", b"gzip, gzip"))
    return answer.but(fields=b"content-encoding: " + name + b"\r\n").steps(rng)


def wrong_kind(rng: Random, answer: Answer) -> list[Step]:
    """A stream instead of one piece and the other way round, or under another name."""
    stream_kind = answer.kind == "text/event-stream"
    if rng.random() < 0.5:
        return answer.but(kind=rng.choice(("text/plain", "application/json", "text/event-stream", "a/b"))).steps(rng)
    pieces = [b'{"choices":[]}'] if stream_kind else [b"data: {}\n\n", b"data: [DONE]\n\n"]
    kind = "application/json" if stream_kind else "text/event-stream"
    return answer.but(pieces=pieces, kind=kind).steps(rng)


def empty(rng: Random, answer: Answer) -> list[Step]:
    return rng.choice((answer.but(pieces=()).steps(rng), [answer.but(pieces=(), status=204).head, End.CLOSE]))


def garbage(rng: Random, answer: Answer) -> list[Step]:
    if answer.framing == "chunks":
        answer = answer.but(fields=_LAST)
        return [*split(rng, answer.head + garbled(rng, answer.body)), End.CLOSE]
    return answer.but(pieces=(garbled(rng, b"".join(answer.pieces)),)).steps(rng)


Fault = Callable[[Random, Answer], list[Step]]
HARMLESS: dict[str, tuple[int, Fault]] = {
    "none": (0, lambda rng, answer: answer.steps(rng)),
    "drip": (4, drip),
    "interim answers": (3, interim),
    "odd events": (6, odd_events),
    "trailers": (4, trailers),
    "second answer": (6, second_answer),
    "lingers": (3, lingers),
    "waits": (4, waits),
    "comments": (3, comments),
}
"""What must not be noticed."""
HARMFUL: dict[str, tuple[int, Fault]] = {
    "cut": (12, lambda rng, answer: [*beginning(rng, answer), End.CLOSE]),
    "reset": (8, lambda rng, answer: [*beginning(rng, answer), End.RESET]),
    "stall": (6, lambda rng, answer: [*beginning(rng, answer), End.STALL]),
    "half closed": (4, lambda rng, answer: [*beginning(rng, answer), End.HALF]),
    "no answer": (4, lambda rng, answer: [rng.choice((End.CLOSE, End.RESET, End.STALL, End.HALF))]),
    "unread request": (4, lambda rng, answer: [rng.choice((End.CLOSE, End.RESET))]),
    "bad length": (5, bad_length),
    "bad chunk": (5, bad_chunk),
    "endless head": (2, endless_head),
    "big event": (1, big_event),
    "empty": (3, empty),
    "error event": (4, error_event),
    "bad status": (8, bad_status),
}
"""What leaves something out, or should end in an error."""
CHANGING: dict[str, tuple[int, Fault]] = {
    "bad head": (8, bad_head),  # which may take the first lines of the body for its own
    "garbage": (8, garbage),
    "odd JSON": (10, odd_json),
    "bad encoding": (3, bad_encoding),
    "wrong kind": (3, wrong_kind),
}
"""What may change the words."""
UPSTREAM_FAULTS = {**HARMLESS, **HARMFUL, **CHANGING}
"""What an upstream does, how often, and how."""


# What the client does


@dataclass(frozen=True)
class Manners:
    """How a client behaves. It leaves as `end` says when it has read `most` bytes; `room` slows its reading."""

    send: list[Step]
    most: int | None = None
    end: End = End.CLOSE
    room: int = 0
    answers: int = 1


def request(plan: Plan, body: bytes, fields: bytes = b"connection: close\r\n") -> bytes:
    line = b"POST %b HTTP/1.1\r\nhost: localhost\r\n" % plan.path.encode()
    named = b"content-type: application/json\r\nx-request-id: n-%d\r\n" % plan.number
    return line + named + b"content-length: %d\r\n" % len(body) + fields + b"\r\n" + body


def in_chunks(plan: Plan, rng: Random) -> Manners:
    head = request(plan, b"", b"transfer-encoding: chunked\r\nconnection: close\r\n")
    data = head.replace(b"content-length: 0\r\n", b"")
    at = rng.randrange(1, len(plan.body))
    pieces = (plan.body[:at], plan.body[at:], b"")
    return Manners([*split(rng, data + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces))])


def leaves_early(plan: Plan, rng: Random) -> Manners:
    data = request(plan, plan.body)
    steps = list(split(rng, data[: rng.randrange(len(data))]))
    end = rng.choice((End.CLOSE, End.RESET))
    return Manners([*steps, *rng.choice(([], [0.2])), end], most=0, end=end)


def leaves(plan: Plan, rng: Random) -> Manners:
    most = rng.choice((0, 1, rng.randrange(300), rng.randrange(3000), rng.randrange(30000)))
    pause = rng.choice((0.0, 0.02))
    return Manners([request(plan, plan.body), pause], most=most, end=rng.choice((End.CLOSE, End.RESET)))


def expects(plan: Plan, rng: Random) -> Manners:
    return Manners([request(plan, plan.body, b"expect: 100-continue\r\nconnection: close\r\n")])


def pipelines(plan: Plan, rng: Random) -> Manners:
    more = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    return Manners([*split(rng, request(plan, plan.body, b"") + more)], answers=2)


def bad_request(plan: Plan, rng: Random) -> Manners:
    body = plan.body
    line, _, rest = request(plan, body).partition(b"\r\n")
    return Manners(
        [
            *split(
                rng,
                rng.choice(
                    (
                        rng.randbytes(200) + b"\r\n\r\n",
                        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20 + b"\r\n\r\n",
                        line + b"\r\nx y: z\r\n" + rest,
                        line + b"\r\ncontent-length: 1\r\n" + rest,
                        line.replace(b"1.1", b"x") + b"\r\n" + rest,
                        # More than a server reads at once: what it has read to the end, it need not refuse.
                        line + b"\r\n" + b"x-more: and more\r\n" * 20_000 + rest,
                        line + b"\r\nx: " + b"x" * 350_000 + b"\r\n" + rest,
                        request(plan, body[:-1]),
                        request(plan, body.replace(b"Write #", b"\xff")),
                        request(plan, rng.randbytes(300)),
                        request(plan, b'{"a":' * 30_000),
                        request(plan, body + b" " * _MAX_BODY),
                        request(plan, body, b"content-encoding: gzip\r\nconnection: close\r\n"),
                    )
                ),
            ),
        ]
    )


def bad_chunks(plan: Plan, rng: Random) -> Manners:
    """Chunks that are none."""
    head = request(plan, b"", b"transfer-encoding: chunked\r\n").replace(b"content-length: 0\r\n", b"")
    size = rng.choice((b"zz", b"-1", b"f" * 30, b"5;" + b"x" * 99_999))
    return Manners([*split(rng, head + size + b"\r\n" + plan.body), 0.02, End.HALF])


Behaviour = Callable[[Plan, Random], Manners]
POLITE: dict[str, tuple[int, Behaviour]] = {
    "none": (0, lambda plan, rng: Manners([request(plan, plan.body)])),
    "pieces": (6, lambda plan, rng: Manners([*split(rng, request(plan, plan.body))])),
    "in chunks": (4, in_chunks),
    "expects": (2, expects),
    "pipelines": (5, pipelines),
    "reads slowly": (6, lambda plan, rng: Manners([request(plan, plan.body)], room=2048)),
}
"""Clients that get an answer."""
LEAVING: dict[str, tuple[int, Behaviour]] = {
    "half closed": (4, lambda plan, rng: Manners([request(plan, plan.body), rng.choice((0.0, 0.02)), End.HALF])),
    "leaves early": (8, leaves_early),
    "leaves": (12, leaves),
}
"""Clients that need not get one."""
WRONG: dict[str, tuple[int, Behaviour]] = {"bad request": (10, bad_request), "bad chunks": (3, bad_chunks)}
"""Clients that are refused."""
CLIENT_FAULTS = {**POLITE, **LEAVING, **WRONG}
"""What a client does, how often, and how."""


# Connections


@asynccontextmanager
async def patience() -> AsyncIterator[None]:
    """A time-out of so many seconds in which the process runs: the clock goes on while it is stopped, this does not."""
    loop = asyncio.get_running_loop()
    seconds = 0

    def count() -> None:
        nonlocal seconds, next_second
        seconds += 1
        if seconds < PATIENCE:
            next_second = loop.call_later(1, count)
        else:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        next_second = loop.call_later(1, count)
        try:
            yield
        finally:
            next_second.cancel()


class Stops:
    """Counts how often the process was stopped, or had to wait so long that it might have been."""

    def __init__(self) -> None:
        self.count = 0

    async def watch(self) -> None:
        """Count, until cancelled."""
        while True:
            asleep = time.monotonic()
            await asyncio.sleep(_SILENCE / 10)
            self.count += time.monotonic() - asleep > _SILENCE / 2


async def play(steps: Iterable[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> End | None:
    """Do what the steps say; return how the connection ends, if it does."""
    for step in steps:
        match step:
            case bytes():
                await _send(writer, step)
            case float():
                await asyncio.sleep(step)
            case Flood():
                for _ in range(step.times):
                    await _send(writer, step.piece)
                    await asyncio.sleep(step.pause)
            case End.HALF:
                writer.write_eof()
                return step
            case End():
                return step
    return None


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    if writer.transport.is_closing():
        raise ConnectionResetError
    writer.write(data)
    await writer.drain()


async def heard_out(reader: asyncio.StreamReader) -> None:
    """Read until the other side closes."""
    async with patience():
        while await reader.read(1 << 20):
            pass


def leave(writer: asyncio.StreamWriter, end: End | None) -> None:
    if end is End.RESET:
        connection = writer.get_extra_info("socket")
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    writer.close()


class BadUpstream:
    """Answers each request as its plan says; notes what the server does wrong towards it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._open: set[asyncio.StreamWriter] = set()
        self.findings: list[Finding] = []
        self.asked: Counter[int] = Counter()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        end: End | None = None
        try:
            while end is None:
                end = await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            leave(writer, end)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> End | None:
        head = await reader.readuntil(b"\r\n\r\n")
        named, length = _NAME.search(head), _LENGTH.search(head)
        if named is None:  # a request for none of the plans, such as one that makes the server look at its connections
            return End.CLOSE
        plan = Plan.make(self._seed, int(named[1])) if int(named[1]) < _WARM else _warm(self._seed, int(named[1]))
        self.asked[plan.number] += 1
        rng = plan.random(f"upstream {self.asked[plan.number]}")
        if plan.upstream != "unread request":
            body = await reader.readexactly(int(length[1]) if length else 0)
            self._check(plan, body)
        end = await play(UPSTREAM_FAULTS[plan.upstream][1](rng, Answer.of(plan, rng)), reader, writer)
        if end in (End.STALL, End.HALF):
            await self._wait(plan, reader)
        return end

    async def _wait(self, plan: Plan, reader: asyncio.StreamReader) -> None:
        try:
            await heard_out(reader)
        except TimeoutError:
            self.findings.append(Finding(plan, "the server did not close a connection that stands still"))

    def _check(self, plan: Plan, body: bytes) -> None:
        found = marks(body.decode("utf-8", "replace"))
        if found != {plan.number}:
            self.findings.append(Finding(plan, f"its request came with the words of {sorted(found)}"))

    def close_idle(self) -> None:
        """Close what the server keeps open to use it again."""
        for writer in self._open:
            writer.close()


async def converse(address: tuple[str, int], manners: Manners) -> bytes:
    """Be a client; return what was read."""
    place = socket.socket()
    place.setblocking(False)
    if manners.room:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, manners.room)
    await asyncio.get_running_loop().sock_connect(place, address)
    reader, writer = await asyncio.open_connection(sock=place, limit=manners.room or 1 << 18)
    parts: list[bytes] = []
    end: End | None = manners.end
    try:
        with suppress(OSError):
            sent = await play(manners.send, reader, writer)
            end = sent if sent in (End.CLOSE, End.RESET) else end
        with suppress(OSError):
            await _read(reader, manners, parts)
    finally:
        leave(writer, end if manners.most is not None else None)
    return b"".join(parts)


async def _read(reader: asyncio.StreamReader, manners: Manners, parts: list[bytes]) -> None:
    size = 0
    while manners.most is None or size < manners.most:
        data = await reader.read(manners.room or 1 << 16)
        if not data:
            return
        parts.append(data)
        size += len(data)
        if manners.room and size < 100 * manners.room:
            await asyncio.sleep(0.002)


# What must hold


@dataclass
class Finding:
    """What should not have happened."""

    plan: Plan | None
    what: str

    def __str__(self) -> str:
        if self.plan is None:
            return self.what
        again = f"--seed {self.plan.seed} --only {self.plan.number}"
        return f"{self.what}\n  {self.plan}\n  again: python tests/proxy/faults.py {again}"


@dataclass
class Reply:
    """What a client understood of an answer: how it ended, and the words in it."""

    end: str
    text: str = ""
    arguments: str = ""
    status: int = 0
    late: bool = False


class ProblemError(Exception):
    """An answer is not what it must be."""


class EndError(ProblemError):
    """It did not end as it must. That may be so because something was late, which is nobody's fault."""


def parse_http(data: bytes, count: int) -> list[tuple[h11.Response, bytes, bool]]:
    """Each answer's head, its body, and whether it came to its end. Raises ProblemError for what is no HTTP."""
    if not data:  # which would tell the reader that the connection has ended
        return []
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    connection.receive_data(data)
    found: list[tuple[h11.Response, bytes, bool]] = []
    while len(found) < count:
        connection.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
        connection.send(h11.EndOfMessage())
        head, parts, whole = _next_answer(connection)
        if head is None:
            return found
        found.append((head, b"".join(parts), whole))
        if not whole or connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
            break
        connection.start_next_cycle()
    rest = connection.trailing_data[0]
    if rest and whole:
        raise ProblemError(f"there are bytes behind the answer: {rest[:80]!r}")
    return found


def _next_answer(connection: h11.Connection) -> tuple[h11.Response | None, list[bytes], bool]:
    head, parts = None, []
    try:
        while (event := connection.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                return head, parts, True
    except h11.RemoteProtocolError as error:
        raise ProblemError(f"the server does not speak HTTP: {error}") from None
    return head, parts, False


def understand(plan: Plan, data: bytes, count: int) -> Reply:
    """Read an answer as a client of its API does. Raises ProblemError if a client could not."""
    found = parse_http(data, count)
    if not found:
        return Reply("closed")
    head, body, whole = found[0]
    fields = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    if fields.get("x-request-id", f"n-{plan.number}") != f"n-{plan.number}":
        raise ProblemError(f"the answer is for {fields['x-request-id']}")
    if not whole:
        kept = body.rpartition(b"\n\n")[0] + b"\n\n" if plan.streams else b""
        cut = _streamed(plan, kept) if kept.strip() and head.status_code == 200 else Reply("closed")
        return Reply("closed", cut.text, cut.arguments, head.status_code)
    if _hides_cut(plan, head.status_code, body):
        raise ProblemError("a part is missing, and nothing says so")
    if len(found) < count:
        raise ProblemError("the second of two requests has no answer")
    kind = fields.get("content-type", "")
    if head.status_code == 200 and kind.startswith("text/event-stream") and plan.streams:
        reply = _streamed(plan, body)
    elif head.status_code == 200:
        reply = _whole(plan, body)
    else:
        reply = _refused(plan, body, kind, head.status_code)
    reply.status = head.status_code
    reply.late = head.status_code == 504 or b"timeout)" in body
    return reply


def _hides_cut(plan: Plan, status: int, body: bytes) -> bool:
    """Whether an answer that was passed on ends as if it were whole, though it was cut where that can be seen."""
    if not plan.passed_on or status != 200 or plan.upstream not in ("cut", "reset", "half closed", "stall"):
        return False
    # A request whose idle connection ended just then was sent once more, and the second answer may have another form.
    answers = [Answer.of(plan, plan.random(f"upstream {number}")) for number in (1, 2)]
    return all(answer.framing != "close" for answer in answers) and b'"upstream_error"' not in body


def _refused(plan: Plan, body: bytes, kind: str, status: int) -> Reply:
    """An error: of the API, but where the upstream's passes as it is, or it is the HTTP library that refuses."""
    passes = plan.upstream in ("bad status", "garbage", "bad head", "empty") and plan.path != "/v1/messages"
    if passes or plan.passed_on or (plan.client in WRONG and kind.startswith("text/plain")):
        return Reply("error status")
    value = _json(body)
    if status < 400 or not isinstance(value, dict) or not value.get("error"):
        raise ProblemError(f"status {status} with a body that is no error: {body[:200]!r}")
    if plan.path == "/v1/messages" and value.get("type") != "error":
        raise ProblemError(f"the error is not in the words of the API: {body[:200]!r}")
    return Reply("error status")


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ProblemError(f"the body is no JSON: {body[:200]!r}") from None


def _whole(plan: Plan, body: bytes) -> Reply:
    """An answer that is no stream. What passed as it came may be anything, unless it is whole."""
    if plan.passed_on and plan.upstream not in HARMLESS:
        return Reply("passed on")
    value = _json(body)
    if plan.path == "/v1/messages":
        blocks = value["content"]
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        calls = [json.dumps(block["input"]) for block in blocks if block["type"] == "tool_use"]
    elif plan.path == "/v1/responses":
        items = value["output"]
        texts = [part["text"] for item in items if item["type"] == "message" for part in item["content"]]
        calls = [item["arguments"] for item in items if item["type"] == "function_call"]
    else:
        message = value["choices"][0]["message"]
        texts = [message.get("content") or ""]
        calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return Reply("complete", "".join(texts), "".join(calls))


def _streamed(plan: Plan, body: bytes) -> Reply:
    """A stream, which must end as its protocol says."""
    if plan.passed_on and (plan.upstream not in HARMLESS or plan.upstream == "lingers"):
        return Reply("passed on")
    text = body.decode("utf-8", "strict").replace("\r\n", "\n").replace("\r", "\n")
    if not text.endswith("\n\n"):
        raise ProblemError(f"the stream ends inside an event: {text[-200:]!r}")
    said = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    is_done = bool(said) and said[-1] == "[DONE]"
    events = [_json(data.encode("utf-8", "surrogatepass")) for data in (said[:-1] if is_done else said)]
    return {_PATHS[0]: _of_chat, _PATHS[1]: _of_messages, _PATHS[2]: _of_responses}[plan.path](events, is_done)


def _of_chat(events: list[Any], is_done: bool) -> Reply:
    failed = any("error" in event for event in events)
    choices = [choice for event in events for choice in event.get("choices") or () if choice.get("index") == 0]
    texts = [choice["delta"].get("content") or "" for choice in choices]
    calls = [call for choice in choices for call in choice["delta"].get("tool_calls") or ()]
    pieces = [call["function"].get("arguments", "") for call in calls]
    finished = any(choice.get("finish_reason") for choice in choices)
    end = "error event" if failed and is_done else "complete" if finished and is_done and not failed else "closed"
    return Reply(end, "".join(texts), "".join(pieces))


def _of_messages(events: list[Any], is_done: bool) -> Reply:
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    texts = [delta["text"] for delta in deltas if delta["type"] == "text_delta"]
    pieces = [delta["partial_json"] for delta in deltas if delta["type"] == "input_json_delta"]
    last = events[-1]["type"] if events else ""
    kinds = Counter(event["type"] for event in events)
    if last == "message_stop" and kinds["content_block_start"] != kinds["content_block_stop"]:
        raise ProblemError("a block of a complete message was not closed")
    end = {"message_stop": "complete", "error": "error event"}.get(last, "closed")
    return Reply(end, "".join(texts), "".join(pieces))


def _of_responses(events: list[Any], is_done: bool) -> Reply:
    texts = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    pieces = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
    last = events[-1]["type"] if events else ""
    ends = {"response.completed": "complete", "response.failed": "error event", "error": "error event"}
    end = "incomplete" if last == "response.incomplete" else ends.get(last, "closed")
    return Reply(end, "".join(texts), "".join(pieces))


def judge(plan: Plan, data: bytes, count: int) -> Reply:
    """What became of a stream. Raises ProblemError for what may not have become of it."""
    strangers = marks(data.decode("utf-8", "replace")) - {plan.number}
    if strangers:
        raise ProblemError(f"there are the words of {sorted(strangers)} in it")
    if plan.client in LEAVING:
        return Reply("left")
    reply = understand(plan, data, count)
    strangers = marks(reply.text + reply.arguments) - {plan.number}
    if strangers:
        raise ProblemError(f"there are the words of {sorted(strangers)} in it")
    _check_end(plan, reply)
    if plan.upstream not in CHANGING and reply.end in ("complete", "error event", "closed"):
        _check_words(plan, reply)
    return reply


def _check_end(plan: Plan, reply: Reply) -> None:
    bad_client = plan.client in WRONG
    if bad_client and reply.end not in ("error status", "closed"):
        raise ProblemError(f"a request that is none was answered: {reply.end}")
    if not bad_client and reply.end == "closed" and not plan.passed_on:
        raise EndError(f"the connection was closed, or the stream has no end (status {reply.status})")
    if not bad_client and plan.upstream in HARMLESS and reply.end not in ("complete", "passed on"):
        how = f"{_LATE} (status {reply.status})" if reply.late else f"{reply.end} (status {reply.status})"
        raise EndError(f"nothing went wrong that matters, but it ended as: {how}")


def _check_words(plan: Plan, reply: Reply) -> None:
    """What came must be the beginning of what was said, and all of it where the end says so."""
    arguments = json.dumps(plan.arguments, ensure_ascii=False, separators=(",", ":")) if plan.tools else ""
    text = plan.said if not plan.tools else plan.text
    if reply.end == "complete":
        same = reply.arguments == arguments or (plan.tools and _json(reply.arguments.encode()) == plan.arguments)
        if reply.text.strip() != text.strip() or not same:
            raise ProblemError(f"it seems complete and is not: {reply.text[-80:]!r} {reply.arguments[-80:]!r}")
    elif not (text.startswith(reply.text.rstrip()) and arguments.startswith(reply.arguments)):
        raise ProblemError(f"these are not its words: {reply.text[-80:]!r} {reply.arguments[-80:]!r}")


# The run


@dataclass
class State:
    """What a server holds when no stream is open."""

    active: float
    connections: int
    tasks: int
    files: int

    def holds_more(self, before: State) -> bool:
        return (
            self.active > 0
            or self.connections > before.connections
            or self.tasks > before.tasks
            or self.files > before.files
        )


_LONG_BODY = b'{"model": "m", "messages": [{"role": "user", "content": "%s"}]}' % (b"x" * 9_000)
_LONG_REQUEST = (
    b"POST /v1/messages/count_tokens HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_LONG_BODY), _LONG_BODY)
)


class Size(NamedTuple):
    """Open files, tasks, objects and KiB of a process."""

    files: int
    tasks: int
    objects: int
    memory: int


@dataclass
class Tally:
    """What one worker did."""

    streams: int = 0
    faults: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, 0)
    growth: list[Size] = field(default_factory=list)
    """Of the process, when nothing is open: before the first stream, behind half of them and behind the last."""


_WARM = 10**9  # numbers from here on belong to streams that begin and end a run, without faults


def _warm(seed: int, number: int) -> Plan:
    return Plan(seed, number, _PATHS[number % 3], number % 2 == 0, True, number % 4 < 2, 2, "none", "none")


class Stand:
    """Two servers, one of which asks again for calls that failed, in front of a bad upstream."""

    def __init__(
        self, seed: int, servers: Sequence[Server], loops: list[asyncio.AbstractEventLoop], upstream: BadUpstream
    ) -> None:
        self._seed = seed
        self._servers = servers
        self._loops = loops
        self._upstream = upstream
        self._stops = Stops()
        self.tally = Tally()

    def _address(self, retries: bool) -> tuple[str, int]:
        host, port = self._servers[retries].url.removeprefix("http://").split(":")
        return host, int(port)

    async def attempt(self, plan: Plan) -> Reply:
        """Run one stream. Raises ProblemError."""
        manners = CLIENT_FAULTS[plan.client][1](plan, plan.random("client"))
        try:
            async with patience():
                data = await converse(self._address(plan.retries), manners)
        except TimeoutError:
            raise EndError("it hangs") from None
        try:
            return judge(plan, data, manners.answers)
        except (KeyError, TypeError, IndexError, AttributeError, UnicodeError) as error:
            raise ProblemError(f"its answer can't be read: {error!r} in {data[-300:]!r}") from None

    async def run_one(self, plan: Plan) -> None:
        begun = time.monotonic()
        end = "found"
        try:
            end = await self._fairly(plan)
        except ProblemError as problem:
            self.tally.findings.append(Finding(plan, str(problem)))
        self.tally.streams += 1
        self.tally.slowest = max(self.tally.slowest, (time.monotonic() - begun, plan.number))
        self.tally.faults[plan.upstream, plan.client, end] += 1

    async def _fairly(self, plan: Plan) -> str:
        """Run one stream; on a busy machine something harmless can be late, and then it is tried once more.

        While the process is stopped everything is: that is no try.
        """
        again = False
        while True:
            stops = self._stops.count
            try:
                return (await self.attempt(plan)).end
            except EndError as problem:
                if self._stops.count == stops:
                    if again or _LATE not in str(problem):
                        raise
                    again = True

    async def run_all(self, plans: Iterable[Plan], at_once: int) -> None:
        waiting = iter(plans)

        async def work() -> None:
            for plan in waiting:
                await self.run_one(plan)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())

    async def warm(self) -> None:
        """Ask both servers for each kind of answer, of which none may go wrong."""
        for kind in range(12):
            if await self._fairly(_warm(self._seed, _WARM + kind)) != "complete":
                raise ProblemError("the server does not answer any more")
        for server in (False, True):  # starts the process that reads what is long
            await converse(self._address(server), Manners([_LONG_REQUEST]))

    async def state(self) -> State:
        """What is held now."""
        active = sum([await self._active(server) for server in (False, True)])
        held = [len(server.server_state.connections) + len(server.server_state.tasks) for server in self._servers]
        tasks = [asyncio.run_coroutine_threadsafe(_tasks(), loop) for loop in self._loops]
        running = [await asyncio.wrap_future(task) for task in tasks]
        return State(active, sum(held), sum(running) + len(asyncio.all_tasks()), _files())

    async def _active(self, server: bool) -> float:
        ask = b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        data = await converse(self._address(server), Manners([ask]))
        return float(data.decode().partition("\nxmltools_streams_active ")[2].split("\n")[0])

    async def rest(self, before: State | None) -> State:
        """Return what is held when all has ended; note what is still held that was not before."""
        for _ in range(_ROUNDS):
            self._upstream.close_idle()
            await asyncio.sleep(0.1)
            await self.warm()  # a pool looks at its connections when it is asked for one
            await asyncio.sleep(0.1)
            async with patience():
                state = await self.state()
            if before is None or not state.holds_more(before):
                return state
        what = f"something is left over: {state}, and before {before}; open are {_sockets()}"
        self.tally.findings.append(Finding(None, what))
        return state

    async def run_in_halves(self, plans: Sequence[Plan], at_once: int) -> None:
        """Run all streams; see after one half of them and after the other that nothing is left."""
        half = len(plans) // 2
        watching = asyncio.create_task(self._stops.watch())
        before = await self.rest(None)
        self._measure(before)
        for part in (plans[:half], plans[half:]):
            await self.run_all(part, at_once)
            try:
                self._measure(await self.rest(before))
            except (ProblemError, TimeoutError, OSError) as error:
                self.tally.findings.append(Finding(None, f"when all had ended: {error!r}"))
                self._measure(before)
        self._compare(len(plans) - half)
        watching.cancel()
        await asyncio.wait([watching])

    def _compare(self, streams: int) -> None:
        """Note it if the second half of a run made the process larger: whatever is kept only once is there by then."""
        _, half, end = self.tally.growth
        if end.objects - half.objects > 300 + streams // 10:
            self.tally.findings.append(Finding(None, f"{streams} streams left {end.objects - half.objects} objects"))
        if end.memory - half.memory > _GROWTH:
            self.tally.findings.append(Finding(None, f"{streams} streams left {end.memory - half.memory} KiB"))

    def _measure(self, state: State) -> None:
        gc.collect()
        self.tally.growth.append(Size(state.files, state.tasks, len(gc.get_objects()), _memory()))


async def _tasks() -> int:
    return len(asyncio.all_tasks()) - 1


def _files() -> int:
    """How many files the process has open, where the system tells."""
    place = Path("/proc/self/fd")
    return sum(1 for _ in place.iterdir()) if place.is_dir() else 0


def _sockets() -> list[str]:
    """What is known of the sockets that are open."""
    found = (each for each in gc.get_objects() if isinstance(each, socket.socket))
    return [repr(each) for each in found if each.fileno() >= 0]


def _memory() -> int:
    """KiB of memory that the process holds, where the system tells; what is free is given back first, where it can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.is_file() else None
    return int(found[1]) if found else 0


def run(seed: int, numbers: Sequence[int], at_once: int = 32) -> Tally:
    """Run these streams of a seed, `at_once` at the same time."""
    return asyncio.run(_run(seed, numbers, at_once))


async def _run(seed: int, numbers: Sequence[int], at_once: int) -> Tally:
    upstream = BadUpstream(seed)
    listener = await asyncio.start_server(upstream, "127.0.0.1", 0, backlog=1024)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    loops: list[asyncio.AbstractEventLoop] = []
    failures = Failures(seed)
    with ExitStack() as stack, failures, unclosed() as left:
        servers = [stack.enter_context(_server(url, retries, loops)) for retries in (0, 1)]
        stand = Stand(seed, servers, loops, upstream)
        await stand.run_in_halves([Plan.make(seed, number) for number in numbers], at_once)
        upstream.close_idle()
        await asyncio.get_running_loop().run_in_executor(None, stack.close)
        gc.collect()
    listener.close()
    lost = [Finding(None, f"was left to the garbage collector: {warning.message}") for warning in left]
    stand.tally.findings += [*upstream.findings, *failures.findings, *lost]
    return stand.tally


class Failures(logging.Handler):
    """Notes, while it is entered, what the server's own code fails with."""

    def __init__(self, seed: int) -> None:
        super().__init__(logging.ERROR)
        self._seed = seed
        self._level = logging.NOTSET
        self.findings: list[Finding] = []

    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, str] = getattr(record, "fields", {})
        number = fields.get("id", "").removeprefix("n-")
        plan = Plan.make(self._seed, int(number)) if number.isdecimal() else None
        self.findings.append(Finding(plan, f"the server failed: {fields.get('error')} at {fields.get('at')}"))

    def __enter__(self) -> None:
        # Nothing else listens: a test runner keeps all records, and that would look like a leak.
        _LOGGER.addHandler(self)
        _LOGGER.propagate = False
        self._level = _ASYNCIO.level
        _ASYNCIO.setLevel(logging.ERROR)  # it warns of each write to a side that has left

    def __exit__(self, *_: object) -> None:
        _LOGGER.removeHandler(self)
        _LOGGER.propagate = True
        _ASYNCIO.setLevel(self._level)


@contextmanager
def unclosed() -> Iterator[list[warnings.WarningMessage]]:
    """Note what is never closed, though nothing refers to it any more."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ResourceWarning)
        yield noted


def _server(url: str, retries: int, loops: list[asyncio.AbstractEventLoop]) -> Any:
    """A server as `run` makes it, that says on which loop it runs."""
    app = create_app(
        ServeConfig(
            upstream=url,
            settings=Settings(dialect="forge", retries=retries),
            connect_timeout=_SILENCE,
            first_byte_timeout=_SILENCE,
            idle_timeout=_SILENCE,
            keepalive=0.05 if retries else 15.0,
            max_body=_MAX_BODY,
            max_answer=_MAX_ANSWER,
        )
    )

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            loops.append(asyncio.get_running_loop())
        await app(scope, receive, send)

    return serving(noted, http="h11", h11_max_incomplete_event_size=64 * 1024, server_header=False, access_log=False)


def main() -> int:
    """Run the workers, print what they did, and what they found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="default: one a core")
    parser.add_argument("--at-once", type=int, default=32, help="streams of a job at the same time (default: 32)")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="run these streams, one after the other")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    start = time.monotonic()
    if options.only:
        print("\n".join(str(Plan.make(seed, number)) for number in options.only), flush=True)
        return summarise([run(seed, options.only, 1)], seed, time.monotonic() - start)
    shares = [range(first, options.streams, options.jobs) for first in range(options.jobs)]
    with ProcessPoolExecutor(options.jobs) as pool:
        tallies = list(pool.map(run, [seed] * options.jobs, shares, [options.at_once] * options.jobs))
    return summarise(tallies, seed, time.monotonic() - start)


def summarise(tallies: list[Tally], seed: int, seconds: float) -> int:
    """Print counts and findings; returns the exit status."""
    streams = sum(tally.streams for tally in tallies)
    slowest = max(tally.slowest for tally in tallies)
    print(f"seed {seed}: {streams} streams, {seconds:.0f} s, {streams / seconds:.0f} a second")
    print(f"slowest: {slowest[0]:.1f} s, number {slowest[1]}")
    faults = sum((tally.faults for tally in tallies), Counter[tuple[str, str, str]]())
    for side, name in ((0, "upstream"), (1, "client")):
        for fault in UPSTREAM_FAULTS if side == 0 else CLIENT_FAULTS:
            ends: Counter[str] = Counter()
            for key, count in faults.items():
                ends[key[2]] += count if key[side] == fault else 0
            print(f"  {name}: {fault}: " + ", ".join(f"{count} {end}" for end, count in (+ends).most_common()))
    for tally in tallies:
        for name, values in zip(Size._fields, zip(*tally.growth, strict=True), strict=True):
            print(f"  {name} before, half way, after: {', '.join(f'{value:,}' for value in values)}")
    findings = [finding for tally in tallies for finding in tally.findings]
    for finding in findings[:20]:
        print(f"\nFOUND: {finding}")
    kinds = Counter(re.sub(r"\W*\d.*|:.*", "", finding.what) for finding in findings)
    print("".join(f"\n{count} times: {kind}" for kind, count in kinds.most_common()))
    print("nothing found" if not findings else f"{len(findings)} found")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
