"""JSON Lines: what a line holds stays as it was written, and what was found is added to its object.

An object is not written anew: the new keys are put in front of its closing brace. So nothing is lost that a reader of
JSON would lose: digits of numbers, repeated keys, how a character was escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from pydantic_core import from_json

from xmltools.batch.options import BatchOptions
from xmltools.batch.rows import Row, RowParser, compact_bytes, failed_row

_WHITE = b" \t\r\n"
_DEPTH = 500
"""Levels of nesting in a line: what is read must also be written, by whoever has less of the stack left."""
_DEEP = f"expected a JSON object of at most {_DEPTH} levels, and numbers that are not too long"


class Line(NamedTuple):
    """A line of a file, the object in it (None if it holds none), and what the row holds."""

    source: bytes
    object: dict[str, Any] | None
    row: Row


def parse_lines(data: bytes, first: int, name: str, options: BatchOptions, parser: RowParser) -> Iterator[Line]:
    """Yield the lines in `data` that hold anything. The first has the number `first` in the file `name`.

    Raises `XMLToolsError` if an object has a key already that is to be added.
    """
    added = frozenset(options.added)
    for number, line in enumerate(data.split(b"\n"), first):
        source = line.strip(_WHITE)
        if not source:
            continue
        found, problem = read_object(source)
        if found is None:
            yield Line(line, None, failed_row("invalid_line", problem))
            continue
        if not added.isdisjoint(found):
            options.check_names(found, f"{name}:{number}")
        own = found.get(options.tools_column) if options.tools_column is not None else None
        yield Line(source, found, parser.parse(found.get(options.column), own))


def read_object(line: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the object in a line; or None, and what is wrong with it."""
    try:
        value = from_json(line)
    except ValueError:  # `json` takes more, and says what is wrong
        try:
            value = json.loads(str(line, "utf-8"))
        except UnicodeDecodeError as error:
            return None, f"expected UTF-8, got the byte {line[error.start]:#04x} at {error.start}"
        except json.JSONDecodeError as error:
            return None, f"expected a JSON object: {error.msg.removesuffix(' at')} at character {error.pos}"
        except (ValueError, RecursionError):
            return None, _DEEP
    if not isinstance(value, dict):
        return None, f"expected a JSON object, got {type(value).__name__}"
    if line.count(b"[") + line.count(b"{") > _DEPTH and _is_deep(value):
        return None, _DEEP
    return value, ""


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list)))
        level = list(chain.from_iterable(inner))
    return any(isinstance(each, (dict, list)) for each in level)


def text_of(line: bytes) -> str:
    """Return a line that holds no object as text; bytes that are no UTF-8 are U+FFFD in it, since readers may
    refuse half characters."""
    return str(line, "utf-8", "replace")


def written(line: Line, options: BatchOptions) -> bytes:
    """Return the line with what its row holds, without a line break."""
    source = line.source
    if line.object is None:
        source = compact_bytes({options.invalid_line: text_of(source)})
    body = source[:-1].rstrip(_WHITE)
    comma = b"" if line.object == {} else b", "
    return body + comma + as_json(line.row, options)[1:]


def as_json(row: Row, options: BatchOptions) -> bytes:
    """Return what a row holds as a JSON object with the names of the columns."""
    return compact_bytes(dict(zip(options.added, row, strict=True)))
