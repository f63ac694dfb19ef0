"""The sentences of the instructions: a record of strings, so that another wording or language is another record.

What holds the instructions together (headings of tools, lists of arguments, example blocks) is made by code and stays
as it is, whatever the sentences say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields

from xmltools.dialects import Dialect
from xmltools.errors import XMLToolsError
from xmltools.render.marks import COMMON, Marks

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Wording:
    """Sentences of `render_instructions`. Make your own with `dataclasses.replace(xmltools.ENGLISH, intro="…")`.

    A name in braces stands for something: in all of them `{block}`, `{server_name}`, `{tool_name}`, `{arguments}`,
    `{item}`, `{nil}` and `{local}` are the words of the dialect; `{tag}` (in `reasoning`), `{server}` (in `server`) and
    `{value}` (in `default`) must be there. An empty sentence is left out. Raises XMLToolsError for other names in
    braces, and for what is no string.
    """

    heading: str
    intro: str
    names: str
    servers: str
    cdata: str
    nesting: str
    empty: str
    plain: str
    mention: str
    parallel: str
    single: str
    required_call: str
    reasoning: str
    bracket_reasoning: str
    results: str
    signatures: str
    server: str
    arguments: str
    no_arguments: str
    example: str
    turns: str
    required: str
    optional: str
    default: str
    user: str
    assistant: str

    def __post_init__(self) -> None:
        for each in fields(self):
            text = getattr(self, each.name)
            if not isinstance(text, str):
                raise XMLToolsError(f"wording: {each.name} is expected to be a string, got {type(text).__name__}")
            found = set(_PLACEHOLDER.findall(text))
            needed = _NEEDED.get(each.name, set())
            if text and not needed <= found <= needed | _DIALECT:
                names = ", ".join(f"{{{name}}}" for name in sorted(needed | _DIALECT))
                must = f"; it must hold {', '.join(f'{{{name}}}' for name in sorted(needed))}" if needed else ""
                raise XMLToolsError(f"wording: {each.name} may hold {names}{must}; got {text!r:.80}")


_DIALECT = {"block", "server_name", "tool_name", "arguments", "item", "nil", "local"}
_NEEDED = {"reasoning": {"tag"}, "server": {"server"}, "default": {"value"}}


def fill(sentence: str, dialect: Dialect, **values: str) -> str:
    """Return a sentence with its placeholders filled in."""
    if "{" not in sentence:
        return sentence
    values["local"] = dialect.default_server
    return _PLACEHOLDER.sub(lambda match: values.get(match[1]) or str(getattr(dialect, match[1])), sentence)


ENGLISH = Wording(
    heading="# Tools",
    intro="To call a tool, write a <{block}> block with the tool's name in <{tool_name}> and, in <{arguments}>, one "
    "element per argument.",
    names="Use only the tools below, with exactly these names. Omit unneeded optional arguments.",
    servers="Put the tool's server in <{server_name}> (default: {local}).",
    cdata="Put code, multi-line text, and text with <, > or & unchanged in <![CDATA[text]]>. In it, write "
    "]]]]><![CDATA[> for ]]>.",
    nesting="Write a list as one element per item (its name in the singular, or <{item}>), an object as one element "
    'per property, null as <name {nil}="true"/>.',
    empty="Write an empty list or empty text as <name></name>.",
    plain="Do not put the block in a code fence.",
    mention="In prose, write `<{block}>` only in backticks.",
    parallel="You may write several blocks per reply.",
    single="Write at most one block per reply.",
    required_call="Your reply must call a tool.",
    reasoning="Think before you answer, inside <{tag}> and </{tag}>. Do not write a block there.",
    bracket_reasoning="Think before you answer, in a separate paragraph that begins with [ and ends with ]. Do not "
    "write a block or a blank line there.",
    results='End your reply after the last block. Results come next, as "Tool: name" and "Result: ..." or '
    '"Error: ...".',
    signatures="In the list of tools, ? marks optional arguments, = gives a default, and brackets give bounds.",
    server="Server: {server}",
    arguments="Arguments:",
    no_arguments="No arguments.",
    example="Example:",
    turns="# Example conversation",
    required="required",
    optional="optional",
    default="default {value}",
    user="User:",
    assistant="Assistant:",
)
"""The sentences that are used if no others are given."""


# Data inside prompts: text that others wrote can't open a call or a reasoning region, nor start a line of its own


def neutral(text: str, marks: Marks = COMMON) -> str:
    """Return text in which what could begin a call or a reasoning region in any dialect is written as a reference.

    >>> neutral("a <b> in a <tool>")
    'a <b> in a &lt;tool>'
    """
    return marks.neutral(text)


def neutral_line(text: str, marks: Marks = COMMON) -> str:
    """Return the same on one line: line breaks of any kind, and white space around them, become a space."""
    return marks.neutral(one_line(text))


def one_line(text: str) -> str:
    """Return text without line breaks of any kind."""
    return text if text.isprintable() else " ".join(filter(None, map(str.strip, text.splitlines())))
