"""xmltools beside other parsers of tool calls: `python benchmarks/rivals.py`, with `--quick` in less than two minutes.

`--install` makes `.venv-rivals` with all of them, and every later run uses it. A rival that is not there is a row that
says how to install it. Writes `results.md`, `results.svg` and `results.png` beside this file (`--quick` only prints,
unless a folder is given). `README.md` explains what is measured, and why it is fair.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from _rivals._install import install, python

if TYPE_CHECKING:  # these need what only the environment of the rivals has
    from _rivals._report import Results
    from _rivals._rival import Rival
    from _rivals._speed import Curve

FULL_CAP, QUICK_CAP = 1.5, 0.25


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure xmltools and its rivals.", allow_abbrev=False)
    parser.add_argument("--install", action="store_true", help="put the rivals into .venv-rivals first")
    parser.add_argument("--quick", action="store_true", help="small texts, less than two minutes")
    parser.add_argument("--folder", type=Path, help="where the results go (default: beside this file, unless --quick)")
    parser.add_argument("--cap", type=float, help=f"CPU seconds for one run (default: {FULL_CAP}, quick {QUICK_CAP})")
    return parser.parse_args()


def use_rivals() -> None:
    """Go on in the environment that has the rivals, if there is one."""
    if python().exists() and Path(sys.prefix).resolve() != python().parents[1].resolve():
        os.execv(python(), [str(python()), *sys.argv])


def gather() -> tuple[list[Rival], list[tuple[str, str]]]:
    """The rivals that are installed, us first, and the others with how to install them."""
    from _rivals._compiled import Compiled
    from _rivals._node import NODE_RIVALS
    from _rivals._regex import REGEX_RIVALS
    from _rivals._rival import MissingError
    from _rivals._servers import SERVER_RIVALS
    from _rivals._transformers import TRANSFORMERS_RIVALS
    from _rivals._xml import OURS, XML_RIVALS

    there, missing = [], []
    for kind in (*OURS, Compiled, *XML_RIVALS, *REGEX_RIVALS, *SERVER_RIVALS, *TRANSFORMERS_RIVALS, *NODE_RIVALS):
        try:
            there.append(kind())
        except MissingError as how:
            missing.append((kind.name, str(how)))
    return there, missing


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def run(quick: bool, cap: float) -> Results:
    """Measure everything."""
    from _rivals._correct import judge
    from _rivals._report import Results
    from _rivals._speed import Budget, growth, times
    from _rivals._texts import hard_texts, workloads

    budget = Budget(cap, 3, (4, 0), 1_024_000) if quick else Budget(cap, 5, (4, 64, 4096, 0), 8_192_000)
    rivals, missing = gather()
    # What was imported is no garbage, and need not be looked through before each run.
    gc.collect()
    gc.freeze()
    hard = hard_texts()
    verdicts = {}
    for rival in rivals:
        say(f"correctness: {rival.name}")
        verdicts[rival.name] = [judge(rival, reply) for reply in hard]
    cells = {}
    for text, chunk, row in times(rivals, list(workloads(quick)), budget):
        say(f"speed: {text}, chunks of {chunk or 'any size'}")
        cells[chunk, text] = row
    curves = {}
    for chunk in (4,) if quick else (4, 0):
        say(f"growth: chunks of {chunk or 'any size'}")
        curves[chunk] = growth(rivals, chunk, budget)
    return Results(rivals, missing, budget, cells, curves, hard, verdicts)


def main() -> int:
    options = arguments()
    if options.install:
        install()
        sys.argv.remove("--install")
    use_rivals()
    try:
        from _rivals._report import markdown, show
        from rich.console import Console
    except ImportError as problem:
        sys.exit(f"{problem}; python benchmarks/rivals.py --install makes an environment with everything")
    results = run(options.quick, options.cap or (QUICK_CAP if options.quick else FULL_CAP))
    show(results, Console(width=None if sys.stdout.isatty() else 240))
    folder = options.folder or (None if options.quick else Path(__file__).parent)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.md").write_text(markdown(results), "utf-8")
        draw(results.rivals, results.growth[4], folder)
    return 0


def draw(rivals: Sequence[Rival], curves: dict[str, Curve], folder: Path) -> None:
    try:
        from _rivals._plot import draw as plot

        plot(rivals, curves, folder)
    except ImportError:
        say("no plot: matplotlib is not installed (python benchmarks/rivals.py --install)")


if __name__ == "__main__":
    raise SystemExit(main())
