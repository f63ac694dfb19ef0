"""Which delimiter comes next in a call between delimiters, and the text before it.

A question names delimiters by their fields in `Pairs` and `Dialect`, such as `"key end closer"`. It becomes a pattern:
of the whole delimiters, and of what the end of the text cuts off of them. So the answers MORE and NO are made here, and
nowhere else.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple, final

from xmltools.dialects import Dialect, Pairs
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    NAME_LENGTH,
    NO,
    OPENER_SPACE,
    SPACES,
    Answer,
    attributes_of,
    decode_entities,
    skip_space,
)

Delimiter = re.Match[str]
"""A delimiter: its field is `lastgroup`, and it starts at `end(1)`."""
Found = Delimiter | Answer

SPACE: Final = f"[{SPACES}]{{0,{OPENER_SPACE}}}+"
LAYOUT: Final = rf"(?![{SPACES}\\n]{{{OPENER_SPACE + 1}}})(?:[{SPACES}]|\\n)*+(?:\\\Z)?"
"""White space between delimiters, and `\\n`, which some models write where a template has a line break. Only white
space if a delimiter comes before the name of the tool."""
NAME: Final = rf"\w[^\s<>{{}}()*?|$\[\]\"'`\\]{{0,{NAME_LENGTH - 1}}}+(?:[ \t]+(?=[<{{\\]|\r?\n|\Z))?+"
"""The name of a tool that no delimiter ends."""
_ATTRIBUTES_LENGTH: Final = 512
"""Characters of the attributes between two delimiters, besides a name."""
_LINES: Final = late_pattern(rf"(?:[{SPACES}]|\\n)*+")
_PART: Final = 4
"""Letters of the name in an end delimiter that may stand for all of it."""
_PART_OF_NAME: Final = late_pattern("[a-z0-9]+")
_NOT_IN_NAME: Final = late_pattern(r"[</>]|[= ].*")


def whole_of(delimiter: str) -> str:
    """A pattern of the delimiter, with up to four blanks before its last `=`."""
    return re.escape(delimiter[:-1]) + ("[ \t]{0,4}=" if delimiter[-1] == "=" else re.escape(delimiter[-1]))


def cut_of(delimiter: str) -> str:
    """A pattern of the parts with which the delimiter begins."""
    parts = [re.escape(delimiter[:size]) for size in range(len(delimiter) - 1, 0, -1)]
    return "|".join([*parts, *(f"{part}[ \t]{{1,3}}" for part in parts[:1] if delimiter[-1] == "=")])


_OTHERS: Final = {
    "brace": (r"\{", ""),
    "member": (rf'\{{{SPACE}"', rf"\{{{SPACE}"),
    "members": (rf'\{{{SPACE}["}}]', rf"\{{{SPACE}"),
    "tag": ("<", ""),
    "text": (rf"[^{SPACES}<{{]", ""),
    "cdata": (whole_of(CDATA_OPEN), cut_of(CDATA_OPEN)),
}
"""Fields for what may come in place of a delimiter: JSON, a tag or a section of XML, or text."""


@lru_cache(maxsize=256)
def before(end: str, without: str, most: int = NAME_LENGTH) -> str:
    """A pattern of the text before the delimiter `end`, without these characters."""
    if len(end) == 1:
        without += re.escape(end)
    elif end[:1] not in without:
        return f"[^{without}]{{0,{most}}}?"
    return f"[^{without}]{{0,{most}}}+"


class UndecidedError(Exception):
    """The text ends before a question is answered."""


class Head(NamedTuple):
    """The name of a tool or an argument, the place after the delimiters around it, and one of them that is missing;
    whether a slash says that nothing follows, or a line break is written as `\\n`; and what is said of the value."""

    name: str
    after: int
    missing: str = ""
    is_empty: bool = False
    is_broken: bool = False
    kind: str = ""


@final
class Delimiters:
    """The delimiters of a dialect, and the patterns of the questions that were asked about them."""

    __slots__ = ("_patterns", "dialect", "ends", "pairs")

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.pairs = dialect.pairs or Pairs()
        self.ends = f"value_end key end closer {'name' if self.pairs.name else 'opener'}"  # what may end a value
        self._patterns: dict[tuple[str, str], re.Pattern[str]] = {}

    def _pattern(self, fields: str, gap: str) -> re.Pattern[str]:
        """A pattern of the delimiters in these fields, after `gap`, which is group 1. If the text ends before one is
        whole, there is no other group."""
        asked = [(field, *self._spelled(field)) for field in fields.split()]
        whole = [f"(?P<{field}>{pattern})|" for field, pattern, _ in asked if pattern]
        cut = "|".join([*(pattern for _, _, pattern in asked if pattern), ""])
        space = SPACE if gap == LAYOUT and self.pairs.name else gap
        made = re.compile(rf"(?P<gap>{space})(?:{''.join(whole)}(?:{cut})\Z)")
        self._patterns[fields, gap] = made
        return made

    def _spelled(self, field: str) -> tuple[str, str]:
        """Patterns of what is in a field, and of what may be cut off of that."""
        if field in _OTHERS:
            return _OTHERS[field]
        held = getattr(self.pairs if hasattr(self.pairs, field) else self.dialect, field)
        delimiters = [each for each in ((held,) if isinstance(held, str) else held) if each]
        return "|".join(map(whole_of, delimiters)), "|".join(map(cut_of, delimiters))

    def match(self, text: str, at: int, fields: str, gap: str) -> Delimiter | None:
        """As `look`; if the text ends before that is decided, the field is `gap`."""
        return (self._patterns.get((fields, gap)) or self._pattern(fields, gap)).match(text, at)

    def look(self, text: str, at: int, fields: str, gap: str = LAYOUT) -> Found:
        """The first of the delimiters in these fields that comes at `at`, after `gap`."""
        found = self.match(text, at, fields, gap)
        if found is None:
            return NO
        return found if found.lastgroup != "gap" else MORE

    def find(self, text: str, at: int, fields: str) -> Delimiter:
        """The first of the delimiters in these fields from `at` on; or what the end of the text cuts off, as `gap`."""
        found = (self._patterns.get((fields, "")) or self._pattern(fields, "")).search(text, at)
        assert found is not None  # the end of the text
        return found

    def in_value(self, letter: str) -> re.Pattern[str]:
        """A pattern of what may begin a delimiter in a value, or what stands for its end: `<` and two characters, or
        a token, or what the end of the text cuts off of that. `letter`: the first of the argument's name."""
        found = self._patterns.get(("", letter))
        if found is not None:
            return found
        pairs, token = self.pairs, self.pairs.tag_mark
        delimiters = (pairs.name, pairs.end, pairs.key, pairs.value, pairs.value_end)
        begins = {each[1:3] for each in (*delimiters, self.dialect.opener, self.dialect.closer) if each[:1] == "<"}
        if pairs.value_end.startswith("</"):
            own, *others = filter(None, self.words())
            letters = {letter.lower(), own[0], *(word[0] for word in (*others, *_PART_OF_NAME.findall(own)))}
            begins |= {f"/{each}" for one in letters for each in (one, one.upper())}
        seconds = re.escape("".join(sorted({each[0] for each in begins})))
        rest = "|".join(map(re.escape, sorted(begins)))
        found = re.compile(rf"{re.escape(token)}|(?:{cut_of(token)})\Z" if token else rf"<(?:{rest}|[{seconds}]?\Z)")
        self._patterns["", letter] = found
        return found

    def skip_layout(self, text: str, at: int) -> int:
        """The place after white space between delimiters."""
        if self.pairs.name:
            return skip_space(text, at)
        found = _LINES.match(text, at)
        return found.end() if found else at

    def read_head(self, field: str, attribute: str, text: str, start: int) -> Head | Answer:
        """The name from `start` to the delimiter in `field`, or the attribute that says it."""
        most = NAME_LENGTH + (_ATTRIBUTES_LENGTH if attribute else 0)
        found = self.look(text, start, field, before(getattr(self.pairs, field), "<\r\n", most))
        if not found:
            return found
        name, kind = found[1].removesuffix("/"), ""
        if attribute:
            said = {name: value or "" for name, value, _ in attributes_of(f" {name}")}
            name, kind = decode_entities(said.get(attribute, "")), said.get(self.pairs.kind, "")
        name = name.strip(SPACES)
        return Head(name, found.end(), "", found[1].endswith("/"), kind=kind) if name else NO

    def stands_for(self, word: str) -> bool:
        """May this be the name in a delimiter that stands for the one around a value: another of them, or most of it,
        or misspelt?"""
        return _stand_ins(*self.words()).fullmatch(word.lower()) is not None

    def words(self) -> tuple[str, ...]:
        """The names in the delimiter after a value, and in the others around it, in small letters."""
        delimiters = self.pairs.value_end, self.pairs.key, self.pairs.key_end, self.pairs.value
        return tuple(_NOT_IN_NAME.sub("", each).lower() for each in delimiters)


@lru_cache(maxsize=256)
def known_delimiters(dialect: Dialect) -> Delimiters:
    """The delimiters of a dialect, with what was made of them before."""
    return Delimiters(dialect)


@lru_cache(maxsize=64)
def _stand_ins(own: str, *others: str) -> re.Pattern[str]:
    words = [word for word in others if word]
    for at in range(len(own) + 1):
        before, after = own[:at], own[at:]
        # A letter is too many, wrong or missing, or two next to each other are exchanged.
        words += [f"{before}\0{after}", f"{before}\0{after[1:]}", f"{before}{after[1:2]}{after[:1]}{after[2:]}"]
        words += [part for part in (before, after) if len(part) >= _PART]
    known = "|".join(map(re.escape, words)).replace("\0", ".?")
    return re.compile(f"{known}|(?=.{{{_PART}}}){re.escape(own)}.*")
