"""Events, folded into one reply."""

from __future__ import annotations

from collections.abc import Iterable

from xmltools.errors import CallError, Notice
from xmltools.models import Reasoning, Reply, Text, ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, Noticed, ReasoningDelta, TextDelta


def build_reply(events: Iterable[Event], *, unclosed_reasoning: bool = False) -> Reply:
    """Fold events into a reply: adjacent deltas are joined."""
    parts: list[Text | Reasoning | ToolCall | CallError] = []
    notices: list[Notice] = []
    kind: type[Text] | type[Reasoning] | None = None
    gathered: list[str] = []

    def flush() -> None:
        if kind is not None and (joined := "".join(gathered)):
            parts.append(_make(kind, joined))
        gathered.clear()

    for event in events:
        if isinstance(event, TextDelta | ReasoningDelta):
            wanted = Text if isinstance(event, TextDelta) else Reasoning
            if wanted is not kind:
                flush()
                kind = wanted
            gathered.append(event.text)
        elif isinstance(event, CallCompleted | CallFailed):
            flush()
            kind = None
            parts.append(event.call if isinstance(event, CallCompleted) else event.error)
        elif isinstance(event, Noticed):
            notices.append(event.notice)
    flush()
    return Reply.model_construct(parts=tuple(parts), unclosed_reasoning=unclosed_reasoning, notices=tuple(notices))


def _make(kind: type[Text] | type[Reasoning], text: str) -> Text | Reasoning:
    try:
        return kind(text=text)
    except ValueError:  # some versions of pydantic refuse lone surrogates; models write them
        return kind.model_construct(text=text)
