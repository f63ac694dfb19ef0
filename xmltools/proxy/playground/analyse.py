"""All that the playground shows of one text, as JSON values. No web library is needed for it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from xmltools import dialects
from xmltools.conversations.compaction import estimate_tokens
from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.grammar import build_grammar, grammar_issues
from xmltools.models import Conversation
from xmltools.models.events import CallStarted, Event, Noticed, Skipped
from xmltools.parser import Parser, detect, parse
from xmltools.proxy.bridge import Refusal
from xmltools.proxy.playground.parts import Part, gather_parts, write_path, write_reading
from xmltools.render import render_instructions
from xmltools.tools import Tool, load_tools

PARTS = 4_000
"""Parts that a text may fall into: texts, regions of reasoning, calls and errors."""
POSITIONS = 20_000
"""Steps that a text is cut into at most."""
_DETECT = "detect"
_SIZES = (1, 3, 8, 30, 200)
"""Characters of a piece, about, where the text is cut at random: characters, tokens, lines, packets."""


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
    style: Literal["full", "compact"] = "full"
    grammar: str = "gbnf"
    seed: int | None = None

    def parser(self, tools: Sequence[Tool] | None, dialect: Dialect) -> Parser:
        """Return a parser with these options, which numbers calls."""
        numbers = count(1)
        options = self.model_dump(exclude={"dialect", "style", "grammar", "seed"})
        return Parser(tools, new_id=lambda: f"call_{next(numbers)}", dialect=dialect, **options)


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
    - the `style` of the prompt, and the format of the `grammar`;
    - a `seed`, with which the text is cut at random and read once more.

    The sections are `"reading"` (blocks, spans that tile the text, marks), `"steps"` (what each character brings),
    `"prompt"` (the instructions that the tools make) and `"grammar"`, both in the dialect of the reading; with a seed
    also `"cuts"`: their places, and whether all is the `same` with them.

    Returns JSON values, whose numbers a browser can hold: ids of calls are `call_1`, `call_2` and so on. What tools
    can't give, such as a grammar of none, is `{"error": sentence}` in its section. Raises Refusal, which names the
    field, for a text that is none or has more than `PARTS` parts, invalid tools, and options that there are not.
    """
    if not isinstance(text, str):
        raise Refusal(f"text: expected a string, got {type(text).__name__}", param="text")
    step = max(1, -(-len(text) // POSITIONS))
    analysis = Analysis(text, _read_tools(tools), _read_options(options), step)
    sections = ("reading", "steps", "prompt", "grammar", *["cuts"] * (analysis.options.seed is not None))
    return {section: getattr(analysis, section)() for section in sections}


@dataclass
class Analysis:
    """One analysis, with a method for each section. The text is parsed once for all of them.

    `step`: characters that the parser is fed at once; `is_whole`: no more of the text is to come.
    """

    text: str
    tools: list[Tool] | None
    options: Options
    step: int
    is_whole: bool = True

    @cached_property
    def _detected(self) -> list[tuple[Dialect, int, int]]:
        """The dialects in which there are calls, if that is asked for: of the tools, else of any name."""
        if self.options.dialect != _DETECT:
            return []
        return detect([self.text], self.tools) or detect([self.text], None)

    @cached_property
    def _dialect(self) -> Dialect:
        """The dialect in which the text is read."""
        if self.options.dialect != _DETECT:
            return dialects.named(self.options.dialect)
        if self._detected:
            return self._detected[0][0]
        known = {dialect.name: dialect for dialect in dialects.all()}
        notices = parse(self.text, self.tools).notices  # a call that was cut off, or is wrong in another way
        return next((known[each.notation] for each in notices if each.notation in known), FORGE)

    @cached_property
    def _read(self) -> tuple[list[tuple[int, Event]], list[Part], bool]:
        """What is read in steps."""
        return self._read_pieces([self.text[at : at + self.step] for at in range(0, len(self.text), self.step)])

    def _read_pieces(self, pieces: list[str]) -> tuple[list[tuple[int, Event]], list[Part], bool]:
        """The events with the numbers of their pieces, from 1 on; the parts that they come to; and whether the text
        ends in reasoning. The end is a piece, too, unless more is to come."""
        parser = self.options.parser(self.tools, self._dialect)
        timed = [(number, event) for number, piece in enumerate(pieces, 1) for event in parser.feed(piece)]
        if self.is_whole:
            timed += [(len(pieces) + 1, event) for event in parser.close()]
        else:
            parser.abandon()
        parts = gather_parts(event for _, event in timed)
        if len(parts) > PARTS:
            raise Refusal(
                f"text: it falls into more than {PARTS:,} parts, which no page can show; shorten it", param="text"
            )
        return timed, parts, parser.unclosed_reasoning

    def reading(self) -> dict[str, Any]:
        """Return what was read, and in which dialect."""
        timed, parts, unclosed = self._read
        notices = [event.notice for _, event in timed if isinstance(event, Noticed)]
        return write_reading(self.text, parts, notices, self.tools or [], self._dialect) | {
            "dialect": self._dialect.name,
            "detected": [{"name": each.name, "calls": calls} for each, calls, _ in self._detected],
            "unclosed_reasoning": unclosed,
        }

    def steps(self) -> dict[str, Any]:
        """Return the size of a step, how many there are, and the events with the numbers of their steps."""
        events = [{"at": at, **_written(event)} for at, event in self._read[0]]
        return {"size": self.step, "count": -(-len(self.text) // self.step), "events": events}

    def cuts(self) -> dict[str, Any]:
        """Return where a seed cuts the text, and whether all that is read is the same with these cuts."""
        pick, length = Random(self.options.seed), len(self.text)
        size = max(min(pick.choice(_SIZES), length // 8), length // POSITIONS, 1)
        places = sorted(pick.sample(range(1, length), (length - 1) // size)) if length else []
        pieces = [self.text[start:end] for start, end in pairwise([0, *places, length])]
        (timed, *rest), (cut, *others) = self._read, self._read_pieces(pieces)
        return {"places": places, "same": rest == others and _joined(timed) == _joined(cut)}

    def prompt(self) -> dict[str, Any]:
        """Return the instructions that the tools make, or why there are none."""
        try:
            text = render_instructions(self.tools or [], style=self.options.style, dialect=self._dialect)
        except XMLToolsError as error:
            return {"error": str(error)}
        return {"text": text, "tokens": estimate_tokens(Conversation().user(text))}

    def grammar(self) -> dict[str, Any]:
        """Return the grammar of the tools, or why there is none."""
        tools, format = self.tools or [], self.options.grammar
        try:
            text = build_grammar(tools, format, dialect=self._dialect)
            issues = grammar_issues(tools, format, dialect=self._dialect)
        except XMLToolsError as error:
            return {"error": str(error)}
        return {"text": text, "issues": list(map(str, issues))}


def _joined(timed: Iterable[tuple[int, Event]]) -> dict[Any, str]:
    """What events say, with their deltas joined: how text, calls and notices mix does not matter. Layout is in the
    parts."""
    said: dict[Any, str] = defaultdict(str)
    number = 0
    for _, event in timed:
        number += isinstance(event, CallStarted)
        path = getattr(event, "path", None)
        if not isinstance(event, Skipped):
            said[type(event), path, number * (path is not None)] += getattr(event, "text", repr(event))
    return said


def _written(event: Event) -> dict[str, Any]:
    """An event as JSON values. Calls and errors are in the reading, in the same order."""
    if isinstance(event, Noticed):
        return {"kind": "Noticed", "text": event.notice.message}
    fields = {name: getattr(event, name) for name in ("id", "name", "path", "text", "span") if hasattr(event, name)}
    if "path" in fields:
        fields["path"] = write_path(fields["path"])
    return {"kind": type(event).__name__, **fields}


def _read_tools(tools: Any) -> list[Tool] | None:
    """Return the tools, or None if there are none to check calls against. Raises Refusal if they are invalid."""
    try:
        if isinstance(tools, str):
            tools = json.loads(tools) if tools.strip() else None
        if tools is None:
            return None
        loaded = load_tools(tools)
        Parser(loaded)  # compiles the schemas, and refuses two tools of one name
    except RecursionError:
        raise Refusal("tools: expected schemas of a moderate depth, got one nested too deeply", param="tools") from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Refusal(f"tools: expected JSON, got something else at {place}: {error.msg}", param="tools") from None
    except ValueError as error:
        raise Refusal(f"tools: {error}", param="tools") from None
    return loaded


def _read_options(given: Any) -> Options:
    """Return the options. Raises Refusal for an option that there is not, or a value that it can't have."""
    try:
        options = Options.model_validate({} if given is None else given)
        options.parser(None, FORGE if options.dialect == _DETECT else dialects.named(options.dialect))
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        place = ".".join(map(str, ("options", *wrong["loc"])))
        raise Refusal(f"{place}: {wrong['msg']}, got {wrong['input']!r:.60}", param="options") from None
    except XMLToolsError as error:
        raise Refusal(f"options: {error}", param="options") from None
    return options
