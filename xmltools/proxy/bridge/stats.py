"""What happened in an exchange, for metrics and logs: numbers and codes, no content."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from xmltools.errors import Code, Notice
from xmltools.models.events import CallCompleted, CallFailed, Event, Noticed, ReasoningDelta, TextDelta


@dataclass(slots=True)
class Stats:
    """Counts of one exchange. `dialect` is the one in which the model was to write calls. `calls` has an outcome for
    each: "ok", "repaired", or the code of its error. `failed`: calls that the client was told of as not made, after all
    retries; `missed`: it was told that the call which it required was not made. `invented`: results that the model made
    up. `foreign`: calls in other notations, which stayed text. `unread`: the notation of one that called one of the
    client's tools and stayed text to the end; empty if there was none. `again`: why replies were sent back.
    `bad_arguments`: calls of the history that the model sees without arguments, as theirs are no JSON object. `ignored`
    are the names of fields of the request that were passed over, `left_out` the types of such tools, and "unreadable"
    for each that can't be read.
    """

    model: str = ""
    dialect: str = ""
    calls: list[str] = field(default_factory=list)
    repairs: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    text: int = 0
    reasoning: int = 0
    retries: int = 0
    failed: int = 0
    missed: bool = False
    invented: int = 0
    foreign: int = 0
    unread: str = ""
    usage: dict[str, Any] | None = None
    again: list[str] = field(default_factory=list)
    finish_reasons: list[str] = field(default_factory=list)
    bad_arguments: int = 0
    ignored: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def leave(self, notice: Notice) -> None:
        """Take the notice of a call of a given tool that stays text into account."""
        self.unread = word_of(notice)

    def count(self, event: Event) -> None:
        """Take an event of a parser into account."""
        if isinstance(event, TextDelta):
            self.text += len(event.text)
        elif isinstance(event, ReasoningDelta):
            self.reasoning += len(event.text)
        elif isinstance(event, CallCompleted):
            self.calls.append("repaired" if event.call.repairs else "ok")
            self.repairs.update(repair.code.value for repair in event.call.repairs)
        elif isinstance(event, CallFailed):
            self.calls.append(event.error.code.value)
            self.errors[event.error.code.value] += 1
        elif isinstance(event, Noticed):
            self.foreign += 1


def word_of(notice: Notice) -> str:
    """Return where a call is that nobody hears of: its notation, or that it is in a fence."""
    return "code_fence" if notice.code is Code.SHOWN_CALL else notice.notation
