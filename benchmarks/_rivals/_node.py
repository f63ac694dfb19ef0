"""@ai-sdk-tool/parser, which runs under node."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from _rivals._dialects import Call
from _rivals._install import AI_SDK, NODE
from _rivals._process import Child
from _rivals._rival import MissingError, Rival, Run
from _rivals._texts import TOOL_SCHEMAS

__all__ = ["NODE_RIVALS"]

TOOLS = [
    {"type": "function", "name": name, "description": "", "inputSchema": schema}
    for name, schema in TOOL_SCHEMAS.items()
]


CHILD = Child("node", Path(__file__).with_name("_node.mjs"), NODE)


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
        return CHILD.measure(text, chunk, cap, loops, protocol=self.protocol, tools=TOOLS)


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
