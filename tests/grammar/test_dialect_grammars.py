"""Grammars in other dialects than Forge's, with real engines as judges.

`make fuzz ARGS="--walks 20000"` tries more replies.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from random import Random
from statistics import median
from typing import Any

import pytest
from support import grammar_values
from support.dialect_grammar_laws import DIALECTS, FORMATS, OTHERS, SAMPLE_TOOLS, Trial, framed, judge, local
from support.dialect_marks import write
from support.often import share

from xmltools.dialects import FORGE, Body, Dialect, Pairs, named
from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar, engine_issues, for_engine, grammar_issues
from xmltools.grammar.rules.written_form import written_form
from xmltools.models import ToolCall
from xmltools.parser import parse
from xmltools.render import render_calls
from xmltools.tools import Tool

TOOLSETS = share(6)
WALKS = 15
GET = Tool(
    name="get",
    parameters={
        "type": "object",
        "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "on": {"type": "boolean"}},
        "required": ["n"],
    },
)
PUT = Tool(
    name="put",
    parameters={
        "type": "object",
        "properties": {"mode": {"enum": ["fast", "safe"]}, "list": {"type": "array", "items": {"type": "string"}}},
    },
)
TOOLS = [GET, PUT]
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
every_format = pytest.mark.parametrize("format", FORMATS)
with_pairs = pytest.mark.parametrize("dialect", [name for name in DIALECTS if not written_form(named(name)).json])
with_json = pytest.mark.parametrize("dialect", [name for name in DIALECTS if written_form(named(name)).json])
with_marks = pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "llama3_json"])


@lru_cache
def engine(dialect: str, format: str, **options: Any) -> Any:
    return judge(TOOLS, dialect, format, **options)


def form_of(dialect: str) -> Dialect:
    return written_form(named(dialect)).dialect


def call(dialect: str, name: str, arguments: dict[str, Any], gap: str = "") -> str:
    """Return a call as the record says it, or, where its example has more than that, as the example is."""
    if dialect in ("hermes", "qwen3_coder", "glm", "minimax_m2", "invoke", "dsml", "mistral", "llama3_json"):
        return write(form_of(dialect), name, arguments, gap)
    return framed(dialect, name, arguments, gap)


# Tools whose arguments have several forms


FORMS = Tool(
    name="set",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "oneOf": [
            {"properties": {"kind": {"const": "text"}, "value": {"type": "string"}}, "required": ["kind", "value"]},
            {"properties": {"kind": {"const": "count"}, "value": {"type": "integer"}}, "required": ["kind"]},
        ],
    },
)


@pytest.mark.parametrize("dialect", [name for name in (*DIALECTS, *OTHERS) if named(name).body is not Body.TAGS])
@every_format
def test_each_form_of_the_arguments_is_allowed_and_no_other(dialect: str, format: str) -> None:
    inner = FORMS.model_copy(update={"name": "put", "parameters": {"properties": {"o": FORMS.parameters}}})
    tools = [FORMS, inner, Tool(name="or", parameters={"anyOf": [FORMS.parameters, {"type": "null"}]})]
    of_forms = judge(tools, dialect, format)
    assert grammar_issues(tools, format, dialect=dialect) == []
    for name in ("set", "put", "or"):
        for arguments, fits in (
            ({"path": "a", "kind": "text", "value": "five"}, True),
            ({"path": "a", "kind": "count", "value": 5}, True),
            ({"path": "a", "kind": "count"}, True),
            ({"path": "a", "kind": "count", "value": "five"}, False),
            ({"path": "a", "kind": "text"}, False),
            ({"path": "a"}, False),
            ({"kind": "count"}, False),
            ({}, False),
        ):
            told = {"o": arguments} if name == "put" else arguments
            assert of_forms.accepts(call(dialect, name, told)) is fits, (name, told)


@every_dialect
@every_format
def test_an_empty_word_of_an_enum_is_allowed(dialect: str, format: str) -> None:
    tool = Tool(name="f", parameters={"properties": {"v": {"enum": ["", "a"]}}})
    assert judge([tool], dialect, format).accepts(call(dialect, "f", {"v": ""}))


# What an engine writes


@pytest.mark.parametrize("dialect", [*DIALECTS, *OTHERS])
@every_format
@pytest.mark.no_cover
def test_what_an_engine_writes_is_clean_and_valid(dialect: str, format: str) -> None:
    count = TOOLSETS if dialect in DIALECTS else 2
    trials = [Trial(0, number, dialect, format) for number in range(count)]
    assert [trial.run(WALKS) for trial in trials] == [""] * count
    assert sum(trial.counts["walks"] for trial in trials) > count * WALKS / 3  # some come to no end
    assert sum(trial.counts["calls"] for trial in trials) > (count if dialect in DIALECTS else 0)


@every_dialect
@every_format
def test_the_sample_tools_are_expressed_completely(dialect: str, format: str) -> None:
    assert grammar_issues(SAMPLE_TOOLS, format, dialect=dialect) == []


# What it may write


@every_dialect
@every_format
def test_calls_as_templates_write_them_are_accepted(dialect: str, format: str) -> None:
    judged = engine(dialect, format)
    for gap in ("", "\n"):
        assert judged.accepts(call(dialect, "get", {"n": 5}, gap))
        assert judged.accepts(call(dialect, "get", {"n": -1, "s": 'a < b & "c"', "on": True}, gap))
        assert judged.accepts(call(dialect, "put", {}, gap))
        assert judged.accepts(call(dialect, "put", {"mode": "fast", "list": ["a", "<b>"]}, gap))


@with_marks
@every_format
def test_text_and_several_calls_are_accepted(dialect: str, format: str) -> None:
    judged = engine(dialect, format)
    one, other = call(dialect, "get", {"n": 5}), call(dialect, "put", {"mode": "safe"})
    for reply in ("", "I see. a < b", f"Text.\n\n{one}", f"{one}{other}", f"a {one}\nb\n{other} c"):
        assert judged.accepts(reply), reply
        assert parse(reply, TOOLS, dialect=dialect).errors == ()


@every_dialect
@every_format
@pytest.mark.no_cover
def test_valid_calls_are_accepted(dialect: str, format: str) -> None:
    tried = 0
    for seed in range(12):
        rng = Random(f"written/{seed}")
        tools, make = grammar_values.tools(rng)
        tools = local(tools)
        try:
            judged = judge(tools, dialect, format)
        except XMLToolsError:
            continue
        for _ in range(4):
            tool = rng.choice(tools)
            arguments = make(rng, tool)
            text = call(dialect, tool.name, arguments, rng.choice(["", "\n"]))
            if is_simple(arguments) and parse(text, tools, dialect=dialect).calls:
                tried += 1
                assert judged.accepts(text), text
    assert tried > 10


def is_simple(value: Any) -> bool:
    """Whether all write a value alike: it has no marks, nothing that JSON may escape, and no layout at its edges."""
    if isinstance(value, dict):
        return all(map(is_simple, (*value, *value.values()))) and not any("&" in name for name in value)
    if isinstance(value, list):
        return all(map(is_simple, value))
    if isinstance(value, str):
        return value.isascii() and not any(each in value for each in "<\r\x7f") and value.strip() == value
    return not isinstance(value, float)


# What it may not write


@every_dialect
@every_format
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("put", {"mode": "slow"}),
        ("get", {}),
        ("get", {"n": "five"}),
        ("get", {"n": 1.5}),
        ("get", {"n": 1, "on": "yes"}),
        ("get", {"n": 1, "m": 2}),
        ("put", {"list": "a"}),
        ("put", {"list": [1]}),
        ("post", {"n": 1}),
    ],
)
def test_calls_that_break_the_schema_are_refused(
    dialect: str, format: str, name: str, arguments: dict[str, Any]
) -> None:
    if dialect == "minimax_m3" and arguments == {"list": [1]}:
        pytest.skip("an item that is an element is text")
    assert not engine(dialect, format).accepts(call(dialect, name, arguments))


@every_dialect
@every_format
def test_a_call_that_is_cut_off_is_refused(dialect: str, format: str) -> None:
    whole = call(dialect, "get", {"n": 5})
    judged = engine(dialect, format)
    for size in range(len(whole) // 2, len(whole)):
        assert judged.prefix(whole[:size]) and not judged.accepts(whole[:size])


@with_marks
@every_format
def test_what_is_no_text_is_refused_as_text(dialect: str, format: str) -> None:
    judged, known = engine(dialect, format), named(dialect)
    ends = [end for end in known.turn_ends if end not in (*known.around_text, *known.thought_ends)]
    openers = [form.opener for form in known.forms if not form.is_first]
    marks = [*ends, *(f"<{tag}>" for tag in known.reasoning), *openers, *(start for start, _ in known.thoughts)]
    marks += [form.pairs.name for form in known.forms if form.pairs and form.pairs.bare]
    whole = call(dialect, "get", {"n": 5})
    for text in (*(f"a {mark} b" for mark in marks), f"`{whole}`", f"\\{whole}"):
        assert not judged.accepts(text), text


@with_pairs
@every_format
def test_no_value_holds_a_mark_that_could_end_it(dialect: str, format: str) -> None:
    pairs, judged = form_of(dialect).pairs, engine(dialect, format)
    assert pairs is not None
    half = len(pairs.value_end) // 2
    for mark in filter(None, (pairs.value_end, pairs.value_end[: half + 1], pairs.key, pairs.value, pairs.name)):
        assert not judged.accepts(call(dialect, "get", {"n": 1, "s": f"a {mark}b"}))
    for part in (pairs.value_end[:half], pairs.key[:3], "</", "<", "</div>", "&lt;", "<![CDATA["):
        assert judged.accepts(call(dialect, "get", {"n": 1, "s": f"a {part}"})), part


# Options


@every_dialect
@every_format
def test_required_demands_a_call_and_one_nothing_else(dialect: str, format: str) -> None:
    whole = call(dialect, "get", {"n": 5})
    for choice in ("required", "one"):
        judged = engine(dialect, format, tool_choice=choice)
        assert judged.accepts(whole)
        assert not judged.accepts("") and not judged.accepts("text")
    assert not engine(dialect, format, tool_choice="one").accepts(f"text {whole}")


@every_dialect
@every_format
def test_a_named_tool_is_the_only_one(dialect: str, format: str) -> None:
    judged = engine(dialect, format, tool_choice="named", name="put")
    assert judged.accepts(call(dialect, "put", {"mode": "fast"}))
    assert not judged.accepts(call(dialect, "get", {"n": 5}))


@with_marks
@every_format
def test_calls_are_counted_also_within_a_section(dialect: str, format: str) -> None:
    judged = engine(dialect, format, max_calls=2)
    form, one = form_of(dialect), call(dialect, "get", {"n": 5})
    if form.many and form.closer:
        is_list = written_form(named(dialect)).is_list
        start, end, comma = ("[", "]", ",") if is_list else ("", "", "")
        inside = one[len(form.opener + start) : len(one) - len(end + form.closer)]
        assert judged.accepts(f"{form.opener}{start}{comma.join([inside] * 2)}{end}{form.closer}")
        assert not judged.prefix(f"{form.opener}{start}{comma.join([inside] * 3)}")
        assert not judged.prefix(one * 2)
    else:
        assert judged.accepts(one * 2)
        assert not judged.prefix(one * 3)


def test_calls_without_marks_are_counted_and_separated() -> None:
    one = call("llama3_json", "get", {"n": 5})
    assert engine("llama3_json", "gbnf").accepts("; ".join([one] * 3))
    assert not engine("llama3_json", "gbnf", max_calls=2).prefix("; ".join([one] * 3))
    assert not engine("llama3_json", "gbnf").prefix(f"Text {one}"[:5] + "<|python_tag|>")
    assert not engine("llama3_json", "gbnf").accepts('{"answer": 5}')


@with_pairs
@every_format
def test_arguments_stand_in_any_order_or_in_that_of_the_schema(dialect: str, format: str) -> None:
    turned = call(dialect, "get", {"on": True, "n": 5})
    assert engine(dialect, format).accepts(turned)
    assert not engine(dialect, format, order="schema").accepts(turned)


@every_dialect
@every_format
def test_reasoning_may_come_first(dialect: str, format: str) -> None:
    tag = named(dialect).reasoning[0] if named(dialect).reasoning else "think"
    whole = call(dialect, "get", {"n": 5})
    assert engine(dialect, format, reasoning=tag).accepts(f"<{tag}>so</{tag}>{whole}")
    assert engine(dialect, format, reasoning=tag).accepts(whole)
    inside = engine(dialect, format, reasoning=tag, starts_in_reasoning=True)
    assert inside.accepts(f"so</{tag}>{whole}") and not inside.accepts(whole)


@pytest.mark.parametrize(
    ("dialect", "reasoning", "thought"),
    [
        ("mistral", "THINK", "[THINK]so[/THINK]"),
        ("mistral", "[THINK]", "[THINK]so[/THINK]"),
        ("cohere", "START_THINKING", "<|START_THINKING|>so<|END_THINKING|>"),
        ("harmony", "<|channel|>analysis<|message|>", "<|channel|>analysis<|message|>so<|end|><|start|>assistant"),
        ("kimi_k3", "<|open|>think<|sep|>", "<|open|>think<|sep|>so<|close|>think<|sep|>"),
        ("gemma", "<|channel>thought", "<|channel>thought\nso\n<channel|>"),
        ("minimax_m3", "mm:think", "<mm:think>so</mm:think>"),
    ],
)
@pytest.mark.parametrize("choice", ["auto", "one"])
@every_format
def test_reasoning_between_a_dialects_own_marks(
    dialect: str, reasoning: str, thought: str, format: str, choice: str
) -> None:
    whole = call(dialect, "get", {"n": 5})
    judged = engine(dialect, format, reasoning=reasoning, tool_choice=choice)
    assert judged.accepts(f"{thought}{whole}") and judged.accepts(whole)
    assert not engine(dialect, format).accepts(thought)


@pytest.mark.parametrize(
    ("dialect", "start", "end"),
    [
        ("harmony", "<|channel|>final<|message|>", "<|end|>"),
        ("cohere", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ("kimi_k3", "<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    ],
)
@every_format
def test_tokens_that_a_model_writes_around_its_text_are_allowed(
    dialect: str, start: str, end: str, format: str
) -> None:
    judged, whole = engine(dialect, format), call(dialect, "get", {"n": 5})
    for reply in (f"{start}I look.{end}", f"{start}I look.{end}{whole}", f"{start}{end}{whole}"):
        assert judged.accepts(reply)
        read = parse(reply, TOOLS, dialect=dialect)
        assert read.text == ("I look." if "look" in reply else "") and all(each.clean for each in read.calls)
    assert engine(dialect, format, tool_choice="one").accepts(f"{start}{end}{whole}")


NUMBERED = [("kimi_k2", "functions.get:0"), ("kimi_k3", 'index="0"'), ("cohere", '"tool_call_id": "0"')]


@pytest.mark.parametrize(("dialect", "counted"), NUMBERED)
@every_format
def test_calls_are_numbered(dialect: str, counted: str, format: str) -> None:
    whole, judged = (
        call(dialect, "get", {"n": 5}).replace('"tool_call_id":"', '"tool_call_id": "'),
        engine(dialect, format),
    )
    assert counted in whole
    for number in ("1", "12"):
        again = whole.replace(counted, counted.replace("0", number))
        assert judged.accepts(again) and parse(again, TOOLS, dialect=dialect).calls[0].clean
    assert not judged.accepts(whole.replace(counted, counted.replace("0", "x")))


def test_harmony_begins_no_text_as_a_call_that_has_no_channel() -> None:
    judged = engine("harmony", "structural_tag")
    assert judged.accepts("I send it to=him") and not judged.prefix(" to=functions.get")


@every_format
def test_the_type_of_a_value_is_said_in_kimi_k3(format: str) -> None:
    kinds: dict[str, Any] = {"s": "a", "n": 1.5, "on": True, "no": None, "list": [1], "map": {"a": 1}}
    anything = Tool(name="get", parameters={"properties": {key: {} for key in kinds}})
    judged = judge([anything], "kimi_k3", format)
    for key, value in kinds.items():
        written = call("kimi_k3", "get", {key: value})
        assert judged.accepts(written)
        assert parse(written, [anything], dialect="kimi_k3").calls[0].arguments == {key: value}
    assert not judged.accepts(call("kimi_k3", "get", {"n": 1.5}).replace("number", "boolean"))


NESTED = Tool(
    name="put",
    parameters={
        "properties": {
            "box": {
                "type": "object",
                "properties": {"w": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
                "required": ["w"],
            },
            "free": {"type": "object", "additionalProperties": {"type": "integer"}},
        }
    },
)


@every_format
def test_objects_and_lists_are_elements_in_minimax_m3_and_free_names_are_json(format: str) -> None:
    judged = judge([NESTED], "minimax_m3", format)
    arguments: dict[str, Any] = {"box": {"w": 1, "tags": ["a", "<b>]"]}}
    assert judged.accepts(call("minimax_m3", "put", arguments))
    assert judged.accepts(call("minimax_m3", "put", {"free": '{"x y": 1}'}))
    assert not judged.accepts(call("minimax_m3", "put", {"box": {"tags": ["a"]}}))
    assert not judged.accepts(call("minimax_m3", "put", {"free": {"x": 1}}))
    assert not judged.accepts(call("minimax_m3", "put", {"free": '{"x": "a"}'}))


@pytest.mark.parametrize("dialect", ["pythonic", "lfm2", "gemma"])
@every_format
def test_values_are_written_in_the_notation_of_the_dialect(dialect: str, format: str) -> None:
    arguments: dict[str, Any] = {"box": {"w": 1, "tags": ["a", "b"]}}
    judged = judge([NESTED, GET], dialect, format)
    assert judged.accepts(call(dialect, "put", arguments)) and judged.accepts(
        call(dialect, "get", {"n": 1, "on": True})
    )
    assert not judged.accepts(call(dialect, "put", {"box": {"w": "1"}}))
    assert not judged.accepts(call(dialect, "get", {"n": 1, "s": None}))


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("pythonic", "a-b"), ("gemma", "a:b"), ("minimax_m3", "a>b"), ("tag_per_tool", "a b"), ("tag_per_tool", "a:b")],
)
def test_an_argument_that_no_call_can_name_is_refused(dialect: str, name: str) -> None:
    tool = Tool(name="get", parameters={"properties": {name: {"type": "string"}}})
    with pytest.raises(XMLToolsError, match=f"no name for an argument that a call in '{dialect}' could say"):
        build_grammar(tool, "gbnf", dialect=dialect)


# A tag for each tool


@every_format
def test_each_tool_has_its_tag(format: str) -> None:
    judged = judge(TOOLS, "tag_per_tool", format)
    get, put = "<get>\n<n>5</n>\n<s>a &lt; b</s>\n</get>", "<put><mode>fast</mode><list><item>a</item></list></put>"
    for reply in ("", "a < b <i>", get, put, f"Text.\n\n{get}\n{put} end", "<put></put>"):
        assert judged.accepts(reply), reply
        assert all(each.clean for each in parse(reply, TOOLS, dialect="tag_per_tool").calls)
    for reply in (
        "<get>",
        "<get></get>",
        "<get><n>x</n></get>",
        "<get><n>5</n></put>",
        "<GET>",
        "<get/>",
        "get\n<n>5</n>",
    ):
        assert not judged.accepts(reply), reply
    one = judge(TOOLS, "tag_per_tool", format, tool_choice="one")
    assert one.accepts(put) and not one.accepts(get + put) and not one.accepts("")
    some = judge(TOOLS, "tag_per_tool", format, tool_choice="required", max_calls=2)
    assert some.accepts(f"a {put}{get}") and not some.accepts("a") and not some.prefix(put * 3)


def test_an_argument_that_is_called_as_a_tool_is_refused_where_its_tag_would_begin_a_call() -> None:
    tools = [GET, Tool(name="put", parameters={"properties": {"Get": {"type": "string"}}})]
    with pytest.raises(
        XMLToolsError, match="'Get' is the name of an argument and of a tool, whose calls begin with it"
    ):
        build_grammar(tools, "gbnf", dialect="tag_per_tool")


@every_format
def test_no_call_begins_in_reasoning_where_a_value_of_it_could_hold_the_end_tag(format: str) -> None:
    judged = judge(TOOLS, "tag_per_tool", format, tool_choice="one", reasoning="think", starts_in_reasoning=True)
    put = "<put><mode>fast</mode></put>"
    assert judged.accepts(f"a < b </think>{put}")
    assert not judged.prefix(f"a <get><s><![CDATA[</think>{put}")


@every_dialect
def test_white_space_between_marks_has_a_limit(dialect: str) -> None:
    text = call(dialect, "get", {"n": 5}, " " * 21)
    is_inside = dialect in ("kimi_k2", "gemma", "harmony", "cohere")  # there is no room but in JSON, which has less
    if text.strip() != call(dialect, "get", {"n": 5}) and not is_inside:
        assert not engine(dialect, "gbnf").accepts(text)
        assert engine(dialect, "gbnf", white_space=100).accepts(text)


@pytest.mark.parametrize(
    ("dialect", "options", "said"),
    [
        ("glm", {"cdata": "required"}, "cdata: values in 'glm' have no CDATA sections; leave cdata out"),
        ("glm", {"end_tag_in_cdata": False}, "end_tag_in_cdata: values in 'glm' have no CDATA"),
        ("glm", {"tool_choice": "arguments", "name": "get"}, "tool_choice: 'arguments' .* in 'glm' use 'named'"),
        ("hermes", {"order": "any"}, "order: arguments in 'hermes' are JSON, .* leave order out"),
        ("llama3_json", {"lazy": True}, "lazy: a call in 'llama3_json' has no mark"),
        ("tag_per_tool", {"lazy": True}, "lazy: a call in 'tag_per_tool' has no mark"),
        ("tag_per_tool", {"end_tag_in_cdata": False}, "end_tag_in_cdata: </tool> ends no call in 'tag_per_tool'"),
        ("kimi_k2", {"order": "any"}, "order: arguments in 'kimi_k2' are JSON, .* leave order out"),
        ("harmony", {"reasoning": "<b>"}, r"reasoning: expected .* or '<\|channel\|>analysis<\|message\|>', got '<b>'"),
        ("qwen", {}, "dialect: expected the name of a dialect, got 'qwen'; did you mean"),
    ],
)
def test_options_that_a_dialect_does_not_have_are_refused(dialect: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(XMLToolsError, match=said):
        build_grammar(TOOLS, "gbnf", dialect=dialect, **options)


@pytest.mark.parametrize(
    ("own", "others"),
    [
        (
            Dialect(name="crow", body=Body.ELEMENTS, block="action", tool_name="fn", arguments="params"),
            "block='action', tool_name='fn', arguments='params'",
        ),
        (replace(FORGE, name="crow", block="action"), "block='action'"),
        (replace(FORGE, name="crow", thoughts=(("[T]", "[/T]"),)), "thoughts="),
    ],
)
@pytest.mark.parametrize("format", ["gbnf", "lark", "structural_tag", "regex"])
def test_elements_of_other_names_than_forges_have_no_grammar(own: Dialect, others: str, format: str) -> None:
    with pytest.raises(XMLToolsError) as error:
        build_grammar(TOOLS, format, dialect=own)
    assert "dialect: grammars of calls as elements are made for the names of 'forge' only" in str(error.value)
    assert "'crow'" in str(error.value) and others in str(error.value)


def test_elements_that_are_called_as_forges_have_its_grammar() -> None:
    own = replace(FORGE, name="crow", example="")
    assert build_grammar(TOOLS, "gbnf", dialect=own) == build_grammar(TOOLS, "gbnf")


SECTION = Dialect(
    name="section",
    body=Body.PAIRS,
    start="[CALLS]",
    end="[/CALLS]",
    many=True,
    example='[CALLS][CALL]get[ARGS]{"n": 1}[/CALL][/CALLS]',
    pairs=Pairs(name="[CALL]", name_end="[ARGS]", end="[/CALL]", json=True, bare=True),
)


@every_format
def test_a_dialect_of_ones_own_has_a_grammar(format: str) -> None:
    judged = judge(TOOLS, SECTION, format)
    assert judged.accepts('[CALLS][CALL]get[ARGS]{"n": 1}[/CALL][/CALLS]')
    assert not judged.prefix("[CALLS][CALL]no")


def test_without_an_example_there_is_no_grammar_and_the_error_shows_one() -> None:
    with pytest.raises(XMLToolsError) as error:
        build_grammar(TOOLS, "gbnf", dialect=replace(SECTION, example=""))
    assert "the record of 'section' has no `example`" in str(error.value)
    said = str(error.value).partition("example='")[2].rstrip("'")
    assert build_grammar(TOOLS, "gbnf", dialect=replace(SECTION, example=said))


@pytest.mark.parametrize(
    ("example", "read"),
    [
        ("get(n=1)", "the text 'get(n=1)'"),
        ('[CALLS][CALL]get[ARGS]{"n": 2}[/CALL][/CALLS]', "a call of 'get' with {\"n\": 2}"),
        ('[CALLS][CALL]put[ARGS]{"n": 1}[/CALL][/CALLS]', "the error unknown_tool: "),
        ('[CALLS][CALL]get[ARGS]{"n": "1"}[/CALL]', "a call of 'get' with {\"n\": 1}, with the repair "),
        ('Hi [CALLS][CALL]get[ARGS]{"n": 1}[/CALL][/CALLS]', "the text 'Hi ' and a call of 'get' with {\"n\": 1}"),
    ],
)
def test_an_example_that_is_no_such_call_is_named_with_what_it_is_read_as(example: str, read: str) -> None:
    with pytest.raises(XMLToolsError) as error:
        build_grammar(TOOLS, "gbnf", dialect=replace(SECTION, example=example))
    assert "the `example` of 'section' is not read as a call of the tool `get` with `n` = 1; " in str(error.value)
    assert f"and read as {read}" in str(error.value) and "example='[CALLS][CALL]get" in str(error.value)


def test_an_example_in_a_form_that_no_grammar_writes_is_named_with_what_would_be_written() -> None:
    own = replace(named("hermes"), example='<tool_call>{"arguments": {"n": 1}, "name": "get"}</tool_call>')
    with pytest.raises(XMLToolsError) as error:
        build_grammar(TOOLS, "gbnf", dialect=own)
    assert "no grammar can be made for calls in 'hermes': a grammar would write '<tool_call>{\"name\"" in str(
        error.value
    )
    assert 'where its `example` has \'<tool_call>{"arguments"' in str(error.value)


@pytest.mark.parametrize(("dialect", "name"), [("glm", "two words"), ("glm", "a(b"), ("qwen3_coder", "a/")])
def test_a_name_that_no_call_can_say_is_refused(dialect: str, name: str) -> None:
    tool = Tool(name=name, parameters={})
    read = parse(call(dialect, name, {}), [tool], dialect=dialect)
    assert [each.name for each in read.calls] != [name]
    with pytest.raises(XMLToolsError, match=f"no name for a tool that a call in '{dialect}' could say"):
        build_grammar(tool, "gbnf", dialect=dialect)


@every_dialect
def test_two_tools_of_one_name_are_refused(dialect: str) -> None:
    with pytest.raises(XMLToolsError, match="'local' and 'other' both have a tool 'get', and calls in"):
        build_grammar([GET, GET.model_copy(update={"server": "other"})], "gbnf", dialect=dialect)


def test_what_the_schema_demands_and_the_grammar_cannot_say_is_an_issue() -> None:
    schema = {"type": "object", "properties": {"x": {"maxProperties": 1}, "y": {"type": "integer", "multipleOf": 3}}}
    tool = Tool(name="f", parameters=schema)
    found = grammar_issues(tool, "gbnf", dialect="hermes")
    words = [("x", "maxProperties"), ("x", "additionalProperties"), ("y", "multipleOf")]  # no key may stand twice
    assert [(issue.place, issue.keyword) for issue in found] == words
    assert engine_issues("vllm", tool, dialect="hermes") == found
    assert [issue.place for issue in grammar_issues(tool, "gbnf", dialect="glm")] == ["y"]  # any text fits x


@pytest.mark.parametrize("other", [{"items": {"type": "null"}}, {"pattern": "a"}, {"required": ["kind"]}])
def test_alternatives_that_name_no_type_are_not_told_apart_by_it(other: dict[str, Any]) -> None:
    one = {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}
    tool = Tool(name="f", parameters={"type": "object", "properties": {"x": {"oneOf": [one, other]}}})
    assert "oneOf" in [issue.keyword for issue in grammar_issues(tool, "gbnf", dialect="mistral")]


@every_dialect
def test_a_regular_expression_is_one_call(dialect: str) -> None:
    expression = re.compile(build_grammar(TOOLS, "regex", dialect=dialect))
    for gap in ("", "\n"):
        assert expression.fullmatch(call(dialect, "get", {"n": 5, "s": "a < b </", "on": False}, gap).strip())
    assert not expression.fullmatch(call(dialect, "get", {"n": "five"}))
    assert not expression.fullmatch(f"text {call(dialect, 'get', {'n': 5})}")


# Lengths


@pytest.mark.parametrize("dialect", [*DIALECTS, "beam"])
@every_format
def test_short_lengths_are_kept(dialect: str, format: str) -> None:
    text = {"type": "string", "minLength": 2, "maxLength": 5}
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": text}})
    judged = judge([tool], dialect, format)
    for value in ("ab", "abcde", "a b", "é☺"):
        assert judged.accepts(call(dialect, "f", {"a": value}).replace("\\u00e9\\u263a", value)), value
    for value in ("a", "abcdef", ""):
        assert not judged.accepts(call(dialect, "f", {"a": value})), value
    assert grammar_issues(tool, format, dialect=dialect) == []


@with_json
@every_format
def test_escapes_count_as_one_character(dialect: str, format: str) -> None:
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}})
    judged = judge([tool], dialect, format)
    assert judged.accepts(call(dialect, "f", {"a": '"\n\\'}))
    assert not judged.accepts(call(dialect, "f", {"a": '"\n\\a'}))


@every_dialect
@every_format
def test_long_text_is_not_kept_from_what_cannot_be_counted(dialect: str, format: str) -> None:
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": {"type": "string", "maxLength": 90}}})
    judged = judge([tool], dialect, format)
    html = '<div class="a">]\n</div>'  # of which a mark may begin with < or with ]
    assert judged.accepts(call(dialect, "f", {"a": html}))
    words = [issue.keyword for issue in grammar_issues(tool, format, dialect=dialect)]
    assert words == ([] if judged.prefix(call(dialect, "f", {"a": html * 9})) is False else ["minLength or maxLength"])


@pytest.mark.parametrize("dialect", ["hermes", "qwen3_coder", "glm"])
@pytest.mark.parametrize("low", [0, 2, 50, 81, 1000])
@pytest.mark.parametrize("high", [None, 0, 80, 1001])
def test_no_length_is_too_much(dialect: str, low: int, high: int | None) -> None:
    text: dict[str, Any] = {"type": "string", "minLength": low}
    if high is not None:
        text["maxLength"] = high
    kinds = [text, {"type": "array", "items": text}, {"anyOf": [text, {"type": "array"}]}]
    kinds += [{**text, "pattern": "^[a-z]+$"}, {"anyOf": [{**text, "pattern": "^<"}, {"type": "object"}]}]
    properties = {f"p{number}": kind for number, kind in enumerate(kinds[: 5 if low < 20 else 4])}
    for format in ("gbnf", "lark"):
        assert build_grammar(Tool(name="f", parameters={"properties": properties}), format, dialect=dialect)


@pytest.mark.parametrize("dialect", ["qwen3_coder", "invoke", "glm", "hermes"])
@every_format
def test_a_line_break_counts_where_a_text_has_a_least_length(dialect: str, format: str) -> None:
    text = {"type": "string", "minLength": 5}
    tool = Tool(name="f", parameters={"type": "object", "properties": {"a": text}, "required": ["a"]})
    judged = judge([tool], dialect, format)
    for value in ("\naaaa", "a\n\nbb", "aaaa\nb\nc", "a b\nc"):
        written = render_calls([ToolCall(id="1", name="f", arguments={"a": value})], [tool], dialect=dialect)
        assert judged.accepts(written), written
    written = render_calls([ToolCall(id="1", name="f", arguments={"a": "a\nbb"})], dialect=dialect)
    assert not judged.accepts(written)


def test_a_section_that_is_counted_is_not_too_much_for_llguidance() -> None:
    assert judge(SAMPLE_TOOLS, "tag_per_tool", "lark").mask_times("<create_ticket><title><![CDATA[a]]b")


# Engines


@every_dialect
def test_engines_get_the_grammar_of_a_dialect_in_their_fields(dialect: str) -> None:
    gbnf = build_grammar(TOOLS, "gbnf", dialect=dialect)
    assert for_engine("vllm", TOOLS, dialect=dialect) == {"structured_outputs": {"grammar": gbnf}}
    assert for_engine("llama.cpp", TOOLS, dialect=dialect) == {"grammar": gbnf}
    assert gbnf != build_grammar(TOOLS, "gbnf")


def test_the_dialect_may_be_named_forge() -> None:
    assert for_engine("sglang", TOOLS, dialect="forge") == for_engine("sglang", TOOLS)


@with_marks
def test_a_lazy_grammar_waits_for_the_mark_of_the_dialect(dialect: str) -> None:
    fields = for_engine("llama.cpp", TOOLS, dialect=dialect, lazy=True)
    assert fields["grammar_triggers"] == [{"type": 1, "value": form_of(dialect).opener}]
    assert fields["preserved_tokens"] == [form_of(dialect).opener]
    assert fields["grammar"] == build_grammar(TOOLS, "gbnf", dialect=dialect, lazy=True)


def test_custom_tools_have_no_dialect() -> None:
    with pytest.raises(XMLToolsError, match="dialect: openai-custom-tool has a grammar for the arguments"):
        for_engine("openai-custom-tool", TOOLS, dialect="glm")


# Time


LINES = 60
DIFF = "".join(f"-    total += prices[{n}] & 0xff\n+    if total < {n}:\n" for n in range(LINES))
PROSE = "Each line of the file is read once, and compared with the one before. " * 30
AT_MOST = 50


@every_dialect
@every_format
@pytest.mark.no_cover
def test_masks_along_a_long_value_cost_no_more_than_some_in_prose(dialect: str, format: str) -> None:
    judged = judge(SAMPLE_TOOLS, dialect, format)
    text = call(dialect, "apply_diff", {"path": "a.py", "diff": DIFF})
    assert median(judged.mask_times(text)) < AT_MOST * median(judged.mask_times(PROSE))


@pytest.mark.parametrize("format", ["gbnf", "structural_tag"])
def test_an_optional_argument_whose_name_takes_two_literals_is_left_out_whole(format: str) -> None:
    schema = {"type": "object", "properties": {"größe": {"const": "abc"}}}
    engine = judge([Tool(name="t", parameters=schema)], "hermes", format, white_space=0)
    written = '<tool_call>{{"name":"t","arguments":{{{}}}}}</tool_call>'
    assert engine.accepts(written.format(""))
    assert engine.accepts(written.format('"größe":"abc"'))
    assert not engine.accepts(written.format('"größ'))
