"""The demo's view for a terminal: each part takes shape in place, and stays when it is complete.

A part has one layout from its first picture to its last, so that nothing jumps: what is complete stays where it was
while it grew. Only lines that have changed are written, over what was there, so that nothing flickers.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Self

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xmltools.cli.demo.view import LABEL_WIDTH, NARROW, PlainView, repair_notes, shorten, type_name, verdict
from xmltools.models import ToolCall
from xmltools.models.events import Event
from xmltools.terminal import cells

_FRAME = 0.05  # Seconds between two pictures: more could not be seen, and cost time.
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_TO_END_OF_LINE, _TO_END_OF_SCREEN = "\x1b[K", "\x1b[J"
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


class LiveView(PlainView):
    """Shows the part that is being read at the bottom, and everything before it above."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._picture: list[str] = []  # the lines that may change; the cursor is at the end of the last one
        self._drawn = 0.0
        self._kind = ""
        self._text = ""
        self._name = ""
        self._arguments: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._console.show_cursor(False)
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()
        self._console.show_cursor()

    def title(self, text: str) -> None:
        """Say what will be seen."""
        self._console.print(Text(text, "bold"))

    def show(self, event: Event) -> None:
        """Show what the parser saw."""
        super().show(event)
        self._draw()

    def note(self, label: str, text: str, style: str = "bold") -> None:
        """Write text under a label: the task, results, the summary."""
        self.end()
        self._keep(_Row(label, _colour_headers(text), style))

    def lines(self, label: str, lines: list[str]) -> None:
        """Write lines under a label that are to be copied: where they are too long, the terminal breaks them."""
        self.end()
        indent = "  " if self._console.width < NARROW else " " * LABEL_WIDTH
        head = f"{label}\n{indent}" if self._console.width < NARROW else f"{label:<{LABEL_WIDTH}}"
        # Not wrapped by us: what the terminal breaks is copied whole.
        self._keep(Text.assemble((head, "bold"), f"\n{indent}".join(lines)), soft_wrap=True)

    def end(self) -> None:
        """End what is being shown: the reply has ended."""
        if self._kind in ("text", "reasoning") and self._text.strip():
            self._keep(self._current())
        self._kind = self._text = ""

    def _continue(self, kind: str, text: str) -> None:
        if self._kind != kind:
            self.end()
            self._kind = kind
        self._text += text

    def _start_call(self, name: str) -> None:
        self.end()
        self._kind, self._name = "call", name

    def _add_argument(self, name: str, text: str) -> None:
        self._arguments[name] = self._arguments.get(name, "") + text

    def _show_call(self, call: ToolCall) -> None:
        self._keep(_Row("call", _finished(call), "bold cyan"))

    def _keep(self, part: RenderableType, *, soft_wrap: bool = False) -> None:
        """Print a complete part above what is live, which it takes the place of."""
        self._kind = self._text = ""
        self._arguments = {}
        self._paint(self._lines_of(part, soft_wrap))
        self._picture = []
        self._console.file.write("\n")

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn >= _FRAME and self._kind:
            self._drawn = now
            self._paint(self._lines_of(self._current())[1 - self._console.height :])
            self._console.file.flush()

    def _lines_of(self, part: RenderableType, soft_wrap: bool = False) -> list[str]:
        with self._console.capture() as captured:
            self._console.print("", part, sep="\n", soft_wrap=soft_wrap)
        return captured.get().removesuffix("\n").split("\n")

    def _paint(self, lines: list[str]) -> None:
        """Write lines in the place of the picture: those that are as they were stay untouched."""
        before, self._picture = self._picture, lines
        same = 0
        while same < min(len(lines), len(before)) and lines[same] == before[same]:
            same += 1
        if same == len(lines) == len(before):
            return
        same = min(same, len(lines) - 1)
        up = len(before) - 1 - same
        start = "\n" if up < 0 and before else "\r" + (f"\x1b[{up}A" if up > 0 else "")
        # Where a line is full the cursor is still on its last character, which is not to be erased.
        ends = ("" if cells(_STYLE.sub("", line)) >= self._console.width else _TO_END_OF_LINE for line in lines)
        changed = "\n".join(line + end for line, end in list(zip(lines, ends, strict=True))[same:])
        self._console.file.write(start + changed + _TO_END_OF_SCREEN * (len(before) > len(lines)))

    def _current(self) -> RenderableType:
        match self._kind:
            case "text":
                return _Row("text", Text(self._text.strip()), "bold")
            case "reasoning":
                return _Row("reasoning", Text(self._text.strip(), "dim italic"), "dim")
            case "call":
                return _Row("call", _growing(self._name, self._arguments), "bold cyan")
        return Text()


class _Row:
    """A label, and beside it what it stands for; on a narrow terminal, below it. Facts follow the label."""

    def __init__(self, label: str, content: RenderableType, style: str, facts: tuple[str, ...] = ()) -> None:
        self._label = label, style
        self._facts = facts
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if console.width < NARROW:
            yield Text.assemble(self._label, *((f"  {fact}", "dim") for fact in self._facts))
            yield Padding(self._content, (0, 0, 0, 2))
            return
        grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
        grid.add_column(width=LABEL_WIDTH - 1)
        grid.add_column(ratio=1)
        label = Text.assemble(self._label, *((f"\n{fact}", "dim") for fact in self._facts))
        grid.add_row(label, self._content)
        yield grid


def _growing(name: str, arguments: dict[str, str]) -> RenderableType:
    """A call that is still being written: its arguments as far as they are known."""
    rows = [_argument(argument, "", text.rstrip("\n").split("\n")) for argument, text in arguments.items()]
    return Group(Text.assemble((name, "bold"), ("  …", "dim")), *rows)


def _finished(call: ToolCall) -> RenderableType:
    style = "green" if call.clean else "yellow"
    rows = []
    for argument, value in call.arguments.items():
        lines = value.rstrip("\n").split("\n") if isinstance(value, str) else [json.dumps(value)]
        rows.append(_argument(argument, type_name(value), lines))
    notes = [Text(f"~ {note}", "yellow") for note in repair_notes(call)]
    return Group(Text.assemble((call.name, "bold"), "  ", (verdict(call), style)), *rows, *notes)


def _argument(name: str, kind: str, lines: list[str]) -> RenderableType:
    """One argument: its type comes after a short value, and beside a long one, below the number of lines."""
    if len(lines) == 1:
        return _Row(name, Text.assemble(lines[0], (f"  {kind}", "dim")), "cyan")
    facts = (f"{len(lines)} lines", kind) if kind else (f"{len(lines)} lines",)
    return _Row(name, _value(shorten(lines)), "cyan", facts)


def _value(lines: list[str]) -> Text:
    """Lines of a value, coloured as a diff."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for i, line in enumerate(lines):
        text.append(("\n" if i else "") + line, "dim" if line.startswith("…") else _DIFF.get(line[:1], ""))
    return text


def _colour_headers(text: str) -> Text:
    coloured = Text(text)
    coloured.highlight_regex(r"(?m)^(?:Tool|Result):", "bold green")
    coloured.highlight_regex(r"(?m)^Error:", "bold red")
    return coloured
