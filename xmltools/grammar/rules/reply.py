"""A whole reply: prose, reasoning, and blocks in it, for the tools that may be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xmltools.dialects import FORGE, Body
from xmltools.errors import XMLToolsError
from xmltools.grammar.issues import GrammarIssue, Report
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.regular.regular import literal, optional, sequence
from xmltools.grammar.rules.arguments import Builder, refuse_no_tag
from xmltools.grammar.rules.dialect_calls import DialectCalls, refuse_twins
from xmltools.grammar.rules.prose import Around, around
from xmltools.grammar.rules.shared import Rules
from xmltools.grammar.text_tree import Grammar, Lexeme, Literal, Node, Reference, alternatives, series
from xmltools.render.writable import escape_name, refuse_unsayable
from xmltools.tools import Tool
from xmltools.tools.schema import needs_arguments

_OPENER = f"<{FORGE.block}>"


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
    if not options.is_forge:
        return _in_dialect(tools, options, backend)
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
    builder.grammar.root = _root(builder, options, {_OPENER: Reference("call")}, options.max_calls)
    return builder.grammar, issues


def _in_tags(tools: Sequence[Tool], options: Options, backend: Backend) -> tuple[Grammar, list[GrammarIssue]]:
    """As `make_grammar`, where the element of a call is named as its tool."""
    builder = Builder(options, backend, frozenset(tool.name.lower() for tool in tools))
    refuse_twins(tools, options.dialect)
    rules: dict[str, Node] = {}
    issues: list[GrammarIssue] = []
    for number, tool in enumerate(tools, 1):
        report, own = Report(tool.name), f"t{number}-call"
        refuse_no_tag(tool.name, "a tool", options.dialect)
        builder.grammar.rules[own] = Literal("")
        builder.grammar.notes[own] = tool.name
        inner = builder.arguments(tool, f"t{number}", report)
        builder.grammar.rules[own] = series(inner, builder.ws, Literal(f"</{tool.name}>"))
        rules[f"<{tool.name}>"] = Reference(own)
        issues += report.issues
    builder.grammar.root = _root(builder, options, rules, options.max_calls, tools)
    return builder.grammar, issues


def _in_dialect(tools: Sequence[Tool], options: Options, backend: Backend) -> tuple[Grammar, list[GrammarIssue]]:
    """As `make_grammar`, for other dialects than Forge's."""
    if options.dialect.body is Body.TAGS:
        return _in_tags(tools, options, backend)
    builder = DialectCalls(options, backend)
    refuse_twins(tools, options.dialect)
    reports = [Report(tool.name) for tool in tools]
    calls = [
        builder.call(tool, f"t{n}", report) for n, (tool, report) in enumerate(zip(tools, reports, strict=True), 1)
    ]
    issues = [issue for report in reports for issue in report.issues]
    most = 1 if options.tool_choice in ("one", "named") else options.max_calls
    one, rules = alternatives(*calls), builder.grammar.rules
    if not builder.form.trigger:
        rules["call"] = one
        builder.grammar.root = _bare_root(builder, options, builder.bare(Reference("call"), most))
        return builder.grammar, issues
    in_block = options.dialect.many and (options.dialect.closer != "" or builder.form.is_list)
    if in_block:  # it is blocks that are counted, and there is one of them
        rules["each"] = one
        one = Reference("each")
    rules["call"] = builder.block(one, most)
    blocks = 1 if in_block and options.max_calls is not None else options.max_calls
    builder.grammar.root = _root(builder, options, {builder.form.trigger: Reference("call")}, blocks)
    return builder.grammar, issues


def _bare_root(builder: Rules, options: Options, calls: Node) -> Node:
    """Return a reply that is calls without marks, or prose."""
    reply, outside = calls, around(options)
    if options.tool_choice == "auto":
        reply = alternatives(calls, Lexeme("prose", outside.prose))
    return series(_reasoning(builder, options, outside), reply)


def _call(builder: Builder, tool: Tool, prefix: str, report: Report) -> Node:
    """Return the rule of a call of one tool, from `<tool_name>` on."""
    refuse_unsayable(tool.name, "a tool")
    own = f"{prefix}-call"
    builder.grammar.rules[own] = Literal("")
    builder.grammar.notes[own] = f"{tool.name} ({tool.server})"
    inner = builder.arguments(tool, prefix, report)
    arguments = series(_element(FORGE.arguments, inner), builder.ws)
    if not needs_arguments(tool.shape):
        arguments = optional(arguments)
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
        servers.append(series(optional(name) if need_not else name, alternatives(*found)))
    return series(builder.ws, alternatives(*servers), Literal(f"</{FORGE.block}>"))


def _element(name: str, content: Node) -> Node:
    return series(Literal(f"<{name}>"), content, Literal(f"</{name}>"))


def _root(
    builder: Rules, options: Options, blocks: Mapping[str, Node], most: int | None, tools: Sequence[Tool] = ()
) -> Node:
    """Return a reply with at most so many blocks, each of which has its opener."""
    one = alternatives(*(series(Literal(opener), block) for opener, block in blocks.items()))
    outside, rules = around(options, tools), tuple(blocks.items())
    layout = outside.layout(builder.spaces)
    around_call = builder.ws if layout == builder.spaces else Lexeme("layout", layout)
    if options.lazy:
        more = None if most is None else most - 1
        rest = around_call if options.tool_choice != "auto" else outside.dispatch(rules, 0, more)
        return series(one, rest)
    if options.tool_choice in ("one", "named"):
        if outside.tokens:  # they may begin as the opener does
            ((opener, block),) = rules
            one = series(Lexeme("first", sequence(layout, literal(opener))), block)
            reply = series(one, around_call)
        else:
            reply = series(builder.ws, one, builder.ws)
    else:
        reply = outside.dispatch(rules, int(options.tool_choice == "required"), most)
    return series(_reasoning(builder, options, outside), reply)


def _reasoning(builder: Rules, options: Options, outside: Around) -> Node:
    if options.reasoning_marks is None:
        return series()
    start, _ = options.reasoning_marks
    thought = Lexeme("thought", outside.thought)
    if options.starts_in_reasoning:
        return thought
    # With the white space in front it is one lexeme, or llguidance would take that for the beginning of prose.
    opener = Lexeme("thinking", sequence(builder.spaces, literal(start)))
    return optional(series(opener, thought))
