"""A server that only writes text, and says what a test has planned: one reply for each turn of the agent."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from xmltools.models import ToolCall
from xmltools.render import render_call

__all__ = ["Plan", "Prompt", "call"]

SIZE = 7
"""Characters in a chunk: markup is cut everywhere."""


def call(name: str, **arguments: str) -> str:
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


class Plan:
    """The server. `reply` is asked for each prompt that tells of tools; others are wanted for a title, and get one."""

    def __init__(self, reply: Callable[[Prompt], str]) -> None:
        self.reply = reply
        self.prompts: list[Prompt] = []
        self.failures: list[BaseException] = []
        self._lock = threading.Lock()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/v1/models", self._models, methods=["GET"]),
            ]
        )

    async def _models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "my-model", "object": "model"}]})

    async def _complete(self, request: Request) -> Response:
        prompt = Prompt(await request.json())
        text = self._said(prompt)
        if prompt.body.get("stream"):
            return StreamingResponse(chunks(text), media_type="text/event-stream")
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return JSONResponse({"id": "x", "object": "chat.completion", "choices": [choice], "usage": USAGE})

    def _said(self, prompt: Prompt) -> str:
        if "<tool_name>" not in prompt.system:
            return "A title"
        with self._lock:
            self.prompts.append(prompt)
            try:
                return self.reply(prompt)
            except Exception as failure:
                self.failures.append(failure)
                return "The test failed."


USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


async def chunks(text: str) -> Any:
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "my-model"}
    for at in range(0, len(text), SIZE):
        choice = {"index": 0, "delta": {"content": text[at : at + SIZE]}, "finish_reason": None}
        yield sse({**head, "choices": [choice]})
    yield sse({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield sse({**head, "choices": [], "usage": USAGE})
    yield "data: [DONE]\n\n"


def sse(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value)}\n\n"
