"""What a value must be, in a few words: types, bounds and choices of a compiled schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from xmltools.dialects import FORGE
from xmltools.render.prompt_sentences import neutral_line
from xmltools.render.writable import ORDINARY_NAME, escape_name, refuse_unsayable, scalar_text
from xmltools.syntax.markup import is_xml_name
from xmltools.tools.schema import (
    AnyShape,
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
    item_name,
    items_of,
)

Node = dict[str, Any]
ABSENT = object()
_encode = json.JSONEncoder(ensure_ascii=False).encode
_quote = json.encoder.encode_basestring
_PLURALS = {"boolean": "booleans", "integer": "integers", "number": "numbers", "object": "objects", "string": "strings"}


def fact(shape: Shape, word: str) -> Any:
    """Return what the first of the schemas that says anything says for the keyword, else ABSENT."""
    if len(shape.parts) == 1:
        return shape.parts[0].get(word, ABSENT)
    for node in shape.parts:
        if word in node:
            return node[word]
    return ABSENT


MAX_LISTS = 4
"""Lists inside each other of which is said what they hold."""
MAX_WORDS = 500
"""Characters that say what a list in a list holds."""


def type_words(shape: Shape) -> str:
    """Return the name of a type, such as `string`, `list of integers`, `"a" or "b"`, `object or null`."""
    if isinstance(shape, (TextShape, ScalarShape)):
        return shape.type
    return _words(shape, [], {})


def _words(shape: Shape, lists: list[ArrayShape], known: dict[tuple[int, int], str]) -> str:
    """Return the name of a type inside of `lists`. `known`: what was told of types, by their identity and depth."""
    if isinstance(shape, (TextShape, ScalarShape)):
        return shape.type
    if isinstance(shape, EnumShape):
        return " or ".join(map(json_text, shape.values)) or "nothing"
    if isinstance(shape, UnionShape):
        return " or ".join(dict.fromkeys(_words(each, lists, known) for each in shape.alternatives))
    if isinstance(shape, ArrayShape):
        key = id(shape), len(lists)
        if key not in known:
            known[key] = _list_words(shape, lists, known)
        return known[key]
    return "any" if isinstance(shape, AnyShape) else "object"


def _list_words(shape: ArrayShape, lists: list[ArrayShape], known: dict[tuple[int, int], str]) -> str:
    if shape in lists or len(lists) >= MAX_LISTS:
        return "list"
    items = items_of(shape)
    if not items.first and shape in shape.items.alternatives:
        return "list of the same"
    inside = [*lists, shape]
    if items.first:
        inner = ", ".join(_words(each, inside, known) for each in (*items.first, items.rest) if each is not None)
        inner += ", ..." if items.rest is not None else ""
    else:
        inner = _words(shape.items, inside, known)
        inner = _PLURALS.get(inner, inner)
    return "list" if inner == "any" or (lists and len(inner) > MAX_WORDS) else f"list of {inner}"


def json_text(value: Any) -> str:
    """Return a value as JSON, on one line and harmless."""
    # The encoder takes many times as long to begin as for what is short.
    if isinstance(value, str):
        return neutral_line(_quote(value))
    return scalar_text(value) if value is None or isinstance(value, int) else neutral_line(_encode(value))


def constraints(shape: Shape, name: str = "") -> list[str]:
    """Return what else a value of the shape must be: its bounds and, with its name, what items of a list stand in."""
    if isinstance(shape, (TextShape, ScalarShape)) and all(map(_BOUNDED.isdisjoint, shape.parts)):
        return []  # as for most
    words: list[str] = []
    for each in shape.alternatives:
        if isinstance(each, (EnumShape, AnyShape)):
            continue
        for node in each.parts:
            if not _BOUNDED.isdisjoint(node):
                words += _bounds(each, node)
        if name and isinstance(each, ArrayShape):
            words.append(f"each in <{item_name(name)}>")
    return words if len(words) < 2 else list(dict.fromkeys(words))


# The keywords that are told of; most schemas have none of them.
_BOUNDED = {
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems",
    "maxItems", "minProperties", "maxProperties", "uniqueItems", "format", "pattern",
}  # fmt: skip


def _bounds(shape: Shape, node: Node) -> Iterable[str]:
    """Return the bounds in one schema that mean something for values of the shape."""
    if isinstance(shape, ScalarShape):
        return _number_bounds(node) if shape.type in ("integer", "number") else ()
    if isinstance(shape, TextShape):
        return _string_bounds(node)
    if isinstance(shape, ArrayShape):
        unique = ["no duplicates"] if node.get("uniqueItems") else []
        return [*_range(node.get("minItems"), node.get("maxItems"), "item", "items"), *unique]
    return _range(node.get("minProperties"), node.get("maxProperties"), "property", "properties")


def _number_bounds(node: Node) -> Iterable[str]:
    if "exclusiveMinimum" in node:
        yield f"more than {json_text(node['exclusiveMinimum'])}"
    yield from _range(node.get("minimum"), node.get("maximum"), "", "")
    if "exclusiveMaximum" in node:
        yield f"less than {json_text(node['exclusiveMaximum'])}"
    if "multipleOf" in node:
        yield f"a multiple of {json_text(node['multipleOf'])}"


def _string_bounds(node: Node) -> Iterable[str]:
    yield from _range(node.get("minLength"), node.get("maxLength"), "character", "characters")
    if "format" in node:
        yield f"format {neutral_line(node['format'])}"
    if "pattern" in node:
        yield f"matching {neutral_line(node['pattern'])}"


def _range(low: Any, high: Any, one: str, many: str) -> Iterable[str]:
    """Yield `1 to 5 items`, `at least 1 item`, `exactly 1 item`; nothing if there are no bounds."""
    if low is None and high is None:
        return
    if low == high:
        words = f"exactly {json_text(low)}"
    elif low is not None and high is not None:
        words = f"{json_text(low)} to {json_text(high)}"
    else:
        words = f"at least {json_text(low)}" if high is None else f"at most {json_text(high)}"
    last = low if high is None else high
    yield f"{words} {one if last == 1 else many}".rstrip()


def children_of(shape: Shape, name: str) -> list[tuple[ObjectShape, str]]:
    """Return the objects whose properties must be told to explain a value: its own, or those of its items.

    With each comes the name of the element that it stands in.
    """
    if not isinstance(shape, (ObjectShape, ArrayShape, UnionShape)):
        return []
    found: list[tuple[ObjectShape, str]] = []
    seen: set[tuple[int, str]] = set()
    pending: list[tuple[Shape, str]] = [(shape, name)]
    while pending:
        shape, name = pending.pop()
        if isinstance(shape, ObjectShape):
            found.append((shape, name))
        elif isinstance(shape, UnionShape):
            pending += [(each, name) for each in shape.alternatives[::-1]]
        elif isinstance(shape, ArrayShape) and (id(shape), name) not in seen:
            seen.add((id(shape), name))
            items = items_of(shape)
            inner = [*items.first, items.rest] if items.rest is not None else items.first
            pending += [(each, item_name(name)) for each in inner[::-1]]
    return found


_TELLING = frozenset(("properties", "required", "additionalProperties", "patternProperties"))


def identity(shape: ObjectShape) -> tuple[int, ...]:
    """Return what tells an object's schema from others, also where it is reached by several references."""
    return tuple([id(part) for part in shape.parts if not _TELLING.isdisjoint(part)]) or (id(shape),)


def start_tag(name: str) -> str:
    """Return how a list of arguments spells a name: as it is, or as the start tag that says it.

    Raises XMLToolsError for a name that no call can say.
    """
    if ORDINARY_NAME.fullmatch(name):
        return name
    refuse_unsayable(name, "an argument")
    if is_xml_name(name):
        return name
    return f'<{FORGE.argument} {FORGE.argument_name}="{escape_name(name)}">'


def other_properties(shape: ObjectShape) -> Iterator[tuple[str, Shape]]:
    """Yield what the schema says about properties that it does not name: a label, and their shape."""
    for part in shape.parts:
        for pattern, node in part.get("patternProperties", {}).items():
            yield f"names matching {neutral_line(pattern)}", shape.make.shape((node,))
        node = part.get("additionalProperties")
        if node and "never" not in node:
            declared = any(part.get("properties") for part in shape.parts)
            yield "any other name" if declared else "any name", shape.make.shape((node,))
