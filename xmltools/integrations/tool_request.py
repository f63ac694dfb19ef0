"""What the integrations share: one request with tools, and the replies of a model that only writes text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from xmltools.errors import CallError, XMLToolsError
from xmltools.models import Conversation, Message, ToolResult
from xmltools.proxy.bridge import (
    Exchange,
    Refusal,
    Settings,
    SSEDecoder,
    error_message,
    error_status,
    is_error,
    read_chunk,
    read_request,
)
from xmltools.proxy.bridge.settings import checked


class Piece(NamedTuple):
    """A part of the reply, for whoever asked: text, reasoning, and calls in the form of chat completions. In a stream a
    call is one piece, unless the settings say that its arguments are live. `finish_reason` is that of the whole reply.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[Mapping[str, Any]] = ()
    finish_reason: str | None = None


def check_settings(settings: Settings) -> Settings:
    """Return the settings. Raises XMLToolsError for those that only a server can do something with."""
    checked(settings)
    for name, why in _FOR_SERVERS.items():
        if getattr(settings, name) != getattr(Settings(), name):
            raise XMLToolsError(
                f"settings: {name}={getattr(settings, name)!r:.40} is for a server; {why}. "
                "Leave it out, or use xmltools serve or the transport"
            )
    return settings


_FOR_SERVERS = {
    "prompt": "a model object gets no tools that its chat template could write",
    "engine": "a model object gets no grammar",
    "result_role": "other libraries take messages of a tool only as the results of calls, with their ids",
}


class ToolRequest:
    """A request with tools, without any input and output of its own: whoever has the model sends `messages` to it.

    Takes the request as the body of chat completions, and the settings; `failed_results` are the ids of calls whose
    results are errors, which that form does not say. Raises XMLToolsError for what can't be honoured; a tool that only
    some provider runs is such a thing, since nobody would run it here.

    Give the whole reply to `whole`; or each part of it to `part`, until it ends or `done` says that no more is needed,
    and then call `end`. If `again` is true after that, ask the model once more, with the `messages` of then.
    """

    def __init__(self, body: Mapping[str, Any], settings: Settings, *, failed_results: Collection[str] = ()) -> None:
        incoming = read_request("chat", {"model": "none", **body}, strict=True)
        incoming.conversation = _with_errors(incoming.conversation, failed_results)
        incoming.include_usage = True  # the end of a reply is waited for, where the usage is
        if incoming.choices > 1:
            raise Refusal("n: with tools there is one reply at a time; leave it out, and ask as often", param="n")
        self._exchange = Exchange("chat", incoming, settings)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What the model is asked next: plain messages, in the form of chat completions."""
        messages: list[dict[str, Any]] = self._exchange.request["messages"]
        return messages

    @property
    def stop(self) -> list[str] | None:
        """Where the model itself is to stop. Where there are tools, that is seen to here: it must not cut a call."""
        return self._exchange.request.get("stop")

    @property
    def done(self) -> bool:
        """Whether nothing that the model may still say is wanted."""
        return self._exchange.done

    @property
    def failures(self) -> list[CallError]:
        """The calls that were not made in the end, which the text says in words."""
        return self._exchange.failures

    @property
    def usage(self) -> dict[str, Any] | None:
        """The tokens of all tries, where their counts were given in the form of chat completions."""
        return self._exchange.stats.usage

    def whole(
        self, message: Mapping[str, Any], finish_reason: str | None, usage: Mapping[str, Any] | None = None
    ) -> Piece | None:
        """Take the model's reply; return ours, or None if the model is to be asked again.

        Raises XMLToolsError where a call was required and is not in it.
        """
        choice = {"index": 0, "message": message, "finish_reason": _reason(finish_reason)}
        answer = self._exchange.answer({"choices": [choice], "usage": usage})
        if answer is None:
            return None
        (choice,) = answer["choices"]
        return _piece(choice["message"], choice["finish_reason"])

    def part(self, delta: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> list[Piece]:
        """Take the next part of the model's reply; return what is new of ours.

        Raises XMLToolsError where a call fails that was told of while the model wrote it.
        """
        return _pieces(self._exchange.feed({"choices": [{"index": 0, "delta": delta}], "usage": usage}))

    def end(self, finish_reason: str | None) -> list[Piece]:
        """Say that the model's reply has ended, and why; return the rest. Ask `again` whether this was all.

        Raises XMLToolsError where a call was required and is not in it.
        """
        ended = {"index": 0, "delta": {}, "finish_reason": _reason(finish_reason) or "stop"}
        pieces = _pieces(self._exchange.feed({"choices": [ended]}))
        return pieces + _pieces(self._exchange.end(is_whole=True))

    def again(self) -> bool:
        """Return whether the model is to be asked once more."""
        return self._exchange.next_turn()


def is_about_tools(body: Mapping[str, Any]) -> bool:
    """Return whether anything in the body of a request is about tools. If not, the model is to be asked as it is."""
    return bool(body.get("tools")) or any(
        message.get("role") in ("tool", "function") or message.get("tool_calls") for message in body["messages"]
    )


def _reason(given: str | None) -> str | None:
    """Return why a reply ended, in small letters: Google writes large ones."""
    return given.lower() if given else None


def _with_errors(conversation: Conversation, failed_results: Collection[str]) -> Conversation:
    """Return the conversation with the results of these calls marked as errors."""
    return conversation.with_messages([_with_error(message, failed_results) for message in conversation])


def _with_error(message: Message, failed_results: Collection[str]) -> Message:
    if not any(isinstance(part, ToolResult) and part.call_id in failed_results for part in message.parts):
        return message
    parts = (
        part.model_copy(update={"is_error": True})
        if isinstance(part, ToolResult) and part.call_id in failed_results
        else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": tuple(parts)})


def _pieces(sent: bytes) -> list[Piece]:
    """Return the pieces in what was written for a client of chat completions. Raises XMLToolsError for an error."""
    pieces: list[Piece] = []
    for _, data in SSEDecoder().feed(sent):
        chunk = read_chunk(data) if data != "[DONE]" else {}
        if is_error(chunk):
            raise Refusal(error_message(chunk), status=error_status(chunk), code="upstream_error")
        for choice in chunk.get("choices", ()):
            piece = _piece(choice["delta"], choice["finish_reason"])
            if pieces and (call := _continued(pieces[-1], piece)) is not None:
                pieces[-1] = pieces[-1]._replace(calls=(call,))
            else:
                pieces.append(piece)
    return pieces


def _continued(before: Piece, piece: Piece) -> Mapping[str, Any] | None:
    """Return the call of a piece with what another one adds to its arguments, None if that is no such thing."""
    if not (len(before.calls) == len(piece.calls) == 1 and before.calls[0]["index"] == piece.calls[0]["index"]):
        return None
    (call,), (more,) = before.calls, piece.calls
    arguments = call["function"]["arguments"] + more["function"]["arguments"]
    return {**call, "function": {**call["function"], "arguments": arguments}}


def _piece(said: Mapping[str, Any], finish_reason: str | None) -> Piece:
    text, reasoning = said.get("content") or "", said.get("reasoning_content") or said.get("reasoning") or ""
    return Piece(text, reasoning, said.get("tool_calls") or (), finish_reason)
