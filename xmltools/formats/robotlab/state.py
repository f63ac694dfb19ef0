"""RobotLab's state: what was said so far, the data beside it, the results of robots, and the history of all of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.robotlab.messages import (
    Message,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
    spoken,
)

_Hash = Message | Mapping[str, Any]


def format_history(messages: Iterable[_Hash], results: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the hashes of the messages and of the results of robots, as a conversation that a model can go on with.

    A result is an object with "output" (messages) and "tool_calls" (the results of its calls), each a list; it may
    also be a message, or a list of messages. Each result of a tool stands directly after the message with its call,
    in the order of the calls. Texts of one role that follow each other are one text, with an empty line between
    them: so user and assistant alternate. Its stop_reason is that of the last, since that is how the whole of it
    ended. A result of a call that is nowhere stays where it is. Raises XMLToolsError for what is no message, and no
    result.
    """
    history = list(messages)
    for result in results:
        history += _messages_of(result)
    return [each.to_h() for each in _joined(_interleaved(list(map(spoken, history))))]


def _messages_of(result: Any) -> list[Any]:
    """Return the messages of what may be added to a state: of a robot's result, its output and those of its calls."""
    if isinstance(result, UserMessage):
        return [result.to_message()]
    if isinstance(result, Message) or (isinstance(result, Mapping) and "type" in result):
        return [result]
    if isinstance(result, (list, tuple)):
        return [each.to_message() if isinstance(each, UserMessage) else each for each in result]
    lists = [_field(result, name) for name in ("output", "tool_calls")]
    if any(each is not None and not isinstance(each, (list, tuple)) for each in lists) or lists == [None, None]:
        right = 'an object with the lists "output" and "tool_calls", a message, or a list of messages'
        raise XMLToolsError(f"result: expected {right}, got {result!r:.80}")
    return [message for each in lists for message in each or ()]


def _interleaved(messages: list[Message]) -> Iterator[Message]:
    """Yield the messages, each result after the first call of its id that has none yet; one that comes too early, after
    a call that comes later."""
    waiting: dict[str, deque[int]] = {}  # places of calls without a result, by id
    answers: dict[int, list[ToolResultMessage]] = {}
    early: list[tuple[int, ToolResultMessage]] = []
    for place, message in enumerate(messages):
        if isinstance(message, ToolCallMessage):
            for call in message.calls:
                waiting.setdefault(str(call.id), deque()).append(place)
        elif isinstance(message, ToolResultMessage):
            called_at = waiting.get(str(message.call.id))
            if called_at:
                answers.setdefault(called_at.popleft(), []).append(message)
            else:
                early.append((place, message))
    for place, message in early:
        called_at = waiting.get(str(message.call.id))
        answers.setdefault(called_at.popleft() if called_at else place, []).append(message)
    for place, message in enumerate(messages):
        if not isinstance(message, ToolResultMessage):
            yield message
        calls = message.calls if isinstance(message, ToolCallMessage) else ()
        order = {str(call.id): number for number, call in enumerate(calls)}
        found = answers.get(place, ())
        yield from sorted(found, key=lambda each: order.get(str(each.call.id), 0)) if len(found) > 1 else found


def _joined(messages: Iterable[Message]) -> list[Message]:
    """Return the messages with neighbours that are texts of one role as one."""
    joined: list[Message] = []
    for role, group in groupby(messages, _text_role):
        same = list(group)
        if role is None or len(same) == 1:
            joined += same
        else:
            joined.append(replace(same[-1], content="\n\n".join(each.content for each in same if each.content)))
    return joined


def _text_role(message: Message) -> str | None:
    """Return the role of a text, None for what is none."""
    return message.role if message.is_text and isinstance(message.content, str) else None


def _field(result: Any, name: str) -> Any:
    return result.get(name) if isinstance(result, Mapping) else getattr(result, name, None)


@dataclass(slots=True)
class State:
    """A conversation with robots. `given` is what was said before any of them, `results` are theirs, `data` is what the
    caller keeps beside.

    The document shows results among the messages of a state, RobotLab itself keeps them apart: `messages` has them.
    """

    given: list[Message] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    results: list[Any] = field(default_factory=list)

    def append_result(self, result: Any) -> None:
        """Add the result of a robot: an object, or a mapping, with the lists "output" (messages) and "tool_calls" (the
        results of its calls). A message, such as the user's next one, or a list of messages is added too. Raises
        XMLToolsError for anything else."""
        _ = [spoken(each) for each in _messages_of(result)]
        self.results.append(result)

    @property
    def messages(self) -> list[Message]:
        """All messages, each result of a tool directly after its call."""
        said = [spoken(each) for result in self.results for each in _messages_of(result)]
        return list(_interleaved([*self.given, *said]))

    def format_history(self) -> list[dict[str, Any]]:
        """Return the messages as hashes for a model, user and assistant in turns (see `format_history`)."""
        return format_history(self.given, self.results)


def create_state(
    message: str | UserMessage | Message | Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    *,
    messages: Iterable[Message | Mapping[str, Any]] = (),
) -> State:
    """Return a state in which the user has said `message`, after `messages` if there were any.

    Raises XMLToolsError for what is no message.
    """
    given = [spoken(each) for each in messages]
    if isinstance(message, str):
        given.append(TextMessage(role="user", content=message))
    elif message is not None:
        given.append(message.to_message() if isinstance(message, UserMessage) else spoken(message))
    if data is not None and not isinstance(data, Mapping):
        raise XMLToolsError(f"data: expected a mapping, got {type(data).__name__}")
    return State(given, dict(data or {}))
