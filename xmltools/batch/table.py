"""An Arrow table with replies in, the same table with the calls of each row out. It is a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from xmltools.batch.arrow import pa, spelled
from xmltools.batch.options import ADDED, BatchOptions
from xmltools.batch.rows import Row, RowParser
from xmltools.errors import XMLToolsError

_STEP = 1024
"""Rows that are Python values at once."""


def _fields(types: dict[str, Any], nullable: str = "") -> list[Any]:
    return [pa.field(name, type, name == nullable) for name, type in types.items()]


def _list_of(types: dict[str, Any], nullable: str = "") -> Any:
    types |= {"start": pa.int64(), "end": pa.int64()}
    return pa.list_(pa.field("item", pa.struct(_fields(types, nullable)), nullable=False))


_TEXT, _PLACE, _FLAG = pa.string(), pa.int32(), pa.bool_()
_CODES = pa.list_(pa.field("item", _TEXT, nullable=False))
_CALL = dict.fromkeys(("id", "server", "name", "arguments"), _TEXT)
_CALL |= {"clean": _FLAG, "legacy_json": _FLAG, "dialect": _TEXT, "repairs": _CODES, "message": _PLACE}
_ERROR = dict.fromkeys(("code", "message", "hint", "name"), _TEXT) | {"message_index": _PLACE}
_REPAIR = {"code": _TEXT, "message": _TEXT, "call": _PLACE}
_NOTICE = dict.fromkeys(("code", "message", "notation", "name"), _TEXT)
_NOTICE |= {"whole": _FLAG, "fenced": _FLAG, "message_index": _PLACE}
_LISTS = (_list_of(_CALL), _list_of(_ERROR, "name"), _list_of(_REPAIR), _list_of(_NOTICE, "name"))

OUTPUT_SCHEMA = pa.schema(_fields(dict(zip(ADDED, (_TEXT, _TEXT, *_LISTS), strict=True))))
"""The columns that are added, without their prefix."""


def parse_table(table: Any, options: BatchOptions) -> Any:
    """Parse a column of a table: replies, or chat messages.

    Takes a `pyarrow.Table` (or a record batch). Returns a table with its columns as they were, and after them those of
    `OUTPUT_SCHEMA`, each name with the prefix of the options: text and reasoning, the calls (arguments as JSON), the
    errors, the repairs and the notices. A row that cannot be read is a row with an error; a null is an empty reply.
    Half characters (lone surrogates), which Arrow cannot hold, are written as `\\ud800`.

    Raises `XMLToolsError` if a column that is read is missing, or one that is added is there already.
    """
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise XMLToolsError(f"expected a pyarrow.Table, got {type(table).__name__}")
    options.check_columns(table.column_names)
    rows = RowParser(options)
    steps = (values_of(table.slice(start, _STEP), options) for start in range(0, table.num_rows, _STEP))
    return with_rows(table, ([rows.parse(*values) for values in step] for step in steps), options)


def with_rows(table: Any, steps: Iterable[list[Row]], options: BatchOptions) -> Any:
    """Return a table with the columns that are added. Takes what its rows hold, some rows at a time."""
    parts = [_added(rows) for rows in steps]
    for place, field in enumerate(OUTPUT_SCHEMA):
        chunks = [chunk for part in parts for chunk in part[place]]
        column = pa.chunked_array(chunks, field.type)
        table = table.append_column(field.with_name(options.prefix + field.name), column)
    return table


def values_of(table: Any, options: BatchOptions) -> Iterator[tuple[Any, ...]]:
    """Yield of each row of a table what `RowParser.parse` takes."""
    values = _values(table, options.column)
    if options.tools_column is None:
        return zip(values, strict=True)
    return zip(values, map(_pruned, _values(table, options.tools_column)), strict=True)


def _values(table: Any, name: str) -> list[Any]:
    places = table.schema.get_all_field_indices(name)
    if len(places) > 1:
        raise XMLToolsError(f"there are {len(places)} columns {name!r:.80}; rename all but the one that is meant")
    return column_values(table.column(places[0]))


def column_values(column: Any) -> list[Any]:
    """Return the values of a column as they are parsed: bytes in place of text that is not UTF-8."""
    column = spelled(column)
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:  # Arrow does not check what others call text
        values = list(map(_value, column))
    return values


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return b""


def _pruned(value: Any) -> Any:
    """Return a value without the keys that are null: a struct has the keys of all rows, and so of all tools."""
    if isinstance(value, dict):
        return {key: _pruned(each) for key, each in value.items() if each is not None}
    return [_pruned(each) for each in value] if isinstance(value, list) else value


def _added(rows: list[Row]) -> list[list[Any]]:
    """Return the columns that are added, each as a list of arrays."""
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(ADDED)
    return [arrays(values, field.type) for values, field in zip(columns, OUTPUT_SCHEMA, strict=True)]


def arrays(values: Sequence[Any], type: Any) -> list[Any]:
    """Return values as arrays, of which there are several only if one cannot hold them.

    Half characters are written as `\\ud800`.
    """
    try:
        made = pa.array(values, type)
    except UnicodeEncodeError:
        return arrays(list(map(without_surrogates, values)), type)
    except pa.ArrowCapacityError:
        half = len(values) // 2
        return [*arrays(values[:half], type), *arrays(values[half:], type)] if half else _too_large()
    return made.chunks if isinstance(made, pa.ChunkedArray) else [made]


def _too_large() -> Any:
    raise XMLToolsError("a row holds more than 2 GiB of text; leave it out")


def without_surrogates(value: Any) -> Any:
    """Return a value with the half characters escaped in all texts in it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(each) for key, each in value.items()}
    return [without_surrogates(each) for each in value] if isinstance(value, list) else value
