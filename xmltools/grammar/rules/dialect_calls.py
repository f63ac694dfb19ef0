"""Calls in other dialects than Forge's: names and values between marks, or JSON.

Arguments are pairs of names and values, elements after a token, or one object: in JSON, in Gemma's notation, or those
of a call in Python. Blocks hold one call, several, or a list. All literal text comes from the dialect's record
(`written_form`).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from xmltools.dialects import Dialect
from xmltools.errors import XMLToolsError
from xmltools.grammar.issues import Report
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.regular.automata import TooLarge, automaton
from xmltools.grammar.regular.expressions import expression
from xmltools.grammar.regular.regular import (
    ANYTHING,
    NOTHING,
    And,
    Not,
    Regular,
    Repeat,
    chars,
    choice,
    literal,
    sequence,
    star,
)
from xmltools.grammar.rules.json_text import JsonText, style_of
from xmltools.grammar.rules.marked_strings import Marked, value_marks
from xmltools.grammar.rules.shared import (
    MAX_COUNT,
    NUMBER_WORDS,
    OBJECT_WORDS,
    TEXT_WORDS,
    Rules,
    is_map,
    letters,
    scalars,
)
from xmltools.grammar.rules.strings import Strings
from xmltools.grammar.rules.written_form import Part, is_readable, refuse_unreadable, written_form
from xmltools.grammar.schema_values import valid_values
from xmltools.grammar.text_tree import Lexeme, Literal, Member, Node, Reference, alternatives, any_order, series
from xmltools.render.dialect_calls import type_word
from xmltools.syntax.markup import SPACES
from xmltools.tools import Tool
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    UnionShape,
    items_of,
    properties_of,
    text_facts,
)

_ITEM = "item"
"""The element of a list item, where all elements of items are called alike."""
_MAX_DIGITS = 6
"""Of a number that counts calls."""
_LIKE_JSON = sequence(star(chars(SPACES)), chars("[{`"), ANYTHING)
"""Text that a reader may take for a list or an object, where the schema has one beside a string."""


class DialectCalls(Rules):
    """Makes the rules for calls in a dialect."""

    def __init__(self, options: Options, backend: Backend) -> None:
        super().__init__(options, backend)
        self.form = written_form(options.dialect)
        self._dialect = self.form.dialect
        self._pairs = self._dialect.pairs
        marks = () if self.form.json and not self.form.quote else value_marks(self._dialect)
        framing = self._pairs is not None and self._pairs.framing
        self._text = Marked(marks, framing)
        self._strings = Strings(self._text, backend, MAX_COUNT)
        self._style = style_of(self.form, marks, options.white_space)
        self._json = JsonText(self, self._style)
        self._names: dict[int, str] = {}
        # Around values that are no text there may be a line break that frames them.
        self._edge = Repeat(chars("\n"), 0, 1) if framing and options.white_space == 0 else self.spaces

    # Blocks

    def block(self, calls: Node, most: int | None) -> Node:
        """Return what comes after the mark with which a block begins; in it there are at most so many calls."""
        closer = self._dialect.closer
        if self.form.is_list:
            end = series(self.ws, Literal(closer)) if closer else series()
            return series(self.ws, self._list(calls, most), end)
        if not closer:
            return calls
        if self._dialect.many:
            calls = Repeat(series(calls, self.ws), 1, most)
            return series(self.ws, calls, Literal(closer))
        return series(self.ws, calls, self.ws, Literal(closer))

    def _list(self, calls: Node, most: int | None) -> Node:
        more = series(Literal(","), self.ws, calls, self.ws)
        inner = series(self.ws, calls, self.ws, Repeat(more, 0, None if most is None else most - 1))
        return series(Literal(self.form.opening), inner, Literal(self.form.closing))

    def bare(self, calls: Node, most: int | None) -> Node:
        """Return a reply that consists of calls without marks."""
        if self.form.is_list:
            return self._list(calls, most)
        more = series(self.ws, Literal(self._dialect.separator), self.ws, calls)
        return series(calls, Repeat(more, 0, None if most is None else most - 1))

    def call(self, tool: Tool, prefix: str, report: Report) -> Node:
        """Return the rule of a call of one tool. `prefix` begins the names of its rules."""
        refuse_unreadable(self.form, tool.name, "a tool")
        self.report = report
        own = f"{prefix}-call"
        self.grammar.rules[own] = Literal("")
        self.grammar.notes[own] = f"{tool.name} ({tool.server})"
        if self.form.json:
            self._json = JsonText(self, self._style)
            gap, inner = self._json.space, self._json_arguments(tool)
        else:
            self._names = {}
            gap, inner = self.ws, self._arguments(tool, prefix)
        self.fill_later()
        head = series(*(series(self._counted(part), gap) for part in self.form.head(tool.name)))
        tail = series(*(series(gap, self._counted(part)) for part in self.form.tail))
        self.grammar.rules[own] = series(head, inner, tail)
        return Reference(own)

    def _counted(self, part: Part) -> Node:
        """Return texts with numbers between them."""
        number = Lexeme("count", Repeat(chars((0x30, 0x39)), 1, _MAX_DIGITS))
        return series(Literal(part[0]), *(series(number, Literal(text)) for text in part[1:]))

    # Arguments

    def _shapes(self, tool: Tool) -> list[ObjectShape]:
        """Return the shapes of the arguments."""
        self.note_values(tool)
        forms = tool.shape.forms
        self.note_union(forms, "")
        found = [each for each in forms.alternatives if isinstance(each, ObjectShape) and self.has_values(each)]
        if not found:
            self.note_impossible("")
        return found

    def _json_arguments(self, tool: Tool) -> Node:
        if self.form.python:
            return self._keywords(tool)
        nodes: list[Node] = []
        for shape in self._shapes(tool):
            if properties_of(shape) or is_map(shape):
                nodes.append(self._json.one(shape, ""))
            else:
                self._note_others(shape, [])
                nodes.append(self._json.braces())
        return alternatives(*nodes) if nodes else self._json.braces()

    def _keywords(self, tool: Tool) -> Node:
        """Return the arguments of a call in Python."""
        shapes = self._shapes(tool)
        for shape in shapes:
            if is_map(shape):
                self.report.add("", "additionalProperties", "only the properties that are named are generated")
            for each in properties_of(shape):
                refuse_unreadable(self.form, each.name, "an argument")
        return alternatives(*map(self._json.keywords, shapes)) if shapes else series()

    def _arguments(self, tool: Tool, prefix: str) -> Node:
        shapes = self._shapes(tool)
        if not shapes:
            return series()
        names = [prefix if not number else f"{prefix}-{number + 1}" for number in range(len(shapes))]
        for name, shape in zip(names, shapes, strict=True):
            self.fill(name, partial(self._object, shape, name))
        return alternatives(*map(Reference, names))

    def _object(self, shape: ObjectShape, own: str) -> Node:
        """Return the arguments as pairs, in any order."""
        properties = self.properties(shape)
        self._note_others(shape, properties)
        return any_order(self._member(each, f"{own}-{letters(number)}") for number, each in enumerate(properties))

    def _note_others(self, shape: ObjectShape, properties: list[Property]) -> None:
        """Take down what the schema demands of the arguments, of which these are written."""
        self.report.add_others("", shape, OBJECT_WORDS)
        self.check_count(shape, properties, "")
        if is_map(shape):
            self.report.add("", "additionalProperties", "only the properties that are named are generated")

    def _member(self, of: Property, name: str) -> Member:
        refuse_unreadable(self.form, of.name, "an argument")
        return Member(self.define(name, lambda: series(self._pair(of.name, of.shape), self.ws)), of.required)

    def _pair(self, name: str, shape: Shape) -> Node:
        """Return a name and its value. Where an attribute says whether that is text, there are two kinds of pairs."""
        pairs = []
        for kind, node in self._value(shape, name).items():
            *first, last = self.form.key(name, kind)
            key = series(*(series(Literal(part), self.ws) for part in first), Literal(last))
            pairs.append(series(key, node, Literal(self.form.after_value(name))))
        return alternatives(*pairs)

    # Values, each with the mark that ends it

    def _value(self, shape: Shape, place: str) -> dict[str, Node]:
        """Return how a value is written, by the kinds of values that an attribute tells apart; by "" without one."""
        self.note_union(shape, place)
        nodes: dict[str, list[Node]] = {}
        found: dict[str, list[Regular]] = {}
        text_kind, _ = self.form.kinds
        shapes = [each for each in shape.alternatives if self.has_values(each)]
        has_containers = any(map(_is_container, shapes))
        for each in shapes:
            if isinstance(each, (ArrayShape, ObjectShape)):
                kind = self._kind("array" if isinstance(each, ArrayShape) else "object")
                nodes.setdefault(kind, []).append(self._container(each, place))
            elif isinstance(each, ScalarShape):
                self.report.add_others(place, each, NUMBER_WORDS)
                found.setdefault(self._kind(each.type), []).append(self._spaced(scalars(each)))
            elif isinstance(each, EnumShape):
                for value in valid_values(each):
                    kind = self._kind(type_word(value))
                    literals = self._choice(value) if isinstance(value, str) else [self._literal(value)]
                    if literals:
                        found.setdefault(kind, []).extend(literals)
            else:
                self.report.add_others(place, each, TEXT_WORDS)
                facts = text_facts(each)
                language = self._strings.spellings(facts, place, self.report)
                language = self._text.any(filled=facts.low == 1) if language is None else language
                if has_containers and not text_kind:
                    language = self._unlike_json(language, place)
                if language != NOTHING:
                    found.setdefault(text_kind, []).append(language)
                if each.is_any and text_kind:
                    self._anything(nodes, place)
        if not (nodes or found):
            self.note_impossible(place)
            found[text_kind] = [self._text.any()]
        return self._joined(found, nodes)

    def _kind(self, type: str) -> str:
        """Return what the attribute of an argument says of values of a type."""
        text_kind, data_kind = self.form.kinds
        if type == "string" or not text_kind:
            return text_kind
        if data_kind == "false":
            return data_kind
        return "number" if type == "integer" else type

    def _literal(self, value: Any) -> Regular:
        return self._spaced(literal(self._style.literal(value)))

    def _anything(self, nodes: dict[str, list[Node]], place: str) -> None:
        """Add all values of JSON that are no strings."""
        for type, node in self._json.by_type(place).items():
            spaced = series(self._json.space, node, self._json.space, self._end)
            nodes.setdefault(self._kind(type), []).append(spaced)

    def _container(self, shape: ArrayShape | ObjectShape, place: str) -> Node:
        """Return a list or an object, and what ends it."""
        if self.form.tag_mark and self._has_tags(shape):
            return series(self._nested(shape, place), self._tag_mark)
        return series(self._json.space, self._json.one(shape, place), self._json.space, self._end)

    def _joined(self, found: dict[str, list[Regular]], nodes: dict[str, list[Node]]) -> dict[str, Node]:
        """Return the languages of a kind as one lexeme, so that an engine never has to choose between two."""
        any_text = self._text.any()
        joined: dict[str, Node] = {}
        for kind in dict.fromkeys((*found, *nodes)):
            texts = found.get(kind, [])
            is_text = kind == self.form.kinds[0]
            hint = "str" if texts == [any_text] else "text" if is_text else "value"
            leaf = [self._ended(texts, hint)] if texts else []
            joined[kind] = alternatives(*leaf, *nodes.get(kind, []))
        return joined

    # Elements after a token

    @property
    def _tag_mark(self) -> Node:
        """The token before a tag, apart from the tag: a value may end with it."""
        return Lexeme("mark", literal(self.form.tag_mark))

    def _has_tags(self, shape: Shape) -> bool:
        """Return whether a list or an object is written as elements.

        It is in JSON as a whole if something in it has names that are free or no tags, or may be anything: JSON in an
        element is clean only where that is an argument.
        """
        open_shapes, seen = [shape], {id(shape)}
        while open_shapes:
            each = open_shapes.pop()
            if isinstance(each, ObjectShape):
                if is_map(each) or not all(is_readable(self.form, one.name) for one in properties_of(each)):
                    return False
                inner = [one.shape for one in properties_of(each)]
            elif isinstance(each, ArrayShape):
                items = items_of(each)
                inner = [*items.first, *([items.rest] if items.rest is not None else [])]
            elif isinstance(each, EnumShape):
                if any(isinstance(value, (list, dict)) for value in each.values):
                    return False
                continue
            elif isinstance(each, UnionShape):
                inner = list(each.alternatives)
            else:
                if each.is_any:
                    return False
                continue
            open_shapes += [one for one in inner if id(one) not in seen]
            seen.update(map(id, inner))
        return True

    def _nested(self, shape: ArrayShape | ObjectShape, place: str) -> Node:
        if isinstance(shape, ArrayShape):
            return self.json_rule(self._names, shape, partial(self._items, shape, place))
        return self.json_rule(self._names, shape, partial(self._members, shape, place))

    def _element(self, name: str, shape: Shape, place: str) -> Node:
        (value,) = self._value(shape, place).values()
        return series(self._tag_mark, Literal(f"<{name}>"), value, Literal(self.form.after_value(name)), self.ws)

    def _items(self, shape: ArrayShape, place: str) -> Node:
        items = self.items(shape, place, lambda each: self._element(_ITEM, each, f"{place}[]"), self.json_piece)
        return series(self.ws, items)

    def _members(self, shape: ObjectShape, place: str) -> Node:
        self.report.add_others(place, shape, OBJECT_WORDS)
        properties = self.properties(shape)
        self.check_count(shape, properties, place)
        members = (
            Member(self.json_piece(self._element(each.name, each.shape, f"{place}.{each.name}")), each.required)
            for each in properties
        )
        return series(self.ws, any_order(members))

    def _unlike_json(self, language: Regular, place: str) -> Regular:
        """Return the texts of a language that nobody takes for a list or an object."""
        with suppress(TooLarge):
            machine = automaton(And((language, Not(_LIKE_JSON))))
            if not machine.edges:
                return NOTHING
            if not self.backend.expressions or expression(machine):
                return machine
        if language != self._text.any():
            self.report.add(place, "length, pattern or format", "is not enforced for text beside lists and objects")
        return And((self._text.any(), Not(_LIKE_JSON)))

    def _ended(self, languages: list[Regular], hint: str) -> Node:
        """Return values and the mark after them as a lexeme."""
        end = literal(self._end.text)
        if hint == "str" and not self.backend.expressions:  # one automaton: nothing to choose at each <
            return self.lexeme(automaton(sequence(languages[0], end)), hint)
        return self.lexeme(sequence(choice(*languages), end), hint)

    @property
    def _end(self) -> Literal:
        return Literal(self.form.value_end)

    def _spaced(self, value: Regular) -> Regular:
        return sequence(self._edge, value, self._edge)

    def _choice(self, value: str) -> list[Regular]:
        """Return how one of several strings is written: with white space around it if that can mean nothing else."""
        if any(mark in value for mark in self._text.marks):
            return []
        if value and value.strip(SPACES) == value:
            return [self._spaced(literal(value))]
        if not self._text.framing:
            return [literal(value)]
        framed = sequence(literal("\n"), literal(value), literal("\n"))
        return [] if value.endswith("\r") else [framed] if value else [framed, literal("")]


def _is_container(shape: Shape) -> bool:
    return isinstance(shape, (ArrayShape, ObjectShape)) or (
        isinstance(shape, EnumShape) and any(isinstance(value, (list, dict)) for value in shape.values)
    )


def refuse_twins(tools: Iterable[Tool], dialect: Dialect) -> None:
    """Raise XMLToolsError for two tools of one name: no call in another dialect than Forge's names a server."""
    servers: dict[str, str] = {}
    for tool in tools:
        if tool.name in servers:
            raise XMLToolsError(
                f"the servers {servers[tool.name]!r:.80} and {tool.server!r:.80} both have a tool {tool.name!r:.80}, "
                f"and calls in {dialect.name!r} name no server; give one another name, or use 'forge'"
            )
        servers[tool.name] = tool.server
