"""Calls in other dialects than Forge's: as the chat templates write them, read back the same, or refused."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.often import examples
from support.written import WRITTEN, draw, law, law_of_several

from xmltools import dialects
from xmltools.dialects import Body, Dialect, Pairs, Writing
from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar
from xmltools.models import ToolCall
from xmltools.parser import parse
from xmltools.render import render_call, render_calls, render_instructions
from xmltools.tools import Tool

GET = Tool(
    name="get",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "n": {"type": "integer"},
            "lines": {"type": "array", "items": {"type": "string"}},
            "open": {},
        },
    },
)
every_dialect = pytest.mark.parametrize("dialect", WRITTEN)


def call_of(**arguments) -> ToolCall:
    return ToolCall(id="c", name="get", arguments=arguments)


LAID_OUT = {
    "hermes": '<tool_call>\n{"name": "get", "arguments": {"path": "a\\nb", "n": 1}}\n</tool_call>',
    "qwen3_coder": (
        "<tool_call>\n<function=get>\n<parameter=path>\na\nb\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>\n"
        "</tool_call>"
    ),
    "glm": (
        "<tool_call>get<arg_key>path</arg_key><arg_value>a\nb</arg_value><arg_key>n</arg_key><arg_value>1</arg_value>"
        "</tool_call>"
    ),
    "minimax_m2": (
        '<minimax:tool_call>\n<invoke name="get">\n<parameter name="path">a\nb</parameter>\n'
        '<parameter name="n">1</parameter>\n</invoke>\n</minimax:tool_call>'
    ),
    "invoke": (
        '<function_calls>\n<invoke name="get">\n<parameter name="path">a\nb</parameter>\n'
        '<parameter name="n">1</parameter>\n</invoke>\n</function_calls>'
    ),
    "dsml": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get">\n<｜DSML｜parameter name="path" string="true">a\nb'
        '</｜DSML｜parameter>\n<｜DSML｜parameter name="n" string="false">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
        "</｜DSML｜tool_calls>"
    ),
    "deepseek_v3": (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get<｜tool▁sep｜>{"path": "a\\nb", "n": 1}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>"
    ),
    "kimi_k2": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get:0<|tool_call_argument_begin|>"
        '{"path": "a\\nb", "n": 1}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "mistral": '[TOOL_CALLS]get[ARGS]{"path": "a\\nb", "n": 1}',
    "llama3_json": '{"name": "get", "parameters": {"path": "a\\nb", "n": 1}}',
    "tag_per_tool": "<get>\n<path>a\nb</path>\n<n>1</n>\n</get>",
}


@pytest.mark.parametrize("dialect", LAID_OUT)
def test_a_call_is_laid_out_as_the_template_writes_it(dialect):
    text = render_call(call_of(path="a\nb", n=1), GET, dialect=dialect)
    assert text == LAID_OUT[dialect]
    assert render_call(call_of(path="a\nb", n=1), GET, dialect=dialects.named(dialect)) == text


SEVERAL = {
    "hermes": ("<tool_call>", 2),
    "qwen3_coder": ("<tool_call>", 2),
    "glm": ("<tool_call>", 2),
    "minimax_m2": ("<minimax:tool_call>", 1),
    "invoke": ("<function_calls>", 1),
    "dsml": ("<｜DSML｜tool_calls>", 1),
    "deepseek_v3": ("<｜tool▁calls▁begin｜>", 1),
    "kimi_k2": ("<|tool_calls_section_begin|>", 1),
    "mistral": ("[TOOL_CALLS]", 2),
    "forge": ("<tool>", 2),
}


@pytest.mark.parametrize("dialect", SEVERAL)
def test_the_calls_of_one_turn_share_a_section_where_there_is_one(dialect):
    text = render_calls([call_of(n=1), call_of(n=2)], [GET], dialect=dialect)
    opener, times = SEVERAL[dialect]
    assert text.count(opener) == times
    assert [call.arguments for call in parse(text, [GET], dialect=dialect).calls] == [{"n": 1}, {"n": 2}]


def test_kimi_counts_the_calls_of_a_turn():
    text = render_calls([call_of(), call_of()], [GET], dialect="kimi_k2")
    assert "functions.get:0<" in text and "functions.get:1<" in text


@every_dialect
def test_a_call_reads_back_the_same_or_is_refused(dialect):
    @given(st.randoms(use_true_random=False))
    @examples(60)
    def holds(rng: Random) -> None:
        law(*draw(rng, dialect), dialect)

    holds()


@every_dialect
def test_so_do_the_calls_of_one_turn(dialect):
    @given(st.randoms(use_true_random=False), st.integers(1, 4))
    @examples(30)
    def holds(rng: Random, number: int) -> None:
        law_of_several([draw(rng, dialect) for _ in range(number)], dialect)

    holds()


@every_dialect
def test_ordinary_calls_are_always_written(dialect):
    drawn = [draw(Random(f"{dialect} {number}"), dialect) for number in range(300)]
    assert sum(law(call, tool, dialect) for call, tool in drawn) > 150
    for text in ("", "a", "a\n", "\n\na\n", " a ", "a < b && c > d", "<p>hi</p>", "5", "null", "{}", "'\"\\", "é表😀"):
        call = call_of(path=text, n=-3, lines=[text, "x"])
        assert law(call, GET, dialect), text


UNSAYABLE = {
    "glm": call_of(path="a</arg_value></tool_call>b"),
    "qwen3_coder": call_of(path="a\n</parameter>\n</function>\n</tool_call>b"),
    "minimax_m2": call_of(path='a</parameter>\n<parameter name="n">1'),
    "seed_oss": call_of(open=5),
    "mimo": call_of(path="a</parameter>\n</function>\n</tool_call>b"),
    "tag_per_tool": call_of(open=[1]),
    "gemma": call_of(path='"}<tool_call|>'),
}


@pytest.mark.parametrize("dialect", UNSAYABLE)
def test_what_a_dialect_can_not_say_is_refused_with_one_that_can(dialect):
    call = UNSAYABLE[dialect]
    with pytest.raises(XMLToolsError, match=r"call of 'get' can't be written in the dialect '.*; write it in 'hermes'"):
        render_call(call, GET, dialect=dialect)
    assert parse(render_call(call, GET, dialect="hermes"), [GET], dialect="hermes").calls[0].arguments == call.arguments


def test_a_tool_that_is_named_as_a_part_of_a_mark_is_read_back_first():
    tool = GET.model_copy(update={"name": "function"})
    call = call_of(n=1).model_copy(update={"name": "function"})
    with pytest.raises(XMLToolsError, match="'function' can't be written in the dialect 'deepseek_v3'"):
        render_call(call, tool, dialect="deepseek_v3")
    assert all(law(call, tool, dialect) for dialect in WRITTEN if dialect != "deepseek_v3")


def test_without_a_tool_values_between_marks_come_back_as_their_text():
    call = call_of(path="a", n=1, lines=["x", "y"], on=True, nothing=None)
    for dialect in ("qwen3_coder", "glm", "minimax_m2"):
        read = parse(render_call(call, dialect=dialect), dialect=dialect).calls[0]
        assert read.arguments == {"path": "a", "n": "1", "lines": '["x", "y"]', "on": "true", "nothing": "null"}
    read = parse(render_call(call, dialect="hermes"), dialect="hermes").calls[0]
    assert read.arguments == call.arguments


def test_a_call_that_its_tool_refuses_is_written_as_it_is():
    call = call_of(n="three")
    text = render_call(call, GET, dialect="qwen3_coder")
    assert parse(text, dialect="qwen3_coder").calls[0].arguments == {"n": "three"}
    assert parse(text, [GET], dialect="qwen3_coder").errors[0].code == "invalid_arguments"


def test_misuse_is_refused():
    read_only = replace(dialects.named("glm"), name="mine", writing=None)
    with pytest.raises(
        XMLToolsError,
        match=r"not known how they are written; write Forge.s, .* that is written: forge, hermes",
    ):
        render_call(call_of(), GET, dialect=read_only)
    with pytest.raises(XMLToolsError, match="did you mean 'glm'"):
        render_call(call_of(), GET, dialect="glmm")
    for options in ({"legacy_json": True}, {"server_names": True}):
        with pytest.raises(XMLToolsError, match="only calls in the dialect 'forge' have that, not those in 'glm'"):
            render_call(call_of(), GET, dialect="glm", **options)
    away = ToolCall(id="c", name="get", arguments={}, server="disk")
    with pytest.raises(XMLToolsError, match="write it in 'forge'"):
        render_call(away, dialect="hermes")
    assert render_call(away, GET.model_copy(update={"server": "disk"}), dialect="hermes")


def test_a_dialect_of_your_own_is_written_as_its_record_says():
    glm = dialects.named("glm")
    older = replace(glm.writing, after_name="\n", after_key="\n", after_value="\n", between="\n")
    text = render_call(call_of(n=1), GET, dialect=replace(glm, writing=older))
    assert text == "<tool_call>get\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"


@pytest.mark.parametrize(
    "write",
    [
        lambda dialect: render_call(call_of(n=1), GET, dialect=dialect),
        lambda dialect: render_calls([call_of(n=1)], [GET], dialect=dialect),
        lambda dialect: render_instructions([GET], dialect=dialect),
    ],
)
def test_elements_of_other_names_than_forges_are_not_written(write) -> None:
    own = replace(dialects.FORGE, name="crow", block="action", writing=Writing())
    with pytest.raises(XMLToolsError, match="'crow' are elements, which are written in 'forge' only"):
        write(own)


# Records whose writing does not go with their marks

SECTION = Dialect(
    name="section",
    body=Body.PAIRS,
    start="[CALLS]",
    end="[/CALLS]",
    many=True,
    pairs=Pairs(name="[CALL]", name_end="[ARGS]", end="[/CALL]", json=True, bare=True),
    writing=Writing(start="[CALLS]", end="[/CALLS]", between=""),
)
MARKS = Dialect(name="marks", body=Body.JSON, start="@call", end="@end", writing=Writing())


def test_a_section_is_written_with_its_marks_around_the_calls() -> None:
    text = render_calls([call_of(n=1), call_of(n=2)], [GET], dialect=SECTION)
    assert text == '[CALLS][CALL]get[ARGS]{"n": 1}[/CALL][CALL]get[ARGS]{"n": 2}[/CALL][/CALLS]'


@pytest.mark.parametrize(
    ("dialect", "writing", "said"),
    [
        (
            SECTION,
            Writing(start="[CALLS]", end="[/CALLS]", call_start="[CALL]", call_end="[/CALL]"),
            "leave '[CALL]' out of `call_start` and leave '[/CALL]' out of `call_end`",
        ),
        (SECTION, Writing(start="[CALLS]"), "The mark '[/CALLS]' is missing: write it in `end` or `call_end`"),
        (MARKS, Writing(), "The mark '@call' is missing: write it in `start` or `call_start` of `writing`"),
        (
            MARKS,
            Writing(call_start="@call", call_end="@end@end"),
            "and read as a call of 'get' with {\"n\": 1} and the",
        ),
    ],
)
@pytest.mark.parametrize(
    "write",
    [
        lambda dialect: render_call(call_of(n=1), GET, dialect=dialect),
        lambda dialect: render_instructions([GET], dialect=dialect),
    ],
)
def test_a_writing_that_does_not_go_with_the_marks_is_refused(dialect, writing, said, write) -> None:
    with pytest.raises(XMLToolsError) as error:
        write(replace(dialect, writing=writing))
    message = str(error.value)
    assert message.startswith(f"dialect {dialect.name!r}: its `writing` does not go with its marks: a call of the tool")
    assert " written '" in message and ", and read as " in message and said in message


def test_what_stands_between_two_calls_is_tried_when_two_are_written() -> None:
    own = replace(SECTION, writing=replace(SECTION.writing, between=" and [CALLS] "))
    assert render_call(call_of(n=1), GET, dialect=own)
    with pytest.raises(XMLToolsError, match="two calls of the tool `get` are written"):
        render_calls([call_of(n=1)] * 2, [GET], dialect=own)


def test_attributes_are_written_apart_from_the_mark_before_them() -> None:
    pairs = Pairs(
        name="<crow:call",
        name_end=">",
        name_attribute="tool",
        end="</crow:call>",
        key="<crow:arg",
        key_end=">",
        key_attribute="key",
        value_end="</crow:arg>",
        bare=True,
    )
    whole = '<crow:call tool="get"><crow:arg key="n">1</crow:arg></crow:call>'
    own = Dialect(
        name="crow",
        body=Body.PAIRS,
        block="crow:calls",
        many=True,
        pairs=pairs,
        writing=Writing(start="<crow:calls>", end="</crow:calls>"),
        example=f"<crow:calls>{whole}</crow:calls>",
    )
    assert render_call(call_of(n=1), GET, dialect=own) == own.example
    assert own.form.startswith('<crow:calls><crow:call tool="tool name"><crow:arg key="key">')
    tool = Tool(name="get", parameters={"type": "object", "properties": {"n": {"const": 1}}, "required": ["n"]})
    assert re.fullmatch(build_grammar(tool, "regex", dialect=own, white_space=0), own.example)
