"""`xmltools dialects`, and the options `--dialect` and `--model` of commands that read replies."""

from __future__ import annotations

import json

import pytest
from support.written import detected_as

from xmltools import dialects

GLM = "Hi\n<tool_call>get<arg_key>n</arg_key><arg_value>1</arg_value></tool_call>"
HERMES = '<tool_call>{"name": "get", "arguments": {"n": 1}}</tool_call>'


def test_all_are_listed_with_an_example(run):
    status, out, _ = run("dialects")
    assert status == 0
    assert all(f"{each.name} " in out and each.example in out for each in dialects.all())


def test_the_list_shows_a_few_models_of_each_and_how_many_there_are(run):
    _, out, _ = run("dialects")
    many = dialects.ids_of("hermes")
    assert f"{', '.join(many[:3])} and {len(many) - 3} more\n" in out


def test_a_dialect_is_shown_with_all_its_models_and_who_says_so(run):
    status, out, _ = run("dialects", "glm")
    assert status == 0 and all(f"  {each}\n" in out for each in dialects.ids_of("glm"))
    assert all(each.source in out for each in dialects.FAMILIES if each.dialect == "glm")


def test_the_dialect_of_a_model_is_shown(run):
    status, out, _ = run("dialects", "--model", "Qwen/Qwen3-8B")
    assert status == 0 and out.split()[0] == "hermes" and dialects.named("hermes").example in out


def test_a_typo_in_the_name_of_a_model_is_seen_by_the_family(run):
    for name, family in (
        ("Qwen/Qwen3-Codr-30B", "hermes (Qwen3) "),
        ("Qwen/Qwen3-Coder-30B", "qwen3_coder (Qwen3-Coder) "),
    ):
        status, out, _ = run("dialects", "--model", name)
        assert status == 0 and out.startswith(family)


def test_for_a_model_that_is_not_known_there_is_a_guide(run):
    _, _, error = run("dialects", "--model", "no/such-model")
    assert "dialects detect" in error and "describe_a_dialect.md" in error


@pytest.mark.parametrize("words", [("--model", "no/such-model"), ("--model", "Qwen/Qwen3-8B", "glm")])
def test_a_model_that_is_not_known_or_not_alone_is_wrong_usage(run, words):
    status, out, error = run("dialects", *words)
    assert (status, out, error.count("\n")) == (2, "", 1) and "xmltools dialects" in error


@pytest.mark.parametrize("words", [("glmm",), ("glm", "reply.txt")])
def test_a_dialect_that_is_not_there_and_files_without_detect_are_wrong_usage(run, words):
    status, out, error = run("dialects", *words)
    assert (status, out, error.count("\n")) == (2, "", 1) and ("glm" in error or "detect" in error)


def test_an_example_is_detected_as_what_it_is(run, file):
    tools = file("tools.json", '[{"name": "get", "parameters": {}}]')
    for each in dialects.all():
        options = ["--tools", tools] if each.name in ("tag_per_tool", "call_json") else []  # these begin with a name
        status, out, _ = run("dialects", "detect", file("reply.txt", each.example), *options)
        assert status == 0 and out.split()[:2] == [detected_as(each.name), "1"]


def test_what_is_skipped_is_an_event(run, file):
    _, out, _ = run("parse", file("reply.txt", GLM), "--dialect", "glm", "--events")
    assert {"type": "skipped", "span": [2, 3]} in map(json.loads, out.splitlines())


def test_what_has_no_call_is_in_none(run, file):
    assert run("dialects", "detect", file("reply.txt", "Just words."))[0] == 1


ROWS = [{"id": str(number), "reply": text, "n": 1} for number, text in enumerate((GLM, "Just words.", GLM))]


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_the_rows_of_json_lines_are_replies(run, file):
    name = file("replies.jsonl", lines_of([*ROWS, {"id": "3", "reply": None}, {}]))
    status, out, error = run("dialects", "detect", name)
    assert (status, error) == (0, "") and out.startswith("glm           2 calls, 0 blocks without one\n")
    file("replies.txt", lines_of(ROWS))
    assert run("dialects", "detect", "replies.txt", "--column", "reply")[1].startswith("glm           2 calls")
    status, out, _ = run("dialects", "detect", "-", "--column", "reply", stdin=lines_of(ROWS))
    assert status == 0 and out.startswith("glm           2 calls")
    assert run("dialects", "detect", name, file("reply.txt", GLM))[1].startswith("glm           3 calls")


def test_the_only_column_with_text_is_that_of_the_replies(run, file):
    name = file("said.jsonl", lines_of({"n": 1, "said": row["reply"]} for row in ROWS))
    assert run("dialects", "detect", name)[1].startswith("glm           2 calls")


@pytest.mark.parametrize(
    ("rows", "words", "said"),
    [
        (
            [{"id": "a", "said": GLM}],
            (),
            "say with --column which one holds the replies; with text there are 'id', 'said'",
        ),
        ([{"n": 1}], (), "expected a column with replies as text; there are 'n'"),
        (ROWS, ("--column", "said"), "--column: rows.jsonl: there is no column 'said'; there are 'id', 'reply', 'n'"),
    ],
)
def test_a_column_that_is_not_clear_or_not_there_is_wrong_usage(run, file, rows, words, said):
    status, out, error = run("dialects", "detect", file("rows.jsonl", lines_of(rows)), *words)
    assert (status, out) == (2, "") and said in error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"reply": "a"}\n{"reply": 1}\n', "rows.jsonl:2: expected text in 'reply', got int"),
        ('{"reply": "a"}\n\n{"reply"\n', "rows.jsonl:3: expected a JSON object: "),
        ("[1]", "rows.jsonl:1: expected a JSON object, got list"),
    ],
)
def test_a_row_that_is_no_reply_is_named(run, file, text, said):
    status, out, error = run("dialects", "detect", file("rows.jsonl", text))
    assert (status, out) == (1, "") and said in error


def test_the_rows_of_tables_are_replies(run, file, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    from pyarrow import Table

    parquet.write_table(Table.from_pylist(ROWS), "replies.parquet")
    assert run("dialects", "detect", "replies.parquet")[1].startswith("glm           2 calls")
    file("replies.csv", "id,reply\n1,Hi\n2," + GLM.replace("\n", " ") + "\n")
    assert run("dialects", "detect", "replies.csv")[1].startswith("glm           1 call,")


@pytest.mark.parametrize("said", [GLM, HERMES, "Just words."])
def test_json_that_is_read_as_text_is_not_passed_over_in_silence(run, file, said):
    _, _, error = run("dialects", "detect", file("replies.json", json.dumps([{"reply": said}])))
    assert error.startswith("xmltools: replies.json: looks like JSON") and "--column" in error


def test_a_reply_that_is_a_call_in_json_is_no_file_of_json(run, file):
    status, out, error = run("dialects", "detect", file("reply.txt", dialects.named("llama3_json").example))
    assert (status, out.split()[0], error) == (0, "llama3_json", "")


def test_a_missing_file_with_rows_and_a_column_without_detect_are_wrong_usage(run):
    status, _, error = run("dialects", "detect", "none.jsonl")
    assert status == 2 and "none.jsonl: No such file" in error
    status, _, error = run("dialects", "glm", "--column", "reply")
    assert status == 2 and "detect" in error


def test_options_may_stand_between_files(run, file):
    one, other = (file(name, lines_of(ROWS)) for name in ("one.jsonl", "other.jsonl"))
    for words in (["--column", "reply", one, other], [one, "--column", "reply", other]):
        assert run("dialects", "detect", *words)[1].startswith("glm           4 calls")
    reply = file("reply.txt", GLM)
    assert run("validate", reply, "--dialect", "glm", reply)[0] == 0


def test_detect_needs_files(run):
    status, _, error = run("dialects", "detect")
    assert status == 2 and "reply.txt" in error


@pytest.mark.parametrize("words", [("--dialect", "glm"), ("--model", "zai-org/GLM-4.7")])
def test_a_reply_is_read_in_its_dialect(run, file, words):
    status, out, _ = run("parse", file("reply.txt", GLM), *words)
    text, call = map(json.loads, out.splitlines())
    assert status == 0 and text["text"] == "Hi"
    assert call["name"] == "get" and call["arguments"] == {"n": "1"}


UNKNOWN = [("--dialect", "glmm"), ("--model", "acme/unknown-1")]
READERS = {
    "parse": ("reply.txt",),
    "validate": ("reply.txt",),
    "batch": ("rows.jsonl", "out.jsonl"),
}


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize("words", UNKNOWN)
def test_an_unknown_name_is_wrong_usage_that_lists_some(run, file, command, words):
    file("reply.txt", GLM)
    file("rows.jsonl", json.dumps({"reply": GLM}))
    status, out, error = run(command, *READERS[command], *words)
    assert (status, out, error.count("\n")) == (2, "", 1) and "glm" in error and words[1] in error


def test_a_reply_is_validated_in_its_dialect(run, file):
    name = file("reply.txt", GLM)
    assert run("validate", name, "--strict", "--dialect", "glm") == (
        0,
        "",
        "The call is well formed; names and arguments are checked with --tools\n",
    )
    assert run("validate", name, "--model", "zai-org/GLM-4.7") == (
        0,
        "",
        "The call is well formed; names and arguments are checked with --tools\n",
    )
    assert "foreign_call" in run("validate", name)[1]


def test_a_reply_that_begins_in_reasoning_is_validated(run, file):
    thought = "<function=get><parameter=n>1</parameter></function>"
    name = file("reply.txt", f"Not {thought} here.</think>{GLM[3:]}")
    assert "foreign_call" in run("validate", name, "--dialect", "glm")[1]
    assert run("validate", name, "--dialect", "glm", "--starts-in-reasoning") == (
        0,
        "",
        "The call is well formed; names and arguments are checked with --tools\n",
    )


def test_a_case_may_name_a_model_and_its_prompt(run):
    case = {
        "id": "a",
        "chunks": ["Look.</think>", GLM[3:]],
        "tools": None,
        "options": {"model": "zai-org/GLM-4.7", "generation_prompt": "<|assistant|><think>"},
    }
    status, out, _ = run("conformance", stdin=json.dumps(case) + "\n")
    answer = json.loads(out)
    assert status == 0 and answer["reasoning"] == "Look." and answer["calls"][0]["arguments"] == {"n": "1"}


TOOL = {"name": "get", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def test_calls_in_other_dialects_are_read_if_asked_for(run, file):
    reply, tools = file("reply.txt", HERMES), file("tools.json", json.dumps([TOOL]))
    for also in ("known", "hermes"):
        status, out, _ = run("parse", reply, "--tools", tools, "--also", also)
        part = json.loads(out)
        assert status == 0 and part["repairs"][0]["code"] == "foreign_dialect" and part["dialect"] == "hermes"
        assert "foreign_dialect" in run("validate", reply, "--tools", tools, "--also", also)[1]
    assert (
        json.loads(run("parse", reply, "--tools", tools, "--also", "qwen3_coder")[1].splitlines()[0])["type"] == "text"
    )


@pytest.mark.parametrize("command", ["parse", "validate", "serve"])
def test_an_unknown_other_dialect_is_wrong_usage(run, file, command):
    words = [file("reply.txt", HERMES)] if command != "serve" else ["--upstream", "http://127.0.0.1:9/v1"]
    status, out, error = run(command, *words, "--also", "herms")
    assert (status, out, error.count("\n")) == (2, "", 1) and "hermes" in error


def test_a_case_may_ask_for_other_dialects(run):
    case = {"id": "a", "chunks": [HERMES], "tools": [TOOL], "options": {"also": "known"}}
    (call,) = json.loads(run("conformance", stdin=json.dumps(case) + "\n")[1])["calls"]
    assert call["arguments"] == {"n": 1}
