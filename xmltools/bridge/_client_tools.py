"""Tools of Anthropic's API that the client runs, though only their type stands in the request: models know them.

A model of another maker does not, so it gets the arguments that Anthropic documents for the type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["client_tool"]

_TEXT = {"type": "string"}
_LINE = {"type": "integer", "minimum": 0}
_RANGE = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_BASH = {"command": {**_TEXT, "description": "The command to run."}, "restart": {"type": "boolean"}}
_FILE = {"path": _TEXT, "view_range": _RANGE, "file_text": _TEXT, "old_str": _TEXT, "new_str": _TEXT}
_EDITS = (
    'The commands: "view" shows a file (lines view_range, [first, last]) or folder; "create" writes file_text to a '
    'file; "str_replace" puts new_str in the place of old_str, which must occur once; "insert" puts {} after line '
    "insert_line"
)


def client_tool(definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the whole definition of a tool that only has a type and a name, None if the client does not run it."""
    kind = definition.get("type")
    for prefix, made in (("bash_", _bash), ("text_editor_", _editor), ("memory_", _memory)):
        if isinstance(kind, str) and kind.startswith(prefix) and kind[len(prefix) :].isdecimal():
            description, schema = made(int(kind[len(prefix) :]))
            return {"name": definition.get("name"), "description": description, "input_schema": schema}
    return None


def _bash(version: int) -> tuple[str, dict[str, Any]]:
    about = "Run a command in a bash session that lives on between calls; restart=true begins a new one instead."
    return about, {"type": "object", "properties": _BASH}


def _editor(version: int) -> tuple[str, dict[str, Any]]:
    commands, fields = ["view", "create", "str_replace", "insert"], {**_FILE, "insert_line": _LINE}
    if version < 20250429:  # what is inserted was called new_str, and the last edit could be undone
        return _edits([*commands, "undo_edit"], fields, _EDITS.format("new_str") + '; "undo_edit" takes the last back.')
    return _edits(commands, {**fields, "insert_text": _TEXT}, _EDITS.format("insert_text") + ".")


def _memory(version: int) -> tuple[str, dict[str, Any]]:
    commands = ["view", "create", "str_replace", "insert", "delete", "rename"]
    fields = {**_FILE, "insert_line": _LINE, "insert_text": _TEXT, "old_path": _TEXT, "new_path": _TEXT}
    about = _EDITS.format("insert_text") + '; "delete" removes a path; "rename" moves old_path to new_path.'
    description, schema = _edits(commands, fields, about)
    return f"Files below /memories, which are kept between conversations. {description}", {
        **schema,
        "required": ["command"],  # a rename has no path
    }


def _edits(commands: list[str], fields: dict[str, Any], about: str) -> tuple[str, dict[str, Any]]:
    properties = {"command": {"type": "string", "enum": commands}, **fields}
    return f"View and edit files. {about}", {
        "type": "object",
        "properties": properties,
        "required": ["command", "path"],
    }
