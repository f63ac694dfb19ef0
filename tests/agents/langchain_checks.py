"""`xmltools.integrations.langchain` inside LangChain, over models that say what they are told to say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel, FakeListLLM
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from pydantic import BaseModel
from typing_extensions import TypedDict
from weather import ARGUMENTS, BAD, DONE, GOOD, call_of, raised

from xmltools.bridge import Settings
from xmltools.integrations.langchain import ToolCallingChatModel

PNG = "data:image/png;base64,iVBORw0KGgo="
USAGE = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
METADATA = {"finish_reason": "stop", "model_name": "m-1", "model_provider": "openai"}


@tool
def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


class Scripted(BaseChatModel):
    """Says one reply after the other, and keeps what it is asked."""

    replies: list[Any]
    metadata_: dict[str, Any]
    asked: list[list[BaseMessage]]
    options: list[dict[str, Any]]
    left: list[bool]
    """For each stream whether it was left before its end."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _next(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        self.asked.append(messages)
        self.options.append(options)
        reply = self.replies[len(self.asked) - 1]
        return reply if isinstance(reply, AIMessage) else AIMessage(reply)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        reply = self._next(messages, {**kwargs, "stop": stop})
        whole = reply.model_copy(update={"response_metadata": dict(self.metadata_), "usage_metadata": dict(USAGE)})
        return ChatResult(generations=[ChatGeneration(message=whole)])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        reply = self._next(messages, {**kwargs, "stop": stop})
        self.left.append(True)
        more: Any = {"additional_kwargs": reply.additional_kwargs}
        for at in range(0, len(reply.content), 3):
            yield ChatGenerationChunk(message=AIMessageChunk(reply.content[at : at + 3], **more))
            more = {}
        last = AIMessageChunk("", response_metadata=dict(self.metadata_), usage_metadata=dict(USAGE), **more)
        yield ChatGenerationChunk(message=last)
        self.left[-1] = False


class Words(BaseCallbackHandler):
    """Hears each word that is new."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.heard.append(token)


def scripted(*replies: Any, **metadata: Any) -> Scripted:
    return Scripted(replies=list(replies), metadata_={**METADATA, **metadata}, asked=[], options=[], left=[])


def bound(model: Any, *tools: Any, settings: Settings | None = None, **how: Any) -> Any:
    return ToolCallingChatModel(wrapped=model, settings=settings or Settings()).bind_tools(tools or [weather], **how)


WAYS: dict[str, Callable[[Any, Any], AIMessage]] = {
    "invoke": lambda model, given: model.invoke(given),
    "ainvoke": lambda model, given: asyncio.run(model.ainvoke(given)),
    "stream": lambda model, given: reduce(add, model.stream(given)),
    "astream": lambda model, given: reduce(add, asyncio.run(_listed(model.astream(given)))),
}


async def _listed(stream: Any) -> list[Any]:
    return [each async for each in stream]


def said(*replies: Any, given: Any = "Sun?", model: dict[str, Any] | None = None, **how: Any) -> Iterator[AIMessage]:
    """The message that comes of the replies, in all four ways of asking for it."""
    for way, ask in WAYS.items():
        try:
            yield ask(bound(scripted(*replies, **(model or {})), **how), given)
        except AssertionError as error:
            raise AssertionError(way) from error


# Calls


def test_a_good_call_is_a_tool_call() -> None:
    for message in said(GOOD):
        assert message.text.strip() == "I look."
        (call,) = message.tool_calls
        assert (call["name"], call["args"]) == ("weather", ARGUMENTS) and call["id"].startswith("call_")
        assert message.invalid_tool_calls == []


def test_usage_and_metadata_are_those_of_the_wrapped_model() -> None:
    for message in said(GOOD):
        assert message.usage_metadata == USAGE
        assert message.response_metadata == {"finish_reason": "stop", "model_name": "m-1"}
        assert [each["type"] for each in message.content_blocks] == ["text", "tool_call"]


def test_two_calls_have_their_own_ids() -> None:
    for message in said(f"{call_of(1)}\n{call_of(2)}"):
        assert [call["args"]["days"] for call in message.tool_calls] == [1, 2]
        assert len({call["id"] for call in message.tool_calls}) == 2


def test_text_streams_as_it_is_written_and_a_call_is_one_chunk() -> None:
    chunks = list(bound(scripted(GOOD)).stream("Sun?"))
    assert len([chunk for chunk in chunks if chunk.text.strip()]) > 1
    (call,) = [each for chunk in chunks for each in chunk.tool_call_chunks]
    assert json.loads(call["args"]) == ARGUMENTS and call["name"] == "weather"
    assert not any(chunk.tool_calls for chunk in chunks if not chunk.tool_call_chunks)


def test_arguments_stream_if_they_are_to_be_live() -> None:
    model = bound(scripted(GOOD), settings=Settings(live_arguments=True))
    chunks = list(model.stream("Sun?"))
    assert len([each for chunk in chunks for each in chunk.tool_call_chunks]) > 1
    assert reduce(add, chunks).tool_calls[0]["args"] == ARGUMENTS
    assert bound(scripted(GOOD), settings=Settings(live_arguments=True)).invoke("Sun?").tool_calls
    broken = bound(scripted(BAD), settings=Settings(live_arguments=True))
    assert "was not made" in raised(ValueError, lambda: list(broken.stream("Sun?")))


def test_what_listens_hears_each_word_once_and_no_markup() -> None:
    for replies in ((GOOD,), (BAD, GOOD), (DONE,)):
        words = Words()
        list(bound(scripted(*replies)).stream("Sun?", {"callbacks": [words]}))
        heard = "".join(words.heard)
        assert heard.strip() == ("I look." if len(replies[0]) > 20 else DONE)


# Calls that are rejected


def test_a_rejected_call_is_sent_back_and_then_made() -> None:
    for message in said(BAD, GOOD):
        assert message.text.strip() == "I look."
        assert [call["args"] for call in message.tool_calls] == [ARGUMENTS]
        assert message.invalid_tool_calls == []
    model = scripted(BAD, GOOD)
    whole = bound(model).invoke("Sun?")
    rejected, why = model.asked[1][-2:]
    assert (rejected.type, rejected.text) == ("ai", BAD) and "expected integer, got 'two'" in why.text
    assert whole.usage_metadata == {"input_tokens": 10, "output_tokens": 6, "total_tokens": 16}


def test_a_stream_is_left_when_the_model_goes_on_for_long_after_a_rejected_call() -> None:
    model = scripted(f"{BAD}\nAnd so on{', and so on' * 300}.", GOOD)
    assert reduce(add, bound(model).stream("Sun?")).tool_calls
    assert model.left == [True, False]


def test_a_call_that_stays_wrong_is_invalid_and_said_in_words() -> None:
    sentence = "The call of weather was not made: days: expected integer, got 'two'."
    for message in said(BAD, BAD):
        assert message.tool_calls == []
        (invalid,) = message.invalid_tool_calls
        assert (invalid["name"], invalid["args"]) == ("weather", sentence) and invalid["id"]
        assert message.text == f"I look.\n\n{sentence}"
    whole = bound(scripted(BAD, BAD)).invoke("Sun?")
    assert "Correct these arguments" in whole.invalid_tool_calls[0]["error"]


def test_nothing_after_a_rejected_call_is_made() -> None:
    for message in said(f"{BAD}\n{call_of(3)}", settings=Settings(retries=0)):
        # What was right stands beside what was not, as in the proxy.
        assert all(call["args"] != {"city": "Oslo", "days": "two"} for call in message.tool_calls)
        assert len(message.invalid_tool_calls) == 1


def test_a_call_that_is_cut_off_is_never_made() -> None:
    cut = GOOD[: GOOD.index("</days>")]
    for reason in ({"finish_reason": "length"}, {"finish_reason": "MAX_TOKENS"}, {"done_reason": "length"}):
        for message in said(cut, model={"finish_reason": "", **reason}):
            assert message.tool_calls == [] and len(message.invalid_tool_calls) == 1
            assert "the reply was cut off in it" in message.text


def test_no_rejected_call_is_read_as_json_by_langchain() -> None:
    settings = Settings(dialect="llama3_json", retries=0)
    for message in said('{"name": "weather", "parameters": {"city": "Oslo", "days": "two"}}', settings=settings):
        assert message.tool_calls == [] and len(message.invalid_tool_calls) == 1


def test_a_required_call_is_asked_for_once_more_and_then_missed() -> None:
    for message in said(DONE, GOOD, tool_choice="any"):
        assert len(message.tool_calls) == 1
    for ask in WAYS.values():
        model = bound(scripted(DONE, DONE), tool_choice="weather")
        assert "did not call a tool" in raised(ValueError, lambda model=model, ask=ask: ask(model, "Sun?"))  # type: ignore[misc]


# What the wrapped model is asked


def test_history_is_written_in_the_dialect_with_images_and_errors() -> None:
    calls: Any = [{"name": "weather", "args": ARGUMENTS, "id": each} for each in ("a", "b")]
    image: Any = [{"type": "text", "text": "a map"}, {"type": "image_url", "image_url": {"url": PNG}}]
    history = [
        SystemMessage("Be brief."),
        HumanMessage(image),
        AIMessage("I look.", tool_calls=calls),
        ToolMessage("no such city", tool_call_id="b", status="error"),
        ToolMessage(image, tool_call_id="a"),
    ]
    for dialect, call, result in (
        ("forge", "<tool_name>weather</tool_name>", "Tool: weather\nResult: a map"),
        ("hermes", '<tool_call>\n{"name": "weather"', "<tool_response>\na map"),
    ):
        model = scripted(DONE)
        bound(model, settings=Settings(dialect=dialect)).invoke(history)
        system, human, ai, *results = model.asked[0]
        assert {each.type for each in results} == {human.type} == {"human"}
        assert system.text.startswith("Be brief.") and "weather" in system.text
        assert human.content == image
        assert call in ai.text and not ai.tool_calls
        assert result in results[0].content[0]["text"], "the results are in the order of the calls"
        assert {"type": "image_url", "image_url": {"url": PNG}} in results[0].content
        assert ("Error: no such city" if dialect == "forge" else "no such city") in results[-1].text


def test_what_is_no_text_and_no_image_stays_for_the_wrapped_model_and_is_refused_in_results() -> None:
    document: Any = {"type": "document", "source": {"type": "text", "data": "x"}}
    model = scripted(DONE)
    bound(model).invoke([HumanMessage([{"type": "text", "text": "Read it."}, document])])
    assert document in model.asked[0][-1].content
    call: Any = {"name": "weather", "args": ARGUMENTS, "id": "a"}
    history = [HumanMessage("Sun?"), AIMessage("", tool_calls=[call]), ToolMessage([document], tool_call_id="a")]
    assert "Unrecognized content block" in raised(ValueError, lambda: bound(scripted(DONE)).invoke(history))


def test_tools_may_be_options_of_a_single_request() -> None:
    model = ToolCallingChatModel(wrapped=scripted(DONE, GOOD))
    assert model.invoke("Sun?", tools=[weather], tool_choice="any").tool_calls


def test_the_dialect_may_be_that_of_the_model() -> None:
    model = scripted('<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>')
    object.__setattr__(model, "_get_ls_params", lambda **_: {"ls_model_name": "Qwen/Qwen2.5-7B-Instruct"})
    wrapped = ToolCallingChatModel(wrapped=model, settings=Settings(dialect="auto"))
    assert wrapped.bind_tools([weather]).invoke("Sun?").tool_calls
    assert "<tool_call>" in model.asked[0][0].text


def test_without_tools_the_wrapped_model_is_asked_as_it_is() -> None:
    video = {"type": "video", "url": "https://example.org/sun.mp4"}
    cached = {"type": "text", "text": "Sun?", "cache_control": {"type": "ephemeral"}}
    asked: Any = [ChatMessage("Be brief.", role="critic"), HumanMessage([cached, video])]
    for ask in WAYS.values():
        model = scripted(GOOD)
        answer = ask(ToolCallingChatModel(wrapped=model).bind(temperature=0, stop=["\n"]), asked)
        assert model.asked[0] == asked and answer.text == GOOD
        assert model.options[0] == {"temperature": 0, "stop": ["\n"]}
        assert answer.response_metadata["model_provider"] == "openai" and answer.usage_metadata == USAGE


def test_options_reach_the_wrapped_model_but_those_about_tools() -> None:
    model = scripted(f"I look. Ahem\n{GOOD}")
    bound(model.bind(seed=7), parallel_tool_calls=False, temperature=0).invoke("Sun?", stop=["Ahem"])
    assert model.options == [{"seed": 7, "temperature": 0, "stop": None}]


def test_stop_sequences_end_the_text_and_cut_no_call() -> None:
    for way, ask in WAYS.items():
        message = ask(bound(scripted(f"I look. Ahem\n{GOOD}")).bind(stop=["Ahem"]), "Sun?")
        assert (message.text, message.tool_calls) == ("I look. ", []), way
        message = ask(bound(scripted(GOOD)).bind(stop=["Oslo"]), "Sun?")
        assert message.tool_calls[0]["args"] == ARGUMENTS, way


def test_one_call_at_a_time_if_that_is_wanted_and_the_usage_is_kept() -> None:
    two = f"{call_of(1)}\n{call_of(2)}"
    for message in said(two, parallel_tool_calls=False):
        assert len(message.tool_calls) == 1
    for message in said(GOOD, tool_choice="weather"):
        assert len(message.tool_calls) == 1 and message.usage_metadata == USAGE


def test_reasoning_has_its_place() -> None:
    for message in said(f"<think>Hm.</think>{GOOD}"):
        assert message.additional_kwargs == {"reasoning_content": "Hm."} and message.text.strip() == "I look."
        assert [each["type"] for each in message.content_blocks] == ["reasoning", "text", "tool_call"]
    for message in said(AIMessage(GOOD, additional_kwargs={"reasoning_content": "Hm."}), model={"model_provider": "x"}):
        assert message.additional_kwargs == {"reasoning_content": "Hm."}


def test_reasoning_goes_back_to_a_model_that_reasons() -> None:
    native = AIMessage(GOOD, additional_kwargs={"reasoning_content": "Hm."})
    for ask in WAYS.values():
        for reply in (f"<think>Hm.</think>{GOOD}", native):
            wrapped = scripted(reply, f"<think>So.</think>{GOOD}", DONE, DONE, model_provider="x")
            model = bound(wrapped)
            history: list[Any] = [HumanMessage("Sun?")]
            for _ in range(2):
                message = ask(model, history)
                history += [message, ToolMessage("sunny", tool_call_id=message.tool_calls[0]["id"])]
            history.append(ask(model, history))
            replies = [each.content for each in wrapped.asked[2] if isinstance(each, AIMessage)]
            assert [each[:18] for each in replies] == ["<think>Hm.</think>", "<think>So.</think>"]
            ask(model, [*history, HumanMessage("And now?")])
            assert not any("<think>" in str(each.content) for each in wrapped.asked[3][1:])
    other = scripted(DONE)  # is not known to reason
    bound(other).invoke(history[:3])
    assert "<think>" not in str(other.asked[0][1:])
    copied = ToolCallingChatModel(wrapped=scripted(DONE)).model_copy(deep=True)
    assert copied.invoke("Sun?").text == DONE


def test_calls_that_the_wrapped_model_makes_itself_are_checked_too() -> None:
    call: Any = {"name": "weather", "args": ARGUMENTS, "id": "own"}
    assert [each["args"] for each in bound(scripted(AIMessage("", tool_calls=[call]))).invoke("Sun?").tool_calls] == [
        ARGUMENTS
    ]
    bad: Any = AIMessage("", tool_calls=[{**call, "args": {"days": 1}}])
    message = bound(scripted(bad), settings=Settings(retries=0)).invoke("Sun?")
    assert message.tool_calls == [] and len(message.invalid_tool_calls) == 1


# Tools


def test_tools_are_taken_in_all_forms_that_langchain_takes() -> None:
    def plain(city: str) -> str:
        """The weather."""
        return city

    class Model(BaseModel):
        """The weather."""

        city: str

    class Typed(TypedDict):
        """The weather."""

        city: str

    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    forms = {
        "weather": weather,
        "plain": plain,
        "Model": Model,
        "Typed": Typed,
        "openai": {"type": "function", "function": {"name": "openai", "parameters": schema}},
        "anthropic": {"name": "anthropic", "description": "d", "input_schema": schema},
        "json": {"title": "json", "description": "d", **schema},
    }
    for name, each in forms.items():
        reply = f"<tool>\n<tool_name>{name}</tool_name>\n<arguments><city>Oslo</city></arguments>\n</tool>"
        message = bound(scripted(reply), *forms.values()).invoke("Sun?")
        assert [(call["name"], call["args"]) for call in message.tool_calls] == [(name, {"city": "Oslo"})], each


def test_which_tools_may_be_called() -> None:
    other = {"name": "other", "parameters": {"type": "object", "properties": {}}}
    for choice in ("weather", {"type": "function", "function": {"name": "weather"}}):
        model = scripted(GOOD)
        bound(model, weather, other, tool_choice=choice).invoke("Sun?")
        assert "other" not in model.asked[0][0].text
    for choice in ("any", "required", True):
        model = scripted(GOOD)
        bound(model, tool_choice=choice).invoke("Sun?")
        assert model.asked[0][0].text != _prompt("auto")
    assert _prompt("auto") == _prompt(None) and "weather" not in _prompt("none")


def _prompt(choice: Any) -> str:
    model = scripted(GOOD)
    bound(model, tool_choice=choice).invoke("Sun?")
    return model.asked[0][0].text


def test_what_cannot_be_bound_is_refused_with_what_to_do() -> None:
    model = scripted(GOOD)
    assert "there is no tool 'wether'" in raised(ValueError, lambda: bound(model, tool_choice="wether"))
    assert "give a function" in raised(ValueError, lambda: bound(model, {"type": "web_search"}))
    assert "two of the name 'weather'" in raised(ValueError, lambda: bound(model, weather, weather))
    json_mode = {"response_format": {"type": "json_object"}}
    assert "response_format" in raised(ValueError, lambda: bound(model, **json_mode))
    assert model.asked == []


def test_models_and_settings_that_do_not_fit_are_refused() -> None:
    llm = FakeListLLM(responses=[""])
    assert "expected a chat model, got FakeListLLM" in raised(ValueError, lambda: ToolCallingChatModel(wrapped=llm))
    for settings in (Settings(prompt="upstream"), Settings(engine="vllm"), Settings(result_role="tool")):
        made = lambda settings=settings: ToolCallingChatModel(wrapped=scripted(), settings=settings)  # noqa: E731
        assert "is for a server" in raised(ValueError, made)
    assert "instance of Settings" in raised(
        ValueError, lambda: ToolCallingChatModel(wrapped=scripted(), settings={"retries": 2})
    )
    text = bound(scripted(GOOD) | StrOutputParser())
    why = raised(ValueError, lambda: text.invoke("Sun?"))
    assert why.startswith("wrapped: expected a chat model, which answers with an AIMessage, got "), why


# Agents, and what else is made of `bind_tools`


class Answer(BaseModel):
    """The answer."""

    city: str


ANSWER = "<tool>\n<tool_name>Answer</tool_name>\n<arguments><city>Oslo</city></arguments>\n</tool>"


def test_structured_output() -> None:
    model = ToolCallingChatModel(wrapped=scripted(ANSWER))
    assert model.with_structured_output(Answer).invoke("Where?") == Answer(city="Oslo")
    agent = create_agent(ToolCallingChatModel(wrapped=scripted(GOOD, ANSWER)), [weather], response_format=Answer)
    state: Any = agent.invoke({"messages": [HumanMessage("Where?")]})
    assert state["structured_response"] == Answer(city="Oslo")


def test_an_agent_calls_its_tool_and_reads_the_result() -> None:
    model = scripted(GOOD, DONE)
    state: Any = create_agent(ToolCallingChatModel(wrapped=model), [weather]).invoke({"messages": [("user", "Sun?")]})
    assert [message.type for message in state["messages"]] == ["human", "ai", "tool", "ai"]
    assert state["messages"][-1].text == DONE
    assert model.asked[1][-1].text == "Tool: weather\nResult: sunny in Oslo"


def test_an_agent_goes_on_after_a_call_that_was_not_made() -> None:
    model = scripted(BAD, BAD, DONE)
    agent = create_agent(ToolCallingChatModel(wrapped=model), [weather])
    state: Any = agent.invoke({"messages": [("user", "Sun?")]})
    assert "was not made" in state["messages"][-1].text and state["messages"][-1].invalid_tool_calls
    state = agent.invoke({"messages": [*state["messages"], ("user", "And now?")]})
    assert state["messages"][-1].text == DONE
    assert "was not made" in model.asked[-1][2].text


def test_what_is_not_named_is_known_of_the_wrapped_model() -> None:
    wrapped = scripted()
    wrapped.profile = {"max_input_tokens": 1000, "structured_output": True}
    profile = ToolCallingChatModel(wrapped=wrapped).profile
    assert profile == {"max_input_tokens": 1000, "tool_calling": True, "structured_output": False}
