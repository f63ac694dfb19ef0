"""Short documents of the protocol's alphabet, cheap to make: document i is the same in every run.

`strategies` makes long documents that come near to what models write; these are a few to 40 tokens, so that millions
can be read. Most have the head of a call, elements that its tool may know, and an end that may fit, because a soup
of tokens hardly ever gets into a call. Document i is drawn from a generator seeded with i, and from nothing else.
"""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import Any

from support.strategies import SOUP, TOOL_SETS, UNKNOWN, WORDS, Case, Tokens, mutate

from xmltools.parser import Limits

__all__ = ["OPTIONS", "document", "token_case"]

_ALPHABET = [token for _, kind in SOUP for token in kind]
_WEIGHTS = list(accumulate(weight / len(kind) for weight, kind in SOUP for _ in kind))

_NAMES = ("apply_diff", "types", "types", "odd", "read", "any")
_HEADS = (
    *(f"<tool><tool_name>{name}</tool_name><arguments>" for name in _NAMES),
    "<tool>\n  <tool_name>types</tool_name>\n  <arguments>\n    ",
    "<tool><server_name>disk</server_name><tool_name>read</tool_name><arguments>",
    "<tool><arguments>",
    "<tool><tool_name>types</tool_name>",
    '<tool name="types">',
    "<tool><name>types</name><arguments>",
    "<tool><tool_name>types</tool><parameters>",
    "<tool><tool_name>types</tool_name><arguments>\n```xml\n",
    "```xml\n<tool>\n<tool_name>apply_diff</tool_name>\n<arguments>\n",
    "~~~\n<tool><tool_name>types</tool_name><arguments>",
    "<!-- <tool><tool_name>types</tool_name><arguments>",
    "<![CDATA[<tool><tool_name>types</tool_name><arguments>",
    "`e.g. <tool><tool_name>types</tool_name><arguments>",
    "`<tool><tool_name>types</tool_name><arguments>",
    "<think>a <think><tool><tool_name>types</tool_name><arguments>",
    "<Tool><tool_name>types</tool_name><arguments>",
    "<tool>types\n<arguments>",
    "<tool><tool_name>types</tool_name><arguments><edits><item>",
)
_TAILS = (
    *["</arguments></tool>"] * 6,
    "\n  </arguments>\n</tool>",
    "</arguments><tool_name>types</tool_name></tool>",
    "</arguments>",
    "</tool>",
    "</arguments>\n</tool>\n```\n",
    "</arguments><|im_end|></tool>",
    "</arguments><tool_name>types</tool_name><arguments><path>x</path></arguments></tool>",
    "</item></edits></arguments></tool>",
    "</arguments></tool>\n~~~\n",
    "</arguments></tool> -->",
    "</arguments></tool>]]>",
    "</arguments></tool>` ",
    "</arguments></tool></think> b</think>",
    "</arguments></Tool>",
    "",
)
_JSON_CALLS = (
    ('<tool>{"tool_name": "types", "arguments": {', "}}</tool>"),
    ('<tool>\n{"name": "apply_diff", "server": "local", "parameters": {', "}}\n</tool>"),
    ("<tool><tool_name>types</tool_name><arguments>{", "}</arguments></tool>"),
    ("<tool><tool_name>types</tool_name><arguments><edits>[{", "}]</edits></arguments></tool>"),
    ('<Tool>{"tool_name": "types", "arguments": {', "}}</Tool>"),
    ('<tool>[{"tool_name": "types", "arguments": {', "}}]</tool>"),
    ("<tool>types\n{", "}</tool>"),
    ('<tool>```json\n{"tool_name": "read", "arguments": "{', '}"}\n```\n</tool>'),
    ("<tool>{'tool_name': 'types', 'arguments': {", "}}}</tool>"),
    ('<tool>{"tool": "types", "args": {', "}</tool>"),
    ('<tool>{"type": "function", "function": {"name": "types", "arguments": {', "}}}"),
    ('<tool>{"tool_name": "types", "id": "call_1", ', "}</tool>"),
    ("<tool><tool_name>types</tool_name><arguments>{", "}}</arguments></tool>"),
    ("<tool><tool_name>types</tool_name><arguments><any>[", "]</any></arguments></tool>"),
)
_FOREIGN_CALLS = (
    ('<tool_call>\n{"name": "types", "arguments": {', "}}\n</tool_call>"),
    ('<tool_call>[{"arguments": {', '}, "name": "read"}]</tool_call>'),
    ("<tool_call>\n<function=types>\n<parameter=path>\n", "\n</parameter>\n</function>\n</tool_call>"),
    ("<function=read>", "</function>"),
    ("<tool_call>read\n<arg_key>path</arg_key><arg_value>", "</arg_value></tool_call>"),
    ('<a:invoke name="read"><parameter name="path">', "</parameter></a:invoke>"),
    ("<read>\n<path>", "</path></read>"),
    ("<types>{", "}</types>"),
    ('\n```json\n{"name": "read", "parameters": {', "}}\n```\n"),
    ("`<read/>` \\<read/> <!-- <read/> -->", "<read/>"),
)
"""Calls in other notations: what they begin and end with."""
_JSON = (
    '"path": ', '"count": ', '"edits": ', '"any": ', '"a"', '"</tool>"', "5", "1.5", "true", "null", ", ", ", ", "[",
    "]", "{", "}", '"\\u00e9\\n"', '"\\ud800"', '"x\ny"', ",", "NaN", "1e999", "<", "]]>", "<![CDATA[", "</arguments>",
    "'path': ", "'a'", "'it's'", "'</tool>'", "True", "None", "(1, ", ")", "'", '"C:\\dir"', '"\\d\\n"', "'\\'\\x41'",
    '"thought": ', '"tool": ', '"arguments": {', '"\\"5\\""', '"1, 2"', "}}", "\\", "\n```",
)  # fmt: skip
_EXAMPLE = "<tool><tool_name>types</tool_name><arguments><path>y</path></arguments></tool>"
_VALUES = ("a.py", "5", "true", "x", " ", "\n  x\n", "write", "0.5", "a < b && c", "&lt;p&gt;", "]]", "[1]", "{}", "")
_VALUES += ('"5"', "'true'", "1, 2", "[1 2]", "[a](b)", "['a', '\\d']", '{"a": 1}}', '{"a": "\\d\\n"}', '"write"')
_VALUES += (f"see {_EXAMPLE} there", "a <![CDATA[b]]> c", "<![CDATA[", "<tool><a>")


def _elements() -> list[tuple[str, str]]:
    """Start and end of elements: of names that the tools know more often than others, with CDATA inside or not."""
    names = (*WORDS, *WORDS, "ratio", "flag", "numbers", "either", "maybe", "any", "inner", *UNKNOWN)
    pairs = [(f"<{name}>", f"</{name}>") for name in names]
    cdata = [(f"{start}<![CDATA[", f"]]>{end}") for start, end in pairs]
    named = [(f'<argument name="{name}">', "</argument>") for name in ("path", "9lives", "x:y", "a b")]
    return pairs + cdata + named * 2


_ELEMENTS = _elements()

OPTIONS: tuple[dict[str, Any], ...] = (
    {"starts_in_reasoning": True},
    {"bracket_reasoning": True},
    {"code_fences": "text"},
    {"code_fences": "call"},
    {"reasoning_tags": ("plan",)},
    {"reasoning_tags": (), "bracket_reasoning": True},
    {"starts_in_reasoning": True, "bracket_reasoning": True, "code_fences": "text"},
    {"limits": Limits(block_size=40, depth=4, elements=6, blocks=2)},
    {"limits": Limits(block_size=150, depth=2, elements=6, blocks=2)},
    {"limits": Limits(block_size=90, depth=3, elements=3, blocks=1), "code_fences": "text"},
    {"strict": True},
)
"""Options of the parser that a fifth of the documents are read with, one each; the others take the defaults."""

_TOOL_SETS = sorted(TOOL_SETS)


def token_case(number: int) -> Case:
    """Return document `number`, with the tools and options to read it with."""
    rng = Random(number)
    tool_set = rng.choice(_TOOL_SETS)
    options = rng.choice(OPTIONS) if rng.random() < 0.2 else {}
    return Case(document(rng), tool_set, options)


def document(rng: Random) -> Tokens:
    """Return a soup of tokens, or one or two calls with soup around and in them."""
    draw = rng.random()
    if draw < 0.15:
        return _soup(rng, 40)
    tokens = _soup(rng, 4) if draw < 0.5 else []
    for _ in range(1 if draw < 0.85 else 2):
        kind = rng.random()
        tokens += _json_call(rng) if kind < 0.12 else _foreign_call(rng) if kind < 0.17 else _xml_call(rng)
    if rng.random() < 0.3:
        tokens = mutate(rng, tokens)
    return tokens + _soup(rng, 4)


def _soup(rng: Random, most: int) -> Tokens:
    return rng.choices(_ALPHABET, cum_weights=_WEIGHTS, k=int(rng.random() * (most + 1)))


def _xml_call(rng: Random) -> Tokens:
    tokens = [rng.choice(_HEADS)]
    for _ in range(int(rng.random() * 4)):
        tokens += _element(rng, 0)
    tokens.append(rng.choice(_TAILS))
    return tokens


def _element(rng: Random, depth: int) -> Tokens:
    start, end = rng.choice(_ELEMENTS)
    draw = rng.random()
    if draw < 0.5:
        return [start, rng.choice(_VALUES), end]
    if draw < 0.8 or depth > 2:
        return [start, *_soup(rng, 5), end]
    return [start, *(token for _ in range(int(rng.random() * 3)) for token in _element(rng, depth + 1)), end]


def _foreign_call(rng: Random) -> Tokens:
    head, tail = rng.choice(_FOREIGN_CALLS)
    return [head, *(rng.choices(_JSON, k=int(rng.random() * 4)) if "{" in head else _soup(rng, 4)), tail]


def _json_call(rng: Random) -> Tokens:
    head, tail = rng.choice(_JSON_CALLS)
    if rng.random() < 0.2:
        tail = rng.choice(_JSON_CALLS)[1]
    tokens = rng.choices(_JSON, k=int(rng.random() * 10))
    if rng.random() < 0.5:
        tokens = ['"path": ', '"a"', ", ", '"count": ', "5"] + ([", ", '"any": ', *tokens] if tokens else [])
    return [head, *tokens, tail]
