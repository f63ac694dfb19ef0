from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.calls import Meant, meant_calls
from support.often import examples
from support.strategies import Case, cases, chunkings, clean_cases, pieces

from xmltools.conversations.streams import (
    SSE_DONE,
    AnthropicReader,
    AnthropicStream,
    ArgumentStream,
    OpenAIReader,
    OpenAIStream,
    to_sse,
)
from xmltools.errors import CallError, Code, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    ReasoningDelta,
    Skipped,
    TextDelta,
)
from xmltools.parser import Parser, build_reply
from xmltools.render import render_call
from xmltools.tools import Tool

law = examples(200)

TEXT, INTEGER = {"type": "string"}, {"type": "integer"}


def tool(name: str, server: str = "local", **properties: Any) -> Tool:
    return Tool(name=name, parameters={"type": "object", "properties": properties}, server=server)


WRITE = tool("write", path=TEXT, text=TEXT, mode=INTEGER, lines={"type": "array", "items": TEXT})
OPEN = "<tool><tool_name>write</tool_name><arguments>"
CLOSE = "</arguments></tool>"


# Running


def parsed(chunks: Iterable[str], tools: list[Tool] | None, **options: Any) -> list[list[Event]]:
    """The events of each chunk, and of the end. Ids are c0, c1, c2, …"""
    ids = (f"c{number}" for number in itertools.count())
    parser = Parser(tools, new_id=lambda: next(ids), **options)
    return [*map(parser.feed, chunks), parser.close()]


def flat(groups: Iterable[Iterable[Any]]) -> list[Any]:
    return [each for group in groups for each in group]


def of_case(case: Case, chunks: Iterable[str]) -> list[list[Event]]:
    return parsed(chunks, case.tools, **case.options)


def fragments(events: Iterable[Event], tools: list[Tool] | None) -> list[tuple[Event | None, list[str]]]:
    """The fragments of each call that has started, with the event of its end (None: it has none)."""
    stream, calls = ArgumentStream(tools), list[Any]()
    for event in events:
        fragment = stream.feed(event)
        if isinstance(event, CallStarted):
            calls.append((None, []))
        if fragment:
            calls[-1][1].append(fragment)
        if isinstance(event, CallCompleted) or (isinstance(event, CallFailed) and event.id is not None):
            calls[-1] = (event, calls[-1][1])
    return calls


def sendable(value: Any) -> Any:
    """The value as a stream can say it: without lone surrogates."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, dict):
        return {sendable(name): sendable(each) for name, each in value.items()}
    return [sendable(each) for each in value] if isinstance(value, list) else value


def exact(value: Any) -> str:
    """The value with its types: 5, 5.0 and true are three things. The order of members means nothing."""
    return json.dumps(sendable(value), sort_keys=True)


def said(call: ToolCall) -> tuple[str, str, str]:
    return sendable(call.id), sendable(call.name), exact(call.arguments)


def openai_chunks(groups: Iterable[list[Event]], tools: list[Tool] | None, **options: Any) -> list[dict[str, Any]]:
    stream = OpenAIStream(id="chatcmpl-1", model="m", created=1, tools=tools, **options)
    return [*flat(map(stream.feed, groups)), *stream.close()]


def anthropic_messages(groups: Iterable[list[Event]], tools: list[Tool] | None, **options: Any) -> list[Any]:
    stream = AnthropicStream(id="msg_1", model="m", tools=tools, **options)
    return [*flat(map(stream.feed, groups)), *stream.close()]


def deltas(chunks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for chunk in chunks for choice in chunk["choices"]]


def shown(events: Iterable[Event], kind: type[Event], *, sources: bool = False) -> str:
    """The joined texts of one kind; `sources`: with the blocks that became text, as by on_failure="leave"."""
    texts = []
    for event in events:
        if isinstance(event, kind) and isinstance(event, TextDelta | ReasoningDelta):
            texts.append(event.text)
        elif sources and isinstance(event, CallFailed) and event.id is None:
            texts.append(event.error.source)
    return sendable("".join(texts))


# Laws


@given(case=cases())
@law
def test_the_fragments_of_a_call_are_the_json_of_its_arguments(case: Case) -> None:
    for chunks in ([case.text], *chunkings(case.text)):
        for end, found in fragments(flat(of_case(case, chunks)), case.tools):
            if isinstance(end, CallCompleted):
                assert exact(json.loads("".join(found))) == exact(end.call.arguments), chunks


@given(case=clean_cases())
@law
def test_the_fragments_of_a_clean_call_are_the_json_of_its_arguments(case: Case) -> None:
    for chunks in ([case.text], *chunkings(case.text)):
        [(end, found)] = fragments(flat(of_case(case, chunks)), case.tools)
        assert isinstance(end, CallCompleted)
        assert exact(json.loads("".join(found))) == exact(end.call.arguments), chunks


@given(meant=meant_calls, rng=st.randoms(use_true_random=False))
@law
def test_the_fragments_of_a_rendered_call_are_the_json_of_its_arguments(meant: Meant, rng: Random) -> None:
    source, tools = render_call(meant.call, meant.tool), [meant.tool] if meant.tool else None
    for chunks in (list(source), pieces(rng, source, 5)):
        [(end, found)] = fragments(flat(parsed(chunks, tools)), tools)
        assert isinstance(end, CallCompleted)
        assert exact(json.loads("".join(found))) == exact(end.call.arguments)


@given(case=cases())
@law
def test_a_failed_call_is_never_json(case: Case) -> None:
    for chunks in chunkings(case.text):
        for end, found in fragments(flat(of_case(case, chunks)), case.tools):
            if not isinstance(end, CallCompleted):
                with pytest.raises(json.JSONDecodeError):
                    json.loads("".join(found))
                assert "".join(found).startswith("{")


CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?\Z")


@given(case=cases())
@law
def test_chunks_change_the_cuts_but_never_the_fragments_joined(case: Case) -> None:
    expected = ["".join(found) for _, found in fragments(flat(of_case(case, [case.text])), case.tools)]
    for chunks in chunkings(case.text):
        calls = fragments(flat(of_case(case, chunks)), case.tools)
        assert ["".join(found) for _, found in calls] == expected, chunks
        for fragment in flat(found for _, found in calls):
            assert fragment.strip(" \t\r\n")
            assert not CUT_ESCAPE.search(fragment)


@given(case=cases())
@law
def test_openai_chunks_say_what_the_parser_said(case: Case) -> None:
    for chunks in chunkings(case.text):
        groups = of_case(case, chunks)
        sent = deltas(openai_chunks(groups, case.tools))
        events = flat(groups)
        assert "".join(delta.get("content", "") for delta in sent) == shown(events, TextDelta, sources=True)
        reasoning = "".join(delta.get("reasoning_content", "") for delta in sent)
        assert reasoning == shown(events, ReasoningDelta)
        check_calls(events, [call for delta in sent for call in delta.get("tool_calls", ())])


def check_calls(events: Iterable[Event], sent: list[dict[str, Any]]) -> None:
    """Calls come one behind the other, each with id, type and name once, and with the arguments it has."""
    ends = [each for each in events if isinstance(each, CallCompleted) or getattr(each, "id", None) is not None]
    ends = [each for each in ends if not isinstance(each, CallStarted)]
    assert [delta["index"] for delta in sent] == sorted(delta["index"] for delta in sent)
    for index, end in enumerate(ends):
        first, *rest = [delta for delta in sent if delta["index"] == index]
        assert list(first) == ["index", "id", "type", "function"]
        assert list(first["function"]) == ["name", "arguments"]
        assert all(list(delta) == ["index", "function"] and list(delta["function"]) == ["arguments"] for delta in rest)
        if isinstance(end, CallCompleted):
            arguments = json.loads("".join(delta["function"]["arguments"] for delta in (first, *rest)))
            assert (first["id"], first["function"]["name"], exact(arguments)) == said(end.call)
    assert len({delta["index"] for delta in sent}) == len(ends)


@given(case=cases())
@law
def test_anthropic_events_keep_their_order(case: Case) -> None:
    for chunks in chunkings(case.text):
        names = [f"{name}" for name, _ in anthropic_messages(of_case(case, chunks), case.tools)]
        block = "content_block_start (content_block_delta )*content_block_stop "
        order = f"message_start ({block})*message_delta message_stop "
        assert re.fullmatch(order, "".join(f"{name} " for name in names))


@given(case=cases())
@law
def test_anthropic_blocks_are_numbered_in_their_order(case: Case) -> None:
    messages = anthropic_messages(of_case(case, list(case.text)), case.tools)
    assert all(data["type"] == name for name, data in messages)
    starts = [data["index"] for name, data in messages if name == "content_block_start"]
    assert starts == list(range(len(starts)))
    indices = [data["index"] for _, data in messages if "index" in data]
    assert indices == sorted(indices)


def read_openai(chunks: Iterable[dict[str, Any]], tools: list[Tool] | None) -> list[Event]:
    reader = OpenAIReader(tools)
    return [*flat(map(reader.feed, json.loads(json.dumps(chunks)))), *reader.close()]


def read_anthropic(messages: Iterable[Any], tools: list[Tool] | None) -> list[Event]:
    reader = AnthropicReader(tools)
    return [*flat(reader.feed(json.loads(json.dumps(data))) for _, data in messages), *reader.close()]


WAYS = pytest.mark.parametrize(
    ("dump", "read"), [(openai_chunks, read_openai), (anthropic_messages, read_anthropic)], ids=["openai", "anthropic"]
)


@WAYS
@pytest.mark.parametrize("typed", [True, False])
def test_a_stream_reads_back_as_it_was_parsed(dump: Callable[..., Any], read: Callable[..., Any], typed: bool) -> None:
    def check(case: Case) -> None:
        names = [each.name for each in case.tools or ()]
        tools = case.tools if typed and len(set(names)) == len(names) else None  # the wire has no servers
        for chunks in chunkings(case.text)[:3]:
            groups = of_case(case, chunks)
            events, expected = read(dump(groups, case.tools), tools), flat(groups)
            assert shown(events, TextDelta) == shown(expected, TextDelta, sources=True)
            assert shown(events, ReasoningDelta) == shown(expected, ReasoningDelta)
            assert calls_of(events) == calls_of(expected)
            started = [each for each in expected if isinstance(each, CallFailed) and each.id is not None]
            assert sum(isinstance(each, CallFailed) for each in events) == len(started)

    law(given(case=cases())(check))()


@WAYS
def test_what_was_skipped_is_in_no_stream(dump: Callable[..., Any], read: Callable[..., Any]) -> None:
    groups = parsed(["</think>\n", "I look."], [WRITE])
    assert any(isinstance(event, Skipped) for event in flat(groups))
    assert shown(read(dump(groups, [WRITE]), [WRITE]), TextDelta) == shown(flat(groups), TextDelta)


def calls_of(events: Iterable[Event]) -> list[tuple[str, str, str]]:
    return [said(each.call) for each in events if isinstance(each, CallCompleted)]


# What streams, and what waits


def of_text(text: str, tools: list[Tool] | None = None, **options: Any) -> list[list[Event]]:
    return parsed(list(text), [WRITE] if tools is None else tools, **options)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", ["{}"]),
        ("<path>ab</path>", ['{"path":"a', "b", '"}']),
        ("<path></path>", ['{"path":""}']),
        ("<path>a  b</path>", ['{"path":"a', "  b", '"}']),
        ("<path>  </path>", ['{"path":"', '  "}']),
        ("<path>a<![CDATA[  ]]></path>", ['{"path":"a', '  "}']),
        ('<path>"\\\n\x1f😀é</path>', ['{"path":"\\"', "\\\\", "\\n\\u001f", "😀", "é", '"}']),
        ("<path>\ud83d\ude00</path>", ['{"path":"\ufffd', "\ufffd", '"}']),
        ("<mode>42</mode><path>a</path>", ['{"path":"a', '","mode":42}']),
        ("<path>a</path><mode>42</mode><text>b</text>", ['{"path":"a', '","text":"b', '","mode":42}']),
        ("<lines><line>a</line></lines>", ['{"lines":["a"]}']),
        ("<lines>a</lines><lines>b</lines>", ['{"lines":["a","b"]}']),
        ("<path>a</path><other>b</other>", ['{"path":"a', '","other":"b"}']),
        ('{"path": "a", "mode": 1}', ['{"path":"a","mode":1}']),
    ],
)
def test_strings_stream_and_everything_else_waits(arguments: str, expected: list[str]) -> None:
    [(_, found)] = fragments(flat(of_text(OPEN + arguments + CLOSE)), [WRITE])
    assert found == expected


def test_a_name_is_written_as_json() -> None:
    odd = tool("write", **{'a "b"\\': TEXT})
    name = "a &quot;b&quot;\\"
    [(_, found)] = fragments(flat(of_text(f'{OPEN}<argument name="{name}">x</argument>{CLOSE}', [odd])), [odd])
    assert json.loads("".join(found)) == {'a "b"\\': "x"}
    assert found[0] == '{"a \\"b\\"\\\\":"x'


@pytest.mark.parametrize("schema", [{"type": ["string", "null"]}, {"enum": ["a", "5"]}, {"anyOf": [TEXT, INTEGER]}, {}])
def test_what_may_have_another_type_waits(schema: dict[str, Any]) -> None:
    tools = [tool("write", path=schema)]
    [(_, found)] = fragments(flat(of_text(f"{OPEN}<path>a</path>{CLOSE}", tools)), tools)
    assert found == ['{"path":"a"}']


def test_arguments_in_front_of_the_name_wait() -> None:
    text = "<tool><arguments><path>a</path></arguments><tool_name>write</tool_name></tool>"
    [(_, found)] = fragments(flat(of_text(text)), [WRITE])
    assert found == ['{"path":"a"}']


@pytest.mark.parametrize(
    ("servers", "field", "expected"),
    [
        (("local", "b"), "", '{"path":"5"}'),
        (("local", "b"), "<server_name>b</server_name>", '{"path":5}'),
        (("a", "b"), "<server_name>b</server_name>", '{"path":5}'),
        (("a", "b"), "", "{"),
    ],
)
def test_a_string_waits_if_another_server_may_want_a_number(
    servers: tuple[str, str], field: str, expected: str
) -> None:
    tools = [tool("write", servers[0], path=TEXT), tool("write", servers[1], path=INTEGER)]
    [(_, found)] = fragments(flat(of_text(f"{OPEN}<path>5</path></arguments>{field}</tool>", tools)), tools)
    assert found == [expected]


def test_a_string_streams_if_the_server_is_known() -> None:
    tools = [tool("write", "a", path=INTEGER), tool("write", "b", path=TEXT)]
    text = f"<tool><server_name>b</server_name>{OPEN[6:]}<path>5</path>{CLOSE}"
    [(_, found)] = fragments(flat(of_text(text, tools)), tools)
    assert found == ['{"path":"5', '"}']


def test_other_tools_than_those_of_the_parser_are_noticed() -> None:
    events = flat(of_text(f"{OPEN}<path>5</path>{CLOSE}", [tool("write", path=INTEGER)]))
    with pytest.raises(XMLToolsError, match="'path' of 'write' is a string by the tools of this stream"):
        fragments(events, [WRITE])


def test_values_that_json_does_not_have_are_refused() -> None:
    call = ToolCall(id="1", name="f", arguments={"x": float("nan")})
    with pytest.raises(XMLToolsError, match="'x' of 'f' cannot be written as JSON"):
        ArgumentStream().feed(CallCompleted(call))


def test_a_call_that_nobody_started_is_whole() -> None:
    call = ToolCall(id="1", name="write", arguments={"path": "a", "mode": 1})
    assert ArgumentStream([WRITE]).feed(CallCompleted(call)) == '{"path":"a","mode":1}'
    [_, first, rest, _] = openai_chunks([[CallCompleted(call)]], [WRITE])
    assert first["choices"][0]["delta"]["tool_calls"][0]["id"] == "1"
    assert rest["choices"][0]["delta"]["tool_calls"][0]["function"] == {"arguments": '{"path":"a","mode":1}'}


# Chunks and events


def test_openai_chunks_in_full() -> None:
    text = f"<think>Hm</think>On <b>it</b>. {OPEN}<path>a</path><mode>1</mode>{CLOSE}"
    stream = OpenAIStream(id="chatcmpl-1", model="m", created=7, tools=[WRITE], include_usage=True)
    groups = parsed([text], [WRITE])
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    chunks = [*flat(map(stream.feed, groups)), *stream.close(usage=usage)]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 7, "model": "m"}
    function = {"name": "write", "arguments": ""}
    expected: list[tuple[dict[str, Any], str | None]] = [
        ({"role": "assistant", "content": ""}, None),
        ({"reasoning_content": "Hm"}, None),
        ({"content": "On <b>it</b>. "}, None),
        ({"tool_calls": [{"index": 0, "id": "c0", "type": "function", "function": function}]}, None),
        ({"tool_calls": [{"index": 0, "function": {"arguments": '{"path":"a","mode":1}'}}]}, None),
        ({}, "tool_calls"),
    ]
    assert chunks[:-1] == [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": None}
        for delta, reason in expected
    ]
    assert chunks[-1] == {**head, "choices": [], "usage": usage}


def test_anthropic_events_in_full() -> None:
    text = f"<think>Hm</think>On it. {OPEN}<path>a</path><mode>1</mode>{CLOSE}"
    stream = AnthropicStream(id="msg_1", model="m", tools=[WRITE], input_tokens=3)
    groups = parsed([text], [WRITE])
    messages = [*flat(map(stream.feed, groups)), *stream.close(usage={"output_tokens": 5})]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 0}}
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    call = {"type": "tool_use", "id": "c0", "name": "write", "input": {}}
    fragment = {"type": "input_json_delta", "partial_json": '{"path":"a","mode":1}'}
    assert [data for _, data in messages] == [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": thinking},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "On it. "}},
        {"type": "content_block_stop", "index": 1},
        {"type": "content_block_start", "index": 2, "content_block": call},
        {"type": "content_block_delta", "index": 2, "delta": fragment},
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]


FAILED = f"{OPEN}<path>a</path><mode>x</mode>{CLOSE}"
GOOD = f"{OPEN}<path>a</path>{CLOSE}"


@pytest.mark.parametrize(
    ("text", "given", "openai", "anthropic"),
    [
        ("hi", "stop", "stop", "end_turn"),
        ("hi", "length", "length", "max_tokens"),
        ("hi", "tool_calls", "stop", "end_turn"),
        (GOOD, "stop", "tool_calls", "tool_use"),
        (GOOD, "tool_use", "tool_calls", "tool_use"),
        (GOOD, "length", "length", "max_tokens"),
        (GOOD, "content_filter", "content_filter", "refusal"),
        (GOOD, "max_tokens", "length", "max_tokens"),
        (GOOD, "abort", "length", "max_tokens"),
        (GOOD, "doom_loop", "tool_calls", "tool_use"),
        (FAILED, "stop", "stop", "end_turn"),
        (FAILED + GOOD, "stop", "tool_calls", "tool_use"),
        (GOOD[:60], "length", "length", "max_tokens"),
    ],
)
def test_the_finish_reason_says_whether_there_are_calls(text: str, given: str, openai: str, anthropic: str) -> None:
    stream = OpenAIStream(id="1", model="m", created=1)
    messages = AnthropicStream(id="1", model="m")
    for events in of_text(text):
        stream.feed(events)
        messages.feed(events)
    assert stream.close(given)[-1]["choices"][0]["finish_reason"] == openai
    stops = [data["delta"]["stop_reason"] for name, data in messages.close(given) if name == "message_delta"]
    assert stops == [anthropic]


@pytest.mark.parametrize(
    ("on_failure", "started", "unstarted"), [("leave", "", "all"), ("text", "all", "all"), ("drop", "", "")]
)
def test_a_failed_block_is_kept_as_text_or_not(on_failure: str, started: str, unstarted: str) -> None:
    unknown = FAILED.replace("write", "wriet")
    for block, expected in ((FAILED, started), (unknown, unstarted)):
        groups = of_text(f"a {block} b")
        sent = deltas(openai_chunks(groups, [WRITE], on_failure=on_failure))
        content = "".join(delta.get("content", "") for delta in sent)
        assert content == f"a {block if expected else ''} b"
        data = [data for _, data in anthropic_messages(groups, [WRITE], on_failure=on_failure)]
        assert "".join(each["delta"].get("text", "") for each in data if "delta" in each) == content
        assert any("tool_calls" in delta for delta in sent) is (block is FAILED)


def test_a_call_that_the_host_leaves_open_is_closed_without_becoming_json() -> None:
    events = Parser([WRITE], new_id=lambda: "c").feed("<tool><tool_name>write</tool_name>")
    stream, messages = OpenAIStream(id="1", model="m", created=1), AnthropicStream(id="1", model="m")
    stream.feed(events)
    messages.feed(events)
    left, _ = stream.close("length")
    assert left["choices"][0]["delta"]["tool_calls"] == [{"index": 0, "function": {"arguments": "{"}}]
    assert [name for name, _ in messages.close("length")] == [
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_one_feed_makes_one_chunk_of_neighbours() -> None:
    events: list[Event] = [TextDelta.make("a", 0), TextDelta.make("b", 1), ReasoningDelta("c", (2, 3))]
    events += [CallStarted("1", "write"), ArgumentDelta.make(("path",), "d"), ArgumentDelta.make(("path",), "e")]
    stream = OpenAIStream(id="1", model="m", created=1, tools=[WRITE])
    _, text, reasoning, _, arguments = deltas(stream.feed(events))
    assert (text, reasoning) == ({"content": "ab"}, {"reasoning_content": "c"})
    assert arguments == {"tool_calls": [{"index": 0, "function": {"arguments": '{"path":"de'}}]}


@pytest.mark.parametrize("pieces", [1, 1000], ids=["by character", "whole"])
def test_calls_of_a_list_that_ends_as_one_are_sent_one_after_the_other(pieces: int) -> None:
    """All of them have started before the first one ends. Clients take arguments for those of the last call."""
    text = '[write(path="a", text="b"), write(path="c", text="d"), write(mode="x")]'
    parser = Parser([WRITE], dialect="pythonic")
    chunks = [text[at : at + pieces] for at in range(0, len(text), pieces)]
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()
    stream = OpenAIStream(id="1", model="m", created=1, tools=[WRITE], on_failure="drop")
    calls: dict[int, str] = {}
    for delta in deltas(stream.feed(events)):
        for call in delta.get("tool_calls", ()):
            calls[call["index"]] = calls.get(call["index"], "") + call["function"]["arguments"]
    assert [json.loads(arguments) for arguments in calls.values()] == [
        {"path": "a", "text": "b"},
        {"path": "c", "text": "d"},
    ]


@pytest.mark.parametrize(("key", "sent"), [("reasoning", [{"reasoning": "Hm"}]), (None, [])])
def test_reasoning_goes_where_the_host_wants_it(key: str | None, sent: list[dict[str, str]]) -> None:
    first, *between, last = deltas(openai_chunks(parsed(["<think>Hm</think>"], None), None, reasoning_key=key))
    assert (first, between, last) == ({"role": "assistant", "content": ""}, sent, {})


def test_the_bytes_are_server_sent_events() -> None:
    data = {"a": "é\u2028\u2029\x85\n"}
    assert to_sse([data]) == 'data: {"a":"é\\u2028\\u2029\\u0085\\n"}\n\n'.encode()
    assert to_sse([("ping", {"type": "ping"})]) == b'event: ping\ndata: {"type":"ping"}\n\n'
    assert json.loads(to_sse([data]).decode()[6:]) == data
    assert SSE_DONE == b"data: [DONE]\n\n"


# Reading native streams


def call_delta(index: int | None, arguments: str = "", **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name",) if key in fields}
    call = {"index": index, **fields, "function": {**function, "arguments": arguments}}
    return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}


def finish(reason: str = "tool_calls") -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def openai_events(*chunks: dict[str, Any], tools: list[Tool] | None = None) -> list[Event]:
    reader = OpenAIReader(tools)
    return [*flat(map(reader.feed, chunks)), *reader.close()]


def error_of(events: list[Event]) -> CallError:
    [error] = [event.error for event in events if isinstance(event, CallFailed)]
    return error


def ids_and_arguments(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    return [(event.call.id, event.call.arguments) for event in events if isinstance(event, CallCompleted)]


def test_a_native_call_gives_the_events_of_a_parser() -> None:
    reader = OpenAIReader([WRITE])
    assert reader.feed(call_delta(0, id="c", name="write")) == [CallStarted("c", "write")]
    assert reader.feed(call_delta(0, '{"path": "a')) == [ArgumentDelta.make(("path",), "a")]
    assert reader.feed(call_delta(0, "\\u00e9\\ud83d")) == [ArgumentDelta.make(("path",), "é")]
    assert reader.feed(call_delta(0, '\\ude00", "mode": "4')) == [ArgumentDelta.make(("path",), "😀"),
        ArgumentDelta.make(("mode",), "4")]  # fmt: skip
    assert reader.feed(call_delta(0, '2"}')) == [ArgumentDelta.make(("mode",), "2")]
    [completed] = reader.feed(finish())
    assert isinstance(completed, CallCompleted)
    assert completed.call.arguments == {"path": "aé😀", "mode": 42}
    assert [repair.code for repair in completed.call.repairs] == [Code.COERCED_VALUE]
    assert reader.close() == []


def delta_of(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


@pytest.mark.parametrize("tools", [None, [WRITE]])
def test_arguments_that_are_an_object_are_read(tools: list[Tool] | None) -> None:
    arguments = {"path": "é", "mode": 42}
    given = {"index": 0, "id": "c", "function": {"name": "write", "arguments": arguments}}
    events = openai_events(delta_of(tool_calls=[given]), finish(), tools=tools)
    assert ids_and_arguments(events) == [("c", arguments)]
    wrong = {**given, "function": {"name": "write", "arguments": [1]}}
    assert error_of(openai_events(delta_of(tool_calls=[wrong]), finish(), tools=tools)).code is Code.INVALID_JSON


def test_the_old_form_of_a_call_is_read() -> None:
    begun = delta_of(content=None, function_call={"name": "write", "arguments": ""})
    more = [delta_of(function_call={"arguments": text}) for text in ('{"path": "a", ', '"mode": 42}')]
    events = openai_events(begun, *more, finish("function_call"), tools=[WRITE])
    assert ids_and_arguments(events) == [("call_1", {"path": "a", "mode": 42})]
    both = delta_of(
        function_call={"name": "write", "arguments": "{}"},
        tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}],
    )
    assert ids_and_arguments(openai_events(both, finish())) == [("c", {})]


@pytest.mark.parametrize(
    "deltas",
    [
        [{"content": None, "refusal": "I "}, {"refusal": "can't"}],
        [{"content": [{"type": "text", "text": "I "}, {"type": "text", "text": "can't"}]}],
        [{"content": "I "}, {"content": [{"type": "refusal", "refusal": "can't"}, {"type": "image_url"}, 5]}],
    ],
)
def test_refusals_and_parts_of_a_delta_are_text(deltas: list[dict[str, Any]]) -> None:
    events = openai_events(*(delta_of(**delta) for delta in deltas), finish("stop"))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I can't"
    assert [event for event in events if not isinstance(event, TextDelta)] == []


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        # Fragments of two calls are mixed.
        (
            [
                call_delta(0, '{"a"', id="x", name="f"),
                call_delta(1, '{"b": ', id="y", name="f"),
                call_delta(0, ": 1}"),
                call_delta(1, "2}"),
            ],
            [("x", {"a": 1}), ("y", {"b": 2})],
        ),
        # All calls have one index.
        (
            [call_delta(0, '{"a": 1}', id="x", name="f"), call_delta(0, '{"b": 2}', id="y", name="f")],
            [("x", {"a": 1}), ("y", {"b": 2})],
        ),
        # No index; the id comes again.
        (
            [
                call_delta(None, '{"a":', id="x", name="f"),
                call_delta(None, " 1}", id="x"),
                call_delta(None, "{}", id="y", name="f"),
            ],
            [("x", {"a": 1}), ("y", {})],
        ),
        # No id, and the name comes late.
        ([call_delta(0, '{"a":'), call_delta(0, " 1}"), call_delta(0, name="f")], [("call_1", {"a": 1})]),
        # No arguments at all.
        ([call_delta(0, id="x", name="f"), call_delta(1, id="y", name="f")], [("x", {}), ("y", {})]),
        # The first index is not 0.
        ([call_delta(3, "{}", id="x", name="f")], [("x", {})]),
    ],
    ids=["mixed", "one index", "no index", "late name", "no arguments", "index"],
)
def test_calls_of_odd_servers_are_read(chunks: list[dict[str, Any]], expected: Any) -> None:
    events = openai_events(*chunks, finish())
    assert ids_and_arguments(events) == expected
    kinds = [type(event) for event in events if not isinstance(event, ArgumentDelta)]
    assert kinds == [CallStarted, CallCompleted] * len(expected)


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ('{"path": "a', "stop", Code.INVALID_JSON),
        ('{"path": "a', "length", Code.TRUNCATED),
        ('{"path": "a', None, Code.TRUNCATED),
        ('{"path": a}', "length", Code.INVALID_JSON),
        # What is wrong before the end of a reply that was cut off comes first, as in a block.
        ('{"path": "a" "b', "length", Code.INVALID_JSON),
        ('{"path": "a", mode', None, Code.INVALID_JSON),
        ('{"path": "a"} x', "stop", Code.INVALID_JSON),
        ('{"path": "a", "path": "b"}', "stop", Code.INVALID_JSON),
        ('{"path": "\\ud83d"}', "stop", Code.INVALID_JSON),
        ('{"path": "\\x and more of it"}', "stop", Code.INVALID_JSON),
        ('["a"]', "stop", Code.INVALID_JSON),
        ('"{}"', "stop", Code.INVALID_JSON),
        ("", "length", Code.TRUNCATED),
        ("", None, Code.TRUNCATED),
        ('{"mode": "x"}', "stop", Code.INVALID_ARGUMENTS),
        ("{" * 100, "stop", Code.INVALID_JSON),
    ],
)
def test_broken_arguments_are_a_failed_call(text: str, reason: str | None, code: Code) -> None:
    for cut in range(len(text) + 1):
        chunks = [call_delta(0, id="c", name="write"), call_delta(0, text[:cut]), call_delta(0, text[cut:])]
        events = openai_events(*chunks, *([finish(reason)] if reason else []), tools=[WRITE])
        error = error_of(events)
        assert (error.code, error.name, error.source) == (code, "write", text)
        assert "XML" not in error.hint and "</tool>" not in error.hint
        assert isinstance(events[-1], CallFailed) and events[-1].id == "c"


@pytest.mark.parametrize(
    ("tools", "name", "code", "started"),
    [
        ([WRITE], "wriet", Code.UNKNOWN_TOOL, False),
        ([tool("f", "a"), tool("f", "b")], "f", Code.UNKNOWN_TOOL, True),
        (None, " ", Code.MISSING_TOOL_NAME, False),
    ],
)
def test_calls_of_no_tool_fail(tools: list[Tool] | None, name: str, code: Code, started: bool) -> None:
    events = openai_events(call_delta(0, '{"path": "a"}', id="c", name=name), finish(), tools=tools)
    assert error_of(events).code is code
    assert any(isinstance(event, CallStarted) for event in events) is started
    assert (events[-1] == CallFailed(error_of(events), "c")) is started


def test_a_call_goes_to_the_only_server_that_has_its_tool() -> None:
    events = openai_events(call_delta(0, "{}", id="c", name="f"), finish(), tools=[tool("f", "disk")])
    [call] = [event.call for event in events if isinstance(event, CallCompleted)]
    assert call.server == "disk"


def test_text_and_reasoning_have_places_that_tile_the_stream() -> None:
    contents = [
        {"reasoning_content": "Hm"},
        {"reasoning": "m"},
        {"content": "abc"},
        {"content": None},
        {"content": "d"},
    ]
    chunks = [{"choices": [{"delta": delta}]} for delta in contents]
    events = openai_events(*chunks, {"choices": []}, {"choices": [{"index": 1, "delta": {"content": "other"}}]})
    assert [(event.text, event.span) for event in events if isinstance(event, TextDelta | ReasoningDelta)] == [
        ("Hm", (0, 2)),
        ("m", (2, 3)),
        ("abc", (3, 6)),
        ("d", (6, 7)),
    ]


def test_a_call_ends_in_front_of_the_text_behind_it() -> None:
    text = {"choices": [{"index": 0, "delta": {"content": "done"}}]}
    events = openai_events(call_delta(0, "{}", id="c", name="f"), text, finish())
    assert [type(part).__name__ for part in build_reply(events).parts] == ["ToolCall", "Text"]


def block_start(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def block_delta(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def test_anthropic_messages_are_read_in_all_their_forms() -> None:
    reader = AnthropicReader([WRITE])
    call = {"type": "tool_use", "id": "c", "name": "write"}
    events = flat(
        map(
            reader.feed,
            [
                ("message_start", {"type": "message_start", "message": {}}),
                {"type": "ping"},
                block_start(0, type="thinking", thinking="H"),
                block_delta(0, type="thinking_delta", thinking="m"),
                block_delta(0, type="signature_delta", signature="s"),
                block_start(1, type="text", text="O"),
                ("content_block_delta", block_delta(1, type="text_delta", text="n")),
                block_start(2, **call, input={"path": "whole"}),
                {"type": "content_block_stop", "index": 2},
                block_start(3, **call, input={"path": "replaced"}),
                block_delta(3, type="input_json_delta", partial_json='{"path": "a"'),
                block_delta(3, type="input_json_delta", partial_json="}"),
                {"type": "content_block_stop", "index": 3},
                block_start(4, **call, input={}),
                {"type": "content_block_stop", "index": 4},
                block_delta(9, type="input_json_delta", partial_json="{}"),
                {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
                {"type": "message_stop"},
            ],
        )
    )
    assert shown(events, ReasoningDelta) == "Hm" and shown(events, TextDelta) == "On"
    assert [arguments for _, arguments in ids_and_arguments(events)] == [{"path": "whole"}, {"path": "a"}, {}]
    assert reader.close() == []


@pytest.mark.parametrize(
    ("reason", "code"), [("tool_use", Code.INVALID_JSON), ("max_tokens", Code.TRUNCATED), (None, Code.TRUNCATED)]
)
def test_a_broken_anthropic_call_fails_when_the_message_ends(reason: str | None, code: Code) -> None:
    reader = AnthropicReader()
    reader.feed(block_start(0, type="tool_use", id="c", name="f", input={}))
    reader.feed(block_delta(0, type="input_json_delta", partial_json='{"a": '))
    assert reader.feed({"type": "content_block_stop", "index": 0}) == []
    events = reader.feed({"type": "message_delta", "delta": {"stop_reason": reason}})
    assert error_of([*events, *reader.close()]).code is code


TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    TEXTS | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


@given(
    arguments=st.dictionaries(TEXTS, VALUES, max_size=6),
    ascii=st.booleans(),
    indent=st.sampled_from([None, 1]),
    rng=st.randoms(use_true_random=False),
)
@law
def test_strings_of_native_arguments_stream(
    arguments: dict[str, Any], ascii: bool, indent: int | None, rng: Random
) -> None:
    text = json.dumps(arguments, ensure_ascii=ascii, indent=indent)
    for chunks in ([text], list(text), pieces(rng, text, 5)):
        events = openai_events(*(call_delta(0, chunk, id="c", name="f") for chunk in chunks), finish())
        joined: dict[Any, str] = {}
        for event in events:
            if isinstance(event, ArgumentDelta):
                joined[event.path] = joined.get(event.path, "") + event.text
        assert joined == {(name,): value for name, value in arguments.items() if isinstance(value, str) and value}
        assert ids_and_arguments(events) == [("c", arguments)]


@given(text=st.text(alphabet='{}[]":,\\u0dD8aé \n'), rng=st.randoms(use_true_random=False))
@law
def test_no_arguments_raise_and_chunks_do_not_matter(text: str, rng: Random) -> None:
    seen = []
    for chunks in ([text], list(text), pieces(rng, text, 5)):
        events = openai_events(*(call_delta(0, chunk, id="c", name="f") for chunk in ["", *chunks]), finish())
        said = [(event.path, event.text) for event in events if isinstance(event, ArgumentDelta)]
        joined = [
            (path, "".join(text for _, text in group)) for path, group in itertools.groupby(said, lambda it: it[0])
        ]
        seen.append((joined, repr(events[-1])))
    assert seen[0] == seen[1] == seen[2]


# Misuse


@pytest.mark.parametrize("make", [
    lambda: OpenAIStream(id="1", model="m", created=1, on_failure="raise"),
    lambda: AnthropicStream(id="1", model="m", on_failure="raise"),
    lambda: OpenAIStream(id="1", model="m", created=1, tools=["write"]),  # type: ignore[list-item]
    lambda: ArgumentStream([{"name": "write"}]),  # type: ignore[list-item]
    lambda: OpenAIReader(["write"]),  # type: ignore[list-item]
    lambda: OpenAIStream(id="1", model="m", created=1).feed(["text"]),  # type: ignore[list-item]
    lambda: OpenAIReader().feed("data: {}"),
    lambda: OpenAIReader().feed({"error": {"message": "overloaded"}}),
    lambda: AnthropicReader().feed(("error", {"type": "error", "error": {"message": "overloaded"}})),
    lambda: AnthropicReader().feed(None),
    lambda: to_sse([{"a": float("inf")}]),
    lambda: to_sse([{"a": object()}]),
])  # fmt: skip
def test_misuse_is_told(make: Callable[[], Any]) -> None:
    with pytest.raises(XMLToolsError, match="expect"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: OpenAIStream(id="1", model="m", created=1),
        lambda: AnthropicStream(id="1", model="m"),
        OpenAIReader,
        AnthropicReader,
    ],
)
def test_nothing_is_fed_after_close(make: Callable[[], Any]) -> None:
    stream = make()
    stream.close()
    assert stream.close() == []
    with pytest.raises(XMLToolsError, match=r"feed\(\) after close\(\)"):
        stream.feed([])
