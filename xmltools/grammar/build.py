"""Grammars from tools: one text for each back end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from xmltools.errors import XMLToolsError
from xmltools.grammar.issues import GrammarIssue
from xmltools.grammar.options import Backend, Options, read_options
from xmltools.grammar.printers.gbnf import print_gbnf
from xmltools.grammar.printers.lark import print_lark
from xmltools.grammar.printers.regex import print_regex
from xmltools.grammar.printers.structural_tag import print_structural_tag
from xmltools.grammar.regular.automata import TooLarge
from xmltools.grammar.rules.reply import chosen_tools, make_grammar
from xmltools.grammar.text_tree import Grammar
from xmltools.render.writable import only_server
from xmltools.tools import Tool, list_of_tools

GrammarFormat = Literal["gbnf", "lark", "structural_tag", "regex"]
"""The name of a format; `build_grammar` says what each is for."""


_PRINTERS: dict[str, Callable[[Grammar, Options], str]] = {
    "gbnf": print_gbnf,
    "lark": print_lark,
    "structural_tag": print_structural_tag,
    "regex": print_regex,
}
FORMATS = tuple(_PRINTERS)
"""The names of all formats of grammars."""
_SCHEMAS = "; RELAX NG and XSD were removed: check stored blocks with `xmltools validate` or grammars/tool.rng"


def build_grammar(tools: Tool | Iterable[Tool], format: str, **options: Any) -> str:
    """Return a grammar by which an engine writes free text and well-formed, valid calls of the tools, and no others.

    Takes a tool or several, and the format:

    - `"gbnf"`: for llama.cpp, and unchanged for xgrammar (vLLM, SGLang, TensorRT-LLM);
    - `"lark"`: for llguidance (guidance, the guidance back ends of vLLM and SGLang);
    - `"structural_tag"`: JSON for xgrammar 0.2 and later, with the quickest masks in free text;
    - `"regex"`: one call, properties in their order, no recursion;

    Options, by keyword:

    - `tool_choice`: `"auto"` (text with any number of calls), `"required"` (at least one call), `"one"` (one call and
      no text; the default for `"regex"`), `"named"` (one call of the tool `name`, no text) or `"arguments"` (only what
      stands inside `<arguments>` of that tool);
    - `name`: the name of a tool, for the last two;
    - `order`: `"any"` (arguments in any order; GBNF has it for objects of up to six properties, a larger one keeps its
      order) or `"schema"`;
    - `lazy`: the grammar begins after free text, with the trigger `<tool>` (GBNF only, for llama.cpp's lazy grammars);
    - `max_calls`: how many calls a reply may hold;
    - `white_space`: how many characters of white space may stand between two tags; no bound without it, which weak
      models may fall into;
    - `cdata`: `"allowed"`, `"required"` (strings stand in CDATA sections) or `"forbidden"`;
    - `end_tag_in_cdata`: False keeps `</tool>` out of CDATA, for readers that look for it with a regular expression;
    - `reasoning`: a tag, such as `"think"`, in which the reply may begin with reasoning;
    - `starts_in_reasoning`: the prompt has opened that tag already;
    - `dialect`: the name of the dialect in which calls are written (grammars/DIALECTS.md); Forge's without it. In other
      dialects there is no CDATA, `tool_choice` can't be `"arguments"`, arguments in JSON keep the schema's order, and
      at most 20 characters of white space stand between two marks unless `white_space` says otherwise.

    What a schema demands and the grammar can't say is told by `grammar_issues`. Raises XMLToolsError for options and
    tools that make no grammar.
    """
    return _build(tools, format, options)[0]


def grammar_issues(tools: Tool | Iterable[Tool], format: str, **options: Any) -> list[GrammarIssue]:
    """Return what in the schemas of the tools the grammar does not hold a model to.

    Takes what `build_grammar` takes, and raises as it does. A call can break an issue's keyword and still be written by
    the grammar: parse it with the tools, which checks everything.
    """
    return _build(tools, format, options)[1]


def _build(tools: Tool | Iterable[Tool], format: str, given: dict[str, Any]) -> tuple[str, list[GrammarIssue]]:
    if format not in FORMATS:
        *others, last = map(repr, FORMATS)
        instead = _SCHEMAS if format in ("relaxng", "xsd") else ""
        raise XMLToolsError(f"format: expected {', '.join(others)} or {last}, got {format!r:.60}{instead}")
    options = read_options(given, tool_choice="one" if format == "regex" else "auto")
    if options.lazy and format != "gbnf":
        raise XMLToolsError(f"lazy: only llama.cpp waits for a trigger, so only 'gbnf' can be lazy, not {format!r}")
    listed = [tools] if isinstance(tools, Tool) else list_of_tools(tools)
    chosen = chosen_tools(listed, options)
    backend = Backend(format in ("lark", "regex"), format == "lark" and options.has_llguidance)
    grammar, issues = make_grammar(chosen, options, backend, only_server(listed))
    try:
        return _PRINTERS[format](grammar, options), issues
    except TooLarge:
        raise XMLToolsError(
            f"a value that the tools allow is too much for the regular expressions of {format!r}; "
            "use another format, or fewer options"
        ) from None
