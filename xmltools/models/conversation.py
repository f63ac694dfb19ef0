"""Conversations: messages in order. Every step makes a new one and leaves the old one as it was."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, overload

from pydantic import Field, ValidationError
from pydantic_core import PydanticSerializationError

from xmltools.errors import XMLToolsError
from xmltools.models.media import Media
from xmltools.models.message import Content, Message, Role
from xmltools.models.parts import Text, ToolCall, Value
from xmltools.models.results import ToolResult


class Conversation(Value):
    """Messages in order, with the host's `metadata` and, in `extra`, what only one format knows, under its name.

    >>> chat = Conversation().system("Be brief.").user("2 + 2?").assistant("4")
    >>> len(chat), chat.last_text
    (3, '4')
    """

    messages: tuple[Message, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    extra: dict[str, Any] = Field(default_factory=dict)

    # Building

    def add(self, *messages: Message) -> Conversation:
        """Return a conversation with these messages at its end."""
        for message in messages:
            if not isinstance(message, Message):
                raise XMLToolsError(f"expected xmltools.Message, got {type(message).__name__}")
        return self.with_messages((*self.messages, *messages))

    def system(self, content: Content, **fields: Any) -> Conversation:
        """Return a conversation with one more system message. Takes text or parts, and other fields by name."""
        return self.add(Message.system(content, **fields))

    def user(self, content: Content, **fields: Any) -> Conversation:
        """Return a conversation with one more message of the user."""
        return self.add(Message.user(content, **fields))

    def assistant(
        self, content: Content = "", calls: ToolCall | Iterable[ToolCall] = (), *, reasoning: str = "", **fields: Any
    ) -> Conversation:
        """Return a conversation with one more reply."""
        return self.add(Message.assistant(content, calls, reasoning=reasoning, **fields))

    def tool(
        self,
        call_id: str | ToolResult,
        name: str | None = None,
        content: str | tuple[Text | Media, ...] = "",
        *,
        is_error: bool = False,
        **fields: Any,
    ) -> Conversation:
        """Return a conversation with one more message, which holds the result of a call: a ToolResult, or its fields.

        Without a name it is that of the call. Raises XMLToolsError if there is no call of that id to take it from.
        """
        if isinstance(call_id, ToolResult):
            return self.add(Message.tool(call_id, **fields))
        if name is None:
            call = self.find_call(call_id)
            if call is None:
                raise XMLToolsError(
                    f"there is no call with the id {call_id!r:.80}: give the tool's name, or correct it"
                )
            name = call.name
        return self.add(Message.tool(call_id, name, content, is_error=is_error, **fields))

    def concat(self, other: Conversation) -> Conversation:
        """Return both conversations, one after the other; metadata and extra are those of the first.

        A call of the other whose id a call here has gets a new id, `call_1_2` for `call_1`, and so do the results that
        come after it: of a result nobody could say otherwise which call it answers.
        """
        taken = {call.id for call in self.calls if call.id}
        if not any(call.id in taken for call in checked_conversation(other).calls):
            return self.with_messages((*self.messages, *other.messages))
        given = taken | {call.id for call in other.calls}
        made: dict[str, str] = {}
        messages: list[Message] = []
        for message in other.messages:
            parts: list[Any] = []
            for part in message.parts:
                if isinstance(part, ToolCall) and part.id in taken:
                    if part.id not in made:
                        made[part.id] = _other_id(part.id, given)
                        given.add(made[part.id])
                    parts.append(part.model_copy(update={"id": made[part.id]}))
                elif isinstance(part, ToolResult) and part.call_id in made:
                    parts.append(part.model_copy(update={"call_id": made[part.call_id]}))
                else:
                    parts.append(part)
            messages.append(message.model_copy(update={"parts": tuple(parts)}))
        return self.with_messages((*self.messages, *messages))

    def with_messages(self, messages: Iterable[Message]) -> Conversation:
        """Return the conversation with other messages."""
        return self.model_copy(update={"messages": tuple(messages)})

    # Looking

    def __len__(self) -> int:
        return len(self.messages)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        """Return the conversation as text for people: a block for each message, such as `[Human]` and what was said."""
        from xmltools.models.pretty import shown  # only here: who looks at no conversation need not load it

        return "".join(block for message in self.messages for block in shown(message))

    def __iter__(self) -> Iterator[Message]:  # type: ignore[override]
        return iter(self.messages)

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> Conversation: ...
    def __getitem__(self, place: int | slice) -> Message | Conversation:
        return self.with_messages(self.messages[place]) if isinstance(place, slice) else self.messages[place]

    @property
    def last(self) -> Message | None:
        """The last message, None if there is none."""
        return self.messages[-1] if self.messages else None

    @property
    def last_text(self) -> str:
        """The text of the last message, nothing if there is none."""
        return self.messages[-1].text if self.messages else ""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All calls, in order."""
        return tuple(call for message in self.messages for call in message.calls)

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """All results, in order."""
        return tuple(result for message in self.messages for result in message.results)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result."""
        answered = {result.call_id for result in self.results}
        return tuple(call for call in self.calls if call.id not in answered)

    def find_call(self, call_id: str) -> ToolCall | None:
        """Return the last call with an id, None if there is none."""
        return next((call for call in reversed(self.calls) if call.id == call_id), None)

    def find_result(self, call_id: str) -> ToolResult | None:
        """Return the last result of the call with an id, None if there is none."""
        return next((result for result in reversed(self.results) if result.call_id == call_id), None)

    def by_role(self, *roles: Role) -> Conversation:
        """Return the messages of these roles."""
        return self.with_messages(message for message in self.messages if message.role in roles)

    @property
    def system_messages(self) -> Conversation:
        """The system messages."""
        return self.by_role("system")

    @property
    def user_messages(self) -> Conversation:
        """The messages of the user."""
        return self.by_role("user")

    @property
    def assistant_messages(self) -> Conversation:
        """The replies."""
        return self.by_role("assistant")

    @property
    def tool_messages(self) -> Conversation:
        """The messages with results."""
        return self.by_role("tool")

    # JSON

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the conversation as JSON; fields that hold their default are left out."""
        try:
            return self.model_dump_json(indent=indent, exclude_defaults=True)
        except PydanticSerializationError:
            # Models write lone surrogates, which only the escapes of JSON can say.
            return json.dumps(self.model_dump(exclude_defaults=True), indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Conversation:
        """Read what `to_json` wrote. Raises XMLToolsError for anything else, with the first place that is wrong."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            wrong = error
        try:
            if wrong.errors()[0]["type"] == "json_invalid":  # or a lone surrogate, which pydantic takes for no JSON
                return cls.model_validate(json.loads(text))
        except ValidationError as error:
            wrong = error
        except (ValueError, RecursionError):
            pass
        first = wrong.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise XMLToolsError(f"expected a conversation as JSON: at {place}: {first['msg']}")


def _other_id(id: str, given: set[str]) -> str:
    """Return the id with the first number, from 2, that makes it another than those that are given."""
    return next(other for number in count(2) if (other := f"{id}_{number}") not in given)


def checked_conversation(value: Any, function: str = "") -> Conversation:
    """Return a conversation. Raises XMLToolsError for anything else, which names the function that was called."""
    if isinstance(value, Conversation):
        return value
    has_messages = isinstance(value, (list, tuple))
    hint = ": load it, or make one of messages, as in Conversation(messages=[…])" if has_messages else ""
    where = f"{function}: " if function else ""
    raise XMLToolsError(f"{where}expected xmltools.Conversation, got {type(value).__name__}{hint}")
