"""What clients punish on the wire, and that the server never does it: each rule holds for every kind of reply, however
the upstream cuts it, and the official clients make the same of a stream as of a whole answer."""

from __future__ import annotations

import json
import math
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest

from proxy.running import serving
from proxy.test_server_upstream import (
    PATIENCE,
    USAGE,
    Answer,
    Gate,
    Seen,
    Upstream,
    as_json,
    chunk,
    stream,
    whole,
    world,
)
from proxy.wire import FOLDER, PATHS, answers_of, as_it_is, read
from xmltools.proxy.bridge import Settings, SSEDecoder
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


KINDS = {path: {case["name"]: case for case in read(FOLDER / api / "kinds.json")} for api, path in PATHS.items()}
"""Every kind of reply, as it streams in pieces of different sizes, and in one."""
Rule = Callable[[list[dict[str, Any]]], object]


def chunk_of(event: Any) -> dict[str, Any]:
    """The long form of an event of chat completions that a case shortens to its text; others unchanged."""
    choice = {"index": 0, "delta": {"content": event}, "finish_reason": None}
    return {"choices": [choice], "usage": None} if isinstance(event, str) else event


# Chat completions


def choices_of(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice for each in chunks for choice in each["choices"]]


def deltas_of(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [choice["delta"] for choice in choices_of(chunks)]


def fragments_of(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for delta in deltas_of(chunks) for each in delta.get("tool_calls", ())]


def the_role_is_said_once_and_first(chunks: list[dict[str, Any]]) -> None:
    assert ["role" in delta for delta in deltas_of(chunks)] == [True] + [False] * (len(choices_of(chunks)) - 1)


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
    a_call_is_named_once_in_its_first_fragment,
    calls_are_numbered_without_gaps_and_never_mixed,
    no_list_of_calls_and_no_content_behind_the_first_chunk_is_empty,
    no_fragment_begins_with_white_space_or_ends_within_an_escape,
    the_reason_comes_once_and_last,
    whoever_is_told_to_stop_has_no_call_to_run,
    the_usage_is_last_and_alone,
]


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


RULES = {CHAT: CHAT_RULES, ANTHROPIC: ANTHROPIC_RULES, RESPONSES: RESPONSES_RULES}


@pytest.mark.parametrize(
    ("path", "rule"),
    [(path, rule) for path in RULES for rule in RULES[path]],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_in_every_stream(path: str, rule: Rule) -> None:
    for name, case in KINDS[path].items():
        if events := [
            chunk_of(each) for after in as_it_is(case).get("events", ()) for each in after if each != "[DONE]"
        ]:
            assert rule(events) is None, name


@apis
def test_a_piece_of_the_upstream_makes_one_fragment_of_a_call_and_a_long_one_some(path: str) -> None:
    kinds = ("response.function_call_arguments.delta",)
    for size in ("pieces of 1", "pieces of 7", "one piece"):
        case = KINDS[path][f"odd characters, in {size}"]
        pieces = [each for each in case["turns"][0]["answer"] if isinstance(each, str)]
        events = [chunk_of(each) for after in case["events"] for each in after if each != "[DONE]"]
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


@contextmanager
def saying(path: str) -> Iterator[Callable[..., Any]]:
    """Asks for a kind of reply by its name, and tells what the client makes of it."""
    kind: list[str] = []

    def say(seen: Seen) -> Answer:
        ((content_type, pieces),) = answers_of(KINDS[path][kind[-1]])
        return Answer(pieces, headers={"content-type": content_type.decode()})

    with world(Upstream(make=say), settings=Settings(retries=0)) as it:
        client = client_for(path, it.url)

        def ask(name: str, **more: Any) -> Any:
            kind.append(name)
            return (asked if name.endswith(", whole") else streamed)(path, client, body_for(path, **more))

        yield ask


@apis
def test_a_client_makes_the_same_of_a_stream_as_of_a_whole_answer(path: str) -> None:
    """But of a call that fails, a stream has said the beginning, and a whole answer has it as text."""
    raised = {"length": openai.LengthFinishReasonError, "content_filter": openai.ContentFilterFinishReasonError}
    names = [name.rpartition(", ")[0] for name in KINDS[path] if name.endswith(", whole")]
    assert len(names) == 17
    with saying(path) as ask:
        for name in (name for name in names if not re.search("fails|call that is cut", name)):
            one = ask(f"{name}, whole")
            for size in ("pieces of 1", "pieces of 7", "one piece"):
                if path == CHAT and one.choices[0].finish_reason in raised:
                    with pytest.raises(raised[one.choices[0].finish_reason]):
                        ask(f"{name}, in {size}")
                else:
                    assert content_of(path, ask(f"{name}, in {size}")) == content_of(path, one), name


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_the_arguments_of_a_strict_tool_are_read_while_they_stream(path: str) -> None:
    with saying(path) as ask:
        for name in ("odd characters", "an argument of white space", "arguments of all types"):
            made = ask(f"{name}, in pieces of 1", tools=tools_for(path, strict=True))
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
    decoder = SSEDecoder()
    told = [each for _, each in [*decoder.feed(data), *decoder.close()]]
    events = [json.loads(each) for each in told if each != "[DONE]"]
    assert response.status_code == 200 and b"Half " in data
    assert "upstream" in (events[-1].get("error") or events[-1]["response"]["error"])["message"]
    if path == CHAT:
        assert not any(map(is_object, joined(fragments_of(events[:-1]))))
        assert {choice["finish_reason"] for choice in choices_of(events[:-1])} == {None}
    else:
        assert not {each["type"] for each in events} & {"message_stop", "response.completed"}


def called(path: str, reply: Any) -> list[str]:
    if path == CHAT:
        return [each.function.name for each in reply.choices[0].message.tool_calls or ()]
    blocks = reply.content if path == ANTHROPIC else reply.output
    return [each.name for each in blocks if each.type in ("tool_use", "function_call")]


def reason_of(path: str, reply: Any) -> str:
    if path == CHAT:
        return str(reply.choices[0].finish_reason)
    return str(reply.stop_reason if path == ANTHROPIC else reply.status)
