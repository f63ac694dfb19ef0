"""Three readers, one tree: what lxml and defusedxml find in a clean block, compared with what the parser found.

Names must be equal and so must the arguments, read from each tree through the tool's schema. Line ends and the white
space that the protocol calls layout are known differences; `layout` takes them away before the others read. One more
can't be taken away: expat follows the fourth edition of XML 1.0, whose names have fewer characters. It is told as such.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xmltools.dialects import FORGE
from xmltools.lint.layout import plain_block
from xmltools.lint.readers import Unreadable, arguments_of, field_of, name_unknown_to_expat, readers_for
from xmltools.models import ToolCall
from xmltools.render.writable import same
from xmltools.tools import Tool
from xmltools.tools.schema import read_arguments

__all__ = ["disagreements"]


def disagreements(block: str, call: ToolCall, tool: Tool | None, only: str | None = None) -> Iterator[str]:
    """Yield a message for each reader that finds another call in a clean block than the parser.

    Takes the block's text, the call that the parser found, its tool if there is one, and the server of all tools if
    they are on one.
    """
    plain = plain_block(block)
    for reader, read in readers_for(plain).items():
        try:
            root = read(plain)
        except Unreadable as refused:
            yield f"{reader} does not read the block: {_known_reason(plain) or refused}"
            continue
        difference = _difference(root, call, tool, only or FORGE.default_server)
        if difference:
            yield f"{reader} finds another call in the block: {difference}"


def _known_reason(block: str) -> str:
    """Return why expat refuses a block that lxml reads, if that is a known difference between the two."""
    name = name_unknown_to_expat(block)
    return f"expat does not know the name {name!r:.80} (XML 1.0, fifth edition)" if name else ""


def _difference(root: Any, call: ToolCall, tool: Tool | None, unnamed: str) -> str:
    """Return what differs first, nothing if all is the same. A block that names no server means the `unnamed` one."""
    server = field_of(root, FORGE.server_name) or unnamed
    arguments = read_arguments(arguments_of(root), tool.shape if tool else None, check=False).arguments
    compared: list[tuple[str, Any, Any]] = [
        ("the element", root.tag, FORGE.block),
        (FORGE.tool_name, field_of(root, FORGE.tool_name), call.name),
        (FORGE.server_name, server, call.server),
        ("the names of arguments", list(arguments), list(call.arguments)),
        *((f"the argument {name!r:.80}", arguments.get(name), value) for name, value in call.arguments.items()),
    ]
    return next((_told(*each) for each in compared if not same(each[1], each[2])), "")


def _told(what: str, theirs: Any, ours: Any) -> str:
    return f"{what} is {theirs!r:.60} there and {ours!r:.60} here"
