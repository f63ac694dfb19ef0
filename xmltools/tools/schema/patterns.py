"""Patterns of schemas: whether they are found in a text, told in time that is linear in the text.

The schema is the tool's and the text is the model's, and either may be hostile. So patterns are searched for by Rust's
regular expressions, which pydantic brings along: they go through a text once, in all ways at the same time. They don't
refer to groups or look around; what a pattern looks for from an end of the text is a search of its own here.
Rust also spells some things in another way than ECMAScript, which JSON Schema has its patterns from, and Python. So a
pattern is read here, and written for Rust so that it means what it does there. One that can't be read, or is too large,
is not checked at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

MAX_SIZE = 5_000
"""Units of a pattern, with its repeats written out: it bounds the memory, and the work for each character of a text."""
MAX_PATTERN_TEXT = 10_000
"""Characters of a text in which the largest pattern is looked for. A smaller one is looked for in longer texts."""
_MAX_TEXT = 16 * MAX_SIZE
"""Characters of a pattern. A set has a unit for so many, all else that means something has more."""
_MAX_NESTING = 100
"""Groups inside each other."""
_MANY, _TABLE = 4, 60
"""Units of what takes most characters there are, and of what takes some from all of Unicode."""


class UncheckedError(Exception):
    """A pattern can't be checked; it says why."""


@dataclass(slots=True)
class Part:
    """One character or place, or a group of `ways`, `low` to `high` times; without end if that is None.

    `source` is the character or place, or how the group begins; `repeat` what comes behind it.
    """

    source: str
    ways: list[list[Part]] | None = None
    repeat: str = ""
    low: int = 1
    high: int | None = 1


LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
"""How groups begin that look ahead and back."""
PLACES = {"^": "^", "$": "$", r"\A": r"\A", r"\Z": r"\z", r"\z": r"\z", r"\b": r"(?-u:\b)", r"\B": r"(?-u:\B)"}
_SETS = {"d": "[0-9]", "D": "[^0-9]", "w": "[0-9A-Za-z_]", "W": "[^0-9A-Za-z_]", "s": r"\s", "S": r"\S"}

_PAIR = r"u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
ESCAPE = rf"\\(?!0[0-9])(?:{_PAIR}|x[0-9A-Fa-f]{{2}}|u[0-9A-Fa-f]{{4}}|u\{{[0-9A-Fa-f]+\}}|[pP]\{{\w+(?:=\w+)?\}}|.)"
_MEMBER = re.compile(rf"(-?)\\([dDwWsS])(-?)|{ESCAPE}|[\[&~]", re.DOTALL)
_FLAGS = re.compile(r"\(\?([ims]+)\)")
_TOKEN = re.compile(
    r"(?P<group>\((?:\?(?:P?<[A-Za-z_]\w*>|[ims]*(?:-[ims]+)?:|<?[=!]))?)"
    r"|(?P<repeat>(?:[*+?]|\{(?P<low>[0-9]{1,6})(?P<to>,(?P<high>[0-9]{1,6})?)?\})\??)"
    r"|(?P<place>[\^$]|\\[AZzbB])"
    rf"|(?P<unit>\[(?!\^?\])\^?(?:\\.|[^\]\\])+\]|{ESCAPE}|[^\\\[({{|)]|\{{(?![0-9,]))"
    r"|[|)]",
    re.DOTALL,
)


def read_pattern(text: str) -> tuple[str, list[list[Part]]]:
    """Return the flags of a pattern, some of "ims", and its alternatives. Raises UncheckedError."""
    flags = _FLAGS.match(text)
    at = flags.end() if flags else 0
    ways: list[list[Part]] = [[]]
    outer: list[list[list[Part]]] = []
    repeated: Part | None = None
    while at < len(text):
        token = _TOKEN.match(text, at)
        kind = token.lastgroup if token else None
        if token is None or len(outer) > _MAX_NESTING or (kind == "repeat" and not repeated):
            break
        source = token[0]
        if kind == "repeat" and repeated:
            repeated.repeat = source
            repeated.low, repeated.high = _bounds(token)
            repeated = None
        elif kind == "group":
            inner: list[list[Part]] = [[]]
            ways[-1].append(Part(source, inner))
            outer.append(ways)
            ways, repeated = inner, None
        elif kind:
            ways[-1].append(Part(source))
            repeated = ways[-1][-1] if kind == "unit" else None
        elif source == "|":
            ways.append([])
            repeated = None
        elif not outer:
            break
        else:
            ways = outer.pop()
            repeated = None if ways[-1][-1].source in LOOKS else ways[-1][-1]
        at = token.end()
    if at < len(text) or outer:
        raise UncheckedError(f"{text[at : at + 20]!r} is not understood" if at < len(text) else "a group has no end")
    return flags[1] if flags else "", ways


def changed_flags(flags: str, group: str) -> str:
    """Return the flags in a group, by how it begins."""
    added, _, taken = group[2:-1].partition("-") if group.endswith(":") else ("", "", "")
    return "".join(flag for flag in flags + added if flag not in taken)


def _bounds(token: re.Match[str]) -> tuple[int, int | None]:
    if token["low"]:
        low = int(token["low"])
        return low, int(token["high"]) if token["high"] else None if token["to"] else low
    return int(token[0][0] == "+"), 1 if token[0][0] == "?" else None


def in_rust(ways: list[list[Part]]) -> tuple[str, int]:
    """Return alternatives as Rust spells them, and their size. Raises UncheckedError."""
    parts = [[_part_in_rust(part) for part in way] for way in ways]
    size = sum(1 + size for way in parts for _, size in way)
    return "|".join("".join(written for written, _ in way) for way in parts), size


def _part_in_rust(part: Part) -> tuple[str, int]:
    if part.source in LOOKS:
        raise UncheckedError("it looks ahead or behind, and not right after ^ or before $")
    if part.ways is None:
        written = PLACES.get(part.source) or _unit(part.source)
        wide = part.source == "." or not written.isascii() or "[^" in written or r"\s" in written.lower()
        size = _TABLE if r"\p" in written.lower() else _MANY if wide else 1
        size += len(written) // 16
    else:
        inner, size = in_rust(part.ways)
        written = f"{part.source}{inner})"
    return written + part.repeat, size * max(part.high or part.low, 1)


def _unit(source: str) -> str:
    """Return a single character, or a set of characters, as Rust spells it."""
    if source[0] == "\\":
        return _SETS.get(source[1:]) or _escape(source)
    if source[0] != "[":
        return f"\\{source}" if source in "{}]" else source
    if "--" in source:
        raise UncheckedError("a set has two hyphens in a row")
    return "[" + _MEMBER.sub(_member, source[1:-1]) + "]"


def _member(found: re.Match[str]) -> str:
    """Return the same for a member of a set. A hyphen beside a set in it is one."""
    before, letter, after = found.groups()
    if letter:
        return r"\-" * len(before) + _SETS[letter] + r"\-" * len(after)
    if found[0] == r"\b":
        return r"\x08"
    return _escape(found[0]) if found[0][0] == "\\" else f"\\{found[0]}"


def _escape(source: str) -> str:
    letter = source[1]
    if letter in "xu0" and (len(source) > 2 or letter == "0"):
        return f"\\u{{{code_of(source):x}}}"
    if len(source) > 2 or letter in "fnrtv":
        return source
    if letter.isascii() and letter.isalnum():
        raise UncheckedError(f"{source!r} is not understood")
    return letter if letter in "<>" or not letter.isascii() else source


def code_of(escape: str) -> int:
    """Return the code point of an escape by number; `\\uD83D\\uDE00` is one."""
    if "u" in escape[2:]:
        return ord(bytes.fromhex(escape[2:6] + escape[8:]).decode("utf-16-be"))
    return int(escape[2:].strip("{}") or "0", 16)


@lru_cache(maxsize=256)
def search(pattern: str) -> SchemaValidator:
    """Return what searches for a pattern of Rust. Raises UncheckedError."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError as error:
        raise UncheckedError(str(error).rpartition("error: ")[2].strip()) from None


class Pattern:
    """A pattern, and its size. Raises UncheckedError for one that can't be looked for."""

    __slots__ = ("_searches", "longest", "size")

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_TEXT:
            raise UncheckedError("it is too large")
        self._searches = list(_searches(*read_pattern(_characters(text))))
        self.size = sum(size for _, size, _ in self._searches)
        if self.size > MAX_SIZE:
            raise UncheckedError("it is too large")
        self.longest = MAX_PATTERN_TEXT * MAX_SIZE // max(self.size, 1)
        """Characters of the longest text in which the pattern is looked for."""

    def compile(self) -> None:
        """Make ready what takes time. Raises UncheckedError."""
        for pattern, _, _ in self._searches:
            search(pattern)

    def found(self, text: str) -> bool:
        """Return whether a text has the pattern, and is not too long for it."""
        if len(text) > self.longest:
            return False
        text = _characters(text)
        return all(search(pattern).isinstance_python(text) is wanted for pattern, _, wanted in self._searches)


def _characters(text: str) -> str:
    """Return a text with U+FFFD in place of each half of a character, which Rust's strings can't hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _searches(flags: str, ways: list[list[Part]]) -> Iterator[tuple[str, int, bool]]:
    """Yield what is to be found and what is not, with sizes: what is looked for from the ends of the text, and the
    rest."""
    first = ways[0]
    before = f"(?{flags})" if flags else ""
    if len(ways) == 1 and first and "m" not in flags:
        while len(first) > 1 and first[0].source in ("^", r"\A") and first[1].source in ("(?=", "(?!"):
            yield from _looked_for(first.pop(1), rf"{before}\A(?:", ")")
        while len(first) > 1 and first[-1].source in ("$", r"\Z", r"\z") and first[-2].source in ("(?<=", "(?<!"):
            yield from _looked_for(first.pop(-2), f"{before}(?:", r")\z")
    pattern, size = in_rust(ways)
    yield before + pattern, size, True


def _looked_for(look: Part, before: str, after: str) -> Iterator[tuple[str, int, bool]]:
    pattern, size = in_rust(look.ways or [])
    yield before + pattern + after, size, look.source[-1] == "="
