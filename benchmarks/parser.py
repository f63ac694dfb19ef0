"""How fast the parser is, against work that anyone would have to do: `make bench`, `make bench ARGS=--quick`.

Everything is a ratio inside one run, so that the figures hold on any machine. One U is the cost of calling
a method `feed(self, chunk)` that returns a list with one new 2-tuple: no parser in Python can do less. A scan
is one `text.find("]]>")` over the argument. `README.md` beside this file explains each figure.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from html import escape
from itertools import chain
from math import log
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.dialect_families import ALSO_GROWING, GROWING
from support.dialect_families import TOOLS as DIALECT_TOOLS

from xmltools.parser import Limits, Parser
from xmltools.parser import parse as parse_reply
from xmltools.tools import Tool

TEXT = {"type": "string"}
FIELDS = {"path": TEXT, "diff": TEXT, "files": {"type": "array", "items": TEXT}}
TOOL = Tool(
    name="apply_diff",
    description="Apply a unified diff to a file.",
    parameters={
        "type": "object",
        "properties": {"path": TEXT, "diff": TEXT, "files": {"type": "array", "items": TEXT}},
    },
)
OPEN = "<tool>\n<tool_name>apply_diff</tool_name>\n<arguments>\n<path>a.py</path>\n"
END = "\n</arguments>\n</tool>"
MB = 1_000_000
Run = Callable[[list[str]], object]


class Figure(NamedTuple):
    """One line of the table."""

    name: str
    asked: float
    measured: float
    unit: str
    note: str = ""

    @property
    def verdict(self) -> str:
        return "ok" if self.measured <= self.asked else "MISSED"


# --- texts -------------------------------------------------------------------------------------------------


def source_code(size: int) -> str:
    """`size` characters of real Python: the standard library's own source, in ASCII."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    code = "".join(path.read_bytes().decode("ascii", "ignore") for path in files)
    return (code * (size // len(code) + 1))[:size]


def diff(size: int) -> str:
    """`size` characters of a unified diff of real code, without the end of a CDATA section in it."""
    signs = "+- "
    lines = source_code(size).replace("]]>", "]] >").splitlines(keepends=True)
    return "".join(signs[number % 3] + line for number, line in enumerate(lines))[:size]


def markup_prose(size: int) -> str:
    """`size` characters of an answer about code: `<`, `&` and backticks in every line, and no tool call."""
    lines = source_code(size).splitlines()
    text = "\n".join(f"if a<b && `{line.strip()[:30]}` then <b>List<int></b> & co" for line in lines)
    return text.replace("<tool", "<tolo")[:size]


def block(value: str) -> str:
    return f"{OPEN}<diff>{value}</diff>{END}"


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


# --- time --------------------------------------------------------------------------------------------------


class OneTuple:
    """The floor: what a parser does at least for each chunk."""

    def feed(self, chunk: str) -> list[tuple[int, str]]:
        return [(1, chunk)]


def seconds(work: Callable[[], object]) -> float:
    """CPU time of this thread for `work`, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        start = time.thread_time()
        work()
        return time.thread_time() - start
    finally:
        gc.enable()


def ratio(ours: Callable[[], object], floor: Callable[[], object], rounds: int) -> float:
    """The median of ours/floor over rounds in which both take turns."""
    return statistics.median(seconds(ours) / seconds(floor) for _ in range(rounds))


def parse(chunks: Iterable[str], *, tools: list[Tool] | None = None, **options: Any) -> None:
    """Parse and drop the events, as a caller does who has handled them."""
    parser = Parser(tools or [TOOL], **options)
    feed = parser.feed
    for chunk in chunks:
        feed(chunk)
    parser.close()


def feed_floor(chunks: list[str]) -> None:
    feed = OneTuple().feed
    for chunk in chunks:
        feed(chunk)


def scans(size: int, rounds: int) -> float:
    """Figure a: a whole block in one chunk, in scans of its argument."""
    value = diff(size)
    chunks = [block(f"<![CDATA[{value}]]>")]
    return ratio(lambda: parse(chunks), lambda: value.find("]]>"), rounds)


def units(text: str, rounds: int) -> float:
    """Figures b to e: a text in chunks of 4 characters, in U a chunk."""
    chunks = cut(text, 4)
    return ratio(lambda: parse(chunks), lambda: feed_floor(chunks), rounds)


def speed(quick: bool) -> Iterator[Figure]:
    rounds, size = (7, MB // 5) if quick else (9, MB)
    yield Figure("a  1 MB diff in CDATA, one chunk", 1.6, scans(MB, 15), "scans")
    if not quick:
        yield Figure("a  10 MB diff in CDATA, one chunk", 1.6, scans(10 * MB, 9), "scans")
    shapes = (
        ("b  diff in CDATA, 4-char chunks", 4.5, block(f"<![CDATA[{diff(size)}]]>")),
        ("c  prose without <, 4-char chunks", 4.0, source_code(size).replace("<", " ")),
        ("d  prose full of < & `, 4-char chunks", 7.5, markup_prose(size)),
        ("e  escaped diff, 4-char chunks", 14.0, block(escape(diff(size)))),
        ("e  diff with a < in every line, 4-char", 14.0, block(diff(size).replace("\n", " < b\n"))),
    )
    for name, asked, text in shapes:
        yield Figure(name, asked, units(text, rounds), "U")


# --- small calls -------------------------------------------------------------------------------------------

WEATHER = Tool(
    name="get_weather",
    parameters={
        "properties": {"city": TEXT, "days": {"type": "integer"}, "metric": {"type": "boolean"}},
        "required": ["city"],
    },
)
PICTURES = Tool(name="show", parameters={"properties": {"files": {"type": "array", "items": TEXT}}})
OTHERS = [
    Tool(
        name=f"tool_{number}",
        description="Does something with a file.",
        parameters={
            "properties": {"path": TEXT, "line": {"type": "integer"}, "text": TEXT, "mode": {"enum": ["a", "b"]}},
            "required": ["path"],
        },
    )
    for number in range(9)
]
CALL = (
    "<tool>\n<tool_name>get_weather</tool_name>\n<arguments>\n<city>Oslo</city>\n<days>{}</days>\n"
    "<metric>true</metric>\n</arguments>\n</tool>\n"
)


def feed_expat(chunks: list[str]) -> None:
    """The same text as a list of events of Python's XML parser."""
    events: list[tuple[int, Any]] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: events.append((1, name))
    parser.EndElementHandler = lambda name: events.append((2, name))
    parser.CharacterDataHandler = lambda data: events.append((3, data))
    parser.Parse("<r>")
    for chunk in chunks:
        parser.Parse(chunk)
    parser.Parse("</r>", True)


def often(work: Callable[[], object], times: int) -> Callable[[], None]:
    """Work that is done so many times, so that it takes long enough to be measured."""

    def repeat() -> None:
        for _ in range(times):
            work()

    return repeat


def of_expat(text: str, size: int, tools: list[Tool], rounds: int) -> float:
    """The time for a text in such chunks, in that of expat."""
    chunks = cut(text, size or len(text))
    return 8 * ratio(often(lambda: parse(chunks, tools=tools), 2), often(lambda: feed_expat(chunks), 16), rounds)


def ordinary_reply() -> tuple[str, list[dict[str, Any]]]:
    """Prose with two calls, and these calls as the names and arguments that they are."""
    path, text = "src/main.py", " ".join(["Some more text."] * 20)
    calls = [
        {"name": "get_weather", "arguments": {"city": "Oslo", "days": 3, "metric": True}},
        {"name": "tool_3", "arguments": {"path": path, "line": 12, "text": text, "mode": "b"}},
    ]
    second = f"<path>{path}</path>\n<line>12</line>\n<text>{text}</text>\n<mode>b</mode>"
    second = f"<tool>\n<tool_name>tool_3</tool_name>\n<arguments>\n{second}\n</arguments>\n</tool>"
    prose = "I look at the weather first, and at the file after that, before I say more about it. " * 7
    return f"{prose}\n{CALL.format(3)}Then the other one:\n{second}", calls


def reply_of_json(rounds: int) -> float:
    """`parse` of a reply with ten tools at hand, in `json.loads` of its calls as OpenAI writes them."""
    reply, calls = ordinary_reply()
    tools = [WEATHER, *OTHERS]
    found = [{"name": call.name, "arguments": call.arguments} for call in parse_reply(reply, tools).calls]
    assert found == calls
    inner = [{"function": call | {"arguments": json.dumps(call["arguments"])}} for call in calls]
    written = json.dumps([{"id": "call_1", "type": "function", **call} for call in inner])

    def read() -> None:
        for call in json.loads(written):
            json.loads(call["function"]["arguments"])

    return 20 * ratio(often(lambda: parse_reply(reply, tools), 20), often(read, 400), rounds)


def repeated(chunk: str, size: int, start: str = "", end: str = "") -> str:
    """A call whose value has this chunk of 4 characters again and again, where chunks of 4 begin."""
    before = len(f"{OPEN}<diff>{start}")
    return block(f"{start}{'x' * (-before % 4)}{chunk * (size // 4)}{end}")


def small(quick: bool) -> Iterator[Figure]:
    """Figure s: what most calls are."""
    rounds, size = (5, MB // 5) if quick else (15, MB)
    calls = "".join(CALL.format(number) for number in range(200))
    for width, asked in ((4, 15), (64, 12), (0, 12)):
        name = f"s  200 small calls, {f'{width}-char chunks' if width else 'whole'}"
        yield Figure(name, asked, of_expat(calls, width, [WEATHER], rounds), "x expat")
    whole = ratio(often(lambda: parse_reply(calls, [WEATHER]), 2), often(lambda: feed_expat([calls]), 16), rounds)
    yield Figure("s  200 small calls, by parse()", 5, 8 * whole, "x expat")
    yield Figure("s  a reply with two calls, ten tools", 18, reply_of_json(rounds), "x json.loads")
    items = "".join(f"<file>src/a{number}.py</file>\n" for number in range(2_000))
    array = f"<tool><tool_name>show</tool_name><arguments><files>{items}</files></arguments></tool>"
    for width, asked in ((4, 9), (0, 4)):
        name = f"s  2,000 items, {f'{width}-char chunks' if width else 'whole'}"
        yield Figure(name, asked, of_expat(array, width, [PICTURES], rounds), "x expat")
    code = source_code(size).replace("]]>", "]] >")
    body = json.dumps({"tool_name": "apply_diff", "arguments": {"path": "a.py", "diff": diff(size)}})
    shapes = (
        ("a JSON body", 10, f"<tool>{body}</tool>"),
        ("] inside chunks of CDATA", 8, repeated("a]bc", size, "<![CDATA[", "]]>")),
        ("] at the end of chunks of CDATA", 15, repeated("abc]", size, "<![CDATA[", "]]>")),
        ("< inside chunks of text", 15, repeated("a<bc", size)),
        ("</ inside chunks of text", 20, repeated("a</b", size)),
        ("& in chunks of text", 12, repeated("a&bc", size)),
        ("source code in CDATA", 4.5, block(f"<![CDATA[{code}]]>")),
        ("source code as text", 8, block(code.replace("</", "< /"))),
    )
    for what, asked, text in shapes:
        yield Figure(f"s  {what}, 4-char", asked, units(text, rounds // 2 + 2), "U")


# --- growth ------------------------------------------------------------------------------------------------

VALUE = f"{OPEN}<diff>"
CDATA = f"{VALUE}<![CDATA["
FREE = f"{OPEN}<free>"
JSON = '<tool>{"tool_name": "apply_diff", "arguments": {"diff": "'

# Texts that make careless parsers quadratic: how each begins, and what is repeated behind that.
FAMILIES: dict[str, tuple[str, str]] = {
    "< in prose": ("", "<"),
    "<tool> in prose": ("", "<tool>"),
    "<tool> and white space": ("", "<tool> \n "),
    "white space behind <tool>": ("<tool>", " "),
    "<tool with attributes": ("<tool ", "a='b' "),
    "backticks": ("", "`"),
    "backticks and openers": ("", "`<tool>` "),
    "fence lines": ("", "```\n"),
    "calls in a fence": ("```\n", "<tool><tool_name>x</tool_name></tool>\n"),
    "calls in fences": ("", "```\n<tool><tool_name>x</tool_name></tool>\n```\n"),
    "calls in fences, and text": ("", "```\n<tool><tool_name>x</tool_name></tool>\n```\nx\n\n"),
    "white space behind a fenced call": ("```\n<tool><tool_name>x</tool_name></tool>\n```\n", " \n"),
    "backticks of many lengths": ("", "".join("`" * size + "<tool><a " for size in range(1, 45))),
    "names that come once": (
        "<tool><tool_name>f</tool_name><arguments>",
        "".join(f"<n{number}>v</n{number}>\n" for number in range(2_000)),
    ),
    "inline code and openers": ("", "`a <tool><b> c` "),
    "inline code that stays open": ("", "`` a <tool><b></tool>``` \n"),
    "backslashes": ("", "\\"),
    "backslashes and openers": ("", "\\<tool><a "),
    "tilde lines": ("", "~~~\n"),
    "comments in prose": ("", "<!-- <tool><a> -->"),
    "comments that stay open": ("", "<!-- <tool><a></tool>"),
    "comments in blocks in a comment": ("", "<!-- <tool><!-- --></tool>"),
    "sections in prose": ("", "<![CDATA[<tool><a>]]>"),
    "comment openers": ("", "<!--"),
    "fences and comments": ("", "```\n<!-- <tool><a> \n```\n"),
    "<Tool> in prose": ("", "<Tool>"),
    "<Tool>{ in prose": ("", '<Tool>{"a'),
    "<tool>[ in prose": ("", "<tool>["),
    "<tool_call> in prose": ("", "<tool_call>"),
    "<tool_call> and white space": ("", "<tool_call> \n"),
    "<tool_name> in prose": ("", "<tool_name>read</tool_name> "),
    "<invoke with attributes": ("", "<invoke a='b' "),
    "calls in other notations": ("", "<function=f></function>"),
    "one call in another notation": ("<function=f>", "</functio</"),
    "JSON in <tool_call>": ("", '<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>'),
    "one list in <tool_call>": ('<tool_call>{"a": [', "[1, '</tool_call>'], "),
    "JSON in fences": ("", '```json\n{"name": "f", "arguments": {}}\n```\n'),
    "reasoning openers": ("", "<think>"),
    "nested reasoning": ("<think>", "<think></think>"),
    "mentions in reasoning": ("", "<think><think></think>"),
    "deeper reasoning": ("", "<think><think></think></think>"),
    "end tags of reasoning in fences": ("", "<think>\n```\n</think>"),
    "end tags of reasoning in code": ("", "<think>` a </think>` "),
    "cut end tags of reasoning": ("<think>", "</think" + " " * 100),
    "</think runs": ("<think>", "</think"),
    "reasoning regions": ("", "<think>x</think>"),
    "line breaks in prose": ("", "\n"),
    "many small calls": ("", f"{OPEN}<diff>x</diff>{END}\n"),
    "]] in CDATA": (CDATA, "]]"),
    "]]> in CDATA": (CDATA, "]]>"),
    "]]>x in CDATA": (CDATA, "]]>x"),
    "]]></b> in CDATA": (CDATA, "]]></b>"),
    "]]></diff> x in CDATA": (CDATA, "]]></diff> x"),
    "]]> and white space in CDATA": (f"{CDATA}]]>", " "),
    "CDATA sections": (VALUE, "<![CDATA[x]]>"),
    "< in a value": (VALUE, "<"),
    "& in a value": (VALUE, "&"),
    "&amp; in a value": (VALUE, "&amp;"),
    "&# in a value": (VALUE, "&#"),
    "open tags in a value": (VALUE, "<b>"),
    "<a <a in a value": (VALUE, "<a "),
    "</diff> x in a value": (VALUE, "</diff> x"),
    "</diff> and white space": (f"{VALUE}x</diff>", " "),
    "</arguments> in a value": (VALUE, "</arguments>"),
    "</arguments> and white space": (f"{VALUE}x</arguments>", " "),
    "</b> in a value": (VALUE, "</b>"),
    "<!-- in a value": (VALUE, "<!--"),
    "line breaks in a value": (f"{VALUE}x", "\n"),
    "spaces in a value": (f"{VALUE}x", " "),
    "leading white space": (VALUE, " "),
    "leading line breaks": (VALUE, "\n"),
    "deep nesting": (OPEN, "<a>"),
    "deep nesting with text": (OPEN, "<a>x"),
    "elements": (OPEN, "<b>1</b>"),
    "array items": (f"{OPEN}<files>", "<file>x</file>"),
    "children without schema": (FREE, "<b>1</b>"),
    "text beside children": (f"{FREE}<b>1</b>", "x "),
    "nodes without schema": (FREE, "<a><b>1</b></a>"),
    "open comment": (f"{OPEN}<!--", "-"),
    "comments": (OPEN, "<!---->"),
    "<! in arguments": (OPEN, "<!"),
    "<? in arguments": (OPEN, "<?"),
    "stray text": (OPEN, "x "),
    "< in arguments": (OPEN, "<"),
    "stray end tags": (OPEN, "</b>"),
    "end tags after an error": (f"{OPEN}<!DOCTYPE", "</b>"),
    "tag without end": (f"{OPEN}<a", " a=1"),
    "{ in a JSON body": ("<tool>", "{"),
    "[ in a JSON body": ('<tool>{"a": ', "["),
    "quotes in a JSON string": (JSON, '\\"'),
    "backslashes in a JSON string": (JSON, "\\\\"),
    "line breaks in a JSON string": (JSON, "\n"),
    "members of a JSON body": ('<tool>{"a": 1', ', "a": 1'),
    "strings of a JSON body": ('<tool>{"a": 1', ', "a": "x"'),
    "broken JSON body": ("<tool>{x", "</tool"),
    "quotes in a string in single quotes": ("<tool>{'a': '", "\\'"),
    "odd backslashes in a JSON string": (JSON, "\\d"),
    "odd backslashes in arguments": (OPEN.partition("\n<path>")[0] + '{"a": "', "\\d"),
    "Python words in a JSON body": ("<tool>{'a': [True", ", None"),
    "( in a JSON body": ('<tool>{"a": ', "("),
    "} after a JSON body": ('<tool>{"a": 1}', "}"),
    "fences after a JSON body": ('<tool>{"a": 1}', "\n```\n"),
    "white space after a JSON body": ('<tool>{"a": 1}', " "),
    "} after arguments": (OPEN.partition("\n<path>")[0] + '{"a": 1}', "}"),
    "numbers and commas in a list": (f"{OPEN}<files>", "1, "),
    "apostrophes in arguments": (OPEN.partition("\n<path>")[0] + "{", "'"),
    "{ in arguments": (OPEN.partition("\n<path>")[0], "{"),
    # Examples in values, and ends that they claim.
    "openers in a value": (VALUE, "<tool><a>"),
    "blocks in a value": (VALUE, "<tool><a></arguments></tool>"),
    "claimed ends in a value": (VALUE, "<tool><a></diff></arguments></tool>"),
    "openers of CDATA in CDATA": (CDATA, "<![CDATA["),
    "claimed ends in CDATA": (CDATA, "<![CDATA[]]></diff></arguments></tool>"),
    "! in CDATA": (CDATA, "!"),
    "values that hold an opener": ("", f"{VALUE}<tool><a></diff>{END}\n"),
    "CDATA that holds an opener": ("", f"{CDATA}<![CDATA[]]></diff>{END}\n"),
    "CDATA without its end": ("", f"{CDATA}x</diff>{END}\n"),
    "arguments by attribute": (OPEN, "<parameter=b>1</parameter>"),
    "values by attribute": (OPEN, '<b value="1"/>'),
    "calls in one block": ("<tool>", f"{OPEN.partition('>')[2]}</arguments>"),
    # What is held back as long as a rule allows, again and again.
    "long openers": ("", "<tool " + "a='b' " * 80 + "> x"),
    "long mentions": ("", "<tool>" + " " * 1000 + "x"),
    "long tags": (OPEN, "<a " + "a='b' " * 600 + ">"),
    "long entities": (VALUE, "&#" + "0" * 1000),
    "long space behind </diff>": (VALUE, "</diff>" + " " * 5000 + "x"),
    "long space behind ]]>": (CDATA, "]]>" + " " * 5000 + "x"),
    "long text behind ]]>": (CDATA, "]]>" + "x" * 5000 + "</b>"),
    "long names": (OPEN.partition("apply")[0], "x" * 5000),
}
# These with bracket_reasoning=True, the others with limits so wide that nothing stops the parser.
BRACKETS = {
    "[ brackets": ("", "["),
    "[ at line starts": ("", "\n["),
    "[ and ]": ("[", "]"),
    "long brackets": ("", "\n[" + "x" * 9000 + "\n\n"),
}
WIDE = Limits(block_size=1 << 30, elements=1 << 30, blocks=1 << 30)


INFINITE = float("inf")


class Slope(NamedTuple):
    """How time grows with size: 1 is linear, 2 quadratic. `cost` is seconds a character at the largest size."""

    slope: float
    top: int
    cost: float


def measure(run: Run, shape: tuple[str, str], chunk: int, quick: bool, repeats: int) -> Slope:
    """Double the text from 64 K to 4 M characters, or until one run takes 0.3 seconds.

    Quick is 16 K and 64 K; of brackets, a character costs more until as many are held back as may be: 64 K and 256 K.

    If it takes 3 seconds before there are two sizes, the slope is infinite: such a text is a trap.
    """
    head, unit = shape
    points: list[tuple[float, float]] = []
    small = 16 if shape in BRACKETS.values() else 14
    for size in (1 << power for power in ((small, small + 2) if quick else range(16, 23))):
        text = (head + unit * (size // len(unit) + 1))[:size]
        work = partial(run, cut(text, chunk or size))
        best = seconds(work)
        if best > 3 and len(points) < 2:
            return Slope(INFINITE, size, best / size)
        best = min([best, *(seconds(work) for _ in range(repeats - 1))])
        points.append((log(size), log(best)))
        if best > 0.3 and len(points) > 2:
            break
    return Slope(statistics.linear_regression(*zip(*points, strict=True)).slope, size, best / size)


def careful(run: Run, shape: tuple[str, str], chunk: int, quick: bool) -> Slope:
    """`measure`, and once more with more runs if the slope is too steep: this machine may have been busy."""
    few, many = (2, 5) if quick else (3, 9)
    found = measure(run, shape, chunk, quick, few)
    steep = 1.1 < found.slope < INFINITE
    return min(found, measure(run, shape, chunk, quick, many)) if steep else found


def growth(quick: bool) -> Iterator[Figure]:
    """Figure f, law 6: doubling the input doubles the time; and no character costs much more than others."""
    floor = seconds(partial(feed_floor, ["x"] * MB)) / MB
    dearest = 0.0
    families: dict[str, tuple[tuple[str, str], Run]] = {
        name: (shape, partial(parse, bracket_reasoning=True) if name in BRACKETS else partial(parse, limits=WIDE))
        for name, shape in (FAMILIES | BRACKETS).items()
    }
    for name, (dialect, head, unit) in GROWING.items():
        families[f"{dialect}: {name}"] = (head, unit), partial(parse, tools=DIALECT_TOOLS, dialect=dialect, limits=WIDE)
    for name, unit in ALSO_GROWING.items():
        families[f"all dialects: {name}"] = ("", unit), partial(parse, tools=DIALECT_TOOLS, also="known", limits=WIDE)
    for name, (shape, run) in families.items():
        found = [careful(run, shape, chunk, quick) for chunk in (1, 4, 0)]
        cost = max(slope.cost for slope in found) / floor
        dearest = max(dearest, cost)
        tops = "/".join(str(slope.top >> 10) for slope in found)
        yield Figure(
            f"f  {name}", 1.1, max(found).slope, "slope", f"1-char/4-char/whole to {tops} K; {cost:.0f} U a character"
        )
    yield Figure("f  the dearest of them", 125, dearest, "U a character")


# --- memory ------------------------------------------------------------------------------------------------


def peak(chunks: Iterable[str], limits: Limits) -> int:
    """The most bytes that were allocated while parsing `chunks`."""
    tracemalloc.start()
    try:
        parse(chunks, limits=limits)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def memory(quick: bool) -> Iterator[Figure]:
    """Figure g: what a block costs while it streams. Beyond the limit, and in prose, nothing grows."""
    size = MB if quick else 10 * MB
    limits = Limits(block_size=size + size // 20)
    text = block(f"<![CDATA[{diff(size)}]]>")
    for width in (4, 4096):
        chunks = (text[at : at + width] for at in range(0, len(text), width))
        name = f"g  memory: {size // MB} MB block, {width}-char chunks"
        yield Figure(name, 3.0, peak(chunks, limits) / len(text), "x block")
    count = 4 * size // 4096
    over = peak(chain([CDATA], plain_chunks(count)), limits)
    yield Figure(f"g  memory: {4 * size // MB} MB block, over its limit", 3.0, over / limits.block_size, "x limit")
    short, long = (peak(plain_chunks(number), limits) for number in (count // 4, count))
    yield Figure("g  memory: four times as much prose", 1.1, long / short, "x", f"peak {long >> 10} KiB")


def plain_chunks(count: int) -> Iterator[str]:
    """Chunks without markup, each a string of its own: one object fed again and again would hide what is kept."""
    piece = source_code(4090).replace("<", " ").replace("]", " ")
    return (f"{piece}{number:06}" for number in range(count))


# --- import ------------------------------------------------------------------------------------------------


ONE_CLASS = "import pydantic\nclass A(pydantic.BaseModel):\n    x: int"
"""The least that a program does which uses pydantic."""


def import_time(program: str) -> float:
    """CPU seconds of a program in a new interpreter, without the interpreter's own start.

    Modules are read as they are where a package is installed: compiled before.
    """
    timed = f"import time; t = time.process_time()\n{program}\nprint(time.process_time() - t)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return float(subprocess.check_output([sys.executable, "-c", timed], env=environment))


def imports(quick: bool) -> Iterator[Figure]:
    """Figure h. The first imports only warm the caches."""
    for name, asked, ours, theirs, unit in (
        ("h  import xmltools", 2.5, "import xmltools", "import pydantic", "x import pydantic"),
        ("h  from xmltools import Parser", 1.25, "from xmltools import Parser", ONE_CLASS, "x a pydantic class"),
    ):
        rounds = [(import_time(ours), import_time(theirs)) for _ in range(8 if quick else 16)][1:]
        ratio = statistics.median(own / other for own, other in rounds)
        yield Figure(name, asked, ratio, unit, f"{statistics.median(own for own, _ in rounds) * 1000:.0f} ms")


# --- the table ---------------------------------------------------------------------------------------------

GROUPS = {"speed": speed, "small": small, "growth": growth, "memory": memory, "import": imports}


def line(figure: Figure) -> str:
    asked, measured = f"<= {figure.asked:g}", f"{figure.measured:.2f} {figure.unit}"
    return f"{figure.name:43} {asked:>7}  {measured:20} {figure.verdict:6} {figure.note}".rstrip()


def markdown(figures: list[Figure]) -> str:
    """The table for a page; backticks in names would end its code spans."""
    head = f"Python {sys.version.split()[0]}\n\n| figure | at most | measured | | |\n|---|---:|---:|---|---|\n"
    return head + "".join(
        f"| {figure.name.replace('`', 'backtick').replace('<', '&lt;')} | {figure.asked:g} "
        f"| {figure.measured:.2f} {figure.unit} | {figure.verdict} | {figure.note} |\n"
        for figure in figures
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the parser; exit status 1 if a figure is missed.")
    parser.add_argument("--quick", action="store_true", help="smaller texts, about half a minute")
    parser.add_argument("--only", choices=GROUPS, action="append", help="one group; may be repeated")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown too")
    options = parser.parse_args()
    gc.freeze()  # what was imported is no garbage, and need not be looked through before each run
    figures: list[Figure] = []
    print(f"{'figure':43} {'asked':>7}  measured")
    for group in options.only or GROUPS:
        for figure in GROUPS[group](options.quick):
            figures.append(figure)
            print(line(figure), flush=True)
    missed = [figure.name for figure in figures if figure.verdict != "ok"]
    print(f"{len(figures)} figures, {len(missed)} missed")
    if options.markdown:
        options.markdown.write_text(markdown(figures), "utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
