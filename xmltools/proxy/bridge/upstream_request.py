"""The request for the upstream. All of it is text, in the dialect of the model; or tools, calls and results are as chat
completions have them, and the chat template of the upstream writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from xmltools import formats
from xmltools.conversations.transcript import inline
from xmltools.conversations.transcript.turns import in_order_of_calls
from xmltools.dialects import FORGE, named
from xmltools.errors import XMLToolsError
from xmltools.formats.shared.extra import kept_for
from xmltools.models import Conversation, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.proxy.bridge.added_fields import SPECIAL_TOKENS
from xmltools.proxy.bridge.client_errors import Refusal
from xmltools.proxy.bridge.dialect_ids import DialectIds
from xmltools.proxy.bridge.requests.incoming import Incoming
from xmltools.proxy.bridge.result_marks import begins_result
from xmltools.proxy.bridge.settings import Settings
from xmltools.render import ENGLISH, render_instructions
from xmltools.render.marks import Marks, marks_beside, marks_in_calls, turn_marks
from xmltools.render.prompt_sentences import neutral_line
from xmltools.render.writable import refuse_foreign
from xmltools.tools import Tool
from xmltools.tools.schema import find_problems


class Turn(NamedTuple):
    """What a request asks the model, as data for a model in the same process, which reads no prompt: the tools that may
    be called, and the conversation as the client sent it.

    `must_call`: an answer without a call is not enough. `is_retry`: the reply before this one was sent back. `dialect`
    is the name of the one in which calls are to be written.
    """

    tools: Sequence[Tool]
    conversation: Conversation
    must_call: bool = False
    is_retry: bool = False
    dialect: str = FORGE.name


def upstream_messages(
    incoming: Incoming, tools: list[Tool], settings: Settings, thinks_in: str | None = None
) -> list[dict[str, Any]]:
    """Return the messages for the upstream: `tools` are instructions in the system prompt, calls and results are text.
    If the upstream writes the prompt, they are what chat completions have for them.

    Reasoning since the last question is sent back to a model that reasons (`thinks_in`, see `Taken`): in the dialect's
    tags or, if the upstream writes the prompt, in the field in which it came.

    Raises Refusal for a conversation or tools that can't be written so.
    """
    conversation = incoming.conversation.with_messages(map(_with_breaks, incoming.conversation))
    conversation = conversation.with_messages(map(_with_names, conversation))
    marks = _marks_of_data(incoming, settings)
    conversation = conversation.with_messages(_escaped(each, marks, settings) for each in conversation)
    conversation = _with_reasoning(conversation, settings, thinks_in)
    if settings.prompt == "upstream":
        ids = DialectIds.of(settings, conversation)
        conversation = ids.written if ids is not None else conversation
        messages = [_as_functions(each) for each in _with_orphans_told(in_order_of_calls(conversation))]
        # An engine that is asked for `required` makes the model write JSON that is in no dialect, or refuses it.
        is_required = bool(tools) and incoming.choice.mode == "required"
        told = "\n\n".join(filter(None, (_more_tools(incoming, tools, settings), ENGLISH.required_call * is_required)))
        return _dumped(_with_instructions(messages, told), incoming)
    try:
        conversation = _without_tokens(conversation, incoming.tools, settings.dialect)
        conversation = _defused(conversation, settings.dialect)
        conversation = conversation.with_messages(in_order_of_calls(conversation))
        plain = inline(
            _written_as_turns(conversation, settings),
            incoming.tools,
            result_role=settings.result_role,
            exact=False,
            server_names=settings.server_names,
            dialect=settings.dialect,
        )
    except XMLToolsError as error:
        if thinks_in is not None:  # which may be what can't be written
            return upstream_messages(incoming, tools, settings)
        raise Refusal(f"{incoming.said_in}: {error}", param=incoming.said_in) from None
    try:
        instructions = _instructions(incoming, tools, settings)
    except XMLToolsError as error:
        raise Refusal(f"tools: {error}", param="tools", code="invalid_tool") from None
    return _dumped(_with_instructions(list(plain), instructions), incoming)


def _dumped(messages: list[Message], incoming: Incoming) -> list[dict[str, Any]]:
    # What the client's format has beside the text is about calls that are text now, or another format's.
    bare = [each.model_copy(update={"extra": {}}) if each.role != "user" else each for each in messages]
    written: list[dict[str, Any]] = []
    try:
        for are_texts, group in groupby(bare, _is_result_as_text):
            given = tuple(each.model_copy(update={"role": "user"}) if are_texts else each for each in group)
            said = formats.dump(Conversation(messages=given), "openai", issues=[])
            written += [{**each, "role": "tool"} for each in said] if are_texts else said
    except XMLToolsError as error:
        raise Refusal(f"{incoming.said_in}: {error}", param=incoming.said_in) from None
    return merged(written)


def _is_result_as_text(message: Message) -> bool:
    """Return whether results are text in a message of a tool. Chat completions have that for nothing but results."""
    return message.role == "tool" and not message.results


def _with_breaks(message: Message) -> Message:
    """Return a message with a line break between two of its texts, which will be one. What the model wrote is joined as
    it is, and what stays a list of parts is left to the chat template."""
    if message.role == "assistant" or (message.role == "user" and "openai" in message.extra):
        return message
    parts = [
        part.model_copy(update={"text": f"{part.text}\n"})
        if isinstance(part, Text) and isinstance(after, Text) and part.text and not part.text.endswith("\n")
        else part
        for part, after in pairwise((*message.parts, None))
    ]
    return message.model_copy(update={"parts": tuple(parts)})


def _with_names(message: Message) -> Message:
    """Return a message with a name for the tool of each result whose call is not there, and tells none."""
    if all(result.name for result in message.results):
        return message
    parts = (
        part.model_copy(update={"name": _UNKNOWN}) if isinstance(part, ToolResult) and not part.name else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": tuple(parts)})


_UNKNOWN = "unknown"


def _marks_of_data(incoming: Incoming, settings: Settings) -> Marks:
    return marks_beside(incoming.tools, named(settings.dialect), closers=True)


def _escaped(message: Message, marks: Marks, settings: Settings) -> Message:
    """Return a message whose data begin no turn, call or result in the prompt that a chat template writes. The words of
    the system stay, and those of users unless the settings ask for it. In our own prompts, all but the words of users
    is escaped where it is written."""

    def changed(part: Part) -> Part:
        part = marks.neutral_value(part)
        if isinstance(part, ToolCall):  # a template may write an argument as it is
            given = {"name": part.name, "arguments": part.arguments}
            part = part.model_copy(update=marks_in_calls(named(settings.dialect)).neutral_value(given))
        return part

    escapes = {"system": False, "user": settings.escape_users}.get(message.role, settings.prompt == "upstream")
    return message.model_copy(
        update={
            "name": marks.neutral_value(message.name),  # some templates write it in the place of a role
            "parts": tuple(map(changed, message.parts)) if escapes else message.parts,
        }
    )


def _with_orphans_told(messages: list[Message]) -> Iterator[Message]:
    """Yield the messages with results whose calls are not there as words of the user: chat completions have no place
    for them, and many chat templates and servers refuse them."""
    known: set[str] = set()
    for message in messages:
        known.update(call.id for call in message.calls)
        own = tuple(result for result in message.results if result.call_id in known)
        if len(own) == len(message.results):
            yield message
            continue
        if own:
            yield message.model_copy(update={"parts": own})
        told: list[Part] = []
        for part in message.parts:
            if not isinstance(part, ToolResult):
                told.append(part)
            elif part.call_id not in known:
                content = (Text(text=part.content),) if isinstance(part.content, str) else part.content
                told += [Text(text=f"Result of the tool {part.name}, whose call is not shown:\n\n"), *content]
        yield Message(role="user", parts=tuple(told))


def _with_reasoning(conversation: Conversation, settings: Settings, thinks_in: str | None) -> Conversation:
    """Return the conversation without the reasoning that is not sent back."""
    dialect = named(settings.dialect)
    has_place = thinks_in if settings.prompt == "upstream" else (dialect.reasoning or dialect.thoughts)
    kept = {"openai": {"key": thinks_in}} if thinks_in is not None and has_place else None
    asked = max((at for at, each in enumerate(conversation) if _is_question(each)), default=-1)
    return conversation.with_messages(
        message.model_copy(update={"parts": tuple(_thoughts(message, kept if at > asked else None))})
        for at, message in enumerate(conversation)
    )


def _is_question(message: Message) -> bool:
    """Return whether a user says something new. Text that comes with results in one message of Anthropic's API does
    not: agents use it to remind the model of something."""
    is_beside_results = kept_for(message, "anthropic").get("content", {}).get("joined")
    return message.role == "user" and not message.results and not is_beside_results


def _thoughts(message: Message, extra: dict[str, Any] | None) -> Iterator[Part]:
    for part in message.parts:
        if not isinstance(part, Reasoning):
            yield part
        elif extra is not None and part.text.strip():
            yield part.model_copy(update={"extra": extra})


def _as_functions(message: Message) -> Message:
    """Return a message with its calls as functions, whatever kind the client has for them."""
    parts = (
        part.model_copy(update={"extra": {}}) if isinstance(part, ToolCall | ToolResult) else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": tuple(parts)})


def _defused(conversation: Conversation, dialect: str) -> Conversation:
    """Return the conversation with a space in front of what would begin a result in the words of a user: they may come
    to stand in one message with results."""
    begins = begins_result(dialect)
    if begins is None:
        return conversation
    messages = (
        message.model_copy(update={"parts": tuple(_without_results(part, begins) for part in message.parts)})
        if message.role == "user" and any(isinstance(part, Text) and begins.search(part.text) for part in message.parts)
        else message
        for message in conversation
    )
    return conversation.model_copy(update={"messages": tuple(messages)})


def _without_tokens(conversation: Conversation, tools: Sequence[Tool], dialect: str) -> Conversation:
    """Return the conversation with references for the tokens of chat templates in the arguments of calls, where the
    dialect has no escapes for them: an engine may take them for what they are called. A value that its tool would not
    take then stays."""
    if named(dialect).has_escapes:
        return conversation
    by_name = {tool.name: tool for tool in tools}
    return conversation.with_messages(
        message.model_copy(update={"parts": tuple(_with_plain_arguments(part, by_name) for part in message.parts)})
        if message.calls
        else message
        for message in conversation
    )


def _with_plain_arguments(part: Part, tools: Mapping[str, Tool]) -> Part:
    if not isinstance(part, ToolCall):
        return part
    refuse_foreign(part.arguments, f"the call of {part.name!r:.80}")
    tool, arguments = tools.get(part.name), turn_marks().neutral_value(part.arguments)
    if arguments == part.arguments or (tool is not None and find_problems(arguments, tool.shape)):
        return part
    return part.model_copy(update={"arguments": arguments})


def _written_as_turns(conversation: Conversation, settings: Settings) -> Conversation:
    """Return the conversation with the results of a turn in one message: dialects have marks around all of them, or
    between two. Forge's has none."""
    if settings.is_forge:
        return conversation
    messages: list[Message] = []
    for message in conversation:
        if messages and all(map(_has_only_results, (messages[-1], message))):
            last = messages.pop()
            message = last.model_copy(update={"parts": (*last.parts, *message.parts)})
        messages.append(message)
    return conversation.with_messages(messages)


def _has_only_results(message: Message) -> bool:
    return message.role == "tool" and all(isinstance(part, ToolResult) for part in message.parts)


def _without_results(part: Part, begins: re.Pattern[str]) -> Part:
    return part.model_copy(update={"text": begins.sub(" ", part.text)}) if isinstance(part, Text) else part


def _instructions(incoming: Incoming, tools: list[Tool], settings: Settings) -> str:
    if not tools:
        return ""
    required = incoming.choice.mode == "required"
    more, deferred = _more_tools(incoming, tools, settings), incoming.deferred(tools)
    instructions = render_instructions(
        [tool for tool in tools if tool not in deferred],
        style=settings.style,
        parallel_tool_calls=incoming.parallel and not incoming.choice.named,
        tool_choice="required" if required else "auto",
        server_names=settings.server_names,
        dialect=settings.dialect,
    )
    return f"{instructions}\n\n{more}" if more else instructions


def _more_tools(incoming: Incoming, tools: list[Tool], settings: Settings) -> str:
    """Return what the model is told of tools that the client defers: a line for each."""
    deferred = incoming.deferred(tools)
    if not deferred:
        return ""
    marks = marks_beside(tools, named(settings.dialect))
    # As JSON, since some dialects' calls begin with no more than a brace.
    abouts = [json.dumps(tool.description.strip().partition("\n")[0][:200], ensure_ascii=False) for tool in deferred]
    lines = (neutral_line(f"- {tool.name}: {about}", marks) for tool, about in zip(deferred, abouts, strict=True))
    return "\n".join([_MORE_TOOLS, *lines])


_MORE_TOOLS = "There are more tools, whose arguments are not listed here. Find out about them before you call one:"


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


def merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with neighbours of one role joined, as many chat templates want them."""
    joined: list[dict[str, Any]] = []
    for message in messages:
        last = joined[-1] if joined else {}
        texts = isinstance(last.get("content"), str) and isinstance(message.get("content"), str)
        if texts and last["role"] == message["role"] and last.keys() == message.keys() == {"role", "content"}:
            joined[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            joined.append(message)
    return joined


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
    if not tools:
        return body
    is_asked_not_to_read = False
    if settings.prompt == "upstream":
        deferred = incoming.deferred(tools)
        marks = _marks_of_data(incoming, settings)
        body["tools"] = [marks.neutral_value(_definition(tool)) for tool in tools if tool not in deferred]
        is_asked_not_to_read = settings.upstream_tool_choice == "none"
        if is_asked_not_to_read:
            body["tool_choice"] = "none"
    if is_asked_not_to_read or not settings.is_forge:
        body.setdefault(SPECIAL_TOKENS, False)  # models may spell calls with them
    if settings.engine is not None:
        body.update(_grammar(incoming, tools, settings.engine, settings.dialect))
    return body


def _definition(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _grammar(incoming: Incoming, tools: list[Tool], engine: str, dialect: str) -> dict[str, Any]:
    from xmltools.grammar import for_engine

    options: dict[str, Any] = {"dialect": dialect}
    # A model that thinks in its text may begin with that. Grammars know no tags with a colon.
    if tag := next(filter(str.isalpha, named(dialect).reasoning), None):
        options["reasoning"] = tag
    if incoming.choice.mode == "required":
        options["tool_choice"] = "required"
    if not incoming.parallel or incoming.choice.named:
        options["max_calls"] = 1
    try:
        fields: dict[str, Any] = for_engine(engine, tools, **options)
    except XMLToolsError as error:
        raise Refusal(f"tools: {error}", param="tools", code="invalid_tool") from None
    return fields
