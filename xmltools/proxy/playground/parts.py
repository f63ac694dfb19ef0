"""A parsed text for the eye: its parts, spans that tile the source, and marks where something was repaired or wrong."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from xmltools.dialects import Dialect
from xmltools.errors import CallError, Notice
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, ReasoningDelta, Skipped, TextDelta
from xmltools.render import render_retry
from xmltools.syntax.lines import Lines
from xmltools.tools import Tool

MARKS = 2_000
"""Marks that a page gets at most. It gets the number of a call's repairs all the same."""
ROWS = 1_000
"""Values of one call that are written at most."""

_PATH = 300  # characters of a path: more lose their middle
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array"}
# How much of the source a mark covers: a tag, an entity, the bounds of CDATA, or a word.
_TOKEN = re.compile(r"<!\[CDATA\[|\]\]>|</?[^<>\n]{0,80}>?|&#?\w{0,32};?|[\w.+-]{1,40}|.", re.DOTALL)
_KINDS = {TextDelta: "text", ReasoningDelta: "reasoning", Skipped: "skipped"}


@dataclass(slots=True)
class Part:
    """A stretch of the source of one kind, and what was read in it."""

    kind: str
    start: int
    end: int
    texts: list[str] = field(default_factory=list)
    outcome: ToolCall | CallError | None = None


def gather_parts(events: Iterable[Event]) -> list[Part]:
    """Fold events into parts, which tile the source: adjacent deltas of one kind are one part."""
    parts: list[Part] = []
    for event in events:
        match event:
            case TextDelta() | ReasoningDelta() | Skipped():
                kind = _KINDS[type(event)]
                if not parts or parts[-1].kind != kind:
                    parts.append(Part(kind, *event.span))
                parts[-1].end = event.span[1]
                parts[-1].texts.append(getattr(event, "text", ""))
            case CallCompleted(call):
                parts.append(Part("call", *event.span, outcome=call))
            case CallFailed(error):
                parts.append(Part("error", *event.span, outcome=error))
    return parts


def write_reading(
    text: str, parts: list[Part], notices: Sequence[Notice], tools: list[Tool], dialect: Dialect
) -> dict[str, Any]:
    """Return parts, marks, spans and notices as JSON values. A span names its part, and the marks that begin at its
    start; a mark of a notice has its number. Takes the dialect in which the model is told what was wrong."""
    marks = list(islice(_marks(parts, notices), MARKS))
    lines = Lines(text)
    for mark in marks:
        mark["hint"] = mark["code"].hint
        mark["line"], mark["column"] = lines.locate(mark["offset"])
    return {
        "parts": [write_part(part, tools, dialect) for part in parts],
        "marks": marks,
        "spans": list(_spans(text, parts, marks)),
        "notices": [
            _fields(notice, "code", "message", "name", "span") | _retry(notice, tools, dialect) for notice in notices
        ],
    }


def _marks(parts: list[Part], notices: Sequence[Notice]) -> Iterator[dict[str, Any]]:
    for number, part in enumerate(parts):
        found = part.outcome
        kind, offences = ("repair", found.repairs) if isinstance(found, ToolCall) else ("error", (found,))
        for each in offences:
            if each is not None and each.offset is not None:
                yield {"part": number, "kind": kind, **_fields(each, "code", "message", "offset")}
    starts = [part.start for part in parts]
    for place, notice in enumerate(notices):
        offset = notice.span[0]
        number = bisect_right(starts, offset) - 1
        if number >= 0 and offset < parts[number].end:
            fields = _fields(notice, "code", "message") | {"offset": offset, "notice": place}
            yield {"part": number, "kind": "notice", **fields}


def _spans(text: str, parts: list[Part], marks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    places: list[dict[int, list[int]]] = [{} for _ in parts]
    for number, mark in enumerate(marks):
        part = parts[mark["part"]]
        # What is missing at the end is marked at the last character.
        places[mark["part"]].setdefault(max(min(mark["offset"], part.end - 1), part.start), []).append(number)
    for number, part in enumerate(parts):
        noted = places[number]
        cuts = {part.start, part.end, *noted}
        # A mark covers one token, or less if the next mark begins in it.
        for place, limit in pairwise([*sorted(noted), part.end]):
            if token := _TOKEN.match(text, place, limit):
                cuts.add(token.end())
        for start, end in pairwise(sorted(cuts)):
            yield {"part": number, "kind": part.kind, "start": start, "end": end, "marks": noted.get(start, [])}


def write_part(part: Part, tools: list[Tool], dialect: Dialect | str) -> dict[str, Any]:
    """Return a part as JSON values. Takes the tools, and the dialect in which the model is told what was wrong."""
    written: dict[str, Any] = {"kind": part.kind, "span": [part.start, part.end]}
    found = part.outcome
    if found is None:
        return written | {"text": "".join(part.texts)}
    written |= _fields(found, "name", "server") | {"arguments": write_rows(found.arguments)}
    if isinstance(found, ToolCall):
        return written | {"repairs": len(found.repairs)}
    return written | _fields(found, "code", "message", "hint") | _retry(found, tools, dialect)


def _retry(found: CallError | Notice, tools: list[Tool], dialect: Dialect | str) -> dict[str, Any]:
    return {"retry": render_retry(found, tools, dialect=dialect)}


def _fields(source: object, *names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


# Values as rows of text: a reader of JSON in a browser would lose digits of large numbers, and `5.0`


def write_path(path: Iterable[str | int]) -> str:
    """Return a path as a person would write it; a long one without its middle.

    >>> write_path(("files", 0, "name"))
    'files[0].name'
    """
    written = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return written if len(written) <= _PATH else f"{written[: _PATH // 2]}…{written[-_PATH // 2 :]}"


def write_rows(arguments: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a row for each value that holds no others: its path, its JSON type, and its text (strings as they are).

    There are at most `ROWS`.
    """
    return [
        {
            "path": write_path(path),
            "type": _TYPES.get(type(value), "object"),
            "value": value if isinstance(value, str) else json.dumps(value),
        }
        for path, value in islice(_leaves((), arguments), ROWS)
    ]


def _leaves(path: tuple[str | int, ...], value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The values in a value. It is as deep as the parser's limits allow."""
    if value and isinstance(value, Mapping | list):
        for step, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _leaves((*path, step), inner)
    elif path:
        yield path, value
