"""The tools of a request of the Responses API: one list, out of all the kinds that clients run.

Functions stay what they are. A custom tool gets one argument, its input. A namespace is a group of tools, such as those
of an MCP server: each gets the name of the group in front of its own, since another group may have the same name. What
has a type instead of a name is called by that: the client's shell, its patches, and a search by which it finds more
tools, which then stand in the input.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xmltools.proxy.bridge.requests.client_tools import openai_client_tool, read_custom_tool
from xmltools.proxy.bridge.requests.incoming import Notes, check_tools, is_deferred, read_tool
from xmltools.proxy.bridge.requests.responses_fields import Object, list_in, refusal, text_in
from xmltools.tools import Tool

SEARCH = "tool_search"
"""The type of a tool that finds tools, and what it is called, since it has no name."""


class Toolbox:
    """The tools of a request, and by which names the client knows them.

    `notes` hears of what is left out; `custom`, `namespaces` and `client_tools` are those of `Incoming`.
    """

    def __init__(self, notes: Notes) -> None:
        self.notes = notes
        self._tools: dict[str, Tool] = {}
        self._groups: dict[str, dict[str, str]] = {}  # names for the model, by namespace and name
        self._left_out: set[str] = set()
        self.custom: set[str] = set()
        self.namespaces: dict[str, tuple[str, str]] = {}
        self.client_tools: dict[str, str] = {}

    @property
    def tools(self) -> list[Tool]:
        """The tools in the order of the request."""
        return list(self._tools.values())

    def read(self, definitions: list[Any]) -> None:
        """Read the tools of a request. Raises Refusal for one that can't be taken, and for two of one name."""
        alone: list[Tool] = []
        for number, each in enumerate(definitions):
            found = list(self._alone(each, f"tools[{number}]"))
            self.notes.deferred.update(tool.name for tool in found if is_deferred(each))
            alone += found
        self._tools = {tool.name: tool for tool in check_tools(alone)}
        for number, each in enumerate(definitions):
            if isinstance(each, dict) and each.get("type") == "namespace":
                self._add_group(each, f"tools[{number}]", anew=True)

    def add(self, definitions: list[Any], at: str) -> list[str]:
        """Read tools that were found later; one that is there already stays. Returns the names of all of them."""
        names: list[str] = []
        for number, each in enumerate(definitions):
            place = f"{at}[{number}]"
            if isinstance(each, dict) and each.get("type") == "namespace":
                names += self._add_group(each, place, anew=False)
                continue
            for tool in self._alone(each, place):
                self._tools.setdefault(tool.name, tool)
                names.append(tool.name)
        self.notes.deferred -= set(names)
        return names

    def name(self, source: Object, at: str = "") -> str:
        """Return the name for the model of what has a name and maybe a namespace. Raises Refusal for none."""
        name, space = text_in(source, "name", at), source.get("namespace")
        if not isinstance(space, str) or not space:
            return name
        return self._groups.get(space, {}).get(name) or _joined(space, name)

    def names(self, source: Any) -> list[str]:
        """Return the names that an entry of the tools that a choice allows is about: all of a namespace, or one."""
        kind = source.get("type") if isinstance(source, dict) else None
        if isinstance(kind, str) and kind in self.client_tools:
            return [kind]
        if not isinstance(source, dict) or not isinstance(source.get("name"), str):
            return []
        if source.get("type") == "namespace":
            return list(self._groups.get(source["name"], {}).values())
        return [self.name(source)]

    def is_left_out(self, source: Any) -> bool:
        """Return whether such an entry is about a tool that was left out."""
        kind = source.get("type") if isinstance(source, dict) else None
        return isinstance(kind, str) and kind in self._left_out

    def _alone(self, definition: Any, at: str) -> Iterable[Tool]:
        """Yield the tool of a definition that is no namespace, if there is one in it."""
        kind = definition.get("type") if isinstance(definition, dict) else None
        own = None if self.notes.strict or not isinstance(kind, str) else _client_tool(definition)
        if own is not None:
            if tool := read_tool(own, at, self.notes):
                self.client_tools[tool.name] = tool.name
                yield tool
        elif kind in ("function", "custom"):
            if tool := self._one(definition, at):
                if kind == "custom":
                    self.custom.add(tool.name)
                yield tool
        elif kind != "namespace":
            why = (
                f"only tools that the client runs are behind this endpoint, such as functions, not {kind!r:.60}; "
                "give a function that does it"
            )
            if not isinstance(kind, str):
                raise refusal(at, why)
            self.notes.leave_out(at, kind, why)
            self._left_out.add(kind)

    def _one(self, definition: Object, at: str) -> Tool | None:
        if definition["type"] == "function":
            return read_tool(definition, at, self.notes)
        return read_custom_tool(definition, at, self.notes)

    def _add_group(self, group: Object, at: str, *, anew: bool) -> list[str]:
        space = text_in(group, "name", f"{at}.")
        about = f"About {space}: {text_in(group, 'description', f'{at}.')}" if group.get("description") else ""
        group_names = self._groups.setdefault(space, {})
        names: list[str] = []
        for number, each in enumerate(list_in(group, "tools", f"{at}.")):
            place = f"{at}.tools[{number}]"
            if not isinstance(each, dict) or each.get("type") not in ("function", "custom"):
                raise refusal(place, "a namespace holds tools of the types function and custom")
            tool = self._one(each, place)
            if tool is None:
                continue
            known = group_names.get(tool.name)
            if known is not None and anew:
                raise refusal(place, f"there are two of the name {tool.name!r:.80} in the namespace {space!r:.80}")
            written = known or self._free(_joined(space, tool.name))
            if known is None:
                # Said once: it may be long.
                renamed = _renamed(tool, written, "" if names else about, place, self.notes)
                if renamed is None:
                    continue
                group_names[tool.name] = written
                self.namespaces[written] = (space, tool.name)
                self._tools[written] = renamed
                if anew and is_deferred(each):
                    self.notes.deferred.add(written)
                if each["type"] == "custom":
                    self.custom.add(written)
            names.append(written)
        return names

    def _free(self, name: str) -> str:
        """Return a name that no tool has."""
        number, free = 1, name
        while free in self._tools:
            number += 1
            free = f"{name}_{number}"
        return free


def _client_tool(definition: dict[str, Any]) -> dict[str, Any] | None:
    """Return the whole definition of a tool that has a type instead of a name, None if the client does not run it."""
    if definition.get("type") == SEARCH:
        return {**definition, "name": SEARCH} if definition.get("execution") == "client" else None
    return openai_client_tool(definition)


def _renamed(tool: Tool, name: str, more: str, at: str, notes: Notes) -> Tool | None:
    """Return the tool by another name, and with more said about it."""
    description = f"{tool.description}\n\n{more}".strip()
    return read_tool({"name": name, "description": description, "parameters": tool.parameters}, at, notes)


def _joined(space: str, name: str) -> str:
    return f"{space}{name}" if space.endswith("__") else f"{space}__{name}"
