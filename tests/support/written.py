"""Calls that are written in every dialect and read back: the law, and what to try it with.

Everything is drawn from a `random.Random`, as in `calls`, whose values get marks of the dialect here.
"""

from __future__ import annotations

import re
from random import Random
from typing import Any

from support import calls
from support.dialect_marks import marks_of

from xmltools import dialects
from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.parser import parse
from xmltools.render import render_call, render_calls
from xmltools.render.writable import same
from xmltools.tools import Tool
from xmltools.tools.schema import find_problems

__all__ = ["WRITTEN", "detected_as", "draw", "law", "law_of_several"]

WRITTEN = tuple(each.name for each in dialects.all() if each.written)
"""The dialects but Forge's in which calls are written."""
_WORDS = (
    *(
        "function",
        "functions",
        "tool_call",
        "invoke",
        "parameter",
        "name",
        "arguments",
        "think",
        "item",
        "json",
        "None",
    ),
    *("call", "tool", "object", "input", "true", "lambda", "get", "text", "path"),
)
"""Names of tools that mean something in some dialect."""
_FITS = re.compile(r"write it in '(\w+)'")


def detected_as(name: str) -> str:
    """Return the dialect that is detected where calls are written in this one. MiMo-V2 has the delimiters of
    Qwen3-Coder and ERNIE those of Hermes, which more models write."""
    return {"mimo": "qwen3_coder", "ernie": "hermes"}.get(name, name)


def draw(rng: Random, dialect: str) -> tuple[ToolCall, Tool]:
    """A tool, mostly with an ordinary name, and a call that fits it; its strings hold marks of the dialect."""
    meant = calls.meant(rng)
    assert meant.tool is not None
    marks = marks_of(dialects.named(dialect), ("f", "apply_diff"), ("path", "text"))
    arguments = _with_marks(rng, meant.call.arguments, [*marks, "\n", " ", "x"])
    if find_problems(arguments, meant.tool.shape):
        arguments = meant.call.arguments
    form = rng.random()
    name = "apply_diff" if form < 0.7 else rng.choice(_WORDS) if form < 0.85 else meant.tool.name
    server = meant.tool.server if rng.random() < 0.2 else "local"
    tool = meant.tool.model_copy(update={"name": name, "server": server})
    return meant.call.model_copy(update={"name": name, "server": server, "arguments": arguments}), tool


def _with_marks(rng: Random, value: Any, marks: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _with_marks(rng, each, marks) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_marks(rng, each, marks) for each in value]
    if isinstance(value, str) and rng.random() < 0.4:
        return value + "".join(rng.choices(marks, k=rng.randint(1, 4)))
    return value


def law(call: ToolCall, tool: Tool, dialect: str) -> bool:
    """A call reads back as the same call, clean; or it is refused, with the name of a dialect that can say it.

    Returns whether it was written.
    """
    try:
        text = render_call(call, tool, dialect=dialect)
    except XMLToolsError as error:
        able = _FITS.search(str(error))
        if able:
            assert _reads_back(render_call(call, tool, dialect=able[1]), [call], [tool], able[1])
        return False
    assert _reads_back(text, [call], [tool], dialect), text
    return True


def law_of_several(drawn: list[tuple[ToolCall, Tool]], dialect: str) -> bool:
    """The same for the calls of one turn, of tools with names of their own."""
    numbered = [
        (call.model_copy(update={"name": f"{tool.name}{n}"}), tool.model_copy(update={"name": f"{tool.name}{n}"}))
        for n, (call, tool) in enumerate(drawn)
    ]
    written, tools = [call for call, _ in numbered], [tool for _, tool in numbered]
    try:
        text = render_calls(written, tools, dialect=dialect)
    except XMLToolsError:
        return False
    assert _reads_back(text, written, tools, dialect), text
    return True


def _reads_back(text: str, written: list[ToolCall], tools: list[Tool], name: str) -> bool:
    dialect: Dialect = dialects.named(name)
    reply = parse(text, tools, dialect=dialect)
    return (
        len(reply.calls) == len(written)
        and not reply.errors
        and not reply.text.strip()
        and all(_is_same(one, other, dialect) for one, other in zip(written, reply.calls, strict=True))
    )


def _is_same(one: ToolCall, other: ToolCall, dialect: Dialect) -> bool:
    is_clean = other.clean or (dialect == FORGE and {each.code for each in other.repairs} == {"forbidden_character"})
    return (one.name, one.server) == (other.name, other.server) and is_clean and same(one.arguments, other.arguments)
