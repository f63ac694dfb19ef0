"""Somebody else's check, `canitoolcall probe`, against the server: 27 of 27 in each dialect, over a real socket.

The model follows a script for the probe's prompts, and writes its calls in the dialect.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import xmltools as xt
from proxy.test_prompts import WRITTEN
from proxy.test_server_upstream import Answer, Seen, Upstream, stream, whole, world
from xmltools import dialects
from xmltools.proxy.bridge import Settings

pytest.importorskip("jsonschema")
probe = pytest.importorskip("canitoolcall.probe")

_EVENT = {
    "title": "Design review",
    "start": "2026-10-01T15:00:00Z",
    "attendees": [{"name": "Ana", "email": "ana@example.com"}, {"name": "Bo", "email": "bo@example.com"}],
    "location": {"city": "Berlin", "room": "4.12"},
}
_NOTE = {"title": "Grüße aus Zürich", "body": "Café ☕ in 東京 — naïve résumé 🚀"}
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "weather in Paris right now": [("get_weather", {"city": "Paris"})],
    "in Paris and in Tokyo": [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Tokyo"})],
    "Create an event": [("create_event", _EVENT)],
    "Save a note": [("save_note", _NOTE)],
    "What time is it on the server": [("get_server_time", {})],
    "about Lisbon": [("get_weather", {"city": "Lisbon", "unit": "c"})],
    "9.11 or 9.9": [("record_answer", {"answer": "9.9"})],
}
TOOLS = {tool["function"]["name"]: xt.Tool.load(dict(tool)) for each in probe.BUILTIN_SCENARIOS for tool in each.tools}


def words_of(dialect: str, messages: list[dict[str, Any]]) -> str:
    """What the model says: a call, after a thought if it is asked for one, or an answer."""
    asked = next(message["content"] for message in messages if message["role"] == "user")
    found = next((calls for words, calls in CALLS.items() if words in asked), None)
    if found is None:
        return "18 degrees, clear." if "weather in Paris?" in asked else "42"
    calls = [xt.ToolCall(id="", name=name, arguments=arguments) for name, arguments in found]
    block = xt.render_calls(calls, TOOLS.values(), dialect=dialect)
    tags = dialects.named(dialect).reasoning
    thinks = tags and "step by step" in asked
    return f"<{tags[0]}>\n9.9 is 9.90, which is more.\n</{tags[0]}>\n\n{block}" if thinks else block


def model_of(dialect: str) -> Upstream:
    def answer(seen: Seen) -> Answer:
        text = words_of(dialect, seen.json["messages"])
        return Answer(stream(text, size=4)) if seen.json.get("stream") else whole(text)

    return Upstream(make=answer)


def passed(url: str, model: str = "m") -> int:
    """How many checks pass; those that don't are the failure of the test."""
    report = probe.probe(f"{url}/v1", model)
    wrong = [outcome.to_dict() for outcome in report.outcomes if outcome.status != "pass"]
    assert not wrong, wrong
    return len(report.outcomes)


quick = ("forge", "hermes", "qwen3_coder", "llama3_json")
written = [name if name in quick else pytest.param(name, marks=pytest.mark.full) for name in WRITTEN]
each_dialect = pytest.mark.parametrize("dialect", written)
each_known = pytest.mark.parametrize(
    "dialect", [each for each, name in zip(written, WRITTEN, strict=True) if not dialects.named(name).by_name]
)
"""Those that are read without being asked for by name."""


@each_dialect
@pytest.mark.parametrize("prompt", ["ours", "upstream"])
def test_all_that_the_probe_checks_is_right(prompt: Any, dialect: str) -> None:
    with world(model_of(dialect), settings=Settings(dialect=dialect, prompt=prompt)) as it:
        assert passed(it.url) == 27
        assert len(it.upstream.seen) == 18  # nothing had to be sent back


@each_known
def test_it_is_right_whatever_dialect_an_unknown_model_writes(dialect: str) -> None:
    with world(model_of(dialect), settings=Settings(dialect="auto")) as it:
        assert passed(it.url) == 27


@pytest.mark.full
@each_dialect
def test_it_is_right_while_arguments_stream(dialect: str) -> None:
    with world(model_of(dialect), settings=Settings(dialect=dialect, live_arguments=True)) as it:
        assert passed(it.url) == 27


def test_the_command_says_so_too() -> None:
    with world(model_of("hermes"), settings=Settings(dialect="hermes")) as it:
        command = [sys.executable, "-m", "canitoolcall", "probe", "--base-url", f"{it.url}/v1", "--model", "m"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert "27 pass, 0 fail, 0 error, 0 skip" in done.stdout
