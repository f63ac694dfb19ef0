"""Chat completion chunks of OpenAI's API, which most servers speak: from a parser's events, and to events.

Clients join what comes: strings are concatenated, so role, id and name are sent once; calls are told apart by their
position, so positions have no gaps, and no call is written into while another is open. A call that failed keeps its
position and its unfinished arguments: OpenAI's own client hands them over as text, which is no JSON.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from xmltools.conversations.streams.json_arguments import without_surrogates
from xmltools.conversations.streams.native_shared import list_in, string_of
from xmltools.conversations.streams.pieces import Kind, Piece, PieceStream
from xmltools.conversations.streams.started_calls import NativeCall, NativeReader
from xmltools.models.events import Event
from xmltools.models.finish_reasons import ends_whole, our_reason
from xmltools.tools import Tool

_CUT = {"length": "length", "error": "length", "content_filter": "content_filter"}
"""What the API says of a reply that was cut off, by our words."""


class OpenAIStream(PieceStream[dict[str, Any]]):
    """Turns the events of one parser into chunks.

    `id`, `model` and `created` (seconds since 1970) stand in each chunk, `index` is the choice. `tools` are those of
    the parser: their strings stream, other arguments follow when a call is complete. `custom` names the custom tools
    among them: their calls are no JSON but the text of the argument `input`. `include_usage` is the client's wish for a
    last chunk with the usage. `reasoning_key` is where reasoning goes, None leaves it out. `on_failure`: what becomes
    of a block that gives no call. `"leave"` makes it text if the client has not heard of the call, else the call stays
    unfinished; `"text"` writes the block as text in both cases, `"drop"` in none. `"spoil"` is `"drop"` with an end to
    the arguments that no reader of unfinished JSON takes for arguments.

    Raises `XMLToolsError` for options that make no sense.
    """

    def __init__(
        self,
        *,
        id: str,
        model: str,
        created: int,
        tools: Iterable[Tool] | None = None,
        custom: Collection[str] = (),
        index: int = 0,
        include_usage: bool = False,
        reasoning_key: str | None = "reasoning_content",
        on_failure: str = "leave",
    ) -> None:
        super().__init__(tools, on_failure, custom)
        self._head = {"id": id, "object": "chat.completion.chunk", "created": created, "model": model}
        self._index = index
        self._include_usage = include_usage
        self._reasoning_key = reasoning_key
        self._calls = 0

    def close(self, finish_reason: str = "stop", usage: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Say that the reply has ended, and why, in any server's words; return the last chunks.

        A reply that was not cut off finishes with "tool_calls" if it has a completed call, else with "stop". `usage` is
        sent if it was asked for. Closing twice does nothing.
        """
        if self._closed:
            return []
        chunks = self._ended()
        ended = "tool_calls" if self._pieces.completed else "stop"
        chunks.append(self._chunk({}, _CUT.get(our_reason(finish_reason), ended)))
        if self._include_usage and usage is not None:
            chunks.append({**self._head, "choices": [], "usage": dict(usage)})
        return chunks

    def _first(self) -> list[dict[str, Any]]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def _piece(self, piece: Piece) -> Iterator[dict[str, Any]]:
        kind, text, id = piece
        type, key = ("function", "arguments") if self._input is None else ("custom", "input")
        if kind is Kind.TEXT:
            yield self._chunk({"content": text})
        elif kind is Kind.REASONING and self._reasoning_key is not None:
            yield self._chunk({self._reasoning_key: text})
        elif kind is Kind.START:
            call = {"index": self._calls, "id": id, "type": type, type: {"name": text, key: ""}}
            self._calls += 1
            yield self._chunk({"tool_calls": [call]})
        elif kind is Kind.ARGUMENTS:
            yield self._chunk({"tool_calls": [{"index": self._calls - 1, type: {key: text}}]})

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": self._index, "delta": delta, "finish_reason": finish_reason}
        chunk = {**self._head, "choices": [choice]}
        return {**chunk, "usage": None} if self._include_usage else chunk


class OpenAIReader(NativeReader):
    """Turns the chunks of a model that makes structured calls into the events of a parser.

    `tools` type and check the arguments, and refuse unknown tools; without them (None) arguments are what their JSON
    says. `index` is the choice to read. The arguments that are strings at the top level have deltas while they stream.
    A call is complete when its JSON is closed and something else follows, or the reply ends; one whose JSON is broken
    fails at the end, since a fragment may still come for it, and calls after it wait so that no two are mixed up.
    Places (`start`, spans) count the characters of text and reasoning. Raises `XMLToolsError` for anything but tools.
    """

    _expected = "a chat completion chunk"

    def __init__(self, tools: Iterable[Tool] | None = None, *, index: int = 0) -> None:
        super().__init__(tools)
        self._index = index
        self._last = 0

    def _read(self, data: Mapping[str, Any]) -> list[Event]:
        return [event for choice in list_in(data, "choices") for event in self._choice(choice)]

    def _choice(self, choice: Any) -> list[Event]:
        if not isinstance(choice, Mapping) or choice.get("index", 0) != self._index:
            return []
        delta = choice.get("delta")
        events = self._delta(delta) if isinstance(delta, Mapping) else []
        if reason := string_of(choice, "finish_reason"):
            events += self._end(cut=not ends_whole(reason))
        return events

    def _delta(self, delta: Mapping[str, Any]) -> list[Event]:
        events: list[Event] = []
        reasoning = string_of(delta, "reasoning_content") or string_of(delta, "reasoning")
        text = _content_of(delta) + string_of(delta, "refusal")
        if reasoning or text:
            events += self._settle()
            events += (*self._reasoning(reasoning), *self._text(text))
        calls = list_in(delta, "tool_calls")
        if not calls and isinstance(delta.get("function_call"), Mapping):  # the old form, of one call
            calls = [{"index": 0, "function": delta["function_call"]}]
        for call in calls:
            events += self._tool_call(call)
        return events

    def _tool_call(self, delta: Any) -> list[Event]:
        if not isinstance(delta, Mapping):
            return []
        function = delta.get("function")
        function = function if isinstance(function, Mapping) else {}
        call = self._find(delta)
        call.name = call.name or without_surrogates(string_of(function, "name"))
        call.write(_arguments_of(function))
        return self._news()

    def _find(self, delta: Mapping[str, Any]) -> NativeCall:
        """Return the call that a delta belongs to. Some servers give all calls one index, but ids of their own."""
        index, id = delta.get("index"), without_surrogates(string_of(delta, "id"))
        if not isinstance(index, int):
            index = self._last if id in ("", self._last_id) else self._last + 1
        self._last = index
        call = self._by_index.get(index)
        if call is None or (id and call.given_id and call.given_id != id):
            call = self._add(index, id)
        return call


def _content_of(delta: Mapping[str, Any]) -> str:
    """Return the text of a delta, which may be a list of parts."""
    content = delta.get("content")
    if not isinstance(content, (list, tuple)):
        return string_of(delta, "content")
    parts = (part for part in content if isinstance(part, Mapping))
    return "".join(string_of(part, "text") + string_of(part, "refusal") for part in parts)


def _arguments_of(function: Mapping[str, Any]) -> str:
    """Return the arguments of a call as the text that they should be: some servers give an object."""
    arguments = function.get("arguments")
    if isinstance(arguments, (Mapping, list, tuple)):
        return json.dumps(arguments, ensure_ascii=False)
    return string_of(function, "arguments")
