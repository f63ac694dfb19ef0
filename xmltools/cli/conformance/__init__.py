"""`xmltools conformance --runner`: gives any program the cases of the corpus, judges its answers, keeps the score.

`tests/corpus/README.md` says what a case is, what the program is sent and what it has to answer.
"""

from __future__ import annotations

from xmltools.cli.conformance.corpus import Case, find_corpus, read_corpus, ways
from xmltools.cli.conformance.judge import Difference, differences
from xmltools.cli.conformance.run import Result, run_program
from xmltools.cli.conformance.score import Score, report, score, write_failures, write_table

__all__ = [
    "Case",
    "Difference",
    "Result",
    "Score",
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
