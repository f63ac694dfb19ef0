"""From objects to columns, and from the columns of many parts to those of one file, without losing anything.

A column keeps a type only if all its values come back from Arrow as they went in. One whose values have several types,
or objects with different keys, becomes a column of JSON texts. In JSON Lines that is known only when all is read: a
part has the types of its own rows, and says of each column whether it is JSON; `_settle` finds those of all parts.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from xmltools.batch.arrow import CsvFile, cell_text, json_text, pa, pq, records_of, values_as_text
from xmltools.batch.files.places import Kind, Target
from xmltools.batch.files.resume import open_part
from xmltools.batch.json_lines import Line, text_of
from xmltools.batch.options import BatchOptions
from xmltools.batch.summary import Counts
from xmltools.batch.table import OUTPUT_SCHEMA, without_surrogates
from xmltools.errors import XMLToolsError

_MARK = b"xmltools"
_JSON, _HALF, _SMALL = b"json", b"half", b"small"
"""Marks of columns: of JSON; of JSON only because half characters are in their texts, which have no UTF-8; of integers
that are numbers of floating point too."""
_EXACT = 1 << 53
"""Integers up to this are `_SMALL`."""
_DEPTH = 16
"""Levels of a type that is kept."""
_GROUP = 32 << 20
"""Bytes of a row group, or a record batch, from which on it is written."""


def _field(name: str, type: Any, mark: bytes | None) -> Any:
    return pa.field(name, type, metadata=mark and {_MARK: mark})


def _mark(field: Any) -> bytes | None:
    mark: bytes | None = (field.metadata or {}).get(_MARK)
    return mark


def json_columns(schema: Any, *marks: bytes) -> list[str]:
    """Return the names of the columns that are JSON because no one type holds their values."""
    return [field.name for field in schema if _mark(field) in (marks or (_JSON, _HALF))]


# From objects


def table_of(lines: Sequence[Line], options: BatchOptions) -> Any:
    """Return the objects of lines as a table. A line without an object is kept as text."""
    objects = [{options.invalid_line: text_of(each.source)} if each.object is None else each.object for each in lines]
    names = dict.fromkeys(name for each in objects for name in each)
    columns = [_column(name, [each.get(name) for each in objects]) for name in names]
    return pa.Table.from_arrays([array for _, array in columns], schema=pa.schema([field for field, _ in columns]))


def _column(name: str, values: list[Any]) -> tuple[Any, Any]:
    """Return values as a column of their type, or of JSON if no array gives them back as they are."""
    name = name.encode("utf-8", "backslashreplace").decode()
    mark = _JSON
    try:
        if (array := _typed(values)) is not None:
            return _field(name, array.type, _SMALL if _is_small(array.type, values) else None), array
    except UnicodeEncodeError:
        with suppress(RecursionError):
            mark = _JSON if _typed(without_surrogates(values)) is None else _HALF
    return _field(name, pa.string(), mark), _as_json(values)


def _typed(values: list[Any]) -> Any:
    """Return values as an array, None if there is none that gives them back as they are."""
    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError):
        return None
    if isinstance(array, pa.ChunkedArray) or not _can_be_stored(array.type) or array.to_pylist() != values:
        return None
    return array


def _is_small(type: Any, values: list[Any]) -> bool:
    return pa.types.is_int64(type) and all(each is None or -_EXACT <= each <= _EXACT for each in values)


def _can_be_stored(type: Any, depth: int = 1) -> bool:
    """Return whether files can hold a type: Parquet has no objects without keys, and Arrow's files do not nest deep."""
    if depth > _DEPTH or (pa.types.is_struct(type) and type.num_fields == 0):
        return False
    return all(_can_be_stored(type.field(place).type, depth + 1) for place in range(type.num_fields))


def _as_json(values: Iterable[Any]) -> Any:
    return pa.array([None if value is None else json_text(value) for value in values], pa.string())


# Of several parts


def _settle(schemas: Iterable[Any], options: BatchOptions) -> Any:
    """Return the schema that holds the rows of all parts: their columns in the order in which they come, and then those
    that were added. A column whose types are too different is one of JSON."""
    found: dict[str, dict[Any, Any]] = {}  # fields that are alike are kept once
    occurrences = Counter[str]()
    metadata, parts = None, 0
    for schema in schemas:
        parts += 1
        metadata = metadata or schema.metadata
        for name, times in Counter(schema.names).items():
            if times > 1:
                raise XMLToolsError(f"there are several columns {name!r:.80}; rename all but one")
        for field in schema:
            found.setdefault(field.name, {}).setdefault((field.type, _mark(field), field.nullable), field)
        occurrences.update(schema.names)
    added = set(options.added)
    names = [name for name in found if name not in added] + [name for name in options.added if name in found]
    return pa.schema([_settled(list(found[name].values()), occurrences[name] < parts) for name in names], metadata)


def _settled(fields: list[Any], is_missing: bool) -> Any:
    """Return the column for all parts. Takes what they say of it, and whether one does not have it."""
    first, marks = fields[0], {_mark(field) for field in fields}
    typed = [field for field in fields if _mark(field) not in (_JSON, _HALF)]
    type = _common(typed) if typed else None
    if type is None or len(typed) < len(fields):
        is_half = _HALF in marks and _JSON not in marks and (type is not None or not typed)
        return _field(first.name, pa.string(), _HALF if is_half else _JSON)
    nullable = is_missing or any(field.nullable for field in fields)
    return pa.field(first.name, type, nullable, None if _mark(first) else first.metadata)


def _common(fields: list[Any]) -> Any:
    """Return the type that holds the values of all, None if there is none."""
    type = reduce(_merged, (field.type for field in fields))
    is_float, is_null = pa.types.is_float64, pa.types.is_null
    if type is None and all(is_float(each.type) or is_null(each.type) or _mark(each) == _SMALL for each in fields):
        return pa.float64()
    return type


def _merged(type: Any, other: Any) -> Any:
    """Return the type that holds values of both as they are: one, where the other has only nulls. None if none does."""
    if type is None or other is None:
        return None
    if type == other or pa.types.is_null(other):
        return type
    if pa.types.is_null(type):
        return other
    if pa.types.is_list(type) and pa.types.is_list(other):
        inner = _merged(type.value_type, other.value_type)
        return None if inner is None else pa.list_(inner)
    if not (pa.types.is_struct(type) and pa.types.is_struct(other)):
        return None
    names = [field.name for field in type]
    if names != [field.name for field in other]:
        return None  # what is missing in one of them is not the same as null
    types = [_merged(mine.type, its.type) for mine, its in zip(type, other, strict=True)]
    return None if None in types else pa.struct(list(zip(names, types, strict=True)))


def _fitted(table: Any, field: Any) -> Any:
    """Return a column of a part as it is in all parts."""
    place = table.schema.get_field_index(field.name)
    if place < 0:
        return pa.nulls(table.num_rows, field.type)
    column = table.column(place)
    if json_columns([field]) and not json_columns([table.schema.field(place)]):
        return _as_json(values_as_text(column))
    return column if column.type == field.type else column.cast(field.type)


# To a file


def write_tables(file: IO[bytes], target: Target, parts: Iterator[Path], options: BatchOptions, counts: Counts) -> None:
    """Write the rows of parts to a file. Parts of one table have the same columns, and their rows are written as they
    come; otherwise the columns depend on all parts. What parts say of their rows is added to `counts`.

    Raises `XMLToolsError` if the format cannot hold the columns.
    """
    are_alike = len(target.sources) == 1 and target.sources[0].kind.format != "jsonl"
    first = list(islice(parts, 1 if are_alike else None))
    added = pa.schema([field.with_name(options.prefix + field.name) for field in OUTPUT_SCHEMA])
    schema = _settle(map(_schema_of, first), options) if first else added
    try:
        with _WRITERS[target.kind.format](file, schema, target.kind) as write:
            held, size = [], 0
            for part in chain(first, parts):
                counted, rows = open_part(part)
                counts.add(counted)
                with rows:
                    table = pa.ipc.open_stream(rows).read_all()
                held.append(pa.table([_fitted(table, field) for field in schema], schema=schema))
                size += held[-1].nbytes
                if size >= _GROUP:  # such a size is read well
                    write(pa.concat_tables(held))
                    held, size = [], 0
            if held:
                write(pa.concat_tables(held))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise XMLToolsError(
            f"{target.kind.format} cannot hold the columns of the output ({error}); choose another"
        ) from None
    counts.json_columns += json_columns(schema)
    counts.half_columns += json_columns(schema, _HALF)


def _schema_of(part: Path) -> Any:
    with open_part(part)[1] as rows:
        return pa.ipc.open_stream(rows).schema


@contextmanager
def _parquet(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    with pq.ParquetWriter(file, schema) as writer:
        yield writer.write_table


@contextmanager
def _arrow(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    # Batches of a file share their dictionaries, and those of parts differ: such columns are their values here.
    types = [each.type.value_type if pa.types.is_dictionary(each.type) else each.type for each in schema]
    plain = pa.schema([each.with_type(type) for each, type in zip(schema, types, strict=True)], schema.metadata)
    with pa.ipc.new_file(file, plain) as writer:
        yield lambda table: writer.write_table(table.cast(plain).combine_chunks())


@contextmanager
def _csv(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    # The level and the missing time are those of parts of JSON Lines.
    packed: Any = gzip.GzipFile("", "wb", 6, file, 0) if kind.gzipped else file
    text = io.TextIOWrapper(packed, "utf-8", "backslashreplace", newline="")
    writer = csv.writer(CsvFile(text), lineterminator=CsvFile.TERMINATOR)
    writer.writerow(schema.names)

    def write(table: Any) -> None:
        for batch in table.to_batches(2048):
            writer.writerows(map(cell_text, record.values()) for record in records_of(batch))

    yield write
    text.flush()
    text.detach()
    if kind.gzipped:
        packed.close()


_WRITERS = {"parquet": _parquet, "arrow": _arrow, "csv": _csv}
