"""The prompt in other dialects than Forge's: the list of tools as the chat template has it, an example, the options."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.written import WRITTEN

from xmltools.errors import XMLToolsError
from xmltools.models import Conversation
from xmltools.parser import parse
from xmltools.render import ENGLISH, render_instructions
from xmltools.tools import Tool

PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file.\nIn UTF-8.", "title": "Path"},
        "description": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "deep": {"type": "array", "items": {"$ref": "#/$defs/deep"}},
    },
    "required": ["path"],
    "$defs": {"deep": {"type": "object", "properties": {"title": {"type": "integer", "description": "How deep."}}}},
}
TOOLS = [Tool(name="read", description="Read a file.\nAll of it.", parameters=PARAMETERS), Tool(name="ping")]
every_dialect = pytest.mark.parametrize("dialect", WRITTEN)


def told(prompt: str, opener: str) -> list[str]:
    return [line for line in prompt.splitlines() if line.startswith(opener)]


@every_dialect
@pytest.mark.parametrize("style", ["full", "compact"])
def test_one_example_call_is_right_and_nothing_else_is_a_call(dialect: str, style: Any) -> None:
    prompt = render_instructions(TOOLS, dialect=dialect, style=style)
    if dialect in ("llama3_json", "pythonic"):  # a call counts only where a reply begins
        prompt = prompt.partition("Example:\n")[2].partition("\n\n")[0]
    reply = parse(prompt, TOOLS, dialect=dialect)
    assert [(call.name, call.clean) for call in reply.calls] == [("read", True)]
    assert not reply.errors
    prompt = render_instructions(TOOLS, dialect=dialect, style=style)
    assert prompt == render_instructions(TOOLS, dialect=dialect, style=style)
    assert "read" in prompt and "ping" in prompt and "Read a file." in prompt


def test_definitions_are_json_as_they_are():
    first = told(render_instructions(TOOLS, dialect="hermes"), '{"type"')[0]
    definition = {"name": "read", "description": TOOLS[0].description, "parameters": PARAMETERS}
    assert json.loads(first) == {"type": "function", "function": definition}
    first = told(render_instructions(TOOLS, dialect="minimax_m2"), "<tool>{")[0]
    assert json.loads(first.removeprefix("<tool>").removesuffix("</tool>")) == definition
    prompt = render_instructions(TOOLS, dialect="mistral")
    listed = prompt[prompt.index("[AVAILABLE_TOOLS]") + 17 : prompt.index("[/AVAILABLE_TOOLS]")]
    assert [each["function"]["name"] for each in json.loads(listed)] == ["read", "ping"]


def test_the_compact_style_leaves_out_what_is_said_of_arguments():
    first = told(render_instructions(TOOLS, dialect="hermes", style="compact"), '{"type"')[0]
    said = json.loads(first)["function"]
    assert said["description"] == "Read a file. All of it."
    assert said["parameters"] == {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "description": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "deep": {"type": "array", "items": {"$ref": "#/$defs/deep"}},
        },
        "required": ["path"],
        "$defs": {"deep": {"type": "object", "properties": {"title": {"type": "integer"}}}},
    }


def test_qwen3_coder_lists_tools_as_elements():
    prompt = render_instructions(TOOLS, dialect="qwen3_coder")
    assert (
        "<tools>\n<function>\n<name>read</name>\n<description>Read a file.\n  All of it.</description>\n<parameters>\n"
        "<parameter>\n<name>path</name>\n<type>string</type>\n<description>The file.\n  In UTF-8.</description>\n"
        "<title>Path</title>\n</parameter>\n<parameter>\n<name>description</name>\n<type>string</type>\n"
        '<enum>["a", "b"]</enum>\n<default>a</default>\n</parameter>\n'
    ) in prompt
    assert '<required>["path"]</required>\n' in prompt
    assert prompt.endswith("<function>\n<name>ping</name>\n<parameters>\n</parameters>\n</function>\n</tools>")
    odd = Tool(name="f", parameters={"properties": {"a": {"x y": 1, "type": "string"}}})
    assert '<schema>{"x y": 1, "type": "string"}</schema>' in render_instructions([odd], dialect="qwen3_coder")


def test_deepseek_lists_tools_under_headings():
    prompt = render_instructions(TOOLS, dialect="deepseek_v3")
    assert "### read\nDescription: Read a file.\n  All of it.\n\nParameters: {" in prompt
    assert prompt.endswith('### ping\n\nParameters: {"type": "object", "properties": {}}')


def test_gpt_oss_is_told_of_types():
    prompt = render_instructions(TOOLS, dialect="harmony")
    assert (
        "namespace functions {\n\n// Read a file.\n// All of it.\ntype read = (_: {\n"
        "// The file.\n// In UTF-8.\npath: string,\n"
    ) in prompt
    assert prompt.endswith("type ping = (_: {\n}) => any;\n\n} // namespace functions")


def test_gemma_is_told_of_declarations():
    prompt = render_instructions(TOOLS[1:], dialect="gemma")
    assert prompt.endswith('<|tool>declaration:ping{parameters:{type:<|"|>OBJECT<|"|>,properties:{}}}<tool|>')


@every_dialect
def test_each_option_adds_its_sentence(dialect: str) -> None:
    plain = render_instructions(TOOLS, dialect=dialect)
    assert "several calls" in plain
    single = render_instructions(TOOLS, dialect=dialect, parallel_tool_calls=False)
    assert "at most one call" in single and "several" not in single
    assert "must call a tool" in render_instructions(TOOLS, dialect=dialect, tool_choice="required")
    assert "inside <plan> and </plan>" in render_instructions(TOOLS, dialect=dialect, reasoning_tag="plan")
    assert render_instructions(TOOLS, dialect=dialect, preamble="Hello.\n") == f"Hello.\n\n{plain}"
    assert render_instructions([], dialect=dialect, preamble="Hello.") == "Hello."
    turns = Conversation().user("Go.").assistant("I go.").messages
    assert render_instructions(TOOLS, dialect=dialect, turns=turns).endswith("User:\nGo.\n\nAssistant:\nI go.")


def test_sentences_of_your_own_stay_and_those_on_forges_notation_do_not():
    wording = replace(ENGLISH, heading="# What you can do", intro="Call tools so:", names="")
    prompt = render_instructions(TOOLS, dialect="glm", wording=wording)
    assert prompt.startswith("# What you can do\n\nCall tools so:\n\n- Write text")
    for dialect in WRITTEN:
        prompt = render_instructions(TOOLS, dialect=dialect)
        assert "tool_name" not in prompt and "<arguments>" not in prompt


def test_misuse_is_refused():
    for options in ({"server_names": True}, {"bracket_reasoning": True}):
        with pytest.raises(XMLToolsError, match="only calls in the dialect 'forge' have that, not those in 'glm'"):
            render_instructions(TOOLS, dialect="glm", **options)
    there = [TOOLS[1], TOOLS[1].model_copy(update={"server": "disk"})]
    with pytest.raises(
        XMLToolsError, match="two tools are named 'ping', on 'local' and 'disk': calls in the dialect 'glm'"
    ):
        render_instructions(there, dialect="glm")
    assert render_instructions(there)
    with pytest.raises(XMLToolsError, match=r"the call of 'a\(b' can't be written in the dialect 'glm'"):
        render_instructions([Tool(name="a(b")], dialect="glm")
    with pytest.raises(XMLToolsError, match="its name holds a mark with which calls or turns begin; rename it"):
        render_instructions([Tool(name="[TOOL_CALLS]x")], dialect="hermes")
    with pytest.raises(XMLToolsError, match="not known how they are written"):
        render_instructions(TOOLS, dialect="apertus")


def test_gemmas_types_are_in_capitals_and_data_stays() -> None:
    kind = {"type": "object", "default": {"type": "plain"}, "properties": {"type": {"type": "string"}}}
    tool = Tool(name="get", parameters={"type": "object", "properties": {"kind": kind}})
    text = render_instructions([tool], dialect="gemma")
    assert 'default:{type:<|"|>plain<|"|>}' in text
    assert 'properties:{type:{type:<|"|>STRING<|"|>}}' in text
