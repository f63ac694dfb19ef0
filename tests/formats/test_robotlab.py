from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversations
from support.junk import hashes
from support.seed_cases import cases

from xmltools.conversations.validation import check
from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import convert, dump, load, recognise, robotlab
from xmltools.formats.robotlab import (
    TextMessage,
    ToolCallMessage,
    ToolMessage,
    ToolResultMessage,
    UserMessage,
    provider,
)
from xmltools.formats.robotlab.messages import Message as Hashed
from xmltools.models import Conversation, Message, Text, ToolCall, ToolResult
from xmltools.tools import Tool

TOOL = {"type": "tool", "id": "call_1", "name": "get_weather", "input": {"location": "Paris"}}
CALLED = {"type": "tool_call", "role": "assistant", "tools": [TOOL], "stop_reason": "tool"}
CLASSES: dict[str, Any] = {
    "TextMessage": TextMessage,
    "ToolMessage": ToolMessage,
    "ToolCallMessage": ToolCallMessage,
    "ToolResultMessage": ToolResultMessage,
}


def made(fields: dict[str, Any]) -> Any:
    return CLASSES[fields["class"]](**{key: value for key, value in fields.items() if key != "class"})


def text(role: str, content: str, stop_reason: str | None = None) -> dict[str, Any]:
    return TextMessage(role=role, content=content, stop_reason=stop_reason).to_h()


def result(content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "tool_result", "role": "tool_result", "tool": TOOL, "content": content, "stop_reason": "tool", **fields
    }  # fmt: skip


def read(obj: Any) -> tuple[Conversation, list[str]]:
    issues: list[Issue] = []
    return load(obj, "robotlab", issues=issues), [issue.code for issue in issues]


def write(said: Conversation) -> tuple[Any, list[str]]:
    issues: list[Issue] = []
    return dump(said, "robotlab", issues=issues), [issue.code for issue in issues]


def again(obj: Any) -> Any:
    return dump(load(obj, "robotlab", strict=True), "robotlab", strict=True)


# The document


@pytest.mark.parametrize("case", cases("robotlab", "to_h"))
def test_a_message_becomes_its_hash(case: dict[str, Any]) -> None:
    message = made(case["input"])
    assert json.dumps(message.to_h()) == json.dumps(case["expect"])
    assert json.loads(message.to_json()) == case["expect"]


@pytest.mark.parametrize("case", cases("robotlab", "to_h"))
def test_a_hash_of_the_document_is_written_as_it_was(case: dict[str, Any]) -> None:
    if case["input"]["class"] == "ToolMessage":
        assert ToolMessage.from_hash(case["expect"]).to_h() == case["expect"]
    else:
        assert json.dumps(again([case["expect"]])) == json.dumps([case["expect"]])
        assert again([made(case["input"])]) == [case["expect"]]


@pytest.mark.parametrize("case", cases("robotlab", "to_json"))
def test_a_message_becomes_json(case: dict[str, Any]) -> None:
    assert made(case["input"]).to_json() == case["expect"]


@pytest.mark.parametrize("case", cases("robotlab", "from_hash"))
def test_a_hash_becomes_a_message(case: dict[str, Any]) -> None:
    for message in (Hashed.from_hash(case["input"]), Hashed.from_hash(**case["input"])):
        assert type(message).__name__ == case["expect"]["class"]
        assert (message.role, message.content) == (case["expect"]["role"], case["expect"]["content"])
        assert message.to_h() == case["expect"]["to_h"]


@pytest.mark.parametrize("case", cases("robotlab", "from_user_message"))
def test_what_the_user_said_becomes_a_message(case: dict[str, Any]) -> None:
    content, thread = case["input"]["content"], case["input"]["thread_id"]
    assert UserMessage(content, thread_id=thread).to_message().to_h() == case["expect"]
    assert UserMessage(content, session_id=thread).to_message().to_h() == case["expect"]


@pytest.mark.parametrize("case", cases("robotlab", "predicates", "tool_predicates"))
def test_a_message_says_what_it_is(case: dict[str, Any]) -> None:
    read = ToolMessage.from_hash if case["kind"] == "tool_predicates" else Hashed.from_hash
    message = read(case["input"])
    assert (message.is_stopped, message.is_tool_stop) == (message.stopped, message.tool_stop)
    names = {
        "text?": "is_text",
        "tool_call?": "is_tool_call",
        "tool_result?": "is_tool_result",
        "user?": "is_user",
        "assistant?": "is_assistant",
        "system?": "is_system",
        "stopped?": "stopped",
        "tool_stop?": "tool_stop",
    }
    assert {question: getattr(message, names[question]) for question in case["expect"]} == case["expect"]


ADAPTERS = {
    "to_anthropic": robotlab.to_anthropic,
    "to_openai": robotlab.to_openai,
    "to_gemini": robotlab.to_gemini,
}


@pytest.mark.parametrize("case", cases("robotlab", *ADAPTERS))
def test_an_adapter_writes_what_the_document_shows(case: dict[str, Any]) -> None:
    assert json.dumps(ADAPTERS[case["kind"]](case["input"])) == json.dumps(case["expect"])
    if "system_prompt" in case:
        assert robotlab.system_prompt(case["input"]) == case["system_prompt"]


BLOCKS = {
    "tool_call_block_anthropic": robotlab.anthropic_tool_call,
    "tool_call_block_openai": robotlab.openai_tool_call,
}


@pytest.mark.parametrize("case", cases("robotlab", *BLOCKS))
def test_a_call_is_written_as_the_document_shows(case: dict[str, Any]) -> None:
    assert json.dumps(BLOCKS[case["kind"]](case["input"])) == json.dumps(case["expect"])


@pytest.mark.parametrize("case", cases("robotlab", "registry"))
def test_a_provider_has_the_adapter_of_the_document(case: dict[str, Any]) -> None:
    assert provider(case["input"]).name == case["expect"]["adapter"]


@pytest.mark.parametrize("case", cases("robotlab", "format_history"))
def test_the_history_is_that_of_the_document(case: dict[str, Any]) -> None:
    messages, results = case["input"]["messages"], case["input"]["results"]
    assert robotlab.format_history(messages, results) == case["expect"]
    assert json.dumps(again(case["expect"])) == json.dumps(case["expect"])


def call(*ids: str) -> dict[str, Any]:
    tools = [{"type": "tool", "id": id, "name": "get_weather", "input": {}} for id in ids]
    return {"type": "tool_call", "role": "assistant", "tools": tools, "stop_reason": "tool"}


def answer(id: str, temp: int = 22) -> dict[str, Any]:
    tool = {"type": "tool", "id": id, "name": "get_weather", "input": {}}
    content = {"data": temp}
    return {"type": "tool_result", "role": "tool_result", "tool": tool, "content": content, "stop_reason": "tool"}


def robot(*output: dict[str, Any], results: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"output": list(output), "tool_calls": list(results)}


@pytest.mark.parametrize(
    ("messages", "results", "history"),
    [
        (  # a robot that calls, hears the result, and says what came of it
            [text("user", "Weather?")],
            [robot(call("a"), text("assistant", "22°C."), results=[answer("a")])],
            [text("user", "Weather?"), call("a"), answer("a"), text("assistant", "22°C.")],
        ),
        (
            [text("user", "One."), text("user", "Two.")],
            [robot(text("assistant", "Three."), text("assistant", "Four.", stop_reason="stop"))],
            [text("user", "One.\n\nTwo."), text("assistant", "Three.\n\nFour.", stop_reason="stop")],
        ),
        (  # in the order of the calls, and of two calls of one id each its own
            [],
            [robot(call("a", "b"), call("a"), results=[answer("b"), answer("a", 1), answer("a", 2)])],
            [call("a", "b"), answer("a", 1), answer("b"), call("a"), answer("a", 2)],
        ),
        (  # between robots, and in the messages themselves
            [text("user", "Go."), call("a"), text("assistant", "Later."), answer("a")],
            [robot(call("b")), robot(text("assistant", "Done."), results=[answer("b"), answer("z")])],
            [
                *(text("user", "Go."), call("a"), answer("a"), text("assistant", "Later.")),
                *(call("b"), answer("b"), text("assistant", "Done."), answer("z")),
            ],
        ),
        ([text("system", "Be kind."), text("user", "")], [robot()], [text("system", "Be kind."), text("user", "")]),
    ],
)
def test_the_history_alternates_and_results_stand_after_their_calls(
    messages: list[Any], results: list[Any], history: list[Any]
) -> None:
    """The document: "Returns alternating user/assistant messages with tool calls/results properly interleaved"."""
    assert robotlab.format_history(messages, results) == history
    assert robotlab.format_history(history, []) == history


def test_the_joined_text_ended_as_its_last_part_did() -> None:
    texts = [text("assistant", "One.", stop_reason="stop"), text("assistant", "Two.")]
    assert robotlab.format_history(texts, []) == [text("assistant", "One.\n\nTwo.")]
    assert robotlab.format_history(texts[::-1], []) == [text("assistant", "Two.\n\nOne.", stop_reason="stop")]


def test_a_history_alternates_for_anthropic_and_gemini_too() -> None:
    """The document: "Returns alternating user/assistant messages with tool calls/results properly interleaved"."""
    state = robotlab.create_state("Weather?")
    state.append_result(robot(text("assistant", "I'll look."), call("a", "b"), results=[answer("a"), answer("b")]))
    state.append_result(text("user", "And?"))
    use, heard = robotlab.to_anthropic([call("a", "b")]), robotlab.to_anthropic([answer("a"), answer("b")])
    assert robotlab.to_anthropic(state.format_history()) == [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": [{"type": "text", "text": "I'll look."}, *use[0]["content"]]},
        {"role": "user", "content": [*heard[0]["content"], {"type": "text", "text": "And?"}]},
    ]
    assert [block["tool_use_id"] for block in heard[0]["content"]] == ["a", "b"]
    contents = robotlab.to_gemini(state.format_history())
    kinds = [[key for part in each["parts"] for key in part] for each in contents]
    assert [each["role"] for each in contents] == ["user", "model", "user"]
    assert kinds == [["text"], ["text", *["functionCall"] * 2], [*["functionResponse"] * 2, "text"]]
    assert load(robotlab.to_anthropic(state.format_history()), "anthropic").open_calls == ()


def test_neighbours_that_are_texts_are_one_text_for_anthropic() -> None:
    said = [text("user", "One."), text("system", "Be kind."), text("user", ""), text("user", "Two.")]
    assert robotlab.to_anthropic(said) == [{"role": "user", "content": "One.\n\nTwo."}]
    assert robotlab.to_anthropic([text("assistant", ""), call("a")]) == robotlab.to_anthropic([call("a")])
    for write_for in (robotlab.to_anthropic, robotlab.to_openai, robotlab.to_gemini, robotlab.system_prompt):
        with pytest.raises(XMLToolsError, match="a ToolMessage stands in a ToolCallMessage"):
            write_for([TOOL])


@given(st.data())
def test_no_result_of_a_history_is_late(data: st.DataObject) -> None:
    output: list[dict[str, Any]] = []
    ids = [f"c{number}" for number in range(data.draw(st.integers(1, 6)))]
    for id in ids:
        output += [text("assistant", f"About {id}."), call(id)] if data.draw(st.booleans()) else [call(id)]
    answers = data.draw(st.permutations([answer(id) for id in ids]))
    at = data.draw(st.integers(0, len(output)))
    robots = [robot(*output[:at]), robot(*output[at:], text("assistant", "Done."), results=answers)]
    history = robotlab.format_history([text("user", "Go."), text("user", "Now.")], robots)
    assert [issue.code for issue in check(load(history, "robotlab"))] == []
    assert not any(before["type"] == after["type"] == "text" for before, after in pairwise(history[1:]))
    assert len(history) == 1 + len(output) + len(answers) + 1


def test_several_system_messages_are_one_prompt() -> None:
    said = [text("system", "Be kind."), text("user", "Hi"), text("system", "Be brief.")]
    assert robotlab.system_prompt(said) == "Be kind.\n\nBe brief."
    assert robotlab.system_prompt(said[1:2]) is None


# States


def test_a_state_grows_by_the_results_of_robots() -> None:
    """The document: `RobotLab.create_state(message: …, data: …)`, `state.append_result(result)`, and `state.messages`
    with the calls, their results and the reply."""
    state = robotlab.create_state("What's the weather?", {"location": "Paris"})
    assert state.messages == [TextMessage(role="user", content="What's the weather?")]
    assert state.data == {"location": "Paris"}
    done = TextMessage(role="assistant", content="It's 22°C and sunny.")
    state.append_result(robot(call("a"), done, results=[answer("a")]))
    assert [each.type for each in state.messages] == ["text", "tool_call", "tool_result", "text"]
    assert state.format_history() == [text("user", "What's the weather?"), call("a"), answer("a"), done.to_h()]


def test_a_state_takes_messages_of_all_kinds_and_no_others() -> None:
    before = [text("system", "Be kind.")]
    for message in (UserMessage("Hi", thread_id="1"), TextMessage(role="user", content="Hi"), text("user", "Hi")):
        assert robotlab.create_state(message, messages=before).format_history() == [*before, text("user", "Hi")]
    assert robotlab.create_state().messages == []
    with pytest.raises(XMLToolsError, match="Invalid message"):
        robotlab.create_state(5)  # type: ignore[arg-type]
    with pytest.raises(XMLToolsError, match="data: expected a mapping"):
        robotlab.create_state("Hi", 5)  # type: ignore[arg-type]
    state = robotlab.create_state("Hi")
    with pytest.raises(XMLToolsError, match="Invalid message"):
        state.append_result({"output": [5]})
    for none in ("a", None, 5, {"outputs": []}, {"output": "a"}):
        with pytest.raises(XMLToolsError, match='result: expected an object with the lists "output" and "tool_calls"'):
            state.append_result(none)
    assert state.results == []


def test_the_user_goes_on_in_a_state() -> None:
    """The document: "User->>State: UserMessage", after a result as well as before."""
    state = robotlab.create_state("One")
    state.append_result(TextMessage(role="assistant", content="1"))
    state.append_result(UserMessage("Two"))
    state.append_result([call("a"), answer("a"), text("assistant", "2")])
    said = [text("user", "One"), text("assistant", "1"), text("user", "Two"), call("a"), answer("a")]
    assert state.format_history() == [*said, text("assistant", "2")]


def test_a_result_before_its_call_stands_after_it() -> None:
    history = robotlab.format_history(
        [text("user", "Go.")], [robot(answer("a"), call("a"), text("assistant", "Done."))]
    )
    assert history == [text("user", "Go."), call("a"), answer("a"), text("assistant", "Done.")]


# Messages


def test_a_message_with_calls_takes_hashes_and_messages() -> None:
    message = ToolCallMessage(role="assistant", content=None, tools=[TOOL, ToolMessage("2", "f")])
    assert message.calls == (ToolMessage("call_1", "get_weather", {"location": "Paris"}), ToolMessage("2", "f", {}))
    assert message.stop_reason == "tool"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"data": 5}, (True, False, 5, None)),
        ({"error": "no"}, (False, True, None, "no")),
        ({"temp": 22}, (False, False, None, None)),
        ("22", (False, False, None, None)),
    ],
)
def test_a_result_says_whether_it_is_an_error(content: Any, expected: tuple[Any, ...]) -> None:
    message = ToolResultMessage(tool=TOOL, content=content)
    assert (message.is_success, message.is_error, message.data, message.error) == expected


def test_the_input_of_a_call_may_be_called_arguments_or_be_missing() -> None:
    assert ToolMessage.from_hash({"id": "1", "name": "f", "arguments": {"a": 1}}).input == {"a": 1}
    assert ToolMessage.from_hash({"id": "1", "name": "f", "input": None}).input == {}
    made = ToolMessage(id="1", name="f", input=None)  # type: ignore[arg-type]
    assert made == ToolMessage.from_hash(made.to_h()) == ToolMessage(id="1", name="f")


TYPES = "Invalid message type: x. Must be one of: text, tool_call, tool_result"
ROLES = "Invalid role: tool. Must be one of: system, user, assistant, tool_result"
REASONS = "Invalid stop_reason: length. Must be one of: tool, stop"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "x", "role": "user"}, TYPES),
        ({"type": "text", "role": "tool", "content": "x"}, ROLES),
        ({"type": "text", "role": "user", "content": "x", "stop_reason": "length"}, REASONS),
        ({**CALLED, "tools": ["x"]}, "Invalid tool: must be ToolMessage or Hash"),
        (result({}, tool="x"), "Invalid tool: must be ToolMessage or Hash"),
        ("x", "Invalid message: must be Message or Hash"),
    ],
)
def test_what_is_invalid_is_refused_in_the_words_of_robotlab(value: Any, message: str) -> None:
    with pytest.raises(XMLToolsError) as caught:
        Hashed.from_hash(value)
    assert str(caught.value) == message
    with pytest.raises(XMLToolsError) as caught:
        load([value], "robotlab")
    assert str(caught.value).startswith("message 0: ")
    assert str(caught.value).endswith(message)


def test_a_message_with_calls_has_no_content_and_a_list_of_calls() -> None:
    with pytest.raises(XMLToolsError, match="content: expected None in a ToolCallMessage"):
        ToolCallMessage(role="assistant", content="hi", tools=[TOOL])
    with pytest.raises(XMLToolsError, match="tools: expected a list of calls, got dict"):
        ToolCallMessage(role="assistant", tools=TOOL)
    for nothing in (None, ""):
        assert Hashed.from_hash({**CALLED, "content": nothing}) == Hashed.from_hash(CALLED)
    with pytest.raises(XMLToolsError, match="content: expected None in a ToolCallMessage"):
        robotlab.create_state("Hi").append_result({**CALLED, "content": "I'll look it up."})


# Law 10


@given(conversations(robotlab.HOLDS))
def test_robotlab_reads_what_was_written_and_writes_the_same(said: Conversation) -> None:
    written = dump(said, "robotlab", strict=True)
    assert [Hashed.from_hash(each).to_h() for each in written] == written


KEYS = ("type", "role", "content", "stop_reason", "tools", "tool", "id", "name", "input", "arguments", "data", "error")
WORDS = ("text", "tool_call", "tool_result", "tool", "stop", "assistant", "user", "x")


@given(hashes(KEYS, WORDS, {"type": WORDS[:3], "role": ("user", "assistant", "tool_result"), "content": WORDS}))
def test_whatever_is_read_is_written_and_all_else_is_refused(messages: list[Any]) -> None:
    try:
        said = load(messages, "robotlab", issues=[])
    except XMLToolsError:
        return
    written = dump(said, "robotlab", issues=[])
    assert dump(load(written, "robotlab", issues=[]), "robotlab", issues=[]) == written


# Shapes


def test_a_reply_with_text_and_calls_is_two_hashes() -> None:
    call = ToolCall(id="call_1", name="get_weather", arguments={"location": "Paris"}, status="completed")
    said = Conversation().user("Weather?").assistant("I'll look.", [call]).tool("call_1", content="sunny")
    written, codes = write(said)
    assert codes == []
    assert written == [
        text("user", "Weather?"),
        text("assistant", "I'll look.", "tool"),
        CALLED,
        result({"data": "sunny"}),
    ]
    assert load(written, "robotlab") == said


@pytest.mark.parametrize(
    "hashes",
    [
        [text("assistant", "a"), CALLED],
        [text("assistant", "a", "tool"), CALLED],
        [text("assistant", "a", "stop"), CALLED],
        [text("assistant", "", "tool"), CALLED],
        [text("assistant", ""), CALLED],
        [text("user", "a"), CALLED],
        [text("user", "a", "tool"), {**CALLED, "role": "user"}],
        [{**text("assistant", "a", "tool"), "x": 1}, {**CALLED, "y": 2}],
        [text("assistant", "a"), text("assistant", "b"), CALLED, CALLED],
        [text("assistant", "a"), {**CALLED, "tools": []}, CALLED],
        [{**CALLED, "stop_reason": "stop"}],
        [{**CALLED, "tools": [{**TOOL, "mcp": "x"}, TOOL]}],
        [text("tool_result", "odd")],
        [CALLED, result({"data": "sunny"})],
        [CALLED, result({"data": {"temp": 22.0, "a": None}})],
        [CALLED, result({"data": None})],
        [CALLED, result({"data": ""})],
        [CALLED, result({"error": "no"})],
        [CALLED, result({"error": {"code": 5}})],
        [CALLED, result({"error": None, "data": 5})],
        [CALLED, result({"data": "x", "took": 3})],
        [CALLED, result({"temp": 22})],
        [CALLED, result("sunny")],
        [CALLED, result([1, 2])],
        [CALLED, result({"data": "x"}, stop_reason="stop", x=1)],
        [CALLED, result({"data": "x"}, tool={**TOOL, "input": {}, "mcp": "x"})],
        [
            {**CALLED, "tools": [{**TOOL, "input": {"n": 1}}]},
            result({"data": "x"}, tool={**TOOL, "input": {"n": 1.0}}),
        ],
        [result({"data": "x"})],
        [text("user", "half a \ud800 character"), result({"data": ["\ud800"]})],
    ],
)
def test_hashes_are_written_as_they_were_read(hashes: list[Any]) -> None:
    assert json.dumps(again(hashes)) == json.dumps(hashes)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"data": "sunny"}, ("sunny", False)),
        ({"data": {"temp": 22, "sky": "grün"}}, ('{"temp":22,"sky":"grün"}', False)),
        ({"data": None}, ("null", False)),
        ({"error": "no"}, ("no", True)),
        ({"error": None, "data": 5}, ("5", False)),
        ({"temp": 22}, ('{"temp":22}', False)),
        ("sunny", ("sunny", False)),
        ([1], ("[1]", False)),
    ],
)
def test_the_content_of_a_result_is_its_text(content: Any, expected: tuple[str, bool]) -> None:
    found = load([CALLED, result(content)], "robotlab").results[0]
    assert (found.content, found.is_error) == expected


def test_a_result_that_was_changed_is_not_written_as_it_was() -> None:
    said = load([CALLED, result({"data": {"temp": 22}})], "robotlab")
    changed = said.results[0].model_copy(update={"content": "cut"})
    said = said.with_messages([said[0], Message(role="tool", parts=(changed,))])
    assert write(said)[0] == [CALLED, result({"data": "cut"})]


def test_the_status_of_a_call_is_that_of_its_result() -> None:
    other = {**TOOL, "id": "call_2"}
    called = {**CALLED, "tools": [TOOL, other, {**TOOL, "id": "call_3"}]}
    said = load([called, result({"data": "x"}), result({"error": "x"}, tool=other)], "robotlab")
    assert [call.status for call in said.calls] == ["completed", "failed", "pending"]


def test_why_a_reply_ended_is_written_where_robotlab_knows_it() -> None:
    said = Conversation().assistant("a", finish_reason="stop").user("b").assistant("c", finish_reason="length")
    written, codes = write(said)
    assert written == [text("assistant", "a", "stop"), text("user", "b"), text("assistant", "c")]
    assert codes == ["finish_reason"]
    assert load(written[:2], "robotlab", strict=True) == said[:2]


@pytest.mark.parametrize("case", cases("robotlab", "stop_reason"))
def test_why_a_reply_ended_is_known_and_written_again(case: dict[str, Any]) -> None:
    """The document: `message.stopped?` is "Is stop_reason "stop"?", `message.tool_stop?` "Is stop_reason "tool"?"."""
    said = load(case["input"], "robotlab", strict=True)
    for message, expected in zip(said, case["expect"], strict=True):
        assert {name: getattr(message, name) for name in expected} == expected
    assert dump(said, "robotlab", strict=True) == case["input"]


@pytest.mark.parametrize("role", ["user", "system"])
@pytest.mark.parametrize(("reason", "stopped"), [("stop", True), ("tool", False)])
def test_every_message_knows_why_it_stopped(role: str, reason: str, stopped: bool) -> None:
    """The document: all messages have `stopped?` and `tool_stop?`."""
    hashes = [text(role, "Hi", stop_reason=reason)]
    (said,) = load(hashes, "robotlab", strict=True)
    assert (said.is_stopped, said.is_tool_stop) == (stopped, not stopped)
    assert again(hashes) == hashes
    for target in ("wolo", "robotlab"):
        assert convert(convert(hashes, "robotlab", target, strict=True), target, "robotlab", strict=True) == hashes


@pytest.mark.parametrize("case", cases("robotlab", "stop_reason"))
@pytest.mark.parametrize("target", ["wolo", "openai", "anthropic", "gemini", "clawtools", "wick"])
def test_why_a_reply_ended_is_no_loss(case: dict[str, Any], target: str) -> None:
    issues: list[Issue] = []
    convert(case["input"], "robotlab", target, issues=issues)
    silent = [{key: value for key, value in each.items() if key != "stop_reason"} for each in case["input"]]
    expected: list[Issue] = []
    convert(silent, "robotlab", target, issues=expected)
    assert issues == expected
    assert not {"finish_reason", "extra"} & {issue.code for issue in issues}


@given(conversations(robotlab.HOLDS), st.data())
def test_stops_come_back(said: Conversation, data: st.DataObject) -> None:
    reasons = st.sampled_from(["stop", "tool_calls", None])
    said = said.with_messages(
        message.model_copy(update={"finish_reason": data.draw(reasons)}) if message.is_assistant else message
        for message in said
    )
    assert load(dump(said, "robotlab", strict=True), "robotlab", strict=True) == said


# What is odd, and what is malformed


@pytest.mark.parametrize(
    ("hashes", "codes", "fixed"),
    [
        ([{"role": "user", "content": "a"}], ["missing_type"], [text("user", "a")]),
        ([{"type": "text", "role": "user"}], ["missing_content"], [text("user", "")]),
        ([CALLED, result(None)], ["missing_content"], [CALLED, result({"data": ""})]),
        ([{**CALLED, "content": None}], [], [CALLED]),
        ([{**CALLED, "content": "a"}], ["text_in_tool_call"], [text("assistant", "a", "tool"), CALLED]),
        (
            [text("assistant", "a"), {**CALLED, "content": "b"}],
            ["text_in_tool_call"],
            [text("assistant", "a"), text("assistant", "b", "tool"), CALLED],
        ),
        (
            [{**CALLED, "tools": [{"id": "call_1", "name": "get_weather", "arguments": {"location": "Paris"}}]}],
            ["tool_arguments"],
            [CALLED],
        ),
        ([{**CALLED, "tools": [{**TOOL, "input": '{"location": "Paris"}'}]}], ["arguments_text"], [CALLED]),
        (
            [{**CALLED, "tools": [{**TOOL, "input": "Paris"}]}, result({"data": "x"}, tool={**TOOL, "input": "Paris"})],
            ["invalid_arguments"],
            [{**CALLED, "tools": [{**TOOL, "input": "Paris"}]}, result({"data": "x"}, tool={**TOOL, "input": "Paris"})],
        ),
    ],
)
def test_what_is_odd_is_mended(hashes: list[Any], codes: list[str], fixed: list[Any]) -> None:
    said, found = read(hashes)
    assert found == codes
    assert write(said)[0] == fixed


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"type": "text"}, "robotlab: expected a list of messages"),
        ([text("user", "a"), {"type": "text", "role": "user", "content": 5}], "message 1: content: expected text"),
        ([{**CALLED, "tools": None}], "message 0: tools: expected a list of calls, as in"),
        ([{**CALLED, "tools": [{"name": "f"}]}], "message 0: tools[0].id: expected text, as in"),
        ([result({}, tool=None)], "message 0: tool: expected {"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(obj: Any, message: str) -> None:
    with pytest.raises(XMLToolsError) as caught:
        load(obj, "robotlab", issues=[])
    assert str(caught.value).startswith(message)


# What the format cannot say


@pytest.mark.parametrize(
    ("messages", "codes"),
    [
        ([Message.tool("1", "f", "x")], ["orphan_result"]),
        ([Message.assistant("a"), Message.assistant(calls=[ToolCall(id="1", name="f")])], ["merged_messages"]),
    ],
)
def test_what_cannot_be_said_is_reported(messages: list[Message], codes: list[str]) -> None:
    assert write(Conversation(messages=tuple(messages)))[1] == codes


def test_texts_of_a_reply_and_of_a_result_are_joined() -> None:
    texts = (Text(text="a "), Text(text="b"))
    call = ToolCall(id="call_1", name="get_weather", arguments={"location": "Paris"}, status="completed")
    said = Conversation().assistant((*texts, call)).tool("call_1", content=texts)
    assert write(said) == (
        [text("assistant", "a b", "tool"), CALLED, result({"data": "a \nb"})],
        ["texts", "result_texts"],
    )


@pytest.mark.parametrize("junk", [5, [], {"text": 5, "tool_call": 5, "tool": 5, "content": 5, "arguments": 5}])
def test_an_extra_that_is_not_ours_does_no_harm(junk: Any) -> None:
    extra = {"robotlab": junk}
    parts = (Text(text="x", extra=extra), ToolCall(id="1", name="f", arguments={"a": 1}, extra=extra))
    found = ToolResult(call_id="1", name="f", content="ok", extra=extra)
    messages = (Message(role="assistant", parts=parts, extra=extra), Message(role="tool", parts=(found,)))
    written = write(Conversation(messages=messages))[0]
    assert [each["type"] for each in written] == ["text", "tool_call", "tool_result"]
    assert written[1]["tools"][0]["input"] == {"a": 1}


# Recognising


@pytest.mark.parametrize("obj", [[text("user", "a")], [CALLED], [result({})], [TextMessage(role="user", content="a")]])
def test_it_is_recognised_by_its_own_marks(obj: Any) -> None:
    assert robotlab.recognise(obj)
    assert recognise(obj) == "robotlab"


@pytest.mark.parametrize(
    "obj",
    [
        None,
        [],
        [{"role": "user", "content": "a"}],
        [{"type": "message", "role": "user", "content": "a"}],
        [{"type": "text", "text": "a"}],
        [{"type": "tool_result", "tool_use_id": "1"}],
        {"type": "text", "role": "user", "content": "a"},
    ],
)
def test_it_is_not_recognised_by_what_others_have(obj: Any) -> None:
    assert not robotlab.recognise(obj)


# Adapters


def test_an_unknown_provider_is_refused_in_the_words_of_robotlab() -> None:
    with pytest.raises(XMLToolsError) as caught:
        provider("cohere")
    assert str(caught.value) == (
        "Unknown provider: cohere. Available providers: "
        "anthropic, openai, gemini, azure_openai, grok, ollama, openrouter, bedrock, vertexai"
    )


@pytest.mark.parametrize(
    ("name", "adapter"),
    [
        ("Azure-OpenAI", "OpenAI"),
        ("grok", "OpenAI"),
        ("ollama", "OpenAI"),
        ("openrouter", "OpenAI"),
        ("VertexAI", "Gemini"),
        ("BEDROCK", "Anthropic"),
    ],
)
def test_a_provider_is_found_by_its_other_names(name: str, adapter: str) -> None:
    assert provider(name).name == adapter


def test_calls_are_written_for_each_api() -> None:
    messages = [ToolCallMessage(role="assistant", tools=[TOOL])]
    block = {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"location": "Paris"}}
    assert robotlab.to_anthropic(messages) == [{"role": "assistant", "content": [block]}]
    [openai] = robotlab.to_openai(messages)
    assert json.dumps(openai) == (
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", '
        '"function": {"name": "get_weather", "arguments": "{\\"location\\":\\"Paris\\"}"}}]}'
    )
    call = {"functionCall": {"name": "get_weather", "args": {"location": "Paris"}}}
    assert robotlab.to_gemini(messages) == [{"role": "model", "parts": [call]}]


@pytest.mark.parametrize(
    ("content", "anthropic", "openai", "gemini"),
    [
        ({"data": "sunny"}, "sunny", '{"data":"sunny"}', {"data": "sunny"}),
        ({"data": {"temp": 22}}, '{"temp":22}', '{"data":{"temp":22}}', {"data": {"temp": 22}}),
        ({"data": 0}, "0", '{"data":0}', {"data": 0}),
        ({"data": False}, '{"data":false}', '{"data":false}', {"data": False}),
        ({"data": 5, "error": "no"}, '{"data":5,"error":"no"}', '{"data":5,"error":"no"}', {"data": 5, "error": "no"}),
        ({"error": "no"}, '{"error":"no"}', '{"error":"no"}', {"error": "no"}),
        ({"temp": 22}, '{"temp":22}', '{"temp":22}', {"temp": 22}),
        ("sunny", "sunny", "sunny", {"result": "sunny"}),
        (None, "", "", {"result": ""}),
    ],
)
def test_results_are_written_for_each_api(content: Any, anthropic: str, openai: str, gemini: Any) -> None:
    messages = [result(content)]
    block = {"type": "tool_result", "tool_use_id": "call_1", "content": anthropic}
    assert robotlab.to_anthropic(messages) == [{"role": "user", "content": [block]}]
    assert robotlab.to_openai(messages) == [{"role": "tool", "tool_call_id": "call_1", "content": openai}]
    response = {"functionResponse": {"name": "get_weather", "response": gemini}}
    assert robotlab.to_gemini(messages) == [{"role": "user", "parts": [response]}]


def test_gemini_calls_the_assistant_model() -> None:
    assert robotlab.to_gemini([text("assistant", "hi")]) == [{"role": "model", "parts": [{"text": "hi"}]}]


@pytest.mark.parametrize(
    ("choice", "anthropic", "openai", "gemini"),
    [
        ("auto", {"type": "auto"}, "auto", {"mode": "AUTO"}),
        ("any", {"type": "any"}, "required", {"mode": "ANY"}),
        ("none", {"type": "tool", "name": "none"}, "none", {"mode": "NONE"}),
        (
            "f",
            {"type": "tool", "name": "f"},
            {"type": "function", "function": {"name": "f"}},
            {"mode": "ANY", "allowed_function_names": ["f"]},
        ),
    ],
)
def test_a_choice_of_tools_is_written_for_each_api(choice: str, anthropic: Any, openai: Any, gemini: Any) -> None:
    found = [provider(name).tool_choice(choice) for name in ("anthropic", "openai", "gemini")]
    assert found == [anthropic, openai, gemini]


def test_tools_are_written_for_each_api() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    schema = {**closed, "properties": {"a": closed, "b": {"type": "array", "items": closed}, "c": True}}
    tool = Tool(name="f", description="d", parameters=schema)
    assert provider("anthropic").format_tools([tool]) == [{"name": "f", "description": "d", "input_schema": schema}]
    function = {"name": "f", "description": "d", "parameters": schema, "strict": True}
    assert provider("openai").format_tools([tool]) == [{"type": "function", "function": function}]
    properties = {"a": {"type": "object", "properties": {}}, "b": {"type": "array", "items": closed}, "c": True}
    cleaned = {"type": "object", "properties": properties}
    assert provider("gemini").format_tools([tool]) == [{"name": "f", "description": "d", "parameters": cleaned}]
    assert tool.parameters == schema


@pytest.mark.parametrize(
    ("arguments", "plain", "fenced"),
    [
        (None, {}, {}),
        ({"a": 1}, {"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}, {"a": 1}),
        ('```json\n{"a": 1}\n```', {"raw": '```json\n{"a": 1}\n```'}, {"a": 1}),
        ('```{"a": 1}```', {"raw": '```{"a": 1}```'}, {"a": 1}),
        ("Paris", {"raw": "Paris"}, {"raw": "Paris"}),
        ("```\nParis\n```", {"raw": "```\nParis\n```"}, {"raw": "```\nParis\n```"}),
        ("[1]", {"raw": "[1]"}, {"raw": "[1]"}),
        ("[" * 100_000, {"raw": "[" * 100_000}, {"raw": "[" * 100_000}),
    ],
)
def test_arguments_are_read_from_text(arguments: Any, plain: Any, fenced: Any) -> None:
    assert provider("anthropic").parse_arguments(arguments) == plain
    assert provider("gemini").parse_arguments(arguments) == plain
    assert provider("openai").parse_arguments(arguments) == fenced


def test_a_tool_message_has_all_that_messages_have() -> None:
    """The document: ToolMessage is a Message, the "base class for tool-related messages"."""
    tool = ToolMessage(id="tool_123", name="get_weather", input={"location": "Paris"})
    assert isinstance(tool, Hashed) and (tool.type, tool.role, tool.content) == ("tool", "assistant", None)
    assert tool.is_assistant
    told = (tool.is_text, tool.is_tool_call, tool.is_tool_result, tool.is_user, tool.is_system)
    assert not any((*told, tool.stopped, tool.tool_stop))
    assert ToolMessage.from_hash(tool.to_h()) == tool == ToolMessage.from_hash(**tool.to_h())
    assert Hashed.from_hash(tool) is tool
    assert Hashed.from_hash(tool.to_h()) == Hashed.from_hash(**tool.to_h()) == tool


def test_a_call_by_itself_is_no_message_of_a_conversation() -> None:
    tool = ToolMessage.from_hash(TOOL)
    for value in (tool, TOOL):
        with pytest.raises(XMLToolsError, match="message 0: Invalid message"):
            load([value], "robotlab")
        for refuse in (robotlab.create_state, robotlab.create_state("Hi").append_result):
            with pytest.raises(XMLToolsError, match="a ToolMessage stands in a ToolCallMessage, and not by itself"):
                refuse(value)  # type: ignore[arg-type]


def test_messages_about_calls_are_tool_messages() -> None:
    """The diagram: ToolMessage <|-- ToolCallMessage, ToolMessage <|-- ToolResultMessage."""
    tool = ToolMessage.from_hash(TOOL)
    other = ToolMessage(id="call_2", name="f")
    called = ToolCallMessage(role="assistant", tools=[TOOL, other])
    answered = ToolResultMessage(tool=tool, content={"data": 1})
    for message in (called, answered):
        assert isinstance(message, ToolMessage)
        assert (message.id, message.name, message.input) == (tool.id, tool.name, tool.input)
        assert type(message).from_hash(message.to_h()) == Hashed.from_hash(message) == message
        assert "id" not in message.to_h()
    nothing = ToolCallMessage(role="assistant", tools=[])
    assert (nothing.id, nothing.name, nothing.input) == ("", "", {})
    assert called != ToolCallMessage(role="assistant", tools=[TOOL])
    assert repr(nothing) == "ToolCallMessage(role='assistant', content=None, stop_reason='tool', tools=())"
    assert ToolCallMessage.from_hash(text("user", "Hi")) == TextMessage(role="user", content="Hi")
    with pytest.raises(XMLToolsError, match="Invalid tool: must be ToolMessage or Hash"):
        ToolResultMessage(tool=answered, content={"data": 1})


def test_what_a_tool_message_holds_as_a_message_is_written_and_read() -> None:
    """The document: ToolMessage is a Message, which has a type, a role, content and a stop_reason."""
    tool = ToolMessage(id="tool_123", name="get_weather", stop_reason="tool", content="?")
    assert tool.is_tool_stop
    assert tool.to_h() == {
        "type": "tool", "id": "tool_123", "name": "get_weather", "input": {}, "content": "?", "stop_reason": "tool",
    }  # fmt: skip
    assert ToolMessage.from_hash(tool.to_h()) == tool
    said = [robotlab.ToolCallMessage(role="assistant", tools=[tool]).to_h()]
    assert dump(load(said, "robotlab", strict=True), "robotlab", strict=True) == said


@pytest.mark.parametrize("case", cases("robotlab", "system_prompt"))
def test_several_system_messages_are_joined_or_reported(case: dict[str, Any]) -> None:
    """The document: "System messages are handled specially" for each provider."""
    assert robotlab.system_prompt(case["input"]) == case["expect"]["system_prompt"]
    for target, codes in case["expect"]["converted"].items():
        issues: list[Issue] = []
        written = convert(case["input"], "robotlab", target, issues=issues)
        assert [issue.code for issue in issues] == codes
        assert all(text in json.dumps(written) for text in ("You are helpful.", "Be brief."))


def test_system_messages_that_cannot_be_joined_are_refused() -> None:
    blocks = TextMessage(role="system", content=[{"type": "text", "text": "Be brief."}])
    assert robotlab.system_prompt([blocks]) == blocks.content
    with pytest.raises(XMLToolsError, match="system messages: expected texts, which can be joined, got list"):
        robotlab.system_prompt([TextMessage(role="system", content="Be kind."), blocks])
