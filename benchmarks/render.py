"""How fast the way out is: `make bench` runs it behind the parser; `python benchmarks/render.py [--quick]`.

Everything is a ratio inside one run. Instructions are compared with one `json.dumps` of the same tools, a call with one
`str.replace` over its argument, results and retries with what they hold.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from parser import MB, Figure, diff, ratio, source_code

from xmltools import dialects
from xmltools.models import ToolCall, ToolResult
from xmltools.parser import parse
from xmltools.render import instructions, render_call, render_instructions, render_result, render_retry
from xmltools.tools import Tool, tool

COUNT = 100
WRITE = Tool(name="write", parameters={"type": "object", "properties": {"text": {"type": "string"}}})


def definition(number: int) -> dict[str, Any]:
    """A tool as servers describe theirs: some 900 characters of JSON."""
    edit = {
        "type": "object",
        "properties": {"line": {"type": "integer"}, "text": {"type": "string"}},
        "required": ["line", "text"],
    }
    properties = {
        "pattern": {"type": "string", "description": f"The regular expression number {number} to look for."},
        "path": {"type": "string", "description": "The folder to search in.", "default": "."},
        "max_results": {
            "type": "integer",
            "minimum": 1,
            "maximum": 500,
            "default": 50,
            "description": "Lines at most.",
        },
        "mode": {"type": "string", "enum": ["files", "lines", "count"], "description": "What to print."},
        "edits": {"type": "array", "items": edit},
        "options": {
            "type": "object",
            "properties": {"case": {"type": "boolean", "default": False}, "context": {"type": "integer"}},
        },
    }
    return {
        "name": f"search_{number}",
        "description": "Search the repository for a pattern and return the lines that match, with some context.",
        "parameters": {"type": "object", "properties": properties, "required": ["pattern"]},
    }


DEFINITIONS = [definition(number) for number in range(COUNT)]


def tools() -> list[Tool]:
    return [Tool(**each) for each in DEFINITIONS]


def forget() -> None:
    """Empty what is kept for tools that come again."""
    for cached in (tool._shared_shape, instructions._tool_section, instructions._signature):
        cached.cache_clear()


def instruction_ratio(style: Any, rounds: int, *, known: bool) -> float:
    """Rendering the tools of a new request, in `json.dumps` of them; `known`: they came in an earlier one."""
    made = iter([tools() for _ in range(rounds + 1)])
    render_instructions(next(made), style=style)

    def ours() -> None:
        if not known:
            forget()
        render_instructions(next(made), style=style)

    return ratio(ours, lambda: json.dumps(DEFINITIONS), rounds)


def call_ratio(text: str, rounds: int) -> float:
    """A call with one long argument, in passes of `str.replace` over it."""
    call = ToolCall(id="1", name="write", arguments={"text": text})
    return ratio(lambda: render_call(call, WRITE), lambda: text.replace("]]>", "]]]]><![CDATA[>"), rounds)


def dialect_ratio(dialect: str, text: str, times: int, rounds: int) -> float:
    """A call in a dialect, in the time of the same call in Forge's."""
    call = ToolCall(id="1", name="write", arguments={"text": text})

    def many(name: str) -> Callable[[], object]:
        return lambda: [render_call(call, WRITE, dialect=name) for _ in range(times)]

    return ratio(many(dialect), many("forge"), rounds)


def result_ratio(text: str, rounds: int) -> float:
    result = ToolResult(call_id="1", name="read", content=text)
    return ratio(lambda: render_result(result), lambda: text.replace("]]>", "]]]]><![CDATA[>"), rounds)


def retry_ratio(rounds: int) -> float:
    """A retry for a call that does not fit its tool, in parses of that call."""
    reply = "<tool><tool_name>search_1</tool_name><arguments><max_results>many</max_results></arguments></tool>"
    offered = tools()
    error = parse(reply, tools=offered[:2]).errors[0]
    return ratio(lambda: render_retry(error, offered[:2]), lambda: parse(reply, tools=offered[:2]), rounds)


def figures(quick: bool) -> list[Figure]:
    rounds = 5 if quick else 15
    code, prose = source_code(MB), "All is well here, and nothing of it is markup at all. " * (MB // 54)
    first = "schemas compiled, examples made up"
    again = "new Tool objects, seen before"
    measured: list[tuple[str, float, Callable[[], float], str, str]] = [
        ("a 100 tools, full", 20, lambda: instruction_ratio("full", rounds, known=True), "dumps", again),
        ("a 100 tools, compact", 20, lambda: instruction_ratio("compact", rounds, known=True), "dumps", again),
        ("a … the first time, full", 12, lambda: instruction_ratio("full", rounds, known=False), "dumps", first),
        ("a … the first time, compact", 12, lambda: instruction_ratio("compact", rounds, known=False), "dumps", first),
        ("b call, 1 MB of prose", 5, lambda: call_ratio(prose, rounds), "passes", "plain text"),
        ("b call, 1 MB of code", 5, lambda: call_ratio(code, rounds), "passes", "CDATA"),
        ("b call, 1 MB diff with ]]>", 5, lambda: call_ratio(diff(MB) + "]]>" * 10, rounds), "passes", "CDATA, split"),
        ("b call, 1 MB not ASCII", 5, lambda: call_ratio(code + "é表", rounds), "passes", "CDATA"),
        ("c result, 1 MB of code", 20, lambda: result_ratio(code, rounds), "passes", ""),
        ("d retry", 5, lambda: retry_ratio(rounds * 5), "parses", "of the call that failed"),
    ]
    for dialect in (each.name for each in dialects.all() if each.written):
        is_textual = dialects.named(dialect).body is not dialects.Body.JSON
        large = "parsed before it is returned, if it holds <" if is_textual else ""
        measured += [
            (f"e {dialect}", 8, partial(dialect_ratio, dialect, "a.py", 100, rounds), "Forge's", "a small call"),
            (f"e {dialect}, 1 MB of code", 8, partial(dialect_ratio, dialect, code, 1, rounds), "Forge's", large),
        ]
    return [Figure(name, asked, measure(), unit, note) for name, asked, measure, unit, note in measured]


def main() -> int:
    """Print the table; the exit status is 1 if a figure was missed."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--quick", action="store_true", help="fewer rounds")
    found = figures(options.parse_args().quick)
    for figure in found:
        columns = f"{figure.name:<28} {figure.asked:>6g} {figure.measured:>8.2f} {figure.unit:<7} {figure.verdict:<7}"
        print(columns, figure.note)
    return int(any(figure.verdict != "ok" for figure in found))


if __name__ == "__main__":
    raise SystemExit(main())
