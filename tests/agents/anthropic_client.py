"""The Anthropic SDK in a loop as a user writes it: every tool_use block of a reply is run.

The API `messages` streams with `.stream()`; `messages-events` reads the events and puts the JSON together itself.
"""

from __future__ import annotations

import json
from typing import Any

import anthropic
from cell import DESCRIPTION, MAX_STEPS, NAME, PATIENCE, QUESTION, SCHEMA, Ask, run_all

TOOLS: Any = [{"name": NAME, "description": DESCRIPTION, "input_schema": SCHEMA}]


def play(ask: Ask) -> None:
    more: dict[str, Any] = {}
    if ask.transport:
        import httpx2

        from xmltools.proxy.transport import XMLToolsTransport

        more["http_client"] = httpx2.Client(transport=XMLToolsTransport())
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with anthropic.Anthropic(base_url=ask.url, api_key="none", max_retries=0, timeout=PATIENCE, **more) as client:
        for _ in range(MAX_STEPS):
            content = step(client, ask, messages)
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return
            results = [
                {"type": "tool_result", "tool_use_id": call["id"], "content": ask.called(call["name"], call["input"])}
                for call in calls
            ]
            messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]


def step(client: anthropic.Anthropic, ask: Ask, messages: list[Any]) -> list[dict[str, Any]]:
    request: Any = {"model": ask.model, "max_tokens": 1000, "messages": list(messages), "tools": TOOLS}
    if ask.api == "messages-events":
        return from_events(ask, client.messages.create(**request, stream=True))
    if ask.streaming:
        with client.messages.stream(**request) as stream:
            ask.texts.extend(stream.text_stream)
            message = stream.get_final_message()
    else:
        message = client.messages.create(**request)
        ask.texts.extend(block.text for block in message.content if block.type == "text")
    return [block.model_dump(exclude_none=True) for block in message.content]


def from_events(ask: Ask, events: Any) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    partial = ""
    for event in events:
        if event.type == "content_block_start":
            content.append(event.content_block.model_dump(exclude_none=True))
            partial = ""
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            content[-1]["text"] += event.delta.text
            ask.texts.append(event.delta.text)
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            partial += event.delta.partial_json
        elif event.type == "content_block_stop" and content[-1]["type"] == "tool_use":
            content[-1]["input"] = json.loads(partial or "{}")
    return content


if __name__ == "__main__":
    run_all(play, "anthropic")
