"""What a report reads of a batch: the lists of calls, errors, repairs and notices as Arrow arrays, whatever form they
have.

Outputs that went through CSV hold these lists as JSON. They are made lists again here, a batch at a time, so that all
counting is done in one way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from xmltools.batch.arrow import pa
from xmltools.batch.messages import replies_in
from xmltools.errors import XMLToolsError

__all__ = ["Layout", "Lists", "pc", "read_lists", "texts_in"]

# Loaded after `pa`, which says how to get pyarrow where it is missing.
pc: Any = import_module("pyarrow.compute")

_PLACE = {"start": pa.int64(), "end": pa.int64()}
_FIELDS = {
    "calls": {
        "server": pa.string(),
        "name": pa.string(),
        "arguments": pa.string(),
        "clean": pa.bool_(),
        "message": pa.int32(),
    },
    "errors": {
        "code": pa.string(),
        "message": pa.string(),
        "hint": pa.string(),
        "name": pa.string(),
        "message_index": pa.int32(),
        **_PLACE,
    },
    "repairs": {"code": pa.string(), "message": pa.string(), "call": pa.int32(), **_PLACE},
    "notices": {"code": pa.string(), "notation": pa.string(), "name": pa.string(), **_PLACE},
}


class Layout(NamedTuple):
    """Where things stand in a batch: the column that was parsed, what it holds, and what is in front of new names."""

    column: str
    messages: bool = False
    prefix: str = ""


class Lists(NamedTuple):
    """The lists of a batch, each an array of lists of structs."""

    calls: Any
    errors: Any
    repairs: Any
    notices: Any


def read_lists(batch: Any, layout: Layout) -> Lists:
    """Return the lists of a batch.

    Raises `XMLToolsError` if a column is missing, or holds something else than a batch run writes.
    """
    _require(batch, layout.column, "give the name of the column that was parsed")
    return Lists(*(_read(batch, layout.prefix + name, fields) for name, fields in _FIELDS.items()))


def texts_in(value: Any, messages: bool) -> dict[int, str]:
    """Return the texts that were parsed in a row, by the indices of their messages; a reply is message 0.

    A value that cannot be read has none: its row has an error that says so.
    """
    if not messages:
        return {0: value} if isinstance(value, str) else {}
    try:
        return {} if value is None else dict(replies_in(value))
    except XMLToolsError:
        return {}


def _require(batch: Any, name: str, advice: str) -> None:
    if name not in batch.schema.names:
        known = ", ".join(map(repr, batch.schema.names))
        raise XMLToolsError(f"report: there is no column {name!r:.80} in the output; {advice}; it has {known:.300}")
    if batch.schema.names.count(name) > 1:
        raise XMLToolsError(f"report: the output has several columns {name!r:.80}; rename all but the one of the run")


def _read(batch: Any, name: str, fields: Mapping[str, Any]) -> Any:
    _require(batch, name, "give the prefix with which it was made")
    column = batch.column(name)
    if pa.types.is_null(column.type):
        return _as_lists([None] * len(column), name, fields)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _as_lists((_load(cell.as_py(), name) for cell in column), name, fields)
    if not _fits(column.type, fields):
        raise _unexpected(name, str(column.type))
    return column


def _fits(type: Any, fields: Mapping[str, Any]) -> bool:
    is_list = pa.types.is_list(type) or pa.types.is_large_list(type)
    if not (is_list and pa.types.is_struct(type.value_type)):
        return False
    struct = type.value_type
    return fields.keys() <= {struct.field(number).name for number in range(struct.num_fields)}


def _load(cell: str | None, name: str) -> Any:
    if not cell:
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        raise _unexpected(name, "text that is no JSON") from None
    # JSON has half characters (lone surrogates), as escapes; Arrow has not.
    return _encodable(value) if "\\ud" in cell.lower() else value


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return {key: _encodable(item) for key, item in value.items()} if isinstance(value, dict) else value


def _as_lists(values: Iterator[Any] | list[Any], name: str, fields: Mapping[str, Any]) -> Any:
    try:
        return pa.array(values, pa.list_(pa.struct(list(fields.items()))))
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise _unexpected(name, f"JSON of another shape ({type(error).__name__})") from None


def _unexpected(name: str, got: str) -> XMLToolsError:
    return XMLToolsError(f"report: column {name!r:.80}: expected lists as a batch run writes them, got {got:.200}")
