"""A call as text (protocol, section 10): what is written is read back as the same call, and clean.

Elements are written first, and read back as the parser would. If that gives another call, or the same with a repair,
the call is written with a JSON body, which every parser of the protocol takes and which says any JSON value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.render.arguments import Elements, write_elements
from xmltools.render.writable import escape_name, refuse_foreign, refuse_unsayable, same
from xmltools.tools import Tool
from xmltools.tools.schema import ObjectShape, Reading, find_problems, read_arguments, read_object

__all__ = ["render_call", "write_call"]

_NO_XML_CHARACTER = re.compile("[\ufffe\uffff]")  # json escapes the others


def render_call(
    call: ToolCall, tool: Tool | None = None, *, legacy_json: bool = False, server_names: bool | None = None
) -> str:
    """Write a call as a block, without a line break at its end.

    Takes the call and its tool. With the tool, `parse(block, [tool])` gives an equal call, and a clean one, but for
    characters that XML forbids: they stay as they are. Without it numbers and booleans are written as text and read
    back as text; all else is kept. Values that elements can't say (an empty list where no schema declares it, a number
    where the schema leaves the type open) turn the whole body into JSON; `legacy_json=True` always writes that.

    The block names the server of the call if that is not `local`. `server_names=True` names it always, as Forge does;
    False never does, for a reader whose tools are all on the server of the call.

    Raises XMLToolsError if the tool is another one, a name is none, an argument is no JSON value or holds a lone
    surrogate, or a valid call has values that its schema makes indistinguishable in text.
    """
    if not isinstance(call, ToolCall):
        raise XMLToolsError(f"render_call: expected xmltools.ToolCall, got {type(call).__name__}")
    if tool is not None and (tool.name, tool.server) != (call.name, call.server):
        raise XMLToolsError(
            f"render_call: the call is of {call.name!r} on server {call.server!r}, "
            f"the tool is {tool.name!r} on {tool.server!r}; give the call's own tool, or none"
        )
    refuse_foreign(call.arguments, f"the call of {call.name!r:.80}")
    return write_call(
        call, tool.shape if tool else None, exact=tool is not None, legacy_json=legacy_json, server_names=server_names
    )


def write_call(
    call: ToolCall,
    shape: ObjectShape | None,
    *,
    exact: bool,
    legacy_json: bool = False,
    server_names: bool | None = None,
    dialect: Dialect = FORGE,
    in_cdata: Callable[[str, str], bool] | None = None,
) -> str:
    """Write a call whose arguments are JSON values.

    `server_names` says whether the block names the server; None: if that is not the default one. `exact` keeps the
    types of numbers and booleans also where only a JSON body can. `in_cdata` is asked for each string, by name and
    text, whether it stands in CDATA though it need not.
    """
    refuse_unsayable(call.name, "a tool")
    refuse_unsayable(call.server, "a server")
    server = call.server if server_names or (server_names is None and call.server != dialect.default_server) else None
    elements = None if legacy_json else write_elements(call.arguments, shape, dialect, in_cdata)
    if elements:
        reading = read_arguments(elements.tree, shape, check=False)
        if not reading.repairs and _says(call, reading, loose=not exact):
            return _element_block(call, server, elements, dialect)
    reading = read_object(call.arguments, shape, 0, check=False)
    if _says(call, reading):
        # What was read is equal, and spelled as the schema asks for it: 5, not 5.0, for an integer.
        return _json_block(call, server, reading.arguments, dialect)
    return _best_of_bad(call, server, shape, elements, dialect)


def _says(call: ToolCall, reading: Reading, *, loose: bool = False) -> bool:
    """Return whether the arguments that were read are those of the call."""
    return same(call.arguments, reading.arguments, loose=loose) and not (reading.duplicates or reading.too_deep)


def _best_of_bad(
    call: ToolCall, server: str | None, shape: ObjectShape | None, elements: Elements | None, dialect: Dialect
) -> str:
    """Write an invalid call as well as can be: it has no right spelling. Refuse to write a valid one as another."""
    if shape is not None and not find_problems(call.arguments, shape):
        raise XMLToolsError(
            f"the arguments of the call of {call.name!r} can't be written so that they read back the same: its schema "
            "has alternatives that look alike in text; give them different types or values"
        )
    if elements:
        return _element_block(call, server, elements, dialect)
    return _json_block(call, server, call.arguments, dialect)


def _element_block(call: ToolCall, server: str | None, elements: Elements, dialect: Dialect) -> str:
    arguments = "\n".join((f"<{dialect.arguments}>", *elements.lines, f"</{dialect.arguments}>"))
    named = f"<{dialect.server_name}>{escape_name(server)}</{dialect.server_name}>\n" if server is not None else ""
    return (
        f"<{dialect.block}>\n"
        f"{named}"
        f"<{dialect.tool_name}>{escape_name(call.name)}</{dialect.tool_name}>\n"
        f"{arguments}\n"
        f"</{dialect.block}>"
    )


def _json_block(call: ToolCall, server: str | None, arguments: dict[str, Any], dialect: Dialect) -> str:
    members: dict[str, Any] = {dialect.json_server_name[0]: server} if server is not None else {}
    members |= {dialect.json_tool_name[0]: call.name, dialect.json_arguments[0]: arguments}
    lines = ",\n".join(f"  {_json(key)}: {_json(value)}" for key, value in members.items())
    return f"<{dialect.block}>\n{{\n{lines}\n}}\n</{dialect.block}>"


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _NO_XML_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
