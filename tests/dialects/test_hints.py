"""Hints are in the words of the dialect in which the model writes."""

from __future__ import annotations

import re

import pytest

from xmltools import ToolCall, parse, render_call
from xmltools.dialects import FORGE, all, hint_of, named
from xmltools.errors import Code
from xmltools.tools import Tool

TOOLS = [Tool(name="get", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})]
OTHERS = [dialect for dialect in all() if dialect is not FORGE]


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
def test_no_hint_has_words_of_forge(dialect):
    only_forges = {Code.ARGUMENT_TAG, Code.ARGUMENTS_TAG, Code.NAME_TAG, Code.BARE_NAME, Code.CHAT_TOKEN, Code.TAG_CASE}
    only_forges |= {Code.ATTRIBUTE_SYNTAX, Code.ATTRIBUTE_VALUE, Code.NOT_XML_NAME, Code.CDATA_CASE, Code.MIXED_CONTENT}
    for code in set(Code) - only_forges:
        hint = hint_of(code, dialect)
        hint = hint.replace(dialect.form, "")
        words = ("tool_name", "server_name", "<arguments>") if not dialect.tool_name else ()  # or they are its own
        assert not any(word in hint for word in ("<tool>", "</tool>", *words)), code


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
def test_a_call_that_was_cut_off_gets_the_form_of_its_dialect(dialect):
    cut = dialect.example.rindex("1")
    (error,) = parse(dialect.example[: cut + 1], TOOLS, dialect=dialect).errors
    assert error.code is Code.TRUNCATED and any(form.form in error.hint for form in dialect.forms)


@pytest.mark.parametrize("dialect", OTHERS, ids=lambda dialect: dialect.name)
def test_the_form_is_that_of_a_call(dialect):
    """With the words of the form in place of names and values."""
    (call,) = parse(
        dialect.form.replace("tool name", "get")
        .replace("server name", "local")
        .replace(": value", ': "value"')
        .replace("key=value)", "key='value')"),
        TOOLS,
        dialect=dialect,
    ).calls
    assert (call.name, call.arguments, call.clean) == ("get", {"key": "value"}, True)


def test_forges_hints_are_those_of_the_codes():
    assert {code: hint_of(code, FORGE) for code in Code} == {code: code.hint for code in Code}


@pytest.mark.parametrize(("dialect", "is_named"), [("forge", True), ("hermes", False), ("qwen3_coder", False)])
def test_a_hint_asks_for_a_server_only_where_a_call_can_name_one(dialect: str, is_named: bool) -> None:
    tools = [Tool(name="get", server=server, parameters={}) for server in ("one", "two")]
    text = {"forge": "<tool><tool_name>get</tool_name></tool>"}.get(dialect) or named(dialect).example
    (error,) = parse(text, tools, dialect=dialect).errors
    assert error.code is Code.UNKNOWN_TOOL
    assert ("<server_name>" in error.hint) is is_named
    assert "two" in error.hint or "Several servers" in error.hint


MARKED = [dialect for dialect in OTHERS if dialect.pairs is not None and dialect.pairs.kind]


@pytest.mark.parametrize("dialect", MARKED, ids=lambda dialect: dialect.name)
def test_the_form_of_a_dialect_that_marks_text_as_such_marks_its_value_as_text(dialect):
    (call,) = parse(dialect.form.replace("tool name", "get").replace("value", "[1]"), TOOLS, dialect=dialect).calls
    assert (call.arguments, call.clean) == ({"key": "[1]"}, True)


@pytest.mark.parametrize(
    "name",
    [
        "qwen3_coder",
        "glm",
        "minimax_m2",
        "invoke",
        "seed_oss",
        "mimo",
        "iquest_q1",
        "hunyuan",
        "minicpm5",
        "k2_horizon",
        "muse",
        "solar_open2",
        "hermes",
        "internlm2",
        "gigachat3",
        "llama3_json",
        "pythonic",
        "lfm2",
    ],
)
def test_the_form_is_the_example_with_words_in_place_of_names_and_values(name):
    dialect = named(name)
    written = dialect.form.replace("tool name", "get")
    for word, meant in (("key", "n"), ("value", "1")):
        written = re.sub(rf"(?<=[>=(\" ]){word}(?=[<>=)}}\"])", meant, written)
    assert written == dialect.example


@pytest.mark.parametrize("dialect", MARKED, ids=lambda dialect: dialect.name)
def test_the_form_marks_text_as_calls_that_are_written_do(dialect):
    call = ToolCall(id="call_1", name="get", arguments={"key": "value"})
    mark = re.compile(rf'\b{dialect.pairs.kind}="\w+"')
    assert mark.findall(dialect.form) == mark.findall(render_call(call, dialect=dialect))


@pytest.mark.parametrize("name", sorted(dialect.name for dialect in all()))
def test_a_call_names_the_dialect_by_the_name_under_which_that_is_known(name):
    (call,) = parse(named(name).example, TOOLS, dialect=name).calls
    assert call.dialect == name
