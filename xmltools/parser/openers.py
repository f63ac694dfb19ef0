"""Words with which a call or a reasoning region may begin: patterns, made once for each set of names and delimiters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

from xmltools.dialects import Dialect, forms_for
from xmltools.dialects.reasoning_tags import refuse_tag_of_calls
from xmltools.errors import XMLToolsError
from xmltools.parser.delimiters import cut_of
from xmltools.parser.fences import CLOSING
from xmltools.syntax.markup import NAME_LENGTH, SPACES

_W = f"[{SPACES}]{{0,64}}+"
_KEY = rf"(?:name|tool_name|tool|function|type)[\"'](?!{_W}:{_W}[\[{{])"
_AFTER_BRACKET: Final = rf"(?=(?:(?<=\[){_W}(?:\{{|\Z))?+{_W}(?:\Z|[\"'](?:\w{{0,9}}+\Z|{_KEY})))"
"""How a call in JSON goes on, or what the end of the text cuts off of that."""


_NO_STRAY: Final = "<|start|>assistant to="
"""A token with which calls begin in Harmony, and without its end is none."""


class Cuts:
    """Beginnings of some words that are shorter than these. Case does not matter."""

    def __init__(self, words: Sequence[str]) -> None:
        self._first = re.compile(any_of({word[0] for word in words}))
        self._parts = frozenset(word[:size].lower() for word in words for size in range(1, len(word)))
        self._reach = max(map(len, words), default=0)

    def find(self, text: str, at: int, stop: int) -> int:
        """The first place from `at` on and before `stop` where the end of the text cuts off a word, or -1."""
        start = max(at, len(text) - self._reach)
        for found in self._first.finditer(text, start, stop):
            if text[found.start() :].lower() in self._parts:
                return found.start()
        return -1


class Openers(NamedTuple):
    """Patterns of the words with which something may begin."""

    opener: re.Pattern[str]
    """The name of an element is its group."""
    cuts: Cuts
    has_others: bool
    """Whether some begin with another character than `<`."""
    begins: re.Pattern[str]
    """It is in each text in which something opens, or begins to open, or white space may lay out what comes next."""

    def find(self, text: str, at: int) -> tuple[int, str]:
        """The first opener from `at` on: its place, and the name of its element or the delimiter. Without a word, the
        end of the text cuts it off; there is none at the length of the text."""
        found = self.opener.search(text, at)
        place = found.start() if found else len(text)
        if found is None or self.has_others:
            # A word that is cut off may begin before one that is a part of it.
            cut = self.cuts.find(text, at, place)
            if cut >= 0:
                return cut, ""
        return place, (found[1] or found[0]) if found else ""


@lru_cache(maxsize=64)
def make_openers(
    starts: tuple[str, ...], tokens: tuple[str, ...] = (), layout: bool = False, is_later: bool = False
) -> Openers:
    """`starts` are names of elements and delimiters, `tokens` other delimiters. `layout`: white space before
    them is not text. `is_later`: it takes more than a bracket to begin a call."""
    words = [start for start in starts if not _is_mark(start)]
    marks = sorted((*filter(_is_mark, starts), *tokens), reverse=True)  # each before its beginnings
    firsts = [*(f"<{first}" for word in words for first in (word[0].lower(), word[0].upper())), *marks]
    after = _AFTER_BRACKET * is_later
    wholes = (re.escape(each[:2]) + after * (each in "[{") for each in firsts)
    pairs = {*wholes, *(rf"{re.escape(each[0])}\Z" for each in firsts)}
    begins = "|".join(sorted(pairs)) or "(?!)"
    if layout:
        begins = rf"(?<![{SPACES}])[{SPACES}]+(?:{begins}|\Z)|{begins}"
    return Openers(
        re.compile(_any_mark(f"({_any_name(words)})[>/{SPACES}]", marks, after)),
        Cuts([*(f"<{word}>" for word in words), *marks]),
        not all(mark.startswith("<") for mark in marks),
        re.compile(begins),
    )


def any_of(words: Iterable[str]) -> str:
    """A pattern of any of these words."""
    return "|".join(map(re.escape, words)) or "(?!)"


def _any_name(words: Iterable[str]) -> str:
    """A pattern of these names in any case; what follows them shows where each ends."""
    return f"(?ai:{any_of(words)})"


def _any_mark(tag: str, marks: Iterable[str], after_bracket: str = "") -> str:
    """A pattern of what follows the `<` of a tag, and of delimiters. If it can, it begins with a character: it is found
    ten times as fast then."""
    after = [tag, *(re.escape(mark[1:]) for mark in marks if mark[0] == "<")]
    others = (re.escape(mark) + after_bracket * (mark in "[{") for mark in marks if mark[0] != "<")
    return "|".join((f"<(?:{'|'.join(after)})", *others))


def _is_mark(start: str) -> bool:
    """Whether this is a delimiter, and not the name of an element, which ends with a letter, a digit or one of
    `._-`."""
    return not (start[0].isalpha() or start[0] == "_") or not (start[-1].isalnum() or start[-1] in "._-")


def forms_by_start(
    dialects: Sequence[Dialect], tags: Sequence[str], names: tuple[str, ...], *, is_own: bool
) -> dict[str, list[Dialect]]:
    """The forms of calls by the words with which they may begin: the name of an element in small letters, or a
    delimiter. `names` are those of the tools. `is_own`: in the dialect that was asked for, all forms count."""
    found: dict[str, list[Dialect]] = {}
    reserved = {tag.lower() for tag in tags}
    for dialect in dialects:
        for form in forms_for(dialect, names):
            starts = [form.block.lower() if form.arguments else form.opener]
            if form.in_line:
                starts = [f"{form.block}{end}" for end in ("\n", ":\n", "\r\n", ":\r\n")] if is_own else []
            starts += form.starts[1:]
            for start in starts:
                if start not in reserved:
                    found.setdefault(start, []).append(form)
    return found


@lru_cache(maxsize=32)
def header_end(end: str) -> re.Pattern[str]:
    """A pattern of the word in a header and the delimiter after it, or of what the end of the text cuts off of them."""
    word = rf"[^{SPACES}<>]{{1,{NAME_LENGTH}}}+"
    return re.compile(rf"(?P<word>{word}){re.escape(end)}|(?P<cut>(?:{word}(?:{cut_of(end)}|))?\Z)")


class ReasoningTags(NamedTuple):
    """Patterns of the words that matter in a reasoning region."""

    tag: re.Pattern[str]
    """A tag of the region, with its `name`, and `/` as its `end`; a call; or a delimiter that ends the region."""
    cuts: Cuts
    later: re.Pattern[str]
    """A whole tag of the region, or a fence line: they matter after an end tag."""


@lru_cache(maxsize=32)
def reasoning_tags(names: tuple[str, ...], calls: tuple[str, ...], marks: tuple[str, ...]) -> ReasoningTags:
    """`names` of the elements of reasoning, delimiters that begin `calls` in it, and `marks` that end it."""
    tag = f"(?P<end>/?)(?P<name>{_any_name(names)})"
    return ReasoningTags(
        re.compile(_any_mark(f"{tag}(?=[>{SPACES}])", [*marks, *calls])),
        Cuts([*calls, *marks, *(f"<{slash}{name}>" for name in names for slash in ("", "/"))]),
        re.compile(f"(?<!`)<{tag}(?:[{SPACES}][^<>]{{0,400}})?>|{CLOSING}"),
    )


def checked_tags(tags: Sequence[str], dialect: Dialect) -> tuple[str, ...]:
    """Return the names of reasoning tags as a tuple. Raises XMLToolsError for what can be none."""
    given: Any = tags  # compiled code takes what is declared for certain
    if isinstance(given, str) or not isinstance(given, Iterable):
        what = f"the string {given!r:.80}" if isinstance(given, str) else type(given).__name__
        raise XMLToolsError(f"reasoning_tags: expected a list of names, as ['think'], got {what}")
    found: dict[str, str] = {}
    for tag in given:
        if not isinstance(tag, str) or not re.fullmatch(r"[^\s<>/&\"'=]+", tag):
            raise XMLToolsError(f"reasoning_tags: expected names as 'think', without brackets, got {tag!r}")
        refuse_tag_of_calls(tag, dialect, "reasoning_tags")
        found.setdefault(tag.lower(), tag)
    return tuple(found.values())


class Starts(NamedTuple):
    """All that may begin outside calls, and that does not depend on the reply."""

    dialect: Dialect
    calls: dict[str, list[Dialect]]
    """The forms of calls by the words with which they begin, as of `forms_by_start`."""
    others: dict[str, list[Dialect]]
    """The same for other dialects."""
    thoughts: dict[str, tuple[str, ...]]
    """Delimiters that end reasoning, by those that begin it."""
    other_thoughts: frozenset[str]
    """Of these and of the reasoning elements, those of other dialects, and words, in small letters."""
    strays: frozenset[str]
    """Words that may be no text where they come without a call."""
    edges: tuple[str, ...]
    """Those that are no text only where the reply begins."""
    openers: Openers
    """All of them."""
    later: Openers
    """Those that count everywhere, not only where the reply begins."""
    words: tuple[str, ...]
    """The names in tags with which calls begin."""
    ends: tuple[str, ...]
    """What ends calls, right before the backticks of inline code that shows one."""
    own_names: tuple[str, ...]
    """Those of the dialect itself, and the reasoning elements."""

    def tags_of(self, names: tuple[str, ...]) -> ReasoningTags:
        """The words in a region of reasoning that these elements, or delimiters, end."""
        marks = set(chain.from_iterable(self.thoughts.values()))
        calls = tuple(filter(_is_mark, self.calls)) if self.dialect.ends_reasoning else ()
        ends = tuple(name for name in names if name in marks)
        return reasoning_tags(tuple(name for name in names if name not in marks), calls, ends)


def forms_at(forms: dict[str, list[Dialect]], word: str) -> list[Dialect]:
    """The forms that may begin with this word, written as in a text."""
    return forms.get(word) or forms.get(word.lower()) or []


@lru_cache(maxsize=64)
def starts_of(
    dialect: Dialect, tags: tuple[str, ...], names: tuple[str, ...], beside: tuple[Dialect, ...], knows_tags: bool
) -> Starts:
    """For the reasoning elements `tags`, tools with these names, and calls in the dialects `beside` this one, with
    their reasoning elements if the caller does not know all `tags`."""
    other_tags = () if knows_tags else tuple(tag for each in beside for tag in each.reasoning if tag not in tags)
    tags = tuple(dict.fromkeys((*tags, *other_tags)))
    thoughts: dict[str, tuple[str, ...]] = {}
    for each in (dialect, *beside):
        for start, end in each.thoughts:
            if each is not dialect and start.endswith(":"):
                continue
            thoughts[start] = tuple(dict.fromkeys((*thoughts.get(start, ()), end)))
    calls = forms_by_start((dialect,), tags, names, is_own=True)
    others = forms_by_start(beside, tags, names, is_own=False)
    starts = tuple(dict.fromkeys((*calls, *others)))
    ends = tuple(f"</{tag}>" for tag in tags)
    strays = (*dialect.strays, *dialect.frame, *ends)
    tokens = (*dialect.turn_ends, *(start for start, _ in dialect.headers if start), *thoughts, *strays, _NO_STRAY)
    later = [
        start
        for start in starts
        if not all(
            form.is_first or (form.is_bare and not ((form.pairs is None or form.has_line) and names))
            for form in calls.get(start, []) + others.get(start, [])
        )
    ]
    # The name in the tag that a call begins with.
    words = tuple(re.split(f":?[>={SPACES}]", start.removeprefix("<"))[0] for start in starts)
    return Starts(
        dialect,
        calls,
        others,
        thoughts,
        frozenset(map(str.lower, (*other_tags, *thoughts))).difference(
            start.lower() for start, _ in dialect.thoughts if not start.endswith(":")
        ),
        frozenset(strays),
        (*ends, *dialect.frame[:1]),
        make_openers((*starts, *tags), tokens, dialect.layout),
        make_openers((*later, *tags), tuple(each for each in tokens if each not in ends), dialect.layout, "{" in later),
        words,
        tuple(dict.fromkeys(end for form in chain(*calls.values(), *others.values()) for end in form.ends)),
        (*words[: len(calls)], *tags),
    )
