"""The nodes of a schema that apply to one value together, and what they say of its type and its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xmltools.tools.schema.document import NEVER, TYPES, Document, Node
from xmltools.tools.schema.equality import equal, is_one_of

MAX_MORE_WAYS = 200
"""Alternatives that a value may have beyond twice the number of nodes in its schema."""

VALUES = frozenset(("const", "enum"))
_INDIRECT = frozenset(("$ref", "allOf"))
CHOICES = frozenset(("anyOf", "oneOf"))
OBJECT_WORDS = frozenset(("properties", "patternProperties", "additionalProperties"))
ARRAY_WORDS = frozenset(("items", "prefixItems"))
_DECIDING = VALUES | OBJECT_WORDS | ARRAY_WORDS | {"type"}
"""Keywords that say what a value is, whatever its alternatives are; but an object has the properties of both."""
_SILENT = frozenset(("allOf", "$ref", "description", "title", "$defs", "default", "examples"))
_UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))
_DROPPED = _SILENT | _UNEVALUATED
"""Keywords that say nothing beside one alternative: some are about what none of all describes."""
_CONDITIONS = frozenset(("anyOf", "oneOf", "then", "else", "dependentSchemas"))


class AppliedNodes:
    """Finds the nodes of a document that apply to the same value as others."""

    __slots__ = ("_bare", "_looks_around", "document")

    def __init__(self, document: Document) -> None:
        self.document = document
        self._looks_around: bool | None = None
        self._bare: dict[tuple[int, str], Node] = {}

    def ways(self, parts: Sequence[Node]) -> list[tuple[Node, ...]]:
        """Return the nodes of each alternative, those of alternatives that have such again included.

        Nothing is returned if there are far more than nodes in the schema: alternatives of alternatives multiply.
        """
        found: list[tuple[Node, ...]] = []
        seen: set[tuple[int, ...]] = set()
        most = MAX_MORE_WAYS + 2 * len(self.document.nodes)
        pending = self._alternatives(parts)[::-1]
        while pending:
            nodes = pending.pop()
            key = key_of(nodes)
            if key in seen:
                continue
            seen.add(key)
            if len(seen) > most:
                return []
            inner = self._alternatives(self.parts(nodes))
            pending += inner[::-1]
            if not inner:
                found.append(nodes)
        return [nodes for nodes in found if not is_contradiction(self.parts(nodes))] or found

    def looks_around(self) -> bool:
        """Return whether anything in the document is about what none of all alternatives describes."""
        if self._looks_around is None:
            self._looks_around = not all(map(_UNEVALUATED.isdisjoint, self.document.nodes.values()))
        return self._looks_around

    def _alternatives(self, parts: Sequence[Node]) -> list[tuple[Node, ...]]:
        """Return the nodes of each alternative, itself last, if nothing else says what a value is, or it is an object.

        Of several keywords with alternatives the first one is asked.
        """
        chosen = next(((part, word) for part in parts for word in ("anyOf", "oneOf") if word in part), None)
        if chosen is None or (any(part.keys() & _DECIDING for part in parts) and not describe_object(parts)):
            return []
        own, word = chosen
        rest = tuple(filter(None, [self._without(part, word if part is own else "") for part in parts]))
        return [(*rest, each) for each in own[word]]

    def _without(self, part: Node, choice: str) -> Node:
        """Return a node without the keyword `choice`, and without those that say nothing beside what they lead to."""
        # The same dict each time: shapes are known by the identity of their nodes.
        if choice not in part and part.keys().isdisjoint(_DROPPED):
            return part
        key = id(part), choice
        if key not in self._bare:
            dropped = _DROPPED | {choice}
            self._bare[key] = {word: value for word, value in part.items() if word not in dropped}
        return self._bare[key]

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

    def conditional_parts(self, parts: Sequence[Node]) -> list[Node]:
        """Return the nodes that apply to the same value only under a condition or as an alternative."""
        if not self.document.linked or all(part.keys().isdisjoint(_CONDITIONS) for part in parts):
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


def key_of(nodes: tuple[Node, ...]) -> tuple[int, ...]:
    """Return what tells these nodes from others: their identities."""
    return (id(nodes[0]),) if len(nodes) == 1 else tuple(dict.fromkeys(map(id, nodes)))


def common_types(parts: Sequence[Node]) -> list[str] | None:
    """Return the types that all parts allow, None if none says any. An integer is a number."""
    said = [part["type"] for part in parts if "type" in part]
    if not said:
        return None
    if len(said) == 1 and len(said[0]) == 1:
        return list(said[0])
    names = [name for types in said for name in types]
    common = [each for each in dict.fromkeys(names) if all(allows(types, each) for types in said)]
    return [each for each in common if each != "integer" or "number" not in common] or said[0][:1]


def describe_object(parts: Sequence[Node]) -> bool:
    """Return whether nodes say that a value is an object, and no more of which one than its properties."""
    words = {word for part in parts for word in part}
    types = common_types(parts)
    return (types == ["object"] or (types is None and not words.isdisjoint(OBJECT_WORDS))) and words.isdisjoint(VALUES)


def is_contradiction(parts: Sequence[Node]) -> bool:
    """Return whether no value can fit all nodes, since one is false, or their types exclude each other."""
    types = common_types(parts)
    return any(NEVER in part for part in parts) or (
        types is not None and not any(all(allows(part.get("type", types), each) for part in parts) for each in types)
    )


def allows(types: list[str], name: str) -> bool:
    """Return whether a value of the type `name` is of one of the types."""
    return name in types or (name == "integer" and "number" in types)


def common_values(parts: Sequence[Node], types: list[str] | None) -> list[Any] | None:
    """Return the values that all the enums and constants of the parts allow, None if there are no enums."""
    said: list[list[Any]] = []
    for part in parts:
        if "const" in part:
            said.append([part["const"]])
        if "enum" in part:
            said.append(part["enum"])
    if not said:
        return None
    values = [value for value in said[0] if is_one_of(value, types or TYPES)]
    for others in said[1:]:
        values = [value for value in values if any(equal(value, other) for other in others)]
    return values
