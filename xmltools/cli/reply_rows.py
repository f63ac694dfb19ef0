"""Replies in the rows of a file: JSON Lines, and what else `xmltools batch` reads; and files that only look so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from xmltools.cli.shared import UsageError, read_bytes
from xmltools.errors import XMLToolsError

_JSON = re.compile(r'\s*(?:\[\s*)?\{\s*"')
_COLUMN = "reply"
_LOOK = 1000
"""Rows that are looked at to see which columns there are."""
NO_ROWS = (
    "looks like JSON, and is read as text: calls in JSON strings are not found; xmltools batch and dialects detect "
    "read JSON Lines"
)
"""What to say of a file that looks like JSON, and in which no call was found."""


def looks_like_json(text: str) -> bool:
    """Return whether a text begins as a JSON object does, or as a list of them."""
    return _JSON.match(text) is not None


def replies_in(name: str, column: str | None) -> Iterator[str] | None:
    """Return the replies in a column of a file, None if its name does not end as one with rows does and no column is
    given: it is a reply then. A file with another name that has a column, and standard input, is JSON Lines.

    Without a column it is `reply`, or the only one that holds text. Raises `UsageError` if there is no such column, and
    `XMLToolsError` for a file that is not of its format and a value that is no text.
    """
    from xmltools.batch.files.places import Kind, kind_of

    kind = kind_of(Path(name)) if name != "-" else None
    if kind is None and column is None:
        return None
    try:
        rows = _rows(name, kind or Kind("jsonl"))
        first = list(islice(rows, _LOOK))
        found = _column(name, column, first)
    except ImportError as error:
        raise UsageError(str(error)) from None
    return (text for part in (first, rows) for text in _texts(name, found, part)) if found else iter(())


def _column(name: str, asked: str | None, rows: list[tuple[int, dict[str, Any]]]) -> str | None:
    """Return the column with the replies, None if there are no rows."""
    names = {key: None for _, row in rows for key in row}
    if not rows:
        return None
    if asked is not None and asked not in names:
        raise UsageError(f"--column: {name}: there is no column {asked!r:.80}; there are {_listed(names)}")
    if asked or _COLUMN in names:
        return asked or _COLUMN
    texts = [key for key in names if any(isinstance(row.get(key), str) for _, row in rows)]
    if not texts:
        raise UsageError(f"{name}: expected a column with replies as text; there are {_listed(names)}")
    if len(texts) > 1:
        raise UsageError(f"{name}: say with --column which one holds the replies; with text there are {_listed(texts)}")
    return texts[0]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{name!r:.80}" for name in islice(names, 20))


def _texts(name: str, column: str, rows: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[str]:
    for number, row in rows:
        value = row.get(column)
        if isinstance(value, str):
            yield value
        elif value is not None:
            raise XMLToolsError(f"{name}:{number}: expected text in {column!r:.80}, got {type(value).__name__}")


def _rows(name: str, kind: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a file, each with its number or that of its line."""
    from xmltools.batch.files.places import Source
    from xmltools.batch.files.read_pieces import Piece, read_pieces
    from xmltools.batch.json_lines import read_object

    if name == "-" or not Path(name).is_file():
        pieces = iter([Piece(0, 1, 1.0, read_bytes(name))])  # or it says what is wrong
    else:
        pieces = read_pieces(Source(Path(name), Path(name), kind))
    for piece in pieces:
        if kind.format != "jsonl":
            from xmltools.batch.arrow import pa

            yield from enumerate(pa.ipc.open_stream(piece.data).read_all().to_pylist(), piece.first)
            continue
        for number, line in enumerate(piece.data.split(b"\n"), piece.first):
            if line.strip():
                found, problem = read_object(line.strip())
                if found is None:
                    raise XMLToolsError(f"{name}:{number}: {problem}")
                yield number, found
