"""Typed values as rows of text: a reader of JSON in a browser would lose digits of large numbers, and `5.0`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

ROWS = 1_000
"""Values of one call that are written at most."""

_PATH = 300  # characters of a path: more lose their middle

_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array"}


def write_path(path: Iterable[str | int]) -> str:
    """Return a path as a person would write it; a long one without its middle.

    >>> write_path(("files", 0, "name"))
    'files[0].name'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    written = "".join(steps).removeprefix(".")
    return written if len(written) <= _PATH else f"{written[: _PATH // 2]}…{written[-_PATH // 2 :]}"


def kind_of(value: Any) -> str:
    """Return the JSON type of a value: integers are no numbers here."""
    return _KINDS.get(type(value), "object")


def write_rows(arguments: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a row for each value that holds no others: its path, its JSON type, and its text (strings as they are).

    There are at most `ROWS`.
    """
    return [
        {
            "path": write_path(path),
            "type": kind_of(value),
            "value": value if isinstance(value, str) else json.dumps(value),
        }
        for path, value in islice(_leaves((), arguments), ROWS)
    ]


def _leaves(path: tuple[str | int, ...], value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The values in a value. It is as deep as the parser's limits allow."""
    inside: Iterable[tuple[str | int, Any]]
    if value and isinstance(value, Mapping):
        inside = value.items()
    elif value and isinstance(value, list):
        inside = enumerate(value)
    else:
        if path:
            yield path, value
        return
    for step, inner in inside:
        yield from _leaves((*path, step), inner)
