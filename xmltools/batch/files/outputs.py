"""Reading what a run has written, batch by batch, whatever its format: for the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from xmltools.batch.arrow import pa
from xmltools.batch.files.places import Source, find_sources
from xmltools.batch.files.reading import read_batches, read_pieces
from xmltools.batch.json_lines import read_object
from xmltools.batch.kernel import with_rows
from xmltools.batch.options import BatchOptions
from xmltools.batch.rows import Row, compact

__all__ = ["read_outputs"]


def read_outputs(paths: Iterable[Path], options: BatchOptions) -> Iterator[Any]:
    """Yield the rows of outputs as record batches, in order. A folder stands for the files in it.

    Those of JSON Lines have the column that was parsed, as text, and those that were added.
    """
    for path in paths:
        for source in find_sources(path, ""):
            if source.kind.format == "jsonl":
                yield from _from_lines(source, options)
            else:
                yield from (batch for batch, _ in read_batches(source))


def _from_lines(source: Source, options: BatchOptions) -> Iterator[Any]:
    for piece in read_pieces(source):
        lines = filter(None, piece.encode().split(b"\n"))
        objects = [found for line in lines if (found := read_object(line)[0]) is not None]
        replies = pa.array([_text(each.get(options.column)) for each in objects], pa.string())
        rows = [Row(*(each[name] for name in options.added)) for each in objects]
        yield from with_rows(pa.table({options.column: replies}), [rows], options).to_batches()


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else compact(value)
    return text.encode("utf-8", "backslashreplace").decode()
