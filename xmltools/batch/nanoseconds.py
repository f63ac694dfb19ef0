"""Times in nanoseconds, which Python does not have, wherever they are in a column.

pyarrow gives them as objects of pandas where that is installed, and refuses some where it is not. What a run writes
must not depend on that, so they become something else first: text, or times in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xmltools.batch.arrow import pa

__all__ = ["shortened", "spelled"]


def spelled(column: Any) -> Any:
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
