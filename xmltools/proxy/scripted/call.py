"""The call that the scripted model makes: which tool, with which arguments, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.proxy.scripted.prompt import KnownTool
from xmltools.proxy.scripted.words import Words, stems
from xmltools.render.arguments import write_elements
from xmltools.render.calls import write_call
from xmltools.tools.schema import find_problems, is_code_name

__all__ = ["Slip", "choose_tool", "make_call", "write"]

Slip = Literal["none", "sloppy", "wrong"]
"""How a call is written: as it should be; with slips that are repaired; with an argument that does not fit."""

_NAME_COUNTS = 3
"""A word of a tool's name counts as much as so many of its description."""
_WRONG = "a few"
_SECTION = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_NOT_PLAIN = re.compile(r"\A\s|[<\]]|&[\w#]")
# Without the end tag of an argument of that very name it could not be told which of the two is missing.
_LAST_END = re.compile(rf"</(?!{FORGE.arguments}>)[^<>]+>(?=\n</{FORGE.arguments}>\n</{FORGE.block}>\Z)")
_SERVER_LINE = f"<{FORGE.server_name}>{FORGE.default_server}</{FORGE.server_name}>\n"


def choose_tool(tools: Sequence[KnownTool], said: str) -> KnownTool:
    """Return the tool that shares most words with what the user said; the first, if several do, or none."""
    spoken = stems(said)
    return max(tools, key=lambda known: _overlap(known, spoken))


def _overlap(known: KnownTool, spoken: frozenset[str]) -> int:
    name = stems(known.tool.name)
    told = stems(known.tool.description).union(*map(stems, known.tool.parameters["properties"])) - name
    return _NAME_COUNTS * len(spoken & name) + len(spoken & told)


def make_call(known: KnownTool, said: str) -> ToolCall:
    """Return a call of the tool: the arguments of its example, with the user's words where they fit."""
    tool = known.tool
    properties = tool.parameters["properties"]
    words = Words(said)
    arguments = dict(known.arguments)
    only = sum(isinstance(value, str) for value in arguments.values()) == 1
    for name in known.arguments:
        value = words.value(name, properties.get(name, {}), only=only)
        changed = {**arguments, name: value}
        if value is not None and len(find_problems(changed, tool.shape)) <= len(find_problems(arguments, tool.shape)):
            arguments = changed
    return ToolCall(id="", name=tool.name, server=tool.server, arguments=arguments)


def write(call: ToolCall, known: KnownTool, slip: Slip = "none") -> str:
    """Return the call as a block, the way the model's manners are."""
    if slip == "wrong":
        call = _wrong(call, known)
    block = _block(call, known)
    return _sloppy(block) if slip == "sloppy" else block


def _block(call: ToolCall, known: KnownTool) -> str:
    if known.source and (call.name, call.server) == (known.tool.name, known.tool.server):
        block = _changed(known.source, call.arguments, known)
        if block is not None:
            return block
    try:
        return write_call(call, known.tool.shape, exact=False, in_cdata=_is_code)
    except XMLToolsError:  # the prompt tells of names or values that no call can say
        return write_call(call.model_copy(update={"arguments": {}}), None, exact=False)


def _changed(example: str, arguments: dict[str, Any], known: KnownTool) -> str | None:
    """Return the example with the arguments of a call, None if it is not clear where they stand.

    The rest stays to the letter: what the list of arguments does not tell of values inside others, the example shows.
    """
    for name, old in known.arguments.items():
        if name in arguments and arguments[name] == old:
            continue
        before = _element(name, old, known)
        after = _element(name, arguments[name], known) if name in arguments else "\n"
        if before is None or after is None or example.count(before) != 1:
            return None
        example = example.replace(before, after)
    return example


def _element(name: str, value: Any, known: KnownTool) -> str | None:
    try:
        elements = write_elements({name: value}, known.tool.shape, FORGE, _is_code)
    except XMLToolsError:
        return None
    return "\n" + "".join(f"{line}\n" for line in elements.lines) if elements else None


def _is_code(name: str, text: str) -> bool:
    return bool(text) and ("\n" in text or is_code_name(name))


def _wrong(call: ToolCall, known: KnownTool) -> ToolCall:
    """Return the call with a mistake that nobody can repair: a number in words, an argument too few, another name."""
    properties = known.tool.parameters["properties"]
    number = next((name for name in call.arguments if _is_number(properties.get(name, {}))), None)
    needed = [name for name in known.tool.parameters.get("required", ()) if name in call.arguments]
    if number is not None:
        return call.model_copy(update={"arguments": {**call.arguments, number: _WRONG}})
    if needed:
        arguments: dict[str, Any] = {name: value for name, value in call.arguments.items() if name != needed[0]}
        return call.model_copy(update={"arguments": arguments})
    return call.model_copy(update={"name": f"{call.name}_now"})


def _is_number(schema: dict[str, Any]) -> bool:
    return schema.get("type") in ("integer", "number")


def _sloppy(block: str) -> str:
    """Return the block as careless models write it, which loses nothing: in a code fence, without the server, with a
    bare & where CDATA stood, and with one end tag too few."""
    block = _SECTION.sub(_as_text, block)
    block = _LAST_END.sub("", block.replace(_SERVER_LINE, "", 1))
    return f"```xml\n{block}\n```"


def _as_text(section: re.Match[str]) -> str:
    """Return what a CDATA section holds, as it is, where that reads the same but for a bare &; else the section."""
    whole, start = section.string, section.start()
    is_alone = whole.startswith("</", section.end()) and not whole.endswith("]]>", 0, start)
    return section[1] if is_alone and not _NOT_PLAIN.search(section[1]) else section[0]
