"""Random schemas for the arguments of a tool, whose definitions refer to each other in circles, and values for them.

The arguments of some are a union of objects. There are three kinds. *Plain* ones are what people write for trees, lists
and JSON itself: types, properties, items and unions of kinds that can be told apart. *Wild* ones have all keywords in
any order, and patterns that take exponential time if they are tried way by way. *Doubling* ones have many steps, each
of which leads twice to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from support.random_patterns import hostile_pattern, hostile_text

__all__ = ["doubling_schema", "plain_schema", "value_for", "wild_schema", "with_forms"]

Schema = Any
NAMES = ("a", "b", "name", "item", "items", "value", "entries", "x1", "x 2")
TEXTS = (
    "", "a", "aa!", "5", "1.5", "true", "null", "none", "<b>x</b>", "<b>x</b> y", "a & b", "[1]", '{"a": 1}', "[",
    "\n x", "]]>", "x" * 40, "</a>", "ab1", "<item>", "a\u0301", " ",
)  # fmt: skip
NUMBERS = (0, 1, -1, 5, 2.0, 2.5, 10**20, 1e300, -0.5, 3)
SCALARS = ("string", "integer", "number", "boolean", "null")


def _reference(rng: Random, names: list[str]) -> Schema:
    return {"$ref": f"#/$defs/{rng.choice(names)}"}


def _definitions(rng: Random, make: Callable[[Random, list[str], int], Schema]) -> Schema:
    names = [f"d{number}" for number in range(rng.choice([1, 1, 2, 3, 4]))]
    root = make(rng, names, 2) if rng.random() < 0.3 else _reference(rng, names)
    definitions = {name: make(rng, names, 2) for name in names}
    return {"type": "object", "properties": {"x": root}, "required": ["x"], "$defs": definitions}


def with_forms(rng: Random, schema: Schema) -> Schema:
    """The same schema as a union of objects: one for each alternative of `x`, or with one that asks for nothing."""
    inner = schema["properties"]["x"]
    for word in ("anyOf", "oneOf"):
        if isinstance(inner, dict) and inner.keys() == {word}:
            ways = [{"type": "object", "properties": {"x": each}, "required": ["x"]} for each in inner[word]]
            return {word: ways, "$defs": schema["$defs"]}
    if rng.random() < 0.5:
        return {**schema, "anyOf": [{"properties": {"y": {"type": "string"}}}, {"required": ["x"]}]}
    return {"anyOf": [{key: each for key, each in schema.items() if key != "$defs"}], "$defs": schema["$defs"]}


# Plain ones


def plain_schema(rng: Random) -> Schema:
    """A schema of types, properties, items and unions, in which each kind of value has one alternative."""
    return _definitions(rng, _plain)


def _plain(rng: Random, names: list[str], depth: int) -> Schema:
    if not depth or (depth == 1 and rng.random() < 0.4):
        return _reference(rng, names) if rng.random() < 0.7 else _plain_kind(rng, rng.choice(SCALARS), names, 0)
    kinds = rng.sample(("array", "object", "string", "number", "boolean", "null"), rng.choice([1, 2, 3, 4, 6]))
    if len(kinds) > 1 and rng.random() < 0.2:
        both = {"items": _plain(rng, names, depth - 1), "additionalProperties": _plain(rng, names, depth - 1)}
        return {"type": kinds, **both}
    ways = [_plain_kind(rng, kind, names, depth - 1) for kind in kinds]
    return ways[0] if len(ways) == 1 else {rng.choice(["anyOf", "oneOf"]): ways}


def _plain_kind(rng: Random, kind: str, names: list[str], depth: int) -> Schema:
    schema: dict[str, Any] = {"type": kind}
    if kind == "array":
        if rng.random() < 0.2:
            schema["prefixItems"] = [_plain(rng, names, depth) for _ in range(rng.randint(1, 2))]
        schema["items"] = _plain(rng, names, depth)
    if kind == "object" and depth and rng.random() < 0.2:
        return _plain_forms(rng, names, depth)
    if kind == "object":
        properties = rng.sample(NAMES, rng.choice([0, 0, 1, 2, 3]))
        if properties:
            schema["properties"] = {name: _plain(rng, names, depth) for name in properties}
            schema["required"] = properties[: rng.randint(0, 1)]
        if not properties or rng.random() < 0.3:
            schema[rng.choice(["additionalProperties", "additionalProperties", "patternProperties"])] = {}
            inner = _plain(rng, names, depth)
            if "patternProperties" in schema:
                schema["patternProperties"] = {rng.choice(["^x", "."]): inner}  # the second one fits declared names too
            else:
                schema["additionalProperties"] = inner
    return schema


def _plain_forms(rng: Random, names: list[str], depth: int) -> Schema:
    """An object with alternatives, which a label tells apart; a name in several of them has another type in each."""
    properties = {name: _plain(rng, names, depth) for name in rng.sample(NAMES[:4], rng.randint(0, 2))}
    ways = []
    for number in range(rng.randint(1, 3)):
        own = {name: _plain(rng, names, depth) for name in rng.sample(NAMES[4:], rng.randint(0, 2))}
        ways.append({"properties": {"label": {"const": f"way {number}"}, **own}, "required": ["label", *list(own)[:1]]})
    return {"type": "object", "properties": properties, rng.choice(["anyOf", "oneOf"]): ways}


# Wild ones


def wild_schema(rng: Random, hostile: bool) -> Schema:
    """A schema of any keywords. `hostile`: its patterns may be such as `re` does not come to an end with."""
    return _definitions(rng, lambda rng, names, depth: _wild(rng, names, depth, hostile))


def _wild(rng: Random, names: list[str], depth: int, hostile: bool) -> Schema:
    if rng.random() < 0.06:
        return rng.choice([True, False, {}])
    if not depth or (depth == 1 and rng.random() < 0.35):
        return _reference(rng, names) if rng.random() < 0.6 else {"type": rng.choice(SCALARS)}
    schema: dict[str, Any] = {}
    for word in rng.sample(sorted(_WORDS), rng.choice([1, 1, 2, 2, 3, 4])):
        schema |= _WORDS[word](rng, lambda: _wild(rng, names, depth - 1, hostile), hostile)
    if rng.random() < 0.4:
        kinds = rng.sample((*SCALARS, "array", "object"), rng.choice([1, 1, 1, 2, 3]))
        schema["type"] = kinds if len(kinds) > 1 else kinds[0]
    return schema


Make = Callable[[], Schema]


def _some(rng: Random, make: Make, low: int = 1) -> list[Schema]:
    return [make() for _ in range(rng.randint(low, 3))]


def _written(rng: Random, hostile: bool) -> str:
    if hostile:
        return hostile_pattern(rng)
    return rng.choice(["^a", "b$", "^[a-z]+$", "x", "^.{2,5}$", r"\d", "^(a|b)*$", "(?!a)"])


def _named(rng: Random, make: Make) -> dict[str, Schema]:
    return {name: make() for name in rng.sample(NAMES, rng.randint(1, 3))}


_WORDS: dict[str, Callable[[Random, Make, bool], dict[str, Any]]] = {
    "allOf": lambda rng, make, _: {"allOf": _some(rng, make)},
    "anyOf": lambda rng, make, _: {"anyOf": _some(rng, make)},
    "oneOf": lambda rng, make, _: {"oneOf": _some(rng, make)},
    "not": lambda rng, make, _: {"not": make()},
    "if": lambda rng, make, _: {"if": make(), "then": make(), "else": make()},
    "properties": lambda rng, make, _: {"properties": _named(rng, make)},
    "patternProperties": lambda rng, make, hostile: {"patternProperties": {_written(rng, hostile): make()}},
    "additionalProperties": lambda rng, make, _: {"additionalProperties": make()},
    "propertyNames": lambda rng, make, hostile: {"propertyNames": {"pattern": _written(rng, hostile)}},
    "required": lambda rng, make, _: {"required": rng.sample(NAMES, rng.randint(1, 2))},
    "dependentSchemas": lambda rng, make, _: {"dependentSchemas": _named(rng, make)},
    "dependentRequired": lambda rng, make, _: {"dependentRequired": {rng.choice(NAMES): [rng.choice(NAMES)]}},
    "minProperties": lambda rng, make, _: {"minProperties": rng.randint(0, 2), "maxProperties": rng.randint(1, 4)},
    "items": lambda rng, make, _: {"items": make()},
    "prefixItems": lambda rng, make, _: {"prefixItems": _some(rng, make)},
    "contains": lambda rng, make, _: {"contains": make(), "maxContains": rng.randint(1, 3)},
    "minItems": lambda rng, make, _: {"minItems": rng.randint(0, 2), "maxItems": rng.randint(1, 4)},
    "uniqueItems": lambda rng, make, _: {"uniqueItems": True},
    "unevaluatedProperties": lambda rng, make, _: {"unevaluatedProperties": make()},
    "unevaluatedItems": lambda rng, make, _: {"unevaluatedItems": make()},
    "enum": lambda rng, make, _: {"enum": [rng.choice((*TEXTS, *NUMBERS, None, True, [], {"a": 1})) for _ in range(3)]},
    "const": lambda rng, make, _: {"const": rng.choice((*TEXTS, *NUMBERS, None, False, ["a"]))},
    "pattern": lambda rng, make, hostile: {"pattern": _written(rng, hostile)},
    "minLength": lambda rng, make, _: {"minLength": rng.randint(0, 3), "maxLength": rng.randint(1, 50)},
    "minimum": lambda rng, make, _: {"minimum": rng.choice(NUMBERS), "exclusiveMaximum": rng.choice(NUMBERS)},
    "multipleOf": lambda rng, make, _: {"multipleOf": rng.choice([1, 2, 5])},
    "description": lambda rng, make, _: {"description": "words", "default": rng.choice(["a", 5, None, []])},
}


# Doubling ones


def doubling_schema(rng: Random) -> Schema:
    """A schema of up to 24 steps, each of which leads twice to the next: by alternatives, properties, or items."""
    steps = rng.randint(2, 24)
    forms = rng.choices(("in place", "property", "item", "other name"), [3, 3, 1, 1], k=rng.randint(1, 3))
    words = rng.choices(("allOf", "anyOf", "oneOf"), [3, 3, 1], k=rng.randint(1, 2))
    definitions: dict[str, Schema] = {f"d{steps}": rng.choice([{"type": "integer"}, {"type": "string"}, {}])}
    for number in range(steps):
        next_one = {"$ref": f"#/$defs/d{number + 1}"}
        form = forms[number % len(forms)]
        one: dict[str, Any] = {
            "in place": next_one,
            "property": {"type": "object", "properties": {"a": next_one}},
            "item": {"type": "array", "items": next_one},
            "other name": {"type": "object", "additionalProperties": next_one},
        }[form]
        other = one | rng.choice(
            [{}, {}, {"minProperties": number % 2}, {"description": "w"}, {"maxItems": number + 1}]
        )
        definitions[f"d{number}"] = {words[number % len(words)]: [one, other]}
    inner = {"$ref": "#/$defs/d0"}
    return {"type": "object", "properties": {"x": inner}, "required": ["x"], "$defs": definitions}


# Values


def value_for(rng: Random, schema: Schema, root: Schema, depth: int = 6) -> Any:
    """A value that may well fit the schema, a part of `root`; now and then any other."""
    if rng.random() < 0.04 or not isinstance(schema, dict):
        return _any_value(rng, 2)
    for _ in range(20):
        if "$ref" not in schema:
            break
        found = root["$defs"][schema["$ref"].rpartition("/")[2]]
        schema = found if isinstance(found, dict) else {}
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else rng.choice(schema["enum"])
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema and "type" not in schema:
            ways = schema[word]
            if depth <= 0:  # the way that comes to an end soonest
                ways = [each for each in ways if isinstance(each, dict) and each.get("type") in SCALARS] or ways
            return value_for(rng, rng.choice(ways), root, depth - 1) if depth > -20 else None
    value = _value_of(rng, schema, root, depth)
    ways = schema.get("anyOf", schema.get("oneOf"))
    if ways and isinstance(value, dict):
        way = rng.choice(ways)
        more = _value_of(rng, {"type": "object", **way}, root, depth) if isinstance(way, dict) else None
        return {**value, **more} if isinstance(more, dict) else value
    return value


def _value_of(rng: Random, schema: dict[str, Any], root: Schema, depth: int) -> Any:
    kinds = schema.get("type", _kind_of(schema))
    kind = kinds if isinstance(kinds, str) else rng.choice(kinds)
    if kind == "object":
        chosen = {}
        for name, each in schema.get("properties", {}).items():
            if depth > -20 and (name in schema.get("required", ()) or (depth > 0 and rng.random() < 0.6)):
                chosen[name] = value_for(rng, each, root, depth - 1)
        for word in ("additionalProperties", "patternProperties"):
            inner = schema.get(word)
            for number in range(rng.randint(0, 2) if depth > 0 and inner is not None else 0):
                each = next(iter(inner.values())) if word == "patternProperties" and inner else inner
                chosen[f"x{number}" if word == "patternProperties" else rng.choice(NAMES)] = value_for(
                    rng, each, root, depth - 1
                )
        return chosen
    if kind == "array":
        first = schema.get("prefixItems", [])[: 3 if depth > 0 else 0]
        items = [value_for(rng, each, root, depth - 1) for each in first]
        rest = schema.get("items", True)
        more = rng.randint(0, 2) if depth > 0 and rest is not False else 0
        return items + [value_for(rng, rest, root, depth - 1) for _ in range(more)]
    return _scalar(rng, kind)


def _kind_of(schema: dict[str, Any]) -> list[str]:
    words = schema.keys()
    if words & {"properties", "additionalProperties", "patternProperties", "required", "propertyNames"}:
        return ["object"]
    if words & {"items", "prefixItems", "contains", "uniqueItems", "minItems"}:
        return ["array"]
    if words & {"pattern", "minLength"}:
        return ["string"]
    return ["number"] if words & {"minimum", "multipleOf"} else [*SCALARS, "object", "array"]


def _scalar(rng: Random, kind: str) -> Any:
    if kind == "string":
        return hostile_text(rng) if rng.random() < 0.2 else rng.choice(TEXTS)
    if kind == "integer":
        return rng.choice([each for each in NUMBERS if isinstance(each, int)])
    return {"number": rng.choice(NUMBERS), "boolean": rng.random() < 0.5}.get(kind)


def _any_value(rng: Random, depth: int) -> Any:
    kind = rng.choice([*SCALARS, "array", "object"] if depth else SCALARS)
    if kind == "array":
        return [_any_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    if kind == "object":
        return {rng.choice(NAMES): _any_value(rng, depth - 1) for _ in range(rng.randint(0, 3))}
    return _scalar(rng, kind)
