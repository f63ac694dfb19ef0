"""In which dialect replies are written: by their calls, in linear time."""

from __future__ import annotations

import random
from itertools import chain

import pytest
from support.dialect_marks import marks_of, write
from support.written import detected_as

import xmltools as xt
from xmltools import dialects
from xmltools.errors import Code
from xmltools.models.events import CallCompleted, CallFailed
from xmltools.parser import Parser, detect

TOOLS = [xt.Tool(name="get", parameters={"properties": {"n": {"type": "integer"}, "s": {"type": "string"}}})]
MARKED = [each for each in dialects.all() if not each.is_bare]


def found_in(*texts: str) -> list[tuple[str, int, int]]:
    return [(dialect.name, calls, errors) for dialect, calls, errors in detect(texts, TOOLS)]


@pytest.mark.parametrize("dialect", dialects.all(), ids=lambda each: each.name)
def test_an_example_is_in_its_dialect(dialect: dialects.Dialect) -> None:
    name = detected_as(dialect.name)
    assert found_in(dialect.example)[0] == (name, 1, 0)
    assert (dialect.name, 1, 0) in found_in(dialect.example)
    assert found_in("Words.", f"<b>\n{dialect.example}", dialect.example)[0][0] == name


@pytest.mark.parametrize("dialect", MARKED, ids=lambda each: each.name)
def test_most_calls_count(dialect: dialects.Dialect) -> None:
    others = [other for other in MARKED if other is not dialect]
    texts = [other.example for other in others] + [f"One.\n{dialect.example}"] * 8
    found = found_in(*texts)
    assert found[0][1] == max(calls for _, calls, _ in found)
    assert dialect.name in [name for name, calls, _ in found if calls >= found[0][1] - 2]  # others read its calls too


def test_a_reply_in_the_frame_of_a_dialect_is_in_that_dialect() -> None:
    call = dialects.named("hermes").example
    assert found_in(f"<think>Hm.</think>\n<response>\nI look.\n</response>\n{call}")[0][0] == "ernie"
    assert found_in(f"<think>Hm.</think>\nI look.\n{call}")[0][0] == "hermes"
    assert found_in(call, f"I look in <response>.\n{call}")[0][0] == "hermes"


def test_a_missing_end_mark_does_not_put_a_dialect_first_that_only_reads_the_mark_as_well() -> None:
    call = dialects.named("hermes").example
    found = found_in(call, call, call.removesuffix("</tool_call>"))
    assert found[0][0] == "hermes" and ("granite", 3, 0) in found
    found = found_in(f"Words.\n{call}\n{call}\n{call.removesuffix('</tool_call>')}")
    assert found[0][0] == "hermes" and ("granite", 3, 0) in found


def test_elements_are_found_however_their_opener_is_written() -> None:
    for opener in ("<tool>", "<TOOL>", "<Tool >", '<tool name="get">', '<tool\n id="1">'):
        text = f"Words.\n{opener}<tool_name>get</tool_name><arguments><n>1</n></arguments></tool>"
        assert found_in(text)[0] == ("forge", 1, 0), opener


def test_of_dialects_with_the_same_calls_that_comes_first_whose_marks_are_all_there() -> None:
    call = "<function=get><parameter=n>1</parameter></function>"
    invoke = '<invoke name="get"><parameter name="n">1</parameter></invoke>'
    assert found_in(f"<seed:tool_call>{call}</seed:tool_call>")[0][0] == "seed_oss"
    assert found_in(call)[0][0] == found_in(f"<tool_call>{call}</tool_call>")[0][0] == "qwen3_coder"
    assert found_in(f"<tool_call>{call}</tool_call>") == [("qwen3_coder", 1, 0), ("mimo", 1, 0), ("seed_oss", 1, 0)]
    assert found_in(f"<function_calls>{invoke}</function_calls>")[0][0] == "invoke"
    assert found_in(f"<minimax:tool_call>{invoke}</minimax:tool_call>", invoke)[0][0] == "minimax_m2"


def test_of_dialects_with_the_same_marks_that_comes_first_which_repairs_less() -> None:
    section = (
        "<tool_calls><tool_call>get<tool_sep><arg_key>n</arg_key><arg_value>1</arg_value></tool_call></tool_calls>"
    )
    assert found_in(section)[0] == ("hunyuan", 1, 0)
    assert found_in('<tool_call>{"name": "get", "arguments": {"n": 1}}</tool_call>')[0] == ("hermes", 1, 0)


@pytest.mark.parametrize("name", ["minimax_m2", "dsml"])
def test_a_token_after_which_no_call_comes_is_an_error_of_its_dialect(name: str) -> None:
    dialect = dialects.named(name)
    found = found_in(dialect.example, f"Words.\n{dialect.opener} and no call.")
    assert (name, 1, 1) in found


def test_words_about_marks_are_in_none() -> None:
    assert found_in("A call begins with `[TOOL_CALLS]`, <tool_call> or <tool>.", '{"n": 1}', "[1, 2]", "") == []


PIECES = (
    *("word", " ", "\n", "<think>", "</think>", "{", "[", "]", "}", "`", "<b>", "<TOOL>", "<Tool >", "<toolbox>"),
    *(f"<b>\n{each.example}\n" for each in dialects.all()),
    *(each.example for each in dialects.all()),
    *chain.from_iterable(marks_of(each, ("get", "no"), ("n",)) for each in dialects.all() if each.name != "forge"),
    *(write(form, "get", {"s": "x"}) for each in dialects.all()[1:] for form in each.forms),
)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_before_reading_has_no_calls(seed: int) -> None:
    pick = random.Random(seed)
    for _ in range(5):
        text = "".join(pick.choices(PIECES, k=pick.randint(1, 8)))
        expected = {}
        for dialect in dialects.all():
            parser = Parser(TOOLS, dialect=dialect)
            events = [*parser.feed(text), *parser.close()]
            calls = [event.call for event in events if isinstance(event, CallCompleted)]
            if dialect.name != "forge":
                others = {Code.JSON_ARGUMENTS, Code.STRAY_TEXT}
                calls = [call for call in calls if others.isdisjoint(each.code for each in call.repairs)]
            if calls:
                expected[dialect.name] = len(calls), sum(isinstance(event, CallFailed) for event in events)
        assert {name: (calls, errors) for name, calls, errors in found_in(text)} == expected, text
