"""Whole replies that are plain are read at once, to what a parser makes of them; and others by a parser."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dialect_marks import write
from support.often import examples
from support.ordinary_calls import law_plain_reply, narrow_case, plain_case
from support.strategies import Case, cases

import xmltools as xt
from xmltools import dialects
from xmltools.errors import XMLToolsError
from xmltools.parser import Limits
from xmltools.parser.plain_replies import read_plain
from xmltools.parser.toolbox import Toolbox

WEATHER = xt.Tool(
    name="get_weather",
    parameters={"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]},
)
CALL = "<tool>\n<tool_name>get_weather</tool_name>\n<arguments>\n<city>Oslo</city>\n</arguments>\n</tool>"


def is_plain(text: str, dialect: dialects.Dialect = dialects.FORGE, tools: list[xt.Tool] | None = None) -> bool:
    toolbox = Toolbox([WEATHER] if tools is None else tools)
    found = read_plain(text, toolbox, dialect, dialect.reasoning, lambda: "")
    return not isinstance(found, int)


def test_its_parts_are_those_of_the_reply() -> None:
    text = f"<think>Where?</think>\nI look.\n{CALL}\n{CALL}\nDone."
    names = count(1)
    reply = xt.parse(text, [WEATHER], new_id=lambda: f"c{next(names)}")
    kinds = [type(part).__name__ for part in reply.parts]
    assert kinds == ["Reasoning", "Text", "ToolCall", "Text", "ToolCall", "Text"]
    assert [call.id for call in reply.calls] == ["c1", "c2"]
    assert [text[slice(*call.span)] for call in reply.calls if call.span] == [CALL, CALL]
    assert reply.text == "\nI look.\n\n\nDone." and reply.reasoning == "Where?" and not reply.unclosed_reasoning
    assert is_plain(text)


def test_reasoning_in_pieces_is_joined() -> None:
    reply = xt.parse("<think>a</think><think></think><think>b</think> <think>c</think>", [WEATHER])
    assert [part.text for part in reply.parts if not isinstance(part, xt.ToolCall)] == ["ab", " ", "c"]


@pytest.mark.parametrize(
    "prose",
    [
        "",
        "\n\n",
        "It takes `a < b`, and List<int> too: [see](x), {1, 2}, ~5 \\n, C:\\temp.",
        "a `tool`, `\\n` and `two`\nlines & more, <b>bold</b> <br/>, 1 < 2 -> 3 --> ]]>",
        "# A title\n\n- one\n- two\n\n1. `x`\n",
        "<thin is no tag, nor is </think>",
        "Run this:\n```sh\ncat `x` <<EOF\n  ~~~ `` \\\n```\nand this:\n```\nls\n  ```` \n",
    ],
)
def test_ordinary_prose_is_plain(prose: str) -> None:
    assert is_plain(prose) and is_plain(prose + "\n" + CALL) and is_plain(f"{CALL}\n{prose}")
    assert xt.parse(prose + "\n" + CALL, [WEATHER]).text == prose + "\n"


@pytest.mark.parametrize(
    "prose",
    [
        "```\nx\n",
        "~~~\n",
        "one ` alone ",
        "``two`` ",
        "`a\nb`",
        "a ```b``` c",
        "```\na\n```",
        "```\na\n``` b\n",
        "````md\n```\nx\n",
        "```f``` is how:\n```\n",
        f"```{'a' * 300}\nx\n```\n",
        "```\n<!--\n```\n",
        "    ```\na\n```\n",
        "\\",
        "\\`",
        "<!-- ",
        "<![CDATA[",
        "<think>",
        "<Think>x</Think>",
        "<tool_call>{",
        '<invoke name="get_weather">',
        "<get_weather>",
        '{"name": "get_weather", "arguments": {}}',
        "[TOOL_CALLS]",
        "<tool> is a tag ",
    ],
)
def test_what_a_rule_is_about_is_not(prose: str) -> None:
    assert not is_plain(prose + CALL)


@pytest.mark.parametrize("before", ["", " ", "\n\n"])
@pytest.mark.parametrize("behind", ["", " ", "\n\n"])
def test_white_space_next_to_a_call_is_no_text_where_templates_write_it(before: str, behind: str) -> None:
    call = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    reply = xt.parse(f"{before}{call}{behind}", [WEATHER], dialect="hermes")
    assert [type(part) for part in reply.parts] == [xt.ToolCall]
    reply = xt.parse(f"{before}{call}\n{call} a {call}{behind}", [WEATHER], dialect="hermes")
    assert (reply.text, len(reply.calls)) == ("a", 3)


def test_brackets_are_reasoning_if_that_is_asked_for() -> None:
    text = "[I look.]\nDone."
    assert xt.parse(text, [WEATHER], bracket_reasoning=True).reasoning == "I look."
    assert xt.parse(text, [WEATHER]).text == text


def test_calls_alone_in_a_fence_are_read_by_the_machine() -> None:
    text = f"Look:\n```xml\n  {CALL}{CALL}\n{CALL}\n```\nThen: {CALL}"
    calls = xt.parse(text, [WEATHER]).calls
    assert is_plain(text) and [bool(call.repairs) for call in calls] == [True, True, True, False]
    assert {repair.code for call in calls for repair in call.repairs} == {"code_fence"}
    assert len(xt.parse(text, [WEATHER], code_fences="text").calls) == 1
    assert not is_plain(f"```\n{CALL} x\n```\n{CALL}") and not is_plain(f"```\nsh\n{CALL}")


def test_where_nothing_follows_nobody_asks_what_is_open() -> None:
    for prose in ("```\na", "~~~", "one ` alone", "``two``", "\\", "<!-- ", "<![CDATA[", "a ```b``` c"):
        text = f"{CALL}\nThen: {prose}"
        assert is_plain(text) and xt.parse(text, [WEATHER]).text == f"\nThen: {prose}"


@pytest.mark.parametrize("end", ["<", "<t", "<tool", "<think", "</"])
def test_nor_is_what_the_end_cuts_off(end: str) -> None:
    assert is_plain(f"a {end}") is (end == "</")
    assert xt.parse(f"a {end}", [WEATHER]).text == f"a {end}"


def test_reasoning_that_has_no_tag_of_its_own_begins_nowhere() -> None:
    text = "a </think> b <think "  # the fuzzer's: its end was looked for from the beginning, again and again
    assert not is_plain(text) and xt.parse(text, [WEATHER]).text == text


@pytest.mark.parametrize(
    ("call", "came_of_it"),
    [
        (CALL.replace("Oslo", "a<b"), "bare_less_than"),
        (CALL.replace("Oslo", "a & b"), "bare_ampersand"),
        (CALL.replace("</city>", "</city><days>+3</days>"), "coerced_value"),
        (CALL.replace("city", "town"), "invalid_arguments"),
        (CALL.replace("get_weather", "get_whether"), "unknown_tool"),
        (CALL.replace("\n</arguments>", ""), "missing_end_tag"),
        (CALL.replace("<tool>", '<tool id="x">'), "ignored_attribute"),
        ("<tool>{'tool_name': 'get_weather', 'arguments': {'city': 'Oslo'}}</tool>", "python_literal"),
        (CALL[:-4], "missing_end_tag"),
        (CALL[:-40], "truncated"),
        (CALL[:20], "truncated"),
    ],
)
def test_a_call_that_is_not_ordinary_is_read_by_the_machine(call: str, came_of_it: str) -> None:
    text = f"<think>Where?</think>Look: {call}"
    assert is_plain(text)
    found = xt.parse(text, [WEATHER]).parts[-1]
    assert isinstance(found, (xt.ToolCall, xt.CallError)) and found.span == (len(text) - len(call), len(text))
    assert came_of_it in ([found.code] if isinstance(found, xt.CallError) else [each.code for each in found.repairs])
    strictly = xt.parse(text, [WEATHER], strict=True).parts[-1]
    assert isinstance(strictly, xt.CallError) and strictly.code == came_of_it


@pytest.mark.parametrize(
    "call",
    [
        CALL.replace("<tool>", "<Tool>"),
        CALL.replace("<tool>", "<tool>\n```xml\n"),
        CALL.replace("</tool>", CALL.removeprefix("<tool>")),  # a call in the block of another one
        CALL.replace("Oslo", "<![CDATA[<![CDATA[]]>"),  # where the value ends is decided at the end
    ],
)
def test_what_reads_on_after_a_call_is_left_to_a_parser(call: str) -> None:
    assert not is_plain(f"Look: {call}") and xt.parse(f"Look: {call}", [WEATHER]).calls


@pytest.mark.parametrize("name", ["qwen3_coder", "glm", "minimax_m2", "hermes", "deepseek_v3", "kimi_k2", "invoke"])
def test_so_it_is_in_other_dialects(name: str) -> None:
    dialect = dialects.named(name)
    text = f"Now this:\n\n{write(dialect, 'get_weather', {'city': 'Oslo', 'days': 3})}\nDone."
    assert is_plain(text, dialect)
    (call,) = xt.parse(text, [WEATHER], dialect=name).calls
    assert call.arguments == {"city": "Oslo", "days": 3} and call.clean


def test_there_are_no_more_calls_than_a_reply_may_have() -> None:
    most = Limits().blocks
    assert is_plain(CALL * most) and not is_plain(CALL * (most + 1))
    assert [error.code for error in xt.parse(CALL * (most + 1), [WEATHER]).errors] == ["limit_exceeded"]


def test_a_call_that_fails_has_an_id_where_its_name_is_known_at_last() -> None:
    names = count(1)
    text = f'<tool name="get_weather">{{"city": "Oslo"</tool>{CALL}'
    reply = xt.parse(text, [WEATHER], new_id=lambda: f"c{next(names)}")
    assert is_plain(text) and len(reply.errors) == 1 and [call.id for call in reply.calls] == ["c2"]


def test_ids_are_asked_for_once_for_each_call() -> None:
    asked: list[int] = []

    def new_id() -> str:
        asked.append(1)
        return str(len(asked))

    reply = xt.parse(f"{CALL}\n{CALL}\n{CALL[:-30]}", [WEATHER], new_id=new_id)
    assert [call.id for call in reply.calls] == ["1", "2"] and len(asked) == 3
    asked.clear()
    assert [call.id for call in xt.parse(f"{CALL}\n{CALL}", [WEATHER], new_id=new_id).calls] == ["1", "2"]
    with pytest.raises(XMLToolsError, match="new_id: expected a function that returns str, it returned int"):
        xt.parse(CALL, [WEATHER], new_id=lambda: 1)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    "options",
    [
        {"code_fences": "maybe"},
        {"code_fences": "TEXT"},
        {"dialect": "klingon"},
        {"reasoning_tags": "think"},
        {"limits": 3},
        {"also": 0},
        {"starts_in_reasoning": True, "unknown": 1},
        {"unknown": 1},
    ],
)
def test_wrong_options_are_told_of_plain_replies_too(options: dict[str, Any]) -> None:
    with pytest.raises((XMLToolsError, TypeError)) as of_parser:
        xt.Parser([WEATHER], **options)
    with pytest.raises(type(of_parser.value)) as of_parse:
        xt.parse("Plain.", [WEATHER], **options)
    assert str(of_parse.value) == str(of_parser.value)


def test_tools_may_come_from_what_can_be_read_only_once() -> None:
    for call in (CALL, CALL.replace("Oslo", "a<b")):  # one is plain, the other is left to a parser
        assert xt.parse(call, (tool for tool in [WEATHER])).calls, call


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(XMLToolsError, match="two tools are named"):
        xt.parse("Plain.", [WEATHER, WEATHER])


def test_text_that_is_none_is_refused() -> None:
    with pytest.raises((XMLToolsError, TypeError), match=r"str.* got bytes"):  # a TypeError, if it is compiled
        xt.parse(b"Plain.")  # type: ignore[arg-type]


@given(st.randoms(use_true_random=False))
@examples(600)
def test_a_whole_reply_says_what_a_parser_makes_of_it(rng: Random) -> None:
    law_plain_reply(plain_case(rng))
    law_plain_reply(narrow_case(rng))


@given(cases())
@examples(300)
def test_so_does_any_document(case: Case) -> None:
    law_plain_reply(case)
