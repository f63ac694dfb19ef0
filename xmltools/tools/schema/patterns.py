"""Patterns of schemas: whether `re` would find them in a text, told in time that is linear in the text.

The schema is the tool's and the text is the model's, and either may be hostile: `re` goes through all ways of matching
one after the other, so that `(a+)+$` takes twice as long for each `a` more. So `re` itself is only asked where there
cannot be many ways: a pattern that begins at the beginning of the text, in which one run of characters at most has no
fixed length. All others are searched for with all ways at once (`pattern_scan`). What depends on the order of ways is
tried step by step (`pattern_steps`): references to groups, atomic groups, possessive repeats. Both count their steps
and stop at a number that grows with the text, so that no pattern can do more than be given up.
"""

from __future__ import annotations

import re
from functools import lru_cache

from xmltools.tools.schema.pattern_scan import Budget, Scanner, TooCostlyError
from xmltools.tools.schema.pattern_steps import search_by_steps
from xmltools.tools.schema.pattern_tree import Chars, Check, Run, Spot, Tree, read_tree

__all__ = ["MAX_PATTERN_TEXT", "Pattern", "pattern_of"]

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
