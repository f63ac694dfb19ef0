"""Alternatives that libxml2 must not be asked to tell apart.

It tries one after the other, with all that is in them. Where they hold each other, under the same names and without a
label that says which one is meant, that doubles the work at each level.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from xmltools.tools.schema import (
    AnyShape,
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    Shape,
    UnionShape,
    items_of,
    properties_of,
)

MAX_SHAPES = 2_000
"""Shapes that are looked at, to see whether alternatives hold each other."""


def weight(of: Property) -> int:
    """Return how late a property should be looked at: labels first, what holds other values last."""
    if of.required and isinstance(of.shape, EnumShape):
        return 0
    return 2 if any(isinstance(each, (ArrayShape, ObjectShape, AnyShape)) for each in of.shape.alternatives) else 1


def are_entangled(shape: UnionShape) -> bool:
    """Return whether trying the alternatives of a union one after the other may take forever."""
    return any(_entangled(one, other) for one, other in combinations(shape.alternatives, 2))


def _entangled(one: Shape, other: Shape) -> bool:
    goals = {id(one), id(other)}
    if isinstance(one, ArrayShape) and isinstance(other, ArrayShape):
        return any(_reaches(each, goals) for each in _inner(one)) and any(
            _reaches(each, goals) for each in _inner(other)
        )
    if not isinstance(one, ObjectShape) or not isinstance(other, ObjectShape):
        return False
    left = {each.name: each for each in properties_of(one)}
    right = {each.name: each for each in properties_of(other)}
    shared = [name for name in left if name in right]
    if any(_differ(left[name], right[name]) for name in shared):
        return False
    return any(_reaches(left[name].shape, goals) and _reaches(right[name].shape, goals) for name in shared)


def _differ(one: Property, other: Property) -> bool:
    """Return whether two properties are labels that no value fits both."""
    return (
        weight(one) == weight(other) == 0
        and isinstance(one.shape, EnumShape)
        and isinstance(other.shape, EnumShape)
        and not any(value in other.shape.values for value in one.shape.values)
    )


def _reaches(shape: Shape, goals: set[int]) -> bool:
    """Return whether a value of the shape may hold one of the goals, or too much to say."""
    seen = {id(shape): shape}
    pending = [shape]
    while pending and len(seen) < MAX_SHAPES:
        each = pending.pop()
        if id(each) in goals:
            return True
        new = [inner for inner in _inner(each) if id(inner) not in seen]
        seen |= {id(inner): inner for inner in new}
        pending += new
    return bool(pending)


def _inner(shape: Shape) -> Iterator[Shape]:
    if isinstance(shape, UnionShape):
        yield from shape.alternatives
    elif isinstance(shape, ObjectShape):
        yield from (each.shape for each in properties_of(shape))
    elif isinstance(shape, ArrayShape):
        items = items_of(shape)
        yield from items.first
        yield from () if items.rest is None else (items.rest,)
