"""Custom tools of chat completions, whose input is one text: through OpenAI's own client, and by the chunk."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

from xmltools.models import ToolCall  # noqa: E402
from xmltools.proxy.bridge import Exchange, Refusal, Settings  # noqa: E402
from xmltools.render import render_call  # noqa: E402

GRAMMAR = 'start: "*** Begin Patch"'
PATCH: Any = {"type": "custom", "custom": {"name": "patch", "description": "Edit files."}}
READ: Any = {
    "type": "function",
    "function": {
        "name": "read",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
INPUT = '*** Begin Patch\n+a < b && "c" \\n é 😀\n*** End Patch\n'
ASK: Any = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "tools": [PATCH, READ]}


def call(name: str, **arguments: Any) -> str:
    return render_call(ToolCall(id="c", name=name, arguments=arguments))


BOTH = f"So:\n{call('patch', input=INPUT)}\n{call('read', path='a.py')}"
MISSING = "<tool><tool_name>patch</tool_name><arguments></arguments></tool>"
CUT = "<tool><tool_name>patch</tool_name><arguments><input>rm -"
UNKNOWN = "<tool><tool_name>pach</tool_name><arguments><input>x</input></arguments></tool>"


def test_a_call_is_its_input(open_client: Any) -> None:
    client, upstream = open_client(BOTH)
    [choice] = client.chat.completions.create(**ASK).choices
    custom, function = choice.message.tool_calls
    assert (custom.type, custom.custom.name, custom.custom.input) == ("custom", "patch", INPUT)
    assert (function.type, function.function.name, function.function.arguments) == (
        "function",
        "read",
        '{"path":"a.py"}',
    )
    assert custom.id and custom.id != function.id
    assert choice.finish_reason == "tool_calls"
    assert custom.to_dict().keys() == {"id", "type", "custom"}
    assert "tools" not in upstream.seen[-1].json


@pytest.mark.parametrize("live", [False, True])
def test_a_call_streams_as_its_input(open_client: Any, live: bool) -> None:
    client, _ = open_client(BOTH, settings=Settings(live_arguments=live))
    chunks = list(client.chat.completions.create(**ASK, stream=True))
    deltas = [delta.to_dict() for each in chunks for choice in each.choices for delta in choice.delta.tool_calls or ()]
    first, *more = [delta for delta in deltas if delta["index"] == 0]
    assert (first["type"], first["custom"]) == ("custom", {"name": "patch", "input": ""})
    assert "".join(delta["custom"]["input"] for delta in more) == INPUT
    assert all(delta.keys() == {"index", "custom"} and delta["custom"].keys() == {"input"} for delta in more)
    assert len(more) > 3 or not live
    [begun] = [delta for delta in deltas if delta["index"] == 1 and "id" in delta]
    assert (begun["type"], begun["function"]["name"]) == ("function", "read")
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_the_helper_of_the_client_puts_the_stream_together(open_client: Any) -> None:
    client, _ = open_client(call("patch", input=INPUT))
    with client.chat.completions.stream(**ASK) as stream:
        for _ in stream:
            pass
        message = stream.current_completion_snapshot.choices[0].message
    [found] = message.tool_calls
    assert (found.type, found.to_dict()["custom"]) == ("custom", {"name": "patch", "input": INPUT})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("text", [MISSING, CUT, UNKNOWN])
def test_a_rejected_call_is_none(open_client: Any, text: str, stream: bool) -> None:
    client, _ = open_client(text)
    answer = client.chat.completions.create(**ASK, stream=stream)
    if stream:
        choices = [choice for each in answer for choice in each.choices]
        assert not [choice for choice in choices if choice.delta.tool_calls]
        assert choices[-1].finish_reason == "stop"
    else:
        assert answer.choices[0].message.tool_calls is None
        assert answer.choices[0].finish_reason == "stop"


def test_a_live_call_that_is_cut_ends_in_an_error(open_client: Any) -> None:
    client, _ = open_client(CUT, settings=Settings(live_arguments=True))
    with pytest.raises(openai.APIError):
        list(client.chat.completions.create(**ASK, stream=True))


def test_the_history_is_read(open_client: Any) -> None:
    client, upstream = open_client(call("patch", input=INPUT))
    message = client.chat.completions.create(**ASK).choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "Done!"}
    client.chat.completions.create(**{**ASK, "messages": [*ASK["messages"], message, result]})
    *_, asked, told = upstream.seen[-1].json["messages"]
    assert asked == {"role": "assistant", "content": call("patch", input=INPUT)}
    assert told == {"role": "user", "content": "Tool: patch\nResult: Done!"}


@given(st.text(), st.integers(1, 9))
def test_any_input_is_the_same_however_it_is_cut(text: str, size: int) -> None:
    written = call("patch", input=text)
    exchange = Exchange("chat", {**ASK, "stream": False}, Settings(live_arguments=True))
    choice = {"index": 0, "message": {"role": "assistant", "content": written}, "finish_reason": "stop"}
    whole = exchange.answer({"choices": [choice]})
    live = Exchange("chat", {**ASK, "stream": True}, Settings(live_arguments=True))
    parts = [{"content": written[at : at + size]} for at in range(0, len(written), size)]
    sent = b"".join(live.feed({"choices": [{"index": 0, "delta": part}]}) for part in parts)
    sent += live.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + live.end()
    assert whole is not None
    [found] = whole["choices"][0]["message"]["tool_calls"]
    joined = "".join(
        delta.get("custom", {}).get("input", "")
        for line in sent.decode().split("\n")
        if line.startswith("data: {")
        for each in json.loads(line[6:])["choices"]
        for delta in each["delta"].get("tool_calls", ())
    )
    assert joined == found["custom"]["input"]


# What the request says


@pytest.mark.parametrize(
    "form",
    [
        {"type": "grammar", "grammar": {"syntax": "lark", "definition": GRAMMAR}},
        {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
    ],
)
def test_the_model_is_told_of_a_grammar(form: Any) -> None:
    tool = {"type": "custom", "custom": {**PATCH["custom"], "format": form}}
    system = Exchange("chat", {**ASK, "tools": [tool]}).request["messages"][0]["content"]
    assert "(lark)" in system and GRAMMAR in system
    with pytest.raises(Refusal, match="held to a grammar") as refused:
        Exchange("chat", {**ASK, "tools": [tool]}, Settings(strict_requests=True))
    assert refused.value.param == "tools[0].custom.format"


NAMED = {"type": "custom", "custom": {"name": "patch"}}


@pytest.mark.parametrize(
    "choice",
    [
        NAMED,
        {"type": "custom", "name": "patch"},
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NAMED]}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NAMED]}},
    ],
)
def test_a_choice_may_name_it(choice: Any) -> None:
    system = Exchange("chat", {**ASK, "tool_choice": choice}).request["messages"][0]["content"]
    assert "## patch" in system and "## read" not in system


def test_a_named_choice_says_that_the_model_stopped(open_client: Any) -> None:
    client, _ = open_client(call("patch", input=INPUT))
    [choice] = client.chat.completions.create(**ASK, tool_choice=NAMED).choices
    assert (choice.finish_reason, choice.message.tool_calls[0].custom.input) == ("stop", INPUT)


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ({"type": "custom"}, "tools[0].custom"),
        ({"type": "custom", "custom": "patch"}, "tools[0].custom"),
        ({"type": "custom", "custom": {}}, "tools[0].custom"),
        ({"type": "custom", "custom": {"name": 3}}, "tools[0].custom"),
        ({"type": "custom", "custom": {"name": "a", "format": "text"}}, "tools[0].custom.format"),
        ({"type": ["custom"]}, "tools[0]"),
    ],
)
def test_a_tool_that_is_none_is_refused_with_its_place(tool: Any, param: str) -> None:
    with pytest.raises(Refusal) as refused:
        Exchange("chat", {**ASK, "tools": [tool]})
    assert refused.value.param == param
    assert str(refused.value).startswith(f"{param}: ")
