"""Anthropic's API: what is read, what is written, and that nothing is lost on the way there and back."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter
from support.conversations import conversations
from support.often import examples
from support.seed_cases import cases

from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import anthropic, dump, load, recognise
from xmltools.models import Conversation, Media, Message, Text, ToolCall, ToolResult

ASK = {"role": "user", "content": "Weather?"}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
SAID = {"type": "text", "text": "x"}


def use(id: str = "c1", name: str = "weather", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {"city": "Paris"}} | fields


def result(id: str = "c1", content: Any = "22", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content} | fields


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def codes(issues: list[Issue]) -> list[str]:
    return [issue.code for issue in issues]


def read(obj: Any) -> tuple[Conversation, list[str]]:
    issues: list[Issue] = []
    conversation = load(obj, "anthropic", issues=issues)
    return conversation, codes(issues)


def written(conversation: Conversation, **options: Any) -> tuple[Any, list[str]]:
    issues: list[Issue] = []
    return dump(conversation, "anthropic", issues=issues, **options), codes(issues)


@pytest.mark.full
def test_messages_are_those_of_the_sdk() -> None:
    adapter = TypeAdapter(pytest.importorskip("anthropic.types").MessageParam)

    @given(conversations())
    @examples(50)
    def check(said: Conversation) -> None:
        for message in written(said, orphans="answer")[0]["messages"]:
            assert "role" in repr(adapter.validate_python(message))  # repr runs the iterators inside

    check()


@given(conversations())
def test_answered_conversations_have_the_results_of_a_reply_directly_behind_it(said: Conversation) -> None:
    messages = written(said, orphans="answer")[0]["messages"]
    for place, message in enumerate(messages):
        blocks = message["content"] if message["role"] == "assistant" else []
        calls = [block["id"] for block in blocks if isinstance(block, dict) and block["type"] == "tool_use"]
        if calls:
            assert [block["tool_use_id"] for block in messages[place + 1]["content"]] == calls


def test_a_conversation_is_written_as_the_documents_have_it() -> None:
    said = Conversation().system("Be brief.").user("Weather?")
    calls = [ToolCall(id=id, name="weather", arguments={"city": "Paris"}) for id in ("c1", "c2")]
    said = said.assistant("Let me look.", calls)
    said = said.tool("c1", content="22").tool("c2", content="none", is_error=True).assistant("22 °C")
    assert json.dumps(written(said)[0]) == json.dumps(
        {
            "system": "Be brief.",
            "messages": [
                ASK,
                assistant({"type": "text", "text": "Let me look."}, use(), use("c2")),
                user(result(), result("c2", "none", is_error=True)),
                {"role": "assistant", "content": "22 °C"},
            ],
        }
    )


def same(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"messages": list(messages), **fields}


CACHED = {"cache_control": {"type": "ephemeral"}}
SAME = {
    "system as blocks": same(ASK, system=[SAID]),
    "cached system": same(ASK, system=[SAID, SAID | CACHED]),
    "a block that is like text": same(user({"type": "x", "text": "y"}), system=[{"type": "x", "text": "y"}]),
    "empty system": same(ASK, system=""),
    "request": same(ASK, system="x", model="m", max_tokens=3, tools=[]),
    "one block": same(user(SAID)),
    "keys of a message": same(ASK | {"id": "m1"}),
    "keys of blocks": same(user(SAID | CACHED), assistant(use(**CACHED)), user(result(**CACHED))),
    "keys of a source": same(user({"type": "image", "source": {"type": "url", "url": "https://a/b", "x": 1}})),
    "images": same(user(PNG, SAID, {"type": "image", "source": {"type": "url", "url": "https://a/b"}}, PNG | CACHED)),
    "documents": same(
        user(
            {"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}, "title": "x"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
            {"type": "image", "source": {"type": "file", "file_id": "f1"}},
            {"type": "image", "source": {"type": "url", "url": "https://a/b.pdf"}},
        )
    ),
    "thinking": same(
        ASK,
        assistant(
            {"type": "thinking", "thinking": "hm", "signature": "s1"},
            {"type": "redacted_thinking", "data": "e1"},
            {"type": "thinking", "thinking": "", "signature": "s2"},
            SAID,
            use(),
        ),
    ),
    "tools of the server": same(
        ASK,
        assistant(
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
            {"type": "text", "text": "x", "citations": [{"type": "y"}]},
        ),
    ),
    "only unknown blocks": same(assistant({"type": "redacted_thinking", "data": "e1"})),
    "interleaved": same(assistant(use(), SAID, use("c2"), SAID)),
    "results and text": same(ASK, assistant(use(), use("c2")), user(result(), result("c2"), SAID, PNG)),
    "results and other blocks": same(assistant(use()), user(result(), {"type": "mid", "x": 1}, SAID)),
    "results behind text": same(ASK, assistant(use()), user(SAID, result())),
    "results in two messages": same(ASK, assistant(use(), use("c2")), user(result()), user(result("c2"))),
    "results and text in two messages": same(ASK, assistant(use()), user(result()), user(SAID)),
    "content of results": same(
        assistant(use(), use("c2"), use("c3"), use("c4")),
        user(
            result(content=[SAID]),
            result("c2", [{"type": "search_result", "x": 1}, SAID, PNG]),
            result("c3", []),
            result("c4", ""),
        ),
    ),
    "results without content": same(
        assistant(use(), use("c2")),
        user({"type": "tool_result", "tool_use_id": "c1"}, result("c2", None)),
    ),
    "results that say that they are none": same(assistant(use()), user(result(is_error=False))),
    "surrogate": same(user(SAID, {"type": "text", "text": "a\ud800"})),
}


@pytest.mark.parametrize("obj", SAME.values(), ids=SAME)
def test_what_is_spelled_otherwise_is_written_again_as_it_was(obj: Any) -> None:
    before = copy.deepcopy(obj)
    conversation, issues = read(obj)
    assert issues == []
    assert written(conversation)[0] == obj
    assert obj == before
    again = Conversation.from_json(conversation.to_json()) if "\\ud8" not in repr(obj) else conversation
    assert written(again)[0] == obj


@pytest.mark.parametrize("case", cases("robotlab", "to_anthropic"))
def test_what_the_systems_send_is_written_again_as_it_was(case: dict[str, Any]) -> None:
    request = same(*case["expect"], **({"system": case["system_prompt"]} if "system_prompt" in case else {}))
    assert written(load(request, "anthropic", strict=True)) == (request, [])


def test_the_call_of_a_document_is_written_as_it_has_it() -> None:
    (case,) = (param.values[0] for param in cases("robotlab", "tool_call_block_anthropic"))
    tool = case["input"]
    said = Conversation().assistant("", [ToolCall(id=tool["id"], name=tool["name"], arguments=tool["input"])])
    assert written(said)[0]["messages"] == [assistant(case["expect"])]


def test_results_and_text_of_one_message_are_two_messages() -> None:
    conversation, _ = read(SAME["results and text"])
    assert [message.role for message in conversation] == ["user", "assistant", "tool", "user"]
    assert [(each.call_id, each.name) for each in conversation.results] == [("c1", "weather"), ("c2", "weather")]
    assert [each.status for each in conversation.calls] == ["completed", "completed"]
    assert conversation[3].parts == (Text(text="x"), Media(media_type="image/png", data="aGk="))


def test_a_failed_result_makes_its_call_failed() -> None:
    conversation, _ = read([assistant(use()), user(result(is_error=True))])
    assert conversation.calls[0].status == "failed"
    assert conversation.results[0].is_error


def test_a_list_of_messages_is_written_as_a_request() -> None:
    assert written(read([ASK])[0])[0] == {"messages": [ASK]}


def test_a_response_is_one_reply() -> None:
    response = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, use()],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 3},
    }
    conversation, issues = read(response)
    assert issues == []
    assert conversation[0].finish_reason == "tool_calls"
    assert conversation[0].reasoning == "hm"
    assert conversation[0].extra["anthropic"]["response"]["usage"] == {"input_tokens": 3}
    assert written(conversation) == (same(assistant(*response["content"])), [])


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("stop_sequence", "stop"),
        ("refusal", "content_filter"),
        ("pause_turn", "pause_turn"),
        (None, None),
    ],
)
def test_why_a_reply_ended_is_said_in_our_words(reason: str | None, meaning: str | None) -> None:
    conversation, _ = read({"type": "message", "role": "assistant", "content": [], "stop_reason": reason})
    assert conversation[0].finish_reason == meaning


@pytest.mark.full
def test_objects_of_the_sdk_are_read() -> None:
    types = pytest.importorskip("anthropic.types")
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "x", "usage": usage}
    message = types.Message.model_validate(
        head | {"content": [SAID, use(input={"a": None})], "stop_reason": "tool_use", "stop_sequence": None}
    )
    call = ToolCall(id="c1", name="weather", arguments={"a": None})
    assert load(message, "anthropic", strict=True)[0].parts == (Text(text="x"), call)
    history = [ASK, {"role": "assistant", "content": message.content}, user(result())]
    assert written(load(history, "anthropic"))[0]["messages"][1] == assistant(SAID, use(input={"a": None}))


def test_system_messages_that_stand_elsewhere_are_moved_and_reported() -> None:
    said = Conversation().system("a").system("b").user("x").system("c")
    request, issues = written(said)
    assert request == {
        "system": [{"type": "text", "text": text} for text in "abc"],
        "messages": [ASK | {"content": "x"}],
    }
    assert issues == ["system_joined", "system_moved"]


ORPHAN = Conversation().user("x").assistant("", [ToolCall(id="c1", name="f"), ToolCall(id="c2", name="g")])


def test_calls_without_a_result_are_reported_unless_they_are_the_last_word() -> None:
    assert written(ORPHAN)[1] == []
    assert written(ORPHAN.tool("c2", content="y"))[1] == []
    issues: list[Issue] = []
    dump(ORPHAN.user("y"), "anthropic", issues=issues)
    assert [(issue.code, issue.index) for issue in issues] == [("orphan_call", 1), ("orphan_call", 1)]


def test_calls_without_a_result_are_answered_on_request() -> None:
    none = {"content": "No result provided", "is_error": True}
    request, _ = written(ORPHAN.tool("c2", content="y").user("z"), orphans="answer")
    assert request["messages"][2:] == [user(result("c2", "y"), result("c1") | none), {"role": "user", "content": "z"}]
    assert written(ORPHAN, orphans="answer")[0]["messages"][2:] == [
        user(result("c1") | none, result("c2") | none),
    ]


def test_reasoning_without_a_signature_is_kept_or_dropped() -> None:
    said = Conversation().assistant("x", reasoning="hm")
    thinking = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert written(said) == (same(assistant(thinking, SAID)), [])
    assert written(said, unsigned="drop") == (same({"role": "assistant", "content": "x"}), ["unsigned_reasoning"])
    signed = read(SAME["thinking"])[0]
    assert written(signed, unsigned="drop") == (SAME["thinking"], [])


@pytest.mark.parametrize("option", ["orphans", "unsigned"])
def test_an_unknown_option_is_the_callers_mistake(option: str) -> None:
    with pytest.raises(XMLToolsError, match=rf"{option}: expected '\w+' or '\w+', got 3"):
        dump(Conversation(), "anthropic", **{option: 3})


IMAGE = Media(media_type="image/png", data="aGk=")
LOST = {
    "nothing": (Message.user(""), "empty_message"),
    "only empty text": (Message.user([Text(text="")]), "empty_message"),
    "the type of a URL": (Message.user([Media(media_type="image/png", url="https://a/b")]), "media_type"),
    "the name of a user": (Message.user("x", name="ada"), "names"),
}
LOST_AND_EMPTY = {
    "audio": (Message.user([Media(media_type="audio/wav", data="aGk=")]), "unsupported_media"),
    "a file without anything": (Message.user([Media(media_type="image/png")]), "unsupported_media"),
    "an image in a reply": (Message.assistant([IMAGE]), "misplaced_part"),
    "a call of the user": (Message.user([ToolCall(id="c", name="f")]), "misplaced_part"),
    "text of a tool": (Message(role="tool", parts=(Text(text="x"),)), "misplaced_part"),
}


@pytest.mark.parametrize(("message", "code"), LOST.values(), ids=LOST)
def test_what_cannot_be_said_is_reported(message: Message, code: str) -> None:
    assert written(Conversation(messages=(message,)))[1] == [code]


@pytest.mark.parametrize(("message", "code"), LOST_AND_EMPTY.values(), ids=LOST_AND_EMPTY)
def test_what_cannot_be_said_at_all_is_left_out_and_reported(message: Message, code: str) -> None:
    assert written(Conversation(messages=(message,))) == (same(), [code, "empty_message"])


def test_empty_texts_are_left_out() -> None:
    call = ToolCall(id="c", name="f")
    said = Conversation(messages=(Message.assistant([Text(text=""), call]),))
    assert written(said)[0]["messages"][0]["content"] == [use("c", "f", input={})]
    content = (Text(text=""), IMAGE)
    tool = ToolResult(call_id="c", name="f", content=content)
    assert written(said.add(Message(role="tool", parts=(tool,))))[0]["messages"][1] == user(result("c", [PNG]))


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([assistant(use(input='{"city":"Paris"}'))], "arguments_text"),
        ([assistant(use(id=None))], "missing_id"),
        ([assistant(use(input=None))], "missing_input"),
        ([assistant(use()), user(result(None))], "missing_id"),
        ([user(result("c9"))], "orphan_result"),
    ],
)
def test_what_is_odd_is_mended_and_reported(messages: Any, code: str) -> None:
    conversation, issues = read(messages)
    assert issues == [code]
    assert [call.arguments for call in conversation.calls] in ([], [{}], [{"city": "Paris"}])
    assert all(call.id for call in conversation.calls)
    with pytest.raises(XMLToolsError, match=r"^strict: message [01]: "):
        load(messages, "anthropic", strict=True)


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"a": 1}, 'anthropic: expected {"system"'),
        ([ASK, {"role": "tool", "content": "x"}], "message 1: role: expected user or assistant, got 'tool'"),
        ([{"role": "user"}], "message 0: content: expected text or a list of blocks, .*got nothing"),
        ([user({"type": "text"})], r"message 0: content\[0\]\.text: expected text, got nothing"),
        ([user({"text": "x"})], r"message 0: content\[0\]\.type: expected text, image"),
        ([assistant(use(input=[1]))], r"message 0: content\[0\]\.input: expected an object, got a list"),
        ([assistant(use(name=None))], r"message 0: content\[0\]\.name: expected the name of a tool"),
        ([assistant(SAID, result())], r"message 0: content\[1\]\.type: expected no tool_result in .* assistant"),
        ([user(result(content=[{"type": "text"}]))], r"message 0: content\[0\]\.content\[0\]\.text: expected text"),
        ([user(PNG | {"source": 3})], r"message 0: content\[0\]\.source: expected an object"),
        (same(ASK, system=3), "system: content: expected text or a list of blocks"),
    ],
)
def test_what_is_malformed_raises_with_its_place(obj: Any, message: str) -> None:
    with pytest.raises(XMLToolsError, match=message):
        load(obj, "anthropic")


@pytest.mark.parametrize(
    "obj",
    [
        SAME["thinking"],
        SAME["images"],
        [assistant(use())],
        [user(result())],
        {"type": "message", "role": "assistant", "content": []},
    ],
)
def test_it_is_recognised(obj: Any) -> None:
    assert recognise(obj) == "anthropic"


@pytest.mark.parametrize(
    "obj",
    [
        [ASK],
        [user(SAID)],
        [assistant({"type": "thinking", "thinking": "x", "thinkingSignature": "y"})],
        [{"type": "tool_result", "role": "tool_result", "content": {"data": "x"}}],
        [3, None, {"content": [3]}],
        3,
        None,
        "x",
        {},
    ],
)
def test_what_others_say_too_is_not_recognised(obj: Any) -> None:
    assert not anthropic.recognise(obj)
