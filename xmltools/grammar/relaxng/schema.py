"""A RELAX NG schema of the block that calls a tool: a check of whole blocks by other people's software.

It is made from the same shapes as the grammars, and by none of their code that spells values. So a block that it
refuses, or takes where they don't, shows a mistake of one of them.

It keeps to what libxml2 gets right: elements that only an attribute tells apart never stand in one `interleave`, and
counts are spelled out, item by item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from xmltools.dialects import FORGE
from xmltools.grammar.issues import Report
from xmltools.grammar.relaxng.printing import (
    EMPTY,
    NIL,
    NOT_ALLOWED,
    TEXT,
    Rule,
    any_number,
    attribute,
    choice,
    data,
    define,
    element,
    element_but,
    grammar,
    group,
    interleave,
    is_in_xml,
    optional,
    printed,
    reference,
    value,
)
from xmltools.grammar.relaxng.values import JSON_OBJECT, enum, scalar, text, trimmed
from xmltools.grammar.schema_values import overlap
from xmltools.render.writable import is_hidden, is_sayable
from xmltools.syntax.markup import is_xml_name
from xmltools.tools import Tool
from xmltools.tools.schema import (
    ANY,
    NEVER,
    AnyShape,
    ArrayShape,
    EnumShape,
    Items,
    Node,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
    item_name,
    items_of,
    parts_of,
    properties_of,
)

MAX_DEFINITIONS = 1_000
ANYTHING = "anything"
_SILENT = {"$ref", "$defs", "definitions", "allOf", "title", "description", "default", "examples"}
"""Keywords that say nothing themselves: what they refer to stands beside them."""


def relaxng(tool: Tool, report: Report, only: str | None) -> str:
    """Return the RELAX NG schema (XML syntax) of the block that calls a tool.

    Takes the tool, the report that learns what the schema does not enforce, and the server that a block means which
    names none, if all tools of the reader are on one. The schema takes every block that the
    grammars write, and its fields and arguments in any order. Where the tool allows properties that it does not
    declare it takes those too, repeated or not. What is read only with a repair it refuses, but for JSON in the
    elements of objects that declare no properties; so it does lists without elements for their items, or with elements
    of other names.

    A string with constraints must stand between its tags exactly; line ends count as XML reads them. Lists are counted
    up to 50 items. What is no ASCII may be what `\\d` and `\\w` mean, or not.
    """
    builder = _Builder(report)
    shape = tool.shape
    content = builder.content(shape, _Place(FORGE.arguments, ""))
    fields = (
        _server(tool, report, only),
        element(FORGE.tool_name, _name(tool.name, report)),
        element(FORGE.arguments, content) if shape.required else optional(element(FORGE.arguments, content)),
    )
    note = f"A block that calls the tool {tool.name} of the server {tool.server}."
    return printed(grammar(note, element(FORGE.block, interleave(*fields)), builder.definitions()))


def _identity(shape: ArrayShape | ObjectShape) -> tuple[int, ...]:
    """Return what tells the schemas of a list or an object from others, whichever way they are referred to."""
    return tuple(id(part) for part in shape.parts if not part.keys() <= _SILENT)


def _variant(shape: ArrayShape | ObjectShape, place: _Place) -> str | None:
    """Return what tells apart the contents of one shape in several places: what children are called."""
    if isinstance(shape, ArrayShape):
        return place.item().name
    return place.name if any(place.hides(name, shape) for name in shape.required) else ""


def _server(tool: Tool, report: Report, only: str | None) -> Rule:
    rule = element(FORGE.server_name, _name(tool.server, report))
    return optional(rule) if tool.server in (only, FORGE.default_server) else rule


def _name(name: str, report: Report) -> Rule:
    if is_sayable(name) and is_in_xml(name):
        return trimmed(name)
    report.add("", "name", f"{name[:80]!r} is a name that no block can say; any name is taken")
    return TEXT


class _Place(NamedTuple):
    """A value in the arguments: the name of its element, None where that is not known, and its path in reports."""

    name: str | None
    path: str

    def property(self, name: str | None) -> _Place:
        step = "*" if name is None else name
        return _Place(name, f"{self.path}.{step}" if self.path else step)

    def item(self) -> _Place:
        return _Place(None if self.name is None else item_name(self.name), f"{self.path}[]")

    def hides(self, name: str, shape: ObjectShape) -> bool:
        return not self.path and is_hidden(name, shape, FORGE)

    def element(self, content: Rule) -> Rule:
        return element_but((), content) if self.name is None else element(self.name, content)


class _Builder:
    """Makes the definitions of one schema. Each object and list has one, so that they may hold each other."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._names: dict[tuple[tuple[int, ...], str | None], str] = {}
        self._pending: list[tuple[str, ArrayShape | ObjectShape, _Place]] = []
        self._done: dict[str, Rule] = {}

    def definitions(self) -> list[Rule]:
        """Return the definitions of all that was asked for, and of what that is made of."""
        for own, shape, place in self._pending:  # grows on the way
            rule = self._list(shape, place, own) if isinstance(shape, ArrayShape) else self._object(shape, place, own)
            self._done[own] = rule
        return [define(name, rule) for name, rule in self._done.items()]

    def content(self, shape: Shape, place: _Place) -> Rule:
        """Return what may stand between the tags of an element."""
        if any(NEVER in part for part in parts_of(shape)):
            return NOT_ALLOWED
        if isinstance(shape, UnionShape):
            return self._union(shape, place)
        if isinstance(shape, (ArrayShape, ObjectShape)):
            return self._reference(shape, place)
        if isinstance(shape, TextShape):
            return text(shape, self._report, place.path)
        if isinstance(shape, ScalarShape):
            return scalar(shape, self._report, place.path)
        if isinstance(shape, EnumShape):
            return enum(shape, self._report, place.path)
        self._report.add_others(place.path, shape)
        return self._anything()

    def _anything(self) -> Rule:
        """Return a reference to any content: null, text or elements."""
        any_element = element_but((), optional(attribute(FORGE.argument_name, TEXT)), reference(ANYTHING))
        self._done.setdefault(ANYTHING, choice(NIL, TEXT, any_number(any_element)))
        return reference(ANYTHING)

    # Definitions

    def _reference(self, shape: ArrayShape | ObjectShape, place: _Place) -> Rule:
        key = _identity(shape), _variant(shape, place)
        if key not in self._names:
            if len(self._names) >= MAX_DEFINITIONS:
                self._report.add(place.path, "type", f"more than {MAX_DEFINITIONS:,} objects and lists; it may be any")
                return self._anything()
            self._names[key] = self._reserve(place.path or FORGE.arguments)
            self._pending.append((self._names[key], shape, place))
        return reference(self._names[key])

    def _reserve(self, path: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_.-]+", "_", path.replace("[]", ".item")).strip("_.")
        base = base if base[:1].isalpha() else f"_{base}"
        name, number = base, 1
        while name in self._done or name == ANYTHING:
            number += 1
            name = f"{base}-{number}"
        self._done[name] = EMPTY  # keeps its place
        return name

    def _define(self, path: str, rule: Rule) -> Rule:
        name = self._reserve(path)
        self._done[name] = rule
        return reference(name)

    # Unions

    def _union(self, shape: UnionShape, place: _Place) -> Rule:
        self._report.add_others(place.path, shape)
        parts = parts_of(shape)
        said = [word for part in parts for word in ("anyOf", "oneOf") if word in part]
        if not any("type" in part for part in parts):
            for word in said[1:]:  # the shape's alternatives are those of the first
                self._report.add(place.path, word, "is not enforced beside another one")
        if overlap(shape):
            self._report.add(place.path, "oneOf", "a value may fit several of the alternatives")
        if are_entangled(shape):
            self._report.add(
                place.path, (*said, "anyOf")[0], "its alternatives hold each other and look alike: it may be anything"
            )
            return self._anything()
        return choice(*(self.content(each, place) for each in shape.alternatives))

    # Lists and objects

    def _list(self, shape: ArrayShape, place: _Place, own: str) -> Rule:
        self._report.add_others(place.path, shape, ("items", "prefixItems", "minItems", "maxItems"))
        items = countable(shape, self._report, place.path)
        if items.high is not None and items.low > items.high:
            return NOT_ALLOWED
        each = place.item()
        first = [each.element(self.content(item, each)) for item in items.first]
        if items.rest is None:
            return in_order(first, EMPTY, items.low)
        count = max(items.low, len(first)) if items.high is None else items.high
        rest = each.element(self.content(items.rest, each))
        if count - len(first) + (items.high is None) > 1:
            rest = self._define(f"{own}.{each.name or 'any'}", rest)
        first += [rest] * (count - len(first))
        return in_order(first, any_number(rest) if items.high is None else EMPTY, items.low)

    def _object(self, shape: ObjectShape, place: _Place, own: str) -> Rule:
        known = {"properties", "additionalProperties", "required"}
        known |= {"unevaluatedProperties"} if closes_unevaluated(shape) else set()
        self._report.add_others(place.path, shape, known)
        fields = self._fields(shape, place)
        if any(field.required and field.rule == NOT_ALLOWED for field in fields.values()):
            return NOT_ALLOWED
        other = None if is_closed(shape) else self._other(shape, place)
        rule = arranged(fields, self._anything() if unnamed(fields) else other, self._arguments(fields, other, own))
        if fields or not other:
            return rule
        self._report.add(place.path, "type", "what is written as JSON is only known to be an object")
        return choice(JSON_OBJECT, rule)

    def _fields(self, shape: ObjectShape, place: _Place) -> dict[str, Member]:
        """Return the content of each declared property that a block can say."""
        required = dict.fromkeys(shape.required)
        names = dict.fromkeys([*shape.properties, *required])
        fields: dict[str, Member] = {}
        # What tells alternatives apart comes first: libxml2 looks no further at one that is not meant.
        for each in sorted((Property(name, shape.child(name), name in required) for name in names), key=weight):
            its = place.property(each.name)
            if not (is_sayable(each.name) and is_in_xml(each.name)):
                self._report.add(its.path, "properties", "a block cannot say this name")
                continue
            content = NOT_ALLOWED if is_forbidden(shape, each.name) else self.content(each.shape, its)
            fields[each.name] = Member(content, each.required, place.hides(each.name, shape))
        for name in unnamed(fields):
            self._report.add(place.property(name).path, "properties", "libxml2 takes no such name: any other will do")
        for name in too_many(fields):
            self._report.add(place.property(name).path, "properties", "too many names: it may be missing or repeated")
        return fields

    def _arguments(self, fields: dict[str, Member], other: Rule | None, own: str) -> Rule:
        """Return the elements `argument` of an object."""
        members = arguments(fields)
        others = other_argument(fields, other) if other else None
        if len(members) > 1:
            members = [Member(self._define(f"{own}.argument", each.rule), each.required) for each in members]
        if others and members:
            others = self._define(f"{own}.argument", others)
        return in_any_order(members, any_number(others) if others else EMPTY)

    def _other(self, shape: ObjectShape, place: _Place) -> Rule:
        """Return the content of properties that are not declared."""
        if any("patternProperties" in part for part in shape.parts):
            return self._anything()
        return self.content(shape.child(UNDECLARED), place.property(None))


# How many items a list holds, as far as they are counted: RELAX NG has no counts, and spells them out


MAX_ITEMS = 50
"""Items of a list that are counted."""


def countable(shape: ArrayShape, report: Report, path: str) -> Items:
    """Return what a list holds, with bounds of at most MAX_ITEMS. What is beyond them is reported."""
    items = _possible(shape)
    counts = {"prefixItems": len(items.first), "minItems": items.low, "maxItems": items.high or 0}
    for word in (word for word, count in counts.items() if count > MAX_ITEMS):
        report.add(path, word, f"no more than {MAX_ITEMS} items are counted")
    low, high = min(items.low, MAX_ITEMS), items.high
    if len(items.first) > MAX_ITEMS:
        return Items(items.first[:MAX_ITEMS], ANY, low, None)
    if high is not None and high > MAX_ITEMS:
        return Items(items.first, items.rest, low, None)
    return Items(items.first, items.rest, items.low if high is not None else low, high)


def _possible(shape: ArrayShape) -> Items:
    """Return what a list holds: nothing from the first item on that no value fits."""
    items = items_of(shape)
    ends = [
        at
        for part in shape.parts
        for at, node in enumerate(part.get("prefixItems", ())[: len(items.first)])
        if NEVER in node
    ]
    return Items(items.first[: min(ends)], None, items.low, min(ends)) if ends else items


def in_order(items: Sequence[Rule], tail: Rule, low: int) -> Rule:
    """Return items one after the other, and the tail after all of them; `low` of them must be there."""
    for at in reversed(range(len(items))):
        tail = group(items[at], tail) if at < low else optional(group(items[at], tail))
    return tail


# Alternatives that libxml2 must not be asked to tell apart. It tries one after the other, with all that is in them.
# Where they hold each other, under the same names and without a label that says which one is meant, that doubles the
# work at each level.


MAX_SHAPES = 2_000
"""Shapes that are looked at, to see whether alternatives hold each other."""


def weight(of: Property) -> int:
    """Return how late a property should be looked at: labels first, what holds other values last."""
    if of.required and isinstance(of.shape, EnumShape):
        return 0
    return 2 if any(isinstance(each, (ArrayShape, ObjectShape, AnyShape)) for each in of.shape.alternatives) else 1


def are_entangled(shape: UnionShape) -> bool:
    """Return whether trying the alternatives of a union one after the other may take forever."""
    return any(_entangled(one, other) for one, other in combinations(shape.alternatives, 2))


def _entangled(one: Shape, other: Shape) -> bool:
    goals = {id(one), id(other)}
    if isinstance(one, ArrayShape) and isinstance(other, ArrayShape):
        return any(_reaches(each, goals) for each in _inner(one)) and any(
            _reaches(each, goals) for each in _inner(other)
        )
    if not isinstance(one, ObjectShape) or not isinstance(other, ObjectShape):
        return False
    left = {each.name: each for each in properties_of(one)}
    right = {each.name: each for each in properties_of(other)}
    shared = [name for name in left if name in right]
    if any(_differ(left[name], right[name]) for name in shared):
        return False
    return any(_reaches(left[name].shape, goals) and _reaches(right[name].shape, goals) for name in shared)


def _differ(one: Property, other: Property) -> bool:
    """Return whether two properties are labels that no value fits both."""
    return (
        weight(one) == weight(other) == 0
        and isinstance(one.shape, EnumShape)
        and isinstance(other.shape, EnumShape)
        and not any(value in other.shape.values for value in one.shape.values)
    )


def _reaches(shape: Shape, goals: set[int]) -> bool:
    """Return whether a value of the shape may hold one of the goals, or too much to say."""
    seen = {id(shape): shape}
    pending = [shape]
    while pending and len(seen) < MAX_SHAPES:
        each = pending.pop()
        if id(each) in goals:
            return True
        new = [inner for inner in _inner(each) if id(inner) not in seen]
        seen |= {id(inner): inner for inner in new}
        pending += new
    return bool(pending)


def _inner(shape: Shape) -> Iterator[Shape]:
    if isinstance(shape, UnionShape):
        yield from shape.alternatives
    elif isinstance(shape, ObjectShape):
        yield from (each.shape for each in properties_of(shape))
    elif isinstance(shape, ArrayShape):
        items = items_of(shape)
        yield from items.first
        yield from () if items.rest is None else (items.rest,)


# What objects allow besides what their shapes say: which names are open, closed or forbidden, and in what order


MAX_ORDERED = 4
"""Arguments that only an attribute tells apart, and that are written out in all their orders."""
UNDECLARED = "\0"
"""A name that no schema declares and no block can say."""

# XML 1.0 has more, since its fifth edition. To RELAX NG in libxml2 a name is what the fourth took for one, and these
# are scripts that it knew: Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Thai, kana, ideographs and Hangul.
_LETTER = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0131\u0391-\u03a1\u03a3-\u03ce\u0410-\u044f\u05d0-\u05ea"
    "\u0621-\u063a\u0641-\u064a\u0905-\u0939\u0e01-\u0e2e\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
)
_KNOWN_NAME = re.compile(f"[{_LETTER}][-.0-9\u00b7\u0300-\u0345{_LETTER}]*")


class Member(NamedTuple):
    """An element, or what stands in it, among others that stand in any order.

    `hidden`: its name is said in an attribute, though an element could bear it.
    """

    rule: Rule
    required: bool
    hidden: bool = False


def unnamed(names: Iterable[str]) -> list[str]:
    """Return those of the names that elements have, but that the schema cannot name."""
    return [name for name in names if is_xml_name(name) and not _KNOWN_NAME.fullmatch(name)]


def too_many(fields: Mapping[str, Member]) -> list[str]:
    """Return the names that only attributes say, if they are too many to be written out in all their orders."""
    found = _argument_names(fields)
    return found if len(found) > MAX_ORDERED else []


def is_closed(shape: ObjectShape) -> bool:
    """Return whether an object may have no other properties than those that are declared."""
    return any(_closes(part, "additionalProperties") for part in shape.parts) or closes_unevaluated(shape)


def _closes(part: Node, word: str) -> bool:
    return NEVER in part.get(word, ()) and "patternProperties" not in part


def closes_unevaluated(shape: ObjectShape) -> bool:
    """Return whether `unevaluatedProperties` closes an object, and all that it evaluates is known without condition."""
    maker = shape.make
    if maker.conditional_parts(shape.parts) or any(_opens(part) for part in shape.parts):
        return False
    closing = [part for part in shape.parts if "unevaluatedProperties" in part]
    return bool(closing) and all(
        NEVER in part["unevaluatedProperties"] and len(maker.parts((part,))) == len(shape.parts) for part in closing
    )


def _opens(part: Node) -> bool:
    return "additionalProperties" in part or "patternProperties" in part


def is_forbidden(shape: ObjectShape, name: str) -> bool:
    """Return whether one of the schemas of an object allows no property of a name that another one declares."""
    return any(
        NEVER in part.get("properties", {}).get(name, ())
        or (_closes(part, "additionalProperties") and name not in part.get("properties", {}))
        for part in shape.parts
    )


def arranged(fields: Mapping[str, Member], other: Rule | None, arguments: Rule) -> Rule:
    """Return the properties of an object in any order.

    Takes the content of each by its name, that of elements of other names (None: there are none), and the elements
    `argument` among each other.
    """
    tags = [name for name in fields if name not in _argument_names(fields) and _KNOWN_NAME.fullmatch(name)]
    named = [_as_often(element(name, fields[name].rule), fields[name].required) for name in tags]
    others = [any_number(element_but((*tags, FORGE.argument), other))] if other else []
    return interleave(*named, *others, arguments)


def _as_often(rule: Rule, required: bool) -> Rule:
    if required:
        return rule
    return EMPTY if rule.children[-1] == NOT_ALLOWED else optional(rule)


def arguments(fields: Mapping[str, Member]) -> list[Member]:
    """Return the properties that stand in elements `argument`: those whose names are no XML names, and that name."""
    members = [Member(_argument(name, fields[name].rule), fields[name].required) for name in _argument_names(fields)]
    return [each for each in members if each.required or each.rule.children[-1] != NOT_ALLOWED]


def _argument_names(fields: Mapping[str, Member]) -> list[str]:
    """The names of properties that stand in elements `argument`."""
    return [name for name, field in fields.items() if name == FORGE.argument or field.hidden or not is_xml_name(name)]


def _argument(name: str, content: Rule) -> Rule:
    if name == FORGE.argument:
        return element(name, content)
    return element(FORGE.argument, attribute(FORGE.argument_name, value(name, "string")), content)


def other_argument(names: Iterable[str], content: Rule) -> Rule:
    """Return an element `argument` that has none of the names."""
    name = data("token", but=(name for name in names if name != FORGE.argument))
    return element(FORGE.argument, attribute(FORGE.argument_name, name), content)


def in_any_order(members: Sequence[Member], others: Rule) -> Rule:
    """Return the members in any order, each at most once, with `others` everywhere between them.

    `interleave` cannot tell apart what only an attribute does, so the orders are written out, if they aren't too many.
    """
    if len(members) > MAX_ORDERED:
        return any_number(choice(*(member.rule for member in members), *others.children))
    ways = [
        group(others, member.rule, in_any_order([*members[:at], *members[at + 1 :]], others))
        for at, member in enumerate(members)
    ]
    return choice(*ways) if any(member.required for member in members) else choice(others, *ways)
