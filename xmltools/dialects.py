"""Dialects: how a protocol spells a call. Strings only; a dialect that needs code shows that the engine lacks
something."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["FORGE", "Dialect", "plain", "spellings"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one protocol. All element names are written without brackets."""

    name: str
    block: str
    """The element that is a call."""
    server_name: str
    tool_name: str
    arguments: str
    argument: str
    """The element for an argument whose name is no XML name; `argument_name` is the attribute that says it."""
    argument_name: str
    name_words: tuple[str, ...]
    arguments_words: tuple[str, ...]
    argument_words: tuple[str, ...]
    """Other words that models write for `tool_name`, for `arguments` and for `argument`."""
    value: str
    """The attribute that says the value of an empty element: `<x value="a"/>`."""
    nil: str
    """The attribute that makes a value null: `<x nil="true"/>`."""
    item: str
    """The element of a list item that no singular names."""
    reasoning: tuple[str, ...]
    """Elements whose content is reasoning, unless the parser is told otherwise."""
    json_tool_name: tuple[str, ...]
    json_server_name: tuple[str, ...]
    json_arguments: tuple[str, ...]
    """Keys of the deprecated JSON body, the preferred one first."""
    default_server: str
    json_other_tool_name: tuple[str, ...] = ()
    json_other_arguments: tuple[str, ...] = ()
    """Keys that models write in place of those of the JSON body."""
    json_wrappers: tuple[str, ...] = ()
    """Keys in which models put the whole body."""

    @property
    def json_names(self) -> tuple[str, ...]:
        """The keys of a JSON body that say a server or a tool."""
        return (*self.json_server_name, *self.json_tool_name, *self.json_other_tool_name)


FORGE = Dialect(
    name="forge",
    block="tool",
    server_name="server_name",
    tool_name="tool_name",
    arguments="arguments",
    argument="argument",
    argument_name="name",
    name_words=("name",),
    arguments_words=("parameters", "args"),
    argument_words=("parameter", "param", "arg"),
    value="value",
    nil="nil",
    item="item",
    reasoning=("think", "thinking"),
    json_tool_name=("tool_name", "name"),
    json_server_name=("server_name", "server"),
    json_arguments=("arguments", "parameters"),
    default_server="local",
    json_other_tool_name=("tool", "function"),
    json_other_arguments=("args", "params", "input"),
    json_wrappers=("function", "tool", "tool_call", "function_call"),
)
"""The Forge protocol: `<tool><tool_name>…</tool_name><arguments>…</arguments></tool>`."""


def plain(name: str) -> str:
    """A name without what models get wrong in it: case, underscores and hyphens."""
    return name.lower().replace("_", "").replace("-", "")


@lru_cache(maxsize=32)
def spellings(dialect: Dialect) -> dict[str, str]:
    """The elements directly in a block, by their `plain` names."""
    return {plain(name): name for name in (dialect.server_name, dialect.tool_name, dialect.arguments)}
