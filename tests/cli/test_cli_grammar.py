"""The command `grammar`: what it prints, where it writes, and what it says of input that is wrong."""

import json
import shlex
from functools import partial

import pytest

from xmltools import Tool
from xmltools.cli.commands import COMMANDS
from xmltools.cli.grammar import _ENGINES
from xmltools.grammar import build_grammar, for_engine, grammar_issues
from xmltools.grammar.engines import ENGINES

ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}
SAY = {"name": "say", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
TAGS = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
SET = {"name": "set_tags", "parameters": {"type": "object", "properties": {"tags": TAGS}}}
TOOLS = [Tool.load(ADD), Tool.load(SAY)]


@pytest.fixture
def run(run, file):
    """Run `grammar` beside some files of tools."""
    for name, tools in (("t", [ADD, SAY]), ("one", [ADD]), ("empty", []), ("set", [SET])):
        file(f"{name}.json", tools)
    return partial(run, "grammar")


def refused(got, status, *said):
    """Assert that a command ended with `status`, one line on standard error that says all of `said`, and no output."""
    assert got[:2] == (status, "")
    assert got[2].count("\n") == 1 and got[2].startswith("xmltools")
    for words in said:
        assert words in got[2]


def printed(text):
    return text if text.endswith("\n") else text + "\n"


# What is printed


def test_it_prints_gbnf_unless_told_otherwise(run):
    assert run("t.json") == (0, printed(build_grammar(TOOLS, "gbnf")), "")


@pytest.mark.parametrize("format", ["gbnf", "lark", "structural_tag"])
def test_it_prints_the_format_that_is_asked_for(run, format):
    assert run("t.json", "--format", format) == (0, printed(build_grammar(TOOLS, format)), "")


def test_the_format_of_one_call_is_printed_too(run):
    assert run("one.json", "--format", "regex")[:2] == (0, printed(build_grammar(TOOLS[:1], "regex")))


def test_an_empty_format_is_none(run):
    assert run("t.json", "--format", "")[0] == 2


def test_it_reads_standard_input(run):
    assert run("-", stdin=json.dumps({"tools": [ADD, SAY]})) == run("t.json")


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ("--tool-choice required", {"tool_choice": "required"}),
        ("--tool-choice one", {"tool_choice": "one"}),
        ("--tool-choice named --name say", {"tool_choice": "named", "name": "say"}),
        ("--tool-choice arguments --name add", {"tool_choice": "arguments", "name": "add"}),
        ("--order schema", {"order": "schema"}),
        ("--lazy", {"lazy": True}),
        ("--max-calls 2", {"max_calls": 2}),
        ("--white-space 20", {"white_space": 20}),
        ("--white-space 0", {"white_space": 0}),
        ("--cdata required", {"cdata": "required"}),
        ("--cdata forbidden", {"cdata": "forbidden"}),
        ("--no-end-tag-in-cdata", {"end_tag_in_cdata": False}),
        ("--reasoning think", {"reasoning": "think"}),
        ("--reasoning plan --starts-in-reasoning", {"reasoning": "plan", "starts_in_reasoning": True}),
        ("--dialect glm", {"dialect": "glm"}),
        ("--dialect minimax_m2 --max-calls 2", {"dialect": "minimax_m2", "max_calls": 2}),
        ("--model Qwen/Qwen3-Coder-30B-A3B-Instruct", {"dialect": "qwen3_coder"}),
    ],
)
def test_each_option_is_one_of_build_grammar(run, arguments, options):
    expected = build_grammar(TOOLS, "gbnf", **options)
    assert expected != build_grammar(TOOLS, "gbnf")
    assert run("t.json", *arguments.split()) == (0, printed(expected), "")


@pytest.mark.parametrize(
    ("arguments", "engine", "options"),
    [
        ("--engine vllm", "vllm", {}),
        ("--engine vllm --backend guidance --order schema", "vllm", {"backend": "guidance", "order": "schema"}),
        ("--engine sglang --format structural_tag", "sglang", {"format": "structural_tag"}),
        ("--engine llama.cpp --lazy", "llama.cpp", {"lazy": True}),
        ("--engine tensorrt-llm --api python --max-calls 1", "tensorrt-llm", {"api": "python", "max_calls": 1}),
        ("--engine openai-custom-tool --api chat", "openai-custom-tool", {"api": "chat"}),
        ("--engine llama.cpp --dialect hermes --lazy", "llama.cpp", {"dialect": "hermes", "lazy": True}),
        ("--engine vllm --model zai-org/GLM-4.6", "vllm", {"dialect": "glm"}),
    ],
)
def test_with_an_engine_it_prints_the_fields_as_json(run, arguments, engine, options):
    status, out, err = run("t.json", *arguments.split())
    assert (status, json.loads(out), err) == (0, for_engine(engine, TOOLS, **options), "")


def test_it_knows_the_engines_that_there_are():
    assert tuple(ENGINES) == _ENGINES


# Where it writes


@pytest.mark.parametrize("arguments", [[], ["--engine", "sglang"]])
def test_output_is_written_to_a_file(run, tmp_path, arguments):
    expected = run("t.json", *arguments)[1]
    assert run("t.json", *arguments, "--output", "out.txt") == (0, "", "")
    assert (tmp_path / "out.txt").read_bytes() == expected.encode()


@pytest.mark.parametrize("output", ["", "no/such/folder/out.txt", "t.json/out.txt", "\0"])
def test_a_place_that_cannot_be_written_is_named(run, output):
    refused(run("t.json", "--output", output), 2, ": ")


# What it does not express


def test_what_a_grammar_does_not_express_is_noted_on_standard_error(run):
    issues = grammar_issues([Tool.load(SET)], "gbnf")
    status, out, err = run("set.json")
    assert (status, out) == (0, printed(build_grammar([Tool.load(SET)], "gbnf")))
    assert err.splitlines() == [f"note: {issue}" for issue in issues] and "uniqueItems" in err


@pytest.mark.parametrize("arguments", [[], ["--engine", "vllm"], ["--engine", "openai-custom-tool"]])
def test_check_makes_notes_an_error(run, arguments):
    status, out, err = run("set.json", *arguments)
    assert status == 0 and "note: set_tags" in err
    assert run("set.json", *arguments, "--check") == (1, out, err)
    assert run("t.json", *arguments, "--check")[0] == 0


def test_a_note_is_one_line_without_controls(run):
    properties = {"a\n\x1b[31mb": TAGS}
    tool = {"name": "set", "parameters": {"type": "object", "properties": properties}}
    err = run("-", stdin=json.dumps([tool]))[2]
    assert err.count("\n") == 1 and "\x1b" not in err


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ("t.json --format x", 2, "xmltools: --format: expected 'gbnf', 'lark', 'structural_tag' or 'regex', got 'x'\n"),
        ("t.json --format relaxng", 2, "check stored blocks with `xmltools validate` or grammars/tool.rng"),
        ("t.json --format xsd", 2, "check stored blocks with `xmltools validate` or grammars/tool.rng"),
        ("t.json --engine ollama", 2, "ollama"),
        ("t.json --backend guidance", 2, "--backend needs --engine"),
        ("t.json --api python", 2, "--api needs --engine"),
        ("t.json --max-calls 0", 2, "from 1"),
        ("t.json --white-space -1", 2, "--white-space"),
        ("t.json --white-space many", 2, "from 0"),
        ("t.json --reasoning <think>", 2, "name of an element"),
        ("t.json --tools t.json", 2, "xmltools grammar: unrecognized arguments: --tools t.json"),
        ("t.json --format lark --lazy", 2, "xmltools: --lazy: only llama.cpp waits for a trigger"),
        ("t.json --engine vllm --backend outlines", 2, "xmltools: --backend: expected 'xgrammar' or 'guidance'"),
        ("t.json --engine vllm --format lark", 2, "xmltools: --format: expected 'gbnf' or 'structural_tag'"),
        ("t.json --engine vllm --lazy", 2, "leave --lazy out"),
        ("t.json --engine openai-custom-tool --tool-choice one", 2, "leave --tool-choice out"),
        ("t.json --tool-choice named", 2, "--tool-choice 'named': give the name of the tool as --name\n"),
        ("t.json --tool-choice arguments", 2, "--tool-choice 'arguments' is about one tool: say which as --name"),
        ("t.json --tool-choice named --name max_calls", 2, "xmltools: --name: there is no tool 'max_calls'"),
        ("t.json --name add", 2, "--name: means something only with --tool-choice 'named'"),
        ("t.json --starts-in-reasoning", 2, "--starts-in-reasoning: give the tag that ends the reasoning"),
        ("t.json --tool-choice one --max-calls 3", 2, "--max-calls: with --tool-choice 'one' there is one call"),
        ("t.json --dialect qwen", 2, "xmltools: --dialect: expected the name of a dialect, got 'qwen'; did you mean"),
        ("t.json --dialect functionary", 2, "xmltools: --dialect: no grammar can be made for calls in 'functionary'"),
        ("t.json --dialect glm --model Qwen/Qwen3-8B", 2, "not allowed with argument"),
        ("t.json --model no/such", 2, "no dialect is known for the model 'no/such'"),
        (
            "t.json --dialect glm --cdata required",
            2,
            "--cdata: values in 'glm' have no CDATA sections; leave --cdata out",
        ),
        ("t.json --dialect hermes --order any", 2, "which is written in the order of the schema; leave --order out"),
        ("empty.json --engine vllm", 1, "empty.json: a grammar needs at least one tool"),
        ("none.json", 2, "none.json: No such file"),
    ],
)
def test_mistakes_are_one_line(run, arguments, status, said):
    refused(run(*arguments.split()), status, said)


@pytest.mark.parametrize("text", ["", "{", '{"name": 3}', "[[]]"])
def test_what_is_no_list_of_tools_is_refused(run, text):
    refused(run("-", stdin=text), 1, "xmltools: -:")


def test_the_example_in_the_help_is_right(run, tmp_path):
    example = shlex.split(COMMANDS["grammar"].example)
    assert example[:2] == ["xmltools", "grammar"]
    (tmp_path / example[2]).write_text(json.dumps([ADD, SAY]), encoding="utf-8")
    assert run(*example[2:])[0] == 0
