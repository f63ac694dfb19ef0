"""The core of proxy and transport: requests in, requests out, replies back; no sockets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dialect_marks import write
from support.effort import effort

from xmltools import dialects
from xmltools.errors import XMLToolsError
from xmltools.proxy.bridge import Exchange, Settings, SSEDecoder, error_body
from xmltools.proxy.bridge.upstream_stream import parts_of

PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["path"],
}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in ("read", "write")]
USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}


def call(name: str = "read", path: str = "a", extra: str = "") -> str:
    return f"<tool><tool_name>{name}</tool_name><arguments><path>{path}</path>{extra}</arguments></tool>"


USER = [{"role": "user", "content": "hi"}]


def chat(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": USER, "tools": TOOLS, **fields}


def anthropic(**fields: Any) -> dict[str, Any]:
    tools = [{"name": each["function"]["name"], "input_schema": PARAMETERS} for each in TOOLS]  # type: ignore[index]
    return {"model": "m", "max_tokens": 99, "messages": USER, "tools": tools, **fields}


def completion(*texts: str, reason: str = "stop", **message: Any) -> dict[str, Any]:
    choices = [
        {"index": index, "message": {"role": "assistant", "content": text, **message}, "finish_reason": reason}
        for index, text in enumerate(texts)
    ]
    return {"object": "chat.completion", "choices": choices, "usage": USAGE}


def chunks(text: str, rng: Random, reason: str | None = "stop", index: int = 0) -> Iterator[dict[str, Any]]:
    at = 0
    while at < len(text):
        end = at + rng.choice([1, 3, 10])
        yield {"choices": [{"index": index, "delta": {"content": text[at:end]}, "finish_reason": None}]}
        at = end
    yield {"choices": [{"index": index, "delta": {}, "finish_reason": reason}]}
    yield {"choices": [], "usage": USAGE}


def stream(exchange: Exchange, *replies: Any, seed: int = 0) -> list[tuple[str, Any]]:
    """Feed replies, one a turn of the upstream; return the events that the client gets."""
    sent = b""
    turns = list(replies)
    while turns:
        for chunk in turns[0] if not isinstance(turns[0], str) else chunks(turns[0], Random(seed)):
            sent += exchange.feed(chunk)
        turns.pop(0)
        sent += exchange.end()
        assert exchange.next_turn() is bool(turns)
    decoder = SSEDecoder()
    events = decoder.feed(sent) + decoder.close()
    return [(name, data if data == "[DONE]" else json.loads(data)) for name, data in events]


def deltas(events: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fold chat chunks as clients do: text, reasoning, calls and finish reasons of choice 0."""
    made: dict[str, Any] = {"content": "", "reasoning": "", "calls": [], "finish": None, "usage": None}
    assert events[-1] == ("", "[DONE]")
    for _, chunk in events[:-1]:
        assert "error" not in chunk, chunk
        made["usage"] = chunk.get("usage") or made["usage"]
        for choice in chunk["choices"]:
            delta = choice["delta"]
            made["content"] += delta.get("content") or ""
            made["reasoning"] += delta.get("reasoning_content") or ""
            made["finish"] = choice["finish_reason"] or made["finish"]
            for each in delta.get("tool_calls", ()):
                if each["index"] == len(made["calls"]):
                    made["calls"].append([each["function"]["name"], ""])
                made["calls"][each["index"]][1] += each["function"]["arguments"]
    made["calls"] = [(name, json.loads(arguments)) for name, arguments in made["calls"]]
    return made


# What the upstream is asked


# Replies


# Retries


def test_a_loop_that_asks_as_in_0_1_0_is_told_what_to_ask() -> None:
    exchange = Exchange("chat", chat(stream=True))
    with pytest.raises(AttributeError, match=r"call next_turn\(\) after end\(\)"):
        _ = exchange.again
    assert not hasattr(exchange, "again")


def said_to(api: Any, replies: list[dict[str, Any]], *, streams: bool, **settings: Any) -> str:
    """All that a client of an API is sent, in which the text of a reply is found as it is."""
    body = {
        "chat": chat(stream=streams),
        "messages": anthropic(stream=streams),
        "responses": {"model": "m", "input": "hi", "tools": [{"type": "function", **TOOLS[0]["function"]}]}  # type: ignore[dict-item]
        | {"stream": streams},
    }[api]
    exchange = Exchange(api, body, Settings(**settings))
    answers = [exchange.answer(each) for each in replies] if not streams else []
    sent = "".join(json.dumps(answer) for answer in answers if answer is not None)
    for each in replies if streams else ():
        sent += (exchange.feed(each) + exchange.end(is_whole=True)).decode()
        exchange.next_turn()
    return sent


def test_white_space_after_a_call_is_not_held_for_long() -> None:
    exchange = Exchange("chat", chat(stream=True))
    exchange.feed({"choices": [{"index": 0, "delta": {"content": call()}}]})
    sent = [exchange.feed({"choices": [{"index": 0, "delta": {"content": "\n" * 100}}]}) for _ in range(20)]
    assert b"content" not in sent[0] and sent[-1].count(b"\\n") >= 100


# What goes wrong


@pytest.mark.parametrize("more", [{}, {"role": "assistant"}, {"reasoning": "Hm."}, {"tool_calls": []}])
@pytest.mark.parametrize("text", ["", "a < b", "<" * 128, "a" * 500, "x < y " * 100, "é<😀" * 400])
def test_a_chunk_with_long_markup_is_read_in_parts_that_say_the_same(text: str, more: dict[str, Any]) -> None:
    choice = {"index": 0, "delta": {**more, "content": text}, "finish_reason": "stop"}
    chunk = {"id": "c", "choices": [choice], "usage": {"total_tokens": 3}}
    *parts, last = parts_of(chunk)
    contents = [part["choices"][0]["delta"]["content"] for part in (*parts, last)]
    assert "".join(contents) == text
    assert last == chunk | {"choices": [choice | {"delta": {**more, "content": contents[-1]}}]}
    assert all(part["choices"][0]["finish_reason"] is None and "usage" not in part for part in parts)
    may_be_cut = "<" in text and not more.get("reasoning")
    assert max(map(len, contents)) <= 128 if may_be_cut else not parts


@pytest.mark.parametrize(
    "choices", [[], None, [None], [{}], [{"delta": None}], [{"delta": {"content": [1]}}], "<" * 200]
)
def test_a_chunk_of_another_form_is_left_as_it_is(choices: Any) -> None:
    assert list(parts_of({"choices": choices})) == [{"choices": choices}]


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["choices", "delta", "index", "content", "finish_reason", "usage", "message"]), inner
            )
        ),
    )
)
def test_no_chunk_of_an_upstream_raises(chunk: Any) -> None:
    exchange = Exchange("chat", chat(stream=True))
    assert isinstance(exchange.feed(chunk if isinstance(chunk, dict) else {"choices": chunk}), bytes)


@pytest.mark.parametrize("settings", [{"style": "long"}, {"result_role": "x"}, {"retries": -1}, {"engine": "gpt"}])
def test_wrong_settings(settings: Any) -> None:
    with pytest.raises(XMLToolsError, match=f"{next(iter(settings))}: expected"):
        Settings(**settings)


def test_the_body_of_an_error() -> None:
    assert error_body("chat", "no", status=500)["error"]["type"] == "server_error"
    assert error_body("messages", "no", status=429, request_id="r")["error"]["type"] == "rate_limit_error"


# Server-sent events


@given(st.integers(0, 1000), st.sampled_from(["\n", "\r\n", "\r"]))
def test_events_do_not_depend_on_how_the_bytes_are_cut(seed: int, end: str) -> None:
    lines = ["\ufeff: comment", "event: a", "data: {é: 1}", "data:  two", "", "data", "", "id: 3", "", "data:last"]
    data = end.join(lines).encode()
    rng, decoder, events, at = Random(seed), SSEDecoder(), [], 0
    while at < len(data):
        size = rng.choice([1, 2, 5, 100])
        events += decoder.feed(data[at : at + size])
        at += size
    events += decoder.close()
    assert events == [("a", "{é: 1}\n two"), ("", ""), ("", "last")]


@pytest.mark.no_cover
@pytest.mark.full
def test_many_events_are_no_long_one() -> None:
    words = b"x" * 100
    assert len(SSEDecoder().feed(b'data: {"a":"%s"}\n\n' % words * 150_000)) == 150_000
    decoder = SSEDecoder()
    assert [decoder.feed(b": keep-alive %s\n\n" % words * 10_000) for _ in range(15)] == [[]] * 15


def test_an_event_without_end_is_refused() -> None:
    lines = SSEDecoder()
    with pytest.raises(XMLToolsError, match="16,777,216 characters"):
        for _ in range(20):
            lines.feed(b"data: " + b"x" * 1_000_000 + b"\n")
    decoder = SSEDecoder()
    with pytest.raises(XMLToolsError, match="16,777,216 characters"):
        for _ in range(20):
            decoder.feed(b"data: " + b"x" * 1_000_000)


# What servers say that is not as OpenAI says it


def said(*deltas_: dict[str, Any], reason: str = "stop") -> list[dict[str, Any]]:
    steps = [{"choices": [{"index": 0, "delta": delta, "finish_reason": ""}]} for delta in deltas_]
    return [*steps, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]


@pytest.mark.no_cover
@pytest.mark.full
def test_many_lines_of_an_event_are_read_in_linear_time_and_within_the_limit() -> None:
    def read(lines: int) -> None:
        decoder = SSEDecoder()
        for _ in range(lines // 4):
            decoder.feed(b"data: x\n" * 4)

    assert effort(lambda: read(40_000)) < 12 * max(effort(lambda: read(10_000)), 0.1)
    decoder = SSEDecoder()
    decoder.feed(b"data: %s\n" % (b"x" * 15 * 2**20))
    with pytest.raises(XMLToolsError, match="more than"):
        for _ in range(2):
            decoder.feed(b"data:\n" * 2**20)


CUT_OFF = [
    "length",
    "max_tokens",
    "MAX_TOKENS",
    "model_length",
    "model_context_window_exceeded",
    "content_filter",
    "refusal",
    "abort",
    "error",
    "timeout",
    "cancelled",
    "network_error",
    "insufficient_system_resource",
    "doom_loop",
]
WHOLE = [
    "stop",
    "eos",
    "eos_token",
    "stop_token",
    "end",
    "end_turn",
    "stop_sequence",
    "tool_call",
    "tool_calls",
    "tool_use",
    "function_call",
    "complete",
    "completed",
    "normal",
    "finish_reason_stop",
    "STOP",
]


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("api", ["chat", "messages", "responses"])
def test_an_unfinished_call_is_only_made_where_the_reply_is_whole(api: str, is_stream: bool):
    """A reason that nobody knows completes none either; in what clients get, each reason is one of their API's."""
    told = {}
    for reason in (*CUT_OFF, *WHOLE):
        reply = [{"choices": [{"index": 0, "delta": {"content": call()[:-7]}, "finish_reason": reason}]}]
        if not is_stream:
            reply = [{"choices": [{"message": {"content": call()[:-7]}, "finish_reason": reason}]}]
        told[reason] = said_to(api, reply, streams=is_stream, retries=0)
    calls = re.compile(r'"type": ?"(tool_use|function_call)"|"tool_calls": ?\[')
    assert [reason for reason in told if calls.search(told[reason])] == WHOLE
    for reason in (*CUT_OFF, *WHOLE):
        assert not re.search(f'(reason|status)": ?"{reason}"', told[reason]) or reason in REASONS_OF[api], (
            reason,
            told[reason],
        )


REASONS_OF = {
    "chat": ("stop", "length", "tool_calls", "content_filter"),
    "messages": ("end_turn", "max_tokens", "tool_use", "refusal"),
    "responses": ("content_filter", "completed"),
}


@pytest.mark.parametrize("seed", range(40))
def test_text_with_fences_and_without_calls_stays_as_it_is(seed: int) -> None:
    rng = Random(seed)
    said = "a" + "".join(rng.choices(["```", "``", "`", "~~~", "~", "\n", " ", "xml", "x" * 50], k=30)) + "."
    made = deltas(stream(Exchange("chat", chat(stream=True)), said, seed=seed))
    assert (made["content"], made["calls"]) == (said, [])


@pytest.mark.parametrize("dialect", [each.name for each in dialects.all() if each.written])
def test_no_beginning_of_a_call_is_run_where_the_reply_is_not_whole(dialect: str) -> None:
    """Cut off at every character, for each reason in turn. A call lacks its end mark only if the dialect has none."""
    written, arguments = dialects.named(dialect), {"path": 'a.py <b> "c"', "size": 12}
    said = write(written, "write", arguments)
    for cut, reason in zip(range(1, len(said)), cycle(CUT_OFF)):
        exchange = Exchange("chat", chat(), Settings(dialect=dialect, retries=0))
        body = exchange.answer(completion(said[:cut], reason=reason))
        assert body is not None
        for made in body["choices"][0]["message"].get("tool_calls", ()):
            assert json.loads(made["function"]["arguments"]) == arguments, (said[:cut], reason)
            assert not written.has_end or said[:cut].endswith(tuple(end for form in written.forms for end in form.ends))


def test_a_reason_that_nobody_knows_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        Exchange("chat", chat()).answer(completion("Hi", reason="tired"))
    assert [each.getMessage().count("'tired'") for each in caplog.records] == [1]
