"""Calls as text, in each dialect: the functions for callers."""

from __future__ import annotations

from collections.abc import Iterable

from xmltools.dialects import FORGE, Dialect, named
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.render.dialect_calls import write_calls
from xmltools.render.forge_calls import write_call
from xmltools.render.writable import refuse_foreign
from xmltools.tools import Tool, list_of_tools


def render_call(
    call: ToolCall,
    tool: Tool | None = None,
    *,
    legacy_json: bool = False,
    server_names: bool | None = None,
    dialect: Dialect | str = FORGE,
) -> str:
    """Write a call as a block, without a line break at its end.

    Takes the call and its tool. With the tool, `parse(block, [tool])` gives an equal call, and a clean one, but for
    characters that XML forbids: they stay as they are. Without it numbers and booleans are written as text and read
    back as text; all else is kept. Values that elements can't say (an empty list where no schema declares it, a number
    where the schema leaves the type open) turn the whole body into JSON; `legacy_json=True` always writes that.

    The block names the server of the call if that is not `local`. `server_names=True` names it always, as Forge does;
    False never does, for a reader whose tools are all on the server of the call.

    `dialect`, a name or a record, is the one in which the call is written, as the chat template of its models lays it
    out. Others than Forge's name no server, and have no other form. A dialect that gives values as text reads back the
    text of lists, objects and null too if there is no tool. `render_calls` writes several calls of one turn.

    Raises XMLToolsError if the tool is another one, a name is none, an argument is no JSON value or holds a lone
    surrogate, or a valid call has values that its schema makes indistinguishable in text; for a dialect in which
    nothing can be written, and for a call that the dialect can't say: the error names one that can.
    """
    spelled = named(dialect)
    _check(call, tool, "render_call")
    if spelled != FORGE:
        refuse_forges_options(spelled, legacy_json=legacy_json, server_names=server_names)
        return write_calls([(call, tool)], spelled)
    return write_call(
        call, tool.shape if tool else None, exact=tool is not None, legacy_json=legacy_json, server_names=server_names
    )


def render_calls(
    calls: Iterable[ToolCall],
    tools: Iterable[Tool] = (),
    *,
    server_names: bool | None = None,
    dialect: Dialect | str = FORGE,
) -> str:
    """Write the calls of one turn: several blocks, or what the dialect has for several calls.

    Takes the calls, the tools that there are, and options as `render_call` does; no calls are no text. Returns text
    without a line break at its end, which `parse` reads as these calls. Raises XMLToolsError as `render_call` does, and
    in other dialects than Forge's for calls on several servers, which they can't name.
    """
    spelled = named(dialect)
    offered = {(tool.name, tool.server): tool for tool in list_of_tools(tools)}
    if isinstance(calls, ToolCall) or not isinstance(calls, Iterable):
        got = "one; give a list of it: [call]" if isinstance(calls, ToolCall) else type(calls).__name__
        raise XMLToolsError(f"render_calls: expected a list of xmltools.ToolCall, got {got}")
    calls = list(calls)
    for call in calls:
        _check_call(call, "render_calls")
    pairs = [(call, offered.get((call.name, call.server))) for call in calls]
    for call, tool in pairs:
        _check(call, tool, "render_calls")
    if spelled != FORGE:
        refuse_forges_options(spelled, server_names=server_names)
        return write_calls(pairs, spelled) if pairs else ""
    blocks = (
        write_call(call, tool.shape if tool else None, exact=tool is not None, server_names=server_names)
        for call, tool in pairs
    )
    return "\n\n".join(blocks)


def _check(call: ToolCall, tool: Tool | None, of: str) -> None:
    _check_call(call, of)
    if tool is not None and not isinstance(tool, Tool):
        how = "give the call's own tool" if isinstance(tool, (list, tuple)) else "Tool.of() makes one of a function"
        raise XMLToolsError(f"{of}: expected the call's xmltools.Tool, or None, got {type(tool).__name__}; {how}")
    if tool is not None and (tool.name, tool.server) != (call.name, call.server):
        raise XMLToolsError(
            f"{of}: the call is of {call.name!r} on server {call.server!r}, "
            f"the tool is {tool.name!r} on {tool.server!r}; give the call's own tool, or none"
        )
    refuse_foreign(call.arguments, f"the call of {call.name!r:.80}")


def _check_call(call: ToolCall, of: str) -> None:
    if not isinstance(call, ToolCall):
        raise XMLToolsError(f"{of}: expected xmltools.ToolCall, got {type(call).__name__}")


def refuse_forges_options(dialect: Dialect, **options: bool | None) -> None:
    """Raise XMLToolsError for options that only Forge's dialect has."""
    for name, value in options.items():
        if value:
            raise XMLToolsError(f"{name}: only calls in the dialect 'forge' have that, not those in {dialect.name!r}")
