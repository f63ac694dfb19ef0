"""Numbers that remember how they were written: where a string is declared, a model may leave out its quotes."""

from __future__ import annotations

import math
from typing import Any

from xmltools.syntax.json_reader import LenientReader, Slip, read_number
from xmltools.syntax.late_patterns import late_pattern
from xmltools.tools.schema.equality import Path

_ZEROS = late_pattern(r"\A([-+]?)0+(?=[0-9])")


class WrittenInteger(int):
    """An integer and its text."""

    text: str


class WrittenNumber(float):
    """Another number and its text. It is infinite if it is too large to be one."""

    text: str


def written_number(text: str) -> float:
    """Read a number of JSON or Python that remembers its text. Zeros in front of it count for nothing."""
    try:
        value = read_number(_ZEROS.sub(r"\1", text))
    except ValueError:
        value = math.inf
    number = WrittenInteger(value) if isinstance(value, int) else WrittenNumber(value)
    number.text = text
    return number


def loads_written(text: str, depth: int, *, loose: bool = False) -> tuple[Any, list[Slip]]:
    """Read a list or an object as `loads_lenient` does, with numbers that remember their text."""
    return LenientReader(text, depth, written_number, loose=loose).read()


def text_of(value: Any) -> str | None:
    """Return how a number was written; None for all else, and for a number that does not remember it."""
    return value.text if isinstance(value, (WrittenInteger, WrittenNumber)) else None


def settled(value: Any) -> tuple[Any, list[tuple[Path, str]], list[tuple[Path, str]]]:
    """Return a JSON value with plain numbers, and the places and texts of those that are too large, which stay texts,
    and of those with zeros in front."""
    lost: list[tuple[Path, str]] = []
    zeros: list[tuple[Path, str]] = []
    holder: list[Any] = [value]
    left: list[tuple[Path, Any, Any]] = [((), holder, 0)]
    while left:
        path, container, key = left.pop()
        item = container[key]
        if isinstance(item, dict):
            container[key] = members = dict(item)
            left += [((*path, name), members, name) for name in reversed(members)]
        elif isinstance(item, list):
            container[key] = items = list(item)
            left += [((*path, number), items, number) for number in reversed(range(len(items)))]
        elif (text := text_of(item)) is not None:
            if item in (math.inf, -math.inf):
                lost.append((path, text))
                container[key] = text
                continue
            if _ZEROS.match(text):
                zeros.append((path, text))
            container[key] = int(item) if isinstance(item, int) else float(item)
    return holder[0], lost, zeros
