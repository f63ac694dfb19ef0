"""Which delimiter comes next in a call between delimiters, and the text before it.

A question names delimiters by their fields in `Pairs` and `Dialect`, such as `"key end closer"`. It becomes a pattern:
of the whole delimiters, and of what the end of the text cuts off of them, as all patterns for `read_token` are.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple, final

from xmltools.dialects import Dialect, Pairs
from xmltools.syntax.late_patterns import late_pattern
from xmltools.syntax.markup import (
    CDATA_OPEN,
    MORE,
    NAME_LENGTH,
    OPENER_SPACE,
    SPACES,
    Answer,
    attributes_of,
    decode_entities,
    read_token,
    skip_space,
)

Delimiter = re.Match[str]
"""A delimiter: its field is `lastgroup`, and it starts at `end(1)`."""
Found = Delimiter | Answer

SPACE: Final = f"[{SPACES}]{{0,{OPENER_SPACE}}}+"
LAYOUT: Final = rf"(?![{SPACES}\\n]{{{OPENER_SPACE + 1}}})(?:[{SPACES}]|\\n)*+(?:\\\Z)?"
"""White space between delimiters, and `\\n`, which some models write where a template has a line break."""
ENDS: Final = "value_end key value any_end any_closer any_name any_opener"
"""What a value may end before, or belongs to an example in it: that may be written in any form of the dialect."""
NAME: Final = rf"\w[^\s<>{{}}()*?|$\[\]\"'`\\]{{0,{NAME_LENGTH - 1}}}+(?:[ \t]+(?=[<{{\\]|\r?\n|\Z))?+"
"""The name of a tool that no delimiter ends."""
KEY: Final = r"(?:\w[\w-]{0,63}+)?+"
"""The name of an argument whose start delimiter is missing."""
_ATTRIBUTES_LENGTH: Final = 512
"""Characters of the attributes between two delimiters, besides a name."""
_LINES = late_pattern(rf"(?:[{SPACES}]|\\n)*+")
_BLANK: Final = "\u0120"
_BREAKS: Final = rf"(?:(?<=\")[\r\n]+[{SPACES}]*|[\r\n]+[{SPACES}]*(?=[\">]|\Z))"
"""Line breaks beside a quote, or before the end of a tag."""
_ATTRIBUTE_NAME: Final = 8
_HALF_QUOTED = late_pattern(rf"={SPACE}(?:[^{SPACES}\"'\\]+[\"']|(?P<quote>[\"'])[^\"']*(?P=quote)\w++(?!=))")
"""Quotes that do not begin or end where the value does."""
_PART: Final = 4
"""Letters of the name in an end delimiter that may stand for all of it."""
_PART_OF_NAME = late_pattern("[a-z0-9]+")
_NOT_IN_NAME = late_pattern(r"[</>]|[= ].*")


def whole_of(delimiter: str) -> str:
    """A pattern of the delimiter, with up to four blanks before its last `=`. In place of a blank at its end there may
    be the mark that a tokenizer has for one, or nothing before an attribute."""
    pattern = re.sub(r"=\Z", "[ \t]{0,4}=", re.escape(delimiter))
    return re.sub(r"\\ \Z", f"(?: |{_BLANK}|(?=[a-z]{{1,{_ATTRIBUTE_NAME}}}=))", pattern)


def cut_of(delimiter: str) -> str:
    """A pattern of the parts with which the delimiter begins."""
    parts = [re.escape(delimiter[:size]) for size in range(len(delimiter) - 1, 0, -1)]
    if delimiter[1:].endswith("="):
        parts.append(parts[0] + "[ \t]{1,3}")
    if delimiter[1:].endswith(" "):
        parts.append(f"{parts[0]}[a-z]{{1,{_ATTRIBUTE_NAME}}}")
    return "|".join(parts)


_OTHERS: Final = {
    "brace": (r"\{", ""),
    "paren": (rf"\({SPACE}\{{", rf"\({SPACE}"),
    "member": (rf'\{{{SPACE}\\?"', rf"\{{{SPACE}\\?"),
    "members": (rf'\{{{SPACE}(?:\\?"|}})', rf"\{{{SPACE}\\?"),
    "tag": ("<", ""),
    "bracket": (">", ""),
    "text": (rf"[^{SPACES}<{{]", ""),
    "cdata": (whole_of(CDATA_OPEN), cut_of(CDATA_OPEN)),
    "line_break": (r"\r?\n", r"\r"),
    "nothing": (r"\Z", ""),
}
"""Fields for what else may come: JSON, a tag or a section of XML, text, a line break, or the end of the text."""


def _left_of(delimiter: str) -> list[str]:
    """Patterns of what shows that a damaged delimiter was meant: its beginning, or what comes after up to that, with
    any characters in place of it."""
    size = len(delimiter) // 3 + 1
    rests = (f".{{0,{at}}}{re.escape(delimiter[at:])}" for at in range(1, size + 1) if delimiter[at:])
    return [re.escape(delimiter[:size]), *rests]


@cache
def before(end: str, without: str, most: int = NAME_LENGTH) -> str:
    """A pattern of the text before the delimiter `end`, without these characters."""
    if len(end) == 1:
        without += re.escape(end)
    return f"[^{without}]{{0,{most}}}{'+' if end[:1] in without else '?'}"


class UndecidedError(Exception):
    """The text ends before a question is answered."""


class Head(NamedTuple):
    """The name of a tool or an argument, the place after the delimiters around it, and one of them that is missing;
    what is said of the value; and whether a line break is written as `\\n`, or a slash says that nothing follows."""

    name: str
    after: int
    missing: str = ""
    kind: str = ""
    is_broken: bool = False
    is_empty: bool = False


@final
class Delimiters:
    """The delimiters of a dialect, and the patterns of the questions that were asked about them."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.forms = (dialect.base or dialect).forms
        self.pairs = pairs = dialect.pairs or Pairs()
        written = (dialect.base or dialect).written
        writing = written.writing if written is not None else None
        self._layout = SPACE if pairs.name else LAYOUT
        self.has_breaks = pairs.framing or not ((writing and "\n" not in writing.after_value) or pairs.tag_mark)
        """Whether a line break at the end of a value may not belong to it."""
        end = pairs.value_end
        self.half_end = re.escape(end[: len(end) // 2 + 1])
        """A pattern of the beginning of the delimiter after a value, by which it is known."""
        others = [*filter(None, (pairs.key, pairs.name, *pairs.ends, dialect.opener, dialect.closer))]
        self.remains = re.compile("|".join(part for each in others for part in _left_of(each)), re.DOTALL)
        """A pattern of what is left of what may come after that, by which each is known."""
        self.longest = max(map(len, others), default=0)
        """Characters of the longest of these."""
        self.before_end = *self._held("any_value_end"), *self._held("any_end"), "/" + pairs.name_end
        if len(pairs.name_end) > 1:
            self.before_end += (pairs.name_end,)
        """What may come before the end of a call, besides JSON."""
        around = end, pairs.key, pairs.key_end, pairs.value
        self.words = [_NOT_IN_NAME.sub("", each).lower() for each in around]
        """The names in the delimiter after a value, and in the others around it, in small letters."""
        self._pattern = cache(self._make_pattern)
        self.in_value = lru_cache(maxsize=256)(self._make_stops)

    def _make_pattern(self, fields: str, gap: str) -> re.Pattern[str]:
        """A pattern of the delimiters in these fields, after `gap`, which is group 1. If the text ends before one is
        whole, the other group is `cut`."""
        asked = [(field, *self._spelled(field)) for field in fields.split()]
        whole = [f"(?P<{field}>{pattern})|" for field, pattern, _ in asked if pattern]
        cut = "|".join([*(pattern for _, _, pattern in asked if pattern), ""])
        return re.compile(rf"({gap})(?:{''.join(whole)}(?P<cut>(?:{cut})\Z))")

    def _spelled(self, field: str) -> tuple[str, str]:
        """Patterns of what is in a field, and of what may be cut off of that."""
        if field in _OTHERS:
            return _OTHERS[field]
        delimiters = self._held(field)
        return "|".join(map(whole_of, delimiters)), "|".join(map(cut_of, delimiters))

    def _held(self, field: str) -> list[str]:
        name = field.removeprefix("any_")
        forms = self.forms if name != field else (self.dialect,)
        name = "ends" if name == "end" else name
        held = [getattr(form.pairs or Pairs() if hasattr(self.pairs, name) else form, name) for form in forms]
        return [*dict.fromkeys(each for one in held for each in ((one,) if isinstance(one, str) else one) if each)]

    def look(self, text: str, at: int, fields: str, gap: str | None = None) -> Found:
        """The first of the delimiters in these fields that comes at `at`, after `gap`, or else the dialect's layout."""
        return read_token(self._pattern(fields, self._layout if gap is None else gap), text, at, len(text) + 1)

    def find(self, text: str, at: int, fields: str) -> Delimiter:
        """The first of the delimiters in these fields from `at` on; or what the end of the text cuts off, as `cut`."""
        pattern = self._pattern(fields, "")
        starts = {re.escape(each[0]) for field in fields.split() for each in self._held(field)}
        places = re.compile("|".join([*starts, r"\Z"])).finditer(text, at)
        return next(filter(None, (pattern.match(text, place.start()) for place in places)))

    def _make_stops(self, letter: str) -> re.Pattern[str]:
        """A pattern of what may begin a delimiter in a value, or what stands for its end: `<` and two characters, or
        a token, or what the end of the text cuts off of that. `letter`: the first of the argument's name."""
        pairs, token = self.pairs, self.pairs.tag_mark
        if token:
            return re.compile(rf"{re.escape(token)}|(?:{cut_of(token)})\Z")
        begins = {each[1:3] for field in ENDS.split() for each in self._held(field) if each[:1] == "<"}
        if pairs.value_end.startswith("</"):
            words = [*filter(None, self.words)]
            letters = {letter.lower(), *(word[0] for word in (*words, *_PART_OF_NAME.findall(words[0])))}
            begins |= {f"/{each}" for one in letters for each in (one, one.upper())}
        seconds = re.escape("".join(sorted({each[0] for each in begins})))
        return re.compile(rf"<(?:{'|'.join(map(re.escape, sorted(begins)))}|[{seconds}]?\Z)")

    def skip_layout(self, text: str, at: int) -> int:
        """The place after white space between delimiters."""
        if self.pairs.name:
            return skip_space(text, at)
        found = _LINES.match(text, at)
        return found.end() if found else at

    def read_head(self, field: str, attribute: str, text: str, start: int) -> Head | None:
        """The name from `start` to the delimiter in `field`, or the attribute that says it."""
        most = NAME_LENGTH + (_ATTRIBUTES_LENGTH if attribute else 0)
        gap = before(getattr(self.pairs, field), "<\r\n", most)
        found = self.look(text, start, field, f"(?:{gap}{_BREAKS}){{0,3}}{gap}" if attribute else gap)
        if found is MORE:
            raise UndecidedError
        if not found or (attribute and (found[1].count('"') % 2 or _HALF_QUOTED.search(found[1]))):
            return None
        name, kind = found[1].removesuffix("/"), ""
        if attribute:
            said = {name: value or "" for name, value, _ in attributes_of(f" {name}")}
            name, kind = decode_entities(said.get(attribute, "")), said.get(self.pairs.kind, "")
        name = name.strip(SPACES)
        return Head(name, found.end(), kind=kind, is_empty=found[1].endswith("/")) if name else None

    def stands_for(self, word: str) -> bool:
        """May this be the name in a delimiter that stands for the one around a value: another of them, or most of it,
        or misspelt?"""
        return _stand_ins(*self.words).fullmatch(word.lower()) is not None


known_delimiters = lru_cache(maxsize=256)(Delimiters)
"""The delimiters of a dialect, with what was made of them before."""


@cache
def _stand_ins(own: str, *others: str) -> re.Pattern[str]:
    words = [word for word in others if word]
    for at in range(len(own) + 1):
        before, after = own[:at], own[at:]
        # A letter is too many, wrong or missing, or two next to each other are exchanged.
        words += [f"{before}\0{after}", f"{before}\0{after[1:]}", f"{before}{after[1:2]}{after[:1]}{after[2:]}"]
        words += [part for part in (before, after) if len(part) >= _PART]
    known = "|".join(map(re.escape, words)).replace("\0", ".?")
    return re.compile(f"{known}|(?=.{{{_PART}}}){re.escape(own)}.*")
