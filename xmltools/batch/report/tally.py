"""What a batch run found, counted batch by batch: Arrow counts, and the memory does not grow with the rows.

Outputs that went through CSV hold the lists of calls, errors, repairs and notices as JSON. They are made lists again
here, so that all counting is done in one way.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from xmltools.batch.arrow import pa
from xmltools.batch.rows import replies_in
from xmltools.batch.table import OUTPUT_SCHEMA, arrays
from xmltools.errors import XMLToolsError

# Loaded after `pa`, which says how to get pyarrow where it is missing.
pc: Any = import_module("pyarrow.compute")

_FINE = 7  # leading bits of a size that are kept: a quantile is exact to 1 %
_NAMES = 10_000  # names that are told apart: without tools a model makes up any number of them
_REST = ("", "")
_TOTALS = (
    "rows",
    "rows_with_calls",
    "rows_with_errors",
    "rows_with_repairs",
    "rows_with_foreign_calls",
    "characters",
    "calls",
    "clean_calls",
)
_FOREIGN = "foreign_dialect"  # the repair of a call that was read in another dialect, as `also` asks for


class Lists(NamedTuple):
    """The lists of a batch, each an array of lists of structs."""

    calls: Any
    errors: Any
    repairs: Any
    notices: Any


class Tally:
    """The counts of rows. Sizes are in characters.

    `foreign_calls` are calls in another dialect that stayed text, by their notation, `foreign_dialects` those that were
    read all the same, by their dialect. At most `names` tools are told apart.
    """

    def __init__(self, names: int = _NAMES) -> None:
        self.rows = 0
        self.rows_with_calls = 0
        self.rows_with_errors = 0
        self.rows_with_repairs = 0
        self.rows_with_foreign_calls = 0
        self.characters = 0
        self.calls = 0
        self.clean_calls = 0
        self.calls_per_row: Counter[tuple[int, int]] = Counter()
        self.tools = Tools(names)
        self.sizes = Sizes()
        self.errors: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.foreign_calls: Counter[str] = Counter()
        self.foreign_dialects: Counter[str] = Counter()

    def add(self, source: Any, lists: Lists, messages: bool) -> None:
        """Count the rows of a batch, given the column that was parsed and its lists."""
        self.rows += len(source)
        self.characters += _characters(source, messages)
        self._count_calls(lists.calls)
        for counts, column, field in (
            (self.errors, lists.errors, "code"),
            (self.repairs, lists.repairs, "code"),
            (self.foreign_calls, lists.notices, "notation"),
        ):
            for name, count in _value_counts(_table(column, field)[field]):
                counts[name or ""] += count
        self.rows_with_errors += _filled(lists.errors)
        self.rows_with_repairs += _filled(lists.repairs)
        self.rows_with_foreign_calls += _filled(lists.notices)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield all counts, each as a record with the name of its tally, its `value` and what was counted."""
        for name in _TOTALS:
            yield {"tally": "totals", "name": name, "value": getattr(self, name)}
        for tally, tools in (("clean_calls", self.tools.clean), ("repaired_calls", self.tools.repaired)):
            for tool, value in tools.most_common():
                server, name = tool if tool != _REST else (None, "(others)")
                yield {"tally": tally, "server": server, "name": name, "value": value}
        for tally in ("errors", "repairs", "foreign_calls", "foreign_dialects"):
            for name, value in getattr(self, tally).most_common():
                yield {"tally": tally, "name": name, "value": value}
        for power, value in self.sizes.by_power():
            yield {"tally": "argument_sizes", "from": 1 << power, "to": (2 << power) - 1, "value": value}
        for (first, last), value in sorted(self.calls_per_row.items()):
            yield {"tally": "calls_per_row", "from": first, "to": last, "value": value}

    def _count_calls(self, calls: Any) -> None:
        for length, count in _value_counts(pc.list_value_length(calls)):
            self.calls_per_row[fold(length or 0)] += count
            self.rows_with_calls += count if length else 0
        table = _table(calls, "server", "name", "clean", "arguments", "dialect", "repairs")
        self.calls += table.num_rows
        for size, count in _value_counts(pc.utf8_length(table["arguments"])):
            self.sizes.add(size or 0, count)
        groups = table.group_by(["server", "name", "clean"], use_threads=False).aggregate([([], "count_all")])
        for group in groups.to_pylist():
            tool, count = (group["server"] or "", group["name"] or ""), group["count_all"]
            self.clean_calls += count if group["clean"] else 0
            self.tools.add(tool, bool(group["clean"]), count)
        self.tools.bound()
        repairs = table["repairs"]
        foreign = pc.list_parent_indices(repairs).filter(pc.equal(pc.list_flatten(repairs), _FOREIGN))
        for dialect, count in _value_counts(table["dialect"].take(foreign.unique())):
            self.foreign_dialects[dialect or ""] += count


# Counters that stay small, whatever names and sizes the rows bring


class Sizes:
    """How often which size came: exact below 128 and to 1 % above, so that a few thousand counters are enough."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.largest = 0

    def add(self, size: int, count: int) -> None:
        """Count a size."""
        shift = _shift(size)
        self._counts[size >> shift << shift] += count
        self.largest = max(self.largest, size)

    def quantile(self, share: float) -> int:
        """Return the size that this share of all sizes does not exceed: 0 if there are none."""
        wanted = share * self._counts.total()
        seen = 0
        for size, count in sorted(self._counts.items()):
            seen += count
            if seen >= wanted:
                return min(size + (1 << _shift(size)) // 2, self.largest)
        return 0

    def by_power(self) -> list[tuple[int, int]]:
        """Return how many sizes there are from each power of two to the next, from the smallest to the largest."""
        powers: Counter[int] = Counter()
        for size, count in self._counts.items():
            powers[max(size.bit_length() - 1, 0)] += count
        return [(power, powers[power]) for power in range(min(powers), max(powers) + 1)] if powers else []


def _shift(size: int) -> int:
    return max(size.bit_length() - _FINE, 0)


class Tools:
    """Calls by tool, clean ones and repaired ones. A tool is its server and its name."""

    def __init__(self, most: int = _NAMES) -> None:
        self._most = most
        self.clean: Counter[tuple[str, str]] = Counter()
        self.repaired: Counter[tuple[str, str]] = Counter()
        self.is_bounded = False

    def add(self, tool: tuple[str, str], is_clean: bool, count: int) -> None:
        """Count calls of a tool."""
        (self.clean if is_clean else self.repaired)[tool] += count

    def calls(self) -> Counter[tuple[str, str]]:
        """Return all calls by tool."""
        return self.clean + self.repaired

    def bound(self) -> None:
        """If there are too many names, keep those with the most calls, and count the others together."""
        if max(len(self.clean), len(self.repaired)) <= self._most:
            return
        self.is_bounded = True
        kept = {tool for tool, _ in self.calls().most_common(self._most // 2)} | {_REST}
        for counts in (self.clean, self.repaired):
            for tool in counts.keys() - kept:
                counts[_REST] += counts.pop(tool)

    def ranking(self, size: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the tools with the most calls, at most `size`, and all others."""
        calls = self.calls()
        ranked = sorted(calls, key=lambda tool: (tool == _REST, -calls[tool], tool))
        named = len(ranked) - (_REST in calls)
        return ranked[: min(size, named)], ranked[min(size, named) :]


def fold(length: int) -> tuple[int, int]:
    """Return the class that a number of calls falls into, by its bounds: single numbers to 8, then doubling ranges."""
    if length <= 8:
        return length, length
    power = (length - 1).bit_length()
    return (1 << power - 1) + 1, 1 << power


# What is read of a batch


def read_lists(batch: Any, column: str, prefix: str) -> Lists:
    """Return the lists of a batch, given the column that was parsed, and what the names of the added ones begin with.

    Raises `XMLToolsError` if it is no output of a batch run.
    """
    if not isinstance(batch, pa.RecordBatch):
        got = type(batch).__name__
        raise XMLToolsError(f"batches: expected Arrow record batches, as Table.to_batches makes them, got {got}")
    column_of(batch, column, "give the name of the column that was parsed")
    return Lists(*(_read(batch, prefix, OUTPUT_SCHEMA.field(name)) for name in Lists._fields))


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


def column_of(batch: Any, name: str, advice: str) -> Any:
    """Return a column of a batch. Raises `XMLToolsError` with the advice if there is none, or more than one."""
    if name not in batch.schema.names:
        known = ", ".join(map(repr, batch.schema.names))
        raise XMLToolsError(f"report: there is no column {name!r:.80} in the output; {advice}; it has {known:.300}")
    if batch.schema.names.count(name) > 1:
        raise XMLToolsError(f"report: the output has several columns {name!r:.80}; rename all but the one of the run")
    return batch.column(name)


def _read(batch: Any, prefix: str, field: Any) -> Any:
    name = prefix + field.name
    column = column_of(batch, name, "give the prefix with which it was made")
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), field.type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _from_json(column, name, field.type)
    if not _fits(column.type, field.type):
        raise _unexpected(name, str(column.type))
    return column


def _fits(type: Any, wanted: Any) -> bool:
    """Return whether a type is one of lists whose structs have the wanted fields, and maybe more."""
    is_list = pa.types.is_list(type) or pa.types.is_large_list(type)
    if not (is_list and pa.types.is_struct(type.value_type)):
        return False
    return {field.name for field in wanted.value_type} <= {field.name for field in type.value_type}


def _from_json(column: Any, name: str, type: Any) -> Any:
    try:
        values = [json.loads(cell.as_py() or "null") for cell in column]
    except (ValueError, RecursionError):
        raise _unexpected(name, "text that is no JSON") from None
    try:
        return pa.concat_arrays(arrays(values, type))
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise _unexpected(name, f"JSON of another shape ({error.__class__.__name__})") from None


def _unexpected(name: str, got: str) -> XMLToolsError:
    return XMLToolsError(f"report: column {name!r:.80}: expected lists as a batch run writes them, got {got:.200}")


def _table(lists: Any, *names: str) -> Any:
    """Some fields of the structs in all lists, as a table."""
    flat = lists.flatten()
    return pa.table([pc.struct_field(flat, name) for name in names], list(names))


def _filled(lists: Any) -> int:
    """How many of the lists have something in them."""
    return pc.sum(pc.greater(pc.list_value_length(lists), 0)).as_py() or 0


def _value_counts(values: Any) -> Iterator[tuple[Any, int]]:
    return ((pair["values"], pair["counts"]) for pair in pc.value_counts(values).to_pylist())


def _characters(source: Any, messages: bool) -> int:
    if messages:
        return sum(len(text) for row in source for text in texts_in(row.as_py(), True).values())
    if pa.types.is_dictionary(source.type):
        source = source.dictionary_decode()
    if not (pa.types.is_string(source.type) or pa.types.is_large_string(source.type)):
        return 0
    return pc.sum(pc.utf8_length(source)).as_py() or 0
