"""What the integrations share: a request with tools becomes messages, and a model's words become pieces of a reply.

The integrations themselves are tried inside their libraries: `tests/agents/test_integrations.py`.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from xmltools import XMLToolsError
from xmltools.bridge import Settings
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings, is_about_tools
from xmltools.proxy.bridge import AddedFields

TOOL = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
}
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Add."}], "tools": [TOOL]}


def call_of(a: Any) -> str:
    return f"<tool>\n<tool_name>add</tool_name>\n<arguments>\n<a>{a}</a>\n</arguments>\n</tool>"


def request(settings: Settings | None = None, **more: Any) -> ToolRequest:
    return ToolRequest({**ASKED, **more}, settings or Settings())


def read(make: Callable[[], ToolRequest], *replies: str, size: int = 3) -> tuple[ToolRequest, list[Piece]]:
    """Play a reply for each turn, in parts if it is to stream: for both ways to wait, which must give the same."""
    asked, asked_later = make(), make()
    turns, turns_later = iter(replies), iter(replies)

    def parts(reply: str) -> list[Any]:
        return [{"content": reply[at : at + size]} for at in range(0, len(reply), size)]

    def ask(**_: Any) -> Any:
        reply = next(turns)
        return (part for part in parts(reply)) if asked.streams else {"content": reply}

    async def ask_later(**_: Any) -> Any:
        reply = next(turns_later)
        return streamed(parts(reply)) if asked.streams else {"content": reply}

    async def streamed(said: list[Any]) -> AsyncIterator[Any]:
        for part in said:
            yield part

    async def pieces_later() -> list[Piece]:
        return [piece async for piece in asked_later.run_later(ask_later)]

    try:
        pieces = list(asked.run(ask))
    except XMLToolsError as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            asyncio.run(pieces_later())
        raise
    without_ids = [without_id(piece) for piece in pieces]
    assert [without_id(piece) for piece in asyncio.run(pieces_later())] == without_ids
    return asked, pieces


def without_id(piece: Piece) -> Piece:
    return piece._replace(calls=[{**call, "id": ""} for call in piece.calls])


def arguments(pieces: list[Piece]) -> list[Any]:
    return [json.loads(call["function"]["arguments"]) for piece in pieces for call in piece.calls]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_call_is_one_piece_however_the_text_comes(size: int) -> None:
    _, pieces = read(lambda: request(stream=True), f"I add.\n{call_of(1)}\n{call_of(2)}\nSo.", size=size)
    assert arguments(pieces) == [{"a": 1}, {"a": 2}]
    assert "".join(piece.text for piece in pieces).split() == ["I", "add.", "So."]
    assert [piece.finish_reason for piece in pieces if piece.finish_reason] == ["tool_calls"]
    assert pieces[-1].finish_reason


def test_a_whole_reply_is_one_piece_that_says_the_same() -> None:
    _, (piece,) = read(request, f"I add.\n{call_of('x')}", f"{call_of(1)}\n{call_of(2)}")
    assert (piece.text.strip(), piece.finish_reason) == ("I add.", "tool_calls")
    assert arguments([piece]) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_rejected_call_is_sent_back(stream: bool) -> None:
    before = len(request().asked["messages"])
    asked, pieces = read(lambda: request(stream=stream), f"I add.\n{call_of('x')}\nand more", call_of(1))
    assert arguments(pieces) == [{"a": 1}] and asked.failed_calls == {}
    assert len(asked.asked["messages"]) == before + 2


@pytest.mark.parametrize("stream", [False, True])
def test_one_that_is_rejected_for_good_is_a_failure_and_words(stream: bool) -> None:
    asked, pieces = read(lambda: request(stream=stream), call_of("x"), call_of("y"))
    assert arguments(pieces) == []
    assert [each["name"] for each in asked.failed_calls["failed_calls"]] == ["add"]
    assert "was not made" in "".join(piece.text for piece in pieces)


@pytest.mark.parametrize("stream", [False, True])
def test_a_required_call_that_is_missing_is_an_error(stream: bool) -> None:
    with pytest.raises(XMLToolsError, match="did not call a tool"):
        read(lambda: request(stream=stream, tool_choice="required"), "No.", "No.")


def test_reasons_may_be_in_large_letters() -> None:
    asked = request()
    asked.reason = "MAX_TOKENS"
    (piece,) = asked.run(lambda **_: {"content": call_of(1)[:40]})
    assert piece.finish_reason == "length" and len(asked.failed_calls) == 1


@pytest.mark.parametrize("how", [{"parallel_tool_calls": False}, {"stop": ["So"]}])
def test_a_stream_that_is_cut_short_here_says_why_it_ended_with_the_usage(how: dict[str, Any]) -> None:
    class Counted(ToolRequest):
        def read(self, said: Any) -> Any:
            self.usage = said.pop("usage", None)
            return said

    asked = Counted({**ASKED, "stream": True, **how}, Settings())
    last = {"content": "\nSo be it.", "usage": {"total_tokens": 8}}
    *_, piece = asked.run(lambda **_: (part for part in [{"content": call_of(1)}, last]))
    assert piece.finish_reason == "tool_calls" and asked.exchange.stats.usage == {"total_tokens": 8}


def test_reasoning_goes_back_to_a_model_object_that_reasons() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    history: list[Any] = [
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "1"},
    ]
    added = AddedFields()

    def asked(added: AddedFields | None) -> str:
        content = ToolRequest({**ASKED, "messages": history}, Settings(), (), added).asked["messages"][2]["content"]
        return str(content)

    assert "Hm." not in asked(added)
    read(lambda: ToolRequest(ASKED, Settings(), (), added), f"<think>So.</think>{call_of(1)}")
    assert asked(added).startswith("<think>Hm.</think>")
    assert "Hm." not in asked(None) and "Hm." not in asked(pickle.loads(pickle.dumps(added)))


def test_a_request_that_is_not_about_tools_is_passed_on() -> None:
    plain = {"messages": ASKED["messages"], "stream": True}
    asked = ToolRequest(plain, Settings())
    said = [{"content": call_of(1)}, {"content": "more"}]
    assert asked.plain and asked.failed_calls == {}
    assert list(asked.run(lambda **_: (part for part in said)))[:2] == said


def test_results_that_are_errors_are_written_as_such() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    said = [*ASKED["messages"], {"role": "assistant", "tool_calls": [call]}]
    history = [*said, {"role": "tool", "tool_call_id": "c", "content": "no"}]
    for failed, word in (((), "Result: no"), (("c",), "Error: no")):
        asked = ToolRequest({**ASKED, "messages": history}, Settings(), failed)
        assert asked.asked["messages"][-1]["content"] == f"Tool: add\n{word}"


def test_a_request_is_about_tools_if_it_has_some_or_its_history_has_calls_or_results() -> None:
    user = ASKED["messages"][0]
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assert is_about_tools(ASKED)
    assert is_about_tools({"messages": [user, {"role": "assistant", "tool_calls": [call]}]})
    assert is_about_tools({"messages": [user, {"role": "tool", "tool_call_id": "c", "content": "1"}]})
    assert not is_about_tools({"messages": [user, {"role": "assistant", "content": "1"}], "tools": []})


def test_where_there_are_tools_the_model_is_not_told_where_to_stop() -> None:
    assert "stop" not in request(stop=["x"]).asked
    _, pieces = read(lambda: request(stop=["B"], stream=True), "A B C")
    assert "".join(piece.text for piece in pieces) == "A "


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"tools": [{"type": "web_search"}]}, "give a function that does it"),
        ({"n": 2}, "n: with tools there is one reply at a time"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
    ],
)
def test_what_cannot_be_honoured_is_refused(more: dict[str, Any], why: str) -> None:
    with pytest.raises(XMLToolsError, match=why):
        request(**more)


@pytest.mark.parametrize(
    "settings", [Settings(prompt="upstream"), Settings(engine="vllm"), Settings(result_role="tool")]
)
def test_settings_for_servers_are_refused(settings: Settings) -> None:
    with pytest.raises(XMLToolsError, match="is for a server"):
        check_settings(settings)
    assert check_settings(Settings(dialect="hermes")) == Settings(dialect="hermes")
    assert check_settings(None) == Settings()
