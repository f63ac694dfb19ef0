"""Objects on their way to an example: which properties they get, and in which order choices are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import islice
from typing import TYPE_CHECKING, Any

from xmltools.tools.schema.candidates import MAX_ITEMS, TYPICAL, bound
from xmltools.tools.schema.document import NEVER
from xmltools.tools.schema.equality import ABSENT
from xmltools.tools.schema.shapes import ArrayShape, EnumShape, ObjectShape, ScalarShape, Shape

if TYPE_CHECKING:
    from xmltools.tools.schema.sample import Sampler

__all__ = ["MAX_TRIES", "Draft", "is_null"]

MAX_TRIES = 50
"""Candidates from the schema for one value, and ways to choose the properties of one object."""


def is_null(shape: Shape) -> bool:
    """Return whether the shape is that of null and nothing else."""
    if isinstance(shape, EnumShape):
        return shape.values == [None]
    return isinstance(shape, ScalarShape) and shape.type == "null"


class Draft:
    """An object on its way: its properties in order, and their values, each made once."""

    __slots__ = ("_is_root", "_names", "_parts", "_required", "_sampler", "_shape", "_values")

    def __init__(self, sampler: Sampler, shape: ObjectShape, is_root: bool) -> None:
        self._sampler = sampler
        self._shape = shape
        self._is_root = is_root
        self._values: dict[str, Any] = {}
        self._parts = shape.parts
        self._required = dict.fromkeys(shape.required)
        declaring = [*self._parts, *(shape.make.conditional_parts(self._parts) if sampler.thorough else ())]
        sampler.spend(len(declaring) // 10)
        declared = (name for part in declaring for name in part.get("properties", ()))
        self._names = dict.fromkeys((*declared, *self._required))

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield objects, the best first; no more than that one is needed where nothing links properties."""
        if not self._is_possible():
            return
        extras = self._extras()
        yield self._made_of(extras) or self._shown_entries()
        yield from islice(self._others(extras), MAX_TRIES)
        yield self._made_of(self._available())
        yield self._made_of(())

    def _others(self, extras: list[str]) -> Iterator[dict[str, Any]]:
        for branch in self._branches():
            if branch._is_possible():
                yield branch._made_of(branch._extras())
        if not self._names:
            yield self._entries()
        yield from (self._made_of((*extras, name)) for name in self._available() if name not in extras)
        more = list(extras)
        for name in self._available():
            more.append(name)
            yield self._made_of(more)

    def _is_possible(self) -> bool:
        return all(self._value(name) is not ABSENT for name in self._required)

    def _value(self, name: str) -> Any:
        if name not in self._values:
            value = self._sampler.value(self._shape.child(name), name) if self._allows(name) else ABSENT
            self._values[name] = value
        return self._values[name]

    def _allows(self, name: str) -> bool:
        return self._shape.has_property(name) or not self._is_closed() or self._pattern() is not None

    def _is_closed(self) -> bool:
        return any(NEVER in part.get("additionalProperties", ()) for part in self._parts)

    def _pattern(self) -> str | None:
        return next((pattern for part in self._parts for pattern in part.get("patternProperties", ())), None)

    def _optional(self) -> Iterator[str]:
        """Yield the properties that may be added, except for those that recur."""
        for name in self._names:
            if name not in self._required and not self._sampler.recurs(self._shape.child(name)):
                yield name

    def _available(self) -> Iterator[str]:
        """Yield the properties that may be added and have a value."""
        return (name for name in self._optional() if self._value(name) is not ABSENT)

    def _made_of(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the object of these properties and the required ones."""
        chosen = {*names, *self._required}
        return {name: self._value(name) for name in self._names if name in chosen}

    def _extras(self) -> list[str]:
        """Return the optional properties that are worth showing."""
        wanted = self._sampler.wanted if self._is_root else ()
        extras = [name for name in self._available() if name in wanted] if wanted else []
        if self._sampler.smallest:
            return extras
        if self._is_root and not any(map(self._is_nested, self._required)):
            nested = (name for name in self._optional() if self._is_nested(name))
            extras += islice((name for name in nested if self._value(name) is not ABSENT), 1)
        return extras if self._required else [*extras, *islice(self._available(), 1)]

    def _is_nested(self, name: str) -> bool:
        shape = self._shape.child(name)
        first = next((each for each in shape.alternatives if not is_null(each)), shape)
        return isinstance(first, (ObjectShape, ArrayShape))

    def _branches(self) -> Iterator[Draft]:
        """Yield the object as it is if one of its alternatives applies, or one of its conditions holds."""
        for part in self._parts:
            nodes = [each for word in ("anyOf", "oneOf") for each in part.get(word, ())]
            nodes += [part[word] for word in ("then", "else") if word in part]
            nodes += part.get("dependentSchemas", {}).values()
            for node in nodes:
                both, maker = (*self._shape.nodes, node), self._shape.make
                yield Draft(self._sampler, ObjectShape(maker, both, maker.parts(both)), self._is_root)

    # Maps: objects that declare no properties.

    def _shown_entries(self) -> dict[str, Any]:
        if self._names or self._sampler.smallest:
            return {}
        described = any(part.get("additionalProperties") or "patternProperties" in part for part in self._parts)
        # A tool of which nothing is known gets no arguments: nobody said that it takes any.
        return self._entries() if described or not self._is_root else {}

    def _entries(self) -> dict[str, Any]:
        if self._is_closed() and self._pattern() is None:
            return {}
        key = self._key()
        child = self._shape.child(key)
        if self._sampler.recurs(child) or (value := self._sampler.value(child, "value")) is ABSENT:
            return {}
        count = min(max(1, bound(self._parts, "minProperties", max, 1)), MAX_ITEMS)
        return {f"{key}{number + 1 if number else ''}": deepcopy(value) for number in range(count)}

    def _key(self) -> str:
        maker, pattern = self._shape.make, self._pattern()
        wanted = tuple(part["propertyNames"] for part in self._parts if "propertyNames" in part)
        if wanted:
            name = self._sampler.value(maker.shape(wanted), "name")
            return name if isinstance(name, str) else "name"
        if pattern is None:
            return "name"
        return next(filter(maker.document.patterns[pattern].found, ("name", *TYPICAL)), "name")
