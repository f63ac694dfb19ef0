"""pyarrow, which is not installed for everybody: modules that need it import it from here. And how the values of its
columns become Python's and JSON, for outputs that have no other types.

Python has no times in nanoseconds. pyarrow gives them as objects of pandas where that is installed, and refuses some
where it is not. What a run writes must not depend on that, so they become text first.
"""

from __future__ import annotations

import json
from base64 import b64encode
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
    """Return the values of a column. A date or a time is text, inside of others only if it has nanoseconds. Text that
    is not UTF-8, which Arrow does not check, has half characters, and so is not lost in JSON."""
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int64() if pa.types.is_duration(column.type) else pa.string())
    try:
        values: list[Any] = spelled(column).to_pylist()
    except UnicodeDecodeError:
        raw = column.cast(pa.large_binary()).to_pylist()
        values = [None if each is None else str(each, "utf-8", "surrogateescape") for each in raw]
    return values


# Nanoseconds, wherever they are in a column


def spelled(column: Any) -> Any:
    """Return a column with its nanoseconds as text; those of durations as their number."""
    type = _spelled(column.type)
    try:
        return column if type == column.type else column.cast(type, safe=False)
    except pa.ArrowNotImplementedError:  # by an old pyarrow
        return column


def _spelled(type: Any) -> Any:
    """Return a type with those in it changed that have nanoseconds."""
    is_ = pa.types
    if getattr(type, "unit", None) == "ns":
        return pa.int64() if is_.is_duration(type) else pa.string()
    if is_.is_struct(type):
        return pa.struct([_field(each) for each in type])
    if is_.is_list(type):
        return pa.list_(_field(type.value_field))
    if is_.is_large_list(type):
        return pa.large_list(_field(type.value_field))
    if is_.is_fixed_size_list(type):
        return pa.list_(_field(type.value_field), type.list_size)
    return pa.map_(_spelled(type.key_type), _field(type.item_field)) if is_.is_map(type) else type


def _field(field: Any) -> Any:
    return field.with_type(_spelled(field.type))
