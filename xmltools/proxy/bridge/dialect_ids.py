"""Ids of calls as the upstream's chat template takes them: those of clients, and of other servers, are not taken by
Mistral's, and Kimi's writes into the prompt what the model is to go on counting from.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator

from xmltools.dialects import named
from xmltools.models import Conversation, Part, ToolCall, ToolResult
from xmltools.models.events import CallCompleted, CallFailed, CallStarted, Event
from xmltools.proxy.bridge.settings import Settings


class DialectIds:
    """Gives calls their ids: first to those of a conversation, `written`, then to those of the replies to it.

    What has the form already stays as it is, unless another call has the same id.
    """

    is_idle = True
    """It changes neither text nor arguments."""

    def __init__(self, form: str | int, conversation: Conversation) -> None:
        self._form = form
        if isinstance(form, int):
            pattern = f"[A-Za-z0-9]{{{form}}}"
        else:
            pattern = re.escape(form).replace(r"\{name\}", ".+").replace(r"\{number\}", "([0-9]{1,9})")
        self._own = re.compile(pattern)
        self._ids: dict[str, str] = {}
        self._given: set[str] = set()
        ids = [part.id for message in conversation for part in message.parts if isinstance(part, ToolCall)]
        numbers = [int(found[1]) for id in ids if isinstance(form, str) and (found := self._own.fullmatch(id))]
        self._next = max(numbers, default=-1) + 1
        self.written = conversation.with_messages(
            message.model_copy(update={"parts": tuple(map(self._with_id, message.parts))}) for message in conversation
        )

    @classmethod
    def of(cls, settings: Settings, conversation: Conversation) -> DialectIds | None:
        """Return what gives ids, None where any will do."""
        dialect = named(settings.dialect).written
        form = dialect.writing.id if dialect is not None and dialect.writing is not None else ""
        return cls(form, conversation) if form and settings.prompt == "upstream" else None

    def _with_id(self, part: Part) -> Part:
        if isinstance(part, ToolCall):
            self._ids.pop(part.id, None)  # some clients count the calls of each turn anew
            return part.model_copy(update={"id": self._of(part.id, part.name)})
        if isinstance(part, ToolResult):
            return part.model_copy(update={"call_id": self._of(part.call_id, part.name or "tool")})
        return part

    def _of(self, id: str, name: str) -> str:
        """Return the id in place of another one."""
        if id not in self._ids:
            made, tries = id, 0
            while made in self._given or not (tries or self._own.fullmatch(made)):
                made, tries = self._new(f"{id} {tries}", name), tries + 1
            self._given.add(made)
            self._ids[id] = made
        return self._ids[id]

    def _new(self, seed: str, name: str) -> str:
        if isinstance(self._form, int):
            return hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[: self._form]
        self._next += 1
        return self._form.format(name=name, number=self._next - 1)

    def read(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events of a reply with the ids."""
        for event in events:
            if isinstance(event, CallStarted):
                yield CallStarted(self._of(event.id, event.name), event.name, event.server)
            elif isinstance(event, CallCompleted):
                id = self._of(event.call.id, event.call.name)
                yield CallCompleted(event.call.model_copy(update={"id": id}))
            elif isinstance(event, CallFailed) and event.id is not None:
                yield CallFailed(event.error, self._of(event.id, event.error.name or "tool"))
            else:
                yield event
