"""Parsing many replies at once: tables, files, all cores, or a cluster.

    options = BatchOptions(column="reply", tools=tuple(tools))
    table = parse_table(table, options)  # a pyarrow.Table in, the same with the calls of each row out
    summary = parse_files("replies/*.parquet", "calls.parquet", options)

`parse_table` does the work, and everything else brings rows to it. No row is lost: one that cannot be read is
one with errors. Names are loaded when they are first used: JSON Lines need no pyarrow, and only clusters need ray.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xmltools.batch.files.run import parse_files
    from xmltools.batch.options import BatchOptions
    from xmltools.batch.ray import parse_dataset
    from xmltools.batch.report.page import write_report
    from xmltools.batch.summary import BatchProgress, BatchSummary
    from xmltools.batch.table import OUTPUT_SCHEMA, parse_table

_HOMES = {
    "OUTPUT_SCHEMA": "table",
    "BatchOptions": "options",
    "BatchProgress": "summary",
    "BatchSummary": "summary",
    "parse_dataset": "ray",
    "parse_files": "files.run",
    "parse_table": "table",
    "write_report": "report.page",
}

__all__ = [
    "OUTPUT_SCHEMA",
    "BatchOptions",
    "BatchProgress",
    "BatchSummary",
    "parse_dataset",
    "parse_files",
    "parse_table",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'xmltools.batch' has no attribute {name!r}")
    value = getattr(import_module(f"xmltools.batch.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
