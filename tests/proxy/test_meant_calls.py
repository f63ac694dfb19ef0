"""Calls that were meant, and of which nobody would hear: the model is asked again, once, and the log says why."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from proxy.test_native_calls import streaming, whole
from proxy.test_server_upstream import Answer, Upstream, eventually, world
from proxy.test_wire_facts import (
    CHAT,
    OPEN,
    asked,
    body_for,
    call,
    called,
    client_for,
)
from xmltools.proxy.bridge import Exchange, Settings

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")

HERMES = '<tool_call>{"name": "write", "arguments": {"path": "a"}}</tool_call>'
JSON = '{"name": "write", "arguments": {"path": "a"}}'
THOUGHT: dict[str, dict[str, Any]] = {
    "reasoning_content": {"reasoning_content": f"I write. {call()}", "content": ""},
    "reasoning": {"reasoning": f"I write. {call()} Good.", "content": None},
    "another dialect": {"reasoning_content": f"I write. {HERMES}"},
    "mismatched tags": {"content": f"<think>I write. {call()}</thinking>"},
    "mismatched tags, and words": {"content": f"<think>I write. {call()}</thinking> Done."},
    "exchanged tags": {"content": f"<thinking>I write. {call()}</think>"},
    "tags": {"content": f"<think>I write. {call()}</think>\n"},
}
FENCED: dict[str, dict[str, Any]] = {
    "fence": {"content": f"```json\n{JSON}\n```"},
    "fence without a word": {"content": f"\n```\n{JSON}\n```\n"},
    "fence after thoughts": {"content": f"<think>Hm.</think>```json\n{JSON}\n```"},
}
MEANT = THOUGHT | FENCED
PLAIN = Settings(dialect="forge")


class Log(logging.Handler):
    """The fields of the lines about requests, each of which comes after the last byte for the client."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "request":
            self.lines.append(record.fields)  # type: ignore[attr-defined]

    def line(self) -> dict[str, Any]:
        eventually(lambda: self.lines, "the request was logged")
        return self.lines[0]


@pytest.fixture
def log() -> Iterator[Log]:
    kept, logger = Log(), logging.getLogger("xmltools.serve")
    level = logger.level
    logger.addHandler(kept)
    logger.setLevel(logging.INFO)
    yield kept
    logger.removeHandler(kept)
    logger.setLevel(level)


@pytest.fixture(autouse=True)
def clients_are_closed() -> Iterator[None]:
    with OPEN:
        yield


def answer(message: dict[str, Any], *, streams: bool) -> Answer:
    return Answer(streaming(message, finish="stop")) if streams else whole(message, "stop")


@pytest.mark.parametrize("how", MEANT)
def test_it_is_asked_once_and_then_the_log_says_that_nobody_heard(how: str, log: Log) -> None:
    with world(Upstream(*[answer(MEANT[how], streams=False)] * 3), settings=PLAIN) as it:
        assert not called(CHAT, asked(CHAT, client_for(CHAT, it.url), body_for(CHAT)))
    fields = log.line()
    assert len(it.upstream.seen) == 2 and fields["outcome"] == "call_unread"
    assert fields["unread"] == ("reasoning" if how in THOUGHT else "json")


# Empty replies


def test_long_thoughts_are_read_at_their_end() -> None:
    exchange = Exchange("chat", body_for(CHAT), PLAIN)
    message = {"content": "", "reasoning_content": "Hm <tool>. " * 20_000 + call()}
    assert exchange.answer({"choices": [{"message": message, "finish_reason": "stop"}]}) is None
    assert exchange.stats.again == ["reasoning"] and json.dumps(exchange.request)
