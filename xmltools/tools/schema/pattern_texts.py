"""Texts that are made up for a pattern: short and plain, a few for each. None of them is sure to match.

What a pattern looks ahead or back for, and where it stands in the text, is not thought of here: who asks for texts
checks them. Nothing is random, and the work is bounded, whatever the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits, punctuation

from xmltools.tools.schema.pattern_tree import (
    Accepts,
    Again,
    Atomic,
    Branch,
    Chars,
    Check,
    Group,
    If,
    Items,
    Loop,
    Node,
    Run,
    read_tree,
)

MAX_PATTERN = 1_000
"""Characters of a pattern for which texts are made."""
MAX_STEPS = 2_000
"""Nodes that are gone through for one text."""
MAX_MADE = 1_000
"""Characters of a text."""

_RARE = " \n\t\u00e9\u00df\u0416\u03b1\u4e2d\u3042\u30a2\ud55c\u05d0\u0627\u0905\u20ac\u2026\U0001f600"
_PLAIN = ascii_lowercase + "1234567890" + ascii_uppercase + punctuation + _RARE
_MIXED = "".join(map("".join, zip(ascii_uppercase, ascii_lowercase, digits * 3, punctuation, strict=False))) + _PLAIN
"""A few characters of it are of all kinds, as patterns for passwords ask for."""


class _GivenUpError(Exception):
    """No text can be made so."""


def texts_of(pattern: str, least: int = 0) -> Iterator[str]:
    """Yield texts for a pattern that Python can read, with `least` characters where it repeats something without end.

    >>> next(texts_of("^ABC-[0-9]+$", least=6))
    'ABC-12'
    """
    if len(pattern) <= MAX_PATTERN:
        yield from filter(None, (_text(pattern, least, letters) for letters in (_PLAIN, _MIXED)))


@lru_cache(maxsize=128)
def _text(pattern: str, least: int, letters: str) -> str:
    """Return a text for a pattern, nothing if none can be made."""
    try:
        items = read_tree(pattern).items
        text = _Maker(letters, 0).text(items)
        lacking = max(least, 1) - len(text)
        return _Maker(letters, lacking).text(items) if lacking > 0 else text
    except (_GivenUpError, re.error, OverflowError, RecursionError):
        return ""


class _Maker:
    """Makes one text: each repeat as few times as it may be done, but for the first ones, which take what is lacking.

    `letters`: the characters to choose from, the best first.
    """

    __slots__ = ("_chosen", "_groups", "_lacking", "_left", "_letters")

    def __init__(self, letters: str, lacking: int) -> None:
        self._letters = letters
        self._lacking = lacking
        self._left = MAX_STEPS
        self._chosen: dict[Accepts, str] = {}
        self._groups: dict[int, str] = {}

    def text(self, items: Items) -> str:
        """Return a text for a sequence. Raises _GivenUpError."""
        made = "".join(map(self._node, items))
        if len(made) > MAX_MADE:
            raise _GivenUpError
        return made

    def _node(self, node: Node) -> str:
        self._left -= 1
        if self._left < 0:
            raise _GivenUpError
        if isinstance(node, Chars):
            return self._characters(node.accepts, 1)
        if isinstance(node, Run):
            count = node.low + self._more(node)
            return self._characters(node.accepts, count) if count else ""
        if isinstance(node, Loop):
            return self._loop(node)
        if isinstance(node, Branch):
            return self._branch(node)
        if isinstance(node, Group):
            self._groups[node.number] = self.text(node.items)
            return self._groups[node.number]
        if isinstance(node, Atomic):
            return self.text(node.items)
        if isinstance(node, If):
            return self.text(node.yes if node.number in self._groups else node.no)
        if isinstance(node, Again) and node.number in self._groups:
            return self._groups[node.number]
        if isinstance(node, Check):
            return ""
        raise _GivenUpError

    def _more(self, run: Run) -> int:
        most = self._lacking if run.high is None else min(self._lacking, run.high - run.low)
        self._lacking -= most
        return most

    def _characters(self, accepts: Accepts, count: int) -> str:
        if count > MAX_MADE:
            raise _GivenUpError
        accepted = self._chosen.get(accepts)
        if accepted is None:
            literal = getattr(accepts, "__self__", None)  # of a single character, which may be any
            letters = literal if isinstance(literal, str) else self._letters
            accepted = self._chosen[accepts] = "".join(filter(accepts, letters))
        if not accepted:
            raise _GivenUpError
        return (accepted * (count // len(accepted) + 1))[:count]

    def _loop(self, loop: Loop) -> str:
        made = [self.text(loop.items) for _ in range(self._bounded(loop.low))]
        rounds = loop.low
        while self._lacking > 0 and (loop.high is None or rounds < loop.high):
            lacking = self._lacking
            made.append(self.text(loop.items))
            rounds += 1
            # What runs in the round took is counted already.
            self._lacking -= max(0, len(made[-1]) - (lacking - self._lacking))
            if not made[-1]:
                break
        return "".join(made)

    def _bounded(self, rounds: int) -> int:
        if rounds > MAX_MADE:
            raise _GivenUpError
        return rounds

    def _branch(self, branch: Branch) -> str:
        for way in branch.ways:
            lacking = self._lacking
            try:
                return self.text(way)
            except _GivenUpError:
                self._lacking = lacking
        raise _GivenUpError
