"""A conversation to Wolo's messages (see `wolo`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, cast

from xmltools.formats.shared.losses import Report
from xmltools.formats.shared.spelling import note_of, restored
from xmltools.formats.wolo.message_fields import (
    CONVERSATION,
    MESSAGE,
    NAME,
    TEXT_PART,
    Answer,
    message_record,
    text_id,
    tool_part_reads,
    tool_part_record,
)
from xmltools.formats.wolo.types import Message as StoredMessage
from xmltools.models import Conversation, Message, Reasoning, Text, ToolCall, ToolResult

Place = tuple[int, int]
"""Where a call stands: the number of its message, and of the part in it."""


def dump(conversation: Conversation, report: Report) -> list[StoredMessage] | dict[str, Any]:
    """Write Wolo's messages (see `wolo.dump`)."""
    answers = find_answers(conversation.messages, report)
    messages: list[StoredMessage] = []
    for index, message in enumerate(conversation.messages):
        if message.role != "tool":
            _tell(message, index, answers, report)
            messages.append(_message(message, index, len(messages), answers))
    note = note_of(conversation.extra, NAME)
    if not conversation.metadata and not note:
        return messages
    return restored({"messages": messages, "metadata": conversation.metadata}, note, CONVERSATION)


def _message(message: Message, index: int, number: int, answers: dict[Place, Answer]) -> StoredMessage:
    note = note_of(message.extra, NAME)
    record = restored(message_record(message), note, MESSAGE)
    record["parts"] = _parts(message, index, number, answers, deque(_unknown_parts(note)))
    return cast(StoredMessage, record)


def _parts(
    message: Message, index: int, number: int, answers: dict[Place, Answer], unknown: deque[tuple[int, Any]]
) -> list[Any]:
    parts: list[Any] = []
    for place, part in enumerate(message.parts):
        if not isinstance(part, (Text, ToolCall)):
            continue
        while unknown and unknown[0][0] <= len(parts):
            parts.append(unknown.popleft()[1])
        if isinstance(part, Text):
            owner = number if message.id is None else message.id
            parts.append(_text_part(part, text_id(owner, len(parts))))
        else:
            parts.append(_tool_part(part, answers.get((index, place))))
    return parts + [part for _, part in unknown]


def _unknown_parts(note: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    pairs = note.get("unknown_parts")
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], int):
            yield pair[0], pair[1]


def _text_part(part: Text, made_id: str) -> dict[str, Any]:
    record = {"id": made_id, "type": "text", "text": part.text}
    return restored(record, note_of(part.extra, NAME), TEXT_PART)


def _tool_part(call: ToolCall, answer: Answer | None) -> dict[str, Any]:
    return restored(tool_part_record(call, answer), note_of(call.extra, NAME), tool_part_reads(answer))


# Results and their calls


def find_answers(messages: Iterable[Message], report: Report) -> dict[Place, Answer]:
    """Return the results by the places of their calls.

    A result answers the first call with its id that has none yet, of the last message with such calls. Reports the
    results that answer none, and those that will stand elsewhere: a result stands in its call.
    """
    finder = _Finder(report)
    for index, message in enumerate(messages):
        finder.message(index, message)
    return finder.answers


class _Finder:
    __slots__ = ("_last", "_open", "_report", "_speaker", "answers")

    def __init__(self, report: Report) -> None:
        self.answers: dict[Place, Answer] = {}
        self._report = report
        self._open: dict[str, deque[Place]] = {}
        self._speaker = -1  # the last message that is not a tool's
        self._last: Place = (-1, -1)  # the last call that was answered

    def message(self, index: int, message: Message) -> None:
        if message.role != "tool":
            self._speaker = index
        elif any(not isinstance(part, ToolResult) for part in message.parts):
            self._report.add("tool_parts", "wolo cannot hold what stands beside results", index)
        is_first = True
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and message.role != "tool":
                self._ask(part.id, (index, place))
            elif isinstance(part, ToolResult):
                self._answer(index, Answer(part, message, is_first))
                is_first = False

    def _ask(self, id: str, place: Place) -> None:
        waiting = self._open.get(id)
        if not waiting or waiting[-1][0] != place[0]:
            waiting = self._open[id] = deque()
        waiting.append(place)

    def _answer(self, index: int, answer: Answer) -> None:
        waiting = self._open.get(answer.result.call_id)
        if not waiting:
            what = f"the result of {answer.result.name!r:.80} answers no open call: wolo keeps results in their calls"
            self._report.add("orphan_result", what, index)
            return
        place = waiting.popleft()
        if answer.message.role != "tool" or place[0] != self._speaker or place < self._last:
            self._report.add("moved_result", "a result comes to stand right after its call", index)
        self.answers[place] = answer
        self._last = place


# What is lost in one message


def _tell(message: Message, index: int, answers: dict[Place, Answer], report: Report) -> None:
    kinds = [isinstance(part, Reasoning) for part in message.parts if not isinstance(part, Reasoning) or part.text]
    if kinds != sorted(kinds, reverse=True):
        report.add("reasoning_order", "wolo keeps the reasoning of a message in front of all else", index)
    for place, part in enumerate(message.parts):
        if isinstance(part, ToolCall) and (index, place) not in answers and part.status in ("completed", "failed"):
            report.add("missing_result", f"a {part.status} call without result is read back with an empty one", index)
