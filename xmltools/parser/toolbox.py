"""The tools that a parser is given: which one a name means, and what its arguments look like (protocol, 2.6)."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_

from xmltools.errors import XMLToolsError
from xmltools.tools import Tool, ToolNames, list_of_tools, not_a_tool
from xmltools.tools.schema import ObjectShape

_last: list[Toolbox] = []


def toolbox_of(tools: Iterable[Tool]) -> Toolbox:
    """Return the toolbox of these tools. Where they are those of the last one, it is the same: it takes as long to make
    as a short reply to read."""
    try:
        tools = tuple(tools)
    except TypeError:
        tools = tuple(list_of_tools(tools))  # says what is wrong
    for toolbox in _last:
        if len(toolbox.tools) == len(tools) and all(map(is_, toolbox.tools, tools)):
            return toolbox
    made = Toolbox(tools)
    _last[:] = [made]
    return made


class Toolbox:
    """The tools of a parser, by name and server, with their schemas compiled."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = tuple(tools)
        self._shapes: dict[str, dict[str, ObjectShape]] = {}
        for tool in self.tools:
            if not isinstance(tool, Tool):
                raise not_a_tool(tool)
            servers = self._shapes.setdefault(tool.name, {})
            if tool.server in servers:
                raise XMLToolsError(
                    f"two tools are named {tool.name!r} on server {tool.server!r}; give each its own name"
                )
            servers[tool.server] = tool.shape
        self.names = tuple(self._shapes)
        """The names of the tools."""
        self._meaning = ToolNames(self._shapes)
        self.resolve = self._meaning.resolve
        """Returns the name of the tool that a name means (protocol, 2.8), or None."""
        self._servers = {tool.server for tool in self.tools}

    def find(self, name: str, server: str | None, default: str) -> tuple[str, ObjectShape] | None:
        """The server of the tool and its shape. None if there is no such tool, or if several servers have one."""
        servers, wanted = self._shapes.get(name, {}), default if server is None else server
        if wanted in servers:
            return wanted, servers[wanted]
        if len(servers) == 1 and (server is None or server not in self._servers):
            return next(iter(servers.items()))  # nobody has a tool on that server: it is made up, or left out
        return None

    def guess(self, name: str, server: str | None, default: str) -> ObjectShape | None:
        """The shape by which the arguments are read, as far as it is known before the block has ended."""
        found = self.find(name, server if server in self._servers else None, default)
        return found and found[1]

    def missing(self, name: str, server: str | None) -> tuple[str, str]:
        """Why no tool was found, and a hint that lists those there are."""
        if name in self._shapes:
            message = f"server {server!r} has no tool named {name!r}" if server else f"several servers have {name!r}"
            return message, f"Name the server of {name} in <server_name>: {', '.join(self._shapes[name])}."
        return f"there is no tool named {name!r}", f"There is no tool {name[:100]!r}. {self._meaning.advice(name)}"

    def find_plain(self, name: str, server: str | None, default: str) -> tuple[str, ObjectShape] | None:
        """The server and schema of the tool that has this very name, on the server that is named or meant; None if
        there is none, or that takes a repair."""
        found = self.find(name, server, default)
        is_only = server is None and len(self._servers) == 1
        return found if found and (is_only or found[0] == (default if server is None else server)) else None
