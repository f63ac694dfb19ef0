"""Whole replies: `parse`, and how events become the parts of a reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

from xmltools.dialects import Also, Dialect
from xmltools.errors import CallError, Notice, XMLToolsError
from xmltools.models import Reasoning, Text, ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, Noticed, ReasoningDelta, TextDelta
from xmltools.parser.limits import Limits
from xmltools.parser.stream import Parser
from xmltools.parser.toolbox import Toolbox
from xmltools.tools import Tool

if TYPE_CHECKING:
    from xmltools.models import Reply

__all__ = ["build_reply", "parse"]


class _Options(TypedDict, total=False):
    """The options of `Parser`."""

    strict: bool
    reasoning_tags: Sequence[str] | None
    starts_in_reasoning: bool
    bracket_reasoning: bool
    code_fences: str
    limits: Limits | None
    new_id: Callable[[], str]
    dialect: Dialect | str
    also: Also


def parse(text: str, tools: Iterable[Tool] | Toolbox | None = None, **options: Unpack[_Options]) -> Reply:
    """Parse a whole reply. Takes the options of `Parser`, and raises as it does; returns the parts in order."""
    if "argument_deltas" in options:
        raise XMLToolsError("argument_deltas: parse returns whole calls, and no deltas; leave it out")
    parser = Parser(tools, argument_deltas=False, **options)
    return build_reply(parser.read(text), unclosed_reasoning=parser.unclosed_reasoning)


def build_reply(events: Iterable[Event], *, unclosed_reasoning: bool = False) -> Reply:
    """Fold events into a reply: adjacent deltas are joined."""
    from xmltools.models import Reply  # here, since readers of events make no replies

    parts: list[Text | Reasoning | ToolCall | CallError] = []
    notices: list[Notice] = []
    kind: type[Text] | type[Reasoning] | None = None
    gathered: list[str] = []

    def flush() -> None:
        if kind is not None and (joined := "".join(gathered)):
            parts.append(kind.unchecked(joined))
        gathered.clear()

    for event in events:
        if isinstance(event, (TextDelta, ReasoningDelta)):
            told = Text if isinstance(event, TextDelta) else Reasoning
            if kind is not told:
                flush()
                kind = told
            gathered.append(event.text)
        elif isinstance(event, (CallCompleted, CallFailed)):
            flush()
            kind = None
            parts.append(event.call if isinstance(event, CallCompleted) else event.error)
        elif isinstance(event, Noticed):
            notices.append(event.notice)
    flush()
    return Reply.unchecked(tuple(parts), unclosed_reasoning, tuple(notices))
