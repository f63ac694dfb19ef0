"""What the schemas of a value have looked at: `unevaluatedProperties` and `unevaluatedItems` get the rest.

These are generators that ask the checker, as the checks of keywords are, and return what they find.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from xmltools.tools.schema.document import Document, Node
from xmltools.tools.schema.requests import Ask

if TYPE_CHECKING:
    from xmltools.tools.schema.check import Checker

__all__ = ["evaluated_items", "evaluated_properties", "matching"]


def matching(document: Document, patterns: Any, name: str) -> list[str]:
    """Return those of the `patterns` of names that `name` matches."""
    return [each for each in patterns if document.patterns[each].found(name)]


def evaluated_properties(
    checker: Checker, node: Node, value: dict[str, Any]
) -> Generator[Ask, bool | None, frozenset[str]]:
    """Return the properties of `value` that `node`, or what applies with it, describes."""
    if "additionalProperties" in node:
        return frozenset(value)
    key = id(node), id(value)
    known: frozenset[str] | None = checker.evaluated.get(key)
    if known is not None:
        return known
    patterns = node.get("patternProperties", ())
    found = {name for name in value if name in node.get("properties", ())}
    found |= {name for name in value if patterns and matching(checker.document, patterns, name)}
    for each in (yield from _applied(checker, node, value)):
        every = "unevaluatedProperties" in each
        found |= value.keys() if every else (yield from evaluated_properties(checker, each, value))
    checker.evaluated[key] = frozenset(found)
    return frozenset(found)


def evaluated_items(checker: Checker, node: Node, value: list[Any]) -> Generator[Ask, bool | None, frozenset[int]]:
    """Return the positions in `value` that `node`, or what applies with it, describes."""
    if "items" in node:
        return frozenset(range(len(value)))
    key = id(node), id(value)
    known: frozenset[int] | None = checker.evaluated.get(key)
    if known is not None:
        return known
    found = set(range(min(len(value), len(node.get("prefixItems", ())))))
    if "contains" in node:
        for number, item in enumerate(value):
            if (yield Ask(node["contains"], item)):
                found.add(number)
    for each in (yield from _applied(checker, node, value)):
        every = "unevaluatedItems" in each
        found |= set(range(len(value))) if every else (yield from evaluated_items(checker, each, value))
    checker.evaluated[key] = frozenset(found)
    return frozenset(found)


def _applied(checker: Checker, node: Node, value: Any) -> Generator[Ask, bool | None, list[Node]]:
    """Return the nodes that apply to the same value and that it fits."""
    nodes = [each for word in ("allOf", "anyOf", "oneOf") for each in node.get(word, ())]
    if "$ref" in node:
        nodes.append(checker.document.target(node))
    if "if" in node:
        nodes.append(node["if"])
        nodes.append(node.get("then" if (yield Ask(node["if"], value)) else "else", {}))
    nodes += (each for name, each in node.get("dependentSchemas", {}).items() if name in value)
    fitting = []
    for each in nodes:
        if (yield Ask(each, value)):
            fitting.append(each)  # noqa: PERF401 - no comprehension may yield
    return fitting
