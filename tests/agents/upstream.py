"""A model that calls a tool well or badly, as the name of the model in the request says."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from proxy.running import body_of

from agents.cell import NAME, RESULT

__all__ = ["BAD", "CALLED", "CASES", "DONE", "EXPECTED", "Upstream"]

CALLED: dict[str, Any] = {"path": "notes/ü.txt", "content": 'first <b> & "quoted"\nsecond 😀', "mode": "append"}
"""The arguments of the good call."""

DONE = "The notes are written."
"""What the model says when the good call has run."""

_PATH = "<path>notes/ü.txt</path>\n"
_CONTENT = '<content><![CDATA[first <b> & "quoted"\nsecond 😀]]></content>\n'


def _block(arguments: str, name: str = NAME) -> str:
    return f"<tool>\n<tool_name>{name}</tool_name>\n<arguments>\n{arguments}</arguments>\n</tool>"


def _reply(*blocks: str) -> str:
    return "\n".join(["I write the notes.\n", *blocks])


_GOOD = _block(f"{_PATH}{_CONTENT}<mode>append</mode>\n")
_SECOND = _block("<path>b.txt</path>\n<content>two</content>\n")
_BAD_ENUM = _block(f"{_PATH}{_CONTENT}<mode>destroy</mode>\n")
# In each of them whole arguments come before what is wrong, so that a reader of half a call finds something to run.
_REPLIES = {
    "good": _reply(_GOOD),
    "two-calls": _reply(_GOOD, _SECOND),
    "bad-enum": _reply(_BAD_ENUM),
    "missing-argument": _reply(_block(f"{_PATH}<mode>append</mode>\n")),
    "unknown-tool": _reply(_block(f"{_PATH}{_CONTENT}", "remove_everything")),
    "malformed": _reply(_block(f"{_PATH}{_CONTENT}<mode append</mode>\n")),
    # The value takes in all of the rest.
    "never-ended": _reply(_block(f"{_PATH}{_CONTENT}and the mode is append\n")),
    "good-and-bad": _reply(_GOOD, _BAD_ENUM),
}
_REPLIES["length"] = _REPLIES["lost"] = _REPLIES["good"][: _REPLIES["good"].index("second")]
_SECOND_TRIES = {"good-and-bad-then-good": _reply(_SECOND)}
_FINISH = {"length": "length"}

GOOD = ("good", "two-calls")
BAD = ("bad-enum", "missing-argument", "unknown-tool", "malformed", "never-ended", "length", "lost")
THEN_GOOD = ("bad-enum-then-good", "missing-argument-then-good", "unknown-tool-then-good", "malformed-then-good")
MIXED = ("good-and-bad", "good-and-bad-then-good")
CASES = (*GOOD, *BAD, *THEN_GOOD, *MIXED)
_BOTH = [CALLED, {"path": "b.txt", "content": "two"}]
EXPECTED: dict[str, list[dict[str, Any]]] = {case: [] if case in BAD else [CALLED] for case in CASES}
"""The calls that are to be run in each case."""
EXPECTED |= {"two-calls": _BOTH, "good-and-bad-then-good": _BOTH}


class Upstream:
    """An ASGI app that speaks chat completions and writes text only.

    A model is named `case@anything`. Good calls are followed by a few words once a result is there. A bad reply is
    said again whatever comes back, but in `…-then-good` the first thing that comes back is answered with a good call.
    `requests` counts by model.
    """

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = await body_of(receive)
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
    if EXPECTED[case] and RESULT in json.dumps(said, ensure_ascii=False):
        return DONE
    if first != case and len(said) > 1:
        return _SECOND_TRIES.get(case, _REPLIES["good"])
    return _REPLIES[first]


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
