"""Replies that hold no call: prose, code, JSON, Markdown, logs, and what is said about calls. They are made of building
blocks and of files of the standard library."""

from __future__ import annotations

import json
import re
import sysconfig
from functools import lru_cache
from pathlib import Path
from random import Random

from xmltools import dialects
from xmltools.tools import Tool

__all__ = ["TOOLS", "reply"]

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _tool(name: str, description: str, **properties: dict[str, str]) -> Tool:
    return Tool(name=name, description=description, parameters={"type": "object", "properties": properties})


TOOLS = [
    _tool("read_file", "Read a file.", path=_TEXT, lines=_NUMBER),
    _tool("write_file", "Write a file.", path=_TEXT, content=_TEXT),
    _tool("search", "Search the web.", query=_TEXT, limit=_NUMBER),
    _tool("bash", "Run a command.", command=_TEXT),
    _tool("get", "Fetch a page.", url=_TEXT),
    _tool("list", "List a folder.", path=_TEXT),
    _tool("print", "Print a document.", document=_TEXT),
]
"""Tools with names that ordinary text is full of."""

_NAMES = tuple(tool.name for tool in TOOLS)
_WORDS = tuple(
    re.findall(
        r"\S+",
        """
    the a of to and is that it for with this code value file parser token reply model you can use when
    then list get search print read call function tool arguments parameter think result name string list
    error line tag mark begin end
""",
    )
)
_LANGUAGES = ("python", "js", "xml", "html", "json", "bash", "rust", "jinja", "c", "yaml", "")
_CODE = (
    "def get(url):\n    return requests.get(url, timeout={n})\n\nprint(get('{w}'))",
    "const get = async (url) => {{ const r = await fetch(url); return r.json(); }};\nlist.map((x) => x.{w});",
    '<tools>\n  <tool name="{t}"><param name="path">a.py</param></tool>\n</tools>',
    '<function name="{t}">\n  <returns>int</returns>\n</function>',
    "{{%- for call in message.tool_calls %}}\n{m}\n{{{{ call.function.name }}}}\n{{%- endfor %}}",
    "for i in $(seq {n}); do\n  curl -s \"$URL/{w}\" | jq '.[] | {{name, arguments}}'\ndone",
    "fn {t}(path: &str) -> Result<Vec<u8>, Error> {{ let v: Vec<Option<u8>> = vec![]; Ok(v) }}",
    '#include <stdio.h>\nint main(void) {{ if (a < b && c > d) printf("%d\\n", {n}); return 0; }}',
    "tools:\n  - name: {t}\n    parameters: {{path: string}}",
    "match = re.search(r'<tool_call>(.*?)</tool_call>', text)\n[{t}(x) for x in range({n})]",
    "[{t}(x) for x in items]\n[search, get, print]",
    "template<typename T> std::vector<T> {t}(const T& x) {{ return {{x}}; }}",
)


@lru_cache(maxsize=1)
def _files() -> list[Path]:
    """Files of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    return sorted((*folder.glob("*.py"), *folder.glob("*/*.py")))


def _excerpt(pick: Random) -> str:
    text = pick.choice(_files()).read_text("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    at = pick.randrange(len(lines) or 1)
    return "".join(lines[at : at + pick.randint(1, 40)])


def _sentence(pick: Random) -> str:
    words = pick.choices(_WORDS, k=pick.randint(3, 18))
    for _ in range(pick.randint(0, 2)):
        name = pick.choice(_NAMES)
        said = (f"`{name}`", f"{name}({pick.choice(_WORDS)}={pick.randint(0, 9)})", f"`{_marks(pick)[0]}`")
        said += ("a < b", "x > y", "(see below)", "[1]", "[citation needed]", "{x}", "3 << 2", "List<int>", "&&")
        words.insert(pick.randrange(len(words)), pick.choice(said))
    return f"{' '.join(words).capitalize()}{pick.choice('.?!:')}"


def _prose(pick: Random) -> str:
    return " ".join(_sentence(pick) for _ in range(pick.randint(1, 5)))


def _code(pick: Random) -> str:
    code = pick.choice(_CODE).format(
        n=pick.randint(1, 99), w=pick.choice(_WORDS), t=pick.choice(_NAMES), m=_marks(pick)[0]
    )
    return f"```{pick.choice(_LANGUAGES)}\n{code}\n```"


def _file(pick: Random) -> str:
    text = _excerpt(pick)
    fence = "```" if "```" not in text else "~~~~~~~~"
    return f"{fence}{pick.choice(_LANGUAGES)}\n{text}\n{fence}"


def _value(pick: Random, depth: int = 0) -> object:
    kind = pick.randrange(7 if depth < 3 else 4)
    if kind < 4:
        return pick.choice((pick.randint(-9, 999), pick.random(), None, True, "", pick.choice(_NAMES), _sentence(pick)))
    if kind == 4:
        return [_value(pick, depth + 1) for _ in range(pick.randint(0, 4))]
    keys = ("name", "id", "type", "description", "version", "size", "function", "tool", "items", "path", "url", "ok")
    return {key: _value(pick, depth + 1) for key in pick.sample(keys, pick.randint(0, 5))}


def _json(pick: Random) -> str:
    """An answer in JSON, also one that describes tools."""
    value = _value(pick)
    if pick.random() < 0.3:
        tool = pick.choice(TOOLS)
        value = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters or {})}
        value = pick.choice((value, [value], {"type": "function", "function": value}, {"tools": [value]}))
    text = json.dumps(value, indent=pick.choice((None, 2)))
    return text if pick.random() < 0.6 else f"```json\n{text}\n```"


def _table(pick: Random) -> str:
    rows = [
        [pick.choice((*_WORDS, *_NAMES, f"`{_marks(pick)[0]}`")) for _ in range(3)] for _ in range(pick.randint(1, 5))
    ]
    return "\n".join(("| name | what | n |", "|---|:-:|--:|", *(f"| {' | '.join(row)} |" for row in rows)))


def _bullets(pick: Random) -> str:
    items = (f"{pick.choice(('-', '*', '1.', '- [ ]', '- [x]'))} {_sentence(pick)}" for _ in range(pick.randint(1, 6)))
    return "\n".join(items)


def _links(pick: Random) -> str:
    name = pick.choice(_NAMES)
    return (
        f"[{pick.choice((name, f'{name}()', f'`{name}`'))}]({name}.md) {_sentence(pick)} <https://a.org/{name}?x=1&y=2>"
    )


def _log(pick: Random) -> str:
    lines = (
        f"[{pick.choice(('INFO', 'ERROR', 'TOOL', '12:04:09'))}] {pick.choice(_NAMES)}({pick.randint(0, 9)}): "
        f"{pick.choice(('ok', 'failed <EOF>', 'got {}', 'done [3/4]', 'a -> b', '<nil>'))}"
        for _ in range(pick.randint(1, 8))
    )
    return "\n".join(lines)


def _markup(pick: Random) -> str:
    name = pick.choice(("item", "config", "div", "tool-box", "functions", "parameters"))
    return pick.choice(
        (
            f'<{name} id="{pick.choice(_NAMES)}">{_sentence(pick)}<br/></{name}>',
            f"<details><summary>{_sentence(pick)}</summary>\n{_sentence(pick)}\n</details>",
            f"<ul><li>{_sentence(pick)}</li></ul>",
        )
    )


def _python(pick: Random) -> str:
    """Code that stands without a fence."""
    return pick.choice(
        (
            "[get(url) for url in urls]",
            "[search, get]",
            "print(get('a'))",
            "{name: get(name) for name in names}",
            "[1, 2, 3]",
            "[x for x in list(path)]",
            "{'name': 'get'}",
            "{}",
            "[]",
            "[print]",
        )
    )


def _marks(pick: Random) -> list[str]:
    """Marks of a dialect, each of which begins or ends something."""
    dialect = pick.choice(dialects.all())
    marks = []
    for form in dialect.forms:
        marks += [form.opener, form.closer]
        if form.pairs is not None:
            marks += [form.pairs.name, form.pairs.key, form.pairs.value_end, form.pairs.end]
    marks = [mark.strip() for mark in marks if mark.strip() and "`" not in mark and "\n" not in mark]
    pick.shuffle(marks)
    return marks or ["<tool>"]


def _review(pick: Random) -> str:
    """What is said about calls: marks, and whole calls, in inline code and in fences that show them."""
    marks = _marks(pick)
    example = pick.choice(dialects.all()).example.replace("get", pick.choice(("no_such_tool", "lookup")))
    in_line = example.replace("\n", " ")  # inline code is on one line
    begin, end = marks[0], marks[-1]
    escaped = begin.replace("<", "&lt;") if "<" in begin else "text"
    return pick.choice(
        (
            f"A call begins with `{marks[0]}` and ends with `{marks[-1]}`.",
            f"The model writes `{in_line}`, which is parsed up to `{marks[0]}`.",
            f"In the template:\n```jinja\n{{%- if tools %}}{begin}{{{{ tool | tojson }}}}{end}{{%- endif %}}\n```",
            f"For example:\n\n```\n{example}\n```",
            f"Escape it as {escaped}, or write ``{in_line}`` instead.",
        )
    )


_PARTS = (_prose, _prose, _code, _file, _json, _table, _bullets, _links, _log, _markup, _python, _review, _review)


def reply(seed: int) -> str:
    """Return an ordinary reply. The same seed makes the same one with the same version of Python. Its fences may show
    calls, which are calls in their dialect unless calls in fences are text."""
    pick = Random(seed)
    parts = [pick.choice(_PARTS)(pick) for _ in range(pick.randint(1, 6))]
    if pick.random() < 0.1:
        return _excerpt(pick)  # a file as it is
    return f"{pick.choice(('', '', chr(10), '# Title' + chr(10)))}{pick.choice((chr(10) * 2, chr(10))).join(parts)}"
