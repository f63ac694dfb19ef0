"""Deterministic automata: what an intersection, a complement or an encoding of a regular language comes down to.

A tree becomes a nondeterministic automaton (Thompson's construction), and that a deterministic one (the subset
construction). What is returned is always minimal, and always numbered the same way, so that grammars don't change from
run to run. It can be printed as it is (GBNF: a rule a state), or be turned back into a tree without `And` and `Not`
(regular expressions: see `elimination`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Items
from functools import lru_cache

from xmltools.grammar.regular.regular import (
    ALL,
    And,
    Automaton,
    Chars,
    Choice,
    Edges,
    Not,
    Ranges,
    Regular,
    Repeat,
    Sequence,
    intersect,
    merge,
    subtract,
)

_MAX_DRAFT = 2_400
"""States that an automaton may have before it is minimised; twice as many, if it is an intersection."""
_MAX_NFA = 40_000
"""States of a nondeterministic automaton."""


# From trees


@lru_cache(maxsize=1024)
def automaton(tree: Regular) -> Automaton:
    """Return the minimal automaton of a language. Raises TooLarge."""
    if isinstance(tree, Automaton):
        return tree
    if isinstance(tree, Not):
        return _complement(automaton(tree.part))
    if isinstance(tree, And):
        result = automaton(tree.parts[0])
        for part in tree.parts[1:]:
            result = _product(result, automaton(part))
        return result
    nfa = _NFA()
    start, end = nfa.add(tree)
    return minimal(_determinised(nfa, start, end))


class _NFA:
    """A nondeterministic automaton under construction: the edges of each state, and those that take no character."""

    def __init__(self) -> None:
        self.epsilons: list[list[int]] = []
        self.edges: list[list[tuple[Ranges, int]]] = []

    def state(self) -> int:
        if len(self.epsilons) >= _MAX_NFA:
            raise TooLarge
        self.epsilons.append([])
        self.edges.append([])
        return len(self.epsilons) - 1

    def add(self, tree: Regular) -> tuple[int, int]:
        """Add a language; return its first and its last state."""
        if isinstance(tree, Chars):
            start, end = self.state(), self.state()
            self.edges[start].append((tree.ranges, end))
            return start, end
        if isinstance(tree, Sequence):
            start = end = self.state()
            for part in tree.parts:
                end = self.follow(end, part)
            return start, end
        if isinstance(tree, Choice):
            start, end = self.state(), self.state()
            for part in tree.parts:
                self.epsilons[self.follow(start, part)].append(end)
            return start, end
        return self.repeat(tree) if isinstance(tree, Repeat) else self.embed(automaton(tree))

    def follow(self, state: int, part: Regular) -> int:
        start, end = self.add(part)
        self.epsilons[state].append(start)
        return end

    def repeat(self, tree: Repeat[Regular]) -> tuple[int, int]:
        start = here = self.state()
        for _ in range(tree.low):
            here = self.follow(here, tree.part)
        end = self.state()
        if tree.high is None:
            self.epsilons[here].append(end)
            self.epsilons[self.follow(end, tree.part)].append(end)
            return start, end
        for _ in range(tree.high - tree.low):
            self.epsilons[here].append(end)
            here = self.follow(here, tree.part)
        self.epsilons[here].append(end)
        return start, end

    def embed(self, inner: Automaton) -> tuple[int, int]:
        states = [self.state() for _ in inner.edges]
        end = self.state()
        for number, edges in enumerate(inner.edges):
            self.edges[states[number]] = [(ranges, states[target]) for ranges, target in edges]
        for number in inner.accepting:
            self.epsilons[states[number]].append(end)
        return (states[0] if states else self.state()), end

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        """Return the states with all that can be reached from them without a character (the epsilon closure)."""
        found = set(states)
        pending = list(found)
        while pending:
            for each in self.epsilons[pending.pop()]:
                if each not in found:
                    found.add(each)
                    pending.append(each)
        return frozenset(found)


def _determinised(nfa: _NFA, start: int, end: int) -> Draft:
    """Return the automaton whose states are the sets of states that `nfa` may be in (the subset construction)."""
    first = nfa.closure([start])
    numbers = {first: 0}
    pending = [first]
    edges: list[list[tuple[Ranges, int]]] = []
    for states in pending:
        found = [pair for state in states for pair in nfa.edges[state]]
        row = []
        for ranges, targets in _split(found):
            reached = nfa.closure(targets)
            if reached not in numbers:
                numbers[reached] = len(numbers)
                pending.append(reached)
                if len(numbers) > _MAX_DRAFT:
                    raise TooLarge
            row.append((ranges, numbers[reached]))
        edges.append(row)
    return edges, [end in states for states in pending]


def _split(edges: Items[tuple[Ranges, int]]) -> list[tuple[Ranges, frozenset[int]]]:
    """Return disjoint sets of characters with all the targets that each leads to.

    The code points are swept once, past the places where an edge begins to hold or ceases to.
    """
    if len(edges) == 1:
        return [(edges[0][0], frozenset((edges[0][1],)))] if edges[0][0] else []
    steps = sorted(
        [(first, 1, target) for ranges, target in edges for first, _ in ranges]
        + [(last + 1, 0, target) for ranges, target in edges for _, last in ranges]
    )
    open_: dict[int, int] = {}
    found: dict[frozenset[int], list[tuple[int, int]]] = {}
    before = 0
    for place, opens, target in steps:
        if place > before and open_:
            found.setdefault(frozenset(open_), []).append((before, place - 1))
        before = place
        open_[target] = open_.get(target, 0) + (1 if opens else -1)
        if not open_[target]:
            del open_[target]
    return [(merge(pairs), targets) for targets, pairs in found.items()]


# Operations


def _complement(machine: Automaton) -> Automaton:
    # What has no edge was refused; now it leads to a state that takes all the rest.
    sink = len(machine.edges)
    edges: list[list[tuple[Ranges, int]]] = []
    for row in machine.edges:
        missing = subtract(ALL, merge(pair for ranges, _ in row for pair in ranges))
        edges.append([*row, (missing, sink)] if missing else list(row))
    edges.append([(ALL, sink)])
    return minimal((edges, [state not in machine.accepting for state in range(sink + 1)]))


def _product(one: Automaton, other: Automaton) -> Automaton:
    if not one.edges or not other.edges:
        return minimal(([[]], [False]))
    numbers = {(0, 0): 0}
    pending = [(0, 0)]
    edges: list[list[tuple[Ranges, int]]] = []
    for left, right in pending:
        row = []
        for ranges, pair in _shared(one.edges[left], other.edges[right]):
            if pair not in numbers:
                numbers[pair] = len(numbers)
                pending.append(pair)
                if len(numbers) > 2 * _MAX_DRAFT:
                    raise TooLarge
            row.append((ranges, numbers[pair]))
        edges.append(row)
    return minimal((edges, [left in one.accepting and right in other.accepting for left, right in pending]))


def _shared(row: Edges, other: Edges) -> Iterator[tuple[Ranges, tuple[int, int]]]:
    """Yield the characters that both of two states have an edge for, with the states that they lead to."""
    for ranges, target in row:
        for others, its in other:
            if common := intersect(ranges, others):
                yield common, (target, its)


Words = dict[int, tuple[str, ...]]
"""What stands for a character in an encoding, besides or instead of itself."""


def encoded(machine: Automaton, raw: Ranges, words: Words) -> Automaton:
    """Return the automaton of the encoded texts of a language.

    Characters in `raw` may stand for themselves, those in `words` may be written as any of their words. No word may
    begin with another one or with a character in `raw`. Raises TooLarge.
    """
    if not machine.edges:
        return machine
    nfa = _NFA()
    states = [nfa.state() for _ in machine.edges]
    end = nfa.state()
    for number, row in enumerate(machine.edges):
        for ranges, target in row:
            nfa.edges[states[number]].append((intersect(ranges, raw), states[target]))
            for code, spellings in words.items():
                if any(first <= code <= last for first, last in ranges):
                    for spelling in spellings:
                        _spell(nfa, states[number], spelling, states[target])
    for number in machine.accepting:
        nfa.epsilons[states[number]].append(end)
    return minimal(_determinised(nfa, states[0], end))


def _spell(nfa: _NFA, state: int, word: str, target: int) -> None:
    for character in word[:-1]:
        following = nfa.state()
        nfa.edges[state].append((((ord(character), ord(character)),), following))
        state = following
    nfa.edges[state].append((((ord(word[-1]), ord(word[-1])),), target))


# The minimal automaton: as few states as can be, and one numbering for all ways to come to it


MAX_STATES = 600
"""States that an automaton may have: what is larger makes a grammar that no engine likes."""

Draft = tuple[list[list[tuple[Ranges, int]]], list[bool]]
"""A deterministic automaton that need not be minimal: the edges of each state, and whether it accepts."""


class TooLarge(Exception):  # noqa: N818 - not an error of the caller: who asks reports an issue
    """A language needs more states than a grammar should have."""


def minimal(draft: Draft) -> Automaton:
    """Return the minimal automaton that takes the same texts, numbered in breadth-first order.

    Moore's algorithm: blocks of states are split until all states of a block lead to the same blocks. Raises TooLarge.
    """
    edges, accepts = draft
    alive = _alive(edges, accepts)
    edges = [[(ranges, target) for ranges, target in row if alive[target] and ranges] for row in edges]
    if not alive[0]:
        return Automaton((), frozenset())
    block = [int(each) for each in accepts]
    count = len(set(block))
    while True:
        seen: dict[tuple[int, tuple[tuple[Ranges, int], ...]], int] = {}
        block = [seen.setdefault((block[state], _joined(row, block)), len(seen)) for state, row in enumerate(edges)]
        if len(seen) == count:
            return _numbered(edges, accepts, block)
        count = len(seen)


def _alive(edges: list[list[tuple[Ranges, int]]], accepts: list[bool]) -> list[bool]:
    """Return for each state whether an accepting one can be reached from it."""
    sources: list[list[int]] = [[] for _ in edges]
    for state, row in enumerate(edges):
        for ranges, target in row:
            if ranges:
                sources[target].append(state)
    alive = list(accepts)
    pending = [state for state, accepting in enumerate(accepts) if accepting]
    while pending:
        for state in sources[pending.pop()]:
            if not alive[state]:
                alive[state] = True
                pending.append(state)
    return alive


def _joined(row: Items[tuple[Ranges, int]], block: list[int]) -> tuple[tuple[Ranges, int], ...]:
    """Return the edges of a state with one edge for each block that they lead to, in order of their characters."""
    if len(row) == 1:
        return ((row[0][0], block[row[0][1]]),)
    found: dict[int, list[tuple[int, int]]] = {}
    for ranges, target in row:
        found.setdefault(block[target], []).extend(ranges)
    return tuple(sorted((merge(pairs), target) for target, pairs in found.items()))


def _numbered(edges: list[list[tuple[Ranges, int]]], accepts: list[bool], block: list[int]) -> Automaton:
    """Return the automaton whose states are the blocks, numbered in the order in which they are reached."""
    member = {number: state for state, number in reversed(list(enumerate(block)))}
    numbers = {block[0]: 0}
    pending = [block[0]]
    rows = []
    for each in pending:
        row = _joined(edges[member[each]], block)
        for _, target in row:
            if target not in numbers:
                numbers[target] = len(numbers)
                pending.append(target)
        rows.append(tuple((ranges, numbers[target]) for ranges, target in row))
    if len(rows) > MAX_STATES:
        raise TooLarge
    return Automaton(tuple(rows), frozenset(numbers[each] for each in pending if accepts[member[each]]))
