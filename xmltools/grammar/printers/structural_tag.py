"""Structural tags: xgrammar's own description of text with triggers in it (0.2 and later).

Where replies are free text with any number of calls, xgrammar looks out for the trigger by itself, which is quicker
than rules that spell the text out. Everything else is the GBNF inside a tag.
"""

from __future__ import annotations

import json
from typing import Any

from xmltools.grammar.options import Options
from xmltools.grammar.printers.gbnf import print_gbnf
from xmltools.grammar.regular.expressions import expression
from xmltools.grammar.regular.regular import Repeat, Sequence, literal, sequence
from xmltools.grammar.rules.prose import around
from xmltools.grammar.rules.strings import SPACE
from xmltools.grammar.text_tree import Dispatch, Grammar


def print_structural_tag(grammar: Grammar, options: Options) -> str:
    """Return the grammar as a structural tag, in JSON."""
    found = _dispatch(grammar)
    if found is None or found.excludes is None:
        form: dict[str, Any] = {"type": "grammar", "grammar": print_gbnf(grammar, options)}
    else:
        bodies = [
            (start, print_gbnf(Grammar(body, grammar.rules, grammar.notes), options)) for start, body in found.rules
        ]
        form = {
            "type": "dispatch",
            "rules": [[start, {"type": "grammar", "grammar": body}] for start, body in bodies],
            "loop": True,
            "excludes": list(found.excludes),
        }
        form = _after_reasoning(form, options)
    return json.dumps({"type": "structural_tag", "format": form}, ensure_ascii=False, indent=2) + "\n"


def _dispatch(grammar: Grammar) -> Dispatch | None:
    """Return the dispatch of a grammar that has nothing else to say about what stands around calls."""
    last = grammar.root.parts[-1] if isinstance(grammar.root, Sequence) and grammar.root.parts else grammar.root
    return last if isinstance(last, Dispatch) and last.low == 0 and last.high is None else None


def _after_reasoning(form: dict[str, Any], options: Options) -> dict[str, Any]:
    if options.reasoning_marks is None:
        return form
    start, end = options.reasoning_marks
    thought = {"type": "any_text", "excludes": list(around(options).thought_excludes)}
    elements: list[dict[str, Any]] = [thought, {"type": "const_string", "value": end}]
    if options.starts_in_reasoning:
        return {"type": "sequence", "elements": [*elements, form]}
    opener = {
        "type": "regex",
        "pattern": expression(sequence(Repeat(SPACE, 0, options.white_space), literal(start))),
    }
    reasoning = {"type": "optional", "content": {"type": "sequence", "elements": [opener, *elements]}}
    return {"type": "sequence", "elements": [reasoning, form]}
