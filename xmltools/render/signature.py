"""A tool on one line: for prompts with many tools."""

from __future__ import annotations

from functools import lru_cache

from xmltools.dialects import FORGE
from xmltools.render.types import (
    ABSENT,
    constraints,
    fact,
    identity,
    json_text,
    other_properties,
    start_tag,
    type_words,
)
from xmltools.render.wording import Wording, fill, neutral_line
from xmltools.tools.schema import ArrayShape, EnumShape, ObjectShape, Shape, UnionShape, items_of

__all__ = ["signature"]

MAX_DEPTH = 4
MAX_LISTS = 1_000
"""Lists of one tool of which is said what they hold."""
MAX_DESCRIPTION = 200
"""Characters of a tool's description; the rest of it is for the full style."""


@lru_cache(maxsize=1024)
def signature(name: str, server: str | None, description: str, shape: ObjectShape, wording: Wording) -> str:
    """Return `- name(argument: type, optional?: type = default): description`, the description cut to one line.

    A server that is None is not told, nor is the default one.
    """
    where = ""
    if server is not None and server != FORGE.default_server:
        where = f" ({fill(wording.server, FORGE, server=server)})"
    arguments = ", ".join(_Writer().members(shape, 0))
    description = neutral_line(description)
    if len(description) > MAX_DESCRIPTION:
        description = description[: MAX_DESCRIPTION - 3].rstrip() + "..."
    return f"- {name}({arguments}){where}" + (f": {description}" if description else "")


class _Writer:
    """Writes the types of one tool, in the notation of TypeScript, with bounds in brackets after them."""

    __slots__ = ("_lists", "_open", "told")

    def __init__(self) -> None:
        self.told: dict[int, str] = {}
        self._open: list[ArrayShape] = []
        self._lists = MAX_LISTS

    def members(self, shape: ObjectShape, depth: int) -> list[str]:
        """Return the properties of an object."""
        required = set(shape.required)
        return [self.member(name, each, name in required, depth) for name, each in shape.properties.items()]

    def member(self, name: str, shape: Shape, required: bool, depth: int) -> str:
        """Return one property."""
        label = name if start_tag(name) == name else json_text(name)
        words = f"{label}{'' if required else '?'}: {self.type(name, shape, depth)}"
        default = ABSENT if required else fact(shape, "default")
        return words if default is ABSENT else f"{words} = {json_text(default)}"

    def type(self, name: str, shape: Shape, depth: int) -> str:
        """Return the type of the property `name`."""
        if isinstance(shape, UnionShape):
            return " | ".join(dict.fromkeys(self.type(name, each, depth) for each in shape.alternatives))
        if isinstance(shape, EnumShape):
            return " | ".join(map(json_text, shape.values))
        if isinstance(shape, ArrayShape):
            words = self.array(name, shape, depth)
        elif isinstance(shape, ObjectShape):
            words = self.record(name, shape, depth)
        else:
            words = type_words(shape)
        bounds = constraints(shape)
        return f"{words} ({', '.join(bounds)})" if bounds else words

    def array(self, name: str, shape: ArrayShape, depth: int) -> str:
        """Return the type of a list; a word if it holds itself, or if there are too many."""
        self._lists -= 1
        if shape in self._open or self._lists < 0:
            return "list"
        self._open.append(shape)
        words = self.items(name, shape, depth)
        self._open.pop()
        return words

    def items(self, name: str, shape: ArrayShape, depth: int) -> str:
        """Return the type of a list by that of its items."""
        items = items_of(shape)
        words = [self.type(name, each, depth) for each in items.first]
        if items.rest is None:
            return f"[{', '.join(words)}]"
        inner = self.type(name, items.rest, depth)
        inner = f"({inner})[]" if " | " in inner else f"{inner}[]"
        return f"[{', '.join(words)}, ...{inner}]" if words else inner

    def record(self, name: str, shape: ObjectShape, depth: int) -> str:
        """Return the type of an object: its properties, once; a word where they were told, or lead too deep."""
        key = identity(shape)
        if key in self.told:
            return f"like {neutral_line(self.told[key])}"
        if depth >= MAX_DEPTH:
            return "object"
        self.told[key] = name
        members = self.members(shape, depth + 1)
        members += [f"[name]: {self.type(name, each, depth + 1)}" for _, each in other_properties(shape)]
        return "{" + ", ".join(members) + "}" if members else "object"
