"""xmltools: tool calls written as XML in model text.

    import xmltools as xt

    parser = xt.Parser(tools=[xt.Tool.of(write_file)])
    for chunk in stream:
        for event in parser.feed(chunk): ...
    for event in parser.close(): ...

    reply = xt.parse(text)  # reply.parts, .text, .reasoning, .calls, .errors

Names are loaded when they are first used, so that `import xmltools` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xmltools.conversations.echo import Echo, find_echo
    from xmltools.dialects import FORGE, Dialect
    from xmltools.errors import CallError, Code, Issue, Notice, Repair, XMLToolsError
    from xmltools.formats import ConversionWarning, convert, dump, load
    from xmltools.grammar import GrammarIssue, build_grammar, for_engine, grammar_issues
    from xmltools.models import Conversation, Media, Message, Reasoning, Reply, Text, ToolCall, ToolResult
    from xmltools.models.events import (
        ArgumentDelta,
        CallCompleted,
        CallFailed,
        CallStarted,
        Event,
        Noticed,
        ReasoningDelta,
        TextDelta,
    )
    from xmltools.parser import Parser, parse
    from xmltools.parser.limits import Limits
    from xmltools.render import (
        ENGLISH,
        Wording,
        read_results,
        render_call,
        render_instructions,
        render_result,
        render_result_parts,
        render_results,
        render_retry,
    )
    from xmltools.tools import Tool, load_tools

__version__ = "0.1.0"

_HOMES = {
    "dialects": ("FORGE", "Dialect"),
    "conversations.echo": ("Echo", "find_echo"),
    "errors": ("CallError", "Code", "Issue", "Notice", "Repair", "XMLToolsError"),
    "models.events": (
        "ArgumentDelta",
        "CallCompleted",
        "CallFailed",
        "CallStarted",
        "Event",
        "Noticed",
        "ReasoningDelta",
        "TextDelta",
    ),
    "formats": ("ConversionWarning", "convert", "dump", "load"),
    "grammar": ("GrammarIssue", "build_grammar", "for_engine", "grammar_issues"),
    "models": ("Conversation", "Media", "Message", "Reasoning", "Reply", "Text", "ToolCall", "ToolResult"),
    "parser": ("Limits", "Parser", "parse"),
    "render": (
        "ENGLISH",
        "Wording",
        "read_results",
        "render_call",
        "render_instructions",
        "render_result",
        "render_result_parts",
        "render_results",
        "render_retry",
    ),
    "tools": ("Tool", "load_tools"),
}
_SUBMODULES = ("bridge", "compaction", "formats", "grammar", "streams", "transcript", "validation")
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ENGLISH",
    "FORGE",
    "ArgumentDelta",
    "CallCompleted",
    "CallError",
    "CallFailed",
    "CallStarted",
    "Code",
    "Conversation",
    "ConversionWarning",
    "Dialect",
    "Echo",
    "Event",
    "GrammarIssue",
    "Issue",
    "Limits",
    "Media",
    "Message",
    "Notice",
    "Noticed",
    "Parser",
    "Reasoning",
    "ReasoningDelta",
    "Repair",
    "Reply",
    "Text",
    "TextDelta",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Wording",
    "XMLToolsError",
    "build_grammar",
    "convert",
    "dump",
    "find_echo",
    "for_engine",
    "grammar_issues",
    "load",
    "load_tools",
    "parse",
    "read_results",
    "render_call",
    "render_instructions",
    "render_result",
    "render_result_parts",
    "render_results",
    "render_retry",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"xmltools.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'xmltools' has no attribute {name!r}")
    value = getattr(import_module(f"xmltools.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
