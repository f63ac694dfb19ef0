"""What stands between the tags of one value: its alternatives, gathered into one node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xmltools.dialects import FORGE
from xmltools.grammar.lower.enums import value_spellings
from xmltools.grammar.lower.json_text import JsonText
from xmltools.grammar.nodes import Node, alternatives
from xmltools.grammar.regular.numbers import integers, numbers
from xmltools.grammar.regular.regular import EMPTY, NOTHING, Regular, choice, is_empty, literal, sequence
from xmltools.render.names import is_hidden
from xmltools.tools.schema import (
    ArrayShape,
    EnumShape,
    ObjectShape,
    ScalarShape,
    Shape,
    bounds_of,
    other_keywords,
    properties_of,
    text_facts,
)

if TYPE_CHECKING:
    from xmltools.grammar.lower.tools import Builder

__all__ = ["Contents"]


class Contents:
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
            self._array(shape)
        elif isinstance(shape, ObjectShape):
            self._object(shape)
        else:
            self._text(shape)

    def _array(self, shape: ArrayShape) -> None:
        builder, name, place = self._builder, self._name, self._place
        self._nodes.append(builder.rule(shape, name, lambda own: builder.array(shape, name, place, own)))

    def _object(self, shape: ObjectShape) -> None:
        builder, place = self._builder, self._place
        if _is_map(shape):
            self._nodes.append(JsonText(builder).map(shape, place))
        else:
            hiding = not place and any(is_hidden(each, shape, FORGE) for each in shape.required)
            name = self._name if hiding else ""
            self._nodes.append(builder.rule(shape, name, lambda own: builder.object(shape, place, own)))

    def _text(self, shape: Shape) -> None:
        facts = text_facts(shape)
        for word in other_keywords(shape, frozenset(("minLength", "maxLength", "pattern", "format"))):
            self._builder.report.add(self._place, word, "is not enforced")
        language = self._builder.strings.spellings(facts, self._place, self._builder.report)
        if language == NOTHING:
            return
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
        options = self._builder.options
        loose, exact = value_spellings(shape, options.cdata, options.spared_end_tag)
        if loose:
            self._leaf(self._spaced(choice(*loose)), "choice")
        if exact:
            self._leaf(choice(*exact), "choice")

    def _spaced(self, value: Regular) -> Regular:
        return sequence(self._builder.spaces, value, self._builder.spaces)

    def _leaf(self, language: Regular, hint: str) -> None:
        self._languages.append(EMPTY if is_empty(language) else language)
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
            return self._impossible()
        return alternatives(*found)

    def _impossible(self) -> Node:
        report = self._builder.report
        if not self._place:  # text in `<arguments>` would be no argument
            report.add("", "the schema", "has no value that can be written; the arguments are empty")
            return self._builder.ws
        report.add(self._place, "the schema", "has no value that can be written; any string is")
        return self._builder.free_text()


def _is_map(shape: ObjectShape) -> bool:
    """Return whether an object has properties of any name, and none that is declared."""
    # Who writes `"properties": {}` and nothing of others means an object without any.
    if any("properties" in part for part in shape.parts) and not any(
        part.get("additionalProperties") for part in shape.parts
    ):
        return False
    return not properties_of(shape) and not any("never" in part.get("additionalProperties", ()) for part in shape.parts)
