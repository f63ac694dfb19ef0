"""All that the playground shows of one text, as JSON values. No web library is needed for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from xmltools import dialects
from xmltools.conversations.compaction import estimate_tokens
from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.grammar import FORMATS, build_grammar, grammar_issues
from xmltools.models import Conversation
from xmltools.parser import Parser, detect, parse
from xmltools.proxy.playground.parts import write_reading
from xmltools.proxy.playground.rechunk import rechunk
from xmltools.proxy.playground.steps import Record, record, write_steps
from xmltools.render import render_instructions
from xmltools.tools import Tool, load_tools

DETECT = "detect"
"""The option in place of a dialect's name."""
PARTS = 4_000
"""Parts that a text may fall into: texts, regions of reasoning, calls and errors."""


class Detected(NamedTuple):
    """A dialect in which a text has calls: how many, and how many blocks that give none."""

    name: str
    calls: int
    errors: int


def list_dialects() -> list[dict[str, Any]]:
    """Return all dialects as JSON values: the name, a call of a tool `get`, and models that write it."""
    return [
        {"name": each.name, "example": each.example, "models": list(dialects.ids_of(each.name))}
        for each in dialects.all()
    ]


class InputError(XMLToolsError):
    """What was asked makes no sense; `field` is "text", "tools" or "options", so that a page can point at it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def analyse(text: str, tools: list[Any] | None = None, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read a text as the parser does while it streams, and return what there is to see, by section.

    Takes the text; the tools, as `load_tools` takes them, or None; and options:

    - those of `Parser` that are plain values: `strict`, `reasoning_tags`, `starts_in_reasoning`, `bracket_reasoning`,
      `code_fences`, `also`, and the name of a `dialect`, or `"detect"` for that in which the text has most calls; the
      reading says which it was, and with `"detect"` what was found in each;
    - `sections`: some of `"reading"` (parts, spans that tile the text, marks), `"steps"` (what each character brings),
      `"prompt"` (the instructions that the tools make, in `style`), `"grammar"` (in the format that `grammar` names),
      both in the dialect of the reading, and `"rechunk"` (the text cut at random by `seed`, and whether anything
      changed); all but the last by default.

    Returns JSON values, whose numbers a browser can hold: ids of calls are `call_1`, `call_2` and so on. What tools
    can't give, such as a grammar of none, is `{"error": sentence}` in its section. Raises InputError, which names the
    field, for a text that is none or has more than `PARTS` parts, invalid tools, and options that there are not.
    """
    if not isinstance(text, str):
        raise InputError("text", f"text: expected a string, got {type(text).__name__}")
    analysis = _Analysis(text, _read_tools(tools), _read_options(options))
    sections = analysis.options.get("sections", _DEFAULT_SECTIONS)
    return {"characters": len(text)} | {name: getattr(analysis, name)() for name in sections}


@dataclass
class _Analysis:
    """One analysis, with a method for each section. The text is parsed once for all of them."""

    text: str
    tools: list[Tool] | None
    options: Mapping[str, Any]

    def parser(self) -> Parser:
        numbers = count(1)
        options = _for_parser(self.options)
        return Parser(self.tools, new_id=lambda: f"call_{next(numbers)}", dialect=self.dialect, **options)

    @cached_property
    def detected(self) -> list[Detected]:
        """The dialects in which there are calls, if that is asked for: of the tools, else of any name."""
        if self.options.get("dialect") != DETECT:
            return []
        for known in (self.tools, None):
            if found := detect([self.text], known):
                return [Detected(dialect.name, calls, errors) for dialect, calls, errors in found]
        return []

    @cached_property
    def dialect(self) -> Dialect:
        """The dialect in which the text is read."""
        chosen = self.options.get("dialect", FORGE.name)
        if chosen != DETECT:
            return dialects.named(chosen)
        if self.detected:
            return dialects.named(self.detected[0].name)
        names = {dialect.name for dialect in dialects.all()}  # a call that was cut off, or is wrong in another way
        notices = parse(self.text, self.tools).notices
        return dialects.named(next((each.notation for each in notices if each.notation in names), FORGE.name))

    @cached_property
    def record(self) -> Record:
        found = record(self.text, self.parser())
        if len(found.parts) > PARTS:
            raise InputError(
                "text", f"text: it falls into more than {PARTS:,} parts, which no page can show; shorten it"
            )
        return found

    def reading(self) -> dict[str, Any]:
        found = self.record
        reading = write_reading(self.text, found.parts, found.notices, self.tools, self.dialect)
        how = {"dialect": self.dialect.name, "detected": [each._asdict() for each in self.detected]}
        return reading | how | {"unclosed_reasoning": found.unclosed_reasoning}

    def steps(self) -> dict[str, Any]:
        return write_steps(self.text, self.record.timed)

    def rechunk(self) -> dict[str, Any]:
        return rechunk(self.text, self.record.events, self.parser(), self.options.get("seed", 0))

    def prompt(self) -> dict[str, Any]:
        style = self.options.get("style", "full")
        try:
            text = render_instructions(self.tools or [], style=style, dialect=self.dialect)
        except XMLToolsError as error:
            return {"error": str(error)}
        tokens = estimate_tokens(Conversation().user(text))
        return {"style": style, "text": text, "characters": len(text), "tokens": tokens}

    def grammar(self) -> dict[str, Any]:
        tools, format = self.tools or [], self.options.get("grammar", "gbnf")
        try:
            options = {"dialect": self.dialect} if self.dialect != FORGE else {}  # relaxng has no such option
            built = build_grammar(tools, format, **options)
            issues = grammar_issues(tools, format, **options)
        except XMLToolsError as error:
            return {"error": str(error)}
        texts = {"": built} if isinstance(built, str) else built
        return {
            "format": format,
            "texts": [{"name": name, "text": text} for name, text in texts.items()],
            "issues": [str(issue) for issue in issues],
        }


_SECTIONS = ("reading", "steps", "prompt", "grammar", "rechunk")
_DEFAULT_SECTIONS = _SECTIONS[:-1]


def _read_tools(tools: Any) -> list[Tool] | None:
    """Return the tools, or None if there are none to check calls against. Raises InputError if they are invalid."""
    if tools is None:
        return None
    try:
        loaded = load_tools(tools)
        Parser(loaded)  # compiles the schemas, and refuses two tools of one name
    except RecursionError:
        raise InputError("tools", "tools: expected schemas of a moderate depth, got one nested too deeply") from None
    except ValueError as error:
        raise InputError("tools", f"tools: {error}") from None
    return loaded


def _read_options(given: Any) -> Mapping[str, Any]:
    """Return the options. Raises InputError for an option that there is not, or a value that it can't have."""
    options = {} if given is None else given
    if not isinstance(options, Mapping):
        raise InputError("options", f"options: expected an object, got {options!r:.60}")
    for name, value in options.items():
        if name not in _OPTIONS:
            raise InputError("options", f"options: expected only {', '.join(_OPTIONS)}, got {name!r:.60}")
        for expected, fits in _OPTIONS[name]:
            if not fits(value):
                raise InputError("options", f"options.{name}: expected {expected}, got {value!r:.60}")
    try:
        Parser(**_for_parser(options))
    except XMLToolsError as error:
        raise InputError("options", f"options: {error}") from None
    return options


def _for_parser(options: Mapping[str, Any]) -> dict[str, Any]:
    others = ("style", "grammar", "sections", "seed", "dialect")
    return {name: value for name, value in options.items() if name not in others}


_Check = tuple[str, Callable[[Any], bool]]
"""What is expected of a value, and whether it is that."""


def _one_of(names: tuple[str, ...]) -> _Check:
    return f"one of {', '.join(names)}", lambda value: value in names


_FLAG: _Check = ("true or false", lambda value: isinstance(value, bool))
_NAMES: _Check = (
    "a list of names",
    lambda value: isinstance(value, list | tuple) and all(isinstance(each, str) for each in value),
)
_OPTIONS: dict[str, tuple[_Check, ...]] = {
    "strict": (_FLAG,),
    "starts_in_reasoning": (_FLAG,),
    "bracket_reasoning": (_FLAG,),
    "code_fences": (_one_of(("last", "call", "text")),),
    "dialect": (_one_of((DETECT, *(dialect.name for dialect in dialects.all()))),),
    "also": (
        (
            f"known, or some of {', '.join(dialect.name for dialect in dialects.all())}",
            lambda value: value == "known" or _NAMES[1](value),
        ),
    ),
    "style": (_one_of(("full", "compact")),),
    "grammar": (_one_of(tuple(FORMATS)),),
    "reasoning_tags": (_NAMES,),
    "sections": (_NAMES, (f"some of {', '.join(_SECTIONS)}", lambda value: set(value) <= set(_SECTIONS))),
    "seed": (("a whole number", lambda value: type(value) is int),),
}
"""The options, and what is checked of their values, one check after the other."""
