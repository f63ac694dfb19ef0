"""The counts of a run for each value of a column, such as the model that wrote the reply.

The first values that come are told apart, and all later ones are counted together: so the memory is bounded, and each
count that has a name is complete. Null and empty text, which are one in CSV, are no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from xmltools.batch.arrow import cell_text, pa, values_as_text
from xmltools.batch.report.tally import Lists, Tally, column_of

VALUES = 100
"""How many values are told apart."""
_TOOLS = 200  # tools of a group that are told apart
_LONGEST = 160  # characters of a value that are shown
_NAMES = {"missing": "(missing)", "other": "(other)"}


class Group(NamedTuple):
    """What rows have in common: `kind` is "value" (they have the value `text`), "missing" (they have none) or "other"
    (their values came late, and are counted together)."""

    kind: str
    text: str

    @property
    def name(self) -> str:
        """What it is called where text is all that there is."""
        return _NAMES.get(self.kind, self.text)


_MISSING, _OTHER = (Group(kind, "") for kind in _NAMES)


class Groups:
    """The tallies of groups of rows, by the values of the column `by`."""

    def __init__(self, by: str) -> None:
        self.by = by
        self._tallies: dict[Group, Tally] = {}

    def add(self, batch: Any, source: Any, lists: Lists, messages: bool) -> None:
        """Count the rows of a batch, given also the column that was parsed and its lists.

        Raises `XMLToolsError` if the batch has no such column.
        """
        rows: dict[Group, list[int]] = {}
        for row, value in enumerate(values_as_text(column_of(batch, self.by, "give the name of one of the input"))):
            rows.setdefault(self._group_of(value), []).append(row)
        for group, members in rows.items():
            taken = pa.array(members, pa.int64())
            self._tallies[group].add(source.take(taken), Lists(*(each.take(taken) for each in lists)), messages)

    def ranked(self) -> list[tuple[Group, Tally]]:
        """Return the groups, those with the most rows first; those without a value of their own last."""
        kinds = ["value", *_NAMES]
        return sorted(self._tallies.items(), key=lambda each: (kinds.index(each[0].kind), -each[1].rows, each[0].text))

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records of all tallies, each with its group."""
        for group, tally in self.ranked():
            for record in tally.records():
                yield {"group_kind": group.kind, "group": group.name, **record}

    def _group_of(self, value: Any) -> Group:
        """Return the group of a value. One that is new has a tally afterwards."""
        text = cell_text(value)
        group = Group("value", _brief(text)) if text else _MISSING
        if group.kind == "value" and group not in self._tallies and len(self._tallies) >= VALUES:
            group = _OTHER
        self._tallies.setdefault(group, Tally(_TOOLS))
        return group


def _brief(text: str) -> str:
    """Return a text, or if it is long its beginning, with a digest that tells it from others that begin like it."""
    data = text.encode("utf-8", "backslashreplace")
    if len(text) <= _LONGEST:
        return data.decode()
    return f"{_brief(text[: _LONGEST - 20])}… {sha256(data).hexdigest()[:8]}"
