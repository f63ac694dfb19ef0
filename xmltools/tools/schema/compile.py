"""From a schema to shapes: which kind the nodes that apply to one value make together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.tools.schema.document import TYPES, Document, Node
from xmltools.tools.schema.equality import equal, fits_type
from xmltools.tools.schema.shapes import (
    ANY,
    AnyShape,
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    union,
)

__all__ = ["Maker", "compile_schema"]


MAX_MORE_WAYS = 200
"""Alternatives that a value may have beyond twice the number of nodes in its schema."""

_VALUES = frozenset(("const", "enum"))
_INDIRECT = frozenset(("$ref", "allOf"))
_CHOICES = frozenset(("anyOf", "oneOf"))
_OBJECT = frozenset(("properties", "patternProperties", "additionalProperties"))
_ARRAY = frozenset(("items", "prefixItems"))
_DECIDING = _VALUES | _OBJECT | _ARRAY | {"type"}
"""Keywords that say what a value is, whatever its alternatives are."""
_DROPPED = frozenset(("anyOf", "oneOf", "allOf", "$ref", "description", "title", "$defs", "default", "examples"))
_CONDITIONS = frozenset(("anyOf", "oneOf", "then", "else", "dependentSchemas"))


class Maker:
    """Makes shapes from nodes of one document, each once."""

    __slots__ = ("_bare", "_shapes", "document")

    def __init__(self, document: Document) -> None:
        self.document = document
        self._shapes: dict[tuple[int, ...], Shape] = {}
        self._bare: dict[int, Node] = {}

    def shape(self, nodes: tuple[Node, ...]) -> Shape:
        """Return the shape of a value that must fit all the nodes."""
        key = _key(nodes)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._make(nodes)
        return shape

    def forget(self) -> None:
        """Let go of the shapes. Whoever holds one can go on with it: those that it needs are made anew."""
        for shape in tuple(self._shapes.values()):
            shape.forget()
        self._shapes.clear()

    def union(self, shapes: list[Shape]) -> Shape:
        """Return the shape of a value that has one of the shapes; ANY if there are none."""
        return union(shapes, self)

    def _make(self, nodes: tuple[Node, ...]) -> Shape:
        parts = self.parts(nodes)
        if len(parts) == 1 and len(parts[0].get("type", ())) == 1 and parts[0].keys().isdisjoint(_VALUES):
            return self._typed(parts[0]["type"][0], nodes, parts)  # what nearly all schemas are
        types = _common_types(parts)
        values = _common_values(parts, types)
        if values is not None:
            return EnumShape(self, nodes, values)
        if types is None:
            return self._untyped(nodes, parts)
        if len(types) == 1:
            return self._typed(types[0], nodes, parts)
        return union([self._typed(each, (*nodes, {"type": [each]}), parts) for each in types], self, nodes)

    def _typed(self, type: str, nodes: tuple[Node, ...], parts: list[Node]) -> Shape:
        if type == "object":
            return ObjectShape(self, nodes, parts)
        if type == "array":
            return ArrayShape(self, nodes, parts)
        return TextShape(self, nodes) if type == "string" else ScalarShape(self, nodes, type)

    def _untyped(self, nodes: tuple[Node, ...], parts: list[Node]) -> Shape:
        words = {word for part in parts for word in part}
        if words & _OBJECT:
            return ObjectShape(self, nodes, parts)
        if words & _ARRAY:
            return ArrayShape(self, nodes, parts)
        if words & _CHOICES and (ways := self._ways(parts)):
            return union(map(self.shape, ways), self, nodes)
        return AnyShape(self, nodes) if words else ANY

    def _ways(self, parts: list[Node]) -> list[tuple[Node, ...]]:
        """Return the nodes of each alternative, those of alternatives that have such again included.

        Nothing is returned if there are far more than nodes in the schema: alternatives of alternatives multiply.
        """
        found: list[tuple[Node, ...]] = []
        seen: set[tuple[int, ...]] = set()
        most = MAX_MORE_WAYS + 2 * len(self.document.nodes)
        pending = self._alternatives(parts)[::-1]
        while pending:
            nodes = pending.pop()
            key = _key(nodes)
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > most:
                return []
            inner = self._alternatives(self.parts(nodes))
            pending += inner[::-1]
            if not inner:
                found.append(nodes)
        return found

    def _alternatives(self, parts: list[Node]) -> list[tuple[Node, ...]]:
        """Return the nodes of each alternative, if nothing but alternatives says what a value is."""
        if any(part.keys() & _DECIDING for part in parts):
            return []
        choices = (part[word] for part in parts for word in ("anyOf", "oneOf") if word in part)
        said: list[Node] = next(choices, [])
        rest = tuple(filter(None, map(self._without_alternatives, parts))) if said else ()
        return [(each, *rest) for each in said]

    def _without_alternatives(self, part: Node) -> Node:
        # The same dict each time: shapes are known by the identity of their nodes.
        if part.keys().isdisjoint(_DROPPED):
            return part
        if id(part) not in self._bare:
            self._bare[id(part)] = {word: value for word, value in part.items() if word not in _DROPPED}
        return self._bare[id(part)]

    def parts(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the nodes with all that they refer to by `$ref` and `allOf`."""
        nodes = list(nodes)
        if len(nodes) == 1 and nodes[0].keys().isdisjoint(_INDIRECT):
            return nodes
        found: dict[int, Node] = {}
        pending = nodes[::-1]
        while pending:
            node = pending.pop()
            if id(node) not in found:
                found[id(node)] = node
                pending += node.get("allOf", ())[::-1]
                if "$ref" in node:
                    pending.append(self.document.target(node))
        return list(found.values())

    def conditional_parts(self, parts: list[Node]) -> list[Node]:
        """Return the nodes that apply to the same value only under a condition or as an alternative."""
        if all(part.keys().isdisjoint(_CONDITIONS) for part in parts):
            return []
        found = {id(part): part for part in parts}
        pending = list(parts)
        while pending:
            node = pending.pop()
            inner = [each for word in ("anyOf", "oneOf") for each in node.get(word, ())]
            inner += [node[word] for word in ("then", "else") if word in node]
            inner += node.get("dependentSchemas", {}).values()
            for each in self.parts(inner):
                if id(each) not in found:
                    found[id(each)] = each
                    pending.append(each)
        return list(found.values())[len(parts) :]


def _key(nodes: tuple[Node, ...]) -> tuple[int, ...]:
    return (id(nodes[0]),) if len(nodes) == 1 else tuple(dict.fromkeys(map(id, nodes)))


def _common_types(parts: list[Node]) -> list[str] | None:
    """Return the types that all parts allow, None if none says any. An integer is a number."""
    said = [part["type"] for part in parts if "type" in part]
    if not said:
        return None
    names = [name for types in said for name in types]
    common = [each for each in dict.fromkeys(names) if all(_allows(types, each) for types in said)]
    return [each for each in common if each != "integer" or "number" not in common] or said[0][:1]


def _allows(types: list[str], name: str) -> bool:
    return name in types or (name == "integer" and "number" in types)


def _common_values(parts: list[Node], types: list[str] | None) -> list[Any] | None:
    """Return the values that all the enums and constants of the parts allow, None if there are no enums."""
    said = [[part["const"]] if "const" in part else part["enum"] for part in parts if part.keys() & {"const", "enum"}]
    if not said:
        return None
    allowed = types or TYPES
    return [
        value
        for value in said[0]
        if any(fits_type(value, name) for name in allowed)
        and all(any(equal(value, other) for other in others) for others in said[1:])
    ]


class _Keeper:
    """Belongs to the shape of all arguments of a tool, and opens the ring that its maker and other shapes are when that
    is given up: tools come and go with each request of a server, and a search for rings stops all its threads."""

    __slots__ = ("_maker",)

    def __init__(self, maker: Maker) -> None:
        self._maker = maker

    def __del__(self) -> None:
        self._maker.forget()


def compile_schema(parameters: Mapping[str, Any]) -> ObjectShape:
    """Return the shape of a tool's arguments, made from their JSON Schema.

    Raises XMLToolsError for a schema that is invalid, refers to what is not in it, or describes no object.
    The message holds a JSON pointer to the place, and what to do.
    """
    document = Document(parameters)
    maker = Maker(document)
    parts = maker.parts((document.root,))
    types = _common_types(parts) or ["object"]
    if "object" not in types:
        raise XMLToolsError(f"invalid schema at #/type: arguments are an object, not {' or '.join(types)}")
    root = ObjectShape(maker, (document.root,), parts)
    root.keeper = _Keeper(maker)
    return root
