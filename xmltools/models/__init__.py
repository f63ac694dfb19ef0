"""Values: calls, results, replies, messages and conversations. Immutable, comparable, JSON in and out (pydantic).

Fields of a wrong type, and unknown ones, raise pydantic's `ValidationError`, which is a `ValueError`.
"""

from typing import TYPE_CHECKING

from xmltools.first_use import on_first_use
from xmltools.models.parts import BUILD_LATE, DEFAULT_SERVER, CallStatus, Reasoning, Text, ToolCall

if TYPE_CHECKING:
    from xmltools.models.conversation import Conversation
    from xmltools.models.media import Media
    from xmltools.models.message import Content, Message, Role
    from xmltools.models.reply import Reply
    from xmltools.models.results import Part, ToolResult

__all__ = [
    "BUILD_LATE",
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

# Each of these takes pydantic about a millisecond to make, and a parser makes only calls.
__getattr__ = on_first_use(
    __name__,
    {
        "Content": "message",
        "Conversation": "conversation",
        "Media": "media",
        "Message": "message",
        "Part": "results",
        "Reply": "reply",
        "Role": "message",
        "ToolResult": "results",
    },
)
