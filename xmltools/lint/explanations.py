"""What each code means, with a block that has it and the same block repaired."""

from __future__ import annotations

from typing import NamedTuple

from xmltools.errors import Code, XMLToolsError
from xmltools.lint.explained_errors import ERRORS
from xmltools.lint.explained_repairs import REPAIRS
from xmltools.lint.findings import OWN_CODES, READERS_DISAGREE, WITNESS_DISAGREES
from xmltools.tools import Tool

__all__ = ["CODES", "EXAMPLE_TOOLS", "Explanation", "explain", "headline", "list_codes"]


class Explanation(NamedTuple):
    """A code in words. Without `wrong` there is no block that has it, unless something is broken."""

    meaning: str
    wrong: str
    mended: str
    hint: str
    is_error: bool


_NOTICES = {
    Code.FOREIGN_CALL: (
        "The text holds a call in the notation of another protocol. It is not read, and stays text. Such notations are "
        'JSON in <tool_call>, <function=name>, <invoke name="name">, an element named as a tool, and JSON in a code '
        "fence. Often the model was trained to write calls so, and no instructions told it otherwise.",
        '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>',
        "<tool>\n<tool_name>add</tool_name>\n<arguments>\n  <a>1</a>\n  <b>2</b>\n</arguments>\n</tool>",
    ),
}
_OWN = {
    WITNESS_DISAGREES: (
        "A block that the parser takes without a repair is not accepted by the witness. That is lxml, with a RELAX NG "
        "schema made of the tool; where no tools are given, lxml alone. One of the two has a defect: no block is "
        "known to bring this about.",
        "",
        "",
    ),
    READERS_DISAGREE: (
        "lxml or defusedxml finds another call in a clean block than the parser does, or cannot read it. This is "
        "checked with --strict only. The example is a name of characters that came to XML with its fifth edition, "
        "and that expat, under defusedxml, does not know.",
        "<tool>\n<tool_name>save</tool_name>\n<arguments>\n  <\U00010000>1</\U00010000>\n</arguments>\n</tool>",
        "<tool>\n<tool_name>save</tool_name>\n<arguments>\n"
        '  <argument name="\U00010000">1</argument>\n</arguments>\n</tool>',
    ),
}


def _entries() -> dict[str, Explanation]:
    told = {**ERRORS, **REPAIRS, **_NOTICES}
    codes = {code.value: Explanation(*told[code], code.hint, code.is_error) for code in Code}
    return codes | {code: Explanation(*_OWN[code], hint, False) for code, hint in OWN_CODES.items()}


CODES = _entries()
"""What can be explained: the codes of the parser, errors first, and those of `lint` itself."""


def _tool(name: str, required: tuple[str, ...] = (), server: str = "local", **properties: dict[str, object]) -> Tool:
    # `__` stands for a colon, which no keyword of a call can have.
    renamed = {each.replace("__", ":"): schema for each, schema in properties.items()}
    parameters = {"type": "object", "properties": renamed, "required": list(required)}
    return Tool(name=name, server=server, parameters=parameters)


EXAMPLE_TOOLS = (
    _tool("add", ("a", "b"), a={"type": "integer"}, b={"type": "integer"}),
    _tool("write_file", ("path", "text"), path={"type": "string"}, text={"type": "string"}),
    _tool("label", tags={"type": "array", "items": {}}),
    _tool("plot", values={"type": "array", "items": {"type": "number"}}),
    _tool("save", data={}, x__trace={"type": "string"}),
    _tool("search", ("query",), server="notes", query={"type": "string"}),
)
"""The tools that the examples call. `search` is on the server `notes`, the others are on `local`."""


_KINDS = {
    "error": "the block gives no call",
    "repair": "the block gives a call all the same",
    "notice": "the text stays as it is",
    "doubt": "the block gives a call all the same, but another reader does not take it so",
}


def _kind(code: str) -> str:
    if code in OWN_CODES:
        return "doubt"
    if code in _NOTICES:
        return "notice"
    return "error" if CODES[code].is_error else "repair"


def explain(code: str) -> str:
    """Return what a code means, with an example of a wrong block and the repaired one, as text of several lines.

    Takes a code of the parser or of `lint`. Raises `XMLToolsError` for another one.
    """
    if code not in CODES:
        raise XMLToolsError(f"there is no code {code!r:.80}; there are {', '.join(CODES)}")
    entry = CODES[code]
    kind = _kind(code)
    parts = [f"{code} ({kind}: {_KINDS[kind]})", entry.meaning, f"Hint: {entry.hint}"]
    if entry.wrong:
        parts += [f"Wrong:\n{_indented(entry.wrong)}", f"Right:\n{_indented(entry.mended)}"]
    return "\n\n".join(parts)


def list_codes() -> str:
    """Return all codes by their kinds, each with its hint, as text of several lines."""
    width = max(map(len, CODES))
    parts = []
    for kind, means in _KINDS.items():
        lines = [f"  {code:<{width}}  {CODES[code].hint}" for code in CODES if _kind(code) == kind]
        parts.append("\n".join([f"{kind}: {means}", *lines]))
    return "\n\n".join(parts)


def headline(code: str) -> str:
    """Return the first sentence of what a code means. Takes a code of `CODES`."""
    return CODES[code].meaning.partition(". ")[0].removesuffix(".")


def _indented(block: str) -> str:
    return "\n".join(f"    {line}" for line in block.split("\n"))
