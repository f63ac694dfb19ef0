"""The static grammars, each run by a library that is not ours: protocol.lark and protocol.abnf (`support.tool_rng`).

Each judge takes a text and says whether its grammar takes all of it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import abnf
from lark import Lark, Tree, UnexpectedInput

__all__ = ["GRAMMARS", "abnf_accepts", "count_blocks", "lark_accepts"]

GRAMMARS = Path(__file__).parents[2] / "grammars"

_TAG_NAME = re.compile(r"</?([^ >]+)")


def lark_accepts(reply: str, start: str = "reply") -> bool:
    """Whether protocol.lark takes a whole reply, and each element in it ends with its own name."""
    return count_blocks(reply, start) is not None


def count_blocks(reply: str, start: str = "reply") -> int | None:
    """How many blocks protocol.lark finds in a reply that it takes; None for others."""
    try:
        tree = _lark().parse(reply, start=start)
    except UnexpectedInput:
        return None
    elements = [each for each in tree.iter_subtrees() if each.data in ("argument", "element")]
    return len(list(tree.find_data("block"))) if all(map(_ends_with_its_name, elements)) else None


def _ends_with_its_name(element: Tree) -> bool:
    first, last = element.children[0], element.children[-1]
    return _TAG_NAME.match(first)[1] == _TAG_NAME.match(last)[1]


@cache
def _lark() -> Lark:
    text = (GRAMMARS / "protocol.lark").read_text("utf-8")
    return Lark(text, parser="lalr", lexer="contextual", start=["reply", "reasoned_reply"], maybe_placeholders=False)


def abnf_accepts(text: str, rule: str = "reply") -> bool:
    """Whether a rule of protocol.abnf takes a text. The library is slow: some 10 ms for 300 characters."""
    try:
        _abnf()(rule).parse_all(text)
    except abnf.ParseError:
        return False
    return True


@cache
def _abnf() -> type[abnf.Rule]:
    class Protocol(abnf.Rule):
        pass

    Protocol.load_grammar((GRAMMARS / "protocol.abnf").read_text("ascii"))
    return Protocol
