"""Clawtools: messages of the user, the assistant and tools ("toolResult"), whose content is text or typed blocks.

A `text` block is a Text, `thinking` a Reasoning, `toolCall` a ToolCall, `image_url` and `image` a Media; a message of
the role "toolResult" is a message of the role "tool" with one ToolResult. The system prompt stands outside of the
messages: with one, a conversation is {"systemPrompt": "…", "messages": […]}, without one it is the list of messages.

Normal form, which is what `load` returns: each result in a message of its own; one system message, the first; no
empty texts; a result whose content is one text has it as a string. Content that is one text is written as a string,
a reply without content as null, and all other content as blocks. Media of the user are `image_url` blocks (a `data:`
URL, if they are data), those of results `image` blocks. What was spelled otherwise is written again as it was.

What was written for OpenAI or Anthropic by mistake is repaired, with an issue whose hint shows the right form:
`openai_tool_role`, `anthropic_tool_result`, `anthropic_tool_use` and `openai_tool_calls`; `strict` refuses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xmltools.errors import Issue, XMLToolsError
from xmltools.formats.clawtools.blocks import NAME, interleave, unknown_blocks, write_block
from xmltools.formats.clawtools.reading import Reader, usual_shape
from xmltools.formats.clawtools.types import (
    AssistantMessage,
    ConversationMessage,
    ImageBlock,
    ImageUrl,
    ImageUrlBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultMessage,
    UserMessage,
)
from xmltools.formats.shared.extra import answered, at, completed, extra_of, kept_for, plain, rest
from xmltools.formats.shared.losses import WORDS, Holds, Report
from xmltools.models import Conversation, Message, Text, ToolResult
from xmltools.models.json_fields import expect, fail

__all__ = [
    "GROUPED",
    "HOLDS",
    "NAME",
    "SPELLING",
    "AssistantMessage",
    "ConversationMessage",
    "ImageBlock",
    "ImageUrl",
    "ImageUrlBlock",
    "TextBlock",
    "ThinkingBlock",
    "ToolCallBlock",
    "ToolResultMessage",
    "UserMessage",
    "check",
    "dump",
    "load",
    "recognise",
]

HOLDS = Holds(texts=True, media=True, result_texts=True, result_media=True, error_flag=True, reasoning=True)
"""What a conversation in this format can say."""
SPELLING = frozenset(("arguments", "type", "details"))
"""Keys of its `extra` that only say how something was spelled; and `details`, which are "passed through, not shown to
the LLM": no other format need say them."""
GROUPED = False
"""Each result stands in a message of its own."""

_RIGHT = 'a list of messages, or {"systemPrompt": "…", "messages": […]}'


# Reading


def load(obj: Any, report: Report) -> Conversation:
    """Read a list of messages, or an object that has them under "messages".

    Raises XMLToolsError for what is malformed, with the place and the right form.
    """
    source = plain(obj)
    reader = Reader(report)
    messages = _read_prompt(source)
    for index, each in enumerate(_messages_of(source)):
        with at(f"message {index}: "):
            messages += reader.read(index, each)
    return Conversation(messages=answered(messages), extra=_read_context(source))


def check(messages: Any) -> list[Issue]:
    """Return the mistakes in messages, which are as for `load`: what that would repair, and "malformed" for the rest.

    Raises XMLToolsError if these are no messages at all.
    """
    report = Report()
    reader = Reader(report)
    for index, each in enumerate(_messages_of(plain(messages))):
        try:
            reader.read(index, each)
        except XMLToolsError as error:
            report.add("malformed", str(error), index)
    return report.issues


def _messages_of(source: Any) -> Sequence[Any]:
    if isinstance(source, Mapping):
        if "messages" not in source:
            fail("clawtools", _RIGHT, source)
        source = source["messages"]
    found: Sequence[Any] = expect(source, (list, tuple), "clawtools", _RIGHT)
    return found


def _read_prompt(source: Any) -> list[Message]:
    prompt = source.get("systemPrompt") if isinstance(source, Mapping) else None
    if prompt is None:
        return []
    return [Message.system(expect(prompt, str, "systemPrompt", "text"))]


def _read_context(source: Any) -> dict[str, Any]:
    """Return what is kept of an object around the messages."""
    if not isinstance(source, Mapping):
        return {}
    if source.get("systemPrompt") is not None:
        return extra_of(NAME, rest(source, ("systemPrompt", "messages")))
    return {NAME: rest(source, ("messages",))}  # also if it is empty: there was an object


# Writing


def dump(conversation: Conversation, report: Report) -> Any:
    """Write a conversation: a list of messages, or an object with that and the system prompt, if there is one."""
    prompts = [(index, each) for index, each in enumerate(conversation) if each.is_system]
    messages: list[dict[str, Any]] = []
    for index, message in enumerate(conversation):
        if not message.is_system:
            messages += _write_message(message, report, index)
    context = {"systemPrompt": _write_prompt(prompts, report)} if prompts else {}
    if not prompts and NAME not in conversation.extra:
        return messages
    return completed({**context, "messages": messages}, kept_for(conversation, NAME))


def _write_prompt(prompts: list[tuple[int, Message]], report: Report) -> str:
    for place, (index, message) in enumerate(prompts):
        if place:
            report.add("system_joined", "there is one system prompt: this is joined to it, after an empty line", index)
        if place != index:
            report.add("system_moved", "the system prompt stands before all messages", index)
        if any(not isinstance(part, Text) for part in message.parts):
            report.add("misplaced_part", "what is no text is left out of the system prompt", index)
        if sum(isinstance(part, Text) and part.text != "" for part in message.parts) > 1:
            report.add("texts", f"the system prompt of {NAME} cannot hold {WORDS['texts']}", index)
    return "\n\n".join(message.text for _, message in prompts if message.text)


def _write_message(message: Message, report: Report, index: int) -> list[dict[str, Any]]:
    written = [_write_result(result, report, index) for result in message.results]
    if message.is_tool:
        if len(written) < len(message.parts):
            report.add("misplaced_part", "what is no result is left out of a message with results", index)
        elif not written:
            report.add("empty_message", "a message without results is left out", index)
        return written
    if written:
        report.add("misplaced_part", "results come before the message, in messages of their own", index)
        if len(written) == len(message.parts):
            return written
    return [*written, _write_turn(message, report, index)]


def _write_turn(message: Message, report: Report, index: int) -> dict[str, Any]:
    own = kept_for(message, NAME)
    parts = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    return completed({"role": message.role, "content": _write_content(message.role, parts, own, report, index)}, own)


def _write_content(role: str, parts: tuple[Any, ...], own: Mapping[str, Any], report: Report, index: int) -> Any:
    unknown = unknown_blocks(own)
    shape = "blocks" if unknown else _shape(role, parts, own)
    if shape == "null":
        return None
    if shape == "string":
        return parts[0].text if parts else ""
    return interleave(_each(parts, "image_url", report, index), unknown)


def _shape(role: str, parts: tuple[Any, ...], own: Mapping[str, Any]) -> str:
    """Return the shape in which the content was read, if it can still have that; else the usual one."""
    usual = usual_shape(role, parts)
    content = own.get("content")
    shape = content.get("as") if isinstance(content, Mapping) else None
    if shape == "blocks" or (shape in ("string", "null") and not parts):
        return str(shape)
    return usual


def _each(parts: Iterable[Any], medium: str, report: Report, index: int) -> list[dict[str, Any]]:
    return [block for part in parts for block in write_block(part, medium, report, index)]


def _write_result(result: ToolResult, report: Report, index: int) -> dict[str, Any]:
    own = kept_for(result, NAME)
    parts = (Text(text=result.content),) if isinstance(result.content, str) else result.content
    blocks = _each(parts, "image", report, index)
    message = {
        "role": "toolResult",
        "toolCallId": result.call_id,
        "toolName": result.name,
        "content": interleave(blocks, unknown_blocks(own)),
        "isError": result.is_error,
    }
    return completed(message, own)


# Recognising


def recognise(obj: Any) -> bool:
    """Say whether an object bears marks of Clawtools: its system prompt, a toolResult message, a toolCall block."""
    if isinstance(obj, Mapping):
        return ("systemPrompt" in obj and "messages" in obj) or recognise(obj.get("messages"))
    return isinstance(obj, (list, tuple)) and any(isinstance(each, Mapping) and _is_marked(each) for each in obj)


def _is_marked(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if message.get("role") == "toolResult":
        return True
    return isinstance(content, list) and any(isinstance(each, Mapping) and _is_own(each) for each in content)


def _is_own(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    return kind == "toolCall" or "thinkingSignature" in block or (kind == "image" and "mimeType" in block)
