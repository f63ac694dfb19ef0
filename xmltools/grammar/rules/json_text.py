"""JSON: maps with free names inside an element, values between the marks of other dialects, and whole bodies.

Names that a schema does not declare can't be tags: no context-free grammar makes an end tag repeat the name of its
start tag. JSON says them, and the parser reads it. In an element, strings hold `<`, `>` and `&` only as escapes, so
that the text stands there as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from xmltools.grammar.regular.automata import automaton
from xmltools.grammar.regular.numbers import numbers
from xmltools.grammar.regular.regular import (
    NOTHING,
    Chars,
    Regular,
    Repeat,
    chars,
    optional,
    sequence,
    star,
    subtract,
)
from xmltools.grammar.rules.marked_strings import MAX_ESCAPES, Fenced, Marked, Quoted
from xmltools.grammar.rules.shared import (
    ARRAY_WORDS,
    MAX_COUNT,
    NUMBER_WORDS,
    TEXT_WORDS,
    Rules,
    chain,
    countable,
    others,
    scalars,
    step,
)
from xmltools.grammar.rules.strings import SPACE, XML, Strings, json_literal
from xmltools.grammar.rules.written_form import WrittenForm, refuse_unreadable
from xmltools.grammar.schema_values import valid_values
from xmltools.grammar.text_tree import Lexeme, Literal, Node, Reference, alternatives, series
from xmltools.render.dialect_calls import marked, to_json, to_python
from xmltools.render.writable import ORDINARY_NAME
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    TextShape,
    text_facts,
)

_MOST_SPACE = 20
_STRING_WORDS = frozenset(("minLength", "maxLength"))


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """How JSON is written in some place: its strings, the most white space between two tokens, and its literals.

    `constrained`: strings keep to patterns and formats, too. `where` says of issues what they are about. `marks` stand
    in no string of a literal. `name` writes the name of a property, `free_name` is one that no schema declares; without
    them names are strings.
    """

    string: Quoted | Fenced
    literal: Callable[[Any], str]
    most_space: int = _MOST_SPACE
    constrained: bool = True
    where: str = ""
    marks: tuple[str, ...] = ()
    name: Callable[[str], str] | None = None
    free_name: Regular | None = None

    def literals(self, shape: EnumShape) -> list[str]:
        """Return how the values of an enum are written, as far as that can be done."""
        return [self.literal(value) for value in valid_values(shape) if not self.marks or self._is_sayable(value)]

    def _is_sayable(self, value: Any) -> bool:
        if isinstance(value, str):
            return not any(mark in value for mark in self.marks)
        if isinstance(value, dict):
            return all(map(ORDINARY_NAME.fullmatch, value)) and all(map(self._is_sayable, value.values()))
        return not isinstance(value, list) or all(map(self._is_sayable, value))


_IN_ELEMENTS = JsonStyle(
    Quoted(Chars(subtract(XML.ranges, chars('<>&"\\\t\n\r').ranges))),
    json_literal,
    constrained=False,
    where=" in JSON text",
)
_NAME = sequence(chars("_", (0x41, 0x5A), (0x61, 0x7A)), star(chars("_", (0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A))))
"""A name without quotes."""


def style_of(form: WrittenForm, marks: tuple[str, ...], white_space: int | None) -> JsonStyle:
    """Return how JSON, or its equivalent, is written in a dialect, where it may hold none of the `marks`."""
    most = _MOST_SPACE if white_space is None else min(white_space, _MOST_SPACE)
    if form.quote:
        string = Fenced(Marked(marks), form.quote)
        name = partial(_bare_name, form)
        return JsonStyle(string, partial(marked, quote=form.quote), most, marks=marks, name=name, free_name=_NAME)
    if form.python:
        return JsonStyle(Quoted(), to_python, most)

    def written(value: Any) -> str:
        text = to_json(value)
        return text.replace("<", "\\u003c") if any(mark in text for mark in marks) else text

    return JsonStyle(Quoted(marks=marks), written, most)


def _bare_name(form: WrittenForm, name: str) -> str:
    refuse_unreadable(form, name, "an argument")
    return name


class JsonText:
    """Makes the rules of JSON values by their shapes."""

    def __init__(self, rules: Rules, style: JsonStyle = _IN_ELEMENTS) -> None:
        self._rules = rules
        self._style = style
        self._names: dict[int, str] = {}
        self._strings = Strings(style.string, rules.backend, MAX_COUNT)
        string = style.string.any()
        if style.constrained and not rules.backend.expressions:  # with its quote a state of it: 200 times quicker
            string = automaton(string)
        self._any_string = Lexeme("jsonstring", string)
        self.space: Node = Lexeme("jsonws", Repeat(SPACE, 0, style.most_space)) if style.most_space else Literal("")

    def spaced(self, shape: Shape, place: str) -> Node:
        """Return the text of a value, with white space around it."""
        return series(self.space, self.value(shape, place), self.space)

    def value(self, shape: Shape, place: str) -> Node:
        """Return the text of a value."""
        self._rules.note_union(shape, place, self._style.where)
        return alternatives(*(self.one(each, place) for each in shape.alternatives if self._rules.has_values(each)))

    def one(self, shape: Shape, place: str) -> Node:
        """Return the text of a value of a shape that is no union."""
        if isinstance(shape, TextShape):
            return self._string(shape, place)
        if isinstance(shape, ScalarShape):
            return self._scalar(shape, place)
        if isinstance(shape, EnumShape):
            return self._enum(shape, place)
        if isinstance(shape, ArrayShape):
            return self._rules.json_rule(self._names, shape, partial(self._array, shape, place))
        if isinstance(shape, ObjectShape):
            return self._rules.json_rule(self._names, shape, partial(self._object, shape, place))
        self._rules.report.add_others(place, shape, where=self._style.where, of_any_type=True)
        if self._style.constrained:  # in an element, the map around it has said so already
            self._note_names(place)
        return self._anything()

    def _others(self, shape: Shape, place: str, known: Iterable[str] = ()) -> None:
        self._rules.report.add_others(place, shape, known, where=self._style.where)

    # Leaves

    def _string(self, shape: Shape, place: str) -> Node:
        facts = text_facts(shape)
        if self._style.constrained:
            self._others(shape, place, TEXT_WORDS)
            language = self._strings.spellings(facts, place, self._rules.report)
            if language is None and facts.low:
                language = self._style.string.counted(1, None, exact=self._rules.backend.intersects)
            if language == NOTHING:
                self._rules.note_impossible(place)
            return self._any_string if language in (None, NOTHING) else self._rules.lexeme(language, "jsontext")
        self._others(shape, place, _STRING_WORDS)
        low, high = facts.low, facts.high
        if max(low, high or 0) > MAX_COUNT:
            self._rules.report.add(
                place, "minLength or maxLength", f"more than {MAX_COUNT:,} characters are not counted"
            )
            low, high = min(low, MAX_COUNT), None if (high or 0) > MAX_COUNT else high
        if not low and high is None:
            return self._any_string
        escapes = self._rules.backend.expressions or max(low, high or 0) <= MAX_ESCAPES
        strings = self._style.string
        assert isinstance(strings, Quoted)  # between other marks they are constrained
        return self._rules.lexeme(strings.quoted(low, high, escapes=escapes), "jsonbounded")

    def _scalar(self, shape: ScalarShape, place: str) -> Node:
        self._others(shape, place, NUMBER_WORDS)
        if shape.type in ("integer", "number"):
            return self._rules.lexeme(scalars(shape), f"json{shape.type}")
        values = (True, False) if shape.type == "boolean" else (None,)
        return alternatives(*(Literal(self._style.literal(value)) for value in values))

    def _enum(self, shape: EnumShape, place: str) -> Node:
        texts = self._style.literals(shape)
        if not texts:
            self._rules.note_impossible(place)
            return self._any_string
        return alternatives(*map(Literal, texts))

    # Containers

    def _array(self, shape: ArrayShape, place: str) -> Node:
        self._others(shape, place, ARRAY_WORDS)
        items = countable(shape, self._rules.has_values, place, self._rules.report)
        first = [self.value(one, f"{place}[]") for one in items.first]
        rest = None if items.rest is None else self.value(items.rest, f"{place}[]")
        return self._brackets(self._listed(first, rest, items.low, items.high))

    def _brackets(self, inner: Node) -> Node:
        return series(Literal("["), self.space, inner, Literal("]"))

    def _listed(self, first: list[Node], rest: Node | None, low: int, high: int | None) -> Node:
        """Return values with commas between them: the first ones, and then as many of the rest as there may be."""
        if not first and rest is not None:
            one = self._listed([rest], None, 1, 1)
            all_of = series(one, others(self._comma(rest), 1, low, high))
            return all_of if low else optional(all_of)
        each = [self._comma(node) if number else series(node, self.space) for number, node in enumerate(first)]
        tail = series() if rest is None else others(self._comma(rest), len(first), low, high)
        return chain(each, tail, low, self._rules.json_piece)

    def _object(self, shape: ObjectShape, place: str) -> Node:
        self._others(shape, place, ("properties", "required", "additionalProperties"))
        if properties := self._rules.properties(shape):
            return self.braces(self._members([self._member(each, place) for each in properties]))
        more = [
            shape.make.shape((part["additionalProperties"],))
            for part in shape.parts
            if part.get("additionalProperties")
        ]
        if any("never" in part.get("additionalProperties", ()) for part in shape.parts) or not all(
            map(self._rules.has_values, more)
        ):
            return self.braces()
        self._note_names(place)
        if len(more) > 1:
            self._rules.report.add(place, "additionalProperties", "only the first of several schemas is enforced")
        value = self.value(more[0], step(place, "*")) if more else self._anything()
        return self._map_of(value)

    def braces(self, *inner: Node) -> Node:
        """Return an object with these members."""
        return series(Literal("{"), self.space, *inner, Literal("}"))

    def _note_names(self, place: str) -> None:
        self._rules.report.add(place, "additionalProperties", "names are free; that none stands twice is not enforced")

    def _map_of(self, value: Node) -> Node:
        free = self._style.free_name
        name = self._any_string if free is None else Lexeme("jsonname", free)
        pair = series(name, self.space, Literal(":"), self.space, value, self.space)
        pairs = series(pair, Repeat(series(Literal(","), self.space, pair)))
        return self.braces(optional(pairs))

    def _member(self, of: Property, place: str) -> tuple[Node, bool]:
        name = (self._style.name or self._style.literal)(of.name)
        return self._named(name, ":", of, step(place, of.name))

    def _named(self, name: str, sign: str, of: Property, place: str) -> tuple[Node, bool]:
        value = self.value(of.shape, place)
        return series(Literal(name), self.space, Literal(sign), self.space, value, self.space), of.required

    def keywords(self, shape: ObjectShape) -> Node:
        """Return an object as the arguments of a call in Python, without its brackets."""
        self._others(shape, "", ("properties", "required", "additionalProperties"))
        return self._members([self._named(each.name, "=", each, each.name) for each in self._rules.properties(shape)])

    def by_type(self, place: str) -> dict[str, Node]:
        """Return the texts of all values but strings, by their types."""
        self._note_names(place)
        return self._by_type(self._anything())

    def _by_type(self, anything: Node) -> dict[str, Node]:
        return {
            "object": self._map_of(anything),
            "array": self._brackets(self._listed([], anything, 0, None)),
            "number": self._rules.lexeme(numbers(None, None, False, False), "jsonnumber"),
            "boolean": alternatives(*map(Literal, map(self._style.literal, (True, False)))),
            "null": Literal(self._style.literal(None)),
        }

    def _members(self, members: list[tuple[Node, bool]]) -> Node:
        """Return members in their order, the optional ones perhaps, with commas between those that are there."""
        following: Node = series()  # what may follow a member
        first: Node = series()  # the same where no member stands yet
        for node, required in reversed(members):
            alone = series(node, following)
            first = alone if required else alternatives(alone, first) if first != series() else optional(alone)
            after = series(Literal(","), self.space, node)
            following = series(after if required else optional(after), following)
        return first

    def _anything(self) -> Node:
        return self._rules.define("json", self._any_value)

    def _any_value(self) -> Node:
        found = self._by_type(Reference("json"))
        return alternatives(found["object"], found["array"], self._any_string, *list(found.values())[2:])

    def _comma(self, node: Node) -> Node:
        return series(Literal(","), self.space, node, self.space)
