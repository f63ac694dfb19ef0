"""The tools that a parser is given: which one a name means, and what its arguments look like (protocol, 2.6)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import is_

from xmltools.errors import XMLToolsError
from xmltools.tools import Tool, list_of_tools, not_a_tool
from xmltools.tools.schema import ObjectShape, Shape

_QUOTES = " \t\"'`"
_SEPARATOR = re.compile("::?|[./]")
_PREFIX = re.compile(r"(?:[A-Za-z_][\w-]*+(?:::?|[./]))++", re.ASCII)


class NoToolError(Exception):
    """No tool has the name, or no tool on that server; `hint` lists those there are. `needs_server`: only the name of
    a server could say which is meant."""

    def __init__(self, message: str, hint: str, *, needs_server: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.needs_server = needs_server


_last: list[tuple[tuple[object, ...], Toolbox]] = []


def toolbox_of(tools: Iterable[Tool]) -> Toolbox:
    """Return the toolbox of these tools. Where they are those of the last one, it is the same: it takes as long to make
    as a short reply to read."""
    try:
        tools = tuple(tools)
    except TypeError:
        tools = tuple(list_of_tools(tools))  # says what is wrong
    for known, toolbox in _last:
        if len(known) == len(tools) and all(map(is_, known, tools)):
            return toolbox
    made = Toolbox(tools)
    _last[:] = [(tools, made)]
    return made


class Toolbox:
    """The tools of a parser, by name and server, with their schemas compiled."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._shapes: dict[str, dict[str, ObjectShape]] = {}
        self._servers: set[str] = set()
        for tool in tools:
            if not isinstance(tool, Tool):
                raise not_a_tool(tool)
            servers = self._shapes.setdefault(tool.name, {})
            if tool.server in servers:
                raise XMLToolsError(
                    f"two tools are named {tool.name!r} on server {tool.server!r}; give each its own name"
                )
            servers[tool.server] = tool.shape
            self._servers.add(tool.server)
        self.names = tuple(self._shapes)
        """The names of the tools."""
        # A block that names no server means this one.
        self.only_server = next(iter(self._servers)) if len(self._servers) == 1 else None

    def resolve(self, name: str) -> str | None:
        """The name of the tool that `name` means: itself, or what is left of it without quotes, `()` and a prefix that
        ends with a point, a colon or a slash (protocol, 2.6). None if no tool has it."""
        if name in self._shapes:
            return name
        bare = name.strip(_QUOTES).removesuffix("()").strip(_QUOTES)
        if bare in self._shapes:
            return bare
        prefix = _PREFIX.match(bare)
        for separator in _SEPARATOR.finditer(bare, 0, prefix.end()) if prefix else ():
            if bare[separator.end() :] in self._shapes:
                return bare[separator.end() :]
        return None

    def serves(self, name: str, server: str) -> bool:
        """True if there is a tool of this name on the server."""
        return server in self._shapes.get(name, {})

    def begins(self, name: str) -> bool:
        """True if the name of some tool begins so."""
        return any(known.startswith(name) for known in self._shapes)

    def guess(self, name: str, server: str | None, default: str) -> Shape | None:
        """The schema by which the arguments will be read, if that is known before the block has ended."""
        servers = self._shapes.get(name, {})
        if server is not None and (server in servers or server in self._servers):
            return servers.get(server)
        return servers.get(default) or (next(iter(servers.values())) if len(servers) == 1 else None)

    def find(self, name: str, server: str | None, default: str) -> tuple[str, Shape]:
        """The server and schema of a tool; raises `NoToolError` if there is none."""
        servers = self._shapes.get(name)
        if servers is None:
            raise NoToolError(f"there is no tool named {name!r}", self._hint(name))
        wanted = server if server is not None else default
        if wanted in servers:
            return wanted, servers[wanted]
        if len(servers) == 1 and wanted not in self._servers:
            return next(iter(servers.items()))  # nobody has a tool on that server: it is made up, or left out
        where = ", ".join(servers)
        if server is not None or len(servers) > 1:
            message = f"server {wanted!r} has no tool named {name!r}" if server else f"several servers have {name!r}"
            raise NoToolError(message, f"Name the server of {name} in <server_name>: {where}.", needs_server=True)
        return next(iter(servers.items()))

    def find_plain(self, name: str, server: str | None, default: str) -> tuple[str, ObjectShape] | None:
        """The server and schema of the tool that has this very name, on the server that is named or meant; None if
        there is none, or that takes a repair."""
        servers = self._shapes.get(name)
        if servers is None:
            return None
        if server is None:
            server = default if default in servers else self.only_server or default
        return (server, servers[server]) if server in servers else None

    def _hint(self, name: str) -> str:
        from difflib import get_close_matches  # only here: few calls name no tool

        near = get_close_matches(name[:100], self._shapes, n=3, cutoff=0.5)
        if near:
            return f"There is no tool {name[:100]!r}. Did you mean {' or '.join(near)}?"
        return f"There is no tool {name[:100]!r}. The tools are: {', '.join(list(self._shapes)[:20]) or 'none'}."
