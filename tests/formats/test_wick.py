"""Wick: the examples of its documents, the law of formats, Go's spellings, and what is malformed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import conversation, conversations
from support.seed_cases import cases

from xmltools import formats
from xmltools.conversations.validation import check_user_input
from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import wick
from xmltools.formats.wick.go_values import quote, value_text
from xmltools.models import Conversation, Media, Message, Text, ToolCall, ToolResult

CONSTRUCTORS = {"Human": wick.human, "System": wick.system, "AI": wick.ai, "ToolMsg": wick.tool_msg}
CALL = {"id": "c", "name": "f", "args": {"a": 1}}


def load(obj):
    issues: list[Issue] = []
    return formats.load(obj, "wick", issues=issues), [(issue.code, issue.index) for issue in issues]


def load_clean(obj):
    conversation, issues = load(obj)
    assert issues == []
    return conversation


def dump(conversation):
    issues: list[Issue] = []
    return formats.dump(conversation, "wick", issues=issues), [(issue.code, issue.index) for issue in issues]


def dump_clean(conversation):
    written, issues = dump(conversation)
    assert issues == []
    return written


def reply(*calls):
    return [{"role": "assistant", "content": "x", "tool_calls": list(calls)}]


def args_of(value):
    """How a value is written among the arguments of a call."""
    shown = wick.pretty(reply({"id": "c", "name": "f", "args": {"a": value}}))
    return shown.partition("map[a:")[2].removesuffix("])\n\n")


# The documents' examples


def built(steps):
    chat = Conversation()
    for name, *args in steps:
        chat = chat.add(CONSTRUCTORS["ToolMsg" if name == "Tool" else name](*args))
    return chat


def run_conversation(given, expect):
    chat = load_clean(given)
    assert [message.role for message in chat] == expect["roles"]
    assert wick.validate_first(given) == wick.validate_first(chat) == expect["validate_error"]
    assert wick.validate_user_input_first(given) == expect["user_input_error"]
    assert wick.estimate_tokens(chat) == expect["tokens"]
    assert dump_clean(chat) == given


def run_constructor(given, expect):
    message = CONSTRUCTORS[given["fn"]](*given["args"])
    assert dump_clean(Conversation(messages=(message,))) == [expect]


def run_validate(given, expect):
    assert wick.validate_first(given) == expect["error"]


def run_validate_user_input(given, expect):
    assert wick.validate_user_input_first(given) == expect["error"]


def run_chain(given, expect):
    chat = built(given["build"])
    written, _ = dump(chat)  # its calls are answered and still pending, which Wick cannot say
    assert json.dumps(written) == json.dumps(expect["messages"])
    assert len(chat) == expect["len"]
    assert wick.last_content(chat) == expect["last_content"]


def run_filter(given, expect):
    chat = load_clean(given["messages"])
    chosen = tuple(chat[index] for index in expect["indices"])
    assert chat.by_role(given["role"]).messages == chosen


def run_last(given, expect):
    chat = load_clean(given)
    assert wick.last(chat) == wick.last(given) == expect["last"]
    assert (wick.last_content(chat), len(chat)) == (expect["last_content"], expect["len"])


def run_concat(given, expect):
    assert len(load_clean(given["a"]).concat(load_clean(given["b"]))) == expect["len"]


def run_pretty(given, expect):
    assert wick.pretty(given) == wick.pretty(load_clean(given)) == expect["text"]


def run_estimate_tokens(given, expect):
    assert wick.estimate_tokens(given) == wick.estimate_tokens(load_clean(given)) == expect["tokens"]


def run_to_json(given, expect):
    assert json.dumps(dump_clean(load_clean(given))) == json.dumps(expect)


def run_test_endpoint(given, expect):
    answer = wick.test_endpoint(given["messages"])
    assert answer.items() >= expect.items()
    assert answer == wick.test_endpoint(load_clean(given["messages"]))
    assert answer["messages"] == given["messages"]
    assert answer["pretty_print"] == wick.pretty(given["messages"])


def run_state(given, expect):
    state = wick.AgentState.from_dict(given)
    assert (state.thread_id, len(state.todos), list(state.files)) == (
        expect["thread_id"], expect["todos"], expect["files"]
    )  # fmt: skip
    assert [message.role for message in state.messages] == expect["roles"]
    assert json.dumps(state.to_dict()) == json.dumps(dump_clean(load_clean(given))) == json.dumps(given)


def run_tool_result(given, expect):
    read = wick.ToolResult.from_dict(given)
    result = read.to_result()
    assert (result.text, result.is_error) == (expect["text"], expect["is_error"])
    assert json.dumps(wick.ToolResult.of(result).to_dict()) == json.dumps(given)


def run_raw_args(given, expect):
    chat = wick.with_raw_args(formats.load([{"role": "assistant", "content": "", "tool_calls": [given]}], "openai"))
    assert wick.estimate_tokens(chat) == expect["tokens"]


RUN = {
    "state": run_state,
    "tool_result": run_tool_result,
    "user_input": lambda given, expect: check_equal(wick.user_input(given), expect["taken"]),
    "raw_args": run_raw_args,
    "conversation": run_conversation,
    "constructor": run_constructor,
    "valid_role": lambda given, expect: check_equal(wick.valid_role(given), expect["valid"]),
    "user_input_role": lambda given, expect: check_equal(wick.user_input_role(given), expect["allowed"]),
    "validate": run_validate,
    "validate_user_input": run_validate_user_input,
    "chain": run_chain,
    "filter": run_filter,
    "last": run_last,
    "concat": run_concat,
    "pretty": run_pretty,
    "estimate_tokens": run_estimate_tokens,
    "to_json": run_to_json,
    "test_endpoint": run_test_endpoint,
}


def check_equal(found, expected):
    assert found == expected


@pytest.mark.parametrize("case", cases("wick"))
def test_an_example_of_the_documents_holds(case):
    RUN[case["kind"]](case["input"], case["expect"])


@pytest.mark.parametrize("case", cases("wick", "conversation", "to_json", "pretty"))
def test_loading_and_dumping_an_example_changes_no_byte(case):
    assert json.dumps(dump_clean(load_clean(case["input"]))) == json.dumps(case["input"])


# The law


@given(conversations())
def test_what_is_loaded_is_valid_for_wick(chat):
    written, _ = dump(chat)
    assert wick.validate(written) == wick.validate(chat) == []


@given(conversations())
def test_only_replies_with_wicks_calls_are_recognised(chat):
    written, _ = dump(chat)
    assert wick.recognise(written) == bool(chat.calls)


@pytest.mark.parametrize(
    "obj",
    [
        None,
        {},
        {"messages": reply(CALL)},
        [],
        ["x"],
        [{"role": "user", "content": "x"}],
        [{"role": "tool", "content": "x", "tool_call_id": "c", "name": "f"}],
        reply({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}),
        reply(1),
        [{"role": "assistant", "tool_calls": 5}],
    ],
)
def test_what_bears_no_mark_of_wick_is_not_recognised(obj):
    assert not wick.recognise(obj)


# What is kept


@pytest.mark.parametrize(
    "obj",
    [
        reply({"id": "c", "name": "f", "args": None}),
        reply({"id": "c", "name": "f", "args": {}}),
        reply({"id": "c", "name": "f", "args": {"b": 1, "a": 2}, "index": 0}),
        [{"role": "user", "content": "x", "name": "ada", "seen": True}],
        [{"role": "tool", "content": "", "tool_call_id": "c", "name": "f", "error": "no"}],
        [{"role": "user", "content": "x", "tool_calls": [CALL]}],
        [{"role": "assistant", "content": ""}],
        [{"role": "user", "content": "\ud800"}, *reply({"id": "c", "name": "f", "args": {"\ud800": "\udc00"}})],
    ],
    ids=str,
)
def test_what_is_odd_but_right_is_written_as_it_was(obj):
    assert json.dumps(dump_clean(load_clean(obj))) == json.dumps(obj)


def test_null_arguments_that_were_filled_in_are_written():
    chat = load_clean(reply({"id": "c", "name": "f", "args": None}))
    filled = chat.calls[0].model_copy(update={"arguments": {"a": 1}})
    assert dump_clean(Conversation(messages=(Message.assistant("x", [filled]),))) == reply(CALL)


def test_raw_arguments_count_as_tokens_and_are_never_written():
    chat = load_clean(reply({**CALL, "raw_args": '{"a": "é"}'}))
    assert wick.estimate_tokens(chat) == 11 // 4
    assert dump_clean(chat) == wick.test_endpoint(chat)["messages"] == reply(CALL)


@pytest.mark.parametrize(
    ("text", "arguments", "code", "written"),
    [
        ('{"a": 1}', {"a": 1}, "arguments_as_text", {"a": 1}),
        ("[1]", {}, "invalid_arguments", "[1]"),
        ('{"a": ', {}, "invalid_arguments", '{"a": '),
        ("", {}, "invalid_arguments", ""),
        ('"\ud800"', {}, "invalid_arguments", '"\ud800"'),
        ("[" * 100_000, {}, "invalid_arguments", "[" * 100_000),
    ],
    ids=["object", "list", "cut off", "nothing", "surrogate", "deep"],
)
def test_arguments_as_text_are_read_if_they_are_an_object_and_else_kept(text, arguments, code, written):
    chat, issues = load(reply({"id": "c", "name": "f", "args": text}))
    assert chat.calls[0].arguments == arguments
    assert issues == [(code, 0)]
    assert dump_clean(chat) == reply({"id": "c", "name": "f", "args": written})


def test_the_text_of_arguments_is_what_counts_as_tokens():
    chat, _ = load(reply({"id": "c", "name": "f", "args": '{"a": 1}'}))
    assert wick.estimate_tokens(chat) == 2


def test_objects_of_other_libraries_are_read_as_their_dicts():
    class Foreign:
        def __init__(self, **fields):
            self.fields = fields

        def model_dump(self, **options):
            return self.fields

    assert load_clean([Foreign(role="user", content="x")]) == Conversation().user("x")


def test_messages_made_by_the_constructors_can_be_looked_at_in_a_list():
    messages = [wick.human("hello"), wick.ai("", ToolCall(id="c", name="f", arguments={"a": 1}))]
    assert wick.pretty(messages) == "[Human]\nhello\n\n[AI]\n  → tool_call: f(id=c, args=map[a:1])\n\n"
    assert wick.validate([*messages, wick.ai("")]) == ["message[2]: assistant message has no content and no tool calls"]


# What is odd is mended and reported


@pytest.mark.parametrize(
    ("obj", "issues"),
    [
        ([{"role": "user"}], [("missing_content", 0)]),
        ([{"role": "user", "content": None}], [("missing_content", 0)]),
        (reply({"name": "f", "args": {}}), [("missing_id", 0)]),
        (reply({"id": "c", "args": {}}), [("missing_name", 0)]),
        ([{"role": "tool", "content": "x", "name": "f"}], [("missing_id", 0)]),
        ([{"role": "tool", "content": "x", "tool_call_id": "c"}], [("orphan_result", 0)]),
        ([*reply(CALL), {"role": "tool", "content": "x", "tool_call_id": "c"}], [("missing_name", 1)]),
    ],
    ids=str,
)
def test_what_is_missing_is_empty_and_reported(obj, issues):
    assert load(obj)[1] == issues


@pytest.mark.parametrize("given", [{"role": "tool", "content": "x"}, {"role": "tool", "content": "", "name": "f"}])
def test_a_result_that_answers_no_call_is_written_as_it_was(given):
    chat, _ = load([given])
    assert dump_clean(chat) == [given]


def test_a_result_without_a_name_gets_that_of_its_call():
    chat, _ = load([*reply(CALL), {"role": "tool", "content": "x", "tool_call_id": "c"}])
    assert chat.results[0] == ToolResult(call_id="c", name="f", content="x")


def test_a_call_with_a_result_is_completed_and_one_without_is_pending():
    chat = load_clean(
        [*reply(CALL, {**CALL, "id": "d"}), {"role": "tool", "content": "", "tool_call_id": "c", "name": "f"}]
    )
    assert [call.status for call in chat.calls] == ["completed", "pending"]


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (None, "expected a list of messages {role, content}, got NoneType"),
        ({"messages": []}, 'expected a list of messages {role, content}, got dict: give the list in its "messages"'),
        (["x"], "message 0: expected an object with role and content, got text"),
        ([{"content": "x"}], "message 0: role: expected system, user, assistant or tool, got nothing"),
        ([{"role": "hacker"}], "message 0: role: expected system, user, assistant or tool, got 'hacker'"),
        (
            [{"role": "user", "content": ["x"]}],
            "message 0: content: expected a string (Wick has text only), got a list",
        ),
        (
            [{"role": "user", "content": "", "tool_calls": {}}],
            "message 0: tool_calls: expected a list of calls, got an object",
        ),
        (reply(CALL, 1), "message 0: tool_calls[1]: expected an object {id, name, args}, got a number"),
        (reply({**CALL, "id": 1}), "message 0: tool_calls[0]: id: expected a string, got a number"),
        (reply({**CALL, "args": [1]}), "message 0: tool_calls[0].args: expected an object, or null, got a list"),
        (
            reply({"id": "c", "function": {"name": "f"}}),
            "message 0: tool_calls[0]: expected an object {id, name, args}, got a call of OpenAI's: load it as openai",
        ),
        ([{"role": "tool", "tool_call_id": []}], "message 0: tool_call_id: expected a string, got a list"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_malformed_is_refused_with_its_place(obj, message):
    with pytest.raises(XMLToolsError) as error:
        formats.load(obj, "wick")
    assert str(error.value) == message


@pytest.mark.parametrize("call", [5, {"id": 1}, {"id": "c", "name": "f", "args": "[]"}])
def test_a_reply_is_not_made_with_what_is_no_call(call):
    with pytest.raises(XMLToolsError, match=r"call 1"):
        wick.ai("", CALL, call)


# What Wick cannot say is reported

RESULT = ToolResult(
    call_id="c", name="f", content=(Text(text="a"), Media(media_type="image/png", data="eA=="), Text(text="b"))
)
WRITTEN = {"role": "tool", "content": "a\nb", "tool_call_id": "c", "name": "f"}


@pytest.mark.parametrize(
    ("message", "written", "issues"),
    [
        (Message(role="tool", parts=(RESULT,)), [WRITTEN], ["result_texts", "result_media"]),
        (Message(role="tool", parts=(RESULT, RESULT)), [WRITTEN, WRITTEN], ["result_texts", "result_media"]),
        (Message(role="user", parts=(RESULT,)), [WRITTEN], ["result_texts", "result_media", "misplaced_result"]),
        (
            Message(role="user", parts=(RESULT, Text(text="x"))),
            [{"role": "user", "content": "x"}, WRITTEN],
            ["result_texts", "result_media", "misplaced_result"],
        ),
        (Message(role="tool", parts=(Text(text="x"),)), [], ["misplaced_part", "empty_message"]),
        (Message(role="tool"), [], ["empty_message"]),
        (
            Message(role="assistant", parts=(ToolCall(id="c", name="f"), Text(text="x"))),
            reply({"id": "c", "name": "f", "args": {}}),
            ["order"],
        ),
    ],
)
def test_what_wick_has_no_place_for_is_reported(message, written, issues):
    found, codes = dump(Conversation(messages=(message,)))
    assert found == written
    assert [code for code, _ in codes] == issues


@pytest.mark.parametrize("junk", [None, 1, "x", ["args"], {"args": None}, {"role": "x", "content": 5}])
def test_what_others_left_in_extra_never_makes_writing_raise(junk):
    call = ToolCall(id="c", name="f", arguments={"a": 1}, extra={"wick": junk})
    written, _ = dump(Conversation(messages=(Message.assistant("x", [call], extra={"wick": junk}),)))
    assert written[0]["role"] == "assistant"
    assert written[0]["content"] == "x"
    assert written[0]["tool_calls"][0]["args"] == {"a": 1}


# Validation of what came from outside


def test_all_problems_are_listed_and_the_first_is_wicks_error():
    messages = [{"role": "user", "content": ""}, {"role": "tool"}, *reply({}), {"role": "user", "content": "x"}, 5]
    assert wick.validate(messages) == [
        "message[0]: user message has empty content",
        "message[1]: tool message missing tool_call_id",
        "message[1]: tool message missing name",
        "message[2].tool_calls[0]: missing ID",
        "message[2].tool_calls[0]: missing name",
        "message[4]: expected an object with role and content, got int",
    ]
    assert wick.validate_first(messages) == "message[0]: user message has empty content"


def test_messages_from_outside_may_have_no_other_role_and_no_empty_content():
    messages = [{"role": "h\n", "content": ""}, {"role": "system", "content": "x"}, {"role": "user"}]
    assert wick.validate_user_input(messages) == [
        'message[0]: role "h\\n" not allowed (must be "user" or "system")',
        "message[0]: content must not be empty",
        "message[2]: content must not be empty",
    ]
    assert wick.validate_user_input([{"role": "user", "content": "x"}]) == []
    assert wick.validate_user_input_first([{"role": "user", "content": "x"}]) is None


def test_an_empty_chain_and_white_space_and_empty_results_are_valid():
    result = {"role": "tool", "content": "", "tool_call_id": "none", "name": "f"}
    assert wick.validate([]) == wick.validate([result, {"role": "user", "content": " "}]) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
KEYS = st.sampled_from(["role", "content", "tool_calls", "tool_call_id", "name", "id", "args", "raw_args", "x"])
MALFORMED = st.lists(st.dictionaries(KEYS, st.sampled_from(["user", "assistant", "tool", [{}], [CALL, 5]]) | JSON))


@given(MALFORMED)
def test_nothing_malformed_makes_looking_raise(messages):
    wick.validate(messages)
    wick.validate_user_input(messages)
    assert wick.pretty(messages).count("\n\n") >= len(messages)
    assert wick.estimate_tokens(messages) >= 0
    assert wick.test_endpoint(messages)["chain_length"] == len(messages)
    wick.recognise(messages)


@given(MALFORMED)
def test_loading_what_is_malformed_raises_nothing_but_our_error(messages):
    try:
        chat, _ = load(messages)
    except XMLToolsError:
        return
    assert load_clean_again(chat) == chat


def load_clean_again(chat):
    return load(dump(chat)[0])[0]


@pytest.mark.parametrize("function", [wick.validate, wick.validate_user_input, wick.pretty, wick.estimate_tokens])
@pytest.mark.parametrize("given", [None, {}, "text", 5])
def test_what_is_no_list_is_the_callers_mistake(function, given):
    with pytest.raises(XMLToolsError, match="expected a list of messages"):
        function(given)


@pytest.mark.parametrize("function", [wick.pretty, wick.estimate_tokens, wick.last, wick.test_endpoint])
def test_only_objects_can_be_looked_at(function):
    with pytest.raises(XMLToolsError, match="message 1: expected an object"):
        function([{"role": "user", "content": "x"}, 5])


# Go's spellings


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "<nil>"),
        (True, "true"),
        (False, "false"),
        ("a b", "a b"),
        ("", ""),
        ([], "[]"),
        ({}, "map[]"),
        (["x", 1, None, True], "[x 1 <nil> true]"),
        ({"b": [1, [2]], "a": {"z": {}}}, "map[a:map[z:map[]] b:[1 [2]]]"),
        ({"é": 1, "z": 2, "😀": 3, "\uffff": 4, "Z": 5}, "map[Z:5 z:2 é:1 \uffff:4 😀:3]"),
        (0, "0"),
        (0.0, "0"),
        (-0.0, "-0"),
        (-3, "-3"),
        (1.5, "1.5"),
        (0.1, "0.1"),
        (100000, "100000"),
        (123456.789, "123456.789"),
        (999999.9999999999, "999999.9999999999"),
        (1000000, "1e+06"),
        (1e6, "1e+06"),
        (1234567, "1.234567e+06"),
        (-1234567.25, "-1.23456725e+06"),
        (2**53 + 1, "9.007199254740992e+15"),
        (1e15, "1e+15"),
        (1e21, "1e+21"),
        (1e100, "1e+100"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.0001, "0.0001"),
        (0.00012, "0.00012"),
        (0.00001, "1e-05"),
        (0.000012, "1.2e-05"),
        (5e-324, "5e-324"),
        (10**400, "+Inf"),
        (-(10**400), "-Inf"),
        (float("nan"), "NaN"),
    ],
    ids=repr,
)
def test_arguments_are_shown_as_go_shows_them(value, shown):
    assert args_of(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_shown_with_the_fewest_digits_that_say_it(value):
    for shown in (value_text(value), wick.arguments_json({"a": value})[5:-1]):
        assert float(shown) == value
        assert len(shown.replace("-", "").partition("e")[0].replace(".", "").strip("0")) <= 17
    assert ("e" in value_text(value)) == (value != 0 and not 1e-4 <= abs(value) < 1e6)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("hacker", '"hacker"'),
        ("", '""'),
        ('a"b\\', r'"a\"b\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\0\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\x80\xa0\xad", r'"\u0080\u00a0\u00ad"'),
        ("é 表😀", '"é 表😀"'),
        ("\u200b\u2028\ufeff\ue000", r'"\u200b\u2028\ufeff\ue000"'),
        ("\U000e0001\U0010ffff", r'"\U000e0001\U0010ffff"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_roles_are_quoted_as_go_quotes_them(text, quoted):
    assert quote(text) == quoted
    assert wick.validate_first([{"role": text, "content": "x"}]) == f"message[0]: unknown role {quoted}"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (None, "null"),
        ({}, "{}"),
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"a": "<b> & c"}, r'{"a":"\u003cb\u003e \u0026 c"}'),
        ({"<": "é\u2028\u2029\x7f"}, '{"\\u003c":"é\\u2028\\u2029\x7f"}'),
        ({"a": '"\\\n\r\t\b\f\0\x1f/'}, r'{"a":"\"\\\n\r\t\b\f\u0000\u001f/"}'),
        ({"a": "\ud800"}, r'{"a":"\ufffd"}'),
        ({"a": 5.0, "b": -0.0, "c": 1e20, "d": 1e21, "e": 1e-6, "f": 1e-7, "g": 1.5e-10},
         '{"a":5,"b":-0,"c":100000000000000000000,"d":1e+21,"e":0.000001,"f":1e-7,"g":1.5e-10}'),
        ({"a": 10**30 + 1}, '{"a":1000000000000000000000000000001}'),
    ],
)  # fmt: skip
def test_arguments_become_gos_json(arguments, text):
    assert wick.arguments_json(arguments) == text


def as_go_reads(value):
    """Every number is a float64: Go writes a large one with the fewest digits that say it, and zeros behind them."""
    if isinstance(value, dict):
        return {name: as_go_reads(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(as_go_reads, value))
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(str(value)) if is_number else value


@given(st.randoms(use_true_random=False))
def test_gos_json_says_the_same_arguments(rng):
    for call in conversation(rng, wick.HOLDS).calls:
        text = wick.arguments_json(call.arguments)
        assert as_go_reads(json.loads(text)) == as_go_reads(call.arguments)
        assert not set(text) & set("<>&\u2028\u2029")


@pytest.mark.parametrize(
    "value", [float("inf"), float("nan"), {1}, b"x", 10**5000, {1: 2}], ids=lambda v: type(v).__name__
)
def test_what_json_has_no_word_for_cannot_become_json(value):
    with pytest.raises(XMLToolsError, match="arguments: expected"):
        wick.arguments_json({"a": value})


def test_arguments_may_nest_deeper_than_the_stack():
    depth = 10 * sys.getrecursionlimit()
    value: list = []
    for _ in range(depth):
        value = [value]
    assert value_text(value) == "[" * (depth + 1) + "]" * (depth + 1)
    assert wick.arguments_json({"a": value}).count("[") == depth + 1
    while value:  # taken apart by hand, so that no destructor has to go as deep
        value = value[0]


def test_tokens_are_a_quarter_of_the_bytes_of_each_content():
    messages = [{"role": "user", "content": text} for text in ("éé", "abc", "abcdefg", "\ud800a", "😀")]
    assert wick.estimate_tokens(messages) == 1 + 0 + 1 + 1 + 1


def test_an_unknown_role_is_shown_by_its_name_and_an_empty_chain_is_nothing():
    assert wick.pretty([{"role": "critic", "content": "a\nb"}]) == "[critic]\na\nb\n\n"
    assert wick.pretty([]) == wick.pretty(Conversation()) == ""


def test_a_result_without_content_has_no_line_for_it():
    chat = Conversation(messages=(wick.tool_msg("c", "f", ""),))
    assert wick.pretty(chat) == "[Tool: f (call_id=c)]\n\n"


def test_the_same_seed_makes_the_same_text():
    chat = conversation(Random(1), wick.HOLDS)
    assert wick.pretty(chat) == wick.pretty(dump_clean(chat))


def test_user_input_is_taken_by_its_role_and_content():
    """The document: the handler's `chain[i] = agent.Message{Role: m.Role, Content: m.Content}`, then the check."""
    calls = [{"id": "c", "name": "rm", "args": {}}]
    user = {"role": "user", "content": "Hi", "tool_calls": calls, "name": "x"}
    given = [{"role": "system", "content": "Be kind."}, user]
    assert wick.user_input(given) == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
    for wrong, problem in (
        ([], "messages must not be empty"),
        ([{"role": "user"}], "message[0]: content must not be empty"),
        ([user, wick.ai("spoofed")], 'message[1]: role "assistant" not allowed (must be "user" or "system")'),
        ([5], "message[0]: expected an object with role and content, got int"),
    ):
        with pytest.raises(XMLToolsError) as raised:
            wick.user_input(wrong)
        assert str(raised.value) == problem


@pytest.mark.parametrize("more", [{"tool_calls": [{"id": "c", "name": "rm", "args": {}}]}, {"tool_call_id": "c"}])
def test_a_user_neither_calls_tools_nor_answers_for_them(more):
    (problem,) = wick.validate_user_input([{"role": "user", "content": "Hi", **more}])
    assert problem == f"message[0]: {next(iter(more))} not allowed"
    assert wick.validate_user_input([{"role": "user", "content": "Hi", "tool_calls": []}]) == []


# The state of an agent

STATE = {
    "thread_id": "t1",
    "messages": [{"role": "user", "content": "Go"}, *reply(CALL)],
    "todos": [{"content": "read", "status": "done"}],
    "files": {"/a.py": "print()"},
}


@pytest.mark.parametrize(
    "state",
    [
        STATE,
        {"thread_id": "", "messages": []},
        {"thread_id": "t", "messages": None},
        {"thread_id": "t", "messages": [], "todos": [], "files": {}},
        {"thread_id": "t", "messages": [], "todos": None, "memory": {"seen": True}},
    ],
    ids=str,
)
def test_a_state_is_written_as_it_was(state):
    """The document, section 7: `AgentState` has thread_id, messages, todos and files."""
    chat = load_clean(state)
    assert json.dumps(dump_clean(chat)) == json.dumps(state)
    assert wick.AgentState.from_dict(wick.AgentState.from_dict(state).to_dict()) == wick.AgentState.from_dict(state)


def test_the_state_of_an_agent_has_the_fields_of_the_document():
    state = wick.AgentState.from_dict(STATE)
    assert (state.thread_id, state.todos, state.files) == ("t1", STATE["todos"], STATE["files"])
    assert [message.role for message in state.messages] == ["user", "assistant"]
    assert state.to_dict() == STATE
    assert formats.recognise(STATE) == "wick"
    assert formats.recognise({"thread_id": "t", "messages": None}) == "wick"  # as Go writes a new one
    built = wick.AgentState("t1", [wick.human("Go"), *STATE["messages"][1:]], STATE["todos"], STATE["files"])
    assert built == state
    assert wick.AgentState("t2").to_dict() == {"thread_id": "t2", "messages": []}


def test_what_stands_beside_the_messages_of_a_state_is_reported_where_it_is_lost():
    issues: list[Issue] = []
    written = formats.convert(STATE, None, "openai", issues=issues)
    assert [message["role"] for message in written] == ["user", "assistant"]
    assert [str(issue) for issue in issues] == [
        "what wick has beside the messages is left out: thread_id, todos, files"
    ]


@given(conversations(wick.HOLDS))
def test_the_messages_of_a_state_are_kept(chat):
    state = wick.AgentState("t", chat, [{"content": "x"}], {"a": "b"})
    written = state.to_dict(issues=[])
    assert wick.AgentState.from_dict(written) == state
    assert written["messages"] == dump(chat)[0]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"thread_id": 5, "messages": []}, "thread_id: expected a string, got a number"),
        ({"thread_id": "t", "messages": {}}, "expected a list of messages {role, content}, got dict"),
        ({"thread_id": "t", "todos": {}}, "todos: expected a list of objects, got an object"),
        ({"thread_id": "t", "todos": ["x"]}, "todos[0]: expected an object, got text"),
        ({"thread_id": "t", "files": []}, "files: expected an object of texts by their paths, got a list"),
        ({"thread_id": "t", "files": {"a": 1}}, "files['a']: expected a string, got a number"),
    ],
    ids=str,
)
def test_a_malformed_state_is_refused_with_its_place(state, message):
    for read in (wick.AgentState.from_dict, lambda obj: formats.load(obj, "wick")):
        with pytest.raises(XMLToolsError) as error:
            read(state)
        assert str(error.value) == message


@pytest.mark.parametrize("obj", [None, [], {"messages": []}])
def test_what_has_no_thread_is_no_state(obj):
    with pytest.raises(XMLToolsError, match="state: expected an object"):
        wick.AgentState.from_dict(obj)
    with pytest.raises(XMLToolsError, match="messages: expected a conversation"):
        wick.AgentState("t", 5)


# What a tool gave back


@pytest.mark.parametrize(
    ("given", "content", "is_error"),
    [
        ({"output": "a.py"}, "a.py", False),
        ({"output": ""}, "", False),
        ({"output": "", "error": "no such file"}, "no such file", True),
        ({"output": "1 of 2", "error": "cut off"}, "1 of 2\ncut off", True),
        ({"output": "1 of 2", "error": "cut off", "seconds": 3}, "1 of 2\ncut off", True),
    ],
)
def test_a_tool_result_is_a_result_and_is_written_as_it_was(given, content, is_error):
    """The document, section 1.2: `ToolResult` has output, and error, which is "only set if the tool failed"."""
    given = {"tool_call_id": "c", "name": "ls", **given}
    read = wick.ToolResult.from_dict(given)
    result = read.to_result()
    assert (result.call_id, result.name, result.content, result.is_error) == ("c", "ls", content, is_error)
    assert wick.ToolResult.of(result) == read
    assert json.dumps(wick.ToolResult.of(result).to_dict()) == json.dumps(given)
    assert read.to_message().results == (result,)
    back = ToolResult.model_validate_json(result.model_dump_json())
    assert wick.ToolResult.of(back).to_dict() == given


def test_the_message_of_a_tool_result_says_its_output_and_its_error():
    read = wick.ToolResult("c", "ls", "1 of 2", "cut off", {"seconds": 3})
    written, issues = dump(Conversation(messages=(read.to_message(),)))
    assert written == [{"role": "tool", "content": "1 of 2\ncut off", "tool_call_id": "c", "name": "ls", "seconds": 3}]
    assert issues == [("error_flag", 0)]
    formats.dump(Conversation(messages=(wick.ToolResult("c", "ls", "a", "b").to_message(),)), "anthropic", strict=True)


def test_a_result_that_was_changed_is_not_written_as_it_was():
    result = wick.ToolResult("c", "ls", "1 of 2", "cut off").to_result()
    changed = result.model_copy(update={"content": "other"})
    assert wick.ToolResult.of(changed).to_dict() == {
        "tool_call_id": "c", "name": "ls", "output": "", "error": "other",
    }  # fmt: skip
    silent = ToolResult(call_id="c", name="ls", is_error=True, extra={"wick": {"tool_result": {"output": 5}}})
    assert wick.ToolResult.of(silent).error == "unknown error"


@pytest.mark.parametrize("given", [None, [], {"tool_call_id": 5}, {"output": ["x"]}])
def test_what_is_no_tool_result_is_refused(given):
    with pytest.raises(XMLToolsError, match="expected"):
        wick.ToolResult.from_dict(given)
    with pytest.raises(XMLToolsError, match="expected text, got a file"):
        wick.ToolResult.of(RESULT)


# Roles, text for people, and the argument text of OpenAI's calls


def test_the_roles_are_constants():
    """The document, section 2: RoleSystem, RoleUser, RoleAssistant and RoleTool."""
    roles = (wick.ROLE_SYSTEM, wick.ROLE_USER, wick.ROLE_ASSISTANT, wick.ROLE_TOOL)
    assert roles == ("system", "user", "assistant", "tool")
    assert all(map(wick.valid_role, roles))


@pytest.mark.parametrize("case", cases("wick", "pretty"))
def test_a_conversation_prints_as_pretty_print_has_it(case):
    """The document, section 5.6: String is the "same as PrettyPrint() — enables fmt.Print(chain)"."""
    assert f"{load_clean(case['input'])}" == str(load_clean(case["input"])) == case["expect"]["text"]


@given(conversations())
def test_a_conversation_prints_as_its_messages_do(chat):
    assert str(chat) == wick.pretty(chat) == wick.pretty(dump(chat)[0])


@pytest.mark.parametrize("text", ['{"path": "é"}', '{"path":"é"}', '{ "path" :\t"\\u00e9"}', "", '{"path'])
def test_the_argument_text_of_openais_calls_counts_as_it_came(text):
    """The document, section 1.2: `RawArgs` is the "raw JSON from LLM — not saved, used for token counting"."""
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": text}}
    chat = formats.load([{"role": "assistant", "content": "", "tool_calls": [call]}], "openai", issues=[])
    filled = wick.with_raw_args(chat)
    assert wick.estimate_tokens(filled) == len(text.encode()) // 4
    assert wick.with_raw_args(filled).model_dump() == filled.model_dump()
    assert filled == chat
    assert formats.dump(filled, "wick", issues=[]) == formats.dump(chat, "wick", issues=[])
    assert formats.dump(filled, "openai", issues=[])[0]["tool_calls"] == [call]


# The two checks of messages from outside


@given(st.lists(st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": st.sampled_from(["", " ", "Hi"])},
    optional={"tool_calls": st.sampled_from([[], [CALL]]), "name": st.just("ada")},
), max_size=3))  # fmt: skip
def test_what_wick_takes_from_outside_is_what_check_user_input_takes(messages):
    """The document, section 4.4: only the roles user and system, and content that is not empty."""
    chat = formats.load(messages, "wick", issues=[])
    assert bool(wick.validate_user_input(messages)) == bool(check_user_input(chat))
    assert bool(wick.validate_user_input(chat)) == bool(check_user_input(chat))


@given(st.lists(st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": st.sampled_from(["", "Hi"])},
    optional={"tool_calls": st.just([CALL]), "tool_call_id": st.just("c")},
), max_size=3))  # fmt: skip
def test_what_the_handler_took_both_checks_take(messages):
    try:
        taken = wick.user_input(messages)
    except XMLToolsError:
        return
    assert wick.validate_user_input(taken) == wick.validate(taken) == []
    assert check_user_input(formats.load(taken, "wick", strict=True)) == []


@pytest.mark.parametrize(
    "stored",
    [
        {"thread_id": "t", "messages": None},
        {"thread_id": "t", "messages": [], "todos": [], "files": {}},
        {"thread_id": "t", "messages": None, "todos": None, "files": None, "x": None},
        {"thread_id": None, "messages": [{"role": "user", "content": "Hi"}], "files": {}},
    ],
)
def test_what_a_state_says_nothing_with_is_written_again(stored):
    """The document, section 7: Go writes null for what was never made, and its empty value for what was."""
    state = wick.AgentState.from_dict(stored)
    assert state.to_dict() == stored == formats.dump(formats.load(stored, "wick"), "wick")
    assert wick.AgentState.from_dict(state.to_dict()) == state
    fuller = replace(state, todos=[{"content": "x"}], messages=[wick.human("Go")])
    written = {"messages": [{"role": "user", "content": "Go"}], "todos": [{"content": "x"}]}
    assert fuller.to_dict() == {**stored, **written}


def test_a_state_made_of_nothing_is_an_empty_one_and_of_other_things_an_error():
    nothing = wick.AgentState("t", None, None, None)
    assert nothing == wick.AgentState("t")
    assert nothing.to_dict() == {"thread_id": "t", "messages": None, "todos": None, "files": None}
    for fields, message in (
        ({"thread_id": 5}, "thread_id: expected a string, got a number"),
        ({"todos": {}}, "todos: expected a list of objects"),
        ({"todos": ["x"]}, r"todos\[0\]: expected an object"),
        ({"files": {"a": 1}}, r"files\['a'\]: expected a string, got a number"),
    ):
        with pytest.raises(XMLToolsError, match=message):
            wick.AgentState(**fields)
