"""What of an answer is not what its case expects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["Difference", "differences"]

_ENTRY_DEFAULTS = {"calls": {"legacy_json": False}, "errors": {}}


class Difference(NamedTuple):
    """One place of an answer: what was expected there and what was found, both as JSON."""

    place: str
    expected: str
    found: str


def differences(expect: dict[str, Any], answer: dict[str, Any]) -> Iterator[Difference]:
    """Yield the places where an answer is not what the case expects. What is more in the answer does not matter."""
    for key in ("text", "reasoning"):
        yield from _compare(key, expect[key], answer.get(key))
    yield from _compare(
        "unclosed_reasoning", expect.get("unclosed_reasoning", False), answer.get("unclosed_reasoning", False)
    )
    for kind, defaults in _ENTRY_DEFAULTS.items():
        yield from _compare_entries(kind, defaults, expect[kind], answer.get(kind))


def _compare_entries(kind: str, defaults: dict[str, Any], expected: list[Any], found: Any) -> Iterator[Difference]:
    if not isinstance(found, list) or len(found) != len(expected):
        yield Difference(kind, _json(expected), _json(found))
        return
    for number, (entry, other) in enumerate(zip(expected, found, strict=True)):
        place = f"{kind}[{number}]"
        if not isinstance(other, dict):
            yield Difference(place, _json(entry), _json(other))
            continue
        for key, value in (defaults | entry).items():
            # Answers need not name the tool of an error.
            if key in other or (kind, key) != ("errors", "name"):
                yield from _compare(f"{place}.{key}", value, other.get(key, defaults.get(key)))


def _compare(place: str, expected: Any, found: Any) -> Iterator[Difference]:
    if not _same(expected, found):
        yield Difference(place, _json(expected), _json(found))


def _same(a: Any, b: Any) -> bool:
    """Whether two JSON values are equal: true is not 1, but 3 is 3.0."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
