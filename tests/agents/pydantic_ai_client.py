"""A pydantic-ai agent with its models for chat completions and Responses, or with ours over one.

Its tool has a JSON Schema and no validation of its own, as a tool that comes from MCP.
"""

from __future__ import annotations

from typing import Any

from cell import DESCRIPTION, MAX_STEPS, NAME, PATIENCE, QUESTION, SCHEMA, Ask, run_all
from openai import AsyncOpenAI
from pydantic_ai import Agent, Tool, capture_run_messages
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


def model_of(ask: Ask) -> Any:
    openai = AsyncOpenAI(base_url=ask.url + "/v1", api_key="none", max_retries=0, timeout=PATIENCE)
    kind = OpenAIResponsesModel if ask.api == "responses" else OpenAIChatModel
    model = kind(ask.model, provider=OpenAIProvider(openai_client=openai))
    if not ask.integration:
        return model
    from xmltools.integrations.pydantic_ai import ToolCallingModel

    return ToolCallingModel(model)


async def read(_: Any, events: Any) -> None:
    async for _event in events:
        pass


async def play(ask: Ask) -> None:
    tool: Any = Tool.from_schema(ask.tool, NAME, DESCRIPTION, SCHEMA)
    agent = Agent(model_of(ask), tools=[tool])
    handler = read if ask.streaming else None
    with capture_run_messages() as messages:
        try:
            await agent.run(QUESTION, usage_limits=UsageLimits(request_limit=MAX_STEPS), event_stream_handler=handler)
        finally:
            replies = [message for message in messages if isinstance(message, ModelResponse)]
            ask.texts += [part.content for reply in replies for part in reply.parts if isinstance(part, TextPart)]


if __name__ == "__main__":
    run_all(play, "pydantic-ai-slim", "openai")
