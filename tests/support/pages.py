"""The pages for users, and their tables, which are made from the registries of the package.

    python tests/support/pages.py

writes the tables anew; look at what changed before you commit it. `test_readme.py` tries what the pages say.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from render.test_instructions import LISTS, golden_tools
from support import conformance_in_words as conformance
from support.rivals_in_words import speed
from test_layers import LAYERS

import xmltools as xt
import xmltools.models.events
from xmltools.cli.commands import COMMANDS
from xmltools.cli.serve import declare_serve
from xmltools.dialects import FAMILIES, Family
from xmltools.formats import FORMATS, Holds, holds
from xmltools.formats.shared.losses import WORDS
from xmltools.lint import CODES
from xmltools.parser.limits import MAX_DEPTH
from xmltools.proxy.server.metrics import Metrics

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
ARCHITECTURE = ROOT / "docs" / "ARCHITECTURE.md"
OVERVIEW = ROOT / "docs" / "overview.md"
PROMISES = ROOT / "docs" / "promises.md"
PARSING = ROOT / "docs" / "parsing.md"
RENDER = ROOT / "docs" / "writing.md"
CONVERSATIONS = ROOT / "docs" / "conversations.md"
LINT = ROOT / "docs" / "checking.md"
SERVE = ROOT / "docs" / "serving.md"
BATCH = ROOT / "docs" / "batches.md"
CONFORMANCE = ROOT / "docs" / "conformance.md"
MODELS = ROOT / "docs" / "models.md"
AGENTS = ROOT / "docs" / "agents.md"
VLLM = ROOT / "docs" / "vllm.md"
SGLANG = ROOT / "docs" / "sglang.md"
UPGRADING = ROOT / "docs" / "upgrading.md"
GRAMMARS = ROOT / "grammars" / "README.md"
CORPUS = ROOT / "tests" / "corpus" / "README.md"
GUIDES = tuple(sorted((ROOT / "docs" / "guides").glob("*.md")))

SLIPS = {
    "a comma too many": '<tool_call>{"name": "add", "arguments": {"a": 5, "b": 3,}}</tool_call>',
    "JSON as Python writes it": "<tool_call>{'name': 'add', 'arguments': {'a': 5, 'b': 3}}</tool_call>",
    "a brace too few": '<tool_call>{"name": "add", "arguments": {"a": 5, "b": 3}</tool_call>',
    "numbers as strings": '<tool_call>{"name": "add", "arguments": {"a": "5", "b": "3"}}</tool_call>',
    "arguments as a string": r'<tool_call>{"name": "add", "arguments": "{\"a\": 5, \"b\": 3}"}</tool_call>',
    "no `arguments`": '<tool_call>{"name": "add", "a": 5, "b": 3}</tool_call>',
    "no end tag": '<tool_call>{"name": "add", "arguments": {"a": 5, "b": 3}}',
    "a call in a code fence": '```\n<tool_call>{"name": "add", "arguments": {"a": 5, "b": 3}}</tool_call>\n```',
    "a decorated name": '<tool_call>{"name": "functions.add", "arguments": {"a": 5, "b": 3}}</tool_call>',
    "a tool that there is not": '<tool_call>{"name": "sum", "arguments": {"a": 5, "b": 3}}</tool_call>',
    "JSON alone": '{"name": "add", "arguments": {"a": 5, "b": 3}}',
    "JSON after text": 'I add. {"name": "add", "arguments": {"a": 5, "b": 3}}',
    "JSON alone, arguments first": '{"arguments": {"a": 5, "b": 3}, "name": "add"}',
    "JSON in a fence": '```json\n{"name": "add", "arguments": {"a": 5, "b": 3}}\n```',
    "a tag of the tool's name": "<add><a>5</a><b>3</b></add>",
    "Qwen3-Coder's notation": "<function=add><parameter=a>5</parameter><parameter=b>3</parameter></function>",
    "Claude's notation": '<invoke name="add"><parameter name="a">5</parameter>'
    '<parameter name="b">3</parameter></invoke>',
    "Forge's notation": "<tool><tool_name>add</tool_name><arguments><a>5</a><b>3</b></arguments></tool>",
    "a list in Python": "[add(a=5, b=3)]",
    "a call in Python": "add(a=5, b=3)",
    "ReAct": 'Action: add\nAction Input: {"a": 5, "b": 3}',
    "arguments alone": '{"a": 5, "b": 3}',
}
"""What models write in place of a call in the notation that they were asked for, by what is wrong with it."""

PAGES = (README, PARSING, RENDER, CONVERSATIONS, LINT, SERVE, UPGRADING)
"""Those that are executed by `test_readme.py`; the recipes for batches and the snippets for engines have tests of their
own."""


TITLES = {
    PARSING: "parsing",
    RENDER: "writing",
    CONVERSATIONS: "conversations",
    LINT: "checking",
    SERVE: "serving",
    BATCH: "batches",
    AGENTS: "agents",
    VLLM: "vLLM",
    GRAMMARS: "grammars",
    CORPUS: "corpus",
}


class Verb(NamedTuple):
    """Something to do: its command, or what it does in words; its names in Python; and the page that tells more."""

    what: str
    names: tuple[str, ...]
    page: Path | None


VERBS = (
    Verb("parse", ("Parser", "parse"), PARSING),
    Verb(
        "make tools of functions, pydantic models, the definitions of OpenAI, Anthropic, MCP and Gemini, and the tools "
        "of MCP, LangChain, pydantic-ai and OpenAI Agents",
        ("load_tools", "Tool.of"),
        PARSING,
    ),
    Verb("find out whether a call was copied from what the model has read", ("find_echo",), PARSING),
    Verb("docs", ("render_instructions",), RENDER),
    Verb("call", ("render_call", "render_calls"), RENDER),
    Verb("result", ("render_result", "render_results", "render_result_parts", "read_results"), RENDER),
    Verb("write the turn that asks for a better call", ("render_retry",), RENDER),
    Verb(
        "write conversations as plain text for models that know no tools, and read them back",
        ("transcript.inline", "transcript.extract"),
        RENDER,
    ),
    Verb(
        "shorten conversations without parting a call from its result",
        ("compaction.compact", "compaction.prune_results", "compaction.summarise"),
        RENDER,
    ),
    Verb("convert", ("convert", "load", "dump"), CONVERSATIONS),
    Verb(
        "stream a parser's events as OpenAI's and Anthropic's chunks",
        ("streams.OpenAIStream", "streams.AnthropicStream", "streams.ResponsesStream"),
        CONVERSATIONS,
    ),
    Verb("read such chunks as a parser's events", ("streams.OpenAIReader", "streams.AnthropicReader"), CONVERSATIONS),
    Verb(
        "check conversations, and what users may send",
        ("validation.check", "validation.check_user_input"),
        CONVERSATIONS,
    ),
    Verb("grammar", ("build_grammar", "for_engine", "grammar_issues"), GRAMMARS),
    Verb("validate", ("lint.lint",), LINT),
    Verb("explain", ("lint.explain",), LINT),
    Verb("batch", ("batch.parse_files", "batch.parse_table"), BATCH),
    Verb("dialects", ("dialects.named", "dialects.for_model", "dialects.all", "parser.detect"), PARSING),
    Verb("give vLLM and SGLang parsers for the calls and the reasoning of every dialect", (), VLLM),
    Verb("give tool calling to model objects of LangChain, pydantic-ai and LiteLLM, without a server", (), AGENTS),
    Verb("serve", ("serve.run", "transport.XMLToolsTransport"), SERVE),
    Verb("doctor", (), SERVE),
    Verb("replay", (), SERVE),
    Verb("conformance", (), CORPUS),
    Verb("demo", (), None),
)

HOMES = {
    PARSING: ("tools", "parser"),
    RENDER: ("render",),
    CONVERSATIONS: ("conversations", "formats"),
    GRAMMARS: ("grammar",),
    LINT: ("lint",),
    SERVE: ("proxy", "proxy.bridge", "proxy.server", "proxy.transport", "proxy.playground", "proxy.doctor"),
    BATCH: ("batch",),
    VLLM: ("engine_plugins",),
    AGENTS: ("integrations",),
}
"""The modules that a page tells more of."""

LIMITS = {
    "block_size": "characters in a block, from `<tool` through `</tool>`",
    "depth": f"elements open at once inside a block, and levels of JSON; at most {MAX_DEPTH}",
    "elements": "start tags in a block",
    "blocks": "blocks in a reply",
}


def named(name: str) -> Any:
    """What a name in `VERBS` stands for."""
    module, _, last = name.rpartition(".")
    owner = xt if not module else getattr(xt, module, None) or importlib.import_module(f"xmltools.{module}")
    return getattr(owner, last)


def sentence(text: str) -> str:
    """The first sentence of a docstring, without its full stop."""
    first = " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
    return re.split(r"\.(?= )|\.\Z", first)[0]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def verbs() -> str:
    return table(("what it does", "in Python", "command", "more"), map(_verb_row, VERBS))


def _verb_row(verb: Verb) -> list[str]:
    command = COMMANDS.get(verb.what)
    names = ", ".join(f"`{name}`" for name in verb.names)
    words = command.summary if command else verb.what
    return [words, names, f"`{verb.what}`" if command else "", _more(verb.page, OVERVIEW)]


def _more(page: Path | None, here: Path) -> str:
    return f"[{TITLES[page]}]({os.path.relpath(page, here.parent)})" if page else ""


def house() -> str:
    pages = {module: page for page, modules in HOMES.items() for module in modules}
    rows = []
    for module in (name for row in LAYERS for name in row if name and not name.startswith("_")):
        words = sentence(importlib.import_module(f"xmltools.{module}").__doc__ or "")
        rows.append([f"`{module}`", words, _more(pages.get(module), ARCHITECTURE)])
    return table(("folder or module", "what it is", "more"), rows)


def events() -> str:
    rows = []
    for name in xmltools.models.events.__all__:
        event = getattr(xmltools.models.events, name)
        if event is not xt.Event:
            fields = ", ".join(f"`{field}`" for field in event._fields)
            rows.append([f"`{name}`", fields, " ".join(inspect.cleandoc(event.__doc__).split("\n\n")[0].split())])
    return table(("event", "fields", "what it says"), rows)


def options() -> str:
    paragraph = " ".join(inspect.cleandoc(xt.Parser.__doc__ or "").split("\n\n")[1].split())
    described = dict(re.findall(r"`(\w+)`: (.*?)[.](?= `\w+`:|\Z)", paragraph))
    given = inspect.signature(xt.Parser).parameters
    rows = [[f"`{name}`", _default(given[name].default), described[name]] for name in given]
    return table(("option", "default", "what it is"), rows)


def _default(value: object) -> str:
    if isinstance(value, xt.Dialect):
        return "`FORGE`"
    return "" if callable(value) else f"`{json.dumps(value) if isinstance(value, str) else value}`"


def limits() -> str:
    rows = [
        [f"`{field.name}`", f"{getattr(xt.Limits(), field.name):,}", LIMITS[field.name]] for field in fields(xt.Limits)
    ]
    return table(("limit", "default", "of what"), rows)


def slips() -> str:
    tools = [xt.Tool(name="add", parameters={"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})]
    rows = []
    for words, text in SLIPS.items():
        read = [_outcome(xt.parse(text, tools, dialect="hermes", also=also)) for also in (None, "known")]
        shown = " ".join(text.split("\n"))
        rows.append([words, f"```` {shown} ````" if "`" in shown else f"`{shown}`", *read])
    return table(("slip", "what the model writes", "by default", 'with `also="known"`'), rows)


def _outcome(reply: xt.Reply) -> str:
    if reply.errors:
        return f"error `{reply.errors[0].code.value}`"
    if reply.calls:
        return ", ".join(["read", *(f"`{repair.code.value}`" for repair in reply.calls[0].repairs)])
    return "noticed" if reply.notices else "text"


def sizes() -> str:
    rows = []
    for name in LISTS:
        tools = golden_tools(name)
        full, compact = (len(xt.render_instructions(tools, style=style)) for style in ("full", "compact"))
        definitions = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools
        ]
        rows.append([f"{name}, {len(tools)} tools", f"{full:,}", f"{compact:,}", f"{len(json.dumps(definitions)):,}"])
    return table(("characters", "full", "compact", "the definitions as JSON"), rows)


def formats() -> str:
    rows = []
    for field in fields(Holds):
        marks = ["yes" if getattr(holds(name), field.name) else "" for name in FORMATS]
        rows.append([WORDS[field.name].partition(":")[0], *marks])
    return table(("", *FORMATS), rows)


def checks() -> str:
    rows = [[f"`{name}`", CODES[name].meaning] for name in CODES if name not in set(xt.Code)]
    return table(("code", "what it means"), rows)


def serve_options() -> str:
    parser = argparse.ArgumentParser(add_help=False)
    declare_serve(parser)
    return table(("option", "what it does"), (_option_row(action) for action in parser._actions))


def _option_row(action: argparse.Action) -> list[str]:
    value = action.metavar or ("|".join(action.choices) if action.choices else "")
    return [f"`{' '.join((action.option_strings[0], str(value))).strip()}`", (action.help or "").replace("<", "&lt;")]


def metrics() -> str:
    rows = []
    for collector in Metrics().registry._collector_to_names:
        (family,) = collector.describe()  # type: ignore[attr-defined]
        labels = ", ".join(f"`{label}`" for label in collector._labelnames)  # type: ignore[attr-defined]
        rows.append([f"`{family.name}{'_total' * (family.type == 'counter')}`", labels, family.documentation])
    return table(("metric", "labels", "what it says"), rows)


def models() -> str:
    rows = [
        [_family_names(each), f"`{each.dialect}`", _family_ids(each), _source(each)]
        for each in FAMILIES
        if each.dialect
    ]
    return table(("family", "dialect", "models", "source"), rows)


def models_without() -> str:
    rows = [
        [_family_names(each), each.note.replace("<", "&lt;"), _source(each)] for each in FAMILIES if not each.dialect
    ]
    return table(("family", "models of this family …", "source"), rows)


def _family_names(family: Family) -> str:
    return ", ".join(f"`{name}`" for name in family.names)


def _family_ids(family: Family) -> str:
    return ", ".join(f"[{each.partition('/')[2]}](https://huggingface.co/{each})" for each in family.ids)


def _source(family: Family) -> str:
    host, *path = family.source.removeprefix("https://").split("/")
    return f"[{'/'.join(path[:2]) if host == 'github.com' else host}]({family.source})"


def without_thoughts() -> str:
    names = [f"`{each.name}`" for each in xt.dialects.all() if not (each.reasoning or each.thoughts)]
    return (
        f"There is no reasoning in {', '.join(names[:-1])} and {names[-1]}: these have no reasoning parser. A dialect "
        "of your own [that is registered](guides/describe_a_dialect.md#4-describe-it) as `brisk` has parsers as the "
        "others: `xmltools_brisk` and `xmltools_brisk_whole`.\n"
    )


PARTS = {
    README: {"speed": speed, "suite": conformance.in_short},
    OVERVIEW: {"verbs": verbs},
    ARCHITECTURE: {"house": house},
    PARSING: {"events": events, "options": options, "slips": slips, "limits": limits},
    RENDER: {"sizes": sizes},
    CONVERSATIONS: {"formats": formats},
    LINT: {"checks": checks},
    SERVE: {"options": serve_options, "metrics": metrics},
    CONFORMANCE: {
        "summary": conformance.summary,
        "how": conformance.how,
        "wrong": conformance.wrong,
        "inside": conformance.inside,
        "clock": conformance.clock,
        "own": conformance.own,
        "others": conformance.others,
        "hurry": conformance.hurry,
        "disputed": conformance.disputed,
        "not_ours": conformance.not_ours,
    },
    VLLM: {"parsers": without_thoughts, "better": lambda: conformance.better("vllm")},
    SGLANG: {"parsers": without_thoughts, "better": lambda: conformance.better("sglang")},
    MODELS: {"models": models, "without": models_without},
}
"""What is made, by the name in the comments around it."""


def parts_of(text: str, name: str) -> tuple[str, str, str]:
    """Return what stands before, in and behind a part that is made."""
    start, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    head, found, rest = text.partition(start)
    part, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"expected the comments {start!r} and {end!r}")
    return head + start, part, end + tail


def write_parts() -> None:
    """Write all that is made anew."""
    for page, made in PARTS.items():
        for name, make in made.items():
            head, _, tail = parts_of(page.read_text("utf-8"), name)
            page.write_text(head + make() + tail, "utf-8")


if __name__ == "__main__":
    write_parts()
