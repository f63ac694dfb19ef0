"""What a request to an engine holds so that the engine keeps to the grammar: the exact fields, nothing else.

Each engine is a table of ways to hand a grammar over: which backend, through which API, in which format, in which
fields. The first way is the usual one. Where the fields are described:

- vLLM: https://docs.vllm.ai/en/latest/features/structured_outputs/. Backend `xgrammar` is what `auto` picks for a
  grammar; `guidance` is llguidance.
- SGLang: https://docs.sglang.ai/advanced_features/structured_outputs.html; the fields of its OpenAI API are in
  `sglang/srt/entrypoints/openai/protocol.py`.
- llama.cpp: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, and `server-schema.cpp` beside
  it for lazy grammars; https://github.com/ggml-org/llama.cpp/blob/master/docs/llguidance.md.
- TensorRT-LLM: https://nvidia.github.io/TensorRT-LLM/features/guided-decoding.html.
- OpenAI: https://developers.openai.com/api/docs/guides/function-calling#custom-tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from xmltools.dialects import FORGE, named
from xmltools.errors import XMLToolsError
from xmltools.grammar.build import build_grammar, grammar_issues
from xmltools.grammar.issues import GrammarIssue
from xmltools.tools import Tool, list_of_tools

Fields = dict[str, Any]

_WORD = 1
"""llama.cpp's number for a trigger that is a word."""


def _lazy_fields(opener: str) -> Fields:
    # A vocabulary may have the opener as one token. llama.cpp refuses such a trigger unless it is a preserved token
    # too; where the opener is several tokens, naming it there changes nothing.
    return {
        "grammar_lazy": True,
        "grammar_triggers": [{"type": _WORD, "value": opener}],
        "preserved_tokens": [opener],
    }


def _for_llguidance(lark: str) -> str:
    """Return a grammar with the line by which engines that read GBNF too see that this is Lark for llguidance."""
    return lark if lark.startswith("%llguidance") else "%llguidance {}\n" + lark


def _nest(*names: str, of: Callable[[str], Any] = str) -> Callable[[str], Fields]:
    """Return a function that puts a grammar, changed by `of`, in the innermost of nested fields."""

    def wrap(grammar: str) -> Fields:
        value: Any = of(grammar)
        for name in reversed(names):
            value = {name: value}
        return {**value}

    return wrap


def _ebnf(grammar: str) -> Fields:
    return {"type": "ebnf", "ebnf": grammar}


def _lark_syntax(grammar: str) -> Fields:
    return {"syntax": "lark", "definition": grammar}


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to hand a grammar over: `wrap` puts its text in the fields of the request, or of one tool."""

    backend: str
    api: str
    format: str
    wrap: Callable[[str], Fields]
    lazy: bool = False
    each_tool: bool = False


ENGINES: dict[str, tuple[_Way, ...]] = {
    "vllm": (
        _Way("xgrammar", "openai", "gbnf", _nest("structured_outputs", "grammar")),
        _Way("xgrammar", "openai", "structural_tag", _nest("structured_outputs", "structural_tag")),
        _Way("xgrammar", "python", "gbnf", _nest("grammar")),
        _Way("xgrammar", "python", "structural_tag", _nest("structural_tag")),
        _Way("guidance", "openai", "lark", _nest("structured_outputs", "grammar", of=_for_llguidance)),
        _Way("guidance", "python", "lark", _nest("grammar", of=_for_llguidance)),
    ),
    "sglang": (
        _Way("xgrammar", "openai", "gbnf", _nest("ebnf")),
        _Way("xgrammar", "openai", "structural_tag", _nest("response_format", of=json.loads)),
        _Way("xgrammar", "native", "gbnf", _nest("ebnf")),
        _Way("xgrammar", "native", "structural_tag", _nest("structural_tag")),
        _Way("llguidance", "openai", "lark", _nest("ebnf", of=_for_llguidance)),
        _Way("llguidance", "native", "lark", _nest("ebnf", of=_for_llguidance)),
    ),
    "llama.cpp": (
        _Way("gbnf", "openai", "gbnf", _nest("grammar"), lazy=True),
        _Way("gbnf", "native", "gbnf", _nest("grammar"), lazy=True),
        _Way("llguidance", "openai", "lark", _nest("grammar", of=_for_llguidance)),
        _Way("llguidance", "native", "lark", _nest("grammar", of=_for_llguidance)),
    ),
    "tensorrt-llm": (
        _Way("xgrammar", "openai", "gbnf", _nest("response_format", of=_ebnf)),
        _Way("xgrammar", "openai", "structural_tag", _nest("response_format", of=json.loads)),
        _Way("xgrammar", "python", "gbnf", _nest("grammar")),
        _Way("xgrammar", "python", "structural_tag", _nest("structural_tag")),
        _Way("llguidance", "openai", "lark", _nest("response_format", of=lambda lark: _ebnf(_for_llguidance(lark)))),
        _Way("llguidance", "python", "lark", _nest("grammar", of=_for_llguidance)),
    ),
    "openai-custom-tool": (
        _Way("openai", "responses", "lark", lambda lark: {"type": "grammar", **_lark_syntax(lark)}, each_tool=True),
        _Way("openai", "chat", "lark", lambda lark: {"type": "grammar", "grammar": _lark_syntax(lark)}, each_tool=True),
    ),
}
"""Each engine with the ways to hand it a grammar, the usual one first."""


def for_engine(
    engine: str,
    tools: Tool | Iterable[Tool],
    *,
    backend: str | None = None,
    api: str | None = None,
    format: str | None = None,
    **options: Any,
) -> Fields:
    """Return the fields that make an engine keep to the grammar of some tools.

    Takes the engine, a tool or several, and the options of `build_grammar`. What is None is the first of what there is:

    | engine | backend | api | format |
    |---|---|---|---|
    | vllm | xgrammar | openai, python | gbnf, structural_tag |
    | vllm | guidance | openai, python | lark |
    | sglang | xgrammar | openai, native | gbnf, structural_tag |
    | sglang | llguidance | openai, native | lark |
    | llama.cpp | gbnf, llguidance | openai, native | gbnf, lark |
    | tensorrt-llm | xgrammar | openai, python | gbnf, structural_tag |
    | tensorrt-llm | llguidance | openai, python | lark |
    | openai-custom-tool | openai | responses, chat | lark |

    With `api="openai"` the fields belong to the body of the request: `extra_body` in OpenAI's Python client. With
    `"native"` they belong to SGLang's `sampling_params` or the body of llama.cpp's `/completion`; with `"python"`
    they are the arguments of vLLM's `StructuredOutputsParams` or TensorRT-LLM's `GuidedDecodingParams`.

    `lazy=True` is for llama.cpp with its own grammars: text is free until the opening tag. For openai-custom-tool
    each tool is a custom tool whose input is what stands inside `<arguments>`, so `tool_choice`, `name`, `reasoning`
    and `dialect` are not options there.

    Raises `XMLToolsError` for an engine, backend, API or format that there is not, for options that the engine can't
    have, and as `build_grammar` does.
    """
    way = _find_way(engine, backend, api, format)
    _check_options(engine, way, options)
    if way.each_tool:
        return {"tools": [_custom_tool(way, tool, options) for tool in _with_unique_names(engine, tools)]}
    fields = way.wrap(build_grammar(tools, way.format, **options))
    return {**fields, **_lazy_fields(named(options.get("dialect") or FORGE).opener)} if options.get("lazy") else fields


def engine_issues(
    engine: str,
    tools: Tool | Iterable[Tool],
    *,
    backend: str | None = None,
    api: str | None = None,
    format: str | None = None,
    **options: Any,
) -> list[GrammarIssue]:
    """Return what the grammar that `for_engine` makes of the same arguments does not express.

    Takes and raises what `for_engine` does.
    """
    way = _find_way(engine, backend, api, format)
    _check_options(engine, way, options)
    if not way.each_tool:
        return grammar_issues(tools, way.format, **options)
    return [
        issue
        for tool in _with_unique_names(engine, tools)
        for issue in grammar_issues(tool, way.format, tool_choice="arguments", **options)
    ]


def _custom_tool(way: _Way, tool: Tool, options: dict[str, Any]) -> Fields:
    fields: Fields = {"name": tool.name}
    if tool.description:
        fields["description"] = tool.description
    fields["format"] = way.wrap(build_grammar(tool, way.format, **{**options, "tool_choice": "arguments"}))
    return {"type": "custom", **fields} if way.api == "responses" else {"type": "custom", "custom": fields}


# Arguments


def _find_way(engine: str, backend: str | None, api: str | None, format: str | None) -> _Way:
    ways = ENGINES.get(engine, ()) if isinstance(engine, str) else ()
    if not ways:
        raise XMLToolsError(f"engine: expected {_either(ENGINES)}, got {engine!r:.80}")
    of = engine
    for what, wanted in (("backend", backend), ("api", api), ("format", format)):
        known = dict.fromkeys(getattr(way, what) for way in ways)
        wanted = next(iter(known)) if wanted is None else wanted
        if wanted not in list(known):  # it may be anything
            raise XMLToolsError(f"{what}: expected {_either(known)} for {of}, got {wanted!r:.80}")
        ways = tuple(way for way in ways if getattr(way, what) == wanted)
        of += f", {what} {wanted}" if len(known) > 1 else ""
    return ways[0]


def _either(names: Iterable[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def _check_options(engine: str, way: _Way, options: dict[str, Any]) -> None:
    if options.get("lazy") and not way.lazy:
        raise XMLToolsError(
            f"lazy: {engine} (backend {way.backend}) has no triggers, only llama.cpp with its own grammars has; "
            "leave lazy out: text in front of a call is free in any case"
        )
    refused = [name for name in ("tool_choice", "name", "reasoning", "dialect") if options.get(name) is not None]
    if way.each_tool and refused:
        raise XMLToolsError(
            f"{refused[0]}: {engine} has a grammar for the arguments of each tool and nothing around them; "
            f"leave {refused[0]} out: the API chooses the tool, writes the call and keeps reasoning apart"
        )


def _with_unique_names(engine: str, tools: Tool | Iterable[Tool]) -> list[Tool]:
    """Return the tools as a list. Raises `XMLToolsError` if two have one name, which the API can't tell apart."""
    found = [tools] if isinstance(tools, Tool) else list_of_tools(tools)
    if not found:
        raise XMLToolsError(f"{engine}: expected at least one tool, got none")
    servers: dict[str, str] = {}
    for tool in found:
        if tool.name in servers:
            raise XMLToolsError(
                f"{engine}: expected one tool of each name, got {tool.name!r:.80} on the servers "
                f"{servers[tool.name]!r:.80} and {tool.server!r:.80}; leave one out or rename it"
            )
        servers[tool.name] = tool.server
    return found
