"""Reading elements that no schema describes: strings, lists and objects, as the tags say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xmltools.syntax.elements import Element
from xmltools.tools.schema.item_names import ITEM, singular_of

__all__ = ["by_name", "untyped", "untyped_object"]


def untyped(element: Element) -> Any:
    """Return the value of an element that no schema describes: a string, list or object."""
    if element.nil:
        return None
    if not element.children:
        return element.text
    tags = {child.name for child in element.children}
    if len(tags) == 1 and tags <= {ITEM, *singular_of(element.name)}:
        return [untyped(child) for child in element.children]
    return untyped_object(element.children)


def untyped_object(children: Iterable[Element]) -> dict[str, Any]:
    """Return elements as an object, in which a repeated name has a list."""
    groups = by_name(children)
    return {name: untyped(group[0]) if len(group) == 1 else list(map(untyped, group)) for name, group in groups.items()}


def by_name(elements: Iterable[Element]) -> dict[str, list[Element]]:
    """Return the elements of each name, names in the order of their first."""
    groups: dict[str, list[Element]] = {}
    for element in elements:
        groups.setdefault(element.name, []).append(element)
    return groups
