"""What a response consists of: its items, each as a row of events (added, filled, done), and what it says beside them,
the fields of its request and the usage.

What kinds of items have in common is one class; a `Form` says what each kind calls it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from xmltools.conversations.streams.pieces import Kind

Message = tuple[str, dict[str, Any]]
"""The name of an event and its data, which has the name as its type."""


class Form(NamedTuple):
    """How one kind of item is written."""

    type: str
    prefix: str
    """What the ids of such items begin with."""
    event: str
    """What the names of the events of the text begin with."""
    key: str
    """What the whole text is called where it is done."""
    part: Callable[[str], dict[str, Any]] | None = None
    """Makes the part that the text stands in; without, the text stands in the item itself."""
    fields: Callable[[], dict[str, Any]] = dict
    """Makes the fields that only such items have."""
    held: Callable[[], dict[str, Any]] | None = None
    """Makes the object that the item holds, to which the text as JSON adds; then the text has no events of its own."""
    late: bool = False
    """Whether there is no item before all of it is right: it can't say that it is unfinished, and a client runs it."""


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _reasoning_text(text: str) -> dict[str, Any]:
    return {"type": "reasoning_text", "text": text}


def _exec() -> dict[str, Any]:
    return {"type": "exec", "env": {}, "timeout_ms": None, "user": None, "working_directory": None}


def _commands() -> dict[str, Any]:
    return {"timeout_ms": None, "max_output_length": None}


CALL = Form("function_call", "fc", "response.function_call_arguments", "arguments")
CUSTOM_CALL = Form("custom_tool_call", "ctc", "response.custom_tool_call_input", "input")
CLIENT_CALLS = {
    "tool_search": Form("tool_search_call", "tsc", "", "arguments", None, lambda: {"execution": "client"}, held=dict),
    "local_shell": Form("local_shell_call", "lsh", "", "action", held=_exec, late=True),
    "shell": Form("shell_call", "sh", "response.shell_call_command", "action", held=_commands, late=True),
    "apply_patch": Form("apply_patch_call", "apc", "", "operation", held=dict, late=True),
}
"""How calls of tools are written that have a type and no name."""
FORMS = {
    Kind.TEXT: Form("message", "msg", "response.output_text", "text", _output_text, lambda: {"role": "assistant"}),
    Kind.REASONING: Form(
        "reasoning", "rs", "response.reasoning_text", "text", _reasoning_text, lambda: {"summary": []}
    ),
}


class Item:
    """One item of the output, from its first event to its last.

    `place` is that in the output, `head` the fields that are known from the start.
    """

    __slots__ = ("_form", "_head", "_id", "_place", "_texts")

    def __init__(self, form: Form, place: int, id: str, head: Mapping[str, Any]) -> None:
        self._form = form
        self._place = place
        self._id = id
        self._head = head
        self._texts: list[str] = []

    def start(self) -> Iterator[Message]:
        """Yield the events that add the item, without content."""
        if self._form.late:
            return
        yield "response.output_item.added", {"output_index": self._place, "item": self.written("in_progress")}
        if self._form.part is not None:
            yield "response.content_part.added", self._fields(part=self._form.part(""))

    def add(self, text: str) -> Iterator[Message]:
        """Yield the event that adds to the text."""
        self._texts.append(text)
        if self._form.held is None:
            yield f"{self._form.event}.delta", self._fields(delta=text, **self._beside())

    def end(self, status: str) -> Iterator[Message]:
        """Yield the last events. Arguments that are not completed are never said to be done."""
        form, text = self._form, "".join(self._texts)
        if form.late:
            if status == "completed":
                yield from self._at_once(json.loads(text))
            return
        if form.part is not None or (status == "completed" and form.held is None):
            yield f"{form.event}.done", self._fields(**{form.key: text}, **self._beside())
        if form.part is not None:
            yield "response.content_part.done", self._fields(part=form.part(text))
        yield "response.output_item.done", {"output_index": self._place, "item": self.written(status)}

    def _at_once(self, arguments: dict[str, Any]) -> Iterator[Message]:
        """Yield all events of an item that is told of when it is right."""
        form, place = self._form, {"output_index": self._place}
        commands = arguments.get("commands", []) if form.event else []
        begun = {**arguments, "commands": []} if form.event else arguments
        yield "response.output_item.added", {**place, "item": self._holding(begun, "in_progress")}
        for index, command in enumerate(commands):
            of_command = {**place, "command_index": index}
            yield f"{form.event}.added", {**of_command, "command": ""}
            yield f"{form.event}.delta", {**of_command, "delta": command}
            yield f"{form.event}.done", {**of_command, "command": command}
        yield "response.output_item.done", {**place, "item": self._holding(arguments, "completed")}

    def is_told(self, status: str) -> bool:
        """Return whether the client hears of the item if it ends with this status."""
        return status == "completed" or not self._form.late

    def written(self, status: str) -> dict[str, Any]:
        """Return the item with what it holds so far."""
        form, text = self._form, "".join(self._texts)
        if form.held is not None:
            return self._holding(json.loads(text) if status == "completed" else {}, status)
        head = self._written_head(status)
        if form.part is None:
            return {**head, form.key: text}
        return {**head, "content": [form.part(text)] if self._texts else []}

    def _holding(self, arguments: dict[str, Any], status: str) -> dict[str, Any]:
        held = {**(self._form.held or dict)(), **arguments}
        if self._form.key == "operation" and held.get("type") == "delete_file":
            held.pop("diff", None)
        return {**self._written_head(status), self._form.key: held}

    def _written_head(self, status: str) -> dict[str, Any]:
        form = self._form
        return {"id": self._id, "type": form.type, "status": status, **form.fields(), **self._head}

    def _fields(self, **fields: Any) -> dict[str, Any]:
        place = {"item_id": self._id, "output_index": self._place}
        return {**place, **fields} if self._form.part is None else {**place, "content_index": 0, **fields}

    def _beside(self) -> dict[str, Any]:
        return {"logprobs": []} if self._form.part is _output_text else {}


# Beside the items


def echoed(echo: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a response repeats of its request, with the API's word for what the request left open."""
    usual: dict[str, Any] = {
        "background": False,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "store": False,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "truncation": "disabled",
        "user": None,
    }
    for name, value in usual.items():
        given = echo.get(name)
        if isinstance(value, dict) and isinstance(given, Mapping):
            usual[name] = {**value, **{key: each for key, each in given.items() if each is not None}}
        elif given is not None:
            usual[name] = given
    return usual


def usage_of(usage: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return usage in the words of this API. What a server left out, or is no number, is 0."""
    if usage is None:
        return None
    taken, given = _count(usage, "input_tokens", "prompt_tokens"), _count(usage, "output_tokens", "completion_tokens")
    of_input = _details(usage, "input_tokens_details", "prompt_tokens_details")
    of_output = _details(usage, "output_tokens_details", "completion_tokens_details")
    return {
        "input_tokens": taken,
        "input_tokens_details": {name: _count(of_input, name) for name in ("cached_tokens", "cache_write_tokens")},
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": _count(of_output, "reasoning_tokens")},
        "total_tokens": _count(usage, "total_tokens") or taken + given,
    }


def _count(source: Mapping[str, Any], *names: str) -> int:
    return next((source[name] for name in names if type(source.get(name)) is int), 0)


def _details(usage: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return next((usage[name] for name in names if isinstance(usage.get(name), Mapping)), {})
