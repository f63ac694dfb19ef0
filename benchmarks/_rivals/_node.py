"""@ai-sdk-tool/parser, which runs under node: a child that measures itself, and takes turns with us by messages."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _rivals._dialects import Call
from _rivals._install import AI_SDK, NODE
from _rivals._rival import MissingError, Rival, Run
from _rivals._texts import TOOL_SCHEMAS

__all__ = ["NODE_RIVALS"]

TOOLS = [
    {"type": "function", "name": name, "description": "", "inputSchema": schema}
    for name, schema in TOOL_SCHEMAS.items()
]


class Child:
    """The node process. One that does not answer in time is ended, and the next question starts a new one."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.loaded = ""

    def start(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            script = Path(__file__).with_name("_node.mjs")
            words = ["node", str(script), str(NODE)]
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None)
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

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


CHILD = Child()


class AiSdk(Rival):
    """A protocol of @ai-sdk-tool/parser: its stream parser for chunks, `parseGeneratedText` for whole replies.

    The time is that of node's whole process, which has threads for compiling and collecting garbage.
    """

    package = "@ai-sdk-tool/parser"
    protocol: str

    def __init__(self) -> None:
        if not shutil.which("node"):
            raise MissingError("install node 18 or later, then " + self.install)
        if not (NODE / "node_modules" / "@ai-sdk-tool" / "parser").is_dir():
            raise MissingError(self.install)

    @property
    def version(self) -> str:
        return f"{AI_SDK}, node {subprocess.check_output(['node', '--version'], text=True).strip()}"

    def stream(self, chunks: Iterator[str]) -> list[Call]:
        raise NotImplementedError("node measures itself")

    def measure(self, text: str, chunk: int, cap: float, loops: int = 1) -> Run:
        CHILD.load(text)
        question = {"run": "text", "protocol": self.protocol, "chunk": chunk, "cap": cap, "loops": loops}
        # On a busy machine a second of CPU time takes longer on the clock.
        answer = CHILD.ask(question | {"tools": TOOLS}, 4 * cap + 2)
        if answer is None:
            return Run(cap, 0, None)
        calls = answer["calls"]
        return Run(
            answer["seconds"],
            answer["share"],
            calls if calls is None else [Call(name, arguments) for name, arguments in calls],
            answer["error"],
        )


class AiMorph(AiSdk):
    name = "ai-sdk-tool morph-xml"
    dialect = "morph"
    protocol = "morph"


class AiHermes(AiSdk):
    name = "ai-sdk-tool hermes"
    dialect = "hermes"
    deltas = "each call"
    protocol = "hermes"


class AiQwen(AiSdk):
    name = "ai-sdk-tool qwen3coder"
    dialect = "escaped qwen"
    protocol = "qwen"


NODE_RIVALS: list[type[Rival]] = [AiHermes, AiQwen, AiMorph]
