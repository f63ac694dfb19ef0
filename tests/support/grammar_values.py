"""Tools whose schemas grammars can express, and arguments that fit them, made together from a `random.Random`."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from random import Random
from typing import Any

from support import calls

from xmltools.render.writable import is_sayable
from xmltools.tools import Tool

Make = Callable[[Random], Any]
Made = tuple[dict[str, Any], Make]

NAMES = (
    "path",
    "diff",
    "files",
    "entries",
    "item",
    "boxes",
    "text",
    "count",
    "a-b.c",
    "_x",
    "größe",
    "n1",
    "arguments",
)
ODD = ("9lives", "a b", "x:y", 'q"q', "a&b", "tool", "argument", "tool_name", "server_name", "表", "a/b")
WORDS = ("x", "word", " ", "\n", "\t", "<", ">", "&", "'", '"', "]", "]]", "]]>", "<![CDATA[", "&lt;", "&amp;", "&#10;")
WORDS += (
    "</path>",
    "</arguments>",
    "</tool>",
    "<tool>",
    "<p>hi</p>",
    "<!-- c -->",
    "```\n",
    "`",
    "<think>",
    '{"a": 1}',
)
WORDS += (
    "[1, 2]",
    "5",
    "true",
    "null",
    "\r",
    "\r\n",
    "\x7f",
    "\x85",
    "\u2028",
    "é",
    "表",
    "😀",
    "\U0010ffff",
    "\ufffd",
)
PATTERNS: tuple[tuple[str, Make], ...] = (
    (r"^[a-z]+$", lambda r: "".join(r.choices("abcz", k=r.randint(1, 8)))),
    (r"^[A-Z]{2,4}-[0-9]+$", lambda r: "".join(r.choices("ABZ", k=r.randint(2, 4))) + f"-{r.randint(0, 999)}"),
    (r"^[^@ ]+@[^@ ]+$", lambda r: f"{r.choice(['a', 'a<b', 'x&y', 'é'])}@{r.choice(['b.org', 'b>c', ']]'])}"),
    (r"a.c", lambda r: r.choice(["abc", "xx a<c yy", "a&c", "a]c>"])),
    (r"^(red|green|<blue>)$", lambda r: r.choice(["red", "green", "<blue>"])),
    (r"^v?\d+(\.\d+){0,2}$", lambda r: r.choice(["v1", "1.2", "v10.20.30"])),
    (r"^\s*x", lambda r: r.choice(["x", "  x", "x y"])),
    (r"^(?!-)[a-z-]+$", lambda r: r.choice(["a", "a-b", "b-"])),
)
FORMATS: tuple[tuple[str, Make], ...] = (
    ("date", lambda r: f"{r.randint(1, 9999):04}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"),
    ("time", lambda r: f"{r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}Z"),
    ("date-time", lambda r: f"2026-0{r.randint(1, 9)}-1{r.randint(0, 9)}T{r.randint(0, 23):02}:00:00.5+01:00"),
    ("uuid", lambda r: "-".join(f"{r.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12))),
    ("ipv4", lambda r: ".".join(str(r.choice([0, 9, 10, 99, 100, 199, 200, 255])) for _ in range(4))),
)


def text(rng: Random) -> str:
    """A string of characters that XML has."""
    return "".join(rng.choices(WORDS, k=rng.choice([0, 1, 1, 2, 3, 6])))


def tools(rng: Random) -> tuple[list[Tool], Callable[[Random, Tool], dict[str, Any]]]:
    """One to three tools, and how to make arguments for them."""
    made = [rng.choice([record, record, forms])(rng, 0) for _ in range(rng.randint(1, 3))]
    servers = [rng.choice(["local", "local", "github"]) for _ in made]
    listed = [
        Tool(name=f"tool_{number}", parameters=with_definitions(schema), server=server)
        for number, ((schema, _), server) in enumerate(zip(made, servers, strict=True))
    ]
    makers = {tool.name: make for tool, (_, make) in zip(listed, made, strict=True)}
    return listed, lambda r, tool: makers[tool.name](r)


def schema(rng: Random, depth: int) -> Made:
    """A schema, and a function that makes values for it."""
    makers = [string, string, bounded, patterned, formatted, integer, number, boolean, enum, nullable]
    if depth < 3:
        makers += [array, array, record, union, tree, forms]
    return rng.choice(makers)(rng, depth)


def string(rng: Random, depth: int) -> Made:
    return {"type": "string"}, text


def bounded(rng: Random, depth: int) -> Made:
    low = rng.choice([0, 1, 1, 2, 5])
    high = rng.choice([None, low, low + 1, low + 30, low + 200])
    made: dict[str, Any] = {"type": "string", "minLength": low}
    if high is not None:
        made["maxLength"] = high

    def make(r: Random) -> str:
        # Where lengths are counted, what needs both ] and > raw is written as our renderer does not.
        spared = r.choice("]>")
        value = text(r).replace(spared, "").replace("\r", "").lstrip(" \t") + r.choice(["a", "&", "<", "é"]) * (low + 1)
        size = r.randint(low, high if high is not None else max(low, len(value)))
        return value[: max(size, low)] if low or size else ""

    return made, make


def patterned(rng: Random, depth: int) -> Made:
    pattern, make = rng.choice(PATTERNS)
    made: dict[str, Any] = {"type": "string", "pattern": pattern}
    if rng.random() < 0.2:
        made["maxLength"] = 20
    return made, make


def formatted(rng: Random, depth: int) -> Made:
    name, make = rng.choice(FORMATS)
    return {"type": "string", "format": name}, make


def integer(rng: Random, depth: int) -> Made:
    made: dict[str, Any] = {"type": "integer"}
    low, high = -(10**30), 10**30
    if rng.random() < 0.5:
        low = rng.choice([-1000, -7, 0, 1, 95])
        made["minimum"] = low
    if rng.random() < 0.5:
        high = max(low, 0) + rng.choice([0, 1, 9, 10, 999, 10**9])
        made["maximum"] = high
    return made, lambda r: r.choice([low, high, r.randint(low, high)])


def number(rng: Random, depth: int) -> Made:
    if rng.random() < 0.5:
        low = rng.choice([-10.5, 0, 0.25, 1])
        high = low + rng.choice([0.75, 1, 100])
        return {"type": "number", "minimum": low, "maximum": high}, lambda r: r.choice(
            [low, high, round(r.uniform(low, high), 6), r.uniform(low, high)]
        )
    return {"type": "number"}, lambda r: r.choice(
        [0, -1, 1.5, -0.25, 1e16, 1e-7, 1e300, 5e-324, 1.7976931348623157e308, r.random(), r.getrandbits(100)]
    )


def boolean(rng: Random, depth: int) -> Made:
    return {"type": "boolean"}, lambda r: r.random() < 0.5


def enum(rng: Random, depth: int) -> Made:
    values = [rng.choice(["read", "write", "a b", "x<y", "&", "R&D", " lead", "\nline", "", "]]>", 5, 1.5, True, None])]
    values += rng.sample(["one", "two", "three", "vier", "v&", "<5>"], 2)
    return {"enum": values}, lambda r: r.choice(values)


def nullable(rng: Random, depth: int) -> Made:
    if rng.random() < 0.3:
        return {"type": "null"}, lambda r: None
    inner, make = schema(rng, 3)
    return {"anyOf": [inner, {"type": "null"}]}, lambda r: make(r) if r.random() < 0.7 else None


def array(rng: Random, depth: int) -> Made:
    inner, make = schema(rng, depth + 1)
    low = rng.choice([0, 0, 1, 2])
    high = low + rng.choice([1, 3])
    made: dict[str, Any] = {"type": "array", "items": inner, "minItems": low, "maxItems": high}
    if rng.random() < 0.3:
        first, make_first = schema(rng, depth + 1)
        made["prefixItems"] = [first]
        makers = [make_first, *[make] * (high - 1)]
    else:
        makers = [make] * high
    return made, lambda r: [each(r) for each in makers[: r.randint(low, high)]]


def record(rng: Random, depth: int) -> Made:
    names = rng.sample(NAMES, rng.randint(0, 4)) + rng.sample(ODD, int(rng.random() < 0.2))
    if depth == 0 and rng.random() < 0.05:
        names += [f"p{number}" for number in range(4)]
    fields = {name: schema(rng, depth + 1) for name in names}
    required = [name for name in fields if rng.random() < 0.5]
    made: dict[str, Any] = {"type": "object", "properties": {name: fields[name][0] for name in fields}}
    if required:
        made["required"] = required
    if rng.random() < 0.5:
        made["additionalProperties"] = False
    optional = [name for name in fields if name not in required]

    def make(r: Random) -> dict[str, Any]:
        chosen = set(required) | {name for name in optional if r.random() < 0.6}
        return {name: fields[name][1](r) for name in fields if name in chosen}

    return made, make


def union(rng: Random, depth: int) -> Made:
    form = rng.randrange(3)
    if form == 0:
        return {"type": ["integer", "string"]}, lambda r: r.choice([r.randint(-9, 9), "word", "a<b"])
    if form == 1:
        circle = {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}}
        square = {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "integer"}}}
        for each in (circle, square):
            each["required"] = list(each["properties"])  # type: ignore[call-overload]
        return {"oneOf": [circle, square]}, lambda r: r.choice(
            [{"kind": "circle", "radius": r.random()}, {"kind": "square", "side": r.randint(0, 9)}]
        )
    items = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
    return {"anyOf": [items, {"type": "boolean"}]}, lambda r: r.choice([[1, 2], True])


def forms(rng: Random, depth: int) -> Made:
    """An object with alternatives: each has properties of its own, beside those that all have, or asks for some.

    What tells alternatives apart is a constant. Other names may be in several of them, and mean another type in each.
    """
    base, make_base = record(rng, depth)
    base.pop("additionalProperties", None)  # it would forbid what only alternatives declare
    names = list(base["properties"])
    if names and rng.random() < 0.3:
        asked = [rng.sample(names, rng.randint(0, len(names))) for _ in range(rng.randint(1, 3))]
        return _of_required(base, make_base, asked)
    kinds = [{"const": f"form {number}"} for number in range(rng.randint(1, 3))]
    others = [(kind, *record(rng, depth + 1)) for kind in kinds]
    ways = [_form(kind, made, set(names)) for kind, made, _ in others]
    makers = [
        lambda r, kind=kind, make=make: {
            "kind": kind["const"],
            **{name: value for name, value in make(r).items() if name not in names},
        }
        for kind, _, make in others
    ]
    if rng.random() < 0.3:  # nothing stands beside the alternatives
        base, make_base = {}, lambda r: {}
        ways = [_form(kind, made, set()) for kind, made, _ in others]
        makers = [lambda r, kind=kind, make=make: {"kind": kind["const"], **make(r)} for kind, _, make in others]
    made = {**base, rng.choice(["oneOf", "anyOf"]): ways}
    return made, lambda r: {**make_base(r), **r.choice(makers)(r)}


def _form(kind: dict[str, Any], made: dict[str, Any], taken: set[str]) -> dict[str, Any]:
    properties = {name: each for name, each in made["properties"].items() if name not in taken}
    required = [name for name in made.get("required", ()) if name in properties]
    return {"type": "object", "properties": {"kind": kind, **properties}, "required": ["kind", *required]}


def _of_required(base: dict[str, Any], make_base: Make, asked: list[list[str]]) -> Made:
    def make(r: Random) -> dict[str, Any]:
        wanted = r.choice(asked)
        for _ in range(1_000):
            value: dict[str, Any] = make_base(r)
            if all(name in value for name in wanted):
                return value
        raise AssertionError("a property that is optional never comes")

    return {**base, "anyOf": [{"required": each} for each in asked]}, make


def tree(rng: Random, depth: int) -> Made:
    """A recursive schema: it is inlined as far as a value goes, and refers to itself by `allOf` as well."""
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
        "required": ["name"],
    }

    def make(r: Random, level: int = 0) -> dict[str, Any]:
        value: dict[str, Any] = {"name": text(r)}
        if level < 3 and r.random() < 0.5:
            value["children"] = [make(r, level + 1) for _ in range(r.randint(0, 2))]
        return value

    return {"$ref": "#/$defs/node", "x-defs": node}, make


def with_definitions(parameters: dict[str, Any]) -> dict[str, Any]:
    """Put what `tree` refers to where references look for it."""
    found: list[dict[str, Any]] = []

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            if "x-defs" in value:
                found.append(value["x-defs"])
            return {key: strip(each) for key, each in value.items() if key != "x-defs"}
        return [strip(each) for each in value] if isinstance(value, list) else value

    stripped: dict[str, Any] = strip(parameters)
    return {**stripped, "$defs": {**stripped.get("$defs", {}), "node": found[0]}} if found else stripped


# Schemas of any kind, for which grammars may say that they don't express them.

WILD_PATTERNS = (
    "^a",
    "b$",
    "^[a-z]*$",
    r"^\S+$",
    r"\d{2}",
    "",
    "^$",
    ".",
    r"^(a|b)*$",
    r"\bx",
    r"(a)\1",
    "[^<&]",
    "^.{3,5}$",
)
LEAVES: tuple[dict[str, Any] | bool, ...] = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "null"},
    {},
    True,
    False,
    {"description": "x"},
)


def wild(rng: Random) -> list[Tool]:
    """One or two tools with schemas of any keywords, well-formed, but perhaps without any valid value."""
    return [_wild_tool(rng, number) for number in range(rng.choice([1, 1, 2]))]


def _wild_tool(rng: Random, number: int) -> Tool:
    if rng.random() < 0.3:
        parameters: dict[str, Any] = _sayable(calls.record(rng, 0)[0])
    else:
        parameters = {"type": "object", "properties": {name: odd(rng, 1) for name in _names(rng)}}
        if rng.random() < 0.3:
            parameters |= _mixed(rng, 1)
            parameters["type"] = "object"
    parameters["$defs"] = {name: odd(rng, 1, named=True) for name in "abc"}
    server = rng.choice(["local", "github", "a&b"])
    name = rng.choice(["f", "a&b", "größe 表"]) + str(number)
    return Tool(name=name, parameters=with_definitions(parameters), server=server)


def _names(rng: Random) -> list[str]:
    return rng.sample(NAMES, rng.randint(0, 3)) + rng.sample(ODD, int(rng.random() < 0.2))


def _sayable(schema: Any) -> Any:
    """Leave out properties whose names no call can say."""
    if isinstance(schema, list):
        return [_sayable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {word: each if word in ("enum", "const") else _sayable(each) for word, each in schema.items()}
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: each for name, each in made["properties"].items() if is_sayable(name)}
        made["required"] = [name for name in made.get("required", ()) if is_sayable(name)]
    return made


def odd(rng: Random, depth: int, *, named: bool = False) -> Any:
    """A schema of any keywords. `named`: it may be referred to, and refers to others only by way of a property."""
    if depth > 3 or rng.random() < 0.25:
        return deepcopy(rng.choice(LEAVES))
    form = rng.random()
    if form < 0.25:
        return schema(rng, 2)[0] if rng.random() < 0.5 else bounded(rng, 0)[0]
    if form < 0.4 and not named:
        return {"$ref": f"#/$defs/{rng.choice('abc')}"}
    if form < 0.5:
        return calls.enum(rng, depth)[0]
    if form < 0.8:
        return _mixed(rng, depth, named)
    return _container(rng, depth)


def _container(rng: Random, depth: int) -> dict[str, Any]:
    """An object, list or map whose parts are wild."""
    form = rng.randrange(4)
    if form == 0:
        return {"type": "array", "items": odd(rng, depth + 1)}
    if form == 1:
        each = odd(rng, depth + 1)
        return {"type": "object", "additionalProperties": each}
    names = _names(rng)
    made: dict[str, Any] = {"type": "object", "properties": {name: odd(rng, depth + 1) for name in names}}
    made["required"] = [name for name in names if rng.random() < 0.4]
    return made


def _mixed(rng: Random, depth: int, named: bool = False) -> dict[str, Any]:
    """Several keywords at once, that need not go together."""
    made: dict[str, Any] = {}
    for word in rng.sample(list(_KEYWORDS), rng.choice([1, 2, 2, 3, 4])):
        made[word] = _KEYWORDS[word](rng, depth, named)
    if rng.random() < 0.4:
        kinds = ["string", "integer", "number", "boolean", "null", "array", "object"]
        made["type"] = rng.choice(kinds) if rng.random() < 0.6 else rng.sample(kinds, rng.randint(1, 3))
    return made


def _schemas(low: int, high: int) -> Callable[[Random, int, bool], Any]:
    return lambda rng, depth, named: [odd(rng, depth + 1, named=named) for _ in range(rng.randint(low, high))]


def _one_schema(rng: Random, depth: int, named: bool) -> Any:
    return odd(rng, depth + 1, named=named)


def _inner_schema(rng: Random, depth: int, named: bool) -> Any:
    return odd(rng, depth + 1)


def _count(rng: Random, depth: int, named: bool) -> int:
    return rng.choice([0, 1, 1, 2, 3, 7])


def _limit(rng: Random, depth: int, named: bool) -> float:
    return rng.choice([-10, -1, 0, 1, 0.5, 2.5, 7, 1e3, 10**20])


_KEYWORDS: dict[str, Callable[[Random, int, bool], Any]] = {
    "allOf": _schemas(1, 3),
    "anyOf": _schemas(1, 3),
    "oneOf": _schemas(1, 3),
    "not": _one_schema,
    "if": _one_schema,
    "then": _one_schema,
    "else": _one_schema,
    "properties": lambda rng, depth, named: {name: odd(rng, depth + 1) for name in _names(rng)},
    "patternProperties": lambda rng, depth, named: {rng.choice(WILD_PATTERNS): odd(rng, depth + 1)},
    "additionalProperties": _inner_schema,
    "propertyNames": lambda rng, depth, named: patterned(rng, 0)[0],
    "required": lambda rng, depth, named: _names(rng)[:2],
    "minProperties": _count,
    "maxProperties": _count,
    "dependentRequired": lambda rng, depth, named: {"path": _names(rng)[:1]},
    "dependentSchemas": lambda rng, depth, named: {"path": odd(rng, depth + 1, named=named)},
    "unevaluatedProperties": _inner_schema,
    "items": _inner_schema,
    "prefixItems": lambda rng, depth, named: [odd(rng, depth + 1) for _ in range(rng.randint(1, 3))],
    "contains": _inner_schema,
    "minItems": _count,
    "maxItems": _count,
    "uniqueItems": lambda rng, depth, named: rng.random() < 0.7,
    "minLength": _count,
    "maxLength": _count,
    "pattern": lambda rng, depth, named: rng.choice((*WILD_PATTERNS, *(each for each, _ in PATTERNS))),
    "format": lambda rng, depth, named: rng.choice(
        ["date", "time", "uuid", "ipv4", "ipv6", "email", "uri", "hostname"]
    ),
    "minimum": _limit,
    "maximum": _limit,
    "exclusiveMinimum": _limit,
    "exclusiveMaximum": _limit,
    "multipleOf": lambda rng, depth, named: rng.choice([1, 2, 0.5, 0.1, 7]),
    "enum": lambda rng, depth, named: calls.enum(rng, depth)[0].get("enum", ["x", 1]),
    "const": lambda rng, depth, named: calls.anything(rng, 2),
}
