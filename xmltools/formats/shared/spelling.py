"""How a foreign object was spelled, kept beside what was read of it, so that it is written again as it was.

`spelling_of(obj, record)` returns the differences between an object and the `record` that is written of what was
read: the order of its keys if that is another one, and the values that are. `restored(record, note, reads)` applies
them to a new record, but no value that means something else by now. `reads` tells by key what a value means: two
spellings mean the same if they are read as the same value, and a key that is not there as None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Reads = Mapping[str, Callable[[Any], Any]]


def spelling_of(obj: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be known to write `obj` where `record` would be written; nothing if they are the same."""
    values = {key: value for key, value in obj.items() if key not in record or not _same(value, record[key])}
    note: dict[str, Any] = {"keys": list(obj)} if list(obj) != list(record) else {}
    return {**note, "values": values} if values else note


def restored(record: dict[str, Any], note: Mapping[str, Any], reads: Reads) -> dict[str, Any]:
    """Return the record in the spelling of the object that `note` was kept of."""
    values = _dict(note.get("values"))
    whole = record | {key: value for key, value in values.items() if _means_the_same(key, value, record, reads)}
    keys = note.get("keys")
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return whole
    ordered = {key: whole[key] for key in keys if key in whole}
    left_out = {key for key in whole if key not in ordered and _is_default(key, whole[key], reads)}
    return ordered | {key: value for key, value in whole.items() if key not in left_out}


def note_of(extra: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what the format `name` keeps in an `extra`; nothing if that is no dict."""
    return _dict(extra.get(name))


def extra_of(note: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the `extra` in which the format `name` keeps a note; nothing if there is nothing to note."""
    return {name: note} if note else {}


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _means_the_same(key: str, value: Any, record: Mapping[str, Any], reads: Reads) -> bool:
    return key not in reads or bool(reads[key](value) == reads[key](record.get(key)))


def _is_default(key: str, value: Any, reads: Reads) -> bool:
    return key in reads and bool(reads[key](value) == reads[key](None))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
