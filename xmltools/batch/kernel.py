"""The kernel: an Arrow table with replies in, the same table with what is in them out. It is pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from xmltools.batch.arrow import pa
from xmltools.batch.options import ADDED, BatchOptions
from xmltools.batch.plain import shortened
from xmltools.batch.rows import SURROGATE, Row, RowParser
from xmltools.errors import XMLToolsError

__all__ = ["OUTPUT_SCHEMA", "arrays", "parse_table", "values_of", "with_rows"]

_STEP = 1024
"""Rows that are Python values at once."""


def _required(name: str, type: Any) -> Any:
    return pa.field(name, type, nullable=False)


def _list_of(*fields: Any) -> Any:
    return pa.list_(_required("item", pa.struct(fields)))


_SPAN = (_required("start", pa.int64()), _required("end", pa.int64()))
_CALLS = _list_of(
    *(_required(name, pa.string()) for name in ("id", "server", "name", "arguments")),
    _required("clean", pa.bool_()),
    _required("legacy_json", pa.bool_()),
    _required("repairs", pa.list_(_required("item", pa.string()))),
    _required("message", pa.int32()),
    *_SPAN,
)
_ERRORS = _list_of(
    *(_required(name, pa.string()) for name in ("code", "message", "hint")),
    pa.field("name", pa.string()),
    _required("message_index", pa.int32()),
    *_SPAN,
)
_REPAIRS = _list_of(
    *(_required(name, pa.string()) for name in ("code", "message")),
    _required("call", pa.int32()),
    *_SPAN,
)
_NOTICES = _list_of(
    *(_required(name, pa.string()) for name in ("code", "message", "notation")),
    pa.field("name", pa.string()),
    _required("whole", pa.bool_()),
    _required("fenced", pa.bool_()),
    _required("message_index", pa.int32()),
    *_SPAN,
)

OUTPUT_SCHEMA = pa.schema(
    [
        _required(name, type)
        for name, type in zip(ADDED, (pa.string(), pa.string(), _CALLS, _ERRORS, _REPAIRS, _NOTICES), strict=True)
    ]
)
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
    steps = _steps(table, options)
    return with_rows(table, ([rows.parse(*values) for values in step] for step in steps), options)


def with_rows(table: Any, steps: Iterable[list[Row]], options: BatchOptions) -> Any:
    """Return a table with the columns that are added. Takes what its rows hold, some rows at a time."""
    parts = [_added(rows) for rows in steps]
    for place, field in enumerate(OUTPUT_SCHEMA):
        chunks = [chunk for part in parts for chunk in part[place]]
        column = pa.chunked_array(chunks, field.type)
        table = table.append_column(field.with_name(options.prefix + field.name), column)
    return table


def _steps(table: Any, options: BatchOptions) -> Iterator[Iterator[tuple[Any, ...]]]:
    for start in range(0, table.num_rows, _STEP):
        yield values_of(table.slice(start, _STEP), options)


def values_of(table: Any, options: BatchOptions) -> Iterator[tuple[Any, ...]]:
    """Yield of each row of a table what `RowParser.parse` takes."""
    values = _values(_pick(table, options.column))
    if options.tools_column is None:
        return zip(values, strict=True)
    return zip(values, map(_pruned, _values(_pick(table, options.tools_column))), strict=True)


def _pick(table: Any, name: str) -> Any:
    places = table.schema.get_all_field_indices(name)
    if len(places) > 1:
        raise XMLToolsError(f"there are {len(places)} columns {name!r:.80}; rename all but the one that is meant")
    return table.column(places[0])


def _values(column: Any) -> list[Any]:
    column = shortened(column)
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:  # Arrow does not check what others call text
        values = [_value(scalar) for scalar in column]
    return values


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return b""  # no text


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
        return arrays([_map_texts(value, _shown) for value in values], type)
    except pa.ArrowCapacityError:
        half = len(values) // 2
        return [*arrays(values[:half], type), *arrays(values[half:], type)] if half else _too_large()
    return made.chunks if isinstance(made, pa.ChunkedArray) else [made]


def _too_large() -> Any:
    raise XMLToolsError("a row holds more than 2 GiB of text; leave it out")


def _shown(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode() if SURROGATE.search(text) else text


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with all texts in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _map_texts(each, change) for key, each in value.items()}
    return [_map_texts(each, change) for each in value] if isinstance(value, list) else value
