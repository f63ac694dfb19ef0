"""Two versions of the parser on the same random replies: they say the same, and ours gives no text later.

Each worker has two processes that run `record.py`: one with our code, one with the other's.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any

import xmltools
from fuzz.record import FIELDS, Item, Record, Trial
from fuzz.replies import trial
from fuzz.shrink import smallest

__all__ = ["Difference", "Pair", "Tally", "work"]

_BATCH = 250
"""Replies that are sent at once."""
_SHOWN = 5
"""Differences that are made small and printed, each of another kind."""
_OURS = str(Path(xmltools.__file__).parents[1])
_PATIENCE = 20.0
"""Seconds that one difference is made smaller for."""


@dataclass
class Difference:
    """What differs: `kind` is the first thing that does, with what each version says of it."""

    kind: str
    ours: Any
    other: Any


@dataclass
class Tally:
    """How many replies were read, how many differ in what, and the first reply that differs so, with its number."""

    replies: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    first: dict[str, tuple[int, Trial]] = field(default_factory=dict)

    def add(self, more: Tally) -> None:
        """Take in what another worker found."""
        self.replies += more.replies
        self.kinds += more.kinds
        self.first = more.first | self.first

    def reports(self, pair: Pair, seed: int) -> list[str]:
        """Return the differences in words, each as small as it goes, and how often there is which."""
        shown = list(self.first.items())[:_SHOWN]
        told = [f"\nFOUND: {_report(pair, kind, number, found, seed)}\n" for kind, (number, found) in shown]
        return told + [f"{count} replies differ in {kind}" for kind, count in self.kinds.most_common()]


class Pair:
    """Our version and another one: each is a Python that has it, or a folder with it, for our Python."""

    def __init__(self, other: str, ours: str = _OURS) -> None:
        self._processes = [_start(each) for each in (ours, other)]
        self.names = self._answers()

    def ask(self, trials: list[Trial], *, in_full: bool) -> list[tuple[Any, Any]]:
        """Return what both say of each reply: records, or numbers that differ where records do."""
        data = pickle.dumps((trials, in_full))
        for process in self._processes:
            process.stdin.write(data)  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
        return list(zip(*self._answers(), strict=True))

    def _answers(self) -> list[Any]:
        return [pickle.load(process.stdout) for process in self._processes]  # type: ignore[arg-type]

    def close(self) -> None:
        """End both processes."""
        for process in self._processes:
            process.communicate()

    def difference(self, one: Trial) -> Difference | None:
        """Return the first thing that differs for one reply."""
        ((ours, other),) = self.ask([one], in_full=True)
        return _difference(ours, other)


def _start(version: str) -> subprocess.Popen[bytes]:
    is_folder = Path(version).is_dir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYTHONPATH": version} if is_folder else {}
    command = [sys.executable if is_folder else version, "-P", str(Path(__file__).with_name("record.py"))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


@lru_cache(maxsize=1)
def _pair(other: str) -> Pair:
    return Pair(other)


def work(other: str, seed: int, only: list[str] | None, first: int, count: int) -> Tally:
    """Compare replies from number `first` on: number i of a seed is always the same."""
    tally, pair = Tally(count), _pair(other)
    trials = [(trial(Random(f"{seed}/against/{number}"), only), number) for number in range(first, first + count)]
    trials.sort(key=lambda each: _order(each[0]))
    for at in range(0, count, _BATCH):
        batch = trials[at : at + _BATCH]
        answers = pair.ask([each for each, _ in batch], in_full=False)
        differ = [each for each, (ours, theirs) in zip(batch, answers, strict=True) if ours != theirs]
        in_full = pair.ask([each for each, _ in differ], in_full=True)
        for each, records in zip(differ, in_full, strict=True):
            if found := _difference(*records):  # there is none if ours gives text earlier
                tally.kinds[found.kind] += 1
                tally.first.setdefault(found.kind, each[::-1])
    return tally


def _order(one: Trial) -> tuple[str, ...]:
    """Replies with the same tools and dialect come together: what the parser makes for these is made once."""
    _, tools, options = one
    return options.get("dialect", ""), tools or "", str(options.get("also")), str(options.get("reasoning_tags"))


def _difference(ours: Record, other: Record) -> Difference | None:
    for one, two in zip_longest(ours[0], other[0], fillvalue=("nothing",)):
        if one != two:
            return Difference(_kind(one, two), one, two)
    for name, mine, its in zip(("text", "an event of a call"), ours[1:], other[1:], strict=True):
        for number, (one, two) in enumerate(zip(mine, its, strict=False)):
            if one < two:
                after = f"after chunk {number + 1}: "
                return Difference(f"{name} that comes later", f"{after}{one}", f"{after}{two}")
    return None


def _kind(ours: Item, other: Item) -> str:
    if ours[0] != other[0]:
        return f"{ours[0]} in place of {other[0]}"
    fields = FIELDS.get(ours[0].removeprefix("parse "), ())
    place = next(place for place, (one, two) in enumerate(zip(ours[1:], other[1:], strict=True)) if one != two)
    return f"{ours[0]}.{fields[place]}" if fields else ours[0]


def _report(pair: Pair, kind: str, number: int, found: Trial, seed: int) -> str:
    chunks, tools, options = _smaller(pair, kind, found)
    told = pair.difference((chunks, tools, options)) or Difference("", "", "")
    return (
        f"{kind}, reply {number} of seed {seed}, at its smallest:\n  dialect {options.get('dialect', 'forge')}, "
        f"options {options}\n  tools {tools}\n  chunks {chunks!a}\n  other: {told.other!a}\n  ours:  {told.ours!a}"
    )


def _smaller(pair: Pair, kind: str, found: Trial) -> Trial:
    """The reply with as few options, tools, characters and chunks as still make the same difference."""
    chunks, tools, options = found
    deadline = time.monotonic() + _PATIENCE

    def differs(chunks: list[str], tools: str | None, options: dict[str, Any]) -> bool:
        if time.monotonic() > deadline:
            return False
        difference = pair.difference((chunks, tools, options))
        return difference is not None and difference.kind == kind

    if differs(chunks, None, options):
        tools = None
    for way in (["".join(chunks)], list("".join(chunks))):
        chunks = way if differs(way, tools, options) else chunks
    given = smallest(list(options.items()), lambda fewer: differs(chunks, tools, dict(fewer)))
    # A cut is an item too, so that chunks are joined as characters are left out.
    items = [item for chunk in chunks for item in (None, *chunk)]
    chunks = _cut(smallest(items, lambda fewer: differs(_cut(fewer), tools, dict(given))))
    if tools is not None:
        few = smallest(json.loads(tools), lambda fewer: differs(chunks, json.dumps(fewer), dict(given)))
        tools = json.dumps(few)
    return chunks, tools, dict(given)


def _cut(items: list[str | None]) -> list[str]:
    chunks = [""]
    for item in items:
        if item is None:
            chunks.append("")
        else:
            chunks[-1] += item
    return chunks
