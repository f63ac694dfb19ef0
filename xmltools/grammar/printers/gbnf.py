"""GBNF: the grammars of llama.cpp, which xgrammar (vLLM, SGLang, TensorRT-LLM) takes as they are.

Only what both read alike is used. There is no negation, so a language that needs one is printed as its automaton: a
rule a state, each calling the next one at its end. No alternatives over text are repeated with `*`: xgrammar's masks
become a thousand times slower by them.
"""

from __future__ import annotations

from collections.abc import Mapping

from xmltools.grammar.options import Options
from xmltools.grammar.regular.automata import automaton
from xmltools.grammar.regular.expressions import suffix
from xmltools.grammar.regular.regular import (
    ALL,
    LAST,
    Automaton,
    Chars,
    Choice,
    Ranges,
    Regular,
    Repeat,
    Sequence,
    characters,
    choice,
    is_simple,
    literal,
    sequence,
    subtract,
)
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
_MARKS = 0x10F000
"""From this private character on there are marks of rules. They are only in automata, and are never printed."""
MAX_PERMUTED = 6
"""Members whose every order is printed: n of them take 2^n rules."""


def print_gbnf(grammar: Grammar, options: Options) -> str:
    """Return the grammar as GBNF; its first rule is `root`."""
    return _Printer(grammar, options.order == "any").text()


class _Printer:
    """Prints rules; those of lexemes are made when they are first used."""

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
                self._lines.append(f"# {' '.join(self._grammar.notes[name].split())[:200]}")
            self._rule(name, node)
        self._lines += [f"{name} ::= {text}" for text, name in self._repeated.items()]
        for name, language in self._lexemes.items():
            self._lines += lexeme_rules(name, language)
        return "\n".join(self._lines) + "\n"

    def _rule(self, name: str, node: Node) -> None:
        if isinstance(node, Sequence) and any(isinstance(part, (Permutation, Dispatch)) for part in node.parts):
            node = Sequence(tuple(self._special(name, part) for part in node.parts))
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
        leads = tuple(
            Sequence((Lexeme(f"lead{number or ''}", automaton(sequence(node.lead, literal(trigger)))), body))
            for number, (trigger, body) in enumerate(node.rules)
        )
        one = leads[0] if len(leads) == 1 else Choice(leads)
        if node.high is None:
            # A character after each trigger says which body follows; where it occurs, the body is printed.
            after = {chr(_MARKS + number): f"{self._node(body)} {name}" for number, (_, body) in enumerate(node.rules)}
            ends = (literal(trigger + mark) for (trigger, _), mark in zip(node.rules, after, strict=True))
            machine = automaton(sequence(node.lead, choice(*ends)))
            self._lines += state_rules(name, machine, after=after)
            return Sequence((*(one,) * node.low, Reference(name)))
        self._lexemes["prose"] = node.prose
        return Sequence((Repeat(one, node.low, node.high), Reference("prose")))

    # Nodes as text. `loose`: it stands alone, so that a choice needs no brackets around it.

    def _node(self, node: Node, *, loose: bool = False) -> str:
        if isinstance(node, Literal):
            return quoted(node.text)
        if isinstance(node, Reference):
            return node.name
        if isinstance(node, Lexeme):
            self._lexemes.setdefault(node.name, node.language)
            return node.name
        if isinstance(node, Sequence):
            return " ".join(map(self._node, node.parts)) or EMPTY
        if isinstance(node, Choice):
            text = " | ".join(map(self._node, node.parts))
            return text if loose else f"({text})"
        if isinstance(node, Repeat):
            return self._repetition(node)
        raise AssertionError(node)

    def _named(self, text: str) -> str:
        """Return the name of a rule for what is repeated often."""
        if text not in self._repeated:
            self._repeated[text] = f"many{len(self._repeated) + 1}"
        return self._repeated[text]

    def _repetition(self, node: Repeat[Node]) -> str:
        if node.high == 0:
            return EMPTY
        if max(node.low, node.high or 0) > MANY and not isinstance(node.part, (Reference, Lexeme)):
            # llama.cpp counts what stands in brackets as often as it is repeated, and refuses what becomes too much.
            return self._named(self._node(node.part, loose=True)) + suffix(node.low, node.high)
        inner = self._node(node.part)
        is_several = isinstance(node.part, Sequence) and len(node.part.parts) > 1
        is_several = is_several or (isinstance(node.part, Literal) and len(_words(node.part.text)) > 1)
        if is_several or isinstance(node.part, Repeat):
            inner = f"({inner})"
        return inner + suffix(node.low, node.high)


# Regular languages: as an expression where that is quick, else as an automaton with a rule a state


MANY = 8
"""Repetitions of something longer than a set of characters that are printed where they stand.

llama.cpp writes every repetition out and refuses what becomes too much; of a rule it copies but the name.
"""

BLOCK = 100
"""Repetitions that xgrammar is asked for at once, of what is more than ASCII.

From 129 on its masks allow tokens in which other characters stand (0.2.8), and the token is then refused.
"""
_ASCII = 0x7F


def lexeme_rules(name: str, language: Regular) -> list[str]:
    """Return the rules of a language, the rule `name` first. Raises TooLarge."""
    printer = _LexemePrinter(name)
    text = printer.text(language, loose=True) if _is_plain(language) else ""
    return [f"{name} ::= {text}", *printer.lines] if text else state_rules(name, automaton(language))


def _is_plain(tree: Regular) -> bool:
    """Return whether it is better to print a language, or its parts, than its automaton."""
    return isinstance(tree, (Sequence, Choice)) or (is_simple(tree) and _is_quick(tree))


def _is_quick(tree: Regular) -> bool:
    """Return whether nothing but sets of characters and words is repeated without end.

    What xgrammar must choose from again and again makes its masks slow: that is printed as an automaton.
    """
    if isinstance(tree, (Sequence, Choice)):
        return all(map(_is_quick, tree.parts))
    if isinstance(tree, Repeat):
        return not (isinstance(tree.part, Choice) and tree.high is None) and _is_quick(tree.part)
    return isinstance(tree, Chars)


class _LexemePrinter:
    """Prints the expressions of one lexeme; what needs rules of its own gets them, each once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._named: dict[Regular, str] = {}
        self.lines: list[str] = []

    def text(self, tree: Regular, *, loose: bool = False) -> str:
        """Return an expression. `loose`: it stands alone, so that a choice needs no brackets around it."""
        if isinstance(tree, Chars):
            return _single(tree.ranges)
        if isinstance(tree, Sequence):
            return self._run(tree.parts)
        if isinstance(tree, Choice):
            text = " | ".join(map(self.text, tree.parts))
            return text if loose else f"({text})"
        if not (is_simple(tree) and _is_quick(tree)):
            return self._rule(tree)
        assert isinstance(tree, Repeat)
        return self._repeat(tree)

    def _repeat(self, tree: Repeat[Regular]) -> str:
        if tree.high == 0:
            return '""'
        most = max(tree.low, tree.high or 0)
        if most > MANY and not isinstance(tree.part, Chars):
            inner = self._rule(tree.part)
        else:
            inner = self.text(tree.part)
            if isinstance(tree.part, (Repeat, Sequence)):
                inner = f"({inner})"
        if most > BLOCK and characters(tree.part)[-1][1] > _ASCII:
            return self._blocks(inner, tree)
        return inner + suffix(tree.low, tree.high)

    def _blocks(self, inner: str, tree: Repeat[Regular]) -> str:
        """Return a long repetition as repetitions of whole blocks, and of what is left."""
        block = self._rule(Repeat(tree.part, BLOCK, BLOCK))
        first, least = divmod(tree.low, BLOCK)
        if tree.high is None:
            return f"{block}{suffix(first, first)} {inner}{suffix(least, None)}"
        last, most = divmod(tree.high, BLOCK)
        if first == last:
            return f"{block}{suffix(first, first)} {inner}{suffix(least, most)}"
        ways = [f"{_head(block, first, first)}{inner}{suffix(least, BLOCK - 1)}"]
        if last - first > 1:
            ways.append(f"{block}{suffix(first + 1, last - 1)} {inner}{suffix(0, BLOCK - 1)}")
        ways.append(_head(block, last, last) + (f"{inner}{suffix(0, most)}" if most else ""))
        return f"({' | '.join(ways)})"

    def _rule(self, tree: Regular) -> str:
        if tree not in self._named:
            name = self._named[tree] = f"{self._name}-u{len(self._named) + 1}"
            self.lines += lexeme_rules(name, tree)
        return self._named[tree]

    def _run(self, parts: tuple[Regular, ...]) -> str:
        """Return parts one after the other; single characters that follow each other are one literal."""
        words: list[str] = []
        text = ""
        for part in parts:
            if isinstance(part, Chars) and (character := _only(part.ranges)) is not None:
                text += character
                continue
            if text:
                words.append(quoted(text))
                text = ""
            words.append(self.text(part))
        if text:
            words.append(quoted(text))
        return " ".join(words) or '""'


def _head(block: str, low: int, high: int) -> str:
    return f"{block}{suffix(low, high)} " if high else ""


def state_rules(name: str, machine: Automaton, *, after: Mapping[str, str] | None = None) -> list[str]:
    """Return a rule for each state of an automaton, but for those that are only a step in a word.

    `after`: it is an automaton of prose, so that texts may end everywhere but at its end. The last character before
    that is no text, but says what comes there.
    """
    assert machine.edges, name
    names = {state: f"{name}-{state}" if state else name for state in range(len(machine.edges))}
    is_prose = after is not None
    final = machine.accepting if is_prose else frozenset()
    lines = []
    for state, row in enumerate(machine.edges):
        if state in final or (state and (not row or _is_step(machine, state))):
            continue
        ways = [_way(machine, names, ranges, target, final, after) for ranges, target in row]
        if state in machine.accepting or is_prose:
            ways.insert(0, '""')
        lines.append(f"{names[state]} ::= {' | '.join(ways)}")
    return lines


def _is_step(machine: Automaton, state: int) -> bool:
    """Return whether one character leads on from a state, to another one, and no text ends in it."""
    row = machine.edges[state]
    return state not in machine.accepting and len(row) == 1 and _only(row[0][0]) is not None and row[0][1] != state


def _way(
    machine: Automaton,
    names: dict[int, str],
    ranges: Ranges,
    target: int,
    final: frozenset[int],
    after: Mapping[str, str] | None,
) -> str:
    """Return an edge as an alternative of its state's rule, with the steps after it."""
    text, first = _single(ranges), _only(ranges)
    rest, target = _steps(machine, target, final)
    if target in final and after is not None:
        whole = (first or "") + rest
        return f"{quoted(whole[:-1])} {after[whole[-1]]}"
    if rest:
        text = f"{text} {quoted(rest)}" if first is None else quoted(first + rest)
    if not machine.edges[target] and target in machine.accepting:
        return text
    return f"{text} {names[target]}"


def _steps(machine: Automaton, state: int, final: frozenset[int]) -> tuple[str, int]:
    """Return the text that only leads on from a state, and the state after it."""
    text = ""
    # This ends: every state leads to an accepting one, and that is no step.
    while state not in final and state and _is_step(machine, state):
        ((ranges, state),) = machine.edges[state]
        text += _only(ranges) or ""
    return text, state


def _only(ranges: Ranges) -> str | None:
    """Return the character, if there is just one."""
    return chr(ranges[0][0]) if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else None


def _single(ranges: Ranges) -> str:
    """Return a set of characters."""
    if (character := _only(ranges)) is not None:
        return quoted(character)
    others = subtract(ALL, ranges)
    if ranges and ranges[0][0] == 0 and ranges[-1][1] == LAST and len(others) < len(ranges) + 1:
        return f"[^{_class(others)}]" if others else "[^\\u0000]"
    return f"[{_class(ranges)}]"


def _class(ranges: Ranges) -> str:
    """Return the inside of a set: no ^ in front, and what xgrammar's printer writes as \\x where nothing follows it."""
    parts: list[tuple[int, int]] = []
    for first, last in ranges:
        parts += [(first + 1, last), (first, first)] if first == ord("^") and last > first else [(first, last)]
    parts.sort(key=lambda part: (_is_shy(part[0]) or _is_shy(part[1]), part[0] == ord("^")))
    return "".join(_in_class(first) + (f"-{_in_class(last)}" if last > first else "") for first, last in parts)


def _is_shy(code: int) -> bool:
    """Return whether xgrammar, when it prints a grammar and reads it again, mistakes hexadecimal digits after this.

    It writes these characters as \\x and two digits, and reads \\x with as many digits as there are.
    """
    return (code < 0x20 and chr(code) not in "\t\n\r") or 0x7F <= code <= 0xFF


def _in_class(code: int) -> str:
    return _escaped(code, "]^-\\[")


def quoted(text: str) -> str:
    """Return text as a literal, or as several where a digit must not come after a character."""
    return " ".join('"' + "".join(_escaped(ord(each), '"\\') for each in word) + '"' for word in _words(text))


def _words(text: str) -> list[str]:
    """Return what of a text may stand in one literal each."""
    words = [""]
    for each in text:
        if words[-1] and _is_shy(ord(words[-1][-1])) and each in "0123456789abcdefABCDEF":
            words.append("")
        words[-1] += each
    return words


_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escaped(code: int, special: str) -> str:
    """Return a character as llama.cpp and xgrammar both read it.

    They agree on \\u and \\U and on five short escapes; not on \\x, nor on \\- and \\^.
    """
    character = chr(code)
    if character in _SHORT and (character in special or code < 0x20):
        return _SHORT[character]
    if character in special or not character.isprintable():
        return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
    return character
