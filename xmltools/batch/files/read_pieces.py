"""Reading files piece by piece, so that memory does not depend on their size.

A piece is what becomes one part of the output. Where it ends depends on the file alone, so that a run that is resumed
meets the same pieces again. Lines stay lines, everything else becomes record batches.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, NamedTuple

from xmltools.batch.files.places import Source
from xmltools.batch.json_lines import read_object
from xmltools.batch.options import BatchOptions
from xmltools.errors import XMLToolsError, no_utf8

ROWS = 1024
"""Rows of a piece, at most."""
SIZE = 2 << 20
"""Bytes of a piece, at most, unless one row has more."""
_FIELD = 256 << 20
"""Characters of a field in CSV: more is a quotation mark that was not closed."""
_MARK = b"\xef\xbb\xbf"
"""What some programs write in front of UTF-8."""
_LOOK = 1000
"""Lines that are looked at to see whether the column that is asked for is there."""


class Piece(NamedTuple):
    """Some rows of a file: how many, the number of the first (or of its line, from 1), how much of the file has been
    read with them, from 0 to 1, and the rows as lines or as an Arrow stream."""

    rows: int
    first: int
    share: float
    data: bytes


def read_pieces(source: Source) -> Iterator[Piece]:
    """Yield the pieces of a file in order. Raises `XMLToolsError` if it is not of its format."""
    return _read_lines(source) if source.kind.format == "jsonl" else _read_batches(source)


@contextmanager
def _opened(source: Source) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file: as it is, and unpacked. Raises `XMLToolsError` if it can't be unpacked."""
    with source.path.open("rb") as raw:
        try:
            yield raw, gzip.GzipFile(fileobj=raw) if source.kind.gzipped else raw  # type: ignore[misc]
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise XMLToolsError(f"{source.path}: expected a file of gzip: {error}") from None


# JSON Lines


def _read_lines(source: Source) -> Iterator[Piece]:
    size = source.size
    with _opened(source) as (raw, file):
        lines: list[bytes] = []
        first, number, held, rows = 1, 0, 0, 0
        for number, line in enumerate(_lines(file), 1):
            lines.append(line)
            held += len(line)
            rows += not line.isspace()
            if rows >= ROWS or held >= SIZE:
                yield Piece(rows, first, min(1.0, raw.tell() / size), b"".join(lines))
                lines, first, held, rows = [], number + 1, 0, 0
        if rows:
            yield Piece(rows, first, 1.0, b"".join(lines))


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(file):
        yield line.removeprefix(_MARK) if number == 0 else line


# Batches


def _read_batches(source: Source) -> Iterator[Piece]:
    first = 1
    for batch, share in batches_in(source):
        for part in _cut(batch):
            yield Piece(part.num_rows, first, share, encode(part))
            first += part.num_rows


def batches_in(source: Source) -> Iterator[tuple[Any, float]]:
    """Yield the record batches of a file that holds no lines, one at least, each with how much of it has been read.

    Raises `XMLToolsError` if it is not of its format.
    """
    from xmltools.batch.arrow import pa

    readers = {"parquet": _read_parquet, "arrow": _read_arrow, "csv": _read_csv}
    try:
        batches = readers[source.kind.format](source)
        schema, _ = next(batches)
        yield next(batches, (pa.RecordBatch.from_pylist([], schema=schema), 1.0))
        yield from batches
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk; Arrow says it of damage too
            raise
        raise XMLToolsError(f"{source.path}: expected a file of {source.kind.format}: {error}") from None


def encode(batch: Any) -> bytes:
    """Return a record batch or a table as an Arrow stream."""
    from xmltools.batch.arrow import pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write(batch)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _cut(batch: Any) -> Iterator[Any]:
    """Yield a batch in pieces that are not too large."""
    if batch.num_rows > ROWS:
        for start in range(0, batch.num_rows, ROWS):
            yield from _cut(batch.slice(start, ROWS))
    elif batch.num_rows > 1 and batch.nbytes > SIZE:
        half = batch.num_rows // 2
        yield from _cut(batch.slice(0, half))
        yield from _cut(batch.slice(half))
    else:
        yield batch


# These yield the schema first, and then the batches.


def _read_parquet(source: Source) -> Iterator[tuple[Any, float]]:
    from xmltools.batch.arrow import pq

    # Neither whole row groups nor whole columns are held.
    with pq.ParquetFile(source.path, pre_buffer=False, buffer_size=1 << 20) as file:
        yield file.schema_arrow, 0.0
        done = 0
        for batch in file.iter_batches(ROWS, use_threads=False):
            done += batch.num_rows
            yield batch, done / max(1, file.metadata.num_rows)


def _read_arrow(source: Source) -> Iterator[tuple[Any, float]]:
    from xmltools.batch.arrow import pa

    size = source.size
    with pa.OSFile(str(source.path)) as file:
        # Arrow has two forms of files.
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        reader = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        yield reader.schema, 0.0
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            yield batch, min(1.0, file.tell() / size)


def _read_csv(source: Source) -> Iterator[tuple[Any, float]]:
    """Everything is text. `pyarrow.csv` does not say in which line something is wrong."""
    from xmltools.batch.arrow import pa

    size = source.size
    with _opened(source) as (raw, file), io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        records = _records(csv.reader(text, strict=True), source)
        header = next(records, [])
        if twice := [name for name, number in Counter(header).items() if number > 1]:
            raise XMLToolsError(f"{source.path}:1: two columns are named {twice[0]!r:.80}; rename one of them")
        schema = pa.schema([(name, pa.string()) for name in header])
        yield schema, 0.0
        while rows := list(_some(records)):
            columns = [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, schema=schema), min(1.0, raw.tell() / size)


def _some(records: Iterator[list[str]]) -> Iterator[list[str]]:
    held = 0
    for record in islice(records, ROWS):
        yield record
        held += sum(map(len, record))
        if held >= SIZE:
            return


def _records(reader: Any, source: Source) -> Iterator[list[str]]:
    """Yield the records, all as long as the first. Lines with nothing on them are none."""
    width, line = 0, 1
    csv.field_size_limit(max(_FIELD, csv.field_size_limit()))
    try:
        for record in reader:
            width = width or len(record)
            if record and len(record) != width:
                where = f"{source.path}:{line}"
                raise XMLToolsError(f"{where}: expected {width} fields as in the first line, got {len(record)}")
            if record:
                yield record
            line = reader.line_num + 1
    except csv.Error as error:
        raise XMLToolsError(f"{source.path}:{line}: expected a row of CSV, which begins here: {error}") from None
    except UnicodeDecodeError:
        _refuse_bytes(source)
        raise


def _refuse_bytes(source: Source) -> None:
    """Raise for the first line that is not UTF-8."""
    with _opened(source) as (_, file):
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                raise XMLToolsError(f"{source.path}:{number}: {no_utf8(line[error.start])}") from None


# What there is


def columns_of(source: Source, wanted: Iterable[str] = ()) -> list[str] | None:
    """Return the names of the columns of a file, None for lines of JSON without any object: these have no columns that
    could be wrong. Of lines of JSON the first ones have all that count, and those `wanted` may come late. Raises
    `XMLToolsError` as `read_pieces` does."""
    if source.kind.format != "jsonl":
        names: list[str] = next(batches_in(source))[0].schema.names
        return names
    with _opened(source) as (_, file):
        objects = [read_object(line)[0] for line in islice(_lines(file), _LOOK) if not line.isspace()]
    if not any(each is not None for each in objects):
        return None
    keys = list(dict.fromkeys(key for each in objects for key in each or ()))
    return [*keys, *(name for name in wanted if name not in keys and _holds_key(source, name))]


def check_columns(source: Source, options: BatchOptions) -> None:
    """Raise `XMLToolsError` as `BatchOptions.check_columns` does, or as `read_pieces` does."""
    names = columns_of(source, filter(None, (options.column, options.tools_column)))
    if names:
        options.check_columns(names, str(source.path))


def _holds_key(source: Source, name: str) -> bool:
    """Return whether an object in a file of lines of JSON has this key, written as `json` does."""
    ways = {json.dumps(name, ensure_ascii=ascii).encode("utf-8", "surrogatepass") for ascii in (True, False)}
    with _opened(source) as (_, file):
        # A line that does not have it as a text need not be read.
        found = (line for line in _lines(file) if any(way in line for way in ways))
        return any(name in (read_object(line)[0] or ()) for line in found)
