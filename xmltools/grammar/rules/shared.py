"""The rules of a grammar while they are made: each is begun before what it refers to, and none is too deep."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile

from xmltools.grammar.issues import Report
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.regular.numbers import integers, numbers
from xmltools.grammar.regular.regular import EMPTY, Regular, Repeat, Sequence, choice, literal, optional
from xmltools.grammar.rules.strings import SPACE
from xmltools.grammar.schema_values import HasValues, overlap
from xmltools.grammar.text_tree import Grammar, Lexeme, Literal, Node, Reference, series
from xmltools.tools import Tool
from xmltools.tools.schema import (
    ArrayShape,
    Items,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    UnionShape,
    bounds_of,
    items_of,
    properties_of,
)

NUMBER_WORDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
TEXT_WORDS = frozenset(("minLength", "maxLength", "pattern", "format"))
ARRAY_WORDS = frozenset(("items", "prefixItems", "minItems", "maxItems"))
OBJECT_WORDS = frozenset(("properties", "required", "additionalProperties", "minProperties", "maxProperties"))
_MAX_DEPTH = 16
"""Rules that are made inside each other; those below are made later, so that deep schemas don't fill the stack."""


class Rules:
    """The grammar, and what all share who make rules for it. `report` is about the tool whose rules are being made."""

    def __init__(self, options: Options, backend: Backend) -> None:
        self.grammar = Grammar(Sequence(()))
        self.backend = backend
        self.options = options
        self.spaces: Regular = EMPTY if options.white_space == 0 else Repeat(SPACE, 0, options.white_space)
        self.ws: Node = Literal("") if options.white_space == 0 else Lexeme("ws", self.spaces)
        self.has_values = HasValues()
        self.report = Report("")
        self._depth = 0
        self._later: list[tuple[str, Callable[[], Node]]] = []
        self._lexemes: dict[Regular, str] = {}
        self._hints: dict[str, int] = {}
        self._json_rules = 0

    def fill(self, own: str, make: Callable[[], Node]) -> None:
        """Make the rule `own`: now, or later if that would be too deep."""
        self.grammar.rules[own] = Sequence(())  # keeps its place in front of what it is made of
        if self._depth >= _MAX_DEPTH:
            self._later.append((own, make))
            return
        self._depth += 1
        self.grammar.rules[own] = make()
        self._depth -= 1

    def fill_later(self) -> None:
        """Make the rules that were put off."""
        while self._later:
            self.fill(*self._later.pop(0))

    def define(self, name: str, make: Callable[[], Node]) -> Reference:
        """Make the rule `name` if there is none yet. Returns what refers to it."""
        if name not in self.grammar.rules:
            self.grammar.rules[name] = Sequence(())  # keeps its place in front of what it is made of
            self.grammar.rules[name] = make()
        return Reference(name)

    def json_rule(self, names: dict[int, str], shape: Shape, make: Callable[[], Node]) -> Reference:
        """Make the rule of a shape if `names` has none for it. Returns what refers to it."""
        if id(shape) not in names:
            names[id(shape)] = self._json_name()
            self.fill(names[id(shape)], make)
        return Reference(names[id(shape)])

    def json_piece(self, node: Node) -> Reference:
        """Put a part of such a rule into one of its own."""
        return self.define(self._json_name(), lambda: node)

    def _json_name(self) -> str:
        self._json_rules += 1
        return f"json-{self._json_rules}"

    def properties(self, shape: ObjectShape) -> list[Property]:
        """Return the properties that have a value."""
        return [each for each in properties_of(shape) if self.has_values(each.shape)]

    def items(
        self, shape: ArrayShape, place: str, make: Callable[[Shape], Node], piece: Callable[[Node], Node]
    ) -> Node:
        """Return the items of a list, each made by `make`. `piece` puts a node into a rule of its own."""
        self.report.add_others(place, shape, ARRAY_WORDS)
        items = countable(shape, self.has_values, place, self.report)
        first = [make(each) for each in items.first]
        tail = series() if items.rest is None else others(make(items.rest), len(first), items.low, items.high)
        return chain(first, tail, items.low, piece)

    def note_values(self, tool: Tool) -> None:
        """Take down words of a value that is not an object: they make another shape."""
        for word in ("enum", "const"):
            if any(word in part for part in tool.shape.parts):
                self.report.add("", word, "is not enforced")

    def note_impossible(self, place: str) -> None:
        """Take down that nothing fits a schema. In place of arguments there is nothing then: text would be none."""
        instead = "any string is" if place else "the arguments are empty"
        self.report.add(place, "the schema", f"has no value that can be written; {instead}")

    def note_union(self, shape: Shape, place: str, where: str = "") -> None:
        """Take down what a union demands besides one of its alternatives."""
        if isinstance(shape, UnionShape):
            self.report.add_others(place, shape, where=where)
            if overlap(shape):
                self.report.add(place, "oneOf", "a value that fits several alternatives is not refused")

    def check_count(self, shape: ObjectShape, properties: list[Property], place: str) -> None:
        """Take down what an object demands of its properties, of which only these are written."""
        required = sum(each.required for each in properties)
        if any(part.get("minProperties", 0) > required for part in shape.parts):
            self.report.add(place, "minProperties", "is not enforced")
        if any(part.get("maxProperties", len(properties)) < len(properties) for part in shape.parts):
            self.report.add(place, "maxProperties", "is not enforced")
        if any(part.get("additionalProperties", {}).keys() - {"never"} for part in shape.parts):
            self.report.add(place, "additionalProperties", "only the properties that are named are generated")

    def lexeme(self, language: Regular, hint: str) -> Node:
        """Return a lexeme for a language; equal ones bear one name."""
        if language == EMPTY:
            return Literal("")
        if language not in self._lexemes:
            taken = self._hints[hint] = self._hints.get(hint, 0) + 1
            self._lexemes[language] = hint if taken == 1 else f"{hint}{taken}"
        return Lexeme(self._lexemes[language], language)


def scalars(shape: ScalarShape) -> Regular:
    """Return how integers, numbers, booleans or null are written, within the bounds that the schema has."""
    bounds = bounds_of(shape)
    if shape.type == "integer":
        return integers(*bounds.for_integers())
    if shape.type == "number":
        return numbers(bounds.low, bounds.high, bounds.low_open, bounds.high_open)
    return choice(literal("true"), literal("false")) if shape.type == "boolean" else literal("null")


def is_map(shape: ObjectShape) -> bool:
    """Return whether an object has properties of any name, and none that is declared."""
    # Who writes `"properties": {}` and nothing of others means an object without any.
    if any("properties" in part for part in shape.parts) and not any(
        part.get("additionalProperties") for part in shape.parts
    ):
        return False
    return not properties_of(shape) and not any("never" in part.get("additionalProperties", ()) for part in shape.parts)


def step(place: str, name: str) -> str:
    """Return the place of a property."""
    return f"{place}.{name}" if place else name


def letters(number: int) -> str:
    """Return a, b, … z, aa, ab, …: short names that end with no digit."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(97 + rest) + letters
    return letters


# Lists, as far as grammars count them: first items with schemas of their own, then others, between two counts


MAX_COUNT = 1_000
"""The largest number of repetitions that is counted: llama.cpp refuses 2,000 and more, whoever holds them."""
MAX_FIRST = 100
"""Items that may each have a schema of their own."""
_STEP = 8
"""Items of a chain that stand in one rule: engines refuse brackets that nest too deep."""


def countable(shape: ArrayShape, has_values: HasValues, place: str, report: Report) -> Items:
    """Return what a list may hold: no items without a value, no counts beyond MAX_COUNT. The rest is reported."""
    items = items_of(shape)
    low, high = items.low, items.high
    if max(low, high or 0) > MAX_COUNT:
        report.add(place, "minItems or maxItems", f"more than {MAX_COUNT:,} items are not counted")
        low, high = min(low, MAX_COUNT), None if (high or 0) > MAX_COUNT else high
    first = tuple(takewhile(has_values, items.first))
    goes_on = len(first) == len(items.first) and items.rest is not None and has_values(items.rest)
    if len(first) > MAX_FIRST:
        report.add(place, "prefixItems", f"no more than the first {MAX_FIRST} items are generated")
        return Items(first[:MAX_FIRST], None, min(low, MAX_FIRST), MAX_FIRST)
    return Items(first, items.rest if goes_on else None, low, high)


def others(node: Node, count: int, low: int, high: int | None) -> Node:
    """Return the items after the first `count` of `low` to `high`."""
    return Repeat(node, max(low - count, 0), None if high is None else high - count)


def chain(items: list[Node], tail: Node, low: int, rule: Callable[[Node], Node]) -> Node:
    """Return items one after the other, and the tail after all of them; `low` of them must be there.

    `rule` puts a node into a rule of its own and returns what refers to it.
    """
    for number in reversed(range(len(items))):
        tail = series(items[number], tail)
        if number >= low:
            tail = optional(tail)
        if number and number % _STEP == 0:
            tail = rule(tail)
    return tail
