"""A model that calls a tool well or badly, as the name of the model in the request says."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from agents.cell import NAME, RESULT

__all__ = ["BAD", "CALLED", "CASES", "DONE", "GOOD", "THEN_GOOD", "Upstream"]

CALLED: dict[str, Any] = {"path": "notes/ü.txt", "content": 'first <b> & "quoted"\nsecond 😀', "mode": "append"}
"""The arguments of the good call."""

DONE = "The notes are written."
"""What the model says when the good call has run."""

_PATH = "<path>notes/ü.txt</path>\n"
_CONTENT = '<content><![CDATA[first <b> & "quoted"\nsecond 😀]]></content>\n'


def _reply(arguments: str, name: str = NAME) -> str:
    block = f"<tool>\n<tool_name>{name}</tool_name>\n<arguments>\n{arguments}</arguments>\n</tool>"
    return f"I write the notes.\n\n{block}"


_GOOD_REPLY = _reply(f"{_PATH}{_CONTENT}<mode>append</mode>\n")
# In each of them whole arguments come before what is wrong, so that a reader of half a call finds something to run.
_REPLIES = {
    "good": _GOOD_REPLY,
    "bad-enum": _reply(f"{_PATH}{_CONTENT}<mode>destroy</mode>\n"),
    "missing-argument": _reply(f"{_PATH}<mode>append</mode>\n"),
    "unknown-tool": _reply(f"{_PATH}{_CONTENT}", "remove_everything"),
    "malformed": _reply(f"{_PATH}{_CONTENT}<mode append</mode>\n"),
    "never-ended": _reply(f"{_PATH}{_CONTENT}and the mode is append\n"),  # all of the rest is in the value
}
_REPLIES["length"] = _REPLIES["lost"] = _GOOD_REPLY[: _GOOD_REPLY.index("second")]
_FINISH = {"length": "length"}

GOOD = ("good",)
BAD = ("bad-enum", "missing-argument", "unknown-tool", "malformed", "never-ended", "length", "lost")
THEN_GOOD = ("bad-enum-then-good", "missing-argument-then-good", "unknown-tool-then-good", "malformed-then-good")
CASES = (*GOOD, *BAD, *THEN_GOOD)


class Upstream:
    """An ASGI app that speaks chat completions and writes text only.

    A model is named `case@anything`. A good call is followed by a few words once its result is there. A bad one is
    said again whatever comes back, but in `…-then-good` the first thing that comes back is answered with a good call.
    `requests` counts by model.
    """

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        asked = json.loads(body or b"{}")
        model = asked.get("model", "")
        self.requests[model] += 1
        case = model.partition("@")[0]
        text = _text(case, asked["messages"])
        streams = bool(asked.get("stream"))
        kind = b"text/event-stream" if streams else b"application/json"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        lost = case == "lost"
        finish = _FINISH.get(case, "stop")
        for piece in _stream(model, text, None if lost else finish) if streams else _whole(model, text, finish, lost):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(0)
        if lost:
            raise ConnectionAbortedError  # the connection ends, the answer does not
        await send({"type": "http.response.body", "body": b""})


def _text(case: str, messages: list[dict[str, Any]]) -> str:
    said = [message for message in messages if message["role"] not in ("system", "developer")]
    first = case.removesuffix("-then-good")
    if (case == "good" or first != case) and RESULT in json.dumps(said, ensure_ascii=False):
        return DONE
    return _GOOD_REPLY if first != case and len(said) > 1 else _REPLIES[first]


_USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def _stream(model: str, text: str, finish: str | None) -> Iterator[bytes]:
    head = {"id": "up", "object": "chat.completion.chunk", "created": 1, "model": model}
    for at in range(0, len(text), 12):
        yield _event({**head, "choices": [{"index": 0, "delta": {"content": text[at : at + 12]}}]})
    if finish is not None:
        yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        yield _event({**head, "choices": [], "usage": _USAGE})
        yield b"data: [DONE]\n\n"


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def _whole(model: str, text: str, finish: str, lost: bool) -> Iterator[bytes]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    head = {"id": "up", "object": "chat.completion", "created": 1, "model": model}
    data = json.dumps({**head, "choices": [choice], "usage": _USAGE}, ensure_ascii=False).encode()
    yield data[: data.index(b"finish_reason") - 20] if lost else data
