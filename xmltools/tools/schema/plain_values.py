"""Plain members: values that are read from their text in one step, and fit their schema by that alone.

Most schemas of tools are plain: an object with strings, numbers, booleans, words of an enumeration, lists and objects
of these, and nothing that narrows them further. What a reader here returns is what `read_arguments` gives for the same
text, without a repair or a problem; for any other text it returns `UNUSUAL`, and that is to be asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from xmltools.tools.schema.shapes import ArrayShape, EnumShape, ObjectShape, ScalarShape, Shape, TextShape
from xmltools.tools.schema.text_to_scalar import WHITE_SPACE

_MANY: Final = 10**15
UNUSUAL: Final = object()
"""What a text has no plain meaning for."""

_SAYS_NOTHING: Final = frozenset(("type", "description", "title", "default", "examples", "$defs", "definitions"))
_OF_ENUM: Final = _SAYS_NOTHING | {"enum", "$ref"}
_OF_OBJECT: Final = _SAYS_NOTHING | {"properties", "required", "additionalProperties", "$ref"}
_OF_LIST: Final = _SAYS_NOTHING | {"items", "$ref"}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")
_BOOLEANS: Final = {"true": True, "false": False}

Read = Callable[[str], Any]


class PlainMember(NamedTuple):
    """How a plain property, or item, is read: `read` takes the text of a leaf, or is None where that is a string. A
    list or an object has plain members `inside` it, by its own `shape`. `types`: those that its value may have."""

    read: Read | None
    types: tuple[type, ...]
    inside: PlainMembers | None = None
    shape: ObjectShape | ArrayShape | None = None


class PlainMembers:
    """The plain members of an object or a list. `required`: the names of those that must be there. `known`: those of an
    object that were asked for. `steps`: a place for what a reader of calls has seen between them."""

    __slots__ = ("_item", "is_list", "known", "required", "steps")

    def __init__(self, shape: ObjectShape | ArrayShape) -> None:
        self.is_list = isinstance(shape, ArrayShape)
        self.required = frozenset(shape.required) if isinstance(shape, ObjectShape) else frozenset()
        self.known: dict[str, PlainMember | None] = {}
        self.steps: dict[str, tuple[Any, ...]] = {}
        self._item: PlainMember | Literal[False] | None = None

    def item(self, shape: ArrayShape) -> PlainMember | None:
        """Return how the items of a list of this shape are read; None if that is not plain."""
        if self._item is None:
            self._item = _member_of(shape.item(0)) or False
        return self._item or None

    def find(self, shape: ObjectShape | ArrayShape, tag: str, name: str) -> PlainMember | None:
        """Return how the element `tag` is read in a value of this shape, whose own element is `name`; None if that is
        not plain."""
        if tag in self.known:
            return self.known[tag]
        if isinstance(shape, ArrayShape):
            found = self.item(shape) if shape.holds(tag, name) else None
            return None if found is not None and isinstance(found.shape, ArrayShape) else found
        if not shape.has_property(tag):
            return None  # names that a model invents are not remembered
        found = self.known[tag] = _member_of(shape.child(tag))
        return found


def plain_members(shape: Shape) -> PlainMembers | None:
    """Return the plain members of an object or a list; None if the schema asks more of it as a whole."""
    if not isinstance(shape, ObjectShape | ArrayShape):
        return None
    if shape.plain is None:
        is_plain = _has_only(shape, _OF_OBJECT if isinstance(shape, ObjectShape) else _OF_LIST)
        shape.plain = PlainMembers(shape) if is_plain else False
    return shape.plain if isinstance(shape.plain, PlainMembers) else None


def fits_plainly(value: Any, members: PlainMembers, shape: Shape, depth: int = 8) -> bool:
    """Return whether a list or an object from JSON is plainly one of this shape, with these plain members."""
    if isinstance(shape, ArrayShape):
        item = members.item(shape)
        return isinstance(value, list) and item is not None and all(_fits(each, item, depth) for each in value)
    if not isinstance(value, dict) or not isinstance(shape, ObjectShape) or not members.required <= value.keys():
        return False
    for key, each in value.items():
        member = members.find(shape, key, "")
        if member is None or not _fits(each, member, depth):
            return False
    return True


def _fits(value: Any, member: PlainMember, depth: int) -> bool:
    if member.inside is not None and member.shape is not None:
        return depth > 0 and fits_plainly(value, member.inside, member.shape, depth - 1)
    kind = type(value)
    if kind not in member.types:
        return False
    if kind is str:
        return member.read is None or member.read(value) is not UNUSUAL
    return (kind is not int and kind is not float) or -_MANY < value < _MANY


def _has_only(shape: Shape, words: frozenset[str]) -> bool:
    return bool(shape.parts) and all(part.keys() <= words for part in shape.parts)


def _member_of(shape: Shape) -> PlainMember | None:
    if isinstance(shape, ObjectShape | ArrayShape):
        inside = plain_members(shape)
        return None if inside is None else PlainMember(None, (), inside, shape)
    if isinstance(shape, EnumShape):
        if not _has_only(shape, _OF_ENUM) or not all(isinstance(value, str) for value in shape.values):
            return None
        words = {value: value for value in shape.values}
        return PlainMember(lambda text: words.get(text, UNUSUAL), (str,))
    if not _has_only(shape, _SAYS_NOTHING):
        return None
    if isinstance(shape, TextShape):
        return _STRING
    return PlainMember(*_READERS[shape.type]) if isinstance(shape, ScalarShape) else None


def _read_integer(text: str) -> Any:
    text = text.strip(WHITE_SPACE)
    return int(text) if _INTEGER.fullmatch(text) else UNUSUAL


def _read_number(text: str) -> Any:
    text = text.strip(WHITE_SPACE)
    found = _NUMBER.fullmatch(text)
    if found is None:
        return UNUSUAL
    return float(text) if found[1] else int(text)


def _read_boolean(text: str) -> Any:
    return _BOOLEANS.get(text.strip(WHITE_SPACE), UNUSUAL)


def _read_null(text: str) -> Any:
    return None if text.strip(WHITE_SPACE) == "null" else UNUSUAL


_READERS: Final[dict[str, tuple[Read, tuple[type, ...]]]] = {
    "integer": (_read_integer, (int,)),
    "number": (_read_number, (int, float)),
    "boolean": (_read_boolean, (bool,)),
    "null": (_read_null, (type(None),)),
}
_STRING: Final = PlainMember(None, (str,))
