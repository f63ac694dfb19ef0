"""`xmltools parse`: prints what a reply holds, as events, as parts, or for people at a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from xmltools.cli.shared import (
    add_parser_options,
    one_standard_input,
    parser_options,
    positive,
    read_chunks,
    read_tools,
    styled_printer,
    tell,
)
from xmltools.errors import CallError, Notice
from xmltools.models import ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    Noticed,
    ReasoningDelta,
    Skipped,
    TextDelta,
)
from xmltools.parser import Parser
from xmltools.syntax.lines import Lines
from xmltools.terminal import VISIBLE, Wrapper, columns_of

Write = Callable[[dict[str, Any]], None]


def declare_parse(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `xmltools parse`."""
    add = parser.add_argument
    add("file", metavar="FILE", help="the model's reply; - is standard input, read as it comes")
    add("--tools", metavar="T.json", help="the tools: a JSON list in the form of OpenAI, Anthropic, MCP or ours")
    add("--events", action="store_true", help="print the parser's events as they come, not finished parts")
    add("--chunk-size", metavar="N", type=positive, help="feed the parser at most N characters at a time")
    add_parser_options(parser)


def parse(options: argparse.Namespace) -> int:
    """Run `xmltools parse`. Returns the exit status: 1 if a block gave no call."""
    one_standard_input("FILE and --tools", options.file, options.tools)
    tools = read_tools(options.tools) if options.tools is not None else None
    parser = Parser(tools=tools, **parser_options(options))
    lines = Lines()

    def write(value: dict[str, Any]) -> None:
        # Who reads a stream wants each line at once.
        print(json.dumps(value), flush=options.file == "-")

    printer: _Events | _Parts | _Coloured
    if options.events:
        printer = _Events(write)
    elif sys.stdout.isatty():
        printer = _Coloured(lines)
    else:
        printer = _Parts(write, lines)

    def events() -> Iterator[Event]:
        for chunk in read_chunks(options.file, options.chunk_size):
            lines.add(chunk)
            yield from parser.feed(chunk)
        yield from parser.close()

    failures = 0
    for event in events():
        printer.show(event)
        if isinstance(event, CallFailed):
            failures += 1
            line, column = lines.locate(event.error.span[0])
            message = f"{options.file}:{line}:{column}: {event.error.code}: {event.error.message}"
            tell(message)
    printer.end(parser.unclosed_reasoning)
    return 1 if failures else 0


def _fields(source: object, names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names.split()}


def _call_json(call: ToolCall) -> dict[str, Any]:
    repairs = [_fields(repair, "code offset message") for repair in call.repairs]
    return {
        **_fields(call, "type id server name arguments"),
        "repairs": repairs,
        **_fields(call, "clean legacy_json dialect span"),
    }


def _error_json(error: CallError) -> dict[str, Any]:
    """Return an error as JSON, with what had been read before it."""
    return {"type": "error", **_fields(error, "code message hint server name arguments span")}


def _notice_json(notice: Notice) -> dict[str, Any]:
    fields = _fields(notice, "code message hint notation name")
    return {"type": "notice", **fields, "whole": notice.is_whole, "fenced": notice.is_fenced, "span": notice.span}


class _Events:
    """Prints one JSON object for each event."""

    def __init__(self, write: Write) -> None:
        self._write = write

    def show(self, event: Event) -> None:
        """Print an event."""
        match event:
            case TextDelta(text):
                self._write({"type": "text_delta", "text": text, "span": event.span})
            case ReasoningDelta(text):
                self._write({"type": "reasoning_delta", "text": text, "span": event.span})
            case CallStarted(id, name):
                self._write({"type": "call_started", "id": id, "name": name, "server": event.server})
            case ArgumentDelta(path, text):
                self._write({"type": "argument_delta", "path": path, "text": text})
            case CallCompleted(call):
                self._write({"type": "call_completed", "call": _call_json(call)})
            case CallFailed(error):
                self._write({"type": "call_failed", "id": event.id, "error": _error_json(error)})
            case Noticed(notice):
                self._write(_notice_json(notice))
            case Skipped(span):
                self._write({"type": "skipped", "span": span})

    def end(self, unclosed_reasoning: bool) -> None:
        """Nothing is left: each event was printed when it came."""


class _Parts:
    """Prints one JSON object for each part, as soon as it is complete: adjacent deltas of one kind are one part.
    Notices come after the text that they are about."""

    def __init__(self, write: Write, lines: Lines) -> None:
        self._write = write
        self._lines = lines
        self._kind = ""
        self._texts: list[str] = []
        self._notices: list[dict[str, Any]] = []

    def show(self, event: Event) -> None:
        """Print an event."""
        match event:
            case TextDelta(text):
                self._collect("text", text)
            case ReasoningDelta(text):
                self._collect("reasoning", text)
            case CallStarted():
                self._flush()
            case CallCompleted(call):
                self._flush()
                self._write(_call_json(call))
            case CallFailed(error):
                self._flush()
                self._write(_error_json(error) | self._place(error))
            case Noticed(notice):
                self._notices.append(_notice_json(notice) | self._place(notice))

    def end(self, unclosed_reasoning: bool) -> None:
        """Print what is left; the reply ended, inside a reasoning region or not."""
        self._flush({"unclosed": True} if unclosed_reasoning else {})

    def _place(self, found: CallError | Notice) -> dict[str, Any]:
        return dict(zip(("line", "column"), self._lines.locate(found.span[0]), strict=True))

    def _collect(self, kind: str, text: str) -> None:
        if kind != self._kind:
            self._flush()
        self._kind = kind
        self._texts.append(text)

    def _flush(self, extra: dict[str, Any] | None = None) -> None:
        if self._kind:
            self._write({"type": self._kind, "text": "".join(self._texts), **(extra or {})})
        self._kind = ""
        self._texts.clear()
        for notice in self._notices:
            self._write(notice)
        self._notices.clear()


class _Coloured:
    """Prints for people at a terminal: text as it comes, a call with its arguments when it is complete. Lines end
    between words."""

    def __init__(self, lines: Lines) -> None:
        self._print = styled_printer()
        self._wrapper = Wrapper(columns_of(sys.stdout))
        self._style = ""
        self._lines = lines
        self._inside_line = False

    def show(self, event: Event) -> None:
        """Print an event."""
        match event:
            case TextDelta(text):
                self._put(text)
            case ReasoningDelta(text):
                self._put(text, "dim italic")
            case CallCompleted(call):
                self._show_call(call)
            case CallFailed(error):
                self._line(f"no call: {error.name or '(unnamed)'}", "bold red")
                self._line(f"  hint: {error.hint}", "yellow", "  ")
            case Noticed(notice):
                line, column = self._lines.locate(notice.span[0])
                self._line(f"notice at {line}:{column}: {notice.code}: {notice.message}", "yellow", "  ")

    def end(self, unclosed_reasoning: bool) -> None:
        """End the last line; say if the reply ended inside a reasoning region."""
        self._line("(the reply ended inside a reasoning region)" if unclosed_reasoning else "", "yellow")

    def _show_call(self, call: ToolCall) -> None:
        self._line(f"call {call.name} ({call.server})", "bold cyan")
        for name, value in call.arguments.items():
            self._put(f"  {name} = ", "cyan", whole=True)
            long = isinstance(value, str) and "\n" in value
            shown = "\n    " + value.rstrip("\n").replace("\n", "\n    ") if long else json.dumps(value)
            self._put(shown, indent="    ")
            self._line("")
        for repair in call.repairs:
            line, column = self._lines.locate(repair.offset)
            self._line(f"  repaired at {line}:{column}: {repair.code}: {repair.message}", "yellow", "    ")

    def _line(self, text: str, style: str = "", indent: str = "") -> None:
        """Write `text` on a line of its own; without text, end a line that was begun."""
        if self._inside_line:
            self._put("\n")
        if text:
            self._put(text + "\n", style, indent)

    def _put(self, text: str, style: str = "", indent: str = "", *, whole: bool = False) -> None:
        """Write text; a line that goes on begins with `indent`. If it is whole, its last word ends with it."""
        if not text:
            return
        if style != self._style and (kept := self._wrapper.flush()):
            self._print(kept, self._style)  # a word ends where its style does
        self._style, self._wrapper.indent = style, indent
        written = self._wrapper.feed(text.translate(VISIBLE)) + (self._wrapper.flush() if whole else "")
        if written:
            self._print(written, style)
        self._inside_line = not text.endswith("\n")
