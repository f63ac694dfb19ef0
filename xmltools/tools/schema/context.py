"""What the check of a keyword may ask for while it runs.

Checks do not call each other: they are generators that yield problems and these requests, and the checker runs them one
after the other. So values may nest as deep as they like, and the checker remembers what it has seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

from xmltools.tools.schema.document import Document, Node
from xmltools.tools.schema.equality import Path, Problem, describe, is_one_of, listed


class Ask(NamedTuple):
    """Does the value fit the node? The answer is sent back."""

    node: Node
    value: Any
    path: None = None


class Sub(NamedTuple):
    """Report all problems that the value, which stands at `path`, has with the node. The answer means nothing."""

    node: Node
    value: Any
    path: Path


Steps = Generator[Problem | Ask | Sub, bool | None, None]
"""A check that runs."""


class Context(ABC):
    """What checks know besides the value: the document, what it says of names and alternatives, and what was found."""

    __slots__ = ("_expected", "document", "evaluated")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.evaluated: dict[tuple[int, int], Any] = {}
        """What nodes say about properties and items of values, by the identities of both."""
        self._expected: dict[tuple[int, int], str] = {}

    @abstractmethod
    def explained(self, node: Node, name: str) -> list[Problem]:
        """Return what is wrong with a name, for a check that runs."""

    def expectation(self, node: Node, depth: int = 3) -> str:
        """Return in a few words what `node` asks for."""
        key = id(node), depth
        if key not in self._expected or id(node) not in self.document.linked:
            self._expected[key] = self._expectation(node, depth)
        return self._expected[key]

    def _expectation(self, node: Node, depth: int) -> str:
        if "const" in node:
            return describe(node["const"])
        if "enum" in node:
            return "one of " + listed(node["enum"])
        if "type" in node:
            return " or ".join(node["type"])
        if "$ref" in node and depth:
            return self.expectation(self.document.target(node), depth - 1)
        for word in ("anyOf", "oneOf"):
            if word in node and depth:
                return " or ".join(dict.fromkeys(self.expectation(each, depth - 1) for each in node[word]))
        return "a value"

    def choose(self, nodes: list[Node], value: Any) -> Generator[Ask, bool | None, Node | None]:
        """Ask what must be known for `likely`, and return what that returns."""
        if not isinstance(value, (dict, list)):
            return None
        of_type = [node for node in nodes if self.plausible(node, value)]
        if len(of_type) > 1 and isinstance(value, dict):
            named = []
            for node in of_type:
                if (yield from self._named_by(node, value)):
                    named.append(node)  # noqa: PERF401 - no comprehension may yield
            of_type = named or of_type
            of_type.sort(key=lambda node: len(value.keys() - node.get("properties", {}).keys()))
        return of_type[0] if of_type else None

    def plausible(self, node: Node, value: Any, depth: int = 3) -> bool:
        """Return whether the type of `value` is one that `node` asks for."""
        if "$ref" in node and depth:
            return self.plausible(self.document.target(node), value, depth - 1)
        return is_one_of(value, node.get("type", ())) or not node.keys() - {"description"}

    def _named_by(self, node: Node, value: Mapping[str, Any]) -> Generator[Ask, bool | None, bool]:
        """Return whether `value` has what `node` demands of discriminators (properties with one value)."""
        properties = self._resolved(node).get("properties", {})
        for name, each in properties.items():
            if ("const" in each or "enum" in each) and not (name in value and (yield Ask(each, value[name]))):
                return False
        return True

    def _resolved(self, node: Node) -> Node:
        for _ in range(3):
            if "$ref" in node:
                node = self.document.target(node)
        return node
