"""`xmltools.integrations.litellm` inside LiteLLM, over a provider that says what it is told to say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import litellm
from litellm import CustomLLM, ModelResponse
from weather import ARGUMENTS, BAD, DONE, GOOD, SCHEMA, call_of, raised

from xmltools.bridge import Settings
from xmltools.integrations.litellm import ToolCallingLLM

litellm.suppress_debug_info = True
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": SCHEMA}}
QUESTION: list[Any] = [{"role": "user", "content": "Sun?"}]
PNG = "data:image/png;base64,iVBORw0KGgo="
USAGE = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}


class Scripted(CustomLLM):
    """A provider that says one reply after the other, and keeps what it is asked."""

    def __init__(self, *replies: str, finish: str = "stop") -> None:
        super().__init__()
        self.replies = replies
        self.finish = finish
        self.asked: list[dict[str, Any]] = []

    def _next(self, given: dict[str, Any]) -> str:
        assert given["litellm_params"].get("no-log"), "or callbacks would hear of each request twice"
        self.asked.append(given)
        return self.replies[len(self.asked) - 1]

    def completion(self, *_: Any, **given: Any) -> ModelResponse:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": self._next(given)},
            "finish_reason": self.finish,
        }
        return ModelResponse(id="own", model="m-1", choices=[choice], usage=USAGE)

    async def acompletion(self, *_: Any, **given: Any) -> ModelResponse:
        return self.completion(**given)

    def streaming(self, *_: Any, **given: Any) -> Iterator[Any]:
        text = self._next(given)
        for at in range(0, len(text), 3):
            yield {"text": text[at : at + 3], "is_finished": False, "finish_reason": "", "usage": None, "index": 0}
        yield {"text": "", "is_finished": True, "finish_reason": self.finish, "usage": USAGE, "index": 0}

    async def astreaming(self, *_: Any, **given: Any) -> AsyncIterator[Any]:
        for chunk in self.streaming(**given):
            yield chunk


def whole(**given: Any) -> Any:
    return litellm.completion(**given)


def awaited(**given: Any) -> Any:
    return asyncio.run(litellm.acompletion(**given))


def streamed(**given: Any) -> Any:
    return litellm.stream_chunk_builder(list(litellm.completion(**given, stream=True)))


def streamed_later(**given: Any) -> Any:
    async def chunks() -> list[Any]:
        return [chunk async for chunk in await litellm.acompletion(**given, stream=True)]

    return litellm.stream_chunk_builder(asyncio.run(chunks()))


WAYS: tuple[Callable[..., Any], ...] = (whole, awaited, streamed, streamed_later)


def ask(way: Callable[..., Any], scripted: Scripted, settings: Settings | None = None, **more: Any) -> Any:
    litellm.custom_provider_map = [
        {"provider": "xmltools", "custom_handler": ToolCallingLLM(settings or Settings())},
        {"provider": "scripted", "custom_handler": scripted},
    ]
    return way(**{"model": "xmltools/scripted/m", "messages": QUESTION, "tools": [TOOL], "num_retries": 0, **more})


def calls_of(answer: Any) -> list[tuple[str, Any]]:
    calls = answer.choices[0].message.tool_calls or ()
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]


def test_a_good_call_is_a_tool_call_and_the_usage_is_kept() -> None:
    for way in WAYS:
        answer = ask(way, Scripted(GOOD))
        assert calls_of(answer) == [("weather", ARGUMENTS)], way
        assert answer.choices[0].message.content.strip() == "I look."
        assert answer.choices[0].finish_reason == "tool_calls"
        assert answer.usage.total_tokens == 8, way
        (call,) = answer.choices[0].message.tool_calls
        assert call.id.startswith("call_")


def test_a_call_is_one_chunk_and_text_streams() -> None:
    chunks = list(ask(lambda **given: litellm.completion(**given, stream=True), Scripted(f"{call_of(1)}\n{GOOD}")))
    calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
    assert [(call.index, json.loads(call.function.arguments)["days"]) for call in calls] == [(0, 1), (1, 2)]
    chunks = list(ask(lambda **given: litellm.completion(**given, stream=True), Scripted(DONE)))
    assert len([chunk for chunk in chunks if chunk.choices[0].delta.content]) > 1
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == DONE


def test_a_rejected_call_is_sent_back_and_then_made() -> None:
    for way in WAYS:
        scripted = Scripted(BAD, GOOD)
        answer = ask(way, scripted)
        assert calls_of(answer) == [("weather", ARGUMENTS)], way
        assert answer.choices[0].message.content.strip() == "I look."
        rejected, why = scripted.asked[1]["messages"][-2:]
        assert rejected["content"] == BAD and "expected integer, got 'two'" in why["content"]
    assert ask(whole, Scripted(BAD, GOOD)).usage.total_tokens == 16


def test_a_call_that_stays_wrong_is_said_in_words() -> None:
    for way in WAYS:
        answer = ask(way, Scripted(BAD, BAD))
        message = answer.choices[0].message
        assert calls_of(answer) == [] and answer.choices[0].finish_reason == "stop"
        assert message.content.endswith("The call of weather was not made: days: expected integer, got 'two'.")
    failed = ask(whole, Scripted(BAD, BAD)).choices[0].message.provider_specific_fields["failed_calls"]
    assert [each["name"] for each in failed] == ["weather"]


def test_a_call_that_is_cut_off_is_never_made() -> None:
    for way in WAYS:
        answer = ask(way, Scripted(GOOD[: GOOD.index("</days>")], finish="length"))
        assert calls_of(answer) == [] and answer.choices[0].finish_reason == "length"
        assert "the reply was cut off in it" in answer.choices[0].message.content


def test_a_required_call_is_asked_for_once_more_and_then_missed() -> None:
    for way in WAYS:
        assert calls_of(ask(way, Scripted(DONE, GOOD), tool_choice="required")), way
        is_whole = way in (whole, awaited)
        kind = litellm.BadRequestError if is_whole else litellm.exceptions.MidStreamFallbackError
        why = raised(kind, lambda way=way: ask(way, Scripted(DONE, DONE), tool_choice="required"))  # type: ignore[misc]
        assert "did not call a tool" in why, way


def test_a_stream_that_is_cut_short_after_its_call_says_so() -> None:
    for way in WAYS:
        answer = ask(way, Scripted(f"{call_of(1)}\n{call_of(2)}"), parallel_tool_calls=False)
        assert (len(calls_of(answer)), answer.choices[0].finish_reason) == (1, "tool_calls"), way


def test_history_is_written_in_the_dialect_with_images() -> None:
    image = {"type": "image_url", "image_url": {"url": PNG}}
    first = ask(whole, Scripted(GOOD)).choices[0].message
    history = [
        {"role": "user", "content": [{"type": "text", "text": "A map:"}, image]},
        first,
        {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "sunny"},
    ]
    for dialect, call, result in (
        ("forge", "<tool_name>weather</tool_name>", "Tool: weather\nResult: sunny"),
        ("hermes", '<tool_call>\n{"name": "weather"', "<tool_response>\nsunny"),
    ):
        scripted = Scripted(DONE)
        ask(whole, scripted, Settings(dialect=dialect), messages=history)
        system, user, reply, results = scripted.asked[0]["messages"]
        assert "weather" in system["content"] and image in user["content"]
        assert call in reply["content"] and not reply.get("tool_calls")
        assert result in results["content"]


def test_reasoning_goes_back_to_a_model_that_reasons() -> None:
    for way in WAYS:
        scripted = Scripted(f"<think>Hm.</think>{GOOD}", DONE, DONE)
        first = ask(way, scripted).choices[0].message
        assert first.reasoning_content == "Hm."
        result = {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "sunny"}
        more: dict[str, Any] = {"tools": [TOOL], "num_retries": 0, "messages": [*QUESTION, first, result]}
        way(model="xmltools/scripted/m", **more)
        assert scripted.asked[1]["messages"][2]["content"].startswith("<think>Hm.</think>"), way
        way(model="xmltools/scripted/other", **more)  # is not known to reason
        assert "<think>" not in scripted.asked[2]["messages"][2]["content"]


def test_options_reach_the_model_but_those_about_tools() -> None:
    scripted = Scripted(f"{call_of(1)}\n{call_of(2)}")
    answer = ask(
        whole,
        scripted,
        temperature=0.5,
        parallel_tool_calls=False,
        stop=["Oslo"],
        api_base="http://nowhere",
        api_key="k",
        timeout=7,
    )
    assert calls_of(answer) == [("weather", {"city": "Oslo", "days": 1})]
    (given,) = scripted.asked
    assert given["model"] == "m" and given["optional_params"] == {"temperature": 0.5, "max_retries": 0}
    assert (given["api_base"], given["api_key"], given["timeout"]) == ("http://nowhere", "k", 7)


def test_without_tools_the_model_is_asked_as_it_is() -> None:
    for way in WAYS:
        scripted = Scripted(GOOD)
        answer = ask(way, scripted, tools=None, stop=["x"])
        assert answer.choices[0].message.content == GOOD and answer.choices[0].message.tool_calls is None
        assert scripted.asked[0]["messages"] == QUESTION
        assert scripted.asked[0]["optional_params"]["stop"] == ["x"]
        assert answer.usage.total_tokens == 8, way


def test_what_cannot_be_honoured_is_a_bad_request() -> None:
    for more, why in (
        ({"tools": [{"type": "web_search"}]}, "give a function that does it"),
        ({"tool_choice": {"type": "function", "function": {"name": "wether"}}}, "there is no tool 'wether'"),
        ({"n": 2}, "n: with tools there is one reply at a time"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
    ):
        scripted = Scripted(GOOD)
        said = raised(litellm.BadRequestError, lambda more=more, it=scripted: ask(whole, it, **more))  # type: ignore[misc]
        assert why in said and scripted.asked == []


def test_settings_that_do_not_fit_are_refused() -> None:
    assert "is for a server" in raised(ValueError, lambda: ToolCallingLLM(Settings(prompt="upstream")))
    assert "expected Settings" in raised(ValueError, lambda: ToolCallingLLM({"retries": 2}))  # type: ignore[arg-type]


def test_the_dialect_may_be_that_of_the_model() -> None:
    scripted = Scripted('<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>')
    answer = ask(whole, scripted, Settings(dialect="auto"), model="xmltools/scripted/Qwen/Qwen2.5-7B-Instruct")
    assert calls_of(answer) == [("weather", {"city": "Oslo"})]
    assert "<tool_call>" in scripted.asked[0]["messages"][0]["content"]
