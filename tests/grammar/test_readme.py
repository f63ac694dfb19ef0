"""The README of the grammars: its snippets are Python, its calls are taken, its table and links are right."""

import ast
import re
from pathlib import Path

import openai
import pytest
from openai.types.responses import ResponseCustomToolCall

import xmltools as xt
import xmltools.grammar
from xmltools.grammar.engines import ENGINES

FOLDER = Path(__file__).parents[2] / "grammars"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
TABLE = [[cell.strip() for cell in line.split("|")[1:-1]] for line in README.splitlines() if line.startswith("|")]


def search(pattern: str, folder: str = ".", limit: int = 20) -> str:
    """Search files."""
    raise AssertionError("called")


TOOLS = [xt.Tool.of(search)]
BUILDERS = ("build_grammar", "for_engine", "grammar_issues")


def calls_in(code):
    """The calls of our functions in some code: name, further positional arguments and keyword arguments."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BUILDERS:
            values = [TOOLS if ast.unparse(arg) == "tools" else ast.literal_eval(arg) for arg in node.args]
            yield node.func.id, values, {word.arg: ast.literal_eval(word.value) for word in node.keywords}


SPANS = re.findall(r"`((?:build_grammar|for_engine)\([^`]*\))`", README)
CALLS = [call for code in (*PYTHON, *SPANS) for call in calls_in(code)]


@pytest.mark.parametrize("code", PYTHON)
def test_each_snippet_is_python(code):
    compile(code, "README.md", "exec")


def test_the_first_snippet_runs(capsys):
    exec(compile(PYTHON[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("name", "values", "words"), CALLS, ids=[f"{call[0]}-{n}" for n, call in enumerate(CALLS)])
def test_each_call_in_a_snippet_gives_something(name, values, words):
    result = getattr(xmltools.grammar, name)(*values, **words)
    assert result or name == "grammar_issues"


def test_there_is_a_snippet_for_every_engine_and_a_row_for_every_way():
    engines = {values[0] for name, values, _ in CALLS if name == "for_engine"}
    assert engines == set(ENGINES)
    rows = [row for row in TABLE if len(row) == 4]
    for engine, ways in ENGINES.items():
        for way in ways:
            found = [row for row in rows if f'"{engine}"' in row[3] and f"`{way.backend}`" in row[1]]
            assert len(found) == 1 and f"`{way.format}`" in found[0][2], (engine, way)


def test_each_call_in_the_table_asks_for_the_backend_of_its_row():
    for _, backends, formats, arguments in (row for row in TABLE if len(row) == 4 and row[3].startswith('`"')):
        ((_, values, words),) = calls_in(f"for_engine({arguments.strip('`')})")
        usual = ENGINES[values[0]][0].backend
        assert f"`{words.get('backend', usual)}`" in backends
        for format in re.findall("`(.*?)`", formats):
            assert xmltools.grammar.for_engine(values[0], TOOLS, format=format, **words)


# Options of build_grammar, each with what it needs beside it.
OPTIONS = sorted(set(re.findall(r"`((?!api)\w+=[^`(]*)`", README)))
BESIDE = {"starts_in_reasoning=True": {"reasoning": "think"}}


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_that_is_named_is_one(option):
    ((_, _, words),) = calls_in(f"build_grammar(tools, 'gbnf', {option})")
    assert xmltools.grammar.build_grammar(TOOLS, "gbnf", **words, **BESIDE.get(option, {}))


def test_files_that_it_names_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (FOLDER / target).exists(), target


def test_the_input_of_a_custom_tool_is_read_as_a_call(monkeypatch):
    (code,) = [code for code in PYTHON if "custom_tool_call" in code]
    tool = xt.Tool(name="add", server="maths", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
    call = ResponseCustomToolCall(type="custom_tool_call", call_id="c1", name="add", input="\n  <a>5</a>\n")
    requests = []

    class Client:
        @property
        def responses(self):
            return self

        def create(self, **request):
            requests.append(request)
            return type("Response", (), {"output": [call]})

    monkeypatch.setattr(openai, "OpenAI", Client)
    names = {"tools": [tool], "messages": [], "for_engine": xmltools.grammar.for_engine}
    exec(compile(code, "README.md", "exec"), names)
    (read,) = names["reply"].calls
    assert (read.name, read.server, read.arguments, read.clean) == ("add", "maths", {"a": 5}, True)
    assert [tool["name"] for tool in requests[0]["tools"]] == ["add"]
