"""A pydantic-ai model that gives tool calling to one that has none.

    from pydantic_ai import Agent
    from xmltools.integrations.pydantic_ai import ToolCallingModel

    agent = Agent(ToolCallingModel("ollama:gemma3"), tools=[weather])

Tools and output tools become instructions in the prompt, calls, results and retries in the history become text, and
calls that the model writes in its reply become `ToolCallPart`s. A call that is rejected is sent back to the model with
what was wrong, as often as the settings say; if it is rejected for good, the text says in words that it was not made,
the response's `metadata` has it under `failed_calls`, and no agent runs it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings, errors_as
from xmltools.proxy.bridge import AddedFields, Settings

try:
    from pydantic_ai.models.wrapper import WrapperModel
except ImportError:
    raise ImportError(
        f"xmltools.integrations.pydantic_ai needs pydantic-ai-slim 2.31 or later: {install_line('pydantic-ai')}"
    ) from None

from pydantic_ai import RunContext
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import KnownModelName, Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings, ToolOrOutput
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

__all__ = ["ToolCallingModel"]

_SEEN_TO_HERE = ("tool_choice", "parallel_tool_calls", "stop_sequences")
"""Settings that the wrapped model hears nothing of."""
_HELD = "xmltools_held"
"""The type of a part of a message that is put back as it was, such as an image."""


class ToolCallingModel(WrapperModel):
    """A model with tool calling, over one that only writes text.

    Takes any model of pydantic-ai, or the name of one. `calling` are the settings of `xmltools.bridge`: the dialect in
    which the model writes calls ("auto": that of the model by its name), how often a rejected call is sent back to it
    (`retries`), and others; those that only a server can do something with are refused.

    Text streams as it is written; a call is one event, when it is complete and right. Tokens of all tries are added up
    in `usage`, but for those of a stream that was left because its call was rejected. Requests without tools, and
    without calls in the history, go to the wrapped model as they are.

    Asking it raises what the wrapped model raises, XMLToolsError for tools or messages that can't be written, and
    UnexpectedModelBehavior where a call was required and the model made none.
    """

    calling: Settings

    def __init__(self, wrapped: Model | KnownModelName, *, calling: Settings | None = None) -> None:
        super().__init__(wrapped)
        self.calling = check_settings(calling)
        self.added = AddedFields()

    # What it can do: tools of ours, and nothing that a provider does for tools.

    @property
    def profile(self) -> ModelProfile:
        """What is known of the wrapped model, but that it knows no tools."""
        ours = ModelProfile(
            supports_tools=True,
            supports_tool_return_schema=False,
            default_structured_output_mode="tool",
            json_schema_transformer=None,
            supported_native_tools=frozenset(),
            tool_deferral_mode=None,
            tool_addition_mode=None,
        )
        return ModelProfile(**{**self.wrapped.profile, **ours})

    @classmethod
    def supported_native_tools(cls) -> frozenset[type[Any]]:
        """Return the tools of providers that can be used, which are none."""
        return frozenset()

    customize_request_parameters = Model.customize_request_parameters
    prepare_request = Model.prepare_request
    prepare_messages = Model.prepare_messages

    # Requests

    async def request(self, *given: Any, **named: Any) -> ModelResponse:
        """Ask the wrapped model, as often as it takes; return its reply with the calls that it wrote."""
        [reply] = [each async for each in _Asked(self, *given, **named).run_later(self.wrapped.request)]
        return reply

    @asynccontextmanager
    async def request_stream(self, *given: Any, **named: Any) -> AsyncGenerator[StreamedResponse]:
        """Ask the wrapped model; give the stream of what it says, with the calls that it writes."""
        asked = _Asked(self, *given, **named, stream=True)
        async with AsyncExitStack() as turns:

            async def ask(**turn: Any) -> StreamedResponse:
                await turns.aclose()
                return await turns.enter_async_context(self.wrapped.request_stream(**turn))

            stream = await ask(**asked.turn())
            yield stream if asked.plain else _Stream(asked.parameters, asked, ask, stream)

    async def count_tokens(self, *given: Any, **named: Any) -> RequestUsage:
        """Return what the wrapped model counts for what it would be asked."""
        return await self.wrapped.count_tokens(**_Asked(self, *given, **named).turn())


class _Asked(ToolRequest):
    """A request, how the wrapped model is asked, and what becomes of its responses."""

    def __init__(
        self,
        model: ToolCallingModel,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
        *,
        stream: bool = False,
    ) -> None:
        self._given = messages, model_settings, model_request_parameters
        self._streamed = {"run_context": run_context} if stream else {}
        self._used = RequestUsage()
        prepared, parameters = model.prepare_request(model_settings, model_request_parameters)
        self.parameters, settings = parameters, prepared or {}
        failed: set[str] = set()
        written = [each for message in messages for each in _written(message, failed)]
        begun = next((at for at, each in enumerate(written) if each["role"] != "system"), len(written))
        instructions = model._get_instruction_parts(messages, parameters) or ()
        written[begun:begun] = [{"role": "system", "content": each.content} for each in instructions]
        tools = [*parameters.declared_function_tools, *parameters.output_tools]
        body = {
            "model": model.model_name or "none",
            "messages": written,
            "tools": [_definition(tool) for tool in tools],
            "tool_choice": _choice(settings.get("tool_choice"), parameters) if tools else None,
            "parallel_tool_calls": settings.get("parallel_tool_calls"),
            "response_format": {"type": "json_schema"} if parameters.output_mode == "native" else None,
            "stop": settings.get("stop_sequences") or None,
            "stream": stream,
        }
        super().__init__(body, model.calling, failed, model.added)

    hear = errors_as(lambda error: UnexpectedModelBehavior(str(error)))(ToolRequest.hear)

    def turn(self) -> dict[str, Any]:
        messages, settings, parameters = self._given
        if plain := self.asked:
            messages, parameters = _read(plain["messages"]), ModelRequestParameters()
            settings = {name: value for name, value in (settings or {}).items() if name not in _SEEN_TO_HERE}
            settings = settings | ({"stop_sequences": plain["stop"]} if "stop" in plain else {}) or None
        return {
            "messages": messages,
            "model_settings": settings,
            "model_request_parameters": parameters,
            **self._streamed,
        }

    def read(self, said: ModelResponse | ModelResponseStreamEvent) -> dict[str, Any]:
        if not isinstance(said, ModelResponse):
            return _delta(said)
        self._reply, self.reason = said, said.finish_reason
        self._used += said.usage
        return _message(said.parts)

    def whole(self, piece: Piece) -> ModelResponse:
        thoughts = [ThinkingPart(piece.reasoning)] if piece.reasoning else []
        text = [TextPart(piece.text)] if piece.text else []
        functions = [(call["function"], call["id"]) for call in piece.calls]
        return replace(
            self._reply,
            parts=[*thoughts, *text, *(ToolCallPart(each["name"], each["arguments"], id) for each, id in functions)],
            usage=self._used,
            finish_reason=_REASONS.get(piece.finish_reason, "stop"),
            metadata=self.metadata(self._reply.metadata),
        )

    def metadata(self, own: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the metadata of a reply, with what was not called."""
        return {**(own or {}), **self.failed_calls} or own


_REASONS: dict[str | None, FinishReason] = {
    "tool_calls": "tool_call",
    "length": "length",
    "content_filter": "content_filter",
    "error": "error",
}


def _definition(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


def _choice(given: Any, parameters: ModelRequestParameters) -> str | dict[str, Any]:
    """Return which tools may or must be called, as chat completions have it. What is given is about function tools; the
    answer may be by an output tool in any case, if there is one."""
    mode = "auto" if parameters.allow_text_output else "required"
    output = [tool.name for tool in parameters.output_tools]
    if given in (None, "auto", "required"):
        return given if given == "required" else mode
    if isinstance(given, ToolOrOutput):
        names = [*given.function_tools, *output]
    elif given in ("none", []):
        names = output
    else:
        mode, names = "required", given
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}} if names else "none"


# Messages


def _written(message: ModelMessage, failed: set[str]) -> Iterator[dict[str, Any]]:
    """Yield what a message is in the form of chat completions; add the ids of calls whose results are errors."""
    if isinstance(message, ModelResponse):
        yield {"role": "assistant", **_message(message.parts)}
        return
    files: list[UserContent] = []
    for part in message.parts:
        match part:
            case SystemPromptPart():
                yield {"role": "system", "content": part.content}
            case UserPromptPart():
                yield {"role": "user", "content": _content(part.content)}
            case RetryPromptPart(tool_name=None):
                yield {"role": "user", "content": part.model_response()}
            case ToolReturnPart() | RetryPromptPart():
                if isinstance(part, ToolReturnPart):
                    text, attached = part.model_response_str_and_user_content(wrap_if_error=False)
                    files += attached
                else:
                    text = part.model_response()
                if getattr(part, "outcome", "failed") in ("failed", "retried"):
                    failed.add(part.tool_call_id)
                yield {"role": "tool", "tool_call_id": part.tool_call_id, "name": part.tool_name, "content": text}
            case _:
                raise XMLToolsError(f"messages: a part of the kind {part.part_kind!r} can't be told to the model")
    if files:
        yield {"role": "user", "content": _content(files)}


def _content(content: str | Sequence[UserContent]) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return [
        {"type": "text", "text": getattr(each, "content", each)}
        if isinstance(each, (str, TextContent))
        else {"type": _HELD, _HELD: each}
        for each in content
    ]


def _read(written: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
    """Return what the model is asked, of messages that are plain."""
    return [
        ModelResponse([TextPart(each["content"]) for each in run])
        if is_reply
        else ModelRequest([_prompt(**each) for each in run])
        for is_reply, run in groupby(written, lambda each: each["role"] == "assistant")
    ]


def _prompt(role: str, content: Any) -> SystemPromptPart | UserPromptPart:
    if role == "system":
        return SystemPromptPart(content)
    is_text = isinstance(content, str)
    return UserPromptPart(content if is_text else [part.get(_HELD, part.get("text")) for part in content])


def _message(parts: Sequence[ModelResponsePart]) -> dict[str, Any]:
    """Return a reply as chat completions have it."""
    return {
        "content": "".join(part.content for part in parts if isinstance(part, TextPart)),
        "reasoning_content": "".join(part.content for part in parts if isinstance(part, ThinkingPart)),
        "tool_calls": [_call(at, part) for at, part in enumerate(parts) if isinstance(part, ToolCallPart)],
    }


def _call(index: int, part: ToolCallPart) -> dict[str, Any]:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"index": index, "id": part.tool_call_id, "type": "function", "function": function}


# Streams


@dataclass
class _Stream(StreamedResponse):
    """What the wrapped model says, in one turn or several; `_ask` asks it."""

    _asked: _Asked
    _ask: Callable[..., Awaitable[StreamedResponse]]
    _inner: StreamedResponse
    _before: RequestUsage = field(default_factory=RequestUsage)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for piece in self._asked.run_later(self._again, self._turn()):
            for event in self._events(piece):
                yield event
        self.state = self._inner.state
        self.provider_response_id = self._inner.provider_response_id
        self.provider_details = self._inner.provider_details
        self.metadata = self._asked.metadata(self._inner.metadata)

    async def _again(self, **turn: Any) -> AsyncIterator[ModelResponseStreamEvent]:
        self._before += self._inner.usage
        self._inner = await self._ask(**turn)
        return self._turn()

    async def _turn(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self._inner:
            yield event
        self._asked.reason = self._inner.finish_reason

    def _events(self, piece: Piece) -> Iterator[ModelResponseStreamEvent]:
        parts = self._parts_manager
        if piece.reasoning:
            yield from parts.handle_thinking_delta(vendor_part_id=None, content=piece.reasoning)
        if piece.text:
            yield from parts.handle_text_delta(vendor_part_id=None, content=piece.text)
        for call in piece.calls:
            function = call["function"]
            event = parts.handle_tool_call_delta(
                vendor_part_id=call["index"],
                tool_name=function.get("name"),
                args=function.get("arguments"),
                tool_call_id=call.get("id"),
            )
            if event is not None:
                yield event
        if piece.finish_reason:
            self.finish_reason = _REASONS.get(piece.finish_reason, "stop")

    @property
    def usage(self) -> RequestUsage:
        return self._before + self._inner.usage

    close_stream = property(attrgetter("_inner.close_stream"))
    get_stream_cancel_errors = property(attrgetter("_inner.get_stream_cancel_errors"))
    model_name = property(attrgetter("_inner.model_name"))
    provider_name = property(attrgetter("_inner.provider_name"))
    provider_url = property(attrgetter("_inner.provider_url"))
    timestamp = property(attrgetter("_inner.timestamp"))


def _delta(event: ModelResponseStreamEvent) -> dict[str, Any]:
    """Return an event of the wrapped model's stream as chat completions have it."""
    match event:
        case PartStartEvent(part=ToolCallPart() as part):
            call = _call(event.index, part)
            return {"tool_calls": [call if part.args else {**call, "function": {"name": part.tool_name}}]}
        case PartStartEvent(part=part):
            return _message([part])
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return {"content": text}
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)):
            return {"reasoning_content": text}
        case PartDeltaEvent(delta=ToolCallPartDelta(args_delta=args)):
            return {"tool_calls": [{"index": event.index, "function": {"arguments": args}}]}
    return {}
