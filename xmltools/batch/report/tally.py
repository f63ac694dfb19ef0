"""What a report says of a run, counted batch by batch. Batches are counted by Arrow; memory stays the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from xmltools.batch.arrow import pa
from xmltools.batch.report.columns import Layout, Lists, pc, read_lists, texts_in
from xmltools.batch.report.counts import Sizes, Tools, fold
from xmltools.batch.report.worst import Worst
from xmltools.errors import XMLToolsError

__all__ = ["Tally"]


_NOTICED = 10


class Tally:
    """All that a report says. Sizes are in characters."""

    def __init__(self, layout: Layout) -> None:
        self.rows = 0
        self.rows_with_calls = 0
        self.rows_with_errors = 0
        self.characters = 0
        self.calls = 0
        self.clean_calls = 0
        self.calls_per_row: Counter[tuple[int, int]] = Counter()
        self.tools = Tools()
        self.sizes = Sizes()
        self.errors: Counter[str] = Counter()
        self.repairs: Counter[str] = Counter()
        self.notations: Counter[str] = Counter()
        self.rows_with_notices = 0
        self.noticed: list[int] = []
        """The first rows with notices."""
        self.worst = Worst(layout)
        self._layout = layout

    def add(self, batch: Any) -> None:
        """Count a batch. Raises `XMLToolsError` if it is no output of a batch run."""
        if not isinstance(batch, pa.RecordBatch):
            got = type(batch).__name__
            raise XMLToolsError(f"batches: expected Arrow record batches, as Table.to_batches makes them, got {got}")
        lists = read_lists(batch, self._layout)
        source = batch.column(self._layout.column)
        self.characters += _characters(source, self._layout.messages)
        self._count_calls(lists.calls)
        self._count_problems(lists)
        self._count_notices(lists.notices)
        self.worst.add(source, lists, self.rows)
        self.rows += batch.num_rows

    def _count_calls(self, calls: Any) -> None:
        for length, count in _value_counts(pc.list_value_length(calls)):
            self.calls_per_row[fold(length or 0)] += count
            self.rows_with_calls += count if length else 0
        table = _table(calls, "server", "name", "clean", "arguments")
        self.calls += table.num_rows
        for size, count in _value_counts(pc.utf8_length(table["arguments"])):
            self.sizes.add(size or 0, count)
        self._count_tools(table)

    def _count_tools(self, table: Any) -> None:
        groups = table.group_by(["server", "name", "clean"], use_threads=False).aggregate([([], "count_all")])
        for group in groups.to_pylist():
            tool, count = (group["server"] or "", group["name"] or ""), group["count_all"]
            self.clean_calls += count if group["clean"] else 0
            self.tools.add(tool, bool(group["clean"]), count)
        self.tools.bound()

    def _count_problems(self, lists: Lists) -> None:
        self.rows_with_errors += pc.sum(pc.greater(pc.list_value_length(lists.errors), 0)).as_py() or 0
        for counts, column in ((self.errors, lists.errors), (self.repairs, lists.repairs)):
            for code, count in _value_counts(_table(column, "code")["code"]):
                counts[code or ""] += count

    def _count_notices(self, notices: Any) -> None:
        for notation, count in _value_counts(_table(notices, "notation")["notation"]):
            self.notations[notation or ""] += count
        has_some = pc.fill_null(pc.greater(pc.list_value_length(notices), 0), False)
        self.rows_with_notices += pc.sum(has_some).as_py() or 0
        if len(self.noticed) < _NOTICED:
            places = pc.indices_nonzero(has_some).to_pylist()
            self.noticed += [self.rows + place for place in places[: _NOTICED - len(self.noticed)]]


def _table(lists: Any, *names: str) -> Any:
    """Some fields of the structs in all lists, as a table."""
    flat = lists.flatten()
    return pa.table([pc.struct_field(flat, name) for name in names], list(names))


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
