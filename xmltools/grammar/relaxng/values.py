"""What may stand between the tags of a leaf, as RELAX NG says it: strings, numbers, enums."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from xmltools.grammar.issues import Report
from xmltools.grammar.relaxng.printing import NIL, NOT_ALLOWED, TEXT, Rule, choice, data, is_in_xml, value
from xmltools.grammar.relaxng.xsd import XsdPattern, xsd_format, xsd_literal, xsd_pattern
from xmltools.grammar.schema_values import valid_values
from xmltools.syntax.json_reader import MAX_DIGITS
from xmltools.tools.schema import (
    Bounds,
    EnumShape,
    ScalarShape,
    Shape,
    TextFacts,
    bounds_of,
    text_facts,
)

MAX_PATTERN_TEXT = 10_000
"""Characters of a text in which a pattern is looked for: a longer one does not fit."""

JSON_OBJECT = data("string", ("pattern", r"\s*\{[\s\S]*"))
JSON_LIST = data("string", ("pattern", r"\s*\[[\s\S]*"))
_SPACES = " \t\n\r"
_SPACE = re.compile(f"[{_SPACES}]")
_WHOLE = r"-?(0|[1-9][0-9]*)"
_INTEGER = ("pattern", rf"\s*{_WHOLE}\s*")
# Numbers that our parser reads as floats. The others it reads as integers, however many digits they have.
_EXPONENT = r"[eE][+\-]?[0-9]+"
_FLOAT = ("pattern", rf"\s*{_WHOLE}(\.[0-9]+({_EXPONENT})?|{_EXPONENT})\s*")
_LARGEST = sys.float_info.max
_MOST = 10**MAX_DIGITS
"""Integers have to be smaller: neither our parser nor `repr` takes more digits."""


# Strings


def text(shape: Shape, report: Report, place: str) -> Rule:
    """Return the pattern of a string."""
    report.add_others(place, shape, ("minLength", "maxLength", "pattern", "format"))
    facts = text_facts(shape)
    return TEXT if facts.is_free else _constrained(facts, report, place)


def _constrained(facts: TextFacts, report: Report, place: str) -> Rule:
    patterns = _patterns(facts, report, place)
    low = max(facts.low, *(each.low for each in patterns), 0)
    most = [facts.high, *(each.high for each in patterns), MAX_PATTERN_TEXT if facts.patterns else None]
    high = min((each for each in most if each is not None), default=None)
    if high is not None and high < low:
        return NOT_ALLOWED
    # Lengths come first: what is too long is not searched.
    facets = [("minLength", str(low))] if low else []
    facets += [("maxLength", str(high))] if high is not None else []
    facets += (("pattern", each.text) for each in patterns)
    return data("string", *facets) if facets else TEXT


def _patterns(facts: TextFacts, report: Report, place: str) -> list[XsdPattern]:
    """Return the expressions of patterns and formats."""
    found = [(each, xsd_pattern(each)) for each in facts.patterns]
    for text, expression in found:
        if expression is None:
            report.add(place, "pattern", f"{text[:80]!r} cannot be said in XML Schema")
        elif not expression.exact:
            report.add(place, "pattern", "what is no ASCII may be a digit and a word character, and may be none")
    formats = [(each, xsd_format(each)) for each in facts.formats]
    for name, expression in formats:
        if expression is None:
            report.add(place, "format", f"{name[:80]!r} is not enforced")
    return [expression for _, expression in (*found, *formats) if expression is not None]


# Numbers, booleans, null


def scalar(shape: ScalarShape, report: Report, place: str) -> Rule:
    """Return the pattern of an integer, a number, a boolean or null."""
    report.add_others(place, shape, ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
    if shape.type == "boolean":
        return choice(value("true"), value("false"))
    if shape.type == "null":
        return choice(NIL, value("null"))
    integers = _integers(bounds_of(shape))
    return integers if shape.type == "integer" else choice(integers, _floats(bounds_of(shape)))


def _integers(bounds: Bounds) -> Rule:
    low, high = bounds.for_integers()
    if low is not None and high is not None and low > high:
        return NOT_ALLOWED
    return data("integer", _INTEGER, *_limits(low, high))


def _limits(low: float | None, high: float | None) -> list[tuple[str, str]]:
    limits = (("minInclusive", low), ("maxInclusive", high))
    return [(name, repr(limit)) for name, limit in limits if limit is not None and abs(limit) < _MOST]


def _floats(bounds: Bounds) -> Rule:
    """Return the pattern of numbers with a point or an exponent: floats, between the floats next to the bounds."""
    low = -_LARGEST if bounds.low is None else _float_above(bounds.low, bounds.low_open)
    high = _LARGEST if bounds.high is None else -_float_above(-bounds.high, bounds.high_open)
    if low > high or math.isinf(low) or math.isinf(high):
        return NOT_ALLOWED
    return data("double", _FLOAT, *_limits(low, high))


def _float_above(limit: float, beyond: bool) -> float:
    """Return the first float from `limit` on; `beyond`: that is larger than it. Integers may be larger than any."""
    if abs(limit) > _LARGEST:
        return math.inf if limit > 0 else -_LARGEST
    number = float(limit)
    return math.nextafter(number, math.inf) if number < limit or (beyond and number == limit) else number


# Enums


def enum(shape: EnumShape, report: Report, place: str) -> Rule:
    """Return the pattern of one of several values, those left out that do not fit the rest of the schema."""
    return choice(*(_constant(each, report, place) for each in valid_values(shape)))


def _constant(constant: Any, report: Report, place: str) -> Rule:
    if isinstance(constant, str):
        if is_in_xml(constant):
            return trimmed(constant)
        report.add(place, "enum", "XML does not have all characters of its values")
        return NOT_ALLOWED
    if isinstance(constant, (dict, list)):
        report.add(place, "enum", "lists and objects, which are written as JSON, are not compared")
        return JSON_OBJECT if isinstance(constant, dict) else JSON_LIST
    if constant is None:
        return choice(NIL, value("null"))
    if isinstance(constant, bool):
        return value("true" if constant else "false")
    return choice(*map(value, _spellings(constant))) if abs(constant) < _MOST else NOT_ALLOWED


def _spellings(number: float) -> list[str]:
    # 5 and 5.0 are the same value to a schema.
    if isinstance(number, float):
        return [repr(number), repr(int(number))] if number.is_integer() else [repr(number)]
    is_float = abs(number) <= _LARGEST and int(float(number)) == number
    return [repr(number), repr(float(number))] if is_float else [repr(number)]


def trimmed(constant: str) -> Rule:
    """Return the pattern of a string with white space around it, unless it has some at its own ends."""
    if constant.strip(_SPACES) != constant:
        return value(constant, "string")
    if _SPACE.search(constant):
        return data("string", ("pattern", rf"\s*{xsd_literal(constant)}\s*"))
    return value(constant)
