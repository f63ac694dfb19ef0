"""What is parsed: real code as diffs and files, for the clock; and ordinary but hard texts, for correctness.

The code is the standard library's own source on this machine; the changes in the diffs come from a seeded generator,
so one Python always gives the same texts.
"""

from __future__ import annotations

import difflib
import random
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from _rivals._dialects import BLOCK_END, OPENER, QUOTED, VALUE_END, Call, Reply

__all__ = ["CONTROLS", "TOOL_SCHEMAS", "diff", "diff_reply", "hard_texts", "workloads"]

KB, MB = 1_000, 1_000_000
STRING = {"type": "string"}
FILE = {"type": "object", "properties": {"path": STRING, "text": STRING}}
RANGE = {"type": "object", "properties": {"line": {"type": "integer"}, "whole": {"type": "boolean"}}}
TOOL_SCHEMAS = {
    "apply_diff": {
        "type": "object",
        "properties": {"path": STRING, "diff": STRING, "strip": {"type": "integer"}, "dry": {"type": "boolean"}},
    },
    "search": {"type": "object", "properties": {"query": STRING, "path": STRING}},
    "write_files": {"type": "object", "properties": {"files": {"type": "array", "items": FILE}}},
    "mark": {"type": "object", "properties": {"path": STRING, "spots": {"type": "array", "items": RANGE}}},
}
# XML has no way to say these; a diff of real code has next to none.
CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
PROSE = "I'll look at where the name is used, and change the call. The tests in `tests/test_io.py` cover both.\n\n"


@cache
def sources() -> list[tuple[str, str]]:
    """The modules of the standard library as name and text, in ASCII."""
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return [(path.name, path.read_bytes().decode("ascii", "ignore").translate(CONTROLS)) for path in paths]


def changes() -> Iterator[str]:
    """A unified diff for each module, with every 20th line or so changed."""
    rng = random.Random(7)
    for name, text in sources():
        before = text.splitlines(keepends=True)
        after = [line.replace("self", "this") + "# changed\n" if rng.random() < 0.05 else line for line in before]
        yield from difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=3)


@cache
def all_changes() -> str:
    return "".join(changes())


def diff(size: int) -> str:
    """`size` characters of unified diff, without the end of CDATA in it."""
    text = all_changes().replace("]]>", "]] >")
    return (text * (size // len(text) + 1))[:size].rstrip() + "\n"


def apply_diff(size: int) -> Call:
    return Call("apply_diff", {"path": "src/app.py", "diff": diff(size)})


def diff_reply(size: int) -> Reply:
    """A call with a diff of `size` characters, in prose."""
    return Reply(label(size), (PROSE, apply_diff(size)))


def label(size: int) -> str:
    return f"{size // MB} MB diff" if size >= MB else f"{size // KB} KB diff"


def prose(size: int) -> str:
    """An answer about code, with `<`, `&` and backticks in it, and no call."""
    lines = "".join(text for _, text in sources()).splitlines()
    said = (f"if a<b && `{line.strip()[:40]}` then List<int> & co" for line in lines)
    return "\n".join(said).replace("<tool", "<tolo")[:size]


def files(count: int) -> Call:
    """Whole files, cut to 200 characters each, in a list."""
    known = sources()
    rows = ((number, *known[number % len(known)]) for number in range(count))
    items = [{"path": f"src/{number}/{name}", "text": text[:200].strip()} for number, name, text in rows]
    return Call("write_files", {"files": items})


def small_calls(count: int) -> Reply:
    """Calls with a sentence before each."""
    names = [name for name, _ in sources()]
    parts: list[str | Call] = []
    for number in range(count):
        name = names[number % len(names)]
        parts += ["\nNext, the users of it.\n", Call("search", {"query": f"import {name[:-3]}", "path": f"lib/{name}"})]
    return Reply(f"{count} small calls", tuple(parts))


def workloads(quick: bool) -> Iterator[Reply]:
    """What the clock runs over, small sizes of a kind before large ones."""
    call = Call("search", {"query": "def feed", "path": "src/parser.py"})
    yield Reply("small call", (PROSE, call, "\n"))
    yield diff_reply(100 * KB)
    if not quick:
        yield diff_reply(MB)
        yield diff_reply(10 * MB)
    size, word = (100 * KB, "100 KB") if quick else (MB, "1 MB")
    yield Reply(f"{word} prose", (prose(size),))
    yield small_calls(50 if quick else 200)
    if not quick:
        yield Reply("1 MB escaped", (PROSE, apply_diff(MB)), "escaped")
        yield Reply("1 MB JSON body", (PROSE, apply_diff(MB)), "json")
    items = 200 if quick else 2000
    yield Reply(f"{items}-item array", (PROSE, files(items)))


def edit(value: str, path: str = "a.py") -> Call:
    return Call("apply_diff", {"path": path, "diff": value})


def hard_texts() -> list[Reply]:
    """Ordinary things that models write, and that break parsers. Private characters are tags of the dialect at hand."""
    code = "-if a < b && c:\n+if a <= b & c:\n"
    types = {"path": "a.py", "spots": [{"line": 5, "whole": True}, {"line": 7, "whole": False}]}
    page = '<p class="x">Hi,<br>\n<b>you</b> & me\n</p>\n'
    return [
        Reply("a small call in prose", (PROSE, edit("-a\n+b"), "\nDone.")),
        Reply("code in CDATA", (PROSE, edit(code))),
        Reply("`]]>` in CDATA, not split", (PROSE, edit("-if a[b[0]]>1 & c:\n+if a[0]>1:\n")), "unsplit"),
        Reply("the block's own end tag in CDATA", (PROSE, edit(f"a block ends with {BLOCK_END}\nand so on\n"))),
        Reply("the block's own end tag in plain text", (PROSE, edit(f"ends with {BLOCK_END}, and so on")), "plain"),
        Reply("the value's own end tag in plain text", (PROSE, edit(f"a value ends with {VALUE_END} mostly")), "plain"),
        Reply("a whole block in plain text", (PROSE, edit(f"An example:\n{QUOTED}\nThat is all.")), "plain"),
        Reply("a bare `&`", (PROSE, edit("make && make test & wait")), "plain"),
        Reply("a stray `<`", (PROSE, edit("-if a < b:\n+if a <= b:")), "plain"),
        Reply("HTML, not escaped", (PROSE, edit(page.strip(), "index.html")), "plain"),
        Reply("entities that are meant", (PROSE, edit("&lt;b&gt; is not <b>, nor is &amp;")), "escaped"),
        Reply("two calls, code in the prose", ("If a<b && c:\n", edit("-a"), "\nso x < y, then\n", edit("+a"), " ok")),
        Reply("the opener as a word in the prose", (f"I write `{OPENER}` and then:\n", edit("-a\n+b"))),
        Reply("blank lines around the value", (PROSE, edit("\n\n  indented\n\n"))),
        Reply("numbers and booleans in a list", (PROSE, Call("mark", types))),
    ]
