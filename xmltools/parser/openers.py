"""What a call or a reasoning region may begin with: patterns, made once for each set of names and marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from xmltools.dialects import Body, Dialect, forms_for
from xmltools.dialects.reasoning_tags import refuse_tag_of_calls
from xmltools.errors import XMLToolsError


def _any_case(word: str) -> str:
    """A pattern of a word in any case. It begins with a literal character, so that it is quick to look for."""
    return "".join(f"[{c.lower()}{c.upper()}]" if c.isascii() and c.isalpha() else re.escape(c) for c in word)


def _any_start(words: Sequence[str]) -> str:
    """A pattern of what a word may begin with, but for nothing at all."""
    starts = {word[:size] for word in words for size in range(1, len(word) + 1)}
    return "|".join(map(_any_case, sorted(starts, key=len, reverse=True)))


class Openers(NamedTuple):
    """What a block or a reasoning region may begin with, the name of an element as a group; the characters with which
    that begins, as the second group; the greatest length of what the end of a text may cut off of it, and all that this
    may be, in small letters; the names by their spelling in small letters; marks with
    which longer ones begin, and those; whether some begin with another character than `<`; what is in each text with an
    opener, in small letters and in capitals; the letters that names begin with; and a pattern that is in each text in
    which something opens or begins to."""

    opener: re.Pattern[str]
    first: re.Pattern[str]
    reach: int
    parts: frozenset[str]
    names: dict[str, str]
    longer: dict[str, list[str]]
    has_others: bool
    lead: str
    other_lead: str
    letters: str
    begins: re.Pattern[str]


@lru_cache(maxsize=64)
def make_openers(starts: tuple[str, ...], tokens: tuple[str, ...] = ()) -> Openers:
    """`starts` are names of elements and marks, `tokens` other marks."""
    words = [start for start in starts if not _is_mark(start)]
    marks = [*(start for start in starts if _is_mark(start)), *tokens]
    names = f"(?ai:{'|'.join(map(re.escape, sorted(words, key=len, reverse=True)))})" if words else "(?!)"
    firsts = {word[0] for word in words} | {mark[1] for mark in marks if mark.startswith("<")}
    letters = "".join(sorted({letter for first in firsts for letter in (first.lower(), first.upper())}))
    lead = f"<{letters[0].lower()}" if len(set(letters.lower())) == 1 else "<"
    tags = rf"<({names})[>/ \t\r\n]"
    literal = sorted(marks, key=len, reverse=True)
    has_others = not all(mark.startswith("<") for mark in marks)
    if not has_others:
        opener = f"<(?:({names})[>/ \t\r\n]{''.join(f'|{re.escape(mark[1:])}' for mark in literal)})"
    else:
        opener = "|".join((tags, *map(re.escape, literal)))
    wholes = [*(f"<{word}" for word in words), *marks]
    return Openers(
        re.compile(opener),
        re.compile(f"()({'|'.join(sorted({re.escape(whole[0]) for whole in wholes})) or '(?!)'})"),
        max(map(len, wholes), default=0),
        frozenset(whole[:size].lower() for whole in wholes for size in range(1, len(whole) + 1)),
        {word.lower(): word for word in reversed(words)},
        {mark: longer for mark in marks if (longer := [o for o in marks if o != mark and o.startswith(mark)])},
        has_others,
        lead,
        lead.upper(),
        letters,
        re.compile("|".join(sorted({_any_beginning(whole, letters) for whole in wholes})) or "(?!)", re.IGNORECASE),
    )


def find_cut(openers: Openers, text: str, at: int, stop: int) -> re.Match[str] | None:
    """The place before `stop`, at `at` or later, from which on the text is what its end may cut off of an opener."""
    start = max(at, len(text) - openers.reach)
    if not openers.has_others and text.find("<", start, stop) < 0:
        return None
    for cut in openers.first.finditer(text, start, stop):
        if text[cut.start() :].lower() in openers.parts:
            return cut
    return None


def _any_beginning(whole: str, letters: str) -> str:
    """A pattern of the first two characters of a mark or tag; `letters` are those that may follow `<`."""
    if whole[0] == "<":
        return rf"<(?:[{re.escape(letters)}]|\Z)"
    return rf"{re.escape(whole[:2])}|{re.escape(whole[0])}\Z"


def _is_mark(start: str) -> bool:
    """Whether this is a mark, and no name of an element, which ends with a letter, a digit or one of `._-`."""
    return not (start[0].isalpha() or start[0] == "_") or not (start[-1].isalnum() or start[-1] in "._-")


def forms_by_start(
    dialects: Sequence[Dialect], tags: Sequence[str], names: tuple[str, ...], *, is_own: bool
) -> dict[str, list[Dialect]]:
    """The forms of calls by what they may begin with: the name of an element in small letters, or a mark. `names` are
    those of the tools. `is_own`: in the dialect that was asked for, all forms count."""
    found: dict[str, list[Dialect]] = {}
    for form in (
        form
        for dialect in dialects
        for form in (forms_for(dialect, names) if dialect.body is Body.TAGS else dialect.forms)
    ):
        pairs = form.pairs
        starts = [form.block.lower() if form.arguments else form.opener]
        if form.in_line:
            starts = [f"{form.block}{end}" for end in ("\n", ":\n", "\r\n", ":\r\n")] if is_own else []
        if pairs is not None and pairs.bare:
            starts += [pairs.name, *([f"{pairs.name[:-1]} ="] if pairs.name[-1] == "=" else [])]
        for start in starts:
            if start not in map(str.lower, tags):
                found.setdefault(start, []).append(form)
    return found


def word_in(start: str) -> str:
    """The name in the tag that a call begins with."""
    return _WORD_END.split(start.removeprefix("<"), maxsplit=1)[0].removesuffix(":") if _is_mark(start) else start


_WORD_END = re.compile(r"[>= \t\r\n]")


class ReasoningTags(NamedTuple):
    """Patterns of the tags of a reasoning region: its end tags, openers and calls; what the end of a text cuts off,
    and the greatest length of that; and what matters after an end tag."""

    tag: re.Pattern[str]
    cut: re.Pattern[str]
    reach: int
    later: re.Pattern[str]


@lru_cache(maxsize=32)
def reasoning_tags(names: tuple[str, ...], calls: tuple[str, ...] = (), marks: tuple[str, ...] = ()) -> ReasoningTags:
    """`names` of the elements of reasoning, what begins `calls` in it, and `marks` that end it."""
    any_name = "|".join(map(_any_case, sorted(names, key=len, reverse=True))) or "(?!)"
    tag = f"<(?P<end>/?)(?P<name>{any_name})"
    # A pattern that begins with a character is found ten times as fast as one that begins with a group.
    first = "<" if all(word[0] == "<" for word in (*marks, *filter(_is_mark, calls))) else ""
    words = [re.escape(call[len(first) :]) for call in calls if _is_mark(call)]
    words += [rf"{'' if first else '<'}{re.escape(call)}(?=[> \t\r\n])" for call in calls if not _is_mark(call)]
    mark = "|".join(re.escape(mark[len(first) :]) for mark in marks) or "(?!)"
    whole = f"(?P<mark>{mark})|(?P<call>{'|'.join(words) or '(?!)'})|{tag[len(first) :]}(?=[> \\t\\r\\n])"
    fence = r"\n {0,3}(?P<fence>`{3,60}|~{3,60})[ \t\r]{0,200}(?=\n)"
    wholes = [*calls, *marks, *(f"<{name}" for name in names), *(f"</{name}" for name in names)]
    return ReasoningTags(
        re.compile(f"{first}(?:{whole})"),
        re.compile(rf"(?P<end>)(?P<name>)(?P<call>)(?P<mark>)(?:{_any_start(wholes) or '(?!)'})\Z"),
        max(map(len, wholes), default=0),
        re.compile(rf"(?<!`){tag}(?:[ \t\r\n][^<>]{{0,400}})?>|{fence}"),
    )


def checked_tags(tags: Sequence[str], dialect: Dialect) -> tuple[str, ...]:
    """Return the names of reasoning tags as a tuple. Raises XMLToolsError for what can be none."""
    given: Any = tags  # compiled code takes what is declared for certain
    if isinstance(given, str) or not isinstance(given, Iterable):
        what = f"the string {given!r:.80}" if isinstance(given, str) else type(given).__name__
        raise XMLToolsError(f"reasoning_tags: expected a list of names, as ['think'], got {what}")
    tags = tuple(given)
    for tag in tags:
        if not isinstance(tag, str) or not re.fullmatch(r"[^\s<>/&\"'=]+", tag):
            raise XMLToolsError(f"reasoning_tags: expected names as 'think', without brackets, got {tag!r}")
        refuse_tag_of_calls(tag, dialect, "reasoning_tags")
    found: dict[str, str] = {}
    for tag in tags:
        found.setdefault(tag.lower(), tag)
    return tuple(found.values())


class Starts(NamedTuple):
    """What may begin something, outside of blocks: calls of the dialect and of others, by the name of an element in
    small letters or by a mark, with the forms that each may have; the marks that end reasoning, by those that begin it;
    of these and of the reasoning elements, those of other dialects; patterns of all of them, and of those that count
    everywhere; the names in tags, in those of the dialect itself, and in those and the reasoning elements; and whether
    some count only first."""

    calls: dict[str, list[Dialect]]
    others: dict[str, list[Dialect]]
    thoughts: dict[str, tuple[str, ...]]
    other_thoughts: frozenset[str]
    openers: Openers
    later: Openers
    words: tuple[str, ...]
    own_words: tuple[str, ...]
    own_names: tuple[str, ...]
    is_first: bool


@lru_cache(maxsize=64)
def starts_of(
    dialect: Dialect,
    tags: tuple[str, ...],
    names: tuple[str, ...],
    beside: tuple[Dialect, ...],
    *,
    knows_tags: bool = False,
) -> Starts:
    """For the reasoning elements `tags`, tools with these names, and calls in the dialects `beside` this one, with
    their reasoning elements if the caller does not know all `tags`."""
    other_tags = () if knows_tags else tuple(tag for each in beside for tag in each.reasoning if tag not in tags)
    tags = tuple(dict.fromkeys((*tags, *other_tags)))
    own_thoughts = {start for start, _ in dialect.thoughts}
    other_thoughts = (start for each in beside for start, _ in each.thoughts if start not in own_thoughts)
    calls = forms_by_start((dialect,), tags, names, is_own=True)
    others = forms_by_start(beside, tags, names, is_own=False)
    starts = tuple(dict.fromkeys((*calls, *others)))
    pairs = [pair for each in (dialect, *beside) for pair in each.thoughts]
    thoughts = {start: tuple(dict.fromkeys(e for s, e in pairs if s == start)) for start, _ in pairs}
    tokens = (*dialect.turn_ends, *thoughts)
    forms = (*calls.items(), *others.items())
    later = [start for start, found in forms if not all(form.is_first or form.is_bare for form in found)]
    words = tuple(word_in(start) for start in starts)
    own_words = words[: len(calls)]
    return Starts(
        calls,
        others,
        thoughts,
        frozenset((*other_tags, *other_thoughts)),
        make_openers((*starts, *tags), tokens),
        make_openers((*later, *tags), tokens),
        words,
        own_words,
        (*own_words, *tags),
        len(later) < len(starts),
    )
