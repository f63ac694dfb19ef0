"""The rules of a grammar while they are made: each is begun before what it refers to, and none is too deep."""

from __future__ import annotations

from collections.abc import Callable

from xmltools.grammar.issues import Report
from xmltools.grammar.lower.elements import SPACE
from xmltools.grammar.nodes import Grammar, Lexeme, Literal, Node, Series
from xmltools.grammar.options import Backend, Options
from xmltools.grammar.possible import Possible
from xmltools.grammar.regular.numbers import integers, numbers
from xmltools.grammar.regular.regular import EMPTY, Regular, Repeat, choice, literal
from xmltools.tools.schema import ScalarShape, Shape, bounds_of, other_keywords

__all__ = ["NUMBER_WORDS", "Rules", "scalars"]

NUMBER_WORDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
_MAX_DEPTH = 16
"""Rules that are made inside each other; those below are made later, so that deep schemas don't fill the stack."""


class Rules:
    """The grammar, and what all share who make rules for it. `report` is about the tool whose rules are being made."""

    __slots__ = (
        "_depth",
        "_hints",
        "_later",
        "_lexemes",
        "backend",
        "grammar",
        "options",
        "possible",
        "report",
        "spaces",
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
        self._depth = 0
        self._later: list[tuple[str, Callable[[], Node]]] = []
        self._lexemes: dict[Regular, str] = {}
        self._hints: dict[str, int] = {}

    def fill(self, own: str, make: Callable[[], Node]) -> None:
        """Make the rule `own`: now, or later if that would be too deep."""
        self.grammar.rules[own] = Series(())  # keeps its place in front of what it is made of
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

    def lexeme(self, language: Regular, hint: str) -> Node:
        """Return a lexeme for a language; equal ones bear one name."""
        if language == EMPTY:
            return Literal("")
        if language not in self._lexemes:
            taken = self._hints[hint] = self._hints.get(hint, 0) + 1
            self._lexemes[language] = hint if taken == 1 else f"{hint}{taken}"
        return Lexeme(self._lexemes[language], language)

    def report_others(self, shape: Shape, place: str, known: frozenset[str], where: str = "") -> None:
        """Report the keywords that restrict values of the shape, but for those that are known here."""
        for word in other_keywords(shape, known):
            self.report.add(place, word, f"is not enforced{where}")


def scalars(shape: ScalarShape) -> Regular:
    """Return how integers, numbers, booleans or null are written, within the bounds that the schema has."""
    bounds = bounds_of(shape)
    if shape.type == "integer":
        return integers(*bounds.for_integers())
    if shape.type == "number":
        return numbers(bounds.low, bounds.high, bounds.low_open, bounds.high_open)
    return choice(literal("true"), literal("false")) if shape.type == "boolean" else literal("null")
