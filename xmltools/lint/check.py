"""A whole reply, checked: what the parser refused and repaired, and what others say of the calls that it took."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from xmltools.errors import CallError, Notice, XMLToolsError
from xmltools.lint.findings import OWN_CODES, READERS_DISAGREE, WITNESS_DISAGREES, Finding, SourceText
from xmltools.models import ToolCall
from xmltools.parser import Limits, parse
from xmltools.syntax.lines import Lines
from xmltools.tools import Tool

__all__ = ["Examined", "examine", "lint"]

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
) -> list[Finding]:
    """Check a whole reply, or stored blocks one after the other.

    Takes the text, the tools that it may call (None: any tool, and arguments of any type) and the name by which
    findings speak of the text. Returns an error for each block that gives no call, and a warning for each repair
    and for each call in another notation, which stays text. A clean block with elements is also
    given to lxml, with a RELAX NG schema of its tool (`witness=False` leaves that out); what it does not take is the
    warning `witness_disagrees`.

    `strict` makes all warnings errors. It also reads each clean block with lxml and with defusedxml; if either finds
    other names, or other arguments, than the parser, that is the error `readers_disagree`.

    Raises `XMLToolsError` if `text` is no string, and as `Parser` does for tools that make no sense. No text raises.
    """
    return examine(text, tools, strict=strict, source=source, witness=witness).findings


def examine(
    text: str,
    tools: Iterable[Tool] | None = None,
    *,
    strict: bool = False,
    source: str = "<text>",
    witness: bool = True,
) -> Examined:
    """Check a text as `lint` does, and count its blocks."""
    if not isinstance(text, str):
        raise XMLToolsError(f"text: expected str, got {type(text).__name__}; bytes.decode('utf-8') decodes a file")
    known = None if tools is None else list(tools)
    reply = parse(text, known, limits=_LIMITS, new_id=lambda: "call")
    check = _Check(SourceText(text, source), known, strict, witness)
    blocks = [part for part in reply.parts if isinstance(part, (ToolCall, CallError))]
    found = sorted((*blocks, *reply.notices), key=lambda each: each.span or (0, 0))
    return Examined([finding for each in found for finding in check.findings(each)], len(blocks))


class _Check:
    """The check of one text."""

    def __init__(self, source: SourceText, tools: list[Tool] | None, strict: bool, witness: bool) -> None:
        self._source = source
        self._tools = {(tool.name, tool.server): tool for tool in tools or ()}
        servers = {server for _, server in self._tools}
        self._only_server = servers.pop() if len(servers) == 1 else None
        self._strict = strict
        self._witness = witness

    def findings(self, found: ToolCall | CallError | Notice) -> Iterator[Finding]:
        """Yield the findings of one block, in the order of their places, or that of a notice."""
        if isinstance(found, CallError):
            start, end = found.span
            place = (start, end) if found.offset is None else (found.offset, None)
            # A model gets the hint alone, so some hold the whole message; here it stands beside them.
            hint = found.code.hint if found.message in found.hint else found.hint
            yield self._finding(found.code, place, found.message, hint, found.name, is_error=True)
        elif isinstance(found, Notice):
            yield self._finding(found.code, found.span, found.message, found.hint, found.name)
        elif found.repairs:
            for repair in found.repairs:
                yield self._finding(repair.code, (repair.offset, None), repair.message, repair.code.hint, found.name)
        elif not found.legacy_json:
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
