"""Validation: which values of a converted call do not fit the schema, where, and what was expected there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from xmltools.schema._document import NEVER, Document, Node
from xmltools.schema._keywords import CHECKS
from xmltools.schema._values import Path, Problem, describe, fits_type, listed

__all__ = ["Checker"]


class Checker:
    """Checks values against the nodes of one document. It remembers values: keep them alive for as long."""

    __slots__ = ("_known", "document")

    def __init__(self, document: Document) -> None:
        self.document = document
        self._known: dict[tuple[int, int], bool] = {}

    def problems(self, node: Node, value: Any, path: Path = ()) -> Iterator[Problem]:
        """Yield all that is wrong with `value`, which stands at `path`."""
        # A value of another type would only fail at everything else too.
        for keyword in ("type", NEVER):
            if keyword in node:
                wrong = list(CHECKS[keyword](self, node[keyword], node, value, path))
                if wrong:
                    yield from wrong
                    return
        for keyword, argument in node.items():
            check = CHECKS.get(keyword)
            if check and keyword != "type":
                yield from check(self, argument, node, value, path)

    def fits(self, node: Node, value: Any) -> bool:
        """Return whether `value` is valid. Answers about containers are remembered."""
        if not isinstance(value, (dict, list)):
            return next(self.problems(node, value), None) is None
        key = id(node), id(value)
        if key not in self._known:
            self._known[key] = next(self.problems(node, value), None) is None
        return self._known[key]

    def expectation(self, node: Node, depth: int = 3) -> str:
        """Return in a few words what `node` asks for."""
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

    def likely(self, nodes: list[Node], value: Any) -> Node | None:
        """Return the alternative that a container was meant for: the one of its type, or that it names."""
        if not isinstance(value, (dict, list)):
            return None
        of_type = [node for node in nodes if self.plausible(node, value)]
        if len(of_type) > 1 and isinstance(value, dict):
            of_type = [node for node in of_type if self._named_by(node, value)] or of_type
            of_type.sort(key=lambda node: len(value.keys() - node.get("properties", {}).keys()))
        return of_type[0] if of_type else None

    def plausible(self, node: Node, value: Any, depth: int = 3) -> bool:
        """Return whether the type of `value` is one that `node` asks for."""
        if "$ref" in node and depth:
            return self.plausible(self.document.target(node), value, depth - 1)
        return any(fits_type(value, name) for name in node.get("type", ())) or not node.keys() - {"description"}

    def _named_by(self, node: Node, value: Mapping[str, Any]) -> bool:
        """Return whether `value` has what `node` demands of discriminators (properties with one value)."""
        properties = self._resolved(node).get("properties", {})
        fixed = [name for name, each in properties.items() if "const" in each or "enum" in each]
        return all(name in value and self.fits(properties[name], value[name]) for name in fixed)

    def _resolved(self, node: Node) -> Node:
        for _ in range(3):
            if "$ref" in node:
                node = self.document.target(node)
        return node
