"""Made-up arguments: a valid, plain and short example of a call, from nothing but the schema.

A value is the first of these that fits: the schema's own `examples`, its `default`, `const` and `enum`, then
something made up from the type, the format, the bounds and the name of the property. Nothing is random.

Values are right by construction where the schema has only the keywords in `_SIMPLE`, so they are checked only
where it has others. All work is bounded, whatever the schema: containers nest at most `MAX_DEPTH` deep, at
most `MAX_VALUES` values are tried, and the check takes at most `MAX_CHECKS` steps. An object that is met again
inside itself is left out where it is optional, and its list is empty where that is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from fractions import Fraction
from functools import lru_cache
from itertools import chain, islice
from math import ceil, floor, gcd, lcm
from typing import Any

from xmltools.schema._check import Checker
from xmltools.schema._document import NEVER, Document, Node
from xmltools.schema._names import singular_of
from xmltools.schema._shapes import (
    AnyShape,
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
)
from xmltools.schema._values import ABSENT, Path, Problem, comparable

__all__ = ["is_code_name", "sample_arguments"]

MAX_DEPTH = 16
"""Containers inside each other."""
MAX_VALUES = 3_000
"""Values that are made for one sample, those that are thrown away included."""
MAX_CHECKS = 30_000
"""Pairs of a schema and a value that are compared for one sample."""
MAX_TRIES = 50
"""Candidates from the schema for one value, and ways to choose the properties of one object."""
MAX_ITEMS = 5
MAX_TEXT = 1_000
"""Characters of a made-up string. What must be longer than this is no example."""

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

# Names

_CODE = "if a < b:\n    a = b"
_EXAMPLES = (
    ("path file filename filepath", "src/app.py"),
    ("directory folder dir cwd", "src"),
    ("url uri link href website", "https://example.com"),
    ("query search keyword", "example query"),
    ("command cmd", "ls -l"),
    ("regex regexp pattern", r"\d+"),
    ("glob", "*.py"),
    ("expression formula", "2 + 3"),
    ("email mail email_address", "user@example.com"),
    ("name", "example"),
    ("user username login", "alex"),
    ("title subject", "Example title"),
    ("message comment note", "Hello!"),
    ("language lang locale", "en"),
    ("city", "Berlin"),
    ("location place", "Berlin, Germany"),
    ("country", "Germany"),
    ("country_code", "DE"),
    ("currency", "EUR"),
    ("timezone time_zone tz", "Europe/Berlin"),
    ("address street", "1 Main Street"),
    ("zip postcode zip_code postal_code", "10115"),
    ("phone telephone phone_number", "+4930123456"),
    ("date day", "2026-01-15"),
    ("time", "10:30"),
    ("datetime timestamp date_time", "2026-01-15T10:30:00Z"),
    ("id identifier", "42"),
    ("uuid guid", "123e4567-e89b-42d3-a456-426614174000"),
    ("host hostname domain", "example.com"),
    ("ip ip_address", "192.0.2.1"),
    ("color colour", "#336699"),
    ("version", "1.0.0"),
    ("branch", "main"),
)
_CODE_EXAMPLES = (
    ("code script source content snippet file_text replacement replace new_str new_string new_text", _CODE),
    ("replace_block new_block", _CODE),
    ("old_str old_string old_text search_block old_block search_text", "if a <= b:\n    a = b"),
    ("diff patch", "-if a < b:\n+if a <= b:"),
    ("html svg", "<p>Hello</p>"),
    ("xml", '<item id="1">Hello</item>'),
    ("sql sql_query", "SELECT name FROM users WHERE age < 30"),
    ("css", "p > a { color: red; }"),
    ("json", '{"name": "value"}'),
    ("yaml yml", "name: value"),
    ("markdown md", "# Title\n\nSome *text*."),
    ("body", "Hello,\nthis is an example."),
)


def _by_word(*tables: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {word: text for words, text in chain(*tables) for word in words.split()}


_TEXTS = _by_word(_EXAMPLES, _CODE_EXAMPLES)
_CODE_TOPICS = frozenset(_by_word(_CODE_EXAMPLES))
# Behind these the words before say nothing about the value: a content_type is no content.
_ENDINGS = re.compile("type|kind|mode|format|size|status|level|encoding|count|prefix|suffix|extension")
# A code of these is no program.
_CODED = re.compile(
    "country|zip|postal|area|status|error|exit|return|currency|language|lang|locale|colou?r|product|promo|coupon|"
    "discount|voucher|access|auth|verification|invite|airport|iata|iso|tax|region|state"
)
_NUMBERS = {"port": 8080, "year": 2026, "limit": 10, "count": 10, "max": 10, "timeout": 30, "line": 1}
_FRACTIONS = dict.fromkeys(
    ("ratio", "probability", "temperature", "threshold", "score", "confidence", "weight", "fraction", "opacity"), 0.5
) | dict.fromkeys(("factor", "scale", "price"), 1.5)
_SEAM = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _SEAM.split(name) if word]


def _topic(words: list[str]) -> str | None:
    """Return the key in `_TEXTS` that a name of these words is about."""
    if "_".join(words) in _TEXTS:
        return "_".join(words)
    for at in range(len(words) - 1, -1, -1):
        if _ENDINGS.fullmatch(words[at]):
            return None
        if words[at] == "code" and at and _CODED.fullmatch(words[at - 1]):
            continue
        for word in (words[at], *singular_of(words[at])):
            if word in _TEXTS:
                return word
    return None


@lru_cache(maxsize=1024)
def is_code_name(name: str) -> bool:
    """Return whether a property of this name holds program text, markup or a document, going by its words.

    >>> is_code_name("newContent"), is_code_name("content_type"), is_code_name("zip_code")
    (True, False, False)
    """
    return _topic(_words(name)) in _CODE_TOPICS


@lru_cache(maxsize=1024)
def _text_for(name: str) -> str:
    """Return what a string of this name may be; the words of the name, if they are not known."""
    words = _words(name)
    topic = _topic(words)
    return _TEXTS[topic] if topic else " ".join(words)[:60].rstrip() or "value"


@lru_cache(maxsize=1024)
def _number_for(name: str, integer: bool) -> int | float:
    table = _NUMBERS if integer else _NUMBERS | _FRACTIONS
    return next((table[word] for word in reversed(_words(name)) if word in table), 1)


# Strings and numbers that may fit

_FORMATS = _by_word(
    (
        ("date", "2026-01-15"),
        ("time", "10:30:00Z"),
        ("date-time", "2026-01-15T10:30:00Z"),
        ("duration", "PT1H"),
        ("email idn-email", "user@example.com"),
        ("hostname idn-hostname", "example.com"),
        ("ipv4", "192.0.2.1"),
        ("ipv6", "2001:db8::1"),
        ("uri url uri-reference iri iri-reference", "https://example.com"),
        ("uri-template", "https://example.com/{id}"),
        ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
        ("json-pointer", "/name"),
        ("relative-json-pointer", "1/name"),
        ("regex", r"\d+"),
        ("byte binary", "SGVsbG8="),
    )
)
_TYPICAL = (
    *("example", "Example", "EXAMPLE", "example-name", "example_name", "exampleName", "1", "a", "A"),
    *("1234567890123456"[:length] for length in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16)),
    *("ABCDEFGHIJ"[:length] for length in (2, 3, 4, 5, 6, 8, 10)),
    *("abcdefghij"[:length] for length in (2, 3, 4, 5, 6, 8, 10)),
    *(("0123456789abcdef" * 4)[:length] for length in (7, 8, 12, 16, 24, 32, 40, 64)),
    *("1.0.0", "v1.0.0", "1.0", "1.5", "-1", "+1", "$1", "50%", "10s", "5m", "1h", "10px", "10MB"),
    *("A1", "A-1", "ABC-123", "ABC123", "abc123", "AB12CD34", "#336699", "0x1f", "en", "en-US", "en_US"),
    *("2026-01-15", "2026-01", "10:30", "10:30:00", "2026-01-15T10:30:00Z", "+4930123456", "Q1"),
    *("src/app.py", "/src/app.py", "app.py", "./src", "owner/name", "example.com", "https://example.com"),
    *("user@example.com", "@example", "#example", "192.0.2.1", "123e4567-e89b-42d3-a456-426614174000"),
)
"""What patterns are tried on, since a string that fits a pattern is easier found than made."""


def _bound(parts: list[Node], word: str, choose: Callable[..., Any], otherwise: Any) -> Any:
    return choose((part[word] for part in parts if word in part), default=otherwise)


def _texts(document: Document, parts: list[Node], name: str) -> Iterator[str]:
    """Yield strings that may fit, as long as the schemas ask for."""
    least, most = _bound(parts, "minLength", max, 0), min(_bound(parts, "maxLength", min, MAX_TEXT), MAX_TEXT)
    if least > most:
        return
    for text in (_FORMATS[part["format"]] for part in parts if part.get("format") in _FORMATS):
        if len(text) <= most:
            yield text.rjust(least, text[0])
    pattern = next((document.patterns[part["pattern"]] for part in parts if "pattern" in part), None)
    yield _fitted(_text_for(name), least, most, "" if pattern else " ")
    if pattern:
        as_they_are = not least and most == MAX_TEXT
        typical = _matching(pattern) if as_they_are else _TYPICAL
        yield from (_fitted(text, least, most, "") for text in (*_spelt(name), *typical))


@lru_cache(maxsize=256)
def _matching(pattern: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(filter(pattern.search, _TYPICAL))


def _spelt(name: str) -> tuple[str, ...]:
    words = _words(name) or ["value"]
    return " ".join(words), "-".join(words), "_".join(words), "_".join(words).upper()


def _fitted(text: str, least: int, most: int, glue: str) -> str:
    """Return `text` repeated or cut to a length in the bounds, without white space at its ends."""
    if least <= len(text) <= most:
        return text
    if len(text) < least:
        text = ((text + glue or "x") * least)[:least]
    # Cutting may leave white space at the end, which would be lost on the way.
    return text[:most].strip().ljust(least, "x")


def _exact(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _numbers(parts: list[Node], name: str, integer: bool) -> Iterator[int | float]:
    """Yield numbers that may fit: what the name suggests, 1, and what is near to the bounds."""
    yield _number_for(name, integer)
    yield 1
    lows = [_exact(part[word]) for part in parts for word in ("minimum", "exclusiveMinimum") if word in part]
    highs = [_exact(part[word]) for part in parts for word in ("maximum", "exclusiveMaximum") if word in part]
    nearest = min([max([Fraction(1), *lows]), *highs])
    unit = _unit(parts, integer)
    steps = nearest / unit
    near = [each * unit for each in (ceil(steps), floor(steps), ceil(steps) + 1, floor(steps) - 1)]
    if lows and highs:
        near += [nearest, (max(lows) + min(highs)) / 2]
    # Beyond this not every fraction is a float, and some are no float at all.
    yield from (_plain(each) for each in near if each.denominator == 1 or abs(each) < 2**53)


def _plain(number: Fraction) -> int | float:
    return int(number) if number.denominator == 1 else float(number)


def _unit(parts: list[Node], integer: bool) -> Fraction:
    """Return the step between numbers that fit every `multipleOf`; 1 if there is none."""
    units = [_exact(part["multipleOf"]) for part in parts if "multipleOf" in part]
    if integer or not units:
        units.append(Fraction(1))
    return Fraction(lcm(*(unit.numerator for unit in units)), gcd(*(unit.denominator for unit in units)))


def _varied(shape: Shape, value: Any) -> Iterator[Any]:
    """Yield values like `value`, for lists that hold nothing twice."""
    for each in shape.alternatives:
        if isinstance(each, EnumShape):
            yield from each.values
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, str):
        numbers = range(2, MAX_ITEMS + 3)
        yield from (re.sub(r"(?=\.[A-Za-z]\w*\Z)|\Z", str(number), value, count=1) for number in numbers)
        yield from (f"{value[:-1]}{number}" for number in numbers)
    elif isinstance(value, (int, float)):
        unit = _unit(_parts(shape), isinstance(value, int))
        steps = (*range(1, MAX_ITEMS), *range(-1, -MAX_ITEMS, -1))
        yield from (_plain(_exact(value) + step * unit) for step in steps)
    elif isinstance(value, dict):
        yield from ({**value, name: other} for name in value for other in _varied(shape.child(name), value[name]))


# Making


def sample_arguments(shape: ObjectShape, *, smallest: bool = False) -> dict[str, Any] | None:
    """Return made-up arguments for a tool, always the same for the same schema.

    Takes the shape that `compile_schema` made of the tool's parameters. The arguments hold the required
    properties and, where that shows more, one or two optional ones, unless `smallest`. Returns None if no
    valid arguments were found, be it that there are none or that they are hard to find.
    """
    for lean in (True,) if smallest else (False, True):
        try:
            made = _Sampler(shape, lean).value(shape, "")
        except (_ExhaustedError, RecursionError):
            continue
        if made is not ABSENT:
            return made  # type: ignore[no-any-return]
    return None


class _ExhaustedError(Exception):
    """The schema takes more work than an example is worth."""


class _PatientChecker(Checker):
    """A checker that counts its steps and has no words: it is only asked whether a value fits."""

    __slots__ = ("_left",)

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self._left = MAX_CHECKS

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _ExhaustedError

    def problems(self, node: Node, value: Any, path: Path = ()) -> Iterator[Problem]:
        self._count()
        return super().problems(node, value, path)

    def fits(self, node: Node, value: Any) -> bool:
        # What is remembered counts too: `unevaluatedProperties` asks nothing else.
        self._count()
        return super().fits(node, value)

    def expectation(self, node: Node, depth: int = 3) -> str:
        return ""

    def likely(self, nodes: list[Node], value: Any) -> Node | None:
        return None


class _Sampler:
    """Makes one sample. A value that cannot be had is ABSENT."""

    __slots__ = ("_checker", "_document", "_kept", "_left", "_open", "smallest", "thorough")

    def __init__(self, shape: ObjectShape, smallest: bool) -> None:
        self._document = document = shape.make.document
        self.smallest = smallest
        self.thorough = not _is_simple(document) or any("anyOf" in part for part in shape.parts)
        """Whether values must be checked, as the schema has more than they honour by construction."""
        self._checker = _PatientChecker(document)
        self._kept: list[Any] = []
        self._left = MAX_VALUES
        self._open: list[tuple[int, ...]] = []

    def value(self, shape: Shape, name: str) -> Any:
        """Return a value of the shape for the property `name`."""
        self.spend(1)
        parts = _parts(shape)
        for told in islice(_told(parts), MAX_TRIES):
            if _is_of_kind(shape, told) and self._fits(shape, told):
                return deepcopy(told)
        return _MAKERS[type(shape)](self, shape, parts, name)

    def spend(self, effort: int) -> None:
        """Take `effort` from what is left; raise _ExhaustedError if nothing is."""
        self._left -= effort
        if self._left < 0:
            raise _ExhaustedError

    def recurs(self, shape: Shape, items: bool = True) -> bool:
        """Return whether a value of the shape would be inside another of the same schema, null aside."""
        alternatives = [each for each in shape.alternatives if not _is_null(each)]
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
        return self._first(shape, parts, _texts(self._document, parts, name))

    def _any(self, shape: AnyShape, parts: list[Node], name: str) -> Any:
        others: tuple[Any, ...] = (True, False, [], {}, None)
        texts, numbers = _texts(self._document, parts, name), _numbers(parts, name, False)
        return self._first(shape, parts, chain(texts, numbers, others))

    def _enum(self, shape: EnumShape, parts: list[Node], name: str) -> Any:
        values = sorted(shape.values[:MAX_TRIES], key=lambda value: value is None)
        value = self._first(shape, parts, values)
        return value if value is ABSENT else deepcopy(value)

    def _scalar(self, shape: ScalarShape, parts: list[Node], name: str) -> Any:
        if shape.type == "null":
            return self._first(shape, parts, (None,))
        if shape.type == "boolean":
            return self._first(shape, parts, (True, False))
        return self._first(shape, parts, _numbers(parts, name, shape.type == "integer"))

    def _union(self, shape: UnionShape, parts: list[Node], name: str) -> Any:
        # A recursion comes to its end where it can: null is better than one more round.
        ranked = sorted(shape.alternatives, key=lambda each: 1 if _is_null(each) else 2 * self.recurs(each))
        made = (self.value(each, name) for each in ranked)
        return next((each for each in made if each is not ABSENT and self._passes(shape, each)), ABSENT)

    def _array(self, shape: ArrayShape, parts: list[Node], name: str) -> Any:
        least, most = _bound(parts, "minItems", max, 0), _bound(parts, "maxItems", min, MAX_ITEMS)
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
        varied = islice(_varied(shape, item), MAX_TRIES)
        return next((each for each in varied if comparable(each) not in seen and self._fits(shape, each)), ABSENT)

    def _object(self, shape: ObjectShape, parts: list[Node], name: str) -> Any:
        if len(self._open) >= MAX_DEPTH:
            return ABSENT
        is_root = not self._open
        self._open.append(_key(parts))
        objects = _Draft(self, shape, is_root).objects()
        made = next((each for each in objects if self._passes(shape, each)), ABSENT)
        self._open.pop()
        return made


_MAKERS: dict[type[Shape], Callable[[_Sampler, Any, list[Node], str], Any]] = {
    TextShape: _Sampler._text,
    AnyShape: _Sampler._any,
    EnumShape: _Sampler._enum,
    ScalarShape: _Sampler._scalar,
    UnionShape: _Sampler._union,
    ArrayShape: _Sampler._array,
    ObjectShape: _Sampler._object,
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


def _parts(shape: Shape) -> list[Node]:
    if isinstance(shape, (ObjectShape, ArrayShape)):
        return shape.parts
    return shape.maker.parts(shape.nodes) if shape.maker else []


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


def _is_null(shape: Shape) -> bool:
    if isinstance(shape, EnumShape):
        return shape.values == [None]
    return isinstance(shape, ScalarShape) and shape.type == "null"


# Objects: which properties


class _Draft:
    """An object on its way: its properties in order, and their values, each made once."""

    __slots__ = ("_is_root", "_names", "_parts", "_required", "_sampler", "_shape", "_values")

    def __init__(self, sampler: _Sampler, shape: ObjectShape, is_root: bool) -> None:
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
        extras: list[str] = []
        if self._sampler.smallest:
            return extras
        if self._is_root and not any(map(self._is_nested, self._required)):
            nested = (name for name in self._optional() if self._is_nested(name))
            extras += islice((name for name in nested if self._value(name) is not ABSENT), 1)
        return extras if self._required else [*extras, *islice(self._available(), 1)]

    def _is_nested(self, name: str) -> bool:
        shape = self._shape.child(name)
        first = next((each for each in shape.alternatives if not _is_null(each)), shape)
        return isinstance(first, (ObjectShape, ArrayShape))

    def _branches(self) -> Iterator[_Draft]:
        """Yield the object as it is if one of its alternatives applies, or one of its conditions holds."""
        for part in self._parts:
            nodes = [each for word in ("anyOf", "oneOf") for each in part.get(word, ())]
            nodes += [part[word] for word in ("then", "else") if word in part]
            nodes += part.get("dependentSchemas", {}).values()
            for node in nodes:
                both, maker = (*self._shape.nodes, node), self._shape.make
                yield _Draft(self._sampler, ObjectShape(maker, both, maker.parts(both)), self._is_root)

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
        count = min(max(1, _bound(self._parts, "minProperties", max, 1)), MAX_ITEMS)
        return {f"{key}{number + 1 if number else ''}": deepcopy(value) for number in range(count)}

    def _key(self) -> str:
        maker, pattern = self._shape.make, self._pattern()
        wanted = tuple(part["propertyNames"] for part in self._parts if "propertyNames" in part)
        if wanted:
            name = self._sampler.value(maker.shape(wanted), "name")
            return name if isinstance(name, str) else "name"
        if pattern is None:
            return "name"
        return next(filter(maker.document.patterns[pattern].search, ("name", *_TYPICAL)), "name")
