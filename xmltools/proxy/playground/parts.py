"""A parsed text for the eye: its parts, spans that tile the source, and marks where something was repaired or wrong."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from xmltools.dialects import Dialect
from xmltools.errors import CallError, Code, Notice
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, Event, ReasoningDelta, Skipped, TextDelta
from xmltools.proxy.playground.value_rows import write_rows
from xmltools.render import render_retry
from xmltools.syntax.lines import Lines
from xmltools.tools import Tool

MARKS = 2_000
"""Marks that a page gets at most. It gets the number of a call's repairs all the same."""

# How much of the source a mark covers: a tag, an entity, the bounds of CDATA, or a word.
_TOKEN = re.compile(r"<!\[CDATA\[|\]\]>|</?[^<>\n]{0,80}>?|&#?\w{0,32};?|[\w.+-]{1,40}|.", re.DOTALL)


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
            case TextDelta(text):
                _extend(parts, "text", event.span, text)
            case ReasoningDelta(text):
                _extend(parts, "reasoning", event.span, text)
            case Skipped(span):
                _extend(parts, "skipped", span, "")
            case CallCompleted(call):
                parts.append(Part("call", *event.span, outcome=call))
            case CallFailed(error):
                parts.append(Part("error", *event.span, outcome=error))
    return parts


def _extend(parts: list[Part], kind: str, span: tuple[int, int], text: str) -> None:
    if not parts or parts[-1].kind != kind:
        parts.append(Part(kind, *span))
    parts[-1].end = span[1]
    parts[-1].texts.append(text)


def write_reading(
    text: str, parts: list[Part], notices: Sequence[Notice], tools: Iterable[Tool] | None, dialect: Dialect
) -> dict[str, Any]:
    """Return parts, marks, spans and notices as JSON values. A span names its part, and the marks that begin at its
    start; a mark of a notice has its number. Takes the dialect in which the model is told what was wrong."""
    offered = list(tools or ())
    found = (mark for number, part in enumerate(parts) for mark in _marks(number, part, notices))
    marks = list(islice(found, MARKS))
    lines = Lines()
    lines.add(text)
    for mark in marks:
        mark["line"], mark["column"] = lines.locate(mark["offset"])
    return {
        "parts": [write_part(part, offered, dialect) for part in parts],
        "marks": marks,
        "spans": list(_spans(text, parts, marks)),
        "notices": [_write_notice(notice, offered, dialect) for notice in notices],
    }


def _marks(number: int, part: Part, notices: Sequence[Notice]) -> Iterator[dict[str, Any]]:
    if part.outcome is None:
        first = bisect_left(notices, part.start, key=lambda notice: notice.span[0])
        for place in range(first, len(notices)):
            if notices[place].span[0] >= part.end:
                break
            notice = notices[place]
            mark = _mark(number, "notice", notice.code, notice.message, notice.span[0])
            yield mark | {"notice": place}
    if isinstance(part.outcome, ToolCall):
        for repair in part.outcome.repairs:
            yield _mark(number, "repair", repair.code, repair.message, repair.offset)
    elif part.outcome is not None and part.outcome.offset is not None:
        yield _mark(number, "error", part.outcome.code, part.outcome.message, part.outcome.offset)


def _mark(part: int, kind: str, code: Code, message: str, offset: int) -> dict[str, Any]:
    return {"part": part, "kind": kind, "code": code, "message": message, "hint": code.hint, "offset": offset}


def _spans(text: str, parts: list[Part], marks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    places: list[dict[int, list[int]]] = [{} for _ in parts]
    for number, mark in enumerate(marks):
        part = parts[mark["part"]]
        # What is missing at the end is marked at the last character.
        place = min(max(mark["offset"], part.start), part.end - 1)
        places[mark["part"]].setdefault(place, []).append(number)
    for number, part in enumerate(parts):
        for start, end, noted in _cut(text, part, places[number]):
            yield {"part": number, "kind": part.kind, "start": start, "end": end, "marks": noted}


def _cut(text: str, part: Part, places: dict[int, list[int]]) -> Iterator[tuple[int, int, list[int]]]:
    """The part from mark to mark; a mark covers one token, or less if the next mark begins in it."""
    starts = sorted({part.start, *places})
    for start, limit in pairwise([*starts, part.end]):
        end = limit
        if start in places:
            token = _TOKEN.match(text, start, limit)
            end = token.end() if token else limit
            yield start, end, places[start]
        if end < limit or start not in places:
            yield (end if start in places else start), limit, []


def write_part(part: Part, tools: list[Tool], dialect: Dialect | str) -> dict[str, Any]:
    """Return a part as JSON values. Takes the tools, and the dialect in which the model is told what was wrong."""
    written: dict[str, Any] = {"kind": part.kind, "span": [part.start, part.end]}
    found = part.outcome
    if isinstance(found, ToolCall):
        known = _fields(found, "id", "name", "server", "legacy_json", "dialect")
        return written | known | {"repairs": len(found.repairs), "arguments": write_rows(found.arguments)}
    if isinstance(found, CallError):
        known = _fields(found, "code", "message", "hint", "name", "server")
        retry = render_retry(found, tools, dialect=dialect)
        return written | known | {"arguments": write_rows(found.arguments), "retry": retry}
    return written | {"text": "".join(part.texts)}


def _write_notice(notice: Notice, tools: list[Tool], dialect: Dialect) -> dict[str, Any]:
    flags = {"whole": notice.is_whole, "fenced": notice.is_fenced, "span": list(notice.span)}
    retry = render_retry(notice, tools, dialect=dialect)
    return _fields(notice, "code", "message", "name", "notation") | flags | {"retry": retry}


def _fields(source: object, *names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}
