"""One client cannot hold up another: what takes long is done beside the event loop."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from serve.test_server_upstream import Answer, Gate, Seen, Upstream, stream, whole, world
from xmltools.bridge import Exchange

ANY = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/any"}}, {"type": "string"}, {"type": "null"}]}


def slow_tool(name: str, argument: str) -> dict[str, Any]:
    properties = {argument: {"$ref": "#/$defs/any"}}
    parameters = {"type": "object", "properties": properties, "$defs": {"any": ANY}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


SLOW_TOOL = slow_tool("slow", "v")
SLOW_VALUE = json.dumps([["x", None]] * 20_000)
SLOW_CALL = f"<tool><tool_name>slow</tool_name><arguments><v>{SLOW_VALUE}</v></arguments></tool>"
"""A call that takes some thousand times as long to read as a short reply."""
MANY_TOOLS = [slow_tool(f"slow_{number}", f"v{number}") for number in range(800)]


@pytest.mark.parametrize("case", ["stream", "small pieces", "whole", "tools"])
def test_others_are_answered_while_something_takes_long(case: str) -> None:
    gate = Gate()

    def answer(seen: Seen) -> Answer:
        if b"slow" not in seen.body:
            return Answer(stream("Hi"))
        if case == "whole":
            return Answer(whole(SLOW_CALL).steps, headers={"content-type": "application/json"}, before=gate)
        size = 200 if case == "small pieces" else 1 << 20
        return Answer([gate, *stream("Hi" if case == "tools" else SLOW_CALL, size=size)])

    with world(Upstream(make=answer)) as it:
        answers: list[Any] = []
        tools = MANY_TOOLS if case == "tools" else [SLOW_TOOL]

        def ask() -> None:
            answers.append(it.post(tools=tools, stream=case != "whole"))

        asking = threading.Thread(target=ask)
        asking.start()
        if case != "tools":
            assert gate.reached.wait(20)
        gate.open()
        quick = 0
        while not answers:
            assert it.post(stream=True).status_code == 200
            quick += 1
        asking.join()
        assert answers[0].status_code == 200
        assert quick > 3  # one, or two, if the event loop is held up


def test_what_may_take_long_is_known_before() -> None:
    exchange = Exchange(
        "chat", {"messages": [{"role": "user", "content": "x"}], "model": "m", "tools": [SLOW_TOOL], "stream": True}
    )

    def delta(text: str, **more: Any) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"content": text}, **more}]}

    assert not exchange.may_take_long(delta("text > "))
    assert exchange.may_take_long(delta("x" * 5_000)) and exchange.may_take_long(delta("", finish_reason="stop"))
    exchange.feed(delta(SLOW_CALL[:20_000]))
    assert not exchange.may_take_long(delta("x >"))  # it can't end the value
    assert exchange.may_take_long(delta("</v>"))
    for odd in ({}, {"choices": None}, {"choices": [None]}, {"choices": [{"index": "0", "finish_reason": "stop"}]}):
        assert not exchange.may_take_long(odd)
