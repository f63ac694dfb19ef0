"""Plain members: values that are read from their text in one step, without a repair, and fit their schema.

Most schemas of tools are plain: an object with strings, numbers, booleans, words of an enumeration, lists and objects
of these, and perhaps null. What narrows a value further (its size, its length, a pattern) does not change how it is
read: it is checked when it was. What a reader here returns is what `read_arguments` gives for the same text, without a
repair or a problem; for any other text it returns `UNUSUAL`, and that is to be asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

from xmltools.tools.schema.check import Checker
from xmltools.tools.schema.document import PLAIN, Node
from xmltools.tools.schema.shapes import ArrayShape, EnumShape, ObjectShape, ScalarShape, Shape, TextShape, UnionShape
from xmltools.tools.schema.text_to_scalar import WHITE_SPACE, read_enum, read_scalar

_MANY: Final = 10**15
UNUSUAL: Final = object()
"""What a text has no plain meaning for."""

# Keywords of a schema. What is made of one that has no others is known here, or is checked.
_OF_ANY: Final = PLAIN | {"$ref", "allOf"}
_OF_OBJECT: Final = _OF_ANY | {"properties", "required", "additionalProperties"}
_OF_LIST: Final = _OF_ANY | {"items"}
_OF_ENUM: Final = _OF_ANY | {"enum", "const"}
_CHOICES: Final = frozenset(("anyOf", "oneOf"))
_CHECKED: Final = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    )
)
"""These narrow what is valid, and say nothing of how it is read."""
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")
_BOOLEANS: Final = {"true": True, "false": False}
_NULL: Final = type(None)

Read = Callable[[str], Any]
Check = Callable[[Any], bool]


class PlainMember(NamedTuple):
    """How a plain property, or item, is read: `read` takes the text of a leaf, or is None where that is a string. A
    list or an object has plain members `inside` it, by its own `shape`. `types`: those that its value may have in JSON.
    `exact`: it may be a string, whose end must be confirmed by what follows. `fits`: what else the schema asks."""

    read: Read | None
    types: tuple[type, ...]
    inside: PlainMembers | None = None
    shape: ObjectShape | ArrayShape | None = None
    exact: bool = False
    fits: Check | None = None


class PlainMembers:
    """The plain members of an object or a list. `known`: those of an object that were asked for. `steps`: a place for
    what a reader of calls has seen between them. `is_narrow`: not every object or list of such members is valid."""

    __slots__ = ("_fits", "_item", "_required", "is_list", "is_narrow", "known", "steps")

    def __init__(self, shape: ObjectShape | ArrayShape) -> None:
        self.is_list = isinstance(shape, ArrayShape)
        self._required = frozenset(shape.required) if isinstance(shape, ObjectShape) else frozenset()
        self._fits = _check_of(shape)
        self.is_narrow = bool(self._required) or self._fits is not None
        self.known: dict[str, PlainMember | None] = {}
        self.steps: dict[str, tuple[Any, ...]] = {}
        self._item: PlainMember | Literal[False] | None = None

    def hold(self, value: Any) -> bool:
        """Return whether an object has what it must have, and what else its schema asks, or a list."""
        return (not self._required or self._required <= value.keys()) and (self._fits is None or self._fits(value))

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
        words = _OF_OBJECT if isinstance(shape, ObjectShape) else _OF_LIST
        is_plain = _has_only(shape, words | _CHECKED)
        shape.plain = PlainMembers(shape) if is_plain else False
    return shape.plain if isinstance(shape.plain, PlainMembers) else None


def fits_plainly(value: Any, members: PlainMembers, shape: Shape, depth: int = 8) -> bool:
    """Return whether a list or an object from JSON is plainly one of this shape, with these plain members."""
    if isinstance(shape, ArrayShape):
        item = members.item(shape)
        is_list = isinstance(value, list) and item is not None and all(_fits(each, item, depth) for each in value)
        return is_list and members.hold(value)
    if not isinstance(value, dict) or not isinstance(shape, ObjectShape) or not members.hold(value):
        return False
    for key, each in value.items():
        member = members.find(shape, key, "")
        if member is None or not _fits(each, member, depth):
            return False
    return True


def _fits(value: Any, member: PlainMember, depth: int) -> bool:
    kind = type(value)
    if member.inside is not None and member.shape is not None and kind not in member.types:
        return depth > 0 and fits_plainly(value, member.inside, member.shape, depth - 1)
    if kind not in member.types:
        return False
    if kind is str:  # a string that could be another value is none
        is_same = member.exact or (member.read is not None and type(member.read(value)) is str)
    else:
        is_same = (kind is not int and kind is not float) or -_MANY < value < _MANY
    return is_same and (member.fits is None or member.fits(value))


def _has_only(shape: Shape, words: frozenset[str]) -> bool:
    return bool(shape.parts) and all(part.keys() <= words for part in shape.parts)


def _check_of(shape: Shape) -> Check | None:
    """Return what tells whether a value fits the schema; None if what is read in this shape always does."""
    parts = shape.parts
    is_wide = all(_CHECKED.isdisjoint(part) and _is_simple(part) for part in parts)
    return None if is_wide and (len(parts) == 1 or _agree(parts)) else _check(shape)


def _agree(parts: Sequence[Node]) -> bool:
    """Return whether none of several schemas forbids what another one allows."""
    names = {name for part in parts for name in part.get("properties", ())}
    closed = [part.get("properties", {}).keys() for part in parts if "additionalProperties" in part]
    return sum("type" in part for part in parts) < 2 and all(names <= declared for declared in closed)


def _check(shape: Shape) -> Check | None:
    if shape.maker is None:
        return None
    document, nodes = shape.maker.document, shape.nodes

    def fits(value: Any) -> bool:
        checker = Checker(document)
        return all(checker.fits(node, value) for node in nodes)

    return fits


def _is_simple(part: Node) -> bool:
    """Return whether what fits one of the ways that a schema gives fits the schema."""
    ways = part.get("anyOf", ())
    return "oneOf" not in part and all("$ref" not in way and _CHOICES.isdisjoint(way) for way in ways)


def _member_of(shape: Shape) -> PlainMember | None:
    if isinstance(shape, ObjectShape | ArrayShape):
        inside = plain_members(shape)
        return None if inside is None else PlainMember(None, (), inside, shape)
    if isinstance(shape, UnionShape):
        return _member_of_union(shape)
    if isinstance(shape, EnumShape):
        return _member_of_enum(shape)
    if not _has_only(shape, _OF_ANY | _CHECKED):
        return None
    fits = _check_of(shape)
    if isinstance(shape, TextShape):
        return _STRING if fits is None else _STRING._replace(read=_checked(lambda text: text, fits), fits=fits)
    if not isinstance(shape, ScalarShape):
        return None
    read, types = _READERS[shape.type]
    return PlainMember(_checked(read, fits), types, fits=fits)


def _checked(read: Read, fits: Check | None) -> Read:
    """Return what reads a value and checks it."""
    if fits is None:
        return read

    def read_checked(text: str) -> Any:
        value = read(text)
        return value if value is not UNUSUAL and fits(value) else UNUSUAL

    return read_checked


def _member_of_enum(shape: EnumShape) -> PlainMember | None:
    if not _has_only(shape, _OF_ENUM) or any(isinstance(value, list | dict) for value in shape.values):
        return None
    values, fits = shape.values, _check_of(shape)
    if all(isinstance(value, str) for value in values):
        words = {value: value for value in values}
        return PlainMember(_checked(lambda text: words.get(text, UNUSUAL), fits), (str,), fits=fits)

    def read(text: str) -> Any:
        found = read_enum(text, values)
        return found[0] if found is not None and not found[1] else UNUSUAL

    return PlainMember(_checked(read, fits), ())


def _member_of_union(shape: UnionShape) -> PlainMember | None:
    """How a value is read that may have one of several shapes: the first that is meant, and a string if none is."""
    if not shape.nodes or not _has_only(shape, _OF_OBJECT | _OF_LIST | _CHECKED | _CHOICES):
        return None
    members: list[tuple[Shape, PlainMember]] = []
    for each in shape.alternatives:
        member = _member_of(each)
        if member is None:
            return None
        members.append((each, member))
    others = [member for each, member in members if not (isinstance(each, ScalarShape) and each.type == "null")]
    only = others[0] if len(others) == 1 < len(members) else None  # it may be null, or this
    fits = _check_of(shape)
    if any(member.inside is not None for member in others):
        return only._replace(types=(_NULL,)) if only is not None and fits is None else None
    read = _checked(_reader_of_union(members), fits)
    if only is None:
        return PlainMember(read, (), exact=shape.exact)
    if fits is None and only.fits is not None:
        fits = _check(shape)  # JSON is not read, which would have checked it
    return PlainMember(read, (*only.types, _NULL), exact=shape.exact, fits=fits)


def _reader_of_union(members: list[tuple[Shape, PlainMember]]) -> Read:
    ways = [(each, member.read) for each, member in members if member.read is not None and not each.is_text]
    string = next((member for each, member in members if each.is_text), None)

    def read(text: str) -> Any:
        for each, read_plainly in ways:
            value = read_plainly(text)
            if value is not UNUSUAL:
                return value
            if _says(text, each):
                return UNUSUAL
        if string is None:
            return UNUSUAL
        return text if string.read is None else string.read(text)

    return read


def _says(text: str, shape: Shape) -> bool:
    """Return whether text is a scalar of this shape, in any spelling."""
    if isinstance(shape, EnumShape):
        return read_enum(text, shape.values) is not None
    return not isinstance(shape, ScalarShape) or read_scalar(text.strip(WHITE_SPACE), shape.type) is not None


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
    "null": (_read_null, (_NULL,)),
}
_STRING: Final = PlainMember(None, (str,), exact=True)
