"""Wolo: what it stores, there and back; what it sends; what it reads from a stream."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversations
from support.seed_cases import cases

from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import convert, holds, wolo
from xmltools.formats import dump as dump_as
from xmltools.formats import load as load_as
from xmltools.formats.shared.losses import Report, losses
from xmltools.formats.wolo import (
    HOLDS,
    EventFolder,
    complete,
    dump,
    fold_events,
    inject_system,
    llm_tool_call,
    load,
    opencode_headers,
    recognise,
    rename_agent,
    to_llm_messages,
)
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult


def read(obj: Any) -> Conversation:
    """What is read without an issue."""
    return load(obj, Report(strict=True))


def write(conversation: Conversation, report: Report | None = None, **options: Any) -> Any:
    return dump(conversation, report or Report(strict=True), **options)


def reply(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "parts": list(parts), **fields}


def tool(**fields: Any) -> dict[str, Any]:
    return {"type": "tool", "id": "c", "tool": "read", "input": {}, "output": "", "status": "pending", **fields}


def codes(conversation: Conversation) -> list[str]:
    report = Report()
    dump(conversation, report)
    return [issue.code for issue in report.issues]


def spelled(value: Any) -> str:
    return json.dumps(value)


# The documents


@pytest.mark.parametrize("case", cases("wolo", "to_openai"))
def test_the_api_gets_what_the_document_says(case: dict[str, Any]) -> None:
    assert spelled(to_llm_messages(case["input"])) == spelled(case["expect"])
    assert to_llm_messages(read(case["input"])) == case["expect"]


@pytest.mark.parametrize("case", cases("wolo", "to_openai"))
def test_the_documents_messages_are_written_as_they_were(case: dict[str, Any]) -> None:
    assert spelled(write(read(case["input"]))) == spelled(case["input"])


@pytest.mark.parametrize("case", cases("wolo", "tool_call_payload"))
def test_a_call_is_spelled_as_the_document_says(case: dict[str, Any]) -> None:
    given = case["input"]
    call = ToolCall(id=given["id"], name=given["name"], arguments=given["input"])
    assert spelled(llm_tool_call(call)) == spelled(case["expect"])


@pytest.mark.parametrize("case", cases("wolo", "inject_system"))
def test_the_system_prompt_comes_first_if_there_is_none(case: dict[str, Any]) -> None:
    assert inject_system(**case["input"]) == case["expect"]


@pytest.mark.parametrize("case", cases("wolo", "rename_agent"))
def test_the_agent_gets_the_display_name(case: dict[str, Any]) -> None:
    assert rename_agent(**case["input"]) == case["expect"]["text"]


@pytest.mark.parametrize("case", cases("wolo", "headers"))
def test_headers_are_those_of_the_document(case: dict[str, Any]) -> None:
    assert opencode_headers(**case["input"]) == case["expect"]


@pytest.mark.parametrize("case", cases("wolo", "fold_events"))
def test_events_make_the_message_of_the_document(case: dict[str, Any]) -> None:
    (written,) = write(Conversation(messages=(fold_events(case["input"]),)))
    expected = dict(case["expect"])
    parts = expected.pop("parts")
    assert [{key: part[key] for key in wanted} for part, wanted in zip(written["parts"], parts, strict=True)] == parts
    assert {key: written[key] for key in expected} == expected


def test_every_seed_case_of_wolo_is_run() -> None:
    run = {"to_openai", "tool_call_payload", "inject_system", "rename_agent", "headers", "fold_events"}
    assert {case.values[0]["kind"] for case in cases("wolo")} == run | {"stored", "transition"}


# There and back


@given(conversations(HOLDS))
def test_what_wolo_holds_is_kept_exactly(conversation: Conversation) -> None:
    assert not list(losses(conversation, "wolo", HOLDS))
    conversation = complete(conversation, now=5.0, new_id=counted())
    written = write(conversation)
    again = read(json.loads(spelled(written)))
    assert again == conversation
    assert again.model_dump() == conversation.model_dump()  # status and times too, which are no part of equality
    assert spelled(write(again)) == spelled(written)


@given(conversations(HOLDS))
def test_without_completion_nothing_is_added(conversation: Conversation) -> None:
    written = dump(conversation, Report(strict=True), complete=False)
    assert [message.model_copy(update={"extra": {}}) for message in read(written)] == list(conversation)
    assert spelled(write(read(written))) == spelled(written)


@given(conversations(HOLDS, grouped=True))
def test_results_of_one_message_get_messages_of_their_own(conversation: Conversation) -> None:
    again = read(write(conversation))
    assert [len(message.results) for message in again if message.is_tool] == [1] * len(conversation.results)
    assert again.results == conversation.results


STORED = [
    {"id": "m1", "role": "user", "parts": [{"id": "p1", "type": "text", "text": "a\ud800"}], "timestamp": 5},
    {"parts": [{"text": "", "type": "text", "more": 1}], "role": "system"},
    {"role": "assistant", "parts": [], "timestamp": None, "id": None, "metadata": None, "finished": False},
    {"role": "assistant", "parts": [tool(status="running", output="so far", metadata={"a": 1})]},
    {"role": "assistant", "parts": [tool(status="completed", output="x", metadata={}, start_time=0, end_time=2)]},
    {"role": "assistant", "parts": [tool(status="error", output="boom"), tool(id="d", status="interrupted")]},
    {"role": "assistant", "parts": [{"type": "tool", "tool": "f"}, {"type": "text", "text": "behind"}]},
    {"role": "assistant", "parts": [{"text": "no type"}, {"tool": "f", "input": {"a": 1}, "status": "pending"}]},
    {"role": "assistant", "parts": [{"text": "t", "type": ""}, {"type": None, "tool": "f", "output": "x"}]},
    {"role": "assistant", "parts": [tool(status="completed", start_time=10**400)]},
    {"role": "assistant", "parts": [tool(input=None), tool(id="d", input='{"a":  1}')]},
    {"role": "assistant", "parts": [], "finish_reason": "doom_loop", "unknown": {"b": [1]}, "reasoning_content": "t"},
    {"role": "assistant", "parts": [tool(status="completed", metadata={"result_message": {"id": 5}, "b": 1})]},
]


@pytest.mark.parametrize("message", STORED, ids=range(len(STORED)))
def test_a_stored_message_is_written_as_it_was(message: dict[str, Any]) -> None:
    assert spelled(write(read([message]))) == spelled([message])


WHOLE = [
    {"messages": []},
    {"id": "s", "messages": STORED},
    {"metadata": {}, "messages": []},
    {"messages": [], "metadata": {"a": 1}},
]


@pytest.mark.parametrize("whole", WHOLE, ids=range(len(WHOLE)))
def test_an_object_with_messages_is_written_as_it_was(whole: dict[str, Any]) -> None:
    assert spelled(write(read(whole))) == spelled(whole)


def test_a_spelling_that_says_something_else_by_now_is_not_written_again() -> None:
    (message,) = read([reply(tool(status="error", input='{"a":1}', output="x"))])[:1]
    call = message.calls[0].model_copy(update={"arguments": {"a": 2}})
    done = ToolResult(call_id="c", name="read", content="fine")
    changed = (message.model_copy(update={"parts": (call,)}), Message(role="tool", parts=(done,)))
    (part,) = write(Conversation(messages=changed))[0]["parts"]
    assert (part["input"], part["status"], part["output"]) == ({"a": 2}, "completed", "fine")


def test_the_types_are_those_of_what_is_written() -> None:
    """The document's "Core Data Types" and "Message Container"."""
    (message, _) = write(Conversation().assistant("t", [CALL.model_copy(update={"status": "pending"})]).user("u"))
    text, part = message["parts"]
    for written, type in ((message, wolo.Message), (text, wolo.TextPart), ({**part, "metadata": {}}, wolo.ToolPart)):
        assert list(written) == list(get_type_hints(type))
        assert type.__required_keys__ <= written.keys()


def counted() -> Callable[[], str]:
    """What makes the ids m1, m2, …"""
    return map("m{}".format, count(1)).__next__


@pytest.mark.parametrize("case", cases("wolo", "stored"))
def test_messages_from_elsewhere_get_what_the_document_asks_for(case: dict[str, Any]) -> None:
    """The document: `id: str  # Unique message ID`, `timestamp: float  # Creation timestamp`, and of parts `id: str  #
    Unique identifier`."""
    said = load_as(case["input"], case["format"], strict=True)
    assert dump_as(said, "wolo", strict=True, now=case["now"], new_id=counted()) == case["expect"]


@given(conversations(replace(HOLDS, message_ids=False, created_at=False)))
def test_what_is_made_is_unique_and_of_now(conversation: Conversation) -> None:
    before = time.time()
    written = write(conversation)
    messages = written if isinstance(written, list) else written["messages"]
    ids = [message["id"] for message in messages]
    ids += [part["id"] for message in messages for part in message["parts"]]
    assert len(set(ids)) == len(ids)
    assert all(before <= message["timestamp"] <= time.time() for message in messages)
    assert spelled(write(read(written))) == spelled(written)


def test_ids_and_times_that_are_there_stay() -> None:
    said = Conversation().user("a", id="m1").assistant("b", created_at=1.0).user("c", id="", created_at=0.0)
    made = complete(said, now=5, new_id=counted())
    assert [(message.id, message.created_at) for message in made] == [("m1", 5.0), ("m2", 1.0), ("", 0.0)]
    assert complete(made) == made


def test_only_what_was_not_stored_before_is_completed_by_dump() -> None:
    stored = reply({"type": "text", "text": "t"})
    full = {"finished": True, "finish_reason": "", "reasoning_content": "", "metadata": {}}
    for messages in ([stored], [{**stored, **full}], [{**stored, **full, "id": None, "timestamp": None}]):
        said = read(messages)
        assert spelled(write(said)) == spelled(messages)
        (first, second) = dump(said.user("u"), Report(), now=5, new_id=counted())
        assert (spelled(first), second["id"], second["timestamp"]) == (spelled(messages[0]), "m1", 5.0)
        (made,) = write(complete(said, now=5, new_id=counted()))
        assert (made["id"], made["timestamp"]) == ("m1", 5.0)


def test_what_makes_no_ids_and_what_is_no_time_is_refused() -> None:
    said = Conversation().user("a").assistant("b")
    with pytest.raises(XMLToolsError, match="new_id: expected another id each time, got 'x' again"):
        complete(said, new_id=lambda: "x")
    with pytest.raises(XMLToolsError, match="new_id: expected text, got a number"):
        dump_as(said, "wolo", new_id=lambda: 5)
    for now in ("now", True, math.nan, math.inf, 10**400):
        with pytest.raises(XMLToolsError, match="now: expected seconds since 1970 as a number, got"):
            complete(said, now=now)  # type: ignore[arg-type]


def test_a_field_that_was_left_out_comes_when_it_says_something() -> None:
    (message,) = read([reply()])
    (written,) = write(Conversation(messages=(message.model_copy(update={"finish_reason": "length"}),)))
    assert written == {"role": "assistant", "parts": [], "finish_reason": "length"}


@pytest.mark.parametrize(("fields", "finished"), [({"finished": False}, False), ({"finished": True}, True), ({}, True)])
def test_it_is_known_whether_a_message_is_finished(fields: dict[str, Any], finished: bool) -> None:
    """The document: `finished: bool = False  # Completion status`; what is stored without it is a whole message."""
    stored = [reply({"type": "text", "text": "t"}, **fields)]
    (message,) = read(stored)
    assert message.finished is finished
    assert spelled(write(Conversation(messages=(message,)))) == spelled(stored)
    (again,) = write(Conversation(messages=(message.model_copy(update={"finished": not finished}),)))
    assert again["finished"] is not finished
    issues: list[Issue] = []
    convert(stored, "wolo", "openai", issues=issues)
    assert [issue.code for issue in issues] == ([] if finished else ["finished"])


def test_a_message_from_elsewhere_is_finished() -> None:
    said = load_as([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}], "openai")
    assert [message.finished for message in said] == [stored["finished"] for stored in write(said)] == [True, True]


def test_dataclasses_are_read_like_dicts() -> None:
    @dataclass
    class TextPart:
        id: str
        type: str = "text"
        text: str = ""

    @dataclass
    class Stored:
        role: str
        parts: list[Any] = field(default_factory=list)

    assert read([Stored("user", [TextPart("p", text="Hi")])]).last_text == "Hi"


def test_the_fields_of_a_part_say_what_it_is() -> None:
    """The document's "Message Types and Examples" construct parts without their type."""
    asked = wolo.Message(role="user", parts=[wolo.TextPart(text="Is it on?")])
    done = wolo.ToolPart(tool="read", input={"path": "config.json"}, status="completed", output="on")
    sent = wolo.to_llm_messages([asked, wolo.Message(role="assistant", parts=[wolo.TextPart(text="I look."), done])])
    assert [(each["role"], each["content"]) for each in sent] == [
        ("user", "Is it on?"),
        ("assistant", "I look."),
        ("tool", "on"),
    ]
    assert sent[1]["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path": "config.json"}'}


def test_calls_without_ids_are_counted() -> None:
    parts = [{"type": "tool", "tool": "f"}, tool(id="call_1"), {"type": "tool", "tool": "f"}]
    assert [call.id for call in read([reply(*parts)]).calls] == ["call_2", "call_1", "call_3"]


def test_results_of_calls_with_the_same_id_stay_with_their_calls() -> None:
    stored = [reply(tool(status="completed", output=output)) for output in ("one", "two")]
    again = read(stored)
    assert [result.text for result in again.results] == ["one", "two"]
    assert spelled(write(again)) == spelled(stored)


@pytest.mark.parametrize(
    ("status", "is_error"),
    [("completed", False), ("failed", True), ("error", True), ("partial", True), ("interrupted", True)],
)
def test_a_call_that_has_ended_has_a_result(status: str, is_error: bool) -> None:
    asked, answer = read([reply(tool(status=status, output="o", metadata={"k": 1}, start_time=1.5))])
    assert asked.calls[0].status == ("failed" if is_error else "completed")
    assert asked.calls[0].started_at == 1.5
    assert answer == Message(
        role="tool",
        parts=(ToolResult(call_id="c", name="read", content="o", is_error=is_error),),
        metadata={"k": 1},
    )


# What is odd, and what is wrong


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (reply(tool(input="no json")), "invalid_arguments"),
        (reply(tool(input=[1])), "invalid_arguments"),
        (reply(tool(status="lost")), "unknown_status"),
        (reply({"type": "file", "id": "f"}, {"type": "text", "text": "t"}, {"type": "file"}), "unknown_part"),
        ({"role": "user", "parts": [tool(status="completed")]}, "misplaced_call"),
    ],
)
def test_what_is_odd_is_reported_and_kept(message: dict[str, Any], code: str) -> None:
    report = Report()
    conversation = load([message], report)
    assert {issue.code for issue in report.issues} == {code}
    assert spelled(dump(conversation, Report())) == spelled([message])


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (None, "the whole: expected a list of messages"),
        ([5], "message 0: expected an object with role and parts, got a number"),
        (
            [{"role": "tool", "parts": []}],
            "message 0: role: expected 'user', 'assistant' or 'system' .results stand in",
        ),
        ([{"role": "user", "content": "Hi"}], "message 0: expected a list 'parts' .* read it as 'openai'"),
        ([{"role": "user"}], "message 0: parts: expected a list 'parts' of text and tool parts, got nothing"),
        ([reply({"type": "text", "text": 5})], r"message 0: parts\[0\]: text: expected a string, got a number"),
        ([reply({"id": "x"})], r"message 0: parts\[0\]: type: expected 'text' or 'tool', got nothing"),
        ([reply({"text": "", "tool": "f"})], r"message 0: parts\[0\]: type: expected 'text' or 'tool', got nothing"),
        ([reply(), reply(tool(tool=None))], r"message 1: parts\[0\]: tool: expected the name of a tool, got nothing"),
        ([reply(tool(start_time="now"))], r"message 0: parts\[0\]: start_time: expected seconds since 1970"),
        ([reply(finished="no")], "message 0: finished: expected true or false, got text"),
        ([reply(timestamp=True)], "message 0: timestamp: expected seconds since 1970 as a number, got a boolean"),
        ({"messages": [], "metadata": 5}, "metadata: expected an object, got a number"),
    ],
)
def test_what_is_malformed_raises_with_its_place(obj: Any, message: str) -> None:
    with pytest.raises(XMLToolsError, match=message):
        load(obj, Report())


CALL = ToolCall(id="1", name="f", status="completed")
RESULT = ToolResult(call_id="1", name="f", content="8")


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([Message.assistant("", [CALL]), Message.user("wait"), Message(role="tool", parts=(RESULT,))], "moved_result"),
        ([Message.assistant("", [CALL]), Message(role="user", parts=(RESULT,))], "moved_result"),
        ([Message(role="tool", parts=(RESULT,))], "orphan_result"),
        ([Message.assistant("", [CALL]), *[Message(role="tool", parts=(RESULT,))] * 2], "orphan_result"),
        ([Message.assistant("", [CALL]), Message(role="tool", parts=(RESULT, Text(text="t")))], "tool_parts"),
        ([Message.assistant("", [CALL])], "missing_result"),
        ([Message(role="assistant", parts=(Text(text="t"), Reasoning(text="r")))], "reasoning_order"),
    ],
)
def test_what_would_be_lost_or_moved_is_reported(messages: list[Message], code: str) -> None:
    assert codes(Conversation(messages=tuple(messages))) == [code]


def test_whatever_stands_in_extra_a_dump_does_not_raise() -> None:
    for odd in (
        "text",
        {"keys": 5, "values": []},
        {"values": {"status": [], "input": 5}, "unknown_parts": [5, [0, 1]]},
    ):
        extra = {"wolo": odd}
        parts = (Text(text="t", extra=extra), CALL.model_copy(update={"extra": extra}))
        message = Message(role="assistant", parts=parts, extra=extra)
        said = Conversation(messages=(message, Message(role="tool", parts=(RESULT,))), extra=extra)
        written = dump(said, Report())
        messages = written if isinstance(written, list) else written["messages"]
        assert [part["output"] for part in messages[0]["parts"] if part != 1 and "output" in part] == ["8"]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ([{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}], True),
        ({"messages": [reply(tool())]}, True),
        ([{"role": "user", "content": "Hi"}], False),
        ([{"role": "user", "parts": [{"text": "Hi"}]}], False),
        ([{"role": "user", "parts": [{"text": "Hi"}]}, reply({"tool": "f", "input": {}})], True),
        ([reply({"type": "text", "text": "Hi"}, {"file": "f"})], False),
        ([reply()], False),
        ([], False),
        ("text", False),
    ],
)
def test_wolo_is_recognised_by_its_parts(obj: Any, expected: bool) -> None:
    assert recognise(obj) is expected


def test_the_facade_reads_wolo() -> None:
    assert holds("wolo") is HOLDS
    assert load_as([reply({"type": "text", "text": "Hi"})], "wolo", strict=True).last_text == "Hi"


# What is sent


def test_texts_are_joined_by_line_breaks_and_calls_come_behind() -> None:
    parts = (Text(text="a"), CALL, Text(text=""), Text(text="b"))
    said = Conversation().user([Text(text="x"), Text(text="y")])
    said = said.add(Message(role="assistant", parts=parts), Message(role="tool", parts=(RESULT,)))
    assert to_llm_messages(said) == [
        {"role": "user", "content": "x\ny"},
        {"role": "assistant", "content": "a\nb", "tool_calls": [llm_tool_call(CALL)]},
        {"role": "tool", "tool_call_id": "1", "content": "8"},
    ]


def test_failed_calls_are_sent_if_asked_for() -> None:
    stored = [reply(tool(id=status, status=status, output=output)) for status, output in FAILED]
    sent = to_llm_messages(stored, failed="send")
    assert [message["content"] for message in sent if message["role"] == "tool"] == [
        "boom",
        "Tool execution failed",
        "Tool completed",
        "[Tool execution interrupted by user]",
    ]
    assert to_llm_messages(stored) == []


FAILED = [("failed", "boom"), ("error", ""), ("partial", ""), ("interrupted", "")]


def test_pending_calls_are_left_out_if_asked_for() -> None:
    stored = [reply({"type": "text", "text": "t"}, tool(status="running"), tool(id="d", status="completed"))]
    assert [call["id"] for call in to_llm_messages(stored)[0]["tool_calls"]] == ["c", "d"]
    sent = to_llm_messages(stored, pending="drop")
    assert [call["id"] for call in sent[0]["tool_calls"]] == ["d"]
    assert sent[1] == {"role": "tool", "tool_call_id": "d", "content": "Tool completed"}


def test_arguments_are_ascii_with_white_space() -> None:
    call = ToolCall(id="1", name="f", arguments={"a": "é", "b": [1, 2]})
    assert llm_tool_call(call)["function"]["arguments"] == '{"a": "\\u00e9", "b": [1, 2]}'


def test_reasoning_alone_is_not_sent() -> None:
    assert to_llm_messages([reply(reasoning_content="hm")]) == []
    sent = to_llm_messages([reply(tool(), reasoning_content="hm")])
    assert list(sent[0]) == ["role", "tool_calls", "reasoning_content"]


def test_the_name_is_put_in_as_it_is_and_only_for_whole_words() -> None:
    text = "Wolo, wolo, Wolos, WOLO, _Wolo_ Wolo"
    assert rename_agent(text, r"\g<0>\1 Wolo") == "\\g<0>\\1 Wolo, \\g<0>\\1 wolo, Wolos, WOLO, _Wolo_ \\g<0>\\1 Wolo"


def test_the_prompt_is_renamed_and_not_what_others_said() -> None:
    sent = to_llm_messages(Conversation().user("Hi Wolo"), system_prompt="You are Wolo", display_name="Ada")
    assert sent == [{"role": "system", "content": "You are Ada"}, {"role": "user", "content": "Hi Wolo"}]


@pytest.mark.parametrize("name", ["failed", "pending"])
def test_an_unknown_choice_raises(name: str) -> None:
    with pytest.raises(XMLToolsError, match=f"{name}: expected 'send' or 'drop', got 'no'"):
        to_llm_messages([], **{name: "no"})


@given(conversations())
def test_every_result_that_is_sent_follows_its_call(conversation: Conversation) -> None:
    asked: set[str] = set()
    for message in to_llm_messages(conversation, failed="send"):
        asked |= {call["id"] for call in message.get("tool_calls", ())}
        assert message["role"] != "tool" or message["tool_call_id"] in asked


# Streams


def test_text_behind_a_call_is_a_part_behind_it() -> None:
    call = {"type": "tool-call", "tool": "f", "input": {}}
    message = fold_events([call, {"type": "text-delta", "text": "a"}, {"type": "text-delta", "text": "b"}, call])
    assert [part.type for part in message.parts] == ["call", "text", "text", "call"]
    assert [call.id for call in message.calls] == ["call_1", "call_2"]
    assert message.text == "ab"
    assert write(Conversation(messages=(message,)))[0]["finished"] is False


def test_a_call_without_arguments_and_one_with_bad_ones_are_calls() -> None:
    events = [{"type": "tool-call", "tool": "f"}, {"type": "tool-call", "tool": "g", "input": "{"}]
    message = fold_events([*events, {"type": "tool-call-progress"}, {"type": "error"}])
    assert [call.arguments for call in message.calls] == [{}, {}]
    assert message.finish_reason == "error"
    assert [part["input"] for part in write(Conversation(messages=(message,)))[0]["parts"]] == [{}, "{"]


def test_calls_of_a_stream_get_an_id_where_it_is_missing_or_empty() -> None:
    """The document: "Tool ID consistency: Use consistent IDs between tool_calls and tool responses"."""
    given = ["call_1", "", None, ""]
    folder = EventFolder()
    for id in given:
        folder.feed({"type": "tool-call", "id": id, "tool": "f", "input": {}})
    assert [call.id for call in folder.message.calls] == ["call_1", "call_2", "call_3", "call_4"]
    for call in folder.message.calls:
        folder.start(call.id)
        folder.complete(call.id, f"of {call.id}")
    sent = to_llm_messages(folder.conversation)
    assert [(each["tool_call_id"], each["content"]) for each in sent[1:]] == [
        (call.id, f"of {call.id}") for call in folder.message.calls
    ]


def test_what_is_no_event_raises_with_its_number() -> None:
    with pytest.raises(XMLToolsError, match="event 1: text: expected a string, got a number"):
        fold_events([{"type": "finish"}, {"type": "text-delta", "text": 5}])


EVENTS = st.lists(
    st.sampled_from(
        [
            {"type": "text-delta", "text": "a"},
            {"type": "text-delta", "text": ""},
            {"type": "reasoning-delta", "text": "r"},
            {"type": "tool-call", "tool": "f", "input": {}},
            {"type": "tool-call", "tool": "f", "input": "no json", "id": "c"},
            {"type": "tool-call-progress"},
            {"type": "error"},
            {"type": "finish", "reason": "stop"},
        ]
    ),
    max_size=12,
)


@given(EVENTS)
def test_events_are_folded_as_they_arrive(events: list[dict[str, Any]]) -> None:
    """The document: "Process events as they arrive rather than buffering"."""
    folder = EventFolder(id="m", created_at=5.0)
    for number, event in enumerate(events):
        folder.feed(event)
        so_far = fold_events(events[: number + 1])
        assert folder.message == so_far.model_copy(update={"id": "m", "created_at": 5.0})
        assert folder.message.finished is any(each["type"] in ("error", "finish") for each in events[: number + 1])


def test_a_wrong_event_is_refused_and_the_reply_stays() -> None:
    folder = EventFolder()
    folder.feed({"type": "text-delta", "text": "a"})
    for wrong in ({"type": "tool-call"}, {"type": "text-delta", "text": 5}, 5):
        with pytest.raises(XMLToolsError, match="event 1: "):
            folder.feed(wrong)  # type: ignore[arg-type]
    folder.feed({"type": "text-delta", "text": "b"})
    assert folder.message == Message.assistant("ab", finished=False)


def called(*ids: str) -> EventFolder:
    folder = EventFolder()
    for id in ids:
        folder.feed({"type": "tool-call", "tool": "f", "input": {}, "id": id})
    folder.feed({"type": "finish", "reason": "tool_calls"})
    return folder


@pytest.mark.parametrize("case", cases("wolo", "transition"))
def test_a_call_goes_the_way_of_the_document(case: dict[str, Any]) -> None:
    """The document: `Pending --> Running: Tool execution starts`, `Running --> Completed: Tool succeeds`, `Running -->
    Failed: Tool fails`."""
    call = ToolCall(id="c", name="f", status=case["input"]["status"])
    following = case["expect"]["next"]
    assert [call.with_status(status).status for status in following] == following
    for status in {"pending", "running", "completed", "failed", "error"} - set(following):
        with pytest.raises(XMLToolsError, match=f"^the call 'c' is {call.status}: expected .*, got '{status}'$"):
            call.with_status(status)  # type: ignore[arg-type]


def test_calls_that_are_run_are_stored_with_their_outputs_and_times() -> None:
    folder = called("a", "b", "c")
    for id in ("a", "b"):
        folder.start(id, at=1.0)
    folder.fail("b", "boom", at=2.0)
    folder.complete("a", "fine", at=3.0)
    (stored,) = write(folder.conversation)
    keys = ("id", "status", "output", "start_time", "end_time")
    assert [tuple(part[key] for key in keys) for part in stored["parts"]] == [
        ("a", "completed", "fine", 1.0, 3.0),
        ("b", "failed", "boom", 1.0, 2.0),
        ("c", "pending", "", 0.0, 0.0),
    ]
    assert (stored["finished"], stored["finish_reason"]) == (True, "tool_calls")
    assert [result.is_error for result in folder.conversation.results] == [False, True]


def test_a_step_that_is_not_the_next_one_is_refused_and_changes_nothing() -> None:
    folder = called("a")
    before = folder.conversation
    with pytest.raises(XMLToolsError, match="the call 'a' is pending: expected running, got 'completed'"):
        folder.complete("a", "fine")
    with pytest.raises(XMLToolsError, match="there is no call with the id 'b' in this reply"):
        folder.start("b")
    assert folder.conversation.model_dump() == before.model_dump()
    folder.start("a")
    with pytest.raises(XMLToolsError, match="the output of a call: expected text, got a number"):
        folder.complete("a", 5)  # type: ignore[arg-type]
    folder.fail("a", "boom")
    with pytest.raises(XMLToolsError, match="the call 'a' is failed: expected no other status, for it has ended"):
        folder.start("a")


def test_of_two_calls_with_one_id_the_first_is_run_first() -> None:
    folder = called("a", "a")
    for output in ("one", "two"):
        folder.start("a")
        folder.complete("a", output)
    assert [part["output"] for part in write(folder.conversation)[0]["parts"]] == ["one", "two"]


def test_media_are_reported_by_what_wolo_holds() -> None:
    said = Conversation().user([Text(text="see"), Media(media_type="image/png", data="eA==")])
    assert [issue.code for issue in losses(said, "wolo", HOLDS)] == ["media"]
    assert len(write(said)[0]["parts"]) == 1


def asked(*names: str) -> Message:
    return Message.assistant("", [ToolCall(id="", name=name) for name in names])


def test_calls_without_an_id_get_one_each_and_their_results_point_to_it() -> None:
    """The document: `Part` has an `id`, a "unique identifier"."""
    said = Conversation().user("Go").add(asked("a", "b")).tool("", "b", "B").tool("", "a", "A").add(asked("a"))
    said = said.tool("", "a", "later").tool("", "c", "none of ours")
    made = complete(said, now=5, new_id=counted())
    assert [call.id for call in made.calls] == ["m3", "m4", "m6"]
    assert [(result.call_id, result.text) for result in made.results] == [
        ("m4", "B"),
        ("m3", "A"),
        ("m6", "later"),
        ("", "none of ours"),
    ]
    report = Report()
    stored = write(said, report=report, now=5, new_id=counted())
    assert stored == write(made, Report())
    assert [(part["id"], part["output"]) for part in stored[1]["parts"]] == [("m3", "A"), ("m4", "B")]
    assert [issue.code for issue in report.issues] == ["moved_result", "orphan_result"]


def test_an_id_that_a_call_has_is_not_made_again_and_an_empty_one_that_was_stored_stays() -> None:
    said = Conversation().assistant("", [ToolCall(id="m2", name="a"), ToolCall(id="", name="b")], id="m")
    assert [call.id for call in complete(said, now=5, new_id=counted()).calls] == ["m2", "m1"]
    stored = write(Conversation().add(asked("a")), now=5, new_id=counted())
    stored[0]["parts"][0]["id"] = ""
    assert write(read(stored)) == stored
    assert complete(read(stored), new_id=counted()).calls[0].id == "m2"


def test_calls_of_wick_without_an_id_get_one_in_wolo() -> None:
    calls = [{"name": name, "args": {}} for name in ("a", "b")]
    results = [{"role": "tool", "content": name, "name": name} for name in ("b", "a")]
    wick = [{"role": "assistant", "content": "", "tool_calls": calls}, *results]
    (reply,) = convert(wick, "wick", "wolo", issues=[])
    assert len({reply["id"], *(part["id"] for part in reply["parts"])}) == 3
    assert all(part["output"] == part["tool"] for part in reply["parts"])
