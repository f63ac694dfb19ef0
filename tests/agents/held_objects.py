"""What people hold: tools and results as objects of other libraries, read by the core. Prints JSON; run where they are.

`test_held_objects` says what must come out.
"""

from __future__ import annotations

import json
from typing import Annotated

import mcp.types
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolArg, StructuredTool, tool
from pydantic import BaseModel
from pydantic_ai import Tool as PydanticAITool
from pydantic_ai.tools import ToolDefinition

import agents
import xmltools as xt

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PNG = "iVBORw0KGgo="
CALL = xt.ToolCall(id="call_1", name="shot", arguments={})


def weather(city: str) -> str:
    """The weather of a city."""
    return city


class Forecast(BaseModel):
    """The weather of the next days."""

    city: str
    days: int = 3


@tool
def of_langchain(city: str, user: Annotated[str, InjectedToolArg]) -> str:
    """The weather of a city."""
    return city


def of_pydantic_ai(city: str) -> str:
    """The weather of a city."""
    return city


@agents.function_tool
def of_agents(city: str) -> str:
    """The weather of a city."""
    return city


def main() -> None:
    """Print the tools and the results."""
    listed = mcp.types.ListToolsResult(
        tools=[mcp.types.Tool(name="of_mcp", description="The weather.", inputSchema=SCHEMA)]
    )
    held = [
        *listed.tools,
        of_langchain,
        StructuredTool.from_function(weather, name="of_structured", args_schema=SCHEMA),
        PydanticAITool(of_pydantic_ai),
        ToolDefinition(name="of_definition", parameters_json_schema=SCHEMA),
        of_agents,
        weather,
        Forecast,
        {"name": "of_json", "input_schema": SCHEMA},
        listed,
    ]
    blocks = [
        mcp.types.TextContent(type="text", text="a"),
        mcp.types.ImageContent(type="image", data=PNG, mimeType="image/png"),
    ]
    results = [
        xt.ToolResult.from_mcp(mcp.types.CallToolResult(content=blocks), CALL),
        xt.ToolResult.from_mcp(mcp.types.CallToolResult(content=blocks[:1], isError=True), CALL),
        xt.ToolResult.from_mcp(mcp.types.CallToolResult(content=[], structuredContent={"a": 1}), CALL),
        xt.ToolResult.from_langchain(ToolMessage("a", tool_call_id="call_2", name="shot")),
        xt.ToolResult.from_langchain(ToolMessage("a", tool_call_id="call_2", status="error"), CALL),
        xt.ToolResult.from_langchain(
            ToolMessage(["a", {"type": "image", "base64": PNG, "mime_type": "image/png"}], tool_call_id="call_2"), CALL
        ),
        xt.ToolResult.from_langchain(
            ToolMessage(
                [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}], tool_call_id="c"
            ),
            CALL,
        ),
    ]
    print(
        json.dumps(
            {
                "tools": [each.model_dump() for each in xt.load_tools(held)],
                "listed": [each.name for each in xt.load_tools(listed)],
                "results": [each.model_dump(exclude_defaults=True) for each in results],
            }
        )
    )


if __name__ == "__main__":
    main()
