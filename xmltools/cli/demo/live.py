"""The demo's view for a terminal: each part takes shape in place, and stays when it is complete."""

from __future__ import annotations

import json
import time
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from xmltools.cli.demo.view import LABEL_WIDTH, PlainView, repair_notes, shorten, type_name, verdict
from xmltools.models import ToolCall
from xmltools.models.events import Event

_WIDEST = 110
_FRAME = 0.05  # Seconds between two pictures: more could not be seen, and cost time.
_WINDOW = 12  # Lines that are shown of a value while it grows.
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


class LiveView(PlainView):
    """Shows the part that is being read at the bottom, and everything before it above."""

    def __init__(self, console: Console) -> None:
        console.width = min(console.width, _WIDEST)
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="ellipsis")
        self._drawn = 0.0
        self._kind = ""
        self._text = ""
        self._name = ""
        self._arguments: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()
        self._live.stop()

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
        self._keep(_row(label, _colour_headers(text), style))

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
        self._keep(_row("call", _finished(call), "bold cyan"))

    def _keep(self, part: RenderableType) -> None:
        """Print a complete part above what is live."""
        self._kind = self._text = ""
        self._arguments = {}
        self._live.update(Text(), refresh=True)
        self._console.print("", part)

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn >= _FRAME:
            self._drawn = now
            self._live.update(Group("", self._current()), refresh=True)

    def _current(self) -> RenderableType:
        match self._kind:
            case "text":
                return _row("text", Text(self._text.strip()), "bold")
            case "reasoning":
                return _row("reasoning", Text(self._text.strip(), "dim italic"), "dim")
            case "call":
                return _row("call", _growing(self._name, self._arguments), "bold cyan")
        return Text()


def _row(label: str, content: RenderableType, style: str) -> Table:
    grid = Table.grid(padding=(0, 1), expand=False)
    grid.add_column(min_width=LABEL_WIDTH - 1)
    grid.add_column()
    grid.add_row(Text(label, style), content)
    return grid


def _growing(name: str, arguments: dict[str, str]) -> RenderableType:
    """A call that is still being written: its arguments as far as they are known."""
    grid = _argument_grid()
    for argument, text in arguments.items():
        lines = text.split("\n")
        _add_argument(grid, argument, "", lines[-_WINDOW:], len(lines))
    return Group(Text.assemble((name, "bold"), ("  …", "dim")), grid)


def _finished(call: ToolCall) -> RenderableType:
    style = "green" if call.clean else "yellow"
    grid = _argument_grid()
    for argument, value in call.arguments.items():
        lines = value.rstrip("\n").split("\n") if isinstance(value, str) else [json.dumps(value)]
        _add_argument(grid, argument, type_name(value), shorten(lines), len(lines))
    notes = [Text(f"~ {note}", "yellow") for note in repair_notes(call)]
    return Group(Text.assemble((call.name, "bold"), "  ", (verdict(call), style)), grid, *notes)


def _argument_grid() -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(min_width=LABEL_WIDTH - 1, max_width=2 * LABEL_WIDTH)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    return grid


def _add_argument(grid: Table, name: str, kind: str, shown: list[str], count: int) -> None:
    """One argument: its type comes after a short value, and beside a long one, with the number of lines."""
    if count == 1:
        grid.add_row(Text(name, "cyan"), _value(shown).append(f"  {kind}", "dim"))
        return
    facts = [kind, f"{count} lines"] if kind else [f"{count} lines"]
    grid.add_row(Text.assemble((name, "cyan"), *((f"\n{fact}", "dim") for fact in facts)), _value(shown))


def _value(lines: list[str]) -> Text:
    """Lines of a value, coloured as a diff where they look like one."""
    text = Text(no_wrap=True, overflow="ellipsis")
    for i, line in enumerate(lines):
        style = _DIFF.get(line[:1], "") if len(lines) > 1 else ""
        text.append(("\n" if i else "") + line, "dim" if line.startswith("…") else style)
    return text


def _colour_headers(text: str) -> Text:
    coloured = Text(text)
    coloured.highlight_regex(r"(?m)^(?:Tool|Result):", "bold green")
    coloured.highlight_regex(r"(?m)^Error:", "bold red")
    return coloured
