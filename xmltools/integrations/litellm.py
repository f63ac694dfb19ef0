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

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.extras import install_line
from xmltools.integrations.tool_request import Piece, ToolRequest, check_settings, is_about_tools
from xmltools.proxy.bridge import Refusal, Settings

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
        if settings is not None and not isinstance(settings, Settings):
            raise XMLToolsError(f"settings: expected Settings of xmltools.bridge, got {type(settings).__name__}")
        super().__init__()
        self.settings = check_settings(settings or Settings())

    def completion(self, *_: Any, **given: Any) -> ModelResponse:
        """Return the reply of the model with the calls that it wrote."""
        asked = self._asked(given, stream=False)
        while True:
            answer = asked.take(litellm.completion(**asked.options()))
            if answer is not None:
                return answer

    async def acompletion(self, *_: Any, **given: Any) -> ModelResponse:
        """Return the reply of the model with the calls that it wrote."""
        asked = self._asked(given, stream=False)
        while True:
            answer = asked.take(await litellm.acompletion(**asked.options()))
            if answer is not None:
                return answer

    def streaming(self, *_: Any, **given: Any) -> Iterator[Any]:
        """Yield what the model says, with the calls that it writes."""
        asked = self._asked(given, stream=True)
        while asked.goes_on:
            for chunk in litellm.completion(**asked.options()):
                yield from asked.hear(chunk)
                if asked.done:
                    break
            yield from asked.end_turn()

    async def astreaming(self, *_: Any, **given: Any) -> AsyncIterator[Any]:
        """Yield what the model says, with the calls that it writes."""
        asked = self._asked(given, stream=True)
        while asked.goes_on:
            async with aclosing(await litellm.acompletion(**asked.options())) as stream:
                async for chunk in stream:
                    for each in asked.hear(chunk):
                        yield each
                    if asked.done:
                        break
            for each in asked.end_turn():
                yield each

    def _asked(self, given: Mapping[str, Any], *, stream: bool) -> _Asked:
        options = given["optional_params"]
        body = {
            "model": given["model"],
            "messages": given["messages"],
            "stream": stream,
            **{name: options[name] for name in _OF_THE_REQUEST if options.get(name) is not None},
        }
        with _as_litellm_says():
            return _Asked(ToolRequest(body, self.settings) if is_about_tools(body) else None, given, stream)


class _Asked:
    """How the model is asked, and what becomes of its replies: of the request, if there is one, else nothing. `goes_on`
    while the model is to be asked."""

    def __init__(self, request: ToolRequest | None, given: Mapping[str, Any], stream: bool) -> None:
        self._request = request
        self._given = given
        self._streams = stream
        self._reason: str | None = None
        self._usage: dict[str, Any] | None = None
        self.goes_on = True

    @property
    def done(self) -> bool:
        """Whether nothing that the model may still say is wanted."""
        return self._request is not None and self._request.done

    def options(self) -> dict[str, Any]:
        """Return what LiteLLM is called with."""
        given, request = self._given, self._request
        left_out = () if request is None else _SEEN_TO_HERE
        options = {name: value for name, value in given["optional_params"].items() if name not in left_out}
        options |= {name: given[name] for name in _PASSED_ON if given.get(name) is not None}
        if given.get("headers"):
            options["extra_headers"] = given["headers"]
        if request is not None and request.stop:
            options["stop"] = request.stop
        if self._streams:
            options |= {"stream": True, "stream_options": {"include_usage": True}}
        messages = given["messages"] if request is None else request.messages
        return {**options, "model": given["model"], "messages": messages, "no-log": True}

    def take(self, answer: ModelResponse) -> ModelResponse | None:
        """Take a reply; return ours, or None if the model is to be asked again."""
        if self._request is None:
            return answer
        choice = answer.choices[0]
        usage = answer.get("usage")
        with _as_litellm_says():
            counted = usage.model_dump(exclude_none=True) if usage is not None else None
            piece = self._request.whole(choice.message.model_dump(exclude_none=True), choice.finish_reason, counted)
        if piece is None:
            return None
        message = Message(content=piece.text or None, **_said(piece), **self._failures())
        answer.choices = [Choices(finish_reason=piece.finish_reason, index=0, message=message)]
        if self._request.usage is not None:
            answer.usage = Usage(**self._request.usage)
        return answer

    def hear(self, chunk: ModelResponseStream) -> Iterator[Any]:
        """Take a part of a reply; yield what is new of ours."""
        usage = chunk.get("usage")
        counted = usage.model_dump(exclude_none=True) if usage is not None else None
        self._usage = counted or self._usage
        delta: dict[str, Any] = {}
        for choice in chunk.choices[:1]:
            self._reason = choice.finish_reason or self._reason
            choice.finish_reason = None  # said at the end, with the usage
            delta = choice.delta.model_dump(exclude_none=True)
        if self._request is None:
            yield chunk
            return
        with _as_litellm_says():
            pieces = self._request.part(delta, counted)
        yield from _chunks(pieces)

    def end_turn(self) -> Iterator[Any]:
        """Say that the reply of a turn has ended; yield the rest."""
        if self._request is None:
            self.goes_on = False
            yield self._end(self._reason or "stop", self._usage)
            return
        with _as_litellm_says():
            pieces = self._request.end(self._reason)
        self._reason, self.goes_on = None, self._request.again()
        yield from _chunks(pieces)
        for reason in (piece.finish_reason for piece in pieces if piece.finish_reason is not None):
            yield self._end(reason, self._request.usage)

    def _end(self, reason: str, usage: dict[str, Any] | None) -> dict[str, Any]:
        """Return the last chunk. Only in this form LiteLLM takes the usage together with the end."""
        ended = {"text": "", "is_finished": True, "finish_reason": reason, "usage": usage, "index": 0}
        return {**ended, **self._failures()}

    def _failures(self) -> dict[str, Any]:
        failures = self._request.failures if self._request is not None else ()
        failed = [{"name": each.name, "message": each.message, "hint": each.hint} for each in failures]
        return {"provider_specific_fields": {"failed_calls": failed}} if failed else {}


def _said(piece: Piece) -> dict[str, Any]:
    thoughts = {"reasoning_content": piece.reasoning} if piece.reasoning else {}
    return {**thoughts, "tool_calls": list(piece.calls)} if piece.calls else thoughts


def _chunks(pieces: Sequence[Piece]) -> Iterator[ModelResponseStream]:
    for piece in pieces:
        said = {**({"content": piece.text} if piece.text else {}), **_said(piece)}
        if said:
            yield ModelResponseStream(choices=[{"index": 0, "delta": {"role": "assistant", **said}}])


@contextmanager
def _as_litellm_says() -> Iterator[None]:
    """Raise what is wrong as providers of LiteLLM's are to raise it."""
    try:
        yield
    except XMLToolsError as error:
        status = error.status if isinstance(error, Refusal) else 400
        raise CustomLLMError(status_code=status, message=str(error)) from error
