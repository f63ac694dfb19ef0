"""Regular expressions of others, read as data: the literal text, white space and groups that they consist of.

They are never run: an expression from a checkpoint could take forever. What is more than these parts is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from xmltools.errors import XMLToolsError

_LONGEST: Final = 1024
"""Characters of an expression. Those of templates have less than 300."""
_MOST: Final = 32
"""Alternatives that are told apart."""
_DEPTH: Final = 16
"""Groups in groups."""


@dataclass(frozen=True, slots=True)
class Space:
    """White space, as much as there is."""


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of some kind, as many as there are."""

    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """A place without characters: the beginning or the end of the text, or where something follows."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A group, for what it holds: `name` is that of the group, or empty."""

    name: str


Part = str | Space | Run | Edge | Slot
Sequence = tuple[Part, ...]
"""What follows each other. Two strings never do: they are one."""


def alternatives(expression: str, *, unnamed: bool = False) -> tuple[Sequence, ...]:
    """Return what an expression matches: each of its alternatives, in order, without those that are there twice.

    `unnamed`: groups without a name are slots, too. Raises XMLToolsError, with a reason that can follow the name of the
    expression, for what is not said in parts.
    """
    if len(expression) > _LONGEST:
        raise XMLToolsError(f"it has more than {_LONGEST} characters")
    reader = _Reader(expression, unnamed)
    found = reader.alternatives(0)
    if reader.at < len(expression):
        raise XMLToolsError(f"a ) at character {reader.at} closes nothing")
    return tuple(dict.fromkeys(map(_joined, found)))


def _joined(sequence: Sequence) -> Sequence:
    parts: list[Part] = []
    for part in sequence:
        last = parts[-1] if parts else None
        if isinstance(part, str) and isinstance(last, str):
            parts[-1] = last + part
        elif not (isinstance(part, Space) and isinstance(last, Space)):
            parts.append(part)
    return tuple(parts)


_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d{0,6})(,?)(\d{0,6})\})[?+]?")
_GROUP = re.compile(r"\((?:\?(?::|(=)|P?<([^\W\d]\w{0,63})>))?(?!\?|\*)")
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U000([0-9a-fA-F]{5})")
_CLASS = re.compile(r"\[(\^?)(\]?(?:[^\\\]]|\\.)*+)\]", re.DOTALL)
_IN_CLASS_SPACE = re.compile(r"(?:\s|\\[sntrfv])+")


class _Reader:
    """A place in an expression. In `held` groups anything may occur, since only what they hold counts, not how it is
    described."""

    def __init__(self, text: str, unnamed: bool) -> None:
        self._text = text
        self._unnamed = unnamed
        self._held = 0
        self.at = 0

    def alternatives(self, depth: int) -> list[Sequence]:
        found: list[Sequence] = []
        current: list[Sequence] = [()]
        while self.at < len(self._text) and self._text[self.at] != ")":
            if self._text[self.at] == "|":
                self.at += 1
                found += current
                current = [()]
                continue
            atom = self._quantified(self._atom(depth))
            current = [before + after for before in current for after in atom]
            if len(current) + len(found) > _MOST:
                if not self._held:
                    raise XMLToolsError(f"it has more than {_MOST} alternatives")
                current = [()]
        return found + current

    def _atom(self, depth: int) -> list[Sequence]:
        text, at = self._text, self.at
        char = text[at]
        if char == "(":
            return self._group(depth)
        if char == "[":
            return [(self._class(),)]
        if char == "\\":
            return [(self._escape(),)]
        self.at += 1
        if char == ".":
            return [(Run(),)]
        if char in "^$":
            return [(Edge(),)]
        if char in "*+?":
            raise XMLToolsError(f"a {char} at character {at} repeats nothing")
        return [(char,)]

    def _group(self, depth: int) -> list[Sequence]:
        begin = _GROUP.match(self._text, self.at)
        if begin is None:
            raise XMLToolsError(
                f"{self._text[self.at : self.at + 4]!r} at character {self.at} looks back, excludes something, or "
                "changes how the rest is read"
            )
        if depth >= _DEPTH:
            raise XMLToolsError(f"it has groups more than {_DEPTH} deep")
        name, is_ahead = begin[2], begin[1] is not None
        is_slot = name is not None or (self._unnamed and begin[0] == "(")
        self.at = begin.end()
        self._held += is_slot or is_ahead
        inside = self.alternatives(depth + 1)
        self._held -= is_slot or is_ahead
        if self.at == len(self._text):
            raise XMLToolsError(f"a ( at character {begin.start()} is not closed")
        self.at += 1
        if is_ahead:
            return [(Edge(),)]
        return [(Slot(name or ""),)] if is_slot else inside

    def _class(self) -> Part:
        found = _CLASS.match(self._text, self.at)
        if found is None:
            raise XMLToolsError(f"a [ at character {self.at} is not closed")
        self.at = found.end()
        if found[1]:
            return Run()
        if _IN_CLASS_SPACE.fullmatch(found[2]):
            return Space()
        if len(found[2]) == 1:
            return found[2]
        if len(found[2]) == 2 and found[2][0] == "\\" and not found[2][1].isalnum():
            return found[2][1]
        return Run(is_number=found[2] in ("0-9", r"\d"))

    def _escape(self) -> Part:
        text, at = self._text, self.at
        char = text[at + 1 : at + 2]
        self.at += 2
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "s":
            return Space()
        if char == "d":
            return Run(is_number=True)
        if char in ("w", "S", "W", "D"):
            return Run()
        if char in ("A", "Z", "z"):
            return Edge()
        if found := _CODE.match(text, at + 1):
            self.at = found.end()
            return chr(int(found[found.lastindex or 0], 16))
        if not char or char.isalnum():
            raise XMLToolsError(f"the escape \\{char} at character {at} is not a literal")
        return char

    def _quantified(self, atom: list[Sequence]) -> list[Sequence]:
        found = _QUANTIFIER.match(self._text, self.at)
        if found is None or found[0] in ("{}", "{,}"):
            return atom
        self.at = found.end()
        parts = [part for sequence in atom for part in sequence]
        if parts and all(isinstance(part, Space) or (isinstance(part, str) and part.isspace()) for part in parts):
            return [(Space(),)]
        if len(parts) == 1 and isinstance(parts[0], Run):
            return atom
        if found[1] == "?" or found[0].startswith(("{0,1}", "{,1}")):
            return [*atom, ()]
        if found[0].rstrip("?+") in ("{1}", "{1,1}"):
            return atom
        if self._held:
            return [(Run(),)]
        raise XMLToolsError(f"{found[0]!r} at character {found.start()} repeats more than one kind of characters")
