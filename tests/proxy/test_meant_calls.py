"""Calls that were meant, and of which nobody would hear: the model is asked again, once, and the log says why."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from proxy.running import running
from proxy.test_native_calls import streaming, whole
from proxy.test_server_upstream import Answer, Upstream, eventually, stream, world
from proxy.test_server_upstream import whole as whole_text
from proxy.test_wire_facts import (
    ANTHROPIC,
    CHAT,
    OPEN,
    RESPONSES,
    apis,
    asked,
    body_for,
    call,
    called,
    client_for,
    streamed,
    streams,
)
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.transport import XMLToolsTransport

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")

HERMES = '<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>'
JSON = '{"name": "write", "arguments": {"path": "a"}}'
THOUGHT: dict[str, dict[str, Any]] = {
    "reasoning_content": {"reasoning_content": f"I write. {call()}", "content": ""},
    "reasoning": {"reasoning": f"I write. {call()} Good.", "content": None},
    "another dialect": {"reasoning_content": f"I write. {HERMES}"},
    "mismatched tags": {"content": f"<think>I write. {call()}</thinking>"},
    "mismatched tags, and words": {"content": f"<think>I write. {call()}</thinking> Done."},
    "exchanged tags": {"content": f"<thinking>I write. {call()}</think>"},
    "tags": {"content": f"<think>I write. {call()}</think>\n"},
}
FENCED: dict[str, dict[str, Any]] = {
    "fence": {"content": f"```json\n{JSON}\n```"},
    "fence without a word": {"content": f"\n```\n{JSON}\n```\n"},
    "fence after thoughts": {"content": f"<think>Hm.</think>```json\n{JSON}\n```"},
}
MEANT = THOUGHT | FENCED
PLAIN = Settings(dialect="forge")


class Log(logging.Handler):
    """The fields of the lines about requests, each of which comes after the last byte for the client."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "request":
            self.lines.append(record.fields)  # type: ignore[attr-defined]

    def line(self) -> dict[str, Any]:
        eventually(lambda: self.lines, "the request was logged")
        return self.lines[0]


@pytest.fixture
def log() -> Iterator[Log]:
    kept, logger = Log(), logging.getLogger("xmltools.serve")
    level = logger.level
    logger.addHandler(kept)
    logger.setLevel(logging.INFO)
    yield kept
    logger.removeHandler(kept)
    logger.setLevel(level)


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def answer(message: dict[str, Any], *, streams: bool) -> Answer:
    return Answer(streaming(message, finish="stop")) if streams else whole(message, "stop")


@apis
@streams
@pytest.mark.parametrize("how", MEANT)
def test_the_model_is_asked_again_and_the_log_says_why(path: str, streams: bool, how: str, log: Log) -> None:
    again = Answer(stream(call())) if streams else whole_text(call())
    with world(Upstream(answer(MEANT[how], streams=streams), again), settings=PLAIN) as it:
        made = (streamed if streams else asked)(path, client_for(path, it.url), body_for(path))
        told = it.upstream.seen[1].json["messages"][-1]
    assert called(path, made) == ["write"]
    assert told["role"] == "user" and "Your tool call was not carried out" in told["content"]
    assert ("it is in your reasoning" in told["content"]) == (how in THOUGHT)
    fields = log.line()
    assert (fields["again"], fields["retries"], fields["outcome"]) == (
        "reasoning" if how in THOUGHT else "json",
        1,
        "ok",
    )
    assert "unread" not in fields


@pytest.mark.parametrize("how", MEANT)
def test_it_is_asked_once_and_then_the_log_says_that_nobody_heard(how: str, log: Log) -> None:
    with world(Upstream(*[answer(MEANT[how], streams=False)] * 3), settings=PLAIN) as it:
        assert not called(CHAT, asked(CHAT, client_for(CHAT, it.url), body_for(CHAT)))
    fields = log.line()
    assert len(it.upstream.seen) == 2 and fields["outcome"] == "call_unread"
    assert fields["unread"] == ("reasoning" if how in THOUGHT else "json")


SAYS_MORE: dict[str, dict[str, Any]] = {
    "an answer after thoughts": {"reasoning_content": f"I could write. {call()}", "content": "It is there."},
    "an answer after tags": {"content": f"<think>I could write. {call()}</think> It is there."},
    "thoughts of another tool": {"reasoning_content": call(name="other"), "content": "Hm."},
    "words before a fence": {"content": f"For example:\n```json\n{JSON}\n```"},
    "words after a fence": {"content": f"```json\n{JSON}\n```\nThis is an example."},
    "two fences": {"content": f"```json\n{JSON}\n```\n```json\n{JSON}\n```"},
    "other JSON": {"content": '```json\n{"path": "a"}\n```'},
    "a tool that was not given": {"content": "```json\n" + JSON.replace("write", "other") + "\n```"},
}


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("how", SAYS_MORE)
def test_a_reply_that_says_something_else_stands(how: str, streams: bool) -> None:
    with world(Upstream(answer(SAYS_MORE[how], streams=streams)), settings=PLAIN) as it:
        made = (streamed if streams else asked)(CHAT, client_for(CHAT, it.url), body_for(CHAT))
    assert made.choices[0].message.content.strip() and len(it.upstream.seen) == 1


# Empty replies


def after_result(path: str) -> dict[str, Any]:
    said: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    if path == CHAT:
        made = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": '{"path": "b"}'}}
        said += [{"role": "assistant", "content": None, "tool_calls": [made]}]
        said += [{"role": "tool", "tool_call_id": "c1", "content": "done"}]
    elif path == ANTHROPIC:
        used = {"type": "tool_use", "id": "c1", "name": "write", "input": {"path": "b"}}
        said += [{"role": "assistant", "content": [used]}]
        said += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "done"}]}]
    else:
        said += [{"type": "function_call", "call_id": "c1", "name": "write", "arguments": '{"path": "b"}'}]
        said += [{"type": "function_call_output", "call_id": "c1", "output": "done"}]
    return {**body_for(path), ("input" if path == RESPONSES else "messages"): said}


EMPTY: list[dict[str, Any]] = [
    {"content": ""},
    {"content": " \n"},
    {"content": "<think>Hm.</think>"},
    {"reasoning": "Hm."},
]


@apis
@streams
@pytest.mark.parametrize("message", EMPTY)
def test_an_empty_reply_is_asked_for_again(path: str, streams: bool, message: dict[str, Any], log: Log) -> None:
    again = Answer(stream(call())) if streams else whole_text(call())
    with world(Upstream(answer(message, streams=streams), again)) as it:
        made = (streamed if streams else asked)(path, client_for(path, it.url), body_for(path))
        messages = it.upstream.seen[1].json["messages"]
    assert called(path, made) == ["write"] and log.line()["again"] == "empty"
    assert "Your reply was empty." in messages[-1]["content"]
    assert all(each["content"].strip() for each in messages)  # many templates take no other


@apis
@streams
@pytest.mark.parametrize("message", EMPTY)
def test_after_a_result_a_model_may_say_nothing(path: str, streams: bool, message: dict[str, Any]) -> None:
    with world(Upstream(answer(message, streams=streams))) as it:
        (streamed if streams else asked)(path, client_for(path, it.url), after_result(path))
    assert len(it.upstream.seen) == 1


@apis
def test_a_call_that_was_thought_of_after_a_result_is_asked_for(path: str) -> None:
    with world(Upstream(answer(THOUGHT["reasoning"], streams=False), whole_text(call())), settings=PLAIN) as it:
        assert called(path, asked(path, client_for(path, it.url), after_result(path))) == ["write"]


@pytest.mark.parametrize("more", [{"tools": []}, {"tool_choice": "none"}, {"n": 2}])
def test_without_tools_or_with_several_replies_nothing_is_asked_again(more: dict[str, Any]) -> None:
    exchange = Exchange(
        "chat", {**body_for(CHAT), **more, "tools": body_for(CHAT)["tools"] if "tools" not in more else []}
    )
    count = more.get("n", 1)
    choices = [
        {"index": at, "message": {"content": "", "reasoning_content": call()}, "finish_reason": "stop"}
        for at in range(count)
    ]
    assert exchange.plain or exchange.answer({"choices": choices}) is not None


def test_what_was_cut_off_is_not_asked_for_again() -> None:
    exchange = Exchange("chat", body_for(CHAT))
    message = {"content": "", "reasoning_content": call()}
    assert exchange.answer({"choices": [{"message": message, "finish_reason": "length"}]}) is not None


def test_the_transport_asks_again_too() -> None:
    upstream = Upstream(answer(MEANT["reasoning_content"], streams=True), Answer(stream(call())))
    with running(upstream) as url, httpx2.Client(transport=XMLToolsTransport(settings=PLAIN)) as http:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
        assert called(CHAT, streamed(CHAT, client, body_for(CHAT))) == ["write"]


def test_long_thoughts_are_read_at_their_end() -> None:
    exchange = Exchange("chat", body_for(CHAT), PLAIN)
    message = {"content": "", "reasoning_content": "Hm <tool>. " * 20_000 + call()}
    assert exchange.answer({"choices": [{"message": message, "finish_reason": "stop"}]}) is None
    assert exchange.stats.again == ["reasoning"] and json.dumps(exchange.request)
