"""Alternatives in schemas: which oneOf is an issue of a grammar."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from xmltools.grammar import grammar_issues
from xmltools.tools import Tool

INTEGER, NUMBER, STRING = {"type": "integer"}, {"type": "number"}, {"type": "string"}
PAIR = {"oneOf": [INTEGER, STRING]}


def of(schema: Any, **definitions: Any) -> Tool:
    """A tool with the one argument `v`."""
    properties = {"v": schema}
    return Tool(name="f", parameters={"type": "object", "properties": properties, "$defs": definitions})


def record(required: tuple[str, ...] = (), *, closed: bool = False, **properties: Any) -> dict[str, Any]:
    more = {"additionalProperties": False} if closed else {}
    return {"type": "object", "properties": properties, "required": list(required), **more}


# oneOf: a grammar can only say anyOf, which is the same if no value fits two alternatives.

APART: dict[str, list[Any]] = {
    "types": [INTEGER, STRING, {"type": "null"}, {"type": "boolean"}, {"type": "array"}, record()],
    "types of unions": [{"type": ["string", "null"]}, {"type": ["integer", "boolean"]}],
    "values of one type": [{"enum": ["a", "b"]}, {"const": "c"}],
    "values that only look alike": [{"enum": [1, "", 0]}, {"enum": [True, None, False]}],
    "lists and objects as values": [{"const": [1]}, {"const": [2]}, {"const": {"a": 1}}],
    "values and types": [{"enum": [None, "a"]}, INTEGER, {"type": "array"}],
    "a label": [record(("k",), k={"const": name}) for name in "ab"],
    "a label of several values": [record(("k",), k={"enum": ["a", "b"]}), record(("k",), k={"enum": [1, "c"]})],
    "a label in an object": [record(("o",), o=record(("k",), k={"const": name})) for name in "ab"],
    "a name that the other forbids": [record(("a",), closed=True, a=STRING), record(("b",), b=STRING)],
}
OVERLAPPING: dict[str, list[Any]] = {
    "integers and numbers": [INTEGER, NUMBER],
    "a number in two spellings": [{"const": 1}, {"const": 1.0}],
    "a value and its type": [{"const": None}, {"type": ["null", "string"]}],
    "lists of other items, both of which may be empty": [
        {"type": "array", "items": each} for each in (INTEGER, STRING)
    ],
    "strings by their lengths": [{**STRING, "minLength": 1}, {**STRING, "maxLength": 2}],
    "anything": [{}, STRING],
    "objects that may lack their labels": [record(k={"const": name}) for name in "ab"],
    "objects that allow other names": [record(("a",), a=STRING), record(("b",), b=STRING)],
}
SAMPLES: list[Any] = [
    *(None, True, False, 0, 1, 1.0, 1.5, 2, "", "a", "b", "c", "k", [], [1], [2], ["a"], {}),
    *({"k": each} for each in ("a", "b", "c", 1)),
    *({"o": {"k": each}} for each in ("a", "b")),
    *({"a": 1}, {"a": "x"}, {"b": "x"}, {"a": "x", "b": "x"}),
]


def fits_two(alternatives: list[Any]) -> bool:
    """Whether jsonschema finds a sample that two of the alternatives take."""
    judges = [Draft202012Validator(each) for each in alternatives]
    return any(
        one.is_valid(value) and other.is_valid(value) for one, other in combinations(judges, 2) for value in SAMPLES
    )


def is_issue(schema: Any, **definitions: Any) -> bool:
    issues = grammar_issues(of(schema, **definitions), "gbnf")
    return any((issue.place, issue.keyword) == ("v", "oneOf") for issue in issues)


@pytest.mark.parametrize("case", APART)
def test_alternatives_that_no_value_fits_twice_are_no_issue(case: str) -> None:
    assert not fits_two(APART[case])
    assert not is_issue({"oneOf": APART[case]})


@pytest.mark.parametrize("case", OVERLAPPING)
def test_alternatives_that_a_value_fits_twice_are_an_issue(case: str) -> None:
    assert fits_two(OVERLAPPING[case])
    assert is_issue({"oneOf": OVERLAPPING[case]})


@pytest.mark.parametrize(
    ("schema", "overlaps"),
    [
        ({"anyOf": [{"type": "null"}, {"oneOf": [INTEGER, NUMBER]}]}, True),
        ({"oneOf": [{"type": "null"}, {"anyOf": [{"oneOf": [INTEGER, NUMBER]}, STRING]}]}, True),
        ({"anyOf": [{"$ref": "#/$defs/pair"}, {"$ref": "#/$defs/pair"}]}, False),
        ({"oneOf": [{"$ref": "#/$defs/pair"}, {"$ref": "#/$defs/pair"}]}, True),
        ({"anyOf": [INTEGER, NUMBER]}, False),
    ],
    ids=str,
)
def test_each_one_of_among_alternatives_counts_by_itself(schema: Any, overlaps: bool) -> None:
    assert is_issue(schema, pair=PAIR) is overlaps


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"anyOf": [INTEGER, STRING]}, []),
        ({"anyOf": [INTEGER, STRING], "oneOf": [{"maximum": 5}, {"minLength": 5}]}, ["oneOf"]),
        ({"allOf": [{"anyOf": [INTEGER, STRING]}, {"anyOf": [{"maximum": 5}]}]}, ["anyOf"]),
        ({"anyOf": [INTEGER, {"anyOf": [{"type": "boolean"}], "oneOf": [{"const": True}]}]}, ["oneOf"]),
    ],
    ids=str,
)
def test_of_several_lists_of_alternatives_a_grammar_enforces_the_first(schema: Any, words: list[str]) -> None:
    issues = grammar_issues(of(schema), "gbnf")
    assert [issue.keyword for issue in issues if issue.message == "is not enforced"] == words
