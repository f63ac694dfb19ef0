"""Tools: name, description and JSON Schema; from functions, pydantic models and other people's formats."""

from xmltools.tools.tool import Tool, load_tools, not_a_tool

__all__ = ["Tool", "load_tools", "not_a_tool"]
