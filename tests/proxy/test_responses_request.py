"""Requests of the Responses API: what they become, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xmltools.conversations.streams.responses import response_object
from xmltools.models import Media, Message, Reasoning, Text, ToolCall, ToolResult
from xmltools.proxy.bridge import Exchange, Refusal
from xmltools.proxy.bridge.requests.incoming import Choice, Incoming
from xmltools.proxy.bridge.requests.openai_responses import read_responses_request

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

from proxy.running import running  # noqa: E402 - it needs uvicorn

READ: Any = {
    "type": "function",
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "size": {"type": "integer"}}},
    "strict": True,
}
SHELL: Any = {"type": "custom", "name": "shell", "description": "Run it."}
PNG = "data:image/png;base64,aGk="
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a","size":3}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "text"}
READ_CALL = ToolCall(id="c1", name="read", arguments={"path": "a", "size": 3})


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


def test_text_is_a_message_of_the_user_behind_the_instructions() -> None:
    conversation = read(instructions="Be brief.").conversation
    assert [(each.role, each.text) for each in conversation] == [("system", "Be brief."), ("user", "Go.")]


TEXT = {"type": "input_text", "text": "See:"}


@pytest.mark.parametrize(
    ("item", "role", "parts"),
    [
        ({"role": "user", "content": "Hi"}, "user", (Text(text="Hi"),)),
        (message([TEXT]), "user", (Text(text="See:"),)),
        (message("Hi", "system"), "system", (Text(text="Hi"),)),
        (message([TEXT], "developer"), "system", (Text(text="See:"),)),
        (message("Hi", "assistant"), "assistant", (Text(text="Hi"),)),
        (
            message([{"type": "output_text", "text": "Hi", "annotations": []}], "assistant"),
            "assistant",
            (Text(text="Hi"),),
        ),
        (message([{"type": "refusal", "refusal": "No."}], "assistant"), "assistant", (Text(text="No."),)),
        (
            message([TEXT, {"type": "input_image", "image_url": PNG, "detail": "low"}]),
            "user",
            (Text(text="See:"), Media(media_type="image/png", data="aGk=")),
        ),
        (
            message([{"type": "input_image", "image_url": "https://a.test/b.jpg", "file_id": None}]),
            "user",
            (Media(media_type="image/jpeg", url="https://a.test/b.jpg"),),
        ),
        (
            message([{"type": "input_file", "file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"}]),
            "user",
            (Media(media_type="application/pdf", data="aGk="),),
        ),
        (
            message([{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}]),
            "user",
            (Media(media_type="audio/wav", data="aGk="),),
        ),
        (CALL, "assistant", (READ_CALL,)),
        (
            {"type": "custom_tool_call", "call_id": "c1", "name": "shell", "input": 'echo "é\n"'},
            "assistant",
            (ToolCall(id="c1", name="shell", arguments={"input": 'echo "é\n"'}),),
        ),
        (
            {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
            "assistant",
            (Reasoning(text="Hm."),),
        ),
        (
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
                "encrypted_content": "x",
            },
            "assistant",
            (Reasoning(text="One.\n\nTwo."),),
        ),
    ],
)
def test_an_item_becomes_a_message(item: dict[str, Any], role: str, parts: tuple[Any, ...]) -> None:
    assert said(item) == [(role, parts)]


def test_the_detail_of_an_image_and_the_name_of_a_file_reach_the_upstream() -> None:
    parts = [
        {"type": "input_image", "image_url": PNG, "detail": "low"},
        {"type": "input_file", "file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"},
    ]
    [sent] = Exchange("responses", request(input=[message(parts)])).request["messages"]
    assert sent["content"] == [
        {"type": "image_url", "image_url": {"url": PNG, "detail": "low"}},
        {"type": "file", "file": {"file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"}},
    ]


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("text", "text"),
        ("", ""),
        ([{"type": "input_text", "text": "text"}], "text"),
        (
            [TEXT, {"type": "input_image", "image_url": PNG}],
            (Text(text="See:"), Media(media_type="image/png", data="aGk=")),
        ),
    ],
)
def test_an_output_is_the_result_of_its_call(kind: str, output: Any, content: Any) -> None:
    call = {"type": kind, "call_id": "c1", "name": "read", "arguments": "{}", "input": ""}
    [_, (role, parts)] = said(call, {"type": f"{kind}_output", "call_id": "c1", "output": output})
    assert (role, parts) == ("tool", (ToolResult(call_id="c1", name="read", content=content),))


def test_items_of_one_reply_are_one_message_in_their_order() -> None:
    second = CALL | {"call_id": "c2"}
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    }
    items = [
        message("Hi"),
        reasoning,
        message("On it.", "assistant"),
        CALL,
        message("And:", "assistant"),
        second,
        RESULT,
        RESULT | {"call_id": "c2"},
        message("Done.", "assistant"),
        message("Really.", "assistant"),
    ]
    roles = [(role, [type(part).__name__ for part in parts]) for role, parts in said(*items)]
    assert roles == [
        ("user", ["Text"]),
        ("assistant", ["Reasoning", "Text", "ToolCall", "Text", "ToolCall"]),
        ("tool", ["ToolResult"]),
        ("tool", ["ToolResult"]),
        ("assistant", ["Text"]),
        ("assistant", ["Text"]),
    ]


def test_reasoning_that_says_nothing_is_left_out() -> None:
    assert said({"type": "reasoning", "id": "rs_1", "summary": []}, message("Hi")) == [("user", (Text(text="Hi"),))]


@given(st.text())
def test_arguments_that_the_model_wrote_never_raise(text: str) -> None:
    [(role, [call])] = said(CALL | {"arguments": text})
    assert (role, call.name) == ("assistant", "read")


# Tools


def test_functions_and_custom_tools_are_tools() -> None:
    incoming = read(tools=[READ, SHELL])
    assert [(tool.name, tool.description) for tool in incoming.tools] == [
        ("read", "Read a file."),
        ("shell", "Run it."),
    ]
    assert incoming.tools[0].parameters == READ["parameters"]
    assert (list(incoming.tools[1].parameters["properties"]), incoming.custom) == (["input"], {"shell"})


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        (None, Choice()),
        ("auto", Choice()),
        ("none", Choice("none")),
        ("required", Choice("required")),
        ({"type": "function", "name": "read"}, Choice("required", ("read",), named=True)),
        ({"type": "custom", "name": "shell"}, Choice("required", ("shell",), named=True)),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "read"}]},
            Choice("required", ("read",)),
        ),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [READ, {"type": "custom", "name": "shell"}]},
            Choice("auto", ("read", "shell")),
        ),
    ],
)
def test_a_tool_choice_is_read(value: Any, choice: Choice) -> None:
    assert read(tools=[READ, SHELL], tool_choice=value).choice == choice


# Fields


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {}),
        ({"max_output_tokens": 9}, {"max_tokens": 9}),
        ({"temperature": 0, "top_p": 0.5, "user": "u"}, {"temperature": 0, "top_p": 0.5, "user": "u"}),
        ({"temperature": None, "max_output_tokens": None, "reasoning": None, "text": None}, {}),
        ({"reasoning": {"effort": "low", "summary": "auto"}}, {"reasoning_effort": "low"}),
        ({"text": {"verbosity": "low", "format": {"type": "text"}}}, {"verbosity": "low"}),
        ({"text": {"format": {"type": "json_object"}}}, {"response_format": {"type": "json_object"}}),
        (
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True}}},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}}},
        ),
        ({"prompt_cache_key": "k", "service_tier": "auto"}, {"prompt_cache_key": "k", "service_tier": "auto"}),
        ({"seed": 0, "frequency_penalty": 1, "top_k": 5}, {"seed": 0, "frequency_penalty": 1, "top_k": 5}),
        ({"store": True, "metadata": {"a": "b"}, "truncation": "auto", "max_tool_calls": 3}, {}),
        ({"include": ["reasoning.encrypted_content"], "stream_options": {"include_obfuscation": False}}, {}),
        ({"background": False, "previous_response_id": None, "conversation": None, "top_logprobs": 0, "n": 1}, {}),
    ],
)
def test_fields_go_on_by_the_names_of_chat_completions(given: dict[str, Any], sent: dict[str, Any]) -> None:
    assert read(**given).fields == sent


def test_the_rest_of_a_request_is_read() -> None:
    incoming = read(parallel_tool_calls=False, stream=True, stop=["END"])
    assert (incoming.model, incoming.parallel, incoming.stream, incoming.stop) == ("m", False, True, ("END",))


def test_what_the_response_repeats_says_that_nothing_is_stored() -> None:
    incoming = read(store=True, instructions="Be brief.", metadata={"a": "b"})
    response = response_object([], id="resp_1", model="m", created_at=1, echo=incoming.echo)
    assert (response["store"], response["instructions"], response["metadata"]) == (False, "Be brief.", {"a": "b"})


# Refused


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "whole conversation"),
        ({"conversation": "conv_1"}, "conversation", "whole conversation"),
        ({"prompt": {"id": "p"}}, "prompt", "instructions"),
        ({"top_logprobs": 3}, "top_logprobs", "probabilities"),
        ({"max_tokens": 3}, "max_tokens", "max_output_tokens"),
        ({"messages": [{}]}, "messages", "input"),
        ({"response_format": {"type": "json_object"}}, "response_format", "text.format"),
        ({"n": 2}, "n", "1"),
        ({"truncation": "middle"}, "truncation", "auto or disabled"),
        ({"include": ["message.output_text.logprobs"]}, "include", "leave it out"),
        ({"include": "all"}, "include", "a list"),
        ({"stream": "yes"}, "stream", "true or false"),
        ({"max_output_tokens": 0}, "max_output_tokens", "whole number"),
        ({"reasoning": "high"}, "reasoning", "an object"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type", "json_schema"),
        ({"text": {"format": "json"}}, "text.format", "an object"),
        ({"text": {"format": {"type": "json_object"}}, "tools": [READ]}, "text.format", "the tools"),
        ({"model": None}, "model", "the name of a model"),
        ({"instructions": ["Be brief."]}, "instructions", "text"),
        ({"input": None}, "input", "at least one item"),
        ({"input": []}, "input", "at least one item"),
        ({"input": ""}, "input", "at least one item"),
        ({"input": {"role": "user"}}, "input", "a list"),
        ({"input": ["Hi"]}, "input[0]", "an object"),
        ({"input": [message("Hi"), {"type": "item_reference", "id": "x"}]}, "input[1]", "send the item itself"),
        ({"input": [{"id": "msg_1"}]}, "input[0]", "send the item itself"),
        ({"input": [{"type": ["message"]}]}, "input[0].type", "function_call_output"),
        ({"input": [{}]}, "input[0].type", "message"),
        ({"input": [message("Hi", "tool")]}, "input[0].role", "developer"),
        ({"input": [message(None)]}, "input[0].content", "a list of parts"),
        ({"input": [message(["Hi"])]}, "input[0].content[0].type", "input_text"),
        ({"input": [message([{"type": "input_text"}])]}, "input[0].content[0].text", "text"),
        ({"input": [message([{"type": "input_image", "file_id": "f"}])]}, "input[0].content[0].image_url", "data: URL"),
        ({"input": [message([{"type": "input_file", "file_id": "f"}])]}, "input[0].content[0].file_data", "data: URL"),
        ({"input": [message([{"type": "input_file", "file_data": "aGk="}])]}, "input[0].content[0].file_data", "data:"),
        ({"input": [message([{"type": "input_audio", "input_audio": {}}])]}, "input", "input_audio"),
        ({"input": [{"type": "function_call", "name": "read", "arguments": "{}"}]}, "input[0].call_id", "text"),
        ({"input": [CALL | {"arguments": {}}]}, "input[0].arguments", "text"),
        ({"input": [CALL, RESULT | {"output": None}]}, "input[1].output", "text or a list"),
        ({"input": [{"type": "reasoning", "summary": ["x"]}]}, "input[0].summary[].text", "text"),
        ({"tools": READ}, "tools", "a list"),
        ({"tools": ["read"]}, "tools[0]", "give a function"),
        ({"tools": [{"type": "function"}]}, "tools[0]", "name"),
        ({"tools": [SHELL | {"name": None}]}, "tools[0]", "name"),
        ({"tools": [READ, READ]}, "tools", "two of the name"),
        ({"tool_choice": "required"}, "tool_choice", "send tools"),
        ({"tool_choice": "any", "tools": [READ]}, "tool_choice", "allowed_tools"),
        ({"tool_choice": {"type": "function", "name": "write"}, "tools": [READ]}, "tool_choice", "no tool 'write'"),
        ({"tool_choice": {"type": "function"}, "tools": [READ]}, "tool_choice", "name"),
        ({"tool_choice": {"type": "web_search"}, "tools": [READ]}, "tool_choice", "expected"),
        (
            {"tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp"}]}, "tools": [READ]},
            "tool_choice",
            "mode",
        ),
        ({"tool_choice": {"type": "allowed_tools", "mode": [], "tools": []}, "tools": [READ]}, "tool_choice", "mode"),
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_what_cannot_be_honoured_is_refused_with_a_reason(
    fields: dict[str, Any], param: str, words: str, strict: bool
) -> None:
    with pytest.raises(Refusal) as caught:
        read_responses_request(request(**fields), strict=strict)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert str(caught.value).startswith(param.partition("[")[0])
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"background": True}, "background", "leave it out"),
        ({"frobnicate": 1}, "frobnicate", "not known"),
        ({"include": [{}]}, "include", "leave it out"),
        ({"stream_options": {"include_obfuscation": True}}, "stream_options.include_obfuscation", "send false"),
        ({"reasoning": {"mode": "pro"}}, "reasoning.mode", "leave it out"),
        ({"text": {"colour": "red"}}, "text.colour", "leave it out"),
        ({"input": [{"type": "web_search_call", "id": "x"}]}, "input[0].type", "OpenAI's servers"),
        (
            {"input": [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}]},
            "input[0].encrypted_content",
            "leave the item out",
        ),
        ({"tools": [{"type": "web_search"}]}, "tools[0]", "give a function"),
        ({"tools": [READ, {"type": "mcp", "server_url": "x"}]}, "tools[1]", "give a function"),
        ({"tools": [{**SHELL, "format": {"type": "grammar", "syntax": "lark"}}]}, "tools[0].format", "grammar"),
        ({"context_management": [{"type": "compaction"}]}, "context_management", "not edited"),
        ({"client_metadata": {"session_id": "s"}}, "client_metadata", "not known"),
        ({"tools": [{**READ, "parameters": {"type": "objekt"}}]}, "tools[0]", "objekt"),
        ({"reasoning_effort": "low"}, "reasoning_effort", "reasoning.effort"),
    ],
)
def test_what_is_passed_over_is_refused_in_strict_requests(fields: dict[str, Any], param: str, words: str) -> None:
    incoming = read(**fields)
    assert incoming.model == "m"
    with pytest.raises(Refusal) as caught:
        read_responses_request(request(**fields), strict=True)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert words in str(caught.value)


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


class Endpoint:
    """An ASGI app: the exchange with a model that says `text`, however often it is asked."""

    def __init__(self) -> None:
        self.text = ""
        self.sent: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part["body"], part.get("more_body", False)
        try:
            status, content_type, answer = 200, *self.answer(json.loads(body))
        except Refusal as refusal:
            status, content_type = refusal.status, b"application/json"
            answer = json.dumps(refusal.body("responses")).encode()
        headers = [(b"content-type", content_type)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def answer(self, body: dict[str, Any]) -> tuple[bytes, bytes]:
        exchange = Exchange("responses", body)
        self.sent.append(exchange.request)
        choice = {"index": 0, "delta": {"content": self.text}, "finish_reason": "stop"}
        if exchange.streams:
            return b"text/event-stream", exchange.feed({"choices": [choice]}) + exchange.end()
        completion = {"choices": [{"index": 0, "message": {"content": self.text}, "finish_reason": "stop"}]}
        return b"application/json", json.dumps(exchange.answer(completion)).encode()


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
def client(endpoint: Endpoint) -> Iterator[Any]:
    http = openai.DefaultHttpxClient(trust_env=False)
    with (
        running(endpoint, lifespan="off") as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, http_client=http) as client,
    ):
        yield client


CALLS = (
    "<think>Hm.</think>On it.\n"
    "<tool><tool_name>read</tool_name><arguments><path>a</path><size>3</size></arguments></tool>"
    "<tool><tool_name>shell</tool_name><arguments><input>ls -l</input></arguments></tool>"
)


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_calls_tools_and_sends_back_what_it_got_with_results(
    endpoint: Endpoint, client: Any, streams: bool
) -> None:
    options: Any = {"model": "m", "instructions": "Be brief.", "tools": [READ, SHELL]}
    given: list[Any] = [{"role": "user", "content": "Go."}]
    endpoint.text = CALLS
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
    endpoint.text = "Done."
    assert client.responses.create(input=given, **options).output_text == "Done."
    system, user, reply, results = endpoint.sent[-1]["messages"]
    assert system["content"].startswith("Be brief.") and user["content"] == "Go."
    assert "<path>a</path>" in reply["content"] and "<input>ls -l</input>" in reply["content"]
    assert results["content"] == "Tool: read\nResult: abc\n\nTool: shell\nResult: total 0"


def test_a_client_raises_what_is_refused(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="whole conversation") as caught:
        client.responses.create(model="m", input="Go.", previous_response_id="resp_1")
    assert (caught.value.param, caught.value.type) == ("previous_response_id", "invalid_request_error")
