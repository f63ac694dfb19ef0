"""Example arguments for prompts: the schema's own examples, defaults and choices, or a plain value of the right type.

Everything is checked against the schema. If what was put together does not fit, there is no example: none is better
than a wrong one. Nothing is random, and the work is bounded, whatever the schema.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from math import ceil
from typing import Any

from xmltools.tools.schema.check import Checker, ExhaustedError
from xmltools.tools.schema.constraints import largest, smallest
from xmltools.tools.schema.document import NEVER, Node
from xmltools.tools.schema.equality import ABSENT
from xmltools.tools.schema.item_names import singular_of
from xmltools.tools.schema.shapes import (
    LEVELS,
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
)

MAX_DEPTH = 8
"""Containers inside each other."""
MAX_VALUES = 500
"""Values that are made for one example."""
MAX_CHECKS = 30_000
"""Pairs of a schema and a value that are compared for one example."""
MAX_ITEMS = 5
MAX_TEXT = 1_000

_FORMATS = {
    "date": "2026-01-15",
    "time": "10:30:00Z",
    "date-time": "2026-01-15T10:30:00Z",
    "duration": "PT1H",
    "email": "user@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "uri-reference": "https://example.com",
    "json-pointer": "/name",
    "url": "https://example.com",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "regex": r"\d+",
}
_WORDS = {
    **dict.fromkeys(("path", "file", "filename", "filepath"), "src/app.py"),
    **dict.fromkeys(("directory", "dir", "folder", "cwd"), "src"),
    **dict.fromkeys(("url", "uri"), "https://example.com"),
    **dict.fromkeys(("command", "cmd"), "ls -l"),
    **dict.fromkeys(("diff", "patch"), "-if a < b:\n+if a <= b:"),
}
_CODE = "if a < b:\n    a = b"
_CODE_WORDS = frozenset(
    (  # noqa: SIM905 - a list would be thirty lines
        "body code content contents css diff html json markdown patch replacement script snippet source sql sql_query "
        "svg xml yaml new_str new_string new_text old_str old_string old_text new_block old_block search_block "
        "replace_block"
    ).split()
)
_PROGRAM = re.compile("((new|old|source|python|program|shell)_)?code")
_SEAM = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def example_arguments(
    shape: ObjectShape, *, smallest: bool = False, wanted: Collection[str] = ()
) -> dict[str, Any] | None:
    """Return example arguments for a tool, always the same for the same schema; None if none were found.

    Takes the shape that `compile_schema` made of the tool's parameters. The example has the required properties, those
    of the optional ones that are `wanted` and, unless `smallest`, one more that shows a list or an object, or anything.
    """
    for lean in (True,) if smallest else (False, True):
        maker = _Maker(shape, lean, wanted)
        try:
            made = maker.value(shape.forms, "")
            if made is not ABSENT and maker.fits_anew(shape, made):
                return made  # type: ignore[no-any-return]
        except (ExhaustedError, RecursionError):
            continue
    return None


def is_code_name(name: str) -> bool:
    """Return whether a property of this name holds program text, markup or a document.

    >>> is_code_name("newContent"), is_code_name("content_type"), is_code_name("zip_code")
    (True, False, False)
    """
    words = _words(name)
    whole = "_".join(words)
    if words[-1:] == ("code",):
        return _PROGRAM.fullmatch(whole) is not None
    return whole in _CODE_WORDS or (bool(words) and words[-1] in _CODE_WORDS)


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters, whether they are joined by lines, dots or capitals."""
    return tuple([word.lower() for word in _SEAM.split(name) if word])


class _Maker:
    """Makes one example. A value that cannot be had is ABSENT."""

    __slots__ = ("_checker", "_kept", "_lean", "_left", "_open", "_wanted")

    def __init__(self, shape: ObjectShape, lean: bool, wanted: Collection[str]) -> None:
        self._checker = Checker(shape.make.document, MAX_CHECKS)
        self._kept: list[Any] = []  # the checker knows values by identity: they must live as long as it
        self._lean = lean
        self._wanted = wanted
        self._left = MAX_VALUES
        self._open: list[tuple[int, ...]] = []  # the containers that the value is inside of

    def fits(self, shape: Shape, value: Any) -> bool:
        """Return whether a value fits its schemas."""
        if not isinstance(value, (dict, list)):
            return self.fits_anew(shape, value)
        self._kept.append(value)
        return all(self._checker.fits(node, value) for node in shape.nodes)

    def fits_anew(self, shape: Shape, value: Any) -> bool:
        """Return the same for a value that was not asked about before, nor any list or object in it."""
        self._kept.append(value)
        return shape.is_clean(value, LEVELS) or all(self._checker.fits(node, value) for node in shape.nodes)

    def value(self, shape: Shape, name: str) -> Any:
        """Return a value for the property `name`."""
        self._left -= 1
        if self._left < 0:
            raise ExhaustedError
        parts = shape.parts
        if isinstance(shape, (TextShape, ScalarShape)) and self._asks_for_a_type(shape):
            return _plain_text(name) if isinstance(shape, TextShape) else next(_plain_values(shape, (), name))
        if isinstance(shape, EnumShape) or not all(map(_TOLD.isdisjoint, parts)):
            for told in _told(shape, parts):
                if self.fits(shape, told):
                    return deepcopy(told)
        if isinstance(shape, UnionShape):
            alternatives = sorted(shape.alternatives, key=self._rank)
            made = (self.value(each, name) for each in alternatives)
            return next((each for each in made if each is not ABSENT and self.fits(shape, each)), ABSENT)
        if isinstance(shape, (ObjectShape, ArrayShape)):
            if len(self._open) >= MAX_DEPTH:
                return ABSENT
            self._open.append(_key(shape))
            found = self._array(shape, parts, name) if isinstance(shape, ArrayShape) else self._object(shape)
            self._open.pop()
            return found
        checked = self._checker.document.patterns
        if any(part["pattern"] not in checked for part in parts if "pattern" in part):
            return ABSENT
        for plain in _plain_values(shape, parts, name):
            if self.fits_anew(shape, plain):
                return plain
        return ABSENT

    def _asks_for_a_type(self, shape: TextShape | ScalarShape) -> bool:
        """Return whether any value of its type is valid, and the schema gives none itself, as for most."""
        nodes = shape.nodes
        return len(nodes) == 1 and id(nodes[0]) in self._checker.document.plain and _TOLD.isdisjoint(nodes[0])

    def _recurs(self, shape: Shape) -> bool:
        """Return whether a value of the shape, or its items, would be inside another of the same schema."""
        first = _first(shape)
        if not isinstance(first, (ObjectShape, ArrayShape)):
            return False
        if isinstance(first, ArrayShape) and _key(first) not in self._open:
            first = _first(first.item(0))
        return isinstance(first, (ObjectShape, ArrayShape)) and _key(first) in self._open

    def _rank(self, shape: Shape) -> int:
        """Return how late an alternative is taken. Null ends a recursion, but shows nothing where there is none."""
        return 1 if _is_null(shape) else 2 * self._recurs(shape)

    def _array(self, shape: ArrayShape, parts: Sequence[Node], name: str) -> Any:
        least = largest(parts, "minItems") or 0
        count = max(least, 0 if smallest(parts, "maxItems") == 0 or self._recurs(shape.item(0)) else 1)
        if count > MAX_ITEMS:
            return ABSENT
        singular = next(iter(singular_of(name)), name)
        items = [self.value(shape.item(index), singular) for index in range(count)]
        if ABSENT in items:
            return ABSENT if least else []
        return items

    def _object(self, shape: ObjectShape) -> Any:
        is_root, required = len(self._open) == 1, shape.required
        made = {name: self.value(shape.child(name), name) for name in required}
        if ABSENT in made.values():
            return ABSENT
        properties = shape.properties
        optional = {name: child for name, child in properties.items() if name not in made}
        extra = [name for name in optional if is_root and name in self._wanted]
        if not (self._lean or extra):
            offered = (name for name, child in optional.items() if not self._recurs(child))
            if is_root and not any(_is_container(shape.child(name)) for name in required):
                containers = [name for name, child in optional.items() if _is_container(child)]
                extra = [name for name in containers if not self._recurs(optional[name])][:1]
            if not required and (first := next(offered, None)) is not None and first not in extra:
                extra.append(first)
        added = {name: self.value(optional[name], name) for name in extra}
        made |= {name: value for name, value in added.items() if value is not ABSENT}
        in_order = {name: made[name] for name in (*properties, *required) if name in made}
        return in_order or ({} if is_root and self._lean else self._entry(shape))

    def _entry(self, shape: ObjectShape) -> dict[str, Any]:
        """Return an object that declares no properties: one entry, if the schema says what its values are."""
        schemas = [part["additionalProperties"] for part in shape.parts if part.get("additionalProperties")]
        child = shape.child("name")
        if not schemas or any(NEVER in each for each in schemas) or self._recurs(child):
            return {}
        value = self.value(child, "value")
        entry = {"name": value}
        return {} if value is ABSENT or shape.properties or not self.fits(shape, entry) else entry


_TOLD = frozenset(("examples", "default"))
"""Keywords that give values."""


def _told(shape: Shape, parts: Sequence[Node]) -> Iterator[Any]:
    """Yield the values that the schema itself gives. Null is left out: it shows nothing."""
    for part in parts:
        examples = part.get("examples")
        yield from (each for each in (examples if isinstance(examples, list) else [])[:MAX_ITEMS] if each is not None)
    yield from (part["default"] for part in parts if part.get("default") is not None)
    if isinstance(shape, EnumShape):
        yield from sorted(shape.values[:MAX_ITEMS], key=lambda value: value is None)


def _is_container(shape: Shape) -> bool:
    return isinstance(_first(shape), (ObjectShape, ArrayShape))


def _first(shape: Shape) -> Shape:
    """Return the first alternative that is more than null."""
    if not isinstance(shape, UnionShape):
        return shape
    return next((each for each in shape.alternatives if not _is_null(each)), shape)


def _is_null(shape: Shape) -> bool:
    return isinstance(shape, ScalarShape) and shape.type == "null"


def _key(shape: ObjectShape | ArrayShape) -> tuple[int, ...]:
    """Return what tells a schema from others, however it was referred to."""
    return tuple([id(part) for part in shape.parts if "$ref" not in part])


def _plain_values(shape: Shape, parts: Sequence[Node], name: str) -> Iterator[Any]:
    """Yield plain values of a type, the plainest first."""
    if isinstance(shape, ScalarShape):
        if shape.type == "null":
            yield None
        elif shape.type == "boolean":
            yield from (True, False)
        else:
            yield from _numbers(parts)
    elif isinstance(shape, TextShape) or shape.is_any:
        yield from _texts(parts, name)
        if shape.is_any:
            yield from (1, True, [], {})


def _numbers(parts: Sequence[Node]) -> Iterator[int | float]:
    yield 1
    low, high = largest(parts, "minimum"), smallest(parts, "maximum")
    above, below = largest(parts, "exclusiveMinimum"), smallest(parts, "exclusiveMaximum")
    yield from (each for each in (low, high) if each is not None)
    yield from (each + step for each, step in ((above, 1), (below, -1)) if each is not None)
    step = largest(parts, "multipleOf")
    if step:
        yield from (step, 0)
    try:
        least = max((each for each in (low, above) if each is not None), default=0)
        most = min((each for each in (high, below) if each is not None), default=least)
        yield (least + most) / 2
        if step:
            yield ceil(least / step) * step
    except OverflowError:
        return  # integers that are no float


@lru_cache(maxsize=1024)
def _plain_text(name: str) -> str:
    """Return the text for a property of which the schema says no more than that it is one."""
    return next(_texts((), name))


def _texts(parts: Sequence[Node], name: str) -> Iterator[str]:
    """Yield texts for a property of this name, as long as the schema asks for."""
    least, most = largest(parts, "minLength") or 0, smallest(parts, "maxLength")
    most = MAX_TEXT if most is None else min(most, MAX_TEXT)
    if least > most:
        return
    words = _words(name) or ("value",)
    found = [_FORMATS.get(part["format"]) for part in parts if isinstance(part.get("format"), str)]
    found += [_WORDS.get(words[-1]), _CODE if is_code_name(name) else None, " ".join(words)]
    patterns = [part["pattern"] for part in parts if "pattern" in part]
    if patterns:
        found += ["-".join(words), "_".join(words).upper(), "1", "A1", "1.0.0"]
        if all(pattern.startswith("^") and pattern.endswith("$") for pattern in patterns):
            found += _FORMATS.values()  # what is said of the whole text may well be one of them
    # Cutting may leave white space at the end, which would be lost on the way.
    yield from (text[:most].strip().ljust(least, "x") for text in found if text)
    for pattern in patterns:
        from xmltools.tools.schema.pattern_texts import texts_of  # only here: few schemas have patterns

        yield from texts_of(pattern, least)
