from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter, ValidationError
from support.conversations import conversations
from support.junk import hashes
from support.seed_cases import cases

from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import FORMATS, clawtools, convert, dump, load, recognise
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult

CALL = {"type": "toolCall", "id": "call_abc123", "name": "read", "arguments": {"path": "src/index.ts"}}
ASKED = {"role": "assistant", "content": [CALL]}
TEXT = {"type": "text", "text": "ok"}
RESULT = {"role": "toolResult", "toolCallId": "call_abc123", "toolName": "read", "content": [TEXT], "isError": False}
PNG = "data:image/png;base64,iVBORw0KGgo="
MISTAKES = {
    "seed-clawtools-095": "openai_tool_role",
    "seed-clawtools-096": "anthropic_tool_result",
    "seed-clawtools-097": "anthropic_tool_use",
    "seed-clawtools-098": "openai_tool_calls",
}


def read(obj: Any) -> tuple[Conversation, list[str]]:
    issues: list[Issue] = []
    return load(obj, "clawtools", issues=issues), [issue.code for issue in issues]


def write(said: Conversation) -> tuple[Any, list[str]]:
    issues: list[Issue] = []
    return dump(said, "clawtools", issues=issues), [issue.code for issue in issues]


def again(obj: Any) -> Any:
    return dump(load(obj, "clawtools", strict=True), "clawtools", strict=True)


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


# The document


@pytest.mark.parametrize("case", cases("clawtools", "valid_message"))
def test_a_message_of_the_document_is_written_as_it_was(case: dict[str, Any]) -> None:
    assert json.dumps(again([case["input"]])) == json.dumps([case["expect"]["roundtrip"]])
    assert clawtools.check([case["input"]]) == []


@pytest.mark.parametrize("case", cases("clawtools", "valid_conversation"))
def test_the_loop_of_the_document_is_written_as_it_was(case: dict[str, Any]) -> None:
    assert json.dumps(again(case["input"])) == json.dumps(case["input"])
    said = load(case["input"], "clawtools")
    assert [message.role for message in said] == ["user", "assistant", "tool", "assistant"]
    assert said.calls[0].status == "completed"


@pytest.mark.parametrize("case", cases("clawtools", "wrong_to_right"))
def test_a_common_mistake_is_mended_with_an_issue(case: dict[str, Any]) -> None:
    before = [] if case["input"]["role"] == "assistant" else [ASKED]
    said, codes = read([*before, case["input"]])
    assert codes == [MISTAKES[case["id"]]]
    assert json.dumps(write(said)[0]) == json.dumps([*before, case["expect"]["fixed"]])


@pytest.mark.parametrize("case", cases("clawtools", "wrong_to_right"))
def test_a_common_mistake_is_refused_by_strict_with_the_right_form(case: dict[str, Any]) -> None:
    right = '"type": "toolCall"' if case["input"]["role"] == "assistant" else '"role": "toolResult"'
    with pytest.raises(XMLToolsError, match="message 1: ") as caught:
        load([ASKED, case["input"]], "clawtools", strict=True)
    assert right in str(caught.value)


@pytest.mark.parametrize("case", cases("clawtools", "wrong_to_right"))
def test_check_lists_a_common_mistake(case: dict[str, Any]) -> None:
    [issue] = clawtools.check([ASKED, case["input"]])
    assert (issue.code, issue.index) == (MISTAKES[case["id"]], 1)
    assert issue.hint.startswith("write ")


def test_check_lists_every_mistake_and_goes_on_behind_what_is_malformed() -> None:
    wrong = [{"role": "tool", "tool_call_id": "x", "content": "?"}, {"role": "robot"}, user({"type": "text"}), "hi"]
    found = [(issue.code, issue.index) for issue in clawtools.check(wrong)]
    assert found == [("openai_tool_role", 0), ("orphan_result", 0)] + [("malformed", place) for place in (1, 2, 3)]


def test_check_says_the_place_of_a_malformed_message_once() -> None:
    [issue] = clawtools.check([{"role": "robot"}])
    assert str(issue).startswith("message 0: role: expected ")


# Law 10


KEYS = ("role", "content", "type", "text", "toolCallId", "toolName", "isError", "id", "name", "arguments", "tool_calls")
KEYS += ("function", "tool_call_id", "tool_use_id", "image_url", "url", "data", "mimeType", "thinking", "source")
WORDS = ("user", "assistant", "toolResult", "tool", "text", "toolCall", "image", "image_url", "tool_use", "tool_result")


@given(hashes(KEYS, WORDS, {"role": WORDS[:4], "type": WORDS[4:]}))
def test_whatever_is_read_is_written_and_all_else_is_refused(messages: list[Any]) -> None:
    try:
        said = load(messages, "clawtools", issues=[])
    except XMLToolsError:
        assert clawtools.check(messages)
        return
    written = dump(said, "clawtools", issues=[])
    assert dump(load(written, "clawtools", issues=[]), "clawtools", issues=[]) == written


# Shapes


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ""},
        user(),
        user(TEXT),
        user(TEXT, TEXT),
        user({**TEXT, "cache": True}),
        {"role": "user", "content": "hi", "timestamp": 5},
        user({"type": "audio", "data": "…"}),
        user({"type": "a"}, TEXT, {"type": "b"}, {"type": "c"}, TEXT, {"type": "d"}),
        user({"type": "image_url", "image_url": {"url": PNG, "detail": "low"}}),
        user({"type": "image_url", "image_url": {"url": PNG}, "mimeType": "image/png"}),
        user({"type": "image_url", "image_url": {"url": "https://a.b/c"}, "mimeType": "image/webp"}),
        user({"type": "image_url", "image_url": {"url": "https://a.b/c.gif"}, "mimeType": "image/gif"}),
        user({"type": "image_url", "image_url": {"url": "https://a.b/c.gif"}, "mimeType": None}),
        user({"type": "image_url", "image_url": {"url": "data:text/plain,hello"}}),
        user({"type": "image", "data": "aGk=", "mimeType": "image/png", "alt": "hi"}),
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None, "stopReason": "aborted"},
        assistant(),
        assistant(TEXT),
        assistant(CALL, TEXT, CALL),
        assistant({**CALL, "thoughtSignature": "x"}),
        assistant({"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, TEXT),
        assistant({"type": "thinking", "thinking": ""}),
        {**RESULT, "content": []},
        {**RESULT, "content": [TEXT, TEXT]},
        {**RESULT, "content": [{"type": "text", "text": ""}]},
        {**RESULT, "content": [{**TEXT, "cache": 1}]},
        {**RESULT, "content": [{"type": "chart"}, TEXT]},
        {**RESULT, "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}], "isError": True},
        {**RESULT, "content": [{"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}]},
        {**RESULT, "details": None, "timestamp": 1},
        {"role": "user", "content": "half a \ud800 character"},
    ],
)
def test_a_message_is_written_as_it_was_read(message: dict[str, Any]) -> None:
    assert json.dumps(again([message])) == json.dumps([message])


def test_details_are_passed_through_and_nothing_is_lost_without_them() -> None:
    """The document: `details` are "passed through, not shown to the LLM"."""
    messages = [assistant(CALL), {**RESULT, "details": {"took": 3}}]
    assert again(messages) == messages
    for target in ("openai", "anthropic", "wolo"):
        written = convert(messages, "clawtools", target, strict=True)
        assert "took" not in json.dumps(written)


def test_blocks_are_the_parts_of_a_message() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    message = load([assistant(thinking, TEXT, CALL)], "clawtools")[0]
    assert message.parts == (
        Reasoning(text="hm", extra={"clawtools": {"thinkingSignature": "s"}}),
        Text(text="ok"),
        ToolCall(id="call_abc123", name="read", arguments={"path": "src/index.ts"}),
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (PNG, Media(media_type="image/png", data="iVBORw0KGgo=")),
        ("data:;base64,", Media(media_type="", data="")),
        ("https://a.b/c.JPG?x=1#y", Media(media_type="image/jpeg", url="https://a.b/c.JPG?x=1#y")),
        ("https://a.b/c", Media(media_type="image/*", url="https://a.b/c")),
    ],
)
def test_a_url_is_read_as_data_or_as_a_url(url: str, expected: Media) -> None:
    block = {"type": "image_url", "image_url": {"url": url}}
    assert load([user(block)], "clawtools")[0].media == (expected,)
    assert again([user(block)]) == [user(block)]


def test_text_that_was_changed_is_not_written_as_it_was() -> None:
    said = load([user(TEXT, {"type": "odd"})], "clawtools")
    changed = said[0].model_copy(update={"parts": ()})
    assert write(said.with_messages([changed])) == ([user({"type": "odd"})], [])
    said = load([{"role": "assistant", "content": ""}], "clawtools")
    changed = said[0].model_copy(update={"parts": (Text(text="now"),)})
    assert write(said.with_messages([changed])) == ([{"role": "assistant", "content": "now"}], [])


def test_raw_arguments_give_way_to_new_ones() -> None:
    said, codes = read([assistant({**CALL, "arguments": "{broken"})])
    assert codes == ["invalid_arguments"]
    assert said.calls[0].arguments == {}
    assert write(said)[0] == [assistant({**CALL, "arguments": "{broken"})]
    mended = said.calls[0].model_copy(update={"arguments": {"path": "a"}})
    changed = said.with_messages([Message.assistant(calls=[mended])])
    assert write(changed)[0] == [assistant({**CALL, "arguments": {"path": "a"}})]


# The system prompt


@pytest.mark.parametrize(
    "context",
    [
        {"systemPrompt": "Be brief.", "messages": [{"role": "user", "content": "hi"}]},
        {"systemPrompt": "", "messages": []},
        {"systemPrompt": "Be brief.", "messages": [], "tools": [{"name": "read"}]},
        {"messages": []},
        {"messages": [RESULT], "systemPrompt": None},
    ],
)
def test_an_object_around_the_messages_is_written_again(context: dict[str, Any]) -> None:
    assert again(context) == context


def test_the_system_prompt_is_a_system_message() -> None:
    said = load({"systemPrompt": "Be brief.", "messages": []}, "clawtools")
    assert said == Conversation().system("Be brief.")


def test_system_messages_are_joined_and_moved_with_issues() -> None:
    said = Conversation().system("A").user("hi").system("B")
    written, codes = write(said)
    assert written == {"systemPrompt": "A\n\nB", "messages": [{"role": "user", "content": "hi"}]}
    assert codes == ["system_joined", "system_moved"]
    assert write(Conversation().system("").system("B").system(""))[0]["systemPrompt"] == "B"


def test_a_system_message_in_the_list_is_mended() -> None:
    said, codes = read([{"role": "system", "content": "Be brief."}])
    assert codes == ["system_message"]
    assert said == Conversation().system("Be brief.")


# What is odd, and what is malformed


@pytest.mark.parametrize(
    ("messages", "codes", "fixed"),
    [
        ([{"role": "user"}], ["missing_content"], [{"role": "user", "content": ""}]),
        ([{"role": "assistant"}], ["missing_content"], [{"role": "assistant", "content": None}]),
        ([ASKED, {**RESULT, "content": "ok"}], ["result_text"], [ASKED, RESULT]),
        ([ASKED, {**RESULT, "toolName": None}], ["missing_tool_name"], [ASKED, RESULT]),
        ([{**RESULT, "toolName": None}], ["missing_tool_name", "orphan_result"], [{**RESULT, "toolName": ""}]),
        ([ASKED, {**RESULT, "isError": None}], ["missing_is_error"], [ASKED, RESULT]),
        ([ASKED, {**RESULT, "content": None}], ["missing_content"], [ASKED, {**RESULT, "content": []}]),
        (
            [assistant({**CALL, "arguments": '{"path": "src/index.ts"}'})],
            ["arguments_text"],
            [ASKED],
        ),
        (
            [user({"type": "image_url", "image_url": PNG})],
            ["image_url_text"],
            [user({"type": "image_url", "image_url": {"url": PNG}})],
        ),
        (
            [ASKED, user({"type": "tool_result", "tool_use_id": "call_abc123", "content": "ok"}, TEXT)],
            ["anthropic_tool_result"],
            [ASKED, RESULT, user(TEXT)],
        ),
        (
            [ASKED, user({"type": "tool_result", "tool_use_id": "call_abc123", "content": [TEXT], "is_error": True})],
            ["anthropic_tool_result"],
            [ASKED, {**RESULT, "isError": True}],
        ),
        (
            [{"role": "tool", "tool_call_id": "call_abc123", "name": "read", "content": "ok"}],
            ["openai_tool_role"],
            [RESULT],
        ),
        (
            [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{"}}]}],
            ["openai_tool_calls", "invalid_arguments"],
            [assistant({"type": "toolCall", "id": "1", "name": "f", "arguments": "{"})],
        ),
    ],
)
def test_what_is_odd_is_mended(messages: list[Any], codes: list[str], fixed: list[Any]) -> None:
    said, found = read(messages)
    assert found == codes
    assert write(said)[0] == fixed


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"type": "base64", "media_type": "image/png", "data": "aGk="}, Media(media_type="image/png", data="aGk=")),
        ({"type": "url", "url": "https://a.b/c.png"}, Media(media_type="image/png", url="https://a.b/c.png")),
    ],
)
def test_an_image_in_a_result_for_anthropic_is_kept(source: dict[str, Any], expected: Media) -> None:
    image = {"type": "image", "source": source}
    said, codes = read([ASKED, user({"type": "tool_result", "tool_use_id": "call_abc123", "content": [image]})])
    assert codes == ["anthropic_tool_result"]
    assert said.results[0].content == (expected,)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("hi", "clawtools: expected a list of messages"),
        ({"role": "user"}, "clawtools: expected a list of messages"),
        ({"systemPrompt": 5, "messages": []}, "systemPrompt: expected text, got a number"),
        (["hi"], "message 0: the message: expected an object with a role"),
        ([{"content": "hi"}], 'message 0: role: expected "user", "assistant" or "toolResult", got nothing'),
        ([{"role": "user", "content": 5}], "message 0: content: expected text or a list of blocks, got a number"),
        ([user("hi")], "message 0: content[0]: expected a block"),
        ([user({})], "message 0: content[0].type: expected text"),
        ([user({"type": "text"})], "message 0: content[0].text: expected text"),
        ([user({"type": "image_url", "image_url": 5})], "message 0: content[0].image_url: expected a URL"),
        ([user({"type": "image", "data": "x"})], "message 0: content[0].mimeType: expected text"),
        ([user(TEXT), assistant({**CALL, "id": 5})], "message 1: content[0].id: expected text, as in"),
        ([{**RESULT, "toolCallId": None}], "message 0: toolCallId: expected text, as in"),
        ([{**RESULT, "toolName": 5}], "message 0: toolName: expected text, as in"),
        ([{**RESULT, "isError": "no"}], "message 0: isError: expected true or false, got text"),
        ([{**RESULT, "content": 5}], "message 0: content: expected a list"),
        ([{"role": "assistant", "tool_calls": 5}], "message 0: tool_calls: expected "),
        ([{"role": "assistant", "tool_calls": [{}]}], "message 0: tool_calls[0].function: expected a call"),
        ([{"role": "tool", "content": "x"}], "message 0: tool_call_id: expected text"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(messages: Any, message: str) -> None:
    with pytest.raises(XMLToolsError) as caught:
        load(messages, "clawtools", issues=[])
    assert str(caught.value).startswith(message)


# What the format cannot say


@pytest.mark.parametrize(
    ("message", "codes"),
    [
        (Message(role="tool", parts=(Text(text="x"),)), ["misplaced_part"]),
        (Message(role="tool"), ["empty_message"]),
        (Message(role="user", parts=(ToolResult(call_id="1", name="f"), Text(text="x"))), ["misplaced_part"]),
        (Message(role="user", parts=(ToolResult(call_id="1", name="f"),)), ["misplaced_part"]),
        (Message(role="user", parts=(Media(media_type="image/png"),)), ["empty_media"]),
        (Message(role="user", parts=(Media(media_type="image/png", data="", url="u"),)), ["media_url"]),
        (Message.tool("1", "f", (Media(media_type="image/png", url="https://a.b/c.png"),)), ["media_url"]),
        (Message.system([Media(media_type="image/png", data="")]), ["misplaced_part"]),
    ],
)
def test_what_cannot_be_said_is_reported(message: Message, codes: list[str]) -> None:
    assert write(Conversation(messages=(message,)))[1] == codes


@pytest.mark.parametrize("junk", [5, [], {"content": 5}, {"content": {"as": 5, "unknown": [5, [-1, 2], ["x", 1]]}}])
def test_an_extra_that_is_not_ours_does_no_harm(junk: Any) -> None:
    extra = {"clawtools": junk}
    parts = (Text(text="x", extra=extra), ToolCall(id="1", name="f", extra=extra))
    result = ToolResult(call_id="1", name="f", content="ok", extra=extra)
    messages = (Message(role="assistant", parts=parts, extra=extra), Message(role="tool", parts=(result,)))
    written = write(Conversation(messages=messages))[0]
    assert [message["role"] for message in written] == ["assistant", "toolResult"]


# Recognising


@pytest.mark.parametrize("obj", [[RESULT], [ASKED], {"messages": [ASKED]}, {"systemPrompt": "", "messages": []}])
def test_it_is_recognised_by_its_own_marks(obj: Any) -> None:
    assert clawtools.recognise(obj)
    assert recognise(obj) == "clawtools"


@pytest.mark.parametrize(
    "obj",
    [
        None,
        "toolResult",
        [],
        [{"role": "user", "content": "hi"}],
        [{"role": "tool", "tool_call_id": "1", "content": "x"}],
        [user({"type": "image", "source": {}}), assistant({"type": "tool_use", "id": "1", "name": "f", "input": {}})],
        {"messages": {"messages": []}},
    ],
)
def test_it_is_not_recognised_by_what_others_have(obj: Any) -> None:
    assert not clawtools.recognise(obj)


@pytest.mark.parametrize("case", cases("clawtools", "to_openai"))
def test_results_go_to_openai_with_their_images(case: dict[str, Any]) -> None:
    """The document: the content of a result holds `text` and `image` blocks; `details` are not shown to the LLM."""
    issues: list[Issue] = []
    assert convert(case["input"], "clawtools", "openai", issues=issues) == case["expect"]["messages"]
    assert [issue.code for issue in issues] == case["expect"]["issues"]
    if not issues:
        convert(case["input"], "clawtools", "openai", strict=True)
    back = convert(case["expect"]["messages"], "openai", "clawtools", strict=True)
    assert back == [{key: value for key, value in each.items() if key != "details"} for each in case["input"]]


MESSAGE = TypeAdapter(clawtools.ConversationMessage)


@given(conversations(clawtools.HOLDS, system=False))
def test_what_is_written_is_of_the_types_of_the_document(said: Conversation) -> None:
    """The document: UserMessage, AssistantMessage, and ToolResultMessage are a ConversationMessage."""
    for message in dump(said, "clawtools", strict=True):
        assert MESSAGE.validate_python(message, extra="forbid") == message


@pytest.mark.parametrize("case", cases("clawtools", "valid_message", "wrong_to_right"))
def test_the_messages_of_the_document_are_of_its_types(case: dict[str, Any]) -> None:
    right = case["input"] if case["kind"] == "valid_message" else case["expect"]["fixed"]
    assert MESSAGE.validate_python(right, extra="forbid") == right
    if case["kind"] == "wrong_to_right":
        with pytest.raises(ValidationError):
            MESSAGE.validate_python(case["input"], extra="forbid")


@pytest.mark.parametrize("target", sorted({*FORMATS} - {"clawtools", "anthropic"}))
def test_text_blocks_of_a_result_come_with_line_breaks_between_them(target: str) -> None:
    """Clawtools' connectors send the texts of a result with a line break between them."""
    blocks = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    asked = {"role": "assistant", "content": [{"type": "toolCall", "id": "call_1", "name": "f", "arguments": {}}]}
    result = {"role": "toolResult", "toolCallId": "call_1", "toolName": "f", "content": blocks, "isError": False}
    issues: list[Issue] = []
    written = convert([asked, result], "clawtools", target, issues=issues, **TIMELESS.get(target, {}))
    assert [issue.code for issue in issues if issue.code != "call_ids"] == ["result_texts"]
    (back,) = (each for each in convert(written, target, "clawtools", issues=[]) if each["role"] == "toolResult")
    assert back["content"] == [{"type": "text", "text": "a\nb"}]
    assert convert(convert([asked, result], "clawtools", "anthropic"), "anthropic", "clawtools") == [asked, result]


TIMELESS = {"wolo": {"complete": False}}
