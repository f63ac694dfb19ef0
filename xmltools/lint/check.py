"""A whole reply, checked: what the parser refused and repaired, and what others say of the calls that it took.

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

WITNESS_DISAGREES: Final = "witness_disagrees"
READERS_DISAGREE: Final = "readers_disagree"
OWN_CODES: Final = {
    WITNESS_DISAGREES: "The parser takes this call and an independent check does not: write the block as the "
    "instructions show it, and report the difference if it stays.",
    READERS_DISAGREE: "Another XML reader finds something else in this block: use plain names and values, and report "
    "the difference if it stays.",
}
"""The codes that the parser does not have, each with its hint."""

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


class SourceText:
    """A text with its name and an index of its lines, which is made once for all findings."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self._lines = Lines(text)

    def place(self, offset: int) -> Place:
        """Return the place of an offset; one after the end is the end."""
        offset = min(offset, len(self.text))
        return Place(offset, *self._lines.locate(offset))

    def excerpt(self, place: Place) -> tuple[str, int]:
        """Return at most 100 characters of the line around a place, and the place in them; a cut is shown by `…`."""
        start, end = self._lines.span(place.line)
        if end > start and self.text[end - 1] == "\r" and end > place.offset:
            end -= 1
        left, right = start, end
        if end - start > _WIDTH:
            left = max(start, min(place.offset - _WIDTH // 2, end - _WIDTH))
            right = left + _WIDTH
        excerpt = self.text[left:right]
        if left > start:
            excerpt = "…" + excerpt[1:]
        if right < end:
            excerpt = excerpt[:-1] + "…"
        return excerpt, place.offset - left


# Checks


_Span = tuple[int, int | None]
_LIMITS = Limits(blocks=sys.maxsize)
"""A file of stored calls may have more blocks than one reply."""


class Examined(NamedTuple):
    """What came of a text: all findings in its order, and how many blocks it has."""

    findings: list[Finding]
    blocks: int


def lint(
    text: str,
    tools: Iterable[Tool] | None = None,
    *,
    strict: bool = False,
    source: str = "<text>",
    witness: bool = True,
    dialect: Dialect | str = FORGE,
    also: Also = None,
    starts_in_reasoning: bool = False,
) -> list[Finding]:
    """Check a whole reply, or stored blocks one after the other.

    Takes the text, the tools that it may call (None: any tool, and arguments of any type) and the name by which
    findings speak of the text. Returns an error for each block that gives no call, and a warning for each repair
    and for each call in another notation, which stays text. A clean block with elements is also
    given to lxml, with a RELAX NG schema of its tool (`witness=False` leaves that out); what it does not take is the
    warning `witness_disagrees`.

    `strict` makes all warnings errors. It also reads each clean block with lxml and with defusedxml; if either finds
    other names, or other arguments, than the parser, that is the error `readers_disagree`.

    `dialect` says how the calls are written, by its name or as a record, `also` which others are read too (see
    `Parser`), and `starts_in_reasoning` that the prompt has
    opened reasoning. Calls in another dialect than Forge's are no XML, so nobody but the parser checks them: there are
    errors, repairs and calls in other notations, and no `witness_disagrees` or `readers_disagree`.

    Raises `XMLToolsError` if `text` is no string, and as `Parser` does for tools that make no sense. No text raises.
    """
    return examine(
        text,
        tools,
        strict=strict,
        source=source,
        witness=witness,
        dialect=dialect,
        also=also,
        starts_in_reasoning=starts_in_reasoning,
    ).findings


def examine(
    text: str,
    tools: Iterable[Tool] | None = None,
    *,
    strict: bool = False,
    source: str = "<text>",
    witness: bool = True,
    dialect: Dialect | str = FORGE,
    also: Also = None,
    starts_in_reasoning: bool = False,
) -> Examined:
    """Check a text as `lint` does, and count its blocks."""
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
    check = _Check(SourceText(text, source), known, strict, witness, written_in, also)
    blocks = [part for part in reply.parts if isinstance(part, (ToolCall, CallError))]
    found = sorted((*blocks, *reply.notices), key=lambda each: each.span or (0, 0))
    return Examined([finding for each in found for finding in check.findings(each)], len(blocks))


class _Check:
    """The check of one text."""

    def __init__(
        self,
        source: SourceText,
        tools: list[Tool] | None,
        strict: bool,
        witness: bool,
        dialect: Dialect,
        also: tuple[Dialect, ...],
    ) -> None:
        self._source = source
        self._tools = {(tool.name, tool.server): tool for tool in tools or ()}
        servers = {server for _, server in self._tools}
        self._only_server = servers.pop() if len(servers) == 1 else None
        self._strict = strict
        self._witness = witness
        self._dialects: dict[str | None, Dialect] = {each.name: each for each in (*also, dialect)}
        self._is_xml = dialect == FORGE  # which lxml and defusedxml can read, and RELAX NG describes

    def findings(self, found: ToolCall | CallError | Notice) -> Iterator[Finding]:
        """Yield the findings of one block, in the order of their places, or that of a notice."""
        if isinstance(found, CallError):
            start, end = found.span
            place: _Span = (start, end) if found.offset is None else (found.offset, None)
            # A model gets the hint alone, so some hold the whole message; here it stands beside them.
            hint = found.code.hint if found.message in found.hint else found.hint
            yield self._finding(found.code, place, found.message, hint, found.name, is_error=True)
        elif isinstance(found, Notice):
            yield self._finding(found.code, found.span, found.message, found.hint, found.name)
        elif found.repairs:
            for repair in found.repairs:
                hint = hint_of(repair.code, self._dialects.get(found.dialect, FORGE))
                yield self._finding(repair.code, (repair.offset, None), repair.message, hint, found.name)
        elif self._is_xml and not found.legacy_json:
            for code, place, message in self._doubts(found):
                yield self._finding(code, place, message, OWN_CODES[code], found.name)

    def _doubts(self, call: ToolCall) -> Iterator[tuple[str, _Span, str]]:
        """Yield what others say of a clean call: a code, a place and a message."""
        # They load lxml and defusedxml, which only clean blocks need.
        from xmltools.lint.readers import disagreements
        from xmltools.lint.witness import doubt_of

        assert call.span is not None
        start, end = call.span
        block = self._source.text[start:end]
        tool = self._tools.get((call.name, call.server))
        if self._witness and (doubt := doubt_of(block, tool)):
            place: _Span = (start, end) if doubt.line == 1 else (start + _text_start(block, doubt.line), None)
            yield WITNESS_DISAGREES, place, doubt.message
        for message in disagreements(block, call, tool, self._only_server) if self._strict else ():
            yield READERS_DISAGREE, (start, end), message

    def _finding(
        self, code: str, span: _Span, message: str, hint: str, tool: str | None, *, is_error: bool = False
    ) -> Finding:
        severity: Literal["error", "warning"] = "error" if is_error or self._strict else "warning"
        start = self._source.place(span[0])
        end = None if span[1] is None else self._source.place(span[1])
        excerpt, caret = self._source.excerpt(start)
        return Finding(
            str(code), severity, self._source.name, start, end, _joined(message), _joined(hint), tool, excerpt, caret
        )


def _joined(message: str) -> str:
    """Return a message as one line, whatever a model wrote into it."""
    return " ".join(message.splitlines())


def _text_start(block: str, line: int) -> int:
    """Return where the text of a line begins in a block; 0 for a line that it doesn't have."""
    lines = Lines(block)
    if line > len(lines):
        return 0
    start, end = lines.span(line)
    return end - len(block[start:end].lstrip(" \t"))
