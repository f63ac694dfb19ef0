"""Calls to write and read back: a schema, and a value that fits it, made together from a `random.Random`.

`strategies` makes texts, this makes meanings. Values are as nasty as JSON allows: every plane of Unicode, control
characters, line ends, markup, numbers at their limits, empty containers, names that are no XML names.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from hypothesis import strategies as st

from xmltools.errors import CallError, Code
from xmltools.models import ToolCall
from xmltools.parser import parse
from xmltools.render import render_call
from xmltools.render.writable import same
from xmltools.syntax.markup import find_forbidden
from xmltools.tools import Tool

NAMES = ("path", "diff", "files", "entries", "item", "boxes", "text", "count", "a-b.c", "_x", "größe", "n1")
ODD = ("9lives", "a b", "x:y", 'q"q', "a&b", "it's", "tool", "arguments", "argument", "tool_name", "server_name")
ODD += (
    "think",
    "nil",
    "name",
    "表",
    "-",
    ".",
    "xml",
    "a=b",
    "/",
    "a/b",
    "arguments ",
    " lead",
    "",
    "<",
    "a\nb",
    "x" * 300,
)

FRAGMENTS = (
    "x", "word", " ", "  ", "\n", "\r", "\r\n", "\t", "<", ">", "&", "'", '"', "]", "]]", "]]>", "<![CDATA[",
    "<![cdata[",
    "&lt;", "&amp;", "&#10;", "&#0;", "&nbsp;", "</path>", "</arguments>", "</tool>", "</arguments></tool>", "<tool>",
    "</arguments>\n</tool>", "<p>hi</p>", "<item>", "</item>", "<!-- c -->", "<!--", "-->", "<?pi?>", "<!DOCTYPE x>",
    "```\n", "`", "<think>", "</think>", '{"a": 1}', "[1, 2]", "{", "5", "-1", "1.5", "true", "null", "none", "Yes",
    "\0", "\x1b[31m", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "\uffff", "é", "e\u0301", "表", "😀", "\U0010ffff",
)  # fmt: skip


@dataclass(frozen=True)
class Meant:
    """A call, and the tool that it fits (or none)."""

    call: ToolCall
    tool: Tool | None


def text(rng: Random) -> str:
    """A string of up to six fragments, or of random characters of all planes."""
    form = rng.randrange(8)
    if form == 0:
        return ""
    if form == 1:
        return "".join(map(character, [rng] * rng.randint(1, 6)))
    return "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 6)))


def character(rng: Random) -> str:
    """A character of any plane, but no surrogate."""
    code = rng.randrange(0x10F800) if rng.random() < 0.5 else rng.randrange(0x300)
    return chr(code if code < 0xD800 else code + 0x800)


def integer(rng: Random) -> int:
    """An integer: small, large, or very large."""
    return rng.choice([0, 1, -1, 5, 42, rng.getrandbits(53), -rng.getrandbits(64), rng.getrandbits(2000), 10**400])


def number(rng: Random) -> float | int:
    """A finite number: simple, or with 17 digits, or with any bits."""
    form = rng.randrange(4)
    if form == 0:
        return integer(rng)
    if form == 1:
        return rng.choice([0.0, -0.0, 5.0, 0.1, 1e16, 1e-7, 1e300, 5e-324, 1.7976931348623157e308, -2.5])
    value: float = struct.unpack("<d", rng.randbytes(8))[0]
    return value if value - value == 0 else rng.random()


def anything(rng: Random, depth: int = 0) -> Any:
    """Any JSON value."""
    form = rng.randrange(9 if depth < 3 else 6)
    if form < 3:
        return text(rng)
    if form < 6:
        return rng.choice([None, True, False, integer(rng), number(rng)])
    if form == 6:
        return [anything(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {name(rng): anything(rng, depth + 1) for _ in range(rng.randint(0, 3))}


def name(rng: Random) -> str:
    """The name of an argument or a property."""
    return rng.choice(NAMES) if rng.random() < 0.75 else rng.choice(ODD)


# Schemas. Each maker gives (schema, a function from Random to a value that fits it).


def schema(rng: Random, depth: int = 0) -> tuple[dict[str, Any], Any]:
    """A schema and how to make its values."""
    makers = [string, string, scalar, scalar, enum, whatever]
    if depth < 3:
        makers += [array, array, record, record, free_map, union, union, nullable]
    made: tuple[dict[str, Any], Any] = rng.choice(makers)(rng, depth)
    return made


def string(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    return {"type": "string"}, text


def scalar(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    kinds = {
        "integer": lambda r: r.choice([integer(r), 5.0, -3.0]),
        "number": number,
        "boolean": lambda r: r.random() < 0.5,
        "null": lambda r: None,
    }
    kind = rng.choice(list(kinds))
    return {"type": kind}, kinds[kind]


def enum(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    values = [anything(rng, 2 if rng.random() < 0.8 else 1) for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.5:
        values = [each for each in values if isinstance(each, str)] or ["read", "write"]
    if rng.random() < 0.2:
        return {"const": values[0]}, lambda r: values[0]
    return {"enum": values}, lambda r: r.choice(values)


def whatever(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    return rng.choice([{}, {"description": "x"}]), lambda r: anything(r, 1)


def array(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    if rng.random() < 0.15:
        return {"type": "array"}, lambda r: [anything(r, 2) for _ in range(r.randint(0, 3))]
    item, make = schema(rng, depth + 1)
    if rng.random() < 0.15:
        first, make_first = schema(rng, depth + 1)
        prefixed = {"type": "array", "prefixItems": [first], "items": item}
        return prefixed, lambda r: [make_first(r), *(make(r) for _ in range(r.randint(0, 2)))]
    return {"type": "array", "items": item}, lambda r: [make(r) for _ in range(r.choice([0, 1, 1, 2, 3]))]


def record(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    fields = {name(rng): schema(rng, depth + 1) for _ in range(rng.randint(0, 3))}
    required = [each for each in fields if rng.random() < 0.5]
    made: dict[str, Any] = {"type": "object", "properties": {each: fields[each][0] for each in fields}}
    if required:
        made["required"] = required
    closed = rng.random() < 0.3
    if closed:
        made["additionalProperties"] = False

    def make(r: Random) -> dict[str, Any]:
        value = {each: fields[each][1](r) for each in fields if each in required or r.random() < 0.6}
        if not closed and r.random() < 0.15:
            value.setdefault("extra", anything(r, 2))
        return value

    return made, make


def free_map(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    if rng.random() < 0.3:
        return {"type": "object"}, lambda r: {name(r): anything(r, 2) for _ in range(r.randint(0, 3))}
    each, make = schema(rng, depth + 1)
    made = {"type": "object", "additionalProperties": each}
    return made, lambda r: {name(r): make(r) for _ in range(r.randint(0, 3))}


def union(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    if rng.random() < 0.4:
        types = rng.sample(["string", "integer", "number", "boolean", "null"], rng.randint(2, 3))
        made = [{"string": text, "integer": integer, "number": number}.get(each) for each in types]
        rest = {"boolean": lambda r: True, "null": lambda r: None}
        makers = [maker or rest[each] for maker, each in zip(made, types, strict=True)]
        return {"type": types}, lambda r: r.choice(makers)(r)
    parts = [schema(rng, depth + 1) for _ in range(rng.randint(2, 3))]
    return {"anyOf": [part for part, _ in parts]}, lambda r: r.choice(parts)[1](r)


def nullable(rng: Random, depth: int) -> tuple[dict[str, Any], Any]:
    inner, make = schema(rng, depth + 1)
    return {"anyOf": [inner, {"type": "null"}]}, lambda r: None if r.random() < 0.3 else make(r)


TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
    "required": ["text"],
    "additionalProperties": False,
}


def tree(rng: Random, depth: int = 0) -> dict[str, Any]:
    """A value of the recursive schema TREE."""
    value: dict[str, Any] = {"text": text(rng)}
    if rng.random() < 0.6 and depth < 4:
        value["children"] = [tree(rng, depth + 1) for _ in range(rng.randint(0, 2))]
    return value


def meant(rng: Random) -> Meant:
    """A tool and a call that fits it."""
    parameters, make = record(rng, 0)
    recursive = rng.random() < 0.1
    if recursive:
        parameters["properties"]["tree"] = {"$ref": "#/$defs/tree"}
        parameters["$defs"] = {"tree": TREE}
    arguments = make(rng)
    if recursive:
        arguments["tree"] = tree(rng)
    title, server = rng.choice(["f", "apply_diff", "a&b", "größe 表", 'q"q']), rng.choice(["local", "disk", "a & b"])
    call = ToolCall(id="1", name=title, arguments=arguments, server=server)
    return Meant(call, Tool(name=title, description="", parameters=parameters, server=server))


def untyped(rng: Random) -> Meant:
    """A call of no known tool."""
    arguments = {name(rng): anything(rng) for _ in range(rng.randint(0, 3))}
    return Meant(ToolCall(id="1", name="f", arguments=arguments, server=rng.choice(["local", "disk"])), None)


meant_calls = st.randoms(use_true_random=False).map(meant)
untyped_calls = st.randoms(use_true_random=False).map(untyped)


# The law.


def law_call(meant: Meant) -> None:
    """7. A call that fits its tool reads back as the same call; clean, but for characters that XML forbids."""
    assert meant.tool is not None
    for legacy_json, server_names in product((False, True), (None, True, False)):
        text = render_call(meant.call, meant.tool, legacy_json=legacy_json, server_names=server_names)
        read = _only_call(text, [meant.tool])
        assert read == meant.call.model_copy(update={"id": read.id}), text
        assert same(read.arguments, meant.call.arguments), text
        assert {repair.code for repair in read.repairs} <= {Code.FORBIDDEN_CHARACTER}, (read.repairs, text)
        assert read.clean or find_forbidden(text, 0, len(text)) >= 0
    assert render_call(read, meant.tool, legacy_json=True) == render_call(meant.call, meant.tool, legacy_json=True)


def law_untyped(meant: Meant) -> None:
    """7, without a tool: numbers and booleans may come back as their text, all else as it was."""
    text = render_call(meant.call)
    read = _only_call(text, None)
    assert same(meant.call.arguments, read.arguments, loose=True), text
    assert {repair.code for repair in read.repairs} <= {Code.FORBIDDEN_CHARACTER}, (read.repairs, text)
    exact = _only_call(render_call(meant.call, legacy_json=True), None)
    assert same(meant.call.arguments, exact.arguments)


def _only_call(text: str, tools: list[Tool] | None) -> ToolCall:
    reply = parse(text, tools=tools)
    assert [part.type for part in reply.parts if not isinstance(part, CallError)] == ["call"], (reply.parts, text)
    assert not reply.errors
    return reply.calls[0]
