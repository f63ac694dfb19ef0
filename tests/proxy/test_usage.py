"""The usage of a reply that is cut short here: told if the model ends where we cut; if it goes on, it is left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from proxy.running import running
from proxy.test_server_upstream import (
    DONE,
    PATIENCE,
    USAGE,
    Answer,
    Cut,
    Gate,
    Step,
    Upstream,
    as_json,
    chunk,
    eventually,
    world,
)
from proxy.test_wire_facts import (
    ANTHROPIC,
    CHAT,
    OPEN,
    apis,
    asked,
    body_for,
    call,
    called,
    client_for,
    reason_of,
    streamed,
    usage_asked,
)
from xmltools.proxy.bridge import Exchange, Settings
from xmltools.proxy.transport import XMLToolsTransport

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")

TOLD = f"data: {json.dumps({'choices': [], 'usage': USAGE})}\n\n".encode()
END: list[Step] = [chunk(finish="stop"), TOLD, DONE]
ENDS = {CHAT: "tool_calls", ANTHROPIC: "tool_use"}


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def one_call(path: str) -> dict[str, Any]:
    fields = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    return body_for(path, **(fields if path == ANTHROPIC else {"parallel_tool_calls": False}), **usage_asked(path))


def with_stop(path: str) -> dict[str, Any]:
    more = {CHAT: {"stop": "END"}, ANTHROPIC: {"stop_sequences": ["END"]}}.get(path, {"extra_body": {"stop": "END"}})
    return body_for(path, **more, **usage_asked(path))


def tokens_of(made: Any) -> tuple[int, int] | None:
    if made.usage is None:
        return None
    usage = made.usage.model_dump()
    return (
        usage.get("prompt_tokens", usage.get("input_tokens")),
        usage.get("completion_tokens", usage.get("output_tokens")),
    )


@apis
@pytest.mark.parametrize("behind", ["", "\n", "\n\n "])
def test_a_model_that_ends_behind_its_one_call_is_heard_out_for_the_usage(path: str, behind: str) -> None:
    with world(Upstream(Answer([chunk(call()), *([chunk(behind)] if behind else []), *END]))) as it:
        made = streamed(path, client_for(path, it.url), one_call(path))
        eventually(lambda: it.metric("xmltools_requests_total", route=path) == 1, "the request is counted")
    assert (called(path, made), tokens_of(made)) == (["write"], (11, 7))
    assert reason_of(path, made) == ENDS.get(path, "completed")


@apis
def test_a_model_that_ends_with_a_stop_sequence_is_heard_out_for_the_usage(path: str) -> None:
    with world(Upstream(Answer([chunk("One. E"), chunk("ND"), *END]))) as it:
        made = streamed(path, client_for(path, it.url), with_stop(path))
    assert "One. " in str(made) and tokens_of(made) == (11, 7)


MORE = {
    "in the same piece": [chunk(call() + " And")],
    "in another piece": [chunk(call()), chunk(" And")],
    "another call": [chunk(call()), chunk(call()[:30])],
    "thoughts": [chunk(call()), b'data: {"choices":[{"index":0,"delta":{"reasoning":"Hm"}}]}\n\n'],
}


@apis
@pytest.mark.parametrize("how", MORE)
def test_a_model_that_goes_on_behind_its_one_call_is_left_at_once(path: str, how: str) -> None:
    with world(Upstream(Answer([*MORE[how], Gate(), *END]))) as it:
        made = streamed(path, client_for(path, it.url), one_call(path))
        assert it.upstream.seen[0].left.wait(PATIENCE)
    assert called(path, made) == ["write"]
    assert tokens_of(made) in (None, (0, 0))


BREAKS: dict[str, Callable[[], Step]] = {
    "silence": Gate,
    "a connection that breaks": Cut,
    "nonsense": lambda: b"data: nonsense\n\n",
    "an error": lambda: b'data: {"error":{"message":"no"}}\n\n',
}


@apis
@pytest.mark.parametrize("how", BREAKS)
def test_what_goes_wrong_behind_the_one_call_makes_no_error_of_it(path: str, how: str) -> None:
    with world(Upstream(Answer([chunk(call()), BREAKS[how](), *END]))) as it:
        since = time.monotonic()
        made = streamed(path, client_for(path, it.url), one_call(path))
        assert time.monotonic() - since < PATIENCE  # the time-outs of an upstream are longer
        assert it.metric("xmltools_requests_total") == it.metric("xmltools_requests_total", route=path)
    assert called(path, made) == ["write"]
    assert reason_of(path, made) == ENDS.get(path, "completed")


@pytest.mark.parametrize("end", [END, [Cut()], [b"data: nonsense\n\n"]], ids=["end", "cut", "nonsense"])
def test_the_transport_hears_a_model_out_too(end: list[Step]) -> None:
    with running(Upstream(Answer([chunk(call()), *end]))) as url, httpx2.Client(transport=XMLToolsTransport()) as http:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
        made = streamed(CHAT, client, one_call(CHAT))
    assert (called(CHAT, made), reason_of(CHAT, made)) == (["write"], "tool_calls")
    assert tokens_of(made) == ((11, 7) if end is END else None)


def fed(body: dict[str, Any], *texts: str) -> Exchange:
    exchange = Exchange("chat", {**body, "stream": True})
    for text in texts:
        exchange.feed({"choices": [{"index": 0, "delta": {"content": text}}]})
    return exchange


def test_who_asked_for_no_usage_waits_for_none() -> None:
    exchange = fed(body_for(CHAT, parallel_tool_calls=False), call())
    assert exchange.done and not exchange.awaits_usage


def test_usage_that_comes_with_every_chunk_is_not_waited_for() -> None:
    exchange = fed(one_call(CHAT), call()[:20])
    exchange.feed({"choices": [], "usage": USAGE})
    exchange.feed({"choices": [{"index": 0, "delta": {"content": call()[20:]}}]})
    assert exchange.done and b'"prompt_tokens":11' in exchange.end()


def test_of_several_choices_each_must_have_ended() -> None:
    exchange = fed({**one_call(CHAT), "n": 2}, call())
    assert not exchange.done and not exchange.awaits_usage
    exchange.feed({"choices": [{"index": 1, "delta": {"content": call()}}]})
    assert exchange.awaits_usage and not exchange.done
    exchange.feed({"choices": [{"index": 0, "delta": {"content": "And"}}]})
    assert exchange.done and not exchange.awaits_usage


def test_a_call_that_fails_behind_the_one_that_counts_is_not_sent_back() -> None:
    bad = call("<path>a.py</path><size>big</size>")
    exchange = Exchange("chat", {**one_call(CHAT), "stream": True}, Settings(retries=1))
    sent = exchange.feed({"choices": [{"index": 0, "delta": {"content": call() + bad}}]})
    assert exchange.done and not exchange.next_turn()
    assert b'"finish_reason":"tool_calls"' in sent


# Answers of several turns

CACHED = {**USAGE, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}
BAD = call("<path>a.py</path><size>big</size>")


def said(text: str, usage: Any = CACHED, *, streams: bool, rest: list[Step] | None = None) -> Answer:
    told = f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode()
    if streams:
        return Answer([chunk(text), *(rest if rest is not None else [chunk(finish="stop"), told, DONE])])
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return as_json({"id": "up", "object": "chat.completion", "choices": [choice], "usage": usage})


def all_tokens_of(path: str, made: Any) -> dict[str, Any]:
    usage = made.usage.model_dump()
    if path == ANTHROPIC:
        return {name: usage[f"{name}_tokens"] for name in ("input", "output", "cache_read_input")}
    names = (
        ("input_tokens", "output_tokens")
        if path not in (CHAT, ANTHROPIC)
        else (*("prompt_tokens", "completion_tokens"),)
    )
    details = usage[f"{names[0]}_details"]
    return {"input": usage[names[0]], "output": usage[names[1]], "cache_read_input": details["cached_tokens"]}


@apis
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("tries", [1, 2])
def test_the_usage_is_what_was_spent_in_all_turns(path: str, streams: bool, tries: int) -> None:
    replies = [BAD, call()][-tries:]
    with world(Upstream(*(said(each, streams=streams) for each in replies))) as it:
        client, body = client_for(path, it.url), {**body_for(path), **(usage_asked(path) if streams else {})}
        made = (streamed if streams else asked)(path, client, body)
    assert called(path, made) == ["write"] and len(it.upstream.seen) == tries
    # Anthropic's API does not count what was cached among the input.
    taken = 7 if path == ANTHROPIC else 11
    expected = {"input": taken * tries, "output": 7 * tries, "cache_read_input": 4 * tries}
    assert all_tokens_of(path, made) == expected


@apis
@pytest.mark.parametrize("how", BREAKS)
def test_what_goes_wrong_behind_a_rejected_call_keeps_nobody_from_the_next_try(path: str, how: str) -> None:
    broken = said(BAD, streams=True, rest=[BREAKS[how](), *END])
    with world(Upstream(broken, said(call(), streams=True))) as it:
        since = time.monotonic()
        made = streamed(path, client_for(path, it.url), {**body_for(path), **usage_asked(path)})
        assert time.monotonic() - since < PATIENCE
    assert called(path, made) == ["write"] and tokens_of(made) in ((11, 7), (7, 7))


@apis
def test_a_model_that_says_a_little_more_behind_a_rejected_call_is_heard_out(path: str) -> None:
    broken = said(BAD, streams=True, rest=[chunk(" so."), *END])
    with world(Upstream(broken, said(call(), streams=True))) as it:
        made = streamed(path, client_for(path, it.url), {**body_for(path), **usage_asked(path)})
    assert called(path, made) == ["write"] and tokens_of(made) in ((22, 14), (18, 14))


@apis
def test_a_model_that_goes_on_behind_a_rejected_call_is_left(path: str) -> None:
    broken = said(BAD, streams=True, rest=[*[chunk(" and")] * 101, Gate(), *END])
    with world(Upstream(broken, said(call(), streams=True))) as it:
        made = streamed(path, client_for(path, it.url), {**body_for(path), **usage_asked(path)})
        assert it.upstream.seen[0].left.wait(PATIENCE)
    assert called(path, made) == ["write"] and tokens_of(made) in ((11, 7), (7, 7))


@pytest.mark.parametrize("how", ["cut", "nonsense", "end"])
def test_the_transport_adds_up_too(how: str) -> None:
    rests: dict[str, list[Step] | None] = {"cut": [Cut()], "nonsense": [b"data: nonsense\n\n"], "end": None}
    first = said(BAD, streams=True, rest=rests[how])
    with (
        running(Upstream(first, said(call(), streams=True))) as url,
        httpx2.Client(transport=XMLToolsTransport()) as http,
    ):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0, http_client=http)
        made = streamed(CHAT, client, {**body_for(CHAT), **usage_asked(CHAT)})
    assert called(CHAT, made) == ["write"]
    assert tokens_of(made) == ((22, 14) if how == "end" else (11, 7))


def test_the_first_event_has_the_input_tokens_that_the_upstream_told_by_then() -> None:
    exchange = Exchange("messages", {**body_for(ANTHROPIC), "stream": True})
    exchange.feed({"choices": [], "usage": {**CACHED, "completion_tokens": 0}})
    begun = exchange.feed({"choices": [{"index": 0, "delta": {"content": "Hi "}}]})
    assert b'"usage":{"input_tokens":7,"output_tokens":0,"cache_read_input_tokens":4}' in begun


def test_counts_that_only_one_turn_has_are_kept() -> None:
    exchange = Exchange("chat", body_for(CHAT))
    for text, usage in (
        (BAD, {**CACHED, "cost": 0.5}),
        (call(), {**USAGE, "cost": 0.25, "prompt_tokens_details": None}),
    ):
        choice = {"message": {"content": text}, "finish_reason": "stop"}
        body = exchange.answer({"choices": [choice], "usage": usage})
    assert body is not None and body["usage"]["cost"] == 0.75 and body["usage"]["prompt_tokens"] == 22
    assert body["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}
