"""One client cannot hold up another: what takes long is read beside the event loop, and nobody sees where."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from proxy.test_server_upstream import BODIES as REQUESTS
from proxy.test_server_upstream import PATIENCE, Answer, Cut, Gate, Seen, Upstream, chunk, stream, whole, world

ANY = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/any"}}, {"type": "string"}, {"type": "null"}]}


def slow_tool(name: str, argument: str) -> dict[str, Any]:
    properties = {argument: {"$ref": "#/$defs/any"}}
    parameters = {"type": "object", "properties": properties, "$defs": {"any": ANY}}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


SLOW_TOOL = slow_tool("slow", "v")
SLOW_VALUE = json.dumps([["x", None]] * 20_000)
SLOW_CALL = f"<tool><tool_name>slow</tool_name><arguments><v>{SLOW_VALUE}</v></arguments></tool>"
"""A call that takes some thousand times as long to read as a short reply."""
LONG_PATIENCE = 10 * PATIENCE
"""Seconds for what takes long: it comes last where the machine is busy."""
MANY_TOOLS = [slow_tool(f"slow_{number}", f"v{number}") for number in range(800)]
LONG = {"messages": [{"role": "user", "content": "x" * 9_000}]}


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
        tools = MANY_TOOLS if case == "tools" else [SLOW_TOOL]
        with ThreadPoolExecutor(1) as pool:
            slow = pool.submit(it.post, tools=tools, stream=case != "whole", timeout=LONG_PATIENCE)
            try:
                if case != "tools":
                    assert gate.reached.wait(PATIENCE)
            finally:
                gate.open()
            quick = 0
            while not slow.done():
                assert it.post(stream=True).status_code == 200
                quick += 1
            assert slow.result().status_code == 200
        assert quick > 3  # one, or two, if the event loop is held up


@pytest.mark.parametrize("path", REQUESTS)
def test_a_client_sees_no_difference(path: str) -> None:
    """The same call in pieces that are read at once, and in one that is read in a thread."""
    text = f"Words. <tool><tool_name>write</tool_name><arguments><path>{'x < y ' * 3_000}</path></arguments></tool>"
    seen = []
    for size in (100, 1 << 20):
        with world(Upstream(Answer(stream(text, size=size)), Answer(whole(text).steps))) as it:
            seen.append([it.post(path, stream=True).text, it.post(path).text])
    assert all("Words" in each and "x < y x < y" in each for each in seen[0])
    assert without_ids(seen[0][1]) == without_ids(seen[1][1])
    assert joined(seen[0][0]) == joined(seen[1][0])


def without_ids(text: str) -> str:
    """A response without what differs each time: ids, and when it was made."""
    return re.sub(r'(?<=_)[0-9a-f]{16,}|(?<=-)[0-9a-f]{32}|(?<="created":)\d+|(?<="created_at":)\d+', "", text)


def joined(text: str) -> str:
    """What a stream says, however it was cut."""
    return "".join(re.findall(r'"(?:content|text|delta|arguments|partial_json)":"((?:[^"\\]|\\.)*)"', text))


def test_a_refusal_reads_the_same_for_a_long_request() -> None:
    wrong = {"tools": [{"type": "function", "function": {"parameters": {"type": "strin"}}}]}
    with world(Upstream()) as it:
        short, long = it.post(**wrong), it.post(**wrong, **LONG)
        assert (short.status_code, short.json()) == (long.status_code, long.json())
        assert short.status_code == 400
        assert it.post(**LONG, n="x").json()["error"]["param"] == "n"


@pytest.mark.parametrize(
    "steps", [[Cut()], [b"data: {no JSON\n\n"], [chunk("a"), b'data: {"error": {"message": "m"}}\n\n']]
)
def test_faults_of_the_upstream_read_the_same_too(steps: list[Any]) -> None:
    with world(Upstream(*[Answer(steps)] * 2)) as it:
        short, long = it.post(stream=True), it.post(**LONG, stream=True)

    def shown(response: Any) -> str:
        return "\n".join(line for line in response.text.splitlines() if "error" in line)

    assert (short.status_code, shown(short)) == (long.status_code, shown(long))
    assert "error" in short.text
