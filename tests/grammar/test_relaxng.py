from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lxml import etree
from support.calls import Meant, anything, meant_calls, name
from support.often import examples, some
from support.relaxng_judge import Judge, read_xml

from xmltools.errors import Code, XMLToolsError
from xmltools.grammar.relaxng.values import MAX_PATTERN_TEXT
from xmltools.grammar.relaxng.xsd import xsd_format, xsd_pattern
from xmltools.parser import parse
from xmltools.render import render_call
from xmltools.syntax.markup import find_forbidden
from xmltools.tools import Tool
from xmltools.tools.schema.patterns import MAX_PATTERN_TEXT as CHECKED_PATTERN_TEXT
from xmltools.tools.schema.string_formats import FORMATS

INTEGER = {"type": "integer"}
STRING = {"type": "string"}


def tool(parameters: dict[str, Any], **fields: Any) -> Tool:
    return Tool(**{"name": "f", "parameters": parameters, **fields})


def of(schema: dict[str, Any], **more: Any) -> Tool:
    """A tool with the one argument `v`, which must be there."""
    return tool({"type": "object", "properties": {"v": schema}, "required": ["v"], **more})


def block(body: str) -> str:
    return f"<tool>\n<tool_name>f</tool_name>\n<arguments>\n{body}\n</arguments>\n</tool>"


# Single values: a schema, contents of its element that fit, contents that don't. The schema says it all: no issues.

VALUES: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "a free string": (STRING, ["", " x\n", "<![CDATA[<b>]]>", "a<![CDATA[&]]>b", "&lt;"], ["<b/>", "a<b>c</b>"]),
    "a string by its length": (
        {"type": "string", "minLength": 2, "maxLength": 3},
        ["ab", "a b", "<![CDATA[\n\n]]>", "😀😀", "&#13;&#10;"],
        ["a", "", "abcd", "<![CDATA[a]]>"],
    ),
    "a string that is not empty": ({"type": "string", "minLength": 1}, ["a", " "], ["", "<![CDATA[]]>"]),
    "a string by a pattern": (
        {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
        ["a", "ab-cd", "<![CDATA[a-b]]>"],
        ["", "a-", "A", " a", "a1"],
    ),
    "a pattern that is looked for anywhere": ({"type": "string", "pattern": "[0-9]"}, ["a1b", "1"], ["", "ab"]),
    "a pattern with alternatives at the edges": ({"type": "string", "pattern": "^a|b$"}, ["ax", "xb"], ["xa", "bx"]),
    "a pattern with a start or a comma": ({"type": "string", "pattern": "(^|,)x"}, ["x", "a,xb"], ["ax", ""]),
    "a pattern and a length": (
        {"type": "string", "pattern": "^[a-z]{2,8}$", "maxLength": 4},
        ["ab", "abcd"],
        ["a", "abcde", "a1"],
    ),
    "two patterns": (
        {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}]},
        ["ab", "axb"],
        ["a", "b", "ba"],
    ),
    "a pattern with markup": ({"type": "string", "pattern": '^<[&"\\]]+>$'}, ["&lt;&amp;&gt;"], ["<![CDATA[<>]]>"]),
    "an integer": (INTEGER, ["0", "-5", " 7\n", "1" * 60], ["", "05", "+5", "5.0", "1e3", "x", "--5", "<b/>"]),
    "an integer with bounds": (
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 10},
        ["1", "9"],
        ["0", "10", "-1", "1" * 40],
    ),
    "an integer with large bounds": (
        {"type": "integer", "minimum": 10**30, "maximum": 10**30 + 1},
        [str(10**30), str(10**30 + 1)],
        [str(10**30 - 1), str(10**30 + 2), "5"],
    ),
    "an integer between fractions": ({"type": "integer", "minimum": 0.5, "maximum": 2.5}, ["1", "2"], ["0", "3"]),
    "a number": (
        {"type": "number"},
        ["0", "-0.5", "1e5", "1E-7", "1.5e+300", " 2 ", "-0.0", "1" * 400],
        ["", ".5", "5.", "+1", "01", "1e400", "NaN", "INF", "Infinity", "1,5"],
    ),
    "a number with bounds": (
        {"type": "number", "exclusiveMinimum": 0.1, "maximum": 0.3},
        ["0.3", "3e-1", "0.2", "0.10000000000000002"],
        ["0.1", "1e-1", "0.30000000000000004", "0", "1"],
    ),
    "a number with bounds that no float is": (
        {"type": "number", "exclusiveMaximum": 2**53 + 1},
        [str(2**53), f"{2**53}.0"],
        [str(2**53 + 1), f"{2**53 + 2}.0"],
    ),
    "a number below none that is a float": ({"type": "number", "minimum": 10**400}, [str(10**400)], ["1e308", "5"]),
    "a boolean": ({"type": "boolean"}, ["true", " false\n"], ["1", "0", "True", "yes", ""]),
    "null": ({"type": "null"}, ["null", " null "], ["", "none", "x"]),
    "an enum of strings": (
        {"enum": ["read", "w x", " lead", "<&>", "a\nb", ""]},
        ["read", " read\n", "w x", "\nw x ", " lead", "&lt;&amp;>", "<![CDATA[<&>]]>", "a\nb", "", " "],
        ["Read", "w  x", "wx", "lead", "a b", "other"],
    ),
    "an enum of scalars": (
        {"enum": [5, True, None, 1.5]},
        ["5", "5.0", "true", "null", "1.5"],
        ["6", "1", "false", ""],
    ),
    "an enum with a type": ({"type": "integer", "enum": [1, "1x", 2]}, ["1", "2"], ["1x", "3"]),
    "an enum with bounds": ({"enum": [1, 5, 9], "minimum": 2, "maximum": 6}, ["5"], ["1", "9"]),
    "a constant": ({"const": "only"}, ["only"], ["other", ""]),
    "one of several types": ({"type": ["integer", "boolean"]}, ["5", "true"], ["x", "1.5", ""]),
    "one of several schemas": (
        {"anyOf": [{"type": "integer", "maximum": 3}, {"enum": ["auto"]}]},
        ["3", "auto", " auto "],
        ["4", "Auto", ""],
    ),
    "a list": (
        {"type": "array", "items": INTEGER},
        ["", "\n", "<item>1</item>", "\n<item>1</item> <item> 2 </item>\n"],
        ["5", "<item>x</item>", "<item/>", "<v>1</v>", "<item>1</item>x", "[1]"],
    ),
    "a list with bounds": (
        {"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 3},
        ["<item>1</item>", "<item>1</item>" * 3],
        ["", "<item>1</item>" * 4],
    ),
    "a list of two at least": (
        {"type": "array", "items": INTEGER, "minItems": 2},
        ["<item>1</item>" * 2, "<item>1</item>" * 60],
        ["", "<item>1</item>"],
    ),
    "a list with a shape for each place": (
        {"type": "array", "prefixItems": [INTEGER, STRING], "items": {"type": "boolean"}, "minItems": 1},
        ["<item>1</item>", "<item>1</item><item>x</item><item>true</item><item>false</item>"],
        ["", "<item>x</item>", "<item>1</item><item>x</item><item>x</item>"],
    ),
    "a list that ends": (
        {"type": "array", "prefixItems": [INTEGER, STRING], "items": False},
        ["", "<item>1</item><item>x</item>"],
        ["<item>1</item><item>x</item><item>x</item>"],
    ),
    "a list that has no second place": (
        {"type": "array", "prefixItems": [INTEGER, False]},
        ["", "<item>1</item>"],
        ["<item>1</item><item>2</item>"],
    ),
    "a list of nothing": ({"type": "array", "items": False}, ["", " "], ["<item>1</item>"]),
    "a list of lists": (
        {"type": "array", "items": {"type": "array", "items": INTEGER}},
        ["<item/>", "<item><item>1</item></item>"],
        ["<item>1</item>", "<item><item><item>1</item></item></item>"],
    ),
    "an object": (
        {"type": "object", "properties": {"a": INTEGER, "b": STRING}, "required": ["a"], "additionalProperties": False},
        ["<a>1</a>", "<b>x</b>\n<a>1</a>", "<a>1</a><b/>"],
        ["", "<b>x</b>", "<a>1</a><a>1</a>", "<a>1</a><c/>", "<a>x</a>", "<a>1</a>text", '{"a": 1}'],
    ),
    "an object that is closed and empty": (
        {"type": "object", "properties": {}, "additionalProperties": False},
        ["", "\n"],
        ["x", "<a/>"],
    ),
    "an open object": (
        {"type": "object", "properties": {"a": INTEGER}},
        ["", "<b>x</b><a>1</a><b><c/>\n<d>e</d></b>", '<argument name="x y">1</argument>', '<b nil="true"/>'],
        ["<b/><a>x</a>", "<a>1</a><b/><a>1</a>", '<argument name="a">x</argument>', "x"],
    ),
    "an object whose other properties have a type": (
        {"type": "object", "properties": {"a": STRING}, "additionalProperties": {"type": "array", "items": INTEGER}},
        ["<a>x</a><b><item>1</item></b>", "<files><file>1</file></files>", '<argument name="x y"/>'],
        ["<b>x</b>", "<b><item>x</item></b>", '<argument name="x y">z</argument>'],
    ),
    "an object with a property that is forbidden": (
        {"type": "object", "properties": {"a": INTEGER, "b": False}},
        ["<a>1</a>", "<c/>"],
        ["<b/>", "<a>1</a><b>x</b>"],
    ),
    "an object whose schemas close each other out": (
        {"allOf": [
            {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": False},
            {"properties": {"a": {"minimum": 3}, "b": INTEGER}},
        ]},
        ["", "<a>3</a>"],
        ["<a>2</a>", "<b>1</b>"],
    ),
    "an object without unevaluated properties": (
        {"allOf": [{"properties": {"a": INTEGER}}], "type": "object", "unevaluatedProperties": False},
        ["", "<a>1</a>"],
        ["<b/>"],
    ),
    "a required property that is not declared": (
        {"type": "object", "properties": {"a": STRING}, "required": ["b"]},
        ["<b>x</b>", "<a/><b/>"],
        ["", "<a/>", "<b/><b/>"],
    ),
    "names that are no XML names": (
        {
            "type": "object",
            "properties": {"a b": INTEGER, 'q"&': STRING, "x:y": {"type": "boolean"}, "plain": STRING},
            "required": ["a b"],
            "additionalProperties": False,
        },
        [
            '<argument name="a b">1</argument>',
            '<argument name="x:y">true</argument><plain/><argument name="a b">1</argument>'
            '<argument name="q&quot;&amp;">t</argument>',
        ],
        [
            "",
            '<argument name="a b">x</argument>',
            '<argument name="a b">1</argument>' * 2,
            '<argument name="a b">1</argument><argument name="other"/>',
            '<argument name="q&quot;&amp;"/>',
            "<argument>1</argument>",
        ],
    ),
    "a name that is no XML name in an open object": (
        {"type": "object", "properties": {"a b": INTEGER, "c": STRING}},
        ['<argument name="z z"/><argument name="a b">1</argument><argument name="z z"/>', '<argument name="d"/>'],
        ['<argument name="a b">x</argument>', '<argument name="c">x</argument>'],
    ),
    "a property called argument": (
        {"type": "object", "properties": {"argument": INTEGER, "b": STRING}, "required": ["argument"]},
        ["<argument>1</argument>", "<b/><argument>1</argument>"],
        ["", "<argument>x</argument>", "<argument>1</argument><argument>1</argument>"],
    ),
    "alternatives with the same names": (
        {"oneOf": [
            {
                "type": "object",
                "properties": {"n": {}, "kind": {"const": "a"}, "x": INTEGER},
                "required": ["kind", "x"],
            },
            {"type": "object", "properties": {"n": {}, "kind": {"const": "b"}, "x": STRING}, "required": ["kind"]},
        ]},
        ["<x>1</x><kind>a</kind>", "<kind>b</kind>", "<x>t</x><n><m/></n><kind> b </kind>"],
        ["<x>t</x><kind>a</kind>", "<kind>a</kind>", "<kind>c</kind><x>1</x>", ""],
    ),
    "an object or a string": (
        {"anyOf": [{"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}, STRING]},
        ["<a>1</a>", "text", ""],
        ["<a>x</a>", "text<a>1</a>"],
    ),
    "one or a list": (
        {"anyOf": [INTEGER, {"type": "array", "items": INTEGER}]},
        ["1", "<item>1</item><item>2</item>", ""],
        ["x", "<item>x</item>"],
    ),
    "anything": ({}, ["", "text", "<a><b>c</b></a>\n<a/>", '<a nil="true"/>'], ["a<b/>"]),
    "nothing": ({"type": "string", "minLength": 3, "maxLength": 2}, [], ["", "a", "abc"]),
    "a list of more than there may be": ({"type": "array", "minItems": 3, "maxItems": 2}, [], ["", "<item/>" * 3]),
    "an alternative that never fits": ({"anyOf": [False, INTEGER]}, ["1"], ["x"]),
}  # fmt: skip


@pytest.mark.parametrize("case", VALUES)
def test_a_value_is_held_to_its_schema(case: str) -> None:
    schema, accepted, refused = VALUES[case]
    judge = Judge(of(schema, additionalProperties=False))
    assert judge.issues == []
    assert [each for each in accepted if not judge.accepts(block(f"<v>{each}</v>"))] == []
    assert [each for each in refused if judge.accepts(block(f"<v>{each}</v>"))] == []


@pytest.mark.parametrize("case", [case for case in VALUES if case != "anything"])
def test_what_must_not_be_null_is_not_marked_as_null(case: str) -> None:
    schema = VALUES[case][0]
    may_be_null = schema == {"type": "null"} or None in schema.get("enum", ())
    assert Judge(of(schema)).accepts(block('<v nil="true"/>')) is may_be_null


@pytest.mark.parametrize("schema", [{"type": ["string", "null"]}, {"anyOf": [{"type": "array"}, {"type": "null"}]}, {}])
def test_null_is_an_attribute_of_an_empty_element(schema: dict[str, Any]) -> None:
    judge = Judge(of(schema))
    assert judge.accepts(block('<v nil="true"/>'))
    assert judge.accepts(block('<v nil="true"></v>'))
    assert not judge.accepts(block('<v nil="true">x</v>'))
    assert not judge.accepts(block('<v nil="yes"/>'))
    assert not judge.accepts(block('<v other="true"/>'))


def test_a_recursive_schema_is_held_to_at_every_level() -> None:
    node = {
        "type": "object",
        "properties": {"n": INTEGER, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    }
    judge = Judge(of({"$ref": "#/$defs/node"}, **{"$defs": {"node": node}}))

    def nested(depth: int, leaf: str) -> str:
        return f"<kids><kid>{nested(depth - 1, leaf)}</kid></kids>" if depth else f"<n>{leaf}</n>"

    assert judge.accepts(block(f"<v>{nested(20, '5')}</v>"))
    assert not judge.accepts(block(f"<v>{nested(20, 'x')}</v>"))


# The block


def test_the_fields_of_a_block_stand_in_any_order_and_once() -> None:
    judge = Judge(of(INTEGER))
    fields = ["<server_name>local</server_name>", "<tool_name> f\n</tool_name>", "<arguments><v>1</v></arguments>"]
    for order in itertools.permutations(fields):
        assert judge.accepts(f"<tool>\n{' '.join(order)}\n</tool>")
    for missing in fields[1:]:
        assert not judge.accepts(f"<tool>{''.join(each for each in fields if each != missing)}</tool>")
    for twice in fields:
        assert not judge.accepts(f"<tool>{''.join(fields)}{twice}</tool>")
    assert not judge.accepts(f"<tool>text {''.join(fields)}</tool>")
    assert not judge.accepts(f"<tool>{''.join(fields)}<v>1</v></tool>")


def test_the_server_may_be_left_out_if_it_is_the_local_one_or_the_only_one() -> None:
    text = "<tool>{}<tool_name>f</tool_name></tool>"
    on_local, on_disk = tool({"type": "object"}), tool({"type": "object"}, server="a & b")
    for only in (None, "local"):
        local = Judge(on_local, only)
        assert local.accepts(text.format(""))
        assert local.accepts(text.format("<server_name>local</server_name>"))
        assert not local.accepts(text.format("<server_name>disk</server_name>"))
    for only in (None, "a & b"):
        disk = Judge(on_disk, only)
        assert disk.accepts(text.format("<server_name>a &amp; b</server_name>"))
        assert disk.accepts(text.format("")) is (only is not None)
        assert not disk.accepts(text.format("<server_name>local</server_name>"))


def test_arguments_may_be_left_out_if_none_is_required() -> None:
    text = "<tool><tool_name>f</tool_name></tool>"
    assert Judge(tool({"type": "object", "properties": {"v": INTEGER}})).accepts(text)
    assert not Judge(of(INTEGER)).accepts(text)


def test_an_argument_of_the_name_arguments_is_said_in_an_attribute_unless_the_tool_declares_it() -> None:
    element, attribute = "<arguments>x</arguments>", '<argument name="arguments">x</argument>'
    hidden = Judge(tool({"type": "object", "properties": {"v": INTEGER}, "required": ["n", "arguments"]}))
    for body in itertools.permutations(("<v>1</v>", attribute, "<n>x</n>")):
        assert hidden.accepts(block("".join(body)))
    assert hidden.accepts(block(f'{attribute}<n>x</n><argument name="a b">x</argument>'))
    assert not hidden.accepts(block(f"{element}<n>x</n>"))
    declared = Judge(tool({"type": "object", "properties": {"arguments": STRING}, "required": ["arguments"]}))
    assert declared.accepts(block(element)) and not declared.accepts(block(attribute))


def test_an_argument_of_the_name_arguments_is_an_element_further_inside() -> None:
    itself = tool({"type": "object", "properties": {"inner": {"$ref": "#"}}, "required": ["arguments"]})
    element, attribute = "<arguments>x</arguments>", '<argument name="arguments">x</argument>'
    assert Judge(itself).accepts(block(f"{attribute}<inner>{element}</inner>"))
    assert not Judge(itself).accepts(block(f"{element}<inner>{element}</inner>"))


@pytest.mark.parametrize("called", ["a--b", "-", "a-", "--->", "a&b<c", "größe 表", 'q"q', "x" * 256])
def test_any_name_of_a_tool_can_stand_in_the_comment_and_in_the_schema(called: str) -> None:
    judge = Judge(tool({"type": "object"}, name=called))
    escaped = called.replace("&", "&amp;").replace("<", "&lt;")
    assert judge.accepts(f"<tool><tool_name>{escaped}</tool_name></tool>")
    assert ("name" in [issue.keyword for issue in judge.issues]) is bool(set("<>") & set(called))


def test_the_schema_of_a_tool_is_the_same_each_time() -> None:
    parameters = {"type": "object", "properties": {each: {"type": "object"} for each in "dacb"}}
    assert Judge(tool(parameters)).schema == Judge(tool(parameters)).schema


def test_every_list_and_object_has_one_definition() -> None:
    leaf = {"type": "object", "properties": {"x": INTEGER}}
    parameters = {"type": "object", "properties": {"a": {"$ref": "#/$defs/leaf"}, "b": {"$ref": "#/$defs/leaf"}}}
    schema = read_xml(Judge(tool({**parameters, "$defs": {"leaf": leaf}})).schema)
    names = [each.get("name") for each in schema.iter("{*}define")]
    assert names == ["arguments", "a", "anything"]


# Names


def test_every_name_that_the_schema_writes_is_one_to_libxml2() -> None:
    from xmltools.grammar.relaxng.objects import _LETTER

    bounds = "".join(each for each in _LETTER if each not in "-_")
    judge = Judge(tool({"type": "object", "properties": {f"{each}{bounds}": INTEGER for each in bounds}}))
    assert judge.issues == []


def test_a_name_that_libxml2_does_not_take_may_be_any_and_is_reported() -> None:
    judge = Judge(tool({"type": "object", "properties": {"Ꙁ": INTEGER, "a": INTEGER}, "additionalProperties": False}))
    assert [(issue.place, issue.keyword) for issue in judge.issues] == [("Ꙁ", "properties")]
    assert judge.accepts(block("<Ꙁ>5</Ꙁ><a>1</a>"))
    assert not judge.accepts(block("<Ꙁ>5</Ꙁ><a>x</a>"))


def test_many_names_that_are_no_xml_names_may_be_missing_or_repeated_and_are_reported() -> None:
    names = ["a b", "c d", "e f", "g h", "i j"]
    judge = Judge(tool({"type": "object", "properties": dict.fromkeys(names, INTEGER), "required": names[:1]}))
    assert {issue.place for issue in judge.issues} == set(names)
    assert judge.accepts(block('<argument name="i j">1</argument>'))
    assert not judge.accepts(block('<argument name="i j">x</argument>'))


def test_a_name_that_no_block_can_say_is_left_out_and_reported() -> None:
    judge = Judge(tool({"type": "object", "properties": {"a\nb": INTEGER, "c": INTEGER}, "required": ["a\nb"]}))
    assert [issue.keyword for issue in judge.issues] == ["properties"]
    assert judge.accepts(block(""))


# What is not enforced

WIDER: dict[str, tuple[dict[str, Any], str, str]] = {
    "multipleOf": ({"type": "integer", "multipleOf": 2}, "3", "multipleOf"),
    "uniqueItems": ({"type": "array", "uniqueItems": True}, "<item>1</item><item>1</item>", "uniqueItems"),
    "contains": ({"type": "array", "contains": {"const": 1}}, "<item>2</item>", "contains"),
    "many items": ({"type": "array", "maxItems": 60}, "<item/>" * 61, "maxItems"),
    "very many items": ({"type": "array", "minItems": 60}, "<item/>" * 50, "minItems"),
    "many first items": (
        {"type": "array", "prefixItems": [STRING] * 60},
        "<item/>" * 50 + "<item><x/></item>",
        "prefixItems",
    ),
    "not": ({"type": "string", "not": {"const": "x"}}, "x", "not"),
    "if": ({"type": "integer", "if": {"minimum": 5}, "then": {"maximum": 6}}, "7", "if"),
    "anyOf beside a type": ({"type": "integer", "anyOf": [{"maximum": 1}, {"minimum": 5}]}, "3", "anyOf"),
    "a second choice": (
        {"anyOf": [INTEGER, STRING], "oneOf": [{"type": "string"}, {"type": "boolean"}]},
        "5",
        "oneOf",
    ),
    "oneOf": ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "5", "oneOf"),
    "patternProperties": ({"type": "object", "patternProperties": {"^n": INTEGER}}, "<n>x</n>", "patternProperties"),
    "minProperties": ({"type": "object", "properties": {"a": {}}, "minProperties": 1}, "", "minProperties"),
    "dependentRequired": (
        {"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}},
        "<a/>",
        "dependentRequired",
    ),
    "a format that nobody knows": ({"type": "string", "format": "colour"}, "x", "format"),
    "a pattern that is not regular": ({"type": "string", "pattern": r"(a+)b\1"}, "b", "pattern"),
    "digits that are no ASCII": ({"type": "string", "pattern": r"^\d$"}, "é", "pattern"),
    "JSON": ({"type": "object"}, "{]", "type"),
    "a list among values": ({"enum": [[1], "x"]}, "[2]", "enum"),
    "a length of what is left open": ({"minLength": 5}, "x", "minLength"),
}


@pytest.mark.parametrize("case", WIDER)
def test_what_is_not_enforced_is_reported(case: str) -> None:
    schema, invalid, keyword = WIDER[case]
    judge = Judge(of(schema))
    assert ("v", keyword) in [(issue.place, issue.keyword) for issue in judge.issues]
    assert judge.accepts(block(f"<v>{invalid}</v>"))


def test_alternatives_that_hold_each_other_and_look_alike_are_left_open() -> None:
    # libxml2 would try both at each level.
    alike = [{"type": "object", "properties": {"l": {"$ref": "#/$defs/e"}, "w": each}} for each in (INTEGER, STRING)]
    judge = Judge(of({"$ref": "#/$defs/e"}, **{"$defs": {"e": {"anyOf": [*alike, INTEGER]}}}))
    assert "anyOf" in [issue.keyword for issue in judge.issues]
    text = "<w>1</w>"
    for _ in range(40):
        text = f"<l>{text}</l>"
    assert judge.accepts(block(f"<v>{text}</v>"))


# Patterns and formats


def fits_pattern(pattern: str, texts: list[str]) -> dict[str, bool]:
    judge = Judge(of({"type": "string", "pattern": pattern}))
    element = read_xml(block("<v/>"))
    found = {}
    for each in texts:
        element.find("arguments/v").text = each
        found[each] = judge.fits(element)
    return found


def regular_expressions() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(["a", "b", "c", "[ab]", "[^a]", ".", r"\s", r"\S", "[^ab\n]", "^", "$"])
    counts = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}", "*?"])
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
            st.tuples(inner, counts).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        ),
        max_leaves=6,
    )


TEXTS = ["".join(each) for size in range(5) for each in itertools.product("abc\n", repeat=size)]


@examples(60)
@given(regular_expressions())
def test_a_pattern_takes_what_python_finds_it_in(pattern: str) -> None:
    assume(xsd_pattern(pattern) is not None)
    # `$` is the very end.
    compiled = re.compile(pattern.replace("$", r"\Z"))
    texts = some(TEXTS, pattern)
    assert fits_pattern(pattern, texts) == {each: compiled.search(each) is not None for each in texts}


# libxml2 takes none of these as they stand in the schema of a tool.
HARD = {
    "a group that is repeated at the end of an alternative": ("^(?:cb(?:ab)+|c)$", ["c", "cbab"], ["cab", "cb"]),
    "a count before the same characters": ("^[ab]{2,4}[ab]$", ["aba", "ababa"], ["ab", "ababab"]),
    "sets that leave out": ("^[^a]+[^b][^a]$", ["bcb", "bbcb"], ["bbb", "ab"]),
    "nothing, counted": ("^(?:a?){3}b$", ["b", "aaab"], ["aaaab", ""]),
    "long counts": ("^(?:ab){0,99}c$", ["c", "ab" * 99 + "c"], ["ab" * 100 + "c"]),
    "longer counts": ("^[a-z]{3,400}-$", ["abc-", "a" * 400 + "-"], ["ab-", "a" * 401 + "-"]),
    "special characters at the ends of ranges": (r"^[\t-\r!-\]]+$", ["\n", "\t[]!-A"], [" ", "^", "a"]),
    "special characters": (r"^[\^\-\[\]\\]+\.\*\$\{\}\|\t$", ["^-[]\\.*${}|\t"], ["a.*${}|\t"]),
    "other planes": ("^[😀-😎é]+$", ["😀é😎"], ["😐", "e"]),
}


@pytest.mark.parametrize("case", HARD)
def test_a_pattern_is_printed_as_libxml2_understands_it(case: str) -> None:
    pattern, accepted, refused = HARD[case]
    found = fits_pattern(pattern, [*accepted, *refused])
    assert [each for each in accepted if not found[each]] == []
    assert [each for each in refused if found[each]] == []


@pytest.mark.parametrize(
    "pattern", [r"\bx", r"(a)\1", "(?=a)b", "(?i)a", "(?m)^a", "(?>a)", "a*+", "(?:^a)*", "(?:ab){9999}c", "a{99999}b"]
)
def test_a_pattern_that_cannot_be_said_is_none(pattern: str) -> None:
    assert xsd_pattern(pattern) is None


def test_a_text_in_which_no_pattern_is_looked_for_is_too_long() -> None:
    assert MAX_PATTERN_TEXT == CHECKED_PATTERN_TEXT
    assert list(fits_pattern("a", ["a" * MAX_PATTERN_TEXT, "a" * (MAX_PATTERN_TEXT + 1)]).values()) == [True, False]


FORMAT_TEXTS = {
    "date": "2024-02-29 2023-02-29 2000-02-29 1900-02-29 0001-01-01 0000-01-01 2024-04-31 2024-12-31 2024-13-01 "
    "24-01-01",
    "time": "10:00:00Z 23:59:60z 24:00:00Z 10:60:00Z 10:00:00.5+05:30 10:00:00 10:00:00+24:00 10:00Z",
    "date-time": "2024-02-29T10:00:00Z 2024-02-30T10:00:00Z 2024-02-29t10:00:00-01:00 2024-02-29",
    "uuid": "123e4567-e89b-42d3-a456-426614174000 123E4567-E89B-42D3-A456-42661417400A 123e4567 "
    "x23e4567-e89b-42d3-a456-42661417400",
    "ipv4": "192.0.2.1 255.255.255.255 256.0.0.1 1.2.3 01.2.3.4 1.2.3.4.5 0.0.0.0",
    "ipv6": ":: ::1 1:: 1::2 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1:2:3:4:5:6:7:8:9 1::2::3 12345:: "
    "::1.2.3.4 1:2:3:4:5:6:1.2.3.4 "
    "1:2:3:4:5:6:7:1.2.3.4 fe80::1%eth0 : ::: 1: :1 1:2:3::4:5:6:7 1:2:3:4::5:6:7:8 ::ffff:1.2.3.4",
    "email": "a@b a.b+c@d.e a@b@c @b a@ a ä@ö",
    "uri": "https://example.com/a?b#c mailto:a urn:x 1a:b :x a:<b> a:b|c x",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_a_format_is_what_the_check_of_a_call_takes_for_it(form: str) -> None:
    assert xsd_format(form) is not None
    judge = Judge(of({"type": "string", "format": form}))
    texts = [*FORMAT_TEXTS[form].split(), ""]
    element = read_xml(block("<v/>"))
    for each in texts:
        element.find("arguments/v").text = each
        assert judge.fits(element) is FORMATS[form](each), each


# Laws


def is_elements(text: str) -> bool:
    """Whether a block has elements for a body, and XML reads it as our parser does."""
    return not text.startswith("<tool>\n{") and "\r" not in text and find_forbidden(text, 0, len(text)) < 0


@given(meant_calls)
def test_a_call_that_fits_its_tool_is_accepted_as_it_is_written(meant: Meant) -> None:
    text = render_call(meant.call, meant.tool)
    assume(is_elements(text))
    assert meant.tool is not None
    assert Judge(meant.tool).accepts(text), text


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from places(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...], rng: Random) -> Any:
    """The value with something else, or nothing, at a place."""
    copied = value.copy()
    if len(path) > 1:
        copied[path[0]] = changed(copied[path[0]], path[1:], rng)
    elif rng.random() < 0.25:
        del copied[path[0]]
    else:
        copied[path[0]] = anything(rng, 2)
    return copied


def spoilt(arguments: dict[str, Any], rng: Random) -> dict[str, Any]:
    found = list(places(arguments))
    if not found or rng.random() < 0.2:
        return {**arguments, name(rng): anything(rng, 2)}
    result: dict[str, Any] = changed(arguments, rng.choice(found), rng)
    return result


@given(meant_calls, st.randoms(use_true_random=False))
def test_arguments_that_do_not_fit_are_refused_if_nothing_was_reported(meant: Meant, rng: Random) -> None:
    assert meant.tool is not None
    judge = Judge(meant.tool)
    assume(not judge.issues)
    try:
        text = render_call(meant.call.model_copy(update={"arguments": spoilt(meant.call.arguments, rng)}), meant.tool)
    except XMLToolsError:
        return  # no block says these arguments
    errors = parse(text, tools=[meant.tool]).errors
    if errors and is_elements(text):
        assert errors[0].code in (Code.INVALID_ARGUMENTS, Code.DUPLICATE_ARGUMENT)
        assert not judge.accepts(text), text


def test_a_schema_is_relax_ng_by_its_own_rules() -> None:
    # lxml raises for a schema that is none; this holds for all above. Here with everything at once.
    properties = {f"p{at}": schema for at, (schema, _, _) in enumerate(VALUES.values())}
    judge = Judge(tool({"type": "object", "properties": properties}))
    assert etree.QName(read_xml(judge.schema)).namespace == "http://relaxng.org/ns/structure/1.0"
    assert judge.accepts(block("<p0>x</p0>"))
