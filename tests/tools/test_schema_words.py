"""Keywords one by one where tables of whole schemas do not reach: bounds met exactly, older words, made-up values."""

import pytest
from jsonschema import Draft202012Validator

import xmltools as xt
from xmltools.errors import Code, XMLToolsError
from xmltools.syntax.json_reader import loads_lenient
from xmltools.tools.schema import (
    ANY,
    bounds_of,
    compile_schema,
    example_arguments,
    find_problems,
    is_code_name,
    item_name,
    items_of,
    other_keywords,
    properties_of,
    read_arguments,
    read_object,
    singular_of,
    text_facts,
)


def shape_of(schema, **more):
    return compile_schema({"type": "object", "properties": {"a": schema}, **more})


def fits(schema, value):
    return not find_problems({"a": value}, shape_of(schema))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"minLength": 2}, "ab", "a"),
        ({"maxLength": 2}, "ab", "abc"),
        ({"minItems": 2}, [1, 2], [1]),
        ({"maxItems": 2}, [1, 2], [1, 2, 3]),
        ({"minProperties": 1}, {"b": 1}, {}),
        ({"maxProperties": 1}, {"b": 1}, {"b": 1, "c": 2}),
        ({"minimum": 2}, 2, 1.9),
        ({"maximum": 2}, 2, 2.1),
        ({"exclusiveMinimum": 2}, 2.1, 2),
        ({"exclusiveMaximum": 2}, 1.9, 2),
        ({"multipleOf": 0.5}, 1.5, 1.75),
        ({"contains": {"const": 1}, "minContains": 2}, [1, 1], [1, 2]),
        ({"contains": {"const": 1}, "maxContains": 1}, [1, 2], [1, 1]),
        ({"contains": {"const": 1}, "minContains": 0}, [2], None),
        ({"uniqueItems": True}, [1, True, "1"], [1, 1.0]),
        ({"uniqueItems": True}, [["list", 1], {"a": 1}], [{"a": 1, "b": [2]}, {"b": [2], "a": 1}]),
        ({"uniqueItems": False}, [1, 1], None),
        ({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, [1, "x"], [1, 2]),
        ({"prefixItems": [{}, {}], "items": False}, [1, 2], [1, 2, 3]),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1], [1, 2]),
        ({"contains": {"const": 1}, "prefixItems": [{}], "unevaluatedItems": False}, [2, 1], [1, 2]),
        ({"properties": {"b": {}}, "unevaluatedProperties": False}, {"b": 1}, {"c": 1}),
        ({"patternProperties": {"^b": {}}, "additionalProperties": False}, {"bc": 1}, {"c": 1}),
        ({"propertyNames": {"pattern": "^b"}}, {"bc": 1}, {"c": 1}),
        ({"dependentRequired": {"b": ["c"]}}, {"c": 1}, {"b": 1}),
        ({"dependentSchemas": {"b": {"required": ["c"]}}}, {"b": 1, "c": 1}, {"b": 1}),
        ({"not": {"type": "integer"}}, "x", 1),
        ({"if": {"const": 1}, "then": {"type": "string"}, "else": {"const": 2}}, 2, 1),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 1, 2),
        ({"anyOf": [{"type": "integer"}, {"maxLength": 2}]}, "ab", "abc"),
        ({"enum": [1, [1, {"b": 2}]]}, [1, {"b": 2.0}], [1, {"b": 3}]),
        ({"enum": [True, "a"]}, True, 1),
        ({"const": 0}, 0.0, False),
        ({"const": {"b": None}}, {"b": None}, {"b": None, "c": None}),
        ({"type": "integer"}, 5.0, 5.5),
        ({"type": "number"}, 5, True),
        ({"type": "array"}, [], {}),
        ({"type": "object"}, {}, []),
    ],
)
def test_a_bound_is_met_exactly_as_jsonschema_says(schema, good, bad):
    judge = Draft202012Validator(schema)
    assert judge.is_valid(good) and fits(schema, good)
    assert bad is None or not (judge.is_valid(bad) or fits(schema, bad))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"items": [{"type": "integer"}], "additionalItems": False}, [1], [1, 2]),
        ({"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}, [1, "x"], [1, 2]),
        ({"items": [{"type": "integer"}]}, [1, 2, "x"], ["x"]),
        ({"items": {"type": "integer"}, "additionalItems": False}, [1, 2], ["x"]),
        ({"minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"maximum": 1, "exclusiveMaximum": True}, 0, 1),
        ({"minimum": 1, "exclusiveMinimum": False}, 1, 0),
        ({"maximum": 1, "exclusiveMaximum": False}, 1, 2),
        ({"type": "integer", "nullable": True}, None, "x"),
        ({"type": "integer", "nullable": False}, 1, None),
        ({"$ref": "#/properties/b", "nullable": True}, None, 5),
        ({"$ref": "#/properties/b", "nullable": True}, "x", [None]),
        ({"anyOf": [{"type": "integer"}], "nullable": True}, 5, "x"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}], "nullable": True}, None, 1.5),
        ({"allOf": [{"$ref": "#/properties/b"}], "nullable": True, "default": None}, "x", 1),
        ({"nullable": True}, 5, Ellipsis),
        ({"default": 1, "nullable": True}, 5, Ellipsis),
        ({"title": "T", "description": "D", "nullable": True}, 5, Ellipsis),
        ({"enum": ["x"], "nullable": True}, None, "y"),
        ({"dependencies": {"b": ["c"]}, "dependentRequired": {"c": ["d"]}}, {"b": 1, "c": 1, "d": 1}, {"c": 1}),
        ({"dependencies": {"b": ["c"]}, "dependentRequired": {"c": ["d"]}}, {"d": 1}, {"b": 1}),
        ({"dependencies": {"b": {"required": ["c"]}}, "dependentSchemas": {"c": {}}}, {"c": 1}, {"b": 1}),
    ],
)
def test_older_words_mean_what_they_meant(schema, good, bad):
    shape = compile_schema({"type": "object", "properties": {"a": schema, "b": {"type": "string"}}})
    assert not find_problems({"a": good}, shape)
    assert bad is Ellipsis or find_problems({"a": bad}, shape)


def test_a_chain_of_references_that_may_be_null_is_refused_with_its_place():
    chain = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}", "nullable": True} for number in range(150)}
    with pytest.raises(XMLToolsError, match=r"invalid schema at #/\$defs/d\d+.*: more than 100 schemas apply"):
        shape_of({"$ref": "#/$defs/d0"}, **{"$defs": {**chain, "d150": {"type": "string"}}})
    with pytest.raises(XMLToolsError, match=r"at #/\$defs/d: this schema refers to itself"):
        shape_of({}, **{"$defs": {"d": {"$ref": "#/$defs/d", "nullable": True}}})


def test_what_is_said_beside_nullable_is_told():
    told = {"type": "integer", "nullable": True, "default": 5, "description": "How many."}
    prompt = xt.render_instructions([xt.Tool(name="f", parameters={"properties": {"n": told}})])
    assert "- n (integer or null, optional, default 5): How many." in prompt


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("#/$defs/a~1b", 1),
        ("#/$defs/a~0b", 2),
        ("#/$defs/a%20b", 3),
        ("#/$defs/list/prefixItems/1", 4),
        ("#/$defs/0", 5),
    ],
)
def test_references_are_pointers(pointer, value):
    defs = {
        "a/b": {"const": 1},
        "a~b": {"const": 2},
        "a b": {"const": 3},
        "list": {"prefixItems": [{}, {"const": 4}]},
        "0": {"const": 5},
    }
    shape = shape_of({"$ref": pointer}, **{"$defs": defs})
    assert not find_problems({"a": value}, shape) and find_problems({"a": 0}, shape)


@pytest.mark.parametrize(
    "pointer", ["#/$defs/list/prefixItems/2", "#/$defs/list/prefixItems/x", "#/$defs/list/prefixItems/01"]
)
def test_a_reference_to_no_item_is_refused(pointer):
    with pytest.raises(XMLToolsError, match="there is nothing at"):
        shape_of({"$ref": pointer}, **{"$defs": {"list": {"prefixItems": [{}, {}]}}})


@pytest.mark.parametrize(("levels", "fine"), [(199, True), (201, False)])
def test_a_schema_has_200_levels(levels, fine):
    value = "x"
    for _ in range(levels - 1):
        value = [value]
    if fine:
        assert shape_of({}, default=value)
    else:
        with pytest.raises(XMLToolsError, match="more than 200 levels deep"):
            shape_of({}, default=value)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("time", "23:59:60Z", "23:59:61Z"),
        ("time", "23:59:00z", "23:60:00Z"),
        ("time", "00:00:00-23:59", "00:00:00-24:00"),
        ("time", "00:00:00.123+00:59", "00:00:00+00:60"),
        ("date-time", "2024-01-01t00:00:00z", "2024-01-01"),
        ("date-time", "2024-01-01T00:00:00+01:00", "2024-02-30T00:00:00Z"),
        ("uuid", "123E4567-E89B-12D3-A456-42661417400F", "123e4567-e89b-12d3-a456-42661417400g"),
        ("uri", "HTTPS+x.y-1:z", "1http:x"),
        ("uri", "urn:isbn:0451450523", "http://a b"),
        ("email", "a@b.c", "a@b@c"),
        ("ipv6", "2001:db8::", "1::2::3"),
    ],
)
def test_formats_at_their_edges(name, good, bad):
    assert fits({"format": name}, good) and not fits({"format": name}, bad)


def test_what_schemas_say_together():
    both = {
        "allOf": [{"minLength": 1, "maxLength": 9, "pattern": "a"}, {"minLength": 2, "maxLength": 8, "pattern": "b"}]
    }
    shape = shape_of({"type": "string", **both, "format": "date"})
    facts = text_facts(shape.child("a"))
    assert (facts.low, facts.high, facts.patterns, facts.formats) == (2, 8, ("a", "b"), ("date",))
    assert not facts.is_free and text_facts(shape_of({"type": "string"}).child("a")).is_free
    assert text_facts(shape_of({"type": "string"}).child("a")).high is None


@pytest.mark.parametrize(
    ("schema", "integers"),
    [
        ({"minimum": 1.5, "maximum": 3.5}, (2, 3)),
        ({"minimum": 1, "maximum": 3}, (1, 3)),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, (2, 2)),
        ({"exclusiveMinimum": 1.5, "exclusiveMaximum": 3.5}, (2, 3)),
        ({"minimum": 2, "exclusiveMinimum": 2, "maximum": 4, "exclusiveMaximum": 4}, (3, 3)),
        ({"minimum": 3, "exclusiveMinimum": 2, "maximum": 4, "exclusiveMaximum": 5}, (3, 4)),
        ({"minimum": 0, "exclusiveMinimum": 2, "maximum": 9, "exclusiveMaximum": 5}, (3, 4)),
        ({}, (None, None)),
    ],
)
def test_bounds_of_integers(schema, integers):
    assert bounds_of(shape_of({"type": "integer", **schema}).child("a")).for_integers() == integers


@pytest.mark.parametrize(
    ("schema", "first", "rest", "low", "high"),
    [
        ({}, 0, True, 0, None),
        ({"minItems": 1, "maxItems": 3}, 0, True, 1, 3),
        ({"prefixItems": [{}, {}]}, 2, True, 0, None),
        ({"prefixItems": [{}, {}], "items": False}, 2, False, 0, 2),
        ({"prefixItems": [{}, {}], "maxItems": 1}, 1, False, 0, 1),
        ({"prefixItems": [{}, {}], "maxItems": 3}, 2, True, 0, 3),
        ({"prefixItems": [{}, False, {}]}, 1, False, 0, 1),
        ({"items": False, "maxItems": 5}, 0, False, 0, 0),
    ],
)
def test_what_a_list_holds(schema, first, rest, low, high):
    items = items_of(shape_of({"type": "array", **schema}).child("a"))
    assert (len(items.first), items.rest is not None, items.low, items.high) == (first, rest, low, high)


def test_properties_without_a_value_are_left_out():
    schema = {
        "type": "object",
        "properties": {"b": {}, "c": False, "xd": {}, "e": {}},
        "patternProperties": {"^x": False},
        "required": ["e", "f"],
    }
    found = properties_of(shape_of(schema).child("a"))
    assert [(each.name, each.required) for each in found] == [("b", False), ("e", True), ("f", True)]
    closed = properties_of(shape_of({**schema, "additionalProperties": False}).child("a"))
    assert [each.name for each in closed] == ["b", "e"]


WORDS = {
    "string": {"minLength", "maxLength", "pattern", "format"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
    | {"unevaluatedItems"},
    "object": {"properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties"}
    | {"propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"},
}
COUNTS = "minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties multipleOf"
LIMITS = "minimum maximum exclusiveMinimum exclusiveMaximum"
ONE = "items contains unevaluatedItems propertyNames additionalProperties unevaluatedProperties"
VALUES = {
    **dict.fromkeys(f"{COUNTS} {LIMITS}".split(), 1),
    **{word: {"title": "t"} for word in ONE.split()},
    **{word: {"b": {}} for word in ("properties", "patternProperties", "dependentSchemas")},
    "dependentRequired": {"b": []},
    "pattern": "a",
    "format": "date",
    "prefixItems": [{}],
    "uniqueItems": True,
    "required": ["b"],
}


@pytest.mark.parametrize("type", WORDS)
@pytest.mark.parametrize("word", VALUES)
def test_the_keywords_of_a_kind_are_told_to_those_who_do_not_know_them(type, word):
    child = shape_of({"type": type, word: VALUES[word], "not": {"const": 7}}).child("a")
    assert set(other_keywords(child, frozenset())) == ({word} & WORDS[type]) | {"not"}
    assert set(other_keywords(child, frozenset((word, "not")))) == set()


@pytest.mark.parametrize(
    ("name", "singulars"),
    [
        ("dishes", ("dish", "dishe")),
        ("ashes", ("ash", "ashe")),
        ("boxes", ("box", "boxe")),
        ("passes", ("pass", "passe")),
        ("batches", ("batch", "batche")),
        ("sizes", ("size", "siz")),
        ("heroes", ("heroe", "hero")),
        ("buses", ("buse", "bus")),
        ("ties", ("tie", "ty")),
        ("cities", ("city", "citie")),
        ("flies", ("fly", "flie")),
        ("Files", ("File",)),
        ("movies", ("movie",)),
        ("as", ()),
        ("gas", ("ga",)),
        ("class", ()),
        ("one", ()),
    ],
)
def test_singulars_the_likeliest_first(name, singulars):
    assert singular_of(name) == singulars
    assert item_name(name) == (singulars[0] if singulars else "item")


CODED = (
    "country zip postal area status error exit return currency language lang locale color colour product promo coupon "
    "discount voucher access auth verification invite airport iata iso tax region state"
)
ENDINGS = "type kind mode format size status level encoding count prefix suffix extension"


@pytest.mark.parametrize("word", CODED.split())
def test_a_code_of_these_is_no_program(word):
    assert not is_code_name(f"{word}_code") and is_code_name("program_code")


@pytest.mark.parametrize("ending", ENDINGS.split())
def test_these_words_say_that_the_ones_before_do_not_count(ending):
    assert not is_code_name(f"content_{ending}") and is_code_name(f"{ending}_content")


def sample_of(schema, name="a", **options):
    shape = compile_schema({"type": "object", "properties": {name: schema}, "required": [name]})
    made = example_arguments(shape, **options)
    return None if made is None else made[name]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"b": {}}, "anyOf": [{"required": ["b"]}]}, {"b": "b"}),
        (
            {
                "type": "object",
                "patternProperties": {"^x-": {"type": "integer"}},
                "additionalProperties": False,
                "minProperties": 1,
            },
            None,
        ),
        ({"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3}, None),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 0}, []),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "integer", "multipleOf": 3, "not": {"const": 3}}, 0),
        ({"type": "boolean", "not": {"const": True}}, False),
        ({"type": "string", "format": "date", "maxLength": 5}, None),
    ],
)
def test_made_up_values(schema, value):
    made = sample_of(schema)
    assert made == value
    assert made is None or Draft202012Validator(schema).is_valid(made)


def test_what_is_wanted_is_shown_beside_what_is_required():
    shape = compile_schema({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["a"]})
    assert example_arguments(shape) == {"a": "a"}
    assert example_arguments(shape, wanted=["c"]) == {"a": "a", "c": "c"}
    assert example_arguments(shape, smallest=True, wanted=["b"]) == {"a": "a", "b": "b"}


@pytest.mark.parametrize(
    ("schema", "given", "value", "codes"),
    [
        ({"type": "array", "items": {"type": "integer"}}, 5, [5], ["coerced_value"]),
        ({"type": "array", "items": {"type": "integer"}}, "x", ["x"], ["coerced_value"]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}]}, 5, [5], ["coerced_value"]),
        ({"type": "array", "items": {"type": "integer"}}, {"b": 1}, {"b": 1}, []),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2], ["json_value"]),
        (
            {"type": "object", "properties": {"b": {"type": "integer"}}},
            '{"b": "5"}',
            {"b": 5},
            ["json_value", "coerced_value"],
        ),
        ({"type": "integer"}, 5.0, 5, ["coerced_value"]),
        ({"type": "boolean"}, 1, True, ["coerced_value"]),
        ({"type": "boolean"}, 2, 2, []),
        ({"type": "number"}, True, True, []),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5", "5", []),
        ({"type": "null"}, "null", None, ["coerced_value"]),
        ({"type": "array", "items": {"type": "integer"}}, ["5"], [5], ["coerced_value"]),
        ({"type": "array", "items": {"type": "integer"}}, 5.0, [5], ["coerced_value"]),
        ({"type": "array", "items": {"type": "integer"}}, "5", [5], ["coerced_value"]),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, ["5"], [5], ["coerced_value"]),
        ({"type": "object", "properties": {"b": {"type": "boolean"}}}, {"b": "yes"}, {"b": True}, ["coerced_value"]),
    ],
)
def test_json_that_is_nearly_of_the_type(schema, given, value, codes):
    reading = read_object({"a": given}, shape_of(schema), 3)
    assert reading.arguments == {"a": value}
    assert [(repair.code, repair.offset) for repair in reading.repairs] == [(Code(code), 3) for code in codes]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['\\t\\n\\r\\b\\f']", ["\t\n\r\b\f"]),
        ("['\\\\ \\' \\\" \\/']", ["\\ ' \" /"]),
        ("['\\q']", ["\\q"]),
        ("['x', true, false, null]", ["x", True, False, None]),
        ("['x', True, False, None]", ["x", True, False, None]),
        ("['x', -0, 1.5, 1e2, -2E-1]", ["x", 0, 1.5, 100.0, -0.2]),
        ("('x',)", ["x"]),
        ("()", []),
    ],
)
def test_python_literals_one_by_one(text, value):
    assert loads_lenient(text)[0] == value


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"$ref": "#/$defs/a"}},
        {"if": {"$ref": "#/$defs/a"}},
        {"then": {"$ref": "#/$defs/a"}},
        {"else": {"$ref": "#/$defs/a"}},
        {"allOf": [{}, {"$ref": "#/$defs/a"}]},
        {"anyOf": [{}, {"$ref": "#/$defs/a"}]},
        {"oneOf": [{}, {"$ref": "#/$defs/a"}]},
        {"dependentSchemas": {"b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/a"},
    ],
    ids=lambda schema: next(iter(schema)),
)
def test_a_schema_that_applies_to_a_value_through_itself_is_refused_with_its_place(schema):
    with pytest.raises(XMLToolsError, match=r"^invalid schema at #/\$defs/a(/\w+)*: this schema refers to itself"):
        shape_of({}, **{"$defs": {"a": schema}})


@pytest.mark.parametrize("word", ["properties", "patternProperties"])
@pytest.mark.parametrize("part", ["items", "additionalProperties", "contains", "propertyNames", "unevaluatedItems"])
def test_a_schema_that_applies_to_a_part_of_its_value_is_fine(word, part):
    again = {"$ref": "#/$defs/a"}
    shape = shape_of(
        again,
        **{"$defs": {"a": {word: {"b": again}, part: again, "prefixItems": [again], "type": ["array", "object"]}}},
    )
    assert not find_problems({"a": {}}, shape)


def test_a_schema_that_applies_in_very_many_ways_is_checked_once_for_each_value():
    steps = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {"type": "string"}}
    shape = shape_of({"$ref": "#/$defs/d0"}, **{"$defs": steps})
    assert not find_problems({"a": "x"}, shape) and find_problems({"a": 1}, shape)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("#/x-parts/1", 4), ("#/x-parts/2/b", 6), ("#/x-more/a~1b", 1), ("#/x-more/a~0b", 2), ("#/x-more/~01", 3)],
)
def test_references_lead_to_places_that_no_keyword_names(pointer, value):
    more = {"a/b": {"const": 1}, "a~b": {"const": 2}, "~1": {"const": 3}}
    parts = [{}, {"const": 4}, {"b": {"const": 6}}]
    shape = shape_of({"$ref": pointer}, **{"x-more": more, "x-parts": parts})
    assert not find_problems({"a": value}, shape) and find_problems({"a": 0}, shape)


@pytest.mark.parametrize("step", ["3", "01", "-1", "x", "0000000000"])
def test_a_reference_to_no_place_is_refused(step):
    with pytest.raises(XMLToolsError, match="there is nothing at"):
        shape_of({"$ref": f"#/x-parts/{step}"}, **{"x-parts": [{}, {}]})


BRANCH = {"properties": {"c": {"type": "integer"}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [BRANCH]},
        {"anyOf": [BRANCH, {"required": ["d"]}]},
        {"oneOf": [BRANCH, {"required": ["d"]}]},
        {"if": {"required": ["d"]}, "then": BRANCH},
        {"if": {"required": ["d"]}, "else": BRANCH},
        {"dependentSchemas": {"d": BRANCH}},
        {"$ref": "#/$defs/branch"},
        {"$ref": "#/$defs/branch", "properties": {"d": {}}},
        {"allOf": [{"anyOf": [{"allOf": [BRANCH]}]}]},
    ],
)
def test_a_property_is_read_by_its_type_wherever_it_is_declared(schema):
    shape = shape_of({"type": "object", "properties": {"d": {}}} | schema, **{"$defs": {"branch": BRANCH}})
    assert read_object({"a": {"c": "5"}}, shape, 0).arguments == {"a": {"c": 5}}
    assert shape.child("a").has_property("c") and not shape.child("a").has_property("e")


def test_what_says_nothing_about_a_value_leaves_it_open():
    for schema in ({}, True):
        assert shape_of(schema).child("a") is ANY
    assert shape_of({"minLength": 1}).child("a") is not ANY


def test_the_keywords_of_an_enum_are_told_to_nobody():
    assert not list(other_keywords(shape_of({"enum": ["x"], "minLength": 1, "not": {}}).child("a"), frozenset()))


def test_arguments_without_a_schema_have_no_problems():
    assert read_arguments([], None) == read_object({}, None, 0)
    assert read_arguments([], None).problems == [] and not read_object({}, None, 0).duplicates


def test_the_elements_of_a_list_among_alternatives_are_told_by_their_tag():
    item = {"type": "object", "properties": {"path": {"type": "string"}}}
    files = compile_schema({"properties": {"files": {"anyOf": [{"type": "array", "items": item}, {"type": "null"}]}}})
    shape = files.child("files")
    for tag in ("file", "item"):
        assert shape.opens(tag, "files").is_list
    opened = shape.opens("path", "files")
    assert not opened.is_list and opened.has_property("path")


@pytest.mark.parametrize(("text", "fine"), [("x", False), ("null", True), ("[1]", True), ("[2]", False), ("", True)])
def test_an_enum_may_have_lists_among_its_values(text, fine):
    tool = xt.Tool(name="f", parameters={"type": "object", "properties": {"a": {"enum": [None, [1]]}}})
    reply = xt.parse(f"<tool><tool_name>f</tool_name><arguments><a>{text}</a></arguments></tool>", tools=[tool])
    assert [bool(reply.calls), bool(reply.errors)] == [fine, not fine]


@pytest.mark.parametrize(
    "schema", [{"description": "d"}, {"default": 1}, {"title": "t"}, {"allOf": []}, {"$ref": "#/$defs/any"}]
)
@pytest.mark.parametrize(
    "body",
    [
        "<a>1</a><a>2</a>",
        "<a><b>1</b> text </a>",
        "<a><b>1</b><b>2</b></a>",
        "<a><files><file>1</file></files></a><a>x</a>",
        "<a> [1, 2] </a>",
        "<a><![CDATA[x]]></a>",
        "<a/>",
        '<a nil="true"/>',
    ],
)
def test_words_that_allow_every_value_leave_it_open(schema, body):
    text = f"<tool><tool_name>f</tool_name><arguments>{body}</arguments></tool>"
    described, open_ = (
        xt.Tool(name="f", parameters={"properties": {"a": each}, "$defs": {"any": {}}}) for each in (schema, {})
    )
    assert xt.parse(text, [described], new_id=str) == xt.parse(text, [open_], new_id=str)
