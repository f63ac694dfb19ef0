"""The call of `get` with `n` = 1, by which a dialect's record is tried: what is written must be read as it."""

from __future__ import annotations

import json

from xmltools.dialects import Dialect
from xmltools.models import Reasoning, Text, ToolCall
from xmltools.models.reply import Reply
from xmltools.tools import Tool

_SHAPE = {"type": "object", "properties": {"n": {"type": "integer"}}}


def example_call(dialect: Dialect) -> tuple[ToolCall, Tool]:
    """Return the call of `get` with `n` = 1, and its tool."""
    server = dialect.default_server
    tool = Tool(name="get", server=server, parameters=_SHAPE)
    return ToolCall(id="", name=tool.name, server=server, arguments={"n": 1}), tool


def misread(text: str, dialect: Dialect, times: int = 1) -> str:
    """Return as what a text is read, in words; nothing if that is so many such calls, clean, and no text."""
    from xmltools.parser import parse  # only here: not every record is tried

    call, tool = example_call(dialect)
    reply = parse(text, [tool], dialect=dialect)
    right = (call.name, call.server, call.arguments, True)
    found = [(each.name, each.server, each.arguments, each.clean) for each in reply.calls]
    others = [part for part in reply.parts if not isinstance(part, ToolCall) and not _is_blank(part)]
    return "" if found == [right] * times and not others else _in_words(reply)


def _is_blank(part: object) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _in_words(reply: Reply) -> str:
    found = []
    for part in reply.parts:
        if isinstance(part, Text):
            found.append(f"the text {part.text!r:.100}")
        elif isinstance(part, Reasoning):
            found.append(f"reasoning, {part.text!r:.100}")
        elif isinstance(part, ToolCall):
            repairs = "".join(f", with the repair {repair.code}" for repair in part.repairs[:1])
            found.append(f"a call of {part.name!r:.80} with {json.dumps(part.arguments):.100}{repairs}")
        else:
            found.append(f"the error {part.code}: {part.message:.200}")
    return " and ".join(found) or "nothing"
