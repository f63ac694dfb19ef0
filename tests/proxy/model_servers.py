"""Upstreams with a model that knows the doctor's tasks, and servers around it that behave as engines do, or worse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import xmltools as xt
from proxy.test_engines import detokenized
from proxy.test_server_upstream import USAGE, Answer, Seen, Step, as_json, chunk
from xmltools.proxy.doctor.examination import FORCED
from xmltools.proxy.doctor.tasks import TASKS, TOOLS, Task

__all__ = ["ModelServer"]

_STANDARD = frozenset(
    (
        *("model", "messages", "stream", "stream_options", "temperature", "max_tokens", "stop", "tools", "tool_choice"),
        *("n", "response_format"),
    )
)
_PLAIN = {
    "Say hello": "Hello!",
    "Count from": " ".join(map(str, range(1, 41))),
    "Write these four words": "red green blue yellow",
}


@dataclass
class ModelServer:
    """A server, as the `make` of an `Upstream`.

    `own` is the dialect in which its model writes calls by itself, `speaks` those that it follows if it is told to; in
    others it writes calls as its own. `tools` is what the server does with tools of its API. `grammar` is the field in
    which it takes a grammar, `strict` refuses fields that are not OpenAI's, `refused` others.
    """

    models: tuple[str, ...] = ("m",)
    owner: str = "somebody"
    headers: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    own: str | None = "hermes"
    speaks: frozenset[str] = frozenset(("hermes",))
    tools: str = "refused"  # "parsed", "left", "left with none", "ignored"
    grammar: str | None = None
    strict: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    streams: bool = True
    finish: bool = True
    stop: str = "heeded"  # "ignored", "left in"
    thinks: str = ""  # "apart", "open", "tags"
    special: str = "kept"  # "stripped"; "on demand", as vLLM and SGLang
    done: bool = True
    usage: bool = True
    hello: str = "Hello!"
    cut: str | None = "length"  # the finish reason of a reply that was cut; None: the limit is not heeded
    size: int = 5  # characters in a piece of a stream

    def __call__(self, seen: Seen) -> Answer:
        """Answer a request."""
        if self.key is not None and seen.header("authorization") != f"Bearer {self.key}":
            wrong = f"Incorrect API key provided: {seen.header('authorization')}"
            return as_json({"error": {"message": wrong, "code": "invalid_api_key"}}, 401)
        if seen.method == "GET" and seen.target == "/v1/models":
            listed = [{"id": name, "object": "model", "owned_by": self.owner} for name in self.models]
            return as_json({"object": "list", "data": listed}, **self.headers)
        if seen.target != "/v1/chat/completions":
            return Answer([b"404 page not found"], 404, {"content-type": "text/plain"})
        return self._complete(seen.json)

    def _complete(self, body: dict[str, Any]) -> Answer:
        for name in body:
            if name in self.refused or (self.strict and name not in _STANDARD):
                said = self.refused.get(name, f"Unrecognized request argument supplied: {name}")
                return as_json({"error": {"message": said, "type": "invalid_request_error"}}, 400)
        if self.strict and "response_format" in body:
            return as_json({"error": {"message": "response_format.type: not one of text, json_schema"}}, 400)
        if body.get("tools"):
            return self._with_tools(body)
        return self.says(body, self._words(body))

    def _with_tools(self, body: dict[str, Any]) -> Answer:
        choice = body.get("tool_choice", "auto")
        task = _task(body)
        if self.tools == "refused" or (self.tools == "left with none" and choice != "none"):
            wrong = f'"{choice}" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            return as_json({"error": {"message": wrong, "code": 400}}, 400)
        if self.tools == "ignored" or not task.calls:
            return self.says(body, "Hello!")
        if self.tools == "parsed":
            return self.says(body, "Hello!" if choice == "none" else "", task if choice != "none" else None)
        return self.says(body, self._written(task, self.own))

    def _words(self, body: dict[str, Any]) -> str:
        if self.grammar in body and FORCED.name in json.dumps(body[self.grammar]):
            return xt.render_call(xt.ToolCall(id="", name=FORCED.name, arguments={"colour": "violet"}), FORCED)
        asked = body["messages"][-1]["content"]
        for words, said in _PLAIN.items():
            if asked.startswith(words):
                return self.hello if said == "Hello!" else said
        if asked.startswith("Repeat these three words"):
            return asked.partition(": ")[2] if self.special != "stripped" else "red blue"
        task = _task(body)
        system = next((each["content"] for each in body["messages"] if each["role"] == "system"), "")
        told = next((name for name in self.speaks if xt.render_instructions(TOOLS, dialect=name) in system), None)
        return self._written(task, told or self.own)

    def _written(self, task: Task, dialect: str | None) -> str:
        if not task.calls or dialect is None:
            return "hello" if not task.calls else "I would do that, if I could."
        calls = [xt.ToolCall(id="", name=name, arguments=arguments) for name, arguments in task.calls]
        return xt.render_calls(calls, TOOLS, dialect=dialect)

    def says(self, body: dict[str, Any], text: str, native: Task | None = None) -> Answer:
        """Answer with a text, or native calls, in the form that the request asks for."""
        finish = "stop" if native is None else "tool_calls"
        if self.special == "on demand":
            text = detokenized(text, body)
        limit = body.get("max_tokens", body.get("max_completion_tokens", 9999)) * 4
        if len(text) > limit and self.cut is not None:
            text, finish = text[:limit], self.cut
        for stop in body.get("stop", ()) if self.stop != "ignored" else ():
            head, found, _ = text.partition(stop)
            text = head + (found if self.stop == "left in" else "")
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if self.thinks == "apart":
            message["reasoning_content"] = "Let me think."
        elif self.thinks:
            message["content"] = f"{'<think>' * (self.thinks == 'tags')}Let me think.</think>\n\n{text}"
        if native is not None:
            message["tool_calls"] = [_native(number, *call) for number, call in enumerate(native.calls)]
        reason = finish if self.finish else None
        if not (body.get("stream") and self.streams):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return as_json({"id": "up", "object": "chat.completion", "choices": [choice], "usage": USAGE})
        return Answer(list(self._stream(message, reason)))

    def _stream(self, message: dict[str, Any], reason: str | None) -> list[Step]:
        text = message.pop("content")
        head = {"id": "up", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        steps: list[Step] = []
        if rest := {name: value for name, value in message.items() if name != "role"}:
            steps.append(_event({**head, "choices": [{"index": 0, "delta": rest, "finish_reason": None}]}))
        steps += [chunk(text[at : at + self.size]) for at in range(0, len(text), self.size)]
        steps.append(chunk(finish=reason))
        if self.usage:
            steps.append(_event({**head, "choices": [], "usage": USAGE}))
        return [*steps, b"data: [DONE]\n\n"] if self.done else steps


def _event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _native(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": number, "id": f"c{number}", "type": "function", "function": function}


def _task(body: dict[str, Any]) -> Task:
    asked = body["messages"][-1]["content"]
    return next(task for task in TASKS if task.words in asked)
