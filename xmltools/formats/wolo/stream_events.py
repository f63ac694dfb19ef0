"""A reply of Wolo's, made of the events of a stream as they arrive, and of what becomes of its calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.losses import Report
from xmltools.formats.shared.spelling import note_of
from xmltools.formats.wolo.message_fields import NAME
from xmltools.formats.wolo.reading import CallIds, read_call
from xmltools.models import CallStatus, Conversation, Message, Part, Reasoning, Text, ToolCall, ToolResult
from xmltools.models.json_fields import expect


def fold_events(events: Iterable[Mapping[str, Any]]) -> Message:
    """Return the reply that the events of a stream make (see `EventFolder`).

    Raises XMLToolsError for what is no event, with its number.
    """
    folder = EventFolder()
    for event in events:
        folder.feed(event)
    return folder.message


class EventFolder:
    """Makes a reply of the events of a stream: text-delta, reasoning-delta, tool-call and finish.

    `feed` takes them as they arrive, and `message` is the reply so far, with the `id` and the `created_at` (seconds
    since 1970) that are given. Where text came before a call, an empty text stands between them, as Wolo stores it.
    Text after a call is a part after it, and a call without an id gets one. Other events are passed over, but after
    `error` without `finish` that is why the reply ended. Without either it is not finished.

    When a call is run, say so: `start`, then `complete` or `fail`. `conversation` has the reply, and the results.
    """

    __slots__ = ("_count", "_ids", "_parts", "_reasoning", "_reply", "_results", "_texts")

    def __init__(self, *, id: str | None = None, created_at: float | None = None) -> None:
        self._reply = Message(role="assistant", id=id, created_at=created_at, finished=False)
        """All but its parts."""
        self._parts: list[Part] = []
        self._texts: list[str] = []
        """The text after the last part."""
        self._reasoning: list[str] = []
        self._results: dict[int, ToolResult] = {}
        """By the place of the call among the parts."""
        self._ids = CallIds()
        self._count = 0

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take an event. Raises XMLToolsError for what is none, with its number, and leaves the reply as it was."""
        where = f"event {self._count}"
        self._take(expect(event, Mapping, where, "an object with a type"), where)
        self._count += 1

    def _take(self, event: Mapping[str, Any], where: str) -> None:
        kind = event.get("type")
        if kind == "text-delta":
            self._texts.append(_string(event, "text", where))
        elif kind == "reasoning-delta":
            self._reasoning.append(_string(event, "text", where))
        elif kind == "tool-call":
            self._call(event, where)
        elif kind == "finish":
            self._finish(_string(event, "reason", where) or None)
        elif kind == "error" and not self._reply.finished:
            self._finish("error")

    def _finish(self, reason: str | None) -> None:
        self._reply = self._reply.model_copy(update={"finished": True, "finish_reason": reason})

    def _call(self, event: Mapping[str, Any], where: str) -> None:
        id = None if event.get("id") == "" else event.get("id")  # an empty one says no more than none
        part = {"id": id, "type": "tool", "tool": event.get("tool"), "input": event.get("input")}
        call, _ = read_call(part, where, 0, Report(), self._ids)
        self._ids.note(call.id)
        if text := _joined(self._texts):
            self._parts += [Text.unchecked(text), Text(text="")]
        self._texts.clear()
        self._parts.append(call.model_copy(update={"extra": _raw_input(call)}))

    # Calls that are run

    def start(self, call_id: str, *, at: float | None = None) -> None:
        """A pending call is running, since `at` (seconds since 1970).

        Raises XMLToolsError, as the other two do, if there is no such call, and for a step that is not the next one:
        pending, running, completed or failed.
        """
        self._step(call_id, "running", at)

    def complete(self, call_id: str, output: str, *, at: float | None = None) -> None:
        """A running call is completed, with this output."""
        self._end(call_id, "completed", output, at)

    def fail(self, call_id: str, error: str, *, at: float | None = None) -> None:
        """A running call has failed, with this error."""
        self._end(call_id, "failed", error, at)

    def _end(self, call_id: str, status: CallStatus, output: str, at: float | None) -> None:
        content = expect(output, str, "the output of a call", "text")
        place, call = self._step(call_id, status, at)
        result = {"call_id": call.id, "name": call.name, "content": content, "is_error": status == "failed"}
        self._results[place] = ToolResult.model_construct(**result)

    def _step(self, call_id: str, status: CallStatus, at: float | None) -> tuple[int, ToolCall]:
        """Bring a call one step further; of several with one id the first that has not ended. Returns its place."""
        calls = [(place, part) for place, part in enumerate(self._parts) if _is_call(part, call_id)]
        if not calls:
            raise XMLToolsError(f"there is no call with the id {call_id!r:.80} in this reply")
        place, call = next(((place, call) for place, call in calls if place not in self._results), calls[-1])
        moved = self._parts[place] = call.with_status(status, at=at)
        return place, moved

    # What has come of it

    @property
    def message(self) -> Message:
        """The reply so far."""
        parts: list[Part] = [*self._parts]
        if text := _joined(self._texts):
            parts.append(Text.unchecked(text))
        if thought := _joined(self._reasoning):
            parts.insert(0, Reasoning.unchecked(thought))
        return self._reply.model_copy(update={"parts": tuple(parts)})

    @property
    def conversation(self) -> Conversation:
        """The reply so far, and the results of its calls in the order of these, each a message."""
        results = (self._results[place] for place in sorted(self._results))
        return Conversation().add(self.message, *map(Message.tool, results))


def _is_call(part: Part, call_id: str) -> TypeGuard[ToolCall]:
    return isinstance(part, ToolCall) and part.id == call_id


def _joined(texts: list[str]) -> str:
    """Return the texts as one, which takes their place in the list: it is joined once, however often one looks."""
    texts[:] = ["".join(texts)]
    return texts[0]


def _string(event: Mapping[str, Any], key: str, where: str) -> str:
    value = event.get(key)
    return "" if value is None else str(expect(value, str, f"{where}: {key}", "a string"))


def _raw_input(call: ToolCall) -> dict[str, Any]:
    """Return the `extra` of a call that was streamed: of its spelling only input that says no arguments counts."""
    values = note_of(call.extra, NAME).get("values", {})
    raw = values.get("input")
    return {NAME: {"values": {"input": raw}}} if raw is not None else {}
