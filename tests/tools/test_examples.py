"""Made-up arguments: what they look like, that they are valid, and that no schema makes them slow."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.effort import effort

from xmltools.tools.schema import compile_schema, example_arguments, is_code_name
from xmltools.tools.schema.string_formats import FORMATS

STRING, INTEGER, NUMBER, BOOLEAN = ({"type": name} for name in ("string", "integer", "number", "boolean"))
IMPOSSIBLE = {"type": "string", "pattern": "^(?!)"}
NONE = object()
FORMAT_CHECKER = Draft202012Validator.FORMAT_CHECKER


def listing(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def thing(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **more}


def sample(schema: dict[str, Any], smallest: bool = False) -> dict[str, Any] | None:
    made = example_arguments(compile_schema(schema), smallest=smallest)
    if made is not None:
        Draft202012Validator(schema, format_checker=FORMAT_CHECKER).validate(made)
    return made


def sample_of(schema: Any, name: str = "x") -> Any:
    """The sample value of one required property; NONE if there is no sample."""
    made = sample(thing({name: schema}, name))
    return NONE if made is None else made[name]


# One value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (BOOLEAN, True),
        ({"type": "boolean", "default": False}, False),
        ({"type": "boolean", "const": False}, False),
        ({"type": "null"}, None),
        ({"type": ["null", "string"]}, "x"),
        ({"anyOf": [{"type": "null"}, INTEGER], "default": None}, 1),
        ({"anyOf": [IMPOSSIBLE, {"type": "null"}]}, None),
        ({"anyOf": [IMPOSSIBLE, INTEGER, STRING]}, 1),
        ({"enum": [None, "b", "a"]}, "b"),
        ({"enum": ["ab", "b", 5], "maxLength": 1}, "b"),
        ({"const": {"a": [1]}}, {"a": [1]}),
        ({"type": "string", "examples": [5, "one", "two"], "default": "three"}, "one"),
        ({"type": "string", "maxLength": 2, "examples": ["long"], "default": "ab"}, "ab"),
        ({"type": "string", "default": 5}, "x"),
        ({"$ref": "#/properties/x/$defs/a", "$defs": {"a": INTEGER}}, 1),
        ({}, "x"),
        ({"minimum": 5}, "x"),
        ({"not": {"type": "string"}}, 1),
        ({"allOf": [{"type": "integer", "minimum": 5}, {"maximum": 6, "multipleOf": 3}]}, 6),
        ({"type": "string", "oneOf": [{"minLength": 3}, {"maxLength": 0}]}, NONE),
        (False, NONE),
    ],
)
def test_a_value_comes_from_the_schema_or_else_from_its_type(schema, value):
    assert sample_of(schema) == value


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ({"minimum": 5, "maximum": 50}, "x", 5),
        ({"maximum": -3}, "x", -3),
        ({"exclusiveMinimum": 1}, "x", 2),
        ({"exclusiveMaximum": 1}, "x", 0),
        ({"minimum": 2, "exclusiveMinimum": 2, "maximum": 3}, "x", 3),
        ({"multipleOf": 7}, "x", 7),
        ({"multipleOf": 7, "maximum": 6}, "x", 0),
        ({"minimum": 2, "maximum": 1}, "x", NONE),
        ({"minimum": 10**400}, "x", 10**400),
    ],
)
def test_an_integer_is_one_or_near_to_its_bounds(schema, name, value):
    assert sample_of({"type": "integer", **schema}, name) == value


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ({}, "x", 1),
        ({"minimum": 0.2, "maximum": 0.9}, "x", 0.2),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, "x", 0.5),
        ({"multipleOf": 0.25, "exclusiveMaximum": 0.75, "minimum": 0.3}, "x", 0.5),
    ],
)
def test_a_number_is_whole_where_it_may_be(schema, name, value):
    assert sample_of({"type": "number", **schema}, name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("path", "src/app.py"),
        ("outputFile", "src/app.py"),
        ("working_dir", "src"),
        ("URL", "https://example.com"),
        ("cmd", "ls -l"),
        ("reason_text", "reason text"),
        ("reasonText", "reason text"),
        ("file-type", "file type"),
        ("Größe", "größe"),
        ("__", "value"),
        ("new_content", "if a < b:\n    a = b"),
        ("zip_code", "zip code"),
    ],
)
def test_a_string_is_made_up_from_its_name(name, value):
    assert sample_of(STRING, name) == value


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        ({"minLength": 8}, "some_x", "some xxx"),
        ({"minLength": 5}, "ab_c", "ab cx"),
        ({"maxLength": 3}, "ab_c", "ab"),
        ({"maxLength": 0}, "x", ""),
        ({"minLength": 10**9}, "x", NONE),
        ({"minLength": 3, "maxLength": 2}, "x", NONE),
        ({"pattern": "^[a-z]+-[a-z]+$"}, "branch_x", "branch-x"),
        ({"pattern": "^[A-Z_]+$"}, "some_key", "SOME_KEY"),
        ({"pattern": r"^\d+\.\d+\.\d+$"}, "release", "1.0.0"),
        ({"pattern": "[a-z]"}, "colour", "colour"),
        ({"pattern": "^only this$"}, "x", "only this"),
        ({"pattern": r"^\d{4}-\d\d-\d\d$"}, "x", "2026-01-15"),
        ({"pattern": r"^\d\d:\d\d$"}, "x", "11:11"),
        ({"pattern": "^ABC-[0-9]+$"}, "x", "ABC-1"),
        ({"pattern": "^ABC-[0-9]+$", "minLength": 8}, "x", "ABC-1234"),
        ({"pattern": "^a"}, "x", "a"),
        ({"pattern": "^20"}, "x", "20"),  # a date would do, but is not what such a pattern speaks of
        ({"pattern": "com$"}, "x", "com"),
        ({"pattern": "^(?:foo|bar)(?:, (?:foo|bar))*$"}, "x", "foo"),
        ({"pattern": "^(?:foo|bar)(?:, (?:foo|bar))*$", "minLength": 6}, "x", "foo, foo"),
        ({"pattern": r"^#[0-9a-f]{6}$"}, "x", "#abcdef"),
        ({"pattern": r"^(['\"]).+\1$"}, "x", NONE),  # it is not checked
        ({"pattern": r"^(['\"]).+\1$", "examples": ["'b'"]}, "x", "'b'"),
        ({"pattern": r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{8,}$"}, "x", 'Aa0!Bb1"'),
        ({"allOf": [{"pattern": "^[ab]+$"}, {"pattern": "b"}]}, "x", "b"),
        ({"pattern": "^(?!)|(?<=b)a$"}, "x", NONE),
        ({"pattern": f"^{'only this ' * 101}$"}, "x", NONE),
        ({"pattern": "^(?:(?=X)){1001}XX"}, "x", NONE),  # too many rounds to make a text of
        ({"format": "date"}, "birthday", "2026-01-15"),
        ({"format": "email", "minLength": 18}, "x", "user@example.comxx"),
        ({"format": "date", "maxLength": 5}, "x", NONE),
        ({"format": "unheard-of"}, "some_words", "some words"),
    ],
)
def test_a_string_fits_its_length_pattern_and_format(schema, name, value):
    assert sample_of({"type": "string", **schema}, name) == value


@pytest.mark.parametrize("name", [*FORMATS, "hostname", "regex", "uri-reference", "duration", "json-pointer"])
def test_a_string_is_of_its_format(name):
    value = sample_of({"type": "string", "format": name}, "reason_text")
    assert value != "reason text"
    assert FORMATS.get(name, bool)(value)


@pytest.mark.parametrize(
    ("schema", "name", "value"),
    [
        (listing(STRING), "tags", ["tag"]),
        (listing(STRING), "todo", ["todo"]),
        (listing(STRING), "filePaths", ["src/app.py"]),
        (listing(STRING, minItems=2), "tags", ["tag", "tag"]),
        (listing({"enum": ["a", "b"]}, minItems=3, uniqueItems=True), "x", NONE),
        (listing(STRING, maxItems=0), "tags", []),
        (listing(STRING, minItems=6), "tags", NONE),
        (listing(IMPOSSIBLE), "tags", []),
        (listing(IMPOSSIBLE, minItems=1), "tags", NONE),
        (listing(False), "tags", NONE),
        ({"type": "array"}, "tags", ["tag"]),
        ({"type": "array", "prefixItems": [INTEGER, BOOLEAN], "minItems": 2}, "pair", [1, True]),
        (listing(INTEGER, contains={"minimum": 1}), "x", [1]),
        (listing(INTEGER, contains={"minimum": 5}), "x", NONE),
        ({"type": "object", "additionalProperties": INTEGER}, "sizes", {"name": 1}),
        ({"type": "object"}, "options", {}),
        ({"type": "object", "additionalProperties": False}, "options", {}),
        (thing({"a": STRING, "b": INTEGER}), "x", {"a": "a"}),
        (thing({"a": STRING, "b": INTEGER}, "b"), "x", {"b": 1}),
        (thing({"a": INTEGER}, "a", examples=[{"b": 1}, {"a": 7}]), "x", {"a": 7}),
    ],
)
def test_lists_and_objects_hold_as_little_as_shows_how_they_are_written(schema, name, value):
    assert sample_of(schema, name) == value


# Which properties


TAGS = {"query": STRING, "n": INTEGER, "tags": listing(STRING), "more": listing(STRING)}


@pytest.mark.parametrize(
    ("schema", "usual", "smallest"),
    [
        (thing({}), {}, {}),
        ({"type": "object"}, {}, {}),
        ({"type": "object", "additionalProperties": STRING}, {"name": "value"}, {}),
        (thing(TAGS), {"query": "query", "tags": ["tag"]}, {}),
        (thing(TAGS, "n"), {"n": 1, "tags": ["tag"]}, {"n": 1}),
        (thing(TAGS, "more", "n"), {"n": 1, "more": ["more"]}, {"n": 1, "more": ["more"]}),
        (thing({"a": STRING, "o": thing({"b": STRING})}, "o"), {"o": {"b": "b"}}, {"o": {}}),
        (thing({"a": STRING}, "z"), {"z": "z"}, {"z": "z"}),
        (thing({"a": STRING}, "z", additionalProperties=False), None, None),
        (thing({"a": IMPOSSIBLE, "b": IMPOSSIBLE}), {}, {}),
        (thing({"a": IMPOSSIBLE, "b": STRING}, "a"), None, None),
        (thing({"a": INTEGER}, "a", examples=[{"a": "no"}, {"a": 5}]), {"a": 5}, {"a": 5}),
        (thing({"a": INTEGER}, "a", default={"a": 6}), {"a": 6}, {"a": 6}),
        (thing({"a": STRING}, maxProperties=0), {}, {}),
        (thing({"a": STRING, "b": STRING, "c": STRING}, minProperties=2), None, None),
    ],
)
def test_a_sample_holds_what_is_required_and_what_shows_more(schema, usual, smallest):
    assert (sample(schema), sample(schema, smallest=True)) == (usual, smallest)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (listing({"type": "object", "additionalProperties": {"type": ["integer", "string"]}}), [{"name": 1}]),
        ({"type": "object", "additionalProperties": STRING}, {"name": "value"}),
        ({"type": "object", "additionalProperties": STRING, "maxProperties": 0}, {}),
        ({"type": "object", "additionalProperties": STRING, "propertyNames": {"maxLength": 3}}, {}),
        ({"type": "object", "additionalProperties": IMPOSSIBLE}, {}),
    ],
)
def test_the_smallest_sample_shows_an_entry_of_an_object_with_free_names_too(schema, value):
    schema = thing({"x": schema}, "x")
    assert sample(schema) == sample(schema, smallest=True) == {"x": value}


def test_properties_stand_in_declared_order():
    schema = thing({"c": STRING, "items": listing(STRING), "a": STRING}, "a", "c")
    assert list(sample(schema)) == ["c", "items", "a"]


def test_a_sample_is_the_same_each_time_and_belongs_to_the_caller():
    shape = compile_schema(thing({"a": {"type": "array", "default": [[1]]}}, "a"))
    first = example_arguments(shape)
    first["a"][0].append(2)
    assert example_arguments(shape) == {"a": [[1]]}


# Names


@pytest.mark.parametrize(
    "name",
    (  # noqa: SIM905 - a list would be thirty lines
        "code|diff|patch|script|source|content|contents|file_contents|html|xml|sql|css|json|markdown|body|snippet|"
        "source_code|newCode|old_str|new_str|oldString|newText|replacement|search_block|replace_block|sql_query|HTMLBody"
    ).split("|"),
)
def test_a_name_of_code_is_told(name):
    assert is_code_name(name)


@pytest.mark.parametrize(
    "name",
    (  # noqa: SIM905
        "path|query|name|message|text|reason|content_type|source_path|script_name|zip_code|country_code|languageCode|"
        "exit_code|search|diff_format|html_url||_|größe"
    ).split("|"),
)
def test_a_name_of_something_else_is_no_code(name):
    assert not is_code_name(name)


# Schemas that never end, or nearly


NODE = {"$ref": "#/$defs/node"}


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (thing({"name": STRING, "children": listing(NODE)}, "name"), {"name": "name"}),
        (thing({"name": STRING, "children": listing(NODE)}, "name", "children"), {"name": "name", "children": []}),
        (thing({"children": listing(NODE), "name": STRING}), {"name": "name"}),
        (thing({"next": {"anyOf": [NODE, {"type": "null"}]}, "v": INTEGER}, "v", "next"), {"next": None, "v": 1}),
        (thing({"left": NODE, "right": NODE}), {}),
        (thing({"left": NODE, "right": NODE}, "left", "right"), NONE),
        ({"anyOf": [listing(NODE, minItems=1), STRING]}, ["node"]),
        (listing(NODE), []),
        (listing(NODE, minItems=5), NONE),
        ({"type": "object", "additionalProperties": NODE}, {}),
    ],
)
def test_recursion_comes_to_an_end(node, value):
    made = sample(thing({"nodes": NODE}, "nodes", **{"$defs": {"node": node}}))
    assert (NONE if made is None else made["nodes"]) == value


def test_a_root_that_recurs_comes_to_an_end():
    assert sample(thing({"v": INTEGER, "kids": listing({"$ref": "#"})}, "v")) == {"v": 1}


def doubling(step: Any, last: Any, levels: int = 20) -> dict[str, Any]:
    definitions = {f"d{level}": step({"$ref": f"#/$defs/d{level + 1}"}) for level in range(levels)}
    return thing({"x": {"$ref": "#/$defs/d0"}}, "x", **{"$defs": {**definitions, f"d{levels}": last}})


def branches(count: int, last: Any) -> list[dict[str, Any]]:
    impossible = [thing({"kind": {"const": number}, "v": IMPOSSIBLE}, "kind", "v") for number in range(count - 1)]
    return [*impossible, thing({"kind": {"const": count - 1}, "v": last}, "kind", "v")]


HOSTILE = {
    "properties": (doubling(lambda ref: thing({"a": ref, "b": ref}, "a", "b"), STRING), None),
    "properties, less deep": (doubling(lambda ref: thing({"a": ref, "b": ref}, "a", "b"), STRING, 14), None),
    "items": (doubling(lambda ref: {"type": "array", "prefixItems": [ref, ref], "minItems": 2}, STRING), None),
    # More levels than these are refused with the schema.
    "allOf": (doubling(lambda ref: {"allOf": [ref, ref]}, {"type": "string", "minLength": 1}, 10), {"x": "x"}),
    "anyOf": (doubling(lambda ref: {"anyOf": [ref, ref]}, STRING, 10), {"x": "x"}),
    "anyOf, impossible": (doubling(lambda ref: {"anyOf": [ref, ref]}, IMPOSSIBLE, 10), None),
    "many alternatives": (thing({"x": {"anyOf": branches(300, STRING)}}, "x"), None),
    "many alternatives, none possible": (thing({"x": {"anyOf": branches(300, IMPOSSIBLE)}}, "x"), None),
    "many alternatives at the root": ({"type": "object", "anyOf": branches(300, IMPOSSIBLE)}, None),
    "repeats of repeats": (thing({"x": {"type": "string", "pattern": "^((((a{9}){9}){9}){9}){9}$"}}, "x"), None),
    "empty repeats": (thing({"x": {"type": "string", "pattern": "^(((b?){9}){9}){9}c$"}}, "x"), {"x": "c"}),
    "many values": (thing({"x": {"enum": list(range(10_000)), "minimum": 10_000}}, "x"), None),
    "many optional properties": (thing({f"p{n}": IMPOSSIBLE for n in range(1_000)}, minProperties=1), None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_schema_takes_long(name):
    schema, expected = HOSTILE[name]
    shape = compile_schema(schema)
    assert example_arguments(shape) == expected
    assert effort(lambda: example_arguments(shape)) < 300


# Against jsonschema


NAMES = ("path", "tags", "count", "ratio", "new_code", "reason_text", "file_type", "a")
# Under a `not`, a format that only one side checks would make the two disagree.
FORMAT_NAMES = [each for each in (*FORMATS, "unheard-of") if (each in FORMATS) == (each in FORMAT_CHECKER.checkers)]
DEFINITIONS = {
    "text": {"type": "string", "minLength": 2},
    "node": thing({"name": STRING, "children": listing(NODE)}, "name"),
    "number": {"anyOf": [INTEGER, {"type": "null"}]},
}
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.sampled_from([0.5, "", "abc", "2026-01-15", " x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)


def some(**keywords: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keywords)


def typed(name: str, **keywords: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(name)}, optional=keywords)


small = st.integers(0, 12)
strings = typed(
    "string",
    minLength=small,
    maxLength=st.integers(3, 30),
    format=st.sampled_from(FORMAT_NAMES),
    pattern=st.sampled_from(["^[a-z]+$", "^[0-9]+$", "[A-Z]", r"^\d+\.\d+\.\d+$", "^$", "x"]),
)
bounds = {word: st.integers(-20, 20) for word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")}
integers = typed("integer", **bounds, multipleOf=st.integers(1, 7))
numbers = typed("number", **bounds, multipleOf=st.sampled_from([1, 2, 0.5, 0.25]))
enums = st.builds(lambda each: {"enum": each}, st.lists(values, min_size=1, max_size=4))
constants = st.builds(lambda each: {"const": each}, values)
references = st.sampled_from([{"$ref": f"#/$defs/{name}"} for name in DEFINITIONS])
mixed = st.builds(
    lambda names: {"type": names},
    st.lists(st.sampled_from(["string", "integer", "null", "array"]), min_size=1, unique=True),
)
leaves = (
    strings
    | integers
    | numbers
    | enums
    | constants
    | references
    | mixed
    | st.sampled_from([BOOLEAN, {}, {"type": "null"}])
)


@st.composite
def objects(draw: Any, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), inner, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    more = (
        draw(
            some(
                additionalProperties=st.booleans() | inner,
                minProperties=st.integers(0, 3),
                maxProperties=st.integers(0, 4),
                dependentRequired=st.dictionaries(
                    st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2), max_size=1
                ),
                anyOf=st.lists(
                    st.builds(lambda name: {"required": [name]}, st.sampled_from(NAMES)), min_size=1, max_size=2
                ),
            )
        )
        if draw(st.integers(0, 2)) == 0
        else {}
    )
    return thing(properties, *required, **more)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = typed(
        "array",
        items=inner,
        minItems=st.integers(0, 3),
        maxItems=st.integers(0, 5),
        uniqueItems=st.booleans(),
        prefixItems=st.lists(inner, min_size=1, max_size=2),
        contains=inner,
    )
    choices = st.builds(
        lambda word, each: {word: each},
        st.sampled_from(["anyOf", "oneOf", "allOf"]),
        st.lists(inner, min_size=1, max_size=3),
    )
    return lists | choices | objects(inner) | noted(inner) | st.builds(lambda each: {"not": each}, inner)


def noted(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    notes = some(default=values, examples=st.lists(values, max_size=2), description=st.just("What it is."))
    return st.builds(lambda schema, note: {**schema, **note}, inner, notes)


properties = st.recursive(noted(leaves), containers, max_leaves=6)
schemas = st.builds(lambda schema: {**schema, "$defs": DEFINITIONS}, objects(properties) | noted(objects(properties)))


@given(schemas, st.booleans())
def test_every_sample_is_valid(schema, smallest):
    before = copy.deepcopy(schema)
    shape = compile_schema(schema)
    made = example_arguments(shape, smallest=smallest)
    assert schema == before
    if made is not None:
        assert json.loads(json.dumps(made)) == made
        Draft202012Validator(schema, format_checker=FORMAT_CHECKER).validate(made)
        assert example_arguments(shape, smallest=smallest) == made


def named(schema: dict[str, Any]) -> set[str]:
    """The names of properties that an object schema declares or demands."""
    groups = [schema["properties"], schema["required"], *(each["required"] for each in schema.get("anyOf", ()))]
    return set().union(*groups, *schema.get("dependentRequired", {}).values())


def undeclared(schema: Any, value: Any) -> list[str]:
    """The names in `value` that the schema does not know, for objects that are no maps and no one's examples."""
    if not isinstance(value, dict) or not schema.get("properties") or schema.keys() & {"default", "examples"}:
        return []
    inner = [
        each for name, one in schema["properties"].items() if name in value for each in undeclared(one, value[name])
    ]
    return [*(value.keys() - named(schema)), *inner]


@given(schemas, st.booleans())
def test_no_property_is_invented(schema, smallest):
    made = example_arguments(compile_schema(schema), smallest=smallest)
    assert not undeclared(schema, made)


@given(objects(noted(strings | integers)).filter(lambda schema: schema["properties"]))
def test_a_tool_without_odd_keywords_has_a_smallest_sample_of_what_it_requires(schema):
    plain = {
        "type": "object",
        "properties": dict.fromkeys(schema["properties"], STRING),
        "required": schema["required"],
    }
    assert sample(plain, smallest=True).keys() == set(schema["required"])


def test_a_constant_that_is_none_of_the_values_has_no_sample() -> None:
    nothing = {"const": 0, "enum": [5, -0.5], "type": "number"}
    for smallest in (False, True):
        assert sample({"properties": {"x": nothing}, "required": ["x"]}, smallest=smallest) is None
        assert sample({"properties": {"x": {"const": 5, "enum": [5, 6]}}, "required": ["x"]}) == {"x": 5}


def test_a_schema_that_several_required_lists_share_is_shown_in_each_of_them():
    item = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    names = [f"list{number}" for number in range(40)]
    listed = {"type": "array", "items": {"$ref": "#/$defs/item"}}
    shape = compile_schema(
        {"type": "object", "$defs": {"item": item}, "properties": dict.fromkeys(names, listed), "required": names}
    )
    assert example_arguments(shape) == {name: [{"x": 1}] for name in names}
