"""What a JSON Schema holds to be an integer, or equal; what did not fit, and how messages speak of values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

Path = tuple[str | int, ...]

ABSENT = object()


class Problem(NamedTuple):
    """One thing that does not fit: where (names, and positions in lists), what was expected, what came."""

    path: Path
    expected: str
    got: str

    def __str__(self) -> str:
        place = place_in_words(self.path)
        return f"{place}: expected {self.expected}, got {self.got}" if place else f"expected {self.expected}"


def place_in_words(path: Path) -> str:
    """Return how a message names a place, as `items[0].n`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def describe(value: Any) -> str:
    """Return how a message speaks of `value`: short, and never more than 60 characters of it."""
    if value is ABSENT:
        return "nothing"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return repr(value[:60]) + ("…" if len(value) > 60 else "")
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very large integer"
    return json.dumps(value, default=repr)


def fits_type(value: Any, name: str) -> bool:
    """Return whether `value` is of the JSON Schema type `name`: 5.0 is an integer, and true is no number."""
    if name in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        if isinstance(value, float):
            return value.is_integer() if name == "integer" else math.isfinite(value)
        return True
    return isinstance(value, _PYTHON_TYPES[name])


def is_one_of(value: Any, names: Iterable[str]) -> bool:
    """Return whether `value` is of any of these types."""
    for name in names:  # noqa: SIM110 - asked of every value, and a generator takes as long again
        if fits_type(value, name):
            return True
    return False


_PYTHON_TYPES = {"string": str, "boolean": bool, "null": type(None), "array": list, "object": dict}


def comparable(value: Any) -> Any:
    """Return something hashable, equal for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", *map(comparable, value))
    if isinstance(value, dict):
        return ("dict", frozenset((name, comparable(each)) for name, each in value.items()))
    return value


def equal(one: Any, other: Any) -> bool:
    """Return whether JSON holds the two values equal."""
    return bool(comparable(one) == comparable(other))


def listed(values: list[Any]) -> str:
    """Return values for a message, at most 20 of them."""
    words = [describe(value) for value in values[:20]]
    return ", ".join(words) + (", …" if len(values) > 20 else "")
