"""Conversations: built step by step, looked at, and JSON in and out."""

from __future__ import annotations

import pytest
from hypothesis import given
from pydantic import ValidationError
from support.conversations import conversations

from xmltools.errors import XMLToolsError
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult

CALL = ToolCall(id="c1", name="add", arguments={"a": 2})


def chat() -> Conversation:
    return (
        Conversation()
        .system("Be brief.")
        .user("2 + 2?")
        .assistant("Adding.", [CALL], reasoning="Hm.", finish_reason="tool_calls")
        .tool("c1", content="4")
        .assistant("4")
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"a": 1}, "got dict; use json.dumps()"),
        (5, "got int; use json.dumps()"),
        (None, "got NoneType; use json.dumps()"),
        (b"x", "got bytes; use content.decode(errors='replace')"),
        (["a", "b"], "got a list with str in it; use json.dumps() for data, and join texts"),
        ([Text(text="a"), 5], "got a list with int in it; use json.dumps() for data, and join texts"),
    ],
)
def test_a_result_that_is_no_text_is_refused_in_one_line(content: object, said: str):
    with pytest.raises(ValidationError) as caught:
        ToolResult(call_id="c1", name="add", content=content)
    (problem,) = caught.value.errors()
    expected = f"expected text, or several Text and Media, {said}"
    assert (problem["loc"], problem["msg"]) == (("content",), f"Value error, {expected}")


def test_each_step_makes_a_new_conversation_and_leaves_the_old_one_as_it_was() -> None:
    first = Conversation().user("a")
    second = first.assistant("b")
    assert (len(first), len(second)) == (1, 2)
    assert first.messages == (Message(role="user", parts=(Text(text="a"),)),)
    with pytest.raises(ValueError, match="frozen"):
        second.messages = ()  # type: ignore[misc]


def test_what_was_built() -> None:
    built = chat()
    assert [message.role for message in built] == ["system", "user", "assistant", "tool", "assistant"]
    assert built[2].parts == (Reasoning(text="Hm."), Text(text="Adding."), CALL)
    assert (built[2].text, built[2].reasoning, built[2].calls, built[2].finish_reason) == (
        "Adding.",
        "Hm.",
        (CALL,),
        "tool_calls",
    )
    assert built[3].results == (ToolResult(call_id="c1", name="add", content="4"),)


def test_accessors_and_filters() -> None:
    built = chat()
    assert (built.last, built.last_text) == (Message.assistant("4"), "4")
    assert (Conversation().last, Conversation().last_text) == (None, "")
    assert [len(each) for each in (built.system_messages, built.user_messages)] == [1, 1]
    assert [len(each) for each in (built.assistant_messages, built.tool_messages)] == [2, 1]
    assert built.by_role("user", "tool") == Conversation(messages=(built[1], built[3]))
    assert built[1:3].messages == built.messages[1:3]
    assert built.concat(built[:1]).messages == (*built.messages, built[0])
    assert (built.calls, built.open_calls, built[:3].open_calls) == ((CALL,), (), (CALL,))
    assert built.find_call("c1") == CALL
    assert built.find_result("c1") == built[3].results[0]
    assert (built.find_call("c2"), built.find_result("c2")) == (None, None)


def test_predicates() -> None:
    built = chat()
    assert [message.is_system for message in built] == [True, False, False, False, False]
    assert [message.is_user for message in built] == [False, True, False, False, False]
    assert [message.is_assistant for message in built] == [False, False, True, False, True]
    assert [message.is_tool for message in built] == [False, False, False, True, False]
    assert [message.is_text for message in built] == [True, True, False, False, True]
    assert [message.is_tool_call for message in built] == [False, False, True, False, False]
    assert [message.is_tool_result for message in built] == [False, False, False, True, False]
    assert (built[2].is_tool_stop, built[2].is_stopped, built[4].is_tool_stop) == (True, False, False)
    assert Message.assistant("x", finish_reason="stop").is_stopped
    assert Message.assistant("").is_empty
    assert not Message.user((Media(media_type="image/png", url="https://e.x/a.png"),)).is_empty


def test_a_result_without_a_name_has_that_of_its_call() -> None:
    with pytest.raises(XMLToolsError, match="no call with the id 'c9'"):
        chat().tool("c9", content="4")


def test_one_call_and_one_result_may_stand_for_themselves() -> None:
    result = ToolResult(call_id="c1", name="add", content="4")
    assert Conversation().assistant("", CALL).tool(result) == Conversation().assistant("", [CALL]).tool("c1", None, "4")


def test_only_messages_are_added() -> None:
    with pytest.raises(XMLToolsError, match=r"expected xmltools\.Message, got dict"):
        Conversation().add({"role": "user"})  # type: ignore[arg-type]


@given(conversations())
def test_json_and_back(said: Conversation) -> None:
    assert Conversation.from_json(said.to_json()).model_dump() == said.model_dump()


def test_lone_surrogates_survive_in_json() -> None:
    odd = Conversation().user("\ud800 x")
    assert Conversation.from_json(odd.to_json()) == odd


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "at the whole: Invalid JSON"),
        ('{"messages": [{"role": "boss"}]}', r"at messages\.0\.role"),
        ('{"messages": [{"role": "user", "parts": [{"type": "text", "text": "\\ud800"}], "x": 1}]}', r"messages\.0\.x"),
        ("[" * 100_000, "at the whole"),
    ],
)
def test_what_is_no_conversation(text: str, message: str) -> None:
    with pytest.raises(XMLToolsError, match=message):
        Conversation.from_json(text)


def test_calls_of_two_conversations_that_share_an_id_are_told_apart() -> None:
    said = Conversation().assistant("", [ToolCall(id="c", name="f"), ToolCall(id="d", name="f")]).tool("c", content="1")
    twice = said.concat(said)
    assert [call.id for call in twice.calls] == ["c", "d", "c_2", "d_2"]
    assert [result.call_id for result in twice.results] == ["c", "c_2"]
    assert [call.id for call in twice.concat(said).calls][4:] == ["c_3", "d_3"]
    rest = Conversation().tool("d", "f", "of the first").assistant("", [ToolCall(id="d", name="f")]).tool("d", "f", "2")
    assert [result.call_id for result in said.concat(rest).results] == ["c", "d", "d_2"]
    assert said.concat(Conversation().user("Hi")).messages[:2] == said.messages
    with pytest.raises(XMLToolsError, match=r"expected xmltools.Conversation, got list"):
        said.concat([])  # type: ignore[arg-type]
