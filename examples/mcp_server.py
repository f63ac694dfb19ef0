"""A small MCP server, which `mcp_client.py` starts. It is like any other: it knows nothing of xmltools."""

from mcp.server.mcpserver import MCPServer

SERVER = MCPServer("shop", log_level="WARNING")


@SERVER.tool()
def price(article: str, number: int = 1) -> str:
    """Tell what articles cost."""
    return f"{number} x {article}: {number * 3} euros"


if __name__ == "__main__":
    SERVER.run()
