"""Values: calls, results, replies, messages and conversations. Immutable, comparable, JSON in and out (pydantic).

Fields of a wrong type, and unknown ones, raise pydantic's `ValidationError`, which is a `ValueError`.
"""

from xmltools.models.conversation import Conversation
from xmltools.models.message import Content, Message, Reply, Role
from xmltools.models.parts import (
    DEFAULT_SERVER,
    CallStatus,
    Media,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)

__all__ = [
    "DEFAULT_SERVER",
    "CallStatus",
    "Content",
    "Conversation",
    "Media",
    "Message",
    "Part",
    "Reasoning",
    "Reply",
    "Role",
    "Text",
    "ToolCall",
    "ToolResult",
]
