"""The report of a batch run: its numbers, what it makes of hostile content, and how it looks to a browser."""

import base64
import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyarrow.parquet")

from xmltools.batch import BatchOptions, parse_table, write_report  # noqa: E402
from xmltools.batch.report.page import percent, text  # noqa: E402
from xmltools.batch.report.tally import Sizes, Tools, fold  # noqa: E402
from xmltools.batch.report.worst import Gap, Line, cut_out  # noqa: E402
from xmltools.errors import XMLToolsError  # noqa: E402
from xmltools.extras import install_line  # noqa: E402
from xmltools.lint import CODES  # noqa: E402
from xmltools.syntax.lines import Lines  # noqa: E402
from xmltools.tools import Tool  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
TOOLS = (
    Tool(
        name="add",
        parameters={
            "type": "object",
            "properties": {"a": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["a"],
        },
    ),
    Tool(name="search", server="web", parameters={"type": "object", "properties": {"query": {"type": "string"}}}),
)


def add(a, note=""):
    extra = f"<note>{note}</note>" if note else ""
    return f"<tool><tool_name>add</tool_name><arguments><a>{a}</a>{extra}</arguments></tool>"


SEARCH = (
    "<tool><server_name>web</server_name><tool_name>search</tool_name><arguments><query>x</query></arguments></tool>"
)
REPLIES = [
    "Hello",
    None,
    add(1),
    add("+2"),
    f"Two.\n{add(3)}\n{SEARCH}",
    f"first line\nsecond line\n{add('five')}\nlast line\n{add('six')}",
    "<tool><tool_name>subtract</tool_name></tool>",
    f"{add('+7', 'x & y')}",
]


def output(replies, **options):
    options = BatchOptions(**{"tools": TOOLS} | options)
    return parse_table(pa.table({options.column: replies}), options)


def report(table, tmp_path, size=None, **named):
    target = tmp_path / "report.html"
    write_report(table.to_batches(max_chunksize=size), target, **{"column": "reply"} | named)
    return html.fromstring(target.read_bytes())


def said(element):
    """The text of an element with white space as a reader sees it."""
    return " ".join(element.text_content().split())


def rows(page, id):
    """The rows of a panel's first table, as text without what is empty."""
    found = page.xpath(f"//section[@aria-labelledby={id!r}]//table")[0].xpath("./tbody/tr")
    return [[said(cell) for cell in row if said(cell)] for row in found]


def total(page, name):
    return said(page.xpath(f"//div[@id='total-{name}']/dd")[0])


def panel(page, id):
    return page.xpath(f"//section[@aria-labelledby={id!r}]")[0]


def as_json(table, *names):
    for name in names:
        column = pa.array([json.dumps(value) for value in table[name].to_pylist()])
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def test_the_totals_are_those_of_the_run(tmp_path):
    page = report(output(REPLIES), tmp_path)
    assert total(page, "rows") == f"8 {sum(map(len, filter(None, REPLIES))):,} characters"
    assert total(page, "rows-with-calls") == "4 50.0 % of all"
    assert total(page, "calls") == "5 of 2 tools"
    assert total(page, "clean") == "60.0 % 3 of 5"
    assert total(page, "failed") == "25.0 % 2 of 8"


def test_calls_are_counted_by_tool_and_server(tmp_path):
    page = report(output(REPLIES), tmp_path)
    assert rows(page, "tools") == [["add", "4", "2", "2"], ["search web", "1", "1", "0"]]
    assert [rect.get("width") for rect in panel(page, "tools").xpath(".//rect")] == ["50.000%", "50.000%", "25.000%"]


def test_codes_are_counted_with_their_meaning(tmp_path):
    page = report(output(REPLIES), tmp_path)
    assert [row[:1] + row[2:] for row in rows(page, "errors")] == [
        ["invalid_arguments", "2", "66.7 %"],
        ["unknown_tool", "1", "33.3 %"],
    ]
    assert [row[:1] + row[2:] for row in rows(page, "repairs")] == [
        ["coerced_value", "2", "66.7 %"],
        ["bare_ampersand", "1", "33.3 %"],
    ]
    for code, meaning, *_ in rows(page, "errors") + rows(page, "repairs"):
        assert CODES[code].meaning.startswith(meaning)


FOREIGN = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'


def test_foreign_calls_are_counted_and_shown(tmp_path):
    page = report(output([*REPLIES, FOREIGN, f"{FOREIGN}\n<function=add></function>"]), tmp_path, size=9)
    assert total(page, "foreign") == "3 stayed text, in 2 rows"
    assert rows(page, "foreign") == [["hermes", "2", "2", "0"], ["qwen3_coder", "1", "1", "0"]]
    assert "--dialect hermes" in said(panel(page, "foreign"))
    shown = [article for article in page.xpath("//article") if article.get("class") == "foreign"]
    assert {said(article.xpath("./header/h3")[0]) for article in shown} == {"Row 8", "Row 9"}
    assert shown[0].xpath(".//mark")[0].text_content() == FOREIGN
    page = report(output(REPLIES), tmp_path)
    assert total(page, "foreign") == "0 none" and not page.xpath("//section[@aria-labelledby='foreign']")


def test_foreign_calls_that_were_asked_for_are_told_from_those_that_stayed_text(tmp_path):
    page = report(output([FOREIGN, f"{FOREIGN}\n<function=add></function>", add(1)], also="hermes"), tmp_path)
    assert rows(page, "foreign") == [["hermes", "2", "0", "2"], ["qwen3_coder", "1", "1", "0"]]
    assert total(page, "calls") == "3 of 1 tool"
    assert total(page, "foreign") == "3 1 stayed text, 2 read, in 2 rows"
    assert total(page, "clean") == "100 % 3 of 3" and rows(page, "tools") == [["add", "3", "3", "0"]]
    assert panel(page, "repairs").xpath(".//p[@class='none']")
    assert [said(badge) for badge in page.xpath("//span[contains(@class, 'badge')]")] == ["qwen3_coder"]
    slip = FOREIGN.replace('{"a": 1}', '{"a": "+1"}')
    page = report(output([slip, add(1)], also="hermes"), tmp_path)
    assert total(page, "foreign") == "1 read, in 1 row" and total(page, "clean") == "50.0 % 1 of 2"
    assert [row[0] for row in rows(page, "repairs")] == ["coerced_value"]


def test_the_worst_rows_are_spread_over_the_codes(tmp_path):
    broken, unknown = add("five"), "<tool><tool_name>subtract</tool_name></tool>"
    replies = [broken * 3] * 50 + [unknown, FOREIGN, add("+5"), add(5)]
    for size in (None, 7):
        page = report(output(replies), tmp_path, size=size)
        found = [said(each) for each in page.xpath("//article/header/h3")]
        assert found[:4] == ["Row 0", "Row 50", "Row 51", "Row 52"]
        assert found[4:] == [f"Row {number}" for number in range(1, 10)]


def test_a_row_is_shown_with_the_code_for_which_it_was_chosen_first(tmp_path):
    page = report(output([add("five") * 2, add("five") * 9 + add(5, "x & y")]), tmp_path)
    first, second = page.xpath("//article")
    assert said(first.xpath("./header/h3")[0]) == "Row 1"
    assert said(first.xpath(".//p[@class='said']")[0]).startswith("invalid_arguments")
    page = report(output([add("five") * 11, add("five") * 9 + add(5, "x & y")]), tmp_path)
    first, second = page.xpath("//article")
    assert said(second.xpath("./header/h3")[0]) == "Row 1"
    assert said(second.xpath(".//p[@class='said']")[0]).startswith("bare_ampersand")


def with_models(replies, models):
    return output(replies).append_column("model", pa.array(models))


def group(page, name):
    return next(row for row in rows(page, "groups") if row[0] == name)


@pytest.mark.parametrize("size", [None, 1, 3])
def test_figures_are_given_by_a_column(size, tmp_path):
    table = with_models(REPLIES, ["a", "a", "b", "b", "a", "b", "b", None])
    page = report(table, tmp_path, size=size, by="model")
    assert said(panel(page, "groups").xpath(".//thead//th")[0]) == "model"
    assert [row[:7] for row in rows(page, "groups")] == [
        ["b", "4", "50.0 %", "2", "50.0 %", "50.0 %", "0"],
        ["a", "3", "33.3 %", "2", "100 %", "0 %", "0"],
        ["no value", "1", "100 %", "1", "0 %", "0 %", "0"],
    ]
    assert group(page, "b")[7] == "invalid_arguments × 2 unknown_tool × 1 coerced_value × 1"


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_the_tallies_of_groups_add_up_to_those_of_all(ending, tmp_path):
    table = with_models([*REPLIES, FOREIGN], [1.5, None, 2, 2, 1.5, 2, 2, None, 7])
    target = tmp_path / f"tallies.{ending}"
    write_report(table.to_batches(max_chunksize=4), column="reply", by="model", tallies=target)
    sums = {"all": {}, "groups": {}}
    for each in read_tallies(target):
        key = tuple(each[name] or None for name in ("tally", "server", "name", "from", "to"))
        counts = sums["all" if each["group_kind"] == "all" else "groups"]
        counts[key] = counts.get(key, 0) + int(each["value"])
    assert sums["all"] == sums["groups"]
    names = {(each["group_kind"], each["group"] or None) for each in read_tallies(target)}
    assert names == {("all", None), ("value", "1.5"), ("value", "2.0"), ("value", "7.0"), ("missing", "(missing)")}
    assert list(tmp_path.iterdir()) == [target]


def test_of_many_values_the_later_ones_are_counted_together(tmp_path):
    values = [f"model {number}" for number in range(250)]
    page = report(with_models([add(1)] * 250, values), tmp_path, size=40, by="model")
    assert "The first 100 values are told apart." in said(panel(page, "groups"))
    tables = panel(page, "groups").xpath(".//table")
    shown = [[said(cell) for cell in row] for table in tables for row in table.xpath("./tbody/tr")]
    assert len(shown) == 101 and shown[12][:4] == ["other values", "150", "100 %", "150"]


def test_the_values_of_a_column_may_be_anything(tmp_path):
    long = "x" * 300
    values = ["<script>alert(1)</script>", "(other)", "", None, f"{long}1", f"{long}2", "\u202e\x1b[31m", "(missing)"]
    page = report(with_models(REPLIES, values), tmp_path, by="model")
    names = [row[0] for row in rows(page, "groups")]
    assert {"<script>alert(1)</script>", "(other)", "(missing)", "no value", "U+202EU+001B[31m"} <= set(names)
    assert len(names) == 7 and max(map(len, names)) < 200
    assert not page.xpath("//script")
    for value in ({"a": [1]}, [1, 2], datetime(2026, 1, 2), b"bytes"):
        table = output([add(1)]).append_column("model", pa.array([value]))
        assert len(rows(report(table, tmp_path, by="model"), "groups")) == 1


def test_a_column_that_is_not_there_is_an_error_that_lists_those_that_are(tmp_path):
    with pytest.raises(XMLToolsError, match=r"there is no column 'model' .*it has 'reply', 'text'"):
        report(output(REPLIES), tmp_path, by="model")


def test_the_page_says_what_was_run(tmp_path):
    about = {"Input": ["<b>.jsonl (1 kB)", "2", "3", "4"], "Tools": ["none"]}
    page = report(output(REPLIES), tmp_path, about=about)
    lines = page.xpath("//dl[@class='about']//*[self::dt or self::div or self::summary]")
    assert [said(line) for line in lines] == ["Input", "<b>.jsonl (1 kB)", "2", "3", "1 more", "4", "Tools", "none"]


def test_rows_of_several_files_are_counted_in_each(tmp_path):
    table = output([add(1), add("five")])
    files = {"a.jsonl": table.to_batches(), "b.jsonl": iter(table.to_batches(max_chunksize=1))}
    write_report(files, tmp_path / "report.html", column="reply")
    page = html.fromstring((tmp_path / "report.html").read_bytes())
    assert [said(each) for each in page.xpath("//article/header/h3")] == ["Row 1 of a.jsonl", "Row 1 of b.jsonl"]
    assert total(page, "rows").startswith("4 ")


def test_sizes_and_calls_per_row_are_counted(tmp_path):
    table = output(REPLIES)
    sizes = sorted(len(call["arguments"]) for calls in table["calls"].to_pylist() for call in calls)
    page = report(table, tmp_path)
    assert [said(page.get_element_by_id(f"sizes-{name}")) for name in ("median", "p95", "max")] == [
        str(sizes[2]),
        str(sizes[-1]),
        str(sizes[-1]),
    ]
    assert rows(page, "sizes") == [["4 to 7", "3"], ["8 to 15", "1"], ["16 to 31", "1"]]
    assert rows(page, "per-row") == [["0 calls", "4"], ["1 call", "3"], ["2 calls", "1"]]


def test_numbers_of_calls_that_no_row_has_are_shown_too(tmp_path):
    found = rows(report(output([add(1), add(1) * 20]), tmp_path), "per-row")
    assert [count for _, count in found] == ["0", "1", "0", "0", "0", "0", "0", "0", "0", "0", "1"]
    assert [name for name, _ in found[-2:]] == ["9–16 calls", "17–32 calls"]


def test_the_worst_rows_come_first_with_their_source_marked(tmp_path):
    page = report(output(REPLIES), tmp_path)
    articles = page.xpath("//article")
    assert [said(article.xpath("./header/h3")[0]) for article in articles] == ["Row 5", "Row 6", "Row 7", "Row 3"]
    assert said(articles[0].xpath("./header/p[1]")[0]) == "2 errors"
    assert said(articles[0].xpath("./header/p[2]")[0]) == "invalid_arguments × 2"
    first, second = articles[0].xpath(".//pre")
    assert first.xpath(".//mark")[0].text_content() == add("five")
    assert [number.text for number in first.xpath("./span[@class='number']")] == ["1", "2", "3", "4", "5"]
    assert second.xpath(".//mark")[0].text_content() == add("six")
    assert "tool add · line 3, column 1" in said(articles[0])
    assert "Hint Correct these arguments" in said(articles[0])
    assert [mark.text_content() for mark in articles[2].xpath(".//mark")] == ["<", "&"]


@pytest.mark.parametrize(
    "change",
    [
        lambda table: as_json(table, "calls", "errors", "repairs", "notices"),
        lambda table: as_json(table, "errors"),
        lambda table: table.cast(
            pa.schema(
                [field.with_type(pa.large_string()) if field.name == "reply" else field for field in table.schema]
            )
        ),
        lambda table: table.set_column(0, "reply", table["reply"].dictionary_encode()),
        lambda table: (
            table.slice(0, 3).combine_chunks().slice(0) if False else pa.concat_tables([table[:3], table[3:]])
        ),
    ],
    ids=["all lists as JSON", "one list as JSON", "large strings", "a dictionary", "chunks"],
)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_the_form_of_the_data_and_its_batches_make_no_difference(change, size, tmp_path):
    now = datetime(2026, 1, 2, tzinfo=UTC)
    table = output(REPLIES)
    write_report(table.to_batches(), tmp_path / "plain.html", column="reply", now=now)
    write_report(change(table).to_batches(max_chunksize=size), tmp_path / "other.html", column="reply", now=now)
    assert (tmp_path / "plain.html").read_text() == (tmp_path / "other.html").read_text()


def test_other_columns_a_prefix_and_a_title_are_honoured(tmp_path):
    table = output(REPLIES, column="answer", prefix="x_").append_column("calls", pa.array(range(8)))
    now = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    page = report(table, tmp_path, column="answer", prefix="x_", title="Night & day", now=now)
    assert total(page, "calls") == "5 of 2 tools"
    assert said(page.xpath("//h1")[0]) == "Night & day"
    assert page.xpath("//title")[0].text == "Night & day · xmltools"
    assert page.xpath("//time")[0].get("datetime") == "2026-03-04T05:06:00+00:00"


@pytest.mark.parametrize("form", [lambda value: value, json.dumps], ids=["structs", "JSON"])
def test_messages_are_shown_with_their_index(form, tmp_path):
    conversation = [
        {"role": "user", "content": add("not parsed")},
        {"role": "assistant", "content": f"One.\n{add('one')}"},
        {"role": "user", "content": "Again."},
        {"role": "assistant", "content": f"\n\n{add('+2')}"},
    ]
    page = report(output([form(conversation)], messages=True), tmp_path, messages=True)
    places = [said(place) for place in page.xpath("//div[contains(@class, 'problem')]/p[2]")]
    assert places == ["tool add · message 1 · line 2, column 1", "call of add · message 3 · line 3, column 44"]
    assert [mark.text_content() for mark in page.xpath("//mark")] == [add("one"), "<"]
    length = sum(len(message["content"]) for message in conversation if message["role"] == "assistant")
    assert total(page, "rows") == f"1 {length} characters"


def test_rows_that_fail_as_a_whole_are_told_without_a_place(tmp_path):
    page = report(output(["{", '[{"role": 1}]', None], messages=True), tmp_path, messages=True)
    assert rows(page, "errors") == [["invalid_messages", "The row's messages could not be read", "2", "100 %"]]
    assert [said(place) for place in page.xpath("//div[contains(@class, 'problem')]/p[2]")] == [
        "message 0 · the row as a whole"
    ] * 2
    assert not page.xpath("//pre")


@pytest.mark.parametrize(
    ("replies", "sentences"),
    [
        ([], 6),
        (["Hello", None, ""], 6),
        ([add(1)], 3),
    ],
)
def test_what_has_no_data_is_a_sentence_and_no_empty_frame(replies, sentences, tmp_path):
    page = report(output(pa.array(replies, pa.string())), tmp_path)
    assert len(page.xpath("//p[@class='none']")) == sentences
    assert not [table for table in page.xpath("//table") if not table.xpath("./tbody/tr")]
    assert not [drawing for drawing in page.xpath("//figure//*[name()='svg']") if not drawing.xpath(".//rect")]
    assert total(page, "failed").startswith("0 %" if replies else "–")


def test_a_run_without_any_batch_is_a_page_too(tmp_path):
    write_report([], tmp_path / "report.html", column="reply")
    assert total(html.fromstring((tmp_path / "report.html").read_bytes()), "rows") == "0 0 characters"


def read_tallies(target):
    if target.suffix == ".json":
        return [
            dict.fromkeys(("server", "name", "from", "to")) | each for each in json.loads(target.read_text("utf-8"))
        ]
    if target.suffix == ".csv":
        with target.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    return pa.parquet.read_table(target).to_pylist()


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_groups_with_line_breaks_in_their_values_are_rows_of_tallies(ending, tmp_path):
    values = ["a\rb", "c\n", "d,e"]
    table = output(REPLIES[:3]).append_column("model", pa.array(values))
    target = tmp_path / f"tallies.{ending}"
    write_report(table.to_batches(), column="reply", by="model", tallies=target)
    found = [each["group"] for each in read_tallies(target) if each["name"] == "rows" and each["group"]]
    assert sorted(found) == values


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_the_tallies_are_written_for_other_plots(ending, tmp_path):
    target = tmp_path / f"tallies.{ending}"
    batches = output([*REPLIES, FOREIGN], also="qwen3_coder").to_batches(max_chunksize=3)
    write_report(batches, tmp_path / "report.html", column="reply", tallies=target)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", target.name}
    names = ("server", "name", "from", "to", "value")
    found = [
        (each["tally"], *(str(each[name]) for name in names if each[name] not in (None, "")))
        for each in read_tallies(target)
    ]
    assert found == [
        ("totals", "rows", "9"),
        ("totals", "rows_with_calls", "4"),
        ("totals", "rows_with_errors", "2"),
        ("totals", "rows_with_repairs", "2"),
        ("totals", "rows_with_foreign_calls", "1"),
        ("totals", "characters", str(sum(map(len, filter(None, [*REPLIES, FOREIGN]))))),
        ("totals", "calls", "5"),
        ("totals", "clean_calls", "3"),
        ("clean_calls", "local", "add", "2"),
        ("clean_calls", "web", "search", "1"),
        ("repaired_calls", "local", "add", "2"),
        ("errors", "invalid_arguments", "2"),
        ("errors", "unknown_tool", "1"),
        ("repairs", "coerced_value", "2"),
        ("repairs", "bare_ampersand", "1"),
        ("foreign_calls", "hermes", "1"),
        ("argument_sizes", "4", "7", "3"),
        ("argument_sizes", "8", "15", "1"),
        ("argument_sizes", "16", "31", "1"),
        ("calls_per_row", "0", "0", "5"),
        ("calls_per_row", "1", "1", "3"),
        ("calls_per_row", "2", "2", "1"),
    ]


def test_what_tallies_are_is_said_by_the_name_of_their_file(tmp_path):
    with pytest.raises(XMLToolsError, match=r"expected a name that ends with \.json, \.csv, \.parquet, got"):
        write_report([], column="reply", tallies=tmp_path / "tallies.xlsx")
    with pytest.raises(XMLToolsError, match="expected a file for the page, or tallies"):
        write_report([], column="reply")


def test_where_jinja_is_missing_the_error_says_how_to_get_it():
    program = "import sys; sys.modules['jinja2'] = None; from xmltools.batch import write_report"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"need the library jinja2: {install_line('batch')}" in answer.stderr


HOSTILE = (
    "</style></script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">\n"
    "]]> --> <!-- \x00\x1b[31m \u202egnp.exe\u2066 zero\u200bwidth \ufeff\u2028 \U000e0041\n"
    "<tool><tool_name><b onclick='1'>x</b></tool_name></tool>\n"
    + add("<script>alert(1)</script>", "</code>")
    + "<tool><tool_name>\u202e<svg/onload=alert(1)></tool_name></tool>"
)


@pytest.fixture
def hostile(tmp_path):
    """A page about content that would like to run, to steer, or to be endless."""
    line = "<p>" * 2_000_000
    replies = [
        HOSTILE,
        f"{line}{add('x')}{line}",
        f"{add('y')}\n" * 300,
        "<tool><tool_name>add</tool_name><arguments><a>" + "\n" * 100_000,
        '<tool>{"tool_name": "\\ud800", "arguments": {}}</tool>',
        add(1, "<a href='https://example.org/'><link rel=stylesheet href=//example.org/x.css>"),
    ]
    table = output(replies)
    loose = output([f"<tool><tool_name>{name}</tool_name></tool>" for name in ("'\"`", "\u202egnp", "&lt;i&gt;")])
    everything = pa.concat_tables([table, output([HOSTILE], tools=None), loose])
    target = tmp_path / "<b>&.html"
    models = [HOSTILE, "<b>", "x" * 5000, None, HOSTILE, "a b c", "é", "<b>", "&amp;", "", "x" * 5001]
    everything = everything.append_column("<i>by" * 80, pa.array((models * 3)[: everything.num_rows]))
    about = {"Input": [f"{HOSTILE} {'y' * 500}"] * 30, "<i>": ["<img src=x>"]}
    title = "<script>alert(1)</script>\u202e"
    files = {"<i>1": everything.to_batches(), "2": []}
    write_report(files, target, column="reply", by="<i>by" * 80, about=about, title=title)
    return target


def test_hostile_content_is_inert_and_bounded(hostile):
    source = hostile.read_text("utf-8")
    page = html.fromstring(source)
    assert len(source) < 250_000
    assert not page.xpath("//script | //img | //b | //iframe | //object | //form | //p/i")
    assert not page.xpath("//@*[starts-with(name(), 'on') or name() = 'style']")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", source)
    shown = {said(character) for character in page.xpath("//span[@class='unseen-character']")}
    assert {"U+0000", "U+001B", "U+202E", "U+2066", "U+200B", "U+FEFF", "U+2028", "U+E0041"} <= shown
    assert "<script>document.title='taken'</script>" in page.text_content()
    assert max(len(line.text_content()) for line in page.xpath("//pre/span")) < 300
    assert max(len(pre.xpath("./span")) for pre in page.xpath("//pre")) <= 2 * 15


def test_the_page_refers_to_nothing_and_takes_its_own_style_only(hostile):
    page = html.fromstring(hostile.read_text("utf-8"))
    assert [link[:26] for link in page.xpath("//@href | //@src | //@srcset | //@action")] == [
        "data:image/svg+xml;base64,"
    ]
    style = page.xpath("//style")[0].text
    assert not re.search(r"@import|url\(|expression|http", style)
    policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_headings_tables_and_drawings_can_be_heard(tmp_path):
    page = report(output(REPLIES), tmp_path)
    assert [heading.tag for heading in page.xpath("//h1 | //h2")] == ["h1"] + ["h2"] * 6
    assert all(said(table.xpath("./caption")[0]) for table in page.xpath("//table"))
    assert all(row[0].tag == "th" for table in page.xpath("//table") for row in table.xpath("./tbody/tr"))
    drawings = page.xpath("//*[name()='svg'][ancestor::main]")
    assert all(drawing.get("aria-hidden") == "true" or drawing.get("aria-label") for drawing in drawings)
    assert "16 to 31: 1" in page.xpath("//figure/*[name()='svg']/@aria-label")[0]
    ids = page.xpath("//@id")
    assert len(ids) == len(set(ids))
    assert set(page.xpath("//@aria-labelledby")) <= set(ids)


def test_the_memory_does_not_grow_with_the_number_of_rows(tmp_path):
    row = f"{'text ' * 200}{add(5)}\n{add('five')}\n{add('+6')}"
    tables = [output([row.replace("text", f"t{number:03}")] * 100) for number in range(10)]
    tables = [table.append_column("id", pa.array(range(place, 1000, 10))) for place, table in enumerate(tables)]

    def batches(count, seen):
        for number in range(count):
            yield from tables[number % len(tables)].to_batches()
            seen.append(pa.total_allocated_bytes())

    def peaks(count):
        seen = []
        tracemalloc.start()
        write_report(batches(count, seen), tmp_path / "report.html", column="reply", by="id")
        traced = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return traced, max(seen)

    peaks(5)  # what is loaded and remembered for good
    few, many = peaks(10), peaks(110)
    # Batches are garbage in cycles, which is collected now and then.
    added = sum(table.nbytes for table in tables) * 10
    assert added > 13_000_000
    assert many[0] - few[0] < added / 80
    assert many[1] < 1.1 * few[1]


def test_any_number_of_tools_is_counted_in_bounded_memory():
    tools = Tools(10_000)
    for number in range(60_000):
        if number % 200 == 0:
            tools.add(("local", "often"), True)
        tools.add(("local", f"tool{number}"), number % 2 == 0)
        assert len(tools.counts) <= 10_000
    (often, calls), *others = tools.ranked()
    assert (often, calls) == (("local", "often"), {"clean": 300})
    assert sum((counts for _, counts in others), tools.others) == {"clean": 30_000, "repaired": 30_000}


def test_of_more_than_thirty_tools_the_rest_is_one_row(tmp_path):
    replies = [f"<tool><tool_name>t{n:02}</tool_name></tool>" * (40 - n) for n in range(40)]
    found = rows(report(output(replies, tools=None), tmp_path), "tools")
    assert len(found) == 31
    assert found[0] == ["t00", "40", "40", "0"]
    assert found[-1] == ["10 other tools", "55", "55", "0"]


@given(st.lists(st.integers(0, 10**7), min_size=1), st.sampled_from([0.5, 0.95, 1.0]))
def test_a_quantile_is_exact_to_one_per_cent(values, share):
    sizes = Sizes()
    for value in values:
        sizes.add(value)
    exact = sorted(values)[max(-(-int(share * 1000) * len(values) // 1000), 1) - 1]
    assert abs(sizes.quantile(share) - exact) <= exact / 100
    assert sum(count for _, count in sizes.classes()) == len(values)


@given(st.integers(0, 10**6))
def test_each_number_of_calls_has_one_class(length):
    first, last = fold(length)
    assert first <= length <= last
    assert fold(first) == fold(last) == (first, last)


@given(st.text(st.sampled_from("ab\n\r\t<\u202e")), st.integers(-3, 60), st.integers(-3, 60))
def test_an_excerpt_shows_the_lines_of_the_text(source, start, end):
    excerpt = cut_out(source, Lines(source), start, end)
    lines = source.split("\n")
    assert 1 <= excerpt.line <= len(lines)
    for line in excerpt.lines:
        if isinstance(line, Line) and line.marked not in ("↵", "end of text"):
            assert line.before + line.marked + line.after in (lines[line.number - 1], lines[line.number - 1][:-1])
    numbers = [line.number if isinstance(line, Line) else line.lines for line in excerpt.lines]
    assert sum(map(bool, numbers)) == len(numbers)
    if 0 <= start < end <= len(source):
        marked = "\n".join(line.marked for line in excerpt.lines if isinstance(line, Line) and line.marked)
        assert source[start:end].strip("\n\r") in marked or "↵" in marked or source[start:end].count("\n") > 0


def test_a_long_place_is_shown_by_its_first_and_last_lines():
    lines = [f"line {number}" for number in range(1, 101)]
    source = "\n".join(lines)
    excerpt = cut_out(source, Lines(source), source.index("line 10"), source.index("line 91") - 1)
    numbers = [line.number if isinstance(line, Line) else line for line in excerpt.lines]
    assert numbers == [7, 8, 9, 10, 11, 12, 13, 14, Gap(74), 89, 90, 91, 92, 93]
    assert [line.marked for line in excerpt.lines if isinstance(line, Line)] == [
        "", "", "", "line 10", "line 11", "line 12", "line 13", "line 14", "line 89", "line 90", "", "", "",
    ]  # fmt: skip


@given(st.text())
def test_text_in_the_page_reads_as_it_was(value):
    paragraph = html.fromstring(f"<p>{text(value)}</p>")
    characters = [chr(int(span.text.removeprefix("U+"), 16)) + (span.tail or "") for span in paragraph]
    assert (paragraph.text or "") + "".join(characters) == value


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 0, "0 %"), (0, 9, "0 %"), (9, 9, "100 %"), (1, 9, "11.1 %"), (1, 10**6, "< 0.1 %"),
        (10**6 - 1, 10**6, "> 99.9 %"), (1, 2, "50.0 %"),
    ],
)  # fmt: skip
def test_only_all_is_a_hundred_per_cent(part, whole, shown):
    assert percent(part, whole) == shown


def replaced(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize(
    ("change", "named", "message"),
    [
        (lambda table: table, {"column": "answer"}, "there is no column 'answer'"),
        (lambda table: table, {"prefix": "x_"}, "there is no column 'x_calls' .* give the prefix"),
        (lambda table: table.append_column("calls", pa.nulls(8)), {}, "several columns 'calls'"),
        (lambda table: replaced(table, "calls", ["{"] * 8), {}, "text that is no JSON"),
        (lambda table: replaced(table, "calls", ["[1]"] * 8), {}, "JSON of another shape"),
        (lambda table: replaced(table, "errors", [1] * 8), {}, "'errors': expected lists .* got int64"),
        (lambda table: replaced(table, "repairs", [[{"code": "x"}]] * 8), {}, "'repairs': expected lists"),
    ],
)
def test_what_is_no_output_of_a_run_is_refused(change, named, message, tmp_path):
    with pytest.raises(XMLToolsError, match=message):
        write_report(change(output(REPLIES)).to_batches(), tmp_path / "report.html", **{"column": "reply"} | named)
    assert list(tmp_path.iterdir()) == []


def test_a_table_is_not_taken_for_batches(tmp_path):
    with pytest.raises(XMLToolsError, match=r"expected Arrow record batches, .* got ChunkedArray"):
        write_report(output(REPLIES), tmp_path / "report.html", column="reply")


def test_a_report_that_cannot_be_written_is_told_before_anything_is_read(tmp_path):
    def batches():
        raise AssertionError("read")
        yield

    for target in (tmp_path / "nowhere" / "report.html", tmp_path):
        with pytest.raises(XMLToolsError, match="expected a file name in a folder that exists"):
            write_report(batches(), target, column="reply")


def test_a_failed_report_leaves_the_old_one(tmp_path):
    target = tmp_path / "report.html"
    write_report(output(REPLIES).to_batches(), target, column="reply")
    old = target.read_bytes()
    with pytest.raises(XMLToolsError):
        write_report(output(REPLIES).to_batches(), target, column="other")
    assert target.read_bytes() == old
    assert list(tmp_path.iterdir()) == [target]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.mark.parametrize("width", [1280, 768, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_page_and_asks_for_nothing(browser, hostile, scheme, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    try:
        page = context.new_page()
        complaints, requests = [], []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
        page.on("request", lambda request: requests.append(request.url))
        page.goto(hostile.as_uri())
        assert page.title() == "<script>alert(1)</script>\u202e · xmltools".replace("\u202e", "U+202E")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        light = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(244, 246, 249)"
        assert light == (scheme == "light")
        for summary in page.locator("summary").all():
            if summary.is_visible():
                summary.focus()
                page.keyboard.press("Enter")
        assert page.locator("details[open]").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert complaints == []
        assert [url for url in requests if not url.startswith("data:")] == [hostile.as_uri()]
    finally:
        context.close()
