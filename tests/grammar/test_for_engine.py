"""Requests to engines: each gets its grammar in the fields that it reads, and in a format that it reads."""

import json

import pytest
from openai.types.chat import ChatCompletionCustomToolParam
from openai.types.responses import CustomToolParam
from pydantic import TypeAdapter, ValidationError

from xmltools import Tool, XMLToolsError
from xmltools.grammar import build_grammar, for_engine, grammar_issues
from xmltools.grammar.engines import ENGINES, _find_way, engine_issues

ADD = Tool(
    name="add",
    description="Add two numbers.",
    parameters={
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)
WRITE = Tool(
    name="write_file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    },
    server="files",
)
TOOLS = [ADD, WRITE]
SET = Tool(
    name="set_tags",
    parameters={
        "type": "object",
        "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    },
)

GBNF = build_grammar(TOOLS, "gbnf")
TAG = build_grammar(TOOLS, "structural_tag")
LARK = build_grammar(TOOLS, "lark")
# Engines that take GBNF as well know Lark for llguidance by its first line.
MARKED = LARK if LARK.startswith("%llguidance") else "%llguidance {}\n" + LARK

REQUESTS = [
    ("vllm", {}, {"structured_outputs": {"grammar": GBNF}}),
    ("vllm", {"backend": "xgrammar", "api": "openai", "format": "gbnf"}, {"structured_outputs": {"grammar": GBNF}}),
    ("vllm", {"format": "structural_tag"}, {"structured_outputs": {"structural_tag": TAG}}),
    ("vllm", {"backend": "guidance"}, {"structured_outputs": {"grammar": MARKED}}),
    ("vllm", {"api": "python"}, {"grammar": GBNF}),
    ("vllm", {"api": "python", "format": "structural_tag"}, {"structural_tag": TAG}),
    ("vllm", {"api": "python", "backend": "guidance"}, {"grammar": MARKED}),
    ("sglang", {}, {"ebnf": GBNF}),
    ("sglang", {"format": "structural_tag"}, {"response_format": json.loads(TAG)}),
    ("sglang", {"api": "native"}, {"ebnf": GBNF}),
    ("sglang", {"api": "native", "format": "structural_tag"}, {"structural_tag": TAG}),
    ("sglang", {"backend": "llguidance"}, {"ebnf": MARKED}),
    ("sglang", {"backend": "llguidance", "api": "native"}, {"ebnf": MARKED}),
    ("llama.cpp", {}, {"grammar": GBNF}),
    ("llama.cpp", {"api": "native"}, {"grammar": GBNF}),
    ("llama.cpp", {"backend": "llguidance"}, {"grammar": MARKED}),
    ("llama.cpp", {"backend": "llguidance", "api": "native"}, {"grammar": MARKED}),
    ("tensorrt-llm", {}, {"response_format": {"type": "ebnf", "ebnf": GBNF}}),
    ("tensorrt-llm", {"format": "structural_tag"}, {"response_format": json.loads(TAG)}),
    ("tensorrt-llm", {"api": "python"}, {"grammar": GBNF}),
    ("tensorrt-llm", {"api": "python", "format": "structural_tag"}, {"structural_tag": TAG}),
    ("tensorrt-llm", {"backend": "llguidance"}, {"response_format": {"type": "ebnf", "ebnf": MARKED}}),
    ("tensorrt-llm", {"backend": "llguidance", "api": "python"}, {"grammar": MARKED}),
]


@pytest.mark.parametrize(("engine", "way", "fields"), REQUESTS)
def test_each_engine_gets_its_grammar_in_its_fields(engine, way, fields):
    assert for_engine(engine, TOOLS, **way) == fields


def test_no_way_is_missing_from_this_table():
    words = ("backend", "api", "format")
    tested = {(engine, _find_way(engine, *(way.get(word) for word in words))) for engine, way, _ in REQUESTS}
    for engine, ways in ENGINES.items():
        assert [way for way in ways if (engine, way) not in tested and not way.each_tool] == []


@pytest.mark.parametrize(
    ("engine", "way", "find"),
    [
        ("vllm", {}, lambda fields: fields["structured_outputs"]["grammar"]),
        ("sglang", {}, lambda fields: fields["ebnf"]),
        ("tensorrt-llm", {}, lambda fields: fields["response_format"]["ebnf"]),
        ("llama.cpp", {}, lambda fields: fields["grammar"]),
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        {"tool_choice": "required", "max_calls": 2},
        {"tool_choice": "named", "name": "add", "order": "schema"},
        {"cdata": "required", "end_tag_in_cdata": False, "white_space": 3},
        {"reasoning": "think", "starts_in_reasoning": True},
    ],
)
def test_options_are_those_of_the_grammar(engine, way, find, options):
    grammar = find(for_engine(engine, TOOLS, **way, **options))
    assert grammar == build_grammar(TOOLS, "gbnf", **options)
    assert grammar != GBNF


@pytest.mark.parametrize("engine", ENGINES)
def test_tools_may_be_one_or_come_from_a_generator(engine):
    assert for_engine(engine, (tool for tool in TOOLS)) == for_engine(engine, TOOLS)
    assert for_engine(engine, ADD) == for_engine(engine, [ADD])
    assert engine_issues(engine, SET) == engine_issues(engine, iter([SET])) != []


def test_the_fields_are_json():
    for engine, way, fields in REQUESTS:
        assert json.loads(json.dumps(for_engine(engine, TOOLS, **way))) == fields


# llama.cpp's lazy grammars


@pytest.mark.parametrize("api", ["openai", "native"])
def test_lazy_names_the_one_trigger(api):
    assert for_engine("llama.cpp", TOOLS, api=api, lazy=True) == {
        "grammar": build_grammar(TOOLS, "gbnf", lazy=True),
        "grammar_lazy": True,
        "grammar_triggers": [{"type": 1, "value": "<tool>"}],
        "preserved_tokens": ["<tool>"],
    }


def test_not_lazy_is_no_option_at_all():
    assert for_engine("llama.cpp", TOOLS, lazy=False) == for_engine("llama.cpp", TOOLS)
    assert for_engine("vllm", TOOLS, lazy=False) == for_engine("vllm", TOOLS)


def test_requests_do_not_share_what_a_caller_may_change():
    for_engine("llama.cpp", TOOLS, lazy=True)["grammar_triggers"].clear()
    assert for_engine("llama.cpp", TOOLS, lazy=True)["grammar_triggers"]


@pytest.mark.parametrize(
    ("engine", "backend"),
    [("vllm", None), ("vllm", "guidance"), ("sglang", None), ("tensorrt-llm", None), ("llama.cpp", "llguidance")],
)
def test_lazy_is_refused_where_there_are_no_triggers(engine, backend):
    with pytest.raises(XMLToolsError, match=r"lazy: .* has no triggers, only llama\.cpp"):
        for_engine(engine, TOOLS, backend=backend, lazy=True)


# OpenAI's custom tools


def definition(tool):
    return build_grammar([tool], "lark", tool_choice="arguments")


def test_each_tool_is_a_custom_tool_of_the_responses_api():
    fields = for_engine("openai-custom-tool", TOOLS)
    assert fields == {
        "tools": [
            {
                "type": "custom",
                "name": "add",
                "description": "Add two numbers.",
                "format": {"type": "grammar", "syntax": "lark", "definition": definition(ADD)},
            },
            {
                "type": "custom",
                "name": "write_file",
                "format": {"type": "grammar", "syntax": "lark", "definition": definition(WRITE)},
            },
        ]
    }
    assert valid(CustomToolParam, fields["tools"])


def test_each_tool_is_a_custom_tool_of_chat_completions():
    fields = for_engine("openai-custom-tool", TOOLS, api="chat")
    assert fields["tools"][0] == {
        "type": "custom",
        "custom": {
            "name": "add",
            "description": "Add two numbers.",
            "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": definition(ADD)}},
        },
    }
    assert valid(ChatCompletionCustomToolParam, fields["tools"])


def valid(kind, tools):
    """Whether the SDK's type takes the tools and knows each of their keys."""
    return TypeAdapter(list[kind]).validate_python(tools) == tools


def test_the_sdks_types_tell_the_two_apart():
    responses = for_engine("openai-custom-tool", TOOLS)["tools"]
    chat = for_engine("openai-custom-tool", TOOLS, api="chat")["tools"]
    for kind, tools in ((CustomToolParam, chat), (ChatCompletionCustomToolParam, responses)):
        with pytest.raises(ValidationError):
            valid(kind, tools)


def test_a_custom_tools_grammar_takes_other_options():
    (tool,) = for_engine("openai-custom-tool", [ADD], order="schema")["tools"]
    expected = build_grammar([ADD], "lark", tool_choice="arguments", order="schema")
    assert tool["format"]["definition"] == expected != definition(ADD)


@pytest.mark.parametrize("option", [{"tool_choice": "required"}, {"name": "add"}, {"reasoning": "think"}])
def test_what_stands_around_arguments_is_no_option_of_custom_tools(option):
    with pytest.raises(
        XMLToolsError, match=f"{next(iter(option))}: openai-custom-tool has a grammar for the arguments"
    ):
        for_engine("openai-custom-tool", TOOLS, **option)


def test_two_custom_tools_of_one_name_are_refused():
    with pytest.raises(XMLToolsError, match="one tool of each name, got 'add' on the servers 'local' and 'other'"):
        for_engine("openai-custom-tool", [ADD, ADD.model_copy(update={"server": "other"})])


# Mistakes


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("tools", "said"), [([], "at least one tool"), ([{"name": "add"}], "expected xmltools.Tool, got dict")]
)
def test_what_is_no_list_of_tools_is_refused(engine, tools, said):
    for make in (for_engine, engine_issues):
        with pytest.raises(XMLToolsError, match=said):
            make(engine, tools)


@pytest.mark.parametrize(
    ("engine", "way", "said"),
    [
        ("ollama", {}, "engine: expected 'vllm', 'sglang', 'llama.cpp', 'tensorrt-llm' or 'openai-custom-tool', got "),
        ("vllm", {"backend": "outlines"}, "backend: expected 'xgrammar' or 'guidance' for vllm, got 'outlines'"),
        ("vllm", {"api": "native"}, "api: expected 'openai' or 'python' for vllm, backend xgrammar, got 'native'"),
        (
            "vllm",
            {"backend": "guidance", "format": "gbnf"},
            "format: expected 'lark' for vllm, backend guidance, api openai, got 'gbnf'",
        ),
        ("sglang", {"format": "lark"}, "format: expected 'gbnf' or 'structural_tag' for sglang, backend xgrammar"),
        ("llama.cpp", {"format": "structural_tag"}, "format: expected 'gbnf' for llama.cpp"),
        ("tensorrt-llm", {"backend": "guidance"}, "backend: expected 'xgrammar' or 'llguidance' for tensorrt-llm"),
        ("openai-custom-tool", {"api": "openai"}, "api: expected 'responses' or 'chat' for openai-custom-tool, got "),
        ("openai-custom-tool", {"format": "regex"}, "format: expected 'lark' for openai-custom-tool, api responses"),
    ],
)
def test_what_there_is_not_is_named_with_what_there_is(engine, way, said):
    for make in (for_engine, engine_issues):
        with pytest.raises(XMLToolsError) as raised:
            make(engine, TOOLS, **way)
        assert str(raised.value).startswith(said)


def test_an_option_that_no_grammar_has_is_refused():
    with pytest.raises(XMLToolsError, match="colour"):
        for_engine("vllm", TOOLS, colour="red")


# Issues


@pytest.mark.parametrize("engine", ENGINES)
def test_issues_are_those_of_the_grammar_that_is_sent(engine):
    format = ENGINES[engine][0].format
    found = engine_issues(engine, [ADD, SET])
    assert found == grammar_issues([ADD, SET], format)
    assert [(issue.tool, issue.keyword) for issue in found] == [("set_tags", "uniqueItems")]
    assert engine_issues(engine, [ADD]) == []
