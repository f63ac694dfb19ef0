"""Checking replies and stored calls: findings with code, place and hint, and a witness beside the parser.

`lint` is the parser's word, and that of lxml (RELAX NG) and defusedxml beside it, about a whole text; `explain` says
what a code means, `list_codes` which there are; `write_report` prints findings for people and programs.
"""

from xmltools.lint.check import Examined, Finding, Place, examine, lint
from xmltools.lint.explanations import CODES, explain, list_codes
from xmltools.lint.reports import FORMATS, write_report, write_statistics

__all__ = [
    "CODES",
    "FORMATS",
    "Examined",
    "Finding",
    "Place",
    "examine",
    "explain",
    "lint",
    "list_codes",
    "write_report",
    "write_statistics",
]
