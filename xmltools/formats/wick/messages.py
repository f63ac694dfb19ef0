"""Conversations to Wick's messages and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.formats.shared.extra import plain as plain_object
from xmltools.formats.shared.losses import Report
from xmltools.formats.wick.calls import NAME, own_extra, read_call, string_in, with_others, write_call
from xmltools.models import Conversation, Message, ToolCall, ToolResult
from xmltools.models.json_fields import expect, fail
from xmltools.models.message import parts_of

ROLES = ("system", "user", "assistant", "tool")
STATE_KEYS = ("thread_id", "messages", "todos", "files")
RESULT_NOTE = "tool_result"
"""Where a result keeps its output and its error, if it was made of both."""
_MESSAGE_KEYS = ("role", "content", "tool_calls")
_RESULT_KEYS = ("role", "content", "tool_call_id", "name")


def plain(messages: Any) -> Sequence[Any]:
    """Return a conversation as a list of messages, with the calls' raw argument texts, or such a list as it is.

    Messages of this package may stand in the list. Raises XMLToolsError for anything else than a list.
    """
    return write(messages, Report(), raw_args=True) if isinstance(messages, Conversation) else _listed(messages)


def _listed(messages: Any) -> list[Any]:
    if not isinstance(messages, (list, tuple)):
        has_list = isinstance(messages, Mapping) and "messages" in messages
        hint = ': give the list in its "messages"' if has_list else ""
        raise XMLToolsError(f"expected a list of messages {{role, content}}, got {type(messages).__name__}{hint}")
    return [written for each in messages for written in _as_json(each)]


def _as_json(given: Any) -> list[Any]:
    if isinstance(given, Message):
        return write(Conversation(messages=(given,)), Report(), raw_args=True)
    return [given.model_dump(exclude_unset=True) if hasattr(given, "model_dump") else given]


# Reading


def read(obj: Any, report: Report) -> Conversation:
    """Read a list of messages, or a state. What Go would read as an empty value is one here too, and reported."""
    source = plain_object(obj)
    if not isinstance(source, Mapping) or "thread_id" not in source:
        return Conversation(messages=tuple(_Reader(_listed(obj), report).messages()))
    messages = source.get("messages")
    read = tuple(_Reader(_listed([] if messages is None else messages), report).messages())
    return Conversation(messages=read, extra={NAME: _state(source)})


def _state(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a state around its messages."""
    check_state(source)
    # Go writes null for no messages at all.
    is_null = "messages" in source and source["messages"] is None
    return {key: value for key, value in source.items() if key != "messages" or is_null}


def check_state(source: Mapping[str, Any]) -> None:
    """Raise XMLToolsError if the thread_id, the todos or the files of a state are of another kind; null is nothing."""
    expect("" if source["thread_id"] is None else source["thread_id"], str, "thread_id", "a string")
    todos, files = source.get("todos"), source.get("files")
    for number, todo in enumerate(() if todos is None else expect(todos, (list, tuple), "todos", "a list of objects")):
        expect(todo, Mapping, f"todos[{number}]", "an object")
    right = "an object of texts by their paths"
    for path, text in ({} if files is None else expect(files, Mapping, "files", right)).items():
        expect(text, str, f"files[{path!r:.80}]", "a string")


class _Reader:
    """Reads the messages of one conversation; it knows the names of the calls so far."""

    def __init__(self, given: list[Any], report: Report) -> None:
        self.given = given
        self.report = report
        self.names: dict[str, str] = {}

    def messages(self) -> Iterator[Message]:
        answered = set(self._answered())
        for index, given in enumerate(self.given):
            where = f"message {index}"
            expect(given, Mapping, where, "an object with role and content")
            role = given.get("role")
            if role not in ROLES:
                fail(f"{where}: role", "system, user, assistant or tool", role, is_word=True)
            if role == "tool":
                yield self._results(given, index)
            else:
                yield self._message(role, given, index, answered)

    def _answered(self) -> Iterator[str]:
        for given in self.given:
            if isinstance(given, Mapping) and given.get("role") == "tool":
                call_id = given.get("tool_call_id") or ""
                if isinstance(call_id, str):
                    yield call_id

    def _message(self, role: Any, given: Mapping[str, Any], index: int, answered: set[str]) -> Message:
        text = self._content(given, index)
        calls = list(self._calls(given, index, answered))
        self.names |= {call.id: call.name for call in calls}
        return Message(role=role, parts=(*parts_of(text), *calls), extra=_others(given, _MESSAGE_KEYS))

    def _content(self, given: Mapping[str, Any], index: int) -> str:
        content = given.get("content")
        if content is None:
            self.report.add("missing_content", "there is no content", index, 'write "content": ""')
            return ""
        text: str = expect(content, str, f"message {index}: content", "a string (Wick has text only)")
        return text

    def _calls(self, given: Mapping[str, Any], index: int, answered: set[str]) -> Iterator[ToolCall]:
        where = f"message {index}: tool_calls"
        calls = given.get("tool_calls")
        for number, each in enumerate([] if calls is None else expect(calls, (list, tuple), where, "a list of calls")):
            call = read_call(each, f"{where}[{number}]", self.report, index)
            if not call.id:
                self.report.add("missing_id", f"call {number} has no id", index, "give each call an id of its own")
            if not call.name:
                self.report.add("missing_name", f"call {number} has no name", index, "name the tool")
            yield call.model_copy(update={"status": "completed"}) if call.id in answered else call

    def _results(self, given: Mapping[str, Any], index: int) -> Message:
        call_id = string_in(given, "tool_call_id", f"message {index}")
        name = string_in(given, "name", f"message {index}")
        content = self._content(given, index)
        if not call_id:
            self.report.add("missing_id", "the result has no tool_call_id", index, "give it the id of its call")
        if not name:
            name = self._name_of(call_id, index)
        result = ToolResult(call_id=call_id, name=name, content=content)
        return Message(role="tool", parts=(result,), extra=_others(given, _RESULT_KEYS))

    def _name_of(self, call_id: str, index: int) -> str:
        name = self.names.get(call_id, "")
        if name:
            self.report.add("missing_name", "the result has no name: it gets that of its call", index)
        else:
            self.report.add("orphan_result", "the result has no name, and there is no call before it", index)
        return name


def _others(given: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    others = {key: value for key, value in given.items() if key not in known}
    return {NAME: others} if others else {}


# Writing


def write_whole(conversation: Conversation, report: Report) -> Any:
    """Write a conversation as a list of messages, or as the state that it was read from."""
    messages: Any = write(conversation, report)
    state = own_extra(conversation.extra)
    if "thread_id" not in state:
        return messages
    is_null = not messages and "messages" in state
    return {"thread_id": state["thread_id"], "messages": None if is_null else messages} | {
        key: value for key, value in state.items() if key not in ("thread_id", "messages")
    }


def write(conversation: Conversation, report: Report, *, raw_args: bool = False) -> list[dict[str, Any]]:
    """Write a conversation as a list of messages. `raw_args`: with the raw argument texts, which Wick never stores."""
    written: list[dict[str, Any]] = []
    for index, message in enumerate(conversation.messages):
        for code, what in _odd(message):
            report.add(code, what, index)
        kept = own_extra(message.extra)
        if message.role == "tool":
            written += (_write_result(result, {**own_extra(result.extra), **kept}) for result in message.results)
            continue
        if not message.results or message.text or message.calls:
            written.append(_write_message(message, kept, raw_args))
        written += (_write_result(result, own_extra(result.extra)) for result in message.results)
    return written


def _odd(message: Message) -> Iterator[tuple[str, str]]:
    if message.role != "tool" and message.results:
        yield "misplaced_result", "results stand in messages of their own"
    if message.role == "tool" and (message.text or message.calls):
        yield "misplaced_part", "text and calls beside results are left out"
    if message.role == "tool" and not message.results:
        yield "empty_message", "a tool message without a result is left out"


def _write_message(message: Message, kept: Mapping[str, Any], raw_args: bool) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        written["tool_calls"] = [write_call(call, raw_args) for call in message.calls]
    return with_others(written, kept, _MESSAGE_KEYS)


def _write_result(result: ToolResult, kept: Mapping[str, Any]) -> dict[str, Any]:
    written: dict[str, Any] = {"role": "tool", "content": result.text}
    if result.call_id:
        written["tool_call_id"] = result.call_id
    if result.name:
        written["name"] = result.name
    return with_others(written, kept, (*_RESULT_KEYS, RESULT_NOTE))
