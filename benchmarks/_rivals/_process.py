"""What can't run in this process: a child that measures itself, and takes turns with us by messages."""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path
from typing import Any

from _rivals._dialects import Call
from _rivals._rival import Run

__all__ = ["Child"]


class Child:
    """The process. One that does not answer in time is ended, and the next question starts a new one."""

    def __init__(self, *words: object, **environment: str) -> None:
        self.words = [str(word) for word in words]
        self.environment = environment
        self.process: subprocess.Popen[bytes] | None = None
        self.loaded = ""

    def start(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            self.process = subprocess.Popen(
                self.words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[1],
                env=os.environ | self.environment,
            )
            self.loaded = ""
        return self.process

    def ask(self, question: dict[str, Any], patience: float) -> dict[str, Any] | None:
        """The answer, or None if there was none within `patience` seconds."""
        process = self.start()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        process.stdin.flush()
        if select.select([process.stdout], [], [], patience)[0]:
            answer: dict[str, Any] = json.loads(process.stdout.readline())
            return answer
        self.end()
        return None

    def load(self, text: str) -> None:
        self.start()
        if text != self.loaded:
            self.ask({"load": "text", "text": text}, 60)
            self.loaded = text

    def measure(self, text: str, chunk: int, cap: float, loops: int, **more: Any) -> Run:
        """Let the child measure itself. `more` is what else it must know."""
        self.load(text)
        question = {"run": "text", "chunk": chunk, "cap": cap, "loops": loops} | more
        # On a busy machine a second of CPU time takes longer on the clock.
        answer = self.ask(question, 4 * cap + 2)
        if answer is None:
            return Run(cap, 0, None)
        calls = answer["calls"]
        return Run(
            answer["seconds"],
            answer["share"],
            calls if calls is None else [Call(name, arguments) for name, arguments in calls],
            answer["error"],
        )

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
