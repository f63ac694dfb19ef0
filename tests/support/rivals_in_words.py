"""What the README says of other parsers: three lines, made of the tables in `benchmarks/results.md`."""

from __future__ import annotations

import re
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results.md"

XML_PARSERS = ("expat", "ElementTree XMLPullParser", "lxml XMLPullParser", "LangChain XMLOutputParser")
PATTERNS = ("regex, then ElementTree (as Forge)", "re.findall on all text so far")
TOOL_PARSERS = ("vLLM", "SGLang", "transformers", "ai-sdk-tool")
SLOWEST = ("SGLang", "re.findall", "ai-sdk-tool")

SPEED = """\
- A diff of 100 KB, 4 characters at a time: vLLM's Rust parser takes {rust} times as long, its Python engine {engine}.
  SGLang's parsers, `re.findall` on the text so far and `@ai-sdk-tool/parser` take at least {slowest} times as long.
- expat takes {expat} of our time for it, and {expat_small} for a small call: parsers in C are faster, where the text is
  well-formed XML.
- Of {texts} texts that are ordinary and hard (`</tool>` in a file, a bare `&`), xmltools reads {ours} exactly in every
  chunking. XML parsers read {xml}, regular expressions {patterns}, the others {least} to {most}.
"""


def speed() -> str:
    """Three lines of the results, in words."""
    head, *rows = _rows("Speed: chunks of 4 characters")
    diff = {row[0]: row[head.index("100 KB diff")] for row in rows}
    small = {row[0]: row[head.index("small call")] for row in rows}
    right = {row[0]: int(row[-1].split(" of ")[0]) for row in _rows("Correctness")[1:]}
    of_tools = [count for name, count in right.items() if name.startswith(TOOL_PARSERS)]
    return SPEED.format(
        rust=diff["vLLM DeepSeek V4 (Rust)"],
        engine=diff["vLLM qwen3_coder (engine)"],
        slowest=min(int(re.findall(r"\d+", ratio)[0]) for name, ratio in diff.items() if name.startswith(SLOWEST)),
        expat=diff["expat"],
        expat_small=small["expat"],
        texts=len(_rows("Correctness")[0]) - 2,
        ours=right["xmltools"],
        xml=" or ".join(map(str, sorted({right[name] for name in XML_PARSERS}))),
        patterns=" and ".join(str(right[name]) for name in PATTERNS),
        least=min(of_tools),
        most=max(of_tools),
    )


def _rows(heading: str) -> list[list[str]]:
    """The table below a heading of the results, its head first."""
    section = RESULTS.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
