"""What grammars cost: to make, in size and in an engine: `python benchmarks/grammar.py [--quick]`.

Unlike the other figures these are times and sizes: a grammar is made while a request waits, and a mask while a graphics
card waits. Engines compute their masks for a vocabulary of 32,000 made-up tokens; no model is needed. What a mask costs
along a diff is also compared with what it costs in prose, in the same run.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from parser import Figure, diff, line

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # the engines that judge grammars in the tests

from grammar import EXAMPLES, TOOLS
from support.engines import llguidance_judge, xgrammar_judge
from support.grammar_laws import judge

from xmltools.grammar import build_grammar
from xmltools.models import ToolCall
from xmltools.render import render_call
from xmltools.tools import Tool

FORMATS = ("gbnf", "lark", "structural_tag")
COUNT = 139
DIFF = 4096


def median(work: Callable[[], object], rounds: int) -> float:
    """The median of the seconds on the clock that `work` takes, behind a first round that is not counted."""
    work()
    gc.collect()
    gc.disable()
    try:
        return statistics.median(seconds(work) for _ in range(rounds))
    finally:
        gc.enable()


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def many(amount: int, first: int = 1000) -> list[Tool]:
    """Tools of three parameters with names that no two of them share, so that no rule serves twice."""
    kinds = {"path": {"type": "string"}, "limit": {"type": "integer"}, "mode": {"enum": ["fast", "safe"]}}
    return [
        Tool(
            name=f"server_{number % 7}_action_{number}",
            parameters={
                "type": "object",
                "properties": {f"{name}_{number}": kind for name, kind in kinds.items()},
                "required": [f"path_{number}"],
            },
        )
        for number in range(first, first + amount)
    ]


def strings(amount: int) -> Tool:
    """A tool with so many texts, all of them required."""
    names = [f"text_{number}" for number in range(amount)]
    properties = {name: {"type": "string"} for name in names}
    return Tool(name="write", parameters={"type": "object", "properties": properties, "required": names})


def first_time(format: str) -> float:
    """Seconds for the first tools and their grammar in a new interpreter, without its imports."""
    program = (
        "import json, pathlib, sys, time\n"
        "from xmltools.grammar import build_grammar\n"
        "from xmltools.tools import load_tools\n"
        "definitions = json.loads(pathlib.Path(sys.argv[1]).read_text('utf-8'))\n"
        "start = time.perf_counter()\n"
        "build_grammar(load_tools(definitions), sys.argv[2])\n"
        "print(time.perf_counter() - start)\n"
    )
    return float(subprocess.check_output([sys.executable, "-c", program, str(EXAMPLES / "tools.json"), format]))


def making(quick: bool) -> Iterator[Figure]:
    rounds = 5 if quick else 15
    for format in FORMATS:
        first = statistics.median(first_time(format) for _ in range(3 if quick else 7))
        yield Figure(f"a 3 tools, first, {format}", 20, first * 1e3, "ms", "in a new interpreter, without imports")
    for format in FORMATS:
        again = median(partial(make_again, format), rounds)
        yield Figure(f"a 3 tools, again, {format}", 20, again * 1e3, "ms", "new Tool objects")
    numbers = count(1000, COUNT)
    for format in FORMATS:
        took = statistics.median(seconds(partial(make_many, format, next(numbers))) for _ in range(rounds))
        yield Figure(f"a {COUNT} tools, {format}", 1000, took * 1e3, "ms", "three parameters each, never seen before")


def make_many(format: str, first: int) -> None:
    build_grammar(many(COUNT, first), format)


def make_again(format: str) -> None:
    build_grammar([Tool(**tool.model_dump()) for tool in TOOLS], format)


def sizes(quick: bool) -> Iterator[Figure]:
    for format, asked in (("gbnf", 120), ("lark", 77)):
        yield Figure(f"b {COUNT} tools, {format}", asked, kilobytes(many(COUNT), format), "KB")
    for amount, asked in ((5, 6.8), (6, 12.8)):
        yield Figure(f"b any order, {amount} texts, gbnf", asked, kilobytes([strings(amount)], "gbnf"), "KB")


def kilobytes(tools: list[Tool], format: str) -> float:
    return len(build_grammar(tools, format).encode()) / 1000


def masks(quick: bool) -> Iterator[Figure]:
    """A reply with a diff in CDATA, and prose of the same length, in each engine."""
    for format, engine in (("gbnf", xgrammar_judge), ("structural_tag", xgrammar_judge), ("lark", llguidance_judge)):
        if engine.available():
            print(f"c {format}: {engine.available()}")
            continue
        checked = judge(TOOLS, format)
        in_diff, in_prose = (mask_time(checked, text, quick) for text in (reply(diff(DIFF)), prose(DIFF)))
        name = engine.__name__.rpartition(".")[2].removesuffix("_judge")
        yield Figure(f"c masks along a diff, {format}", 1000, in_diff * 1e6, "us", f"median in {name}")
        yield Figure("c … against prose", 50, in_diff / in_prose, "x", f"{in_prose * 1e6:.1f} us in prose")


def mask_time(checked: Any, text: str, quick: bool) -> float:
    return min(statistics.median(checked.mask_times(text)) for _ in range(1 if quick else 3))


def reply(value: str) -> str:
    call = ToolCall(id="1", name="apply_diff", arguments={"path": "a.py", "diff": value})
    return f"I will mend it.\n\n{render_call(call)}\n\nThat is all."


def prose(size: int) -> str:
    return ("Each line of the file is read once, and compared with the one before. " * (size // 70 + 1))[:size]


def main() -> int:
    """Print the table; the exit status is 1 if a figure was missed."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--quick", action="store_true", help="fewer rounds")
    quick = options.parse_args().quick
    missed = False
    for figures in (making, sizes, masks):
        for figure in figures(quick):
            missed = missed or figure.verdict != "ok"
            print(line(figure), flush=True)
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
