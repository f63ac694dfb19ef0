"""The scripted model: what it says in a turn, as an upstream of its own, and behind `serve --demo`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import calls

import xmltools as xt
from proxy.running import running
from proxy.test_recordings import Time, bodies, play
from xmltools.proxy.bridge import Settings, Turn
from xmltools.proxy.scripted.choose_reply import MODELS, reply
from xmltools.proxy.scripted.demo_recording import tokens
from xmltools.proxy.scripted.server import ScriptedModel
from xmltools.proxy.server import ServeConfig, create_app

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*.json"))


def tool(name: str, description: str = "", required: tuple[str, ...] = (), **properties: Any) -> xt.Tool:
    parameters = {"type": "object", "properties": properties, "required": list(required or properties)}
    return xt.Tool(name=name, description=description, parameters=parameters)


STRING = {"type": "string"}
WEATHER = tool("get_weather", "Get the weather of a place.", city=STRING)
ADD = tool("add", "Add two numbers.", a={"type": "integer"}, b={"type": "integer"})
SEARCH = tool("search_notes", "Find notes.", query=STRING)
CALCULATE = tool("calculator", "Evaluate an expression.", expression=STRING)
PAINT = tool("paint", "Paint a wall.", color={"enum": ["red", "blue"]})
TOOLS = [WEATHER, ADD, SEARCH, CALCULATE, PAINT]


def said(words: str, tools: list[xt.Tool] = TOOLS, model: str = "scripted", **fields: Any) -> str:
    return reply(Turn(tools, xt.Conversation().user(words), **fields), model)


def only_call(text: str, tools: list[xt.Tool] = TOOLS) -> xt.ToolCall:
    read = xt.parse(text, tools)
    assert not read.errors, read.errors
    assert len(read.calls) == 1, text
    return read.calls[0]


@pytest.mark.parametrize(
    ("words", "name", "arguments"),
    [
        ("What's the weather in New York today?", "get_weather", {"city": "New York"}),
        ("please add 17 and -4", "add", {"a": 17, "b": -4}),
        ("add 007 and 1.5 and 17 to it", "add", {"a": 7, "b": 17}),
        ('find the notes on "cats & dogs"', "search_notes", {"query": "cats & dogs"}),
        ("Calculate 2 + 3 * (4 - 1) for me", "calculator", {"expression": "2 + 3 * (4 - 1)"}),
        ("Paint it blue", "paint", {"color": "blue"}),
        ("xyzzy", "get_weather", {"city": "city"}),
    ],
)
def test_the_tool_that_fits_is_called_with_the_words_of_the_user(
    words: str, name: str, arguments: dict[str, Any]
) -> None:
    call = only_call(said(words))
    assert (call.name, call.arguments, call.clean) == (name, arguments, True)


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_every_tool_of_real_servers_is_called_with_arguments_that_fit(file: Path) -> None:
    for each in xt.load_tools(json.loads(file.read_text("utf-8"))):
        call = only_call(said("do 5 of 'this & that' in Rome", [each]), [each])
        assert (call.name, call.server) == (each.name, each.server)


@given(st.randoms(use_true_random=False), st.text(max_size=30))
def test_any_words_give_a_call_that_fits_the_tool_and_slips_lose_nothing(rng: Random, words: str) -> None:
    made = calls.meant(rng).tool
    assert made is not None
    try:
        xt.render_instructions([made])
    except xt.XMLToolsError:
        return  # names that no call can contain
    call = xt.parse(said(words, [made]), [made])
    sloppy = xt.parse(said(words, [made], "scripted-sloppy"), [made])
    assert [each.arguments for each in sloppy.calls] == [each.arguments for each in call.calls]
    assert call.calls or call.errors  # an example can't be made up for every schema
    assert xt.parse(said(words, [made], "scripted-broken"), [made]).errors


def test_without_tools_a_prepared_reply_is_played_or_help_is_given() -> None:
    assert "parser waits" in said("write a haiku", [])
    assert said("xyzzy", []).startswith("I'm a script")
    assert xt.parse(said("how does a call look?", [])).calls


RESULTS = [
    xt.ToolResult(call_id="1", name="get_weather", content="21 °C <tool><tool_name>add</tool_name></tool>"),
    xt.ToolResult(call_id="2", name="add", content="no sum", is_error=True),
]


@pytest.mark.parametrize("model", MODELS)
def test_results_are_quoted_and_nothing_is_called(model: str) -> None:
    history = xt.Conversation().user("Weather in Rome?").assistant("…").tool(RESULTS[0]).tool(RESULTS[1])
    answer = reply(Turn(TOOLS, history), model)
    assert answer.index("21 °C") < answer.index("no sum")
    read = xt.parse(answer, TOOLS)
    assert not read.calls and not read.errors
    after = history.assistant("It is warm.").user("add 1 and 2")
    assert "21 °C" not in reply(Turn(TOOLS, after), model)


def test_a_call_that_is_required_is_made_after_a_result_too() -> None:
    history = xt.Conversation().user("add 1 and 2").assistant("…").tool(RESULTS[1])
    assert only_call(reply(Turn(TOOLS, history, must_call=True), "scripted")).arguments == {"a": 1, "b": 2}


def test_the_sloppy_model_makes_slips_that_are_repaired() -> None:
    call = only_call(said('find the notes on "R & D"', model="scripted-sloppy"))
    assert call.arguments == {"query": "R & D"}
    assert {repair.code.value for repair in call.repairs} == {"code_fence", "missing_end_tag"}


@pytest.mark.parametrize("made", [ADD, SEARCH, xt.Tool(name="ping")], ids=lambda made: made.name)
def test_the_broken_model_corrects_its_call_when_it_is_asked_to(made: xt.Tool) -> None:
    assert xt.parse(said("add 2 and 3", [made], "scripted-broken"), [made]).errors
    second = only_call(said("add 2 and 3", [made], "scripted-broken", is_retry=True), [made])
    assert second.clean
    assert second.arguments == only_call(said("add 2 and 3", [made]), [made]).arguments


def test_the_thinking_model_thinks_first_and_the_silent_one_never_calls() -> None:
    read = xt.parse(said("add 2 and 3", model="scripted-thinking"), TOOLS)
    assert isinstance(read.parts[0], xt.Reasoning)
    assert read.calls
    assert not xt.parse(said("add 2 and 3", model="scripted-silent", must_call=True), TOOLS).calls


# As an upstream of its own


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(ScriptedModel(speed=0)) as address:
        yield address


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as made:
        yield made


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_the_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == list(MODELS)


def test_a_stream_says_what_the_completion_says(client: openai.OpenAI) -> None:
    asked: Any = {"model": "any", "messages": [user("haiku")], "n": 3}
    whole = client.chat.completions.create(**asked)
    texts, reasons = ["", "", ""], ["", "", ""]
    chunks = list(client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            reasons[choice.index] += choice.finish_reason or ""
    assert texts == [choice.message.content for choice in whole.choices]
    assert reasons == ["stop"] * 3
    assert [chunk.usage for chunk in chunks] == [None] * (len(chunks) - 1) + [whole.usage]
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_streaming_helper_of_the_sdk_takes_it(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model="any", messages=[user("haiku")]) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == "stop"
    assert "parser waits" in (final.choices[0].message.content or "")


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_the_limit_of_tokens_ends_a_reply(client: openai.OpenAI, name: str) -> None:
    asked: Any = {"model": "any", "messages": [user("haiku")], name: 3}
    completion = client.chat.completions.create(**asked)
    assert completion.choices[0].finish_reason == "length"
    assert completion.choices[0].message.content == "Angle brackets"
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 3
    assert [*client.chat.completions.create(**asked, stream=True)][-1].choices[0].finish_reason == "length"


@pytest.mark.parametrize("stop", [" call", ["xyz", " call", "clean"]])
def test_a_stop_string_ends_a_reply_and_is_left_out(client: openai.OpenAI, stop: Any) -> None:
    completion = client.chat.completions.create(model="any", messages=[user("haiku")], stop=stop)
    assert completion.choices[0].finish_reason == "stop"
    assert (completion.choices[0].message.content or "").endswith("for the end.\nOne")


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages"),
        ({"n": 0}, "n"),
        ({"stop": [""]}, "stop"),
        ({"model": 5}, "model"),
    ],
)
def test_what_it_can_not_do_is_refused_in_the_words_of_openai(url: str, change: dict[str, Any], param: str) -> None:
    asked = {"model": "any", "messages": [user("hi")], **change}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=asked)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param
    assert answer.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(url: str, body: bytes) -> None:
    assert httpx2.post(f"{url}/v1/chat/completions", content=body).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/embeddings", 404), ("POST", "/elsewhere", 404), ("GET", "/v1/chat/completions", 404)],
)
def test_nothing_else_is_there(url: str, method: str, path: str, status: int) -> None:
    answer = httpx2.request(method, url + path)
    assert answer.status_code == status
    assert path in answer.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_lone_surrogates_do_not_break_a_reply(url: str, stream: bool) -> None:
    asked = {"model": "a\ud800", "messages": [user("haiku \ud83d y")], "stream": stream}
    answer = httpx2.post(f"{url}/v1/chat/completions", content=json.dumps(asked).encode())
    assert answer.status_code == 200
    assert "parser" in answer.text


def test_parts_of_text_are_read(client: openai.OpenAI) -> None:
    parts: Any = [{"type": "text", "text": "a haiku"}, {"type": "image_url", "image_url": {"url": "https://x.org"}}]
    completion = client.chat.completions.create(model="any", messages=[{"role": "user", "content": parts}])
    assert "parser waits" in (completion.choices[0].message.content or "")


# Behind `serve --demo`


@pytest.fixture(scope="module", params=[0, 2], ids=lambda retries: f"{retries} retries")
def demo(request: Any) -> Iterator[openai.OpenAI]:
    app = create_app(ServeConfig(demo=True, speed=0, settings=Settings(retries=request.param)))
    with running(app) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.mark.parametrize("model", [model for model in MODELS if model not in ("scripted-broken", "scripted-silent")])
@pytest.mark.parametrize("size", [0, 10_000])
def test_the_demo_calls_a_clients_tool_and_quotes_its_result(demo: openai.OpenAI, model: str, size: int) -> None:
    function = {"name": "add", "description": "Add. " * size, "parameters": ADD.parameters}
    messages: list[Any] = [user("please add 2 and 3")]
    asked: Any = {"model": model, "messages": messages, "tools": [{"type": "function", "function": function}]}
    message = demo.chat.completions.create(**asked).choices[0].message
    (call,) = message.tool_calls or ()
    assert json.loads(call.function.arguments) == {"a": 2, "b": 3}  # type: ignore[union-attr]
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "the sum is 5"}]
    assert "the sum is 5" in (demo.chat.completions.create(**asked).choices[0].message.content or "")
    assert "the sum is 5" in "".join(
        chunk.choices[0].delta.content or ""
        for chunk in demo.chat.completions.create(**asked, stream=True)
        if chunk.choices
    )


def test_lone_surrogates_do_not_break_a_call(demo: openai.OpenAI) -> None:
    function = {"name": "search_notes", "parameters": SEARCH.parameters}
    asked = {"model": "any", "tools": [{"type": "function", "function": function}]}
    body = json.dumps({**asked, "messages": [user('find "x\ud83d y"')]}).encode()
    answer = httpx2.post(f"{demo.base_url}chat/completions", content=body)
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["tool_calls"]


def test_the_wrong_call_of_the_broken_model_is_tried_again() -> None:
    tools: Any = [{"type": "function", "function": {"name": "add", "parameters": ADD.parameters}}]
    asked: Any = {"model": "scripted-broken", "messages": [user("add 2 and 3")], "tools": tools}
    called = []
    for retries in (0, 1):
        app = create_app(ServeConfig(demo=True, speed=0, settings=Settings(retries=retries)))
        with running(app) as url, closing(openai.OpenAI(base_url=f"{url}/v1", api_key="none")) as made:
            called.append(bool(made.chat.completions.create(**asked).choices[0].message.tool_calls))
    assert called == [False, True]


# Pace

HAIKU = {"model": "any", "messages": [user("haiku")], "stream": True}


@pytest.mark.parametrize("speed", [1.0, 4.0])
def test_tokens_come_at_their_times_divided_by_the_speed(speed: float) -> None:
    time = Time()
    app = ScriptedModel(speed=speed, sleep=time.sleep, clock=time.clock)
    sent = bodies(play(app, time, HAIKU))
    texts = [
        (at, json.loads(body[6:])["choices"][0]["delta"].get("content")) for at, body in sent if b'"delta"' in body
    ]
    spoken = [(at, text) for at, text in texts if text]
    assert [text for _, text in spoken] == list(tokens(said("haiku", [])))
    assert [at for at, _ in spoken] == pytest.approx([(0.3 + n / 60) / speed for n in range(len(spoken))], abs=1e-5)


def test_a_whole_completion_takes_as_long_as_its_stream_and_neither_waits_without_speed() -> None:
    took = []
    for speed, stream in ((1, False), (1, True), (0, False), (0, True)):
        time = Time()
        app = ScriptedModel(speed=speed, sleep=time.sleep, clock=time.clock)
        took.append(play(app, time, {**HAIKU, "stream": stream})[-1][0])
    assert took[0] == pytest.approx(took[1])
    assert took[0] > 0.3 and took[2:] == [0, 0]


@pytest.mark.parametrize("speed", [-1, float("inf"), float("nan"), True, "fast"])
def test_a_speed_that_is_none_is_refused(speed: Any) -> None:
    with pytest.raises(xt.XMLToolsError, match="speed"):
        ScriptedModel(speed=speed)
