"""What the proxy costs: `python benchmarks/proxy.py [--quick]`. `README.md` beside this file explains each figure.

Latencies are ratios to a plain proxy of the same libraries, measured in turns in the same run. The upstream, the two
proxies and the clients are processes of their own. Every chunk of text that the upstream sends holds its number, and
the upstream notes when it sent it: so the client knows how old a chunk is, whatever became of it on its way. Linux
only, where all processes have one monotonic clock and `/proc` says how much memory each has.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import random
import re
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, MutableMapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import httpx2
from parser import Figure, cut, line
from starlette import requests
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse
from starlette.routing import Route

from xmltools import dialects
from xmltools.models import ToolCall
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app, run, run_app
from xmltools.proxy.server.network import Request, Response
from xmltools.render.dialect_calls import write_calls

LIVE = Settings(dialect="forge", live_arguments=True)
"""Calls are sent as they are written, so that there are chunks whose age can be told."""
HOST = "127.0.0.1"
PATH = "/v1/chat/completions"
MOST_STREAMS = 500
STREAMS = 200
MOST_CHUNKS = 1000
PROPERTIES = {"path": {"type": "string"}, "content": {"type": "string"}}
FUNCTION = {
    "name": "write_file",
    "description": "Write a file.",
    "parameters": {"type": "object", "properties": PROPERTIES, "required": ["path", "content"]},
}
OPEN = "<tool>\n<tool_name>write_file</tool_name>\n<arguments>\n<path>a.py</path>\n<content><![CDATA["
CLOSE = "]]></content>\n</arguments>\n</tool>"
DIALECTS = [each.name for each in dialects.all() if each.written]
"""Those in which calls can be written, beside Forge's."""
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
NUMBER = re.compile(r" (\d{3})")
TEXT = re.compile(rb'"(?:content|arguments)":"((?:[^"\\]|\\.)*)"')

Stamps = Any  # an array of doubles that the processes share: when each chunk of each stream was sent
Turn = list[float]


class Plan(NamedTuple):
    """What the upstream is to say: chunks of text and of an argument, and the seconds between two (0: all at once).

    With `hold` it waits in the middle of the argument until it is told to go on. The call is in a `dialect`.
    """

    prose: int
    argument: int
    pace: float = 0.0
    hold: bool = False
    dialect: str = "forge"


def around(dialect: str) -> tuple[str, str]:
    """What stands before and after the argument."""
    if dialect == "forge":
        return OPEN, CLOSE
    arguments: dict[str, Any] = {"path": "a.py", "content": "@"}
    call = write_calls(
        [(ToolCall(id="", name="write_file", arguments=arguments), None)], dialects.named(dialect), is_first=False
    )
    start, _, end = call.partition("@")
    return start, end


def reply(plan: Plan) -> list[str]:
    """The reply in pieces of 4 characters. Those of text and of the argument are a space and their own number."""
    start, end = around(plan.dialect)
    opening = cut("\n" * (-len(start) % 4) + start, 4)
    first = plan.prose + len(opening)
    numbers = [f" {number:03}" for number in (*range(plan.prose), *range(first, first + plan.argument))]
    return [*numbers[: plan.prose], *opening, *numbers[plan.prose :], *cut(end, 4)]


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    """A chunk of a chat completion, as a server sends it."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**head, 'choices': [choice]}, separators=(',', ':'))}\n\n".encode()


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


# --- a hostile client --------------------------------------------------------------------------------------


class Attack(NamedTuple):
    """Tools that take long to read, to describe or to check, and a reply that takes long to read with them."""

    functions: list[dict[str, Any]]
    reply: str


def tool_of(**properties: Any) -> dict[str, Any]:
    definitions = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(20)}
    definitions["d20"] = {"type": "object"}
    return {
        "name": "f",
        "description": "Does it.",
        "parameters": {"type": "object", "properties": properties, "$defs": definitions},
    }


def call_of(arguments: str) -> str:
    return f"<tool><tool_name>f</tool_name><arguments>{arguments}</arguments></tool>"


JSON_TYPE = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/any"}}, {"type": "string"}, {"type": "null"}]}
RECURSIVE = tool_of(v={"$ref": "#/$defs/any"})
RECURSIVE["parameters"]["$defs"]["any"] = JSON_TYPE
MANY = [
    {
        **tool_of(**{f"argument_{place}": {"type": "string", "enum": [str(number)] * 2} for place in range(20)}),
        "name": f"tool_{number}",
    }
    for number in range(300)
]
ATTACKERS = 4
PACES = {4: 0.001, 500: 0.01, 1 << 20: 0.0}
"""Characters of a chunk of a hostile reply, and the seconds between two of them: some ten times what a model writes, or
all at once."""
ATTACKS = {
    "pattern": Attack(
        [tool_of(v={"type": "string", "pattern": "(a+)+$"})], call_of(f"<v>{'a' * 100_000}!</v>") + "text " * 1000
    ),
    "references": Attack([tool_of(v={"$ref": "#/$defs/d0"})], call_of("<v>" + "<a>x</a>" * 9_000 + "</v>")),
    "recursive": Attack([RECURSIVE], call_of("<v>" + "<item>x</item>" * 9_000 + "</v>")),
    "JSON": Attack([RECURSIVE], call_of(f"<v>{json.dumps([['x', None]] * 20_000)}</v>")),
    "many tools": Attack(MANY, "No call."),
    "sections": Attack([FUNCTION], "<![CDATA[<tool><a>]]>" * 5_000),
    "openers": Attack([FUNCTION], "<tool><a " * 1_600_000),
    "calls": Attack([FUNCTION], "<tool><tool_name>write_file</tool_name></tool>" * 900),
    "attributes": Attack([tool_of(v={"type": "object"})], call_of("<v>" + "<a b='c' d='e'/>" * 9_000 + "</v>")),
    "open value": Attack([FUNCTION], f"{OPEN}{'<tool><![CDATA[]]> ' * 5_000}"),
}
"""What one client can do, by the families of `benchmarks/parser.py` that take longest, and by schemas."""


# --- the upstream: no framework, so that it takes little of the machine ------------------------------------


class Upstream:
    """Streams replies as their plans say. After a request to /go none is held any more."""

    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps
        self._go = asyncio.Event()

    async def serve(self, port: int) -> None:
        server = await asyncio.start_server(self._connected, HOST, port, backlog=2048)
        await server.serve_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                await self._answer(head, body, writer)
                if b"connection: close" in head:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # who asked has left
        writer.close()

    async def _answer(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        if head.startswith(b"GET /go"):
            self._go.set()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            return
        asked = json.loads(body)
        writer.write(HEAD + framed(chunk({"role": "assistant", "content": ""})))
        if "attack" in asked:
            await self._attack(ATTACKS[asked["attack"]].reply, asked["size"], writer)
        else:
            plan = asked["plan"]
            await self._speak(plan["stream"] * MOST_CHUNKS, Plan(*plan["plan"]), writer)
        writer.write(framed(chunk({}, "stop")) + framed(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()

    async def _attack(self, text: str, size: int, writer: asyncio.StreamWriter) -> None:
        """Say it in chunks of `size` characters at the pace of a model; after two seconds all the rest at once."""
        due = time.monotonic() + 2
        for at in range(0, len(text), size):
            is_last = time.monotonic() >= due
            writer.write(framed(chunk({"content": text[at:] if is_last else text[at : at + size]})))
            await writer.drain()
            if is_last:
                break
            await asyncio.sleep(PACES[size])

    async def _speak(self, place: int, plan: Plan, writer: asyncio.StreamWriter) -> None:
        pieces = [framed(chunk({"content": piece})) for piece in reply(plan)]
        middle = len(pieces) - plan.argument // 2 if plan.hold else -1
        due = time.monotonic() + plan.pace * random.random()
        for number, piece in enumerate(pieces):
            if number == middle:
                await self._go.wait()
                due = time.monotonic() + plan.pace * random.random()
            if plan.pace and number:
                due += plan.pace
                await asyncio.sleep(due - time.monotonic())
            self._stamps[place + number] = time.monotonic()
            writer.write(piece)
            await writer.drain()


def run_upstream(port: int, stamps: Stamps) -> None:
    asyncio.run(Upstream(stamps).serve(port))


# --- the plain proxy ---------------------------------------------------------------------------------------


def run_plain(port: int, upstream: int) -> None:
    """A proxy as its libraries' manuals write it, run as `xmltools serve` is."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
    client = httpx2.AsyncClient(limits=limits, trust_env=False, timeout=None)

    async def forward(request: requests.Request) -> StreamingResponse:
        headers = {"content-type": "application/json"}
        url = f"http://{HOST}:{upstream}{PATH}"
        sent = client.build_request("POST", url, content=await request.body(), headers=headers)
        answer = await client.send(sent, stream=True)
        kind = answer.headers["content-type"]
        done = BackgroundTask(answer.aclose)
        return StreamingResponse(answer.aiter_raw(), answer.status_code, media_type=kind, background=done)

    run_app(Starlette(routes=[Route(PATH, forward, methods=["POST"])]), HOST, port, "plain")


# --- clients -----------------------------------------------------------------------------------------------


def request(stream: int, plan: Plan) -> bytes:
    return posted([FUNCTION], plan={"stream": stream, "plan": plan})


def posted(functions: list[dict[str, Any]], **more: Any) -> bytes:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": "Write a.py."}],
        "tools": [{"type": "function", "function": function} for function in functions],
        "stream": True,
        **more,
    }
    text = json.dumps(body).encode()
    head = f"POST {PATH} HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n%s" % (len(text), text)


class Client:
    """Reads one stream; `ages` are the seconds that each numbered chunk was under way."""

    def __init__(self, stamps: Stamps, stream: int, plan: Plan) -> None:
        self._stamps = stamps
        self._stream = stream
        self._plan = plan
        self._rest = ""
        self.ages: list[float] = []

    async def run(self, port: int) -> bool:
        """Read the stream to its end. Returns whether all of it came, and nothing twice."""
        try:
            last = await self._read(port)
        except OSError:
            return False
        return b"data: [DONE]" in last and len(self.ages) == self._plan.prose + self._plan.argument

    async def _read(self, port: int) -> bytes:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(request(self._stream, self._plan))
        last = pending = b""
        while data := await reader.read(1 << 16):
            now = time.monotonic()
            *events, pending = (pending + data).split(b"\n\n")
            for event in events:
                last = event
                self._take(b"".join(TEXT.findall(event)).decode(), now)
        writer.close()
        return last

    def _take(self, text: str, now: float) -> None:
        text = self._rest + text
        end = 0
        for found in NUMBER.finditer(text):
            self.ages.append(now - self._stamps[self._stream * MOST_CHUNKS + int(found[1])])
            end = found.end()
        self._rest = text[end:][-4:]


class Bench:
    """The processes, and what clients do with them."""

    def __init__(self, stamps: Stamps, ports: dict[str, int], pids: dict[str, int]) -> None:
        self.stamps = stamps
        self.ports = ports
        self.pids = pids

    async def ages(self, server: str, streams: int, plan: Plan) -> Turn:
        """The ages of all chunks of so many streams at once."""
        clients = [Client(self.stamps, number, plan) for number in range(streams)]
        if not all(await asyncio.gather(*(client.run(self.ports[server]) for client in clients))):
            raise RuntimeError(f"a stream through {server} was not complete")
        return [age for client in clients for age in client.ages]

    async def failures(self, server: str, streams: int, plan: Plan, at_once: int) -> int:
        """Run streams, `at_once` of them at a time; return how many were not complete."""
        numbers = iter(range(streams))

        async def work(place: int) -> int:
            return sum([not await Client(self.stamps, place, plan).run(self.ports[server]) for _ in numbers])

        return sum(await asyncio.gather(*map(work, range(at_once))))

    def memory(self, server: str, field: str = "VmRSS") -> float:
        """KB of memory that a process has now, or (VmHWM) had at most."""
        status = Path(f"/proc/{self.pids[server]}/status").read_text()
        return float(status.partition(f"{field}:")[2].split()[0])

    def work(self, server: str) -> float:
        """Seconds that a process has computed."""
        fields = Path(f"/proc/{self.pids[server]}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    async def health(self, server: str, waits: list[float]) -> None:
        """Ask for /healthz again and again; note how long each answer took."""
        while True:
            began = time.monotonic()
            reader, writer = await asyncio.open_connection(HOST, self.ports[server])
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            await reader.read()
            writer.close()
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.1)

    async def go(self) -> None:
        """Let the upstream's held streams go on."""
        reader, writer = await asyncio.open_connection(HOST, self.ports["upstream"])
        writer.write(b"GET /go HTTP/1.1\r\n\r\n")
        await reader.readline()
        writer.close()


# --- figures -----------------------------------------------------------------------------------------------


def percentiles(ages: Turn) -> tuple[float, float]:
    found = quantiles(ages, n=100)
    return found[49], found[98]


async def latency(bench: Bench, quick: bool) -> list[Figure]:
    """Figure a: how old chunks are behind the proxy, against those behind the plain one."""
    rounds, plan = (3, Plan(70, 90, 0.02)) if quick else (9, Plan(100, 150, 0.02))
    found: dict[str, list[tuple[float, float]]] = {"upstream": [], "plain": [], "xmltools": []}
    for server in found:
        await bench.ages(server, STREAMS, Plan(5, 5, 0.02))
    for number in range(rounds):
        order = list(found) if number % 2 else list(reversed(found))
        for server in order:
            found[server].append(percentiles(await bench.ages(server, STREAMS, plan)))
    figures = []
    for place, (name, asked) in enumerate((("p50", 1.5), ("p99", 1.7))):
        ours, plain, direct = ([each[place] for each in found[key]] for key in ("xmltools", "plain", "upstream"))
        ratio = median(mine / theirs for mine, theirs in zip(ours, plain, strict=True))
        shown = " / ".join(f"{median(each) * 1e3:.2f}" for each in (ours, plain, direct))
        figures.append(
            Figure(f"a latency of a chunk, {name}", asked, ratio, "plain", f"ms: proxy / plain / none {shown}")
        )
    return figures


async def in_dialects(bench: Bench, quick: bool) -> list[Figure]:
    """Figure f: how old chunks are in each dialect, against those in Forge's."""
    rounds, plan = (3, Plan(70, 90, 0.02)) if quick else (7, Plan(70, 90, 0.02))
    names = ["forge", *DIALECTS]
    found: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        await bench.ages(name, 50, Plan(5, 5, 0.02, dialect=name))
    before = {name: bench.work(name) for name in names}
    for _ in range(rounds):
        for name in random.sample(names, len(names)):
            found[name].append(percentiles(await bench.ages(name, 50, plan._replace(dialect=name)))[0])
    chunks = {name: len(reply(plan._replace(dialect=name))) * 50 * rounds for name in names}
    worked = {name: (bench.work(name) - before[name]) / chunks[name] * 1e6 for name in names}
    age = {name: min(found[name]) for name in names}  # what others do on the machine only makes chunks older
    return [
        Figure(
            f"f latency of a chunk, {name}",
            1.1,
            age[name] / age["forge"],
            "forge",
            f"p50, ms: {age[name] * 1e3:.2f} / {age['forge'] * 1e3:.2f}; "
            f"work, us: {worked[name]:.0f} / {worked['forge']:.0f}",
        )
        for name in DIALECTS
    ]


async def memory(bench: Bench, quick: bool) -> list[Figure]:
    """Figure b: many streams at once."""
    half = 100 if quick else MOST_STREAMS // 2
    plan = Plan(20, 20, 0.1, hold=True) if quick else Plan(40, 40, 0.1, hold=True)
    await bench.failures("xmltools", 50, Plan(10, 10), 10)
    sizes = [bench.memory("xmltools")]
    clients: list[Client] = []
    running: list[asyncio.Task[bool]] = []
    for _ in range(2):
        more = [Client(bench.stamps, len(clients) + number, plan) for number in range(half)]
        running += [asyncio.create_task(client.run(bench.ports["xmltools"])) for client in more]
        clients += more
        await held(clients, running, plan)
        sizes.append(bench.memory("xmltools"))
    await bench.go()
    failed = (await asyncio.gather(*running)).count(False)
    first, second = ((after - before) / half for before, after in itertools.pairwise(sizes))
    most = (bench.memory("xmltools", "VmHWM") - sizes[0]) / (2 * half)
    note = f"{first:.0f} each of the first half, {second:.0f} of the second"
    return [
        Figure(f"b {2 * half} streams at once, failed", 0, failed, "", ""),
        Figure("b memory of a stream, most", 200, most, "KB", note),
        Figure("b second half against first", 1.2, second / first, "", "more than 1: worse than linear"),
    ]


async def held(clients: list[Client], running: list[asyncio.Task[bool]], plan: Plan) -> None:
    """Wait until all streams are in the middle of their argument, or have failed."""
    middle = plan.prose + plan.argument // 2
    while not all(task.done() or len(each.ages) >= middle for each, task in zip(clients, running, strict=True)):
        await asyncio.sleep(0.1)


async def leaks(bench: Bench, quick: bool) -> list[Figure]:
    """Figure c: many streams, one after the other."""
    few, many = (300, 1200) if quick else (1000, 10_000)
    plan = Plan(5, 5)
    failed = await bench.failures("xmltools", few, plan, 50)
    before = bench.memory("xmltools")
    failed += await bench.failures("xmltools", many - few, plan, 50)
    after = bench.memory("xmltools")
    note = f"{before / 1024:.1f} MB, {after / 1024:.1f} MB; {failed} failed"
    return [Figure(f"c memory after {many}/{few} streams", 1.1, after / before if not failed else 99.0, "", note)]


class Counted:
    """An upstream inside this process, which counts the chunks that were taken from it."""

    def __init__(self, pieces: list[str]) -> None:
        self._pieces = pieces
        self.sent = -1

    @asynccontextmanager
    async def open(self, request: Request, *, decode: bool) -> AsyncIterator[Response]:
        yield Response(200, [(b"content-type", b"text/event-stream")], self._said())

    async def _said(self) -> AsyncGenerator[bytes, None]:
        for self.sent, piece in enumerate(self._pieces):  # noqa: B020
            yield chunk({"content": piece})
        yield chunk({}, "stop") + b"data: [DONE]\n\n"

    async def close(self) -> None:
        """There is nothing to close."""


API_TOOLS: dict[str, dict[str, Any]] = {
    PATH: {"tools": [{"type": "function", "function": FUNCTION}], "messages": [{"role": "user", "content": "?"}]},
    "/v1/messages": {
        "tools": [{"name": "write_file", "input_schema": FUNCTION["parameters"]}],
        "messages": [{"role": "user", "content": "?"}],
        "max_tokens": 9,
    },
    "/v1/responses": {"tools": [{"type": "function", **FUNCTION}], "input": "?"},
}


async def lag(path: str, value: str, size: int) -> int:
    """How many chunks the upstream was asked for until its first character of an argument had been sent on."""
    text = f"I write.\n\n{OPEN.replace('a.py', value)}x = 1\n{CLOSE}"
    upstream = Counted(cut(text, size))
    left: list[int] = []
    body = json.dumps({"model": "m", "stream": True, **API_TOOLS[path]}).encode()
    given = iter([{"type": "http.request", "body": body}])

    async def receive() -> MutableMapping[str, Any]:
        message = next(given, None)
        return message if message is not None else await asyncio.Future()

    async def send(message: MutableMapping[str, Any]) -> None:
        if b"Q" in message.get("body", b""):
            left.append(upstream.sent)

    app = create_app(ServeConfig(upstream="http://upstream.invalid/v1", settings=LIVE), sender=upstream)
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": []}
    await app(scope, receive, send)
    return left[0] - text.index("Q") // size


async def stalls(bench: Bench, quick: bool) -> list[Figure]:
    """Figure e: how old chunks of one client are, and how long /healthz takes, while another one sends what takes
    longest to read."""
    rounds, plan = (2, Plan(40, 60, 0.02)) if quick else (5, Plan(100, 150, 0.02))
    await bench.ages("xmltools", 20, Plan(5, 5, 0.02))
    quiet = percentiles(await bench.ages("xmltools", 20, plan))[1]
    busy, waits = [], [0.0]
    for _ in range(rounds):
        with attacked(bench.ports["xmltools"]):
            asking = asyncio.create_task(bench.health("xmltools", waits))
            busy.append(percentiles(await bench.ages("xmltools", 20, plan))[1])
            asking.cancel()
    note = f"quiet {quiet * 1e3:.2f} ms"
    return [
        Figure("e latency beside hostile clients, p99", 0.2, median(busy), "s", note),
        Figure("e slowest /healthz beside them", 0.3, max(waits), "s", ""),
    ]


@contextmanager
def attacked(port: int) -> Iterator[None]:
    """Send hostile requests to a port from a process of its own meanwhile."""
    process = multiprocessing.get_context("spawn").Process(target=attack_all, args=(port,), daemon=True)
    process.start()
    time.sleep(1)  # until it has loaded what it needs
    try:
        yield
    finally:
        process.kill()
        process.join()
        time.sleep(2)  # until what it began has ended


def attack_all(port: int, names: Sequence[str] = ()) -> None:
    os.nice(10)  # it is another machine's work

    async def run_all() -> None:
        await asyncio.gather(*(attack(port, place, list(names or ATTACKS)) for place in range(ATTACKERS)))

    asyncio.run(run_all())


async def attack(port: int, first: int, names: list[str]) -> None:
    """Send one hostile request after the other, without end."""
    rng = random.Random(first)
    kinds = [(name, size) for name in names for size in PACES]
    while True:
        name, size = rng.choice(kinds)
        sent = posted(ATTACKS[name].functions, attack=name, size=size)
        reader, writer = await asyncio.open_connection(HOST, port)
        try:
            writer.write(sent)
            while await reader.read(1 << 16):
                pass
        finally:
            writer.close()


async def first_fragment(bench: Bench, quick: bool) -> list[Figure]:
    """Figure d: when the beginning of an argument leaves, counted in chunks."""
    values = ("Q.py", "<![CDATA[Q.py]]>", "&lt;Q.py")
    cases = itertools.product(API_TOOLS, values, range(1, 25))
    found = await asyncio.gather(*(lag(*case) for case in cases))  # each waits most of the time
    return [
        Figure("d first fragment leaves after", 1, max(found), "chunks", "three APIs, chunks of 1 to 24 characters")
    ]


# --- running -----------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as each:
        each.bind((HOST, 0))
        port: int = each.getsockname()[1]
        return port


@contextmanager
def processes(names: Sequence[str] = ()) -> Iterator[Bench]:
    """Start the upstream and both proxies, and one for each of these dialects; and stop them at the end."""
    context = multiprocessing.get_context("spawn")
    stamps = context.RawArray("d", MOST_STREAMS * MOST_CHUNKS)
    ports = {name: free_port() for name in ("upstream", "plain", "xmltools", *names)}
    upstream = f"http://{HOST}:{ports['upstream']}/v1"
    config = ServeConfig(upstream=upstream, port=ports["xmltools"], grace=0, settings=LIVE)
    targets: dict[str, Callable[[], object]] = {
        "upstream": partial(run_upstream, ports["upstream"], stamps),
        "plain": partial(run_plain, ports["plain"], ports["upstream"]),
        "xmltools": partial(run, config),
        **{
            name: partial(run, replace(config, port=ports[name], settings=replace(LIVE, dialect=name)))
            for name in names
        },
    }
    running = {name: context.Process(target=quietly, args=(target,), daemon=True) for name, target in targets.items()}
    try:
        for each in running.values():
            each.start()
        for port in ports.values():
            wait_for(port)
        yield Bench(stamps, ports, {name: each.pid or 0 for name, each in running.items()})
    finally:
        for each in running.values():
            each.kill()


def quietly(target: Callable[[], object]) -> None:
    """Run a server whose log nobody reads."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    target()


def wait_for(port: int) -> None:
    for _ in range(1200):
        with socket.socket() as each:
            if each.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("a server did not start within two minutes")


def figures(part: Callable[[Bench, bool], Awaitable[list[Figure]]], quick: bool) -> list[Figure]:
    """Measure with fresh processes: memory that a server once had it keeps, and that would hide a leak."""

    async def run_part(bench: Bench) -> list[Figure]:
        return await part(bench, quick)

    with processes(("forge", *DIALECTS) if part is in_dialects else ()) as bench:
        return asyncio.run(run_part(bench))


PARTS = {
    "latency": latency,
    "memory": memory,
    "leaks": leaks,
    "first": first_fragment,
    "stalls": stalls,
    "dialects": in_dialects,
}


def main() -> int:
    """Print the table; the exit status is 1 if a figure was missed."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--quick", action="store_true", help="fewer streams, fewer rounds")
    options.add_argument("--only", choices=PARTS, action="append", help="one part; may be repeated")
    asked = options.parse_args()
    missed = False
    for name in asked.only or PARTS:
        for figure in figures(PARTS[name], asked.quick):
            missed = missed or figure.verdict != "ok"
            print(line(figure), flush=True)
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
