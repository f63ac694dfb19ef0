"""Wick: the message chain of an agent framework in Go, as the JSON of its structs.

    [{"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "ls", "args": {"path": "/"}}]},
     {"role": "tool", "content": "a.py", "tool_call_id": "c", "name": "ls"}]

- The roles are ours. `content` is always there; `tool_calls`, `tool_call_id` and `name` only if they are not empty.
- The texts of a message are one string, its calls come after them: what stood between calls comes first.
- Each result is a message of its own, with the id and the name of its call, and a string as content.
- Arguments are an object, or null, which is remembered. The text that the model wrote them in, `raw_args`, counts for
  tokens and is kept with the call, but never written: Go leaves it out of the JSON.
- That a result is an error, reasoning, servers, media and times have no place.
- A stored state, {"thread_id", "messages", "todos", "files"}, is a conversation too: what stands beside the messages is
  kept in its `extra["wick"]`, and written again.

So a conversation comes back equal if its messages have one text at most, in front of the calls, and one result each.
Keys that are not Wick's are kept in `extra["wick"]` of message and call, and written again after the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xmltools.formats.shared.api_values import arguments_text
from xmltools.formats.shared.extra import kept_for
from xmltools.formats.shared.losses import Holds, Report
from xmltools.formats.wick.calls import NAME, raw_args_of, read_call
from xmltools.formats.wick.go_values import json_text
from xmltools.formats.wick.inspection import (
    estimate_tokens,
    last,
    last_content,
    pretty,
    test_endpoint,
    user_input,
    user_input_role,
    valid_role,
    validate,
    validate_first,
    validate_user_input,
    validate_user_input_first,
)
from xmltools.formats.wick.messages import RESULT_NOTE, read, write_whole
from xmltools.formats.wick.state import AgentState, ToolResult
from xmltools.models import Conversation, Message, ToolCall
from xmltools.models.conversation import checked_conversation

__all__ = [
    "GROUPED",
    "HOLDS",
    "NAME",
    "ROLE_ASSISTANT",
    "ROLE_SYSTEM",
    "ROLE_TOOL",
    "ROLE_USER",
    "SPELLING",
    "AgentState",
    "ToolResult",
    "ai",
    "arguments_json",
    "dump",
    "estimate_tokens",
    "human",
    "last",
    "last_content",
    "load",
    "pretty",
    "recognise",
    "system",
    "test_endpoint",
    "tool_msg",
    "user_input",
    "user_input_role",
    "valid_role",
    "validate",
    "validate_first",
    "validate_user_input",
    "validate_user_input_first",
    "with_raw_args",
]

ROLE_SYSTEM = "system"
ROLE_USER = "user"
ROLE_ASSISTANT = "assistant"
ROLE_TOOL = "tool"

HOLDS = Holds(order=False)
"""What a conversation in this format can say."""
SPELLING = frozenset(("args", "raw_args", RESULT_NOTE))
"""Keys of its `extra` that only say how something was spelled."""
GROUPED = False
"""Each result stands in a message of its own."""


def load(obj: Any, report: Report) -> Conversation:
    """Read a list of Wick's messages, or a stored state with such a list (see AgentState).

    Takes dicts, or objects with `model_dump`. What is missing is read as empty, as Go does, and reported. Raises
    XMLToolsError for an unknown role and for values of a wrong type.
    """
    return read(obj, report)


def dump(conversation: Conversation, report: Report) -> Any:
    """Write a conversation as a list of Wick's messages, or as the state that it was read from. Results in the wrong
    place get messages of their own."""
    return write_whole(conversation, report)


def recognise(obj: Any) -> bool:
    """Return whether a message of the list has calls of the form {id, name, args}, which no other format has, or
    whether this is a stored state."""
    if isinstance(obj, Mapping):
        # Go writes null for no messages at all.
        messages = obj.get("messages", False)
        return isinstance(obj.get("thread_id"), str) and (messages is None or isinstance(messages, (list, tuple)))
    if not isinstance(obj, (list, tuple)):
        return False
    return any(_has_wick_calls(message) for message in obj if isinstance(message, Mapping))


def _has_wick_calls(message: Mapping[str, Any]) -> bool:
    calls = message.get("tool_calls")
    if not isinstance(calls, (list, tuple)) or not isinstance(message.get("role"), str):
        return False
    return any(isinstance(call, Mapping) and {"id", "name", "args"} <= call.keys() for call in calls)


# Constructors


def human(content: str) -> Message:
    """Make a message of the user."""
    return Message.user(content)


def system(content: str) -> Message:
    """Make a system message."""
    return Message.system(content)


def ai(content: str, *calls: ToolCall | Mapping[str, Any]) -> Message:
    """Make a reply. Takes its text and its calls, also as Wick's {id, name, args}; raises XMLToolsError for others."""
    made = [
        call if isinstance(call, ToolCall) else read_call(call, f"call {number}", Report(strict=True))
        for number, call in enumerate(calls)
    ]
    return Message.assistant(content, made)


def tool_msg(call_id: str, name: str, output: str) -> Message:
    """Make a message with the result of a call."""
    return Message.tool(call_id, name, output)


def arguments_json(arguments: Mapping[str, Any] | None) -> str:
    """Return arguments as Go writes them into JSON: compact, keys sorted, `<`, `>` and `&` as `\\u003c` and so on.

    None is `null`. Raises XMLToolsError for values that are no JSON.
    """
    return json_text(arguments)


def with_raw_args(conversation: Conversation) -> Conversation:
    """Return the conversation with the `raw_args` of each call that has none, so that its arguments count as tokens.

    For a conversation that was read from OpenAI's API this is the argument text as it came; for others it is the JSON
    that OpenAI's API would get. Raises XMLToolsError for anything else than a conversation.
    """
    return checked_conversation(conversation).with_messages(
        message.model_copy(update={"parts": tuple(map(_with_raw_args, message.parts))})
        for message in conversation.messages
    )


def _with_raw_args(part: Any) -> Any:
    if not isinstance(part, ToolCall) or raw_args_of(part):
        return part
    own = kept_for(part, NAME) | {"raw_args": arguments_text(part, "openai", Report(), 0)}
    return part.model_copy(update={"extra": {**part.extra, NAME: own}})
