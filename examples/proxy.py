"""OpenAI's client in front of the proxy. Start that first: `xmltools serve --demo`, or --upstream with your server."""

import json
import os
from typing import Any

from openai import OpenAI

CLIENT = OpenAI(base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1"), api_key="none")
EXPRESSION = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}
CALCULATOR: Any = {
    "type": "function",
    "function": {"name": "calculator", "description": "Calculate an expression.", "parameters": EXPRESSION},
}


def calculator(expression: str) -> str:
    """Multiply two numbers: what a model says is never evaluated as code."""
    left, _, right = expression.partition("*")
    return str(int(left) * int(right))


def main() -> None:
    """Ask, stream the text, run the calls, until there are no more."""
    messages: list[Any] = [{"role": "user", "content": "How much is 6 * 7?"}]
    while messages[-1]["role"] != "assistant":
        with CLIENT.chat.completions.stream(model="scripted", messages=messages, tools=[CALCULATOR]) as stream:
            for event in stream:
                if event.type == "content.delta":
                    print(event.delta, end="", flush=True)
            message = stream.get_final_completion().choices[0].message
        print()
        messages.append({"role": "assistant", "content": message.content})
        if message.tool_calls:
            messages[-1]["tool_calls"] = [call.model_dump(exclude_none=True) for call in message.tool_calls]
        for call in message.tool_calls or ():
            print(f"[{call.function.name} {call.function.arguments}]")
            content = calculator(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


if __name__ == "__main__":
    main()
