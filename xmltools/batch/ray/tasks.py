"""What the tasks of Ray do: read the pieces of a file, and write a file with what is in some of them.

Nothing here needs Ray. What goes wrong is a result too, since Ray keeps no more of an exception than its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from xmltools.batch.arrow import pa
from xmltools.batch.files.places import Kind, Source
from xmltools.batch.files.reading import read_pieces
from xmltools.batch.files.worker import Task, Worker
from xmltools.batch.files.writing import put_together
from xmltools.batch.options import BatchOptions
from xmltools.batch.summary import Counts
from xmltools.errors import XMLToolsError

__all__ = ["parse_pieces", "read_files"]

_PIECES = pa.schema(
    [
        ("number", pa.int64()),
        ("first", pa.int64()),
        ("rows", pa.int64()),
        ("weight", pa.float64()),
        ("data", pa.large_binary()),
        ("problem", pa.string()),
    ]
)
"""What is read: rows of the file with the number, or why there are none."""

_DONE = pa.schema(
    [
        ("file", pa.string()),
        ("number", pa.int64()),
        ("first", pa.int64()),
        ("weight", pa.float64()),
        ("counts", pa.string()),
        ("problem", pa.string()),
    ]
)
"""What is written: the file, where its rows come from and what they hold, or why there is none."""


def read_files(batch: Any, sources: Sequence[Source]) -> Iterator[Any]:
    """Yield the pieces of files, each as a table of one row."""
    total = sum(source.size for source in sources)
    for number in batch["number"].to_pylist():
        source, share = sources[number], 0.0
        try:
            for piece in read_pieces(source):
                weight = (piece.share - share) * source.size / total
                share = piece.share
                yield _one(_PIECES, number, piece.first, piece.rows, weight, piece.encode(), None)
        except (XMLToolsError, OSError) as error:
            yield _one(_PIECES, number, 0, 0, 0.0, b"", str(error))


def _one(schema: Any, *values: Any) -> Any:
    return pa.Table.from_pylist([dict(zip(schema.names, values, strict=True))], schema)


def parse_pieces(pieces: Any, sources: Sequence[Source], options: BatchOptions, folder: Path, kind: Kind) -> Any:
    """Parse pieces and write a file with their rows. Returns a table with one row, which tells of it."""
    found = pieces.to_pylist()
    if not found:
        return _DONE.empty_table()
    number, first = found[0]["number"], found[0]["first"]
    weight = sum(each["weight"] for each in found)
    file = uuid4().hex
    counts, problem = Counts(), None
    try:
        with TemporaryDirectory() as parts:
            paths = list(_parsed(found, sources, _worker(options), Path(parts), kind))
            put_together(paths, folder / file, kind, options, counts)
    except (XMLToolsError, OSError, MemoryError) as error:
        problem = str(error) or type(error).__name__
    return _one(_DONE, file, number, first, weight, json.dumps(counts.as_json()), problem)


@lru_cache(maxsize=1)
def _worker(options: BatchOptions) -> Worker:
    """Return the worker of this process, which has made its tools for the tasks that come after the first."""
    return Worker(options)


def _parsed(
    pieces: Iterable[dict[str, Any]], sources: Sequence[Source], worker: Worker, parts: Path, kind: Kind
) -> Iterator[Path]:
    """Yield the parts that the worker makes of pieces. Raises `XMLToolsError` for one that could not be read."""
    for place, piece in enumerate(pieces):
        source, problem = sources[piece.pop("number")], piece.pop("problem")
        if problem is not None:
            raise XMLToolsError(problem)
        path = parts / str(place)
        worker.do(Task(path=path, source=str(source.path), lines=source.kind.format == "jsonl", kind=kind, **piece))
        yield path
