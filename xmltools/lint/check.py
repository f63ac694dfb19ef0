"""A whole reply, checked: what the parser refused and repaired, and what other XML tools say of the calls that it took.

Findings have their place in the text as people count: lines and columns from 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from xmltools.dialects import FORGE, Also, Dialect, beside, hint_of, named
from xmltools.errors import CallError, Notice, XMLToolsError
from xmltools.models import ToolCall
from xmltools.parser import Limits, parse
from xmltools.syntax.lines import Lines
from xmltools.tools import Tool, list_of_tools

READERS_DISAGREE: Final = "readers_disagree"
READERS_HINT: Final = (
    'Use plain names and values. Write a name that is not plain as <argument name="...">. Report the difference if it '
    "stays."
)
"""The code of what other readers say, beside those of the parser, and its hint."""

_LIMITS = Limits(blocks=sys.maxsize)
"""A file of stored calls may have more blocks than one reply."""
_WIDTH = 100


class Place(NamedTuple):
    """A place in a text: its offset from 0, line and column from 1, all in characters."""

    offset: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a call, or that the parser had to fix.

    `code` is a stable name, `source` the name of the text, `start` the place and `end` the place after it where that
    is known. `message` says what was found, `hint` what to do, `tool` the name of the tool where the block gives it.
    `excerpt` is the line around the place, and `caret` the place in the excerpt.
    """

    code: str
    severity: Literal["error", "warning"]
    source: str
    start: Place
    end: Place | None
    message: str
    hint: str
    tool: str | None = None
    excerpt: str = field(default="", repr=False)
    caret: int = field(default=0, repr=False)

    @property
    def offset(self) -> int:
        """The place in characters from the start of the text."""
        return self.start.offset

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.start.line

    @property
    def column(self) -> int:
        """The column, from 1, in characters."""
        return self.start.column


class Findings(list[Finding]):
    """All findings in a text, in its order, and how many blocks the text has."""

    blocks: int = 0


def lint(
    text: str,
    tools: Iterable[Tool] | None = None,
    *,
    strict: bool = False,
    source: str = "<text>",
    dialect: Dialect | str = FORGE,
    also: Also = None,
    starts_in_reasoning: bool = False,
) -> Findings:
    """Check a whole reply, or stored blocks one after the other.

    Takes the text, the tools that it may call (None: any tool, and arguments of any type) and the name by which
    findings speak of the text. Returns a list: an error for each block that gives no call, and a warning for each
    repair and for each call in another notation, which stays text. `strict` makes all warnings errors. The attribute
    `blocks` of the list says how many blocks there are.

    A clean block with elements is also read with lxml and with defusedxml. It must be well-formed XML, valid by
    `grammars/tool.rng`, and hold the same call; otherwise there is the warning `readers_disagree`.

    `dialect` says how the calls are written, by its name or as a record, `also` which others are read too (see
    `Parser`), and `starts_in_reasoning` that the prompt has
    opened reasoning. Calls in another dialect than Forge's are not XML, so only the parser checks them.

    Raises `XMLToolsError` if `text` is no string, and as `Parser` does for tools that make no sense. No text raises.
    """
    if not isinstance(text, str):
        raise XMLToolsError(f"text: expected str, got {type(text).__name__}; bytes.decode('utf-8') decodes a file")
    known = None if tools is None else list_of_tools(tools)
    written_in = named(dialect)
    also = beside(written_in, also)
    reply = parse(
        text,
        known,
        limits=_LIMITS,
        new_id=lambda: "call",
        dialect=written_in,
        also=also,
        starts_in_reasoning=starts_in_reasoning,
    )
    check = _Check(text, source, known or [], strict, {each.name: each for each in (*also, written_in)})
    blocks = [part for part in reply.parts if isinstance(part, (ToolCall, CallError))]
    found = sorted((*blocks, *reply.notices), key=lambda each: each.span or (0, 0))
    findings = Findings(finding for each in found for finding in check.findings(each))
    findings.blocks = len(blocks)
    return findings


class _Check:
    """The check of one text, with an index of its lines that is made once for all findings."""

    def __init__(
        self, text: str, source: str, tools: list[Tool], strict: bool, dialects: dict[str | None, Dialect]
    ) -> None:
        self._text = text
        self._source = source
        self._lines = Lines(text)
        self._tools = {(tool.name, tool.server): tool for tool in tools}
        servers = {tool.server for tool in tools}
        self._unnamed_server = servers.pop() if len(servers) == 1 else FORGE.default_server
        self._strict = strict
        self._dialects = dialects

    def findings(self, found: ToolCall | CallError | Notice) -> Iterator[Finding]:
        """Yield the findings of one block, in the order of their places, or that of a notice."""
        if isinstance(found, CallError):
            start, end = (found.offset, None) if found.offset is not None else found.span
            # A model gets the hint alone, so some hold the whole message; here it stands beside them.
            hint = found.code.hint if found.message in found.hint else found.hint
            yield self._finding(found.code, start, end, found.message, hint, found.name, is_error=True)
        elif isinstance(found, Notice):
            yield self._finding(found.code, *found.span, found.message, found.hint, found.name)
        elif found.repairs:
            for repair in found.repairs:
                hint = hint_of(repair.code, self._dialects.get(found.dialect, FORGE))
                yield self._finding(repair.code, repair.offset, None, repair.message, hint, found.name)
        elif self._dialects.get(found.dialect) == FORGE and not found.legacy_json:
            yield from self._doubts(found)

    def _doubts(self, call: ToolCall) -> Iterator[Finding]:
        """Yield what other readers say of a clean call."""
        # They load lxml and defusedxml, which only clean blocks need.
        from xmltools.lint.readers import disagreements

        assert call.span is not None
        start, end = call.span
        tool = self._tools.get((call.name, call.server))
        for message, line in disagreements(self._text[start:end], call, tool, self._unnamed_server):
            at, until = (start, end) if line == 1 else (self._text_start(self._place(start).line + line - 1), None)
            yield self._finding(READERS_DISAGREE, at, until, message, READERS_HINT, call.name)

    def _text_start(self, line: int) -> int:
        """Return where the text of a line begins; other readers may count one line too many."""
        start, end = self._lines.span(min(line, len(self._lines)))
        return end - len(self._text[start:end].lstrip(" \t"))

    def _finding(
        self,
        code: str,
        start: int,
        end: int | None,
        message: str,
        hint: str,
        tool: str | None,
        *,
        is_error: bool = False,
    ) -> Finding:
        severity: Literal["error", "warning"] = "error" if is_error or self._strict else "warning"
        place = self._place(start)
        excerpt, caret = self._excerpt(place)
        # Whatever a model wrote into a message, it is one line.
        message, hint = (" ".join(each.splitlines()) for each in (message, hint))
        until = None if end is None else self._place(end)
        return Finding(str(code), severity, self._source, place, until, message, hint, tool, excerpt, caret)

    def _place(self, offset: int) -> Place:
        """Return the place of an offset; one after the end is the end."""
        offset = min(offset, len(self._text))
        return Place(offset, *self._lines.locate(offset))

    def _excerpt(self, place: Place) -> tuple[str, int]:
        """Return at most 100 characters of the line around a place, and the place in them; a cut is shown by `…`."""
        start, end = self._lines.span(place.line)
        if end > start and self._text[end - 1] == "\r" and end > place.offset:
            end -= 1
        left, right = start, end
        if end - start > _WIDTH:
            left = max(start, min(place.offset - _WIDTH // 2, end - _WIDTH))
            right = left + _WIDTH
        excerpt = self._text[left:right]
        if left > start:
            excerpt = "…" + excerpt[1:]
        if right < end:
            excerpt = excerpt[:-1] + "…"
        return excerpt, place.offset - left
