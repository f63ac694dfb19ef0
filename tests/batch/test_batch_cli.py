import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from xmltools.cli import batch as _cli_batch
from xmltools.cli.commands import COMMANDS, main

ADD = {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
BLOCK = "<tool><tool_name>add</tool_name><arguments><a>{}</a></arguments></tool>"


@pytest.fixture
def run(run, file):
    """Run `batch` in a folder of its own; returns status and standard error. Nothing is printed on standard output."""

    def batch(*arguments):
        status, out, err = run("batch", *arguments)
        assert out == ""
        return status, re.sub(r"[0-9.]+ s:", "0.0 s:", err)

    rows = [{"reply": BLOCK.format(value)} for value in ("5", "+5", "five")]
    file("in.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    file("t.json", [ADD])
    return batch


def read():
    return [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]


def test_rows_are_parsed_and_counted(run):
    assert run("in.jsonl", "out.jsonl", "--tools", "t.json") == (
        0,
        "Parsed 3 rows in 0.0 s: 2 calls (50.0% clean); 1 with errors\n"
        "  errors: invalid_arguments 1\n"
        "  repairs: coerced_value 1\n",
    )
    assert [len(row["calls"]) for row in read()] == [1, 1, 0]


def test_rows_with_errors_fail_the_run_only_if_asked(run):
    assert run("in.jsonl", "out.jsonl", "--tools", "t.json", "--fail-on-errors")[0] == 1
    assert run("in.jsonl", "out.jsonl", "--overwrite", "--fail-on-errors")[0] == 0
    status, err = run("in.jsonl", "out.jsonl", "--tools", "t.json", "--strict", "--overwrite", "--prefix", "x_")
    assert status == 0 and "2 with errors" in err and "x_text" in read()[0]


def test_messages_have_a_column_of_their_own(run):
    messages = [{"role": "assistant", "content": "<plan>" + BLOCK.format(5)}]
    Path("chats.jsonl").write_text(json.dumps({"messages": messages, "tools": [ADD]}) + "\n")
    assert run("chats.jsonl", "out.jsonl", "--messages", "--tools-column", "tools")[0] == 0
    assert read()[0]["calls"][0]["arguments"] == '{"a":5}'


def test_a_report_is_written_from_every_format(run):
    for ending in ("jsonl", "parquet", "csv", "arrow"):
        status, _ = run("in.jsonl", f"out.{ending}", "--tools", "t.json", "--report", f"{ending}.html")
        assert status == 0 and "coerced_value" in Path(f"{ending}.html").read_text()


def test_a_file_that_is_given_twice_is_read_once_and_that_is_said(run):
    status, err = run("in.jsonl", "./in.jsonl", "out.jsonl")
    assert status == 0 and "in.jsonl is given more than once, and read once" in err and "Parsed 3 rows" in err


def test_rows_without_tools_are_counted_and_take_those_that_are_given(run, file):
    rows = [{"reply": BLOCK.format("five"), "tools": own} for own in ([ADD], None, "null", "", " ")] + [{"reply": None}]
    file("own.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    status, err = run("own.jsonl", "out.jsonl", "--tools-column", "tools", "--report", "r.html")
    assert status == 0 and "4 calls" in err and "1 with errors" in err and "without tools: 4 rows" in err
    assert "4 rows have no tools" in Path("r.html").read_text("utf-8")
    status, err = run("own.jsonl", "out.jsonl", "--tools-column", "tools", "--tools", "t.json", "--overwrite")
    assert "5 with errors" in err and "without tools" not in err


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_column_that_became_json_is_named_and_the_report_marks_the_places_in_its_text(run, file, ending):
    rows = [{"reply": 'A "b"\n' + BLOCK.format("five")}, {"reply": 7}]
    file("mixed.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    status, err = run("mixed.jsonl", f"out.{ending}", "--tools", "t.json", "--report", "r.html")
    assert status == 0 and "the column 'reply' became JSON text: its values have no one type" in err
    page = Path("r.html").read_text("utf-8")
    (marked,) = re.findall('<mark class="error">(.*?)</mark>', page, re.DOTALL)
    assert unescape(marked) == BLOCK.format("five")


def test_the_report_says_what_was_run_and_its_figures_by_a_column(run, file):
    rows = [{"reply": BLOCK.format(value), "model": model} for value, model in (("5", "b"), ("+5", "a"), ("five", "a"))]
    file("models.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    options = ("--tools", "t.json", "--code-fences", "text", "--also", "hermes", "--by", "model", "--prefix", "x_")
    for ending in ("jsonl", "parquet", "csv"):
        named = ("--report", "r.html", "--tallies", f"{ending}.json")
        assert run("models.jsonl", f"out.{ending}", *options, *named)[0] == 0
        page = Path("r.html").read_text("utf-8")
        words = ("models.jsonl (", f"out.{ending} (", "t.json: add", "forge; also read: hermes", "code fences: text")
        assert all(each in page for each in words)
        totals = [each for each in json.loads(Path(f"{ending}.json").read_text("utf-8")) if each.get("name") == "rows"]
        assert [(each["group"], each["value"]) for each in totals] == [(None, 3), ("a", 2), ("b", 1)]


def test_processes_and_runs_that_go_on_have_the_same_tallies(run, file):
    rows = [{"reply": BLOCK.format(("5", "five")[n % 2]), "model": f"m{n % 3}"} for n in range(5000)]
    file("many.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    how = ("--tools", "t.json", "--by", "model")
    assert run("many.jsonl", "one.parquet", *how, "--jobs", "1", "--tallies", "one.csv")[0] == 0
    assert run("many.jsonl", "two.jsonl", *how, "--jobs", "2", "--tallies", "two.csv")[0] == 0
    assert run("many.jsonl", "two.jsonl", *how, "--resume", "--tallies", "again.csv")[0] == 0
    assert Path("one.csv").read_text() == Path("two.csv").read_text() == Path("again.csv").read_text()
    assert "value,m2,totals,,rows,,,1666" in Path("one.csv").read_text()


def test_a_column_to_tell_rows_apart_by_may_come_late(run, file):
    file("late.jsonl", '{"reply": ""}\n' * 1500 + '{"reply": "", "model": "a"}')
    assert run("late.jsonl", "out.jsonl", "--by", "model", "--tallies", "t.csv")[0] == 0
    assert "value,a,totals,,rows,,,1" in Path("t.csv").read_text()


def test_an_output_as_input_is_told_to_take_a_prefix(run):
    assert run("in.jsonl", "once.jsonl")[0] == 0
    status, err = run("once.jsonl", "twice.jsonl")
    assert status == 2 and err.endswith("give those that it adds a prefix: --prefix new_ (prefix='new_')\n")
    assert run("once.jsonl", "twice.jsonl", "--prefix", "a_")[0] == 0
    status, err = run("twice.jsonl", "thrice.jsonl", "--prefix", "a_")
    assert status == 2 and "give those that it adds another prefix than 'a_': --prefix new_" in err


def test_a_folder_may_get_another_format(run):
    assert run("in.jsonl", "out/", "--format", "parquet")[0] == 0
    assert pq.read_table("out/in.parquet").num_rows == 3


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nope.jsonl", "out.jsonl"], 2, "nope.jsonl: there is no such file or folder"),
        (["in.jsnl", "out.jsonl"], 2, "did you mean in.jsonl?"),
        (["in.jsonl", "out.xlsx"], 2, "out.xlsx: the name does not say the format"),
        (["in.jsonl", "t.jsonl"], 2, "t.jsonl: there is such a file already; --overwrite"),
        (["in.jsonl", "out.jsonl", "--column", "replies"], 2, "'replies'; did you mean 'reply'? There are 'reply'"),
        (["in.jsonl", "out.jsonl", "--tools", "none.json"], 2, "none.json: No such file"),
        (["in.jsonl", "out.jsonl", "--tools", "in.jsonl"], 1, "in.jsonl:2:1: expected tools as JSON"),
        (["in.jsonl", "out.jsonl", "--report", "t.jsonl/r.html"], 2, "t.jsonl is no folder; give another place"),
        (["in.jsonl", "out.jsonl", "--tallies", "t.jsonl/a/r.csv"], 2, "t.jsonl is no folder; give another place"),
        (["in.jsonl", "-"], 2, "-: a run reads and writes files"),
        (["in.jsonl", "out.jsonl", "--tallies", "r.xlsx"], 2, "--tallies: expected a name that ends with .json, .csv"),
        (["in.jsonl", "out.jsonl", "--report", "r.json"], 2, "--tallies r.json writes the figures"),
        (
            ["in.jsonl", "out.jsonl", "--tools", "t.json", "--tallies", "t.json"],
            2,
            "t.json is another file of this run",
        ),
        (["in.jsonl", "out.jsonl", "--by", "reply"], 2, "--by: expected --report or --tallies with it"),
        (["in.jsonl", "out.jsonl", "--by", "model", "--report", "r.html"], 2, "no column 'model'; there are 'reply'"),
        (["in.jsonl", "out.jsonl", "--ray-address", "x"], 2, "--ray-address: expected --engine ray"),
        (["in.jsonl", "out/", "--engine", "ray", "--jobs", "2"], 2, "--jobs: expected --engine local"),
        (["in.jsonl", "out.jsonl", "--resume", "--overwrite"], 2, "not allowed with"),
        (["in.jsonl", "out.jsonl", "--jobs", "0"], 2, "expected a whole number from 1"),
        (["bad.parquet", "out.jsonl"], 1, "bad.parquet: expected a file of parquet"),
        (["in.jsonl"], 2, "OUT"),
    ],
)
def test_what_is_wrong_is_one_line(run, arguments, status, said):
    for name in ("t.jsonl", "bad.parquet"):
        Path(name).write_text("words")
    found, err = run(*arguments)
    assert found == status and said in err and err.startswith("xmltools") and err.count("\n") == 1


def test_an_interrupt_says_how_to_go_on(run, monkeypatch):
    @contextmanager
    def interrupting():
        yield lambda progress: signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(_cli_batch, "_progress", interrupting)
        status, err = run("in.jsonl", "out.jsonl")
    assert (status, err) == (130, "xmltools: stopped; the same command with --resume goes on\n")
    assert run("in.jsonl", "out.jsonl")[0] == 2
    status, err = run("in.jsonl", "out.jsonl", "--resume")
    assert status == 0 and err.startswith("Parsed 3 rows, 3 of them in an earlier run, the others in")
    assert run("in.jsonl", "out.jsonl", "--resume") == (0, "Nothing was left to do: the output is complete\n")


def test_on_a_terminal_there_is_a_bar(run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with _cli_batch._progress() as tell:
        assert tell is not None
    assert run("in.jsonl", "out.jsonl")[0] == 0


def test_the_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        main(["batch", "--help"])
    out = capsys.readouterr().out
    assert out.count("  $ xmltools batch ") == 2
    assert f"$ {COMMANDS['batch'].example}" in out


def test_reports_come_into_folders_that_are_made(run):
    assert run("in.jsonl", "out/", "--report", "out/r.html", "--tallies", "new/er/t.csv")[0] == 0
    assert Path("out/r.html").exists() and Path("new/er/t.csv").exists()


def test_a_run_that_could_read_nothing_says_so(run, file):
    pq.write_table(pa.table({"reply": pa.array([b"a", b"b"], pa.binary())}), "raw.parquet")
    status, err = run("raw.parquet", "out.jsonl", "--report", "r.html")
    assert status == 0 and err.endswith(
        "  no row could be read. The row's value is no text: give the column a type of text.\n"
    )
    assert "no row could be read." in Path("r.html").read_text("utf-8")
    assert "no row could be read" not in run("in.jsonl", "out.jsonl", "--overwrite")[1]


def test_roles_that_nobody_reads_are_named(run, file):
    chat = [{"role": role, "content": BLOCK.format(5)} for role in ("system", "user", "model", "model", "Assistant")]
    file("chats.jsonl", "".join(json.dumps({"messages": chat}) + "\n" for _ in range(2)))
    status, err = run("chats.jsonl", "out.jsonl", "--messages", "--report", "r.html")
    said = "only messages of the role 'assistant' are read; others have the roles 'model' (4), 'Assistant' (2)"
    assert status == 0 and err.endswith(f"  {said}\n")
    assert said in unescape(Path("r.html").read_text("utf-8"))


def test_half_characters_are_named_as_the_reason(run, file):
    file("half.jsonl", '{"reply": "x\\ud83d y"}\n')
    assert (
        "became JSON text: half characters (such as \\ud83d without the other half) are in it"
        in run("half.jsonl", "out.csv")[1]
    )


def test_a_run_without_tools_says_that_no_call_is_checked(run):
    assert "without tools: no call is checked" in run("in.jsonl", "out.jsonl")[1]
    assert "without tools" not in run("in.jsonl", "out.jsonl", "--overwrite", "--tools", "t.json")[1]


def test_what_the_disk_refuses_is_told_with_its_path(run):
    Path("words").write_text("x")
    command = [sys.executable, "-m", "xmltools", "batch", "in.jsonl", "words/out.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"^xmltools: input or output failed: .*words.*: .+\n$", done.stderr)
