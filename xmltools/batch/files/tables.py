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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import IO, Any

from xmltools.batch.arrow import CsvFile, cell_text, json_text, pa, pq, records_of, values_as_text
from xmltools.batch.files.places import Kind
from xmltools.batch.files.resume import open_part
from xmltools.batch.json_lines import Line, text_of
from xmltools.batch.options import BatchOptions
from xmltools.batch.rows import SURROGATE
from xmltools.batch.table import OUTPUT_SCHEMA
from xmltools.errors import XMLToolsError

_MARK = b"xmltools"
_JSON, _SMALL = {_MARK: b"json"}, {_MARK: b"small"}
_WHY = b"xmltools.why"
_HALF = {**_JSON, _WHY: b"half"}
"""The mark of a column that is JSON only because half characters are in its texts, which have no UTF-8."""
_EXACT = 1 << 53
"""Integers up to this are numbers of floating point too."""
_DEPTH = 16
"""Levels of a type that is kept."""
_GROUP = 32 << 20
"""Bytes of a row group, or a record batch, from which on it is written."""


# From objects


def table_of(lines: Sequence[Line], options: BatchOptions) -> Any:
    """Return the objects of lines as a table. A line without an object is kept as text."""
    objects = [{options.invalid_line: text_of(each.source)} if each.object is None else each.object for each in lines]
    names = dict.fromkeys(name for each in objects for name in each)
    columns = [_column(name, [each.get(name) for each in objects]) for name in names]
    return pa.Table.from_arrays([array for _, array in columns], schema=pa.schema([field for field, _ in columns]))


def _column(name: str, values: list[Any]) -> tuple[Any, Any]:
    name = name.encode("utf-8", "backslashreplace").decode()
    array = _typed(values)
    if array is None:
        mark = _HALF if _is_typed_but_for_halves(values) else _JSON
        return pa.field(name, pa.string(), metadata=mark), _as_json(values)
    return pa.field(name, array.type, metadata=_SMALL if _holds_small(array) else None), array


def _is_typed_but_for_halves(values: list[Any]) -> bool:
    """Return whether values have one type, and only half characters keep them from it."""
    try:
        whole = _with_whole(values)
        return whole != values and _typed(whole) is not None
    except RecursionError:
        return False


def _with_whole(value: Any) -> Any:
    """Return a value of JSON with other characters for the half ones in it."""
    if isinstance(value, str):
        return value if value.isascii() else SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_with_whole(key): _with_whole(each) for key, each in value.items()}
    return [_with_whole(each) for each in value] if isinstance(value, list) else value


def _holds_small(array: Any) -> bool:
    if not pa.types.is_int64(array.type):
        return False
    return all(-_EXACT <= value <= _EXACT for value in array.to_pylist() if value is not None)


def _typed(values: list[Any]) -> Any:
    """Return values as an array, None if there is none that gives them back as they are."""
    try:
        array = pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None
    if isinstance(array, pa.ChunkedArray) or not _can_be_stored(array.type) or array.to_pylist() != values:
        return None
    return array


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
        repeated = [name for name in schema.names if schema.names.count(name) > 1]
        if repeated:
            raise XMLToolsError(f"there are several columns {repeated[0]!r:.80}; rename all but one")
        for field in schema:
            kind = (field.type, _mark(field), _is_half(field), field.nullable)
            found.setdefault(field.name, {}).setdefault(kind, field)
            occurrences[field.name] += 1
    added = set(options.added)
    names = [name for name in found if name not in added] + [name for name in options.added if name in found]
    return pa.schema([_settled(list(found[name].values()), occurrences[name] < parts) for name in names], metadata)


def _settled(fields: list[Any], is_missing: bool) -> Any:
    """Return the column for all parts. Takes what they say of it, and whether one does not have it."""
    first = fields[0]
    typed = [field for field in fields if _mark(field) != "json"]
    type = _common(typed) if typed else None
    if type is None or len(typed) < len(fields):
        are_half = all(_is_half(field) for field in fields if _mark(field) == "json")
        is_half = are_half and (type is not None or not typed)
        return pa.field(first.name, pa.string(), metadata=_HALF if is_half else _JSON)
    nullable = is_missing or any(field.nullable for field in fields)
    return pa.field(first.name, type, nullable, metadata=_without_mark(first.metadata))


def _common(fields: list[Any]) -> Any:
    """Return the type that holds the values of all, None if there is none."""
    type = reduce(_merged, (field.type for field in fields))
    if type is not None:
        return type
    is_float, is_null = pa.types.is_float64, pa.types.is_null
    fitting = all(is_float(each.type) or is_null(each.type) or _mark(each) == "small" for each in fields)
    return pa.float64() if fitting else None


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
    return _merged_structs(type, other)


def _merged_structs(type: Any, other: Any) -> Any:
    if not (pa.types.is_struct(type) and pa.types.is_struct(other)):
        return None
    names = [field.name for field in type]
    if names != [field.name for field in other]:
        return None  # what is missing in one of them is not the same as null
    inner = [_merged(mine.type, its.type) for mine, its in zip(type, other, strict=True)]
    return None if None in inner else pa.struct(list(zip(names, inner, strict=True)))


def json_columns(schema: Any) -> list[str]:
    """Return the names of the columns that are JSON because no one type holds their values."""
    return [field.name for field in schema if _mark(field) == "json"]


def half_columns(schema: Any) -> list[str]:
    """Return the names of those among them that are JSON because half characters are in their texts."""
    return [field.name for field in schema if _is_half(field)]


def _is_half(field: Any) -> bool:
    return (field.metadata or {}).get(_WHY) == b"half"


def _mark(field: Any) -> str:
    mark: bytes = (field.metadata or {}).get(_MARK, b"")
    return mark.decode()


def _without_mark(metadata: Any) -> Any:
    return {key: value for key, value in (metadata or {}).items() if key not in (_MARK, _WHY)} or None


def _fit(table: Any, schema: Any) -> Any:
    """Return the table of a part with the columns of all parts."""
    return pa.table([_fitted(table, field) for field in schema], schema=_unmarked(schema))


def _unmarked(schema: Any) -> Any:
    """Return a schema without the marks of `_settle`, but for those of JSON, which readers of the output need."""
    fields = [each if _mark(each) == "json" else each.with_metadata(_without_mark(each.metadata)) for each in schema]
    return pa.schema(fields, schema.metadata)


def _without_dictionaries(schema: Any) -> Any:
    """Return a schema without dictionaries: their columns have the types of their values."""
    is_dictionary = pa.types.is_dictionary
    fields = [each.with_type(each.type.value_type) if is_dictionary(each.type) else each for each in schema]
    return pa.schema(fields, schema.metadata)


def _fitted(table: Any, field: Any) -> Any:
    place = table.schema.get_field_index(field.name)
    if place < 0:
        return pa.nulls(table.num_rows, field.type)
    column = table.column(place)
    if _mark(field) == "json" != _mark(table.schema.field(place)):
        return _as_json(values_as_text(column))
    return column if column.type == field.type else column.cast(field.type)


# To a file


class TableWriter:
    """Writes the rows of parts to a file. With `alike`, all parts have the same columns, and rows are written as they
    come; else the columns depend on all parts, and rows are written at the end."""

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
        prefix = self._options.prefix
        added = pa.schema([field.with_name(prefix + field.name) for field in OUTPUT_SCHEMA])
        self._schema = _settle(map(_schema_of, parts), self._options) if parts else added
        with self._refusing():
            self._write = self._open.enter_context(_WRITERS[self._kind.format](self._file, self._schema, self._kind))

    def _take(self, rows: IO[bytes]) -> None:
        """Hold tables until they are of a size that is read well."""
        table = _fit(pa.ipc.open_stream(rows).read_all(), self._schema)
        self._held.append(table)
        self._size += table.nbytes
        if self._size >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._held:
            with self._refusing():
                self._write(pa.concat_tables(self._held))
        self._held, self._size = [], 0

    @property
    def json_columns(self) -> list[str]:
        """The columns that became JSON, as far as they are known."""
        return [] if self._schema is None else json_columns(self._schema)

    @property
    def half_columns(self) -> list[str]:
        """Those among them whose texts hold half characters."""
        return [] if self._schema is None else half_columns(self._schema)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise XMLToolsError(
                f"{self._kind.format} cannot hold the columns of the output ({error}); choose another"
            ) from None


def _schema_of(part: Path) -> Any:
    with open_part(part)[1] as rows:
        return pa.ipc.open_stream(rows).schema


@contextmanager
def _parquet(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    with pq.ParquetWriter(file, _unmarked(schema)) as writer:
        yield writer.write_table


@contextmanager
def _arrow(file: IO[bytes], schema: Any, kind: Kind) -> Iterator[Any]:
    plain = _without_dictionaries(_unmarked(schema))
    with pa.ipc.new_file(file, plain) as writer:
        # Batches of a file share their dictionaries, and those of parts differ: such columns are their values here.
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
