"""OpenAI's custom tools: their input is one text, and the model gets it as the one argument `input`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.proxy.bridge.errors import Refusal
from xmltools.proxy.bridge.requests.incoming import Notes, read_tool
from xmltools.tools import Tool

__all__ = ["read_custom_tool"]

_ARGUMENTS = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The whole input, as plain text."}},
    "required": ["input"],
    "additionalProperties": False,
}


def read_custom_tool(definition: Mapping[str, Any], at: str, notes: Notes) -> Tool:
    """Return the tool of what a definition says of itself: `name`, `description` and `format`.

    The model is told of a grammar in words. Raises Refusal with the place, also for a grammar if it is to be strict.
    """
    if not isinstance(definition.get("name"), str):
        got = definition.get("name")
        raise Refusal(f"{at}: expected the name of a tool in its field name, got {got!r:.60}", param=at)
    description, form = definition.get("description"), definition.get("format")
    if form is not None and not isinstance(form, Mapping):
        raise Refusal(f"{at}.format: expected an object, got {form!r:.60}", param=f"{at}.format")
    if form and form.get("type", "text") != "text":
        if notes.strict:
            raise Refusal(
                f"{at}.format: the model can't be held to a grammar here; leave it out, and describe the input",
                param=f"{at}.format",
            )
        description = f"{description or ''}\n\n{_in_words(form)}".strip()
    return read_tool({"name": definition.get("name"), "description": description, "parameters": _ARGUMENTS}, at)


def _in_words(form: Mapping[str, Any]) -> str:
    """Return what the model is told of the form of an input."""
    inner = form.get("grammar")  # chat completions put it deeper
    grammar = inner if isinstance(inner, Mapping) else form
    syntax, rules = grammar.get("syntax"), grammar.get("definition")
    if form.get("type") == "grammar" and isinstance(rules, str):
        kind = f" ({syntax})" if isinstance(syntax, str) else ""
        return f"The input is plain text, no JSON, and has the form of this grammar{kind}:\n{rules}"
    return "The input is plain text, no JSON."
