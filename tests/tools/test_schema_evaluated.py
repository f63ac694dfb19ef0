"""What `unevaluatedProperties` and `unevaluatedItems` still see: the verdicts are also those of jsonschema."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from xmltools.tools.schema import compile_schema, read_object

A, B, NUMBERED = {"a": {"type": "string"}}, {"b": {"type": "string"}}, {"^n": {"type": "integer"}}

CLOSED_OBJECTS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "its own properties": ({"properties": A}, [{}, {"a": "x"}], [{"b": "x"}, {"a": "x", "b": "x"}]),
    "its own patterns": ({"patternProperties": NUMBERED}, [{"n1": 1}], [{"m": 1}]),
    "all, where additional ones are described": ({"additionalProperties": True}, [{"z": 1}], []),
    "properties of all that it refers to": (
        {"$ref": "#/$defs/a", "allOf": [{"properties": B}]},
        [{"a": "x", "b": "x"}],
        [{"c": "x"}],
    ),
    "additional ones of a part": ({"allOf": [{"additionalProperties": {"type": "integer"}}]}, [{"z": 1}], [{"z": "x"}]),
    "those that a part has looked at with the same word": (
        {"allOf": [{"unevaluatedProperties": {"type": "integer"}}]},
        [{"z": 1}],
        [{"z": "x"}],
    ),
    "properties of alternatives that fit, and of no others": (
        {"anyOf": [{"properties": A, "required": ["a"]}, {"properties": B, "required": ["b"]}]},
        [{"a": "x"}, {"b": "x"}, {"a": "x", "b": "x"}],
        [{"a": "x", "b": 1}, {"a": "x", "c": "x"}],
    ),
    "properties of the only alternative": (
        {"anyOf": [{"oneOf": [{"properties": A}], "properties": B}]},
        [{"a": "x", "b": "x"}],
        [{"a": "x", "c": "x"}],
    ),
    "properties of an object and of its alternatives": (
        {"properties": A, "anyOf": [{"properties": B, "required": ["b"]}, {"properties": {"c": {}}}]},
        [{"a": "x", "b": "x"}, {"a": "x", "c": 1}, {"b": "x", "c": 1}],
        [{"a": "x", "d": 1}, {"b": 1}],
    ),
    "properties of a condition that holds, and what comes of it": (
        {"if": {"properties": {"a": {"const": "x"}}, "required": ["a"]}, "then": {"properties": B}},
        [{"a": "x", "b": "y"}, {}],
        [{"a": "z"}, {"b": "y"}, {"a": "z", "b": "y"}],
    ),
    "properties of what comes of a condition that does not hold": (
        {"if": {"properties": A, "required": ["a"]}, "else": {"properties": B}},
        [{"b": "x"}, {"a": "x"}],
        [{"a": "x", "b": "x"}, {"c": "x"}],
    ),
    "properties that depend on one that is there": (
        {"properties": A, "dependentSchemas": {"a": {"properties": B}}},
        [{"a": "x", "b": "x"}],
        [{"b": "x"}],
    ),
}

CLOSED_LISTS: dict[str, tuple[dict[str, Any], list[list[Any]], list[list[Any]]]] = {
    "its first items": ({"prefixItems": [{"type": "string"}]}, [[], ["x"]], [["x", "y"]]),
    "all, where others are described": ({"prefixItems": [{}], "items": {"type": "integer"}}, [["x", 1, 2]], [[1, "x"]]),
    "those that it must contain": ({"contains": {"type": "integer"}}, [[1], [1, 2]], [[1, "x"], ["x", 1]]),
    "first items of all parts that fit": (
        {"anyOf": [{"prefixItems": [{}, {"type": "integer"}]}, {"prefixItems": [{}]}]},
        [["x"], ["x", 1]],
        [["x", "y"], ["x", 1, 2]],
    ),
    "those that a part has looked at with the same word": (
        {"allOf": [{"prefixItems": [{}], "unevaluatedItems": {"type": "integer"}}]},
        [["x", 1, 2]],
        [["x", "y"]],
    ),
    "items of a condition that holds": (
        {"if": {"prefixItems": [{"const": "x"}]}, "then": {"prefixItems": [{}, {}]}},
        [["x", 1], []],
        [["y"], ["x", 1, 2]],
    ),
}


def problems(closed: dict[str, Any], value: Any) -> list[str]:
    """The places of what is wrong with a value; they are none if and only if jsonschema finds nothing either."""
    whole = {"type": "object", "properties": {"v": closed}, "$defs": {"a": {"properties": A}}}
    found = read_object({"v": value}, compile_schema(whole), 0).problems
    assert Draft202012Validator(whole).is_valid({"v": value}) is (not found)
    return [".".join(map(str, each.path)) for each in found]


@pytest.mark.parametrize("case", CLOSED_OBJECTS)
def test_an_object_without_unevaluated_properties_may_have(case: str) -> None:
    schema, fitting, others = CLOSED_OBJECTS[case]
    closed = {"type": "object", **schema, "unevaluatedProperties": False}
    for value in fitting:
        assert problems(closed, value) == [], value
    for value in others:
        assert problems(closed, value), value


@pytest.mark.parametrize("case", CLOSED_LISTS)
def test_a_list_without_unevaluated_items_may_have(case: str) -> None:
    schema, fitting, others = CLOSED_LISTS[case]
    closed = {"type": "array", **schema, "unevaluatedItems": False}
    for value in fitting:
        assert problems(closed, value) == [], value
    for value in others:
        assert problems(closed, value), value


def test_what_nothing_has_looked_at_is_held_to_its_own_schema() -> None:
    named = {"type": "object", "properties": A, "unevaluatedProperties": {"type": "integer"}}
    assert problems(named, {"a": "x", "z": 1}) == []
    assert problems(named, {"a": "x", "z": "x"}) == ["v.z"]
    listed = {"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": {"type": "integer"}}
    assert problems(listed, ["x", 1]) == []
    assert problems(listed, ["x", 1, "y", "z"]) == ["v.2", "v.3"]
