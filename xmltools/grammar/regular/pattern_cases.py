"""Parts of patterns with their anchors, which are kept as conditions.

A part is a dictionary with up to four languages: what the part matches if it insists that it stands at the text's
start, at its end, at both, at neither. Where two parts meet, what stands before one that insists on the start can only
be empty, and so can what comes after one that insists on the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from xmltools.grammar.regular.regular import EMPTY, NOTHING, Regular, Repeat, choice, nullable, sequence

__all__ = ["FREE", "Cases", "only_empty", "repeated", "then", "united", "up_to"]

Cases = dict[tuple[bool, bool], Regular]
"""Languages by: does it insist on the text's start, on its end?"""
FREE = (False, False)
"""The case that insists on neither."""


def united(found: Iterable[tuple[tuple[bool, bool], list[Regular]]]) -> Cases:
    """Return the cases with a choice of all that was found for each; those that nothing fits are left out."""
    parts: dict[tuple[bool, bool], list[Regular]] = {}
    for key, each in found:
        parts.setdefault(key, []).extend(part for part in each if part != NOTHING)
    return {key: choice(*each) for key, each in parts.items() if each}


def up_to(cases: Cases, most: int | None) -> Cases:
    """Return what up to `most` repeats match, some of which insist on the start or the end.

    Before the last one that insists on the start all are empty, and so are those after the first one that insists on
    the end: at most one of each kind counts, the free ones stand between them.
    """

    def free(others: int) -> Regular:
        return repeated(cases.get(FREE, NOTHING), 0, None if most is None else max(most - others, 0))

    starts, ends = cases.get((True, False), NOTHING), cases.get((False, True), NOTHING)
    if most == 0:
        return {FREE: EMPTY}
    both = [cases.get((True, True), NOTHING)] + ([then(starts, free(2), ends)] if most != 1 else [])
    found = {FREE: [free(0)], (True, False): [then(starts, free(1))], (False, True): [then(free(1), ends)]}
    return united([*found.items(), ((True, True), both)])


def repeated(part: Regular, low: int, high: int | None) -> Regular:
    """Return a part that no anchor concerns, `low` to `high` times."""
    if high == 0 or part == EMPTY or (part == NOTHING and low == 0):
        return EMPTY
    return part if low == high == 1 or part == NOTHING else Repeat(part, low, high)


def then(*parts: Regular) -> Regular:
    """Return the parts one after the other: nothing at all, if nothing fits one of them."""
    return NOTHING if NOTHING in parts else sequence(*parts)


def only_empty(part: Regular) -> Regular:
    """Return the empty text if the part matches it, else nothing at all."""
    return EMPTY if nullable(part) else NOTHING
