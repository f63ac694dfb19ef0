"""Made-up arguments: a valid, plain and short example of a call, from nothing but the schema.

A value is the first of these that fits: the schema's own `examples`, its `default`, `const` and `enum`, then
something made up from the type, the format, the bounds and the name of the property. Nothing is random.

Values are right by construction where the schema has only the keywords in `_SIMPLE`, so they are checked only
where it has others. All work is bounded, whatever the schema: containers nest at most `MAX_DEPTH` deep, at
most `MAX_VALUES` values are tried, and the check takes at most `MAX_CHECKS` steps. An object that is met again
inside itself is left out where it is optional, and its list is empty where that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from copy import deepcopy
from itertools import chain, islice
from typing import Any

from xmltools.tools.schema.candidates import MAX_ITEMS, bound, numbers, texts, varied
from xmltools.tools.schema.check import Checker, ExhaustedError
from xmltools.tools.schema.document import NEVER, Document, Node
from xmltools.tools.schema.draft import MAX_TRIES, Draft, is_null
from xmltools.tools.schema.equality import ABSENT, comparable
from xmltools.tools.schema.facts import parts_of
from xmltools.tools.schema.item_names import singular_of
from xmltools.tools.schema.requests import Ask
from xmltools.tools.schema.shapes import (
    AnyShape,
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
)

__all__ = ["sample_arguments"]

MAX_DEPTH = 16
"""Containers inside each other."""
MAX_VALUES = 3_000
"""Values that are made for one sample, those that are thrown away included."""
MAX_CHECKS = 30_000
"""Pairs of a schema and a value that are compared for one sample."""

_NOTES = frozenset(("description", "title", "default", "examples", "$defs", "definitions"))
_SIMPLE = _NOTES.union(
    ("type", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems"),
    ("minItems", "maxItems", "uniqueItems", "minLength", "maxLength", "pattern", "format"),
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
)
"""Keywords that values honour by construction. A schema with others is checked as a whole, and so are its parts."""
_REFERENCE, _CHOICE = _NOTES | {"$ref"}, _NOTES | {"anyOf"}
_BARE = _NOTES | {"type", "$ref", "enum", "const"}
"""Keywords that are behind a value as soon as its shape is known."""


def sample_arguments(
    shape: ObjectShape, *, smallest: bool = False, wanted: Collection[str] = ()
) -> dict[str, Any] | None:
    """Return made-up arguments for a tool, always the same for the same schema.

    Takes the shape that `compile_schema` made of the tool's parameters. The arguments hold the required
    properties, those of the optional ones that are `wanted` and, where that shows more, one or two others,
    unless `smallest`. Returns None if no valid arguments were found, be it that there are none or that they
    are hard to find.
    """
    for lean in (True,) if smallest else (False, True):
        try:
            made = Sampler(shape, lean, wanted).value(shape, "")
        except (ExhaustedError, RecursionError):
            continue
        if made is not ABSENT:
            return made  # type: ignore[no-any-return]
    return None


class _SilentChecker(Checker):
    """A checker without words: it is only asked whether a value fits."""

    __slots__ = ()

    def expectation(self, node: Node, depth: int = 3) -> str:
        return ""

    def choose(self, nodes: list[Node], value: Any) -> Generator[Ask, bool | None, Node | None]:
        return None
        yield  # a generator, like that of other checkers


class Sampler:
    """Makes one sample. A value that cannot be had is ABSENT."""

    __slots__ = ("_checker", "_document", "_kept", "_left", "_open", "smallest", "thorough", "wanted")

    def __init__(self, shape: ObjectShape, smallest: bool, wanted: Collection[str]) -> None:
        self._document = document = shape.make.document
        self.smallest = smallest
        self.wanted = wanted
        self.thorough = not _is_simple(document) or any("anyOf" in part for part in shape.parts)
        """Whether values must be checked, as the schema has more than they honour by construction."""
        self._checker = _SilentChecker(document, MAX_CHECKS)
        self._kept: list[Any] = []
        self._left = MAX_VALUES
        self._open: list[tuple[int, ...]] = []

    def value(self, shape: Shape, name: str) -> Any:
        """Return a value of the shape for the property `name`."""
        self.spend(1)
        parts = parts_of(shape)
        for told in islice(_told(parts), MAX_TRIES):
            if _is_of_kind(shape, told) and self._fits(shape, told):
                return deepcopy(told)
        return _MAKERS[type(shape)](self, shape, parts, name)

    def spend(self, effort: int) -> None:
        """Take `effort` from what is left; raise ExhaustedError if nothing is."""
        self._left -= effort
        if self._left < 0:
            raise ExhaustedError

    def recurs(self, shape: Shape, items: bool = True) -> bool:
        """Return whether a value of the shape would be inside another of the same schema, null aside."""
        alternatives = [each for each in shape.alternatives if not is_null(each)]
        return bool(alternatives) and all(self._is_open(each, items) for each in alternatives)

    def _is_open(self, shape: Shape, items: bool) -> bool:
        if not self._open or not isinstance(shape, (ObjectShape, ArrayShape)):
            return False
        if _key(shape.parts) in self._open:
            return True
        return items and isinstance(shape, ArrayShape) and self.recurs(shape.item(0), False)

    def _fits(self, shape: Shape, value: Any) -> bool:
        # The checker knows values by identity.
        self._kept.append(value)
        return all(self._checker.fits(node, value) for node in shape.nodes)

    def _passes(self, shape: Shape, value: Any) -> bool:
        return not self.thorough or self._fits(shape, value)

    def _first(self, shape: Shape, parts: list[Node], candidates: Iterable[Any]) -> Any:
        if not self.thorough and all(part.keys() <= _BARE for part in parts):
            return next(iter(candidates), ABSENT)
        return next((each for each in candidates if self._fits(shape, each)), ABSENT)

    # Makers of a value: they take its shape, all schemas that apply to it, and its name.

    def _text(self, shape: TextShape, parts: list[Node], name: str) -> Any:
        return self._first(shape, parts, texts(self._document, parts, name))

    def _any(self, shape: AnyShape, parts: list[Node], name: str) -> Any:
        others: tuple[Any, ...] = (True, False, [], {}, None)
        found = texts(self._document, parts, name), numbers(parts, name, False)
        return self._first(shape, parts, chain(*found, others))

    def _enum(self, shape: EnumShape, parts: list[Node], name: str) -> Any:
        values = sorted(shape.values[:MAX_TRIES], key=lambda value: value is None)
        # Its own schema may refuse a value: a `const` that is none of the `enum`.
        value = next((each for each in values if self._fits(shape, each)), ABSENT)
        return value if value is ABSENT else deepcopy(value)

    def _scalar(self, shape: ScalarShape, parts: list[Node], name: str) -> Any:
        if shape.type == "null":
            return self._first(shape, parts, (None,))
        if shape.type == "boolean":
            return self._first(shape, parts, (True, False))
        return self._first(shape, parts, numbers(parts, name, shape.type == "integer"))

    def _union(self, shape: UnionShape, parts: list[Node], name: str) -> Any:
        # A recursion comes to its end where it can: null is better than one more round.
        ranked = sorted(shape.alternatives, key=lambda each: 1 if is_null(each) else 2 * self.recurs(each))
        made = (self.value(each, name) for each in ranked)
        return next((each for each in made if each is not ABSENT and self._passes(shape, each)), ABSENT)

    def _array(self, shape: ArrayShape, parts: list[Node], name: str) -> Any:
        least, most = bound(parts, "minItems", max, 0), bound(parts, "maxItems", min, MAX_ITEMS)
        if least > min(most, MAX_ITEMS):
            return ABSENT
        self._open.append(_key(parts))
        counts = range(least, min(max(1, least), most) + 1)
        choices = [self._items(shape, parts, name, counts), None if least else []]
        self._open.pop()
        return next((each for each in choices if each is not None and self._passes(shape, each)), ABSENT)

    def _items(self, shape: ArrayShape, parts: list[Node], name: str, counts: range) -> list[Any] | None:
        """Return as many items as can be had; None if that is none of `counts`."""
        if len(self._open) > MAX_DEPTH:
            return None
        if not counts[0] and self.recurs(shape.item(0)):
            return []
        unique = any(part.get("uniqueItems") for part in parts)
        singular = next(iter(singular_of(name)), name)
        items: list[Any] = []
        for index in range(counts[-1]):
            item = self.value(shape.item(index), singular)
            item = self._new(shape.item(index), item, items) if unique else item
            if item is ABSENT:
                break
            items.append(item)
        return items if len(items) in counts else None

    def _new(self, shape: Shape, item: Any, items: list[Any]) -> Any:
        """Return `item`, or another like it that is not among `items`."""
        seen = {comparable(each) for each in items}
        if item is ABSENT or comparable(item) not in seen:
            return item
        others = (each for each in islice(varied(shape, item), MAX_TRIES) if comparable(each) not in seen)
        return next((each for each in others if self._fits(shape, each)), ABSENT)

    def _object(self, shape: ObjectShape, parts: list[Node], name: str) -> Any:
        if len(self._open) >= MAX_DEPTH:
            return ABSENT
        is_root = not self._open
        self._open.append(_key(parts))
        objects = Draft(self, shape, is_root).objects()
        made = next((each for each in objects if self._passes(shape, each)), ABSENT)
        self._open.pop()
        return made


_MAKERS: dict[type[Shape], Callable[[Sampler, Any, list[Node], str], Any]] = {
    TextShape: Sampler._text,
    AnyShape: Sampler._any,
    EnumShape: Sampler._enum,
    ScalarShape: Sampler._scalar,
    UnionShape: Sampler._union,
    ArrayShape: Sampler._array,
    ObjectShape: Sampler._object,
}


def _is_simple(document: Document) -> bool:
    return all(
        node.keys() <= _SIMPLE or node.keys() <= _REFERENCE or node.keys() <= _CHOICE or _closes(node, at)
        for at, node in document.nodes.items()
    )


def _closes(node: Node, at: str) -> bool:
    """Return whether `node` is an `additionalProperties` of `false`, and not a property of that name."""
    return (
        NEVER in node and at.endswith("/additionalProperties") and not at.endswith("/properties/additionalProperties")
    )


def _key(parts: list[Node]) -> tuple[int, ...]:
    """Return what tells a schema from others, however it was referred to."""
    return tuple(id(part) for part in parts if "$ref" not in part)


def _told(parts: list[Node]) -> Iterator[Any]:
    """Yield the values that a schema itself gives. Null is none: it shows nothing."""
    for part in parts:
        examples = part.get("examples")
        yield from (each for each in (examples if isinstance(examples, list) else ()) if each is not None)
    yield from (part["default"] for part in parts if part.get("default") is not None)


def _is_of_kind(shape: Shape, value: Any) -> bool:
    if isinstance(shape, ObjectShape):
        return isinstance(value, dict)
    return not isinstance(shape, ArrayShape) or isinstance(value, list)
