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
        self.numbers = Counter(dict.fromkeys(_NUMBERS, 0))
        self.tallies: dict[str, Counter[str]] = {name: Counter() for name in _TALLIES}
        self.json_columns: list[str] = []
        self.half_columns: list[str] = []

    def see(self, row: Row) -> None:
        """Count a row."""
        clean = sum(map(is_clean, row.calls))
        self.numbers.update(rows=1, calls=len(row.calls), clean_calls=clean, failed_rows=bool(row.errors))
        self.tallies["calls_by_tool"].update(call["name"] for call in row.calls)
        for name in ("errors", "repairs", "notices"):
            self.tallies[name].update(each["code"] for each in getattr(row, name))

    def add(self, other: Mapping[str, Any]) -> None:
        """Add what `as_json` has written of other rows."""
        self.numbers.update({name: other[name] for name in _NUMBERS})
        for name, tally in self.tallies.items():
            for key, number in other[name].items():
                tally[key if key in tally or len(tally) < _NAMES else _OTHERS] += number

    def as_json(self) -> dict[str, Any]:
        """Return the counts as values for `json.dumps`."""
        return {**self.numbers, **self.tallies}

    def summary(self, **more: Any) -> BatchSummary:
        """Return the counts as a summary, the most frequent first, with its other fields."""
        found: dict[str, Any] = {name: dict(tally.most_common()) for name, tally in self.tallies.items()}
        for name in ("json_columns", "half_columns"):
            found[name] = tuple(dict.fromkeys(getattr(self, name)))  # several files may have the same
        return BatchSummary(**found | self.numbers | more)
