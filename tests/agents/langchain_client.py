"""LangChain's `create_agent`, with its models for chat completions, Responses and Anthropic's API, or ours over one.

Its tool has a JSON Schema and no validation of its own, as a tool that comes from MCP.
"""

from __future__ import annotations

from typing import Any

from cell import DESCRIPTION, MAX_STEPS, NAME, PATIENCE, QUESTION, SCHEMA, Ask, run_all
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import StructuredTool


def model_of(ask: Ask) -> Any:
    if ask.api == "messages":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(model=ask.model, base_url=ask.url, api_key="none", max_retries=0, timeout=PATIENCE)  # type: ignore[call-arg]
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(
        model=ask.model,
        base_url=ask.url + "/v1",
        api_key="none",  # type: ignore[arg-type]
        max_retries=0,
        timeout=PATIENCE,
        use_responses_api=ask.api == "responses",
    )
    if not ask.integration:
        return model
    from xmltools.integrations.langchain import ToolCallingChatModel

    return ToolCallingChatModel(wrapped=model)


async def play(ask: Ask) -> None:
    tool = StructuredTool.from_function(ask.tool, name=NAME, description=DESCRIPTION, args_schema=SCHEMA)
    agent = create_agent(model_of(ask), tools=[tool])
    asked: Any = {"messages": [{"role": "user", "content": QUESTION}]}
    config: Any = {"recursion_limit": 2 * MAX_STEPS}
    if ask.streaming:
        async for message, _ in agent.astream(asked, config, stream_mode="messages"):
            if isinstance(message, AIMessageChunk):
                ask.texts.append(message.text)
        return
    async for state in agent.astream(asked, config, stream_mode="values"):
        if isinstance(state["messages"][-1], AIMessage):
            ask.texts.append(state["messages"][-1].text)


if __name__ == "__main__":
    run_all(play, "langchain", "langchain-core", "langchain-openai", "langchain-anthropic", "langgraph", "openai")
