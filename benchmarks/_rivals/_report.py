"""The tables: for a terminal, and as Markdown."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from _rivals._correct import CHUNKS, Verdict, placeless
from _rivals._dialects import Reply
from _rivals._rival import Rival
from _rivals._speed import Budget, Cell, Curve, kilobytes

__all__ = ["Results", "markdown", "show"]

Rows = list[list[str]]
DIALECT_WORDS = {
    "xml": "XML, as ours",
    "hermes": "JSON in a tag",
    "qwen": "Qwen 3 Coder",
    "glm": "GLM",
    "escaped qwen": "Qwen 3 Coder, escaped",
    "dsml": "DeepSeek V4",
    "morph": "an element a tool",
}


class Results(NamedTuple):
    """All that was measured. `cells` by size of the chunks and text, then rival; `growth` by size of the chunks."""

    rivals: Sequence[Rival]
    missing: Sequence[tuple[str, str]]
    budget: Budget
    cells: dict[tuple[int, str], dict[str, Cell]]
    growth: dict[int, dict[str, Curve]]
    hard: Sequence[Reply]
    verdicts: dict[str, list[Verdict]]


class Block(NamedTuple):
    """A table with what is said above and below it."""

    title: str
    lead: str
    head: list[str]
    rows: Rows


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def chunk_name(size: int) -> str:
    return f"chunks of {size:,} characters" if size else "the whole text at once"


def speed_cell(cell: Cell | None) -> str:
    if cell is None:
        return "no such calls"
    if cell.error:
        return "error"
    if cell.stopped:
        return f"> {number(cell.ratio)}, {cell.stopped}" if cell.ratio else cell.stopped
    return number(cell.ratio) + (" (wrong)" if cell.wrong else "")


def milliseconds(cell: Cell) -> str:
    return f"1 = {number(cell.seconds * 1000)} ms"


def speed_blocks(results: Results) -> Iterator[Block]:
    for size in results.budget.chunks:
        texts = [text for chunk, text in results.cells if chunk == size]
        ours, *others = results.rivals
        rows = [[ours.name, *(milliseconds(results.cells[size, text][ours.name]) for text in texts)]]
        rows += [
            [rival.name, *(speed_cell(results.cells[size, text].get(rival.name)) for text in texts)] for rival in others
        ]
        yield Block(f"Speed: {chunk_name(size)}", "", ["time, ours is 1", *texts], rows)


def growth_row(results: Results, rival: Rival) -> list[str]:
    row = [rival.name]
    for curves in results.growth.values():
        curve = curves[rival.name]
        exponent = "" if curve.exponent is None else f"{curve.exponent:.2f}"
        largest = kilobytes(max(curve.points)) if curve.points else "none"
        row += [exponent, largest + (f" ({curve.ended})" if curve.ended else "")]
    return row


def growth_block(results: Results) -> Block:
    head = ["rival"]
    for size in results.growth:
        head += [f"exponent, {chunk_name(size)}", "largest diff"]
    lead = "How time grows with the size of one argument: 1 is linear, 2 quadratic. Over the largest four sizes that"
    lead += " were run (each twice the one before) and took more than half a millisecond."
    return Block("Growth", lead, head, [growth_row(results, rival) for rival in results.rivals])


def correct_block(results: Results) -> Block:
    names = [str(place) for place, _ in enumerate(results.hard, 1)]
    rows = [
        [rival.name, *(verdict.mark for verdict in results.verdicts[rival.name]), score(results.verdicts[rival.name])]
        for rival in results.rivals
    ]
    sizes = ", ".join(str(size) for size in CHUNKS if size)
    lead = f"Each text in chunks of {sizes} characters and whole. *yes*: exactly the calls and arguments, always;"
    lead += " *some*: in some chunks; *no*: in none. Each rival reads the text in its own dialect."
    return Block("Correctness", lead, ["rival", *names, "yes"], rows)


def score(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(verdict.mark == 'yes' for verdict in verdicts)} of {len(verdicts)}"


def wrong_block(results: Results) -> Block:
    rows = []
    for place, reply in enumerate(results.hard):
        found = sorted((results.verdicts[rival.name][place].reason, rival.name) for rival in results.rivals)
        groups = groupby((row for row in found if row[0]), key=lambda row: row[0])
        rows += [[str(place + 1), reply.name, reason, ", ".join(name for _, name in group)] for reason, group in groups]
    return Block("What went wrong", "", ["text", "", "what", "with"], rows)


def rival_block(results: Results) -> Block:
    rows = [[x.name, f"{x.package} {x.version}", DIALECT_WORDS[x.dialect], x.deltas] for x in results.rivals]
    rows += [[name, "not installed", "", how] for name, how in results.missing]
    return Block("Who", "", ["rival", "version", "dialect", "arguments are seen with"], rows)


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.+)", info.read_text())):
        cpu = found[1]
    return f"{datetime.now(UTC):%Y-%m-%d}, {platform.system()}, {cpu}, Python {platform.python_version()}"


def speed_errors(results: Results) -> Block:
    """What went wrong while the clock ran."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for (size, text), cells in results.cells.items():
        for name, cell in cells.items():
            if said := cell.wrong or placeless(cell.error):
                found.setdefault((name, text, said), []).append(f"{size:,}" if size else "whole")
    rows = [[name, text, ", ".join(sizes), said] for (name, text, said), sizes in sorted(found.items())]
    return Block("Errors and wrong calls in the speed tables", "", ["rival", "text", "chunks", "what"], rows)


def blocks(results: Results) -> list[Block]:
    return [
        rival_block(results),
        *speed_blocks(results),
        speed_errors(results),
        growth_block(results),
        correct_block(results),
        wrong_block(results),
    ]


def show(results: Results, console: Console) -> None:
    for block in blocks(results):
        table = Table(*block.head, title=block.title, title_justify="left", padding=(0, 1))
        for row in block.rows:
            table.add_row(*row)
        console.print(table)


def cell_text(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def pipe_table(block: Block) -> str:
    lines = [block.head, ["---", *["---:" if block.title.startswith("Speed") else "---"] * (len(block.head) - 1)]]
    lines += block.rows
    return "\n".join("| " + " | ".join(cell_text(cell) for cell in line) + " |" for line in lines)


def markdown(results: Results) -> str:
    """The page `results.md`."""
    parts = [
        "# Rivals: results",
        f"{machine()}. Made by `python benchmarks/rivals.py`; [what is measured, and how](README.md#rivals).",
        "![Time over the size of one argument, in chunks of 4 characters](results.svg)",
    ]
    for block in blocks(results):
        parts += [part for part in (f"## {block.title}", block.lead, pipe_table(block)) if part]
        if block.title == "Correctness":
            parts.append("\n".join(f"{place}. {cell_text(reply.name)}" for place, reply in enumerate(results.hard, 1)))
    return "\n\n".join(parts) + "\n"
