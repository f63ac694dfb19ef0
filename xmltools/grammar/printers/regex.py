"""One regular expression for a reply: for engines that know nothing else. Properties stand in their order."""

from __future__ import annotations

from collections.abc import Mapping

from xmltools.errors import XMLToolsError
from xmltools.grammar.options import Options
from xmltools.grammar.regular.expressions import expression, suffix
from xmltools.grammar.regular.regular import Choice, Repeat, Sequence, literal, sequence
from xmltools.grammar.text_tree import Dispatch, Grammar, Lexeme, Literal, Node, Permutation, Reference, in_order

_MAX_DEPTH = 50
"""Rules inside each other that are printed."""
_MAX_SIZE = 1_000_000
"""Characters of an expression: a rule is printed wherever it is used, so that they may double from rule to rule."""


def print_regex(grammar: Grammar, _: Options) -> str:
    """Return the grammar as one regular expression.

    Raises XMLToolsError for a recursive one, which no regular expression says, and for one that is too large or deep.
    """
    return _Printer(grammar.rules).text(grammar.root)


class _Printer:
    """Prints rules where they are used, each once."""

    def __init__(self, rules: Mapping[str, Node]) -> None:
        self._rules = rules
        self._printed: dict[str, str] = {}
        self._open: set[str] = set()

    def text(self, node: Node) -> str:
        if isinstance(node, Literal):
            return expression(literal(node.text))
        if isinstance(node, Lexeme):
            return expression(node.language)
        if isinstance(node, Reference):
            return self._rule(node.name)
        if isinstance(node, Sequence):
            return "".join(map(self.text, node.parts))
        if isinstance(node, Choice):
            return f"(?:{'|'.join(map(self.text, node.parts))})" if node.parts else r"[^\s\S]"
        if isinstance(node, Repeat):
            return f"(?:{self.text(node.part)}){suffix(node.low, node.high)}" if node.high != 0 else ""
        if isinstance(node, Permutation):
            return self.text(in_order(node))
        return self._dispatch(node)

    def _rule(self, name: str) -> str:
        if name in self._open:
            raise XMLToolsError(
                "a regular expression can't say values that hold values of their own kind, or any JSON; "
                "use 'gbnf', 'lark' or 'structural_tag', or a schema without recursion and free maps"
            )
        if name not in self._printed:
            self._open.add(name)
            _refuse(len(self._open) > _MAX_DEPTH)
            self._printed[name] = self.text(self._rules[name])
            _refuse(len(self._printed[name]) > _MAX_SIZE)
            self._open.discard(name)
        return self._printed[name]

    def _dispatch(self, node: Dispatch) -> str:
        ways = (f"{expression(sequence(node.lead, literal(start)))}{self.text(body)}" for start, body in node.rules)
        return f"(?:{'|'.join(ways)}){suffix(node.low, node.high)}{expression(node.prose)}"


def _refuse(too_much: bool) -> None:
    if too_much:
        raise XMLToolsError(
            "the schemas are too large or too deep for one regular expression; use 'gbnf', 'lark' or "
            "'structural_tag', or give one tool with a simpler schema"
        )
