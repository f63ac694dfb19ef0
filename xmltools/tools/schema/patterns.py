"""Patterns of schemas: whether `re` would find them in a text, told in time that is linear in the text.

The schema is the tool's and the text is the model's, and either may be hostile: `re` goes through all ways of matching
one after the other, so that `(a+)+$` takes twice as long for each `a` more. So `re` itself is only asked where there
cannot be many ways: a pattern that begins at the beginning of the text, in which one run of characters at most has no
fixed length. All others are searched for with all ways at once. What depends on the order of ways is
tried step by step (`pattern_steps`): references to groups, atomic groups, possessive repeats. Both count their steps
and stop at a number that grows with the text, so that no pattern can do more than be given up.

In that one pass, a *place* is what is still to be matched: a position in a sequence, and what comes after the sequence.
Places are made when they are reached, so that a repeat that may be done a million times costs nothing before it is. The
places that can be reached after the same text make a *state*; what follows a state is remembered. Work is counted in
places that are looked at, whether they were remembered or not: the same text always costs the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from xmltools.tools.schema.pattern_steps import search_by_steps
from xmltools.tools.schema.pattern_tree import (
    Branch,
    Budget,
    Chars,
    Check,
    Fail,
    Items,
    Look,
    Loop,
    Run,
    Spot,
    TooCostlyError,
    Tree,
    read_tree,
    reversed_items,
)

MAX_REMEMBERED = 5_000
"""What is remembered of one pattern, in places: it bounds the memory."""


@dataclass(slots=True, eq=False)
class _Place:
    """`items` from `index` on and then `after`; with a `loop`: so many rounds of it are done, and then `after`.

    Where neither `items` nor a `loop` is given it is the end of the pattern.
    """

    items: Items
    index: int
    loop: Loop | None
    count: int
    after: _Place | None


_END = _Place((), 0, None, 0, None)

Kernel = tuple[tuple[_Place, int], ...]
"""Places right after a character. With each comes 1 or, in a run, the counts that it may have: bit n for n."""


class _Closed(NamedTuple):
    """What a kernel leads to without a character: places at characters, whether that is a match, and the steps."""

    ready: Kernel
    matched: bool
    steps: int


@dataclass(slots=True, eq=False)
class _State:
    """A kernel, what is known of it by the checks that hold, and what follows it by those and the next character.

    `free` and `freely` are the same for where no check holds.
    """

    kernel: Kernel
    closed: dict[int, _Closed] = field(default_factory=dict)
    following: dict[tuple[str, int], _State] = field(default_factory=dict)
    free: _Closed | None = None
    freely: dict[str, _State] = field(default_factory=dict)


class Scanner:
    """Searches texts for a regular tree."""

    __slots__ = ("_anchored", "_checks", "_main")

    def __init__(self, tree: Tree) -> None:
        self._anchored = tree.anchored
        self._checks: list[Spot | tuple[Look, _Machine]] = []
        for each in tree.checks:
            if isinstance(each, Look):
                machine = _Machine(reversed_items(each.items) if each.ahead else each.items)
                self._checks.append((each, machine))
            else:
                self._checks.append(each)
        self._main = _Machine(tree.items)

    def search(self, text: str, budget: Budget) -> bool:
        """Return whether the pattern is found. Raises TooCostlyError."""
        ends = self._main.ends(text, self._facts(text, budget), budget, anchored=self._anchored)
        return next(ends, None) is not None

    def _facts(self, text: str, budget: Budget) -> dict[int, int]:
        """Return which checks hold where: bits by places in the text, those left out have none."""
        facts: dict[int, int] = {}
        for number, check in enumerate(self._checks):
            budget.spend(1 + len(text) // 16)
            for at in _where(check, text, facts, budget):
                facts[at] = facts.get(at, 0) | 1 << number
        return facts


def _where(check: Spot | tuple[Look, _Machine], text: str, facts: dict[int, int], budget: Budget) -> list[int]:
    if isinstance(check, Spot):
        return check.places(text)
    look, machine = check
    size = len(text)
    if look.ahead:
        # What begins here and ends anywhere: read backwards, it begins anywhere and ends here.
        mirrored = {size - at: bits for at, bits in facts.items()}
        found = [size - at for at in machine.ends(text[::-1], mirrored, budget)]
    else:
        found = list(machine.ends(text, facts, budget))
    if not look.negative:
        return found
    budget.spend(size // 16)
    refused = set(found)
    return [at for at in range(size + 1) if at not in refused]


class _Machine:
    """Finds where matches of one sequence end."""

    __slots__ = ("_first", "_places", "_remembered", "_states")

    def __init__(self, items: Items) -> None:
        self._forget()
        self._first = _Place(items, 0, None, 0, _END)

    def _forget(self) -> None:
        self._places: dict[tuple[int, int, int], _Place] = {}
        self._states: dict[Kernel, _State] = {}
        self._remembered = 0

    def ends(self, text: str, facts: Mapping[int, int], budget: Budget, *, anchored: bool = False) -> Iterator[int]:
        """Yield the places at which a match ends, wherever it begins. `anchored`: it can only begin at 0."""
        state = self._state(())
        for at, character in enumerate(text):
            if at in facts:
                bits = facts[at]
                closed, following = state.closed.get(bits), state.following.get((character, bits))
            else:  # what is true of nearly all places has a shorter way
                bits = 0
                closed, following = state.free, state.freely.get(character)
            if following is None or closed is None:
                if self._remembered > MAX_REMEMBERED:
                    state = self._forgetting(state)
                closed = self._close(state, bits, budget)
                following = self._follow(state, closed, character, bits)
            budget.left -= closed.steps
            if budget.left < 0:
                raise TooCostlyError
            if closed.matched:
                yield at
            if anchored and not closed.ready:
                return
            state = following
        closed = self._close(state, facts.get(len(text), 0), budget)
        budget.spend(closed.steps)
        if closed.matched:
            yield len(text)

    def _state(self, kernel: Kernel) -> _State:
        state = self._states.get(kernel)
        if state is None:
            self._remembered += 1 + len(kernel) + sum(bits.bit_length() >> 8 for _, bits in kernel)
            state = self._states[kernel] = _State(kernel)
        return state

    def _forgetting(self, state: _State) -> _State:
        """Forget everything but this state. Its places are made anew, so that equal ones are still the same object."""
        self._forget()
        return self._state(tuple((self._renewed(place), counts) for place, counts in state.kernel))

    def _renewed(self, place: _Place) -> _Place:
        chain = [place]
        while (after := chain[-1].after) is not None and after is not _END:
            chain.append(after)
        made = _END
        for each in reversed(chain):
            made = self._place(each.items, each.index, each.loop, each.count, made)
        return made

    def _follow(self, state: _State, closed: _Closed, character: str, bits: int) -> _State:
        """Return the state after one character more."""
        kernel: dict[_Place, int] = {}
        for place, counts in closed.ready:
            node = place.items[place.index]
            if isinstance(node, Chars):
                if node.accepts(character):
                    following = self._next(place)
                    kernel[following] = kernel.get(following, 0) | 1
            elif isinstance(node, Run) and node.accepts(character):
                counts = _counted(counts << 1, node)
                if counts:
                    kernel[place] = kernel.get(place, 0) | counts
        self._remembered += 1
        reached = self._state(tuple(kernel.items()))
        if bits:
            state.following[character, bits] = reached
        else:
            state.freely[character] = reached
        return reached

    # Places. Equal ones are the same object.

    def _place(self, items: Items, index: int, loop: Loop | None, count: int, after: _Place | None) -> _Place:
        key = id(items) if loop is None else id(loop), index if loop is None else ~count, id(after)
        place = self._places.get(key)
        # The place holds what its key is made of. Two empty sequences may be one object, and mean the same.
        if place is None:
            self._remembered += 1
            place = self._places[key] = _Place(items, index, loop, count, after)
        return place

    def _next(self, place: _Place) -> _Place:
        return self._place(place.items, place.index + 1, None, 0, place.after)

    def _close(self, state: _State, facts: int, budget: Budget) -> _Closed:
        """Follow all that takes no character, from the kernel and from the beginning of the pattern.

        Raises TooCostlyError, but takes nothing from the budget.
        """
        known_by = state.closed.get(facts) if facts else state.free
        if known_by is not None:
            if known_by.steps > budget.left:
                raise TooCostlyError
            return known_by
        ready: dict[_Place, int] = {}
        fewest: dict[tuple[Loop, _Place | None], int] = {}
        seen: set[_Place] = set()
        matched = False
        steps = 0
        pending = [(self._first, 1), *reversed(state.kernel)]
        while pending:
            place, counts = pending.pop()
            steps += 1
            if steps > budget.left:
                raise TooCostlyError
            if place.loop is not None:
                self._turn(place, place.loop, fewest, pending)
                continue
            if place.index == len(place.items):
                matched = matched or place is _END
                if place.after is not None and place not in seen:
                    seen.add(place)
                    pending.append((place.after, 1))
                continue
            node = place.items[place.index]
            if isinstance(node, Run):
                known = ready.get(place, 0)
                steps += counts.bit_length() >> 6
                ready[place] = known | counts
                if counts >> node.low and not known >> node.low:
                    pending.append((self._next(place), 1))
            elif isinstance(node, Chars):
                ready[place] = 1
            elif place not in seen:
                seen.add(place)
                self._enter(place, facts, pending)
        closed = _Closed(tuple(ready.items()), matched, steps)
        if facts:
            state.closed[facts] = closed
        else:
            state.free = closed
        self._remembered += 1 + len(ready)
        return closed

    def _enter(self, place: _Place, facts: int, pending: list[tuple[_Place, int]]) -> None:
        """Go on after a place that is at no character."""
        node = place.items[place.index]
        if isinstance(node, Fail):
            return
        following = self._next(place)
        if isinstance(node, Branch):
            pending += [(self._place(way, 0, None, 0, following), 1) for way in reversed(node.ways)]
        elif isinstance(node, Loop):
            pending.append((self._place((), 0, node, 0, following), 1))
        elif isinstance(node, Check) and facts >> node.number & 1:
            pending.append((following, 1))

    def _turn(
        self,
        place: _Place,
        loop: Loop,
        fewest: dict[tuple[Loop, _Place | None], int],
        pending: list[tuple[_Place, int]],
    ) -> None:
        """Go on after a round of a loop: with another one, and with what comes after it."""
        count = place.count
        # Who has done fewer of the rounds that need not be can do all that others can, so these are left out. That
        # holds for rounds that took no character, too.
        key = loop, place.after
        least = fewest.get(key if count >= loop.least else (loop, place), -1)
        if 0 <= least <= count:
            return
        fewest[key if count >= loop.least else (loop, place)] = count
        if loop.high is None or count < loop.high:
            done = min(count + 1, loop.least) if loop.high is None else count + 1
            again = self._place((), 0, loop, done, place.after)
            pending.append((self._place(loop.items, 0, None, 0, again), 1))
        if count >= loop.least and place.after is not None:
            pending.append((place.after, 1))


def _counted(counts: int, run: Run) -> int:
    """Return the counts that mean anything: none above `high`, and without that all from `low` on are one."""
    if run.high is not None:
        return counts & ((1 << (run.high + 1)) - 1) if counts.bit_length() > run.high + 1 else counts
    return (counts & ((1 << run.low) - 1)) | 1 << run.low if counts >> run.low else counts


# Patterns of schemas


MAX_PATTERN_TEXT = 10_000
"""Characters in which a pattern is looked for. A longer text does not match: a pattern may guard something."""

MAX_TAIL = 100
"""Characters that come after a run of any length in a pattern that is left to `re`."""

_HEAD = 50
"""Characters that a text has more when its steps are counted: short texts get some too."""
_STEPS = 20
"""Steps for each character, if they are taken one by one."""
_PLACES = 50
"""Places for each character, and one more for each character of the pattern: what stands in the pattern itself does not
make it too costly, only what its repeats make of it."""


class Pattern:
    """A regular expression as Python reads it. `text` is what it was made of.

    Raises `re.error`, OverflowError or RecursionError for what is none, or nests too deep.
    """

    __slots__ = ("_quick", "_tree", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = read_tree(text)
        self._quick = re.compile(text) if _has_one_way(self._tree) else None

    def found(self, text: str) -> bool | None:
        """Return whether `re.search` would find the pattern in a text.

        None if the text is longer than MAX_PATTERN_TEXT, or if it would take too many steps to tell: 20 a character for
        patterns with references to groups, atomic groups or possessive repeats; for others 50 a character, and one
        more for each character of the pattern, which only heaps of repeats can need.
        """
        if len(text) > MAX_PATTERN_TEXT:
            return None
        if self._quick is not None:
            return self._quick.search(text) is not None
        steps = _PLACES + len(self.text) if self._tree.regular else _STEPS
        budget = Budget((len(text) + _HEAD) * steps)
        try:
            if self._tree.regular:
                return _scanner(self).search(text, budget)
            return search_by_steps(self._tree, text, budget)
        except TooCostlyError:
            return None


def _has_one_way(tree: Tree) -> bool:
    """Return whether `re` needs at most MAX_TAIL steps for each character of a text.

    It has to try what comes after the run at each length of that, at worst.
    """
    if not tree.anchored:
        return False
    tail, runs = 0, 0
    for node in tree.items:
        if isinstance(node, Run) and node.low != node.high:
            runs += 1
            tail = 0
        elif isinstance(node, (Chars, Run)):
            tail += node.low if isinstance(node, Run) else 1
        elif not (isinstance(node, Check) and isinstance(tree.checks[node.number], Spot)):
            return False
    return runs <= 1 and tail <= MAX_TAIL


@lru_cache(maxsize=512)
def pattern_of(text: str) -> Pattern:
    """Return the pattern of a text, the same one each time. Raises as `Pattern` does."""
    return Pattern(text)


@lru_cache(maxsize=128)
def _scanner(pattern: Pattern) -> Scanner:
    """Return what searches for a pattern. What it remembers is kept for the patterns that were used last."""
    return Scanner(pattern._tree)
