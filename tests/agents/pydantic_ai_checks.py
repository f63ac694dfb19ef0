"""`xmltools.integrations.pydantic_ai` inside pydantic-ai, over models that say what they are told to say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, NativeOutput, Tool
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, FunctionModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage
from weather import ARGUMENTS, BAD, DONE, GOOD, SCHEMA, call_of

from xmltools.bridge import Settings
from xmltools.integrations.pydantic_ai import ToolCallingModel

WEATHER = ToolDefinition(name="weather", description="The weather of a city.", parameters_json_schema=SCHEMA)
IMAGE = BinaryContent(b"\x89PNG", media_type="image/png")


class Scripted(FunctionModel):
    """Says one reply after the other, and keeps what it is asked."""

    def __init__(self, *replies: Any, finish_reason: Any = "stop") -> None:
        super().__init__(self._whole, stream_function=self._parts, model_name="scripted")
        self.replies = replies
        self.asked: list[list[Any]] = []
        self.infos: list[AgentInfo] = []
        self._finish_reason = finish_reason

    def _next(self, messages: list[Any], info: AgentInfo) -> list[Any]:
        self.asked.append(messages)
        self.infos.append(info)
        reply = self.replies[len(self.asked) - 1]
        return [TextPart(reply)] if isinstance(reply, str) else reply

    def _whole(self, messages: list[Any], info: AgentInfo) -> ModelResponse:
        return ModelResponse(
            parts=self._next(messages, info),
            usage=RequestUsage(input_tokens=5, output_tokens=3),
            finish_reason=self._finish_reason,
            provider_details={"own": True},
        )

    async def _parts(self, messages: list[Any], info: AgentInfo) -> AsyncIterator[Any]:
        for part in self._next(messages, info):
            if isinstance(part, ThinkingPart):
                yield {0: DeltaThinkingPart(content=part.content)}
                continue
            for at in range(0, len(part.content), 3):
                yield part.content[at : at + 3]


def asked_with(*tools: ToolDefinition, text: bool = True, **more: Any) -> ModelRequestParameters:
    return ModelRequestParameters(function_tools=list(tools), allow_text_output=text, **more)


QUESTION: list[Any] = [ModelRequest(parts=[UserPromptPart("Sun?")])]


async def whole(model: Any, messages: list[Any], settings: Any, parameters: Any) -> ModelResponse:
    return await model.request(messages, settings, parameters)


async def streamed(model: Any, messages: list[Any], settings: Any, parameters: Any) -> ModelResponse:
    async with model.request_stream(messages, settings, parameters) as stream:
        async for _ in stream:
            pass
        return stream.get()


WAYS = (whole, streamed)


async def said(
    *replies: Any, calling: Settings | None = None, settings: Any = None, parameters: Any = None, messages: Any = None
) -> list[ModelResponse]:
    """The response that comes of the replies, whole and streamed."""
    return [
        await way(
            ToolCallingModel(Scripted(*replies), calling=calling),
            messages or QUESTION,
            settings,
            parameters or asked_with(WEATHER),
        )
        for way in WAYS
    ]


def calls_of(response: ModelResponse) -> list[tuple[str, dict[str, Any]]]:
    return [(part.tool_name, part.args_as_dict()) for part in response.parts if isinstance(part, ToolCallPart)]


def text_of(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


async def raised(kind: type[Exception], run: Callable[[], Awaitable[Any]]) -> str:
    try:
        await run()
    except kind as error:
        return str(error)
    raise AssertionError("nothing was raised")


# Calls


async def test_a_good_call_is_a_part_of_its_own() -> None:
    for response in await said(GOOD):
        assert [part.part_kind for part in response.parts] == ["text", "tool-call"]
        assert calls_of(response) == [("weather", ARGUMENTS)] and text_of(response).strip() == "I look."
        assert response.finish_reason == "tool_call" and response.metadata is None
        assert (response.model_name, response.state) == ("scripted", "complete")
    response, _ = await said(GOOD)
    assert response.usage == RequestUsage(input_tokens=5, output_tokens=3)
    assert response.provider_details == {"own": True}


async def test_a_call_is_one_event_and_text_streams() -> None:
    model = ToolCallingModel(Scripted(GOOD))
    async with model.request_stream(QUESTION, None, asked_with(WEATHER)) as stream:
        events = [event async for event in stream]
    starts = [event.part for event in events if isinstance(event, PartStartEvent)]
    assert isinstance(starts[1], ToolCallPart) and starts[1].args_as_dict() == ARGUMENTS
    assert len(events) > 5


async def test_a_rejected_call_is_sent_back_and_then_made() -> None:
    for response in await said(BAD, GOOD):
        assert calls_of(response) == [("weather", ARGUMENTS)] and text_of(response).strip() == "I look."
    model = Scripted(BAD, GOOD)
    response = await ToolCallingModel(model).request(QUESTION, None, asked_with(WEATHER))
    assert response.usage == RequestUsage(input_tokens=10, output_tokens=6)
    rejected, why = model.asked[1][-2:]
    assert text_of(rejected) == BAD and "expected integer, got 'two'" in why.parts[0].content


async def test_a_call_that_stays_wrong_is_said_in_words() -> None:
    for response in await said(BAD, BAD):
        assert calls_of(response) == []
        assert text_of(response).endswith("The call of weather was not made: days: expected integer, got 'two'.")
        assert [each["name"] for each in (response.metadata or {})["failed_calls"]] == ["weather"]


async def test_a_call_that_is_cut_off_is_never_made() -> None:
    cut = GOOD[: GOOD.index("</days>")]
    response = await ToolCallingModel(Scripted(cut, finish_reason="length")).request(
        QUESTION, None, asked_with(WEATHER)
    )
    assert calls_of(response) == [] and response.finish_reason == "length"
    assert "the reply was cut off in it" in text_of(response)
    for response in await said(cut, cut, cut):
        assert calls_of(response) == []


async def test_a_required_call_is_asked_for_once_more_and_then_missed() -> None:
    required = asked_with(WEATHER, text=False)
    for response in await said(DONE, GOOD, parameters=required):
        assert calls_of(response)
    assert "did not call a tool" in await raised(
        UnexpectedModelBehavior, lambda: whole(ToolCallingModel(Scripted(DONE, DONE)), QUESTION, None, required)
    )
    assert "did not call a tool" in await raised(
        UnexpectedModelBehavior, lambda: streamed(ToolCallingModel(Scripted(DONE, DONE)), QUESTION, None, required)
    )


async def test_arguments_stream_if_they_are_to_be_live_and_a_call_that_fails_then_ends_the_stream() -> None:
    live = Settings(live_arguments=True)
    _, response = await said(GOOD, calling=live)
    assert calls_of(response) == [("weather", ARGUMENTS)]
    model = ToolCallingModel(Scripted(BAD), calling=live)
    assert "was not made" in await raised(
        UnexpectedModelBehavior, lambda: streamed(model, QUESTION, None, asked_with(WEATHER))
    )


async def test_reasoning_has_its_place() -> None:
    for reply in (f"<think>Hm.</think>{GOOD}", [ThinkingPart("Hm."), TextPart(GOOD)]):
        for response in await said(reply):
            assert [part.part_kind for part in response.parts] == ["thinking", "text", "tool-call"]
            assert response.parts[0].content == "Hm."  # type: ignore[union-attr]


async def test_reasoning_goes_back_to_a_model_that_reasons() -> None:
    for way in WAYS:
        for reply in (f"<think>Hm.</think>{GOOD}", [ThinkingPart("Hm."), TextPart(GOOD)]):
            scripted = Scripted(reply, DONE)
            model = ToolCallingModel(scripted)
            response = await way(model, QUESTION, None, asked_with(WEATHER))
            (call,) = [part for part in response.parts if isinstance(part, ToolCallPart)]
            result: Any = ModelRequest(parts=[ToolReturnPart("weather", "sunny", call.tool_call_id)])
            history = [*QUESTION, response, result]
            await way(model, history, None, asked_with(WEATHER))
            (again,) = [each for each in scripted.asked[1] if isinstance(each, ModelResponse)]
            assert text_of(again).startswith("<think>Hm.</think>")
            other = Scripted(DONE)  # is not known to reason
            await way(ToolCallingModel(other), history, None, asked_with(WEATHER))
            (again,) = [each for each in other.asked[0] if isinstance(each, ModelResponse)]
            assert "<think>" not in text_of(again)


# What the wrapped model is asked


async def test_history_is_written_in_the_dialect_with_files_and_errors() -> None:
    url = ImageUrl("https://example.org/map.png", vendor_metadata={"detail": "low"})
    history: list[Any] = [
        ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart(["A map:", IMAGE, "and one more:", url])]),
        ModelResponse(parts=[TextPart("I look."), *(ToolCallPart("weather", ARGUMENTS, each) for each in "abc")]),
        ModelRequest(
            parts=[
                ToolReturnPart("weather", "no such city", "b", outcome="retried"),
                ToolReturnPart("weather", ["a map", IMAGE], "a"),
                ToolReturnPart("weather", "it broke", "c", outcome="failed"),
            ]
        ),
    ]
    for dialect, call, result in (
        ("forge", "<tool_name>weather</tool_name>", "Tool: weather\nResult: "),
        ("hermes", '<tool_call>\n{"name": "weather"', "<tool_response>\n"),
    ):
        model = Scripted(DONE)
        await ToolCallingModel(model, calling=Settings(dialect=dialect)).request(
            history, None, asked_with(WEATHER, instruction_parts=None)
        )
        first, reply, results = model.asked[0]
        system, user = first.parts
        assert system.content.startswith("Be brief.") and "weather" in system.content
        assert user.content == ["A map:", IMAGE, "and one more:", url]
        assert [part.part_kind for part in reply.parts] == ["text"] and call in reply.parts[0].content
        told = "".join(part.content for part in results.parts if isinstance(part.content, str))
        assert result in told
        assert told.index("a map") < told.index("no such city") < told.index("it broke"), "in the order of the calls"
        assert IMAGE in results.parts[-1].content
        if dialect == "forge":
            assert "Error: no such city" in told and "Error: it broke" in told
        assert not model.infos[0].function_tools and model.infos[0].allow_text_output


async def test_a_prompt_may_be_a_picture_and_nothing_else() -> None:
    model = Scripted(DONE)
    await ToolCallingModel(model).request([ModelRequest(parts=[UserPromptPart([IMAGE])])], None, asked_with(WEATHER))
    assert [part.content for part in model.asked[0][0].parts][1:] == [[IMAGE]]


async def test_settings_reach_the_wrapped_model_but_those_about_tools() -> None:
    settings = {"temperature": 0.5, "parallel_tool_calls": False, "tool_choice": "auto", "stop_sequences": ["Oslo"]}
    for way in WAYS:
        model = Scripted(f"{call_of(1)}\n{call_of(2)}")
        response = await way(ToolCallingModel(model), QUESTION, settings, asked_with(WEATHER))
        assert calls_of(response) == [("weather", {"city": "Oslo", "days": 1})]
        assert model.infos[0].model_settings == {"temperature": 0.5}


async def test_without_tools_the_wrapped_model_is_asked_as_it_is() -> None:
    for way in WAYS:
        model = Scripted(GOOD)
        response = await way(ToolCallingModel(model), QUESTION, {"stop_sequences": ["x"]}, ModelRequestParameters())
        assert model.asked == [QUESTION] and text_of(response) == GOOD
        assert model.infos[0].model_settings == {"stop_sequences": ["x"]}


async def test_which_tools_may_be_called() -> None:
    other = ToolDefinition(name="other", parameters_json_schema={"type": "object", "properties": {}})

    async def prompt(choice: Any, **how: Any) -> str:
        model = Scripted(GOOD)
        await ToolCallingModel(model).request(QUESTION, {"tool_choice": choice}, asked_with(WEATHER, other, **how))
        return str(model.asked[0][0].parts[0].content)

    for choice in (None, "auto", "required"):
        assert "## weather" in await prompt(choice) and "## other" in await prompt(choice)
    assert await prompt("auto") != await prompt("required")
    assert "## other" not in await prompt(["weather"])
    assert await prompt("none") == "Sun?"


# Agents


async def test_an_agent_runs_its_tool_and_tells_the_model_of_errors() -> None:
    tried: list[str] = []

    def weather(city: str) -> str:
        """The weather of a city."""
        tried.append(city)
        if city == "Oslo":
            raise ModelRetry("Say the country too.")
        return "sunny"

    reply = "<tool>\n<tool_name>weather</tool_name>\n<arguments><city>{}</city></arguments>\n</tool>"
    for stream in (False, True):
        model = Scripted(reply.format("Oslo"), reply.format("Oslo, Norway"), DONE)
        agent = Agent(ToolCallingModel(model), tools=[weather], instructions="Be brief.")
        tried.clear()
        if stream:
            async with agent.run_stream("Sun?") as result:
                output = await result.get_output()
        else:
            output = (await agent.run("Sun?")).output
        assert (output, tried) == (DONE, ["Oslo", "Oslo, Norway"])
        assert "Error: Say the country too." in model.asked[1][-1].parts[-1].content
        assert [message.parts[0].content[:9] for message in model.asked[-1][:1]] == ["Be brief."]


class Answer(BaseModel):
    """The answer."""

    city: str


async def test_output_by_a_tool() -> None:
    answer = "<tool>\n<tool_name>final_result</tool_name>\n<arguments><city>Oslo</city></arguments>\n</tool>"
    wrong = answer.replace("city", "town")
    # The model has a second try from us, and then more from pydantic-ai.
    for wrapped in (Scripted(answer), Scripted(DONE, answer), Scripted(wrong, answer), Scripted(wrong, wrong, answer)):
        result = await Agent(ToolCallingModel(wrapped), output_type=Answer).run("Where?")
        assert result.output == Answer(city="Oslo")


async def test_a_provider_that_writes_json_itself_cannot_do_that_beside_tools() -> None:
    agent = Agent(
        ToolCallingModel(Scripted(DONE)), output_type=NativeOutput(Answer), tools=[Tool(lambda: "x", name="x")]
    )
    assert "response_format" in await raised(ValueError, lambda: agent.run("Where?"))
    native = Agent(ToolCallingModel(Scripted('{"city": "Oslo"}')), output_type=NativeOutput(Answer))
    assert (await native.run("Where?")).output == Answer(city="Oslo")


async def test_settings_that_do_not_fit_are_refused() -> None:
    for calling, why in ((Settings(prompt="upstream"), "is for a server"), ({"retries": 2}, "expected Settings")):
        try:
            ToolCallingModel(Scripted(), calling=calling)  # type: ignore[arg-type]
        except ValueError as error:
            assert why in str(error)
        else:
            raise AssertionError(calling)


async def test_the_dialect_may_be_that_of_the_model() -> None:
    model = Scripted('<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>')
    model._model_name = "Qwen/Qwen2.5-7B-Instruct"
    response = await ToolCallingModel(model, calling=Settings(dialect="auto")).request(
        QUESTION, None, asked_with(WEATHER)
    )
    assert calls_of(response) == [("weather", {"city": "Oslo"})]
    assert "<tool_call>" in model.asked[0][0].parts[0].content


async def test_tokens_are_counted_of_what_the_model_is_asked() -> None:
    class Counting(Scripted):
        async def count_tokens(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> RequestUsage:
            return RequestUsage(input_tokens=len(str(messages)))

    model = ToolCallingModel(Counting())
    few = await model.count_tokens(QUESTION, None, ModelRequestParameters())
    many = await model.count_tokens(QUESTION, None, asked_with(WEATHER))
    assert many.input_tokens > few.input_tokens + 500
