"""What grammars accept, option by option, with real engines as judges, and what they report and refuse."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from support.grammar_laws import FORMATS, judge

from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar, grammar_issues
from xmltools.parser import parse
from xmltools.tools import Tool


def tool(name: str = "f", server: str = "local", required: tuple[str, ...] = (), **properties: Any) -> Tool:
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = list(required)
    return Tool(name=name, server=server, parameters=parameters)


def block(arguments: str = "", name: str = "f") -> str:
    return f"<tool>\n<tool_name>{name}</tool_name>\n<arguments>{arguments}</arguments>\n</tool>"


STRING = {"type": "string"}
TOOLS = [tool("f", a=STRING, b={"type": "integer"}, required=("a",)), tool("g")]
F, G = block("<a>x</a>"), block(name="g")
THOUGHT = "<think>hm <tool> &</think>"


def accepts(text: str, tools: list[Tool], format: str, **options: Any) -> bool:
    if format == "regex":
        return re.fullmatch(build_grammar(tools, "regex", **options), text) is not None
    accepted: bool = judge(tools, format, **options).accepts(text)
    return accepted


every_format = pytest.mark.parametrize("format", FORMATS)
with_regex = pytest.mark.parametrize("format", (*FORMATS, "regex"))


@pytest.mark.parametrize(
    ("options", "right", "wrong"),
    [
        ({}, ["", "a", F, f"a{F}b{G}c", "<too", "a < b"], ["<tool>", "<tool >", f"`{F}", F[:-1], "<think>", THOUGHT]),
        ({"tool_choice": "required"}, [F, f"a {F}", f"{F}{G} b"], ["", "a", "a <tool", F[:-1]]),
        ({"tool_choice": "one"}, [F, f"\n{G} "], ["", f"a{F}", f"{F}{G}", f"{F} a"]),
        ({"tool_choice": "named", "name": "f"}, [F, f" {F}\n"], ["", G, f"{F}{F}", f"a{F}"]),
        ({"max_calls": 1}, ["", "a", F, f"a{G}b"], [F + F, f"a{F}b{G}"]),
        ({"max_calls": 2, "tool_choice": "required"}, [F, f"{F}a{F}"], ["", "a", F + F + F]),
        ({"reasoning": "think"}, ["a", F, THOUGHT, f"\n{THOUGHT}\n{F}"], ["<think>", f"a{THOUGHT}", THOUGHT + THOUGHT]),
        ({"reasoning": "think", "starts_in_reasoning": True}, ["</think>", f"a <tool></think>{F}"], ["", "a", F]),
        ({"reasoning": "think", "tool_choice": "one"}, [F, f"{THOUGHT}\n{F}"], [THOUGHT, f"{THOUGHT} a {F}"]),
    ],
    ids=lambda made: ",".join(made) if isinstance(made, dict) else None,
)
@with_regex
def test_what_stands_around_calls(options: Any, right: list[str], wrong: list[str], format: str) -> None:
    given = options if format != "regex" or "tool_choice" in options else {**options, "tool_choice": "auto"}
    for text in right:
        assert accepts(text, TOOLS, format, **given), text
    for text in wrong:
        assert not accepts(text, TOOLS, format, **given), text


@pytest.mark.parametrize(
    ("options", "right", "wrong"),
    [
        ({}, ["", "a", "<![CDATA[a</tool>]]>", "a<![CDATA[<]]>b", "&lt;&#10;"], ["<", "a]]>", "&x;", "&#0;", "\x00"]),
        ({"cdata": "required"}, ["", "<![CDATA[a]]>", "<![CDATA[]]><![CDATA[>]]>"], ["a", "a<![CDATA[b]]>"]),
        ({"cdata": "forbidden"}, ["", "a", "&lt;b"], ["<![CDATA[a]]>", "<"]),
        ({"end_tag_in_cdata": False}, ["<![CDATA[</tol>]]>"], ["<![CDATA[a</tool>b]]>"]),
    ],
    ids=lambda made: ",".join(made) if isinstance(made, dict) else None,
)
@with_regex
def test_what_stands_in_a_string(options: Any, right: list[str], wrong: list[str], format: str) -> None:
    for text in right:
        assert accepts(block(f"<a>{text}</a>"), TOOLS, format, **options, tool_choice="one"), text
    for text in wrong:
        assert not accepts(block(f"<a>{text}</a>"), TOOLS, format, **options, tool_choice="one"), text


@every_format
def test_arguments_stand_in_any_order_or_in_that_of_the_schema(format: str) -> None:
    two = [tool(a=STRING, b=STRING, c=STRING, required=("a",))]
    orders = {"a": True, "b": False, "abc": True, "cba": True, "bca": True, "aba": False, "": False, "cb": False}
    for order, right in orders.items():
        text = block("".join(f"<{name}>x</{name}>" for name in order))
        assert accepts(text, two, format) is right, order
        in_order = right and order == "".join(sorted(order))
        assert accepts(text, two, format, order="schema") is in_order, order


def test_gbnf_keeps_the_order_of_more_than_six_arguments_and_lark_does_not() -> None:
    many = [tool(**dict.fromkeys("abcdefg", STRING))]
    text = block("<g>x</g><a>y</a>")
    assert [accepts(text, many, format) for format in FORMATS] == [False, True, False]
    assert accepts(block("<a>x</a><g>y</g>"), many, "gbnf")


@every_format
def test_white_space_between_tags_can_be_limited(format: str) -> None:
    for count, right in ((0, True), (3, True), (4, False)):
        assert accepts(f"<tool>{' ' * count}<tool_name>g</tool_name></tool>", TOOLS, format, white_space=3) is right


def test_a_lazy_grammar_begins_with_the_trigger() -> None:
    for options, right, wrong in (
        ({}, [F, f"{F} b {G}"], ["", "a", f"a{F}"]),
        ({"max_calls": 1}, [F, f"{F} b"], [f"{F}{F}"]),
        ({"tool_choice": "one"}, [F, F + "\n"], [f"{F} b"]),
    ):
        engine = judge(TOOLS, "gbnf", lazy=True, **options)
        assert [engine.accepts(text) for text in right] == [True] * len(right)
        assert [engine.accepts(text) for text in wrong] == [False] * len(wrong)


@with_regex
def test_arguments_alone(format: str) -> None:
    options = {"tool_choice": "arguments", "name": "f"}
    for text, right in (("<a>x</a>", True), ("\n<a>x</a> <b>1</b>\n", True), ("<b>1</b>", False), (F, False)):
        assert accepts(text, TOOLS, format, **options) is right, text


def test_arguments_alone_are_lark_without_extensions() -> None:
    text = build_grammar(TOOLS, "lark", tool_choice="arguments", name="f")
    assert [word for word in ("%if", "%llguidance", "::", " & ", "~/", "[lazy]") if word in text] == []


# Values

VALUES: list[tuple[Any, list[str], list[str]]] = [
    ({"type": "integer"}, ["0", "-5", " 12\n", "9" * 40], ["", "01", "-0", "+1", "1.0", "1e2", "x", "9" * 41]),
    ({"type": "integer", "minimum": -3, "exclusiveMaximum": 12}, ["-3", "0", "11"], ["-4", "12", "100"]),
    ({"type": "integer", "multipleOf": 2}, ["4"], []),
    ({"type": "number"}, ["0", "-1.50", "1e5", "2E-7", "1e308"], ["", "01", ".5", "1.", "1e999", "2e308", "NaN"]),
    ({"type": "number", "minimum": 0, "maximum": 1}, ["0", "0.25", "1", "1.0"], ["-0.1", "1.01", "2"]),
    ({"type": "boolean"}, ["true", " false "], ["True", "1", "", "yes"]),
    ({"type": "null"}, ["null", "\nnull "], ["", "none", "x"]),
    ({"enum": ["a", "b c", "<d>", 5, True, None]},
     ["a", " b c\n", "&lt;d>", "<![CDATA[<d>]]>", "5", "true", "null"], ["c"]),
    ({"enum": ["", "  x", "a"]}, ["", "  x", "a", " a"], ["x", "   x"]),
    ({"enum": [[1], {"k": "<"}]}, ["[1]", '{"k": "\\u003c"}'], ["[2]", "1", ""]),
    ({"const": "x&y"}, ["x&amp;y", "<![CDATA[x&y]]>"], ["x&y", "x"]),
    ({"type": "string", "enum": ["a", "bb", "ccc"], "maxLength": 2}, ["a", "bb"], ["ccc"]),
    ({"type": "string", "minLength": 1},
     ["a", " ", "&#10;", "\n<![CDATA[x]]>", " a"], ["", "\n", " \n ", "<![CDATA[]]>"]),
    ({"type": "string", "minLength": 3}, ["abc", "a\nc", "<![CDATA[<&>]]>", "  c", "&lt;&lt;&gt;"], ["ab", "\nab", ""]),
    ({"type": "string", "maxLength": 2}, ["", "a", "é😀", "<![CDATA[<]]>"], ["abc", "<![CDATA[abc]]>"]),
    ({"type": "string", "maxLength": 0}, [""], ["a", " "]),
    ({"type": "string", "pattern": "^[a-z]{2,}$"}, ["ab", "abc"], ["a", "AB", " ab", "ab\n"]),
    ({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}, ["a", "abc"], ["abcd", ""]),
    ({"type": "string", "pattern": "b"}, ["b", "a&lt;b", "<![CDATA[<b>]]>", "]]b"], ["", "a", "]]>b"]),
    ({"type": "string", "format": "date"}, ["2024-02-29"], ["2023-02-29", "2023-13-01", "x"]),
    ({"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 3}]}, ["ab", "abc"], ["a", "abcd"]),
    ({"minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a"]),
    ({}, ["", "a", "5"], ["<b>x</b>", "<"]),
    ({"type": ["integer", "null"]}, ["5", "null"], ["x", ""]),
    ({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^1 monkey$"}]}, ["1", "1 monkey", "1 "], ["1 m"]),
    ({"type": "array", "items": {"type": "integer"}, "maxItems": 2},
     ["", "<item>1</item>", " <item>1</item><item>2</item>"], ["1", "<x>1</x>", "<item>1</item>" * 3]),
    ({"type": "array", "items": STRING, "minItems": 1}, ["<item></item>", "<item>a</item>\n"], ["", " "]),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "items": False},
     ["", "<item>1</item>", "<item>1</item><item>true</item>"], ["<item>true</item>", "<item>1</item>" * 2]),
    ({"type": "object", "properties": {"k": {"type": "integer"}}, "required": ["k"]},
     ["<k>1</k>", "\n<k>1</k>\n"], ["", "x"]),
    ({"type": "object", "properties": {"k": False, "l": STRING}}, ["", "<l>x</l>"], ["<k>x</k>"]),
    ({"type": "object", "properties": {}, "additionalProperties": False}, ["", "\n"], ["<k>1</k>", "{}"]),
    ({"type": "object", "properties": {"a b": STRING}}, ['<argument name="a b">x</argument>'], ["<a b>x</a b>"]),
    ({"anyOf": [{"type": "object", "properties": {"k": STRING}, "required": ["k"]}, {"type": "boolean"}]},
     ["<k>x</k>", "true"], ["", "x"]),
]  # fmt: skip


@pytest.mark.parametrize("case", VALUES, ids=lambda case: json.dumps(case[0])[:60])
@with_regex
def test_values(case: tuple[Any, list[str], list[str]], format: str) -> None:
    schema, right, wrong = case
    tools = [tool(v=schema, required=("v",))]
    engine = None if format == "regex" else judge(tools, format)
    for text, expected in [*((text, True) for text in right), *((text, False) for text in wrong)]:
        reply = block(f"<v>{text}</v>")
        accepted = engine.accepts(reply) if engine else accepts(reply, tools, format)
        narrow = "&lt;&lt;" in text and format != "lark" and "maxLength" in schema
        assert accepted is (expected and not narrow), text
        if accepted and not schema.get("multipleOf"):
            read = parse(reply, tools)
            assert not read.errors and len(read.calls) == 1
            repairs = [repair.code for repair in read.calls[0].repairs]
            assert repairs in ([], ["json_value"]), text
            jsonschema.validate(read.calls[0].arguments, tools[0].parameters)


@with_regex
def test_null_may_be_an_attribute(format: str) -> None:
    for schema in ({"type": "null"}, {"type": ["string", "null"]}, {"enum": ["a", None]}):
        tools = [tool(v=schema)]
        assert accepts(block('<v nil="true"/>'), tools, format, tool_choice="one")
        assert not accepts(block('<v nil="false"/>'), tools, format, tool_choice="one")


TREE = {
    "type": "object",
    "properties": {"name": STRING, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
}


@every_format
def test_recursive_schemas_are_recursive_rules(format: str) -> None:
    parameters = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": TREE}}
    tools = [Tool(name="f", parameters=parameters)]
    inner = "<name>x</name>"
    for _ in range(20):
        inner = f"<children><item>{inner}</item></children>"
    assert accepts(block(f"<tree>{inner}</tree>"), tools, format)
    assert not accepts(block(f"<tree>{inner[:-1]}</tree>"), tools, format)


MAPS: list[tuple[Any, list[str], list[str]]] = [
    ({"type": "object"}, ["{}", '{"a": 1}', ' {"a": {"b": [1, "x\\n\\u003c", null, true]}} '],
     ["", "{", "[]", '{"a"}', '{"a": "<"}', '{"a": "]]>"}', '{"a": \'x\'}', '{"\\ud800": 1}']),
    ({"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}, ["{}", '{"a": 1,"b":2}'],
     ['{"a": -1}', '{"a": "x"}']),
    ({"type": "object", "additionalProperties": {"type": "array", "items": STRING, "minItems": 1, "maxItems": 2}},
     ['{"a": ["x"]}', '{"a": ["x", "y"]}'], ['{"a": []}', '{"a": ["x", "y", "z"]}', '{"a": ["x",]}']),
    ({"type": "object",
      "additionalProperties": {"type": "array", "prefixItems": [{"type": "integer"}], "items": STRING}},
     ['{"a": []}', '{"a": [1]}', '{"a": [1, "x", "y"]}'], ['{"a": ["x"]}']),
    ({"type": "object", "additionalProperties":
      {"type": "object", "properties": {"k": STRING, "l": STRING, "m": STRING}, "required": ["l"]}},
     ['{"a": {"l": ""}}', '{"a": {"k": "", "l": "", "m": ""}}', '{"a": {"l": "", "m": ""}}'],
     ['{"a": {}}', '{"a": {"k": ""}}', '{"a": {"l": "",}}', '{"a": {"k": "", "m": ""}}']),
    ({"type": "object", "additionalProperties": {"type": "object", "properties": {"k": STRING, "l": STRING}}},
     ['{"a": {}}', '{"a": {"l": ""}}', '{"a": {"k": "", "l": ""}}'], ['{"a": {"l": "", "k": ""}}']),
    ({"type": "object", "additionalProperties": {"enum": ["x<", 1, None]}}, ['{"a": "x\\u003c"}', '{"a": null}'],
     ['{"a": "y"}', '{"a": true}']),
    ({"type": "object", "additionalProperties": {"type": ["number", "boolean", "null"]}}, ['{"a": 1.5, "b": true}'],
     ['{"a": "x"}']),
    ({"type": "object", "additionalProperties": {"type": "string", "minLength": 2, "maxLength": 3}}, ['{"a": "x\\n"}'],
     ['{"a": "x"}', '{"a": "wxyz"}']),
]  # fmt: skip


@pytest.mark.parametrize("case", MAPS, ids=lambda case: json.dumps(case[0])[:80])
@every_format
def test_maps_with_free_names_are_json_in_the_element(case: tuple[Any, list[str], list[str]], format: str) -> None:
    schema, right, wrong = case
    tools = [tool(v=schema)]
    engine = judge(tools, format)
    for text in right:
        assert engine.accepts(block(f"<v>{text}</v>")), text
        (call,) = parse(block(f"<v>{text}</v>"), tools).calls
        assert call.arguments == {"v": json.loads(text)}
        assert [repair.code for repair in call.repairs] == ["json_value"]
    for text in wrong:
        assert not engine.accepts(block(f"<v>{text}</v>")), text
    assert "additionalProperties" in {issue.keyword for issue in grammar_issues(tools, format)}


# Issues and errors


@pytest.mark.parametrize(
    ("schema", "place", "keyword"),
    [
        ({"type": "array", "items": STRING, "uniqueItems": True}, "v", "uniqueItems"),
        ({"type": "array", "items": STRING, "contains": {"const": "a"}}, "v", "contains"),
        ({"type": "array", "items": {"type": "integer", "multipleOf": 5}}, "v[]", "multipleOf"),
        ({"type": "array", "items": STRING, "maxItems": 5_000}, "v", "minItems or maxItems"),
        ({"type": "string", "pattern": r"\bx"}, "v", "pattern"),
        ({"type": "string", "pattern": r"(a)\1"}, "v", "pattern"),
        ({"type": "string", "format": "hostname"}, "v", "format"),
        ({"type": "string", "maxLength": 100_000}, "v", "maxLength"),
        ({"type": "string", "minLength": 100_000}, "v", "minLength"),
        ({"type": "string", "not": {"const": "a"}}, "v", "not"),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"pattern": "a"}]}, "v", "anyOf"),
        ({"type": "integer", "if": {"minimum": 3}, "then": {"maximum": 5}}, "v", "if"),
        ({"type": "object", "properties": {"k": STRING}, "minProperties": 1}, "v", "minProperties"),
        ({"type": "object", "properties": {"k": STRING, "l": STRING}, "maxProperties": 1}, "v", "maxProperties"),
        ({"type": "object", "properties": {"k": STRING}, "patternProperties": {"^x": STRING}},
         "v", "patternProperties"),
        ({"type": "object", "properties": {"k": STRING}, "additionalProperties": STRING}, "v", "additionalProperties"),
        ({"type": "object", "properties": {"k": STRING}, "dependentRequired": {"k": ["l"]}}, "v", "dependentRequired"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "v", "oneOf"),
        ({"oneOf": [{"type": "object", "properties": {"a": STRING}}, {"type": "object", "properties": {"b": STRING}}]},
         "v", "oneOf"),
        ({"anyOf": [{"type": "boolean"}, {"type": "integer"}], "not": {"const": 1}}, "v", "not"),
        ({"enum": ["\x00"]}, "v", "the schema"),
        ({"anyOf": [{"enum": ["\x00"]}, False]}, "v", "the schema"),
        ({"type": "object", "additionalProperties": {"type": "string", "pattern": "a"}}, "v.*", "pattern"),
    ],
    ids=lambda made: made if isinstance(made, str) else None,
)  # fmt: skip
@every_format
def test_what_a_grammar_does_not_express_is_an_issue(schema: Any, place: str, keyword: str, format: str) -> None:
    issues = grammar_issues([tool(v=schema)], format)
    assert (place, keyword) in {(issue.place, issue.keyword) for issue in issues}
    assert all(issue.tool == "f" and str(issue).startswith("f.v") for issue in issues)
    judge([tool(v=schema)], format)  # and there is a grammar all the same


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"const": "a"}, {"const": "b"}]},
        {"oneOf": [{"type": "object", "properties": {"k": {"const": kind}}, "required": ["k"]} for kind in "ab"]},
        {"oneOf": [{"type": "object", "properties": {name: STRING}, "required": [name], "additionalProperties": False}
                   for name in "ab"]},
        {"type": "string", "description": "x", "default": "y", "examples": ["z"], "title": "t"},
        {"type": "integer", "minLength": 5, "pattern": "x"},
        {"type": "array", "items": STRING, "maxItems": 1_000},
    ],
)  # fmt: skip
@every_format
def test_what_a_grammar_expresses_is_no_issue(schema: Any, format: str) -> None:
    assert grammar_issues([tool(v=schema)], format) == []


@every_format
@pytest.mark.parametrize("dialect", ["forge", "qwen3_coder", "hermes"])
@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"anyOf": [STRING, {"type": "integer"}], "oneOf": [{"type": "null"}]}, {"type": "boolean"}]},
        {"oneOf": [{"type": "null"}, STRING], "allOf": [{"oneOf": [{"type": "null"}, {"type": "integer"}]}]},
    ],
)
def test_alternatives_of_a_type_beside_others_are_an_issue(schema: Any, dialect: str, format: str) -> None:
    issues = grammar_issues([tool(v=schema)], format, dialect=dialect)
    assert "f.v: oneOf: is not enforced" in [str(issue) for issue in issues]


@every_format
@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"anyOf": [{"const": "a"}, {}], "oneOf": [{"type": "null"}]}, "null", "a"),
        ({"anyOf": [{"required": ["a"]}], "oneOf": [{"properties": {"a": {"const": 1}}}]}, "<a>1</a>", ""),
        (
            {"allOf": [{"anyOf": [{"required": ["a"]}]}, {"oneOf": [{"required": ["b"]}]}]},
            "<b>1</b><a>1</a>",
            "<a>1</a>",
        ),
    ],
)
def test_alternatives_beside_others_hold_together(schema: Any, good: str, bad: str, format: str) -> None:
    given = [tool(v={"properties": {"a": {"const": 1}, "b": {"const": 1}}, **schema} if "<" in good else schema)]
    assert not any("is not enforced" in issue.message for issue in grammar_issues(given, format))
    engine = judge(given, format)
    assert engine.accepts(block(f"<v>{good}</v>")) and not engine.accepts(block(f"<v>{bad}</v>"))


FORMS: dict[str, Any] = {
    "type": "object",
    "properties": {"path": STRING},
    "required": ["path"],
    "oneOf": [
        {"properties": {"kind": {"const": "text"}, "value": STRING}, "required": ["kind", "value"]},
        {"properties": {"kind": {"const": "count"}, "value": {"type": "integer"}}, "required": ["kind"]},
    ],
}
PATH, TEXT, COUNT = "<path>a</path>", "<kind>text</kind>", "<kind>count</kind>"


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        (f"{PATH}{TEXT}<value>five</value>", True),
        (f"{PATH}{COUNT}<value>5</value>", True),
        (f"{PATH}{COUNT}", True),
        (f"{PATH}{COUNT}<value>five</value>", False),
        (f"{PATH}{TEXT}", False),
        (f"{PATH}<value>5</value>", False),
        (COUNT, False),
        ("", False),
    ],
)
@pytest.mark.parametrize("format", [*FORMATS, "regex"])
def test_each_form_of_arguments_is_allowed_and_no_other(format: str, arguments: str, fits: bool) -> None:
    for parameters in (FORMS, {"anyOf": [FORMS, {"type": "null"}]}, {"properties": {"o": FORMS}, "required": ["o"]}):
        given = [Tool(name="f", parameters=parameters)]
        text = block(f"<o>{arguments}</o>" if "properties" in parameters and parameters is not FORMS else arguments)
        assert len(parse(text, given).calls) == fits
        if format == "regex":
            assert bool(re.fullmatch(build_grammar(given, format), text)) is fits
        else:
            assert grammar_issues(given, format) == []
            assert judge(given, format).accepts(text) is fits


def test_a_name_that_only_an_attribute_says_is_left_out_if_any_form_has_an_element_for_it() -> None:
    forms = [{"properties": {"argument": STRING}, "required": ["argument"]}, {"properties": {"x y": STRING}}]
    for parameters, place in (({"anyOf": forms}, "x y"), ({"properties": {"o": {"anyOf": forms}}}, "o.x y")):
        issues = grammar_issues([Tool(name="f", parameters=parameters)], "gbnf")
        assert [(issue.place, issue.keyword) for issue in issues] == [(place, "properties")]


@every_format
def test_a_call_without_arguments_is_allowed_if_one_of_the_forms_needs_none(format: str) -> None:
    bare = "<tool>\n<tool_name>f</tool_name>\n</tool>"
    for others, fits in (({"required": ["b"]}, False), ({}, True)):
        parameters = {"properties": {"a": STRING, "b": STRING}, "anyOf": [{"required": ["a"]}, others]}
        given = Tool(name="f", parameters=parameters)
        assert judge([given], format).accepts(bare) is fits
        assert len(parse(bare, [given]).calls) == fits


@every_format
@pytest.mark.parametrize("dialect", ["forge", "invoke"])
def test_a_constant_that_is_none_of_the_enum_beside_it_is_no_value(dialect: str, format: str) -> None:
    schema = {"enum": [None, "", False], "const": {}}
    issues = grammar_issues([tool(v=schema, required=("v",))], format, dialect=dialect)
    assert any("has no value that can be written" in issue.message for issue in issues)
    assert grammar_issues([tool(v={"enum": [1, 2], "const": 1})], format, dialect=dialect) == []


def test_issues_name_their_tool_and_come_once() -> None:
    unique = {"type": "array", "items": STRING, "uniqueItems": True}
    issues = grammar_issues([tool("f", a=unique, b=unique), tool("g", a=unique)], "gbnf")
    assert [str(issue) for issue in issues] == [
        "f.a: uniqueItems: is not enforced",
        "f.b: uniqueItems: is not enforced",
        "g.a: uniqueItems: is not enforced",
    ]


@pytest.mark.parametrize(
    ("tools", "format", "options", "said"),
    [
        (TOOLS, "ebnf", {}, "format: expected 'gbnf', 'lark', 'structural_tag' or 'regex', got 'ebnf'"),
        ([], "gbnf", {}, "at least one tool"),
        ([tool(), tool()], "gbnf", {}, "two tools 'f' on server 'local'"),
        (["f"], "gbnf", {}, "expected xmltools.Tool, got str"),
        (TOOLS, "gbnf", {"choice": "one"}, "no option 'choice'; there are tool_choice"),
        (TOOLS, "gbnf", {"tool_choice": "any"}, "tool_choice: expected one of 'auto'"),
        (TOOLS, "gbnf", {"tool_choice": "named"}, "give the name of the tool as name="),
        (TOOLS, "gbnf", {"tool_choice": "named", "name": "h"}, "there is no tool 'h'; there are 'f', 'g'"),
        (TOOLS, "gbnf", {"name": "f"}, "only with tool_choice 'named' or 'arguments', not 'auto'"),
        (TOOLS, "gbnf", {"tool_choice": "named", "name": 5}, "name: expected the name of a tool, got 5"),
        (TOOLS, "gbnf", {"tool_choice": "arguments"}, "say which as name="),
        (TOOLS, "gbnf", {"tool_choice": "one", "max_calls": 1}, "there is one call anyway"),
        (TOOLS, "gbnf", {"max_calls": 0}, "max_calls: expected a whole number of at least 1"),
        (TOOLS, "gbnf", {"white_space": True}, "white_space: expected a whole number"),
        (TOOLS, "gbnf", {"lazy": 1}, "lazy: expected True or False"),
        (TOOLS, "lark", {"lazy": True}, "only 'gbnf' can be lazy, not 'lark'"),
        (TOOLS, "gbnf", {"lazy": True, "tool_choice": "required"}, "can't enforce tool_choice 'required'"),
        (TOOLS, "gbnf", {"lazy": True, "reasoning": "think"}, "leave reasoning out"),
        (TOOLS, "gbnf", {"reasoning": "<think>"}, "reasoning: expected the name of a tag"),
        (TOOLS, "gbnf", {"reasoning": "tool"}, "reasoning: 'tool' is the tag of calls in 'forge'; take another"),
        (TOOLS, "gbnf", {"starts_in_reasoning": True}, "give the tag that ends the reasoning"),
        (TOOLS, "relaxng", {}, "got 'relaxng'; RELAX NG and XSD were removed: check stored blocks with"),
        ([Tool(name="a\nb")], "gbnf", {}, "is no name for a tool"),
        ([tool(**{"a\nb": STRING})], "gbnf", {}, "is no name for an argument"),
        ([tool(v={"type": "object"})], "regex", {}, "a regular expression can't say"),
        ([Tool(name="f", parameters={**TREE, "$defs": {"tree": TREE}})], "regex", {}, "a regular expression can't say"),
    ],
)  # fmt: skip
def test_what_makes_no_grammar_is_one_clear_error(tools: Any, format: str, options: Any, said: str) -> None:
    with pytest.raises(XMLToolsError, match=re.escape(said)):
        build_grammar(tools, format, **options)


def test_one_tool_may_stand_for_a_list() -> None:
    assert build_grammar(TOOLS[0], "gbnf") == build_grammar([TOOLS[0]], "gbnf")


@with_regex
def test_the_same_tools_make_the_same_text(format: str) -> None:
    assert build_grammar(TOOLS, format) == build_grammar([Tool(**each.model_dump()) for each in TOOLS], format)


@every_format
def test_servers_are_named_and_the_local_one_need_not_be(format: str) -> None:
    tools = [tool("f"), tool("f", server="hub"), tool("g", server="a&b")]
    engine = judge(tools, format)
    for server, name, right in (
        (None, "f", True), ("local", "f", True), ("hub", "f", True), (None, "g", False), ("hub", "g", False),
        ("a&amp;b", "g", True), ("a&b", "g", False),
    ):  # fmt: skip
        head = "" if server is None else f"<server_name>{server}</server_name>"
        assert engine.accepts(f"<tool>{head}<tool_name>{name}</tool_name></tool>") is right, (server, name)


@every_format
def test_the_only_server_need_not_be_named(format: str) -> None:
    tools = [tool("f", server="a&b"), tool("g", server="a&b")]
    for options, names in (({}, "fg"), ({"tool_choice": "one"}, "fg"), ({"tool_choice": "named", "name": "f"}, "f")):
        engine = judge(tools, format, **options)
        for name in "fg":
            for head in ("", "<server_name>a&amp;b</server_name>"):
                text = f"<tool>{head}<tool_name>{name}</tool_name></tool>"
                assert engine.accepts(text) is (name in names), (options, text)
            assert not engine.accepts(f"<tool><server_name>local</server_name><tool_name>{name}</tool_name></tool>")


@every_format
def test_the_tools_that_may_not_be_called_count_as_well(format: str) -> None:
    engine = judge([tool("f", server="hub"), tool("g")], format, tool_choice="named", name="f")
    assert engine.accepts("<tool><server_name>hub</server_name><tool_name>f</tool_name></tool>")
    assert not engine.accepts("<tool><tool_name>f</tool_name></tool>")


IMPOSSIBLE: list[Any] = [
    {"type": "array", "items": STRING, "minItems": 3, "maxItems": 2},
    {"type": "array", "items": False, "minItems": 1},
    {"type": "integer", "minimum": 3, "maximum": 2},
    {"type": "number", "exclusiveMinimum": 3, "maximum": 3},
    {"type": "string", "minLength": 3, "maxLength": 2},
    {"type": "object", "properties": {"k": False}, "required": ["k"]},
    {"type": "object", "additionalProperties": False, "required": ["k"]},
    {"allOf": [{"type": "string"}, {"type": "boolean"}]},
    {"enum": ["a"], "type": "integer"},
    {"anyOf": [False, False]},
    {"$ref": "#/properties/w"},  # an object that must hold one of its own kind
]


@pytest.mark.parametrize("schema", IMPOSSIBLE, ids=lambda schema: json.dumps(schema)[:60])
@every_format
def test_what_has_no_valid_value_is_not_generated(schema: Any, format: str) -> None:
    endless = {"type": "object", "properties": {"w": {"$ref": "#/properties/w"}}, "required": ["w"]}
    tools = [tool(v=schema, w=endless, a=STRING)]
    engine = judge(tools, format, tool_choice="one")
    assert grammar_issues(tools, format) == []
    assert engine.accepts(block("<a>x</a>")) and engine.accepts(block())
    assert not engine.prefix("<tool><tool_name>f</tool_name><arguments><v")
    assert not engine.prefix("<tool><tool_name>f</tool_name><arguments><w")
    either = [tool(v={"anyOf": [schema, {"type": "boolean"}]}, w=endless, required=("v",))]
    engine = judge(either, format, tool_choice="one")
    assert engine.accepts(block("<v>true</v>"))
    assert not any(map(engine.accepts, (block("<v></v>"), block("<v>5</v>"), block())))


@pytest.mark.parametrize("schema", [*IMPOSSIBLE[:-1], {"enum": [1], "type": "string"}], ids=str)
@every_format
def test_arguments_that_can_not_be_valid_are_empty_and_an_issue(schema: Any, format: str) -> None:
    tools = [tool(v=schema, required=("v",))]
    assert [str(issue) for issue in grammar_issues(tools, format)] == [
        "f: the schema: has no value that can be written; the arguments are empty"
    ]
    assert judge(tools, format).accepts(block())


@every_format
def test_patterns_that_no_string_fits_are_an_issue(format: str) -> None:
    tools = [tool(v={"type": "string", "pattern": "^abc$", "maxLength": 2}, required=("v",))]
    assert [issue.keyword for issue in grammar_issues(tools, format)] == ["the schema"]
    assert judge(tools, format).accepts(block("<v>x</v>"))
    either = [tool(v={"type": ["string", "integer"], "pattern": "^abc$", "maxLength": 2}, required=("v",))]
    engine = judge(either, format)
    assert engine.accepts(block("<v>5</v>")) and not engine.accepts(block("<v></v>"))


@every_format
def test_maps_without_valid_values_are_empty(format: str) -> None:
    for inner in IMPOSSIBLE[:-1]:
        engine = judge([tool(v={"type": "object", "additionalProperties": inner})], format)
        assert engine.accepts(block("<v>{}</v>"))
        assert not engine.prefix('<tool><tool_name>f</tool_name><arguments><v>{"k')


@with_regex
def test_no_white_space_at_all_is_a_limit_too(format: str) -> None:
    for text, right in ((block("<a>x</a>").replace("\n", ""), True), (block("<a>x</a>"), False)):
        assert accepts(text, TOOLS, format, white_space=0, tool_choice="one") is right


BOUNDED = tool(
    a={"type": "string", "minLength": 3, "maxLength": 30},
    b={"type": "string", "minLength": 3},
    c={"enum": ["</tool>", "</tol>"]},
    d={"type": "string", "pattern": "l"},
    e={"type": "string", "minLength": 200},
)


@with_regex
@pytest.mark.parametrize("name", "abcde")
def test_an_end_tag_can_be_kept_out_of_every_kind_of_cdata(name: str, format: str) -> None:
    filler = "x" * 200 * (name == "e")
    for section, right in ((f"{filler}</tol>", name != "a" or format == "lark"), (f"{filler}</tool>", False)):
        text = block(f"<{name}><![CDATA[{section}]]></{name}>")
        assert accepts(text, [BOUNDED], format, tool_choice="one")
        assert accepts(text, [BOUNDED], format, tool_choice="one", end_tag_in_cdata=False) is right


@with_regex
def test_a_carriage_return_in_an_enum_is_a_reference(format: str) -> None:
    tools = [tool(v={"enum": ["a\r\nb"]})]
    assert accepts(block("<v>a&#13;\nb</v>"), tools, format, tool_choice="one")
    assert not accepts(block("<v>a\r\nb</v>"), tools, format, tool_choice="one")


@every_format
def test_another_tag_of_reasoning_opens_none_in_text(format: str) -> None:
    engine = judge(TOOLS, format, reasoning="reason")
    for text, right in ((f"<reason>a</reason>{F}", True), (f"a<reason>{F}</reason>", False), ("<think>a", False)):
        assert engine.accepts(text) is right, text


@every_format
def test_arguments_that_bear_names_of_the_protocol_are_told_apart(format: str) -> None:
    undeclared = [Tool(name="f", parameters={"type": "object", "required": ["arguments"]})]
    engine = judge(undeclared, format)
    text = block('<argument name="arguments">x</argument>')
    assert engine.accepts(text) and not engine.accepts(block("<arguments>x</arguments>"))
    assert parse(text, undeclared).calls[0].arguments == {"arguments": "x"}
    itself = [Tool(name="f", parameters={"properties": {"inner": {"$ref": "#"}}, "required": ["arguments"]})]
    inside = judge(itself, format, tool_choice="one")
    inner = "<inner><arguments>x</arguments></inner>"
    assert inside.accepts(block('<argument name="arguments">x</argument>' + inner))
    assert not inside.accepts(block("<arguments>x</arguments>" + inner))
    beside = [tool(argument={"type": "array", "items": STRING}, **{"a b": STRING})]
    assert [str(issue) for issue in grammar_issues(beside, format)] == [
        "f.a b: properties: is left out: beside 'argument' no element can bear this name"
    ]
    assert not judge(beside, format).accepts(block('<argument name="a b">x</argument>'))


def test_the_enum_of_all_arguments_is_an_issue() -> None:
    parameters = {"type": "object", "properties": {"a": STRING}, "enum": [{}]}
    (issue,) = grammar_issues([Tool(name="f", parameters=parameters)], "gbnf")
    assert (issue.place, issue.keyword) == ("", "enum")


@every_format
def test_long_strings_are_counted(format: str) -> None:
    schemas = {"v": {"type": "string", "maxLength": 900}, "w": {"type": "string", "minLength": 900}}
    engine = judge([tool(**schemas)], format, tool_choice="one")
    right = {"v": ["x" * 900, "<![CDATA[" + "<" * 900 + "]]>"], "w": ["x" * 900, "x" * 900 + "]] &lt; ]", "x" * 5_000]}
    wrong = {"v": ["x" * 901, "<![CDATA[" + "<" * 901 + "]]>"], "w": ["x" * 899, "x" * 900 + "]]>", ""]}
    for name in schemas:
        assert [engine.accepts(block(f"<{name}>{text}</{name}>")) for text in right[name]] == [True] * len(right[name])
        assert not any(engine.accepts(block(f"<{name}>{text}</{name}>")) for text in wrong[name])


@every_format
def test_a_pattern_and_a_length_that_are_too_much_together(format: str) -> None:
    schema = {"type": "string", "pattern": r"^v?\d+(\.\d+){0,2}$", "maxLength": 300}
    engine = judge([tool(v=schema)], format, cdata="required")
    assert engine.accepts(block("<v>v1.20</v>"))


NASTY: dict[str, Any] = {
    "many first items": {"type": "array", "prefixItems": [STRING] * 1_000},
    "first items": {"type": "array", "prefixItems": [{"type": "object", "properties": {"k": STRING}}] * 90},
    "first items in a map": {
        "type": "object",
        "additionalProperties": {"type": "array", "prefixItems": [STRING] * 90},
    },
    "many items in a map": {"type": "object", "additionalProperties": {"type": "array", "minItems": 100_000}},
    "long strings in a map": {"type": "object", "additionalProperties": {"type": "string", "minLength": 10_000}},
    "many items of any kind": {"type": "array", "items": {"type": ["string", "null"]}, "maxItems": 1_000},
    "many properties": {"type": "object", "properties": {f"p{number}": STRING for number in range(60)}},
    "a long chain": {"$ref": "#/$defs/d0"},
    "a long chain in a map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/d0"}},
    "two that look alike": {"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]},
    "an enum of thousands": {"enum": [f"v{number}" for number in range(5_000)]},
}
DEFINITIONS: dict[str, Any] = {
    **{f"d{n}": {"type": "object", "properties": {"x": {"$ref": f"#/$defs/d{n + 1}"}}} for n in range(300)},
    "d300": STRING,
    **{name: {"type": "object", "properties": {"x": {"$ref": f"#/$defs/{name}"}}, "required": ["x"]} for name in "ab"},
}


@pytest.mark.parametrize("name", NASTY)
@every_format
def test_engines_take_the_grammars_of_nasty_schemas(name: str, format: str) -> None:
    parameters = {"type": "object", "properties": {"v": NASTY[name], "w": STRING}, "$defs": DEFINITIONS}
    assert judge([Tool(name="f", parameters=parameters)], format).accepts(block("<w>x</w>"))


def test_what_llama_cpp_would_count_in_brackets_is_a_rule() -> None:
    text = build_grammar([tool(v=NASTY["many items of any kind"])], "gbnf")
    assert ["many1{0,1000}" in line for line in text.split("\n")].count(True) == 1
    assert "){" not in text


@pytest.mark.parametrize(("low", "high"), [(0, 300), (150, 199), (150, 420), (200, 400), (300, None)])
def test_long_repetitions_are_counted_in_blocks(low: int, high: int | None) -> None:
    schema = {"type": "string", "minLength": low, **({} if high is None else {"maxLength": high})}
    text = build_grammar([tool(v=schema)], "gbnf")
    assert max(int(count) for count in re.findall(r"[{,](\d+)\}", text)) == 100
    engine = judge([tool(v=schema)], "gbnf", tool_choice="one")
    for count in {low - 1, low, 99, 100, 199, 200, 300, 400, 420, high or 0, (high or 0) + 1} - {-1}:
        right = low <= count and (high is None or count <= high)
        assert engine.accepts(block(f"<v>{'é' * count}</v>")) is right, count


def test_patterns_are_given_up_after_some_that_are_too_large() -> None:
    patterns = {f"p{number}": {"type": "string", "pattern": f"a{number}.{{12}}b"} for number in range(12)}
    issues = grammar_issues([tool(**patterns, q={"type": "string", "pattern": "^(?!a)b"})], "gbnf")
    assert [issue.place for issue in issues] == [*patterns, "q"]


def test_a_regular_expression_does_not_double_without_end() -> None:
    pairs = {
        f"d{n}": {"type": "object", "properties": {name: {"$ref": f"#/$defs/d{n + 1}"} for name in "lr"}}
        for n in range(40)
    }
    doubling = {"$ref": "#/$defs/d0", "$defs": {**pairs, "d40": STRING}}
    chain = {"type": "object", "properties": {"v": {"$ref": "#/$defs/d0"}}, "$defs": DEFINITIONS}
    for parameters in (doubling, chain):
        with pytest.raises(XMLToolsError, match="too large or too deep for one regular expression"):
            build_grammar([Tool(name="f", parameters=parameters)], "regex")


def test_a_value_that_no_regular_expression_says_is_an_error():
    tool = Tool(name="f", parameters={"type": "object", "properties": {"x": {"type": "string", "minLength": 7}}})
    with pytest.raises(XMLToolsError, match="too much for the regular expressions of 'regex'; use another format"):
        build_grammar(tool, "regex", end_tag_in_cdata=False)
