"""Replies in other dialects than Forge's, made of their marks in any order, of whole calls, and of what is near them.

As in `strategies`, everything is drawn from a `random.Random`, and a reply is a `Case` of the same laws.
"""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

from support.dialect_marks import marks_of, write
from support.strategies import Case, options

from xmltools import dialects

__all__ = ["KINDS", "dialect_case"]

_COMMON = (
    *(" ", "\n", "\n\n", "\r\n", " " * 700, "word", "a < b & c", "<", "</", ">", "{", "}", "[", '"', "\\", "&lt;"),
    *("`", "```\n", "\n```xml\n", "<think>", "</think>", "<!--", "-->", "<![CDATA[", "]]>", "<|im_end|>", "<|user|>"),
    *("<tool_call>", "<tool_call>\n", "</tool_call>", "\n</tool_call>", "<tool_call", "</tool_", "<Tool_Call>"),
)
_OWN = {
    "qwen3_coder": (
        *("<function=apply_diff>", "<function=types>\n", "<function=no>", "</function>", "</function>\n", "<function="),
        *("<parameter=path>", "<parameter=count>\n", "<parameter=files>", "<parameter=any>", "<parameter=diff>\n"),
        *("</parameter>", "\n</parameter>\n", "</param", "<parameter=", "\n1\n", '["a"]', "{'a': 1}", "null", "true"),
        *("<function=types/>", "<function = types>", '<function="types">', "<parameter=path/>", "a\n\n", "\r\nb \r\n"),
    ),
    "hermes": (
        *('{"name": "types", "arguments": {', '{"name": "apply_diff", "arguments": {"path": "', '"count": 1', "}}"),
        *('"path": "</tool_call>"', '"diff": "<tool_call>{"', '"files": ["a", "b"]', '"options": {"inner": {"text": "'),
        *("{'name': 'types', 'arguments': {'flag': True}}", '"name"', '"arguments": ', '"parameters": {}', '"name": "'),
        *(
            '\\"',
            "\\n",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\\ud83d",
            "\\d",
            "\\\\",
            '"',
            '",',
            "'",
            "null",
            "}",
            "]",
            "{",
            ": ",
        ),
        *('"arguments": "{}"', '"id": 1', '"server": "x"', "[{", "}]", '{"tool": "types"', '"args": {', ", ", "no"),
        '"any": [{"k": "v"',
    ),
    "glm": (
        *("types", "apply_diff\n", "types\n", "no", "<arg_key>path</arg_key>", "<arg_key>count</arg_key>\n"),
        *("<arg_key>any</arg_key>", "<arg_value>", "</arg_value>", "</arg_value>\n", "<arg_value>1</arg_value>", "1"),
        *("<arg_key>", "</arg_key>", "<arg_value>[1, 2]</arg_value>", "<arg_key>files</arg_key><arg_value>a", "</arg_"),
        *('{"name": "types"}', "types\\n", "<tool_call>types<arg_key>path</arg_key><arg_value>"),
    ),
}
for _dialect in dialects.all():
    if _dialect is not dialects.FORGE:
        _made = marks_of(_dialect, ("types", "apply_diff", "no"), ("path", "count", "files", "any"))
        _OWN[_dialect.name] = (*_OWN.get(_dialect.name, ()), *_made)
_LONGEST = 100
"""No block is smaller than the marks around it."""
_FORGE = (
    *("<tool>", "</tool>", "<tool_name>types</tool_name>", "<arguments>", "</arguments>", "<path>", "</path>"),
    *("<tool_name>", "<tool><tool_name>", "<count>1</count>", "Tool: types\nResult: ", "<tool_response>"),
    *("</tool_response>", "<tool_call>\n<function=no>", '<tool_call>{"name": "no", '),
)
KINDS = (*_OWN, "also")
"""What a reply may be: in one of the dialects, or in any of them, with calls in the others."""


def dialect_case(rng: Random, kind: str) -> Case:
    """A reply of this kind, with the tools and options to read it with."""
    chosen = options(rng) if rng.random() < 0.3 else {}
    if rng.random() < 0.2:
        chosen["starts_in_reasoning"] = True
    if rng.random() < 0.05:
        chosen["strict"] = True
    name = kind
    if kind == "also":
        name = rng.choice(("forge", "forge", *_OWN))
        chosen["also"] = "known"
    if name != "forge":
        chosen.pop("bracket_reasoning", None)
    if (limits := chosen.get("limits")) and limits.block_size < _LONGEST:
        chosen["limits"] = replace(limits, block_size=_LONGEST)
    chosen["dialect"] = name
    written = list(_OWN) if kind == "also" else [kind]
    alphabet = [*_COMMON, *(token for each in written for token in _OWN[each] * (1 + (kind != "also")))]
    tokens = []
    for _ in range(rng.randint(1, 14)):
        draw = rng.random()
        if draw < 0.25:
            tokens.append(_call(rng, rng.choice((*written, "forge") if kind == "also" else written)))
        elif draw < 0.4 and kind == "also":
            tokens.append(rng.choice(_FORGE))
        else:
            tokens.append(rng.choice(alphabet))
    return Case(tokens, "none" if rng.random() < 0.15 else "types", chosen)


def _call(rng: Random, dialect: str) -> str:
    """A whole call, or nearly: values are made of marks too."""
    name = rng.choice(("types", "types", "apply_diff", "no"))
    marks = [*_COMMON, *_OWN[rng.choice(list(_OWN))]]
    values = {
        key: "".join(rng.choices(marks, k=rng.randint(0, 3))) if rng.random() < 0.5 else rng.choice(("a.py", "1", "[]"))
        for key in rng.sample(("path", "diff", "count", "files", "any", "maybe"), k=rng.randint(0, 3))
    }
    gap = rng.choice(("", "", "\n", " "))
    if dialect == "forge":
        body = "".join(f"<{key}><![CDATA[{value.replace(']]>', '')}]]></{key}>" for key, value in values.items())
        return f"<tool><tool_name>{name}</tool_name><arguments>{body}</arguments></tool>"
    form = rng.choice(dialects.named(dialect).forms)
    written = {key: json.loads(value) if value in ("1", "[]") else value for key, value in values.items()}
    call = write(form, name, written, gap, wrapped=rng.random() < 0.8)
    return call if rng.random() < 0.9 else call + write(form, name, written, gap, wrapped=False)
