"""Names of tools, servers and arguments: which of them a call can say, and how they are written."""

from __future__ import annotations

from xmltools._markup import SPACES, is_valid_name
from xmltools.dialects import Dialect
from xmltools.errors import XMLToolsError
from xmltools.schema import Shape

__all__ = ["escape_name", "is_hidden", "is_sayable", "refuse_unsayable"]


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
