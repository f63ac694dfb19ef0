"""`xmltools conformance`: answers test cases, or gives any program the cases of the corpus and keeps the score.

`tests/corpus/README.md` describes a case, what the program is sent and what it has to answer.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from xmltools.cli.conformance.corpus import Case, find_corpus, read_corpus, ways
from xmltools.cli.conformance.run import Difference, Result, differences, run_program
from xmltools.cli.conformance.score import Score, report, score, write_failures, write_table
from xmltools.cli.shared import UsageError, positive, show
from xmltools.errors import XMLToolsError

__all__ = [
    "Case",
    "Difference",
    "Result",
    "Score",
    "conformance",
    "declare_conformance",
    "differences",
    "find_corpus",
    "read_corpus",
    "report",
    "run_program",
    "score",
    "ways",
    "write_failures",
    "write_table",
]


def declare_conformance(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools conformance`."""
    add = parser.add_argument
    add("--runner", metavar="COMMAND", help="a program that reads cases and answers them as this command does")
    add("--corpus", metavar="DIR", help="the folder with the cases (default, in a checkout: tests/corpus)")
    add("--timeout", metavar="N", type=positive, help="seconds that an answer may take (default: 10)")
    add("--json", action="store_true", help="print the score, and all failures, as JSON")


def conformance(options: argparse.Namespace) -> int:
    """Run `xmltools conformance`. Returns the exit status: 1 if a program failed a case that is not optional."""
    if options.runner is not None:
        return _score(options)
    for name in ("corpus", "timeout", "json"):
        if getattr(options, name) not in (None, False):
            raise UsageError(f"--{name}: expected --runner with it")
    from xmltools.cli.conformance.answers import Runner

    for answer in Runner().run(sys.stdin.buffer):
        print(answer, flush=True)
    return 0


def _score(options: argparse.Namespace) -> int:
    try:
        cases = read_corpus(find_corpus() if options.corpus is None else Path(options.corpus))
        results = list(run_program(options.runner, cases, timeout=options.timeout or 10.0))
    except XMLToolsError as error:
        raise UsageError(str(error)) from None
    if options.json:
        print(json.dumps(report(results)))
    else:
        for line in (*write_table(results), *write_failures(results)):
            show(line)
    return 1 if any(result.verdict != "passed" and not result.case.optional for result in results) else 0
