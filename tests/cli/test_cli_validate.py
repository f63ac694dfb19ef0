"""`xmltools validate` and `xmltools explain`: what they print, where, and with which exit status."""

import json
import re
import shlex
import subprocess
import sys

import pytest

from xmltools import Tool, ToolCall, __version__, render_call
from xmltools.batch.rows import ROW_CODES
from xmltools.cli.commands import COMMANDS
from xmltools.cli.validate import _FORMATS
from xmltools.lint import CODES, FORMATS, explain

ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
}
GOOD = render_call(ToolCall(id="", name="add", arguments={"a": 1}), Tool.load(ADD))
MENDED = GOOD.replace("<a>1", "<a>+1")
WRONG = GOOD.replace("<a>1", "<a>one")
WELL_FORMED = "well formed; names and arguments are checked with --tools"
PLACED = re.compile(r"^[^ :]+:[0-9]+:[0-9]+: (?:error|warning): ([a-z_]+): ", re.MULTILINE)


@pytest.fixture
def run(run, file):
    """Run `validate`, or another command, beside a file of tools."""
    file("t.json", [ADD])
    return lambda *arguments, stdin=b"", command="validate": run(command, *arguments, stdin=stdin)


def test_valid_calls_print_nothing_but_a_summary(run, file):
    assert run(file("a.txt", f"I add.\n\n{GOOD}\n"), "--tools", "t.json") == (0, "", "The call is valid\n")
    files = [file(name, f"{GOOD}\n\n{GOOD}") for name in ("a.txt", "b.txt")]
    assert run(*files, "--tools", "t.json", "--strict") == (0, "", "All 4 calls are valid\n")
    assert run(file("c.txt", "a word")) == (0, "", "No calls found\n")


def test_patterns_that_are_not_checked_are_named(run, file):
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": "string", "pattern": r"(a)\1"}}}}
    status, _, err = run(file("a.txt", "a word"), "--tools", file("odd.json", [tool]))
    assert status == 0
    assert "odd.json: tool 'f': #/properties/a/pattern: the pattern '(a)\\\\1' is not checked" in err


def test_an_error_is_status_1_and_is_shown_in_its_line(run, file):
    status, out, err = run(file("a.txt", f"é\n{WRONG}"), "--tools", "t.json")
    place, line, mark, hint = out.rstrip("\n").split("\n")
    assert status == 1 and place == "a.txt:5:3: error: invalid_arguments: a: expected integer, got 'one'"
    assert (line, mark) == ("      <a>one</a>", "      ^")
    assert hint == f"    hint: {CODES['invalid_arguments'].hint}"
    assert err == "Found 1 problem in 1 file\n"


def test_warnings_alone_are_status_0_unless_strict(run, file):
    name = file("a.txt", MENDED)
    status, out, err = run(name, "--tools", "t.json")
    assert (status, PLACED.findall(out)) == (0, ["coerced_value"])
    assert err == "Found 1 problem in 1 file (0 errors, 1 warning)\n"
    status, out, err = run(name, "--tools", "t.json", "--strict")
    assert (status, PLACED.findall(out), err) == (1, ["coerced_value"], "Found 1 problem in 1 file\n")


def test_several_files_are_checked_in_their_order(run, file):
    names = [file("b.txt", WRONG + MENDED), file("a.txt", GOOD), file("c.txt", WRONG)]
    status, out, err = run(*names, "--tools", "t.json")
    assert status == 1 and [line[0] for line in out.split("\n") if PLACED.match(line)] == ["b", "b", "c"]
    assert err == "Found 3 problems in 2 files (2 errors, 1 warning)\n"


def test_without_tools_the_arguments_are_of_any_type(run, file):
    assert run(file("a.txt", WRONG)) == (0, "", f"The call is {WELL_FORMED}\n")
    assert run(file("a.txt", WRONG + WRONG)) == (0, "", f"All 2 calls are {WELL_FORMED}\n")


def test_json_that_holds_calls_is_not_passed_over_in_silence(run, file):
    name = file("history.json", json.dumps([{"role": "assistant", "content": GOOD}], indent=2))
    status, out, err = run(name)
    assert (status, out) == (0, "") and err.split("\n")[1:] == ["No calls found", ""]
    assert err.startswith("xmltools: history.json: looks like JSON")
    assert run(file("a.txt", "[I think so.]"))[2] == "No calls found\n"


def test_json_lines_whose_escapes_are_errors_are_not_passed_over_in_silence(run, file):
    hermes = '<tool_call>{"name": "get", "arguments": {"n": 1}}</tool_call>'
    name = file("replies.jsonl", 2 * (json.dumps({"reply": hermes}) + "\n"))
    status, _, err = run(name, "--dialect", "hermes")
    assert status == 1 and err.startswith("xmltools: replies.jsonl: looks like JSON") and "xmltools batch" in err


def test_a_wrong_call_that_is_json_is_no_file_of_json(run, file):
    name = file("a.txt", '{"name": "add", "parameters": {"a": "x"}}')
    status, _, err = run(name, "--dialect", "llama3_json", "--tools", "t.json")
    assert status == 1 and "looks like JSON" not in err


def test_standard_input_is_a_file(run):
    status, out, _ = run("-", "--tools", "t.json", stdin=WRONG.encode())
    assert status == 1 and out.startswith("-:4:3: error: invalid_arguments: ")


def test_json_is_one_list_and_sarif_one_log(run, file):
    names = [file("a.txt", WRONG), file("b.txt", MENDED)]
    found = json.loads(run(*names, "--tools", "t.json", "--format", "json")[1])
    assert [(each["source"], each["code"]) for each in found] == [
        ("a.txt", "invalid_arguments"),
        ("b.txt", "coerced_value"),
    ]
    log = json.loads(run(*names, "--tools", "t.json", "--format", "sarif")[1])
    assert [each["level"] for each in log["runs"][0]["results"]] == ["error", "warning"]
    assert log["runs"][0]["tool"]["driver"]["version"] == __version__


def test_github_gets_annotations(run, file):
    status, out, _ = run(file("a.txt", WRONG), "--tools", "t.json", "--format", "github")
    assert status == 1 and out.startswith("::error file=a.txt,line=4,col=3,title=invalid_arguments::a: expected")
    assert out.count("\n") == 1


@pytest.mark.parametrize("format", FORMATS)
def test_a_terminal_is_not_steered(run, file, format):
    name = file("a.txt", GOOD.replace("<a>1", "<a>\x1b[2Jx\x07\r\n::error::x").replace("add", "add\x9b2J"))
    _, out, err = run(name, "--format", format)
    shown = out + err
    assert not {"\x1b", "\x07", "\r", "\x9b"} & set(shown) and "\n::" not in shown


def test_statistics_count_by_code(run, file):
    name = file("a.txt", MENDED + WRONG + MENDED)
    status, out, err = run(name, "--tools", "t.json", "--statistics")
    assert status == 1 and [line.split()[:2] for line in out.splitlines()] == [
        ["2", "coerced_value"],
        ["1", "invalid_arguments"],
    ]
    assert err == "Found 3 problems in 1 file (1 error, 2 warnings)\n"
    counted = json.loads(run(name, "--tools", "t.json", "--statistics", "--format", "json")[1])
    assert counted == [{"code": "coerced_value", "count": 2}, {"code": "invalid_arguments", "count": 1}]


def test_a_file_that_is_no_text_is_named_and_the_others_are_checked(run, file):
    names = [file("a.txt", b"\xff"), file("b.txt", GOOD)]
    status, out, err = run(*names)
    assert (status, out) == (1, "")
    first, last = err.splitlines()
    assert (
        first.startswith("xmltools: a.txt: expected UTF-8, got the byte 0xff at 0; ")
        and last == f"The call is {WELL_FORMED}"
    )
    _, _, err = run(names[0])
    assert "No calls found" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: FILE"),
        (["a.txt", "--tool", "t.json"], "xmltools validate: unrecognized arguments: --tool t.json"),
        (["a.txt", "--format", "xml"], "invalid choice: 'xml'"),
        (["none.txt"], "none.txt: No such file or directory"),
        (["a.txt", "--tools", ""], ": Is a directory"),
        (["a.txt", "--tools", "none.json"], "none.json: No such file or directory"),
        (["-", "-"], "only one of the FILEs and --tools can be standard input"),
        (["-", "--tools", "-"], "only one of the FILEs and --tools can be standard input"),
        (["a.txt", "--statistics", "--format", "sarif"], "--statistics: expected --format text or json, got sarif"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(run, file, arguments, said):
    file("a.txt", GOOD)
    status, out, err = run(*arguments)
    assert (status, out) == (2, "") and err.count("\n") == 1 and said in err


def test_the_example_in_the_help_is_right(run, file, tmp_path):
    example = shlex.split(COMMANDS["validate"].example)
    file(example[2], GOOD)
    (tmp_path / "t.json").rename(tmp_path / example[-1])
    assert example[:2] == ["xmltools", "validate"]
    assert run(*example[2:]) == (0, "", "The call is valid\n")


# Explaining


def test_a_code_is_explained_in_the_dialect_of_a_model(run):
    status, out, err = run("truncated", "--model", "Qwen/Qwen3-8B", command="explain")
    assert (status, out.rstrip("\n"), err) == (0, explain("truncated", "hermes"), "")
    status, out, err = run("truncated", "--dialect", "hermez", command="explain")
    assert (status, out) == (2, "") and "did you mean 'hermes'" in err


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_explained(run, code):
    status, out, err = run(code, command="explain")
    assert (status, err) == (0, "") and out.split("\n")[:3] == explain(code).split("\n")[:3]
    assert "\x1b" not in out


def test_without_a_code_all_are_listed_with_their_hints(run):
    status, out, err = run(command="explain")
    listed = [line.split(maxsplit=1) for line in out.split("\n") if line.startswith("  ")]
    assert (status, err) == (0, "") and listed == [
        *([code, entry.hint] for code, entry in CODES.items()),
        *([code, hint] for code, hint in ROW_CODES.items()),
    ]


@pytest.mark.parametrize("code", ROW_CODES)
def test_a_code_of_rows_in_batches_is_explained(run, code):
    status, out, err = run(code, command="explain")
    assert (status, err) == (0, "") and "a batch could not read the row" in out and ROW_CODES[code] in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bare_ampersant"], "there is no code 'bare_ampersant'; did you mean bare_ampersand?"),
        (["Bare-Ampersand"], "there is no code 'Bare-Ampersand'; did you mean bare_ampersand?"),
        (["json_trailing"], "there is no code 'json_trailing'; did you mean json_trailing_comma?"),
        (["x"], "there is no code 'x'; xmltools explain lists all codes"),
        (["a\x1b\nb" * 999], "there is no code 'a\\x1b\\nb"),
        (["truncated", "unknown_tool"], "xmltools explain: unrecognized arguments: unknown_tool"),
    ],
)
def test_what_is_no_code_is_one_line_and_status_2(run, arguments, said):
    status, out, err = run(*arguments, command="explain")
    assert (status, out) == (2, "") and err.count("\n") == 1 and said in err and len(err) < 200


# Loading


def test_the_other_commands_do_not_pay_for_it():
    program = (
        "import sys, xmltools.cli.validate; print(sorted({'lxml', 'defusedxml', 'xmltools.lint'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "[]"
    assert FORMATS == _FORMATS
