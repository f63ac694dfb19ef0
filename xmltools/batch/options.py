"""What a run over many replies is to do with each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from xmltools.errors import XMLToolsError
from xmltools.parser import Limits, Parser
from xmltools.tools import Tool

ADDED = ("text", "reasoning", "calls", "errors", "repairs", "notices")
"""The names of the columns that a run adds, without their prefix."""

TALLIES = (".json", ".csv", ".parquet")
"""How the name of a file of tallies ends."""

_OF_THE_PARSER = (
    "strict",
    "reasoning_tags",
    "starts_in_reasoning",
    "bracket_reasoning",
    "code_fences",
    "limits",
    "dialect",
    "also",
)


class BatchUsageError(XMLToolsError):
    """What is asked for cannot be done: it is found before any row is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """How rows are read. It can be pickled.

    `column` holds the replies, as text; with `messages` it holds chat messages, as a list of objects with a role and a
    content or as the JSON of one, and the texts of the assistant are parsed. `tools` types the arguments of all rows;
    `tools_column` names a column with the tools of each row (definitions as `load_tools` takes them, or their JSON),
    and a row where it is null, missing or empty text has `tools`. `prefix` comes before the names of the columns that
    are added. A line of JSON Lines that holds no object is kept as text under `invalid_line`. The others are options of
    `Parser`.

    Raises `XMLToolsError` for options that make no sense, as `Parser` does.
    """

    column: str = "reply"
    messages: bool = False
    tools: tuple[Tool, ...] | None = None
    tools_column: str | None = None
    prefix: str = ""
    invalid_line: str = "invalid_line"
    strict: bool = False
    reasoning_tags: tuple[str, ...] | None = None
    starts_in_reasoning: bool = False
    bracket_reasoning: bool = False
    code_fences: str = "last"
    limits: Limits | None = None
    dialect: str = "forge"
    also: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("column", "prefix", "invalid_line"):
            if not isinstance(getattr(self, name), str):
                raise XMLToolsError(f"{name}: expected text, got {type(getattr(self, name)).__name__}")
        if not isinstance(self.tools_column, str | None):
            raise XMLToolsError(f"tools_column: expected text or None, got {type(self.tools_column).__name__}")
        for name in ("tools", "reasoning_tags"):
            given = getattr(self, name)
            if isinstance(given, Iterable) and not isinstance(given, str):
                object.__setattr__(self, name, tuple(given))
        Parser(self.tools, **self.parser)

    @property
    def parser(self) -> dict[str, Any]:
        """The options of `Parser` but for the tools."""
        return {name: getattr(self, name) for name in _OF_THE_PARSER}

    @property
    def added(self) -> tuple[str, ...]:
        """The names of the columns that are added, with their prefix."""
        return tuple(self.prefix + name for name in ADDED)

    def check_columns(self, names: Collection[str], where: str = "the table") -> None:
        """Raise `XMLToolsError` unless the columns `where` hold those that are read, and none that is added."""
        self.check_names(names, where)
        for name in (self.column, self.tools_column):
            if name is not None:
                check_column(name, names, where)

    def check_names(self, names: Collection[str], where: str) -> None:
        """Raise `XMLToolsError` if one of the columns `where` has the name of one that is added."""
        for name in self.added:
            if name in names:
                other = f"another prefix than {self.prefix!r:.80}" if self.prefix else "a prefix"
                raise BatchUsageError(
                    f"{where}: there is a column {name!r:.80} already, and the run adds one of this name; give those "
                    f"that it adds {other}: --prefix new_ (prefix='new_')"
                )

    def as_json(self) -> dict[str, Any]:
        """Return the options as values for `json.dumps`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        tools = None if self.tools is None else [tool.model_dump() for tool in self.tools]
        limits = None if self.limits is None else repr(self.limits)
        return values | {"tools": tools, "limits": limits}


def check_column(name: str, names: Collection[str], where: str) -> None:
    """Raise `BatchUsageError`, which names the columns `where` holds, unless `name` is one of them."""
    if name not in names:
        raise BatchUsageError(f"{where}: there is no column {name!r:.80}; {_others(name, names)}")


def _others(name: str, names: Collection[str]) -> str:
    if not names:
        return "there are no columns at all"
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    shown = [f"{each!r:.80}" for each in list(names)[:20]]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    there = f"here are {', '.join(shown)}{more}"
    return f"did you mean {near[0]!r:.80}? T{there}" if near else f"t{there}"
