"""What text cannot say, kept in the `extra` of a message: the ids of its calls or of its results.

`extra["xmltools"]` is `{"call_ids": […]}` on a message with calls and `{"result_ids": […]}` on one with results (an
empty list on a message of a tool without results). What stood there before is kept under `"kept"`, so that messages
which have a note can be given another one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Note", "add_note", "take_note"]

_KEY = "xmltools"
_KEPT = "kept"
_IDS = ("call_ids", "result_ids")


class Note(NamedTuple):
    """The ids that a message had; None if nothing is known of them."""

    call_ids: list[str] | None = None
    result_ids: list[str] | None = None


def add_note(extra: dict[str, Any], **ids: list[str]) -> dict[str, Any]:
    """Return `extra` with a note of these ids; as it is if there is nothing to note."""
    note: dict[str, Any] = dict(ids)
    if _KEY in extra:
        note[_KEPT] = extra[_KEY]
    return {**extra, _KEY: note} if note else extra


def take_note(extra: dict[str, Any]) -> tuple[Note, dict[str, Any]]:
    """Return the note and what `extra` was without it. What no `add_note` wrote stays where it is."""
    note = extra.get(_KEY)
    if not isinstance(note, dict) or not note or not note.keys() <= {*_IDS, _KEPT}:
        return Note(), extra
    rest = {key: value for key, value in extra.items() if key != _KEY}
    if _KEPT in note:
        rest[_KEY] = note[_KEPT]
    return Note(*(_ids(note.get(name)) for name in _IDS)), rest


def _ids(found: Any) -> list[str] | None:
    return found if isinstance(found, list) and all(isinstance(each, str) for each in found) else None
