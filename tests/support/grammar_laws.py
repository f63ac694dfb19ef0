"""What must hold of everything that a grammar lets an engine write, as functions: tests and `fuzz` call them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

import jsonschema
from grammar import TOOLS as SAMPLE
from support import grammar_values
from support.engines import llama_judge
from support.engines.llama_judge import TRIGGER, LlamaJudge
from support.engines.llguidance_judge import LlguidanceJudge
from support.engines.xgrammar_judge import XgrammarJudge
from support.tool_rng import read_xml, rng_accepts

from xmltools.errors import Code, XMLToolsError
from xmltools.grammar import GrammarIssue, build_grammar, grammar_issues
from xmltools.models import Reasoning, Reply, Text, ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event
from xmltools.parser import Parser, parse
from xmltools.render import render_instructions
from xmltools.render.forge_calls import write_call
from xmltools.render.type_descriptions import json_text, start_tag
from xmltools.render.writable import only_server
from xmltools.tools import Tool

FORMATS = ("gbnf", "lark", "structural_tag")
LLAMA = "llama.cpp"
"""GBNF once more, with the engine that it was made for."""
OUTSIDE = {Code.CODE_FENCE}
"""What stands around a block is not the grammar's business: a model may open a fence in its text."""

_SHOWN = re.compile(r"`[^`\n][^\n]*<tool>|<!(?:--|\[CDATA\[).*<tool>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)


def judges() -> tuple[str, ...]:
    """Return what `judge` takes here: the formats, and llama.cpp if that is installed."""
    return FORMATS if llama_judge.available() else (*FORMATS, LLAMA)


def judge(tools: list[Tool], format: str, **options: Any) -> Any:
    """Return an engine that judges by the grammar of the tools, in one of FORMATS, or llama.cpp."""
    if format == LLAMA:
        grammar = build_grammar(tools, "gbnf", **options)
        return LlamaJudge(grammar, trigger=TRIGGER if options.get("lazy") else None)
    grammar = build_grammar(tools, format, **options)
    if format == "lark":
        return LlguidanceJudge(grammar)
    return XgrammarJudge(grammar, structural_tag=format == "structural_tag")


def options(rng: Random) -> dict[str, Any]:
    """Return options of a grammar, most of them left out."""
    made: dict[str, Any] = {}
    drawn = (
        ("tool_choice", 0.3, ["required", "one"]),
        ("order", 0.3, ["schema"]),
        ("cdata", 0.3, ["required", "forbidden"]),
        ("end_tag_in_cdata", 0.2, [False]),
        ("white_space", 0.3, [0, 1, 5, 20]),
        ("max_calls", 0.3, [1, 2, 3]),
        ("reasoning", 0.2, ["think", "thinking", "reason"]),
        ("starts_in_reasoning", 0.5, [True]),
        ("lazy", 0.2, [True]),
    )
    for name, share, values in drawn:
        if rng.random() < share:
            made[name] = rng.choice(values)
    return _agreeing(made)


def _agreeing(made: dict[str, Any]) -> dict[str, Any]:
    """Leave out what contradicts another option."""
    dropped = set()
    if made.get("tool_choice") == "one":
        dropped.add("max_calls")
    if "reasoning" in made or made.get("tool_choice") == "required":
        dropped.add("lazy")
    if "reasoning" not in made:
        dropped.add("starts_in_reasoning")
    return {name: value for name, value in made.items() if name not in dropped}


def for_format(options: dict[str, Any], format: str) -> dict[str, Any]:
    """Return the options that a format has: only GBNF can be lazy."""
    return options if format in ("gbnf", LLAMA) else {name: each for name, each in options.items() if name != "lazy"}


EXAMPLES = re.compile(
    r"<!\[CDATA\[(?:(?!\]\]>).)*<!\[(?:CDATA\[|\]\]>)|<tool>(?:(?!</tool>).)*<tool>", re.DOTALL | re.IGNORECASE
)
"""Openers inside a value."""


def walk_is_right(
    text: str, tools: list[Tool], rng: Random, issues: list[GrammarIssue] | None = None, **options: Any
) -> str:
    """Return what is wrong with a reply that an engine wrote: nothing, if all is well.

    With `issues`, calls may break what these name, and hold JSON.
    """
    if options.get("lazy"):
        text = text[text.find("<tool>") :] if "<tool>" in text else ""  # what stands in front is nobody's business
    if EXAMPLES.search(text):
        return ""  # openers inside values claim ends (4.9), which no grammar counts
    parser = Parser(tools, **_reading(options))
    events = list(_events(parser, text, rng))
    failed = [event.error for event in events if isinstance(event, CallFailed)]
    if any(not issues or error.code is not Code.INVALID_ARGUMENTS for error in failed):
        return f"failed: {failed[0]}"
    calls = [event.call for event in events if isinstance(event, CallCompleted)]
    reply = parse(text, tools, **_reading(options))
    if [_said(call) for call in calls] != [_said(call) for call in reply.calls]:
        return "the chunks matter"
    texts = [part.text for part in reply.parts if isinstance(part, Text)]
    if any(_SHOWN.search(each) for each in texts):
        return ""  # a call that is only shown: what the model says by that, no grammar knows
    if any("<tool>" in each for each in texts):
        return "an opener was read as text"
    wrong = next(filter(None, (_call_is_right(call, tools, text, issues) for call in calls)), "")
    return wrong or _keeps_promises(reply, text, tools, options)


def _reading(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a parser for what a grammar with these options generates."""
    made: dict[str, Any] = {"starts_in_reasoning": bool(options.get("starts_in_reasoning")), "code_fences": "call"}
    return {**made, "reasoning_tags": ("think", "thinking", "reason")} if options.get("reasoning") == "reason" else made


def _said(call: ToolCall) -> tuple[Any, ...]:
    return call.server, call.name, call.arguments, call.repairs, call.span


def _events(parser: Parser, text: str, rng: Random) -> Iterator[Event]:
    at = 0
    while at < len(text):
        end = at + rng.choice([1, 2, 5, 50])
        yield from parser.feed(text[at:end])
        at = end
    yield from parser.close()


def _call_is_right(call: ToolCall, tools: list[Tool], text: str, issues: list[GrammarIssue] | None) -> str:
    allowed = OUTSIDE if issues is None else OUTSIDE | _excused_repairs(call, issues)
    repairs = [repair for repair in call.repairs if repair.code not in allowed]
    if repairs:
        return f"mended: {repairs[0]}"
    tool = _tool_of(call, tools)
    errors = jsonschema.Draft202012Validator(tool.parameters).iter_errors(call.arguments)
    wrong = next((error for error in errors if not _excused(error, call.name, issues or [])), None)
    if wrong:
        return f"invalid: {wrong.message}"
    assert call.span is not None
    block = text[slice(*call.span)]
    return "" if rng_accepts(block) else f"tool.rng refuses {block}"


def _tool_of(call: ToolCall, tools: list[Tool]) -> Tool:
    return next(each for each in tools if (each.name, each.server) == (call.name, call.server))


def _excused_repairs(call: ToolCall, issues: list[GrammarIssue]) -> set[Code]:
    """Return the repairs that a call may have: JSON, and what comes of a value that breaks an issue's keyword."""
    broken = {issue.keyword for issue in issues if issue.tool == call.name} - {"additionalProperties"}
    return {Code.JSON_VALUE, Code.JSON_ARGUMENTS} | ({Code.COERCED_VALUE, Code.SINGLE_ITEM} if broken else set())


def _excused(error: Any, tool: str, issues: list[GrammarIssue]) -> bool:
    """Whether an issue is about the place of the error, or one around or inside it."""
    steps = ("[]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    place = "".join(steps).removeprefix(".")
    return any(
        issue.tool == tool
        and (place.startswith(issue.place.partition("*")[0].rstrip(".")) or issue.place.startswith(place))
        for issue in issues
    )


# What options promise.


def _keeps_promises(reply: Reply, text: str, tools: list[Tool], options: dict[str, Any]) -> str:
    count = sum(not isinstance(part, (Text, Reasoning)) for part in reply.parts)
    low, high = int(options.get("tool_choice", "auto") != "auto"), options.get("max_calls")
    if options.get("lazy"):
        low = int(bool(text))
    if options.get("tool_choice") == "one":
        high = 1
        if reply.text.strip():
            return "text beside the only call"
    if count < low or (high is not None and count > high):
        return f"{count} calls, not {low} to {high}"
    blocks = [(call, text[slice(*call.span)]) for call in reply.calls if call.span]
    return next(filter(None, (_block_keeps_promises(*each, tools, options) for each in blocks)), "") or _reasons(
        reply, options
    )


def _reasons(reply: Reply, options: dict[str, Any]) -> str:
    """Return what is wrong with the reasoning: it stands at the start, and nowhere without the option."""
    parts = [part for part in reply.parts if not isinstance(part, Text) or part.text.strip()]
    places = [number for number, part in enumerate(parts) if isinstance(part, Reasoning)]
    return f"reasoning at {places}" if places not in ([], [0]) or (places and "reasoning" not in options) else ""


def _block_keeps_promises(call: ToolCall, block: str, tools: list[Tool], options: dict[str, Any]) -> str:
    sections = [match[1] for match in _CDATA.finditer(block)]
    if options.get("cdata") == "forbidden" and sections:
        return "a CDATA section"
    if options.get("end_tag_in_cdata") is False and any("</tool>" in each for each in sections):
        return "an end tag in CDATA"
    if options.get("cdata") == "required" and (name := _outside_cdata(call, block, tools)):
        return f"{name} is not in CDATA"
    limit = options.get("white_space")
    if limit is not None and any(len(space) > limit for space in _spaces(block)):
        return f"more than {limit} characters of white space"
    if options.get("order") == "schema":
        return _out_of_order(call.arguments, _tool_of(call, tools).parameters)
    return ""


def _outside_cdata(call: ToolCall, block: str, tools: list[Tool]) -> str:
    """Return the name of a free string that does not stand in CDATA."""
    properties = _tool_of(call, tools).parameters.get("properties", {})
    free = [name for name, value in call.arguments.items() if value and properties.get(name) == {"type": "string"}]
    starts = (f"<{name}>" for name in free if f"<{name}>" in block)
    return next((start for start in starts if f"{start}<![CDATA[" not in block), "")


def _spaces(block: str) -> Iterator[str]:
    """Yield what stands between two tags, as far as it is white space."""
    for element in read_xml(block).iter():
        if len(element):
            yield element.text or ""
        yield element.tail or ""


def _out_of_order(value: dict[str, Any], schema: dict[str, Any]) -> str:
    """Return what does not stand in the order of the properties, in objects right inside objects too."""
    properties = list(schema.get("properties", ()))
    known = [properties.index(name) for name in value if name in properties]
    if known != sorted(known):
        return f"order {list(value)}, not {properties}"
    inner = ((each, schema["properties"][name]) for name, each in value.items() if name in properties)
    return next(
        filter(
            None, (_out_of_order(*pair) for pair in inner if isinstance(pair[0], dict) and isinstance(pair[1], dict))
        ),
        "",
    )


# The other way round: what is valid is accepted.


def rendered(
    tools: list[Tool], make: Callable[[Random, Tool], dict[str, Any]], rng: Random, count: int, *, alone: bool = False
) -> Iterator[str]:
    """Yield replies with calls whose arguments are valid, as our renderer writes them, in three indentations.

    `alone`: without text around the call.
    """
    for _ in range(count):
        tool = rng.choice(tools)
        call = ToolCall(id="1", name=tool.name, server=tool.server, arguments=make(rng, tool))
        needed = tool.server != only_server(tools)
        block = write_call(call, tool.shape, exact=True, server_names=rng.choice([needed, needed, None, True]))
        if "<tool_name>" not in block or not parse(block, tools).calls:
            continue  # values that look alike in text: the renderer took to JSON
        before, behind = rng.choice(["", "Hello `x` <b> "]), rng.choice(["", " bye", "\n"])
        block = _indented(block, rng)
        yield block if alone else before + block + behind


def _indented(block: str, rng: Random) -> str:
    """Return a block with its fields on one line, or behind tabs, or as it is."""
    form = rng.randrange(3)
    head, tag, rest = block.partition("<arguments>")
    if form == 0:
        return head.replace("\n", "") + tag + rest
    return head.replace("\n", "\n\t\t") + tag + rest if form == 1 else block


# What the prompt shows.


def shown(tools: list[Tool]) -> list[str]:
    """Return the calls that the instructions show as examples, read back and written as one tool after the other."""
    text = render_instructions(tools)
    found = [match[0] for match in re.finditer(r"(?ms)^<tool>\n.*?^</tool>$", text)]
    assert all(parse(each, tools).calls or "name_of_the_tool" in each for each in found)
    return [each for each in found if "name_of_the_tool" not in each]


def untold(text: str, tools: list[Tool]) -> str:
    """Return a name in the arguments of a call that the instructions, in either style, do not tell of."""
    for call in parse(text, tools).calls:
        full, compact = _told(_tool_of(call, tools))
        for name in _names_in(call.arguments):
            label = start_tag(name)
            if f"- {label} (" not in full or not re.search(rf"{re.escape(_member_name(name))}\??: ", compact):
                return label
    return ""


@lru_cache(maxsize=256)
def _told(tool: Tool) -> tuple[str, str]:
    return render_instructions([tool]), render_instructions([tool], style="compact")


def _member_name(name: str) -> str:
    return name if start_tag(name) == name else json_text(name)


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names_in(each)


# A toolset and all engines, as `fuzz` tries them.

WALKS = 20
"""Replies that each engine writes with one toolset."""


@dataclass(frozen=True)
class Written:
    """A reply that breaks a law: an engine wrote it, or refuses it. Without text the engine refuses the grammar."""

    format: str
    tools: list[Tool]
    options: dict[str, Any]
    text: str
    wrong: str
    strict: bool = True

    def __getstate__(self) -> dict[str, Any]:
        """What another process is told: not all that tools remember can be sent."""
        return {**self.__dict__, "tools": [Tool(**each.model_dump(include=_FIELDS)) for each in self.tools]}

    def __str__(self) -> str:
        tools = "\n".join(f"    {each.server}/{each.name}: {each.parameters}" for each in self.tools)
        return f"  {self.wrong[:500]}\n  {self.format} {self.options}\n{tools}\n  {self.text!r}"

    def smaller(self) -> Written:
        """Return the smallest reply found, for the smallest tools found, with which the same is wrong."""
        found = self
        if self.text and self.wrong != REFUSED:
            found = _shrunk(found, lambda each: replace(found, text=each), found.text)
        for number, tool in enumerate(found.tools):
            if self.wrong != REFUSED:
                found = _simpler(found, number, tool)
        return found

    def still(self, other: Written) -> bool:
        """Whether with another reply or other tools the same is wrong."""
        try:
            wrong = _wrong(other)
        except (XMLToolsError, ValueError, RuntimeError) as error:
            wrong = _sentence(error)
        return wrong[:12] == self.wrong[:12]


REFUSED = "refused, though it is valid"


def _wrong(of: Written) -> str:
    """Return what is wrong with a reply that the engine accepts; nothing, if it does not."""
    engine = judge(of.tools, of.format, **of.options)
    if not of.text or not engine.accepts(of.text):
        return ""
    issues = _issues(of.tools, of.format, of.options, of.strict)
    return walk_is_right(of.text, of.tools, Random(0), issues, **of.options)


def _issues(tools: list[Tool], format: str, options: dict[str, Any], strict: bool) -> list[GrammarIssue] | None:
    """Return what calls may break. None, if that is nothing and they are `strict`: then they hold no JSON either."""
    found = grammar_issues(tools, "gbnf" if format == LLAMA else format, **options)
    return None if strict and not found else found


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _shrunk(found: Written, changed: Callable[[str], Written], text: str) -> Written:
    """Leave out runs of characters, at first half of all and at last single ones, while the same is wrong."""
    size = len(text) // 2
    while size:
        at = 0
        while at < len(found.text):
            other = changed(found.text[:at] + found.text[at + size :])
            if found.still(other):
                found = other
            else:
                at += size
        size //= 2
    return found


def _simpler(found: Written, number: int, tool: Tool) -> Written:
    """Leave out what can be left out of the schema of a tool, place by place, while the same is wrong."""
    before = None
    while before != found.tools[number].parameters:
        before = found.tools[number].parameters
        for smaller in list(_smaller(before)):
            tools = list(found.tools)
            try:
                tools[number] = tool.model_copy(update={"parameters": smaller})
                other = replace(found, tools=[Tool(**each.model_dump(include=_FIELDS)) for each in tools])
            except XMLToolsError:
                continue
            if found.still(other):
                found = other
                break
    return found


_FIELDS = {"name", "server", "parameters"}


def _smaller(value: Any) -> Iterator[Any]:
    """Yield a JSON value with one of its members left out, from the outside to the inside."""
    if isinstance(value, dict):
        yield from ({key: each for key, each in value.items() if key != name} for name in value)
        yield from ({**value, name: each} for name in value for each in _smaller(value[name]))
    elif isinstance(value, list):
        yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        yield from ([*value[:at], each, *value[at + 1 :]] for at in range(len(value)) for each in _smaller(value[at]))


class Trial:
    """Toolset `number` of a seed, and what every engine makes of it. `counts` has what was tried.

    Every tenth toolset is that of the examples, every third one is wild: its calls need only be as valid as the issues
    of the grammar say. Two of three have options.
    """

    def __init__(self, seed: int, number: int) -> None:
        self._name = f"{seed}/grammar/{number}"
        rng = Random(self._name)
        self.counts: Counter[str] = Counter()
        self._strict = number % 3 != 1
        self._make: Callable[[Random, Tool], dict[str, Any]] | None = None
        if number % 10 == 0:
            self._tools, self._strict = SAMPLE, True
        elif self._strict:
            self._tools, self._make = grammar_values.tools(rng)
        else:
            self._tools = grammar_values.wild(rng)
        self._options = options(rng) if number % 3 else {}

    def run(self) -> Written | None:
        """Return the first reply that breaks a law."""
        found = (self._with(format, for_format(self._options, format)) for format in judges())
        return next(filter(None, found), None) or next(filter(None, map(self._accepted, judges())), None)

    def _with(self, format: str, options: dict[str, Any]) -> Written | None:
        text = ""
        try:
            engine = judge(self._tools, format, **options)
            issues = _issues(self._tools, format, options, self._strict)
            for number in range(WALKS):
                rng = Random(f"{self._name}/{format}/{number}")
                text = engine.walk(rng)
                self.counts[f"walks {format}" if text is not None else f"walks without end {format}"] += 1
                wrong = walk_is_right(text, self._tools, rng, issues, **options) if text else ""
                if text and not engine.accepts(text):
                    wrong = "the masks of the engine allow what it refuses"
                if wrong:
                    return Written(format, self._tools, options, text, wrong, self._strict)
        except Exception as error:  # whatever an engine says, and a parser never raises
            return Written(format, self._tools, options, text or "", _sentence(error), self._strict)
        return None

    def _accepted(self, format: str) -> Written | None:
        """Return the first valid reply that an engine refuses, or whose arguments the prompt does not tell of.

        The first replies are the calls that the prompt shows as examples.
        """
        if self._make is None:
            return None
        kept = {name: each for name, each in self._options.items() if name in ("tool_choice", "order", "reasoning")}
        engine = judge(self._tools, format, **kept)
        alone = kept.get("tool_choice") == "one"
        texts = rendered(self._tools, self._make, Random(self._name), 2 * WALKS, alone=alone)
        for text in (*shown(self._tools), *texts):
            self.counts[f"rendered {format}"] += 1
            # Grammars know one way to write CDATA in two sections, which is for ]]> alone.
            if not EXAMPLES.search(text) and not engine.accepts(text):
                return Written(format, self._tools, kept, text, REFUSED)
            if name := untold(text, self._tools):
                return Written(format, self._tools, kept, text, f"the prompt does not tell of {name}")
        return None
