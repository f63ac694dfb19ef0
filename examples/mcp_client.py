"""The tools of an MCP server, for a model that writes its calls as text. It needs `mcp`, from 2.0 on."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from scripted_model import ScriptedModel

import xmltools as xt

SERVER = StdioServerParameters(command=sys.executable, args=[str(Path(__file__).with_name("mcp_server.py"))])
MODEL = ScriptedModel(
    "<tool>\n<tool_name>price</tool_name>\n<arguments>\n<article>tea</article>\n<number>4</number>\n</arguments>\n</tool>",
    "Four packs of tea cost 12 euros.",
)


async def main() -> None:
    """Start the server, and play turns until the model calls no more tools."""
    async with stdio_client(SERVER) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = xt.load_tools(await session.list_tools())
        prompt = xt.render_instructions(tools)
        messages: list[Any] = [{"role": "system", "content": prompt}, {"role": "user", "content": "Price of 4 teas?"}]
        while messages[-1]["role"] != "assistant":
            text = MODEL.answer(messages)
            messages.append({"role": "assistant", "content": text})
            reply, results = xt.parse(text, tools), []
            if reply.text.strip():
                print(reply.text)
            for call in reply.calls:
                results.append(xt.ToolResult.from_mcp(await session.call_tool(call.name, call.arguments), call))
                print(f"[{call.name} {call.arguments}: {results[-1].text}]")
            answers = [xt.render_retry(error, tools) for error in reply.errors]
            if results:  # they come last: what stands after one would be read as a part of it
                answers.append(xt.render_results(results))
            if answers:
                messages.append({"role": "user", "content": "\n\n".join(answers)})


if __name__ == "__main__":
    asyncio.run(main())
