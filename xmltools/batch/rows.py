"""One row: from a reply, or from messages, to text, reasoning, calls, errors, repairs and notices.

It knows nothing of tables and files: what is read comes as Python values and goes as such, so that JSON Lines never
pass through a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from xmltools.batch.messages import replies_in
from xmltools.batch.options import BatchOptions
from xmltools.batch.toolsets import Toolsets
from xmltools.errors import CallError, Notice, Repair, XMLToolsError
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, Noticed, ReasoningDelta, TextDelta
from xmltools.parser import Parser
from xmltools.parser.conclude import Toolbox

__all__ = ["SURROGATE", "Row", "RowParser", "compact", "failed_row"]

_HINTS = {
    "invalid_tools": "The row's own tools could not be read: give a list of tool definitions, or its JSON.",
    "invalid_reply": "The row's value is no text: give the column a type of text.",
    "invalid_messages": "The row's messages could not be read: give a list of objects with a role and a content.",
    "invalid_line": "The line is no JSON object: write one object a line.",
}
"""What a row can fail with as a whole, beside the errors of its blocks, and what to do."""

SURROGATE = re.compile("[\ud800-\udfff]")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":")).encode


class Row(NamedTuple):
    """What a row holds. The lists hold dicts with the fields of the columns."""

    text: str
    reasoning: str
    calls: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    repairs: list[dict[str, Any]]
    notices: list[dict[str, Any]]


def compact(value: Any) -> str:
    """Return compact JSON. What is half a character, and has no UTF-8, is escaped."""
    text = _encode(value)
    return text if text.isascii() or not SURROGATE.search(text) else _encode_ascii(value)


def failed_row(code: str, message: str) -> Row:
    """Return a row that could not be read as a whole: it has one error and nothing else."""
    error = {"code": code, "message": message, "hint": _HINTS[code], "name": None}
    return Row("", "", [], [error | {"message_index": 0, "start": 0, "end": 0}], [], [])


class RowParser:
    """Parses rows, one after the other."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options.parser
        self._toolsets = Toolsets(options.tools)
        self._read = self._messages if options.messages else self._reply

    def parse(self, value: Any, tools: Any = None) -> Row:
        """Return what is in a row's value. Takes the row's own tools, if it has any. Nothing in a row raises."""
        try:
            toolbox = self._toolsets.find(tools)
        except XMLToolsError as error:
            return failed_row("invalid_tools", str(error))
        return Row("", "", [], [], [], []) if value is None else self._read(value, toolbox)

    def _reply(self, value: Any, toolbox: Toolbox | None) -> Row:
        if not isinstance(value, str):
            return failed_row("invalid_reply", f"expected text, got {type(value).__name__}")
        return self._join([(0, value)], toolbox)

    def _messages(self, value: Any, toolbox: Toolbox | None) -> Row:
        try:
            replies = replies_in(value)
        except XMLToolsError as error:
            return failed_row("invalid_messages", str(error))
        return self._join(replies, toolbox)

    def _join(self, replies: Iterable[tuple[int, str]], toolbox: Toolbox | None) -> Row:
        texts, thoughts = [], []
        row = Row("", "", [], [], [], [])
        for index, reply in replies:
            parser = Parser(toolbox, argument_deltas=False, new_id=_no_id, **self._options)
            text, thought = _gather(chain(parser.feed(reply), parser.close()), index, row)
            texts.append(text)
            thoughts.append(thought)
        return row._replace(text=_paragraphs(texts), reasoning=_paragraphs(thoughts))


def _no_id() -> str:
    return ""  # calls are numbered by row


def _paragraphs(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else "\n\n".join(filter(None, texts))


def _gather(events: Iterator[Event], index: int, row: Row) -> tuple[str, str]:
    """Add the calls, errors and notices of a message to the row. Returns its text and its reasoning."""
    texts: list[str] = []
    thoughts: list[str] = []
    for event in events:
        if isinstance(event, TextDelta):
            texts.append(event.text)
        elif isinstance(event, ReasoningDelta):
            thoughts.append(event.text)
        elif isinstance(event, CallCompleted):
            row.repairs.extend(_repair(each, len(row.calls), event.call) for each in event.call.repairs)
            row.calls.append(_call(event.call, len(row.calls) + 1, index))
        elif isinstance(event, CallFailed):
            row.errors.append(_error(event.error, index))
        elif isinstance(event, Noticed):
            row.notices.append(_notice(event.notice, index))
    return "".join(texts), "".join(thoughts)


def _call(call: ToolCall, number: int, index: int) -> dict[str, Any]:
    start, end = call.span or (0, 0)
    return {
        "id": f"call_{number}",
        "server": call.server,
        "name": call.name,
        "arguments": compact(call.arguments),
        "clean": call.clean,
        "legacy_json": call.legacy_json,
        "repairs": [repair.code.value for repair in call.repairs],
        "message": index,
        "start": start,
        "end": end,
    }


def _repair(repair: Repair, number: int, call: ToolCall) -> dict[str, Any]:
    """A repair, whose place is one character: none, if it is the end of the block."""
    _, end = call.span or (0, 0)
    return {
        "code": repair.code.value,
        "message": repair.message,
        "call": number,
        "start": repair.offset,
        "end": max(repair.offset, min(repair.offset + 1, end)),
    }


def _error(error: CallError, index: int) -> dict[str, Any]:
    start, end = error.span
    return {
        "code": error.code.value,
        "message": error.message,
        "hint": error.hint,
        "name": error.name,
        "message_index": index,
        "start": start,
        "end": end,
    }


def _notice(notice: Notice, index: int) -> dict[str, Any]:
    start, end = notice.span
    return {
        "code": notice.code.value,
        "message": notice.message,
        "notation": notice.notation,
        "name": notice.name,
        "whole": notice.is_whole,
        "fenced": notice.is_fenced,
        "message_index": index,
        "start": start,
        "end": end,
    }
