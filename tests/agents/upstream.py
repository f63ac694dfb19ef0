"""A model that calls a tool well or badly, as the name of the model in the request says."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from starlette.requests import Request

from agents.cell import NAME, RESULT
from xmltools.proxy.bridge.json_bodies import parse_object
from xmltools.proxy.bridge.requests import read_request
from xmltools.proxy.scripted.player import Answer, Player, completion

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


class Upstream(Player):
    """A model that writes text only.

    A model is named `case@anything`. Good calls are followed by a few words once a result is there. A bad reply is
    said again whatever comes back, but in `…-then-good` the first thing that comes back is answered with a good call.
    `requests` counts by model.
    """

    def __init__(self) -> None:
        super().__init__(speed=0)
        self.requests: Counter[str] = Counter()

    def choose(self, request: Request, body: bytes) -> Answer:
        """Say what the case has."""
        given = parse_object(body)
        asked = read_request("chat", given)
        self.requests[asked.model] += 1
        case = asked.model.partition("@")[0]
        answer = completion(asked, _text(case, given["messages"]), _FINISH.get(case, "stop"))
        if case == "lost":  # the connection ends, the answer does not
            head = answer.chunks[0][1]
            answer.chunks, answer.error = answer.chunks[:-2] or [(0.0, head[: head.index(b"finish_reason") - 20])], case
        return answer


def _text(case: str, messages: list[dict[str, Any]]) -> str:
    said = [message for message in messages if message["role"] not in ("system", "developer")]
    first = case.removesuffix("-then-good")
    if EXPECTED[case] and RESULT in json.dumps(said, ensure_ascii=False):
        return DONE
    if first != case and len(said) > 1:
        return _SECOND_TRIES.get(case, _REPLIES["good"])
    return _REPLIES[first]
