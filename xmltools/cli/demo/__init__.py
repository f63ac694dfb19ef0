"""The main job on a recorded example: a reply streams in, its calls are read, carried out and answered.

Offline and repeatable: the replies are files of this package (`data/`), always cut into the same tokens.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from xmltools.cli.demo.tools import Workspace
from xmltools.cli.demo.view import PlainView
from xmltools.models import ToolCall, ToolResult
from xmltools.models.events import ArgumentDelta, CallCompleted, Event
from xmltools.parser import Parser
from xmltools.proxy.scripted import demo_recording as recording
from xmltools.render import render_results

__all__ = ["run"]

# Seconds for a token. Long arguments stream faster, or the demo would take a minute.
_TOKEN_OF_TEXT = 0.03
_TOKEN_OF_ARGUMENT = 0.0025


class _Pace:
    """Waits between tokens. The time that the program itself took counts as waited."""

    def __init__(self, speed: float, sleep: Callable[[float], None]) -> None:
        self._speed = speed
        self._sleep = sleep
        self._due = time.monotonic()

    def wait(self, seconds: float) -> None:
        """Wait `seconds` at normal speed, counted from when the last wait should have ended."""
        if self._speed <= 0:
            return
        self._due = max(self._due + seconds / self._speed, time.monotonic() - 0.1)
        if (rest := self._due - time.monotonic()) > 0:
            self._sleep(rest)


def run(
    speed: float = 1.0,
    plain: bool = False,
    *,
    folder: Path | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Run the demo on standard output. Returns the exit status: 0 if all calls were read and carried out.

    Takes how fast tokens come (2 is twice as fast, 0 does not wait), whether to do without colours and live
    view (that is so anyway where there is no terminal or no rich), the folder to work in (default: a new one)
    and how to wait.
    """
    workspace = Workspace(folder or Path(tempfile.mkdtemp(prefix="xmltools-demo-")))
    _prepare(workspace)
    pace = _Pace(speed, sleep)
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    with _choose_view(plain) as view:
        view.title("xmltools demo: what the parser sees in a recorded reply, while it streams")
        view.note("task", recording.TASK)
        for reply in recording.replies():
            made = _show_reply(reply, Parser(workspace.tools), view, pace)
            answers = [workspace.run(call) for call in made]
            calls += made
            results += answers
            if not made:
                break
            view.note("results", render_results(answers))
            pace.wait(1.5)
        _conclude(view, workspace, calls)
    return int(not calls or any(result.is_error for result in results))


def _show_reply(reply: str, parser: Parser, view: PlainView, pace: _Pace) -> list[ToolCall]:
    """Stream a reply into the parser and show what it says. Returns the calls."""
    calls = []
    for events, seconds in _stream(reply, parser):
        for event in events:
            view.show(event)
            if isinstance(event, CallCompleted):
                calls.append(event.call)
        pace.wait(seconds)
    view.end()
    return calls


def _stream(reply: str, parser: Parser) -> Iterator[tuple[list[Event], float]]:
    """What the parser says to each token, and how long to wait after it."""
    for token in recording.tokens(reply):
        events = parser.feed(token)
        in_argument = not events or isinstance(events[-1], ArgumentDelta)
        yield events, _TOKEN_OF_ARGUMENT if in_argument else _TOKEN_OF_TEXT
    yield parser.close(), 0


def _prepare(workspace: Workspace) -> None:
    """Lay out the folder: the file to work on, and the reply and the tools, to play with afterwards."""
    source = workspace.folder / recording.SOURCE
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(recording.source(), encoding="utf-8", newline="")
    (workspace.folder / "reply.txt").write_text(recording.replies()[0], encoding="utf-8", newline="")
    tools = [tool.model_dump(include={"name", "description", "parameters"}) for tool in workspace.tools]
    (workspace.folder / "tools.json").write_text(json.dumps(tools, indent=2) + "\n", encoding="utf-8")


def _choose_view(plain: bool) -> PlainView:
    if not plain and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        with suppress(ImportError):
            from rich.console import Console

            from xmltools.cli.demo.live import LiveView

            console = Console(highlight=False)
            if not console.legacy_windows:
                return LiveView(console)
    return PlainView(sys.stdout)


def _conclude(view: PlainView, workspace: Workspace, calls: list[ToolCall]) -> None:
    """Say what was done, where it is, and what to try next."""
    codes = Counter(repair.code.value for call in calls for repair in call.repairs)
    clean = sum(call.clean for call in calls)
    repairs = f"; repaired: {', '.join(sorted(codes))}" if codes else ""
    files = [
        f"{file.relative_to(workspace.folder)}  {len(file.read_text('utf-8').splitlines())} lines"
        for file in dict.fromkeys(workspace.changed)
    ]
    view.note("done", f"{len(calls)} calls read and carried out, {clean} of them clean{repairs}")
    view.lines("files", [f"{workspace.folder}", *(f"  {file}" for file in files)])
    program = _program()
    view.lines("try next", [f"cd {workspace.folder}", f"{program} parse reply.txt --tools tools.json"])
    view.lines("or serve", [f"{program} serve --demo --dialect hermes"])


def _program() -> str:
    """How this program is called from here."""
    if shutil.which("xmltools"):
        return "xmltools"
    script = Path(sys.argv[0])
    return str(script.resolve()) if script.name == "xmltools" else f"{sys.executable} -m xmltools"
