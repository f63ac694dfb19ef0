import json
import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import xmltools as xt
from xmltools.batch import OUTPUT_SCHEMA, BatchOptions, parse_table

ADD = xt.Tool(
    name="add", parameters={"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
)
SAY = {"name": "say", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
SHOUT = {"name": "shout", "parameters": {"type": "object", "properties": {"loud": {"type": "boolean"}}}}


def block(name="add", arguments="<a>1</a><b>2</b>"):
    return f"<tool><tool_name>{name}</tool_name><arguments>{arguments}</arguments></tool>"


def rows_of(values, options=None, **columns):
    options = options or BatchOptions()
    return parse_table(pa.table({options.column: values, **columns}), options).to_pylist()


def test_a_reply_becomes_text_reasoning_and_calls():
    reply = f"<think>Sum.</think>I add. {block()} Done. {block()}"
    (row,) = rows_of([reply], BatchOptions(tools=(ADD,)))
    assert (row["text"], row["reasoning"], row["errors"], row["repairs"]) == ("I add.  Done. ", "Sum.", [], [])
    assert [call["id"] for call in row["calls"]] == ["call_1", "call_2"]
    first = row["calls"][0]
    assert json.loads(first["arguments"]) == {"a": 1, "b": 2} and first["clean"] and first["server"] == "local"
    assert reply[first["start"] : first["end"]] == block()


def test_ids_number_the_calls_of_a_row_without_gaps():
    (row,) = rows_of([block("nope") + block() + block("nope") + block()], BatchOptions(tools=(ADD,)))
    assert [call["id"] for call in row["calls"]] == ["call_1", "call_2"] and len(row["errors"]) == 2


def test_repairs_name_their_call_and_place():
    reply = f"{block()} {block(arguments='<a>+1</a>')}"
    (row,) = rows_of([reply], BatchOptions(tools=(ADD,)))
    (repair,) = row["repairs"]
    assert (repair["code"], repair["call"]) == ("coerced_value", 1)
    assert reply.startswith("<a>+1", repair["start"]) and repair["end"] == repair["start"] + 1
    assert [call["repairs"] for call in row["calls"]] == [[], ["coerced_value"]]


def test_errors_have_the_hint_and_the_place_of_their_block():
    reply = f"x {block('ad')}"
    (row,) = rows_of([reply], BatchOptions(tools=(ADD,)))
    (error,) = row["errors"]
    assert (error["code"], error["name"], error["message_index"]) == ("unknown_tool", "ad", 0)
    assert "add" in error["hint"] and reply[error["start"] : error["end"]] == block("ad")


def test_the_columns_of_the_input_stay_in_front_untouched():
    table = pa.table({"n": pa.array([1, 2], pa.int8()), "reply": ["a", "b"], "tags": [["x"], None]})
    table = table.replace_schema_metadata({"owner": "me"})
    parsed = parse_table(table, BatchOptions())
    assert parsed.select(table.column_names).equals(table, check_metadata=True)
    assert parsed.schema.names[3:] == OUTPUT_SCHEMA.names
    assert parse_table(table.slice(0, 0), BatchOptions()).schema.equals(parsed.schema)


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", None], pa.string()),
        pa.array(["a", None], pa.large_string()),
        pa.array(["a", None], pa.string_view()),
        pa.array(["a", None]).dictionary_encode(),
        pa.chunked_array([["a"], [], [None]], pa.string()),
    ],
)
def test_any_type_of_text_is_read_and_a_null_is_an_empty_reply(column):
    rows = rows_of(column)
    assert [row["text"] for row in rows] == ["a", ""]
    assert rows[1]["calls"] == rows[1]["errors"] == []


def test_a_column_of_nulls_holds_empty_replies():
    assert [row["text"] for row in rows_of(pa.nulls(3))] == ["", "", ""]


def test_a_value_that_is_no_text_is_a_row_with_an_error():
    (row,) = rows_of(pa.array([5]))
    assert row["reply"] == 5 and [error["code"] for error in row["errors"]] == ["invalid_reply"]


def test_the_prefix_stands_in_front_of_the_added_names():
    (row,) = rows_of(["a"], BatchOptions(prefix="x_"), text=["mine"])
    assert row["text"] == "mine" and row["x_text"] == "a"


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        ({"reply": ["a"], "text": ["b"]}, {}, "'text' already.*prefix"),
        ({"replies": ["a"]}, {}, "no column 'reply'; did you mean 'replies'"),
        ({"q": ["a"], "z": ["b"]}, {}, "no column 'reply'; there are 'q', 'z'"),
        ({"reply": ["a"]}, {"tools_column": "tools"}, "no column 'tools'"),
    ],
)
def test_columns_that_do_not_fit_are_the_callers_mistake(table, options, said):
    with pytest.raises(xt.XMLToolsError, match=said):
        parse_table(pa.table(table), BatchOptions(**options))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"code_fences": "x"}, "code_fences"),
        ({"tools": [{"name": "add"}]}, "expected xmltools.Tool"),
        ({"tools": [ADD, ADD]}, "two tools"),
        ({"column": 5}, "column: expected text"),
        ({"reasoning_tags": ["a b"]}, "reasoning"),
    ],
)
def test_options_are_checked_when_they_are_made(options, said):
    with pytest.raises(xt.XMLToolsError, match=said):
        BatchOptions(**options)


def test_options_can_be_pickled_and_keep_the_parsers():
    options = BatchOptions(tools=[ADD], strict=True, reasoning_tags=["plan"], limits=xt.Limits(depth=5))
    copy = pickle.loads(pickle.dumps(options))
    assert copy == options and isinstance(copy.tools, tuple)
    (row,) = rows_of([f"<plan>p</plan>{block(arguments='<a>+1</a>')}"], copy)
    assert row["reasoning"] == "p" and [error["code"] for error in row["errors"]] == ["coerced_value"]


# Tools of each row


@pytest.mark.parametrize("as_text", [True, False])
def test_each_row_may_have_its_own_tools(as_text):
    tools = [[SAY], None, [SHOUT, SAY]]
    own = [each and json.dumps(each) for each in tools] if as_text else tools
    replies = [block("say", "<text>5</text>"), block(), block("shout", "<loud>true</loud>")]
    rows = rows_of(replies, BatchOptions(tools=(ADD,), tools_column="tools"), tools=own)
    assert [row["errors"] for row in rows] == [[], [], []]
    arguments = [json.loads(row["calls"][0]["arguments"]) for row in rows]
    assert arguments == [{"text": "5"}, {"a": 1, "b": 2}, {"loud": True}]
    (wrong,) = rows_of([block()], BatchOptions(tools_column="tools"), tools=own[:1])
    assert [error["code"] for error in wrong["errors"]] == ["unknown_tool"]


@pytest.mark.parametrize(
    "form",
    [
        {"type": "function", "function": SAY},
        {"name": "say", "input_schema": SAY["parameters"]},
        {"name": "say", "inputSchema": SAY["parameters"]},
    ],
)
def test_the_tools_of_a_row_may_have_the_form_of_any_api(form):
    (row,) = rows_of([block("say", "<text>5</text>")], BatchOptions(tools_column="t"), t=[[form]])
    assert json.loads(row["calls"][0]["arguments"]) == {"text": "5"}


@pytest.mark.parametrize(
    "broken", ["{", "5", '[{"name": ""}]', '[{"name": "a", "parameters": {"type": 5}}]', '[{"name":"a"},{"name":"a"}]']
)
def test_broken_tools_cost_their_row_only(broken):
    rows = rows_of([block(), block()], BatchOptions(tools_column="t"), t=[broken, '[{"name": "add"}]'])
    assert [error["code"] for error in rows[0]["errors"]] == ["invalid_tools"]
    assert (rows[0]["text"], rows[0]["calls"]) == ("", []) and rows[0]["reply"] == block()
    assert rows[1]["errors"] == [] and len(rows[1]["calls"]) == 1


# Messages


MESSAGES = [
    {"role": "user", "content": block()},
    {"role": "assistant", "content": f"<think>A.</think>One.{block()}"},
    {"role": "tool", "content": "3"},
    {"role": "assistant", "content": f"<think>B.</think>Two.{block('nope')}{block()}"},
]


@pytest.mark.parametrize("value", [MESSAGES, json.dumps(MESSAGES), json.dumps({"model": "m", "messages": MESSAGES})])
def test_the_assistants_messages_are_parsed(value):
    (row,) = rows_of([value], BatchOptions(column="m", messages=True, tools=(ADD,)))
    assert (row["text"], row["reasoning"]) == ("One.\n\nTwo.", "A.\n\nB.")
    assert [(call["id"], call["message"]) for call in row["calls"]] == [("call_1", 1), ("call_2", 3)]
    assert [error["message_index"] for error in row["errors"]] == [3]
    start, end = row["calls"][1]["start"], row["calls"][1]["end"]
    assert MESSAGES[3]["content"][start:end] == block()


def test_content_may_be_parts_or_nothing():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    value = json.dumps([{"role": "assistant", "content": parts}, {"role": "assistant", "content": None}])
    (row,) = rows_of([value], BatchOptions(messages=True))
    assert row["text"] == "ab" and row["errors"] == []


@pytest.mark.parametrize("value", ["", " ", "null", None])
def test_messages_that_are_none_have_no_calls(value):
    (row,) = rows_of([value], BatchOptions(messages=True))
    assert (row["text"], row["calls"], row["errors"]) == ("", [], [])


@pytest.mark.parametrize(
    "value", ["{", "5", '"x"', '[{"content": "x"}]', '[{"role": "assistant", "content": 5}]', "[1]"]
)
def test_messages_that_cannot_be_read_are_a_row_with_an_error(value):
    rows = rows_of([value, "[]"], BatchOptions(messages=True))
    assert [[error["code"] for error in row["errors"]] for row in rows] == [["invalid_messages"], []]


def test_half_characters_survive_as_escapes():
    body = json.dumps([{"role": "assistant", "content": "x\ud800" + block("f", "<a>\udfff</a>")}])
    (row,) = rows_of([body], BatchOptions(messages=True))
    assert row["text"] == "x\\ud800" and row["calls"][0]["arguments"] == '{"a":"\\udfff"}'


# Laws


@given(st.lists(st.text() | st.none(), max_size=5))
def test_a_table_holds_what_parse_says_of_each_reply(replies):
    for reply, row in zip(replies, rows_of(pa.array(replies, pa.string())), strict=True):
        parsed = xt.parse(reply or "")
        assert (row["reply"], row["text"], row["reasoning"]) == (reply, parsed.text, parsed.reasoning)


SNIPPETS = st.sampled_from([block(), block("x"), block(arguments="<a>&</a>"), "<tool>", "</tool>", "<think>", "a & b"])


@given(st.lists(st.lists(SNIPPETS).map("".join), max_size=4))
def test_calls_errors_and_repairs_are_those_of_parse(replies):
    for reply, row in zip(replies, rows_of(pa.array(replies, pa.string()), BatchOptions(tools=(ADD,))), strict=True):
        parsed = xt.parse(reply, [ADD])
        assert [
            (call["name"], json.loads(call["arguments"]), (call["start"], call["end"])) for call in row["calls"]
        ] == [(call.name, call.arguments, call.span) for call in parsed.calls]
        assert [(each["code"], (each["start"], each["end"])) for each in row["errors"]] == [
            (error.code.value, error.span) for error in parsed.errors
        ]
        assert [(each["code"], each["start"]) for each in row["repairs"]] == [
            (repair.code.value, repair.offset) for call in parsed.calls for repair in call.repairs
        ]


def test_a_table_of_many_chunks_gives_the_same_as_in_one():
    replies = [f"{number} {block()}" for number in range(3000)]
    whole = parse_table(pa.table({"reply": replies}), BatchOptions())
    chunks = pa.table({"reply": pa.chunked_array([replies[:7], replies[7:2900], replies[2900:]])})
    assert parse_table(chunks, BatchOptions()).combine_chunks().equals(whole.combine_chunks())


def test_the_name_of_a_column_is_text():
    for name, value in (("column", 3), ("tools_column", 3), ("prefix", None)):
        with pytest.raises(xt.XMLToolsError, match=f"^{name}: expected text"):
            BatchOptions(**{name: value})
