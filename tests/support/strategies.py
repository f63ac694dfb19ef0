"""Documents to try the parser on: what models write, what they nearly write, and what nobody should.

Everything is drawn from a `random.Random`, so that one implementation serves both users: `fuzz` seeds a
real one, and Hypothesis passes one of its own, which it can replay and shrink (`cases`, `clean_cases`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any
from xml.sax.saxutils import escape

from hypothesis import strategies as st

from xmltools.parser import Limits
from xmltools.tools import Tool

Tokens = list[str]

# --- tools -------------------------------------------------------------------------------------------------

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def _tool(name: str, properties: dict[str, Any], server: str = "local", **rest: Any) -> Tool:
    """A tool whose parameters are an object with these properties."""
    parameters = {"type": "object", "properties": properties, **rest}
    return Tool(name=name, description=f"The tool {name}.", parameters=parameters, server=server)


_DIFF = _tool("apply_diff", {"path": STRING, "diff": STRING}, required=["path"])
_EDIT = {"type": "object", "properties": {"line": INTEGER, "text": STRING}, "required": ["line"]}
_TYPES = _tool(
    "types",
    {
        "path": STRING,
        "count": INTEGER,
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "mode": {"enum": ["read", "write"]},
        "files": {"type": "array", "items": STRING},
        "numbers": {"type": "array", "items": INTEGER},
        "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
        "options": {"type": "object", "properties": {"path": STRING, "count": INTEGER, "inner": _EDIT}},
        "either": {"anyOf": [INTEGER, STRING]},
        "maybe": {"type": ["string", "null"]},
        "any": {},
    },
    **{"$defs": {"edit": _EDIT}},
)
_ODD = _tool("odd", {"9lives": STRING, "x:y": INTEGER, "a b": {"type": "array", "items": _EDIT}})
_CLOSED = _tool("read", {"path": STRING}, server="disk", additionalProperties=False)

TOOL_SETS: dict[str, list[Tool] | None] = {
    "none": None,
    "diff": [_DIFF],
    "types": [_DIFF, _TYPES, _ODD],
    "servers": [_TYPES, _CLOSED, _tool("read", {"path": STRING}, "net"), _tool("ping", {}, "net")],
    "remote": [tool.model_copy(update={"server": "disk"}) for tool in (_DIFF, _TYPES, _CLOSED)],
}

# Tools whose arguments may have several types, limits and patterns

_NARROW_SCALARS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "string", "maxLength": 2},
    {"type": "string", "pattern": "^[a-z]*$"},
    {"type": "integer"},
    {"type": "integer", "minimum": 1},
    {"type": "number", "multipleOf": 0.5},
    {"type": "boolean"},
    {"type": "null"},
    {"enum": ["a", "1", "null"]},
    {"enum": [1, True, None, "x"]},
    {"const": 2},
    {"type": "integer", "enum": [1, 2, 3]},
)


def _narrow_schema(rng: Random, depth: int) -> dict[str, Any]:
    how = rng.random()
    if how < 0.4 or depth > 1:
        return rng.choice(_NARROW_SCALARS)
    if how < 0.7:
        ways = [_narrow_schema(rng, depth + (rng.random() < 0.7)) for _ in range(rng.randint(1, 3))]
        return {rng.choice(("anyOf", "anyOf", "oneOf")): [*ways, *[{"type": "null"}] * (rng.random() < 0.5)]}
    if how < 0.84:
        inner = {"properties": {"k": _narrow_schema(rng, depth + 1)}}
        closed = {"type": "object", "properties": {"j": {"type": "integer"}}, "additionalProperties": False}
        limits = rng.choice(({}, {}, {"additionalProperties": False}))
        return {
            "allOf": [rng.choice((inner, *_NARROW_SCALARS)), rng.choice((inner, closed, *_NARROW_SCALARS))],
            **limits,
        }
    if how < 0.87:
        return {"type": ["null", rng.choice(("integer", "string", "boolean", "number", "array", "object"))]}
    if how < 0.94:
        limits = rng.choice(({}, {"minItems": 2}, {"uniqueItems": True}))
        return {"type": "array", "items": _narrow_schema(rng, depth + 1), **limits}
    return {
        "type": "object",
        "properties": {"k": _narrow_schema(rng, depth + 1)},
        **rng.choice(({}, {"required": ["k"]})),
    }


NARROW = "narrow "
"""What the names of sets with such a tool begin with, in front of a number."""


@lru_cache(maxsize=1_000)
def _narrow_tools(number: int) -> list[Tool]:
    rng = Random(number)
    properties = {name: _narrow_schema(rng, 0) for name in ("a", "b", "c")[: rng.randint(1, 3)]}
    limits = rng.choice(({}, {}, {"minProperties": 2}, {"required": ["a"]}, {"additionalProperties": False}))
    return [_tool("f", properties, **limits)]


# --- tokens ------------------------------------------------------------------------------------------------

WORDS = ("path", "diff", "count", "mode", "files", "file", "item", "edits", "line", "text", "options")
UNKNOWN = ("extra", "argument", "b", "a-b.c", "größe", "9lives", "x:y", "tool", "arguments", "think")

# fmt: off
# Kinds of token: how often each is drawn in a soup, and what it may be. Whole fields are in it because a soup
# of single tags hardly ever becomes a call.
SOUP: tuple[tuple[int, Tokens], ...] = (
    (9, ["<tool>", "<tool>", "<tool>\n", "<tool >", '<tool id="1">', "<tool\n>", "<tool", "<Tool>"]),
    (2, ["<Tool>", "</Tool>", "<TOOL>\n", "<tool>[{", "}]</tool>", "<tool>types\n{", "<tool>read <", "\\<tool>", "\\"]),
    (9, ["</tool>", "</tool>", "</tool >", "</ tool>", "</tool", "</TOOL>"]),
    (9, ["<tool_name>apply_diff</tool_name>", "<tool_name>types</tool_name>", "<tool_name>read</tool_name>"]),
    (3, ["<tool_name>", "</tool_name>", "<tool_name/>", "<tool_name>a\nb</tool_name>"]),
    (2, ["<server_name>disk</server_name>", "<server_name>local</server_name>", "<server_name>"]),
    (9, ["<arguments>", "<arguments>", "<arguments >", "<arguments/>", "< arguments>", "</arguments>"]),
    (9, ["</arguments>", "</arguments>\n</tool>", "</arguments></tool>", "</arguments> x </tool>"]),
    (1, ["</ arguments>", "</arguments", "<arguments", "<server_name/>", "</server_name>", "<tool/>"]),
    (9, [f"<{name}>" for name in WORDS]),
    (9, [f"</{name}>" for name in WORDS]),
    (4, [f"<{name}>" for name in UNKNOWN] + [f"</{name}>" for name in UNKNOWN]),
    (3, ['<argument name="path">', "<argument name='a b'>", "</argument>", '<argument name="a>b">']),
    (3, ['<path nil="true"/>', "<path nil='true'>", '<path class="a">', "<path a>", '<path a="', "<path/>"]),
    (1, ["<argument name=x>", "<argument>", '<argument name="">', '<path a="" a=""/>', "<path nil>"]),
    (5, ["<![CDATA[", "<![CDATA[", "<![cdata[", "<![CDATA", "<!["]),
    (5, ["]]>", "]]>", "]]", "]", "]]]]><![CDATA[>", "]]></path>", "]]> x </path>"]),
    (3, ["<!-- c -->", "<!-- a -- b -->", "<!--", "-->", "<!DOCTYPE a>", "<!", "<?pi v?>", "<?", "?>"]),
    (4, ["&lt;", "&amp;", "&#65;", "&#x1F600;", "&#0;", "&#xD800;", "&nbsp;", "&", "&am", "p;", "&#13;"]),
    (4, ["<", ">", "/", "<a", "</", "</>", "<>", "< b", "a<b", "<1>", "=", '"', "'"]),
    (4, ["`", "``", "```", "\n```\n", "\n```xml\n", "```json\n", "\n   ```\n", "~~~", "`<tool>`", "\n~~~~\n"]),
    (3, ["<!--", "-->", "<![CDATA[", "]]>", "`", "``", "` e.g. ", "\\`", "\n~~~xml\n", "`</think>`", "`<!--`"]),
    (2, ["<think >", "<Think>", '<think a="1">', "</THINK >", "<think", "</think", "<THINKING>", "</Thinking>"]),
    (3, ["<think>", "</think>", "<thinking>", "</thinking>", "<plan>", "</plan>", "\n[", "]\n", "\n\n"]),
    (3, ["{", "}", '{"tool_name": "types", "arguments": {', '"path": "a"', '"count": 1', ",", "[", "}}"]),
    (2, ['{"name": "apply_diff", "parameters": {"path": "</tool>"}}', '"{\\"path\\": 1}"']),
    (1, ["\\", '\\"', "NaN", "1e999", '"a\nb"', '{"a": 1, "a": 2}', "{'a': None,}", "[1, 2]"]),
    (3, ['<parameter name="path">', "<parameter=count>", "</parameter>", "<parameters>", "</parameters>", "<args>"]),
    (2, ["<name>types</name>", "<toolname>types</toolname>", '<tool name="types">', "<Arguments>", "</Arguments>"]),
    (2, ['<tool name="types">{', '<tool name="types">{"path": "a"}', '{"name": "types"}', '{"text": "']),
    (2, ["<tool_name>types", "<tool_name>types</tool>", "<tool_name>functions.types()</tool_name>", "</args>"]),
    (2, ['<path value="a"/>', '<inner path="a"/>', '<edits path="a" k="v"/>', '<x name="path">', "<|im_end|>", "<|"]),
    (3, ["]]></path></arguments></tool>", "</path></arguments></tool>", "]]]><![CDATA[]>", "]]><![CDATA["]),
    (2, ["<tool><tool_name>types</tool_name><arguments><path>x</path></arguments></tool>", "<![CDATA[x]]>"]),
    (1, ["\\d", "\\n", "'", "True", "(1,)", '{"a": "\\d"}', '{"tool": "types", "args": {', "1, 2", '"5"', "[1 2]"]),
    (3, ["<tool_call>", "<tool_call>\n{", "</tool_call>", "<function=types>", "</function>", '<invoke name="read">']),
    (2, ["</invoke>", "<types>", "</types>", "<read/>", '<read path="a">', "<tool_call>read<arg_key>", "<read>\n<"]),
    (2, ['\n```json\n{"name": "read", "arguments": {', '{"name": "types", "arguments": {}}', "<tool_call", "<func"]),
    (5, [" ", "\n", "\t", "\r\n", "\r", "  \n  ", "\n\n", "\x0b", "\x85", "\u00a0", "\u2028"]),
    (2, ["\0", "\x1b[31m", "\ud800", "\udfff", "\ufffe", "\uffff", "\ufeff", "\x7f", "e\u0301", "😀", "表"]),
    (6, ["x", "prose", "5", " 5 ", "+05", "5.0", "true", "Yes", "null", "write", "a && b", "the <tool> tag"]),
)
# fmt: on
_WEIGHTS = [weight for weight, _ in SOUP]
_KINDS = [tokens for _, tokens in SOUP]

# What values are made of in clean blocks, where they are escaped or put into CDATA.
LEGAL = ("x a", "if a < b && c:", "<p>hi</p>", "</path>", "</tool>", "]]", "]]>", "&amp;", "-->", "é", "😀")
LEGAL += ("\n", "  ", "\r\n")


def soup(rng: Random, most: int = 12) -> Tokens:
    """Up to `most` tokens of any kind in any order."""
    kinds = rng.choices(_KINDS, _WEIGHTS, k=rng.randint(0, most))
    return [rng.choice(kind) for kind in kinds]


# --- clean blocks ------------------------------------------------------------------------------------------


def _layout(rng: Random) -> str:
    return rng.choice(["", "", "\n", "\n    ", " \t", "\r\n", "\n<!-- note -->\n"])


def _text(rng: Random) -> str:
    return "".join(rng.choice(LEGAL) for _ in range(rng.randint(0, 4)))


def _cdata(text: str) -> str:
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"


def _leaf(rng: Random) -> str:
    """A legal value: escaped, or in CDATA with or without layout around it."""
    text = _text(rng)
    form = rng.randrange(5)
    if form == 0:
        return _cdata(text)
    if form == 1:
        return f"\n  {_cdata(text)}\n"
    # A tag that begins a value would make it a node or a comment if it were not escaped; so everything is.
    return escape(text, {"\r": "&#13;"} if form == 2 else {})


def _element(rng: Random, name: str, content: Tokens) -> Tokens:
    space = rng.choice(["", "", "", " ", "\n"])
    if re.fullmatch(r"[a-z_]+", name):
        return [f"<{name}{space}>", *content, f"</{name}{space}>"]
    return [f'<argument name="{name}"{space}>', *content, "</argument>"]


def _children(rng: Random, elements: list[Tokens]) -> Tokens:
    return [token for element in elements for token in (_layout(rng), *element)] + [_layout(rng)]


def _untyped(rng: Random, depth: int = 0) -> Tokens:
    """A leaf, a list or an object, as no schema demands it."""
    form = rng.randrange(4) if depth < 3 else 0
    if form < 2:
        return [_leaf(rng)]
    names = ["item"] * rng.randint(1, 3) if form == 2 else rng.sample(WORDS, rng.randint(1, 3))
    return _children(rng, [_element(rng, name, _untyped(rng, depth + 1)) for name in names])


_SCALARS = {
    "integer": ["0", "-7", " 42 ", "123456789012345678901234567890"],
    "number": ["0.5", "-1e3", "7", "\n2.25\n"],
    "boolean": ["true", "false", " true "],
}


def _typed(rng: Random, schema: dict[str, Any]) -> Tokens:
    """A value that fits `schema` (the part of JSON Schema that the tools above use)."""
    kind = schema.get("type")
    if "$ref" in schema:
        return _typed(rng, _EDIT)
    if "anyOf" in schema:
        return _typed(rng, rng.choice(schema["anyOf"]))
    if "enum" in schema:
        return [rng.choice(schema["enum"])]
    if isinstance(kind, str) and kind in _SCALARS:
        return [rng.choice(_SCALARS[kind])]
    if isinstance(kind, list):
        return ["x"]
    if kind == "array":
        items = [_element(rng, "item", _typed(rng, schema["items"])) for _ in range(rng.randint(0, 3))]
        return _children(rng, items)
    if kind == "object":
        return _properties(rng, schema)
    return _untyped(rng) if kind is None else [_leaf(rng)]


def _properties(rng: Random, schema: dict[str, Any]) -> Tokens:
    """The elements of an object: those that are required, and some of the others."""
    properties = schema["properties"]
    required = schema.get("required", [])
    chosen = [name for name in properties if name in required or rng.random() < 0.4]
    return _children(rng, [_element(rng, name, _typed(rng, properties[name])) for name in chosen])


def _arguments(rng: Random, tool: Tool | None) -> Tokens:
    if tool is not None:
        return _properties(rng, tool.parameters)
    names = rng.sample((*WORDS, "any name"), rng.randint(0, 3))
    return _children(rng, [_element(rng, name, _untyped(rng)) for name in names])


def clean_block(rng: Random, tools: list[Tool] | None) -> Tokens:
    """A block that needs no repair: well-formed, and valid for one of the tools if there are any."""
    tool = rng.choice(tools) if tools else None
    name, server = (tool.name, tool.server) if tool else (rng.choice(["apply_diff", "any"]), "local")
    fields = [_element(rng, "tool_name", [name])]
    several = len({each.server for each in tools or ()}) > 1
    if (several and server != "local") or rng.random() < 0.3:
        fields.insert(rng.randrange(2), _element(rng, "server_name", [server]))
    fields.insert(len(fields) if rng.random() < 0.9 else 0, _element(rng, "arguments", _arguments(rng, tool)))
    return ["<tool>", *_children(rng, fields), "</tool>"]


# --- whole documents ---------------------------------------------------------------------------------------


# Slips of models: what they write instead of what they should, wherever it stands.
SLIPS = (
    ("<", "< "), ("</", "</ "), (">", " >"), (">", ' a="1">'), (">", " a=1>"), (">", "><!-- a -- b -->"),
    (">", "><?pi?>"), (">", "></b>"), (">", "> x"), ("<![CDATA[", "<![cdata["), ("&amp;", "&"), ("&lt;", "<"),
    ("x", "&nbsp;"), ("x", "&"), ("x", "a<b"), ("x", "\x1b[1m"), ("x", "]]>"), ("]]]]><![CDATA[>", "]]>"),
    ("true", "Yes"), ("false", "0"), ("42", "+42"), ("-7", "-7.0"), ("0.5", "NaN"), ("read", "Read"),
    ("path", "a b"), ("diff", "x:y"), ("item", "b"), ("}", ",}"), ("}", "}x"), ('"', '"\n'), ("{", '{"a": 1, '),
    ("\n", "\n```\n"), ("</arguments>", ""), ("</tool>", ""), ("<arguments>", ""), ("5", "1e999"),
    ('"', "'"), ("true", "True"), ("null", "None"), ("}", "}}"), ("}", ""), ('"arguments"', '"args"'),
    ('"tool_name"', '"tool"'), ("x", "\\d"), ("x", "C:\\new\\dir"), ("42", '"42"'), ("</item><item>", ", "),
    ('"arguments": {', ""),
    ('name="any name"', "name=any"), ('argument name="9lives"', "9lives"), ('argument name="x:y"', "x:y"),
)  # fmt: skip


def slip(rng: Random, tokens: Tokens) -> Tokens:
    """`tokens` with one slip in one of them."""
    old, new = rng.choice(SLIPS)
    places = [place for place, token in enumerate(tokens) if old in token]
    if not places:
        return tokens
    place = rng.choice(places)
    return [*tokens[:place], tokens[place].replace(old, new, 1), *tokens[place + 1 :]]


def mutate(rng: Random, tokens: Tokens) -> Tokens:
    """`tokens` with one of them dropped, repeated, cut short or swapped, or with some soup put between."""
    if not tokens:
        return tokens
    here, there = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    token = tokens[here]
    form = rng.randrange(5)
    if form == 0:
        return tokens[:here] + tokens[here + 1 :]
    if form == 1:
        return [*tokens[:there], token, *tokens[there:]]
    if form == 2:
        return [*tokens[:here], token[: rng.randint(0, len(token))], *tokens[here + 1 :]]
    if form == 3:
        swapped = list(tokens)
        swapped[here], swapped[there] = swapped[there], token
        return swapped
    return [*tokens[:here], *soup(rng, 3), *tokens[here:]]


def _json(rng: Random, schema: dict[str, Any], depth: int = 0) -> Any:
    """A JSON value that mostly fits `schema`."""
    schema = schema.get("anyOf", [_EDIT if "$ref" in schema else schema])[0]
    kind = schema.get("type", rng.choice(["string", "array", "object"]))
    if rng.random() < 0.1 or depth > 3:
        return rng.choice(["5", 42, -7, 0.5, 5.0, True, None, _text(rng), [], {}])
    if kind == "array":
        return [_json(rng, schema.get("items", {}), depth + 1) for _ in range(rng.randint(0, 2))]
    if kind == "object":
        properties = schema.get("properties", {"x": {}, "line": STRING})
        names = rng.sample(sorted(properties), rng.randint(1, min(3, len(properties)))) if properties else []
        return {name: _json(rng, properties[name], depth + 1) for name in names}
    return {"integer": 42, "number": 0.5, "boolean": True}.get(str(kind), _text(rng))


def json_block(rng: Random, tools: list[Tool] | None) -> Tokens:
    """A block with JSON where XML should be: for a value, for the arguments, or for all of it."""
    tool = rng.choice(tools) if tools else TOOL_SETS["diff"][0]  # type: ignore[index]
    arguments = _json(rng, tool.parameters)
    if not isinstance(arguments, dict):
        arguments = {"path": arguments}
    form = rng.randrange(4)
    if form < 2:
        keys = rng.choice([("tool_name", "server_name", "arguments"), ("name", "server", "parameters")])
        inner = json.dumps(arguments) if form else arguments
        return ["<tool>", *_split(dict(zip(keys, (tool.name, tool.server, inner), strict=True))), "</tool>"]
    content = _split(arguments)
    if form == 2:
        content = [token for name in arguments for token in _element(rng, name, _split(arguments[name]))]
    server = ["<server_name>", tool.server, "</server_name>"]
    return [
        "<tool>",
        "<tool_name>",
        tool.name,
        "</tool_name>",
        *server,
        "<arguments>",
        *content,
        "</arguments>",
        "</tool>",
    ]


def _split(value: Any) -> Tokens:
    """The tokens of a value in JSON."""
    return re.findall(r"\w+|\W", json.dumps(value, ensure_ascii=False, indent=len(str(value)) % 2 or None))


def document(rng: Random, tools: list[Tool] | None) -> Tokens:
    """Clean, nearly clean and hopeless blocks with prose, fences and reasoning between them."""
    if rng.random() < 0.2:
        return soup(rng, 40)
    tokens: Tokens = []
    for _ in range(rng.randint(1, 3)):
        block = json_block(rng, tools) if rng.random() < 0.2 else clean_block(rng, tools)
        for _ in range(rng.choice([0, 1, 1, 2, 4])):
            block = slip(rng, block) if rng.random() < 0.7 else mutate(rng, block)
        tokens += (soup(rng, 6) if rng.random() < 0.4 else [rng.choice(["", "\n", "Now: "])]) + block
    return tokens + soup(rng, 6)


def options(rng: Random) -> dict[str, Any]:
    """Options of the parser: mostly the defaults, sometimes each of the others."""
    chosen: dict[str, Any] = {}
    if rng.random() < 0.15:
        chosen["starts_in_reasoning"] = True
    if rng.random() < 0.2:
        chosen["bracket_reasoning"] = True
    if rng.random() < 0.2:
        chosen["code_fences"] = rng.choice(("text", "call"))
    if rng.random() < 0.1:
        chosen["reasoning_tags"] = rng.choice([("plan",), ()])
    if rng.random() < 0.15:
        size, depth = rng.choice([40, 150, 400]), rng.choice([2, 4])
        chosen["limits"] = Limits(block_size=size, depth=depth, elements=6, blocks=2)
    return chosen


@dataclass(frozen=True)
class Case:
    """One document with the tools and options to parse it with."""

    tokens: Tokens
    tool_set: str = "none"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The document."""
        return "".join(self.tokens)

    @property
    def tools(self) -> list[Tool] | None:
        """The tools that the parser is given."""
        if self.tool_set.startswith(NARROW):
            return _narrow_tools(int(self.tool_set.removeprefix(NARROW)))
        return TOOL_SETS[self.tool_set]


def case(rng: Random) -> Case:
    """Any document with any tools and options."""
    tool_set = rng.choice(list(TOOL_SETS))
    return Case(document(rng, TOOL_SETS[tool_set]), tool_set, options(rng) if rng.random() < 0.5 else {})


def clean_case(rng: Random) -> Case:
    """One clean block and nothing else."""
    tool_set = rng.choice(list(TOOL_SETS))
    return Case(clean_block(rng, TOOL_SETS[tool_set]), tool_set)


def chunkings(text: str) -> list[list[str]]:
    """Ways to cut `text`: in characters, in two, in random pieces. The same text is cut the same way."""
    rng = Random(repr(text))  # repr, because a seed can't hold a lone surrogate
    cut = rng.randint(0, len(text))
    return [list(text), [text[:cut], text[cut:]], pieces(rng, text, 3), pieces(rng, text, 40)]


def pieces(rng: Random, text: str, longest: int) -> list[str]:
    """`text` in pieces of random lengths, empty ones among them."""
    chunks, at = [], 0
    while at < len(text):
        length = rng.randint(0, longest)
        chunks.append(text[at : at + length])
        at += length
    return chunks


# --- Hypothesis --------------------------------------------------------------------------------------------


def cases() -> st.SearchStrategy[Case]:
    """`case` for Hypothesis."""
    return st.randoms(use_true_random=False).map(case)


def clean_cases() -> st.SearchStrategy[Case]:
    """`clean_case` for Hypothesis."""
    return st.randoms(use_true_random=False).map(clean_case)
