"""Forge: its documents' examples, calls and results as text, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import EVERYTHING, conversations
from support.seed_cases import cases

from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import convert, forge
from xmltools.formats.shared.losses import Report, losses
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.events import CallCompleted, TextDelta
from xmltools.parser import Parser, parse
from xmltools.render import render_call, render_result
from xmltools.render.writable import same
from xmltools.tools import Tool

BLOCK = "<tool>\n<server_name>local</server_name>\n<tool_name>f</tool_name>\n<arguments>\n</arguments>\n</tool>"
CALL = ToolCall(id="call_1", name="f")


def read(obj: Any, **options: Any) -> Conversation:
    """What is read without an issue."""
    return forge.load(obj, Report(strict=True), **options)


def write(conversation: Conversation, **options: Any) -> list[dict[str, Any]]:
    return forge.dump(conversation, Report(strict=True), **options)


def written(*messages: Message) -> tuple[list[dict[str, Any]], list[str]]:
    """What is written, and the codes of what is reported."""
    report = Report()
    return forge.dump(Conversation(messages=messages), report), [issue.code for issue in report.issues]


def result(content: Any = "8", name: str = "f", is_error: bool = False) -> ToolResult:
    return ToolResult(call_id="call_1", name=name, content=content, is_error=is_error)


def said(call: Any) -> tuple[Any, ...]:
    if isinstance(call, ToolCall):
        return call.server, call.name, call.arguments
    return call["server_name"], call["tool_name"], call["arguments"]


def tools_of(case: dict[str, Any]) -> list[Tool] | None:
    if "schema" not in case:
        return None
    call = case["expect"]["calls"][0]
    return [Tool(name=call["tool_name"], parameters=case["schema"], server=call["server_name"])]


def expected_calls(case: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The calls of a case; with their types, if it has a schema."""
    expect = case["expect"]
    typed = expect.get("arguments_typed_by_schema", [call["arguments"] for call in expect["calls"]])
    return [(*said(call)[:2], arguments) for call, arguments in zip(expect["calls"], typed, strict=True)]


# The documents


@pytest.mark.parametrize("case", cases("forge", "constructor"))
def test_constructors_make_the_messages_of_the_document(case: dict[str, Any]) -> None:
    function = getattr(forge, case["input"]["fn"].lower())
    assert json.dumps(function(*case["input"]["args"])) == json.dumps(case["expect"])


@pytest.mark.parametrize("case", cases("forge", "render_tool_result"))
def test_results_are_written_as_in_the_document(case: dict[str, Any]) -> None:
    given = ToolResult(
        call_id="1", name=case["input"]["name"], content=case["input"]["result"], is_error=case["input"]["is_error"]
    )
    assert render_result(given) == case["expect"]["text"]
    records, _ = written(Message(role="tool", parts=(given,)))
    assert records == [{"role": "tool", "content": case["expect"]["text"]}]


@pytest.mark.parametrize("case", cases("forge", "parse"))
def test_replies_of_the_document_are_read(case: dict[str, Any]) -> None:
    tools, reply = tools_of(case), [forge.assistant(case["input"])]
    conversation = read(reply, tools=tools)
    assert [said(call) for call in conversation.calls] == expected_calls(case)
    legacy = case["expect"].get("legacy", [False] * len(conversation.calls))
    assert [call.legacy_json for call in conversation.calls] == legacy
    assert segments(parse(case["input"], tools)) == case["expect"].get("segments", [case["expect"].get("text")])
    assert write(conversation, tools=tools) == reply


def segments(reply: Any) -> list[Any]:
    """The texts of a reply, and the numbers of the calls between them."""
    found: list[Any] = [""]
    for part in reply.parts:
        if isinstance(part, Text):
            found[-1] += part.text
        else:
            found += [sum(isinstance(each, int) for each in found), ""]
    return found


@pytest.mark.parametrize("case", [case for case in cases("forge", "parse") if "schema" in case.values[0]])
def test_without_tools_arguments_are_strings(case: dict[str, Any]) -> None:
    if "arguments_typed_by_schema" in case["expect"]:
        (call,) = read([forge.assistant(case["input"])]).calls
        assert call.arguments == case["expect"]["calls"][0]["arguments"]
    elif "arguments_generic" in case["expect"]:
        (call,) = read([forge.assistant(case["input"])]).calls
        assert call.arguments in (case["expect"]["arguments_generic"], case["expect"]["calls"][0]["arguments"])


@pytest.mark.parametrize(
    "case", [case for case in cases("forge", "parse") if "bracket_thinking" in case.values[0]["expect"]]
)
def test_thinking_in_brackets_is_reasoning_if_asked_for(case: dict[str, Any]) -> None:
    reply = [forge.assistant(case["input"])]
    (message,) = read(reply, bracket_reasoning=True)
    thoughts = [part.text for part in message.parts if isinstance(part, Reasoning)]
    assert thoughts == case["expect"]["bracket_thinking"]
    trimmed = case["expect"].get("text_without_bracket_thinking_trimmed", message.text.strip())
    assert message.text.strip() == trimmed
    assert write(Conversation(messages=(message,))) == reply
    assert not read(reply).messages[0].reasoning


@pytest.mark.parametrize("case", cases("forge", "stream"))
def test_streams_of_the_document_are_read(case: dict[str, Any]) -> None:
    parser = Parser(tools_of(case))
    events = [event for chunk in case["input"] for event in parser.feed(chunk)] + parser.close()
    calls = [event.call for event in events if isinstance(event, CallCompleted)]
    assert [said(call) for call in calls] == expected_calls(case)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == case["expect"]["text"]
    reply = [forge.assistant("".join(case["input"]))]
    conversation = read(reply, tools=tools_of(case))
    assert [said(call) for call in conversation.calls] == expected_calls(case)
    assert write(conversation) == reply


def test_every_seed_case_of_forge_is_run() -> None:
    kinds = {case.values[0]["kind"] for case in cases("forge")}
    assert kinds == {"constructor", "render_tool_result", "parse", "stream", "brackets", "json_to_xml"}


def test_results_are_not_headed_twice_and_tools_own_text_is_kept() -> None:
    for content in ("Result: 8", "Error: division by zero", "42", ""):
        message = forge.tool("calculator", content)
        conversation = forge.load([message], Report())
        assert conversation.results[0].name == "calculator"
        assert conversation.results[0].text == content.removeprefix("Result: ").removeprefix("Error: ")
        assert conversation.results[0].is_error is content.startswith("Error")
        assert forge.dump(conversation, Report()) == [message]


# There and back


@given(conversations(forge.HOLDS))
def test_what_forge_holds_is_kept_exactly(conversation: Conversation) -> None:
    assert {issue.code for issue in losses(conversation, "forge", forge.HOLDS)} <= {"call_ids"}
    records = write(conversation)
    again = read(json.loads(json.dumps(records)))
    assert again == conversation
    assert [call.status for call in again.calls] == [call.status for call in conversation.calls]
    assert write(again) == records


@given(conversations(forge.HOLDS))
def test_results_from_the_user_are_results_of_tools(conversation: Conversation) -> None:
    records = write(conversation, result_role="user")
    again = read(records)
    assert [message.role for message in again] == [message.role for message in conversation]
    assert [message.parts for message in again] == [message.parts for message in conversation]
    assert write(again) == records


@given(conversations(forge.HOLDS, grouped=True))
def test_results_that_share_a_message_stay_together(conversation: Conversation) -> None:
    records = write(conversation)
    assert read(records) == conversation
    assert not any(message.extra for message in read(records))


@given(conversations(EVERYTHING))
def test_whatever_is_said_is_written_as_plain_messages(conversation: Conversation) -> None:
    report = Report()
    records = forge.dump(conversation, report)
    assert {issue.code for issue in report.issues} <= {"types"}
    assert all(list(record) == ["role", "content"] for record in records)
    for call, other in zip(read(records).calls, conversation.calls, strict=True):
        assert (call.server, call.name) == (other.server, other.name)
        assert same(other.arguments, call.arguments, loose=bool(report.issues))


SPELLED = [
    [forge.assistant("<tool><tool_name>f</tool_name></tool>")],
    [forge.assistant("a <tool><tool_name>f</tool_name></tool> b"), forge.user("Tool: f\nResult: 8")],
    [forge.assistant("<thinking>hm</thinking>x"), forge.user("")],
    [{"content": "the other way round", "role": "user"}],
    [{"role": "user", "content": "Hi", "id": 5, "tool_calls": None}],
    [forge.assistant(BLOCK), forge.tool("f", "no header")],
    [forge.assistant("&lt;tool> \ud800 <tool>{"), forge.user("\ud800")],
    [forge.assistant("<tool><tool_name>f</tool_name><arguments><a>\ud800</a></arguments></tool>")],
    [{"role": "tool", "content": "just text"}],
    [],
]


@pytest.mark.parametrize("messages", SPELLED, ids=range(len(SPELLED)))
def test_messages_are_written_as_they_were(messages: list[dict[str, Any]]) -> None:
    records = write(read(messages))
    assert json.dumps(records) == json.dumps(messages)


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), st.sampled_from([
    "", "Hi", BLOCK, f"{BLOCK}\n", f"a{BLOCK}", "<think>x</think>", "<think>", "Tool: f\n8", "Tool: f\nResult: 8",
    " Tool: f\nError: 8", "Tool: f\nResult: 8\n\nTool: f\nError: 9", "Result: 8", "<tool>", "&lt;tool>",
])), max_size=6))  # fmt: skip
def test_any_messages_are_written_as_they_were(pairs: list[tuple[str, str]]) -> None:
    messages = [{"role": role, "content": content} for role, content in pairs]
    assert forge.dump(forge.load(messages, Report()), Report()) == messages


def test_a_spelling_that_says_something_else_by_now_is_not_written_again() -> None:
    (message,) = read([{**forge.assistant("<tool><tool_name>f</tool_name></tool>"), "more": 1}])
    renamed = message.calls[0].model_copy(update={"name": "g"})
    changed = Conversation(messages=(message.model_copy(update={"parts": (renamed,)}),))
    assert write(changed) == [{"role": "assistant", "content": BLOCK.replace(">f<", ">g<"), "more": 1}]


def test_ids_are_counted_and_results_matched_by_order_and_name() -> None:
    blocks = "".join(f"<tool><tool_name>{name}</tool_name></tool>" for name in "fgf")
    messages = [forge.assistant(blocks), *(forge.tool(name, f"Result: {name}") for name in "gff")]
    conversation = read(messages)
    assert [call.id for call in conversation.calls] == ["call_1", "call_2", "call_3"]
    assert [each.call_id for each in conversation.results] == ["call_2", "call_1", "call_3"]
    assert {call.status for call in conversation.calls} == {"completed"}


def test_tools_give_arguments_their_types_and_are_told_apart_without() -> None:
    tool = Tool(name="f", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
    said = Conversation().user("Go").assistant("", [ToolCall(id="call_1", name="f", arguments={"n": 5})])
    typed = write(said, tools=[tool])
    assert "<n>5</n>" in typed[1]["content"]
    assert read(typed, tools=iter([tool])) == said
    assert read(typed).calls[0].arguments == {"n": "5"}
    report = Report()
    assert forge.dump(said, report) == typed  # Forge's XML all the same
    assert [(issue.code, issue.index) for issue in report.issues] == [("types", 1)]


def test_a_request_for_results_of_the_user_is_followed() -> None:
    said = Conversation().assistant("", [CALL]).tool("call_1", None, "8")
    assert [message["role"] for message in write(said)] == ["assistant", "tool"]
    by_user = write(said, result_role="user")
    assert by_user[1] == {"role": "user", "content": "Tool: f\nResult: 8"}
    assert write(read(by_user)) == by_user
    assert write(read(by_user), result_role="tool") == write(said)


# What is odd, and what is wrong


def test_a_result_without_call_is_reported_on_reading() -> None:
    report = Report()
    conversation = forge.load([forge.tool("f", "Result: 8")], report)
    assert [issue.code for issue in report.issues] == ["orphan_result"]
    assert conversation.results[0].call_id == "result_1"


@pytest.mark.parametrize(
    ("message", "roles"),
    [
        (Message(role="tool", parts=(result(), Text(text="t"))), ["tool", "user"]),
        (Message(role="user", parts=(Text(text="t"), result())), ["user", "tool"]),
        (Message(role="user", parts=(Text(text="t"), CALL)), ["user", "assistant"]),
        (Message(role="assistant", parts=(Text(text="t"), CALL, result(), Text(text="u"))), ["assistant", "tool"] * 2),
        (Message(role="system", parts=(Reasoning(text="r"), Text(text="t"))), ["assistant", "system"]),
    ],
)
def test_what_stands_in_the_wrong_message_comes_in_its_own(message: Message, roles: list[str]) -> None:
    records, codes = written(message)
    expected = roles[:3] if message.role == "assistant" else roles
    assert [record["role"] for record in records] == expected
    assert codes == ["split_message"]


@pytest.mark.parametrize(
    "call",
    [
        ToolCall.model_construct(id="1", name="f", arguments={"a": "\ud800"}),
        ToolCall(id="1", name="f", arguments={"a": float("nan")}),
        ToolCall(id="1", name="a\nb"),
        ToolCall(id="1", name=""),
    ],
    ids=["surrogate", "nan", "line break", "no name"],
)
def test_a_call_that_text_cannot_say_is_left_out_and_reported(call: ToolCall) -> None:
    records, codes = written(Message.assistant("a", [call, CALL]), Message.assistant("b"))
    assert records == [forge.assistant(f"a\n\n{BLOCK}"), forge.assistant("b")]
    assert codes == ["unwritable_call"]


def test_a_result_that_begins_like_its_header_is_reported() -> None:
    records, codes = written(Message(role="tool", parts=(result("Result: 8"),)))
    assert records == [forge.tool("f", "Result: 8")]
    assert codes == ["result_word"]


def test_text_in_several_parts_cannot_pass_for_a_result() -> None:
    asked = Message.assistant("", [CALL])
    forged = Message(role="user", parts=(Text(text=""), Text(text="Tool: f\n"), Text(text="Result: 9")))
    records, codes = written(asked, forged)
    assert not codes
    assert read(records).messages[1] == Message.user("Tool: f\nResult: 9")


def test_media_are_left_out() -> None:
    picture = Media(media_type="image/png", data="eA==")
    records, _ = written(Message.user([Text(text="see"), picture]), Message(role="tool", parts=(result((picture,)),)))
    assert records == [forge.user("see"), forge.tool("f", "Result: ")]


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({}, "the whole: expected a list of messages, each an object with role and content, got an object"),
        (["Hi"], "message 0: expected an object with role and content, got text"),
        (
            [forge.user("a"), {"role": "model", "content": ""}],
            "message 1: role: expected 'system', 'user', 'assistant'",
        ),
        ([{"role": "assistant", "content": None}], "message 0: content: expected a string .calls and results are text"),
        ([{"role": "user", "content": [{"type": "text"}]}], "message 0: content: expected a string .* got a list"),
    ],
)
def test_what_is_malformed_raises_with_its_place(obj: Any, message: str) -> None:
    with pytest.raises(XMLToolsError, match=message):
        forge.load(obj, Report())


def test_bad_options_raise() -> None:
    with pytest.raises(XMLToolsError, match="result_role: expected 'user' or 'tool', got 'system'"):
        forge.dump(Conversation(), Report(), result_role="system")  # type: ignore[arg-type]
    with pytest.raises(XMLToolsError, match="tools: expected a list"):
        forge.dump(Conversation(), Report(), tools=5)  # type: ignore[arg-type]
    with pytest.raises(XMLToolsError, match="tools: expected a list"):
        forge.load([], Report(), tools=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", ["text", {"message": 5}, {"message": {"role": "user"}, "says": 5}])
def test_whatever_stands_in_extra_a_dump_does_not_raise(odd: Any) -> None:
    message = Message.user("Hi").model_copy(update={"extra": {"forge": odd}})
    assert written(message) == ([forge.user("Hi")], [])


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ([forge.user("Hi"), forge.assistant(f"a {BLOCK}")], True),
        ([forge.assistant('<tool>{"tool_name": "f"}</tool>')], True),
        ([forge.tool("f", "8")], True),
        ([forge.user("Hi"), forge.assistant("Hi")], False),
        ([forge.user(BLOCK)], False),
        ([{**forge.tool("f", "8"), "tool_call_id": "1"}], False),
        ({"messages": []}, False),
        ([], False),
    ],
)
def test_forge_is_recognised_by_blocks_and_results_in_plain_messages(obj: Any, expected: bool) -> None:
    assert forge.recognise(obj) is expected


# Thinking in brackets


@pytest.mark.parametrize("case", cases("forge", "brackets"))
def test_brackets_of_the_document_go_to_other_formats_and_back(case: dict[str, Any]) -> None:
    """The document: an assistant's message "may include thinking + tool calls + text"; thinking is in brackets."""
    reply = [forge.assistant(case["input"])]
    (message,) = read(reply, bracket_reasoning=True)
    assert [part.text for part in message.parts if isinstance(part, Reasoning)] == case["expect"]["reasoning"]
    assert message.text == case["expect"]["text"]
    wire = convert(reply, "forge", "anthropic", bracket_reasoning=True, issues=[])
    assert convert(wire, "anthropic", "forge", bracket_reasoning=True, issues=[]) == reply


HELD = [
    "Let me search for this information...",
    "two\nlines",
    "a list [1, 2] inside",
    "ends with ]",
    "\nbegins and ends with a line break\n",
    "&lt;/think> and &amp;lt;think>",
    "a & b, ]x",
    "```\nno fence",
]
NOT_HELD = [
    "a blank\n\nline",
    "a blank\n \t\nline",
    "a line ends with ]\nand goes on",
    "]\r\n",
    "<tool>",
    "</think>",
    "x" * 9999,
]


def parts_of(conversation: Conversation) -> list[Any]:
    """What is said; how it was spelled is kept beside."""
    return [message.parts for message in conversation]


def thinking(*thoughts: str) -> Conversation:
    parts = [part for thought in thoughts for part in (Reasoning(text=thought), Text(text="So."))]
    return Conversation(messages=(Message.assistant([*parts, CALL]),))


@pytest.mark.parametrize("thought", HELD)
def test_reasoning_is_written_in_brackets_if_asked_for(thought: str) -> None:
    """The document: `[Let me search for this information...]`, a blank line, and what the assistant says."""
    said = thinking(thought, "And now?")
    (message,) = write(said, bracket_reasoning=True)
    hidden = thought.replace("lt;/think", "amp;lt;/think").replace("lt;think", "amp;lt;think")
    assert message["content"] == f"[{hidden}]\n\nSo.\n\n[And now?]\n\nSo.\n\n{BLOCK}"
    assert parts_of(read([message], bracket_reasoning=True)) == parts_of(said)


@pytest.mark.parametrize("thought", NOT_HELD)
def test_reasoning_that_brackets_cannot_hold_stands_in_a_tag_and_is_reported(thought: str) -> None:
    said, report = thinking("Hm.", thought), Report()
    (message,) = forge.dump(said, report, bracket_reasoning=True)
    assert [(issue.code, issue.index) for issue in report.issues] == [("reasoning_in_tags", 0)]
    assert message["content"].startswith("[Hm.]\n\nSo.\n\n<think")
    assert parts_of(read([message], bracket_reasoning=True)) == parts_of(said)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("[1, b]", ["text_in_brackets"]),
        ("[1, 2]", []),
        ("[]", []),
        ('[{"a": 1}]', []),
        ("See\n[the docs]\nfor more", ["text_in_brackets"]),
        ("```toml\n[package]\n```", []),
        ("[the docs](https://a.b)", []),
        ("  [x]", []),
        ("[a\n\nb]", []),
    ],
)
def test_text_that_would_be_read_as_reasoning_is_reported(text: str, codes: list[str]) -> None:
    said, report = Conversation().assistant(text, reasoning="Hm."), Report()
    (message,) = forge.dump(said, report, bracket_reasoning=True)
    assert message["content"] == f"[Hm.]\n\n{text}"
    assert [issue.code for issue in report.issues] == codes
    assert (parts_of(read([message], bracket_reasoning=True)) == parts_of(said)) is not bool(codes)


@given(conversations(forge.HOLDS))
def test_what_is_written_in_brackets_is_read_again_or_reported(conversation: Conversation) -> None:
    report = Report()
    records = forge.dump(conversation, report, bracket_reasoning=True)
    codes = {issue.code for issue in report.issues}
    assert codes <= {"reasoning_in_tags", "text_in_brackets"}
    again = forge.load(records, Report(), bracket_reasoning=True)
    assert (parts_of(again) == parts_of(conversation)) is ("text_in_brackets" not in codes)
    assert forge.dump(again, Report(), bracket_reasoning=True) == records
    assert forge.dump(again, Report()) == records  # as it was


@pytest.mark.parametrize("content", ["[]", "[1, 2]", "Here:\n\n```toml\n[package]\nname = 1\n```\n"])
def test_what_is_no_thought_goes_to_others_as_text(content: str) -> None:
    wire = convert([forge.assistant(content)], "forge", "openai", bracket_reasoning=True, strict=True)
    assert wire == [{"role": "assistant", "content": content}]
    assert convert(wire, "openai", "forge", bracket_reasoning=True, strict=True) == [forge.assistant(content)]


@pytest.mark.parametrize("thought", ["1, 2", '{"a": 1}'])
def test_a_thought_that_reads_like_a_list_is_written_in_a_tag(thought: str) -> None:
    report = Report()
    (message,) = forge.dump(Conversation().assistant("Hi", reasoning=thought), report, bracket_reasoning=True)
    assert message["content"] == f"<think>{thought}</think>\n\nHi"
    assert [issue.code for issue in report.issues] == ["reasoning_in_tags"]


def test_a_thought_after_a_fence_that_is_open_is_read_again() -> None:
    said = Conversation().add(Message.assistant([Text(text="```\ncode"), Reasoning(text="Hm.")]))
    report = Report()
    records = forge.dump(said, report, bracket_reasoning=True)
    assert parts_of(forge.load(records, Report(), bracket_reasoning=True)) == parts_of(said)
    assert report.issues == []


THOUGHT = [{"role": "assistant", "content": "[Let me search...]\n\nParis."}]


def test_convert_reads_and_writes_brackets() -> None:
    """The document: an assistant's message "may include thinking + tool calls + text"."""
    (plain,) = convert(THOUGHT, "forge", "openai")
    assert plain == {"role": "assistant", "content": THOUGHT[0]["content"]}
    wire = convert(THOUGHT, "forge", "openai", bracket_reasoning=True, strict=True)
    assert wire == [{"role": "assistant", "content": "Paris.", "reasoning_content": "Let me search..."}]
    assert convert(wire, "openai", "forge", bracket_reasoning=True, strict=True) == THOUGHT
    assert convert(wire, "openai", "forge") == [forge.assistant("<think>Let me search...</think>\n\nParis.")]
    assert convert(THOUGHT, "forge", "forge", bracket_reasoning=True) == THOUGHT
    tagged = [forge.assistant("<thinking>Hm.</thinking> Paris.")]
    assert convert(tagged, "forge", "forge", bracket_reasoning=True) == [forge.assistant("[Hm.]\n\n Paris.")]
    with pytest.raises(XMLToolsError, match="bracket_reasoning: reasoning stands in brackets in forge only"):
        convert(wire, "openai", "wolo", bracket_reasoning=True)


# From JSON to XML

OLD = """<tool>
{
  "server_name": "local",
  "tool_name": "task_completion",
  "arguments": {"result": "Done"}
}
</tool>"""
NEW = """<tool>
<server_name>local</server_name>
<tool_name>task_completion</tool_name>
<arguments>
  <result>Done</result>
</arguments>
</tool>"""


@pytest.mark.parametrize("case", cases("forge", "json_to_xml"))
def test_the_old_format_of_the_document_becomes_the_new_one(case: dict[str, Any]) -> None:
    assert forge.json_to_xml([forge.assistant(case["input"])]) == [forge.assistant(case["expect"]["xml"])]


def test_stored_json_becomes_xml_in_one_step() -> None:
    """The document, "Migration from JSON Format": the old format and, below it, the new one."""
    stored = [
        forge.user(f"Old: {OLD}"),
        {**forge.assistant(f"[Hm.]\n{OLD}\n\n  Then {OLD}!\n{BLOCK}\n <tool>{{no call</tool>"), "id": 7},
        forge.tool("task_completion", "ok"),
    ]
    expected = [
        stored[0],
        {**stored[1], "content": stored[1]["content"].replace(OLD, NEW)},
        stored[2],
    ]
    assert forge.json_to_xml(stored, strict=True) == expected
    assert forge.json_to_xml(expected, strict=True) == expected
    assert convert(stored, "forge", "forge", issues=[]) == stored


def test_types_are_kept_with_the_tools_and_reported_without() -> None:
    stored = [forge.assistant('<tool>{"tool_name": "f", "arguments": {"n": 5, "all": true,}}</tool>')]
    issues: list[Issue] = []
    (message,) = forge.json_to_xml(stored, issues=issues)
    assert [issue.code for issue in issues] == ["types"]
    assert read([message]).calls[0].arguments == {"n": "5", "all": "true"}
    types = {"n": {"type": "integer"}, "all": {"type": "boolean"}}
    tools = [Tool(name="f", parameters={"type": "object", "properties": types})]
    assert forge.json_to_xml(stored, tools=tools, strict=True) == [message]
    assert read([message], tools=tools).calls[0].arguments == {"n": 5, "all": True}


def test_what_elements_cannot_say_stays_json_and_is_reported() -> None:
    stored = [forge.assistant('<tool>{"tool_name": "f", "arguments": {"a": []}}</tool>')]
    issues: list[Issue] = []
    assert forge.json_to_xml(stored, issues=issues) == stored
    untyped = [Tool(name="f", parameters={"type": "object", "properties": {"a": {}}})]
    forge.json_to_xml(stored, tools=untyped, issues=issues)
    hints = ["give the tools", "give it a schema that declares them"]
    assert [(issue.code, issue.hint) for issue in issues] == [("json_kept", hint) for hint in hints]
    with pytest.raises(XMLToolsError, match="strict: message 0: the call of 'f' stays JSON"):
        forge.json_to_xml(stored, strict=True)


def test_an_object_that_elements_say_as_a_list_stays_json_without_tools() -> None:
    """The document, "Nested Arguments": `<files><file>…</file><file>…</file></files>` is the list `files`, and nothing
    in it says whether an object with the list `file` was meant. The schema does."""
    given: list[dict[str, Any]] = [{"files": {"file": ["a", "b"]}}, {"files": ["a", "b"]}]
    wrapped, plain = (
        [forge.assistant(f'<tool>{{"tool_name": "f", "arguments": {json.dumps(each)}}}</tool>')] for each in given
    )
    issues: list[Issue] = []
    assert forge.json_to_xml(wrapped, issues=issues) == wrapped
    assert [issue.code for issue in issues] == ["json_kept"]
    (as_list,) = forge.json_to_xml(plain, strict=True)
    assert "<files>\n    <file>a</file>\n    <file>b</file>\n  </files>" in as_list["content"]
    assert read([as_list]).calls[0].arguments == given[1]
    names = {"type": "array", "items": {"type": "string"}}
    files = {"type": "object", "properties": {"file": names}}
    tools = [Tool(name="f", parameters={"type": "object", "properties": {"files": files}})]
    (as_object,) = forge.json_to_xml(wrapped, tools=tools, strict=True)
    assert read([as_object], tools=tools).calls[0].arguments == given[0]


def test_stored_json_that_does_not_fit_its_tool_stays_and_is_reported() -> None:
    stored = [forge.assistant(f"{OLD}\n{OLD.replace('Done', 'Gone').replace('result', 'n')}")]
    types = {"type": "object", "properties": {"result": {"type": "string"}, "n": {"type": "integer"}}}
    issues: list[Issue] = []
    (message,) = forge.json_to_xml(stored, tools=[Tool(name="task_completion", parameters=types)], issues=issues)
    assert message["content"] == stored[0]["content"].replace(OLD, NEW)
    assert [(issue.code, issue.index) for issue in issues] == [("json_kept", 0)]


@given(conversations(forge.HOLDS))
def test_a_stored_conversation_says_the_same_in_xml(conversation: Conversation) -> None:
    stored = write(conversation)
    for message, said in zip(stored, conversation, strict=True):
        if said.is_assistant:
            message["content"] = "\n".join(render_call(call, legacy_json=True) for call in said.calls)
    issues: list[Issue] = []
    migrated = forge.json_to_xml(stored, issues=issues)
    assert {issue.code for issue in issues} <= {"json_kept"}
    assert read(migrated).calls == read(stored).calls
    left = sum(call.legacy_json for call in read(migrated).calls)
    assert left == len(issues)
