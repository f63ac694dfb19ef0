"""What a run has come to: counts of rows, calls, errors and repairs, and how far it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xmltools.batch.rows import ROW_CODES, Row, is_clean

_NAMES = 1000
"""Names of tools that are counted apart. Without tools given, a name is what a model wrote."""
_OTHERS = "(others)"
_ROLES = 5


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """How far a run is: the rows that it has parsed, those that were done before, and how much of the input is done
    (`share`, from 0 to 1)."""

    rows: int
    skipped_rows: int
    share: float


Tell = Callable[[BatchProgress], object]


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """What a run has come to.

    `rows` counts all rows, `failed_rows` those with errors, `untyped_rows` those that have no tools where there is a
    column of them and no others are given (their calls are not checked), and `skipped_rows` those that were done
    before the run was resumed. `errors`, `repairs` and `notices` count by code, `calls_by_tool` by name. `inputs` are
    the files that were read, `outputs` those that were written. `json_columns` are the columns that became JSON text
    in a table, because their values have no one type, or, those in `half_columns`, because half characters (lone
    surrogates) are in their texts. `other_roles` counts, by role, the messages of chats that were not read because
    their role is none that chats have.
    """

    rows: int = 0
    calls: int = 0
    clean_calls: int = 0
    failed_rows: int = 0
    untyped_rows: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    repairs: Mapping[str, int] = field(default_factory=dict)
    notices: Mapping[str, int] = field(default_factory=dict)
    calls_by_tool: Mapping[str, int] = field(default_factory=dict)
    skipped_rows: int = 0
    seconds: float = 0.0
    outputs: tuple[Path, ...] = ()
    inputs: tuple[Path, ...] = ()
    json_columns: tuple[str, ...] = ()
    half_columns: tuple[str, ...] = ()
    other_roles: Mapping[str, int] = field(default_factory=dict)


def remarks(summary: BatchSummary) -> list[str]:
    """Return what a run should be looked at for: nothing could be read, or messages have roles that nobody reads."""
    said = [
        f"no row could be read. {hint}"
        for code, hint in ROW_CODES.items()
        if 0 < summary.rows == summary.errors.get(code)
    ]
    if summary.other_roles:
        shown = ", ".join(f"{role!r} ({number:,})" for role, number in list(summary.other_roles.items())[:_ROLES])
        said.append(f"only messages of the role 'assistant' are read; others have the roles {shown}")
    return said


_NUMBERS = ("rows", "calls", "clean_calls", "failed_rows", "untyped_rows")
_TALLIES = ("errors", "repairs", "notices", "calls_by_tool", "other_roles")


class Counts:
    """Counts what rows hold."""

    def __init__(self) -> None:
        self.numbers: dict[str, Any] = dict.fromkeys(_NUMBERS, 0)
        self.tallies: dict[str, Counter[str]] = {name: Counter() for name in _TALLIES}
        self.json_columns: dict[str, None] = {}
        self.half_columns: dict[str, None] = {}

    def see(self, row: Row) -> None:
        """Count a row."""
        numbers, tallies = self.numbers, self.tallies
        numbers["rows"] += 1
        numbers["failed_rows"] += bool(row.errors)
        for call in row.calls:
            numbers["calls"] += 1
            numbers["clean_calls"] += is_clean(call)
            tallies["calls_by_tool"][call["name"]] += 1
        for code, found in (("errors", row.errors), ("repairs", row.repairs), ("notices", row.notices)):
            for each in found:
                tallies[code][each["code"]] += 1

    def add(self, other: Mapping[str, Any]) -> None:
        """Add what `as_json` has written of other rows."""
        for name in _NUMBERS:
            self.numbers[name] += other[name]
        self.json_columns |= dict.fromkeys(other["json_columns"])
        self.half_columns |= dict.fromkeys(other["half_columns"])
        for name, tally in self.tallies.items():
            for key, number in other[name].items():
                tally[key if key in tally or len(tally) < _NAMES else _OTHERS] += number

    def as_json(self) -> dict[str, Any]:
        """Return the counts as values for `json.dumps`."""
        tallies = {name: dict(tally) for name, tally in self.tallies.items()}
        columns = {"json_columns": list(self.json_columns), "half_columns": list(self.half_columns)}
        return {**self.numbers, **tallies, **columns}

    def summary(self, **more: Any) -> BatchSummary:
        """Return the counts as a summary, the most frequent first, with its other fields."""
        found: dict[str, Any] = {name: dict(tally.most_common()) for name, tally in self.tallies.items()}
        found |= {"json_columns": tuple(self.json_columns), "half_columns": tuple(self.half_columns)}
        return BatchSummary(**self.numbers, **found, **more)
