"""Definitions of tools in one form: what `load_tools` reads, less all other forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from xmltools.errors import XMLToolsError
from xmltools.models.foreign_fields import Object, expect_format, keys_of
from xmltools.tools import Tool, load_tools


class _Form(NamedTuple):
    shown: str
    lists: tuple[str, ...]
    fits: Callable[[Object], bool]


_FORMS = {
    "openai": _Form(
        'for OpenAI, {"type": "function", "function": {"name": "…", "parameters": {…}}} (chat) or '
        '{"type": "function", "name": "…", "parameters": {…}} (Responses)',
        ("tools",),
        lambda each: each.get("type") == "function" and ("name" in each or isinstance(each.get("function"), Mapping)),
    ),
    "anthropic": _Form(
        'for Anthropic, {"name": "…", "description": "…", "input_schema": {…}}',
        ("tools",),
        lambda each: "name" in each and "input_schema" in each,
    ),
    "mcp": _Form(
        'of MCP, {"name": "…", "description": "…", "inputSchema": {…}}',
        ("tools",),
        lambda each: "name" in each and "inputSchema" in each,
    ),
    "gemini": _Form(
        'for Gemini, {"functionDeclarations": [{"name": "…", "description": "…", "parameters": {…}}]}',
        ("tools", "functionDeclarations", "function_declarations"),
        lambda each: "name" in each and not {"type", "server", "input_schema", "inputSchema"} & set(each),
    ),
}
DEFINITION_FORMATS = ("auto", *_FORMS)


def load_definitions(value: Any, format: str = "auto") -> list[Tool]:
    """Make tools from definitions, as `load_tools` does, but only from those of the form `format`.

    Takes a list of definitions or an object that has one, and one of `DEFINITION_FORMATS`. Raises `XMLToolsError` for
    other forms, and as `load_tools` does.
    """
    expect_format(format, DEFINITION_FORMATS)
    if format == "auto":
        return load_tools(value)
    form = _FORMS[format]
    entries = list(_entries(value, form))
    for position, each in enumerate(entries):
        if not (isinstance(each, Mapping) and form.fits(each)):
            raise XMLToolsError(f"tool {position} of the list: expected a tool {form.shown}, got {keys_of(each)}")
    return load_tools(entries)


def _entries(value: Any, form: _Form) -> Iterator[Any]:
    """Yield the definitions in a list, or in an object that has one. Such an object may be in the list too."""
    given = value if isinstance(value, list) else _list_in(value, form)
    if given is None:
        raise XMLToolsError(f"expected a list of tools {form.shown}, got {keys_of(value)}")
    for each in given:
        yield from (each,) if _list_in(each, form) is None else _entries(each, form)


def _list_in(value: Any, form: _Form) -> list[Any] | None:
    if not isinstance(value, Mapping) or "name" in value:
        return None
    return next((value[key] for key in form.lists if isinstance(value.get(key), list)), None)
