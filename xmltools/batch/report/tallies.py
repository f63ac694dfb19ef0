"""The counts of a run as a file, for people's own plots: a table with one count in each row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from xmltools.batch.arrow import CsvFile, pa, pq
from xmltools.batch.options import TALLIES, BatchUsageError
from xmltools.batch.report.groups import Groups
from xmltools.batch.report.tally import Tally

_TEXTS = ("group_kind", "group", "tally", "server", "name")
_NUMBERS = ("from", "to", "value")

_Records = Iterable[dict[str, Any]]


def check_ending(target: Path) -> None:
    """Raise `BatchUsageError` if the name of a file says no format that tallies have."""
    if target.suffix.lower() not in TALLIES:
        raise BatchUsageError(f"tallies: expected a name that ends with {', '.join(TALLIES)}, got {str(target)!r:.200}")


def encode_tallies(target: Path, tally: Tally, groups: Groups | None) -> bytes:
    """Return the content of a file of tallies, in the format that its name says."""
    return _FORMATS[target.suffix.lower()](_records(tally, groups))


def _records(tally: Tally, groups: Groups | None) -> Iterator[dict[str, Any]]:
    for record in tally.records():
        yield {"group_kind": "all", "group": None, **record}
    if groups is not None:
        yield from groups.records()


def _as_json(records: _Records) -> bytes:
    return json.dumps(list(records), ensure_ascii=False, indent=1).encode()


def _as_csv(records: _Records) -> bytes:
    file = StringIO()
    writer = csv.DictWriter(CsvFile(file), (*_TEXTS, *_NUMBERS), lineterminator=CsvFile.TERMINATOR)
    writer.writeheader()
    writer.writerows(records)
    return file.getvalue().encode()


def _as_parquet(records: _Records) -> bytes:
    types = {**dict.fromkeys(_TEXTS, pa.string()), **dict.fromkeys(_NUMBERS, pa.int64())}
    file = BytesIO()
    pq.write_table(pa.Table.from_pylist(list(records), pa.schema(types)), file)
    return file.getvalue()


_FORMATS: dict[str, Callable[[_Records], bytes]] = dict(zip(TALLIES, (_as_json, _as_csv, _as_parquet), strict=True))
