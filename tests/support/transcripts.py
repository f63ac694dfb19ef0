"""Replies as models write them, each with the calls that it means: prose, code, reasoning, and calls of every shape.

`strategies` draws tokens, to find what nobody thought of; this writes what is usual, so that it can say what must come
out. A call is meant first, as a name and arguments, and then written in one of the `FORMS`, of which some need
repair. `transcript(n)` is always the same reply; the first `len(FORMS)` have each form once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from xml.sax.saxutils import escape

from xmltools.tools import Tool

__all__ = ["FORMS", "TOOLS", "Transcript", "transcript"]

STRING, INTEGER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
STEP = {
    "type": "object",
    "properties": {"title": STRING, "done": BOOLEAN, "files": {"type": "array", "items": STRING}},
    "required": ["title"],
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "apply_diff": {"path": STRING, "diff": STRING},
    "search": {"query": STRING, "files": {"type": "array", "items": STRING}, "limit": INTEGER, "regex": BOOLEAN},
    "plan": {"goal": STRING, "steps": {"type": "array", "items": STEP}},
    "run": {
        "command": STRING,
        "env": {"type": "object", "properties": {"name": STRING, "level": INTEGER}},
        "timeout": {"type": "number"},
    },
    "ping": {},
}
TOOLS = [
    Tool(name=name, parameters={"type": "object", "properties": properties, "additionalProperties": False})
    for name, properties in PARAMETERS.items()
]

PATHS = ("src/app.py", "a.py", "README.md", "web/größe.ts", "tests/test_io.py")
CODE = (
    "-if a < b:\n+if a <= b && c:",
    " def f(x: List[int]) -> str:\n-    return x[y[0]]\n+    return f'{x}'",
    '-<tool name="x">\n+<p class="a">&nbsp;</p>\n </tool>',
    "+</diff> stands in a text, and </tool> too",
    "+data = '<![CDATA[x]]>'\n+</arguments>",
    '+print("]]> ends a section")',
    "echo 表 😀 | tr -d '\\r'",
    " \x1b[31mred\x1b[0m",
)
LINES = ("fix the parser", "first look, then change", "a && b", "if x < 3 then stop", 'say "hello"', "x")
PROSE = (
    "I'll look at the file first.",
    "Done. The **bug** was in `parse`: it took `<tool>` for a call, and `</tool>` for its end.",
    "| name | type |\n|---|---|\n| a | List<int> |",
    "- one\n- two & three\n- `a < b`",
    "A call begins with <tool> and a name stands in it.",
    "## What next\n\n1. Read\n2. Write <b>less</b>",
    "```python\nif a < b and c[d[0]] > 1:\n    print('<tool>')\n```",
    "```\n$ grep -n '<arg' a.xml\n```",
    "Größe: 5 µm — 表 😀",
)
REASONING = (
    "<think>The user wants a diff. Is it a.py?</think>",
    "<think>\nI could write <tool><tool_name>ping</tool_name></tool>, but not yet.\n</think>",
    "<thinking>Not `</think>` ends this, but its own tag.</thinking>",
)


@dataclass(frozen=True)
class Transcript:
    """A reply, and the names and arguments of the calls that it means, in order."""

    text: str
    calls: list[tuple[str, dict[str, Any]]]


# What calls mean.


def mean(rng: Random, name: str) -> dict[str, Any]:
    """Likely arguments for a tool: all of them, or some."""
    made = {key: value(rng, key, schema) for key, schema in PARAMETERS[name].items()}
    return {key: made[key] for key in made if rng.random() < 0.9}


def value(rng: Random, name: str, schema: dict[str, Any]) -> Any:
    """A likely value of an argument or of something in it."""
    kind = schema["type"]
    if kind == "array":
        return [value(rng, name, schema["items"]) for _ in range(rng.randint(1, 3))]
    if kind == "object":
        return {key: value(rng, key, inner) for key, inner in schema["properties"].items()}
    scalars = {"integer": (0, 7, -40), "number": (0.5, 30, 1.25), "boolean": (True, False)}
    strings = {"path": PATHS, "files": PATHS, "diff": CODE, "command": (*CODE, *LINES)}
    return rng.choice(scalars.get(kind) or strings.get(name, LINES))


# How values are written.


def cdata(text: str) -> str:
    """The text in CDATA."""
    return f"<![CDATA[{text.replace(']]>', ']]]]><![CDATA[>')}]]>"


def careful(rng: Random, text: str) -> str:
    """A string as it should be written."""
    return rng.choice([cdata, escape, lambda text: f"\n{escape(text)}\n"])(text)


def elements(rng: Random, values: dict[str, Any], write: Callable[[Random, str], str], space: str) -> str:
    """The members of an object as elements, each on its line if `space` has a line break."""
    return "".join(f"{space}<{name}>{content(rng, name, each, write, space)}</{name}>" for name, each in values.items())


def content(rng: Random, name: str, value: Any, write: Callable[[Random, str], str], space: str) -> str:
    """What stands in the element of a value."""
    deeper = f"{space}  " if "\n" in space else space
    if isinstance(value, dict):
        return elements(rng, value, write, deeper) + space
    if isinstance(value, list):
        item = rng.choice(["item", name.removesuffix("s")])
        return "".join(elements(rng, {item: each}, write, deeper) for each in value) + space
    return write(rng, value) if isinstance(value, str) else json.dumps(value)


def block(rng: Random, name: str, values: dict[str, Any], write: Callable[[Random, str], str] = careful) -> str:
    """A whole call, laid out in one of the usual manners."""
    space = rng.choice(["\n", "\n", "", "\r\n", "\n\n\t"])
    server = rng.choice(["", f"{space}<server_name>local</server_name>"])
    inner = elements(rng, values, write, f"{space}  " if "\n" in space else space)
    arguments = f"{space}<arguments>{inner}{space}</arguments>" if values or rng.random() < 0.5 else ""
    return f"<tool>{server}{space}<tool_name>{name}</tool_name>{arguments}{space}</tool>"


# The forms of calls.

Form = Callable[[Random, str, dict[str, Any]], str]


def hasty(rng: Random, text: str) -> str:
    """A string without any escapes."""
    return text


def shouted(rng: Random, text: str) -> str:
    """CDATA in the wrong case, or with its end left in the middle."""
    return f"<![{rng.choice(['cdata', 'CDATA'])}[{text}]]>"


def changed(old: str, new: str) -> Form:
    """Calls in which the first match of a pattern is another text."""
    return lambda rng, name, values: re.sub(old, lambda match: match.expand(new), block(rng, name, values), count=1)


def body(rng: Random, name: str, values: dict[str, Any]) -> str:
    """A JSON body, with the one names or the others, and the arguments perhaps in a string."""
    keys = rng.choice([("tool_name", "arguments"), ("name", "parameters")])
    inner = json.dumps(values) if rng.random() < 0.3 else values
    said = json.dumps(dict(zip(keys, (name, inner), strict=True)), indent=rng.choice([None, 2]))
    return f"<tool>\n{said[:-1]}{rng.choice(['', ','])}}}\n</tool>"


def json_arguments(rng: Random, name: str, values: dict[str, Any]) -> str:
    """JSON where the elements of the arguments should stand."""
    said = cdata(json.dumps(values, ensure_ascii=False))
    return f"<tool><tool_name>{name}</tool_name>\n<arguments>{said}</arguments></tool>"


def json_values(rng: Random, name: str, values: dict[str, Any]) -> str:
    """JSON where lists and objects should be elements."""
    flat = {key: json.dumps(each) if isinstance(each, dict | list) else each for key, each in values.items()}
    return block(rng, name, flat)


def other_words(rng: Random, name: str, values: dict[str, Any]) -> str:
    """Booleans and numbers as people write them."""
    text = re.sub(">(true|false)<", lambda match: ">Yes<" if match[1] == "true" else ">No<", block(rng, name, values))
    return text.replace(">7<", ">+7<")


def fenced(rng: Random, name: str, values: dict[str, Any]) -> str:
    """In a Markdown fence."""
    return f"```{rng.choice(['', 'xml'])}\n{block(rng, name, values)}\n```"


def fenced_inside(rng: Random, name: str, values: dict[str, Any]) -> str:
    """With a Markdown fence between the tags of the block."""
    inner = block(rng, name, values).removeprefix("<tool>").removesuffix("</tool>").strip()
    return f"<tool>\n```xml\n{inner}\n```\n</tool>"


FORMS: dict[str, Form] = {
    "neat": block,
    "hasty": lambda rng, name, values: block(rng, name, values, hasty),
    "odd CDATA": lambda rng, name, values: block(rng, name, values, shouted),
    "JSON body": body,
    "JSON arguments": json_arguments,
    "JSON values": json_values,
    "other words": other_words,
    "fenced": fenced,
    "fenced inside": fenced_inside,
    "attributes": changed("<tool_name>", '<tool_name type="string" x=1>'),
    "block with attributes": changed("<tool>", '<tool id="1">'),
    "space in tags": changed("</tool_name>", "</ tool_name >"),
    "space in the last tag": changed("</tool>$", "</tool\n>"),
    "comment": changed("<tool_name>", "<!-- which -- tool? --><tool_name>"),
    "comment at the end": changed("</tool>$", "<!-- done --></tool>"),
    "processing instruction": changed("<tool>", '<tool><?xml version="1.0"?>'),
    "stray text": changed("</tool_name>", "</tool_name>\nand its arguments:\n"),
    "stray end tag": changed("</tool_name>", "</tool_name></b>"),
    "no arguments tag": changed(r"(?s)<arguments>(.*)</arguments>", r"\1"),
    "no end of arguments": changed("</arguments>(?=\\s*</tool>$)", ""),
    "no end of the path": changed(r"(?<=\w)</path>", "</file>"),
}
# These give no call.
FAILING: tuple[Form, ...] = (
    changed("<tool_name>", "<tool_name>un"),
    changed("<tool_name>.*?</tool_name>", ""),
    changed("</tool_name>", "</tool_name><!DOCTYPE x>"),
    changed("<arguments>", "<arguments><limit>many</limit>"),
    changed("<tool_name>.*?</tool_name>", r"\g<0>\g<0>"),
)


# Replies.


def words(rng: Random) -> str:
    """Some paragraphs, perhaps with reasoning before them."""
    said = rng.choices(PROSE, k=rng.choice([0, 1, 1, 2]))
    return "\n\n".join([*([rng.choice(REASONING)] if rng.random() < 0.3 else []), *said])


def ending(rng: Random) -> str:
    """How a reply ends behind its last call: at once, with some words, or in the middle of something."""
    broken = ("<think>Was that", "<tool>", "<tool><tool_na", "<tool><tool_name>ping</tool_name><arguments><a>")
    return rng.choice(["", "\n", f"\n\n{words(rng)}", f"\n\n{rng.choice(broken)}"])


# Ends where `</tool>` may be missing. JSON in CDATA is left out: there it is the end tag that ends the value (4.7).
CLOSED = re.compile(r"(?<=</arguments>)(?<!\]\]></arguments>)(\s*)</tool>$")


def transcript(number: int) -> Transcript:
    """Reply `number`: one to three calls with words around them."""
    rng = Random(f"transcript {number}")
    forms = [list(FORMS.values())[number % len(FORMS)], *rng.choices(list(FORMS.values()), k=rng.choice([0, 0, 1, 2]))]
    parts, calls = [words(rng)], []
    for form in forms:
        if rng.random() < 0.15:
            parts.append(rng.choice(FAILING)(rng, "apply_diff", mean(rng, "apply_diff")))
        name = rng.choice(list(PARAMETERS))
        calls.append((name, mean(rng, name)))
        parts += [form(rng, *calls[-1]), words(rng)]
    text = "\n\n".join(filter(None, parts))
    if rng.random() < 0.3 and CLOSED.search(text):
        return Transcript(CLOSED.sub(rng.choice(["", r"\1", r"\1</to"]), text), calls)
    return Transcript(text + ending(rng), calls)
