"""From shapes to the text tree: what stands between the tags of a value, and of a whole call.

Every list and object gets a rule, so that recursive schemas are recursive rules. All spellings of a value that are
no elements (numbers, choices, strings with constraints) are one lexeme: engines that cut text into tokens before they
look at the grammar then never have to choose between two of them.
"""

from __future__ import annotations

from collections.abc import Callable

from xmltools.dialects import FORGE
from xmltools.grammar.issues import Report
from xmltools.grammar.lower.contents import Contents
from xmltools.grammar.lower.elements import SPACE, cdata_section, plain_text
from xmltools.grammar.lower.lists import MAX_COUNT, chain, countable
from xmltools.grammar.lower.oneof import overlap
from xmltools.grammar.lower.strings import Strings
from xmltools.grammar.nodes import (
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
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.possible import Possible
from xmltools.grammar.regular.regular import EMPTY, Regular, Repeat, chars
from xmltools.render.names import escape_name, is_hidden, refuse_unsayable
from xmltools.syntax.markup import is_xml_name
from xmltools.tools import Tool
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    UnionShape,
    item_name,
    other_keywords,
    properties_of,
)

__all__ = ["Builder"]

_MAX_DEPTH = 16
"""Rules that are made inside each other; those below are made later, so that deep schemas don't fill the stack."""
_ARRAY_WORDS = frozenset(("items", "prefixItems", "minItems", "maxItems"))
_OBJECT_WORDS = frozenset(("properties", "required", "additionalProperties", "minProperties", "maxProperties"))


class Builder:
    """Makes the rules for the arguments of tools. What all tools share, such as free strings, is made once."""

    __slots__ = (
        "_depth",
        "_hints",
        "_later",
        "_lexemes",
        "_rules",
        "_tool",
        "backend",
        "grammar",
        "options",
        "possible",
        "report",
        "spaces",
        "strings",
        "ws",
    )

    def __init__(self, options: Options, backend: Backend) -> None:
        self.grammar = Grammar(Series(()))
        self.backend = backend
        self.options = options
        self.spaces: Regular = EMPTY if options.white_space == 0 else Repeat(SPACE, 0, options.white_space)
        self.ws: Node = Literal("") if options.white_space == 0 else Lexeme("ws", self.spaces)
        self.possible = Possible()
        self.report = Report("")
        self.strings = Strings(options, backend, MAX_COUNT)
        self._tool = ""
        self._depth = 0
        self._later: list[tuple[str, Callable[[], Node]]] = []
        self._rules: dict[tuple[int, str], str] = {}
        self._lexemes: dict[Regular, str] = {}
        self._hints: dict[str, int] = {}

    def arguments(self, tool: Tool, prefix: str, report: Report) -> Node:
        """Return what stands inside `<arguments>` of a call of the tool. `prefix` begins the names of its rules."""
        self.report = report
        self._tool = prefix
        self._rules = {}
        for word in ("enum", "const"):  # of a value that is no object these make another shape
            if any(word in part for part in tool.shape.parts):
                report.add("", word, "is not enforced")
        inner = self.contents(tool.shape, FORGE.arguments, "")
        while self._later:
            self.fill(*self._later.pop(0))
        return inner

    # Contents: what stands between the tags of a value

    def contents(self, shape: Shape, name: str, place: str) -> Node:
        """Return the contents of an element called `name`."""
        found = Contents(self, name, place)
        for each in self._alternatives(shape, place):
            if self.possible(each):
                found.add(each)
        return found.node()

    def _alternatives(self, shape: Shape, place: str) -> tuple[Shape, ...]:
        """Return the alternatives of a value; what a union demands besides one of them is reported."""
        if isinstance(shape, UnionShape):
            for word in other_keywords(shape, frozenset()):
                self.report.add(place, word, "is not enforced")
            if overlap(shape):
                self.report.add(place, "oneOf", "a value that fits several alternatives is not refused")
        return shape.alternatives

    def element(self, name: str, shape: Shape, place: str, *, by_name: bool = False) -> Node:
        """Return an element with its tags; null may be an attribute. `by_name`: the name is an attribute, too."""
        refuse_unsayable(name, "an argument")
        tag, start = name, name
        if by_name or not is_xml_name(name):
            tag, start = FORGE.argument, f'{FORGE.argument} {FORGE.argument_name}="{escape_name(name)}"'
        filled = series(Literal(f"<{start}>"), self.contents(shape, name, place), Literal(f"</{tag}>"))
        if any(_is_null(each) for each in shape.alternatives):
            return alternatives(filled, Literal(f'<{start} {FORGE.nil}="true"/>'))
        return filled

    def rule(self, shape: Shape, name: str, node: Callable[[str], Node]) -> Reference:
        """Return the rule of a container, made by `node(rule name)` when it is first asked for.

        Takes the name that its children's names depend on: that of a list, or of arguments.
        """
        key = id(shape), name
        if key not in self._rules:
            own = self._rules[key] = self._name()
            self.fill(own, lambda: node(own))
        return Reference(self._rules[key])

    def fill(self, own: str, make: Callable[[], Node]) -> None:
        """Make the rule `own`: now, or later if that would be too deep."""
        self.grammar.rules[own] = Series(())  # keeps its place in front of what it is made of
        if self._depth >= _MAX_DEPTH:
            self._later.append((own, make))
            return
        self._depth += 1
        self.grammar.rules[own] = make()
        self._depth -= 1

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

    def array(self, shape: ArrayShape, name: str, place: str, own: str) -> Node:
        """Return the items of a list."""
        for word in other_keywords(shape, _ARRAY_WORDS):
            self.report.add(place, word, "is not enforced")
        items, inner, path = countable(shape, self.possible, place, self.report), item_name(name), f"{place}[]"
        first = [series(self.element(inner, one, path), self.ws) for one in items.first]
        tail: Node = series()
        if items.rest is not None:
            rest = series(self.element(inner, items.rest, path), self.ws)
            count = len(first)
            tail = Repetition(rest, max(items.low - count, 0), None if items.high is None else items.high - count)
        return series(self.ws, chain(first, tail, items.low, lambda node: self._piece(own, node)))

    def _piece(self, own: str, node: Node) -> Node:
        """Put a part of a rule into one of its own."""
        count = 0
        while (name := f"{own}-{_letters(count)}") in self.grammar.rules:
            count += 1
        self.grammar.rules[name] = node
        return Reference(name)

    def object(self, shape: ObjectShape, place: str, own: str) -> Node:
        """Return the properties of an object, in any order."""
        for word in other_keywords(shape, _OBJECT_WORDS):
            self.report.add(place, word, "is not enforced")
        properties = [each for each in properties_of(shape) if self._is_sayable(each, shape, place)]
        self._check_count(shape, properties, place)
        members = [self._member(shape, each, place, f"{own}-{_letters(n)}") for n, each in enumerate(properties)]
        inner = series(*(each.node if each.required else maybe(each.node) for each in members))
        return series(self.ws, Permutation(tuple(members)) if len(members) > 1 else inner)

    def _is_sayable(self, of: Property, shape: ObjectShape, place: str) -> bool:
        if not self.possible(of.shape):
            return False
        if is_xml_name(of.name) or not shape.has_property(FORGE.argument):
            return True
        path = f"{place}.{of.name}" if place else of.name
        self.report.add(path, "properties", f"is left out: beside {FORGE.argument!r} no element can bear this name")
        return False

    def _check_count(self, shape: ObjectShape, properties: list[Property], place: str) -> None:
        required = sum(each.required for each in properties)
        if any(part.get("minProperties", 0) > required for part in shape.parts):
            self.report.add(place, "minProperties", "is not enforced")
        if any(part.get("maxProperties", len(properties)) < len(properties) for part in shape.parts):
            self.report.add(place, "maxProperties", "is not enforced")
        if any(part.get("additionalProperties", {}).keys() - {"never"} for part in shape.parts):
            self.report.add(place, "additionalProperties", "only the properties that are named are generated")

    def _member(self, shape: ObjectShape, of: Property, place: str, name: str) -> Member:
        path = f"{place}.{of.name}" if place else of.name
        self.grammar.rules[name] = Series(())  # keeps its place in front of what it is made of
        by_name = not place and is_hidden(of.name, shape, FORGE)
        self.grammar.rules[name] = series(self.element(of.name, of.shape, path, by_name=by_name), self.ws)
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
        section = cdata_section(filled=filled, end_tag=self.options.spared_end_tag)
        return Lexeme("filledcdata" if filled else "cdata", section)


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
