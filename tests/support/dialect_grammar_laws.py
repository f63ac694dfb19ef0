"""What must hold of all that a grammar of another dialect than Forge's lets an engine write.

`make fuzz ARGS="--walks 20000"` tries as many replies with each kind of grammar of each dialect.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from random import Random
from typing import Any

import jsonschema
from grammar import TOOLS as SAMPLE
from support import grammar_values
from support.engines.llguidance_judge import LlguidanceJudge
from support.engines.vocabulary import KINDS, Vocabulary, of_pieces
from support.engines.xgrammar_judge import XgrammarJudge

from xmltools.dialects import Body, Dialect, named
from xmltools.dialects import all as all_dialects
from xmltools.errors import Code, XMLToolsError
from xmltools.grammar import GrammarIssue, build_grammar, grammar_issues
from xmltools.grammar.rules.written_form import WrittenForm, written_form
from xmltools.models import Reasoning, Reply, Text, ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event
from xmltools.parser import Parser, parse
from xmltools.render import render_calls
from xmltools.render.dialect_calls import marked, to_python, type_word
from xmltools.tools import Tool
from xmltools.tools.schema import example_arguments

__all__ = [
    "DIALECTS",
    "FORMATS",
    "OTHERS",
    "REFUSED",
    "SAMPLE_TOOLS",
    "framed",
    "judge",
    "random_tools",
    "vocabulary_of",
    "wrong_with",
]

DIALECTS = (
    *("hermes", "qwen3_coder", "glm", "minimax_m2", "invoke", "dsml", "mistral", "llama3_json"),
    *("kimi_k2", "kimi_k3", "gemma", "harmony", "cohere", "minimax_m3"),
)
REFUSED = ("sarashina", "functionary", "react", "call_json", "arrow", "mirothinker")
"""Dialects without grammars: their calls are a list in Python, begin as other text does, or are elements of other names
than Forge's."""
OTHERS = tuple(each.name for each in all_dialects() if each.name not in ("forge", *DIALECTS, *REFUSED))
"""Dialects that have grammars too, as they are built of the same parts."""
FORMATS = ("gbnf", "lark", "structural_tag")

OUTSIDE = {Code.CODE_FENCE}
"""What stands around a call is not the grammar's business: a model may open a fence in its text."""

_SECTION = re.compile(r"<!--|<!\[CDATA\[", re.IGNORECASE)
_LONG = 10_000
"""Characters in which patterns are looked for: longer values fit none."""
_SHOWN = re.compile(r"`[^`\n][^\n]*{}|<!(?:--|\[CDATA\[).*{}", re.DOTALL)


def local(tools: list[Tool]) -> list[Tool]:
    """Return the tools on one server: calls in these dialects name none."""
    return [tool.model_copy(update={"server": "local"}) for tool in tools]


SAMPLE_TOOLS = local(SAMPLE)


def random_tools(rng: Random, *, wild: bool = False) -> list[Tool]:
    """Return tools with schemas that grammars can say, or with any."""
    return local(grammar_values.wild(rng) if wild else grammar_values.tools(rng)[0])


# Engines


_MINIMAX = "]<]minimax[>["
_TAGS = {_MINIMAX: [f"{_MINIMAX}<item>", f"{_MINIMAX}</item>", f"{_MINIMAX}<", f"{_MINIMAX}</", "<item>"]}
"""Tags in dialects that have a token before each."""


@lru_cache
def vocabulary_of(dialect: str | Dialect, names: tuple[str, ...] = (), keys: tuple[str, ...] = ()) -> Vocabulary:
    """Return a vocabulary to walk with: the pieces of Forge's, and the marks of a dialect, whole and cut.

    `names` and `keys` are those of tools and arguments, which make marks where tags are named as tools.
    """
    if named(dialect).body is Body.TAGS:
        return _of_tags(names, keys)
    forms = named(dialect).forms
    openers = [form.opener for form in forms[:1]] + [form.opener + "\n" for form in forms[:1]]
    close = [form.closer for form in forms] + ["\n" + form.closer for form in forms[:1]]
    opens: list[str] = ['"name"', '"arguments"', '"parameters"', '{"name": "', '", "arguments": {']
    traps = [form.opener for form in forms if form.opener != forms[0].opener] + list(named(dialect).turn_ends)
    for form in forms:
        traps += [form.opener[:-1], form.opener[:3], form.closer[:-1], f"`{form.opener}", form.separator]
        if (pairs := form.pairs) is not None:
            close += [pairs.value_end, "\n" + pairs.value_end, pairs.value_end + "\n", pairs.end, "\n" + pairs.end]
            close += [pairs.value_end + pairs.end, pairs.end + form.closer, pairs.name_end, pairs.key_end]
            opens += [
                pairs.name,
                pairs.key,
                pairs.value,
                pairs.value_end + pairs.key,
                pairs.value_end + "\n" + pairs.key,
            ]
            traps += [pairs.value_end[:-1], pairs.value_end[:2], pairs.key[:-1], pairs.name[:-1], pairs.end[:-1]]
            traps += [pairs.name[:-1] + " =", pairs.key[:-1] + "  ="]
            close += [pairs.quote, pairs.quote + "}", pairs.tag_mark, *_TAGS.get(pairs.tag_mark, ())]
            traps += [pairs.quote[:-1], pairs.tag_mark[:-1], pairs.tag_mark[:9]]
            opens += ["=", "True", "None", "')"] if pairs.python else []
    close += named(dialect).around_text
    traps += [mark for pair in named(dialect).thoughts for mark in pair]
    own = {"opener": openers, "close": close, "open": opens, "trap": [*traps, *KINDS["opener"]]}
    kinds = {**KINDS, "opener": ()}
    return of_pieces({kind: [*pieces, *filter(None, own.get(kind, ()))] for kind, pieces in kinds.items()})


def _of_tags(names: tuple[str, ...], keys: tuple[str, ...]) -> Vocabulary:
    own = {
        "opener": [f"<{name}>{end}" for name in names for end in ("", "\n")],
        "close": [f"{start}</{name}>" for name in (*names, *keys) for start in ("", "\n")],
        "open": [f"<{key}>" for key in keys],
        "trap": [*(f"<{name}/>" for name in names), *(f"<{name.upper()}>" for name in names), *names],
    }
    return of_pieces({kind: [*own.get(kind, ()), *KINDS[kind]] for kind in KINDS})


def judge(tools: list[Tool], dialect: str | Dialect, format: str, **options: Any) -> Any:
    """Return an engine that judges by the grammar of the tools."""
    grammar = build_grammar(tools, format, dialect=dialect, **options)
    names: tuple[tuple[str, ...], ...] = ()
    if named(dialect).body is Body.TAGS:
        keys = dict.fromkeys(key for tool in tools for key in tool.shape.properties)
        names = tuple(tool.name for tool in tools), tuple(keys)
    vocabulary = vocabulary_of(dialect, *names)
    if format == "lark":
        return LlguidanceJudge(grammar, vocabulary=vocabulary)
    return XgrammarJudge(grammar, structural_tag=format == "structural_tag", vocabulary=vocabulary)


# Calls


def framed(dialect: str, name: str, arguments: dict[str, Any], gap: str = "") -> str:
    """Return a call in the form of the dialect's example, with a gap where white space may be; texts are put in as
    they are, so that nobody has to be able to read it back."""
    form = written_form(named(dialect))
    head, tail = (gap.join(map("0".join, parts)) for parts in (form.head(name), form.tail))
    call = gap.join(filter(None, (head, _arguments(form, arguments, gap), tail)))
    inside = gap.join(filter(None, (form.opening, call, form.closing)))
    return gap.join(filter(None, (form.trigger, inside, form.dialect.closer)))


def _arguments(form: WrittenForm, arguments: dict[str, Any], gap: str) -> str:
    if form.python:
        return ", ".join(f"{key}={to_python(value)}" for key, value in arguments.items())
    if form.json:
        return marked(arguments, form.quote) if form.quote else json.dumps(arguments, ensure_ascii=False)
    pairs = []
    for key, value in arguments.items():
        kind = form.kinds[0 if isinstance(value, str) else 1]
        kind = type_word(value) if form.kinds[0] == "string" else kind
        text = _text(form, value)
        text = f"\n{text}\n" if form.dialect.pairs.framing else text
        pairs.append(f"{''.join(form.key(key, kind))}{text}{form.value_end}{form.after_value(key)}")
    return gap.join(pairs)


def _text(form: WrittenForm, value: Any) -> str:
    mark = form.tag_mark
    if mark and isinstance(value, dict):
        return "".join(f"{mark}<{key}>{_text(form, each)}{mark}</{key}>" for key, each in value.items())
    if mark and isinstance(value, list):
        return "".join(f"{mark}<item>{_text(form, each)}{mark}</item>" for each in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# The laws


def wrong_with(
    text: str,
    tools: list[Tool],
    dialect: str,
    rng: Random,
    issues: list[GrammarIssue] | None = None,
    counts: Counter[str] | None = None,
    **options: Any,
) -> str:
    """Return what is wrong with a reply that an engine wrote: nothing, if all is well.

    Read whole and at random cuts it is text and valid calls without repairs. With `issues`, calls may break what these
    name. `counts` gets the number of calls.
    """
    if len(text) > _LONG or (named(dialect).opener[:1] not in ("<", "]", "") and _SECTION.search(text)):
        return ""  # comments and sections that are open hide calls, and those calls may hold their ends
    in_reasoning = bool(options.get("starts_in_reasoning"))
    reading = {"dialect": dialect, "starts_in_reasoning": in_reasoning, "code_fences": "call"}
    marks = [start for start, _ in named(dialect).thoughts]  # `think` is `<|think|>` where the dialect has that
    starts = (*named(dialect).reasoning, *map(str.strip, marks), *(re.sub(r"\W", "", mark) for mark in marks))
    if (tag := options.get("reasoning")) and tag not in starts:
        reading["reasoning_tags"] = (*named(dialect).reasoning, tag)
    events = list(_events(Parser(tools, **reading), text, rng))
    failed = [event.error for event in events if isinstance(event, CallFailed)]
    calls = [event.call for event in events if isinstance(event, CallCompleted)]
    reply = parse(text, tools, **reading)
    if counts is not None:
        counts["calls"] += len(calls)
    if [_said(call) for call in calls] != [_said(call) for call in reply.calls]:
        return "the chunks matter"
    outside = "".join(part.text for part in reply.parts if isinstance(part, Text))
    if _hides(outside, dialect, tools):
        return ""  # a call that is only shown: what the model says by that, no grammar knows
    has_brace = any(repair.code is Code.JSON_EXTRA_BRACE for call in calls for repair in call.repairs)
    if has_brace or any(map(_goes_on, failed)):
        # Text after a call that its object ends begins as JSON (DIALECTS.md, 4.5): no grammar knows that.
        return ""
    if failed and not (issues and all(_is_excused(error, issues) for error in failed)):
        return f"failed: {failed[0]}"
    wrong = next(filter(None, (_call_is_right(call, tools, issues) for call in calls)), "")
    kept = "" if "reasoning" in options else _text_is_kept(reply, text, named(dialect))
    return wrong or kept or _keeps_promises(reply, text, tools, options)


def _events(parser: Parser, text: str, rng: Random) -> Iterator[Event]:
    at = 0
    while at < len(text):
        end = at + rng.choice([1, 2, 5, 50])
        yield from parser.feed(text[at:end])
        at = end
    yield from parser.close()


def _said(call: ToolCall) -> tuple[Any, ...]:
    return call.name, call.arguments, call.repairs, call.span


def _strings(value: Any) -> str:
    """Return all strings in a value."""
    if isinstance(value, str):
        return value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "".join(map(_strings, inside))


def _goes_on(error: Any) -> bool:
    return error.message == "there is more JSON after the object"


def _is_excused(error: Any, issues: list[GrammarIssue]) -> bool:
    """Whether a call failed by what an issue names: a keyword, or a key that stands twice in a map."""
    # A call whose JSON is broken has no name.
    names = {issue.keyword for issue in issues if error.name in (None, issue.tool)}
    is_twice = error.code is Code.INVALID_JSON and "additionalProperties" in names
    return bool(names) and (error.code is Code.INVALID_ARGUMENTS or is_twice)


def _hides(text: str, dialect: str, tools: list[Tool]) -> bool:
    """Whether a mark with which calls begin is in the text, where it is only shown."""
    known = named(dialect)
    openers = [f"<{tool.name}>" for tool in tools] if known.body is Body.TAGS else [known.opener]
    return any(
        opener in text and re.search(_SHOWN.pattern.format(*[re.escape(opener)] * 2), text, re.DOTALL)
        for opener in openers
    )


def _call_is_right(call: ToolCall, tools: list[Tool], issues: list[GrammarIssue] | None) -> str:
    issued = {issue.keyword for issue in issues or () if issue.tool == call.name}
    allowed = OUTSIDE | ({Code.COERCED_VALUE} if issued - {"additionalProperties"} else set())
    if "additionalProperties" in issued:  # a key stands twice: that is no JSON, and may be a string of a list
        allowed.add(Code.SINGLE_ITEM)
    repairs = [repair for repair in call.repairs if repair.code not in allowed]
    if repairs:
        return f"repaired: {repairs[0]}"
    if issues:
        return ""  # the parser checks what the schema demands
    (tool,) = (each for each in tools if each.name == call.name)
    errors = jsonschema.Draft202012Validator(tool.parameters).iter_errors(call.arguments)
    wrong = next(iter(errors), None)
    return f"invalid: {wrong.message}" if wrong else ""


def _text_is_kept(reply: Reply, text: str, dialect: Dialect) -> str:
    """Return what is wrong with the text around calls: all of it is text, but for white space, and what is left of
    delimiters (DIALECTS.md, 2.2)."""
    both = (mark for mark in dialect.turn_ends if mark in dialect.thought_ends)  # text may have these, as models do
    strays = (*dialect.strays, *dialect.around_text, *both, *(f"</{tag}>" for tag in dialect.reasoning))
    spans = [call.span for call in (*reply.calls, *reply.errors) if call.span]
    rest, at = "", 0
    for start, end in sorted(spans):
        rest += text[at:start]
        at = end
    rest += text[at:]
    one, other = ("".join(re.split("|".join(map(re.escape, strays)), each)) for each in (rest, reply.text))
    return "" if "".join(one.split()) == "".join(other.split()) else f"text is {reply.text!r}, not {rest!r}"


def _keeps_promises(reply: Reply, text: str, tools: list[Tool], options: dict[str, Any]) -> str:
    """Return which of its options a reply does not keep."""
    count = len(reply.calls) + len(reply.errors)
    low, high = int(options.get("tool_choice", "auto") != "auto"), options.get("max_calls")
    if options.get("tool_choice") == "one":
        high = 1
        if reply.text.strip():
            return "text beside the only call"
    if count < low or (high is not None and count > high):
        return f"{count} calls, not {low} to {high}"
    places = [number for number, part in enumerate(reply.parts) if isinstance(part, Reasoning)]
    if places and ("reasoning" not in options or any(place > 1 for place in places)):
        return f"reasoning at {places}"
    if options.get("order") == "schema":
        properties = {tool.name: list(tool.parameters.get("properties", ())) for tool in tools}
        for call in reply.calls:
            declared = properties[call.name]
            known = [declared.index(name) for name in call.arguments if name in declared]
            if known != sorted(known):
                return f"order {list(call.arguments)}"
    return ""


# Options


def options(rng: Random, dialect: str) -> dict[str, Any]:
    """Return options of a grammar, most of them left out."""
    made: dict[str, Any] = {}
    drawn = (
        ("tool_choice", 0.3, ["required", "one"]),
        ("order", 0.3, ["schema"]),
        ("white_space", 0.3, [0, 1, 5]),
        ("max_calls", 0.3, [1, 2, 3]),
        ("reasoning", 0.3, ["think", "reason", *(start.strip() for start, _ in named(dialect).thoughts[:1])]),
        ("starts_in_reasoning", 0.5, [True]),
    )
    for name, share, values in drawn:
        if rng.random() < share:
            made[name] = rng.choice(values)
    if made.get("tool_choice") == "one":
        made.pop("max_calls", None)
    if "reasoning" not in made:
        made.pop("starts_in_reasoning", None)
    return made


class Trial:
    """Toolset `number` of a seed, with one dialect and format. `counts` has what was tried.

    Every fifth toolset is that of the examples. Every fourth one is wild: its calls need only be as valid as the issues
    of the grammar say. Every second one has options.
    """

    def __init__(self, seed: int, number: int, dialect: str, format: str) -> None:
        self._name = f"{seed}/{dialect}/{format}/{number}"
        self._dialect = dialect
        self._format = format
        self.counts: Counter[str] = Counter()
        rng = Random(f"{seed}/{dialect}/{number}")
        self._make: Callable[[Random, Tool], dict[str, Any]] | None = None
        if number % 5 == 0:
            self._tools = SAMPLE_TOOLS
        elif number % 4 == 3:
            self._tools = random_tools(rng, wild=True)
        else:
            tools, self._make = grammar_values.tools(rng)
            self._tools = local(tools)
        self._options = options(rng, dialect) if number % 2 else {}

    def run(self, walks: int) -> str:
        """Return the first thing that is wrong with one of so many replies."""
        try:
            engine = judge(self._tools, self._dialect, self._format, **self._options)
        except XMLToolsError:
            self.counts["refused"] += 1  # a name that the dialect can't say
            return ""
        except (ValueError, RuntimeError) as error:
            return f"{self._name} {self._options}\n  {error}\n  {self._tools}"
        issues = grammar_issues(self._tools, self._format, dialect=self._dialect, **self._options) or None
        for number in range(walks):
            rng = Random(f"{self._name}/{number}")
            text = engine.walk(rng)
            self.counts["walks" if text is not None else "walks without end"] += 1
            if text is None:
                continue
            wrong = wrong_with(text, self._tools, self._dialect, rng, issues, self.counts, **self._options)
            if not wrong and not engine.accepts(text):
                wrong = "the masks of the engine allow what it refuses"
            if wrong:
                tools = [(tool.name, tool.parameters) for tool in self._tools]
                return f"{self._name} {self._options}\n  {wrong}\n  {text!r}\n  {tools}"
        return "" if self._options or issues else self._refused(engine, walks)

    def _refused(self, engine: Any, count: int) -> str:
        """Return the first call that is valid, and read back as it was written, but that the engine refuses.

        The first ones are the examples that prompts show.
        """
        opener = named(self._dialect).opener
        made = [(tool, example_arguments(tool.shape)) for tool in self._tools]
        if self._make is not None:
            rng = Random(self._name)
            drawn = [rng.choice(self._tools) for _ in range(count)]
            made += [(tool, self._make(rng, tool)) for tool in drawn]
        for tool, arguments in made:
            if arguments is None or "<" in repr(arguments) or (opener[:1] or "<") in _strings(arguments):
                continue  # where lengths or patterns are to be kept, grammars write no text that may begin a mark
            call = ToolCall(id="1", name=tool.name, server=tool.server, arguments=arguments)
            with suppress(XMLToolsError):
                text = self._written(call)
                found = parse(text, self._tools, dialect=self._dialect).calls
                if [(each.arguments, each.clean) for each in found] != [(arguments, True)]:
                    continue
                self.counts["rendered"] += 1
                if not engine.accepts(text):
                    return f"{self._name}\n  refused, though it is valid: {text!r}\n  {tool.parameters}"
        return ""

    def _written(self, call: ToolCall) -> str:
        if named(self._dialect).written is None:
            return framed(self._dialect, call.name, call.arguments)
        return render_calls([call], self._tools, dialect=self._dialect)
