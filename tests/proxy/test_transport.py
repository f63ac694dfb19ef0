"""The transports under the official clients, over a socket, with a model behind them that only writes text."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import pytest

from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.parser import Parser
from xmltools.proxy.bridge import Exchange, Settings

anthropic = pytest.importorskip("anthropic")
httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from starlette.applications import Starlette  # noqa: E402
from starlette.requests import Request  # noqa: E402
from starlette.responses import JSONResponse, Response, StreamingResponse  # noqa: E402
from starlette.routing import Route  # noqa: E402

from proxy.running import running  # noqa: E402
from xmltools.proxy import transport  # noqa: E402
from xmltools.proxy.server import ServeConfig  # noqa: E402
from xmltools.proxy.transport import AsyncXMLToolsTransport, XMLToolsTransport  # noqa: E402

PATIENCE = 20
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "weather", "description": "Look.", "parameters": CITY}}]
FLAT_TOOLS: Any = [{"type": "function", "name": "weather", "description": "Look.", "parameters": CITY, "strict": False}]
ANTHROPIC_TOOLS: Any = [{"name": "weather", "description": "Look.", "input_schema": CITY}]
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}

apis = pytest.mark.parametrize("api", ["chat", "messages", "responses"])
modes = pytest.mark.parametrize("mode", ["create", "helper"])
colours = pytest.mark.parametrize("colour", ["sync", "async"])


def block(city: str, days: object = 2) -> str:
    return (
        "<tool><server_name>local</server_name><tool_name>weather</tool_name>"
        f"<arguments><city>{city}</city><days>{days}</days></arguments></tool>"
    )


CALLS = "I'll look.\n" + block("Oslo")


@dataclass
class Reply:
    """What the upstream does once."""

    text: str = ""
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    finish: str | None = "stop"
    size: int = 5
    ending: str = "done"
    """How a stream ends: "done", "cut" (the connection breaks), "stall" (nothing more comes), or a last event."""


class Upstream:
    """A server of chat completions without function calling: it writes the replies that it was given, one a request."""

    def __init__(self, *replies: Reply, pick: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        self.replies = iter(replies)
        self.pick = pick
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        self.left = threading.Event()
        self.app = Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> Response:
        raw = await request.body()
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        chat = request.url.path.endswith("/chat/completions")
        body = json.loads(raw) if chat else None
        self.seen.append((target, dict(request.headers), body))
        if not chat:
            return JSONResponse({"path": target, "raw": raw.decode()}, headers={"x-own": "1"})
        reply = self.pick(body) if self.pick is not None else next(self.replies)
        head = {"x-request-id": "req_7", **reply.headers}
        if reply.body is not None or reply.status != 200:
            return JSONResponse(reply.body, status_code=reply.status, headers=head)
        if body.get("stream"):
            return StreamingResponse(self.stream(reply), media_type="text/event-stream", headers=head)
        return JSONResponse(completion(reply), headers=head)

    async def stream(self, reply: Reply) -> AsyncIterator[bytes]:
        try:
            for piece in map(sse, chunks(reply)):
                yield piece
            if reply.ending == "cut":
                raise ConnectionError
            if reply.ending == "stall":
                await asyncio.Event().wait()
            yield b"data: [DONE]\n\n" if reply.ending == "done" else f"data: {reply.ending}\n\n".encode()
        finally:
            self.left.set()

    def body(self, index: int = -1) -> Any:
        return self.seen[index][2]

    def said(self, index: int = -1) -> str:
        return "\n".join(f"{each['role']}: {each['content']}" for each in self.body(index)["messages"])


def sse(chunk: Any) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    head = {"id": "u", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = [reply.text[at : at + reply.size] for at in range(0, len(reply.text), reply.size)]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": {"content": delta}, "finish_reason": None}]}
    if reply.finish is not None and reply.ending != "cut" and reply.ending != "stall":
        yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reply.finish}]}
        yield {**head, "choices": [], "usage": USAGE}


def completion(reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    return {"id": "u", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}


@dataclass
class Answer:
    """What a client made of a reply, whatever its API."""

    text: str
    calls: list[tuple[str, Any]]
    whole: Any = None


class House:
    """One server for many upstreams, each under a name of its own, which begins its paths."""

    def __init__(self) -> None:
        self.url = ""
        self.models: dict[str, Upstream] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            name, _, rest = scope["path"].removeprefix("/").partition("/")
            scope = {**scope, "path": f"/{rest}"}
            await self.models[name].app(scope, receive, send)


HOUSE = House()


@pytest.fixture(scope="module", autouse=True)
def house() -> Iterator[None]:
    with running(HOUSE, lifespan="off") as HOUSE.url:
        yield


@contextmanager
def upstream(*replies: Reply, pick: Callable[[dict[str, Any]], Reply] | None = None) -> Iterator[tuple[Upstream, str]]:
    name = str(len(HOUSE.models))
    HOUSE.models[name] = Upstream(*replies, pick=pick)
    yield HOUSE.models[name], f"{HOUSE.url}/{name}"


def request_of(api: str, history: Any = None, **more: Any) -> dict[str, Any]:
    messages = history or [{"role": "user", "content": "Weather in Oslo?"}]
    if api == "messages":
        return {"model": "m", "max_tokens": 99, "messages": messages, "tools": ANTHROPIC_TOOLS, **more}
    if api == "responses":
        return {"model": "m", "input": messages, "tools": FLAT_TOOLS, **more}
    return {"model": "m", "messages": messages, "tools": CHAT_TOOLS, **more}


def client_of(api: str, url: str, http: Any) -> Any:
    name = ("Async" if isinstance(http, httpx2.AsyncClient) else "") + ("Anthropic" if api == "messages" else "OpenAI")
    base = url if api == "messages" else f"{url}/v1"
    library = anthropic if api == "messages" else openai
    return getattr(library, name)(api_key="key-1", base_url=base, http_client=http, max_retries=0)


def resource(client: Any, api: str) -> Any:
    return client.chat.completions if api == "chat" else getattr(client, api)


def final_of(stream: Any, api: str) -> Any:
    finals = {"chat": "get_final_completion", "messages": "get_final_message", "responses": "get_final_response"}
    return getattr(stream, finals[api])()


def ask(api: str, mode: str, colour: str, url: str, *, options: Any = None, **more: Any) -> Answer:
    """Send one request with a client of its own, and say what came."""
    if colour == "async":
        return asyncio.run(ask_async(api, mode, url, options or {}, more))
    with httpx2.Client(transport=XMLToolsTransport(**(options or {}))) as http:
        client, body = client_of(api, url, http), request_of(api, **more)
        if mode == "create":
            return read_whole(api, resource(client, api).create(**body))
        with resource(client, api).stream(**body) as stream:
            list(stream)
            return read_whole(api, final_of(stream, api))


async def ask_async(api: str, mode: str, url: str, options: Any, more: Any) -> Answer:
    async with httpx2.AsyncClient(transport=AsyncXMLToolsTransport(**options)) as http:
        client, body = client_of(api, url, http), request_of(api, **more)
        if mode == "create":
            return read_whole(api, await resource(client, api).create(**body))
        async with resource(client, api).stream(**body) as stream:
            _ = [event async for event in stream]
            return read_whole(api, await final_of(stream, api))


def read_whole(api: str, whole: Any) -> Answer:
    if api == "messages":
        text = "".join(part.text for part in whole.content if part.type == "text")
        calls = [(part.name, part.input) for part in whole.content if part.type == "tool_use"]
        return Answer(text, calls, whole)
    if api == "responses":
        calls = [(item.name, json.loads(item.arguments)) for item in whole.output if item.type == "function_call"]
        return Answer(whole.output_text, calls, whole)
    message = whole.choices[0].message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    return Answer(message.content or "", calls, whole)


def read_chat_events(events: list[Any]) -> Answer:
    text, calls = "", []
    for choice in (choice for event in events for choice in event.choices):
        text += choice.delta.content or ""
        for call in choice.delta.tool_calls or ():
            if call.id:
                calls.append([call.function.name, ""])
            calls[call.index][1] += call.function.arguments or ""
    return Answer(text, [(name, json.loads(arguments)) for name, arguments in calls])


# Calls


@apis
@modes
@colours
def test_every_client_gets_text_and_a_call_with_types(api: str, mode: str, colour: str) -> None:
    with upstream(Reply(CALLS)) as (model, url):
        answer = ask(api, mode, colour, url)
    assert answer.calls == [("weather", {"city": "Oslo", "days": 2})]
    assert answer.text.rstrip("\n") == "I'll look."
    path, headers, body = model.seen[0]
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer key-1"
    assert headers["accept-encoding"] == "identity"
    assert not [name for name in headers if name.startswith(("x-api-key", "anthropic-"))]
    assert body.get("stream", False) is (mode != "create")
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & set(body)
    assert "weather" in body["messages"][0]["content"]
    assert body["messages"][0]["role"] == "system"


HISTORY: dict[str, Callable[[Any], list[Any]]] = {
    "chat": lambda message: [
        message.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": message.choices[0].message.tool_calls[0].id, "content": "Rain."},
    ],
    "messages": lambda message: [
        {"role": "assistant", "content": [part.model_dump(exclude_none=True) for part in message.content]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": part.id, "content": "Rain."}
                for part in message.content
                if part.type == "tool_use"
            ],
        },
    ],
    "responses": lambda response: [
        *(item.model_dump(exclude_none=True) for item in response.output),
        *(
            {"type": "function_call_output", "call_id": item.call_id, "output": "Rain."}
            for item in response.output
            if item.type == "function_call"
        ),
    ],
}


@apis
@colours
def test_a_tool_loop_of_two_turns_ends_with_an_answer(api: str, colour: str) -> None:
    with upstream(Reply(CALLS), Reply("It rains in Oslo.")) as (model, url):
        first = ask(api, "create", colour, url)
        history = [{"role": "user", "content": "Weather in Oslo?"}, *HISTORY[api](first.whole)]
        second = ask(api, "helper", colour, url, history=history)
    assert (second.text, second.calls) == ("It rains in Oslo.", [])
    assert "<tool_name>weather</tool_name>" in model.said()
    assert "Tool: weather\nResult: Rain." in model.said()


@modes
@colours
def test_an_upstream_that_fails_while_asked_again_is_an_error_of_the_client(mode: str, colour: str) -> None:
    refused = Reply(status=503, body={"error": {"message": "overloaded"}})
    with (
        upstream(Reply(block("Oslo", "many")), refused) as (_, url),
        pytest.raises(openai.APIError, match="overloaded"),
    ):
        ask("chat", mode, colour, url, options={"settings": Settings(retries=1)})


# Errors

ERRORS = [
    (401, "AuthenticationError", {"error": {"message": "no such key", "type": "auth", "code": None, "param": None}}),
    (429, "RateLimitError", {"error": {"message": "no such key"}}),
    (500, "InternalServerError", {"detail": "no such key"}),
    (400, "BadRequestError", {"object": "error", "message": "no such key"}),
]


@apis
@modes
@colours
@pytest.mark.parametrize(("status", "name", "body"), ERRORS)
def test_an_error_before_the_first_byte_keeps_status_message_and_headers(
    api: str, mode: str, colour: str, status: int, name: str, body: Any
) -> None:
    library = anthropic if api == "messages" else openai
    reply = Reply(status=status, body=body, headers={"retry-after": "9"})
    with upstream(reply) as (_, url), pytest.raises(getattr(library, name)) as caught:
        ask(api, mode, colour, url)
    assert caught.value.status_code == status
    assert caught.value.response.headers["retry-after"] == "9"
    answered = caught.value.response.json()
    assert answered == body if api != "messages" else answered["error"]["message"] == "no such key"
    if api == "messages":
        assert answered["type"] == "error"
        assert caught.value.request_id == "req_7"


BREAKS = ["cut", '{"error": {"message": "broke off"}}', "no JSON", "[1]"]


@apis
@colours
@pytest.mark.parametrize("ending", BREAKS)
def test_what_goes_wrong_later_raises_in_the_client(api: str, colour: str, ending: str) -> None:
    """The helper for responses gets the failure, and misses the end."""
    error = {"chat": openai.APIError, "messages": anthropic.APIError, "responses": RuntimeError}[api]
    with upstream(Reply("Some text. " * 4, finish=None, ending=ending)) as (_, url), pytest.raises(error):
        ask(api, "helper", colour, url)


@colours
def test_an_upstream_that_falls_silent_is_an_error_and_not_a_hanging_client(colour: str) -> None:
    with upstream(Reply("Text.", ending="stall")) as (_, url), pytest.raises(openai.APIError, match="ReadTimeout"):
        ask("chat", "helper", colour, url, timeout=0.2)
    with upstream(Reply(ending="stall")) as (_, url), pytest.raises(openai.APITimeoutError):
        ask("chat", "helper", colour, url, timeout=0.2)


@colours
def test_no_connection_is_the_clients_own_error(colour: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(openai.APIConnectionError):
        ask("chat", "create", colour, url)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe{", b"[" * 100_000, b'"' + b"x" * 2000 + b'"'])
@apis
def test_a_body_that_is_none_or_too_large_is_refused(api: str, content: bytes) -> None:
    path = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}[api]
    inner = httpx2.MockTransport(lambda request: pytest.fail("sent"))
    with httpx2.Client(transport=XMLToolsTransport(inner, max_body=1000)) as http:
        pieces = (content[at : at + 64] for at in range(0, len(content), 64))
        for body in (content, pieces):
            response = http.post(f"http://upstream{path}", content=body)
            assert response.status_code == (413 if len(content) > 1000 else 400)
            assert re.match("the (request|body)", response.json()["error"]["message"])


# Streams


@colours
def test_closing_a_response_early_closes_the_upstream(colour: str) -> None:
    with upstream(Reply("Text. " * 50, ending="stall")) as (model, url):
        if colour == "sync":
            with httpx2.Client(transport=XMLToolsTransport()) as http:
                client = client_of("chat", url, http)
                stream = client.chat.completions.create(**request_of("chat"), stream=True)
                assert next(iter(stream)).choices
                stream.close()
                assert model.left.wait(PATIENCE)
        else:
            asyncio.run(leave_early(model, url))


async def leave_early(model: Upstream, url: str) -> None:
    async with httpx2.AsyncClient(transport=AsyncXMLToolsTransport()) as http:
        client = client_of("chat", url, http)
        stream = await client.chat.completions.create(**request_of("chat"), stream=True)
        assert (await anext(aiter(stream))).choices
        await stream.close()
        assert await asyncio.to_thread(model.left.wait, PATIENCE)


def test_a_task_that_is_cancelled_closes_the_upstream() -> None:
    async def cancelled(model: Upstream, url: str) -> None:
        started = asyncio.Event()

        async def read() -> None:
            async with httpx2.AsyncClient(transport=AsyncXMLToolsTransport()) as http:
                create = client_of("chat", url, http).chat.completions.create
                async with await create(**request_of("chat"), stream=True) as stream:
                    async for _ in stream:
                        started.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(started.wait(), PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(model.left.wait, PATIENCE)

    with upstream(Reply("Text. " * 50, ending="stall")) as (model, url):
        asyncio.run(cancelled(model, url))


class Pulled(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """A body that counts what was read of it."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.pulled = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.pulled += 1
            yield piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


def mocked(body: Pulled) -> Any:
    head = {"content-type": "text/event-stream"}
    return httpx2.MockTransport(lambda request: httpx2.Response(200, headers=head, stream=body))


def test_the_upstream_is_read_only_as_far_as_the_client_reads() -> None:
    body = Pulled([sse(chunk) for chunk in chunks(Reply("word " * 1000))])
    with httpx2.Client(transport=XMLToolsTransport(mocked(body))) as http:
        stream = client_of("chat", "http://u", http).chat.completions.create(**request_of("chat"), stream=True)
        assert body.pulled == 1
        events = iter(stream)
        text = [next(events).choices[0].delta.content or "" for _ in range(10)]
        assert "".join(text).startswith("word word ")
        assert body.pulled <= 11
        stream.close()
    assert body.closed


def test_a_single_call_ends_the_upstream_where_no_more_is_wanted() -> None:
    body = Pulled([sse(chunk) for chunk in chunks(Reply(block("Oslo") + block("Rome") * 50))])
    with httpx2.Client(transport=XMLToolsTransport(mocked(body))) as http:
        create = client_of("chat", "http://u", http).chat.completions.create
        events = list(create(**request_of("chat"), stream=True, parallel_tool_calls=False))
    assert read_chat_events(events).calls == [("weather", {"city": "Oslo", "days": 2})]
    assert body.pulled < 50
    assert body.closed


def test_many_threads_with_one_client_get_their_own_calls() -> None:
    def pick(body: Any) -> Reply:
        return Reply(block(body["messages"][-1]["content"]), size=3)

    with upstream(pick=pick) as (_, url), httpx2.Client(transport=XMLToolsTransport()) as http:
        client = client_of("chat", url, http)

        def one(number: int) -> tuple[int, Answer]:
            body = request_of("chat", [{"role": "user", "content": f"city {number}"}])
            return number, read_chat_events(list(client.chat.completions.create(**body, stream=True)))

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(one, range(64)))
    assert all(answer.calls == [("weather", {"city": f"city {number}", "days": 2})] for number, answer in answers)


def test_many_tasks_with_one_client_get_their_own_calls() -> None:
    async def one(client: Any, number: int) -> None:
        body = request_of("messages", [{"role": "user", "content": f"city {number}"}])
        async with client.messages.stream(**body) as stream:
            message = await stream.get_final_message()
        assert read_whole("messages", message).calls == [("weather", {"city": f"city {number}", "days": 2})]

    async def everyone(url: str) -> None:
        async with httpx2.AsyncClient(transport=AsyncXMLToolsTransport()) as http:
            client = client_of("messages", url, http)
            await asyncio.gather(*(one(client, number) for number in range(64)))

    with upstream(pick=lambda body: Reply(block(body["messages"][-1]["content"]), size=3)) as (_, url):
        asyncio.run(everyone(url))


# What passes through, and where to


UNTOUCHED = [
    ("GET", "/v1/models", b""),
    ("GET", "/v1/messages", b""),
    ("POST", "/v1/embeddings", b'{"input": 1}'),
    ("POST", "/v1/threads/thread_1/messages", b'{"role": "user"}'),
    ("POST", "/v1/chat/completions/x?a=b", b"no JSON"),
]


@pytest.mark.parametrize(("method", "path", "content"), UNTOUCHED)
@colours
def test_anything_else_passes_through_untouched(method: str, path: str, content: bytes, colour: str) -> None:
    with upstream() as (model, url):
        sent = {"method": method, "url": url + path, "content": content, "headers": {"x-api-key": "k", "x-mine": "1"}}
        if colour == "sync":
            with httpx2.Client(transport=XMLToolsTransport()) as http:
                response = http.request(**sent)
        else:

            async def request() -> Any:
                async with httpx2.AsyncClient(transport=AsyncXMLToolsTransport()) as http:
                    return await http.request(**sent)

            response = asyncio.run(request())
    assert response.json() == {"path": path, "raw": content.decode()}
    assert response.headers["x-own"] == "1"
    assert model.seen[0][1]["x-api-key"] == "k"
    assert model.seen[0][1]["x-mine"] == "1"


@colours
def test_tokens_are_estimated_without_asking_the_upstream(colour: str) -> None:
    inner = httpx2.MockTransport(lambda request: pytest.fail("sent"))
    asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Weather in Oslo?"}]}

    def counts(tools: list[Any]) -> int:
        if colour == "sync":
            with httpx2.Client(transport=XMLToolsTransport(inner)) as http:
                client = client_of("messages", "http://u", http)
                return int(client.messages.count_tokens(**asked, tools=tools).input_tokens)

        async def count() -> int:
            async with httpx2.AsyncClient(transport=AsyncXMLToolsTransport(inner)) as http:
                counted = await client_of("messages", "http://u", http).messages.count_tokens(**asked, tools=tools)
                return int(counted.input_tokens)

        return asyncio.run(count())

    assert 0 < counts([]) < counts(ANTHROPIC_TOOLS)
    with httpx2.Client(transport=XMLToolsTransport(inner)) as http:
        response = http.post("http://u/v1/messages/count_tokens", json={"messages": "Hi"})
    assert (response.status_code, response.json()["type"]) == (400, "error")


@pytest.mark.parametrize("stream", [False, True])
@colours
def test_a_chat_without_tools_passes_through_byte_by_byte(stream: bool, colour: str) -> None:
    body = b'{ "model":"m", "messages": [{"role":"user","content":"Hi"}],"stream":%s,"odd" : 1e2 }'
    body %= json.dumps(stream).encode()
    with upstream(Reply(CALLS, headers={"x-odd": "1"}), Reply(CALLS)) as (_, url):
        plain = httpx2.post(f"{url}/v1/chat/completions", content=body)
    seen: list[Any] = []
    with upstream(Reply(CALLS, headers={"x-odd": "1"})) as (model, url):
        address = f"{url}/v1/chat/completions"
        if colour == "sync":
            with httpx2.Client(transport=XMLToolsTransport(on_exchange=seen.append)) as http:
                response = http.post(address, content=(body[at : at + 9] for at in range(0, len(body), 9)))
        else:

            async def post() -> Any:
                async with httpx2.AsyncClient(transport=AsyncXMLToolsTransport(on_exchange=seen.append)) as http:
                    return await http.post(address, content=body)

            response = asyncio.run(post())
    assert response.content == plain.content
    assert response.headers["x-odd"] == "1"
    assert "gzip" in model.seen[0][1]["accept-encoding"]
    assert model.body()["odd"] == 100
    assert seen[0].plain


PLACES = [
    ("/v1/messages?beta=true", None, "/v1/chat/completions"),
    ("/a%2Fb/v1/messages", None, "/a%2Fb/v1/chat/completions"),
    (
        "/openai/deployments/d/chat/completions?api-version=1",
        None,
        "/openai/deployments/d/chat/completions?api-version=1",
    ),
    ("/v1/responses", "/api/v3/chat", "/api/v3/chat"),
    ("/v1/messages", "/chat/completions", "/chat/completions"),
]


@pytest.mark.parametrize(("path", "upstream_path", "expected"), PLACES)
def test_a_request_goes_to_the_chat_completions_of_the_same_origin(
    path: str, upstream_path: str | None, expected: str
) -> None:
    sent: list[Any] = []

    def answer(request: Any) -> Any:
        sent.append(request)
        return httpx2.Response(200, json=completion(Reply(CALLS)))

    api = "messages" if "messages" in path else "responses" if "responses" in path else "chat"
    inner = httpx2.MockTransport(answer)
    with httpx2.Client(transport=XMLToolsTransport(inner, upstream_path=upstream_path)) as http:
        response = http.post(f"https://user.example:8443{path}", json=request_of(api))
    assert response.status_code == 200
    assert response.headers["content-length"] == str(len(response.content))
    assert sent[0].url.raw_path.decode() == expected
    assert (sent[0].url.scheme, sent[0].url.host, sent[0].url.port) == ("https", "user.example", 8443)
    assert sent[0].headers["host"] == "user.example:8443"
    assert sent[0].headers["content-length"] == str(len(sent[0].content))


def test_a_bearer_token_is_kept_where_an_anthropic_client_has_one() -> None:
    with upstream(Reply(CALLS)) as (model, url), httpx2.Client(transport=XMLToolsTransport()) as http:
        client = anthropic.Anthropic(auth_token="token-1", api_key=None, base_url=url, http_client=http)
        client.messages.create(**request_of("messages"))
    assert model.seen[0][1]["authorization"] == "Bearer token-1"


def test_an_upstream_that_compresses_all_the_same_is_understood() -> None:
    import gzip

    body = Pulled([gzip.compress(b"".join(map(sse, chunks(Reply(CALLS)))) + b"data: [DONE]\n\n")])
    head = {"content-type": "text/event-stream", "content-encoding": "gzip", "content-length": "1"}
    inner = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=head, stream=body))
    with httpx2.Client(transport=XMLToolsTransport(inner)) as http:
        create = client_of("chat", "http://u", http).chat.completions.create
        assert read_chat_events(list(create(**request_of("chat"), stream=True))).calls


@pytest.mark.parametrize("status", [301, 307], ids=["moved", "temporary"])
def test_a_redirect_of_translated_messages_is_an_error(status: int) -> None:
    inner = httpx2.MockTransport(lambda request: httpx2.Response(status, headers={"location": "https://else.example/"}))
    with httpx2.Client(transport=XMLToolsTransport(inner), follow_redirects=True) as http:
        response = http.post("https://user.example/v1/messages", json=request_of("messages"))
    assert response.status_code == 502
    assert response.json()["type"] == "error" and "redirects are not followed" in response.text


NO_ANSWERS = [
    ("<!DOCTYPE html><title>Log in</title>", "text/html", 200, "a web page, no JSON; check its URL"),
    ("\n<html>", "text/plain", 200, "a web page, no JSON; check its URL"),
    ("[1]", "application/json", 200, "no JSON object"),
    ('{"id": 1}', "application/json", 200, "no chat completion"),
    ("<html>", "text/html", 404, "the upstream answered with status 404"),
]


@pytest.mark.parametrize(
    ("body", "kind", "status", "told"), NO_ANSWERS, ids=["page", "typeless", "list", "other", "404"]
)
@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_that_is_none_says_what_it_is(body: str, kind: str, status: int, told: str, streams: bool) -> None:
    answer = httpx2.Response(status, headers={"content-type": kind}, content=body.encode())
    with httpx2.Client(transport=XMLToolsTransport(httpx2.MockTransport(lambda request: answer))) as http:
        response = http.post("https://user.example/v1/messages", json={**request_of("messages"), "stream": streams})
    assert response.status_code == (502 if status == 200 else status)
    assert told in response.json()["error"]["message"]


# The host


def test_the_host_sees_what_became_of_a_request() -> None:
    seen: list[Exchange] = []
    heard: list[Any] = []

    def watch(exchange: Exchange) -> None:
        seen.append(exchange)
        exchange.on_event = lambda choice, event: heard.append((choice, type(event).__name__))

    with upstream(Reply(CALLS)) as (_, url):
        ask("chat", "helper", "sync", url, options={"on_exchange": watch})
    assert seen[0].stats.usage == USAGE
    assert (0, "CallCompleted") in heard


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"upstream_path": "https://evil.example/v1"}, "upstream_path"),
        ({"upstream_path": "v1/chat"}, "upstream_path"),
        ({"upstream_path": "/v1?x"}, "upstream_path"),
        ({"upstream_path": "/v1\r\nx"}, "upstream_path"),
        ({"max_body": 0}, "max_body"),
        ({"max_body": True}, "max_body"),
    ],
)
@pytest.mark.parametrize("kind", [XMLToolsTransport, AsyncXMLToolsTransport])
def test_options_that_are_none_are_refused(kind: Any, options: Any, words: str) -> None:
    with pytest.raises(XMLToolsError, match=words):
        kind(**options)


def test_closing_a_client_closes_the_inner_transport() -> None:
    class Inner(httpx2.BaseTransport):
        closed = False

        def close(self) -> None:
            self.closed = True

    inner = Inner()
    with httpx2.Client(transport=XMLToolsTransport(inner)):
        assert not inner.closed
    assert inner.closed


def test_without_httpx2_the_import_says_what_to_install() -> None:
    program = "import sys; sys.modules['httpx2'] = None\nimport xmltools.proxy.bridge\nimport xmltools.proxy.transport"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert answer.returncode == 1
    assert answer.stderr.strip().endswith(install_line("serve"))


def test_the_example_of_the_module_runs_as_it_stands() -> None:
    first, second = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", transport.__doc__ or "", re.MULTILINE)
    with upstream(Reply(block("Oslo").replace("<days>2</days>", ""))) as (_, url):
        code = "\n".join(line.strip() for line in first.splitlines()[:1]).replace("http://127.0.0.1:8000", url)
        code += "\n" + re.sub(r"^    ", "", second, flags=re.MULTILINE)
        out = StringIO()
        names: dict[str, Any] = {"OpenAI": lambda **more: openai.OpenAI(api_key="k", **more), "httpx2": httpx2}
        names["XMLToolsTransport"] = XMLToolsTransport
        with redirect_stdout(out):
            exec(compile(code, "transport.py", "exec"), names)
        names["client"].close()
    assert out.getvalue() == 'weather {"city":"Oslo"}\n'


def test_a_client_of_another_library_is_told_what_to_do() -> None:
    request = type("Request", (), {"__module__": "httpx._models"})()
    with pytest.raises(XMLToolsError, match=r"httpx2\.Client, and this is a client of httpx; make it with httpx2"):
        XMLToolsTransport().handle_request(request)
    with pytest.raises(XMLToolsError, match=r"httpx2\.AsyncClient"):
        asyncio.run(AsyncXMLToolsTransport().handle_async_request(request))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Settings(retry=2), TypeError, "no field 'retry'; did you mean retries?"),
        (lambda: Settings(strict=True), TypeError, "did you mean strict_"),
        (lambda: Settings(qqq=True), TypeError, "there are style, "),
        (lambda: XMLToolsTransport(settings="hermes"), XMLToolsError, "write Settings(dialect='hermes')"),
        (lambda: ServeConfig(demo=True, settings={"retries": 2}), XMLToolsError, "settings: expected Settings"),
        (lambda: Settings(strict_calls="false"), XMLToolsError, "strict_calls: expected True or False, got 'false'"),
        (lambda: Settings(style=[]), XMLToolsError, "style: expected 'full' or 'compact', got []"),
        (lambda: Settings(dialects={"": "glm"}), XMLToolsError, "before the dialect 'glm', got ''"),
        (lambda: ServeConfig(upstream=5), XMLToolsError, "upstream: expected a URL such as http://localhost:8000/v1"),
        (lambda: ServeConfig(demo=1), XMLToolsError, "demo: expected True or False, got 1"),
        (lambda: ServeConfig(demo=True, live="no"), XMLToolsError, "live: expected True or False, got 'no'"),
        (lambda: ServeConfig(demo=True, host=5), XMLToolsError, "host: expected a string, got 5"),
        (lambda: ServeConfig(demo=True, record=5), XMLToolsError, "record: expected a path or None, got 5"),
        (lambda: ServeConfig(demo=True, hosts="a.b"), XMLToolsError, "hosts: expected a list of strings, got 'a.b'"),
        (lambda: ServeConfig(demo=True, origins=[5]), XMLToolsError, "origins: expected a list of strings, got [5]"),
        (
            lambda: ServeConfig(demo=True, api_key=b"sk-1"),
            XMLToolsError,
            "api_key: expected a string or None, got bytes",
        ),
        (lambda: XMLToolsTransport(upstream_path=5), XMLToolsError, "upstream_path: expected a string or None, got 5"),
        (lambda: XMLToolsTransport(on_exchange=5), XMLToolsError, "on_exchange: expected a function or None, got 5"),
        (lambda: XMLToolsTransport(httpx2.AsyncHTTPTransport()), XMLToolsError, "such as httpx2.HTTPTransport(), got"),
        (lambda: Parser(limits=5), (XMLToolsError, TypeError), "Limits"),
    ],
)
def test_options_that_are_none_are_refused_where_they_are_given(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)):
        make()
