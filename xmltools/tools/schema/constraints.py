"""What the schemas of a shape say together: bounds, patterns, properties, and what nobody asked about.

A shape is made of all schemas that apply to a value (`$ref`, `allOf` and alternatives followed); here their keywords
become one statement a kind of value. Prompts, examples and grammars all read these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from xmltools.tools.schema.document import NEVER, Node
from xmltools.tools.schema.shapes import ArrayShape, EnumShape, ObjectShape, ScalarShape, Shape, UnionShape


def largest(parts: Sequence[Node], word: str) -> Any:
    """Return the largest value that a keyword has in the schemas, None if none has it."""
    if len(parts) == 1:
        return parts[0].get(word)
    return max((part[word] for part in parts if word in part), default=None)


def smallest(parts: Sequence[Node], word: str) -> Any:
    """Return the smallest value that a keyword has in the schemas, None if none has it."""
    if len(parts) == 1:
        return parts[0].get(word)
    return min((part[word] for part in parts if word in part), default=None)


def is_impossible(shape: Shape) -> bool:
    """Return whether a schema that applies to a value of the shape is `false`: there is no such value."""
    return any(NEVER in part for part in shape.parts)


@dataclass(frozen=True, slots=True)
class TextFacts:
    """What a string must be. `high` is None where its length has no bound."""

    low: int = 0
    high: int | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether any string will do."""
        return self == _FREE


_FREE = TextFacts()


def text_facts(shape: Shape) -> TextFacts:
    """Return the constraints of a string."""
    parts = shape.parts
    if all(_TEXT.isdisjoint(part) for part in parts):
        return _FREE
    return TextFacts(
        largest(parts, "minLength") or 0,
        smallest(parts, "maxLength"),
        tuple(dict.fromkeys(part["pattern"] for part in parts if "pattern" in part)),
        tuple(dict.fromkeys(part["format"] for part in parts if "format" in part)),
    )


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which a number must be; None where there is no bound. `low_open`: the bound itself is out."""

    low: int | float | None = None
    high: int | float | None = None
    low_open: bool = False
    high_open: bool = False

    def for_integers(self) -> tuple[int | None, int | None]:
        """Return the smallest and the largest integer within the bounds."""
        low = None if self.low is None else math.floor(self.low) + 1 if self.low_open else math.ceil(self.low)
        high = None if self.high is None else math.ceil(self.high) - 1 if self.high_open else math.floor(self.high)
        return low, high


def bounds_of(shape: Shape) -> Bounds:
    """Return the bounds of an integer or a number."""
    parts = shape.parts
    low, high = largest(parts, "minimum"), smallest(parts, "maximum")
    above, below = largest(parts, "exclusiveMinimum"), smallest(parts, "exclusiveMaximum")
    low_open = above is not None and (low is None or above >= low)
    high_open = below is not None and (high is None or below <= high)
    return Bounds(above if low_open else low, below if high_open else high, low_open, high_open)


class Items(NamedTuple):
    """What a list holds: the shapes of its first items, that of the rest (None: there is no rest), and how many."""

    first: tuple[Shape, ...]
    rest: Shape | None
    low: int
    high: int | None


_UNUSUAL = frozenset(("prefixItems", "maxItems"))


def items_of(shape: ArrayShape) -> Items:
    """Return what a list may hold."""
    parts = shape.parts
    if len(parts) == 1 and parts[0].keys().isdisjoint(_UNUSUAL) and NEVER not in parts[0].get("items", ()):
        return Items((), shape.item(0), parts[0].get("minItems", 0), None)
    count = max([len(part["prefixItems"]) for part in parts if "prefixItems" in part], default=0)
    low, high = largest(parts, "minItems") or 0, smallest(parts, "maxItems")
    closed = [end for part in parts if (end := _closed_at(part)) is not None]
    if closed:
        high = min(closed) if high is None else min(*closed, high)
    first = tuple(shape.item(index) for index in range(count if high is None else min(count, high)))
    rest = None if high is not None and high <= len(first) else shape.item(count)
    return Items(first, rest, low, high)


def _closed_at(part: Node) -> int | None:
    """Return the place from which on a schema allows no items."""
    first = part.get("prefixItems")
    if first is None:
        return 0 if NEVER in part.get("items", ()) else None
    refused = (number for number, node in enumerate(first) if NEVER in node)
    return next(refused, len(first) if NEVER in part.get("items", ()) else None)


@dataclass(frozen=True, slots=True)
class Property:
    """A declared property, or one that is only required."""

    name: str
    shape: Shape
    required: bool


def properties_of(shape: ObjectShape) -> list[Property]:
    """Return the properties that an object may have by name, those without any valid value left out."""
    required = dict.fromkeys(shape.required)
    names = dict.fromkeys([*shape.properties, *required])
    return [Property(name, shape.child(name), name in required) for name in names if not _is_never(shape, name)]


def needs_arguments(shape: ObjectShape) -> bool:
    """Return whether a tool with this shape has no form without a required argument."""
    return all(isinstance(each, ObjectShape) and each.required for each in shape.forms.alternatives)


def _is_never(shape: ObjectShape, name: str) -> bool:
    document = shape.make.document
    for part in shape.parts:
        named = part.get("properties", {})
        patterns = part.get("patternProperties", {})
        fitting = document.matching(patterns, name) if patterns else []
        said = [named[name]] if name in named else []
        said += [patterns[each] for each in fitting]
        if any(NEVER in node for node in said or [part.get("additionalProperties", {})]):
            return True
    return False


# What a keyword is about; those of other kinds of values mean nothing.

_TEXT = frozenset(("minLength", "maxLength", "pattern", "format"))
_NUMBER = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_ARRAY = frozenset(
    ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains")
) | {"unevaluatedItems"}
_OBJECT = frozenset(
    ("properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties")
) | {"propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"}
_ANY = frozenset(("not", "if", "anyOf", "oneOf"))


_OF_ANY_TYPE = _TEXT | _NUMBER | _ARRAY | _OBJECT | _ANY


def other_keywords(shape: Shape, known: frozenset[str], *, of_any_type: bool = False) -> Iterator[str]:
    """Yield the keywords that restrict values of the shape, and are not among those that the caller knows about.

    `of_any_type`: where the schema leaves the type open, the value may have any, and is not only text.
    """
    relevant = (_OF_ANY_TYPE if of_any_type else _relevant(shape)) - known
    yield from dict.fromkeys(word for part in shape.parts for word in part if word in relevant)


_RELEVANT: dict[type[Shape], frozenset[str]] = {
    EnumShape: frozenset(),  # its values are checked one by one
    ArrayShape: _ARRAY | _ANY,
    ObjectShape: _OBJECT | _ANY,
    UnionShape: frozenset(("not", "if", "unevaluatedProperties", "unevaluatedItems")),
}


def _relevant(shape: Shape) -> frozenset[str]:
    if isinstance(shape, ScalarShape):
        return _NUMBER | _ANY if shape.type in ("integer", "number") else _ANY
    return _RELEVANT.get(type(shape), _TEXT | _ANY)
