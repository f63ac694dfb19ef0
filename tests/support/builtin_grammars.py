"""How much of what xgrammar's own grammars for models let an engine write is a clean, valid call for our parser.

`python tests/support/builtin_grammars.py --walks 1000` prints a line for each model that xgrammar has a grammar for and
that writes one of our dialects, with what was wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.dialect_grammar_laws import SAMPLE_TOOLS, random_tools, vocabulary_of, wrong_with
from support.engines.xgrammar_judge import XgrammarJudge
from support.engines.xgrammar_torch import import_xgrammar

from xmltools.tools import Tool

BUILTIN = {
    "qwen_3": "hermes",
    "qwen_3_coder": "qwen3_coder",
    "glm_4_7": "glm",
    "kimi": "kimi_k2",
    "kimi_k3": "kimi_k3",
    "gemma_4": "gemma",
    "harmony": "harmony",
    "minimax_m3": "minimax_m3",
    "minimax": "minimax_m2",
    "deepseek_v4": "dsml",
    "llama": "llama3_json",
    "deepseek_v3_1": "deepseek_v3",
}
"""xgrammar's names for models, and the dialects that these write."""


def builtin(tools: list[Tool], model: str) -> str:
    """Return xgrammar's structural tag for a model, without reasoning."""
    import_xgrammar()
    from xgrammar.builtin_structural_tag import get_model_structural_tag

    given: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}} for tool in tools
    ]
    return str(get_model_structural_tag(model, given, reasoning="disabled").model_dump_json())


def tried(model: str, walks: int, seed: int) -> tuple[Counter[str], dict[str, str]]:
    """Return how many replies were right and wrong in which way, and a reply for each way."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    dialect = BUILTIN[model]
    number = 0
    while counts["walks"] < walks:
        rng = Random(f"{seed}/{model}/{number}")
        tools = SAMPLE_TOOLS if number % 5 == 0 else random_tools(rng)
        number += 1
        try:
            engine = XgrammarJudge(builtin(tools, model), structural_tag=True, vocabulary=vocabulary_of(dialect))
        except (ValueError, RuntimeError):
            counts["grammars refused by xgrammar"] += 1
            continue
        for _ in range(20):
            text = engine.walk(rng)
            if text is None:
                counts["without end"] += 1
                continue
            counts["walks"] += 1
            wrong = wrong_with(text, tools, dialect, rng)
            if wrong:
                counts["wrong"] += 1
                kind = " ".join(wrong.split("code=<Code.")[-1].split()[:2]).strip(":'")
                counts[f"- {kind}"] += 1
                examples.setdefault(kind, f"{wrong[:300]}\n    {text[:600]!r}")
    return counts, examples


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--walks", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", nargs="*", default=list(BUILTIN))
    parser.add_argument("--examples", action="store_true", help="with a reply for each thing that is wrong")
    given = parser.parse_args()
    for model in given.models:
        counts, examples = tried(model, given.walks, given.seed)
        print(f"{model} ({BUILTIN[model]}): {dict(counts)}", flush=True)
        for kind, example in examples.items() if given.examples else ():
            print(f"  {kind}: {example}", flush=True)


if __name__ == "__main__":
    main()
