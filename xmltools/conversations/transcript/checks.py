"""What both directions are given: a conversation, and tools that a parser can be made with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.models import Conversation
from xmltools.parser import Parser
from xmltools.tools import Tool

__all__ = ["check_conversation", "checked_tools"]


def check_conversation(conversation: Any, function: str) -> None:
    """Raise XMLToolsError for anything but a conversation."""
    if not isinstance(conversation, Conversation):
        raise XMLToolsError(f"{function}: expected xmltools.Conversation, got {type(conversation).__name__}")


def checked_tools(tools: Iterable[Tool] | None, **options: Any) -> list[Tool] | None:
    """Return the tools as a list. Raises XMLToolsError if a parser refuses them, or its options."""
    if tools is not None and not isinstance(tools, Iterable):
        raise XMLToolsError(f"tools: expected a list of xmltools.Tool, or None, got {type(tools).__name__}")
    listed = None if tools is None else list(tools)
    Parser(listed, **options)
    return listed
