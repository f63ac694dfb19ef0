"""An upstream that does what a test says, and what it gets to see of the requests that pass through the server."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from proxy.running import Server, body_of, serving
from xmltools.proxy.server import ServeConfig, create_app

PATIENCE = 20.0

TOOL = {
    "type": "function",
    "function": {
        "name": "write",
        "description": "Write a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
            "required": ["path"],
        },
    },
}
ANTHROPIC_TOOL = {"name": "write", "description": "Write.", "input_schema": TOOL["function"]["parameters"]}  # type: ignore[index]
RESPONSES_TOOL = {"type": "function", "strict": False, **TOOL["function"]}  # type: ignore[dict-item]
MESSAGES = [{"role": "user", "content": "Write it."}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": MESSAGES, "tools": [TOOL]},
    "/v1/messages": {"model": "m", "max_tokens": 99, "messages": MESSAGES, "tools": [ANTHROPIC_TOOL]},
    "/v1/responses": {"model": "m", "input": "Write it.", "tools": [RESPONSES_TOOL]},
}
CALL = (
    "On it: é 😀\n<tool>\n<tool_name>write</tool_name>\n<arguments>\n<path>a b.py</path>\n"
    "<text><![CDATA[x < 1\n😀]]></text>\n</arguments>\n</tool>"
)
ARGUMENTS = {"path": "a b.py", "text": "x < 1\n😀"}


class Gate:
    """A place in an answer where the upstream waits until the test lets it go on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened: Future[None] = Future()

    def open(self) -> None:
        self._opened.set_result(None)

    async def passed(self) -> None:
        self.reached.set()
        await asyncio.shield(asyncio.wrap_future(self._opened))


class Cut:
    """The end of a connection without the end of its answer."""

    def __repr__(self) -> str:
        return "Cut()"  # in the names of tests, which are the same in all processes


Step = bytes | Gate | Cut


@dataclass
class Answer:
    steps: Iterable[Step]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    before: Gate | None = None
    """Where it waits before it says anything."""


@dataclass
class Seen:
    """A request as the upstream got it. `left` is set when its sender closes the connection before its answer ended."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    left: threading.Event = field(default_factory=threading.Event)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


TEMPLATES = ("/props", "/api/version", "/api/show")
"""Where a server asks for chat templates."""


class Upstream:
    """Gives an answer to each request: the one that a function makes of it, or else the next in a list. Questions for
    chat templates get those of `templates` by their path, or else 404, and are noted in `asked`."""

    def __init__(
        self,
        *answers: Answer,
        make: Callable[[Seen], Answer] | None = None,
        templates: Callable[[Seen], Answer | None] = lambda seen: None,
    ) -> None:
        self._answers = list(answers)
        self._make = make
        self._templates = templates
        self.asked: list[Seen] = []
        self.seen: list[Seen] = []
        self.sent = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = await body_of(receive)
        target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        headers = [(name.decode(), value.decode("latin-1")) for name, value in scope["headers"]]
        seen = Seen(scope["method"], target.decode(), headers, body)
        if seen.target in TEMPLATES:
            self.asked.append(seen)
            answer = self._templates(seen) or Answer([b"{}"], status=404)
        else:
            self.seen.append(seen)
            answer = self._make(seen) if self._make is not None else self._answers.pop(0)
        listening = asyncio.create_task(self._listen(receive, seen))
        playing = asyncio.create_task(self._play(answer, send))
        await asyncio.wait({listening, playing}, return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            seen.left.set()
        for task in (listening, playing):
            task.cancel()
        await asyncio.wait({listening, playing})
        if not playing.cancelled() and playing.exception() is not None:
            raise ConnectionAbortedError  # the server closes the connection where it is

    async def _listen(self, receive: Any, seen: Seen) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _play(self, answer: Answer, send: Any) -> None:
        if answer.before is not None:
            await answer.before.passed()
        headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        for step in answer.steps:
            if isinstance(step, Gate):
                await step.passed()
            elif isinstance(step, Cut):
                raise ConnectionAbortedError
            else:
                await send({"type": "http.response.body", "body": step, "more_body": True})
                self.sent += len(step)
        await send({"type": "http.response.body", "body": b""})


def chunk(text: str | None = None, *, finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    """One chunk of an upstream's stream."""
    delta = {} if text is None else {"content": text}
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    body = {"id": "up", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    return f"data: {json.dumps(body, ensure_ascii=False)}\n\n".encode()


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
DONE = b"data: [DONE]\n\n"


def stream(text: str, *, size: int = 5, finish: str = "stop") -> list[Step]:
    """A whole stream: the text in pieces, the reason, the usage, and the end."""
    pieces = [chunk(text[at : at + size]) for at in range(0, len(text), size)]
    usage = {"id": "up", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": USAGE}
    return [*pieces, chunk(finish=finish), f"data: {json.dumps(usage)}\n\n".encode(), DONE]


def whole(text: str, *, finish: str = "stop") -> Answer:
    """An answer that is no stream."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    body = {"id": "up", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    return as_json(body)


def as_json(body: Any, status: int = 200, **headers: str) -> Answer:
    return Answer([json.dumps(body).encode()], status, {"content-type": "application/json", **headers})


def reply(text: str) -> Callable[[Seen], Answer]:
    """Say the same to everybody, as a stream or not."""
    return lambda seen: Answer(stream(text)) if seen.json.get("stream") else whole(text)


@dataclass
class World:
    """A server in front of an upstream, and a client for it."""

    upstream: Upstream
    server: Server
    client: httpx2.Client
    app: Any

    @property
    def url(self) -> str:
        return self.server.url

    def post(self, path: str = "/v1/chat/completions", *, timeout: float = PATIENCE, **more: Any) -> httpx2.Response:
        return self.client.post(path, json={**BODIES[path], **more}, timeout=timeout)

    def metric(self, name: str, **labels: str) -> float:
        """The numbers of a metric on /metrics, added up: of all its series, or of those with some labels."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        lines = [line for line in self.client.get("/metrics").text.split("\n") if line.startswith(name)]
        return sum(float(line.rpartition(" ")[2]) for line in lines if all(each in line for each in wanted))


@contextmanager
def world(upstream: Upstream, *, grace: int = 5, base: str = "/v1", **config: Any) -> Iterator[World]:
    """Run an upstream and the server in front of it."""
    with ExitStack() as stack:
        behind = stack.enter_context(serving(upstream, timeout_graceful_shutdown=1))
        app = create_app(ServeConfig(upstream=behind.url + base, **config))
        server = stack.enter_context(serving(app, timeout_graceful_shutdown=grace))
        client = stack.enter_context(httpx2.Client(base_url=server.url, timeout=PATIENCE, trust_env=False))
        yield World(upstream, server, client, app)
        client.close()
        server.ask_to_stop()
        behind.ask_to_stop()  # both at once: each takes a moment


def eventually(condition: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"it never happened that {what}"
        pause.wait(0.005)


@pytest.mark.parametrize(
    ("base", "target"),
    [(base, "/v1/chat/completions") for base in ("", "/", "/v1")] + [("/api/v3/", "/api/v3/chat/completions")],
)
def test_an_upstream_without_a_path_has_its_api_below_v1(base: str, target: str) -> None:
    with world(Upstream(make=reply("Hi")), base=base) as it:
        assert it.post().status_code == 200
    assert it.upstream.seen[0].target == target


CLIENT_KEYS = [{"authorization": "Bearer client"}, {"x-api-key": "client"}]


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("headers", CLIENT_KEYS)
def test_the_clients_key_goes_to_the_upstream_in_the_form_that_it_reads(path: str, headers: dict[str, str]) -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        it.client.headers.update(headers)
        it.post(path)
    assert it.upstream.seen[0].header("authorization") == "Bearer client"
    assert it.upstream.seen[0].header("x-api-key") is None


@pytest.mark.parametrize("path", [*BODIES, "/v1/embeddings"])
def test_the_upstreams_own_key_takes_the_place_of_the_clients(path: str) -> None:
    with world(Upstream(make=reply("Hi")), upstream_key="up") as it:
        it.client.headers.update({"authorization": "Bearer client", "x-api-key": "client"})
        it.client.post(path, json=BODIES.get(path, {}))
    headers = it.upstream.seen[0].headers
    assert ("authorization", "Bearer up") in headers
    assert not [name for name, value in headers if "client" in value]


def repeated(key: str, how: str) -> Callable[[Seen], Answer]:
    """An upstream that repeats the key it got, in one of the ways in which errors are said."""

    def say(seen: Seen) -> Answer:
        given = seen.header("authorization")
        error = json.dumps({"error": {"message": f"you sent {given}", "code": 400}}).encode()
        headers = {"content-type": "application/json", "x-ratelimit-key": str(given)}
        if how == "in a 400":
            return Answer([error], 400, headers)
        if how == "compressed":
            return Answer([gzip.compress(error)], 400, {**headers, "content-encoding": "gzip"})
        if seen.json.get("stream"):
            return Answer([b"data: " + error + b"\n\n"])
        return Answer([error], headers=headers)

    return say


@pytest.mark.parametrize("key", ["sk-upstream-1234", 'sk-"quoted\\"', "up"])
@pytest.mark.parametrize("how", ["in a 400", "in a 200", "compressed"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("path", [*BODIES, "/v1/embeddings"])
def test_an_upstream_that_repeats_its_key_does_not_tell_it_to_clients(
    path: str, stream: bool, how: str, key: str
) -> None:
    if path not in BODIES and how == "in a 200":
        return  # passed on as it is
    with world(Upstream(make=repeated(key, how)), upstream_key=key) as it:
        answers = [it.post(path, stream=stream) if path in BODIES else it.client.post(path, json={})]
        if how != "in a 200":  # without tools a request passes as it is
            answers.append(it.client.post("/v1/chat/completions", json={"model": "m", "messages": MESSAGES}))
    for answer in answers:
        assert f"Bearer {key}" not in answer.text + str(answer.headers)
        assert json.dumps(f"Bearer {key}")[1:-1] not in answer.text
        assert answer.status_code == (400 if how != "in a 200" else answer.status_code)
        assert "[a key]" in answer.text or how == "compressed" or (how == "in a 200" and not stream)


@pytest.mark.parametrize("path", [*BODIES, "/v1/embeddings"])
@pytest.mark.parametrize("headers", [{"authorization": "Bearer own"}, {"x-api-key": "own"}])
def test_the_servers_own_key_is_never_passed_on(path: str, headers: dict[str, str]) -> None:
    with world(Upstream(make=reply("Hi")), api_key="own") as it:
        it.client.headers.update(headers)
        assert it.client.post(path, json=BODIES.get(path, {})).status_code == 200
    assert not [name for name, value in it.upstream.seen[0].headers if "own" in value]


def test_nothing_in_a_request_leads_elsewhere() -> None:
    elsewhere = {"base_url": "http://127.0.0.1:1/", "api_base": "http://127.0.0.1:1/", "api_key": "k"}
    with world(Upstream(make=reply("Hi"))) as it:
        response = it.client.post(
            "/v1/chat/completions",
            json={**BODIES["/v1/chat/completions"], **elsewhere},
            headers={"x-forwarded-host": "127.0.0.1:1"},
        )
        assert response.status_code == 200
    assert len(it.upstream.seen) == 1


def test_ids_and_traces_go_along() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with world(Upstream(make=reply("Hi"))) as it:
        it.client.headers.update({"x-request-id": "my-id.1", "traceparent": trace, "tracestate": "a=b"})
        response = it.post()
        given = it.upstream.seen[0]
        assert response.headers["x-request-id"] == response.headers["request-id"] == given.header("x-request-id")
        assert response.headers["x-request-id"] == "my-id.1"
        assert (given.header("traceparent"), given.header("tracestate")) == (trace, "a=b")


@pytest.mark.parametrize("given", ["", "two words", "x" * 200, 'a"b'])
def test_an_id_that_is_no_plain_word_is_replaced(given: str) -> None:
    with world(Upstream(make=reply("Hi"))) as it:
        response = it.client.get("/healthz", headers={"x-request-id": given})
    assert response.headers["x-request-id"].startswith("req_")


def test_what_one_client_is_told_to_remember_is_not_sent_for_another() -> None:
    cookie = {"content-type": "application/json", "set-cookie": "session=1; Path=/"}
    with world(Upstream(make=lambda seen: Answer([b"{}"], headers=cookie))) as it:
        first = it.client.get("/v1/files", headers={"cookie": "other=2"})
        it.client.get("/v1/files")
    assert "set-cookie" not in first.headers
    assert [seen.header("cookie") for seen in it.upstream.seen] == [None, None]
