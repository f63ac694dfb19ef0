"""Parts put together into one file, in order and piece by piece."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from xmltools.batch.files.places import Target
from xmltools.batch.files.resume import open_part
from xmltools.batch.options import BatchOptions
from xmltools.batch.summary import Counts


def join_parts(target: Target, parts: Iterator[Path], options: BatchOptions, counts: Counts) -> None:
    """Write a file, which is there only when all of it is. What its parts say of their rows is added to `counts`.

    Raises `XMLToolsError` if the format cannot hold the columns.
    """
    # In the same folder: that may be on a disk of its own.
    draft = target.path.with_name(f".{target.path.name}.tmp")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        with draft.open("wb") as file:
            if target.kind.format == "jsonl":
                for part in parts:
                    counted, rows = open_part(part)
                    counts.add(counted)
                    with rows:
                        shutil.copyfileobj(rows, file, 1 << 20)
            else:
                from xmltools.batch.files.tables import write_tables

                write_tables(file, target, parts, options, counts)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target.path)
    finally:
        draft.unlink(missing_ok=True)
