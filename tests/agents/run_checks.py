"""Runs the functions `test_*` of a script, with the libraries of the agents, which come without pytest.

    PYTHONPATH=. python tests/agents/run_checks.py tests/agents/langchain_checks.py

Prints a JSON object: for each function None, or how it failed.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import runpy
import sys
import traceback
import warnings


def main() -> None:
    """Run all functions of the script that is named, and print what came of them."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    checks = {name: each for name, each in runpy.run_path(sys.argv[1]).items() if name.startswith("test_")}
    warnings.filterwarnings("error", module="xmltools")
    failures: dict[str, str | None] = {}
    for name, check in checks.items():
        try:
            done = check()
            if inspect.isawaitable(done):
                asyncio.run(asyncio.wait_for(done, 120))  # type: ignore[arg-type]
            failures[name] = None
        except Exception:
            failures[name] = traceback.format_exc()
    print(json.dumps(failures), file=answers, flush=True)


if __name__ == "__main__":
    main()
