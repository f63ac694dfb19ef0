"""Tools that have no schema of arguments in the request, though the client runs them.

Of some only the type is given: the maker's own models know them. Other models don't, so they get the arguments that
Anthropic documents for the type, or that OpenAI's items have. OpenAI's custom tools take one text: the model gets that
as the one argument `input`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from xmltools.proxy.bridge.requests.incoming import Notes, read_tool
from xmltools.proxy.bridge.requests.responses_fields import refusal, wrong
from xmltools.tools import Tool

_ANTHROPIC = re.compile(r"(bash|text_editor|memory)_(\d+)")
_NEW_EDITOR = 20250429
"""The first version without `undo_edit`, and with `insert_text` in place of `new_str`."""


@cache
def _known() -> dict[str, dict[str, Any]]:
    """The tools by their types: what the model is told of them, and their arguments."""
    known: dict[str, dict[str, Any]] = json.loads(
        files(__package__).joinpath("data", "client_tools.json").read_text(encoding="utf-8")
    )
    return known


def anthropic_client_tool(definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the whole definition of one of Anthropic's tools that only has a type and a name, None if the client does
    not run it."""
    found = _ANTHROPIC.fullmatch(str(definition.get("type")))
    if found is None:
        return None
    is_old = found[1] == "text_editor" and int(found[2]) < _NEW_EDITOR
    return {"name": definition.get("name"), **_known()["old text_editor" if is_old else found[1]]}


def openai_client_tool(definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the whole definition of one of OpenAI's tools that only has a type, which is its name then; None if the
    client does not run it."""
    kind, environment = definition.get("type"), definition.get("environment") or {}
    if kind not in _OPENAI or (isinstance(environment, Mapping) and environment.get("type", "local") != "local"):
        return None  # a container is one of OpenAI's
    known = _known()[kind]
    skills = environment.get("skills") if isinstance(environment, Mapping) else None
    return {"name": kind, **known, "description": known["description"] + _skills(skills)}


def _skills(skills: Any) -> str:
    """Return what the model is told of the skills that lie in the client's environment."""
    given = [skill for skill in skills if isinstance(skill, Mapping)] if isinstance(skills, list) else []
    lines = [f"- {each.get('name')} in {each.get('path')}: {each.get('description')}" for each in given]
    head = "\n\nSkills, each a folder with a file SKILL.md to read before it is used:"
    return "\n".join([head, *lines]) if lines else ""


_OPENAI = ("local_shell", "shell", "apply_patch")


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
