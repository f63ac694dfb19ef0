"""What stands around calls: prose in which nothing else opens, and reasoning in front of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xmltools.dialects import FORGE, Body, Dialect
from xmltools.grammar.options import Options
from xmltools.grammar.regular.regular import (
    ALL,
    ANYTHING,
    EMPTY,
    And,
    Chars,
    Not,
    Regular,
    chars,
    choice,
    literal,
    sequence,
    star,
    subtract,
)
from xmltools.grammar.rules.marked_strings import any_of, shortened
from xmltools.grammar.rules.strings import SPACE, without
from xmltools.grammar.rules.written_form import written_form
from xmltools.grammar.text_tree import Dispatch, Node
from xmltools.syntax.markup import SPACES
from xmltools.tools import Tool

_TAG_ENDS = f">{SPACES}"
_HARMLESS = Chars(subtract(ALL, chars("`\\").ranges))
"""What may stand right before an opener."""


@dataclass(frozen=True, slots=True)
class Around:
    """What may stand around calls: `lead` before the first mark of one, `prose` elsewhere, and `thought` up to the end
    of reasoning, which is in it. `excludes` says the same of prose in words, for engines that look for them; None if
    words cannot say it."""

    lead: Regular
    prose: Regular
    thought: Regular
    excludes: tuple[str, ...] | None
    thought_excludes: tuple[str, ...]
    tokens: tuple[str, ...] = ()
    """Tokens that the model writes around its text, where it has any, and around calls."""

    def layout(self, spaces: Regular) -> Regular:
        """Return what may be beside a call where there is no text."""
        return star(choice(SPACE, *map(literal, self.tokens))) if self.tokens else spaces

    def dispatch(self, rules: tuple[tuple[str, Node], ...], low: int, high: int | None) -> Dispatch:
        """Return prose with the body of a rule wherever its trigger occurs in it."""
        return Dispatch(self.lead, rules, self.prose, low, high, self.excludes)


def around(options: Options, tools: Sequence[Tool] = ()) -> Around:
    """Return what may be around calls in the dialect of the options; with calls of the tools, where these begin with
    a tag that is named as the tool."""
    reasoning = options.reasoning_marks
    if options.dialect.body is Body.TAGS:
        # A line with the name of a tool stands for its tag, if the tag of an argument follows (DIALECTS.md, 6.8).
        names = {name.lower() for tool in tools for name in (tool.name, *tool.shape.properties)}
        return _around_tags(tuple(sorted(names)), options.reasoning_tags, reasoning)
    if options.dialect.body is Body.ELEMENTS:
        return _around_elements(options.reasoning_tags, reasoning)
    return _around_marks(options.dialect, options.reasoning_tags, reasoning)


@lru_cache(maxsize=16)
def _around_elements(tags: tuple[str, ...], reasoning: tuple[str, str] | None) -> Around:
    """Forge's dialect.

    A parser takes an opener with attributes for one too, and none right after a backtick or a backslash (protocol,
    section 1). The one would be no text, and the other no call: a grammar writes neither. Inline code and comments
    around a call are not looked for: what stands in them is shown, and no call.
    """
    opener = f"<{FORGE.block}>"
    openers = choice(sequence(literal(f"<{FORGE.block}"), chars(_TAG_ENDS)), *(literal(f"<{tag}>") for tag in tags))
    text = Not(sequence(ANYTHING, openers, ANYTHING))
    shown = (*(opener[:-1] + space for space in SPACES), f"`{opener}", f"\\{opener}")
    end = reasoning[1] if reasoning else ""
    thought = sequence(without(end), literal(end)) if end else EMPTY
    return Around(_lead(text), text, thought, (*shown, *(f"<{tag}>" for tag in tags)), (end,))


@lru_cache(maxsize=64)
def _around_tags(names: tuple[str, ...], tags: tuple[str, ...], reasoning: tuple[str, str] | None) -> Around:
    """Calls that are elements named as their tools: no start tag of these names in any case."""
    words = sequence(_any_case("<"), choice(*map(_any_case, (*names, *tags))), chars(_TAG_ENDS + "/"))
    text = _free_of(words)
    end = reasoning[1] if reasoning else ""
    # An end tag in a value of a call does not end reasoning (protocol, 1.4): no call begins there.
    thought = sequence(_free_of(words, literal(end)), literal(end)) if end else EMPTY
    return Around(_lead(text), text, thought, None, (end,))


@lru_cache(maxsize=64)
def _around_marks(dialect: Dialect, tags: tuple[str, ...], reasoning: tuple[str, str] | None) -> Around:
    """Other dialects: no mark by which something begins that is no text, in any of the dialect's forms."""
    trigger = written_form(dialect).trigger
    allowed = tuple(mark for mark in dialect.around_text if reasoning is None or mark != reasoning[1])
    calls = [form.opener for form in dialect.forms if not (form.is_bare or form.is_first)]
    calls += [form.pairs.name for form in dialect.forms if form.pairs is not None and form.pairs.bare]
    ends = [mark for mark in dialect.turn_ends if mark not in (*dialect.around_text, *dialect.thought_ends)]
    others = [*calls, *ends, *(start for start, _ in dialect.thoughts)]
    marks = list(dict.fromkeys(mark if mark == trigger else shortened(mark, trigger, *allowed) for mark in others))
    marks += [reasoning[1]] if reasoning else []
    openers = [sequence(_any_case(f"<{tag}"), chars(_TAG_ENDS + "/")) for tag in tags]
    barred = [sequence(ANYTHING, choice(any_of(marks), *openers), ANYTHING)]
    first: list[Regular] = [literal(form.opener.strip()) for form in dialect.forms if form.is_first]
    first += [chars("{[")] if dialect.is_bare else []  # a reply that begins as JSON does may be a call
    if first:  # no word says where a text begins
        barred.append(sequence(star(chars(SPACES)), choice(*first), ANYTHING))
    text = Not(choice(*barred))  # one complement: two are soon too many expressions for llguidance
    words = [f"`{trigger}", f"\\{trigger}", *(word for mark in marks for word in _words(mark))]
    words += _tag_words(tags)
    excludes = None if first else tuple(word for word in dict.fromkeys(words) if word != trigger)
    if reasoning is None:
        return Around(_lead(text), text, EMPTY, excludes, (), allowed)
    # A call ends reasoning in most dialects, and another opener asks for another end.
    # Where the prompt has begun it, nobody knows by which delimiter: all ends of the dialect count.
    ends = list(dict.fromkeys([reasoning[1], *dialect.thought_ends, *(calls if dialect.ends_reasoning else ())]))
    own = [tag for tag in tags if f"<{tag}>" == reasoning[0]]
    nested = [opener for tag, opener in zip(tags, openers, strict=True) if tag in own]
    thought = sequence(_free_of(any_of(ends), *nested), literal(reasoning[1]))
    thought_excludes = (*(word for mark in ends for word in _words(mark)), *_tag_words(own))
    return Around(_lead(text), text, thought, excludes, thought_excludes, allowed)


def _lead(text: Regular) -> Regular:
    return And((text, choice(sequence(ANYTHING, _HARMLESS), EMPTY)))


def _free_of(*openers: Regular) -> Regular:
    return Not(sequence(ANYTHING, choice(*openers), ANYTHING))


def _any_case(text: str) -> Regular:
    return sequence(*(chars(character.lower() + character.upper()) for character in text))


def _tag_words(tags: Iterable[str]) -> list[str]:
    """Return how start tags begin."""
    return [f"<{tag}{end}" for tag in tags for end in (*_TAG_ENDS, "/")]


def _words(mark: str) -> tuple[str, ...]:
    """Return a mark, and how it begins where blanks may stand in it."""
    return (mark, *(mark[:-1] + blank for blank in " \t")) if mark.endswith("=") else (mark,)
