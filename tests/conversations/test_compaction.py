"""Conversations made smaller: tokens, pruned outputs, summaries that separate no call from its result."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations import EVERYTHING, conversations

from xmltools.conversations.compaction import (
    PLACEHOLDER,
    OverLimitWarning,
    compact,
    estimate_tokens,
    fallback_summary,
    prune_results,
    summarise,
    tokenizer_counter,
    transcript_lines,
)
from xmltools.conversations.validation import check
from xmltools.errors import Issue, XMLToolsError
from xmltools.extras import install_line
from xmltools.formats import dump, load
from xmltools.formats.wick import with_raw_args
from xmltools.formats.wolo import complete
from xmltools.models import Conversation, Media, Message, Text, ToolCall, ToolResult

LONG = "x" * 1000


def call(id: str = "1", **arguments: Any) -> ToolCall:
    return ToolCall(id=id, name="read", arguments=arguments)


def turn(number: int, content: str = LONG) -> list[Message]:
    asked = Message.assistant("", [call(str(number))])
    return [Message.user(f"q{number}"), asked, Message.tool(str(number), "read", content)]


def talk(*messages: Message) -> Conversation:
    return Conversation(messages=messages)


FOUR = talk(Message.system("Be brief."), *(message for number in range(4) for message in turn(number)))


# Tokens


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (Message.user(""), 0),
        (Message.user("abc"), 0),
        (Message.user("abcdefgh"), 2),
        (Message.user("äöüß"), 2),
        (Message.user([Text(text="abc"), Text(text="d")]), 1),
        (Message(role="user", parts=(Text.model_construct(text="\ud800\ud800"),)), 1),
        (Message.assistant("abcd", [call(a=1, b=2), call()], reasoning="efgh"), 1 + 1 + 3 + 0),
        (Message.tool("1", "read", "abcdefghi"), 2),
        (Message.tool("1", "read", (Text(text="abcd"), Media(media_type="image/png", data="eA=="))), 1),
    ],
)
def test_tokens_are_a_fourth_of_the_bytes_rounded_down_for_each_text(message: Message, tokens: int) -> None:
    assert estimate_tokens(talk(message, message)) == 2 * tokens


def test_another_counter_counts_each_text_and_never_an_empty_one() -> None:
    seen: list[str] = []

    def count(text: str) -> int:
        seen.append(text)
        return 10

    said = talk(Message.user("Hi"), Message.assistant("", [call(a="é")], reasoning="hm"))
    assert estimate_tokens(said, count) == 30
    assert seen == ["Hi", "hm", '{"a":"é"}']


@pytest.mark.full
def test_a_tokenizer_file_counts(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    count = tokenizer_counter(str(tmp_path / "tokenizer.json"))
    assert count("a b c") == 3
    assert count("a \ud800") == 2
    with pytest.raises(XMLToolsError, match=r"expected the path of a tokenizer\.json, got .*none"):
        tokenizer_counter(str(tmp_path / "none"))


def test_without_the_library_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(XMLToolsError, match=re.escape(install_line("tokens"))):
        tokenizer_counter("tokenizer.json")


# Pruning


def test_old_outputs_are_replaced_and_recent_ones_kept() -> None:
    pruned = prune_results(FOUR, keep_last=2)
    assert [result.text for result in pruned.results] == [PLACEHOLDER, PLACEHOLDER, LONG, LONG]
    assert pruned.calls == FOUR.calls
    assert [message.metadata for message in pruned if message.is_tool] == [
        {"pruned": True, "original_output_tokens": 250},
        {"pruned": True, "original_output_tokens": 250},
        {},
        {},
    ]
    assert prune_results(pruned, keep_last=2) == pruned
    assert FOUR.results[0].text == LONG


def test_pruning_notes_the_time_that_it_is_given_beside_what_was_there() -> None:
    old = Message.tool("1", "read", LONG, is_error=True, metadata={"kept": 1})
    (message,) = prune_results(talk(old), keep_last=0, now=5.0, count=len)
    assert message.metadata == {"kept": 1, "pruned": True, "pruned_at": 5.0, "original_output_tokens": 1000}
    assert message.results[0].is_error


@pytest.mark.parametrize(
    ("content", "is_pruned"),
    [
        ("x" * 100, False),
        ("x" * 101, True),
        ((Text(text="x" * 60), Text(text="x" * 60)), True),
        ((Text(text="x" * 100),), False),
        ((Media(media_type="image/png", data="eA=="),), True),
        ("", False),
    ],
    ids=range(6),
)
def test_only_long_outputs_and_those_with_media_are_replaced(content: Any, is_pruned: bool) -> None:
    (result,) = prune_results(talk(Message.tool("1", "read", content)), keep_last=0, max_characters=100).results
    assert result.content == (PLACEHOLDER if is_pruned else content)


def test_nothing_is_replaced_by_what_is_longer() -> None:
    said = talk(Message.tool("1", "read", "x" * 10))
    assert prune_results(said, keep_last=0, max_characters=0) == said
    assert prune_results(said, keep_last=0, max_characters=0, placeholder="-").results[0].text == "-"


def test_of_results_in_one_message_the_last_are_kept() -> None:
    results = tuple(ToolResult(call_id=str(number), name="read", content=LONG) for number in range(3))
    (message,) = prune_results(talk(Message(role="tool", parts=results)), keep_last=1)
    assert [result.text for result in message.results] == [PLACEHOLDER, PLACEHOLDER, LONG]
    assert message.metadata["original_output_tokens"] == 500


def test_pruned_outputs_are_stored_by_wolo_as_it_does() -> None:
    stored = dump(prune_results(talk(*turn(1)), keep_last=0, now=5.0), "wolo", strict=True)
    part = stored[1]["parts"][0]
    assert part["output"] == PLACEHOLDER
    assert part["metadata"] == {"pruned": True, "pruned_at": 5.0, "original_output_tokens": 250}
    assert load(stored, "wolo", strict=True).messages[2].metadata == part["metadata"]


@given(conversations(replace(EVERYTHING, result_media=False)), st.integers(0, 4), st.integers(0, 50))
def test_pruning_never_makes_a_conversation_larger(said: Conversation, keep: int, longest: int) -> None:
    pruned = prune_results(said, keep_last=keep, max_characters=longest)
    old = max(len(said.results) - keep, 0)
    assert estimate_tokens(pruned, len) <= estimate_tokens(said, len)
    assert pruned.calls == said.calls
    assert pruned.results[old:] == said.results[old:]


# Summaries


def test_old_messages_become_one_summary_behind_the_system_messages() -> None:
    made = summarise(FOUR, "They read files.", keep=3)
    assert [message.role for message in made] == ["system", "user", "user", "assistant", "tool"]
    assert made.messages[1].text == "[Conversation History Summary]\n\nThey read files."
    assert made.messages[1].metadata == {"compaction": {"is_summary": True}}
    assert made.messages[2:] == FOUR.messages[-3:]


@pytest.mark.parametrize(("keep", "kept"), [(0, 0), (1, 2), (2, 2), (3, 3), (4, 5), (11, 11)])
def test_the_cut_moves_in_front_of_a_call_whose_result_is_kept(keep: int, kept: int) -> None:
    assert summarise(FOUR, "s", keep=keep).messages[2:] == FOUR.messages[len(FOUR) - kept :]


@pytest.mark.parametrize("keep", [12, 13, 99])
def test_nothing_changes_where_there_is_nothing_to_sum_up(keep: int) -> None:
    assert summarise(FOUR, "s", keep=keep) is FOUR


def test_calls_that_wait_for_their_results_are_kept() -> None:
    waiting = talk(*turn(0), Message.assistant("", [call("a"), call("b")]), Message.tool("a", "read", "x"))
    assert summarise(waiting, "s", keep=0).messages[1:] == waiting.messages[3:]
    assert len(summarise(waiting.user("Never mind."), "s", keep=0)) == 1


def test_results_far_behind_their_calls_take_the_calls_along() -> None:
    said = talk(
        Message.user("old"),
        Message.assistant("", [call("a")]),
        Message.assistant("", [call("b")]),
        Message.tool("a", "read", "x"),
        Message.tool("b", "read", "y"),
    )
    assert summarise(said, "s", keep=1).messages[1:] == said.messages[1:]


def test_a_summary_may_have_any_text_and_heading() -> None:
    made = summarise(FOUR, "\ud800", keep=0, heading="So far:")
    assert made.messages[1].text == "So far:\n\n\ud800"


@given(conversations(), st.integers(0, 12))
def test_no_call_is_separated_from_its_result(said: Conversation, keep: int) -> None:
    made = summarise(said, "s", keep=keep)
    asked = {each.id for each in made.calls}
    assert all(result.call_id in asked for result in made.results)
    assert {each.id for each in made.open_calls} <= {each.id for each in said.open_calls}
    assert made.system_messages == said.system_messages
    assert made.messages[len(made) - min(keep, len(said)) :] == said.messages[len(said) - min(keep, len(said)) :]


@pytest.mark.parametrize("number", [-1, True, 1.5, "3"])
def test_numbers_that_are_none_raise(number: Any) -> None:
    with pytest.raises(XMLToolsError, match="keep: expected a whole number from 0, got "):
        summarise(FOUR, "s", keep=number)
    with pytest.raises(XMLToolsError, match="keep_last: expected a whole number from 0, got "):
        prune_results(FOUR, keep_last=number)
    with pytest.raises(XMLToolsError, match="max_characters: expected a whole number from 0, got "):
        prune_results(FOUR, keep_last=1, max_characters=number)


def test_the_fallback_counts_messages() -> None:
    assert fallback_summary(FOUR.assistant("Done.").assistant("Really.")) == (
        "Previous conversation containing 4 user messages and 6 assistant responses."
    )


def test_the_transcript_says_who_said_what_and_which_tools_were_used() -> None:
    said = talk(*turn(1)).assistant("Two lines\nhere", [call("2"), call("3")]).assistant()
    assert transcript_lines(said) == [
        "User: q1",
        "Assistant: [Used tool: read]",
        "Assistant: Two lines\nhere",
        "Assistant: [Used tool: read]",
        "Assistant: [Used tool: read]",
    ]


def test_the_seed_chain_of_wick_is_counted_with_its_arguments() -> None:
    said = Conversation().system("You are helpful.").user("What is 2+2?")
    said = said.assistant("Let me calculate.", [ToolCall(id="call_1", name="calculate", arguments={"expr": "2+2"})])
    said = said.tool("call_1", None, "4").assistant("2+2 = 4")
    arguments = json.dumps({"expr": "2+2"}, separators=(",", ":"))
    assert estimate_tokens(said) == 12 + len(arguments) // 4


# Both


def test_a_conversation_under_the_limit_stays_as_it_is() -> None:
    """Wolo's document: "Over Token Limit?", "No": "Use Original Messages"."""
    assert compact(FOUR, estimate_tokens(FOUR)) is FOUR


def test_over_the_limit_outputs_are_pruned_first() -> None:
    """Wolo's document: "Yes": "Apply Compaction Policies", of which the first is the "Tool Pruning Policy"."""
    pruned = prune_results(FOUR, keep_last=1, now=5.0)
    assert compact(FOUR, estimate_tokens(pruned), keep_last=1, now=5.0, summary=never) == pruned


def never(old: Conversation) -> str:
    raise AssertionError("pruning was enough")


def test_if_that_is_not_enough_the_old_messages_are_summed_up() -> None:
    """Wolo's document: after the "Tool Pruning Policy" comes the "Summary Policy"."""
    heard: list[Conversation] = []

    def summary(old: Conversation) -> str:
        heard.append(old)
        return "Read 3."

    pruned = prune_results(FOUR, keep_last=1, max_characters=50)
    short = compact(FOUR, 270, keep_last=1, max_characters=50, keep=3, summary=summary)
    assert heard == [pruned[:10]]
    assert short == summarise(pruned, "Read 3.", keep=3)
    short = compact(FOUR, 1, keep_last=0, keep=0, issues=[])
    assert short.last_text.endswith(fallback_summary(FOUR))


def test_with_the_defaults_a_short_conversation_gives_up_what_it_must() -> None:
    """Wolo's document: "Over Token Limit?", "Yes": what is sent is what is left after both policies."""
    one = talk(Message.user("Read a."), Message.assistant("", [call()]), Message.tool("1", "read", LONG * 10))
    assert compact(one, 100) == prune_results(one, keep_last=0)
    two = talk(Message.user("a" * 4000), Message.assistant("b" * 4000), Message.user("c"))
    assert compact(two, 100, summary=lambda old: "s") == summarise(two, "s", keep=1)
    assert compact(two, 1100, summary=lambda old: "s") == summarise(two, "s", keep=2)


def test_outputs_go_before_messages_and_the_last_output_after_them() -> None:
    sizes = [estimate_tokens(prune_results(FOUR, keep_last=number)) for number in range(4)]
    for number in (2, 1):
        assert compact(FOUR, sizes[number], keep_last=3, keep=50, summary=never) == prune_results(FOUR, keep_last=1)
    assert compact(FOUR, sizes[3], keep_last=3, keep=50, summary=never) == prune_results(FOUR, keep_last=3)
    assert compact(FOUR, sizes[0], keep_last=3, summary=lambda old: "long " * 500) == prune_results(FOUR, keep_last=0)


def test_what_stays_over_the_limit_is_reported() -> None:
    said = talk(Message.system("s" * 400), Message.user("a" * 400), Message.user("b" * 400))
    issues: list[Issue] = []
    short = compact(said, 150, summary=lambda old: "", issues=issues)
    assert short == summarise(said, "", keep=1)
    assert [issue.code for issue in issues] == ["over_limit"]
    assert str(issues[0]).startswith(f"{estimate_tokens(short)} tokens are left, over the limit of 150, and nothing")
    with pytest.warns(OverLimitWarning, match="over the limit of 150") as caught:
        assert compact(said, 150, summary=lambda old: "") == short
    assert caught[0].filename == __file__


def test_nobody_writes_a_summary_in_vain() -> None:
    heard: list[int] = []

    def summary(old: Conversation) -> str:
        heard.append(len(old))
        return "s"

    said = talk(*(Message.user("a" * 400) for _ in range(10)))
    assert len(compact(said, 350, summary=summary)) == 3
    assert heard == [8]
    compact(said, 10, summary=summary, issues=[])
    assert heard == [8, 9]


def test_tokens_are_counted_as_the_host_counts() -> None:
    said = talk(Message.user("a b c"), Message.assistant("d e"))
    words = str.split
    assert compact(said, 5, count=lambda text: len(words(text))) is said
    short = compact(said, 4, keep=0, summary=lambda old: "s", count=lambda text: len(words(text)))
    assert short.last_text[-1] == "s"


def test_no_step_makes_a_conversation_larger() -> None:
    said = talk(Message.user("a" * 40), Message.assistant("b" * 40))
    assert compact(said, 15, keep=1, summary=lambda old: "long " * 100, issues=[]) == said
    system = talk(Message.system("s" * 100))
    assert compact(system, 5, keep=0, summary=never, issues=[]) == system


@given(conversations(EVERYTHING), st.integers(0, 100), st.integers(0, 4), st.integers(0, 4))
def test_what_is_compacted_is_sound(said: Conversation, limit: int, keep: int, keep_last: int) -> None:
    short = compact(said, limit, keep=keep, keep_last=keep_last, max_characters=0, summary=lambda old: "", issues=[])
    if not any(isinstance(part, Media) for each in said.results for part in each.content):  # files count as nothing
        assert estimate_tokens(short) <= estimate_tokens(said)
    assert {issue.code for issue in check(short)} <= {issue.code for issue in check(said)} | {"system_not_first"}


@pytest.mark.parametrize("name", ["limit", "keep", "keep_last", "max_characters"])
def test_numbers_that_are_none_are_refused(name: str) -> None:
    options: dict[str, Any] = {"limit": 0, name: -1}
    with pytest.raises(XMLToolsError, match=f"{name}: expected a whole number from 0, got -1"):
        compact(FOUR, **options)


def test_a_summary_that_is_no_text_is_refused() -> None:
    with pytest.raises(XMLToolsError, match="summary: expected text, got NoneType"):
        compact(FOUR, 1, keep=1, summary=lambda old: None)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    "take",
    [
        lambda given: compact(given, 5),
        estimate_tokens,
        lambda given: prune_results(given, keep_last=1),
        lambda given: summarise(given, "s", keep=1),
        fallback_summary,
        transcript_lines,
        with_raw_args,
        complete,
    ],
)
def test_what_is_no_conversation_is_refused(take: Callable[[Any], Any]) -> None:
    with pytest.raises(
        XMLToolsError, match=r"expected xmltools.Conversation, got list: load it, or make one of messages"
    ):
        take([{"role": "user", "content": "Hi"}])
    with pytest.raises(XMLToolsError, match=r"expected xmltools.Conversation, got str$"):
        take("Hi")
