"""What a batch run found, counted row by row. The memory does not grow with the rows.

Outputs that went through CSV hold the lists of calls, errors, repairs and notices as JSON: they are lists again here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import repeat
from typing import Any, NamedTuple

from xmltools.batch.arrow import cell_text, pa, values_as_text
from xmltools.batch.files.places import Source
from xmltools.batch.files.read_pieces import batches_in, read_pieces
from xmltools.batch.files.tables import json_columns
from xmltools.batch.json_lines import read_object
from xmltools.batch.options import BatchOptions
from xmltools.batch.rows import FOREIGN, is_clean, replies_in
from xmltools.batch.table import OUTPUT_SCHEMA, arrays, column_values
from xmltools.errors import XMLToolsError

VALUES = 100
"""How many values of a column are told apart."""
_STEP = 1024  # rows that are Python values at once
_FINE = 7  # leading bits of a size that are kept: a quantile is exact to 1 %
_NAMES = 10_000  # tools that are told apart: without tools given, a model makes up any number of them
_NAMES_OF_GROUP = 200
_LONGEST = 160  # characters of a value that are shown
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


class Seen(NamedTuple):
    """A row of an output: the texts that were parsed, by the indices of their messages, what was found in them, and the
    value of the column by which rows are told apart."""

    texts: dict[int, str]
    calls: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    repairs: list[dict[str, Any]]
    notices: list[dict[str, Any]]
    by: str = ""


class Tally:
    """The counts of rows. Sizes are in characters.

    `foreign_calls` are calls in another dialect that stayed text, by their notation, `foreign_dialects` those that were
    read, as `also` asks for, by their dialect. Such a call is clean if nothing else in it was repaired.
    """

    def __init__(self, names: int = _NAMES) -> None:
        self.totals = Counter(dict.fromkeys(_TOTALS, 0))
        self.tools = Tools(names)
        self.sizes = Sizes()
        self.calls_per_row: Counter[tuple[int, int]] = Counter()
        self.errors: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.foreign_calls: Counter[str] = Counter()
        self.foreign_dialects: Counter[str] = Counter()

    def add(self, row: Seen) -> None:
        """Count a row."""
        totals = self.totals
        totals["rows"] += 1
        totals["calls"] += len(row.calls)
        for text in row.texts.values():
            totals["characters"] += len(text)
        foreign, repaired = bool(row.notices), False
        for call in row.calls:
            clean = is_clean(call)
            totals["clean_calls"] += clean
            self.tools.add((call["server"] or "", call["name"] or ""), clean)
            self.sizes.add(len(call["arguments"] or ""))
            if FOREIGN in (call["repairs"] or ()):
                foreign = True
                self.foreign_dialects[call["dialect"] or ""] += 1
        for error in row.errors:
            self.errors[error["code"] or ""] += 1
        for notice in row.notices:
            self.foreign_calls[notice["notation"] or ""] += 1
        for repair in row.repairs:
            if repair["code"] != FOREIGN:
                repaired = True
                self.repairs[repair["code"] or ""] += 1
        self.calls_per_row[fold(len(row.calls))] += 1
        totals["rows_with_calls"] += bool(row.calls)
        totals["rows_with_errors"] += bool(row.errors)
        totals["rows_with_repairs"] += repaired
        totals["rows_with_foreign_calls"] += foreign

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield all counts, each as a record with the name of its tally, its `value` and what was counted."""
        for name, value in self.totals.items():
            yield {"tally": "totals", "name": name, "value": value}
        for kind in ("clean", "repaired"):
            ranked = sorted(self.tools.counts.items(), key=lambda each: -each[1][kind])
            for tool, counts in (*ranked, ((None, "(others)"), self.tools.others)):
                if counts[kind]:
                    yield {"tally": f"{kind}_calls", "server": tool[0], "name": tool[1], "value": counts[kind]}
        for tally in ("errors", "repairs", "foreign_calls", "foreign_dialects"):
            for name, value in getattr(self, tally).most_common():
                yield {"tally": tally, "name": name, "value": value}
        for tally, classes in (("argument_sizes", self.sizes.classes()), ("calls_per_row", self.calls_per_row.items())):
            for (first, last), value in sorted(classes):
                yield {"tally": tally, "from": first, "to": last, "value": value}


# Counters that stay small, whatever names and sizes the rows bring


class Sizes:
    """How often which size came: exact below 128 and to 1 % above, so that a few thousand counters are enough."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.largest = 0

    def add(self, size: int) -> None:
        """Count a size."""
        shift = _shift(size)
        self._counts[size >> shift << shift] += 1
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

    def classes(self) -> list[tuple[tuple[int, int], int]]:
        """Return how many sizes there are from each power of two to the next, from the smallest to the largest."""
        powers: Counter[int] = Counter()
        for size, count in self._counts.items():
            powers[max(size.bit_length() - 1, 0)] += count
        steps = range(min(powers), max(powers) + 1) if powers else ()
        return [((1 << power, (2 << power) - 1), powers[power]) for power in steps]


def _shift(size: int) -> int:
    return max(size.bit_length() - _FINE, 0)


class Tools:
    """Calls by tool, clean ones and repaired ones. A tool is its server and its name. If there are more than `most`,
    those with the most calls are kept, and the others counted together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.counts: dict[tuple[str, str], Counter[str]] = {}
        self.others: Counter[str] = Counter()

    def add(self, tool: tuple[str, str], is_clean: bool) -> None:
        """Count a call of a tool."""
        if tool not in self.counts:
            self.counts[tool] = Counter()
        self.counts[tool]["clean" if is_clean else "repaired"] += 1
        if len(self.counts) > self._most:
            for rare, counts in self.ranked()[self._most // 2 :]:
                self.others += counts
                del self.counts[rare]

    def ranked(self) -> list[tuple[tuple[str, str], Counter[str]]]:
        """Return the tools with their calls, those with the most calls first."""
        return sorted(self.counts.items(), key=lambda each: (-each[1].total(), each[0]))


def fold(length: int) -> tuple[int, int]:
    """Return the class that a number of calls falls into, by its bounds: single numbers to 8, then doubling ranges."""
    if length <= 8:
        return length, length
    power = (length - 1).bit_length()
    return (1 << power - 1) + 1, 1 << power


class Group(NamedTuple):
    """What rows have in common: `kind` is "all", "value" (they have the value `text`), "missing" (they have none: null
    and empty text, which are one in CSV) or "other" (their values came late, and are counted together)."""

    kind: str
    text: str | None


_ALL, _MISSING, _OTHER = Group("all", None), Group("missing", "(missing)"), Group("other", "(other)")


class Groups:
    """The tallies of all rows, and of groups of them. The first values that come are told apart: so the memory is
    bounded, and each count that has a name is complete."""

    def __init__(self) -> None:
        self._tallies = {_ALL: Tally()}

    def add(self, row: Seen, in_group: bool) -> None:
        """Count a row, also in its group if there are any."""
        self._tallies[_ALL].add(row)
        if in_group:
            group = Group("value", _brief(row.by)) if row.by else _MISSING
            if row.by and group not in self._tallies and len(self._tallies) > VALUES:
                group = _OTHER
            self._tallies.setdefault(group, Tally(_NAMES_OF_GROUP)).add(row)

    def ranked(self) -> list[tuple[Group, Tally]]:
        """Return all rows, and then the groups, those with the most rows first; those without a value of their own
        last."""
        kinds = ("all", "value", "missing", "other")
        found = self._tallies.items()
        return sorted(found, key=lambda each: (kinds.index(each[0].kind), -each[1].totals["rows"], each[0].text))


def _brief(text: str) -> str:
    """Return a text, or if it is long its beginning, with a digest that tells it from others that begin like it."""
    data = text.encode("utf-8", "backslashreplace")
    if len(text) <= _LONGEST:
        return data.decode()
    return f"{_brief(text[: _LONGEST - 20])}… {sha256(data).hexdigest()[:8]}"


# What is read of an output


def rows_of_file(source: Source, options: BatchOptions, by: str | None) -> Iterator[Seen]:
    """Yield the rows of a file that a run has written. Raises `XMLToolsError` if it is not that."""
    if source.kind.format != "jsonl":
        for batch, _ in batches_in(source):
            yield from rows_of_batch(batch, options.column, options.prefix, options.messages, by)
        return
    for piece in read_pieces(source):
        for line in piece.data.split(b"\n"):
            found, _ = read_object(line)
            if found is not None:
                texts = _texts_in(found.get(options.column), options.messages)
                calls, errors, repairs, notices = (found[name] for name in options.added[2:])
                yield Seen(texts, calls, errors, repairs, notices, cell_text(by and found.get(by)))


def rows_of_batch(batch: Any, column: str, prefix: str, messages: bool, by: str | None) -> Iterator[Seen]:
    """Yield the rows of a record batch. Raises `XMLToolsError` if it is not the output of a batch run."""
    if not isinstance(batch, pa.RecordBatch):
        got = type(batch).__name__
        raise XMLToolsError(f"batches: expected Arrow record batches, as Table.to_batches makes them, got {got}")
    source = _column_of(batch, column, "give the name of the column that was parsed")
    # A text that became JSON is read as the text that it was, in which places count.
    decode = column in json_columns(batch.schema)
    lists = [_read(batch, prefix, OUTPUT_SCHEMA.field(name)) for name in Seen._fields[1:5]]
    others = None if by is None else _column_of(batch, by, "give the name of one of the input")
    for start in range(0, batch.num_rows, _STEP):
        values = column_values(source.slice(start, _STEP))
        found = zip(*(each.slice(start, _STEP).to_pylist() for each in lists), strict=True)
        groups = repeat("") if others is None else map(cell_text, values_as_text(others.slice(start, _STEP)))
        for value, each, group in zip(values, found, groups, strict=False):
            calls, errors, repairs, notices = (entries or [] for entries in each)
            texts = _texts_in(json.loads(value) if decode and value else value, messages)
            yield Seen(texts, calls, errors, repairs, notices, group)


def _texts_in(value: Any, messages: bool) -> dict[int, str]:
    """Return the texts in a row. A value that cannot be read has none: its row has an error that says so."""
    if not messages:
        return {0: value} if isinstance(value, str) else {}
    try:
        return dict(replies_in(value))
    except XMLToolsError:
        return {}


def _column_of(batch: Any, name: str, advice: str) -> Any:
    found = batch.schema.names.count(name)
    if not found:
        known = ", ".join(map(repr, batch.schema.names))
        raise XMLToolsError(f"report: there is no column {name!r:.80} in the output; {advice}; it has {known:.300}")
    if found > 1:
        raise XMLToolsError(f"report: the output has several columns {name!r:.80}; rename all but the one of the run")
    return batch.column(name)


def _read(batch: Any, prefix: str, field: Any) -> Any:
    """Return a column of lists, made of JSON if they are that."""
    name = prefix + field.name
    column = _column_of(batch, name, "give the prefix with which it was made")
    type, got = column.type, str(column.type)
    if pa.types.is_null(type):
        return column
    if pa.types.is_string(type) or pa.types.is_large_string(type):
        try:
            values = [json.loads(cell or "null") for cell in column.to_pylist()]
            return pa.concat_arrays(arrays(values, field.type))
        except (pa.ArrowException, TypeError, OverflowError) as error:
            got = f"JSON of another shape ({error.__class__.__name__})"
        except (ValueError, RecursionError):
            got = "text that is no JSON"
    elif _fields(field.type) <= _fields(type):
        return column
    raise XMLToolsError(f"report: column {name!r:.80}: expected lists as a batch run writes them, got {got:.200}")


def _fields(type: Any) -> set[str]:
    """Return the names of the fields in a list of structs, none if a type is something else."""
    is_list = pa.types.is_list(type) or pa.types.is_large_list(type)
    return {each.name for each in type.value_type} if is_list and pa.types.is_struct(type.value_type) else set()
