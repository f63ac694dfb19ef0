"""Ordinary replies of a model, without a call: prose, code, answers in JSON, Markdown, logs, and talk about markup.

Everything is drawn from a `random.Random`. Sentences, names and numbers are combined, so that replies differ; code
comes from the standard library, too.
"""

from __future__ import annotations

import json
import sysconfig
from functools import lru_cache
from pathlib import Path
from random import Random

from xmltools import dialects
from xmltools.tools import Tool

__all__ = ["TOOLS", "ordinary_reply"]

TOOLS = [
    Tool(name=name, parameters={"type": "object", "properties": {key: {"type": "string"} for key in keys}})
    for name, keys in {
        "read_file": ("path", "lines"),
        "search": ("query", "limit"),
        "get_weather": ("city", "unit"),
        "run": ("command",),
        "apply_diff": ("path", "diff"),
        "python": ("code",),
        "list": ("folder",),
    }.items()
]
_TEXT = (
    "the file a value run search list python path result parser call of in and or function tool then which returns it "
    "we should read write test case line number name weather city error first last open close text with"
)
_WORDS = tuple(_TEXT.split())
_NAMES = ("name", "query", "path", "city", "value", "parameters", "arguments", "tool", "type", "items", "total", "id")


@lru_cache(maxsize=1)
def _sources() -> tuple[str, ...]:
    """Files of the standard library."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    return tuple(sorted(str(path) for path in folder.glob("*.py")))


@lru_cache(maxsize=32)
def _source(path: str) -> list[str]:
    return Path(path).read_text("utf-8", "replace").splitlines()


def ordinary_reply(rng: Random) -> str:
    """A reply of a few parts, in any order."""
    parts = [rng.choice(_PARTS)(rng) for _ in range(rng.randint(1, 6))]
    return rng.choice(("\n\n", "\n\n", "\n")).join(parts) + rng.choice(("", "\n"))


def _sentence(rng: Random) -> str:
    words = rng.choices(_WORDS, k=rng.randint(4, 16))
    for place in range(len(words)):
        draw = rng.random()
        if draw < 0.06:
            words[place] = f"`{rng.choice(TOOLS).name}`"
        elif draw < 0.08:
            words[place] = f"{rng.choice(TOOLS).name}({rng.choice(_NAMES)}={rng.randint(0, 9)})"
        elif draw < 0.1:
            words[place] = rng.choice(
                ("a < b", "x > y", "[1]", "[citation needed]", "{x}", "3 << 2", "List<int>", "&&")
            )
        elif draw < 0.11:
            words[place] = f"`{rng.choice(_mentions())}`"
    return " ".join(words).capitalize() + rng.choice((".", ".", "?", ":", "!"))


@lru_cache(maxsize=1)
def _mentions() -> tuple[str, ...]:
    """Marks of all dialects, as they are mentioned in inline code."""
    forms = [form for dialect in dialects.all() for form in dialect.forms]
    marks = {mark for form in forms for mark in (form.opener, form.closer) if mark.strip("[{ ")}
    return tuple(sorted(mark for mark in marks if "\n" not in mark and "`" not in mark))


def _prose(rng: Random) -> str:
    return " ".join(_sentence(rng) for _ in range(rng.randint(1, 5)))


def _list(rng: Random) -> str:
    mark = rng.choice(("- ", "* ", "1. ", "- [ ] ", "- [x] "))
    return "\n".join(mark + _sentence(rng) for _ in range(rng.randint(2, 5)))


def _heading(rng: Random) -> str:
    return "#" * rng.randint(1, 4) + " " + _sentence(rng)[:-1]


def _table(rng: Random) -> str:
    rows = [" | ".join(rng.choices(_WORDS, k=3)) for _ in range(rng.randint(1, 4))]
    return "\n".join(f"| {row} |" for row in ("name | type | value", "--- | --- | ---", *rows))


def _links(rng: Random) -> str:
    tool = rng.choice(TOOLS).name
    return rng.choice(
        (
            f"[{tool}](https://example.com/{tool})",
            f"[{_sentence(rng)}][{rng.randint(1, 9)}]",
            f"![{tool}]({tool}.png) {_sentence(rng)}",
            f"[{tool}]: https://example.com",
        )
    )


def _value(rng: Random, depth: int = 2) -> object:
    draw = rng.random()
    if depth and draw < 0.25:
        return {rng.choice(_NAMES): _value(rng, depth - 1) for _ in range(rng.randint(0, 4))}
    if depth and draw < 0.45:
        return [_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return rng.choice((True, None, rng.randint(-5, 500), rng.random(), _sentence(rng), "Ada", "a.py"))


def _json_answer(rng: Random) -> str:
    """An answer in JSON, which may have the keys of a call, but names no tool."""
    answer = _value(rng, 3)
    text = json.dumps(
        answer if isinstance(answer, dict | list) else {"name": "Ada", "age": 36}, indent=rng.choice((None, 2))
    )
    return f"```json\n{text}\n```" if rng.random() < 0.5 else text


def _code(rng: Random) -> str:
    lines = _source(rng.choice(_sources()))
    start = rng.randrange(max(1, len(lines) - 20))
    text = "\n".join(lines[start : start + rng.randint(3, 20)])
    return f"```python\n{text}\n```" if rng.random() < 0.8 else text


def _other_code(rng: Random) -> str:
    tool = rng.choice(TOOLS).name
    return rng.choice(
        (
            f"```js\nconst [a, b] = {tool}({{path: '{rng.choice(_WORDS)}'}});\n```",
            f"[{tool}(x) for x in values]",
            f"[{tool}, run, search]",
            f"[{rng.randint(0, 9)}, {rng.randint(0, 9)}]",
            f"$ {tool} --path a.py | grep [a-z]",
            f"```html\n<div class='a'><{rng.choice(('b', 'p', 'i'))}>{_sentence(rng)}</div>\n```",
            f"<details><summary>{_sentence(rng)}</summary>\n{_sentence(rng)}\n</details>",
            f"<ul><li>{_sentence(rng)}</li></ul>",
        )
    )


def _log(rng: Random) -> str:
    kinds = ("[INFO]", "[2026-11-24 10:00:00]", "[TOOL]", "[1/5]", "[run]")
    return "\n".join(f"{rng.choice(kinds)} {_sentence(rng)}" for _ in range(rng.randint(1, 5)))


def _template(rng: Random) -> str:
    """Talk about a chat template: marks in a fence, without a call."""
    marks = rng.sample(_mentions(), k=3)
    return "```jinja\n{%- if tools %}\n" + "\n".join(f"{{{{ '{mark}' }}}}" for mark in marks) + "\n{%- endif %}\n```"


_PARTS = (
    *(_prose, _prose, _prose, _list, _heading, _table, _links, _json_answer, _code, _other_code, _log, _template),
)
