"""Data in a request whose prompt the upstream writes, so that its chat template and tokenizer find in them nothing that
begins or ends a turn, a call or a result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xmltools.dialects import Dialect
from xmltools.models import Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.render.marks import Marks, marks_beside, marks_in_calls
from xmltools.render.writable import refuse_foreign
from xmltools.tools import Tool


def plain(value: Any, marks: Marks) -> Any:
    """Return JSON with references for marks, in the names of fields too."""
    if isinstance(value, str):
        return marks.neutral(value)
    if isinstance(value, dict):
        return {plain(key, marks): plain(each, marks) for key, each in value.items()}
    return [plain(each, marks) for each in value] if isinstance(value, list) else value


class PlainData:
    """Writes the data of a request so: `marks` are those that no data may hold, `in_calls` those that nothing in a call
    may, for a chat template may write an argument as it is."""

    def __init__(self, tools: Iterable[Tool], dialect: Dialect) -> None:
        self.marks = marks_beside(tools, dialect, closers=True)
        self.in_calls = marks_in_calls(dialect)

    def named(self, message: Message) -> Message:
        """Return a message with its name so: some templates write that in the place of a role."""
        return message.model_copy(update={"name": self.marks.neutral(message.name)}) if message.name else message

    def said(self, message: Message) -> Message:
        """Return a message with its texts so."""
        parts = (self._part(part) if isinstance(part, Text) else part for part in message.parts)
        return message.model_copy(update={"parts": tuple(parts)})

    def remembered(self, message: Message) -> Message:
        """Return a message of the history so; what the system and users say stays.

        Raises XMLToolsError for a call whose arguments are not JSON, or nested too deep.
        """
        if message.role in ("system", "user") and not message.results:
            return message
        return message.model_copy(update={"parts": tuple(map(self._part, message.parts))})

    def definition(self, tool: Tool) -> dict[str, Any]:
        """Return the definition of a tool as chat completions have it, so written."""
        function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        return {"type": "function", "function": plain(function, self.marks)}

    def _part(self, part: Part) -> Part:
        hide, in_calls = self.marks.neutral, self.in_calls
        change: dict[str, Any] = {}
        if isinstance(part, Text | Reasoning):
            change = {"text": hide(part.text)}
        elif isinstance(part, ToolCall):
            refuse_foreign(part.arguments, f"the call of {part.name!r:.80}")
            given = {"id": part.id, "name": part.name, "arguments": part.arguments}
            change = {key: plain(value, in_calls) for key, value in given.items()}
        elif isinstance(part, ToolResult):
            content = part.content
            said = hide(content) if isinstance(content, str) else tuple(map(self._part, content))
            change = {"call_id": in_calls.neutral(part.call_id), "name": hide(part.name), "content": said}
        return part.model_copy(update=change)
