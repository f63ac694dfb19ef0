"""Names of tools, servers and arguments: which of them a call can say, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable

from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.syntax.markup import SPACES, is_valid_name
from xmltools.tools import Tool
from xmltools.tools.schema import Shape

__all__ = ["escape_name", "is_hidden", "is_sayable", "only_server", "refuse_unsayable"]


def is_sayable(name: str) -> bool:
    """Return whether a name is read back as it is: one line, 1 to 256 characters, no `<` and `>`, not trimmed."""
    return bool(name) and is_valid_name(name) and name.strip(SPACES) == name


def is_hidden(name: str, arguments: Shape, dialect: Dialect) -> bool:
    """Return whether only an attribute can say the name of an argument, though an element could bear it.

    An element `arguments` right in `<arguments>` means nothing, unless the tool declares it.
    """
    return name == dialect.arguments and not arguments.has_property(name)


def refuse_unsayable(name: str, what: str) -> None:
    """Raise XMLToolsError for a name that no call can say. `what` has it: "a tool", for instance."""
    if not is_sayable(name):
        raise XMLToolsError(
            f"{name!r:.80} is no name for {what} that a call could say: expected 1 to 256 characters on one line, "
            "without < and >, and no white space around them"
        )


def escape_name(name: str) -> str:
    """Return a name as it is written in an attribute or between tags."""
    return name.replace("&", "&amp;").replace('"', "&quot;") if "&" in name or '"' in name else name


def only_server(tools: Iterable[Tool]) -> str | None:
    """Return the server that a block means which names none: the one of all tools, `local` if there are no tools.

    None if the tools are on several servers: then blocks should name theirs.
    """
    servers = {tool.server for tool in tools} or {FORGE.default_server}
    return servers.pop() if len(servers) == 1 else None
