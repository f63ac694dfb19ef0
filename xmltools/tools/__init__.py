"""Tools: name, description and JSON Schema; from functions, pydantic models and other people's formats."""

from xmltools.tools.names import ToolNames
from xmltools.tools.tool import Tool, list_of_tools, load_tools, not_a_tool

__all__ = ["Tool", "ToolNames", "list_of_tools", "load_tools", "not_a_tool"]
