"""The list of tools in a prompt, in the form that the chat template of the dialect's models has.

All that definitions hold is data. In JSON it stays what it is, with escapes for marks; elsewhere marks are written as
references, and each further line of a description is indented, so that none can pass for a heading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from xmltools.dialects import ToolList
from xmltools.errors import XMLToolsError
from xmltools.render.dialect_calls import marked
from xmltools.render.marks import Marks
from xmltools.render.prompt_sentences import one_line
from xmltools.render.type_descriptions import ABSENT, children_of, fact
from xmltools.render.type_signatures import TypeWriter
from xmltools.tools import Tool
from xmltools.tools.schema import properties_of

MAX_DESCRIPTION = 200
"""Characters of a tool's description in the compact style."""
_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks that JSON does not escape."""
_WORD = re.compile(r"[$\w][\w$-]*")
_LEFT_OUT = ("description", "title", "examples", "$comment")
_OF_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose value has a schema for each name."""
_DATA = ("const", "enum", "default", "examples", "example", "required")
"""Keywords whose value is no schema."""


def write_tools(tools: Sequence[Tool], form: ToolList, marks: Marks, *, compact: bool) -> str:
    """Return the list of tools; `compact`: without the descriptions of arguments."""
    told = (f"{form.each_start}{_told(tool, form, marks, compact)}{form.each_end}" for tool in tools)
    return f"{form.start}{form.between.join(told)}{form.end}"


def _told(tool: Tool, form: ToolList, marks: Marks, compact: bool) -> str:
    description, parameters = tool.description, tool.parameters
    if compact:
        description = one_line(description)
        if len(description) > MAX_DESCRIPTION:
            description = description[: MAX_DESCRIPTION - 3].rstrip() + "..."
        parameters = _without_words(parameters)
    if form.form == "elements":
        return "\n".join(_Elements(marks).function(tool.name, description, parameters))
    if form.form == "heading":
        lines = [f"### {marks.neutral(tool.name)}"]
        lines += [f"Description: {_indented(description, marks)}"] if description else []
        return "\n".join((*lines, "", f"Parameters: {_json(parameters, marks)}"))
    if form.form == "types":
        return "\n".join(_typed(tool, description, marks, compact))
    if form.form == "declaration":
        facts = {"description": description, "parameters": _in_capitals(parameters)}
        name = marks.neutral(tool.name)
        return f"declaration:{name}{marks.neutral(marked({key: each for key, each in facts.items() if each}, _QUOTE))}"
    said: dict[str, Any] = {"name": tool.name, "description": description, "parameters": parameters}
    if not description:
        del said["description"]
    return _json({"type": "function", "function": said} if form.form == "function" else said, marks, form.indent)


def _typed(tool: Tool, description: str, marks: Marks, compact: bool) -> Iterator[str]:
    """Yield a tool as a type of TypeScript, as gpt-oss is told of it."""
    types = TypeWriter()
    yield from _commented(description, marks)
    yield f"type {marks.neutral(tool.name)} = (_: {{"
    for number, (form, _) in enumerate(children_of(tool.shape.forms, "")):
        if number:
            yield "} | {"
        for each in properties_of(form):
            said = fact(each.shape, "description")
            if said is not ABSENT and not compact:
                yield from _commented(said, marks)
            yield f"{marks.neutral(types.member(each.name, each.shape, each.required, 0))},"
    yield "}) => any;"


def _commented(text: str, marks: Marks) -> list[str]:
    return [f"// {line.rstrip()}" for line in marks.neutral(text).splitlines() if line.strip()]


_QUOTE = '<|"|>'
"""What stands around Gemma's strings."""


def _in_capitals(schema: Any) -> Any:
    """Return a schema with the names of types in capitals, as Gemma's declarations have them."""
    if isinstance(schema, list):
        return [_in_capitals(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _OF_NAMES and isinstance(value, dict):
            kept[key] = {name: _in_capitals(each) for name, each in value.items()}
        elif key in _DATA:
            kept[key] = value
        else:
            kept[key] = value.upper() if key == "type" and isinstance(value, str) else _in_capitals(value)
    return kept


def _json(value: Any, marks: Marks, indent: int | None = None) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
    except (TypeError, ValueError, RecursionError) as error:
        raise XMLToolsError(f"a definition of a tool is expected to be JSON: {error}") from None
    return marks.neutral_json(_BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _indented(text: str, marks: Marks) -> str:
    lines = [line.rstrip() for line in marks.neutral(text).splitlines() if line.strip()]
    return "\n  ".join(lines)


def _without_words(schema: Any) -> Any:
    """Return a schema without what is said in words."""
    if isinstance(schema, list):
        return [_without_words(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _OF_NAMES and isinstance(value, dict):
            kept[key] = {name: _without_words(each) for name, each in value.items()}
        elif key in _DATA:
            kept[key] = value
        elif key not in _LEFT_OUT:
            kept[key] = _without_words(value)
    return {key: value for key, value in kept.items() if key not in _LEFT_OUT}


class _Elements:
    """A tool as elements, as Qwen3-Coder's template has it."""

    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def function(self, name: str, description: str, parameters: dict[str, Any]) -> Iterator[str]:
        yield "<function>"
        yield self.element("name", name)
        if description:
            yield self.element("description", description)
        yield "<parameters>"
        properties = parameters.get("properties")
        for key, schema in properties.items() if isinstance(properties, dict) else ():
            yield "<parameter>"
            yield self.element("name", key)
            yield from self.facts(schema if isinstance(schema, dict) else {"schema": schema}, ())
            yield "</parameter>"
        yield from self.facts(parameters, ("type", "properties"))
        yield "</parameters>"
        yield "</function>"

    def facts(self, schema: dict[str, Any], known: Sequence[str]) -> Iterator[str]:
        """Yield what else a schema says: an element for each keyword."""
        rest = {key: value for key, value in schema.items() if key not in known}
        if not all(map(_WORD.fullmatch, rest)):
            rest = {"schema": rest}  # such a key is no name of an element
        first = ("type", "description")
        for key in (*(key for key in first if key in rest), *(key for key in rest if key not in first)):
            yield self.element(key, rest[key])

    def element(self, name: str, value: Any) -> str:
        text = _indented(value, self.marks) if isinstance(value, str) else _json(value, self.marks)
        return f"<{name}>{text}</{name}>"
