"""Lists in RELAX NG: how many items one holds, as far as they are counted. RELAX NG itself counts nothing."""

from __future__ import annotations

from collections.abc import Sequence

from xmltools.grammar.issues import Report
from xmltools.grammar.relaxng.printing import Rule, group, optional
from xmltools.tools.schema import ANY, NEVER, ArrayShape, Items, items_of

MAX_ITEMS = 50
"""Items of a list that are counted."""


def countable(shape: ArrayShape, report: Report, path: str) -> Items:
    """Return what a list holds, with bounds of at most MAX_ITEMS. What is beyond them is reported."""
    items = _possible(shape)
    counts = {"prefixItems": len(items.first), "minItems": items.low, "maxItems": items.high or 0}
    for word in (word for word, count in counts.items() if count > MAX_ITEMS):
        report.add(path, word, f"no more than {MAX_ITEMS} items are counted")
    low, high = min(items.low, MAX_ITEMS), items.high
    if len(items.first) > MAX_ITEMS:
        return Items(items.first[:MAX_ITEMS], ANY, low, None)
    if high is not None and high > MAX_ITEMS:
        return Items(items.first, items.rest, low, None)
    return Items(items.first, items.rest, items.low if high is not None else low, high)


def _possible(shape: ArrayShape) -> Items:
    """Return what a list holds: nothing from the first item on that no value fits."""
    items = items_of(shape)
    ends = [
        at
        for part in shape.parts
        for at, node in enumerate(part.get("prefixItems", ())[: len(items.first)])
        if NEVER in node
    ]
    return Items(items.first[: min(ends)], None, items.low, min(ends)) if ends else items


def in_order(items: Sequence[Rule], tail: Rule, low: int) -> Rule:
    """Return items one after the other, and the tail after all of them; `low` of them must be there."""
    for at in reversed(range(len(items))):
        tail = group(items[at], tail) if at < low else optional(group(items[at], tail))
    return tail
