"""A RELAX NG schema of the block that calls a tool: a check of whole blocks by other people's software.

It is made from the same shapes as the grammars, and by none of their code that spells values. So a block that it
refuses, or takes where they don't, shows a mistake of one of them.

It keeps to what libxml2 gets right: elements that only an attribute tells apart never stand in one `interleave`, and
counts are spelled out, item by item.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from xmltools.dialects import FORGE
from xmltools.grammar.issues import Report
from xmltools.grammar.relaxng.alternatives import are_entangled, weight
from xmltools.grammar.relaxng.lists import countable, in_order
from xmltools.grammar.relaxng.objects import (
    UNDECLARED,
    Member,
    arguments,
    arranged,
    closes_unevaluated,
    in_any_order,
    is_closed,
    is_forbidden,
    other_argument,
    too_many,
    unnamed,
)
from xmltools.grammar.relaxng.printing import (
    EMPTY,
    NIL,
    NOT_ALLOWED,
    TEXT,
    Rule,
    any_number,
    attribute,
    choice,
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
)
from xmltools.grammar.relaxng.values import JSON_OBJECT, enum, scalar, text, trimmed
from xmltools.grammar.schema_values import overlap, valid_values
from xmltools.render.writable import is_hidden, is_sayable
from xmltools.tools import Tool
from xmltools.tools.schema import (
    NEVER,
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    TextShape,
    UnionShape,
    item_name,
    needs_arguments,
)

MAX_DEFINITIONS = 1_000
ANYTHING = "anything"
_ANY_ELEMENT = element_but((), optional(attribute(FORGE.argument_name, TEXT)), reference(ANYTHING))
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
    content = builder.content(shape.forms, _Place(FORGE.arguments, ""))
    fields = (
        _server(tool, report, only),
        element(FORGE.tool_name, _name(tool.name, report)),
        element(FORGE.arguments, content) if needs_arguments(shape) else optional(element(FORGE.arguments, content)),
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
        if any(NEVER in part for part in shape.parts):
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
            rule = enum(shape, self._report, place.path)
            # A list or an object is written as JSON, or as elements where it is inside another value.
            has_nodes = any(isinstance(each, (list, dict)) and each for each in valid_values(shape))
            return choice(rule, self._elements()) if has_nodes else rule
        self._report.add_others(place.path, shape)
        return self._anything()

    def _anything(self) -> Rule:
        """Return a reference to any content: null, text or elements."""
        self._done.setdefault(ANYTHING, choice(NIL, TEXT, any_number(_ANY_ELEMENT)))
        return reference(ANYTHING)

    def _elements(self) -> Rule:
        """Return one element or more, with any content."""
        self._anything()
        return group(_ANY_ELEMENT, any_number(_ANY_ELEMENT))

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
        said = [word for part in shape.parts for word in ("anyOf", "oneOf") if word in part]
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
