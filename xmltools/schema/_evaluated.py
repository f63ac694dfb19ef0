"""What the schemas of a value have looked at: `unevaluatedProperties` and `unevaluatedItems` get the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from xmltools.schema._document import Document, Node

if TYPE_CHECKING:
    from xmltools.schema._check import Checker

__all__ = ["evaluated_items", "evaluated_properties", "matching"]

MAX_NAME = 10_000
"""Characters of a name in which patterns are looked for."""


def matching(document: Document, patterns: Any, name: str) -> list[str]:
    """Return those of the `patterns` of names that `name` matches."""
    return [each for each in patterns if document.patterns[each].search(name[:MAX_NAME])]


def evaluated_properties(checker: Checker, node: Node, value: dict[str, Any]) -> set[str]:
    """Return the properties of `value` that `node`, or what applies with it, describes."""
    if "additionalProperties" in node:
        return set(value)
    patterns = node.get("patternProperties", ())
    found = {name for name in value if name in node.get("properties", ())}
    found |= {name for name in value if matching(checker.document, patterns, name)}
    for each in _applied(checker, node, value):
        found |= set(value) if "unevaluatedProperties" in each else evaluated_properties(checker, each, value)
    return found


def evaluated_items(checker: Checker, node: Node, value: list[Any]) -> set[int]:
    """Return the positions in `value` that `node`, or what applies with it, describes."""
    if "items" in node:
        return set(range(len(value)))
    found = set(range(min(len(value), len(node.get("prefixItems", ())))))
    if "contains" in node:
        found |= {number for number, item in enumerate(value) if checker.fits(node["contains"], item)}
    for each in _applied(checker, node, value):
        found |= set(range(len(value))) if "unevaluatedItems" in each else evaluated_items(checker, each, value)
    return found


def _applied(checker: Checker, node: Node, value: Any) -> Iterator[Node]:
    """Yield the nodes that apply to the same value and that it fits."""
    nodes = [each for word in ("allOf", "anyOf", "oneOf") for each in node.get(word, ())]
    if "$ref" in node:
        nodes.append(checker.document.target(node))
    if "if" in node:
        nodes.append(node["if"])
        nodes.append(node.get("then" if checker.fits(node["if"], value) else "else", {}))
    nodes += (each for name, each in node.get("dependentSchemas", {}).items() if name in value)
    return (each for each in nodes if checker.fits(each, value))
