"""One row: from a reply, or from messages, to text, reasoning, calls, errors, repairs and notices.

It knows nothing of tables and files: what is read comes as Python values and goes as such, so that JSON Lines never
pass through a table.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from xmltools.batch.options import BatchOptions
from xmltools.errors import CallError, Notice, Repair, XMLToolsError
from xmltools.models import Reply, ToolCall
from xmltools.parser.replies import parse
from xmltools.parser.toolbox import Toolbox
from xmltools.tools import load_tools

ROW_CODES = {
    "invalid_tools": "The row's own tools could not be read: give a list of tool definitions, or its JSON.",
    "invalid_reply": "The row's value is no text: give the column a type of text.",
    "invalid_messages": "The row's messages could not be read: give a list of objects with a role and a content.",
    "invalid_line": "The line is no JSON object: write one object a line.",
}
"""What a row can fail with as a whole, beside the errors of its blocks, and what to do."""

_RIGHT = 'a list of messages, [{"role": "assistant", "content": "…"}], or its JSON'
_ROLES = frozenset(("system", "developer", "user", "tool", "function"))
"""Roles of chats whose messages are no replies."""
_KEPT = 256
"""Toolboxes that are kept: data sets have few, and those of one have most of their rows."""

FOREIGN = "foreign_dialect"
"""The repair of a call that was read in another dialect."""
SURROGATE = re.compile("[\ud800-\udfff]")
_EXACT = (str, int, bool, type(None))
"""What every JSON writer writes alike."""
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


def compact_bytes(value: Any) -> bytes:
    """Return the UTF-8 of what `compact` returns, for a value without floats: those are written in other ways."""
    try:
        return to_json(value)  # in a fifth of the time of `json`
    except PydanticSerializationError:
        return compact(value).encode()  # half a character


def _compact_arguments(arguments: dict[str, Any]) -> str:
    is_flat = all(value.__class__ in _EXACT for value in arguments.values())
    return compact_bytes(arguments).decode() if is_flat else compact(arguments)


def is_clean(call: dict[str, Any]) -> bool:
    """Return whether nothing in a call had to be repaired: reading another dialect was asked for, by `also`."""
    return bool(call["clean"]) or call["repairs"] == [FOREIGN]


def failed_row(code: str, message: str) -> Row:
    """Return a row that could not be read as a whole: it has one error and nothing else."""
    error = {"code": code, "message": message, "hint": ROW_CODES[code], "name": None}
    return Row("", "", [], [error | {"message_index": 0, "start": 0, "end": 0}], [], [])


class RowParser:
    """Parses rows, one after the other."""

    def __init__(self, options: BatchOptions) -> None:
        self._options = options
        self._parser_options = options.parser
        self.untyped_rows = 0
        """Rows with a reply that were read without tools, though there is a column of them."""
        self.other_roles = Counter[str]()
        """Messages by their role, where that is none that chats have, so that nothing was read."""
        self._toolbox = None if options.tools is None else Toolbox(options.tools)

    def parse(self, value: Any, tools: Any = None) -> Row:
        """Return what is in a row's value. Takes the row's own tools, if it has any. Nothing in a row raises."""
        has_none = tools is None or (isinstance(tools, str) and tools.strip() in ("", "null"))
        try:
            toolbox = self._toolbox if has_none else _toolbox_of(_json_of(tools))
        except XMLToolsError as error:
            return failed_row("invalid_tools", str(error))
        try:
            replies = [] if value is None else self._replies(value)
        except XMLToolsError as error:
            return failed_row("invalid_messages" if self._options.messages else "invalid_reply", str(error))
        self.untyped_rows += toolbox is None and bool(replies) and self._options.tools_column is not None
        texts, thoughts = [], []
        row = Row("", "", [], [], [], [])
        for index, reply in replies:
            found = parse(reply, toolbox, new_id=_no_id, **self._parser_options)
            _gather(found, index, row)
            texts.append(found.text)
            thoughts.append(found.reasoning)
        return row._replace(text=_paragraphs(texts), reasoning=_paragraphs(thoughts))

    def _replies(self, value: Any) -> list[tuple[int, str]]:
        if self._options.messages:
            return replies_in(value, self.other_roles)
        if not isinstance(value, str):
            raise XMLToolsError(f"expected text, got {type(value).__name__}")
        return [(0, value)]


def _no_id() -> str:
    return ""  # calls are numbered by row


def _paragraphs(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else "\n\n".join(filter(None, texts))


def _gather(reply: Reply, index: int, row: Row) -> None:
    """Add the calls, errors and notices of a message to the row."""
    for part in reply.parts:
        if isinstance(part, ToolCall):
            row.repairs.extend(_repair(each, len(row.calls), part) for each in part.repairs)
            row.calls.append(_call(part, len(row.calls) + 1, index))
        elif isinstance(part, CallError):
            row.errors.append(_found(part, index, hint=part.hint, name=part.name))
    for notice in reply.notices:
        fields = {"notation": notice.notation, "name": notice.name}
        row.notices.append(_found(notice, index, **fields, whole=notice.is_whole, fenced=notice.is_fenced))


def _call(call: ToolCall, number: int, index: int) -> dict[str, Any]:
    start, end = call.span or (0, 0)
    return {
        "id": f"call_{number}",
        "server": call.server,
        "name": call.name,
        "arguments": _compact_arguments(call.arguments),
        "clean": call.clean,
        "legacy_json": call.legacy_json,
        "dialect": call.dialect,
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


def _found(found: CallError | Notice, index: int, **fields: Any) -> dict[str, Any]:
    start, end = found.span
    common = {"code": found.code.value, "message": found.message}
    return {**common, **fields, "message_index": index, "start": start, "end": end}


# Chat messages: which of them the assistant wrote, and what their text is


def replies_in(value: Any, other_roles: Counter[str] | None = None) -> list[tuple[int, str]]:
    """Return the texts of the assistant's messages in a row's value, each with the index of its message.

    The value is a list of messages, an object with one under "messages", or the JSON of either; null and empty text
    hold none. A content is text, null (no text), or a list of parts, whose texts are joined. Messages of roles that
    chats do not have are counted in `other_roles`. Raises `XMLToolsError` for anything else.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else None
        except (ValueError, RecursionError) as error:
            raise XMLToolsError(f"expected {_RIGHT}: {error}") from None
    if value is None:
        return []
    if isinstance(value, Mapping) and "messages" in value:
        value = value["messages"]
    if not isinstance(value, (list, tuple)):
        raise XMLToolsError(f"expected {_RIGHT}, got {type(value).__name__}")
    replies = []
    for index, message in enumerate(value):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise XMLToolsError(f"message {index}: expected an object with a role and a content")
        if message["role"] == "assistant":
            replies.append((index, _content(message.get("content"), index)))
        elif other_roles is not None and message["role"] not in _ROLES:
            other_roles[message["role"][:40]] += 1
    return replies


def _content(content: Any, index: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise XMLToolsError(f"message {index}: expected a content of text or parts, got {type(content).__name__}")
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "".join(text for text in texts if isinstance(text, str))


def _json_of(own: Any) -> str:
    if isinstance(own, str):
        return own
    try:
        return json.dumps(own)
    except (TypeError, ValueError, RecursionError) as error:
        raise XMLToolsError(f"expected tools, or their JSON, got {type(own).__name__}: {error}") from None


@lru_cache(maxsize=_KEPT)
def _toolbox_of(text: str) -> Toolbox:
    """Return the toolbox for a row's own tools, made once for all rows that have the same."""
    try:
        return Toolbox(load_tools(json.loads(text)))
    except XMLToolsError:
        raise
    except (ValueError, RecursionError) as error:
        raise XMLToolsError(f"expected tools as JSON: {error}") from None
