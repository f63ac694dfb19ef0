"""The items of a response, each as a row of events: added, filled, done.

What kinds of items have in common is one class; a `Form` says what each kind calls it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from xmltools.streams._pieces import Kind

__all__ = ["CALL", "CUSTOM_CALL", "FORMS", "SEARCH_CALL", "Form", "Item", "Message"]

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
    whole: bool = False
    """Whether the text is JSON that the item holds as an object; then there are no events of its parts."""


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _reasoning_text(text: str) -> dict[str, Any]:
    return {"type": "reasoning_text", "text": text}


CALL = Form("function_call", "fc", "response.function_call_arguments", "arguments")
CUSTOM_CALL = Form("custom_tool_call", "ctc", "response.custom_tool_call_input", "input")
SEARCH_CALL = Form("tool_search_call", "tsc", "", "arguments", None, lambda: {"execution": "client"}, whole=True)
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
        yield "response.output_item.added", {"output_index": self._place, "item": self.written("in_progress")}
        if self._form.part is not None:
            yield "response.content_part.added", self._fields(part=self._form.part(""))

    def add(self, text: str) -> Iterator[Message]:
        """Yield the event that adds to the text."""
        self._texts.append(text)
        if not self._form.whole:
            yield f"{self._form.event}.delta", self._fields(delta=text, **self._beside())

    def end(self, status: str) -> Iterator[Message]:
        """Yield the last events. Arguments that are not completed are never said to be done."""
        form, text = self._form, "".join(self._texts)
        if form.part is not None or (status == "completed" and not form.whole):
            yield f"{form.event}.done", self._fields(**{form.key: text}, **self._beside())
        if form.part is not None:
            yield "response.content_part.done", self._fields(part=form.part(text))
        yield "response.output_item.done", {"output_index": self._place, "item": self.written(status)}

    def written(self, status: str) -> dict[str, Any]:
        """Return the item with what it holds so far."""
        form, text = self._form, "".join(self._texts)
        head = {"id": self._id, "type": form.type, "status": status, **form.fields(), **self._head}
        if form.whole:
            return {**head, form.key: json.loads(text) if status == "completed" else {}}
        if form.part is None:
            return {**head, form.key: text}
        return {**head, "content": [form.part(text)] if self._texts else []}

    def _fields(self, **fields: Any) -> dict[str, Any]:
        place = {"item_id": self._id, "output_index": self._place}
        return {**place, **fields} if self._form.part is None else {**place, "content_index": 0, **fields}

    def _beside(self) -> dict[str, Any]:
        return {"logprobs": []} if self._form.part is _output_text else {}
