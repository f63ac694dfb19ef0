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
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from pydantic import InstanceOf, PrivateAttr, field_validator

from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings
from xmltools.proxy.bridge import AddedFields, Settings, failure_in_words

try:
    from langchain_core.language_models import BaseChatModel, BaseLLM, LanguageModelInput, ModelProfile
except ImportError:
    raise ImportError(
        f"xmltools.integrations.langchain needs langchain-core 1.7 or later: {install_line('langchain')}"
    ) from None

from langchain_core.language_models import LangSmithParams
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
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
    _added: AddedFields = PrivateAttr(default_factory=AddedFields)

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
        bound: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        _Asked(self, [_ANY], **bound, **kwargs)  # what is wrong with it is said here
        return self.bind(**bound, **kwargs)

    def _generate(self, *given: Any, **options: Any) -> ChatResult:
        [result] = _Asked(self, *given, **options).run(self.wrapped.invoke)
        return result

    async def _agenerate(self, *given: Any, **options: Any) -> ChatResult:
        [result] = [each async for each in _Asked(self, *given, **options).run_later(self.wrapped.ainvoke)]
        return result

    def _stream(self, *given: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        return _Asked(self, *given, streams=True, **options).run(self.wrapped.stream)

    def _astream(self, *given: Any, **options: Any) -> AsyncIterator[ChatGenerationChunk]:
        return _Asked(self, *given, streams=True, **options).run_later(self.wrapped.astream)


class _Asked(ToolRequest):
    """A request, how the wrapped model is asked, and what becomes of its messages."""

    def __init__(
        self,
        model: ToolCallingChatModel,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        *,
        streams: bool = False,
        **options: Any,
    ) -> None:
        self._given = {"messages": messages, **({"stop": stop} if stop else {})}
        self._options = {name: value for name, value in options.items() if name not in _ABOUT_TOOLS}
        self._spent: UsageMetadata | None = None
        body: dict[str, Any] = {"messages": (), "stream": streams}
        # Where nothing is about tools, messages may be of kinds that chat completions don't have.
        if options.get("tools") or any(map(_is_about_tools, messages)):
            body |= {
                "model": model._get_ls_params().get("ls_model_name") or "none",
                "messages": [each for message in messages for each in _written_for_chat(message)],
                "stop": stop or None,
                **{name: options[name] for name in _READ if options.get(name) is not None},
                "tools": [convert_to_openai_tool(tool) for tool in options.get("tools") or ()],
                "tool_choice": _choice(options.get("tool_choice")),
            }
        failed = {each.tool_call_id for each in messages if isinstance(each, ToolMessage) and each.status == "error"}
        super().__init__(body, model.settings, failed, model._added)

    def turn(self) -> dict[str, Any]:
        self._metadata: dict[str, Any] = {}
        asked = {**self._options, **(self.asked or self._given)}
        return {"input": convert_to_messages(asked.pop("messages")), "config": _ALONE, **asked}

    def read(self, said: Any) -> dict[str, Any]:
        if not isinstance(said, AIMessage):
            kind = type(said).__name__
            raise XMLToolsError(f"wrapped: expected a chat model, which answers with an AIMessage, got {kind}")
        if self.plain:
            return {}
        self._metadata |= said.response_metadata
        self._spent = add_usage(self._spent, said.usage_metadata) if said.usage_metadata else self._spent
        self.reason = _reason(self._metadata)
        return _delta(said)

    def passed(self, said: AIMessage) -> Any:
        return _chunk(said) if self.streams else _result(said)

    def whole(self, piece: Piece) -> ChatResult:
        calls = [
            tool_call(name=call["function"]["name"], args=json.loads(call["function"]["arguments"]), id=call["id"])
            for call in piece.calls
        ]
        return _result(AIMessage(piece.text, tool_calls=calls, **_thoughts(piece), **self._at_the_end()))

    def parts(self, piece: Piece) -> Iterator[ChatGenerationChunk]:
        calls = [
            tool_call_chunk(
                name=call["function"].get("name"),
                args=call["function"].get("arguments"),
                id=call.get("id"),
                index=call["index"],
            )
            for call in piece.calls
        ]
        if any(piece[:3]):
            yield _chunk(AIMessageChunk(piece.text, tool_call_chunks=calls, **_thoughts(piece)))
        if piece.finish_reason:
            # LangChain joins texts of metadata that come twice, and invalid calls only if their text is not JSON.
            yield _chunk(AIMessageChunk("", **self._at_the_end()))

    def _at_the_end(self) -> dict[str, Any]:
        return {
            "response_metadata": {name: each for name, each in self._metadata.items() if name not in _OF_CONTENT},
            "usage_metadata": self._spent,
            # Their arguments are a sentence, not JSON: LangChain makes a call of everything that it can read as
            # the beginning of an object, and of nothing too.
            "invalid_tool_calls": [
                invalid_tool_call(
                    name=error.name,
                    args=failure_in_words(error),
                    id=f"call_{uuid.uuid4().hex[:24]}",
                    error=f"{error.message} {error.hint}",
                )
                for error in self.exchange.failures
            ],
        }


_ALONE: Any = {"callbacks": []}
"""How the wrapped model is run: what listens to ours would hear every word twice, and calls as the text that they are.
"""
_ANY = HumanMessage("Any.")


def _is_about_tools(message: BaseMessage) -> bool:
    return isinstance(message, ToolMessage) or (isinstance(message, AIMessage) and bool(message.tool_calls))


def _written_for_chat(message: BaseMessage) -> list[dict[str, Any]]:
    """Return a message as chat completions have it. What no model is told of in a result is an error; what stands in
    other messages is for the wrapped model to know."""
    written = convert_to_openai_messages([message], pass_through_unknown_blocks=not isinstance(message, ToolMessage))
    thoughts = message.additional_kwargs.get("reasoning_content")
    return [{**each, "reasoning_content": thoughts} for each in written] if thoughts else written


def _choice(given: str | bool | dict[str, Any] | None) -> str | dict[str, Any] | None:
    """Return LangChain's choice of tools as chat completions have it."""
    if given is True or given == "any":
        return "required"
    if not given or isinstance(given, dict) or given in ("auto", "none", "required"):
        return given or None
    return {"type": "function", "function": {"name": given}}


# The wrapped model's replies


def _delta(reply: AIMessage) -> dict[str, Any]:
    """Return a reply, or a part of one, as chat completions have it."""
    said = {
        kind: "".join(each.get(kind, "") for each in reply.content_blocks if each["type"] == kind)
        for kind in ("text", "reasoning")
    }
    calls = [
        {"index": each.get("index"), "id": each["id"], "function": {"name": each["name"], "arguments": each["args"]}}
        for each in getattr(reply, "tool_call_chunks", reply.tool_calls)
    ]
    return {"content": said["text"], "reasoning_content": said["reasoning"], "tool_calls": calls}


def _reason(metadata: Mapping[str, Any]) -> str | None:
    """Return why a reply ended."""
    details = metadata.get("incomplete_details")
    if isinstance(details, Mapping):  # of OpenAI's Responses
        return {"max_output_tokens": "length"}.get(str(details.get("reason")), "content_filter")
    return next((str(metadata[name]) for name in _ENDINGS if metadata.get(name)), None)


def _thoughts(piece: Piece) -> dict[str, Any]:
    return {"additional_kwargs": {"reasoning_content": piece.reasoning}} if piece.reasoning else {}


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunk(message: AIMessage) -> ChatGenerationChunk:
    if isinstance(message, AIMessageChunk):
        return ChatGenerationChunk(message=message)
    return ChatGenerationChunk(message=AIMessageChunk(**message.model_dump(exclude={"type"})))
