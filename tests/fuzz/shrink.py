"""Making what breaks a law as small as it goes: fewer options, then fewer tokens, then fewer characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from support.strategies import Case

__all__ = ["Law", "first_broken", "shrink", "smallest"]

Law = Callable[[Case], None]
Item = TypeVar("Item")


def first_broken(laws: Iterable[Law], case: Case) -> Law | None:
    """Return the first law that the case breaks; any exception breaks it."""
    for law in laws:
        try:
            law(case)
        except Exception:  # law 2: nothing raises
            return law
    return None


def shrink(law: Law, case: Case) -> Case:
    """Return the smallest case found that breaks the same law."""
    for name in case.options:
        simpler = replace(case, options={key: value for key, value in case.options.items() if key != name})
        case = simpler if first_broken((law,), simpler) else case

    def breaks(tokens: list[str]) -> bool:
        return first_broken((law,), replace(case, tokens=tokens)) is not None

    tokens = smallest(case.tokens, breaks)
    return replace(case, tokens=["".join(smallest(list("".join(tokens)), breaks))])


def smallest(items: list[Item], breaks: Callable[[list[Item]], bool]) -> list[Item]:
    """Leave out runs of items, at first half of all and at last single ones, while the rest still `breaks`."""
    size = max(1, len(items) // 2)
    while True:
        at, before = 0, len(items)
        while at < len(items):
            fewer = items[:at] + items[at + size :]
            if breaks(fewer):
                items = fewer
            else:
                at += size
        if size == 1 and len(items) == before:
            return items
        size = max(1, size // 2)
