"""Strings and numbers that may fit a schema, the plainest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, lcm
from typing import Any

from xmltools.tools.schema.document import Document, Node
from xmltools.tools.schema.facts import parts_of
from xmltools.tools.schema.patterns import Pattern
from xmltools.tools.schema.shapes import EnumShape, Shape
from xmltools.tools.schema.topics import by_word, number_for, text_for, words_of

__all__ = ["MAX_ITEMS", "TYPICAL", "bound", "numbers", "texts", "varied"]

MAX_ITEMS = 5
MAX_TEXT = 1_000
"""Characters of a made-up string. What must be longer than this is no example."""

_FORMATS = by_word(
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
TYPICAL = (
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


def bound(parts: list[Node], word: str, choose: Callable[..., Any], otherwise: Any) -> Any:
    """Return the bound that all schemas together set: `choose` is max or min."""
    return choose((part[word] for part in parts if word in part), default=otherwise)


def texts(document: Document, parts: list[Node], name: str) -> Iterator[str]:
    """Yield strings that may fit, as long as the schemas ask for."""
    least, most = bound(parts, "minLength", max, 0), min(bound(parts, "maxLength", min, MAX_TEXT), MAX_TEXT)
    if least > most:
        return
    for text in (_FORMATS[part["format"]] for part in parts if part.get("format") in _FORMATS):
        if len(text) <= most:
            yield text.rjust(least, text[0])
    pattern = next((document.patterns[part["pattern"]] for part in parts if "pattern" in part), None)
    yield _fitted(text_for(name), least, most, "" if pattern else " ")
    if pattern:
        as_they_are = not least and most == MAX_TEXT
        typical = _matching(pattern) if as_they_are else TYPICAL
        yield from (_fitted(text, least, most, "") for text in (*_spelt(name), *typical))


@lru_cache(maxsize=256)
def _matching(pattern: Pattern) -> tuple[str, ...]:
    return tuple(filter(pattern.found, TYPICAL))


def _spelt(name: str) -> tuple[str, ...]:
    words = words_of(name) or ["value"]
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


def numbers(parts: list[Node], name: str, integer: bool) -> Iterator[int | float]:
    """Yield numbers that may fit: what the name suggests, 1, and what is near to the bounds."""
    yield number_for(name, integer)
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


def varied(shape: Shape, value: Any) -> Iterator[Any]:
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
        unit = _unit(parts_of(shape), isinstance(value, int))
        steps = (*range(1, MAX_ITEMS), *range(-1, -MAX_ITEMS, -1))
        yield from (_plain(_exact(value) + step * unit) for step in steps)
    elif isinstance(value, dict):
        yield from ({**value, name: other} for name in value for other in varied(shape.child(name), value[name]))
