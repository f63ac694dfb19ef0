"""What clients punish on the wire, and that the server never does it: each rule holds for every kind of reply, however
the upstream cuts it, and the official clients make the same of a stream as of a whole answer."""

from __future__ import annotations

import json
import math
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest

from proxy.running import serving
from proxy.test_server_upstream import (
    DONE,
    PATIENCE,
    USAGE,
    Answer,
    Gate,
    Seen,
    Step,
    Upstream,
    World,
    as_json,
    chunk,
    reply,
    stream,
    whole,
    world,
)
from xmltools.proxy.bridge import Settings
from xmltools.proxy.server import ServeConfig, create_app

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

CHAT, ANTHROPIC, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
apis = pytest.mark.parametrize("path", [CHAT, ANTHROPIC, RESPONSES])
streams = pytest.mark.parametrize("streams", [False, True])

STRING = {"type": "string"}
WRITE = {
    "type": "object",
    "properties": {
        "path": STRING,
        "text": STRING,
        "size": {"type": "integer"},
        "tags": {"type": "array", "items": STRING},
        "options": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
    },
    "required": ["path"],
}
NONE: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMAS = {"write": WRITE, "ping": NONE}


def tools_for(path: str, **more: Any) -> list[dict[str, Any]]:
    if path == ANTHROPIC:
        return [{"name": name, "input_schema": schema, **more} for name, schema in SCHEMAS.items()]
    tools = [{"name": name, "parameters": schema, **more} for name, schema in SCHEMAS.items()]
    if path == RESPONSES:
        return [{"type": "function", "strict": False, **tool} for tool in tools]
    return [{"type": "function", "function": tool} for tool in tools]


def body_for(path: str, words: str = "Write it.", **more: Any) -> dict[str, Any]:
    said = {"input": words} if path == RESPONSES else {"messages": [{"role": "user", "content": words}]}
    limit = {"max_tokens": 99} if path == ANTHROPIC else {}
    return {"model": "m", **said, **limit, "tools": tools_for(path), **more}


def call(arguments: str = "<path>a.py</path>", name: str = "write") -> str:
    return f"<tool><tool_name>{name}</tool_name><arguments>{arguments}</arguments></tool>"


ODD = 'q " b \\ \\u00e9 n \n t \t é 😀 \u2028\u2029\x85 \x7f ]] > &lt; end\\'
FAILS = call("<path>a.py</path><text>streamed</text><size>big</size>")
# What the model writes, and why it ends.
REPLIES: dict[str, tuple[str, str]] = {
    "text": ("Just words: é 😀\u2028.", "stop"),
    "a call": (call(), "stop"),
    "calls in text": (f"One. {call()}\nTwo. {call('<text>t</text><path>b</path>')} Three.", "stop"),
    "calls side by side": (f"{call()}\n{call(name='ping', arguments='')}\n{call()}", "stop"),
    "thoughts and a call": (f"<think>Hm, a <b>.</think>\n{call()}", "stop"),
    "a call without arguments": ("<tool><tool_name>ping</tool_name></tool>", "stop"),
    "arguments of all types": (
        call(
            "<size>12</size><tags><item>a</item><item>b</item></tags><options><deep>true</deep></options><path>p</path>"
        ),
        "stop",
    ),
    "odd characters": (call(f"<path>p</path><text><![CDATA[{ODD}]]></text>"), "stop"),
    "an argument of white space": (call("<path>   </path><text>\n\n\n</text>"), "stop"),
    "a call that fails": (f"Now: {FAILS} then.", "stop"),
    "a call that fails before one that does not": (FAILS + call(), "stop"),
    "a call of no tool": (call(name="wriet"), "stop"),
    "a call that is cut off": ("Now: " + call("<path>a.py</path><text>half of")[:-19], "length"),
    "text that is cut off": ("Half of", "length"),
    "a call, and then cut off": (call() + "And", "length"),
    "what a filter stopped": ("I can", "content_filter"),
    "nothing": ("", "stop"),
}
SIZES = (1, 7, 100_000)
replies = pytest.mark.parametrize("name", REPLIES)


FAIL = ("a call that fails", "a call that fails before one that does not", "a call that is cut off")


class Said:
    """The upstream that says the replies by their names, and all that two servers made of them.

    One sends calls as they are written. A call that fails there ends the stream with an error, so that it is the other
    one, which sends them when they are whole, that is asked for these.
    """

    def __init__(self, live: World, it: World) -> None:
        self.live = live
        self.it = it
        self._streams: dict[tuple[str, str, int], bytes] = {}

    def raw(self, path: str, name: str, size: int) -> bytes:
        """The bytes of a stream."""
        key = (path, name, size)
        if key not in self._streams:
            options = {"stream_options": {"include_usage": True}} if path == CHAT else {}
            body = body_for(path, f"{size}:{name}", stream=True, **options)
            asked = self.it if name in FAIL else self.live
            self._streams[key] = asked.client.post(path, json=body).content
        return self._streams[key]

    def events(self, path: str, name: str, size: int) -> list[dict[str, Any]]:
        """The data of a stream's events, but for the end of OpenAI's."""
        return [data for _, data in events_of(self.raw(path, name, size)) if data]


def say(seen: Seen) -> Answer:
    size, _, name = seen.json["messages"][-1]["content"].partition(":")
    text, finish = REPLIES[name]
    if not seen.json["stream"]:
        return whole(text, finish=finish)
    return Answer(stream(text, size=int(size), finish=finish))


@pytest.fixture(scope="module")
def said() -> Iterator[Said]:
    with (
        world(Upstream(make=say), settings=Settings(retries=0, live_arguments=True)) as live,
        world(Upstream(make=say), settings=Settings(retries=0)) as it,
    ):
        yield Said(live, it)


EVENT = re.compile(rb"(?:event: ([a-z_.]+)\n)?data: ([^\r\n]+)\n\n")


def events_of(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The events of a stream by the narrowest reading: a name, if any, and one line of data. The end has no data."""
    events, at = [], 0
    while at < len(data):
        found = EVENT.match(data, at)
        assert found, data[at : at + 80]
        events.append(((found[1] or b"").decode(), {} if found[2] == b"[DONE]" else json.loads(found[2])))
        at = found.end()
    return events


Rule = Callable[[list[dict[str, Any]]], object]


def holds(rule: Rule, said: Said, path: str, name: str) -> None:
    for size in SIZES:
        rule(said.events(path, name, size))


# Chat completions


def choices_of(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice for each in chunks for choice in each["choices"]]


def deltas_of(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for choice in choices_of(chunks)]


def fragments_of(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for delta in deltas_of(chunks) for each in delta.get("tool_calls", ())]


def the_role_is_said_once_and_first(chunks: list[dict[str, Any]]) -> None:
    assert ["role" in delta for delta in deltas_of(chunks)] == [True] + [False] * (len(choices_of(chunks)) - 1)


def all_chunks_have_the_same_head(chunks: list[dict[str, Any]]) -> None:
    heads = {tuple((key, each[key]) for key in ("id", "object", "created", "model")) for each in chunks}
    ((_, kind, _, _),) = heads
    assert kind == ("object", "chat.completion.chunk")


def a_call_is_named_once_in_its_first_fragment(chunks: list[dict[str, Any]]) -> None:
    seen = set()
    for each in fragments_of(chunks):
        if each["index"] in seen:
            assert each.keys() == {"index", "function"} and each["function"].keys() == {"arguments"}
        else:
            assert each["id"].startswith("call_") and each["type"] == "function"
            assert each["function"]["name"].strip() and each["function"]["arguments"] == ""
        seen.add(each["index"])


def calls_are_numbered_without_gaps_and_never_mixed(chunks: list[dict[str, Any]]) -> None:
    indices = [each["index"] for each in fragments_of(chunks)]
    assert indices == sorted(indices)
    assert sorted(set(indices)) == list(range(len(set(indices))))


def no_list_of_calls_and_no_content_behind_the_first_chunk_is_empty(chunks: list[dict[str, Any]]) -> None:
    for delta in deltas_of(chunks)[1:]:
        assert all(value for value in delta.values())


def no_fragment_begins_with_white_space_or_ends_within_an_escape(chunks: list[dict[str, Any]]) -> None:
    begun = set()
    for each in fragments_of(chunks):
        text = each["function"]["arguments"]
        if text and each["index"] not in begun:
            begun.add(each["index"])
            assert text.startswith("{")
        assert not re.search(r"(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?\Z", text)
        text.encode()  # raises for half of a pair


def the_reason_comes_once_and_last(chunks: list[dict[str, Any]]) -> None:
    reasons = [choice["finish_reason"] for choice in choices_of(chunks)]
    assert reasons[-1] in ("stop", "tool_calls", "length", "content_filter")
    assert set(reasons[:-1]) <= {None}
    assert deltas_of(chunks)[-1] == {}


def whoever_is_told_to_stop_has_no_call_to_run(chunks: list[dict[str, Any]]) -> None:
    whole_calls = [text for text in joined(fragments_of(chunks)) if is_object(text)]
    reason = choices_of(chunks)[-1]["finish_reason"]
    assert bool(whole_calls) == (reason == "tool_calls") or reason in ("length", "content_filter")


def the_usage_is_last_and_alone(chunks: list[dict[str, Any]]) -> None:
    assert [each["usage"] for each in chunks] == [None] * (len(chunks) - 1) + [USAGE]
    assert chunks[-1]["choices"] == []


def joined(fragments: list[dict[str, Any]]) -> list[str]:
    calls: dict[int, str] = {}
    for each in fragments:
        calls[each["index"]] = calls.get(each["index"], "") + each["function"]["arguments"]
    return list(calls.values())


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


CHAT_RULES: list[Rule] = [
    the_role_is_said_once_and_first,
    all_chunks_have_the_same_head,
    a_call_is_named_once_in_its_first_fragment,
    calls_are_numbered_without_gaps_and_never_mixed,
    no_list_of_calls_and_no_content_behind_the_first_chunk_is_empty,
    no_fragment_begins_with_white_space_or_ends_within_an_escape,
    the_reason_comes_once_and_last,
    whoever_is_told_to_stop_has_no_call_to_run,
    the_usage_is_last_and_alone,
]


@replies
@pytest.mark.parametrize("rule", CHAT_RULES, ids=lambda rule: rule.__name__)
def test_in_a_stream_of_chat_completions(said: Said, rule: Rule, name: str) -> None:
    holds(rule, said, CHAT, name)


# Messages


def it_begins_and_ends_as_a_message(events: list[dict[str, Any]]) -> None:
    kinds = [each["type"] for each in events]
    assert kinds[0] == "message_start" and kinds[-2:] == ["message_delta", "message_stop"]
    assert set(kinds[1:-2]) <= {"content_block_start", "content_block_delta", "content_block_stop"}
    assert events[0]["message"]["content"] == [] and events[0]["message"]["id"].startswith("msg_")


def blocks_follow_each_other_and_are_numbered_by_their_place(events: list[dict[str, Any]]) -> None:
    order = [(each["type"].removeprefix("content_block_"), each["index"]) for each in events[1:-2]]
    for number in range(sum(kind == "start" for kind, _ in order)):
        assert order.pop(0) == ("start", number)
        while order[0] == ("delta", number):
            order.pop(0)
        assert order.pop(0) == ("stop", number)
    assert order == []


def a_block_is_filled_with_its_own_kind(events: list[dict[str, Any]]) -> None:
    starts = {
        "text": ({"type": "text", "text": ""}, "text_delta"),
        "thinking": ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta"),
    }
    expected = ""
    for each in events:
        if each["type"] == "content_block_start":
            block = each["content_block"]
            if block["type"] == "tool_use":
                expected = "input_json_delta"
                assert block["id"].startswith("toolu_") and block["name"] in SCHEMAS and block["input"] == {}
            else:
                start, expected = starts[block["type"]]
                assert block == start
        elif each["type"] == "content_block_delta":
            assert each["delta"]["type"] == expected


def tokens_are_counted_in_the_first_event_and_the_last(events: list[dict[str, Any]]) -> None:
    assert events[0]["message"]["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert events[-2]["usage"] == {"input_tokens": 11, "output_tokens": 7}


def inputs(events: list[dict[str, Any]]) -> dict[int, str]:
    calls = {
        each["index"]: ""
        for each in events
        if each["type"] == "content_block_start" and each["content_block"]["type"] == "tool_use"
    }
    for each in events:
        if "partial_json" in each.get("delta", ()):
            assert calls[each["index"]] or not each["delta"]["partial_json"][:1].isspace()
            calls[each["index"]] += each["delta"]["partial_json"]
    return calls


def a_call_to_run_is_why_it_stopped(events: list[dict[str, Any]]) -> None:
    reason = events[-2]["delta"]["stop_reason"]
    assert reason in ("end_turn", "max_tokens", "tool_use", "refusal")
    whole_inputs = [text for text in inputs(events).values() if is_object(text or "{}")]
    assert bool(whole_inputs) == (reason == "tool_use") or reason in ("max_tokens", "refusal")


ANTHROPIC_RULES: list[Rule] = [
    it_begins_and_ends_as_a_message,
    blocks_follow_each_other_and_are_numbered_by_their_place,
    a_block_is_filled_with_its_own_kind,
    tokens_are_counted_in_the_first_event_and_the_last,
    a_call_to_run_is_why_it_stopped,
]


@replies
@pytest.mark.parametrize("rule", ANTHROPIC_RULES, ids=lambda rule: rule.__name__)
def test_in_a_stream_of_messages(said: Said, rule: Rule, name: str) -> None:
    holds(rule, said, ANTHROPIC, name)


# Responses


def it_begins_and_ends_as_one_response(events: list[dict[str, Any]]) -> None:
    kinds = [each["type"] for each in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] in ("response.completed", "response.incomplete")
    assert len({each["response"]["id"] for each in events if "response" in each}) == 1


def events_are_numbered(events: list[dict[str, Any]]) -> None:
    assert [each["sequence_number"] for each in events] == list(range(len(events)))


def an_item_keeps_its_names_from_its_first_event_to_the_response(events: list[dict[str, Any]]) -> None:
    added = [each for each in events if each["type"] == "response.output_item.added"]
    done = [each for each in events if each["type"] == "response.output_item.done"]
    assert [each["output_index"] for each in added] == list(range(len(added)))
    for first, last in zip(added, done, strict=True):
        for key in ("id", "type", "call_id", "name"):
            assert first["item"].get(key) == last["item"].get(key)
    assert [each["item"] for each in done] == events[-1]["response"]["output"]


def a_part_is_added_before_there_is_text_for_it(events: list[dict[str, Any]]) -> None:
    parts = set()
    for each in events:
        if each["type"] == "response.content_part.added":
            parts.add((each["item_id"], each["content_index"]))
        elif each["type"] in ("response.output_text.delta", "response.reasoning_text.delta"):
            assert (each["item_id"], each["content_index"]) in parts


def arguments_are_those_of_the_fragments(events: list[dict[str, Any]]) -> None:
    written: dict[str, str] = {}
    for each in events:
        if each["type"] == "response.function_call_arguments.delta":
            written[each["item_id"]] = written.get(each["item_id"], "") + each["delta"]
        elif each["type"] == "response.function_call_arguments.done":
            assert each["arguments"] == written.get(each["item_id"], "") and is_object(each["arguments"])
    for item in events[-1]["response"]["output"]:
        if item["type"] == "function_call":
            assert item["arguments"] == written.get(item["id"], "")
            assert (item["status"] == "completed") == is_object(item["arguments"])


def why_it_ended_and_all_counts_are_there(events: list[dict[str, Any]]) -> None:
    response = events[-1]["response"]
    assert events[-1]["type"] == f"response.{response['status']}"
    reason = (response["incomplete_details"] or {}).get("reason")
    assert reason in ((None,) if response["status"] == "completed" else ("max_output_tokens", "content_filter"))
    usage = response["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (11, 7, 18)
    assert usage["input_tokens_details"]["cached_tokens"] == usage["output_tokens_details"]["reasoning_tokens"] == 0


RESPONSES_RULES: list[Rule] = [
    it_begins_and_ends_as_one_response,
    events_are_numbered,
    an_item_keeps_its_names_from_its_first_event_to_the_response,
    a_part_is_added_before_there_is_text_for_it,
    arguments_are_those_of_the_fragments,
    why_it_ended_and_all_counts_are_there,
]


@replies
@pytest.mark.parametrize("rule", RESPONSES_RULES, ids=lambda rule: rule.__name__)
def test_in_a_stream_of_responses(said: Said, rule: Rule, name: str) -> None:
    holds(rule, said, RESPONSES, name)


# Bytes


@replies
@apis
def test_every_event_is_one_line_of_data_under_its_own_name(said: Said, path: str, name: str) -> None:
    for size in SIZES:
        raw = said.raw(path, name, size)
        named = [(event, data) for event, data in events_of(raw) if data]
        assert all(event == ("" if path == CHAT else data["type"]) for event, data in named)
        assert raw.decode().splitlines() == raw.decode().split("\n")[:-1]  # no other line break in it
        assert raw.count(DONE) == (path == CHAT) and (path != CHAT or raw.endswith(DONE))


@apis
def test_a_piece_of_the_upstream_makes_one_fragment_of_a_call_and_a_long_one_some(said: Said, path: str) -> None:
    kinds = ("response.function_call_arguments.delta",)
    reply = REPLIES["odd characters"][0]
    for size in SIZES:
        pieces = [reply[at : at + size] for at in range(0, len(reply), size)]
        events = said.events(path, "odd characters", size)
        count = sum('"partial_json"' in json.dumps(each) or each.get("type") in kinds for each in events)
        count += sum(bool(each["function"]["arguments"]) for each in fragments_of(events)) if path == CHAT else 0
        assert count <= sum(math.ceil(len(piece) / 128) for piece in pieces)  # others are served in between


# The official clients


OPEN = ExitStack()


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def client_for(path: str, url: str) -> Any:
    if path == ANTHROPIC:
        return OPEN.enter_context(anthropic.Anthropic(base_url=url, api_key="k", max_retries=0))
    return OPEN.enter_context(openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0))


def asked(path: str, client: Any, body: dict[str, Any]) -> Any:
    """What a client makes of a whole answer."""
    if path == CHAT:
        return client.chat.completions.create(**body)
    return (client.messages if path == ANTHROPIC else client.responses).create(**body)


def streamed(path: str, client: Any, body: dict[str, Any], begun: Callable[[], None] = lambda: None) -> Any:
    """What a client makes of a stream, by its own helper. `begun` is called when the head of the answer is there."""
    if path == CHAT:
        with client.chat.completions.stream(**body) as events:
            begun()
            events.until_done()
            return events.get_final_completion()
    if path == ANTHROPIC:
        with client.messages.stream(**body) as events:
            begun()
            return events.get_final_message()
    with client.responses.stream(**body) as events:
        begun()
        *_, last = events
        # The helper knows no response that was cut off.
        return last.response if last.type == "response.incomplete" else events.get_final_response()


def content_of(path: str, reply: Any) -> Any:
    """What there is in a reply, without ids."""
    if path == CHAT:
        message = reply.choices[0].message
        calls = [(each.function.name, json.loads(each.function.arguments)) for each in message.tool_calls or ()]
        thoughts = (message.model_extra or {}).get("reasoning_content")
        return message.role, message.content or "", thoughts, calls, reply.choices[0].finish_reason
    if path == ANTHROPIC:
        blocks = [each.model_dump(include={"type", "text", "thinking", "name", "input"}) for each in reply.content]
        return reply.role, blocks, reply.stop_reason, reply.usage.input_tokens, reply.usage.output_tokens
    output = [each.model_dump(exclude={"id", "call_id", "parsed_arguments"}) for each in reply.output]
    for item in output:
        if item["type"] == "function_call":
            item["arguments"] = json.loads(item["arguments"])
        for part in item.get("content") or ():
            part.pop("parsed", None)
    return output, reply.status, reply.usage.model_dump()


# Of a call that fails, a stream has said its beginning; a whole answer has it as text.
SAME = [name for name in REPLIES if not re.search("fails|call that is cut", name)]


@apis
@pytest.mark.parametrize("name", SAME)
def test_a_client_makes_the_same_of_a_stream_as_of_a_whole_answer(said: Said, path: str, name: str) -> None:
    client = client_for(path, said.it.url)
    one = content_of(path, asked(path, client, body_for(path, f"1:{name}")))
    for size in SIZES:
        body = body_for(path, f"{size}:{name}")
        if path == CHAT and REPLIES[name][1] == "length":
            with pytest.raises(openai.LengthFinishReasonError):
                streamed(path, client, body)
        elif path == CHAT and REPLIES[name][1] == "content_filter":
            with pytest.raises(openai.ContentFilterFinishReasonError):
                streamed(path, client, body)
        else:
            assert content_of(path, streamed(path, client, body)) == one


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("name", ["odd characters", "an argument of white space", "arguments of all types"])
def test_the_arguments_of_a_strict_tool_are_read_while_they_stream(said: Said, path: str, name: str) -> None:
    client = client_for(path, said.it.url)
    body = body_for(path, f"1:{name}", tools=tools_for(path, strict=True))
    made = streamed(path, client, body)
    if path == CHAT:
        (found,) = made.choices[0].message.tool_calls
        assert found.function.parsed_arguments == json.loads(found.function.arguments)
    else:
        (item,) = made.output
        assert item.parsed_arguments == json.loads(item.arguments)


@apis
def test_a_client_that_was_told_to_wait_reads_the_reply_all_the_same(path: str) -> None:
    gate = Gate()
    with world(Upstream(Answer(stream(call()), before=gate)), keepalive=0.02) as it:
        # Only a keep-alive can have brought the head of the answer: the upstream is still at the gate.
        made = streamed(path, client_for(path, it.url), body_for(path), gate.open)
    assert gate.reached.is_set()
    assert called(path, made) == ["write"]


@apis
def test_a_client_knows_the_id_of_its_request(path: str) -> None:
    with world(Upstream(whole("Hi"), as_json({"error": {"message": "no"}}, 400))) as it:
        client, body = client_for(path, it.url), body_for(path, extra_headers={"x-request-id": "mine"})
        made = asked(path, client, body)
        with pytest.raises(anthropic.BadRequestError if path == ANTHROPIC else openai.BadRequestError) as caught:
            asked(path, client, body)
    assert made._request_id == caught.value.request_id == "mine"


# What upstreams do


def up(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice], **more})}\n\n".encode()


ODD_UPSTREAMS: dict[str, list[Step]] = {
    "no choices in the first chunk": [b'data: {"choices":[],"prompt_filter_results":[]}\n\n', *stream(call())],
    "usage in every chunk": [
        up({"content": call()}, usage={"prompt_tokens": 11, "completion_tokens": 1, "total_tokens": 12}),
        up({}, "stop", usage=USAGE),
        DONE,
    ],
    "the last text and the reason in one chunk": [up({"content": call()}, "stop", usage=USAGE), DONE],
    "the reason twice": [up({"content": call()}, "stop"), up({}, "stop", usage=USAGE), DONE],
    "no end": stream(call())[:-1],
    "the role in every chunk": [
        *[up({"role": "assistant", "content": letter}) for letter in call()],
        up({"role": "assistant"}, "stop", usage=USAGE),
        DONE,
    ],
    "null for what is not there": [
        up({"content": None, "tool_calls": None, "reasoning_content": None}, usage=None),
        *stream(call()),
    ],
    "calls of its own, empty": [up({"content": call(), "tool_calls": []}), *stream("")],
    "comments and pings": [b": ping\n\n", b"event: ping\n\n", b"\n\n", *stream(call())],
    "more behind the end": [*stream(call()), up({"content": "more"}), b"data: nonsense\n\n"],
}


@apis
@pytest.mark.parametrize("name", ODD_UPSTREAMS)
def test_clients_get_the_call_whatever_the_upstreams_stream_looks_like(path: str, name: str) -> None:
    with world(Upstream(Answer(ODD_UPSTREAMS[name]))) as it:
        made = streamed(path, client_for(path, it.url), body_for(path, **usage_asked(path)))
    content = content_of(path, made)
    assert "a.py" in str(content) and "<tool>" not in str(content)
    usage = made.usage.model_dump()
    assert usage.get("prompt_tokens", usage.get("input_tokens")) == 11
    assert usage.get("completion_tokens", usage.get("output_tokens")) == 7


def usage_asked(path: str) -> dict[str, Any]:
    return {"stream_options": {"include_usage": True}} if path == CHAT else {}


@contextmanager
def bare(answer: bytes, *, reset: bool) -> Iterator[tuple[str, threading.Event]]:
    """A server without any manners: it says its bytes to whoever comes, and closes or resets the connection when the
    event is set. (What was sent in front of a reset is lost where it has not been read yet.)"""
    was_read = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(PATIENCE)
            while b"\r\n\r\n" not in connection.recv(1 << 16):
                pass
            connection.sendall(answer)
            was_read.wait(PATIENCE)
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", was_read
        finally:
            was_read.set()
            thread.join(PATIENCE)


@contextmanager
def in_front_of(upstream: str) -> Iterator[httpx2.Client]:
    with (
        serving(create_app(ServeConfig(upstream=upstream, settings=Settings(dialect="forge")))) as server,
        httpx2.Client(base_url=server.url, timeout=PATIENCE, trust_env=False) as client,
    ):
        yield client


resets = pytest.mark.parametrize("reset", [True, False], ids=["reset", "closed"])


@apis
@resets
@streams
@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\nconte"], ids=["-", "ssh", "head"])
def test_an_upstream_that_does_not_get_as_far_as_an_answer_is_a_bad_gateway(
    path: str, reset: bool, streams: bool, answer: bytes
) -> None:
    with bare(answer, reset=reset) as (upstream, was_read), in_front_of(upstream) as client:
        was_read.set()
        response = client.post(path, json=body_for(path, stream=streams))
    assert (response.status_code, bool(response.json()["error"]["message"])) == (502, True)


@apis
@streams
def test_an_upstream_that_takes_no_connection_is_given_up(path: str, streams: bool) -> None:
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # more than wait in its line: the next one is not answered
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        app = create_app(ServeConfig(upstream=f"http://127.0.0.1:{full.getsockname()[1]}/v1", connect_timeout=0.2))
        server = stack.enter_context(serving(app))
        client = stack.enter_context(httpx2.Client(base_url=server.url, timeout=PATIENCE, trust_env=False))
        response = client.post(path, json=body_for(path, stream=streams))
    assert response.status_code == 504
    assert (
        response.json()["error"]["message"] == "the upstream took no connection within 0.2 seconds (--connect-timeout)"
    )


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
HALF = chunk("Half ") + chunk(call()[:60])
BEGUN = HEAD + f"{len(HALF):x}\r\n".encode() + HALF + b"\r\n"


@apis
@resets
@pytest.mark.parametrize("end", [b"", b"zz\r\nnonsense", b"5\r\nda"], ids=["-", "garbage", "half"])
def test_a_connection_that_breaks_within_a_call_is_an_error_and_no_call(path: str, end: bytes, reset: bool) -> None:
    with (
        bare(BEGUN + end, reset=reset) as (upstream, was_read),
        in_front_of(upstream) as client,
        client.stream("POST", path, json=body_for(path, stream=True)) as response,
    ):
        pieces = response.iter_raw()
        data = next(pieces)
        was_read.set()
        data += b"".join(pieces)
    if response.status_code == 502 and end.startswith(b"zz"):  # it came in one piece with the head, and is no answer
        assert "upstream" in json.loads(data)["error"]["message"]
        return
    events = [each for _, each in events_of(data) if each]
    assert response.status_code == 200 and b"Half " in data
    assert "upstream" in (events[-1].get("error") or events[-1]["response"]["error"])["message"]
    if path == CHAT:
        assert not any(map(is_object, joined(fragments_of(events[:-1]))))
        assert {choice["finish_reason"] for choice in choices_of(events[:-1])} == {None}
    else:
        assert not {each["type"] for each in events} & {"message_stop", "response.completed"}


# Which tool, and how many calls

NAMED = {
    CHAT: {"type": "function", "function": {"name": "ping"}},
    ANTHROPIC: {"type": "tool", "name": "ping"},
    RESPONSES: {"type": "function", "name": "ping"},
}
ALLOWED = {
    CHAT: {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [tools_for(CHAT)[1]]}},
    RESPONSES: {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "ping"}]},
}
WORDS = {ANTHROPIC: {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}}
PING = call(name="ping", arguments="")
# What may be called; what is then described, and which calls of "write, ping" are calls.
CHOSEN: dict[str, tuple[list[str], list[str]]] = {
    "auto": (["write", "ping"], ["write", "ping"]),
    "required": (["write", "ping"], ["write", "ping"]),
    "none": ([], []),
    "named": (["ping"], ["ping"]),
    "allowed": (["ping"], ["ping"]),
}
REASONS = {
    CHAT: {"auto": "tool_calls", "required": "tool_calls", "none": "stop", "named": "stop", "allowed": "tool_calls"},
    ANTHROPIC: {"auto": "tool_use", "required": "tool_use", "none": "end_turn", "named": "tool_use"},
    RESPONSES: dict.fromkeys(CHOSEN, "completed"),
}


def choice_for(path: str, choice: str) -> Any:
    if choice == "named":
        return NAMED[path]
    return ALLOWED[path] if choice == "allowed" else WORDS.get(path, {}).get(choice, choice)


def called(path: str, reply: Any) -> list[str]:
    if path == CHAT:
        return [each.function.name for each in reply.choices[0].message.tool_calls or ()]
    blocks = reply.content if path == ANTHROPIC else reply.output
    return [each.name for each in blocks if each.type in ("tool_use", "function_call")]


def reason_of(path: str, reply: Any) -> str:
    if path == CHAT:
        return str(reply.choices[0].finish_reason)
    return str(reply.stop_reason if path == ANTHROPIC else reply.status)


@pytest.mark.parametrize("ask", [asked, streamed])
@pytest.mark.parametrize(("path", "choice"), [(path, choice) for path in REASONS for choice in REASONS[path]])
def test_a_choice_of_tools_is_kept(path: str, choice: str, ask: Any) -> None:
    described, calls = CHOSEN[choice]
    with world(Upstream(make=reply(call() + PING))) as it:
        made = ask(path, client_for(path, it.url), body_for(path, tool_choice=choice_for(path, choice)))
        seen = it.upstream.seen[0]
    assert (called(path, made), reason_of(path, made)) == (calls, REASONS[path][choice])
    prompt = seen.json["messages"][0]["content"]
    assert [name for name in SCHEMAS if f"## {name}" in prompt] == described
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & seen.json.keys()


@apis
@pytest.mark.parametrize("choice", ["required", "named"])
def test_a_stream_without_the_call_that_was_required_ends_with_an_error(path: str, choice: str) -> None:
    with world(Upstream(make=reply("No."))) as it:
        body = body_for(path, tool_choice=choice_for(path, choice))
        client = client_for(path, it.url)
        if path == RESPONSES:
            *_, last = client.responses.create(**body, stream=True)
            assert last.type == "response.failed" and "tool_choice" in last.response.error.message
        else:
            kind = anthropic.APIStatusError if path == ANTHROPIC else openai.APIError
            with pytest.raises(kind, match="tool_choice"):
                streamed(path, client, body)


@apis
@streams
def test_where_one_call_is_wanted_the_second_is_not_waited_for(path: str, streams: bool) -> None:
    one = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    fields = one if path == ANTHROPIC else {"parallel_tool_calls": False}
    gate = Gate()
    steps = [chunk(call() + call()), gate, *stream(call())]
    answer = Answer(steps) if streams else whole(call() + call())
    with world(Upstream(answer)) as it:
        made = (streamed if streams else asked)(path, client_for(path, it.url), body_for(path, **fields))
        since = time.monotonic()
        assert not streams or it.upstream.seen[0].left.wait(PATIENCE)
        assert time.monotonic() - since < 1
    assert called(path, made) == ["write"]
    assert reason_of(path, made) in ("tool_calls", "tool_use", "completed")


@pytest.mark.parametrize(("path", "field"), [(CHAT, "stop"), (ANTHROPIC, "stop_sequences"), (RESPONSES, "stop")])
@streams
def test_a_stop_sequence_ends_the_text_and_cuts_no_call(path: str, field: str, streams: bool) -> None:
    text = f"One. {call('<path>END</path>')} two END three {call()}"
    body = body_for(path, **({"extra_body": {field: ["END"]}} if path == RESPONSES else {field: ["END"]}))
    with world(Upstream(make=reply(text))) as it:
        made = (streamed if streams else asked)(path, client_for(path, it.url), body)
        assert "stop" not in it.upstream.seen[0].json
    assert called(path, made) == ["write"]
    assert "two " in str(made) and "three" not in str(made)
    if path == ANTHROPIC:
        assert (made.stop_reason, made.stop_sequence) == ("stop_sequence", "END")


@apis
@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
@streams
def test_thoughts_that_the_upstream_tells_apart_stay_apart(path: str, key: str, streams: bool) -> None:
    message = {"role": "assistant", key: "Hm.", "content": "Yes."}
    completion = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE}
    steps: list[Step] = [up({key: "H"}), up({key: "m."}), up({"content": "Yes."}), up({}, "stop", usage=USAGE), DONE]
    with world(Upstream(Answer(steps) if streams else as_json(completion))) as it:
        made = (streamed if streams else asked)(path, client_for(path, it.url), body_for(path, **usage_asked(path)))
    if path == CHAT:
        message = made.choices[0].message
        assert (message.content, message.model_extra[key]) == ("Yes.", "Hm.")
    else:
        thoughts, text = made.content if path == ANTHROPIC else made.output
        assert thoughts.type == ("thinking" if path == ANTHROPIC else "reasoning")
        assert (thoughts.thinking if path == ANTHROPIC else thoughts.content[0].text) == "Hm."
        assert (text.text if path == ANTHROPIC else text.content[0].text) == "Yes."
