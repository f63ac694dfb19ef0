"""What stands around calls: prose in which nothing else opens, and reasoning in front of it."""

from __future__ import annotations

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
from xmltools.grammar.rules.strings import without
from xmltools.grammar.rules.written_form import written_form
from xmltools.grammar.text_tree import Dispatch, Node
from xmltools.syntax.markup import SPACES

_TAG_ENDS = f">{SPACES}"
_HARMLESS = Chars(subtract(ALL, chars("`\\").ranges))
"""What may stand right before an opener."""


@dataclass(frozen=True, slots=True)
class Around:
    """What may stand around calls: `lead` before the first mark of one, `prose` elsewhere, and `thought` up to the end
    of reasoning, which is in it. `excludes` says the same of prose in words, for engines that look for them."""

    lead: Regular
    prose: Regular
    thought: Regular
    excludes: tuple[str, ...]
    thought_excludes: tuple[str, ...]

    def dispatch(self, trigger: str, body: Node, low: int, high: int | None) -> Dispatch:
        """Return prose with the `body` wherever the `trigger` stands in it."""
        return Dispatch(self.lead, trigger, body, self.prose, low, high, self.excludes)


def around(options: Options) -> Around:
    """Return what may stand around calls in the dialect of the options."""
    reasoning = options.reasoning_marks
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
def _around_marks(dialect: Dialect, tags: tuple[str, ...], reasoning: tuple[str, str] | None) -> Around:
    """Other dialects: no mark by which something begins that is no text, in any of the dialect's forms."""
    trigger = written_form(dialect).trigger
    calls = [form.opener for form in dialect.forms if not form.is_bare]
    calls += [form.pairs.name for form in dialect.forms if form.pairs is not None and form.pairs.bare]
    others = [*calls, *dialect.turn_ends, *(start for start, _ in dialect.thoughts)]
    marks = list(dict.fromkeys(mark if mark == trigger else shortened(mark, trigger) for mark in others))
    marks += [reasoning[1]] if reasoning else []
    openers = [sequence(_any_case(f"<{tag}"), chars(_TAG_ENDS + "/")) for tag in tags]
    text = _free_of(any_of(marks), *openers)
    if dialect.is_bare:  # a reply that begins as JSON does may be a call
        text = And((text, Not(sequence(star(chars(SPACES)), chars("{["), ANYTHING))))
    words = [f"`{trigger}", f"\\{trigger}", *(word for mark in marks for word in _words(mark))]
    words += [f"<{tag}{end}" for tag in tags for end in _TAG_ENDS]
    excludes = tuple(word for word in dict.fromkeys(words) if word != trigger)
    if reasoning is None:
        return Around(_lead(text), text, EMPTY, excludes, ())
    # A call ends reasoning in most dialects, and another opener asks for another end.
    ends = list(dict.fromkeys([reasoning[1], *(calls if dialect.ends_reasoning else ())]))
    nested = [opener for tag, opener in zip(tags, openers, strict=True) if f"<{tag}>" == reasoning[0]]
    thought = sequence(_free_of(any_of(ends), *nested), literal(reasoning[1]))
    return Around(_lead(text), text, thought, excludes, tuple(word for mark in ends for word in _words(mark)))


def _lead(text: Regular) -> Regular:
    return And((text, choice(sequence(ANYTHING, _HARMLESS), EMPTY)))


def _free_of(*openers: Regular) -> Regular:
    return Not(sequence(ANYTHING, choice(*openers), ANYTHING))


def _any_case(text: str) -> Regular:
    return sequence(*(chars(character.lower() + character.upper()) for character in text))


def _words(mark: str) -> tuple[str, ...]:
    """Return a mark, and how it begins where blanks may stand in it."""
    return (mark, *(mark[:-1] + blank for blank in " \t")) if mark.endswith("=") else (mark,)
