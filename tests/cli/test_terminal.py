"""On a terminal, lines end between words: the wrapper, and what all commands print."""

import json
import re
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.terminal import shown

from xmltools.cli.commands import COMMANDS
from xmltools.terminal import Wrapper, cells, columns_of, wrapped

XMLTOOLS = [sys.executable, "-m", "xmltools"]
TEXTS = st.text(st.sampled_from("aab .\n -/\u6587\u0301"), max_size=120)
TOOL = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
ODD = {"name": "odd", "parameters": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?=x)y"}}}}
REPLY = (
    "<think>I have to look into the file before anything else is done, since nobody knows what it holds.</think>\n"
    "I'll read it at first; if everything is as the documentation says, the diff is applied.\n\n"
    "<tool><tool_name>add</tool_name><arguments><a>+1</a></arguments></tool>\n"
    '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>\n'
    "<tool><tool_name>ad</tool_name></tool>\n"
    "<tool><tool_name>add</tool_name><arguments><a>one of the words that are no whole number</a></arguments></tool>"
)
HISTORY = [{"role": "assistant", "content": None, "reasoning_content": "why", "refusal": "it is not allowed"}]


# --- the wrapper ---


def test_lines_go_on_where_their_line_begins():
    text = "  hint: one two three\nfour five six seven"
    assert wrapped(text, 14) == "  hint: one\n  two three\nfour five six\nseven"
    assert wrapped("a: one two three", 12, "  ") == "a: one two\n  three"
    assert wrapped(text, None) == text


def test_long_words_and_commands_to_copy_are_left_to_the_terminal():
    url = "https://example.org/a/long/path"
    assert wrapped(f"see {url} for more", 20) == f"see\n{url}\nfor more"
    command = "pip install -e '/work/xmltools[batch]'"
    assert wrapped(f"it needs jinja2: {command}", 20) == f"it needs jinja2:\n{command}"


def test_a_word_that_fits_is_not_broken_for_its_indentation():
    assert wrapped("name a/path/of/16/cells", 20, " " * 8) == "name\n  a/path/of/16/cells"


@given(TEXTS, st.integers(1, 30))
@example("\u0301 a", 1)  # an accent alone takes no column
def test_words_stay_whole_and_in_order(text, width):
    result = wrapped(text, width)
    assert result.split() == text.split()
    for line in result.split("\n"):
        if cells(line.rstrip()) > width:
            assert len(line.split()) == 1 or cells(line.split()[0]) >= width or line[:1] == " "


@given(st.lists(TEXTS), st.integers(10, 30))
@example(["a aaaaa", "aaaaaaaa\u0301", "a"], 13)
def test_how_text_is_cut_makes_no_difference(pieces, width):
    wrapper = Wrapper(width, "  ")
    whole = Wrapper(width, "  ")
    text = "".join(pieces)
    cut = "".join(map(wrapper.feed, pieces)) + wrapper.flush()
    assert cut == whole.feed(text) + whole.flush()


def test_a_word_without_an_end_is_not_kept():
    wrapper = Wrapper(20)
    written = [wrapper.feed("x" * 7) for _ in range(9)]
    assert "".join(written[:3]) == "x" * 21 and written[3:] == ["x" * 7] * 6
    assert wrapper.feed(" and so on ") == "\nand so on"


def test_what_is_no_terminal_has_no_width(tmp_path):
    with (tmp_path / "file").open("w") as file:
        assert columns_of(file) is None
    assert columns_of(file) is None  # it is closed


# --- the commands ---


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "tools.json": json.dumps([TOOL]),
        "odd.json": json.dumps([ODD]),
        "reply.txt": REPLY,
        "history.json": json.dumps(HISTORY),
        "in.jsonl": json.dumps({"reply": REPLY, "model": "a", "an_id": 1}) + "\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


ASKED = [
    ["--help"],
    *([command, "--help"] for command in COMMANDS),
    ["parse", "reply.txt", "--tools", "tools.json"],
    ["validate", "reply.txt", "--tools", "tools.json"],
    ["validate", "reply.txt", "--tools", "tools.json", "--statistics"],
    ["explain"],
    ["explain", "foreign_call"],
    ["dialects"],
    ["dialects", "qwen3_coder"],
    ["dialects", "detect", "reply.txt"],
    ["grammar", "odd.json", "--output", "grammar.gbnf"],
    ["convert", "history.json", "--from", "openai", "--to", "wick"],
    ["batch", "in.jsonl", "out.jsonl", "--tools", "tools.json"],
    ["batch", "in.jsonl", "other.jsonl", "--tools", "tools.json", "--tallies", "t.json", "--by", "modle"],
    ["serve", "--demo", "--host", "192.0.2.1", "--port", "1"],
    ["conformance", "--timeout", "3"],
    ["parse", "a file that is nowhere to be found, whatever is done to find it.txt"],
    ["parse", "reply.txt", "--chunk-sizes", "five hundred characters"],
    ["explian"],
]


@pytest.mark.full
@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("arguments", ASKED, ids=" ".join)
def test_no_command_leaves_words_to_be_broken(arguments, columns, folder):
    screen = shown([*XMLTOOLS, *arguments], columns)
    assert screen.text != [""]
    for line in screen.broken:
        is_command = line.lstrip().startswith("$ ")
        beside = len(re.match(r" *(?:\S+ {2,})?", line)[0])  # where the column that the line is in begins
        longest = max(map(cells, line.split()))
        assert is_command or longest > columns - max(beside, 24 if "{" in line else 0), line


@pytest.mark.parametrize("arguments", [["explain", "truncated"], ["explian"], ["parse", "nothing.txt"]], ids=" ".join)
def test_a_terminal_shows_the_words_that_a_pipe_gets(arguments, folder):
    piped = subprocess.run([*XMLTOOLS, *arguments], capture_output=True, text=True, timeout=60)
    assert " ".join(shown([*XMLTOOLS, *arguments], 40).text).split() == (piped.stdout + piped.stderr).split()


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_marks_of_findings_point_at_their_place(columns, folder):
    (folder / "reply.txt").write_text(f"{'word ' * 20}<tool><tool_name>ad</tool_name></tool> {'and more ' * 9}")
    lines = shown([*XMLTOOLS, "validate", "reply.txt", "--tools", "tools.json"], columns).text
    mark = next(number for number, line in enumerate(lines) if line.strip() == "^")
    assert lines[mark - 1][lines[mark].index("^") :].startswith("ad<")
    assert len(lines[mark - 1]) <= columns
