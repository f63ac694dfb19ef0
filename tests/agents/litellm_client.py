"""LiteLLM in a loop as a user writes it: whatever calls a reply has are read with json.loads and run.

To pass tools on it needs `litellm[mcp]`.
"""

from __future__ import annotations

import json
import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it asks the network for prices otherwise

import litellm
from cell import DESCRIPTION, MAX_STEPS, NAME, PATIENCE, QUESTION, SCHEMA, Ask, run_all

TOOLS: Any = [{"type": "function", "function": {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}}]


def play(ask: Ask) -> None:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for _ in range(MAX_STEPS):
        message = step(ask, messages)
        if not message.tool_calls:
            return
        messages.append(message.model_dump())
        for call in message.tool_calls:
            result = ask.called(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def step(ask: Ask, messages: list[Any]) -> Any:
    where = {"model": f"openai/{ask.model}", "api_base": ask.url + "/v1"}
    if ask.integration:
        from xmltools.integrations.litellm import ToolCallingLLM

        litellm.custom_provider_map = [{"provider": "xmltools", "custom_handler": ToolCallingLLM()}]
        where["model"] = f"xmltools/{where['model']}"
    if ask.api == "messages":
        where = {"model": f"anthropic/{ask.model}", "api_base": ask.url}
    request: Any = {**where, "api_key": "none", "messages": list(messages), "tools": TOOLS, "timeout": PATIENCE}
    answer: Any = litellm.completion(**request, stream=ask.streaming, max_retries=0, num_retries=0)
    if not ask.streaming:
        ask.texts.append(answer.choices[0].message.content or "")
        return answer.choices[0].message
    chunks = []
    for chunk in answer:
        chunks.append(chunk)
        ask.texts += [choice.delta.content or "" for choice in chunk.choices]
    built: Any = litellm.stream_chunk_builder(chunks, messages=messages)
    return built.choices[0].message


if __name__ == "__main__":
    run_all(play, "litellm", "openai")
