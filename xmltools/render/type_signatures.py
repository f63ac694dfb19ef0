"""The types of arguments in the notation of TypeScript, with bounds in brackets after them."""

from __future__ import annotations

from xmltools.render.prompt_sentences import neutral_line
from xmltools.render.type_descriptions import (
    ABSENT,
    constraints,
    fact,
    identity,
    json_text,
    other_properties,
    start_tag,
    type_words,
)
from xmltools.tools.schema import ArrayShape, EnumShape, ObjectShape, Shape, UnionShape, items_of, properties_of

MAX_NESTED = 4
MAX_LISTS = 1_000
"""Lists of one tool of which is said what they hold."""


class TypeWriter:
    """Writes the types of one tool, in the notation of TypeScript, with bounds in brackets after them."""

    def __init__(self) -> None:
        self.told: dict[tuple[int, ...], str] = {}
        self._open: list[ArrayShape] = []
        self._lists = MAX_LISTS

    def members(self, shape: ObjectShape, depth: int) -> list[str]:
        """Return the properties of an object."""
        named = [self.member(each.name, each.shape, each.required, depth) for each in properties_of(shape)]
        return named + [f"[name]: {self.type(name, each, depth)}" for name, each in other_properties(shape)]

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
        if depth >= MAX_NESTED:
            return "object"
        self.told[key] = name
        members = self.members(shape, depth + 1)
        return "{" + ", ".join(members) + "}" if members else "object"
