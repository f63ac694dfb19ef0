"""Deterministic automata: what an intersection, a complement or an encoding of a regular language comes down to.

The automaton of a tree is as small as can be, and always numbered the same way, so that grammars don't change from run
to run. It can be printed as it is (GBNF: a rule a state), or be turned back into a tree without `And` and `Not`
(regular expressions).
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Items
from functools import lru_cache

from xmltools.grammar._regular import (
    EMPTY,
    LAST,
    NOTHING,
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
    choice,
    merge,
    optional,
    sequence,
    star,
)

__all__ = ["Automaton", "TooLarge", "Words", "automaton", "encoded", "to_tree"]

MAX_STATES = 600
"""States that an automaton may have: what is larger makes a grammar that no engine likes."""
_MAX_DRAFT = 2_400
"""States that it may have before it is made as small as can be; twice as many, if it is an intersection."""
_MAX_NODES = 40_000
"""States of the nondeterministic automaton, and sets of them, on the way."""
_MAX_TREE = 4_000
"""Nodes of a tree that is made of an automaton."""


class TooLarge(Exception):  # noqa: N818 - not an error of the caller: who asks reports an issue
    """A language needs more states than a grammar should have."""


# From trees


@lru_cache(maxsize=1024)
def automaton(tree: Regular) -> Automaton:
    """Return the smallest automaton of a language.

    Raises TooLarge.
    """
    if isinstance(tree, Automaton):
        return tree
    if isinstance(tree, Not):
        return _complement(automaton(tree.part))
    if isinstance(tree, And):
        result = automaton(tree.parts[0])
        for part in tree.parts[1:]:
            result = _product(result, automaton(part))
        return result
    pieces = _Pieces()
    start, end = pieces.add(tree)
    return _smallest(_determined(pieces, start, end))


class _Pieces:
    """A nondeterministic automaton under construction."""

    __slots__ = ("edges", "free")

    def __init__(self) -> None:
        self.free: list[list[int]] = []
        """Steps that take no character."""
        self.edges: list[list[tuple[Ranges, int]]] = []

    def state(self) -> int:
        if len(self.free) >= _MAX_NODES:
            raise TooLarge
        self.free.append([])
        self.edges.append([])
        return len(self.free) - 1

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
                self.free[self.follow(start, part)].append(end)
            return start, end
        return self.repeat(tree) if isinstance(tree, Repeat) else self.embed(automaton(tree))

    def follow(self, state: int, part: Regular) -> int:
        start, end = self.add(part)
        self.free[state].append(start)
        return end

    def repeat(self, tree: Repeat) -> tuple[int, int]:
        start = here = self.state()
        for _ in range(tree.low):
            here = self.follow(here, tree.part)
        end = self.state()
        if tree.high is None:
            self.free[here].append(end)
            self.free[self.follow(end, tree.part)].append(end)
            return start, end
        for _ in range(tree.high - tree.low):
            self.free[here].append(end)
            here = self.follow(here, tree.part)
        self.free[here].append(end)
        return start, end

    def embed(self, inner: Automaton) -> tuple[int, int]:
        states = [self.state() for _ in inner.edges]
        end = self.state()
        for number, edges in enumerate(inner.edges):
            self.edges[states[number]] = [(ranges, states[target]) for ranges, target in edges]
        for number in inner.accepting:
            self.free[states[number]].append(end)
        return (states[0] if states else self.state()), end

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        """Return the states that can be reached without a character."""
        found = set(states)
        pending = list(found)
        while pending:
            for each in self.free[pending.pop()]:
                if each not in found:
                    found.add(each)
                    pending.append(each)
        return frozenset(found)


_Draft = tuple[list[list[tuple[Ranges, int]]], list[bool]]
"""An automaton that is not the smallest one: edges, and whether a state accepts."""


def _determined(pieces: _Pieces, start: int, end: int) -> _Draft:
    first = pieces.closure([start])
    numbers = {first: 0}
    pending = [first]
    edges: list[list[tuple[Ranges, int]]] = []
    for states in pending:
        found = [pair for state in states for pair in pieces.edges[state]]
        row = []
        for ranges, targets in _split(found):
            reached = pieces.closure(targets)
            if reached not in numbers:
                numbers[reached] = len(numbers)
                pending.append(reached)
                if len(numbers) > _MAX_DRAFT:
                    raise TooLarge
            row.append((ranges, numbers[reached]))
        edges.append(row)
    return edges, [end in states for states in pending]


def _split(edges: Items[tuple[Ranges, int]]) -> list[tuple[Ranges, frozenset[int]]]:
    """Return disjoint sets of characters with all the targets that each leads to."""
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
    sink = len(machine.edges)
    edges: list[list[tuple[Ranges, int]]] = []
    for row in machine.edges:
        missing = _missing(row)
        edges.append([*row, (missing, sink)] if missing else list(row))
    edges.append([(((0, LAST),), sink)])
    if not machine.edges:
        return _smallest(([[(((0, LAST),), 0)]], [True]))
    return _smallest((edges, [state not in machine.accepting for state in range(sink + 1)]))


def _missing(row: Edges) -> Ranges:
    """Return the characters that a state has no edge for."""
    taken = merge(pair for ranges, _ in row for pair in ranges)
    left, at = [], 0
    for first, last in taken:
        if first > at:
            left.append((at, first - 1))
        at = last + 1
    return (*left, (at, LAST)) if at <= LAST else tuple(left)


def _product(one: Automaton, other: Automaton) -> Automaton:
    if not one.edges or not other.edges:
        return _smallest(([[]], [False]))
    numbers = {(0, 0): 0}
    pending = [(0, 0)]
    edges: list[list[tuple[Ranges, int]]] = []
    for left, right in pending:
        row = []
        for ranges, target in one.edges[left]:
            for others, its in other.edges[right]:
                common = intersect(ranges, others)
                if not common:
                    continue
                pair = target, its
                if pair not in numbers:
                    numbers[pair] = len(numbers)
                    pending.append(pair)
                    if len(numbers) > 2 * _MAX_DRAFT:
                        raise TooLarge
                row.append((common, numbers[pair]))
        edges.append(row)
    return _smallest((edges, [left in one.accepting and right in other.accepting for left, right in pending]))


def intersect(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the code points that both have."""
    if ranges == others:
        return ranges
    found: list[tuple[int, int]] = []
    one = other = 0
    while one < len(ranges) and other < len(others):
        low, high = max(ranges[one][0], others[other][0]), min(ranges[one][1], others[other][1])
        if low <= high:
            found.append((low, high))
        if ranges[one][1] < others[other][1]:
            one += 1
        else:
            other += 1
    return tuple(found)


Words = dict[int, tuple[str, ...]]
"""What stands for a character in an encoding, besides or instead of itself."""


def encoded(machine: Automaton, raw: Ranges, words: Words) -> Automaton:
    """Return the automaton of the encoded texts of a language.

    Characters in `raw` may stand for themselves, those in `words` may be written as any of their words. No word may
    begin with another one or with a character in `raw`. Raises TooLarge.
    """
    if not machine.edges:
        return machine
    pieces = _Pieces()
    states = [pieces.state() for _ in machine.edges]
    end = pieces.state()
    for number, row in enumerate(machine.edges):
        for ranges, target in row:
            pieces.edges[states[number]].append((intersect(ranges, raw), states[target]))
            for code, spellings in words.items():
                if any(first <= code <= last for first, last in ranges):
                    for spelling in spellings:
                        _spell(pieces, states[number], spelling, states[target])
    for number in machine.accepting:
        pieces.free[states[number]].append(end)
    return _smallest(_determined(pieces, states[0], end))


def _spell(pieces: _Pieces, state: int, word: str, target: int) -> None:
    for character in word[:-1]:
        following = pieces.state()
        pieces.edges[state].append((((ord(character), ord(character)),), following))
        state = following
    pieces.edges[state].append((((ord(word[-1]), ord(word[-1])),), target))


# The smallest automaton


def _smallest(draft: _Draft) -> Automaton:
    """Return the smallest automaton that takes the same texts (Moore's algorithm), numbered in breadth first order."""
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


# Back to trees


@lru_cache(maxsize=1024)
def to_tree(machine: Automaton) -> Regular:
    """Return a tree without And and Not for the language of an automaton, by taking out state after state.

    Raises TooLarge if that gives a tree of more than some 4,000 nodes.
    """
    if not machine.edges:
        return NOTHING
    arrows = _Arrows(machine)
    left = set(range(len(machine.edges)))
    while left:
        state = min(left, key=lambda each: (arrows.cost(each), -each))
        left.discard(state)
        arrows.take_out(state)
    return arrows.ways[-1].get(len(machine.edges), NOTHING)


class _Arrows:
    """An automaton whose edges are languages, with one state to begin with (-1) and one to end in."""

    __slots__ = ("sources", "ways")

    def __init__(self, machine: Automaton) -> None:
        last = len(machine.edges)
        self.ways: dict[int, dict[int, Regular]] = {-1: {0: EMPTY}, last: {}}
        for state, row in enumerate(machine.edges):
            self.ways[state] = {target: Chars(ranges) for ranges, target in row}
            if state in machine.accepting:
                self.ways[state][last] = EMPTY
        self.sources: dict[int, set[int]] = {state: set() for state in self.ways}
        for source, ways in self.ways.items():
            for target in ways:
                self.sources[target].add(source)

    def cost(self, state: int) -> int:
        """Return how many arrows it would take to do without a state."""
        loops = state in self.ways[state]
        return (len(self.sources[state]) - loops) * (len(self.ways[state]) - loops)

    def take_out(self, state: int) -> None:
        """Remove a state; what led through it becomes longer arrows."""
        row = self.ways.pop(state)
        loop = row.pop(state, None)
        sources = self.sources.pop(state) - {state}
        for target in row:
            self.sources[target].discard(state)
        for source in sorted(sources):
            way = self.ways[source].pop(state)
            head = way if loop is None else Repeat(loop, 1) if way == loop else sequence(way, star(loop))
            for target, tail in row.items():
                self._add(source, target, sequence(head, tail))

    def _add(self, source: int, target: int, way: Regular) -> None:
        known = self.ways[source].get(target)
        self.ways[source][target] = way = way if known is None else _either(known, way)
        self.sources[target].add(source)
        if _size(way) > _MAX_TREE:
            raise TooLarge


def _either(one: Regular, other: Regular) -> Regular:
    """Return the choice of two trees; a common head and the empty text are put outside of it."""
    if EMPTY in (one, other):
        rest = other if one == EMPTY else one
        return rest if isinstance(rest, Repeat) and rest.low == 0 else optional(rest)
    left, right = _parts(one), _parts(other)
    same = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    if same:
        return sequence(*left[:same], _either(sequence(*left[same:]), sequence(*right[same:])))
    return choice(one, other)


def _parts(tree: Regular) -> tuple[Regular, ...]:
    return tree.parts if isinstance(tree, Sequence) else (tree,)


@lru_cache(maxsize=4096)
def _size(tree: Regular) -> int:
    if isinstance(tree, (Sequence, Choice, And)):
        return 1 + sum(map(_size, tree.parts))
    return 1 + _size(tree.part) if isinstance(tree, (Repeat, Not)) else 1
