"""Replies as they were parsed."""

from __future__ import annotations

from collections.abc import Sequence

from xmltools.errors import CallError, Notice
from xmltools.models.parts import Reasoning, Text, ToolCall, Value, assemble


class Reply(Value):
    """One model reply, parsed: text, reasoning, calls and errors in the order in which they stood in it.

    `unclosed_reasoning` says that the reply ended inside a reasoning region. `notices` tell of what is remarkable in
    the text: calls in other notations.
    """

    parts: tuple[Text | Reasoning | ToolCall | CallError, ...] = ()
    unclosed_reasoning: bool = False
    notices: tuple[Notice, ...] = ()

    @classmethod
    def unchecked(
        cls,
        parts: tuple[Text | Reasoning | ToolCall | CallError, ...],
        unclosed_reasoning: bool,
        notices: tuple[Notice, ...],
    ) -> Reply:
        """Make the reply that `Reply` makes of these fields, without checking them: they must be right."""
        fields = {"parts": parts, "unclosed_reasoning": unclosed_reasoning, "notices": notices}
        return assemble(cls, fields, {*fields})

    @property
    def text(self) -> str:
        """The reply without its blocks and reasoning regions, white space untouched."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """The content of the reasoning regions, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Reasoning))

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def errors(self) -> Sequence[CallError]:
        """The blocks that gave no call, in order."""
        return tuple(part for part in self.parts if isinstance(part, CallError))
