"""pyarrow, which is not installed for everybody: modules that need it import it from here. And how the values of its
columns become Python's and JSON, for outputs that have no other types.

Python has no times in nanoseconds. pyarrow gives them as objects of pandas where that is installed, and refuses some
where it is not. What a run writes must not depend on that, so they become something else first: text, or times in
microseconds.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import date, time
from math import isfinite
from typing import Any, TextIO

from xmltools.batch.rows import SURROGATE
from xmltools.extras import install_line

try:
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow.parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]
except ImportError:
    raise ImportError(f"xmltools.batch needs the library pyarrow: {install_line('batch')}") from None

pa: Any = pyarrow
pq: Any = pyarrow.parquet


class CsvFile:
    """A file that `csv` writes rows into. It quotes what is in the end of a line, and only that: a CR alone stays bare
    where lines end with LF (before Python 3.13), and readers take it for the end of a row. So it is told that they end
    with both, and here they end with LF.
    """

    TERMINATOR = "\r\n"

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, row: str) -> None:
        """Write a row."""
        self._file.write(row.removesuffix(self.TERMINATOR) + "\n")


def json_text(value: Any) -> str:
    """Return the JSON of a value that came from a table: bytes are base64, dates and times ISO 8601, others text.
    Numbers that JSON does not have, NaN and the infinite ones, are null."""
    try:
        text = _dumps(value)
    except ValueError:
        value = _finite(value)
        text = _dumps(value)
    return text if text.isascii() or not SURROGATE.search(text) else _dumps(value, ensure_ascii=True)


def cell_text(value: Any) -> str:
    """Return a value that came from a table as text: as it is, where JSON would have a text, and else its JSON. A
    number that JSON does not have is `NaN`, `Infinity` or `-Infinity`; no value is no text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return json.dumps(value)
    return json_text(value) if isinstance(value, (bool, int, dict, list, tuple)) else str(_as_json_value(value))


def _dumps(value: Any, *, ensure_ascii: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False, default=_as_json_value)


def _finite(value: Any) -> Any:
    """Return a value with null for the numbers in it that JSON does not have."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, (list, tuple)) else value


def _as_json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def records_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts, of `values_as_text`."""
    columns = [values_as_text(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_as_text(column: Any) -> list[Any]:
    """Return the values of a column. A date or a time is text, inside of others only if it has nanoseconds."""
    column = _as_text(column) if pa.types.is_temporal(column.type) else _spelled(column)
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:  # Arrow does not check what others call text
        values = [_decoded(each) for each in column.cast(pa.large_binary()).to_pylist()]
    return values


def _decoded(data: bytes | None) -> str | None:
    """Return bytes as text. Those that are no UTF-8 are half characters, and so are not lost in JSON."""
    return None if data is None else str(data, "utf-8", "surrogateescape")


def _as_text(column: Any) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowNotImplementedError:  # durations: their number
        return column.cast(pa.int64())


# Nanoseconds, wherever they are in a column


def _spelled(column: Any) -> Any:
    """Return a column with its nanoseconds as text; those of durations as their number."""
    return _changed(column, lambda type: pa.int64() if pa.types.is_duration(type) else pa.string())


def shortened(column: Any) -> Any:
    """Return a column with its nanoseconds cut off: for values of which the times are not asked for."""
    return _changed(column, _in_microseconds)


def _in_microseconds(type: Any) -> Any:
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", type.tz)
    return pa.duration("us") if pa.types.is_duration(type) else pa.time64("us")


def _changed(column: Any, change: Callable[[Any], Any]) -> Any:
    type = _replaced(column.type, change)
    try:
        return column if type == column.type else column.cast(type, safe=False)
    except pa.ArrowNotImplementedError:  # by an old pyarrow
        return column


def _replaced(type: Any, change: Callable[[Any], Any]) -> Any:
    """Return a type with those in it changed that have nanoseconds."""
    if getattr(type, "unit", None) == "ns":
        return change(type)
    if pa.types.is_struct(type):
        return pa.struct([_with_replaced(field, change) for field in type])
    if pa.types.is_list(type):
        return pa.list_(_with_replaced(type.value_field, change))
    if pa.types.is_large_list(type):
        return pa.large_list(_with_replaced(type.value_field, change))
    if pa.types.is_fixed_size_list(type):
        return pa.list_(_with_replaced(type.value_field, change), type.list_size)
    if pa.types.is_map(type):
        return pa.map_(_replaced(type.key_type, change), _with_replaced(type.item_field, change))
    return type


def _with_replaced(field: Any, change: Callable[[Any], Any]) -> Any:
    return field.with_type(_replaced(field.type, change))
