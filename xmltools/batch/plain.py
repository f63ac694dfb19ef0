"""Values of tables as JSON, for outputs that have no other types."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import date, time
from typing import Any

from xmltools.batch.arrow import pa
from xmltools.batch.nanoseconds import spelled
from xmltools.batch.rows import SURROGATE

__all__ = ["plain_json", "plain_values", "records_of"]


def plain_json(value: Any) -> str:
    """Return the JSON of a value that came from a table: bytes are base64, dates and times ISO 8601, others text."""
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    return text if text.isascii() or not SURROGATE.search(text) else json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def records_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table as dicts, of `plain_values`."""
    columns = [plain_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain_values(column: Any) -> list[Any]:
    """Return the values of a column. A date or a time is text, inside of others only if it has nanoseconds."""
    column = _as_text(column) if pa.types.is_temporal(column.type) else spelled(column)
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
