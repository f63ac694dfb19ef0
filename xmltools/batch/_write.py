"""Parts put together into one file, in order and piece by piece."""

from __future__ import annotations

import csv
import gzip
import io
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from xmltools.batch._options import BatchOptions
from xmltools.batch._parts import open_part
from xmltools.batch._places import Kind
from xmltools.errors import XMLToolsError

if TYPE_CHECKING:
    from xmltools.batch._summary import Counts

__all__ = ["count_parts", "put_together"]

_GROUP = 32 << 20
"""Bytes of a row group, or a record batch, from which on it is written."""


def put_together(parts: Sequence[Path], target: Path, kind: Kind, options: BatchOptions) -> None:
    """Write what is in the parts to `target`, which is there only when all of it is.

    Raises `XMLToolsError` if its format cannot hold the columns.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.tmp")  # in the same folder: that may be on a disk of its own
    with draft.open("wb") as file:
        if kind.format == "jsonl":
            _join(parts, file)
        else:
            _write_tables(parts, file, kind, options)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(target)


def count_parts(parts: Iterable[Path], counts: Counts) -> None:
    """Add up what the parts say of their rows."""
    for part in parts:
        counted, file = open_part(part)
        file.close()
        counts.add(counted)


def _join(parts: Iterable[Path], file: IO[bytes]) -> None:
    for part in parts:
        _, rows = open_part(part)
        with rows:
            shutil.copyfileobj(rows, file, 1 << 20)


# Tables


def _write_tables(parts: Sequence[Path], file: IO[bytes], kind: Kind, options: BatchOptions) -> None:
    from xmltools.batch._arrow import pa
    from xmltools.batch._columns import settle

    schema = settle((_schema_of(part) for part in parts), options) if parts else _empty(options)
    try:
        with _WRITERS[kind.format](file, schema, kind) as write:
            for table in _grouped(_tables(parts, schema)):
                write(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise XMLToolsError(f"{kind.format} cannot hold the columns of the output ({error}); choose another") from None


def _schema_of(part: Path) -> Any:
    from xmltools.batch._arrow import pa

    _, rows = open_part(part)
    with rows:
        return pa.ipc.open_stream(rows).schema


def _empty(options: BatchOptions) -> Any:
    from xmltools.batch._arrow import pa
    from xmltools.batch._kernel import OUTPUT_SCHEMA

    return pa.schema([field.with_name(options.prefix + field.name) for field in OUTPUT_SCHEMA])


def _tables(parts: Iterable[Path], schema: Any) -> Iterator[Any]:
    from xmltools.batch._arrow import pa
    from xmltools.batch._columns import fit

    for part in parts:
        _, rows = open_part(part)
        with rows:
            yield fit(pa.ipc.open_stream(rows).read_all(), schema)


def _grouped(tables: Iterable[Any]) -> Iterator[Any]:
    """Yield tables joined to such a size that a file of them is read well."""
    from xmltools.batch._arrow import pa

    held: list[Any] = []
    size = 0
    for table in tables:
        held.append(table)
        size += table.nbytes
        if size >= _GROUP:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)


@contextmanager
def _parquet(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    from xmltools.batch._arrow import pq
    from xmltools.batch._columns import unmarked

    with pq.ParquetWriter(file, unmarked(schema)) as writer:
        yield writer.write_table


@contextmanager
def _arrow(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    from xmltools.batch._arrow import pa
    from xmltools.batch._columns import plain_schema, unmarked

    plain = plain_schema(unmarked(schema))
    with pa.ipc.new_file(file, plain) as writer:
        # Batches of a file share their dictionaries, and those of parts differ: such columns are their values here.
        yield lambda table: writer.write_table(table.cast(plain).combine_chunks())


@contextmanager
def _csv(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    from xmltools.batch._plain import records_of

    # The level and the missing time are those of parts of JSON Lines.
    packed: Any = gzip.GzipFile("", "wb", 6, file, 0) if kind.gzipped else file
    text = io.TextIOWrapper(packed, "utf-8", "backslashreplace", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(schema.names)

    def write(table: Any) -> None:
        for batch in table.to_batches(2048):
            writer.writerows(map(_cells, records_of(batch)))

    yield write
    text.flush()
    text.detach()
    if kind.gzipped:
        packed.close()


def _cells(record: dict[str, Any]) -> list[str]:
    return [_cell(value) for value in record.values()]


def _cell(value: Any) -> str:
    from xmltools.batch._plain import plain_json

    if isinstance(value, str):
        return value
    return "" if value is None else plain_json(value)


_WRITERS = {"parquet": _parquet, "arrow": _arrow, "csv": _csv}
