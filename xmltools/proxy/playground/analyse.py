"""All that the playground shows of one text, as JSON values. No web library is needed for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from xmltools import dialects
from xmltools.conversations.compaction import estimate_tokens
from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar, grammar_issues
from xmltools.models import Conversation
from xmltools.models.events import Noticed
from xmltools.parser import Parser, detect, parse
from xmltools.proxy.playground.parts import Part, gather_parts, write_reading
from xmltools.proxy.playground.rechunk import rechunk
from xmltools.proxy.playground.steps import Timed, feed, step_of, write_steps
from xmltools.render import render_instructions
from xmltools.tools import Tool, load_tools

PARTS = 4_000
"""Parts that a text may fall into: texts, regions of reasoning, calls and errors."""
_DETECT = "detect"


class InputError(XMLToolsError):
    """What was asked makes no sense; `field` is "text", "tools" or "options", so that a page can point at it."""

    def __init__(self, field: str | None, message: str) -> None:
        super().__init__(message)
        self.field = field


class Options(BaseModel):
    """The options of the parser except its limits, the dialect or "detect", and what to show."""

    model_config = ConfigDict(extra="forbid", strict=True)

    strict: bool = False
    reasoning_tags: list[str] | None = None
    starts_in_reasoning: bool = False
    bracket_reasoning: bool = False
    code_fences: Literal["last", "call", "text"] = "last"
    also: str | Sequence[str] | None = None
    dialect: str = FORGE.name
    sections: Sequence[Literal["reading", "steps", "prompt", "grammar", "rechunk"]] = (
        *("reading", "steps", "prompt", "grammar"),
    )
    style: Literal["full", "compact"] = "full"
    grammar: str = "gbnf"
    seed: int = 0


_NOT_FOR_PARSERS = {"dialect", "sections", "style", "grammar", "seed"}


def list_dialects() -> list[dict[str, Any]]:
    """Return all dialects as JSON values: the name, a call of a tool `get`, and models that write it."""
    return [
        {"name": each.name, "example": each.example, "models": list(dialects.ids_of(each.name))}
        for each in dialects.all()
    ]


def analyse(text: Any, tools: Any = None, options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read a text as the parser does while it streams, and return what there is to see, by section.

    Takes the text; the tools, as `load_tools` takes them, or such JSON as text, or None; and options:

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
    analysis = Analysis(text, _read_tools(tools), _read_options(options))
    return {name: getattr(analysis, name)() for name in analysis.options.sections}


class Analysis:
    """One analysis, with a method for each section. The text is parsed once for all of them.

    `size`: characters of a step, if they are given; `is_whole`: no more of the text is to come.
    """

    def __init__(
        self, text: str, tools: list[Tool] | None, options: Options, *, size: int = 0, is_whole: bool = True
    ) -> None:
        self.options = options
        self._text = text
        self._tools = tools
        self._size = size or step_of(text)
        self._is_whole = is_whole

    def parser(self) -> Parser:
        """Return a parser for the text."""
        numbers = count(1)
        options = self.options.model_dump(exclude=_NOT_FOR_PARSERS)
        return Parser(self._tools, new_id=lambda: f"call_{next(numbers)}", dialect=self._dialect, **options)

    @cached_property
    def _detected(self) -> list[tuple[Dialect, int, int]]:
        """The dialects in which there are calls, if that is asked for: of the tools, else of any name."""
        if self.options.dialect != _DETECT:
            return []
        return detect([self._text], self._tools) or detect([self._text], None)

    @cached_property
    def _dialect(self) -> Dialect:
        """The dialect in which the text is read."""
        if self.options.dialect != _DETECT:
            return dialects.named(self.options.dialect)
        if self._detected:
            return self._detected[0][0]
        names = {dialect.name for dialect in dialects.all()}  # a call that was cut off, or is wrong in another way
        notices = parse(self._text, self._tools).notices
        return dialects.named(next((each.notation for each in notices if each.notation in names), FORGE.name))

    @cached_property
    def _read(self) -> tuple[list[Timed], list[Part], bool]:
        """The events with their steps, the parts that they come to, and whether the text ends in reasoning."""
        parser = self.parser()
        timed = feed(self._text, parser, self._size, is_whole=self._is_whole)
        parts = gather_parts(event for _, event in timed)
        if len(parts) > PARTS:
            raise InputError(
                "text", f"text: it falls into more than {PARTS:,} parts, which no page can show; shorten it"
            )
        return timed, parts, parser.unclosed_reasoning

    def reading(self) -> dict[str, Any]:
        """Return what was read, and in which dialect."""
        timed, parts, unclosed = self._read
        notices = [event.notice for _, event in timed if isinstance(event, Noticed)]
        return write_reading(self._text, parts, notices, self._tools or [], self._dialect) | {
            "dialect": self._dialect.name,
            "detected": [{"name": each.name, "calls": calls} for each, calls, _ in self._detected],
            "unclosed_reasoning": unclosed,
        }

    def steps(self) -> dict[str, Any]:
        """Return what each step brings."""
        return write_steps(self._text, self._read[0], self._size)

    def rechunk(self) -> dict[str, Any]:
        """Return whether another cutting changes anything."""
        return rechunk(self._text, [event for _, event in self._read[0]], self.parser(), self.options.seed)

    def prompt(self) -> dict[str, Any]:
        """Return the instructions that the tools make, or why there are none."""
        try:
            text = render_instructions(self._tools or [], style=self.options.style, dialect=self._dialect)
        except XMLToolsError as error:
            return {"error": str(error)}
        return {"text": text, "tokens": estimate_tokens(Conversation().user(text))}

    def grammar(self) -> dict[str, Any]:
        """Return the grammar of the tools, or why there is none."""
        tools, format = self._tools or [], self.options.grammar
        try:
            text = build_grammar(tools, format, dialect=self._dialect)
            issues = grammar_issues(tools, format, dialect=self._dialect)
        except XMLToolsError as error:
            return {"error": str(error)}
        return {"text": text, "issues": list(map(str, issues))}


def _read_tools(tools: Any) -> list[Tool] | None:
    """Return the tools, or None if there are none to check calls against. Raises InputError if they are invalid."""
    try:
        if isinstance(tools, str):
            tools = json.loads(tools) if tools.strip() else None
        if tools is None:
            return None
        loaded = load_tools(tools)
        Parser(loaded)  # compiles the schemas, and refuses two tools of one name
    except RecursionError:
        raise InputError("tools", "tools: expected schemas of a moderate depth, got one nested too deeply") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError("tools", f"tools: expected JSON, got something else at {place}: {error.msg}") from None
    except ValueError as error:
        raise InputError("tools", f"tools: {error}") from None
    return loaded


def _read_options(given: Any) -> Options:
    """Return the options. Raises InputError for an option that there is not, or a value that it can't have."""
    try:
        options = Options.model_validate({} if given is None else given)
        dialect = FORGE.name if options.dialect == _DETECT else options.dialect
        Parser(dialect=dialect, **options.model_dump(exclude=_NOT_FOR_PARSERS))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        place = ".".join(map(str, ("options", *wrong["loc"])))
        raise InputError("options", f"{place}: {wrong['msg']}, got {wrong['input']!r:.60}") from None
    except XMLToolsError as error:
        raise InputError("options", f"options: {error}") from None
    return options
