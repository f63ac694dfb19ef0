"""A stream in steps: which events each piece of a text brings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xmltools.models.events import Event, Noticed
from xmltools.parser import Parser
from xmltools.proxy.playground.parts import write_path

POSITIONS = 20_000
"""Steps that a text is cut into at most."""

Timed = tuple[int, Event]
"""An event, and the number of the step that brought it."""


def step_of(text: str) -> int:
    """Return how many characters are fed in one step: one, unless the text is long."""
    return max(1, -(-len(text) // POSITIONS))


def feed(text: str, parser: Parser, size: int, *, is_whole: bool = True) -> list[Timed]:
    """Feed a text in steps of a size, and return what that brought.

    The first step has number 1; the end is a step, too. A text that is not whole has none: the parser is given up.
    """
    starts = range(0, len(text), size)
    timed = [(step, event) for step, at in enumerate(starts, 1) for event in parser.feed(text[at : at + size])]
    if not is_whole:
        parser.abandon()
        return timed
    return timed + [(len(starts) + 1, event) for event in parser.close()]


def write_steps(text: str, timed: Iterable[Timed], size: int) -> dict[str, Any]:
    """Return the steps as JSON values: the size of one, how many there are, and the events with their steps."""
    return {"size": size, "count": -(-len(text) // size), "events": [_written(at, event) for at, event in timed]}


def _written(at: int, event: Event) -> dict[str, Any]:
    """An event as JSON values. Calls and errors are in the reading, in the same order."""
    written = {"at": at, "kind": type(event).__name__}
    if isinstance(event, Noticed):
        return written | {"text": event.notice.message}
    fields = {name: getattr(event, name) for name in ("id", "name", "path", "text", "span") if hasattr(event, name)}
    return written | fields | ({"path": write_path(fields["path"])} if "path" in fields else {})
