"""What the integrations share: a request with tools becomes messages, and a model's words become pieces of a reply.

The integrations themselves are tried inside their libraries: `tests/agents/test_integrations.py`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from xmltools import XMLToolsError
from xmltools.bridge import Settings
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings, is_about_tools

TOOL = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
}
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Add."}], "tools": [TOOL]}


def call_of(a: Any) -> str:
    return f"<tool>\n<tool_name>add</tool_name>\n<arguments>\n<a>{a}</a>\n</arguments>\n</tool>"


def request(settings: Settings | None = None, **more: Any) -> ToolRequest:
    return ToolRequest({**ASKED, **more}, settings or Settings())


def read(asked: ToolRequest, *replies: str, size: int = 3) -> list[Piece]:
    """Play a stream for each turn."""
    pieces: list[Piece] = []
    for reply in replies:
        for at in range(0, len(reply), size):
            pieces += asked.part({"content": reply[at : at + size]})
            if asked.done:
                break
        pieces += asked.end("stop")
        if not asked.again():
            break
    return pieces


def arguments(pieces: list[Piece]) -> list[Any]:
    return [json.loads(call["function"]["arguments"]) for piece in pieces for call in piece.calls]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_call_is_one_piece_however_the_text_comes(size: int) -> None:
    pieces = read(request(stream=True), f"I add.\n{call_of(1)}\n{call_of(2)}\nSo.", size=size)
    assert arguments(pieces) == [{"a": 1}, {"a": 2}]
    assert "".join(piece.text for piece in pieces).split() == ["I", "add.", "So."]
    assert [piece.finish_reason for piece in pieces if piece.finish_reason] == ["tool_calls"]


def test_whole_replies_say_the_same() -> None:
    piece = request().whole({"content": f"I add.\n{call_of(1)}"}, None)
    assert piece is not None and (piece.text, piece.finish_reason) == ("I add.\n", "tool_calls")
    assert arguments([piece]) == [{"a": 1}]


def test_a_rejected_call_is_sent_back() -> None:
    asked = request(stream=True)
    before = len(asked.messages)
    pieces = read(asked, f"I add.\n{call_of('x')}\nand more", call_of(1))
    assert arguments(pieces) == [{"a": 1}] and asked.failures == []
    assert len(asked.messages) == before + 2
    assert request().whole({"content": call_of("x")}, "stop") is None


def test_one_that_is_rejected_for_good_is_a_failure_and_words() -> None:
    asked = request(stream=True)
    pieces = read(asked, call_of("x"), call_of("y"))
    assert arguments(pieces) == [] and [error.name for error in asked.failures] == ["add"]
    assert "was not made" in "".join(piece.text for piece in pieces)


def test_a_required_call_that_is_missing_is_an_error() -> None:
    with pytest.raises(XMLToolsError, match="did not call a tool"):
        read(request(stream=True, tool_choice="required"), "No.", "No.")
    asked = request(tool_choice="required")
    assert asked.whole({"content": "No."}, "stop") is None
    with pytest.raises(XMLToolsError, match="did not call a tool"):
        asked.whole({"content": "No."}, "stop")


def test_reasons_may_be_in_large_letters() -> None:
    asked = request()
    piece = asked.whole({"content": call_of(1)[:40]}, "MAX_TOKENS")
    assert piece is not None and piece.finish_reason == "length" and len(asked.failures) == 1


def test_results_that_are_errors_are_written_as_such() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    said = [*ASKED["messages"], {"role": "assistant", "tool_calls": [call]}]
    history = [*said, {"role": "tool", "tool_call_id": "c", "content": "no"}]
    for failed, word in (((), "Result: no"), (("c",), "Error: no")):
        asked = ToolRequest({**ASKED, "messages": history}, Settings(), failed_results=failed)
        assert asked.messages[-1]["content"] == f"Tool: add\n{word}"


def test_a_request_is_about_tools_if_it_has_some_or_its_history_has_calls_or_results() -> None:
    user = ASKED["messages"][0]
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    assert is_about_tools(ASKED)
    assert is_about_tools({"messages": [user, {"role": "assistant", "tool_calls": [call]}]})
    assert is_about_tools({"messages": [user, {"role": "tool", "tool_call_id": "c", "content": "1"}]})
    assert not is_about_tools({"messages": [user, {"role": "assistant", "content": "1"}], "tools": []})


def test_where_there_are_tools_the_model_is_not_told_where_to_stop() -> None:
    assert request(stop=["x"]).stop is None
    text = "".join(piece.text for piece in read(request(stop=["B"], stream=True), "A B C"))
    assert text == "A "


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
