"""From shapes to the text tree: what stands between the tags of a value, and of a whole call.

Every list and object gets a rule, so that recursive schemas are recursive rules. All spellings of a value that are
no elements (numbers, choices, strings with constraints) are one lexeme: engines that cut text into tokens before they
look at the grammar then never have to choose between two of them.
"""

from __future__ import annotations

from typing import Any

from xmltools._markup import is_xml_name
from xmltools.dialects import FORGE
from xmltools.grammar._enums import value_spellings
from xmltools.grammar._issues import Report
from xmltools.grammar._json_text import JsonText
from xmltools.grammar._nodes import (
    Grammar,
    Lexeme,
    Literal,
    Member,
    Node,
    Permutation,
    Reference,
    Repetition,
    Series,
    alternatives,
    maybe,
    series,
)
from xmltools.grammar._numbers import integers, numbers
from xmltools.grammar._oneof import overlap
from xmltools.grammar._options import Backend, Options
from xmltools.grammar._regular import EMPTY, Regular, Repeat, chars, choice, literal, sequence
from xmltools.grammar._strings import Strings
from xmltools.grammar._xml import SPACE, cdata_section, plain_text
from xmltools.render._names import escape_name, refuse_unsayable
from xmltools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    UnionShape,
    bounds_of,
    is_impossible,
    item_name,
    items_of,
    other_keywords,
    properties_of,
    text_facts,
)
from xmltools.tools import Tool

__all__ = ["MAX_COUNT", "Builder"]

MAX_COUNT = 1_000
"""The largest number of repetitions that is counted: llama.cpp refuses 2,000 and more, whoever holds them."""

_ARRAY_WORDS = frozenset(("items", "prefixItems", "minItems", "maxItems"))
_OBJECT_WORDS = frozenset(("properties", "required", "additionalProperties", "minProperties", "maxProperties"))


class Builder:
    """Makes the rules for the arguments of tools. What all tools share, such as free strings, is made once."""

    __slots__ = ("_hints", "_lexemes", "_rules", "_tool", "grammar", "options", "report", "strings", "ws")

    def __init__(self, options: Options, backend: Backend) -> None:
        self.grammar = Grammar(Series(()))
        self.options = options
        self.ws = Lexeme("ws", Repeat(SPACE, 0, options.white_space))
        self.report = Report("")
        self.strings = Strings(options, backend, MAX_COUNT)
        self._tool = ""
        self._rules: dict[tuple[int, str], str] = {}
        self._lexemes: dict[Regular, str] = {}
        self._hints: dict[str, int] = {}

    def arguments(self, tool: Tool, prefix: str, report: Report) -> Node:
        """Return what stands inside `<arguments>` of a call of the tool. `prefix` begins the names of its rules."""
        self.report = report
        self._tool = prefix
        self._rules = {}
        return self.contents(tool.shape, FORGE.arguments, "")

    # Contents: what stands between the tags of a value

    def contents(self, shape: Shape, name: str, place: str) -> Node:
        """Return the contents of an element called `name`."""
        found = _Contents(self, name, place)
        for each in self._sorted_out(shape, place):
            if not is_impossible(each):
                found.add(each)
        return found.node()

    def _sorted_out(self, shape: Shape, place: str) -> tuple[Shape, ...]:
        if isinstance(shape, UnionShape):
            for word in other_keywords(shape, frozenset()):
                self.report.add(place, word, "is not enforced")
            if overlap(shape):
                self.report.add(place, "oneOf", "a value that fits several alternatives is not refused")
        return shape.alternatives

    def element(self, name: str, shape: Shape, place: str) -> Node:
        """Return an element with its tags; null may be an attribute."""
        dialect = FORGE
        refuse_unsayable(name, "an argument")
        tag, start = name, name
        if not is_xml_name(name):
            tag, start = dialect.argument, f'{dialect.argument} {dialect.argument_name}="{escape_name(name)}"'
        filled = series(Literal(f"<{start}>"), self.contents(shape, name, place), Literal(f"</{tag}>"))
        if any(_is_null(each) for each in shape.alternatives):
            return alternatives(filled, Literal(f'<{start} {dialect.nil}="true"/>'))
        return filled

    def rule(self, shape: Shape, name: str, node: Any) -> Reference:
        """Return the rule of a container, made by `node(rule name)` when it is first asked for."""
        # The names of items come from the name of their list.
        key = id(shape), name if isinstance(shape, ArrayShape) else ""
        if key not in self._rules:
            own = self._rules[key] = self._name()
            self.grammar.rules[own] = Series(())
            self.grammar.rules[own] = node(own)
        return Reference(self._rules[key])

    def _name(self) -> str:
        return f"{self._tool}-{len(self._rules) + 1}" if self._rules else self._tool

    def lexeme(self, language: Regular, hint: str) -> Node:
        """Return a lexeme for a language; equal ones bear one name."""
        if language == EMPTY:
            return Literal("")
        if language not in self._lexemes:
            taken = self._hints[hint] = self._hints.get(hint, 0) + 1
            self._lexemes[language] = hint if taken == 1 else f"{hint}{taken}"
        return Lexeme(self._lexemes[language], language)

    # Containers

    def array(self, shape: ArrayShape, name: str, place: str) -> Node:
        """Return the items of a list."""
        for word in other_keywords(shape, _ARRAY_WORDS):
            self.report.add(place, word, "is not enforced")
        items, inner, path = items_of(shape), item_name(name), f"{place}[]"
        low, high = items.low, items.high
        if max(low, high or 0) > MAX_COUNT:
            self.report.add(place, "minItems or maxItems", f"more than {MAX_COUNT:,} items are not counted")
            low, high = min(low, MAX_COUNT), None if (high or 0) > MAX_COUNT else high
        each = [series(self.element(inner, one, path), self.ws) for one in items.first]
        rest = None if items.rest is None else series(self.element(inner, items.rest, path), self.ws)
        return series(self.ws, _counted(each, rest, low, high))

    def object(self, shape: ObjectShape, place: str, own: str) -> Node:
        """Return the properties of an object, in any order."""
        for word in other_keywords(shape, _OBJECT_WORDS):
            self.report.add(place, word, "is not enforced")
        properties = properties_of(shape)
        self._check_count(shape, properties, place)
        members = [self._member(each, place, own, number) for number, each in enumerate(properties)]
        inner = series(*(each.node if each.required else maybe(each.node) for each in members))
        return series(self.ws, Permutation(tuple(members)) if len(members) > 1 else inner)

    def _check_count(self, shape: ObjectShape, properties: list[Property], place: str) -> None:
        required = sum(each.required for each in properties)
        if any(part.get("minProperties", 0) > required for part in shape.parts):
            self.report.add(place, "minProperties", "is not enforced")
        if any(part.get("maxProperties", len(properties)) < len(properties) for part in shape.parts):
            self.report.add(place, "maxProperties", "is not enforced")
        if any(part.get("additionalProperties", {}).keys() - {"never"} for part in shape.parts):
            self.report.add(place, "additionalProperties", "only the properties that are named are generated")

    def _member(self, of: Property, place: str, own: str, number: int) -> Member:
        path = f"{place}.{of.name}" if place else of.name
        name = f"{own}-{_letters(number)}"
        self.grammar.rules[name] = Series(())  # keeps its place in front of what it is made of
        self.grammar.rules[name] = series(self.element(of.name, of.shape, path), self.ws)
        return Member(Reference(name), of.required)

    def free_text(self, *, filled: bool = False) -> Node:
        """Return the rule of a string without constraints; `filled`: that is not empty."""
        name = "filledstr" if filled else "str"
        if name not in self.grammar.rules:
            self.grammar.rules[name] = Series(())
            self.grammar.rules[name] = self._filled_text() if filled else self._any_text()
        return Reference(name)

    def _any_text(self) -> Node:
        plain, section = self._plain(), self._section()
        if self.options.cdata == "forbidden":
            return plain
        if self.options.cdata == "required":
            return Repetition(section)
        return series(plain, Repetition(series(section, plain)))

    def _filled_text(self) -> Node:
        plain, section = Lexeme("filledplain", plain_text(filled=True)), self._section(filled=True)
        if self.options.cdata == "forbidden":
            return plain
        if self.options.cdata == "required":
            return Repetition(section, 1)
        rest = Repetition(series(self._section(), self._plain()))
        blank = Lexeme("blank", Repeat(chars(" \t"), 1))
        return alternatives(series(plain, rest), series(self.ws, section, self._plain(), rest), blank)

    def _plain(self) -> Node:
        return Lexeme("plain", plain_text())

    def _section(self, *, filled: bool = False) -> Node:
        spared = "" if self.options.end_tag_in_cdata else f"</{FORGE.block}>"
        return Lexeme("filledcdata" if filled else "cdata", cdata_section(filled=filled, end_tag=spared))


class _Contents:
    """Collects what the alternatives of one value may be, and makes one node of it."""

    __slots__ = ("_builder", "_free", "_hints", "_languages", "_name", "_nodes", "_place")

    def __init__(self, builder: Builder, name: str, place: str) -> None:
        self._builder = builder
        self._name = name
        self._place = place
        self._free = False
        self._languages: list[Regular] = []
        self._hints: list[str] = []
        self._nodes: list[Node] = []

    def add(self, shape: Shape) -> None:
        """Take an alternative."""
        if isinstance(shape, ScalarShape):
            self._scalar(shape)
        elif isinstance(shape, EnumShape):
            self._enum(shape)
        elif isinstance(shape, ArrayShape):
            make = lambda own: self._builder.array(shape, self._name, self._place)  # noqa: E731
            self._nodes.append(self._builder.rule(shape, self._name, make))
        elif isinstance(shape, ObjectShape):
            self._object(shape)
        else:
            self._text(shape)

    def _object(self, shape: ObjectShape) -> None:
        builder = self._builder
        if _is_map(shape):
            self._nodes.append(JsonText(builder.grammar, builder.report, builder.lexeme).map(shape, self._place))
        else:
            self._nodes.append(builder.rule(shape, "", lambda own: builder.object(shape, self._place, own)))

    def _text(self, shape: Shape) -> None:
        facts = text_facts(shape)
        for word in other_keywords(shape, frozenset(("minLength", "maxLength", "pattern", "format"))):
            self._builder.report.add(self._place, word, "is not enforced")
        language = self._builder.strings.spellings(facts, self._place, self._builder.report)
        if language is not None:
            self._leaf(language, "text")
        elif facts.low == 1:
            self._nodes.append(self._builder.free_text(filled=True))
        else:
            self._free = True

    def _scalar(self, shape: ScalarShape) -> None:
        for word in other_keywords(shape, frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))):
            self._builder.report.add(self._place, word, "is not enforced")
        bounds = bounds_of(shape)
        if shape.type == "integer":
            self._leaf(self._spaced(integers(*bounds.for_integers())), "integer")
        elif shape.type == "number":
            value = numbers(bounds.low, bounds.high, bounds.low_open, bounds.high_open)
            self._leaf(self._spaced(value), "number")
        else:
            words = ("true", "false") if shape.type == "boolean" else ("null",)
            self._leaf(self._spaced(choice(*map(literal, words))), shape.type)

    def _enum(self, shape: EnumShape) -> None:
        loose, exact = value_spellings(shape, self._builder.options.cdata)
        if loose:
            self._leaf(self._spaced(choice(*loose)), "choice")
        if exact:
            self._leaf(choice(*exact), "choice")

    def _spaced(self, value: Regular) -> Regular:
        spaces = self._builder.ws.language
        return sequence(spaces, value, spaces)

    def _leaf(self, language: Regular, hint: str) -> None:
        self._languages.append(language)
        self._hints.append(hint)

    def node(self) -> Node:
        """Return what may stand between the tags."""
        found = list(self._nodes)
        if self._free:
            # Whatever else is no element is a string, too: the reader takes the first alternative that fits.
            found.insert(0, self._builder.free_text())
        elif self._languages:
            hint = self._hints[0] if len(self._hints) == 1 else "value"
            found.insert(0, self._builder.lexeme(choice(*self._languages), hint))
        if not found:
            self._builder.report.add(self._place, "the schema", "has no value that can be written; any string is")
            found = [self._builder.free_text()]
        return alternatives(*found)


def _counted(first: list[Node], rest: Node | None, low: int, high: int | None) -> Node:
    """Return items one behind the other, `low` to `high` of them."""
    count = len(first)
    tail: Node = series()
    if rest is not None:
        tail = Repetition(rest, max(low - count, 0), None if high is None else high - count)
    for number in reversed(range(count)):
        tail = series(first[number], tail)
        if number >= low:
            tail = maybe(tail)
    return tail


def _is_map(shape: ObjectShape) -> bool:
    """Return whether an object has properties of any name, and none that is declared."""
    if any("properties" in part for part in shape.parts) and not any(
        part.get("additionalProperties") for part in shape.parts
    ):
        return False
    return not properties_of(shape) and not any("never" in part.get("additionalProperties", ()) for part in shape.parts)


def _is_null(shape: Shape) -> bool:
    if isinstance(shape, EnumShape):
        return None in shape.values
    return isinstance(shape, ScalarShape) and shape.type == "null"


def _letters(number: int) -> str:
    """Return a, b, … z, aa, ab, …: short names that end with no digit."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(97 + rest) + letters
    return letters
