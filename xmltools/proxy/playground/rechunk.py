"""The same text, cut differently: does the parser say the same?"""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import Any

from xmltools.models.events import ArgumentDelta, CallStarted, Event, Noticed
from xmltools.parser import Parser
from xmltools.proxy.playground.parts import gather_parts

_SIZES = (1, 3, 8, 30, 200)  # mean sizes of pieces: characters, tokens, lines, network packets
_PIECES = 20_000
_MOST_CUTS = 2_000


def rechunk(text: str, expected: Iterable[Event], parser: Parser, seed: int) -> dict[str, Any]:
    """Cut the text at random, feed the pieces to the parser, and compare what it says with the expected events.

    Takes the seed of the cuts, which gives the same cuts each time. Returns whether all is the same, how many pieces
    there were, the sizes of the smallest and the largest, and the first cuts.
    """
    cuts = cut(len(text), seed)
    pieces = [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]
    events = [event for piece in pieces for event in parser.feed(piece)] + parser.close()
    sizes = [len(piece) for piece in pieces]
    return {
        "same": outcome(events) == outcome(expected),
        "pieces": len(pieces),
        "smallest": min(sizes),
        "largest": max(sizes),
        "cuts": cuts[:_MOST_CUTS],
    }


def cut(length: int, seed: int) -> list[int]:
    """Return where a text of that length is cut: places in it, in order, each once."""
    pick = random.Random(seed)
    mean = max(min(pick.choice(_SIZES), max(2, length // 8)), length // _PIECES)
    places = range(1, length)
    return sorted(pick.sample(places, min(len(places), length // mean)))


def outcome(events: Iterable[Event]) -> list[str]:
    """Return all that events say, whichever way it came: deltas are joined, and each value says its type.

    Parts, the starts of calls with their arguments, and notices come each on their own: how the three mix is no matter.
    """
    events = list(events)
    said = [
        f"{part.kind} {part.start} {part.end} {''.join(part.texts)!r} {part.outcome!r}" for part in gather_parts(events)
    ]
    calls = (event for event in events if isinstance(event, CallStarted | ArgumentDelta))
    for what, group in groupby(calls, lambda event: repr(getattr(event, "path", event))):
        said.append(f"{what} {''.join(getattr(event, 'text', '') for event in group)!r}")
    return [*said, *(repr(event) for event in events if isinstance(event, Noticed))]
