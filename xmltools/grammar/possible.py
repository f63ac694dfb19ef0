"""Whether a schema has any valid value at all: what has none is not generated."""

from __future__ import annotations

from xmltools.grammar.lower.enums import valid_values
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    bounds_of,
    is_impossible,
    items_of,
    parts_of,
    properties_of,
    text_facts,
)

__all__ = ["Possible"]

MAX_STEPS = 10_000
"""Shapes that are looked at: a schema that leads round in more circles than that is taken to have values."""
MAX_DEPTH = 40
"""Values that must stand inside each other: deeper ones are taken to be there."""

_TYPES: dict[type[Shape], str] = {ObjectShape: "object", ArrayShape: "array", TextShape: "string"}


class Possible:
    """Says whether shapes have values, as far as counts, bounds, enums and required properties tell.

    A value that must hold one of its own kind, and so on without end, is none.
    """

    __slots__ = ("_known", "_open", "_steps")

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
    said = [part["type"] for part in parts_of(shape) if "type" in part] if type else []
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
