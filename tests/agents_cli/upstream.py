"""A server that only writes text, and says what a test has planned: one reply for each turn of the agent."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from xmltools.models import ToolCall
from xmltools.proxy.bridge.json_bodies import parse_object
from xmltools.proxy.bridge.requests import read_request
from xmltools.proxy.scripted.player import Answer, Player, completion, models
from xmltools.render import render_call

__all__ = ["Plan", "Prompt", "call"]


def call(name: str, **arguments: Any) -> str:
    """A call as a model writes it."""
    return render_call(ToolCall(id="c", name=name, arguments=dict(arguments)))


class Prompt:
    """What the model is shown."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.messages: list[tuple[str, str]] = [
            (each["role"], text_of(each.get("content"))) for each in body["messages"]
        ]

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(text for role, text in self.messages if role == "system")

    @property
    def last(self) -> str:
        """The last message."""
        return self.messages[-1][1]

    @property
    def turn(self) -> int:
        """How many replies the model has given in this conversation."""
        return sum(role == "assistant" for role, _ in self.messages)

    @property
    def results(self) -> list[tuple[str, str]]:
        """Names of tools in the results of the last turn, and what each says."""
        parts = re.split(r"^Tool: (.*)\n(?:Result|Error): ?", self.last, flags=re.MULTILINE)
        return list(zip(parts[1::2], parts[2::2], strict=True))


def text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


class Plan(Player):
    """The server. `reply` is asked for each prompt that tells of tools; others are wanted for a title, and get one."""

    def __init__(self, reply: Callable[[Prompt], str], *, wants_tools: bool = True) -> None:
        super().__init__(speed=0)
        self.wants_tools = wants_tools
        self.reply = reply
        self.prompts: list[Prompt] = []
        self.failures: list[BaseException] = []
        self._lock = threading.Lock()

    def choose(self, request: Request, body: bytes) -> Answer:
        """Say what is planned."""
        if request.method == "GET":
            return models("my-model")
        asked = parse_object(body)
        return completion(read_request("chat", asked), self._said(Prompt(asked)))

    def _said(self, prompt: Prompt) -> str:
        if self.wants_tools and "<tool_name>" not in prompt.system:
            return "A title"
        with self._lock:
            self.prompts.append(prompt)
            try:
                return self.reply(prompt)
            except Exception as failure:
                self.failures.append(failure)
                return "The test failed."
