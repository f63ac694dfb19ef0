"""Texts that make careless parsers recurse, or keep all that they read: what they are, and a process to read them in.

    python tests/support/adversarial.py deep|endless

reads each text of one kind with little stack and little memory, and prints a line of JSON for each: what came out.
`test_bounded.py` starts it and says what must come out. A process of its own, because both limits hold for all of it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from xmltools.models.events import CallCompleted, CallFailed
from xmltools.parser import Limits, Parser
from xmltools.tools import Tool

__all__ = ["CHUNK", "DEEP", "ENDLESS", "HEADROOM", "LEVELS", "Outcome"]

LEVELS = 1_000_000
FEWER = 20_000
"""Levels of what is slow to read, unless XMLTOOLS_EVERY_DEPTH is set."""
CHUNK = 61
STACK = 150
"""The recursion limit: enough for a call in a call, and for nothing that grows with its input."""
HEADROOM = {"deep": 128, "endless": 16}
"""MiB that a process may take beyond what it has when it begins. What is deep stands there whole, up to 16 million
characters; what is endless comes in pieces, and its blocks may have a quarter of a MiB."""
SLOW = set("<,&[")
SMALL = Limits(block_size=1 << 18)

STRING = {"type": "string"}
LIST = {"type": "array", "items": STRING}
NODE = {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}}
TOOL = Tool(
    name="edit",
    parameters={
        "type": "object",
        "properties": {"text": STRING, "files": LIST, "node": {"$ref": "#/$defs/node"}, "any": {}},
        "$defs": {"node": NODE},
    },
)
OPEN = "<tool><tool_name>edit</tool_name><arguments>"
END = "</arguments></tool>"
BODY = '<tool>{"tool_name": "edit", "arguments": '
GOOD = f"\n\n{OPEN}<text>good</text>{END}"


@dataclass(frozen=True)
class Shape:
    """A text: its beginning, what comes again and again, what comes as often behind that, and its end;
    `fast`: a million levels take less than a second."""

    head: str
    unit: str
    back: str = ""
    tail: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    fast: bool = False

    def text(self, levels: int) -> str:
        """The text, with so many units."""
        return self.head + self.unit * levels + self.back * levels + self.tail


@dataclass(frozen=True)
class Outcome:
    """What came of a text: what was raised, the codes of errors and repairs, and how long the texts in calls are."""

    name: str
    chunk: int
    raised: list[str]
    errors: list[str]
    repairs: list[str]
    calls: list[int]


BRACKETS = {"bracket_reasoning": True}
# Each ends with what closes it and with a good call, except those that are open to the end.
DEEP: dict[str, Shape] = {
    "elements": Shape(OPEN, "<a>", "</a>", END + GOOD),
    "elements that stay open": Shape(OPEN, "<a>"),
    "elements in a list": Shape(f"{OPEN}<files>", "<file>", "</file>", f"</files>{END}{GOOD}"),
    "elements in an object": Shape(f"{OPEN}<node>", "<a>", "</a>", f"</node>{END}{GOOD}"),
    "elements in any value": Shape(f"{OPEN}<any>", "<a>", "</a>", f"</any>{END}{GOOD}"),
    "elements in a string": Shape(f"{OPEN}<text>", "<a>", "</a>", f"</text>{END}{GOOD}"),
    "elements before the name": Shape("<tool><arguments>", "<a>", "</a>", f"{END}{GOOD}"),
    "elements without arguments": Shape("<tool><tool_name>edit</tool_name>", "<a>", "</a>", f"</tool>{GOOD}"),
    "arguments in arguments": Shape(
        "<tool><tool_name>edit</tool_name>", "<arguments>", "</arguments>", f"</tool>{GOOD}"
    ),
    "blocks": Shape("", "<tool>", "</tool>", GOOD),
    "end tags": Shape(OPEN, "</a>", "", END + GOOD),
    "CDATA": Shape(f"{OPEN}<text>", "<![CDATA[", "]]>", f"</text>{END}{GOOD}"),
    "comments": Shape(OPEN, "<!--", "-->", END + GOOD, fast=True),
    "entities": Shape(f"{OPEN}<text>&", "amp;", "", f"</text>{END}{GOOD}", fast=True),
    "arrays in a body": Shape(f'{BODY}{{"any": ', "[", "]", f"}}}}</tool>{GOOD}", fast=True),
    "objects in a body": Shape(f'{BODY}{{"any": ', '{"a":', "}", f"}}}}</tool>{GOOD}", fast=True),
    "arrays in a string in a body": Shape(f'{BODY}"{{\\"any\\": ', "[", "]", f'}}"}}</tool>{GOOD}', fast=True),
    "arrays that stay open": Shape(f'{BODY}{{"any": ', "[", fast=True),
    "arrays in arguments": Shape(f'{OPEN}{{"any": ', "[", "]", f"}}{END}{GOOD}", fast=True),
    "arrays in a list": Shape(f"{OPEN}<files>", "[", "]", f"</files>{END}{GOOD}", fast=True),
    "tuples in a list": Shape(f"{OPEN}<files>", "(", ")", f"</files>{END}{GOOD}", fast=True),
    "tuples in arguments": Shape(f"{OPEN}{{'any': ", "(", ",)", f"}}{END}{GOOD}", fast=True),
    "tuples in a body": Shape(f"{BODY}{{'any': ", "(", ",)", f"}}}}</tool>{GOOD}", fast=True),
    "arrays in any value": Shape(f"{OPEN}<any>", "[", "]", f"</any>{END}{GOOD}", fast=True),
    "objects in an object": Shape(f"{OPEN}<node>", '{"a":', "}", f"</node>{END}{GOOD}", fast=True),
    "Python objects in an object": Shape(f"{OPEN}<node>", "{'a':", "}", f"</node>{END}{GOOD}", fast=True),
    "minus signs in a list": Shape(f"{OPEN}<files>[", "-", "", f"1]</files>{END}{GOOD}", fast=True),
    "reasoning": Shape("", "<think>", "</think>", GOOD),
    "reasoning that stays open": Shape("", "<think>"),
    "comments outside": Shape("", "<!--", "-->", GOOD, fast=True),
    "sections outside": Shape("", "<![CDATA[", "]]>", GOOD, fast=True),
    "backticks": Shape("", "`", "", GOOD, fast=True),
    "backslashes": Shape("", "\\", "", GOOD, fast=True),
    "pieces of inline code": Shape("", "`a` ", "", GOOD, fast=True),
    "end tags of reasoning": Shape("", "</think>", "", GOOD, fast=True),
    "brackets": Shape("", "[", "]", GOOD, BRACKETS, fast=True),
    "brackets at line starts": Shape("", "\n[", "]\n", GOOD, BRACKETS),
    "fences": Shape("", "```\n", "", GOOD),
}

# What never ends. Nothing that is read here may be kept beyond the limit of a block.
ENDLESS: dict[str, Shape] = {
    "prose": Shape("", "words and more words\n"),
    "prose with markup": Shape("", "a < b && <b>List<int></b> `x`\n"),
    "mentions": Shape("", "the <tool> tag and `<tool>`, "),
    "white space behind an opener": Shape("<tool>", "  \n"),
    "reasoning": Shape("<think>", "hm, </thinking> or "),
    "reasoning in one line": Shape("<think>", "hm ` and "),
    "a line": Shape("", "words ` and more "),
    "a comment outside": Shape("<!-- ", "words and more "),
    "a section outside": Shape("<![CDATA[", "words ` and more "),
    "a fence": Shape("```\n<think>", "words\n"),
    "backslashes": Shape("", "\\"),
    "backticks": Shape("", "`"),
    "a bracket": Shape("[", "thoughts ", options=BRACKETS),
    "a value": Shape(f"{OPEN}<text>", "x < y && z;\n"),
    "a value in CDATA": Shape(f"{OPEN}<text><![CDATA[", "words ]]> and ]] more\n"),
    "space behind a value": Shape(f"{OPEN}<text>x</text>", " \n"),
    "space behind CDATA": Shape(f"{OPEN}<text><![CDATA[x]]>", " \n"),
    "a comment": Shape(f"{OPEN}<!--", "note - "),
    "a tag": Shape(f"{OPEN}<a", " b='c'"),
    "elements": Shape(OPEN, "<text>x</text>"),
    "elements without schema": Shape(f"{OPEN}<any>", "<a>x</a>"),
    "items": Shape(f"{OPEN}<files>", "<file>x</file>"),
    "stray end tags": Shape(OPEN, "</a>"),
    "stray text": Shape(OPEN, "words "),
    "a name": Shape("<tool><tool_name>", "name"),
    "a JSON string": Shape(f'{BODY}{{"text": "', "words \\n"),
    "a JSON list": Shape(f'{BODY}{{"files": [1', ", 1"),
    "JSON keys": Shape(f'{BODY}{{"a": 1', ', "a": 1'),
    "a string in single quotes": Shape(f"{BODY}{{'text': '", "words \\' "),
    "braces after a body": Shape(f"{BODY}{{}}}}", "}"),
    "space after a body": Shape(f"{BODY}{{}}}}", " \n"),
    "numbers and commas": Shape(f"{OPEN}<files>", "1, "),
    "no JSON": Shape("<tool>{x", " words"),
    "a number": Shape(f'{BODY}{{"any": ', "1234567890"),
    "what follows an error": Shape(f"{OPEN}<!DOCTYPE", "<a>x</a>"),
    "calls": Shape("", f"{OPEN}<text>x</text>{END}\n"),
    "calls of no tool": Shape("", f"<tool><tool_name>no</tool_name><arguments><text>x</text>{END}\n"),
}


def read(name: str, shape: Shape, chunks: Iterable[str], chunk: int, limits: Limits | None = None) -> Outcome:
    """Parse and drop the events, as a caller does who has handled them."""
    outcome = Outcome(name, chunk, [], [], [], [])
    parser = Parser([TOOL], limits=limits, **shape.options)
    try:
        for piece in chunks:
            note(outcome, parser.feed(piece))
        note(outcome, parser.close())
    except (MemoryError, RecursionError, ValueError) as error:
        outcome.raised.append(type(error).__name__)
    return outcome


def note(outcome: Outcome, events: Iterable[object]) -> None:
    """Keep what the events say, of the first calls and errors."""
    for event in events:
        if isinstance(event, CallFailed) and len(outcome.errors) < 10:
            outcome.errors.append(event.error.code.value)
        elif isinstance(event, CallCompleted) and len(outcome.calls) < 10:
            outcome.calls.append(len(str(event.call.arguments.get("text", ""))))
            outcome.repairs.extend(repair.code.value for repair in event.call.repairs[:3])


def cut(text: str, size: int) -> Iterator[str]:
    """The text in pieces of one size."""
    return (text[at : at + size] for at in range(0, len(text), size))


def endless(shape: Shape) -> Iterator[str]:
    """Pieces of nearly 1,000 characters, each a string of its own: 24 MiB; 1 MiB of what is read more slowly."""
    yield shape.head
    count = 1000 // len(shape.unit)
    size = (24 if not set(shape.unit) & SLOW else 1) << 20
    for _ in range(size // (count * len(shape.unit))):
        yield shape.unit * count


def deep(name: str) -> Iterator[Outcome]:
    """Read a deep text in one piece and in small ones."""
    shape = DEEP[name]
    text = shape.text(LEVELS if shape.fast or "XMLTOOLS_EVERY_DEPTH" in os.environ else FEWER)
    yield read(name, shape, [text], len(text))
    yield read(name, shape, cut(text, CHUNK), CHUNK)


def without_end(name: str) -> Iterator[Outcome]:
    """Read an endless text."""
    yield read(name, ENDLESS[name], endless(ENDLESS[name]), 1000, SMALL)


def confine(mebibytes: int) -> None:
    """Leave this process so much more memory, and little stack."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    sys.setrecursionlimit(STACK)


def main(kind: str, name: str) -> None:
    # What is imported or compiled when it is first used is there before the limits are.
    for shape in (*DEEP.values(), *ENDLESS.values()):
        read("", shape, [shape.text(2)], 0)
    confine(HEADROOM[kind])
    for outcome in deep(name) if kind == "deep" else without_end(name):
        print(json.dumps(asdict(outcome)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
