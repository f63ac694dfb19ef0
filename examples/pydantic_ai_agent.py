"""An agent of pydantic-ai on a model that only writes text, with a typed answer. It needs `pydantic-ai-slim`."""

from pydantic import BaseModel
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from scripted_model import ScriptedModel

from xmltools.integrations.pydantic_ai import ToolCallingModel

CALL = "<tool><tool_name>{}</tool_name><arguments>{}</arguments></tool>"
SCRIPT = ScriptedModel(
    "I look.\n" + CALL.format("weather", "<city>Oslo</city>"),
    CALL.format("final_result", "<coat>true</coat><why>It rains & it is 4 degrees.</why>"),
)


def says(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Return what the model writes: text only."""
    assert not info.function_tools, "the tools are in the messages, as text"
    return ModelResponse(parts=[TextPart(SCRIPT.answer(messages))])


class Advice(BaseModel):
    """What to wear."""

    coat: bool
    why: str


# A script; OllamaModel, or whatever model you have, takes the place of FunctionModel.
AGENT = Agent(ToolCallingModel(FunctionModel(says)), output_type=Advice)


@AGENT.tool_plain
def weather(city: str) -> str:
    """Tell the weather of a city."""
    print(f"[weather {city}]")
    return f"{city}: 4 degrees, rain"


if __name__ == "__main__":
    print(repr(AGENT.run_sync("Do I need a coat in Oslo?").output))
