"""Texts that are made up for a pattern: short and plain, a few for each. None of them is sure to match.

What a pattern looks ahead for, and its place in the text, are left out here: the caller checks the texts.
Nothing is random, and the work is bounded, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase, ascii_uppercase, digits, punctuation

from xmltools.tools.schema.patterns import LOOKS, PLACES, Part, UncheckedError, in_rust, read_pattern, search

MAX_PATTERN = 1_000
"""Characters of a pattern for which texts are made."""
MAX_STEPS = 2_000
"""Parts that are gone through for one text."""
MAX_MADE = 1_000
"""Characters of a text."""

_RARE = " \n\t\u00e9\u00df\u0416\u03b1\u4e2d\u3042\u30a2\ud55c\u05d0\u0627\u0905\u20ac\u2026\U0001f600"
_PLAIN = ascii_lowercase + "1234567890" + ascii_uppercase + punctuation + _RARE
_MIXED = "".join(map("".join, zip(ascii_uppercase, ascii_lowercase, digits * 3, punctuation, strict=False))) + _PLAIN
"""A few characters of it are of all kinds, as patterns for passwords ask for."""


class _GivenUpError(Exception):
    """No text can be made so."""


def texts_of(pattern: str, least: int = 0) -> Iterator[str]:
    """Yield texts for a pattern, with `least` characters where it repeats something without end.

    >>> next(texts_of("^ABC-[0-9]+$", least=6))
    'ABC-12'
    """
    if len(pattern) > MAX_PATTERN:
        return
    for letters in (_PLAIN, _MIXED):
        try:
            _, ways = read_pattern(pattern)
            text = _Maker(letters, 0).any_of(ways)
            lacking = max(least, 1) - len(text)
            yield _Maker(letters, lacking).any_of(ways) if lacking > 0 else text
        except (_GivenUpError, UncheckedError):
            continue


class _Maker:
    """Makes one text: each repeat as few times as it may be done, but for the first ones, which take what is lacking.

    `letters`: the characters to choose from, the best first.
    """

    __slots__ = ("_chosen", "_lacking", "_left", "_letters")

    def __init__(self, letters: str, lacking: int) -> None:
        self._letters = letters
        self._lacking = lacking
        self._left = MAX_STEPS
        self._chosen: dict[str, str] = {}

    def any_of(self, ways: list[list[Part]]) -> str:
        """Return a text for the first alternative that has one. Raises _GivenUpError."""
        for way in ways:
            lacking = self._lacking
            try:
                made = "".join(map(self._repeated, way))
            except _GivenUpError:
                self._lacking = lacking
                continue
            if len(made) <= MAX_MADE:
                return made
        raise _GivenUpError

    def _repeated(self, part: Part) -> str:
        self._left -= 1
        if self._left < 0 or part.low > MAX_MADE:
            raise _GivenUpError
        if part.source in PLACES or part.source in LOOKS:
            return ""
        if part.ways is None:
            more = self._lacking if part.high is None else min(self._lacking, part.high - part.low)
            self._lacking -= more
            return self._characters(part.source, part.low + more)
        made = [self.any_of(part.ways) for _ in range(part.low)]
        while self._lacking > 0 and (part.high is None or len(made) < part.high):
            lacking = self._lacking
            made.append(self.any_of(part.ways))
            # What the round took of its own repeats is counted already.
            self._lacking -= max(0, len(made[-1]) - (lacking - self._lacking))
            if not made[-1]:
                break
        return "".join(made)

    def _characters(self, source: str, count: int) -> str:
        """Return so many characters that a unit takes."""
        if count > MAX_MADE:
            raise _GivenUpError
        accepted = self._chosen.get(source)
        if accepted is None:
            unit = search(rf"(?s)\A(?-s:{in_rust([[Part(source)]])[0]})\z")
            letters = source if len(source) == 1 and source != "." else self._letters
            accepted = self._chosen[source] = "".join(filter(unit.isinstance_python, letters))
        if not accepted:
            raise _GivenUpError
        return (accepted * (count // len(accepted) + 1))[:count]
