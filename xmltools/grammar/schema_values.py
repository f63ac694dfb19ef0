"""Which values a schema has, as far as a grammar must know: any at all, which of an enum, the same in two alternatives.

What has no value is not generated. A grammar can only say anyOf: a oneOf whose alternatives overlap is reported.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
    bounds_of,
    find_problems,
    is_impossible,
    items_of,
    properties_of,
    text_facts,
)

MAX_STEPS = 10_000
"""Shapes that are looked at: a schema that leads round in more circles than that is taken to have values."""
MAX_DEPTH = 40
"""Values that must stand inside each other: deeper ones are taken to be there."""

_TYPES: dict[type[Shape], str] = {ObjectShape: "object", ArrayShape: "array", TextShape: "string"}


class HasValues:
    """Says whether shapes have values, as far as counts, bounds, enums and required properties tell.

    A value that must hold one of its own kind, and so on without end, is none.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Shape, bool]] = {}  # with the shape, or another one might get its identity
        self._open: set[int] = set()
        self._steps = 0

    def __call__(self, shape: Shape) -> bool:
        """Return whether the shape has a value."""
        if id(shape) in self._known:
            return self._known[id(shape)][1]
        self._steps += 1
        if id(shape) in self._open:
            return self._steps > MAX_STEPS
        self._open.add(id(shape))
        found = self._steps > MAX_STEPS or len(self._open) > MAX_DEPTH or any(map(self._one, shape.alternatives))
        self._open.discard(id(shape))
        if found or not self._open:  # what leads nowhere from here may lead somewhere from elsewhere
            self._known[id(shape)] = shape, found
        return found

    def _one(self, shape: Shape) -> bool:
        if isinstance(shape, EnumShape):
            return bool(valid_values(shape))
        if is_impossible(shape) or not _has_type(shape):
            return False
        if isinstance(shape, ObjectShape):
            return self._object(shape)
        if isinstance(shape, ArrayShape):
            return self._array(shape)
        if isinstance(shape, TextShape):
            facts = text_facts(shape)
            return facts.high is None or facts.low <= facts.high
        return not isinstance(shape, ScalarShape) or _has_numbers(shape)

    def _object(self, shape: ObjectShape) -> bool:
        required = [each for each in properties_of(shape) if each.required]
        return len(required) == len(shape.required) and all(self(each.shape) for each in required)

    def _array(self, shape: ArrayShape) -> bool:
        items = items_of(shape)
        if items.high is not None and items.low > items.high:
            return False
        rest = [items.rest] if items.rest is not None and items.low > len(items.first) else []
        return all(map(self, (*items.first[: items.low], *rest)))


def _has_type(shape: Shape) -> bool:
    """Return whether all schemas of a shape allow its type."""
    type = _TYPES.get(shape.__class__) or (shape.type if isinstance(shape, ScalarShape) else "")
    said = [part["type"] for part in shape.parts if "type" in part] if type else []
    return all(type in types or (type == "integer" and "number" in types) for types in said)


def _has_numbers(shape: ScalarShape) -> bool:
    if shape.type not in ("integer", "number"):
        return True
    bounds = bounds_of(shape)
    low, high = bounds.for_integers() if shape.type == "integer" else (bounds.low, bounds.high)
    if low is None or high is None:
        return True
    is_open = shape.type == "number" and (bounds.low_open or bounds.high_open)
    return low < high or (low == high and not is_open)


# Values of enums

_SAID = frozenset(
    ("enum", "const", "type", "$ref", "allOf", "$defs", "definitions", "title", "description", "default", "examples")
)
"""Keywords that the values of a shape fit anyway, or that say nothing about them."""


def valid_values(shape: EnumShape) -> list[Any]:
    """Return the values that fit everything else that the schema says, too."""
    if all(_SAID.issuperset(part) for part in shape.parts):
        return shape.values
    return [value for value in shape.values if not find_problems(value, shape)]


# Whether the alternatives of a oneOf can be told apart


_MAX_COMPARED = 5
"""Objects in objects that are compared: those that tell alternatives apart do so at their surface."""


def overlap(shape: UnionShape) -> bool:
    """Return whether a value might fit several alternatives of a oneOf that the shape is made of."""
    maker = shape.maker
    assert maker is not None  # only a parser puts shapes together without the maker of their schema
    groups = [part["oneOf"] for part in shape.parts if "oneOf" in part]
    pending = [alternative for part in shape.parts for word in ("anyOf", "oneOf") for alternative in part.get(word, ())]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        for part in maker.parts((node,)):
            groups += [part["oneOf"]] if "oneOf" in part else []
            pending += [each for word in ("anyOf", "oneOf") for each in part.get(word, ())]
    return any(_overlaps([maker.shape((node,)) for node in group]) for group in groups)


def _overlaps(shapes: list[Shape]) -> bool:
    return any(
        not _apart(left, right)
        for one, other in combinations(shapes, 2)
        for left in one.alternatives
        for right in other.alternatives
    )


def _apart(one: Shape, other: Shape, depth: int = 0) -> bool:
    """Return whether no value can fit both, as far as is easily seen."""
    if isinstance(one, EnumShape) and isinstance(other, EnumShape):
        return not any(_same(value, its) for value in one.values for its in other.values)
    if _kinds(one).isdisjoint(_kinds(other)):
        return True
    return isinstance(one, ObjectShape) and isinstance(other, ObjectShape) and _told_apart(one, other, depth)


def _told_apart(one: ObjectShape, other: ObjectShape, depth: int) -> bool:
    """Return whether both objects must have a property whose values differ, or one may not have what the other must."""
    left = {each.name: each for each in properties_of(one)}
    right = {each.name: each for each in properties_of(other)}
    for name in left.keys() & right.keys() if depth < _MAX_COMPARED else ():
        if left[name].required and right[name].required and _apart(left[name].shape, right[name].shape, depth + 1):
            return True
    return _lacks(one, left, right) or _lacks(other, right, left)


def _lacks(shape: ObjectShape, own: dict[str, Any], others: dict[str, Any]) -> bool:
    closed = any("never" in part.get("additionalProperties", ()) for part in shape.parts)
    return closed and any(each.required and name not in own for name, each in others.items())


_KINDS = {"string", "number", "boolean", "null", "array", "object"}


def _kinds(shape: Shape) -> set[str]:
    if isinstance(shape, EnumShape):
        return {_kind_of(value) for value in shape.values}
    if not any("type" in part for part in shape.parts):  # `items` alone allows everything but some arrays
        return _KINDS
    if isinstance(shape, ScalarShape):
        return {"number"} if shape.type in ("integer", "number") else {shape.type}
    if isinstance(shape, TextShape):
        return {"string"}
    if isinstance(shape, ArrayShape):
        return {"array"}
    return {"object"} if isinstance(shape, ObjectShape) else _KINDS


def _kind_of(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


def _same(one: Any, other: Any) -> bool:
    return _kind_of(one) == _kind_of(other) and bool(one == other)
