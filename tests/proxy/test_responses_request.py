"""Requests of the Responses API: what they become, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmltools.models import Message
from xmltools.proxy.bridge import Refusal
from xmltools.proxy.bridge.requests.incoming import Incoming
from xmltools.proxy.bridge.requests.openai_responses import read_responses_request

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

from proxy.test_server_upstream import reply  # noqa: E402 - it needs uvicorn

READ: Any = {
    "type": "function",
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "size": {"type": "integer"}}},
    "strict": True,
}
SHELL: Any = {"type": "custom", "name": "shell", "description": "Run it."}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a","size":3}'}


def request(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "input": "Go.", **fields}


def read(**fields: Any) -> Incoming:
    return read_responses_request(request(**fields))


def said(*items: Mapping[str, Any]) -> list[tuple[str, tuple[Any, ...]]]:
    """Roles and parts of the conversation that items become."""
    return [(message.role, bare(message)) for message in read(input=list(items)).conversation]


def bare(message: Message) -> tuple[Any, ...]:
    return tuple(part.model_copy(update={"extra": {}}) for part in message.parts)


def message(content: Any, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


# Input


@given(st.text())
def test_arguments_that_the_model_wrote_never_raise(text: str) -> None:
    [(role, [call])] = said(CALL | {"arguments": text})
    assert (role, call.name) == ("assistant", "read")


# Tools


# Fields


# Refused


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "name", "id"]), inner),
    max_leaves=6,
)
items = st.fixed_dictionaries(
    {"type": st.sampled_from([*("message", "reasoning", "function_call", "function_call_output"), "custom_tool_call"])},
    optional=dict.fromkeys(
        ("role", "content", "call_id", "name", "arguments", "output", "summary", "input"), json_values | st.just("c1")
    ),
)


@given(
    st.dictionaries(st.sampled_from(["tools", "tool_choice", "text", "reasoning", "include", "stop", "n"]), json_values)
)
def test_no_json_in_a_field_raises_anything_but_a_refusal(fields: dict[str, Any]) -> None:
    try:
        read(**fields)
    except Refusal as refusal:
        assert refusal.body("responses")["error"]["message"]


@given(st.lists(items | json_values, max_size=4))
def test_no_json_in_the_input_raises_anything_but_a_refusal(given: list[Any]) -> None:
    try:
        read(input=given)
    except Refusal as refusal:
        assert refusal.body("responses")["error"]["message"]


# OpenAI's client


CALLS = (
    "<think>Hm.</think>On it.\n"
    "<tool><tool_name>read</tool_name><arguments><path>a</path><size>3</size></arguments></tool>"
    "<tool><tool_name>shell</tool_name><arguments><input>ls -l</input></arguments></tool>"
)


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_calls_tools_and_sends_back_what_it_got_with_results(open_client: Any, streams: bool) -> None:
    client, upstream = open_client(lambda seen: reply("Done." if "total 0" in seen.body.decode() else CALLS)(seen))
    options: Any = {"model": "m", "instructions": "Be brief.", "tools": [READ, SHELL]}
    given: list[Any] = [{"role": "user", "content": "Go."}]
    if streams:
        with client.responses.stream(input=given, **options) as stream:
            response = stream.get_final_response()
    else:
        response = client.responses.create(input=given, **options)
    thought, text, call, shell = response.output
    assert (thought.content[0].text, text.content[0].text) == ("Hm.", "On it.\n")
    assert (json.loads(call.arguments), shell.input) == ({"path": "a", "size": 3}, "ls -l")
    given += [
        *(item.to_dict() for item in response.output),
        {"type": "function_call_output", "call_id": call.call_id, "output": "abc"},
        {"type": "custom_tool_call_output", "call_id": shell.call_id, "output": "total 0"},
    ]
    assert client.responses.create(input=given, **options).output_text == "Done."
    system, user, answer, results = upstream.seen[-1].json["messages"]
    assert system["content"].startswith("Be brief.") and user["content"] == "Go."
    assert "<path>a</path>" in answer["content"] and "<input>ls -l</input>" in answer["content"]
    assert results["content"] == "Tool: read\nResult: abc\n\nTool: shell\nResult: total 0"


def test_a_client_raises_what_is_refused(open_client: Any) -> None:
    client, _ = open_client("Hi")
    with pytest.raises(openai.BadRequestError, match="whole conversation") as caught:
        client.responses.create(model="m", input="Go.", previous_response_id="resp_1")
    assert (caught.value.param, caught.value.type) == ("previous_response_id", "invalid_request_error")
