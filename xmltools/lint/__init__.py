"""Checking replies and stored calls: findings with code, place and hint.

`lint` is what the parser, lxml (with `grammars/tool.rng`) and defusedxml say of a whole text; `explain` says what a
code means, `list_codes` which there are; `write_report` prints findings for people and programs.
"""

from xmltools.lint.check import Finding, Findings, Place, lint
from xmltools.lint.explanations import CODES, explain, list_codes
from xmltools.lint.reports import FORMATS, write_report, write_statistics

__all__ = [
    "CODES",
    "FORMATS",
    "Finding",
    "Findings",
    "Place",
    "explain",
    "lint",
    "list_codes",
    "write_report",
    "write_statistics",
]
