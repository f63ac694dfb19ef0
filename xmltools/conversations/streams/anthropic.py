"""The events of Anthropic's messages API: from a parser's events, and to events.

A message is a row of content blocks, each started, filled and stopped before the next one starts. The arguments of a
call are the joined fragments of its block. A call that failed is stopped like all others, since clients demand that,
but its fragments are no JSON; Anthropic's own client then shows the arguments that were complete, without an error, so
a host should look at `stop_reason`: "tool_use" means that some call was completed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from xmltools.conversations.streams.json_arguments import without_surrogates
from xmltools.conversations.streams.native_shared import string_of
from xmltools.conversations.streams.pieces import ENDS, Kind, Piece, PieceStream
from xmltools.conversations.streams.started_calls import NativeReader
from xmltools.models.events import Event
from xmltools.models.finish_reasons import ends_whole, our_reason
from xmltools.tools import Tool

Message = tuple[str, dict[str, Any]]
"""The name of an event and its data, which has the name as its type."""

_CUT = {"length": "max_tokens", "error": "max_tokens", "content_filter": "refusal"}
"""What the API says of a reply that was cut off, by our words."""
_OWN_REASONS = ("stop_sequence", "pause_turn", "model_context_window_exceeded")

_BLOCKS: dict[Kind, tuple[str, dict[str, Any]]] = {
    Kind.TEXT: ("text", {"type": "text", "text": ""}),
    Kind.REASONING: ("thinking", {"type": "thinking", "thinking": "", "signature": ""}),
}
_DELTAS = {Kind.TEXT: "text", Kind.REASONING: "thinking"}


class AnthropicStream(PieceStream[Message]):
    """Turns the events of one parser into pairs of an event's name and its data.

    `id` and `model` are in the first event, with `usage`: `input_tokens` if they are known by then, and what was put
    there since. `tools` are those of the parser: their strings stream, other arguments follow when a call is complete.
    `on_failure`: what becomes of a block that gives no call. `"leave"` makes it text if the client has not heard of the
    call, otherwise the call stays unfinished; `"text"` writes the block as text in both cases, `"drop"` in none.
    `"spoil"` is `"drop"` with an end to the arguments that no reader of unfinished JSON takes for arguments.

    Raises `XMLToolsError` for options that make no sense.
    """

    def __init__(
        self,
        *,
        id: str,
        model: str,
        tools: Iterable[Tool] | None = None,
        input_tokens: int = 0,
        on_failure: str = "leave",
    ) -> None:
        self.usage: dict[str, int] = {"input_tokens": input_tokens, "output_tokens": 0}
        self._message: dict[str, Any] = {
            "id": id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self.usage,
        }
        super().__init__(tools, on_failure)
        self._index = -1
        self._block: Kind | None = None  # the open block, that of a call by its START

    def close(
        self,
        finish_reason: str = "stop",
        usage: Mapping[str, Any] | None = None,
        stop_sequence: str | None = None,
    ) -> list[Message]:
        """Say that the reply has ended, and why, in OpenAI's words or Anthropic's; return the last events.

        A reply that stopped with a completed call stops with "tool_use". `usage` is Anthropic's, with the final
        `output_tokens`. Closing twice does nothing.
        """
        if self._closed:
            return []
        messages = [*self._ended(), *self._stop()]
        delta = {"stop_reason": self._stop_reason(finish_reason), "stop_sequence": stop_sequence}
        messages.append(_message("message_delta", delta=delta, usage={"output_tokens": 0, **(usage or {})}))
        messages.append(_message("message_stop"))
        return messages

    def _stop_reason(self, finish_reason: str) -> str:
        if finish_reason in _OWN_REASONS:
            return finish_reason
        return _CUT.get(our_reason(finish_reason), "tool_use" if self._pieces.completed else "end_turn")

    def _first(self) -> list[Message]:
        return [_message("message_start", message=self._message)]

    def _piece(self, piece: Piece) -> Iterator[Message]:
        kind, text, id = piece
        if kind is Kind.START:
            yield from self._start(kind, {"type": "tool_use", "id": id, "name": text, "input": {}})
        elif kind is Kind.ARGUMENTS:
            yield self._delta({"type": "input_json_delta", "partial_json": text})
        elif kind in ENDS:
            yield from self._stop()
        else:
            name, block = _BLOCKS[kind]
            if self._block is not kind:
                yield from self._start(kind, dict(block))
            yield self._delta({"type": f"{name}_delta", _DELTAS[kind]: text})

    def _start(self, kind: Kind, block: dict[str, Any]) -> Iterator[Message]:
        yield from self._stop()
        self._block = kind
        self._index += 1
        yield _message("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> Message:
        return _message("content_block_delta", index=self._index, delta=delta)

    def _stop(self) -> Iterator[Message]:
        if self._block is not None:
            self._block = None
            yield _message("content_block_stop", index=self._index)


def _message(type: str, **fields: Any) -> Message:
    return type, {"type": type, **fields}


class AnthropicReader(NativeReader):
    """Turns the events of a model that makes structured calls into the events of a parser.

    `tools` type and check the arguments, and refuse unknown tools; without them (None) arguments are what their JSON
    says. The arguments that are strings at the top level have deltas while they stream. A call is complete when its
    block stops with closed JSON; one whose JSON is broken fails when the message ends, since only then is it known
    whether it was cut off, and calls after it wait. Places (`start`, spans) count the characters of text and
    reasoning. Raises `XMLToolsError` for anything but tools.
    """

    _expected = "an event of a message stream"

    def feed(self, message: Any) -> list[Event]:
        """Take an event: its data, as a dict or the object of an SDK, or a pair of its name and that.

        Returns the events that it produced. Raises `XMLToolsError` for what is no event, for an error that the server
        sent, and after `close`.
        """
        return super().feed(message[1] if isinstance(message, tuple) else message)

    def _read(self, data: Mapping[str, Any]) -> list[Event]:
        match data.get("type"):
            case "content_block_start":
                return self._start(data)
            case "content_block_delta":
                return self._delta(data)
            case "content_block_stop":
                return self._settle()
            case "message_delta":
                delta = data.get("delta")
                reason = string_of(delta, "stop_reason") if isinstance(delta, Mapping) else ""
                return self._end(cut=not ends_whole(reason)) if reason else []
        return []

    def _start(self, data: Mapping[str, Any]) -> list[Event]:
        block = data.get("content_block")
        if not isinstance(block, Mapping):
            return []
        match block.get("type"):
            case "tool_use":
                return self._start_call(_index_of(data), block)
            case "text":
                return self._text(string_of(block, "text"))
            case "thinking":
                return self._reasoning(string_of(block, "thinking"))
        return []

    def _start_call(self, index: Any, block: Mapping[str, Any]) -> list[Event]:
        call = self._add(index, without_surrogates(string_of(block, "id")))
        call.name = without_surrogates(string_of(block, "name"))
        call.default = json.dumps(block["input"]) if block.get("input") else ""
        return self._news()

    def _delta(self, data: Mapping[str, Any]) -> list[Event]:
        delta = data.get("delta")
        if not isinstance(delta, Mapping):
            return []
        match delta.get("type"):
            case "text_delta":
                return self._text(string_of(delta, "text"))
            case "thinking_delta":
                return self._reasoning(string_of(delta, "thinking"))
            case "input_json_delta":
                return self._arguments(_index_of(data), string_of(delta, "partial_json"))
        return []

    def _arguments(self, index: Any, text: str) -> list[Event]:
        call = self._by_index.get(index)
        if call is None:
            return []
        call.write(text)
        return self._news()


def _index_of(data: Mapping[str, Any]) -> int | None:
    index = data.get("index")
    return index if isinstance(index, int) else None
