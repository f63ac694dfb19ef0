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

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings, is_about_tools
from xmltools.proxy.bridge import Settings

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
        if calling is not None and not isinstance(calling, Settings):
            raise XMLToolsError(f"calling: expected Settings of xmltools.bridge, got {type(calling).__name__}")
        super().__init__(wrapped)
        self.calling = check_settings(calling or Settings())

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

    def customize_request_parameters(self, model_request_parameters: ModelRequestParameters) -> ModelRequestParameters:
        """Return the parameters as the profile of this model wants them."""
        return Model.customize_request_parameters(self, model_request_parameters)

    def prepare_request(
        self, model_settings: ModelSettings | None, model_request_parameters: ModelRequestParameters
    ) -> tuple[ModelSettings | None, ModelRequestParameters]:
        """Return settings and parameters as the profile of this model wants them."""
        return Model.prepare_request(self, model_settings, model_request_parameters)

    def prepare_messages(
        self, messages: list[ModelMessage], model_request_parameters: ModelRequestParameters | None = None
    ) -> list[ModelMessage]:
        """Return the messages as the profile of this model wants them."""
        return Model.prepare_messages(self, messages, model_request_parameters)

    # Requests

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Ask the wrapped model, as often as it takes; return its reply with the calls that it wrote."""
        asked = self._asked(messages, model_settings, model_request_parameters, stream=False)
        if asked is None:
            return await self.wrapped.request(messages, model_settings, model_request_parameters)
        usage = RequestUsage()
        while True:
            reply = await self.wrapped.request(asked.messages(), asked.settings(), ModelRequestParameters())
            usage += reply.usage
            with _as_misbehaviour():
                piece = asked.request.whole(_message(reply), _reason(reply.finish_reason))
            if piece is not None:
                break
        ending = _finish_reason(piece.finish_reason)
        metadata = _metadata(asked.request, reply.metadata)
        return replace(reply, parts=_parts(piece), usage=usage, finish_reason=ending, metadata=metadata)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Ask the wrapped model; give the stream of what it says, with the calls that it writes."""
        asked = self._asked(messages, model_settings, model_request_parameters, stream=True)
        if asked is None:
            async with self.wrapped.request_stream(
                messages, model_settings, model_request_parameters, run_context
            ) as stream:
                yield stream
            return

        def again() -> AbstractAsyncContextManager[StreamedResponse]:
            told, settings = asked.messages(), asked.settings()
            return self.wrapped.request_stream(told, settings, ModelRequestParameters(), run_context)

        async with AsyncExitStack() as turns:
            ours = _Stream(asked.parameters, asked.request, again, turns)
            await ours.ask()
            yield ours

    async def count_tokens(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> RequestUsage:
        """Return what the wrapped model counts for what it would be asked."""
        asked = self._asked(messages, model_settings, model_request_parameters, stream=False)
        if asked is None:
            return await self.wrapped.count_tokens(messages, model_settings, model_request_parameters)
        return await self.wrapped.count_tokens(asked.messages(), asked.settings(), ModelRequestParameters())

    def _asked(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        *,
        stream: bool,
    ) -> _Asked | None:
        """Return the request, None if nothing in it is about tools."""
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        history = _History(messages, [each.content for each in self._get_instruction_parts(messages, parameters) or ()])
        tools = [*parameters.declared_function_tools, *parameters.output_tools]
        settings = settings or ModelSettings()
        body = {
            "model": self.model_name or "none",
            "messages": history.written,
            "tools": [_definition(tool) for tool in tools],
            "tool_choice": _choice(settings.get("tool_choice"), parameters) if tools else None,
            "parallel_tool_calls": settings.get("parallel_tool_calls"),
            "response_format": {"type": "json_schema"} if parameters.output_mode == "native" else None,
            "stop": settings.get("stop_sequences") or None,
            "stream": stream,
        }
        if not is_about_tools(body):
            return None
        request = ToolRequest(body, self.calling, failed_results=history.failed)
        return _Asked(request, history, model_settings, parameters)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request, and what the wrapped model is told of it."""

    request: ToolRequest
    history: _History
    given: ModelSettings | None
    parameters: ModelRequestParameters

    def messages(self) -> list[ModelMessage]:
        return self.history.read(self.request.messages)

    def settings(self) -> ModelSettings | None:
        settings = {name: value for name, value in (self.given or {}).items() if name not in _SEEN_TO_HERE}
        if self.request.stop:
            settings["stop_sequences"] = self.request.stop
        return cast(ModelSettings, settings) if settings else None


def _definition(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": function}


def _choice(given: Any, parameters: ModelRequestParameters) -> str | dict[str, Any]:
    """Return which tools may or must be called, as chat completions have it. What is given is about function tools; the
    answer may be by an output tool in any case, if there is one."""
    mode = "auto" if parameters.allow_text_output else "required"
    output = [tool.name for tool in parameters.output_tools]
    if given in (None, "auto"):
        return mode
    if given == "required":
        return "required"
    if isinstance(given, ToolOrOutput):
        names = [*given.function_tools, *output]
    elif given in ("none", []):
        names = output
    else:
        mode, names = "required", list(given)
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}} if names else "none"


# Messages


class _History:
    """Messages in the form of chat completions, and back. What is no text in a prompt is put back as it was."""

    def __init__(self, messages: Sequence[ModelMessage], instructions: Sequence[str]) -> None:
        self._held: list[UserContent] = []
        self.failed: set[str] = set()
        """The ids of calls whose results are errors."""
        self.written = [each for message in messages for each in self._written(message)]
        begun = next((at for at, each in enumerate(self.written) if each["role"] != "system"), len(self.written))
        self.written[begun:begun] = [{"role": "system", "content": text} for text in instructions]

    def _written(self, message: ModelMessage) -> Iterator[dict[str, Any]]:
        if isinstance(message, ModelResponse):
            yield {"role": "assistant", **_message(message)}
            return
        files: list[UserContent] = []
        for part in message.parts:
            match part:
                case SystemPromptPart():
                    yield {"role": "system", "content": part.content}
                case UserPromptPart():
                    yield {"role": "user", "content": self._content(part.content)}
                case ToolReturnPart():
                    text, attached = part.model_response_str_and_user_content(wrap_if_error=False)
                    files += attached
                    yield self._result(part, text, is_error=part.outcome in ("failed", "retried"))
                case RetryPromptPart() if part.tool_name is None:
                    yield {"role": "user", "content": part.model_response()}
                case RetryPromptPart():
                    yield self._result(part, part.model_response(), is_error=True)
                case _:
                    raise XMLToolsError(f"messages: a part of the kind {part.part_kind!r} can't be told to the model")
        if files:
            yield {"role": "user", "content": self._content(files)}

    def _result(self, part: ToolReturnPart | RetryPromptPart, text: str, *, is_error: bool) -> dict[str, Any]:
        if is_error:
            self.failed.add(part.tool_call_id)
        return {"role": "tool", "tool_call_id": part.tool_call_id, "name": part.tool_name, "content": text}

    def _content(self, content: str | Sequence[UserContent]) -> str | list[dict[str, Any]]:
        return content if isinstance(content, str) else [self._part(each) for each in content]

    def _part(self, content: UserContent) -> dict[str, Any]:
        if isinstance(content, (str, TextContent)):
            return {"type": "text", "text": content if isinstance(content, str) else content.content}
        self._held.append(content)
        return {"type": _HELD, "number": len(self._held) - 1}

    def read(self, written: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
        """Return what the model is asked, of messages that are plain."""
        messages: list[ModelMessage] = []
        for each in written:
            if each["role"] == "assistant":
                messages.append(ModelResponse(parts=[TextPart(each["content"])]))
                continue
            if not (messages and isinstance(messages[-1], ModelRequest)):
                messages.append(ModelRequest(parts=[]))
            is_system = each["role"] == "system"
            part = SystemPromptPart(each["content"]) if is_system else UserPromptPart(self._read(each["content"]))
            messages[-1].parts = [*messages[-1].parts, part]
        return messages

    def _read(self, content: str | Sequence[Mapping[str, Any]]) -> str | list[UserContent]:
        if isinstance(content, str):
            return content
        return [self._held[part["number"]] if part["type"] == _HELD else part["text"] for part in content]


def _message(reply: ModelResponse) -> dict[str, Any]:
    """Return a reply as chat completions have it."""
    said = {
        "content": "".join(part.content for part in reply.parts if isinstance(part, TextPart)),
        "reasoning_content": "".join(part.content for part in reply.parts if isinstance(part, ThinkingPart)),
    }
    calls = [_call(at, part) for at, part in enumerate(reply.parts) if isinstance(part, ToolCallPart)]
    return {**said, "tool_calls": calls} if calls else said


def _call(index: int, part: ToolCallPart) -> dict[str, Any]:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"index": index, "id": part.tool_call_id, "type": "function", "function": function}


def _reason(finish_reason: FinishReason | None) -> str | None:
    return "tool_calls" if finish_reason == "tool_call" else finish_reason


def _finish_reason(reason: str | None) -> FinishReason | None:
    known: dict[str | None, FinishReason] = {"tool_calls": "tool_call", "length": "length", "error": "error"}
    return "content_filter" if reason == "content_filter" else known.get(reason, "stop")


def _parts(piece: Piece) -> list[TextPart | ThinkingPart | ToolCallPart]:
    thoughts = [ThinkingPart(piece.reasoning)] if piece.reasoning else []
    text = [TextPart(piece.text)] if piece.text else []
    calls = [ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]) for call in piece.calls]
    return [*thoughts, *text, *calls]


def _metadata(request: ToolRequest, own: dict[str, Any] | None) -> dict[str, Any] | None:
    failed = [{"name": each.name, "message": each.message, "hint": each.hint} for each in request.failures]
    return {**(own or {}), "failed_calls": failed} if failed else own


@contextmanager
def _as_misbehaviour() -> Iterator[None]:
    """Say in pydantic-ai's words that a reply is not what was asked for."""
    try:
        yield
    except XMLToolsError as error:
        raise UnexpectedModelBehavior(str(error)) from error


# Streams


@dataclass
class _Stream(StreamedResponse):
    """What the wrapped model says, in one turn or several; `again` asks it."""

    _request: ToolRequest
    _again: Callable[[], AbstractAsyncContextManager[StreamedResponse]]
    _turns: AsyncExitStack
    _inner: StreamedResponse = field(init=False)

    async def ask(self) -> None:
        """Leave the turn before, if there is one, and begin the next."""
        await self._turns.aclose()
        self._inner = await self._turns.enter_async_context(self._again())

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        before, goes_on = RequestUsage(), True
        while goes_on:
            async for event in self._inner:
                for each in self._events(self._heard(self._request.part, _delta(event))):
                    yield each
                self._usage = before + self._inner.usage
                if self._request.done:
                    break
            before = self._usage = before + self._inner.usage
            for each in self._events(self._heard(self._request.end, _reason(self._inner.finish_reason))):
                yield each
            goes_on = self._request.again()
            if goes_on:
                await self.ask()
        self.state = self._inner.state
        self.provider_response_id = self._inner.provider_response_id
        self.provider_details = self._inner.provider_details
        self.metadata = _metadata(self._request, self._inner.metadata)

    def _heard(self, take: Callable[[Any], list[Piece]], said: Any) -> list[Piece]:
        with _as_misbehaviour():
            return take(said)

    def _events(self, pieces: Sequence[Piece]) -> Iterator[ModelResponseStreamEvent]:
        parts = self._parts_manager
        for piece in pieces:
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
            if piece.finish_reason is not None:
                self.finish_reason = _finish_reason(piece.finish_reason)

    async def close_stream(self) -> None:
        await self._inner.close_stream()

    def get_stream_cancel_errors(self) -> tuple[type[BaseException], ...]:
        return self._inner.get_stream_cancel_errors()

    @property
    def model_name(self) -> str:
        return self._inner.model_name

    @property
    def provider_name(self) -> str | None:
        return self._inner.provider_name

    @property
    def provider_url(self) -> str | None:
        return self._inner.provider_url

    @property
    def timestamp(self) -> datetime:
        return self._inner.timestamp


def _delta(event: ModelResponseStreamEvent) -> dict[str, Any]:
    """Return an event of the wrapped model's stream as chat completions have it."""
    match event:
        case PartStartEvent(part=TextPart(content=text)):
            return {"content": text}
        case PartStartEvent(part=ThinkingPart(content=text)):
            return {"reasoning_content": text}
        case PartStartEvent(part=ToolCallPart() as part):
            call = _call(event.index, part)
            return {"tool_calls": [call if part.args else {**call, "function": {"name": part.tool_name}}]}
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return {"content": text}
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)):
            return {"reasoning_content": text or ""}
        case PartDeltaEvent(delta=ToolCallPartDelta() as delta):
            args = delta.args_delta if isinstance(delta.args_delta, str) else json.dumps(delta.args_delta or {})
            return {"tool_calls": [{"index": event.index, "function": {"arguments": args}}]}
    return {}
