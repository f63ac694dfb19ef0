"""Calls whose values consist of words that no other value has, in every dialect: what became of each can be told.

A string begins and ends with a word of its own. Between the two there may be line breaks, code, delimiters of this
and of other dialects that are only mentioned, and whole calls as examples. Calls are written by `xmltools.render`;
dialects that it can't write yet get a `Writing` here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import Any

from xmltools import dialects
from xmltools.dialects import FORGE, Body, Dialect, Writing
from xmltools.errors import XMLToolsError
from xmltools.models import ToolCall
from xmltools.parser import parse
from xmltools.render import render_call
from xmltools.render.dialect_calls import value_text
from xmltools.tools import Tool

__all__ = [
    "NAMES",
    "TOOLS",
    "Layout",
    "Written",
    "calls",
    "delimiters",
    "is_json",
    "layouts",
    "sayable",
    "strings",
    "tokens",
    "words",
]

_STRING, _INTEGER, _BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_SHAPES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "read_file": ({"path": _STRING, "start": _INTEGER, "end": _INTEGER}, ["path"]),
    "write_file": ({"path": _STRING, "content": _STRING, "overwrite": _BOOLEAN}, ["path", "content"]),
    "edit": ({"path": _STRING, "old": _STRING, "new": _STRING, "count": _INTEGER}, ["path", "old", "new"]),
    "search": ({"query": _STRING, "tags": {"type": "array", "items": _STRING}, "limit": _INTEGER}, ["query"]),
    "run": (
        {"command": _STRING, "timeout": {"type": "number"}, "env": {"type": "object", "additionalProperties": _STRING}},
        ["command"],
    ),
    "order": (
        {
            "customer": {"type": "object", "properties": {"name": _STRING, "vip": _BOOLEAN}},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": _STRING, "n": _INTEGER}}},
            "remark": _STRING,
        },
        ["lines"],
    ),
}
TOOLS = [
    Tool(name=name, parameters={"type": "object", "properties": properties, "required": required})
    for name, (properties, required) in _SHAPES.items()
]
_TOOL_OF = {tool.name: tool for tool in TOOLS}
NAMES = tuple(each.name for each in dialects.all())
"""The dialects, Forge's included."""


@dataclass
class Written:
    """A call, its text without the delimiters around all calls of a turn, and the calls that its values only show."""

    name: str
    arguments: dict[str, Any]
    text: str
    shown: list[Written] = field(default_factory=list)

    def is_it(self, name: str, arguments: dict[str, Any]) -> bool:
        """Is this the call, with the same types? Only the text of a value tells 1 from True."""
        return name == self.name and arguments == self.arguments and repr(arguments) == repr(self.arguments)


@dataclass(frozen=True)
class Layout:
    """The text around all calls of a turn and between them, and what the reply needs for that."""

    start: str = ""
    end: str = ""
    between: str = "\n"
    is_first: bool = False
    """Whether such calls count only where the reply begins."""
    is_list: bool = False
    """Whether the calls are items of one list, with no delimiters of their own."""


# How calls of dialects are written for which the library has no `Writing` yet: as in the examples of their records.
_WRITINGS = {
    "cohere": Writing(start="<|START_ACTION|>[", end="]<|END_ACTION|>", between=", "),
    "phi4mini": Writing(start="functools[", end="]", between=", "),
    "apertus": Writing(start="<|tools_prefix|>[", end="]<|tools_suffix|>", between=", "),
    "sarashina": Writing(start="<|tool_calls|>[", end="]", between=", "),
    "gigachat3": Writing(call_start="<|function_call|>"),
    "internlm2": Writing(call_start="<|action_start|><|plugin|>", call_end="<|action_end|>"),
    "minicpm5": Writing(),
    "plamo3": Writing(
        start="<|plamo:begin_tool_requests:plamo|>",
        end="<|plamo:end_tool_requests:plamo|>",
        between="",
        call_start="<|plamo:begin_tool_request:plamo|>",
        call_end="<|plamo:end_tool_request:plamo|>",
        name="{name}<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json",
    ),
    "solar_open2": Writing(after_name="\n", call_start="<|tool_call:start|>", call_end="<|tool_call:end|>"),
    "k2_horizon": Writing(start="<ifm|tool_calls>\n", end="\n</ifm|tool_calls>"),
    "muse": Writing(
        call_start="<|start|>assistant to=tool<|message|><atem:function_calls>\n",
        call_end="\n</atem:function_calls><|eom|>",
        between="",
        after_name="\n",
        after_value="\n",
    ),
    "beam": Writing(
        between="",
        call_start="<|start|>assistant to=",
        name="{name}<|channel|>analysis <|constrain|>xml",
        around_value="\n",
    ),
    "inkling": Writing(
        call_start="<|message_model|>tool<|content_invoke_tool_json|>", call_end="<|end_message|>", between=""
    ),
    "call_json": Writing(),
    "arrow": Writing(call_start="[TOOL_CALL]", call_end="[/TOOL_CALL]"),
    "react": Writing(call_start="Action: "),
    "tool_code": Writing(start="```tool_code\n", end="\n```\n"),
    "step3": Writing(
        start="<｜tool_calls_begin｜>\n",
        end="\n<｜tool_calls_end｜>",
        call_start="<｜tool_call_begin｜>function<｜tool_sep｜>",
        call_end="<｜tool_call_end｜>",
    ),
}
_M3 = "]<]minimax[>["


@lru_cache(maxsize=64)
def _record(name: str) -> Dialect:
    dialect = dialects.named(name)
    return replace(dialect, writing=_WRITINGS[name]) if name in _WRITINGS else dialect


@lru_cache(maxsize=64)
def layouts(name: str) -> tuple[Layout, ...]:
    """Return how the calls of a turn may be laid out in a dialect."""
    if name == FORGE.name:
        return (Layout(between="\n\n"),)
    if name == "minimax_m3":
        return (Layout(f"{_M3}<tool_call>\n", f"\n{_M3}</tool_call>"),)
    if name == "mirothinker":
        return (Layout(),)
    dialect = _record(name)
    form = dialect.written
    assert form is not None and form.writing is not None
    writing = form.writing
    is_list = (form.body is Body.JSON and bool(writing.start)) or (form.pairs is not None and form.pairs.python)
    layout = Layout(writing.start, writing.end, writing.between, form.is_bare, is_list)
    marked = next((each for each in dialect.forms if each.is_sure and not each.is_first), None)
    if not (form.is_bare and marked):
        return (layout,)
    start, end = f"{marked.opener}{writing.start}", f"{writing.end}{marked.closer}"
    return layout, Layout(start, end, writing.between, is_list=True)


def _write(name: str, call: ToolCall) -> str | None:
    """The text of a call alone, None if the dialect can't say it."""
    if name == "minimax_m3":
        inside = "".join(_in_m3(key, value) for key, value in call.arguments.items())
        return f'{_M3}<invoke name="{call.name}">{inside}{_M3}</invoke>'
    if name == "mirothinker":
        said = json.dumps(call.arguments, ensure_ascii=False)
        return (
            f"<use_mcp_tool>\n<server_name>local</server_name>\n<tool_name>{call.name}</tool_name>\n"
            f"<arguments>\n{said}\n</arguments>\n</use_mcp_tool>"
        )
    try:
        text = render_call(call, _TOOL_OF[call.name], dialect=_record(name))
    except XMLToolsError:
        return None
    layout = layouts(name)[0]
    return text.removeprefix(layout.start).removesuffix(layout.end)


def _in_m3(key: str, value: Any) -> str:
    """An argument of MiniMax-M3, or a part of one, as an element."""
    inside = value_text(value)
    if isinstance(value, dict):
        inside = "".join(_in_m3(name, each) for name, each in value.items())
    elif isinstance(value, list):
        inside = "".join(_in_m3("item", each) for each in value)
    return f"{_M3}<{key}>{inside}{_M3}</{key}>"


# Values

_ORDINARY = ('{"a": [1]}', "if a < b && c > d:", '"', "\\n", "'", "</p>", "<b>x</b>", "&lt;", "`x`", "```")
"""Text with characters that mean something somewhere."""
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "knoll", "lemon", "maple")


@dataclass
class _Pen:
    """Draws values of words that did not come before, and notes which calls they show."""

    rng: Random
    name: str
    markup: float = 0.0
    """How many of the strings hold markup."""
    examples: list[Written] = field(default_factory=list)
    """Calls that may be shown."""
    is_careful: bool = False
    """Whether there is only what the dialect can say, if one goes by its rules (DIALECTS.md, 7.3)."""
    count: int = 0
    shown: list[Written] = field(default_factory=list)

    def word(self) -> str:
        self.count += 1
        return f"{self.rng.choice(_WORDS)}{self.count}"

    def string(self, *, is_nested: bool = False) -> str:
        rng = self.rng
        if rng.random() > self.markup or (is_nested and self.is_careful and self.name == "minimax_m3"):
            return rng.choice(("{}", "{}", "{} {}", "{}/{}.py", "{}\n{}")).format(self.word(), self.word())
        parts = [self.word()]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            parts += (rng.choice(("", " ", " ", "\n")), self._markup(), rng.choice(("", " ", " ", "\n")))
            parts += [self.word()] * self.is_careful
        return "".join((*parts, self.word()))

    def _markup(self) -> str:
        rng, draw = self.rng, self.rng.random()
        if draw < 0.25 and self.examples:
            example = rng.choice(self.examples)
            self.shown.append(example)
            layout = rng.choice(layouts(self.name))
            return f"{layout.start}{example.text}{layout.end}"
        if draw < 0.45:
            return rng.choice(_foreign(self.name) if self.is_careful else _foreign(""))
        if draw < 0.7:
            return f'grep "{rng.choice(delimiters(self.name))}" {self.word()}.py'
        if draw < 0.8 and not self.is_careful:
            return rng.choice(delimiters(self.name))
        return rng.choice(_ORDINARY)

    def call(self) -> ToolCall:
        """A call of one of the tools; what is optional is often left out."""
        rng = self.rng
        name = rng.choice(tuple(_SHAPES))
        properties, required = _SHAPES[name]
        chosen = {key: shape for key, shape in properties.items() if key in required or rng.random() < 0.6}
        return ToolCall(id="", name=name, arguments={key: self._value(shape) for key, shape in chosen.items()})

    def _value(self, shape: dict[str, Any], *, is_nested: bool = False) -> Any:
        kind = shape["type"]
        if kind == "string":
            return self.string(is_nested=is_nested)
        if kind == "boolean":
            return self.rng.random() < 0.5
        if kind == "array":
            return [self._value(shape["items"], is_nested=True) for _ in range(self.rng.randint(1, 3))]
        if kind == "object":
            items = shape.get("properties", {"HOME": _STRING, "LANG": _STRING})
            return {key: self._value(each, is_nested=True) for key, each in items.items()}
        self.count += 1
        return 1000 + self.count if kind == "integer" else 1000.5 + self.count

    def written(self) -> Written:
        """A call as text, which is empty if the dialect can't say it."""
        self.shown = []
        call = self.call()
        text = _write(self.name, call) or ""
        if self.is_careful and self.rng.random() < 0.5:  # no model writes tokens as escapes, as the library does
            text = text.replace("\\u003c", "<").replace("\\u005b", "[")
        return Written(call.name, call.arguments, text, self.shown)


@lru_cache(maxsize=4)
def calls(seed: str, name: str, count: int) -> tuple[list[Written], list[Written]]:
    """Return so many calls that the dialect can say, and a few plain ones that may be shown; no two share a word."""
    pen = _Pen(Random(f"{seed}/{name}"), name)
    pen.examples = [made for _ in range(12) if (made := pen.written()).text]
    pen.markup = 0.35
    found: list[Written] = []
    while len(found) < count:
        made = pen.written()
        if made.text and (name != "minimax_m3" or _is_read(name, made)):
            found.append(made)
    return found, pen.examples


def _is_read(name: str, call: Written) -> bool:
    """Is the call read as it was meant? What the library writes is."""
    read = parse(call.text, TOOLS, dialect=name).calls
    return len(read) == 1 and read[0].clean and call.is_it(read[0].name, read[0].arguments)


def sayable(rng: Random, name: str) -> list[Written]:
    """Return the calls of a turn, with markup in many values, all of which the dialect can say if one goes by its
    rules. The text of one that the writer refuses is empty."""
    pen = _Pen(rng, name)
    if name not in ("gemma", "minimax_m3"):  # there an end of a string, or of an argument, is one in an example too
        pen.examples = [made for _ in range(2) if (made := pen.written()).text]
    pen.markup, pen.is_careful = 0.6, True
    return [pen.written() for _ in range(rng.choice((1, 1, 2, 3)))]


@lru_cache(maxsize=64)
def _foreign(name: str) -> list[str]:
    """Whole calls in all dialects, of a tool that there is and of another; in those that share no end of a value with
    this one, since that may end the value."""
    form = _record(name).written if name else None
    end = form.pairs.value_end if form is not None and form.pairs is not None else ""
    end = _M3 if name == "minimax_m3" else end
    examples = [each.example for each in dialects.all() if not end or end not in each.example]
    return [text for each in examples for text in (each, each.replace("get", "search"))]


def strings(value: Any) -> Iterator[str]:
    """Yield all strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


_WORD = re.compile(rf"(?:{'|'.join(_WORDS)})\d+")


def words(text: str) -> list[str]:
    """Return the words in a text that no other value has, in order."""
    return _WORD.findall(text)


# Delimiters

_ELEMENTS = [name for shape in _SHAPES.values() for name in shape[0]]
_OWN_ELEMENTS = {
    "forge": ("tool", "tool_name", "arguments", *_ELEMENTS),
    "tag_per_tool": (*_SHAPES, *_ELEMENTS),
}


@lru_cache(maxsize=64)
def delimiters(name: str) -> tuple[str, ...]:
    """Return the delimiters around calls and values in a dialect, except those that may be words."""
    found = [f"{start}{each}>" for each in _OWN_ELEMENTS.get(name, ()) for start in ("<", "</")]
    for form in dialects.named(name).forms if name not in _OWN_ELEMENTS else ():
        found += [form.opener, form.closer, *form.fillers]
        if pairs := form.pairs:
            found += [pairs.name, pairs.name_end, pairs.end, pairs.key, pairs.key_end, pairs.value, pairs.value_end]
            found += [pairs.quote, pairs.tag_mark, pairs.kind_start, pairs.kind_end, pairs.object, pairs.object_end]
    return tuple(dict.fromkeys(each for each in found if len(each.strip()) > 3)) or ('{"name": "',)


def is_json(name: str) -> bool:
    """Are the arguments one object, of JSON or Python?"""
    form = _record(name).written
    return form is not None and (form.body is Body.JSON or (form.pairs is not None and form.pairs.json))


@lru_cache(maxsize=64)
def tokens(name: str) -> re.Pattern[str]:
    """Return a pattern of all that can be broken in the text of a call outside its values: delimiters, those of a name
    included, and in JSON and Python each bracket, quote and comma."""
    found = set(delimiters(name))
    for form in dialects.named(name).forms if name not in _OWN_ELEMENTS else ():
        if pairs := form.pairs:
            found |= {pairs.name_end.strip(" "), f'{pairs.name_attribute}="', f'{pairs.key_attribute}="'} - {'="', ""}
    marks = "|".join(map(re.escape, sorted(found, key=len, reverse=True)))
    if name == "minimax_m3":
        marks = rf"{re.escape(_M3)}(?:</?\w+>)?|{marks}"
    return re.compile(rf"{marks}|[\[\]{{}}()\",:=]" if is_json(name) else marks)
