"""LlamaIndex's `FunctionAgent` with its model for servers that are like OpenAI's."""

from __future__ import annotations

from typing import Literal

from cell import DESCRIPTION, MAX_STEPS, NAME, PATIENCE, QUESTION, Ask, run_all
from llama_index.core.agent.workflow import AgentOutput, AgentStream, FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel


class Arguments(BaseModel):
    path: str
    content: str
    mode: Literal["create", "append"] = "create"


async def play(ask: Ask) -> None:
    model = OpenAILike(
        model=ask.model,
        api_base=ask.url + "/v1",
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
        timeout=PATIENCE,
    )
    tool = FunctionTool.from_defaults(fn=ask.tool, name=NAME, description=DESCRIPTION, fn_schema=Arguments)
    agent = FunctionAgent(tools=[tool], llm=model, streaming=ask.streaming)
    running = agent.run(user_msg=QUESTION, max_iterations=MAX_STEPS)
    async for event in running.stream_events():
        if isinstance(event, AgentStream):
            ask.texts.append(event.delta)
        elif isinstance(event, AgentOutput) and not ask.streaming:
            ask.texts.append(event.response.content or "")
    await running


if __name__ == "__main__":
    run_all(play, "llama-index-core", "llama-index-llms-openai", "llama-index-llms-openai-like", "openai")
