"""GBNF: the grammars of llama.cpp, which xgrammar (vLLM, SGLang, TensorRT-LLM) takes as they are.

Only what both read alike is used. There is no negation, so a language that needs one is printed as its automaton: a
rule a state, each calling the next one at its end. No alternatives over text are repeated with `*`: xgrammar's masks
become a thousand times slower by them.
"""

from __future__ import annotations

from xmltools.grammar.lower.permutations import in_order, subsets
from xmltools.grammar.nodes import (
    Alternatives,
    Dispatch,
    Grammar,
    Lexeme,
    Literal,
    Node,
    Permutation,
    Reference,
    Repetition,
    Series,
)
from xmltools.grammar.printers.gbnf_lexemes import MANY, lexeme_rules, quoted, state_rules
from xmltools.grammar.regular.automata import automaton
from xmltools.grammar.regular.expressions import suffix
from xmltools.grammar.regular.regular import Regular, literal, sequence

__all__ = ["print_gbnf"]

EMPTY = '""'
MAX_PERMUTED = 6
"""Members whose every order is printed: n of them take 2^n rules."""


def print_gbnf(grammar: Grammar, *, any_order: bool = True) -> str:
    """Return the grammar as GBNF; its first rule is `root`."""
    return _Printer(grammar, any_order).text()


class _Printer:
    """Prints rules; those of lexemes are made when they are first used."""

    __slots__ = ("_any_order", "_grammar", "_lexemes", "_lines", "_repeated")

    def __init__(self, grammar: Grammar, any_order: bool) -> None:
        self._grammar = grammar
        self._any_order = any_order
        self._lexemes: dict[str, Regular] = {}
        self._lines: list[str] = []
        self._repeated: dict[str, str] = {}

    def text(self) -> str:
        self._rule("root", self._grammar.root)
        for name, node in self._grammar.rules.items():
            if name in self._grammar.notes:
                self._lines.append(f"# {_one_line(self._grammar.notes[name])}")
            self._rule(name, node)
        self._lines += [f"{name} ::= {text}" for text, name in self._repeated.items()]
        for name, language in self._lexemes.items():
            self._lines += lexeme_rules(name, language)
        return "\n".join(self._lines) + "\n"

    def _rule(self, name: str, node: Node) -> None:
        if isinstance(node, Series) and any(isinstance(part, (Permutation, Dispatch)) for part in node.parts):
            node = Series(tuple(self._special(name, part) for part in node.parts))
        else:
            node = self._special(name, node)
        self._lines.append(f"{name} ::= {self._node(node, loose=True)}")

    def _special(self, name: str, node: Node) -> Node:
        """Print a permutation or a dispatch as rules of its own; return what refers to them."""
        if isinstance(node, Permutation):
            return self._permutation(f"{name}-s", node)
        return self._dispatch("reply", node) if isinstance(node, Dispatch) else node

    def _permutation(self, name: str, node: Permutation) -> Node:
        if not self._any_order or len(node.members) > MAX_PERMUTED:
            return in_order(node)
        every = (1 << len(node.members)) - 1
        for state in subsets(node.members):
            ways = [
                self._node(node.members[number].node) + (f" {name}{target}" if target != every else "")
                for number, target in state.ways
            ]
            self._lines.append(f"{name}{state.number} ::= {' | '.join(ways + [EMPTY] * state.complete)}")
        return Reference(f"{name}0")

    def _dispatch(self, name: str, node: Dispatch) -> Node:
        lead = automaton(sequence(node.lead, literal(node.trigger)))
        body = self._node(node.body)
        if node.high is None:
            self._lines += state_rules(name, lead, after=f"{body} {name}", is_prose=True)
            first = (Lexeme("lead", lead), node.body) * node.low
            return Series((*first, Reference(name)))
        self._lexemes["prose"] = node.prose
        calls = Repetition(Series((Lexeme("lead", lead), node.body)), node.low, node.high)
        return Series((calls, Reference("prose")))

    # Nodes as text. `loose`: it stands alone, so that a choice needs no brackets around it.

    def _node(self, node: Node, *, loose: bool = False) -> str:
        if isinstance(node, Literal):
            return quoted(node.text)
        if isinstance(node, Reference):
            return node.name
        if isinstance(node, Lexeme):
            self._lexemes.setdefault(node.name, node.language)
            return node.name
        if isinstance(node, Series):
            return " ".join(map(self._node, node.parts)) or EMPTY
        if isinstance(node, Alternatives):
            text = " | ".join(map(self._node, node.parts))
            return text if loose else f"({text})"
        if isinstance(node, Repetition):
            return self._repetition(node)
        raise AssertionError(node)

    def _named(self, text: str) -> str:
        """Return the name of a rule for what is repeated often."""
        if text not in self._repeated:
            self._repeated[text] = f"many{len(self._repeated) + 1}"
        return self._repeated[text]

    def _repetition(self, node: Repetition) -> str:
        if node.high == 0:
            return EMPTY
        if max(node.low, node.high or 0) > MANY and not isinstance(node.part, (Reference, Lexeme)):
            # llama.cpp counts what stands in brackets as often as it is repeated, and refuses what becomes too much.
            return self._named(self._node(node.part, loose=True)) + suffix(node.low, node.high)
        inner = self._node(node.part)
        if (isinstance(node.part, Series) and len(node.part.parts) > 1) or isinstance(node.part, Repetition):
            inner = f"({inner})"
        return inner + suffix(node.low, node.high)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
