"""xmltools: reads and writes the tool calls that language models write in their text.

    import xmltools as xt

    parser = xt.Parser(tools=[xt.Tool.of(write_file)])
    for chunk in stream:
        for event in parser.feed(chunk): ...
    for event in parser.close(): ...

    reply = xt.parse(text)  # reply.parts, .text, .reasoning, .calls, .errors

`__all__` lists the names that most users need; the others in `_HOMES` can be imported from here, too. Names are loaded
when they are first used, so that `import xmltools` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xmltools import dialects as dialects
    from xmltools.conversations.copied_calls import Echo as Echo
    from xmltools.conversations.copied_calls import find_echo as find_echo
    from xmltools.dialects import FORGE as FORGE
    from xmltools.dialects import Dialect as Dialect
    from xmltools.errors import CallError, Code, Repair, XMLToolsError
    from xmltools.errors import Issue as Issue
    from xmltools.errors import Notice as Notice
    from xmltools.formats import ConversionWarning as ConversionWarning
    from xmltools.formats import convert, dump, load
    from xmltools.grammar import (
        GrammarIssue as GrammarIssue,
    )
    from xmltools.grammar import (
        build_grammar,
    )
    from xmltools.grammar import (
        for_engine as for_engine,
    )
    from xmltools.grammar import (
        grammar_issues as grammar_issues,
    )
    from xmltools.models import Conversation, Message, Reasoning, Reply, Text, ToolCall, ToolResult
    from xmltools.models import Media as Media
    from xmltools.models.events import (
        ArgumentDelta,
        CallCompleted,
        CallFailed,
        CallStarted,
        Event,
        ReasoningDelta,
        TextDelta,
    )
    from xmltools.models.events import (
        Noticed as Noticed,
    )
    from xmltools.models.events import (
        Skipped as Skipped,
    )
    from xmltools.parser import Parser, parse
    from xmltools.parser.limits import Limits as Limits
    from xmltools.render import (
        ENGLISH as ENGLISH,
    )
    from xmltools.render import (
        Wording as Wording,
    )
    from xmltools.render import (
        read_results as read_results,
    )
    from xmltools.render import (
        render_call,
        render_instructions,
        render_result,
        render_retry,
    )
    from xmltools.render import (
        render_calls as render_calls,
    )
    from xmltools.render import (
        render_result_parts as render_result_parts,
    )
    from xmltools.render import (
        render_results as render_results,
    )
    from xmltools.tools import Tool, load_tools

__version__ = "0.2.0"

_HOMES = {
    "dialects": ("FORGE", "Dialect"),
    "conversations.copied_calls": ("Echo", "find_echo"),
    "errors": ("CallError", "Code", "Issue", "Notice", "Repair", "XMLToolsError"),
    "models.events": (
        "ArgumentDelta",
        "CallCompleted",
        "CallFailed",
        "CallStarted",
        "Event",
        "Noticed",
        "ReasoningDelta",
        "Skipped",
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
        "render_calls",
        "render_instructions",
        "render_result",
        "render_result_parts",
        "render_results",
        "render_retry",
    ),
    "tools": ("Tool", "load_tools"),
}
_SUBMODULES = ("bridge", "compaction", "dialects", "formats", "grammar", "streams", "transcript", "validation")
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ArgumentDelta",
    "CallCompleted",
    "CallError",
    "CallFailed",
    "CallStarted",
    "Code",
    "Conversation",
    "Event",
    "Message",
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
    "XMLToolsError",
    "build_grammar",
    "convert",
    "dump",
    "load",
    "load_tools",
    "parse",
    "render_call",
    "render_instructions",
    "render_result",
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
    return sorted({*globals(), *_HOME_OF})
