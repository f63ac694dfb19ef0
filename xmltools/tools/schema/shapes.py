"""Shapes: what a parser, a prompt and a grammar need to know of a schema.

A schema says which values are valid, a *shape* says how a value is written: as a leaf or as elements, and
which. There are few kinds: string, scalar (integer, number, boolean, null), enum, object, array, union, and
whatever is left open. References and `allOf` are gone: a shape is made from all the nodes that apply to a
value together, on demand, so that recursive schemas cost nothing until a value recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from xmltools.errors import XMLToolsError
from xmltools.syntax.element_tree import Element
from xmltools.syntax.markup import SPACES
from xmltools.tools.schema.check import Checker
from xmltools.tools.schema.document import NEVER, PLAIN, Document, Node, json_copy, read_json
from xmltools.tools.schema.equality import Path, Problem, equal, fits_type
from xmltools.tools.schema.item_names import ITEM, singular_of
from xmltools.tools.schema.keywords import CHECKS
from xmltools.tools.schema.nodes import (
    ARRAY_WORDS,
    CHOICES,
    OBJECT_WORDS,
    VALUES,
    AppliedNodes,
    allows,
    common_types,
    common_values,
    key_of,
)
from xmltools.tools.schema.text_to_scalar import CLEAN, UNREAD, UNUSUAL, Read, read_unusual

LEVELS: Final = 8
"""Lists and objects inside each other that are read at once. What nests deeper is read without recursion."""

_SILENT = PLAIN - {"type"} | {"$ref", "allOf"}
"""Keywords that say nothing of a value by themselves."""
_LIMITS = frozenset(
    (
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "pattern", "format"),
        *("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    )
)
"""Keywords that narrow what is valid, and say nothing of how it is read or of what is in it."""
_SIMPLE = _SILENT | _LIMITS | {"type"}
_Limit = tuple[Callable[[Any, Any, Node, Any, Path], Iterable[object]], Any, Node]
"""A check that asks for no more of its context than the document, what its keyword says, and the node of that."""


class Shape:
    """How values of one schema are written. `nodes` are the schemas that such a value must all fit, `parts` are these
    and all that they refer to without condition."""

    __slots__ = ("_limits", "maker", "nodes", "parts")

    words: ClassVar[frozenset[str]] = _SIMPLE
    """The keywords that its readers obey, or that are limits."""
    type = ""
    """The only type of its values, if there is one."""
    has_kind = True
    """Whether it matters for a clean text if its element is marked as text or JSON."""
    exact = False
    """Whether a leaf of this shape may hold anything, so that what follows must confirm its end tag."""
    is_any = False
    """Whether its elements are read without a schema."""
    is_list = False
    is_text = False
    """Whether the text of a leaf is the value as it is."""

    def __init__(self, maker: Maker | None = None, nodes: tuple[Node, ...] = (), parts: Sequence[Node] = ()) -> None:
        self.maker = maker
        self.nodes = nodes
        self.parts = parts
        self._limits: tuple[_Limit, ...] | None = None

    # What is clean is read as it is: it needs no repair, and is valid. For anything else there is more to ask
    # (`elements_to_arguments`), which begins with the same `read_text`.

    def read_text(self, text: str) -> Any:
        """Return the value that the text of a leaf cleanly is, valid or not; UNREAD if only a repair makes one."""
        return UNREAD

    def may_repair(self, text: str) -> bool:
        """Return whether a text that is not clean may still be repaired into what surely is a value of this shape."""
        return False

    def clean(self, element: Element, levels: int) -> Any:
        """Return the value of an element that is clean and valid; UNREAD for all others, and for some that nest deeper
        than so many levels, or have several ways to be read."""
        if element.kind and self.has_kind:
            return UNREAD
        if element.nil:
            return None if self.is_clean(None, levels) else UNREAD
        if not element.children:
            value = self.read_text(element.text)
        else:
            value = self.clean_children(element.children, element.name, levels) if levels else UNREAD
        return value if value is UNREAD or self.is_valid(value) else UNREAD

    def clean_children(self, children: Sequence[Element], name: str, levels: int) -> Any:
        """Return the value of the element `name` with these children; UNREAD if any of them is not clean and valid."""
        return UNREAD

    def is_clean(self, value: Any, levels: int) -> bool:
        """Return the same for a value in JSON: whether it is surely read as it is, and valid."""
        return self.is_valid(value)

    def is_valid(self, value: Any) -> bool:
        """Return whether a value that was cleanly read is valid."""
        limits = self._limits
        if limits is None:
            limits = self._limits = tuple(self._find_limits())
        for check, argument, node in limits:
            for _ in check(self.maker, argument, node, value, ()):
                return False
        return True

    def _find_limits(self) -> Iterator[_Limit]:
        """Yield the checks of what its readers don't obey anyway; those of all nodes if that is hard to tell."""
        said = [part for part in self.parts if not part.keys() <= _SILENT]
        if self._obeys(said):
            for part in said:
                yield from ((CHECKS[word], part[word], part) for word in part if word in _LIMITS)
        else:
            yield from ((_check_all, None, node) for node in self.nodes)

    def _obeys(self, said: list[Node]) -> bool:
        """Return whether all that is cleanly read fits these nodes, if it keeps to their limits."""
        inner = [each for part in said for each in (part.get("items", {}), *part.get("properties", {}).values())]
        return (
            (len(said) < 2 or self.words is _SIMPLE)
            and all(part.keys() <= self.words for part in said)
            and all(allows(part["type"], self.type) for part in said if self.type and "type" in part)
            and not any(NEVER in node for node in inner)
        )

    def opens(self, tag: str, name: str) -> Shape | None:
        """Return the shape to read children with, if `name` begins with `<tag>`; None for a leaf."""
        return None

    def child(self, tag: str) -> Shape:
        """Return the shape of a child element."""
        return ANY

    def knows(self, tag: str, previous: str) -> bool:
        """Return whether `<tag>` may by declaration follow the element `previous` in here."""
        return False

    def has_property(self, name: str) -> bool:
        """Return whether a property is declared by this very name."""
        return False

    def declares(self, name: str) -> bool:
        """Return whether a property is declared: by name, by pattern, or by a schema for all others."""
        return self.has_property(name)

    def wraps(self, name: str) -> bool:
        """Return whether an argument of this name may contain all others, since no schema declares it."""
        return False

    def doubts(self, tag: str, name: str) -> bool:
        """Return whether a node `name` that begins with `<tag>` may turn out to be text."""
        return False

    def forget(self) -> None:
        """Let go of other shapes that can be made anew."""

    @property
    def alternatives(self) -> tuple[Shape, ...]:
        """The shapes that a value may have: this one, unless it is a union."""
        return (self,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def _check_all(maker: Maker, _: None, node: Node, value: Any, path: Path) -> Iterator[Problem]:
    return Checker(maker.document).problems(node, value)


WRAPPERS: Final = ("arguments", "parameters", "properties", "input")
"""Names of an argument that may contain all others."""


class AnyShape(Shape):
    """What the schema leaves open: read without a schema."""

    __slots__ = ()
    exact = True
    is_any = True

    def read_text(self, text: str) -> Any:
        """Return the text, unless it may be JSON."""
        return UNREAD if text.lstrip(SPACES)[:1] in ("{", "[") else text

    def opens(self, tag: str, name: str) -> Shape:
        """Return this shape: any element may have children."""
        return self

    def knows(self, tag: str, previous: str) -> bool:
        """Return True."""
        return True


ANY = AnyShape()
"""The shape of what no schema describes."""


_REGEX: Final = "regex"
"""The format of strings in which white space around the text means something."""


class TextShape(Shape):
    """A string: everything up to the end tag. White space around one line is layout, if the string has a format."""

    __slots__ = ("_has_format",)
    type = "string"
    has_kind = False
    exact = True
    is_text = True

    def __init__(self, maker: Maker, nodes: tuple[Node, ...], parts: Sequence[Node]) -> None:
        super().__init__(maker, nodes, parts)
        self._has_format = any(part.get("format", _REGEX) != _REGEX for part in parts)

    def read_text(self, text: str) -> str:
        """Return the text, without layout."""
        trimmed = text.strip(SPACES) if self._has_format else text
        return text if "\n" in trimmed or "\r" in trimmed else trimmed

    def is_clean(self, value: Any, levels: int) -> bool:
        """Return whether it is a valid string."""
        return isinstance(value, str) and self.is_valid(value)


class ScalarShape(Shape):
    """An integer, a number, a boolean or null: `type` says which."""

    __slots__ = ("_read", "type")
    has_kind = False

    def __init__(self, maker: Maker, nodes: tuple[Node, ...], parts: Sequence[Node], type: str) -> None:
        super().__init__(maker, nodes, parts)
        self.type = type
        self._read = CLEAN[type]

    def read_text(self, text: str) -> Any:
        """Return the scalar."""
        return self._read(text)

    def read_unusual(self, text: str) -> Any:
        """Return the scalar that the text is in any spelling, UNREAD if it is none."""
        return read_unusual(text, self.type)

    def is_clean(self, value: Any, levels: int) -> bool:
        """Return whether it is a valid scalar of this type."""
        is_kept = self.type == "number" or not isinstance(value, float)
        return is_kept and fits_type(value, self.type) and self.is_valid(value)


class EnumShape(Shape):
    """One of the `values`."""

    __slots__ = ("_others", "_words", "has_containers", "values")
    words: ClassVar[frozenset[str]] = _SIMPLE | VALUES

    def __init__(self, maker: Maker, nodes: tuple[Node, ...], parts: Sequence[Node], values: list[Any]) -> None:
        super().__init__(maker, nodes, parts)
        self.values = values
        self._words = {value: value for value in values if isinstance(value, str)}
        self._others = [(value, _kind_of(value)) for value in values if not isinstance(value, (str, list, dict))]
        self.has_containers = any(isinstance(value, (list, dict)) for value in values)

    def read_text(self, text: str) -> Any:
        """Return the value that the text is: exactly, trimmed, or as JSON."""
        found = self._words.get(text)
        if found is None:
            found = self._words.get(text.strip(SPACES))
        return self._other(CLEAN, text) if found is None else found

    def read_unusual(self, text: str) -> Any:
        """Return the value that the text is in other letters or another spelling, UNREAD if it is none."""
        trimmed = text.strip(SPACES)
        folded = trimmed.casefold()
        for word in self._words:
            if word.strip(SPACES).casefold() == folded:
                return word
        return self._other(UNUSUAL, trimmed)  # quotes would make it a string, which an enum may have too

    def _other(self, readers: Mapping[str, Read], text: str) -> Any:
        for value, kind in self._others:
            if equal(readers[kind](text), value):
                return value
        return UNREAD

    def may_repair(self, text: str) -> bool:
        """Return whether any of the values is written as JSON."""
        return self.has_containers

    def is_clean(self, value: Any, levels: int) -> bool:
        """Return whether it is one of the words."""
        return isinstance(value, str) and value in self._words and self.is_valid(value)


def _kind_of(value: Any) -> str:
    return "null" if value is None else "boolean" if isinstance(value, bool) else "number"


class _Container(Shape):
    __slots__ = ("_children", "make")
    exact = True

    def __init__(self, maker: Maker, nodes: tuple[Node, ...], parts: Sequence[Node]) -> None:
        super().__init__(maker, nodes, parts)
        self.make = maker
        self._children: dict[Any, Shape] = {}

    def may_repair(self, text: str) -> bool:
        """Return whether the text may hold JSON, or is valid as a string."""
        return "[" in text or "{" in text or not any("type" in part for part in self.parts)

    def forget(self) -> None:
        """Let go of the shapes of children."""
        self._children.clear()


class ObjectShape(_Container):
    """Properties. `required` are those that its schemas ask for without condition."""

    __slots__ = ("_optional", "_properties", "is_open", "keeper", "required")
    words: ClassVar[frozenset[str]] = _SIMPLE | {"properties", "required", "additionalProperties"}
    type = "object"

    def __init__(self, maker: Maker, nodes: tuple[Node, ...], parts: Sequence[Node]) -> None:
        super().__init__(maker, nodes, parts)
        self.required = tuple(dict.fromkeys([name for part in parts for name in part.get("required", ())]))
        """The names of the properties that must be there."""
        self._optional = maker.conditional_parts(parts)
        self.is_open = not any(map(_declares, (*parts, *self._optional)))
        self.keeper: object = None  # what ends with this shape
        self._properties: dict[str, Shape] | None = None

    def read_text(self, text: str) -> Any:
        """Return the empty object."""
        return UNREAD if text.strip(SPACES) else {}

    def clean_children(self, children: Sequence[Element], name: str, levels: int) -> Any:
        """Return the object whose properties these are."""
        values: dict[str, Any] = {}
        known = self._children
        for element in children:
            name = element.name
            shape = known.get(name) or self._admitted(name)
            value = UNREAD if shape is None else shape.clean(element, levels - 1)
            if value is UNREAD or name in values:
                return UNREAD
            values[name] = value
        return values

    def is_valid(self, value: Any) -> bool:
        """Return whether it has all that it must have, and keeps to the limits."""
        for name in self.required:
            if name not in value:
                return False
        return super().is_valid(value)

    def is_clean(self, value: Any, levels: int = LEVELS) -> bool:
        """Return whether it is a valid object of clean values."""
        if type(value) is not dict or not levels:
            return False
        known = self._children
        for name, each in value.items():
            shape = known.get(name) or self._admitted(name)
            if shape is None or not shape.is_clean(each, levels - 1):
                return False
        return self.is_valid(value)

    def _admitted(self, name: str) -> Shape | None:
        """Return the shape of a property, None if there can be none of this name."""
        if not self.has_property(name) and any(NEVER in part.get("additionalProperties", ()) for part in self.parts):
            return None
        return self.child(name)

    @property
    def properties(self) -> Mapping[str, Shape]:
        """The declared properties in order, with their shapes."""
        found = self._properties
        if found is None:
            if not self.make.document.linked:
                self._make_plain_ones()
            said = (*self.parts, *self._optional)
            found = {name: self.child(name) for part in said for name in part.get("properties", ())}
            self._properties = found
        return found

    @property
    def forms(self) -> Shape:
        """What the arguments of a tool may be: this object or, if its schema has alternatives, the union of the objects
        that they make of it. Prompts and grammars are made of these; a call is read by this shape first."""
        if all(map(CHOICES.isdisjoint, self.parts)):
            return self
        found = self.make.shape(self.nodes)
        objects = [each for each in found.alternatives if isinstance(each, ObjectShape)]
        if len(objects) == len(found.alternatives):
            return found
        return union(objects, self.make, self.nodes) if objects else self

    def _make_plain_ones(self) -> None:
        """Make the shapes of properties that are no more than a type, as most are, without the way by `child`.

        No schema of the document applies to a value by way of another, so that nothing but this object and its name
        leads to such a property: its shape need not be known to the maker.
        """
        if len(self.parts) != 1 or "patternProperties" in self.parts[0]:
            return  # a name and a pattern, or two patterns, are about the same value too
        part = self.parts[0]
        make, children, plain = self.make, self._children, self.make.document.plain
        for name, node in part.get("properties", {}).items():
            types = plain.get(id(node), ())
            if len(types) == 1 and name not in children:
                alone = (node,)
                children[name] = make.typed(types[0], alone, alone)

    def forget(self) -> None:
        """Let go of the shapes of children."""
        super().forget()
        self._properties = None

    def opens(self, tag: str, name: str) -> Shape:
        """Return this shape: children are properties, known or not."""
        return self

    def child(self, tag: str) -> Shape:
        """Return the shape of the property `tag`, ANY if nothing is said about it."""
        shape = self._children.get(tag)
        if shape is not None:
            return shape
        shape = self._find(tag)
        # Names that a model invents are not remembered: there is no end of them.
        if self.has_property(tag):
            self._children[tag] = shape
        return shape

    def _find(self, tag: str) -> Shape:
        if len(self.parts) == 1:
            node = self.parts[0].get("properties", {}).get(tag)
            if node and NEVER not in node and "patternProperties" not in self.parts[0]:
                return self.make.shape((node,))  # what most properties are
        document = self.make.document
        found: list[Node] = []
        for part in self.parts:
            found += _property_nodes(document, part, tag)
        if found:
            return self.make.shape(tuple(found))
        maybe = [each for part in self._optional for each in _property_nodes(document, part, tag)]
        return union([self.make.shape((each,)) for each in maybe], self.make)

    def knows(self, tag: str, previous: str) -> bool:
        """Return whether `tag` is declared, or anything goes."""
        return self.is_open or self.declares(tag)

    def declares(self, name: str) -> bool:
        """Return whether a property is declared: by name, by pattern, or by a schema for all others."""
        if self.has_property(name):
            return True
        document = self.make.document
        return any(
            part.get("additionalProperties", {}).keys() - {NEVER}
            or document.matching(part.get("patternProperties", ()), name)
            for part in (*self.parts, *self._optional)
        )

    def wraps(self, name: str) -> bool:
        """Return whether it is a word for arguments that is not declared."""
        return name in WRAPPERS and not self.declares(name)

    def has_property(self, name: str) -> bool:
        """Return whether any of the schemas declares the property `name`."""
        for part in self.parts:
            if name in part.get("properties", ()):
                return True
        return any(name in part.get("properties", ()) for part in self._optional)


def _declares(part: Node) -> bool:
    """Return whether an object schema says anything of properties."""
    return bool(part.get("properties") or part.get("patternProperties") or part.get("additionalProperties"))


def _property_nodes(document: Document, part: Node, name: str) -> list[Node]:
    """Return the schemas of the property `name` in one object schema; those that say nothing are left out."""
    named = part.get("properties", {})
    found = [named[name]] if name in named else []
    if "patternProperties" in part:
        patterns = part["patternProperties"]
        found += (patterns[each] for each in document.matching(patterns, name))
    if not found and "additionalProperties" in part:
        found.append(part["additionalProperties"])
    return [node for node in found if node and NEVER not in node]


class ArrayShape(_Container):
    """Items."""

    __slots__ = ("_longest",)
    words: ClassVar[frozenset[str]] = _SIMPLE | {"items"}
    type = "array"
    is_list = True

    def __init__(self, maker: Maker, nodes: tuple[Node, ...], parts: Sequence[Node]) -> None:
        super().__init__(maker, nodes, parts)
        self._longest = max((len(part["prefixItems"]) for part in parts if "prefixItems" in part), default=0)

    def read_text(self, text: str) -> Any:
        """Return the empty list."""
        return UNREAD if text.strip(SPACES) else []

    def clean_children(self, children: Sequence[Element], name: str, levels: int) -> Any:
        """Return the list."""
        if self.opens(children[0].name, name) is not self:
            return UNREAD
        items = []
        for number, child in enumerate(children):
            # Where items differ by position, only the parser, which does not know that, says which of them are nodes.
            value = UNREAD if self._longest and child.children else self.item(number).clean(child, levels - 1)
            if value is UNREAD:
                return UNREAD
            items.append(value)
        return items

    def is_clean(self, value: Any, levels: int) -> bool:
        """Return whether it is a valid list of clean items."""
        if type(value) is not list or not levels:
            return False
        for number, each in enumerate(value):
            if not self.item(number).is_clean(each, levels - 1):
                return False
        return self.is_valid(value)

    def item(self, index: int) -> Shape:
        """Return the shape of the item at a position."""
        index = min(index, self._longest)
        found = self._children.get(index)
        if found is None:
            found = self._children[index] = self.make.shape(tuple(_item_nodes(self.parts, index)))
        return found

    @property
    def items(self) -> Shape:
        """The shape of an item whose position is not known."""
        if "items" not in self._children:
            self._children["items"] = union([self.item(index) for index in range(self._longest + 1)], self.make)
        return self._children["items"]

    def opens(self, tag: str, name: str) -> Shape | None:
        """Return this shape; that of an item, if `<tag>` is a property of items."""
        return self if self.holds(tag, name) or not self.items.has_property(tag) else self.items.opens(tag, name)

    def holds_items(self, tag: str, name: str, count: int) -> bool:
        """Return whether an element `name` whose first child is `<tag>` holds items, and is not one itself.

        `count`: how many elements of its name there are. If there are several, and items can be what it is, it is one.
        """
        if count > 1 and (self.items.is_list or (self.items.declares(tag) and not self.holds(tag, name))):
            return False
        return self.opens(tag, name) is self

    def holds(self, tag: str, name: str) -> bool:
        """Return whether `<tag>` is called as an item of a list `name` is."""
        return tag == ITEM or tag in singular_of(name)

    def child(self, tag: str) -> Shape:
        """Return the shape of an item."""
        return self.items

    def knows(self, tag: str, previous: str) -> bool:
        """Return whether `tag` is another item."""
        return tag in (previous, ITEM)


def _item_nodes(parts: Sequence[Node], index: int) -> Iterator[Node]:
    for part in parts:
        prefix = part.get("prefixItems", ())
        node = prefix[index] if index < len(prefix) else part.get("items")
        if node and NEVER not in node:
            yield node


class UnionShape(Shape):
    """One of several shapes, in the order of the schema."""

    __slots__ = ("_alternatives", "exact", "tries")
    words: ClassVar[frozenset[str]] = _SIMPLE - _LIMITS - {"type"} | {"anyOf"}

    def __init__(self, maker: Maker | None, nodes: tuple[Node, ...], alternatives: tuple[Shape, ...]) -> None:
        super().__init__(maker, nodes, maker.parts(nodes) if maker is not None else nodes)
        self._alternatives = alternatives
        self.tries = sorted(alternatives, key=lambda each: each.is_text or each.is_any)
        """The alternatives in the order in which they are tried: what takes any text comes last."""
        self.exact = any(each.exact for each in alternatives)

    def read_text(self, text: str) -> Any:
        """Return the value of the first alternative in which the text is clean and valid."""
        for each in self.tries:
            value = each.read_text(text)
            if value is not UNREAD and each.is_valid(value):
                return value
            if value is UNREAD and each.may_repair(text):
                return UNREAD
        return UNREAD

    def clean_children(self, children: Sequence[Element], name: str, levels: int) -> Any:
        """Return the list or the object."""
        inner = self._only_container
        if inner is None or self.opens(children[0].name, name) is None:
            return UNREAD
        value = inner.clean_children(children, name, levels)
        return value if value is UNREAD or inner.is_valid(value) else UNREAD

    def is_clean(self, value: Any, levels: int) -> bool:
        """Return whether it is clean in any of the alternatives."""
        if isinstance(value, (list, dict)):
            inner = self._only_container
            return inner is not None and inner.is_clean(value, levels) and self.is_valid(value)
        for each in self.tries:
            if each.is_clean(value, levels):
                return self.is_valid(value)
            if isinstance(value, str) and each.may_repair(value):
                return False
        return False

    @property
    def _only_container(self) -> Shape | None:
        """The list or object, if there is one and nothing else can be any."""
        containers = [each for each in self._alternatives if isinstance(each, (_Container, AnyShape, EnumShape))]
        return containers[0] if len(containers) == 1 and isinstance(containers[0], _Container) else None

    def _obeys(self, said: list[Node]) -> bool:
        ways = {id(way) for part in said for way in part.get("anyOf", ())} if super()._obeys(said) else set()
        own = set(map(id, self.nodes))
        asked = [set(map(id, each.nodes)) for each in self._alternatives]
        return all(own <= nodes or not ways.isdisjoint(nodes) for nodes in asked)

    @property
    def alternatives(self) -> tuple[Shape, ...]:
        """The shapes that a value may have."""
        return self._alternatives

    def opens(self, tag: str, name: str) -> Shape | None:
        """Return the container that `<tag>` begins: an array, or all objects that declare it; else None."""
        takers = [each for each in self._alternatives if _takes(each, tag, name)]
        if not takers:
            if any(each.is_text for each in self._alternatives):
                return None
            takers = [each for each in self._alternatives if isinstance(each, (_Container, AnyShape))]
            if not takers:
                return None
        first = takers[0]
        if isinstance(first, ObjectShape):
            return union([each for each in takers if isinstance(each, ObjectShape)])
        if isinstance(first, ArrayShape) and not first.holds(tag, name) and first.items.has_property(tag):
            return union(_owners(takers, tag))
        return first.opens(tag, name)

    def doubts(self, tag: str, name: str) -> bool:
        """Return whether a string may begin with `<tag>`, which is taken for a property whose name is free."""
        if not any(each.is_text for each in self._alternatives) or self.has_property(tag):
            return False
        arrays = (each for each in self._alternatives if isinstance(each, ArrayShape))
        return not any(_takes(each, tag, name) for each in arrays)

    def child(self, tag: str) -> Shape:
        """Return the shapes that the alternatives have for this child."""
        containers = [each for each in self._alternatives if isinstance(each, (_Container, AnyShape))]
        declaring = [each for each in containers if each.has_property(tag)]
        return union([each.child(tag) for each in declaring or containers])

    def knows(self, tag: str, previous: str) -> bool:
        """Return whether any alternative knows it."""
        return any(each.knows(tag, previous) for each in self._alternatives)

    def has_property(self, name: str) -> bool:
        """Return whether any alternative has it."""
        return any(each.has_property(name) for each in self._alternatives)

    def declares(self, name: str) -> bool:
        """Return whether any alternative declares it."""
        return any(each.declares(name) for each in self._alternatives)


def _takes(shape: Shape, tag: str, name: str) -> bool:
    if isinstance(shape, ArrayShape):
        return shape.holds(tag, name) or shape.items.has_property(tag)
    return shape.declares(tag)


def _owners(shapes: Iterable[Shape], tag: str) -> list[Shape]:
    """Return the objects that have the property `tag`: those among the shapes, and those that are items of them."""
    found: list[Shape] = []
    seen: set[int] = set()
    pending = list(shapes)[::-1]
    while pending:
        shape = pending.pop()
        if id(shape) in seen or not (shape.has_property(tag) or isinstance(shape, ArrayShape)):
            continue
        seen.add(id(shape))
        if isinstance(shape, ObjectShape):
            found.append(shape)
        else:
            pending += (shape.items if isinstance(shape, ArrayShape) else shape).alternatives[::-1]
    return found


def union(shapes: Iterable[Shape], maker: Maker | None = None, nodes: tuple[Node, ...] = ()) -> Shape:
    """Return the shape of a value that has one of the shapes; ANY if there is none."""
    flat = {id(each): each for shape in shapes for each in shape.alternatives}
    if len(flat) == 1:
        return next(iter(flat.values()))
    return UnionShape(maker, nodes, tuple(flat.values())) if flat else ANY


class Maker(AppliedNodes):
    """Makes shapes from nodes of one document, each once."""

    __slots__ = ("_shapes",)

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self._shapes: dict[tuple[int, ...], Shape] = {}

    def shape(self, nodes: tuple[Node, ...]) -> Shape:
        """Return the shape of a value that must fit all the nodes."""
        key = key_of(nodes)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._make(nodes)
        return shape

    def forget(self) -> None:
        """Let go of the shapes. Whoever holds one can go on with it: those that it needs are made anew."""
        for shape in tuple(self._shapes.values()):
            shape.forget()
        self._shapes.clear()

    def _make(self, nodes: tuple[Node, ...]) -> Shape:
        types = self.document.plain.get(id(nodes[0])) if len(nodes) == 1 else None
        if types is not None and len(types) == 1:
            return self.typed(types[0], nodes, nodes)  # what most schemas are
        parts = self.parts(nodes)
        if len(parts) == 1 and len(parts[0].get("type", ())) == 1 and parts[0].keys().isdisjoint(VALUES | CHOICES):
            return self.typed(parts[0]["type"][0], nodes, parts)  # what nearly all others are
        types = common_types(parts)
        values = common_values(parts, types)
        if values is not None:
            return EnumShape(self, nodes, parts, values)
        if types is None:
            return self._untyped(nodes, parts)
        if len(types) == 1:
            found = self.union_of_forms(nodes, parts) if types == ["object"] else None
            return found or self.typed(types[0], nodes, parts)
        return union([self._one_of_types(each, nodes, parts) for each in types], self, nodes)

    def _one_of_types(self, type: str, nodes: tuple[Node, ...], parts: Sequence[Node]) -> Shape:
        only: Node = {"type": [type]}
        # Lists and objects ask their parts for what is in them, of which this says nothing.
        if type != "object":
            return self.typed(type, (*nodes, only), parts if type == "array" else [*parts, only])
        return self.union_of_forms((*nodes, only), [*parts, only]) or ObjectShape(self, (*nodes, only), parts)

    def union_of_forms(self, nodes: tuple[Node, ...], parts: Sequence[Node]) -> Shape | None:
        """Return the union of the alternatives that nodes have, each with what stands beside all of them; None if there
        are none, or something else decides what the value is."""
        if not (ways := self.ways(parts)):
            return None
        found = union(map(self.shape, ways), self, nodes)
        if isinstance(found, UnionShape) or not self.looks_around():
            return found
        return UnionShape(self, nodes, (found,))  # which knows that there is more to fit

    def typed(self, type: str, nodes: tuple[Node, ...], parts: Sequence[Node]) -> Shape:
        """Return a shape of one type, made anew."""
        if type == "object":
            return ObjectShape(self, nodes, parts)
        if type == "array":
            return ArrayShape(self, nodes, parts)
        return TextShape(self, nodes, parts) if type == "string" else ScalarShape(self, nodes, parts, type)

    def _untyped(self, nodes: tuple[Node, ...], parts: Sequence[Node]) -> Shape:
        words = {word for part in parts for word in part}
        if found := self.union_of_forms(nodes, parts):
            return found
        if words & OBJECT_WORDS:
            return ObjectShape(self, nodes, parts)
        if words & ARRAY_WORDS:
            return ArrayShape(self, nodes, parts)
        return AnyShape(self, nodes, parts) if words else ANY


class _Keeper:
    """Belongs to the shape of all arguments of a tool, and opens the ring that its maker and other shapes are when that
    is given up: tools come and go with each request of a server, and a search for rings stops all its threads."""

    __slots__ = ("_maker",)

    def __init__(self, maker: Maker) -> None:
        self._maker = maker

    def __del__(self) -> None:
        self._maker.forget()


def compile_schema(parameters: Mapping[str, Any]) -> ObjectShape:
    """Return the shape of a tool's arguments, made from their JSON Schema.

    Raises XMLToolsError for a schema that is invalid, refers to what is not in it, or describes no object.
    The message holds a JSON pointer to the place, and what to do.
    """
    return _compile(json_copy(parameters))


def compile_json(text: str) -> ObjectShape:
    """Return the same for a schema that `json.dumps` wrote as `text`."""
    return _compile(read_json(text))


def _compile(schema: Node) -> ObjectShape:
    document = Document(schema)
    maker = Maker(document)
    parts = maker.parts((document.root,))
    types = common_types(parts) or ["object"]
    if "object" not in types:
        raise XMLToolsError(f"invalid schema at #/type: arguments are an object, not {' or '.join(types)}")
    # What the schema allows beside objects is no value: neither as an example, nor as a form.
    nodes = (document.root,) if common_types(parts) == ["object"] else (document.root, {"type": ["object"]})
    root = ObjectShape(maker, nodes, parts)
    root.keeper = _Keeper(maker)
    return root
