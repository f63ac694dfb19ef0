"""How `xmltools parse` prints: as events, as parts, or for people. Each is a `Sink`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

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
    TextDelta,
)
from xmltools.syntax.lines import Lines

__all__ = ["Coloured", "EventLines", "PartLines", "Sink", "one_line"]

# What a model writes must not steer the terminal: control characters are shown as their pictures.
_VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_VISIBLE |= dict.fromkeys(range(0x7F, 0xA0), 0xFFFD)

Write = Callable[[dict[str, Any]], None]


class Sink(Protocol):
    """Where events go: each way of printing is one."""

    def show(self, event: Event) -> None:
        """Print an event."""

    def end(self, unclosed_reasoning: bool) -> None:
        """Print what is left; the reply ended, inside a reasoning region or not."""


def one_line(message: str) -> str:
    """A message as it may stand in one line of a terminal."""
    return " ".join(message.split("\n")).translate(_VISIBLE)


def _call_json(call: ToolCall) -> dict[str, Any]:
    """A call as JSON."""
    repairs = [{"code": r.code, "offset": r.offset, "message": r.message} for r in call.repairs]
    return {
        "type": "call",
        "id": call.id,
        "server": call.server,
        "name": call.name,
        "arguments": call.arguments,
        "repairs": repairs,
        "clean": call.clean,
        "legacy_json": call.legacy_json,
        "span": call.span,
    }


def _error_json(error: CallError) -> dict[str, Any]:
    """An error as JSON, with what had been read before it."""
    return {
        "type": "error",
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "server": error.server,
        "name": error.name,
        "arguments": error.arguments,
        "span": error.span,
    }


def _notice_json(notice: Notice) -> dict[str, Any]:
    """A notice as JSON."""
    return {
        "type": "notice",
        "code": notice.code,
        "message": notice.message,
        "hint": notice.hint,
        "notation": notice.notation,
        "name": notice.name,
        "whole": notice.is_whole,
        "fenced": notice.is_fenced,
        "span": notice.span,
    }


class EventLines:
    """One JSON object an event."""

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

    def end(self, unclosed_reasoning: bool) -> None:
        """Nothing is left: each event was printed when it came."""


class PartLines:
    """One JSON object a part, as soon as it is complete: adjacent deltas of one kind are one part. Notices come after
    the text that they are about."""

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
                line, column = self._lines.locate(error.span[0])
                self._write({**_error_json(error), "line": line, "column": column})
            case Noticed(notice):
                line, column = self._lines.locate(notice.span[0])
                self._notices.append({**_notice_json(notice), "line": line, "column": column})

    def end(self, unclosed_reasoning: bool) -> None:
        """Print what is left."""
        self._flush({"unclosed": True} if unclosed_reasoning else {})

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


class Coloured:
    """For people at a terminal: text as it comes, a call with its arguments when it is complete."""

    def __init__(self, lines: Lines) -> None:
        self._print = _printer()
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
                self._line(f"  hint: {error.hint}", "yellow")
            case Noticed(notice):
                line, column = self._lines.locate(notice.span[0])
                self._line(f"notice at {line}:{column}: {notice.code}: {notice.message}", "yellow")

    def end(self, unclosed_reasoning: bool) -> None:
        """Print what is left."""
        self._line("(the reply ended inside a reasoning region)" if unclosed_reasoning else "", "yellow")

    def _show_call(self, call: ToolCall) -> None:
        self._line(f"call {call.name} ({call.server})", "bold cyan")
        for name, value in call.arguments.items():
            self._put(f"  {name} = ", "cyan")
            long = isinstance(value, str) and "\n" in value
            self._put("\n    " + value.rstrip("\n").replace("\n", "\n    ") if long else json.dumps(value))
            self._line("")
        for repair in call.repairs:
            line, column = self._lines.locate(repair.offset)
            self._line(f"  repaired at {line}:{column}: {repair.code}: {repair.message}", "yellow")

    def _line(self, text: str, style: str = "") -> None:
        """Write `text` on a line of its own; without text, end a line that was begun."""
        if self._inside_line:
            self._put("\n")
        if text:
            self._put(text + "\n", style)

    def _put(self, text: str, style: str = "") -> None:
        if text:
            self._print(text.translate(_VISIBLE), style)
            self._inside_line = not text.endswith("\n")


def _printer() -> Callable[[str, str], None]:
    """A function that prints text in a style, or without one if rich is not installed."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return lambda text, style: print(text, end="", flush=True)
    console = Console(highlight=False)
    return lambda text, style: console.print(Text(text, style), end="", soft_wrap=True)
