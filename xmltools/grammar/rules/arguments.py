"""From shapes to the text tree: what stands between the tags of a value, and of a whole call.

Every list and object gets a rule, so that recursive schemas are recursive rules. All spellings of a value that are
no elements (numbers, choices, strings with constraints) are one lexeme: engines that cut text into tokens before they
look at the grammar then never have to choose between two of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from xmltools.dialects import FORGE, Dialect
from xmltools.errors import XMLToolsError
from xmltools.grammar.issues import Report
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.regular.regular import (
    EMPTY,
    NOTHING,
    Regular,
    Repeat,
    chars,
    choice,
    is_empty,
    sequence,
)
from xmltools.grammar.rules.json_text import JsonText
from xmltools.grammar.rules.shared import (
    MAX_COUNT,
    NUMBER_WORDS,
    OBJECT_WORDS,
    TEXT_WORDS,
    Rules,
    is_map,
    letters,
    scalars,
    step,
)
from xmltools.grammar.rules.strings import InTags, Strings, cdata_section, plain_text, value_spellings
from xmltools.grammar.text_tree import Lexeme, Literal, Member, Node, Reference, alternatives, any_order, series
from xmltools.render.writable import escape_name, is_hidden, refuse_unsayable
from xmltools.syntax.markup import is_xml_name
from xmltools.tools import Tool
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    Property,
    ScalarShape,
    Shape,
    item_name,
    properties_of,
    text_facts,
)


class Builder(Rules):
    """Makes the rules for the arguments of tools. What all tools share, such as free strings, is made once."""

    def __init__(self, options: Options, backend: Backend, tags: frozenset[str] = frozenset()) -> None:
        super().__init__(options, backend)
        self._tags = tags
        """Names of elements that begin calls, in small letters: no argument can have one."""
        self._strings = Strings(InTags(options.cdata, options.spared_end_tag), backend, MAX_COUNT)
        self._tool = ""
        self._rules: dict[tuple[int, str], str] = {}

    def arguments(self, tool: Tool, prefix: str, report: Report) -> Node:
        """Return what stands inside `<arguments>` of a call of the tool. `prefix` begins the names of its rules."""
        self.report = report
        self._tool = prefix
        self._rules = {}
        self.note_values(tool)
        inner = self.contents(tool.shape.forms, FORGE.arguments if self.options.is_forge else tool.name, "")
        self.fill_later()
        return inner

    # Contents: what stands between the tags of a value

    def contents(self, shape: Shape, name: str, place: str) -> Node:
        """Return the contents of an element called `name`."""
        nodes: list[Node] = []
        leaves: list[tuple[str, Regular]] = []
        free = False
        self.note_union(shape, place)
        for each in filter(self.has_values, shape.alternatives):
            if isinstance(each, ArrayShape):
                nodes.append(self.rule(each, name, partial(self.array, each, name, place)))
            elif isinstance(each, ObjectShape):
                nodes.append(self._object_or_map(each, name, place, shape))
            elif isinstance(each, ScalarShape):
                self.report.add_others(place, each, NUMBER_WORDS)
                leaves.append((each.type, self._spaced(scalars(each))))
            elif isinstance(each, EnumShape):
                loose, exact = value_spellings(each, self.options.cdata, self.options.spared_end_tag)
                leaves += [("choice", self._spaced(choice(*loose)))] if loose else []
                leaves += [("choice", choice(*exact))] if exact else []
            else:
                facts = text_facts(each)
                self.report.add_others(place, each, TEXT_WORDS)
                language = self._strings.spellings(facts, place, self.report)
                if language is None and facts.low == 1:
                    nodes.append(self.free_text(filled=True))
                elif language is None:
                    free = True
                elif language != NOTHING:
                    leaves.append(("text", language))
        if free:
            # Whatever else is no element is a string, too: the reader takes the first alternative that fits.
            nodes.insert(0, self.free_text())
        elif leaves:
            language = choice(*(EMPTY if is_empty(language) else language for _, language in leaves))
            nodes.insert(0, self.lexeme(language, leaves[0][0] if len(leaves) == 1 else "value"))
        return alternatives(*nodes) if nodes else self._impossible(place)

    def _object_or_map(self, shape: ObjectShape, name: str, place: str, union: Shape) -> Node:
        """Return the contents of an object, which may be one of several: `union` are all of them."""
        if is_map(shape):
            return JsonText(self).spaced(shape, place)
        hiding = self.options.is_forge and not place and any(is_hidden(each, shape, FORGE) for each in shape.required)
        is_taken = self.options.is_forge and union.has_property(FORGE.argument)
        key = (name if hiding else "") + (f" {FORGE.argument}" if is_taken else "")
        return self.rule(shape, key, partial(self.object, shape, place, is_taken))

    def _spaced(self, value: Regular) -> Regular:
        return sequence(self.spaces, value, self.spaces)

    def _impossible(self, place: str) -> Node:
        self.note_impossible(place)
        return self.free_text() if place else self.ws

    def element(self, name: str, shape: Shape, place: str, *, by_name: bool = False) -> Node:
        """Return an element with its tags; null may be an attribute. `by_name`: the name is an attribute, too."""
        refuse_unsayable(name, "an argument")
        tag, start = name, name
        if not self.options.is_forge:
            refuse_no_tag(name, "an argument", self.options.dialect, self._tags)
        elif by_name or not is_xml_name(name):
            tag, start = FORGE.argument, f'{FORGE.argument} {FORGE.argument_name}="{escape_name(name)}"'
        filled = series(Literal(f"<{start}>"), self.contents(shape, name, place), Literal(f"</{tag}>"))
        if self.options.dialect.nil and any(_is_null(each) for each in shape.alternatives):
            return alternatives(filled, Literal(f'<{start} {FORGE.nil}="true"/>'))
        return filled

    def rule(self, shape: Shape, name: str, node: Callable[[str], Node]) -> Reference:
        """Return the rule of a container, made by `node(rule name)` when it is first asked for.

        Takes what the names of its children depend on: the name of a list, or of arguments.
        """
        key = id(shape), name
        if key not in self._rules:
            own = self._rules[key] = self._name()
            self.fill(own, lambda: node(own))
        return Reference(self._rules[key])

    def _name(self) -> str:
        return f"{self._tool}-{len(self._rules) + 1}" if self._rules else self._tool

    # Containers

    def array(self, shape: ArrayShape, name: str, place: str, own: str) -> Node:
        """Return the items of a list."""
        inner, path = item_name(name), f"{place}[]"
        items = self.items(
            shape, place, lambda each: series(self.element(inner, each, path), self.ws), partial(self._piece, own)
        )
        return series(self.ws, items)

    def _piece(self, own: str, node: Node) -> Node:
        """Put a part of a rule into one of its own."""
        count = 0
        while (name := f"{own}-{letters(count)}") in self.grammar.rules:
            count += 1
        return self.define(name, lambda: node)

    def object(self, shape: ObjectShape, place: str, is_taken: bool, own: str) -> Node:
        """Return the properties of an object, in any order. `is_taken`: an element `argument` is a property here."""
        self.report.add_others(place, shape, OBJECT_WORDS)
        properties = [each for each in properties_of(shape) if self._is_sayable(each, is_taken, place)]
        self.check_count(shape, properties, place)
        members = (self._member(shape, each, place, f"{own}-{letters(n)}") for n, each in enumerate(properties))
        return series(self.ws, any_order(members))

    def _is_sayable(self, of: Property, is_taken: bool, place: str) -> bool:
        if not self.has_values(of.shape):
            return False
        if is_xml_name(of.name) or not is_taken:
            return True
        path = step(place, of.name)
        self.report.add(path, "properties", f"is left out: beside {FORGE.argument!r} no element can bear this name")
        return False

    def _member(self, shape: ObjectShape, of: Property, place: str, name: str) -> Member:
        by_name = not place and is_hidden(of.name, shape, FORGE)

        def make() -> Node:
            return series(self.element(of.name, of.shape, step(place, of.name), by_name=by_name), self.ws)

        return Member(self.define(name, make), of.required)

    def free_text(self, *, filled: bool = False) -> Node:
        """Return the rule of a string without constraints; `filled`: that is not empty."""
        return self.define("filledstr", self._filled_text) if filled else self.define("str", self._any_text)

    def _any_text(self) -> Node:
        plain, section = self._plain(), self._section()
        if self.options.cdata == "forbidden":
            return plain
        if self.options.cdata == "required":
            return Repeat(section)
        return series(plain, Repeat(series(section, plain)))

    def _filled_text(self) -> Node:
        plain, section = Lexeme("filledplain", plain_text(filled=True)), self._section(filled=True)
        if self.options.cdata == "forbidden":
            return plain
        if self.options.cdata == "required":
            return Repeat(section, 1)
        rest = Repeat(series(self._section(), self._plain()))
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


def refuse_no_tag(name: str, what: str, dialect: Dialect, taken: frozenset[str] = frozenset()) -> None:
    """Raise XMLToolsError for a name that no element of a call can bear, in a dialect in which a tag says the tool.

    `taken` are the names of tools, in small letters.
    """
    if name.lower() in taken:
        raise XMLToolsError(f"{name!r:.80} is the name of {what} and of a tool, whose calls begin with it; rename one")
    if not (_TAG_NAME.fullmatch(name) and (what == "a tool" or is_xml_name(name))):
        raise XMLToolsError(
            f"{name!r:.80} is no name for {what} that a call in {dialect.name!r} could say; "
            "rename it, or use another dialect"
        )


_TAG_NAME = re.compile(r"[^\W\d](?:[\w.:-]*\w)?")
