"""Parts put together into one file, in order and piece by piece."""

from __future__ import annotations

import csv
import gzip
import io
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from xmltools.batch.files.places import Kind
from xmltools.batch.files.resume import open_part
from xmltools.batch.options import BatchOptions
from xmltools.batch.summary import Counts
from xmltools.errors import XMLToolsError

__all__ = ["Assembly"]

_GROUP = 32 << 20
"""Bytes of a row group, or a record batch, from which on it is written."""


class Assembly:
    """A file that is put together from parts, which are added in their order; it is there only when all of it is.

    With `alike`, all parts have the same columns, and tables are written as they come; else the columns depend on all
    parts, and tables are written at the end. What parts say of their rows is added to `counts`. Leaving it early leaves
    no file. Raises `XMLToolsError` if the format cannot hold the columns.
    """

    def __init__(self, target: Path, kind: Kind, options: BatchOptions, counts: Counts, *, alike: bool = False) -> None:
        self._target = target
        # In the same folder: that may be on a disk of its own.
        self._draft = target.with_name(f".{target.name}.tmp")
        target.parent.mkdir(parents=True, exist_ok=True)
        self._counts = counts
        self._file = self._draft.open("wb")
        is_lines = kind.format == "jsonl"
        self._tables = None if is_lines else _Tables(self._file, kind, options, alike=alike)

    def __enter__(self) -> Assembly:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave it; what is not finished is gone."""
        if self._tables is not None:
            self._tables.close()
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def add(self, part: Path) -> None:
        """Take the next part."""
        counted, rows = open_part(part)
        self._counts.add(counted)
        with rows:
            if self._tables is None:
                shutil.copyfileobj(rows, self._file, 1 << 20)
            else:
                self._tables.add(part, rows)

    def finish(self) -> None:
        """Say that there are no more: now the file is there."""
        if self._tables is not None:
            self._tables.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.replace(self._target)


# Tables


class _Tables:
    def __init__(self, file: IO[bytes], kind: Kind, options: BatchOptions, *, alike: bool) -> None:
        self._file = file
        self._kind = kind
        self._options = options
        self._alike = alike
        self._waiting: list[Path] = []
        self._schema: Any = None
        self._write: Callable[[Any], object]
        self._held: list[Any] = []
        self._size = 0
        self._open = ExitStack()

    def add(self, part: Path, rows: IO[bytes]) -> None:
        """Write the rows of a part, or remember it until the columns are known."""
        if not self._alike:
            self._waiting.append(part)
            return
        if self._schema is None:
            self._begin([part])
        self._take(rows)

    def finish(self) -> None:
        """Write what is left."""
        if self._schema is None:
            self._begin(self._waiting)
        for part in self._waiting:
            with open_part(part)[1] as rows:
                self._take(rows)
        self._flush()
        with self._refusing():
            self._open.close()

    def close(self) -> None:
        """Leave the file as it is: a writer that is forgotten would still write its end."""
        with suppress(Exception):
            self._open.close()

    def _begin(self, parts: Sequence[Path]) -> None:
        from xmltools.batch.columns import settle

        self._schema = settle(map(_schema_of, parts), self._options) if parts else _empty(self._options)
        with self._refusing():
            self._write = self._open.enter_context(_WRITERS[self._kind.format](self._file, self._schema, self._kind))

    def _take(self, rows: IO[bytes]) -> None:
        """Hold tables until they are of a size that is read well."""
        from xmltools.batch.arrow import pa
        from xmltools.batch.columns import fit

        table = fit(pa.ipc.open_stream(rows).read_all(), self._schema)
        self._held.append(table)
        self._size += table.nbytes
        if self._size >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        from xmltools.batch.arrow import pa

        if self._held:
            with self._refusing():
                self._write(pa.concat_tables(self._held))
        self._held, self._size = [], 0

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        from xmltools.batch.arrow import pa

        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise XMLToolsError(
                f"{self._kind.format} cannot hold the columns of the output ({error}); choose another"
            ) from None


def _schema_of(part: Path) -> Any:
    from xmltools.batch.arrow import pa

    _, rows = open_part(part)
    with rows:
        return pa.ipc.open_stream(rows).schema


def _empty(options: BatchOptions) -> Any:
    from xmltools.batch.arrow import pa
    from xmltools.batch.table import OUTPUT_SCHEMA

    return pa.schema([field.with_name(options.prefix + field.name) for field in OUTPUT_SCHEMA])


@contextmanager
def _parquet(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    from xmltools.batch.arrow import pq
    from xmltools.batch.columns import unmarked

    with pq.ParquetWriter(file, unmarked(schema)) as writer:
        yield writer.write_table


@contextmanager
def _arrow(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    from xmltools.batch.arrow import pa
    from xmltools.batch.columns import unmarked, without_dictionaries

    plain = without_dictionaries(unmarked(schema))
    with pa.ipc.new_file(file, plain) as writer:
        # Batches of a file share their dictionaries, and those of parts differ: such columns are their values here.
        yield lambda table: writer.write_table(table.cast(plain).combine_chunks())


@contextmanager
def _csv(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    from xmltools.batch.arrow import records_of

    # The level and the missing time are those of parts of JSON Lines.
    packed: Any = gzip.GzipFile("", "wb", 6, file, 0) if kind.gzipped else file
    text = io.TextIOWrapper(packed, "utf-8", "backslashreplace", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(schema.names)

    def write(table: Any) -> None:
        for batch in table.to_batches(2048):
            writer.writerows(map(_cell, record.values()) for record in records_of(batch))

    yield write
    text.flush()
    text.detach()
    if kind.gzipped:
        packed.close()


def _cell(value: Any) -> str:
    from xmltools.batch.arrow import json_text

    if isinstance(value, str):
        return value
    return "" if value is None else json_text(value)


_WRITERS = {"parquet": _parquet, "arrow": _arrow, "csv": _csv}
