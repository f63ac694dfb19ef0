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

    __slots__ = ("_only_server", "_source", "_strict", "_tools", "_witness")

    def __init__(self, source: SourceText, tools: list[Tool] | None, strict: bool, witness: bool) -> None:
        self._source = source
        self._tools = {(tool.name, tool.server): tool for tool in tools or ()}
        servers = {server for _, server in self._tools}
        self._only_server = servers.pop() if len(servers) == 1 else None
        self._strict = strict
        self._witness = witness

    def findings(self, found: ToolCall | CallError | Notice) -> Iterator[Finding]:
        """Return the findings of one block, in the order of their places, or that of a notice."""
        if isinstance(found, CallError):
            return iter((self._refused(found),))
        if isinstance(found, Notice):
            return iter((self._noticed(found),))
        if found.repairs:
            return self._mended(found)
        return iter(()) if found.legacy_json else self._doubted(found)

    def _noticed(self, notice: Notice) -> Finding:
        return self._finding(notice.code, self._severity, notice.span, notice.message, notice.hint, notice.name)

    def _refused(self, error: CallError) -> Finding:
        start, end = error.span
        place, behind = (start, end) if error.offset is None else (error.offset, None)
        # A model gets the hint alone, so some hold the whole message; here it stands beside them.
        hint = error.code.hint if error.message in error.hint else error.hint
        return self._finding(error.code, "error", (place, behind), error.message, hint, error.name)

    def _mended(self, call: ToolCall) -> Iterator[Finding]:
        for repair in call.repairs:
            place = (repair.offset, None)
            yield self._finding(repair.code, self._severity, place, repair.message, repair.code.hint, call.name)

    def _doubted(self, call: ToolCall) -> Iterator[Finding]:
        """What others say of a clean call."""
        # They load lxml and defusedxml, which only clean blocks need.
        from xmltools.lint.readers import disagreements
        from xmltools.lint.witness import doubt_of

        assert call.span is not None
        start, end = call.span
        block = self._source.text[start:end]
        tool = self._tools.get((call.name, call.server))
        doubt = doubt_of(block, tool) if self._witness else None
        if doubt:
            span = (start, end) if doubt.line == 1 else (start + _text_start(block, doubt.line), None)
            yield self._own(WITNESS_DISAGREES, span, doubt.message, call)
        for message in disagreements(block, call, tool, self._only_server) if self._strict else ():
            yield self._own(READERS_DISAGREE, (start, end), message, call)

    @property
    def _severity(self) -> Literal["error", "warning"]:
        return "error" if self._strict else "warning"

    def _own(self, code: str, span: tuple[int, int | None], message: str, call: ToolCall) -> Finding:
        return self._finding(code, self._severity, span, message, OWN_CODES[code], call.name)

    def _finding(
        self,
        code: str,
        severity: Literal["error", "warning"],
        span: tuple[int, int | None],
        message: str,
        hint: str,
        tool: str | None,
    ) -> Finding:
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
