"""Streams of the Responses API: what OpenAI's client makes of them over a socket, and that cuts do not matter."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from support.often import examples
from support.strategies import Case, cases, chunkings, pieces

from xmltools.conversations.streams import to_sse
from xmltools.conversations.streams.responses import ResponsesStream, response_object
from xmltools.errors import XMLToolsError
from xmltools.models import Media, Reasoning, Text, ToolCall
from xmltools.models.events import CallFailed, Event, TextDelta
from xmltools.parser import Parser, build_reply, parse
from xmltools.tools import Tool

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

from proxy.running import running  # noqa: E402 - it needs uvicorn

law = examples(150)

STRING = {"type": "string"}
WRITE = Tool(
    name="write",
    parameters={
        "type": "object",
        "properties": {
            "path": STRING,
            "text": STRING,
            "mode": {"type": "integer"},
            "lines": {"type": "array", "items": STRING},
        },
    },
)
PING = Tool(name="ping")
SHELL = Tool(name="shell", parameters={"type": "object", "properties": {"input": STRING}, "required": ["input"]})
TOOLS = [WRITE, PING, SHELL]
DEFINITIONS: Any = [
    {"type": "function", "name": "write", "parameters": WRITE.parameters, "strict": False},
    {"type": "function", "name": "ping", "parameters": PING.parameters, "strict": False},
    {"type": "custom", "name": "shell"},
]
HEAD: Any = {"id": "resp_1", "model": "m", "created_at": 1, "tools": TOOLS, "custom": ("shell",)}
USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}

BODY = 'if a < b:\n\tprint("\\u00e9 é 😀 \u2028\x85")\n\n    \\'
SCRIPT = 'echo "a\\n" && ls \U0001f600'
GOOD = (
    "<think>Hm, \u2028 let me see.</think>\nI'll write it.\n"
    "<tool><tool_name>write</tool_name><arguments><mode>420</mode><path>a b.py</path>"
    f"<text><![CDATA[{BODY}]]></text><lines><line>one</line><line>two</line></lines></arguments></tool>\n \n"
    "<tool><tool_name>ping</tool_name></tool>And: "
    f"<tool><tool_name>shell</tool_name><arguments><input><![CDATA[{SCRIPT}]]></input></arguments></tool> done\n"
)
INPUTS = [{"mode": 420, "path": "a b.py", "text": BODY, "lines": ["one", "two"]}, {}]
TEXTS = ["\nI'll write it.\n", "And: ", " done\n"]
TYPES = ["reasoning", "message", "function_call", "function_call", "message", "custom_tool_call", "message"]

WRONG = (
    "<tool><tool_name>write</tool_name><arguments><path>a.py</path><text>all</text><mode>x</mode></arguments></tool>"
)
EMPTY = "<tool><tool_name>write</tool_name><arguments><mode>x</mode></arguments></tool>"
UNKNOWN = "<tool><tool_name>wriet</tool_name><arguments><path>a.py</path></arguments></tool>"
CUT = "<tool><tool_name>write</tool_name><arguments><path>a.py</path><text>half of it"
CUT_INPUT = "<tool><tool_name>shell</tool_name><arguments><input>rm -"

seeds = pytest.mark.parametrize("seed", range(5))


# Making streams


def parsed(chunks: Iterable[str], tools: list[Tool] | None, **options: Any) -> list[list[Event]]:
    ids = (f"call_{number}" for number in itertools.count())
    parser = Parser(tools, new_id=lambda: next(ids), **options)
    return [*map(parser.feed, chunks), parser.close()]


def messages(
    groups: Iterable[Iterable[Event]], finish_reason: str = "stop", usage: Any = None, **options: Any
) -> list[tuple[str, dict[str, Any]]]:
    stream = ResponsesStream(**{**HEAD, **options})
    sent = [message for group in groups for message in stream.feed(group)]
    return [*sent, *stream.close(finish_reason, usage)]


def of_text(text: str, seed: int, finish_reason: str = "stop", **options: Any) -> list[tuple[str, dict[str, Any]]]:
    return messages(parsed(pieces(Random(seed), text, 5), TOOLS), finish_reason, USAGE, **options)


def final(sent: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    response: dict[str, Any] = sent[-1][1]["response"]
    return response


def read_arguments(response: dict[str, Any]) -> dict[str, Any]:
    """The response with its arguments as values: the order of members means nothing."""
    output = [
        {**item, "arguments": json.loads(item["arguments"])} if item["type"] == "function_call" else item
        for item in response["output"]
    ]
    return {**response, "output": output}


# OpenAI's client


class Upstream:
    """An ASGI app that answers every request with the same pieces of a body."""

    body: Iterable[bytes] = ()
    content_type = b"text/event-stream"

    def stream(self, sent: Iterable[tuple[str, dict[str, Any]]]) -> None:
        self.body, self.content_type = [to_sse([message]) for message in sent], b"text/event-stream"

    def answer(self, response: dict[str, Any]) -> None:
        self.body, self.content_type = [json.dumps(response).encode()], b"application/json"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", self.content_type)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for piece in self.body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body"})


@pytest.fixture(scope="module")
def upstream() -> Upstream:
    return Upstream()


@pytest.fixture(scope="module")
def client(upstream: Upstream) -> Iterator[Any]:
    http = openai.DefaultHttpxClient(trust_env=False)
    with (
        running(upstream, lifespan="off") as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=http) as client,
    ):
        yield client


def helper(client: Any, **options: Any) -> Any:
    return client.responses.stream(model="m", input="Go.", tools=DEFINITIONS, **options)


def raw(client: Any) -> list[Any]:
    return list(client.responses.create(model="m", input="Go.", tools=DEFINITIONS, stream=True))


@seeds
def test_the_client_assembles_reasoning_text_and_calls(upstream: Upstream, client: Any, seed: int) -> None:
    upstream.stream(of_text(GOOD, seed))
    with helper(client) as stream:
        response = stream.get_final_response()
    assert (response.status, response.output_text) == ("completed", "".join(TEXTS))
    assert [item.type for item in response.output] == TYPES
    assert response.output[0].content[0].text == "Hm, \u2028 let me see."
    calls = [item for item in response.output if item.type == "function_call"]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("write", INPUTS[0]), ("ping", INPUTS[1])]
    [shell] = [item for item in response.output if item.type == "custom_tool_call"]
    assert (shell.name, shell.input) == ("shell", SCRIPT)
    assert response.usage.total_tokens == 12


@seeds
def test_the_client_sees_snapshots_grow_to_what_is_done(upstream: Upstream, client: Any, seed: int) -> None:
    upstream.stream(of_text(GOOD, seed))
    texts, snapshots, inputs = list[str](), dict[int, str](), ""
    with helper(client) as stream:
        for event in stream:
            if event.type in ("response.output_text.delta", "response.function_call_arguments.delta"):
                snapshots[event.output_index] = event.snapshot
            elif event.type == "response.output_text.done":
                texts.append(event.text)
                assert snapshots[event.output_index] == event.text
            elif event.type == "response.function_call_arguments.done":
                assert snapshots[event.output_index] == event.arguments
            elif event.type == "response.custom_tool_call_input.delta":
                inputs += event.delta
    assert (texts, inputs) == (TEXTS, SCRIPT)


@seeds
def test_the_response_of_a_stream_equals_the_one_that_is_not_streamed(
    upstream: Upstream, client: Any, seed: int
) -> None:
    ids = (f"call_{number}" for number in itertools.count())
    reply = parse(GOOD, TOOLS, new_id=lambda: next(ids))
    whole = response_object(reply, usage=USAGE, **HEAD)
    upstream.stream(of_text(GOOD, seed))
    streamed = raw(client)[-1].response.to_dict()
    upstream.answer(whole)
    answered = client.responses.create(model="m", input="Go.", tools=DEFINITIONS).to_dict()
    assert answered == whole
    assert read_arguments(streamed) == read_arguments(whole)


@seeds
@pytest.mark.parametrize(
    ("block", "begun"),
    [(WRONG, '{"path":"a.py","text":"all'), (EMPTY, "{"), (CUT, '{"path":"a.py","text":"half of it')],
)
def test_a_failed_call_is_an_incomplete_item_that_is_never_done(
    upstream: Upstream, client: Any, seed: int, block: str, begun: str
) -> None:
    upstream.stream(of_text(f"So: {block}", seed))
    events = raw(client)
    assert "response.function_call_arguments.done" not in [event.type for event in events]
    text, call = events[-1].response.output
    assert (text.status, call.status, call.arguments) == ("completed", "incomplete", begun)
    with pytest.raises(json.JSONDecodeError):
        json.loads(call.arguments)


@seeds
def test_the_client_goes_on_behind_a_failed_call(upstream: Upstream, client: Any, seed: int) -> None:
    upstream.stream(of_text(WRONG + GOOD + UNKNOWN, seed))
    with helper(client) as stream:
        response = stream.get_final_response()
    assert [item.type for item in response.output] == ["function_call", *TYPES]
    assert response.output_text == "".join(TEXTS) + UNKNOWN
    assert json.loads(response.output[3].arguments) == INPUTS[0]


@pytest.mark.parametrize(
    ("reason", "told"), [("length", "max_output_tokens"), ("content_filter", "content_filter"), ("max_tokens", None)]
)
def test_a_reply_that_was_cut_off_is_incomplete(upstream: Upstream, client: Any, reason: str, told: str | None) -> None:
    upstream.stream(of_text("Half of a sen", 1, reason))
    *_, last = raw(client)
    assert (last.type, last.response.status) == ("response.incomplete", "incomplete")
    assert last.response.incomplete_details.reason == (told or "max_output_tokens")
    [item] = last.response.output
    assert (item.status, item.content[0].text) == ("incomplete", "Half of a sen")
    with pytest.raises(RuntimeError, match=r"response\.completed"), helper(client) as stream:
        stream.get_final_response()


def test_a_cut_input_of_a_custom_tool_is_what_had_come(upstream: Upstream, client: Any) -> None:
    upstream.stream(of_text(CUT_INPUT, 1, "length"))
    [item] = raw(client)[-1].response.output
    assert (item.type, item.input, item.to_dict()["status"]) == ("custom_tool_call", "rm -", "incomplete")


def test_what_breaks_off_ends_in_a_failed_response_with_what_had_come(upstream: Upstream, client: Any) -> None:
    stream, parser = ResponsesStream(**HEAD), Parser(TOOLS)
    sent = [*stream.feed(parser.feed("Hello " + CUT)), *stream.fail("the upstream broke off")]
    assert (stream.fail("again"), stream.close()) == ([], [])
    upstream.stream(sent)
    *_, last = raw(client)
    assert (last.type, last.response.status) == ("response.failed", "failed")
    assert (last.response.error.code, last.response.error.message) == ("server_error", "the upstream broke off")
    assert [item.status for item in last.response.output] == ["completed", "incomplete"]
    with pytest.raises(RuntimeError, match=r"response\.completed"), helper(client) as manager:
        manager.get_final_response()


def test_what_fails_before_it_begins_still_begins() -> None:
    assert [name for name, _ in ResponsesStream(**HEAD).fail("no")] == [
        "response.created",
        "response.in_progress",
        "response.failed",
    ]


def test_a_failed_call_of_a_strict_tool_raises_only_in_the_helper(upstream: Upstream, client: Any) -> None:
    upstream.stream(of_text(WRONG, 1))
    strict: Any = [{**DEFINITIONS[0], "strict": True}]
    with pytest.raises(json.JSONDecodeError), client.responses.stream(model="m", input="Go.", tools=strict) as stream:
        stream.get_final_response()
    assert raw(client)[-1].response.output[0].status == "incomplete"


# Laws


@given(case=cases())
@law
def test_any_cut_gives_the_same_response(case: Case) -> None:
    def response(chunks: list[str]) -> dict[str, Any]:
        groups = parsed(chunks, case.tools, **case.options)
        return final(messages(groups, tools=case.tools, custom=("ping",)))

    whole = response([case.text])
    assert all(response(chunks) == whole for chunks in chunkings(case.text))


@given(case=cases())
@law
def test_items_are_added_filled_and_done_one_behind_the_other(case: Case) -> None:
    for chunks in chunkings(case.text):
        sent = messages(parsed(chunks, case.tools, **case.options), tools=case.tools)
        assert [data["sequence_number"] for _, data in sent] == list(range(len(sent)))
        assert all(name == data["type"] for name, data in sent)
        assert refolded(sent) == final(sent)["output"]


def refolded(sent: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The output as the deltas alone make it, with each step checked against the one before."""
    output: list[dict[str, Any]] = []
    item: dict[str, Any] | None = None
    said = ""
    for name, data in sent:
        if name == "response.output_item.added":
            assert item is None and data["output_index"] == len(output)
            item, said = data["item"], ""
        elif name.endswith(".delta"):
            assert item is not None and data["item_id"] == item["id"] and data["delta"]
            said += data["delta"]
        elif name.endswith((".done", ".added")) and name != "response.output_item.done":
            assert item is not None and (data["item_id"], data["output_index"]) == (item["id"], len(output))
            whole = data.get("text", data.get("arguments", data.get("input", data.get("part", {}).get("text"))))
            assert whole == said
        elif name == "response.output_item.done":
            assert item is not None and text_of(data["item"]) == said
            assert data["item"] == {**data["item"], **without_text(item)}
            output.append(data["item"])
            item = None
    assert item is None
    return output


def text_of(item: dict[str, Any]) -> Any:
    return item["content"][0]["text"] if "content" in item else item.get("arguments", item.get("input"))


def without_text(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in ("content", "arguments", "input", "status")}


@given(case=cases())
@law
def test_a_stream_ends_with_the_response_of_its_reply_if_no_call_failed_that_was_heard_of(case: Case) -> None:
    groups = parsed([case.text], case.tools, **case.options)
    events = [event for group in groups for event in group]
    assume(not any(isinstance(event, CallFailed) and event.id is not None for event in events))
    options = {**HEAD, "tools": case.tools, "custom": ()}
    whole = response_object(build_reply(events), **options)
    assert read_arguments(final(messages(groups, **options))) == read_arguments(whole)


# Without a client


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        ([" \n", "\t"], []),
        ([" \n", "Hi"], [" \nHi"]),
        (["Hi", " \n"], ["Hi \n"]),
        (["\u2003", "\n", "a", " "], ["\u2003\na "]),
    ],
)
def test_white_space_alone_is_no_message(events: list[str], texts: list[str]) -> None:
    for count in (0, 1):
        groups = [[TextDelta.make(text, 0)] for text in events]
        calls = parsed(["<tool><tool_name>ping</tool_name></tool>"] * count, TOOLS)
        output = final(messages([*calls, *groups, *parsed(["<think>x</think>"], None)]))["output"]
        assert [item["content"][0]["text"] for item in output if item["type"] == "message"] == texts


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (USAGE, (5, 0, 7, 0, 12)),
        ({"prompt_tokens": 5, "completion_tokens": 7}, (5, 0, 7, 0, 12)),
        ({"input_tokens": 5, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}}, (5, 0, 7, 3, 12)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}, "total_tokens": 6}, (5, 4, 0, 0, 6)),
        ({"prompt_tokens": None, "completion_tokens": "7", "prompt_tokens_details": None}, (0, 0, 0, 0, 0)),
        ({}, (0, 0, 0, 0, 0)),
    ],
)
def test_usage_comes_in_the_words_of_the_api(usage: dict[str, Any], counts: tuple[int, ...]) -> None:
    told = final(messages([], usage=usage))["usage"]
    taken, given = told["input_tokens_details"], told["output_tokens_details"]
    assert counts == (
        told["input_tokens"],
        taken["cached_tokens"],
        told["output_tokens"],
        given["reasoning_tokens"],
        told["total_tokens"],
    )
    assert taken["cache_write_tokens"] == 0


def test_without_usage_there_is_none() -> None:
    assert final(messages([]))["usage"] is None


def test_a_response_repeats_the_request_and_nothing_that_is_no_part_of_a_response() -> None:
    echo = {
        "instructions": "Be brief.",
        "tools": DEFINITIONS,
        "tool_choice": "required",
        "metadata": {"a": "b"},
        "text": {"verbosity": "low", "format": None},
        "reasoning": {"effort": "high"},
        "temperature": 0.5,
        "top_p": None,
        "input": "Go.",
        "id": "resp_forged",
        "output": ["forged"],
    }
    response = final(messages([], echo=echo))
    assert (response["id"], response["output"], "input" in response) == ("resp_1", [], False)
    assert {key: response[key] for key in ("instructions", "tools", "tool_choice", "metadata", "temperature")} == {
        key: echo[key] for key in ("instructions", "tools", "tool_choice", "metadata", "temperature")
    }
    assert response["text"] == {"format": {"type": "text"}, "verbosity": "low"}
    assert response["reasoning"] == {"effort": "high", "summary": None}
    assert (response["top_p"], response["parallel_tool_calls"], response["truncation"]) == (None, True, "disabled")


def test_ids_of_items_are_made_of_the_id_of_the_response_and_their_place() -> None:
    ids = [item["id"] for item in final(of_text(GOOD, 1))["output"]]
    assert ids == ["rs_1_0", "msg_1_1", "fc_1_2", "fc_1_3", "msg_1_4", "ctc_1_5", "msg_1_6"]


@pytest.mark.parametrize(("on_failure", "types"), [("leave", ["message"]), ("text", ["message"]), ("drop", [])])
def test_a_block_that_gave_no_call_is_text_where_nobody_heard_of_it(on_failure: str, types: list[str]) -> None:
    response = response_object(parse(WRONG, TOOLS), on_failure=on_failure, **HEAD)
    assert [item["type"] for item in response["output"]] == types
    assert all(item["content"][0]["text"] == WRONG for item in response["output"])


def test_a_response_is_made_of_parts_too() -> None:
    parts = [Reasoning(text="Hm."), Text(text="So:"), ToolCall(id="c1", name="ping"), Text(text="")]
    response = response_object(parts, finish_reason="length", **HEAD)
    assert (response["status"], response["created_at"]) == ("incomplete", 1)
    assert [(item["type"], item["status"]) for item in response["output"]] == [
        ("reasoning", "completed"),
        ("message", "completed"),
        ("function_call", "completed"),
    ]
    assert (response["output"][2]["call_id"], response["output"][2]["arguments"]) == ("c1", "{}")


def test_a_response_is_not_made_of_media() -> None:
    picture: Any = Media(media_type="image/png", data="")
    with pytest.raises(XMLToolsError, match="got Media"):
        response_object([picture], **HEAD)


def test_a_stream_that_has_ended_takes_no_events() -> None:
    stream = ResponsesStream(**HEAD)
    assert [name for name, _ in stream.feed([])] == ["response.created", "response.in_progress"]
    assert [name for name, _ in stream.close()] == ["response.completed"]
    assert stream.close() == []
    with pytest.raises(XMLToolsError, match="after close"):
        stream.feed([])


def test_an_unknown_way_to_treat_failures_is_refused() -> None:
    with pytest.raises(XMLToolsError, match="on_failure"):
        ResponsesStream(**HEAD, on_failure="ignore")
