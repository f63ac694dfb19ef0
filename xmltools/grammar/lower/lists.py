"""Lists, as far as grammars count them: first items with schemas of their own, then others, between two counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from xmltools.grammar.issues import Report
from xmltools.grammar.nodes import Node, maybe, series
from xmltools.grammar.possible import Possible
from xmltools.tools.schema import ArrayShape, Items, items_of

__all__ = ["MAX_COUNT", "chain", "countable"]

MAX_COUNT = 1_000
"""The largest number of repetitions that is counted: llama.cpp refuses 2,000 and more, whoever holds them."""
MAX_FIRST = 100
"""Items that may each have a schema of their own."""
_STEP = 8
"""Items of a chain that stand in one rule: engines refuse brackets that nest too deep."""


def countable(shape: ArrayShape, possible: Possible, place: str, report: Report) -> Items:
    """Return what a list may hold: no items without a value, no counts beyond MAX_COUNT. The rest is reported."""
    items = items_of(shape)
    low, high = items.low, items.high
    if max(low, high or 0) > MAX_COUNT:
        report.add(place, "minItems or maxItems", f"more than {MAX_COUNT:,} items are not counted")
        low, high = min(low, MAX_COUNT), None if (high or 0) > MAX_COUNT else high
    first = tuple(takewhile(possible, items.first))
    goes_on = len(first) == len(items.first) and items.rest is not None and possible(items.rest)
    if len(first) > MAX_FIRST:
        report.add(place, "prefixItems", f"no more than the first {MAX_FIRST} items are generated")
        return Items(first[:MAX_FIRST], None, min(low, MAX_FIRST), MAX_FIRST)
    return Items(first, items.rest if goes_on else None, low, high)


def chain(items: Sequence[Node], tail: Node, low: int, rule: Callable[[Node], Node]) -> Node:
    """Return items one after the other, and the tail after all of them; `low` of them must be there.

    `rule` puts a node into a rule of its own and returns what refers to it.
    """
    for number in reversed(range(len(items))):
        tail = series(items[number], tail)
        if number >= low:
            tail = maybe(tail)
        if number and number % _STEP == 0:
            tail = rule(tail)
    return tail
