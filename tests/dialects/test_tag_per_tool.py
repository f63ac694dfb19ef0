"""Calls whose element is named as their tool: what depends on the tools, and on the dialect that was asked for."""

from __future__ import annotations

import pytest

from xmltools import parse
from xmltools.dialects import forms_for, named
from xmltools.errors import Code
from xmltools.parser import Limits, Parser, build_reply
from xmltools.tools import Tool

READ = Tool(name="read_file", parameters={"type": "object", "properties": {"path": {"type": "string"}}})
CALL = "<read_file><path>a.py</path></read_file>"


def test_in_another_dialect_they_are_read_beside_it():
    reply = parse(f"I look.\n{CALL}\nDone.", [READ], also="known")
    (call,) = reply.calls
    assert (call.dialect, call.arguments) == ("tag_per_tool", {"path": "a.py"})
    assert [repair.code for repair in call.repairs] == [Code.FOREIGN_DIALECT]
    assert reply.text == "I look.\n\nDone."


@pytest.mark.parametrize(
    "text",
    [
        CALL.replace("read_file", "READ_FILE"),
        "read_file\n<path>a.py</path>\n</read_file>",
        f"```\n{CALL}\n```",
        "Use <read_file> for that.",
    ],
)
def test_in_another_dialect_only_whole_tags_count(text):
    reply = parse(text, [READ], also="known")
    assert (reply.text, reply.calls, reply.errors) == (text, (), ())


def test_without_also_they_are_noticed():
    (notice,) = parse(CALL, [READ]).notices
    assert (notice.code, notice.name) == (Code.FOREIGN_CALL, "read_file")


def test_a_name_that_no_element_can_have_gives_no_form():
    assert forms_for(named("tag_per_tool"), ("a b", "a/b", "1", "a.", "", "<a>")) == ()
    assert {form.block for form in forms_for(named("tag_per_tool"), ("a.b", "größe", "a-1", "x:y"))} == {
        "a.b",
        "größe",
        "a-1",
        "x:y",
    }


def test_two_tools_whose_names_differ_in_case():
    tools = [Tool(name="get", parameters={}), Tool(name="GET", parameters={})]
    reply = parse("<get><a>1</a></get><GET><a>2</a></GET>", tools, dialect="tag_per_tool")
    assert [(call.name, call.clean) for call in reply.calls] == [("get", True), ("GET", True)]


def test_a_tool_on_several_servers_needs_its_server():
    tools = [Tool(name="get", parameters={}, server=server) for server in ("a", "b")]
    (error,) = parse("<get><n>1</n></get>", tools, dialect="tag_per_tool").errors
    assert error.code is Code.UNKNOWN_TOOL


@pytest.mark.parametrize("end", ["\n", "\n</read_file>"], ids=repr)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_call_over_the_limit_may_lack_its_start_tag(size, end):
    first = f"read_file\n<path>{'x' * 120}</path>{end}"
    text = f"{first.rstrip()}\nread_file\n<path>a.py</path>\nDone."
    parser = Parser([READ], dialect="tag_per_tool", limits=Limits(block_size=100))
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    reply = build_reply(events + parser.close())
    (error,), (call,) = reply.errors, reply.calls
    assert (error.code, error.span) == (Code.LIMIT_EXCEEDED, (0, len(first)))
    assert (call.arguments, reply.text.lstrip("\n")) == ({"path": "a.py"}, "Done.")
