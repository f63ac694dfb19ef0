"""The usage of a reply that is cut short here: told if the model ends where we cut; if it goes on, it is left."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

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
    world,
)
from proxy.test_wire_facts import (
    ANTHROPIC,
    CHAT,
    OPEN,
    apis,
    body_for,
    call,
    called,
    client_for,
    reason_of,
    streamed,
    usage_asked,
)

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


def tokens_of(made: Any) -> tuple[int, int] | None:
    if made.usage is None:
        return None
    usage = made.usage.model_dump()
    return (
        usage.get("prompt_tokens", usage.get("input_tokens")),
        usage.get("completion_tokens", usage.get("output_tokens")),
    )


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


# Answers of several turns

CACHED = {**USAGE, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 2}}
BAD = call("<path>a.py</path><size>big</size>")


def said(text: str, usage: Any = CACHED, *, streams: bool, rest: list[Step] | None = None) -> Answer:
    told = f"data: {json.dumps({'choices': [], 'usage': usage})}\n\n".encode()
    if streams:
        return Answer([chunk(text), *(rest if rest is not None else [chunk(finish="stop"), told, DONE])])
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return as_json({"id": "up", "object": "chat.completion", "choices": [choice], "usage": usage})


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
def test_a_model_that_goes_on_behind_a_rejected_call_is_left(path: str) -> None:
    broken = said(BAD, streams=True, rest=[*[chunk(" and")] * 101, Gate(), *END])
    with world(Upstream(broken, said(call(), streams=True))) as it:
        made = streamed(path, client_for(path, it.url), {**body_for(path), **usage_asked(path)})
        assert it.upstream.seen[0].left.wait(PATIENCE)
    assert called(path, made) == ["write"] and tokens_of(made) in ((11, 7), (7, 7))
