"""Why a reply ended: read from whole responses, known in our words, and carried to other formats without an issue."""

from __future__ import annotations

from typing import Any

import pytest

import xmltools as xt
from xmltools.formats import FORMATS
from xmltools.models.finish_reasons import FINISH_REASONS

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}


def openai(reason: str | None, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Hi", "refusal": None, "annotations": [], **message}
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": reason}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": {}}


def anthropic(reason: str | None, *blocks: dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "text", "text": "Hi"}, *blocks]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content}
    return {**head, "stop_reason": reason, "stop_sequence": None, "usage": {"output_tokens": 1}}


def gemini(reason: str | None, *parts: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": "Hi"}, *parts]}
    return {"candidates": [{"content": content, "finishReason": reason}], "usageMetadata": {}}


USE = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
FUNCTION_CALL = {"functionCall": {"name": "read", "args": {}}}

RESPONSES = [
    ("openai", openai("stop"), "stop"),
    ("openai", openai("tool_calls", tool_calls=[CALL]), "tool_calls"),
    ("openai", openai("function_call", function_call=CALL["function"]), "tool_calls"),
    ("openai", openai(None), None),
    ("anthropic", anthropic("end_turn"), "stop"),
    ("anthropic", anthropic("stop_sequence"), "stop"),
    ("anthropic", anthropic("tool_use", USE), "tool_calls"),
    ("gemini", gemini("STOP"), "stop"),
    ("gemini", gemini("STOP", FUNCTION_CALL), "tool_calls"),
]


@pytest.mark.parametrize(("source", "response", "reason"), RESPONSES)
@pytest.mark.parametrize("target", FORMATS)
def test_a_reply_that_ended_well_goes_anywhere_without_an_issue(
    source: str, response: dict[str, Any], reason: str | None, target: str
) -> None:
    """Wolo's finish_reason: "stop", "length", "tool_calls". RobotLab: `message.stopped?  # Is stop_reason "stop"?`."""
    said = xt.load(response, source, strict=True)
    assert (said[0].finish_reason, said[0].is_stopped) == (reason, reason == "stop")
    issues: list[xt.Issue] = []
    arrived = xt.load(xt.dump(said, target, issues=issues), target)
    assert {issue.code for issue in issues} <= {"call_ids"}  # of which Forge and Gemini have none
    if target in ("wolo", "robotlab"):
        assert issues == []
        assert arrived[0].finish_reason == reason


@pytest.mark.parametrize(
    ("source", "response"),
    [("openai", openai("length")), ("anthropic", anthropic("max_tokens")), ("gemini", gemini("MAX_TOKENS"))],
)
@pytest.mark.parametrize("target", FORMATS)
def test_that_a_reply_was_cut_short_is_known_to_wolo_and_else_reported(
    source: str, response: dict[str, Any], target: str
) -> None:
    said = xt.load(response, source, strict=True)
    assert (said[0].finish_reason, said[0].is_stopped) == ("length", False)
    issues: list[xt.Issue] = []
    written = xt.dump(said, target, issues=issues)
    if target == "wolo":
        assert (written[0]["finish_reason"], issues) == ("length", [])
    else:
        assert [str(issue) for issue in issues] == [f"message 0: {target} cannot hold why a reply was cut short"]


STOPPED = {"type": "text", "role": "assistant", "content": "Sunny.", "stop_reason": "stop"}
TOOL = {"type": "tool", "id": "c1", "name": "read", "input": {}}
CALLED = {"type": "tool_call", "role": "assistant", "tools": [TOOL], "stop_reason": "tool"}


@pytest.mark.parametrize(("hashed", "reason"), [(STOPPED, "stop"), (CALLED, "tool_calls")])
def test_robotlab_and_wolo_understand_each_other(hashed: dict[str, Any], reason: str) -> None:
    (stored,) = xt.convert([hashed], "robotlab", "wolo", strict=True)
    assert stored["finish_reason"] == reason
    assert xt.convert([stored], "wolo", "robotlab", strict=True) == [hashed]
    assert len(xt.convert([stored], "wolo", "openai", strict=True)) == 1


def test_a_word_that_nobody_knows_is_kept_and_one_that_is_none_is_refused() -> None:
    assert xt.load(openai("Doom_Loop"), "openai")[0].finish_reason == "doom_loop"
    assert xt.load(anthropic("pause_turn"), "anthropic")[0].finish_reason == "pause_turn"
    assert xt.load(openai(""), "openai")[0].finish_reason is None
    with pytest.raises(xt.XMLToolsError, match=r"choices\[0\]\.finish_reason: expected text, got a number"):
        xt.load(openai(5), "openai")  # type: ignore[arg-type]


def test_each_word_means_one_of_ours() -> None:
    assert set(FINISH_REASONS.values()) == {"stop", "length", "tool_calls", "content_filter", "error"}


def test_a_reply_with_calls_and_no_reason_ended_to_call_tools() -> None:
    called = xt.Message.assistant("", [xt.ToolCall(id="c1", name="read")])
    said = called.model_copy(update={"finish_reason": "tool_calls"})
    stopped = called.model_copy(update={"finish_reason": "stop"})
    assert called.is_tool_stop and called == said and called != stopped and stopped != said
    assert not xt.Message.assistant("Hi").is_tool_stop
    assert xt.Message.assistant("Hi") != xt.Message.assistant("Hi", finish_reason="stop")
    assert called != "called"
