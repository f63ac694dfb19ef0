"""The façade: formats by name, issues as warnings, as a list or as errors, and values that share nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from support.conversations import conversations

import xmltools as xt
from xmltools.formats import BOOKKEEPING, FORMATS, recognise

CALL = xt.ToolCall(id="c1", name="add", arguments={"list": [1, {"a": 2}]}, server="disk")
CHAT = xt.Conversation().user("Go").assistant("", [CALL]).tool("c1", content="done")


def test_losses_are_warnings_unless_there_is_a_list() -> None:
    with pytest.warns(xt.ConversionWarning, match="message 1: openai cannot hold servers of tools"):
        xt.dump(CHAT, "openai")
    issues: list[xt.Issue] = []
    xt.dump(CHAT, "openai", issues=issues)
    assert [(issue.code, issue.index) for issue in issues] == [("servers", 1)]
    with pytest.raises(xt.XMLToolsError, match="strict: message 1: openai cannot hold servers"):
        xt.dump(CHAT, "openai", strict=True)


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_dumped_or_loaded_shares_nothing_with_the_conversation(format: str) -> None:
    before = CHAT.model_dump_json()
    written = xt.dump(CHAT, format, issues=[])
    given_text = json.dumps(written)
    read = xt.load(written, format, issues=[])
    read_before = read.model_dump_json()
    spoil(written)
    assert CHAT.model_dump_json() == before
    assert read.model_dump_json() == read_before
    assert json.dumps(xt.dump(read, format, issues=[])) == given_text


def spoil(value: Any) -> None:
    for each in list(value.values() if isinstance(value, dict) else value):
        if isinstance(each, (dict, list)):
            spoil(each)
    value.clear()


@given(conversations())
def test_an_object_is_recognised_as_its_own_format_or_as_none(said: xt.Conversation) -> None:
    for format in FORMATS:
        written = xt.dump(said, format, issues=[])
        try:
            assert recognise(written) == format
        except xt.XMLToolsError as error:
            assert "bears no mark" in str(error) or "say which" in str(error)


def test_formats_that_are_none() -> None:
    with pytest.raises(xt.XMLToolsError, match="no format 'antropic'; did you mean anthropic"):
        xt.load([], "antropic")
    with pytest.raises(xt.XMLToolsError, match=r"expected xmltools\.Conversation, got list"):
        xt.dump([], "openai")  # type: ignore[arg-type]
    with pytest.raises(xt.XMLToolsError, match="is in no format that could be detected: say which"):
        xt.convert([{"role": "user", "words": "x"}], None, "openai")
    with pytest.raises(xt.XMLToolsError, match=r"fits openai and anthropic and .* and wick: say which it is"):
        xt.convert([{"role": "user", "content": "x"}], None, "openai")


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_nested_without_end_is_refused(format: str) -> None:
    deep: list[Any] = []
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]
    with pytest.raises(xt.XMLToolsError):
        xt.load(deep, format)


def test_what_a_request_holds_beside_its_messages_is_reported() -> None:
    request = {"model": "m", "tools": [], "messages": xt.dump(CHAT, "openai", issues=[])}
    issues: list[xt.Issue] = []
    xt.convert(request, "openai", "anthropic", issues=issues)
    assert [str(issue) for issue in issues] == ["what openai has beside the messages is left out: model, tools"]


def test_ids_beside_a_text_are_no_loss() -> None:
    plain = xt.transcript.inline(CHAT)
    assert any(message.extra for message in plain)
    xt.dump(plain, "openai", strict=True)


def test_a_spelling_of_forge_is_no_loss_but_other_keys_are() -> None:
    written = [{"role": "assistant", "content": "a <tool><tool_name>f</tool_name></tool> b"}]
    for others, codes in (({}, set()), ({"mood": "good"}, {"extra"})):
        issues: list[xt.Issue] = []
        xt.convert([{**written[0], **others}], "forge", "anthropic", issues=issues)
        assert {issue.code for issue in issues} == codes


STORED = [
    {
        "id": "msg_001",
        "role": "user",
        "parts": [{"id": "text_001", "type": "text", "text": "Read a."}],
        "timestamp": 1704067200,
        "finished": True,
    },
    {
        "id": "msg_002",
        "role": "assistant",
        "parts": [
            {"id": "text_002", "type": "text", "text": "On it."},
            {
                "id": "tool_001",
                "type": "tool",
                "tool": "read",
                "input": {"path": "a"},
                "output": "x",
                "status": "completed",
                "start_time": 1704067201.5,
                "end_time": 1704067202.0,
            },
        ],
        "timestamp": 1704067201.0,
        "finished": True,
        "finish_reason": "tool_calls",
    },
]
"""As Wolo's document stores messages: with ids of their own for messages and texts, and times."""


@pytest.mark.parametrize("format", sorted({*FORMATS} - {"wolo", "forge", "gemini"}))
def test_ids_and_times_of_a_store_are_listed_and_refused_by_nobody(format: str) -> None:
    issues: list[xt.Issue] = []
    written = xt.convert(STORED, "wolo", format, strict=True, issues=issues)
    assert [(issue.code, issue.index) for issue in issues] == [
        ("message_ids", 0),
        ("created_at", 0),
        ("message_ids", 1),
        ("created_at", 1),
        ("times", 1),
    ]
    assert {issue.code for issue in issues} == BOOKKEEPING
    assert xt.convert(STORED, "wolo", format, strict=True) == written  # and no warning
    assert xt.convert(STORED, "wolo", format) == written


@pytest.mark.parametrize("format", FORMATS)
def test_what_wolo_stores_of_a_talk_is_strictly_convertible(format: str) -> None:
    stored = xt.dump(xt.Conversation().user("Hi").assistant("Hello", finish_reason="stop"), "wolo")
    back = xt.convert(xt.convert(stored, "wolo", format, strict=True), format, "wolo", strict=True)
    assert [message["parts"][0]["text"] for message in back] == ["Hi", "Hello"]


@pytest.mark.parametrize(
    ("part", "code"), [({"status": "running"}, "status"), ({"status": "error"}, "extra"), ({"mood": "good"}, "extra")]
)
def test_what_is_more_than_bookkeeping_is_still_refused(part: dict[str, Any], code: str) -> None:
    call = {"id": "c1", "type": "tool", "tool": "read", "input": {}, "status": "pending", **part}
    stored = [{"role": "assistant", "parts": [call]}]
    issues: list[xt.Issue] = []
    xt.convert(stored, "wolo", "anthropic", issues=issues)
    assert [issue.code for issue in issues] == [code]
    with pytest.raises(xt.XMLToolsError, match=r"^strict: message 0"):
        xt.convert(stored, "wolo", "anthropic", strict=True)


WEATHER = [xt.ToolCall(id=id, name="weather", arguments={"city": city}) for id, city in (("a", "Oslo"), ("b", "Rome"))]
SUN, RAIN = (
    xt.ToolResult(call_id="b", name="weather", content="sun"),
    xt.ToolResult(call_id="a", name="weather", content="rain"),
)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "results",
    [[xt.Message.tool(SUN), xt.Message.tool(RAIN)], [xt.Message(role="tool", parts=(SUN, RAIN))]],
    ids=["apart", "together"],
)
def test_results_that_came_in_another_order_stay_those_of_their_calls(format: str, results: list[xt.Message]) -> None:
    said = xt.Conversation(messages=(xt.Message.user("?"), xt.Message.assistant("", WEATHER), *results))
    issues: list[xt.Issue] = []
    read = xt.load(xt.dump(said, format, issues=issues), format, issues=[])
    cities = {call.id: call.arguments["city"] for call in read.calls}
    assert {cities[result.call_id]: result.text for result in read.results} == {"Oslo": "rain", "Rome": "sun"}
    is_moved = format in ("wolo", "forge", "gemini")
    assert ("moved_result" in {issue.code for issue in issues}) == is_moved
    assert [result.text for result in read.results] == (["rain", "sun"] if is_moved else ["sun", "rain"])


@pytest.mark.parametrize("format", ["forge", "gemini"])
def test_results_that_their_names_tell_apart_stay_where_they_are(format: str) -> None:
    calls = [xt.ToolCall(id="a", name="weather"), xt.ToolCall(id="b", name="time")]
    results = (xt.Message.tool("b", "time", "noon"), xt.Message.tool("a", "weather", "rain"))
    said = xt.Conversation(messages=(xt.Message.user("?"), xt.Message.assistant("", calls), *results))
    issues: list[xt.Issue] = []
    read = xt.load(xt.dump(said, format, issues=issues), format)
    assert [(result.name, result.text) for result in read.results] == [("time", "noon"), ("weather", "rain")]
    assert {issue.code for issue in issues} == {"call_ids"}


@pytest.mark.parametrize("format", ["forge", "gemini"])
def test_the_result_of_no_call_is_not_taken_for_that_of_one(format: str) -> None:
    old = xt.Message.tool("gone", "weather", "old")
    said = xt.Conversation(
        messages=(xt.Message.user("?"), xt.Message.assistant("", WEATHER[:1]), old, xt.Message.tool(RAIN))
    )
    read = xt.load(xt.dump(said, format, issues=[]), format, issues=[])
    assert next(result.text for result in read.results if result.call_id == read.calls[0].id) == "rain"


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("format", FORMATS)
def test_texts_of_a_message_stay_apart_or_are_reported(format: str, role: Any) -> None:
    texts = (xt.Text(text="File a.py:"), xt.Text(text="import os"))
    said = xt.Conversation(messages=(xt.Message(role=role, parts=texts),))
    issues: list[xt.Issue] = []
    options = {"content": "auto"} if format == "openai" else {}
    read = xt.load(xt.dump(said, format, issues=issues, **options), format)
    stay = xt.formats.holds(format).texts and (format, role) != ("clawtools", "system")
    assert [issue.code for issue in issues] == ([] if stay else ["texts"])
    assert [part.text for part in read[0].parts] == ([part.text for part in texts] if stay else [said[0].text])
    if not stay:
        with pytest.raises(xt.XMLToolsError, match="several texts in a message: they are joined, with nothing between"):
            xt.dump(said, format, strict=True)


def test_texts_with_something_between_are_not_joined() -> None:
    parts = (xt.Text(text="a"), xt.Reasoning(text="hm"), xt.Text(text="b"), CALL, xt.Text(text=""), xt.Text(text="c"))
    said = xt.Conversation(messages=(xt.Message(role="assistant", parts=parts),))
    for format, expected in (("forge", False), ("wick", True)):
        issues: list[xt.Issue] = []
        xt.dump(said, format, issues=issues)
        assert ("texts" in {issue.code for issue in issues}) == expected


def test_arguments_that_cannot_be_read_are_reported_where_they_are_lost() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{broken"}}
    wire = [{"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    for target, codes in (("openai", ["invalid_arguments"]), ("clawtools", ["invalid_arguments", "lost_arguments"])):
        issues: list[xt.Issue] = []
        xt.convert(wire, "openai", target, issues=issues)
        assert [issue.code for issue in issues] == codes
    assert "the arguments of 'add' are left out, since they are no JSON object: '{broken'" in str(issues[-1])


@pytest.mark.parametrize(("target", "times"), [("openai", 1), ("robotlab", 1), ("wolo", 2)])
def test_a_result_without_call_is_told_once_unless_it_is_left_out(target: str, times: int) -> None:
    wire = [{"role": "user", "content": "?"}, {"role": "tool", "tool_call_id": "gone", "content": "x"}]
    issues: list[xt.Issue] = []
    xt.convert(wire, "openai", target, issues=issues)
    assert [issue.code for issue in issues].count("orphan_result") == times
