"""The Gemini API: what is read, what is written, and that nothing is lost on the way there and back."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from support.conversations import conversations
from support.often import examples
from support.seed_cases import cases

from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import dump, gemini, load, recognise
from xmltools.formats.shared.losses import Report
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult

ASK = {"role": "user", "parts": [{"text": "Weather?"}]}
PNG = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
SAID = {"text": "x"}


def call(name: str = "weather", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {"city": "Paris"}} | fields}


def response(given: Any = None, name: str = "weather", **fields: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "22"} if given is None else given} | fields}


def model(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)} | fields


def user(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)} | fields


def same(*contents: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"contents": list(contents), **fields}


def codes(issues: list[Issue]) -> list[str]:
    return [issue.code for issue in issues]


def read(obj: Any) -> tuple[Conversation, list[str]]:
    issues: list[Issue] = []
    conversation = load(obj, "gemini", issues=issues)
    return conversation, codes(issues)


def written(conversation: Conversation, **options: Any) -> tuple[Any, list[str]]:
    """What the format writes, and what it reports itself."""
    report = Report()
    return gemini.dump(conversation, report, **options), codes(report.issues)


@given(conversations(gemini.HOLDS, grouped=True))
def test_with_ids_it_holds_ids_as_well(said: Conversation) -> None:
    named = Conversation.from_json(re.sub(r'"call_(\d+)"', r'"other_\1"', said.to_json()))
    back = load(dump(named, "gemini", ids=True, issues=[]), "gemini", strict=True)
    assert [call.id for call in back.calls] == [call.id for call in named.calls]
    assert [result.call_id for result in back.results] == [result.call_id for result in named.results]


@pytest.mark.full
def test_contents_are_those_of_the_sdk() -> None:
    types = pytest.importorskip("google.genai.types")
    types.Content.model_validate({})

    @given(conversations())
    @examples(50)  # the first validation builds a large model
    def check(said: Conversation) -> None:
        request, _ = written(said, ids=True)
        for content in (*request["contents"], request.get("systemInstruction", {})):
            types.Content.model_validate(content)

    check()


@given(conversations(gemini.HOLDS, grouped=True))
@pytest.mark.full
def test_objects_of_the_sdk_are_read(said: Conversation) -> None:
    types = pytest.importorskip("google.genai.types")
    request, _ = written(said)
    contents = [types.Content.model_validate(content) for content in request["contents"]]
    assert load(request | {"contents": contents}, "gemini", strict=True) == said


def test_a_conversation_is_written_as_the_documents_have_it() -> None:
    calls = [ToolCall(id=id, name="weather", arguments={"city": "Paris"}) for id in ("a", "b")]
    said = Conversation().system("Be brief.").user("Weather?").assistant("Let me look.", calls, reasoning="hm")
    said = said.tool("a", content="22").tool("b", content="none", is_error=True).assistant("22 °C")
    assert json.dumps(written(said)[0]) == json.dumps(
        {
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                ASK,
                model({"thought": True, "text": "hm"}, {"text": "Let me look."}, call(), call()),
                user(response(), response({"error": "none"})),
                model({"text": "22 °C"}),
            ],
        }
    )


SAME = {
    "role of the system": same(ASK, systemInstruction={"role": "system", "parts": [SAID]}),
    "system as text": same(ASK, systemInstruction="x"),
    "empty system": same(ASK, systemInstruction={}),
    "several system texts": same(ASK, systemInstruction={"parts": [SAID, SAID | {"partMetadata": {}}]}),
    "request": same(ASK, generationConfig={"topK": 1}, tools=[]),
    "no role": same({"parts": [SAID]}, model(SAID)),
    "keys of a content": same(user(SAID, x=1)),
    "signatures": same(
        ASK,
        model(
            {"thought": True, "text": "hm", "thoughtSignature": "s1"},
            call() | {"thoughtSignature": "s2"},
            {"text": "", "thoughtSignature": "s3"},
            {"text": "x", "thought": False},
        ),
    ),
    "files": same(
        user(
            PNG,
            SAID,
            {"fileData": {"fileUri": "https://a/b.mp4"}, "videoMetadata": {"fps": 1}},
            {"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b", "displayName": "x"}},
            {"inlineData": {"mimeType": "image/png", "data": "a-_="}},
        )
    ),
    "other parts": same(
        model({"executableCode": {"code": "1", "language": "PYTHON"}}, SAID, {"codeExecutionResult": {"outcome": "x"}})
    ),
    "images of the model": same(ASK, model(SAID, PNG)),
    "ids": same(ASK, model(call(id="x1"), call(id="x2")), user(response(id="x2"), response(id="x1"))),
    "no arguments": same(model({"functionCall": {"name": "f"}}), user(response(name="f"))),
    "role function": same(model(call()), {"role": "function", "parts": [response()]}),
    "a result under another key": same(model(call()), user(response({"result": "22"}))),
    "a result that is an object": same(model(call()), user(response({"result": {"temp": 22}}))),
    "a result with other keys": same(model(call()), user(response({"temp": 22, "output": "x"}))),
    "an error that is an object": same(model(call()), user(response({"error": {"code": 3}}))),
    "no result": same(model(call()), user(response({}))),
    "no response": same(model(call()), user({"functionResponse": {"name": "weather"}})),
    "keys of responses": same(model(call(x=1)), user(response(willContinue=False) | {"partMetadata": {}})),
    "files in results": same(model(call()), user(response(parts=[PNG, {"x": 1}]))),
    "results and text": same(model(call(), call()), user(response(), response(), SAID)),
    "results behind text": same(model(call()), user(SAID, response())),
    "results in two contents": same(model(call(), call()), user(response()), user(response())),
    "surrogate": same(user({"text": "a\ud800"}), model(call(args={"a": "\ud800"})), user(response({"x": "\ud800"}))),
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


@pytest.mark.parametrize("case", cases("robotlab", "to_gemini"))
def test_what_the_systems_send_is_written_again_as_it_was(case: dict[str, Any]) -> None:
    request = same(*case["expect"], systemInstruction={"parts": [{"text": case["system_prompt"]}]})
    assert written(load(request, "gemini", strict=True)) == (request, [])


def test_snake_case_is_read_and_camel_case_written() -> None:
    snake = {
        "system_instruction": {"parts": [SAID]},
        "contents": [
            user({"inline_data": {"mime_type": "image/png", "data": "aGk="}}),
            model({"function_call": {"name": "f", "args": {"max_size": {"a_b": 1}}}, "thought_signature": "s"}),
            user({"function_response": {"name": "f", "response": {"my_key": 1}}}),
        ],
    }
    args = {"max_size": {"a_b": 1}}
    assert written(read(snake)[0])[0] == {
        "systemInstruction": {"parts": [SAID]},
        "contents": [
            user(PNG),
            model(call("f", args=args) | {"thoughtSignature": "s"}),
            user(response({"my_key": 1}, "f")),
        ],
    }


def test_parts_become_parts() -> None:
    parts = [{"text": "hm", "thought": True}, SAID, PNG, {"fileData": {"fileUri": "https://a/b.pdf"}}, call(id="x")]
    assert [part.model_copy(update={"extra": {}}) for part in read([model(*parts)])[0][0].parts] == [
        Reasoning(text="hm"),
        Text(text="x"),
        Media(media_type="image/png", data="aGk="),
        Media(media_type="application/pdf", url="https://a/b.pdf"),
        ToolCall(id="x", name="weather", arguments={"city": "Paris"}),
    ]


def test_data_in_the_alphabet_for_urls_is_read_as_others_take_it() -> None:
    conversation, _ = read([user({"inlineData": {"mimeType": "image/png", "data": "a-_="}})])
    assert conversation[0].media[0].data == "a+/="


@pytest.mark.parametrize(
    ("given", "content", "is_error"),
    [
        ({"output": "22"}, "22", False),
        ({"result": "22"}, "22", False),
        ({"error": "no"}, "no", True),
        ({"result": {"temp": 22}}, '{"temp":22}', False),
        ({"error": [1]}, "[1]", True),
        ({"temp": 22}, '{"temp":22}', False),
        ({"output": "x", "error": "y"}, '{"output":"x","error":"y"}', False),
        ({}, "", False),
    ],
)
def test_a_response_says_a_text(given: Any, content: str, is_error: bool) -> None:
    conversation, _ = read([model(call()), user(response(given))])
    assert conversation.results == (
        ToolResult(
            call_id="call_1", name="weather", content=content, is_error=is_error, extra=conversation.results[0].extra
        ),
    )
    assert conversation.calls[0].status == ("failed" if is_error else "completed")


def test_a_response_that_is_no_json_says_what_it_is() -> None:
    obj = [model(call()), user(response({"output": {"x": float("nan")}}))]
    conversation, _ = read(obj)
    assert conversation.results[0].text == "(dict)"
    assert written(conversation)[0]["contents"] == obj


def test_one_content_alone_is_read() -> None:
    assert load(ASK, "gemini", strict=True) == load({"contents": ASK}, "gemini", strict=True)


def test_a_changed_result_is_not_written_as_it_was() -> None:
    conversation, _ = read([model(call()), user(response({"temp": 22}))])
    result = conversation.results[0].model_copy(update={"content": "23"})
    changed = conversation.with_messages([conversation[0], Message(role="tool", parts=(result,))])
    assert written(changed)[0]["contents"][1] == user(response({"output": "23"}))


def test_results_without_ids_are_those_of_the_calls_of_their_name_in_order() -> None:
    answers = (response({"output": text}, name) for text, name in (("1", "b"), ("2", "a"), ("3", "a")))
    turn = [model(call("a"), call("b"), call("a")), user(*answers)]
    conversation, issues = read(turn + turn)
    assert [(each.call_id, each.text) for each in conversation.results] == [
        ("call_2", "1"),
        ("call_1", "2"),
        ("call_3", "3"),
        ("call_5", "1"),
        ("call_4", "2"),
        ("call_6", "3"),
    ]
    assert issues == []


def test_a_result_is_that_of_the_last_turn_before_it_is_that_of_an_older_one() -> None:
    turn = model(call("a"), call("b"))
    conversation, issues = read(
        [turn, ASK, turn, user(response(name="a"), response(name="b")), user(response(name="a"))]
    )
    assert [each.call_id for each in conversation.results] == ["call_3", "call_4", "call_1"]
    assert issues == []


def test_made_ids_keep_clear_of_given_ones() -> None:
    conversation, _ = read([model(call(id="call_2"), call())])
    assert len({each.id for each in conversation.calls}) == 2


@pytest.mark.parametrize("part", [response(), response(id="x9")])
def test_a_result_of_no_call_is_reported(part: Any) -> None:
    conversation, issues = read([user(part)])
    assert issues == ["orphan_result"]
    assert conversation.results[0].name == "weather"


def test_an_answer_is_one_reply() -> None:
    answer = {
        "candidates": [{"content": model(SAID, call()), "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"totalTokenCount": 3},
    }
    conversation, issues = read(answer)
    assert issues == []
    assert conversation[0].finish_reason == "tool_calls"
    assert conversation[0].extra["gemini"]["response"]["usageMetadata"] == {"totalTokenCount": 3}
    assert written(conversation)[0] == same(model(SAID, call()))


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("OTHER", "other"), (None, None)],
)
def test_why_a_reply_ended_is_said_in_our_words(reason: str | None, meaning: str | None) -> None:
    assert read({"candidates": [{"finishReason": reason}]})[0][0].finish_reason == meaning


def test_only_the_first_candidate_is_read() -> None:
    conversation, issues = read({"candidates": [{"content": model(SAID)}, {"content": model(PNG)}]})
    assert (len(conversation), issues) == (1, ["candidates"])


def test_system_messages_that_stand_elsewhere_are_moved_and_reported() -> None:
    request, issues = written(Conversation().system("a").system("b").user("x").system("c"))
    assert request == same(user(SAID), systemInstruction={"parts": [{"text": text} for text in "abc"]})
    assert issues == ["system_joined", "system_moved"]


IMAGE = Media(media_type="image/png", data="aGk=")
LOST = {
    "nothing": (Message.user(""), ["empty_message"]),
    "a file without anything": (
        Message.user([Media(media_type="image/png")]),
        ["unsupported_media", "empty_message"],
    ),
    "a call of the user": (Message.user([ToolCall(id="c", name="f")]), ["misplaced_part", "empty_message"]),
    "text of a result behind an image": (Message.tool("c", "f", (IMAGE, Text(text="x"))), ["order"]),
}


@pytest.mark.parametrize(("message", "expected"), LOST.values(), ids=LOST)
def test_what_cannot_be_said_is_reported(message: Message, expected: list[str]) -> None:
    assert written(Conversation(messages=(message,)))[1] == expected


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"a": 1}, 'gemini: expected {"systemInstruction"'),
        ([ASK, {"role": "assistant", "parts": []}], "content 1: role: expected user or model, got 'assistant'"),
        ([{"role": "user", "parts": "x"}], "content 0: parts: expected a list of parts, .*got text"),
        ([user({"text": 3})], r"content 0: parts\[0\]\.text: expected text, got a number"),
        ([model(call(args=[1]))], r"content 0: parts\[0\]\.functionCall\.args: expected an object, got a list"),
        ([model({"functionCall": {}})], r"content 0: parts\[0\]\.functionCall\.name: expected the name of a tool"),
        ([user(response([1]))], r"content 0: parts\[0\]\.functionResponse\.response: expected an object"),
        ([user(response(parts=[PNG, 3]))], r"parts\[0\]\.functionResponse\.parts\[1\]: expected an object"),
        ([model(SAID, response())], r"content 0: parts\[1\]: expected no functionResponse in .* assistant"),
        ([user({"inlineData": {"data": 3}})], r"parts\[0\]\.inlineData\.data: expected base64, got a number"),
        (same(ASK, systemInstruction=3), "systemInstruction: expected an object"),
        ({"candidates": []}, "candidates: expected one candidate at least, got none"),
    ],
)
def test_what_is_malformed_raises_with_its_place(obj: Any, message: str) -> None:
    with pytest.raises(XMLToolsError, match=message):
        load(obj, "gemini")


@pytest.mark.parametrize(
    "obj",
    [same(ASK), [ASK], [model(SAID)], [model()], [{"parts": [{"inline_data": {}}]}], {"candidates": []}, ASK],
)
def test_it_is_recognised(obj: Any) -> None:
    assert recognise(obj) == "gemini"


@pytest.mark.parametrize(
    "obj",
    [
        [{"role": "user", "content": "x"}],
        [{"id": "1", "role": "user", "parts": [{"id": "2", "type": "text", "text": "x"}]}],
        [{"role": "user", "parts": []}],
        [3, None, {"parts": [3]}, {"parts": 3}],
        3,
        None,
        "x",
        {},
        {3: 4},
    ],
)
def test_what_others_say_too_is_not_recognised(obj: Any) -> None:
    assert not gemini.recognise(obj)


def test_ids_that_are_written_are_not_reported_as_lost() -> None:
    said = Conversation().user("?").assistant("", [ToolCall(id="a", name="f")]).tool("a", content="x")
    issues: list[Issue] = []
    assert "a" in json.dumps(dump(said, "gemini", ids=True, issues=issues)) and issues == []
    dump(said, "gemini", issues=issues)
    assert [str(issue) for issue in issues] == [
        "message 1: gemini cannot hold ids of calls (give dump ids=True to write them)"
    ]
    issues.clear()
    with_ids = same(ASK, model(call(id="a")), user(response(id="a")))
    assert dump(load(with_ids, "gemini"), "gemini", issues=issues) == with_ids and issues == []


def test_results_with_ids_stay_in_their_order() -> None:
    calls = model(call(id="a"), call(id="b"))
    results = user(response({"output": "2"}, id="b"), response({"output": "1"}, id="a"))
    assert dump(load(same(ASK, calls, results), "gemini"), "gemini", issues=[]) == same(ASK, calls, results)


def test_results_of_replies_that_follow_each_other_stay_in_their_order() -> None:
    given = same(ASK, model(call()), model(call()), user(response({"output": "1"}), response({"output": "2"})))
    assert dump(load(given, "gemini"), "gemini", issues=[]) == given


@pytest.mark.parametrize("key", ["content", "tool_calls"])
def test_messages_of_another_format_are_refused(key: str) -> None:
    with pytest.raises(XMLToolsError, match=f"content 1: parts: expected a list of parts.*'{key}'.*another format"):
        load([ASK, {"role": "user", key: "x"}], "gemini")
    assert load([{"role": "model"}], "gemini")[0].parts == ()  # an answer that was cut off at once
