"""The events of OpenAI's Responses API, from a parser's events; and the response that is not streamed.

A response is a row of output items: messages, reasoning, and calls. Each item is added, filled and done before the next
one is added, and the last event repeats all of them, since clients take the result from there. Reasoning and text have
one part in their item. A run of white space between two calls is no message; at the start of a message it is kept.

A call that failed keeps its place and its unfinished arguments, which are no JSON. It has the status "incomplete", and
there is no event that says that its arguments are done, so that no client that waits for one carries it out. Calls of
the API's own tools that the client runs (shell, local_shell, apply_patch) can't be unfinished: their items are told of
when they are whole and right, and one that failed is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from xmltools.conversations.streams.pieces import ENDS, Kind, Piece, PieceStream
from xmltools.conversations.streams.response_parts import (
    CALL,
    CLIENT_CALLS,
    CUSTOM_CALL,
    FORMS,
    Form,
    Item,
    Message,
    echoed,
    usage_of,
)
from xmltools.errors import CallError, XMLToolsError
from xmltools.models import Reasoning, Reply, Text, ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, ReasoningDelta, TextDelta
from xmltools.models.finish_reasons import our_reason
from xmltools.tools import Tool

_CUT = {"length": "max_output_tokens", "error": "max_output_tokens", "content_filter": "content_filter"}
"""What the API says of a reply that was cut off, by our words."""


class ResponsesStream(PieceStream[Message]):
    """Turns the events of one parser into pairs of an event's name and its data.

    `id`, `model` and `created_at` (seconds since 1970) stand in the response; ids of items are made of its id and their
    place. `tools` are those of the parser: their strings stream, other arguments follow when a call is complete.
    `custom` names the custom tools among them: their calls are no JSON but the text of the argument `input`.
    `namespaces` has the namespace of a tool, and its name in there, by the name that the parser knows. `client_tools`
    has, by that name too, the type of a tool whose calls are items of their own: tool_search, local_shell, shell or
    apply_patch. `echo` holds the fields of the request, of which the response repeats those that the API repeats.
    `on_failure`: what becomes of a block that gives no call. `"leave"` makes it text if the client has not heard of the
    call, else the call stays unfinished; `"text"` writes the block as text in both cases, `"drop"` in none. `"spoil"`
    is `"drop"` with an end to the arguments that no reader of unfinished JSON takes for arguments.

    Raises `XMLToolsError` for options that make no sense.
    """

    def __init__(
        self,
        *,
        id: str,
        model: str,
        created_at: float,
        tools: Iterable[Tool] | None = None,
        custom: Collection[str] = (),
        namespaces: Mapping[str, tuple[str, str]] | None = None,
        client_tools: Mapping[str, str] | None = None,
        echo: Mapping[str, Any] | None = None,
        on_failure: str = "leave",
    ) -> None:
        for option, given in (("namespaces", namespaces), ("client_tools", client_tools), ("echo", echo)):
            if not isinstance(given, Mapping | None):
                raise XMLToolsError(f"{option}: expected a dict or None, got {type(given).__name__}")
        super().__init__(tools, on_failure, custom)
        self._head = {"id": id, "object": "response", "created_at": created_at, "model": model, **echoed(echo or {})}
        self._namespaces = namespaces or {}
        self._client_tools = {name: _form(type) for name, type in (client_tools or {}).items()}
        self._output: list[dict[str, Any]] = []
        self._item: Item | None = None  # the open one
        self._kind: Kind | None = None  # of the run of text or reasoning that is being written
        self._blank: list[str] = []  # white space at its start
        self._number = 0

    def close(self, finish_reason: str = "stop", usage: Mapping[str, Any] | None = None) -> list[Message]:
        """Say that the reply has ended, and why, in the words of chat completions; return the last events.

        A reply that was cut off ("length", "content_filter") is incomplete, and so is the item that was open. `usage`
        is that of a chat completion or a response. Closing twice does nothing.
        """
        if self._closed:
            return []
        reason = _CUT.get(our_reason(finish_reason))
        status = "incomplete" if reason else "completed"
        messages = [*self._ended(), *self._end(status)]
        details = {"incomplete_details": {"reason": reason}} if reason else {}
        messages.append(self._lifecycle(f"response.{status}", status, usage=usage_of(usage), **details))
        return messages

    def fail(self, message: str, code: str = "server_error") -> list[Message]:
        """Say that no more will come, because something broke; return the last events. After the end it does nothing.

        What was open is incomplete. `code` is one of the API's codes of errors.
        """
        if self._closed:
            return []
        messages = [*self._ended(), *self._end("incomplete")]
        messages.append(self._lifecycle("response.failed", "failed", error={"code": code, "message": message}))
        return messages

    def _first(self) -> list[Message]:
        return [self._lifecycle(f"response.{name}", "in_progress") for name in ("created", "in_progress")]

    def _lifecycle(self, type: str, status: str, **fields: Any) -> Message:
        response = {
            **self._head,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "output": list(self._output),
            "usage": None,
            **fields,
        }
        return self._say((type, {"response": response}))

    def _say(self, message: Message) -> Message:
        type, fields = message
        self._number += 1
        return type, {"type": type, "sequence_number": self._number - 1, **fields}

    def _piece(self, piece: Piece) -> Iterator[Message]:
        if piece.kind is Kind.START:
            yield from self._end("completed")
            yield from self._start_call(piece)
        elif piece.kind is Kind.ARGUMENTS:
            yield from self._add(piece.text)
        elif piece.kind in ENDS:
            yield from self._end(piece.kind.value)
        else:
            yield from self._text(piece.kind, piece.text)

    def _text(self, kind: Kind, text: str) -> Iterator[Message]:
        if kind is not self._kind:
            yield from self._end("completed")
            self._kind = kind
        if self._item is None:
            self._blank.append(text)
            if text.isspace():
                return
            text = "".join(self._blank)
            yield from self._start(FORMS[kind], {})
        yield from self._add(text)

    def _start_call(self, piece: Piece) -> Iterator[Message]:
        if form := self._client_tools.get(piece.text):
            yield from self._start(form, {"call_id": piece.id})
            return
        space, name = self._namespaces.get(piece.text, ("", piece.text))
        head = {"call_id": piece.id, "name": name, **({"namespace": space} if space else {})}
        yield from self._start(CALL if self._input is None else CUSTOM_CALL, head)

    def _start(self, form: Form, head: Mapping[str, Any]) -> Iterator[Message]:
        place = len(self._output)
        self._item = Item(form, place, f"{form.prefix}_{self._head['id'].removeprefix('resp_')}_{place}", head)
        yield from map(self._say, self._item.start())

    def _add(self, text: str) -> Iterator[Message]:
        if self._item is not None and text:
            yield from map(self._say, self._item.add(text))

    def _end(self, status: str) -> Iterator[Message]:
        """End the item that is open, and the run of text."""
        self._kind = None
        self._blank.clear()
        if self._item is not None:
            item, self._item = self._item, None
            yield from map(self._say, item.end(status))
            if item.is_told(status):
                self._output.append(item.written(status))


def response_object(
    reply: Reply | Iterable[Text | Reasoning | ToolCall | CallError],
    *,
    finish_reason: str = "stop",
    usage: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return the response that is not streamed: the one that a stream of the same reply ends with.

    Takes a reply or its parts, `finish_reason` and `usage` as `ResponsesStream.close` does, and the options of
    `ResponsesStream`. A block that gave no call becomes text (`on_failure`), as the client has not heard of it. The
    members of arguments may stand in another order than in a stream. Raises `XMLToolsError` for other parts, and as
    `ResponsesStream` does.
    """
    stream = ResponsesStream(**options)
    stream.feed(map(_event, reply.parts if isinstance(reply, Reply) else reply))
    _, data = stream.close(finish_reason, usage)[-1]
    response: dict[str, Any] = data["response"]
    return response


def _form(type: str) -> Form:
    if type not in CLIENT_CALLS:
        raise XMLToolsError(f"client_tools: expected one of the types {', '.join(CLIENT_CALLS)}, got {type!r:.60}")
    return CLIENT_CALLS[type]


def _event(part: Any) -> Event:
    match part:
        case Text():
            return TextDelta.make(part.text, 0)
        case Reasoning():
            return ReasoningDelta(part.text, (0, 0))
        case ToolCall():
            return CallCompleted(part)
        case CallError():
            return CallFailed(part)
    kind = type(part).__name__
    raise XMLToolsError(
        f"response_object() expects a Reply or its parts: Text, Reasoning, ToolCall, CallError; got {kind}"
    )
