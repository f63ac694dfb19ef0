"""Maps with free names, as JSON text inside an element.

Names that a schema does not declare can't be tags: no context-free grammar makes an end tag repeat the name of its
start tag. JSON says them, and the parser reads it. Strings in it hold `<`, `>` and `&` only as escapes, so that the
text stands in the element as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xmltools.grammar.regular.numbers import numbers
from xmltools.grammar.regular.regular import Chars, Regular, Repeat, chars, choice, literal, sequence, star, subtract
from xmltools.grammar.rules.shared import MAX_COUNT, NUMBER_WORDS, Rules, chain, countable, scalars
from xmltools.grammar.rules.strings import SPACE, XML, json_literal
from xmltools.grammar.schema_values import valid_values
from xmltools.grammar.text_tree import (
    Lexeme,
    Literal,
    Node,
    Reference,
    Repetition,
    Series,
    alternatives,
    maybe,
    series,
)
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    TextShape,
    properties_of,
    text_facts,
)

_PLAIN = Chars(subtract(XML.ranges, chars('<>&"\\\t\n\r').ranges))
_HEX = chars("abcdefABCDEF", (0x30, 0x39))
# Escaped surrogates come in pairs or are an error: a model has no need for them, all characters stand for themselves.
_ESCAPED = sequence(
    literal("\\u"),
    choice(
        sequence(chars("abcefABCEF", (0x30, 0x39)), _HEX),
        sequence(chars("dD"), chars((0x30, 0x37))),
    ),
    _HEX,
    _HEX,
)
_UNIT = choice(_PLAIN, sequence(literal("\\"), chars('"\\/bfnrt')), _ESCAPED)
_MAX_ESCAPES = 8
"""Characters that may be escapes where GBNF counts them: with more xgrammar takes a second for a mask."""
_JSON_SPACE = Lexeme("jsonws", Repeat(SPACE, 0, 20))
_STRING_WORDS = frozenset(("minLength", "maxLength"))


class JsonText:
    """Makes the rules of JSON values by their shapes."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._names: dict[int, str] = {}

    def map(self, shape: ObjectShape, place: str) -> Node:
        """Return the text of a map, with white space around it."""
        return series(_JSON_SPACE, self.value(shape, place), _JSON_SPACE)

    def value(self, shape: Shape, place: str) -> Node:
        """Return the text of a value."""
        return alternatives(*(self._one(each, place) for each in shape.alternatives if self._rules.has_values(each)))

    def _one(self, shape: Shape, place: str) -> Node:
        if isinstance(shape, TextShape):
            return self._string(shape, place)
        if isinstance(shape, ScalarShape):
            return self._scalar(shape, place)
        if isinstance(shape, EnumShape):
            return alternatives(*(Literal(json_literal(each)) for each in valid_values(shape)))
        if isinstance(shape, ArrayShape):
            return self._rule(shape, lambda: self._array(shape, place))
        if isinstance(shape, ObjectShape):
            return self._rule(shape, lambda: self._object(shape, place))
        self._others(shape, place)
        return self._anything()

    def _others(self, shape: Shape, place: str, known: Iterable[str] = ()) -> None:
        self._rules.report.add_others(place, shape, known, where=" in JSON text")

    def _rule(self, shape: Shape, make: Callable[[], Node]) -> Node:
        if id(shape) not in self._names:
            name = self._names[id(shape)] = f"json-{self._number()}"
            self._rules.fill(name, make)
        return Reference(self._names[id(shape)])

    def _number(self) -> int:
        return sum(name.startswith("json-") for name in self._rules.grammar.rules) + 1

    # Leaves

    def _string(self, shape: Shape, place: str) -> Node:
        self._others(shape, place, _STRING_WORDS)
        facts = text_facts(shape)
        low, high = facts.low, facts.high
        if max(low, high or 0) > MAX_COUNT:
            self._rules.report.add(
                place, "minLength or maxLength", f"more than {MAX_COUNT:,} characters are not counted"
            )
            low, high = min(low, MAX_COUNT), None if (high or 0) > MAX_COUNT else high
        if not low and high is None:
            return _ANY_STRING
        escapes = self._rules.backend.expressions or max(low, high or 0) <= _MAX_ESCAPES
        return self._rules.lexeme(_quoted(low, high, escapes=escapes), "jsonbounded")

    def _scalar(self, shape: ScalarShape, place: str) -> Node:
        self._others(shape, place, NUMBER_WORDS)
        if shape.type in ("integer", "number"):
            return self._rules.lexeme(scalars(shape), f"json{shape.type}")
        return alternatives(*map(Literal, ("true", "false") if shape.type == "boolean" else ("null",)))

    # Containers

    def _array(self, shape: ArrayShape, place: str) -> Node:
        self._others(shape, place, ("items", "prefixItems", "minItems", "maxItems"))
        items = countable(shape, self._rules.has_values, place, self._rules.report)
        first = [self.value(one, f"{place}[]") for one in items.first]
        rest = None if items.rest is None else self.value(items.rest, f"{place}[]")
        return series(Literal("["), _JSON_SPACE, self._listed(first, rest, items.low, items.high), Literal("]"))

    def _listed(self, first: list[Node], rest: Node | None, low: int, high: int | None) -> Node:
        """Return values with commas between them: the first ones, and then as many of the rest as there may be."""
        if not first and rest is not None:
            one = self._listed([rest], None, 1, 1)
            more = Repetition(_comma(rest), max(low - 1, 0), None if high is None else high - 1)
            return series(one, more) if low else maybe(series(one, more))
        each = [_comma(node) if number else series(node, _JSON_SPACE) for number, node in enumerate(first)]
        tail: Node = series()
        if rest is not None:
            count = len(first)
            tail = Repetition(_comma(rest), max(low - count, 0), None if high is None else high - count)
        return chain(each, tail, low, self._piece)

    def _piece(self, node: Node) -> Node:
        name = f"json-{self._number()}"
        self._rules.grammar.rules[name] = node
        return Reference(name)

    def _object(self, shape: ObjectShape, place: str) -> Node:
        self._others(shape, place, ("properties", "required", "additionalProperties"))
        properties = [each for each in properties_of(shape) if self._rules.has_values(each.shape)]
        if properties:
            inner = self._members([self._member(each, place) for each in properties])
            return series(Literal("{"), _JSON_SPACE, inner, Literal("}"))
        self._rules.report.add(place, "additionalProperties", "names are free; that none stands twice is not enforced")
        others = [
            shape.make.shape((part["additionalProperties"],))
            for part in shape.parts
            if part.get("additionalProperties")
        ]
        if any("never" in part.get("additionalProperties", ()) for part in shape.parts) or not all(
            map(self._rules.has_values, others)
        ):
            return series(Literal("{"), _JSON_SPACE, Literal("}"))
        if len(others) > 1:
            self._rules.report.add(place, "additionalProperties", "only the first of several schemas is enforced")
        value = self.value(others[0], f"{place}.*" if place else "*") if others else self._anything()
        return self._map_of(value)

    def _map_of(self, value: Node) -> Node:
        pair = series(_ANY_STRING, _JSON_SPACE, Literal(":"), _JSON_SPACE, value, _JSON_SPACE)
        pairs = series(pair, Repetition(series(Literal(","), _JSON_SPACE, pair)))
        return series(Literal("{"), _JSON_SPACE, maybe(pairs), Literal("}"))

    def _member(self, of: Property, place: str) -> tuple[Node, bool]:
        path = f"{place}.{of.name}" if place else of.name
        name = Literal(json_literal(of.name))
        pair = series(name, _JSON_SPACE, Literal(":"), _JSON_SPACE, self.value(of.shape, path), _JSON_SPACE)
        return pair, of.required

    def _members(self, members: list[tuple[Node, bool]]) -> Node:
        """Return members in their order, the optional ones perhaps, with commas between those that are there."""
        following: Node = series()  # what may follow a member
        first: Node = series()  # the same where no member stands yet
        for node, required in reversed(members):
            alone = series(node, following)
            first = alone if required else alternatives(alone, first) if first != series() else maybe(alone)
            after = series(Literal(","), _JSON_SPACE, node)
            following = series(after if required else maybe(after), following)
        return first

    def _anything(self) -> Node:
        name = "json"
        if name not in self._rules.grammar.rules:
            self._rules.grammar.rules[name] = Series(())
            this = Reference(name)
            items = self._listed([], this, 0, None)
            self._rules.grammar.rules[name] = alternatives(
                self._map_of(this),
                series(Literal("["), _JSON_SPACE, items, Literal("]")),
                _ANY_STRING,
                self._rules.lexeme(numbers(None, None, False, False), "jsonnumber"),
                *map(Literal, ("true", "false", "null")),
            )
        return Reference(name)


def _comma(node: Node) -> Node:
    return series(Literal(","), _JSON_SPACE, node, _JSON_SPACE)


def _quoted(low: int, high: int | None, *, escapes: bool = True) -> Regular:
    """Return a string of so many characters, among those that are counted no `escapes`, if that is said."""
    counted = _UNIT if escapes else _PLAIN
    unit = [Repeat(counted, low, low), star(_UNIT)] if low and high is None else [Repeat(counted, low, high)]
    return sequence(literal('"'), *unit, literal('"'))


_ANY_STRING = Lexeme("jsonstring", _quoted(0, None))
