"""The plugins inside vLLM and SGLang: what a client of their servers gets. `make plugins` runs these tests."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from support import engine_servers
from support.engine_servers import SERVERS, Answer, Server

engine_servers.load()

HERMES = "xmltools_hermes"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}},
            "required": ["city"],
        },
    },
}
WRITE = {
    "type": "function",
    "function": {
        "name": "write",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}
TOOLS = [WEATHER, WRITE]


def call(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


OSLO, NICE = call("weather", city="Oslo", days=3), call("weather", city="Nice")


def cuts(text: str) -> list[list[str]]:
    """The text whole, by one, by three, and in random pieces."""
    found = [[text], *([text[at : at + size] for at in range(0, len(text), size)] for size in (1, 3))]
    pick, pieces = random.Random(7), []
    while text:
        size = pick.randint(1, 20)
        pieces.append(text[:size])
        text = text[size:]
    return [*found, pieces]


@pytest.fixture(params=SERVERS)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(engine: str) -> Server:
    return SERVERS[engine](HERMES, HERMES)


def everyway(server: Server, text: str, **fields: Any) -> Answer:
    """The answer to a request without a stream. In streams it is the same, however the text is cut."""
    whole = server.ask([[text]], stream=False, **fields)
    for pieces in cuts(text):
        streamed = server.ask([pieces], stream=True, **fields)
        assert not streamed.error
        for one, other in zip(streamed.choices, whole.choices, strict=True):
            assert [one.content, one.reasoning, one.finish] == [other.content, other.reasoning, other.finish]
            assert [each["name"] for each in one.calls] == [each["name"] for each in other.calls]
            assert one.arguments == other.arguments
    return whole


def test_a_call_between_texts(server: Server) -> None:
    answer = everyway(server, f"Let me look.\n{OSLO}\nDone.", tools=TOOLS).only
    assert answer.arguments == [{"city": "Oslo", "days": 3}]
    assert (answer.content, answer.finish) == ("Let me look.Done.", "tool_calls")


def test_several_calls(server: Server) -> None:
    answer = everyway(server, f"{OSLO}\n{NICE}\n{call('write', text='a')}", tools=TOOLS).only
    assert [each["name"] for each in answer.calls] == ["weather", "weather", "write"]
    assert answer.arguments == [{"city": "Oslo", "days": 3}, {"city": "Nice"}, {"text": "a"}]
    assert len({each["id"] for each in answer.calls}) == 3


def test_arguments_stream_while_the_model_writes_them(server: Server) -> None:
    text = "word " * 20
    answer = server.ask([list(call("write", text=text))], stream=True, tools=TOOLS).only
    assert answer.arguments == [{"text": text}]
    assert len([piece for piece in answer.pieces if piece]) > 70


def test_a_whole_call_is_sent_at_once(engine: str) -> None:
    server = SERVERS[engine](f"{HERMES}_whole", HERMES)
    answer = server.ask([list(f"a\n{OSLO}\nb")], stream=True, tools=TOOLS).only
    assert [piece for piece in answer.pieces if piece] == ['{"city":"Oslo","days":3}']
    assert (answer.content, answer.finish) == ("ab", "tool_calls")


def test_reasoning_before_a_call(server: Server) -> None:
    answer = everyway(server, f"<think>\nOslo <b>?\n</think>\n\nYes.\n{OSLO}", tools=TOOLS).only
    assert (answer.reasoning, answer.content) == ("Oslo <b>?", "Yes.")
    assert answer.arguments == [{"city": "Oslo", "days": 3}]


def test_reasoning_that_the_prompt_has_opened(server: Server) -> None:
    answer = everyway(server, f"Oslo?\n</think>\n\n{OSLO}", prompt="<think>\n", tools=TOOLS).only
    assert (answer.reasoning, answer.content) == ("Oslo?", "")
    assert answer.arguments == [{"city": "Oslo", "days": 3}]


def test_a_call_ends_open_reasoning(server: Server) -> None:
    answer = everyway(server, f"<think>\nOslo.\n{OSLO}", tools=TOOLS).only
    assert (answer.reasoning, answer.arguments) == ("Oslo.", [{"city": "Oslo", "days": 3}])
    answer = everyway(server, f"<think>\nOslo.\n{OSLO}\n{NICE}<|im_end|>", tools=TOOLS).only
    assert (answer.content, answer.arguments) == ("", [{"city": "Oslo", "days": 3}, {"city": "Nice"}])
    answer = everyway(server, f"<think>\nOslo.\n{OSLO}\nOr Nice.", tools=TOOLS).only
    assert (answer.reasoning, answer.calls) == (f"Oslo.\n{OSLO}\nOr Nice.", [])
    assert everyway(server, f"<think>\nOslo.\n{OSLO}").only.calls == []


def test_reasoning_that_is_cut_off(server: Server) -> None:
    answer = everyway(server, "<think>\nOslo, or", finish="length", tools=TOOLS).only
    assert (answer.reasoning, answer.content, answer.calls) == ("Oslo, or", "", [])


def test_without_tools_nothing_is_a_call(server: Server) -> None:
    answer = everyway(server, f"<think>hm</think>\n\nWrite {OSLO} so.").only
    assert (answer.reasoning, answer.content, answer.calls) == ("hm", f"Write {OSLO} so.", [])


def test_tool_choice_none(server: Server) -> None:
    answer = everyway(server, f"Write {OSLO} so.", tools=TOOLS, tool_choice="none").only
    assert (answer.content, answer.calls, answer.finish) == (f"Write {OSLO} so.", [], "stop")


def test_a_call_that_is_required(server: Server) -> None:
    assert everyway(server, OSLO, tools=TOOLS, tool_choice="required").only.arguments == [{"city": "Oslo", "days": 3}]
    answer = everyway(server, "I will not.", tools=TOOLS, tool_choice="required").only
    assert (answer.content, answer.calls, answer.finish) == ("I will not.", [], "stop")


def test_a_named_tool(server: Server) -> None:
    choice = {"type": "function", "function": {"name": "weather"}}
    assert everyway(server, OSLO, tools=TOOLS, tool_choice=choice).only.arguments == [{"city": "Oslo", "days": 3}]
    other = everyway(server, call("write", text="a"), tools=TOOLS, tool_choice=choice).only
    assert other.calls == []
    assert other.content == "The call of write was not made: there is no tool named 'write'."


def test_one_call_only(engine: str) -> None:
    if engine == "sglang":
        pytest.skip("SGLang has the grammar alone for it")
    server = SERVERS[engine](HERMES, HERMES)
    answer = server.ask([list(OSLO + NICE)], stream=True, tools=TOOLS, parallel_tool_calls=False).only
    assert answer.arguments == [{"city": "Oslo", "days": 3}]


def test_an_unknown_tool(server: Server) -> None:
    answer = everyway(server, f"So: {call('wether', city='Oslo')}", tools=TOOLS).only
    assert (answer.calls, answer.finish) == ([], "stop")
    assert answer.content == "So:\n\nThe call of wether was not made: there is no tool named 'wether'."


WRONG = {
    "a wrong value": call("weather", city="Oslo", days="many"),
    "no value": call("weather", days=3),
    "no JSON": '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo", "days": three}}\n</tool_call>',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_not_run(engine: str, text: str) -> None:
    """Not in streams either: they end with an error, and the arguments are those of no call."""
    for name in (HERMES, f"{HERMES}_whole"):
        server = SERVERS[engine](name, HERMES)
        answer = server.ask([[text]], stream=False, tools=TOOLS).only
        assert (answer.calls, answer.finish) == ([], "stop")
        assert answer.content.startswith("The call of weather was not made: ")
        for pieces in cuts(f"{text}\nMore."):
            streamed = server.ask([pieces], stream=True, tools=TOOLS)
            if name.endswith("_whole"):
                assert (streamed.only.calls, streamed.error) == ([], "")
                assert streamed.only.content == f"{answer.content}More."
            else:
                assert "The call of weather was not made: " in streamed.error
                assert_unusable(streamed)


def assert_unusable(answer: Answer) -> None:
    assert answer.only.finish is None
    for each in answer.only.calls:
        with pytest.raises(ValueError):
            json.loads(each["arguments"])


def test_a_call_that_is_cut_off(engine: str) -> None:
    text = f"{OSLO}\n{NICE[:-30]}"
    for name in (HERMES, f"{HERMES}_whole"):
        server = SERVERS[engine](name, HERMES)
        answer = server.ask([[text]], stream=False, finish="length", tools=TOOLS).only
        assert (answer.arguments, answer.content, answer.finish) == ([{"city": "Oslo", "days": 3}], "", "length")
        for pieces in cuts(text):
            streamed = server.ask([pieces], stream=True, finish="length", tools=TOOLS)
            assert json.loads(streamed.only.calls[0]["arguments"]) == {"city": "Oslo", "days": 3}
            if name.endswith("_whole"):
                assert (len(streamed.only.calls), streamed.only.finish, streamed.error) == (1, "length", "")
            else:
                assert streamed.error == "" or "cut off" in streamed.error
                for each in streamed.only.calls[1:]:
                    with pytest.raises(ValueError):
                        json.loads(each["arguments"])


def test_choices_do_not_mix(server: Server) -> None:
    replies = [OSLO, f"<think>a</think>\n\n{call('write', text='b')}", "no call"]
    whole = server.ask([[text] for text in replies], stream=False, tools=TOOLS)
    streamed = server.ask([list(text) for text in replies], stream=True, tools=TOOLS)
    for answer in (whole, streamed):
        assert [each.arguments for each in answer.choices] == [[{"city": "Oslo", "days": 3}], [{"text": "b"}], []]
        assert [each.reasoning for each in answer.choices] == ["", "a", ""]
        assert [each.content for each in answer.choices] == ["", "", "no call"]


def test_special_tokens_stay_where_calls_are_looked_for() -> None:
    vllm, sglang = SERVERS["vllm"](HERMES, None), SERVERS["sglang"](HERMES, None)
    assert vllm.adjusted(tools=TOOLS).skip_special_tokens is False  # type: ignore[attr-defined]
    assert vllm.adjusted().skip_special_tokens is not False  # type: ignore[attr-defined]
    assert sglang.processed(tools=TOOLS).skip_special_tokens is False  # type: ignore[attr-defined]
    assert sglang.processed().skip_special_tokens is True  # type: ignore[attr-defined]


def test_special_tokens_stay_where_reasoning_is_looked_for() -> None:
    vllm, sglang = SERVERS["vllm"](HERMES, HERMES), SERVERS["sglang"](HERMES, HERMES)
    assert vllm.adjusted().skip_special_tokens is False  # type: ignore[attr-defined]
    assert sglang.processed().skip_special_tokens is False  # type: ignore[attr-defined]


OWN_REASONING = {"vllm": ("qwen3", "deepseek_r1"), "sglang": ("qwen3", "deepseek-r1")}


def test_the_reasoning_parser_of_the_engine_before_ours(engine: str) -> None:
    for reasoning in OWN_REASONING[engine]:
        server = SERVERS[engine](HERMES, reasoning)
        text = f"<think>\nOslo?\n</think>\n\nYes.\n{OSLO}"
        for stream, pieces in ((False, [text]), (True, server.tokens.pieces(text))):
            answer = server.ask([pieces], stream=stream, tools=TOOLS).only
            assert (answer.reasoning.strip(), answer.content.strip()) == ("Oslo?", "Yes.")
            assert answer.arguments == [{"city": "Oslo", "days": 3}]


def test_our_reasoning_parser_before_the_tool_parser_of_the_engine(engine: str) -> None:
    server = SERVERS[engine]("hermes", HERMES)
    text = f"<think>\nOslo?\n</think>\n\n{OSLO}"
    for stream, pieces in ((False, [text]), (True, server.tokens.pieces(text))):
        answer = server.ask([pieces], stream=stream, tools=TOOLS).only
        assert (answer.reasoning, answer.content.strip()) == ("Oslo?", "")
        assert answer.arguments == [{"city": "Oslo", "days": 3}]


def test_without_a_reasoning_parser_reasoning_is_text(engine: str) -> None:
    """With no rule that a call ends it, as in Forge's dialect, a call in it is none."""
    text = f"<think>Shall I <b>?</think>\n\nYes.\n{OSLO}"
    answer = everyway(SERVERS[engine](HERMES), text, tools=TOOLS).only
    assert (answer.reasoning, answer.content) == ("", "<think>Shall I <b>?</think>Yes.")
    draft = "<tool><tool_name>weather</tool_name><arguments><city>Oslo</city></arguments></tool>"
    answer = everyway(SERVERS[engine]("xmltools_forge"), f"<think>Or {draft}?</think>No.", tools=TOOLS).only
    assert (answer.content, answer.calls) == (f"<think>Or {draft}?</think>No.", [])
