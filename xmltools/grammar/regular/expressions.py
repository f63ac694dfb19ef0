"""Regular trees as regular expressions, in the words that Python, Rust (llguidance, outlines) and xgrammar share."""

from __future__ import annotations

from functools import lru_cache

from xmltools.grammar.regular.automata import TooLarge, automaton
from xmltools.grammar.regular.regular import (
    ALL,
    ANYTHING,
    EMPTY,
    LAST,
    NOTHING,
    And,
    Automaton,
    Chars,
    Choice,
    Not,
    Ranges,
    Regular,
    Repeat,
    Sequence,
    choice,
    is_simple,
    nullable,
    optional,
    sequence,
    star,
    subtract,
)


def expression(tree: Regular) -> str:
    """Return a regular expression for a language; what stands around it needs no brackets. Raises TooLarge."""
    return _print(_plain(tree))


def terminal(tree: Regular) -> str:
    """Return a terminal of llguidance's Lark, which has operators for intersection and complement."""
    if not _has_operators(tree):
        text = expression(tree)
        return f"/{text}/" if text else '""'
    if isinstance(tree, And):
        parts = tree.parts if not all(isinstance(part, Not) for part in tree.parts) else (ANYTHING, *tree.parts)
        return f"({' & '.join(_complement(part) if isinstance(part, Not) else terminal(part) for part in parts)})"
    if isinstance(tree, Not):
        # A complement alone holds bytes that are no text.
        return f"(/(?s:.)*/ & {_complement(tree)})"
    if isinstance(tree, Choice):
        return f"({' | '.join(map(terminal, tree.parts))})"
    if isinstance(tree, Repeat):
        return f"({terminal(tree.part)}){suffix(tree.low, tree.high)}"
    assert isinstance(tree, Sequence)
    return f"({' '.join(map(terminal, _runs(tree)))})"


def _complement(tree: Not) -> str:
    return f"~{terminal(tree.part)}"


def _has_operators(tree: Regular) -> bool:
    if isinstance(tree, (Sequence, Choice)):
        return any(map(_has_operators, tree.parts))
    return _has_operators(tree.part) if isinstance(tree, Repeat) else isinstance(tree, (And, Not))


def _runs(tree: Sequence[Regular]) -> list[Regular]:
    """Return the parts of a sequence, those without operators that follow each other as one."""
    runs: list[Regular] = []
    for part in tree.parts:
        if runs and not _has_operators(part) and not _has_operators(runs[-1]):
            runs[-1] = sequence(runs[-1], part)
        else:
            runs.append(part)
    return runs


def filled(tree: Regular) -> Regular:
    """Return the language without the empty text."""
    if not nullable(tree):
        return tree
    if isinstance(tree, Choice):
        return choice(*map(filled, tree.parts))
    if isinstance(tree, Repeat) and not nullable(tree.part):
        return NOTHING if tree.high == 0 else Repeat(tree.part, 1, tree.high)
    if isinstance(tree, Sequence):
        first, rest = tree.parts[:1], tree.parts[1:]
        return choice(sequence(filled(first[0]), *rest), filled(sequence(*rest))) if first else NOTHING
    parts = tree.parts if isinstance(tree, And) else (tree,)
    return And((*parts, Repeat(Chars(ALL), 1)))


def _plain(tree: Regular) -> Regular:
    """Return the tree with every intersection, complement and automaton spelled out."""
    if is_simple(tree):
        return tree
    if isinstance(tree, (Sequence, Choice)):
        return type(tree)(tuple(map(_plain, tree.parts)))
    if isinstance(tree, Repeat):
        return Repeat(_plain(tree.part), tree.low, tree.high)
    return to_tree(automaton(tree))


def _print(tree: Regular) -> str:
    if isinstance(tree, Chars):
        return _set(tree.ranges)
    if isinstance(tree, Sequence):
        return "".join(map(_print, tree.parts))
    if isinstance(tree, Choice):
        return f"(?:{'|'.join(map(_print, tree.parts))})"
    if isinstance(tree, Repeat):
        if tree.high == 0:
            return ""
        inner = _print(tree.part)
        if isinstance(tree.part, (Sequence, Repeat)):
            inner = f"(?:{inner})"
        return inner + suffix(tree.low, tree.high)
    raise AssertionError(tree)


def suffix(low: int, high: int | None) -> str:
    """Return what repeats the expression in front of it."""
    short = {(0, 1): "?", (0, None): "*", (1, None): "+", (1, 1): ""}.get((low, high))
    if short is not None:
        return short
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _set(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escaped(ranges[0][0], r"\.^$*+?()[]{}|/")
    if ranges == ALL:
        return "(?s:.)"
    if not ranges:
        return r"[^\s\S]"
    others = subtract(ALL, ranges)
    if ranges[0][0] == 0 and ranges[-1][1] == LAST:
        return f"[^{_class(others)}]"
    return f"[{_class(ranges)}]"


def _class(ranges: Ranges) -> str:
    special = r"\]^-[&~/"
    return "".join(
        _escaped(first, special) + (f"-{_escaped(last, special)}" if last > first else "") for first, last in ranges
    )


_SHORT = {0x09: r"\t", 0x0A: r"\n", 0x0D: r"\r"}


def _escaped(code: int, special: str) -> str:
    if code in _SHORT:
        return _SHORT[code]
    character = chr(code)
    if character in special:
        return "\\" + character
    if code > 0x7E or code < 0x20:
        return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
    return character


# From automata back to trees, by state elimination: states are taken out until one edge says all that is left


_MAX_TREE = 4_000
"""Nodes that the tree of one edge may have."""


@lru_cache(maxsize=1024)
def to_tree(machine: Automaton) -> Regular:
    """Return a tree without And and Not for the language of an automaton.

    Raises TooLarge if an edge gets a tree of more than 4,000 nodes on the way.
    """
    if not machine.edges:
        return NOTHING
    generalised = _Generalised(machine)
    left = set(range(len(machine.edges)))
    while left:
        # The one that costs least comes first: the order decides how large the trees become.
        state = min(left, key=lambda each: (generalised.cost(each), -each))
        left.discard(state)
        generalised.take_out(state)
    return generalised.edges[-1].get(len(machine.edges), NOTHING)


class _Generalised:
    """A generalised automaton: its edges bear languages, and it has one state to begin with (-1) and one to end in."""

    def __init__(self, machine: Automaton) -> None:
        last = len(machine.edges)
        self.edges: dict[int, dict[int, Regular]] = {-1: {0: EMPTY}, last: {}}
        for state, row in enumerate(machine.edges):
            self.edges[state] = {target: Chars(ranges) for ranges, target in row}
            if state in machine.accepting:
                self.edges[state][last] = EMPTY
        self.sources: dict[int, set[int]] = {state: set() for state in self.edges}
        for source, edges in self.edges.items():
            for target in edges:
                self.sources[target].add(source)

    def cost(self, state: int) -> int:
        """Return how many edges it would take to do without a state."""
        loops = state in self.edges[state]
        return (len(self.sources[state]) - loops) * (len(self.edges[state]) - loops)

    def take_out(self, state: int) -> None:
        """Remove a state; each two edges that met in it become one past it."""
        row = self.edges.pop(state)
        loop = row.pop(state, None)
        sources = self.sources.pop(state) - {state}
        for target in row:
            self.sources[target].discard(state)
        for source in sorted(sources):
            language = self.edges[source].pop(state)
            head = language if loop is None else _looped(language, loop)
            for target, tail in row.items():
                self._join(source, target, sequence(head, tail))

    def _join(self, source: int, target: int, language: Regular) -> None:
        known = self.edges[source].get(target)
        if known is not None:
            language = _either(known, language)
        self.edges[source][target] = language
        self.sources[target].add(source)
        if _size(language) > _MAX_TREE:
            raise TooLarge


def _looped(head: Regular, loop: Regular) -> Regular:
    return Repeat(loop, 1) if head == loop else sequence(head, star(loop))


def _either(one: Regular, other: Regular) -> Regular:
    """Return the choice of two trees; a common head and the empty text are put outside of it."""
    if EMPTY in (one, other):
        rest = other if one == EMPTY else one
        return rest if isinstance(rest, Repeat) and rest.low == 0 else optional(rest)
    left, right = _parts_of(one), _parts_of(other)
    same = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    if same:
        return sequence(*left[:same], _either(sequence(*left[same:]), sequence(*right[same:])))
    return choice(one, other)


def _parts_of(tree: Regular) -> tuple[Regular, ...]:
    return tree.parts if isinstance(tree, Sequence) else (tree,)


@lru_cache(maxsize=4096)
def _size(tree: Regular) -> int:
    if isinstance(tree, (Sequence, Choice)):
        return 1 + sum(map(_size, tree.parts))
    return 1 + _size(tree.part) if isinstance(tree, Repeat) else 1
