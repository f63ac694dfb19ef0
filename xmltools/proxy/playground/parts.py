"""A parsed text for the eye: its calls and errors, spans that tile the source, and marks where something was repaired,
wrong, or worth a notice."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any

from xmltools.dialects import Dialect
from xmltools.errors import CallError, Notice
from xmltools.models import ToolCall
from xmltools.models.events import CallCompleted, CallFailed, ReasoningDelta, Skipped, TextDelta
from xmltools.render import render_retry
from xmltools.syntax.lines import Lines
from xmltools.tools import Tool
from xmltools.tools.schema.equality import place_in_words

MARKS = 2_000
"""Marks that a page gets at most. It gets the number of a call's repairs all the same."""
ROWS = 1_000
"""Values of one call that are written at most."""

_PATH = 300  # characters of a path: more lose their middle
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array"}
# How much of the source a mark covers: a tag, an entity, the bounds of CDATA, or a word.
_TOKEN = re.compile(r"<!\[CDATA\[|\]\]>|</?[^<>\n]{0,80}>?|&#?\w{0,32};?|[\w.+-]{1,40}|.", re.DOTALL)
KINDS = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    Skipped: "skipped",
    CallCompleted: "call",
    CallFailed: "error",
}
"""Kinds of parts, by the events that tell of them."""


@dataclass(slots=True)
class Part:
    """A stretch of the source of one kind, and the call, or the error, that it is."""

    kind: str
    start: int
    end: int
    found: ToolCall | CallError | None


def gather_parts(events: Iterable[Any]) -> list[Part]:
    """Fold events into parts, which tile the source: adjacent deltas of one kind are one part."""
    parts: list[Part] = []
    for event in events:
        kind = KINDS.get(type(event))
        if kind is None:
            continue
        start, end = event.span
        found = getattr(event, "call", None) or getattr(event, "error", None)
        if found is None and parts and parts[-1].kind == kind:
            parts[-1].end = end
        else:
            parts.append(Part(kind, start, end, found))
    return parts


def write_reading(
    text: str, parts: list[Part], notices: Sequence[Notice], tools: list[Tool], dialect: Dialect
) -> dict[str, Any]:
    """Return blocks (calls and errors), marks and spans as JSON values. A mark of a repair or an error has the number
    of its block; a span has the numbers of the marks that begin at its start. Takes the dialect in which the model is
    told what was wrong."""
    blocks = [part for part in parts if part.found is not None]
    notes = (
        fields_of(each, "code", "message", "name", "span")
        | {"kind": "notice", "offset": each.span[0], "retry": render_retry(each, tools, dialect=dialect)}
        for each in notices
    )
    marks = list(islice(chain(notes, _marks(blocks)), MARKS))
    lines = Lines(text)
    for mark in marks:
        mark["line"], mark["column"] = lines.locate(mark["offset"])
    return {
        "blocks": [write_block(block, tools, dialect) for block in blocks],
        "marks": marks,
        "spans": list(_spans(text, parts, blocks, marks)),
    }


def _marks(blocks: list[Part]) -> Iterator[dict[str, Any]]:
    for number, block in enumerate(blocks):
        found = block.found
        for each in found.repairs if isinstance(found, ToolCall) else (found,):
            if each is not None and each.offset is not None:
                kind = "repair" if block.kind == "call" else "error"
                more = {"block": number, "kind": kind, "hint": each.code.hint}
                yield fields_of(each, "code", "message", "offset") | more


def _spans(text: str, parts: list[Part], blocks: list[Part], marks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    noted: dict[int, list[int]] = {}
    for number, mark in enumerate(marks):
        place = mark["offset"]
        if "block" in mark:  # what is missing at the end is marked at the last character
            block = blocks[mark["block"]]
            place = max(min(place, block.end - 1), block.start)
        noted.setdefault(place, []).append(number)
    places = sorted(noted)
    for part in parts:
        inside = places[bisect_left(places, part.start) : bisect_left(places, part.end)]
        cuts = {part.start, part.end, *inside}
        # A mark covers one token, or less if the next mark begins in it.
        for place, limit in pairwise([*inside, part.end]):
            if token := _TOKEN.match(text, place, limit):
                cuts.add(token.end())
        for start, end in pairwise(sorted(cuts)):
            yield {"kind": part.kind, "start": start, "end": end, "marks": noted.get(start, [])}


def write_block(block: Part, tools: list[Tool], dialect: Dialect | str) -> dict[str, Any]:
    """Return a call or an error as JSON values. Takes the tools, and the dialect in which the model is told what was
    wrong."""
    found = block.found
    assert found is not None
    written = {"kind": block.kind, **fields_of(found, "name", "server"), "arguments": write_rows(found.arguments)}
    if isinstance(found, ToolCall):
        return written | {"repairs": len(found.repairs)}
    return (
        written | fields_of(found, "code", "message", "hint") | {"retry": render_retry(found, tools, dialect=dialect)}
    )


def fields_of(source: object, *names: str) -> dict[str, Any]:
    """Return attributes as JSON values, by their names."""
    return {name: getattr(source, name) for name in names}


# Values as rows of text: a reader of JSON in a browser would lose digits of large numbers, and `5.0`


def write_path(path: tuple[str | int, ...]) -> str:
    """Return a path as a person would write it; a long one without its middle."""
    written = place_in_words(path)
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
