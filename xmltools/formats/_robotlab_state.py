"""RobotLab's state: what was said so far, the data beside it, and the results of robots that are appended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats._robotlab_messages import Message, TextMessage, UserMessage
from xmltools.formats._robotlab_providers import format_history, interleaved, messages_of

__all__ = ["State", "create_state"]


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
        results of its calls). Raises XMLToolsError for one whose messages are none."""
        _ = [Message.from_hash(each) for each in messages_of(result)]
        self.results.append(result)

    @property
    def messages(self) -> list[Message]:
        """All messages, each result of a tool directly after its call."""
        said = [Message.from_hash(each) for result in self.results for each in messages_of(result)]
        return list(interleaved([*self.given, *said]))

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
    given = [Message.from_hash(each) for each in messages]
    if isinstance(message, str):
        given.append(TextMessage(role="user", content=message))
    elif message is not None:
        given.append(message.to_message() if isinstance(message, UserMessage) else Message.from_hash(message))
    if data is not None and not isinstance(data, Mapping):
        raise XMLToolsError(f"data: expected a mapping, got {type(data).__name__}")
    return State(given, dict(data or {}))
