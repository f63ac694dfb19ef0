"""Parts put together into one file, in order and piece by piece."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from xmltools.batch.files.places import Kind
from xmltools.batch.files.resume import open_part
from xmltools.batch.options import BatchOptions
from xmltools.batch.summary import Counts


class Assembly:
    """A file that is put together from parts, which are added in their order; it is there only when all of it is.

    With `alike`, all parts have the same columns, and tables are written as they come; else the columns depend on all
    parts, and tables are written at the end. What parts say of their rows is added to `counts`. Leaving it early leaves
    no file. Raises `XMLToolsError` if the format cannot hold the columns.
    """

    def __init__(self, target: Path, kind: Kind, options: BatchOptions, counts: Counts, *, alike: bool = False) -> None:
        self._target = target
        # In the same folder: that may be on a disk of its own.
        self._draft = target.with_name(f".{target.name}.tmp")
        target.parent.mkdir(parents=True, exist_ok=True)
        self._counts = counts
        self._file = self._draft.open("wb")
        self._tables: TableWriter | None = None
        if kind.format != "jsonl":
            from xmltools.batch.files.tables import TableWriter

            self._tables = TableWriter(self._file, kind, options, alike=alike)

    def __enter__(self) -> Assembly:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave it; what is not finished is gone."""
        if self._tables is not None:
            self._tables.close()
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def add(self, part: Path) -> None:
        """Take the next part."""
        counted, rows = open_part(part)
        self._counts.add(counted)
        with rows:
            if self._tables is None:
                shutil.copyfileobj(rows, self._file, 1 << 20)
            else:
                self._tables.add(part, rows)

    def finish(self) -> None:
        """Say that there are no more: now the file is there."""
        if self._tables is not None:
            self._tables.finish()
            self._counts.json_columns |= dict.fromkeys(self._tables.json_columns)
            self._counts.half_columns |= dict.fromkeys(self._tables.half_columns)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.replace(self._target)
