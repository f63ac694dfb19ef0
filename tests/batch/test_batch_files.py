import csv
import gzip
import io
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.often import examples

import xmltools as xt
from xmltools.batch import OUTPUT_SCHEMA, BatchOptions, parse_files, parse_table
from xmltools.batch.files import run
from xmltools.batch.files.places import find_sources
from xmltools.batch.files.read_pieces import ROWS, SIZE, read_pieces
from xmltools.batch.report.tally import rows_of_file

OPTIONS = BatchOptions()
BLOCK = "<tool><tool_name>add</tool_name><arguments><a>{}</a></arguments></tool>"
SLOPPY = BLOCK.format("x & y")
BROKEN = "<tool><tool_name>add</tool_name>"
ADDED = tuple(OUTPUT_SCHEMA.names)


def replies(count):
    return [f"{number} {(BLOCK.format(number), SLOPPY, BROKEN, 'é')[number % 4]}" for number in range(count)]


def table_of(count):
    return pa.table({"id": list(range(count)), "reply": replies(count)})


def write(table, path):
    name = path.name.removesuffix(".gz")
    opened = gzip.open if path.name.endswith(".gz") else open
    if name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=100)
    elif name.endswith((".arrow", ".feather")):
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, 100)
    elif name.endswith(".csv"):
        with opened(path, "wt", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(row.values() for row in table.to_pylist())
    else:
        with opened(path, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())


def read(path):
    """The rows of an output. Those of CSV are read as what they were."""
    name = path.name.removesuffix(".gz")
    opened = gzip.open if path.name.endswith(".gz") else open
    if name.endswith(".parquet"):
        return pq.read_table(path).to_pylist()
    if name.endswith((".arrow", ".feather")):
        return pa.ipc.open_file(path).read_all().to_pylist()
    if name.endswith(".csv"):
        with opened(path, "rt", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        lists = ("calls", "errors", "repairs", "notices")
        return [{**row, "id": int(row["id"]), **{key: json.loads(row[key]) for key in lists}} for row in rows]
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def jsonl(path, *lines):
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines))
    return path


ENDINGS = ("parquet", "jsonl", "ndjson", "arrow", "feather", "csv", "jsonl.gz", "csv.gz")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("source", ENDINGS)
def test_every_format_is_read_and_written_alike(tmp_path, source, ending):
    table = table_of(300)
    write(table, tmp_path / f"in.{source}")
    out = tmp_path / f"out.{ending}"
    summary = parse_files(tmp_path / f"in.{source}", out, OPTIONS)
    expected = parse_table(table, OPTIONS).to_pylist()
    found = [{**row, "id": int(row["id"])} for row in read(out)]  # text, if it came from CSV
    assert found == expected
    assert (summary.rows, summary.calls, summary.clean_calls, summary.failed_rows) == (300, 150, 75, 75)
    assert summary.errors == {"truncated": 75} and summary.repairs == {"bare_ampersand": 75}
    assert summary.calls_by_tool == {"add": 150} and summary.outputs == (out,) and summary.skipped_rows == 0
    made = [f"in.{source}", f"out.{ending}", f".out.{ending}.run.json"]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(made)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_processes_give_the_same_bytes_as_one(tmp_path, ending, monkeypatch):
    write(table_of(9000), tmp_path / "in.parquet")
    outputs = [tmp_path / f"{jobs}.{ending}" for jobs in (1, 2, 3)]
    for jobs, out in enumerate(outputs, 1):
        assert parse_files(tmp_path / "in.parquet", out, OPTIONS, jobs=jobs).rows == 9000
    assert len({out.read_bytes() for out in outputs}) == 1
    assert not multiprocessing.active_children()


def test_no_more_processes_are_begun_than_there_is_work_for(tmp_path):
    write(table_of(9), tmp_path / "in.parquet")
    begun = []
    with pytest.raises(xt.XMLToolsError, match="no column 'missing'"):
        parse_files(tmp_path / "in.parquet", tmp_path / "out.parquet", BatchOptions(column="missing"), jobs=3)
    assert not multiprocessing.active_children()
    parse_files(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        OPTIONS,
        jobs=3,
        on_progress=lambda _: begun.append(len(multiprocessing.active_children())),
    )
    assert len(begun) == 1 and begun[0] <= 1 and not multiprocessing.active_children()


@pytest.mark.parametrize("rows", [1, 10])
def test_a_small_file_with_many_rows_is_parsed_by_all_cores(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(run, "available_cores", lambda: 2)
    text = "x" * 1_000_000
    pq.write_table(pa.table({"reply": [text] * rows}), tmp_path / "in.parquet")
    assert (tmp_path / "in.parquet").stat().st_size < 1_000_000
    begun = []
    parse_files(
        tmp_path / "in.parquet",
        tmp_path / "out.jsonl",
        OPTIONS,
        on_progress=lambda _: begun.append(len(multiprocessing.active_children())),
    )
    assert max(begun) == (2 if rows == 10 else 0)


def test_a_worker_makes_arrays_without_loading_pandas():
    program = (
        "import sys; from xmltools.batch.files.workers import _load_less; _load_less()\n"
        "import pyarrow; pyarrow.array(['a']); print('pandas' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


# JSON Lines stay what they were


def test_lines_stay_as_they_were_written(tmp_path):
    lines = [
        b'{"reply": "a", "n": 1.00000000000000000001, "n": 2, "caf\\u00e9": "\xc3\xa9"}',
        b' { "reply" : null } \r',
        b"{}",
        b"",
        b'{"big": ' + b"9" * 4000 + b"}",
    ]
    jsonl(tmp_path / "in.jsonl", {"reply": "first"}, *lines)
    parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", OPTIONS)
    written = (tmp_path / "out.jsonl").read_bytes().split(b"\n")
    assert [line.split(b'"text"')[0] for line in written[1:-1]] == [
        lines[0][:-1] + b", ",
        b'{ "reply" : null, ',
        b"{",
        lines[4][:-1] + b", ",
    ]
    assert all(tuple(json.loads(line))[-6:] == ADDED for line in written[:-1])


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_lines_that_hold_no_object_are_rows_with_an_error(tmp_path, ending):
    bad = [b'{"reply": ', b"[1]", b'"x"', b"\xff{}", b"[" * 100_000, b'{"n": ' + b"9" * 5000 + b"}"]
    jsonl(tmp_path / "in.jsonl", {"reply": "a"}, *bad, {"reply": "b"})
    summary = parse_files(tmp_path / "in.jsonl", tmp_path / f"out.{ending}", OPTIONS)
    assert (summary.rows, summary.failed_rows, summary.errors) == (8, 6, {"invalid_line": 6})
    if ending == "jsonl":
        kept = [row["invalid_line"] for row in read(tmp_path / "out.jsonl")[1:-1]]
        assert kept == [line.decode("utf-8", "replace") for line in bad]
        assert b"\\ud" not in (tmp_path / "out.jsonl").read_bytes()  # half characters, which pyarrow.json refuses


@pytest.mark.parametrize("depth", [15, 20, 100, 499])
def test_values_that_are_nested_deeply_are_kept(tmp_path, depth):
    deep = b"[" * depth + b"]" * depth
    jsonl(tmp_path / "in.jsonl", b'{"reply": "a", "v": ' + deep + b"}")
    for ending in ("jsonl", "parquet", "arrow"):
        parse_files(tmp_path / "in.jsonl", tmp_path / f"out.{ending}", OPTIONS)
    assert deep in (tmp_path / "out.jsonl").read_bytes()
    for ending in ("parquet", "arrow"):
        value = read(tmp_path / f"out.{ending}")[0].get("v")
        assert (value if isinstance(value, str) else json.dumps(value)) == deep.decode()


@pytest.mark.parametrize("depth", [500, 950, *range(970, 990), 100_000])
@pytest.mark.parametrize("pair", [("[", "]"), ('{"a": ', "}")])
def test_a_line_that_is_nested_too_deeply_is_a_row_with_an_error(tmp_path, depth, pair):
    line = f'{{"reply": "a", "v": {pair[0] * depth}0{pair[1] * depth}}}'.encode()
    jsonl(tmp_path / "in.jsonl", line)
    for ending in ("jsonl", "parquet"):
        assert parse_files(tmp_path / "in.jsonl", tmp_path / f"out.{ending}", OPTIONS).errors == {"invalid_line": 1}
        assert read(tmp_path / f"out.{ending}")[0]["invalid_line"] == line.decode()


def test_half_characters_pass_through_json_lines(tmp_path):
    jsonl(tmp_path / "in.jsonl", {"reply": "x\ud800 " + BLOCK.format("\udfff"), "é": "ü"})
    parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", OPTIONS)
    parse_files(tmp_path / "in.jsonl", tmp_path / "out.parquet", OPTIONS)
    (row,), (cells,) = read(tmp_path / "out.jsonl"), read(tmp_path / "out.parquet")
    assert row["text"] == "x\ud800 " and cells["text"] == "x\\ud800 "
    assert row["calls"][0]["arguments"] == cells["calls"][0]["arguments"] == '{"a":"\\udfff"}'
    assert json.loads(cells["reply"]) == row["reply"] and cells["é"] == "ü"


def test_messages_and_tools_may_be_json_in_lines(tmp_path):
    tools = [{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
    messages = [{"role": "assistant", "content": BLOCK.format(5)}]
    jsonl(tmp_path / "in.jsonl", {"m": messages, "t": tools}, {"m": json.dumps(messages), "t": json.dumps(tools)})
    options = BatchOptions(column="m", messages=True, tools_column="t")
    parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", options)
    assert [row["calls"][0]["arguments"] for row in read(tmp_path / "out.jsonl")] == ['{"a":5}'] * 2


# From lines to columns


def columns(tmp_path, *objects, ending="parquet"):
    for number, each in enumerate(objects):  # each in a part of its own
        jsonl(tmp_path / f"{number}.jsonl", *each)
    out = tmp_path / f"out.{ending}"
    parse_files([tmp_path / f"{number}.jsonl" for number in range(len(objects))], out, OPTIONS)
    return pq.read_table(out)


@pytest.mark.parametrize(
    ("parts", "type", "values"),
    [
        ([[1, 2], [3]], pa.int64(), [1, 2, 3]),
        ([[1, 2.5], [3]], pa.float64(), [1.0, 2.5, 3.0]),
        ([[1], [2.5]], pa.float64(), [1.0, 2.5]),
        ([[2**53 + 1], [2.5]], pa.string(), [str(2**53 + 1), "2.5"]),
        ([[2**70], [1]], pa.string(), [str(2**70), "1"]),
        ([[True], [None], [False]], pa.bool_(), [True, None, False]),
        ([[True, 1]], pa.string(), ["true", "1"]),
        ([["a"], [5]], pa.string(), ['"a"', "5"]),
        ([["a"], ["5"]], pa.string(), ["a", "5"]),
        ([[[]], [["a"]]], pa.list_(pa.string()), [[], ["a"]]),
        ([[{"x": 1}, {"x": 2}]], pa.struct([("x", pa.int64())]), [{"x": 1}, {"x": 2}]),
        ([[{"x": 1}, {"y": 2}]], pa.string(), ['{"x": 1}', '{"y": 2}']),
        ([[{"x": 1}], [{"y": 2}]], pa.string(), ['{"x": 1}', '{"y": 2}']),
        ([[{}]], pa.string(), ["{}"]),
        ([["\ud800"], ["a"]], pa.string(), ['"\\ud800"', '"a"']),
    ],
)
def test_a_column_has_the_type_that_loses_nothing_or_is_json(tmp_path, parts, type, values):
    parsed = columns(tmp_path, *[[{"reply": "", "v": value} for value in part] for part in parts])
    assert parsed.schema.field("v").type == type and parsed.column("v").to_pylist() == values


def test_columns_that_come_late_are_null_before_and_stand_before_those_that_are_added(tmp_path):
    parsed = columns(tmp_path, [{"reply": "a"}], [{"late": 5, "reply": "b"}])
    assert parsed.column_names == ["reply", "late", *ADDED] and parsed.column("late").to_pylist() == [None, 5]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


@examples(30)
@given(parts=st.lists(st.lists(JSON, min_size=1, max_size=3), min_size=1, max_size=3))
def test_values_of_lines_can_be_told_from_their_columns(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("run")
    parsed = columns(folder, *[[{"reply": "", "v": value} for value in part] for part in parts])
    column = parsed.column("v").to_pylist()
    values = [value for part in parts for value in part]
    if column != values:
        assert [None if cell is None else json.loads(cell) for cell in column] == values


# Tables


def test_types_of_tables_become_text_where_there_is_only_text(tmp_path):
    when = datetime(2024, 5, 6, 7, 8, 9)
    table = pa.table(
        {
            "reply": ["a"],
            "when": pa.array([when], pa.timestamp("ns")),
            "raw": [b"\xff"],
            "list": [[1, None]],
            "took": pa.array([5], pa.duration("ms")),
        }
    )
    write_to = tmp_path / "in.parquet"
    pq.write_table(table, write_to)
    parse_files(write_to, tmp_path / "out.jsonl", OPTIONS)
    (row,) = read(tmp_path / "out.jsonl")
    assert row["when"].startswith("2024-05-06 07:08:09") and row["raw"] == "/w==" and row["list"] == [1, None]
    parse_files(write_to, tmp_path / "out.csv", OPTIONS)
    assert (tmp_path / "out.csv").read_text().startswith("reply,when,raw,list,took,text,")


def test_what_is_no_text_and_no_list_is_plain_in_csv(tmp_path):
    table = pa.table(
        {
            "reply": ["a"],
            "decimal": pa.array([Decimal("1.00")], pa.decimal128(5, 2)),
            "raw": [b"x"],
            "fixed": pa.array([b"xy"], pa.binary(2)),
            "day": [date(2024, 5, 6)],
            "flag": [True],
            "none": pa.array([None], pa.int64()),
            "nan": [float("nan")],
            "low": [float("-inf")],
            "deep": [{"a": [Decimal("2.50")], "b": b"x", "c": [float("inf"), 1.5]}],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    parse_files(tmp_path / "in.parquet", tmp_path / "out.csv", OPTIONS)
    with (tmp_path / "out.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    plain = {"decimal": "1.00", "raw": "eA==", "fixed": "eHk=", "day": "2024-05-06", "flag": "true", "none": ""}
    assert {name: row[name] for name in (*plain, "nan", "low")} == {**plain, "nan": "NaN", "low": "-Infinity"}
    assert row["deep"] == '{"a": ["2.50"], "b": "eA==", "c": [null, 1.5]}'


def test_numbers_that_json_does_not_have_are_null_in_it(tmp_path):
    numbers = [float("nan"), float("inf"), 1.5]
    pq.write_table(
        pa.table({"reply": list("abc"), "v": numbers, "w": [[each] for each in numbers]}), tmp_path / "1.parquet"
    )
    parse_files(tmp_path / "1.parquet", tmp_path / "out.jsonl", OPTIONS)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    rows = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert [(row["v"], row["w"]) for row in rows] == [(None, [None]), (None, [None]), (1.5, [1.5])]
    # As JSON text too, where the types of two files differ.
    pq.write_table(pa.table({"reply": ["d"], "v": ["x"], "w": ["y"]}), tmp_path / "2.parquet")
    parse_files(str(tmp_path / "*.parquet"), tmp_path / "out.arrow", OPTIONS)
    assert [row["w"] for row in read(tmp_path / "out.arrow")] == ["[null]", "[null]", "[1.5]", '"y"']
    assert [row["v"] for row in read(tmp_path / "out.arrow")] == ["null", "null", "1.5", '"x"']


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_values_of_csv_are_quoted_where_they_must_be_and_come_back(tmp_path, ending):
    texts = ["a\rb", "c", "\r", "d\r\ne", "f\n", 'g"', "h,i", "j\r\n", " k'", "\u2028"]
    jsonl(tmp_path / "in.jsonl", *({"reply": text, "n": 1} for text in texts))
    target = tmp_path / f"out.{ending}"
    parse_files(tmp_path / "in.jsonl", target, OPTIONS)
    opened = gzip.open if ending.endswith(".gz") else open
    with opened(target, "rt", newline="", encoding="utf-8") as file:
        written = file.read()
    assert [row["reply"] for row in csv.DictReader(io.StringIO(written, newline=""))] == texts
    assert written.startswith("reply,n,text,") and written.endswith("]\n") and "]\r" not in written
    for plain in ("\nc,1,c,", "\n k',1, k',", '\n"a\rb",1,"a\rb",'):
        assert plain in written
    again = BatchOptions(column="reply", prefix="x_")
    parse_files(target, tmp_path / "again.jsonl", again)
    assert [(row["reply"], row["x_text"]) for row in read(tmp_path / "again.jsonl")] == [(each, each) for each in texts]


def test_what_is_no_utf_8_in_a_column_of_text_costs_its_row_only(tmp_path):
    raw = pa.array([b"a", b"\xff", None], pa.binary())
    bad = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    pq.write_table(pa.table({"reply": bad, "n": [1, 2, 3]}), tmp_path / "in.parquet")
    for ending in ("jsonl", "csv", "parquet"):
        summary = parse_files(tmp_path / "in.parquet", tmp_path / f"out.{ending}", OPTIONS)
        assert (summary.rows, summary.errors) == (3, {"invalid_reply": 1})
    assert [row["reply"] for row in read(tmp_path / "out.jsonl")] == ["a", "\udcff", None]
    assert pq.read_table(tmp_path / "out.parquet").column("reply").cast(pa.binary()).to_pylist() == raw.to_pylist()


def test_dictionaries_and_streams_of_arrow_are_read(tmp_path):
    batches = [pa.record_batch({"reply": pa.array([text]).dictionary_encode()}) for text in ("a", "b")]
    with pa.ipc.new_stream(tmp_path / "in.arrow", batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    for ending in ("arrow", "parquet"):
        parse_files(tmp_path / "in.arrow", tmp_path / f"out.{ending}", OPTIONS)
        assert [(row["reply"], row["text"]) for row in read(tmp_path / f"out.{ending}")] == [("a", "a"), ("b", "b")]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "arrow", "csv"])
def test_files_without_rows_give_files_without_rows(tmp_path, ending):
    write(table_of(0), tmp_path / f"in.{ending}")
    assert parse_files(tmp_path / f"in.{ending}", tmp_path / "out.parquet", OPTIONS).rows == 0
    names = [] if ending == "jsonl" else ["id", "reply"]
    assert pq.read_schema(tmp_path / "out.parquet").names == [*names, *ADDED]


def test_files_with_different_columns_are_joined(tmp_path):
    pq.write_table(pa.table({"reply": ["a"], "v": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"reply": ["b"], "v": ["x"], "w": [True]}), tmp_path / "2.parquet")
    parse_files([tmp_path], tmp_path / "out.parquet", OPTIONS)
    rows = read(tmp_path / "out.parquet")
    assert [(row["v"], row["w"]) for row in rows] == [("1", None), ('"x"', True)]


NANOSECONDS = pa.timestamp("ns")
NESTED_TIMES = {
    "list": pa.array([[1, None], None], pa.list_(NANOSECONDS)),
    "large": pa.array([[1], []], pa.large_list(NANOSECONDS)),
    "two": pa.array([[1, 2], None], pa.list_(NANOSECONDS, 2)),
    "struct": pa.array([{"a": 1, "b": 2}, None], pa.struct([("a", pa.time64("ns")), ("b", pa.duration("ns"))])),
    "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), NANOSECONDS)),
}
FIRST = "1970-01-01 00:00:00.00000000"
NESTED_TEXTS = {
    "list": [f"{FIRST}1", None],
    "large": [f"{FIRST}1"],
    "two": [f"{FIRST}1", f"{FIRST}2"],
    "struct": {"a": "00:00:00.000000001", "b": 2},
    "map": [["k", f"{FIRST}1"]],
}


@pytest.mark.parametrize("jobs", [1, 2])  # processes of the pool have no pandas, and this one may have
def test_nanoseconds_inside_of_values_are_text_where_there_is_only_text(tmp_path, jobs):
    write(pa.table({"reply": ["a", "b"], **NESTED_TIMES}), tmp_path / "in.arrow")
    for ending in ("jsonl", "csv"):
        parse_files(tmp_path / "in.arrow", tmp_path / f"out.{ending}", OPTIONS, jobs=jobs)
    assert {name: read(tmp_path / "out.jsonl")[0][name] for name in NESTED_TEXTS} == NESTED_TEXTS
    with (tmp_path / "out.csv").open(newline="") as file:
        cells = next(csv.DictReader(file))
    assert {name: json.loads(cells[name]) for name in NESTED_TEXTS} == NESTED_TEXTS


@pytest.mark.parametrize("jobs", [1, 2])
def test_messages_are_read_whatever_times_they_have(tmp_path, jobs):
    message = pa.struct([("role", pa.string()), ("content", pa.string()), ("at", NANOSECONDS)])
    rows = [[{"role": "assistant", "content": "a", "at": 1}], [{"role": "assistant", "content": "b", "at": None}]]
    pq.write_table(pa.table({"m": pa.array(rows, pa.list_(message))}), tmp_path / "in.parquet")
    parse_files(tmp_path / "in.parquet", tmp_path / "out.parquet", BatchOptions(column="m", messages=True), jobs=jobs)
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column("text").to_pylist() == ["a", "b"]
    assert found.schema.field("m").type.value_type.field("at").type == NANOSECONDS


def test_what_is_no_utf_8_is_kept_in_a_column_that_becomes_json(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"], pa.binary()).buffers())
    pq.write_table(pa.table({"reply": ["a"], "v": bad}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"reply": ["b"], "v": [1]}), tmp_path / "2.parquet")
    parse_files([tmp_path], tmp_path / "out.parquet", OPTIONS)
    assert [json.loads(row["v"]) for row in read(tmp_path / "out.parquet")] == ["\udcff", 1]


# Where things are


def test_a_folder_takes_a_file_for_each_that_is_read(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    write(table_of(5), tmp_path / "in" / "a.parquet")
    write(table_of(7), tmp_path / "in" / "deep" / "b.jsonl")
    (tmp_path / "in" / "notes.txt").write_text("not read")
    summary = parse_files(tmp_path / "in", tmp_path / "out", OPTIONS)
    assert summary.outputs == (tmp_path / "out" / "a.parquet", tmp_path / "out" / "deep" / "b.jsonl")
    assert [len(read(path)) for path in summary.outputs] == [5, 7]
    summary = parse_files(tmp_path / "in", f"{tmp_path}/again/", OPTIONS, format="csv")
    assert [path.name for path in summary.outputs] == ["a.csv", "b.csv"]


def test_a_pattern_is_read_in_the_order_of_names_and_without_the_output(tmp_path):
    for name in ("b", "a", "c"):
        jsonl(tmp_path / f"{name}.jsonl", {"reply": name})
    for _ in range(2):
        parse_files(f"{tmp_path}/[ac]*.jsonl", tmp_path / "out.jsonl", OPTIONS, overwrite=True)
    assert [row["reply"] for row in read(tmp_path / "out.jsonl")] == ["a", "c"]


@pytest.mark.parametrize(
    ("inputs", "output", "said"),
    [
        ("rows.jsnl", "out.jsonl", "no such file.*did you mean .*rows.jsonl"),
        ("x*.jsonl", "out.jsonl", "no file fits"),
        ("notes.txt", "out.jsonl", "the name does not say the format"),
        ("rows.jsonl", "out.txt", "the name does not say the format"),
        ("rows.jsonl", "rows.jsonl", "the output is one of the inputs"),
        ("empty", "out.jsonl", "no file to read"),
        ("rows.jsonl", "there.jsonl", "overwrite"),
        ("rows.jsonl", ".", "written over itself"),
        ("other", "other/", "other: the folder to read is the folder to write"),
        ("rows.jsonl", "-", "-: a run reads and writes files, not standard input and output"),
        ("-", "out.jsonl", "-: a run reads and writes files"),
        (["rows.jsonl", "other/rows.jsonl"], "folder", "would both be written"),
        ("text.jsonl", "out.jsonl", "'text' already.*prefix"),
        ("no_reply.jsonl", "out.jsonl", "did you mean 'replys'"),
        ("bad.parquet", "out.jsonl", "expected a file of parquet"),
        ("bad.arrow", "out.jsonl", "expected a file of arrow"),
        ("bad.jsonl.gz", "out.jsonl", "expected a file of gzip"),
        ("short.csv", "out.jsonl", "short.csv:3: expected 2 fields"),
        ("latin.csv", "out.jsonl", "latin.csv:5: expected UTF-8, got the byte 0xe9"),
        ("quote.csv", "out.jsonl", "quote.csv:3: expected a row of CSV, which begins here"),
        ("broken.parquet", "out.jsonl", "broken.parquet: expected a file of parquet"),
        ("twice.csv", "out.jsonl", "twice.csv:1: two columns are named 'reply'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(tmp_path, monkeypatch, inputs, output, said):
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "other"):
        Path(name).mkdir()
    for name in ("rows.jsonl", "there.jsonl", "other/rows.jsonl"):
        jsonl(Path(name), {"reply": "a"})
    for name in ("notes.txt", "bad.parquet", "bad.arrow", "bad.jsonl.gz"):
        Path(name).write_text("some words")
    jsonl(Path("text.jsonl"), {"reply": "a", "text": "b"})
    jsonl(Path("no_reply.jsonl"), {"replys": "a"})
    Path("short.csv").write_text("reply,b\n1,2\n3\n")
    Path("latin.csv").write_bytes(b'reply\r\nx\n"\xc3\xa9\r\n\n\xe9"\n')
    Path("quote.csv").write_text('reply\n1\n"abc\n\n\n')
    pq.write_table(pa.table({"reply": [f"words {number}" for number in range(5000)]}), "broken.parquet")
    data = Path("broken.parquet").read_bytes()
    Path("broken.parquet").write_bytes(data[:2000] + bytes(600) + data[2600:])
    Path("twice.csv").write_text("reply,reply\n1,2\n")
    with pytest.raises(xt.XMLToolsError, match=said):
        parse_files(inputs, output, OPTIONS)


def test_a_file_that_is_damaged_in_the_middle_is_named_and_the_error_says_how_to_go_on(tmp_path):
    (tmp_path / "in").mkdir()
    jsonl(tmp_path / "in" / "a.jsonl", {"reply": "a"})
    (tmp_path / "in" / "b.csv").write_bytes(b"reply\n" + b"x\n" * 9000 + b"\xe9\n")
    said = (
        r"b.csv:9002: expected UTF-8.*; correct the file, or take it out of the inputs, and begin anew with --overwrite"
    )
    with pytest.raises(xt.XMLToolsError, match=said):
        parse_files(tmp_path / "in", f"{tmp_path}/out/", OPTIONS)
    (tmp_path / "in" / "b.csv").unlink()
    assert parse_files(tmp_path / "in", f"{tmp_path}/out/", OPTIONS, overwrite=True).rows == 1


def test_half_characters_are_the_reason_why_a_column_became_json(tmp_path):
    half = "x\ud83d y"
    deep = json.loads("[" * 490 + "]" * 490)
    rows = [{"reply": half, "n": 1, "list": [{"a": "b"}], "late": "a", "both": half, "deep": "a"}] * (ROWS + 1)
    rows += [{"reply": "z", "n": half, "list": [{"a": half}], "late": half, "both": 2, "deep": deep}]
    jsonl(tmp_path / "in.jsonl", *rows)
    summary = parse_files(tmp_path / "in.jsonl", tmp_path / "out.parquet", OPTIONS)
    assert summary.json_columns == ("reply", "n", "list", "late", "both", "deep")
    assert summary.half_columns == ("reply", "list", "late")
    assert json.loads(read(tmp_path / "out.parquet")[0]["reply"]) == half


def test_an_output_that_was_changed_is_not_complete(tmp_path):
    jsonl(tmp_path / "in.jsonl", {"reply": "a"})
    parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", OPTIONS)
    assert parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", OPTIONS, resume=True).rows == 0
    (tmp_path / "out.jsonl").write_text("something else")
    with pytest.raises(xt.XMLToolsError, match="it was changed after the run that wrote it; --overwrite"):
        parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", OPTIONS, resume=True)


@pytest.mark.parametrize("jobs", [0, -1, True, 1.5])
def test_jobs_are_a_whole_number_from_1(tmp_path, jobs):
    jsonl(tmp_path / "in.jsonl", {"reply": "a"})
    with pytest.raises(xt.XMLToolsError, match="jobs"):
        parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", OPTIONS, jobs=jobs)


def test_an_added_key_in_a_later_line_is_named_with_its_place(tmp_path):
    lines = [{"reply": "a"}] * 1500 + [{"reply": "a", "calls": 5}]
    jsonl(tmp_path / "in.jsonl", *lines)
    for jobs in (1, 2):
        with pytest.raises(xt.XMLToolsError, match=r"in.jsonl:1501: there is a column 'calls' already"):
            parse_files(tmp_path / "in.jsonl", tmp_path / "out.jsonl", OPTIONS, jobs=jobs, overwrite=True)


# Going on


class Stop(Exception):
    pass


def stop_after(parts):
    def tell(progress):
        nonlocal parts
        parts -= 1
        if not parts:
            raise Stop

    return tell


@pytest.fixture
def many(tmp_path):
    """A folder of files, each a part of its own."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(8):
        write(table_of(20 + number), folder / f"{number}.jsonl")
    return folder


@pytest.mark.parametrize("output", ["out.jsonl", "out.parquet", "out.csv.gz", "folder/"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_was_stopped_goes_on_and_gives_the_same(tmp_path, many, output, jobs):
    whole = parse_files(many, f"{tmp_path}/whole/{output}", OPTIONS, jobs=1)
    out = f"{tmp_path}/{output}"
    with pytest.raises(Stop):
        parse_files(many, out, OPTIONS, jobs=jobs, on_progress=stop_after(3))
    with pytest.raises(xt.XMLToolsError, match="did not end; --resume"):
        parse_files(many, out, OPTIONS)
    told = []
    summary = parse_files(many, out, OPTIONS, jobs=jobs, resume=True, on_progress=told.append)
    assert summary.skipped_rows > 0 and summary.rows == whole.rows == told[-1].rows + told[-1].skipped_rows
    assert (summary.calls, summary.errors, summary.repairs) == (whole.calls, whole.errors, whole.repairs)
    assert told[-1].share == pytest.approx(1)
    assert [path.read_bytes() for path in summary.outputs] == [path.read_bytes() for path in whole.outputs]
    assert not list(tmp_path.glob("*.parts")) and not multiprocessing.active_children()


@pytest.mark.parametrize("left", [0, 1, 100, -1])
def test_a_part_that_the_disk_has_not_kept_is_made_again(tmp_path, many, left):
    whole = parse_files(many, tmp_path / "whole.jsonl", OPTIONS, jobs=1)
    out = tmp_path / "out.jsonl"
    with pytest.raises(Stop):
        parse_files(many, out, OPTIONS, jobs=1, on_progress=stop_after(3))
    part = sorted((tmp_path / "out.jsonl.parts").glob("*.part"))[1]
    part.write_bytes(part.read_bytes()[:left])
    summary = parse_files(many, out, OPTIONS, jobs=1, resume=True)
    assert (summary.rows, summary.calls) == (whole.rows, whole.calls)
    assert out.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_a_run_with_nothing_to_resume_begins_and_one_that_is_complete_is_left(tmp_path, many):
    out = tmp_path / "out.jsonl"
    assert parse_files(many, out, OPTIONS, resume=True).rows > 0
    before = out.stat().st_mtime_ns
    assert parse_files(many, out, OPTIONS, resume=True).rows == 0 and out.stat().st_mtime_ns == before
    os.utime(many / "0.jsonl", ns=(before + 10**9, before + 10**9))
    with pytest.raises(xt.XMLToolsError, match="made with other inputs than now"):
        parse_files(many, out, OPTIONS, resume=True)


@pytest.mark.parametrize("output", ["out.jsonl", "folder/"])
def test_a_run_that_has_ended_and_was_made_otherwise_is_not_taken_for_this_one(tmp_path, many, output):
    out = f"{tmp_path}/{output}"
    parse_files(many, out, OPTIONS, jobs=1)
    for options in (BatchOptions(strict=True), BatchOptions(tools=(xt.Tool(name="other"),))):
        with pytest.raises(xt.XMLToolsError, match="made with other options than now"):
            parse_files(many, out, options, resume=True)
    assert parse_files(many, out, OPTIONS, resume=True).rows == 0
    write(table_of(99), many / "3.jsonl")
    with pytest.raises(xt.XMLToolsError, match="made with other inputs than now"):
        parse_files(many, out, OPTIONS, resume=True)


def test_a_file_that_comes_new_is_added_to_a_folder_by_itself(tmp_path, many):
    out = f"{tmp_path}/folder/"
    parse_files(many, out, OPTIONS, jobs=1)
    write(table_of(9), many / "new.jsonl")
    with pytest.raises(xt.XMLToolsError, match=r"new\.jsonl: not in the output .* give it alone"):
        parse_files(many, out, OPTIONS, resume=True)
    assert parse_files(many / "new.jsonl", out, OPTIONS).rows == 9
    assert parse_files(many, out, OPTIONS, resume=True).rows == 0


@pytest.mark.parametrize("change", ["options", "inputs"])
def test_a_run_that_was_begun_otherwise_does_not_go_on(tmp_path, many, change):
    out = tmp_path / "out.jsonl"
    with pytest.raises(Stop):
        parse_files(many, out, OPTIONS, jobs=1, on_progress=stop_after(3))
    if change == "inputs":
        write(table_of(99), many / "3.jsonl")
    options = BatchOptions(strict=True) if change == "options" else OPTIONS
    with pytest.raises(xt.XMLToolsError, match=f"begun with other {change} than now"):
        parse_files(many, out, options, resume=True)
    assert parse_files(many, out, options, overwrite=True).rows == len(read(out))


def test_a_folder_of_somebody_else_is_not_removed(tmp_path, many):
    (tmp_path / "out.jsonl.parts").mkdir()
    (tmp_path / "out.jsonl.parts" / "thesis.txt").write_text("mine")
    for how in ({"resume": True}, {"overwrite": True}):
        with pytest.raises(xt.XMLToolsError, match="expected parts of a run, found 'thesis"):
            parse_files(many, tmp_path / "out.jsonl", OPTIONS, **how)
    assert (tmp_path / "out.jsonl.parts" / "thesis.txt").read_text() == "mine"


def test_a_worker_that_is_killed_is_one_error_that_names_its_rows(tmp_path, many):
    def kill(progress):
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGKILL)

    out = tmp_path / "out.jsonl"
    with pytest.raises(
        xt.XMLToolsError, match=r"a worker ended \(exit code -9\) while it parsed \d+ rows of .*\.jsonl"
    ):
        parse_files(many, out, OPTIONS, jobs=2, on_progress=kill)
    assert not multiprocessing.active_children()
    assert parse_files(many, out, OPTIONS, jobs=2, resume=True).rows == len(read(out)) == sum(range(20, 28))


def test_an_interrupt_ends_the_run_and_its_workers_at_once(tmp_path, many):
    with pytest.raises(KeyboardInterrupt):
        parse_files(
            many, tmp_path / "out.jsonl", OPTIONS, jobs=2, on_progress=lambda _: signal.raise_signal(signal.SIGINT)
        )
    assert not multiprocessing.active_children() and not (tmp_path / "out.jsonl").exists()


def test_pieces_do_not_depend_on_the_number_of_processes_and_are_bounded(tmp_path):
    long = [{"reply": "x" * 1_000_000}] * 9 + [{"reply": "y"}] * 5000
    source = jsonl(tmp_path / "in.jsonl", *long)
    (found,) = find_sources(source, "out")
    sizes = [(piece.rows, len(piece.data)) for piece in read_pieces(found)]
    assert sum(rows for rows, _ in sizes) == 5009 and len(sizes) == 8
    assert all(rows <= ROWS and size < SIZE + 1_100_000 for rows, size in sizes)
    pq.write_table(pa.Table.from_pylist(long), tmp_path / "in.parquet")
    (found,) = find_sources(tmp_path / "in.parquet", "out")
    pieces = [(piece.rows, piece.first, len(piece.data)) for piece in read_pieces(found)]
    assert all(rows <= ROWS and size < SIZE + 100_000 for rows, _, size in pieces)
    assert [first for _, first, _ in pieces] == [1 + sum(each[0] for each in pieces[:at]) for at in range(len(pieces))]


# What the report reads


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "arrow", "csv"])
def test_outputs_are_read_back(tmp_path, ending):
    write(table_of(50), tmp_path / f"in.{ending}")
    summary = parse_files(tmp_path / f"in.{ending}", tmp_path / f"out.{ending}", OPTIONS)
    assert summary.inputs == (tmp_path / f"in.{ending}",)
    (source,) = find_sources(summary.outputs, "")
    found = list(rows_of_file(source, OPTIONS, "id"))
    assert [(row.texts, row.by) for row in found] == [({0: each}, str(n)) for n, each in enumerate(replies(50))]
    assert [row.calls for row in found] == [row["calls"] for row in parse_table(table_of(50), OPTIONS).to_pylist()]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_a_key_that_comes_late_is_a_column(tmp_path, ending):
    lines = [json.dumps({"id": number}) for number in range(2_000)]
    lines.append(json.dumps({"reply": BLOCK.format(1), "outils é": [{"name": "add"}]}))
    path = tmp_path / f"in.{ending}"
    opened = gzip.open if ending.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    summary = parse_files(path, tmp_path / "out.jsonl", BatchOptions(tools_column="outils é"), jobs=1)
    assert (summary.rows, summary.calls) == (2_001, 1)
    with pytest.raises(xt.XMLToolsError, match="there is no column 'outil'"):
        parse_files(path, tmp_path / "other.jsonl", BatchOptions(tools_column="outil"), jobs=1)


@pytest.mark.parametrize("options", [{"tools_column": "tools"}, {"column": "tools"}, {"tools_column": "content"}])
def test_a_key_inside_a_value_is_no_column_and_nor_is_a_value(tmp_path, options):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"reply": "content", "request": {"tools": []}}), "utf-8")
    with pytest.raises(xt.XMLToolsError, match=r"there is no column '(tools|content)'"):
        parse_files(path, tmp_path / "out.jsonl", BatchOptions(**options), jobs=1)
    assert not (tmp_path / "out.jsonl").exists()
