"""Ids of calls where the upstream's chat template writes the prompt: some templates take only those of one form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from proxy.test_native_calls import parts_of
from proxy.test_server_upstream import Seen, Upstream, reply, world
from proxy.test_wire_facts import ANTHROPIC, CHAT, OPEN, RESPONSES, apis, asked, body_for, client_for, streamed, streams
from xmltools.proxy.bridge import Exchange, Settings

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")

KIMI = "<|tool_calls_section_begin|>{}<|tool_calls_section_end|>"
KIMI_CALL = '<|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>{"path": "a"}<|tool_call_end|>'
SAID = {"mistral": '[TOOL_CALLS]write[ARGS]{"path": "a"}' * 2, "kimi_k2": KIMI.format(KIMI_CALL * 2)}
NINE = re.compile("[A-Za-z0-9]{9}")
dialects = pytest.mark.parametrize("dialect", SAID)


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def settings(dialect: str, **more: Any) -> Settings:
    return Settings(dialect=dialect, prompt="upstream", **more)


def history(path: str, *ids: str) -> dict[str, Any]:
    """A request after turns with a call of each of these ids."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for id in ids:
        if path == CHAT:
            made = {"id": id, "type": "function", "function": {"name": "write", "arguments": '{"path": "b"}'}}
            said += [{"role": "assistant", "content": None, "tool_calls": [made]}]
            said += [{"role": "tool", "tool_call_id": id, "content": f"result of {id}"}]
        elif path == ANTHROPIC:
            used = {"type": "tool_use", "id": id, "name": "write", "input": {"path": "b"}}
            result = {"type": "tool_result", "tool_use_id": id, "content": f"result of {id}"}
            said += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [result]}]
        else:
            said += [{"type": "function_call", "call_id": id, "name": "write", "arguments": '{"path": "b"}'}]
            said += [{"type": "function_call_output", "call_id": id, "output": f"result of {id}"}]
    return {**body_for(path), ("input" if path == RESPONSES else "messages"): said}


def ids_of(seen: Seen) -> list[tuple[str, str]]:
    """The ids of calls and results, as the upstream got them."""
    found = []
    for message in seen.json["messages"]:
        found += [("call", each["id"]) for each in message.get("tool_calls") or ()]
        found += [(message["content"], message["tool_call_id"])] if message["role"] == "tool" else []
    return found


@apis
@streams
@dialects
def test_clients_get_ids_that_the_template_takes_and_they_come_back_as_they_are(
    path: str, streams: bool, dialect: str
) -> None:
    with world(Upstream(make=reply(SAID[dialect])), settings=settings(dialect)) as it:
        client = client_for(path, it.url)
        ask = streamed if streams else asked
        ids = [each[0] for each in parts_of(path, ask(path, client, body_for(path)))]
        again = [each[0] for each in parts_of(path, ask(path, client, history(path, *ids)))]
        _, seen = it.upstream.seen
    assert [id for _, id in ids_of(seen)] == [ids[0], ids[0], ids[1], ids[1]]
    if dialect == "mistral":
        assert all(map(NINE.fullmatch, [*ids, *again])) and len({*ids, *again}) == 4
    else:
        assert [*ids, *again] == [f"functions.write:{number}" for number in range(4)]


@pytest.mark.parametrize("name", ["a b", "{number}", "x" * 64, "é"])
@pytest.mark.parametrize("id", ["functions.write:999999999", "functions.:1", "9" * 5000, ""])
def test_no_name_and_no_id_is_too_strange(name: str, id: str) -> None:
    body = history(CHAT, id, "call_2")
    for message in body["messages"]:
        for each in message.get("tool_calls") or ():
            each["function"]["name"] = name
    for dialect in SAID:
        assert len(Exchange("chat", body, settings(dialect)).request["messages"]) == 5
