"""Whether the alternatives of a oneOf can be told apart: a grammar can only say anyOf."""

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
    parts_of,
    properties_of,
)

__all__ = ["overlap"]

_MAX_DEPTH = 5
"""Objects in objects that are compared: those that tell alternatives apart do so at their surface."""


def overlap(shape: UnionShape) -> bool:
    """Return whether a value might fit several alternatives of a oneOf that the shape is made of."""
    maker = shape.maker
    assert maker is not None  # only a parser puts shapes together without the maker of their schema
    groups = [part["oneOf"] for part in parts_of(shape) if "oneOf" in part]
    pending = [
        alternative for part in parts_of(shape) for word in ("anyOf", "oneOf") for alternative in part.get(word, ())
    ]
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
    for name in left.keys() & right.keys() if depth < _MAX_DEPTH else ():
        if left[name].required and right[name].required and _apart(left[name].shape, right[name].shape, depth + 1):
            return True
    return _lacks(one, left, right) or _lacks(other, right, left)


def _lacks(shape: ObjectShape, own: dict[str, Any], others: dict[str, Any]) -> bool:
    closed = any("never" in part.get("additionalProperties", ()) for part in shape.parts)
    return closed and any(each.required and name not in own for name, each in others.items())


def _kinds(shape: Shape) -> set[str]:
    if isinstance(shape, EnumShape):
        return {_kind_of(value) for value in shape.values}
    if isinstance(shape, ScalarShape):
        return {"number"} if shape.type in ("integer", "number") else {shape.type}
    if isinstance(shape, TextShape):
        return {"string"}
    if isinstance(shape, ArrayShape):
        return {"array"}
    return {"object"} if isinstance(shape, ObjectShape) else {"string", "number", "boolean", "null", "array", "object"}


def _kind_of(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


def _same(one: Any, other: Any) -> bool:
    return _kind_of(one) == _kind_of(other) and bool(one == other)
