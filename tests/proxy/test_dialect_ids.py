"""Ids of calls where the upstream's chat template writes the prompt: some templates take only those of one form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from proxy.running import running
from proxy.test_native_calls import native, parts_of, whole
from proxy.test_native_calls import streaming as native_stream
from proxy.test_server_upstream import Answer, Seen, Upstream, reply, world
from proxy.test_wire_facts import ANTHROPIC, CHAT, OPEN, RESPONSES, apis, asked, body_for, client_for, streamed, streams
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.transport import XMLToolsTransport

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


@apis
@dialects
def test_ids_from_elsewhere_are_written_anew_for_calls_and_results_alike(path: str, dialect: str) -> None:
    given = ["call_abc", "toolu_1", "chatcmpl-tool-2"]
    with world(Upstream(make=reply("Hi")), settings=settings(dialect)) as it:
        asked(path, client_for(path, it.url), history(path, *given))
        found = ids_of(it.upstream.seen[0])
    calls, results = found[::2], found[1::2]
    assert [said for said, _ in results] == [f"result of {id}" for id in given]
    assert [id for _, id in calls] == [id for _, id in results]
    if dialect == "mistral":
        assert all(NINE.fullmatch(id) for _, id in found) and len(set(found)) == 6
    else:
        assert [id for _, id in calls] == [f"functions.write:{number}" for number in range(3)]


@dialects
def test_ids_that_a_client_uses_again_are_told_apart(dialect: str) -> None:
    request = Exchange("chat", history(CHAT, "call_1", "call_1"), settings(dialect)).request
    calls = [message["tool_calls"][0]["id"] for message in request["messages"] if message.get("tool_calls")]
    results = [message["tool_call_id"] for message in request["messages"] if message["role"] == "tool"]
    assert calls == results and len({*calls}) == 2


def test_what_has_the_form_stays_and_the_next_number_is_behind_the_last() -> None:
    exchange = Exchange("chat", history(CHAT, "functions.write:7", "call_1"), settings("kimi_k2"))
    kept, new = (message["tool_calls"][0]["id"] for message in exchange.request["messages"] if "tool_calls" in message)
    assert (kept, new) == ("functions.write:7", "functions.write:8")


@pytest.mark.parametrize("name", ["a b", "{number}", "x" * 64, "é"])
@pytest.mark.parametrize("id", ["functions.write:999999999", "functions.:1", "9" * 5000, ""])
def test_no_name_and_no_id_is_too_strange(name: str, id: str) -> None:
    body = history(CHAT, id, "call_2")
    for message in body["messages"]:
        for each in message.get("tool_calls") or ():
            each["function"]["name"] = name
    for dialect in SAID:
        assert len(Exchange("chat", body, settings(dialect)).request["messages"]) == 5


@apis
@streams
def test_native_ids_of_an_upstream_are_kept_in_its_form(path: str, streams: bool) -> None:
    made = native(id="functions.write:4", index=0)
    answer = Answer(native_stream({"tool_calls": [made]})) if streams else whole({"tool_calls": [made]})
    with world(Upstream(answer), settings=settings("kimi_k2")) as it:
        (got,) = parts_of(path, (streamed if streams else asked)(path, client_for(path, it.url), body_for(path)))
    assert got[0] == "functions.write:4"


@pytest.mark.parametrize("live", [True, False])
def test_the_transport_has_them_too(live: bool) -> None:
    transport = XMLToolsTransport(settings=settings("kimi_k2", live_arguments=live))
    with running(Upstream(make=reply(SAID["kimi_k2"]))) as url, httpx2.Client(transport=transport) as http:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
        got = parts_of(CHAT, streamed(CHAT, client, body_for(CHAT)))
    assert [each[0] for each in got] == ["functions.write:0", "functions.write:1"]


@pytest.mark.parametrize("other", [Settings(dialect="kimi_k2"), settings("hermes")])
def test_elsewhere_ids_are_as_the_client_has_them(other: Settings) -> None:
    exchange = Exchange("chat", history(CHAT, "call_1"), other)
    assert "functions." not in str(exchange.request.get("tool_calls"))
    exchange = Exchange("chat", body_for(CHAT), other)
    text = (
        SAID["kimi_k2"]
        if other.prompt == "ours"
        else '<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>'
    )
    body = exchange.answer({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})
    assert body is not None
    assert all(each["id"].startswith("call_") for each in body["choices"][0]["message"]["tool_calls"])
