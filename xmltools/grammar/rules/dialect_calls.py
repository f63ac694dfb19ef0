"""Calls in other dialects than Forge's: names and values between marks, or JSON.

There are three kinds of calls: pairs of names and values, a name and an object of JSON, and an object of JSON with the
name in it. Blocks hold one call or several. All literal text comes from the dialect's record (`written_form`).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial

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
from xmltools.grammar.rules.json_text import JsonText, style_between
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
from xmltools.grammar.rules.written_form import WrittenForm, refuse_unreadable, written_form
from xmltools.grammar.schema_values import valid_values
from xmltools.grammar.text_tree import (
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
from xmltools.syntax.markup import SPACES
from xmltools.tools import Tool
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    properties_of,
    text_facts,
)

_LIKE_JSON = sequence(star(chars(SPACES)), chars("[{`"), ANYTHING)
"""Text that a reader may take for a list or an object, where the schema has one beside a string."""


class DialectCalls(Rules):
    """Makes the rules for calls in a dialect."""

    def __init__(self, options: Options, backend: Backend) -> None:
        super().__init__(options, backend)
        self.form = written_form(options.dialect)
        self._dialect = self.form.dialect
        self._pairs = self._dialect.pairs
        marks = () if self.form.json else value_marks(self._dialect)
        framing = self._pairs is not None and self._pairs.framing
        self._text = Marked(marks, framing)
        self._strings = Strings(self._text, backend, MAX_COUNT)
        self._style = style_between(marks, options.white_space)
        self._json = JsonText(self, self._style)
        # Around values that are no text there may be a line break that frames them.
        self._edge = Repeat(chars("\n"), 0, 1) if framing and options.white_space == 0 else self.spaces

    # Blocks

    def block(self, calls: Node, most: int | None) -> Node:
        """Return what comes after the mark with which a block begins; in it there are at most so many calls."""
        closer = self._dialect.closer
        if not closer:
            return calls
        if self._dialect.many:
            calls = Repetition(series(calls, self.ws), 1, most)
            return series(self.ws, calls, Literal(closer))
        return series(self.ws, calls, self.ws, Literal(closer))

    def bare(self, calls: Node, most: int | None) -> Node:
        """Return a reply that consists of calls without marks."""
        more = series(self.ws, Literal(self._dialect.separator), self.ws, calls)
        return series(calls, Repetition(more, 0, None if most is None else most - 1))

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
            gap, inner = self.ws, self._arguments(tool, prefix)
        self.fill_later()
        head = series(*(series(Literal(part), gap) for part in self.form.head(tool.name)))
        self.grammar.rules[own] = series(head, inner, gap if self.form.tail else series(), Literal(self.form.tail))
        return Reference(own)

    # Arguments

    def _shapes(self, tool: Tool) -> list[ObjectShape]:
        """Return the shapes of the arguments."""
        for word in ("enum", "const"):  # of a value that is no object these make another shape
            if any(word in part for part in tool.shape.parts):
                self.report.add("", word, "is not enforced")
        forms = tool.shape.forms
        self.note_union(forms, "")
        found = [each for each in forms.alternatives if isinstance(each, ObjectShape) and self.has_values(each)]
        if not found:
            self.report.add("", "the schema", "has no value that can be written; the arguments are empty")
        return found

    def _json_arguments(self, tool: Tool) -> Node:
        nodes: list[Node] = []
        for shape in self._shapes(tool):
            if properties_of(shape) or is_map(shape):
                nodes.append(self._json.one(shape, ""))
            else:
                self._note_others(shape, [])
                nodes.append(series(Literal("{"), self._json.space, Literal("}")))
        return alternatives(*nodes) if nodes else series(Literal("{"), self._json.space, Literal("}"))

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
        properties = [each for each in properties_of(shape) if self.has_values(each.shape)]
        self._note_others(shape, properties)
        members = [self._member(each, f"{own}-{letters(number)}") for number, each in enumerate(properties)]
        inner = series(*(each.node if each.required else maybe(each.node) for each in members))
        return Permutation(tuple(members)) if len(members) > 1 else inner

    def _note_others(self, shape: ObjectShape, properties: list[Property]) -> None:
        """Take down what the schema demands of the arguments, of which these are written."""
        self.report.add_others("", shape, OBJECT_WORDS)
        self.check_count(shape, properties, "")
        if is_map(shape):
            self.report.add("", "additionalProperties", "only the properties that are named are generated")

    def _member(self, of: Property, name: str) -> Member:
        refuse_unreadable(self.form, of.name, "an argument")
        self.grammar.rules[name] = Series(())  # keeps its place in front of what it is made of
        self.grammar.rules[name] = series(self._pair(of.name, of.shape), self.ws)
        return Member(Reference(name), of.required)

    def _pair(self, name: str, shape: Shape) -> Node:
        """Return a name and its value. Where an attribute says whether that is text, there are two kinds of pairs."""
        assert self._pairs is not None
        text, data = self._value(shape, name)
        kinds = [(text, True), (data, False)]
        if not self._pairs.kind:
            kinds = [(alternatives(*(node for node in (text, data) if node is not None)), True)]
        pairs = []
        for node, is_text in kinds:
            if node is not None:
                *first, last = self.form.key(name, is_text=is_text)
                pairs.append(series(*(series(Literal(part), self.ws) for part in first), Literal(last), node))
        return alternatives(*pairs)

    # Values, each with the mark that ends it

    def _value(self, shape: Shape, place: str) -> tuple[Node | None, Node | None]:
        """Return how a value is written as text, and how it is written as JSON, as far as there are such values."""
        self.note_union(shape, place)
        nodes: list[Node] = []
        texts: list[Regular] = []
        others: list[Regular] = []
        has_kinds = self._pairs is not None and self._pairs.kind != ""
        shapes = [each for each in shape.alternatives if self.has_values(each)]
        has_containers = any(map(_is_container, shapes))
        for each in shapes:
            if isinstance(each, (ArrayShape, ObjectShape)):
                nodes.append(series(self._json.space, self._json.one(each, place), self._json.space, self._end))
            elif isinstance(each, ScalarShape):
                self.report.add_others(place, each, NUMBER_WORDS)
                others.append(self._spaced(scalars(each)))
            elif isinstance(each, EnumShape):
                for value in valid_values(each):
                    if isinstance(value, str):
                        texts += self._choice(value)
                    else:
                        others.append(self._spaced(literal(self._style.literal(value))))
            else:
                self.report.add_others(place, each, TEXT_WORDS)
                facts = text_facts(each)
                language = self._strings.spellings(facts, place, self.report)
                language = self._text.any(filled=facts.low == 1) if language is None else language
                if has_containers and not has_kinds:
                    language = self._unlike_json(language, place)
                texts += [language] if language != NOTHING else []
                if each.is_any and has_kinds:
                    nodes.append(series(self._json.space, self._json.one(each, place), self._json.space, self._end))
        if not (nodes or texts or others):
            self.report.add(place, "the schema", "has no value that can be written; any string is")
            texts = [self._text.any()]
        return self._joined(texts, others, nodes, has_kinds)

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

    def _joined(
        self, texts: list[Regular], others: list[Regular], nodes: list[Node], has_kinds: bool
    ) -> tuple[Node | None, Node | None]:
        """Return the languages as one lexeme, so that an engine never has to choose between two; or as one a kind."""
        if not has_kinds:
            texts, others = [*texts, *others], []
        text = self._ended(texts, "str" if texts == [self._text.any()] else "text") if texts else None
        data = [self._ended(others, "value")] if others else []
        return text, alternatives(*data, *nodes) if data or nodes else None

    def _ended(self, languages: list[Regular], hint: str) -> Node:
        """Return values and the mark after them as a lexeme."""
        end = literal(self._end.text)
        if hint == "str" and not self.backend.expressions:  # one automaton: nothing to choose at each <
            return self.lexeme(automaton(sequence(languages[0], end)), hint)
        return self.lexeme(sequence(choice(*languages), end), hint)

    @property
    def _end(self) -> Literal:
        assert self._pairs is not None
        return Literal(self._pairs.value_end)

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


def refuse_twins(tools: Iterable[Tool], form: WrittenForm) -> None:
    """Raise XMLToolsError for two tools of one name: no call in another dialect than Forge's names a server."""
    servers: dict[str, str] = {}
    for tool in tools:
        if tool.name in servers:
            raise XMLToolsError(
                f"the servers {servers[tool.name]!r:.80} and {tool.server!r:.80} both have a tool {tool.name!r:.80}, "
                f"and calls in {form.dialect.name!r} name no server; give one another name, or use 'forge'"
            )
        servers[tool.name] = tool.server
