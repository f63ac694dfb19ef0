"""Values: calls, results, replies, messages and conversations. Immutable, comparable, JSON in and out (pydantic).

Fields of a wrong type, and unknown ones, raise pydantic's `ValidationError`, which is a `ValueError`.
"""

from xmltools.models._conversation import Conversation
from xmltools.models._message import Content, Message, Role
from xmltools.models._parts import (
    DEFAULT_SERVER,
    CallStatus,
    Media,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from xmltools.models._reply import Reply

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
