"""The official clients as consumers of our streams, over a socket: what they make of calls, also of failed ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from proxy.running import running
from starlette.requests import Request
from support.strategies import pieces

from xmltools.conversations.streams import (
    SSE_DONE,
    AnthropicReader,
    AnthropicStream,
    OpenAIReader,
    OpenAIStream,
    to_sse,
)
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    ReasoningDelta,
    TextDelta,
)
from xmltools.parser import Parser
from xmltools.proxy.scripted.player import Answer, Player
from xmltools.tools import Tool

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

WRITE = Tool(
    name="write",
    description="Write a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "text": {"type": "string"},
            "mode": {"type": "integer"},
            "lines": {"type": "array", "items": {"type": "string"}},
        },
    },
)
PING = Tool(name="ping", description="Answer.")
TOOLS = [WRITE, PING]
OPENAI_TOOLS: Any = [
    {"type": "function", "function": {"name": each.name, "parameters": each.parameters}} for each in TOOLS
]
ANTHROPIC_TOOLS: Any = [{"name": each.name, "input_schema": each.parameters} for each in TOOLS]
MESSAGES: Any = [{"role": "user", "content": "Go."}]

BODY = 'if a < b:\n\tprint("\\u00e9 é 😀 \u2028\x85")\n\n    \\'
GOOD = (
    "<think>Hm, \u2028 let me see.</think>I'll write it.\n"
    "<tool><tool_name>write</tool_name><arguments><mode>420</mode><path>a b.py</path>"
    f"<text><![CDATA[{BODY}]]></text><lines><line>one</line><line>two</line></lines></arguments></tool>\n"
    "And: <tool><tool_name>ping</tool_name></tool> done"
)
INPUTS = [{"mode": 420, "path": "a b.py", "text": BODY, "lines": ["one", "two"]}, {}]
TEXT = "I'll write it.\n\nAnd:  done"

WRONG = (
    "<tool><tool_name>write</tool_name><arguments><path>a.py</path><text>all</text><mode>x</mode></arguments></tool>"
)
EMPTY = "<tool><tool_name>write</tool_name><arguments><mode>x</mode></arguments></tool>"
UNKNOWN = "<tool><tool_name>wriet</tool_name><arguments><path>a.py</path></arguments></tool>"
CUT = "<tool><tool_name>write</tool_name><arguments><path>a.py</path><text>half of "

seeds = pytest.mark.parametrize("seed", range(5))


class Server(Player):
    """Answers every request with the same pieces of a body."""

    body: tuple[bytes, ...] = ()
    url = ""

    def choose(self, request: Request, body: bytes) -> Answer:
        """Say the same as ever."""
        return Answer(chunks=[(0.0, piece) for piece in self.body], end_at=0.0)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(speed=0)
    with running(server) as server.url:
        yield server


@pytest.fixture
def openai_client(server: Server) -> Iterator[Any]:
    http = openai.DefaultHttpxClient(trust_env=False)
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, http_client=http) as client:
        yield client


@pytest.fixture
def anthropic_client(server: Server) -> Iterator[Any]:
    http = anthropic.DefaultHttpxClient(trust_env=False)
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, http_client=http) as client:
        yield client


def openai_body(text: str, seed: int, finish_reason: str = "stop", **options: Any) -> tuple[bytes, ...]:
    """The pieces that a server sends while the model writes `text` in random chunks."""
    parser = Parser(TOOLS)
    stream = OpenAIStream(id="chatcmpl-1", model="m", created=1, tools=TOOLS, **options)
    body = [to_sse(stream.feed(parser.feed(chunk))) for chunk in pieces(Random(seed), text, 5)]
    body.append(to_sse(stream.feed(parser.close())))
    body.append(to_sse(stream.close(finish_reason, usage={"prompt_tokens": 1, "completion_tokens": 2})))
    return (*body, SSE_DONE)


def anthropic_body(text: str, seed: int, finish_reason: str = "stop", **options: Any) -> tuple[bytes, ...]:
    parser = Parser(TOOLS)
    stream = AnthropicStream(id="msg_1", model="m", tools=TOOLS, **options)
    body = [to_sse(stream.feed(parser.feed(chunk))) for chunk in pieces(Random(seed), text, 5)]
    body.append(to_sse(stream.feed(parser.close())))
    body.append(to_sse(stream.close(finish_reason, usage={"output_tokens": 2, "input_tokens": 1})))
    return tuple(body)


def summary(events: list[Event]) -> tuple[str, str, list[tuple[str, str, Any]]]:
    """Text, reasoning and calls of the events of a reader."""
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    reasoning = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    calls = [event.call for event in events if isinstance(event, CallCompleted)]
    return text, reasoning, [(call.id, call.name, call.arguments) for call in calls]


# OpenAI


def openai_message(client: Any, **options: Any) -> Any:
    """The message that the client's helper makes of the stream."""
    with client.chat.completions.stream(model="m", messages=MESSAGES, tools=OPENAI_TOOLS, **options) as stream:
        return stream.get_final_completion()


@seeds
def test_openai_assembles_text_and_calls(server: Server, openai_client: Any, seed: int) -> None:
    server.body = openai_body(GOOD, seed, include_usage=True)
    completion = openai_message(openai_client, stream_options={"include_usage": True})
    [choice] = completion.choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", TEXT)
    assert choice.message.role == "assistant"
    assert choice.message.model_extra["reasoning_content"] == "Hm, \u2028 let me see."
    assert [call.function.name for call in choice.message.tool_calls] == ["write", "ping"]
    assert [json.loads(call.function.arguments) for call in choice.message.tool_calls] == INPUTS
    assert completion.usage.completion_tokens == 2


@seeds
def test_openai_says_when_the_arguments_of_each_call_are_done(server: Server, openai_client: Any, seed: int) -> None:
    server.body = openai_body(GOOD, seed)
    with openai_client.chat.completions.stream(model="m", messages=MESSAGES, tools=OPENAI_TOOLS) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
    assert [(event.index, event.name, json.loads(event.arguments)) for event in done] == [
        (0, "write", INPUTS[0]),
        (1, "ping", INPUTS[1]),
    ]


@seeds
def test_openai_chunks_of_the_client_are_read_as_events(server: Server, openai_client: Any, seed: int) -> None:
    server.body = openai_body(GOOD, seed)
    reader, events = OpenAIReader(TOOLS), list[Event]()
    sent = openai_client.chat.completions.create(model="m", messages=MESSAGES, tools=OPENAI_TOOLS, stream=True)
    for chunk in sent:
        events += reader.feed(chunk)
    text, reasoning, calls = summary([*events, *reader.close()])
    assert (text, reasoning) == (TEXT, "Hm, \u2028 let me see.")
    assert [call[1:] for call in calls] == [("write", INPUTS[0]), ("ping", INPUTS[1])]
    assert "".join(event.text for event in events if isinstance(event, ArgumentDelta)) == "a b.py" + BODY


@seeds
@pytest.mark.parametrize(("block", "begun"), [(WRONG, '{"path":"a.py","text":"all'), (EMPTY, "{")])
def test_openai_hands_over_a_failed_call_as_text_that_is_no_json(
    server: Server, openai_client: Any, seed: int, block: str, begun: str
) -> None:
    server.body = openai_body(f"So: {block} Sorry.", seed)
    [choice] = openai_message(openai_client).choices
    assert (choice.finish_reason, choice.message.content) == ("stop", "So:  Sorry.")
    [call] = choice.message.tool_calls
    assert (call.function.name, call.function.arguments) == ("write", begun)
    assert call.function.parsed_arguments is None


@seeds
def test_openai_goes_on_behind_a_failed_call(server: Server, openai_client: Any, seed: int) -> None:
    server.body = openai_body(WRONG + GOOD + UNKNOWN, seed)
    [choice] = openai_message(openai_client).choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", TEXT + UNKNOWN)
    _, *good = choice.message.tool_calls
    assert [json.loads(call.function.arguments) for call in good] == INPUTS


@seeds
def test_openai_raises_for_a_cut_reply_only_in_its_helper(server: Server, openai_client: Any, seed: int) -> None:
    server.body = openai_body(CUT, seed, "length")
    with pytest.raises(openai.LengthFinishReasonError):
        openai_message(openai_client)
    sent = openai_client.chat.completions.create(model="m", messages=MESSAGES, tools=OPENAI_TOOLS, stream=True)
    *_, last = sent
    assert last.choices[0].finish_reason == "length"


def test_openai_raises_for_a_failed_call_of_a_strict_tool_only_in_its_helper(
    server: Server, openai_client: Any
) -> None:
    function = {"name": "write", "strict": True, "parameters": WRITE.parameters}
    server.body = openai_body(WRONG, 1)
    with (
        pytest.raises(json.JSONDecodeError),
        openai_client.chat.completions.stream(
            model="m", messages=MESSAGES, tools=[{"type": "function", "function": function}]
        ) as stream,
    ):
        stream.get_final_completion()


# Anthropic


def anthropic_message(client: Any) -> Any:
    """The message that the client's helper makes of the stream."""
    with client.messages.stream(model="m", max_tokens=9, messages=MESSAGES, tools=ANTHROPIC_TOOLS) as stream:
        return stream.get_final_message()


@seeds
def test_anthropic_assembles_text_and_calls(server: Server, anthropic_client: Any, seed: int) -> None:
    server.body = anthropic_body(GOOD, seed)
    message = anthropic_message(anthropic_client)
    assert message.stop_reason == "tool_use"
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use", "text", "tool_use", "text"]
    assert message.content[0].thinking == "Hm, \u2028 let me see."
    assert "".join(block.text for block in message.content if block.type == "text") == TEXT
    calls = [block for block in message.content if block.type == "tool_use"]
    assert [(block.name, block.input) for block in calls] == [("write", INPUTS[0]), ("ping", INPUTS[1])]
    assert (message.usage.input_tokens, message.usage.output_tokens) == (1, 2)


@seeds
def test_anthropic_events_of_the_client_are_read_as_events(server: Server, anthropic_client: Any, seed: int) -> None:
    server.body = anthropic_body(GOOD, seed)
    reader, events = AnthropicReader(TOOLS), list[Event]()
    with anthropic_client.messages.create(
        model="m", max_tokens=9, messages=MESSAGES, tools=ANTHROPIC_TOOLS, stream=True
    ) as sent:
        for event in sent:
            events += reader.feed(event)
    text, reasoning, calls = summary([*events, *reader.close()])
    assert (text, reasoning) == (TEXT, "Hm, \u2028 let me see.")
    assert [call[1:] for call in calls] == [("write", INPUTS[0]), ("ping", INPUTS[1])]


@seeds
@pytest.mark.parametrize(
    ("block", "reason", "stop_reason", "shown"),
    [
        (WRONG, "stop", "end_turn", {"path": "a.py"}),
        (EMPTY, "stop", "end_turn", {}),
        (CUT, "length", "max_tokens", {"path": "a.py"}),
    ],
)
def test_anthropic_shows_what_was_complete_of_a_failed_call(
    server: Server, anthropic_client: Any, seed: int, block: str, reason: str, stop_reason: str, shown: Any
) -> None:
    server.body = anthropic_body(block, seed, reason)
    message = anthropic_message(anthropic_client)
    assert message.stop_reason == stop_reason
    assert [(block.type, block.input) for block in message.content] == [("tool_use", shown)]


@seeds
def test_anthropic_goes_on_behind_a_failed_call(server: Server, anthropic_client: Any, seed: int) -> None:
    server.body = anthropic_body(WRONG + GOOD + UNKNOWN, seed)
    message = anthropic_message(anthropic_client)
    assert message.stop_reason == "tool_use"
    _, *calls = [block.input for block in message.content if block.type == "tool_use"]
    assert calls == INPUTS
    assert "".join(block.text for block in message.content if block.type == "text") == TEXT + UNKNOWN


# From one kind of stream to the other, through events


@seeds
def test_a_stream_of_one_api_becomes_one_of_the_other(server: Server, anthropic_client: Any, seed: int) -> None:
    reader, stream = OpenAIReader(TOOLS), AnthropicStream(id="msg_1", model="m", tools=TOOLS)
    lines = b"".join(openai_body(GOOD + WRONG, seed)).decode().split("\n\n")
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line and "[DONE]" not in line]
    events = [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()
    assert [type(event) for event in events if isinstance(event, CallStarted | CallFailed)][-2:] == [
        CallStarted,
        CallFailed,
    ]
    server.body = (to_sse(stream.feed(events)), to_sse(stream.close()))
    message = anthropic_message(anthropic_client)
    calls = [block.input for block in message.content if block.type == "tool_use"]
    assert calls == [*INPUTS, {"path": "a.py"}]
