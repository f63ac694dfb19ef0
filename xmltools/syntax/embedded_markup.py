"""Examples inside values: which ends belong to markup in the value itself (protocol, 4.9).

A value may hold whole blocks, or CDATA sections, as text: a document about this protocol, a test of a parser. What
looks like the end of the value may then be the end of an example. So openers inside the value are counted, and each
claims the next end. These functions count in text that was read already: nothing is paid for a value without `<`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import Final

from xmltools.syntax.markup import CDATA_OPEN, SPACE

_W: Final = SPACE
_SECTION = r"<!\[(?i:CDATA)\["
_SECTION_OPEN = re.compile(_SECTION)
_SECTIONS = re.compile(rf"({_SECTION})|\]\]>")
"""The openers (group 1) and ends of CDATA sections."""
_FEW: Final = 16
_SPARSE: Final = 2048
"""How many `!` are looked at one by one in the search for an opener: so many, and one for so many characters."""


def _opener(block: str) -> str:
    # What a block starts with, but for an opener right before an end tag, which opens nothing.
    # Patterns of it are without their first character: one that begins with no group is found ten times as fast.
    return rf"{re.escape(block)}(?:{_W}[^<>]*)?>(?={_W}*(?:<(?!/)|\{{|`{{3}}))"


@lru_cache(maxsize=32)
def _tags(block: str, arguments: str) -> re.Pattern[str]:
    """Openers of blocks (group 1), and their end tags, with the end tag of arguments before them, or which are those
    themselves (group 2); start tags of arguments (group 3), and end tags of theirs alone (group 4);
    openers of sections right after a tag, or where the text begins (group 5)."""
    name, end = re.escape(arguments), rf"{re.escape(block)}{_W}*>"
    # The element of the call may hold the arguments itself.
    ends = f"(/{end})" if block == arguments else rf"/(?:({name}{_W}*>){_W}*</)?{end}"
    section = r"((?:(?<=><)|(?<![\s\S]<))!\[(?i:CDATA)\[)"
    return re.compile(rf"<(?:({_opener(block)})|{ends}|({name}{_W}*>)|(/{name}{_W}*>)|{section})")


def count_open(
    text: str, at: int, end: int, stop: int, count: int, words: tuple[str, str] | None = None
) -> tuple[int, int]:
    """How many examples are open at `end`, if `count` are open `at` a place before: blocks, or (without `words`) CDATA
    sections. The number is negative inside a section of a block, where no tag counts. Nothing is looked at from `stop`
    on. Also returns the place after what was counted: `end`, or the end of a tag in which `end` is."""
    if not count:  # an opener that begins before `end` has its first characters before the end of these
        last = min(end + len(CDATA_OPEN) - 1, stop)
        if text.rfind(f"<{words[0]}", at, last) < 0 if words else not _has_section(text, at, last):
            return 0, end
    pattern = _tags(*words) if words else _SECTIONS
    while True:
        if count < 0:
            at = text.find("]]>", at, stop) + 3
            if not 3 <= at < end + 3:
                return count, end
            count = -count
        found = pattern.search(text, at, stop)
        if found is None or found.start() >= end:
            return count, max(at, end)
        at, kind = found.end(), found.lastindex or 2
        if kind <= 2:
            count = count + 1 if found[1] else max(count - 1, 0)
        elif kind == 5:
            count = -count


def _has_section(text: str, at: int, last: int) -> bool:
    """Is there an opener of a section between these places, in any case?"""
    # CPython finds one character 15 times as fast as a word, and `!` is rare in most texts.
    for _ in range(_FEW + (last - at) // _SPARSE):
        at = text.find("!", at + 1, last)
        if at < 0 or text[at - 1 : min(at + 8, last)].upper() == CDATA_OPEN:
            return at >= 0
    return _SECTION_OPEN.search(text, max(at - 1, 0), last) is not None


def find_line_opener(text: str, at: int, block: str) -> int:
    """The place of the next opener of a block that begins a line, or -1."""
    found = re.compile(rf"(?:^|(?<=[\r\n]))[ \t]*(<{_opener(block)})", re.MULTILINE).search(text, at)
    return found.start(1) if found else -1


class Closers:
    """The ends of calls in a text that is known to its end: `</arguments>` and `</tool>`, and the openers before them.

    An opener claims the next end. Questions about a place are about the text from there on alone.
    """

    def __init__(self, text: str, at: int, block: str, arguments: str) -> None:
        """Read `text` from `at` on."""
        self._pairs: list[tuple[int, int]] = []  # openers and the ends that they claim; -1 for what none claims
        whole: list[tuple[int, int]] = []  # those that have arguments of their own
        openers: list[int] = []
        arguments_of = -1  # the innermost opener, while arguments of its own are open
        last = text.rfind("]]>", at)
        while found := _tags(block, arguments).search(text, at):
            at = found.end()
            if found[5]:
                if openers and at <= last:
                    at = text.find("]]>", at) + 3
            elif found[1]:
                openers.append(found.start())
            elif found[4]:
                arguments_of = -1
            elif found[3]:
                arguments_of = openers[-1] if openers else -1
            else:
                opener = openers.pop() if openers else -1
                if found[2]:
                    self._pairs.append((opener, found.start()))
                    if opener >= 0 and (opener == arguments_of or block == arguments):
                        whole.append((opener, found.start()))
        self._claims, self._ends = _sorted(self._pairs)
        self._whole_claims, self._whole_ends = _sorted(whole)

    def unclaimed(self, place: int) -> int:
        """How many ends there are that no opener claims."""
        return bisect_left(self._claims, place) - bisect_left(self._ends, place)

    def is_inside(self, place: int) -> bool:
        """Is `place` in a whole block, with arguments of its own?"""
        return bisect_left(self._whole_claims, place) > bisect_left(self._whole_ends, place)

    def last_unclaimed(self, place: int) -> int:
        """The place of the last end that no opener claims, or -1."""
        return max((end for opener, end in self._pairs if opener < place <= end), default=-1)


def _sorted(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return sorted(opener for opener, _ in pairs), [end for _, end in pairs]
