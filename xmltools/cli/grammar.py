"""The command `grammar`: tools to a grammar, or to the fields with which an engine is given one.

`xmltools.grammar` is imported where it is used: it takes a while to load, and the other commands don't need it.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from xmltools.cli.shared import (
    UsageError,
    add_dialect_options,
    chosen_dialect,
    element_name,
    positive,
    read_tools,
    tell,
    whole_number,
    write_text,
)
from xmltools.errors import XMLToolsError

_ENGINES = ("vllm", "sglang", "llama.cpp", "tensorrt-llm", "openai-custom-tool")
_OPTIONS = (
    "tool_choice",
    "name",
    "order",
    "lazy",
    "max_calls",
    "white_space",
    "cdata",
    "end_tag_in_cdata",
    "reasoning",
    "starts_in_reasoning",
    "dialect",
)
_CHOSEN = ("backend", "api", "format")  # which grammar, not what is in it

_WORDS = "|".join((*_OPTIONS, *_CHOSEN))
_LONG_WORDS = "|".join(name for name in _OPTIONS if "_" in name)
_ABOUT_AN_OPTION = re.compile(rf"({_WORDS})(:| ')")
"""How the messages of `xmltools.grammar` begin if they are about an option."""
_NAMED = re.compile(
    rf"^({_WORDS})\b|(?<!['\w])({_LONG_WORDS})\b|(?<=leave )({_WORDS})(?= out)|\b(name)=|\b(reasoning)(?==)"
)
"""Where such messages name options."""


def declare_grammar(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools grammar`."""
    add = parser.add_argument
    add(
        "tools",
        metavar="TOOLS",
        help="the tools: a JSON file in the form of OpenAI, Anthropic, MCP or ours; - is stdin",
    )
    add(
        "--format",
        metavar="FORMAT",
        help="what to write: gbnf for llama.cpp and xgrammar, structural_tag for xgrammar, lark for llguidance, "
        "regex for one call (default: gbnf, or what the engine takes)",
    )
    add("--engine", choices=_ENGINES, help="write the fields of a request to this engine, as JSON")
    add_dialect_options(
        parser,
        dialect="how calls are written (default: forge)",
        model="the model that will write them, by its name on Hugging Face: picks the dialect",
    )
    add("--backend", metavar="NAME", help="with --engine: its grammar backend, such as xgrammar or llguidance")
    add("--api", metavar="NAME", help="with --engine: its API: openai, native, python, responses or chat")
    # What is not given stays out of the options: the engine may not have it.
    add(
        "--tool-choice",
        choices=("auto", "required", "one", "named", "arguments"),
        help="calls or none, at least one, exactly one, one of the tool --name, or its arguments alone (default: auto)",
    )
    add("--name", metavar="NAME", help="the tool, with --tool-choice named or arguments")
    add("--max-calls", metavar="N", type=positive, help="at most N calls a reply")
    add("--lazy", action="store_const", const=True, help="llama.cpp: begin at the opening tag, which triggers it")
    add(
        "--reasoning",
        metavar="TAG",
        type=element_name,
        help="a region of reasoning in <TAG> may come first, such as think",
    )
    add("--starts-in-reasoning", action="store_const", const=True, help="the reply begins inside the reasoning")
    add("--order", choices=("any", "schema"), help="the order of arguments: any, or that of the schema (default: any)")
    add("--white-space", metavar="N", type=whole_number(0), help="at most N characters of white space between elements")
    add("--cdata", choices=("allowed", "required", "forbidden"), help="how text is quoted (default: CDATA is allowed)")
    add(
        "--no-end-tag-in-cdata",
        dest="end_tag_in_cdata",
        action="store_const",
        const=False,
        help="forbid </tool> in CDATA, for readers that search for it",
    )
    add("--output", metavar="PATH", help="write to this file")
    add("--check", action="store_true", help="exit with 1 if anything of the schemas is not expressed")


def grammar(options: argparse.Namespace) -> int:
    """Run `xmltools grammar`. Returns the exit status."""
    if options.model is not None:
        options.dialect = chosen_dialect(options)
    given = {name: value for name in _OPTIONS if (value := getattr(options, name)) is not None}
    if options.engine is None:
        for name in ("backend", "api"):
            if getattr(options, name) is not None:
                raise UsageError(f"--{name} needs --engine, one of {', '.join(_ENGINES)}")
    tools = read_tools(options.tools)
    from xmltools.grammar import build_grammar, grammar_issues
    from xmltools.grammar.engines import engine_issues, for_engine

    try:
        if options.engine is None:
            format = "gbnf" if options.format is None else options.format
            text, issues = build_grammar(tools, format, **given), grammar_issues(tools, format, **given)
        else:
            given |= {name: getattr(options, name) for name in _CHOSEN}
            text = json.dumps(for_engine(options.engine, tools, **given), indent=2)
            issues = engine_issues(options.engine, tools, **given)
    except XMLToolsError as error:
        raise _in_our_words(str(error), options.tools) from None
    _write(text, options.output)
    for issue in issues:
        tell(f"note: {issue}")
    return 1 if issues and options.check else 0


def _in_our_words(message: str, tools: str) -> Exception:
    """Return the error with a message of `xmltools.grammar`: about an option, spelled as it is here, or the tools."""
    if not _ABOUT_AN_OPTION.match(message):
        return XMLToolsError(f"{tools}: {message}")
    return UsageError(_NAMED.sub(lambda found: _flag(found[found.lastindex or 0]), message))


def _flag(name: str) -> str:
    return "--no-end-tag-in-cdata" if name == "end_tag_in_cdata" else f"--{name.replace('_', '-')}"


def _write(text: str, output: str | None) -> None:
    if output is None:
        write_text(text)
        return
    try:
        Path(output).write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise UsageError(f"--output: {output}: {getattr(error, 'strerror', None) or error}") from None
