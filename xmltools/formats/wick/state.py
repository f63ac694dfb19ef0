"""Wick's two other structs: the state of an agent, in which its messages are stored, and what a tool gave back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from xmltools import models
from xmltools.errors import Issue, XMLToolsError
from xmltools.formats import dump, load
from xmltools.formats.shared.extra import extra_of, kept_for, plain, rest
from xmltools.formats.wick.calls import NAME
from xmltools.formats.wick.messages import RESULT_NOTE, STATE_KEYS, check_state
from xmltools.models import Conversation, Message
from xmltools.models.json_fields import expect

_RESULT_KEYS = ("tool_call_id", "name", "output", "error")


@dataclass(frozen=True, slots=True)
class AgentState:
    """What Wick stores of a thread: its messages, the agent's todos and its files, by their paths.

    `messages` may be given as a conversation or as a list of messages, of this package or as Wick's JSON; None is no
    messages, no todos and no files, as Go's null. `others` are further keys of the stored object; `spelled` says how it
    wrote those of its own that say nothing (`null`, `[]`), so that they are written again. Raises XMLToolsError for
    messages that are none, and for other fields of a wrong kind.
    """

    thread_id: str = ""
    messages: Conversation = field(default_factory=Conversation)
    todos: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    others: dict[str, Any] = field(default_factory=dict)
    spelled: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_state({"thread_id": self.thread_id, "todos": self.todos, "files": self.files})
        empty: dict[str, Any] = {"thread_id": "", "messages": Conversation(), "todos": [], "files": {}}
        for key, nothing in empty.items():
            if getattr(self, key) is None:
                object.__setattr__(self, key, nothing)
                object.__setattr__(self, "spelled", {**self.spelled, key: None})
        if not isinstance(self.messages, Conversation):
            object.__setattr__(self, "messages", _conversation(self.messages))

    @classmethod
    def from_dict(cls, obj: Mapping[str, Any], *, issues: list[Issue] | None = None) -> AgentState:
        """Read the JSON of a state. `issues` gets what `load` reports; raises XMLToolsError for what is no state."""
        if "thread_id" not in expect(obj, Mapping, "state", "an object {thread_id, messages, todos, files}"):
            raise XMLToolsError("state: expected an object with a thread_id")
        return cls.of(load(obj, NAME, issues=issues))

    @classmethod
    def of(cls, conversation: Conversation) -> AgentState:
        """Return the state that a conversation was read from; one with an empty `thread_id` if it was from none."""
        own = kept_for(conversation, NAME)
        extra = rest(conversation.extra, (NAME,))
        return cls(
            thread_id=own.get("thread_id") or "",
            messages=conversation.model_copy(update={"extra": extra}),
            todos=list(own.get("todos") or ()),
            files=dict(own.get("files") or {}),
            others=rest(own, STATE_KEYS),
            spelled={key: own[key] for key in STATE_KEYS if key in own and not own[key]},
        )

    def to_conversation(self) -> Conversation:
        """Return the messages, with the rest of the state in `extra["wick"]`: `dump` writes the state again."""
        given = {"thread_id": self.thread_id, "todos": self.todos, "files": self.files}
        said = {key: value for key, value in given.items() if value}
        own = {"thread_id": self.thread_id, **self.spelled, **said, **self.others}
        return self.messages.model_copy(update={"extra": {**self.messages.extra, NAME: own}})

    def to_dict(self, *, issues: list[Issue] | None = None) -> dict[str, Any]:
        """Return the JSON of the state, without todos and files if there are none and it was not read from one that
        wrote them so. `issues`: as for `dump`."""
        written: dict[str, Any] = dump(self.to_conversation(), NAME, issues=issues)
        return written


def _conversation(messages: Iterable[Message | Mapping[str, Any]]) -> Conversation:
    given = list(expect(messages, Iterable, "messages", "a conversation, or a list of messages"))
    if not any(isinstance(each, Message) for each in given):
        return load(given, NAME)
    read = ([each] if isinstance(each, Message) else load([each], NAME).messages for each in given)
    return Conversation(messages=tuple(chain.from_iterable(read)))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back: its output, and the error if it failed. A tool that failed may have both.

    `others` are further keys of the object.
    """

    tool_call_id: str
    name: str
    output: str = ""
    error: str = ""
    others: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, obj: Mapping[str, Any]) -> ToolResult:
        """Read the JSON of a result. What is missing is empty. Raises XMLToolsError for values that are no strings."""
        source = expect(plain(obj), Mapping, "result", "an object {tool_call_id, name, output, error}")
        given = {key: source[key] for key in _RESULT_KEYS if source.get(key) is not None}
        texts: dict[str, str] = {key: expect(given.get(key, ""), str, key, "a string") for key in _RESULT_KEYS}
        return cls(**texts, others=rest(source, _RESULT_KEYS))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON of the result, without the error if there is none."""
        written = {"tool_call_id": self.tool_call_id, "name": self.name, "output": self.output}
        return {**written, **({"error": self.error} if self.error else {}), **self.others}

    def to_result(self) -> models.ToolResult:
        """Return it as a result of a conversation. Its content is the output, then the error on a line of its own, so
        that the model sees both; with an error `is_error` is true."""
        both = {"output": self.output, "error": self.error} if self.output and self.error else {}
        return models.ToolResult(
            call_id=self.tool_call_id,
            name=self.name,
            content=_joined(self.output, self.error),
            is_error=bool(self.error),
            extra=extra_of(NAME, {**({RESULT_NOTE: both} if both else {}), **self.others}),
        )

    def to_message(self) -> Message:
        """Return it as a message of the role "tool"."""
        return Message.tool(self.to_result())

    @classmethod
    def of(cls, result: models.ToolResult) -> ToolResult:
        """Return a result of a conversation as Wick's. The content of one that is an error is the error, unless it was
        read from both; an error without a text is "unknown error".

        Raises XMLToolsError for a result with files: Wick has text only.
        """
        if not isinstance(result.content, str) and any(isinstance(part, models.Media) for part in result.content):
            raise XMLToolsError(f"content of the result {result.call_id!r:.80}: expected text, got a file")
        own = kept_for(result, NAME)
        both = _both(own.pop(RESULT_NOTE, None))
        if not result.is_error:
            output, error = result.text, ""
        elif both is not None and _joined(*both) == result.text:
            output, error = both
        else:
            output, error = "", result.text or "unknown error"
        return cls(result.call_id, result.name, output, error, others=own)


def _both(note: Any) -> tuple[str, str] | None:
    """Return the output and the error that a result was made of, if it keeps them."""
    texts = [note.get(key) for key in ("output", "error")] if isinstance(note, Mapping) else []
    output, error = texts or (None, None)
    return (output, error) if isinstance(output, str) and isinstance(error, str) else None


def _joined(output: str, error: str) -> str:
    return "\n".join(filter(None, (output, error)))
