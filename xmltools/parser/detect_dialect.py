"""In which dialect are some replies written?"""

from __future__ import annotations

from collections.abc import Iterable

from xmltools import dialects
from xmltools.dialects import FORGE, Dialect
from xmltools.errors import Code
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, TextDelta
from xmltools.parser.parser import Parser
from xmltools.tools import Tool


def detect(texts: Iterable[str], tools: Iterable[Tool] | None = None) -> list[tuple[Dialect, int, int]]:
    """Return the dialects in which there are calls in the texts, the likeliest first: each with the number of its
    calls, and of its blocks that give none. Without tools, any name is one."""
    replies = list(texts)
    known = None if tools is None else list(tools)
    found: list[tuple[Dialect, int, int]] = []
    text: dict[str, int] = {}
    for dialect in dialects.all():
        calls = errors = text[dialect.name] = 0
        for reply in replies:
            parser = Parser(known, dialect=dialect, argument_deltas=False)
            events = [*parser.feed(reply), *parser.close()]
            calls += sum(isinstance(event, CallCompleted) and _is_own(event.call) for event in events)
            text[dialect.name] += sum(len(event.text) for event in events if isinstance(event, TextDelta))
            errors += sum(isinstance(event, CallFailed) for event in events)
        if calls:
            found.append((dialect, calls, errors))
    # Of those that read as many calls, one that leaves marks in the text is less likely.
    return sorted(found, key=lambda each: (-each[1], each[2], text[each[0].name]))


def _is_own(call: ToolCall) -> bool:
    """Is the call written as in its dialect? JSON in place of pairs is how others write."""
    return call.dialect == FORGE.name or all(repair.code is not Code.JSON_ARGUMENTS for repair in call.repairs)
