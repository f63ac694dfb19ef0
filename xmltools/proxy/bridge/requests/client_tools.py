"""Tools that have no schema of arguments in the request, though the client runs them.

Of some only the type is given: the maker's own models know them. Other models don't, so they get the arguments that
Anthropic documents for the type, or that OpenAI's items have. OpenAI's custom tools take one text: the model gets that
as the one argument `input`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.proxy.bridge.requests.incoming import Notes, read_tool
from xmltools.proxy.bridge.requests.responses_fields import refusal, wrong
from xmltools.tools import Tool

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


def anthropic_client_tool(definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the whole definition of one of Anthropic's tools that only has a type and a name, None if the client does
    not run it."""
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


def openai_client_tool(definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the whole definition of one of OpenAI's tools that only has a type, which is its name then; None if the
    client does not run it."""
    made = _OPENAI.get(str(definition.get("type")))
    environment = definition.get("environment") or {}
    if made is None or (isinstance(environment, Mapping) and environment.get("type", "local") != "local"):
        return None  # a container is one of OpenAI's
    description, properties, required, more = made
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False, **more}
    skills = environment.get("skills") if isinstance(environment, Mapping) else None
    return {"name": definition["type"], "description": description + _skills(skills), "parameters": schema}


def _skills(skills: Any) -> str:
    """Return what the model is told of the skills that lie in the client's environment."""
    given = [skill for skill in skills if isinstance(skill, Mapping)] if isinstance(skills, list) else []
    lines = [f"- {each.get('name')} in {each.get('path')}: {each.get('description')}" for each in given]
    head = "\n\nSkills, each a folder with a file SKILL.md to read before it is used:"
    return "\n".join([head, *lines]) if lines else ""


_TEXTS = {"type": "array", "items": _TEXT, "minItems": 1}
_MILLISECONDS = {"type": "integer", "minimum": 1, "description": "When to give up, in milliseconds."}
_LOCAL_SHELL = {
    "command": {
        **_TEXTS,
        "description": "The program and its arguments, each on its own; there is no shell unless you start one.",
        "examples": [["bash", "-lc", "ls | head"]],
    },
    "working_directory": _TEXT,
    "timeout_ms": _MILLISECONDS,
    "env": {"type": "object", "additionalProperties": _TEXT, "description": "More variables of the environment."},
}
_SHELL = {
    "commands": {**_TEXTS, "description": "Commands for a shell; each has a result of its own."},
    "timeout_ms": _MILLISECONDS,
    "max_output_length": {"type": "integer", "minimum": 1, "description": "Most characters of output to show."},
}
_PATCH = {
    "type": {"type": "string", "enum": ["update_file", "create_file", "delete_file"]},
    "path": {**_TEXT, "description": "The file, as seen from the workspace."},
    "diff": {
        **_TEXT,
        "description": 'For create_file: all lines of the file, each after a "+". For update_file: for each place "@@" '
        'and maybe a line that stands above it, such as "@@ def run():"; then its lines, each after a space if it '
        'stays, a "-" if it goes, a "+" if it is new. There are no line numbers. delete_file has none.',
        "examples": ["@@ def run():\n     a = 1\n-    b = 2\n+    b = 3\n     return a + b"],
    },
}
_OPENAI: dict[str, tuple[str, dict[str, Any], list[str], dict[str, Any]]] = {
    "local_shell": ("Run a command on the user's machine.", _LOCAL_SHELL, ["command"], {}),
    "shell": ("Run shell commands on the user's machine.", _SHELL, ["commands"], {}),
    "apply_patch": (
        "Create, update or delete a file.",
        _PATCH,
        ["type", "path"],
        {"if": {"properties": {"type": {"const": "delete_file"}}}, "else": {"required": ["diff"]}},
    ),
}
"""By their types: what they do, their arguments, those that are required, and what else a call must have."""


# Custom tools

_CUSTOM = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The whole input, as plain text."}},
    "required": ["input"],
    "additionalProperties": False,
}


def read_custom_tool(definition: Mapping[str, Any], at: str, notes: Notes) -> Tool | None:
    """Return the tool of what a definition says of itself: `name`, `description` and `format`.

    The model is told of a grammar in words. Raises Refusal with the place, also for a grammar if it is to be strict.
    """
    name, description, form = (definition.get(key) for key in ("name", "description", "format"))
    if not isinstance(name, str):
        raise wrong(at, "the name of a tool in its field name", name)
    if form is not None and not isinstance(form, Mapping):
        raise wrong(f"{at}.format", "an object", form)
    if form and form.get("type", "text") != "text":
        if notes.strict:
            why = "the model can't be held to a grammar here; leave it out, and describe the input"
            raise refusal(f"{at}.format", why)
        description = f"{description or ''}\n\n{_in_words(form)}".strip()
    return read_tool({"name": name, "description": description, "parameters": _CUSTOM}, at, notes)


def _in_words(form: Mapping[str, Any]) -> str:
    """Return what the model is told of the form of an input."""
    inner = form.get("grammar")  # chat completions put it deeper
    grammar = inner if isinstance(inner, Mapping) else form
    syntax, rules = grammar.get("syntax"), grammar.get("definition")
    if form.get("type") == "grammar" and isinstance(rules, str):
        kind = f" ({syntax})" if isinstance(syntax, str) else ""
        return f"The input is plain text, no JSON, and has the form of this grammar{kind}:\n{rules}"
    return "The input is plain text, no JSON."
