"""A LangChain chat model that gives tool calling to one that has none.

    from langchain.agents import create_agent
    from langchain_ollama import ChatOllama
    from xmltools.integrations.langchain import ToolCallingChatModel

    model = ToolCallingChatModel(wrapped=ChatOllama(model="gemma3"))
    agent = create_agent(model, tools=[weather])

Tools become instructions in the prompt, calls and results in the history become text, and calls that the model writes
in its reply become `tool_calls`. A call that is rejected is sent back to the model with what was wrong, as often as the
settings say; if it is rejected for good, it is in `invalid_tool_calls`, the text says in words that it was not made,
and no agent runs it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import asdict
from typing import Any, cast

from pydantic import InstanceOf, field_validator

from xmltools.errors import CallError, XMLToolsError
from xmltools.extras import install_line
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings
from xmltools.proxy.bridge import Settings, failure_in_words

try:
    from langchain_core.language_models import BaseChatModel, BaseLLM, LanguageModelInput, ModelProfile
except ImportError:
    raise ImportError(
        f"xmltools.integrations.langchain needs langchain-core 1.7 or later: {install_line('langchain')}"
    ) from None

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LangSmithParams
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

__all__ = ["ToolCallingChatModel"]

_ABOUT_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
"""What may be said about tools, by the names of chat completions. The wrapped model hears nothing of it."""
_READ = ("parallel_tool_calls", "response_format", "logprobs", "top_logprobs")
"""Other options that are read here: those that can't be honoured beside tools are refused."""
_ENDINGS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
"""Where models of LangChain's say in their metadata why a reply ended."""
_OF_CONTENT = ("model_provider", "output_version")
"""What their metadata say of how the content is spelled, which is not how ours is."""


class ToolCallingChatModel(BaseChatModel):
    """A chat model with tool calling, over one that only writes text.

    `wrapped` is any chat model of LangChain's, also with options bound to it or with fallbacks; it is asked through its
    public interface, and none of the callbacks of this one hear what it writes. `settings` are those of
    `xmltools.bridge`: the dialect in which the model writes calls ("auto": that of the model by its name), how often a
    rejected call is sent back to it (`retries`), and others; those that only a server can do something with are
    refused.

    Text streams as it is written; a call is one chunk, when it is complete and right. Tokens of all tries are added up
    in `usage_metadata`, but for those of a stream that was left because its call was rejected. Requests without tools,
    and without calls in the history, go to the wrapped model as they are.

    Asking it raises what the wrapped model raises, and XMLToolsError for tools or messages that can't be written, and
    where a call was required and the model made none.
    """

    wrapped: Runnable[LanguageModelInput, Any]
    settings: InstanceOf[Settings] = Settings()

    @field_validator("wrapped")
    @classmethod
    def _check_wrapped(cls, wrapped: Any) -> Any:
        if isinstance(wrapped, BaseLLM):
            name = type(wrapped).__name__
            raise ValueError(f"expected a chat model, got {name}, which takes no messages: wrap it in its chat model")
        return wrapped

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: Settings) -> Settings:
        return check_settings(settings)

    # What LangChain asks of a model

    @property
    def _llm_type(self) -> str:
        return "xmltools-tool-calling"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        wrapped = self.wrapped
        own = wrapped._identifying_params if isinstance(wrapped, BaseChatModel) else repr(wrapped)
        return {"wrapped": own, "settings": asdict(self.settings)}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        asked = getattr(self.wrapped, "_get_ls_params", None)
        return cast(LangSmithParams, asked(stop=stop, **kwargs)) if asked else super()._get_ls_params(stop, **kwargs)

    def _resolve_model_profile(self) -> ModelProfile | None:
        profile = getattr(self.wrapped, "profile", None) or {}
        # Structured output of the provider's own knows nothing of tools.
        return cast(ModelProfile, {**profile, "tool_calling": True, "structured_output": False})

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | bool | dict[str, Any] | None = None,
        parallel_tool_calls: bool | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools: functions, tools, pydantic models, typed dictionaries or definitions as JSON.

        `tool_choice`: "auto", "none", "any" or "required" (or True), the name of a tool, or OpenAI's form of these.
        `parallel_tool_calls`: False lets the model make one call at a time. `strict` changes nothing: arguments are
        checked against the schema in any case. Raises XMLToolsError for tools that can't be written or that only a
        provider runs, and for a choice that is none.
        """
        definitions = [convert_to_openai_tool(tool) for tool in tools]
        given = {"tools": definitions, "tool_choice": tool_choice, "parallel_tool_calls": parallel_tool_calls}
        bound = {name: value for name, value in given.items() if value is not None}
        self._request([_ANY], None, {**bound, **kwargs}, stream=False)  # what is wrong with it is said here
        return self.bind(**bound, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, kwargs, stream=False)
        if request is None:
            return _result(_reply(self.wrapped.invoke(messages, _ALONE, **_options(stop, kwargs))))
        whole = _Whole(request)
        while whole.message is None:
            asked = convert_to_messages(request.messages)
            whole.take(_reply(self.wrapped.invoke(asked, _ALONE, **_options(request.stop, kwargs))))
        return _result(whole.message)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = self._request(messages, stop, kwargs, stream=False)
        if request is None:
            return _result(_reply(await self.wrapped.ainvoke(messages, _ALONE, **_options(stop, kwargs))))
        whole = _Whole(request)
        while whole.message is None:
            asked = convert_to_messages(request.messages)
            whole.take(_reply(await self.wrapped.ainvoke(asked, _ALONE, **_options(request.stop, kwargs))))
        return _result(whole.message)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        request = self._request(messages, stop, kwargs, stream=True)
        if request is None:
            for chunk in self.wrapped.stream(messages, _ALONE, **_options(stop, kwargs)):
                yield _chunk(_reply(chunk))
            return
        stream = _Stream(request)
        while stream.goes_on:
            asked = convert_to_messages(request.messages)
            said = self.wrapped.stream(asked, _ALONE, **_options(request.stop, kwargs))
            with closing(cast(Generator[Any], said)):
                for chunk in said:
                    yield from stream.take(_reply(chunk))
                    if request.done:
                        break
            yield from stream.end_turn()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        request = self._request(messages, stop, kwargs, stream=True)
        if request is None:
            async for chunk in self.wrapped.astream(messages, _ALONE, **_options(stop, kwargs)):
                yield _chunk(_reply(chunk))
            return
        stream = _Stream(request)
        while stream.goes_on:
            asked = convert_to_messages(request.messages)
            said = self.wrapped.astream(asked, _ALONE, **_options(request.stop, kwargs))
            async with aclosing(cast(AsyncGenerator[Any], said)):
                async for chunk in said:
                    for each in stream.take(_reply(chunk)):
                        yield each
                    if request.done:
                        break
            for each in stream.end_turn():
                yield each

    def _request(
        self, messages: list[BaseMessage], stop: list[str] | None, options: Mapping[str, Any], *, stream: bool
    ) -> ToolRequest | None:
        """Return the request, None if nothing in it is about tools. The wrapped model is asked as it is then, and its
        messages may be of kinds that chat completions don't have."""
        if not (options.get("tools") or any(map(_is_about_tools, messages))):
            return None
        body = {
            "model": self._get_ls_params().get("ls_model_name") or "none",
            "messages": [each for message in messages for each in _written_for_chat(message)],
            "stream": stream,
            "stop": stop or None,
            **{name: options[name] for name in _READ if options.get(name) is not None},
            "tools": [convert_to_openai_tool(tool) for tool in options.get("tools") or ()],
            "tool_choice": _choice(options.get("tool_choice")),
        }
        failed = {each.tool_call_id for each in messages if isinstance(each, ToolMessage) and each.status == "error"}
        return ToolRequest(body, self.settings, failed_results=failed)


_ALONE: Any = {"callbacks": []}
"""How the wrapped model is run: what listens to ours would hear every word twice, and calls as the text that they are.
"""
_ANY = HumanMessage("Any.")


def _is_about_tools(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(message.tool_calls))


def _written_for_chat(message: BaseMessage) -> list[dict[str, Any]]:
    """Return a message as chat completions have it. What no model is told of in a result is an error; what stands in
    other messages is for the wrapped model to know."""
    return convert_to_openai_messages([message], pass_through_unknown_blocks=not isinstance(message, ToolMessage))


def _options(stop: list[str] | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the wrapped model is told beside the messages."""
    options = {name: value for name, value in kwargs.items() if name not in _ABOUT_TOOLS}
    return {**options, "stop": stop} if stop else options


def _choice(given: str | bool | dict[str, Any] | None) -> str | dict[str, Any] | None:
    """Return LangChain's choice of tools as chat completions have it."""
    if given is True or given == "any":
        return "required"
    if not given or given in ("auto", "none", "required") or not isinstance(given, str):
        return given or None
    return {"type": "function", "function": {"name": given}}


# The wrapped model's replies


def _reply(said: Any) -> AIMessage:
    if isinstance(said, AIMessage):
        return said
    raise XMLToolsError(f"wrapped: expected a chat model, which answers with an AIMessage, got {type(said).__name__}")


def _delta(reply: AIMessage) -> dict[str, Any]:
    """Return a reply, or a part of one, as chat completions have it."""
    text, reasoning = [], []
    for block in reply.content_blocks:
        if block["type"] == "text":
            text.append(block["text"])
        elif block["type"] == "reasoning":
            reasoning.append(block.get("reasoning", ""))
    delta: dict[str, Any] = {"content": "".join(text), "reasoning_content": "".join(reasoning)}
    if isinstance(reply, AIMessageChunk):
        calls = [
            {"index": each["index"], "id": each["id"], "function": {"name": each["name"], "arguments": each["args"]}}
            for each in reply.tool_call_chunks
        ]
    else:
        calls = [
            {"index": at, "id": each["id"], "function": {"name": each["name"], "arguments": json.dumps(each["args"])}}
            for at, each in enumerate(reply.tool_calls)
        ]
    return {**delta, "tool_calls": calls} if calls else delta


def _reason(metadata: Mapping[str, Any]) -> str | None:
    """Return why a reply ended."""
    details = metadata.get("incomplete_details")
    if isinstance(details, Mapping):  # of OpenAI's Responses
        return {"max_output_tokens": "length"}.get(str(details.get("reason")), "content_filter")
    return next((str(metadata[name]) for name in _ENDINGS if metadata.get(name)), None)


# Ours


class _Whole:
    """Makes a message of whole replies. `message` is None while the model is to be asked."""

    def __init__(self, request: ToolRequest) -> None:
        self._request = request
        self._usage: UsageMetadata | None = None
        self.message: AIMessage | None = None

    def take(self, reply: AIMessage) -> None:
        """Take the reply of a turn."""
        if reply.usage_metadata:
            self._usage = add_usage(self._usage, reply.usage_metadata)
        piece = self._request.whole(_delta(reply), _reason(reply.response_metadata))
        if piece is None:
            return
        functions = [(call["id"], call["function"]) for call in piece.calls]
        self.message = AIMessage(
            content=piece.text,
            additional_kwargs=_thoughts(piece),
            tool_calls=[
                tool_call(name=each["name"], args=json.loads(each["arguments"]), id=id) for id, each in functions
            ],
            invalid_tool_calls=_invalid(self._request.failures),
            response_metadata=_without(reply.response_metadata, _OF_CONTENT),
            usage_metadata=self._usage,
        )


class _Stream:
    """Makes chunks of the chunks of one turn or several. `goes_on` while the model is to be asked."""

    def __init__(self, request: ToolRequest) -> None:
        self._request = request
        self._metadata: dict[str, Any] = {}
        self.goes_on = True

    def take(self, part: AIMessage) -> Iterator[ChatGenerationChunk]:
        """Take a part of the reply of a turn; yield what is new of ours."""
        self._metadata |= part.response_metadata
        yield from _written(self._request.part(_delta(part)))
        if part.usage_metadata:
            yield _chunk(AIMessageChunk(content="", usage_metadata=part.usage_metadata))

    def end_turn(self) -> Iterator[ChatGenerationChunk]:
        """Say that the reply of a turn has ended; yield the rest."""
        yield from _written(self._request.end(_reason(self._metadata)))
        self.goes_on = self._request.again()
        if not self.goes_on:
            # LangChain joins the texts of metadata that come twice, and what is invalid only where its text is no JSON.
            metadata, invalid = _without(self._metadata, _OF_CONTENT), _invalid(self._request.failures)
            yield _chunk(AIMessageChunk(content="", response_metadata=metadata, invalid_tool_calls=invalid))
        self._metadata = {}


def _written(pieces: Sequence[Piece]) -> Iterator[ChatGenerationChunk]:
    for piece in pieces:
        calls = [
            tool_call_chunk(
                name=call["function"].get("name"),
                args=call["function"].get("arguments"),
                id=call.get("id"),
                index=call["index"],
            )
            for call in piece.calls
        ]
        if calls or piece.text or piece.reasoning:
            thoughts = _thoughts(piece)
            yield _chunk(AIMessageChunk(content=piece.text, additional_kwargs=thoughts, tool_call_chunks=calls))


def _thoughts(piece: Piece) -> dict[str, Any]:
    return {"reasoning_content": piece.reasoning} if piece.reasoning else {}


def _invalid(failures: Sequence[CallError]) -> list[InvalidToolCall]:
    """Return the calls that were not made. Their arguments are a sentence, which is no JSON: LangChain makes a call of
    everything that it can read as the beginning of an object, and of nothing too."""
    return [
        invalid_tool_call(
            name=error.name,
            args=failure_in_words(error),
            id=f"call_{uuid.uuid4().hex[:24]}",
            error=f"{error.message} {error.hint}",
        )
        for error in failures
    ]


def _without(metadata: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in metadata.items() if name not in names}


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunk(message: AIMessage) -> ChatGenerationChunk:
    if isinstance(message, AIMessageChunk):
        return ChatGenerationChunk(message=message)
    return ChatGenerationChunk(message=AIMessageChunk(**message.model_dump(exclude={"type"})))
