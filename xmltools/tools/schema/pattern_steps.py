"""Searching step by step, one way after the other, as `re` does: for patterns in which that order means something.

Such are references to groups, atomic groups and possessive repeats, none of which JavaScript's patterns or plain
regular languages have but the first. What it costs has no bound but the budget.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from xmltools.tools.schema.pattern_tree import (
    Accepts,
    Again,
    Atomic,
    Branch,
    Budget,
    Chars,
    Check,
    Fail,
    Group,
    If,
    Items,
    Look,
    Loop,
    Run,
    Spot,
    Tree,
)

Groups = dict[int, tuple[int, int]]
"""Where each group has matched. Never changed, only replaced."""

# What is still to be matched is a chain of pairs: the next thing, and the rest. Things are nodes, sequences, and these:


class _Shorter(NamedTuple):
    """A run that may be up to `floor` shorter."""

    floor: int


class _Longer(NamedTuple):
    """A lazy run that may be longer, up to `ceiling`."""

    accepts: Accepts
    ceiling: int


class _Turn(NamedTuple):
    """A loop, of which so many rounds are done. `begun`: where the last of those that need not be began."""

    loop: Loop
    done: int
    begun: int


class _Close(NamedTuple):
    """The end of a group."""

    number: int
    begun: int


Way = tuple[Any, int, Groups]
"""What is to be matched, from where on, and where groups have matched."""


def search_by_steps(tree: Tree, text: str, budget: Budget) -> bool:
    """Return whether a pattern is found in a text. Raises TooCostlyError."""
    search, starts = _Search(tree, text, budget), range(1 if tree.anchored else len(text) + 1)
    return any(search.first(tree.items, start, {}) is not None for start in starts)


class _Search:
    __slots__ = ("_budget", "_size", "_text", "_tree")

    def __init__(self, tree: Tree, text: str, budget: Budget) -> None:
        self._tree = tree
        self._text = text
        self._size = len(text)
        self._budget = budget

    def first(self, items: Items, at: int, groups: Groups) -> tuple[int, Groups] | None:
        """Return where the first way through a sequence ends, and its groups; None if there is no way."""
        ways: list[Way] = [((items, None), at, groups)]
        while ways:
            todo, at, groups = ways.pop()
            while todo is not None:
                self._budget.spend(1)
                thing, rest = todo
                step = _STEPS[type(thing)](self, thing, rest, at, groups, ways)
                if step is None:
                    break
                todo, at, groups = step
            else:
                return at, groups
        return None

    # Each takes a thing, what comes after it, the place, the groups, and the ways that are left. It returns how to go
    # on, and puts what else could be tried on top of the ways.

    def _items(self, items: Items, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way:
        for item in reversed(items):
            rest = item, rest
        self._budget.spend(len(items) >> 2)
        return rest, at, groups

    def _chars(self, node: Chars, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way | None:
        return (rest, at + 1, groups) if at < self._size and node.accepts(self._text[at]) else None

    def _run(self, node: Run, rest: Any, at: int, groups: Groups, ways: list[Way]) -> Way | None:
        text, accepts = self._text, node.accepts
        ceiling = self._size if node.high is None else min(self._size, at + node.high)
        floor = at + node.low
        end, stop = at, floor if node.lazy else ceiling
        while end < min(stop, ceiling) and accepts(text[end]):
            end += 1
        self._budget.spend((end - at) >> 1)
        if end < floor:
            return None
        return (_Longer(accepts, ceiling) if node.lazy else _Shorter(floor), rest), end, groups

    def _shorter(self, run: _Shorter, rest: Any, at: int, groups: Groups, ways: list[Way]) -> Way:
        if at > run.floor:
            ways.append(((run, rest), at - 1, groups))
        return rest, at, groups

    def _longer(self, run: _Longer, rest: Any, at: int, groups: Groups, ways: list[Way]) -> Way:
        if at < run.ceiling and run.accepts(self._text[at]):
            ways.append(((run, rest), at + 1, groups))
        return rest, at, groups

    def _branch(self, node: Branch, rest: Any, at: int, groups: Groups, ways: list[Way]) -> Way:
        self._budget.spend(len(node.ways) >> 2)
        ways += [((way, rest), at, groups) for way in reversed(node.ways[1:])]
        return (node.ways[0], rest), at, groups

    def _group(self, node: Group, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way:
        return (node.items, (_Close(node.number, at), rest)), at, groups

    def _close(self, end: _Close, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way:
        self._budget.spend(len(groups) >> 3)
        return rest, at, {**groups, end.number: (end.begun, at)}

    def _loop(self, node: Loop, rest: Any, at: int, groups: Groups, ways: list[Way]) -> Way:
        return self._turn(_Turn(node, 0, -1), rest, at, groups, ways)

    def _turn(self, turn: _Turn, rest: Any, at: int, groups: Groups, ways: list[Way]) -> Way:
        loop, count = turn.loop, turn.done
        if count < loop.low:
            return (loop.items, (_Turn(loop, count + 1, -1), rest)), at, groups
        # A round that took no character is the last one.
        if (loop.high is not None and count >= loop.high) or at == turn.begun:
            return rest, at, groups
        again: Way = (loop.items, (_Turn(loop, count + 1, at), rest)), at, groups
        leave: Way = rest, at, groups
        ways.append(again if loop.lazy else leave)
        return leave if loop.lazy else again

    def _check(self, node: Check, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way | None:
        check = self._tree.checks[node.number]
        if isinstance(check, Spot):
            return (rest, at, groups) if check.where.match(self._text, at) else None
        found = self._look(check, at, groups)
        if check.negative:
            return None if found else (rest, at, groups)
        return (rest, at, found[1]) if found else None

    def _look(self, look: Look, at: int, groups: Groups) -> tuple[int, Groups] | None:
        start = at if look.ahead else at - look.width
        return self.first(look.items, start, groups) if start >= 0 else None

    def _atomic(self, node: Atomic, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way | None:
        found = self.first(node.items, at, groups)
        return (rest, *found) if found else None

    def _again(self, node: Again, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way | None:
        if node.number not in groups:
            return None
        start, end = groups[node.number]
        self._budget.spend((end - start) >> (2 if node.folded else 6))
        wanted, found = self._text[start:end], self._text[at : at + end - start]
        same = list(map(_folded, wanted)) == list(map(_folded, found)) if node.folded else wanted == found
        return (rest, at + end - start, groups) if same else None

    def _if(self, node: If, rest: Any, at: int, groups: Groups, _: list[Way]) -> Way:
        return (node.yes if node.number in groups else node.no, rest), at, groups

    def _fail(self, *_: Any) -> None:
        return None


def _folded(character: str) -> str:
    return character.lower()[:1]


_STEPS: dict[type[Any], Any] = {
    tuple: _Search._items,
    Chars: _Search._chars,
    Run: _Search._run,
    _Shorter: _Search._shorter,
    _Longer: _Search._longer,
    Branch: _Search._branch,
    Group: _Search._group,
    _Close: _Search._close,
    Loop: _Search._loop,
    _Turn: _Search._turn,
    Check: _Search._check,
    Atomic: _Search._atomic,
    Again: _Search._again,
    If: _Search._if,
    Fail: _Search._fail,
}
