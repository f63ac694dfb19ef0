"""The request for the upstream. All of it is text, for a model that knows neither tools nor results; for one with a
dialect of its own, tools, calls and results are as chat completions have them, and its chat template writes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from xmltools import formats
from xmltools.conversations.transcript import inline
from xmltools.dialects import FORGE
from xmltools.errors import XMLToolsError
from xmltools.models import Conversation, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.requests.incoming import Incoming
from xmltools.proxy.bridge.settings import Settings
from xmltools.render import render_instructions
from xmltools.tools import Tool

_HEADER = re.compile(r"^(?=Tool: [^\n]*\n(?:Result|Error): )", re.MULTILINE)


class Turn(NamedTuple):
    """What a request asks the model, as data for a model in the same process, which reads no prompt: the tools that may
    be called, and the conversation as the client sent it.

    `must_call`: an answer without a call is not enough. `is_retry`: the reply before this one was sent back.
    """

    tools: Sequence[Tool]
    conversation: Conversation
    must_call: bool = False
    is_retry: bool = False


def upstream_messages(incoming: Incoming, tools: list[Tool], settings: Settings) -> list[dict[str, Any]]:
    """Return the messages for the upstream: `tools` are instructions in the system prompt, calls and results are text.
    With a dialect of the model's own they are what chat completions have for them, but for reasoning.

    Raises Refusal for a conversation that can't be written so.
    """
    if settings.is_native:
        return _dumped([_without_reasoning(each) for each in _in_order(incoming.conversation)], incoming)
    try:
        plain = inline(
            _in_order(_defused(incoming.conversation)),
            incoming.tools,
            result_role=settings.result_role,
            reasoning=False,
            exact=False,
            server_names=settings.server_names,
        )
        instructions = _instructions(incoming, tools, settings)
    except XMLToolsError as error:
        raise Refusal(f"{incoming.said_in}: {error}", param=incoming.said_in) from None
    return _dumped(_with_instructions(list(plain), instructions), incoming)


def _dumped(messages: list[Message], incoming: Incoming) -> list[dict[str, Any]]:
    # What the client's format has beside the text is about calls that are text now, or another format's.
    bare = tuple(each.model_copy(update={"extra": {}}) if each.role != "user" else each for each in messages)
    try:
        written: list[dict[str, Any]] = formats.dump(Conversation(messages=bare), "openai", issues=[])
    except XMLToolsError as error:
        raise Refusal(f"{incoming.said_in}: {error}", param=incoming.said_in) from None
    return _merged(written)


def _without_reasoning(message: Message) -> Message:
    """Return a message without reasoning, and with its calls as functions, whatever kind the client has for them."""
    parts = (
        part.model_copy(update={"extra": {}}) if isinstance(part, ToolCall | ToolResult) else part
        for part in message.parts
        if not isinstance(part, Reasoning)
    )
    return message.model_copy(update={"parts": tuple(parts)})


def _defused(conversation: Conversation) -> Conversation:
    """Return the conversation with a space in front of what would be a result's header in the words of a user: they may
    come to stand in one message with results."""
    messages = (
        message.model_copy(update={"parts": tuple(map(_without_headers, message.parts))})
        if message.role == "user" and any(isinstance(part, Text) and "Tool: " in part.text for part in message.parts)
        else message
        for message in conversation
    )
    return conversation.model_copy(update={"messages": tuple(messages)})


def _in_order(conversation: Conversation) -> Conversation:
    """Return the conversation with the results of a turn in the order of its calls.

    Clients that run calls at once send results as they come. As text they have no ids, so two of one tool would be
    mistaken for each other.
    """
    messages = list(conversation)
    places: dict[str, int] = {}
    for number, message in enumerate(messages):
        if message.role == "assistant":
            places = {part.id: place for place, part in enumerate(message.parts) if isinstance(part, ToolCall)}
        if message.role != "tool" or (number and messages[number - 1].role == "tool"):
            continue
        end = next((at for at in range(number, len(messages)) if messages[at].role != "tool"), len(messages))
        results = [part for each in messages[number:end] for part in each.parts if isinstance(part, ToolResult)]
        ordered = iter(sorted(results, key=lambda result: places.get(result.call_id, len(places))))
        for at in range(number, end):
            parts = tuple(next(ordered) if isinstance(part, ToolResult) else part for part in messages[at].parts)
            messages[at] = messages[at].model_copy(update={"parts": parts})
    return conversation.with_messages(messages)


def _without_headers(part: Part) -> Part:
    return part.model_copy(update={"text": _HEADER.sub(" ", part.text)}) if isinstance(part, Text) else part


def _instructions(incoming: Incoming, tools: list[Tool], settings: Settings) -> str:
    if not tools:
        return ""
    required = incoming.choice.mode == "required"
    return render_instructions(
        tools,
        style=settings.style,
        parallel_tool_calls=incoming.parallel and not incoming.choice.named,
        tool_choice="required" if required else "auto",
        server_names=settings.server_names,
    )


def _with_instructions(messages: list[Message], instructions: str) -> list[Message]:
    if not instructions:
        return messages
    for number, message in enumerate(messages):
        if message.role == "system":
            own = message.text.rstrip()
            text = f"{own}\n\n{instructions}" if own else instructions
            changed = message.model_copy(update={"parts": (Text(text=text),)})
            return [*messages[:number], changed, *messages[number + 1 :]]
    return [Message.system(instructions), *messages]


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with neighbours of one role joined, as many chat templates want them."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        last = merged[-1] if merged else {}
        texts = isinstance(last.get("content"), str) and isinstance(message.get("content"), str)
        if texts and last["role"] == message["role"] and last.keys() == message.keys() == {"role", "content"}:
            merged[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged


def upstream_body(
    incoming: Incoming, tools: list[Tool], settings: Settings, messages: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the whole body of the request for the upstream."""
    body: dict[str, Any] = {"model": incoming.model, "messages": messages, **incoming.fields, "stream": incoming.stream}
    if incoming.choices > 1:
        body["n"] = incoming.choices
    if incoming.stream:
        body["stream_options"] = {"include_usage": True}
    if incoming.stop and not tools:
        body["stop"] = list(incoming.stop)  # with tools we look for them ourselves: they must not cut a call
    if settings.is_native and tools:
        body["tools"] = [_definition(tool) for tool in tools]
        if settings.upstream_tool_choice == "none":
            body["tool_choice"] = "none"
            body.setdefault("skip_special_tokens", False)  # models may spell calls with them
        elif incoming.choice.mode == "required":
            body["tool_choice"] = "required"
    if settings.engine is not None and tools:
        body.update(_grammar(incoming, tools, settings.engine))
    return body


def _definition(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _grammar(incoming: Incoming, tools: list[Tool], engine: str) -> dict[str, Any]:
    from xmltools.grammar import for_engine

    required = incoming.choice.mode == "required"
    # A model that thinks in its text may begin with that; one that doesn't need not.
    options: dict[str, Any] = {"reasoning": FORGE.reasoning[0]}
    if required:
        options["tool_choice"] = "required"
    if not incoming.parallel or incoming.choice.named:
        options["max_calls"] = 1
    fields: dict[str, Any] = for_engine(engine, tools, **options)
    return fields
