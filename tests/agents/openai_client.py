"""The OpenAI SDK in a loop as a user writes it: whatever calls a reply has are read with json.loads and run.

The API `chat` and `responses` read the events themselves; `chat-helper` and `responses-helper` leave it to `.stream()`.
"""

from __future__ import annotations

import json
from typing import Any

import openai
from cell import DESCRIPTION, MAX_STEPS, NAME, PATIENCE, QUESTION, SCHEMA, Ask, run_all

FUNCTION = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}
CHAT_TOOLS: Any = [{"type": "function", "function": FUNCTION}]
RESPONSES_TOOLS: Any = [{"type": "function", "strict": False, **FUNCTION}]


def play(ask: Ask) -> None:
    more: dict[str, Any] = {}
    if ask.transport:
        import httpx2

        from xmltools.proxy.transport import XMLToolsTransport

        more["http_client"] = httpx2.Client(transport=XMLToolsTransport())
    with openai.OpenAI(base_url=ask.url + "/v1", api_key="none", max_retries=0, timeout=PATIENCE, **more) as client:
        (chat if ask.api.startswith("chat") else responses)(client, ask)


def chat(client: openai.OpenAI, ask: Ask) -> None:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    for _ in range(MAX_STEPS):
        calls = chat_step(client, ask, messages)
        if not calls:
            return
        for call in calls:
            result = ask.called(call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})


def chat_step(client: openai.OpenAI, ask: Ask, messages: list[Any]) -> list[dict[str, Any]]:
    request: Any = {"model": ask.model, "messages": list(messages), "tools": CHAT_TOOLS}
    text, calls = "", []
    if ask.api == "chat-helper":
        with client.chat.completions.stream(**request) as events:
            for event in events:
                if event.type == "content.delta":
                    ask.texts.append(event.delta)
            message = events.get_final_completion().choices[0].message
        text, calls = message.content or "", [call.model_dump() for call in message.tool_calls or ()]
    elif ask.streaming:
        for chunk in client.chat.completions.create(**request, stream=True):
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            text += delta.content or ""
            ask.texts.append(delta.content or "")
            for part in delta.tool_calls or ():
                if part.index == len(calls):
                    calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                call = calls[part.index]
                call["id"] += part.id or ""
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    else:
        message = client.chat.completions.create(**request).choices[0].message
        text, calls = message.content or "", [call.model_dump() for call in message.tool_calls or ()]
        ask.texts.append(text)
    messages.append({"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})})
    return calls


def responses(client: openai.OpenAI, ask: Ask) -> None:
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    for _ in range(MAX_STEPS):
        output = responses_step(client, ask, items)
        items += [item.model_dump(exclude_none=True) for item in output]
        calls = [item for item in output if item.type == "function_call"]
        if not calls:
            return
        for call in calls:
            result = ask.called(call.name, json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def responses_step(client: openai.OpenAI, ask: Ask, items: list[Any]) -> list[Any]:
    request: Any = {"model": ask.model, "input": list(items), "tools": RESPONSES_TOOLS}
    if ask.api == "responses-helper":
        with client.responses.stream(**request) as events:
            for event in events:
                if event.type == "response.output_text.delta":
                    ask.texts.append(event.delta)
            return list(events.get_final_response().output)
    if not ask.streaming:
        response = client.responses.create(**request)
        ask.texts.append(response.output_text)
        return list(response.output)
    output = []
    for event in client.responses.create(**request, stream=True):
        if event.type == "response.output_text.delta":
            ask.texts.append(event.delta)
        elif event.type == "response.output_item.done":
            output.append(event.item)
        elif event.type in ("error", "response.failed"):
            raise RuntimeError(event.to_json())
    return output


if __name__ == "__main__":
    run_all(play, "openai")
