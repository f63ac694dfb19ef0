"""What messages say: a sentence, the place in the block, and of a value what was expected and what came."""

import pytest

from xmltools.dialects import for_model
from xmltools.errors import XMLToolsError
from xmltools.models import Message, ToolCall, ToolResult
from xmltools.parser import Parser, parse
from xmltools.render import (
    render_call,
    render_calls,
    render_instructions,
    render_result_parts,
    render_results,
    render_retry,
)
from xmltools.syntax.json_reader import JSONError, loads, loads_lenient
from xmltools.tools import Tool
from xmltools.tools.schema import compile_schema, find_problems


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2", "expecting ',' delimiter (at character 5)"),
        ("{'a': 1, 'a': 2}", "expecting property name enclosed in double quotes (at character 1)"),
        ('{"a": "\\ud800"}', "an escaped surrogate that is half a character (at character 7)"),
        ("[NaN]", "NaN is no JSON (at character 1)"),
        ("[1e999]", "a number that is too large (at character 1)"),
    ],
)
def test_what_is_wrong_with_json_is_said_with_its_place(text, message):
    for read in (loads, loads_lenient):
        with pytest.raises(JSONError) as caught:
            read(text)
        assert str(caught.value) == message
        assert message.startswith(caught.value.message)


ANY_OF_TWO = {"anyOf": [{"const": 1}, {"type": "string", "maxLength": 1}]}
PROBLEMS = [
    ({"type": ["integer", "null"]}, "x", "a: expected integer or null, got 'x'"),
    ({"type": "string", "enum": ["x", "y"]}, 5, "a: expected one of 'x', 'y', got 5"),
    ({"enum": [1, "b", None]}, 5, "a: expected one of 1, 'b', null, got 5"),
    ({"const": {"b": 1}}, 5, "a: expected an object, got 5"),
    ({"const": 1}, "x" * 61, f"a: expected 1, got '{'x' * 60}'…"),
    ({"const": 1}, "x" * 60, f"a: expected 1, got '{'x' * 60}'"),
    ({"type": "string"}, 2**201, "a: expected string, got a very large integer"),
    ({"type": "string"}, [1, 2], "a: expected string, got a list of 2"),
    (False, 1, "a: expected nothing of this name, got 1"),
    (ANY_OF_TWO, True, "a: expected 1 or string, got true"),
    ({"anyOf": [{"enum": [1, 2]}, {"$ref": "#/$defs/n"}]}, "x", "a: expected one of 1, 2 or number, got 'x'"),
    ({"anyOf": [{"oneOf": [{"const": 1}, {"const": 2}]}, {"const": 3}]}, 4, "a: expected 1 or 2 or 3, got 4"),
    ({"anyOf": [{}, {}], "not": {}}, 4, "a: expected anything but a value, got 4"),
    (
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        1,
        "a: expected something that fits exactly one alternative, not 2, got 1",
    ),
    ({"minLength": 2}, "x", "a: expected at least 2 characters, got 'x'"),
    ({"maxLength": 2}, "xyz", "a: expected at most 2 characters, got 3"),
    ({"pattern": "^a"}, "x", "a: expected text that matches ^a, got 'x'"),
    ({"format": "date"}, "x", "a: expected text of the format date, got 'x'"),
    ({"minimum": 2}, 1, "a: expected a number of at least 2, got 1"),
    ({"maximum": 2}, 3, "a: expected a number of at most 2, got 3"),
    ({"exclusiveMinimum": 2}, 2, "a: expected a number above 2, got 2"),
    ({"exclusiveMaximum": 2}, 2, "a: expected a number below 2, got 2"),
    ({"multipleOf": 2}, 3, "a: expected a multiple of 2, got 3"),
    ({"minItems": 2}, [1], "a: expected at least 2 items, got 1"),
    ({"maxItems": 1}, [1, 2], "a: expected at most 1 items, got 2"),
    ({"contains": {"const": 1}}, [2], "a: expected at least 1 items that are 1, got 0"),
    ({"contains": {"const": 1}, "maxContains": 1}, [1, 1], "a: expected at most 1 items that are 1, got 2"),
    ({"uniqueItems": True}, [1, 2, 1.0], "a[2]: expected no item twice, got 1.0"),
    ({"items": {"type": "string"}}, ["x", 1], "a[1]: expected string, got 1"),
    ({"prefixItems": [{}, {"type": "string"}]}, ["x", 1], "a[1]: expected string, got 1"),
    ({"prefixItems": [{}], "unevaluatedItems": {"type": "string"}}, [1, 1], "a[1]: expected string, got 1"),
    ({"properties": {"b": {"type": "string"}}}, {"b": 1}, "a.b: expected string, got 1"),
    ({"patternProperties": {"^b": {"type": "string"}}}, {"b": 1}, "a.b: expected string, got 1"),
    ({"additionalProperties": {"type": "string"}}, {"b": 1}, "a.b: expected string, got 1"),
    ({"unevaluatedProperties": {"type": "string"}}, {"b": 1}, "a.b: expected string, got 1"),
    ({"propertyNames": {"maxLength": 1}}, {"bb": 1}, "a.bb: expected a name that is at most 1 characters, got 2"),
    ({"required": ["b"]}, {}, "a.b: expected a value, got nothing"),
    ({"required": ["b"], "properties": {"b": {"type": "null"}}}, {}, "a.b: expected null, got nothing"),
    ({"dependentRequired": {"b": ["c"]}}, {"b": 1}, "a.c: expected a value, got nothing"),
    ({"dependentSchemas": {"b": {"required": ["c"]}}}, {"b": 1}, "a.c: expected a value, got nothing"),
    ({"minProperties": 2}, {"b": 1}, "a: expected at least 2 properties, got 1"),
    ({"maxProperties": 1}, {"b": 1, "c": 2}, "a: expected at most 1 properties, got 2"),
    ({"if": {"const": 1}, "then": False}, 1, "a: expected nothing of this name, got 1"),
    ({"if": {"const": 1}, "else": {"const": 2}}, 3, "a: expected 2, got 3"),
    ({"allOf": [{"minimum": 2}]}, 1, "a: expected a number of at least 2, got 1"),
]


@pytest.mark.parametrize(("schema", "value", "problem"), PROBLEMS, ids=[problem for _, _, problem in PROBLEMS])
def test_a_problem_names_the_place_what_was_expected_and_what_came(schema, value, problem):
    root = {"type": "object", "properties": {"a": schema}, "$defs": {"n": {"type": "number"}}}
    assert [str(each) for each in find_problems({"a": value}, compile_schema(root))] == [problem]


KINDS = [
    {"type": "object", "properties": {"kind": {"const": kind}, kind: {"type": "integer"}}, "required": ["kind"]}
    for kind in ("circle", "square")
]


@pytest.mark.parametrize(
    ("alternatives", "value", "problems"),
    [
        (KINDS, {"kind": "square", "square": "x"}, ["a.square: expected integer, got 'x'"]),
        (KINDS, {"kind": "circle", "circle": "x"}, ["a.circle: expected integer, got 'x'"]),
        (KINDS, {"square": "x"}, ["a.square: expected integer, got 'x'", "a.kind: expected 'square', got nothing"]),
        (
            [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}],
            ["x"],
            ["a[0]: expected integer, got 'x'"],
        ),
        ([{"type": "null"}, {"$ref": "#/$defs/circle"}], {"kind": 1}, ["a.kind: expected 'circle', got 1"]),
        ([{"type": "null"}, {"type": "integer"}], {}, ["a: expected null or integer, got an object"]),
    ],
)
@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
def test_of_alternatives_the_problems_of_the_likely_one_are_told(word, alternatives, value, problems):
    root = {"type": "object", "properties": {"a": {word: alternatives}}, "$defs": {"circle": KINDS[0]}}
    assert [str(each) for each in find_problems({"a": value}, compile_schema(root))] == problems


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"properties": {"a~/b": None}},
            "#/properties/a~0~1b: expected a schema (an object, true or false), found null",
        ),
        ({"properties": {"a": {"minLength": None}}}, "#/properties/a/minLength: expected a whole number of at least 0"),
        ({"properties": {"a": {"minItems": 1.5}}}, "#/properties/a/minItems: expected a whole number of at least 0"),
        (
            {"properties": {"a": {"enum": {}}}},
            "#/properties/a/enum: expected a list of at least one value, found an object",
        ),
        (
            {"properties": {"a": {"enum": []}}},
            "#/properties/a/enum: expected a list of at least one value, found an empty list",
        ),
        (
            {"properties": {"a": {"type": None}}},
            "#/properties/a/type: expected the name of a type or a list of names, found null",
        ),
        (
            {"properties": {"a": {"type": []}}},
            "#/properties/a/type: expected the name of a type or a list of names, found an empty list",
        ),
        ({"properties": {"a": {"pattern": 5}}}, "#/properties/a/pattern: expected a string, found 5"),
        ({"properties": {"a": {"multipleOf": -1}}}, "#/properties/a/multipleOf: expected a number above 0, found -1"),
        (
            {"properties": {"a": {"exclusiveMinimum": "x"}}},
            "#/properties/a/exclusiveMinimum: expected a number, found 'x'",
        ),
        ({"properties": {"a": {"minimum": True}}}, "#/properties/a/minimum: expected a number, found True"),
        ({"dependencies": 5}, "#/dependencies: expected an object, found 5"),
        (
            {"dependentRequired": 5},
            "#/dependentRequired: expected an object that maps names to lists of names, found 5",
        ),
        ({"dependencies": {"a": [1]}}, "#/dependencies/a: expected a list of names of properties, found a list"),
        ({"dependencies": {"a": 1}}, "#/dependencies/a: expected a schema (an object, true or false), found 1"),
        ({"properties": "x"}, "#/properties: expected an object that maps names to schemas, found 'x'"),
        ({"allOf": "x"}, "#/allOf: expected a list of schemas, found 'x'"),
        ({"allOf": [{}, {"title": 5}]}, "#/allOf/1/title: expected a string, found 5"),
        ({"default": [1, {"b": {2}}]}, "#/default/1/b: {2} is no JSON value"),
        ({"default": {"b": {2: 1}}}, "#/default/b: the key 2 is no string"),
        ({"$ref": "#/$defs/a~1b"}, "#/$ref: there is nothing at #/$defs/a~1b; define it or correct the reference"),
        ({"items": [{}], "$ref": "#/items/1"}, "#/$ref: there is nothing at #/items/1"),
    ],
)
def test_an_invalid_schema_is_told_with_its_place(schema, message):
    with pytest.raises(XMLToolsError) as caught:
        compile_schema(schema)
    assert str(caught.value).startswith(f"invalid schema at {message}")


@pytest.mark.parametrize(
    ("chunk", "kind", "how"),
    [
        (b"x", "bytes", "decodes bytes"),
        (None, "NoneType", "give an empty one"),
        (5, "int", "the text of the reply"),
        (["x"], "list", "the text of the reply"),
    ],
)
def test_what_was_fed_instead_of_a_string_is_named(chunk, kind, how):
    with pytest.raises(XMLToolsError, match=rf"^feed\(\) and parse\(\) expect str, got {kind}; .*{how}"):
        Parser().feed(chunk)


ADD = Tool(name="add")
CALL = ToolCall(id="1", name="add", arguments={})
RESULT = ToolResult(call_id="1", name="add", content="x")
ERROR = parse("<tool><arguments/></tool>").errors[0]


def unnamed() -> None: ...


ONE_TOOL = "tools: expected a list of xmltools.Tool, got one Tool; give a list of it: [tool]"


@pytest.mark.parametrize(
    ("misuse", "message"),
    [
        (lambda: Parser(ADD), ONE_TOOL),
        (lambda: parse("", ADD), ONE_TOOL),
        (lambda: render_instructions(ADD), ONE_TOOL),
        (lambda: render_retry(ERROR, ADD), ONE_TOOL),
        (lambda: render_calls([CALL], ADD), ONE_TOOL),
        (lambda: render_results([RESULT], tools=ADD), ONE_TOOL),
        (lambda: render_instructions(None), "tools: expected a list of xmltools.Tool, got NoneType"),
        (lambda: render_calls([CALL], [unnamed]), "tools: expected xmltools.Tool, got function; load_tools() makes"),
        (lambda: render_calls(CALL, [ADD]), "render_calls: expected a list of xmltools.ToolCall, got one; give a list"),
        (lambda: render_calls(None), "render_calls: expected a list of xmltools.ToolCall, got NoneType"),
        (lambda: render_calls([RESULT]), "render_calls: expected xmltools.ToolCall, got ToolResult"),
        (
            lambda: render_call(CALL, unnamed),
            "render_call: expected the call's xmltools.Tool, or None, got function; Tool.of() makes one of a function",
        ),
        (
            lambda: render_call(CALL, [ADD]),
            "render_call: expected the call's xmltools.Tool, or None, got list; give the call's own tool",
        ),
        (lambda: render_results(RESULT), "render_results: expected a list of ToolResult, got one; give a list of it"),
        (lambda: render_result_parts(RESULT), "render_results: expected a list of ToolResult, got one; give a list"),
        (lambda: render_results(None), "render_results: expected a list of ToolResult, got NoneType"),
        (lambda: render_instructions([ADD], turns=["hi"]), "turns: expected a list of xmltools.Message, got str in it"),
        (
            lambda: render_instructions([ADD], turns=Message(role="user")),
            "turns: expected a list of xmltools.Message, got one; give a list of it: [message]",
        ),
        (lambda: render_instructions([ADD], preamble=None), "preamble: expected text, got NoneType"),
        (lambda: Tool.of(lambda a: a), "a lambda has no name that a call could say; give one: Tool.of(…, name="),
        (
            lambda: Parser([ADD], also=True),
            "also: expected names of dialects, or 'known', which means all of them, got",
        ),
        (lambda: Parser([ADD], also=[5]), "also: expected the name of a dialect, or 'known', which means all of them"),
    ],
)
def test_what_was_given_in_place_of_something_else_is_named(misuse, message):
    with pytest.raises(XMLToolsError) as caught:
        misuse()
    assert str(caught.value).startswith(message)


def test_a_lambda_with_a_name_is_a_tool():
    assert Tool.of(lambda number: number, name="same").shape.required == ("number",)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("hermess", "did you mean 'hermes'?"),
        ("qwen3", "did you mean 'qwen3_coder'?"),
        ("kimi", "did you mean 'kimi_k2' or 'kimi_k3'?"),
        ("zzz", "there are: forge, hermes, "),
        (None, "there are: forge, hermes, "),
        (5, "there are: forge, hermes, "),
        (["hermes"], "there are: forge, hermes, "),
    ],
)
def test_of_dialects_only_near_names_are_suggested(name, told):
    with pytest.raises(XMLToolsError) as caught:
        Parser(dialect=name)
    assert str(caught.value).startswith(f"dialect: expected the name of a dialect, got {name!r}; {told}")


@pytest.mark.parametrize("model", [None, 5])
def test_what_is_no_name_of_a_model_is_refused(model):
    with pytest.raises(XMLToolsError, match=f"^for_model: expected the name of a model, as 'Qwen/.*', got {model}$"):
        for_model(model)


@pytest.mark.parametrize(
    ("server", "message"),
    [("", "several servers have 'f'"), ("<server_name>z</server_name>", "server 'z' has no tool named 'f'")],
)
def test_a_server_that_is_missing_or_wrong_is_told(server, message):
    tools = [Tool(name="f", server=name) for name in ("x", "y")]
    [error] = parse(f"<tool>{server}<tool_name>f</tool_name></tool>", tools=tools).errors
    assert (error.message, error.hint) == (message, "Name the server of f in <server_name>: x, y.")
