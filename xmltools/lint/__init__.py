"""Checking replies and stored calls: findings with code, place and hint, and a witness behind the parser.

`lint` is the parser's word, and that of lxml (RELAX NG) and defusedxml behind it, about a whole text; `explain` says
what a code means, `list_codes` which there are; `write_report` prints findings for people and programs.
"""

from xmltools.lint._check import Examined, examine, lint
from xmltools.lint._explanations import CODES, explain, list_codes
from xmltools.lint._findings import Finding, Place
from xmltools.lint._reports import FORMATS, write_report, write_statistics

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
