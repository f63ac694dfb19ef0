"""The commands that write text for a model: `docs`, `call` and `result`.

`xmltools.render` is imported where it is used: it takes a while to load, and the other commands don't need it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from xmltools.cli.interop.calls import CALL_FORMATS, load_calls
from xmltools.cli.interop.definitions import DEFINITION_FORMATS, load_definitions
from xmltools.cli.python_tools import import_tools, is_target
from xmltools.cli.shared import (
    UsageError,
    add_dialect_options,
    chosen_dialect,
    did_you_mean,
    element_name,
    one_standard_input,
    positive,
    read_bytes,
    read_text,
    read_tools,
    read_values,
    write_text,
)
from xmltools.dialects import FORGE, named
from xmltools.dialects.reasoning_tags import refuse_tag_of_calls
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall, ToolResult
from xmltools.models.foreign_fields import at
from xmltools.models.foreign_results import RESULT_FORMATS, result_fields
from xmltools.syntax.markup import SPACES, is_valid_name
from xmltools.tools import Tool

Tools = dict[tuple[str, str], Tool]

_DIALECT = "the notation of calls that the model was trained on: see xmltools dialects"
_MODEL = "the model that is to read it, by its name on Hugging Face: picks the dialect"


# docs


def declare_docs(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools docs`."""
    add = parser.add_argument
    add("tools", metavar="TOOLS", help="the tools: a JSON file, - for standard input; with --from python their names")
    add(
        "--from",
        dest="format",
        choices=(*DEFINITION_FORMATS, "python"),
        default="auto",
        help="whose form the tools have (default: auto, any of these and ours); python: TOOLS is module:function, "
        "module:function,other or module, found from this folder too, and is imported",
    )
    add(
        "--style",
        choices=("full", "compact"),
        default="full",
        help="a section a tool, or a line a tool for when there are many (default: full)",
    )
    add("--single", action="store_true", help="at most one call a reply")
    add("--required", action="store_true", help="at least one call a reply")
    add("--reasoning", metavar="TAG", type=element_name, help="ask to think in <TAG> first, such as think")
    add("--bracket-reasoning", action="store_true", help="ask to think in a paragraph in [brackets] first")
    add("--server-names", action="store_true", help="calls name their server, also where all tools are on one")
    add("--preamble", metavar="FILE", help="text of your own, written before all else")
    add_dialect_options(parser, dialect=_DIALECT, model=_MODEL)


def docs(options: argparse.Namespace) -> int:
    """Run `xmltools docs`. Returns the exit status."""
    from xmltools.render import render_instructions

    one_standard_input("TOOLS and --preamble", options.tools, options.preamble)
    if options.reasoning and options.bracket_reasoning:
        raise UsageError("only one of --reasoning and --bracket-reasoning can be given")
    dialect = chosen_dialect(options)
    if options.reasoning:
        try:
            refuse_tag_of_calls(options.reasoning, named(dialect), "--reasoning")
        except XMLToolsError as error:
            raise UsageError(str(error)) from None
    preamble = read_text(options.preamble) if options.preamble else ""
    tools = _load_python(options.tools) if options.format == "python" else _load_json(options.tools, options.format)
    with at(options.tools):
        text = render_instructions(
            tools,
            style=options.style,
            parallel_tool_calls=not options.single,
            tool_choice="required" if options.required else "auto",
            reasoning_tag=options.reasoning,
            bracket_reasoning=options.bracket_reasoning,
            preamble=preamble,
            server_names=options.server_names,
            dialect=dialect,
        )
    write_text(text)
    return 0


def _load_python(target: str) -> list[Tool]:
    if is_target(target) and not target.endswith(".py"):
        return import_tools(target)
    fixed = Path(target).stem if target.endswith(".py") else "module:function"
    raise UsageError(f"{target!r:.80}: expected module, module:function or module:function,other; write {fixed!r:.80}")


def _load_json(name: str, format: str) -> list[Tool]:
    if ":" in name and is_target(name) and not Path(name).exists():
        raise UsageError(f"{name}: No such file; to import it as Python functions, add --from python")
    if name.endswith(".py"):
        module = Path(name).stem
        raise UsageError(f"{name}: expected tools as JSON, got Python; for its functions write {module} --from python")
    return read_tools(name, lambda value: load_definitions(value, format))


# call


def declare_call(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools call`."""
    add = parser.add_argument
    add("file", metavar="FILE", nargs="?", default="-", help="the calls; - is standard input (default)")
    add("--tools", metavar="T.json", help="the tools: the types of arguments become exact, other calls are refused")
    add("--legacy-json", action="store_true", help="write JSON into the blocks, not elements")
    add(
        "--server-names",
        action="store_true",
        help="name the server of each call; without it only where the tools are on several, or, without --tools, where "
        "it is not local",
    )
    add(
        "--from",
        dest="format",
        choices=CALL_FORMATS,
        default="auto",
        help="whose form the calls have (default: auto, any of these)",
    )
    add_dialect_options(parser, dialect=f"{_DIALECT}; all calls are those of one turn", model=_MODEL)


def call(options: argparse.Namespace) -> int:
    """Run `xmltools call`. Returns the exit status."""
    from xmltools.render import render_call, render_calls
    from xmltools.render.writable import only_server

    one_standard_input("FILE and --tools", options.file, options.tools)
    dialect = chosen_dialect(options)
    tools = _by_name(options.tools) if options.tools else None
    only = None if options.server_names else only_server(tools.values() if tools else ())
    blocks, in_turn = [], []
    for place, value in read_values(options.file, "calls", lines=True):
        with at(place):
            calls = load_calls(value, options.format)
        for number, each in enumerate(calls):
            with at(f"{place}: call {number}"):
                found, tool = (each, None) if tools is None else _find_tool(each, tools)
                in_turn.append(found)
                named = None if dialect != FORGE.name else found.server != only
                how = {"legacy_json": options.legacy_json, "server_names": options.server_names or named}
                blocks.append(render_call(found, tool, dialect=dialect, **how))
    if dialect == FORGE.name:
        write_text("\n\n".join(blocks))
    else:
        with at(options.file):
            write_text(render_calls(in_turn, tools.values() if tools else (), dialect=dialect))
    return 0


def _by_name(name: str) -> Tools:
    tools: Tools = {}
    for tool in read_tools(name):
        if (tool.name, tool.server) in tools:
            raise XMLToolsError(f"{name}: two tools are named {tool.name!r:.80} on server {tool.server!r:.80}")
        tools[tool.name, tool.server] = tool
    return tools


def _find_tool(call: ToolCall, tools: Tools) -> tuple[ToolCall, Tool]:
    """Return a call with its tool. A call that names no server is one of the only server that has such a tool."""
    tool = tools.get((call.name, call.server))
    if tool:
        return call, tool
    same = [each for each in tools.values() if each.name == call.name]
    if len(same) == 1 and "server" not in call.model_fields_set:
        return call.model_copy(update={"server": same[0].server}), same[0]
    if same:
        servers = _listed([each.server for each in same])
        raise XMLToolsError(f"the tool {call.name!r:.80} is not on server {call.server!r:.80}, only on {servers}")
    names = [each.name for each in tools.values()]
    suggestion = did_you_mean(call.name, names, most=3) or f"there are {_listed(names)}"
    raise XMLToolsError(f"there is no tool {call.name!r:.80}; {suggestion}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} others" if len(names) > 8 else "") if names else "none"


# result


def declare_result(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools result`."""
    add = parser.add_argument
    add("name", metavar="NAME", type=_tool_name, help="the name of the tool")
    add("--error", action="store_true", help="the tool failed; what it wrote says why")
    add("--max-characters", metavar="N", type=positive, help="cut the middle out of text with more than N characters")
    add("--verbatim", action="store_true", help="change nothing; only for text that is known to be harmless")
    add(
        "--from",
        dest="format",
        choices=RESULT_FORMATS,
        default="text",
        help="what standard input is: text (default), or the JSON of a result; images become attachments",
    )
    add_dialect_options(parser, dialect=_DIALECT, model=_MODEL)


def _tool_name(text: str) -> str:
    if not text.strip(SPACES) or not is_valid_name(text):
        raise argparse.ArgumentTypeError(f"expected the name of a tool, on one line, without < and >, got {text!r:.80}")
    return text


def result(options: argparse.Namespace) -> int:
    """Run `xmltools result`. Returns the exit status."""
    from xmltools.render import render_result

    dialect = chosen_dialect(options)
    if options.format == "text":
        value: Any = read_bytes("-").decode(errors="replace")  # a command may print anything
    else:
        ((_, value),) = read_values("-", "a result")
    with at("-"):
        given = ToolResult(name=options.name, **result_fields(value, options.format))
    given = given.model_copy(update={"is_error": given.is_error or options.error})
    limit = options.max_characters
    write_text(render_result(given, unsafe_verbatim=options.verbatim, max_characters=limit, dialect=dialect))
    return 0
