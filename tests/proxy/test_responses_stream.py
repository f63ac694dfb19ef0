"""Streams of the Responses API: what they say in the end, and that cuts do not matter. What OpenAI's client makes of
them is in the cases of the wire."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from support.often import examples
from support.strategies import Case, cases, chunkings, pieces

from xmltools.conversations.streams.responses import ResponsesStream, response_object
from xmltools.errors import XMLToolsError
from xmltools.models import Media, Reasoning, Text, ToolCall
from xmltools.models.events import CallFailed, Event, TextDelta
from xmltools.parser import Parser, build_reply, parse
from xmltools.tools import Tool

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


# What comes of texts


@seeds
def test_a_stream_ends_with_reasoning_texts_and_calls_as_the_whole_reply_has_them(seed: int) -> None:
    ids = (f"call_{number}" for number in itertools.count())
    whole = response_object(parse(GOOD, TOOLS, new_id=lambda: next(ids)), usage=USAGE, **HEAD)
    response = final(of_text(GOOD, seed))
    assert read_arguments(response) == read_arguments(whole)
    thoughts, first, write, ping, second, shell, third = response["output"]
    assert [item["type"] for item in response["output"]] == TYPES
    assert thoughts["content"][0]["text"] == "Hm, \u2028 let me see."
    assert [item["content"][0]["text"] for item in (first, second, third)] == TEXTS
    assert [(item["name"], json.loads(item["arguments"])) for item in (write, ping)] == [
        ("write", INPUTS[0]),
        ("ping", INPUTS[1]),
    ]
    assert (shell["name"], shell["input"], response["usage"]["total_tokens"]) == ("shell", SCRIPT, 12)


@seeds
@pytest.mark.parametrize(
    ("block", "begun"),
    [(WRONG, '{"path":"a.py","text":"all'), (EMPTY, "{"), (CUT, '{"path":"a.py","text":"half of it')],
)
def test_a_failed_call_is_an_incomplete_item_that_is_never_done(seed: int, block: str, begun: str) -> None:
    sent = of_text(f"So: {block}", seed)
    assert "response.function_call_arguments.done" not in [name for name, _ in sent]
    text, call = final(sent)["output"]
    assert (text["status"], call["status"], call["arguments"]) == ("completed", "incomplete", begun)


@seeds
def test_a_stream_goes_on_behind_a_failed_call(seed: int) -> None:
    output = final(of_text(WRONG + GOOD + UNKNOWN, seed))["output"]
    assert [item["type"] for item in output] == ["function_call", *TYPES]
    assert output[-1]["content"][0]["text"] == TEXTS[-1] + UNKNOWN
    assert json.loads(output[3]["arguments"]) == INPUTS[0]


@pytest.mark.parametrize(
    ("reason", "told"), [("length", "max_output_tokens"), ("content_filter", "content_filter"), ("max_tokens", None)]
)
def test_a_reply_that_was_cut_off_is_incomplete(reason: str, told: str | None) -> None:
    *_, (name, last) = of_text("Half of a sen", 1, reason)
    response = last["response"]
    assert (name, response["status"]) == ("response.incomplete", "incomplete")
    assert response["incomplete_details"]["reason"] == (told or "max_output_tokens")
    [item] = response["output"]
    assert (item["status"], item["content"][0]["text"]) == ("incomplete", "Half of a sen")


def test_a_cut_input_of_a_custom_tool_is_what_had_come() -> None:
    [item] = final(of_text(CUT_INPUT, 1, "length"))["output"]
    assert (item["type"], item["input"], item["status"]) == ("custom_tool_call", "rm -", "incomplete")


def test_what_breaks_off_ends_in_a_failed_response_with_what_had_come() -> None:
    stream, parser = ResponsesStream(**HEAD), Parser(TOOLS)
    sent = [*stream.feed(parser.feed("Hello " + CUT)), *stream.fail("the upstream broke off")]
    assert (stream.fail("again"), stream.close()) == ([], [])
    response = final(sent)
    assert (sent[-1][0], response["status"]) == ("response.failed", "failed")
    assert (response["error"]["code"], response["error"]["message"]) == ("server_error", "the upstream broke off")
    assert [item["status"] for item in response["output"]] == ["completed", "incomplete"]


def test_what_fails_before_it_begins_still_begins() -> None:
    assert [name for name, _ in ResponsesStream(**HEAD).fail("no")] == [
        "response.created",
        "response.in_progress",
        "response.failed",
    ]


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
