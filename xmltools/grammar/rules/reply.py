"""A whole reply: prose, reasoning, and blocks in it, for the tools that may be called."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.grammar.issues import GrammarIssue, Report
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.regular.regular import (
    ALL,
    ANYTHING,
    EMPTY,
    And,
    Chars,
    Not,
    Regular,
    chars,
    choice,
    literal,
    sequence,
    subtract,
)
from xmltools.grammar.rules.arguments import Builder
from xmltools.grammar.rules.strings import without
from xmltools.grammar.text_tree import (
    Dispatch,
    Grammar,
    Lexeme,
    Literal,
    Node,
    Reference,
    alternatives,
    maybe,
    series,
)
from xmltools.render.writable import escape_name, refuse_unsayable
from xmltools.tools import Tool

OPENER = f"<{FORGE.block}>"


def chosen_tools(tools: Sequence[Tool], options: Options) -> list[Tool]:
    """Return the tools that may be called. Raises XMLToolsError if there are none, or two that are called alike."""
    if not tools:
        raise XMLToolsError("a grammar needs at least one tool; without tools there is nothing to constrain")
    seen: set[tuple[str, str]] = set()
    for each in tools:
        if (each.server, each.name) in seen:
            raise XMLToolsError(
                f"there are two tools {each.name!r} on server {each.server!r}; give each a name of its own"
            )
        seen.add((each.server, each.name))
    if options.tool_choice == "arguments" and options.name is None and len(tools) > 1:
        raise XMLToolsError("tool_choice 'arguments' is about one tool: say which as name=, or give only that one")
    if options.name is None:
        return list(tools)
    found = [each for each in tools if each.name == options.name]
    if not found:
        names = ", ".join(repr(each.name) for each in tools[:20])
        raise XMLToolsError(f"name: there is no tool {options.name!r}; there are {names}")
    return found


def make_grammar(
    tools: Sequence[Tool], options: Options, backend: Backend, only: str | None
) -> tuple[Grammar, list[GrammarIssue]]:
    """Return the grammar of replies with calls of the tools, and what it can't express.

    `only` is the server that a block means which names none, if all tools of the reader are on one.
    """
    builder = Builder(options, backend)
    issues: list[GrammarIssue] = []
    if options.tool_choice == "arguments":
        report = Report(tools[0].name)
        builder.grammar.root = builder.arguments(tools[0], "t1", report)
        return builder.grammar, report.issues
    calls: dict[str, list[Node]] = {}
    for number, tool in enumerate(tools, 1):
        report = Report(tool.name)
        calls.setdefault(tool.server, []).append(_call(builder, tool, f"t{number}", report))
        issues += report.issues
    builder.grammar.rules["call"] = _block(builder, calls, only)
    builder.grammar.root = _root(builder, options)
    return builder.grammar, issues


def _call(builder: Builder, tool: Tool, prefix: str, report: Report) -> Node:
    """Return the rule of a call of one tool, from `<tool_name>` on."""
    refuse_unsayable(tool.name, "a tool")
    own = f"{prefix}-call"
    builder.grammar.rules[own] = Literal("")
    builder.grammar.notes[own] = f"{tool.name} ({tool.server})"
    inner = builder.arguments(tool, prefix, report)
    arguments = series(_element(FORGE.arguments, inner), builder.ws)
    if not tool.shape.required:
        arguments = maybe(arguments)
    name = _element(FORGE.tool_name, Literal(escape_name(tool.name)))
    builder.grammar.rules[own] = series(name, builder.ws, arguments)
    return Reference(own)


def _block(builder: Builder, calls: dict[str, list[Node]], only: str | None) -> Node:
    """Return what comes after the opener of a block."""
    servers = []
    for server, found in calls.items():
        refuse_unsayable(server, "a server")
        name = series(_element(FORGE.server_name, Literal(escape_name(server))), builder.ws)
        need_not = server in (only, FORGE.default_server)
        servers.append(series(maybe(name) if need_not else name, alternatives(*found)))
    return series(builder.ws, alternatives(*servers), Literal(f"</{FORGE.block}>"))


def _element(name: str, content: Node) -> Node:
    return series(Literal(f"<{name}>"), content, Literal(f"</{name}>"))


def _root(builder: Builder, options: Options) -> Node:
    call = Reference("call")
    one = series(Literal(OPENER), call)
    if options.lazy:
        more = None if options.max_calls is None else options.max_calls - 1
        rest = builder.ws if options.tool_choice != "auto" else _dispatch(call, options, 0, more)
        return series(one, rest)
    if options.tool_choice in ("one", "named"):
        reply = series(builder.ws, one, builder.ws)
    else:
        reply = _dispatch(call, options, int(options.tool_choice == "required"), options.max_calls)
    return series(_reasoning(builder, options), reply)


def _reasoning(builder: Builder, options: Options) -> Node:
    if options.reasoning is None:
        return series()
    end = f"</{options.reasoning}>"
    thought = Lexeme("thought", sequence(without(end), literal(end)))
    if options.starts_in_reasoning:
        return thought
    # With the white space in front it is one lexeme, or llguidance would take that for the beginning of prose.
    opener = Lexeme("thinking", sequence(builder.spaces, literal(f"<{options.reasoning}>")))
    return maybe(series(opener, thought))


def _dispatch(body: Node, options: Options, low: int, high: int | None) -> Node:
    tags = options.reasoning_tags
    return Dispatch(prose(tags, lead=True), OPENER, body, prose(tags), low, high)


@lru_cache(maxsize=16)
def prose(reasoning: tuple[str, ...] = FORGE.reasoning, *, lead: bool = False) -> Regular:
    """Return text in which no block and no reasoning opens; `lead`: in front of a block.

    A parser takes an opener with attributes for one too, and none right after a backtick or a backslash (protocol,
    section 1). The one would be no text, and the other no call: a grammar writes neither. Inline code and comments
    around a call are not looked for: what stands in them is shown, and no call.
    """
    openers = choice(
        sequence(literal(f"<{FORGE.block}"), chars("> \t\r\n")), *(literal(f"<{tag}>") for tag in reasoning)
    )
    text = Not(sequence(ANYTHING, openers, ANYTHING))
    harmless = Chars(subtract(ALL, chars("`\\").ranges))
    return And((text, choice(sequence(ANYTHING, harmless), EMPTY))) if lead else text
