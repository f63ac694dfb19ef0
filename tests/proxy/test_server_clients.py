"""The official clients against the server: what they ask is asked of the upstream as text, and calls come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from proxy.running import running
from proxy.test_server_upstream import (
    ANTHROPIC_TOOL,
    ARGUMENTS,
    BODIES,
    CALL,
    DONE,
    MESSAGES,
    PATIENCE,
    RESPONSES_TOOL,
    TOOL,
    USAGE,
    Answer,
    Gate,
    Seen,
    Step,
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


def recut(steps: list[Step], seed: int) -> list[Step]:
    """The same bytes in pieces that end anywhere, also within a character."""
    random = Random(seed)
    data = b"".join(step for step in steps if isinstance(step, bytes))
    return [data[a:b] for a, b in _cuts(len(data), random)]


def _cuts(length: int, random: Random) -> list[tuple[int, int]]:
    marks = sorted({0, length, *(random.randrange(length) for _ in range(length // 7))})
    return list(pairwise(marks))


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


@ways
def test_two_calls_are_two_calls(client: Any, ask: Any, reason: str) -> None:
    with world(Upstream(make=reply(CALL + "\n" + CALL))) as it:
        _, calls, ended = ask(client(it.url))
    assert (calls, ended) == ([ARGUMENTS, ARGUMENTS], reason)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("client", "ask", "reason"), [way for way in WAYS if way[1].__name__.endswith("stream")])
def test_how_the_upstreams_bytes_are_cut_makes_no_difference(seed: int, client: Any, ask: Any, reason: str) -> None:
    steps = recut(stream(CALL, size=seed + 1), seed)
    with world(Upstream(Answer(steps))) as it:
        text, calls, ended = ask(client(it.url))
    assert (text.strip(), calls, ended) == ("On it: é 😀", [ARGUMENTS], reason)


@pytest.mark.parametrize("seed", range(3))
def test_line_ends_and_comments_of_the_upstream_make_no_difference(seed: int) -> None:
    data = b"".join(step for step in stream(CALL) if isinstance(step, bytes))
    crlf = b"\xef\xbb\xbf: hello\r\n\r\n" + data.replace(b"\n", b"\r\n").replace(b"data: ", b"event: x\r\ndata:")
    with world(Upstream(Answer(recut([crlf], seed)))) as it:
        assert chat_stream(openai_client(it.url))[1] == [ARGUMENTS]


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


def test_the_usage_is_the_upstreams_and_comes_if_it_was_asked_for() -> None:
    with world(Upstream(make=reply(CALL))) as it:
        client = openai_client(it.url)
        last = [*client.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True})][-1]
        none = [*client.chat.completions.create(**ASK, stream=True)]
        whole_usage = client.chat.completions.create(**ASK).usage
        message = anthropic_client(it.url).messages.create(**ASK_ANTHROPIC)
    assert last.usage.total_tokens == whole_usage.total_tokens == USAGE["total_tokens"]
    assert not [each for each in none if each.usage]
    assert (message.usage.input_tokens, message.usage.output_tokens) == (11, 7)


def test_choices_are_kept_apart() -> None:
    steps = [
        chunk("a" * 9),
        chunk("b" * 9, index=1),
        chunk(CALL, index=1),
        chunk(finish="stop", index=1),
        chunk(finish="length"),
        DONE,
    ]
    with world(Upstream(Answer(steps))) as it, openai_client(it.url).chat.completions.stream(**ASK, n=2) as events:
        reasons = [each.chunk.choices[0].finish_reason for each in events if each.type == "chunk"]
        choices = events.current_completion_snapshot.choices
    assert [each for each in reasons if each] == ["tool_calls", "length"]
    assert it.upstream.seen[0].json["n"] == 2
    assert [choices[0].message.content, bool(choices[0].message.tool_calls)] == ["a" * 9, False]
    assert choices[1].message.content.startswith("b" * 9) and len(choices[1].message.tool_calls) == 1


@pytest.mark.parametrize("streams", [False, True])
def test_a_request_without_tools_passes_through_untouched(streams: bool) -> None:
    sent = {"model": "m", "messages": MESSAGES, "stream": streams, "logit_bias": {"1": 2}, "unknown": [1]}
    answer = whole(CALL) if not streams else Answer(stream(CALL))
    with world(Upstream(answer)) as it:
        raw = json.dumps(sent, indent=3).encode()
        got = it.client.post("/v1/chat/completions", content=raw, headers={"content-type": "application/json"})
    assert it.upstream.seen[0].body == raw
    assert got.content == b"".join(step for step in answer.steps if isinstance(step, bytes))


def test_a_tool_loop_ends_with_the_models_words() -> None:
    def make(seen: Seen) -> Answer:
        return whole("It is done." if "Result: ok" in seen.json["messages"][-1]["content"] else CALL)

    with world(Upstream(make=make)) as it:
        client = openai_client(it.url)
        first = client.chat.completions.create(**ASK).choices[0].message
        result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "ok"}
        second = client.chat.completions.create(**{**ASK, "messages": [*MESSAGES, first.to_dict(), result]})
    assert second.choices[0].message.content == "It is done."
    assert second.choices[0].message.tool_calls is None
    assert "<tool>" in it.upstream.seen[1].json["messages"][2]["content"]


WRONG = "<tool><tool_name>write</tool_name><arguments><text>t</text></arguments></tool>"


@ways
def test_a_failed_call_is_sent_back_before_the_client_sees_it(client: Any, ask: Any, reason: str) -> None:
    def make(seen: Seen) -> Answer:
        return reply(WRONG if len(seen.json["messages"]) == 2 else CALL)(seen)

    with world(Upstream(make=make), settings=Settings(retries=1)) as it:
        _, calls, ended = ask(client(it.url))
        assert (calls, ended) == ([ARGUMENTS], reason)
        assert [len(seen.json["messages"]) for seen in it.upstream.seen] == [2, 4]
        assert it.metric("xmltools_retries_total") == 1


@pytest.mark.parametrize("path", BODIES)
def test_a_required_call_that_is_missing_is_an_error(path: str) -> None:
    choice = {"type": "any"} if path == "/v1/messages" else "required"
    with world(Upstream(make=reply("No."))) as it:
        assert it.post(path, tool_choice=choice).status_code == 422


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


def error_event(answer: Any) -> dict[str, Any]:
    """The error that ends a stream."""
    data = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: {")]
    found: dict[str, Any] = next(
        each.get("error") or each["response"]["error"]
        for each in data
        if each.get("error") or (each.get("response") or {}).get("error")
    )
    return found


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("No.", "the model did not call a tool"),
        (OTHER, "the model called look, but tool_choice asks for a call of write"),
        (OTHER.replace("look", "Look"), "the model called Look, but tool_choice asks for a call of write"),
    ],
    ids=["no call", "another tool", "another tool in another case"],
)
def test_a_call_that_was_asked_for_by_name_and_is_missing_is_the_same_error_everywhere(
    path: str, said: str, told: str
) -> None:
    with world(Upstream(make=reply(said))) as it:
        whole_one = it.post(path, **with_another_tool(path))
        streamed = it.post(path, **with_another_tool(path), stream=True)
        assert it.metric("xmltools_requests_total", route=path, outcome="call_failed") >= 1
    assert whole_one.status_code == 422
    for error in (whole_one.json()["error"], error_event(streamed)):
        assert error["message"].startswith(told) and "retries" not in error["message"]
        if path == "/v1/messages":
            assert error["type"] == "invalid_request_error"
        else:
            assert error["code"] == "tool_choice_not_honoured"


def test_the_client_of_openai_tells_a_missing_call_from_a_dead_upstream() -> None:
    with world(Upstream(make=reply(OTHER))) as it:
        ask: dict[str, Any] = {"model": "m", "messages": MESSAGES, **with_another_tool("/v1/chat/completions")}
        with pytest.raises(openai.UnprocessableEntityError, match="asks for a call of write") as whole_one:
            openai_client(it.url).chat.completions.create(**ask)
        with pytest.raises(openai.APIError, match="asks for a call of write") as streamed:
            list(openai_client(it.url).chat.completions.create(**ask, stream=True))
    assert whole_one.value.code == streamed.value.code == "tool_choice_not_honoured"


def test_a_tool_that_the_choice_leaves_out_is_said_to_be_that() -> None:
    inner = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "write"}}]}
    given = with_another_tool("/v1/chat/completions")["tools"]
    with world(Upstream(make=reply(OTHER))) as it:
        choice = {"type": "allowed_tools", "allowed_tools": inner}
        message = it.post(tools=given, tool_choice=choice).json()["choices"][0]["message"]
    assert message["content"] == "The call of look was not made: tool_choice allows only write."


@pytest.mark.parametrize("path", BODIES)
def test_a_live_call_that_fails_has_a_code_of_its_own(path: str) -> None:
    wrong = "<tool><tool_name>write</tool_name><arguments><text>t</text></arguments></tool>"
    with world(Upstream(make=reply(wrong)), settings=Settings(live_arguments=True, retries=0)) as it:
        error = error_event(it.post(path, stream=True))
    assert error["message"].startswith("The call of write was not made")
    assert error["type"] == "invalid_request_error" if path == "/v1/messages" else error["code"] == "call_failed"


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
