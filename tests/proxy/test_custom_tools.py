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
from xmltools.proxy.bridge import Exchange, Settings  # noqa: E402
from xmltools.render import render_call  # noqa: E402

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


CUT = "<tool><tool_name>patch</tool_name><arguments><input>rm -"


def test_the_helper_of_the_client_puts_the_stream_together(open_client: Any) -> None:
    client, _ = open_client(call("patch", input=INPUT))
    with client.chat.completions.stream(**ASK) as stream:
        for _ in stream:
            pass
        message = stream.current_completion_snapshot.choices[0].message
    [found] = message.tool_calls
    assert (found.type, found.to_dict()["custom"]) == ("custom", {"name": "patch", "input": INPUT})


def test_a_live_call_that_is_cut_ends_in_an_error(open_client: Any) -> None:
    client, _ = open_client(CUT, settings=Settings(live_arguments=True))
    with pytest.raises(openai.APIError):
        list(client.chat.completions.create(**ASK, stream=True))


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
