"""Lark as llguidance reads it (guidance, vLLM's and SGLang's guidance back ends, mistral.rs, OpenAI's custom tools).

llguidance cuts text into terminals first, takes the longest one, and never goes back. So everything that could be read
in two ways is one terminal, and no terminal can be empty.
"""

from __future__ import annotations

from xmltools.grammar.options import Options
from xmltools.grammar.regular.expressions import expression, filled, suffix, terminal
from xmltools.grammar.regular.regular import Choice, Regular, Repeat, Sequence, literal, nullable, sequence
from xmltools.grammar.text_tree import (
    Dispatch,
    Grammar,
    Lexeme,
    Literal,
    Node,
    Permutation,
    Reference,
    in_order,
    subsets,
)

EMPTY = '""'
MAX_BITS = 64
"""Members of a permutation that llguidance keeps count of."""
MAX_SUBSETS = 6
"""Members of a permutation that is printed without llguidance's counting."""


def print_lark(grammar: Grammar, options: Options) -> str:
    """Return the grammar in Lark's notation."""
    return _Printer(grammar, options.order == "any", options.has_llguidance).text()


class _Printer:
    """Prints rules; terminals are made when they are first used. `extensions`: use what only llguidance has."""

    def __init__(self, grammar: Grammar, any_order: bool, extensions: bool) -> None:
        self._grammar = grammar
        self._any_order = any_order
        self._extensions = extensions
        self._names = set(map(_lower, grammar.rules))
        self._terminals: dict[str, Regular] = {}
        self._lines: list[str] = []

    def text(self) -> str:
        self._rule("start", self._grammar.root)
        for name, node in self._grammar.rules.items():
            if name in self._grammar.notes:
                self._lines.append(f"// {' '.join(self._grammar.notes[name].split())[:200]}")
            self._rule(_lower(name), node)
        printed = terminal if self._extensions else lambda language: f"/{expression(language)}/"
        self._lines += [f"{name}: {printed(language)}" for name, language in self._terminals.items()]
        head = ["%llguidance {}", ""] if self._extensions else []
        return "\n".join(head + self._lines) + "\n"

    def _rule(self, name: str, node: Node) -> None:
        if isinstance(node, (Sequence, Permutation)):
            parts = node.parts if isinstance(node, Sequence) else (node,)
            own = f"{name}_s" if f"{name}_s" not in self._names else f"{name}_ss"
            node = Sequence(
                tuple(self._permutation(own, part) if isinstance(part, Permutation) else part for part in parts)
            )
        self._lines.append(f"{name}: {self._node(node, loose=True)}")

    def _permutation(self, name: str, node: Permutation) -> Node:
        if not self._any_order or len(node.members) > (MAX_BITS if self._extensions else MAX_SUBSETS):
            return in_order(node)
        if not self._extensions or len(node.members) < 3:
            return self._subsets(name, node)
        required = [f"bit_set({number})" for number, member in enumerate(node.members) if member.required]
        ways = [f"{EMPTY}{_condition(required)}"]
        for number, member in enumerate(node.members):
            ways.append(f"{self._node(member.node)} {name}::set_bit({number}) %if bit_clear({number})")
        self._lines.append(f"{name}::_: " + "\n    | ".join(ways))
        return Reference(f"{name}::0")

    def _subsets(self, name: str, node: Permutation) -> Node:
        every = (1 << len(node.members)) - 1
        for state in subsets(node.members):
            ways = [
                self._node(node.members[number].node) + (f" {name}{target}" if target != every else "")
                for number, target in state.ways
            ]
            self._lines.append(f"{name}{state.number}: {' | '.join([EMPTY] * state.complete + ways)}")
        return Reference(f"{name}0")

    def _node(self, node: Node, *, loose: bool = False) -> str:
        if isinstance(node, Literal):
            return _quoted(node.text)
        if isinstance(node, Reference):
            return _lower(node.name)
        if isinstance(node, Lexeme):
            return self._terminal(node.name, node.language)
        if isinstance(node, Sequence):
            return " ".join(map(self._node, node.parts)) or EMPTY
        if isinstance(node, Choice):
            text = " | ".join(map(self._node, node.parts))
            return text if loose else f"({text})"
        if isinstance(node, Repeat):
            if node.high == 0:
                return EMPTY
            inner = self._node(node.part)
            if not isinstance(node.part, (Literal, Reference, Choice)) or inner[-1] in "?*+}":
                inner = f"({inner})"
            return inner + suffix(node.low, node.high)
        if isinstance(node, Dispatch):
            return self._dispatch(node)
        raise AssertionError(node)

    def _terminal(self, name: str, language: Regular) -> str:
        name = _lower(name).upper()
        self._terminals.setdefault(name, filled(language))
        return f"{name}?" if nullable(language) else name

    def _dispatch(self, node: Dispatch) -> str:
        calls = ""
        if node.high != 0:
            ways = []
            for number, (trigger, body) in enumerate(node.rules):
                lead = self._terminal(f"lead{number or ''}", sequence(node.lead, literal(trigger)))
                ways.append(f"{lead} {self._node(body)}")
            calls = f"({' | '.join(ways)}){suffix(node.low, node.high)} "
        return calls + self._terminal("prose", node.prose)


def _condition(required: list[str]) -> str:
    if not required:
        return ""
    test = required[0]
    for each in required[1:]:
        test = f"and({test}, {each})"
    return f" %if {test}"


def _lower(name: str) -> str:
    return name.replace("-", "_")


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\u{code:04x}"
    return character
