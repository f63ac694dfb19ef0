"""Shapes, reading and checking: table by table, against `jsonschema`, and there and back."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.effort import effort
from support.often import examples
from support.random_schemas import plain_schema, value_for, wild_schema

from xmltools.errors import Code, XMLToolsError
from xmltools.syntax.element_tree import Element
from xmltools.tools.schema import (
    ANY,
    ArrayShape,
    ObjectShape,
    UnionShape,
    compile_json,
    compile_schema,
    find_problems,
    item_name,
    read_arguments,
    read_object,
    singular_of,
)
from xmltools.tools.schema.document import Document
from xmltools.tools.schema.text_to_scalar import UNREAD


def element(name: str, content: Any, offset: int = 0) -> Element:
    """Make a leaf from a string, a node from a list of pairs, a null from None."""
    made = Element(name, offset, nil=content is None)
    if isinstance(content, list):
        made.children = [element(*pair) for pair in content]
        made.inner = "".join(f"<{child.name}>…</{child.name}>" for child in made.children)
    else:
        made.text = content or ""
    return made


def elements(*pairs: tuple[str, Any]) -> list[Element]:
    return [element(name, content, offset) for offset, (name, content) in enumerate(pairs)]


def schema_of(value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"values": value}, **more}


def read_one(schema: Any, *contents: Any) -> tuple[Any, list[str], list[str], list[str]]:
    shape = compile_schema(schema_of(schema))
    reading = read_arguments(elements(*(("values", content) for content in contents)), shape)
    return (
        reading.arguments["values"],
        [repair.code.value for repair in reading.repairs],
        [str(problem) for problem in reading.problems],
        list(reading.duplicates),
    )


# Table 3.4


@pytest.mark.parametrize(
    ("schema", "text", "value", "coerced"),
    [
        ({"type": "string"}, "  x ", "  x ", False),
        ({"type": "integer"}, " 5\n", 5, False),
        ({"type": "integer"}, "-0", 0, False),
        ({"type": "integer"}, "+5", 5, True),
        ({"type": "integer"}, "007", 7, True),
        ({"type": "integer"}, "5.0", 5, True),
        ({"type": "integer"}, "12345678901234567890.00", 12345678901234567890, True),
        ({"type": "integer"}, "1.5e3", 1500, True),
        ({"type": "integer"}, "1500e-2", 15, True),
        ({"type": "integer"}, "0e99999", 0, True),
        ({"type": "integer"}, "1" * 4300, int("1" * 4300), False),
        ({"type": "number"}, "5", 5, False),
        ({"type": "number"}, "5.0", 5.0, False),
        ({"type": "number"}, "-1e-3", -0.001, False),
        ({"type": "number"}, "+1.5", 1.5, True),
        ({"type": "boolean"}, "true", True, False),
        ({"type": "boolean"}, "True", True, True),
        ({"type": "boolean"}, "off", False, True),
        ({"type": "boolean"}, "1", True, True),
        ({"type": "null"}, "null", None, False),
        ({"type": "null"}, "", None, True),
        ({"type": "null"}, "None", None, True),
        ({"enum": ["red", 2, None, True]}, " red\n", "red", False),
        ({"enum": ["red", 2, None, True]}, "RED", "red", True),
        ({"enum": ["red", 2, None, True]}, "2", 2, False),
        ({"enum": ["red", 2, None, True]}, "null", None, False),
        ({"enum": ["red", 2, None, True]}, "TRUE", True, True),
        ({"enum": ["2", 2]}, "2", "2", False),
        ({"enum": [" a", "a"]}, " a", " a", False),
        ({"type": "integer", "enum": ["1", 1]}, "1", 1, False),
        ({"const": "x"}, "x", "x", False),
        ({}, "5", "5", False),
        ({"type": ["string", "null"]}, "", "", False),
        ({"type": ["string", "null"]}, "null", None, False),
        ({"type": ["string", "integer"]}, "5", 5, False),
        ({"type": ["string", "integer"]}, "05", "05", False),
        ({"type": ["boolean", "string"]}, "yes", "yes", False),
        ({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}, "A", "A", False),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "1.5", 1.5, False),
        ({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, "YES", True, True),
        ({"type": "integer", "nullable": True}, "null", None, False),
        ({"allOf": [{"$ref": "#/$defs/n"}], "$defs": {}}, "5", 5, False),
    ],
)
def test_leaves(schema, text, value, coerced):
    whole = schema_of(schema)
    whole["$defs"] = {"n": {"type": "integer"}}
    reading = read_arguments([element("values", text)], compile_schema(whole))
    assert reading.arguments == {"values": value}
    assert type(reading.arguments["values"]) is type(value)
    assert [repair.code for repair in reading.repairs] == [Code.COERCED_VALUE] * coerced
    assert not reading.problems


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (type, text)
        for type in ("integer", "number")
        for text in ("", "1_0", "５", "nan", "inf", "0x1", ".5", "5.", "1 2")
    ]
    + [
        ("integer", "1.5"),
        ("integer", "1" * 4301),
        ("integer", "1e4400"),
        ("number", "1e400"),
        ("number", "1" * 5000),
    ]
    + [("integer", "1e" + "9" * 3000), ("boolean", "2"), ("boolean", ""), ("null", "0"), ("null", "nul")],
)
def test_what_is_no_such_scalar_is_a_problem(type, text):
    value, _, problems, _ = read_one({"type": type}, text)
    assert value == text
    assert problems[0].startswith(f"values: expected {type}, got '")


@pytest.mark.parametrize(
    ("item", "contents", "value", "codes"),
    [
        ("string", ["a"], ["a"], ["single_item"]),
        ("string", ["a", "[b]"], ["a", "[b]"], []),
        ("string", [""], [], []),
        ("string", [[("value", "a"), ("x", "b")]], ["a", "b"], []),
        ("string", [[("value", "a")], [("value", "b")]], ["a", "b"], []),
        ("string", [[("value", "a")], "b"], ["a", "b"], []),
        ("string", ['["a", "b"]'], ["a", "b"], ["json_value"]),
        ("string", ["['a', 'b']"], ["a", "b"], ["json_value"]),
        ("string", ["[draft] fix"], ["[draft] fix"], ["single_item"]),
        ("string", ["[docs](http://a)"], ["[docs](http://a)"], ["single_item"]),
        ("string", ["a, b"], ["a, b"], ["single_item"]),
        ("string", [[("item", "a, b")]], ["a, b"], []),
        ("string", ["a", "b"], ["a", "b"], []),
        ("integer", ["1, 2,3"], [1, 2, 3], ["comma_list"]),
        ("integer", ["+1, '2'"], [1, 2], ["coerced_value", "comma_list"]),
        ("number", ["1.5, -2e3"], [1.5, -2000.0], ["comma_list"]),
        ("boolean", ["true, no"], [True, False], ["coerced_value", "comma_list"]),
        ("string", [None], None, []),
        ("integer", ["[1, '2',]"], [1, 2], ["json_value", "coerced_value"]),
        ("integer", ["05"], [5], ["coerced_value", "single_item"]),
        ("integer", [[("item", "1"), ("item", "+2"), ("item", "+3")]], [1, 2, 3], ["coerced_value"]),
    ],
)
def test_arrays(item, contents, value, codes):
    read, found, problems, duplicates = read_one({"type": "array", "items": {"type": item}}, *contents)
    assert (read, found, duplicates) == (value, codes, [])
    assert bool(problems) is (value is None)


FILE = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "mode": {"type": "integer"}},
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("contents", "value"),
    [
        ([[("value", [("path", "a"), ("mode", "1")])]], [{"path": "a", "mode": 1}]),
        ([[("path", "a"), ("mode", "1")]], [{"path": "a", "mode": 1}]),
        ([[("path", "a")], [("path", "b")]], [{"path": "a"}, {"path": "b"}]),
        ([[("item", [("path", "a")])]], [{"path": "a"}]),
        (['{"path": "a", "mode": "1"}'], [{"path": "a", "mode": 1}]),
        (["[{'path': 'a'}]"], [{"path": "a"}]),
    ],
)
def test_arrays_of_objects(contents, value):
    read, _, problems, duplicates = read_one({"type": "array", "items": FILE}, *contents)
    assert (read, problems, duplicates) == (value, [], [])


def test_an_array_of_arrays():
    schema = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
    rows = [("value", [("item", "1"), ("item", "2")]), ("value", "3")]
    assert read_one(schema, rows)[0] == [[1, 2], [3]]
    assert read_one(schema, [("item", "1")], [("item", "2")])[0] == [[1], [2]]
    assert read_one(schema, "[[1], [2]]")[:2] == ([[1], [2]], ["json_value"])


def test_prefix_items_are_read_by_position():
    schema = {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "boolean"}}
    items = [("item", text) for text in ("1", "2", "true")]
    assert read_one(schema, items)[:3] == ([1, "2", True], [], [])
    older = {"items": schema["prefixItems"], "additionalItems": schema["items"]}
    assert read_one(older, items)[:3] == ([1, "2", True], [], [])


@pytest.mark.parametrize(
    ("content", "value", "codes"),
    [
        ([("path", "a"), ("mode", "5")], {"path": "a", "mode": 5}, []),
        ("{'path': 'a', 'mode': '5'}", {"path": "a", "mode": 5}, ["json_value", "coerced_value"]),
        ('{"path": "a\n",}', {"path": "a\n"}, ["json_value", "json_line_break", "json_trailing_comma"]),
        ([("path", "a"), ("other", [("b", "1"), ("b", "2")])], {"path": "a", "other": {"b": ["1", "2"]}}, []),
    ],
)
def test_objects(content, value, codes):
    read, found, problems, duplicates = read_one(FILE, content)
    assert (read, sorted(found), problems, duplicates) == (value, sorted(codes), [], [])


def test_unions_with_containers():
    union = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}
    assert read_one(union, "hello")[:2] == ("hello", [])
    assert read_one(union, '["a"]')[:2] == (["a"], ["json_value"])
    assert read_one(union, "a", "b")[0] == ["a", "b"]
    assert read_one(union, [("item", "a")])[0] == ["a"]
    assert read_one(union, [("b", "a")])[:2] == ("<b>…</b>", ["bare_less_than"])
    objects = {"anyOf": [FILE, {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}]}
    assert read_one(objects, [("url", "x")])[:3] == ({"url": "x"}, [], [])
    assert read_one(objects, [("path", "x"), ("mode", "z")])[2] == ["values.mode: expected integer, got 'z'"]
    assert read_one({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "integer"}]}, "5")[0] == 5


def test_a_string_that_came_as_elements_is_its_markup():
    assert read_one({"type": "string"}, [("b", "x")])[:3] == ("<b>…</b>", ["bare_less_than"], [])
    assert read_one({"type": "integer"}, [("b", "x")])[2] == ["values: expected integer, got an object"]


def test_what_is_repeated_and_no_array_is_told():
    assert read_one({"type": "integer"}, "1", "2")[3] == ["values"]
    assert read_one({"type": "string"}, "1", "2")[3] == ["values"]
    assert read_one({}, "1", "2")[::3] == (["1", "2"], [])
    assert read_one(FILE, [("path", "a"), ("path", "b")])[3] == ["path"]


def test_problems_name_the_place():
    shape = compile_schema(schema_of({"type": "array", "items": FILE}, required=["name"], additionalProperties=False))
    reading = read_arguments(elements(("values", [("item", [("mode", "abc")])]), ("zzz", "1")), shape)
    assert sorted(map(str, reading.problems)) == [
        "name: expected a value, got nothing",
        "values[0].mode: expected integer, got 'abc'",
        "values[0].path: expected string, got nothing",
        "zzz: expected nothing of this name, got '1'",
    ]


# 3.5: without a schema


def test_untyped():
    read = read_arguments(
        elements(
            ("files", [("file", "a")]),
            ("entries", [("entry", "a"), ("entry", "b")]),
            ("list", [("item", [("x", None)])]),
            ("object", [("a", "1"), ("b", ""), ("a", "2")]),
            ("item", "1"),
            ("item", "2"),
        ),
        None,
    )
    assert read.arguments == {
        "files": ["a"],
        "entries": ["a", "b"],
        "list": [{"x": None}],
        "object": {"a": ["1", "2"], "b": ""},
        "item": ["1", "2"],
    }
    assert not read.repairs


@pytest.mark.parametrize(
    ("name", "singular"),
    [
        ("files", "file"),
        ("entries", "entry"),
        ("boxes", "box"),
        ("classes", "class"),
        ("matches", "match"),
        ("caches", "cache"),
        ("sizes", "size"),
        ("cases", "case"),
        ("cookies", "cookie"),
        ("ties", "tie"),
        ("input_files", "input_file"),
        ("ids", "id"),
        ("children", "item"),
        ("class", "item"),
        ("my files", "item"),
        ("s", "item"),
    ],
)
def test_singulars(name, singular):
    assert item_name(name) == singular
    assert singular == "item" or singular in singular_of(name)


# JSON arguments


def test_json_is_converted_by_the_same_table():
    properties = {
        "n": {"type": "integer"},
        "b": {"type": "boolean"},
        "s": {"type": "string"},
        "files": {"type": "array", "items": FILE},
        "tags": {"type": "array", "items": {"type": "string"}},
        "u": {"type": ["integer", "string"]},
    }
    shape = compile_schema({"type": "object", "properties": properties})
    given = {"n": "5", "b": 1, "s": "5", "files": '[{"path": "a", "mode": 2.0}]', "tags": "x", "u": "5"}
    reading = read_object(given, shape, 7)
    expected = {"n": 5, "b": True, "s": "5", "files": [{"path": "a", "mode": 2}], "tags": ["x"], "u": "5"}
    assert reading.arguments == expected
    assert {(repair.code, repair.offset) for repair in reading.repairs} == {
        (Code.COERCED_VALUE, 7),
        (Code.JSON_VALUE, 7),
    }
    assert not read_object(expected, shape, 0).repairs
    assert [str(each) for each in read_object({"s": 5}, shape, 0).problems] == ["s: expected string, got 5"]
    assert read_object({"a": 1}, None, 0).arguments == {"a": 1}


# Shapes


def test_what_the_parser_asks():
    shape = compile_schema(
        {
            "properties": {
                "files": {"type": "array", "items": FILE},
                "text": {"type": "string"},
                "n": {"type": ["integer", "null"]},
                "mixed": {"anyOf": [{"type": "string"}, FILE, {"type": "array", "items": {"type": "integer"}}]},
                "open": {},
            },
            "patternProperties": {"^x-": {"type": "integer"}},
        }
    )
    files, text, n, mixed = (shape.child(name) for name in ("files", "text", "n", "mixed"))
    assert [each.exact for each in (files, text, n, mixed, ANY)] == [True, True, False, True, True]
    assert (text.is_text, mixed.is_text, files.is_list, shape.is_list) == (True, False, True, False)
    assert text.opens("b", "text") is None and n.opens("b", "n") is None
    assert isinstance(files.opens("path", "files"), ObjectShape)
    assert files.opens("file", "files") is files and files.opens("zzz", "files") is files
    assert isinstance(mixed.opens("path", "mixed"), ObjectShape)
    assert isinstance(mixed.opens("item", "mixed"), ArrayShape)
    assert mixed.opens("b", "mixed") is None
    assert shape.child("open") is ANY and shape.child("zzz") is ANY and ANY.opens("a", "b") is ANY
    assert shape.knows("text", "n") and shape.knows("x-1", "") and not shape.knows("zzz", "")
    assert shape.child("x-1").exact is False
    assert files.knows("file", "file") and files.knows("item", "file") and not files.knows("b", "file")
    assert shape.has_property("text") and not shape.has_property("x-1")


def test_alternatives_of_objects_are_read_together():
    kinds = [{"properties": {"kind": {"const": kind}, kind: {"type": "string"}}} for kind in ("a", "b")]
    shape = compile_schema({"type": "object", "properties": {"v": {"oneOf": kinds}}})
    container = shape.child("v").opens("kind", "v")
    assert container.child("b").is_text and container.knows("b", "kind") and container.child("kind").exact is False
    inner = compile_schema({"type": "object", "properties": {"n": {"type": "integer"}}, "anyOf": kinds})
    assert inner.child("b").is_text and not inner.child("n").exact


def test_recursive_schemas():
    tree = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "integer"}},
    }
    shape = compile_schema(tree)
    content: Any = [("n", "1")]
    for _ in range(30):
        content = [("children", [("item", content)]), ("n", "1")]
    reading = read_arguments([element(*pair) for pair in content], shape)
    assert not reading.problems
    Draft202012Validator(tree).validate(reading.arguments)


@pytest.mark.parametrize(
    ("text", "value"), [("x", ["x"]), ('["x"]', ["x"]), ('[5, "x"]', [5, "x"]), ("5", 5), ("[[5]]", [[5]])]
)
def test_text_in_place_of_lists_in_lists_is_one_item_and_no_list_without_end(text, value):
    """Each text could be a list of one item, which is that text again."""
    lists = {"type": ["array", "integer"], "items": {"$ref": "#/$defs/lists"}}
    shape = compile_schema(schema_of({"$ref": "#/$defs/lists"}, **{"$defs": {"lists": lists}}))
    assert read_arguments(elements(("values", text)), shape).arguments == {"values": value}


def test_deep_alternatives_take_linear_time():
    kinds = [
        {
            "type": "object",
            "properties": {"op": {"const": op}, "left": {"$ref": "#/$defs/e"}},
            "required": ["op", "left"],
        }
        for op in ("add", "sub", "mul", "div")
    ]
    defs = {"e": {"anyOf": [*kinds, {"type": "integer"}]}}
    shape = compile_schema({"properties": {"left": {"$ref": "#/$defs/e"}}, "$defs": defs})
    for leaf in ("1", "x"):
        content: Any = leaf
        for _ in range(60):
            content = [("op", "div"), ("left", content)]
        read = partial(read_arguments, [element("left", content)], shape)
        assert len(read().problems) == (leaf == "x")
        assert effort(read) < 300


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "objekt"}, "#/type: there is no type 'objekt'"),
        ({"type": "string"}, "arguments are an object"),
        ({"properties": []}, "#/properties: expected an object"),
        ({"properties": {"a/b": 5}}, "#/properties/a~1b: expected a schema"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "#/properties/a/$ref: there is nothing at #/$defs/b"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "out of reach"),
        ({"properties": {"a": {"$ref": "#anchor"}}}, "out of reach"),
        ({"properties": {"a": {"pattern": 1}}}, "#/properties/a/pattern: expected a string"),
        ({"required": ["a", 1]}, "#/required: expected a list of names"),
        ({"anyOf": {}}, "#/anyOf: expected a list of schemas"),
        ({"properties": {"a": {"enum": []}}}, "#/properties/a/enum"),
        ({"properties": {"a": {"minLength": -1}}}, "whole number"),
        ({"properties": {"a": {"multipleOf": 0}}}, "above 0"),
        ({"properties": {"a": {"minimum": "1"}}}, "expected a number"),
        ({"properties": {"a": {"uniqueItems": 1}}}, "true or false"),
        ({"default": {1, 2}}, "#/default: {1, 2} is no JSON value"),
        ({"default": float("nan")}, "no JSON value"),
        ({1: 2}, "the key 1 is no string"),
        ({"$ref": "#"}, "refers to itself"),
        ({"$defs": {"a": {"anyOf": [{"not": {"$ref": "#/$defs/a"}}]}}}, "refers to itself"),
        ({"dependentRequired": {"a": "b"}}, "#/dependentRequired/a"),
        ([], "expected a JSON Schema object"),
    ],
)
def test_invalid_schemas(schema, words):
    with pytest.raises(XMLToolsError) as caught:
        compile_schema(schema)
    assert words in str(caught.value)


def test_schemas_without_end_are_refused():
    loop: dict[str, Any] = {"properties": {}}
    loop["properties"]["a"] = loop
    with pytest.raises(XMLToolsError, match="levels deep"):
        compile_schema(loop)
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(500)} | {"d500": {}}
    with pytest.raises(XMLToolsError, match="chain"):
        compile_schema({"$defs": chain})


@pytest.mark.parametrize("levels", [190, 199, 200, 201, 400])
def test_a_schema_in_json_is_taken_or_refused_as_one_in_python_is(levels):
    deep: Any = 1
    for number in range(levels - 1):
        deep = [deep] if number % 2 else {"a": deep}
    for inside in (deep, float("nan"), float("inf"), "NaN", ["[{" * 300]):
        schema = {"default": inside}
        told = [_outcome(compile_schema, schema), _outcome(compile_json, json.dumps(schema))]
        assert told[0] == told[1]
        assert (told[0] != "taken") is ((inside is deep and levels > 200) or isinstance(inside, float))


def _outcome(make: Callable[[Any], object], source: Any) -> str:
    try:
        make(source)
    except XMLToolsError as error:
        return str(error)
    return "taken"


@pytest.mark.parametrize("word", ["allOf", "anyOf", "oneOf"])
def test_references_that_double_at_each_step_are_looked_at_once(word):
    steps = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(30)}
    defs = {**steps, "d30": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    shape = compile_schema({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})
    for leaf, fits in (("5", word != "oneOf"), ("five", False)):
        reading = read_arguments([element("x", [("n", leaf)])], shape)
        assert (not reading.problems) is fits
        assert len(reading.problems) <= 1


def test_the_schema_is_copied():
    schema = schema_of({"type": "integer"})
    shape = compile_schema(schema)
    schema["properties"]["values"]["type"] = "string"
    assert read_arguments([element("values", "5")], shape).arguments == {"values": 5}


def test_older_words():
    older = {"definitions": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}}}
    schema = schema_of(
        {"$ref": "#/definitions/n"}, **older, dependencies={"values": ["other"], "x": {"required": ["y"]}}
    )
    reading = read_arguments(elements(("values", "0"), ("x", "")), compile_schema(schema))
    assert sorted(map(str, reading.problems)) == [
        "other: expected a value, got nothing",
        "values: expected a number above 0, got 0",
        "y: expected a value, got nothing",
    ]
    nullable = schema_of(
        {"nullable": True, "allOf": [{"$ref": "#/components/x"}]}, components={"x": {"type": "string"}}
    )
    assert read_arguments([element("values", None)], compile_schema(nullable)).problems == []


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("date", "2024-12-01", "20241201"),
        ("time", "23:59:60Z", "24:00:00Z"),
        ("time", "12:00:00.5+02:00", "12:00:00"),
        ("date-time", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("ipv6", "::1", "fe80::1%eth0"),
        ("email", "a@b", "a b@c"),
        ("uri", "https://x.y/z?a=b#c", "x.y"),
        ("unheard-of", "anything", None),
    ],
)
def test_formats(name, good, bad):
    assert not read_one({"type": "string", "format": name}, good)[2]
    assert bad is None or read_one({"type": "string", "format": name}, bad)[2]


def test_a_pattern_is_not_looked_for_in_very_long_text():
    schema = {"type": "string", "pattern": "^(?:.{0,1200}|a+)$"}
    assert not read_one(schema, "a" * 10_000)[2]
    assert read_one(schema, "a" * 20_000)[2] == ["values: expected at most 10399 characters, got 20000"]
    assert not read_one({"type": "string", "pattern": "^a+$"}, "a" * 1_000_000)[2]


# Against jsonschema

NAMES = st.sampled_from(["a", "b", "files", "item"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -2.0]) | st.text("ab1", max_size=3)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
COUNTS = st.integers(0, 3)
TYPE = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])


def _keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    many = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    words = {
        "type": TYPE | st.lists(TYPE, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "const": VALUES,
        "minLength": COUNTS,
        "maxLength": COUNTS,
        "pattern": st.sampled_from(["^a", "b", "^[ab]*$"]),
        "minimum": st.integers(-2, 2),
        "maximum": st.integers(-2, 2),
        "exclusiveMinimum": st.integers(-2, 2),
        "exclusiveMaximum": st.sampled_from([0.5, 2]),
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minItems": COUNTS,
        "maxItems": COUNTS,
        "uniqueItems": st.booleans(),
        "items": inner,
        "prefixItems": many,
        "contains": inner,
        "minContains": COUNTS,
        "maxContains": COUNTS,
        "properties": named,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "e"]), inner, max_size=2),
        "additionalProperties": inner,
        "propertyNames": inner,
        "unevaluatedProperties": inner,
        "unevaluatedItems": inner,
        "required": st.lists(NAMES, max_size=2, unique=True),
        "minProperties": COUNTS,
        "maxProperties": COUNTS,
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        "dependentSchemas": named,
        "anyOf": many,
        "oneOf": many,
        "allOf": many,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.just("#/$defs/d"),
    }
    # Few at a time: with all of them nothing is valid.
    chosen = st.lists(st.sampled_from(sorted(words)), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: words[name] for name in names}))


SCHEMAS = st.recursive(
    st.booleans() | st.builds(lambda name: {"type": name}, TYPE) | st.just({}),
    _keywords,
    max_leaves=6,
)


@examples(400)
@given(SCHEMAS, SCHEMAS, st.dictionaries(NAMES, VALUES, max_size=3))
def test_valid_is_what_jsonschema_says(schema, other, value):
    assume("$ref" not in json.dumps(other))
    whole = {"type": "object", "allOf": [schema], "additionalProperties": True, "$defs": {"d": other}}
    reading = read_object(value, compile_schema(whole), 0)
    validator = Draft202012Validator(whole)
    assert validator.is_valid(reading.arguments) is (not reading.problems)
    if validator.is_valid(value) and not reading.repairs:
        assert reading.arguments == value


@examples(300)
@given(SCHEMAS, SCHEMAS, VALUES)
def test_elements_are_checked_as_jsonschema_does(schema, other, value):
    assume("$ref" not in json.dumps(other))
    whole = {"type": "object", "properties": {"files": schema}, "$defs": {"d": other}}
    reading = read_arguments([written("files", value)], compile_schema(whole))
    assert Draft202012Validator(whole).is_valid(reading.arguments) is (not reading.problems)


# There and back


def written(name: str, value: Any) -> Element:
    """Write a value as an element, in the way that a renderer would."""
    if value is None:
        return element(name, None)
    if isinstance(value, list):
        made = element(name, "")
        made.children = [written(item_name(name), each) for each in value]
        return made
    if isinstance(value, dict):
        made = element(name, "")
        made.children = [written(key, each) for key, each in value.items()]
        return made
    return element(name, value if isinstance(value, str) else json.dumps(value))


@st.composite
def typed(draw: st.DrawFn, depth: int = 3) -> tuple[dict[str, Any], Any]:
    """Draw a schema and a value that is valid under it."""
    kinds = ["string", "integer", "number", "boolean", "null", "enum"] + ["array", "object"] * (depth > 0)
    kind = draw(st.sampled_from(kinds))
    leaves = {
        "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        "integer": st.integers(),
        "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    if kind in leaves:
        return {"type": kind}, draw(leaves[kind])
    if kind == "enum":
        values = draw(st.lists(st.text("abc", min_size=1) | st.integers(-9, 9), min_size=1, unique=True))
        return {"enum": values}, draw(st.sampled_from(values))
    if kind == "array":
        schema, first = draw(typed(depth - 1))
        # Further items of the same type: the first one again is enough to see order and number.
        return {"type": "array", "items": schema}, [first] * draw(st.integers(0, 3))
    members = draw(st.dictionaries(st.sampled_from(["path", "files", "item", "x y"]), typed(depth - 1), max_size=3))
    present = {name for name in members if draw(st.booleans())}
    schema = {"type": "object", "properties": {name: each[0] for name, each in members.items()}}
    return schema, {name: each[1] for name, each in members.items() if name in present}


@examples(400)
@given(st.dictionaries(st.sampled_from(["files", "data", "entries"]), typed(), max_size=3))
def test_values_survive(members):
    schema = {"type": "object", "properties": {name: each[0] for name, each in members.items()}}
    value = {name: each[1] for name, each in members.items()}
    reading = read_arguments([written(name, each) for name, each in value.items()], compile_schema(schema))
    assert reading.arguments == value
    assert json.dumps(reading.arguments) == json.dumps(value)
    assert (reading.repairs, reading.problems, reading.duplicates) == ([], [], {})
    assert read_object(value, compile_schema(schema), 0) == (value, [], [], {}, False)


@given(
    st.dictionaries(NAMES, st.recursive(st.text(max_size=5), lambda inner: st.lists(inner, max_size=2), max_leaves=4))
)
def test_hostile_text_raises_nothing(value):
    for schema in ({}, schema_of({"type": "integer"}), {"additionalProperties": FILE}):
        shape = compile_schema(schema)
        read_object(value, shape, 0)
        read_arguments([written(name, each) for name, each in value.items()], shape)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [1, "x"]}}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}},
    ],
)
def test_a_schema_that_is_given_up_is_freed_without_the_collector(schema):
    def documents():
        return sum(type(each) is Document for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = documents()
        shape = compile_schema(schema)
        assert shape.child("a").child("b") is not None
        assert documents() > before
        del shape
        assert documents() == before
    finally:
        gc.enable()


def test_a_shape_outlives_the_schema_that_it_is_a_part_of():
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [7]}}}}
    child = compile_schema(schema).child("a")
    assert child.items.values == [7]


# What is clean


def trees(rng: Any, name: str, value: Any) -> list[tuple[str, Any]]:
    """Return elements that may well be meant as the value."""
    if rng.random() < 0.1 or not isinstance(value, (list, dict)):
        text = value if isinstance(value, str) else json.dumps(value)
        return [(name, rng.choice([text, text, f" {text}", text.title(), None if value is None else text]))]
    if isinstance(value, dict):
        return [(name, [pair for key, each in value.items() for pair in trees(rng, key, each)])]
    item = rng.choice(["item", name.removesuffix("s"), name])
    items = [pair for each in value for pair in trees(rng, item, each)]
    return items if item == name else [(name, items)]


@given(st.randoms(use_true_random=False))
@examples(600)
def test_what_is_clean_is_read_as_if_it_were_not_known_to_be(rng):
    schema = rng.choice([plain_schema, partial(wild_schema, hostile=False)])(rng)
    try:
        shape = compile_schema(schema)
    except XMLToolsError:
        return
    value = {"x": value_for(rng, schema["properties"]["x"], schema)}
    children = [pair for pair in trees(rng, "x", value["x"]) if pair[0] == "x"]

    def read() -> str:
        reads = read_arguments(elements(*children), shape), read_object(value, shape, 0)
        return repr([*reads, find_problems(value, shape)])

    at_once = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ObjectShape, "clean_children", lambda *_: UNREAD)
        patch.setattr(ObjectShape, "is_clean", lambda *_: False)
        patch.setattr(UnionShape, "read_text", lambda *_: UNREAD)
        assert read() == at_once


ITEM = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": ["x"], "type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "description": "words"}, "x"),
        ({"type": "string", "enum": ["x", "y"]}, "x"),
        ({"type": "array", "items": ITEM}, [{"a": "", "b": "x"}, {}]),
        ({**ITEM, "required": ["a"]}, {"a": "", "c": 5}),
    ],
)
def test_most_values_are_clean(schema, value):
    shape = compile_schema(schema_of(schema))
    assert shape.is_clean({"values": value})
    assert not shape.is_clean({"values": None})


def test_older_dependencies_hold_beside_those_in_newer_words():
    shape = compile_schema(
        {
            "type": "object",
            "dependencies": {"a": {"required": ["b"]}, "e": ["f"]},
            "dependentSchemas": {"c": {"required": ["d"]}},
            "dependentRequired": {"g": ["h"]},
        }
    )
    for name, wanted in ("ab", "cd", "ef", "gh"):
        assert [problem.path for problem in read_object({name: 1}, shape, 0).problems] == [(wanted,)]
        assert read_object({name: 1, wanted: 1}, shape, 0).problems == []


def test_a_list_that_fits_none_of_several_kinds_is_told_the_problems_of_the_first():
    lists = [{"type": "array", "items": {"type": kind}} for kind in ("integer", "boolean")]
    shape = compile_schema(schema_of({"anyOf": lists}))
    assert [str(each) for each in read_object({"values": ["x"]}, shape, 0).problems] == [
        "values[0]: expected integer, got 'x'"
    ]


@pytest.mark.parametrize("types", [["number", "integer"], ["integer", "number"]])
def test_what_is_to_be_a_number_and_an_integer_is_read_as_an_integer(types):
    read, codes, problems, _ = read_one({"allOf": [{"type": each} for each in types]}, "2.0")
    assert (read, type(read), codes, problems) == (2, int, ["coerced_value"], [])


def test_a_value_of_any_kind_is_read_as_json_within_the_limit_of_depth():
    shape = compile_schema(schema_of({}))
    reads = [
        read_arguments(elements(("values", text)), shape, depth=3).arguments["values"]
        for text in ("[[[1]]]", "[[[[1]]]]")
    ]
    assert reads == [[[[1]]], "[[[[1]]]]"]


def test_json_for_a_value_of_any_kind_is_a_repair_only_where_json_is_not_usual():
    shape = compile_schema(schema_of({}))
    for is_usual in (True, False, None):
        options = {} if is_usual is None else {"json_is_usual": is_usual}
        reading = read_arguments(elements(("values", '{"a": 1}')), shape, **options)
        assert reading.arguments == {"values": {"a": 1}}
        assert [repair.code for repair in reading.repairs] == ([] if is_usual else [Code.JSON_VALUE])


@pytest.mark.parametrize("order", [1, -1])
def test_a_chain_of_schemas_is_refused_whichever_of_its_ends_is_named_first(order):
    links: list[tuple[str, Any]] = [
        (f"s{number}", {"$ref": f"#/$defs/s{number + 1}"} if number < 150 else {"type": "string"})
        for number in range(151)
    ]
    with pytest.raises(XMLToolsError, match="more than 100 schemas apply through each other"):
        compile_schema(schema_of({"type": "string"}, **{"$defs": dict(links[::order])}))


@pytest.mark.parametrize("levels", [2, 7, 8, 20])
def test_only_valid_values_are_clean_and_of_these_no_very_deep_ones(levels):
    schema, valid, invalid = {"type": "integer"}, 1, "x"
    for _ in range(levels):
        schema, valid, invalid = {"type": "array", "items": schema}, [valid], [invalid]
    shape = compile_schema(schema_of(schema))
    assert shape.is_clean({"values": valid}) is (levels < 8)
    assert not shape.is_clean({"values": invalid})
    assert find_problems({"values": valid}, shape) == []


@pytest.mark.parametrize(
    ("value", "problems"), [(5, []), (None, []), ("a", ["values: expected a value or null, got 'a'"])]
)
def test_schemas_beside_nullable_are_asked(value, problems):
    shape = compile_schema(schema_of({"not": {"type": "string"}, "nullable": True}))
    assert [str(each) for each in read_object({"values": value}, shape, 0).problems] == problems
