"""A LiteLLM provider that gives tool calling to any model of LiteLLM's.

    import litellm
    from xmltools.integrations.litellm import ToolCallingLLM

    litellm.custom_provider_map = [{"provider": "xmltools", "custom_handler": ToolCallingLLM()}]
    litellm.completion("xmltools/ollama/gemma3", messages, tools=tools)

What follows the name of the provider is the model that is asked, through LiteLLM again. Tools become instructions in
its prompt, calls and results in the history become text, and calls that it writes in its reply become `tool_calls`. A
call that is rejected is sent back to it with what was wrong, as often as the settings say; if it is rejected for good,
the text says in words that it was not made, and `provider_specific_fields` has it under `failed_calls`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings, errors_as
from xmltools.proxy.bridge import AddedFields, Settings

try:
    import litellm
    from litellm.llms.custom_llm import CustomLLM, CustomLLMError
    from litellm.types.utils import Choices, Message, ModelResponse, ModelResponseStream, Usage
except ImportError:
    raise ImportError(
        f"xmltools.integrations.litellm needs litellm 1.106 or later: {install_line('litellm')}"
    ) from None

__all__ = ["ToolCallingLLM"]

_OF_THE_REQUEST = ("tools", "tool_choice", "parallel_tool_calls", "stop", "n", "response_format", "logprobs")
"""Options that are read here."""
_SEEN_TO_HERE = ("tools", "tool_choice", "parallel_tool_calls", "stop", "stream", "stream_options")
"""Options of which the model hears nothing, or what we say of them."""
_PASSED_ON = ("api_base", "api_key", "timeout", "client")


class ToolCallingLLM(CustomLLM):
    """A provider with tool calling, over models that only write text.

    `settings` are those of `xmltools.bridge`: the dialect in which the model writes calls ("auto": that of the model by
    its name), how often a rejected call is sent back to it (`retries`), and others; those that only a server can do
    something with are refused.

    Text streams as it is written; a call is one chunk, when it is complete and right. Tokens of all tries are added up,
    but for those of a stream that was left because its call was rejected. Requests without tools, and without calls in
    the history, go to the model as they are. LiteLLM's callbacks hear of each request once.

    Errors of the model are raised as LiteLLM raises them. Tools or messages that can't be written, and a call that was
    required and not made, are a BadRequestError; in a stream that has begun, a MidStreamFallbackError.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        super().__init__()
        self.settings = check_settings(settings)
        self.added = AddedFields()

    def completion(self, *_: Any, **given: Any) -> ModelResponse:
        """Return the reply of the model with the calls that it wrote."""
        [answer] = _Asked(given, self).run(litellm.completion)
        return answer

    async def acompletion(self, *_: Any, **given: Any) -> ModelResponse:
        """Return the reply of the model with the calls that it wrote."""
        [answer] = [each async for each in _Asked(given, self).run_later(litellm.acompletion)]
        return answer

    def streaming(self, *_: Any, **given: Any) -> Iterator[Any]:
        """Yield what the model says, with the calls that it writes."""
        return _Asked(given, self, stream=True).run(lambda **turn: (part for part in litellm.completion(**turn)))

    def astreaming(self, *_: Any, **given: Any) -> AsyncIterator[Any]:
        """Yield what the model says, with the calls that it writes."""
        return _Asked(given, self, stream=True).run_later(litellm.acompletion)


def _as_litellm_says(error: XMLToolsError) -> Exception:
    return CustomLLMError(status_code=getattr(error, "status", 400), message=str(error))


class _Asked(ToolRequest):
    """A request, how the model is asked, and what becomes of its replies."""

    def __init__(self, given: Mapping[str, Any], model: ToolCallingLLM, *, stream: bool = False) -> None:
        self._given = given
        options = given["optional_params"]
        body = {
            "model": given["model"],
            "messages": given["messages"],
            "stream": stream,
            **{name: options[name] for name in _OF_THE_REQUEST if options.get(name) is not None},
        }
        with errors_as(_as_litellm_says):
            super().__init__(body, model.settings, added=model.added)

    hear = errors_as(_as_litellm_says)(ToolRequest.hear)

    def turn(self) -> dict[str, Any]:
        self.reason, self.usage = "stop", None
        given = self._given
        options = {
            name: value for name, value in given["optional_params"].items() if self.plain or name not in _SEEN_TO_HERE
        }
        return {
            "messages": given["messages"],
            **options,
            **{name: given[name] for name in _PASSED_ON if given.get(name) is not None},
            **({"extra_headers": given["headers"]} if given.get("headers") else {}),
            **({"stream": True, "stream_options": {"include_usage": True}} if self.streams else {}),
            **self.asked,
            "model": given["model"],
            "no-log": True,
        }

    def read(self, said: ModelResponse | ModelResponseStream) -> dict[str, Any]:
        self._answer = said
        usage = said.get("usage")
        self.usage = usage.model_dump(exclude_none=True) if usage is not None else self.usage
        for choice in said.choices[:1]:
            self.reason = choice.finish_reason or self.reason
            if not self.streams:
                return choice.message.model_dump(exclude_none=True)
            choice.finish_reason = None  # said at the end, with the usage
            return choice.delta.model_dump(exclude_none=True)
        return {}

    def whole(self, piece: Piece) -> ModelResponse:
        message = Message(**_said(piece), provider_specific_fields=self.failed_calls or None)
        self._answer.choices = [Choices(finish_reason=piece.finish_reason, index=0, message=message)]
        if usage := self.exchange.stats.usage:
            self._answer.usage = Usage(**usage)
        return self._answer

    def parts(self, piece: Piece) -> Iterator[Any]:
        if said := _said(piece):
            yield ModelResponseStream(choices=[{"index": 0, "delta": {"role": "assistant", **said}}])
        if piece.finish_reason:  # only in this form LiteLLM takes the usage together with the end
            yield {
                "text": "",
                "is_finished": True,
                "finish_reason": piece.finish_reason,
                "index": 0,
                "usage": self.usage if self.plain else self.exchange.stats.usage,
                "provider_specific_fields": self.failed_calls or None,
            }


def _said(piece: Piece) -> dict[str, Any]:
    said = {"content": piece.text, "reasoning_content": piece.reasoning, "tool_calls": piece.calls}
    return {name: value for name, value in said.items() if value}
