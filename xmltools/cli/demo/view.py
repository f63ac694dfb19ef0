"""What the demo shows: the plain view, and the words that it shares with the live one.

The plain view needs nothing but a stream to write to. The live one (`xmltools.cli.demo.live`) needs rich.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Self, TextIO

from xmltools.models import ToolCall
from xmltools.models.events import (
    ArgumentDelta,
    CallCompleted,
    CallFailed,
    CallStarted,
    Event,
    ReasoningDelta,
    TextDelta,
)
from xmltools.terminal import Wrapper, columns_of

LABEL_WIDTH = 12
"""Characters of the column in front of each line."""
NARROW = 60
"""Columns of a terminal on which labels have lines of their own, so that there is room beside the indentation."""
_LINE_START = re.compile(r"(?<=\n)(?=[^\n])")
_TYPES: tuple[tuple[type, str], ...] = (
    (str, "string"),
    (bool, "boolean"),  # Before int: a bool is one.
    (int, "integer"),
    (float, "number"),
    (list, "array"),
    (dict, "object"),
)
_HEAD, _TAIL = 5, 3  # Lines that are shown of a long value.


def type_name(value: Any) -> str:
    """The type of an argument, in the words of JSON Schema."""
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "null"


def shorten(lines: list[str]) -> list[str]:
    """The first and the last of many lines, and how many are not shown."""
    hidden = len(lines) - _HEAD - _TAIL
    return [*lines[:_HEAD], f"… {hidden} more lines", *lines[-_TAIL:]] if hidden > 1 else lines


def argument_name(path: Iterable[str | int]) -> str:
    """A path as it would be written: `files[0].name`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def verdict(call: ToolCall) -> str:
    """How well a call was written."""
    count = len(call.repairs)
    return "clean" if call.clean else f"{count} repair{'s' if count > 1 else ''}"


def repair_notes(call: ToolCall) -> list[str]:
    """A line for each repair: its code, and what the parser says about it."""
    return [f"{repair.code}: {repair.message}" for repair in call.repairs]


class PlainView:
    """Writes everything as it comes, under labels at the left. No colours, nothing is written over.

    On a terminal, lines end between words. A context manager: leaving it leaves the terminal in order. The live view is
    one that draws in another way.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        width = columns_of(stream)
        self._wrapper = Wrapper(width)
        self._is_narrow = width is not None and width < NARROW
        self._label = "  " if self._is_narrow else " " * LABEL_WIDTH
        self._part = ""
        self._indent = ""
        self._held = ""  # White space that is written only if something follows it.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def title(self, text: str) -> None:
        """Say what will be seen."""
        self._put(f"{text}\n")

    def show(self, event: Event) -> None:
        """Show what the parser saw."""
        match event:
            case TextDelta(text):
                self._continue("text", text)
            case ReasoningDelta(text):
                self._continue("reasoning", text)
            case CallStarted(_, name):
                self._start_call(name)
            case ArgumentDelta(path, text):
                self._add_argument(argument_name(path), text)
            case CallCompleted(call):
                self._show_call(call)
            case CallFailed(error):
                self.note("no call", f"{error.code}: {error.message}\n{error.hint}", "bold red")

    def note(self, label: str, text: str, style: str = "bold") -> None:
        """Write text under a label: the task, results, the summary."""
        self._begin(label)
        self._write(text)
        self.end()

    def lines(self, label: str, lines: list[str]) -> None:
        """Write lines under a label that are to be copied: where they are too long, the terminal breaks them."""
        self._begin(label)
        self._stream.write(f"\n{self._indent}".join(lines))
        self.end()

    def end(self) -> None:
        """End what is being shown: the reply has ended."""
        if self._part:
            self._put("\n")
        self._part = self._held = ""
        self._stream.flush()

    def _continue(self, part: str, text: str) -> None:
        """More of a part; begins it with the first thing that can be seen."""
        if self._part != part:
            text = text.lstrip()
            if not text:
                return
            self._begin(part)
        self._write(text)

    def _start_call(self, name: str) -> None:
        self._begin("call")
        self._write(name)

    def _add_argument(self, name: str, text: str) -> None:
        if self._part != f"argument {name}":
            self._part = f"argument {name}"
            self._line(self._beside(name, 2 * self._label))
            self._indent = 2 * self._label
        self._write(text)

    def _show_call(self, call: ToolCall) -> None:
        if not self._part:
            self._start_call(call.name)
        types = ", ".join(f"{name}: {type_name(value)}" for name, value in call.arguments.items())
        self._line(f"= {call.name}({types}), {verdict(call)}")
        for note in repair_notes(call):
            self._line(f"~ {note}")
        self.end()

    def _begin(self, part: str) -> None:
        self.end()
        self._put("\n")
        self._indent = ""
        self._put(self._beside(part, self._label))
        self._part = part
        self._indent = self._label

    def _beside(self, label: str, indent: str) -> str:
        """Return a label, and what is between it and what it stands for."""
        return f"{label}\n{indent}" if self._is_narrow else f"{label:<{LABEL_WIDTH}}"

    def _line(self, text: str) -> None:
        """Write text on a line of its own, below what the part holds already."""
        self._held = ""
        self._indent = self._label
        self._put(f"\n{self._indent}{text}")

    def _write(self, text: str) -> None:
        text = self._held + text
        body = text.rstrip()
        self._held = text[len(body) :]
        self._wrapper.indent = self._indent
        self._stream.write(self._wrapper.feed(_LINE_START.sub(self._indent, body)))
        self._stream.flush()

    def _put(self, text: str) -> None:
        """Write text that is complete: what follows is another word."""
        self._wrapper.indent = self._indent
        self._stream.write(self._wrapper.feed(text) + self._wrapper.flush())
