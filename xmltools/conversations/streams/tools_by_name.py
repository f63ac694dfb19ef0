"""The tools of a stream by name: which arguments are strings for sure, and by which schema a native call is read."""

from __future__ import annotations

from collections.abc import Iterable

from xmltools.models import DEFAULT_SERVER
from xmltools.tools import Tool, ToolNames, list_of_tools
from xmltools.tools.schema import Shape, TextShape


class ToolTable:
    """Tools by name. Raises `XMLToolsError` for anything but tools, and for a schema that is invalid."""

    __slots__ = ("_servers",)

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._servers: dict[str, dict[str, Shape]] = {}
        for tool in list_of_tools(tools):
            self._servers.setdefault(tool.name, {})[tool.server] = tool.shape

    @property
    def names(self) -> list[str]:
        """The names of the tools."""
        return list(self._servers)

    def near(self, name: str) -> list[str]:
        """Return the names of the tools for which an unknown name may have been meant."""
        return ToolNames(self._servers).near(name)

    def shapes(self, name: str, server: str | None) -> list[Shape]:
        """Return the schemas that a call may turn out to be read by: `server` may be named later."""
        servers = self._servers.get(name, {})
        if server is None:
            return list(servers.values())
        return [servers[server]] if server in servers else []

    def find(self, name: str) -> tuple[str, Shape] | None:
        """Return server and schema of a call that names no server: the default one's, or the only one's."""
        servers = self._servers.get(name, {})
        if DEFAULT_SERVER in servers:
            return DEFAULT_SERVER, servers[DEFAULT_SERVER]
        return next(iter(servers.items())) if len(servers) == 1 else None


def is_string(shapes: list[Shape], name: str) -> bool:
    """Return whether the argument `name` is a string by all of these schemas, with no other type to choose."""
    return bool(shapes) and all(isinstance(shape.child(name), TextShape) for shape in shapes)
