"""The official clients against the server: what they ask is asked of the upstream as text, and calls come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from proxy.running import running
from proxy.test_server_upstream import (
    ANTHROPIC_TOOL,
    ARGUMENTS,
    BODIES,
    CALL,
    MESSAGES,
    PATIENCE,
    RESPONSES_TOOL,
    TOOL,
    Answer,
    Gate,
    Seen,
    Upstream,
    as_json,
    chunk,
    eventually,
    reply,
    stream,
    whole,
    world,
)
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

ASK: Any = {"model": "m", "messages": MESSAGES, "tools": [TOOL]}
ASK_ANTHROPIC: Any = {"model": "m", "max_tokens": 99, "messages": MESSAGES, "tools": [ANTHROPIC_TOOL]}
ASK_RESPONSES: Any = {"model": "m", "input": "Write it.", "tools": [RESPONSES_TOOL]}


OPEN = ExitStack()


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def openai_client(url: str) -> Any:
    return OPEN.enter_context(openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0))


def anthropic_client(url: str) -> Any:
    return OPEN.enter_context(anthropic.Anthropic(base_url=url, api_key="k", max_retries=0))


def chat_call(client: Any) -> tuple[str, list[Any], str]:
    choice = client.chat.completions.create(**ASK).choices[0]
    calls = choice.message.tool_calls
    return choice.message.content, [json.loads(each.function.arguments) for each in calls], choice.finish_reason


def chat_stream(client: Any) -> tuple[str, list[Any], str]:
    with client.chat.completions.stream(**ASK) as events:
        for _ in events:
            pass
        choice = events.get_final_completion().choices[0]
    calls = choice.message.tool_calls
    return choice.message.content, [json.loads(each.function.arguments) for each in calls], choice.finish_reason


def responses_call(client: Any) -> tuple[str, list[Any], str]:
    return _responded(client.responses.create(**ASK_RESPONSES))


def responses_stream(client: Any) -> tuple[str, list[Any], str]:
    with client.responses.stream(**ASK_RESPONSES) as events:
        for _ in events:
            pass
        return _responded(events.get_final_response())


def _responded(response: Any) -> tuple[str, list[Any], str]:
    calls = [json.loads(each.arguments) for each in response.output if each.type == "function_call"]
    return response.output_text, calls, response.status


def messages_call(client: Any) -> tuple[str, list[Any], str]:
    return _message(client.messages.create(**ASK_ANTHROPIC))


def messages_stream(client: Any) -> tuple[str, list[Any], str]:
    with client.messages.stream(**ASK_ANTHROPIC) as events:
        for _ in events:
            pass
        return _message(events.get_final_message())


def _message(message: Any) -> tuple[str, list[Any], str]:
    text = "".join(each.text for each in message.content if each.type == "text")
    return text, [each.input for each in message.content if each.type == "tool_use"], message.stop_reason


WAYS = [
    (openai_client, chat_call, "tool_calls"),
    (openai_client, chat_stream, "tool_calls"),
    (openai_client, responses_call, "completed"),
    (openai_client, responses_stream, "completed"),
    (anthropic_client, messages_call, "tool_use"),
    (anthropic_client, messages_stream, "tool_use"),
]
ways = pytest.mark.parametrize(("client", "ask", "reason"), WAYS, ids=[each[1].__name__ for each in WAYS])


@ways
def test_a_client_gets_the_call_that_the_model_wrote(client: Any, ask: Any, reason: str) -> None:
    with world(Upstream(make=reply(CALL))) as it:
        text, calls, ended = ask(client(it.url))
    assert (text.strip(), calls, ended) == ("On it: é 😀", [ARGUMENTS], reason)


def test_arguments_arrive_while_the_model_still_writes_them() -> None:
    gate = Gate()
    half, rest = CALL[: CALL.index("😀]]")], CALL[CALL.index("😀]]") :]
    upstream = Upstream(Answer([chunk(half), gate, *stream(rest)]))
    with world(upstream, settings=Settings(live_arguments=True)) as it:
        events = openai_client(it.url).chat.completions.create(**ASK, stream=True)
        told = ""
        for event in events:
            delta = event.choices[0].delta if event.choices else None
            for call in (delta.tool_calls if delta else None) or ():
                told += call.function.arguments or ""
            if told.endswith("x < 1\\n") and not gate._opened.done():
                assert gate.reached.wait(PATIENCE) and "😀" not in told
                gate.open()
    assert json.loads(told) == ARGUMENTS


@pytest.mark.parametrize("streams", [False, True])
def test_a_request_without_tools_passes_through_untouched(streams: bool) -> None:
    sent = {"model": "m", "messages": MESSAGES, "stream": streams, "logit_bias": {"1": 2}, "unknown": [1]}
    answer = whole(CALL) if not streams else Answer(stream(CALL))
    with world(Upstream(answer)) as it:
        raw = json.dumps(sent, indent=3).encode()
        got = it.client.post("/v1/chat/completions", content=raw, headers={"content-type": "application/json"})
    assert it.upstream.seen[0].body == raw
    assert got.content == b"".join(step for step in answer.steps if isinstance(step, bytes))


WRONG = "<tool><tool_name>write</tool_name><arguments><text>t</text></arguments></tool>"


def test_a_failed_call_is_sent_back_and_counted() -> None:
    def make(seen: Seen) -> Answer:
        return reply(WRONG if len(seen.json["messages"]) == 2 else CALL)(seen)

    with world(Upstream(make=make), settings=Settings(retries=1)) as it:
        assert chat_call(openai_client(it.url))[1] == [ARGUMENTS]
        assert it.metric("xmltools_retries_total") == 1


OTHER = "<tool><tool_name>look</tool_name><arguments><path>a</path></arguments></tool>"
CHOICES: dict[str, Any] = {
    "/v1/chat/completions": {"type": "function", "function": {"name": "write"}},
    "/v1/messages": {"type": "tool", "name": "write"},
    "/v1/responses": {"type": "function", "name": "write"},
}


def with_another_tool(path: str) -> dict[str, Any]:
    """Two tools, of which one is asked for."""
    first = BODIES[path]["tools"][0]
    second = json.loads(json.dumps(first).replace('"write"', '"look"'))
    return {"tools": [first, second], "tool_choice": CHOICES[path]}


def test_the_client_of_openai_tells_a_missing_call_from_a_dead_upstream() -> None:
    with world(Upstream(make=reply(OTHER))) as it:
        ask: dict[str, Any] = {"model": "m", "messages": MESSAGES, **with_another_tool("/v1/chat/completions")}
        with pytest.raises(openai.UnprocessableEntityError, match="asks for a call of write") as whole_one:
            openai_client(it.url).chat.completions.create(**ask)
        with pytest.raises(openai.APIError, match="asks for a call of write") as streamed:
            list(openai_client(it.url).chat.completions.create(**ask, stream=True))
        eventually(lambda: it.metric("xmltools_requests_total", outcome="call_failed") == 2, "both were counted")
    assert whole_one.value.code == streamed.value.code == "tool_choice_not_honoured"


def test_models_are_the_upstreams_in_the_words_of_the_client() -> None:
    listed = {"object": "list", "data": [{"id": "a/b", "object": "model", "created": 1_700_000_000, "owned_by": "x"}]}

    def make(seen: Seen) -> Answer:
        return as_json(listed if seen.target == "/v1/models" else listed["data"][0])

    with world(Upstream(make=make)) as it:
        assert it.client.get("/v1/models").json() == listed
        assert openai_client(it.url).models.retrieve("a/b").owned_by == "x"
        client = anthropic_client(it.url)
        (model,) = client.models.list()
        assert (model.id, model.created_at.isoformat()) == ("a/b", "2023-11-14T22:13:20+00:00")
        assert client.models.retrieve("a/b").display_name == "a/b"
    assert it.upstream.seen[-1].target == "/v1/models/a%2Fb"


def test_tokens_are_estimated_without_the_upstream() -> None:
    with world(Upstream()) as it:
        client = anthropic_client(it.url)
        few = client.messages.count_tokens(model="m", messages=MESSAGES).input_tokens
        more = client.messages.count_tokens(model="m", messages=MESSAGES, tools=[ANTHROPIC_TOOL]).input_tokens
    assert 1 <= few < more
    assert not it.upstream.seen


def test_many_streams_at_once_are_not_mixed_up() -> None:
    def make(seen: Seen) -> Answer:
        word = seen.json["messages"][-1]["content"]
        return Answer(stream(f"I am {word}.<tool><tool_name>write</tool_name><path>{word}</path></tool>", size=2))

    async def ask(client: Any, word: str) -> None:
        messages = [{"role": "user", "content": word}]
        async with client.chat.completions.stream(model="m", messages=messages, tools=[TOOL]) as events:
            async for _ in events:
                pass
            message = (await events.get_final_completion()).choices[0].message
        assert message.content == f"I am {word}."
        assert json.loads(message.tool_calls[0].function.arguments) == {"path": word}

    async def ask_all(url: str) -> None:
        async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="k", max_retries=0) as client:
            await asyncio.gather(*(ask(client, f"word-{number}") for number in range(60)))

    with world(Upstream(make=make)) as it:
        asyncio.run(ask_all(it.url))
        eventually(lambda: it.metric("xmltools_tool_calls_total") == 60, "all calls are counted")
        eventually(lambda: it.metric("xmltools_streams_active") == 0, "no stream is left")


@ways
@pytest.mark.parametrize("model", ["scripted", "scripted-sloppy", "scripted-thinking"])
def test_the_demo_needs_no_upstream(client: Any, ask: Any, reason: str, model: str) -> None:
    with running(create_app(ServeConfig(demo=True, speed=0))) as url:
        _, calls, ended = ask(client(url))
    assert len(calls) == 1 and "path" in calls[0]
    assert ended == reason
