"""Replies that break off: no prefix has a call that the whole reply does not have, nor a part of a call as a call.

One case is a call all the same (protocol, 7.1): `</arguments>` has been read, and only `</tool>` or a part of it is
missing. Short replies are cut everywhere, and longer ones here and there; with XMLTOOLS_EVERY_PREFIX=1, all are cut
everywhere, which takes a minute.
"""

from __future__ import annotations

import itertools
import os
import re
from random import Random

import pytest
from support.transcripts import FORMS, TOOLS, Transcript, transcript

from xmltools.errors import Code
from xmltools.models import Reply, ToolCall
from xmltools.parser import Parser, build_reply, parse

pytestmark = pytest.mark.no_cover
NUMBERS = range(12 * len(FORMS))
EVERY = bool(os.environ.get("XMLTOOLS_EVERY_PREFIX"))
SHORT, SOME = 420, 60
"""In a quick run, texts up to SHORT characters are cut everywhere, and longer ones at SOME places."""

# What may stand between `</arguments>` and the end of the text where a call is only mended.
MENDED = re.compile(r"</ ?arguments\s*>(\s|<!--.*?-->|```\n)*(<(/\s*(t(o(o(l\s*)?)?)?)?)?)?$", re.DOTALL)
# An opener that may be a mention still: nothing but white space, and perhaps a fence, stands behind it (1.2, 1.4).
OPENER = re.compile(r"<tool[^<>]*>?\s*(`{1,3}[a-z]*\s*)?$")


def read(text: str, *, strict: bool = False) -> Reply:
    ids = itertools.count()
    return parse(text, TOOLS, strict=strict, code_fences="call", new_id=lambda: str(next(ids)))


def places(made: Transcript, number: int) -> list[int]:
    """Where to cut a text: everywhere, or, if it is long and time is short, at some places."""
    size = len(made.text)
    return list(range(size)) if EVERY or size <= SHORT else Random(number).sample(range(size), SOME)


def start(call: ToolCall) -> int:
    assert call.span is not None
    return call.span[0]


def end(call: ToolCall) -> int:
    assert call.span is not None
    return call.span[1]


def is_mended(call: ToolCall) -> bool:
    return Code.MISSING_END_TAG in [repair.code for repair in call.repairs]


def meaning(call: ToolCall) -> tuple[object, ...]:
    """What a call has as soon as its arguments have ended; repairs may come behind them."""
    return call.id, start(call), call.server, call.name, call.arguments


def check_prefix(text: str, whole: Reply, cut: int) -> None:
    """The calls of a prefix are the first of the whole text; the last one may lack its `</tool>`."""
    calls = read(text[:cut]).calls
    assert len(calls) <= len(whole.calls), f"{text[:cut]!r} has a call too many"
    for call, known in zip(calls, whole.calls, strict=False):
        if call != known:
            assert call is calls[-1] and end(call) == cut and is_mended(call), f"{text[:cut]!r}: {call}"
            assert MENDED.search(text[start(call) : cut]), f"{text[:cut]!r} ends behind nothing that is complete"
            assert meaning(call) == meaning(known), f"{text[:cut]!r}: a part of a call"
    missing = [call for call in whole.calls[len(calls) :] if end(call) <= cut and not is_mended(call)]
    assert not missing, f"{text[:cut]!r} lacks calls that are complete"


def check_error(text: str, whole: Reply, cut: int) -> None:
    """A call that is cut off, and is no call yet, is the error `truncated` in its place."""
    for known in whole.calls:
        opened = text[start(known) : cut]
        if len(opened) >= len("<tool>") and cut < end(known) and not OPENER.fullmatch(opened):
            reply = read(text[:cut])
            if reply.calls and start(reply.calls[-1]) == start(known):
                continue
            last = reply.errors[-1]
            assert (last.code, last.span) == (Code.TRUNCATED, (start(known), cut)), f"{text[:cut]!r}: {last}"


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.full
def test_every_prefix_has_only_calls_of_the_whole_reply(number: int) -> None:
    made = transcript(number)
    whole = read(made.text)
    assert [(call.name, call.arguments) for call in whole.calls] == made.calls
    for cut in places(made, number):
        check_prefix(made.text, whole, cut)


@pytest.mark.parametrize("number", NUMBERS if EVERY else NUMBERS[: len(FORMS)])
def test_a_call_that_is_cut_off_is_an_error_in_its_place(number: int) -> None:
    made = transcript(number)
    whole = read(made.text)
    for cut in places(made, number):
        check_error(made.text, whole, cut)


@pytest.mark.parametrize("number", NUMBERS if EVERY else NUMBERS[: len(FORMS)])
def test_strict_mode_has_no_call_before_its_end_tag(number: int) -> None:
    made = transcript(number)
    whole = read(made.text, strict=True)
    for cut in places(made, number):
        calls = list(read(made.text[:cut], strict=True).calls)
        assert calls == [call for call in whole.calls if end(call) <= cut], made.text[:cut]


@pytest.mark.parametrize("number", NUMBERS if EVERY else NUMBERS[: 2 * len(FORMS)])
def test_a_stream_completes_no_call_before_its_end(number: int) -> None:
    made = transcript(number)
    whole = read(made.text)
    ids = itertools.count()
    parser = Parser(TOOLS, code_fences="call", new_id=lambda: str(next(ids)))
    events = []
    for fed, character in enumerate(made.text, 1):
        events += parser.feed(character)
        calls = build_reply(events[-1:], unclosed_reasoning=False).calls
        assert all(end(call) <= fed and call in whole.calls for call in calls), made.text[:fed]
    assert build_reply(events + parser.close(), unclosed_reasoning=False).calls == whole.calls


def test_the_replies_are_many_and_of_every_kind() -> None:
    replies = [read(transcript(number).text) for number in NUMBERS]
    repairs = {repair.code for reply in replies for call in reply.calls for repair in call.repairs}
    errors = {error.code for reply in replies for error in reply.errors}
    assert len(replies) >= 200 and all(reply.calls for reply in replies)
    assert sum(bool(reply.text) for reply in replies) > 100 and sum(bool(reply.reasoning) for reply in replies) > 50
    assert sum(len(transcript(number).text) <= SHORT for number in NUMBERS) >= 60
    assert any(reply.unclosed_reasoning for reply in replies)
    assert sum(call.clean for reply in replies for call in reply.calls) > 100
    assert len(repairs) >= 18 and errors >= {Code.TRUNCATED, Code.UNKNOWN_TOOL, Code.INVALID_ARGUMENTS}


# Where the arguments end.

OPEN = "<tool>\n<tool_name>apply_diff</tool_name>\n"
BEHIND = "\n</tool>"


@pytest.mark.parametrize(
    "arguments",
    [
        "<arguments><path>a.py</path></arguments>",
        "<arguments>\n  <path><![CDATA[a.py]]></path>\n</arguments>",
        '<arguments>{"path": "a.py"}</arguments>',
        '<arguments>\n```json\n{"path": "a.py"}\n```\n</arguments>',
        '<arguments><![CDATA[{"path": "a.py"}]]></arguments>',
        '<arguments>\n<![CDATA[{"path": ]]> <![CDATA["a.py"}]]>\n</arguments>',
        "<arguments>{'path': 'a.py'}</arguments>",
        "<arguments><argument name='path'>a.py</argument></arguments>",
    ],
)
def test_only_the_end_tag_of_the_block_may_be_missing(arguments: str) -> None:
    complete = OPEN + arguments
    for cut in range(len(complete)):
        assert read(complete[:cut]).calls == (), complete[:cut]
    for cut in range(len(BEHIND)):
        calls = read(complete + BEHIND[:cut]).calls
        assert [call.arguments for call in calls] == [{"path": "a.py"}], BEHIND[:cut]
        assert is_mended(calls[0])


@pytest.mark.parametrize(
    "text",
    [
        f"{OPEN}<path>a.py</path>{BEHIND}",
        f"{OPEN}<arguments><path>a.py</path>{BEHIND}",
        f"{OPEN}<arguments><path>a.py</arguments>{BEHIND}",
        f"{OPEN}{BEHIND}",
    ],
)
def test_without_the_end_of_the_arguments_nothing_may_be_missing(text: str) -> None:
    assert len(read(text).calls) == 1
    for cut in range(len(text)):
        assert read(text[:cut]).calls == (), text[:cut]


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_json_body_may_lack_its_end_tag_and_no_more(quote: str) -> None:
    text = '<tool>{"name": "apply_diff", "arguments": {"path": "a.py"}}\n</tool>'.replace('"', quote)
    arguments = read(text).calls[0].arguments
    for cut in range(len(text)):
        calls = read(text[:cut]).calls
        assert [call.arguments for call in calls] == [arguments] * (cut > text.rindex("}")), text[:cut]
        assert all(Code.MISSING_END_TAG in {repair.code for repair in call.repairs} for call in calls)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("qwen3_coder", "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</func"),
        ("glm", "<tool_call>f<arg_key>a</arg_key><arg_value>x</arg_value></tool_c"),
        ("minimax_m2", '<minimax:tool_call><invoke name="f"><parameter name="a">x</parameter></inv'),
    ],
)
def test_what_had_been_read_of_a_call_in_another_dialect_is_told_too(dialect: str, text: str) -> None:
    (error,) = parse(text, dialect=dialect).errors
    assert (error.code, error.name, error.arguments) == (Code.TRUNCATED, "f", {"a": "x"})


def test_a_name_that_stands_behind_the_arguments_may_not_be_missing() -> None:
    text = f"<tool><arguments><path>a.py</path></arguments><tool_name>apply_diff</tool_name>{BEHIND}"
    named = text.index(BEHIND)
    for cut in range(len(text)):
        assert len(read(text[:cut]).calls) == (cut >= named), text[:cut]


@pytest.mark.parametrize(
    "behind",
    [
        "<diff>+x</diff></tool>",
        "<server_name>disk</server_name></tool>",
        "<arguments><diff>+x</diff></arguments></tool>",
        "<!DOCTYPE x></tool>",
        "and so on</tool>",
    ],
)
def test_what_no_call_should_have_behind_its_arguments_is_not_foreseen(behind: str) -> None:
    """The mended call is not clean, more than a part of `</tool>` undoes it, and strict mode never has it."""
    complete = f"{OPEN}<arguments><path>a.py</path></arguments>"
    (early,) = read(complete).calls
    assert is_mended(early) and not early.clean
    assert read(complete + behind[:3]).calls == ()
    for cut in range(len(behind)):
        assert read(complete + behind[:cut], strict=True).calls == (), behind[:cut]
