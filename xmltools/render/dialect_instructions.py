"""What is special in the instructions for other dialects than Forge's: the sentences, the list of tools, the example.

The list has the form of the models' chat template. The sentences are ours, and say how a call looks by an example.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xmltools.dialects import FORGE, Body, Dialect
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.render.dialect_calls import form_of, write_calls
from xmltools.render.marks import COMMON, marks_beside, marks_for
from xmltools.render.prompt_sentences import ENGLISH, Wording
from xmltools.render.tool_lists import write_tools
from xmltools.render.writable import ORDINARY_NAME
from xmltools.tools import Tool
from xmltools.tools.schema import example_arguments

_JSON = (
    "To call a tool, write a JSON object with the tool's name and an object with its arguments, in exactly the form of "
    "the example."
)
_NAMED_JSON = (
    "To call a tool, write the tool's name and its arguments, as one JSON object, in exactly the form of the example."
)
_OBJECT = (
    "To call a tool, write its name and an object with its arguments, in exactly the form of the example: keys without "
    "quotes, and each text between the marks that stand there in place of quotes, without escapes."
)
_PAIRS = "To call a tool, write the tool's name, and each argument with its name, in exactly the form of the example."
_PYTHON = "To call a tool, write a call in Python with named arguments, in exactly the form of the example."
_TAGS = "To call a tool, write an element that is named as the tool, and in it one element per argument."
_VALUES = "Write text as it is, without quotes and without escapes. Write lists, objects, null and true as JSON."
_LITERALS = "Write values as literals of Python."
_RESULTS = "End your reply after the last call. Results come next."
_PARALLEL = "You may write several calls per reply."
_ONE_SECTION = "You may write several calls per reply, all in one block."
_SINGLE = "Write at most one call per reply."
_PLAIN = "Do not put calls in a code fence."
_BARE = "Begin the reply with the call, and write no other text in it."
_REASONING = "Think before you answer, inside <{tag}> and </{tag}>. Do not write a call there."
_FORGES_OWN = ("servers", "cdata", "nesting", "empty", "mention", "signatures")


def sentences_in(wording: Wording, dialect: Dialect) -> Wording:
    """Return a wording whose sentences on Forge's notation are those on the dialect's; those of your own stay."""
    form, writing = form_of(dialect)
    pairs = form.pairs
    ours = dict.fromkeys(_FORGES_OWN, "")
    if form.body is Body.JSON:
        ours["intro"] = _JSON
    elif form.body is Body.TAGS:
        ours |= {name: getattr(ENGLISH, name) for name in ("cdata", "empty")} | {"intro": _TAGS}
        ours["nesting"] = _NESTING
    elif pairs is not None and pairs.python:
        ours |= {"intro": _PYTHON, "nesting": _LITERALS}
    elif pairs is not None and pairs.quote:
        ours["intro"] = _OBJECT
    elif pairs is not None and pairs.json:
        ours["intro"] = _NAMED_JSON
    else:
        ours |= {"intro": _PAIRS, "nesting": _VALUES}
    ours |= {"results": _RESULTS, "single": _SINGLE, "plain": _PLAIN, "reasoning": _REASONING}
    ours["parallel"] = _ONE_SECTION if writing.start else _PARALLEL
    if form.is_bare:
        ours["mention"] = _BARE
    return replace(
        wording, **{name: text for name, text in ours.items() if getattr(wording, name) == getattr(ENGLISH, name)}
    )


_NESTING = (
    "Write a list as one element per item (its name in the singular, or <{item}>), an object as one element per "
    "property."
)


def check_tools(tools: Sequence[Tool], dialect: Dialect) -> None:
    """Raise XMLToolsError for tools that calls in the dialect can't tell apart or can't name."""
    seen: dict[str, str] = {}
    for tool in tools:
        if tool.name in seen:
            raise XMLToolsError(
                f"two tools are named {tool.name!r}, on {seen[tool.name]!r} and {tool.server!r}: calls in the dialect "
                f"{dialect.name!r} name no server; rename one, or take the dialect 'forge'"
            )
        seen[tool.name] = tool.server
        if not ORDINARY_NAME.fullmatch(tool.name) or dialect.pairs is not None:
            _check_name(tool, dialect)


def _check_name(tool: Tool, dialect: Dialect) -> None:
    bare = Tool(name=tool.name)
    write_calls([(ToolCall(id="", name=tool.name, arguments={}), bare)], dialect)
    if marks_for(dialect).is_in(tool.name):
        raise XMLToolsError(
            f"the tool {tool.name!r:.80} can't be told of in the dialect {dialect.name!r}: its name holds a mark with "
            "which calls or turns begin; rename it"
        )


def list_tools(tools: Sequence[Tool], dialect: Dialect, *, compact: bool) -> str:
    """Return the list of tools in the form of the dialect."""
    _, writing = form_of(dialect)
    return write_tools(tools, writing.tools, marks_beside(tools, dialect), compact=compact)


def example_of(tools: Sequence[Tool], dialect: Dialect) -> str:
    """Return an example call of the first tool for which one can be made up; else one with names that say what they
    stand for."""
    for tool in tools:
        arguments = example_arguments(tool.shape)
        if arguments is not None:
            call = ToolCall(id="", name=tool.name, server=tool.server, arguments=arguments)
            if example := write_example(call, tool, dialect, tools):
                return example
    return write_example(STAND_IN, None, dialect)


STAND_IN = ToolCall(id="", name="name_of_the_tool", arguments={"name_of_the_argument": "value"})
"""The call to show where none can be made up for a tool."""


def write_example(call: ToolCall, tool: Tool | None, dialect: Dialect, tools: Sequence[Tool] = ()) -> str:
    """Return a call to show beside tools; nothing if the dialect can't say it, or if its values hold marks."""
    if marks_beside(tools, dialect).is_in(repr((call.name, call.arguments))):
        return ""
    try:
        return write_calls([(call, tool)], dialect)
    except XMLToolsError:
        return ""


def shows_others(name: str, arguments: dict[str, Any]) -> bool:
    """Return whether a call in Forge's dialect holds what would begin one in another."""
    return COMMON.is_in(_OWN.sub("", repr((name, arguments))))


_OWN = re.compile(rf"<(?:{'|'.join((FORGE.block, *FORGE.reasoning))})", re.IGNORECASE)
"""What begins a call or reasoning in Forge's own dialect: in an example it stands in CDATA."""
