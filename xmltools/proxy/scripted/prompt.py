"""Tools read out of a system prompt, as a model reads them: from headings, lists of arguments, and example calls.

Nothing of a tool comes to the scripted model in another way, so what it calls shows what the instructions say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.models import Text, ToolCall
from xmltools.parser import Parser, build_reply, parse
from xmltools.proxy.scripted.types import Schema, make_tool, read_listed, read_signature
from xmltools.render import ENGLISH
from xmltools.tools import Tool
from xmltools.tools.schema import example_arguments

__all__ = ["Instructions", "KnownTool", "read_instructions"]

_HEADING = re.compile(r"^##? (.+)$", re.MULTILINE)
_SERVER = re.compile(r"^\w+: (.+)$")
_MUST_CALL = re.compile(r"\bmust call\b.{0,40}\btool\b", re.IGNORECASE)
_MENTION = f"<{FORGE.tool_name}>"
_OF_A_TOOL = (ENGLISH.arguments, ENGLISH.no_arguments)
"""The lines that tell the section of a tool from others, if it has no example."""


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool as far as the prompt tells: `tool`, arguments that fit it, and the example that they stand in, if any."""

    tool: Tool
    arguments: dict[str, Any]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a prompt says of tools: which there are, and whether one must be called."""

    tools: tuple[KnownTool, ...] = ()
    must_call: bool = False


class _Example(NamedTuple):
    """An example call, and how it is written."""

    call: ToolCall
    source: str


@dataclass(slots=True)
class _Section:
    """What stands under one heading: its text, and the example after that, if there is one."""

    name: str
    lines: list[str]
    example: _Example | None = None
    properties: dict[str, Schema] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    def tool(self) -> KnownTool | None:
        """Return the tool that the section describes; None if it describes none."""
        if self.example is None and not any(line in _OF_A_TOOL for line in self.lines):
            return None
        for name, schema, required in filter(None, map(read_listed, self._starting("- "))):
            self.properties[name] = schema
            self.required += [name] if required else []
        server = _SERVER.match(self.lines[0]) if self.lines else None
        description = "\n".join(line[2:] for line in self._starting("> "))
        try:
            tool = make_tool(
                self.name, description, server[1] if server else FORGE.default_server, self.properties, self.required
            )
        except XMLToolsError:
            return None
        return _known(tool, self.example)

    def _starting(self, mark: str) -> list[str]:
        return [line for line in self.lines if line.startswith(mark)]


@lru_cache(maxsize=16)
def read_instructions(prompt: str) -> Instructions:
    """Return the tools that a prompt describes in either style, none if it holds no instructions."""
    if _MENTION not in prompt:
        return Instructions()
    pieces = _pieces(prompt)
    sections = [known for section in _sections(pieces) if (known := section.tool())]
    # Signatures come after the rules, which name the elements of a block.
    tools = sections or _signatures(pieces, prompt.index(_MENTION))
    return Instructions(tuple(tools), bool(tools) and _must_call(prompt))


def _must_call(prompt: str) -> bool:
    """Return whether a rule says so: what tools and their arguments say of themselves is none."""
    lines = (line for line in prompt.split("\n") if not line.startswith(("> ", "  ")) and _MUST_CALL.search(line))
    return any(read_signature(line) is None and read_listed(line) is None for line in lines)


def _pieces(prompt: str) -> list[str | _Example]:
    """Return the prompt cut into its examples, and the text between them."""
    parser = Parser(reasoning_tags=())
    reply = build_reply([*parser.feed(prompt), *parser.close()])
    return [part for part in (_piece(part, prompt) for part in reply.parts) if part]


def _piece(part: object, prompt: str) -> str | _Example | None:
    if isinstance(part, ToolCall) and part.span is not None:
        return _Example(part, prompt[slice(*part.span)])
    return part.text if isinstance(part, Text) else None


def _sections(pieces: list[str | _Example]) -> list[_Section]:
    sections: list[_Section] = []
    for piece in pieces:
        if isinstance(piece, str):
            sections += _headed(piece)
        elif sections and sections[-1].name == piece.call.name and sections[-1].example is None:
            sections[-1].example = piece
    return sections


def _headed(text: str) -> list[_Section]:
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return [
        _Section(heading[1], text[heading.end() + 1 : end].split("\n"))
        for heading, end in zip(headings, ends, strict=False)
    ]


def _signatures(pieces: list[str | _Example], start: int) -> list[KnownTool]:
    examples = {piece.call.name: piece for piece in pieces if isinstance(piece, _Example)}
    texts = [piece for piece in pieces if isinstance(piece, str)]
    texts[:1] = [text[start:] for text in texts[:1]]
    tools = (read_signature(line) for text in texts for line in text.split("\n"))
    return [_known(tool, examples.get(tool.name)) for tool in tools if tool is not None]


def _known(tool: Tool, example: _Example | None) -> KnownTool:
    """Return the tool with the arguments of its example, or with made-up ones if it has none."""
    if example is None or example.call.server != tool.server:
        made = example_arguments(tool.shape)
        return KnownTool(tool, _piecewise(tool) if made is None else made)
    typed = parse(example.source, [tool]).calls or (example.call,)
    return KnownTool(tool, typed[0].arguments, example.source)


def _piecewise(tool: Tool) -> dict[str, Any]:
    """Return those of the required arguments that can be made up each by itself, where they can't be together."""
    made: dict[str, Any] = {}
    for name in tool.parameters.get("required", ()):
        schema = tool.parameters["properties"][name]
        alone = make_tool(tool.name, "", tool.server, {name: schema}, [name])
        made |= example_arguments(alone.shape) or {name: "example"}
    return made
