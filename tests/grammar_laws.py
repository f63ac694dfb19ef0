"""What must hold of everything that a grammar lets an engine write, as functions: tests and `fuzz.py` call them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from random import Random
from typing import Any

import jsonschema
from engines.llguidance_judge import LlguidanceJudge
from engines.xgrammar_judge import XgrammarJudge
from relaxng_judge import Judge as RelaxNgJudge

from xmltools.errors import Code
from xmltools.events import CallCompleted, CallFailed, Event
from xmltools.grammar import build_grammar
from xmltools.models import Text, ToolCall
from xmltools.parser import Parser, parse
from xmltools.render._call import write_call
from xmltools.tools import Tool

FORMATS = ("gbnf", "lark", "structural_tag")
OUTSIDE = {Code.CODE_FENCE}
"""What stands around a block is not the grammar's business: a model may open a fence in its text."""


def judge(tools: list[Tool], format: str, **options: Any) -> Any:
    """Return an engine that judges by the grammar of the tools, in one of FORMATS."""
    grammar = build_grammar(tools, format, **options)
    if format == "lark":
        return LlguidanceJudge(grammar)
    return XgrammarJudge(grammar, structural_tag=format == "structural_tag")


def walk_is_right(text: str, tools: list[Tool], rng: Random) -> str:
    """Return what is wrong with a reply that an engine wrote: nothing, if all is well."""
    events = list(_events(text, tools, rng))
    failed = [event for event in events if isinstance(event, CallFailed)]
    if failed:
        return f"failed: {failed[0].error}"
    calls = [event.call for event in events if isinstance(event, CallCompleted)]
    if [_said(call) for call in calls] != [_said(call) for call in parse(text, tools).calls]:
        return "the chunks matter"
    if any("<tool>" in part.text for part in parse(text, tools).parts if isinstance(part, Text)):
        return "an opener was read as text"
    return next(filter(None, (_call_is_right(call, tools, text) for call in calls)), "")


def _said(call: ToolCall) -> tuple[Any, ...]:
    return call.server, call.name, call.arguments, call.repairs, call.span


def _events(text: str, tools: list[Tool], rng: Random) -> Iterator[Event]:
    parser = Parser(tools)
    at = 0
    while at < len(text):
        end = at + rng.choice([1, 2, 5, 50])
        yield from parser.feed(text[at:end])
        at = end
    yield from parser.close()


def _call_is_right(call: ToolCall, tools: list[Tool], text: str) -> str:
    repairs = [repair for repair in call.repairs if repair.code not in OUTSIDE]
    if repairs:
        return f"mended: {repairs[0]}"
    tool = next(each for each in tools if (each.name, each.server) == (call.name, call.server))
    wrong = next(jsonschema.Draft202012Validator(tool.parameters).iter_errors(call.arguments), None)
    if wrong:
        return f"invalid: {wrong.message}"
    assert call.span is not None
    block = text[slice(*call.span)]
    return "" if _schema(tool).accepts(block) else f"RELAX NG refuses {block}"


@lru_cache(maxsize=256)
def _schema(tool: Tool) -> RelaxNgJudge:
    return RelaxNgJudge(tool)


def rendered(
    tools: list[Tool], make: Callable[[Random, Tool], dict[str, Any]], rng: Random, count: int
) -> Iterator[str]:
    """Yield replies with calls whose arguments are valid, as our renderer writes them, in three indentations."""
    for _ in range(count):
        tool = rng.choice(tools)
        call = ToolCall(id="1", name=tool.name, server=tool.server, arguments=make(rng, tool))
        block = write_call(call, tool.shape, exact=True)
        if "<tool_name>" not in block or not parse(block, tools).calls:
            continue  # values that look alike in text: the renderer took to JSON
        yield rng.choice(["", "Hello `x` <b> "]) + _indented(block, rng) + rng.choice(["", " bye", "\n"])


def _indented(block: str, rng: Random) -> str:
    """Return a block with its fields on one line, or behind tabs, or as it is."""
    form = rng.randrange(3)
    head, tag, rest = block.partition("<arguments>")
    if form == 0:
        return head.replace("\n", "") + tag + rest
    return head.replace("\n", "\n\t\t") + tag + rest if form == 1 else block
