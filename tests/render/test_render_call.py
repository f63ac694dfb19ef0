"""Calls as text: exact, clean, readable, and refused where text can't say them."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.calls import Meant, law_call, law_untyped, meant_calls, untyped_calls
from support.often import examples
from support.random_schemas import plain_schema, value_for, wild_schema

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.parser import parse
from xmltools.render import render_call
from xmltools.render.forge_calls import write_elements
from xmltools.render.writable import same
from xmltools.tools import Tool
from xmltools.tools.schema import read_arguments

STRING = {"type": "string"}


def call(arguments=None, name="f", server="local"):
    return ToolCall(id="1", name=name, arguments=arguments or {}, server=server)


def tool(properties, name="f", server="local", **rest):
    return Tool(name=name, parameters={"type": "object", "properties": properties, **rest}, server=server)


def arguments_of(text):
    """The lines between the tags of the arguments."""
    return text.partition("<arguments>\n")[2].partition("\n</arguments>")[0]


def test_a_call_is_laid_out_as_in_the_forge_document():
    calculator = tool({"a": {"type": "integer"}, "b": {"type": "integer"}, "operation": STRING}, "calculator")
    text = render_call(call({"a": 5, "b": 3, "operation": "add"}, "calculator"), calculator, server_names=True)
    assert text == (
        "<tool>\n<server_name>local</server_name>\n<tool_name>calculator</tool_name>\n<arguments>\n"
        "  <a>5</a>\n  <b>3</b>\n  <operation>add</operation>\n</arguments>\n</tool>"
    )


def test_nested_arguments_are_indented():
    files = [{"path": "file1.txt", "content": "a < b"}, {"path": "file2.txt", "content": "content 2"}]
    text = render_call(call({"files": files}, "use_mcp_tool", "mcp-server"))
    assert text == (
        "<tool>\n<server_name>mcp-server</server_name>\n<tool_name>use_mcp_tool</tool_name>\n<arguments>\n"
        "  <files>\n"
        "    <file>\n      <path>file1.txt</path>\n      <content><![CDATA[a < b]]></content>\n    </file>\n"
        "    <file>\n      <path>file2.txt</path>\n      <content>content 2</content>\n    </file>\n"
        "  </files>\n</arguments>\n</tool>"
    )


def test_the_deprecated_body_is_laid_out_as_in_the_forge_document():
    text = render_call(call({"result": "Done"}, "task_completion"), legacy_json=True, server_names=True)
    assert text == (
        '<tool>\n{\n  "server_name": "local",\n  "tool_name": "task_completion",\n'
        '  "arguments": {"result": "Done"}\n}\n</tool>'
    )


@pytest.mark.parametrize("legacy_json", [False, True])
@pytest.mark.parametrize(
    ("server", "server_names", "is_named"),
    [
        ("local", None, False),
        ("local", True, True),
        ("local", False, False),
        ("disk", None, True),
        ("disk", True, True),
        ("disk", False, False),
    ],
)
def test_the_server_is_named_where_a_reader_would_not_know_it(server, server_names, is_named, legacy_json):
    given = call({"x": "1"}, server=server)
    own = tool({"x": STRING}, server=server)
    text = render_call(given, own, legacy_json=legacy_json, server_names=server_names)
    assert ("server_name" in text) is is_named
    assert text == render_call(given, legacy_json=legacy_json, server_names=server_names)
    others = [tool({}, "g", server=server), tool({}, "h", server=server if not is_named else "net")]
    for tools in ([own], [own, *others]):
        (read,) = parse(text, tools).calls
        assert (read.name, read.server, read.arguments, read.clean) == ("f", server, {"x": "1"}, True)


def test_no_arguments():
    assert "<arguments>\n</arguments>" in render_call(call())
    assert parse(render_call(call())).calls[0].arguments == {}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain text", "plain text"),
        ("  indented\n", "  indented\n"),
        ("a\nb", "a\nb"),
        ("a > b", "a > b"),
        ("", ""),
        (" ", " "),
        ("\ttab", "\ttab"),
        ("\nb", "<![CDATA[\nb]]>"),
        ("  \r\nb", "<![CDATA[  \r\nb]]>"),
        ("a && b", "<![CDATA[a && b]]>"),
        ("<p>", "<![CDATA[<p>]]>"),
        ("a]]>b", "<![CDATA[a]]]]><![CDATA[>b]]>"),
        ("]]>]]>", "<![CDATA[]]]]><![CDATA[>]]]]><![CDATA[>]]>"),
        ("x]]", "x]]"),
        ("</arguments></tool>", "<![CDATA[</arguments></tool>]]>"),
        ("\x1b[31m", "\x1b[31m"),
        ("😀", "😀"),
    ],
)
def test_cdata_stands_only_where_plain_text_is_not_exact(value, written):
    text = render_call(call({"text": value}), tool({"text": STRING}))
    assert arguments_of(text) == f"  <text>{written}</text>"
    assert parse(text, tools=[tool({"text": STRING})]).calls[0].arguments == {"text": value}


@pytest.mark.parametrize(
    ("schema", "value", "written"),
    [
        ({"type": "integer"}, 5, "<x>5</x>"),
        ({"type": "integer"}, 5.0, "<x>5</x>"),
        ({"type": "number"}, 5.0, "<x>5.0</x>"),
        ({"type": "number"}, 0.1 + 0.2, "<x>0.30000000000000004</x>"),
        ({"type": "number"}, 1e22, "<x>1e+22</x>"),
        ({"type": "boolean"}, True, "<x>true</x>"),
        ({"type": ["string", "null"]}, None, '<x nil="true"/>'),
        ({"type": ["string", "null"]}, "", "<x></x>"),
        ({"type": ["string", "null"]}, "5", "<x>5</x>"),
        ({"type": "array", "items": STRING}, [], "<x></x>"),
        ({"type": "array", "items": STRING}, [""], "<x>\n    <item></item>\n  </x>"),
        ({"type": "array", "items": {"type": "array"}}, [[], []], "<x>\n    <item></item>\n    <item></item>\n  </x>"),
        ({"type": "object"}, {}, "<x></x>"),
        ({"type": "object"}, {"a b": "c"}, '<x>\n    <argument name="a b">c</argument>\n  </x>'),
        ({"enum": ["read", 5]}, 5, "<x>5</x>"),
    ],
)
def test_values_by_their_schema(schema, value, written):
    text = render_call(call({"x": value}), tool({"x": schema}))
    assert arguments_of(text) == f"  {written}"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, 5),
        ({}, []),
        ({"type": "object"}, {"port": 8080}),
        ({"type": "object"}, {"": "no name"}),
        ({"type": ["integer", "string"]}, "5"),
        ({"anyOf": [{"type": "object"}, STRING]}, '{"a": 1}'),
        ({"enum": ["5", 5]}, 5),
        ({"enum": [[1], {"a": 1}]}, {"a": 1}),
        ({"type": "array"}, [[], ["x"]]),
    ],
    ids=str,
)
def test_what_elements_cannot_say_stands_in_a_json_body(schema, value):
    given_tool = tool({"x": schema})
    text = render_call(call({"x": value}), given_tool)
    assert text.startswith("<tool>\n{")
    read = parse(text, tools=[given_tool]).calls[0]
    assert read.clean
    assert read.arguments == {"x": value}


@pytest.mark.parametrize("value", [{".": "x", "item": "y"}, {"item": "y", ".": "x"}, {"argument": None}])
def test_a_name_for_the_attribute_where_an_alternative_has_a_property_called_argument(value):
    record = {"type": "object", "properties": {".": STRING, "item": STRING}, "required": ["item"]}
    other = {"type": "object", "properties": {"argument": {"type": "null"}}, "required": ["argument"]}
    given_tool = tool({"x": {"anyOf": [{"enum": ["y"]}, other, record]}})
    read = parse(render_call(call({"x": value}), given_tool), tools=[given_tool]).calls[0]
    assert read.clean
    assert read.arguments == {"x": value}


NUMBERS = [0, -0.0, 5, 5.0, 1e22, 2**53 + 1, 10**300, 1e300, 10**308 * 17, -(10**4300) + 1, 5e-324, 1.7e308]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number"},
        {"type": ["number", "null", "boolean"]},
        {"anyOf": [{"type": "number"}, STRING]},
        {"type": "array", "items": {"type": "number"}},
        {"enum": NUMBERS},
        {},
    ],
    ids=str,
)
def test_numbers_of_any_size_come_back_as_they_were(schema):
    given_tool = tool({"x": schema})
    for number in NUMBERS:
        value = [number] if schema.get("type") == "array" else number
        for legacy_json in (False, True):
            text = render_call(call({"x": value}), given_tool, legacy_json=legacy_json)
            read = parse(text, tools=[given_tool]).calls[0]
            assert read.clean
            assert read.arguments == {"x": value}, text


def test_names_that_are_no_xml_names_stand_in_an_attribute():
    text = render_call(call({'a "b" & c': "d", "x:y": None, "arguments": "e"}))
    assert arguments_of(text) == (
        '  <argument name="a &quot;b&quot; &amp; c">d</argument>\n'
        '  <argument name="x:y" nil="true"/>\n'
        '  <argument name="arguments">e</argument>'
    )


def test_without_a_tool_scalars_are_text():
    text = render_call(call({"a": 5, "b": True, "c": None, "d": ["x", 1.5]}))
    assert parse(text).calls[0].arguments == {"a": "5", "b": "true", "c": None, "d": ["x", "1.5"]}


def test_without_a_tool_empty_lists_and_objects_survive():
    arguments = {"files": [], "options": {}, "count": 5}
    assert parse(render_call(call(arguments))).calls[0].arguments == arguments


def test_an_invalid_call_is_written_as_it_is():
    strict = tool({"n": {"type": "integer"}, "s": STRING}, required=["n"])
    for arguments in ({"n": "many"}, {"s": ["a"]}, {"n": {"a": 1}}, {"s": 5}, {"n": "5"}):
        reply = parse(render_call(call(arguments), strict), tools=[strict])
        assert len(reply.parts) == 1, arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": "x\ud800"}, r"at \['a'\].*lone surrogate"),
        ({"a": ["x", {"\udfff": 1}]}, r"at \['a'\]\[1\].*key with a lone surrogate"),
        ({"a": float("nan")}, "got nan"),
        ({"a": {"b": float("-inf")}}, r"at \['a'\]\['b'\].*got -inf"),
        ({"a": (1, 2)}, r"got tuple \(1, 2\)"),
        ({"a": {1: 2}}, "got the key 1"),
        ({"a": b"x"}, "got bytes"),
        ({"a": 10**4300}, "integer of more than 4300 digits"),
    ],
)
def test_values_that_no_text_can_say_are_refused(arguments, message):
    with pytest.raises(XMLToolsError, match=message):
        render_call(call(arguments))


def test_values_without_end_are_refused():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(XMLToolsError, match="nested too deeply"):
        render_call(call({"a": endless}))


@pytest.mark.parametrize("name", ["", " f", "f\n", "a\nb", "<f>", "x" * 257, "\ud800"])
def test_names_that_are_none_are_refused(name):
    with pytest.raises(XMLToolsError, match="no name for a tool"):
        render_call(call(name=name))
    with pytest.raises(XMLToolsError, match="no name for a server"):
        render_call(call(server=name))


@pytest.mark.parametrize("other", [tool({}, "g"), tool({}, server="disk")])
def test_the_tool_must_be_that_of_the_call(other):
    with pytest.raises(XMLToolsError, match="give the call's own tool"):
        render_call(call(), other)


def test_a_thing_that_is_no_call():
    with pytest.raises(XMLToolsError, match=r"expected xmltools\.ToolCall, got dict"):
        render_call({"name": "f"})  # type: ignore[arg-type]


@given(meant_calls)
@examples(600)
def test_law_7_a_call_reads_back_clean(meant: Meant):
    law_call(meant)


@given(untyped_calls)
@examples(300)
def test_law_7_without_a_tool(meant: Meant):
    law_untyped(meant)


@given(st.randoms(use_true_random=False))
@examples(600)
def test_elements_that_are_sure_are_read_back(rng):
    schema = rng.choice([plain_schema, partial(wild_schema, hostile=False)])(rng)
    written = Tool(name="f", parameters=schema)
    try:
        shape = written.shape
    except XMLToolsError:
        return
    arguments = {"x": value_for(rng, schema["properties"]["x"], schema)}
    elements = write_elements(arguments, shape, FORGE)
    if elements and elements.sure:
        reading = read_arguments(elements.tree, shape)
        assert same(reading.arguments, arguments)
        assert not (reading.repairs or reading.duplicates or reading.too_deep)


@pytest.mark.parametrize(
    ("schema", "value", "sure"),
    [
        (STRING, " <a> ", True),
        ({"enum": ["a", 1]}, "a", True),
        ({"enum": ["a", 1]}, 1, False),
        ({"type": "integer"}, -5, True),
        ({"type": "integer"}, 5.0, False),
        ({"type": "integer"}, 10**30, False),
        ({"type": "boolean"}, True, True),
        ({"type": "boolean"}, 1, False),
        ({"type": "number"}, True, False),
        ({"type": ["string", "integer"]}, "a", False),
        (STRING, None, False),
        (STRING, 5, False),
        ({}, "a", False),
        ({"type": "array", "items": STRING}, ["a", "b"], True),
        ({"type": "array", "items": {}}, ["a"], False),
        ({"type": "array", "items": {"type": "object", "properties": {"a": STRING}}}, [{"a": "b"}], True),
        ({"type": "array", "items": {"type": "object", "properties": {"a": STRING}}}, {"a": "b"}, False),
        ({"type": "array", "prefixItems": [STRING], "items": {"type": "integer"}}, ["5", 5], False),
        ({"type": "object", "properties": {"a": STRING}}, {"a": "b"}, True),
        ({"type": "object", "properties": {"a": STRING}}, {"b": "b"}, False),
        ({"type": "object", "properties": {"item": STRING}}, ["b"], False),
    ],
)
def test_which_elements_are_sure(schema, value, sure):
    elements = write_elements({"x": value}, tool({"x": schema}).shape, FORGE)
    assert elements is not None
    assert elements.sure is sure
