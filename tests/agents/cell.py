"""What the clients' scripts share: the tool, and how they are asked and answer.

A script reads one line of JSON, `{"url": …, "cells": [{"api", "case", "streaming", "model"}, …]}`. First it prints
the versions of its libraries, then a line for each cell. Its standard output belongs to these lines: what libraries
print goes to standard error. It runs with the client's libraries and needs nothing else.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

QUESTION = "Write the notes."
NAME = "write_file"
DESCRIPTION = "Write a text file."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "mode": {"type": "string", "enum": ["create", "append"]},
    },
    "required": ["path", "content"],
}
RESULT = "RESULT-7: the file is written."
MAX_STEPS = 4
PATIENCE = 20.0  # seconds for a cell


@dataclass
class Ask:
    """One cell: what is asked of which API, and what came of it."""

    url: str
    api: str
    case: str
    streaming: bool
    model: str
    transport: bool = False
    integration: bool = False
    entered: list[Any] = field(default_factory=list)
    """The arguments of each time that the tool ran."""
    texts: list[str] = field(default_factory=list)
    """What the user gets to read, also if it ends with an error."""

    def tool(self, **arguments: Any) -> str:
        """The tool. It takes anything: only the client and what is before it can keep a bad call away."""
        self.entered.append(arguments)
        return RESULT

    def called(self, name: str, arguments: Any) -> str:
        """Run a tool as a plain program does: by its name, with whatever arguments there are."""
        return {NAME: self.tool}[name](**arguments)


class TooLongError(BaseException):
    """A cell that took too long. No library mistakes it for an error of its own."""


def _too_long(*_: Any) -> None:
    raise TooLongError(f"it took longer than {PATIENCE:.0f} seconds")


def run_all(play: Callable[[Ask], Any], *libraries: str) -> None:
    """Answer what is asked on standard input with `play`, which plays one cell."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(what: dict[str, Any]) -> None:
        print(json.dumps(what), file=answers, flush=True)

    say({"versions": {library: version(library) for library in libraries}})
    asked = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGALRM, _too_long)
    with asyncio.Runner() as runner:
        for cell in asked["cells"]:
            ask, begun, error = Ask(asked["url"], **cell), time.monotonic(), None
            signal.setitimer(signal.ITIMER_REAL, PATIENCE)
            try:
                playing = play(ask)
                if inspect.isawaitable(playing):
                    runner.run(playing)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except BaseException as failure:
                signal.setitimer(signal.ITIMER_REAL, 0)
                if isinstance(failure, KeyboardInterrupt):
                    raise
                error = {"type": type(failure).__name__, "message": str(failure)[:300]}
            seconds = round(time.monotonic() - begun, 3)
            text = "".join(ask.texts)
            say({"model": ask.model, "entered": ask.entered, "text": text, "error": error, "seconds": seconds})
