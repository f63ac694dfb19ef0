"""What a worker does: a piece of a file in, a part of the output on the disk."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmltools.batch.files.places import Kind
from xmltools.batch.files.resume import write_part
from xmltools.batch.json_lines import Line, as_json, parse_lines, written
from xmltools.batch.options import BatchOptions
from xmltools.batch.rows import Row, RowParser
from xmltools.batch.summary import Counts

__all__ = ["Task", "Worker"]


@dataclass(frozen=True, slots=True)
class Task:
    """Rows to parse: where they come from, as what, and where the part is to be written. Their `data`, or the `span` of
    the source where it is: what a worker reads itself need not pass a pipe."""

    path: Path
    source: str
    lines: bool
    first: int
    rows: int
    weight: float
    data: bytes
    kind: Kind
    span: tuple[int, int] | None = None

    def read(self) -> bytes:
        """Return the data."""
        if self.span is None:
            return self.data
        with Path(self.source).open("rb") as file:
            file.seek(self.span[0])
            return file.read(self.span[1] - self.span[0])


class Worker:
    """Does tasks, one after the other."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options
        self._parser = RowParser(options)

    def do(self, task: Task) -> None:
        """Parse the rows of a task and write its part. Raises `XMLToolsError` for rows that cannot be in the output."""
        counts = Counts()
        rows = self._from_lines(task, counts) if task.lines else self._from_table(task, counts)
        if task.kind.gzipped and task.kind.format == "jsonl":
            rows = gzip.compress(rows, 6, mtime=0)
        write_part(task.path, counts.as_json(), rows)

    def _from_lines(self, task: Task, counts: Counts) -> bytes:
        lines = self._counted(task, counts)
        if task.kind.format == "jsonl":
            return b"".join(written(line, self._options) + b"\n" for line in lines)
        from xmltools.batch.columns import table_of

        found = list(lines)
        return self._encode(table_of(found, self._options), [line.row for line in found])

    def _counted(self, task: Task, counts: Counts) -> Iterator[Line]:
        for line in parse_lines(task.read(), task.first, task.source, self._options, self._parser):
            counts.see(line.row)
            yield line

    def _from_table(self, task: Task, counts: Counts) -> bytes:
        from xmltools.batch.arrow import pa
        from xmltools.batch.kernel import values_of

        table = pa.ipc.open_stream(task.data).read_all()
        self._options.check_columns(table.column_names, task.source)
        rows = [self._parser.parse(*values) for values in values_of(table, self._options)]
        for row in rows:
            counts.see(row)
        return self._as_lines(table, rows) if task.kind.format == "jsonl" else self._encode(table, rows)

    def _as_lines(self, table: Any, rows: Iterable[Row]) -> bytes:
        from xmltools.batch.plain import plain_json, records_of

        records = zip(records_of(table), rows, strict=True)
        lines = (f"{plain_json(record)[:-1]}, {as_json(row, self._options)[1:]}\n" for record, row in records)
        return "".join(lines).encode()

    def _encode(self, table: Any, rows: list[Row]) -> bytes:
        from xmltools.batch.files.reading import encode
        from xmltools.batch.kernel import with_rows

        return encode(with_rows(table, [rows], self._options))
