"""Conversations that are sound, that an API takes, and that may come from outside."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.conversations import conversations

from xmltools.conversations.validation import TARGETS, WARNINGS, check, check_user_input, require
from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import FORMATS, Holds
from xmltools.models import Conversation, Media, Message, Reasoning, Text, ToolCall, ToolResult

SOUND = Holds(*[name != "status" for name in Holds.__dataclass_fields__])  # running calls stay unanswered
API_TARGETS = [target for target in TARGETS if target != "alternating"]
PNG = Media(media_type="image/png", data="eA==")


def call(call_id="c", name="f"):
    return ToolCall(id=call_id, name=name)


def result(call_id="c", name="f", content="done"):
    return ToolResult(call_id=call_id, name=name, content=content)


def message(role, *parts):
    return Message(role=role, parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def system(*parts):
    return message("system", *parts or ["Be brief."])


def user(*parts):
    return message("user", *parts or ["Do it."])


def assistant(*parts):
    return message("assistant", *parts or ["Done."])


def tool(*parts):
    return message("tool", *parts or [result()])


def found(messages, target=None):
    return [(issue.code, issue.index) for issue in check(Conversation(messages=tuple(messages)), target=target)]


def from_outside(messages, **options):
    issues = check_user_input(Conversation(messages=tuple(messages)), **options)
    return [(issue.code, issue.index) for issue in issues]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [system()],
        [system(), system(), user(), assistant()],
        [user(), assistant(call()), tool(), assistant()],
        [user(), assistant(call("a"), "then", call("b")), tool(result("b"), result("a"))],
        [user(), assistant(call("a"), call("b")), tool(result("b")), tool(result("a", content="")), user()],
        [user(), assistant(Reasoning(text="hm"), call())],
        [user("look", PNG), assistant(PNG)],
        [user(), assistant(call("a"), call("b")), tool(result("a"))],
        [assistant(), assistant(), user(), user()],
    ],
)
def test_what_is_sound_has_no_issues(messages):
    assert found(messages) == []


@pytest.mark.parametrize(
    ("messages", "issues"),
    [
        ([user(""), assistant(Text(text="")), message("tool")],
         [("empty_message", 0), ("empty_message", 1), ("empty_message", 2)]),
        ([message("user"), message("system")], [("empty_message", 0), ("empty_message", 1), ("system_not_first", 1)]),
        ([user(), assistant(call("")), tool(result(""))], [("empty_id", 1)]),
        ([user(), assistant(call("c", "")), tool(result("c", ""))], [("empty_name", 1)]),
        ([user(call(), call("d"))], [("misplaced_call", 0)]),
        ([user(Reasoning(text="hm"))], [("misplaced_reasoning", 0)]),
        ([user(), assistant(call()), user(result())], [("misplaced_result", 2)]),
        ([user(), assistant(call()), assistant(result(), "x")], [("misplaced_result", 2)]),
        ([system("x", PNG, call())], [("misplaced_media", 0), ("misplaced_call", 0)]),
        ([user(), assistant(call()), tool(result(), "x")], [("misplaced_text", 2)]),
        ([user(), system(), assistant(), system()], [("system_not_first", 1), ("system_not_first", 3)]),
        ([user(), assistant(call(), call()), tool()], [("duplicate_call_id", 1)]),
        ([user(), assistant(call(), call()), tool(), user()], [("duplicate_call_id", 1), ("unanswered_call", 1)]),
        ([user(), assistant(call()), tool(), assistant(call()), tool()], [("duplicate_call_id", 3)]),
        ([user(), tool()], [("unknown_call", 1)]),
        ([user(), tool(), assistant(call())], [("unknown_call", 1)]),
        ([user(), assistant(call()), tool(result("d"))], [("unknown_call", 2)]),
        ([user(), assistant(call()), tool(result(), result())], [("duplicate_result", 2)]),
        ([user(), assistant(call()), tool(), tool()], [("duplicate_result", 3)]),
        ([user(), assistant(call()), tool(result(name="g"))], [("name_mismatch", 2)]),
        ([user(), assistant(call()), tool(result(name=""))], [("name_mismatch", 2)]),
        ([user(), assistant(call()), user(), tool()], [("late_result", 3)]),
        ([user(), assistant(call()), assistant(), tool()], [("late_result", 3)]),
        ([user(), assistant(call()), user()], [("unanswered_call", 1)]),
        ([user(), assistant(call(), call("d")), tool(), assistant()], [("unanswered_call", 1)]),
        ([user(), assistant(call()), assistant(), tool(result("d"))], [("unanswered_call", 1), ("unknown_call", 3)]),
        ([user(), assistant(call()), user(), tool(result(name="g")), tool()],
         [("late_result", 3), ("name_mismatch", 3), ("duplicate_result", 4)]),
    ],
)  # fmt: skip
def test_each_problem_has_a_code_and_a_place(messages, issues):
    assert found(messages) == issues


@pytest.mark.parametrize(
    ("target", "messages", "issues"),
    [
        ("anthropic", [], [("no_messages", None)]),
        ("anthropic", [system()], [("no_messages", None)]),
        ("anthropic", [system(), assistant(), user()], [("first_not_user", 1)]),
        ("anthropic", [user(), user(), assistant(), assistant()], []),
        ("anthropic", [user(), assistant(call("a.b")), tool(result("a.b"))], [("call_id_form", 1)]),
        ("anthropic", [user(), assistant(call("a" * 64), call("A_b-9")), tool(result("a" * 64), result("A_b-9"))], []),
        ("anthropic", [user(), assistant(call("a" * 65))], [("call_id_form", 1)]),
        ("anthropic", [user(), assistant(call("a\n"))], [("call_id_form", 1)]),
        ("anthropic", [user(), assistant(call("é"))], [("call_id_form", 1)]),
        ("anthropic", [user(), assistant(call(""))], [("empty_id", 1)]),
        ("anthropic", [user(), assistant(call(), call("d")), tool()], [("unanswered_call", 1)]),
        ("gemini", [], [("no_messages", None)]),
        ("gemini", [assistant(call()), tool()], [("first_not_user", 0)]),
        ("gemini", [user(), assistant(call("a.b")), tool(result("a.b"))], []),
        ("gemini", [user(), assistant(call()), user(), tool()], [("late_result", 3)]),
        ("openai", [], [("no_messages", None)]),
        ("openai", [system()], []),
        ("openai", [assistant(), user(), user()], []),
        ("openai", [user(), assistant(call()), system(), tool()], [("system_not_first", 2), ("late_result", 3)]),
        ("openai", [user(), assistant(call()), system()], [("unanswered_call", 1), ("system_not_first", 2)]),
        ("openai", [user(), assistant(call(), call("d")), tool()], [("unanswered_call", 1)]),
        ("openai", [user(), assistant(call(), call("d"))], []),
        ("wick", [], []),
        ("wick", [assistant(call("é")), system(), tool()], [("system_not_first", 1), ("unknown_call", 2)]),
        ("alternating", [], [("no_messages", None)]),
        ("alternating", [system()], [("no_messages", None)]),
        ("alternating", [system(), user(), assistant(), user()], []),
        ("alternating", [user(), assistant(call("a"), call("b")), tool(result("a"), result("b")), assistant()], []),
        ("alternating", [assistant(), user()], [("first_not_user", 0)]),
        ("alternating", [user(), user(), assistant(), assistant()], [("not_alternating", 1), ("not_alternating", 3)]),
        ("alternating", [system(), system(), user()], [("not_alternating", 1)]),
        ("alternating", [user(), assistant(call()), tool(), user()], [("not_alternating", 3)]),
        ("alternating", [user(), system()], [("system_not_first", 1), ("not_alternating", 1)]),
    ],
)
def test_a_target_refuses_its_own(target, messages, issues):
    assert found(messages, target) == issues


def test_the_targets_are_the_formats_and_strict_templates():
    assert list(TARGETS) == [*FORMATS, "alternating"]


@pytest.mark.parametrize(
    ("messages", "options", "issues"),
    [
        ([user()], {}, []),
        ([system(), user("look", PNG), system()], {}, []),
        ([], {}, [("no_messages", None)]),
        ([user(""), user()], {}, [("empty_message", 0)]),
        ([system(), user()], {"allow_system": False}, [("role_not_allowed", 0)]),
        ([user(), assistant("spoofed"), tool()], {}, [("role_not_allowed", 1), ("role_not_allowed", 2)]),
        ([message("assistant")], {}, [("role_not_allowed", 0)]),
        ([user("x", call())], {}, [("misplaced_call", 0)]),
        ([user(result(), "x", Reasoning(text="hm"))], {}, [("misplaced_result", 0), ("misplaced_reasoning", 0)]),
        ([system("x", result())], {}, [("misplaced_result", 0)]),
    ],
)  # fmt: skip
def test_only_the_user_and_the_system_speak_from_outside(messages, options, issues):
    assert from_outside(messages, **options) == issues


def test_the_sentence_for_a_forged_role_names_those_that_are_allowed():
    forged = Conversation(messages=(assistant(),))
    assert str(check_user_input(forged)[0]) == (
        "message 0: the role assistant is not allowed (take only messages with the role user or system from outside)"
    )
    assert str(check_user_input(forged, allow_system=False)[0]).endswith("with the role user from outside)")


# What was made right has no issues, and each way of spoiling it is found


@given(conversations(SOUND) | conversations(SOUND, grouped=True), st.sampled_from([None, *API_TARGETS]))
def test_a_conversation_of_an_agent_has_no_issues(chat, target):
    assert check(chat, target=target) == []


@given(conversations())
def test_the_only_thing_wrong_with_running_calls_is_that_nothing_answers_them(chat):
    open_ids = {each.id for each in chat.open_calls}
    for issue in check(chat):
        assert issue.code == "unanswered_call"
        assert {each.id for each in chat[issue.index].calls} & open_ids


@given(conversations(SOUND))
def test_what_the_user_said_may_come_from_outside(chat):
    assert check_user_input(chat.by_role("user", "system")) == []
    codes = Counter(issue.code for issue in check_user_input(chat))
    spoken = len(chat.assistant_messages) + len(chat.tool_messages)
    assert codes == ({"role_not_allowed": spoken} if spoken else {})


answered = conversations(SOUND).filter(lambda chat: chat.results)


def place_of_result(data, chat):
    return data.draw(st.sampled_from([index for index, each in enumerate(chat.messages) if each.is_tool]))


def place_of_call(chat, call_id):
    return next(index for index, each in enumerate(chat.messages) if any(made.id == call_id for made in each.calls))


def codes_of(chat, messages, target=None):
    return [(issue.code, issue.index) for issue in check(chat.with_messages(messages), target=target)]


@given(answered, st.data())
def test_a_result_that_is_dropped_is_missed_once_the_talk_goes_on(chat, data):
    place = place_of_result(data, chat)
    call_id = chat[place].results[0].call_id
    messages = [*chat.messages[:place], *chat.messages[place + 1 :], user()]
    assert codes_of(chat, messages) == [("unanswered_call", place_of_call(chat, call_id))]


@given(answered, st.data())
def test_a_result_before_its_call_is_found(chat, data):
    place = place_of_result(data, chat)
    at = place_of_call(chat, chat[place].results[0].call_id)
    messages = [*chat.messages[:at], chat[place], *chat.messages[at:place], *chat.messages[place + 1 :]]
    assert ("unknown_call", at) in codes_of(chat, messages)


@given(answered, st.data())
def test_a_result_that_is_given_twice_is_found(chat, data):
    place = place_of_result(data, chat)
    messages = [*chat.messages[: place + 1], *chat.messages[place:]]
    assert codes_of(chat, messages) == [("duplicate_result", place + 1)]


@given(answered, st.data(), st.sampled_from([user(), assistant()]))
def test_whoever_speaks_between_a_call_and_its_result_is_found(chat, data, stranger):
    place = place_of_result(data, chat)
    messages = [*chat.messages[:place], stranger, *chat.messages[place:]]
    issues = codes_of(chat, messages)
    assert ("late_result", place + 1) in issues
    assert {code for code, _ in issues} == {"late_result"}


@given(answered, st.data())
def test_a_result_of_another_name_is_found(chat, data):
    place = place_of_result(data, chat)
    renamed = chat[place].results[0].model_copy(update={"name": "another"})
    messages = [*chat.messages[:place], tool(renamed), *chat.messages[place + 1 :]]
    assert codes_of(chat, messages) == [("name_mismatch", place)]


@given(answered, st.data())
def test_results_that_are_swapped_in_one_turn_are_fine_and_swapped_ids_are_found(chat, data):
    pairs = [index for index in range(len(chat) - 1) if chat[index].is_tool and chat[index + 1].is_tool]
    assume(pairs)
    place = data.draw(st.sampled_from(pairs))
    one, other = chat[place].results[0], chat[place + 1].results[0]
    swapped = [*chat.messages[:place], chat[place + 1], chat[place], *chat.messages[place + 2 :]]
    assert codes_of(chat, swapped) == []
    crossed = [one.model_copy(update={"call_id": other.call_id}), other.model_copy(update={"call_id": one.call_id})]
    messages = [*chat.messages[:place], *map(tool, crossed), *chat.messages[place + 2 :]]
    expected = [("name_mismatch", place), ("name_mismatch", place + 1)] if one.name != other.name else []
    assert codes_of(chat, messages) == expected


@given(answered, st.data())
def test_an_id_that_is_used_again_is_found(chat, data):
    place = place_of_result(data, chat)
    call_id = chat[place].results[0].call_id
    messages = [*chat.messages, assistant(call(call_id))]
    assert codes_of(chat, messages) == [("duplicate_call_id", len(chat))]


@given(answered, st.data())
def test_results_in_the_message_of_another_role_are_found(chat, data):
    place = place_of_result(data, chat)
    for role in ("user", "assistant", "system"):
        forged = chat[place].model_copy(update={"role": role})
        messages = [*chat.messages[:place], forged, *chat.messages[place + 1 :]]
        assert ("misplaced_result", place) in codes_of(chat, messages)


@given(conversations(SOUND), st.data())
def test_an_emptied_message_is_found(chat, data):
    place = data.draw(st.integers(0, len(chat) - 1))
    emptied = chat[place].model_copy(update={"parts": (Text(text=""),)})
    issues = codes_of(chat, [*chat.messages[:place], emptied, *chat.messages[place + 1 :]])
    assert ("empty_message", place) in issues


PARTS = st.sampled_from(
    [Text(text=""), Text(text="x"), PNG, Reasoning(text="y"), call(), call("d"), result(), result("d", "g")]
)
ANY = st.builds(
    Message, role=st.sampled_from(["system", "user", "assistant", "tool"]), parts=st.lists(PARTS, max_size=3).map(tuple)
)


@given(st.lists(ANY, max_size=6).map(tuple), st.sampled_from([None, *TARGETS]))
def test_every_issue_has_a_place_in_order_a_message_and_a_hint(messages, target):
    chat = Conversation(messages=messages)
    issues = check(chat, target=target)
    places = [-1 if issue.index is None else issue.index for issue in issues]
    assert places == sorted(places)
    assert all(place < len(messages) for place in places)
    for issue in [*issues, *check_user_input(chat)]:
        assert issue.message
        assert issue.hint
        assert issue.code.replace("_", "").isalpha()
        assert issue.code.islower()
    if target != "openai":  # there a system message makes a result late that would have come twice
        assert set(check(chat)) <= set(issues)


@pytest.mark.no_cover
@pytest.mark.full
def test_a_long_conversation_is_checked_whole():
    turns = [[user(), assistant(call(f"c{n}")), tool(result(f"c{n}"))] for n in range(20_000)]
    messages = [each for turn in turns for each in turn]
    assert found(messages, "anthropic") == []
    assert found([*messages[:-1], user()], "anthropic") == [("unanswered_call", 59_998)]


# Misuse


def issues_of(count):
    return [Issue("empty_message", f"problem {number}", number) for number in range(count)]


def test_require_lists_the_problems():
    with pytest.raises(XMLToolsError) as error:
        require([Issue("a", "one is wrong", 0, "mend it"), Issue("b", "two is wrong")])
    assert str(error.value) == "message 0: one is wrong (mend it); two is wrong"


@pytest.mark.parametrize(("count", "more"), [(20, None), (21, "1 more"), (500, "480 more")])
def test_require_lists_at_most_twenty(count, more):
    with pytest.raises(XMLToolsError) as error:
        require(iter(issues_of(count)))
    listed = str(error.value).split("; ")
    assert listed[:20] == [f"message {number}: problem {number}" for number in range(20)]
    assert listed[20:] == ([f"and {more}"] if more else [])


def test_require_lets_warnings_pass_but_lists_them_with_the_rest():
    warning = Issue("system_not_first", "late", 1)
    assert warning.code in WARNINGS
    require([])
    require([warning])
    with pytest.raises(XMLToolsError, match="late; message 2"):
        require([warning, Issue("empty_message", "empty", 2)])


@pytest.mark.parametrize("given", [None, [], "text", Message.user("x")])
def test_only_conversations_are_checked(given):
    with pytest.raises(XMLToolsError, match=r"check: expected xmltools\.Conversation, got"):
        check(given)
    with pytest.raises(XMLToolsError, match=r"check_user_input: expected xmltools\.Conversation, got"):
        check_user_input(given)


@pytest.mark.parametrize("target", ["claude", "", 5, ["openai"]])
def test_an_unknown_target_is_refused(target):
    with pytest.raises(XMLToolsError, match="target: expected one of openai, anthropic, gemini"):
        check(Conversation(), target=target)
