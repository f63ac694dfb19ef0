"""OpenAI's chat completions: what is read, what is written, and that nothing is lost on the way there and back."""

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
from xmltools.formats import convert, dump, load, openai, recognise
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult

ASK = {"role": "user", "content": "Weather?"}


def call(text: str = '{"city":"Paris"}', id: str = "c1", name: str = "weather") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


def reply(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)} | fields


def answer(text: Any = "22", id: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text} | fields


def codes(issues: list[Issue]) -> list[str]:
    return [issue.code for issue in issues]


def read(obj: Any) -> tuple[Conversation, list[str]]:
    issues: list[Issue] = []
    conversation = load(obj, "openai", issues=issues)
    return conversation, codes(issues)


def written(conversation: Conversation, **options: Any) -> tuple[Any, list[str]]:
    issues: list[Issue] = []
    return dump(conversation, "openai", issues=issues, **options), codes(issues)


def test_messages_are_those_of_the_sdk() -> None:
    adapter = TypeAdapter(pytest.importorskip("openai.types.chat").ChatCompletionMessageParam)

    @given(conversations())
    @examples(50)
    def check(said: Conversation) -> None:
        for message in written(said)[0] + written(said, content="parts")[0]:
            assert "role" in repr(adapter.validate_python(message))  # repr runs the iterators inside

    check()


def test_a_conversation_is_written_as_the_documents_have_it() -> None:
    said = Conversation().system("Be brief.").user("Weather?")
    said = said.assistant("Let me look.", [ToolCall(id="c1", name="weather", arguments={"city": "Zürich", "days": 2})])
    said = said.tool("c1", content="22").assistant("22 °C")
    assert written(said)[0] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": [call('{"city":"Zürich","days":2}')]},
        {"role": "tool", "tool_call_id": "c1", "content": "22"},
        {"role": "assistant", "content": "22 °C"},
    ]


def test_a_reply_that_only_calls_has_the_content_null() -> None:
    said = Conversation().assistant("", [ToolCall(id="c1", name="f")])
    assert list(written(said)[0][0].items())[:2] == [("role", "assistant"), ("content", None)]


SAME = {
    "developer": [{"role": "developer", "content": "x"}],
    "names": [{"role": "user", "name": "ada", "content": "x"}, {"role": "assistant", "name": "bob", "content": "y"}],
    "one part": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
    "several texts": [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}],
    "no part": [{"role": "user", "content": []}],
    "no text": [{"role": "user", "content": ""}],
    "keys of parts": [{"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "e"}}]}],
    "image": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a/b", "detail": "low"}}]}
    ],
    "image as data": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}
    ],
    "image as data with a character set": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;x=1;base64,aGk="}}]}
    ],
    "image that is no base64": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/svg+xml,%3Csvg/%3E"}}]}
    ],
    "audio": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}]}],
    "file": [
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk=", "filename": "a.pdf"}},
                {"type": "file", "file": {"file_data": "data:image/png;base64,aGk="}},
                {"type": "file", "file": {"file_id": "f1"}},
                {"type": "text", "text": "x"},
                {"type": "video_url", "video_url": {"url": "http://a/b"}},
            ],
        }
    ],
    "refusal": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}], "refusal": None}],
    "content left out": [ASK, {"role": "assistant", "tool_calls": [call()]}, answer()],
    "content empty": [ASK, reply(call(), content=""), answer("")],
    "content null": [{"role": "assistant", "content": None, "audio": {"id": "a"}}],
    "content of results": [
        ASK,
        reply(call()),
        answer([{"type": "text", "text": "x"}]),
        {"role": "user", "content": "y"},
    ],
    "empty content of results": [ASK, reply(call()), answer([])],
    "name of a result": [ASK, reply(call()), answer(name="weather")],
    "spaced arguments": [ASK, reply(call('{"city": "Paris"}')), answer()],
    "escaped arguments": [ASK, reply(call('{"city":"Z\\u00fcrich"}')), answer()],
    "no arguments": [ASK, reply(call("")), answer()],
    "invalid arguments": [ASK, reply(call('{"city": ')), answer()],
    "arguments that are a list": [ASK, reply(call("[1]")), answer()],
    "repeated keys in arguments": [ASK, reply(call('{"a":1,"a":2}')), answer()],
    "surrogate in arguments": [ASK, reply(call('{"a":"\ud83d"}')), answer()],
    "keys of calls": [reply({**call(), "index": 0} | {"function": {"name": "f", "arguments": "{}", "x": 1}})],
    "another type of call": [reply({**call(), "type": "builtin_function"})],
    "custom tool": [reply({"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls {"}}), answer()],
    "keys of a custom tool": [
        reply({"id": "c1", "type": "custom", "x": 1, "custom": {"name": "f", "input": "", "y": 2}})
    ],
    "a file with a character set": [
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "data:text/csv;x=1;base64,aGk="}}]}
    ],
    "keys of an audio part": [
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav", "x": 1}}]}
    ],
    "content of a result null": [ASK, reply(call()), answer(None)],
    "function_call": [
        ASK,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ],
    "reasoning": [{"role": "assistant", "content": "x", "reasoning": "hm"}],
    "reasoning_content": [{"role": "assistant", "content": "x", "reasoning_content": "hm"}],
    "both keys": [{"role": "assistant", "content": "x", "reasoning": "hm", "reasoning_content": "hm"}],
    "no reasoning": [{"role": "assistant", "content": "x", "reasoning_content": None}],
    "request": {"model": "m", "messages": [ASK], "tools": []},
    "request without more": {"messages": [ASK]},
    "surrogate": [{"role": "user", "content": "a\ud800"}],
}


@pytest.mark.parametrize("obj", SAME.values(), ids=SAME)
def test_what_is_spelled_otherwise_is_written_again_as_it_was(obj: Any) -> None:
    before = copy.deepcopy(obj)
    conversation, _ = read(obj)
    assert written(conversation)[0] == obj
    assert obj == before
    again = Conversation.from_json(conversation.to_json()) if "\\ud8" not in repr(obj) else conversation
    assert written(again)[0] == obj


@pytest.mark.parametrize("case", [*cases("wolo", "to_openai"), *cases("robotlab", "to_openai")])
def test_what_the_systems_send_is_written_again_as_it_was(case: dict[str, Any]) -> None:
    conversation, issues = read(case["expect"])
    assert json.dumps(written(conversation)) == json.dumps((case["expect"], []))
    assert issues == []


def test_the_call_of_a_document_is_written_as_it_has_it() -> None:
    (case,) = (param.values[0] for param in cases("robotlab", "tool_call_block_openai"))
    tool = case["input"]
    said = Conversation().assistant("", [ToolCall(id=tool["id"], name=tool["name"], arguments=tool["input"])])
    assert written(said)[0][0]["tool_calls"] == [{"id": tool["id"], **case["expect"]}]


def test_parts_become_texts_and_media() -> None:
    url, data = "https://a/b.webp", "data:image/png;base64,aGk="
    parts = [{"type": "text", "text": "x"}, *({"type": "image_url", "image_url": {"url": u}} for u in (url, data))]
    parts.append({"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}})
    assert read([{"role": "user", "content": parts}])[0][0].parts == (
        Text(text="x"),
        Media(media_type="image/webp", url=url),
        Media(media_type="image/png", data="aGk="),
        Media(media_type="audio/mpeg", data="aGk="),
    )


def test_a_custom_tool_has_one_argument() -> None:
    conversation, _ = read([reply({"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}})])
    assert conversation.calls == (ToolCall(id="c1", name="sh", arguments={"input": "ls"}),)
    changed = conversation.calls[0].model_copy(update={"arguments": {"input": "ls", "dir": "/"}})
    assert written(Conversation().assistant("", [changed]))[0][0]["tool_calls"] == [
        call('{"input":"ls","dir":"/"}', name="sh")
    ]


def test_results_take_their_names_from_the_calls_and_calls_their_status_from_the_results() -> None:
    conversation, issues = read([ASK, reply(call(), call(id="c2", name="time")), answer(id="c2")])
    assert [(each.call_id, each.name) for each in conversation.results] == [("c2", "time")]
    assert [each.status for each in conversation.calls] == ["pending", "completed"]
    assert issues == []


def test_function_calls_get_ids_by_counting() -> None:
    turn = [
        {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]
    conversation, issues = read([*turn, *turn])
    assert [each.id for each in conversation.calls] == ["call_1", "call_2"]
    assert [each.call_id for each in conversation.results] == ["call_1", "call_2"]
    assert issues == []


def test_a_result_stays_with_a_function_call_that_becomes_a_tool_call() -> None:
    conversation, _ = read(SAME["function_call"])
    ask, said, result = conversation
    two = said.model_copy(update={"parts": (*said.parts, ToolCall(id="x", name="g"))})
    messages, _ = written(conversation.with_messages([ask, two, result]))
    assert [each["id"] for each in messages[1]["tool_calls"]] == ["call_1", "x"]
    assert messages[2] == {"role": "tool", "tool_call_id": "call_1", "content": "1"}


def test_changed_arguments_are_not_written_as_they_were() -> None:
    conversation, _ = read([reply(call('{"city": "Paris"}'))])
    changed = conversation.calls[0].model_copy(update={"arguments": {"city": "Rome"}})
    text = written(Conversation().assistant("", [changed]))[0][0]["tool_calls"][0]["function"]["arguments"]
    assert text == '{"city":"Rome"}'


@pytest.mark.parametrize(
    ("messages", "code", "arguments"),
    [
        ([reply(call('{"city": '))], "invalid_arguments", {}),
        ([reply(call("7"))], "invalid_arguments", {}),
        ([reply(call('{"a":1,}'))], "mended_arguments", {"a": 1}),
        ([reply(call({"a": 1}))], "arguments_no_text", {"a": 1}),  # type: ignore[arg-type]
        ([reply({"type": "function", "function": {"name": "f", "arguments": "{}"}})], "missing_id", {}),
        ([reply({"id": "c1", "function": {"name": "f", "arguments": "{}"}})], "missing_type", {}),
    ],
)
def test_what_is_odd_in_a_call_is_mended_and_reported(messages: Any, code: str, arguments: Any) -> None:
    conversation, issues = read(messages)
    assert issues == [code]
    assert conversation.calls[0].arguments == arguments
    assert conversation.calls[0].id in ("c1", "call_1")
    with pytest.raises(XMLToolsError, match=r"^strict: message 0: "):
        load(messages, "openai", strict=True)


def test_an_image_that_is_a_text_is_mended() -> None:
    conversation, issues = read([{"role": "user", "content": [{"type": "image_url", "image_url": "https://a/b.gif"}]}])
    assert issues == ["mended_part"]
    assert conversation[0].parts == (Media(media_type="image/gif", url="https://a/b.gif"),)


def test_one_message_alone_is_read() -> None:
    assert load(reply(call()), "openai", strict=True) == load([reply(call())], "openai")


def test_results_without_ids_are_those_of_the_calls_in_order() -> None:
    nameless = {"role": "tool", "content": "1"}
    conversation, issues = read([reply(call(), call(id="c2", name="time")), nameless | {"name": "time"}, nameless])
    assert [(each.call_id, each.name) for each in conversation.results] == [("c2", "time"), ("c1", "weather")]
    assert issues == ["missing_id", "missing_id"]


def test_results_with_empty_ids_are_those_of_calls_with_empty_ids() -> None:
    conversation, _ = read([reply(call(), call(id="", name="time")), answer(id=""), answer(id="")])
    assert [(each.call_id, each.name) for each in conversation.results] == [("call_2", "time"), ("", "")]
    assert written(conversation)[0][2] == answer(id="")


@pytest.mark.parametrize("result", [answer(id="c9"), {"role": "function", "name": "f", "content": "1"}])
def test_a_result_of_no_call_is_reported(result: Any) -> None:
    conversation, issues = read([ASK, result])
    assert issues == ["orphan_result"]
    assert conversation.results[0].text in ("22", "1")


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"a": 1}, "openai: expected a list of messages, "),
        ("x", "messages: expected a list of messages, .*got text"),
        ([ASK, 3], r"messages\[1\]: expected an object, got a number"),
        ([ASK, {"role": "model", "content": ""}], "message 1: role: expected system, developer, user, .*'model'"),
        ([{"role": "user", "content": None}], "message 0: content: expected text or a list of parts, .*got nothing"),
        ([{"role": "user", "content": [{"type": "text"}]}], r"message 0: content\[0\]\.text: expected text"),
        ([{"role": "user", "content": [{"text": "x"}]}], r"message 0: content\[0\]\.type: expected text, image_url"),
        ([reply(call(3))], r"message 0: tool_calls\[0\]\.function\.arguments: expected the JSON text.*got a number"),  # type: ignore[arg-type]
        ([reply({"id": "c1", "type": "function"})], r"message 0: tool_calls\[0\]\.function: expected an object"),
        ([reply({**call(), "id": 3})], r"message 0: tool_calls\[0\]\.id: expected text, got int"),
        ([{"role": "function", "content": "x"}], "message 0: name: expected the name of a tool, got nothing"),
        ({"choices": []}, "choices: expected one choice at least, got none"),
    ],
)
def test_what_is_malformed_raises_with_its_place(obj: Any, message: str) -> None:
    with pytest.raises(XMLToolsError, match=message):
        load(obj, "openai")


def test_a_completion_is_one_reply() -> None:
    completion = {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": reply(call())}, {"index": 1}],
        "usage": {"total_tokens": 3},
    }
    conversation, issues = read(completion)
    assert issues == ["choices"]
    assert conversation[0].finish_reason == "tool_calls"
    assert conversation[0].extra["openai"]["response"]["usage"] == {"total_tokens": 3}
    messages, lost = written(conversation)
    assert messages == [reply(call())]
    assert lost == []


def test_objects_of_the_sdk_are_read() -> None:
    chat = pytest.importorskip("openai.types.chat")
    message = chat.ChatCompletionMessage.model_validate(reply(call('{"a":null}')))
    conversation = load([ASK, message, answer()], "openai", strict=True)
    assert conversation.calls == (ToolCall(id="c1", name="weather", arguments={"a": None}),)
    assert written(conversation)[0][1]["tool_calls"] == [call('{"a":null}')]


def test_options_say_how_texts_and_reasoning_are_written() -> None:
    said = Conversation().assistant([Reasoning(text="hm"), Text(text="a"), Text(text="b")])
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    said_in_parts = {"role": "assistant", "content": parts, "reasoning_content": "hm"}
    assert written(said, content="auto") == ([said_in_parts], [])
    assert written(said, reasoning_key="reasoning") == (
        [{"role": "assistant", "content": "ab", "reasoning": "hm"}],
        ["texts"],
    )
    assert written(said, content="parts", reasoning_key=None) == (
        [{"role": "assistant", "content": parts}],
        ["reasoning"],
    )
    with pytest.raises(XMLToolsError, match='content: expected "string", "parts" or "auto", got 3'):
        dump(said, "openai", content=3)


def test_reasoning_without_a_word_stands_nowhere() -> None:
    said = Message.assistant([Reasoning(text=""), Reasoning(text="hm"), Text(text="x"), Reasoning(text="")])
    assert written(Conversation(messages=(said,)))[1] == []


def test_reasoning_is_written_under_the_key_that_it_came_from() -> None:
    said, _ = read(SAME["reasoning"])
    assert said[0].reasoning == "hm"
    assert "reasoning" in written(said)[0][0]
    assert "thinking" in written(said, reasoning_key="thinking")[0][0]


PNG = Media(media_type="image/png", data="aGk=")
LOST = {
    "text behind a call": (
        Message.assistant([ToolCall(id="c", name="f"), Text(text="x")]),
        "order",
    ),
    "reasoning behind text": (Message.assistant([Text(text="x"), Reasoning(text="y")]), "reasoning_order"),
    "reasoning behind a call": (
        Message.assistant([ToolCall(id="c", name="f"), Reasoning(text="y")]),
        "reasoning_order",
    ),
    "a video": (Message.user([Media(media_type="video/mp4", url="https://a/b.mp4")]), "unsupported_media"),
    "a file without anything": (Message.user([Media(media_type="image/png")]), "unsupported_media"),
    "the type of a URL": (Message.user([Media(media_type="image/png", url="https://a/b")]), "media_type"),
    "an image in a reply": (Message.assistant([PNG]), "misplaced_part"),
    "a call of the user": (Message.user([ToolCall(id="c", name="f")]), "misplaced_part"),
    "the name of a tool message": (
        Message.tool("c", "f", "x").model_copy(update={"name": "ada"}),
        "names",
    ),
    "an error": (Message.tool("c", "f", "x", is_error=True), "error_flag"),
    "an image in a result": (Message.tool("c", "f", (Text(text="x"), PNG)), "result_media"),
    "numbers that JSON has no word for": (
        Message.assistant("", [ToolCall(id="c", name="f", arguments={"a": float("nan")})]),
        "unwritable_arguments",
    ),
}


@pytest.mark.parametrize(("message", "code"), LOST.values(), ids=LOST)
def test_what_cannot_be_said_is_reported(message: Message, code: str) -> None:
    asked = (Message.assistant("", [ToolCall(id="c", name="f")]),) if message.is_tool else ()
    messages, issues = written(Conversation(messages=(*asked, message)))
    assert issues == [code]
    json.dumps(messages, allow_nan=False)


@pytest.mark.parametrize("id", ["", "c2"])
def test_a_result_without_a_call_before_it_is_written_and_reported(id: str) -> None:
    said = Conversation().assistant("", [ToolCall(id="c", name="f")]).tool(id, "f", "x")
    messages, issues = written(said)
    assert (messages[1], issues) == ({"role": "tool", "tool_call_id": id, "content": "x"}, ["orphan_result"])
    with pytest.raises(XMLToolsError, match="leave it out"):
        dump(said, "openai", strict=True)


def test_a_result_that_is_several_texts_is_one_text() -> None:
    said = Conversation().tool("c", "f", (Text(text="a"), Text(text="b")))
    assert written(said)[0] == [{"role": "tool", "tool_call_id": "c", "content": "a\nb"}]


def test_a_message_of_several_results_is_several_messages() -> None:
    results = [ToolResult(call_id=id, name="f", content="x") for id in ("a", "b")]
    messages, _ = written(Conversation(messages=(Message(role="tool", parts=tuple(results)),)))
    assert [each["tool_call_id"] for each in messages] == ["a", "b"]


@pytest.mark.parametrize(
    "obj",
    [SAME["developer"], SAME["function_call"], [ASK, reply(call())], {"choices": []}, {"messages": [reply(call())]}],
)
def test_it_is_recognised(obj: Any) -> None:
    assert recognise(obj) == "openai"


@pytest.mark.parametrize(
    "obj",
    [
        [ASK],
        {"messages": [ASK]},
        [{"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "f", "args": {}}]}],
        [{"role": "user", "parts": [{"text": "x"}]}],
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]}],
        [{"role": "assistant", "tool_calls": "x"}],
        [3, None, "x"],
        3,
        None,
        "x",
        {},
    ],
)
def test_what_others_say_too_is_not_recognised(obj: Any) -> None:
    assert not openai.recognise(obj)


# Files in results

PDF = Media(media_type="application/pdf", data="aGk=")
VIDEO = Media(media_type="video/mp4", url="https://a/b.mp4")
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def shown(*contents: Any) -> Conversation:
    """Calls, results with these contents, and what the model says to them."""
    ids = [f"c{number}" for number, _ in enumerate(contents, 1)]
    said = Conversation().assistant("", [ToolCall(id=id, name="shot", status="completed") for id in ids])
    for id, content in zip(ids, contents, strict=True):
        said = said.tool(id, content=content)
    return said.assistant("I see.")


def attached(*sections: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in sections]
    return {"role": "user", "content": parts}


LABEL = "Attached image(s) from tool result:"


@pytest.mark.parametrize(
    ("contents", "texts", "message"),
    [
        ([(Text(text="a"), PNG)], ["a"], attached(LABEL, PNG_PART)),
        ([(PNG, PNG)], ["(see attached image)"], attached(LABEL, PNG_PART, PNG_PART)),
        ([(Text(text=""), PNG)], [""], attached(LABEL, PNG_PART)),
        (["a", (Text(text="b"), PNG)], ["a", "b"], attached("Attached image(s) from tool result c2:", PNG_PART)),
        (
            [(Text(text="a"), PNG), (PNG,)],
            ["a", "(see attached image)"],
            attached(
                "Attached image(s) from tool result c1:",
                PNG_PART,
                "Attached image(s) from tool result c2:",
                PNG_PART,
            ),
        ),
        (
            [(PDF,)],
            ["(see attached file)"],
            attached(
                "Attached file(s) from tool result:",
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,aGk="}},
            ),
        ),
    ],
)
def test_files_of_results_come_in_a_message_of_the_user_and_are_read_back(
    contents: list[Any], texts: list[str], message: Any
) -> None:
    said = shown(*contents)
    messages, issues = written(said)
    assert [each["content"] for each in messages if each["role"] == "tool"] == texts
    assert messages[-2:] == [message, {"role": "assistant", "content": "I see."}]
    assert set(issues) == {"result_media"}
    assert read(messages) == (said, [])
    assert written(read(messages)[0])[0] == messages
    assert written(said[:-1])[0] == messages[:-1]


def test_a_result_whose_file_has_no_form_is_reported() -> None:
    messages, issues = written(shown((Text(text="a"), VIDEO)))
    assert (len(messages), issues) == (3, ["unsupported_media"])


@pytest.mark.parametrize(
    "message",
    [
        attached("Look:", PNG_PART),
        attached(LABEL),
        attached(LABEL, PNG_PART, "And?"),
        attached(PNG_PART, LABEL, PNG_PART),
        attached("Attached image(s) from tool result c9:", PNG_PART),
        attached(LABEL, PNG_PART, LABEL, PNG_PART),
        attached(LABEL, PNG_PART) | {"name": "ada"},
        attached(LABEL, PNG_PART) | {"seen": True},
        {"role": "user", "content": LABEL},
    ],
)
def test_what_the_user_says_after_a_result_stays_the_users(message: Any) -> None:
    messages = [reply(call("{}")), answer("a"), message]
    said, _ = read(messages)
    assert [each.role for each in said] == ["assistant", "tool", "user"]
    assert written(said)[0] == messages
    assert [each.role for each in read([ASK, attached(LABEL, PNG_PART)])[0]] == ["user", "user"]


@pytest.mark.parametrize(
    "contents",
    [
        [(Text(text="(see attached image)"), PNG)],
        [(Text(text="(see attached file)"), PDF)],
        ["a", (Text(text="(see attached image)"), PNG)],
        ["(see attached image)"],
        [(PNG,), "(see attached image)"],
    ],
)
def test_only_words_that_we_wrote_are_taken_away(contents: list[Any]) -> None:
    said = shown(*contents)
    messages, _ = written(said)
    assert read(messages) == (said, [])
    assert written(read(messages)[0])[0] == messages


def test_texts_of_a_result_are_joined_by_line_breaks_and_reported() -> None:
    texts = tuple(Text(text=text) for text in ("a", "", "b\n", "c"))
    for said, last in ((shown(texts), "a\nb\nc"), (shown((*texts, PNG)), "a\nb\nc")):
        messages, issues = written(said)
        assert messages[1]["content"] == last
        assert sorted(set(issues) - {"result_media"}) == ["result_texts"]
        assert read(messages)[0].results[0].text == last == said.results[0].text
    listed = dump(shown((*texts[::2], PNG)), "openai", content="parts", issues=[])
    assert [part["text"] for part in listed[1]["content"]] == ["a", "b\n"]
    back = read(listed)[0]
    assert back.results[0].content == (*texts[::2], PNG)
    assert written(back) == (listed, ["result_media"])


@pytest.mark.parametrize(
    ("created", "time"), [(1704067200, 1704067200.0), (None, None), ("now", None), (True, None), (0, None), (-1, None)]
)
def test_the_time_of_a_response_is_that_of_its_message(created: Any, time: float | None) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    said, issues = read({"object": "chat.completion", "created": created, "choices": [choice]})
    assert (said[0].created_at, issues) == (time, [])
    (stored,) = dump(said, "wolo", now=5.0)
    assert stored["timestamp"] == (time or 5.0)
    assert dump(said, "anthropic", strict=True) == dump(said, "anthropic")  # and no warning


def test_several_texts_are_parts_or_joined_and_reported() -> None:
    said = Conversation(messages=(Message(role="user", parts=(Text(text="a"), Text(text=""), Text(text="b"))),))
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert written(said, content="auto") == ([{"role": "user", "content": parts}], [])
    assert written(said) == ([{"role": "user", "content": "ab"}], ["texts"])
    read = load([{"role": "user", "content": parts}], "openai")
    assert read[0].parts == (Text(text="a"), Text(text="b"))
    assert written(read) == ([{"role": "user", "content": parts}], [])


def test_convert_writes_several_texts_as_parts() -> None:
    content = [{"type": "text", "text": "File a.py:"}, {"type": "text", "text": "import os"}]
    wire = {"messages": [{"role": "user", "content": content}]}
    assert convert(wire, "anthropic", "openai", strict=True) == [{"role": "user", "content": content}]


def test_results_of_calls_with_one_id_are_those_of_the_calls_in_order() -> None:
    def call(name: str) -> dict[str, object]:
        return {"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}

    def result(text: str) -> dict[str, object]:
        return {"role": "tool", "tool_call_id": "a", "content": text}

    turns = [
        *({"role": "assistant", "content": None, "tool_calls": [call("f"), call("g")]}, result("1"), result("2")),
        *({"role": "assistant", "content": None, "tool_calls": [call("h")]}, {"role": "user", "content": "Go on."}),
        *({"role": "assistant", "content": None, "tool_calls": [call("k")]}, result("3")),
    ]
    loaded = load(turns, "openai")
    assert [(each.name, each.content) for each in loaded.results] == [("f", "1"), ("g", "2"), ("k", "3")]
