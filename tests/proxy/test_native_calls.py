"""Upstreams that tell calls and thoughts apart themselves, though they were asked in text: nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.test_server_upstream import DONE, USAGE, Answer, Step, as_json
from proxy.test_wire_facts import (
    ANTHROPIC,
    CHAT,
    OPEN,
    RESPONSES,
    body_for,
    call,
    up,
)
from proxy.wire import events_of
from xmltools.proxy.bridge import Api, Exchange

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")

APIS: dict[str, Api] = {CHAT: "chat", ANTHROPIC: "messages", RESPONSES: "responses"}
ARGUMENTS = {"path": "a b.py", "text": 'é 😀 "\n', "size": 12}


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def native(name: str = "write", arguments: Any = ARGUMENTS, **more: Any) -> dict[str, Any]:
    """A call as servers tell it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"type": "function", "function": {"name": name, "arguments": text}, **more}


def parts(made: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """The deltas of a call, as servers stream it: a head, and then its arguments in pieces."""
    text = made["function"]["arguments"]
    head = {**made, "function": {**made["function"], "arguments": ""}}
    rest = [{"function": {"arguments": text[at : at + size]}} for at in range(0, len(text), size)]
    index = {"index": made["index"]} if "index" in made else {}
    return [{"tool_calls": [head]}, *({"tool_calls": [{**index, **each}]} for each in rest)]


def streaming(*deltas: dict[str, Any], finish: str = "tool_calls") -> list[Step]:
    return [*map(up, deltas), up({}, finish, usage=USAGE), DONE]


def whole(message: dict[str, Any], finish: str = "tool_calls") -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return as_json({"id": "up", "object": "chat.completion", "choices": [choice], "usage": USAGE})


def parts_of(path: str, reply: Any) -> list[Any]:
    """Texts, and calls with their ids, in their order."""
    if path == CHAT:
        message = reply.choices[0].message
        calls = [
            (each.id, each.function.name, json.loads(each.function.arguments)) for each in message.tool_calls or ()
        ]
        return [*([message.content] if message.content else []), *calls]
    if path == ANTHROPIC:
        return [
            each.text if each.type == "text" else (each.id, each.name, each.input)
            for each in reply.content
            if each.type in ("text", "tool_use")
        ]
    return [
        each.content[0].text if each.type == "message" else (each.call_id, each.name, json.loads(each.arguments))
        for each in reply.output
    ]


# Without sockets: who says what, in which pieces


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def folded(deltas: Iterable[dict[str, Any]], finish: str = "tool_calls", **fields: Any) -> tuple[str, list[Any], str]:
    """The text, the calls (id, name, and the text of the arguments) and the reason that a client gets of a stream."""
    exchange = Exchange("chat", body_for(CHAT, stream=True, **fields))
    sent = b"".join(exchange.feed(each) for each in [*map(chunk, deltas), chunk({}, finish)]) + exchange.end()
    text, calls, reason = "", [], ""
    for event in events_of(sent):
        if isinstance(event, str):
            text += event.removesuffix("[DONE]")
            continue
        for choice in event["choices"]:
            text += choice["delta"].get("content", "")
            reason = choice["finish_reason"] or reason
            for each in choice["delta"].get("tool_calls", ()):
                if each["index"] == len(calls):
                    calls.append([each["id"], each["function"]["name"], ""])
                assert each["index"] == len(calls) - 1  # calls are never mixed
                calls[-1][2] += each["function"]["arguments"]
    return text, [(id, name, json.loads(arguments)) for id, name, arguments in calls], reason


FIRST, SECOND = {"path": "1", "text": "x" * 30}, {"path": "2"}
# Two calls, as different servers stream them.


def test_a_native_call_waits_while_one_of_the_text_is_open() -> None:
    text = call("<path>1</path><text>abc</text>")
    for at in range(len(text) + 1):
        native_parts = parts(native(arguments=SECOND, id="b", index=0), 3)
        deltas = [{"content": text[:at]}, *native_parts, {"content": text[at:]}, {"content": " End."}]
        said, calls, _ = folded(deltas)
        assert sorted(arguments["path"] for _, _, arguments in calls) == ["1", "2"], at
        assert said == " End."


@given(st.lists(st.sampled_from(["text", "call", "first", "second"]), max_size=12), st.integers(1, 9))
def test_however_text_and_calls_take_turns_all_calls_arrive_whole(order: list[str], size: int) -> None:
    waiting = {
        "text": [{"content": each} for each in ("One. ", "Two. ")],
        "call": [{"content": each} for each in (call()[:20], call()[20:50], call()[50:])],
        "first": parts(native(arguments=FIRST, id="a", index=0), size),
        "second": parts(native(arguments=SECOND, id="b", index=1), size),
    }
    # The text of a call is not mixed with other text, which would be in its arguments.
    taken = [waiting[each].pop(0) for each in order if each != "text" and waiting[each]]
    rest = [delta for each in ("call", "first", "second", "text") for delta in waiting[each]]
    said, calls, reason = folded([*taken, *rest])
    assert sorted(str(each[2]) for each in calls) == sorted(map(str, (FIRST, SECOND, {"path": "a.py"})))
    assert (said, reason) == ("One. Two. ", "tool_calls")


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["index", "id", "type", "function", "name", "arguments", "text", "summary"]), inner
        )
    ),
)


@given(st.lists(st.dictionaries(st.sampled_from(["tool_calls", "function_call", "reasoning_details"]), ODD)))
def test_whatever_an_upstream_says_of_calls_nothing_raises(deltas: list[dict[str, Any]]) -> None:
    for path, api in APIS.items():
        exchange = Exchange(api, body_for(path, stream=True))
        for delta in deltas:
            exchange.feed(chunk(delta))
        exchange.feed(chunk({}, "stop"))
        exchange.end()
