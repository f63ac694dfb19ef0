"""Function calling inside OpenAI's client, for a model that only writes text: no server in between."""

import json
from typing import Any

import httpx2
from openai import OpenAI
from scripted_model import ScriptedModel

from xmltools.transport import XMLToolsTransport

MODEL = ScriptedModel(
    "I look it up.\n<tool><tool_name>weather</tool_name><arguments><city>Oslo</city></arguments></tool>",
    "4 degrees and rain: take a coat.",
)
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Any = [{"type": "function", "function": {"name": "weather", "description": "The weather.", "parameters": CITY}}]


def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"{city}: 4 degrees, rain"


def upstream(request: httpx2.Request) -> httpx2.Response:
    """Answer as the server of a model that knows no tools. With a real one, leave `inner` away and set base_url."""
    asked = json.loads(request.content)
    assert "tools" not in asked, "they are in the messages, as text"
    message = {"role": "assistant", "content": MODEL.answer(asked["messages"])}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return httpx2.Response(200, json={"id": "1", "object": "chat.completion", "choices": [choice]})


def main() -> None:
    """Ask, run the calls, and print the answer."""
    http = httpx2.Client(transport=XMLToolsTransport(inner=httpx2.MockTransport(upstream)))
    client = OpenAI(base_url="http://localhost:8000/v1", api_key="none", http_client=http)
    messages: list[Any] = [{"role": "user", "content": "Do I need a coat in Oslo?"}]
    while True:
        message = client.chat.completions.create(model="my-model", messages=messages, tools=TOOLS).choices[0].message
        messages.append(message)
        print((message.content or "").rstrip())
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            print(f"[{call.function.name} {call.function.arguments}]")
            content = weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


if __name__ == "__main__":
    main()
