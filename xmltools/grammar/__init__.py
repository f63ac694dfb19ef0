"""Grammars for constrained decoding, made from tools.

A tool's schema becomes shapes (`tools.schema`: what parser and prompts use, too), shapes become a text tree, and
each back end prints that in its own way: GBNF, Lark, structural tags, one regular expression.
"""

from xmltools.grammar.build import FORMATS, GrammarFormat, build_grammar, grammar_issues
from xmltools.grammar.engines import ENGINES, engine_issues, for_engine
from xmltools.grammar.issues import GrammarIssue

__all__ = [
    "ENGINES",
    "FORMATS",
    "GrammarFormat",
    "GrammarIssue",
    "build_grammar",
    "engine_issues",
    "for_engine",
    "grammar_issues",
]
