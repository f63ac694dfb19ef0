"""What a caller may ask of a grammar, checked once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from xmltools.dialects import FORGE, Body, Dialect, named
from xmltools.dialects.reasoning_tags import refuse_tag_of_calls
from xmltools.errors import XMLToolsError

ToolChoice = Literal["auto", "required", "one", "named", "arguments"]
Order = Literal["any", "schema"]
Cdata = Literal["allowed", "required", "forbidden"]

_CHOICES = {
    "tool_choice": ("auto", "required", "one", "named", "arguments"),
    "order": ("any", "schema"),
    "cdata": ("allowed", "required", "forbidden"),
}
_FLAGS = ("lazy", "end_tag_in_cdata", "starts_in_reasoning")
_COUNTS = {"max_calls": 1, "white_space": 0}
_OF_ELEMENTS = ("cdata", "end_tag_in_cdata")
_MOST_SPACE = 20
"""White space between two marks of other dialects than Forge's, if the caller does not say how much: models need one
line break, and parsers do not look further than 1,024 characters."""
_FREE = re.compile("name|example|writing|reasoning|json_.*")
"""Fields of a dialect of elements that its grammar does not depend on, or that it is made of."""
_SHOWN = 3
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a grammar: see `build_grammar`."""

    tool_choice: ToolChoice = "auto"
    name: str | None = None
    order: Order = "any"
    lazy: bool = False
    max_calls: int | None = None
    white_space: int | None = None
    cdata: Cdata = "allowed"
    end_tag_in_cdata: bool = True
    reasoning: str | None = None
    starts_in_reasoning: bool = False
    dialect: Dialect = FORGE

    @property
    def is_forge(self) -> bool:
        """Whether calls are elements, as in Forge's dialect."""
        return self.dialect.body is Body.ELEMENTS

    @property
    def reasoning_tags(self) -> tuple[str, ...]:
        """The tags that open reasoning, in which a call is none."""
        marks = self.reasoning_marks
        own = [self.reasoning] if self.reasoning and marks == (f"<{self.reasoning}>", f"</{self.reasoning}>") else []
        return tuple(dict.fromkeys((*self.dialect.reasoning, *own)))

    @property
    def reasoning_marks(self) -> tuple[str, str] | None:
        """The marks around the reasoning with which a reply may begin: tags, or marks of the dialect of that name."""
        if self.reasoning is None:
            return None
        for start, end in self.dialect.thoughts if self.reasoning not in self.dialect.reasoning else ():
            if self.reasoning in (start.strip(), re.sub(r"\W", "", start)):
                return start, end
        return f"<{self.reasoning}>", f"</{self.reasoning}>"

    @property
    def has_llguidance(self) -> bool:
        """Whether Lark is for llguidance: arguments alone are for OpenAI's custom tools, whose Lark has less."""
        return self.tool_choice != "arguments"

    @property
    def spared_end_tag(self) -> str:
        """What no CDATA section may hold: an end tag, or the start of another section; empty, if there is nothing."""
        if not self.is_forge:  # here other calls often follow, with sections of their own
            return "<![CDATA["
        return "" if self.end_tag_in_cdata else f"</{FORGE.block}>"


@dataclass(frozen=True, slots=True)
class Backend:
    """What a back end can print.

    `expressions`: languages are regular expressions, which must not become too long. `intersects`: it has operators
    for intersections and complements, so that none must be worked out.
    """

    expressions: bool = False
    intersects: bool = False


def read_options(given: Mapping[str, Any], **defaults: Any) -> Options:
    """Return the options that a caller gave.

    Raises XMLToolsError for those that are none, have a value that is none, or contradict each other.
    """
    known = [each.name for each in fields(Options)]
    for word, value in given.items():
        if word not in known:
            raise XMLToolsError(f"a grammar has no option {word!r}; there are {', '.join(known)}")
        _check(word, value)
    dialect = named(given.get("dialect") or FORGE)
    _check_reasoning(given.get("reasoning"), dialect)
    if dialect.body is Body.ELEMENTS:
        _check_for_elements(dialect)
    else:
        _check_for_marks(dialect, given)
        defaults = {"white_space": _MOST_SPACE, **defaults}
        given = {word: value for word, value in given.items() if word != "white_space" or value is not None}
    options = Options(**{**defaults, **given, "dialect": dialect})
    _check_together(options)
    return options


def _check_for_elements(dialect: Dialect) -> None:
    """Refuse calls as elements that are not spelled as Forge's: the rules write the names of Forge's only."""
    of_reading = (each.name for each in fields(Dialect) if each.init and not _FREE.fullmatch(each.name))
    others = [name for name in of_reading if getattr(dialect, name) != getattr(FORGE, name)]
    if others:
        others.sort(key=lambda name: not getattr(dialect, name))  # what is given says more than what is not
        shown = ", ".join(f"{name}={getattr(dialect, name)!r:.60}" for name in others[:_SHOWN])
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        raise XMLToolsError(
            f"dialect: grammars of calls as elements are made for the names of {FORGE.name!r} only, and "
            f"{dialect.name!r} has others: {shown}{more}; leave the grammar out, as the calls are read without one, or "
            f"let the model write calls in {FORGE.name!r}"
        )


def _check_for_marks(dialect: Dialect, given: Mapping[str, Any]) -> None:
    """Refuse what only Forge's dialect has."""
    for word in _OF_ELEMENTS:
        if word in given and dialect.body is not Body.TAGS:
            raise XMLToolsError(f"{word}: values in {dialect.name!r} have no CDATA sections; leave {word} out")
    if "end_tag_in_cdata" in given:
        raise XMLToolsError(f"end_tag_in_cdata: </tool> ends no call in {dialect.name!r}; leave end_tag_in_cdata out")
    if given.get("tool_choice") == "arguments":
        raise XMLToolsError(
            f"tool_choice: 'arguments' is for readers of Forge's dialect; in {dialect.name!r} use 'named'"
        )
    is_json = dialect.body is Body.JSON or (dialect.pairs is not None and dialect.pairs.json)
    if given.get("order") == "any" and is_json:
        raise XMLToolsError(
            f"order: arguments in {dialect.name!r} are JSON, which is written in the order of the schema; "
            "leave order out"
        )
    if given.get("lazy") and (dialect.is_bare or dialect.body is Body.TAGS):
        raise XMLToolsError(f"lazy: a call in {dialect.name!r} has no mark that could be a trigger; leave lazy out")


def _check(word: str, value: Any) -> None:
    if word in _CHOICES and value not in _CHOICES[word]:
        raise XMLToolsError(f"{word}: expected one of {', '.join(map(repr, _CHOICES[word]))}, got {value!r:.80}")
    if word in _FLAGS and not isinstance(value, bool):
        raise XMLToolsError(f"{word}: expected True or False, got {value!r:.80}")
    if word in _COUNTS and value is not None and (type(value) is not int or value < _COUNTS[word]):
        raise XMLToolsError(f"{word}: expected a whole number of at least {_COUNTS[word]}, or None, got {value!r:.80}")
    if word == "name" and value is not None and not isinstance(value, str):
        raise XMLToolsError(f"name: expected the name of a tool, got {value!r:.80}")


def _check_reasoning(tag: Any, dialect: Dialect) -> None:
    own = _starts_of_thoughts(dialect)
    if tag is None or (isinstance(tag, str) and (_TAG.fullmatch(tag) or tag in (*own, *dialect.reasoning))):
        return
    or_own = f", or {' or '.join(map(repr, own))}" if own else ""
    raise XMLToolsError(
        f"reasoning: expected the name of a tag, such as 'think', without brackets{or_own}, got {tag!r:.80}"
    )


def _starts_of_thoughts(dialect: Dialect) -> tuple[str, ...]:
    """The delimiters with which reasoning begins in a dialect."""
    return tuple(dict.fromkeys(start.strip() for start, _ in dialect.thoughts))


def _check_together(options: Options) -> None:
    if options.name is not None and options.tool_choice not in ("named", "arguments"):
        raise XMLToolsError(
            f"name: means something only with tool_choice 'named' or 'arguments', not {options.tool_choice!r}"
        )
    if options.tool_choice == "named" and options.name is None:
        raise XMLToolsError("tool_choice 'named': give the name of the tool as name=")
    if options.reasoning is not None:
        refuse_tag_of_calls(options.reasoning, options.dialect, "reasoning")
    if options.starts_in_reasoning and options.reasoning is None:
        raise XMLToolsError("starts_in_reasoning: give the tag that ends the reasoning, such as reasoning='think'")
    if options.tool_choice in ("one", "named", "arguments") and options.max_calls is not None:
        raise XMLToolsError(
            f"max_calls: with tool_choice {options.tool_choice!r} there is one call anyway; leave it out"
        )
    if options.lazy:
        _check_lazy(options)


def _check_lazy(options: Options) -> None:
    if options.tool_choice in ("required", "arguments"):
        raise XMLToolsError(
            f"lazy: a grammar that waits for its trigger can't enforce tool_choice {options.tool_choice!r}; "
            "leave lazy out, or use 'auto': text comes first in any case, and once a call has begun it is right"
        )
    if options.reasoning is not None:
        raise XMLToolsError("lazy: whatever stands before the trigger is free already; leave reasoning out")
